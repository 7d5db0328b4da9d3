"""Vectors (lanes) as values of compiled code: ``load``, ``store``, ``splat``, ``sqrt`` and arithmetic.

The compiler does not always keep a block of accumulators in registers across a loop; with this type it must. Each lane
is computed by IEEE rules on its own, so the result does not depend on the machine's vector width. The width is part of
the type and is taken from the length of a tuple (``zeros``), so that one kernel serves every width.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_KINDS = {32: (ir.FloatType(), types.float32), 64: (ir.DoubleType(), types.float64)}


# For ``exp``: the bits of 2^(i / 32), less those that i itself adds to the exponent; coefficients by falling power.
_POWERS = [int.from_bytes(struct.pack(">d", Decimal(2) ** (Decimal(i) / 32)), "big") - (i << 47) for i in range(32)]
_POLYNOMIAL = [
    float.fromhex(number) for number in ("0x1.c6af84b912394p-20", "0x1.ebfce50fac4f3p-13", "0x1.62e42ff0c52d6p-6")
]


class Lanes(types.Type):  # type: ignore[misc]
    """The type of a vector of ``width`` numbers, of ``bits`` bits each."""

    def __init__(self, width: int, bits: int = 32) -> None:
        self.width = width
        self.bits = bits
        super().__init__(f"Lanes({width}, {bits})")

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(_KINDS[self.bits][0], self.width)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, lanes.vector)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [context.cast(builder, index, index_type, types.int64)])


def _places(first: int, last: int) -> Any:
    return ir.Constant(ir.VectorType(_I32, last - first), list(range(first, last)))


def _above(builder: Any, lanes: Any) -> Any:
    """A bit for each lane: whether it is above zero."""
    return builder.fcmp_ordered(">", lanes, ir.Constant(lanes.type, None))


def _any(builder: Any, bits: Any) -> Any:
    """Whether a bit of a vector is set."""
    kind = ir.FunctionType(ir.IntType(1), [bits.type])
    name = f"llvm.vector.reduce.or.v{bits.type.count}i1"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [bits])


def instruction(result: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make a function of compiled code of ``build(builder, *values)``; ``result(*kinds)`` is the type of its value."""

    def make(build: Callable[..., Any]) -> Any:
        @functools.wraps(build)
        def typed(typing: Any, *kinds: Any) -> Any:
            return result(*kinds)(*kinds), lambda context, builder, sig, values: build(builder, *values)

        return intrinsic(typed)

    return make


def _as_last(*kinds: Any) -> Any:
    return kinds[-1]


@intrinsic  # type: ignore[untyped-decorator]
def zeros(typing: Any, block: Any) -> Any:
    """Zeros, as many lanes as the tuple ``block`` is long."""
    lanes = Lanes(len(block))
    return lanes(block), lambda context, builder, sig, args: ir.Constant(lanes.vector, None)


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, offset: Any, like: Any) -> Any:
    """The lanes that begin ``offset`` numbers into the array's memory, as wide as ``like``."""
    lanes = Lanes(like.width, array.dtype.bitwidth)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        return builder.load(builder.bitcast(pointer, lanes.vector.as_pointer()), align=lanes.bits // 8)

    return lanes(array, offset, like), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, offset: Any, lanes: Any) -> Any:
    """Write the lanes ``offset`` numbers into the array's memory."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        builder.store(args[2], builder.bitcast(pointer, lanes.vector.as_pointer()), align=lanes.bits // 8)
        return context.get_dummy_value()

    return types.void(array, offset, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def splat(typing: Any, number: Any, like: Any) -> Any:
    """The number in every lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[0], sig.args[0], _KINDS[like.bits][1])
        undefined = ir.Constant(like.vector, ir.Undefined)
        first = builder.insert_element(undefined, scalar, ir.Constant(_I32, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, like.width), None))

    return like(number, like), generate


@intrinsic  # type: ignore[untyped-decorator]
def pair(typing: Any, first: Any, second: Any) -> Any:
    """Two numbers as lanes of their width."""
    lanes = Lanes(2, first.bitwidth)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = ir.Constant(lanes.vector, ir.Undefined)
        for k in range(2):
            found = builder.insert_element(found, args[k], ir.Constant(_I32, k))
        return found

    return lanes(first, first), generate


