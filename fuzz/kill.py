"""Stop ``onlineboost train`` at random moments, resume it until it ends, and compare with an undisturbed run.

    python fuzz/kill.py [--kills 200] [--at-end 50] [--signals 60] [--full 40] [--actors 0] [--seed 0] [--rows 30000]

The processes are forks of this one, in which everything is imported and compiled: a trial takes a fraction of a second,
and its moments lie in the training, not in the start of Python.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gzip
import io
import os
import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["ONLINEBOOST_QUIET"] = "1"

from processes import SIGNALS, Cluster, Process, actors_of

from onlineboost.cli.app import main as onlineboost
from onlineboost.model import load_all

INTERRUPTED = 130
MOST_KILLS = 6  # of actors, in one training


class Trials:
    """Random trials of several commands in one folder."""

    def __init__(self, folder: Path, rows: int, seed: int) -> None:
        self.folder, self.rng, self.counts = folder, random.Random(seed), Counter[str]()
        self.model = folder / "model"
        self.cluster: Cluster | None = None
        self._write_data(rows)
        file, parts = folder / "data.vw", [folder / f"{k}.vw.gz" for k in range(3)]
        self.commands: dict[str, list[object]] = {
            "one file": [file],
            "three compressed files": [*parts],
            "two passes": [file, "--passes", 2],
        }
        self.on_ray: dict[str, list[object]] = {
            "groups of trees": [file, "-a", "bbm", "-n", 9, "--learner", "tree", "--head", "stack", "-j", 2],
            "groups of linear learners": [file, "-a", "safe", "-n", 33, "-j", 3],
            "three classes": [folder / "classes.csv", "-a", "bbm", "-n", 5, "-j", 3],
        }
        self.whole: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}  # with checkpoints
        self.quick: dict[str, float] = {}  # without
        self.every = ["--checkpoint-every", rows // 8]
        self._run_in_this_process([file, "-n", 3, "-o", self.model])
        for name in self.commands:
            self.seconds[name] = min(self._timed(name, *self.every) for _ in range(3))
            self.quick[name] = min(self._timed(name) for _ in range(3))

    def _write_data(self, rows: int) -> None:
        rng = random.Random(0)
        pairs = [(rng.randrange(9), rng.randrange(9)) for _ in range(rows)]
        lines = [f"{1 if a + b + rng.random() > 8 else -1} | a:{a} b:{b} c{a * b % 7}\n" for a, b in pairs]
        (self.folder / "data.vw").write_text("".join(lines))
        sizes = [f"{a},{b},{('low', 'middle', 'high')[(a + b) // 6]}\n" for a, b in pairs]
        (self.folder / "classes.csv").write_text("a,b,label\n" + "".join(sizes))
        for k in range(3):
            with gzip.open(self.folder / f"{k}.vw.gz", "wt", 1) as file:
                file.write("".join(lines[k::3]))

    def _run_in_this_process(self, arguments: list[object]) -> None:
        """So that the forks find everything imported and compiled."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            onlineboost(["train", *map(str, arguments), "-q"])
        self.model.unlink()

    def _timed(self, name: str, *options: object) -> float:
        began = time.perf_counter()
        self._finish(self._start(name, *options))
        seconds = time.perf_counter() - began
        assert self.whole.setdefault(name, self.model.read_bytes()) == self.model.read_bytes(), name
        self.model.unlink()
        return seconds

    def _start(self, name: str, *options: object, before: Callable[[], object] = lambda: None) -> Process:
        known = ["--resume", self.model] if self.model.exists() else ["-n", 3]
        return Process(["train", *self.commands[name], *known, "-o", self.model, "-q", *options], before)

    def _finish(self, process: Process) -> str:
        text = process.wait()
        if process.code:
            raise AssertionError(f"exit code {process.code}: {text}")
        return text

    def _check_end(self, name: str) -> None:
        """The same bytes as without interruption, no remains, and nothing more to learn."""
        for _ in range(2):
            assert self.model.read_bytes() == self.whole[name], f"{name}: the resumed model has other bytes"
            remains = [path for path in os.listdir(self.folder) if path.endswith(".partial")]
            assert not remains, f"{name}: {remains} stayed"
            text = self._finish(self._start(name))
            assert "nothing to learn" in text, text
        self.model.unlink()

    def _check_whole(self) -> bool:
        """Whatever the moment, the model is absent or complete; whether there is one that is to be resumed."""
        return self.model.exists() and load_all(self.model)[2]["unfinished"] is not None

    def kill(self) -> None:
        """SIGKILL at random moments, with checkpoints."""
        name = self.rng.choice([*self.commands])
        while True:
            process = self._start(name, *self.every)
            time.sleep(self.rng.uniform(0, 1) * self.seconds[name])
            process.kill(signal.SIGKILL)
            text = process.wait()
            assert process.code in (0, -signal.SIGKILL), f"exit code {process.code}: {text}"
            resumable = self._check_whole()
            if not process.code:
                break
            self.counts["kills"] += 1
            self.counts["  with a checkpoint to resume from"] += resumable
            self.counts["  in the middle of a save"] += any(p.endswith(".partial") for p in os.listdir(self.folder))
        self._check_end(name)

    def kill_at_end(self) -> None:
        """SIGKILL between the last save and the exit."""
        name = self.rng.choice([*self.commands])
        process = self._start(name)
        while not self.model.exists() and not process.ended():  # without checkpoints the only save is the last
            time.sleep(1e-4)
        time.sleep(self.rng.choice([0, 0, 1e-4, 1e-3]))
        process.kill(signal.SIGKILL)
        process.wait()
        if process.code == 0:
            self.counts["ended before the kill at the end"] += 1
            self.model.unlink()
            return self.kill_at_end()
        assert process.code == -signal.SIGKILL
        assert load_all(self.model)[2]["unfinished"] is None
        self.counts["kills between the last save and the exit"] += 1
        return self._check_end(name)

    def interrupt(self) -> None:
        """SIGINT, SIGTERM and SIGHUP at random moments, without checkpoints: what was learned is saved."""
        name = self.rng.choice([*self.commands])
        while True:
            kind = self.rng.choice(SIGNALS)
            before = self.model.read_bytes() if self.model.exists() else None
            process = self._start(name)
            time.sleep(self.rng.uniform(0.3, 1) * self.quick[name])
            process.kill(kind)
            if kind != signal.SIGINT and self.rng.random() < 0.5:  # a second Ctrl-C would stop at once
                process.kill(kind)
            text = process.wait()
            assert process.code in (0, INTERRUPTED, -kind), f"exit code {process.code}: {text}"
            if process.code == 0:
                break
            self._check_whole()
            after = self.model.read_bytes() if self.model.exists() else None
            self.counts[kind.name] += 1
            if process.code == -kind:  # before the training began, or after the last save
                assert after in (before, self.whole[name])
                self.counts[f"  {kind.name} before the training or after the last save"] += 1
            elif "Interrupted after" in text:
                assert after is not None
                self.counts[f"  {kind.name} with a model saved"] += 1
        self._check_end(name)

    def fill_disk(self) -> None:
        """A disk that is full at a random write: the old model stays as it was, and a line says so."""
        name = self.rng.choice([*self.commands])
        process = self._start(name, *self.every)
        time.sleep(self.rng.uniform(0.1, 0.7) * self.seconds[name])
        process.kill(signal.SIGKILL)
        process.wait()
        before = self.model.read_bytes() if self.model.exists() else None
        room = self.rng.randrange(len(self.whole[name]) - 1)
        limited = self.rng.random() < 0.5
        process = self._start(name, before=lambda: _limit_files(room) if limited else _fail_flushes())
        text = process.wait()
        if not process.code:
            assert "nothing to learn" in text, text
            self.counts["trials without anything to save"] += 1
        else:
            reason = os.strerror(errno.EFBIG if limited else errno.ENOSPC)
            state = "the old file is unchanged" if before is not None else "there is no file"
            assert process.code == 1, text
            assert text.splitlines()[-1] == f"onlineboost: {self.model}: {reason}: not written, {state}", text
            assert (self.model.read_bytes() if self.model.exists() else None) == before
            self.counts[f"saves that failed ({reason})"] += 1
        self._finish(self._start(name))
        self._check_end(name)

    def kill_actors(self) -> None:
        """SIGKILL for actors of Ray at random moments of one training, which goes on."""
        assert self.cluster is not None
        name = self.rng.choice([*self.on_ray])
        if name not in self.whole:
            self._finish(Process(["train", *self.on_ray[name], "-o", self.model, "-q"]))
            self.whole[name] = self.model.read_bytes()
            self.model.unlink()
        connect = ["--engine", "ray", "--address", self.cluster.address]
        process = Process(["train", *self.on_ray[name], "-o", self.model, "-q", *connect], _divide_finely)
        for _ in range(self.rng.randint(2, MOST_KILLS)):
            self._kill_an_actor(self.cluster.holder.pid, process)
        self._finish(process)
        self.counts["trainings on Ray"] += 1
        assert self.model.read_bytes() == self.whole[name], f"{name}: other bytes than without Ray"
        self.model.unlink()

    def _kill_an_actor(self, holder: int, process: Process) -> None:
        """Mostly one that learns."""
        wanted = "run" if self.rng.random() < 0.75 else ""
        pause = self.rng.choice([0, 0.1, 1]) * self.rng.random()
        actors: dict[int, str] = {}
        while not actors:
            time.sleep(0.1)
            if process.ended() or time.monotonic() > process.deadline:
                return
            actors = {pid: doing for pid, doing in actors_of(holder).items() if doing.startswith(wanted)}
            if actors and pause:
                time.sleep(pause)
                actors, pause = {}, 0
        pid = self.rng.choice([*actors])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.counts["kills of Ray's actors"] += 1
            self.counts[f"  in {actors[pid]}"] += 1


