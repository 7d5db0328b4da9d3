from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from onlineboost.evaluate import metrics
from onlineboost.evaluate.metrics import Calibration, Confusion, Curve, Ranking

examples = st.lists(
    st.tuples(
        st.sampled_from([-2.5, -1.0, 0.0, 0.1, 3.0]), st.sampled_from([-1.0, 1.0]), st.sampled_from([0.5, 1.0, 3.0])
    ),
    min_size=1,
    max_size=60,
)


def parts(rows: list, cuts: list[int]):
    """The rows as arrays, in batches."""
    table = np.array(rows)
    return [part.T for part in np.split(table, sorted(cut % len(rows) for cut in cuts)) if len(part)]


@given(examples, st.lists(st.integers(0, 1000), max_size=4))
def test_figures_do_not_depend_on_batches_and_equal_those_of_scikit_learn(rows, cuts):
    ranking, confusion, calibration = Ranking(), Confusion(), Calibration()
    for scores, y, weight in parts(rows, cuts):
        ranking.update(scores, y, weight)
        confusion.update(scores, y, weight)
        calibration.update(1 / (1 + np.exp(-scores)), y, weight)
    scores, y, weight = np.array(rows).T
    assert confusion.error == pytest.approx(np.average((scores >= 0) != (y > 0), weights=weight))
    probability = 1 / (1 + np.exp(-scores))
    assert calibration.log_loss == pytest.approx(log_loss(y, probability, sample_weight=weight, labels=[-1, 1]))
    assert calibration.brier == pytest.approx(np.average((probability - (y > 0)) ** 2, weights=weight))
    at = np.minimum((probability * 15).astype(int), 14)
    gaps = [np.abs(np.sum((weight * (probability - (y > 0)))[at == k])) for k in range(15)]
    assert calibration.error == pytest.approx(sum(gaps) / weight.sum())
    if len(set(y)) == 2:
        assert ranking.auc == pytest.approx(roc_auc_score(y, scores, sample_weight=weight))
    else:
        assert ranking.auc is None


def test_the_area_is_close_when_there_are_too_many_scores(monkeypatch):
    monkeypatch.setattr(metrics, "_DISTINCT", 1000)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30_000) < 0.4, 1.0, -1.0)
    scores = rng.normal(size=y.size) + y
    ranking = Ranking()
    for part in np.array_split(np.arange(y.size), 10):
        ranking.update(scores[part], y[part], np.ones(part.size))
    assert ranking.scores.size <= 1000
    assert ranking.auc == pytest.approx(roc_auc_score(y, scores), abs=1e-3)


@given(st.lists(st.booleans(), min_size=1, max_size=3000), st.lists(st.integers(0, 5000), max_size=5))
def test_a_curve_remembers_the_same_points_whatever_the_batches(wrong, cuts):
    whole, cut = Curve(most=16), Curve(most=16)
    wrong = np.array(wrong)
    whole.update(wrong, np.ones(wrong.size))
    for part in np.split(wrong, sorted(c % wrong.size for c in cuts)):
        cut.update(part, np.ones(part.size))
    assert cut == whole
    assert len(whole.points) <= 16
    for n, error in whole.points:
        assert error == pytest.approx(wrong[:n].mean())
    assert [mark[0] for mark in whole.marks] == [1 << k for k in range(wrong.size.bit_length())]
    assert all(mistakes == wrong[:n].sum() for n, _, mistakes in whole.marks)


def test_a_curve_survives_json():
    import json

    curve = Curve()
    curve.update(np.array([True, False, True]), np.array([1.0, 2.0, 0.3]))
    assert Curve.from_json(json.loads(json.dumps(curve.as_json()))) == curve
