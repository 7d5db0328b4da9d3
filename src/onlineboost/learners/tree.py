"""Tree: a Hoeffding tree over histograms, for N trees side by side."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.errors import ParameterError
from onlineboost.learners import tree_kernels
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.learners.forest import Forest, TreeRoom
from onlineboost.learners.splits import some_slots
from onlineboost.learners.tree_kernels import TreeState
from onlineboost.parameters import check_between, check_one_of
from onlineboost.registry import Option
from onlineboost.transforms.bins import BINS

MAX_DEPTH = Option("max_depth", "Maximum tree depth.", int, least=1, most=20, tried=(2, 3, 5))


@dataclass(eq=False, repr=False)
class Tree(
    Forest, Learner, name="tree", options=(MAX_DEPTH, BINS), state=TreeState, **kernels_of(tree_kernels.__name__)
):
    """Decision tree grown online (a Hoeffding tree over binned features): the learner that gains most from boosting.

    Parameters
    ----------
    max_depth : int, default=5
        Maximum depth; 1: a single split. Shallow trees gain most from boosting; deep trees are best on long streams.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    bins : int, default=0
        Number of bins of a feature, a power of two; they follow the stream. 0: 32 with up to 8 features, else 16.
    replay : int, default=512
        Number of first rows that are kept, and learned again after 64, 128, ... rows; below 64: none.
    leaf_prediction : {"adaptive", "majority"}, default="adaptive"
        Votes of leaves: the majority, or naive Bayes in leaves where it has made fewer mistakes ("adaptive").
    grace_period : int, default=16
        Number of examples of a leaf between two attempts to split it.
    min_split_gain : float, default=5.0
        Minimum information gain of a split, in bits over all examples of the leaf; 0: ``delta`` and ``tau`` decide.
    delta : float, default=0.05
        Probability of error of the Hoeffding bound by which the best split must beat the second; with
        ``min_split_gain=0``. Sample sizes are effective ones, (sum w)^2 / sum w^2, so the scale of weights does not
        matter.
    tau : float, default=0.1
        Hoeffding bound below which a leaf is split in any case; with ``min_split_gain=0``.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by hashing.
    max_features : float, default=1.0
        Share of the feature slots by which each tree may split, drawn independently of the seed.
    max_nodes : int, default=0
        Maximum number of nodes of a tree; 0: as many as its depth allows, at most 65,535.
    max_mb : int, default=2048
        Memory for the histograms of all trees, in megabytes, but at least one histogram per tree. If memory is short,
        some leaves wait before they split.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(Tree(3), X, y), 3)
    0.2
    >>> round(progressive_error(OnlineBBM(Tree(3), random_state=0), X, y), 3)
    0.116
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"

    max_depth: int = 5
    _: KW_ONLY
    bins: int = 0
    replay: int = 512
    leaf_prediction: Literal["adaptive", "majority"] = "adaptive"
    grace_period: int = 16
    min_split_gain: float = 5.0
    delta: float = 0.05
    tau: float = 0.1
    max_slots: int = 1024
    max_features: float = 1.0
    max_nodes: int = 0
    max_mb: int = 2048

    def with_room(self, n_learners: int, room: TreeRoom) -> TreeState:
        return TreeState(
            **self.in_common(n_learners, room),
            weight=self.for_nodes((n_learners, room.nodes, 2)),
            wrong=self.for_nodes((n_learners, room.nodes, 2)),
            since=self.for_nodes((n_learners, room.nodes, 4)),
            allowed=some_slots(n_learners, room.slots, self.max_features, first=self.first_learner),
            adaptive=self.leaf_prediction == "adaptive",
            log_delta=math.log(1 / self.delta),
            tau=float(self.tau),
        )

    def sums(self, committee: TreeState) -> Floats:
        a, b = np.moveaxis(committee.weight[:, : int(committee.used[:, 0].max())], 2, 0)
        return np.stack([a + b, b - a], axis=2)

    def deepest_counted(self) -> int:
        return self.max_depth if self.leaf_prediction == "adaptive" else self.max_depth - 1

    def check(self) -> None:
        self.check_trees()
        check_between("delta", self.delta, 0, 1)
        check_one_of("leaf_prediction", self.leaf_prediction, ("adaptive", "majority"))
        for name in ("tau", "min_split_gain"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not float(value) >= 0:
                raise ParameterError(name, value, "a number of at least 0")
