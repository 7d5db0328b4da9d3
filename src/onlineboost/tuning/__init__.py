"""Tuning: many configurations learn the same examples, and their progressive errors are compared."""

from onlineboost.tuning.race import Race, Row, grid, tune

__all__ = ["Race", "Row", "grid", "tune"]
