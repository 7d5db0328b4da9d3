"""Pages to files: the same examples in another format, so that reading them gives the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from onlineboost.errors import ParameterError
from onlineboost.readers.format import Output, Write, by_name
from onlineboost.registry import FORMATS
from onlineboost.storage.atomic import replacing


@contextmanager
def open_writer(target: str, stream_again: Callable[[], Any], rereadable: bool) -> Iterator[Write]:
    """A function that writes a page. The file appears when everything is written.

    Formats with columns need all names first: they read the stream once more, by ``stream_again``.
    """
    format = by_name(target)
    if format is None or format.writer is None:
        suffixes = ", ".join(format.suffixes[0] for format in FORMATS if format.writer is not None)
        raise ParameterError("target", target, f"a file name that ends in one of {suffixes}")
    with replacing(Path(target).expanduser()) as temporary, ExitStack() as stack:
        yield format.writer(Output(target, temporary, stream_again, rereadable, stack))
        stack.close()
