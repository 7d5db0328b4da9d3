"""Labels that come late, simulated on a stream whose labels are there: each row is asked in its turn and told later."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from onlineboost.data.batch import Batch, Floats, cut
from onlineboost.data.hashing import feature_id
from onlineboost.data.page import Page
from onlineboost.data.scores import joined_scores
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.errors import DataError, ParameterError
from onlineboost.fitted.fitted import Fitted
from onlineboost.fitted.late import answer_row, learn_row
from onlineboost.fitted.tickets import Votes
from onlineboost.model import OnlineModel
from onlineboost.parameters import check_one_of


class _Late(NamedTuple):
    due: float
    row: Batch
    answers: PastAnswers


class Delayed:
    """A model that learns each row some time after it was asked.

    Parameters
    ----------
    model : the model
    delay : how late labels are: told after so many further rows were asked; or, with ``column``, when the time of a row
        is later by this much
    column : name of a feature that has the times of the rows; None: rows are counted
    votes : "now": learners get weights by their votes when the row is told; "then": by those when it was asked

    >>> from onlineboost import OnlineBBM
    >>> from onlineboost.readers import open_stream
    >>> rows = [({"size": k % 5, "colour": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    >>> late = Delayed(OnlineBBM(n_estimators=5), delay=10)
    >>> for page in open_stream(rows):
    ...     scores = late.learn_page(page)
    >>> late.model.n_seen_, late.tell_all(), late.model.n_seen_
    (190, None, 200)
    """

    def __init__(self, model: OnlineModel, delay: float, column: str | None = None, votes: Votes = "now") -> None:
        if not isinstance(delay, int | float) or not 0 <= delay < float("inf"):
            raise ParameterError("delay", delay, "a number of at least 0")
        check_one_of("votes", votes, ("then", "now"))
        self.model, self.delay, self.votes = model, float(delay), votes
        self.column = None if column is None else (column, feature_id(column))
        self.late: deque[_Late] = deque()
        self.asked = 0

    def learn_page(self, page: Page) -> Floats:
        """Ask the rows of a page, and tell those that are due; returns the scores of the rows when they were asked."""
        rows, none = page.batch, cut(page.batch, 0, 0)
        self.model.learn(page._replace(batch=none))  # names and labels are known from now on
        fitted, scores = self._fitted(), []
        for r in range(rows.y.size):
            row = cut(rows, r, r + 1)
            now = self._time(row)
            if self.column is not None:
                self._tell_due(fitted, now)
            row, answers, score = answer_row(fitted, row)
            scores.append(score)
            answers = answers if self.votes == "then" else answers._replace(votes=answers.votes[:, :0])
            self.late.append(_Late(now + self.delay, row, answers))
            self._tell_due(fitted, now)
        return joined_scores(scores)

    def tell_all(self) -> None:
        """Tell all rows whose labels have not come yet."""
        if self.late:
            self._tell_due(self._fitted(), float("inf"))

    def _fitted(self) -> Fitted:
        fitted = self.model.fitted
        if fitted is None or not isinstance(fitted.root, Node):
            raise ParameterError("model", self.model, "a model of compiled learners, for labels that come late")
        return fitted

    def _time(self, row: Batch) -> float:
        if self.column is None:
            self.asked += 1
            return float(self.asked)
        name, id = self.column
        found = np.flatnonzero(row.indices[row.indptr[0] : row.indptr[1]] == id)
        time = float(row.values[row.indptr[0] + found[0]]) if found.size else 0.0
        if found.size and not math.isnan(time):
            return time
        if found.size or self.model.fitted is None or id not in self.model.fitted.columns.names:
            raise DataError(f"a row has no value of {name!r}: expected a number, the time of the row", column=name)
        return 0.0  # zeros are not kept

    def _tell_due(self, fitted: Fitted, now: float) -> None:
        while self.late and self.late[0].due <= now:
            late = self.late.popleft()
            learn_row(fitted, late.row, late.answers)
