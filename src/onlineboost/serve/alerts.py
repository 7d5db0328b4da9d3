"""Alerts on drift, on an error above a threshold and on silence: in the log, on the page, and to a webhook."""

from __future__ import annotations

import logging
import queue
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from dataclasses import dataclass
from typing import Any

import msgspec

log = logging.getLogger("onlineboost.serve")
_LEAST = 100  # minimum examples for an alert on errors
_OVER = 0.95  # share of the threshold below which an alert on errors ends
_TRIES = (0, 1, 5, 25)  # seconds before each try
_WAITING = 100  # maximum alerts waiting for the webhook


@dataclass(frozen=True)
class Rules:
    """Rules of alerts; drift always raises one."""

    error: float | None = None  # of the last 1,000 examples; of regression, the mean absolute error
    silence: float | None = None  # seconds without an example learned


class Alerts:
    """Watches the metrics of all models, and reports the beginning and end of alerts.

    >>> alerts = Alerts(Rules(silence=60))
    >>> model = {"model": "clicks", "learned": 5, "alarms": 0, "last": {"rows": 5, "error": 0.5}}
    >>> [one["state"] for now in (0, 50, 70, 80) for one in alerts.look([model], now)]
    ['begins']
    >>> [one["state"] for one in alerts.look([model | {"learned": 6}], 90)]
    ['ends']
    >>> alerts.look([model | {"learned": 7, "alarms": 1}], 91)[0]["value"]
    1
    """

    def __init__(self, rules: Rules | None = None, hook: Webhook | None = None) -> None:
        self.rules, self.hook = rules or Rules(), hook
        self.recent: deque[dict[str, Any]] = deque(maxlen=20)
        self._firing: set[tuple[str, str]] = set()
        self._alarms: dict[str, int] = {}
        self._learned: dict[str, tuple[int, float]] = {}  # examples, and the time of the last one

    def look(self, models: list[dict[str, Any]], now: float) -> list[dict[str, Any]]:
        """The alerts that begin or end now."""
        found: list[dict[str, Any]] = []
        for one in models:
            found += [*self._drift(one), *self._error(one), *self._silence(one, now)]
        names = {one["model"] for one in models}
        self._firing = {key for key in self._firing if key[1] in names}
        for part in (self._alarms, self._learned):
            for gone in [*part.keys() - names]:
                del part[gone]
        for alert in found:
            alert["time"] = time.time()
            self.recent.append(alert)
            log.warning("%s", alert["text"], extra={name: alert[name] for name in ("alert", "state", "model", "value")})
            if self.hook is not None:
                self.hook.send(alert)
        return found

    def _drift(self, one: dict[str, Any]) -> list[dict[str, Any]]:
        before, now = self._alarms.get(one["model"], one["alarms"]), one["alarms"]
        self._alarms[one["model"]] = now
        if now <= before:
            return []
        text = f"model {one['model']}: drift, alarm {now:,} after {one['learned']:,} examples"
        return [{"alert": "drift", "state": "begins", "model": one["model"], "value": now, "text": text}]

    def _error(self, one: dict[str, Any]) -> list[dict[str, Any]]:
        most, last = self.rules.error, one["last"]
        error = last.get("error", last.get("absolute_error"))
        if most is None or error is None or last["rows"] < _LEAST:
            return []
        text = f"model {one['model']}: the error of the last {last['rows']:,} examples is {error:.4g}, "
        text += f"above {most:g}" if error > most else f"below {most:g} again"
        return self._change("error", one["model"], error > most, error <= most * _OVER, error, text)

    def _silence(self, one: dict[str, Any], now: float) -> list[dict[str, Any]]:
        learned, since = self._learned.get(one["model"], (-1, now))
        if learned != one["learned"]:
            since = now
        self._learned[one["model"]] = one["learned"], since
        most, quiet = self.rules.silence, now - since
        if most is None:
            return []
        text = f"model {one['model']}: "
        text += f"nothing learned for {quiet:,.0f} seconds" if quiet > most else "examples are learned again"
        return self._change("silence", one["model"], quiet > most, quiet <= most, quiet, text)

    def _change(self, alert: str, model: str, on: bool, off: bool, value: float, text: str) -> list[dict[str, Any]]:
        key, firing = (alert, model), (alert, model) in self._firing
        if firing == on or (firing and not off):
            return []
        (self._firing.discard if firing else self._firing.add)(key)
        return [{"alert": alert, "state": "ends" if firing else "begins", "model": model, "value": value, "text": text}]


class Webhook(threading.Thread):
    """Sends alerts as JSON to an address, one by one, with a few tries each."""

    def __init__(self, address: str, tries: tuple[float, ...] = _TRIES, timeout: float = 10.0) -> None:
        super().__init__(name="onlineboost-webhook", daemon=True)
        self.address, self.tries, self.timeout = address, tries, timeout
        self.waiting: queue.Queue[dict[str, Any]] = queue.Queue(_WAITING)
        self.sent = self.lost = 0

    def send(self, alert: dict[str, Any]) -> None:
        try:
            self.waiting.put_nowait(alert)
        except queue.Full:
            self.lost += 1

    def run(self) -> None:
        while True:
            alert = self.waiting.get()
            problem = self._post(msgspec.json.encode(alert))
            if problem is None:
                self.sent += 1
            else:
                self.lost += 1
                log.error("webhook %s: %s; the alert is lost: %s", self.address, problem, alert["text"])

    def _post(self, body: bytes) -> Exception | None:
        problem: Exception | None = None
        for pause in self.tries:
            time.sleep(pause)
            try:
                asked = urllib.request.Request(self.address, body, {"content-type": "application/json"})
                with urllib.request.urlopen(asked, timeout=self.timeout) as answer:
                    answer.read(1 << 16)
                return None
            except (OSError, ValueError) as found:
                problem = found
                if isinstance(found, urllib.error.HTTPError):
                    found.close()
        return problem
