"""The OpenAPI document, from the routes and the structs of their bodies."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from onlineboost import __version__
from onlineboost.serve import messages
from onlineboost.serve.http import ARROW, FILE, JSON, NDJSON, Route
from onlineboost.serve.limits import NAME

_WORDS = {"model": "Name of the model.", "checkpoint": "Name of the checkpoint.", "id": "Id of the example."}
_NAMED = ("model", "checkpoint")  # parameters of this form
_ERRORS = {
    "400": "The body is not JSON.",
    "401": "A token is needed.",
    "403": "The level of the token is too low, or the request comes from another site.",
    "404": "There is no such model, id or address.",
    "409": "The id was used or labeled before with other data, or this service is no longer the leader.",
    "410": "The ticket has expired, or the event is no longer kept.",
    "413": "The body is too large.",
    "421": "This service is a follower.",
    "422": "The example, the label or the model cannot be used.",
    "429": "Too many requests are queued.",
    "503": "Nothing was written; the same request can be sent again.",
}
_TEXT = {"type": "string"}
_NAME = {"type": "string", "pattern": f"^{NAME}$"}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_MANY = ("predict", "learn", "label")  # bodies that may be arrays


def document(routes: list[Route]) -> dict[str, Any]:
    """The document of these routes."""
    kinds = {kind for route in routes for kind in (route.takes, route.gives) if kind is not None} | {messages.Error}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    schemas, parts = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_kind)
    return {
        "openapi": "3.1.0",
        "info": {"title": "onlineboost serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": parts, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route, by_kind: dict[Any, Any]) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", route.path)
    place = re.sub(r"\W+", "_", route.path).strip("_")
    gives = {"schema": by_kind[route.gives]} if route.gives is not None else {}
    many = route.path.rpartition("/")[2] in _MANY and route.path.startswith("/v1")
    if many and gives:
        gives = {
            "schema": {"anyOf": [gives["schema"], {"type": "array", "items": gives["schema"]}, {"type": "object"}]}
        }
    types: dict[str, Any] = {route.type: gives if route.type == JSON else _BYTES}
    if route.path.endswith("/predict") and many:
        types |= {NDJSON: _BYTES, ARROW: _BYTES}
    answer = {"description": route.summary, "content": types}
    error = {"application/json": {"schema": by_kind[messages.Error]}}
    found: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{place}",
        "summary": route.summary,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": _WORDS.get(name, ""),
                "schema": _NAME if name in _NAMED else _TEXT,
            }
            for name in names
        ],
        "responses": {
            "200": answer,
            "201": answer,
            "202": answer,
            **{status: {"description": text, "content": error} for status, text in _ERRORS.items()},
        },
    }
    if route.level != "open":
        found["security"] = [{}, {"token": []}]
        found["description"] = f"Needs a token for {route.level}, if the service has tokens."
    if route.takes is not None:
        schema = by_kind[route.takes]
        schema = {"anyOf": [schema, {"type": "array", "items": schema}]} if many else schema
        content: dict[str, Any] = {JSON: {"schema": schema}}
        if many and not route.path.endswith("label"):
            content |= {NDJSON: {"schema": _TEXT}, ARROW: _BYTES}
        if route.limit == "model_mb":
            content[FILE] = _BYTES
        found["requestBody"] = {"required": True, "content": content}
    return found
