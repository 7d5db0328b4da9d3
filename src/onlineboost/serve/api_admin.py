"""Endpoints for models as a whole: files, checkpoints, deletion, roles."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import Any

from onlineboost.errors import ParameterError
from onlineboost.model import OnlineModel, kind_of_model
from onlineboost.parameters import build
from onlineboost.serve import admin, examples, messages
from onlineboost.serve.app import App
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import FILE, Request, Response, Route, to_thread
from onlineboost.serve.limits import check_name
from onlineboost.serve.saver import copied
from onlineboost.serve.state import begin, warm

_TASKS = "classification", "regression"
_NONSENSE = TypeError, ValueError, KeyError, AttributeError, ArithmeticError, IndexError


def models(app: App, request: Request) -> Response:
    return Response([app.model_facts(served) for served in [*app.state.models.values()]])


def model(app: App, request: Request) -> Response:
    return Response(app.model_facts(app.state.served(request.names[0])))


async def put(app: App, request: Request) -> Response:
    """A model file, or JSON that describes a new model."""
    app.service.check_leading()
    name = check_name(request.names[0])
    if request.content_type == "application/json" or request.body.lstrip()[:1] == b"{":
        given = request.read(examples.decoder(messages.NewModel))
        with app.state.getting_ready(name):
            found = await to_thread(_new_model, given)
            return Response(await app.write(admin.Create(name, found, keep=False)), 201)
    temporary = app.state.blobs / f"{secrets.token_hex(8)}.new"

    def accept() -> admin.Put:
        try:
            temporary.write_bytes(request.body)
            return app.service.accept(name, temporary)
        except ValueError as problem:
            text = str(problem).replace(str(temporary), "the body")
            raise ServeError(422, text, "send a file that model.save or onlineboost train -o has written") from None
        finally:
            temporary.unlink(missing_ok=True)

    with app.state.getting_ready(name):
        command = await to_thread(accept)
        try:
            return Response(await app.write(command), 201)
        finally:
            app.service.snapshots.arriving.discard(command.digest)


def _new_model(given: messages.NewModel) -> OnlineModel:
    """The model that JSON describes: a class by its name with parameters, or as in a model file."""
    import onlineboost

    if given.task is not None and given.task not in _TASKS:
        raise ServeError(
            422, f"task={given.task[:40]!r}: expected {' or '.join(_TASKS)}", "leave it out for the default"
        )
    described = given.model
    if described is None:
        described = "OnlineBoostRegressor" if given.task == "regression" else "OnlineBoost"
    try:
        if isinstance(described, str):
            kind = getattr(onlineboost, described, None)
            if not (isinstance(kind, type) and issubclass(kind, OnlineModel)):
                raise ServeError(422, f"no class {described[:80]!r} of models", "docs/choosing-a-model.md lists them")
            found = kind(**{name: build(value, kind_of_model) for name, value in given.params.items()})
        else:
            found = build(described, kind_of_model)
        if not isinstance(found, OnlineModel):
            raise ServeError(422, "this describes no model", 'send {"model": "OnlineBoost"}')
        warm(begin(found.clone()))
    except (ParameterError, *_NONSENSE) as problem:
        raise ServeError(422, f"the model cannot be made: {problem}", "correct its parameters") from None
    return found


async def remove(app: App, request: Request) -> Response:
    app.service.check_leading()
    return Response(await app.write(admin.Remove(request.names[0])))


async def file(app: App, request: Request) -> Response:
    """The model as a file, between two events."""
    served = app.state.served(request.names[0])

    def read() -> bytes:
        with tempfile.TemporaryDirectory(dir=app.state.blobs) as folder:
            path = Path(folder) / "model"
            copied(served.model).save(path)
            return path.read_bytes()

    return Response(body=await to_thread(read), type=FILE)


async def checkpoints(app: App, request: Request) -> Response:
    name = request.names[0]
    app.state.served(name)

    def read() -> list[dict[str, Any]]:
        with app.service.journal.reader() as db:
            rows = db.execute(
                "select name, seq, time, digest from checkpoints where model = ? order by seq", (name,)
            ).fetchall()
        return [{"name": n, "seq": seq, "time": time, "ready": digest is not None} for n, seq, time, digest in rows]

    return Response(await to_thread(read))


async def checkpoint(app: App, request: Request) -> Response:
    app.service.check_leading()
    given = request.read(examples.decoder(messages.NewCheckpoint))
    return Response(await app.write(admin.Checkpoint(request.names[0], given.name)), 201)


async def uncheckpoint(app: App, request: Request) -> Response:
    app.service.check_leading()
    return Response(await app.write(admin.Uncheckpoint(*request.names)))


async def restore(app: App, request: Request) -> Response:
    app.service.check_leading()
    return Response(await app.write(admin.Restore(*request.names)))


async def forget(app: App, request: Request) -> Response:
    app.service.check_leading()
    return Response(await app.write(admin.Forget(request.names[0], request.names[1], 0)))


async def forget_event(app: App, request: Request) -> Response:
    app.service.check_leading()
    if not request.names[1].isdigit():
        raise ServeError(422, f"event {request.names[1][:40]!r}: expected its number, the seq of its answer", "")
    return Response(await app.write(admin.Forget(request.names[0], "", int(request.names[1][:18]))))


async def snapshot(app: App, request: Request) -> Response:
    app.service.check_leading()
    return Response(await app.write(admin.Mark(forced=True)), 202)


async def promote(app: App, request: Request) -> Response:
    return Response(await to_thread(app.service.promote))


async def fence(app: App, request: Request) -> Response:
    given = request.read(examples.decoder(messages.Fence))
    await to_thread(app.service.fence, given.epoch, given.leader)
    return Response({"role": app.service.role, "epoch": app.service.journal.committed.epoch})


_M = "/v1/models/{model}"
ROUTES = [
    Route("GET", "/v1/models", models, "read", "All models"),
    Route("GET", _M, model, "read", "A model: its class, what it has learned, its metrics"),
    Route(
        "PUT",
        _M,
        put,
        "admin",
        "Put a model file, or make a model of its JSON description",
        messages.NewModel,
        limit="model_mb",
    ),
    Route("DELETE", _M, remove, "admin", "Remove a model"),
    Route("GET", _M + "/file", file, "read", "The model as a file for onlineboost.load", type=FILE),
    Route("GET", _M + "/checkpoints", checkpoints, "read", "All checkpoints of a model"),
    Route("POST", _M + "/checkpoints", checkpoint, "admin", "Keep the state of a model", messages.NewCheckpoint),
    Route("DELETE", _M + "/checkpoints/{checkpoint}", uncheckpoint, "admin", "Delete a checkpoint"),
    Route("POST", _M + "/checkpoints/{checkpoint}/restore", restore, "admin", "Put a model back to a checkpoint"),
    Route("DELETE", _M + "/ids/{id}", forget, "admin", "Erase a ticket or an example by its id"),
    Route("DELETE", _M + "/events/{seq}", forget_event, "admin", "Erase the examples of an event by its number"),
    Route("POST", "/v1/snapshot", snapshot, "admin", "Take a snapshot now"),
    Route("POST", "/v1/promote", promote, "admin", "Make this follower the leader"),
    Route("POST", "/v1/fence", fence, "admin", "Tell a leader that another epoch has begun", messages.Fence),
]
