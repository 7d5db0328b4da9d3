"""Upgrades of model files: one function for each step from a format to the next.

A change of the format increments ``FORMAT`` and adds a function from the format before to the new one: ``UPGRADES[2]``
takes the arrays and facts of format 2 and returns those of format 3. Nothing else knows old formats. Some models cannot
be continued: those of format 1, which numbered their features in another way for each kind of source, and ``Adaptive``
of format 2, which weighed its two parts in another way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.errors import ReadWarning

FORMAT = 8
OLDEST = 2  # models of formats before it must be trained again

_ANY = 1e30  # beyond any value of a feature
_TREES = {
    "grace": "grace_period",
    "evidence": "min_split_gain",
    "tie": "tau",
    "features": "max_features",
    "leaves": "leaf_prediction",
}
_PARAMETERS: dict[str, dict[str, str]] = {  # by class: names of before, and names since format 8
    **dict.fromkeys(("Tree", "Stump", "ClassTree", "RegressionTree"), _TREES),
    "StackedEnsemble": {"models": "estimators", "n_always": "n_always_active"},
}
_CLASSES = {"OnlineBoost": "OnlineBoostClassifier"}
_TICKETS = {"most": "max_pending", "age": "max_age", "expired": "on_expire"}
Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]


class OutdatedError(ValueError):
    """A model that cannot be continued."""


def _without_adaptive(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    if any(part["class"] == "Adaptive" for part in facts["parts"].values()):
        raise OutdatedError("is 2, with an Adaptive model of an older onlineboost: train the model again")
    return arrays, facts


def _trees_apart(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """Trees have histograms and gains of their own; before, they shared a pool of histograms and a sum of gains.

    The weights of many linear learners take whole cache lines.
    """
    found = dict(arrays)
    for name in arrays:
        if name.endswith("committee.weights") and arrays[name].ndim == 3 and arrays[name].shape[2] >= 64:
            found[name] = np.pad(arrays[name], [(0, 0), (0, 0), (0, -arrays[name].shape[2] % 16)])
        if name.endswith("committee.nodes"):
            at = name.removesuffix("nodes")
            nodes, used, gains = arrays[name].copy(), arrays[f"{at}used"], arrays[f"{at}gains"]
            start = np.concatenate([[0], np.cumsum(used[:, 1])])
            nodes[:, :, 0] += 1
            rows = nodes[:, :, 3]
            nodes[:, :, 3] = np.where(rows >= 0, rows - start[:-1, None] + 1, 0)
            apart = np.zeros((len(used), gains.size))
            apart[0] = gains
            found |= {name: nodes, f"{at}gains": apart, f"{at}start": start, f"{at}free": arrays[f"{at}free"] * 0}
            del found[f"{at}held"]
    return found, facts


def _scales_apart(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """Linear learners have scales of features of their own; before, they shared them."""
    found, several = dict(arrays), False
    for name in arrays:
        weights = arrays.get(name.removesuffix("scale") + "weights")
        if name.endswith("committee.scale") and weights is not None and weights.ndim == 3:
            shape = len(arrays[name]), weights.shape[2]
            found[name] = np.broadcast_to(arrays[name].reshape(-1, 1), shape)
            several |= shape[1] > 1
    if several:
        warnings.warn(
            "a model of an older onlineboost: from here on each of its linear learners has scales of features of its "
            "own (CHANGELOG.md). Train it again for the same results as from scratch",
            ReadWarning,
            stacklevel=2,
        )
    return found, facts


def _bounded(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """Standardized features have a range; of features that were met before, it is unknown."""
    found = dict(arrays)
    for name in arrays:
        if name.split(".")[-2].startswith("transform") and name.endswith(".features") and arrays[name].shape[1] == 4:
            met = arrays[name][:, :1] > 0
            found[name] = np.hstack([arrays[name], np.where(met, -_ANY, 0.0), np.where(met, _ANY, 0.0)])
    return found, facts


def _by_places(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """Labels are places; before, they were codes: -1 for the first, then 1, 2, and so on. Two arrays are renamed."""
    parts, renamed = facts["parts"], {"sharpness": "temperature", "taming": "scaling"}
    of_classes = {name for name, part in parts.items() if part["target"] != "numbers"}
    found = {".".join(renamed.get(word, word) for word in name.split(".")): array for name, array in arrays.items()}
    for name, array in found.items():
        if name.split(".")[0] in of_classes and name.endswith(".kept.y"):
            found[name] = np.maximum(array, 0)
    for part in of_classes:
        if "last_labels" in parts[part]:
            parts[part]["last_labels"] = [max(code, 0.0) for code in parts[part]["last_labels"]]
    notes = facts.get("notes")
    repeated = notes.get("repeated") if isinstance(notes, dict) else None
    if "model" in of_classes and isinstance(repeated, dict) and repeated.get("last") in (-1, 0):
        repeated["last"] = -1 - repeated["last"]  # 0 was none
    return found, facts


def _public_names(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """Parameters of trees, ensembles and tickets have other names, and the class of ``OnlineBoost`` has."""
    for part in facts["parts"].values():
        part |= _with_new_names({name: part[name] for name in ("class", "params") if name in part})
        if "pending" in part:
            part["pending"] = {_TICKETS.get(name, name): value for name, value in part["pending"].items()}
    return arrays, facts


def _with_new_names(value: Any) -> Any:
    """A description of a model (``parameters.described``) with the names of format 8."""
    if isinstance(value, list):
        return [_with_new_names(one) for one in value]
    if not isinstance(value, dict) or not {"class", "params"} <= value.keys():
        return value
    renamed = _PARAMETERS.get(value["class"], {})
    params = {renamed.get(name, name): _with_new_names(given) for name, given in value["params"].items()}
    return {"class": _CLASSES.get(value["class"], value["class"]), "params": params}


UPGRADES: dict[int, Callable[[Arrays, Facts], tuple[Arrays, Facts]]] = {
    2: _without_adaptive,
    3: _trees_apart,
    4: _scales_apart,
    5: _bounded,
    6: _by_places,
    7: _public_names,
}


def upgraded(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """The contents of a file of any format, in the current one."""
    for format in range(facts["format"], FORMAT):
        arrays, facts = UPGRADES[format](arrays, facts)
    return arrays, facts
