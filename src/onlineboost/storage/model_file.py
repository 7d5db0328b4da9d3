"""Model files: arrays and JSON in one safetensors file, with a format number and checksums; never code.

A file has parts, such as a model and its base learner: each is a dict of arrays and a dict of facts, as JSON.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit
from onlineboost.errors import ModelFileError, ParameterError
from onlineboost.storage import upgrades
from onlineboost.storage.atomic import replacing
from onlineboost.storage.upgrades import Arrays, Facts
from onlineboost.storage.validity import InvalidStateError, check_values, limits_of, saved_arrays

_ROWS = ":rows"
_MANY_ROWS = 1 << 12
_MAX_DEPTH = 100  # levels of lists and dicts in a description


class Part(NamedTuple):
    arrays: Arrays
    facts: Facts
    plan: Arrays | None = None  # the arrays before anything was learned; without it, all rows are saved


def packed(parts: dict[str, Part], notes: Any = None) -> bytes:
    """The content of a model file. The same parts give the same bytes."""
    from safetensors.numpy import save as to_bytes

    arrays: Arrays = {}
    for part, (mine, _, plan) in parts.items():
        for name, array in mine.items():
            rows = _used_rows(array) if plan is not None and name in plan and _may_be_sparse(plan[name]) else None
            arrays[f"{part}.{name}"] = np.ascontiguousarray(array) if rows is None else array[rows]
            if rows is not None:
                arrays[f"{part}.{name}{_ROWS}"] = rows
    facts = {
        "format": upgrades.FORMAT,
        "parts": {part: mine.facts for part, mine in parts.items()},
        "notes": notes,
        "arrays": {name: _checksum(array) for name, array in arrays.items()},
    }
    if not is_shallow(facts):
        raise ParameterError("notes", notes, f"at most {_MAX_DEPTH} levels of lists and dicts")
    text = json.dumps(facts, allow_nan=False)
    # One entry, since the order of several would vary.
    found: bytes = to_bytes(arrays, {"onlineboost": f"{zlib.crc32(text.encode()):08x}{text}"})
    return found


def write(path: Path, content: bytes) -> None:
    """Write to a temporary file, then rename: the target is never half-written."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def read(path: str | Path) -> tuple[dict[str, Part], Any]:
    """The parts and the notes of a file."""
    path = Path(path).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a model file")
    arrays, facts = _contents(path)
    try:
        arrays, facts = upgrades.upgraded(arrays, facts)
        parts = {}
        for part, mine in facts["parts"].items():
            names = {name.removeprefix(f"{part}."): name for name in arrays if name.startswith(f"{part}.")}
            parts[part] = Part({short: arrays[name] for short, name in names.items()}, mine)
        return parts, facts.get("notes")
    except upgrades.OutdatedError as problem:
        raise ModelFileError(path, "format", str(problem)) from None
    except (KeyError, AttributeError, TypeError, ValueError, IndexError, MemoryError) as problem:
        raise ModelFileError(path, "description", f"not the description of a model ({problem!r})") from problem


def check_plan(path: Path, plan: Arrays, arrays: Arrays) -> None:
    """Raise an error unless the file has all arrays of a plan in their shapes, before memory is allocated."""
    for name, array in plan.items():
        if name not in arrays:
            raise ModelFileError(path, name, "missing")
        saved, rows = arrays[name], arrays.get(name + _ROWS)
        shape = array.shape if rows is None else (rows.size, *array.shape[1:])
        if saved.shape != shape or saved.dtype != array.dtype:
            found, expected = (f"{dtype}{list(s)}" for dtype, s in ((saved.dtype, saved.shape), (array.dtype, shape)))
            raise ModelFileError(path, name, f"is {found}, expected {expected}")
        if rows is not None and not (_may_be_sparse(array) and _are_rows(rows, array.shape[0])):
            raise ModelFileError(path, name + _ROWS, f"expected increasing numbers from 0 to {array.shape[0] - 1}")


