"""Class weights: as if someone had weighted the rows by hand, for any batches, late labels and single rows."""

from __future__ import annotations

import copy
import pickle
from collections import Counter, deque
from itertools import pairwise

import numpy as np
import pytest
from model_files import forge
from river.naive_bayes import GaussianNB

import onlineboost
from onlineboost import (
    Adaptive,
    DataError,
    Linear,
    ModelFileError,
    OnlineBBM,
    OnlineBoost,
    OnlineMBBM,
    ParameterError,
    StackedEnsemble,
    Tree,
)
from onlineboost.data.scores import joined_scores
from onlineboost.evaluate.progressive import Delayed
from onlineboost.readers import open_stream
from onlineboost.tuning import tune

GIVEN = {"a": 0.5, "c": 7, "never": 3}
MODELS = {
    "two": lambda **more: OnlineBBM(Linear(standardize=True), 5, random_state=0, **more),
    "classes": lambda **more: OnlineBBM(Tree(3, replay=64), 4, head="stack", random_state=0, **more),
    "stacked": lambda **more: StackedEnsemble(
        [Linear(standardize=True), OnlineBBM(Tree(3, replay=64), 4)], random_state=0, **more
    ),
}
every_model = pytest.mark.parametrize("kind", MODELS)
every_weight = pytest.mark.parametrize("given", ["balanced", GIVEN], ids=["balanced", "dict"])


