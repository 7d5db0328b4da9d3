"""Numbers from text: always the float64 nearest to what is written, as Python's ``float`` finds it."""

from __future__ import annotations

import math
import struct
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_readers import NUMBER

from onlineboost.compiled.jit import njit
from onlineboost.readers.floats import any_number, parse_number
from onlineboost.readers.scan import SLACK


@njit
def _parse(text, at, end):
    return parse_number(text, at, end)


def parsers(word: bytes, rest: bytes) -> list[tuple[float, int]]:
    """What both functions make of a word; ``rest`` lies behind its end, where they may look but must not read on."""
    text = np.frombuffer(b"#" + word + rest[:SLACK].ljust(SLACK, b"\n"), np.uint8).copy()
    end = 1 + len(word)
    return [(float(value), int(after) - 1) for value, after in (_parse(text, 1, end), any_number(text, 1, end))]


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def check(word: str | bytes, rest: bytes = b"") -> None:
    word = word.encode() if isinstance(word, str) else word
    found = NUMBER.match(word)
    expected = (float(found.group()), found.end()) if found else (0.0, 0)
    for value, after in parsers(word, rest):
        assert after == expected[1], word
        if found:
            assert bits(value) == bits(expected[0]), word


def neighbors(value: float) -> list[str]:
    """The midpoint between a float and the next one, exactly, and a little below and above."""
    above = math.nextafter(value, math.inf)
    middle = (Decimal(value) + Decimal(above)) / 2 if math.isfinite(above) else Decimal(2) ** 1024 - Decimal(2) ** 970
    exact = f"{middle:f}" if abs(middle.adjusted()) < 400 else str(middle)
    mantissa, mark, exponent = exact.partition("E")
    longer = mantissa if "." in mantissa else mantissa + ".0"
    power = mark + exponent
    below = Decimal(mantissa) - Decimal(1).scaleb(Decimal(mantissa).as_tuple().exponent)
    return [exact, longer + "0" * 30 + "1" + power, longer + "1" + power, f"{below:f}" + power, f"{below:f}9" + power]


@pytest.fixture(autouse=True, scope="module")
def _many_digits():
    """Midpoints have up to 767 digits: decimals must not be rounded."""
    from decimal import getcontext

    before, getcontext().prec = getcontext().prec, 2500
    yield
    getcontext().prec = before


HARD = [
    "0", "-0", "+0.0", "1", "-1.5", "0.1", ".5", "5.", "-.25", "+7", "00012", "1e0", "1E+2", "1e-2",
    "12345678", "1234567", "1234567.7654321", "12345678.1", "1.12345678", "99999999", "9999999.9999999",
    "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740995", "18014398509481985",
    "18446744073709551615", "18446744073709551616", "9999999999999999999", "10000000000000000000",
    "99999999999999999999", "1234567890123456789", "12345678901234567890",
    "1e22", "1e23", "8.5e22", "9e22", "1e-22", "1e-23", "123456789e22", "3e-23", "6.02214076e23",
    "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309", "2e308", "1e400",
    "4.9e-324", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.47e-324", "2e-324", "1e-400",
    "2.2250738585072011e-308", "2.2250738585072012e-308", "2.2250738585072014e-308", "2.225073858507201e-308",
    "1e-342", "9999999999999999999e-342", "9999999999999999999e-343", "1e308", "9999999999999999999e289",
    "9999999999999999999e290", "1e99999999999999999999", "1e-99999999999999999999", "0e99999999999999999999",
    "0.000000000000000000000000000000000000000000001", "1000000000000000000000000000000000000000000000",
    "0" * 900, "0" * 900 + "1", "0." + "0" * 900 + "1", "0." + "0" * 300 + "1e300", "1" + "0" * 900 + "e-900",
    "9" * 900, "9" * 900 + "e-880", "1" * 900 + "." + "1" * 900, "0." + "3" * 900, "0." + "9" * 900,
    "1" + "0" * 400 + "e-400", "0." + "0" * 330 + "49406564584124654", "1.00000000000000011102230246251565404",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126", "0.1e", "1e+", "1e-", "1e+x", "1.2.3", "1-2", "--1", "+",
    "-", ".", "-.", "e5", ".e5", "", "1e5e5", "0x10", "1_000", "nan", "inf", "1d5", "1 2",
    "1.7976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641669288"
    "79109465555478519404026306574886715058206819089020007083836762738548458177115317644757302700698555713669596228429148"
    "19860834936475292719074168444365510704342711559699508093042880177904174497792e308",
]  # fmt: skip


def test_hard_numbers_are_rounded_as_python_rounds_them():
    for word in HARD:
        check(word)
        check(f"-{word}")


EDGES = [1.0, 2.0**53, 2.0**-1074, 2.0**-1073, 2.0**-1022, 0.1, 1e22, 1e23, 1.5e308, sys.float_info.max, 3e-310, 0.0]


def test_midpoints_go_to_the_even_neighbor_and_a_last_digit_decides():
    for value in (*EDGES, math.nextafter(1.0, 0), math.nextafter(2.0**-1022, 0)):
        for word in neighbors(value):
            check(word)
            check(f"{Decimal(word):e}")


@settings(max_examples=150)
@given(st.floats(min_value=0, allow_infinity=False, allow_nan=False))
def test_every_midpoint_is_decided_exactly(value):
    for word in neighbors(value):
        check(word)


@settings(max_examples=150)
@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 53) - 1))
def test_every_float_survives_its_shortest_and_its_long_spelling(pattern, whole):
    value = struct.unpack("<d", struct.pack("<Q", pattern & ~(0x7FF << 52) | (pattern >> 1) % 0x7FF << 52))[0]
    for word in (repr(value), f"{value:.17e}", f"{value:.18e}", f"{value:.40e}", str(whole), f"{whole}e-{whole % 60}"):
        check(word)


def digits(most: int) -> st.SearchStrategy[str]:
    return st.one_of(st.text("0123456789", max_size=12), st.text("0123456789", max_size=most), st.just("0" * most))


@settings(max_examples=200)
@given(
    st.sampled_from(["", "-", "+"]),
    digits(30),
    st.sampled_from(["", "."]),
    digits(30),
    st.sampled_from(["", "e", "E", "e-", "e+", "e-3", "e1"]),
    st.text("0123456789", max_size=4),
    st.binary(max_size=SLACK) | st.text("0123456789.e", max_size=SLACK).map(str.encode),
)
def test_numbers_of_any_form_and_what_lies_behind_them_does_not_count(sign, whole, point, fraction, e, power, rest):
    check(sign + whole + point + fraction + e + power, rest)


@settings(max_examples=200)
@given(st.integers(15, 21), st.integers(-345, 310), st.data())
def test_seventeen_to_twenty_digits_and_a_power(n, power, data):
    word = data.draw(st.text("0123456789", min_size=n, max_size=n))
    check(f"{word}e{power}")
    check(f"{word[:3]}.{word[3:]}e{power}")


@settings(max_examples=60)
@given(st.integers(0, 900), st.integers(0, 900), st.integers(0, 40), st.integers(-700, 700))
def test_numbers_of_hundreds_of_digits(zeros, size, period, power):
    pattern = str(7**period)
    word = "0" * (zeros // 2) + "." + "0" * (zeros // 2) + (pattern * size)[: size + 1]
    check(word)
    check(f"{word}e{power}")


@given(st.text("0123456789+-.eE x", max_size=14), st.text("0123456789+-.eE", max_size=SLACK))
def test_what_is_no_number_ends_where_the_number_in_it_ends(word, rest):
    check(word, rest.encode())
