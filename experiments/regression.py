"""R2, coverage of 90 % intervals and rows per second of ``OnlineBoostRegressor`` on six streams, in their order.

The folder ``regression`` among the data has NAME.csv.gz with a heading, the target last; sets that are absent are
skipped. Words become one column each. The last one is a stream whose noise doubles half-way. Rivals (stream_rivals.py)
are measured if they have no figures yet, in .venv-rivals, which ``make compare`` makes; without it they are left out.

    python experiments/regression.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import classes
import numpy as np
import pandas as pd
import scipy.sparse as sp
from rich.progress import track

from onlineboost import OnlineBoostRegressor, RangeWarning
from onlineboost.regressor import r2

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "numbers.json"
SETS = ("abalone", "ailerons", "bike", "fried", "DemandF", "MetroTraffic")
RIVALS = ("LightGBM", "CapyMOA ARF(10)")
LAST = "the last value"


def load(path: Path) -> tuple[object, np.ndarray]:
    table = pd.read_csv(path)
    columns = []
    for name in table.columns[:-1]:
        if pd.api.types.is_numeric_dtype(table[name]):
            columns.append(table[[name]].to_numpy(np.float64))
        else:  # in the order in which words are met
            codes = pd.factorize(table[name])[0]
            columns.append(sp.csr_matrix((np.ones(len(codes)), (np.arange(len(codes)), codes))))
    words = any(sp.issparse(column) for column in columns)
    return (sp.hstack(columns, "csr") if words else np.hstack(columns)), table.iloc[:, -1].to_numpy(np.float64)


def noise_doubles(rows: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((rows, 5))
    noise = np.where(np.arange(rows) < rows // 2, 0.3, 0.6)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=rows)


def unchanged(y: np.ndarray) -> float:
    """R2 of repeating the last value."""
    return r2(y, np.concatenate([[0.0], y[:-1]]))


def run(X: object, y: np.ndarray) -> dict[str, float]:
    began = time.process_time()
    answers, low, high = OnlineBoostRegressor(random_state=0).progressive_interval(X, y)
    seconds = time.process_time() - began
    inside, half = (low <= y) & (y <= high), len(y) // 2
    covers = {"covers": inside.mean(), "first half": inside[:half].mean(), "second half": inside[half:].mean()}
    return {"r2": r2(y, answers), "last": unchanged(y), **covers, "rows": len(y), "seconds": seconds}


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    rows = []
    for name, one in found.items():
        covers = [f"{100 * one[key]:.1f} %" for key in ("covers", "first half", "second half")]
        rows.append([name, f"{one['r2']:.3f}", f"{one['last']:.3f}", *covers, f"{one['rows'] / one['seconds']:,.0f}"])
    mean = np.mean([one["r2"] for name, one in found.items() if name in SETS])
    rows.append(["mean of the sets", f"{mean:.3f}", *["-"] * 5])
    head = ["stream", "R2", "R2 of the last value", "90 % intervals cover", "first half", "second half", "rows/s"]
    return {"numbers": table(head, rows), "numbers rivals": beside(found), "numbers losses": losses(found)}


def beside(found: dict[str, Any]) -> str:
    """R2 of ours and of the rivals, and rows per second."""
    rows = []
    for name in (name for name in SETS if name in found):
        one = found[name]
        rivals = [one.get("rivals", {}).get(rival) for rival in RIVALS]
        r2s = [f"{one['r2']:.3f}", *(f"{rival['r2']:.3f}" if rival else "-" for rival in rivals), f"{one['last']:.3f}"]
        rates = [f"{run['rows'] / run['seconds']:,.0f}" if run else "-" for run in (one, *rivals)]
        rows.append([name, *r2s, *rates])
    models = ["`OnlineBoostRegressor()`", *RIVALS]
    return table(["R2", *models, LAST, *(f"rows/s, {model}" for model in models)], rows)


def losses(found: dict[str, Any]) -> str:
    """Streams on which a rival has a higher R2 than the default, or takes less time."""
    rows = []
    for name in (name for name in SETS if name in found):
        one, rivals = found[name], found[name].get("rivals", {})
        known = {rival: run["r2"] for rival, run in rivals.items()} | {LAST: one["last"]}
        higher = sorted((-r2, rival) for rival, r2 in known.items() if r2 > one["r2"])
        quick = sorted((run["seconds"], rival) for rival, run in rivals.items() if run["seconds"] < one["seconds"])
        cells = [", ".join(f"{rival} {-r2:.3f}" for r2, rival in higher) or "none", f"{one['seconds']:.1f} s"]
        rows.append([name, f"{one['r2']:.3f}", *cells, ", ".join(f"{m} {s:.1f} s" for s, m in quick) or "none"])
    return table(["stream", "R2 of `OnlineBoostRegressor()`", "higher R2", "its time", "faster"], rows, words=5)


def run_rivals(X: Any, y: np.ndarray) -> dict[str, dict[str, float]]:
    if not classes.RIVALS.exists():
        return {}
    dense, found = X.toarray() if sp.issparse(X) else X, {}
    for rival in RIVALS:
        answers, seconds = classes.answers(rival, dense.astype(np.float32), y)
        found[rival] = {"r2": r2(y, answers), "rows": len(y), "seconds": seconds}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", RangeWarning)  # of these streams, many features move
    rng = np.random.default_rng(0)  # compiles
    for X in (rng.normal(size=(300, 3)), sp.csr_matrix(rng.normal(size=(300, 3)))):
        OnlineBoostRegressor().progressive_fit(X, rng.normal(size=300))
    before, found = kept(FIGURES), {}
    for name in track(SETS, "numbers"):
        path = options.data / "regression" / f"{name}.csv.gz"
        if path.exists():
            X, y = load(path)
            known = before.get(name, {}).get("rivals")
            found[name] = run(X, y) | {"rivals": known or run_rivals(X, y)}
    found["noise that doubles half-way"] = run(*noise_doubles())
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
