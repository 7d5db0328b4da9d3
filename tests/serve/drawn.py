"""Requests drawn by Hypothesis from the OpenAPI document: some as it says, some not."""

from __future__ import annotations

import http.client
import io
import json
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pyarrow as pa
from hypothesis import strategies as st

JSON, NDJSON, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
STREAMS = "/v1/events", "/api/stream/metrics", "/api/stream/events"
ROLES = "/v1/promote", "/v1/fence"  # after them, and after the option epoch, a service refuses to write
KINDS = JSON, NDJSON, ARROW, "application/octet-stream", "text/plain", ""
LIMIT = 30  # seconds; an answer that takes longer hangs

words = st.sampled_from(["m", "size", "colour", "large", "small", "t1", "t2", "t3", "c", "red", "Perceptron", "binary"])
texts = words | st.text(max_size=20)
numbers = st.integers(-3, 60) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    leaves, lambda one: st.lists(one, max_size=4) | st.dictionaries(texts, one, max_size=4), max_leaves=12
)
options = st.sampled_from(["ticket", "id", "label", "at", "after", "chain", "snapshot", "model", "top"])


class Drawn(NamedTuple):
    """A request."""

    method: str
    path: str
    kind: str
    body: bytes | None


def of_schema(schema: dict[str, Any], parts: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a schema; one in ten is any other."""
    if "$ref" in schema:
        return of_schema(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "anyOf" in schema:
        return st.one_of([of_schema(one, parts) for one in schema["anyOf"]])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        needed = {name: of_schema(schema["properties"][name], parts) for name in schema.get("required", ())}
        more = {name: of_schema(one, parts) for name, one in schema["properties"].items() if name not in needed}
        found = st.fixed_dictionaries(needed, optional=more)
        found = found | found.flatmap(
            lambda one: st.dictionaries(texts, values, max_size=1).map(lambda also: one | also)
        )
    elif kind == "object":
        found = st.dictionaries(texts, leaves | values, max_size=5)
    elif kind == "array":
        found = st.lists(of_schema(schema.get("items", {}), parts), max_size=4)
    else:
        known = {
            "string": texts,
            "number": numbers,
            "integer": st.integers(),
            "boolean": st.booleans(),
            "null": st.none(),
        }
        return known.get(str(kind), values)
    return st.one_of(*[found] * 9, values)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_arrow(columns: dict[str, list[Any]]) -> bytes:
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


columns = st.integers(0, 3).flatmap(
    lambda n: st.dictionaries(
        words | st.just("label"),
        st.lists(numbers.map(float), min_size=n, max_size=n) | st.lists(texts, min_size=n, max_size=n),
        max_size=4,
    )
)


def damaged(body: bytes) -> st.SearchStrategy[bytes]:
    """A body with a piece cut out or put in."""
    place = st.integers(0, len(body))
    return st.tuples(place, place, st.binary(max_size=6)).map(lambda one: body[: one[0]] + one[2] + body[one[1] :])


def bodies(content: dict[str, Any], parts: dict[str, Any]) -> st.SearchStrategy[tuple[str, bytes]]:
    schema = content.get(JSON, {}).get("schema", {})
    proper = of_schema(schema, parts).map(as_json)
    one = [schema, *schema.get("anyOf", ())][min(1, len(schema.get("anyOf", ())))]
    lines = st.lists(of_schema(one, parts).map(as_json), max_size=4).map(b"\n".join)
    table = columns.map(as_arrow)
    kinds = st.sampled_from(KINDS)
    right = [st.tuples(st.just(JSON), proper)] * 8
    if NDJSON in content:
        right += [st.tuples(st.just(NDJSON), lines), st.tuples(st.just(ARROW), table)] * 2
    wrong = [st.tuples(kinds, proper | lines | table | st.binary(max_size=80))]
    wrong += [st.tuples(kinds, (proper | table).flatmap(damaged))]
    return st.one_of(*right, *wrong)


def requests(document: dict[str, Any]) -> st.SearchStrategy[Drawn]:
    """Requests to all addresses of a service, but for those that never end, or that end its writing."""
    parts = document["components"]["schemas"]
    every = []
    for path, methods in document["paths"].items():
        if path in STREAMS or path in ROLES:
            continue
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            sends = method in ("post", "put")
            body = bodies(content, parts) if sends else st.just(("", b""))
            weight = 6 if content else 1
            every += [st.builds(_built, st.just(method.upper()), paths(path), queries, body)] * weight
    return st.one_of(every)


queries = st.just({}) | st.dictionaries(options, texts | numbers.map(str), max_size=2)


def paths(path: str) -> st.SearchStrategy[str]:
    """The path with names for its parts in braces: mostly known ones."""
    names = st.one_of(*[st.sampled_from(["m", "m", "m", "t1", "t2", "c"])] * 4, texts, st.just(".."))
    found = st.just("")
    for part in path.split("/")[1:]:
        own = names.map(lambda one: quote(one, "")) if part.startswith("{") else st.just(part)
        found = st.tuples(found, own).map("/".join)
    return found


def _built(method: str, path: str, query: dict[str, str], body: tuple[str, bytes]) -> Drawn:
    address = f"{path}?{urlencode(query, errors='replace')}" if query else path
    return Drawn(method, address, body[0], body[1] if method in ("POST", "PUT") else None)


class Sender:
    """Sends requests, and looks at the answers."""

    def __init__(self, address: str) -> None:
        self.host, self.port = address.removeprefix("http://").split(":")
        self.connection = http.client.HTTPConnection(self.host, int(self.port), timeout=LIMIT)

    def __call__(self, one: Drawn) -> int:
        """The status of the answer, which must not be an unforeseen error."""
        try:
            status, kind, body = self._answer(one)
        except (ConnectionError, http.client.HTTPException):  # it was idle for long
            self.connection.close()
            status, kind, body = self._answer(one)
        except BaseException:
            self.connection.close()
            raise
        assert status < 500 or (status == 503 and b"again after a second" in body), (one, status, body)
        assert b"Traceback" not in body, one
        if kind == JSON and body:
            found = json.loads(body)
            if status >= 400 and not one.path.startswith("/api"):
                assert set(found["error"]) == {"message", "next"}, (one, body)
        return status

    def _answer(self, one: Drawn) -> tuple[int, str, bytes]:
        headers = {"content-type": one.kind} if one.kind else {}
        self.connection.request(one.method, one.path, one.body, headers)
        with self.connection.getresponse() as answer:
            return answer.status, answer.headers.get("content-type", ""), answer.read()

    def close(self) -> None:
        self.connection.close()
