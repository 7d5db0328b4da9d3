"""Brier score: the mean of the squared probability of the wrong label."""

from operator import attrgetter

from onlineboost.evaluate.metrics.calibration import Calibration
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.registry import METRICS

METRICS.add(Metric("brier", "Brier score", Calibration, attrgetter("brier"), needs="probabilities"))
