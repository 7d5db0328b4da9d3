"""Binner: quantile bins as indicator features, for linear learners of any library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from onlineboost.data.arrays import check_features, writable
from onlineboost.data.batch import joined
from onlineboost.errors import DataError, MissingPackageError, NotFittedError, ParameterError
from onlineboost.parameters import Parameters
from onlineboost.transforms.crosses import (
    CrossesState,
    check_crosses,
    columns_not_met,
    n_output_features,
    n_products,
    name_columns,
    new_crosses,
)


@dataclass(eq=False, repr=False)
class Binner(Parameters):
    """Turns each dense feature into indicators of its quantile bins, made from the first 128 rows.

    ``Linear(bins=16)`` does the same; this is for other learners, in a scikit-learn pipeline for example.

    Parameters
    ----------
    bins : number of bins of a feature, a power of two; 0 leaves features as they are
    crosses : products of two features as new features: True for all pairs, or pairs of columns, by name or number
    bits : number of hash bits of the products

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

    _state: CrossesState | None = field(default=None, init=False)
    _names: list[str] = field(default_factory=list, init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start over, and make bins from the first 128 rows."""
        check_crosses(self.bins, self.crosses, self.bits)
        source = check_features(X)
        bins, bits = int(self.bins), int(self.bits)
        n_output_features(source.n_features, bins, n_products(self.crosses, bits))
        state = new_crosses(source.n_features, bins, self.crosses, bits)
        names = source.names or [str(j) for j in range(source.n_features)]
        name_columns(state, self.crosses, dict(enumerate(names)))
        for name in columns_not_met(self.crosses, names):
            raise ParameterError("crosses", name, "columns of X, by name or by number from 0")
        self._state, self._names = state, names
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Continue; after the first 128 rows nothing more is learnt."""
        if self._state is None:
            return self.fit(X)
        self._transform(X, learning=True)
        return self

    def transform(self, X: Any) -> Any:
        """The transformed rows as a SciPy sparse matrix; without entries until 128 rows were learnt."""
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise MissingPackageError("Binner.transform", "SciPy", "scipy") from None

        if self._state is None:
            raise NotFittedError("this Binner has learnt nothing yet: call fit or partial_fit")
        batch = self._transform(X, learning=False)
        return csr_matrix((batch.values, batch.indices, batch.indptr), (batch.y.size, self._width()))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The name of each output column; columns without a feature are "unused"."""
        if self._state is None:
            raise NotFittedError("this Binner has learnt nothing yet: call fit or partial_fit")
        known = self._state.output_names(dict(enumerate(self._names)))
        return np.array([known.get(j, f"unused {j}") for j in range(self._width())], object)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: writable(value) for name, value in state.items()})

    def _width(self) -> int:
        assert self._state is not None
        bins = self._state.edges.shape[1] + 1 if self._state.zero.size else 0
        return n_output_features(len(self._names), bins, self._state.products)

    def _transform(self, X: Any, learning: bool) -> Any:
        assert self._state is not None
        source = check_features(X)
        if source.n_features != len(self._names):
            raise DataError(f"X has {source.n_features} features: expected {len(self._names)}, as in fit")
        if source.names and source.names != self._names:
            wrong = next(j for j, name in enumerate(source.names) if name != self._names[j])
            raise DataError(f"X has {source.names[wrong]!r} as column {wrong}: expected {self._names[wrong]!r}")
        if source.missing.size:
            raise DataError("X has missing values: fill them in first")
        one = np.ones(source.n_rows)
        return joined([self._state.apply(batch, learning) for batch in source.batches(one, one)])
