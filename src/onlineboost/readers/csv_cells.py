"""Cells of CSV, compiled: where one begins and ends."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from onlineboost.compiled.jit import njit
from onlineboost.readers.scan import Bytes, byte
from onlineboost.readers.status import AFTER_QUOTE, MORE, OK, OPEN_QUOTE

_QUOTE, _NEWLINE, _RETURN, _SPACE, _TAB = 34, 10, 13, 32, 9


@njit
def find_cell(text: Bytes, i: int, end: int, last: bool, separator: int, cell: Bytes, place: NDArray[Any]) -> int:
    """Find the cell that begins at i; ``place[2]`` is what follows it.

    Its content is ``text[place[0]:place[1]]`` or, with place[0] = -1, ``cell[:place[1]]``.
    """
    if i < end and text[i] == _QUOTE:
        n = 0
        j = i + 1
        while True:
            if j >= end:
                return OPEN_QUOTE if last else MORE
            if text[j] == _QUOTE:
                if j + 1 >= end and not last:
                    return MORE
                if j + 1 >= end or text[j + 1] != _QUOTE:
                    break
                j += 1
            cell[n] = text[j]
            n += 1
            j += 1
        cell[n] = 0
        j += 1
        if j < end and text[j] == _RETURN and j + 1 >= end and not last:
            return MORE
        ends = j >= end or text[j] == _NEWLINE or (text[j] == _RETURN and (j + 1 >= end or text[j + 1] == _NEWLINE))
        if not ends and text[j] != separator:
            return AFTER_QUOTE
        place[0], place[1], place[2] = -1, n, j
        return MORE if j >= end and not last else OK
    j = i
    while j < end and byte(text, j) != separator and byte(text, j) != _NEWLINE:
        j += 1
    if j >= end and not last:
        return MORE
    if j > i and (j >= end or text[j] == _NEWLINE) and text[j - 1] == _RETURN:
        j -= 1
    a, b = i, j
    while a < b and (byte(text, a) == _SPACE or byte(text, a) == _TAB):
        a += 1
    while a < b and (byte(text, b - 1) == _SPACE or byte(text, b - 1) == _TAB):
        b -= 1
    place[0], place[1], place[2] = a, b, j
    return OK
