"""The experiment: for every set, split and cell a race on four fifths, then a test of the best on the last fifth.

Results are saved to a folder cell by cell, and reused when the same experiment runs again:

| file | content |
| --- | --- |
| ``results.json`` | errors; the same for the same command, whatever engine and number of workers |
| ``timings.json`` | times, and the machine |
| ``races/`` | each configuration (``tuning/runs.py``), and each cell |
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlineboost import datasets
from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled.cache import source_digest
from onlineboost.data.batch import Batch, cut, shuffled
from onlineboost.data.classes import Classes
from onlineboost.evaluate.metrics import Curve
from onlineboost.reproduction import vw
from onlineboost.reproduction.protocol import FAMILIES, SETTINGS, Task, tasks
from onlineboost.scale import cluster
from onlineboost.storage.atomic import write_text
from onlineboost.tuning.data import Data, read
from onlineboost.tuning.race import Race, Row, tune

CURVE = 256  # examples before the first point of a curve
TIMED = 12  # configurations of vw to time
Notice = Callable[[str, int, int, Row | None], None]


class Where(NamedTuple):
    """A split of a set."""

    name: str
    split: int
    examples: int
    fingerprint: str  # of all rows, including the test part


@dataclass(frozen=True)
class Experiment:
    """Options of the experiment; ``run`` runs it."""

    folder: Path
    command: str = "onlineboost reproduce"
    splits: int = 1
    quick: bool = False
    seed: int = 0
    engine: Any = "threads"
    address: str | None = None
    workers: int | None = None
    notice: Notice = lambda *what: None
    """Called with the current cell, the number of finished configurations, their total, and the best so far."""

    def run(self, sets: Mapping[str, Batch]) -> dict[str, Any]:
        """Results and timings together, for the report."""
        with cluster(self.workers, self.address) if self.engine == "ray" else nullcontext():
            (self.folder / "races").mkdir(parents=True, exist_ok=True)
            found, seconds = [], {}
            for name, whole in sets.items():
                cells = [self._split(name, shuffled(whole, self.seed + split), split) for split in range(self.splits)]
                found.append(
                    {**_about(name, whole), "entries": [_joined(entries) for entries in zip(*cells, strict=True)]}
                )
                for entry in found[-1]["entries"]:
                    seconds[f"{name} {entry['family']} {entry['setting']}"] = entry.pop("seconds")
                self._keep("results.json", self._results(found))
            timings = {"seconds": sum(seconds.values()), "machine": _machine(), "cells": seconds}
            timings["vw_sweep"] = self._vw_sweep(sets)
            self._keep("timings.json", timings)
            return together(self._results(found), timings)

    def configurations(self, sets: Mapping[str, Batch]) -> int:
        """Number of configurations in all."""
        made = (tasks(whole.y.size, self.quick, self.seed) for whole in sets.values())
        return self.splits * sum(len(task.models) for cells in made for task in cells)

    def _results(self, found: list[dict[str, Any]]) -> dict[str, Any]:
        missing = [{"name": d.name, "why": d.obstacle} for d in datasets.SETS.values() if d.file is None]
        facts = {"command": self.command, "versions": _versions(), "seed": self.seed, "splits": self.splits}
        names = {"families": FAMILIES, "settings": SETTINGS}
        return {**facts, "quick": self.quick, **names, "sets": found, "missing": missing}

    def _keep(self, name: str, what: dict[str, Any]) -> None:
        write_text(self.folder / name, json.dumps(what, indent=1) + "\n")

    def _split(self, name: str, rows: Batch, split: int) -> list[dict[str, Any]]:
        """All cells of a set."""
        at = rows.y.size * 4 // 5
        train, test = cut(rows, 0, at), cut(rows, at, rows.y.size)
        data, where = read([train]), Where(name, split, rows.y.size, read([rows]).fingerprint())
        cells = []
        for task in tasks(rows.y.size, self.quick, self.seed):
            find = partial(self._cell, data, test, task, name, split)
            cells.append(self._known(where, task, find))
        if vw.is_installed():
            cells += self._vw_cells(train, test, cells, where)
        return cells

    def _known(self, where: Where, task: Task, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A cell from its file, or computed. Failures of the program vw are not saved, so that they are repeated."""
        key = [source_digest(), where.fingerprint, [repr(model) for model in task.models]]
        key += [version("vowpalwabbit")] if task.setting == "vw itself" else []
        path = self._path(where.name, where.split, task.family, task.setting, "json")
        if path.exists():
            try:
                kept = json.loads(path.read_text(encoding="utf-8"))
                if kept["key"] == key:
                    return dict(kept["entry"])
            except (ValueError, KeyError):
                pass  # an incomplete file
        entry = find()
        if task.setting != "vw itself" or not entry["failed"]:
            write_text(path, json.dumps({"key": key, "entry": entry}))
        return entry

    def _path(self, name: str, split: int, family: str, setting: str, ending: str) -> Path:
        return self.folder / "races" / f"{name}-{split}-{family}-{setting.replace(' ', '-')}.{ending}"

    def _cell(self, data: Data, test: Batch, task: Task, name: str, split: int) -> dict[str, Any]:
        began, what = time.perf_counter(), f"{name}, {FAMILIES[task.family]} ({task.setting})"
        race = tune(
            task.models,
            data,
            engine=self.engine,
            address=self.address,
            workers=self.workers,
            journal=self._path(name, split, task.family, task.setting, "jsonl"),
            progress=lambda done, of, best: self.notice(what, done, of, best),
        )
        entry = {"family": task.family, "setting": task.setting, "tried": len(race.rows), **_failures(race)}
        if any(row.status == "done" for row in race.rows):
            entry |= _tested(race.best, data.batch, test)
        else:
            entry |= {"chosen": {}, "model": "", "progressive": None, "test": [], "curve": []}
        return {**entry, "seconds": time.perf_counter() - began}

    def _vw_cells(self, train: Batch, test: Batch, cells: list[dict[str, Any]], where: Where) -> list[dict[str, Any]]:
        """Runs of the program vw with the parameters chosen for its variants, several at a time."""
        with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(self.workers or os.cpu_count()) as pool:
            folder = Path(place)
            vw.write(train, folder / "train")
            vw.write(test, folder / "test")

            def find(task: Task, cell: dict[str, Any]) -> dict[str, Any]:
                same = {key: cell[key] for key in ("chosen", "model")}
                found = {"family": task.family, "setting": "vw itself", "tried": 1, "failed": 0, "reasons": []}
                found |= {**same, "progressive": None, "test": [], "curve": [], "seconds": 0.0}
                try:
                    (model,) = task.models
                    error, seconds = vw.run(task.family, model, folder / "train", folder / "test", test.y, folder)
                except (RuntimeError, OSError, ValueError) as problem:
                    return {**found, "failed": 1, "reasons": [str(problem) or type(problem).__name__]}
                return {**found, "test": [error], "seconds": seconds}

            waiting = []
            for family in vw.ALGORITHMS:
                setting = "paper" if family == "baseline" else "vw"
                cell = next(c for c in cells if (c["family"], c["setting"]) == (family, setting))
                task = Task(family, "vw itself", _models(cell, tasks(where.examples, self.quick, self.seed)))
                waiting.append(pool.submit(self._known, where, task, partial(find, task, cell)))
            return [one.result() for one in waiting]

    def _vw_sweep(self, sets: Mapping[str, Batch]) -> dict[str, Any] | None:
        """Estimated seconds of vw for the race of Online BBM on the smallest set, and our seconds."""
        if not vw.is_installed():
            return None
        name = min(sets, key=lambda one: sets[one].y.size)
        rows = shuffled(sets[name], self.seed)
        train = cut(rows, 0, rows.y.size * 4 // 5)
        task = next(t for t in tasks(rows.y.size, self.quick, self.seed) if (t.family, t.setting) == ("bbm", "vw"))
        some = task.models[:: max(1, len(task.models) // TIMED)]
        try:
            with tempfile.TemporaryDirectory() as place:
                vw.write(train, Path(place) / "train")
                theirs = [vw.timed(task.family, model, Path(place) / "train") for model in some]
        except (RuntimeError, OSError):
            return None  # the table has the reason
        ours = sum(row.seconds for row in tune(some, read([train]), workers=1).rows)
        scale = len(task.models) / len(some)
        counts = {"set": name, "configurations": len(task.models), "timed": len(some)}
        return {**counts, "vw_seconds": sum(theirs) * scale, "our_seconds": ours * scale}


def together(results: dict[str, Any], timings: dict[str, Any]) -> dict[str, Any]:
    """Results with their timings."""
    found = json.loads(json.dumps(results))
    for one in found["sets"]:
        for entry in one["entries"]:
            entry["seconds"] = timings["cells"].get(f"{one['name']} {entry['family']} {entry['setting']}", 0.0)
    return {**found, **{key: timings[key] for key in ("seconds", "machine", "vw_sweep")}}


def _tested(best: Row, train: Batch, test: Batch) -> dict[str, Any]:
    """The best configuration, trained again, and its error on the test rows."""
    model: Any = best.model.clone()
    curve = Curve(most=1 << 6)
    curve.update(Classes.mistakes(model.progressive_fit(train), train.y), train.weight)
    wrong = Classes.mistakes(model.decision_function(test), test.y)
    points = [*curve.marks, (curve.examples, curve.weight, curve.mistakes)]
    return {
        "chosen": _settings(model),
        "model": repr(model),
        "progressive": curve.error,
        "test": [float(wrong.mean())],
        "curve": [[n, round(mistakes / weight, 5)] for n, weight, mistakes in points if n >= CURVE],
    }


def _settings(model: OnlineClassifier) -> dict[str, Any]:
    params = model.get_params()
    names = ("n_estimators", "gamma", "learning_rate", "estimator__learning_rate", "max_depth", "estimator__max_depth")
    return {name.removeprefix("estimator__"): params[name] for name in names if name in params}


def _models(cell: dict[str, Any], made: list[Task]) -> list[OnlineClassifier]:
    """The chosen model; empty if all failed."""
    return [model for task in made for model in task.models if repr(model) == cell["model"]][:1]


def _failures(race: Race) -> dict[str, Any]:
    failed = [row for row in race.rows if row.status == "failed"]
    return {"failed": len(failed), "reasons": sorted({row.reason for row in failed})}


def _joined(cells: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """One entry for a cell of several splits: the first, with the errors and seconds of all."""
    tests = [error for cell in cells for error in cell["test"]]
    return {**cells[0], "test": tests, "seconds": sum(cell["seconds"] for cell in cells)}


def _about(name: str, whole: Batch) -> dict[str, Any]:
    known = datasets.SETS.get(name)
    paper = (
        dict(zip(FAMILIES, known.paper.errors, strict=False)) if known is not None and known.paper is not None else {}
    )
    n = whole.y.size
    sizes = {"examples": n, "features": int(np.unique(whole.indices).size), "train": n * 4 // 5, "test": n - n * 4 // 5}
    return {"name": name, **sizes, "paper": paper, "note": known.binary if known is not None else ""}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("onlineboost", "numba", "numpy", "vowpalwabbit"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores"
