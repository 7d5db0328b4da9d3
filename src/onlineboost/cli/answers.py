"""Output of ``onlineboost predict``: made page by page in any process, written here in order."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from onlineboost.cli.terminal import flush
from onlineboost.data.batch import Batch, Floats
from onlineboost.data.regression import Numbers
from onlineboost.data.scores import as_columns
from onlineboost.errors import DataError, ParameterError
from onlineboost.evaluate.threshold import Cutoff
from onlineboost.model import OnlineModel
from onlineboost.storage.atomic import replacing

Columns = dict[str, list[Any]]
_NUMBERS = ("score", "probability", "prediction", "low", "high")  # columns of answers


class Extras(NamedTuple):
    """Additional output columns."""

    probabilities: bool = False  # of each label
    explain: int = 0  # number of the strongest reasons
    cutoff: Cutoff | None = None  # a threshold


class Output(NamedTuple):
    """Target of predictions."""

    form: Callable[[Columns], Any]  # of the answers for one page: text or a table; can be sent to another process
    write: Callable[[Any], object]  # writes that


def answers(model: OnlineModel, form: Callable[[Columns], Any], extras: Extras, batch: Batch) -> Any:
    """Predictions for a batch, as text or a table."""
    return form(columns_of(model, batch, extras))


def with_gaps(columns: Columns, gaps: Sequence[int]) -> Columns:
    """Columns with an empty cell before each of these rows.

    >>> with_gaps({"label": ["a", "b"]}, [0, 1, 1, 2])
    {'label': [None, 'a', None, None, 'b', None]}
    """
    found: Columns = {}
    for name, cells in columns.items():
        parts = zip([0, *gaps], [*gaps, len(cells)], strict=True)
        first, *rest = (cells[a:b] for a, b in parts)
        found[name] = [*first, *(cell for part in rest for cell in (None, *part))]
    return found


def because(model: OnlineModel, batch: Batch, most: int) -> list[str]:
    """Strongest contributions to the score of each row; for several classes, to the score of the predicted class."""
    why = model.explain(batch)
    if why.classes is None:
        return [reasons.brief(most) for reasons in why]
    best = why.score.argmax(axis=1).tolist()
    return [reasons[why.classes[k]].brief(most) for reasons, k in zip(why, best, strict=True)]


def columns_of(model: OnlineModel, batch: Batch, extras: Extras) -> Columns:
    """Predictions for a batch, with additional columns."""
    reasons: Columns = {"because": because(model, batch, extras.explain)} if extras.explain else {}
    scores, fitted = as_columns(model.scores(batch)), model._fitted
    assert fitted is not None
    if isinstance(fitted.target, Numbers):
        return _numbers(model, scores) | reasons
    cutoff = extras.cutoff
    answers = cutoff.signs(fitted, scores) if cutoff is not None and scores.shape[1] == 1 else scores
    labels, chances = fitted.target.decode(answers).tolist(), fitted.probabilities(scores)
    each = fitted.target.probabilities(chances).T.tolist() if extras.probabilities else ()
    shown, chances = _of_answers(fitted.target, scores), fitted.target.of_positive(chances).max(axis=1)
    found: Columns = {"label": labels, "score": shown.tolist(), "probability": chances.tolist()}
    return found | dict(zip(_of_labels(model), each, strict=True) if extras.probabilities else ()) | reasons


def _of_answers(target: Any, scores: Floats) -> Floats:
    """The largest score of each row; of two labels, that of the positive one."""
    found: Floats = (target.scores(scores) if scores.shape[1] == 1 else scores).max(axis=1)
    return found


def _of_labels(model: OnlineModel) -> list[str]:
    return [f"probability.{label}" for label in model._fitted.target.classes.tolist()]  # type: ignore[union-attr]


def progressive_columns(model: Any, target: Any, scores: Any, answers: Any) -> Columns:
    """Progressive predictions, and their scores.

    Without probabilities: how scores become probabilities is learned on the way, and at hand only as it is now.
    """
    if isinstance(target, Numbers):
        return _numbers(model, scores)
    return {"label": target.decode(answers).tolist(), "score": _of_answers(target, scores).tolist()}


def progressive_names(model: OnlineModel, numbers: bool) -> list[str]:
    """Columns of progressive predictions."""
    return _names_of_numbers(model) if numbers else ["label", "score"]


def bounds_of(model: Any, scores: Any) -> tuple[Any, ...]:
    """Bounds of the 90 % prediction interval; empty for a regressor without them."""
    return model.bounds(scores) if hasattr(model, "bounds") else ()


def _numbers(model: Any, scores: Any) -> Columns:
    answers = model._fitted.target.decode(scores), *bounds_of(model, scores)
    return {name: column.tolist() for name, column in zip(_names_of_numbers(model), answers, strict=True)}


def _names_of_numbers(model: OnlineModel) -> list[str]:
    return ["prediction", *(("low", "high") if hasattr(model, "bounds") else ())]


def names_of(model: OnlineModel, extras: Extras) -> list[str]:
    """Columns of predictions."""
    reasons = ["because"] if extras.explain else []
    if not isinstance(model._fitted.target, Numbers):  # type: ignore[union-attr]
        each = _of_labels(model) if extras.probabilities else []
        return ["label", "score", "probability", *each, *reasons]
    return [*_names_of_numbers(model), *reasons]


@contextmanager
def open_output(output: str, names: list[str], as_json: bool, escape: bool) -> Iterator[Output]:
    """Standard output or a file, which appears under its name once it is complete."""
    if output == "-":
        form, write = _lines(sys.stdout, names, as_json, escape)

        def write_now(part: Any) -> None:
            write(part)
            flush()  # for a reader that waits

        yield Output(form, write_now)
        write_now("")
        return
    path = Path(output).expanduser()
    kind = path.suffix.lower()
    check_kind("--output", output, "a file that ends in .csv, .jsonl or .parquet, or -")
    with replacing(path) as temporary:
        if kind == ".parquet":
            with _parquet(temporary, names) as found:
                yield found
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                lines = _lines(file, names, as_json or kind == ".jsonl", escape)
                yield lines
                lines.write("")  # the heading, if there was no row


def check_kind(option: str, output: str, expected: str = "a file that ends in .csv, .jsonl or .parquet") -> None:
    """Raise an error for a file of an unknown kind."""
    if Path(output).suffix.lower() not in (".csv", ".jsonl", ".parquet"):
        raise ParameterError(option, output, expected)


def _lines(file: TextIO, names: list[str], as_json: bool, escape: bool) -> Output:
    if as_json:
        return Output(json_lines, file.write)
    begun = False

    def write(text: str) -> None:
        nonlocal begun
        if not begun:
            file.write(csv_lines({name: [name] for name in names}, escape=escape))
            begun = True
        file.write(text)

    return Output(partial(csv_lines, escape=escape), write)


def json_lines(columns: Columns) -> str:
    rows = zip(*columns.values(), strict=True)
    return "".join(f"{json.dumps(dict(zip(columns, row, strict=True)), default=str)}\n" for row in rows)


def csv_lines(columns: Columns, escape: bool) -> str:
    text = io.StringIO(newline="")
    texts = (cells for cells in columns.values() if cells and not isinstance(cells[0], float))
    returns = any("\r" in str(cell) for cells in texts for cell in set(map(str, cells)))  # 3.11 forgets to quote them
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)
    rows = zip(*columns.values(), strict=True)
    writer.writerows(map(escaped, row) for row in rows) if escape else writer.writerows(rows)
    return text.getvalue()


def escaped(cell: Any) -> Any:
    """A cell that spreadsheets do not run as a formula; numbers are left alone.

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

    def _type_of(name: str) -> Any:
        return pa.float64() if name in _NUMBERS or name.startswith("probability.") else pa.string()

    def write(table: Any) -> None:
        if not writers:
            known = [
                field.with_type(_type_of(field.name)) if field.type == pa.null() else field for field in table.schema
            ]
            writers.append(pq.ParquetWriter(path, pa.schema(known)))
        try:
            writers[0].write_table(table.cast(writers[0].schema))
        except pa.ArrowException as problem:
            raise DataError(f"{problem}: the cells of a column have several types; write .csv or .jsonl") from problem

    yield Output(pa.table, write)
    if writers:
        writers[0].close()
    else:
        pq.write_table(pa.table({name: pa.array([], _type_of(name)) for name in names}), path)
