from __future__ import annotations

import errno
import fcntl
import os
import stat

import numpy as np
import pytest

from onlineboost.storage.atomic import replacing


def write(path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_planted_link_is_not_followed(tmp_path):
    """Whoever can write to the folder must not choose the file that is overwritten."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".m.partial").symlink_to(tmp_path / "precious")
    write(tmp_path / "m", "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "m").read_text() == "new"


def test_names_of_temporary_files_differ(tmp_path):
    names = set()
    for _ in range(20):
        with replacing(tmp_path / "m") as temporary:
            names.add(temporary.name)
            temporary.write_text("x")
    assert len(names) == 20


def test_two_writers_of_one_file_both_succeed(tmp_path):
    with replacing(tmp_path / "m") as first:
        first.write_text("first")
        with replacing(tmp_path / "m") as second:
            second.write_text("second")
        assert (tmp_path / "m").read_text() == "second"
    assert (tmp_path / "m").read_text() == "first"
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o444])
def test_the_mode_of_a_replaced_file_is_kept(tmp_path, kept):
    (tmp_path / "m").write_text("old")
    (tmp_path / "m").chmod(kept)
    with replacing(tmp_path / "m") as temporary:
        assert mode(temporary) & 0o077 == 0  # nobody else reads what is half-written
        temporary.write_text("new")
    assert mode(tmp_path / "m") == kept


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write(tmp_path / "m", "new")
    finally:
        os.umask(old)
    assert mode(tmp_path / "m") == 0o640


def test_file_and_folder_are_flushed_to_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(stat.S_ISDIR(os.fstat(number).st_mode)))
    write(tmp_path / "m", "new")
    assert flushed == [False, True]


def test_remains_of_a_killed_writer_are_removed_and_those_of_a_live_one_stay(tmp_path):
    """A writer holds a lock on its file, which ends with its process."""
    pid = os.fork()
    if not pid:
        with replacing(tmp_path / "m") as temporary:
            temporary.write_text("half")
            os._exit(0)  # as if killed: nothing is cleaned up
    os.waitpid(pid, 0)
    (killed,) = os.listdir(tmp_path)
    other = killed.replace(".m.", ".n.")
    (tmp_path / other).write_text("of another file")
    live = tmp_path / killed.replace(killed.split(".")[2], "0123456789abcdef")
    with live.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(tmp_path / "m", "new")
    assert sorted(os.listdir(tmp_path)) == sorted(["m", other, live.name])


def test_a_link_is_written_through(tmp_path):
    """As by any program that opens the file for writing: the link stays a link."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "one").write_text("old")
    (tmp_path / "latest").symlink_to("models/one")
    write(tmp_path / "latest", "new")
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "models" / "one").read_text() == "new"
    (tmp_path / "next").symlink_to("models/two")  # to a file that does not exist yet
    write(tmp_path / "next", "second")
    assert (tmp_path / "models" / "two").read_text() == "second"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "loop", "third")
    assert sorted(os.listdir(tmp_path / "models")) == ["one", "two"]


@pytest.mark.parametrize("problem", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path, monkeypatch, problem):
    (tmp_path / "m").write_text("old")

    def full(number):
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=os.strerror(problem)) as found:
        write(tmp_path / "m", "new")
    assert (found.value.errno, found.value.filename) == (problem, str(tmp_path / "m"))
    assert "not written" in found.value.strerror
    assert (tmp_path / "m").read_text() == "old"
    assert os.listdir(tmp_path) == ["m"]


def test_a_long_name_has_room_for_a_temporary_file(tmp_path):
    path = tmp_path / ("é" * 127)
    write(path, "new")
    write(path, "newer")
    assert os.listdir(tmp_path) == [path.name]


def _plot(path):
    from onlineboost.evaluate.plots import Picture, draw

    draw(Picture("title", [(1, 0.5), (9, 0.2)], [], np.array([0.1])), path)


def _report(path):
    from onlineboost import OnlineBBM

    OnlineBBM(n_estimators=3).fit(np.eye(4), [0, 1, 0, 1]).report().plot(path)


def _letters(path):
    from onlineboost.datasets.letter import export_letter

    export_letter(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("p.svg", _plot), ("p.html", _plot), ("r.png", _report), ("letter.csv", _letters)],
)
def test_plots_and_exports_are_whole_or_absent(tmp_path, monkeypatch, name, write):
    write(tmp_path / name)  # compiles what is not compiled yet
    (tmp_path / name).write_text("old")

    def broken(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", broken)
        with pytest.raises(OSError, match="disk full"):
            write(tmp_path / name)
    assert (tmp_path / name).read_text() == "old"
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 100
    assert os.listdir(tmp_path) == [name]
