"""A damaged cache of compiled code: noticed, dropped, compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onlineboost.compiled.cache import CheckedCacheFile

SCRIPT = """
import numpy as np
from onlineboost.storage.validity import check_values
check_values("numbers", np.arange(3.0), {})
"""


def run(folder: Path) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-1500:]
    return found.stderr


def test_a_damaged_cache_is_compiled_again(tmp_path):
    assert "damaged" not in run(tmp_path)
    files = sorted(tmp_path.rglob("*.nb?"))
    assert [file.suffix for file in files] == [".nbc", ".nbi"]
    for file in files:
        file.write_bytes(b"")
    assert run(tmp_path).count("is damaged: compiling again") == 1
    assert run(tmp_path) == ""
    assert all(file.stat().st_size > 100 for file in files)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [lambda c: b"", lambda c: c[: len(c) // 2], lambda c: c[:50] + b"?" + c[51:]])
def test_any_damage_is_noticed(tmp_path, suffix, damage, capsys):
    def cache() -> CheckedCacheFile:
        return CheckedCacheFile(str(tmp_path), "function", "stamp")

    cache().save("key", {"code": bytes(range(200))})
    assert cache().load("key") == {"code": bytes(range(200))}
    (file,) = tmp_path.glob(f"*{suffix}")
    file.write_bytes(damage(file.read_bytes()))
    assert cache().load("key") is None
    cache().save("key", "new")
    assert cache().load("key") == "new"
    assert "compiling again" in capsys.readouterr().err


def test_a_full_disk_is_no_error(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    cache = CheckedCacheFile(str(tmp_path), "function", "stamp")
    monkeypatch.setattr(cache, "_open_for_write", full)
    cache.save("key", "code")
    assert cache.load("key") is None
    assert "No space left on device" in capsys.readouterr().err
