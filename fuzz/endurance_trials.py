"""Trials of ``endurance.py`` that take long: a stream without end, and tickets that wait."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import onlineboost
from onlineboost import OnlineBoost, Pending

_BLOCK, _POINT = 50_000, 500_000  # rows of a table; rows between two points of the curve
_FIRST_WORDS, _NUMBERS, _CONCEPTS = 200, 8, 5


def memory() -> float:
    """Memory of this process now, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


# ---- a stream


def run_stream(rows: int, folder: Path, new_words: int) -> list[dict[str, Any]]:
    """Learn a stream, with a few predictions after each table; returns points of time, memory and restarts."""
    saved, points = folder / "stream.model", folder / "stream.json"
    curve: list[dict[str, Any]] = json.loads(points.read_text()) if points.exists() else []
    model = onlineboost.load(saved) if curve else OnlineBoost("low", random_state=0)
    learned = curve[-1]["rows"] if curve else 0
    seconds = 0.0
    for k in range(learned // _BLOCK, rows // _BLOCK):
        X, y = _table(k, rows, new_words)
        began = time.process_time()
        model.partial_fit(X, y, classes=[0, 1])
        model.predict_proba(X.slice(0, 100))
        seconds += time.process_time() - began
        if (k + 1) * _BLOCK % _POINT and (k + 1) * _BLOCK != rows:
            continue
        done = (k + 1) * _BLOCK - (curve[-1]["rows"] if curve else 0)
        point = {"rows": (k + 1) * _BLOCK, "words": _words(k, new_words), "alarms": model.n_alarms_}
        point |= {"rows_per_second": round(done / seconds, -2), "process_mb": round(memory())}
        point["rows_per_second"] = int(point["rows_per_second"])
        trees = [one.committee for one in model._fitted.root.parts if hasattr(one.committee, "histograms")]
        point["histograms_mb"] = round(sum(tree.histograms.nbytes for tree in trees) / 1e6)
        curve.append(point)
        seconds = 0.0
        print(point, flush=True)
        model.save(saved)
        points.write_text(json.dumps(curve))
    return curve


def _words(k: int, new_words: int) -> int:
    return _FIRST_WORDS + new_words * k


def _table(k: int, rows: int, new_words: int) -> tuple[Any, Any]:
    """Table k of the stream: numbers and a word; with the concept of its time, labels depend on all of them."""
    rng, words = np.random.default_rng(k), _words(k, new_words)
    concept = np.random.default_rng(1000 + k * _BLOCK * _CONCEPTS // rows)
    numbers, word = rng.normal(size=(_BLOCK, _NUMBERS)), rng.integers(0, words, _BLOCK)
    score = numbers @ concept.normal(size=_NUMBERS) + 1.5 * (numbers[:, 0] * numbers[:, 1] > 0)
    score += concept.normal(size=words)[word] + rng.logistic(size=_BLOCK) / 2
    columns: dict[str, Any] = {f"x{j}": numbers[:, j] for j in range(_NUMBERS)}
    columns["word"] = pa.array([f"w{number}" for number in word])
    return pa.table(columns), (score > 0).astype(int)


# ---- tickets


def run_tickets(n: int, folder: Path) -> str:
    """Ask for many tickets, let some expire, tell some, save and load; returns what was found."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, _NUMBERS))
    rows = [{f"x{j}": float(x) for j, x in enumerate(row)} | {"word": f"w{k % 50}"} for k, row in enumerate(X)]
    model = OnlineBoost("low", random_state=0)
    model.pending = Pending(max_pending=n)
    for x, label in zip(rows, (X[:, 0] > 0).tolist(), strict=True):
        model.learn_one(x, int(label))
    before, step = memory(), n // 10
    asking = [_ask(model, rows, step) for _ in range(10)]
    size = (memory() - before) * 2**20 / n
    print(f"asked: {asking} us; {size:.0f} bytes each", flush=True)
    beyond = [_ask(model, rows, step) for _ in range(5)]
    assert len(model.pending) == n, len(model.pending)
    print(f"asked beyond the bound: {beyond} us", flush=True)
    numbers = [*model.pending]
    places = 0, n // 2, n - 1000
    telling = [_microseconds(lambda k: model.tell(model.pending[k], 1), numbers[at : at + 1000]) for at in places]
    print(f"told at the beginning, in the middle, at the end: {telling} us", flush=True)
    path = folder / "tickets.model"
    began = time.process_time()
    model.save(path)
    saving, began = time.process_time() - began, time.process_time()
    loaded = onlineboost.load(path)
    loading = time.process_time() - began
    assert [*loaded.pending] == [*model.pending]
    megabytes = path.stat().st_size / 1e6
    path.unlink()
    return (
        f"{min(asking)} to {max(asking)} us for each `ask`, {min(beyond)} to {max(beyond)} when the oldest expire, "
        f"{min(telling)} to {max(telling)} for each `tell`; {size:.0f} bytes each; "
        f"saved in {saving:.1f} s ({megabytes:.0f} MB), loaded in {loading:.1f} s"
    )


def _ask(model: Any, rows: list[Any], n: int) -> int:
    """Ask for so many tickets: tables of rows, and at the end rows one by one, whose time is returned."""
    while n > len(rows):
        model.ask(rows)
        n -= len(rows)
    return _microseconds(lambda k: model.ask(rows[k]), range(n))


def _microseconds(act: Any, items: Any) -> int:
    began = time.process_time()
    for item in items:
        act(item)
    return round(1e6 * (time.process_time() - began) / len(items))
