"""Tree: a histogram Hoeffding tree, for any number of trees at once."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.binned import Binned
from onlineboost.learners.splits import new_histograms, some_slots
from onlineboost.learners.tree_kernels import ROW, SLOT, TreeState, forget, learn, predict, workspace
from onlineboost.parameters import check_between, check_count, check_one_of, check_share
from onlineboost.registry import Option
from onlineboost.transforms.bins import BINS, check_bins

_MOST_NODES = (1 << 16) - 1


MAX_DEPTH = Option("max_depth", "Maximum tree depth.", int, least=1, most=20, tried=(2, 3, 5))


@dataclass(eq=False, repr=False)
class Tree(
    Binned,
    Learner,
    name="tree",
    options=(MAX_DEPTH, BINS),
    state=TreeState,
    workspace=workspace,
    predict=predict,
    learn=learn,
    forget=forget,
):
    """A decision tree that splits as soon as the stream justifies it: the weak learner that gains most from boosting.

    Parameters
    ----------
    max_depth : 1 is a single split. Shallow trees gain most from boosting, deep ones do best on long streams
    bins : values that a feature is told apart by, a power of two; made from the first 128 rows
    leaves : "adaptive" leaves vote by naive Bayes where that has made fewer mistakes than their majority
    grace : examples of a leaf between two looks at its splits
    evidence : bits by which the best split must explain labels better than none, over all examples of the leaf. With 0
        the Hoeffding bound decides instead:
    delta, tie : the best split must be better than the second by the Hoeffding bound of this risk; or the bound be
        smaller than the tie. Sample sizes are effective ones, (sum w)^2 / sum w^2: weights of any scale will do
    max_slots : features that are told apart; more of them share slots by a hash
    features : share of the slots that each tree may split by, chosen at random, whatever the seed
    max_nodes : of a tree; 0 is as many as its depth allows, 65,535 at most
    max_mb : megabytes of histograms of all trees; if there are more leaves, some have to wait before they can split

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> round(progressive_score(Tree(3), X, y), 3)
    0.206
    >>> round(progressive_score(OnlineBBM(Tree(3), random_state=0), X, y), 3)
    0.128
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"

    strength: ClassVar[str] = "share of what all splits gained"

    max_depth: int = 5
    _: KW_ONLY
    bins: int = 16
    leaves: Literal["adaptive", "majority"] = "adaptive"
    grace: int = 16
    evidence: float = 5.0
    delta: float = 0.05
    tie: float = 0.1
    max_slots: int = 1024
    features: float = 1.0
    max_nodes: int = 0
    max_mb: int = 2048

    def committee(self, n_learners: int, n_features: int) -> TreeState:
        self._check()
        nodes = min((2 << self.max_depth) - 1, self.max_nodes or _MOST_NODES)
        slots = check_bins(self.bins, self.max_slots, n_features, n_learners)
        least = n_learners * slots * int(self.bins) * 8
        fitting = (int(self.max_mb) << 20) // least
        if not fitting:
            expected = f"at least {-(-least >> 20)}, or fewer trees, bins or max_slots: each needs a histogram of each"
            raise ParameterError("max_mb", self.max_mb, expected)
        adaptive = self.leaves == "adaptive"
        deepest = self.max_depth if adaptive else self.max_depth - 1  # of leaves that have histograms
        wanted = max(1, min(1 << deepest, (nodes + 1) // 2))
        rows = min(fitting, wanted)
        shape = np.zeros((n_learners, nodes, 5), np.int32)
        shape[:, :, (SLOT, ROW)] = -1
        return TreeState(
            nodes=shape,
            weight=np.zeros((n_learners, nodes, 2)),
            wrong=np.zeros((n_learners, nodes, 2)),
            since=np.zeros((n_learners, nodes, 4)),
            used=np.tile(np.array([1, 0]), (n_learners, 1)),
            free=np.tile(np.arange(rows, dtype=np.int32)[::-1], (n_learners, 1)),
            gains=np.zeros(slots),
            allowed=some_slots(n_learners, slots, self.features),
            low=np.zeros(slots, np.int32),
            met=np.zeros(1, np.int64),
            histograms=new_histograms(n_learners * rows, slots, self.bins),
            rows=rows,
            scarce=rows < wanted,
            adaptive=adaptive,
            grace=int(self.grace),
            evidence=float(self.evidence),
            log_delta=math.log(1 / self.delta),
            tie=float(self.tie),
            max_depth=int(self.max_depth),
        )

    def _check(self) -> None:
        for name in ("max_depth", "grace", "max_mb"):
            check_count(name, getattr(self, name))
        if self.max_depth > 20:
            raise ParameterError("max_depth", self.max_depth, "at most 20")
        check_between("delta", self.delta, 0, 1)
        check_share("features", self.features)
        check_one_of("leaves", self.leaves, ("adaptive", "majority"))
        for name in ("tie", "evidence"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not float(value) >= 0:
                raise ParameterError(name, value, "a number of at least 0")
        whole = isinstance(self.max_nodes, numbers.Integral) and not isinstance(self.max_nodes, bool)
        if not whole or self.max_nodes < 0:
            raise ParameterError("max_nodes", self.max_nodes, "a whole number of at least 0")

    def separate(self, n_learners: int, n_features: int) -> bool:
        return not self.committee(n_learners, n_features).scarce  # fewer trees would have more histograms each

    def strengths(self, committee: TreeState, n_learners: int) -> Floats | None:
        """The share of all that was gained by splits."""
        shares: Floats = committee.gains / max(committee.gains.sum(), 1e-300)
        return shares
