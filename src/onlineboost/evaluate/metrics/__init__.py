"""Metrics, one file for those with the same sums: every module registers its metrics."""

from onlineboost.evaluate.metrics.auc import Ranking
from onlineboost.evaluate.metrics.calibration import Calibration
from onlineboost.evaluate.metrics.confusion import Confusion
from onlineboost.evaluate.metrics.error import Curve
from onlineboost.evaluate.metrics.metric import Accumulator, Metric
from onlineboost.evaluate.metrics.regression import NumberErrors
from onlineboost.registry import import_modules

import_modules(__name__, __path__)

__all__ = ["Accumulator", "Calibration", "Confusion", "Curve", "Metric", "NumberErrors", "Ranking"]
