"""Scoring on Ray beside scoring in one process."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from commands import command, run, standard_input

from onlineboost import Linear
from onlineboost.data.batch import one_row
from onlineboost.data.classes import Classes
from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.datasets import load_letter
from onlineboost.errors import WorkerError
from onlineboost.readers import open_stream
from onlineboost.scale import cluster as open_cluster
from onlineboost.scale import in_order

pytestmark = pytest.mark.xdist_group("ray")
RAY = ("--engine", "ray")


def environment():
    """Of a process that connects to the cluster: Ray has put into it what that takes."""
    return {**os.environ, "ONLINEBOOST_QUIET": "1"}


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A folder with a model, and files to score."""
    folder = tmp_path_factory.mktemp("letters")
    X, y = load_letter()
    rows = [",".join([*map(str, row), "A-M" if label > 0 else "N-Z"]) for row, label in zip(X.tolist(), y, strict=True)]
    head = ",".join([*(f"f{j}" for j in range(16)), "half"])
    for name, some in {"first": rows[:1000], "second": rows[1000:1400], "long": rows}.items():
        (folder / f"{name}.csv").write_text("\n".join([head, *some]) + "\n")
    Linear(standardize=True).fit(open_stream(folder / "first.csv", label="half")).save(folder / "model")
    return folder


@pytest.fixture
def predict(letters, capsys):
    """What ``predict`` writes to standard output and standard error."""

    def call(*arguments, code=0):
        return run(capsys, "predict", letters / "model", *arguments, code=code)

    return call


def test_the_same_bytes_for_text(letters, cluster, predict, tmp_path):
    (tmp_path / "third.csv.gz").write_bytes(gzip.compress((letters / "second.csv").read_bytes()))
    files = [letters / name for name in ("first.csv", "long.csv", "second.csv")] + [tmp_path / "third.csv.gz"]
    assert predict(*files, *RAY) == predict(*files)
    assert predict(*files, "--json", *RAY, "-j", 1) == predict(*files, "--json")
    for name in ("answers.csv", "answers.jsonl"):
        _, plain = predict(*files, "-o", tmp_path / name)
        expected = (tmp_path / name).read_bytes()
        (tmp_path / name).unlink()
        assert predict(*files, "-o", tmp_path / name, *RAY)[1] == plain
        assert (tmp_path / name).read_bytes() == expected
        assert expected.count(b"\n") == 21_800 + (name == "answers.csv")


def test_the_same_bytes_for_parquet(letters, cluster, predict, tmp_path):
    files = [tmp_path / f"{name}.parquet" for name in ("first", "long")]
    for file in files:
        pd.read_csv(letters / f"{file.stem}.csv").to_parquet(file, index=False)
    predict(*files, "-o", tmp_path / "plain.parquet")
    predict(*files, "-o", tmp_path / "ray.parquet", *RAY)
    assert (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "plain.parquet").read_bytes()
    assert len(pd.read_parquet(tmp_path / "ray.parquet")) == 21_000


def test_the_same_bytes_for_standard_input(letters, cluster, predict, tmp_path):
    with standard_input(tmp_path / "piped", (letters / "long.csv").read_bytes()):
        found = predict("-", *RAY)
    assert found == (predict(letters / "long.csv")[0], "")


def test_an_error_names_file_and_line_and_answers_before_it_are_written(letters, cluster, predict, tmp_path):
    lines = (letters / "long.csv").read_text().splitlines(keepends=True)
    (tmp_path / "bad.csv").write_text("".join([*lines[:18_000], "1,2\n", *lines[18_000:]]))
    files = letters / "first.csv", tmp_path / "bad.csv", letters / "second.csv"
    out, err = predict(*files, *RAY, code=1)
    assert (out, err) == predict(*files, code=1)
    assert f"{tmp_path / 'bad.csv'}: line 18001" in err
    assert out.count("\n") > 1000 + 10_000  # of the first file, and of the second before the error
    assert predict(letters / "first.csv", letters / "long.csv")[0].startswith(out)
    predict(*files, "-o", tmp_path / "answers.csv", *RAY, code=1)
    assert not list(tmp_path.glob("*answers*"))


def test_files_are_looked_at_before_ray(predict, monkeypatch):
    monkeypatch.setattr("onlineboost.cli.predict.cluster", None)
    assert "nowhere.csv: no such file" in predict("nowhere.csv", *RAY, code=1)[1]


