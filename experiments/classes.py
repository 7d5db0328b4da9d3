"""Many classes: the default and boosted trees beside LightGBM, the forests of River and CapyMOA, and the last label.

Figures of ours are measured anew if the code has changed, those of others with --models only. Every row is predicted,
then learned, in one pass and on one core; nothing is chosen by set. The sets are letter, which is bundled; three of
the folder ``classes`` among the data; and covtype with its seven classes, if a CSV file with the class in the last
column is given: 50,000 rows of it in random order. (It is in the source package of scikit-multiflow.) CapyMOA and
LightGBM (stream_rivals.py) are run in .venv-rivals, which ``make compare`` makes, and left out without it.

    python experiments/classes.py [--data FOLDER] [--covtype FILE] [--models OnlineBoost();...] [--sets letter,...]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from onlineboost import OnlineBoost, SafeBoost, Tree
from onlineboost.datasets import load_letter

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
import sources
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "classes.json"
RIVALS = Path(__file__).parents[1] / ".venv-rivals/bin/python"
SETS = ("letter", "pendigits", "satimage", "optdigits", "covtype")
FIRST = 200  # rows of a model that is thrown away: what is compiled is compiled then


def ours(make: Callable[[], Any]) -> Callable[[Any, Any], tuple[float, float]]:
    def run(X: Any, y: Any) -> tuple[float, float]:
        make().fit(X[:FIRST], y[:FIRST])
        model = make()
        start = time.process_time()
        scores = model.progressive_fit(X, y)
        seconds = time.process_time() - start
        target = model._fitted.target
        return float(1 - target.mistakes(scores, target.encode(y)).mean()), seconds

    return run


def rivers(make: Callable[[], Any]) -> Callable[[Any, Any], tuple[float, float]]:
    def run(X: Any, y: Any) -> tuple[float, float]:
        model, right, seconds = make(), 0, 0.0
        for row, label in zip(X, y.tolist(), strict=True):
            x = dict(enumerate(row.tolist()))
            start = time.process_time()
            right += model.predict_one(x) == label
            model.learn_one(x, label)
            seconds += time.process_time() - start
        return right / len(y), seconds

    return run


def unchanged(X: Any, y: Any) -> tuple[float, float]:
    return float(np.mean(y[1:] == y[:-1])), 0.0


def amf() -> Any:
    from river import forest

    return forest.AMFClassifier(n_estimators=10, seed=0)


def arf() -> Any:
    from river import forest

    return forest.ARFClassifier(n_models=10, seed=0)


def answers(rival: str, X: Any, y: Any) -> tuple[Any, float]:
    """Of a rival of stream_rivals.py: its predictions and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.npz"
        np.savez(path, X=X, y=y)
        command = [RIVALS, Path(__file__).with_name("stream_rivals.py"), rival, path]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{rival}: {done.stderr.strip()[-300:]}")
        with np.load(path) as kept:
            return kept["answers"], float(done.stdout.splitlines()[-1])


def there(rival: str) -> Callable[[Any, Any], tuple[float, float]]:
    def run(X: Any, y: Any) -> tuple[float, float]:
        codes = np.unique(y, return_inverse=True)[1]
        found, seconds = answers(rival, X, codes)
        return float(np.mean(found == codes)), seconds

    return run


MODELS: dict[str, Callable[[Any, Any], tuple[float, float]]] = {
    "OnlineBoost()": ours(lambda: OnlineBoost(random_state=0)),
    "OnlineBoost('high')": ours(lambda: OnlineBoost("high", random_state=0)),
    "SafeBoost(Tree(8), 63)": ours(lambda: SafeBoost(Tree(8), 63, random_state=0)),
    "River AMF(10)": rivers(amf),
    "River ARF(10)": rivers(arf),
    "CapyMOA ARF(10)": there("CapyMOA ARF(10)"),
    "LightGBM": there("LightGBM"),
    "the last label": unchanged,
}


OURS = ("OnlineBoost()", "OnlineBoost('high')", "SafeBoost(Tree(8), 63)")
THERE = ("CapyMOA ARF(10)", "LightGBM")  # in .venv-rivals


