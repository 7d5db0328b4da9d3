"""Vowpal Wabbit itself, from its wheel, and how it reads numbers from text."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import vowpalwabbit

f32 = np.float32


def exact_in_text(X: Any) -> sp.csr_matrix:
    """The values as VW would read them from text of three decimals, so that both systems learn the same numbers."""
    csr = sp.csr_matrix(X, dtype=np.float32).copy()
    csr.data = np.array([read_number(write_number(v)) for v in csr.data], np.float32)
    csr.eliminate_zeros()
    return csr


def write_number(value: float) -> str:
    return f"{value:.3f}"


def read_number(text: str) -> np.float32:
    """VW's own parser: digits accumulate in float32, then are multiplied by a float32 power of ten."""
    negative = text.startswith("-")
    whole, _, fraction = text.lstrip("-").partition(".")
    total = f32(0)
    for digit in whole + fraction:
        total = f32(10) * total + f32(int(digit))
    power = f32(1)
    for _ in fraction:
        power = power / f32(10)
    total = total * power
    return -total if negative else total


def progressive(options: str, X: Any, y: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """What ``vw`` predicts for each row before it learns it."""
    workspace = vowpalwabbit.Workspace(f"{options} --quiet")
    csr = sp.csr_matrix(X)
    scores = []
    for r in range(csr.shape[0]):
        part = slice(csr.indptr[r], csr.indptr[r + 1])
        importance = "" if weight is None else f" {weight[r]:g}"
        features = " ".join(f"{j}:{write_number(v)}" for j, v in zip(csr.indices[part], csr.data[part], strict=True))
        parsed = workspace.parse(f"{int(y[r])}{importance} | {features}")
        example = parsed[0] if isinstance(parsed, list) else parsed
        workspace.learn(example)
        scores.append(example.get_simplelabel_prediction())
        workspace.finish_example(example)
    workspace.finish()
    return np.array(scores)
