"""Classes as targets: two labels, or more."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import as_labels
from onlineboost.data.batch import Floats
from onlineboost.data.scores import LEAST, as_columns, widened
from onlineboost.data.target import Target
from onlineboost.errors import DataError, listed
from onlineboost.parameters import fits_json

MAX_CLASSES = 1000  # the largest that ``max_classes`` can be
_NONE = object()
_FEW = 16  # labels
_INFINITE = (math.inf, -math.inf)
_YES, _NO = ("1", "+1", "true", "yes", "y", "t"), ("0", "-1", "false", "no", "n", "f")


class Classes(Target):
    """Labels of any kind as places: 0, 1, 2, and so on.

    With two labels, the sign of a score decides: place 1 is predicted from 0 on. With more, each has a score, and the
    largest decides.

    Places follow the order in which labels come: the first gets 0, unless it is 1, true or yes, and the second gets the
    other of the first two. Users do not see that order: the larger of two labels is positive, or 1, true, yes against
    0, -1, false, no; or the named one.

    >>> target = Classes()
    >>> target.meet(["spam", "ham", "ham"])
    >>> target.encode(["spam", "ham", "ham"])
    array([0., 1., 1.])
    >>> target.classes.tolist(), target.scores(np.array([[-2.0]]))
    (['ham', 'spam'], array([[2.]]))
    >>> target.meet(["ham", "news", "spam"])
    >>> target.encode(["spam", "ham", "news"])
    array([0., 1., 2.])
    """

    def __init__(self, *labels: Any, named: str | None = None) -> None:
        self.labels = [*labels, _NONE, _NONE][: max(len(labels), 2)]  # by place
        self.named = named  # the positive label (place 1), if named; it may not have occurred yet

    @property
    def width(self) -> int:
        return 1 if len(self.labels) == 2 else len(self.labels)

    @staticmethod
    def mistakes(scores: Floats, y: Floats) -> NDArray[np.bool_]:
        """Which predictions are wrong, by the sign of each score or the largest of each row."""
        found: NDArray[np.bool_] = answers(scores) != y
        return found

    def losses(self, scores: Floats, y: Floats) -> NDArray[Any]:
        return self.mistakes(scores, y)

    @property
    def negative(self) -> Any:
        return self.labels[0]

    @negative.setter
    def negative(self, label: Any) -> None:
        self.labels[0] = label

    @property
    def positive(self) -> Any:
        return self.labels[1]

    @positive.setter
    def positive(self, label: Any) -> None:
        self.labels[1] = label

    @property
    def not_positive(self) -> str:
        """The name of all labels but the positive one, if there are several."""
        return f"not {self.named}"

    @property
    def known(self) -> list[Any]:
        return [label for label in self.labels if label is not _NONE]

    def knows(self, place: int) -> bool:
        """Whether there is a label at this place."""
        return 0 <= place < len(self.labels) and self.labels[place] is not _NONE

    @property
    def has_negative(self) -> bool:
        return self.negative is not _NONE

    def by_label(self, chances: Any) -> dict[Any, float]:
        """The probability of each label seen so far, given that of the positive one, or those of all."""
        rows, labels = self.columns(chances[None])
        return dict(zip(labels, rows[0].tolist(), strict=True))

    def columns(self, chances: Floats) -> tuple[Floats, list[Any]]:
        """Probabilities of the labels seen so far, which sum to 1, and these labels."""
        if len(self.known) == 1 and isinstance(self.known[0], bool):  # the other label is known too
            return widened(chances, 2, True), [False, True]
        if len(self.known) < 2:
            return np.ones((len(chances), len(self.known))), self.known
        return self.probabilities(chances), self.classes.tolist()

    def probabilities(self, chances: Floats) -> Floats:
        """A column for each label, in the order of ``classes``, given those of the positive label, or of all."""
        return widened(chances, len(self.labels), True)[:, self._order]

    def scores(self, scores: Floats) -> Floats:
        """Public scores, with columns in the order of ``classes``."""
        if self.width == 1:
            return -np.where(scores == 0, LEAST, scores) if self.turned else scores
        return widened(scores, self.width)[:, self._order]

    def decisions(self, scores: Floats) -> Floats:
        """``scores``, never 0 with two labels: scikit-learn takes scores above 0 as positive."""
        found = self.scores(scores)
        return np.where(found == 0, LEAST, found) if self.width == 1 else found

    def of_positive(self, chances: Floats) -> Floats:
        return 1 - chances if self.turned else chances

    @property
    def turned(self) -> bool:
        return len(self.labels) == 2 and self._order == [1, 0]

    @property
    def _order(self) -> list[int]:
        """The places of the labels, in the order of ``classes``: sorted; of two labels the positive one is the last."""
        places = [*range(len(self.labels))]
        if self.named is not None or len(self.known) < 2:
            return places
        if len(places) == 2:
            truths = [_truth(label) for label in self.labels]
            if set(truths) == {True, False}:
                return [truths.index(False), truths.index(True)]
        try:
            return sorted(places, key=lambda place: self.labels[place])
        except TypeError:  # labels of several types
            return places

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, sorted; of two, the positive one is the last."""
        labels = [self.labels[place] for place in self._order if self.labels[place] is not _NONE]
        return _array(labels)

    def describe(self) -> Any:
        for label in self.known:
            if not fits_json(label):
                raise DataError(f"the label {label!r} cannot be saved in a model file: expected a string or a number")
        return self.__getstate__()

    @classmethod
    def restore(cls, described: Any) -> Self:
        target = cls()
        target.__setstate__(described)
        labels = target.known
        places = described["labels"] if target.named is not None else described
        known = all(map(fits_json, labels)) and len(labels) == sum(map(len, places))
        enough = 2 <= len(places) <= MAX_CLASSES and (len(places) == 2 or len(labels) == len(places))
        if not enough or not known or len(set(labels)) < len(labels):
            raise ValueError("the labels are not different strings or numbers")
        return target

    def restored(self, described: Any) -> Self:
        """The target that a model file describes."""
        return self.restore(described)

    def __copy__(self) -> Classes:
        return Classes(*self.labels, named=self.named)

    def __getstate__(self) -> Any:
        return {"labels": self._places, "positive": self.named} if self.named is not None else self._places

    def __setstate__(self, state: Any) -> None:
        places = state["labels"] if isinstance(state, dict) else state
        self.named = str(state["positive"]) if isinstance(state, dict) else None
        self.labels = [place[0] if place else _NONE for place in places]

    @property
    def _places(self) -> Any:
        return [[label] if label is not _NONE else [] for label in self.labels]

    def merged(self, other: Classes) -> Classes:
        """The labels of both; an error if a label would have two places."""
        mine, theirs = self._places, other._places
        size = max(len(mine), len(theirs))
        pairs = list(zip(*(known + [[]] * (size - len(known)) for known in (mine, theirs)), strict=True))
        both = Classes(named=other.named if self.named is None else self.named)
        both.labels = [place[0] if place else _NONE for place in (a or b for a, b in pairs)]
        if both.named is not None and all(pairs[0]):
            if mine[0] != theirs[0]:
                both.negative = both.not_positive
            del pairs[0]
        agree = all(a == b or not a or not b for a, b in pairs)
        if not agree or len(set(map(repr, both.known))) < len(both.known):
            raise DataError(f"the labels are {listed(other.known)}: expected {listed(self.known)}, as in training")
        return both

    def with_label(self, label: Any) -> Classes:
        """This target if it knows the label, else a copy with the label added."""
        if isinstance(label, str | int | float) and label in self.labels:
            return self
        larger = copy.copy(self)
        larger.encode_one(label)
        return larger

    def declare(self, classes: Any, y: Any = ()) -> None:
        """Declare all labels, two or more: those of the rows ``y`` in their order, then the others.

        They can be declared again, but not changed.
        """
        found = _different(classes)
        if len(found) < 2:
            count, hint = "one class" if found else "no class", "partial_fit(..., classes=...)"
            raise DataError(
                f"y has {count} ({listed(found)}): expected two or more; if others come later, name all of them: {hint}"
            )
        if not set(self.known) <= set(found):
            raise DataError(
                f"classes are {listed(found)}: expected {listed(self.known)}, as in training; call fit() to start over"
            )
        met = [label for label in _different(y) if label in found] if len(y) else []
        self._add([*met, *sorted(label for label in found if label not in met)])

    def meet(self, y: Any) -> None:
        """Add the labels of rows, in their order."""
        found = _different(y)
        if not self.known and len(found) < 2:
            self.declare(found)  # which raises an error
        self._add(found)

    def _add(self, labels: list[Any]) -> None:
        known = self.known
        new = [label for label in labels if label not in known]
        words = {isinstance(label, str) for label in (*known, *new)}
        if len(words) > 1:  # a word is no number
            raise DataError(f"the labels are {listed(new)}: expected one of {listed(known or labels)}, or of that type")
        if len(self.known) + len(new) > MAX_CLASSES:
            raise too_many_classes([*known, *new], MAX_CLASSES)
        if len(known) + len(new) > 2 and any(isinstance(label, float) and label % 1 for label in (*known, *new)):
            found = listed([*known, *new])
            advice = "for regression use a regressor (train --task number)"
            raise DataError(f"Unknown label type: y has fractions ({found}): expected classes; {advice}")
        for label in new:
            free = [place for place in (0, 1) if self.labels[place] is _NONE]
            if free:
                self.labels[free[-1] if _truth(label) else free[0]] = label
            else:
                self.labels.append(label)

    def encode(self, y: Any) -> Floats:
        """The labels as places."""
        y = np.asarray(y)
        if y.ndim != 1:
            raise DataError(f"y has shape {y.shape}: expected one label per row, in one dimension")
        places = np.full(y.size, -1.0)
        for place, label in enumerate(self.labels):  # a row has one of them
            places += _equal(y, label) * (place + 1.0)
        unknown = places < 0
        if unknown.any():
            row = int(np.argmax(unknown))
            message = f"y has the label {_plain(y[row])!r} at row {row}: expected one of {listed(self.known)}"
            raise DataError(message, row=row)
        return places

    def check_places(self, places: Floats) -> None:
        """Raise an error for a place without a label."""
        unknown = np.flatnonzero(~(places < len(self.labels)))
        if unknown.size:
            row = int(unknown[0])
            raise DataError(
                f"row {row} of the batch has the place {places[row]:g}: expected that of a label, {listed(self.known)}",
                row=row,
            )

    def encode_one(self, label: Any) -> float:
        """The place of one label; a new label gets the next free place."""
        label = _plain(label)
        if isinstance(label, list | dict | set | np.ndarray):
            raise DataError(f"the label is a {type(label).__name__}: expected one value")
        if label is None or label != label or label in _INFINITE:
            raise DataError(f"the label is {label!r}: expected a value")
        if label not in self.labels:
            self._add([label])
        return float(self.labels.index(label))

    def decode(self, scores: Floats) -> NDArray[Any]:
        labels = self.labels if scores.shape[1] > 1 else [self.label_at(0), self.label_at(1)]
        found: NDArray[Any] = _array(labels)[self._places_of(scores)]
        return found

    def _places_of(self, scores: Floats) -> NDArray[np.int64]:
        """The predicted place for each row; of equal scores, the first in the order of ``classes``."""
        if scores.shape[1] == 1:
            return answers(scores)
        order = np.array([place for place in self._order if place < scores.shape[1]])
        found: NDArray[np.int64] = order[answers(scores[:, order])]
        return found

    def decode_one(self, score: Floats) -> Any:
        """The label predicted by the scores of a row."""
        if score.size == 1:
            return self.label_at(1 if score[0] >= 0 else 0)
        return self.label_at(int(self._places_of(score[None])[0]))

    def label_at(self, place: int) -> Any:
        """The label at this place; if unknown so far, the other label."""
        label = self.labels[place] if self.labels[place] is not _NONE else self.labels[1 - place]
        return None if label is _NONE else label


