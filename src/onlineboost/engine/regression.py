"""Target scaling: numbers are centred, scaled and limited, so that neither their unit nor a single row matters.

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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32, cut
from onlineboost.engine import replay
from onlineboost.engine.node import Node, PastAnswers, of_part
from onlineboost.engine.replay import Kept, KeptNumbers
from onlineboost.engine.stage import Stage
from onlineboost.errors import ParameterError
from onlineboost.loop.explaining import Explained, as_shares, trust_nothing
from onlineboost.loop.heads import logistic
from onlineboost.loop.record import Record, Settings, new_record
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


class TargetScaling(NamedTuple):
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


def new_scaling(link: int = IDENTITY) -> TargetScaling:
    return TargetScaling(np.array([0.0, 1.0]), np.array([0.0, 1.6]), np.zeros(FIRST), np.zeros(3, np.int64), link)


def set_units(scaling: TargetScaling, first: Floats) -> None:
    """Centre and scale, from the first targets: one of them can be anything."""
    if scaling.link == EXP:
        scaling.units[1] = float(np.sort(first)[: max(first.size - 1, 1)].mean()) or 1.0
    if scaling.link != IDENTITY:
        return
    c = float(np.sort(first)[first.size // 2])
    far = np.sort(np.abs(first - c))
    scale = float(far[: max(far.size - 1, 1)].mean()) or float(far[-1])
    scaling.units[:] = c, scale if scale > 1e-12 * abs(c) else abs(c) or 1.0


@hot
def scale_target(scaling: TargetScaling, y: float) -> float:
    """What is learnt of a target; the state is ready for the next."""
    clock, moments = scaling.clock, scaling.moments
    if scaling.link == LOGISTIC:
        return y
    z = (y - scaling.units[0]) / scaling.units[1]
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
        _move(scaling, z)
    return float(min(max(z, m - _LIMIT * width), m + _LIMIT * width))


@lean
def _move(scaling: TargetScaling, z: float) -> None:
    """Note a row beyond a limit; if it is the last of many in turn, the centre moves to them."""
    clock, recent, units = scaling.clock, scaling.recent, scaling.units
    at = abs(clock[2]) - 1  # kept in order
    while at > 0 and recent[at - 1] > z:
        recent[at] = recent[at - 1]
        at -= 1
    recent[at] = z
    if abs(clock[2]) == FIRST:
        clock[1] = clock[2] = 0
        if scaling.link == IDENTITY:
            units[0] += units[1] * (recent[FIRST // 2] - scaling.moments[0])


@njit
def scale_targets(block: Any) -> None:
    """What is learnt of targets, and c before each row."""
    span, y, weight, targets, centres, scaling, learning = unpack(block)
    for r in range(span[0], span[1]):
        centres[r] = scaling.units[0]
        targets[r] = scale_target(scaling, y[r]) if learning and weight[r] > 0 else 0.0


@njit
def answer_rows(block: Any) -> None:
    """Answers from scores, [rows, 1]; ``centres`` has c before each row."""
    span, scores, centres, weight, answers, scaling, record, learning, given = unpack(block)
    for r in range(span[0], span[1]):
        if not (given and answers[r, 0] == answers[r, 0]):
            answers[r, 0] = _in_units(scaling, centres[r], scores[r, 0])
        if learning and weight[r] > 0:
            record.totals[0] += weight[r]
            record.clock[0] += 1


@hot
def _in_units(scaling: TargetScaling, centre: float, score: float) -> float:
    if scaling.link == LOGISTIC:
        return logistic(score)
    if scaling.link == EXP:
        return float(scaling.units[1] * math.exp(min(score, 50.0)))
    return float(centre + scaling.units[1] * score)


@njit
def _answers_in_units(scaling: TargetScaling, scores: Floats) -> Floats:
    """Answers by a link other than the identity."""
    found = np.empty(scores.size)
    for r in range(scores.size):
        found[r] = _in_units(scaling, 0.0, scores[r])
    return found


@dataclass
class RegressionNode(Node):
    """A node whose learners see scaled targets; its one part answers."""

    settings: Settings
    record: Record
    parts: tuple[Any, ...]
    scaling: TargetScaling
    held: Kept = field(default=replay.NO_NUMBERS, kw_only=True)  # the first rows, until there are enough of them

    _begins = False  # whether these are being learnt

    def __post_init__(self) -> None:
        self.share_slots()

    # ---- rows

    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        stage.outs.append(out)
        if self.young:
            for part in self.parts:
                stage.silent(part)
            stage.step(partial(self._answer_first, stage.program_of, stage.span, stage.mode.learning, y, out))
        else:
            capacity = stage.table.capacity
            targets, centres = stage.array("targets", capacity), stage.array("centres", capacity)
            learning, weight = stage.mode.learning, stage.table.weight
            stage.call(scale_targets, stage.span, y, weight, targets, centres, self.scaling, learning)
            self.add_parts(stage, y, targets, centres, out)

    def add_parts(self, stage: Stage, y: Floats, targets: Floats, centres: Floats, out: Floats) -> None:
        """Add the calls after those that scale targets."""
        scores = stage.array("scores", (stage.table.capacity, 1))
        stage.part(0, self.parts[0], targets, scores)
        states = self.scaling, self.record, stage.mode.learning, stage.mode.given
        stage.call(answer_rows, stage.span, scores, centres, stage.table.weight, out, *states)

    @property
    def young(self) -> bool:  # type: ignore[override]
        """Whether rows are held back."""
        return self.n_learnt < FIRST and not self._begins

    @property
    def divides(self) -> bool:
        return super().divides and not self.young

    def countdown(self) -> int:
        return FIRST - self.n_learnt if self.young else super().countdown()

    def _answer_first(self, program: Any, span: Ints, learning: bool, y: Floats, out: Floats) -> None:
        """Answer rows by the targets so far; those that are to be learnt are held back."""
        start, stop = span.tolist()
        if learning:
            out[start:stop] = self._hold(cut(program().loaded, start, stop)._replace(y=y[start:stop]))
        else:
            out[start:stop] = self.first_answers(self.held.y)

    def _hold(self, rows: Batch) -> Floats:
        """Hold rows back, and learn all of them when there are enough; returns the answers to the rows."""
        answers, known = [np.empty((0, self.width))], self.held.y
        for y, weight in zip(rows.y.tolist(), rows.weight.tolist(), strict=True):
            answers.append(self.first_answers(known))
            known = np.append(known, y) if weight > 0 else known
        self.held = self.held.with_rows(rows)
        self.record.clock[0] = self.held.y.size
        if not self.young:
            self._begin(self.held.batch())
        return np.concatenate(answers)

    def _begin(self, held: Batch) -> None:
        """Learn the rows that were held back."""
        from onlineboost.engine.program import run_batch

        kept, self.held = self.held, replay.NO_NUMBERS
        set_units(self.scaling, held.y)
        self.record.clock[0] = 0
        self._begins = True
        try:
            self.replace()
            run_batch(self, held, True)
        except BaseException:
            self.held, self.record.clock[0] = kept, kept.y.size - 1  # the next row tries again
            raise
        finally:
            self._begins = False

    def first_answers(self, known: Floats) -> Floats:
        """The answer and its bounds, [1, width], by the targets so far: their median, and their range."""
        if not known.size:
            return np.full((1, self.width), 0.5 if self.scaling.link == LOGISTIC else 0.0)
        middle = float(np.sort(known)[known.size // 2]) if self.scaling.link == IDENTITY else float(known.mean())
        bounds = [float(known.min()), float(known.max())] * ((self.width - 1) // 2)
        return np.array([[middle, *bounds]])

    # ---- labels that come late

    def could_answer(self, answers: PastAnswers) -> bool:
        """Answers are compared with targets in units of these."""
        far = np.abs(answers.scores[:, : self.width] - self.scaling.units[0]) / _FARTHEST
        return super().could_answer(answers) and bool((far <= self.scaling.units[1]).all())

    def may_be_silent(self, k: int) -> bool:
        return True  # while the first rows are held back

    # ---- files

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

    def own_states(self) -> dict[str, Any]:
        return {"record": self.record, "scaling": self.scaling, "held": self.held}

    # ---- what was learnt

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        return np.isin(ids, self.held.indices) if self.young else super().knows(ids)

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        if self.young:
            return Explained(np.repeat(self.first_answers(self.held.y), rows.y.size, axis=0), [])
        return self.explain_parts(batches, rows)

    def explain_parts(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        """Scores in units of the target. A link leads from the answer without features to that with all."""
        part, (c, s) = self.parts[0].explain(batches, rows), self.scaling.units
        last = part.scores[:, 0]
        if self.scaling.link == IDENTITY:
            return Explained((c + s * last).reshape(-1, 1), part.scaled(np.full(part.scores.shape, s)))
        change = part.sums()
        with_all, without = (_answers_in_units(self.scaling, scores) for scores in (last, last - change))
        slopes = (with_all - without) / np.where(np.abs(change) > _LEAST_CHANGE, change, np.inf)
        return Explained(with_all.reshape(-1, 1), part.scaled(slopes.reshape(-1, 1)))

    learners = of_part("learners")
    strengths = of_part("strengths")

    @property
    def gives_odds(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        """There are none."""
        return np.full((len(scores), 1), np.nan)

    def importances(self) -> dict[int, float]:
        return as_shares(self.parts[0].importances())

    # ---- other machines: each part is divided by itself, since some parts need the scores of others

    def check_divisible(self) -> None:
        if not self._divisible:
            self.parts[0].check_divisible()

    @property
    def _divisible(self) -> list[Node]:
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


def regression_node(part: Node, link: int = IDENTITY) -> RegressionNode:
    """The node of a model with one part."""
    settings = Settings(1, hard=False, sample=False, seed=part.settings.seed, numbers=True)
    return RegressionNode(settings, new_record(1), (part,), new_scaling(link))
