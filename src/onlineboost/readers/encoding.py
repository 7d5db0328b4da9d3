"""Text that is not UTF-8, decoded while reading, by the given or a guessed encoding."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Callable
from typing import Any

from onlineboost.errors import ParameterError, ReadError, ReadWarning
from onlineboost.registry import Option

ENCODING = Option("encoding", "Text encoding, such as latin-1 or utf-16.", default="utf-8, else Windows-1252")
_UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_PIECE = 1 << 16  # bytes decoded at a time
_SHOWN = 24  # characters of a line in a warning
_MANY = 4  # one NUL among so many bytes is UTF-16


def check_encoding(encoding: Any) -> str | None:
    """The name of an encoding; None if none is given."""
    if encoding is None:
        return None
    try:
        name = codecs.lookup(encoding).name
        codecs.getincrementaldecoder(encoding)
        "a".encode(encoding).decode(encoding)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ParameterError("encoding", encoding, "an encoding of text, such as 'latin-1' or 'utf-16'") from None
    return "utf-8" if name in ("utf-8", "utf-8-sig", "ascii") else name


class _Decoded:
    """A source of UTF-8, made of another source."""

    def __init__(self, source: Any) -> None:
        self.source, self.name = source, source.name
        self.rest = b""  # read, and not given yet

    @property
    def position(self) -> int:
        return int(self.source.position)

    def _give(self, memory: memoryview) -> int:
        n = min(len(self.rest), len(memory))
        memory[:n], self.rest = self.rest[:n], self.rest[n:]
        return n


class Recoded(_Decoded):
    """A source in another encoding, as UTF-8."""

    def __init__(self, source: Any, encoding: str) -> None:
        super().__init__(source)
        self.encoding, self.decoder = encoding, codecs.getincrementaldecoder(encoding)()
        self.ended = False
        self.piece = bytearray(_PIECE)

    def readinto(self, memory: memoryview) -> int:
        """Fill the memory; the number of bytes, which is smaller only at the end."""
        filled = 0
        while filled < len(memory) and (n := self._some(memory[filled:], self.source.readinto)):
            filled += n
        return filled

    def read_now(self, memory: memoryview) -> int:
        """Read the available bytes, at least one; 0 at the end."""
        return self._some(memory, self.source.read_now)

    def _some(self, memory: memoryview, read: Any) -> int:
        while not self.rest and not self.ended:
            n = read(memoryview(self.piece))
            self.ended = n == 0
            try:
                self.rest = self.decoder.decode(bytes(self.piece[:n]), final=self.ended).encode()
            except (UnicodeError, ValueError) as problem:
                message = f"{self.name}: not text in {self.encoding} ({problem}): set encoding=... to its encoding"
                raise ReadError(message, path=self.name) from problem
        return self._give(memory)


class Guessed(_Decoded):
    """A source whose first characters beyond ASCII decide its encoding: UTF-8, or else Windows-1252.

    Text before them is the same in both, so nothing is read twice. The bytes read together with the first of them
    decide, at most a megabyte. NUL bytes, and other bytes in a UTF-8 text, raise one warning with their line.
    """

    def __init__(self, source: Any, line: Callable[[int], int], utf8: bool) -> None:
        super().__init__(source)
        self.line = line  # the line number after so many bytes of the buffer
        self.utf8: bool | None = utf8 or None  # None: not decided yet
        self.start: bytes | None = None  # the first bytes, as they are in the source
        self.open = b""  # an incomplete character at the end
        self.told: set[str] = set()

    def readinto(self, memory: memoryview) -> int:
        """Fill the memory; the number of bytes, which is smaller only at the end."""
        filled = self._give(memory)
        while filled < len(memory) and (n := self._some(memory, filled, self.source.readinto)):
            filled += n
        return filled

    def read_now(self, memory: memoryview) -> int:
        """Read the available bytes, at least one; 0 at the end."""
        return self._give(memory) or self._some(memory, 0, self.source.read_now)

    def _some(self, memory: memoryview, filled: int, read: Any) -> int:
        """Read into the memory from this place on; text in Windows-1252 is longer as UTF-8, and the rest is kept."""
        n: int = read(memory[filled:])
        given = part = memory[filled : filled + n].tobytes()
        if self.start is None:
            self.start = part[:8]
            if part.startswith(_UTF_16):  # the reader raises an error
                return n
            self.utf8 = self.utf8 or part.startswith(codecs.BOM_UTF8) or None
        if b"\0" in part:
            self._warn_of_zeros(part, filled)
        if part.isascii() and not self.open:
            return n
        if self.utf8 is None:
            part = self._decided(part, filled, read)
        if self.utf8:
            self._check(part, filled)
        else:
            part = decoded(part)
        if part is given:
            return n
        n = min(len(part), len(memory) - filled)
        memory[filled : filled + n], self.rest = part[:n], part[n:]
        return n

    def _decided(self, part: bytes, filled: int, read: Any) -> bytes:
        """Decide the encoding; returns the bytes, with those that complete the last character."""
        one = memoryview(bytearray(1))
        while _first_bad(part, final=False) is None and _first_bad(part, final=True) is not None and read(one):
            part += one.tobytes()
        bad = _first_bad(part, final=True)
        self.utf8 = bad is None or _is_mostly_utf8(part)
        if not self.utf8 and bad is not None:
            news = f"text that is not UTF-8, read as Windows-1252 (Latin-1): {_shown(part, bad)!r}"
            self._warn("encoding", part, bad, filled, f"{news}; if that is wrong, set encoding=...")
        return part

    def _check(self, part: bytes, filled: int) -> None:
        """Warn of the place where a UTF-8 text has other bytes."""
        text = self.open + part
        try:
            self.open = text[codecs.utf_8_decode(text, "strict", False)[1] :]
        except UnicodeDecodeError as problem:
            at, self.open = max(problem.start - len(self.open), 0), b""
            news = f"bytes that are not UTF-8, in a text that is: {_shown(part, at)!r}"
            self._warn("bytes", part, at, filled, f"{news}; they are kept as they are")

    def _warn_of_zeros(self, part: bytes, filled: int) -> None:
        many = part.count(0) * _MANY > len(part)
        advice = "if it is UTF-16, set encoding=... to utf-16-le or utf-16-be" if many else "is the file damaged?"
        self._warn("zeros", part, part.index(0), filled, f"a NUL byte, which no text has; {advice}")

    def _warn(self, kind: str, part: bytes, at: int, filled: int, message: str) -> None:
        if kind not in self.told:
            self.told.add(kind)
            place = f"{self.name}: line {self.line(filled) + part.count(10, 0, at)}"
            warnings.warn(f"{place}: {message}", ReadWarning, stacklevel=2)


def decoded(part: bytes) -> bytes:
    """Windows-1252 as UTF-8; its five undefined bytes are read as Latin-1.

    >>> decoded(b"caf\\xe9 \\x80 \\x81").decode()
    'café € \\x81'
    """
    return codecs.charmap_decode(part, "strict", _WINDOWS)[0].encode()


_WINDOWS = "".join(bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(256))  # of each byte


def _first_bad(part: bytes, final: bool) -> int | None:
    """Where bytes are not UTF-8; a character that is cut off at the end is good unless the text is final."""
    try:
        codecs.utf_8_decode(part, "strict", final)
    except UnicodeDecodeError as problem:
        return problem.start
    return None


def _is_mostly_utf8(part: bytes) -> bool:
    """Whether as many characters beyond ASCII are UTF-8 as are not: other encodings hardly ever look like it."""
    text = part.decode(errors="replace")
    bad = text.count("\ufffd")
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    return good >= bad


def _shown(part: bytes, at: int) -> str:
    """The line around a place, as Windows-1252."""
    start = max(part.rfind(b"\n", 0, at) + 1, at - _SHOWN)
    return decoded(part[start : at + _SHOWN].split(b"\n")[0]).decode().strip()
