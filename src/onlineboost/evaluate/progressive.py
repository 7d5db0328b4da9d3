"""Progressive validation: every row is scored before it is learnt."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, Floats
from onlineboost.data.page import Page, Pages
from onlineboost.data.scores import squeezed
from onlineboost.errors import DataError, ParameterError
from onlineboost.evaluate.delayed import Delayed
from onlineboost.evaluate.measurement import metrics_of, value_of
from onlineboost.model import OnlineModel
from onlineboost.registry import METRICS
from onlineboost.regressor import OnlineRegressor


def progressive_score(
    model: OnlineModel,
    X: Any,
    y: Any = None,
    metric: str = "error",
    sample_weight: Any = None,
    *,
    delay: float | None = None,
) -> float:
    """A metric of the scores that rows get before they are learnt, in one pass over the rows.

    A clone of the model learns, from the start; the model given is not changed.

    Parameters
    ----------
    model : a booster, a learner or ``Adaptive``
    X, y, sample_weight : as for ``fit``: arrays, of whose two labels the larger is the positive one; or a stream of
        ``onlineboost.readers.open_stream``, which holds its own labels and weights
    metric : "error" (lower is better) or "auc" (higher is better), or the name of another registered metric of scores;
        of a regressor "rmse", "mae" or "r2"
    delay : number of further rows that are asked before the label of a row comes; None: it is there at once

    Returns
    -------
    The metric, weighted by ``sample_weight``; NaN if it cannot be computed: all weights are 0, or for "auc", there is
    only one label.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> round(progressive_score(Tree(5), X, y), 3)
    0.168
    >>> round(progressive_score(OnlineBBM(Tree(5), random_state=0), X, y), 3)
    0.096
    >>> round(progressive_score(OnlineBBM(Tree(5), random_state=0), X, y, metric="auc"), 3)
    0.961
    """
    found, task = METRICS.find(metric), "number" if isinstance(model, OnlineRegressor) else "classes"
    if found.needs != "scores" or found.task != task:
        able = " or ".join(repr(known.name) for known in metrics_of(task) if known.needs == "scores")
        others = "probabilities" if task == "classes" else "intervals"
        advice = f"For {others}, test on rows that were held out: `onlineboost evaluate`"
        raise ParameterError("metric", metric, f"a metric of scores: {able}. {advice}")
    accumulator = found.accumulator()
    scored = _scored if delay is None else functools.partial(_scored_late, delay)
    learner = model.clone()
    for part in scored(learner, X, y, sample_weight):
        accumulator.update(*part)
    if found.of_positive and learner.fitted is not None and learner.fitted.target.width > 1:
        raise ParameterError("metric", metric, "a metric of all labels, such as 'macro-f1': y has more than two labels")
    return value_of(found, accumulator, learner.fitted is not None and learner.fitted.target.turned)


def _scored_late(
    delay: float, model: OnlineModel, X: Any, y: Any, sample_weight: Any
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """``_scored`` with labels that come late."""
    from onlineboost.readers import open_stream

    late = Delayed(model, delay)
    pages = X if isinstance(X, Pages) and y is None else open_stream(X, y=y, sample_weight=sample_weight)
    for page in pages:
        yield squeezed(late.learn_page(page)), page.batch.y, page.batch.weight


def _scored(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Learn all rows; yield their scores, labels and weights."""
    if isinstance(X, Pages) and y is None and sample_weight is None:
        for page in X:
            yield model.learn(page), page.batch.y, page.batch.weight
        if model.fitted is None:
            raise DataError("the stream has no rows: there is nothing to learn from")
        return
    if isinstance(X, Batch | Page) and y is None and sample_weight is None:
        batch = X.batch if isinstance(X, Page) else X
        yield model.learn(X), batch.y, batch.weight
    else:
        scores = model.progressive_fit(X, y, sample_weight)
        assert model.fitted is not None
        weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        target = model.fitted.target
        yield target.scores(scores) if target.width == 1 else scores, target.encode(y), weight  # by places again
