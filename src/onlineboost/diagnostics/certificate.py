"""The certificate of Online BBM: an identity between mistakes and edges that holds on any stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlineboost.data.batch import Floats


@dataclass(frozen=True)
class Certificate:
    """mistakes = T Phi_0(0) + the sum of the learners' deficits, g ||w^i||_1 - w^i.z^i; the proof of Lemma 3, exactly.

    A mistake is a majority of zero or less for the right label. Examples count by their own weights.
    """

    n_examples: float
    potential: float  # Phi_0(0), the error rate if every learner has exactly its edge
    deficits: Floats  # mistakes added by each learner that misses its edge; negative: mistakes saved
    mistakes: float

    @property
    def explained(self) -> float:
        """The right side of the identity."""
        return self.n_examples * self.potential + float(self.deficits.sum())

    @property
    def worst(self) -> int:
        """The number of the learner that adds most mistakes, counted from 0."""
        return int(np.argmax(self.deficits))

    def __str__(self) -> str:
        parts = {
            f"mistakes on {self.n_examples:,.1f} examples": f"{self.mistakes:,.1f}",
            f"if every learner had exactly its edge: {self.potential:.2%}": f"{self.n_examples * self.potential:,.1f}",
            "added by learners below their edge": f"{self.deficits[self.deficits > 0].sum():+,.1f}",
            "saved by learners above it": f"{self.deficits[self.deficits < 0].sum():+,.1f}",
        }
        lines = [f"{number:>14}  {meaning}" for meaning, number in parts.items()]
        if self.deficits.max() > 0:
            lines.append(f"Learner {self.worst + 1} costs most: {self.deficits.max():,.1f} mistakes.")
        return "\n".join(lines)
