"""The two checkouts that compare.py compares, and processes that run cases in them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Places = dict[str, Path]


class Worker:
    """A process with one of the two checkouts."""

    def __init__(self, place: Path, files: Path, core: int | None) -> None:
        own = {"PYTHONPATH": str(place / "src"), "NUMBA_CACHE_DIR": str(place / "cache")}
        same = {"PYTHONHASHSEED": "0", "ONLINEBOOST_QUIET": "1"}
        command = [sys.executable, str(ROOT / "benchmarks/compare_cases.py"), str(files)]
        command += [] if core is None else ["--core", str(core)]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.place, self.process = place, subprocess.Popen(command, env=os.environ | own | same, **pipes)

    def send(self, order: Any) -> None:
        print(json.dumps(order), file=self.process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the worker of {self.place.name} ended with code {self.process.wait()}: see above")
        return json.loads(line)

    def ask(self, order: Any) -> dict[str, Any]:
        self.send(order)
        return self.answer()


@contextlib.contextmanager
def workers(places: Places, files: Path, core: int | None = None) -> Iterator[dict[str, Worker]]:
    started = {side: Worker(place, files, core) for side, place in places.items()}
    try:
        yield started
    finally:
        for worker in started.values():
            worker.process.stdin.close()
            worker.process.wait()


def check_out(base: str, folder: Path) -> Places:
    """Copies of both sources: edits during the run do not matter. Files keep their times, by which Numba knows them."""
    places = {"base": folder / "base", "head": folder / "head"}
    for place in places.values():
        shutil.rmtree(place / "src", ignore_errors=True)
        place.mkdir(exist_ok=True)
    packed = folder / "base.tar"
    made = subprocess.run(["git", "-C", ROOT, "archive", "-o", packed, base, "src"], capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"--base {base}: expected a commit of this repository ({made.stderr.strip()})")
    with tarfile.open(packed) as archive:
        archive.extractall(places["base"], filter="data")
    shutil.copytree(ROOT / "src", places["head"] / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return places
