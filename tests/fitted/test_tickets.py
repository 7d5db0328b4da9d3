"""Labels that come later: a ticket told at once is ``learn_one``, and a wrong ticket changes nothing."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import threading
from time import process_time

import numpy as np
import pytest
from model_files import forge
from pairs import CLASS_VOTES, L, everything, make

import onlineboost
from onlineboost import (
    AdaptiveRegressor,
    DataError,
    LeastSquares,
    Linear,
    ModelFileError,
    OnlineBBM,
    OnlineBoost,
    OnlineBoostRegressor,
    ParameterError,
    Pending,
    SafeBoost,
    TicketError,
    Tree,
)
from onlineboost.data.batch import one_row
from onlineboost.data.hashing import feature_id
from onlineboost.engine.node import PastAnswers
from onlineboost.ensembles.resting import LENGTH
from onlineboost.evaluate import progressive_error
from onlineboost.evaluate.progressive import Delayed
from onlineboost.fitted.asked import HEAD, SIGNATURE
from onlineboost.readers import open_stream

N = 260


@pytest.fixture(scope="module")
def dicts():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(N, 6)).round(3)
    y = np.where((X[:, 0] > 0.2) ^ (X[:, 1] > 0), 1, -1).tolist()
    rows = [{f"f{j}": value for j, value in enumerate(row) if j != 5 or k > 100} for k, row in enumerate(X.tolist())]
    return [*zip(rows, y, strict=True)]


@pytest.mark.parametrize(
    ("booster", "learner", "votes"),
    [
        *((booster, learner, "now") for booster, learner in L),
        *((booster, learner, "then") for booster, learner in L if learner == "linear" or booster == "bbm"),
    ],
)
def test_a_ticket_told_at_once_is_learn_one(booster, learner, votes, dicts):
    """Bit for bit, from the first row on, through replays, pauses, late features and models that start over."""
    at_once, told = make(booster, learner), make(booster, learner)
    told.pending = Pending(votes=votes)
    for x, y in dicts:
        at_once.learn_one(x, y)
        told.tell(told.ask(x), y)
    assert everything(told) == everything(at_once)
    assert len(told.pending) == 0


def test_tickets_are_told_in_any_order_and_the_answer_is_that_of_then(dicts):
    model = OnlineBBM(Tree(3), 5, random_state=0)
    for x, y in dicts[:150]:
        model.learn_one(x, y)
    tickets = [model.ask(x) for x, _ in dicts[150:200]]
    answers = [model.predict_one(x) for x, _ in dicts[150:200]]
    chances = [model.predict_proba_one(x)[1] for x, _ in dicts[150:200]]
    assert [ticket.prediction for ticket in tickets] == answers
    assert [ticket.probability for ticket in tickets] == chances
    assert len(model.pending) == 50 and [*model.pending] == [*range(50)]
    order = np.random.default_rng(0).permutation(50).tolist()
    twin = copy.deepcopy(model)
    for k in order:
        model.tell(tickets[k], dicts[150 + k][1])
    twin.tell([tickets[k] for k in order], [dicts[150 + k][1] for k in order])
    assert everything(model) == everything(twin)
    assert model.n_seen_ == 200 and len(model.pending) == len(twin.pending) == 0


def test_the_weights_come_from_the_votes_given_then_if_asked_for(dicts):
    """A learner whose votes have changed since gets the weight that its old votes lead to; else, of its new ones."""
    model = OnlineBBM(Linear(), 3, gamma=0.3)
    model.pending = Pending(votes="then")
    x = {"a": 1.0}
    model.tell(model.ask(x), 1)
    ticket = model.ask(x)  # all vote +1
    assert model.decision_one(x) == 3
    for _ in range(30):
        model.learn_one(x, -1)
    assert model.decision_one(x) == -3
    then, now = copy.deepcopy(model), copy.deepcopy(model)
    then.tell(ticket, 1)
    now.learn_one(x, 1)
    given = then.weight_sums_ - model.weight_sums_, now.weight_sums_ - model.weight_sums_
    table = model._fitted.root.booster
    right = [table.table[table.start[i] + 1 - i] if table.low[i] <= 1 - i else 0.0 for i in range(3)]
    assert given[0] == pytest.approx(right)
    assert not np.allclose(*given)
    usual = copy.deepcopy(model)
    usual._fitted.pending = Pending()
    ticket = usual.ask(x)
    for _ in range(3):
        usual.learn_one(x, -1)
    twin, before = copy.deepcopy(usual), usual.weight_sums_
    usual.tell(ticket, 1)
    twin.learn_one(x, 1)
    assert np.array_equal(usual.weight_sums_ - before, twin.weight_sums_ - before)


def test_tables_are_asked_too(stream):
    X, y = stream
    asked, learned = OnlineBBM(Tree(3), 5, random_state=0), OnlineBBM(Tree(3), 5, random_state=0)
    for model in (asked, learned):
        model.partial_fit(X[:200], y[:200])
    tickets = asked.ask(X[200:230])
    assert [ticket.prediction for ticket in tickets] == learned.predict(X[200:230]).tolist()
    asked.tell(tickets[:1], y[200:201])
    learned.partial_fit(X[200:201], y[200:201])
    assert everything(asked) == everything(learned)
    with pytest.raises(DataError, match="there are 2 tickets and 1 labels: expected one for each"):
        asked.tell(tickets[1:3], [1])


def test_bytes_of_a_ticket_can_be_kept_and_told_to_a_copy(dicts, tmp_path):
    model = OnlineBoost("low", random_state=0)
    for x, y in dicts[:200]:
        model.learn_one(x, y)
    model.save(tmp_path / "before")
    kept = [bytes(model.ask(x)) for x, _ in dicts[200:210]]
    model.save(tmp_path / "after")
    waiting, older = onlineboost.load(tmp_path / "after"), onlineboost.load(tmp_path / "before")
    assert len(waiting.pending) == 10 and bytes(waiting.pending[3]) == kept[3]
    for data, (_, y) in zip(kept, dicts[200:210], strict=True):
        model.tell(data, y)
        waiting.tell(data, y)
    assert everything(waiting) == everything(model)
    with pytest.raises(TicketError, match="another model"):  # it had given no tickets yet
        older.tell(kept[0], 1)


def test_a_model_from_before_a_ticket_takes_it_once(dicts, tmp_path):
    """A service that restarts from an older file: it does not know the ticket, but that it is its own."""
    model = OnlineBBM(n_estimators=3)
    for x, y in dicts[:50]:
        model.learn_one(x, y)
    model.tell(model.ask(dicts[0][0]), 1)
    model.save(tmp_path / "m")
    ticket = bytes(model.ask(dicts[60][0]))
    older = onlineboost.load(tmp_path / "m")
    older.tell(ticket, 1)
    model.tell(ticket, 1)
    assert everything(older) == everything(model)
    with pytest.raises(TicketError, match="labeled before, or has expired"):
        older.tell(ticket, 1)
    older.save(tmp_path / "m")
    with pytest.raises(TicketError, match="labeled before, or has expired"):
        onlineboost.load(tmp_path / "m").tell(ticket, 1)


WRONG = {
    "told twice": (lambda own, other, data: own.tell(data, 1) or data, "was labeled before, or has expired"),
    "another model": (lambda own, other, data: bytes(other.ask({"f0": 1.0})), "issued by another model"),
    "changed": (lambda own, other, data: data[:40] + bytes([data[40] ^ 1]) + data[41:], "changed or damaged"),
    "cut": (lambda own, other, data: data[:-1], "changed or damaged"),
    "a few bytes": (lambda own, other, data: b"abc", "too short"),
    "a number": (lambda own, other, data: 7, "a ticket of ask, or its bytes"),
    "a string": (lambda own, other, data: "ticket", "a ticket of ask, or its bytes"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_ticket_changes_nothing(kind, dicts):
    own, other = (OnlineBBM(n_estimators=3) for _ in range(2))
    for model in (own, other):
        for x, y in dicts[:20]:
            model.learn_one(x, y)
    data = bytes(own.ask(dicts[30][0]))
    make_wrong, message = WRONG[kind]
    wrong = make_wrong(own, other, data)
    before, waiting = everything(own), len(own.pending)
    with pytest.raises(TicketError, match=message):
        own.tell(wrong, 1)
    with pytest.raises(TicketError):
        own.tell([own.ask(dicts[31][0]), wrong], [1, 1])  # the first is right, and is not told either
    assert everything(own) == before and len(own.pending) == waiting + 1


def test_a_wrong_label_or_weight_changes_nothing(dicts):
    model = OnlineBBM(n_estimators=3)
    for x, y in dicts[:20]:
        model.learn_one(x, y)
    ticket, before = model.ask(dicts[30][0]), everything(model)
    for label, weight, message in (
        ("five", 1.0, "the labels are 'five'"),
        (None, 1.0, "label is None"),
        (1, -1.0, "the weight is"),
    ):
        with pytest.raises(DataError, match=message):
            model.tell(ticket, label, weight)
    assert everything(model) == before and len(model.pending) == 1
    model.tell(ticket, 1, 2.5)


def test_tickets_expire_by_number_and_by_age(dicts):
    rows = [x for x, _ in dicts]
    model = OnlineBBM(n_estimators=3)
    model.learn_one(*dicts[0])
    model.learn_one(*dicts[1])
    model.pending = Pending(max_pending=5)
    tickets = [model.ask(x) for x in rows[:8]]
    assert [*model.pending] == [3, 4, 5, 6, 7]
    with pytest.raises(TicketError, match="ticket 2 was labeled before, or has expired"):
        model.tell(tickets[2], 1)
    with pytest.raises(TicketError, match="ticket 2 is not pending"):
        model.pending[2]
    model.tell(tickets[3], 1)
    seen = model.n_seen_
    timed = OnlineBBM(n_estimators=3)
    timed.pending = Pending(max_age=10.0, on_expire=("label", -1))
    for k in range(20):
        timed.ask(rows[k], time=2.0 * k)
    assert [*timed.pending] == [14, 15, 16, 17, 18, 19]
    assert timed.n_seen_ == 14 and timed.classes_.tolist() == [-1]  # those that expired were learned with the label
    assert seen == 3


def test_the_oldest_ticket_is_found_at_once_after_many_have_expired():
    pending, row, said = Pending(), one_row([1], [1.0]), PastAnswers(np.empty((1, 0), np.float32), np.zeros((1, 1)))
    _, data = pending.give(row, said, [], None)
    for number in range(200_000):
        pending.waiting[number] = data

    def seconds() -> float:
        began = process_time()
        for _ in range(200):
            assert pending.due(None) == []
        return process_time() - began

    before = seconds()
    pending.max_pending = 50_000
    assert len(pending.due(None)) == 150_000
    assert seconds() < 20 * before + 0.01  # in a dict, all that were removed are passed over each time


def test_tickets_of_other_copies_are_remembered_up_to_a_bound(dicts, tmp_path):
    model = OnlineBBM(n_estimators=3)
    model.pending = Pending(max_pending=3)
    for x, y in dicts[:50]:
        model.learn_one(x, y)
    model.ask(dicts[0][0])
    model.save(tmp_path / "m")
    other = onlineboost.load(tmp_path / "m")
    tickets = [bytes(model.ask(x)) for x, _ in dicts[50:60]]
    for ticket in tickets:
        other.tell(ticket, 1)
    assert len(other.pending.early) == 3
    other.save(tmp_path / "m")
    for copied in (other, onlineboost.load(tmp_path / "m")):
        for ticket in tickets[-3:]:
            with pytest.raises(TicketError, match="labeled before, or has expired"):
                copied.tell(ticket, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_pending": 0}, "max_pending=0"),
        ({"max_age": -1}, "max_age=-1"),
        ({"max_age": "1"}, "max_age='1'"),
        ({"on_expire": "negative"}, "'drop', or \\('label', y\\)"),
        ({"on_expire": ("label", None)}, "'drop', or"),
    ],
)
def test_wrong_bounds_of_tickets(given, message):
    with pytest.raises(ParameterError, match=message):
        Pending(**given)


def test_bounds_are_not_changed_while_tickets_wait(dicts):
    model = OnlineBBM(n_estimators=3)
    model.ask(dicts[0][0])
    with pytest.raises(onlineboost.ConflictError, match="Tickets are pending"):
        model.pending = Pending(max_pending=5)
    with pytest.raises(DataError, match="expected onlineboost.Pending"):
        model.pending = 5


def test_copies_have_tickets_of_their_own(dicts):
    model = SafeBoost(n_estimators=3)
    ticket = model.ask(dicts[0][0])
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.tell(ticket, 1)
        assert len(twin.pending) == 0 and len(model.pending) == 1


def test_objects_of_other_libraries_have_no_tickets(dicts):
    from river.naive_bayes import GaussianNB

    with pytest.raises(ParameterError, match="for tickets"):
        OnlineBBM(GaussianNB(), 3).ask(dicts[0][0])


HOSTILE = {
    "sizes": lambda arrays, facts: arrays.update({"model.pending.sizes": arrays["model.pending.sizes"] + 1}),
    "order": lambda arrays, facts: facts["parts"]["model"]["pending"].update(next=1),
    "signature": lambda arrays, facts: arrays["model.pending.tickets"].__setitem__(70, 255),
    "secret": lambda arrays, facts: facts["parts"]["model"]["pending"].update(secret="00"),
    "settings": lambda arrays, facts: facts["parts"]["model"]["pending"].update(max_pending="many"),
    "early": lambda arrays, facts: facts["parts"]["model"]["pending"].update(early=[1]),
    "missing": lambda arrays, facts: facts["parts"]["model"]["pending"].pop("secret"),
    "long secret": lambda arrays, facts: (without(arrays), facts["parts"]["model"]["pending"].update(secret="00" * 99)),
    "sizes that wrap": lambda arrays, facts: arrays.update(
        {"model.pending.sizes": np.array([1 << 62, 1 << 62, 1 << 62, arrays["model.pending.tickets"].size + (1 << 62)])}
    ),
}


def without(arrays):
    arrays["model.pending.sizes"], arrays["model.pending.tickets"] = np.empty(0, np.int64), np.empty(0, np.uint8)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_with_tickets_that_make_no_sense(kind, dicts, tmp_path):
    model = OnlineBBM(n_estimators=3)
    for x, y in dicts[:20]:
        model.learn_one(x, y)
    for x, _ in dicts[:3]:
        model.ask(x)
    model.save(tmp_path / "m")
    forge(tmp_path / "m", tmp_path / "bad", HOSTILE[kind])
    with pytest.raises(ModelFileError):
        onlineboost.load(tmp_path / "bad")


# ---- tickets signed by the author of a file


def changed(data: bytes, secret: bytes, change) -> bytes:
    """A ticket with another contents and a right signature: ``change`` gets its head and its arrays by name."""
    names, at = ("model", "number", "time", "run", "entries", "votes", "scores", "text"), HEAD.size
    one = dict(zip(names, HEAD.unpack_from(data), strict=True))
    for name, n, kind in (
        ("ids", one["entries"], "i4"),
        ("values", one["entries"], "f4"),
        ("votes", one["votes"], "f4"),
    ):
        one[name] = np.frombuffer(data, kind, n, at).copy()
        at += one[name].nbytes
    one["scores"] = np.frombuffer(data, "f8", one["scores"], at).copy()
    one["text"] = data[at + one["scores"].nbytes : -SIGNATURE]
    change(one)
    sizes = one["ids"].size, one["votes"].size, one["scores"].size, len(one["text"])
    arrays = (
        np.asarray(one[name], kind).tobytes()
        for name, kind in zip(("ids", "values", "votes", "scores"), ("i4", "f4", "f4", "f8"), strict=True)
    )
    body = HEAD.pack(one["model"], one["number"], one["time"], one["run"], *sizes) + b"".join(arrays) + one["text"]
    return body + hashlib.blake2b(body, digest_size=SIGNATURE, key=secret).digest()


def five(model, votes="then"):
    """A model of five classes with one ticket that waits."""
    rng = np.random.default_rng(2)
    numbers = isinstance(model, onlineboost.OnlineRegressor)
    for k in range(60):
        model.learn_one(
            {"a": rng.normal(), "b": rng.normal(), "c": "xyz"[k % 3]}, float(1 + k % 5) if numbers else f"k{k % 5}"
        )
    model._fitted.pending = Pending(votes=votes)
    model.ask({"a": 1.0, "b": -1.0, "new": 2.0})
    return model


def put(name, place, number):
    return lambda one: one[name].__setitem__(place, number)


def put_text(value):
    return lambda one: one.update(text=value if isinstance(value, bytes) else json.dumps(value).encode())


SIGNED = {
    "a vote beyond all classes": put("votes", 0, 3e8),
    "a vote for class 5 of 0 to 4": put("votes", 2, 5),
    "a vote for class -1": put("votes", 0, -1),
    "a vote for half a class": put("votes", 0, 0.5),
    "a vote that is NaN": put("votes", 0, np.nan),
    "an answer that is NaN": put("scores", 0, np.nan),
    "an answer without end": put("scores", 0, -np.inf),
    "an answer beyond all": put("scores", 0, 1e99),
    "a value beyond 1e18": put("values", 0, 1e30),
    "a value without end": put("values", 0, np.inf),
    "an id below 0": put("ids", 0, -1),
    "a time without end": lambda one: one.update(time=np.inf),
    "a run below 0": lambda one: one.update(run=-1),
    "another name": put_text([[feature_id("new") ^ 1, "new"]]),
    "a name that is a number": put_text([[17, 17]]),
    "no pairs": put_text([[1]]),
    "no list": put_text({"a": 1}),
    "an id of thousands of digits": put_text(b"[[" + b"9" * 5000 + b',"a"]]'),
    "bytes that are no text": put_text(b"\xff\xfe"),
    "names nested deep": put_text(b"[" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("kind", SIGNED)
@pytest.mark.parametrize("booster", CLASS_VOTES)
def test_a_signed_ticket_with_wrong_numbers_is_refused(booster, kind, tmp_path):
    """Whoever writes a file can sign: the numbers are checked when it is loaded, and when bytes are told."""
    model = five(make(booster, "class-tree"))
    good = model.pending[0]
    bad, before = changed(good, model.pending.secret, SIGNED[kind]), everything(model)
    assert changed(good, model.pending.secret, lambda one: None) == good
    outside = changed(good, model.pending.secret, lambda one: (one.update(run=5), SIGNED[kind](one)))
    with pytest.raises(TicketError, match="cannot have given"):
        model.tell(outside, "k0")
    assert everything(model) == before
    model.save(tmp_path / "m")

    def plant(arrays, facts):
        arrays["model.pending.sizes"] = np.array([len(bad)])
        arrays["model.pending.tickets"] = np.frombuffer(bad, np.uint8)

    forge(tmp_path / "m", tmp_path / "bad", plant)
    with pytest.raises(ModelFileError, match="cannot have given"):
        onlineboost.load(tmp_path / "bad")


@pytest.mark.parametrize(
    "make_model",
    [
        lambda: make("bbm", "linear"),
        lambda: make("stacked", "tree"),
        lambda: OnlineBoost("low", random_state=0),
        lambda: OnlineBoostRegressor(random_state=0),
        lambda: AdaptiveRegressor(LeastSquares(), delta=0.9),
    ],
)
def test_votes_and_answers_are_finite_in_every_kind_of_model(make_model):
    model = five(make_model())
    good, secret = model.pending[0], model.pending.secret
    votes, scores = model._fitted.root.n_answers
    for name, n in (("votes", votes), ("scores", scores)):
        for k in range(n):
            for number in (np.nan, np.inf):
                with pytest.raises(TicketError, match="votes or answers"):
                    model.tell(changed(good, secret, put(name, k, number)), 1.0)
    model.tell(good, 1.0 if isinstance(model, onlineboost.OnlineRegressor) else "k1")


def test_parts_that_have_said_nothing_are_nan(tmp_path):
    """Those of a young regressor, whose first rows are held back, and those that rest."""
    young = OnlineBoostRegressor(random_state=0)
    for k in range(5):
        young.learn_one({"a": float(k)}, float(k))
    young._fitted.pending = Pending(votes="then")
    young.ask({"a": 2.0})
    resting = five(make("stacked", "tree"))
    node = resting._fitted.root
    node.rest.clock[:] = 1, 60, 60 + LENGTH
    node.replace()  # programs of the parts that were awake
    assert node.n_resting == 2
    resting.ask({"a": 2.0})
    for model in (young, resting):
        node, number = model._fitted.root, max(model.pending)
        asked = model.pending.read(model.pending[number], node, None)
        assert np.isfinite(asked.answers.scores[0, : node.width]).all() and np.isnan(asked.answers.scores).any()
        model.save(tmp_path / "m")
        twin = onlineboost.load(tmp_path / "m")
        for one in (model, twin):
            one.tell(one.pending[number], 1.0 if model is young else "k1")
        assert model.n_seen_ == twin.n_seen_ == (6 if model is young else 61)


def test_too_many_features_to_cross_are_refused_in_a_ticket():
    model = make("bbm", "crossed")
    model.learn_one({"a": 1.0}, 1)
    model.ask({"a": 1.0})
    wide = changed(
        model.pending[0],
        model.pending.secret,
        lambda one: one.update(ids=np.arange(50_000), values=np.ones(50_000)),
    )
    with pytest.raises(TicketError, match="a number of features"):
        model.tell(wide, 1)
    with pytest.raises(DataError, match="too many to cross all pairs"):
        model.ask({"a": 1.0, "list": [1.0] * 5_000})


def test_an_answer_beyond_all_numbers_gives_no_ticket(dicts):
    model = OnlineBBM(Linear(), 3, head="stack")
    model.learn_one(*dicts[0])
    model._fitted.root.head.weights[:] = np.nan
    with pytest.raises(DataError, match="not a finite number"):
        model.ask(dicts[0][0])
    assert len(model.pending) == 0


STRANGE = {
    "a time of 400 digits": lambda m, t: m.ask({"a": 1.0}, time=10**400),
    "a time of 5000 digits": lambda m, t: m.ask({"a": 1.0}, time=-(10**5000)),
    "a complex time": lambda m, t: m.ask({"a": 1.0}, time=1j),
    "no tickets, one label": lambda m, t: m.tell([], 1.0),
    "no tickets, no label": lambda m, t: m.tell([], None),
    "a list of tickets, one label": lambda m, t: m.tell([t], 1),
    "a list of tickets, a word": lambda m, t: m.tell([t, t], "ab"),
    "a list within a list": lambda m, t: m.tell([[t]], [1]),
    "a target of 400 digits": lambda m, t: m.tell(t, 10**400 if isinstance(m, onlineboost.OnlineRegressor) else None),
    "nothing": lambda m, t: m.tell(None, 1),
    "a number that is a list": lambda m, t: m.pending[[]],
    "a number of 5000 digits": lambda m, t: m.pending[10**5000],
    "x that is an object": lambda m, t: m.ask(object()),
    "x with a name of 5000 digits": lambda m, t: m.ask({10**5000: 1.0}),
    "x with a value of 400 digits": lambda m, t: m.ask({"a": 10**400}),
    "an age without end": lambda m, t: Pending(max_age=float("inf")),
    "an age of 400 digits": lambda m, t: Pending(max_age=10**400),
    "a label for those expired that is an array": lambda m, t: Pending(on_expire=np.zeros(2)),
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("kind_of_model", ["classes", "numbers"])
def test_strange_times_labels_and_tickets_are_errors_of_ours(kind_of_model, kind):
    model = OnlineBBM(n_estimators=3) if kind_of_model == "classes" else onlineboost.RegressionTree(3)
    for k in range(20):
        model.learn_one({"a": float(k)}, k % 2)
    ticket, before = model.ask({"a": 1.0}), everything(model) if kind_of_model == "classes" else None
    with pytest.raises((DataError, ParameterError, TicketError)):
        STRANGE[kind](model, ticket)
    assert kind_of_model == "numbers" or everything(model) == before
    model.tell(ticket, 1)


# ---- delay in evaluation


def test_no_delay_is_the_usual_evaluation(stream):
    X, y = stream
    model = OnlineBBM(Tree(3), 5, random_state=0)
    assert progressive_error(model, X, y, delay=0) == progressive_error(model, X, y)
    assert progressive_error(model, X, y, delay=50) != progressive_error(model, X, y)
    with pytest.raises(ParameterError, match="delay=-1"):
        progressive_error(model, X, y, delay=-1)


def test_a_delay_by_times_is_that_of_the_column(dicts):
    """Rows come at times 0, 3, 6, ...; a label that is 10 late is there when three further rows have been asked."""
    rows = [(x | {"time": 3.0 * k}, y) for k, (x, y) in enumerate(dicts)]
    by_time, by_rows = (Delayed(OnlineBBM(Tree(3), 5, random_state=0), *given) for given in ((10, "time"), (3,)))
    scores = [
        np.concatenate([late.learn(page, squeeze=False) for page in open_stream(rows)]) for late in (by_time, by_rows)
    ]
    assert np.array_equal(*scores)
    assert by_time.model.n_seen_ == by_rows.model.n_seen_ - 1  # told when the fourth row comes, and after the third
    by_time.tell_all()
    assert by_time.model.n_seen_ == N
    with pytest.raises(DataError, match="no value of 'when'"):
        Delayed(OnlineBBM(), 1, "when").learn(next(open_stream(rows)))


def test_the_command_simulates_late_labels(tmp_path, capsys):
    from commands import run

    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{int(a > b)}" for a, b in rng.normal(size=(400, 2))]
    (tmp_path / "d.csv").write_text("a,b,label\n" + "\n".join(lines))
    options = (tmp_path / "d.csv", "-a", "bbm", "-n", 3, "--json")
    errors = {}
    for delay in (None, 0, 100):
        out, _ = run(capsys, "train", *options, *(() if delay is None else ("--delay", delay)))
        found = json.loads(out)
        errors[delay] = found["error"]
        assert found["examples"] == 400
    assert errors[None] == errors[0] < errors[100]
    _, err = run(capsys, "train", *options, "--delay", 5, "--checkpoint-every", 10, "-o", tmp_path / "m", code=2)
    assert "leave out --checkpoint-every" in err
    _, err = run(capsys, "train", *options, "--delay-column", "a", code=2)
    assert "--delay-column needs --delay" in err


def test_a_ticket_told_by_many_threads_is_learned_once(dicts):
    model = OnlineBBM(n_estimators=3)
    for x, y in dicts[:50]:
        model.learn_one(x, y)
    for k in range(30):
        ticket, problems = model.ask(dicts[k][0]), []

        def tell(ticket=ticket, problems=problems):
            try:
                model.tell(ticket, 1)
            except TicketError as problem:
                problems.append(problem)

        threads = [threading.Thread(target=tell) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(problems) == 3
    assert model.n_seen_ == 80 and len(model.pending) == 0


def test_tickets_of_copies_are_told_apart(dicts, tmp_path):
    """A copy gives tickets of the same numbers."""
    model = OnlineBBM(n_estimators=3)
    for x, y in dicts[:50]:
        model.learn_one(x, y)
    told = model.ask(dicts[0][0])
    model.tell(told, 1)
    model.save(tmp_path / "m")
    for twin in (copy.deepcopy(model), onlineboost.load(tmp_path / "m")):
        theirs, mine = model.ask(dicts[1][0]), twin.ask(dicts[2][0])
        assert theirs.number == mine.number or twin.pending is not model.pending
        twin.tell(theirs, 1)
        twin.tell(mine, 1)
        for ticket in (theirs, mine, told):
            with pytest.raises(TicketError, match="labeled before"):
                twin.tell(ticket, 1)


def test_times_and_labels_that_make_no_sense(dicts):
    model = OnlineBBM(n_estimators=3)
    for x, y in dicts[:50]:
        model.learn_one(x, y)
    for time in (float("inf"), float("nan"), "now"):
        with pytest.raises(DataError, match="the time is"):
            model.ask(dicts[0][0], time=time)
    with pytest.raises(DataError, match="the labels are 'no'"):
        model.pending = Pending(max_pending=2, on_expire=("label", "no"))
    assert len(model.pending) == 0


def test_fit_keeps_the_bounds_of_tickets(stream):
    model = OnlineBBM(n_estimators=3)
    model.pending = Pending(max_pending=7, max_age=3)
    model.fit(*stream)
    assert (model.pending.max_pending, model.pending.max_age) == (7, 3)


def test_a_row_without_a_time_is_an_error(dicts):
    rows = [(x | {"time": None if k == 100 else 1.0 + k}, y) for k, (x, y) in enumerate(dicts)]
    late = Delayed(OnlineBBM(n_estimators=3), 5, "time")
    with pytest.raises(DataError, match="no value of 'time'"):
        list(map(late.learn, open_stream(rows)))


def test_a_label_of_expired_tickets_beyond_the_classes_allowed_is_refused_at_once():
    model = Linear(max_classes=2).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(DataError, match="more than 2"):
        model.pending = Pending(max_pending=3, on_expire=("label", 2))
