"""Bodies as examples: JSON, lines of JSON, Arrow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from onlineboost.serve import http
from onlineboost.serve.errors import ServeError
from onlineboost.serve.limits import Limits

_decoders: dict[tuple[Any, bool], Any] = {}


def decoder(kind: Any, several: bool = False) -> Any:
    found = _decoders.get((kind, several))
    if found is None:
        found = _decoders[kind, several] = msgspec.json.Decoder(list[kind] if several else kind).decode
    return found


def read(request: http.Request, kind: Any, limits: Limits) -> tuple[list[Any], bool]:
    """The examples of a body, and whether they are several: a JSON array, or lines."""
    if request.content_type in (http.NDJSON, "application/jsonl", "application/jsonlines"):
        found = _lines(request, kind)
        several = True
    else:
        several = request.body.lstrip()[:1] == b"["
        found = request.read(decoder(kind, several))
        found = found if several else [found]
    limits.check("rows", len(found), "examples", 413)
    if len(found) == 1:
        check_features(found[0].features, limits)
    elif found:
        limits.check("features", max(map(len, [one.features for one in found])), "features", 413)
        check_names(set().union(*[one.features for one in found]), limits)
    for id in [one.id for one in found if one.id is not None]:
        check_id(id, limits)
    return found, several


def _lines(request: http.Request, kind: Any) -> list[Any]:
    decode, found = decoder(kind), []
    for number, line in enumerate(request.body.split(b"\n"), 1):
        if line and not line.isspace():
            try:
                found.append(decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                text = f"line {number} of the body: {problem}"
                raise ServeError(422, text, "GET /openapi.json describes a line; nothing was learned") from None
    return found


def check_features(features: dict[str, Any], limits: Limits) -> None:
    """Raise an error for too many features, or names that are too long."""
    if len(features) > limits.features:
        limits.check("features", len(features), "features", 413)
    check_names(features, limits)


def check_names(names: Collection[str], limits: Limits) -> None:
    if names and len(max(names, key=len)) > limits.name_length:
        limits.check("name_length", len(max(names, key=len)), "characters in the name of a feature")


def check_id(id: str, limits: Limits) -> str:
    if not id or not id.isprintable():
        raise ServeError(422, f"id {id[:80]!r}: expected printable characters, at least one", "send another id")
    limits.check("name_length", len(id), "characters in an id")
    return id


def read_arrow(request: http.Request, limits: Limits) -> Any:
    """The table of an Arrow IPC stream."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(request.body) as stream:
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError) as problem:
        raise ServeError(
            422, f"the body is no Arrow IPC stream: {problem}", "write it with pyarrow.ipc.new_stream"
        ) from None
    limits.check("rows", table.num_rows, "examples", 413)
    limits.check("features", table.num_columns, "features", 413)
    check_features(dict.fromkeys(table.column_names), limits)
    if len(set(table.column_names)) < table.num_columns:
        raise ServeError(422, "the table has two columns of the same name", "rename one of them")
    return table


def labels_last(table: Any, label: str) -> bytes:
    """A table as the journal has it: Arrow IPC with the labels in the last column."""
    import pyarrow as pa

    if label not in table.column_names:
        raise ServeError(422, f"the table has no column {label!r}", "name the column of labels: ?label=NAME")
    place = table.column_names.index(label)
    column = table.column(place)
    if column.null_count:
        raise ServeError(422, f"column {label!r} has {column.null_count:,} rows without a label", "leave them out")
    names = [name for name in table.column_names if name != label]
    sink = pa.BufferOutputStream()
    whole = table.select([*names, label])
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def arrow_answers(found: list[dict[str, Any]]) -> bytes:
    """Answers as an Arrow IPC stream: the prediction, and a column for each probability."""
    import pyarrow as pa

    columns: dict[str, Any] = {"prediction": [one["prediction"] for one in found]}
    for name in found[0].get("probabilities", {}) if found else {}:
        columns[f"probability.{name}"] = [one["probabilities"][name] for one in found]
    if found and "interval" in found[0]:
        columns["low"], columns["high"] = ([one["interval"][k] for one in found] for k in (0, 1))
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def lines(found: Iterable[Any]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in found)
