"""The models of the service, and what events do to them.

``apply`` is the only way in which a model changes, at first, in a replay and on a follower; so the same events give the
same bits.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost import parameters
from onlineboost.errors import DataError, TicketError
from onlineboost.fitted import late
from onlineboost.model import OnlineModel, kind_of_model, load
from onlineboost.parameters import Parameters, build
from onlineboost.readers.memory import table_of_lines
from onlineboost.serve import answers, events
from onlineboost.serve.errors import ServeError, StateError
from onlineboost.serve.events import Event, Example
from onlineboost.serve.journal import Journal
from onlineboost.serve.watch import Watch

log = logging.getLogger("onlineboost.serve")
_LONG = 2.0  # seconds to make a model ready, beyond which the log says so
_spec = events.decoder(events.Spec)
_example = events.decoder(Example)
_examples = events.decoder(list[Example])
_raw_examples = events.decoder(list[events.RawExample])
_labeled = events.decoder(events.Labeled)
_expired = events.decoder(events.Expired)
_named = events.decoder(events.Named)


@dataclass
class Served:
    """A model of the service."""

    name: str
    model: OnlineModel
    since: int  # number of the event that made it, put it or restored it
    changed: int  # number of the last event that changed it
    counts: dict[str, int] = field(default_factory=dict)  # of this process, for metrics
    watch: Watch = field(default_factory=Watch)


class State:
    """All models, after the event ``seq``."""

    def __init__(self, folder: Path) -> None:
        self.blobs = folder / "models"
        self.models: dict[str, Served] = {}
        self.seq = 0
        self.coming: dict[str, float] = {}  # models that are made ready now, and since when; for answers only

    @contextlib.contextmanager
    def getting_ready(self, name: str) -> Iterator[None]:
        """A model is loaded, or its code is compiled."""
        began = self.coming.setdefault(name, time.monotonic())
        try:
            yield
        finally:
            self.coming.pop(name, None)
            seconds = time.monotonic() - began
            if seconds > _LONG:
                log.info("model %s: ready after %.0f s", name, seconds)

    def waits(self) -> dict[str, float]:
        """Seconds for which models are being made ready."""
        now = time.monotonic()
        return {name: round(now - began, 1) for name, began in [*self.coming.items()]}

    def not_ready(self, name: str) -> ServeError:
        """The error of a request to a model that is made ready now."""
        seconds = time.monotonic() - self.coming.get(name, time.monotonic())
        return ServeError(
            503,
            f"model {name!r} is not ready: its code is compiled, for {seconds:.0f} s so far",
            "send the same request again; the first time on a machine takes about a minute, and GET /readyz tells",
            {"retry-after": "5"},
        )

    def served(self, name: str) -> Served:
        found = self.models.get(name)
        if found is None and name in self.coming:
            raise self.not_ready(name)
        if found is None:
            known = ", ".join(sorted(self.models)) or "none yet"
            raise ServeError(404, f"no model {name[:80]!r}: there is {known}", "PUT a model file, or POST learn")
        return found

    def blob(self, digest: str) -> Path:
        return self.blobs / f"{digest}.model"

    def apply(self, one: Event, journal: Journal) -> Any:
        """Do what an event says; returns its answer, or the error that it has always led to."""
        act = _ACTS.get(one.kind)
        found: Any = None
        if act is not None:
            if one.payload is None:
                raise StateError(f"{journal.path}: event {one.seq} was erased, and no snapshot is behind it")
            try:
                found = act(self, one, journal)
            except (DataError, TicketError) as problem:  # nothing was learned, now or ever
                found = problem
            except (MemoryError, StateError, OSError, sqlite3.Error):  # another time it might be learned
                raise
            except Exception as problem:  # as above, but nobody foresaw it: the service must not end at this event
                log.error("event %d cannot be applied", one.seq, exc_info=problem)
                found = DataError(f"this cannot be learned ({type(problem).__name__})")
        self.seq = one.seq
        return found


def default_model(label: Any, seed: int | None = None) -> OnlineModel:
    """The default for labels such as this one: regression if it has a fraction, else classification."""
    from onlineboost.ensembles.online_boost import OnlineBoost
    from onlineboost.ensembles.regressor import OnlineBoostRegressor

    seed = secrets.randbits(31) if seed is None else seed
    if isinstance(label, float) and not label.is_integer():
        return OnlineBoostRegressor(random_state=seed)
    return OnlineBoost(random_state=seed)


def described(model: OnlineModel) -> bytes:
    """The payload of the event that makes a model: its parameters, with seeds."""
    _draw_seeds(model)
    return events.encode(events.Spec(parameters.described(model)))


def _draw_seeds(model: Parameters) -> None:
    for name, value in model.get_params(deep=False).items():
        if name == "random_state" and not isinstance(value, int):
            model.set_params(random_state=secrets.randbits(31))
        for inner in value if isinstance(value, list | tuple) else [value]:
            if isinstance(inner, Parameters):
                _draw_seeds(inner)


def begin(model: OnlineModel) -> OnlineModel:
    """A model that has learned nothing yet, ready for predictions."""
    model._fitted = model._new_fitted(model._new_target())
    return model


def warm(model: OnlineModel) -> None:
    """Learn, ask and predict a little with a model that is not used for anything else.

    What has to be compiled is compiled by it, while requests to other models are answered; and a model that the service
    cannot keep leads to its error here.
    """
    fitted = answers.fitted_of(model)
    known = [] if fitted.of_numbers else fitted.target.classes.tolist()
    labels = [0.5, 1.5] if fitted.of_numbers else (known or ["no", "yes"])[:2]
    late.ask_apart(fitted, {})
    for label in labels * 2:
        with fitted.lock.turn():
            fitted.learn_one({}, label, 1.0)
        data, _ = late.ask_apart(fitted, {})
        late.tell_apart(fitted, data, label, 1.0)
        answers.predict_one(model, {})
    if fitted.root.compiled:  # whoever explains keeps writers out: they must not wait for a compiler
        answers.explain_one(model, {}, 1)
        model.importances()


# ---- events


def _create(state: State, one: Event, journal: Journal) -> Served:
    model = begin(build(_spec(one.payload).model, kind_of_model))
    return state.models.setdefault(one.model, Served(one.model, model, one.seq, one.seq))


def _put(state: State, one: Event, journal: Journal) -> Served:
    found = Served(one.model, load_blob(state.blob(_named(one.payload).name)), one.seq, one.seq)
    state.models[one.model] = found
    return found


def load_blob(path: Path) -> OnlineModel:
    """A model of the state's folder, without tickets of its own."""
    model: OnlineModel = load(path)
    fitted = answers.fitted_of(model)
    fitted.pending = fitted.pending.anew()
    return model


