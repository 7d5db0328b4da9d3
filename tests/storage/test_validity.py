"""Model files whose checksums are right, but whose contents no training could have led to."""

from __future__ import annotations

import json
import random
import tracemalloc
import zlib
from collections import Counter

import numpy as np
import pairs
import pandas as pd
import pytest
from model_files import closed, forge, opened
from pairs import L, make
from safetensors.numpy import save as to_bytes

import onlineboost
from conftest import ROOT
from onlineboost import (
    AdaBoostOL,
    AdaBoostOLPlus,
    Adaptive,
    DataError,
    DefensiveBoost,
    LeastSquares,
    Linear,
    ModelFileError,
    NaiveBayes,
    Newton,
    OnlineBBM,
    OnlineBoostRegressor,
    OSBoost,
    OSBoostOCP,
    ParameterError,
    Perceptron,
    SafeBoost,
    StackedEnsemble,
    Stump,
    Tree,
)
from onlineboost.storage.validity import InvalidStateError, check_values, limits_of, saved_arrays

MODELS = {
    "linear": lambda: OnlineBBM(Linear(standardize=True), 3),
    "named": lambda: OnlineBBM(Linear(), 3),
    "perceptron": lambda: OnlineBBM(Perceptron(), 3),
    "newton": lambda: OnlineBBM(Newton(), 3),
    "binned": lambda: Linear(bins=8, crosses=[(0, 1)], bits=6),
    "tree": lambda: OnlineBBM(Tree(3, grace_period=4, replay=1024), 3, random_state=0),
    "stump": lambda: OnlineBBM(Stump(grace_period=4), 3, random_state=0),
    "bayes": lambda: OnlineBBM(NaiveBayes(), 3),
    "stack": lambda: OnlineBBM(n_estimators=3, head="stack"),
    "safe": lambda: SafeBoost(n_estimators=9),
    "plus": lambda: AdaBoostOLPlus(n_estimators=3),
    "adaboost": lambda: AdaBoostOL(n_estimators=3),
    "ocp": lambda: OSBoostOCP(n_estimators=3),
    "defensive": lambda: DefensiveBoost(),
    "adaptive": lambda: Adaptive(OnlineBBM(n_estimators=3)),
    "watched": lambda: Adaptive(OnlineBBM(n_estimators=3), reset="learners"),
    "memory": pairs.small_batch_boost,
    "stacked": lambda: StackedEnsemble([Linear(), Linear(standardize=True), NaiveBayes()], n_always_active=2),
}


@pytest.fixture(scope="module")
def saved(stream, tmp_path_factory):
    """A function that saves a model of this name, once."""
    folder = tmp_path_factory.mktemp("saved")

    def path(name):
        if not (folder / name).exists():
            X, y = stream
            X = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]) if name == "named" else X
            MODELS[name]().fit(X, y).save(folder / name)
        return folder / name

    return path


def put(at, value):
    """A change that writes a value at a place of an array."""
    return lambda array: array.__setitem__(at, value)


def first_split(nodes):
    return next((i, k) for i in range(len(nodes)) for k in range(nodes.shape[1]) if nodes[i, k, 0] > 0)


def change_split(field, value):
    def change(nodes):
        i, k = first_split(nodes)
        nodes[(i, k, field)] = value(nodes[i, k], k) if callable(value) else value

    return change


def same_child_twice(nodes):
    splits = [(i, k) for i in range(len(nodes)) for k in range(nodes.shape[1]) if nodes[i, k, 0] > 0]
    (i, k), (_, other) = next(
        (a, b) for a in splits for b in splits if a[0] == b[0] and a[1] < b[1] < nodes[b[0], b[1], 2]
    )
    nodes[i, k, 2] = nodes[i, other, 2]


def same_row_twice(nodes):
    leaves = [k for k in range(nodes.shape[1]) if nodes[0, k, 3] > 0]
    nodes[0, leaves[0], 3] = nodes[0, leaves[1], 3]


