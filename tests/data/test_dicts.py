"""Dicts as rows: the same features, names and errors as one value at a time, or as the reader of JSON lines."""

from __future__ import annotations

import copy
import datetime as dt
import enum
import json
import math
import pickle
import threading
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import reference_readers
from hypothesis import example, given
from hypothesis import strategies as st

from onlineboost import DataError, Linear
from onlineboost.data import dicts as module
from onlineboost.data.amounts import MISSING_WORDS
from onlineboost.data.arrays import brief
from onlineboost.data.batch import LARGEST
from onlineboost.data.columns import Columns
from onlineboost.data.dates import date_features
from onlineboost.data.hashing import feature_id, indicator_id
from onlineboost.data.schema import Schema
from onlineboost.data.text_columns import TextColumns
from onlineboost.errors import ReadError
from onlineboost.readers.dicts import row_page
from onlineboost.readers.formats import jsonl


class Word(str):
    """Equal to another string, but named otherwise, as members of enumerations are."""

    __slots__ = ()

    def __str__(self) -> str:
        return "Word.A"


class Size(enum.IntEnum):
    SMALL = 3


class Pair(tuple):
    __slots__ = ()


class Number:
    def __float__(self) -> float:
        return 2.5


PLAIN = ["a", "b", "7", "007", " 7 ", "é", "🙂", "", "a.b", 'q"\\', "new\nline", "a=red", "colour.x", "l.0", 7, 1, 0]
PLAIN += ["x" * 300, "list", "outer", "date", "date.month"]
LEFT_OUT = ["label", "label.x", "labels", "y", "y.1", "weight", "id", "id.part", "identity", "colour", "zip"]
ODD = [True, 1.0, None, Word("a"), np.str_("a"), np.int64(7), "\ud800", "\ud83d\ude42", -3, 1 << 31, ("a", "b")]
NUMBERS = [1.0, -2.5, 3, 0.1, -7, 2**53 + 1, 1e-30, -123456789, True, np.float64(0.3), 1e16]
ZEROS = [0.0, -0.0, 0, 2.0**-150, -(2.0**-150), math.nextafter(2.0**-150, 1), 5e-324, False, np.float32(0), Decimal(0)]
LARGE = [1e18, -1e18, 10**18, 10**18 + 1, math.nextafter(1e18, 2e18), -(10**400), math.inf, -math.inf, 6e17]
LARGE += [np.float64("inf"), Decimal("1e30")]
WORDS = ["red", "blue", "ü", "  red ", "7", "nan", "true", "a\tb\x01", "abcd-ef-gh", "2026-13-01", "x" * 300]
WORDS += ["\ud800", "\ud83d\ude42", Word("a"), np.str_("3")]
GAPS = [None, math.nan, "", np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")]
DATES = ["2026-11-15", "2000-01-01", "1999-12-31T23:00:00-01:00", "2026-11-15T23:59:60Z", "2024-02-29 12:30:15.25+0530"]
DATES += [dt.date(2026, 11, 15), dt.datetime(2026, 11, 15, 1, 2, 3, 4), dt.time(12, 30), dt.timedelta(seconds=90)]
DATES += [dt.datetime(2026, 11, 15, 1, tzinfo=dt.timezone(dt.timedelta(seconds=30))), np.datetime64("2026-11-15")]
DATES += [pd.Timestamp("2026-11-15 12:30"), np.datetime64("2026-11-15T12:30", "ns"), np.timedelta64(5, "m")]
OTHERS = [{1, 2}, b"3", 1j, Number(), Size.SMALL, Fraction(1, 3), Decimal("1.5"), np.int8(3), np.float32(0.1)]
OTHERS += [np.bool_(True), np.array(2.0), np.arange(3.0), Decimal("sNaN"), np.longdouble(0.5), range(3)]
SCHEMAS = {
    "none": None,
    "default": Schema(),
    "label, weight": Schema(label="y", weight="weight"),
    "number": Schema(label=7),
    "drop": Schema(label="y", weight="weight", drop=("id", "é", "list.0")),
    "categorical": Schema(categorical=("colour", "zip", "id.part", "list", "outer.a")),
    "both": Schema(label="y", drop=("id", "colour"), categorical=("zip", "colour", "id.part", "list.0")),
}


def slow_features(x, schema):
    """Id, name and value of each feature of a dict of numbers and words; None if something else is in it."""
    if not isinstance(x, dict):
        raise DataError(
            f"x is a {type(x).__name__}: expected a dict of features; tables are for predict and partial_fit"
        )
    if schema is not None and schema.needs_reader:
        return None
    found = []
    for key, value in x.items():
        name = key if type(key) in (str, int) else str(key)
        if schema is not None and str(name) in schema.no_features:
            continue
        if isinstance(value, str) and value:
            if value in MISSING_WORDS or (value[4:5] == "-" and value[7:8] == "-"):
                return None
            found.append((f"{name}={value!s}", 1.0))
            continue
        if isinstance(value, np.datetime64 | np.timedelta64):
            return None
        try:
            number = value if type(value) is int else float(math.nan if value is None or value == "" else value)
        except (TypeError, ValueError, OverflowError):
            return None
        if not (number != number or abs(number) <= LARGEST):
            expected = f"expected a number of magnitude at most {LARGEST:g}, or a string, as for ids"
            raise DataError(f"x has {brief(value)} for the feature {name!r}: {expected}", column=name)
        found.append((str(name), number))
        if number != number:
            found.append((f"{name}=", 1.0))
    return found


def slow_row(x, schema):
    """Ids, values and names of a dict, without anything that is kept."""
    found = slow_features(x, schema)
    if found is None:
        page = row_page(jsonl.SYNTAX, x, schema, TextColumns())
        batch, names = page.batch, page.names
        return batch.indices.tolist(), batch.values.tobytes(), names
    ids = [(indicator_id if "=" in name and value == 1.0 else feature_id)(name) for name, value in found]
    values = np.array([value for _, value in found], np.float32).tobytes()
    return ids, values, [(id, name) for id, (name, _) in zip(ids, found, strict=True)]


def quick_row(x, columns, learning):
    row = columns.row(x, learning)
    return [*row.ids], np.array(row.values, np.float32).tobytes(), row.names


def outcome(row, *arguments):
    """Ids and values, or the error, and the names."""
    try:
        ids, values, names = row(*arguments)
    except Exception as problem:
        return (type(problem), str(problem), getattr(problem, "column", None)), []
    return (ids, values), names


def random_value(rng, depth=0):
    kind = rng.random()
    if depth < 3 and kind < 0.25:
        items = [random_value(rng, depth + 1) for _ in range(rng.integers(4))]
        pool = PLAIN if rng.random() < 0.8 else PLAIN + LEFT_OUT + ODD
        nested = dict(zip((pool[k] for k in rng.integers(len(pool), size=4)), items, strict=False))
        return [items, tuple(items), Pair(items), nested, nested, OrderedDict(nested)][rng.integers(6)]
    pools = [NUMBERS, ZEROS, LARGE, WORDS, GAPS, DATES, OTHERS]
    pool = pools[rng.choice(7, p=[0.4, 0.13, 0.01, 0.2, 0.1, 0.1, 0.06])]
    return pool[rng.integers(len(pool))]


def random_dict(rng, keys):
    """A dict with these keys: of numbers, with zeros and a few words, of common kinds, or of anything."""
    common = [NUMBERS], [NUMBERS, NUMBERS, ZEROS, WORDS[:2]], [NUMBERS, NUMBERS, WORDS, GAPS[:3], DATES[:3]], []
    pools = common[rng.integers(4)]
    odd = 0.05 if pools else 1
    x = {}
    for key in keys:
        pool = pools[rng.integers(len(pools))] if pools else [None]
        x[key] = random_value(rng) if rng.random() < odd else pool[rng.integers(len(pool))]
    return x


def random_keys(rng):
    pool = PLAIN + LEFT_OUT if rng.random() < 0.5 else PLAIN if rng.random() < 0.7 else PLAIN + LEFT_OUT + ODD
    return [pool[k] for k in rng.permutation(len(pool))[: rng.integers(0, 7)]]


def names_of(columns):
    """The reader tells one name for each id, the other way all: those of numbers may have several."""
    return {id: name for id, name in columns.names.items() if id > 7}


@pytest.mark.filterwarnings("ignore:Conversion of an array")
@pytest.mark.parametrize("limit", [None, 0, 40])
@pytest.mark.parametrize("later", [False, True], ids=["schema first", "schema later"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_rows_are_those_of_the_slow_ways(name, later, limit):
    """The same ids, values, new names and errors, one dict after the other."""
    rng = np.random.default_rng([list(SCHEMAS).index(name), later, limit or 0])
    quick, slow = (Columns(None if later else SCHEMAS[name]) for _ in range(2))
    quick.limit = slow.limit = limit
    sets = [random_keys(rng) for _ in range(40)]
    # Keys that are equal to others of another type follow them: what is kept for the one must not serve the other.
    sets += [["a"], [Word("a")], [np.str_("a")], [1], [True], [1.0], ["7"], [7], [np.int64(7)]]
    for turn in range(800):
        if turn == 400:
            quick.schema = slow.schema = SCHEMAS[name]
        x = random_dict(rng, sets[rng.integers(len(sets))])
        learning = bool(rng.random() < 0.5)
        found, new = outcome(quick_row, x, quick, learning)
        expected, names = outcome(slow_row, x, slow.schema)
        assert found == expected, x
        if learning:
            quick.add(new)
            slow.add(names)
        else:
            assert not new
        assert names_of(quick) == names_of(slow), x


JSON_KEYS = st.text(st.sampled_from("ab.é7= "), max_size=3) | st.integers(0, 20)
JSON_VALUES = st.recursive(
    st.sampled_from([0, 0.0, 1, -2.5, 1e-46, 1e17, True, False, None, "", "red", "ü", "2000-01-01", "1234-56-78"])
    | st.dates().map(str)
    | st.datetimes(timezones=st.none() | st.just(dt.timezone(dt.timedelta(hours=-3)))).map(str)
    | st.floats(-1e17, 1e17),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JSON_KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(JSON_KEYS, JSON_VALUES, max_size=5), st.sampled_from([None, ("drop", "a"), ("categorical", "a")])
)
def test_dicts_read_as_json_are_those_of_the_reference(x, option):
    """Another reader of JSON lines, written without any of this library's code, gives the same features and names."""
    x["read"] = []  # which is no feature
    given = {option[0]: (option[1],)} if option else {}
    text = json.dumps(x).encode() + b"\n"
    options = reference_readers.Options(labeled=False, label="no label", **given)
    result = reference_readers.read("jsonl", text, options)
    ((_, _, features),) = result.rows
    ids, values = [id for id, _ in features], np.array([value for _, value in features], np.float32).tobytes()
    columns = Columns(Schema(label="no label", **given))
    names = [*quick_row(x, columns, True)[2]]
    assert {*result.names} - {(id, str(id)) for id in ids} <= {*names}
    for _ in range(3):
        assert quick_row(x, columns, False)[:2] == (ids, values)
        columns.add(names)
    assert not quick_row(x, columns, True)[2]


@given(st.datetimes(), st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%fZ"]))
@example(dt.datetime(2026, 11, 15), "%Y-%m-%dT%H:%M")
def test_dates_are_those_of_the_reference(moment, form):
    text = moment.strftime(form).rjust(len(moment.strftime(form)) + 4 - len(str(moment.year)), "0")
    days, seconds = reference_readers.moment(text.encode())
    years, parts = date_features(text)
    assert years == (days - 10957 + (seconds or 0) / 86400) / 365.2425
    assert parts == (moment.month, moment.weekday(), *([moment.hour] if seconds else []))


@pytest.fixture
def no_reader(monkeypatch):
    """An error where a dict is left to the reader of JSON lines."""
    monkeypatch.setattr(module, "FORMATS", None)


COMMON = {
    "numbers": {"a": 1.5, "b": 0, 7: True, "c": np.float32(0.5), "d": Decimal("0.5")},
    "words": {"a": 1.0, "b": "red", "c": "🙂", "d": np.str_("x")},
    "gaps": {"a": None, "b": math.nan, "c": "", "d": pd.NA},
    "dates": {"a": "2026-11-15", "b": dt.datetime(2026, 11, 15, 12), "c": np.datetime64("2026-11-15"), "d": "red"},
    "lists": {"a": ["red", "blue"], "b": (1.0, None, [2, {"c": True}]), "c": np.arange(3), "d": 1.0},
    "nested": {"a": {"b": {"c": 1.0, "d": "red", 7: None}}, "b": 0.0, "c": "red"},
    "left out": {"id": "row 17", "label": dt.date(2026, 11, 15), "weight": 3, "a": 1.0, "zip": 10115, "colour": "ü"},
}


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("x", COMMON)
def test_common_kinds_are_not_left_to_the_reader(x, schema, no_reader):
    columns = Columns(SCHEMAS[schema])
    for _ in range(3):
        columns.add(columns.row(COMMON[x], learning=True).names)
    assert not columns.row(COMMON[x], learning=True).names


@pytest.fixture
def planned(monkeypatch):
    """A function that says whether there is a plan for a dict."""

    def planned(columns, x, learning=True):
        with monkeypatch.context() as patch:
            patch.setattr(module.DictReader, "read", lambda *_: None)
            return columns.row(x, learning) is not None

    return planned


@pytest.mark.parametrize("name", SCHEMAS)
def test_numbers_and_words_that_come_again_are_planned(name, planned):
    columns, x = Columns(SCHEMAS[name]), {"a": 1.5, "b": 3, "c": True, "d": "red"}
    for _ in range(4):
        columns.add(columns.row(x, True).names)
    for learning in (True, False):
        assert planned(columns, x, learning)
        assert planned(columns, x | {"a": 2}, learning)
        for other in (x | {"d": "blue"}, x | {"a": None}, x | {"a": 1e18}, x | {"a": 10**400}, x | {"d": 1.0}):
            assert not planned(columns, other, learning)
    assert not planned(columns, OrderedDict(x))
    assert not planned(columns, {Word("a"): 1.5, "b": 3, "c": True, "d": "red"})
    assert planned(columns, x | {"b": 0}) == (name not in ("drop", "categorical", "both"))


def test_names_that_will_not_be_told_do_not_slow_a_dict_down(planned):
    columns = Columns()
    columns.limit = 0
    for _ in range(3):
        columns.row({"a": 1.0}, True)
    assert planned(columns, {"a": 1.0})


@pytest.mark.parametrize("value", [Size.SMALL, np.float64(0.1), True, Decimal("0.1"), 1e16, Word("a"), Pair("ab")])
def test_categories_are_written_as_json_writes_them(value):
    schema = SCHEMAS["categorical"]
    for x in ({"colour": value}, {"colour": [value]}):
        ids, values, names = quick_row(x, Columns(schema), True)
        assert (ids, values, [*names]) == slow_row(x, schema)


def test_words_may_come_at_any_place(planned):
    columns, x = Columns(), {"a": "red", "b": 1.0}
    others = [x, {"a": 1.0, "b": 2.0}, {"a": "red", "b": "blue"}]
    for other in others * 4:
        columns.add(columns.row(other, True).names)
    assert planned(columns, others[-1])
    assert [columns.row(other, True)[:2] == quick_row(other, Columns(), True)[:2] for other in others]


def test_ids_of_a_plan_are_not_written_to():
    columns, x = Columns(), {"a": 1.5, "b": 2.0}
    for _ in range(3):
        columns.add(columns.row(x, True).names)
    row = columns.row(x, True)
    assert row.ids.tolist() == [feature_id("a"), feature_id("b")]
    with pytest.raises(ValueError, match="read-only"):
        row.ids[0] = 3
    words = {"a": 1.5, "b": "red"}
    for _ in range(3):
        row = columns.row(words, True)
        columns.add(row.names)
        row.ids[:] = [3, 3]
    assert columns.row(words, True).ids == [feature_id("a"), feature_id("b=red")]


def test_a_name_is_told_until_it_is_added():
    """Also that of a dict that was asked for, refused, or learned with weight 0."""
    columns, x = Columns(), {"a": 0, "b": "red", "c": None}
    for _ in range(3):
        assert not columns.row(x, False).names
    with pytest.raises(DataError):
        columns.row(x | {"d": math.inf}, True)
    for _ in range(3):
        assert [name for _, name in columns.row(x, True).names] == ["a", "b=red", "c", "c="]
    columns.add(columns.row(x, True).names)
    assert not columns.row(x, True).names
    columns.limit = 0
    assert not columns.row({"new": 1.0, "colour": "blue"}, True).names


def test_names_of_zeros_are_told_as_by_readers():
    columns = Columns(Schema(drop=("id",)))
    assert [name for _, name in columns.row({"a": 1.0, "b": 0.0}, True).names] == ["a"]
    assert [name for _, name in columns.row({"a": 1.0, "b": 1.0}, True).names] == ["a", "b"]


def test_errors_are_those_of_the_reader():
    for x in ({"a": 1e19, "b": [1]}, {"b": [1], "a": math.inf}, {"a": {"b": {1, 2}}}, {"a": "\ud800", "b": [1]}):
        with pytest.raises(DataError) as slow:
            slow_row(x, None)
        with pytest.raises(DataError) as quick:
            Columns().row(x, True)
        assert str(quick.value) == str(slow.value)
    with pytest.raises(ReadError, match="line 1, character 15: expected a JSON value, found 'Infinity'"):
        Columns(Schema(drop=("id",))).row({"a": 1, "b": math.inf}, True)
    with pytest.raises(DataError, match="x is a list: expected a dict"):
        Columns().row([("a", 1.5)], True)
    with pytest.raises(DataError, match="thousands of digits for a name"):
        Columns().row({10**5000: 1.0}, True)


@pytest.mark.parametrize("value", [[], {}, [[]] * 3])
def test_long_and_deep_values_are_left_to_the_reader(value):
    deep = value
    for _ in range(20):
        deep = [deep, 1.0]
    for x in ({"a": deep}, {"a": [1.0] * 5000}):
        assert quick_row(x, Columns(), True)[:2] == slow_row(x, None)[:2]
    for _ in range(20):
        deep = [deep, 1.0]
    with pytest.raises(ReadError, match="expected at most 32 nested levels"):
        Columns().row({"a": deep}, True)
    around = []
    around.append(around)
    with pytest.raises(DataError, match="Circular reference"):
        Columns().row({"a": around}, True)


def test_what_is_kept_is_bounded_and_not_copied(monkeypatch):
    monkeypatch.setattr(module, "_KEPT", 60)
    monkeypatch.setattr(module, "_PLANNED", 16)
    monkeypatch.setattr(module, "_ONCE", 16)
    columns = Columns()

    def sizes():
        reader = columns._reader
        kept = [column for columns in reader.columns for column in columns.values()]
        planned = sum(len(plan.ids) for plan in reader.plans.values())
        return len(kept) + sum(len(column.words) for column in kept), planned, len(reader.once)

    largest = (0, 0, 0)
    for k in range(300):
        for _ in range(3):
            x = {f"only in {k % 30}": 1.0, "always": 0.1, "word": str(k), "x" * 500: 1.0, "text": "x" * 500}
            columns.add(columns.row(x if k % 3 else {f"only in {k % 30}": 1.0, "always": 0.1}, True).names)
            largest = tuple(map(max, largest, sizes()))
    assert largest[0] in range(50, 61)
    assert largest[1] in range(10, 19)
    assert largest[2] in range(10, 17)
    for twin in (copy.deepcopy(columns), pickle.loads(pickle.dumps(columns))):
        assert not any(twin._reader.columns)
        assert not twin._reader.plans
        assert twin.row({"always": 0.1}, True)[:3] == ([feature_id("always")], (0.1,), [])


@pytest.mark.parametrize("name", ["none", "both"])
def test_many_threads_ask_while_one_learns(name, monkeypatch):
    monkeypatch.setattr(module, "_KEPT", 20)  # what is kept comes and goes
    columns = Columns(SCHEMAS[name])
    dicts = [{f"feature {k}": 1.0, f"feature {k + 1}": k, "word": f"{k}", "id": 3} for k in range(8)]
    expected = [slow_row(x, SCHEMAS[name])[:2] for x in dicts]
    wrong = []

    def ask(learning):
        for turn in range(400):
            k = turn * 7 // 3 % 8
            ids, values, new = quick_row(dicts[k], columns, learning)
            columns.add(new)
            if (ids, values) != expected[k]:
                wrong.append((k, ids, values))

    threads = [threading.Thread(target=ask, args=(n == 0,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(columns.names) == (17 if name == "both" else 18)


def test_new_words_are_hashed_once(monkeypatch):
    hashed = []
    monkeypatch.setattr(module, "indicator_id", lambda name: hashed.append(name) or indicator_id(name))
    columns = Columns()
    for k in range(20):
        for learning in (False, True, False, True):
            columns.add(columns.row({"a": 1.0, "b": f"word {k}"}, learning).names)
    assert hashed == [f"b=word {k}" for k in range(20)]


def test_words_are_learned_one_at_a_time_as_in_batches():
    rng = np.random.default_rng(0)
    rows = [
        {"a": float(a), "b": f"word {b}", "c": None if c else "2026-11-15"} for a, b, c in rng.integers(0, 4, (200, 3))
    ]
    labels = [int(x["b"] == "word 1") for x in rows]
    one, many = Linear(), Linear()
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    many.learn_many(rows, labels)
    assert [one.decision_one(x) for x in rows] == many.decision_function(rows).tolist()
