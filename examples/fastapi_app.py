"""A FastAPI app with a model in it, for a program that has an API of its own.

One process: a second worker would have another model. The model is saved each minute and at the end; what was learned
after the last save is lost if the process is killed. Where nothing may be lost, call ``onlineboost serve`` instead.

    pip install onlineboost fastapi uvicorn
    MODEL=clicks.model uvicorn fastapi_app:app
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from onlineboost import OnlineBoost, load
from onlineboost.errors import DataError, NotFittedError, TicketError

PATH = Path(os.environ.get("MODEL", "app.model"))
model = load(PATH) if PATH.exists() else OnlineBoost(random_state=0)


class Example(BaseModel):
    features: dict[str, float | str | bool | None]


class Label(BaseModel):
    ticket: str
    label: str | int | float | bool


def save() -> None:
    with contextlib.suppress(NotFittedError):  # nothing was learned or asked yet
        model.save(PATH)


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async def each_minute() -> None:
        while True:
            await asyncio.sleep(60)
            await asyncio.to_thread(save)

    task = asyncio.create_task(each_minute())
    yield
    task.cancel()
    save()


app = FastAPI(lifespan=lifespan)


@app.post("/predict")
def predict(example: Example) -> dict[str, Any]:
    """Answer now; the ticket is for the label."""
    found = model.ask(example.features)
    return {"ticket": base64.b64encode(bytes(found)).decode(), "prediction": found.prediction}


@app.post("/label")
def label(given: Label) -> dict[str, int]:
    """Learn what was asked."""
    try:
        model.tell(base64.b64decode(given.ticket), given.label)
    except TicketError as problem:
        raise HTTPException(410, str(problem)) from None
    except (DataError, ValueError) as problem:
        raise HTTPException(422, str(problem)) from None
    return {"learned": model.n_seen_}


@app.get("/metrics")
def metrics() -> dict[str, Any]:
    try:
        return model.metrics_.last._asdict()
    except NotFittedError:
        return {}
