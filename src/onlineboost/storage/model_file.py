"""Model files: arrays and JSON in one safetensors file, with a format number and checksums; never code.

Layering: the model calls ``save``; ``load`` finds the class by name among those it is given.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit
from onlineboost.data.columns import Columns
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary
from onlineboost.engine.heads import curve_of
from onlineboost.errors import DataError, ModelFileError, NotFittedError, ParameterError
from onlineboost.parameters import Parameters
from onlineboost.storage.atomic import replacing

FORMAT = 4
_READABLE = (1, 2, 3, 4)
_SINCE = {"record.edges": 2, "record.weights": 2, "record.totals": 3, "head.platt": 3, "head.inverse": 3}  # formats
_SINCE |= {"head.curve": 4}
_ANEW = {"SafeBoost": 4}  # what such a class had learnt in older formats is not what it learns now
_ROWS, _COMPANION = ":rows", "companion:"


def save(model: Any, path: Path, companion: Any = None, notes: Any = None) -> None:
    """Write to a temporary file beside the target, then rename: the target is never half-written.

    The command line keeps two things in the same file: a ``companion``, which is the base learner trained on the same
    stream, and ``notes`` about the training, which are JSON.
    """
    machine = model._machine
    if machine is None:
        raise NotFittedError(f"this {type(model).__name__} has learnt nothing yet: there is nothing to save")
    if not machine.compiled:
        raise ParameterError("estimator", model.estimator, "a compiled learner such as Linear; pickle saves the others")
    arrays, facts = _contents(model)
    if companion is not None:
        more, facts["companion"] = _contents(companion)
        arrays |= {f"{_COMPANION}{name}": array for name, array in more.items()}
    if notes is not None:
        facts["notes"] = notes
    facts["arrays"] = {name: _checksum(array) for name, array in arrays.items()}
    text = json.dumps(facts, allow_nan=False)
    from safetensors.numpy import save as to_bytes

    # One entry, since their order would be by chance: the same model is the same bytes.
    content = to_bytes(arrays, {"onlineboost": f"{zlib.crc32(text.encode()):08x}{text}"})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _contents(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and facts of a model."""
    machine, columns = model._machine, model._columns
    for what, values in (("label", model._labels.known), ("feature", columns.names)):
        for value in values:
            if not isinstance(value, str | int | float):
                raise DataError(f"the {what} {value!r} cannot be kept in a model file: expected a string or a number")
    facts = {
        "format": FORMAT,
        "class": type(model).__name__,
        "params": describe(machine.maker)["params"],
        "seed": machine.settings.seed,
        "labels": model._labels.__getstate__(),
        "columns": [None if columns.schema else columns.fixed, list(columns.names), columns.headings],
        "schema": columns.schema._asdict() if columns.schema else None,
        "names": [[index, columns.hashed[index]] for index in sorted(columns.hashed)],
    }
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in machine.arrays().items():
        rows = _used_rows(array)
        if rows is None:
            arrays[name] = np.ascontiguousarray(array)
        else:
            arrays[name], arrays[name + _ROWS] = array[rows], rows
    return arrays, facts


