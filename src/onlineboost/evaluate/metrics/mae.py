"""Mean absolute error."""

from operator import attrgetter

from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.number_errors import NumberErrors
from onlineboost.registry import METRICS

METRICS.add(Metric("mae", "mean absolute error", NumberErrors, attrgetter("mae"), task="number"))
