"""Thresholds chosen from counts made online: the scores of rows by their labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.errors import DataError, ParameterError
from onlineboost.evaluate.metrics.confusion import Confusion
from onlineboost.evaluate.sums import added_at
from onlineboost.fitted.thresholds import BINS, EDGES, Cutoff, Rule, checked_weights, chosen, counts_from_json

__all__ = ["Cutoff", "Rule", "Threshold"]

_FIRST = 64  # rows after which a threshold is chosen for the first time


@dataclass
class Threshold:
    """Scores of rows by their labels, in bins, from which a decision threshold can be chosen by any rule.

    Scores may be probabilities, or any numbers that are larger where the positive label is more likely. Whenever the
    number of rows has doubled, the counts are halved, so early predictions of a model that knew little count less and
    less. With a rule, ``table`` counts the decisions by the threshold that was chosen from earlier rows, at the last
    power of two. If the rule is a probability, the caller sets the score (``now``), since only a model knows it.

    Parameters
    ----------
    rule : str, float or None, default=None
        Rule by which the threshold is chosen, as for ``choose``, or a probability; None: no rule.
    counts : array, optional
        Weight of rows by label and bin.
    rows : int, default=0
        Number of rows so far.
    table : array, optional
        Weight of rows by label and decision.
    marks : list of arrays, optional
        The table after 1, 2, 4, ... rows.
    now : float or None, default=None
        Threshold in use; None: the sign of the score decides.
    answers : array, optional
        Decisions for the last added rows, -1 or +1.

    Examples
    --------
    >>> threshold = Threshold()
    >>> threshold.update(np.array([0.1, 0.2, 0.3, 0.4, 0.6]), np.array([0, 0, 1, 0, 1]))
    >>> round(threshold.choose("f1"), 2), round(threshold.choose("cost", fp=5), 2)
    (0.3, 0.6)
    """

    rule: Rule | None = None
    counts: Floats = field(default_factory=lambda: np.zeros((2, BINS)))  # weight of rows [label, bin]
    rows: int = 0
    table: Floats = field(default_factory=lambda: np.zeros((2, 2)))  # as in ``Confusion``
    marks: list[Floats] = field(default_factory=list)  # the table after 1, 2, 4, ... rows
    now: float | None = None  # the threshold in use; None: the sign of the score decides
    answers: Floats = field(default_factory=lambda: np.empty(0))  # to the rows added last: -1 or +1

    def update(self, scores: Any, y: Any, weight: Any = None, turned: bool = False) -> None:
        """Add rows.

        Parameters
        ----------
        scores : array
            Scores, for the positive label unless ``turned``.
        y : array
            Labels: positive numbers, or True, for the label of the scores.
        weight : array or None, default=None
            Weight of each row; None: 1.
        turned : bool, default=False
            Whether scores and labels are given for the negative label.
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
        start, self.answers = 0, np.empty(scores.size)
        while start < scores.size:
            rows = slice(start, min(scores.size, start + self.left))
            positive = self._add(scores[rows], label[rows].astype(np.int64), weight[rows], turned)
            self.answers[rows] = np.where(positive, 1.0, -1.0)
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

    def _add(self, scores: Floats, label: Any, weight: Floats, turned: bool) -> Any:
        """Count rows; returns which of them are predicted as place 1."""
        answers = scores >= 0
        if self.now is not None:
            answers = scores > -self.now if turned else scores >= self.now
        bins = np.searchsorted(EDGES, scores, side="right")
        self.counts = added_at(self.counts, BINS * label + bins, weight)
        self.table = added_at(self.table, 2 * label + answers, weight)
        return answers

    def choose(self, rule: Any, turned: bool = False, fn: float = 1.0, fp: float = 1.0) -> float | None:
        """Choose the threshold by a rule: the positive label is predicted from this score on.

        Parameters
        ----------
        rule : str
            Rule: "f1", the best F1 of the positive label; "cost", the lowest cost; "recall=0.9", the fewest false
            alarms with this recall.
        turned : bool, default=False
            Whether the rows were given for the negative label.
        fn : float, default=1.0
            Cost of a false negative.
        fp : float, default=1.0
            Cost of a false positive.

        Returns
        -------
        float or None
            The threshold; None as long as the rows do not have both labels.
        """
        found = rule if isinstance(rule, Rule) else Rule.parsed(rule, fn, fp)
        if found.by is None:
            raise ParameterError("rule", rule, "'f1', 'cost' or 'recall=0.9': a probability is a threshold already")
        return self._chosen(found, turned)

    def cut(self, rule: Rule | None, turned: bool) -> Cutoff | None:
        """The threshold by a rule; None: no rule, or no data for it."""
        return chosen(self.counts, rule, turned)

    def _chosen(self, rule: Rule | None, turned: bool) -> float | None:
        """The score by a rule; None: there is none, or it is a probability."""
        found = chosen(self.counts, rule, turned)
        return None if found is None or found.of_probability else found.at

    def confusion(self, turned: bool = False) -> Confusion:
        """The predictions so far, made before the labels were known."""
        found = Confusion(self.table)
        return found.turned() if turned else found

    def share(self, turned: bool = False) -> float:
        """The share of the positive label."""
        total = float(self.table.sum())
        return float(self.table[0 if turned else 1].sum()) / total if total else math.nan

    def as_json(self) -> dict[str, Any]:
        filled = np.flatnonzero(self.counts.any(axis=0))
        rule = self.rule and self.rule.as_json()
        counts = [[int(at), *self.counts[:, at].tolist()] for at in filled]
        marks = [table.tolist() for table in self.marks]
        table, rows = self.table.tolist(), self.rows
        return {"rule": rule, "counts": counts, "rows": rows, "table": table, "marks": marks, "now": self.now}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Threshold:
        """What ``as_json`` gave; raises a ValueError, TypeError or KeyError for anything else."""
        found, n = cls(None if facts["rule"] is None else Rule.from_json(facts["rule"])), facts["rows"]
        if type(n) is not int or not 0 <= n < 1 << 62 or len(facts["marks"]) != n.bit_length():
            raise ValueError(n)
        found.counts = counts_from_json(facts["counts"])
        found.rows, found.table = n, checked_weights(facts["table"], (2, 2))
        found.marks = [checked_weights(table, (2, 2)) for table in facts["marks"]]
        found.now = None if facts["now"] is None else float(facts["now"])
        if found.now is not None and not math.isfinite(found.now):
            raise ValueError(found.now)
        return found
