"""Random draws for authors: a draw is a function of (seed, example number, stream) only.

So it depends neither on batches nor on earlier draws, and there is no generator state to save.
"""

from onlineboost.compiled.draws import count, uniform, uniforms

__all__ = [
    "count",
    "uniform",
    "uniforms",
]
