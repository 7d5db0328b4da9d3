"""Many configurations over the same examples, and the best of them."""

from onlineboost.tuning.race import Race, Row, grid, tune

__all__ = ["Race", "Row", "grid", "tune"]
