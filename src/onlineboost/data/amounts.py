"""Numbers with a percent sign, a currency sign or separators of thousands, in strings of dicts.

``onlineboost.readers.amounts`` is the same, compiled.
"""

from __future__ import annotations

import re

MISSING_WORDS = frozenset("NA N/A n/a #N/A #NA <NA> NULL null None NaN nan - -- ?".split())  # noqa: SIM905
"""Strings that stand for a missing value."""

_GROUPS = "|".join(
    (
        r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?",
        r"[1-9]\d{0,2}(?:\.\d{3})+,\d+",
        "[1-9]\\d{0,2}(?:['\u2019]\\d{3})+(?:[.,]\\d+)?",
    )
)
_SPACED = "|".join(rf"[1-9]\d{{0,2}}(?:{space}\d{{3}})+(?:[.,]\d+)?" for space in (" ", "\u00a0", "\u202f"))
_PLAIN = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_ANY = f"(?:{_SPACED}|{_GROUPS}|{_PLAIN})"
_SIGN, _GAP = "[$€£¥₹]", "[ \u00a0\u202f]?"
_BODY = f"(?:{_SIGN}{_GAP}(?P<one>{_ANY})|(?P<two>{_ANY}){_GAP}(?:%|{_SIGN})|(?P<three>{_GROUPS}))"
_AMOUNT, _INNER = re.compile(f"[+-]?{_BODY}", re.ASCII), re.compile(f"{_SIGN}{_GAP}([+-])({_ANY})", re.ASCII)
_ACCOUNT = re.compile(rf"\({_BODY}\)", re.ASCII)
_STARTS = frozenset("0123456789+-.($€£¥₹")


def amount(text: str) -> float | None:
    """The number that a string is, if no plain number looks like it.

    >>> amount("12%"), amount("$1,001.50"), amount("€ 1.001,50"), amount("(7 €)"), amount("1001.50"), amount("1,5")
    (12.0, 1001.5, 1001.5, -7.0, None, None)
    """
    if text[:1] not in _STARTS:
        return None
    inner = _INNER.fullmatch(text)
    if inner:
        return float(inner[1] + _cleaned(inner[2]))
    found = _AMOUNT.fullmatch(text) or _ACCOUNT.fullmatch(text)
    if found is None:
        return None
    value = float(_cleaned(found["one"] or found["two"] or found["three"]))
    return -value if text[0] in "-(" else value


def _cleaned(number: str) -> str:
    """A number as Python writes it."""
    if re.fullmatch(_PLAIN, number, re.ASCII):
        return number
    *groups, last = re.split("[^0-9]", number)
    marks = re.findall("[^0-9]", number)
    decimal = "." if marks[-1] != marks[0] and {marks[0], marks[-1]} != {"'", "\u2019"} else ""
    return "".join(groups) + decimal + last
