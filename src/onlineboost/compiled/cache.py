"""Compiled code on disk: shipped with the package, or compiled on this machine.

A file holds the code of one function for one signature. Its name has a digest of all that the code depends on:
signature, processor and Numba's settings; the folder's name one of our sources, and the versions of Numba and Python.
So code compiled elsewhere for a level of processors, such as x86-64-v3, is found wherever the same package is
installed. Code compiled here is for the processor of this machine. Each file begins with a checksum: a damaged one is
compiled again. Code that others may have written is not used (``folders.py``); that of the package is as trusted as its
sources.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import pickle
import secrets
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from onlineboost.compiled import folders, loader, turns

_PACKAGE = Path(__file__).parent.parent
SHIPPED = Path(__file__).parent / "ahead"  # made by scripts/compile_ahead.py
Machine = tuple[str, str, str]  # triple, processor, features: what Numba compiles for
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")
LEVELS = {"x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"), "x86-64-v3": _V3}


_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USING_SVML")  # of Numba


_ROOMS = "compiled", "data", "storage"  # packages whose constants may be in any compiled code


@functools.cache
def source_digest() -> str:
    """A digest of the sources of compiled code: files with compiled functions, and the lowest packages."""
    sha = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        name, text = file.relative_to(_PACKAGE), file.read_bytes()
        if name.parts[0] in _ROOMS or b"compiled.jit" in text or b"NamedTuple" in text:
            sha.update(name.as_posix().encode())
            sha.update(text)
    return sha.hexdigest()[:16]


@functools.cache
def folder_name() -> str:
    """The folder of code that these sources, this Numba and this Python can use; "" where there are no sources."""
    if not any(_PACKAGE.glob("*.py")):  # a zip file, or an installation of bytecode alone
        return ""
    return f"onlineboost-{source_digest()}-{numba.__version__}-{sys.implementation.cache_tag}"


@functools.cache
def _own_folder() -> str:
    """The folder of code compiled on this machine, "" if there cannot be one."""
    root, name = folders.chosen(), folder_name()
    if root is None or not name:
        return ""
    try:
        folders.check_folder(root, name)
    except folders.NotTrustedError as problem:
        root = next(folders.private(name), None)
        instead = f"compiled code is kept in {root}" if root is not None else "every process compiles again"
        say(f"compiled code in {folders.chosen()} is not used: {problem}. Instead, {instead}")
    return str(root / name) if root is not None else ""


@functools.cache
def cache_directory() -> str:
    """The folder for code compiled on this machine, or "" if it is not writable: then every process compiles again."""
    folder = _own_folder()
    try:
        if not folder:
            raise OSError(errno.ENOENT, "no home, or no sources")
        folders.make(Path(folder))
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        place = Path(folder).parent
        say(
            f"compiled code cannot be kept in {place} ({problem.strerror}), so every process compiles again: "
            "set NUMBA_CACHE_DIR to a writable folder"
        )
        return ""
    return folder


@functools.cache
def shipped_levels() -> tuple[str, ...]:
    """The levels of processors that the package has code for and that this processor has, best first."""
    try:
        triple, *shipped = (SHIPPED / folder_name() / "levels").read_text().split()
    except OSError:
        return ()
    features = llvm.get_host_cpu_features()
    usable = (level for level in shipped if all(features.get(name) for name in LEVELS.get(level, ())))
    return tuple(usable) if triple == llvm.get_process_triple() else ()


def say(message: str) -> None:
    """Print a message of the library itself."""
    if sys.stderr is None:  # closed by the parent process
        return
    print(f"onlineboost: {message}", file=sys.stderr, flush=True)


@functools.cache
def _say_once(message: str) -> None:
    say(message)


def _places(machine: Machine) -> Iterator[tuple[str, Machine]]:
    """Folders that may have code for this machine, and what the code in them was compiled for."""
    for level in shipped_levels():
        yield str(SHIPPED / folder_name()), (machine[0], level, "")
    if _own_folder():
        yield _own_folder(), machine


def _path(folder: str, machine: Machine, name: str, *parts: str) -> Path:
    settings = [str(getattr(numba.config, setting)) for setting in _SETTINGS]
    digest = hashlib.sha256("\n".join([name, *machine, *settings, *parts]).encode()).hexdigest()
    return Path(folder) / f"{name}-{digest[:24]}"


def _spelled(type: Any) -> str:
    """The name of a type: the same in every process, but different for classes of the same name."""
    if isinstance(type, types.BaseTuple):
        made = getattr(type, "instance_class", tuple)
        names = getattr(made, "_fields", range(len(type.types)))
        items = (f"{name}: {_spelled(each)}" for name, each in zip(names, type.types, strict=True))
        return f"{made.__module__}.{made.__qualname__}({', '.join(items)})"
    if hasattr(type, "inner"):  # a block
        return f"block({_spelled(type.inner)})"
    return str(type)


def is_done(task: str) -> bool:
    """Whether all code that a task needs is there: ``note_done`` was called here, or where the package was made."""
    return any(_path(folder, machine, "done", task).exists() for folder, machine in _places(_this_machine()))


def note_done(task: str) -> None:
    if cache_directory():
        write(_path(cache_directory(), _this_machine(), "done", task), task.encode())


def _this_machine() -> Machine:
    machine: Machine = cpu_target.target_context.codegen().magic_tuple()
    return machine


def processor() -> str:
    """The processor that code is compiled for on this machine."""
    return _this_machine()[1]


class Cache(NullCache):  # type: ignore[misc]
    """The code of one function of a module, by signature; takes the place of Numba's ``FunctionCache``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"

    @property
    def cache_path(self) -> str:
        return _own_folder()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        loader.note_use()
        rtsys.initialize(target_context)  # Numba needs the rest only to compile
        machine = target_context.codegen().magic_tuple()
        content = self._content(sig, machine)
        if content is None and cache_directory():
            turns.begin(self._path(cache_directory(), machine, sig))
            content = self._content(sig, machine)
            if content is not None:  # another process has compiled it in the meantime
                turns.end()
        return content and CompileResult._rebuild(target_context, *pickle.loads(content))  # noqa: SLF001

    def _content(self, sig: Any, machine: Machine) -> bytes | None:
        paths = ((folder, self._path(folder, one, sig)) for folder, one in _places(machine))
        contents = (read(path, shipped=folder != _own_folder()) for folder, path in paths)
        return next((content for content in contents if content is not None), None)

    def save_overload(self, sig: Any, data: Any) -> None:
        if cache_directory() and not data.library.has_dynamic_globals:
            library, *content, constants = data._replace(type_annotation="")._reduce()  # noqa: SLF001  no public way
            name, kind, (code, _) = library  # and intermediate code, which no other function takes in
            names = data.fndesc.llvm_cpython_wrapper_name, data.fndesc.llvm_func_name  # called by Python, by our code
            entry = llvm.parse_assembly("\n".join(f'define void @"{one}"() {{ ret void }}' for one in names))
            used = tuple(some for some in constants if some.consts)  # the others only load their modules
            slim = (name, kind, (code, entry.as_bitcode())), *content, used
            write(self._path(cache_directory(), data.codegen.magic_tuple(), sig), dumps(slim))
        turns.end()

    def _path(self, folder: str, machine: Machine, sig: Any) -> Path:
        return _path(folder, machine, self._name, *(_spelled(type) for type in sig))


def read(path: Path, shipped: bool = False) -> bytes | None:
    """The contents of a file, or None if it is missing, damaged, or not to be trusted."""
    try:
        content = path.read_bytes() if shipped else folders.contents(path)
    except OSError:
        return None
    except folders.NotTrustedError as problem:
        _say_once(f"compiled code is not used: {problem}. Compiling again")
        return None
    if content[:4] != _checksum(content[4:]):
        _say_once(f"the cache of compiled code in {path.parent} is damaged: compiling again")
        return None
    return content[4:]


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, with the folder's permissions; a full disk is no error."""
    try:
        try:
            _write(path, _checksum(content) + content)
        except FileNotFoundError:  # the folder was deleted since
            folders.make(path.parent)
            _write(path, _checksum(content) + content)
    except OSError as problem:
        _say_once(f"compiled code cannot be kept in {path.parent} ({problem.strerror})")


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # processes of other machines may write, too
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, folders.FILE_MODE)) as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")
