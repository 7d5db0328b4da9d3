"""The node of an ensemble: the nodes of its members, which see the same rows, and the stack on their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, cut
from onlineboost.engine.node import NEVER, Node
from onlineboost.engine.remote import PartOfEnsemble
from onlineboost.engine.slotting import give_slots
from onlineboost.engine.stage import Stage
from onlineboost.ensembles.resting import Rest, note_rows
from onlineboost.ensembles.stack import CLIP, Scales, Stack, new_classes_work, new_stack_work, stack_classes, stack_rows
from onlineboost.loop.explaining import Explained, Terms, as_shares
from onlineboost.loop.heads import chances
from onlineboost.loop.record import Record, Settings
from onlineboost.loop.temperature import softmax
from onlineboost.storage.validity import require


@dataclass
class StackedNode(Node):
    """Members and the stack on them."""

    settings: Settings
    record: Record  # of the members: their edges, and the predictions compared with those of the first member
    parts: tuple[Any, ...]
    stack: Stack  # on all members
    light: Stack  # on the first members, which are never paused
    scales: Scales
    rest: Rest

    due = 0  # number of rows after which ``look`` decides

    def __post_init__(self) -> None:
        self.share_slots()

    # ---- rows

    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        parts, capacity, learning = self.awake(), stage.table.capacity, stage.mode.learning
        stage.outs.append(out)
        scores = stage.array(f"scores{len(parts)}", (len(parts), capacity, self.width))
        for k, part in enumerate(parts):
            stage.part(k, part, y, scores[k])
        for part in self.parts[len(parts) :]:
            stage.silent(part)
        stage.call(*self.combination(stage.span, scores, y, stage.table.weight, out, learning, stage.mode.given))
        if learning and self._n_light < len(self.parts):
            stage.program.note(stage.path, note_rows, self.rest.rows)

    def combination(
        self, span: Any, scores: Floats, y: Floats, weight: Floats, out: Floats, learning: bool, given: bool
    ) -> tuple[Any, ...]:
        """The compiled function that predicts by the scores of members, [members, rows, width]; and its arguments."""
        stacks, n = (self.stack, self.light, self.scales, self.record), len(scores)
        if self.width > 1:
            room = new_classes_work(len(self.parts), self.width)
            return stack_classes, span, scores, y, weight, out, *stacks, learning, given, room
        odds = np.array([part.gives_odds for part in self.parts[:n]])
        flat, answers = scores.reshape(n, -1), out.reshape(-1)
        work = new_stack_work(len(self.parts))
        return stack_rows, span, flat, y, weight, answers, *stacks, odds, learning, given, work

    def awake(self) -> tuple[Any, ...]:
        return self.parts[: self._n_light] if self.rest.resting else self.parts

    def may_rest(self, k: int) -> bool:
        return k >= self._n_light

    def may_be_silent(self, k: int) -> bool:
        return self.may_rest(k)

    def countdown(self, longest: int = NEVER) -> int:
        left: int = min(part.countdown(longest) for part in self.awake())
        if self._n_light == len(self.parts):
            return left
        self.due = self.rest.next_stop(self.n_learned)
        if not self.rest.may_change(longest, self.lacks_slots):
            return left
        return min(left, self.due - self.n_learned)

    @property
    def lacks_slots(self) -> bool:
        return self._n_light < len(self.parts) and all(part.out_of_slots for part in self.parts[self._n_light :])

    def look(self) -> None:
        """Pause members, end a pause, or decide about the next one."""
        for part in self.awake():
            part.look()
        if self._n_light == len(self.parts) or self.n_learned < self.due:
            return
        losses = float(self.stack.loss[0]), float(self.light.loss[0])
        began = self.rest.decide(self.n_learned, *losses, self.lacks_slots)
        if began and self.away is not None:
            self.bring_back()
            self.away.close()
        if began and not self.rest.resting:
            self.stack.loss[0] = self.light.loss[0] = 0
            for part in self.parts[self._n_light :]:
                part.go_to(self.n_learned)
        if began:
            self.replace()

    @property
    def n_classes(self) -> int:
        return int(self.parts[0].n_classes)

    @property
    def n_resting(self) -> int:
        """Number of paused members."""
        return len(self.parts) - self._n_light if self.rest.resting else 0

    @property
    def _n_light(self) -> int:
        return self.light.weights.size - 1

    # ---- files

    def check(self) -> None:
        super().check()
        require(self.rest.clock[1] <= self.n_learned, "rest.clock", "no time to come")

    def own_states(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("record", "stack", "light", "scales", "rest")}

    # ---- members

    @property
    def answering(self) -> Stack:
        """The stack that answers at present."""
        light, every = float(self.light.loss[0]), float(self.stack.loss[0])
        return self.light if self.rest.resting or 0 < light <= every else self.stack

    @property
    def gives_odds(self) -> bool:
        return True

    @property
    def gives_chances(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return chances(scores) if scores.shape[1] == 1 else softmax(scores)

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        found = [part.explain(batches, rows) for part in self.awake()]
        scores, out = np.ascontiguousarray([one.scores for one in found]), np.empty((rows.y.size, self.width))
        Call(*self.combination(np.array([0, rows.y.size]), scores, rows.y, rows.weight, out, False, False))()
        return Explained(out, [term for k, one in enumerate(found) for term in self._share_of(k, one)])

    def _share_of(self, k: int, part: Explained) -> list[Terms]:
        """The terms of member k, weighted as in the predictions."""
        weights = self.answering.weights
        if k >= weights.size - 1:
            return []
        slope, offset = self.scales.platt[k].tolist() if not self.parts[k].gives_odds and self.width == 1 else (1, 0)
        odds = slope * part.scores + offset
        return part.scaled(weights[k] * slope * np.minimum(1, CLIP / np.maximum(np.abs(odds), CLIP)))

    def importances(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for part, share in zip(self.parts, np.maximum(self.scales.earned[:-1], 0).tolist(), strict=True):
            for id, mine in part.importances().items() if share > 0 else ():
                found[id] = found.get(id, 0.0) + share * mine
        return as_shares(found)

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """The features' shares of the influence on each member, weighted by the gain of the member."""
        total: dict[str, float] = {}
        numbers: dict[str, int] = {}
        for part, earned in zip(self.parts, self.scales.earned[:-1].tolist(), strict=True):
            mine = part.strengths(names)
            scale = max(earned, 0) / max(sum(abs(strength) for _, _, strength in mine), 1e-300)
            for name, number, strength in mine:
                numbers.setdefault(name, number)  # paused members have met features in another order
                total[name] = total.get(name, 0) + scale * abs(strength)
        whole = max(sum(total.values()), 1e-300)
        found = [(name, numbers[name], strength / whole) for name, strength in total.items() if strength > 0]
        return sorted(found, key=lambda one: -one[2])

    # ---- other machines

    def check_divisible(self) -> None:
        """Members can always be divided."""

    @property
    def learns_away(self) -> bool:  # type: ignore[override]
        return self.awake() is self.parts

    def learn_away(self, rows: Batch) -> Floats:
        counts = np.cumsum(rows.weight > 0)
        rows = cut(rows, 0, min(int(np.searchsorted(counts, self.countdown())) + 1, rows.y.size))
        batches, out = give_slots(self, rows), np.empty((rows.y.size, self.width))
        mine = [batches[id(part.leaves[0].slots.used)] if part.leaves else rows for part in self.parts]
        n_slots = [part.n_slots for part in self.parts]
        for start, stop, results in self.away.learn(mine, n_slots, self._work, chained=False):
            scores, piece = np.ascontiguousarray([scores for scores, _ in results]), cut(rows, start, stop)
            span = np.array([0, stop - start])
            Call(*self.combination(span, scores, piece.y, piece.weight, out[start:stop], True, False))()
            for part, (_, events) in zip(self.parts, results, strict=True):
                for event in events:
                    part.announce(event)
        if self._n_light < len(self.parts):
            Call(note_rows, rows, np.array([0, rows.y.size]), self.rest.rows)()
        self.look()
        return out

    def _work(self) -> list[PartOfEnsemble]:
        found = []
        for part in self.parts:
            twin = part.elsewhere()
            twin.listen(_silent)
            found.append(PartOfEnsemble(twin))
        return found

    def bring_back(self) -> None:
        if self.away is not None and not self.away.current:
            pairs = zip(self.parts, self.away.states(), strict=True)
            self.replace(parts=tuple(work.node.returned(part) for part, work in pairs))
            for node in self.walk():
                node.prepared = self.prepared


def _silent(event: Any) -> None:
    """Alarms of a member on another machine are reported here."""
