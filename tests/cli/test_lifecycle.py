"""Training interrupted, killed, resumed, repeated, or given a broken input: nothing is lost or learned twice."""

from __future__ import annotations

import gzip
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from commands import ENVIRONMENT, command, heeding_hangups, standard_input, training_on_a_pipe

import onlineboost
from onlineboost.classifier import OnlineClassifier
from onlineboost.cli.app import main
from onlineboost.model import load_all


def train(capsys, *arguments: object, code: int = 0) -> tuple[dict, str]:
    with pytest.raises(SystemExit) as exit:
        main(["train", *map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert (exit.value.code or 0) == code, err
    return json.loads(out), err


class Killed(BaseException):
    """The end of a run without another save; that of a process is in ``fuzz/kill.py``, which test_cli.py runs."""


def killed(files, at: int, *arguments: object, every: int = 500) -> None:
    """Train with checkpoints, and end like a kill right after the one at this row."""
    save = OnlineClassifier.save
    over = False

    def watched(model, path, *, base, notes):
        nonlocal over
        if not over:
            save(model, path, base=base, notes=notes)
        over = over or model.n_seen_ == at
        if over:
            raise Killed

    options = [*arguments, "-o", files / "m", "--checkpoint-every", every]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnlineClassifier, "save", watched)
        with pytest.raises(Killed):
            main(["train", *map(str, options)])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (2, 40_000))
    return [f"{1 if x + y > 8 else -1} | a:{x} b:{y}\n" for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.fixture
def files(rows, tmp_path):
    """A folder with the rows in one file and in two."""
    for name, part in (("all", rows[:6000]), ("one", rows[:4000]), ("two", rows[4000:6000])):
        (tmp_path / f"{name}.vw").write_text("".join(part))
    return tmp_path


def stop(path, rows: int) -> None:
    """Make a model that has learned one pipe look like one that stopped in the middle, as its last checkpoint."""
    model, base, notes = load_all(path)
    [one] = notes["learnt"]
    input = {name: one[name] for name in ("name", "size", "digest")}
    place = {"input": input, "rows": rows, "left": [], "error": False, "head": None, "times": 0}
    model.save(path, base=base, notes={**notes, "unfinished": place, "learnt": []})


# ---- inputs that were learned before


def test_a_finished_input_is_not_learned_twice(files, capsys):
    """As after a kill between the last save and the exit."""
    train(capsys, files / "all.vw", "-n", 3, "-o", files / "m")
    before = (files / "m").read_bytes(), (files / "m").stat().st_mtime_ns
    result, err = train(capsys, files / "all.vw", "--resume", files / "m")
    assert "all.vw: all 6,000 rows were learned before: skipped" in err
    assert "nothing to learn: use --again to train again on these files" in err
    assert (result["examples"], result["learned"]) == (6000, 0)
    assert ((files / "m").read_bytes(), (files / "m").stat().st_mtime_ns) == before
    train(capsys, files / "all.vw", "--resume", files / "m", "-o", files / "copy")
    assert (files / "copy").read_bytes() == before[0]


def test_again_is_a_second_pass(files, capsys):
    train(capsys, files / "one.vw", files / "two.vw", "-n", 3, "-o", files / "twice", "--passes", 2)
    train(capsys, files / "one.vw", files / "two.vw", "-n", 3, "-o", files / "m")
    result, _ = train(capsys, files / "one.vw", files / "two.vw", "--resume", files / "m", "--again")
    assert (result["examples"], result["learned"]) == (12_000, 6000)
    assert (files / "m").read_bytes() == (files / "twice").read_bytes()
    assert train(capsys, files / "one.vw", "--resume", files / "m", "--passes", 2)[0]["learned"] == 0
    assert train(capsys, files / "one.vw", "--resume", files / "m", "--passes", 3)[0]["learned"] == 4000


def test_again_needs_a_model(files, capsys):
    assert "--again needs --resume MODEL" in train(capsys, files / "all.vw", "--again", code=2)[1]


def test_only_new_files_among_those_named_are_learned(files, capsys):
    both = files / "one.vw", files / "two.vw"
    train(capsys, *both, "-n", 3, "-o", files / "whole")
    train(capsys, both[0], "-n", 3, "-o", files / "m")
    result, err = train(capsys, *both, "--resume", files / "m")
    assert "one.vw: all 4,000 rows were learned before: skipped" in err
    assert result["learned"] == 2000
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_the_file_may_have_moved_and_the_model_does_not_say_where_it_was(files, capsys):
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "m")
    (files / "elsewhere").mkdir()
    (files / "one.vw").rename(files / "elsewhere" / "one.vw")
    assert train(capsys, files / "elsewhere" / "one.vw", "--resume", files / "m")[0]["learned"] == 0
    assert str(files).encode() not in (files / "m").read_bytes()


