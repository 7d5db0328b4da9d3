"""Texts as words, compiled, in any script.

| text | words |
| --- | --- |
| letters and digits in a row | one, in small letters |
| a number with points or commas | one, as it is |
| Han, Kana, Thai, Lao, Burmese, Khmer: no spaces between words | all pairs and triples of characters |
| a symbol such as an emoji | one |
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from onlineboost.compiled.jit import hot, i64, lean, njit, u64
from onlineboost.data.batch import Ints
from onlineboost.data.hashing import Bytes
from onlineboost.data.unicode import DENSE, FIRST, KIND, LETTER, LOOSE, SPACE, SYMBOL, UPPER

SHORTEST = 7  # bytes of a cell of four words
_ENOUGH, _WORD, _DENSE, _LOOSE = 16, 4, 2, 1  # quarters of a word
_START, _WITHIN, _TRIPLE = range(3)  # phases: between words; within a run without spaces; three characters are due
_WIDE = (0xA0, 0x3000)  # spaces


@hot
def _character(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """A character and its size in bytes; a byte that is not UTF-8 is a negative number."""
    c = i64(text[at])
    if c < 0x80:
        return c, 1
    more = 1 if 0xC0 <= c < 0xE0 else 2 if 0xE0 <= c < 0xF0 else 3 if 0xF0 <= c < 0xF8 else 0
    if more == 0 or at + more >= end:
        return -c, 1
    code = c & (0x3F >> more)
    for k in range(1, more + 1):
        b = i64(text[at + k])
        if b & 0xC0 != 0x80:
            return -c, 1
        code = code << 6 | (b & 0x3F)
    return code, more + 1


@hot
def put_character(out: Bytes, n: int, code: int) -> int:
    """Write a character from ``out[n]`` on, in UTF-8; where it ends."""
    if code < 0x80:
        out[n] = code
        return n + 1
    if code < 0x800:
        out[n] = 0xC0 | code >> 6
    elif code < 0x10000:
        out[n] = 0xE0 | code >> 12
    else:
        out[n] = 0xF0 | code >> 18
    more = 1 if code < 0x800 else 2 if code < 0x10000 else 3
    for m in range(more, 0, -1):
        out[n + 1 + more - m] = 0x80 | (code >> 6 * (m - 1)) & 63
    return n + 1 + more


@lean
def _kind(code: int) -> int:
    if code < 0x80:
        small = code | 32
        return LETTER if 97 <= small <= 122 or 48 <= code <= 57 or code == 95 else SPACE
    return int(KIND[_last(FIRST, code)])


@hot
def _last(first: Ints, code: int) -> int:
    """The last place whose number is not above the code."""
    low, high = 0, first.size
    while high - low > 1:
        middle = (low + high) // 2
        if first[middle] <= code:
            low = middle
        else:
            high = middle
    return low


@lean
def _small(code: int) -> int:
    """The small letter of a capital one, or the character itself."""
    if code < 0x80:
        return code + 32 if 65 <= code <= 90 else code
    row = _last(UPPER[:, 0], code)
    first, last, step, up = UPPER[row, 0], UPPER[row, 1], UPPER[row, 2], UPPER[row, 3]
    return code + up if first <= code <= last and (code - first) % step == 0 else code


@hot
def _is_digit(text: Bytes, at: int, end: int) -> bool:
    return at < end and 48 <= text[at] <= 57


@lean
def is_text(text: Bytes, at: int, end: int) -> bool:
    """Whether a cell has at least four words between spaces that have letters, or as many characters without spaces."""
    spaces, beyond = 0, 0
    for i in range(at, end):  # decides for most cells
        c = text[u64(i)]
        spaces += c <= 32
        beyond |= c
    if spaces < 3 and beyond < 0x80:
        return False
    quarters, met = 0, False
    while at < end and quarters < _ENOUGH:
        code, size = _character(text, at, end)
        at += size
        if 0 <= code <= 32 or code == _WIDE[0] or code == _WIDE[1] or 0x2000 <= code <= 0x200A:
            met = False
            continue
        kind = LETTER if code < 0 else _kind(code)
        if kind == DENSE:
            quarters += _DENSE
        elif kind == LOOSE:
            quarters += _LOOSE
        elif kind == LETTER and not met and not 48 <= code <= 57:
            met = True
            quarters += _WORD
    return quarters >= _ENOUGH


@lean
def next_word(text: Bytes, at: int, end: int, out: Bytes, n: int, phase: int) -> tuple[int, int, int]:
    """Write the next word from ``out[n]`` on; where it ends, n if there is none; where to go on, and in which phase.

    The first phase is 0.
    """
    while at < end:
        code, size = _character(text, at, end)
        kind = LETTER if code < 0 else _kind(code)
        if kind == LETTER:
            m, at = _whole_word(text, at, end, out, n)
            return m, at, _START
        if kind == SYMBOL:
            return put_character(out, n, code), at + size, _START
        if kind != SPACE:
            m, phase = _gram(text, at, end, out, n, phase)
            at += size if phase != _TRIPLE else 0
            if m > n:
                return m, at, phase
        else:
            at += size
            phase = _START
    return n, end, _START


@lean
def _whole_word(text: Bytes, at: int, end: int, out: Bytes, n: int) -> tuple[int, int]:
    """Write a word of letters and digits in small letters; where it ends in both."""
    while at < end:
        code, size = _character(text, at, end)
        if code < 0:
            out[n] = -code
            n += 1
        elif _kind(code) == LETTER:
            n = put_character(out, n, _small(code))
        elif (code == 46 or code == 44) and _is_digit(text, at - 1, end) and _is_digit(text, at + 1, end):
            out[n] = code
            n += 1
        else:
            break
        at += size
    return n, at


@lean
def _gram(text: Bytes, at: int, end: int, out: Bytes, n: int, phase: int) -> tuple[int, int]:
    """Write the pair or triple of characters without spaces that begins here, or one that is alone; the next phase."""
    wanted = 3 if phase == _TRIPLE else 2
    m, count = n, 0
    while count < 3 and at < end:
        code, size = _character(text, at, end)
        kind = SPACE if code < 0 else _kind(code)
        if kind != DENSE and kind != LOOSE:
            break
        if count < wanted:
            m = put_character(out, m, _small(code))
        count += 1
        at += size
    if count < 2:
        return (m if phase == _START else n), _START
    return m, (_TRIPLE if wanted == 2 and count == 3 else _WITHIN)


def words_of(text: str) -> list[str]:
    """The words of a text.

    >>> words_of("Card DECLINED, 1,001.50 euro?"), words_of("ラーメン"), words_of("?")
    (['card', 'declined', '1,001.50', 'euro'], ['ラー', 'ラーメ', 'ーメ', 'ーメン', 'メン'], [])
    """
    encoded = np.frombuffer(text.encode(errors="replace"), np.uint8)
    out, ends = np.empty(6 * encoded.size + 16, np.uint8), np.empty(encoded.size + 1, np.int64)
    n = _split(encoded, out, ends)
    found, bounds = out.tobytes(), [0, *ends[:n].tolist()]
    return [found[a:b].decode(errors="replace") for a, b in pairwise(bounds)]


def is_long(text: str) -> bool:
    """``is_text`` of a string.

    >>> is_long("my card was declined"), is_long("Paris, France 75 001"), is_long("払い戻しをお願いします")
    (True, False, True)
    """
    if len(text) < SHORTEST:
        return False
    return bool(_is_long(np.frombuffer(text.encode(errors="replace"), np.uint8)))


@njit
def _is_long(text: Bytes) -> bool:
    return is_text(text, 0, text.size)


@njit
def _split(text: Bytes, out: Bytes, ends: Ints) -> int:
    """Write all words one after the other; how many there are."""
    words = at = n = phase = 0
    while True:
        m, at, phase = next_word(text, at, text.size, out, n, phase)
        if m == n:
            return words
        ends[words] = n = m
        words += 1
