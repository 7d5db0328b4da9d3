"""Calibration error: the mean distance between probabilities and the share of positives."""

from operator import attrgetter

from onlineboost.evaluate.metrics.calibration import Calibration
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.registry import METRICS

METRICS.add(Metric("calibration-error", "calibration error", Calibration, attrgetter("error"), needs="probabilities"))
