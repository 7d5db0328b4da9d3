"""Calls of compiled functions whose arguments are kept: each takes a tenth of a microsecond, whatever the arguments.

Numba looks at the type of every array of every argument, each time it is called from Python: 10 microseconds for the
states of a model. Here arguments are written down once, as a block of numbers (addresses and sizes of arrays, numbers),
and a call passes the address of the block. Arrays may be changed in place between calls, but not be replaced.

A call may be an argument of another: two words, the addresses of its machine code and of its block. Compiled code runs
it by ``invoke(call)``, so that it need not be compiled again for what it calls. None is a call that is not there.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, register_model, unbox
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit

_WORD = ir.IntType(64)


class BlockType(types.Type):  # type: ignore[misc]
    """The arguments of a function, as a block of numbers."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        super().__init__(name=f"Block({inner})")

    @property
    def key(self) -> Any:
        return self.inner  # two classes may have the same name


class CallType(types.Type):  # type: ignore[misc]
    """A call that compiled code runs."""

    def __init__(self) -> None:
        super().__init__(name="Call")


_CALL = CallType()


@register_model(BlockType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _WORD.as_pointer())


@register_model(CallType)
class _CallModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("code", types.int64), ("block", types.int64)])


@unbox(BlockType)  # type: ignore[untyped-decorator]
def _unbox(type: Any, address: Any, c: Any) -> Any:
    return NativeValue(c.builder.bitcast(c.pyapi.long_as_voidptr(address), _WORD.as_pointer()))


@intrinsic  # type: ignore[untyped-decorator]
def unpack(context: Any, block: Any) -> Any:
    """The arguments, in compiled code: ``a, b = unpack(block)``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _value(context, builder, signature.return_type, arguments[0], 0)[0]

    return block.inner(block), code


@intrinsic  # type: ignore[untyped-decorator]
def invoke(context: Any, call: Any) -> Any:
    """Run a call, in compiled code; it must be there, and raise no exception."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = cgutils.create_struct_proxy(call)(context, builder, value=arguments[0])
        kind = context.call_conv.get_function_type(types.none, (BlockType(types.none),))
        function = builder.inttoptr(words.code, kind.as_pointer())
        block = builder.inttoptr(words.block, _WORD.as_pointer())
        context.call_conv.call_function(builder, function, types.none, (BlockType(types.none),), [block])
        return context.get_dummy_value()

    return types.none(call), code


