"""One row at a time: the calls that take it through a machine, with all their arguments kept.

Python would take ten times as long as the learners, to make arrays and to find the functions for them. So a row is
written into arrays that stay where they are, and a list of compiled calls is run. The list is made anew when a state of
the machine was replaced, which is seldom. What happens seldom goes the way of batches: features that are new, rows
that are replayed, transforms other than the standardiser.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, Ints, Ints32
from onlineboost.engine.passes import at_once
from onlineboost.engine.token import Prepared
from onlineboost.transforms.slots import Slots, find_row

_pack = functools.lru_cache(256)(lambda n: struct.Struct(f"{n}f").pack_into)


@dataclass
class Steps:
    """The calls for one row."""

    row: Batch  # as it comes
    learning: bool
    looks: list[Call] = field(default_factory=list)  # these change nothing
    calls: list[Call] = field(default_factory=list)
    events: list[Callable[[], None]] = field(default_factory=list)  # to be called afterwards, if the row was learnt
    status: Ints = field(default_factory=lambda: np.zeros(1, np.int64))  # [1] 1 if a look says that there is no way
    machines: list[Any] = field(default_factory=list)  # whose states are used
    found: dict[Any, Batch] = field(default_factory=dict)  # rows with slots, by what they were found with

    def with_labels(self, y: Floats) -> Steps:
        """The same steps, for a machine that gets other labels."""
        return replace(self, row=self.row._replace(y=y))

    def slotted(self, slots: Slots, missing: bool, room: int) -> Batch:
        """The row with slots for ids; slots beyond ``room`` are left out, or there is no way if it is learnt."""
        key = id(slots), missing, room
        if key not in self.found:
            size = self.row.indices.size
            ends = np.zeros(2, np.int64), np.zeros(size, np.int32), np.zeros(size, np.float32)
            self.found[key] = Batch(*ends, self.row.y, self.row.weight)
            arguments = self.row, slots, self.found[key], self.learning, missing, room, self.status
            self.looks.append(Call(find_row, *arguments))
        return self.found[key]._replace(y=self.row.y)


class OneRow(Prepared):
    """A machine for one row of up to ``size`` features at a time, in one thread."""

    def __init__(self, machine: Any, learning: bool, size: int) -> None:
        arrays = np.zeros(2, np.int64), np.zeros(size, np.int32), np.zeros(size, np.float32), np.ones(1), np.ones(1)
        steps = Steps(Batch(*arrays), learning)
        self.ends, self.ids, self.values, self.y, self.weight = arrays
        self.size, self.memory = size, memoryview(self.values).cast("B")  # type: ignore[arg-type]
        self.score = np.zeros(machine.width)
        self.possible = machine.add_steps(steps, self.score)
        self.status, self.events = steps.status, steps.events
        self.looks, self.calls = [call.run for call in steps.looks], [call.run for call in steps.calls]
        self.kept = steps  # whose arrays are used
        self.prepare(steps.machines)

    def is_current(self, size: int) -> bool:
        """Whether the machine has the states that this was made for, and there is room for a row of this size."""
        return self.tokens is not None and size <= self.size and self.is_for(self.kept.machines)

    def run(self, ids: Ints32, values: tuple[float, ...]) -> Any:
        """The answer to a row, which is learnt if this was made for it; None if it must go the way of batches."""
        n = len(values)
        self.ids[:n] = ids
        _pack(n)(self.memory, 0, *values)
        self.ends[1] = n
        at_once(self.looks)
        if self.status[0]:
            self.status[0] = 0
            return None
        at_once(self.calls)
        score = self.score
        for event in self.events:  # one may empty this
            event()
        return score.item() if score.size == 1 else score.copy()
