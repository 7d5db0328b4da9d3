"""Files that are complete or absent, never half-written."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from onlineboost.errors import ParameterError

try:
    import fcntl
except ImportError:  # not on Windows: remains of killed processes stay there
    fcntl = None  # type: ignore[assignment]

_END = ".partial"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_target(name: str, target: str | Path, sources: list[str]) -> None:
    """Raise an error if writing would overwrite a source, or something that is not a file; ``name`` is the option."""
    path = Path(target).expanduser()
    if str(target) == "-" or (path.exists() and not path.is_file()):
        raise ParameterError(name, str(target), "the name of a file")
    for source in sources:
        if source != "-" and path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise ParameterError(name, str(target), "another file than the input")


def fingerprint(path: Path) -> tuple[int, ...] | None:
    """The identity of a file, which changes when it is replaced; None if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return None


def write_text(path: Path, text: str) -> None:
    """Write a whole file of UTF-8 text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside the target to write to; it replaces the target at the end.

    Its name cannot be guessed and it is always a new file, so that no link leads elsewhere and several processes
    can write the same target: the last one wins. Only the owner can read it until it is complete. The target keeps its
    mode; a new one gets that of the umask. A target that is a symbolic link is written through: the link stays.

    A lock on the temporary file lives as long as its process. Files without a lock are the remains of killed processes:
    the next writer of the same target removes them.
    """
    target = _real(path)
    with _named(path):
        held, temporary = _create(target)
        try:
            kept = target if target.exists() else temporary
            mode = stat.S_IMODE(kept.stat().st_mode)
            temporary.chmod(0o600)
            _remove_remains(target)
            yield temporary
            os.fsync(held.fileno())
            temporary.chmod(mode)
            if fcntl is None:
                held.close()  # Windows renames closed files only
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            held.close()
    _flush_folder(target.parent)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Make errors of a full disk name the target and its state."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in _NO_ROOM:
            raise
        state = "the old file is unchanged" if path.exists() else "there is no file"
        raise OSError(problem.errno, f"{os.strerror(problem.errno)}: not written, {state}", str(path)) from problem


def _real(path: Path) -> Path:
    """The file itself, where the path is a symbolic link; an error if it cannot be replaced."""
    if path.is_symlink():
        path = Path(os.path.realpath(path))
        if path.is_symlink():
            raise OSError(errno.ELOOP, "symbolic links that lead to themselves", str(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file: it is not replaced")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: create it first")
    return path


def _prefix(target: Path) -> str:
    long = len(os.fsencode(target.name)) > 200  # of the 255 bytes that a name may have
    return f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16] if long else target.name}."


def _create(target: Path) -> tuple[IO[bytes], Path]:
    """A new, locked file beside the target: the lock ends when it is closed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    while True:
        temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}{_END}")
        try:
            held = os.fdopen(os.open(temporary, flags, 0o600 if target.exists() else 0o666), "rb")
        except OSError as problem:  # names the file as the caller did
            raise OSError(problem.errno, problem.strerror, str(target)) from None
        if _lock(held) and temporary.exists():
            return held, temporary
        held.close()  # another writer removed it before it was locked


def _lock(held: IO[bytes]) -> bool:
    """Whether the file could be locked; where there are no locks, it counts as locked."""
    if fcntl is not None:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return True


def _remove_remains(target: Path) -> None:
    """Remove the files of killed writers: those without a lock."""
    if fcntl is None:
        return
    begin, size = _prefix(target), len(_prefix(target)) + 16 + len(_END)
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and entry.name.endswith(_END) and len(entry.name) == size:
                _remove_unlocked(entry.path)


def _remove_unlocked(name: str) -> None:
    with suppress(OSError), _opened(name, os.O_RDWR | os.O_NOFOLLOW) as number:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name)


def _flush_folder(folder: Path) -> None:
    """Make the new name survive a power failure, where the file system can."""
    with suppress(OSError), _opened(folder, os.O_RDONLY) as number:
        os.fsync(number)


@contextmanager
def _opened(name: str | Path, flags: int) -> Iterator[int]:
    number = os.open(name, flags)
    try:
        yield number
    finally:
        os.close(number)
