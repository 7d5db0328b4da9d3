"""Speed of learning on two threads, beside one thread, from arrays in memory.

One and two threads take turns within a process, each with a new model; medians of five. "Busy" is the same beside a
process that spins on one of the cores. Otherwise the five pairs count, of at most fifteen, in which other processes
used the least of the cores.

    python benchmarks/threads.py [--data FOLDER] [--rows 60000 200000] [--models tree linear]
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost import Linear, OnlineBBM, OnlineBoost, Tree, datasets

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, begun, keep, kept, table

FIGURES = FOLDER / "threads.json"
MODELS = {
    "63 trees of depth 8": lambda: OnlineBBM(Tree(8), 63, random_state=0),
    "63 trees of depth 5": lambda: OnlineBBM(Tree(5), 63, random_state=0),
    "OnlineBoost()": lambda: OnlineBoost(random_state=0),
    "161 linear learners": lambda: OnlineBBM(Linear(), 161),
}
CALLS = {"fit": "fit", "progressive": "progressive_fit", "busy": "fit"}
REPEATS = 5
IDLE = 0.05  # of a core, that others may use


def seconds(name: str, call: str, threads: int, X: Any, y: Any) -> float:
    model = MODELS[name]()
    if threads > 1:
        model.n_jobs = threads
    began = time.perf_counter()
    getattr(model, CALLS[call])(X, y)
    return time.perf_counter() - began


def others() -> float:
    """Seconds that all other processes of this machine have used; 0 where the system does not tell."""
    try:
        user, nice, system, *_ = map(int, Path("/proc/stat").read_text().split()[1:8])
    except OSError:
        return 0.0
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - time.process_time()


def spin() -> None:
    while True:
        pass


def measure(name: str, call: str, X: Any, y: Any) -> dict[str, list[float]]:
    """Seconds with one and with two threads, in turns."""
    for threads in (1, 2):
        seconds(name, call, threads, X[:3000], y[:3000])
    gc.collect()
    gc.freeze()  # collections during a timing look at what it made, not at all of Numba
    other = multiprocessing.get_context("spawn").Process(target=spin, daemon=True)
    if call == "busy":
        other.start()
    pairs: list[tuple[float, list[float]]] = []
    while len(pairs) < REPEATS or (call != "busy" and len(pairs) < 3 * REPEATS and pairs[REPEATS - 1][0] > IDLE):
        before, began = others(), time.perf_counter()
        pair = [seconds(name, call, threads, X, y) for threads in (1, 2)]
        pairs.append(((others() - before) / (time.perf_counter() - began), pair))
        pairs.sort(key=lambda one: one[0] if call != "busy" else 0)
    print(f"{name}, {call}: {len(pairs)} pairs, others used up to {pairs[REPEATS - 1][0]:.0%} of a core", flush=True)
    found = {str(k + 1): [pair[k] for _, pair in pairs[:REPEATS]] for k in (0, 1)}
    if call == "busy":
        other.kill()
        other.join()
    gc.unfreeze()
    return found


def gain(found: dict[str, list[float]]) -> float:
    return statistics.median(found["1"]) / statistics.median(found["2"])


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    sizes, rows = [int(n) for n in found], []
    last = str(max(sizes))
    for name in MODELS:
        speeds = [f"{int(last) / statistics.median(found[last][name]['fit'][n]):,.0f}" for n in ("1", "2")]
        gains = [f"{gain(found[str(n)][name][call]):.2f}" for call in CALLS for n in sorted(sizes)]
        rows.append([name, *speeds, *gains])
    titles = {"fit": "`fit`", "progressive": "`progressive_fit`", "busy": "beside a busy process"}
    heads = [f"{titles[call]}, {n:,} rows" for call in CALLS for n in sorted(sizes)]
    return {"threads": table(["model", "examples/s, 1 thread", "2 threads", *heads], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, nargs="+", default=[60_000, 200_000])
    parser.add_argument("--models", nargs="+", default=[""], help="parts of the names of models; the others stay")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = datasets.load("covtype", options.data)
    order = np.random.default_rng(0).permutation(len(y))
    kept_before = begun(FIGURES)
    for n in options.rows:
        some, labels = X[order[:n]].toarray().astype(np.float32), y[order[:n]]
        for name in (name for name in MODELS if any(part in name for part in options.models)):
            mine = kept_before.setdefault(str(n), {}).setdefault(name, {})
            for call in CALLS:
                mine[call] = measure(name, call, some, labels)
            print(n, name, {call: round(gain(one), 2) for call, one in mine.items()}, flush=True)
    if all(len(each) == len(MODELS) for each in kept_before.values()):
        keep(FIGURES, kept_before)
    else:
        raise SystemExit("not all models were measured: nothing is kept")


if __name__ == "__main__":
    main()
