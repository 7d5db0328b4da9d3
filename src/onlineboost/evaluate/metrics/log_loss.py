"""Log loss: the mean of -log of the probability of the true label."""

from operator import attrgetter

from onlineboost.evaluate.metrics.calibration import Calibration
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.registry import METRICS

METRICS.add(Metric("log-loss", "log loss", Calibration, attrgetter("log_loss"), needs="probabilities"))
