from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import reference
from pairs import everything

import onlineboost
from onlineboost import FTRLProximal, OnlineBoost, ParameterError
from onlineboost.learners import ftrl
from onlineboost.storage.validity import InvalidStateError


def rows(n: int = 1500) -> tuple[list[dict[str, float]], np.ndarray, np.ndarray]:
    """Few and many values, zeros, an id, and a label that a pair of words tells."""
    draws = np.random.default_rng(0)
    found, labels = [], []
    for k in range(n):
        a, b = draws.integers(0, 5, 2).tolist()
        row = {"size": float(np.float32(draws.normal())), "hour": float(k // 60 % 6), f"a={a}": 1.0, f"b={b}": 1.0}
        row |= {f"id={k}": 1.0, "loss": float(draws.integers(-9, 10)), f"seen={k % 700}": 2.0}
        if k % 50 == 7:
            row |= {f"word{j}": 1.0 for j in range(6)}  # longer than rows with pairs
        if k > 900:
            row["size"] += 40.0  # beyond all edges
        found.append({name: x for name, x in row.items() if x})
        labels.append((a + b) % 2 ^ (draws.random() < 0.1))
    return found, np.array(labels), draws.choice([0.0, 1.0, 2.5], n)


def slow_answers(most_places: int, settling: float) -> list[float]:
    """Those of the slow one: slots by the order in which features are learned, rows in the order of ids."""
    from onlineboost.data.hashing import feature_id

    X, y, weight = rows()
    slots: dict[int, int] = {}
    twin = reference.FTRL(reference.Tokens(max_row=9, most_places=most_places), settling=settling)
    answers = []
    for row, label, w in zip(X, y.tolist(), weight.tolist(), strict=True):
        by_id = dict(sorted((feature_id(name), x) for name, x in row.items()))
        known = {slots.setdefault(id, len(slots)) if w else slots.get(id): x for id, x in by_id.items()}
        known.pop(None, None)
        answers.append(twin.progressive(known, 1.0 if label else -1.0, w))
    return answers


@pytest.mark.parametrize(("most_places", "settling"), [(1 << 20, 0.0), (1024, 0.0), (1 << 20, 0.2)])
def test_answers_are_those_of_the_slow_one(most_places, settling, monkeypatch):
    monkeypatch.setattr(ftrl, "_MAX_PLACES", most_places)
    X, y, weight = rows()
    model = FTRLProximal(max_row=9, settling=settling)
    answers = model.progressive_fit(X, y, weight, classes=[0, 1])
    np.testing.assert_allclose(answers, slow_answers(most_places, settling), rtol=0, atol=2e-6)
    used, places = int(model._fitted.root.transforms[0].clock[0]), model._fitted.root.transforms[0].n_places
    assert (used, places) == (1024, 1024) if most_places == 1024 else used < places


@pytest.mark.parametrize("step", [1, 37])
def test_batches_files_and_copies_do_not_matter(step, tmp_path):
    X, y, weight = rows(700)
    whole, parts, pieces = FTRLProximal(max_row=9), FTRLProximal(max_row=9), []
    scores = whole.progressive_fit(X, y, weight, classes=[0, 1])
    for start in range(0, len(y), step):
        some = slice(start, start + step)
        pieces.append(parts.progressive_fit(X[some], y[some], weight[some], classes=[0, 1]))
        if start // step % (5 if step > 1 else 100) == 2:
            parts.decision_function(X[:50])  # changes nothing
            parts.save(tmp_path / "model")
            parts = pickle.loads(pickle.dumps(copy.deepcopy(onlineboost.load(tmp_path / "model"))))
    assert np.array_equal(np.concatenate(pieces), scores)
    assert everything(parts) == everything(whole)


def test_what_comes_once_takes_no_place():
    X, y, _ = rows(700)
    ids = [{f"id={k}": 1.0} for k in range(20_000)]
    model = FTRLProximal().fit(ids, np.arange(20_000) % 2)
    assert model._fitted.root.transforms[0].clock[0] < 2_000  # by chance: a bit of the filter is that of another
    assert FTRLProximal(max_row=9).fit(X, y)._fitted.root.n_slots > 500


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(ftrl, "_BYTES", 500)
    X, y, _ = rows()
    tokens = FTRLProximal(max_row=9, max_mb=1).fit(X, y)._fitted.root.transforms[0]
    assert tokens.n_places * 512 <= 1 << 20 < 2 * tokens.n_places * 512
    more = FTRLProximal(max_row=9, max_mb=4).fit(X * 4, np.tile(y, 4))._fitted.root.transforms[0]
    assert more.clock[0] > tokens.n_places


def test_pairs_are_named_and_explained():
    X, y, _ = rows()
    model = FTRLProximal(max_row=9).fit(X, y)
    names = [name for name, _, _ in model._fitted.root.strengths(model._fitted.columns.names)]
    assert "a=1 and b=2" in names[:40] or "b=2 and a=1" in names[:40]
    assert any(name.startswith("size in (") for name in names)
    reasons = model.explain(X[:3])
    assert len(reasons) == 3


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("table", lambda state: state.table.__setitem__(slice(None), 0)),
        ("filter", lambda state: state.filter.__setitem__(0, 0xFFFF_FFFF_FFFF_FFFF)),
        ("number", lambda state: state.number.__setitem__(slice(None), 1)),
        ("dense", lambda state: state.dense.__setitem__(0, -1)),
        ("clock", lambda state: state.clock.__setitem__(2, 10)),
    ],
)
def test_a_state_that_learning_cannot_lead_to_is_refused(field, change):
    X, y, _ = rows(300)
    state = FTRLProximal(max_row=9).fit(X, y)._fitted.root.transforms[0]
    state.check()
    change(state)
    with pytest.raises(InvalidStateError) as problem:
        state.check()
    assert problem.value.field == field


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"noise": -1}, "noise"), ({"learning_rate": 0}, "learning_rate"), ({"max_row": 0}, "max_row")],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        FTRLProximal(**parameters).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("given", [{"max_mb": -1}, {"pairs": "yes"}])
def test_wrong_parameters_of_the_default(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        OnlineBoost(**given).fit(np.eye(2), [0, 1])
