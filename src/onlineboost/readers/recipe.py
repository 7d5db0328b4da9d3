"""A recipe at work: the roles of columns, and the signs of labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from onlineboost.columns import Recipe
from onlineboost.errors import DataError
from onlineboost.labels import Labels
from onlineboost.readers.hashing import hash_name
from onlineboost.readers.rows import CATEGORY, FEATURE, IGNORED, LABEL, WEIGHT, Table
from onlineboost.readers.words import SLACK

DEFAULT_LABEL = "label"


def roles(recipe: Recipe, names: list[str], where: str, labelled: bool, ignored: bool = False) -> list[int]:
    """The role of each column. Columns that were named must exist, where examples are to be learnt from."""
    found = [FEATURE] * len(names)
    for what, wanted, role in (("drop", recipe.drop, IGNORED), ("categorical", recipe.categorical, CATEGORY)):
        for name in wanted:
            # What is within an object goes with it.
            places = [k for k, n in enumerate(names) if n == name or (role == IGNORED and n.startswith(f"{name}."))]
            for k in places:
                found[k] = role
            if labelled and not places and names:
                raise DataError(f"{where}: no column {name!r} for --{what}; the columns are {_some(names)}")
    if recipe.weight is not None and names and (labelled or _has(recipe.weight, names)):
        found[_find(recipe.weight, names, "weight", where)] = WEIGHT
    label = recipe.label if recipe.label is not None else DEFAULT_LABEL
    if labelled or _has(label, names):
        if recipe.label is None and DEFAULT_LABEL not in names:
            known = f"the columns are {_some(names)}" if names else "there are no columns"
            raise DataError(f"{where}: which column is the label? Name it (--label NAME); {known}")
        found[_find(label, names, "label", where)] = IGNORED if ignored else LABEL
    return found


def table(recipe: Recipe, names: list[str], roles: list[int], labelled: bool, separator: int = 44) -> Table:
    """The columns as the compiled parsers want them."""
    encoded = [name.encode() for name in names]
    name_at = np.cumsum([0, *(len(name) for name in encoded)])
    index = np.array([hash_name(name, recipe.bits) for name in names], np.int32)
    text = np.frombuffer(b"".join(encoded) + bytes(SLACK), np.uint8).copy()
    return Table(recipe.mask, labelled, separator, np.array(roles, np.int64), name_at, text, index)


def special(recipe: Recipe, labelled: bool, ignored: bool = False) -> Table:
    """For formats whose names come with the rows: only the names that are no ordinary features."""
    pairs = [(str(recipe.label) if recipe.label is not None else DEFAULT_LABEL, IGNORED if ignored else LABEL)]
    pairs += [(str(recipe.weight), WEIGHT)] if recipe.weight is not None else []
    pairs += [(name, IGNORED) for name in recipe.drop] + [(name, CATEGORY) for name in recipe.categorical]
    return table(recipe, [name for name, _ in pairs], [role for _, role in pairs], labelled)


def _has(wanted: str | int, names: list[str]) -> bool:
    return str(wanted) in names or _position(wanted, names) is not None


def _find(wanted: str | int, names: list[str], what: str, where: str) -> int:
    if str(wanted) in names:
        return names.index(str(wanted))
    position = _position(wanted, names)
    if position is None:
        raise DataError(f"{where}: no column {str(wanted)!r} for the {what}; the columns are {_some(names)}")
    return position


def _position(wanted: str | int, names: list[str]) -> int | None:
    """A column by its number, from 0, or from -1 backwards."""
    try:
        number = int(wanted)
    except ValueError:
        return None
    return number % len(names) if -len(names) <= number < len(names) else None


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")


def sign_of(labels: Labels, label: Any, positive: Any) -> float:
    """-1 or +1. With a positive label named, every other is negative; else there may be two."""
    if positive is None:
        return labels.encode_one(label)
    if isinstance(label, float) and label != label:
        raise DataError("the label is missing")
    if str(label) == str(positive):
        labels.positive = label
        return 1.0
    if not labels.__getstate__()[0]:  # no negative label so far
        labels.negative = label
    elif labels.negative != label:
        labels.negative = f"not {positive}"
    return -1.0
