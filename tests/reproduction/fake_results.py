"""Results as ``onlineboost reproduce`` writes them, made up but of the right shape and size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

FAMILIES = {
    "baseline": "baseline",
    "bbm": "Online BBM",
    "adaboost-ol": "AdaBoost.OL",
    "adaboost-ol-s": "AdaBoost.OL.S",
    "osboost-ocp": "OSBoost.OCP",
    "osboost": "OSBoost",
    "safe": "SafeBoost",
}
COLUMNS = [family for family in FAMILIES if family != "safe"]
PAPER = {  # the paper's last table
    "20news": (0.0812, 0.0775, 0.0777, 0.0777, 0.0791, 0.0801),
    "a9a": (0.1509, 0.1495, 0.1497, 0.1497, 0.1509, 0.1505),
    "activity": (0.0133, 0.0114, 0.0128, 0.0127, 0.0130, 0.0133),
    "adult": (0.1543, 0.1526, 0.1536, 0.1536, 0.1539, 0.1544),
    "bio": (0.0035, 0.0031, 0.0032, 0.0032, 0.0033, 0.0034),
    "census": (0.0471, 0.0469, 0.0469, 0.0469, 0.0469, 0.0470),
    "covtype": (0.2563, 0.2347, 0.2495, 0.2450, 0.2470, 0.2521),
    "letter": (0.2295, 0.1923, 0.2078, 0.2078, 0.2148, 0.2150),
    "nomao": (0.0641, 0.0627, 0.0635, 0.0635, 0.0627, 0.0633),
    "poker": (0.4555, 0.4312, 0.4555, 0.4555, 0.4555, 0.4555),
    "rcv1": (0.0487, 0.0485, 0.0484, 0.0484, 0.0488, 0.0488),
}
SIZES = {  # examples, features, error of the baseline, error of a tree
    "20news": (18_846, 101_631, 0.0788, 0.22),
    "a9a": (48_842, 123, 0.1555, 0.167),
    "activity": (165_633, 20, 0.0092, 0.0043),
    "adult": (48_842, 105, 0.1544, 0.155),
    "bio": (145_751, 74, 0.0034, 0.0044),
    "census": (299_285, 401, 0.0501, 0.052),
    "covtype": (581_012, 54, 0.2506, 0.21),
    "letter": (20_000, 16, 0.2810, 0.17),
    "nomao": (34_465, 174, 0.0612, 0.062),
    "poker": (765_952, 10, 0.4583, 0.40),
    "rcv1": (27_613, 29_163, 0.0614, 0.25),
}
NOTES = {
    "letter": "A-M against N-Z; the paper does not say how it was made binary",
    "rcv1": "a subset of 27,613 documents",
}


def fake_results(splits: int = 1) -> dict[str, Any]:
    """All eleven sets, every setting; the same numbers every time."""
    rng = np.random.default_rng(5)
    sweep = {"set": "letter", "configurations": 448, "timed": 16, "vw_seconds": 2345.0, "our_seconds": 12.5}
    return {
        "command": "onlineboost reproduce --data FOLDER",
        "versions": {"python": "3.11.9", "onlineboost": "0.1.0", "numba": "0.61.2", "vowpalwabbit": "9.10.0"},
        "machine": "AMD EPYC 9B14, 2 cores",
        "seed": 0,
        "splits": splits,
        "quick": False,
        "seconds": 1830.2,
        "settings": {
            "paper": "the paper's pseudo-code: votes of -1 and +1, weights as importance, the coin 1/2 + gamma/2",
            "vw": "the authors' Vowpal Wabbit variants: real votes, weights as they are, the coin 1/2 + gamma",
            "vw itself": "the program vw with the settings that were chosen for its variants",
            "trees": "the paper's algorithms over trees",
            "linear": "nothing tuned, standardized linear learners",
        },
        "families": FAMILIES,
        "sets": [_set(name, splits, rng) for name in SIZES],
        "missing": [{"name": name, "why": "could not be found anywhere"} for name in ("maptaskcoref", "vehv2binary")],
        "vw_sweep": sweep,
    }


def _set(name: str, splits: int, rng: np.random.Generator) -> dict[str, Any]:
    examples, features, base, tree = SIZES[name]
    train = round(0.8 * examples)
    wanted = [("baseline", "paper"), ("safe", "linear"), ("safe", "trees")]
    wanted += [(family, "vw itself") for family in COLUMNS[:4]]
    wanted += [(family, setting) for setting in ("paper", "vw") for family in COLUMNS[1:]]
    wanted += [(family, "trees") for family in COLUMNS]
    entries = []
    for family, setting in wanted:
        gain = 0 if family == "baseline" else (0.3 if setting == "trees" else 0.02) * rng.uniform(-0.2, 1.5)
        error = (tree if setting == "trees" else base) * (1 - gain)
        entries.append(_entry(family, setting, error, train, splits, rng))
    return {
        "name": name,
        "examples": examples,
        "features": features,
        "train": train,
        "test": examples - train,
        "paper": dict(zip(COLUMNS, PAPER[name], strict=True)),
        "note": NOTES.get(name, ""),
        "entries": entries,
    }


def _entry(family: str, setting: str, error: float, train: int, splits: int, rng: Any) -> dict[str, Any]:
    sizes = [2**k for k in range(9, int(math.log2(train)) + 1)] + [train]
    chosen = (
        {"learning_rate": 0.5, "n_estimators": 21, "gamma": 0.1} if family != "baseline" else {"learning_rate": 0.5}
    )
    return {
        "family": family,
        "setting": setting,
        "tried": 448,
        "failed": 0,
        "reasons": [],
        "chosen": chosen,
        "model": f"{FAMILIES[family]}(Linear(learning_rate=0.5), n_estimators=21, gamma=0.1, delivery='weight')",
        "progressive": round(error * 1.03, 6),
        "test": [round(error * rng.normal(1, 0.01), 6) for _ in range(splits)],
        "seconds": round(rng.uniform(1, 60), 1),
        "curve": [[n, round(min(0.5, error * (1.03 + 8 / math.sqrt(n))), 6)] for n in sizes],
    }
