"""Thresholds: from which score on the answer is the positive label, chosen by what was counted on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Floats
from onlineboost.engine.fitted import Fitted
from onlineboost.errors import DataError, ParameterError
from onlineboost.evaluate.metrics.confusion import Confusion
from onlineboost.evaluate.sums import added_at

_BINS = 4097  # narrow near 0, wide far from it: the scores of some models are votes, those of others log odds
_SMALL = 2.0**-10
_EDGES = _SMALL * np.sinh((np.arange(_BINS - 1) - (_BINS - 2) / 2) / 128)
_FIRST = 64  # rows after which a threshold is chosen for the first time


@dataclass(frozen=True)
class Rule:
    """How a threshold is chosen: a probability, or by "f1", "cost" or "recall".

    >>> str(Rule.parsed("recall=0.9")), str(Rule.parsed("cost", fn=10)), str(Rule.parsed(0.2))
    ('recall=0.9', 'cost fn=10,fp=1', '0.2')
    """

    by: str | None
    at: float | None = None
    fn: float = 1.0  # costs of a positive example that is missed, and of a negative one that is taken for positive
    fp: float = 1.0

    @classmethod
    def parsed(cls, given: Any, fn: float = 1.0, fp: float = 1.0, name: str = "threshold") -> Rule:
        """The rule in words; raises an error for one that makes no sense."""
        expected = "a probability above 0 and below 1, 'f1', 'cost', or 'recall=0.9', the recall that is wanted"
        costs = [*map(_cost, (fn, fp))]
        if None in costs or not any(costs):
            raise ParameterError("cost", f"fn={fn},fp={fp}", "two numbers of at least 0, not both 0")
        by, _, at = str(given).partition("=") if isinstance(given, str) else ("", "", given)
        if by in ("f1", "cost") and not at:
            return cls(by, None, float(fn), float(fp))
        try:
            number = float(at if by in ("", "recall") else str(given))
        except (TypeError, ValueError):
            raise ParameterError(name, given, expected) from None
        if not 0 < number < 1 and not (by == "recall" and number == 1):
            raise ParameterError(name, given, expected)
        return cls("recall" if by == "recall" else None, number, float(fn), float(fp))

    def __str__(self) -> str:
        if self.by is None:
            return f"{self.at:g}"
        more = {"recall": f"={self.at}", "cost": f" fn={self.fn:g},fp={self.fp:g}"}
        return self.by + more.get(self.by, "")


class Cut(NamedTuple):
    """A threshold in use: rows from this score, or probability, on are answered with the positive label."""

    at: float
    of_probability: bool

    def positive(self, fitted: Fitted, scores: Floats) -> NDArray[np.bool_]:
        """Which rows are answered with the positive label, given scores by codes."""
        if self.of_probability:
            chances: Floats = fitted.target.of_positive(fitted.probabilities(scores))
            return chances >= self.at
        found: NDArray[np.bool_] = fitted.target.scores(scores) >= self.at
        return found

    def signs(self, fitted: Fitted, scores: Floats) -> Floats:
        """The answers by codes: -1 or +1."""
        sign = -1.0 if fitted.target.turned else 1.0
        return np.where(self.positive(fitted, scores), sign, -sign)

    def probability(self, fitted: Fitted) -> float:
        """The probability of the positive label at this threshold."""
        if self.of_probability:
            return self.at
        return _probability(fitted, self.at)

    def score(self, fitted: Fitted) -> float:
        """The score of the positive label from which on rows have this probability, by what was learnt so far."""
        if not self.of_probability:
            return self.at
        low, high = -40.0, 40.0  # bisection, by the inverse hyperbolic sine of the score
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if _probability(fitted, math.sinh(middle)) >= self.at else (middle, high)
        return math.sinh(high)


@dataclass
class Threshold:
    """The scores of rows by their labels, in bins, from which a threshold can be chosen by any rule.

    Scores may be probabilities, or anything that is larger where the positive label is more likely. When rows have
    doubled, what was counted is halved: early answers, of a model that knew little, count less and less. With a rule,
    ``table`` has the answers by the threshold that was chosen from the rows before them, at the last power of two. Of a
    rule that is a probability, the score is for the caller to set (``now``): only a model knows it.

    >>> threshold = Threshold()
    >>> threshold.update(np.array([0.1, 0.2, 0.3, 0.4, 0.6]), np.array([0, 0, 1, 0, 1]))
    >>> round(threshold.choose("f1"), 2), round(threshold.choose("cost", fp=5), 2)
    (0.3, 0.6)
    """

    rule: Rule | None = None
    counts: Floats = field(default_factory=lambda: np.zeros((2, _BINS)))  # weight of rows [label, bin]
    rows: int = 0
    table: Floats = field(default_factory=lambda: np.zeros((2, 2)))  # as in ``Confusion``
    marks: list[Floats] = field(default_factory=list)  # the table after 1, 2, 4, ... rows
    now: float | None = None  # the threshold in use; None: the sign of the score is the answer

    def update(self, scores: Any, y: Any, weight: Any = None, turned: bool = False) -> None:
        """Add rows.

        ``scores`` and ``y`` (positive numbers, or True) are those of a label, which is the positive one unless they are
        ``turned``.
        """
        scores, y = np.asarray(scores, np.float64), np.asarray(y)
        if scores.ndim != 1 or y.shape != scores.shape:
            raise DataError(f"scores have shape {scores.shape} and y {y.shape}: expected one of each per row")
        if y.dtype.kind not in "biuf":
            raise DataError("y has words: expected True for the positive label, such as y == 'yes'")
        if np.isnan(scores).any():
            raise DataError(f"the score of row {int(np.isnan(scores).argmax())} is NaN: expected a number")
        label = y > 0
        weight = np.ones(scores.size) if weight is None else np.asarray(weight, np.float64)
        start = 0
        while start < scores.size:
            rows = slice(start, min(scores.size, start + self.left))
            self._add(scores[rows], label[rows].astype(np.int64), weight[rows], turned)
            start, self.rows = rows.stop, self.rows + rows.stop - start
            if self.at_mark:
                self.marks.append(self.table.copy())
                if self.rows >= _FIRST:
                    self.now = self._chosen(self.rule, turned)
                    self.counts = self.counts / 2

    @property
    def of_probability(self) -> bool:
        """Whether the rule is a probability."""
        return self.rule is not None and self.rule.by is None

    @property
    def left(self) -> int:
        """Rows up to the next power of two."""
        return (1 << self.rows.bit_length()) - self.rows

    @property
    def at_mark(self) -> bool:
        """Whether the number of rows is a power of two."""
        return self.rows.bit_count() == 1

    @property
    def has_both(self) -> bool:
        """Whether rows of both labels were counted."""
        return bool(self.counts.any(axis=1).all())

    def _add(self, scores: Floats, label: Any, weight: Floats, turned: bool) -> None:
        answers = scores >= 0
        if self.now is not None:
            answers = scores > -self.now if turned else scores >= self.now
        bins = np.searchsorted(_EDGES, scores, side="right")
        self.counts = added_at(self.counts, _BINS * label + bins, weight)
        self.table = added_at(self.table, 2 * label + answers, weight)

    def choose(self, rule: Any, turned: bool = False, fn: float = 1.0, fp: float = 1.0) -> float | None:
        """The threshold by a rule: the answer is the positive label from this score on.

        Parameters
        ----------
        rule : "f1": the best F1 of the positive label; "cost": the lowest cost; "recall=0.9": as few false alarms as
            possible with this recall
        turned : whether the rows were given by the negative label
        fn, fp : costs of a positive row that is missed, and of a negative one that is taken for positive

        Returns
        -------
        The threshold; None as long as the rows do not have both labels.
        """
        found = rule if isinstance(rule, Rule) else Rule.parsed(rule, fn, fp)
        if found.by is None:
            raise ParameterError("rule", rule, "'f1', 'cost' or 'recall=0.9': a probability is a threshold already")
        return self._chosen(found, turned)

    def cut(self, rule: Rule | None, turned: bool) -> Cut | None:
        """The threshold by a rule, to answer with; None: there is no rule, or nothing to choose it from."""
        if rule is not None and rule.by is None:
            assert rule.at is not None
            return Cut(rule.at, True)
        at = self._chosen(rule, turned)
        return None if at is None else Cut(at, False)

    def _chosen(self, rule: Rule | None, turned: bool) -> float | None:
        negative, positive = self.counts[::-1, ::-1] if turned else self.counts
        if rule is None or rule.by is None or not self.has_both:
            return None
        # Thresholds from the highest down, of which the first takes nothing for positive.
        hits, alarms = (np.concatenate([[0.0], np.cumsum(one[::-1])]) for one in (positive, negative))
        missed = hits[-1] - hits
        if rule.by == "recall":
            assert rule.at is not None
            place = int(np.argmax(hits >= rule.at * hits[-1] * (1 - 1e-12)))
        else:
            loss = rule.fn * missed + rule.fp * alarms
            if rule.by == "f1":
                loss = -2 * hits / (hits + alarms + hits[-1])
            place = int(np.argmin(loss))
        edges = [math.inf, *_EDGES[::-1].tolist(), -math.inf]
        return _finite(edges[place])

    def confusion(self, turned: bool = False) -> Confusion:
        """The answers so far, given before the labels were known."""
        found = Confusion(self.table)
        return found.turned() if turned else found

    def share(self, turned: bool = False) -> float:
        """The share of the positive label."""
        total = float(self.table.sum())
        return float(self.table[0 if turned else 1].sum()) / total if total else math.nan

    def as_json(self) -> dict[str, Any]:
        filled = np.flatnonzero(self.counts.any(axis=0))
        rule = self.rule and [self.rule.by, self.rule.at, self.rule.fn, self.rule.fp]
        counts = [[int(at), *self.counts[:, at].tolist()] for at in filled]
        marks = [table.tolist() for table in self.marks]
        table, rows = self.table.tolist(), self.rows
        return {"rule": rule, "counts": counts, "rows": rows, "table": table, "marks": marks, "now": self.now}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Threshold:
        """What ``as_json`` gave; raises a ValueError, TypeError or KeyError for anything else."""
        rule = None
        if facts["rule"] is not None:
            by, at, fn, fp = facts["rule"]
            given = at if by is None else f"recall={at}" if by == "recall" else by
            rule = Rule.parsed(given, fn, fp)
        found, n = cls(rule), facts["rows"]
        if type(n) is not int or not 0 <= n < 1 << 62 or len(facts["marks"]) != n.bit_length():
            raise ValueError(n)
        for at, *weights in facts["counts"]:
            if type(at) is not int or not 0 <= at < _BINS:
                raise ValueError(at)
            found.counts[:, at] = _weights(weights, (2,))
        found.rows, found.table = n, _weights(facts["table"], (2, 2))
        found.marks = [_weights(table, (2, 2)) for table in facts["marks"]]
        found.now = None if facts["now"] is None else float(facts["now"])
        if found.now is not None and not math.isfinite(found.now):
            raise ValueError(found.now)
        return found


def _probability(fitted: Fitted, score: float) -> float:
    """The probability of the positive label at a score of it."""
    code = np.array([-score if fitted.target.turned else score])
    return float(fitted.target.of_positive(fitted.probabilities(code))[0])


def _cost(given: Any) -> float | None:
    good = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1e18
    return float(given) if good else None


def _finite(threshold: float) -> float:
    return max(-1e18, min(threshold, 1e18))


def _weights(given: Any, shape: tuple[int, ...]) -> Floats:
    found = np.array(given, np.float64)
    if found.shape != shape or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(given)
    return found
