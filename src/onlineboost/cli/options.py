"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from onlineboost.cli.registered import format_options, parsed

DATA, OUTPUT = "Data", "Output"


class OnError(StrEnum):
    RAISE = "raise"
    SKIP = "skip"


def option(*names: str, help: str, panel: str = DATA, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Files = Annotated[list[str], typer.Argument(help="Files, patterns such as 'day-*.csv.gz', or - for standard input.")]
Label = Annotated[
    str | None, option("--label", "-l", help="Column of the label, by name or position. (default: label)")
]
Weight = Annotated[str | None, option("--weight", help="Column of importance weights.")]
Drop = Annotated[list[str] | None, option("--drop", help="Column to leave out (can be repeated).")]
Categorical = Annotated[
    list[str] | None,
    option("--categorical", help="Column whose numbers are categories, such as a zip code (can be repeated)."),
]
Positive = Annotated[
    str | None,
    option(
        "--positive",
        help="Positive label; all others are negative. (default: the larger of two labels; 1, true, yes against 0, "
        "false, no)",
    ),
]
OnErrorOption = Annotated[
    OnError, option("--on-error", help="Handling of rows that cannot be read: raise an error, or skip and count them.")
]


class OtherColumns(StrEnum):
    STRICT = "strict"
    WARN = "warn"


Columns = Annotated[
    OtherColumns,
    option("--columns", help="Columns that are not those of the training: an error, or a warning."),
]


class EngineName(StrEnum):
    THREADS = "threads"
    RAY = "ray"


Engine = Annotated[EngineName, option("--engine", help="Engine: threads of this process, or Ray.", panel="Run")]
Address = Annotated[
    str | None, option("--address", help="Address of a Ray cluster. (default: one on this machine)", panel="Run")
]
Jobs = Annotated[
    int | None,
    option(
        "--jobs", "-j", help="Number of threads; the result is the same. (default: one per core)", panel="Run", min=1
    ),
]
MaxClasses = Annotated[
    int | None,
    option(
        "--max-classes",
        help="Number of different labels beyond which they are refused: ids and numbers are no classes. (default: 100)",
        min=2,
        max=1000,
    ),
]
Json = Annotated[bool, option("--json", help="JSON output.", panel=OUTPUT)]
Quiet = Annotated[bool, option("--quiet", "-q", help="No progress output.", panel=OUTPUT)]
Plot = Annotated[
    Path | None,
    option("--plot", help="Plot of error curves and the learners' edges: a .png, .svg or .html file.", panel=OUTPUT),
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
    positive: str | None,
) -> dict[str, Any]:
    """Arguments of ``open_stream`` for the schema: the roles of columns."""
    names = {"drop": drop or (), "categorical": categorical or ()}
    return {"label": label, "weight": weight, "positive": positive, **names}
