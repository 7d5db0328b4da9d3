"""Binner: quantile bins as indicator features, for linear learners of any library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from onlineboost.data.arrays import check_features, writable
from onlineboost.data.batch import Batch, joined
from onlineboost.errors import DataError, MissingPackageError, ParameterError, not_fitted
from onlineboost.interop.sklearn import SklearnMethods
from onlineboost.parameters import Parameters
from onlineboost.transforms.chain import Transforms, output_names, through
from onlineboost.transforms.crosses import (
    check_crosses,
    columns_not_met,
    n_output_features,
    n_products,
    name_columns,
    new_crosses,
)
from onlineboost.transforms.indicators import IndicatorsState, new_indicators


@dataclass(eq=False, repr=False)
class Binner(SklearnMethods, Parameters):
    """Transformer of each dense feature into indicators of its quantile bins, which follow the rows.

    ``Linear(bins=16)`` does the same; this is for other learners, in a scikit-learn pipeline for example.

    Parameters
    ----------
    bins : int, default=16
        Number of bins of a feature, a power of two; 0: features as they are.
    crosses : bool or list of pairs, default=False
        Products of two features as new features: True for all pairs, or a list of pairs of columns, by name or number.
    bits : int, default=18
        Number of hash bits of the products.

    Examples
    --------
    >>> from onlineboost import Binner
    >>> from onlineboost.datasets import load_letter
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = load_letter()
    >>> binner = Binner().fit(X[:15000])
    >>> def score(learner, X, test):
    ...     return round(learner.fit(X, y[:15000]).score(test, y[15000:]), 2)
    >>> score(SGDClassifier(loss="log_loss", random_state=0), X[:15000], X[15000:])
    0.73
    >>> score(SGDClassifier(loss="log_loss", random_state=0), binner.transform(X[:15000]), binner.transform(X[15000:]))
    0.82
    """

    bins: int = 16
    _: KW_ONLY
    crosses: bool | Sequence[tuple[str | int, str | int]] = False
    bits: int = 18

    _sklearn_type = "transformer"
    _states: Transforms | None = field(default=None, init=False)
    _names: list[str] = field(default_factory=list, init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start over, and make bins from the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : Binner
            The transformer.
        """
        check_crosses(self.bins, self.crosses, self.bits)
        source = check_features(X)
        if not source.n_rows or not source.n_features:
            shape = source.n_rows, source.n_features
            raise DataError(f"X has {shape[1]} feature(s) (shape={shape}) while a minimum of 1 is required, in 1 row.")
        bins, bits = int(self.bins), int(self.bits)
        n, products = source.n_features, n_products(self.crosses, bits)
        n_output_features(n, bins, products)
        names = source.names or [str(j) for j in range(n)]
        for name in columns_not_met(self.crosses, names):
            raise ParameterError("crosses", name, "columns of X, by name or by number from 0")
        states: Transforms = (new_indicators(n, bins, steady=products > 0),) if bins else ()
        if products:
            crosses = new_crosses(n, bins, self.crosses, bits)
            name_columns(crosses, self.crosses, dict(enumerate(names)))
            states = (*states, crosses)
        self._states, self._names = states, names
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Continue. Bins follow the rows: a learner that was fitted before may have to be fitted again.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : Binner
            The transformer.
        """
        if self._states is None:
            return self.fit(X)
        for rows in self._batches(X):
            for state in self._states:
                if isinstance(state, IndicatorsState):
                    _learn(state, rows)
        return self

    def transform(self, X: Any) -> Any:
        """Transform rows; they have no entries until 64 rows were learned.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows.

        Returns
        -------
        sparse matrix
            The transformed rows.
        """
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise MissingPackageError("Binner.transform", "SciPy", "scipy") from None

        if self._states is None:
            raise not_fitted("this Binner has learned nothing yet: call fit or partial_fit")
        batch = joined([part for rows in self._batches(X) for part in through(self._states, rows, learning=False)])
        return csr_matrix((batch.values, batch.indices, batch.indptr), (batch.y.size, self._width()))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """``fit`` and ``transform`` in one call.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows.
        y : None, default=None
            Ignored.

        Returns
        -------
        sparse matrix
            The transformed rows.
        """
        return self.fit(X).transform(X)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        if self._states is None:
            raise not_fitted("this Binner has learned nothing yet: call fit or partial_fit")
        return len(self._names)

    def __sklearn_is_fitted__(self) -> bool:
        return self._states is not None

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The name of each output column.

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        array of str
            The names; columns without a feature are "unused".
        """
        if self._states is None:
            raise not_fitted("this Binner has learned nothing yet: call fit or partial_fit")
        known = output_names(self._states, dict(enumerate(self._names)))
        return np.array([known.get(j, f"unused {j}") for j in range(self._width())], object)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: writable(value) for name, value in state.items()})

    def _width(self) -> int:
        return n_output_features(len(self._names), int(self.bins), n_products(self.crosses, int(self.bits)))

    def _batches(self, X: Any) -> Iterator[Batch]:
        source = check_features(X)
        if source.n_features != len(self._names):
            who = f"but Binner is expecting {len(self._names)} features as input"
            raise DataError(f"X has {source.n_features} features, {who}, as in fit")
        if source.names and source.names != self._names:
            wrong = next(j for j, name in enumerate(source.names) if name != self._names[j])
            raise DataError(f"X has {source.names[wrong]!r} as column {wrong}: expected {self._names[wrong]!r}")
        if source.missing.size:
            raise DataError("Input X contains NaN: fill missing values in first")
        one = np.ones(source.n_rows)
        return source.batches(one, one)


def _learn(state: IndicatorsState, rows: Batch) -> None:
    nothing = np.empty((0, 3, 0), np.float32)
    for _ in through((state,), rows, learning=True):
        state.settle(nothing, 0)
