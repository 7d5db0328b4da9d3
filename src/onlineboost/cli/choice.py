"""The model of the options of ``train``, and its base learner."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from onlineboost import Adaptive, OnlineBoost, OnlineBoostRegressor
from onlineboost.classifier import OnlineClassifier
from onlineboost.cli.registered import (
    AUTO,
    NONE,
    booster_options,
    flag_of,
    learner_for,
    make_learner,
    make_model,
    registered_options,
)
from onlineboost.ensembles.regressor import Goal
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.model import OnlineModel
from onlineboost.readers import open_stream
from onlineboost.readers.files import expand, is_regular
from onlineboost.readers.labels import plain_label
from onlineboost.registry import BOOSTERS

EffortName = StrEnum("EffortName", {"LOW": "low", "NORMAL": "normal", "HIGH": "high"})
TargetName = StrEnum("TargetName", {"AUTO": "auto", "LOG": "log", "IDENTITY": "identity"})
TaskName = StrEnum("TaskName", {"AUTO": "auto", "BINARY": "binary", "CLASSES": "classes", "NUMBER": "number"})
TASKS = "auto|binary|classes|number"
_OF_CLASSES = ("algorithm", "learner", "effort", "adaptive", "class_weight", "threshold", "max_classes")
_FIRST = 2000  # rows that decide the task
_MANY = 30  # different whole numbers among them; more are not classes


def find_task(task: TaskName, files: list[str], reading: dict[str, Any], chosen: set[str]) -> str:
    """The task: as given, or by the labels of the first rows."""
    classes = {"positive", *_OF_CLASSES, *registered_options()} & chosen
    if task is not TaskName.AUTO or classes:
        return "classes" if task is TaskName.AUTO else task.value
    if not all(map(is_regular, expand(files))):  # pipes are read once
        return "classes"

    with open_stream(files, **(reading | {"task": "number", "on_error": "skip", "batch_size": _FIRST})) as stream:
        page = next(iter(stream), None)
    y = page.batch.y if page is not None else np.empty(0)
    if page is None or page.skipped > y.size:  # most are words
        return "classes"
    return "number" if are_numbers(set(np.unique(y).tolist())) else "classes"


def are_numbers(labels: set[float]) -> bool:
    """Whether labels are numbers rather than the names of classes."""
    fractions = any(label % 1 != 0 for label in labels)
    return len(labels) > 2 and (fractions or len(labels) > _MANY)


def choose_regressor(
    chosen: set[str], memory: bool, seed: int, lag: int, target: Goal = "auto"
) -> tuple[OnlineModel, OnlineModel | None]:
    """The model for regression."""
    for name in ("positive", *_OF_CLASSES, *registered_options()):
        if name in chosen:
            raise ConflictError(f"{flag_of(name)} is for classification: leave it out, or use --task classes.")
    return OnlineBoostRegressor(random_state=seed, lag=lag, target=target, memory=memory), None


def choose(
    given: dict[str, Any],
    chosen: set[str],
    effort: EffortName,
    memory: bool,
    adaptive: bool,
    seed: int,
    lag: int,
    class_weight: list[str] | None,
    positive: str | None,
) -> tuple[OnlineModel, OnlineModel | None]:
    """The model and its base learner; ``chosen`` are the parameters on the command line.

    There is no base learner beside a learner alone, nor with last labels or class weights: only models can have them.
    """
    model, base = _chosen(given, chosen, effort, memory, adaptive, seed)
    more = {"lag": lag, "class_weight": class_weights(class_weight, positive)}
    for name, value in more.items():
        if value and name not in model.get_params(deep=False):
            alone = " alone" if given["algorithm"].value == NONE else ""
            raise ConflictError(
                f"{flag_of(name)} does not apply to {type(model).__name__}{alone}: "
                f"leave it out, or name {'an' if alone else 'another'} algorithm, such as -a safe."
            )
    wanted = {name: value for name, value in more.items() if value}
    return (model.set_params(**wanted), None) if wanted else (model, base)


def bounded(model: OnlineModel, max_classes: int | None) -> OnlineModel:
    """The model with its maximum number of classes, if given."""
    if max_classes is not None and isinstance(model, OnlineClassifier):
        model.max_classes = max_classes
    return model


def class_weights(given: list[str] | None, positive: str | None = None) -> str | dict[Any, float] | None:
    """The parameter ``class_weight`` from the text of the option.

    Labels are as files give them: numbers where they look like it, but words where the positive label is named.
    """
    if not given or given == ["balanced"]:
        return given[0] if given else None
    found: dict[Any, float] = {}
    for pair in ",".join(given).split(","):
        label, _, weight = pair.rpartition("=")
        try:
            found[plain_label(label) if positive is None else label] = float(weight)
        except ValueError:
            label = ""
        if not label:
            raise ParameterError("--class-weight", ",".join(given), "balanced, or labels and weights, such as yes=10")
    return found


def unknown_labels(model: OnlineModel) -> list[Any]:
    """Labels with a class weight that no example had."""
    assert model._fitted is not None
    given = getattr(model, "class_weight", None)
    return [label for label in given if label not in model._fitted.target.known] if isinstance(given, dict) else []


def _chosen(
    given: dict[str, Any], chosen: set[str], effort: EffortName, memory: bool, adaptive: bool, seed: int
) -> tuple[OnlineModel, OnlineModel | None]:
    algorithm = given["algorithm"].value
    learner = learner_for(algorithm, given, chosen)
    settings = [name for name in ("learner", *registered_options(), "adaptive") if name in chosen]
    _check(algorithm, [flag_of(name) for name in settings], chosen)
    if algorithm == AUTO and not settings:
        return OnlineBoost(effort.value, memory=memory, random_state=seed), make_learner(learner, given)
    base = make_learner(learner, given)
    model = make_model("safe" if algorithm == AUTO else algorithm, base, given, seed)
    return Adaptive(model) if adaptive else model, None if algorithm == NONE else base.clone()


def _check(algorithm: str, settings: list[str], chosen: set[str]) -> None:
    """Raise an error for options that contradict each other."""
    if algorithm == AUTO and settings and "algorithm" in chosen:
        raise ConflictError(
            f"{settings[0]} does not apply to --algorithm auto, which chooses its learners and their settings. "
            f"Leave out {settings[0]}, or name an algorithm, such as -a safe."
        )
    if algorithm == AUTO and settings:
        for name, option in booster_options().items():
            if name in chosen and option not in BOOSTERS.find("safe").options:
                users = ", ".join(entry.name for entry in BOOSTERS if option in entry.options)
                raise ConflictError(f"{flag_of(name)} needs an algorithm that has it: -a with one of {users}.")
    others = [f"--algorithm {algorithm}"] if algorithm != AUTO else settings
    for name in ("effort", "memory"):
        if name in chosen and others:
            raise ConflictError(
                f"{flag_of(name)} does not apply to {others[0]}: it is for OnlineBoost, the default, "
                f"which chooses its learners and their settings. Leave out {flag_of(name)} or {others[0]}."
            )
