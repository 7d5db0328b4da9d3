"""More than two classes: one node for each against the rest, from the row where the class is first met."""

from __future__ import annotations

import copy
import pickle
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.metrics import log_loss

import onlineboost
from onlineboost import (
    AdaBoostOL,
    AdaBoostOLM,
    Adaptive,
    ClassTree,
    DataError,
    Linear,
    NaiveBayes,
    OnlineBBM,
    OnlineBoost,
    OnlineMBBM,
    ParameterError,
    Pending,
    SafeBoost,
    StackedEnsemble,
    Tree,
)
from onlineboost.ensembles.restarting import Restarting
from onlineboost.evaluate import progressive_error
from onlineboost.readers import open_stream

MODELS = {
    "linear": lambda: OnlineBBM(Linear(standardize=True), 5, random_state=0),
    "trees": lambda: OnlineBBM(Tree(3, replay=64), 4, head="stack", random_state=0),
    "safe": lambda: SafeBoost(Tree(2, replay=64), 6, random_state=0),
    "experts": lambda: AdaBoostOL(NaiveBayes(), 3, random_state=0),
    "alone": lambda: Linear(),
    "votes": lambda: OnlineMBBM(ClassTree(3, replay=64), 5, random_state=0),
    "votes-adaptive": lambda: AdaBoostOLM(ClassTree(3, replay=64), 4, expert="random", random_state=0),
    "crosses": lambda: OnlineBBM(Linear(bins=4, crosses=[("0", "1")], bits=8), 3, random_state=0),
    "restarting": lambda: Restarting(OnlineBBM(Tree(2, replay=64), 3, random_state=0), delta=0.5),
    "stacked": lambda: StackedEnsemble(
        [Linear(standardize=True), OnlineBBM(Tree(3, replay=64), 4), NaiveBayes()], n_always_active=1, random_state=0
    ),
    "adaptive": lambda: Adaptive(OnlineBBM(Tree(2, replay=64), 3, random_state=0)),
}


