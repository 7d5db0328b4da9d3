from __future__ import annotations

import numpy as np
import pytest

from onlineboost import AdaBoostOL, DataError, Linear, OnlineBBM
from onlineboost.errors import ReadWarning
from onlineboost.readers import open_stream


def test_files_arrays_and_dicts_predict_alike(tmp_path):
    """A model of a file with a dropped and a categorical column answers dicts as it answers lines."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 3, (300, 3)) / 2
    lines = [f"row{k},{a},{b},{c},{'red' if a > 0 else 'blue'},{int(a + b > 0)}" for k, (a, b, c) in enumerate(rows)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["id,a,b,c,colour,y", *lines]) + "\n")
    options = {"label": "y", "drop": ["id"], "categorical": ["colour"]}
    model = Linear().fit(open_stream(path, **options))
    short = tmp_path / "short.csv"
    short.write_text("\n".join(["a,b,c", *(",".join(map(str, row)) for row in rows)]) + "\n")
    with pytest.warns(ReadWarning, match="no column 'colour'"):  # by the thread that reads ahead
        scores = model.decision_function(open_stream(short, like=model, labels="ignored", columns="warn"))
    for _ in range(2):
        assert [model.decision_one(dict(zip("abc", row.tolist(), strict=True))) for row in rows] == scores.tolist()


def test_dicts_equal_arrays(stream):
    """Names in the order of columns give the same numbers as the array itself."""
    X, y = stream
    names = [f"feature {j}" for j in range(X.shape[1])]
    array, dicts = OnlineBBM(n_estimators=3), OnlineBBM(n_estimators=3)
    scores = array.progressive_fit(X, y)
    for row, label, score in zip(X, y, scores, strict=True):
        x = dict(zip(names, row.tolist(), strict=True))
        assert dicts.predict_one(x) is None or dicts.decision_one(x) == score
        dicts.learn_one(x, label)
    assert dicts.n_features_in_ == 10


def test_features_may_come_and_go():
    model = AdaBoostOL(n_estimators=3)
    for k in range(60):
        model.learn_one({f"only in {k % 20}": 1.0, "always": 0.1}, k % 2)
    assert model.n_features_in_ == 21
    before = model.decision_one({"always": 0.1})
    assert model.decision_one({"always": 0.1, "never met": 5.0}) == before
    assert model.n_features_in_ == 21


def test_strings_are_categories():
    model = Linear()
    for k in range(30):
        model.learn_one({"colour": "red" if k % 2 else "blue", "bright": True}, k % 2)
    assert model.predict_one({"colour": "red"}) == 1
    assert model.predict_one({"colour": "blue"}) == 0
    assert model.predict_one({"colour=red": 1}) == 1


def test_a_refused_dict_leaves_no_label():
    model = Linear()
    model.learn_one({"a": 1.0}, "ham")
    with pytest.raises(DataError, match="a number of magnitude at most"):
        model.learn_one({"a": 10**400}, "typo")
    model.learn_one({"a": -1.0}, "spam")
    assert model.classes_.tolist() == ["ham", "spam"]


def test_numbers_of_any_kind():
    plain, numpy = Linear(), Linear()
    for k in range(10):
        plain.learn_one({"a": k / 2, "b": 1.0, "c": 0.0}, k % 2)
        numpy.learn_one({"a": np.float64(k / 2), "b": np.bool_(True), "c": np.int8(0)}, np.int64(k % 2))
    assert plain.decision_one({"a": 1.0, "b": 1.0}) == numpy.decision_one({"a": 1.0, "b": 1.0})