def answers(scores: Floats) -> NDArray[np.int64]:
    """The predicted place for each row: by the sign of the score, or the largest score."""
    columns = as_columns(scores)
    found: NDArray[np.int64] = columns.argmax(axis=1)
    return found if columns.shape[1] > 1 else (columns[:, 0] >= 0).astype(np.int64)


def too_many_classes(labels: list[Any], most: int) -> DataError:
    """The error for more labels than ``max_classes``, or than possible."""
    looks = "an id" if any(isinstance(label, str) for label in labels) else "an id, or a number to predict"
    found = f"y has {len(labels):,} different labels ({listed(labels)}), more than {most:,}: is the label {looks}?"
    advice = "For an id, choose another label; for regression, use OnlineBoostRegressor (train --task number)"
    if most < MAX_CLASSES:
        raised = "a larger max_classes (train --max-classes), each of which takes time and memory"
        advice += f"; for classes, set {raised}"
    return DataError(f"{found} {advice}")


def _array(labels: list[Any]) -> NDArray[Any]:
    mixed = len({type(label) for label in labels}) > 1
    return np.array(labels, object if mixed else None)


def _different(labels: Any) -> list[Any]:
    """The different labels, in their order; raises an error for invalid labels."""
    labels = as_labels(labels)
    try:
        found = _in_order(labels)
    except TypeError:
        missing = [row for row, label in enumerate(labels) if _is_missing(label)]
        if missing:
            raise DataError(f"Input y contains NaN or None at row {missing[0]}: expected a label in each row") from None
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise DataError(f"y has labels of different types ({kinds}): expected values of one type") from None
    different = [_plain(label) for label in found]
    for label in different:
        if _is_missing(label):
            row = next(row for row, one in enumerate(labels) if _is_missing(one))
            raise DataError(
                f"Input y contains NaN or None at row {row}: expected a label in each row; leave out rows without one"
            )
        if label in _INFINITE:
            raise DataError(f"y has the label {label}: expected finite numbers, or words")
    return different


