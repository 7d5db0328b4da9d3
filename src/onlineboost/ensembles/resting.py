"""Pauses: ensemble members that are slow and do not improve accuracy see no rows for a while.

On text, trees take 10 to 25 times as long as linear learners, without a gain. The stack pauses members only at fixed
numbers of examples, with effect a fixed number later: so pauses do not depend on batches.

| time | decision |
| --- | --- |
| 96 examples after the start or that of a trial | pause 96 examples later, if there are more features than slots |
| every 4,096 examples | pause 4,096 examples later |
| 262,144 examples after a pause began | a trial, as long as about 20,000 rows of text without trees take |

Members are paused if rows have at least 64 features on average, and the loss of all members together is not below that
of the light ones: by 3 % if there are more features than slots, which trees cannot distinguish, otherwise at all. With
``short``, they are also paused on shorter rows if there are more features than slots and that loss is not .5 % lower.
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
    clock: Ints  # [3] whether members are paused; the example since when; the example of the end, 0: not decided
    rows: Floats  # [2] rows and features in them, since then
    short: bool = False  # whether members are also paused on short rows

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
        """The number of examples at the next possible change, after so many."""
        _, since, end = self.clock.tolist()
        looks = since + FIRST_LOOK, (learned // LOOK_EVERY + 1) * LOOK_EVERY
        look: int = min(look for look in looks if look > learned)
        return max(min(look, end), learned + 1) if end else look

    def may_change(self, longest: int, full: bool) -> bool:
        """Whether something may be decided on or begin, while rows come that have at most ``longest`` features."""
        rows, features = self.rows.tolist()
        long = longest >= LONG_ROW or (rows > 0 and features >= LONG_ROW * rows)
        return bool(self.clock[2]) or long or (self.short and full)

    def decide(self, learned: int, loss: float, light_loss: float, full: bool) -> bool:
        """Decide about the next pause or trial after so many examples; returns whether it begins now.

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
