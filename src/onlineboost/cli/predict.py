"""``onlineboost predict``: predictions for files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from onlineboost.cli import options as o
from onlineboost.cli.terminal import flush, tell
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.storage.atomic import check_target, replacing


def predict(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    files: o.Files,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Output file (.csv, .jsonl or .parquet), or - for standard output.")
    ] = "-",
    label: o.Label = None,
    escape_formulas: Annotated[
        bool,
        o.option(
            "--escape-formulas",
            help="Apostrophe before labels that a spreadsheet would take for a formula, such as =1+1 (CSV only).",
            panel=o.OUTPUT,
        ),
    ] = False,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Predict the label, score and probability of every example. Labels in the files are ignored.

    Examples:

      onlineboost predict clicks.model today.parquet -o answers.csv

      cat today.jsonl | onlineboost predict clicks.model - -f jsonl > answers.csv
    """
    from onlineboost.cli.compiling import compile_first
    from onlineboost.cli.load import check_known, load
    from onlineboost.cli.show import Progress
    from onlineboost.readers import open_stream
    from onlineboost.readers.files import expand

    if output != "-":
        check_target("--output", output, [*files, str(model)])
    if escape_formulas and (json_output or Path(output).suffix.lower() in (".jsonl", ".parquet")):
        raise ConflictError("--escape-formulas is for CSV: other formats keep text and formulas apart.")
    loaded = load(model)
    options = o.stream_options(given) | {"label": label}
    expand(files)
    compile_first([loaded.model], quiet)
    target = loaded.fitted.target
    examples = 0
    with (
        open_stream(files, like=loaded.model, labels="ignored", **options) as stream,
        _writer(output, json_output, escape_formulas) as write,
        Progress("predicting", stream.size, quiet or output == "-") as progress,
    ):
        for page in stream:
            if not examples:
                check_known(loaded.model, page.batch)
            scores = loaded.model.decision_function(page)
            labels, probabilities = target.decode(scores).tolist(), loaded.model.probabilities(scores).tolist()
            write({"label": labels, "score": scores.tolist(), "probability": probabilities})
            examples += page.n_rows
            progress.update(stream, page.n_rows)
    if output != "-" and not quiet:
        tell(f"{examples:,} predictions: {output}")


Write = Callable[[dict[str, list[Any]]], None]


@contextmanager
def _writer(output: str, as_json: bool, escape: bool) -> Iterator[Write]:
    """A function that writes predictions. A file appears under its name once it is complete."""
    if output == "-":
        yield _lines(sys.stdout, as_json, escape)
        flush()
        return
    path = Path(output).expanduser()
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl", ".parquet"):
        raise ParameterError("--output", output, "a file that ends in .csv, .jsonl or .parquet, or -")
    with replacing(path) as temporary:
        if kind == ".parquet":
            with _parquet(temporary) as write:
                yield write
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield _lines(file, as_json or kind == ".jsonl", escape)


def _lines(file: TextIO, as_json: bool, escape: bool) -> Write:
    import csv
    import json

    table = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)  # Python 3.11 forgets to for "\r"
    begun = False

    def write(columns: dict[str, list[Any]]) -> None:
        nonlocal begun
        rows = zip(*columns.values(), strict=True)
        if as_json:
            file.writelines(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n" for row in rows)
            return
        if not begun:
            table.writerow(columns)
            begun = True
        writer = quoted if any("\r" in str(label) for label in set(columns["label"])) else table
        writer.writerows(map(escaped, row) for row in rows) if escape else writer.writerows(rows)

    return write


def escaped(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers are none.

    >>> [escaped(cell) for cell in ("=1+1", "-1", -1, "red")]
    ["'=1+1", '-1', -1, 'red']
    """
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writers: list[Any] = []  # one, made with the type of the first labels

    def write(columns: dict[str, list[Any]]) -> None:
        table = pa.table(columns)
        if not writers:
            writers.append(pq.ParquetWriter(path, table.schema))
        writers[0].write_table(table)

    yield write
    if writers:
        writers[0].close()
    else:
        pq.write_table(pa.table({"label": pa.array([], pa.string()), "score": pa.array([], pa.float64())}), path)
