"""Committees of Python objects: N copies of a River, scikit-learn or onlineboost classifier."""

from __future__ import annotations

import copy
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from onlineboost.classifier import OnlineClassifier
from onlineboost.data.allocation import planning
from onlineboost.data.arrays import Dense, Sparse, as_matrix
from onlineboost.data.batch import Batch, Floats, cut
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.data.hashing import feature_id
from onlineboost.engine.node import Node
from onlineboost.engine.program import run_batch
from onlineboost.errors import DataError, ParameterError, listed
from onlineboost.fitted.dicts import row_of
from onlineboost.parameters import Parameters

_WIDTH = 1 << 18  # columns of the matrices that hold streams


class Copies(Parameters):
    """N separate copies of any online classifier, as the committee of a booster.

    Boosters wrap classifiers of River and scikit-learn in it automatically. Copies of a compiled learner give the same
    bits as its own committee, but slowly.

    Parameters
    ----------
    estimator : estimator
        Object with ``learn_one`` and ``predict_one`` (River), or with ``partial_fit`` and ``predict`` (scikit-learn).

    Examples
    --------
    >>> from onlineboost import Copies, Linear, OnlineBBM
    >>> model = OnlineBBM(Copies(Linear()), n_estimators=3)
    >>> for x, y in [({"a": 1.0}, "yes"), ({"a": -1.0}, "no")] * 20:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 1.0}), model.n_seen_
    ('yes', 40)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def prefers(self) -> Literal["weight", "sample"]:
        """ "weight" if the learner takes weights, else "sample"."""
        return "weight" if _kind(self.estimator).takes_weights(self.estimator) else "sample"

    @property
    def votes_for_classes(self) -> bool:
        """Whether the learner takes more than two labels."""
        return not _kind(self.estimator).of_truths

    @property
    def takes_dicts(self) -> bool:
        """Whether the learner takes unchanged dicts of features."""
        return isinstance(_kind(self.estimator), _River)

    def slot_limit(self) -> int:
        """Number of features with slots of their own; further ones share slots by hashing."""
        return self.estimator._slot_limit() if isinstance(self.estimator, OnlineClassifier) else _WIDTH

    def committee(self, n_learners: int, n_features: int, hard: bool, sample: bool) -> Committee:
        if planning():
            raise ParameterError("estimator", self.estimator, "a compiled learner such as Linear, in a model file")
        kind = _kind(self.estimator)
        if not sample and not kind.takes_weights(self.estimator):
            expected = f"'sample' or 'auto', since {type(self.estimator).__name__} takes no weights"
            raise ParameterError("delivery", "weight", expected)
        if not hard and not kind.gives_scores(self.estimator):
            raise ParameterError("votes", "real", f"'hard', since {type(self.estimator).__name__} gives labels only")
        members = [kind.new_member(self.estimator, n_features) for _ in range(n_learners)]
        return Committee(kind, members, sample, weighted=kind.takes_weights(self.estimator))


class Committee:
    """The copies, as one committee."""

    def __init__(self, kind: Kind, members: list[Any], sample: bool, weighted: bool) -> None:
        self.kind = kind
        self.members = members
        self.sample = sample
        self.weighted = weighted
        self.started = [False] * len(members)

    @property
    def nodes(self) -> list[Node]:
        """The members that are nodes of onlineboost."""
        return [member for member in self.members if isinstance(member, Node)]

    def row(self, x: Mapping[Any, Any], columns: Columns, learning: bool) -> Any:
        """A dict of features in the form that the members take."""
        return self.kind.from_dict(x, columns, learning, self.members)

    def predict(self, x: Any, hard: bool, target: Classes, learning: bool) -> Floats:
        """Every copy's vote; 0, which counts as +1, before it can predict."""
        votes = np.zeros(len(self.members))
        for i, member in enumerate(self.members):
            if self.started[i] or self.kind.predicts_unfitted:
                if hard and self.kind.answers_freely:
                    votes[i] = _sign(self._label(member, x, target, learning), target)
                else:
                    votes[i] = self.kind.sign(member, x, target) if hard else self.kind.score(member, x, target)
        return np.where(votes >= 0, 1.0, -1.0) if hard else votes

    def _label(self, member: Any, x: Any, target: Classes, learning: bool) -> Any:
        """The prediction of a copy; during learning, an error if it is not one of the labels.

        While one of two labels is unknown, the prediction may be that label; and a copy may know a label that is now
        one of several negative ones.
        """
        label = self.kind.label(member, x)
        strange = label is not None and label not in target.labels
        if learning and strange and len(target.known) > 1 and target.named is None and self.kind.answers_freely:
            known = listed(target.known)
            raise DataError(f"the weak learner answers {label!r}: expected a label, one of {known}, or None")
        return label

    def places(self, x: Any, target: Classes, learning: bool) -> Floats:
        """The place of the class that every member votes for; the first before it can predict."""
        found = np.zeros(len(self.members))
        for i, member in enumerate(self.members):
            if self.started[i] or self.kind.predicts_unfitted:
                label = self._label(member, x, target, learning)
                found[i] = target.labels.index(label) if label in target.known else 0
        return found

    def check_classes(self, n: int) -> None:
        """Raise an error if members that have learned cannot take so many classes."""
        known = (
            len(getattr(member, "classes_", ()))
            for member, started in zip(self.members, self.started, strict=True)
            if started
        )
        if isinstance(self.kind, _ScikitLearn) and any(0 < size < n for size in known):
            advice = "partial_fit(..., classes=...)"
            raise DataError(f"scikit-learn's learners need all labels at the start: {advice}")

    def learn(self, x: Any, label: Any, p: Floats, target: Classes) -> None:
        """Every copy learns the label with its weight, or a number of times."""
        for i, member in enumerate(self.members):
            # A sampled example has a count: learned once with it as weight, if the learner takes weights.
            once = self.weighted and (p[i] > 1 or not self.sample)
            times, weight = (int(p[i] > 0), float(p[i])) if once else (int(p[i]), None)
            for _ in range(times):
                self.kind.learn(member, x, label, weight, target, first=not self.started[i])
                self.started[i] = True


