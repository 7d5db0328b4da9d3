"""Digests of what models answer and learn, to prove that a change of the code changes no bit.

Models of every kind are trained on small fixed streams. Digests are those of their scores, probabilities and answers,
and of each array in their files. What another way of learning must not change is named ``MODEL | WAY``, and is compared
with MODEL.

    python scripts/digests.py -o before.json                      # then change the code
    python scripts/digests.py -o after.json --against before.json
    python scripts/digests.py --against before.json --only 'OnlineBBM|tickets'
    python scripts/digests.py --against before.json --renamed 'clock$=rows' --but 'kept.y$'  # of named arrays and facts
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from river.naive_bayes import GaussianNB
from safetensors import safe_open
from sklearn.linear_model import SGDClassifier

import onlineboost as ob
from onlineboost.datasets import load_letter
from onlineboost.ensembles.restarting import Restarting
from onlineboost.registry import BOOSTERS, LEARNERS

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from conftest import houses, make_stream

Digests = dict[str, str]
Stream = tuple[Any, Any]
Case = tuple[str, Callable[[], Digests]]
FACTS = "seed", "classes", "target", "columns", "last_labels", "label_counts"  # of a model file
ASKED = 100  # rows that are answered at the end
PIECES = 60, 61, 64, 200  # where batches end; the first has all classes


# ---- digests


def digest(value: Any) -> str:
    """Of an array's type, shape and bytes; of anything else, its text."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    else:
        content = repr(value.tolist() if isinstance(value, np.ndarray) else value).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def saved(model: Any) -> Digests:
    """Of each array in the model's file, and of what it says beside them; tickets have keys that are drawn."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        with safe_open(Path(folder) / "model", framework="numpy") as file:
            facts = json.loads(file.metadata()["onlineboost"][8:])["parts"]["model"]
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    found = {name: digest(array) for name, array in arrays.items() if name != "model.pending.tickets"}
    return found | {f"facts.{name}": digest(facts[name]) for name in FACTS if name in facts}


def answered(model: Any, X: Any, **more: Any) -> Digests:
    """Of the answers to the first rows of X, and of all that was learned."""
    rows = X[:ASKED]
    found = {"scores": model.scores(rows), "answers": model.predict(rows), "seen": model.n_seen_}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(rows)
    if hasattr(model, "alarms_"):
        found["alarms"] = [tuple(alarm) for alarm in model.alarms_]
    if hasattr(model, "n_paused_"):
        found["resting"] = model.n_paused_
    found |= more
    return {name: digest(value) for name, value in found.items()} | (saved(model) if is_compiled(model) else {})


def is_compiled(model: Any) -> bool:
    return not isinstance(getattr(model, "estimator", None), OBJECTS)


OBJECTS = GaussianNB, SGDClassifier, ob.Copies


# ---- streams


@functools.cache
def two() -> Stream:
    return make_stream()


@functools.cache
def letters() -> Stream:
    X, y = load_letter()
    return X[:3000], y[:3000]


@functools.cache
def five() -> Stream:
    X, y = load_letter(letters=True)
    some = np.flatnonzero(np.isin(y, [*"ABCDE"]))[:1500]
    return X[some], y[some]


@functools.cache
def three() -> Stream:
    """The third class comes after half of the rows."""
    X, _ = two()
    y = np.where(X[:, 8] > X[:, 9], "b", "a").astype(object)
    y[200:][X[200:, 7] > 3] = "c"
    return X, y


@functools.cache
def flipped() -> Stream:
    """The labels are reversed from the middle on."""
    X, y = letters()
    return X, np.where(np.arange(len(y)) < 1500, y, -y)


@functools.cache
def turned() -> Stream:
    X, y = two()
    return X, np.where(np.arange(400) < 200, y, -y)


@functools.cache
def gaps() -> Stream:
    X, y = two()
    return np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.float32(np.nan), X), y


@functools.cache
def prices() -> Stream:
    return houses(1200, 6, 0)


@functools.cache
def price_gaps() -> Stream:
    X, y = prices()
    return np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X), y


@functools.cache
def shares() -> Stream:
    """Targets from 0 to 1."""
    X, y = prices()
    return X, np.clip(y / y.max(), 0, 1)


@functools.cache
def counts() -> Stream:
    X, y = prices()
    return X, np.floor(8 * y / y.mean())


@functools.cache
def bent() -> Stream:
    """Numbers whose sign changes in the middle."""
    X = np.random.default_rng(0).random((3000, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    return X, np.where(np.arange(3000) < 1500, y, -y)


@functools.cache
def long_rows() -> Stream:
    """Long rows, and labels of which the first feature says a little."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9000, 70)).astype(np.float32)
    return X, np.where(X[:, 0] + 2 * rng.normal(size=9000) > 0, 1, -1)