def test_an_interrupt_ends_it_with_a_word(letters, cluster, predict, tmp_path):
    """In the midst of standard input, after some answers."""
    address = cluster.get_runtime_context().gcs_address
    arguments = command("predict", letters / "model", "-", *RAY, "--address", address, "-j", 1)
    lines = (letters / "long.csv").read_bytes()
    with (
        (tmp_path / "answers").open("wb") as out,
        subprocess.Popen(
            arguments, env=environment(), stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE,
            preexec_fn=heeding_interrupts,
        ) as process,
    ):  # fmt: skip
        try:
            process.stdin.write(lines + 5 * lines[lines.index(b"\n") + 1 :])
            process.stdin.flush()
            deadline = time.monotonic() + 15
            while not (tmp_path / "answers").stat().st_size and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=15) == 130
            assert process.stderr.read() == b"onlineboost: interrupted\n"
        finally:
            process.kill()
    written = (tmp_path / "answers").read_text()
    assert written
    whole = predict(letters / "long.csv")[0]
    assert whole.startswith(written[: len(whole)])


def heeding_interrupts():
    """For a child process: an interrupt is one, even if the tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("given", [["--address", "auto"], ["--jobs", 2]])
def test_options_of_the_engine_alone_are_refused(letters, predict, given):
    assert f"{given[0]} has no effect without --engine ray" in predict(letters / "first.csv", *given, code=2)[1]


def test_without_ray_it_is_said_how_to_get_it(letters, predict, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    _, err = predict(letters / "first.csv", *RAY, code=2)
    assert err == "onlineboost: --engine ray needs Ray, which is not installed: pip install 'onlineboost[ray]'\n"


# ---- in_order


@pytest.fixture
def workers(cluster):
    """Ray, whose workers do not find this module: its functions are sent to them."""
    cluster.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield cluster
    cluster.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def pages(n):
    """Pages of one row each, which has the number of its page as its value."""
    for number in range(1, n + 1):
        yield Page(one_row([0], [number]), [], Classes(), Schema())


def slow_at_first(batch):
    time.sleep(0.3 if batch.values[0] == 1 else 0)
    return int(batch.values[0])


def test_answers_come_in_order(workers):
    assert list(in_order(workers, slow_at_first, pages(9))) == [(1, number) for number in range(1, 10)]


@pytest.mark.parametrize("jobs", [None, 1])
def test_few_pages_are_on_the_way(workers, jobs):
    read = answered = most = 0

    def counted():
        nonlocal read, most
        for page in pages(20):
            read += 1
            most = max(most, read - answered)
            yield page

    for _ in in_order(workers, slow_at_first, counted(), jobs):
        answered += 1
    assert answered == 20
    assert 1 < most <= 2 * (jobs or 2)


class Loaded:
    """Work that tells how often its process has unpickled it; the count is kept where classes sent anew find it."""

    def __setstate__(self, state):
        os.environ["TIMES_LOADED"] = str(int(os.environ.get("TIMES_LOADED", "0")) + 1)

    def __getstate__(self):
        return {"array": np.zeros(3)}

    def __call__(self, batch):
        return os.getpid(), os.environ["TIMES_LOADED"], all(array.flags.writeable for array in batch)


def test_a_worker_gets_the_model_once_and_arrays_it_can_write(workers):
    found = [answer for _, answer in in_order(workers, Loaded(), pages(12))]
    assert os.getpid() not in {process for process, _, _ in found}
    assert {(times, writeable) for _, times, writeable in found} == {("1", True)}


def dies(batch):
    os.kill(os.getpid(), signal.SIGKILL)


def fails(batch):
    raise MemoryError


def test_a_worker_that_died_is_told(workers):
    with pytest.raises(WorkerError, match="a worker died: "):
        list(in_order(workers, dies, pages(1)))


def test_work_that_a_worker_does_not_find_is_told(cluster):
    with pytest.raises(WorkerError, match="a worker died: .*No module named 'test_scoring'"):
        list(in_order(cluster, fails, pages(1)))


def test_an_error_in_a_worker_is_the_same_error_here(workers):
    with pytest.raises(MemoryError) as found:
        list(in_order(workers, fails, pages(3)))
    assert type(found.value) is MemoryError  # not Ray's, which are both


def test_another_version_in_a_worker_is_told(workers, monkeypatch):
    monkeypatch.setattr("onlineboost.__version__", "0.0.7")
    with pytest.raises(WorkerError, match=r"a worker has onlineboost .*, this machine 0\.0\.7: expected the same"):
        list(in_order(workers, slow_at_first, pages(1)))


def test_a_cluster_that_was_there_stays(cluster):
    with open_cluster(2, None) as ray:
        assert ray is cluster
    assert cluster.is_initialized()