def old(found: dict[str, Any], now: str | None) -> bool:
    """Whether there are figures of ours of other sources."""
    return any(one["models"].get(model, {}).get("sources", now) != now for one in found.values() for model in OURS)


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    names = [name for name in SETS if name in found]
    head = ["model", *(f"{name} ({found[name]['classes']})" for name in names), "rows/s"]
    rows = []
    for model in MODELS:
        mine = [found[name]["models"].get(model) for name in names]
        speeds = [one["rows"] / one["seconds"] for one in mine if one and one["seconds"]]
        speed = f"{statistics.geometric_mean(speeds):,.0f}" if speeds else "-"
        rows.append([model, *(f"{one['accuracy']:.4f}" if one else "-" for one in mine), speed])
    return {"classes": table(head, rows), "classes losses": losses(found)}


def losses(found: dict[str, Any]) -> str:
    """Sets on which a rival is more accurate than the default, or takes less time, and the default's figures."""
    rows = []
    for name, one in found.items():
        runs = {model: run for model, run in one["models"].items() if model == OURS[0] or model not in OURS}
        ours = runs[OURS[0]]
        right = sorted((-run["accuracy"], model) for model, run in runs.items() if run["accuracy"] > ours["accuracy"])
        quick = sorted((run["seconds"], model) for model, run in runs.items() if 0 < run["seconds"] < ours["seconds"])
        cells = [", ".join(f"{model} {-accuracy:.4f}" for accuracy, model in right) or "none"]
        cells += [
            f"{ours['seconds']:.1f} s",
            ", ".join(f"{model} {seconds:.1f} s" for seconds, model in quick) or "none",
        ]
        rows.append([name, f"{ours['accuracy']:.4f}", *cells])
    return table(["set", "accuracy of `OnlineBoost()`", "more accurate", "its time", "faster"], rows, words=5)


def load(name: str, data: Path, covtype: Path | None) -> tuple[Any, Any] | None:
    if name == "letter":
        return load_letter(letters=True)
    if name == "covtype":
        if covtype is None:
            return None
        cells = np.loadtxt(covtype, np.float32, delimiter=",", skiprows=1)
        cells = cells[np.random.default_rng(0).permutation(len(cells))[:50_000]]
        return cells[:, :-1], cells[:, -1].astype(np.int64)
    path = data / "classes" / f"{name}.csv.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt") as file:
        lines = np.array([*csv.reader(file)][1:])
    return lines[:, :-1].astype(np.float32), lines[:, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--covtype", type=Path, help="CSV file with the seven classes of covtype")
    parser.add_argument("--models", help="separated by ; (default: all that are old)")
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found, now = kept(FIGURES), sources.digest(FIGURES.stem)
    models, sets = (options.models.split(";") if options.models else list(MODELS)), options.sets.split(",")
    if not RIVALS.exists():
        print(f"left out: {', '.join(THERE)}: there is no {RIVALS.parents[1].name} (make compare)", flush=True)
        models = [model for model in models if model not in THERE]
    with Progress() as bar:
        task = bar.add_task("many classes", total=len(models) * len(sets))
        for name in sets:
            loaded = load(name, options.data, options.covtype)
            for model in models:
                mine = found.setdefault(name, {"classes": 0, "models": {}})
                before = mine["models"].get(model)
                if loaded is not None and (before is None or options.models or before.get("sources", now) != now):
                    X, y = loaded
                    accuracy, seconds = MODELS[model](X, y)
                    mine["classes"] = len(np.unique(y))
                    mine["models"][model] = {"rows": len(y), "accuracy": accuracy, "seconds": seconds}
                    if model in OURS:
                        mine["models"][model]["sources"] = now
                    keep(FIGURES, found, part=old(found, now))
                    bar.console.print(f"{name} {model}: {accuracy:.4f}, {len(y) / max(seconds, 1e-9):,.0f} rows/s")
                bar.advance(task)


if __name__ == "__main__":
    main()
