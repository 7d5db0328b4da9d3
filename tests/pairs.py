"""Boosters and learners of the tests: an L of pairs, not their product, since each pair is compiled by itself.

Every booster meets `Linear`, every learner meets Online BBM, and there are some pairs more.
"""

from __future__ import annotations

import pickle

from river.naive_bayes import GaussianNB
from sklearn.linear_model import SGDClassifier

from onlineboost import (
    AdaBoostOL,
    AdaBoostOLM,
    AdaBoostOLPlus,
    Adaptive,
    BatchBoost,
    ClassTree,
    Copies,
    DefensiveBoost,
    FTRLProximal,
    Linear,
    NaiveBayes,
    Newton,
    OnlineBBM,
    OnlineMBBM,
    OSBoost,
    OSBoostOCP,
    Perceptron,
    PotentialBoost,
    SafeBoost,
    StackedEnsemble,
    Stump,
    Tree,
)
from onlineboost.ensembles.restarting import Restarting

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
    "stacked": lambda *a, **k: _stacked(*a, **k),
    "memory": lambda learner, n, random_state, **k: StackedEnsemble(
        [learner, small_batch_boost()], n_always_active=1, random_state=random_state
    ),
}


def small_batch_boost() -> BatchBoost:
    """Of a few rows, so that these are overwritten soon."""
    return BatchBoost(n_estimators=3, max_leaves=5, min_rows=8, max_rows=200, max_slots=16)


def _stacked(learner, n, random_state, **k) -> StackedEnsemble:
    """An ensemble with parts that share slots and parts that do not, that start over, that may rest, of ensembles."""
    boosted = OnlineBBM(learner, n, head="stack", **k)
    parts = [Linear(standardize=True), boosted, Restarting(boosted, delta=0.9), Adaptive(Perceptron(), delta=0.9)]
    return StackedEnsemble(parts, n_always_active=2, random_state=random_state)


COMPILED = {
    "linear": Linear,
    "logistic": lambda: Linear("logistic", learning_rate=0.1, power_t=0.3),
    "standardized": lambda: Linear(standardize=True),
    "binned": lambda: Linear(bins=8, crosses=[(0, 1), (2, 5)], bits=6),
    "crossed": lambda: Linear(standardize=True, crosses=True, bits=8),
    "bayes": lambda: NaiveBayes(bins=8, max_slots=16),
    "ftrl": lambda: FTRLProximal(max_row=8),
    "newton": lambda: Newton(max_slots=8),
    "perceptron": Perceptron,
    "stump": lambda: Stump(grace_period=8, max_slots=16),
    "tree": lambda: Tree(3, grace_period=8, tau=0.3, max_slots=16),
}
CLASS_VOTES = {
    "mbbm": lambda **k: OnlineMBBM(ClassTree(3, grace_period=8, max_slots=16), 5, **k),
    "olm": lambda **k: AdaBoostOLM(ClassTree(3, grace_period=8, max_slots=16), 5, **k),
}  # over learners that vote for classes; tests/engine/test_classes.py has them
OBJECTS = {
    "copies": lambda: Copies(Linear()),
    "river": GaussianNB,
    "sklearn": lambda: SGDClassifier(loss="log_loss", random_state=0),
}

# A booster never sees x, and a learner no booster: each once with the simplest of the others, and some pairs more.
_MORE = [
    *((booster, "tree") for booster in ("safe", "defensive", "adaptive", "adaptive-learners", "stacked")),
    ("adaboost-random", "stump"),
    ("adaptive-learners", "bayes"),
    ("ocp", "perceptron"),
    ("plus", "crossed"),
]
L = [
    *((booster, "linear") for booster in BOOSTERS),
    *(("bbm", learner) for learner in COMPILED if learner != "linear"),
    *_MORE,
]
WITH_OBJECTS = [*L, *(("bbm", learner) for learner in OBJECTS)]


def make(booster: str, learner: str, delivery: str = "auto", n: int = 5):
    if booster in CLASS_VOTES:
        return CLASS_VOTES[booster](delivery=delivery, random_state=3)
    return BOOSTERS[booster]((COMPILED | OBJECTS)[learner](), n, delivery=delivery, random_state=3)


def everything(model) -> bytes:
    """All that affects the next update, as bytes."""
    nodes, states = [model._fitted.root.trimmed()], []
    parts = [str(model.classes_.tolist()).encode(), str(model.n_features_in_).encode()]
    while nodes:
        for name, value in vars(nodes.pop()).items():
            if name == "parts":
                nodes += value
            elif name not in ("settings", "learner", "spec", "notify", "n_jobs", "prepared", "n_told", "due"):
                states.append(value)
    while states:
        state = states.pop()
        if isinstance(state, tuple):
            states += state
        else:
            parts.append(pickle.dumps(state))
    return b"|".join(parts)
