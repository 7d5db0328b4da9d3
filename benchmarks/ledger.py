"""The ledger: a few ratios of speed, measured for every change and kept with its commit, in two minutes.

A ratio is the processor time of a case over that of a yardstick, which is fixed work of the same kind in the same
run, just before and after. So machines and busy neighbours count little, and entries of different days can be compared.
Larger ratios are slower. (``benchmarks/speed.py`` has the speed beside Vowpal Wabbit.)

    python benchmarks/ledger.py [--commit COMMIT] [--repeats 5] [--only learn] [--show]

Prints the cases that are slower than the best entry by more than the spread of both. With --commit, another commit is
measured, by the same cases; --show measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from compare_workers import ROOT, Worker, check_out
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

FIGURES = ROOT / "docs/figures/ledger.json"
SECONDS = 0.15  # of one timing, about
TOLERANCE = 0.02
CASES = (
    "learn, 21 linear",
    "learn, 61 linear",
    "learn, 21 linear, sparse",
    "learn, 21 Tree(5)",
    "learn, 21 Tree(8)",
    "learn, OnlineBoost",
    "learn_one, OnlineBoost",
    "predict_one, OnlineBoost",
    "learn_one, OnlineBoost with words",
    "predict_one, OnlineBoost with words",
    "parse csv",
    "parse vw",
)
YARDSTICKS = {"learn": "yardstick arrays", "parse": "yardstick arrays"}  # by how cases begin; else that of objects


def yardstick_of(case: str) -> str:
    return YARDSTICKS.get(case.split(",")[0].split(" ")[0], "yardstick objects")


def timed(worker: Worker, case: str, count: int) -> float | None:
    """Processor seconds of an item; None for a case that the commit does not have."""
    answer = worker.ask({"case": case, "count": count})
    return None if "problem" in answer else answer["cpu"] / count / answer["items"]


def measure(place: Path, folder: Path, cases: list[str], repeats: int) -> dict[str, Any]:
    """The ratios of each case, and by how much they differ from their median."""
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    rows: dict[str, Any] = {}
    worker, ruler = Worker(place, folder, core), Worker(place, folder, core)
    worker.ask("cases")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for case in progress.track(cases, description="measuring"):
            once = max(filter(None, (timed(worker, case, 1) for _ in range(2))), default=None)
            if once is None:
                continue
            items = worker.ask({"case": case, "count": 1})["items"]
            count, yardstick = max(1, round(SECONDS / (once * items))), yardstick_of(case)
            unit = max(timed(ruler, yardstick, 1) or 0, timed(ruler, yardstick, 1) or 0)
            ratios = []
            for _ in range(repeats):
                before = timed(ruler, yardstick, max(1, round(SECONDS / 2 / unit)))
                mine = timed(worker, case, count)
                after = timed(ruler, yardstick, max(1, round(SECONDS / 2 / unit)))
                ratios.append(1e3 * mine / ((before + after) / 2))  # type: ignore[operator]
            middle = statistics.median(ratios)
            spread = statistics.median(abs(ratio - middle) for ratio in ratios) / middle
            rows[case] = {"ratio": float(f"{middle:.5g}"), "spread": float(f"{spread:.2g}")}
    for one in (worker, ruler):
        one.process.stdin.close()
        one.process.wait()
    return rows


def entries() -> list[dict[str, Any]]:
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else []


def best(known: list[dict[str, Any]], case: str) -> tuple[dict[str, Any], str] | None:
    """The lowest ratio so far of a case, and its commit."""
    found = [(entry["rows"][case], entry["commit"]) for entry in known if case in entry["rows"]]
    return min(found, key=lambda one: one[0]["ratio"], default=None)


def fallen(known: list[dict[str, Any]], rows: dict[str, Any]) -> list[str]:
    """The cases that are slower than ever before, beyond the spread of both."""
    found = []
    for case, row in rows.items():
        before = best(known, case)
        if before is not None:
            limit = 1 + TOLERANCE + 3 * (row["spread"] + before[0]["spread"])
            if row["ratio"] > limit * before[0]["ratio"]:
                found.append(case)
    return found


def show(known: list[dict[str, Any]], rows: dict[str, Any]) -> None:
    table = Table("case", "ratio", "spread", "best so far", "commit", "now / best")
    slow = fallen(known, rows)
    for case, row in rows.items():
        before = best(known, case)
        figures = ["", "", ""]
        if before is not None:
            figures = [f"{before[0]['ratio']:.4g}", before[1], f"{row['ratio'] / before[0]['ratio']:.3f}"]
        mark = "[bold]" if case in slow else ""
        table.add_row(mark + case, f"{row['ratio']:.4g}", f"{row['spread']:.1%}", *figures)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    print(f"slower than before: {'; '.join(slow)}" if slow else "nothing is slower than the best entry")


def commit_of(name: str) -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", help="commit to measure; default: the working tree, as the last commit")
    parser.add_argument("--repeats", type=int, default=5, help="timings of each case")
    parser.add_argument("--only", default="", help="part of the names of cases")
    parser.add_argument("--show", action="store_true", help="show the last entry beside the best of all others")
    options = parser.parse_args()
    known = entries()
    if options.show:
        show(known[:-1], known[-1]["rows"])
        return
    commit = commit_of(options.commit or "HEAD")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = check_out(commit, folder)["base" if options.commit else "head"]
        rows = measure(place, folder, [case for case in CASES if options.only in case], options.repeats)
    show(known, rows)
    if not options.only:
        FIGURES.write_text(json.dumps([*known, {"commit": commit, "rows": rows}], indent=1) + "\n")
    sys.exit(1 if fallen(known, rows) else 0)


if __name__ == "__main__":
    main()