def fill(path: Path, part: str, state: Any, arrays: Arrays) -> None:
    """Copy saved arrays, whose shapes were checked, into a new state; raise an error unless the result is valid."""
    try:
        limits, mine = limits_of(state), saved_arrays(state)
        for field, array in mine.items():
            name = f"{part}.{field}"
            saved, rows = arrays[name], arrays.get(name + _ROWS)
            check_values(field, saved, limits)
            if rows is None:
                array[...] = saved
            elif rows.size:
                array[rows] = saved
        if hasattr(state, "fill"):
            state.fill(mine)
        if hasattr(state, "check"):
            state.check()
    except InvalidStateError as problem:
        raise ModelFileError(path, f"{part}.{problem.field}", str(problem)) from None


def _may_be_sparse(plan: NDArray[Any]) -> bool:
    """Whether rows of zeros may be left out: if there are many, and all were zeros before anything was learned.

    Zeros take no memory until they are written to; any other array is as large in the file as in memory.
    """
    return plan.ndim > 0 and plan.shape[0] >= _MANY_ROWS and not plan[:1].any()


def _are_rows(rows: NDArray[Any], most: int) -> bool:
    if rows.dtype != np.int64 or rows.ndim != 1:
        return False
    return not rows.size or bool(rows[0] >= 0 and rows[-1] < most and (rows[1:] > rows[:-1]).all())


def _contents(path: Path) -> tuple[Arrays, Facts]:
    """Arrays and description, verified by their checksums."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        expected = "expected what model.save or onlineboost train -o has written"
        raise ModelFileError(path, "container", f"not a model file, or only a part of one: {expected}") from problem
    if "onlineboost" not in metadata:
        raise ModelFileError(path, "description", "missing: this safetensors file was not written by onlineboost")
    checksum, text = metadata["onlineboost"][:8], metadata["onlineboost"][8:]
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise ModelFileError(path, "description", "checksum does not match: the file is damaged")
    try:
        facts = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        raise ModelFileError(path, "description", f"not JSON ({problem})") from None
    if not is_shallow(facts):
        raise ModelFileError(path, "description", f"nested too deep: expected at most {_MAX_DEPTH} levels")
    format = facts.get("format") if isinstance(facts, dict) else None
    if type(format) is not int or not 1 <= format <= upgrades.FORMAT:
        expected = f"expected a number from 1 to {upgrades.FORMAT}: try a newer onlineboost"
        raise ModelFileError(path, "format", f"is {format!r}, {expected}")
    if format < upgrades.OLDEST:
        raise ModelFileError(path, "format", f"is {format}, of an older onlineboost: train the model again")
    sums = facts.get("arrays")
    if not isinstance(sums, dict):
        raise ModelFileError(path, "arrays", "missing")
    for name in sums.keys() ^ arrays.keys():
        raise ModelFileError(path, name, "missing" if name in sums else "has no checksum: the file is damaged")
    for name, expected_sum in sums.items():
        if _checksum(arrays[name]) != expected_sum:
            raise ModelFileError(path, name, "checksum does not match: the file is damaged")
    return arrays, facts


def is_shallow(value: Any) -> bool:
    """Whether a JSON value has few levels, so that it can be read recursively."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list | tuple)
        )
        level = [one for items in inner for one in items if isinstance(one, dict | list | tuple)]
        if not level:
            return True
    return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _checksum(array: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _used_rows(array: NDArray[Any]) -> NDArray[np.int64] | None:
    """The rows that are not all zero, if they are less than half; else None."""
    flat = array.reshape(array.shape[0], -1)
    used = np.flatnonzero(_any_in_row(flat.view(np.uint8)) if flat.flags.c_contiguous else flat.any(axis=1))
    return used if 2 * used.size < array.shape[0] else None


@njit
def _any_in_row(table: NDArray[np.uint8]) -> NDArray[np.bool_]:
    used = np.zeros(table.shape[0], np.bool_)
    for r in range(table.shape[0]):
        total = 0
        for j in range(table.shape[1]):  # without a branch, which the compiler turns into vector code
            total |= table[r, j]
        used[r] = total != 0
    return used
