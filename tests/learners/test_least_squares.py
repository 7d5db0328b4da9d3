from __future__ import annotations

import numpy as np
import pytest
import reference
import scipy.sparse as sp

from onlineboost import LeastSquares, ParameterError


class SlowLeastSquares:
    """All rows so far, solved by NumPy; features are bounded as they come."""

    def __init__(self, forgetting: float, n: int) -> None:
        self.forgetting, self.standardizer, self.n = forgetting, reference.Standardizer(centering=False), n
        self.A, self.b, self.w, self.waits, self.met = np.zeros((n, n)), np.zeros(n), np.zeros(n), 0, 1

    def vector(self, row: dict[int, float]) -> np.ndarray:
        x = np.zeros(self.n)
        x[0] = 1
        for f, value in self.standardizer.see(row).items():
            x[f + 1] = np.float32(value)
        return x

    def score(self, row: dict[int, float]) -> float:
        return float(self.w @ self.vector(row))

    def learn(self, row: dict[int, float], t: float, w: float) -> None:
        x = self.vector(row)
        self.met = max(self.met, 1 + int(np.flatnonzero(x)[-1]))
        self.A = self.forgetting * self.A + w * np.outer(x, x)
        self.b = self.forgetting * self.b + w * t * x
        self.standardizer.learn(row)
        self.waits += 1
        if self.waits > self.met**2 // 400:
            self.waits = 0
            square = np.diag(self.A)
            ridge = np.maximum(square - self.A[0] ** 2 / self.A[0, 0], 1e-6 * square) / self.A[0, 0]
            ridge[0] = 1e-3
            used = np.diag(self.A) > 0
            A = (self.A + np.diag(ridge))[np.ix_(used, used)]
            self.w = np.zeros(self.n)
            self.w[used] = np.linalg.solve(A, self.b[used])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("forgetting", [1.0, 0.98, 0.8])
def test_every_answer_is_that_of_the_normal_equations(kind, forgetting):
    rng = np.random.default_rng(0)
    n, d = 700, 30 if kind == "sparse" else 6
    X = (rng.normal(size=(n, d)) + 3).astype(np.float32)
    if kind == "sparse":
        X[rng.random(X.shape) < 0.9] = 0
    y = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    weight = rng.choice([0.5, 1.0, 2.0], n)
    scores = LeastSquares(forgetting).progressive_fit(sp.csr_matrix(X), y, weight)
    slow = reference.TargetScaling(SlowLeastSquares(forgetting, d + 1))
    slots = reference.Slots(128)
    for r in range(n):
        entries = [(j, float(x)) for j, x in enumerate(X[r]) if x]
        asked, learned = (dict(slots.row(entries, learns, missing=False)) for learns in (False, True))
        assert scores[r] == pytest.approx(slow.score(asked), rel=1e-5, abs=1e-4), r
        slow.learn(learned, y[r], weight[r])


def test_a_feature_that_moves_belongs_to_one_line():
    x = np.linspace(20, 0, 2000)
    answers = LeastSquares().fit(x[:, None], 50 + 2 * x).predict([[0.0], [10.0], [20.0]])
    assert answers == pytest.approx([50, 70, 90], abs=0.5)


def test_scales_and_offsets_do_not_matter():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 4))
    y = X @ [1.0, -2.0, 0.5, 3.0] + 0.1 * rng.normal(size=2000)
    plain = LeastSquares().progressive_fit(X, y)
    scaled = LeastSquares().progressive_fit(X * [1e6, 1e-6, 1.0, 1e3], 1e5 * y + 1e7)
    assert np.allclose(1e5 * plain[100:] + 1e7, scaled[100:], rtol=0, atol=2e3)
    assert 1 - np.var((y - plain)[100:]) / np.var(y) > 0.99


def test_long_streams_stay_finite():
    """Growth begins anew many times."""
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = LeastSquares(0.5).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()
    assert model._fitted.root.parts[0].committee.growth[0] <= 1e30


@pytest.mark.parametrize("wrong", [{"forgetting": 0}, {"forgetting": 1.1}, {"ridge": -1}, {"max_slots": 0}])
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        LeastSquares(**wrong).fit(np.eye(3), [1.0, 2.0, 3.0])