class Kind(ABC):
    """The interface to the classifiers of one library."""

    predicts_unfitted: bool  # whether it can predict before it has learned
    answers_freely = False  # whether it predicts labels of its own before it learns
    of_truths = False  # whether it learns True and False instead of labels
    learns: str  # the methods that learn, with the argument that is a weight, and that give scores
    weight: str
    scores: str

    def new_member(self, estimator: Any, n_features: int) -> Any:
        return _clone(estimator)

    def takes_weights(self, estimator: Any) -> bool:
        return self.weight in inspect.signature(getattr(estimator, self.learns)).parameters

    def gives_scores(self, estimator: Any) -> bool:
        return hasattr(estimator, self.scores)

    @abstractmethod
    def rows(self, source: Dense | Sparse) -> Iterator[Any]:
        """The rows of a table in the form that the members take."""

    def rows_of_batch(self, batch: Batch) -> Iterator[Any]:
        return self.rows(as_matrix(batch, _WIDTH))

    @abstractmethod
    def from_dict(self, x: Mapping[Any, Any], columns: Columns, learning: bool, members: list[Any]) -> Any: ...

    @abstractmethod
    def label(self, member: Any, x: Any) -> Any: ...

    def sign(self, member: Any, x: Any, target: Classes) -> float:
        return _sign(self.label(member, x), target)

    @abstractmethod
    def score(self, member: Any, x: Any, target: Classes) -> float: ...

    @abstractmethod
    def learn(self, member: Any, x: Any, label: Any, weight: float | None, target: Classes, first: bool) -> None: ...


class _River(Kind):
    """``learn_one(x, y, w)``, ``predict_one(x)``, ``predict_proba_one(x)`` on dicts.

    Binary classifiers of River learn True and False instead of labels.
    """

    predicts_unfitted = True
    learns, weight, scores = "learn_one", "w", "predict_proba_one"

    def __init__(self, estimator: Any) -> None:
        self.of_truths = getattr(estimator, "_multiclass", True) is False
        self.answers_freely = not self.of_truths

    def rows(self, source: Dense | Sparse) -> Iterator[dict[Any, Any]]:
        """Dicts by column, its name where it has one; missing values are left out."""
        names = source.known_as
        for row in _rows(source):
            if hasattr(row, "tocsr"):
                pairs = zip((names[column] for column in row.indices.tolist()), row.data.tolist(), strict=True)
            else:
                pairs = zip(names, row[0].tolist(), strict=True)
            yield {column: value for column, value in pairs if value == value}

    def from_dict(
        self, x: Mapping[Any, Any], columns: Columns, learning: bool, members: list[Any]
    ) -> Mapping[Any, Any]:
        if not isinstance(x, Mapping):
            raise DataError(f"x is a {type(x).__name__}: expected a dict of features")
        return x

    def label(self, member: Any, x: Any) -> Any:
        return member.predict_one(x)

    def sign(self, member: Any, x: Any, target: Classes) -> float:
        label = self.label(member, x)
        return 0.0 if label is None else 1.0 if label else -1.0

    def score(self, member: Any, x: Any, target: Classes) -> float:
        shares = member.predict_proba_one(x)
        return float(2 * shares.get(True if self.of_truths else target.positive, 0.0) - 1) if shares else 0.0

    def learn(self, member: Any, x: Any, label: Any, weight: float | None, target: Classes, first: bool) -> None:
        label = label == target.positive if self.of_truths else label
        member.learn_one(x, label, **({} if weight is None else {"w": weight}))


