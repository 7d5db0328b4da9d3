"""Tables as people have them: text, clicks, money, few positives, written numbers; ours beside other libraries.

Each contender learns train.csv and answers test.csv without its labels, in a process of its own; figures are medians
over the seeds. Processor seconds are those of reading, learning and answering, after a first run on a few rows (warm
the cache before: ``onlineboost warm``); memory is the peak of the process. A table counts only if the rivals land where
they did when it was chosen (``LANDING``).

    pip install lightgbm
    python experiments/tables.py [--only churn,house] [--seeds 5] [--models LightGBM;vw] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, begun, keep, kept, table

FIGURES = FOLDER / "tables.json"
POSITIVE = ("1", "yes")
DEFAULTS = ("OnlineBoost()", "OnlineBoostRegressor()")
OURS = ("OnlineBoost", "Linear")  # names of our contenders begin so
Contender = Callable[[Path], Any]  # from a folder with train and test to the answers to test


def ours(code: str, answers: str = "predict_proba", **reading: Any) -> Contender:
    """A model by its expression; dates have the order that ``onlineboost train`` finds."""

    def run(folder: Path) -> Any:
        import onlineboost
        from onlineboost.cli.dates import find_dates
        from onlineboost.readers import open_stream

        names = {name: getattr(onlineboost, name) for name in onlineboost.__all__}
        model, train = eval(code, names), str(folder / "train.csv")
        schema = dict.fromkeys(("drop", "categorical", "text", "day_first", "month_first"), ()) | reading
        model.fit(open_stream(train, **reading | find_dates([train], {}, schema)))
        found = getattr(model, answers)(open_stream(folder / "test.csv", like=model))
        if answers == "predict_interval":
            return np.column_stack([model.predict(open_stream(folder / "test.csv", like=model)), *found])
        if answers == "predict_proba":
            return found[:, [str(label).lower() in POSITIVE for label in model.classes_]].sum(axis=1)
        return found

    return run


def text_model(folder: Path) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, test = frames(folder)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    return model.fit(train.text, train.label).predict(test.text)


def logistic(folder: Path) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, test = with_days(*frames(folder))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1000))
    return model.fit(train.drop(columns="label"), train.label).predict_proba(test.drop(columns="label"))[:, -1]


def lightgbm(kind: str, answers: str = "predict_proba", log: bool = False, **parameters: Any) -> Contender:
    def run(folder: Path) -> Any:
        import lightgbm
        import pandas as pd

        train, test = with_days(*frames(folder))
        y, both = train.label, pd.concat([train, test]).drop(columns="label")
        for name in both.columns:
            if name == "zip" or not pd.api.types.is_numeric_dtype(both[name]):
                both[name] = both[name].astype("category")
        model = getattr(lightgbm, kind)(n_jobs=1, verbose=-1, **parameters)
        model.fit(both[: len(y)], np.log(y) if log else y)
        found = getattr(model, answers)(both[len(y) :])
        return np.exp(found) if log else found[:, -1] if answers == "predict_proba" else found

    return run


_VW = "--loss_function", "logistic", "-b", "22"


def vw(*options: str) -> Contender:
    def run(folder: Path) -> Any:
        with tempfile.TemporaryDirectory() as place:
            model, found = Path(place) / "model", Path(place) / "answers"
            begin = [sys.executable, "-m", "vowpalwabbit", "--quiet"]
            learn = [
                *begin,
                "--loss_function",
                "logistic",
                "-b",
                "22",
                *options,
                "-d",
                folder / "train.vw",
                "-f",
                model,
            ]
            answer = [*begin, "-t", "-i", model, "--link", "logistic", "-d", folder / "test.vw", "-p", found]
            for command in (learn, answer):
                subprocess.run(command, check=True)
            return np.loadtxt(found)

    return run


def frames(folder: Path) -> tuple[Any, Any]:
    """Both files, without ids."""
    import pandas as pd

    ids = ["customer_id", "listing_id", "ticket"]
    return tuple(pd.read_csv(folder / f"{part}.csv").drop(columns=ids, errors="ignore") for part in ("train", "test"))


def with_days(*parts: Any) -> list[Any]:
    """Dates as numbers of days."""
    import pandas as pd

    found = []
    for part in parts:
        for name, form in (("signup_date", "%d/%m/%Y"), ("last_login", "%Y-%m-%d"), ("sold", "%Y-%m-%d")):
            if name in part:
                part[name] = (pd.to_datetime(part[name], format=form) - pd.Timestamp("2000-01-01")).dt.days
        found.append(part)
    return found


_BITS = "Linear('logistic', bits=22{})"
_CLICKS = {"categorical": ("hour", "position")}
_CELLS = ("date", "discount", "amount")
_PLAIN = tuple(f"{name}_plain" for name in _CELLS)
_NUMBERS = {"task": "number", "categorical": "zip"}
_HOUSES: dict[str, Contender] = {
    "OnlineBoostRegressor()": ours("OnlineBoostRegressor()", "predict_interval", **_NUMBERS),
    "LightGBM": lightgbm("LGBMRegressor", "predict"),
    "LightGBM of the logarithm": lightgbm("LGBMRegressor", "predict", log=True),
}
CONTENDERS: dict[str, dict[str, Contender]] = {
    "tickets": {
        "OnlineBoost()": ours("OnlineBoost(random_state=0)", "predict"),
        "TF-IDF + logistic regression": text_model,
    },
    "clicks": {
        "OnlineBoost('low')": ours("OnlineBoost('low', random_state=0)"),
        "OnlineBoost()": ours("OnlineBoost(random_state=0)"),
        "Linear": ours(_BITS.format(""), **_CLICKS),
        "Linear, device x hour": ours(_BITS.format(", crosses=[('device', 'hour')]"), **_CLICKS),
        "vw": vw(),
        "vw, device x hour": vw("-q", "do"),
    },
    "house": _HOUSES,
    "house in time order": _HOUSES,
    "churn": {
        "OnlineBoost()": ours("OnlineBoost(random_state=0)", drop=("customer_id",)),
        "OnlineBoost(), with the ids": ours("OnlineBoost(random_state=0)"),
        "logistic regression": logistic,
        "LightGBM, small trees": lightgbm("LGBMClassifier", num_leaves=7, learning_rate=0.05, n_estimators=200),
    },
    "cells": {
        "OnlineBoost(), as written": ours("OnlineBoost(random_state=0)", drop=_PLAIN),
        "OnlineBoost(), plain": ours("OnlineBoost(random_state=0)", drop=_CELLS),
    },
    "classes": {
        "OnlineBoost()": ours("OnlineBoost(random_state=0)", "predict"),
        "OnlineBoost('high')": ours("OnlineBoost('high', random_state=0)", "predict"),
        "LightGBM": lightgbm("LGBMClassifier", "predict"),
    },
}
LANDING = {  # figures of rivals, and how far they may be from them
    ("tickets", "TF-IDF + logistic regression", "error"): (0.140, 0.02),
    ("clicks", "vw", "log loss"): (0.1350, 0.003),
    ("clicks", "vw", "AUC"): (0.750, 0.02),
    ("house", "LightGBM", "R2"): (0.880, 0.02),
    ("churn", "logistic regression", "AUC"): (0.736, 0.02),
    ("churn", "LightGBM, small trees", "AUC"): (0.746, 0.02),
}


def scored(name: str, folder: Path, answers: Any) -> dict[str, float]:
    """The figures of a table."""
    import pandas as pd
    from sklearn import metrics

    y = pd.read_csv(folder / "test.csv").label
    if name in ("tickets", "classes"):
        return {"error": float(np.mean(np.asarray(answers).astype(str) != y))}
    if name.startswith("house"):
        middle, *bounds = np.column_stack([answers]).T
        covers = {"coverage": float(np.mean((bounds[0] <= y) & (y <= bounds[1])))} if bounds else {}
        return {"R2": metrics.r2_score(y, middle)} | covers
    positive = y.astype(str).str.lower().isin(POSITIVE)
    return {"log loss": metrics.log_loss(positive, answers), "AUC": metrics.roc_auc_score(positive, answers)}


def run_here(name: str, model: str, folder: Path) -> dict[str, float]:
    """The figures of one contender, in this process."""
    warnings.simplefilter("ignore")
    contender = CONTENDERS[name][model]
    contender(folder / "few")
    before = sum(os.times()[:4])
    answers = contender(folder)
    seconds, memory = sum(os.times()[:4]) - before, peak() if model[:2] != "vw" else peak_of_children()
    return scored(name, folder, answers) | {"seconds": seconds, "MB": memory}


def peak() -> float:
    """Megabytes of this process at most; unlike ``getrusage``, without those of the process that began it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def peak_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def run_there(name: str, model: str, folder: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--run", name, model, folder], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}, {model}: {done.stderr.strip()[-500:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def astray(found: dict[str, Any]) -> list[str]:
    """Rivals that do not land where they did."""
    problems = []
    for (name, model, figure), (expected, most) in LANDING.items():
        here = found.get(name, {}).get(model)
        if here is not None and abs(here[figure] - expected) > most:
            problems.append(f"{name}, {model}: {figure} {here[figure]:.4f}, expected {expected} +- {most}")
    return problems


def blocks() -> dict[str, str]:
    """A table of figures for each table."""
    found = kept(FIGURES)
    made = {}
    for name, models in found.items():
        figures = list(next(iter(models.values())))
        rows = [[model, *(shown(one.get(figure), figure) for figure in figures)] for model, one in models.items()]
        made[name] = table(["model", *figures], rows)
    return made | {"losses": losses(found)}


def losses(found: dict[str, Any]) -> str:
    """Contenders of other libraries with a better figure, less time or less memory than the default."""
    rows = []
    for name, models in found.items():
        theirs = [(model, one) for model, one in models.items() if not model.startswith(OURS)]
        ours = next((models[model] for model in DEFAULTS if model in models), None)
        if ours is None or not theirs:
            continue
        figure = next(iter(ours))
        better = [one for one in theirs if (one[1][figure] - ours[figure]) * (1 if figure == "R2" else -1) > 0]
        cells = [f"{figure} {shown(ours[figure], figure)}", naming(better, figure)]
        for cost in ("seconds", "MB"):
            cells += [shown(ours[cost], cost), naming([one for one in theirs if one[1][cost] < ours[cost]], cost)]
        rows.append([name, *cells])
    return table(["table", "ours", "better", "seconds, ours", "fewer", "MB, ours", "less"], rows, words=7)


def naming(runs: list[tuple[str, dict[str, float]]], figure: str) -> str:
    return "; ".join(f"{model}: {shown(one[figure], figure)}" for model, one in runs) or "none"


def shown(value: float | None, figure: str) -> str:
    form = {"seconds": ",.1f", "MB": ",.0f", "log loss": ".4f", "seeds": ".0f"}.get(figure, ".3f")
    return "-" if value is None else f"{value:{form}}"


def measure(name: str, models: list[str], seeds: int, folder: Path) -> dict[str, dict[str, float]]:
    """The medians of each contender over the seeds."""
    from tables_made import write  # with pandas: memory of a process that contenders' begin as

    runs: dict[str, list[dict[str, float]]] = {model: [] for model in models}
    for seed in range(seeds):
        place = folder / f"{name}-{seed}"
        if not (place / "test.csv").exists():
            write(name, seed, place)
        for model, figures in runs.items():
            figures.append(run_there(name, model, place))
            told = ", ".join(f"{figure} {shown(value, figure)}" for figure, value in figures[-1].items())
            print(f"{name} {seed + 1}/{seeds}, {model}: {told}", flush=True)
    medians = {}
    for model, found in runs.items():
        medians[model] = {figure: statistics.median(one[figure] for one in found) for figure in found[0]}
        medians[model]["seeds"] = seeds
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CONTENDERS), help="tables, separated by commas")
    parser.add_argument("--models", help="contenders, separated by ; (default: all)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the tables are written, and found again (default: none)")
    parser.add_argument("--run", nargs=3, metavar=("TABLE", "MODEL", "FOLDER"), help="one contender, in this process")
    options = parser.parse_args()
    if options.run:
        name, model, folder = options.run
        print(json.dumps(run_here(name, model, Path(folder))))
        return
    part = bool(options.models) or options.only != ",".join(CONTENDERS)
    found = kept(FIGURES) if part else begun(FIGURES)
    with tempfile.TemporaryDirectory() as made:
        for name in options.only.split(","):
            models = [one for one in CONTENDERS[name] if not options.models or one in options.models.split(";")]
            measured = measure(name, models, options.seeds, options.folder or Path(made))
            found[name] = {one: measured.get(one, found.get(name, {}).get(one)) for one in CONTENDERS[name]}
            found[name] = {one: figures for one, figures in found[name].items() if figures}
            keep(FIGURES, found, part=part)
    for problem in astray(found):
        print(f"does not count: {problem}", flush=True)


if __name__ == "__main__":
    main()
