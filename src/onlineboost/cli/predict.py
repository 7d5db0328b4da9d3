"""``onlineboost predict``: labels and scores for files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from onlineboost.cli import options as o
from onlineboost.errors import ParameterError


def predict(
    model: Annotated[Path, typer.Argument(help="A model that was trained before.")],
    files: o.Files,
    output: Annotated[
        str, typer.Option("--output", "-o", help="A .csv, .jsonl or .parquet file, or - for standard output.")
    ] = "-",
    format: o.FormatOption = None,
    label: o.Label = None,
    header: o.Header = None,
    separator: o.Separator = None,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Label and score every example. Labels in the files, if there are any, are not looked at.

    Examples:

      onlineboost predict clicks.model today.parquet -o answers.csv

      cat today.jsonl | onlineboost predict clicks.model - -f jsonl > answers.csv
    """
    from onlineboost.cli.load import load
    from onlineboost.cli.show import Progress, say_skipped
    from onlineboost.readers import open_stream

    loaded = load(model)
    separator = o.separator_of(separator)
    options: dict[str, Any] = {
        "format": format,
        "header": header,
        "separator": separator,
        "on_error": on_error.value,
        "label": label,
    }
    write, close = _writer(output, json_output)
    negative, positive = loaded.model._labels.decode(-1.0), loaded.model._labels.decode(1.0)
    examples = 0
    try:
        with (
            open_stream(files, like=loaded.model, labels="ignored", **options) as stream,
            Progress("predicting", stream.size, quiet or output == "-") as progress,
        ):
            for batch in stream:
                scores = loaded.model.decision_function(batch)
                write([positive if score >= 0 else negative for score in scores.tolist()], scores.tolist())
                examples += batch.y.size
                progress.update(stream, batch.y.size)
    finally:
        close()
    say_skipped(stream)
    if output != "-" and not quiet:
        print(f"{examples:,} answers: {output}", file=sys.stderr)


Write = Callable[[list[Any], list[float]], None]


def _writer(output: str, as_json: bool) -> tuple[Write, Callable[[], None]]:
    """A function that writes answers, and one that ends the file."""
    if output == "-":
        return _lines(sys.stdout, as_json), sys.stdout.flush
    path = Path(output).expanduser()
    kind = path.suffix.lower()
    if kind == ".parquet":
        return _parquet(path)
    if kind not in (".csv", ".jsonl"):
        raise ParameterError("--output", output, "a file that ends in .csv, .jsonl or .parquet, or -")
    file = path.open("w", encoding="utf-8", newline="")
    return _lines(file, as_json or kind == ".jsonl"), file.close


def _lines(file: TextIO, as_json: bool) -> Write:
    import csv
    import json

    if as_json:

        def write(labels: list[Any], scores: list[float]) -> None:
            pairs = zip(labels, scores, strict=True)
            file.writelines(f"{json.dumps({'label': label, 'score': score})}\n" for label, score in pairs)

        return write
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["label", "score"])
    return lambda labels, scores: table.writerows(zip(labels, scores, strict=True))


def _parquet(path: Path) -> tuple[Write, Callable[[], None]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None

    def write(labels: list[Any], scores: list[float]) -> None:
        nonlocal writer
        table = pa.table({"label": labels, "score": scores})
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema)
        writer.write_table(table)

    def close() -> None:
        if writer is not None:
            writer.close()
        else:
            pq.write_table(pa.table({"label": pa.array([], pa.string()), "score": pa.array([], pa.float64())}), path)

    return write, close
