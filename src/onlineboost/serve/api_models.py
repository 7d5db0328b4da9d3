"""Endpoints that predict, learn and explain."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from onlineboost.serve import answers, events, examples, http, messages
from onlineboost.serve.app import App
from onlineboost.serve.commands import Activate, Ask, Label, Learn, LearnMany
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import Request, Response, Route, to_thread
from onlineboost.serve.limits import check_name

_FEW = 32  # examples that are answered in the event loop
PATIENCE = 25.0  # seconds that a request waits for a model that is made: clients and proxies wait for 30


def new_id() -> str:
    return secrets.token_hex(12)


async def predict(app: App, request: Request) -> Response:
    served = app.state.served(request.names[0])
    if request.content_type == http.ARROW:
        return await _predict_arrow(app, request, served)
    if (request.content_type != http.JSON and request.content_type.endswith("lines")) or len(request.body) > 1 << 16:
        given, several = await to_thread(examples.read, request, messages.Predict, app.limits)
    else:
        given, several = examples.read(request, messages.Predict, app.limits)
    keeps = request.flag("ticket") or any(one.ticket or one.defer or one.id is not None for one in given)
    if keeps:
        found = await ask(app, request, served, given)
    elif len(given) == 1:
        found = [answers.predict_one(served.model, given[0].features)]
    elif len(given) <= _FEW:
        found = [answers.predict_one(served.model, one.features) for one in given]
    else:
        found = await to_thread(answers.predict_many, served.model, [one.features for one in given])
    served.counts["predicted"] = served.counts.get("predicted", 0) + len(given)
    if request.content_type == http.NDJSON:
        return Response(body=examples.lines(found), type=http.NDJSON)
    return Response(found if several else found[0], 201 if keeps else 200)


async def ask(app: App, request: Request, served: Any, given: list[messages.Predict]) -> list[dict[str, Any]]:
    """Answers with ids, which are in the journal before they are answered."""
    app.service.check_leading()
    if app.tokens is not None:
        app.tokens.check(request, "learn")

    def work() -> tuple[list[tuple[str, bytes]], list[dict[str, Any]]]:
        asked = [answers.ask(served.model, one.features) for one in given]
        ids = [one.id or new_id() for one in given]
        return [(id, data) for id, (data, _) in zip(ids, asked, strict=True)], [found for _, found in asked]

    tickets, found = work() if len(given) <= _FEW else await to_thread(work)
    deferred = {id for (id, _), one in zip(tickets, given, strict=True) if one.defer}
    return await app.write(Ask(served, tickets, found, deferred))  # type: ignore[no-any-return]


async def _predict_arrow(app: App, request: Request, served: Any) -> Response:
    table = await to_thread(examples.read_arrow, request, app.limits)

    def work() -> bytes:
        return examples.arrow_answers(answers.predict_many(served.model, table))

    body = await to_thread(work)
    served.counts["predicted"] = served.counts.get("predicted", 0) + table.num_rows
    return Response(body=body, type=http.ARROW)


async def learn(app: App, request: Request) -> Response:
    app.service.check_leading()
    name = request.names[0]
    if request.content_type == http.ARROW:
        table = await to_thread(examples.read_arrow, request, app.limits)
        label = request.option("label") or "label"
        payload = await to_thread(examples.labels_last, table, label)
        if table.num_rows:
            await make(app, name, table.column(label)[0].as_py())
        return await _learn_many(app, request, "table", payload, table.num_rows)
    if len(request.body) > 1 << 16:
        given, several = await to_thread(examples.read, request, messages.Learn, app.limits)
    else:
        given, several = examples.read(request, messages.Learn, app.limits)
    if given:
        await make(app, name, _kind_of_label(given))
    if several and all(one.id is None for one in given):
        rows = [events.Example(one.features, one.label, one.weight) for one in given]
        return await _learn_many(app, request, "rows", events.encode(rows), len(rows))
    commands = [Learn(name, one.id or "", events.Example(one.features, one.label, one.weight)) for one in given]
    if not several:
        commands[0].id = commands[0].id or _id(app, request)
        return Response(await app.write(commands[0]))
    return Response(await asyncio.gather(*map(app.write, commands)))


def _kind_of_label(given: list[messages.Learn]) -> Any:
    """A label that says which task it is: one with a fraction, if there is any."""
    return next(
        (one.label for one in given if isinstance(one.label, float) and not one.label.is_integer()), given[0].label
    )


def _id(app: App, request: Request) -> str:
    id = request.option("id") or ""
    return examples.check_id(id, app.limits) if id else ""


async def _learn_many(app: App, request: Request, kind: str, payload: bytes, rows: int) -> Response:
    if not rows:
        app.state.served(request.names[0])
        return Response({"learned": 0})
    return Response(await app.write(LearnMany(request.names[0], _id(app, request), kind, payload, rows)))


async def make(app: App, name: str, label: Any) -> None:
    """Make the default model for labels such as this one, if there is none of the name.

    Its code may have to be compiled: a request waits for a while, and is told then to come again.
    """
    if name in app.state.models:
        return
    task = app.making.get(name)
    if task is None:
        check_name(name)
        app.limits.check("models", len(app.state.models) + len(app.making) + 1, "models")
        task = app.making[name] = asyncio.create_task(_make(app, name, label))
        task.add_done_callback(lambda done: (app.making.pop(name), done.cancelled() or done.exception()))
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    if not done:
        raise app.state.not_ready(name)
    task.result()


async def _make(app: App, name: str, label: Any) -> None:
    with app.state.getting_ready(name):
        await app.write(await to_thread(app.service.default_for, name, label))


async def label(app: App, request: Request) -> Response:
    app.service.check_leading()
    several = request.body.lstrip()[:1] == b"["
    given = request.read(examples.decoder(messages.GiveLabel, several))
    given = given if several else [given]
    app.limits.check("rows", len(given), "labels", 413)
    labels = [(examples.check_id(one.id, app.limits), events.Labeled(one.label, one.weight)) for one in given]
    return Response(await app.write(Label(request.names[0], labels, several)))


async def activate(app: App, request: Request) -> Response:
    app.service.check_leading()
    given = request.read(examples.decoder(messages.Activate))
    return Response(await app.write(Activate(request.names[0], examples.check_id(given.id, app.limits))))


async def explain(app: App, request: Request) -> Response:
    served = app.state.served(request.names[0])
    given = request.read(examples.decoder(messages.Explain))
    examples.check_features(given.features, app.limits)
    if not 0 < given.top <= 1000:
        raise ServeError(422, f"top={given.top}: expected 1 to 1,000", "send a smaller number")
    found = await to_thread(answers.explain_one, served.model, given.features, given.top)
    return Response(found)


def model_metrics(app: App, request: Request) -> Response:
    return Response(app.model_metrics(app.state.served(request.names[0])))


ROUTES = [
    Route(
        "POST",
        "/v1/models/{model}/predict",
        predict,
        "read",
        "Predict; with a ticket, the label can come later",
        messages.Predict,
        messages.Prediction,
    ),
    Route(
        "POST",
        "/v1/models/{model}/learn",
        learn,
        "learn",
        "Learn examples with their labels",
        messages.Learn,
        messages.Learned,
    ),
    Route(
        "POST",
        "/v1/models/{model}/label",
        label,
        "learn",
        "Learn examples that were answered with an id",
        messages.GiveLabel,
        messages.Labeled,
    ),
    Route(
        "POST",
        "/v1/models/{model}/activate",
        activate,
        "learn",
        "Let a deferred ticket wait for its label from now on",
        messages.Activate,
        messages.Activated,
    ),
    Route(
        "POST",
        "/v1/models/{model}/explain",
        explain,
        "read",
        "The features that a score comes from",
        messages.Explain,
        None,
    ),
    Route("GET", "/v1/models/{model}/metrics", model_metrics, "read", "Errors, rates and waiting tickets"),
]
