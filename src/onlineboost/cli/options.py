"""Options that several commands share, and the streams that they describe."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

DATA, OUTPUT = "Data", "Output"


class OnError(StrEnum):
    RAISE = "raise"
    SKIP = "skip"


class Format(StrEnum):
    VW = "vw"
    LIBSVM = "libsvm"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    ARROW = "arrow"


def option(*names: str, help: str, panel: str = DATA, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Files = Annotated[list[str], typer.Argument(help="Files, patterns such as 'day-*.csv.gz', or - for standard input.")]
FormatOption = Annotated[
    Format | None, option("--format", "-f", help="Format of the files. (default: as name or first line tell)")
]
Label = Annotated[
    str | None, option("--label", "-l", help="Column of the label, by name or position. (default: label)")
]
Weight = Annotated[str | None, option("--weight", help="Column of importance weights.")]
Drop = Annotated[list[str] | None, option("--drop", help="Column to leave out; can be repeated.")]
Categorical = Annotated[
    list[str] | None,
    option("--categorical", help="Column whose numbers are names, such as a zip code; can be repeated."),
]
Positive = Annotated[
    str | None,
    option("--positive", help="The positive label; all others are negative. (default: 1, else the second met)"),
]
Bits = Annotated[int, option("--bits", "-b", help="Features are numbered by a hash of this many bits.", min=1, max=30)]
Header = Annotated[
    bool | None,
    option(
        "--header/--no-header",
        help="Whether CSV begins with names. (default: if the label is one, or none is a number)",
    ),
]
Separator = Annotated[str | None, option("--separator", help="Of CSV. (default: as the first line looks)")]
OnErrorOption = Annotated[
    OnError, option("--on-error", help="Refuse records that cannot be read, or skip and count them.")
]
Json = Annotated[bool, option("--json", help="Print the result as JSON.", panel=OUTPUT)]
Quiet = Annotated[bool, option("--quiet", "-q", help="Show no progress.", panel=OUTPUT)]
Plot = Annotated[
    Path | None,
    option("--plot", help="Draw error curves and the learners' edges to a .png, .svg or .html file.", panel=OUTPUT),
]


def stream_options(
    format: Format | None, header: bool | None, separator: str | None, on_error: OnError = OnError.RAISE
) -> dict[str, Any]:
    """How files are to be read."""
    plain = {"\\t": "\t", "tab": "\t"}.get(separator or "", separator)
    return {"format": format, "header": header, "separator": plain, "on_error": on_error.value}


def schema_options(
    label: str | None,
    weight: str | None,
    drop: list[str] | None,
    categorical: list[str] | None,
    positive: str | None,
    bits: int,
) -> dict[str, Any]:
    """How their columns are to be understood."""
    names = {"drop": drop or (), "categorical": categorical or ()}
    return {"label": label, "weight": weight, "positive": positive, "bits": bits, **names}
