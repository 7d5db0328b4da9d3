"""OnlineRegressor: base class of all regressors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from onlineboost.data.arrays import check_weight
from onlineboost.data.batch import Floats
from onlineboost.data.regression import Numbers
from onlineboost.errors import DataError
from onlineboost.interop import river
from onlineboost.model import OnlineModel


class OnlineRegressor(OnlineModel):
    """A regressor that learns one example at a time; the result does not depend on batches.

    Abstract, for annotations: ``OnlineBoostRegressor``, ``RegressionTree`` and others are its subclasses.

    Examples
    --------
    >>> from onlineboost import LeastSquares
    >>> from onlineboost.extend import OnlineRegressor
    >>> isinstance(LeastSquares(), OnlineRegressor), LeastSquares().predict_one({"size": 1})
    (True, 0.0)
    """

    _sklearn_type = "regressor"

    def _new_target(self) -> Numbers:
        return Numbers()

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Predict the number of one example.

        Parameters
        ----------
        x : dict
            Features by name. Numbers are values, strings are categories, and absent features are 0.

        Returns
        -------
        float
            The prediction; 0 before anything was learned.
        """
        found: float | None = super().predict_one(x)
        return 0.0 if found is None else found

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue learning.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array or None, default=None
            One number per row; None: the stream has its own.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.

        Returns
        -------
        self : estimator
            The model.
        """
        self._learn(X, y, None, sample_weight)
        return self

    def progressive_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
        """Continue learning, as ``partial_fit`` does, and return predictions from before the targets were used.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array or None, default=None
            One number per row; None: the stream has its own.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.

        Returns
        -------
        array of shape (n_samples,)
            The predictions.
        """
        scores = self._learn(X, y, None, sample_weight, scored=True)
        return Numbers().decode(scores)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2: the share of the variance of the target that is explained; 1 is perfect, 0 is as good as the mean.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array
            True numbers.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.

        Returns
        -------
        float
            R2, at most 1.
        """
        answers = self.predict(X)
        y = Numbers().encode(y)
        if y.shape != answers.shape or not y.size:
            raise DataError(f"y has shape {y.shape}: expected {answers.shape}, one number per row, and at least one")
        weight = check_weight(sample_weight, y.size)
        if not weight.any():
            raise DataError("sample_weight is 0 everywhere: expected at least one positive weight")
        return r2(y, answers, weight)


river.join(OnlineRegressor, "MiniBatchRegressor")


def r2(y: Floats, answers: Floats, weight: Floats | None = None) -> float:
    """The share of the variance of y that predictions explain; for a constant y, 1 if all are right, else 0.

    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    0.5
    """
    weight = np.ones(y.size) if weight is None else weight
    whole = float(np.sum(weight * (y - np.average(y, weights=weight)) ** 2))
    rest = float(np.sum(weight * (y - answers) ** 2))
    if whole == 0:
        return 1.0 if rest == 0 else 0.0
    return 1 - rest / whole