@pytest.mark.parametrize("compressed", [False, True])
def test_only_rows_added_since_are_learned(files, capsys, compressed):
    pack = (lambda data: gzip.compress(data, mtime=0)) if compressed else bytes
    one, two = ((files / f"{name}.vw").read_bytes() for name in ("one", "two"))
    log = files / ("log.vw.gz" if compressed else "log.vw")
    log.write_bytes(pack(one) + pack(two))
    train(capsys, log, "-n", 3, "-o", files / "whole")
    log.write_bytes(pack(one))
    train(capsys, log, "-n", 3, "-o", files / "m")
    log.write_bytes(pack(one) + pack(two))
    result, err = train(capsys, log, "--resume", files / "m")
    assert f"{log}: grown since 4,000 rows were learned: continuing after them" in err
    assert result["learned"] == 2000
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_a_last_line_that_was_completed_since_is_a_change(files, capsys):
    (files / "log.vw").write_text("1 | a:1\n-1 | a:2 b:1")
    train(capsys, files / "log.vw", "-n", 3, "-o", files / "m")
    (files / "log.vw").write_text("1 | a:1\n-1 | a:2 b:12\n1 | a\n")
    result, err = train(capsys, files / "log.vw", "--resume", files / "m")
    assert "grown" not in err
    assert result["learned"] == 3


def test_a_file_with_new_content_is_a_new_file(files, capsys):
    (files / "today.vw").write_bytes((files / "one.vw").read_bytes())
    train(capsys, files / "today.vw", "-n", 3, "-o", files / "m")
    (files / "today.vw").write_bytes((files / "two.vw").read_bytes())
    result, err = train(capsys, files / "today.vw", "--resume", files / "m")
    assert "learned before" not in err
    assert result["examples"] == 6000


def test_a_change_of_any_byte_of_a_small_file_is_noticed(tmp_path):
    from onlineboost.cli.fingerprint import digest

    path = tmp_path / "x"
    path.write_bytes(bytes(100_000))
    assert digest(path, 100_000) == digest(path, 100_000)
    content = bytearray(100_000)
    content[54_321] = 1
    (tmp_path / "y").write_bytes(content)
    assert digest(path, 100_000) != digest(tmp_path / "y", 100_000)
    (tmp_path / "y").write_bytes(bytes(100_001))
    assert digest(path, 100_000) == digest(tmp_path / "y", 100_000)  # of the beginning


def test_a_stopped_input_that_changed_is_an_error_with_a_next_step(files, capsys):
    killed(files, 3000, files / "one.vw", "-n", 3, every=1500)
    content = (files / "one.vw").read_text()
    (files / "one.vw").write_text(content.replace("a:1", "a:7", 1))
    error, _ = train(capsys, files / "one.vw", "--resume", files / "m", code=1)
    assert (
        "one.vw: has changed since training stopped at row 3,000: restore it, or learn all its rows with --again"
        in error["error"]
    )
    assert train(capsys, files / "one.vw", "--resume", files / "m", "--again")[0]["learned"] == 4000