@pytest.fixture(scope="module")
def rows():
    """Four classes by two features; the fourth comes late."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 6)).astype(np.float32)
    X[:300, 4] = 0  # a feature that comes late
    y = np.array(["b", "d", "a", "c"])[(X[:, 0] > 0) + 2 * (X[:, 1] > 0.2)]
    late = (y == "c") & (np.arange(900) < 400)
    y[late] = "a"
    return X, y


def bits(model, tmp_path):
    model.save(tmp_path / "bits")
    return (tmp_path / "bits").read_bytes()


@pytest.mark.parametrize("kind", MODELS)
def test_batches_do_not_matter(kind, rows, tmp_path):
    """Nor do saving, copying, threads and single rows; and classes begin where they are first met, in ``fit`` too."""
    X, y = rows
    whole = MODELS[kind]()
    scores = whole.progressive_fit(X, y)
    assert scores.shape == (900, 4) and np.isneginf(scores[:100, 3]).all() and np.isfinite(scores[500:]).all()
    fitted = MODELS[kind]().fit(X, y)
    parts, pieces = MODELS[kind](), []
    ends = [0, 3, 10, 130, 395, 470, 471, 700, 900]
    for step, (start, stop) in enumerate(pairwise(ends)):
        if step == 1:
            for row, label in zip(X[start:stop].tolist(), y[start:stop].tolist(), strict=True):
                parts.learn_one(dict(enumerate(row)), label)
            continue
        if step == 5 and "n_jobs" in parts.get_params():
            parts.set_params(n_jobs=2)
        pieces.append(parts.progressive_fit(X[start:stop], y[start:stop]))
        parts.save(tmp_path / "model")
        parts = pickle.loads(pickle.dumps(copy.deepcopy(onlineboost.load(tmp_path / "model"))))
        parts.predict(X[:20])  # changes nothing
    assert bits(whole, tmp_path) == bits(fitted, tmp_path) == bits(parts, tmp_path)
    late = pieces[-1]
    assert np.array_equal(late, scores[700:])
    one = np.array([parts.decision_one(dict(enumerate(row))) for row in X[:30].tolist()])
    assert np.array_equal(one, whole.decision_function(X[:30]))
    assert [parts.predict_one(dict(enumerate(row))) for row in X[:30].tolist()] == whole.predict(X[:30]).tolist()


@pytest.mark.parametrize("kind", MODELS)
def test_answers(kind, rows):
    X, y = rows
    model = MODELS[kind]().fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    chances, scores = model.predict_proba(X), model.decision_function(X)
    assert chances.shape == scores.shape == (900, 4)
    assert np.allclose(chances.sum(axis=1), 1) and (chances >= 0).all()
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    known = model.predict_proba_one(dict(enumerate(X[7].tolist())))
    assert [known[label] for label in model.classes_] == pytest.approx(chances[7].tolist())
    error = progressive_error(MODELS[kind](), X, y)
    assert error < 0.5 and error < 1 - max(np.mean(y == label) for label in "abcd")


def by_hand(model, X, places, rows_of_birth):
    """One against the rest, literally: a model for each class; the first two are one until the third comes.

    Returns the log odds of all classes for each row.
    """
    seed = model.get_params()["random_state"]
    third = rows_of_birth[2]
    scores = np.full((len(X), len(rows_of_birth)), -np.inf)
    for k, birth in enumerate(rows_of_birth):
        sign = 1 if k else -1
        labels = np.where(places == k, 1, -1) * sign
        single = model.clone().set_params(random_state=seed + k if k > 1 else seed)
        start = birth if k > 1 else 0
        scores[start:, k] = sign * single.progressive_fit(X[start:], labels[start:], classes=[-1, 1])
        if k < 2:  # the same until the third class came
            assert set(places[:third]) == {0, 1}
        else:
            scores[birth, k] = -np.inf  # who answers the first row of a class does not know it
    return scores


@pytest.mark.parametrize("kind", ["linear", "alone", "votes", "stacked"])
def test_the_first_row_of_a_class_is_answered_without_it(kind, rows):
    X, _ = rows
    y = np.arange(12) // 2 + 100  # each class twice
    scores = MODELS[kind]().progressive_fit(X[:12], y)
    assert np.isneginf(scores[np.arange(4, 12, 2), np.arange(2, 6)]).all()
    assert np.isfinite(scores[np.arange(5, 12, 2), np.arange(2, 6)]).all()
    assert progressive_error(MODELS[kind](), X[:12], np.arange(12)) >= 10 / 12


def test_one_against_the_rest_by_hand(rows):
    X, y = rows
    X = X.copy()
    X[:300, 4] = 0.5  # or the models that begin late would meet the features in another order
    model = MODELS["trees"]()
    scores = model.progressive_fit(X, y)
    places = model._fitted.target.encode(y)
    births = [int(np.argmax(places == k)) for k in range(4)]
    expected = by_hand(MODELS["trees"](), X, places, births)
    third = births[2]
    assert np.array_equal(scores[third:], expected[third:])
    assert np.array_equal(scores[:third, 1] > 0, expected[:third, 1] > 0)


@pytest.mark.parametrize("learner", [NaiveBayes(), Linear("logistic", standardize=True)], ids=repr)
def test_one_committee_by_hand(learner, rows):
    """Learners alone are one committee; each is the learner of its class against the rest, bit for bit."""
    X, y = rows
    model = learner.clone().partial_fit(X, y, classes=["a", "b", "c", "d"])
    assert model._fitted.root.settings.n_learners == 4 and not model._fitted.root.parts
    odds, mistakes = model.decision_function(X), model._fitted.root.record.totals[1]
    assert 0 < mistakes < 450
    for column, label in enumerate("abcd"):
        k = model._fitted.target.labels.index(label)
        sign = 1 if k else -1
        single = learner.clone().partial_fit(X, np.where(y == label, 1, -1) * sign, classes=[-1, 1])
        slope, offset = single._fitted.root.head.platt
        assert np.array_equal(odds[:, column], sign * (slope * single.decision_function(X) + offset))
        assert model._fitted.root.record.edges[k] == single._fitted.root.record.edges[0]


def test_stack_of_classes_by_hand(rows):
    X, y = rows
    parts = [Linear(standardize=True), OnlineBBM(Tree(3, replay=64), 4, random_state=1), NaiveBayes()]
    ensemble, names = StackedEnsemble(parts, n_always_active=1, random_state=0), ["a", "b", "c", "d"]
    scores = np.stack([part.clone().progressive_fit(X, y, classes=names) for part in parts], axis=1)
    answers = ensemble.progressive_fit(X, y, classes=names)
    every, light = reference.ClassesStack(3, chances=True), reference.ClassesStack(1, chances=False)
    places = ensemble._fitted.target.encode(y).astype(int)
    for x, place, answer in zip(np.clip(scores, -6, 6), places.tolist(), answers, strict=True):
        lightly = 0 < light.loss <= every.loss
        assert answer == pytest.approx(light.odds(x[:1]) if lightly else every.odds(x), abs=1e-6)
        every.learn(x, place)
        light.learn(x[:1], place)
    assert every.w[3:].any()


def test_the_default_has_a_deeper_part():
    """In the place of one that two classes have; a fourth class leaves it as it is."""
    model = OnlineBoost(random_state=0)
    two = model._new_node(0)
    three = model._with_classes(two, 3)
    four = model._with_classes(three, 4)
    depths = [[getattr(part.leaves[0].learner, "max_depth", 0) for part in one.parts] for one in (two, three, four)]
    assert depths == [[0, 0, 0, 0, 0, 8, deep, 0, 0, 0] for deep in (5, 10, 10)]
    assert four.parts[6].parts[:3] == three.parts[6].parts and four.stack is three.stack
    assert len({id(part.leaves[0].slots) for part in four.parts[5:7]}) == 1


def test_two_labels_are_as_before_until_the_third(rows, tmp_path):
    X, y = rows
    two = np.where(y < "c", "a", "c")
    assert bits(MODELS["trees"]().fit(X, two), tmp_path) == bits(
        MODELS["trees"]().partial_fit(X, two, classes=["a", "c"]), tmp_path
    )
    weight = np.where(y == "c", 0.0, 1.0)
    skipped = MODELS["trees"]().fit(X, y, weight)  # a class whose rows have no weight begins nowhere
    chances = skipped.predict_proba(X[:5])
    one = skipped.predict_proba_one(dict(enumerate(X[0].tolist())))
    assert [one[label] for label in "abcd"] == pytest.approx(chances[0].tolist())
    first = [*dict.fromkeys(y.tolist())][:2]
    binary = MODELS["trees"]().fit(X, y, np.isin(y, first).astype(float))
    assert binary.decision_function(X).shape == (900, 4) and set(binary.predict(X)) == set(first)
    chances, known = binary.predict_proba(X), np.isin(binary.classes_, first)
    assert np.array_equal(chances[:, known].sum(axis=1), np.ones(900)) and not chances[:, ~known].any()
    chances = skipped.predict_proba(X[:5])
    assert skipped.classes_[2] == "c" and not chances[:, 2].any() and np.allclose(chances.sum(axis=1), 1)


def test_classes_that_are_named_begin_at_once(rows, tmp_path):
    X, y = rows
    model = MODELS["linear"]().partial_fit(X[:5], ["b", "b", "b", "a", "b"], classes=["a", "b", "c", "d"])
    assert model.predict_proba(X[:5]).shape == (5, 4)
    model.partial_fit(X[5:], y[5:])
    other = MODELS["linear"]().fit(X, y)
    assert bits(model, tmp_path) != bits(other, tmp_path)
    with pytest.raises(DataError, match="classes are 'a', 'b': expected 'b', 'a', 'c', 'd'"):
        model.partial_fit(X[:5], y[:5], classes=["a", "b"])


def test_probabilities_are_calibrated(rows):
    """The temperature is learned: better than none, on rows to come."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)).astype(np.float32)
    y = (X[:, :3] + 0.7 * rng.normal(size=(4000, 3))).argmax(axis=1)
    model = OnlineBBM(Linear(), 11).fit(X[:3000], y[:3000])
    scores = model.decision_function(X[3000:])
    plain = np.exp(scores - scores.max(axis=1, keepdims=True))
    plain /= plain.sum(axis=1, keepdims=True)
    assert log_loss(y[3000:], model.predict_proba(X[3000:])) < log_loss(y[3000:], plain)


