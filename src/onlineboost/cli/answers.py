"""What ``onlineboost predict`` writes: made page by page, anywhere, and written here in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from onlineboost.cli.terminal import flush
from onlineboost.data.target import Numbers
from onlineboost.errors import ParameterError
from onlineboost.storage.atomic import replacing

if TYPE_CHECKING:
    from onlineboost.data.batch import Batch
    from onlineboost.evaluate.threshold import Cut
    from onlineboost.model import OnlineModel

Columns = dict[str, list[Any]]


class Output(NamedTuple):
    """Where answers go."""

    form: Callable[[Columns], Any]  # of the answers for one page: text or a table; can be sent to another process
    write: Callable[[Any], object]  # writes that


def answers(model: OnlineModel, form: Callable[[Columns], Any], batch: Batch, cut: Cut | None = None) -> Any:
    """The answers for a batch, in their form; by a threshold, if there is one."""
    scores, fitted = model.scores(batch), model.fitted
    assert fitted is not None
    if isinstance(fitted.target, Numbers):
        found: Columns = {"prediction": fitted.target.decode(scores).tolist()}
        if hasattr(model, "predict_interval"):
            found["low"], found["high"] = (bound.tolist() for bound in model.predict_interval(batch))
        return form(found)
    labels, chances = fitted.target.decode(scores).tolist(), fitted.machine.probabilities(scores)
    if cut is not None:
        labels = fitted.target.classes[cut.positive(fitted, scores).astype(int)].tolist()
    if scores.ndim > 1:  # those of the answer
        scores, chances = scores.max(axis=1), chances.max(axis=1)
    else:
        scores, chances = fitted.target.scores(scores), fitted.target.of_positive(chances)
    return form({"label": labels, "score": scores.tolist(), "probability": chances.tolist()})


def names_of(model: OnlineModel) -> list[str]:
    """The columns of the answers; ``low`` and ``high`` are bounds between which nine of ten numbers lie."""
    if not isinstance(model.fitted.target, Numbers):  # type: ignore[union-attr]
        return ["label", "score", "probability"]
    return ["prediction", *(("low", "high") if hasattr(model, "predict_interval") else ())]


@contextmanager
def open_output(output: str, names: list[str], as_json: bool, escape: bool) -> Iterator[Output]:
    """Standard output or a file, which appears under its name once it is complete."""
    if output == "-":
        yield _lines(sys.stdout, names, as_json, escape)
        flush()
        return
    path = Path(output).expanduser()
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl", ".parquet"):
        raise ParameterError("--output", output, "a file that ends in .csv, .jsonl or .parquet, or -")
    with replacing(path) as temporary:
        if kind == ".parquet":
            with _parquet(temporary, names) as found:
                yield found
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield _lines(file, names, as_json or kind == ".jsonl", escape)


def _lines(file: TextIO, names: list[str], as_json: bool, escape: bool) -> Output:
    if as_json:
        return Output(json_lines, file.write)
    begun = False

    def write(text: str) -> None:
        nonlocal begun
        if not begun:
            file.write(",".join(names) + "\n")
            begun = True
        file.write(text)

    return Output(partial(csv_lines, escape=escape), write)


def json_lines(columns: Columns) -> str:
    import json

    rows = zip(*columns.values(), strict=True)
    return "".join(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n" for row in rows)


def csv_lines(columns: Columns, escape: bool) -> str:
    import csv
    import io

    text = io.StringIO(newline="")
    returns = any("\r" in str(label) for label in set(columns.get("label", ())))  # Python 3.11 forgets to quote them
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)
    rows = zip(*columns.values(), strict=True)
    writer.writerows(map(escaped, row) for row in rows) if escape else writer.writerows(rows)
    return text.getvalue()


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
def _parquet(path: Path, names: list[str]) -> Iterator[Output]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writers: list[Any] = []  # one, made with the type of the first labels

    def write(table: Any) -> None:
        if not writers:
            writers.append(pq.ParquetWriter(path, table.schema))
        writers[0].write_table(table)

    yield Output(pa.table, write)
    if writers:
        writers[0].close()
    else:
        types = {name: pa.string() if name == "label" else pa.float64() for name in names}
        pq.write_table(pa.table({name: pa.array([], kind) for name, kind in types.items()}), path)
