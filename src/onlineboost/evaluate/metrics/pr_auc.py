"""PR-AUC: the area under the curve of precision and recall of the positive label, as average precision."""

from __future__ import annotations

import numpy as np

from onlineboost.evaluate.metrics.auc import Ranking
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.registry import METRICS


def average_precision(ranking: Ranking) -> float:
    """The mean over the positive examples of the precision when all scores from theirs on count as positive.

    Chance gives the share of positive examples. NaN without any, and of more than two classes.

    >>> ranking = Ranking()
    >>> ranking.update(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    >>> round(average_precision(ranking), 3)
    0.833
    """
    negative, positive = ranking.masses[::-1].T
    total = positive.sum()
    if ranking.classes or not total:
        return float("nan")
    hits = np.cumsum(positive)
    precision = hits / np.maximum(hits + np.cumsum(negative), 1e-300)
    return float((positive * precision).sum() / total)


METRICS.add(Metric("pr-auc", "PR-AUC", Ranking, average_precision, lower_is_better=False, of_positive=True))
