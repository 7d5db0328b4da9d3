"""Reading files compared with Vowpal Wabbit: parsing speed, time of a whole training, memory.

One core, both systems in the same run, repeats interleaved, medians. Parsing is megabytes of text per second, including
reading: for ``vw`` the time of ``vw --noop`` minus that of the same command on an empty file; for onlineboost a loop
over ``open_stream`` in a warm process. Training is from process start to the model on disk, with a warm cache.

    python benchmarks/streams.py [--repeats 5] [--data FOLDER] [--only parse|train|memory] [--publish]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from onlineboost.datasets import load_letter
from onlineboost.readers import open_stream

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept
from figures import table as markdown

FIGURES = FOLDER / "streams.json"
FLOORS = {"parse": 3, "train 21": 2, "train 61": 5}
VW = [sys.executable, "-m", "vowpalwabbit", "--quiet"]
OURS = [sys.executable, "-m", "onlineboost"]


def as_vw(lines: list[bytes]) -> bytes:
    parts = (line.partition(b" ") for line in lines)
    return b"".join(label + b" | " + features + b"\n" for label, _, features in parts)


def named(lines: list[bytes]) -> bytes:
    """VW text with names that have to be hashed, in two namespaces."""
    rows = []
    for line in lines:
        label, *features = line.split()
        names = [b"word_" + feature for feature in features]
        half = len(names) // 2
        rows.append(label + b" |a " + b" ".join(names[:half]) + b" |b " + b" ".join(names[half:]) + b"\n")
    return b"".join(rows)


def write_texts(folder: Path, data: Path) -> dict[str, Path]:
    """The files to parse: covtype and rcv1 if available, else the bundled letters."""
    texts: dict[str, bytes] = {}
    for name in ("covtype", "rcv1"):
        path = data / f"{name}.libsvm.gz"
        if path.exists():
            content = gzip.decompress(path.read_bytes())
            lines = content.splitlines()
            texts |= {f"{name}.vw": as_vw(lines), f"{name}.libsvm": content}
            if name == "rcv1":
                texts["rcv1-named.vw"] = named(lines)
    if not texts:
        X, y = load_letter()
        lines = [
            f"{int(label)} {' '.join(f'{j}:{x}' for j, x in enumerate(row))}".encode()
            for row, label in zip(X.tolist(), y, strict=True)
        ] * 10
        texts = {"letter.vw": as_vw(lines), "letter.libsvm": b"\n".join(lines) + b"\n"}
    files = {}
    for name, content in texts.items():
        files[name] = folder / name
        files[name].write_bytes(content)
    return files


def wall(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def parse_vw(path: Path, empty: Path) -> Callable[[], float]:
    command = [*VW, "--noop", "-d"]
    return lambda: wall([*command, str(path)]) - wall([*command, str(empty)])


def parse_ours(path: Path) -> Callable[[], float]:
    def run() -> float:
        began = time.perf_counter()
        for _ in open_stream(path):
            pass
        return time.perf_counter() - began

    run()
    return run


def interleaved(contenders: dict[str, Callable[[], float]], repeats: int, tick: Callable[[], None]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, contender in contenders.items():
            times[name].append(contender())
        tick()
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def parse(files: dict[str, Path], folder: Path, repeats: int, tick: Callable[[], None]) -> list[dict[str, Any]]:
    (folder / "empty.vw").write_bytes(b"")
    results = []
    for name, path in files.items():
        # vw does not read LIBSVM text: it reads the same examples as VW text
        theirs = path.with_suffix(".vw")
        contenders = {"vw": parse_vw(theirs, folder / "empty.vw"), "ours": parse_ours(path)}
        seconds = interleaved(contenders, repeats, tick)
        speeds = {
            "vw": theirs.stat().st_size / seconds["vw"] / 1e6,
            "ours": path.stat().st_size / seconds["ours"] / 1e6,
        }
        results.append(
            {"what": "parse", "data": name, **speeds, "ratio": speeds["ours"] / speeds["vw"], "unit": "MB/s"}
        )
    return results


def train(files: dict[str, Path], folder: Path, repeats: int, tick: Callable[[], None]) -> list[dict[str, Any]]:
    path = next(file for name, file in files.items() if name.endswith(".vw"))
    results = []
    for n in (21, 61):
        model = str(folder / "model")
        vw = [*VW, "--boosting", str(n), "-d", str(path), "-f", model]
        ours = [*OURS, "train", str(path), "-n", str(n), "-q", "-o", model]
        wall(ours)  # compiled
        contenders = {
            "vw": lambda command=vw: wall(command),
            "ours": lambda command=ours: wall(command),
            "plain": lambda command=ours: wall([*command, "--no-standardize", "--no-baseline"]),
        }
        seconds = interleaved(contenders, repeats, tick)
        results.append(
            {"what": f"train {n}", "data": path.name, **seconds, "ratio": seconds["vw"] / seconds["ours"], "unit": "s"}
        )
    return results


def memory(folder: Path, gigabytes: float) -> list[dict[str, Any]]:
    """Peak memory of training on a generated file of this size."""
    path = folder / "large.vw"
    rng = np.random.default_rng(0)
    block = []
    for _ in range(20_000):
        features = " ".join(
            f"f{int(j)}:{x:.4f}" for j, x in zip(rng.integers(0, 5000, 30), rng.random(30), strict=True)
        )
        block.append(f"{1 if rng.random() < 0.5 else -1} | {features}\n")
    content = "".join(block).encode()
    with path.open("wb") as file:
        for _ in range(int(gigabytes * 1e9 / len(content)) + 1):
            file.write(content)
    command = [*OURS, "train", str(path), "-a", "safe", "-q", "--json", "-o", str(folder / "model")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    size = path.stat().st_size / 1e9
    path.unlink()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    return [
        {
            "what": "memory",
            "data": f"{size:.1f} GB of VW text",
            "ours": peak,
            "unit": "MB",
            "seconds": result["seconds"],
        }
    ]


def blocks() -> dict[str, str]:
    rows = []
    for r in kept(FIGURES):
        kind, _, n = r["what"].partition(" ")
        if kind == "parse":
            rows.append([f"parse {r['data']}", f"{r['vw']:.0f} MB/s", f"{r['ours']:.0f} MB/s", f"{r['ratio']:.1f}x"])
        elif kind == "train":
            what = f"train {n} learners on {r['data']}"
            rows.append([what, f"{r['vw']:.1f} s", f"{r['ours']:.1f} s", f"{r['ratio']:.1f}x"])
        else:
            rows.append([f"memory, {r['data']}", "", f"{r['ours']:.0f} MB", ""])
    return {"streams": markdown(["files, one core", "`vw`", "onlineboost", ""], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    add_data(parser)
    parser.add_argument("--only", choices=("parse", "train", "memory"))
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the file of the memory test")
    parser.add_argument("--publish", action="store_true", help="write docs/figures/streams.json and the pages")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["ONLINEBOOST_QUIET"] = "1"
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary, Progress(transient=True) as progress:
        folder = Path(temporary)
        files = write_texts(folder, options.data)
        task = progress.add_task("timing", total=(len(files) + 2) * options.repeats)

        def tick() -> None:
            progress.advance(task)

        if options.only in (None, "parse"):
            results += parse(files, folder, options.repeats, tick)
        if options.only in (None, "train"):
            results += train(files, folder, options.repeats, tick)
        if options.only in (None, "memory"):
            results += memory(folder, options.gigabytes)
    table = Table("what", "data", "vw", "onlineboost", "ratio", "floor", title="Files, one core")
    for r in results:
        vw, ratio = (f"{r[key]:.2f}" if key in r else "" for key in ("vw", "ratio"))
        table.add_row(r["what"], r["data"], vw, f"{r['ours']:.2f} {r['unit']}", ratio, str(FLOORS.get(r["what"], "")))
    Console().print(table)
    if options.publish:
        keep(FIGURES, results)


if __name__ == "__main__":
    main()
