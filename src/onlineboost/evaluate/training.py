"""Training and progressive validation in one pass: every example is scored before it is learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.boosters.base import Booster
from onlineboost.data.batch import Floats
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.data.scores import joined_scores
from onlineboost.diagnostics.verdict import comparison, comparison_of_losses, spare_learners
from onlineboost.evaluate.metrics import Curve, NumberErrors
from onlineboost.evaluate.paired import Paired, PairedLoss
from onlineboost.evaluate.progressive import Delayed
from onlineboost.evaluate.repeated import Repeated
from onlineboost.evaluate.threshold import Cutoff, Threshold
from onlineboost.model import OnlineModel

RARE = 0.1  # share of a label


@dataclass
class Counts:
    """Counts of a training."""

    curve: Curve = field(default_factory=Curve)
    base_curve: Curve = field(default_factory=Curve)
    entries: int = 0  # non-zero features of all examples
    paired: Paired | None = field(default_factory=Paired)  # model and base learner; None: not known from the start on
    repeated: Repeated | None = field(default_factory=Repeated)  # "no change"; None: not known from the start on
    errors: NumberErrors = field(default_factory=NumberErrors)  # of the model, if it predicts numbers
    threshold: Threshold | None = field(default_factory=Threshold)  # of two labels; None: there are more
    losses: PairedLoss | None = field(default_factory=PairedLoss)  # model and base learner; None: not two labels


class Training(Counts):
    """A model and its base learner alone, on the same stream.

    Parameters
    ----------
    model : estimator
        Model; it learns.
    base : estimator or None
        Its base learner, which learns beside it; None: none.
    counts : Counts or None, default=None
        Counts of an earlier training that continues.
    delay : float or None, default=None
        Delay of labels, as for ``Delayed``; None: labels come at once.
    delay_column : str or None, default=None
        Feature with the times of the rows, as for ``Delayed``.

    Examples
    --------
    >>> from onlineboost import Linear, OnlineBBM
    >>> from onlineboost.readers import open_stream
    >>> rows = [({"size": k % 5, "color": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    >>> training = Training(OnlineBBM(n_estimators=5), Linear())
    >>> for page in open_stream(rows):
    ...     training.learn(page)
    >>> training.curve.examples, training.curve.mistakes
    (200, 3.0)
    """

    def __init__(
        self,
        model: OnlineModel,
        base: OnlineModel | None,
        counts: Counts | None = None,
        *,
        delay: float | None = None,
        delay_column: str | None = None,
    ) -> None:
        super().__init__(**vars(counts or Counts()))
        self.model, self.base = model, base
        self.scores: Floats = np.empty((0, 1))  # of the rows learned last, before they were learned
        self.answers: Floats = np.empty((0, 1))  # to them: scores, or signs by the threshold
        models = [model] if base is None else [model, base]
        self.learners: list[Any] = models if delay is None else [Delayed(one, delay, delay_column) for one in models]
        if delay:
            self.repeated = None  # the last label is not known yet

    def learn(self, page: Page) -> None:
        """Score the page, then learn it."""
        batch, numbers = page.batch, isinstance(page.target, Numbers)
        learned = [self._learn(piece) for piece in self._pieces(page)]
        self.scores, self.answers, others = (joined_scores([one[k] for one in learned]) for k in range(3))
        scores = self.scores
        wrong = page.target.losses(scores, batch.y)
        weight = batch.weight
        if numbers and not self.curve.examples and weight.size:  # the first target has no prediction
            weight = np.concatenate([[0.0], weight[1:]])
        self.curve.update(wrong, weight)
        if self.base is not None:
            base_wrong = page.target.losses(others, batch.y)
            self.base_curve.update(base_wrong, weight)
            if self.paired is not None and not numbers:
                self.paired.update(wrong, base_wrong, weight)
        if self.repeated is not None:
            self.repeated.update(batch.y, weight, numbers)
        if numbers:
            self.errors.update(page.target.decode(scores), batch.y, weight)
        self.entries += int(batch.indptr[-1] - batch.indptr[0])
        if self.cutoff is not None:
            self.model._fitted.threshold = self.cutoff  # type: ignore[union-attr]

    def _pieces(self, page: Page) -> Iterator[Page]:
        """The page, cut at powers of two for ``PairedLoss.look``, if needed."""
        if self._left() < page.n_rows:
            for model in (self.model, self.base):
                if model is not None:
                    model._check_page(page)  # all of it, so that an error comes before anything changes
        while (left := self._left()) < page.n_rows:
            yield page.rows(0, left)
            page = page.rows(left, page.n_rows)
        yield page

    def _left(self) -> int:
        """Rows up to the next power of two, if it is needed."""
        lefts = [self.threshold.left] if self.threshold is not None and self.threshold.of_probability else []
        if self.base is not None and self.losses is not None:
            lefts.append(self.losses.left)
        return min(lefts, default=1 << 62)

    def _learn(self, page: Page) -> tuple[Floats, Floats, Floats]:
        """Learn the rows, and count their scores by label for thresholds.

        Returns the scores; the predictions, as scores or as signs by the threshold; and those of the base learner.
        """
        scores, answers = self._learn_model(page)
        others = self.learners[1].learn(page, squeeze=False) if self.base is not None else np.empty((0, 1))
        self._compare(page, scores, others)
        return scores, answers, others

    def _compare(self, page: Page, scores: Floats, others: Floats) -> None:
        """Count the log losses of model and base learner, for two labels."""
        fitted, base = self.model._fitted, None if self.base is None else self.base._fitted
        if fitted is None or base is None or fitted.target.width > 1 or isinstance(page.target, Numbers):
            self.losses = None
        if self.losses is None or fitted is None or base is None:
            return
        self.losses.update(scores[:, 0], others[:, 0], page.batch.y, page.batch.weight)
        if self.losses.due:
            self.losses.look(fitted.probabilities, base.probabilities)

    def _learn_model(self, page: Page) -> tuple[Floats, Floats]:
        scores, fitted = self.learners[0].learn(page, squeeze=False), self.model._fitted
        if self.threshold is None or fitted is None or fitted.target.width > 1 or isinstance(page.target, Numbers):
            self.threshold = None
            return scores, scores
        self.threshold.update(scores[:, 0], page.batch.y, page.batch.weight, fitted.target.turned)
        if self.cutoff is not None and self.threshold.of_probability and self.threshold.at_mark:
            self.threshold.now = self.cutoff.score(fitted) if self.threshold.has_both else None
        return scores, scores if self.threshold.rule is None else self.threshold.answers[:, None]

    @property
    def cutoff(self) -> Cutoff | None:
        """The requested threshold, by all rows so far."""
        if self.threshold is None or self.model._fitted is None:
            return None
        return self.threshold.cut(self.threshold.rule, self.model._fitted.target.turned)

    def finish(self) -> None:
        """Learn the rows with pending labels."""
        for late in self.learners:
            if isinstance(late, Delayed):
                late.tell_all()

    @property
    def order_tells(self) -> bool:
        """Whether labels or targets resemble the last one more often than by chance."""
        if self.repeated is None:
            return False
        if not self.errors.weight:
            return self.repeated.tells()
        # In random order the squared difference of two numbers is twice their variance on average: an R2 of -1.
        correlation = (1 + self.errors.r2_of(self.repeated.squared)) / 2
        return correlation > 3 / math.sqrt(self.errors.weight)

    @property
    def gain(self) -> float | None:
        """The share of the base learner's error that the model removes; None without a base learner or its mistakes."""
        if self.base is None or not self.base_curve.mistakes:
            return None
        return 1 - self.curve.error / self.base_curve.error

    @property
    def _by_loss(self) -> bool:
        """Whether model and base learner are compared by log loss: with a rare label, or a threshold."""
        if self.threshold is None or self.losses is None or not self.losses.weight:
            return False
        share = self.threshold.share()
        return self.threshold.rule is not None or min(share, 1 - share) < RARE

    def verdict(self) -> str:
        """Whether the model was better than its base learner, by a paired test; also the drift alarms. By mistakes;

        by log loss if a label is rare, so that nearly all predictions are the other one, or with a threshold, which

        the base learner does not have.

        Without a base learner, the model's own verdict.
        """
        if self.base is None:
            return self.model.verdict()
        sentences = []
        if self._by_loss and self.losses is not None:
            sentences.append(comparison_of_losses(self.losses.gain, self.losses.interval, self.model, self.base))
        elif self.paired is not None and self.paired.weight:
            sentences.append(comparison(self.paired.totals, self.gain, self.model, self.base, self.base_curve.error))
        if isinstance(self.model, Booster) and self.model._fitted is not None:
            sentences.append(spare_learners(self.model._fitted.root.learners, self.model))
        sentences.append(_changes(self.model))
        return " ".join(filter(None, sentences))

    @property
    def n_features(self) -> int | None:
        """Number of different features met so far; None if the learners do not count them."""
        return self.model.n_features_seen()


def _changes(model: Any) -> str:
    """The number of alarms and the last of them; empty if there was none."""
    if model._fitted is None or not model.n_alarms_:
        return ""
    n, last = model.n_alarms_, model.alarms_[-1]
    what = "Concept drift" if last.learner is None else "Learners were reset"
    return f"{what}: {'1 alarm' if n == 1 else f'{n:,} alarms'}, the last after {last.example:,} examples."
