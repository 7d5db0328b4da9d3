"""Gain from adapting on a stream that changes, and its cost on streams that do not.

Progressive 0-1 error in one pass; writes docs/drift.svg too.

    python experiments/drift.py [--data FOLDER] [--rows 50000]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track
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
from onlineboost.data.classes import Classes
from onlineboost.readers import open_stream

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, ROOT, add_data, draw, keep, kept, table

FIGURES, PICTURE = FOLDER / "drift.json", ROOT / "docs/drift.svg"
MODELS: dict[str, OnlineClassifier] = {
    "SafeBoost, linear": SafeBoost(Linear(standardize=True), 30, random_state=0),
    "SafeBoost, Tree(5)": SafeBoost(Tree(5), 30, random_state=0),
    "Online BBM, Tree(5)": OnlineBBM(Tree(5), 21, random_state=0),
    "AdaBoost.OL, Tree(5)": AdaBoostOL(Tree(5), 21, random_state=0),
}
RESETS = ("none", "learners", "all")
STILL = ("SafeBoost, linear", "Online BBM, Tree(5)")
SHOWN = {"alone": "SafeBoost", "all": "Adaptive(SafeBoost)", "default": "OnlineBoost"}
WINDOW, STEP = 1000, 100


def variants(model: OnlineClassifier) -> dict[str, OnlineClassifier]:
    return {"alone": model.clone(), **{reset: Adaptive(model.clone(), reset=reset) for reset in RESETS}}


def run(model: OnlineClassifier, stream: Batch) -> Floats:
    """Mistakes by example."""
    return Classes.mistakes(model.progressive_fit(stream), stream.y).astype(float)


def changing(stream: Batch) -> dict[str, Any]:
    """Errors, alarms and processor time on a stream that changes; the curves and alarms of the first model."""
    models: dict[str, Any] = {}
    curves: dict[str, Floats] = {}
    alarms: list[int] = []
    for name, model in MODELS.items():
        errors, seconds = {}, {}
        made = variants(model)
        for key, variant in made.items():
            variant.clone().progressive_fit(stream._replace(y=1 - stream.y))  # compiles and warms up
            began = time.process_time()
            mistakes = run(variant, stream)
            seconds[key] = time.process_time() - began
            errors[key] = mistakes.mean()
            if name == "SafeBoost, linear":
                curves[key] = mistakes
        whole = made["all"]
        assert isinstance(whole, Adaptive)
        alarms = alarms or [alarm.example for alarm in whole.alarms_]
        models[name] = {"errors": errors, "alarms": whole.n_alarms_, "time": seconds["all"] / seconds["alone"]}
    default = OnlineBoost(random_state=0)
    curves["default"] = run(default, stream)
    window = np.ones(WINDOW) / WINDOW
    drawn = {key: np.convolve(curves[key], window, "valid")[::STEP].round(4).tolist() for key in SHOWN}
    best = {"error": curves["default"].mean(), "alarms": default.n_alarms_}
    return {"models": models, "default": best, "last": unchanged(stream.y), "curves": drawn, "alarms": alarms}


def unchanged(y: Floats) -> float:
    """The error of repeating the last label."""
    return float(np.mean(np.concatenate([[-1.0], y[:-1]]) != y))


def stationary(streams: dict[str, Batch]) -> dict[str, Any]:
    """Errors on streams that do not change."""
    found: dict[str, Any] = {}
    for name, stream in track(streams.items(), "shuffled sets", transient=True):
        kinds = {kind: variants(MODELS[kind]) for kind in STILL}
        found[name] = {kind: {key: run(m, stream).mean() for key, m in made.items()} for kind, made in kinds.items()}
    return found


def plot(found: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    axes = figure.subplots()
    for key, label in SHOWN.items():
        line = found["curves"][key]
        axes.plot(WINDOW + STEP * np.arange(len(line)), line, label=label)
    for alarm in found["alarms"]:
        axes.axvline(alarm, color="0.7", lw=0.8, zorder=0)
    axes.set(xlabel="examples (gray: alarms)", ylabel="error of the last 1,000", ylim=(0, None), title="elec")
    axes.legend(frameon=False)
    return figure


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    resets = [f'reset="{reset}"' for reset in RESETS]
    rows = []
    for name, one in found["elec"]["models"].items():
        errors = (f"{error:.4f}" for error in one["errors"].values())
        rows.append([name, *errors, str(one["alarms"]), f"{one['time']:.2f}"])
    default = found["elec"]["default"]
    rows.append(["**OnlineBoost**", f"**{default['error']:.4f}**", "", "", "", str(default["alarms"]), ""])
    rows.append(["no change", f"{found['elec']['last']:.4f}", "", "", "", "", ""])
    costs, worst = [], dict.fromkeys(RESETS, -np.inf)
    for name, kinds in found["sets"].items():
        for kind, errors in kinds.items():
            cost = {reset: errors[reset] - errors["alone"] for reset in RESETS}
            worst = {reset: max(worst[reset], cost[reset]) for reset in RESETS}
            costs.append([name, kind, f"{errors['alone']:.4f}", *(f"{c:+.4f}" for c in cost.values())])
    costs.append(["**worst**", "", "", *(f"**{cost:+.4f}**" for cost in worst.values())])
    return {
        "changing": table(["model", "alone", *resets, "alarms", "time, all / alone"], rows),
        "still": table(["set", "model", "alone", *resets], costs, words=2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    elec = joined([page.batch for page in open_stream(datasets.find("elec", options.data))])
    sets = {name: shuffled(whole, options.rows, seed=0) for name, whole in load_all(options.data).items()}
    found = keep(FIGURES, {"elec": changing(elec), "sets": stationary(sets)})
    draw(plot(found["elec"]), PICTURE, FIGURES)


if __name__ == "__main__":
    main()
