"""Model files taken apart and put together again, with checksums of what they now hold: what a forger would do."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

Arrays = dict[str, np.ndarray]


def opened(content: bytes) -> tuple[Arrays, Any]:
    """The arrays and the description of a model file."""
    (size,) = struct.unpack("<Q", content[:8])
    text = json.loads(content[8 : 8 + size])["__metadata__"]["onlineboost"][8:]
    return {name: array.copy() for name, array in from_bytes(content).items()}, json.loads(text)


def closed(arrays: Arrays, facts: Any) -> bytes:
    """The content of a model file, with right checksums."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if isinstance(facts, dict) and isinstance(facts.get("arrays"), dict):
        facts["arrays"] = {name: zlib.crc32(a.reshape(-1).view(np.uint8).data) for name, a in arrays.items()}
    text = json.dumps(facts)
    return to_bytes(arrays, {"onlineboost": f"{zlib.crc32(text.encode()):08x}{text}"})


def forge(path: Path, target: Path, change: Callable[[Arrays, Any], object]) -> None:
    """Write a changed copy of a model file, with right checksums."""
    arrays, facts = opened(path.read_bytes())
    change(arrays, facts)
    target.write_bytes(closed(arrays, facts))
