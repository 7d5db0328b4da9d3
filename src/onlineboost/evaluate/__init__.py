"""Metrics, progressive validation and plots."""

from onlineboost.evaluate.measurement import Measurement
from onlineboost.evaluate.progressive import progressive_score

__all__ = ["Measurement", "progressive_score"]
