"""Real data to try things on."""

from onlineboost.datasets.letter import load_letter

__all__ = ["load_letter"]