class _ScikitLearn(Kind):
    """``partial_fit(X, y, classes, sample_weight)``, ``predict(X)``, ``decision_function(X)`` on tables of one row."""

    predicts_unfitted = False
    learns, weight, scores = "partial_fit", "sample_weight", "decision_function"

    def __init__(self) -> None:
        self.dtype: Any = np.float64  # type of the rows so far, since classifiers need the same type in every call

    def rows(self, source: Dense | Sparse) -> Iterator[Any]:
        """Tables of one row, with 0 for missing values."""
        for row in _rows(source):
            self.dtype = row.dtype if row.dtype.kind == "f" else np.float64
            if source.missing.size:
                row = row.copy()
                values = row.data if hasattr(row, "tocsr") else row
                values[np.isnan(values)] = 0
            yield row

    def from_dict(self, x: Mapping[Any, Any], columns: Columns, learning: bool, members: list[Any]) -> Any:
        if columns.width is None:
            raise DataError(
                "scikit-learn's classifiers need a fixed number of columns: start with partial_fit on an array"
            )
        names = columns.headings or [str(column) for column in range(columns.width)]
        places = {feature_id(name): column for column, name in enumerate(names)}
        row = np.zeros((1, columns.width), self.dtype)
        if not isinstance(x, Mapping):
            raise DataError(f"x is a {type(x).__name__}: expected a dict of features")
        known = {name: value for name, value in x.items() if value is not None and value == value}  # 0 for missing ones
        found = columns.row(known, False)
        if not set(found.ids) <= places.keys():
            raise DataError(f"x has features beyond the {columns.width} columns learned: expected only these")
        row[0, [places[id] for id in found.ids]] = found.values
        return row

    def label(self, member: Any, x: Any) -> Any:
        return member.predict(x)[0]

    def score(self, member: Any, x: Any, target: Classes) -> float:
        return float(member.decision_function(x)[0])

    def learn(self, member: Any, x: Any, label: Any, weight: float | None, target: Classes, first: bool) -> None:
        extra: dict[str, Any] = {} if weight is None else {"sample_weight": np.array([weight])}
        if first and "classes" in inspect.signature(member.partial_fit).parameters:
            if len(target.known) < 2:
                raise DataError("scikit-learn's learners need both labels at the start: partial_fit(..., classes=...)")
            extra["classes"] = np.unique(target.classes)
        member.partial_fit(x, np.array([label]), **extra)


class _Ours(Kind):
    """Classifiers of onlineboost, as nodes; the rows are already checked."""

    predicts_unfitted = True

    def new_member(self, estimator: OnlineClassifier, n_features: int) -> Node:
        found: Node = estimator.clone()._new_node(n_features)
        return found

    def takes_weights(self, estimator: Any) -> bool:
        return True

    def gives_scores(self, estimator: Any) -> bool:
        return True

    def rows(self, source: Dense | Sparse) -> Iterator[Batch]:
        one = np.ones(source.n_rows)
        return (row for batch in source.batches(one, one) for row in self.rows_of_batch(batch))

    def rows_of_batch(self, batch: Batch) -> Iterator[Batch]:
        return (cut(batch, r, r + 1) for r in range(batch.y.size))

    def from_dict(self, x: Mapping[Any, Any], columns: Columns, learning: bool, members: list[Any]) -> Batch:
        batch, new = row_of(x, columns, learning)
        for node in members if new else ():
            node.name_features(new)
        return batch

    def label(self, member: Node, x: Batch) -> Any:
        raise NotImplementedError("compiled learners that vote for classes need no copies")

    def sign(self, member: Node, x: Batch, target: Classes) -> float:
        return self.score(member, x, target)

    def score(self, member: Node, x: Batch, target: Classes) -> float:
        return float(run_batch(member, x, False)[0, 0])

    def learn(self, member: Node, x: Batch, label: Any, weight: float | None, target: Classes, first: bool) -> None:
        y = np.array([float(label == target.positive)])
        run_batch(member, x._replace(y=y, weight=np.array([weight or 1.0])), True)


def _rows(source: Dense | Sparse) -> Iterator[Any]:
    return (source.table[r : r + 1] for r in range(source.n_rows))


def _sign(label: Any, target: Classes) -> float:
    return 0.0 if label is None else 1.0 if label == target.positive else -1.0


def _kind(estimator: Any) -> Kind:
    if isinstance(estimator, type):
        raise ParameterError("estimator", estimator, f"an object, not a class: {estimator.__name__}(...)")
    if any(kind.__name__ in ("Regressor", "RegressorMixin") for kind in type(estimator).__mro__):
        raise ParameterError("estimator", estimator, "a classifier, not a regressor")
    if isinstance(estimator, OnlineClassifier):
        if not isinstance(estimator._new_node(0), Node):
            raise ParameterError("estimator", estimator, "a booster of compiled learners, or a single learner")
        return _Ours()
    if hasattr(estimator, "learn_one") and hasattr(estimator, "predict_one"):
        return _River(estimator)
    if hasattr(estimator, "partial_fit") and hasattr(estimator, "predict"):
        return _ScikitLearn()
    expected = "a classifier with learn_one and predict_one (River) or partial_fit and predict (scikit-learn)"
    raise ParameterError("estimator", estimator, expected)


def _clone(estimator: Any) -> Any:
    """An unfitted copy by the library's own ``clone``, else a deep copy."""
    if hasattr(estimator, "clone"):
        return estimator.clone()
    if hasattr(estimator, "get_params") and "sklearn" in sys.modules:
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)
