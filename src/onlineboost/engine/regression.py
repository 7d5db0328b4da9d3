"""The node of a regressor: it scales targets (``loop/target_scaling.py``) for its part."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Batch, Floats, Ints, Ints32, cut
from onlineboost.engine import replay
from onlineboost.engine.node import NEVER, Node, PastAnswers, of_part
from onlineboost.engine.replay import Kept, KeptNumbers
from onlineboost.engine.stage import Stage
from onlineboost.errors import ParameterError
from onlineboost.loop.explaining import Explained, as_shares
from onlineboost.loop.record import Record, Settings, new_record
from onlineboost.loop.target_scaling import (
    FIRST,
    IDENTITY,
    LOG,
    LOGISTIC,
    TargetScaling,
    answer_rows,
    answers_in_units,
    new_scaling,
    scale_targets,
    set_units,
)
from onlineboost.storage.validity import require

_FARTHEST = 1e32  # maximum distance of past answers from the center, which may have moved
_LEAST_CHANGE = 1e-9  # of a score that is explained by features


@dataclass
class RegressionNode(Node):
    """A node whose learners see scaled targets; its one part answers."""

    settings: Settings
    record: Record
    parts: tuple[Any, ...]
    scaling: TargetScaling
    held: Kept = field(default=replay.NO_NUMBERS, kw_only=True)  # the first rows, until there are enough of them

    _begins = False  # whether the held rows are being learned

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
            targets, centers = stage.array("targets", capacity), stage.array("centers", capacity)
            learning, weight = stage.mode.learning, stage.table.weight
            stage.call(scale_targets, stage.span, y, weight, targets, centers, self.scaling, learning)
            self.add_parts(stage, y, targets, centers, out)

    def add_parts(self, stage: Stage, y: Floats, targets: Floats, centers: Floats, out: Floats) -> None:
        """Add the calls after those that scale targets."""
        scores = stage.array("scores", (stage.table.capacity, 1))
        stage.part(0, self.parts[0], targets, scores)
        states = self.scaling, self.record, stage.mode.learning, stage.mode.given
        stage.call(answer_rows, stage.span, scores, centers, stage.table.weight, out, *states)

    @property
    def young(self) -> bool:  # type: ignore[override]
        """Whether rows are held back."""
        return self.n_learned < FIRST and not self._begins

    @property
    def divides(self) -> bool:
        return super().divides and not self.young

    def countdown(self, longest: int = NEVER) -> int:
        return FIRST - self.n_learned if self.young else min(part.countdown(longest) for part in self.awake())

    def look(self) -> None:
        for part in self.awake():
            part.look()

    def _answer_first(self, program: Any, span: Ints, learning: bool, y: Floats, out: Floats) -> None:
        """Answer rows by the targets so far; rows to learn are held back."""
        start, stop = span.tolist()
        if learning:
            out[start:stop] = self._hold(cut(program().loaded, start, stop)._replace(y=y[start:stop]))
        else:
            out[start:stop] = self.first_answers(self.held.y)

    def _hold(self, rows: Batch) -> Floats:
        """Hold rows back until there are enough, then learn all of them; returns the answers to the rows."""
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
        self.set_units(held.y)
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

    def set_units(self, first: Floats) -> None:
        """Choose units by the first targets."""
        set_units(self.scaling, first)

    def first_answers(self, known: Floats) -> Floats:
        """The answer and its bounds, [1, width], by the targets so far: their median, and their range."""
        if not known.size:
            return np.full((1, self.width), {LOGISTIC: 0.5, LOG: 1.0}.get(self.scaling.link, 0.0))
        middle = float(np.sort(known)[known.size // 2]) if self.scaling.link in (IDENTITY, LOG) else float(known.mean())
        bounds = [float(known.min()), float(known.max())] * ((self.width - 1) // 2)
        return np.array([[middle, *bounds]])

    # ---- delayed labels

    def could_answer(self, answers: PastAnswers) -> bool:
        """Past answers are in units of the target."""
        scores = answers.scores[:, : self.width]
        if self.scaling.link == LOG:
            return super().could_answer(answers) and not bool((scores <= 0).any())
        far = np.abs(scores - self.scaling.units[0]) / _FARTHEST
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
        require(self.held.y.size == (self.n_learned if self.young else 0), "held.y", "the rows that are held back")

    def own_states(self) -> dict[str, Any]:
        return {"record": self.record, "scaling": self.scaling, "held": self.held}

    # ---- what was learned

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        return np.isin(ids, self.held.indices) if self.young else super().knows(ids)

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        if self.young:
            return Explained(np.repeat(self.first_answers(self.held.y), rows.y.size, axis=0), [])
        return self.explain_parts(batches, rows)

    def explain_parts(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        """Scores in units of the target. A link leads from the answer without features to that with all."""
        return self.explain_in_units(self.parts[0].explain(batches, rows))

    def explain_in_units(self, part: Explained) -> Explained:
        last, (c, s) = part.scores[:, 0], self.scaling.units
        if self.scaling.link == IDENTITY:
            return Explained((c + s * last).reshape(-1, 1), part.scaled(np.full(part.scores.shape, s)))
        with_all, slopes = chord(self.scaling, last, part.sums())
        return Explained(with_all.reshape(-1, 1), part.scaled(slopes.reshape(-1, 1)))

    learners = of_part("learners")
    strengths = of_part("strengths")

    @property
    def gives_odds(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        """Regression has no probabilities."""
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


def chord(scaling: TargetScaling, last: Floats, change: Floats) -> tuple[Floats, Floats]:
    """Predictions for scores by a link, and the slope between two scores."""
    with_all, without = (answers_in_units(scaling, scores) for scores in (last, last - change))
    return with_all, (with_all - without) / np.where(np.abs(change) > _LEAST_CHANGE, change, np.inf)


def regression_node(part: Node, link: int = IDENTITY) -> RegressionNode:
    """The node of a model with one part."""
    settings = Settings(1, hard=False, sample=False, seed=part.settings.seed, numbers=True)
    return RegressionNode(settings, new_record(1), (part,), new_scaling(link))
