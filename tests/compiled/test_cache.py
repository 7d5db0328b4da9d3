"""Compiled code on disk: what it is found by, and what happens when it is damaged."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import typeof

from onlineboost.compiled import cache, draws, folders, turns
from onlineboost.compiled.jit import hot, lean, njit

SCRIPT = """
from onlineboost.compiled.draws import uniform
uniform(1, 2, 3)
"""


def start(folder: Path, script: str = SCRIPT, **environment: str) -> subprocess.Popen[str]:
    own = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", script], env=os.environ | own | environment, stdout=pipe, stderr=pipe, text=True
    )


def end(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate()
    assert (process.returncode, out) == (0, ""), errors[-1500:]
    return errors


def run(folder: Path, **environment: str) -> str:
    return end(start(folder, **environment))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != turns.FILE)


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Path:
    """A folder with what two processes compiled at once."""
    folder = tmp_path_factory.mktemp("first")
    for process in [start(folder), start(folder)]:
        assert "damaged" not in end(process)
    return folder


@pytest.fixture
def compiled(first, tmp_path) -> Path:
    """A copy of it."""
    shutil.copytree(first, tmp_path / "compiled")
    return tmp_path / "compiled"


def test_a_damaged_cache_is_compiled_again(compiled):
    (file,) = files(compiled)
    file.write_bytes(b"")
    assert run(compiled).count("is damaged: compiling again") == 1
    assert files(compiled) == [file] and cache.read(file) is not None


WAITING = """
import sys
from pathlib import Path
from onlineboost.compiled import turns
print("begins", flush=True)
print(turns.begin(Path(sys.argv[1])), flush=True)
"""


def test_a_process_waits_for_code_that_another_compiles(tmp_path):
    """A turn is of one function, and ends with the process."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    assert not turns.begin(mine)
    command = [sys.executable, "-c", WAITING]
    own = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    waiting, going = (
        subprocess.Popen([*command, str(path)], env=own, stdout=subprocess.PIPE, text=True) for path in (mine, other)
    )
    assert going.communicate()[0] == "begins\nFalse\n"
    assert waiting.stdout.readline() == "begins\n"
    time.sleep(0.1)
    assert waiting.poll() is None
    turns.end()
    assert waiting.communicate()[0] == "True\n"
    assert not turns.begin(mine)
    turns.end()


def test_code_that_another_process_has_compiled_meanwhile_is_read(compiled, tmp_path):
    """This one compiles nothing, leaves the file as it is, and lets others go on."""
    (file,) = files(compiled)
    content = file.read_bytes()
    file.unlink()
    assert not turns.begin(file)
    process = start(compiled, f"{SCRIPT}from onlineboost.compiled import turns\nassert not turns._mine")
    time.sleep(3)
    assert process.poll() is None and not file.exists()
    file.write_bytes(content)
    file.chmod(folders.FILE_MODE)
    before = file.stat().st_mtime_ns
    turns.end()
    end(process)
    assert file.stat().st_mtime_ns == before


def test_code_for_another_processor_or_setting_is_another_file(compiled, monkeypatch):
    run(compiled, NUMBA_CPU_NAME="x86-64-v2", NUMBA_CPU_FEATURES="")
    assert len(files(compiled)) == 2
    machine, found = ("triple", "processor", "features"), set()
    for setting, value in ((None, 0), ("BOUNDSCHECK", 1), ("OPT", 1), ("SLP_VECTORIZE", 1), ("LOOP_VECTORIZE", 0)):
        with monkeypatch.context() as changed:
            if setting is not None:
                changed.setattr(numba.config, setting, value)
            found.add(cache._path("folder", machine, "function", "int64"))
    assert len(found) == 5


