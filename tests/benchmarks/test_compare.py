"""How the benchmark against another commit judges; nothing is timed here."""

from __future__ import annotations

import importlib

import pytest

from conftest import ROOT


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("compare")


def times(head, again, clocks=("time", "cpu")):
    """Seconds of a machine that becomes slower and slower; head and the second base are factors of the first.

    Nothing changes for clocks that are not named.
    """
    base = [1.5**i for i in range(len(head))]
    changed = {
        "base": base,
        "head": [b * h for b, h in zip(base, head, strict=True)],
        "again": [b * a for b, a in zip(base, again, strict=True)],
    }
    return {clock: changed if clock in clocks else dict.fromkeys(changed, base) for clock in ("time", "cpu")}


@pytest.mark.parametrize(("n", "rank"), [(5, 1), (9, 2), (15, 4), (30, 11)])
def test_interval_is_that_of_the_sign_test(compare, n, rank):
    """Ranks as in the tables of the sign test at 10 %, two-sided."""
    ratios = [float(i) for i in range(n, 0, -1)]
    assert compare.interval(ratios) == (rank, n + 1 - rank)


@pytest.mark.parametrize(
    ("head", "again", "verdict"),
    [
        ([1.05] * 9, [1.0] * 9, "slower"),
        ([1.015] * 9, [1.0] * 9, "same"),  # within the tolerance
        ([1.05] * 9, [0.95, 1.0, 1.05] * 3, "same"),  # within the spread
        ([1.10] * 9, [0.95, 1.0, 1.05] * 3, "slower"),
        ([0.9] * 9, [1.0] * 9, "faster"),
        ([1.0] * 8 + [5.0], [1.0] * 9, "same"),  # one repeat was disturbed
        ([1.10] * 9, [1.0] * 8 + [5.0], "slower"),  # and does not hide a change
        ([1.05] * 9, [0.95] * 9, "same"),  # the base differs from itself as much, to the other side
    ],
)
def test_verdict_is_slower_beyond_spread_and_tolerance(compare, head, again, verdict):
    for clocks in (("time", "cpu"), ("time",), ("cpu",)):
        assert compare.summary(times(head, again, clocks))["verdict"] == verdict


def test_what_waits_is_slower_though_it_computes_less(compare):
    both = {"time": times([1.1] * 9, [1.0] * 9)["time"], "cpu": times([0.9] * 9, [1.0] * 9)["cpu"]}
    assert compare.summary(both)["verdict"] == "slower"


def test_summary_pairs_the_repeats(compare):
    row = compare.summary(times([1.1, 1.2, 1.3, 1.2, 1.2], [1.02, 1.0, 0.9, 1.0, 1.01], ["time"]))
    assert row["time"] == pytest.approx({"ratio": 1.2, "spread": 1 / 0.9 - 1})
    assert row["cpu"] == {"ratio": 1, "spread": 0}
    assert row["base"] == 1.5**2


def test_cases_are_chosen_by_parts_of_their_names(compare):
    names = ["learn, trees", "learn_one, Tree(5)", "parse csv", "load, trees"]
    assert compare.chosen(names, []) == names
    assert compare.chosen(names, ["TREE(", "csv"]) == ["learn_one, Tree(5)", "parse csv"]
    assert compare.chosen(names, ["none"]) == []


def test_rows_of_the_table_have_units_or_a_problem(compare):
    assert [compare.with_unit(s) for s in (2.5, 0.0345, 1.23e-5, 9.996e-7)] == ["2.5 s", "34.5 ms", "12.3 us", "1 us"]
    rows = {
        "a": compare.summary(times([1.0] * 5, [1.0] * 5)),
        "b": {"verdict": "fails", "problem": {"head": "ValueError: [no]"}},
    }
    columns = {column.header: list(column.cells) for column in compare.table("abc", rows).columns}
    assert columns["ratio"] == ["1.000", ""]
    assert columns["verdict"] == ["same", r"fails, head: ValueError: \[no]"]
