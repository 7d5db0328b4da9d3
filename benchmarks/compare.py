"""Speed of the working tree against a commit, interleaved in one run: is anything slower than before?

Three processes take turns on one core: the commit ("base"), the working tree ("head"), and the commit once more. A
repeat times a case 5 to 20 times in each, some milliseconds at a time in rotating order, and takes the quickest: what
others do on the machine only adds time. So every repeat gives two ratios, head / base and base again / base. New
processes start after every third repeat, because where a process happens to lie in memory changes its speed too. All
this for two clocks: processor time is the steadier one on a busy machine, but only elapsed time shows waiting.

ratio     median of head / base
spread    how far from 1 that median may be by chance: the farther end of the interval that holds the median of
          base again / base with a probability of 90 % or more, by the order of the ratios, as in the sign test.
          More repeats make it smaller.
verdict   "slower" if the ratio of either clock is above 1 + spread + tolerance. Of some thirty cases one is so by
          chance now and then; therefore such cases are measured once more, and all their repeats together decide.

Exits with 1 if a case is slower, or fails in head. Checkouts and compiled code are in a temporary folder; --folder
keeps them, so that the next run does not compile what has not changed.

    python benchmarks/compare.py --base COMMIT [--repeats 9] [--cases learn_one parse] [--json FILE] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from compare_workers import Places, Worker, check_out, workers
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

SECONDS, OF_REPEAT = 0.005, 0.1  # of one timing, at least; of the timings of one repeat, about
REPEATS_OF_A_PROCESS = 3
TOLERANCE = 0.02
SIDES, CLOCKS = ("base", "head", "again"), ("time", "cpu")
Times = dict[str, dict[str, list[float]]]  # by clock and side: the seconds of each repeat


def interval(ratios: list[float]) -> tuple[float, float]:
    """The narrowest pair of ordered ratios that holds the median with a probability of 0.9 or more."""
    n, ordered = len(ratios), sorted(ratios)
    wide = [k for k in range(n // 2) if 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n <= 0.1]
    k = max(wide, default=0)
    return ordered[k], ordered[n - 1 - k]


def summary(times: Times, tolerance: float = TOLERANCE) -> dict[str, Any]:
    """The figures of a case; repeats of the three sides are paired."""
    row: dict[str, Any] = {side: statistics.median(times["time"][side]) for side in ("base", "head")}
    verdicts = set()
    for clock in CLOCKS:
        base, head, again = (times[clock][side] for side in SIDES)
        ratio = statistics.median(h / b for h, b in zip(head, base, strict=True))
        low, high = interval([a / b for a, b in zip(again, base, strict=True)])
        spread = max(high, 1 / low) - 1
        limit = 1 + spread + tolerance
        verdicts.add("slower" if ratio > limit else "faster" if ratio < 1 / limit else "same")
        row[clock] = {"ratio": ratio, "spread": spread}
    return row | {"verdict": next(verdict for verdict in ("slower", "faster", "same") if verdict in verdicts)}


def chosen(names: list[str], parts: list[str]) -> list[str]:
    """The cases whose names contain one of the parts; all where none are given."""
    return [name for name in names if not parts or any(part.lower() in name.lower() for part in parts)]


def with_unit(seconds: float) -> str:
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "us"))
    return f"{seconds / scale:.3g} {unit}"


def prepare(places: Places, files: Path, parts: list[str], progress: Progress) -> dict[str, dict[str, str]]:
    """Run each case once in both, at the same time, so that all is compiled; what went wrong, by case and side."""
    with workers(places, files) as both:
        for worker in both.values():
            found = worker.ask("cases")
            if not Path(found["package"]).is_relative_to(worker.place):
                raise SystemExit(f"imported {found['package']}: expected the copy in {worker.place}")
        names = chosen(found["cases"], parts)
        if not names:
            raise SystemExit(f"--cases {' '.join(parts)}: no such case. Cases: {'; '.join(found['cases'])}")
        problems = {}
        for name in progress.track(names, description="compiling"):
            for worker in both.values():
                worker.send({"case": name, "count": 1})
            answers = {side: worker.answer() for side, worker in both.items()}
            problems[name] = {side: answer["problem"] for side, answer in answers.items() if "problem" in answer}
    return problems


def quickest(name: str, count: int, turns: range, started: dict[str, Worker]) -> dict[str, dict[str, float]]:
    """Seconds a row (or a call, or a file), by clock and side."""
    found = {clock: dict.fromkeys(SIDES, math.inf) for clock in CLOCKS}
    for turn in turns:
        for side in SIDES[turn % 3 :] + SIDES[: turn % 3]:
            answer = started[side].ask({"case": name, "count": count})
            for clock in CLOCKS:
                found[clock][side] = min(found[clock][side], answer[clock] / count / answer["items"])
    return found


def measure(times: dict[str, Times], places: Places, files: Path, repeats: int, progress: Progress) -> None:
    """Add this many repeats to the times of these cases."""
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    task = progress.add_task("measuring", total=len(times) * repeats)
    for first in range(0, repeats, REPEATS_OF_A_PROCESS):
        progress.console.print(f"measuring: repeat {first + 1} of {repeats}")
        with workers({side: places.get(side, places["base"]) for side in SIDES}, files, core) as started:
            for name, known in times.items():
                for _ in range(2):  # the first call loads compiled code, the second tells how many to time
                    answers = {side: worker.ask({"case": name, "count": 1}) for side, worker in started.items()}
                once = answers["base"]["time"]
                count = max(1, round(SECONDS / once))
                timings = min(20, max(5, round(OF_REPEAT / count / once)))
                for repeat in range(first, min(first + REPEATS_OF_A_PROCESS, repeats)):
                    for clock, by_side in quickest(name, count, range(repeat, repeat + timings), started).items():
                        for side, seconds in by_side.items():
                            known[clock][side].append(seconds)
                    progress.advance(task)


def compare(options: argparse.Namespace, folder: Path) -> dict[str, dict[str, Any]]:
    places, files = check_out(options.base, folder), folder / "files"
    files.mkdir(exist_ok=True)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        progress.console.print("compiling both where needed: some minutes")
        problems = prepare(places, files, options.cases, progress)
        good = [name for name, problem in problems.items() if not problem]
        times: dict[str, Times] = {name: {clock: {side: [] for side in SIDES} for clock in CLOCKS} for name in good}
        measure(times, places, files, options.repeats, progress)
        doubtful = {name: found for name, found in times.items() if summary(found)["verdict"] == "slower"}
        if doubtful:
            progress.console.print(f"measuring once more: {'; '.join(doubtful)}")
            measure(doubtful, places, files, options.repeats, progress)
    rows = {name: summary(found) for name, found in times.items()}
    for name, problem in problems.items():
        if problem:
            rows[name] = {"verdict": "fails" if "head" in problem else "not in base", "problem": problem}
    return rows


def table(base: str, rows: dict[str, dict[str, Any]]) -> Table:
    made = Table("case", title=f"The working tree against {base}: time a row, a call or a file")
    for column in ("base", "head", "ratio", "spread", "CPU ratio", "CPU spread"):
        made.add_column(column, justify="right")
    made.add_column("verdict")
    for name, row in rows.items():
        if "problem" in row:
            problem = "; ".join(f"{side}: {text}" for side, text in row["problem"].items())
            made.add_row(name, *[""] * 6, escape(f"{row['verdict']}, {problem}"))
        else:
            figures = [with_unit(row["base"]), with_unit(row["head"])]
            for clock in CLOCKS:
                figures += [f"{row[clock]['ratio']:.3f}", f"{row[clock]['spread']:.1%}"]
            made.add_row(name, *figures, row["verdict"])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True, help="commit to compare the working tree with")
    parser.add_argument("--repeats", type=int, default=9, help="timings of each case, at least 5")
    parser.add_argument("--cases", nargs="+", default=[], help="parts of the names of cases; default: all cases")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--folder", type=Path, help="folder for checkouts and compiled code; default: a temporary one")
    options = parser.parse_args()
    if options.repeats < 5:
        parser.error("--repeats: expected at least 5")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the temporary folder goes, as on an interrupt
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        rows = compare(options, folder.resolve())
    Console(width=None if sys.stdout.isatty() else 140).print(table(options.base, rows))
    if options.json:
        options.json.write_text(json.dumps({"base": options.base, "cases": rows}, indent=1) + "\n")
    bad = [name for name, row in rows.items() if row["verdict"] in ("slower", "fails")]
    print(f"slower or failing: {'; '.join(bad)}" if bad else f"nothing is slower than {options.base}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
