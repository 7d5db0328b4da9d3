"""Loading of model files, for the commands that use one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.cli.terminal import tell
from onlineboost.data.batch import Batch
from onlineboost.data.columns import is_lag
from onlineboost.errors import DataError
from onlineboost.fitted.fitted import Fitted
from onlineboost.model import OnlineModel, load_all

_COLUMNS = 64  # numeric columns of a table; more are words of a text


class Loaded(NamedTuple):
    model: OnlineModel
    fitted: Fitted
    base: OnlineModel | None  # the base learner, trained on the same stream
    notes: Any  # of its training, as JSON: ``Notes.from_json`` checks them


def load(path: Path) -> Loaded:
    """The model of a file, its base learner and the notes of its training."""
    if not path.expanduser().exists():
        raise FileNotFoundError(f"{path}: no such model; to train one: onlineboost train FILES -o {path}")
    model, base, notes = load_all(path)
    return Loaded(model, model.fitted, base, notes)


def features_of(batch: Batch) -> NDArray[Any]:
    """The features of a batch."""
    return np.unique(batch.indices[batch.indptr[0] : batch.indptr[-1]])


def check_known(model: OnlineModel, batch: Batch) -> None:
    """Raise an error if the model knows no feature of the data; warn if it knows few, or misses some of its own."""
    check_features(model, features_of(batch), batch.y.size)


def check_features(model: OnlineModel, met: NDArray[Any], rows: int) -> None:
    """``check_known`` for the features of so many rows."""
    if model.fitted is None or not met.size or not any(model.fitted.root.sizes):
        return
    share = float(np.mean(model.fitted.root.knows(met)))
    if share == 0:
        raise DataError("the model knows none of the features: expected data with the columns of the training data")
    if share < 0.5:
        tell(f"onlineboost: the model knows only {share:.0%} of the features of the first rows")
    # Of tables, whose columns have few names: not of words, nor of "colour=red".
    numbers = {id: name for id, name in model.fitted.columns.names.items() if "=" not in name and not is_lag(name)}
    absent = [repr(name) for id, name in numbers.items() if id not in met]
    if absent and len(numbers) <= _COLUMNS:
        tell(
            f"onlineboost: no value of {', '.join(absent)} in the first {rows:,} rows: "
            "does the file have all columns of the training data?"
        )
