"""Trials of ``endurance.py`` with other processes: lines of a gigabyte, and two trainings into one file."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import onlineboost

_STREAM = """
import json, resource, sys, time
from onlineboost import DataError
from onlineboost.readers import open_stream
def read(path, on_error):
    try:
        with open_stream(path, format=format, on_error=on_error) as stream:
            rows = sum(page.n_rows for page in stream)
            return f"read: {rows} rows, {stream.skipped} skipped"
    except DataError as problem:
        return f"refused: {problem}"
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
format, small, *paths = sys.argv[1:]
read(small, "raise")
before = peak()
for path in paths:
    for on_error in ("raise", "skip"):
        began = time.process_time()
        said = read(path, on_error)
        print(json.dumps([said, time.process_time() - began, peak() - before]))
"""
SMALL = {"vw": "1 | a:1\n", "libsvm": "1 1:1\n", "csv": "label,x\n1,2\n", "jsonl": '{"label": 1, "x": 2}\n'}
LINES = {  # beginning, and the piece that is repeated
    "vw": [(b"1 | ", b"a"), (b"1 |", b" feature:1"), (b"", b"a")],
    "libsvm": [(b"1", b" 1:1"), (b"", b"x"), (b"1 1:", b"1")],
    "csv": [(b"label,x\n1,", b"a"), (b"label,x\n", b"1,2,"), (b"", b"column,"), (b'label,x\n1,"', b"a")],
    "jsonl": [(b'{"label": 1, "x": "', b"a"), (b"", b"["), (b'{"label": 1, "x": [', b"1,")],
}
_CLEAR = "a shorter line", "more cells than the first line", "read: 0 rows, 1 skipped"
_CHUNK = 1 << 20
_MOST_SECONDS, _MOST_MEMORY = 10.0, 400.0  # of the processor; MB
_TRAIN = ("-a", "bbm", "-n", "2", "--no-baseline", "-q")


# ---- lines


def run_lines(megabytes: int, folder: Path) -> tuple[str, str]:
    """Lines of every format through open_stream and the command; returns the number of trials and what was found."""
    problems, n, slowest, most = [], 0, 0.0, 0.0
    for format, kinds in LINES.items():
        small = folder / f"small.{format}"
        small.write_text(SMALL[format])
        for number, (begin, piece) in enumerate(kinds):
            paths = [folder / f"line.{format}", folder / f"line.{format}.gz"]
            for path in paths:
                _write(path, begin, piece, megabytes)
            tried = [("open_stream", one) for one in _stream(paths, format, small)]
            if number == 0:
                tried += [("command", _command([str(path)], format)) for path in paths]
                tried.append(("pipe", _command(["-"], format, paths[0])))
            for path in paths:
                path.unlink()
            for how, (said, seconds, memory) in tried:
                n, slowest, most = n + 1, max(slowest, seconds), max(most, memory)
                clear = any(words in said for words in _CLEAR)
                good = clear and seconds < _MOST_SECONDS and memory < _MOST_MEMORY
                line = f"{how} {format} {begin!r} {piece!r}: {seconds:.1f} s, {memory:.0f} MB: {said[:160]}"
                print(line if good else f"PROBLEM {line}", flush=True)
                problems += [] if good else [line]
    found = f"refused with the length and the option; at most {slowest:.1f} s and {most:.0f} MB more than a small file"
    return f"{n} lines of {megabytes:,} MB", found if not problems else f"{len(problems)} problems"


def _write(path: Path, begin: bytes, piece: bytes, megabytes: int) -> None:
    chunk = piece * (_CHUNK // len(piece) + 1)
    packer = zlib.compressobj(1, zlib.DEFLATED, 31) if path.suffix == ".gz" else None
    with path.open("wb") as file:
        for part in (begin, *([chunk] * megabytes)):
            file.write(packer.compress(part) if packer else part)
        file.write(packer.flush() if packer else b"")


def _stream(paths: list[Path], format: str, small: Path) -> list[tuple[str, float, float]]:
    """What open_stream says of each file, raising and skipping, with its seconds and the peak of memory so far."""
    command = [sys.executable, "-c", _STREAM, format, str(small), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    return found if not done.returncode else [*found, (f"exit {done.returncode}: {done.stderr[-300:]}", 0.0, 0.0)]


def _command(source: list[str], format: str, pipe: Path | None = None) -> tuple[str, float, float]:
    """What the command says, with the seconds and the memory of its process beyond those of its imports."""
    label = ["--label", "label"] if format in ("csv", "jsonl") else []
    command = [sys.executable, "-m", "onlineboost", "train", *source, "-f", format, *label, *_TRAIN]
    cat = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) if pipe else None
    process = subprocess.Popen(
        command, stdin=cat.stdout if cat else None, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if cat and cat.stdout:
        cat.stdout.close()
    assert process.stdout is not None
    said = process.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if cat:
        cat.wait()
    if code != 1 or "Traceback" in said:
        said = f"exit {code}: {said[-300:].replace('MB', 'M')}"
    return said.strip(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024 - 250


# ---- two processes and one file


def run_writers(rounds: int, folder: Path) -> tuple[str, str]:
    """Two trainings into one file at once: it must be whole at all times, and at the end that of one of the two."""
    rng, problems, seen = random.Random(0), [], Counter[str]()
    data = [folder / "a.csv", folder / "b.csv"]
    for k, path in enumerate(data):
        rows = (f"{rng.random():.4f},{rng.random():.4f},{rng.randrange(2)}" for _ in range(20_000 + 10_000 * k))
        path.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    target, alone = folder / "same.model", []
    for path in data:
        _start(path, target).wait()
        alone.append(target.read_bytes())
    for number in range(rounds):
        resume = number % 2 == 1
        if not resume:
            target.unlink(missing_ok=True)
        processes = [_start(path, target, resume and path is data[1]) for path in data]
        while any(process.poll() is None for process in processes):
            seen["looks"] += 1
            problems += _look(target)
            time.sleep(0.02)
        said = [process.communicate()[0].decode() for process in processes]
        seen["told"] += any("another process has changed" in words for words in said)
        codes = [process.returncode for process in processes]
        if codes != [0, 0] or (not resume and target.read_bytes() not in alone):
            problems.append(f"round {number}: exit codes {codes}, {said}")
        if [*folder.glob(".same.model*")]:
            problems.append(f"round {number}: temporary files are left")
        print(f"round {number}: exit codes {codes}, {len(problems)} problems", flush=True)
    found = (
        f"whole at each of {seen['looks']:,} looks, at the end one of the two; {seen['told']} times a process said so"
    )
    return f"{2 * rounds} trainings", found if not problems else f"{len(problems)} problems: {problems[0]}"


def _start(path: Path, target: Path, resume: bool = False) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "onlineboost", "train", str(path), "--checkpoint-every", "1000"]
    into = (
        ["--resume", str(target), "-q"]
        if resume and target.exists()
        else ["-o", str(target), "--label", "label", *_TRAIN]
    )
    return subprocess.Popen([*command, *into], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _look(target: Path) -> list[str]:
    try:
        model: Any = onlineboost.load(target)
        return [] if model.n_seen_ else ["a model without examples"]
    except FileNotFoundError:
        return []
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]