@pytest.mark.parametrize("votes", ["now", "then"])
def test_tickets_over_classes(votes, rows):
    """At once, a ticket told is a row learned; a label may be that of a new class, also for tickets given before it."""
    X, y = rows
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    model, other = MODELS["stacked"](), MODELS["stacked"]()
    model.pending = Pending(votes=votes)
    for x, label in zip(dicts[:300], y[:300].tolist(), strict=True):
        model.tell(model.ask(x), label)
        other.learn_one(x, label)
    assert np.array_equal(model.decision_function(X[:50]), other.decision_function(X[:50]))
    tickets = [model.ask(x) for x in dicts[300:340]]
    assert {ticket.prediction for ticket in tickets} <= {"a", "b", "d"}
    assert all(1 / 3 < ticket.probability <= 1 for ticket in tickets)
    model.tell(tickets[5], "e")
    model.tell(tickets[:5], y[300:305].tolist())
    assert model.classes_.tolist() == ["a", "b", "d", "e"] and len(model.pending) == 34


def test_alarms_of_classes(rows):
    X, y = rows
    told = []
    model = Restarting(OnlineBBM(Tree(2, replay=64), 3, random_state=0), delta=0.5, on_drift=told.append)
    turned = np.where(np.arange(900) > 600, np.roll(["a", "b", "c", "d"], 1)[np.searchsorted(list("abcd"), y)], y)
    model.fit(X, turned)
    assert told and model.n_alarms_ == len(model.alarms_) == len(told)


