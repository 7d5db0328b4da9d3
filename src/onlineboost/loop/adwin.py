"""ADWIN (Bifet and Gavaldà, 2007): a test for a rising error in a stream of mistakes.

Mistakes are counted in blocks of 32 examples. A window of blocks is kept in buckets of 1, 2, 4, ... of them, at most
five of each size. While there is a cut where the older and the newer part differ by more than chance allows,

    difference of means > sqrt(2 v d / m) + 2 d / (3 m),    1 / m = 1 / n_older + 1 / n_newer,
    v = mean (1 - mean) of the whole window of n examples,  d = log(2 log(n) / delta),

its oldest bucket is dropped. There is an alarm if the newer part had more mistakes, none if it had fewer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.data.target import mistaken
from onlineboost.storage.validity import COUNT, SUM, Limits, require

BLOCK = 32  # examples
LOG = 256  # minimum number of alarms kept
COINCIDENCE_WINDOW = 1024  # examples within which two rises of the error count as one event
UNREAD_ALARMS = 32  # alarms kept for each window, until they are read
_BUCKETS, _SIZES = 5, 48

_forget = dispatch.forget


class Windows(NamedTuple):
    sums: Floats  # [windows, sizes, buckets + 1] mistakes in each bucket, the newest first
    filled: Ints  # [windows, sizes] number of buckets
    totals: Floats  # [windows, 2] examples and mistakes in the window
    block: Floats  # [windows] mistakes in the current block
    log: Ints  # [at least LOG, 2] the last alarms: the number of the example, and the window
    counts: Ints  # [2] alarms; examples in the current block

    def limits(self) -> Limits:
        return windows_limits(self)

    def check(self) -> None:
        check_windows(self)


def windows_limits(windows: Any) -> Limits:
    """The limits of ``Windows`` and of ``Watch``."""
    block = (0, BLOCK)
    return {"sums": SUM, "filled": (0, _BUCKETS), "totals": SUM, "block": block, "log": COUNT, "counts": COUNT}


def check_windows(windows: Any) -> None:
    """Raise an error unless the arrays of ``Windows`` fit together."""
    size = BLOCK * 2.0 ** np.arange(_SIZES)
    require(windows.counts[1] < BLOCK, "counts", f"fewer than {BLOCK} examples in the current block")
    require(bool((windows.block <= windows.counts[1]).all()), "block", "no more mistakes than examples")
    require(bool((windows.log[:, 1] < len(windows.block)).all()), "log", "numbers of windows")
    require(np.array_equal(windows.totals[:, 0], windows.filled @ size), "totals", "the examples of all buckets")
    used = np.arange(_BUCKETS + 1) < windows.filled[:, :, None]
    require(bool((windows.sums <= size[:, None])[used].all()), "sums", "no more mistakes than examples")
    mistakes = (windows.sums * used).sum(axis=(1, 2))
    require(np.array_equal(windows.totals[:, 1], mistakes), "totals", "the mistakes of all buckets")


def new_windows(n: int) -> Windows:
    return Windows(
        filled(0, (n, _SIZES, _BUCKETS + 1)),
        filled(0, (n, _SIZES), np.int64),
        filled(0, (n, 2)),
        filled(0, n),
        filled(0, (max(LOG, UNREAD_ALARMS * n), 2), np.int64),
        np.zeros(2, np.int64),
    )


def alarms(windows: Windows, since: int = 0) -> list[tuple[int, int]]:
    """The example and the window of each alarm from number ``since`` on, as far as they are kept."""
    count, most = int(windows.counts[0]), len(windows.log)
    return [(int(t), int(k)) for t, k in (windows.log[n % most] for n in range(max(since, count - most), count))]


@lean
def closed_block(windows: Windows, k: int, delta: float) -> bool:
    """Add the current block to a window; returns whether the error has risen."""
    sums, filled, totals = windows.sums, windows.filled, windows.totals
    totals[k, 0] += BLOCK
    totals[k, 1] += windows.block[k]
    size, carried = 0, windows.block[k]
    windows.block[k] = 0.0
    while True:
        for b in range(filled[k, size], 0, -1):
            sums[k, size, b] = sums[k, size, b - 1]
        sums[k, size, 0] = carried
        filled[k, size] += 1
        if filled[k, size] <= _BUCKETS or size + 1 == _SIZES:
            break
        carried = sums[k, size, _BUCKETS] + sums[k, size, _BUCKETS - 1]
        filled[k, size] -= 2
        size += 1
    rose = False
    while True:
        found = _cut(windows, k, delta)
        if found == 0:
            return rose
        rose = rose or found > 0
        _drop_oldest(windows, k)


@lean
def _cut(windows: Windows, k: int, delta: float) -> int:
    """The first significant cut: 1 if there are more mistakes after it, -1 if fewer, 0 if there is none."""
    n, mistakes = windows.totals[k, 0], windows.totals[k, 1]
    mean = mistakes / n
    doubt = math.log(2 * math.log(n) / delta)
    n_older = older = 0.0
    for size in range(_SIZES - 1, -1, -1):
        for b in range(windows.filled[k, size] - 1, -1, -1):
            n_older += BLOCK * 2.0**size
            older += windows.sums[k, size, b]
            n_newer = n - n_older
            if n_newer <= 0:
                return 0
            inverse = 1 / n_older + 1 / n_newer
            difference = (mistakes - older) / n_newer - older / n_older
            if abs(difference) > math.sqrt(2 * inverse * mean * (1 - mean) * doubt) + 2 * inverse * doubt / 3:
                return 1 if difference > 0 else -1
    return 0


@lean
def _drop_oldest(windows: Windows, k: int) -> None:
    size = _SIZES - 1
    while windows.filled[k, size] == 0:
        size -= 1
    windows.filled[k, size] -= 1
    windows.totals[k, 0] -= BLOCK * 2.0**size
    windows.totals[k, 1] -= windows.sums[k, size, windows.filled[k, size]]


@lean
def start_over(windows: Windows, k: int, example: int) -> None:
    """Log an alarm, and empty the window."""
    for size in range(_SIZES):
        windows.filled[k, size] = 0
    windows.totals[k, 0] = windows.totals[k, 1] = 0.0
    place = windows.counts[0] % windows.log.shape[0]
    windows.log[place, 0], windows.log[place, 1] = example, k
    windows.counts[0] += 1


@hot
def has_risen(windows: Windows, error: float, example: int, delta: float) -> bool:
    """Count the error of a row in the only window; whether the error has risen. Then the window is empty again."""
    windows.block[0] += error
    windows.counts[1] += 1
    if windows.counts[1] < BLOCK:
        return False
    windows.counts[1] = 0
    if not closed_block(windows, 0, delta):
        return False
    start_over(windows, 0, example)
    return True


@njit
def watch_rows(block: Any) -> bool:
    """Count rows that are learned, and their mistakes if answers are watched; whether the error has risen.

    ``stop`` is then the row after the alarm. Rows of weight 0 do not count.
    """
    span, windows, examples, scores, y, weight, delta, watching, stop = unpack(block)
    for r in range(span[0], span[1]):
        if weight[r] > 0:
            examples[0] += 1
            error = 1.0 if mistaken(scores[r], y[r]) else 0.0
            if watching and has_risen(windows, error, examples[0], delta):
                stop[0] = r + 1
                return True
    return False


class NoWatch(NamedTuple):
    """No drift detection."""

    nothing: int


class Watch(NamedTuple):
    """A window for each learner, and one for the predictions of the committee.

    A learner is reset if its error rises at about the same time as that of the predictions. Its own error alone proves
    nothing, since boosting gives learners harder examples as the learners before them improve.
    """

    sums: Floats  # this and the next five: as in ``Windows``
    filled: Ints
    totals: Floats
    block: Floats
    log: Ints
    counts: Ints
    rose: Ints  # [windows] the last example at which the error rose; 0: never, or the learner was reset
    delta: float

    def limits(self) -> Limits:
        return windows_limits(self) | {"rose": COUNT}

    def check(self) -> None:
        check_windows(self)


def new_watch(n_learners: int, delta: float) -> Watch:
    n = n_learners + 1
    return Watch(*new_windows(n), filled(0, n, np.int64), delta / n)


NO_WATCH = NoWatch(0)


@hot
def watch_nothing(watch: NoWatch, committee: Any, votes: Floats32, answer: float, y: float, example: int) -> None:
    pass


@hot
def watch_learners(watch: Watch, committee: Any, votes: Floats32, answer: float, y: float, example: int) -> None:
    n = votes.size
    for i in range(n):
        watch.block[i] += 1.0 if mistaken(votes[i], y) else 0.0
    watch.block[n] += 1.0 if mistaken(answer, y) else 0.0
    watch.counts[1] += 1
    if watch.counts[1] == BLOCK:
        watch.counts[1] = 0
        windows = Windows(watch.sums, watch.filled, watch.totals, watch.block, watch.log, watch.counts)
        for k in range(n + 1):
            if closed_block(windows, k, watch.delta):
                watch.rose[k] = example
        for i in range(n):
            if watch.rose[i] > 0 and watch.rose[n] > 0 and abs(watch.rose[i] - watch.rose[n]) <= COINCIDENCE_WINDOW:
                watch.rose[i] = 0
                start_over(windows, i, example)
                _forget(committee, i)


dispatch.register(dispatch.watch, NoWatch, watch_nothing)
dispatch.register(dispatch.watch, Watch, watch_learners)
