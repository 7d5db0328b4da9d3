"""BatchBoost: gradient boosted trees of the batch kind, trained anew on the last rows at fixed rows of the stream.

A training begins after 64, 90, 127, ... rows, each ``growth`` times the one before, on all rows that the memory has;
the first one as soon as there are as many rows as features (on long sparse rows, trees would earn nothing before). A
32nd of so many rows later its trees take the place of those before. In between, each row that is learned does its share
of the work. So no row waits long, and batches, threads and pauses change nothing.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from onlineboost.learners.base import Learner, kernels_of
from onlineboost.learners.batch import kernels
from onlineboost.learners.batch.kernels import BatchState
from onlineboost.learners.batch.learner import BatchLearner
from onlineboost.learners.batch.plan import ABSOLUTE, CLASSES, QUANTILE, SQUARED
from onlineboost.learners.number_learner import NumberLearner
from onlineboost.parameters import check_between, check_one_of


@dataclass(eq=False, repr=False)
class BatchBoost(BatchLearner, Learner, state=BatchState, **kernels_of(kernels.__name__)):
    """Gradient boosted trees as in batch learning, trained anew on the last rows, which are kept as bins.

    ``partial_fit`` only keeps rows; existing trees do not change. New trees are trained from scratch on the last
    ``max_rows`` rows after 64, 90, 127, ... rows, but not before there are as many rows as features. They replace the
    old trees when a further 32nd of these rows has been learned, since the work is divided among the rows in between.
    So the same rows give the same trees, bit for bit, whatever the batches; and rows after the last training have no
    effect before the next one.

    A saved model contains the kept rows, as bins.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    n_estimators : int, default=40
        Number of trees; with more than two classes, for each class.
    max_leaves : int, default=127
        Maximum number of leaves of a tree, which is grown best leaf first.
    learning_rate : float, default=0.25
        Factor of the values of leaves.
    bins : int, default=64
        Number of bins of a feature, a power of two from 4 to 64.
    l2 : float, default=0.01
        L2 regularization: added to the curvature of a leaf, so that its value shrinks towards 0.
    min_rows : int, default=20
        Minimum number of rows in a leaf; a quarter of it as long as there are fewer than 500 rows.
    growth : float, default=1.41
        Ratio of the numbers of rows at two successive trainings.
    max_rows : int, default=65536
        Maximum number of last rows that are kept.
    max_mb : int, default=64
        Memory for the rows and for a training without its histograms, in megabytes. Fewer rows are kept if they are
        wide.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by a hash.
    gentle : bool, default=False
        Whether trees are smaller and weaker where one of two labels is rare, since rows tell less there.

    Examples
    --------
    >>> from onlineboost import BatchBoost
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(BatchBoost(), X, y), 3)
    0.052
    """

    _: KW_ONLY
    n_estimators: int = 40
    max_leaves: int = 127
    learning_rate: float = 0.25
    bins: int = 64
    l2: float = 0.01
    min_rows: int = 20
    growth: float = 1.41
    max_rows: int = 1 << 16
    max_mb: int = 64
    max_slots: int = 1024
    gentle: bool = False

    def loss_of(self) -> tuple[int, float]:
        return CLASSES, 0.5


BatchLoss = Literal["squared", "absolute", "quantile"]
BATCH_LOSSES: tuple[BatchLoss, ...] = ("squared", "absolute", "quantile")


@dataclass(eq=False, repr=False)
class BatchBoostRegressor(BatchLearner, NumberLearner, state=BatchState, **kernels_of(kernels.__name__)):
    """``BatchBoost`` for regression: gradient boosted trees trained anew on the last rows, which are kept as bins.

    Parameters
    ----------
    loss : {"squared", "absolute", "quantile"}, default="squared"
        Loss: squared, absolute (predicts medians) or quantile.
    quantile : float, default=0.5
        Probability of a target below the prediction; for ``loss="quantile"`` only.
    n_estimators : int, default=40
        Number of trees.
    max_leaves : int, default=31
        Maximum number of leaves of a tree, which is grown best leaf first.
    learning_rate : float, default=0.15
        Factor of the values of leaves.
    bins : int, default=64
        Number of bins of a feature, a power of two from 4 to 64.
    l2 : float, default=1.0
        L2 regularization: added to the curvature of a leaf, so that its value shrinks towards 0.
    min_rows : int, default=20
        Minimum number of rows in a leaf; a quarter of it as long as there are fewer than 500 rows.
    growth : float, default=1.41
        Ratio of the numbers of rows at two successive trainings.
    max_rows : int, default=65536
        Maximum number of last rows that are kept.
    max_mb : int, default=64
        Memory for the rows and for a training without its histograms, in megabytes. Fewer rows are kept if they are
        wide.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by a hash.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import BatchBoostRegressor
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> round(BatchBoostRegressor().fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]), 2)
    1.0
    """

    loss: BatchLoss = "squared"
    _: KW_ONLY
    quantile: float = 0.5
    n_estimators: int = 40
    max_leaves: int = 31
    learning_rate: float = 0.15
    bins: int = 64
    l2: float = 1.0
    min_rows: int = 20
    growth: float = 1.41
    max_rows: int = 1 << 16
    max_mb: int = 64
    max_slots: int = 1024

    def check(self) -> None:
        super().check()
        check_one_of("loss", self.loss, BATCH_LOSSES)
        check_between("quantile", self.quantile, 0, 1)

    def loss_of(self) -> tuple[int, float]:
        level = float(self.quantile) if self.loss == "quantile" else 0.5
        return (SQUARED, ABSOLUTE, QUANTILE)[BATCH_LOSSES.index(self.loss)], level
