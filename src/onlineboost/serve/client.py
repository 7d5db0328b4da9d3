"""A client of the service, of the standard library alone."""

from __future__ import annotations

import http.client
import json
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

Features = Mapping[str, Any]
_AGAIN = {429, 503}  # statuses after which the same request can be sent again
_LONGEST = 5.0  # seconds between two tries
_COMPILING = 600.0  # seconds to wait, at least, for a model that the service compiles


class ServiceError(Exception):
    """An error response of the service.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        Error message.
    next : str, default=""
        Next step.
    """

    def __init__(self, status: int, message: str, next: str = "") -> None:
        super().__init__(f"{message} ({status}){f'; next: {next}' if next else ''}")
        self.status, self.message, self.next = status, message, next


class Prediction(NamedTuple):
    """A prediction; ``id`` is that of its ticket, if one was asked for."""

    prediction: Any
    probabilities: dict[str, float] | None = None
    interval: list[float] | None = None
    id: str | None = None


class Client:
    """A connection to ``onlineboost serve``; one for each thread is kept open.

    Requests are sent again after a lost connection, 429 and 503, up to ``retries`` times. Whatever learns has an id, so
    that it is learned once.

    Parameters
    ----------
    address : str
        Address of the service, such as ``http://127.0.0.1:8080``.
    model : str, default="default"
        Name of the model.
    token : str or None, default=None
        Token of the service, if it has any.
    timeout : float, default=30.0
        Seconds to wait for an answer; a new model may take longer, since it is compiled.
    retries : int, default=5
        Number of times that a request is sent again.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8080", "clicks") as client:  # doctest: +SKIP
    ...     ticket = client.ask({"size": 3})
    ...     client.label(ticket.id, 1)
    >>> Client("http://127.0.0.1:8080", "clicks").retries
    5
    """

    def __init__(
        self, address: str, model: str = "default", *, token: str | None = None, timeout: float = 30.0, retries: int = 5
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"address={address!r}: expected one such as http://127.0.0.1:8080")
        self.model, self.token, self.timeout, self.retries = model, token, timeout, retries
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._local = threading.local()
        self._open: set[http.client.HTTPConnection] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._open.pop().close()
        self._local = threading.local()

    # ---- predict and learn

    def predict(self, features: Features) -> Prediction:
        """The prediction for one example."""
        return _prediction(self._post("predict", {"features": features}))

    def predict_many(self, rows: Iterable[Features]) -> list[Prediction]:
        """The predictions for many examples, in one request."""
        return [_prediction(one) for one in self._post("predict", [{"features": row} for row in rows])]

    def ask(self, features: Features, id: str | None = None, defer: bool = False) -> Prediction:
        """The prediction for an example whose label comes later, by its id; deferred: its wait begins later, too."""
        given = {"features": features, "ticket": True, "id": id or _new_id()}
        return _prediction(self._post("predict", given | ({"defer": True} if defer else {})))

    def activate(self, id: str) -> dict[str, Any]:
        """Let a deferred ticket wait for its label from now on."""
        found: dict[str, Any] = self._post("activate", {"id": id})
        return found

    def label(self, id: str, label: Any, weight: float = 1.0) -> dict[str, Any]:
        """Learn what was asked, now that its label is known."""
        found: dict[str, Any] = self._post("label", {"id": id, "label": label, "weight": weight})
        return found

    def label_many(self, labels: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
        """``label`` for many pairs of an id and a label; each answer has a status of its own."""
        given = [{"id": id, "label": label} for id, label in labels]
        found: list[dict[str, Any]] = self._post("label", given)
        return found

    def learn(self, features: Features, label: Any, weight: float = 1.0, id: str | None = None) -> dict[str, Any]:
        """Learn an example; the answer has its prediction before that."""
        given = {"features": features, "label": label, "weight": weight, "id": id or _new_id()}
        found: dict[str, Any] = self._post("learn", given)
        return found

    def learn_many(self, rows: Sequence[Features], labels: Sequence[Any], id: str | None = None) -> dict[str, Any]:
        """Learn many examples in one request, all or none."""
        given = [{"features": row, "label": label} for row, label in zip(rows, labels, strict=True)]
        found: dict[str, Any] = self._post(f"learn?{urlencode({'id': id or _new_id()})}", given)
        return found

    def explain(self, features: Features, top: int = 10) -> dict[str, Any]:
        """The strongest contributions to the score of an example."""
        found: dict[str, Any] = self._post("explain", {"features": features, "top": top})
        return found

    # ---- models

    def metrics(self) -> dict[str, Any]:
        """Errors, rates and waiting tickets of the model."""
        found: dict[str, Any] = self._get("/metrics")
        return found

    def create(self, model: str | None = None, **params: Any) -> dict[str, Any]:
        """Make the model: a class of onlineboost by its name, or the default."""
        return self._json("PUT", self._path(""), {"model": model, "params": params})

    def upload(self, path: str | Path) -> dict[str, Any]:
        """Put a model file in the place of the model."""
        return json.loads(self._request("PUT", self._path(""), Path(path).read_bytes(), "application/octet-stream"))  # type: ignore[no-any-return]

    def download(self, path: str | Path) -> None:
        """Write the model to a file, for ``onlineboost.load``."""
        Path(path).write_bytes(self._request("GET", self._path("/file")))

    def checkpoint(self, name: str) -> dict[str, Any]:
        """Keep the state of the model under a name."""
        return self._json("POST", self._path("/checkpoints"), {"name": name})

    def restore(self, name: str) -> dict[str, Any]:
        """Put the model back to a checkpoint."""
        return self._json("POST", self._path(f"/checkpoints/{quote(name, '')}/restore"), {})

    def forget(self, id: str) -> dict[str, Any]:
        """Erase a ticket or an example by its id."""
        return self._json("DELETE", self._path(f"/ids/{quote(id, '')}"), None)

    def status(self) -> dict[str, Any]:
        """Role, position and problems of the service."""
        return self._json("GET", "/v1/status", None)

    def models(self) -> list[dict[str, Any]]:
        """All models of the service."""
        return self._json("GET", "/v1/models", None)  # type: ignore[return-value]

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What happens, as it happens: pairs of a kind and its data."""
        connection = self._new()
        try:
            connection.request("GET", "/v1/events", headers=self._headers(None))
            answer = connection.getresponse()
            if answer.status != 200:
                raise _error(answer.status, answer.read())
            kind = "message"
            for line in answer:
                name, _, text = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = text
                elif name == "data":
                    yield kind, json.loads(text)
        finally:
            connection.close()

    # ---- requests

    def _path(self, rest: str) -> str:
        return f"/v1/models/{quote(self.model, '')}{rest}"

    def _post(self, what: str, value: Any) -> Any:
        return self._json("POST", self._path(f"/{what}"), value)

    def _get(self, what: str) -> Any:
        return self._json("GET", self._path(what), None)

    def _json(self, method: str, path: str, value: Any) -> dict[str, Any]:
        body = None if value is None else json.dumps(value, allow_nan=False).encode()
        found: dict[str, Any] = json.loads(self._request(method, path, body))
        return found

    def _headers(self, kind: str | None) -> dict[str, str]:
        found = {"content-type": kind} if kind is not None else {}
        return found | ({"authorization": f"Bearer {self.token}"} if self.token else {})

    def _new(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=self.timeout)

    def _request(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
        """The body of an answer; sent again while that may help."""
        headers = self._headers(kind if body is not None else None)
        pause = 0.05
        for left in range(self.retries, -1, -1):
            try:
                status, found, after = self._send(method, path, body, headers)
            except (OSError, http.client.HTTPException):
                if not left:
                    raise
                after = 0.0
            else:
                if status < 400:
                    return found
                if status not in _AGAIN or not left:
                    raise _error(status, found)
            time.sleep(min(max(pause, after), _LONGEST))
            pause *= 2
        raise AssertionError

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, float]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._new()
            self._open.add(connection)
        connection.timeout = max(self.timeout, _COMPILING) if method == "PUT" else self.timeout
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            found = answer.read()
        except BaseException:
            connection.close()
            self._open.discard(connection)
            self._local.connection = None
            raise
        after = answer.headers.get("retry-after", "0")
        return answer.status, found, float(after) if after.isdigit() else 0.0


def _new_id() -> str:
    return secrets.token_hex(12)


def _prediction(found: dict[str, Any]) -> Prediction:
    return Prediction(found["prediction"], found.get("probabilities"), found.get("interval"), found.get("id"))


def _error(status: int, body: bytes) -> ServiceError:
    try:
        found = json.loads(body)["error"]
        return ServiceError(status, str(found["message"]), str(found["next"]))
    except (ValueError, KeyError, TypeError):
        return ServiceError(status, f"no answer of onlineboost: {body[:200]!r}")