def weights(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.5], size=n)


@functools.cache
def dicts() -> Stream:
    """Rows of numbers, words, truths, gaps, a date and a list; now and then a new word or a new feature."""
    rng, rows, truths = np.random.default_rng(4), [], []
    for k in range(300):
        size, place = rng.normal(size=2).round(3).tolist()
        word = f"w{int(rng.zipf(1.5)) % 40}"
        row: dict[Any, Any] = {"size": size, "place": place, "word": word, 5: k % 7, "new": bool(rng.random() < 0.5)}
        row |= {"gap": None if k % 3 else 1.5, "day": f"2026-{k % 12 + 1:02}-15", "tags": [word, f"t{k % 4}"]}
        rows.append(row | ({"late": size * place} if k > 200 else {}))
        truths.append(bool(size + (len(word) - 2.5) + rng.normal() > 0))
    return rows, truths


# ---- ways of learning


def train(model: Any, stream: Stream, weight: Any = None, ends: Sequence[int] = (), sparse: bool = False) -> Digests:
    """Learn a stream, in batches that end at these rows; and answer each row before its label is used."""
    X, y = stream
    before = []
    for start, stop in pairwise([0, *ends, len(y)]):
        some = slice(start, stop)
        rows = sp.csr_matrix(X[some]) if sparse else X[some]
        before.append(model.progressive_fit(rows, y[some], sample_weight=None if weight is None else weight[some]))
    if len({scores.shape[1:] for scores in before}) > 1:  # a class came in between
        return answered(model, X)
    return answered(model, X, before=np.concatenate(before))


def learn_rows(model: Any, stream: Stream) -> Digests:
    """Learn all rows but the first sixty one at a time, as dicts."""
    X, y = stream
    model.partial_fit(X[:60], y[:60])
    for x, label in zip(X[60:].tolist(), y[60:].tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), label)
    return answered(model, X)


def train_by_two(model: Any, stream: Stream) -> Digests:
    """Learn with two threads."""
    return train(model.set_params(n_jobs=2), stream)


def learn_dicts(model: Any, stream: Stream, label: Callable[[int, dict[Any, Any], bool], Any]) -> Digests:
    """Answer and learn dicts of all kinds of values, with weights; nothing else."""
    said: list[Any] = []
    for k, (x, truth) in enumerate(zip(*stream, strict=True)):
        said.append(model.predict_one(x))
        if hasattr(model, "predict_proba_one"):
            said.append(model.predict_proba_one(x))
        model.learn_one(x, label(k, x, truth), (1.0, 1.0, 0.0, 2.5)[k % 4])
    last = [model.predict_one(x) for x in stream[0][:ASKED]]
    return {"before": digest(said), "answers": digest(last), "seen": digest(model.n_seen_)} | saved(model)


def ask_and_tell(model: Any, stream: Stream, **bounds: Any) -> Digests:
    """Ask rows, learn others, tell what was asked in another order; some tickets are left, or expire."""
    X, y = stream
    model.pending = ob.Pending(**bounds)
    model.partial_fit(X[:120], y[:120])
    tickets, said = [], []
    for start in range(120, 360, 40):  # of the stream of three classes, the third comes in between
        tickets += zip(model.ask(X[start : start + 20]), y[start : start + 20].tolist(), strict=True)
        for x, label in zip(X[start + 20 : start + 24].tolist(), y[start + 20 : start + 24].tolist(), strict=True):
            tickets.append((model.ask(dict(enumerate(x))), label))
        model.partial_fit(X[start + 24 : start + 40], y[start + 24 : start + 40])
        told = [tickets.pop(-3 * k - 1) for k in range(6)]
        waiting = {*model.pending}
        told = [(ticket, label) for ticket, label in told if ticket.number in waiting]
        model.tell([ticket for ticket, _ in told[1:]], [label for _, label in told[1:]], 0.5)
        for ticket, label in told[:1]:
            model.tell(bytes(ticket), label)
        said += [(ticket.number, ticket.prediction, ticket.probability) for ticket, _ in told]
    waiting = {*model.pending}
    left = [(ticket, label) for ticket, label in tickets if ticket.number in waiting][:-20]
    model.tell([ticket for ticket, _ in left], [label for _, label in left])
    return answered(model, X, said=said, waiting=[*model.pending])


