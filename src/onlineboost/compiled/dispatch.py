"""Multiple dispatch in compiled code: functions chosen by the class of their first argument, at compile time.

The engine calls ``predict(committee, ...)``, ``round(booster, ...)`` and so on by these generic names. A learner or a
booster registers its own compiled function for its own state class. So every booster works with every committee at
native speed, and neither knows the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

from onlineboost.compiled.jit import inlined, njit
from onlineboost.errors import KernelError


def generic(stub: Callable[..., Any], inline: bool = False) -> Callable[..., Any]:
    """Make ``stub`` a generic function; ``register(stub, State, kernel)`` gives it a method."""
    kernels: dict[type, Any] = {}
    stub.kernels = kernels  # type: ignore[attr-defined]

    def kernel_of(state: Any) -> Any:
        kernel = kernels.get(getattr(state, "instance_class", None))  # type: ignore[arg-type]
        return kernel and types.Dispatcher(inlined(kernel) if inline else kernel)

    class Resolved(AbstractTemplate):  # type: ignore[misc]
        key = stub

        def generic(self, args: Any, kws: Any) -> Any:
            kernel = kernel_of(args[0])
            if kernel is None or args[0].instance_class not in _OWNERS:
                return kernel and kernel.get_call_type(self.context, args, kws)
            try:
                return kernel.get_call_type(self.context, tuple(map(types.unliteral, args)), kws)
            except TypingError as problem:
                raise _own_error(stub.__name__, args[0].instance_class, str(problem)) from None

    @lower_builtin(stub, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_function(kernel_of(signature.args[0]), signature)(builder, arguments)

    infer_global(stub, types.Function(Resolved))
    return stub


def inline(stub: Callable[..., Any]) -> Callable[..., Any]:
    """``generic``, for functions that one place calls: their methods are inlined."""
    return generic(stub, inline=True)


_PACKAGE = "onlineboost."
_OWNERS: dict[type, str] = {}  # names of the classes from outside the package, by the classes of their states


def own(state: type, owner: type) -> None:
    """Register the owner of a state, for errors in functions of custom boosters and learners."""
    if not owner.__module__.startswith(_PACKAGE):
        _OWNERS[state] = owner.__name__


def _own_error(function: str, state: type, problem: str) -> KernelError:
    """The error for a function that cannot be compiled: its class, its name, the field or Numba's reason, the line."""
    problem = re.sub(r"\x1b\[[0-9;]*m", "", problem)
    field = re.search(rf"Unknown attribute '(\w+)' of type {re.escape(state.__name__)}\b", problem)
    lines = (line.strip() for line in problem.splitlines())
    reason = next(
        (line for line in lines if line and not line.startswith("Failed in nopython")), "it cannot be compiled"
    )
    if field is not None:
        fields = ", ".join(getattr(state, "_fields", ()))
        reason = f"{state.__name__} has no field {field[1]!r}; its fields are {fields}"
    places = re.findall(r'File "([^"]+)", line (\d+)', problem)
    where = f" ({places[0][0].rpartition('/')[2]}, line {places[0][1]})" if places else ""
    return KernelError(f"{_OWNERS[state]}: {function}: {reason}{where}")


