"""Time per example: by the number of learners, the number of features, and the length of the stream.

One core, dense generated rows, so that only that number changes; the stream is learned a batch at a time, as from a
file. Processor time, which other work on the machine hardly affects; medians.

    python benchmarks/cost.py [--longest 10000000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track

from onlineboost import Linear, OnlineBBM, Stump, Tree

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, ROOT, draw, keep, kept, table

FIGURES, PICTURE = FOLDER / "cost.json", ROOT / "docs/cost.svg"
LEARNERS = {"Linear()": Linear(), "Stump()": Stump(), "Tree(5)": Tree(5), "Tree(8)": Tree(8)}
COUNTS, WIDTHS = (1, 5, 11, 21, 41, 81, 161), (10, 20, 40, 80, 160, 320)
PART = 10_000


def rows(number: int, n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Generated rows, with ``number`` as the seed; the label depends on a few features, with noise."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n, width)).astype(np.float32)
    score = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + X[:, 3] / 2
    return X, np.where(score + rng.normal(size=n) > 0, 1, -1)


def cost(learner: Any, n_learners: int, width: int, repeats: int) -> float:
    """Microseconds per example, from the 10,000th on, when trees have grown."""
    times = []
    warm, X, y = rows(0, PART, width), *rows(1, PART, width)
    for _ in range(repeats):
        model = OnlineBBM(learner.clone(), n_learners, random_state=0).fit(*warm)
        began = time.process_time()
        model.partial_fit(X, y)
        times.append(time.process_time() - began)
    return statistics.median(times) / PART * 1e6


def along(learner: Any, longest: int) -> Iterator[tuple[int, float, float]]:
    """Examples so far, microseconds each since the last point, megabytes of the process."""
    model = OnlineBBM(learner.clone(), 10, random_state=0).partial_fit(*rows(0, PART, 20))
    parts = [rows(number, PART, 20) for number in range(100)]  # a million rows, over and over
    points = [m * 10**k for k in range(4, 10) for m in (2, 5, 10) if m * 10**k <= longest]
    seen, last = PART, PART
    for point in points:
        began = time.process_time()
        while seen < point:
            model.partial_fit(*parts[seen // PART % 100])
            seen += PART
        spent = time.process_time() - began
        yield seen, spent / (seen - last) * 1e6, memory()
        last = seen


def memory() -> float:
    """Megabytes of the process, including the rows it learns from."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def plot(found: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(13, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    for name in LEARNERS:
        axes[0].plot(COUNTS, found["by_count"][name], "o-", label=name)
        axes[1].plot(WIDTHS, found["by_width"][name], "o-", label=name)
        axes[2].plot(*list(zip(*found["by_length"][name], strict=True))[:2], "o-", label=name)
    for axis, label in zip(axes, ("learners (20 features)", "features (10 learners)", "examples seen"), strict=True):
        axis.set(xlabel=label, ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[2].set_xscale("log")
    axes[0].set_ylabel("microseconds per example, one core")
    axes[0].legend()
    return figure


def blocks() -> dict[str, str]:
    found = kept(FIGURES)

    def costs(key: str) -> list[list[str]]:
        return [[name, *(f"{cost:.2f}" for cost in found[key][name])] for name in LEARNERS]

    points = found["by_length"]
    times = [[name, *(f"{cost:.2f}" for _, cost, _ in points[name])] for name in LEARNERS]
    sizes = [[f"{name}, process, MB", *(f"{size:.0f}" for _, _, size in points[name])] for name in LEARNERS]
    return {
        "learners": table(["learners, 20 features", *map(str, COUNTS)], costs("by_count")),
        "features": table(["features, 10 learners", *map(str, WIDTHS)], costs("by_width")),
        "examples": table(["examples learned", *(f"{point[0]:,}" for point in points["Linear()"])], times + sizes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found: dict[str, dict[str, Any]] = {"by_count": {}, "by_width": {}, "by_length": {}}
    for name, learner in track(LEARNERS.items(), "measuring", transient=True):
        found["by_count"][name] = [cost(learner, n, 20, options.repeats) for n in COUNTS]
        found["by_width"][name] = [cost(learner, 10, width, options.repeats) for width in WIDTHS]
        found["by_length"][name] = list(along(learner, options.longest))
    draw(plot(keep(FIGURES, found)), PICTURE, FIGURES)


if __name__ == "__main__":
    main()
