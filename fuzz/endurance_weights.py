"""Extreme weights of ``endurance.py``: every kind of model, and whether its answers and its file are finite numbers."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import onlineboost
from onlineboost import (
    AdaptiveRegressor,
    FTRLProximal,
    Linear,
    NaiveBayes,
    Newton,
    OnlineBoost,
    OnlineBoostRegressor,
    Perceptron,
    Stump,
    Tree,
)

N, WIDTH = 800, 6
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
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from pairs import CLASS_VOTES, L, make

    for booster, learner in L:
        yield f"{booster} {learner}", lambda booster=booster, learner=learner: make(booster, learner), (2, 5)
    for booster in CLASS_VOTES:
        yield booster, lambda booster=booster: make(booster, ""), (2, 5)
    for learner in (FTRLProximal, Linear, NaiveBayes, Newton, Perceptron, Stump, Tree):
        yield learner.__name__, learner, (2, 5)
    for effort in ("low", "normal", "high"):
        yield f"OnlineBoost {effort}", lambda effort=effort: OnlineBoost(effort, random_state=0), (2, 5)
    yield "OnlineBoostRegressor", lambda: OnlineBoostRegressor(random_state=0), (0,)
    yield "AdaptiveRegressor", lambda: AdaptiveRegressor(), (0,)


def rows(classes: int, rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.normal(size=(N, WIDTH)) * [1, 10, 1e-3, 1e6, 1, 1]
    score = X[:, 0] + 0.3 * rng.normal(size=N)
    if not classes:
        return X, 100 * score
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def wrong(model: Any, X: Any, folder: Path, numbers: bool) -> str:
    """What is wrong with a model: answers or states that are not finite, a file that cannot be loaded."""
    answers = model.predict(X[:200]) if numbers else model.predict_proba(X[:200])
    if not np.isfinite(np.asarray(answers, float)).all():
        return "an answer is not finite"
    node = model._fitted.root.trimmed()
    for name, array in (node.arrays() or {}).items():
        if array.dtype.kind == "f" and not (np.isfinite(array) | (array == np.inf) & ("edges" in name)).all():
            return f"{name} is not finite"
    path = folder / "weights.model"
    model.save(path)
    again = onlineboost.load(path)
    other = again.predict(X[:200]) if numbers else again.predict_proba(X[:200])
    return "" if np.array_equal(other, answers) else "the loaded model answers otherwise"


def class_weights(classes: int) -> list[Any]:
    extremes = [0.0, 1e-300, LARGE, 1.0, 1e9]
    return [dict(enumerate(extremes[:classes])), dict(enumerate(reversed(extremes[:classes]))), "balanced"]


def trials_of(new: Callable[[], Any], classes: int, seed: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """The trials of a model, by name; each returns what is wrong."""
    rng = np.random.default_rng(seed)
    X, y = rows(classes, rng)
    dicts = [{f"x{j}": value for j, value in enumerate(x)} for x in X.tolist()]

    def batch(weight: Any, class_weight: Any = None) -> str:
        model = new()
        if class_weight is not None:
            model.class_weight = class_weight
        return wrong(model.partial_fit(X, y, sample_weight=weight), X, folder, not classes)

    def one_by_one(weight: Any) -> str:
        model = new()
        for x, label, w in zip(dicts[:ONE_BY_ONE], y.tolist(), weight.tolist(), strict=False):
            model.learn_one(x, label, w)
        return wrong(model, dicts, folder, not classes)

    for kind, weigh in WEIGHTS.items():
        weight = weigh(rng)
        yield kind, partial(batch, weight)
        if classes <= 2:
            yield f"{kind}, one by one", partial(one_by_one, weight)
    for given in class_weights(classes) if classes else ():
        yield f"class_weight {given}", partial(batch, WEIGHTS["mixed"](rng), given)


def run_weights(folder: Path) -> tuple[str, str]:
    """Every model with every weight; returns the number of trials and what was found."""
    warnings.simplefilter("ignore")
    n, kinds, problems = 0, 0, []
    for name, new, numbers_of_classes in models():
        kinds += 1
        for classes in numbers_of_classes:
            for kind, act in trials_of(new, classes, kinds, folder):
                n += 1
                try:
                    found = act()
                except Exception as problem:
                    found = f"{type(problem).__name__}: {problem} {traceback.format_exc().splitlines()[-3].strip()}"
                if found:
                    problems.append(f"{name}, {classes} classes, {kind}: {found}")
                    print(f"PROBLEM {problems[-1]}"[:400], flush=True)
        print(f"{name}: {n:,} trials, {len(problems)} problems", flush=True)
    found = "all answers and states finite, all files loaded" if not problems else f"{len(problems)} problems"
    return f"{n:,} trainings of {kinds} kinds of models", found
