"""The protocol: the paper's six algorithms, their variants, and the configurations of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.adaboost_ol import AdaBoostOL
from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.osboost import OSBoost
from onlineboost.boosters.osboost_ocp import OSBoostOCP
from onlineboost.boosters.safe import SafeBoost
from onlineboost.classifier import OnlineClassifier
from onlineboost.learners.linear import Linear
from onlineboost.learners.tree import Tree
from onlineboost.registry import BOOSTERS

LARGE = 200_000  # examples; larger sets get fewer configurations

ALGORITHMS = ("bbm", "adaboost-ol", "adaboost-ol-s", "osboost-ocp", "osboost")  # as the paper orders them
FAMILIES = {"baseline": "baseline", **{name: BOOSTERS.find(name).title for name in (*ALGORITHMS, "safe")}}
SETTINGS = {
    "paper": "the paper's pseudo-code: hard votes, importance weights, a coin of 1/2 + gamma/2, a random expert",
    "vw": "the authors' Vowpal Wabbit variants: real votes, weights that are not normalized, a coin of 1/2 + gamma; "
    "AdaBoost.OL answers with its last expert, AdaBoost.OL.S with a random one and with weights instead of sampling, "
    "OSBoost.OCP doubles z",
    "vw itself": "the program vw, with the parameters chosen for its variants; it draws random experts in another way",
    "trees": "the paper's algorithms over trees",
    "linear": "standardized linear learners, nothing tuned",
}


class Task(NamedTuple):
    """A cell of the table: a variant of an algorithm, and its configurations."""

    family: str
    setting: str
    models: list[OnlineClassifier]


class Grid(NamedTuple):
    rates: list[float]  # of the baseline alone
    rates_and_n: tuple[list[float], list[int]]  # AdaBoost.OL
    rates_n_gammas: tuple[list[float], list[int], list[float]]  # algorithms with gamma
    tree_depths: list[int]
    tree_gammas: list[float]


def _spread(low: float, high: float, n: int) -> list[float]:
    """Numbers at equal ratios, rounded to three digits."""
    return [float(f"{rate:.3g}") for rate in np.geomspace(low, high, n)]


SMALL_SETS = Grid(
    _spread(0.01, 64, 400),
    (_spread(0.02, 32, 20), [*range(1, 11), 13, 15, 18, 21, 25, 31, 37, 45, 53, 61]),
    (
        [0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0],
        [3, 5, 11, 21, 41],
        [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4],
    ),
    [3, 5, 8],
    [0.05, 0.1, 0.2],
)
LARGE_SETS = Grid(
    _spread(0.01, 64, 64),
    (_spread(0.02, 32, 8), [3, 5, 11, 21, 31, 41, 51, 61]),
    ([0.1, 0.5, 2.0, 8.0], [5, 21, 41, 61], [0.02, 0.1, 0.2, 0.4]),
    [5, 8],
    [0.05, 0.1, 0.2],
)
QUICK = Grid(
    _spread(0.05, 8, 8),
    (_spread(0.05, 8, 4), [5, 21, 61]),
    ([0.1, 0.5, 2.0], [5, 21, 61], [0.05, 0.1, 0.3]),
    [5],
    [0.1],
)


def tasks(examples: int, quick: bool, seed: int) -> list[Task]:
    """All cells of a set with this number of examples."""
    grid = QUICK if quick else SMALL_SETS if examples < LARGE else LARGE_SETS
    rates, (ol_rates, ol_sizes) = grid.rates, grid.rates_and_n
    found = [Task("baseline", "paper", [Linear(learning_rate=rate) for rate in rates])]
    for setting in ("paper", "vw"):
        for family in ALGORITHMS:
            make = _LINEAR[family, setting]
            choices: Any = product(ol_rates, ol_sizes) if not _has_gamma(family) else product(*grid.rates_n_gammas)
            models = [make(Linear(learning_rate=rate), *rest, random_state=seed) for rate, *rest in choices]
            found.append(Task(family, setting, models))
    trees = [Tree(depth) for depth in grid.tree_depths]
    found.append(Task("baseline", "trees", list(trees)))
    for family in ALGORITHMS:
        gammas = [()] if not _has_gamma(family) else [(gamma,) for gamma in grid.tree_gammas]
        make = _TREES[family]
        models = [make(tree.clone(), 21, *gamma, random_state=seed) for tree, gamma in product(trees, gammas)]
        found.append(Task(family, "trees", models))
    found.append(Task("safe", "linear", [SafeBoost(Linear(standardize=True), random_state=seed)]))
    found.append(Task("safe", "trees", [SafeBoost(tree.clone(), random_state=seed) for tree in trees]))
    return found


def _has_gamma(family: str) -> bool:
    return any(option.parameter == "gamma" for option in BOOSTERS.find(family).options)


def _paper_bbm(learner: Any, n: int, gamma: float, **options: Any) -> OnlineClassifier:
    return OnlineBBM(learner, n, gamma, coin=0.5 + gamma / 2, delivery="weight", **options)


_LINEAR: dict[tuple[str, str], Callable[..., OnlineClassifier]] = {
    ("bbm", "paper"): _paper_bbm,
    ("bbm", "vw"): partial(OnlineBBM, votes="real", normalizer="none", delivery="weight"),
    ("adaboost-ol", "paper"): partial(AdaBoostOL, delivery="weight", expert="random"),
    ("adaboost-ol", "vw"): partial(AdaBoostOL, delivery="weight", expert="last", votes="real"),
    ("adaboost-ol-s", "paper"): partial(AdaBoostOL, delivery="sample", expert="random"),
    ("adaboost-ol-s", "vw"): partial(AdaBoostOL, delivery="weight", expert="random", votes="real"),
    ("osboost-ocp", "paper"): partial(OSBoostOCP, delivery="weight"),
    ("osboost-ocp", "vw"): partial(OSBoostOCP, delivery="weight", votes="real", as_authors=True),
    ("osboost", "paper"): partial(OSBoost, delivery="weight"),
    ("osboost", "vw"): partial(OSBoost, delivery="weight", votes="real"),
}
_TREES: dict[str, Callable[..., OnlineClassifier]] = {
    "bbm": OnlineBBM,
    "adaboost-ol": partial(AdaBoostOL, delivery="weight"),
    "adaboost-ol-s": partial(AdaBoostOL, delivery="sample"),
    "osboost-ocp": OSBoostOCP,
    "osboost": OSBoost,
}
