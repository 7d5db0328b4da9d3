"""Time per example: by the number of learners, the number of features, and the length of the stream.

One core, dense generated rows, so that only that number changes; the stream is learnt a batch at a time, as from a
file. Writes docs/cost.md and docs/cost.svg.

    python benchmarks/cost.py [--longest 10000000] [--repeats 5] [--publish]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from onlineboost import Linear, OnlineBBM, Stump, Tree

PAGE, PLOT = Path("docs/cost.md"), Path("docs/cost.svg")
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
        began = time.perf_counter()
        model.partial_fit(X, y)
        times.append(time.perf_counter() - began)
    return statistics.median(times) / PART * 1e6


def along(learner: Any, longest: int) -> Iterator[tuple[int, float, float]]:
    """Examples so far, microseconds each since the last point, megabytes of the process."""
    model = OnlineBBM(learner.clone(), 10, random_state=0).partial_fit(*rows(0, PART, 20))
    parts = [rows(number, PART, 20) for number in range(100)]  # a million rows, over and over
    points = [m * 10**k for k in range(4, 10) for m in (2, 5, 10) if m * 10**k <= longest]
    seen, last = PART, PART
    for point in points:
        began = time.perf_counter()
        while seen < point:
            model.partial_fit(*parts[seen // PART % 100])
            seen += PART
        spent = time.perf_counter() - began
        yield seen, spent / (seen - last) * 1e6, memory()
        last = seen


def memory() -> float:
    """Megabytes of the process, including the rows it learns from."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def draw(by_count: Any, by_width: Any, by_length: Any) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    for name in LEARNERS:
        axes[0].plot(COUNTS, by_count[name], "o-", label=name)
        axes[1].plot(WIDTHS, by_width[name], "o-", label=name)
        axes[2].plot([p[0] for p in by_length[name]], [p[1] for p in by_length[name]], "o-", label=name)
    for axis, label in zip(axes, ("learners (20 features)", "features (10 learners)", "examples seen"), strict=True):
        axis.set(xlabel=label, ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[2].set_xscale("log")
    axes[0].set_ylabel("microseconds per example, one core")
    axes[0].legend()
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--publish", action="store_true", help="write docs/cost.md and docs/cost.svg")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    by_count: dict[str, list[float]] = {name: [] for name in LEARNERS}
    by_width: dict[str, list[float]] = {name: [] for name in LEARNERS}
    by_length: dict[str, list[tuple[int, float, float]]] = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=len(LEARNERS) * (len(COUNTS) + len(WIDTHS) + 5))
        for name, learner in LEARNERS.items():
            for n in COUNTS:
                by_count[name].append(cost(learner, n, 20, options.repeats))
                progress.advance(task)
            for width in WIDTHS:
                by_width[name].append(cost(learner, 10, width, options.repeats))
                progress.advance(task)
            by_length[name] = list(along(learner, options.longest))
            progress.advance(task, 5)
    lines = [
        "# Time per example",
        "",
        "Made by `python benchmarks/cost.py --publish`: microseconds per example, Online BBM, one core, dense rows.",
        "",
        "![cost](cost.svg)",
        "",
        "| learners, 20 features | " + " | ".join(map(str, COUNTS)) + " |",
        "| --- |" + " ---: |" * len(COUNTS),
        *(f"| {name} | {' | '.join(f'{c:.2f}' for c in by_count[name])} |" for name in LEARNERS),
        "",
        "| features, 10 learners | " + " | ".join(map(str, WIDTHS)) + " |",
        "| --- |" + " ---: |" * len(WIDTHS),
        *(f"| {name} | {' | '.join(f'{c:.2f}' for c in by_width[name])} |" for name in LEARNERS),
        "",
        "| examples learnt | " + " | ".join(f"{point[0]:,}" for point in by_length["Linear()"]) + " |",
        "| --- |" + " ---: |" * len(by_length["Linear()"]),
        *(f"| {name} | {' | '.join(f'{p[1]:.2f}' for p in by_length[name])} |" for name in LEARNERS),
        *(f"| {name}, process, MB | {' | '.join(f'{p[2]:.0f}' for p in by_length[name])} |" for name in LEARNERS),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.publish:
        PAGE.write_text(text)
        draw(by_count, by_width, by_length)


if __name__ == "__main__":
    main()
