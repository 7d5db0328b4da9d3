"""The last labels as features: as if someone had made the columns by hand, for any batches and late labels."""

from __future__ import annotations

import copy
import pickle
import threading
from collections import deque
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from model_files import forge
from river.naive_bayes import GaussianNB

import onlineboost
from onlineboost import (
    Adaptive,
    AdaptiveRegressor,
    ClassTree,
    DataError,
    LeastSquares,
    Linear,
    ModelFileError,
    OnlineBBM,
    OnlineBoost,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OnlineMBBM,
    ParameterError,
    StackedEnsemble,
    Tree,
)
from onlineboost.data.scores import joined_scores
from onlineboost.evaluate.progressive import Delayed
from onlineboost.readers import open_stream
from onlineboost.tuning import tune

LAG = 3
MODELS = {
    "two": lambda lag=LAG: OnlineBBM(Linear(standardize=True), 5, random_state=0, lag=lag),
    "classes": lambda lag=LAG: OnlineBBM(Tree(3, replay=64), 4, head="stack", random_state=0, lag=lag),
    "stacked": lambda lag=LAG: StackedEnsemble(
        [Linear(standardize=True), OnlineBBM(Tree(3, replay=64), 4)], random_state=0, lag=lag
    ),
    "votes": lambda lag=LAG: OnlineMBBM(ClassTree(3, replay=64), 5, random_state=0, lag=lag),
    "numbers": lambda lag=LAG: OnlineBoostRegressor(random_state=0, lag=lag),
    "numbers-adaptive": lambda lag=LAG: AdaptiveRegressor(LeastSquares(), lag=lag),
}
every_model = pytest.mark.parametrize("kind", MODELS)


