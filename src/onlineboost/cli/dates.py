"""The order of dates such as 25/12/2023, by the first rows of files."""

from __future__ import annotations

import re
import shlex
import warnings
from typing import Any

from onlineboost.cli.terminal import announce
from onlineboost.data.feature_names import column_of
from onlineboost.data.page import Page
from onlineboost.errors import ReadWarning
from onlineboost.readers import open_stream
from onlineboost.readers.files import expand, is_regular

_FIRST = 2000  # rows that decide
_DATE = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}(?:[ T]\d\d:\d\d.*)?", re.ASCII)


def find_dates(files: list[str], reading: dict[str, Any], schema: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The columns with the day first, and those with the month first, of the options and by the first rows."""
    found = {order: tuple(schema[order]) for order in ("day_first", "month_first")}
    if not all(map(is_regular, expand(files))):  # pipes are read once
        return found
    known = {name for names in found.values() for name in names}.union(
        *(schema[role] for role in ("drop", "categorical", "text"))
    )
    options = reading | schema | {"on_error": "skip", "batch_size": _FIRST, "labels": "optional"}
    with warnings.catch_warnings(), open_stream(files, **options) as stream:
        warnings.simplefilter("ignore", ReadWarning)  # they are given when the files are learned
        page = next(iter(stream), None) if stream.has_columns else None
    for name, (order, told) in orders(page).items() if page is not None else ():
        if name in known:
            continue
        found[order] += (name,)
        other = "--month-first" if order == "day_first" else "--day-first"
        doubt = "" if told else ", although the first rows do not show it"
        read = f"read with the {order.replace('_first', '')} first{doubt}"
        announce(f"onlineboost: column {name!r} has dates: {read}; {other} {shlex.quote(name)} is the other order")
    return found


def orders(page: Page) -> dict[str, tuple[str, bool]]:
    """The order of the columns that have dates of one alone, and whether a date tells it.

    >>> rows = [{"a": f"{k}/1/2024", "b": f"1/{k}/2024", "c": "1/2/2024", "d": "soon"} for k in range(1, 20)]
    >>> orders(next(open_stream(rows, labels="optional")))
    {'a': ('day_first', True), 'b': ('month_first', True), 'c': ('day_first', False)}
    """
    cells: dict[str, list[str]] = {}
    for _, name in page.names:
        column = name.partition("=")[0] if page.fields is None else column_of(name, page.fields)
        equals, cell = name[len(column) :][:1], name[len(column) + 1 :]
        if equals == "=" and cell:
            cells.setdefault(column, []).append(cell)
    found = {}
    for column, words in cells.items():
        dates = [date for date in map(_DATE.fullmatch, words) if date is not None]
        if len(dates) < len(words):
            continue
        first, second = (any(int(date[k]) > 12 for date in dates) for k in (1, 2))
        point = all("." in date[0][:3] for date in dates)  # 25.12.2023 has the day first
        if not (first and second):
            found[column] = ("month_first" if second and not point else "day_first", first or second or point)
    return found
