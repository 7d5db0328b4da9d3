"""Root of the mean squared error."""

from operator import attrgetter

from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.number_errors import NumberErrors
from onlineboost.registry import METRICS

METRICS.add(Metric("rmse", "root mean square", NumberErrors, attrgetter("rmse"), task="number"))
