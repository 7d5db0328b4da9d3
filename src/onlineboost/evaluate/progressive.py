"""Progressive validation: every row is scored before it is learned, with immediate or delayed labels."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Batch, Floats, cut
from onlineboost.data.hashing import feature_id
from onlineboost.data.page import Page, Pages
from onlineboost.data.scores import joined_scores, squeezed
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.errors import DataError, ParameterError
from onlineboost.evaluate.measurement import metrics_of, value_of
from onlineboost.fitted.fitted import Fitted
from onlineboost.fitted.late import answer_row, learn_row
from onlineboost.fitted.tickets import Votes
from onlineboost.model import OnlineModel
from onlineboost.parameters import check_one_of
from onlineboost.registry import METRICS
from onlineboost.regressor import OnlineRegressor


class _Late(NamedTuple):
    due: float
    row: Batch
    answers: PastAnswers


class Delayed:
    """A model whose labels are delayed: each row is predicted first, and learned when its label comes.

    Parameters
    ----------
    model : estimator
        Model.
    delay : float
        Delay of labels, in rows; with ``column``, in the unit of its times.
    column : str or None, default=None
        Feature with the times of the rows; None: rows are counted.
    votes : {"now", "then"}, default="now"
        Votes from which the weights of the learners follow: those at the time of the label ("now"), or at the time of
        the prediction ("then").

    Examples
    --------
    >>> from onlineboost import OnlineBBM
    >>> from onlineboost.readers import open_stream
    >>> rows = [({"size": k % 5, "color": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    >>> late = Delayed(OnlineBBM(n_estimators=5), delay=10)
    >>> for page in open_stream(rows):
    ...     scores = late.learn(page)
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

    def learn(self, page: Page, *, squeeze: bool = True) -> Floats:
        """Ask the rows of a page, and tell the labels that are due; returns the scores at the time of asking."""
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
        found = joined_scores(scores)
        return squeezed(found) if squeeze else found

    def tell_all(self) -> None:
        """Tell all remaining labels."""
        if self.late:
            self._tell_due(self._fitted(), float("inf"))

    def _fitted(self) -> Fitted:
        fitted = self.model._fitted
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
        if found.size or self.model._fitted is None or id not in self.model._fitted.columns.names:
            raise DataError(f"a row has no value of {name!r}: expected a number, the time of the row", column=name)
        return 0.0  # zeros are not kept

    def _tell_due(self, fitted: Fitted, now: float) -> None:
        while self.late and self.late[0].due <= now:
            late = self.late.popleft()
            learn_row(fitted, late.row, late.answers)


def progressive_error(
    model: OnlineModel,
    X: Any,
    y: Any = None,
    metric: str = "error",
    sample_weight: Any = None,
    *,
    delay: float | None = None,
) -> float:
    """A metric of the scores that rows get before they are learned, in one pass over the rows.

    A clone of the model learns from scratch; the given model does not change.

    Parameters
    ----------
    model : estimator
        Booster, learner, ensemble or regressor.
    X : array, sparse matrix, data frame, list of dicts or Stream
        Rows, in any form that ``fit`` takes.
    y : array or None, default=None
        One label per row, of two labels the larger is the positive one; None: the stream has its own labels.
    metric : str, default="error"
        Name of a registered metric of scores: "error" (lower is better), "auc" (higher is better), ...; of a regressor
        "rmse", "mae" or "r2".
    sample_weight : array or None, default=None
        Weight of each row, at least 0; None: 1, or the weights of the stream.
    delay : int or None, default=None
        Number of further rows that are predicted before the label of a row comes (delayed labels); None: labels come at
        once.

    Returns
    -------
    float
        The metric, weighted by ``sample_weight``; NaN if it cannot be computed: all weights are 0, or for "auc" there
        is only one label.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(Tree(5), X, y), 3)
    0.168
    >>> round(progressive_error(OnlineBBM(Tree(5), random_state=0), X, y), 3)
    0.096
    >>> round(progressive_error(OnlineBBM(Tree(5), random_state=0), X, y, metric="auc"), 3)
    0.961
    """
    return _measured(model.clone(), X, y, metric, sample_weight, delay)


def progressive_val_score(dataset: Any, model: OnlineModel, metric: Any, *, delay: float | None = None) -> Any:
    """``progressive_error`` with River's arguments: the model itself learns, row after row.

    Parameters
    ----------
    dataset : iterable of (x, y) or Stream
        Rows as pairs of a dict and a label, such as a data set of River, or a stream of ``open_stream``.
    model : estimator
        Booster, learner, ensemble or regressor; it learns all rows.
    metric : str or River metric
        Name of a metric, as for ``progressive_error``; or a metric of River, for which River's function of the same
        name is called.
    delay : int or None, default=None
        Number of further rows that are predicted before the label of a row comes (delayed labels); None: labels come at
        once.

    Returns
    -------
    float or River metric
        The value of the metric; for a metric of River, the metric itself.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> from onlineboost.evaluate import progressive_val_score
    >>> rows = [({"size": k % 5, "color": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    >>> model = Linear()
    >>> progressive_val_score(rows, model, "error")
    0.015
    >>> model.n_seen_
    200
    """
    if not isinstance(metric, str):
        from river import evaluate

        wait = None if delay is None else int(delay)
        return evaluate.progressive_val_score(dataset, model, metric, delay=wait)
    from onlineboost.readers import open_stream

    return _measured(model, dataset if isinstance(dataset, Pages) else open_stream(dataset), None, metric, None, delay)


def _measured(model: OnlineModel, X: Any, y: Any, metric: str, sample_weight: Any, delay: float | None) -> float:
    """The metric of the scores of rows before they are learned."""
    found, task = METRICS.find(metric), "number" if isinstance(model, OnlineRegressor) else "classes"
    if found.needs != "scores" or found.task != task:
        able = " or ".join(repr(known.name) for known in metrics_of(task) if known.needs == "scores")
        others = "probabilities" if task == "classes" else "intervals"
        advice = f"For {others}, test on rows that were held out: `onlineboost evaluate`"
        raise ParameterError("metric", metric, f"a metric of scores: {able}. {advice}")
    accumulator = found.accumulator()
    scored = _scored if delay is None else functools.partial(_scored_late, delay)
    for part in scored(model, X, y, sample_weight):
        accumulator.update(*part)
    if found.of_positive and model._fitted is not None and model._fitted.target.width > 1:
        raise ParameterError("metric", metric, "a metric of all labels, such as 'macro-f1': y has more than two labels")
    return value_of(found, accumulator, model._fitted is not None and model._fitted.target.turned)


def _scored_late(
    delay: float, model: OnlineModel, X: Any, y: Any, sample_weight: Any
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """``_scored`` with delayed labels."""
    from onlineboost.readers import open_stream

    late = Delayed(model, delay)
    pages = X if isinstance(X, Pages) and y is None else open_stream(X, y=y, sample_weight=sample_weight)
    for page in pages:
        yield late.learn(page), page.batch.y, page.batch.weight


def _scored(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Learn all rows; yield their scores, labels and weights."""
    if isinstance(X, Pages) and y is None and sample_weight is None:
        for page in X:
            yield model.learn(page), page.batch.y, page.batch.weight
        if model._fitted is None:
            raise DataError("the stream has no rows: there is nothing to learn from")
        return
    if isinstance(X, Batch | Page) and y is None and sample_weight is None:
        batch = X.batch if isinstance(X, Page) else X
        yield model.learn(X), batch.y, batch.weight
    else:
        scores = model.progressive_fit(X, y, sample_weight)
        assert model._fitted is not None
        weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        target = model._fitted.target
        yield target.scores(scores) if target.width == 1 else scores, target.encode(y), weight  # by places again
