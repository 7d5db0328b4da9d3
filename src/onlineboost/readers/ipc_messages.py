"""Messages of Arrow's IPC format, checked before Arrow reads them: declared data must exist and fit in memory.

The layout is that of Arrow's Message.fbs and File.fbs, read by hand: pyarrow does not show the sizes of buffers before
it has decompressed them.
"""

from __future__ import annotations

import io
import struct
from typing import Any, NamedTuple

from onlineboost.readers.limits import BoundedFile, DamagedError, TooLargeError

MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3  # Message.header
_MAX_METADATA = 1 << 28


class _Table(NamedTuple):
    """A table of a FlatBuffer: fields by number."""

    data: bytes
    at: int

    def field(self, k: int) -> int | None:
        """Where field k is."""
        vtable = self.at - _number(self.data, "<i", self.at)
        if 4 + 2 * k >= _number(self.data, "<H", vtable):
            return None
        offset = _number(self.data, "<H", vtable + 4 + 2 * k)
        return self.at + offset if offset else None

    def number(self, k: int, kind: str) -> int:
        at = self.field(k)
        return 0 if at is None else _number(self.data, kind, at)

    def table(self, k: int) -> _Table | None:
        at = self.field(k)
        return None if at is None else _Table(self.data, at + _number(self.data, "<I", at))

    def structs(self, k: int, kind: str) -> list[tuple[int, ...]]:
        at = self.field(k)
        if at is None:
            return []
        at += _number(self.data, "<I", at)
        n, size = _number(self.data, "<I", at), struct.calcsize(kind)
        if at + 4 + n * size > len(self.data):
            raise DamagedError("a list is longer than its message")
        return [struct.unpack_from(kind, self.data, at + 4 + size * i) for i in range(n)]


def _number(data: bytes, kind: str, at: int) -> int:
    if not 0 <= at <= len(data) - struct.calcsize(kind):
        raise DamagedError("an offset points outside its message")
    found: int = struct.unpack_from(kind, data, at)[0]
    return found


class Message(NamedTuple):
    """The metadata of a message, and where its body is."""

    header: _Table
    body: int  # bytes

    def batch(self) -> _Table | None:
        """The record batch, of rows or of a dictionary."""
        kind = self.header.number(1, "<B")
        inner = self.header.table(2)
        if inner is None or kind not in (_DICTIONARY, _BATCH):
            return None
        return inner.table(1) if kind == _DICTIONARY else inner

    def compressed_buffers(self) -> list[int]:
        """Where the compressed buffers begin in the body. Raises ``DamagedError`` unless all buffers are within it."""
        batch = self.batch()
        if batch is None:
            return []
        buffers = batch.structs(2, "<qq")
        if any(at < 0 or size < 0 or at + size > self.body for at, size in buffers):
            raise DamagedError("a buffer is outside the body of its message")
        return [at for at, size in buffers if size >= 8] if batch.table(3) is not None else []


def parse(metadata: bytes) -> Message:
    """The message of some metadata; ``DamagedError`` if it cannot be."""
    root = _Table(metadata, _number(metadata, "<I", 0))
    body = root.number(3, "<q")
    if body < 0:
        raise DamagedError("the length of a message is negative")
    return Message(root, body)


def check_size(message: Message, starts: list[bytes], limit: int) -> None:
    """Raise ``TooLargeError`` if the message takes more memory than the limit.

    ``starts`` are the first eight bytes of the compressed buffers: their length once decompressed; -1 if they are not.
    """
    sizes = [int.from_bytes(start, "little", signed=True) for start in starts]
    if any(size < -1 for size in sizes):
        raise DamagedError("the length of a compressed buffer is negative")
    total = message.body + sum(max(size, 0) for size in sizes)
    if total > limit:
        raise TooLargeError("a record batch", total)


def check_file(file: BoundedFile, limit: int) -> None:
    """Check every message of a file in Arrow's file format."""
    end = file.part(file.size - 10, 10)
    length = int.from_bytes(end[:4], "little", signed=True)
    if end[4:] != MAGIC:
        raise DamagedError("the file does not end as Arrow files do")
    footer = file.part(file.size - 10 - length, length)
    root = _Table(footer, _number(footer, "<I", 0))
    # Offset, length of the metadata and length of the body of all messages: dictionaries, then batches.
    for at, metadata, _ in [*root.structs(2, "<qi4xq"), *root.structs(3, "<qi4xq")]:
        whole = file.part(at, metadata)
        message = parse(whole[8 if whole.startswith(_CONTINUATION) else 4 :])
        body = at + metadata
        if body + message.body > file.size:
            raise DamagedError("a message is longer than the file")
        check_size(message, [file.part(body + place, 8) for place in message.compressed_buffers()], limit)


class CheckedStream(io.RawIOBase):
    """A stream of messages, for ``pyarrow.ipc.open_stream``. Each is checked as a whole before Arrow reads it."""

    def __init__(self, stream: Any, limit: int) -> None:
        self.stream, self.limit = stream, limit
        self.parts: list[memoryview] = []  # checked
        self.taken = 0
        self.ended = False

    def readable(self) -> bool:
        return True

    def read(self, n: int | None = -1) -> Any:
        size = _MAX_METADATA if n is None or n < 0 else n
        found: Any = self._some(size)
        while len(found) < size and (more := self._some(size - len(found))):
            found = bytes(found) + bytes(more)
        return found

    def _some(self, size: int) -> memoryview:
        while not self.parts:
            if self.ended:
                return memoryview(b"")
            self._next()
        part = self.parts.pop(0)
        if len(part) > size:
            self.parts.insert(0, part[size:])
        return part[:size]

    def _next(self) -> None:
        """Take the next message, or the end of the stream."""
        start = self._take(4, may_end=True)
        if start == _CONTINUATION:
            start += self._take(4)
        size = int.from_bytes(start[-4:], "little", signed=True)
        if size == 0:  # also at the end of the file, where the mark of the end may be missing
            self.ended = True
            if self.stream.read(1):
                raise DamagedError(f"the stream ends at byte {self.taken:,}, but the file goes on")
            self.parts = [memoryview(start)]
            return
        if not 0 < size <= _MAX_METADATA:
            raise DamagedError(f"the length of a message is {size:,}, at byte {self.taken:,}")
        metadata = self._take(size)
        message = parse(metadata)
        if message.body > self.limit:
            raise TooLargeError("a record batch", message.body)
        body = self._take(message.body)
        check_size(message, [body[at : at + 8] for at in message.compressed_buffers()], self.limit)
        self.parts = [memoryview(start), memoryview(metadata), memoryview(body)]

    def _take(self, size: int, may_end: bool = False) -> bytes:
        part: bytes = self.stream.read(size)
        self.taken += len(part)
        if len(part) < size and (part or not may_end):
            raise DamagedError(f"the file ends within a message, at byte {self.taken:,}")
        return part
