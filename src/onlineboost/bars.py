"""Progress bars on standard error, for terminals: gone when they end."""

from __future__ import annotations

from typing import Any


def new_bar(*, facts: bool, elapsed: bool = True, left: bool = True) -> Any:
    """A bar with its description behind it; with ``facts``: before it, and the field ``facts`` of the task behind it.

    ``elapsed`` and ``left``: with the time so far, with the time left.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text, bar = TextColumn("{task.description}"), BarColumn(bar_width=24)
    columns = [text, bar, TextColumn("{task.fields[facts]}")] if facts else [bar, text]
    columns += [TimeElapsedColumn()] if elapsed else []
    columns += [TextColumn("so far,")] if elapsed and left else []
    columns += [TimeRemainingColumn(), TextColumn("left")] if left else []
    return Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
