"""Roles of columns: label, weight, features."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from onlineboost.data.hashing import feature_id
from onlineboost.data.schema import DEFAULT_LABEL, Schema
from onlineboost.errors import DataError
from onlineboost.readers.floats import POINT
from onlineboost.readers.rows import (
    CATEGORY,
    COMMA,
    DAYS,
    FEATURE,
    IGNORED,
    LABEL,
    MONTHS,
    NO_POINT,
    WEIGHT,
    WORDS,
    Table,
)
from onlineboost.readers.scan import SLACK

_OPTIONS = (("text", WORDS), ("day_first", DAYS), ("month_first", MONTHS))


def label_column(schema: Schema) -> str:
    """Name or position of the label's column."""
    return schema.no_features[0]


def find_roles(
    schema: Schema,
    names: list[str],
    where: str,
    label_required: bool,
    label_ignored: bool = False,
    text: Set[str] = frozenset(),
) -> list[int]:
    """The role of each column; ``text`` has the text columns of a model.

    Where labels are required, every column that an option names must exist.
    """
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{where}: two columns are named {twice[0]!r}: expected different names")
    roles = [WORDS if name in text else FEATURE for name in names]
    for option, role in (*_OPTIONS, ("drop", IGNORED), ("categorical", CATEGORY)):
        wanted: tuple[str, ...] = getattr(schema, option)
        for name in wanted:
            # Dropping a struct drops its fields.
            places = [k for k, n in enumerate(names) if n == name or (role == IGNORED and n.startswith(f"{name}."))]
            for k in places:
                roles[k] = role
            if label_required and not places and names:
                raise DataError(f"{where}: no column {name!r} for {option}=...; the columns are {_listed(names)}")
    if schema.weight is not None and names and (label_required or str(schema.weight) in names):
        roles[_find(schema.weight, names, "weight", where)] = IGNORED if label_ignored else WEIGHT
    label = label_column(schema)
    if label_required or label in names:
        if schema.label is None and DEFAULT_LABEL not in names:
            known = f"the columns are {_listed(names)}" if names else "there are no columns"
            raise DataError(f"{where}: which column is the label? Name it with label=...; {known}")
        roles[_find(label, names, "label", where)] = IGNORED if label_ignored else LABEL
    return roles


def check_kept(keep: Iterable[str], names: list[str], where: str) -> None:
    """Raise an error for a column to keep that does not exist."""
    for name in keep:
        if name not in names:
            raise DataError(f"{where}: no column {name!r} for keep=...; the columns are {_listed(names)}")


def with_names(schema: Schema, names: list[str], roles: list[int], header: bool = True) -> Schema:
    """The schema with names instead of positions, which may differ in other files."""
    changes: dict[str, Any] = {} if header else {"width": len(names)}
    for what, role in (("label", LABEL), ("weight", WEIGHT)):
        if role in roles:
            changes[what] = names[roles.index(role)]
    return schema._replace(**changes)


def column_numbers(schema: Schema, n: int, where: str, label_required: bool) -> list[str]:
    """Names for columns without a header: their numbers, as in training."""
    if schema.width is None or n == schema.width:
        return [str(column) for column in range(n)]
    if not label_required and n == schema.width - 1:  # without the label
        return [str(column) for column in range(schema.width) if str(column) != str(schema.label)]
    expected = f"expected {schema.width} as in training, or one fewer (without the label)"
    raise DataError(f"{where}: line 1: {n} columns, {expected}")


def new_table(
    names: list[str], roles: list[int], label_required: bool, separator: int = 44, decimal: int = POINT
) -> Table:
    """Columns as the compiled parsers take them."""
    encoded = [name.encode() for name in names]
    name_at = np.cumsum([0, *(len(name) for name in encoded)])
    feature = np.array([feature_id(name) for name in names], np.int32)
    text = np.frombuffer(b"".join(encoded) + bytes(SLACK), np.uint8).copy()
    table = Table(label_required, separator, np.array(roles, np.int64), name_at, text, feature, 0, 0)
    return with_decimal(table, decimal)


def with_decimal(table: Table, decimal: int) -> Table:
    """The same columns with another decimal point."""
    plain = POINT if decimal != COMMA else NO_POINT if table.separator == COMMA else COMMA
    return table._replace(decimal=decimal, plain=plain)


def with_words(table: Table, name: str) -> Table:
    """The same columns, of which one is text."""
    names = [table.name_text[a:b].tobytes().decode() for a, b in zip(table.name_at, table.name_at[1:], strict=False)]
    if name in names:
        table.role[names.index(name)] = WORDS
        return table
    more = new_table([*names, name], [*table.role.tolist(), WORDS], table.label_required, table.separator)
    return with_decimal(more, table.decimal)


def named_table(
    schema: Schema, label_required: bool, label_ignored: bool = False, text: Set[str] = frozenset()
) -> Table:
    """For formats in which each value comes with its name: only the names that are not plain features."""
    pairs = [(label_column(schema), IGNORED if label_ignored else LABEL)]
    pairs += [(str(schema.weight), IGNORED if label_ignored else WEIGHT)] if schema.weight is not None else []
    pairs += [(name, IGNORED) for name in schema.drop] + [(name, CATEGORY) for name in schema.categorical]
    pairs += [(name, role) for option, role in _OPTIONS[1:] for name in getattr(schema, option)]
    pairs += [(name, WORDS) for name in sorted({*schema.text, *text}.difference(name for name, _ in pairs))]
    return new_table([name for name, _ in pairs], [role for _, role in pairs], label_required)


def _find(wanted: str | int, names: list[str], what: str, where: str) -> int:
    if str(wanted) in names:
        return names.index(str(wanted))
    position = _position(wanted, names)
    if position is None:
        near = [name for name in names if name.lower() == str(wanted).lower()]
        near = near or difflib.get_close_matches(str(wanted), names, 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise DataError(f"{where}: no column {str(wanted)!r} for the {what}{meant}; the columns are {_listed(names)}")
    return position


def _position(wanted: str | int, names: list[str]) -> int | None:
    """A column by its number, from 0 forwards or from -1 backwards."""
    try:
        number = int(wanted)
    except ValueError:
        return None
    return number % len(names) if -len(names) <= number < len(names) else None


def _listed(names: Iterable[str]) -> str:
    shown = [name if name.isprintable() else repr(name) for name in names]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:10], "...", shown[-1]])
