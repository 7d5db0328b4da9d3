"""Metrics in the text format of Prometheus."""

from __future__ import annotations

import time
from typing import Any

from onlineboost.serve import answers
from onlineboost.serve.app import App

TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LOSSES = ("error", "log_loss", "absolute_error", "squared_error")


class _Text:
    """Lines of metrics, each with its help and type once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.known: set[str] = set()

    def put(self, name: str, kind: str, help: str, value: Any, end: str = "", **labels: Any) -> None:
        if value is None:
            return
        if name not in self.known:
            self.known.add(name)
            self.lines += [f"# HELP onlineboost_{name} {help}", f"# TYPE onlineboost_{name} {kind}"]
        pairs = ",".join(f'{key}="{_escaped(str(one))}"' for key, one in labels.items())
        self.lines.append(f"onlineboost_{name}{end}{'{' + pairs + '}' if pairs else ''} {float(value):.10g}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def text(app: App) -> str:
    """All metrics of the service."""
    out, service = _Text(), app.service
    head, writer, shots = service.journal.committed, service.writer, service.snapshots
    out.put("up", "gauge", "1 while the writer works.", writer.failure is None)
    out.put("leader", "gauge", "1 on a leader, 0 on a follower.", service.leading)
    out.put("epoch", "gauge", "Epoch of the journal.", head.epoch)
    out.put("journal_events", "counter", "Number of the last event in the journal.", head.seq, "_total")
    out.put("snapshot_events", "gauge", "Number of the last event in a snapshot.", shots.last_seq)
    out.put("uptime_seconds", "gauge", "Seconds since the start.", time.time() - service.started)
    out.put("writer_waiting", "gauge", "Requests waiting for the writer.", writer.n_waiting)
    out.put("writer_groups", "counter", "Transactions written to the journal.", writer.groups, "_total")
    out.put("clock_behind_seconds", "gauge", "Seconds by which the clock is behind the journal.", writer.clock.behind())
    out.put("write_trouble", "gauge", "1 if the last write failed.", writer.trouble is not None)
    out.put("snapshot_trouble", "gauge", "1 while snapshots fail.", service.saver.problem is not None)
    out.put("digest_differs", "gauge", "1 if the models differ from those of the leader.", shots.differs is not None)
    if service.follower is not None:
        follower = service.follower
        trouble = follower.problem or follower.ended
        out.put("follower_behind", "gauge", "Number of events behind the leader.", follower.behind)
        out.put("follower_trouble", "gauge", "1 while the leader cannot be reached.", trouble is not None)
    _models(out, app)
    _requests(out, app)
    return "\n".join([*out.lines, ""])


def _models(out: _Text, app: App) -> None:
    waiting = app.waiting()
    for name, served in sorted(app.state.models.items()):
        found = answers.metrics(served.model)
        out.put("learned", "counter", "Examples learned.", found["learned"], "_total", model=name)
        out.put("alarms", "counter", "Drift alarms.", found["alarms"], "_total", model=name)
        out.put("tickets_waiting", "gauge", "Tickets waiting for labels.", waiting.get(name, 0), model=name)
        for loss in _LOSSES:
            if loss in found["all"]:
                help = f"Mean {loss.replace('_', ' ')} before learning, of all examples or the last 1,000."
                for part in ("all", "last"):
                    out.put(loss, "gauge", help, found[part][loss], model=name, window=part)
        no_change = served.watch.no_change(served.model)
        help = "Error of repeating the last label, over the last 1,000 examples; for regression, mean absolute error."
        out.put("no_change_error", "gauge", help, no_change, model=name)
        for kind, count in sorted(served.counts.items()):
            help = "Examples handled by this process, by operation."
            out.put("examples", "counter", help, count, "_total", model=name, done=kind)


def _requests(out: _Text, app: App) -> None:
    timing = app.timing
    for (route, status), count in sorted(timing.counts.items()):
        out.put("requests", "counter", "Responses.", count, "_total", route=route, status=status)
    for route, buckets in sorted(timing.buckets.items()):
        total = 0
        for bound, count in zip([*timing.bounds, float("inf")], buckets, strict=True):
            total += count
            le = "+Inf" if bound == float("inf") else f"{bound:g}"
            out.put("request_seconds", "histogram", "Response time in seconds.", total, "_bucket", route=route, le=le)
        out.put("request_seconds", "histogram", "", timing.sums[route], "_sum", route=route)
        out.put("request_seconds", "histogram", "", total, "_count", route=route)