HOSTILE = [
    ("linear", "committee.weights", put((2, 0, 1), np.nan), "finite numbers"),
    ("linear", "committee.scale", put(1, -1.0), "numbers from 0 to"),
    ("linear", "committee.norm_sum", put(0, np.inf), "numbers from 0"),
    ("linear", "transform0.counts", put(0, 17), "at most the number of features"),
    ("linear", "transform0.centred", put(0, 16), "numbers from 0 to 15"),
    ("linear", "transform0.centred", put(0, -1), "numbers from 0 to 15"),
    ("linear", "slots.near", put(0, 0), "every slot once"),
    ("linear", "slots.near", put(11, 1), "every slot once"),
    ("linear", "slots.near", put(0, -1), "numbers from 0 to 10"),
    ("linear", "slots.near", put(3, 11), "numbers from 0 to 10"),
    ("linear", "slots.table", put(0, 10), "numbers from -9.22337e"),
    ("linear", "slots.table", put(0, -1), "every slot once"),
    ("named", "slots.table", lambda table: table.sort(), "ids at their places"),
    ("named", "slots.table", lambda table: np.negative(table, out=table), "numbers from -9.22337e"),
    ("linear", "transform0.features", put((slice(None), 3), 9.0), "places of the centered features"),
    ("linear", "transform0.features", put((0, 2), -1.0), "variances"),
    ("linear", "record.edges", put(0, 1e90), "no more than the weights"),
    ("linear", "record.clock", put(0, -1), "numbers from 0"),
    ("linear", "head.platt", put(0, np.nan), "finite numbers"),
    ("perceptron", "committee.weights", put((0, 0), 3e38), "numbers from -1e"),
    ("newton", "committee.inverse", put((0, 1, 1), np.nan), "finite numbers"),
    ("newton", "committee.scale", put(1, -1.0), "numbers from 0"),
    ("newton", "committee.met", put(0, 66), "numbers from 1 to 65"),
    ("binned", "transform0.bins.zero", put(0, 8), "numbers from 0 to 7"),
    ("binned", "transform0.bins.edges", put((0, 0), np.nan), "numbers from"),
    ("binned", "transform0.bins.edges", put((0, 0), 1e17), "increasing numbers"),
    ("binned", "transform0.bins.samples", put((0, 0), np.nan), "numbers from"),
    ("binned", "transform0.bins.range", put((0, 0), np.inf), "numbers from"),
    ("binned", "transform0.bins.counts", put((0, 0), -1), "numbers from 0"),
    ("binned", "transform0.bins.counts", put((0, 2), 0), "edges that are due after a value"),
    ("binned", "transform0.bins.counts", put((0, 3), 1 << 40), "samples that have begun"),
    ("binned", "transform0.bins.clock", put(1, 4097), "no more slots than there is room for"),
    ("binned", "transform0.due", put(0, 2), "numbers from 0 to 1"),
    ("binned", "transform1.column", put(0, 3), "numbers from 0 to 2"),
    ("tree", "committee.nodes", change_split(0, 12), "trees"),
    ("tree", "committee.nodes", change_split(2, lambda node, k: k), "trees"),  # a cycle
    ("tree", "committee.nodes", change_split(2, lambda node, k: node[2] + 1), "trees"),
    ("tree", "committee.nodes", same_child_twice, "trees"),
    ("tree", "committee.nodes", change_split(3, 1), "trees"),
    ("tree", "committee.nodes", change_split(4, 2), "trees"),
    ("tree", "committee.nodes", put((0, -1, 0), 1), "trees"),  # a leaf
    ("tree", "committee.nodes", put((0, 0, 2), 1 << 30), "numbers from"),
    ("tree", "committee.used", put((0, 0), 0), "trees"),
    ("tree", "committee.used", put((0, 1), 0), "trees"),
    ("tree", "committee.start", put(-1, 1 << 20), "numbers from"),
    ("tree", "committee.start", put(0, 1), "trees"),
    ("tree", "committee.start", put(1, 0), "trees"),
    ("tree", "committee.nodes", same_row_twice, "trees"),  # one row of histograms for two leaves
    ("tree", "committee.threshold", put((0, 0), np.nan), "numbers from"),
    ("tree", "committee.short", put(0, 2), "numbers from 0 to 1"),
    ("tree", "committee.bins.clock", put(1, 1025), "no more slots than there is room for"),
    ("tree", "kept.indices", put(0, 10), "slots in use"),
    ("tree", "kept.indptr", put(1, 1 << 40), "rows"),
    ("tree", "kept.values", put(0, np.nan), "numbers from"),
    ("tree", "kept.y", put(0, 2), "places of known classes"),
    ("tree", "kept.y", put(0, -1), "numbers from"),
    ("tree", "committee.histograms", put((0, 0, 0), -1.0), "numbers from 0"),
    ("stump", "committee.choice", put((0, 0), 11), "the number of a slot"),
    ("stump", "committee.threshold", put(0, np.nan), "numbers from"),
    ("bayes", "committee.counts", put((0, 0, 0), np.inf), "numbers from 0"),
    ("stack", "head.bins", put((0, 1), 1e50), "no more than the weight of the bin"),
    ("stack", "head.curve", put((0, 0), 2.0), "probabilities"),
    ("safe", "head.alpha", put(0, 3.0), "numbers from -2 to 2"),
    ("plus", "booster.size", put(0, -1.0), "numbers from 0"),
    ("adaboost", "booster.mistakes", put(0, -1), "numbers from 0"),
    ("ocp", "booster.t", put(0, -2), "numbers from 0"),
    ("defensive", "booster.squares", put(0, 0.0), "numbers from 4"),
    ("adaptive", "part0.windows.filled", put((0, 0), 6), "numbers from 0 to 5"),
    ("adaptive", "part0.windows.filled", put((0, 0), 5), "the examples of all buckets"),
    ("adaptive", "part0.windows.filled", put(slice(None), 0), "the examples of all buckets"),
    ("adaptive", "part0.windows.counts", put(1, 32), "fewer than 32"),
    ("adaptive", "part0.clock.examples", put(0, -5), "numbers from 0"),
    ("watched", "part0.watch.log", put((0, 1), 4), "numbers of windows"),
    ("watched", "part0.watch.totals", put((0, 1), 1e9), "the mistakes of all buckets"),
    ("watched", "part0.watch.block", put(0, 32.0), "no more mistakes than examples"),
    ("memory", "committee.memory.codes", put((0, 0), 100), "bins that there are"),
    ("memory", "committee.memory.codes", put((0, 0), -100), "bins that there are"),
    ("memory", "committee.memory.targets", put(0, 2.0), "places of known classes"),
    ("memory", "committee.memory.weights", put(0, -1.0), "numbers from 0"),
    ("memory", "committee.memory.clock", put(3, -1), "numbers from 0"),
    ("memory", "committee.memory.clock", put(2, 1 << 40), "rows that are kept"),
    ("memory", "committee.memory.clock", put(1, 5), "rows that are kept"),
    ("memory", "committee.trees.clock", put(0, 4), "numbers from|whole rounds"),
    ("memory", "committee.trees.clock", put(1, 0), "whole rounds"),
    ("memory", "committee.trees.nodes", put((0, 0, 1), 8), "children after their parents"),
    ("memory", "committee.trees.nodes", put((0, 0, 0), 33), "numbers from"),
    ("memory", "committee.trees.nodes", put((0, 0, 1), 0), "leaves that no value leaves"),
    ("memory", "committee.trees.numbers", put((0, 0, 1), np.inf), "finite values"),
    ("memory", "committee.trees.gains", put(0, -1.0), "numbers from 0"),
    ("stacked", "stack.information", put((0, 0), 0.0), "a positive definite matrix"),
    ("stacked", "stack.information", put((1, 0), 1e9), "a positive definite matrix"),
    ("stacked", "light.loss", put(0, -1.0), "numbers from 0"),
    ("stacked", "scales.earned", put(3, -1.0), "a sum of weights"),
    ("stacked", "rest.clock", put(0, 2), "times in their order"),
    ("stacked", "rest.clock", put(slice(1, 3), [9, 8]), "times in their order"),
    ("stacked", "rest.clock", put(1, 1 << 40), "no time to come"),
    ("stacked", "rest.clock", put(0, 1), "an end of the rest"),
]


