"""Functions of compiled code that are resolved by the class of their first argument, when the caller is compiled.

The engine calls ``predict(committee, ...)``, ``round(booster, ...)`` and so on by these generic names. A learner or a
booster registers its own compiled function for its own state class. That is how every booster meets every committee
at native speed without either knowing the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from onlineboost.compiled.jit import njit

_OPTIONS = {"error_model": "numpy", "_nrt": False, "forceinline": True}  # the call costs nothing, whatever the kernel


def generic(stub: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``stub`` a generic function; ``register(stub, State, kernel)`` gives it a method."""
    kernels: dict[type, Any] = {}
    stub.kernels = kernels  # type: ignore[attr-defined]

    @overload(stub, strict=False, jit_options=_OPTIONS)  # type: ignore[untyped-decorator]
    def resolve(state: Any, *arguments: Any) -> Callable[..., Any] | None:
        kernel = kernels.get(getattr(state, "instance_class", None))  # type: ignore[arg-type]
        if kernel is None:
            return None
        # A call with ``*arguments`` would pack them into a tuple and count references to every array in it, which
        # takes longer than the kernel. So the call is written out with the kernel's own argument names.
        names = ", ".join(inspect.signature(kernel.py_func).parameters)
        call: Callable[..., Any] = eval(f"lambda {names}: _kernel_({names})", {"_kernel_": kernel})
        return call

    return stub


def register(function: Callable[..., Any], state: type, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """From now on ``function(state, ...)`` is ``kernel(state, ...)`` for states of this class. Returns it compiled."""
    ours = "_nrt" in getattr(kernel, "targetoptions", {})  # else it is plain Python, or compiled by other options
    compiled = kernel if ours else njit(getattr(kernel, "py_func", kernel))
    known = function.kernels.setdefault(state, compiled)  # type: ignore[attr-defined]
    if known.py_func is not compiled.py_func:  # type: ignore[attr-defined]
        name = function.__name__
        raise TypeError(f"{state.__name__} has another {name} already: give your class a state class of its own")
    return compiled


@generic
def workspace(committee: Any, *arguments: Any) -> Any:
    """``workspace(committee, longest_row)``: scratch memory for one run; a committee is never its own scratch."""


@generic
def predict(committee: Any, *arguments: Any) -> None:
    """``predict(committee, work, batch, r, h)``: phase 1. Write every learner's real-valued vote on row r into h."""


@generic
def learn(committee: Any, *arguments: Any) -> None:
    """``learn(committee, work, batch, r, h, y, p)``: phase 3. Learner i learns row r with label y and weight p[i].

    ``work`` and ``h`` are as ``predict`` left them for the same row. The rows that follow may be looked at, to have
    their weights fetched from memory in time, but not used.
    """


@generic
def forget(committee: Any, *arguments: Any) -> None:
    """``forget(committee, i)``: learner i has learnt nothing."""


@generic
def watch(watch: Any, *arguments: Any) -> None:
    """``watch(watch, committee, votes, answer, y, example)``: look at votes and answer; learners may have to forget."""


@generic
def vote(booster: Any, *arguments: Any) -> Any:
    """``vote(booster, h)``: the score of the whole committee; the answer is its sign."""


@generic
def round(booster: Any, *arguments: Any) -> None:
    """``round(booster, h, y, p)``: phase 2. Write the weight for each learner into p, and learn from (h, y)."""


@generic
def answer(head: Any, *arguments: Any) -> Any:
    """``answer(head, score, h)``: what is answered, if ``vote`` says ``score`` and the learners' real votes are h."""


@generic
def correct(head: Any, *arguments: Any) -> None:
    """``correct(head, answer, h, y, weight)``: the head learns how its answer should have been."""


@generic
def first(booster: Any, *arguments: Any) -> Any:
    """``first(booster, n)``: the state that a booster of the first n learners alone would have, in the same memory.

    Only for algorithms in which a learner's weight depends on those before it alone.
    """