@intrinsic  # type: ignore[untyped-decorator]
def is_there(context: Any, call: Any) -> Any:
    """Whether there is something to run, in compiled code."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = cgutils.create_struct_proxy(call)(context, builder, value=arguments[0])
        return builder.icmp_unsigned("!=", words.code, ir.Constant(_WORD, 0))

    return types.boolean(call), code


def _value(context: Any, builder: Any, type: Any, block: Any, at: int) -> tuple[Any, int]:
    """Code for a value of a type that is kept from this word on, and the word after it."""

    def word(k: int) -> Any:
        return builder.load(builder.gep(block, [ir.Constant(_WORD, at + k)]))

    if isinstance(type, types.BaseTuple):
        values = []
        for each in type.types:
            value, at = _value(context, builder, each, block, at)
            values.append(value)
        return context.make_tuple(builder, type, values), at
    if isinstance(type, types.Array):
        from numba.np.arrayobj import populate_array  # takes megabytes, and code from disk does without

        item = context.get_data_type(type.dtype)
        size = ir.Constant(_WORD, context.get_abi_sizeof(item))
        shape = [word(1 + k) for k in range(type.ndim)]
        strides = [size]
        for n in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], n))
        array = context.make_array(type)(context, builder)
        data = builder.inttoptr(word(0), item.as_pointer())
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue(), at + 1 + type.ndim  # noqa: SLF001  Numba's own way
    if isinstance(type, CallType):
        words = cgutils.create_struct_proxy(type)(context, builder)
        words.code, words.block = word(0), word(1)
        return words._getvalue(), at + 2  # noqa: SLF001
    if isinstance(type, types.Float):
        return builder.bitcast(word(0), ir.DoubleType()), at + 1
    if isinstance(type, types.Boolean):
        return builder.trunc(word(0), ir.IntType(1)), at + 1
    return word(0), at + 1


_buffer, _address_of = ctypes.c_char.from_buffer, ctypes.addressof
_double, _whole = struct.Struct("d").pack, struct.Struct("q").unpack


def _address(array: NDArray[Any]) -> int:
    """Where the memory of an array begins; ``array.ctypes`` takes five times as long, but knows every array."""
    try:  # ctypes takes an array that may be written to and whose rows are adjacent
        return _address_of(_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        if not array.size:
            return 0
        if not array.flags.c_contiguous:
            raise TypeError("an argument of a compiled function is an array whose rows are not adjacent") from None
        return array.ctypes.data


def _write(values: Any, words: list[int], key: list[Any]) -> None:
    """Add values to the words of a block, and their types to its key."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            words.append(_address(value))
            words += value.shape
            key += value.dtype, value.ndim
        elif kind is int or kind is np.int64:
            words.append(int(value))
            key.append(int)
        elif kind is bool or kind is np.bool_:
            words.append(int(value))
            key.append(bool)
        elif value is None or kind is Call:
            words += (0, 0) if value is None else value.addresses
            key.append(Call)
        elif isinstance(value, tuple):
            key += kind, len(value)
            _write(value, words, key)
        elif isinstance(value, float):
            words.append(_whole(_double(value))[0])
            key.append(float)
        elif isinstance(value, np.ndarray):
            _write((value.view(np.ndarray),), words, key)
        else:
            words.append(int(value))
            key.append(int)


def _type(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return types.Array(from_dtype(value.dtype), value.ndim, "C")
    if isinstance(value, tuple):
        inner = [_type(each) for each in value]
        return types.NamedTuple(inner, type(value)) if hasattr(value, "_fields") else types.Tuple(inner)
    if value is None or isinstance(value, Call):
        return _CALL
    scalar = types.boolean if isinstance(value, bool | np.bool_) else None
    return scalar or (types.float64 if isinstance(value, float) else types.int64)


class _Entry(NamedTuple):
    """The machine code of a function for arguments of some types."""

    run: Callable[[int], None]  # by the address of a block
    address: int  # for compiled code
    code: Any  # which must live as long as these


_entries: dict[Any, _Entry] = {}


def _entry(function: Any, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> _Entry:
    found = _entries.get((function, key))
    if found is None:
        signature = (BlockType(_type(arguments)),)
        compiled = function if all(map(_is_ours, key)) else _uncached(function)
        compiled.compile(signature)
        code = compiled.overloads[signature]
        address = code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
        found = _entries[function, key] = _Entry(code.entry_point, address, code)
    return found


def _is_ours(kind: Any) -> bool:
    return not hasattr(kind, "_fields") or kind.__module__.startswith("onlineboost.")


@functools.cache
def _uncached(function: Any) -> Any:
    """A class from outside this package may change while our sources do not: it is compiled in each process."""
    return njit(function.py_func, cache=False)


class Call:
    """A compiled function of a block, and its arguments: ``call()`` runs it."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        words: list[int] = []
        key: list[Any] = []
        _write(arguments, words, key)
        self._arguments, self._key = [*arguments], key  # which must live as long as this
        self._block = array("q", words)
        entry, address = _entry(function, tuple(key), arguments), self._block.buffer_info()[0]
        self.run = functools.partial(entry.run, address)
        self.addresses = entry.address, address  # of code and block, for a call that has this one

    def __call__(self) -> None:
        self.run()

    def on(self, *first: Any) -> None:
        """Replace the first arguments by others of the same types."""
        words: list[int] = []
        key: list[Any] = []
        _write(first, words, key)
        if key != self._key[: len(key)]:
            raise TypeError("an argument of a compiled function has become one of another type")
        self._arguments[: len(first)] = first
        self._block[: len(words)] = array("q", words)