def _in_order(labels: NDArray[Any]) -> list[Any]:
    """The different labels, in the order in which they come."""
    if labels.dtype.kind in "biufUS" and labels.ndim == 1 and labels.size:
        found, others = [labels[0]], labels != labels[0]
        while others.any() and len(found) < _FEW:  # faster than sorting for few labels
            found.append(labels[others.argmax()])
            others &= labels != found[-1]
        if not others.any():
            return found
    different, first = np.unique(labels, return_index=True)
    return [*different[np.argsort(first, kind="stable")]]


def _is_missing(label: Any) -> bool:
    return label is None or bool(label != label)


def _truth(label: Any) -> bool | None:
    """Whether a label means yes or no; None: neither."""
    if isinstance(label, str):
        word = label.lower()
        return True if word in _YES else False if word in _NO else None
    return True if label == 1 else False if label in (0, -1) else None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _equal(y: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    if label is _NONE:
        return np.zeros(y.shape, bool)
    # An array of strings is never equal to a number, nor the reverse; object arrays are compared one by one.
    if y.dtype.kind in "US" and not isinstance(label, str | bytes):
        return np.zeros(y.shape, bool)
    if y.dtype.kind in "biuf" and isinstance(label, str | bytes):
        return np.zeros(y.shape, bool)
    return np.asarray(y == label, bool)
