"""Running metrics of predictions, each made before its label was learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import njit
from onlineboost.data.arrays import writable
from onlineboost.data.batch import Floats, Ints
from onlineboost.parameters import check_whole
from onlineboost.storage.validity import COUNT, SUM, Limits, check_state, require

LAST = 1000  # rows of the window
_MOST_LOSS = -math.log(1e-15)  # of a row: as in ``evaluate``
_MOST_ERROR = 1e30  # of a number, so that sums of squares stay finite


class ClassMetrics(NamedTuple):
    """Means over rows, by their weights; None: not known, or no rows."""

    rows: int
    error: float | None  # share of wrong answers
    log_loss: float | None  # of models whose scores are log odds
    rate: float | None  # rows a second of learning


class NumberMetrics(NamedTuple):
    """Means over rows, by their weights; None: not known, or no rows."""

    rows: int
    absolute_error: float | None
    squared_error: float | None
    rate: float | None  # rows a second of learning


class Metrics(NamedTuple):
    """Metrics of all learned rows, and of the last 1,000."""

    all: Any
    last: Any


class RunningState(NamedTuple):
    """What is saved; ``last`` is a ring, of which row k is at k % 1,000."""

    rows: Ints  # [1] rows so far
    sums: Floats  # [3] weight, and weighted sums: mistakes and log loss, or absolute and squared errors
    last: Floats  # [up to 1,000, 3] weight of a row, and the two losses by themselves

    def limits(self) -> Limits:
        return {"rows": COUNT, "sums": SUM, "last": SUM}

    def check(self) -> None:
        require(len(self.last) == min(int(self.rows[0]), LAST), "last", "as many rows as there were, up to 1,000")
        require(bool((self.last[:, 0] > 0).all()), "last", "rows with weights")
        require(bool((_sums(self.last) <= self.sums * (1 + 1e-6)).all()), "sums", "no less than those of the last rows")


@njit
def count_rows(block: Any) -> None:
    """Add rows that were learned, by their scores before."""
    scores, y, weight, rows, sums, last, times, speed, odds, numbers = unpack(block)
    n, known = 0, odds[min(scores.shape[1] - 1, 1)]
    for r in range(y.size):
        n += weight[r] > 0
    for r in range(y.size):
        if weight[r] > 0:
            loss, other = 0.0, 0.0
            if numbers:
                distance = abs(scores[r, 0] - y[r])
                loss = distance if distance < _MOST_ERROR else _MOST_ERROR  # also of NaN
                other = loss * loss
            elif scores.shape[1] == 1:
                margin = scores[r, 0] if y[r] > 0 else -scores[r, 0]
                met = y[r] < 2  # without a third class of weight 0
                loss = 0.0 if met and (scores[r, 0] >= 0) == (y[r] > 0) else 1.0
                if known:
                    other = max(-margin, 0.0) + math.log1p(math.exp(-abs(margin))) if met else _MOST_LOSS
            else:
                best = 0
                for k in range(1, scores.shape[1]):
                    if scores[r, k] > scores[r, best]:
                        best = k
                total, place = 0.0, int(y[r])
                for k in range(scores.shape[1]):
                    total += math.exp(scores[r, k] - scores[r, best])
                loss = 1.0 if best != place else 0.0
                met = place < scores.shape[1]
                other = math.log(total) + scores[r, best] - scores[r, place] if met else _MOST_LOSS
            if not numbers:
                other = (other if other < _MOST_LOSS else _MOST_LOSS) if known else 0.0
            at = rows[0] % last.shape[0]
            last[at, 0], last[at, 1], last[at, 2] = weight[r], loss, other
            times[at] = speed[2] / n
            rows[0] += 1
            sums[0] += weight[r]
            sums[1] += weight[r] * loss
            sums[2] += weight[r] * other
    speed[0] += n
    speed[1] += speed[2] if n else 0.0


class Running:
    """The running metrics of a model. They do not depend on batches, except for the rate, which is not saved.

    Rows of weight 0 do not count; class weights are ignored.
    """

    def __init__(self) -> None:
        self.rows: Ints = np.zeros(1, np.int64)
        self.sums: Floats = np.zeros(3)
        self.last: Floats = np.zeros((LAST, 3))
        self.times: Floats = np.full(LAST, np.nan)  # seconds of each row of ``last``; NaN: of another process
        self.speed: Floats = np.zeros(3)  # rows and seconds in this process; seconds of the rows that come
        self._root: Any = None  # whose rows are counted
        self._odds: Ints = np.zeros(2, np.int64)  # whether single scores, and those of many classes, are log odds
        self._batch: Call | None = None
        self._one: tuple[Call, Floats, Floats, Floats] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Arrays of its own: compiled code writes to them."""
        return {name: value.copy() for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        vars(self).update({name: writable(value) for name, value in state.items()})

    # ---- learning

    def follow(self, root: Any) -> None:
        """Count the rows of this root from now on."""
        if self._root is not root:
            self._root, self._batch, self._one = root, None, None
            self._odds[int(root.n_classes > 2)] = root.gives_chances

    def add(self, fitted: Any, scores: list[Floats], y: Any, weight: Any, seconds: float) -> None:
        """Count rows that were learned within so many seconds."""
        self.follow(fitted.root)
        start, y, weight = 0, np.ascontiguousarray(y, np.float64), np.ascontiguousarray(weight, np.float64)
        for part in scores:
            stop = start + len(part)
            if stop > start:
                self.speed[2] = seconds * (stop - start) / y.size
                rows = np.ascontiguousarray(part, np.float64), y[start:stop], weight[start:stop]
                if self._batch is None:
                    self._batch = self._call(fitted, rows)
                self._batch.on(*rows)
                self._batch.run()
            start = stop

    def add_one(self, fitted: Any, scores: Floats, y: float, weight: float, began: float) -> None:
        """Count one row, whose learning began at this time."""
        if self._root is not fitted.root or self._one is None:
            self.follow(fitted.root)
            rows = np.zeros((1, scores.size)), np.zeros(1), np.zeros(1)
            self._one = self._call(fitted, rows), rows[0][0], *rows[1:]
        call, own, ys, weights = self._one
        own[:], ys[0], weights[0] = scores, y, weight
        self.speed[2] = perf_counter() - began
        call.run()

    def _call(self, fitted: Any, rows: Sequence[Floats]) -> Call:
        arrays = self.rows, self.sums, self.last, self.times, self.speed, self._odds
        return Call(count_rows, *rows, *arrays, fitted.of_numbers)

    # ---- answers

    def metrics(self, odds: bool, numbers: bool) -> Metrics:
        n = min(int(self.rows[0]), LAST)
        last, times = self.last[:n], self.times[:n]
        timed = times[np.isfinite(times)]
        return Metrics(
            _metrics(int(self.rows[0]), self.sums, self.speed, odds, numbers),
            _metrics(n, _sums(last), np.array([timed.size, timed.sum()]), odds, numbers),
        )

    # ---- model files

    def state(self) -> RunningState:
        return RunningState(self.rows, self.sums, self.last[: self.rows[0]])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file; an ``InvalidStateError`` if they could not be read again."""
        check_state("metrics", self.state())
        return {f"metrics.{name}": array for name, array in self.state()._asdict().items() if name != "rows"}

    @classmethod
    def restore(cls, rows: Any, arrays: dict[str, NDArray[Any]]) -> Running:
        """What was saved; raises a ValueError if it makes no sense."""
        found, sums, last = cls(), arrays["metrics.sums"], arrays["metrics.last"]
        found.rows[0] = n = check_whole("metrics", rows, 0, COUNT[1])
        shapes = sums.shape == (3,) and last.shape == (min(n, LAST), 3)
        if not shapes or sums.dtype != np.float64 or last.dtype != np.float64:
            raise ValueError("the running metrics have other shapes")
        found.sums[:], found.last[: len(last)] = sums, last
        check_state("metrics", found.state())
        return found


def _sums(last: Floats) -> Floats:
    """The sums of the rows of the window."""
    weight = last[:, :1]
    found: Floats = np.concatenate([weight, weight * last[:, 1:]], axis=1).sum(axis=0)
    return found


def _metrics(n: int, sums: Floats, speed: Floats, odds: bool, numbers: bool) -> Any:
    weight, *losses = sums.tolist()
    first, second = (loss / weight if weight > 0 else None for loss in losses)
    rate = float(speed[0] / speed[1]) if speed[1] > 0 else None
    return NumberMetrics(n, first, second, rate) if numbers else ClassMetrics(n, first, second if odds else None, rate)
