"""Streams of examples from files, data frames, arrays and dicts."""

from onlineboost.readers.stream import Stream, open_stream

__all__ = ["Stream", "open_stream"]
