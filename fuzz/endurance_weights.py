"""Extreme weights of ``endurance.py``: every kind of model, and whether its answers and its file are finite numbers."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from pairs import CLASS_VOTES, L, make

import onlineboost
from onlineboost import (
    AdaptiveRegressor,
    Linear,
    NaiveBayes,
    Newton,
    OnlineBoost,
    OnlineBoostRegressor,
    Perceptron,
    Stump,
    Tree,
)

N, WIDTH = 800, 5
ONE_BY_ONE = 300
LARGE = 1e18
WEIGHTS: dict[str, Callable[[np.random.Generator], Any]] = {
    "all 0": lambda rng: np.zeros(N),
    "all 1e-300": lambda rng: np.full(N, 1e-300),
    "all 1e18": lambda rng: np.full(N, LARGE),
    "small, then large": lambda rng: np.where(np.arange(N) < N // 2, 1e-300, LARGE),
    "large, then small": lambda rng: np.where(np.arange(N) < N // 2, LARGE, 1e-300),
    "mixed": lambda rng: rng.choice([0.0, 1e-300, 1e-30, 1.0, 1e9, LARGE], N),
    "one large": lambda rng: np.where(np.arange(N) == N // 3, LARGE, 1.0),
    "by size": lambda rng: 10.0 ** rng.uniform(-300, 18, N),
}


def models() -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
    """Name, maker, and the numbers of classes to try; 0: numbers."""
    for booster, learner in L:
        yield f"{booster} {learner}", lambda booster=booster, learner=learner: make(booster, learner), (2, 5)
    for booster in CLASS_VOTES:
        yield booster, lambda booster=booster: make(booster, ""), (2, 5)
    for learner in (Linear, NaiveBayes, Newton, Perceptron, Stump, Tree):
        yield learner.__name__, learner, (2, 5)
    for effort in ("low", "normal", "high"):
        yield f"OnlineBoost {effort}", lambda effort=effort: OnlineBoost(effort, random_state=0), (2, 5)
    yield "OnlineBoostRegressor", lambda: OnlineBoostRegressor(random_state=0), (0,)
    yield "AdaptiveRegressor", lambda: AdaptiveRegressor(), (0,)


def rows(classes: int, rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.normal(size=(N, WIDTH)) * [1, 10, 1e-3, 1e6, 1]
    score = X[:, 0] + 0.3 * rng.normal(size=N)
    if not classes:
        return X, 100 * score
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def wrong(model: Any, X: Any, folder: Path, numbers: bool) -> str:
    """What is wrong with a model: answers or states that are not finite, a file that cannot be loaded."""
    answers = model.predict(X[:200]) if numbers else model.predict_proba(X[:200])
    if not np.isfinite(np.asarray(answers, float)).all():
        return "an answer is not finite"
    machine = model.fitted.machine.trimmed()
    for name, array in (machine.arrays() or {}).items():
        if array.dtype.kind == "f" and not (np.isfinite(array) | (array == np.inf) & ("edges" in name)).all():
            return f"{name} is not finite"
    path = folder / "weights.model"
    model.save(path)
    again = onlineboost.load(path)
    other = again.predict(X[:200]) if numbers else again.predict_proba(X[:200])
    return "" if np.array_equal(other, answers) else "the loaded model answers otherwise"


def learn_one_by_one(model: Any, rows: Any, y: Any, weight: Any) -> None:
    for x, label, w in zip(rows[:ONE_BY_ONE], y.tolist(), weight.tolist(), strict=False):
        model.learn_one(x, label, w)


def class_weights(classes: int) -> list[Any]:
    extremes = [0.0, 1e-300, LARGE, 1.0, 1e9]
    return [dict(enumerate(extremes[:classes])), dict(enumerate(reversed(extremes[:classes]))), "balanced"]


def run_weights(folder: Path) -> tuple[str, str]:
    """Every model with every weight; returns the number of trials and what was found."""
    warnings.simplefilter("ignore")
    n, kinds, problems = 0, 0, []

    def trial(name: str, act: Callable[[], str]) -> None:
        nonlocal n
        n += 1
        try:
            found = act()
        except Exception as problem:
            found = f"{type(problem).__name__}: {problem} {traceback.format_exc().splitlines()[-3].strip()}"
        if found:
            problems.append(f"{name}: {found}")
            print(f"PROBLEM {problems[-1]}"[:400], flush=True)

    for name, new, numbers_of_classes in models():
        kinds += 1
        for classes in numbers_of_classes:
            rng = np.random.default_rng(kinds)
            X, y = rows(classes, rng)
            dicts = [{f"x{j}": value for j, value in enumerate(x)} for x in X.tolist()]
            for kind, weigh in WEIGHTS.items():
                weight = weigh(rng)

                def act(weight: Any = weight) -> str:
                    model = new().partial_fit(X, y, sample_weight=weight)
                    return wrong(model, X, folder, not classes)

                def act_one_by_one(weight: Any = weight) -> str:
                    model = new()
                    learn_one_by_one(model, dicts, y, weight)
                    return wrong(model, dicts, folder, not classes)

                trial(f"{name}, {classes} classes, {kind}", act)
                if classes <= 2:
                    trial(f"{name}, {classes} classes, {kind}, one by one", act_one_by_one)
            for given in class_weights(classes) if classes else ():

                def act_by_class(given: Any = given) -> str:
                    model = new()
                    model.class_weight = given
                    model.partial_fit(X, y, sample_weight=WEIGHTS["mixed"](rng))
                    return wrong(model, X, folder, False)

                trial(f"{name}, {classes} classes, class_weight {given}", act_by_class)
        print(f"{name}: {n:,} trials, {len(problems)} problems", flush=True)
    found = "all answers and states finite, all files loaded" if not problems else f"{len(problems)} problems"
    return f"{n:,} trainings of {kinds} kinds of models", found