def explain(model: Any, stream: Stream) -> Digests:
    X, y = stream
    why = model.fit(X, y).explain(X[:20])
    found = {"contributions": np.asarray(why.contributions), "bias": np.asarray(why.bias)}
    return {name: digest(value) for name, value in found.items()} | {"shares": digest(model.feature_importances_)}


def learn_frames(model: Any, stream: Stream) -> Digests:
    """Learn a data frame of numbers, words and gaps, then one with other columns."""
    rows, truths = stream
    frame = pd.DataFrame([{name: x[name] for name in ("size", "word", "new", "gap", "day")} for x in rows])
    model.learn_many(frame[:200], pd.Series(truths[:200]))
    model.learn_many(frame[200:].drop(columns="gap"), pd.Series(truths[200:]))
    return {"probabilities": digest(model.predict_proba_many(frame[:ASKED]).to_numpy())} | saved(model)


def rest_and_wake(model: Any, stream: Stream) -> Digests:
    """Learn until parts that have rested are tried again, and rest again."""
    X, y = (some[:4096] for some in stream)
    resting = []
    for _ in range(65):
        model.partial_fit(X, y)
        resting.append(model.n_paused_)
    return answered(model, X, was_resting=resting)


# ---- the models


def cases() -> Iterator[Case]:
    yield from learners()
    yield from boosters()
    yield from numbers()
    yield from classes()
    yield from ensembles()
    yield from changes()
    yield from options()
    yield from late_labels()
    yield from single_rows()
    yield from objects()


def on(of: Callable[[], Stream], model: Any, words: str = "", way: Callable[..., Digests] = train, **how: Any) -> Case:
    """A copy of the model on a stream."""
    return f"{model!r} on {of.__name__}{words}", lambda: way(model.clone(), of(), **how)


def otherwise(of: Callable[[], Stream], model: Any, ends: Sequence[int] = PIECES) -> Iterator[Case]:
    """The same in batches, and one row at a time."""
    yield on(of, model, " | batches", ends=ends)
    yield on(of, model, " | rows", learn_rows)


def learners() -> Iterator[Case]:
    for model in SINGLE:
        yield on(two, model)
        yield on(gaps, model)
        yield on(two, model, " | sparse batches", ends=PIECES, sparse=True)
    for model in (ob.Linear(), ob.Tree(4), ob.NaiveBayes(), ob.Newton()):
        yield on(five, model)


SINGLE: list[Any] = [
    *(entry.make(**entry.fixed) for entry in LEARNERS),
    ob.Linear("logistic", learning_rate=0.1, power_t=0.3),
    ob.Linear(standardize=True),
    ob.Linear(bins=8, crosses=[(0, 1), (2, 5)], bits=6),
    ob.Linear(standardize=True, crosses=True, bits=8),
    ob.Linear("logistic", bins=16),
    ob.NaiveBayes(bins=8, max_slots=16),
    ob.Newton(max_slots=8),
    ob.Perceptron(standardize=True),
    ob.Stump(grace_period=8, max_slots=16),
    ob.Tree(3, grace_period=8, tau=0.3, max_slots=16),
    ob.Tree(6, bins=64, leaf_prediction="majority"),
    ob.ClassTree(3, grace_period=8, max_slots=16),
]
TREE, CLASS_TREE, NUMBER_TREE = ob.Tree(3, grace_period=8), ob.ClassTree(3, grace_period=8), ob.RegressionTree(3)
BOOSTED: list[Any] = [
    ob.Linear(),
    TREE,
    ob.Linear(standardize=True, crosses=True, bits=8),
    ob.NaiveBayes(bins=8, max_slots=16),
    ob.Newton(max_slots=8),
    ob.Perceptron(),
    ob.Stump(grace_period=8, max_slots=16),
    CLASS_TREE,
]


