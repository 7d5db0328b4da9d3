"""Numbers as targets: centred, scaled and tamed, so that neither their unit nor a single row matters.

The first 16 rows are held back, and answered by the median of the targets so far. Then

| symbol | here | meaning |
| --- | --- | --- |
| c | ``units[0]`` | median of the first targets |
| s | ``units[1]`` | their mean distance from c, without the largest; of counts (``EXP``), their mean |
| z | | (y - c) / s |
| m, v | ``moments`` | running mean and variance of z, of which no value counts as more than 4 deviations |
| t | | z within m +- 10 sqrt(v): what the learners see |

One row beyond a limit is an outlier, many in turn are a change. After 16 in turn beyond the same limit, c moves so that
their median becomes m: learners go on as if nothing had changed. Rows in turn beyond both limits, k more than those
beyond the last one, make the limits 2^k times as wide. Learners answer in units of z, and answers are c + s z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32, cut
from onlineboost.engine import replay, schedule
from onlineboost.engine.explaining import Explained, Terms, trust_nothing
from onlineboost.engine.heads import logistic
from onlineboost.engine.machine import BatchMachine, Said, told
from onlineboost.engine.one_row import Steps
from onlineboost.engine.parts import PartsMachine
from onlineboost.engine.record import Record, Settings, new_record
from onlineboost.engine.replay import Kept, KeptNumbers
from onlineboost.engine.schedule import Stage
from onlineboost.engine.token import Token
from onlineboost.errors import ParameterError
from onlineboost.storage.validity import COUNT, Limits, require

FIRST = 16  # rows held back
IDENTITY, LOGISTIC, EXP = range(3)  # links: how a score becomes an answer
_LIMIT, _COUNTED = 10.0, 4.0  # in standard deviations
_SLOWEST = 1e-4  # share of the last row in the moments
_MOST = 1e30  # of z
_FARTHEST = 1e32  # of answers from the centre, which may have moved since they were given
_LEAST_CHANGE = 1e-9  # of a score that is explained by features
_MOST_TURNS = 60  # rows in turn beyond the limit that widen it


class NumberHead(NamedTuple):
    """The score is the answer."""

    n: int


@hot
def answer(head: NumberHead, score: float, h: Floats32) -> float:
    return score


@hot
def correct(head: NumberHead, score: float, h: Floats32, y: float, weight: float) -> None:
    pass


dispatch.register(dispatch.answer, NumberHead, answer)
dispatch.register(dispatch.correct, NumberHead, correct)
dispatch.register(dispatch.trust, NumberHead, trust_nothing)


class Taming(NamedTuple):
    units: Floats  # [2] c and s
    moments: Floats  # [2] m and v
    recent: Floats  # [FIRST] z of the rows in turn beyond the same limit
    clock: Ints  # [3] rows; rows in turn beyond a limit; those in turn above it, or below (negative)
    link: int

    def limits(self) -> Limits:
        return {"clock": (1 - FIRST, COUNT[1])}

    def check(self) -> None:
        require(bool(self.units[1] > 0), "units", "a centre and a positive scale")
        require(bool(self.moments[1] >= 0), "moments", "a mean and a variance")
        rows, turns, same = self.clock.tolist()
        require(rows >= 0 and FIRST > abs(same) <= turns, "clock", "a number of rows, and of rows in turn")


def new_taming(link: int = IDENTITY) -> Taming:
    return Taming(np.array([0.0, 1.0]), np.array([0.0, 1.6]), np.zeros(FIRST), np.zeros(3, np.int64), link)


def set_units(taming: Taming, first: Floats) -> None:
    """Centre and scale, from the first targets: one of them can be anything."""
    if taming.link == EXP:
        taming.units[1] = float(np.sort(first)[: max(first.size - 1, 1)].mean()) or 1.0
    if taming.link != IDENTITY:
        return
    c = float(np.sort(first)[first.size // 2])
    far = np.sort(np.abs(first - c))
    scale = float(far[: max(far.size - 1, 1)].mean()) or float(far[-1])
    taming.units[:] = c, scale if scale > 1e-12 * abs(c) else abs(c) or 1.0


@hot
def tame(taming: Taming, y: float) -> float:
    """What is learnt of a target; the state is ready for the next."""
    clock, moments = taming.clock, taming.moments
    if taming.link == LOGISTIC:
        return y
    z = (y - taming.units[0]) / taming.units[1]
    z = min(max(z, -_MOST), _MOST)
    m, deviation = moments[0], math.sqrt(moments[1])
    side = 1 if z > m + _LIMIT * deviation else (-1 if z < m - _LIMIT * deviation else 0)
    clock[1] = clock[1] + 1 if side != 0 else 0
    clock[2] = clock[2] + side if clock[2] * side > 0 else side
    width = deviation * 2.0 ** min(clock[1] - abs(clock[2]), _MOST_TURNS)
    share = max(1 / (clock[0] + 1.0 + FIRST), _SLOWEST)
    e = min(max(z - m, -_COUNTED * width), _COUNTED * width)
    moments[0] = m + share * e
    moments[1] = (1 - share) * (moments[1] + share * e * e)
    clock[0] += 1
    if side != 0:
        _move(taming, z)
    return float(min(max(z, m - _LIMIT * width), m + _LIMIT * width))


@lean
def _move(taming: Taming, z: float) -> None:
    """Note a row beyond a limit; if it is the last of many in turn, the centre moves to them."""
    clock, recent, units = taming.clock, taming.recent, taming.units
    at = abs(clock[2]) - 1  # kept in order
    while at > 0 and recent[at - 1] > z:
        recent[at] = recent[at - 1]
        at -= 1
    recent[at] = z
    if abs(clock[2]) == FIRST:
        clock[1] = clock[2] = 0
        if taming.link == IDENTITY:
            units[0] += units[1] * (recent[FIRST // 2] - taming.moments[0])


@njit
def tame_rows(block: Any) -> None:
    y, weight, tamed, centres, taming = unpack(block)
    for r in range(y.size):
        centres[r] = taming.units[0]
        tamed[r] = tame(taming, y[r]) if weight[r] > 0 else 0.0


@njit
def answer_rows(block: Any) -> None:
    """Answers from the scores of one part; ``centres`` has c before each row."""
    scores, centres, weight, answers, taming, record, learning, given = unpack(block)
    for r in range(weight.size):
        if not given:
            answers[r] = _in_units(taming, centres[r], scores[0, r])
        if learning and weight[r] > 0:
            record.totals[0] += weight[r]
            record.clock[0] += 1


@hot
def _in_units(taming: Taming, centre: float, score: float) -> float:
    if taming.link == LOGISTIC:
        return logistic(score)
    if taming.link == EXP:
        return float(taming.units[1] * math.exp(min(score, 50.0)))
    return float(centre + taming.units[1] * score)


@njit
def _answers_in_units(taming: Taming, scores: Floats) -> Floats:
    """Answers by a link other than the identity."""
    found = np.empty(scores.size)
    for r in range(scores.size):
        found[r] = _in_units(taming, 0.0, scores[r])
    return found


@dataclass
class NumbersMachine(PartsMachine):
    """A machine whose learners see tamed targets; its one part answers."""

    taming: Taming
    held: Kept = field(default=replay.NO_NUMBERS, kw_only=True)  # the first rows, until there are enough of them

    # ---- learning and answers

    def could_say(self, said: Said) -> bool:
        """Answers are compared with targets in units of these."""
        far = np.abs(said.scores[:, : self.width] - self.taming.units[0]) / _FARTHEST
        return super().could_say(said) and bool((far <= self.taming.units[1]).all())

    def may_be_silent(self, k: int) -> bool:
        return True  # while the first rows are held back

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        if not self.young:
            return self.run_tamed(examples, learning, said)
        if not learning:
            return np.repeat(self._first_answers(self.held.y), examples.y.size, axis=0).reshape(self.shape_of(examples))
        counts = self.n_learnt + np.cumsum(examples.weight > 0)
        stop = min(int(np.searchsorted(counts, FIRST)) + 1, examples.y.size)
        answers = self._hold(cut(examples, 0, stop))
        if stop == examples.y.size:
            return answers
        rest = None if said is None else said.rows(stop, examples.y.size)
        return np.concatenate([answers, self.run_tamed(cut(examples, stop, examples.y.size), True, rest)])

    def explain(self, examples: Batch) -> Explained:
        if self.young:
            return Explained(self.run(examples, False).reshape(examples.y.size, -1), [])
        return super().explain(examples)

    def share_of(self, k: int, part: Explained) -> list[Terms]:
        """Scores in units of the target. A link leads from the answer without features to that with all."""
        if self.taming.link == IDENTITY:
            return part.scaled(np.full(part.scores.shape, self.taming.units[1]))
        last, change = part.scores[:, 0], part.sums()
        with_all, without = (_answers_in_units(self.taming, scores) for scores in (last, last - change))
        slopes = (with_all - without) / np.where(np.abs(change) > _LEAST_CHANGE, change, np.inf)
        return part.scaled(slopes.reshape(-1, 1))

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        return np.isin(ids, self.held.indices) if self.young else super().knows(ids)

    @property
    def young(self) -> bool:
        """Whether rows are held back."""
        return self.n_learnt < FIRST

    def _hold(self, rows: Batch) -> Floats:
        """Hold rows back; learn all of them when there are enough."""
        answers, known = [np.empty((0, self.width))], self.held.y
        for y, weight in zip(rows.y.tolist(), rows.weight.tolist(), strict=True):
            answers.append(self._first_answers(known))
            known = np.append(known, y) if weight > 0 else known
        self.held = self.held.with_rows(rows)
        self.record.clock[0] = self.held.y.size
        if not self.young:
            held, self.held, self.token = self.held.batch(), replay.NO_NUMBERS, Token()
            set_units(self.taming, held.y)
            self.record.clock[0] = 0
            self.run_tamed(held, True, None)
        return np.concatenate(answers).reshape(self.shape_of(rows))

    def _first_answers(self, known: Floats) -> Floats:
        """The answer and its bounds, [1, width], by the targets so far: their median, and their range."""
        if not known.size:
            return np.full((1, self.width), 0.5 if self.taming.link == LOGISTIC else 0.0)
        middle = float(np.sort(known)[known.size // 2]) if self.taming.link == IDENTITY else float(known.mean())
        bounds = [float(known.min()), float(known.max())] * ((self.width - 1) // 2)
        return np.array([[middle, *bounds]])

    def run_tamed(self, rows: Batch, learning: bool, said: Said | None) -> Floats:
        """``run`` after the first rows."""
        batches, centres = self.batches_of(rows, learning)
        answers, given = self._answers(rows, learning, said)
        scores = self.scores_of(self.parts, batches, learning, self._shares(said))
        self._finish(scores, centres, rows, answers, learning, given)()
        return answers

    def batches_of(self, rows: Batch, learning: bool) -> tuple[list[Batch], Floats]:
        """The rows for each part, with slots for ids and tamed targets; and the centre before each row."""
        batches, targets = self._slotted(self.parts, rows, learning), np.zeros(rows.y.size)
        centres = np.full(rows.y.size, self.taming.units[0])
        if learning:
            Call(tame_rows, rows.y, rows.weight, targets, centres, self.taming)()
        return [batch._replace(y=targets) for batch in batches], centres

    def _answers(self, rows: Batch, learning: bool, said: Said | None) -> tuple[Floats, bool]:
        """Memory for the answers, or those given before; and whether they are given."""
        answers, given = np.empty(self.shape_of(rows)), learning and said is not None
        if given and said is not None:
            answers.reshape(rows.y.size, -1)[:] = said.scores[:, : self.width]
            given = not bool(np.isnan(answers).any())
        return answers, given

    def scores_of(
        self, parts: Sequence[BatchMachine], batches: list[Batch], learning: bool, shares: list[Said] | None
    ) -> Floats:
        """The scores of parts, [parts, rows]; each goes through its own batch."""
        scores = np.empty((len(parts), batches[0].y.size))

        def stage_of(k: int) -> Stage:
            part = parts[k]
            part.n_jobs = self.n_jobs if len(parts) == 1 else 1

            def go(_: int) -> None:
                if shares is None:
                    scores[k] = part.run_slotted(batches[k], learning)
                elif learning:
                    scores[k] = told(part.run_slotted, batches[k], shares[k], 1)[:, 0]
                else:
                    scores[k] = part.run_slotted(batches[k], False, shares[k])
                    shares[k].scores[:, 0] = scores[k]

            return Stage(go)

        stages = [stage_of(k) for k in range(len(parts))]
        if learning and shares is None and len(parts) > 1 and self.n_jobs > 1:
            schedule.run(stages, 1, self.n_jobs)
        else:
            for stage in stages:
                stage.run(0)
        return scores

    def combine(
        self, parts: Sequence[BatchMachine], scores: Floats, rows: Batch, answers: Floats, learning: bool, given: bool
    ) -> Call:
        return self._finish(scores, np.full(rows.y.size, self.taming.units[0]), rows, answers, learning, given)

    def _finish(
        self, scores: Floats, centres: Floats, rows: Batch, answers: Floats, learning: bool, given: bool
    ) -> Call:
        return Call(answer_rows, scores, centres, rows.weight, answers, self.taming, self.record, learning, given)

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        steps.machines.append(self)
        if self.young:
            return False
        tamed, centre, scores = np.zeros(1), self.taming.units[:1], np.empty((1, 1))
        if steps.learning:
            centre = np.zeros(1)
            steps.calls.append(Call(tame_rows, steps.row.y, steps.row.weight, tamed, centre, self.taming))
        if not self.parts[0].add_steps(steps.with_labels(tamed), scores[0]):
            return False
        steps.calls.append(self._finish(scores, centre, steps.row, score, steps.learning, False))
        return True

    # ---- saving

    @property
    def sizes(self) -> list[Any]:
        return [self.held.sizes, super().sizes]

    def resize(self, sizes: list[Any]) -> None:
        held, parts = sizes
        self.held = replay.planned_rows(held, FIRST, KeptNumbers)
        super().resize(parts)

    def check(self) -> None:
        super().check()
        require(self.held.y.size == (self.n_learnt if self.young else 0), "held.y", "the rows that are held back")

    def states(self) -> dict[str, Any]:
        return {"record": self.record, "taming": self.taming, "held": self.held} | super().states()

    # ---- what was learnt

    @property
    def learners(self) -> Record:
        return self.parts[0].learners

    @property
    def gives_odds(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        """There are none."""
        return np.full(len(scores), np.nan)

    # ---- learners on other machines: each part is divided by itself, since some parts need the scores of others

    def check_divisible(self) -> None:
        if not self._divisible:
            self.parts[0].check_divisible()

    @property
    def _divisible(self) -> list[BatchMachine]:
        found = []
        for part in self.parts:
            with suppress(ParameterError):
                part.check_divisible()
                found.append(part)
        return found

    def go_away(self, away: Any) -> None:
        super().go_away(away)
        parts = self._divisible
        for part, share in zip(parts, [None] * len(parts) if away is None else away.shared(len(parts)), strict=True):
            part.go_away(share)

    def bring_back(self) -> None:
        for part in self.parts:
            part.bring_back()

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        return self.parts[0].strengths(names)


def numbers_machine(part: BatchMachine, link: int = IDENTITY) -> NumbersMachine:
    """The machine of a model with one part."""
    settings = Settings(1, hard=False, sample=False, seed=part.settings.seed, numbers=True)
    return NumbersMachine(settings, new_record(1), (part,), new_taming(link))