def _divide_finely() -> None:
    """Batches and cuts as often as in a training of millions of rows."""
    from onlineboost.engine import remote, team

    remote.PIECE, remote.CUT_EVERY, team.PATIENCE = 200, 6, 120.0


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _fail_flushes() -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    os.fsync = full  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="trials with SIGKILL and checkpoints")
    parser.add_argument("--at-end", type=int, default=50, help="trials with SIGKILL after the last save")
    parser.add_argument("--signals", type=int, default=60, help="trials with SIGINT, SIGTERM and SIGHUP")
    parser.add_argument("--full", type=int, default=40, help="trials with a full disk")
    parser.add_argument("--actors", type=int, default=0, help="trainings on Ray, with SIGKILL for some of its actors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=30_000)
    given = parser.parse_args()
    began, done = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        trials = Trials(Path(folder), given.rows, given.seed)
        kinds: dict[Callable[[], Any], int] = {
            trials.kill: given.kills,
            trials.kill_at_end: given.at_end,
            trials.interrupt: given.signals,
            trials.fill_disk: given.full,
            trials.kill_actors: given.actors,
        }
        if given.actors:
            trials.cluster = stack.enter_context(contextlib.closing(Cluster()))
        with contextlib.suppress(KeyboardInterrupt):  # the counts so far are printed
            for kind, number in kinds.items():
                for trial in range(number):
                    try:
                        kind()
                    except AssertionError as problem:
                        raise SystemExit(f"{kind.__name__}, trial {trial}, seed {given.seed}: {problem}") from problem
                    done += 1
    print(f"{done:,} trials in {time.perf_counter() - began:,.0f} s: the same bytes every time")
    for what, count in trials.counts.items():
        print(f"{count:>8,} {what}")


if __name__ == "__main__":
    main()