def stream(kind: str, n: int = 500) -> tuple[np.ndarray, list]:
    """Rows, and labels that depend on the last ones; one class comes late, and some numbers are 0."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 4)).round(2).astype(np.float32)
    if kind.startswith("numbers"):
        y = np.cumsum(rng.normal(size=n)).round(1) + X[:, 0]
        y[::17] = 0.0
        return X, y.tolist()
    code = (np.cumsum(rng.random(n) < 0.2) + (X[:, 0] > 1)) % (2 if kind == "two" else 3)
    y = np.array(["b", "a", "c"])[code]
    y[: n // 3][y[: n // 3] == "c"] = "a"
    return X, y.tolist()


def pages(kind: str, rows: list[dict], y: list, **options):
    """The rows as a stream."""
    return open_stream(
        zip(rows, y, strict=True), **options, **({"task": "number"} if kind.startswith("numbers") else {})
    )


def bits(model, folder) -> bytes:
    model.save(folder / "bits")
    return (folder / "bits").read_bytes()


def differing(one, other) -> list[str]:
    """The states that two models do not have in common."""
    mine, others = (model._fitted.root.trimmed().arrays() for model in (one, other))
    assert mine.keys() == others.keys()
    return [
        name for name in mine if not np.array_equal(mine[name], others[name], equal_nan=mine[name].dtype.kind == "f")
    ]


def dicts(X: np.ndarray) -> list[dict]:
    return [{f"x{j}": float(value) for j, value in enumerate(row)} for row in X]


def by_hand(rows: list[dict], y: list, lag: int = LAG) -> list[dict]:
    """Literally: each row with the labels of the rows before it."""
    return [
        row | {f"label[-{k}]": y[r - k] for k in range(1, lag + 1) if r - k >= 0 and y[r - k] != 0}
        for r, row in enumerate(rows)
    ]


@every_model
def test_it_is_the_model_with_columns_made_by_hand(kind):
    X, y = stream(kind)
    rows = dicts(X)
    lagged, plain = MODELS[kind](), MODELS[kind](0)
    scores = [lagged.learn(page, squeeze=False) for page in pages(kind, rows, y, batch_size=130)]
    wanted = [plain.learn(page, squeeze=False) for page in pages(kind, by_hand(rows, y), y, batch_size=130)]
    assert np.array_equal(joined_scores(scores), joined_scores(wanted))
    assert differing(lagged, plain) == []
    assert lagged._fitted.columns.names == plain._fitted.columns.names
    assert {name for name in lagged._fitted.columns.names.values() if name.startswith("label")}


@every_model
def test_batches_saving_copies_threads_and_single_rows_do_not_matter(kind, tmp_path):
    X, y = stream(kind)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=len(y))
    whole, parts = MODELS[kind](), MODELS[kind]()
    scores = whole.progressive_fit(X, y, weight)
    for step, (start, stop) in enumerate(pairwise([0, 40, 41, 160, 170, 300])):
        if step % 2:
            for row, label, w in zip(X[start:stop].tolist(), y[start:stop], weight[start:stop], strict=True):
                parts.learn_one(dict(enumerate(row)), label, w)
            continue
        if step == 4:
            parts.set_params(n_jobs=2)
        last = parts.progressive_fit(X[start:stop], y[start:stop], weight[start:stop])
        parts.save(tmp_path / "model")
        parts = pickle.loads(pickle.dumps(copy.deepcopy(onlineboost.load(tmp_path / "model"))))
        parts.predict(X[:20])  # changes nothing
        parts.predict_one(dict(enumerate(X[0].tolist())))
    for row, label, w in zip(X[300:].tolist(), y[300:], weight[300:], strict=True):
        parts.learn_one(dict(enumerate(row)), label, w)
    assert np.array_equal(last, scores[170:300])
    assert bits(parts, tmp_path) == bits(whole, tmp_path)
    one = [parts.predict_one(dict(enumerate(row))) for row in X[:9].tolist()]
    assert one == whole.predict(X[:9]).tolist()


@every_model
def test_predictions_see_the_last_labels_that_were_learned(kind):
    X, y = stream(kind)
    lagged, plain = MODELS[kind](), MODELS[kind](0)
    for page in pages(kind, dicts(X[:400]), y[:400]):
        lagged.learn(page)
    for page in pages(kind, by_hand(dicts(X[:400]), y), y[:400]):
        plain.learn(page)
    last = {f"label[-{k}]": y[400 - k] for k in range(1, LAG + 1) if y[400 - k] != 0}
    for row in dicts(X[400:420]):
        assert lagged.predict_one(row) == plain.predict_one(row | last)
    assert lagged.predict(dicts(X[400:420])).tolist() == [plain.predict_one(row | last) for row in dicts(X[400:420])]


@every_model
def test_a_ticket_has_the_labels_that_were_known_when_it_was_asked(kind, tmp_path):
    X, y = stream(kind, 260)
    late, hand = MODELS[kind](), MODELS[kind](0)
    waiting, told, rows = deque(), [], dicts(X)
    for r, row in enumerate(rows):
        last = {f"label[-{k}]": told[-k] for k in range(1, LAG + 1) if len(told) >= k and told[-k] != 0}
        waiting.append((late.ask(row), hand.ask(row | last), y[r]))
        assert waiting[-1][0].prediction == waiting[-1][1].prediction
        if r == 150:
            late.save(tmp_path / "model")
            late = onlineboost.load(tmp_path / "model")
        if r % 3 == 2:  # two of four, out of order
            for k in (1, 0, 0)[: len(waiting)]:
                mine, other, label = waiting[min(k, len(waiting) - 1)]
                del waiting[min(k, len(waiting) - 1)]
                late.tell(bytes(mine), label)
                hand.tell(other, label)
                told.append(label)
    assert differing(late, hand) == []


def test_delays_are_those_of_tickets():
    X, y = stream("stacked", 300)
    late, asked = Delayed(MODELS["stacked"](), 5), MODELS["stacked"]()
    answers, waiting = [], deque()
    for page in pages("stacked", dicts(X), y, batch_size=70):
        late.learn(page, squeeze=False)
    for r, row in enumerate(dicts(X)):
        waiting.append((asked.ask(row), y[r]))
        answers.append(waiting[-1][0].prediction)
        if len(waiting) > 5:
            asked.tell(*waiting.popleft())
    assert differing(late.model, asked) == []


def test_predictions_and_learning_at_once(tmp_path):
    X, y = stream("two", 2000)
    model, wrong, done = MODELS["two"]().fit(X[:50], y[:50]), [], threading.Event()

    def ask():
        while not done.is_set():
            if not np.isfinite(model.decision_function(X[:64])).all():
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(50, 2000, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert bits(model, tmp_path) == bits(MODELS["two"]().fit(X, y), tmp_path)


def test_it_follows_what_repeating_the_last_label_follows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = (np.cumsum(rng.random(3000) < 0.05) % 2).tolist()
    blind, seeing = (OnlineBBM(Linear(), 5, random_state=0, lag=lag).progressive_fit(X, y) for lag in (0, 1))
    sign = np.where(np.array(y) == 1, 1, -1)
    assert np.mean((blind >= 0) != (sign > 0)) > 0.3 and np.mean((seeing >= 0) != (sign > 0)) < 0.07


def test_features_are_named_and_frames_may_have_any_columns():
    X, y = stream("two")
    frame = pd.DataFrame(X, columns=[*"abcd"])
    model = OnlineBBM(Linear(crosses=[("a", "label[-1]")]), 3, random_state=0, lag=1).fit(frame, y)
    assert {"label[-1]=a", "label[-1]=b"} <= {*model._fitted.columns.names.values()}
    assert not model.columns_not_met()
    numbered = OnlineBBM(Linear(), 3, lag=1)
    for row, label in zip(X.tolist(), y, strict=True):
        numbered.learn_one(dict(enumerate(row)), label)
    numbered.predict(X)  # names of lags are no headings


def test_wrong_lags():
    X, y = stream("two", 50)
    for lag in (-1, 1.5, "two", 101, True, None):
        with pytest.raises(ParameterError, match="lag"):
            OnlineBBM(Linear(), 3, lag=lag).fit(X, y)
    inner = OnlineBBM(Linear(), 3, lag=2)
    for outer in (StackedEnsemble([Linear(), inner]), Adaptive(inner), StackedEnsemble([Adaptive(inner)])):
        with pytest.raises(ParameterError, match="give lag to the"):
            outer.fit(X, y)
    with pytest.raises(ParameterError, match="Python objects"):
        OnlineBBM(GaussianNB(), 3, lag=2).fit(X, y)


def test_long_rows_count_the_last_labels():
    with pytest.raises(DataError, match="a row has 4,097 features, too many to cross"):
        OnlineBBM(Linear(crosses=True), 2, lag=2).fit(np.ones((4, 4095)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("classes", None), ("classes", [1.0] * 4), ("classes", [3.0]), ("classes", [-1.0]), ("classes", [1.5]),
        ("classes", [1e300]), ("classes", ["a"]), ("classes", [True]), ("numbers", [1e300]), ("numbers", [[1.0]]),
        ("numbers", {}),
    ],
)  # fmt: skip
def test_files_with_labels_that_cannot_be(kind, last, tmp_path):
    X, y = stream(kind, 200)
    MODELS[kind]().fit(X, y).save(tmp_path / "model")

    def damage(arrays, facts):
        facts["parts"]["model"]["last_labels"] = last

    forge(tmp_path / "model", tmp_path / "model", damage)
    with pytest.raises(ModelFileError):
        onlineboost.load(tmp_path / "model")


def test_tuning_learns_with_the_last_labels():
    X, y = stream("two")
    model = OnlineBBM(Linear(standardize=True), 5, random_state=0, lag=1)
    scores = model.clone().progressive_fit(X, y)
    error = np.mean((scores >= 0) != (np.array(y) == "b"))
    assert tune([model], X, y).best.error == pytest.approx(error)


def test_the_default_takes_it():
    assert OnlineBoost("low", lag=2).get_params()["lag"] == 2
    assert OnlineGradientBoost(lag=2).lag == 2
    assert "lag" not in repr(OnlineBoost())
