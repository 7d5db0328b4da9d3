"""Text that is not UTF-8: noticed, or decoded on the way."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Callable
from typing import Any

from onlineboost.errors import ParameterError, ReadError, ReadWarning
from onlineboost.registry import Option

ENCODING = Option("encoding", "Encoding of text, such as latin-1 or utf-16.", default="utf-8")
_PIECE = 1 << 16  # bytes decoded at a time
_SHOWN = 24  # characters of a line in a warning


def check_encoding(encoding: Any) -> str | None:
    """The name of an encoding that is not UTF-8; None if the text is UTF-8."""
    if encoding is None:
        return None
    try:
        name = codecs.lookup(encoding).name
        codecs.getincrementaldecoder(encoding)
        "a".encode(encoding).decode(encoding)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ParameterError("encoding", encoding, "an encoding of text, such as 'latin-1' or 'utf-16'") from None
    return None if name in ("utf-8", "utf-8-sig", "ascii") else name


class Recoded:
    """A source in another encoding, as UTF-8."""

    def __init__(self, source: Any, encoding: str) -> None:
        self.source, self.name = source, source.name
        self.encoding, self.decoder = encoding, codecs.getincrementaldecoder(encoding)()
        self.rest, self.ended = b"", False
        self.piece = bytearray(_PIECE)

    @property
    def position(self) -> int:
        return int(self.source.position)

    def readinto(self, memory: memoryview) -> int:
        """Fill the memory; the number of bytes, which is smaller only at the end."""
        filled = 0
        while filled < len(memory) and (n := self._some(memory[filled:], self.source.readinto)):
            filled += n
        return filled

    def read_now(self, memory: memoryview) -> int:
        """What is there now, at least a byte; 0 at the end."""
        return self._some(memory, self.source.read_now)

    def _some(self, memory: memoryview, read: Any) -> int:
        while not self.rest and not self.ended:
            n = read(memoryview(self.piece))
            self.ended = n == 0
            try:
                self.rest = self.decoder.decode(bytes(self.piece[:n]), final=self.ended).encode()
            except (UnicodeError, ValueError) as problem:
                message = (
                    f"{self.name}: not text in {self.encoding} ({problem}): set encoding=... to the one that it has"
                )
                raise ReadError(message, path=self.name) from problem
        n = min(len(self.rest), len(memory))
        memory[:n], self.rest = self.rest[:n], self.rest[n:]
        return n


class Utf8Check:
    """Warns once of a file whose text is not UTF-8."""

    def __init__(self, name: str) -> None:
        self.name, self.told = name, False
        self.open = b""  # the beginning of a character whose end was not read yet

    def see(self, part: bytes, line: Callable[[], int]) -> None:
        """Look at the next bytes of the file, which begin in this line."""
        if self.told or (not self.open and part.isascii()):
            return
        text = self.open + part
        try:
            self.open = text[codecs.utf_8_decode(text, "strict", False)[1] :]
        except UnicodeDecodeError as problem:
            self._warn(text, problem.start, line())

    def _warn(self, text: bytes, at: int, line: int) -> None:
        self.told = True
        start = max(text.rfind(b"\n", 0, at) + 1, at - _SHOWN)
        shown = text[start : at + _SHOWN].split(b"\n")[0].decode("latin-1").strip()
        place = f"{self.name}: line {line + text.count(10, 0, at)}"
        message = f"{place}: text that is not UTF-8; as Latin-1 it is {shown!r}"
        warnings.warn(f"{message}: if that is right, set encoding=... to latin-1", ReadWarning, stacklevel=2)
