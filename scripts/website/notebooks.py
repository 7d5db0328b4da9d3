"""Worked examples: notebooks in Jupytext's percent format (plain Python files), run and made into pages.

A cell begins with ``# %%``. Markdown cells are comments. A cell with ``tags=["setup"]``
is folded in the page.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from website.links import NOTEBOOKS, ROOT

_CELL = re.compile(r"^# %%[ \t]*(\[markdown\])?[ \t]*(.*)\n", re.M)
STYLE = {
    "figure.figsize": (6.4, 3.8),
    "figure.constrained_layout.use": True,
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#b0b0b0",
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "svg.fonttype": "none",
    "svg.hashsalt": "onlineboost",
}


class Cell(NamedTuple):
    """A cell of a notebook, and the line of the file where its text begins."""

    text: str
    is_code: bool = True
    is_folded: bool = False
    line: int = 1


class Outcome(NamedTuple):
    """What a cell printed, and the pictures that it drew: title and SVG."""

    printed: str = ""
    pictures: tuple[tuple[str, str], ...] = ()


def paths() -> list[Path]:
    return sorted((ROOT / NOTEBOOKS).glob("*.py"))


def cells(text: str) -> list[Cell]:
    """The cells of a notebook.

    >>> cells("# %% [markdown]\\n# # Title\\n#\\n# Text.\\n\\n# %%\\nprint(1)\\n")[0].text
    '# Title\\n\\nText.'
    """
    found = []
    marks = [*_CELL.finditer(text)]
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=True):
        body, line = text[mark.end() : end].strip("\n"), text.count("\n", 0, mark.end()) + 1
        if mark[1]:
            body = "\n".join(one.removeprefix("#").removeprefix(" ") for one in body.splitlines())
        found.append(Cell(body, not mark[1], "setup" in mark[2], line))
    return found


def run(path: Path) -> tuple[list[Outcome], dict[str, Any]]:
    """Run the cells in order; also returns the names that they define.

    Warnings are not shown. An error names the line of the file.
    """
    import matplotlib
    from matplotlib import pyplot as plt

    module = ModuleType(f"notebook_{path.stem}")
    names, done = vars(module), []
    backend = matplotlib.get_backend()
    matplotlib.use("svg")
    plt.close("all")  # those that others left are not of this notebook
    sys.modules[module.__name__] = module  # dataclasses look for the module of a class
    try:
        with matplotlib.rc_context(STYLE), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for cell in cells(path.read_text()):
                done.append(_run(cell, path, names) if cell.is_code else Outcome())
    finally:
        del sys.modules[module.__name__]
        matplotlib.use(backend)
    return done, names


def _run(cell: Cell, path: Path, names: dict[str, Any]) -> Outcome:
    code = compile("\n" * (cell.line - 1) + cell.text, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return Outcome(printed.getvalue().rstrip(), tuple(_pictures()))


def _pictures() -> Iterator[tuple[str, str]]:
    """The open figures of matplotlib, which are closed."""
    from figures import for_any_background
    from matplotlib import pyplot as plt

    for number in plt.get_fignums():
        figure = plt.figure(number)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
        title = figure.axes[0].get_title("left") or figure.axes[0].get_title()
        yield title, for_any_background(written.getvalue())
    plt.close("all")


def page(path: Path, outcomes: Sequence[Outcome] = (), linked: Callable[[str], str] = str) -> str:
    """The Markdown of the page; without outcomes, the text and the code alone. ``linked`` makes links of its text."""
    parts, shown = [], 0
    found = cells(path.read_text())
    for cell, outcome in zip(found, outcomes or [Outcome()] * len(found), strict=True):
        parts.append(_of_cell(cell) if cell.is_code else linked(cell.text))
        if outcome.printed:
            parts.append(f"```text\n{outcome.printed}\n```")
        for title, _ in outcome.pictures:
            shown += 1
            parts.append(f"![{title}]({picture(path, shown)})")
    if outcomes:
        files_ = f"[Jupyter notebook]({path.stem}.ipynb), [Python file]({path.name})"
        parts.append(f"*This page is a notebook; the output was made with this version of the site.* {files_}.")
    return "\n\n".join(parts) + "\n"


def _of_cell(cell: Cell) -> str:
    code = f"```python\n{cell.text}\n```"
    if not cell.is_folded:
        return code
    return f'<details markdown="1"><summary>The generator of these data</summary>\n\n{code}\n\n</details>'


def picture(path: Path, number: int) -> str:
    return f"{path.stem}.svg" if number == 1 else f"{path.stem}-{number}.svg"


def files(path: Path, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """The files beside the page: pictures, the notebook for Jupyter, and the Python file."""
    drawn = [svg for outcome in outcomes for _, svg in outcome.pictures]
    made = {picture(path, number): svg for number, svg in enumerate(drawn, 1)}
    return made | {f"{path.stem}.ipynb": jupyter(path.read_text()), path.name: path.read_text()}


def jupyter(text: str) -> str:
    """The notebook in Jupyter's format, without outputs."""
    listed = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.text}
        if cell.is_code
        else {"cell_type": "markdown", "metadata": {}, "source": cell.text}
        for cell in cells(text)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": listed, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}, indent=1
    )
