"""Figures that are honest about a model: progressive error, metrics, pictures, and the best of many configurations."""

from onlineboost.evaluate.tuning.race import Race, Row, grid, tune

__all__ = ["Race", "Row", "grid", "tune"]