def _checksum(array: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _used_rows(array: NDArray[Any]) -> NDArray[np.int64] | None:
    """The rows that are not all zero, if they are so few that it pays to keep them alone."""
    if array.shape[0] < 4096:
        return None
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


def load(path: str | Path, kinds: dict[str, Any]) -> Any:
    """The model in the file, ready to go on exactly where it stopped."""
    return load_all(path, kinds)[0]


def load_all(path: str | Path, kinds: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The model, the companion and the notes of a file; None where there are none."""
    path = Path(path).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a model file")
    arrays, facts = _read(path)
    companion = None
    if "companion" in facts:
        theirs = {n.removeprefix(_COMPANION): a for n, a in arrays.items() if n.startswith(_COMPANION)}
        companion = _restore(path, theirs, facts["companion"], kinds)
    return _restore(path, arrays, facts, kinds), companion, facts.get("notes")


def _restore(path: Path, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], kinds: dict[str, Any]) -> Any:
    format, kind = facts["format"], facts.get("class", "")
    if format < _ANEW.get(kind, 0):
        raise ModelFileError(path, "format", f"is {format}, and {kind} has changed since: train it anew")
    try:
        model = _build({"class": facts["class"], "params": facts["params"]}, kinds)
        fixed, names, headings = facts["columns"]
        schema = _schema(facts["schema"]) if facts.get("schema") else None
        model._columns = Columns(fixed, headings, schema)
        model._columns.names = {name: column for column, name in enumerate(names)}
        model._columns.hashed = dict(facts.get("names", ()))
        model._labels = Binary()
        model._labels.__setstate__(facts["labels"])
        machine = model._new_machine(model._columns.fixed or 0, int(facts["seed"]))
        machine.grow(model._columns.n)
        model._machine = machine
    except KeyError as problem:
        raise ModelFileError(path, str(problem.args[0]), "missing") from problem
    except (TypeError, ValueError) as problem:
        raise ModelFileError(path, "description", str(problem)) from problem
    for name, array in machine.arrays().items():
        if name not in arrays and name in _SINCE and format < _SINCE[name]:
            array[...] = curve_of(arrays["head.bins"]) if name == "head.curve" else np.nan  # nobody knows
            continue
        _fill(path, name, array, arrays)
    return model


def _fill(path: Path, name: str, array: NDArray[Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Copy what was saved into an array of zeros."""
    if name == "record.clock" and "clock" in arrays:  # its name in format 1
        name = "clock"
    if name not in arrays:
        raise ModelFileError(path, name, "missing")
    saved, rows = arrays[name], arrays.get(name + _ROWS)
    shape = array.shape if rows is None else (rows.size, *array.shape[1:])
    if saved.shape != shape or saved.dtype != array.dtype:
        found, expected = (f"{dtype}{list(s)}" for dtype, s in ((saved.dtype, saved.shape), (array.dtype, shape)))
        raise ModelFileError(path, name, f"is {found}, expected {expected}")
    if rows is None:
        array[...] = saved
    elif rows.size:
        if rows.min() < 0 or rows.max() >= array.shape[0]:
            raise ModelFileError(path, name + _ROWS, f"expected rows from 0 to {array.shape[0] - 1}")
        array[rows] = saved


def _schema(facts: dict[str, Any]) -> Schema:
    lists = {name: tuple(value) for name, value in facts.items() if isinstance(value, list)}
    return Schema(**{**facts, **lists})


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ModelFileError(path, "container", f"not a whole model file ({problem})") from problem
    if "onlineboost" not in metadata:
        raise ModelFileError(path, "description", "missing: this safetensors file was not written by onlineboost")
    checksum, text = metadata["onlineboost"][:8], metadata["onlineboost"][8:]
    if "crc32" in metadata:  # format 1
        checksum, text = f"{int(metadata['crc32']):08x}", metadata["onlineboost"]
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise ModelFileError(path, "description", "checksum does not match: the file is damaged")
    facts = json.loads(text)
    if facts.get("format") not in _READABLE:
        problem_text = f"is {facts.get('format')!r}, expected at most {FORMAT}: upgrade onlineboost to read it"
        raise ModelFileError(path, "format", problem_text)
    for name, expected in facts["arrays"].items():
        if name not in arrays:
            raise ModelFileError(path, name, "missing")
        if _checksum(arrays[name]) != expected:
            raise ModelFileError(path, name, "checksum does not match: the file is damaged")
    return arrays, facts


def describe(value: Any) -> Any:
    """A parameter's value as JSON."""
    if isinstance(value, Parameters):
        params = value._saved_params()
        return {"class": type(value).__name__, "params": {name: describe(v) for name, v in params.items()}}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, list | tuple):
        return [describe(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _build(description: Any, kinds: dict[str, Any]) -> Any:
    if not isinstance(description, dict):
        return description
    if "array" in description:
        return np.array(description["array"])
    name = description["class"]
    if name not in kinds:
        raise ValueError(f"the class {name} is not known: import the module that defines it before loading")
    defaults = kinds[name]._defaults()
    params = {key: _build(value, kinds) for key, value in description["params"].items()}
    return kinds[name](**{k: tuple(v) if isinstance(defaults.get(k), tuple) else v for k, v in params.items()})