def boosters() -> Iterator[Case]:
    for entry in BOOSTERS:
        n = 9 if entry.make is ob.SafeBoost else 5  # groups of more than one or two
        for learner in BOOSTED:
            if entry.make.boosts(type(learner)):
                yield on(two, entry.make(learner, n, random_state=3, **entry.fixed))
        known = {option.parameter for option in entry.options}
        learner = TREE if entry.make.boosts(ob.Tree) else CLASS_TREE
        for name, value in CHOICES:
            if name in known:
                yield on(two, entry.make(learner, n, random_state=3, **(dict(entry.fixed) | {name: value})))
        yield from otherwise(two, entry.make(learner, n, random_state=3, **entry.fixed))
    yield on(
        two,
        ob.OnlineBBM(ob.Linear("logistic", standardize=True), 5, 0.2, normalizer="mode", head="stack", random_state=3),
    )
    yield on(two, ob.PotentialBoost(n_estimators=5, terminal="logistic", random_state=3))


CHOICES = [
    ("delivery", "weight"), ("delivery", "sample"), ("votes", "real"), ("head", "stack"), ("expert", "random"),
    ("expert", "last"),
]  # fmt: skip


def numbers() -> Iterator[Case]:
    for loss, of in LOSSES.items():
        yield on(of, ob.OnlineGradientBoost(NUMBER_TREE, 6, loss=loss, quantile=0.9, random_state=0))
    for chosen in ({"version": "hull"}, {"chains": 2, "shrinkage": 0.5}, {"radius": 3.0}, {"lag": 3}):
        yield on(prices, ob.OnlineGradientBoost(NUMBER_TREE, 6, random_state=0, **chosen))
    for learner in (ob.LeastSquares(), ob.Linear(standardize=True)):
        yield on(prices, ob.OnlineGradientBoost(learner, 5, random_state=0))
    for model in NUMBERS:
        yield on(prices, model)
        yield on(price_gaps, model)
        yield on(prices, model, ", weighted", weight=weights(1200))
        yield on(prices, model, ", explained", explain)
        yield from otherwise(prices, model)
    yield on(bent, ob.AdaptiveRegressor(ob.OnlineGradientBoost(NUMBER_TREE, 6, random_state=0)))
    yield on(bent, ob.AdaptiveRegressor(ob.LeastSquares(), delta=0.1, lag=2))
    yield on(bent, ob.OnlineBoostRegressor(random_state=0, lag=3))


LOSSES: dict[Any, Callable[[], Stream]] = {
    "squared": prices,
    "absolute": prices,
    "huber": prices,
    "quantile": prices,
    "logistic": shares,
    "poisson": counts,
}
NUMBERS: list[Any] = [
    ob.LeastSquares(),
    ob.LeastSquares(0.99),
    ob.RegressionTree(),
    ob.RegressionTree(4, memory=64, leaf_prediction="linear", max_features=0.5, random_state=1),
    ob.OnlineGradientBoost(NUMBER_TREE, 6, random_state=0),
    ob.OnlineBoostRegressor(random_state=0),
]


def classes() -> Iterator[Case]:
    for model in CLASSES:
        yield on(five, model)
        yield on(three, model)
        yield on(five, model, ", weighted", weight=weights(1500))
        yield on(five, model, " | batches", ends=PIECES)
        yield on(three, model, " | rows", learn_rows)
    for effort in ("low", "normal"):
        yield on(five, ob.OnlineBoost(effort, random_state=0))
    yield on(three, ob.OnlineBoost(random_state=0))
    yield on(three, ob.OnlineBoost(random_state=0), ", explained", explain)


BBM = ob.OnlineBBM(TREE, 5, random_state=3)
MBBM = ob.OnlineMBBM(CLASS_TREE, 5, random_state=3)
OLM = ob.AdaBoostOLM(CLASS_TREE, 5, random_state=3)
SAFE = ob.SafeBoost(ob.Linear(), 6, random_state=3)
CLASSES: list[Any] = [
    MBBM,
    OLM,
    ob.AdaBoostOLM(CLASS_TREE, 5, expert="last", delivery="weight", random_state=3),
    ob.ClassTree(4),
    ob.OnlineBBM(TREE, 5, head="stack", random_state=3),
    SAFE,
    Restarting(BBM, delta=0.1),
    ob.StackedEnsemble([ob.Newton(), ob.OnlineBBM(ob.Tree(2), 3)], random_state=0),
]


