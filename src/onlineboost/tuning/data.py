"""All examples in memory, shared by all configurations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.arrays import check_features, is_frame
from onlineboost.data.batch import Batch, check_batch, cut, joined, without_rest
from onlineboost.data.classes import Classes
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError
from onlineboost.forks import new_lock
from onlineboost.learners.base import Learner
from onlineboost.model import OnlineModel
from onlineboost.readers import Stream, open_stream
from onlineboost.readers.frames import feature_frame, is_numeric
from onlineboost.transforms.chain import Transforms, through
from onlineboost.transforms.slots import new_slots

ROWS = 1 << 14  # learned in one compiled call, which releases Python's lock


class Transformed(NamedTuple):
    """Rows after the transforms, and the number of features of a committee for them."""

    batch: Batch
    n_features: int


class Data:
    """All rows as one batch. Rows are transformed once for all configurations with the same transforms."""

    def __init__(self, batch: Batch, origin: Page | tuple[Any, Any, Any, Classes | Numbers]) -> None:
        self.batch = batch
        self.origin = origin  # the same rows for models that need more than a batch
        self._known: dict[Any, Transformed] = {}
        self._lock = new_lock()

    @property
    def rows(self) -> int:
        return self.batch.y.size

    @property
    def numbers(self) -> bool:
        """Whether labels are numbers."""
        target = self.origin.target if isinstance(self.origin, Page) else self.origin[3]
        return isinstance(target, Numbers)

    @property
    def many_classes(self) -> bool:
        """Whether there are more than two."""
        return not self.numbers and bool(self.batch.y.max(initial=0) > 1)

    def __getstate__(self) -> dict[str, Any]:
        """For other processes, without the transformed rows: each process computes its own."""
        return self.__dict__ | {"_known": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_lock": new_lock()}

    def fingerprint(self) -> str:
        """Digest of the examples, independent of batch sizes."""
        sha = hashlib.sha256()
        for array in (np.diff(self.batch.indptr), *self.batch[1:]):
            sha.update(np.ascontiguousarray(array).data)
        return sha.hexdigest()[:16]

    def transformed(self, model: OnlineModel) -> Transformed | None:
        """The rows after the model's transforms; None if they cannot be shared with other models."""
        learner = model._base_learner()
        shared = (
            isinstance(learner, Learner)
            and model._one_committee
            and not model.lag
            and not getattr(model, "class_weight", None)
        )
        if self.numbers or self.many_classes or not shared:
            return None
        if learner.needs_names() or any(state.apart for state in learner.transforms(0)):
            return None  # needs too much memory
        with self._lock:
            batch, n = self._slotted(learner.slot_limit(), learner.takes_missing)
            states: Any = tuple(state.grown(n) for state in learner.transforms(0))
            key = n, learner.takes_missing, *((type(state), *(np.shape(array) for array in state)) for state in states)
            if key not in self._known:
                self._known[key] = Transformed(_transform(batch, states), n)
            return self._known[key]

    def _slotted(self, bound: int, missing: bool) -> Transformed:
        """The rows with slots for ids, and their number."""
        key = bound, missing
        if key not in self._known:
            batch, slots = new_slots(bound).apply(self.batch, learning=True, missing=missing)
            self._known[key] = Transformed(batch, max(int(slots.used[0]), 1))
        return self._known[key]


def _transform(batch: Batch, states: Transforms) -> Batch:
    parts = (part for piece in pieces(batch, 0, batch.y.size) for part in through(states, piece, learning=True))
    return joined([*parts]) if states else batch


def pieces(batch: Batch, start: int, stop: int) -> Iterator[Batch]:
    """The rows from ``start`` to ``stop``, ``ROWS`` at a time."""
    for at in range(start, stop, ROWS):
        yield cut(batch, at, min(at + ROWS, stop))


def read(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    notice: Callable[[Batch], None] | None = None,
    *,
    numbers: bool = False,
) -> Data:
    """Read a stream, batches, or a table with labels; ``notice`` is called with each batch."""
    if isinstance(X, Stream) or (
        isinstance(X, list | tuple) and X and all(isinstance(part, Batch | Page) for part in X)
    ):
        if y is not None or sample_weight is not None:
            raise DataError("a stream holds its own labels and weights: leave out y and sample_weight")
        return _of_pages(X, notice, numbers)
    if y is None:
        raise DataError("y is missing: expected one label per row of X")
    if is_frame(X):
        frame = feature_frame(X)
        if not is_numeric(frame):
            task: Any = "number" if numbers else "classes"
            return _of_pages(open_stream(frame, y=y, sample_weight=sample_weight, task=task), notice, numbers)
        X = frame.to_native()
    source = check_features(X)
    labels = Numbers() if numbers else Classes()
    labels.meet(y)
    weight = np.ones(source.n_rows) if sample_weight is None else np.array(sample_weight, np.float64)
    source.name(source.names)
    codes = labels.encode(y)
    if codes.shape != (source.n_rows,) or weight.shape != (source.n_rows,):
        raise DataError(f"y and sample_weight: expected {source.n_rows} of each, one per row of X")
    batch = joined(list(source.batches(codes, weight)))
    check_batch(batch, learning=True, numbers=numbers)
    rows = X.tocsr() if hasattr(X, "tocsr") else X
    return Data(batch, (rows, np.asarray(y), weight, labels))


def _of_pages(X: Any, notice: Callable[[Batch], None] | None, numbers: bool) -> Data:
    batches, names, page = [], [], None
    for page in X:
        page = page if isinstance(page, Page) else Page(page, [], Numbers() if numbers else Classes(-1, 1), Schema())
        names += page.names
        batches.append(without_rest(page.batch))
        if notice is not None:
            notice(page.batch)
    if page is None:
        raise DataError("the stream has no rows: there is nothing to learn from")
    if isinstance(page.target, Numbers) != numbers:
        kinds = ("numbers", "a regressor") if numbers else ("classes", "a classifier")
        raise DataError(
            f"the labels of the stream are not {kinds[0]}, which {kinds[1]} learns: set task=... of open_stream"
        )
    batch = joined(batches)
    check_batch(batch, learning=True, numbers=numbers)
    return Data(batch, page._replace(batch=batch, names=names))