def test_a_stopped_input_that_grew_goes_on_where_it_stopped(files, capsys):
    log = files / "log.vw"
    log.write_bytes((files / "one.vw").read_bytes())
    killed(files, 3000, log, "-n", 3, every=1500)
    log.write_bytes((files / "all.vw").read_bytes())
    result, err = train(capsys, log, "--resume", files / "m")
    assert "continuing after row 3,000" in err
    assert result["learned"] == 3000
    train(capsys, log, "-n", 3, "-o", files / "whole")
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_standard_input_is_known_by_its_first_rows(files, capsys):
    def piped(name: str, *options: object) -> tuple[dict, str]:
        with standard_input(files / "piped", (files / name).read_bytes()):
            return train(capsys, "-", "-f", "vw", "-o", files / "m", *options)

    piped("one.vw", "-n", 3)
    again, err = piped("one.vw", "--resume", files / "m")
    assert (again["examples"], again["learned"]) == (4000, 0)
    assert "standard input: first 4,000 rows were learned before: skipped" in err
    assert piped("all.vw", "--resume", files / "m")[0]["learned"] == 2000
    assert piped("two.vw", "--resume", files / "m")[0]["learned"] == 2000
    assert piped("two.vw", "--resume", files / "m", "--again")[0]["learned"] == 2000


