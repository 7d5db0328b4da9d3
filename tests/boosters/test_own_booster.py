"""Boosters and learners of one's own that do not keep to the contract: errors that name the class and the function."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import event

from onlineboost import Booster, Learner, OnlineBBM, Perceptron, StackedEnsemble
from onlineboost.errors import KernelError

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] > 0


def vote(state, h):
    return h.sum()


def own(round, vote=vote) -> type:
    """A booster with this round, and with a parameter that it has in its state."""

    class State(NamedTuple):
        level: float

    @dataclass(eq=False, repr=False)
    class Mine(Booster, state=State, vote=vote, round=round):
        estimator: Any = None
        n_estimators: int = 5
        level: float = 0.5
        _: KW_ONLY
        delivery: str = "auto"
        votes: str = "hard"
        random_state: Any = None

        def initial_state(self, n_learners, sampled, seed):
            return State(float(self.level))

    return Mine


def test_weights_that_are_none_are_refused_before_anything_is_learned():
    def round(state, h, y, p):
        for i in range(h.size):
            p[i] = state.level if h[i] != y else 1.0

    kind = own(round)
    for level, said in ((2.0, "2"), (-0.5, "-0.5"), (np.nan, "nan")):
        model = kind(level=level)
        wrong = rf"Mine: round: p\[\d\] is {said} after round \d: expected a weight from 0 to 1 for each learner"
        for refused in (model, StackedEnsemble([OnlineBBM(n_estimators=3), model])):
            with pytest.raises(KernelError, match=wrong):
                refused.fit(X, Y)
            assert refused._fitted is None
    kind(level=1.0)._check_kernels()


def test_a_weight_that_is_not_written_is_refused():
    def round(state, h, y, p):
        for i in range(h.size - 1):
            p[i] = 1.0

    with pytest.raises(KernelError, match=r"Mine: round: p\[4\] is nan after round 1"):
        own(round)().learn_one({"a": 1.0}, True)


class Compiled(event.Listener):
    """The names of functions that are compiled."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event) -> None:
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event) -> None:
        pass


def test_a_further_booster_is_compiled_by_itself():
    """Neither the loop over its learners nor that of its head is compiled again."""
    OnlineBBM(Perceptron(), n_estimators=5).fit(X, Y)

    def round(state, h, y, p):
        p[:] = state.level

    def scan(state, h, y, p, t, first, carry):
        p[:] = state.level

    for mine in (own(round), own(scan)):
        with event.install_listener("numba:compile", Compiled()) as compiled:
            mine(Perceptron()).fit(X, Y).predict(X)
        assert "take_step" in compiled.names and not {"advance", "finish"} & {*compiled.names}


def test_a_field_that_the_state_does_not_have_is_named():
    def round(state, h, y, p):
        for i in range(h.size):
            p[i] = state.lvl

    def other(state, h):
        return h.sum() * state.lever

    def good(state, h, y, p):
        for i in range(h.size):
            p[i] = state.level

    where = r"\(test_own_booster\.py, line \d+\)"
    with pytest.raises(KernelError, match=f"Mine: round: State has no field 'lvl'; its fields are level {where}"):
        own(round)().fit(X, Y)
    with pytest.raises(KernelError, match=f"Mine: vote: State has no field 'lever'; its fields are level {where}"):
        own(good, other)().fit(X, Y)


def test_what_numba_cannot_compile_has_its_reason():
    def round(state, h, y, p):
        for i in range(h.size):
            p[i] = h.nothing

    with pytest.raises(KernelError, match=r"Mine: round: .*Unknown attribute 'nothing'"):
        own(round)().fit(X, Y)


class PlainState(NamedTuple):
    weights: np.ndarray


def workspace(state, longest):
    return PlainState(np.zeros(1))


def predict(state, work, batch, r, h):
    h[:] = state.weigths[0]


def learn(state, work, batch, r, h, t, p):
    pass


@dataclass(eq=False, repr=False)
class Plain(Learner, state=PlainState, workspace=workspace, predict=predict, learn=learn):
    prefers = "weight"

    def committee(self, n_learners, n_features):
        return PlainState(np.zeros((n_features, n_learners), np.float32))

    def grow(self, committee, n_features):
        return self.committee(committee.weights.shape[1], n_features)

    def size(self, committee):
        return committee.weights.shape[1]


@pytest.mark.parametrize("model", [Plain(), OnlineBBM(Plain(), 3)], ids=["alone", "boosted"])
def test_a_learner_with_a_wrong_field_is_named(model):
    with pytest.raises(KernelError, match="Plain: predict: PlainState has no field 'weigths'; its fields are weights"):
        model.fit(X, Y)