# ---- found by a review


@pytest.mark.parametrize("kind", MODELS)
def test_one_at_a_time_is_fit(kind, rows, tmp_path):
    """A class that comes after the calls for single rows were kept: they once went on with the old parts."""
    X, y = rows
    order = np.argsort(np.isin(y, ["c", "d"]), kind="stable")  # the third and fourth class late
    X, y = np.concatenate([X[order][100:500], X[order][-60:]]), np.concatenate([y[order][100:500], y[order][-60:]])
    whole = MODELS[kind]().fit(X, y)
    single = MODELS[kind]().partial_fit(X[:40], y[:40])
    for row, label in zip(X[single.n_seen_ :].tolist(), y[single.n_seen_ :].tolist(), strict=True):
        x = dict(enumerate(row))
        single.predict_one(x)
        single.learn_one(x, label)
    assert np.array_equal(single.decision_function(X), whole.decision_function(X))
    assert bits(single, tmp_path) == bits(whole, tmp_path)


def test_threads_predict_while_classes_come(rows):
    X, _ = rows
    model, problems, done = Linear(), [], threading.Event()
    model.learn_one({0: 1.0}, 0)

    def predict() -> None:
        while not done.is_set():
            for call in (model.predict, model.predict_proba, model.decision_function):
                try:
                    call(X[:3])
                except DataError:
                    pass
                except Exception as problem:
                    problems.append(problem)
            for call in (model.predict_one, model.predict_proba_one, model.decision_one):
                try:
                    call({0: 1.0, 1: 2.0})
                except Exception as problem:
                    problems.append(problem)

    thread = threading.Thread(target=predict)
    thread.start()
    for label in range(60):
        for _ in range(5):
            model.learn_one({0: 1.0, 1: float(label)}, label)
    done.set()
    thread.join()
    assert not problems


