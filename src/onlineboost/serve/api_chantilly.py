"""The endpoints of chantilly and riverapi, for their clients.

Model files are those of onlineboost; pickles, which are code, are refused.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from onlineboost.serve import admin, answers, api_admin, api_models, events, examples, http, messages, stream
from onlineboost.serve.app import App
from onlineboost.serve.commands import Label, Learn
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import Request, Response, Route
from onlineboost.serve.state import Served

FLAVORS = {"regression": "OnlineBoostRegressor", "binary": "OnlineBoost", "multiclass": "OnlineBoost"}
_OWN = {400, 401, 403, 413, 421, 429, 500, 503}  # statuses that stay; others are 400 here

Handler = Callable[[App, Request], Awaitable[Response]]


class Init(msgspec.Struct):
    """The kind of models."""

    flavor: str


class Asked(msgspec.Struct):
    """An example to predict; with an id, it can be learned later."""

    features: dict[str, Any]
    id: Any = None
    identifier: Any = None
    model: str | None = None


class Truth(msgspec.Struct):
    """The true label of an example, which is given or was kept under an id."""

    ground_truth: messages.Label
    features: dict[str, Any] | None = None
    id: Any = None
    identifier: Any = None
    model: str | None = None


class Identified(msgspec.Struct):
    """The label of an example that was kept under an identifier."""

    label: messages.Label
    identifier: Any
    model: str | None = None


def _told(answer: Handler) -> Handler:
    """Errors in the form of these interfaces: ``message``, mostly with status 400."""

    @functools.wraps(answer)
    async def wrapped(app: App, request: Request) -> Response:
        try:
            return await answer(app, request)
        except Exception as problem:
            found = http.error_response(problem)
            found.value = {"message": found.value["error"]["message"], **found.value}
            found.status = found.status if found.status in _OWN else 400
            return found

    return wrapped


def _default(app: App) -> str:
    """The name of the latest model."""
    models = [*app.state.models.values()]
    if not models:
        raise ServeError(400, "No default model has been set.", "POST a model file to /api/model/NAME")
    return max(models, key=lambda one: one.since).name


def _model(app: App, name: str | None) -> Served:
    found = app.state.models.get(name or _default(app))
    if found is None:
        raise ServeError(400, f"No model named {str(name)[:80]!r}.", "GET /api/models lists them")
    return found


def _id(app: App, given: Any) -> str | None:
    """The id of an example, as text."""
    one = given.id if given.id is not None else given.identifier
    return None if one is None else examples.check_id(str(one), app.limits)


@_told
async def init(app: App, request: Request) -> Response:
    given = request.read(examples.decoder(Init))
    app.service.check_leading()
    if given.flavor not in FLAVORS:
        allowed = ", ".join(f"'{name}'" for name in FLAVORS)
        raise ServeError(400, f"Allowed flavors are {allowed}.", "")
    await app.write(admin.Call(lambda *_: app.service.journal.set("flavor", given.flavor)))
    return Response({}, 201)


@_told
async def flavor(app: App, request: Request) -> Response:
    found = await app.write(admin.Call(lambda *_: app.service.journal.get("flavor")))
    if found is None:
        raise ServeError(400, "No flavor has been set.", "POST /api/init")
    return Response({"flavor": found})


@_told
async def put(app: App, request: Request) -> Response:
    name = request.names[-1] if request.names else f"model-{secrets.token_hex(4)}"
    request.names = [name]
    if request.body.lstrip()[:1] != b"{":
        await api_admin.put(app, request)
    else:
        raise ServeError(400, "The model is no model file of onlineboost.", "send what model.save has written")
    return Response({"name": name}, 201)


@_told
async def file(app: App, request: Request) -> Response:
    request.names = [_model(app, request.names[-1] if request.names else None).name]
    return await api_admin.file(app, request)


async def remove(app: App, request: Request) -> Response:
    if request.names[-1] not in app.state.models:
        return Response({}, 404)
    app.service.check_leading()
    await app.write(admin.Remove(request.names[-1]))
    return Response(body=b"", status=204)


def models(app: App, request: Request) -> Response:
    known = [*app.state.models]
    return Response({"models": known, "default": _default(app) if known else None})


@_told
async def predict(app: App, request: Request) -> Response:
    given = request.read(examples.decoder(Asked))
    examples.check_features(given.features, app.limits)
    served, id = _model(app, given.model), _id(app, given)
    if id is None:
        found = answers.predict_one(served.model, given.features)
        return Response({"model": served.name, "prediction": _value(found)})
    (found,) = await api_models.ask(app, request, served, [messages.Predict(given.features, True, id)])
    return Response({"model": served.name, "prediction": _value(found), "identifier": id}, 201)


def _value(found: dict[str, Any]) -> Any:
    """A prediction as these interfaces have it: the probabilities of labels, or a number."""
    return found.get("probabilities", found["prediction"])


@_told
async def learn(app: App, request: Request) -> Response:
    given = request.read(examples.decoder(Truth))
    app.service.check_leading()
    id = _id(app, given)
    if id is not None:
        served = _kept(app, given.model, id)
        if served is None:
            raise ServeError(400, f"No information stored for ID {id!r}.", "POST /api/predict with this id first")
        await app.write(Label(served.name, [(id, events.Labeled(given.ground_truth))], False))
        return Response({}, 201)
    if given.features is None:
        raise ServeError(400, "No features are stored and none were provided.", "send features, or an id")
    examples.check_features(given.features, app.limits)
    if given.model is None and not app.state.models:
        await _first(app, given.ground_truth)
    served = _model(app, given.model)
    await app.write(Learn(served.name, "", events.Example(given.features, given.ground_truth)))
    return Response({}, 201)


async def _first(app: App, label: Any) -> None:
    """Create the first model, by the flavor."""
    found = await app.write(admin.Call(lambda *_: app.service.journal.get("flavor")))
    if found is None:
        raise ServeError(400, "No default model has been set.", "POST /api/init, or a model file to /api/model/NAME")
    await api_models.make(app, "default", 0.5 if found == "regression" else label)


def _kept(app: App, name: str | None, id: str) -> Served | None:
    """The model that an example was kept for."""
    with app.service.journal.reader() as db:
        rows = db.execute("select model from tickets where id = ?", (id,)).fetchall()
    found = [app.state.models[model] for (model,) in rows if model in app.state.models and name in (None, model)]
    return found[0] if found else None


@_told
async def label(app: App, request: Request) -> Response:
    given = request.read(examples.decoder(Identified))
    app.service.check_leading()
    id = examples.check_id(str(given.identifier), app.limits)
    served = _kept(app, given.model, id)
    if served is None:
        raise ServeError(400, f"No information stored for ID {id!r}.", "POST /api/predict with this id first")
    await app.write(Label(served.name, [(id, events.Labeled(given.label))], False))
    return Response("Successful label.")


@_told
async def metrics(app: App, request: Request) -> Response:
    return Response(_metrics(app, _model(app, request.option("model"))))


def _metrics(app: App, served: Served) -> dict[str, Any]:
    found = answers.metrics(served.model)["all"]
    if "error" in found:
        error = found["error"]
        return {"Accuracy": None if error is None else 1 - error, "LogLoss": found["log_loss"]}
    squared = found["squared_error"]
    return {"MAE": found["absolute_error"], "MSE": squared, "RMSE": None if squared is None else squared**0.5}


def stats(app: App, request: Request) -> Response:
    return Response({name: _durations(app, f"/api/{name}") for name in ("predict", "learn")})


def _durations(app: App, route: str) -> dict[str, Any]:
    count, total = sum(app.timing.buckets.get(route, ())), app.timing.sums.get(route, 0.0)
    mean = int(total / count * 1e9) if count else 0
    return {"n_calls": count, "mean_duration": mean, "mean_duration_human": f"{mean // 1000}μs"}


def stream_metrics(app: App, request: Request) -> Response:
    return Response(parts=stream.metrics_alone(app, lambda: _metrics(app, _model(app, None))), type=stream.TYPE)


def stream_events(app: App, request: Request) -> Response:
    return Response(parts=stream.events(app, ("example",)), type=stream.TYPE)


ROUTES = [
    Route("GET", "/api/init", flavor, "read", "chantilly: the flavor"),
    Route("POST", "/api/init", init, "admin", "chantilly: set the flavor", Init),
    Route("GET", "/api/model", file, "read", "chantilly: the default model as a file", type=http.FILE),
    Route("POST", "/api/model", put, "admin", "chantilly: put a model file", limit="model_mb"),
    Route("GET", "/api/model/{model}", file, "read", "chantilly: a model as a file", type=http.FILE),
    Route("POST", "/api/model/{model}", put, "admin", "chantilly: put a model file", limit="model_mb"),
    Route("POST", "/api/model/{flavor}/{model}", put, "admin", "riverapi: put a model file", limit="model_mb"),
    Route("DELETE", "/api/model/{model}", remove, "admin", "chantilly: remove a model"),
    Route("GET", "/api/models", models, "read", "chantilly: all models"),
    Route("POST", "/api/predict", predict, "read", "chantilly: predict", Asked),
    Route("POST", "/api/learn", learn, "learn", "chantilly: learn", Truth),
    Route("POST", "/api/label", label, "learn", "riverapi: label", Identified),
    Route("GET", "/api/metrics", metrics, "read", "chantilly: metrics"),
    Route("GET", "/api/stats", stats, "read", "chantilly: durations"),
    Route("GET", "/api/stream/metrics", stream_metrics, "read", "chantilly: metrics as they change", type=stream.TYPE),
    Route(
        "GET", "/api/stream/events", stream_events, "read", "chantilly: examples as they are learned", type=stream.TYPE
    ),
]
