"""Targets: the encoding of labels for the learners, and the decoding of scores to labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot
from onlineboost.data.batch import Floats


@hot
def mistaken(score: float, y: float) -> bool:
    """Whether the sign of a score is wrong, given a place or a sign, for compiled code; 0 counts as positive."""
    return (score >= 0) != (y > 0)


@hot
def sign_of(y: float) -> float:
    """The target of binary learners and boosters, given the place of a label: -1 or +1."""
    return 1.0 if y > 0 else -1.0


@hot
def place_for(k: int, y: float) -> float:
    """The label, 0 or 1, for the committee of class k, given the place of a row's class; turned for the first."""
    return 1.0 if (int(y) == k) == (k > 0) else 0.0


class Target(ABC):
    """The encoding of labels, and the meaning of a score."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of values in a score."""

    @staticmethod
    @abstractmethod
    def mistakes(scores: Floats, y: Floats) -> NDArray[np.bool_]:
        """Which of the scores are wrong, given encoded labels."""

    @abstractmethod
    def losses(self, scores: Floats, y: Floats) -> NDArray[Any]:
        """The loss of each score, whose mean is the progressive error: 1 for a mistake."""

    def scores(self, scores: Floats) -> Floats:
        """Public scores, from internal ones; and back."""
        return scores

    @property
    def turned(self) -> bool:
        """Whether public scores have the other sign, since the positive label has place 0."""
        return False

    def of_positive(self, chances: Floats) -> Floats:
        """The probabilities of the positive one of two labels, given those of place 1."""
        return chances

    @property
    @abstractmethod
    def classes(self) -> NDArray[Any]:
        """The labels seen so far, in the order of probabilities."""

    @abstractmethod
    def encode(self, y: Any) -> Floats:
        """Labels as places, or regression targets as numbers."""

    @abstractmethod
    def decode(self, scores: Floats) -> NDArray[Any]:
        """The label predicted by each score."""

    @abstractmethod
    def describe(self) -> Any:
        """As JSON, for a model file."""
