"""Write ``src/onlineboost/data/unicode.py``: what characters are to words, by the Unicode data of this Python."""

from __future__ import annotations

import textwrap
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "onlineboost" / "data" / "unicode.py"
# Scripts without spaces between words: Han and Kana, then Thai, Lao, Burmese and Khmer.
DENSE = (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F)
DENSE = (*DENSE, (0x3005, 0x3007), (0x20000, 0x3FFFF))
LOOSE = (0xE01, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF)
TEXT = '''\
"""Characters of words, by ranges of code points: written by ``scripts/unicode_tables.py``, from Unicode {version}."""

from __future__ import annotations

import numpy as np

SPACE, LETTER, DENSE, LOOSE, SYMBOL = range(5)
"""Between words; of a word; of a script without spaces, with short words or with longer ones; a word by itself."""

# fmt: off
FIRST = np.cumsum(np.array([  # of each range, from the one before
{first}
], np.int64))
KIND = np.array([
{kind}
], np.int8)
UPPER = np.array([  # capital letters: first, last, step, and how far away the small letter is
{upper}
], np.int64).reshape(-1, 4)
# fmt: on
'''


def kind_of(code: int) -> int | None:
    """The kind of a character; None if the code point stands for none."""
    category = unicodedata.category(chr(code))
    if category in ("Cn", "Co", "Cs"):
        return None
    if 0xFE00 <= code <= 0xFE0F or category[0] in "ZPC" or category in ("Sc", "Sm", "Sk"):
        return 0
    if category == "So":
        return 4
    if category[0] in "LM":
        dense = any(a <= code <= b for a, b in DENSE)
        return 2 if dense else 3 if any(a <= code <= b for a, b in LOOSE) else 1
    return 1


def small(code: int) -> int:
    """The small letter of a capital one; the last sigma of a word is one as others are."""
    return {0x130: 0x69, 0x3C2: 0x3C3}.get(code) or ord(chr(code).lower())


def main() -> None:
    ranges: list[tuple[int, int]] = []
    runs: list[list[int]] = []
    for code in range(0x80, 0x110000):
        kind = kind_of(code)
        if kind is not None and (not ranges or ranges[-1][1] != kind):
            ranges.append((code, kind))
        step = small(code) - code
        if step:
            last = runs[-1] if runs else [0, 0, 0, 0]
            gap = code - last[1]
            if last[3] == step and gap <= 2 and (last[0] == last[1] or gap == last[2]):
                last[1], last[2] = code, gap
            else:
                runs.append([code, code, 1, step])
    codes = [code for code, _ in ranges]
    steps = [b - a for a, b in zip([0, *codes], codes, strict=False)]
    upper = [str(number) for run in runs for number in run]
    text = TEXT.format(
        version=unicodedata.unidata_version,
        first=_lines(map(str, steps)),
        kind=_lines(str(kind) for _, kind in ranges),
        upper=_lines(upper),
    )
    TARGET.write_text(text)


def _lines(numbers: object) -> str:
    return textwrap.fill(", ".join(numbers), 116, initial_indent="    ", subsequent_indent="    ") + ","  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
