"""Compiler options, and the notice that something is compiled."""

from __future__ import annotations

import functools
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba import types
from numba.core import event

from onlineboost.compiled.cache import Cache, say
from onlineboost.compiled.parts import Compiler

# Casts within compiled code, where a float32 is not a float64 and whole numbers have a width and a sign.
u8: Any = np.uint8
u32: Any = np.uint32
i32: Any = np.int32
i64: Any = np.int64
u64: Any = np.uint64
f32: Any = np.float32

_PACKAGE = "onlineboost."

P = ParamSpec("P")
R = TypeVar("R")


if numba.config.DISABLE_JIT:
    raise ImportError("onlineboost needs Numba's compiler: unset NUMBA_DISABLE_JIT")


def njit(function: Callable[P, R], *, cache: bool = True) -> Callable[P, R]:
    """Compile with the project's options: strict IEEE arithmetic, no GIL, divisions without a Python exception.

    On disk are functions that Python calls, with all that they call.
    """
    compiled = _compiled(function)
    part = functools.cache(lambda: _compiled(function, part=True))
    # Compiled code takes in the part: machine code is made of functions that Python calls, and of no others.
    compiled.get_call_template = lambda *types: part().get_call_template(*types)
    compiled.get_overload = lambda signature: part().get_overload(signature)
    named = function.__closure__ is None and "<" not in function.__qualname__  # a module has no other of this name
    if cache and named and function.__module__.startswith(_PACKAGE):
        compiled._cache = Cache(function)  # noqa: SLF001  Numba has no public way to choose it
    return compiled  # type: ignore[no-any-return]


def _compiled(function: Any, part: bool = False, counting: bool = True, inline: bool = False) -> Any:
    options = {"error_model": "numpy", "nogil": True, "_nrt": counting, "forceinline": inline}
    made = numba.njit(pipeline_class=Compiler, no_cpython_wrapper=part, no_cfunc_wrapper=True, **options)(function)
    template_of = made.get_call_template

    def get_call_template(given: Any, named: Any) -> Any:
        """One for all values of a type: Numba would compile the function for a constant, and again without."""
        return template_of(
            tuple(map(types.unliteral, given)), {name: types.unliteral(kind) for name, kind in named.items()}
        )

    made.get_call_template = get_call_template
    return made


def hot(function: Callable[P, R]) -> Callable[P, R]:
    """``njit`` for code that runs several times a round: always inlined, no reference counting, must not make arrays.

    Passing the arrays of two states by value is a hundred words on the stack, and counting references is two atomic
    additions for each of them: together this takes as long as the arithmetic of a round.
    """
    return _compiled(function, part=True, counting=False, inline=True)  # type: ignore[no-any-return]


@functools.cache
def inlined(compiled: Any) -> Any:
    """A compiled function, for the one place that calls it: always inlined there."""
    counting = compiled.targetoptions["_nrt"]
    return _compiled(compiled.py_func, part=True, counting=counting, inline=True)


def lean(function: Callable[P, R]) -> Callable[P, R]:
    """``njit`` for code called from ``hot`` code now and then: not inlined, no reference counting."""
    return _compiled(function, part=True, counting=False)  # type: ignore[no-any-return]


_SLOW = tuple(f"{_PACKAGE}{room}" for room in ("engine", "ensembles", "fitted", "loop", "readers", "transforms"))


class _CompileNotice(event.Listener):  # type: ignore[misc]
    """Prints that compilation began and how long it took; silent if the code is in the cache."""

    def __init__(self) -> None:
        self.depth = 0
        self.began = 0.0
        self.notified = False
        self.hidden = 0
        self.total = 0.0

    def say(self, message: str) -> None:
        if not self.hidden and not os.environ.get("ONLINEBOOST_QUIET"):
            say(message)

    def on_start(self, event: Any) -> None:
        if self.depth == 0 and not _is_ours(event):
            return
        self.depth += 1
        if self.depth == 1:
            self.began = time.perf_counter()
            if not self.notified:
                self.say(
                    "compiling for this machine, once for each kind of model and file (ahead: onlineboost warm) ..."
                )
            self.notified |= not self.hidden

    def on_end(self, event: Any) -> None:
        if self.depth == 0:
            return
        self.depth -= 1
        seconds = time.perf_counter() - self.began
        self.total += seconds if self.depth == 0 else 0
        if self.depth == 0 and seconds > 1:
            self.say(f"compiled in {seconds:.1f} s")


def _is_ours(event: Any) -> bool:
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith(_SLOW)


class _CollectorPause(event.Listener):  # type: ignore[misc]
    """No garbage collection within a compilation, which makes little garbage before its end.

    The collector would look at all of it time and again, an eighth of the time. Numba compiles in one thread at a time.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.enabled = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.enabled = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.enabled:
            gc.enable()


event.register("numba:compile", _CollectorPause())  # before the notice, which may fail where nobody reads it
_notice = _CompileNotice()
event.register("numba:compile", _notice)


@contextmanager
def without_notice() -> Iterator[None]:
    """Suppress the notice of compilation: another message says it."""
    _notice.hidden += 1
    try:
        yield
    finally:
        _notice.hidden -= 1


def compile_seconds() -> float:
    """Seconds that this process has spent compiling."""
    return _notice.total
