"""The machine of an ensemble: the machines of its parts, which see the same rows, and the stack on their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, cut
from onlineboost.engine.explaining import Explained, Terms
from onlineboost.engine.heads import chances
from onlineboost.engine.machine import BatchMachine, Said
from onlineboost.engine.one_row import Steps
from onlineboost.engine.parts import PartsMachine
from onlineboost.engine.sharpness import softmax
from onlineboost.engine.token import Token
from onlineboost.ensembles.newton import (
    CLIP,
    Scales,
    Stack,
    new_classes_work,
    new_stack_work,
    stack_classes,
    stack_rows,
)
from onlineboost.ensembles.resting import Rest, note_row
from onlineboost.storage.validity import require


@dataclass
class EnsembleMachine(PartsMachine):
    """Parts and the stack on them."""

    stack: Stack  # on all parts
    light: Stack  # on the first parts, which never rest
    scales: Scales
    rest: Rest

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        if not learning or self._n_light == len(self.parts):
            return super().run(examples, learning, said)
        answers, start, counts = [np.empty((0, *self.shape_of(examples)[1:]))], 0, np.cumsum(examples.weight > 0)
        while start < examples.y.size:
            due = self.rest.next_stop(self.n_learnt)
            before = int(counts[start - 1]) if start else 0
            stop = int(np.searchsorted(counts, before + due - self.n_learnt)) + 1
            rows = cut(examples, start, min(stop, examples.y.size))
            now = None if said is None else said.rows(start, start + rows.y.size)
            answers.append(super().run(rows, True, now))
            self.rest.note(rows)
            if self.n_learnt == due:
                self._look()
            start += rows.y.size
        return np.concatenate(answers)

    def awake(self) -> tuple[BatchMachine, ...]:
        return self.parts[: self._n_light] if self.rest.resting else self.parts

    def may_rest(self, k: int) -> bool:
        return k >= self._n_light

    def combine(
        self, parts: Sequence[BatchMachine], scores: Floats, rows: Batch, answers: Floats, learning: bool, given: bool
    ) -> Call:
        stacks = self.stack, self.light, self.scales, self.record
        if self.width > 1:
            room = new_classes_work(len(self.parts), self.width)
            return Call(stack_classes, scores, rows.y, rows.weight, answers, *stacks, learning, given, room)
        odds = np.array([part.gives_odds for part in parts])
        work = new_stack_work(len(self.parts))
        return Call(stack_rows, scores, rows.y, rows.weight, answers, *stacks, odds, learning, given, work)

    def share_of(self, k: int, part: Explained) -> list[Terms]:
        weights = self.answering.weights
        if k >= weights.size - 1:
            return []
        slope, offset = self.scales.platt[k].tolist() if not self.parts[k].gives_odds and self.width == 1 else (1, 0)
        odds = slope * part.scores + offset
        return part.scaled(weights[k] * slope * np.minimum(1, CLIP / np.maximum(np.abs(odds), CLIP)))

    @property
    def n_classes(self) -> int:
        return self.parts[0].n_classes

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        parts = self.awake()
        row = steps.row
        scores, answers = np.empty((len(parts), *self.shape_of(row))), score.reshape(self.shape_of(row))
        for k, part in enumerate(parts):
            if not part.add_steps(steps, scores[k].reshape(-1)):
                return False
        steps.calls.append(self.combine(parts, scores, row, answers, steps.learning, False))
        if steps.learning and self._n_light < len(self.parts):
            steps.calls.append(Call(note_row, row, self.rest.rows))
            due = self.rest.next_stop(self.n_learnt)

            def event() -> None:
                if self.n_learnt >= due:
                    self._look()
                    self.token = Token()

            steps.events.append(event)
        steps.machines.append(self)
        return True

    def _look(self) -> None:
        """Decide whether parts rest, or begin to do so."""
        costly = self.parts[self._n_light :]
        full = all(part.out_of_slots for part in costly)
        losses = float(self.stack.loss[0]), float(self.light.loss[0])
        began = self.rest.decide(self.n_learnt, *losses, full)
        self.token = Token()
        if began and self.away is not None:
            self.bring_back()
            self.away.close()
        if began and not self.rest.resting:
            self.stack.loss[0] = self.light.loss[0] = 0
            for part in costly:
                part.go_to(self.n_learnt)

    @property
    def n_resting(self) -> int:
        """Number of parts that rest at present."""
        return len(self.parts) - self._n_light if self.rest.resting else 0

    @property
    def _n_light(self) -> int:
        return self.light.weights.size - 1

    # ---- saving

    def check(self) -> None:
        super().check()
        require(self.rest.clock[1] <= self.n_learnt, "rest.clock", "no time to come")

    def states(self) -> dict[str, Any]:
        names = "record", "stack", "light", "scales", "rest"
        return {name: getattr(self, name) for name in names} | super().states()

    # ---- what the parts know

    @property
    def answering(self) -> Stack:
        """The stack that answers at present."""
        light, every = float(self.light.loss[0]), float(self.stack.loss[0])
        return self.light if self.rest.resting or 0 < light <= every else self.stack

    @property
    def gives_odds(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return chances(scores) if scores.ndim == 1 else softmax(scores)

    def influence(self) -> list[float]:
        return np.maximum(self.scales.earned[:-1], 0).tolist()  # type: ignore[no-any-return]

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """The features' shares of the influence on each part, by what the part has earned."""
        total: dict[str, float] = {}
        numbers: dict[str, int] = {}
        for part, earned in zip(self.parts, self.scales.earned[:-1].tolist(), strict=True):
            mine = part.strengths(names)
            scale = max(earned, 0) / max(sum(abs(strength) for _, _, strength in mine), 1e-300)
            for name, number, strength in mine:
                numbers.setdefault(name, number)  # parts that rested have met features in another order
                total[name] = total.get(name, 0) + scale * abs(strength)
        whole = max(sum(total.values()), 1e-300)
        found = [(name, numbers[name], strength / whole) for name, strength in total.items() if strength > 0]
        return sorted(found, key=lambda one: -one[2])