def stream(kind: str, n: int = 500) -> tuple[np.ndarray, list, np.ndarray]:
    """Rows of which few have the label "a"; a third class comes late; some weights are 0."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 4)).round(2).astype(np.float32)
    code = np.where(X[:, 0] + X[:, 1] > 1.8, 1, 0)
    if kind != "two":
        code[n // 3 :][X[n // 3 :, 2] > 1.5] = 2
    return X, np.array(["b", "a", "c"])[code].tolist(), rng.choice([0.0, 1.0, 2.0], size=n)


def by_hand(given, y: list, weight: np.ndarray) -> np.ndarray:
    """Literally: the weight of each row times that of its label, by the rows before it and itself."""
    counts, found = Counter(), []
    for label, own in zip(y, weight.tolist(), strict=True):
        factor = 1.0
        if given != "balanced":
            factor = given.get(label, 1.0)
        elif own > 0:
            counts[label] += 1
            factor = counts.total() / (len(counts) * counts[label])
        found.append(own * factor)
    return np.array(found)


def dicts(X: np.ndarray) -> list[dict]:
    return [dict(enumerate(row)) for row in X.tolist()]


def differing(one, other) -> list[str]:
    """The states that two models do not have in common."""
    mine, others = (model._fitted.root.trimmed().arrays() for model in (one, other))
    assert mine.keys() == others.keys()
    return [
        name for name in mine if not np.array_equal(mine[name], others[name], equal_nan=mine[name].dtype.kind == "f")
    ]


@every_weight
@every_model
def test_it_is_the_model_with_weights_made_by_hand(kind, given, tmp_path):
    X, y, weight = stream(kind)
    weighted, plain = MODELS[kind](class_weight=given), MODELS[kind]()
    wanted = plain.progressive_fit(X, y, by_hand(given, y, weight))
    parts = []
    for step, (start, stop) in enumerate(pairwise([0, 40, 41, 160, 170, 300, 400, 500])):
        rows = slice(start, stop)
        if step % 2:
            for row, label, w in zip(dicts(X[rows]), y[rows], weight[rows].tolist(), strict=True):
                parts.append(weighted._fitted.score_one(row))
                weighted.learn_one(row, label, w)
            continue
        if step == 4:
            weighted.set_params(n_jobs=2)
        weighted.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
        weighted.save(tmp_path / "model")
        weighted = pickle.loads(pickle.dumps(copy.deepcopy(onlineboost.load(tmp_path / "model"))))
    assert differing(weighted, plain) == []
    assert np.array_equal(weighted.decision_function(X), plain.decision_function(X))
    whole = MODELS[kind](class_weight=given)
    assert np.array_equal(whole.progressive_fit(X, y, weight), wanted)
    assert differing(whole, plain) == []


@every_weight
def test_streams_and_late_labels(given, tmp_path):
    X, y, _ = stream("stacked", 300)
    make = MODELS["stacked"]
    late, hand, waiting = make(class_weight=given), make(), deque()
    order = []
    for r, row in enumerate(dicts(X)):
        waiting.append((late.ask(row), hand.ask(row), y[r]))
        if r % 3 == 2:
            order.append([waiting.popleft() for _ in range(2)])
            mine, _, labels = zip(*order[-1], strict=True)
            late.tell([*map(bytes, mine)], labels)
            told = [label for some in order for *_, label in some]
            weight = by_hand(given, told, np.ones(len(told)))[-2:]
            for (_, ticket, label), w in zip(order[-1], weight.tolist(), strict=True):
                hand.tell(ticket, label, w)
        if r == 150:
            late.save(tmp_path / "model")
            late = onlineboost.load(tmp_path / "model")
    assert differing(late, hand) == []
    delayed, asked, waiting = Delayed(make(class_weight=given), 5), make(class_weight=given), deque()
    for page in open_stream(zip(dicts(X), y, strict=True), batch_size=70):
        delayed.learn(page, squeeze=False)
    for row, label in zip(dicts(X), y, strict=True):
        waiting.append((asked.ask(row), label))
        if len(waiting) > 5:
            asked.tell(*waiting.popleft())
    assert differing(delayed.model, asked) == []


def test_pages_python_objects_and_boosters_of_many_classes():
    X, y, _ = stream("classes", 300)
    weights = by_hand("balanced", y, np.ones(300)).tolist()
    for make in (
        lambda **more: OnlineBBM(GaussianNB(), 2, random_state=0, **more),
        lambda **more: OnlineMBBM(n_estimators=3, random_state=0, **more),
    ):
        balanced, plain = make(class_weight="balanced"), make()
        scores = [balanced.learn(page, squeeze=False) for page in open_stream(X, y=y, batch_size=110)]
        wanted = [
            plain.learn(page, squeeze=False) for page in open_stream(X, y=y, sample_weight=weights, batch_size=110)
        ]
        assert np.array_equal(joined_scores(scores), joined_scores(wanted))


def test_with_last_labels_a_label_of_weight_0_was_not_learned():
    X, y, _ = stream("two", 300)
    kept = np.array(y) != "a"
    one = MODELS["two"](lag=2, class_weight={"a": 0}).partial_fit(X, y, ["a", "b"])
    other = MODELS["two"](lag=2).partial_fit(X, y, ["a", "b"], kept.astype(float))
    assert differing(one, other) == []
    single = MODELS["two"](lag=2, class_weight={"a": 0})
    for row, label in zip(dicts(X), y, strict=True):
        single.learn_one(row, label)
    last = [
        [model._fitted.target.label_at(int(place)) for place in model._fitted.lags.describe()]
        for model in (single, other)
    ]
    assert last == [["b", "b"]] * 2


def test_rare_labels_are_found():
    X, y, _ = stream("two", 2000)
    rare = np.array(y) == "a"
    recall = [
        np.mean(MODELS["two"](class_weight=given).fit(X, y).predict(X)[rare] == "a") for given in (None, "balanced")
    ]
    assert rare.mean() < 0.15 and recall[0] < recall[1] - 0.05 and recall[1] > 0.9


@pytest.mark.parametrize("given", ["equal", {}, {"a": -1}, {"a": "1"}, {"a": True}, {"a": float("nan")}, 3, {None: 1}])
def test_wrong_weights(given):
    X, y, _ = stream("two", 50)
    with pytest.raises(ParameterError, match="class_weight.*a dict of labels and their weights"):
        MODELS["two"](class_weight=given).fit(X, y)


def test_weights_for_labels_of_another_type_or_within_a_model():
    X, y, _ = stream("two", 50)
    with pytest.raises(DataError, match="class_weight has numbers, but the labels are words"):
        MODELS["two"](class_weight={1: 2}).fit(X, y)
    with pytest.raises(DataError, match="class_weight has words, but the labels are numbers"):
        MODELS["two"](class_weight={"1": 2}).learn_one({"x": 1}, 1)
    inner = MODELS["two"](class_weight="balanced")
    for outer in (StackedEnsemble([Linear(), inner]), Adaptive(inner)):
        with pytest.raises(ParameterError, match="give class_weight to the"):
            outer.fit(X, y)


def test_numbers_as_labels_are_saved(tmp_path):
    X, y, _ = stream("two", 50)
    model = MODELS["two"](class_weight={np.int64(1): 4, 0: 1}).fit(X, np.array(y) == "a")
    model.save(tmp_path / "model")
    assert onlineboost.load(tmp_path / "model").class_weight == {1: 4, 0: 1}


@pytest.mark.parametrize("counts", [None, [1.0, 2], [-1, 3], [1, 2, 3], [True, 2], {}, [1 << 60, 2], ["a"]])
def test_files_with_counts_that_cannot_be(counts, tmp_path):
    X, y, _ = stream("two", 50)
    MODELS["two"](class_weight="balanced").fit(X, y).save(tmp_path / "model")

    def damage(arrays, facts):
        facts["parts"]["model"]["label_counts"] = counts

    forge(tmp_path / "model", tmp_path / "model", damage)
    with pytest.raises(ModelFileError):
        onlineboost.load(tmp_path / "model")


def test_tuning_learns_with_class_weights():
    X, y, _ = stream("two")
    model = MODELS["two"](class_weight="balanced")
    scores = model.clone().progressive_fit(X, y, classes=["a", "b"])
    error = np.mean((scores >= 0) != (np.array(y) == "b"))
    assert tune([model], X, y).best.error == pytest.approx(error)
    assert "class_weight" not in repr(OnlineBoost())
