"""What users hold: an online classifier that learns from arrays or from dicts, in one pass."""

from __future__ import annotations

import copy
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import Dense, Sparse, as_matrix, check_features
from onlineboost.data.batch import LARGEST, Batch, Floats, check_batch, longest_row
from onlineboost.data.columns import Columns
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary
from onlineboost.engine.machine import Machine
from onlineboost.errors import DataError, NotFittedError, ParameterError
from onlineboost.parameters import Parameters
from onlineboost.storage import model_file as persist


class OnlineClassifier(Parameters, ABC):
    """A binary classifier that learns one example at a time, whatever the batches it is given.

    Abstract: ``Booster`` and ``Learner`` are the two kinds.
    """

    kinds: ClassVar[dict[str, type[OnlineClassifier]]] = {}

    _machine: Machine | None = None
    _labels: Binary
    _columns: Columns

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        OnlineClassifier.kinds[cls.__name__] = cls

    @abstractmethod
    def _assemble(self, n_features: int, seed: int | None = None) -> Machine:
        """Check the parameters and build the parts of a model that has seen nothing; draw a seed if none is given."""

    @abstractmethod
    def _member(self) -> Any:
        """The weak learner, as something that can form a committee."""

    def _longest_row(self) -> int | None:
        """How many features a row may have; None for any number."""
        most: int | None = getattr(self._member(), "longest_row", None)
        return most

    def _new_machine(self, n_features: int, seed: int | None = None) -> Machine:
        machine = self._assemble(n_features, seed)
        machine.maker = self.clone()  # parameters that are set later take effect at the next fit
        return machine

    # ---- learning from arrays

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, verbose: int = 0) -> Self:
        """Forget everything, then learn the rows in order, once.

        Parameters
        ----------
        X : array or SciPy sparse matrix, (rows, features); or a stream of ``onlineboost.readers.open_stream``
        y : any two labels; sorted, the larger is the positive one. A stream holds its own
        sample_weight : weights of at least 0, one per row; a row of weight 0 is passed over
        verbose : 1 prints what became of it
        """
        self._learn(X, y, None, sample_weight, fresh=True)
        if verbose:
            print(f"{self!r} learnt {self.n_seen_:,} examples. {self.verdict()}".rstrip())
        return self

    def verdict(self) -> str:
        """What is to be said about the learning so far; nothing about a learner alone."""
        return ""

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning. The first batch must contain both labels, or ``classes`` must name them."""
        self._learn(X, y, classes, sample_weight)
        return self

    def progressive_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None) -> Floats:
        """``partial_fit`` that returns the score given to each row before its label was used."""
        return self._learn(X, y, classes, sample_weight, scored=True)

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, fresh: bool = False, scored: bool = False
    ) -> Floats:
        if isinstance(X, Batch) or _is_stream(X):
            if y is not None or sample_weight is not None or classes is not None:
                raise DataError("a stream holds its own labels and weights: leave out y, classes and sample_weight")
            return self._learn_stream(X, fresh, scored)
        if y is None:
            raise DataError("y is missing: expected one label per row of X")
        # Everything is checked before anything changes.
        source = check_features(X)
        known = self._machine is not None and not fresh
        columns = self._check_columns(source) if known else Columns(source.n_features, source.names)
        labels = copy.copy(self._labels) if known else Binary()
        y = _check_labels(y, source.n_rows)
        if fresh and not source.n_rows:
            raise DataError("X has no rows: there is nothing to learn from")
        if classes is not None or len(labels.known) < 2:
            labels.declare(classes if classes is not None else y)
        signs = labels.encode(y)
        weight = _check_weight(sample_weight, source.n_rows)
        self._check_rows(lambda: source.longest, known)
        machine = self._machine if known else self._new_machine(source.n_features)
        assert machine is not None
        if not known:
            machine.name_features(dict(enumerate(source.names or ())))
            _check_met(machine)
        self._machine, self._labels, self._columns = machine, labels, columns
        return self._run(source, signs, weight, learning=True)

    # ---- learning from streams

    def _learn_stream(self, X: Any, fresh: bool, scored: bool) -> Floats:
        before = (self._machine, getattr(self, "_labels", None), getattr(self, "_columns", None))
        if fresh:
            self._machine = None
        stream = X if _is_stream(X) else None
        parts = []
        try:
            for batch in [X] if stream is None else X:
                scores = self.learn_batch(batch, stream)
                parts += [scores] if scored else []
            if self._machine is None:
                raise DataError("the stream has no rows: there is nothing to learn from")
        except BaseException:
            if self._machine is None and before[0] is not None:
                self._machine, self._labels, self._columns = before  # type: ignore[assignment]
            raise
        return np.concatenate(parts) if parts else np.empty(0)

    def learn_batch(self, batch: Batch, stream: Any) -> Floats:
        """Learn one batch; the stream that it comes from knows what its features and labels are called."""
        schema = stream.schema if stream is not None else self._schema() or Schema()
        known = self._machine is not None
        if known and self._schema() is None:
            raise DataError("this model began with arrays or dicts: go on with them, or fit() to start anew")
        if known and schema.mask + 1 != self._columns.fixed:
            raise DataError(f"the stream has {schema.bits} bits, the model others: open_stream(..., like=model)")
        labels = stream.labels if stream is not None else self._labels if known else _SIGNS
        try:
            labels = self._labels.merged(labels) if known else copy.copy(labels)
        except DataError as problem:
            raise DataError(f"{problem}: open_stream(..., like=model)") from None
        check_batch(batch, schema.mask + 1, learning=True)
        self._check_rows(lambda: longest_row(batch), known)
        machine = self._new_machine(schema.mask + 1) if self._machine is None else self._machine
        columns = self._columns if known else Columns(schema=schema)
        self._machine, self._labels, self._columns = machine, labels, columns
        if stream is not None:
            new = stream.new_names()
            columns.hashed = new | columns.hashed  # of two names the first met is kept
            machine.name_features(new)
        return self._run_batch(batch, learning=True)

    def _schema(self) -> Schema | None:
        return self._columns.schema if self._machine is not None else None

    def _run_batch(self, batch: Batch, learning: bool) -> Floats:
        machine = self._check_fitted()
        if machine.compiled:
            return machine.run(batch, learning)
        return self._run(as_matrix(batch, self._columns.n), batch.y, batch.weight, learning)

    def _run(self, source: Dense | Sparse, signs: Floats, weight: Floats, learning: bool) -> Floats:
        machine = self._machine
        assert machine is not None
        if machine.compiled:
            parts = [machine.run(batch, learning) for batch in source.batches(signs, weight)]
            return np.concatenate(parts) if parts else np.empty(0)
        rows = machine.committee.rows(source, self._labels)
        return machine.run_objects(zip(rows, signs.tolist(), weight.tolist(), strict=True), learning)

    def _check_columns(self, source: Dense | Sparse) -> Columns:
        if self._columns.fixed is None:
            raise DataError("this model began with dicts: use learn_one and predict_one, or fit() to start anew")
        if source.n_features != self._columns.fixed:
            raise DataError(f"X has {source.n_features} features, but this model was trained on {self._columns.fixed}")
        if source.names and self._columns.headings and source.names != self._columns.headings:
            wrong = next(j for j, name in enumerate(source.names) if name != self._columns.headings[j])
            expected = f"{self._columns.headings[wrong]!r}, as in training"
            raise DataError(f"X has {source.names[wrong]!r} as column {wrong}: expected {expected}", column=wrong)
        return self._columns

    # ---- answers for arrays

    def decision_function(self, X: Any) -> Floats:
        """A score per row; its sign is the answer, and 0 counts as positive."""
        self._check_fitted()
        if self._schema() is not None and not isinstance(X, Batch) and not _is_stream(X):
            from onlineboost.readers import open_stream

            numbered = all(name == str(number) for number, name in self._columns.hashed.items())
            if (isinstance(X, np.ndarray) or hasattr(X, "tocsr")) and not numbered:
                raise DataError("this model knows features by name: give it a frame, dicts or a stream, not an array")
            X = open_stream(X, like=self, labels="ignored")
        if isinstance(X, Batch) or _is_stream(X):
            return self._score_stream(X)
        source = check_features(X)
        self._check_columns(source)
        return self._run(source, np.ones(source.n_rows), np.ones(source.n_rows), learning=False)

    def _score_stream(self, X: Any) -> Floats:
        if self._schema() is None:
            raise DataError("this model began with arrays or dicts: give it arrays or dicts, as in training")
        parts = []
        for batch in X if _is_stream(X) else [X]:
            check_batch(batch, self._columns.n, learning=False)
            parts.append(self._run_batch(batch, learning=False))
        return np.concatenate(parts) if parts else np.empty(0)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        scores = self.decision_function(X)
        negative, positive = self._labels.decode(-1.0), self._labels.decode(1.0)
        if type(negative) is not type(positive):
            return np.array([positive if score >= 0 else negative for score in scores], object)
        answers: NDArray[Any] = np.where(scores >= 0, positive, negative)
        return answers

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each of the two labels, the negative one first as in ``classes_``, for each row."""
        positive = self.probabilities(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def probabilities(self, scores: Floats) -> Floats:
        """Of the positive label, by scores of ``decision_function``."""
        machine = self._check_fitted()
        if not machine.gives_probabilities:
            raise NotFittedError("this model comes from a file that kept no probabilities: train it anew")
        return machine.probabilities(scores)

    @property
    def gives_probabilities(self) -> bool:
        """Whether there are any: files of older formats did not keep what makes them."""
        return self._check_fitted().gives_probabilities

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows (of their weight) whose label is predicted."""
        scores, y = self.decision_function(X), np.asarray(y)
        if y.shape != scores.shape or not y.size:
            raise DataError(f"y has shape {y.shape}: expected {scores.shape}, one label per row of X, and at least one")
        hits = (scores >= 0) == (self._labels.encode(y) > 0)
        weight = _check_weight(sample_weight, y.size)
        if not weight.any():
            raise DataError("sample_weight is 0 everywhere: expected a row that counts")
        return float(np.average(hits, weights=weight))

    # ---- dicts, one at a time

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one dict of features. Numbers are values, strings are categories, absent features are 0."""
        if not isinstance(w, numbers.Real) or not 0 <= w <= LARGEST:
            raise DataError(f"the weight is {w!r}: expected a number from 0 to {LARGEST:g}")
        fresh = self._machine is None
        machine = self._new_machine(0) if self._machine is None else self._machine
        labels, columns = (Binary(), Columns()) if fresh else (self._labels, self._columns)
        before = labels.negative, labels.positive
        sign = labels.encode_one(y)
        try:
            if isinstance(x, Mapping):
                self._check_rows(lambda: len(x), not fresh)
            if columns.schema is not None:
                batch = self._hashed_row(x, named=True)
                self._run_batch(batch._replace(y=np.array([sign]), weight=np.array([float(w)])), True)
            elif machine.compiled:
                batch = columns.row(x, learning=True, y=sign, weight=float(w))
                machine.grow(columns.n)
                newest = islice(reversed(columns.names.items()), len(x)) if machine.asks_names else ()
                machine.name_features({j: str(name) for name, j in newest})
                machine.run(batch, True)
            else:
                row = machine.committee.row(x, columns, labels, True)
                machine.run_objects(iter([(row, sign, float(w))]), True)
        except BaseException:
            labels.negative, labels.positive = before
            raise
        self._machine, self._labels, self._columns = machine, labels, columns

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """The label for one dict of features; None before anything was learnt."""
        return None if self._machine is None else self._labels.decode(self.decision_one(x))

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """The probability of each label that was met for one dict of features; empty before anything was learnt."""
        if self._machine is None:
            return {}
        positive = float(self.probabilities(np.array([self.decision_one(x)]))[0])
        return self._labels.by_label(1 - positive, positive)

    def decision_one(self, x: Mapping[Any, Any]) -> float:
        """The score for one dict of features."""
        machine = self._check_fitted()
        if self._columns.schema is not None:
            return float(self._run_batch(self._hashed_row(x), False)[0])
        if machine.compiled:
            return float(machine.run(self._columns.row(x, learning=False), False)[0])
        row = machine.committee.row(x, self._columns, self._labels, False)
        return float(machine.run_objects(iter([(row, 1.0, 1.0)]), False)[0])

    def _hashed_row(self, x: Mapping[Any, Any], named: bool = False) -> Batch:
        from onlineboost.readers.memory import row_batch

        machine, schema = self._check_fitted(), self._columns.schema
        assert schema is not None
        named = named and machine.asks_names
        batch, names = row_batch(x, schema, named)
        machine.name_features(names)
        return batch

    def _check_rows(self, longest: Callable[[], int], known: bool) -> None:
        """Refuse rows that are too long for the learner, before anything changes."""
        most = (self._machine.maker if known and self._machine is not None else self)._longest_row()
        if most is not None and longest() > most:
            advice = "name pairs of columns, crosses=[(a, b), ...]"
            raise DataError(f"a row has {longest():,} features, too many to make a feature of each pair: {advice}")

    # ---- the state

    def _check_fitted(self) -> Machine:
        if self._machine is None:
            raise NotFittedError(
                f"this {type(self).__name__} has learnt nothing yet: call fit, partial_fit or learn_one"
            )
        return self._machine

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, the negative one first."""
        self._check_fitted()
        return self._labels.classes

    @property
    def n_features_in_(self) -> int:
        """How many features the model knows."""
        self._check_fitted()
        return self._columns.n

    @property
    def n_seen_(self) -> int:
        """How many examples the model has learnt from."""
        return int(self._check_fitted().record.clock[0])

    @property
    def edges_(self) -> Floats:
        """How much better than guessing each weak learner was, by the weights it was given: 0 is a coin, 1 is right."""
        record = self._check_fitted().record
        given = record.weights != 0
        return np.where(given, record.edges / np.where(given, record.weights, 1), 0.0)

    @property
    def weight_sums_(self) -> Floats:
        """How much weight each weak learner was given in all."""
        return self._check_fitted().record.weights.copy()

    def n_features_seen(self) -> int | None:
        """How many different features have been met; None if the learners do not know."""
        return self._check_fitted().n_features_seen

    def columns_not_met(self) -> list[str]:
        """Columns that parameters name (``crosses``) and of which no feature is known."""
        return self._check_fitted().columns_not_met()

    def __sklearn_is_fitted__(self) -> bool:
        return self._machine is not None

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's own tools ask of a classifier."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(sparse=True),
        )

    def save(self, path: str | Path) -> None:
        """Write the model to a file that ``onlineboost.load`` reads: arrays and JSON, never code."""
        persist.save(self, Path(path).expanduser())


def _check_met(machine: Machine) -> None:
    """Arrays have all their columns from the start: those that parameters name must be among them."""
    for name in machine.columns_not_met():
        raise ParameterError("crosses", name, "columns of X, by name or by number from 0 on")


_SIGNS = Binary()
_SIGNS.declare([-1, 1])


def _is_stream(X: Any) -> bool:
    return hasattr(X, "new_names") and hasattr(X, "schema")


def _check_labels(y: Any, n_rows: int) -> NDArray[Any]:
    try:
        labels = np.asarray(y)
    except ValueError:
        raise DataError("y is not a list of labels: expected one value per row of X") from None
    if labels.shape != (n_rows,):
        hint = ": y.ravel() would do" if labels.shape == (n_rows, 1) else ""
        raise DataError(f"y has shape {labels.shape}: expected ({n_rows},), one label per row of X{hint}")
    return labels


def _check_weight(given: Any, n_rows: int) -> Floats:
    if given is None:
        return np.ones(n_rows)
    try:
        weight = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight is {given!r:.60}: expected one number per row") from None
    if weight.shape != (n_rows,):
        raise DataError(f"sample_weight has shape {weight.shape}: expected ({n_rows},), one weight per row")
    good = (weight >= 0) & (weight <= LARGEST)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(
            f"sample_weight has {weight[row]} at row {row}: expected a number from 0 to {LARGEST:g}", row=row
        )
    return weight
