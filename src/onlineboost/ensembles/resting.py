"""Resting: parts of an ensemble that cost much and earn nothing see no rows for a while.

On text, trees take 10 to 25 times as long as linear learners, for nothing. What flows back from the stack to the parts
is decided at fixed numbers of examples and takes effect at a fixed number later: it does not depend on batches.

| when | what |
| --- | --- |
| 96 examples after the start or that of a trial | rest from 96 later on, if there are more features than slots |
| every 4,096 examples | rest from 4,096 later on |
| 262,144 examples after a rest began | a trial, which costs as much as some 20,000 rows of text without trees |

Parts rest if rows have 64 features at least, on average, and the loss of all parts together is not below that of the
light ones: by 3 % where there are more features than slots, so that trees cannot tell them apart, else at all. With
``short``, they also rest on shorter rows if there are more features than slots and that loss is not .5 % lower.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Floats, Ints
from onlineboost.storage.validity import COUNT, SUM, Limits, require

FIRST_LOOK = 96
LOOK_EVERY = 4096
LENGTH = 1 << 18  # of a rest
LONG_ROW = 64  # features
_LEAST_GAIN, _LEAST_OF_SHORT = 0.03, 0.005


class Rest(NamedTuple):
    clock: Ints  # [3] whether parts rest; since which example they do or do not; when that ends, 0: not decided
    rows: Floats  # [2] rows and features in them, since then
    short: bool = False  # whether parts also rest on short rows

    def limits(self) -> Limits:
        return {"clock": COUNT, "rows": SUM}

    def check(self) -> None:
        rests, since, end = self.clock.tolist()
        require(rests <= 1 and (end == 0 or end > since), "clock", "times in their order")
        require(not rests or end == since + LENGTH, "clock", "an end of the rest")

    @property
    def resting(self) -> bool:
        return bool(self.clock[0])

    def next_stop(self, learned: int) -> int:
        """The number of examples after which something may change, if so many were learned."""
        _, since, end = self.clock.tolist()
        looks = since + FIRST_LOOK, (learned // LOOK_EVERY + 1) * LOOK_EVERY
        look: int = min(look for look in looks if look > learned)
        return max(min(look, end), learned + 1) if end else look

    def decide(self, learned: int, loss: float, light_loss: float, full: bool) -> bool:
        """Decide what comes next, when so many examples were learned; returns whether it begins now.

        ``full`` tells whether there are more features than slots.
        """
        _, since, end = self.clock.tolist()
        if end and learned >= end:
            rests = not self.resting
            self.clock[:] = rests, learned, learned + LENGTH if rests else 0
            self.rows[:] = 0
            return True
        first, later = full and learned == since + FIRST_LOOK, learned % LOOK_EVERY == 0
        long = self.rows[1] >= LONG_ROW * self.rows[0]
        useless = loss >= (1 - _LEAST_GAIN if full else 1) * light_loss
        short = self.short and full and later and loss >= (1 - _LEAST_OF_SHORT) * light_loss
        if not end and (((first or later) and long and useless) or short):
            self.clock[2] = learned + (FIRST_LOOK if first else LOOK_EVERY)
        return False


@njit
def note_rows(block: Any) -> None:
    """Count rows that are to be learned, and their features: values that are neither zero nor missing."""
    batch, span, rows = unpack(block)
    for r in range(span[0], span[1]):
        if batch.weight[r] > 0:
            rows[0] += 1
            for k in range(batch.indptr[r], batch.indptr[r + 1]):
                x = batch.values[k]
                rows[1] += 1 if abs(x) > 0 else 0


def new_rest(short: bool = False) -> Rest:
    return Rest(np.zeros(3, np.int64), np.zeros(2), short)