def test_places_of_no_label_are_refused(rows):
    X, _ = rows
    page = next(open_stream(X[:20], y=np.arange(20) % 2))
    for place in (2.0, np.inf, 1e9):
        model = Linear()
        model.learn(page.batch)
        wrong = page.batch._replace(y=np.where(np.arange(20) == 7, place, page.batch.y))
        with pytest.raises(DataError, match="row 7 of the batch has the place"):
            model.learn(wrong)
        assert model.n_seen_ == 20 and model.predict(X[:3]).shape == (3,)


def test_what_belongs_to_one_booster_says_so(rows):
    X, y = rows
    for model in (MODELS["restarting"](), MODELS["experts"]()):
        assert isinstance(model.fit(X, y).verdict(), str)
    with pytest.raises(ParameterError, match="each class has its own booster"):
        _ = model.alphas_
    assert "3 learners" in str(model.report())
    with pytest.raises(ParameterError, match="each class has its own model"):
        _ = MODELS["restarting"]().fit(X, y).estimator_


def test_past_alarms_are_counted_once(rows):
    X, _ = rows
    two = np.where(X[:, 0] > 0, "a", "b")
    two[450:] = np.where(two[450:] == "a", "b", "a")
    model = MODELS["restarting"]().fit(X, two)
    before = model.alarms_
    model.partial_fit(X[:1], ["c"])
    assert before and model.alarms_ == before


def test_a_score_of_0_is_positive_in_any_batch():
    whole, parts = Linear(), Linear()
    scores = whole.progressive_fit(np.eye(3), [0, 1, 2])
    first = parts.progressive_fit(np.eye(3)[:2], [0, 1])
    assert whole._fitted.target.decode(scores)[0] == parts._fitted.target.decode(first[:, None])[0] == 1


def test_tickets_together_are_tickets_one_by_one(rows):
    X, _ = rows
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    models = [MODELS["trees"]() for _ in range(2)]
    for k, model in enumerate(models):
        model.pending = Pending(votes="then")
        for x, label in zip(dicts[:80], np.where(X[:80, 0] > 0, "a", "b").tolist(), strict=True):
            model.learn_one(x, label)
        early = [model.ask(x) for x in dicts[80:85]]
        model.learn_one(dicts[90], "c")
        late = [model.ask(x) for x in dicts[100:105]]
        tickets, labels = [*early[:3], *late, *early[3:]], ["a", "b", "c", "a", "d", "b", "a", "c", "b", "d"]
        if k:
            model.tell(tickets, labels)
        else:
            for ticket, label in zip(tickets, labels, strict=True):
                model.tell(ticket, label)
    assert np.array_equal(*(model.decision_function(X) for model in models))


def test_classes_named_with_a_frame(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    model = Linear().fit(open_stream(frame, y=np.where(y < "b", "a", "b")))
    model.partial_fit(frame[:5], ["a"] * 5, classes=["a", "b", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"] and model.predict_proba(frame[:2]).shape == (2, 3)


def test_young_votes_for_classes_are_saved(rows, tmp_path):
    """While the first rows are kept to be replayed."""
    X, y = rows
    model = OnlineMBBM(ClassTree(3, replay=64), 5, random_state=0).fit(X[:40], y[:40])
    assert model.classes_.size > 2
    model.save(tmp_path / "model")
    again = onlineboost.load(tmp_path / "model").partial_fit(X[40:], y[40:])
    assert np.array_equal(again.scores(X), model.partial_fit(X[40:], y[40:]).scores(X))
