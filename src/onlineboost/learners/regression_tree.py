"""RegressionTree: a regression tree over histograms, for N trees side by side."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats
from onlineboost.errors import ParameterError
from onlineboost.learners import regression_tree_kernels
from onlineboost.learners.base import kernels_of
from onlineboost.learners.forest import Forest, TreeRoom
from onlineboost.learners.number_learner import NumberLearner
from onlineboost.learners.regression_tree_kernels import RegressionTreeState
from onlineboost.learners.splits import some_slots
from onlineboost.parameters import check_one_of, check_whole

Leaves = Literal["mean", "linear", "auto"]
LEAVES: tuple[Leaves, ...] = ("mean", "linear", "auto")


@dataclass(eq=False, repr=False)
class RegressionTree(Forest, NumberLearner, state=RegressionTreeState, **kernels_of(regression_tree_kernels.__name__)):
    """Regression tree grown online over binned features: splits by variance, leaves with a running mean.

    Parameters
    ----------
    max_depth : int, default=8
        Maximum depth; 1: a single split.
    bins : int, default=16
        Number of bins of a feature, a power of two; they follow the stream. 0: 32 with up to 8 features, else 16.
    replay : int, default=128
        Number of first rows that are kept, and learned again after 64, 128, ... rows; below 64: none.
    grace_period : int, default=16
        Number of examples of a leaf between two attempts to split it.
    min_split_gain : float, default=8.0
        Minimum gain of a split, over all examples of the leaf, in units of the variance after the split.
    memory : int, default=0
        Number of examples that the vote of a leaf remembers; 0: all.
    leaf_prediction : {"mean", "linear", "auto"}, default="auto"
        Votes of leaves: the mean, a line on the feature of the last split above the leaf ("linear"), or the one with
        the lower recent error ("auto").
    smoothing : float, default=10.0
        Weight of the parent's vote in the vote of a new leaf, in examples.
    max_features : float, default=1.0
        Share of the feature slots by which each tree may split.
    random_state : int, default=0
        Seed of this share.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by hashing.
    max_nodes : int, default=0
        Maximum number of nodes of a tree; 0: as many as its depth allows, at most 65,535.
    max_mb : int, default=1024
        Memory for the histograms of all trees, in megabytes, but at least one histogram per tree. If memory is short,
        some leaves wait before they split.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import RegressionTree
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> model = RegressionTree().fit(X[:1500], (X[:, 0] > 0.5)[:1500])
    >>> round(model.score(X[1500:], X[1500:, 0] > 0.5), 2)
    0.99
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"

    max_depth: int = 8
    _: KW_ONLY
    bins: int = 16
    replay: int = 128
    grace_period: int = 16
    min_split_gain: float = 8.0
    memory: int = 0
    leaf_prediction: Leaves = "auto"
    smoothing: float = 10.0
    max_features: float = 1.0
    random_state: int = 0
    max_slots: int = 1024
    max_nodes: int = 0
    max_mb: int = 1024

    def with_room(self, n_learners: int, room: TreeRoom) -> RegressionTreeState:
        return RegressionTreeState(
            **self.in_common(n_learners, room),
            vote=filled(0, (n_learners, room.nodes, 2)),
            since=filled(0, (n_learners, room.nodes, 6)),
            line=filled(0, (n_learners, room.nodes, 0 if self.leaf_prediction == "mean" else 7)),
            allowed=some_slots(n_learners, room.slots, self.max_features, self.random_state, self.first_learner),
            memory=float(self.memory) or math.inf,
            smoothing=float(self.smoothing),
            leaf_prediction=LEAVES.index(self.leaf_prediction),
        )

    def sums(self, committee: RegressionTreeState) -> Floats:
        weight, mean = np.moveaxis(committee.vote[:, : int(committee.used[:, 0].max())], 2, 0)
        return np.stack([weight, weight * mean], axis=2)

    def deepest_counted(self) -> int:
        return self.max_depth - 1

    def check(self) -> None:
        self.check_trees()
        check_one_of("leaf_prediction", self.leaf_prediction, LEAVES)
        check_whole("random_state", self.random_state, 0, (1 << 63) - 1)
        for name in ("min_split_gain", "smoothing", "memory"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
                raise ParameterError(name, value, "a number of at least 0")
