"""Members, features and error history of a model, for the page."""

from __future__ import annotations

import threading
import time
from typing import Any

from onlineboost.ensembles.ensemble import Ensemble
from onlineboost.model import OnlineModel
from onlineboost.serve import answers
from onlineboost.serve.state import Served

_POINTS = 240
_FIRST = 20  # minimum examples for a point of the error
_EVERY = 2.0  # seconds that results are kept
_TOP = 12  # features
_ALARMS = 50


class History:
    """Points of a curve since the start; of too many, every second one is dropped.

    >>> history = History()
    >>> for k in range(1000):
    ...     history.add({"learned": k})
    >>> len(history.points), history.points[-1]["learned"] - history.points[-2]["learned"]
    (125, 8)
    """

    def __init__(self) -> None:
        self.points: list[dict[str, Any]] = []
        self._step, self._left = 1, 0

    def add(self, point: dict[str, Any]) -> None:
        if self._left:
            self._left -= 1
            return
        points = [*self.points, point]
        if len(points) > _POINTS:
            points, self._step = points[::2], self._step * 2
        self.points, self._left = points, self._step - 1


class Insights:
    """Insight of each model, cached for a moment."""

    def __init__(self) -> None:
        self.histories: dict[str, tuple[int, History]] = {}  # by name, of the model since this event
        self._kept: dict[str, tuple[float, int, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def note(self, served: Served, metrics: dict[str, Any]) -> None:
        """Add a point to the history of a model, if it has learned since the last."""
        since, history = self.histories.get(served.name, (0, History()))
        if since != served.since:
            history = History()
        self.histories[served.name] = served.since, history
        if metrics["learned"] >= _FIRST and (not history.points or history.points[-1]["learned"] != metrics["learned"]):
            history.add({"time": time.time(), "learned": metrics["learned"], **errors(metrics)})

    def of(self, served: Served) -> dict[str, Any]:
        """The insight of a model."""
        with self._lock:
            at, since, found = self._kept.get(served.name, (0.0, -1, {}))
            if since != served.since or time.monotonic() - at > _EVERY:
                found = self._look(served)
                self._kept[served.name] = time.monotonic(), served.since, found
            return found

    def _look(self, served: Served) -> dict[str, Any]:
        model = served.model
        since, history = self.histories.get(served.name, (-1, History()))
        alarms = [one.example for one in getattr(model, "alarms_", [])[-_ALARMS:]]
        return {
            "model": served.name,
            "class": repr(model),
            "history": history.points if since == served.since else [],
            "alarms": alarms,
            "members": members(model),
            "strongest": strongest(model),
            "calibration": served.watch.calibration(model),
        }


def errors(metrics: dict[str, Any]) -> dict[str, float | None]:
    """The error of the last examples, and that of no change."""
    last = metrics["last"]
    return {"error": last.get("error", last.get("absolute_error")), "no_change": metrics["no_change"]}


def strongest(model: OnlineModel) -> list[dict[str, Any]]:
    """The features with the most influence, and their shares."""
    if not answers.fitted_of(model).root.compiled or not model.n_seen_:
        return []
    found = [*model.importances().items()][:_TOP]
    return [{"name": str(name), "value": answers.finite(float(share))} for name, share in found]


def members(model: OnlineModel) -> dict[str, Any] | None:
    """The columns of the model's report: a number for each learner or part. None: it has no report."""
    look: Any = Ensemble.report if isinstance(model, Ensemble) else getattr(type(model), "report", None)
    if look is None or not model.n_seen_:
        return None
    with answers.fitted_of(model).lock.turn():  # between two examples
        report = look(model)
    names, form = report.names, {name: values.tolist() for name, (values, _) in report.columns.items()}
    return {
        "row": report.row,
        "names": [str(name) for name in names],
        "columns": {name: [*map(answers.finite, values)] for name, values in form.items()},
        "bars": [*map(answers.finite, report.bars.tolist())],
        "verdict": report.verdict,
    }
