"""Files to write, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from onlineboost.data.page import Page

Write: TypeAlias = Callable[[Page], None]  # what a writer gives


class Output(NamedTuple):
    """A file to write, and where its examples come from."""

    name: str  # as the caller gave it
    path: Path  # a temporary file, renamed when everything is written
    stream_again: Callable[[], Any]  # opens the stream once more, for formats that need all names first
    rereadable: bool  # whether that is possible
    stack: ExitStack  # closes what was opened

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    def open(self) -> Any:
        """The file, to write bytes to; compressed if its name says so."""
        return self.stack.enter_context(_compressed(self.path, self.suffix))


def _compressed(path: Path, suffix: str) -> Any:
    if suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd")
    kinds: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return kinds.get(suffix, open)(path, "wb")