@pytest.mark.parametrize(
    ("name", "array", "change", "message"),
    HOSTILE,
    ids=[f"{name}-{array}-{k}" for k, (name, array, *_) in enumerate(HOSTILE)],
)
def test_a_state_that_learning_cannot_lead_to(saved, tmp_path, name, array, change, message):
    forge(saved(name), tmp_path / "m", lambda arrays, _: change(arrays[f"model.{array}"]))
    with pytest.raises(ModelFileError, match=message) as caught:
        onlineboost.load(tmp_path / "m")
    part, _, field = array.rpartition(".")
    assert caught.value.field.startswith(part), (caught.value.field, field)


def assert_refused_cheaply(path, message):
    """Refused before memory is taken for it."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            onlineboost.load(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def model(facts):
    return facts["parts"]["model"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: model(f)["params"].update(n_estimators=10**9), "n_estimators=1000000000: expected a whole number"),
        (lambda f: model(f)["params"].update(n_estimators=10_000), r"expected float64\[10000\]"),
        (lambda f: model(f).update(sizes=[2**18, [0, 0], []]), "expected float32"),
        (lambda f: model(f).update(sizes=[2**40, [0, 0], []]), "slots=1099511627776: expected a whole number"),
        (lambda f: model(f).update(sizes=[-1, [0, 0], []]), "slots=-1"),
        (lambda f: model(f).update(sizes=["10", [0, 0], []]), "slots='10'"),
        (lambda f: model(f).update(sizes=[11, [0, 0], []]), "every slot once"),
        (lambda f: model(f).update(sizes=[10, 10]), "description: "),
        (lambda f: model(f).update(sizes=10), "description: "),
        (lambda f: model(f).update(sizes=[10, [2**40, 0], []]), "kept=1099511627776: expected a whole number"),
        (lambda f: model(f).update(sizes=[10, [0, 2**30], []]), "kept.indices: is int32"),
        (lambda f: model(f)["columns"].update(width=2**40), "columns=1099511627776: expected a whole number"),
        (lambda f: model(f)["columns"].update(width=-1), "columns=-1"),
        (lambda f: model(f)["columns"].update(names=["a"]), "description: "),
        (lambda f: model(f)["columns"].update(headings=["a"]), "do not fit together"),
        (lambda f: model(f)["columns"].update(names=[[-1, "a"]]), "do not fit together"),
        (lambda f: model(f)["columns"].update(schema={"bits": 9}), "bits"),
        (lambda f: model(f).update(seed=2**63), "seed="),
        (lambda f: model(f).update(seed="1"), "seed='1'"),
        (lambda f: model(f).update(target=[[1], [1]]), "not different"),
        (lambda f: model(f).update(target=[[{}], [1]]), "not different|unhashable"),
        (lambda f: model(f).update(target=[[0, 1], [1]]), "not different"),
        (lambda f: model(f).update(target=5), "description: "),
        (lambda f: model(f).update({"class": ["OnlineBBM"]}), "expected a name"),
        (lambda f: model(f).update({"class": "Booster"}), "description: "),
        (lambda f: model(f).update(params=[]), "are not a dict"),
        (
            lambda f: model(f)["params"].update(estimator={"class": "OnlineBBM", "params": {}}),
            "a compiled learner such as Linear",
        ),
        (lambda f: model(f)["params"].update(estimator=5), "description: "),
        (lambda f: f.update(arrays=None), "arrays: missing"),
        (lambda f: f.update(format=True), "format: is True"),
        (lambda f: f.update(parts=[]), "description"),
    ],
)
def test_a_description_out_of_bounds(saved, tmp_path, change, message):
    arrays, facts = opened(saved("linear").read_bytes())
    change(facts)
    (tmp_path / "m").write_bytes(closed(arrays, facts))
    assert_refused_cheaply(tmp_path / "m", message)


def test_an_array_without_a_checksum(saved, tmp_path):
    arrays, facts = opened(saved("linear").read_bytes())
    closed(arrays, facts)
    text = json.dumps(facts)
    arrays["model.surprise"] = np.zeros(1)
    content = to_bytes(arrays, {"onlineboost": f"{zlib.crc32(text.encode()):08x}{text}"})
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="model.surprise: has no checksum"):
        onlineboost.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("room", "message"),
    [
        ([10, 16, 2**31 - 1, 8], "expected"),
        ([10, 16, 0, 2**31 - 1], "expected"),
        ([2**20, 16, 0, 8], "not possible"),
        ([10, 15, 0, 8], "not possible"),
        ([10, 2**20, 0, 8], "not possible"),
        ([10, 16, -1, 8], "room=-1"),
        ([10, 16, 0, 0], "room=0"),
        ([10, 16, 0], "description: "),
    ],
)
def test_room_out_of_bounds(saved, tmp_path, room, message):
    arrays, facts = opened(saved("tree").read_bytes())
    model(facts)["sizes"][2] = room
    (tmp_path / "m").write_bytes(closed(arrays, facts))
    assert_refused_cheaply(tmp_path / "m", message)


def test_states_that_do_not_fit_together(saved, tmp_path):
    def more_slots(arrays, facts):
        arrays["model.transform0.bins.clock"][1] = 11  # of ten features; there is room for sixteen

    forge(saved("binned"), tmp_path / "m", more_slots)
    with pytest.raises(ModelFileError, match=r"bins.clock: expected slots in use"):
        onlineboost.load(tmp_path / "m")

    X = np.random.default_rng(0).normal(size=(10, 3))
    early = NaiveBayes().fit(X, np.arange(10) % 2)
    early.save(tmp_path / "m")

    def later(arrays, facts):
        arrays["model.committee.bins.clock"][0] = 1000

    forge(tmp_path / "m", tmp_path / "early", later)
    with pytest.raises(ModelFileError, match="bins after the first rows"):
        onlineboost.load(tmp_path / "early")
    before = (tmp_path / "m").read_bytes()
    early._fitted.root.committee.bins.clock[0] = 1000
    with pytest.raises(ModelFileError, match="bins after the first rows. The model could not be loaded again"):
        early.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before

    arrays, facts = opened(saved("tree").read_bytes())
    model(facts)["sizes"][2][1] = 0
    (tmp_path / "flat").write_bytes(closed(arrays, facts))
    with pytest.raises(ModelFileError, match="no histograms without bins"):
        onlineboost.load(tmp_path / "flat")


def nested(depth):
    deep = {"class": "Linear", "params": {}}
    for _ in range(depth):
        deep = {"class": "OnlineBBM", "params": {"estimator": deep}}
    return deep


WOULD_NOT_BE_SAVED = {  # accepted before, and after some rows beyond all numbers
    "a curvature": (lambda: DefensiveBoost(Linear(), 3), "model.head.inverse", (1,), 1e99, "numbers from -2 to 2"),
    "a square below 0": (LeastSquares, "model.part0.committee.products", (0, 1, 1), -127.0, "sums of squares"),
    "products": (LeastSquares, "model.part0.committee.products", (0, 1, 2), 1e6, "no larger than their squares"),
    "a stack": (OnlineBoostRegressor, "model.stack.products", (0, 0), 0.0, "no larger than their squares"),
}


@pytest.mark.parametrize("kind", WOULD_NOT_BE_SAVED)
def test_states_that_learning_leads_beyond_all_numbers_are_refused(kind, tmp_path):
    build, name, place, number, message = WOULD_NOT_BE_SAVED[kind]
    X = np.random.default_rng(0).normal(size=(60, 3))
    built = build().fit(X, (X[:, 0] > 0).astype(float))
    built.save(tmp_path / "m")
    onlineboost.load(tmp_path / "m")
    forge(tmp_path / "m", tmp_path / "bad", lambda arrays, _: arrays[name].__setitem__(place, number))
    with pytest.raises(ModelFileError, match=message):
        onlineboost.load(tmp_path / "bad")


@pytest.mark.parametrize("depth", [101, 900, 100_000])
def test_a_description_that_is_nested_deep(saved, tmp_path, depth):
    arrays, facts = opened(saved("linear").read_bytes())
    model(facts)["params"]["gamma"] = "DEEP"
    text = json.dumps(facts).replace('"DEEP"', "[" * depth + "]" * depth)
    content = to_bytes(arrays, {"onlineboost": f"{zlib.crc32(text.encode()):08x}{text}"})
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="nested too deep|not JSON"):
        onlineboost.load(tmp_path / "m")


def test_notes_that_are_nested_deep_are_not_saved(tmp_path):
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ParameterError, match="at most 100 levels"):
        Linear().fit(np.eye(4), [0, 1, 0, 1]).save(tmp_path / "m", notes=deep)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(("depth", "message"), [(13, "at most 12 levels"), (100, "nested too deep")])
def test_models_within_models(saved, tmp_path, depth, message):
    forge(saved("linear"), tmp_path / "m", lambda _, facts: model(facts).update(nested(depth)))
    with pytest.raises(ModelFileError, match=message):
        onlineboost.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 0, 1], "increasing numbers from 0 to 15"),
        ([0, 1, 16], "increasing numbers from 0 to 15"),
        ([-1, 0, 1], "increasing numbers from 0 to 15"),
        ([0.0, 1.0, 2.0], "increasing numbers from 0 to 15"),
    ],
)
def test_arrays_saved_by_rows(saved, tmp_path, rows, message):
    def change(arrays, facts):
        name = "model.committee.scale"
        arrays[f"{name}:rows"], arrays[name] = np.array(rows), arrays[name][: len(rows)]

    forge(saved("linear"), tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=message):
        onlineboost.load(tmp_path / "m")


def test_arrays_that_follow_from_the_parameters_are_not_in_files(saved):
    for name, array in (("tree", "allowed"), ("stump", "allowed"), ("binned", "crossed"), ("safe", "bounds")):
        assert not any(found.endswith(array) for found in opened(saved(name).read_bytes())[0])


def test_a_bool_is_0_or_1():
    check_values("mine", np.array([False, True]), {})
    with pytest.raises(ValueError, match="finite numbers"):
        check_values("mine", np.array([0, 2], np.uint8).view(np.bool_), {})


@pytest.mark.parametrize(("booster", "learner"), L)
def test_what_was_learned_can_be_loaded_however_extreme_the_data(booster, learner, tmp_path):
    """Numbers stay finite, and every index has a limit."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(300, 6)) * draws.choice([1e-18, 1e-3, 1, 1e17], size=(300, 6))
    y = (draws.random(300) < 0.5).astype(int)
    fitted = make(booster, learner)
    for weights in (np.full(300, 1e18), 10.0 ** draws.uniform(-18, 18, 300)):
        fitted.partial_fit(np.clip(X, -1e18, 1e18), y, [0, 1], weights)
        fitted.save(tmp_path / "m")
        twin = onlineboost.load(tmp_path / "m")
        assert np.array_equal(twin.decision_function(X[:9]), fitted.decision_function(X[:9]))
    for state in fitted._fitted.root.states().values():
        whole = {name for name, array in saved_arrays(state).items() if array.dtype.kind == "i"}
        assert whole <= limits_of(state).keys(), type(state)


