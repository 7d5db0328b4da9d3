"""R2: the share of the variance that is explained."""

from operator import attrgetter

from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.number_errors import NumberErrors
from onlineboost.registry import METRICS

METRICS.add(Metric("r2", "R2", NumberErrors, attrgetter("r2"), task="number", lower_is_better=False))
