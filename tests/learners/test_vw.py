"""Linear is Vowpal Wabbit's learner, and separate copies under our rounds are its boosting reduction."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import vw

from onlineboost import AdaBoostOL, Linear, OnlineBBM
from onlineboost.datasets import load_letter

LABEL_RANGE = (
    "--min_prediction -1 --max_prediction 1"  # ours is this from the start; VW's grows with the labels it meets
)


def dense_stream(rows: int):
    rng = np.random.default_rng(0)
    X = vw.exact_in_text(rng.normal(size=(rows, 12)) * 2.0 ** rng.integers(-3, 6, size=12))
    return X, np.where(X @ rng.normal(size=12) + 5 * rng.normal(size=rows) > 0, 1, -1)


def sparse_stream(rows: int):
    rng = np.random.default_rng(1)
    X = vw.exact_in_text(
        sp.random(rows, 3000, density=0.01, random_state=1, data_rvs=lambda k: rng.exponential(size=k))
    )
    return X, np.where(X @ rng.normal(size=3000) + rng.normal(size=rows) > 0, 1, -1)


def letter_stream(rows: int):
    X, y = load_letter()
    return sp.csr_matrix(X[:rows]), y[:rows]


STREAMS = {"dense": dense_stream, "sparse": sparse_stream, "letter": letter_stream}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("loss", "tolerance"), [("squared", 1e-5), ("logistic", 1e-4)])
@pytest.mark.parametrize("name", STREAMS)
def test_linear_equals_vw(name, loss, tolerance, weighted):
    X, y = STREAMS[name](1500)
    weight = np.random.default_rng(2).choice([0.25, 1, 3, 100], size=1500) if weighted else None
    theirs = vw.progressive(f"--loss_function {loss} {LABEL_RANGE if loss == 'squared' else ''}", X, y, weight)
    ours = Linear(loss).progressive_fit(X, y, sample_weight=weight)
    assert np.abs(ours - theirs).max() <= tolerance


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(("rate", "power"), [(0.05, 0.5), (0.5, 0.25), (0.5, 0.0), (2.0, 1.0)])
def test_linear_with_other_rates_equals_vw(loss, rate, power):
    X, y = dense_stream(1000)
    options = f"--loss_function {loss} -l {rate} --power_t {power} {LABEL_RANGE if loss == 'squared' else ''}"
    ours = Linear(loss, learning_rate=rate, power_t=power).progressive_fit(X, y)
    assert np.abs(ours - vw.progressive(options, X, y)).max() <= 1e-4


@pytest.mark.parametrize("name", ["20news", "covtype"])
def test_linear_equals_vw_on_real_sets(name, real_set):
    X, y = real_set(name, 1500)
    X = vw.exact_in_text(X)
    for loss, tolerance in (("squared", 1e-5), ("logistic", 1e-4)):
        theirs = vw.progressive(f"--loss_function {loss} {LABEL_RANGE if loss == 'squared' else ''}", X, y)
        assert np.abs(Linear(loss).progressive_fit(X, y) - theirs).max() <= tolerance


VW_COIN = float(np.float32(0.5) + np.float32(0.1))
BOOSTED = {
    "BBM": lambda n: OnlineBBM(Linear(), n, delivery="weight", votes="real", coin=VW_COIN, normalizer="none"),
    "logistic": lambda n: AdaBoostOL(Linear(), n, delivery="weight", votes="real", expert="last"),
}


@pytest.mark.parametrize(("n", "rows"), [(5, 2000), (20, 600), (50, 300)])
@pytest.mark.parametrize("algorithm", BOOSTED)
def test_boosting_equals_vw(algorithm, n, rows):
    X, y = dense_stream(rows)
    theirs = vw.progressive(f"--boosting {n} --alg {algorithm} {LABEL_RANGE} -b 20", X, y)
    ours = BOOSTED[algorithm](n).progressive_fit(X, y)
    assert np.abs(ours - theirs).mean() <= 1e-4
    assert ((ours > 0) == (theirs > 0)).mean() >= 0.999
