"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from onlineboost.cli.registered import BOOSTING, DATA, format_options, parsed

OnError = StrEnum("OnError", {"RAISE": "raise", "SKIP": "skip"})
OtherColumns = StrEnum("OtherColumns", {"STRICT": "strict", "WARN": "warn"})
EngineName = StrEnum("EngineName", {"THREADS": "threads", "RAY": "ray"})


def _panel(title: str | None) -> Callable[..., Any]:
    """Options under this title of the help: their help, and their names if not that of the parameter."""

    def option(help: str, *names: str, **more: Any) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=title, **more)

    return option


plain, data, boosting, run, output = map(_panel, (None, DATA, BOOSTING, "Run", "Output"))
Files = Annotated[list[str], typer.Argument(help="Files, patterns such as 'day-*.csv.gz', or - for standard input.")]
Label = Annotated[str | None, data("Column of the label, by name or position. (default: label)", "--label", "-l")]
Weight = Annotated[str | None, data("Column of importance weights.")]
Drop = Annotated[list[str] | None, data("Column to leave out (can be repeated).")]
Categorical = Annotated[
    list[str] | None, data("Column whose numbers or texts are categories, such as a zip code (can be repeated).")
]
Text = Annotated[
    list[str] | None,
    data("Column whose words are features (can be repeated). (default: found by their cells)"),
]
DayFirst = Annotated[
    list[str] | None,
    data("Column of dates such as 25/12/2023 (can be repeated). (default: by the first examples of files)"),
]
MonthFirst = Annotated[list[str] | None, data("Column of dates such as 12/25/2023 (can be repeated).")]
Positive = Annotated[
    str | None,
    data(
        "Positive label; all others are negative. (default: the larger of two labels; 1, true, yes against 0, "
        "false, no)"
    ),
]
SchemaOption = Annotated[
    Path | None, data("File with the roles of columns, as inspect --schema writes it; flags add to it.", "--schema")
]
OnErrorOption = Annotated[
    OnError, data("Handling of rows that cannot be read: raise an error, or skip and count them.")
]
Columns = Annotated[OtherColumns, data("Columns that are not those of the training: an error, or a warning.")]
Engine = Annotated[EngineName, run("Engine: threads of this process, or Ray.")]
Address = Annotated[str | None, run("Address of a Ray cluster. (default: one on this machine)")]
Jobs = Annotated[
    int | None, run("Number of threads; the result is the same. (default: one per core)", "--jobs", "-j", min=1)
]
MaxClasses = Annotated[
    int | None,
    data(
        "Number of different labels beyond which they are refused: ids and numbers are no classes. (default: 100)",
        min=2,
        max=1000,
    ),
]
Json = Annotated[bool, output("JSON output.", "--json")]
Quiet = Annotated[bool, output("No progress output.", "--quiet", "-q")]
Plot = Annotated[Path | None, output("Plot of error curves and the learners' edges: a .png, .svg or .html file.")]


def stream_options(given: dict[str, Any], on_error: OnError = OnError.RAISE) -> dict[str, Any]:
    """Arguments of ``open_stream`` for reading: the format, its options, the handling of errors."""
    known = {name: option for name, option in format_options().items() if given[name] is not None}
    options = {name: parsed(option, given[name]) for name, option in known.items()}
    return {"format": given["format"] and given["format"].value, "on_error": on_error.value, **options}


def schema_options(
    label: str | None,
    weight: str | None,
    drop: list[str] | None,
    categorical: list[str] | None,
    text: list[str] | None,
    day_first: list[str] | None,
    month_first: list[str] | None,
    positive: str | None,
) -> dict[str, Any]:
    """Arguments of ``open_stream`` for the schema: the roles of columns."""
    names = {"drop": drop or (), "categorical": categorical or (), "text": text or ()}
    names |= {"day_first": day_first or (), "month_first": month_first or ()}
    return {"label": label, "weight": weight, "positive": positive, **names}