@pytest.fixture(scope="module")
def trained(rows, tmp_path_factory):
    """A model that was trained once, and what is saved with it."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "one.vw").write_text("".join(rows[:4000]))
    with pytest.raises(SystemExit):
        main(["train", str(folder / "one.vw"), "-n", "3", "-q", "-o", str(folder / "m")])
    return load_all(folder / "m")


@pytest.mark.parametrize("notes", [[1, 2], {"a": 1}, "text", 7, {"curve": 3, "base_curve": {}, "entries": 1}])
def test_notes_of_another_shape(files, trained, capsys, notes):
    model, base, _ = trained
    model.save(files / "m", base=base, notes=notes)
    error, _ = train(capsys, files / "two.vw", "--resume", files / "m", code=1)
    assert "notes: not written by onlineboost train: expected its model file" in error["error"]
    for arguments in (["inspect", files / "m"], ["evaluate", files / "m", files / "two.vw"]):
        with pytest.raises(SystemExit) as exit:
            main([*map(str, arguments)])
        assert not exit.value.code, capsys.readouterr().err


ONE = {"name": "one.vw", "size": 3, "digest": "0" * 16}
STOPPED = {"input": None, "rows": 0, "left": [], "error": False, "head": None, "times": 0}
CURVE = {"most": 512, "stride": 1, "examples": 0, "weight": 0.0, "mistakes": 0.0, "points": [], "marks": []}


@pytest.mark.parametrize(
    "change",
    [
        {"unfinished": [1]},
        {"unfinished": {"files": ["x"], "pass": 1, "rows": 1, "passes": 1}},
        {"unfinished": STOPPED | {"rows": -1}},
        {"unfinished": STOPPED | {"rows": 1}},
        {"unfinished": STOPPED | {"input": {"name": 3}}},
        {"unfinished": STOPPED | {"left": [{**ONE, "times": 1 << 31}]}},
        {"learnt": 3},
        {"learnt": [{"name": 3}]},
        {"entries": "many"},
        {"curve": {"points": [[1]]}},
        {"curve": CURVE | {"examples": 1_000_000}},
        {"curve": CURVE | {"points": [[5, 0.5]]}},
        {"paired": 3},
        {"paired": {"weight": 1.0, "better": 0.0, "worse": 0.0}},
        {"paired": {"weight": 1.0, "better": 1.0, "worse": 1.0, "squares": 2.0}},
        {"paired": {"weight": 1.0, "better": -1.0, "worse": 1.0, "squares": 2.0}},
    ],
)
def test_notes_that_somebody_changed(files, trained, capsys, change):
    model, base, notes = trained
    model.save(files / "m", base=base, notes={**notes, **change})
    error, _ = train(capsys, files / "two.vw", "--resume", files / "m", code=1)
    assert "notes: not written by onlineboost train" in error["error"]
    with pytest.raises(SystemExit) as exit:
        main(["inspect", str(files / "m")])
    assert not exit.value.code, capsys.readouterr().err


def test_notes_of_older_files_leave_the_comparison_out(files, capsys):
    """It would lack the rows before."""
    whole, _ = train(capsys, files / "one.vw", "-n", 3, "-o", files / "m")
    assert whole["verdict"].startswith("SafeBoost ") and "Linear alone" in whole["verdict"]
    model, base, notes = load_all(files / "m")
    del notes["paired"]
    model.save(files / "m", base=base, notes=notes)
    for name in ("two", "all"):
        result, _ = train(capsys, files / f"{name}.vw", "--resume", files / "m")
        assert result["base_error"] is not None
        assert result["verdict"] == ""
    assert load_all(files / "m")[2]["paired"] is None


def test_models_saved_in_python_can_be_resumed(files, capsys):
    from onlineboost.readers import open_stream

    onlineboost.OnlineBBM(n_estimators=3).fit(open_stream(files / "one.vw")).save(files / "m")
    result, _ = train(capsys, files / "two.vw", "--resume", files / "m")
    assert result["learned"] == 2000
    assert onlineboost.load(files / "m").n_seen_ == 6000


# ---- signals


def test_an_interrupt_before_the_first_new_row_keeps_the_place(files, capsys):
    with standard_input(files / "piped", (files / "one.vw").read_bytes()):
        train(capsys, "-", "-f", "vw", "-n", 3, "-o", files / "m")
    pipe = files / "pipe.vw"
    os.mkfifo(pipe)
    stop(files / "m", 4000)
    process = subprocess.Popen(
        command("train", pipe, "-f", "vw", "--resume", files / "m"), env=ENVIRONMENT, stderr=subprocess.PIPE
    )
    with process:
        assert b"continuing after row 4,000" in process.stderr.readline()
        with pipe.open("wb"):  # open, and silent
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 130
    notes = load_all(files / "m")[2]
    assert notes["unfinished"]["rows"] == 4000


def test_nohup_is_respected(files, rows):
    with training_on_a_pipe(files / "m", "".join(rows).encode() * 3, wrap=["nohup"]) as process:
        process.send_signal(signal.SIGHUP)
        process.stdin.close()  # ignored: it goes on to the end of the input
        assert process.wait(timeout=20) == 0
    assert onlineboost.load(files / "m").n_seen_ == 120_000


def test_a_closed_terminal_saves_what_was_learned(files, rows):
    """The terminal is gone: a hangup comes, and nothing can be printed."""
    os.mkfifo(files / "pipe.vw")
    pid, terminal = pty.fork()
    if not pid:
        heeding_hangups()
        os.execve(sys.executable, command("train", files / "pipe.vw", "-n", 3, "-o", files / "m"), ENVIRONMENT)
    with (files / "pipe.vw").open("w") as pipe:
        pipe.write("".join(rows) * 3)
        pipe.flush()
        text = b""
        while b"16,384" not in text:
            text += os.read(terminal, 1000)
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert onlineboost.load(files / "m").n_seen_ >= 16384
    assert load_all(files / "m")[2]["unfinished"]["rows"] == onlineboost.load(files / "m").n_seen_


# ---- broken inputs, full disks


def test_a_data_error_keeps_what_was_learned_and_resuming_gives_the_same_bits(files, rows, capsys):
    path = files / "long.vw"
    path.write_text("".join(rows))
    train(capsys, path, "-n", 3, "-o", files / "whole")
    path.write_text("".join([*rows[:35_000], "1 | a:1x\n", *rows[35_001:]]))
    error, err = train(capsys, path, "-n", 3, "-o", files / "m", code=1)
    assert error["line"] == 35_001
    learned = onlineboost.load(files / "m").n_seen_
    assert 16_384 <= learned <= 35_000
    assert f"{learned:,} examples were learned before the error: saved to {files / 'm'}" in err
    assert f"continue with --resume {files / 'm'}" in err
    path.write_text("".join(rows))
    result, err = train(capsys, path, "--resume", files / "m")
    assert f"continuing after row {learned:,} of long.vw, with a changed file: earlier rows are assumed" in err
    assert result["learned"] == 40_000 - learned
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_an_error_in_the_first_rows_leaves_the_model_of_before(files, capsys):
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "m")
    before = (files / "m").read_bytes()
    (files / "bad.vw").write_text("1 | a:1x\n")
    _, err = train(capsys, files / "bad.vw", "-n", 3, "-o", files / "m", code=1)
    assert "saved" not in err
    train(capsys, files / "bad.vw", "--resume", files / "m", code=1)
    assert (files / "m").read_bytes() == before
    assert (files / "m").read_bytes() == before


def test_a_full_disk_leaves_the_old_model_and_says_so(files, capsys):
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "m", "-q")
    before = (files / "m").read_bytes()
    done = subprocess.run(
        command("train", files / "two.vw", "--resume", files / "m", "-q", "--checkpoint-every", 500),
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"onlineboost: {files / 'm'}: File too large: not written, the old file is unchanged"
    )
    assert "checkpoint not saved" in done.stderr  # and the training went on
    assert "Traceback" not in done.stderr
    assert (files / "m").read_bytes() == before
    assert sorted(os.listdir(files)) == ["all.vw", "m", "one.vw", "two.vw"]


# ---- more inputs


def test_a_file_named_twice_is_two_inputs(files, capsys):
    twice = [files / "one.vw"] * 2
    assert train(capsys, *twice, "-n", 3, "-o", files / "m")[0]["learned"] == 8000
    assert train(capsys, *twice, "--resume", files / "m")[0]["learned"] == 0
    assert train(capsys, files / "one.vw", *twice, "--resume", files / "m")[0]["learned"] == 4000


def test_many_files_are_told_apart_in_one_line(files, rows, capsys):
    for k in range(20):
        (files / f"part-{k:02}.vw").write_text("".join(rows[200 * k : 200 * k + 200]))
    train(capsys, files / "part-*.vw", "-n", 3, "-o", files / "m")
    (files / "part-20.vw").write_text("".join(rows[5000:5200]))
    result, err = train(capsys, files / "part-*.vw", "--resume", files / "m")
    assert result["learned"] == 200
    assert "20 of 21 files were learned before: skipped" in err


def test_a_checkpoint_at_the_last_row_is_finished_by_resuming(files, capsys):
    killed(files, 4000, files / "one.vw", "-n", 3, every=2000)
    assert load_all(files / "m")[2]["unfinished"]["rows"] == 4000
    assert train(capsys, files / "one.vw", "--resume", files / "m")[0]["learned"] == 0
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "whole")
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_two_hangups_are_one(files, rows):
    """A closed terminal sends several; the second must not stop the save of the first."""
    with training_on_a_pipe(files / "m", "".join(rows).encode() * 3) as process:
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.001)
        out = process.stdout.read()  # ends, though the pipe is still open
        assert process.wait(timeout=20) == 130
    assert b"examples: saved to" in out
    assert onlineboost.load(files / "m").n_seen_ >= 16384


def test_a_stopped_stream_of_other_rows_is_learned_from_its_beginning(files, capsys):
    def piped(name: str, *options: object) -> tuple[dict, str]:
        with standard_input(files / "piped", (files / name).read_bytes()):
            return train(capsys, "-", "-f", "vw", "-o", files / "m", *options)

    with standard_input(files / "piped", (files / "one.vw").read_bytes()):
        killed(files, 3000, "-", "-f", "vw", "-n", 3, every=1500)
    (files / "copy").write_bytes((files / "m").read_bytes())
    assert piped("one.vw", "--resume", files / "m")[0]["learned"] == 1000
    (files / "m").write_bytes((files / "copy").read_bytes())
    result, err = piped("two.vw", "--resume", files / "m")
    assert result["learned"] == 2000
    assert "stopped at row 3,000 of another stream: learning all rows" in err


# ---- progress of each input


@pytest.fixture
def days(rows, tmp_path):
    """Three files; one row of the second is broken."""
    for k in range(3):
        (tmp_path / f"d{k}.vw").write_text("".join(rows[20_000 * k % 30_000 :][: 2000 if k != 1 else 20_000]))
    return tmp_path


def break_second(days) -> str:
    good = (days / "d1.vw").read_text()
    lines = good.splitlines(keepends=True)
    (days / "d1.vw").write_text("".join([*lines[:18_000], "1 | a:1x\n", *lines[18_001:]]))
    return good


def test_a_mended_file_with_a_new_one_beside_it(days, capsys):
    train(capsys, days / "d*.vw", "-n", 3, "-o", days / "whole")
    good, last = break_second(days), (days / "d2.vw").read_text()
    (days / "d2.vw").unlink()
    train(capsys, days / "d*.vw", "-n", 3, "-o", days / "m", code=1)
    learned = onlineboost.load(days / "m").n_seen_
    assert learned > 2000
    (days / "d1.vw").write_text(good)
    (days / "d2.vw").write_text(last)
    result, err = train(capsys, days / "d*.vw", "--resume", days / "m")
    assert "d0.vw: all 2,000 rows were learned before: skipped" in err
    assert f"continuing after row {learned - 2000:,} of d1.vw, with a changed file" in err
    assert result["learned"] == 24_000 - learned
    assert (days / "m").read_bytes() == (days / "whole").read_bytes()


def test_only_the_failed_file_is_named(days, capsys):
    train(capsys, days / "d0.vw", days / "d1.vw", "-n", 3, "-o", days / "whole")
    good = break_second(days)
    train(capsys, days / "d0.vw", days / "d1.vw", "-n", 3, "-o", days / "m", code=1)
    (days / "d1.vw").write_text(good)
    train(capsys, days / "d1.vw", "--resume", days / "m")
    assert (days / "m").read_bytes() == (days / "whole").read_bytes()
    assert train(capsys, days / "d0.vw", days / "d1.vw", "--resume", days / "m")[0]["learned"] == 0


def test_an_error_in_the_first_rows_of_the_second_file_does_not_forget_the_first(files, capsys):
    (files / "bad.vw").write_text("1 | a:1x\n")
    train(capsys, files / "one.vw", files / "bad.vw", "-n", 3, "-o", files / "m", code=1)
    (files / "bad.vw").write_text("1 | a:1\n")
    assert train(capsys, files / "bad.vw", "--resume", files / "m")[0]["learned"] == 1
    assert train(capsys, files / "one.vw", files / "bad.vw", "--resume", files / "m")[0]["learned"] == 0


def test_stopped_files_may_have_moved(files, capsys):
    both = ["one.vw", "two.vw"]
    train(capsys, *(files / name for name in both), "-n", 3, "-o", files / "whole")
    killed(files, 4500, *(files / name for name in both), "-n", 3)
    (files / "elsewhere").mkdir()
    for name in both:
        (files / name).rename(files / "elsewhere" / name)
    result, err = train(capsys, *(files / "elsewhere" / name for name in both), "--resume", files / "m")
    assert "continuing after row 500 of two.vw" in err
    assert result["learned"] == 1500
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_an_earlier_file_has_grown_since_the_training_stopped(files, rows, capsys):
    killed(files, 4500, files / "one.vw", files / "two.vw", "-n", 3)
    with (files / "one.vw").open("a") as file:
        file.write("".join(rows[10_000:10_700]))
    result, err = train(capsys, files / "one.vw", files / "two.vw", "--resume", files / "m")
    assert "one.vw: grown since 4,000 rows were learned: continuing after them" in err
    assert "continuing after row 500 of two.vw" in err
    assert result["learned"] == 700 + 1500
    assert [(one["name"], one["rows"], one["times"]) for one in load_all(files / "m")[2]["learnt"]] == [
        ("one.vw", 4700, 1),
        ("two.vw", 2000, 1),
    ]


def test_a_grown_file_that_stops_again_in_its_new_rows(files, rows, capsys):
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "m")
    with (files / "one.vw").open("a") as file:
        file.write("".join(rows[10_000:11_000]))
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "whole")
    killed(files, 4500, files / "one.vw", "--resume", files / "m")
    assert train(capsys, files / "one.vw", "--resume", files / "m")[0]["learned"] == 500
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_two_passes_stopped_anywhere(files, capsys):
    both = [files / "one.vw", files / "two.vw"]
    train(capsys, *both, "-n", 3, "-o", files / "whole", "--passes", 2)
    for at in (1500, 4000, 4500, 6000, 7000, 10_000, 11_500, 12_000):
        killed(files, at, *both, "-n", 3, "--passes", 2)
        result, err = train(capsys, *both, "--resume", files / "m")
        assert f"pass {1 + (at > 6000)} of 2" in err
        assert result["learned"] == 12_000 - at
        assert (files / "m").read_bytes() == (files / "whole").read_bytes(), at
        (files / "m").unlink()


def test_a_file_named_twice_stopped_anywhere(files, capsys):
    twice = [files / "one.vw", files / "one.vw"]
    train(capsys, *twice, "-n", 3, "-o", files / "whole", "--passes", 2)
    for at in (1000, 4500, 9000, 15_500):
        killed(files, at, *twice, "-n", 3, "--passes", 2)
        assert train(capsys, *twice, "--resume", files / "m")[0]["learned"] == 16_000 - at
        assert (files / "m").read_bytes() == (files / "whole").read_bytes(), at
        (files / "m").unlink()


def test_stopped_in_a_file_that_is_not_named_now(files, capsys):
    killed(files, 4500, files / "one.vw", files / "two.vw", "-n", 3)
    result, err = train(capsys, files / "one.vw", files / "all.vw", "--resume", files / "m")
    assert "training had stopped at row 500 of two.vw, not among the files now: not continued" in err
    assert result["learned"] == 6000  # of all.vw
    assert load_all(files / "m")[2]["unfinished"] is None


def test_a_known_name_with_other_content_is_said(files, capsys):
    (files / "log.vw").write_text("1 | a:1\n-1 | a:2 b:1")
    train(capsys, files / "log.vw", "-n", 3, "-o", files / "m")
    (files / "log.vw").write_text("1 | a:1\n-1 | a:2 b:12\n1 | a\n")
    _, err = train(capsys, files / "log.vw", "--resume", files / "m")
    assert "log.vw has changed since 2 of its rows were learned: learning all rows" in err


@pytest.mark.parametrize("at", [None, 3000])
def test_a_stream_that_ends_before_the_rows_that_were_learned(files, rows, capsys, at):
    def piped(n: int, *options: object, code: int = 0) -> dict:
        with standard_input(files / "piped", "".join(rows[:n]).encode()):
            return train(capsys, "-", "-f", "vw", "-o", files / "m", *options, code=code)[0]

    if at is None:
        piped(4000, "-n", 3)
    else:
        with standard_input(files / "piped", "".join(rows[:4000]).encode()):
            killed(files, at, "-", "-f", "vw", "-n", 3, every=1500)
    before = (files / "m").read_bytes()
    error = piped(2000, "--resume", files / "m", code=1)["error"]
    assert f"standard input: ends after 2,000 rows, but {at or 4000:,} were learned before: restore it" in error
    assert ", or learn all its rows with --again" in error
    assert (files / "m").read_bytes() == before
    assert piped(2000, "--resume", files / "m", "--again")["learned"] == 2000


def test_more_rows_were_learned_than_a_grown_file_has(files, rows, capsys):
    """Notes that somebody changed."""
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "m")
    model, base, notes = load_all(files / "m")
    notes["learnt"][0]["rows"] = 1 << 62
    model.save(files / "m", base=base, notes=notes)
    with (files / "one.vw").open("a") as file:
        file.write(rows[0])
    error, _ = train(capsys, files / "one.vw", "--resume", files / "m", code=1)
    assert "one.vw: ends after 4,001 rows, but 4,611,686,018,427,387,904 were learned before" in error["error"]
    assert train(capsys, files / "one.vw", "--resume", files / "m", "--again")[0]["learned"] == 4001


def test_again_finishes_an_interrupted_training_first(files, capsys):
    train(capsys, files / "one.vw", "-n", 3, "-o", files / "whole")
    killed(files, 1500, files / "one.vw", "-n", 3)
    result, err = train(capsys, files / "one.vw", "--resume", files / "m", "--again")
    assert "--again: finishing the interrupted training first; repeat the command to train again" in err
    assert result["learned"] == 2500
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()
    assert train(capsys, files / "one.vw", "--resume", files / "m", "--again")[0]["learned"] == 4000


def test_again_that_was_interrupted(files, capsys):
    both = [files / "one.vw", files / "two.vw"]
    train(capsys, *both, "-n", 3, "-o", files / "whole", "--passes", 2)
    train(capsys, *both, "-n", 3, "-o", files / "m")
    killed(files, 10_500, *both, "--resume", files / "m", "--again")
    assert train(capsys, *both, "--resume", files / "m")[0]["learned"] == 1500
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_where_a_training_stopped_is_inspected(files, capsys):
    killed(files, 4500, files / "one.vw", files / "two.vw", "-n", 3)
    with pytest.raises(SystemExit):
        main(["inspect", str(files / "m")])
    assert "stopped:             after row 500 of two.vw" in capsys.readouterr().out
    assert str(files).encode() not in (files / "m").read_bytes()


def test_too_many_passes(files, capsys):
    error, _ = train(capsys, files / "one.vw", "--passes", 10_001, code=2)
    assert "at most 10,000 times the same file" in error["error"]


def test_another_file_of_the_same_name_is_not_taken_for_the_mended_one(days, capsys):
    break_second(days)
    train(capsys, days / "d1.vw", "-n", 3, "-o", days / "m", code=1)
    (days / "new").mkdir()
    (days / "new" / "d1.vw").write_bytes((days / "d2.vw").read_bytes())
    error, _ = train(capsys, days / "new" / "d1.vw", "--resume", days / "m", code=1)
    assert "d1.vw: its first rows differ from the 16,384 rows learned before the error" in error["error"]
    assert train(capsys, days / "new" / "d1.vw", "--resume", days / "m", "--again")[0]["learned"] == 2000


def test_files_of_the_same_name_in_several_folders(files, rows, capsys):
    for k in range(3):
        (files / f"{k}").mkdir()
        (files / f"{k}" / "d.vw").write_text("".join(rows[1000 * k : 1000 * k + 1000]))
    every = [files / f"{k}" / "d.vw" for k in range(3)]
    train(capsys, *every, "-n", 3, "-o", files / "whole", "--passes", 2)
    killed(files, 1500, *every, "-n", 3, "--passes", 2)
    result, err = train(capsys, *every, "--resume", files / "m")
    assert result["learned"] == 4500
    assert "has changed" not in err
    assert (files / "m").read_bytes() == (files / "whole").read_bytes()


def test_a_finished_file_is_not_learned_for_the_goal_of_another_of_its_name(files, rows, capsys):
    for k in range(2):
        (files / f"{k}").mkdir()
        (files / f"{k}" / "d.vw").write_text("".join(rows[1000 * k : 1000 * k + 1000]))
    killed(files, 1500, files / "0" / "d.vw", files / "1" / "d.vw", "-n", 3)
    assert train(capsys, files / "0" / "d.vw", "--resume", files / "m")[0]["learned"] == 0


def test_a_stopped_run_of_files_that_have_all_grown(files, rows, capsys):
    killed(files, 8500, files / "one.vw", files / "two.vw", "-n", 3, "--passes", 2)  # 2,500 rows of the second pass
    for name in ("one.vw", "two.vw"):
        with (files / name).open("a") as file:
            file.write("".join(rows[10_000:10_100]))
    assert train(capsys, files / "one.vw", files / "two.vw", "--resume", files / "m")[0]["learned"] == 1600 + 100 + 2100
    notes = load_all(files / "m")[2]
    assert [(one["rows"], one["times"]) for one in notes["learnt"]] == [(4100, 2), (2100, 2)]
    assert train(capsys, files / "one.vw", files / "two.vw", "--resume", files / "m")[0]["learned"] == 0
