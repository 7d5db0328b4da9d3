"""Speed of learning on threads, beside one thread and beside another version of the code, from arrays in memory.

The contenders take turns, each in a process of its own; examples per second, medians of six.

    python benchmarks/threads.py --base COMMIT [--data FOLDER] [--rows 100000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, ROOT, add_data, keep, kept, table

FIGURES = FOLDER / "threads.json"
MODELS = {
    "63 trees of depth 5": ("covtype", "OnlineBBM(Tree(5), 63, random_state=0)"),
    "63 trees of depth 8": ("covtype", "OnlineBBM(Tree(8), 63, random_state=0)"),
    "161 linear learners": ("covtype", "OnlineBBM(Linear(), 161)"),
    "161 linear learners, text": ("rcv1", "OnlineBBM(Linear(), 161)"),
    "OnlineBoost()": ("covtype", "OnlineBoost(random_state=0)"),
}
RUNS = 3  # of two fits each
WORKER = """
import json, sys, time, warnings
import numpy as np
from onlineboost import *
from onlineboost import datasets
warnings.simplefilter("ignore")
name, model, jobs, rows, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
X, y = datasets.load(name, folder)
order = np.random.default_rng(0).permutation(len(y))[:rows]
X, y = X[order], y[order]
X = X.toarray().astype(np.float32) if name == "covtype" else X
def new():
    made = eval(model)
    if jobs > 1:
        made.n_jobs = jobs
    return made
new().fit(X[:3000], y[:3000])
speeds = []
for _ in range(2):
    made = new()
    start = time.perf_counter()
    made.fit(X, y)
    speeds.append(len(y) / (time.perf_counter() - start))
print(json.dumps(speeds))
"""


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    rows = []
    for name, speeds in found["speeds"].items():
        one, two = (statistics.median(speeds[who]) for who in ("1 thread", "2 threads"))
        rows.append([name, f"{one:,.0f}", f"{two:,.0f}", f"{two / one:.2f}"])
    head = ["model", "1 thread", "2 threads", "2 threads / 1"]
    return {"threads": table(head, rows)}


def speeds_of(source: Path, name: str, model: str, jobs: int, rows: int, data: Path) -> list[float]:
    environment = {**os.environ, "PYTHONPATH": str(source), "ONLINEBOOST_QUIET": "1"}
    arguments = [sys.executable, "-c", WORKER, name, model, str(jobs), str(rows), str(data)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--base", required=True, help="commit of the other version")
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", f"{folder}/base", options.base], check=True)
        try:
            speeds = measure(Path(folder) / "base/src", options.rows, options.data.resolve())
        finally:
            subprocess.run([*git, "remove", "--force", f"{folder}/base"], check=True)
    keep(FIGURES, {"rows": options.rows, "speeds": speeds})


def measure(base: Path, rows: int, data: Path) -> dict[str, Any]:
    """Examples per second of all contenders, which take turns."""
    contenders = {"before": (base, 1), "1 thread": (ROOT / "src", 1), "2 threads": (ROOT / "src", 2)}
    speeds: dict[str, Any] = {}
    for name, (set_, model) in MODELS.items():
        mine = speeds[name] = {who: [] for who in contenders}
        for _ in range(RUNS):
            for who, (source, jobs) in contenders.items():
                mine[who].extend(speeds_of(source, set_, model, jobs, rows, data))
        print(name, {who: round(statistics.median(found)) for who, found in mine.items()}, flush=True)
    return speeds


if __name__ == "__main__":
    main()
