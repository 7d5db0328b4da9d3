from __future__ import annotations

import copy
import datetime
import math
import pickle
import threading
from collections import OrderedDict
from decimal import Decimal

import numpy as np
import pytest

from onlineboost import AdaBoostOL, DataError, Linear, OnlineBBM
from onlineboost.data import columns as module
from onlineboost.data.columns import Columns
from onlineboost.data.hashing import feature_id
from onlineboost.data.schema import Schema
from onlineboost.errors import ReadWarning
from onlineboost.fitted.dicts import row_of
from onlineboost.readers import open_stream


class Word(str):
    """Equal to another string, but named otherwise, as members of enumerations are."""

    __slots__ = ()

    def __str__(self) -> str:
        return "Word.A"


PLAIN = [
    "a",
    "b",
    "7",
    "007",
    " 7 ",
    "é",
    "🙂",
    "",
    "a.b",
    'q"\\',
    "new\nline",
    "a=red",
    "colour.x",
    7,
    1,
    0,
    "x" * 300,
]
LEFT_OUT = ["label", "label.x", "labels", "y", "y.1", "weight", "id", "id.part", "identity", "colour", "zip"]
ODD = [
    True,
    1.0,
    None,
    Word("a"),
    np.str_("a"),
    np.int64(7),
    "\ud800",
    "\ud83d\ude42",
    -3,
    1 << 31,
    10**5000,
    ("a", "b"),
]
NUMBERS = [1.0, -2.5, 3, 0.1, -7, 2**53 + 1, 1e-30, -123456789]
ZEROS = [0.0, -0.0, 0, 2.0**-150, -(2.0**-150), math.nextafter(2.0**-150, 1), 5e-324]
LARGE = [1e18, -1e18, 10**18, 10**18 + 1, math.nextafter(1e18, 2e18), -(10**400), math.inf, -math.inf, 6e17]
OTHERS = [
    math.nan,
    None,
    "",
    "red",
    "2026-11-15",
    "\ud800",
    "x" * 300,
    True,
    np.float32(0.1),
    np.float64(2),
    np.int8(3),
]
OTHERS += [np.str_("3"), Decimal("1.5"), datetime.date(2026, 11, 15), [1.0, 2.0], {"x": 1.0}, {1, 2}, b"3", 1j]
SCHEMAS = {
    "none": None,
    "default": Schema(),
    "label, weight": Schema(label="y", weight="weight"),
    "number": Schema(label=7),
    "drop": Schema(label="y", weight="weight", drop=("id", "é")),
    "categorical": Schema(categorical=("colour", "zip", "id.part")),
    "both": Schema(label="y", drop=("id", "colour"), categorical=("zip", "colour", "id.part")),
}


def outcome(x, columns, learning, weight):
    """All that comes of a dict, as what can be compared."""
    try:
        batch, new = row_of(x, columns, learning, 1.0, weight)
    except Exception as problem:
        return type(problem), str(problem), getattr(problem, "column", None)
    return [(array.dtype, array.tobytes()) for array in batch], new


def random_dict(rng, keys):
    """A dict with these keys, most of the time of numbers."""
    kinds = [NUMBERS, ZEROS, LARGE, OTHERS]
    odd = rng.choice([0, 0.03, 0.3])
    pools = [kinds[k] for k in rng.choice(4, len(keys), p=[1 - odd, odd / 3, odd / 3, odd / 3])]
    return {key: pool[rng.integers(len(pool))] for key, pool in zip(keys, pools, strict=True)}


def random_keys(rng):
    pool = PLAIN + LEFT_OUT if rng.random() < 0.5 else PLAIN if rng.random() < 0.7 else PLAIN + LEFT_OUT + ODD
    return [pool[k] for k in rng.permutation(len(pool))[: rng.integers(0, 7)]]


