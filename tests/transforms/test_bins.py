"""Bins that follow the stream, missing values, replay: what a user sees. Twins: tests/learners/test_tree.py."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from onlineboost import (
    Adaptive,
    Binner,
    Linear,
    NaiveBayes,
    OnlineBBM,
    ParameterError,
    RangeWarning,
    SafeBoost,
    Stump,
    Tree,
)
from onlineboost.datasets import load_letter
from onlineboost.readers import open_stream


def late(positive: bool) -> tuple[np.ndarray, np.ndarray]:
    """A feature that decides comes at row 1,000; with ``positive`` all its values are above 5."""
    X = np.random.default_rng(1).normal(size=(6000, 6))
    y = np.where(X[:, 5] > 0, 1, -1)
    X[:, 5] += 20 if positive else 0
    y[:1000] = np.where(X[:1000, 0] > 0, 1, -1)
    X[:1000, 5] = 0
    return X, y


def scaled(rows: slice, factor: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(2).normal(size=(6000, 6))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    X[rows] = factor * X[rows] + shift
    return X, y


BROKEN = {
    "late": late(False),
    "late and positive": late(True),
    "small": scaled(slice(128), 0.01, 0),
    "shifted": scaled(slice(2000, None), 100, 500),
}


@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("booster", [OnlineBBM, SafeBoost])
def test_streams_that_bins_made_once_cannot_follow(booster, name):
    X, y = BROKEN[name]
    scores = booster(Tree(8), random_state=0).progressive_fit(X, y)
    wrong = (scores >= 0) != (y > 0)
    assert wrong[-1000:].mean() < (0.03 if "late" in name else 0.05)


@pytest.mark.parametrize("learner", [Tree(3), Stump(), NaiveBayes(), Linear(bins=16)], ids=lambda m: type(m).__name__)
def test_values_that_leave_their_range_are_told_once(learner):
    X, y = BROKEN["shifted"]
    with pytest.warns(RangeWarning, match=r"the values of '\d' have left their range so far: bins are added") as told:
        learner.fit(X, y)
    assert len({str(one.message).split("'")[1] for one in told}) == len(told) <= 6
    with warnings.catch_warnings(action="error"):
        learner.clone().fit(*load_letter())
        learner.clone().fit(X[:2000], y[:2000])


def test_linear_learners_follow_too():
    X, y = BROKEN["shifted"]
    with pytest.warns(RangeWarning):
        scores = Linear(bins=16).progressive_fit(X, y)
    assert ((scores >= 0) != (y > 0))[-1000:].mean() < 0.1
    binner = Binner(16).fit(X[:2000])
    assert len(set(binner.transform(X[2000:]).indices)) == 6  # the highest bin of each feature
    assert len(set(binner.partial_fit(X[2000:]).transform(X[2000:]).indices)) > 60


@pytest.mark.parametrize("booster", [OnlineBBM, SafeBoost])
def test_missing_values_have_a_side_of_their_own(booster):
    """High, or missing: one split sends both to the same side; a second feature is missing at random."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = np.where(X[:, 0] > 0.5, 1, -1)
    gone = rng.random(4000) < 0.3
    y[gone] = 1
    X[gone, 0] = np.nan
    X[rng.random(4000) < 0.3, 1] = np.nan
    model = booster(Tree(1), random_state=0)
    scores = model.progressive_fit(X, y)
    assert ((scores >= 0) != (y > 0))[-1000:].mean() < 0.02
    assert model.predict([[np.nan, 0.0], [-1.0, np.nan], [1.0, np.nan]]).tolist() == [1, -1, 1]


def test_missing_or_not_may_be_all_that_matters():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = np.where(np.random.default_rng(1).random(2000) < 0.5, 1, -1)
    X[y > 0, 1] = np.nan
    scores = Tree(1).progressive_fit(X, y)
    assert ((scores >= 0) != (y > 0))[500:].mean() == 0


@pytest.mark.parametrize("learner", [Tree(3), Stump(), NaiveBayes(), Linear(bins=8)], ids=lambda m: type(m).__name__)
def test_the_first_rows_are_not_lost(learner):
    """After 64 rows there are bins, and what the rows before them showed was learned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 1))
    model = learner.clone().fit(X, np.where(X[:, 0] > 0, 1, -1))
    assert model.score(X, np.where(X[:, 0] > 0, 1, -1)) > 0.9
    assert model.n_seen_ == 64


def test_records_and_alarms_see_fresh_rows_only():
    X, y = load_letter()
    for model in (OnlineBBM(Tree(3), 5, random_state=0), SafeBoost(Tree(3), 6, random_state=0), Tree(3)):
        model.fit(X[:700], y[:700])
        record = model._fitted.root.record
        assert record.clock.tolist() == [700, 64 + 128 + 256 + 512]
        assert record.totals[0] == model.n_seen_ == 700
    alone = OnlineBBM(Tree(3), 1, random_state=0).fit(X[:700], y[:700])
    assert alone.weight_sums_[0] == 700
    watched = Adaptive(Tree(3)).fit(X[:700], y[:700])
    assert watched.n_seen_ == 700 and watched.n_alarms_ == 0


@pytest.mark.parametrize(("replay", "last"), [(0, 0), (1, 0), (63, 0), (64, 64), (100, 64), (512, 512), (1000, 512)])
def test_rows_are_kept_while_they_are_needed(replay, last):
    X, y = load_letter()
    for stop in (1, 63, 64, 65, 511, 512, 700):
        model = Tree(3, replay=replay).partial_fit(X[:stop], y[:stop], classes=[-1, 1])
        assert model._fitted.root.kept.y.size == (stop if stop < last else 0)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "64", None, 1 << 30])
@pytest.mark.parametrize("learner", [Tree, Stump, NaiveBayes])
def test_a_wrong_number_of_rows_is_named(learner, wrong):
    with pytest.raises(ParameterError, match="replay="):
        learner(replay=wrong).fit([[1.0], [2.0]], [0, 1])


def test_few_features_have_more_bins():
    X, y = load_letter()
    for columns, bins in ((8, 32), (9, 16)):
        committee = Tree(3).fit(X[:200, :columns] + 1, y[:200])._fitted.root.committee
        assert committee.bins.edges.shape == (columns, bins - 1)


def test_what_leaves_have_counted_is_carried_over_whole():
    """Edges change, totals do not: no leaf gains or loses weight, whatever its bins."""
    rng = np.random.default_rng(3)
    X = np.cumsum(rng.normal(size=(3000, 3)), axis=0)  # walks: their range grows
    y = np.where(rng.random(3000) < 0.5, 1, -1)
    with warnings.catch_warnings(action="ignore"):
        state = Tree(1, min_split_gain=1e9, replay=0).fit(X, y)._fitted.root.committee
    assert state.used[0, 0] == 1 and (state.bins.counts[:3, 2] > 64).all()
    counted = state.histograms[0, :, :3].sum(axis=0)
    assert (counted <= state.since[0, 0, :2] * (1 + 1e-5)).all()
    assert state.since[0, 0, :2].sum() == 3000 - 64


def test_a_stream_by_name_tells_its_names():
    X, y = BROKEN["shifted"]
    rows = [{"price": float(x[0]), "size": float(x[1]), "label": int(label)} for x, label in zip(X, y, strict=True)]
    with pytest.warns(RangeWarning, match="'price'"):
        Tree(3).fit(open_stream(rows))
