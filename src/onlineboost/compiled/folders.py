"""Folders of compiled code, and whether to trust them: their content is executed.

Trusted are folders and files that belong to this user or to root, and that nobody else may write to. The group of the
user alone (of the same name, without other members) is nobody else. The folder that the user has named may be sticky
and open to all, as ``/tmp`` is: others cannot replace a folder within. Windows has no such owners, and is not checked.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o755, 0o644  # before the user's umask
_BINARY, _NO_LINK = getattr(os, "O_BINARY", 0), getattr(os, "O_NOFOLLOW", 0)


class NotTrustedError(Exception):
    """A file or folder that others may have written to. The message says why."""


def user_folder() -> Path | None:
    """The user's cache folder; None for a user without a home."""
    from platformdirs import user_cache_path

    try:
        return user_cache_path("onlineboost", appauthor=False)
    except RuntimeError:
        return None


def chosen() -> Path | None:
    """The folder that the user has chosen for compiled code, or the user's cache folder."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named) if named else user_folder()


def private(name: str) -> Iterator[Path]:
    """Trusted folders to take instead, with the folder ``name`` in them."""
    mine = Path(tempfile.gettempdir()) / f"onlineboost-{os.geteuid() if hasattr(os, 'geteuid') else 'cache'}"
    for root in (user_folder(), mine):
        try:
            if root is not None:
                make(root / name)
                check_folder(root, name)
                yield root
        except (OSError, NotTrustedError):
            continue


def make(folder: Path) -> None:
    """Make a folder of ours, in one that is made if it is missing."""
    os.makedirs(folder.parent, FOLDER_MODE, exist_ok=True)
    os.makedirs(folder, FOLDER_MODE, exist_ok=True)


def check_folder(root: Path, name: str) -> None:
    """Raise an error unless compiled code in the folder ``name`` within ``root`` is trusted, or there is none yet."""
    for folder, follow in ((root, True), (root / name, False)):
        try:
            found = os.stat(folder, follow_symlinks=follow)
        except OSError:  # missing, or not to be read either
            return
        if stat.S_ISLNK(found.st_mode):
            raise NotTrustedError(f"{folder} is a link")
        if not (follow and found.st_mode & stat.S_ISVTX and _owner_is_trusted(found)):
            _check(folder, found)


def contents(path: Path) -> bytes:
    """The bytes of a file of compiled code; raises an error if it is missing, or not trusted."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_LINK | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        if path.is_symlink():
            raise NotTrustedError(f"{path} is a link") from None
        raise
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotTrustedError(f"{path} is not a file")
        _check(path, found)
        return file.read()


def _check(path: Path, found: os.stat_result) -> None:
    if not _owner_is_trusted(found):
        raise NotTrustedError(f"{path} belongs to user {found.st_uid}, neither to you nor to root")
    writers = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if hasattr(os, "geteuid") and writers and (writers != stat.S_IWGRP or found.st_gid != _own_group()):
        raise NotTrustedError(f"others may write to {path} (to use it: chmod go-w)")


def _owner_is_trusted(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid in (0, os.geteuid())


@functools.cache
def _own_group() -> int | None:
    """The group that is this user's alone; None if there is none, or if that is not known."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid())
        group = grp.getgrgid(user.pw_gid)
    except KeyError:
        return None
    alone = group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    return group.gr_gid if alone and group.gr_gid else None  # that of root is shared in some containers
