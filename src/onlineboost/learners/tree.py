"""Tree: a histogram Hoeffding tree, for any number of trees at once."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from onlineboost.bins import BinsState, check_bins, new_bins
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.tree_kernels import ROW, SLOT, TreeState, learn, predict, workspace
from onlineboost.parameters import check_between, check_count


@dataclass(eq=False, repr=False)
class Tree(Learner, state=TreeState, workspace=workspace, predict=predict, learn=learn):
    """A decision tree that splits as soon as the stream justifies it: the weak learner that gains most from boosting.

    Parameters
    ----------
    max_depth : 1 is a single split. Depth 2 and 3 gain most from boosting, depth 5 to 8 end lowest
    bins : values that a feature is told apart by, a power of two; made from the first 128 rows
    grace : examples of a leaf between two looks at its splits
    delta, tie : the best split must be better than the second by the Hoeffding bound of this risk; or the bound be
        smaller than the tie. Sample sizes are effective ones, (sum w)^2 / sum w^2: weights of any scale will do
    max_slots : features that are told apart; more of them share slots by a hash
    max_nodes : of a tree; 0 is as many as its depth allows

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter()
    >>> def error(model):
    ...     return round(float(((model.progressive_fit(X, y) >= 0) != (y > 0)).mean()), 3)
    >>> error(Tree(3)), error(OnlineBBM(Tree(3), random_state=0))
    (0.299, 0.21)
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"

    max_depth: int = 5
    _: KW_ONLY
    bins: int = 16
    grace: int = 32
    delta: float = 0.05
    tie: float = 0.1
    max_slots: int = 1024
    max_nodes: int = 0

    def committee(self, n_learners: int, n_features: int) -> TreeState:
        self._check()
        nodes = min((2 << self.max_depth) - 1, self.max_nodes or 1 << 20)
        rows = self._rows(nodes)
        slots = check_bins(self.bins, self.max_slots, n_features, n_learners * rows)
        shape = np.full((n_learners, nodes, 5), -1, np.int32)
        shape[:, :, SLOT + 1 :] = 0
        shape[:, :, ROW] = -1
        shape[:, 0, ROW] = 0 if rows else -1
        return TreeState(
            nodes=shape,
            weight=np.zeros((n_learners, nodes, 2)),
            since=np.zeros((n_learners, nodes, 4)),
            used=np.ones((n_learners, 2), np.int64),
            low=np.zeros(slots, np.int32),
            met=np.zeros(1, np.int64),
            histograms=np.zeros((n_learners * rows * slots, self.bins, 2), np.float32),
            rows=rows,
            grace=int(self.grace),
            log_delta=math.log(1 / self.delta),
            tie=float(self.tie),
            max_depth=int(self.max_depth),
        )

    def _rows(self, nodes: int) -> int:
        """Leaves that may still split, at any one time."""
        return max(1, min(1 << (self.max_depth - 1), (nodes + 1) // 2))

    def _check(self) -> None:
        for name in ("max_depth", "grace"):
            check_count(name, getattr(self, name))
        if self.max_depth > 20:
            raise ParameterError("max_depth", self.max_depth, "at most 20")
        check_between("delta", self.delta, 0, 1)
        if not self.tie >= 0:
            raise ParameterError("tie", self.tie, "a number of at least 0")
        if not isinstance(self.max_nodes, int) or self.max_nodes < 0:
            raise ParameterError("max_nodes", self.max_nodes, "a whole number of at least 0")

    def n_seen(self, committee: TreeState) -> int | None:
        return int(committee.met[0])

    def grow(self, committee: TreeState, n_features: int) -> TreeState:
        return committee  # slots do not depend on the number of features

    def views(self, n_features: int) -> tuple[BinsState]:
        self._check()
        return (new_bins(n_features, check_bins(self.bins, self.max_slots, n_features, 1), int(self.bins)),)