def ensembles() -> Iterator[Case]:
    for effort in ("low", "normal", "high"):
        yield on(letters, ob.OnlineBoost(effort, random_state=0))
        yield on(letters, ob.OnlineBoost(effort, random_state=0), " | batches", ends=(1000, 1001))
    for model in (STACKED, NESTED, ADAPTIVE):
        yield on(two, model)
        yield on(gaps, model)
        yield on(turned, model)
        yield on(two, model, ", weighted", weight=weights(400))
        yield on(two, model, ", explained", explain)
        yield from otherwise(turned, model)
    for slots in (16, 128):  # fewer than features, and more
        costly = ob.Perceptron(bits=4), Restarting(ob.OnlineBBM(ob.Tree(2, max_slots=slots), 2))
        model = ob.StackedEnsemble(
            [ob.Linear(standardize=True), ob.Newton(), *costly], n_always_active=2, random_state=0
        )
        yield on(long_rows, model)
        yield from otherwise(long_rows, model, (90, 100, 192, 4000, 8500))
    model = ob.StackedEnsemble([ob.Linear(), ob.NaiveBayes(max_slots=16)], n_always_active=1, random_state=0)
    yield on(long_rows, model, ", tried again", rest_and_wake)


STACKED = ob.StackedEnsemble(
    [ob.Linear(standardize=True), ob.OnlineBBM(TREE, 5, head="stack"), ob.NaiveBayes()], random_state=1
)
INNER = ob.StackedEnsemble([ob.Linear(), ob.Newton(max_slots=8)])
NESTED = ob.StackedEnsemble(
    [INNER, ob.Perceptron(), ob.Adaptive(ob.OnlineBBM(ob.Tree(2), 3), delta=0.9)], random_state=2
)
ADAPTIVE = ob.Adaptive(BBM, delta=0.9)


def changes() -> Iterator[Case]:
    trees = ob.OnlineBBM(ob.Tree(4), 5, random_state=0)
    for model in (
        Restarting(trees),
        Restarting(trees, reset="learners", delta=0.1),
        Restarting(ob.SafeBoost(ob.Tree(4), 9, random_state=0), delta=0.1),
        Restarting(ob.NaiveBayes()),
        ob.Adaptive(trees),
        ob.Adaptive(trees, reset="learners", delta=0.1),
        ob.Adaptive(trees, reset="none"),
        ob.OnlineBoost("low", random_state=0),
    ):
        yield on(flipped, model)
        yield from otherwise(flipped, model, (500, 1501, 1502, 2000))


def options() -> Iterator[Case]:
    for chosen in ({"lag": 3}, {"class_weight": "balanced"}, {"lag": 3, "class_weight": "balanced"}):
        for of in (two, three):
            yield on(of, BBM.clone().set_params(**chosen))
            yield on(of, MBBM.clone().set_params(**chosen))
            yield on(of, ob.OnlineBoost("low", random_state=0, **chosen))
            model = ob.StackedEnsemble([ob.Linear(standardize=True), ob.NaiveBayes()], random_state=0, **chosen)
            yield on(of, model)
            yield from otherwise(of, model)
    yield on(two, BBM.clone().set_params(class_weight={1: 3.0, -1: 0.5}))
    yield on(three, ob.OnlineBoost("low", random_state=0, class_weight={"a": 1.0, "b": 0.5, "c": 4.0}))
    low, ol = ob.OnlineBoost("low", random_state=0), ob.AdaBoostOL(ob.Linear(), 5, random_state=3)
    for model in (ob.Linear(), BBM, ob.SafeBoost(TREE, 9, random_state=3), ol, low):
        yield on(two, model, ", weighted", weight=weights(400))
        yield on(two, model, ", explained", explain)
    many = ob.OnlineBBM(ob.Tree(4), 20, random_state=3)
    yield on(letters, many)
    for model, of in ((many, letters), (low, letters), (MBBM, five), (low, five), (NUMBERS[-1], prices)):
        yield on(of, model, " | two threads", train_by_two)


def late_labels() -> Iterator[Case]:
    for model, of in (
        (ob.Linear(), two),
        (ob.OnlineBBM(TREE, 5, head="stack", random_state=3), two),
        (BBM, three),
        (SAFE, three),
        (MBBM, three),
        (OLM, three),
        (Restarting(BBM, delta=0.9), turned),
        (ADAPTIVE, turned),
        (NESTED, turned),
        (NESTED, three),
        (ob.OnlineBoost("low", random_state=0), two),
        (ob.OnlineBoost(random_state=0, lag=2), three),
        (ob.AdaptiveRegressor(ob.LeastSquares(), delta=0.9), prices),
        *((model, prices) for model in NUMBERS),
    ):
        for votes in ("now", "then"):
            yield on(of, model, f", tickets, votes {votes}", ask_and_tell, votes=votes)
    yield on(three, BBM, ", tickets that expire", ask_and_tell, max_pending=30, max_age=40, on_expire=("label", "a"))