def register(function: Callable[..., Any], state: type, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``kernel`` the method of ``function`` for states of this class. Returns the compiled kernel."""
    ours = "_nrt" in getattr(kernel, "targetoptions", {})  # else plain Python, or compiled with other options
    compiled = kernel if ours else njit(getattr(kernel, "py_func", kernel))
    known = function.kernels.setdefault(state, compiled)  # type: ignore[attr-defined]
    if known.py_func is not compiled.py_func:  # type: ignore[attr-defined]
        name = function.__name__
        raise TypeError(f"{state.__name__} already has another {name}: give your class its own state class")
    return compiled


@generic
def predict(committee: Any, *arguments: Any) -> None:
    """``predict(committee, work, batch, r, h)``: phase 1. Write every learner's real-valued vote on row r into h."""


@generic
def learn(committee: Any, *arguments: Any) -> None:
    """``learn(committee, work, batch, r, h, t, p)``: phase 3. Learner i learns row r with target t[i] and weight p[i].

    ``work`` and ``h`` are as ``predict`` left them for the same row. Of the rows that follow, only the indices may be
    read, to prefetch their weights.
    """


@generic
def meet(committee: Any, *arguments: Any) -> None:
    """``meet(committee, work, batch, r)``: note the values of row r, which is new and will be learned."""


@generic
def carry(committee: Any, *arguments: Any) -> None:
    """``carry(committee, work, slot, old_zero)``: carry the counts of a slot over to its new bins."""


@generic
def full(committee: Any, *arguments: Any) -> Any:
    """``full(committee)``: whether the committee needs more room before the next row."""


@generic
def forget(committee: Any, *arguments: Any) -> None:
    """``forget(committee, i)``: reset learner i to its initial state."""


@generic
def watch(watch: Any, *arguments: Any) -> None:
    """``watch(watch, committee, votes, answer, y, example)``: test votes and answer for drift, and reset learners."""


@inline
def lead(booster: Any, *arguments: Any) -> None:
    """``lead(booster, h, e, first, carry)``: write the inputs of ``vote`` into e: mostly the votes h themselves."""


@inline
def round(booster: Any, *arguments: Any) -> None:
    """``round(booster, h, y, p, t, first, carry)``: phase 2. Write the weight for each learner into p.

    ``h``, ``p`` and ``t`` are those of some learners, of which ``first`` is the number of the first. ``t`` holds their
    targets, all y before. ``carry`` holds numbers that are handed from learner to learner: the number of the round, and
    others that are 0 before the first learner.
    """


@inline
def vote(booster: Any, *arguments: Any) -> Any:
    """``vote(booster, e)``: the score of the whole committee; the answer is its sign."""


@inline
def settle(booster: Any, *arguments: Any) -> None:
    """``settle(booster, e, y)``: update the state of the vote by the label; after the last learner."""


@generic
def answer(head: Any, *arguments: Any) -> Any:
    """``answer(head, score, h)``: the final score, from the score of ``vote`` and the learners' real votes h."""


@generic
def correct(head: Any, *arguments: Any) -> None:
    """``correct(head, answer, h, y, weight)``: the head learns from the label y."""


@generic
def first(booster: Any, *arguments: Any) -> Any:
    """``first(booster, n)``: the state of a booster of the first n learners, in the same memory.

    Only for algorithms in which a learner's weight depends only on the learners before it.
    """


@generic
def pull(committee: Any, *arguments: Any) -> None:
    """``pull(committee, work, batch, r, h, pulls)``: sums of the terms of each vote on row r, as ``Pulls`` describes.

    The terms are those of ``explain``, and a constant. ``work`` and ``h`` are as ``predict`` left them.
    """


@generic
def explain(committee: Any, *arguments: Any) -> Any:
    """``explain(committee, work, batch, r, found, k)``: terms of features on row r, summed over all learners.

    They are written from place k of ``found`` on; returns where they end. A learner behind transforms writes one for
    each entry of the row, in its order.
    """


@generic
def explain_classes(committee: Any, *arguments: Any) -> None:
    """``explain_classes(committee, work, batch, r, h, found)``: ``explain`` of learners that vote for classes.

    Contributions to the score of each class are added to ``found.sums``; ``work`` and ``h`` are as ``predict`` left
    them.
    """


@generic
def credit(booster: Any, *arguments: Any) -> None:
    """``credit(booster, h, e, slopes, leading)``: by how much the score of ``vote`` follows each vote.

    The rest of the score, beyond slopes times votes, belongs to no learner. Where learners vote for classes, slopes[i,
    c] says how the score of class c follows a vote of learner i for it.
    """


@generic
def trust(head: Any, *arguments: Any) -> Any:
    """``trust(head, h, slopes)``: as ``credit``, by real votes; False if the head answers by the booster's score."""
