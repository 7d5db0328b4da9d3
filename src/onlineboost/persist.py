"""Model files: arrays and JSON in one safetensors file, with a format number and checksums; never code.

Layering: the model calls ``save``; ``load`` finds the class by name among those it is given.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.columns import Columns
from onlineboost.errors import DataError, ModelFileError, NotFittedError, ParameterError
from onlineboost.labels import Labels
from onlineboost.parameters import Parameters

FORMAT = 1


def save(model: Any, path: Path) -> None:
    """Write to a temporary file beside the target, then rename: the target is never half-written."""
    machine = model._machine
    if machine is None:
        raise NotFittedError(f"this {type(model).__name__} has learnt nothing yet: there is nothing to save")
    if not machine.compiled:
        raise ParameterError("estimator", model.estimator, "a compiled learner such as Linear; pickle saves the others")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first")
    arrays = {name: np.ascontiguousarray(array) for name, array in state_arrays(machine).items()}
    facts = {
        "format": FORMAT,
        "class": type(model).__name__,
        "params": machine.made_by["params"],
        "seed": machine.settings.seed,
        "labels": model._labels.__getstate__(),
        "columns": [model._columns.fixed, list(model._columns.names), model._columns.headings],
        "arrays": {name: zlib.crc32(array.data.cast("B")) for name, array in arrays.items()},
    }
    for what, values in (("label", model._labels.known), ("feature", model._columns.names)):
        for value in values:
            if not isinstance(value, str | int | float):
                raise DataError(f"the {what} {value!r} cannot be kept in a model file: expected a string or a number")
    text = json.dumps(facts, allow_nan=False)
    from safetensors.numpy import save as to_bytes

    content = to_bytes(arrays, {"onlineboost": text, "crc32": str(zlib.crc32(text.encode()))})
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # as any new file; a temporary one is private
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | Path, kinds: dict[str, Any]) -> Any:
    """The model in the file, ready to go on exactly where it stopped."""
    path = Path(path).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a model file")
    arrays, facts = _read(path)
    try:
        model = _build({"class": facts["class"], "params": facts["params"]}, kinds)
        fixed, names, headings = facts["columns"]
        model._columns = Columns(fixed, headings)
        model._columns.names = {name: column for column, name in enumerate(names)}
        model._labels = Labels()
        model._labels.__setstate__(facts["labels"])
        machine = model._new_machine(fixed or 0, int(facts["seed"]))
        machine.committee = model._grow(machine.committee, model._columns.n)
        model._machine = machine
    except KeyError as problem:
        raise ModelFileError(path, str(problem.args[0]), "missing") from problem
    except (TypeError, ValueError) as problem:
        raise ModelFileError(path, "description", str(problem)) from problem
    for name, array in state_arrays(machine).items():
        if name not in arrays:
            raise ModelFileError(path, name, "missing")
        if arrays[name].shape != array.shape or arrays[name].dtype != array.dtype:
            found, expected = (f"{a.dtype}{list(a.shape)}" for a in (arrays[name], array))
            raise ModelFileError(path, name, f"is {found}, expected {expected}")
        array[...] = arrays[name]
    return model


def state_arrays(machine: Any) -> dict[str, NDArray[Any]]:
    """What a file must hold: every array of the state that cannot be worked out again from the parameters."""
    arrays = {"clock": machine.clock}
    for part, state in (("committee", machine.committee), ("booster", machine.booster)):
        for name, value in zip(state._fields, state, strict=True):
            if isinstance(value, np.ndarray) and (part == "committee" or name not in machine.derived):
                arrays[f"{part}.{name}"] = value
    return arrays


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ModelFileError(path, "container", f"not a complete safetensors file ({problem})") from problem
    if "onlineboost" not in metadata:
        raise ModelFileError(path, "description", "missing: this safetensors file was not written by onlineboost")
    text = metadata["onlineboost"]
    if metadata.get("crc32") != str(zlib.crc32(text.encode())):
        raise ModelFileError(path, "description", "checksum does not match: the file is damaged")
    facts = json.loads(text)
    if facts.get("format") != FORMAT:
        problem_text = f"is {facts.get('format')!r}, expected {FORMAT}: upgrade onlineboost to read it"
        raise ModelFileError(path, "format", problem_text)
    for name, checksum in facts["arrays"].items():
        if name not in arrays:
            raise ModelFileError(path, name, "missing")
        if zlib.crc32(np.ascontiguousarray(arrays[name]).data.cast("B")) != checksum:
            raise ModelFileError(path, name, "checksum does not match: the file is damaged")
    return arrays, facts


def describe(value: Any) -> Any:
    """A parameter's value as JSON."""
    if isinstance(value, Parameters):
        params = value._saved_params()
        return {"class": type(value).__name__, "params": {name: describe(v) for name, v in params.items()}}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value.item() if isinstance(value, np.generic) else value


def _build(description: Any, kinds: dict[str, Any]) -> Any:
    if not isinstance(description, dict):
        return description
    if "array" in description:
        return np.array(description["array"])
    name = description["class"]
    if name not in kinds:
        raise ValueError(f"the class {name} is not known: import the module that defines it before loading")
    return kinds[name](**{key: _build(value, kinds) for key, value in description["params"].items()})