@pytest.mark.parametrize("damage", [lambda c: b"", lambda c: c[: len(c) // 2], lambda c: c[:50] + b"?" + c[51:]])
def test_any_damage_is_noticed(tmp_path, damage, capsys):
    path, content = tmp_path / "code", bytes(range(200))
    cache.write(path, content)
    assert cache.read(path) == content
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read(path) is None
    assert "compiling again" in capsys.readouterr().err
    cache.write(path, b"new")
    assert cache.read(path) == b"new"


def test_a_full_disk_is_no_error(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.write(tmp_path / "code", b"code")
    assert files(tmp_path) == []
    assert "No space left on device" in capsys.readouterr().err


def test_a_folder_that_was_deleted_is_made_again(tmp_path, capsys):
    path = tmp_path / "root" / "folder" / "code"
    cache.write(path, b"code")
    assert cache.read(path) == b"code" and capsys.readouterr().err == ""


needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")


@pytest.fixture
def strange(monkeypatch):
    """A function that gives a path to a user who is neither this one nor root."""
    if os.geteuid() == 0:
        return lambda path: os.chown(path, 12345, 12345)
    return lambda path: monkeypatch.setattr(os, "geteuid", lambda: 54321)


@needs_owners
@pytest.mark.parametrize("mask", [0o002, 0o000, 0o077])
def test_nobody_else_may_write_to_what_is_kept(tmp_path, mask):
    path, before = tmp_path / "root" / "folder" / "code", os.umask(mask)
    try:
        cache.write(path, b"code")
    finally:
        os.umask(before)
    folders.check_folder(path.parents[1], "folder")
    assert cache.read(path) == b"code"
    assert [one.stat().st_mode & 0o022 for one in (path, *path.parents[:2])] == [0, 0, 0]


@needs_owners
@pytest.mark.parametrize("mode", [0o666, 0o664, 0o602])
def test_files_that_others_may_write_are_not_used(tmp_path, mode, monkeypatch, capsys):
    path = tmp_path / "code"
    cache.write(path, b"code")
    path.chmod(mode)
    monkeypatch.setattr(folders, "_own_group", lambda: None)
    assert cache.read(path) is None
    assert f"others may write to {path} (to use it: chmod go-w)" in capsys.readouterr().err
    assert cache.read(path, shipped=True) == b"code"  # that is as safe as the package
    if mode & 0o002 == 0:
        monkeypatch.setattr(folders, "_own_group", lambda: path.stat().st_gid)
        assert cache.read(path) == b"code"
    cache.write(path, b"new")
    assert cache.read(path) == b"new"


@needs_owners
def test_files_of_others_links_and_pipes_are_not_used(tmp_path, strange, capsys):
    pipe, link, path = tmp_path / "pipe", tmp_path / "link", tmp_path / "code"
    cache.write(path, b"code")
    os.mkfifo(pipe)
    link.symlink_to(path)
    assert cache.read(pipe) is None and cache.read(link) is None
    strange(path)
    assert cache.read(path) is None
    said = capsys.readouterr().err
    assert "is not a file" in said and "is a link" in said and "neither to you nor to root" in said


@needs_owners
def test_folders_of_others_are_not_trusted(tmp_path, strange, monkeypatch):
    root, folder = tmp_path / "root", tmp_path / "root" / "folder"
    folders.check_folder(root, "folder")  # nothing is there yet
    folders.make(folder)
    monkeypatch.setattr(folders, "_own_group", lambda: None)
    root.chmod(0o1777)  # as /tmp
    folders.check_folder(root, "folder")
    for mode, place in ((0o777, root), (0o775, root), (0o1777, folder), (0o770, folder)):
        place.chmod(mode)
        with pytest.raises(folders.NotTrustedError, match="chmod go-w"):
            folders.check_folder(root, "folder")
        root.chmod(0o755)
    folder.chmod(0o755)
    folders.check_folder(root, "folder")
    (root / "link").symlink_to(folder)
    with pytest.raises(folders.NotTrustedError, match="is a link"):
        folders.check_folder(root, "link")
    strange(folder)
    with pytest.raises(folders.NotTrustedError, match="neither to you nor to root"):
        folders.check_folder(root, "folder")


@needs_owners
def test_code_of_others_is_not_run(compiled, tmp_path):
    """A folder that anybody could have filled: a word, and a private folder instead."""
    (file,) = files(compiled)
    evil = b"cbuiltins\nprint\n(S'evil'\ntR."
    file.write_bytes(zlib.crc32(evil).to_bytes(4, "little") + evil)
    compiled.chmod(0o777)
    said = run(compiled, XDG_CACHE_HOME=str(tmp_path / "mine"), HOME=str(tmp_path / "mine"))
    assert said.startswith(f"onlineboost: compiled code in {compiled} is not used: others may write to {compiled}")
    assert "Instead, compiled code is kept in" in said
    assert [path.name for path in files(tmp_path / "mine")] == [file.name]


def test_others_may_read_what_one_user_compiled(first):
    """As in a container image: the folder was filled by root and belongs to nobody else."""
    (file,) = files(first)
    mask = os.umask(0)
    os.umask(mask)
    assert file.stat().st_mode & 0o777 == 0o644 & ~mask
    # No folder is writable now.
    reading = f"import tempfile\ntempfile.TemporaryFile = None\n{SCRIPT}"
    own = {"NUMBA_CACHE_DIR": str(first), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", reading], env=os.environ | own, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


def test_functions_without_a_name_of_their_own_are_not_kept():
    def made(number):
        def inner(x):
            return x + number

        inner.__module__ = "onlineboost.somewhere"
        return njit(inner)

    assert isinstance(made(1)._cache, cache.NullCache) and not isinstance(made(1)._cache, cache.Cache)
    assert made(1)(1) == 2 and made(100)(1) == 101
    assert isinstance(draws.uniform._cache, cache.Cache)


def test_compiled_functions_raise_nothing():
    """Arguments of an exception, such as a number, would be lost once the code comes from disk."""
    found = []
    for path in Path(cache.__file__).parents[1].rglob("*.py"):
        functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
        found += [f for f in functions if {"hot", "lean", "njit"} & {ast.unparse(each) for each in f.decorator_list}]
    assert len(found) > 200
    assert [f.name for f in found if any(isinstance(node, ast.Raise) for node in ast.walk(f))] == []


def test_without_sources_nothing_is_kept(tmp_path):
    """Code is known by the sources: those of another version must not be taken for these."""
    package = Path(cache.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        for path in package.rglob("*.py"):
            archive.write(path, path.relative_to(package.parent))
    own = {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(tmp_path / "package.zip"),
        "PYTHONSAFEPATH": "1",
    }
    script = [sys.executable, "-c", "from onlineboost.compiled.draws import uniform; print(uniform(1, 2, 3))"]
    found = subprocess.run(script, env=os.environ | own, capture_output=True, text=True)
    assert found.stdout == "0.05816240739533696\n", found.stderr
    assert not (tmp_path / "cache").exists()


def test_classes_of_the_same_name_are_told_apart():
    state = namedtuple("State", "x")
    other = namedtuple("State", "x")
    other.__module__ = "elsewhere"
    spelled = [cache._spelled(typeof(made(np.ones(2)))) for made in (state, other)]
    turned = namedtuple("State", "a b"), namedtuple("State", "b a")
    spelled_turned = [cache._spelled(typeof(made(1, 2))) for made in turned]
    assert spelled_turned[0] != spelled_turned[1]
    assert spelled[0] != spelled[1] and str(typeof(state(np.ones(2)))) == str(typeof(other(np.ones(2))))
    assert cache._spelled(typeof((1.0, state(2)))) == f"builtins.tuple(0: float64, 1: {__name__}.State(x: int64))"


TRIPLE = cache.llvm.get_process_triple()


def level_of(features: set[str], shipped: str, tmp_path: Path, monkeypatch, triple: str = TRIPLE) -> tuple[str, ...]:
    folder = tmp_path / cache.folder_name()
    folder.mkdir(exist_ok=True)
    (folder / "levels").write_text(f"{triple} {shipped}")
    monkeypatch.setattr(cache, "SHIPPED", tmp_path)
    monkeypatch.setattr(cache.llvm, "get_host_cpu_features", lambda: dict.fromkeys(features, True))
    return cache.shipped_levels.__wrapped__()


def test_the_package_has_code_for_levels_of_processors(tmp_path, monkeypatch):
    v3, v4 = set(cache.LEVELS["x86-64-v3"]), set(cache.LEVELS["x86-64-v4"])
    both = "x86-64-v4\nx86-64-v3\n"
    assert level_of(v4 | {"sse"}, both, tmp_path, monkeypatch) == ("x86-64-v4", "x86-64-v3")
    assert level_of(v3 | {"avx512f"}, both, tmp_path, monkeypatch) == ("x86-64-v3",)
    assert level_of(v4, "x86-64-v3", tmp_path, monkeypatch) == ("x86-64-v3",)
    assert level_of(v3 - {"fma"}, both, tmp_path, monkeypatch) == ()
    assert level_of(set(), "generic", tmp_path, monkeypatch) == ("generic",)
    assert level_of(v4, both, tmp_path, monkeypatch, triple="aarch64-apple-darwin") == ()
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "absent")
    assert cache.shipped_levels.__wrapped__() == ()


def test_code_compiled_elsewhere_for_a_level_is_used(tmp_path, monkeypatch):
    """Once compiled for a level and put into the package, another process with another cache compiles nothing."""
    level = "generic"
    script = f"{SCRIPT}from onlineboost.compiled.cache import shipped_levels\nprint(shipped_levels())"
    run(tmp_path / "made", NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="")
    (made,) = (tmp_path / "made").iterdir()
    (made / "levels").write_text(f"{TRIPLE} {level}")
    package = Path(cache.__file__).parents[1]
    copy = tmp_path / "installed" / "onlineboost"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "ahead/onlineboost*"))
    shutil.copytree(made, copy / "compiled" / "ahead" / made.name)
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "own"), "PYTHONPATH": str(copy.parent), "PYTHONSAFEPATH": "1"}
    found = subprocess.run([sys.executable, "-c", script], env=os.environ | own, capture_output=True, text=True)
    assert found.stdout == "('generic',)\n", found.stderr
    assert files(tmp_path / "own") == []


@hot
def _twice(x):
    return 2 * x


@lean
def _root(x):
    if x < 0:
        raise ValueError("negative")
    return np.sqrt(x)


@njit
def _norm(x):
    return _root(_twice(x) * x / 2)


@hot
def _scaled(x, by):
    return by * x


def test_a_function_is_compiled_once_for_all_constants():
    @njit
    def sums(x):
        by = 0
        while by < 3:
            x = _scaled(x, by) + _scaled(x, 7)
            by += 1
        return x

    assert sums(1) == 7 * 8 * 9
    assert len(_scaled.overloads) == 1


def test_functions_called_by_compiled_code_only_are_taken_in():
    """They have no machine code of their own, and their errors reach Python all the same."""

    @njit
    def twice_the_norm(x):
        return 2 * _norm(x)

    assert twice_the_norm(3.0) == 6.0 and _norm(-3.0) == 3.0
    (overload,) = _twice.overloads.values()
    assert overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name) == 0

    @njit
    def fails(x):
        return _root(x)

    with pytest.raises(ValueError, match="negative"):
        fails(-1.0)
    assert numba.njit(lambda x: _norm(x) + 1)(2.0) == 3.0