def _remove(state: State, one: Event, journal: Journal) -> None:
    state.models.pop(one.model, None)


def _label(state: State, one: Event, journal: Journal) -> None:
    served, given = state.served(one.model), _labeled(one.payload)
    ticket = journal.event(journal.asked(one.model, one.id))
    scores = late.tell_apart(answers.fitted_of(served.model), ticket.payload or b"", given.label, given.weight)
    served.watch.add([given.label], scores[None])
    served.changed = one.seq


def _learn(state: State, one: Event, journal: Journal) -> Any:
    served, given = state.served(one.model), _example(one.payload)
    fitted = answers.fitted_of(served.model)
    with fitted.lock.turn():
        scores = fitted.learn_one(given.features, given.label, given.weight)
    if scores is not None:
        served.watch.add([given.label], scores[None])
    served.changed = one.seq
    return scores


def _rows(state: State, one: Event, journal: Journal) -> Any:
    served, given = state.served(one.model), _raw_examples(one.payload)
    served.changed = one.seq
    weights = [row.weight for row in given] if any(row.weight != 1.0 for row in given) else None
    labels, columns = [row.label for row in given], answers.fitted_of(served.model).columns
    rows: Any
    if columns.schema is None:  # the features are JSON lines as they are
        lines = b"".join([bytes(row.features) + b"\n" for row in given])
        rows = table_of_lines(lines, columns, learning=True)
    elif weights is None:
        rows = [row.features for row in _examples(one.payload)]
    else:
        raise DataError("this model reads rows by the columns of its training: send weights one example at a time")
    scores = served.model._progressive_many(rows, labels, weights)
    served.watch.add(labels, scores)
    return scores


def _table(state: State, one: Event, journal: Journal) -> Any:
    import pyarrow as pa

    served = state.served(one.model)
    table = pa.ipc.open_stream(one.payload).read_all()
    labels = np.array(table.column(table.num_columns - 1).to_pylist(), object)
    served.changed = one.seq
    scores = served.model._progressive_many(table.remove_column(table.num_columns - 1), labels)
    served.watch.add(labels.tolist(), scores)
    return scores


def _expire(state: State, one: Event, journal: Journal) -> None:
    served, given = state.models.get(one.model), _expired(one.payload)
    if served is None or given.label is None:
        return
    for id in given.ids:
        ticket = journal.event(journal.asked(one.model, id))
        try:
            scores = late.tell_apart(answers.fitted_of(served.model), ticket.payload or b"", given.label[0], 1.0)
        except (TicketError, DataError):  # it does not fit the model any more: it is dropped, as it always is
            continue
        served.watch.add([given.label[0]], scores[None])
    served.changed = one.seq


_ACTS: dict[str, Callable[[State, Event, Journal], Any]] = {
    "create": _create,
    "put": _put,
    "remove": _remove,
    "label": _label,
    "learn": _learn,
    "rows": _rows,
    "table": _table,
    "expire": _expire,
    "restore": _put,
}
