"""The report of ``onlineboost reproduce``: a web page, Markdown for the documents, a table for the terminal.

All are pure functions of the results, which are plain JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlineboost.reproduction.documents import markdown, readme_table
from onlineboost.reproduction.figures import LINEAR, Average, Results, summary
from onlineboost.reproduction.page import page as html
from onlineboost.reproduction.protocol import ALGORITHMS
from onlineboost.reproduction.sections import quick
from onlineboost.reproduction.tables import errors, percent

__all__ = ["html", "markdown", "readme_table", "summary", "text"]

if TYPE_CHECKING:
    from rich.table import Table


def text(results: Results, setting: str = "paper") -> Table:
    """The paper's six columns, with the paper's values below in dim."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    found = errors(results, setting)
    title = " ".join(filter(None, [found.caption, quick(results)]))
    table = Table(title=title, box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    table.add_column(found.header[0], justify="left")
    for name in found.header[1:]:
        table.add_column(name, justify="right", overflow="fold")
    for row in found.rows:
        cells = []
        for cell in row.cells:
            value = cell.text.replace(" ± ", "\n± ")
            bold = f"[bold]{value}[/bold]" if cell.best else value
            cells.append(bold + _dim(cell.under.removeprefix("paper ")))
        table.add_row(escape(row.name), *cells)
    numbers = summary(results)
    ours, paper = numbers.ours.get(setting, {}), numbers.paper if setting in LINEAR else {}
    means = [_mean(ours, family) + (_dim(_mean(paper, family)) if paper else "") for family in (*ALGORITHMS, "safe")]
    table.add_section()
    table.add_row("mean gain", "", *means[: len(found.header) - 2])
    return table


def _dim(below: str) -> str:
    return f"\n[dim]{below}[/dim]" if below else ""


def _mean(averages: dict[str, Average], family: str) -> str:
    return percent(averages[family].mean if family in averages else None)
