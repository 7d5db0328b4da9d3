"""Decision thresholds: the score or probability from which the positive of two labels is predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.errors import ParameterError

if TYPE_CHECKING:
    from onlineboost.fitted.fitted import Fitted

BINS = 4097  # narrow near 0, wide far from it: the scores of some models are votes, those of others log odds
_SMALL = 2.0**-10
EDGES = _SMALL * np.sinh((np.arange(BINS - 1) - (BINS - 2) / 2) / 128)


@dataclass(frozen=True)
class Rule:
    """Rule for a threshold: a probability, or "f1", "cost" or "recall".

    >>> str(Rule.parsed("recall=0.9")), str(Rule.parsed("cost", fn=10)), str(Rule.parsed(0.2))
    ('recall=0.9', 'cost fn=10,fp=1', '0.2')
    """

    by: str | None
    at: float | None = None
    fn: float = 1.0  # costs of a false negative and of a false positive
    fp: float = 1.0

    @classmethod
    def parsed(cls, given: Any, fn: float = 1.0, fp: float = 1.0, name: str = "threshold") -> Rule:
        """The rule of a text; raises an error for an invalid one."""
        expected = "a probability above 0 and below 1, 'f1', 'cost', or 'recall=0.9', the recall that is wanted"
        costs = [*map(_cost, (fn, fp))]
        if None in costs or not any(costs):
            raise ParameterError("cost", f"fn={fn},fp={fp}", "two numbers of at least 0, not both 0")
        by, _, at = str(given).partition("=") if isinstance(given, str) else ("", "", given)
        if by in ("f1", "cost") and not at:
            return cls(by, None, float(fn), float(fp))
        try:
            number = float(at if by in ("", "recall") else str(given))
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(name, given, expected) from None
        if not 0 < number < 1 and not (by == "recall" and number == 1):
            raise ParameterError(name, given, expected)
        return cls("recall" if by == "recall" else None, number, float(fn), float(fp))

    def __str__(self) -> str:
        if self.by is None:
            return f"{self.at:g}"
        more = {"recall": f"={self.at}", "cost": f" fn={self.fn:g},fp={self.fp:g}"}
        return self.by + more.get(self.by, "")

    def as_json(self) -> list[Any]:
        return [self.by, self.at, self.fn, self.fp]

    @classmethod
    def from_json(cls, given: Any) -> Rule:
        """What ``as_json`` gave; raises a ValueError or TypeError for anything else."""
        by, at, fn, fp = given
        return cls.parsed(at if by is None else f"recall={at}" if by == "recall" else by, fn, fp)


class Cutoff(NamedTuple):
    """A threshold in use: rows with at least this score, or probability, are predicted as positive."""

    at: float
    of_probability: bool

    def signs(self, fitted: Fitted, scores: Floats) -> Floats:
        """The predictions as scores: -1 or +1."""
        return self.signs_of(fitted.target, fitted.probabilities(scores) if self.of_probability else scores)

    def signs_of(self, target: Any, values: Floats) -> Floats:
        """``signs``, given scores or probabilities, those that the threshold is one of."""
        own: Floats = target.of_positive(values) if self.of_probability else target.scores(values)
        sign = -1.0 if target.turned else 1.0
        return np.where(own >= self.at, sign, -sign)

    def probability(self, fitted: Fitted) -> float:
        """The probability of the positive label at this threshold."""
        if self.of_probability:
            return self.at
        return _probability(fitted, self.at)

    def score(self, fitted: Fitted) -> float:
        """The lowest score of the positive label with this probability, by the present calibration."""
        if not self.of_probability:
            return self.at
        low, high = -40.0, 40.0  # bisection, by the inverse hyperbolic sine of the score
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if _probability(fitted, math.sinh(middle)) >= self.at else (middle, high)
        return math.sinh(high)

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        return {"at": self.at, "of": "probability" if self.of_probability else "score"}

    @classmethod
    def restored(cls, given: Any) -> Cutoff:
        """What ``describe`` gave; raises a ValueError, TypeError or KeyError for anything else."""
        at, of = given["at"], given["of"]
        good = type(at) is float and (0 < at < 1 if of == "probability" else of == "score" and math.isfinite(at))
        if not good:
            raise ValueError("the threshold is neither a probability above 0 and below 1 nor a score")
        return cls(at, of == "probability")


def chosen(counts: Floats, rule: Rule | None, turned: bool) -> Cutoff | None:
    """The threshold by a rule, from the weight of rows [label, bin]; None: no rule, or not both labels were counted.

    ``turned``: the positive label is the first of the two.
    """
    if rule is None:
        return None
    if rule.by is None:
        assert rule.at is not None
        return Cutoff(rule.at, True)
    negative, positive = counts[::-1, ::-1] if turned else counts
    if not counts.any(axis=1).all():
        return None
    # Thresholds from the highest down; with the first, nothing is positive.
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
    edges = [math.inf, *EDGES[::-1].tolist(), -math.inf]
    return Cutoff(max(-1e18, min(edges[place], 1e18)), False)


def counts_from_json(given: Any) -> Floats:
    """The weight of rows [label, bin] from that of the bins that are not empty; raises an error for anything else."""
    counts = np.zeros((2, BINS))
    for at, *weights in given:
        if type(at) is not int or not 0 <= at < BINS:
            raise ValueError(at)
        counts[:, at] = checked_weights(weights, (2,))
    return counts


def checked_weights(given: Any, shape: tuple[int, ...]) -> Floats:
    """Weights of this shape; raises a ValueError or TypeError for anything else."""
    found = np.array(given, np.float64)
    if found.shape != shape or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(given)
    return found


def of_notes(notes: Any, turned: bool) -> Cutoff | None:
    """The threshold of a model file that has it in the notes of ``onlineboost train`` only; None: it has none."""
    try:
        given = notes["threshold"]
        return chosen(counts_from_json(given["counts"]), Rule.from_json(given["rule"]), turned)
    except (KeyError, TypeError, ValueError, OverflowError):  # other notes: ``onlineboost`` itself says so
        return None


def _probability(fitted: Fitted, score: float) -> float:
    """The probability of the positive label at a score of it."""
    found = fitted.probabilities(np.array([[-score if fitted.target.turned else score]]))
    return float(fitted.target.of_positive(found)[0, 0])


def _cost(given: Any) -> float | None:
    good = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1e18
    return float(given) if good else None
