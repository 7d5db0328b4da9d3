"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from onlineboost.cli import layout
from onlineboost.cli.registered import format_options, parsed

OnError = StrEnum("OnError", {"RAISE": "raise", "SKIP": "skip"})
OtherColumns = StrEnum("OtherColumns", {"STRICT": "strict", "WARN": "warn"})
EngineName = StrEnum("EngineName", {"THREADS": "threads", "RAY": "ray"})


def _panel(title: str | None) -> Callable[..., Any]:
    """A function that declares options under this title of the help."""

    def option(help: str, *names: str, metavar: str = "N", **more: Any) -> Any:
        return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=title, **more)

    return option


plain, labels, data, model = map(_panel, (None, layout.LABELS, layout.DATA, layout.MODEL))
training, resources, output = map(_panel, (layout.TRAINING, layout.RESOURCES, layout.OUTPUT))


def argument(help: str, metavar: str) -> Any:
    return typer.Argument(help=help, metavar=metavar)


Files = Annotated[list[str], argument("Files, patterns such as 'day-*.csv.gz', or - for standard input.", "FILES...")]
FilesOrConfig = Annotated[
    list[str] | None, argument("Files, patterns such as 'day-*.csv.gz', or - for standard input.", "FILES...")
]
Model = Annotated[Path, argument("Model file.", "MODEL")]
Label = Annotated[
    str | None, labels("Label column, by name or position. (default: label)", "--label", "-l", metavar="COLUMN")
]
Positive = Annotated[
    str | None,
    labels(
        "Treat this label as positive, all others as negative. (default: 1, true, yes, or the larger of two labels)",
        metavar="LABEL",
    ),
]
MaxClasses = Annotated[
    int | None,
    labels("Maximum number of classes; a further class is an error. (default: 100)", min=2, max=1000),
]
Weight = Annotated[str | None, data("Column of example weights.", metavar="COLUMN")]
Drop = Annotated[list[str] | None, data("Ignore this column (repeatable).", metavar="COLUMN")]
Categorical = Annotated[
    list[str] | None, data("Read this column as categories, such as zip codes (repeatable).", metavar="COLUMN")
]
Text = Annotated[
    list[str] | None,
    data("Read this column as text: its words become features (repeatable). (default: detected)", metavar="COLUMN"),
]
DayFirst = Annotated[
    list[str] | None,
    data("Read dates of this column as day/month/year (repeatable). (default: detected)", metavar="COLUMN"),
]
MonthFirst = Annotated[
    list[str] | None,
    data("Read dates of this column as month/day/year (repeatable). (default: detected)", metavar="COLUMN"),
]
SchemaOption = Annotated[
    Path | None, data("Read column roles from a JSON file that inspect --schema wrote.", "--schema", metavar="FILE")
]
OnErrorOption = Annotated[
    OnError, data("Unreadable rows: stop with an error (raise), or skip and count them (skip).", metavar="raise|skip")
]
Columns = Annotated[
    OtherColumns,
    data(
        "Unknown or missing columns: stop with an error (strict), or continue with a warning (warn).",
        metavar="strict|warn",
    ),
]
Engine = Annotated[EngineName, resources("Run in threads of this process, or on a Ray cluster.", metavar="threads|ray")]
Address = Annotated[
    str | None, resources("Address of the Ray cluster. (default: start one on this machine)", metavar="URL")
]
Jobs = Annotated[
    int | None, resources("Number of threads, or of Ray workers. (default: one per core)", "--jobs", "-j", min=1)
]
Json = Annotated[bool, output("Print the result as JSON.", "--json")]
Quiet = Annotated[bool, output("Print no progress.", "--quiet", "-q")]
Plot = Annotated[
    Path | None, output("Plot error curves and learner edges to a file (.png, .svg or .html).", metavar="FILE")
]


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
