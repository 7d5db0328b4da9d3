"""Metrics, progressive validation and plots."""

from onlineboost.evaluate.measurement import Measurement
from onlineboost.evaluate.progressive import progressive_error, progressive_val_score
from onlineboost.evaluate.threshold import Threshold

__all__ = ["Measurement", "Threshold", "progressive_error", "progressive_val_score"]
