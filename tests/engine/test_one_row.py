"""One row at a time, by calls that are kept: the same as batches, whatever happens to the model in between."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from pairs import everything

import onlineboost
from onlineboost import Adaptive, Linear, OnlineBBM, OnlineBoost, RangeWarning, Tree
from onlineboost.data.batch import Batch
from onlineboost.ensembles.restarting import Restarting
from onlineboost.readers import open_stream

MODELS = {
    "tree": lambda: Tree(5, replay=64),
    "boosted trees": lambda: OnlineBBM(Tree(5, replay=64), 5, random_state=0),
    "linear": lambda: OnlineBBM(Linear(standardize=True), 5),
    "restarting": lambda: Restarting(OnlineBBM(Tree(3, replay=64), 5, random_state=0), delta=0.9),
    "adaptive": lambda: Adaptive(OnlineBBM(Tree(3, replay=64), 5, random_state=0), delta=0.9),
    "ensemble": lambda: OnlineBoost("low", random_state=0),
}


@pytest.fixture(scope="module")
def dicts():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 6)).round(3)
    y = np.where((X[:, 0] > 0.2) ^ (X[:, 1] > 0), 1, 0)
    y[700:] ^= 1
    rows = []
    for k, row in enumerate(X.tolist()):
        x = {f"f{j}": value for j, value in enumerate(row)}
        x |= {f"late{k % 7}": 1.0} if k % 11 == 0 and k > 300 else {}  # features that come late
        x |= {"f2": None} if k % 13 == 0 else {"f3": 0.0} if k % 5 == 0 else {}
        rows.append((x, int(y[k])))
    return rows


@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_rows_one_at_a_time_are_those_of_batches(kind, dicts, tmp_path):
    """With answers in between, and copies that go on: trimmed states get their room back before they learn."""
    one, batches = MODELS[kind](), MODELS[kind]()
    asked, scores = [], []
    for k, (x, y) in enumerate(dicts):
        if k in (150, 400, 650):
            one = copy.deepcopy(one) if k == 150 else pickle.loads(pickle.dumps(one)) if k == 400 else one
            if k == 650:
                one.save(tmp_path / "m")
                one = onlineboost.load(tmp_path / "m")
            one.predict_one(x), one.predict_one(x)
        if k > 10:
            asked.append(one.decision_one(x))
            assert one.predict_proba_one(x)[1] == pytest.approx(one.probabilities(np.array([asked[-1]]))[0], abs=1e-15)
        one.learn_one(x, y)
    for page in open_stream(dicts):
        scores.append(batches.learn(page))
    assert np.array_equal(asked, one._fitted.target.decisions(np.concatenate(scores)[11:]))
    assert everything(one) == everything(batches)


def test_values_that_leave_their_range_are_told(dicts):
    model = Tree(3, replay=64)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k, (x, y) in enumerate(dicts[:300] * 3):
            model.learn_one({"f0": x["f0"] * (1000 if k > 500 else 1)}, y)
    assert [one.category for one in told] == [RangeWarning]


def test_batches_of_other_types_are_the_same(stream):
    """Calls keep the types of their arguments."""
    X, y = stream
    found = []
    for types in ((np.int64, np.float64), (np.int32, np.float32), (np.int32, np.int64)):
        model = OnlineBBM(n_estimators=3)
        for kinds in ((np.int64, np.float64), types):
            indptr = np.arange(0, X.size + 1, X.shape[1])
            indices, values = np.tile(np.arange(X.shape[1], dtype=np.int32), len(X)), X.reshape(-1).astype(np.float32)
            batch = Batch(indptr.astype(kinds[0]), indices, values, (y > 0).astype(kinds[1]), np.ones(len(y)))
            model.learn(batch)
        found.append(everything(model))
    assert found[0] == found[1] == found[2]


def test_a_dict_without_a_known_feature_is_answered_with_a_warning():
    model = Linear()
    for k in range(50):
        model.learn_one({"size": k % 5, "heavy": k % 2}, k % 2)
    with pytest.warns(UserWarning, match="x has 'Size', 'Heavy', the model knows 'heavy', 'size'"):
        model.predict_one({"Size": 3, "Heavy": 1})
    for ask in (model.predict_proba_one, model.explain_one, model.ask):
        with pytest.warns(UserWarning, match="no feature of x was seen"):
            ask({"colour": "red"})
    for known in ({}, {"size": 3}, {"size": 3, "colour": 1.0}):  # no warning, which would be an error here
        model.predict_one(known)
    Linear().predict_one({"size": 3})
