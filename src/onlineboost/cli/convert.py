"""``onlineboost convert``: the same examples in another format."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any

from onlineboost.cli import options as o
from onlineboost.cli.terminal import Progress, announce, say_skipped
from onlineboost.errors import ParameterError
from onlineboost.readers import open_stream
from onlineboost.readers.files import is_regular
from onlineboost.readers.format import by_name, open_writer
from onlineboost.registry import FORMATS
from onlineboost.storage.atomic import check_target


def convert(
    source: Annotated[str, o.argument("Input file, or - for standard input.", "IN")],
    target: Annotated[str, o.argument("Output file; its ending sets format and compression.", "OUT")],
    label: o.Label = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    text: o.Text = None,
    day_first: o.DayFirst = None,
    month_first: o.MonthFirst = None,
    positive: o.Positive = None,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Convert examples to another file format.

    Training on either file gives the same model. A column of categories becomes features, such as color=red. Labels
    become -1 and 1.

    Examples:

      onlineboost convert clicks.parquet clicks.vw.gz --label clicked

      onlineboost convert data.libsvm data.csv

      onlineboost convert zips.csv zips.jsonl --categorical zip
    """
    options = o.stream_options(given, on_error)
    options |= o.schema_options(label, weight, drop, categorical, text, day_first, month_first, positive)

    def stream_again() -> Any:
        return open_stream(source, labels="optional", **options)

    check_target("OUT", target, [source])
    _check_ending(target)
    examples = 0
    with (
        open_writer(target, stream_again, rereadable=is_regular(source)) as write,
        stream_again() as stream,
        Progress("converting", stream.size, quiet) as progress,
    ):
        for page in stream:
            write(page)
            examples += page.n_rows
            progress.update(stream, page.n_rows)
    say_skipped(stream)
    if not quiet:
        announce(f"{examples:,} examples: {target}")


def _check_ending(target: str) -> None:
    if by_name(target) is None:
        known = [format.suffixes[0] for format in FORMATS if format.writer is not None]
        met = [close for ending in Path(target).suffixes for close in difflib.get_close_matches(ending, known, 1)]
        hint = f"; did you mean {met[0]}?" if met else ""
        raise ParameterError("OUT", target, f"a file name that ends in one of {', '.join(known)}{hint}")
