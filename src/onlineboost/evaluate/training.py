"""Training and progressive validation in one pass: every example is scored before it is learnt."""

from __future__ import annotations

from dataclasses import dataclass, field

from onlineboost.data.page import Page
from onlineboost.evaluate.metrics import Curve
from onlineboost.model import OnlineClassifier


@dataclass
class Training:
    """A model and its base learner alone, on the same stream.

    >>> from onlineboost import Linear, OnlineBBM
    >>> from onlineboost.readers import open_stream
    >>> rows = [({"size": k % 5, "colour": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    >>> training = Training(OnlineBBM(n_estimators=5), Linear())
    >>> for page in open_stream(rows):
    ...     training.learn(page)
    >>> training.curve.examples, training.curve.mistakes
    (200, 3.0)
    """

    model: OnlineClassifier
    base: OnlineClassifier | None
    curve: Curve = field(default_factory=Curve)
    base_curve: Curve = field(default_factory=Curve)
    entries: int = 0  # non-zero features of all examples

    def learn(self, page: Page) -> None:
        """Score the page, then learn it."""
        batch = page.batch
        for model, curve in ((self.model, self.curve), (self.base, self.base_curve)):
            if model is not None:
                curve.update(page.target.mistakes(model.learn(page), batch.y), batch.weight)
        self.entries += int(batch.indptr[-1] - batch.indptr[0])

    @property
    def gain(self) -> float | None:
        """The share of the base learner's error that boosting removes; None without a base learner or its mistakes."""
        if self.base is None or not self.base_curve.mistakes:
            return None
        return 1 - self.curve.error / self.base_curve.error

    @property
    def n_features(self) -> int | None:
        """Number of different features met so far; None if the learners do not count them."""
        return self.model.n_features_seen()
