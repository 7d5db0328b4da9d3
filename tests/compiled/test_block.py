"""Calls that keep their arguments, and calls that other calls run."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

import numpy as np
import pytest

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call, invoke, is_there, unpack
from onlineboost.compiled.jit import njit

vote = dispatch.vote


class Inner(NamedTuple):
    call: Call | None
    cell: Any


@njit
def double(block):
    numbers, cell = unpack(block)
    cell[0] = 2 * numbers.sum()


@njit
def outer(block):
    found, inner = unpack(block)
    for i in range(found.size):
        inner.cell[0] = -1.0
        if is_there(inner.call):
            invoke(inner.call)
        found[i] = inner.cell[0]


def test_compiled_code_runs_a_call():
    numbers, cell, found = np.arange(4.0), np.zeros(1), np.zeros(3)
    call = Call(outer, found, Inner(Call(double, numbers, cell), cell))
    gc.collect()  # the inner call lives as long as the outer one
    call()
    assert found.tolist() == [12, 12, 12]
    numbers[0] = 1.0
    call.on(found := np.zeros(2))
    call()
    assert found.tolist() == [14, 14]


def test_a_call_that_is_not_there_is_not_run():
    found = np.zeros(1)
    Call(outer, found, Inner(None, np.zeros(1)))()
    assert found.tolist() == [-1]


def test_a_function_is_not_compiled_again_for_another_call():
    found, cell = np.zeros(1), np.zeros(1)
    call = Call(outer, found, Inner(None, cell))
    for inner, expected in ((Call(double, np.ones(3), cell), 6), (Call(double, np.ones((2, 2)), cell), 8), (None, -1)):
        call.on(found, Inner(inner, cell))
        call()
        assert found[0] == expected
    with pytest.raises(TypeError, match="of another type"):
        call.on(np.zeros((1, 1)))


@njit
def voted(block):
    state, h, cell = unpack(block)
    cell[0] = vote(state, h)


def new_state(factor: float) -> type:
    class State(NamedTuple):
        level: float

    dispatch.register(dispatch.vote, State, lambda state, h: factor * h[0])
    return State


def test_classes_of_the_same_name_are_not_confused():
    cell = np.zeros(1)
    for factor in (2.0, 3.0):
        Call(voted, new_state(factor)(1.0), np.ones(1), cell)()
        assert cell[0] == factor