@pytest.mark.parametrize("limit", [None, 0, 4])
@pytest.mark.parametrize("later", [False, True], ids=["schema first", "schema later"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_quick_way_and_the_slow_way_agree(name, later, limit):
    """The same ids, values, new names and errors, one dict after the other."""
    rng = np.random.default_rng([list(SCHEMAS).index(name), later, limit or 0])
    quick, slow = (Columns(None if later else SCHEMAS[name]) for _ in range(2))
    quick.limit = slow.limit = limit
    taken = []

    def counted(x, learning):
        found = Columns.quick(quick, x, learning)
        taken.append(found is not None)
        return found

    quick.quick, slow.quick = counted, lambda x, learning: None
    sets = [random_keys(rng) for _ in range(40)]
    # Keys that are equal to others of another type follow them: the plan of the one must not serve the other.
    sets += [["a"], [Word("a")], [np.str_("a")], [1], [True], [1.0], ["7"], [7], [np.int64(7)]]
    for turn in range(1500):
        if turn == 750:
            quick.schema = slow.schema = SCHEMAS[name]
        x = random_dict(rng, sets[rng.integers(len(sets))])
        learning, weight = bool(rng.random() < 0.4), float(rng.random() < 0.8)
        assert outcome(x, quick, learning, weight) == outcome(x, slow, learning, weight), x
        assert quick.names == slow.names
    assert sum(taken) > 300


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_dict_that_comes_again_takes_the_quick_way(name):
    columns, x = Columns(SCHEMAS[name]), {"a": 1.5, "b": 0, "7": -2}
    for _ in range(2):
        row_of(x, columns, True)
    row_of({"b": 1.0}, columns, True)  # a reader tells the name of "b" when it is not zero
    ids, values = columns.quick(x, True)
    read = SCHEMAS[name] is not None and SCHEMAS[name].needs_reader
    kept = [key for key in x if key != ("b" if read else "7" if name == "number" else None)]
    assert ids.dtype == np.int32
    assert ids.tolist() == [feature_id(key) for key in kept]
    assert values == tuple(x[key] for key in kept)


def test_left_out_words_do_not_slow_a_dict_down():
    columns = Columns(Schema(drop=("id",)))
    for _ in range(2):
        row_of({"id": "row 17", "a": 1.0, "label": None}, columns, True)
    assert columns.quick({"id": "row 18", "a": 2.0, "label": None}, True)[1] == (2.0,)
    with pytest.raises(DataError, match="expected a"):
        row_of({"id": math.inf, "a": 2.0, "label": None}, columns, True)


def test_the_label_may_be_anything():
    columns = Columns(Schema())
    for _ in range(2):
        row_of({"label": {1, 2}, "a": 1.0}, columns, True)
    assert columns.quick({"label": {1, 2}, "a": 2.0}, True)[1] == (2.0,)


def test_names_that_will_not_be_told_do_not_slow_a_dict_down():
    """Those beyond the limit, and of columns of files that are always zero."""
    full, zero = Columns(), Columns(Schema(drop=("id",)))
    full.limit = 0
    for columns, x, values in ((full, {"a": 1.0}, (1.0,)), (zero, {"a": 1.0, "b": 0.0}, (1.0,))):
        for _ in range(2):
            row_of(x, columns, True)
        assert columns.quick(x, True)[1] == values
    assert zero.quick({"a": 1.0, "b": 1.0}, True) is None


def test_other_mappings_take_the_slow_way():
    columns, x = Columns(), {"a": 1.5}
    for _ in range(2):
        row_of(x, columns, True)
    assert columns.quick(x, True) is not None
    assert columns.quick(OrderedDict(x), True) is None
    assert columns.quick([("a", 1.5)], True) is None


def test_ids_of_a_plan_are_not_written_to():
    columns, x = Columns(), {"a": 1.5, "b": 2.0}
    row_of(x, columns, True)
    before = row_of(x, columns, True)[0].indices.copy()
    row_of(x, columns, True)[0].indices[:] = 3  # of the batch alone
    ids, _ = columns.quick(x, True)
    assert ids.tolist() == before.tolist()
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 3


def test_a_name_that_was_only_asked_for_is_told_when_learnt():
    columns, x = Columns(), {"a": 0, "b": 0.0}
    for _ in range(3):
        row_of(x, columns, False)
    assert columns.quick(x, False) is not None
    assert set(row_of(x, columns, True)[1].values()) == {"a", "b"}
    assert row_of(x, columns, True)[1] == {}
    assert columns.quick(x, True) is not None
    assert not columns._plans[tuple(x)].untold


def test_plans_are_bounded_and_not_copied(monkeypatch):
    monkeypatch.setattr(module, "_PLANS", 8)
    monkeypatch.setattr(module, "_ONCE", 16)
    columns = Columns()
    for k in range(100):
        for _ in range(2):
            row_of({f"only in {k}": 1.0, "always": 0.1}, columns, False)
        row_of({f"once {k}": 1.0}, columns, False)
        assert len(columns._plans) <= 8
        assert len(columns._once) <= 16
    for k in range(20):
        row_of({f"once more {k}": 1.0}, columns, False)
        assert len(columns._once) <= 16
    row_of({"x" * (module._PLAN_TEXT + 1): 1.0}, columns, False)
    assert columns.quick({"x" * (module._PLAN_TEXT + 1): 1.0}, False) is None
    assert columns._plans
    assert all(len(keys) <= 2 and len(keys[0]) < 20 for keys in columns._plans)
    for twin in (copy.deepcopy(columns), pickle.loads(pickle.dumps(columns))):
        assert not twin._plans
        assert not twin._once
        assert row_of({"always": 0.1}, twin, True)[1] == {feature_id("always"): "always"}


@pytest.mark.parametrize("name", ["none", "both"])
def test_many_threads_ask_while_one_learns(name, monkeypatch):
    monkeypatch.setattr(module, "_PLANS", 4)  # plans come and go
    columns, alone = Columns(SCHEMAS[name]), Columns(SCHEMAS[name])
    alone.quick = lambda x, learning: None
    dicts = [{f"feature {k}": 1.0, f"feature {k + 1}": k, "id": 3} for k in range(8)]
    expected = [outcome(x, alone, False, 1.0) for x in dicts]
    wrong = []

    def ask(learning):
        for turn in range(400):
            k = turn * 7 // 3 % 8
            found = outcome(dicts[k], columns, learning, 1.0)
            if found[0] != expected[k][0]:
                wrong.append((k, found))

    threads = [threading.Thread(target=ask, args=(n == 0,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(columns.names) == (9 if name == "both" else 10)


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
