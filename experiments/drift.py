"""Gain from adapting on a stream that changes, and its cost on streams that do not.

Progressive 0-1 error in one pass; writes docs/drift.md and docs/drift.svg.

    python experiments/drift.py [--data ../shared/data] [--rows 50000]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from rich.progress import Progress
from standardize import load_all, shuffled

from onlineboost import (
    AdaBoostOL,
    Adaptive,
    Linear,
    OnlineBBM,
    OnlineBoost,
    OnlineClassifier,
    SafeBoost,
    Tree,
    datasets,
)
from onlineboost.data.batch import Batch, Floats, joined
from onlineboost.data.target import Binary
from onlineboost.readers import open_stream

PAGE, PICTURE = Path("docs/drift.md"), Path("docs/drift.svg")
MODELS: dict[str, OnlineClassifier] = {
    "SafeBoost, linear": SafeBoost(Linear(standardize=True), 30, random_state=0),
    "SafeBoost, Tree(5)": SafeBoost(Tree(5), 30, random_state=0),
    "Online BBM, Tree(5)": OnlineBBM(Tree(5), 21, random_state=0),
    "AdaBoost.OL, Tree(5)": AdaBoostOL(Tree(5), 21, random_state=0),
}
RESETS = ("none", "learners", "all")


def variants(model: OnlineClassifier) -> dict[str, OnlineClassifier]:
    return {"alone": model.clone(), **{reset: Adaptive(model.clone(), reset=reset) for reset in RESETS}}


def run(model: OnlineClassifier, stream: Batch) -> tuple[Floats, float]:
    """Mistakes by example, and seconds per example."""
    model.clone().progressive_fit(stream._replace(y=-stream.y))  # compiles and warms up
    start = time.perf_counter()
    scores = model.progressive_fit(stream)
    seconds = time.perf_counter() - start
    return Binary.mistakes(scores, stream.y).astype(float), seconds / stream.y.size


def changing(stream: Batch) -> tuple[list[str], dict[str, Floats], list[int]]:
    """A table for a stream that changes; the mistakes of the first model's variants, and its alarms."""
    lines = ["| model | alone | " + " | ".join(f'reset="{r}"' for r in RESETS) + " | alarms | time, all / alone |"]
    lines.append("| --- |" + " ---: |" * 6)
    shown, alarms = {}, []
    for name, model in MODELS.items():
        made = variants(model)
        found = {key: run(variant, stream) for key, variant in made.items()}
        whole = made["all"]
        assert isinstance(whole, Adaptive)
        if not shown:
            shown, alarms = {key: mistakes for key, (mistakes, _) in found.items()}, [a.example for a in whole.alarms_]
        cells = " | ".join(f"{mistakes.mean():.4f}" for mistakes, _ in found.values())
        lines.append(f"| {name} | {cells} | {whole.n_alarms_} | {found['all'][1] / found['alone'][1]:.2f} |")
    default = OnlineBoost(random_state=0)
    shown["default"], _ = run(default, stream)
    lines.append(f"| **OnlineBoost** | **{shown['default'].mean():.4f}** | | | | {default.n_alarms_} | |")
    return lines, shown, alarms


def stationary(streams: dict[str, Batch], progress: Progress) -> list[str]:
    """A table of the change of error on streams that do not change."""
    lines = ["| set | model | alone | " + " | ".join(f'reset="{r}"' for r in RESETS) + " |"]
    lines.append("| --- | --- |" + " ---: |" * 4)
    worst = dict.fromkeys(RESETS, -np.inf)
    task = progress.add_task("shuffled sets", total=len(streams))
    for name, stream in streams.items():
        for kind in ("SafeBoost, linear", "Online BBM, Tree(5)"):
            errors = {key: run(variant, stream)[0].mean() for key, variant in variants(MODELS[kind]).items()}
            costs = {reset: errors[reset] - errors["alone"] for reset in RESETS}
            worst = {reset: max(worst[reset], costs[reset]) for reset in RESETS}
            lines.append(
                f"| {name} | {kind} | {errors['alone']:.4f} | " + " | ".join(f"{c:+.4f}" for c in costs.values()) + " |"
            )
        progress.advance(task)
    return [*lines, "| **worst** | | | " + " | ".join(f"**{cost:+.4f}**" for cost in worst.values()) + " |"]


def draw(mistakes: dict[str, Floats], alarms: list[int], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "onlineboost"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 3.5), layout="constrained")
    window = np.ones(1000) / 1000
    for name, label in (("alone", "SafeBoost"), ("all", "Adaptive(SafeBoost)"), ("default", "OnlineBoost")):
        line = np.convolve(mistakes[name], window, "valid")[::100]
        axes.plot(1000 + 100 * np.arange(len(line)), line, label=label)
    for alarm in alarms:
        axes.axvline(alarm, color="0.7", lw=0.8, zorder=0)
    axes.set(xlabel="examples (grey: alarms)", ylabel="error of the last 1,000", ylim=(0, None), title="elec")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    elec = joined([page.batch for page in open_stream(datasets.find("elec", options.data))])
    with Progress(transient=True) as progress:
        task = progress.add_task("elec", total=None)
        table, mistakes, alarms = changing(elec)
        progress.update(task, total=1, completed=1)
        sets = {name: shuffled(whole, options.rows, seed=0) for name, whole in load_all(options.data).items()}
        costs = stationary(sets, progress)
    draw(mistakes, alarms, PICTURE)
    text = "\n".join([INTRODUCTION, *table, THEN.replace("ROWS", f"{options.rows:,}"), *costs, ""])
    PAGE.write_text(text)
    print(text)


INTRODUCTION = """# Streams that change

Made by `python experiments/drift.py`. The default, `OnlineBoost()`, follows changes by itself: linear parts with high
learning rates, trees that start over when ADWIN finds that their error has risen, and a stack that forgets. To put any
other model on a stream that changes, `Adaptive(model)` stacks it with a fast learner; the model starts over
(`reset="all"`), or single weak learners do (`reset="learners"`):

```python
from onlineboost import Adaptive, OnlineBoost, SafeBoost, Tree

model = OnlineBoost(on_drift=print)  # Alarm(example=10048, learner=None)
model = Adaptive(SafeBoost(Tree(5)), on_drift=print)
```

On the command line, `onlineboost train stream.csv --label up` prints a line when a part starts over; `--adaptive` with
`-a` or `--learner` gives `Adaptive` of that model.

## A stream that changes

elec: 45,312 half hours of an electricity market, in time order. The label is whether the price goes up, the features
are six numbers, none of them a past label. Progressive 0-1 error:
"""

THEN = """
Most of the gain comes from the fast learner: prices go up or down for hours, and a learning rate of 32 follows them.

![error over time](drift.svg)

## Streams that do not change

The sets of the paper, shuffled, at most ROWS rows. The error of the model alone, and the change of error by adapting:
"""


if __name__ == "__main__":
    main()
