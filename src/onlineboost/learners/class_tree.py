"""ClassTree: an online tree with a count for each class in its leaves, for N trees side by side."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats
from onlineboost.errors import ParameterError
from onlineboost.learners import class_tree_kernels
from onlineboost.learners.base import kernels_of
from onlineboost.learners.binned import Binned
from onlineboost.learners.class_learner import ClassLearner
from onlineboost.learners.class_tree_kernels import FIRST, ClassTreeState
from onlineboost.learners.forest import Forest
from onlineboost.learners.splits import some_slots
from onlineboost.learners.tree import MAX_DEPTH
from onlineboost.parameters import check_one_of
from onlineboost.transforms.bins import BINS


class ClassTreeRoom(NamedTuple):
    slots: int
    bins: int  # of a feature; 0 before there are any
    rows: int  # of histograms of all trees
    nodes: int  # of a tree
    classes: int


@dataclass(eq=False, repr=False)
class ClassTree(
    Forest,
    ClassLearner,
    name="class-tree",
    options=(MAX_DEPTH, BINS),
    state=ClassTreeState,
    **kernels_of(class_tree_kernels.__name__),
):
    """Multiclass decision tree grown online: the weak learner of ``OnlineMBBM`` and ``AdaBoostOLM``.

    Its leaves vote for one of many classes.

    Parameters
    ----------
    max_depth : int, default=5
        Maximum depth; 1: a single split.
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
    min_split_gain : float, default=2.0
        Minimum information gain of a split, in bits over all examples of the leaf, for each class but one.
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
    >>> from onlineboost import ClassTree
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter(letters=True)
    >>> model = ClassTree().fit(X[:4000], y[:4000])
    >>> round(model.score(X[4000:], y[4000:]), 3)
    0.728
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"

    max_depth: int = 5
    _: KW_ONLY
    bins: int = 0
    replay: int = 512
    leaf_prediction: Literal["adaptive", "majority"] = "adaptive"
    grace_period: int = 16
    min_split_gain: float = 2.0
    max_slots: int = 1024
    max_features: float = 1.0
    max_nodes: int = 0
    max_mb: int = 2048

    def committee(self, n_learners: int, n_features: int) -> ClassTreeState:
        self.check()
        return self.with_room(n_learners, ClassTreeRoom(min(n_features, self.max_slots), 0, 0, 1, 2))

    def with_room(self, n_learners: int, room: ClassTreeRoom) -> ClassTreeState:
        return ClassTreeState(
            **self.in_common(n_learners, room),
            weight=filled(0, (n_learners, room.nodes, room.classes)),
            wrong=filled(0, (n_learners, room.nodes, 2)),
            since=filled(0, (n_learners, room.nodes, FIRST + room.classes)),
            allowed=some_slots(n_learners, room.slots, self.max_features),
            adaptive=self.leaf_prediction == "adaptive",
        )

    def room(self, committee: Any) -> Any:
        return ClassTreeRoom(*super().room(committee), committee.weight.shape[2])

    def more_classes(self, committee: Any, n: int) -> Any:
        trimmed = committee if planning() else self.trimmed(committee)
        return Binned.moved(self, trimmed, self.room(trimmed)._replace(classes=n))

    def in_room(self, committee: Any, room: Any) -> Any:
        made = super().in_room(committee, room)
        if made.weight.shape[2] != committee.weight.shape[2]:
            raise ValueError("the trees have another number of classes than the model")
        return made

    def n_counts(self, room: Any) -> int:
        return getattr(room, "classes", 2)

    def means(self, committee: Any) -> Floats:
        return class_tree_kernels.shares_below(committee)

    def deepest_counted(self) -> int:
        return self.max_depth if self.leaf_prediction == "adaptive" else self.max_depth - 1

    def check(self) -> None:
        self.check_trees()
        check_one_of("leaf_prediction", self.leaf_prediction, ("adaptive", "majority"))
        if not isinstance(self.min_split_gain, numbers.Real) or not float(self.min_split_gain) >= 0:
            raise ParameterError("min_split_gain", self.min_split_gain, "a number of at least 0")
