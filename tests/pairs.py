"""Boosters and learners of the tests: an L of pairs, not their product, since each pair is compiled by itself.

Every booster meets two learners and every learner two boosters; a few pairs more were drawn once.
"""

from __future__ import annotations

import pickle

from river.naive_bayes import GaussianNB
from sklearn.linear_model import SGDClassifier

from onlineboost import (
    AdaBoostOL,
    AdaBoostOLPlus,
    Adaptive,
    Copies,
    DefensiveBoost,
    Linear,
    NaiveBayes,
    OnlineBBM,
    OSBoost,
    OSBoostOCP,
    Perceptron,
    PotentialBoost,
    SafeBoost,
    Stump,
    Tree,
)
from onlineboost.engine.machine import CompiledMachine

BOOSTERS = {
    "bbm": OnlineBBM,
    "bbm-stack": lambda *a, **k: OnlineBBM(*a, head="stack", **k),
    "plus": AdaBoostOLPlus,
    "safe": lambda learner, n, **k: SafeBoost(learner, 3 * n, **k),  # groups of more than one or two
    "defensive": DefensiveBoost,
    "potential": lambda *a, **k: PotentialBoost(*a, terminal="logistic", **k),
    "adaboost": AdaBoostOL,
    "adaboost-random": lambda *a, **k: AdaBoostOL(*a, expert="random", **k),
    "osboost": OSBoost,
    "ocp": OSBoostOCP,
    "adaptive": lambda *a, **k: Adaptive(OnlineBBM(*a, **k), delta=0.9),
    "adaptive-learners": lambda *a, **k: Adaptive(OnlineBBM(*a, **k), reset="learners", delta=0.9),
}
COMPILED = {
    "linear": Linear,
    "logistic": lambda: Linear("logistic", learning_rate=0.1, power_t=0.3),
    "standardized": lambda: Linear(standardize=True),
    "binned": lambda: Linear(bins=8, crosses=[(0, 1), (2, 5)], bits=6),
    "crossed": lambda: Linear(standardize=True, crosses=True, bits=8),
    "bayes": lambda: NaiveBayes(bins=8, max_slots=16),
    "perceptron": Perceptron,
    "stump": lambda: Stump(grace=8, max_slots=16),
    "tree": lambda: Tree(3, grace=8, tie=0.3, max_slots=16),
}
OBJECTS = {
    "copies": lambda: Copies(Linear()),
    "river": GaussianNB,
    "sklearn": lambda: SGDClassifier(loss="log_loss", random_state=0),
}

_DRAWN = [("adaboost-random", "stump"), ("adaptive-learners", "bayes"), ("ocp", "perceptron"), ("plus", "crossed")]
L = list(
    dict.fromkeys(
        [(booster, learner) for booster in BOOSTERS for learner in ("linear", "tree")]
        + [(booster, learner) for learner in COMPILED for booster in ("bbm", "safe")]
        + _DRAWN
    )
)
WITH_OBJECTS = [*L, *(("bbm", learner) for learner in OBJECTS)]


def make(booster: str, learner: str, delivery: str = "auto", n: int = 5):
    return BOOSTERS[booster]((COMPILED | OBJECTS)[learner](), n, delivery=delivery, random_state=3)


def everything(model) -> bytes:
    """All that affects the next update, as bytes."""
    machine = model.fitted.machine.trimmed()
    parts = [str(model.classes_.tolist()).encode(), str(model.n_features_in_).encode()]
    states = [machine.state, machine.windows] if isinstance(model, Adaptive) else []
    for one in (machine.model, machine.fast) if isinstance(model, Adaptive) else (machine,):
        states += [one.committee, one.booster, one.head, one.record]
        states += [one.watch, *one.transforms, one.slots, one.kept] if isinstance(one, CompiledMachine) else []
    while states:
        state = states.pop()
        if isinstance(state, tuple) and hasattr(state, "_fields"):
            states += state
        else:
            parts.append(pickle.dumps(state))
    return b"|".join(parts)
