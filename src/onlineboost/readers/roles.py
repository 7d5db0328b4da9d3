"""A schema at work: the roles of columns, and the signs of labels."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary
from onlineboost.errors import DataError
from onlineboost.readers.floats import any_number
from onlineboost.readers.hashing import hash_name
from onlineboost.readers.rows import CATEGORY, FEATURE, IGNORED, LABEL, WEIGHT, Table
from onlineboost.readers.words import SLACK

DEFAULT_LABEL = "label"


def roles(schema: Schema, names: list[str], where: str, labelled: bool, ignored: bool = False) -> list[int]:
    """The role of each column. Columns that were named must exist, where examples are to be learnt from."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{where}: two columns are named {twice[0]!r}: expected different names")
    found = [FEATURE] * len(names)
    for what, wanted, role in (("drop", schema.drop, IGNORED), ("categorical", schema.categorical, CATEGORY)):
        for name in wanted:
            # What is within an object goes with it.
            places = [k for k, n in enumerate(names) if n == name or (role == IGNORED and n.startswith(f"{name}."))]
            for k in places:
                found[k] = role
            if labelled and not places and names:
                raise DataError(f"{where}: no column {name!r} for {what}=...; the columns are {_some(names)}")
    if schema.weight is not None and names and (labelled or str(schema.weight) in names):
        found[_find(schema.weight, names, "weight", where)] = IGNORED if ignored else WEIGHT
    label = schema.label if schema.label is not None else DEFAULT_LABEL
    if labelled or str(label) in names:
        if schema.label is None and DEFAULT_LABEL not in names:
            known = f"the columns are {_some(names)}" if names else "there are no columns"
            raise DataError(f"{where}: which column is the label? Name it with label=...; {known}")
        found[_find(label, names, "label", where)] = IGNORED if ignored else LABEL
    return found


def resolved(schema: Schema, names: list[str], found: list[int], headless: bool) -> Schema:
    """The schema with positions replaced by names: other files may have other columns, or no label."""
    changes: dict[str, Any] = {"width": len(names)} if headless else {}
    for what, role in (("label", LABEL), ("weight", WEIGHT)):
        if role in found:
            changes[what] = names[found.index(role)]
    return schema._replace(**changes)


def numbered(schema: Schema, n: int, where: str, labelled: bool) -> list[str]:
    """Names for the columns of a table without names: their numbers, as in training."""
    if schema.width is None or n == schema.width:
        return [str(column) for column in range(n)]
    if not labelled and n == schema.width - 1:  # without the label
        return [str(column) for column in range(schema.width) if str(column) != str(schema.label)]
    raise DataError(f"{where}: line 1: {n} columns, expected {schema.width} as in training, or one fewer, the label")


def table(schema: Schema, names: list[str], roles: list[int], labelled: bool, separator: int = 44) -> Table:
    """The columns as the compiled parsers want them."""
    encoded = [name.encode() for name in names]
    name_at = np.cumsum([0, *(len(name) for name in encoded)])
    index = np.array([hash_name(name, schema.bits) for name in names], np.int32)
    text = np.frombuffer(b"".join(encoded) + bytes(SLACK), np.uint8).copy()
    return Table(schema.mask, labelled, separator, np.array(roles, np.int64), name_at, text, index)


def special(schema: Schema, labelled: bool, ignored: bool = False) -> Table:
    """For formats whose names come with the rows: only the names that are no ordinary features."""
    pairs = [(str(schema.label) if schema.label is not None else DEFAULT_LABEL, IGNORED if ignored else LABEL)]
    pairs += [(str(schema.weight), IGNORED if ignored else WEIGHT)] if schema.weight is not None else []
    pairs += [(name, IGNORED) for name in schema.drop] + [(name, CATEGORY) for name in schema.categorical]
    return table(schema, [name for name, _ in pairs], [role for _, role in pairs], labelled)


def _find(wanted: str | int, names: list[str], what: str, where: str) -> int:
    if str(wanted) in names:
        return names.index(str(wanted))
    position = _position(wanted, names)
    if position is None:
        near = [name for name in names if name.lower() == str(wanted).lower()]
        near = near or difflib.get_close_matches(str(wanted), names, 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise DataError(f"{where}: no column {str(wanted)!r} for the {what}{meant}; the columns are {_some(names)}")
    return position


def _position(wanted: str | int, names: list[str]) -> int | None:
    """A column by its number, from 0, or from -1 backwards."""
    try:
        number = int(wanted)
    except ValueError:
        return None
    return number % len(names) if -len(names) <= number < len(names) else None


def _some(names: Iterable[str]) -> str:
    shown = [name if name.isprintable() else repr(name) for name in names]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:10], "...", shown[-1]])


def sign_of(labels: Binary, label: Any, positive: Any) -> float:
    """-1 or +1. With a positive label named, every other is negative; else there may be two."""
    if positive is None:
        return labels.encode_one(label)
    if label is None or label != label:
        raise DataError("the label is missing")
    if plain_label(label) == plain_label(positive):
        labels.positive = str(positive)
        return 1.0
    if not labels.__getstate__()[0]:  # no negative label so far
        labels.negative = str(label)
    elif labels.negative != str(label):
        labels.negative = f"not {positive}"
    return -1.0


def hint(positive: Any) -> str:
    return "" if positive is not None else "; or name the positive one in training (positive=...)"


def plain_label(label: Any) -> Any:
    """A label as it is compared: a word that looks like a number or a boolean is one.

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
    """A label's value where labels are numbers."""
    return as_number(spelling.decode(errors="replace"))


def as_number(word: str) -> int | float | None:
    """The number that the whole word is, if it is one; whole numbers as int.

    >>> as_number("+1.0"), as_number("2.5"), as_number("one")
    (1, 2.5, None)
    """
    text = np.frombuffer(word.strip().encode() + b"\n" * SLACK, np.uint8).copy()
    size = text.size - SLACK
    value, after = any_number(text, 0, size)
    if size == 0 or after != size or not abs(value) <= 1e300:
        return None
    return int(value) if value == int(value) else float(value)