def single_rows() -> Iterator[Case]:
    def truth(k: int, x: dict[Any, Any], truth: bool) -> bool:
        return truth

    def later(k: int, x: dict[Any, Any], truth: bool) -> int:
        return k % 5 if k > 250 else int(truth)

    def number(k: int, x: dict[Any, Any], truth: bool) -> float:
        return float(x["size"] + 2 * truth)

    efforts = ob.OnlineBoost("low", random_state=0), ob.OnlineBoost(random_state=0)
    options = BBM.clone().set_params(lag=2, class_weight="balanced")
    for model in (ob.Linear(standardize=True), BBM, options, MBBM, ADAPTIVE, STACKED, *efforts):
        yield on(dicts, model, "", learn_dicts, label=truth)
        yield on(dicts, model, " of five classes", learn_dicts, label=later)
    for model in NUMBERS:
        yield on(dicts, model, "", learn_dicts, label=number)
    for model in (ob.Linear(), efforts[0]):
        yield on(dicts, model, " as frames", learn_frames)


def objects() -> Iterator[Case]:
    learners = GaussianNB(), SGDClassifier(loss="log_loss", random_state=0), ob.Copies(ob.Linear())
    for learner in learners:
        for kind in (ob.OnlineBBM, ob.AdaBoostOL, ob.SafeBoost):
            for of in (two, three):
                yield on(of, kind(learner, 4, random_state=3))
        yield on(two, ob.OnlineBBM(learner, 4, random_state=3), ", weighted", weight=weights(400))
    for learner in learners[:2]:
        for kind in (ob.OnlineMBBM, ob.AdaBoostOLM):
            for of in (two, three):
                yield on(of, kind(learner, 4, random_state=3))


# ---- comparison


def differences(before: Digests, after: Digests) -> list[str]:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    words = {(True, False): "gone", (False, True): "new", (True, True): ""}
    return [f"{name} {words[name in before, name in after]}".rstrip() for name in names]


def renamed(digests: Digests, pairs: Sequence[str]) -> Digests:
    """Digests made before, by the names of now."""
    for pattern, new in (pair.rsplit("=", 1) for pair in pairs):
        digests = {re.sub(pattern, new, name): value for name, value in digests.items()}
    return digests


def run(pattern: str) -> dict[str, Digests]:
    found: dict[str, Digests] = {}
    for name, case in cases():
        if re.search(pattern, name) and name not in found:
            start = time.perf_counter()
            try:
                found[name] = case()
            except Exception as problem:
                found[name] = {"error": f"{type(problem).__name__}: {problem}"}
                print(f"{name}: {found[name]['error']}", file=sys.stderr, flush=True)
            print(f"{time.perf_counter() - start:6.2f} s  {name}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="JSON file to write")
    parser.add_argument("--against", type=Path, help="JSON file of an earlier run")
    parser.add_argument("--only", default="", metavar="PATTERN", help="regular expression that is found in names")
    parser.add_argument("--renamed", nargs="*", default=[], metavar="OLD=NEW", help="new text for a regular expression")
    parser.add_argument("--but", default="(?!)", metavar="PATTERN", help="regular expression of what is not compared")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = run(options.only)
    if options.output is not None:
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    pairs = {}
    for name, mine in found.items():
        whole, _, way = name.partition(" | ")
        if way and whole in found:
            unsaid = {"before"} - mine.keys()
            pairs[f"{name}: not the same"] = {k: v for k, v in found[whole].items() if k not in unsaid}, mine
    if options.against is not None:
        before = {name: renamed(one, options.renamed) for name, one in json.loads(options.against.read_text()).items()}
        expected = [name for name in before if re.search(options.only, name)]
        pairs |= {name: (before.get(name, {}), found.get(name, {})) for name in dict.fromkeys([*expected, *found])}
    different = {name: differences(*pair) for name, pair in pairs.items()}
    wrong = {name: [one for one in entries if not re.search(options.but, one)] for name, entries in different.items()}
    wrong = {name: entries for name, entries in wrong.items() if entries}
    for name, entries in wrong.items():
        print(f"{name}: {', '.join(entries)}")
    counted = f"{len(found)} models, {sum(map(len, found.values())):,} digests, {len(wrong)} differ"
    print(f"{counted}: {Path(ob.__file__).parent}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
