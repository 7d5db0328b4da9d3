"""Inputs of a training: which were learnt before, and which have grown since.

An input is known by its file's name (without the folder, so that it may move), its size and a digest. The digest covers
the whole of a file of up to 256 KiB. Of a larger file it covers 64 blocks of 4 KiB at even distances, the first and the
last among them: it costs milliseconds for any size, and a change between the blocks that keeps the size goes unnoticed.
Standard input and pipes are known by their first rows, as they were read.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onlineboost.cli.terminal import tell

if TYPE_CHECKING:
    from onlineboost.data.batch import Batch

PIPE = "-"  # the name of standard input and all pipes
_BLOCK, _BLOCKS = 1 << 12, 64
_HEAD = 256  # rows
_SHOWN = 3


class Input(NamedTuple):
    """What a file or a pipe is known by."""

    name: str
    size: int | None = None  # None: a pipe
    digest: str | None = None  # None: not known yet


class Learnt(NamedTuple):
    """An input that was learnt to its end."""

    name: str
    size: int | None
    digest: str
    rows: int
    times: int


class Part(NamedTuple):
    """An input to read in a pass, and the number of rows at its beginning that are not learnt again."""

    place: int  # among the inputs named
    skip: int


def identify(name: str) -> Input:
    from onlineboost.readers.files import is_regular

    if not is_regular(name):
        return Input(PIPE)
    size = os.path.getsize(name)
    return Input(os.path.basename(name), size, digest(name, size))


def digest(path: str | Path, size: int) -> str:
    """The digest of the first bytes of a file, this many."""
    found = hashlib.blake2b(digest_size=8)
    with open(path, "rb", buffering=0) as file:
        for k in range(_BLOCKS):
            start = k * _BLOCK if size <= _BLOCK * _BLOCKS else k * (size - _BLOCK) // (_BLOCKS - 1)
            file.seek(start)
            found.update(file.read(max(0, min(_BLOCK, size - start))))
    return found.hexdigest()


def head_digest(batch: Batch) -> str:
    """The digest of the first rows of a pipe, of its first batch."""
    n, found = min(_HEAD, batch.y.size), hashlib.blake2b(digest_size=8)
    part = slice(batch.indptr[0], batch.indptr[n])
    for array in (
        np.diff(batch.indptr[: n + 1]),
        batch.indices[part],
        batch.values[part],
        batch.y[:n],
        batch.weight[:n],
    ):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def has_grown(path: str, size: int, earlier: str) -> bool:
    """Whether the file still begins with what had this size and digest, up to the end of a line."""
    from onlineboost.readers.decompress import compression_of

    with open(path, "rb") as file:
        start = file.read(8)
        file.seek(max(0, size - 1))
        last, following = file.read(1), file.read(1)
    if not following or digest(path, size) != earlier:
        return False
    return not size or compression_of(start) is not None or last == b"\n" or following in b"\r\n"


@dataclass
class Inputs:
    """The inputs named, and what is left to learn of them."""

    names: list[str]
    learnt: list[Learnt]  # by the model, before and, in the end, now
    passes: int
    again: bool
    found: list[Input] = field(init=False)
    earlier: list[Learnt | None] = field(init=False)  # of each: all of it, or its beginning if it has grown since

    def __post_init__(self) -> None:
        self.found = [identify(name) for name in self.names]
        self.by_name: dict[str, list[Learnt]] = {}
        for one in self.learnt:
            self.by_name.setdefault(one.name, []).append(one)
        self.earlier = [self._earlier(place) for place in range(len(self.names))]

    def _earlier(self, place: int) -> Learnt | None:
        input = self.found[place]
        same = self.by_name.get(input.name, [])
        for one in reversed(same):
            if one[:3] == input:
                return one
        for one in same[-1:]:
            if one.size is not None and input.size is not None and has_grown(self.names[place], one.size, one.digest):
                return one
        return None

    def parts(self, number: int) -> list[Part]:
        """What to read in this pass, and in all later ones; pipes are known when they are read."""
        parts, met, named = list[Part](), Counter[Input](), Counter(self.found)
        for place, (input, earlier) in enumerate(zip(self.found, self.earlier, strict=True)):
            met[input] += 1
            times = (number - 1) * named[input] + met[input]  # that it was learnt after this
            if self.again or earlier is None or times > earlier.times:
                parts.append(Part(place, 0))
            elif earlier.size != input.size:
                parts.append(Part(place, earlier.rows))
        return parts

    def meet(self, place: int, batch: Batch) -> int:
        """Identify a pipe by its first batch; the number of rows that were learnt before."""
        self.found[place] = Input(PIPE, None, head_digest(batch))
        earlier = self.earlier[place] = self._earlier(place)
        if self.again or earlier is None:
            return 0
        tell(f"onlineboost: {_shown(self.names[place])}: its first {earlier.rows:,} rows were learnt before: skipped")
        return earlier.rows

    def as_json(self) -> list[dict[str, Any]]:
        return [{"size": input.size, "digest": input.digest} for input in self.found]

    def changed(self, recorded: list[dict[str, Any]]) -> list[str]:
        """The inputs that are not those recorded earlier, nor these with more rows at the end."""
        found = []
        for place, (name, input) in enumerate(zip(self.names, self.found, strict=True)):
            size, earlier = recorded[place]["size"], recorded[place]["digest"]
            if earlier is None or input.digest is None or (size is None) != (input.size is None):
                continue
            same = (size, earlier) == (input.size, input.digest)
            if not same and (size is None or not has_grown(name, size, earlier)):
                found.append(_shown(name))
        return found

    def finish(self, rows: dict[int, int]) -> None:
        """Add the inputs read to those learnt; ``rows`` has the number of rows of each."""
        position = {one: k for k, one in enumerate(self.learnt)}
        named = Counter(self.found)
        for place, n in rows.items():
            input, earlier = self.found[place], self.earlier[place]
            count = named.pop(input, 0) * self.passes  # the same file may be named twice
            if input.digest is None or not count:
                continue
            if earlier is not None and earlier[:3] == input:
                count = earlier.times + count if self.again else max(earlier.times, count)
            new = Learnt(input.name, input.size, input.digest, n, count)
            if earlier in position:
                self.learnt[position[earlier]] = new
            else:
                self.learnt.append(new)

    def tell(self) -> None:
        """Say which files are not learnt from their beginning."""
        read = {part.place for part in self.parts(self.passes)}
        skipped = [place for place in range(len(self.names)) if place not in read]
        for place in skipped if len(skipped) <= _SHOWN else ():
            earlier = self.earlier[place]
            assert earlier is not None
            tell(f"onlineboost: {self.names[place]}: all {earlier.rows:,} rows were learnt before: skipped")
        if len(skipped) > _SHOWN:
            tell(f"onlineboost: {len(skipped):,} of {len(self.names):,} files were learnt before: skipped")
        for place, skip in self.parts(1):
            if skip:
                tell(f"onlineboost: {self.names[place]}: grown since {skip:,} rows were learnt: continuing after them")
        if not read:
            tell("onlineboost: nothing to learn: --again learns these files once more")


def _shown(name: str) -> str:
    return "standard input" if name == PIPE else name
