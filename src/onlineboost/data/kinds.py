"""Detected kinds of columns: numbers, dates, categories, text."""

from __future__ import annotations

from typing import NamedTuple

from onlineboost.data.columns import Columns
from onlineboost.data.feature_names import DATE_PARTS, column_of

_NEARLY = 0.9  # of the rows have a value of their own: an id


class Kind(NamedTuple):
    """The detected kind of a column, and its number of different values or words."""

    kind: str  # "number", "date", "category", "text", "id", "constant" or "mixed": words among numbers or dates
    values: int


def kinds(columns: Columns, rows: int) -> dict[str, Kind]:
    """The detected kind of each column of learned tables, by the names of its features.

    >>> from onlineboost import Linear
    >>> from onlineboost.readers import open_stream
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2], "color": ["red", "blue"], "sold": ["2024-01-01", ""], "label": [0, 1]})
    >>> model = Linear().fit(open_stream(frame))
    >>> {name: kind.kind for name, kind in kinds(model._fitted.columns, 100).items()}
    {'size': 'number', 'color': 'category', 'sold': 'date'}
    """
    headings = dict.fromkeys(columns.headings or (), 0)
    numbers, dates, missing = set[str](), set[str](), set[str]()
    for name in columns.names.values():
        column = column_of(name, headings)
        rest = name[len(column) :]
        if column not in headings:
            continue
        if rest == "=":
            missing.add(column)
        elif not rest:
            numbers.add(column)
        elif rest.startswith("="):
            headings[column] += 1
        elif rest[1:].partition("=")[0] in DATE_PARTS:
            dates.add(column)
    text = {*(columns.text.columns if columns.text is not None else ())}
    text |= {*(columns.schema.text if columns.schema is not None else ())}

    def kind(name: str, values: int) -> str:
        if name in text:
            return "text"
        if name in dates:
            return "date" if not values else "mixed"
        if name in numbers and not values:
            return "number"
        if name in numbers and name not in missing:
            return "mixed"
        return "constant" if values < 2 and name not in missing else "category" if values < _NEARLY * rows else "id"

    return {name: Kind(kind(name, values), values) for name, values in headings.items()}


def listed_kinds(found: dict[str, Kind], most: int = 12) -> list[tuple[str, str]]:
    """Columns by kind, as lines for people."""
    counted = {"category": "", "text": " words", "mixed": " words"}
    lines: dict[str, list[str]] = {}
    for name, (kind, values) in found.items():
        lines.setdefault(kind, []).append(f"{name} ({values:,}{counted[kind]})" if kind in counted else name)

    def shown(names: list[str]) -> str:
        return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")

    return [(kind, shown(names)) for kind, names in lines.items()]