@pytest.mark.parametrize(
    ("booster", "learner"),
    [
        ("bbm", "standardized"),
        ("adaptive-learners", "tree"),
        ("bbm", "binned"),
        ("mbbm", "class-tree"),
        ("memory", "linear"),
    ],
)
def test_forged_files_are_refused_or_harmless(booster, learner, tmp_path, monkeypatch):
    """Sixty of the fuzzer's files and tickets, in this process; ``fuzz/README.md`` has the long run."""
    monkeypatch.syspath_prepend(ROOT / "fuzz")
    import models

    files = models.honest([(booster, learner)])
    with np.errstate(all="ignore"):
        found = Counter()
        for k in range(60):
            one = models.damaged(random.Random(f"test {k}"), files)
            (tmp_path / "m").write_bytes(one.content)
            found[models.use(tmp_path / "m", one.kind, one.tickets).split(":")[0]] += 1
    assert found["refused"] > 18 and found["accepted"] > 3
    assert learner == "binned" or found["accepted, then TicketError"] > 0


def reloaded(model, X, tmp_path):
    model.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")
    assert np.array_equal(twin.decision_function(X), model.decision_function(X))
    return model


@pytest.mark.parametrize("learner", [lambda b: Tree(1, bins=b), lambda b: Tree(3, bins=b), lambda b: Stump(bins=b)])
@pytest.mark.parametrize("bins", [4, 64, 256])
def test_codes_may_be_larger_than_any_slot(learner, bins, tmp_path):
    X = np.random.default_rng(0).random((1500, 2))
    model = reloaded(OnlineBBM(learner(bins), 3, random_state=0).fit(X, X[:, 0] > 0.93), X, tmp_path)
    assert model.score(X, X[:, 0] > 0.93) > 0.9


