"""A report as Markdown, for docs/results.md, and the README's table."""

from __future__ import annotations

from onlineboost.reproduction.figures import (
    Average,
    Results,
    average,
    best_over_trees,
    error_of,
    gain,
    paper_error,
    spread,
    summary,
)
from onlineboost.reproduction.sections import TITLE, Section, findings, how, made, quick, sections
from onlineboost.reproduction.tables import Cell, Table, percent, written


def markdown(results: Results) -> str:
    """The sections of the page, without charts."""
    numbers = summary(results)
    paragraphs = [quick(results), findings(results, numbers), how(results), made(results)]
    blocks = [f"# {TITLE}", *(_paragraph(text) for text in paragraphs if text)]
    for part in sections(results, numbers):
        if part.tables or part.points:
            blocks += _section(part)
    return "\n\n".join(blocks) + "\n"


def readme_table(results: Results) -> str:
    """Errors of the baseline, Online BBM and the best over trees, by set; the paper's values in parentheses."""
    header = ["set", "baseline (paper)", "Online BBM (paper)", "its VW variant", "best over trees"]
    lines: list[list[str]] = [header, ["---", *["---:"] * 4]]
    gains = []
    for each in results["sets"]:
        best = best_over_trees(each)
        tested = spread(best["test"]) if best else None
        gains.append(gain(tested, error_of(each, "baseline", "paper")))
        named = f" ({results['families'][best['family']]})" if best else ""
        pair = [
            f"{written(error_of(each, family, 'paper'))} ({written(paper_error(each, family))})"
            for family in ("baseline", "bbm")
        ]
        lines.append([_escaped(each["name"]), *pair, written(error_of(each, "bbm", "vw")), written(tested) + named])
    numbers = summary(results)
    paper = f" ({_mean(numbers.paper.get('bbm'))})" if "bbm" in numbers.paper else ""
    ours, variant = (_mean(numbers.ours.get(setting, {}).get("bbm")) for setting in ("paper", "vw"))
    best_mean = average(gains)
    count = f", better on {best_mean.better} of {best_mean.sets}" if best_mean else ""
    lines.append(["**fewer mistakes than the baseline, mean**", "", ours + paper, variant, _mean(best_mean) + count])
    return "\n".join(_line(cells) for cells in lines) + "\n"


def _section(part: Section) -> list[str]:
    blocks = [f"## {part.title}", *(_paragraph(text) for text in part.paragraphs if not part.folded)]
    if part.points:
        blocks.append("\n".join(f"- {_escaped(point)}" for point in part.points))
    for table in part.tables:
        if table.rows and part.folded:
            blocks += [f"<details><summary>{_escaped(table.caption)}</summary>", _table(table), "</details>"]
        elif table.rows:
            blocks += [f"{_escaped(table.caption)}:", _table(table)]
    return blocks


def _table(table: Table) -> str:
    marks = ["---" if cell.words else "---:" for cell in table.rows[0].cells]
    lines = [[_escaped(name) for name in table.header], ["---", *marks]]
    for row in table.rows:
        name = f"**{_escaped(row.name)}**" if row.total else _escaped(row.name)
        lines.append([name, *(_cell(cell) for cell in row.cells)])
    return "\n".join(_line(cells) for cells in lines)


def _cell(cell: Cell) -> str:
    text = f"**{_escaped(cell.text)}**" if cell.best else _escaped(cell.text)
    return f"{text} ({_escaped(cell.under)})" if cell.under else text


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _paragraph(text: str) -> str:
    """Escaped text, except within `code`."""
    return "`".join(part if k % 2 else _escaped(part) for k, part in enumerate(text.split("`")))


def _escaped(text: str) -> str:
    """Text without characters that end a table cell or begin a tag."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def _mean(found: Average | None) -> str:
    return percent(found.mean if found else None)