@intrinsic  # type: ignore[untyped-decorator]
def sqrt(typing: Any, lanes: Any) -> Any:
    """The correctly rounded root of every lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(lanes.vector, [lanes.vector])
        name = f"llvm.sqrt.v{lanes.width}f{lanes.bits}"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return lanes(lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def reciprocal(typing: Any, lanes: Any) -> Any:
    """The correctly rounded 1 / x of every lane of 32 bits from 2**-125 to 2**125.

    Divisions wait for one unit of the processor, multiplications have two: where there is an approximation to 14 bits,
    two steps of Newton's method make it exact. The first leaves 1/x rounded up or down, whatever the approximation. Of
    either the second makes the nearest number for all x but those of 24 ones, and with the factor for these too: their
    1/x is always rounded down (``tests/compiled/test_simd.py`` has all x).
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, one = args[0], _same(lanes, 1.0)
        if lanes.width not in (8, 16) or not _has_approximations(context):
            return builder.fdiv(one, x)
        mask = ir.IntType(lanes.width)
        kind = ir.FunctionType(lanes.vector, [lanes.vector, lanes.vector, mask])
        name = f"llvm.x86.avx512.rcp14.ps.{32 * lanes.width}"
        near = builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [x, x, ir.Constant(mask, -1)])
        minus = builder.fneg(x)
        near = _fma(builder, _fma(builder, minus, near, one), near, near)
        upward = builder.fmul(near, _same(lanes, 1 + 2.0**-23))
        return _fma(builder, _fma(builder, minus, near, one), upward, near)

    return lanes(lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def exp(typing: Any, lanes: Any) -> Any:
    """e^x of every lane from -87 to 88, to the last bit that of the C library of GNU but for one x near -63.

    For x = k ln 2 / 32 + rest, 2^(k / 32) is in a table, and a polynomial of that library gives the exponential of the
    rest; all in 64 bits.
    """
    double, whole = Lanes(lanes.width, 64), ir.VectorType(_I64, lanes.width)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x = builder.fmul(builder.fpext(args[0], double.vector), _same(double, 32 * 1.4426950408889634))
        moved = builder.fadd(x, _same(double, 1.5 * 2.0**52))  # the last bits are those of the nearest whole number
        rest = builder.fsub(x, builder.fsub(moved, _same(double, 1.5 * 2.0**52)))
        bits = builder.bitcast(moved, whole)
        table = cgutils.global_constant(builder, "powers", ir.Constant(ir.ArrayType(_I64, 32), _POWERS))
        power = builder.shl(bits, ir.Constant(whole, [47] * lanes.width))
        places = builder.and_(bits, ir.Constant(whole, [31] * lanes.width))
        found = ir.Constant(whole, ir.Undefined)
        for i in range(lanes.width):
            place = builder.extract_element(places, ir.Constant(_I32, i))
            entry = builder.load(builder.gep(table, [ir.Constant(_I64, 0), place]))
            found = builder.insert_element(found, entry, ir.Constant(_I32, i))
        power = builder.bitcast(builder.add(found, power), double.vector)
        cubic, square, line = (_same(double, number) for number in _POLYNOMIAL)
        high = builder.fadd(builder.fmul(cubic, rest), square)
        low = builder.fadd(builder.fmul(line, rest), _same(double, 1.0))
        found = builder.fadd(builder.fmul(high, builder.fmul(rest, rest)), low)
        return builder.fptrunc(builder.fmul(found, power), lanes.vector)

    return lanes(lanes), generate


def _has_approximations(context: Any) -> bool:
    _, processor, features = context.codegen().magic_tuple()
    return bool(processor == "x86-64-v4" or "+avx512vl" in features.split(","))


def _same(lanes: Lanes, number: float) -> Any:
    return ir.Constant(lanes.vector, [ir.Constant(lanes.vector.element, number)] * lanes.width)


def _fma(builder: Any, first: Any, second: Any, third: Any) -> Any:
    kind = ir.FunctionType(first.type, [first.type] * 3)
    name = f"llvm.fma.v{first.type.count}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [first, second, third])


@instruction(lambda lanes: Lanes(lanes.width, 64))
def widen(builder: Any, lanes: Any) -> Any:
    """The lanes in 64 bits."""
    return builder.fpext(lanes, ir.VectorType(ir.DoubleType(), lanes.type.count))


@instruction(lambda lanes: Lanes(lanes.width, 32))
def narrow(builder: Any, lanes: Any) -> Any:
    """The lanes rounded to 32 bits."""
    return builder.fptrunc(lanes, ir.VectorType(ir.FloatType(), lanes.type.count))


@instruction(_as_last)
def where_positive(builder: Any, test: Any, lanes: Any) -> Any:
    """The lane where ``test`` is above zero, zero elsewhere."""
    return builder.select(_above(builder, test), lanes, ir.Constant(lanes.type, None))


@instruction(_as_last)
def choose(builder: Any, test: Any, first: Any, second: Any) -> Any:
    """The first number of each lane where ``test`` is above zero, the second elsewhere."""
    return builder.select(_above(builder, test), first, second)


@instruction(_as_last)
def larger(builder: Any, first: Any, second: Any) -> Any:
    """The larger number of each lane; the second where they cannot be compared."""
    return builder.select(builder.fcmp_ordered(">", first, second), first, second)


@instruction(_as_last)
def smaller(builder: Any, first: Any, second: Any) -> Any:
    """The smaller number of each lane; the second where they cannot be compared."""
    return builder.select(builder.fcmp_ordered("<", first, second), first, second)


@instruction(_as_last)
def within(builder: Any, lanes: Any, limit: Any) -> Any:
    """The lanes clipped to +-``limit``."""
    least = builder.fneg(limit)
    lanes = builder.select(builder.fcmp_ordered(">", lanes, limit), limit, lanes)
    return builder.select(builder.fcmp_ordered("<", lanes, least), least, lanes)


@instruction(lambda first, second: Lanes(2 * first.width, first.bits))
def join(builder: Any, first: Any, second: Any) -> Any:
    """The lanes of two vectors in one."""
    return builder.shuffle_vector(first, second, _places(0, 2 * first.type.count))


@instruction(lambda lanes: Lanes(lanes.width // 2, lanes.bits))
def first_half(builder: Any, lanes: Any) -> Any:
    """The first half of the lanes."""
    return builder.shuffle_vector(lanes, lanes, _places(0, lanes.type.count // 2))


@instruction(lambda lanes: Lanes(lanes.width // 2, lanes.bits))
def second_half(builder: Any, lanes: Any) -> Any:
    """The second half of the lanes."""
    return builder.shuffle_vector(lanes, lanes, _places(lanes.type.count // 2, lanes.type.count))


@instruction(lambda lanes: _KINDS[lanes.bits][1])
def total(builder: Any, lanes: Any) -> Any:
    """The sum of a power of two of lanes: of the two halves, of the halves of that, and so on."""
    width = lanes.type.count
    while width > 1:
        width //= 2
        halves = (_places(k, k + width) for k in (0, width))
        lanes = builder.fadd(*(builder.shuffle_vector(lanes, lanes, half) for half in halves))
    return builder.extract_element(lanes, ir.Constant(_I32, 0))


@instruction(lambda lanes: types.boolean)
def any_positive(builder: Any, lanes: Any) -> Any:
    """Whether a lane is above zero."""
    return _any(builder, _above(builder, lanes))


@instruction(lambda lanes: types.uint64)
def signs(builder: Any, lanes: Any) -> Any:
    """A whole number in which bit i is set if lane i is not below zero."""
    test = builder.fcmp_ordered(">=", lanes, ir.Constant(lanes.type, None))
    return builder.zext(builder.bitcast(test, ir.IntType(lanes.type.count)), ir.IntType(64))


@instruction(lambda number: types.int64)
def count_ones(builder: Any, number: Any) -> Any:
    """How many bits are set."""
    return builder.ctpop(number)


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, array: Any, offset: Any) -> Any:
    """Prefetch the cache line at ``offset`` numbers into the array's memory."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        pointer = _address(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(pointer, byte), *(ir.Constant(_I32, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, offset), generate


def _arithmetic(symbol: Any, instruction: str) -> None:
    @infer_global(symbol)
    class _Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, keywords: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(symbol, Lanes, Lanes)  # type: ignore[untyped-decorator]
    def _generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _symbols, _instruction in (
    ((operator.add, operator.iadd), "fadd"),
    ((operator.sub, operator.isub), "fsub"),
    ((operator.mul, operator.imul), "fmul"),
    ((operator.truediv, operator.itruediv), "fdiv"),
):
    for _symbol in _symbols:
        _arithmetic(_symbol, _instruction)
