"""Streams that change: a model that starts over at an alarm, beside a fast learner that follows every change.

The two are experts of sleeping AdaNormalHedge (Luo and Schapire, 2015). Their regrets are kept at several levels, which
are reset every 250, 1,000, 4,000 and 16,000 examples and never: the expert that was better recently gets more weight,
on any of these time scales. On a stream that does not change the model keeps its weight, by a prior of nine to one.

| here | meaning |
| --- | --- |
| w | prior of the expert times its weight at the level (``hedge.py``) |
| answer | sign of the sum of w times vote over experts and levels |
| score | log odds of the experts' mean probability weighted by w, if the answer has their sign, else almost 0 |
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.boosters.shared import hedge
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32, cut
from onlineboost.data.target import mistaken
from onlineboost.engine import adwin
from onlineboost.engine.adwin import Watch, Windows
from onlineboost.engine.heads import VoteHead, chances, logistic, new_head, vote_correct, with_sign
from onlineboost.engine.machine import BatchMachine, CompiledMachine
from onlineboost.engine.record import Record, Settings
from onlineboost.storage.validity import COUNT, SUM, Limits

_PRIOR = (0.9, 0.1)  # of the model, of the fast learner
_LENGTHS = (1 << 62, 250, 1000, 4000, 16000)  # examples after which a level is reset
_PIECE = 1024  # rows that the model learns before its answers are tested for drift


class Alarm(NamedTuple):
    """The error has risen, and the model or a learner was reset."""

    example: int  # number of examples learnt before the alarm
    learner: int | None  # number of the learner that was reset, from 0; None: the whole model started over


class AdaptiveState(NamedTuple):
    regret: Floats  # [levels, 2] of the model and of the fast learner
    size: Floats
    platt: Floats  # [2, 2] slope and offset of Platt scaling, for the scores of each
    inverse: Floats  # [2, 3] as in ``VoteHead``
    clock: Ints  # [1] examples learnt

    def limits(self) -> Limits:
        return {"size": SUM, "clock": COUNT}


def new_state() -> AdaptiveState:
    levels, platt = len(_LENGTHS), new_head("vote", 1)
    assert isinstance(platt, VoteHead)
    zeros = np.zeros((levels, 2)), np.zeros((levels, 2))
    return AdaptiveState(*zeros, np.tile(platt.platt, (2, 1)), np.tile(platt.inverse, (2, 1)), np.zeros(1, np.int64))


@njit
def combined(state: AdaptiveState, scores: Floats, y: Floats, weight: Floats, learning: bool) -> Floats:
    """Answers from the scores of both, [2, rows]; with ``learning``, each row updates the state for the next."""
    answers = np.empty(y.size)
    shares, nothing = np.empty(2), np.empty(0, np.float32)
    for r in range(y.size):
        said = _weighted_vote(state, scores, r, shares)
        p = 0.0
        for k in range(2):
            p += shares[k] * logistic(state.platt[k, 0] * scores[k, r] + state.platt[k, 1])
        p = min(max(p, 1e-9), 1 - 1e-9)
        odds = math.log(p / (1 - p))
        answers[r] = with_sign(odds, said)
        if learning and weight[r] > 0:
            _update(state, scores, r, said, y[r], weight[r], nothing)
    return answers


@njit
def _weighted_vote(state: AdaptiveState, scores: Floats, r: int, shares: Floats) -> float:
    """The weighted vote, from -1 to 1; writes the share of each expert."""
    top = 0.0
    for level in range(len(_LENGTHS)):
        for k in range(2):
            top = max(top, hedge.exponent(state.regret[level, k] + 1, state.size[level, k] + 1))
    shares[:] = 0.0
    for level in range(len(_LENGTHS)):
        for k in range(2):
            shares[k] += _PRIOR[k] * hedge.weight(state.regret[level, k], state.size[level, k], top)
    total = shares[0] + shares[1]
    shares /= total
    first, second = scores[0, r] >= 0, scores[1, r] >= 0
    return float((shares[0] if first else -shares[0]) + (shares[1] if second else -shares[1]))


@njit
def _update(
    state: AdaptiveState, scores: Floats, r: int, said: float, y: float, weight: float, nothing: Floats32
) -> None:
    for k in range(2):
        loss = 1.0 if mistaken(scores[k, r], y) else 0.0
        for level in range(len(_LENGTHS)):
            hedge.learn(state.regret[level], state.size[level], k, (1 - y * said) / 2, loss)
        vote_correct(VoteHead(state.platt[k], state.inverse[k]), scores[k, r], nothing, y, weight)
    state.clock[0] += 1
    for level in range(len(_LENGTHS)):
        if state.clock[0] % _LENGTHS[level] == 0:
            state.regret[level] = 0.0
            state.size[level] = 0.0


@dataclass
class AdaptiveMachine(BatchMachine):
    """The machines of the model and of the fast learner, and the state that combines them."""

    model: CompiledMachine
    fast: CompiledMachine
    state: AdaptiveState
    windows: Windows
    spec: Any  # the ``Adaptive`` that this was made by
    notify: Callable[[Alarm], None]

    def run(self, examples: Batch, learning: bool) -> Floats:
        batch, fast_batch = self._slotted(examples, learning)
        fast = self.fast.run_slotted(fast_batch, learning)
        if not learning:
            scores = np.stack([self.model.run_slotted(batch, False), fast])
            return combined(self.state, scores, batch.y, batch.weight, False)
        answers, start = [np.empty(0)], 0
        while start < batch.y.size:
            notified = self.n_alarms
            part = cut(batch, start, min(start + _PIECE, batch.y.size))
            scores, stop = self.model.run_slotted(part, True), -1
            if self.spec.reset == "all":
                delta, example = self.spec.delta, int(self.state.clock[0])
                stop = adwin.until_alarm(self.windows, scores, part.y, part.weight, delta, example)
            stop, alarm = (part.y.size, False) if stop < 0 else (stop, True)
            both = np.stack([scores[:stop], fast[start : start + stop]])
            answers.append(combined(self.state, both, part.y[:stop], part.weight[:stop], True))
            start += stop
            if alarm:
                self._start_over()  # the model has learnt beyond the alarm, but none of it is kept
            for event in self.alarms(notified):
                self.notify(event)
        return np.concatenate(answers)

    def _slotted(self, batch: Batch, learning: bool) -> tuple[Batch, Batch]:
        """The rows for both machines; if there is no memory for one, both are as they were."""
        model = self.model
        before, size = (model.committee, model.transforms, model.slots), model.n_slots
        mine = model.slotted(batch, learning)
        try:
            return mine, self.fast.slotted(batch, learning)
        except BaseException:
            model.committee, model.transforms, model.slots = before
            assert model.slots is not None
            model.slots.forget(size)
            raise

    def _start_over(self) -> None:
        fresh: CompiledMachine = self.spec.model().new_machine(0, self.settings.seed)
        fresh.slots, fresh.names = self.model.slots, self.model.names
        fresh.grow(self.model.n_slots)
        pairs = zip(self.model.transforms, fresh.transforms, strict=True)
        fresh.transforms = tuple(new.continued(old) for old, new in pairs)
        self.model = fresh
        self.state.platt[0], self.state.inverse[0] = 0.0, (1.0, 0.0, 1.0)

    @property
    def _watching(self) -> Any:
        return self.model.watch if isinstance(self.model.watch, Watch) else self.windows

    @property
    def n_alarms(self) -> int:
        return int(self._watching.counts[0])

    def alarms(self, since: int = 0) -> list[Alarm]:
        """The alarms from number ``since`` on, as far as they are kept."""
        if since == self.n_alarms:
            return []
        one = self._watching is not self.windows
        return [Alarm(example, k if one else None) for example, k in adwin.alarms(self._watching, since)]

    @property
    def settings(self) -> Settings:  # type: ignore[override]
        return self.model.settings

    @property
    def record(self) -> Record:  # type: ignore[override]
        """The record of the model since it last started over, with the total number of examples."""
        return self.model.record._replace(clock=self.state.clock)

    def trimmed(self) -> Self:
        twin = copy.copy(self)
        twin.model, twin.fast = self.model.trimmed(), self.fast.trimmed()
        return twin

    @property
    def n_slots(self) -> int:
        return self.fast.n_slots

    @property
    def sizes(self) -> list[Any]:
        return [self.model.sizes, self.fast.sizes]

    def resize(self, sizes: list[Any]) -> None:
        model, fast = sizes
        self.model.resize(model)
        self.fast.resize(fast)

    def check(self) -> None:
        self.model.check()
        self.fast.check()

    def name_features(self, names: Mapping[int, str]) -> None:
        self.model.name_features(names)
        self.fast.name_features(names)

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        names = [*names]
        return list(dict.fromkeys([*self.model.columns_not_met(names), *self.fast.columns_not_met(names)]))

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        return self.fast.names_met(names)

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        return self.fast.knows(ids)

    @property
    def n_features_seen(self) -> int | None:
        return self.fast.n_features_seen

    @property
    def n_strayed(self) -> int:
        return self.model.n_strayed

    def strayed(self, names: Mapping[int, str]) -> list[str]:
        return self.model.strayed(names)

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        return self.model.strengths(names)

    def probabilities(self, scores: Floats) -> Floats:
        return chances(scores)

    def states(self) -> dict[str, Any]:
        inner = {"model": self.model, "fast": self.fast}
        parts = {f"{name}.{part}": state for name, machine in inner.items() for part, state in machine.states().items()}
        return parts | {"adaptive": self.state, "windows": self.windows}