@pytest.mark.parametrize(
    "model",
    [
        OnlineBBM(Linear(standardize=True), 3),
        OnlineBBM(Linear(standardize=True), 3, votes="real", head="stack"),
        Linear(standardize=True, crosses=True, bits=8),
    ],
)
def test_centered_values_may_be_twice_the_largest(model, tmp_path):
    draws = np.random.default_rng(0)
    X = draws.choice([-1e18, 1e18], (400, 4))
    reloaded(model.fit(X, draws.random(400) < 0.5), X, tmp_path)


def test_votes_beyond_any_scale_stay_on_the_simplex(tmp_path):
    draws = np.random.default_rng(0)
    X, y = draws.normal(size=(400, 4)) * 1e9, draws.random(400) < 0.5
    model = reloaded(OSBoostOCP(Perceptron(), 3, votes="real").fit(X, y), X, tmp_path)
    alpha = model._fitted.root.booster.alpha
    assert alpha.sum() == pytest.approx(1) and alpha.min() >= 0


def test_rows_of_zeros_that_were_learned_are_kept(tmp_path):
    """They are left out of files only where they were zeros at the start; a stump's choice starts at -1."""
    X = (np.random.default_rng(0).random((300, 1)) < 0.5).astype(float)
    reloaded(OSBoost(Stump(), 5000, random_state=0).fit(X, X[:, 0] > 0), X, tmp_path)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": {"class": "SafeBoost", "params": {"n_estimators": 10_000}}, "n_estimators": 10_000}, "compiled"),
        ({"estimator": {"class": "Linear", "params": {"crosses": [[f"{k}", f"{k}x"] for k in range(9000)]}}}, "4,096"),
        ({"estimator": {"class": "Tree", "params": {"max_depth": 16}}, "n_estimators": 1000}, "description: "),
        ({"n_estimators": 10_000, "votes": "real"}, "missing|expected"),
    ],
)
def test_small_files_take_little_memory(saved, tmp_path, params, message):
    def change(arrays, facts):
        model(facts)["params"] |= params
        for name in [name for name in arrays if name.startswith("model.committee")]:
            arrays[f"{name}:rows"], arrays[name] = np.empty(0, np.int64), arrays[name][:0]

    forge(saved("linear"), tmp_path / "m", change)
    assert_refused_cheaply(tmp_path / "m", message)


def test_labels_that_json_cannot_hold(tmp_path):
    model = Linear()
    model.learn_one({"a": 1.0}, b"yes")
    with pytest.raises(DataError, match="cannot be saved in a model file"):
        model.save(tmp_path / "m")


def test_trees_split_by_slots_in_use():
    """Explanations have a place for each slot in use, and for no other."""
    model = Tree(2, grace_period=8).fit(np.eye(2, dtype=np.float32)[[0, 1] * 60], [0, 1] * 60)
    node = model._fitted.root
    node.check()
    node.committee.nodes[0, 0, 0] = node.n_slots + 1
    with pytest.raises(InvalidStateError, match="splits by slots in use"):
        node.check()
