"""Model files: the learned state as arrays and JSON, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from onlineboost.data.allocation import planned
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.engine.node import Node
from onlineboost.errors import ModelFileError, ParameterError
from onlineboost.fitted.fitted import Fitted
from onlineboost.fitted.running import Running
from onlineboost.fitted.thresholds import Cutoff
from onlineboost.fitted.tickets import Pending
from onlineboost.parameters import check_whole, described
from onlineboost.storage.model_file import Part, check_plan, fill
from onlineboost.storage.validity import InvalidStateError, check_state


def contents(fitted: Fitted, memory: bool = True) -> Part:
    """The contents of a model file, from which learning continues exactly; without ``memory``, from new rows.

    Raises an ``InvalidStateError`` for a model that could not be loaded again.
    """
    if not isinstance(fitted.root, Node):
        expected = "a compiled learner such as Linear; save other models with pickle"
        raise ParameterError("estimator", fitted.spec.estimator, expected)
    root = fitted.root.trimmed() if memory else fitted.root.without_rows()
    arrays = root.arrays()
    for name, state in root.states().items():
        check_state(name, state)
    root.check()
    facts = {
        **described(fitted.spec),
        "seed": root.settings.seed,
        "target": fitted.target.describe(),
        "columns": fitted.columns.describe(),
        "sizes": root.sizes,
    }
    if fitted.root.n_classes > 2:
        facts["classes"] = fitted.root.n_classes
    if fitted.cutoff is not None:
        facts["threshold"] = fitted.cutoff.describe()
    if fitted.lags is not None:
        facts["last_labels"] = fitted.lags.describe()
    if fitted.class_weights is not None and fitted.class_weights.balanced:
        facts["label_counts"] = fitted.class_weights.describe()
    if fitted.running.rows[0]:
        arrays |= fitted.running.arrays()
        facts["metrics"] = int(fitted.running.rows[0])
    if fitted.pending.next:  # the model was asked for tickets
        arrays |= fitted.pending.arrays()
        facts["pending"] = fitted.pending.describe()  # after the tickets: the next number is larger than all
    return Part(arrays, facts, _plan(fitted.spec, root.sizes, root.settings.seed, fitted.root.n_classes))


def restore(path: Path, model: Any, part: Part) -> Fitted:
    """The contents of a file, for a model built with its parameters."""
    columns, target = Columns.restore(part.facts["columns"]), model._new_target().restored(part.facts["target"])
    seed = check_whole("seed", part.facts["seed"], 0, (1 << 63) - 1)

    most = len(target.labels) if isinstance(target, Classes) else 2
    sizes, n = part.facts["sizes"], check_whole("classes", part.facts.get("classes", 2), 2, most)
    plan = _plan(model, sizes, seed, n)
    if plan is None:
        raise ModelFileError(path, "description", "not a model of compiled learners")
    check_plan(path, plan, part.arrays)
    made = _new_node(model, sizes, seed, n)
    for name, state in made.states().items():
        fill(path, name, state, part.arrays)
    try:
        made.check()
    except InvalidStateError as problem:
        raise ModelFileError(path, problem.field, str(problem)) from None
    made.name_features(columns.names)
    known = set(made.strayed(columns.names))
    found = Fitted(model.clone(), columns, target, made, n_strayed=made.n_strayed, strayed=known)
    if "threshold" in part.facts:
        found.threshold = Cutoff.restored(part.facts["threshold"])
    if found.lags is not None:
        found.lags.restore(part.facts["last_labels"], target)
    if found.class_weights is not None and found.class_weights.balanced:
        found.class_weights.restore(part.facts["label_counts"], target)
    if "metrics" in part.facts:  # older files have none: they begin now
        found.running = Running.restore(part.facts["metrics"], part.arrays)
    if "pending" in part.facts:
        found.pending = Pending.restore(part.facts["pending"], part.arrays, made, found.max_row_features)
    return found


def _new_node(model: Any, sizes: list[Any], seed: int, n_classes: int) -> Any:
    made: Any = model._new_node(0, seed)
    if n_classes > 2:
        made = model._with_classes(made, n_classes)
    made.resize(sizes)
    return made


def _plan(model: Any, sizes: list[Any], seed: int, n_classes: int) -> dict[str, NDArray[Any]] | None:
    """The arrays of an untrained model of this size, without memory."""
    with planned():
        made = _new_node(model, sizes, seed, n_classes)
        return made.arrays() if isinstance(made, Node) else None
