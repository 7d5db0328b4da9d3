"""Labels: from text in a file to places."""

from __future__ import annotations

import math
import re
from typing import Any

from onlineboost.data.amounts import amount
from onlineboost.data.regression import Numbers
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def label_of(target: Any, label: Any, schema: Schema) -> float:
    """The place of a label, or the number it is. If a positive label is named, all others are negative."""
    positive = schema.positive
    if isinstance(target, Numbers) and isinstance(label, str):
        number = amount(label)
        label = label if number is None else number
    if positive is None or isinstance(target, Numbers):
        known = target.known
        if schema.binary and len(known) == 2 and label == label and label is not None and label not in known:
            expected = "expected two, as the task 'binary' has; the task 'classes' takes more"
            raise DataError(f"the label {label!r} is a third one, beside {known[0]!r} and {known[1]!r}: {expected}")
        return float(target.encode_one(label))
    if label is None or label != label:
        raise DataError("the label is missing")
    target.named = str(positive)
    if plain_label(label) == plain_label(positive):
        target.positive = target.named
        return 1.0
    if not target.has_negative:
        target.negative = str(label)
    elif target.negative != str(label):
        target.negative = target.not_positive
    return 0.0


_BOOLEANS = frozenset("yes no ja nein oui non si sí sim não да нет tak nie true false".split())  # noqa: SIM905


def folded(target: Any, label: Any, schema: Schema) -> Any:
    """The known spelling of a label, such as yes for Yes; else the label itself."""
    if not isinstance(label, str) or label.lower() not in _BOOLEANS or label in target.known:
        return label
    known = target.known if schema.positive is None else [schema.positive]
    return next((one for one in known if isinstance(one, str) and one.lower() == label.lower()), label)


def positive_hint(positive: Any) -> str:
    """Advice about a third label, for the end of an error message."""
    return "" if positive is not None else "; or name the positive label in training (positive=...)"


def plain_label(label: Any) -> Any:
    """A label for comparison: a word that looks like a number or a boolean becomes one.

    >>> plain_label("+1.0"), plain_label("True"), plain_label("yes")
    (1, True, 'yes')
    """
    if not isinstance(label, str):
        return label
    if label.lower() in ("true", "false"):
        return label.lower() == "true"
    number = as_number(label)
    return label if number is None else number


def number_label(spelling: bytes) -> int | float | None:
    """The value of a label in formats whose labels are numbers; None if it is no number."""
    return as_number(spelling.decode(errors="replace"))


def as_number(word: str) -> int | float | None:
    """The number that the whole word is, whole numbers as int; None if it is no number.

    >>> as_number("+1.0"), as_number("2.5"), as_number("one")
    (1, 2.5, None)
    """
    word = word.strip()
    value = float(word) if _NUMBER.fullmatch(word) else math.inf
    if not abs(value) <= 1e300:
        return None
    return int(value) if value == int(value) else value
