"""The Open Inference Protocol, version 2, as in KServe and MLServer."""

from __future__ import annotations

from typing import Any

from onlineboost import __version__
from onlineboost.serve import answers, api_models, api_watch, examples, messages
from onlineboost.serve.app import App
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import Request, Response, Route, to_thread
from onlineboost.serve.messages import InferInput, InferRequest

_EXTENSION = "onlineboost_label"  # an id for each example, and POST .../label


def server(app: App, request: Request) -> Response:
    return Response({"name": "onlineboost", "version": __version__, "extensions": [_EXTENSION]})


def live(app: App, request: Request) -> Response:
    api_watch.live(app, request)
    return Response({"live": True})


def ready(app: App, request: Request) -> Response:
    api_watch.ready(app, request)
    return Response({"ready": True})


def model(app: App, request: Request) -> Response:
    served = app.state.served(request.names[0])
    fitted = answers.fitted_of(served.model)
    outputs = [{"name": "prediction", "datatype": "FP64" if fitted.of_numbers else "BYTES", "shape": [-1]}]
    if not fitted.of_numbers:
        outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [-1, -1]})
    return Response(
        {
            "name": served.name,
            "versions": [str(served.changed)],
            "platform": "onlineboost",
            "inputs": [{"name": "features", "datatype": "FP64", "shape": [-1, -1]}],
            "outputs": outputs,
        }
    )


def model_ready(app: App, request: Request) -> Response:
    return Response({"name": app.state.served(request.names[0]).name, "ready": True})


async def infer(app: App, request: Request) -> Response:
    """Columns, one tensor each, or a table in one tensor, whose columns are 0, 1, 2, ..."""
    served = app.state.served(request.names[0])
    given = request.read(examples.decoder(InferRequest))
    rows = await to_thread(rows_of, given.inputs, app)
    if given.parameters.get("ticket"):
        asked = [messages.Predict(row, True) for row in rows]
        found = await api_models.ask(app, request, served, asked)
    else:
        found = await to_thread(answers.predict_many, served.model, rows)
    outputs = _outputs(answers.fitted_of(served.model).of_numbers, found)
    more = {"id": given.id} if given.id is not None else {}
    return Response({"model_name": served.name, "model_version": str(served.changed), **more, "outputs": outputs})


def rows_of(inputs: list[InferInput], app: App) -> list[dict[str, Any]]:
    """The examples of tensors."""
    columns: dict[str, list[Any]] = {}
    for one in inputs:
        n, width = _shape(one)
        app.limits.check("rows", n, "examples", 413)
        app.limits.check("features", width, "features", 413)
        data = _flat(one.data, n * width, one.name)
        alone = width == 1 and (len(inputs) > 1 or len(one.shape) == 1)
        for k in range(width):
            columns[one.name if alone else str(k) if len(inputs) == 1 else f"{one.name}.{k}"] = data[k::width]
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1:
        raise ServeError(422, "the inputs differ in length, or there are none", "send tensors of the same length")
    found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if found:
        examples.check_features(found[0], app.limits)
    return found


def _shape(one: InferInput) -> tuple[int, int]:
    if len(one.shape) not in (1, 2) or min(one.shape, default=0) < 0:
        text = f"input {one.name[:80]!r} has shape {one.shape[:8]}"
        raise ServeError(422, text, "send tensors of one dimension, or of two: rows and features")
    return one.shape[0], one.shape[1] if len(one.shape) == 2 else 1


def _flat(data: list[Any], size: int, name: str) -> list[Any]:
    flat = [value for row in data for value in row] if all(isinstance(row, list) for row in data) else data
    if len(flat) != size or not all(isinstance(value, str | int | float | bool | None) for value in flat):
        text = f"input {name[:80]!r}: expected {size:,} numbers or words, as its shape says"
        raise ServeError(422, text, "correct shape or data")
    return flat


def _outputs(numbers: bool, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    n = len(found)
    labels = [one["prediction"] if numbers else answers.key(one["prediction"]) for one in found]
    outputs: list[dict[str, Any]] = [
        {"name": "prediction", "datatype": "FP64" if numbers else "BYTES", "shape": [n], "data": labels}
    ]
    if n and "probabilities" in found[0]:
        names = [*found[0]["probabilities"]]
        shares = [share for one in found for share in one["probabilities"].values()]
        more = {"datatype": "FP64", "shape": [n, len(names)], "parameters": {"labels": names}, "data": shares}
        outputs.append({"name": "probabilities", **more})
    if n and "id" in found[0]:
        outputs.append({"name": "id", "datatype": "BYTES", "shape": [n], "data": [one["id"] for one in found]})
    return outputs


ROUTES = [
    Route("GET", "/v2", server, "open", "Open Inference Protocol: server metadata"),
    Route("GET", "/v2/health/live", live, "open", "Open Inference Protocol: liveness"),
    Route("GET", "/v2/health/ready", ready, "open", "Open Inference Protocol: readiness"),
    Route("GET", "/v2/models/{model}", model, "read", "Open Inference Protocol: model metadata"),
    Route("GET", "/v2/models/{model}/ready", model_ready, "read", "Open Inference Protocol: readiness of a model"),
    Route("POST", "/v2/models/{model}/infer", infer, "read", "Open Inference Protocol: predict", InferRequest),
    Route("POST", "/v2/models/{model}/label", api_models.label, "learn", "Extension: learn by ids", messages.GiveLabel),
]
