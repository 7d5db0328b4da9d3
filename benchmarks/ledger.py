"""The ledger: a few ratios of speed, measured for every change and kept with its commit, in some minutes.

A ratio is the time of a case over that of a yardstick, in thousandths: fixed work of the same kind, Vowpal Wabbit, or
the same with one thread, in the same run, just before and after. So machines and busy neighbors count little, and
entries of different days can be compared. Larger ratios are slower. Times are of the processor, but for threads.

    python benchmarks/ledger.py [--commit COMMIT] [--fill] [--repeats 5] [--only learn] [--without start]
    python benchmarks/ledger.py --show | --draw

Prints the cases that are slower than the best entry by more than the spread of both. With --commit, another commit is
measured, by the same cases; --fill adds to its entry the cases that it does not have yet; --show measures nothing;
--draw makes docs/ledger.svg anew.
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
from typing import Any, NamedTuple

from compare_workers import ROOT, Worker, check_out
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.append(str(ROOT / "scripts"))
from figures import draw, table

FIGURES = ROOT / "docs/figures/ledger.json"
PICTURE = ROOT / "docs/ledger.svg"
SECONDS = 0.15  # of one timing, about
LONG = 5.0  # calls that take longer are timed twice only
TOLERANCE = 0.02


class Case(NamedTuple):
    yardstick: str
    clock: str = "cpu"
    pinned: bool = True


ARRAYS, OBJECTS = Case("yardstick arrays"), Case("yardstick objects")
CASES = {
    "learn, 21 linear": ARRAYS,
    "learn, 61 linear": ARRAYS,
    "learn, 21 linear, sparse": ARRAYS,
    "learn, 21 Tree(5)": ARRAYS,
    "learn, 21 Tree(8)": ARRAYS,
    "learn, OnlineBoost": ARRAYS,
    "learn, 21 linear beside vw": Case("vw, 21 linear"),
    "learn, 61 linear beside vw": Case("vw, 61 linear"),
    "learn_one, OnlineBoost": OBJECTS,
    "predict_one, OnlineBoost": OBJECTS,
    "learn_one, OnlineBoost with words": OBJECTS,
    "predict_one, OnlineBoost with words": OBJECTS,
    "parse csv": ARRAYS,
    "parse vw": ARRAYS,
    "two threads, 63 Tree(8)": Case("one thread, 63 Tree(8)", "time", pinned=False),
    "two threads, OnlineBoost": Case("one thread, OnlineBoost", "time", pinned=False),
    "first start": OBJECTS._replace(pinned=False),
    "second start": OBJECTS._replace(pinned=False),
}


def measure(place: Path, folder: Path, names: list[str], repeats: int) -> dict[str, Any]:
    """The ratios of each case, and by how much they differ from their median."""
    last = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    rows: dict[str, Any] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=len(names))
        for pinned in (True, False):
            chosen = [name for name in names if CASES[name].pinned == pinned]
            core = last if pinned else None
            worker, ruler = Worker(place, folder, core), Worker(place, folder, core)
            worker.ask("cases")
            for name in chosen:
                ratios = compared(worker, ruler, name, repeats)
                if ratios:
                    rows[name] = summary(ratios)
                progress.advance(task)
            for one in (worker, ruler):
                one.process.stdin.close()
                one.process.wait()
    return {name: rows[name] for name in names if name in rows}


def compared(worker: Worker, ruler: Worker, name: str, repeats: int) -> list[float]:
    """Times of an item of a case, in thousandths of one of its yardstick; none if the commit does not have it."""
    case = CASES[name]

    def time_of(one: Worker, what: str, count: int) -> float | None:
        answer = one.ask({"case": what, "count": count})
        return None if "problem" in answer else answer[case.clock] / count

    once, unit = time_of(worker, name, 1), time_of(ruler, case.yardstick, 1)
    if once is None or unit is None:
        return []
    if not name.endswith("start"):  # the first compiles, which may take longer than LONG
        once, unit = time_of(worker, name, 1), time_of(ruler, case.yardstick, 1)
    count, units = (max(1, round(SECONDS / seconds)) for seconds in (once, unit / 2))
    items = worker.ask({"case": name, "count": 0})["items"] / ruler.ask({"case": case.yardstick, "count": 0})["items"]
    ratios = [1e3 * once / items / unit] if once > LONG else []
    for _ in range(1 if once > LONG else repeats):
        before = time_of(ruler, case.yardstick, units)
        mine = time_of(worker, name, count)
        after = time_of(ruler, case.yardstick, units)
        ratios.append(1e3 * mine / items / ((before + after) / 2))
    return ratios


def summary(ratios: list[float]) -> dict[str, float]:
    middle = statistics.median(ratios)
    spread = statistics.median(abs(ratio - middle) for ratio in ratios) / middle
    return {"ratio": float(f"{middle:.5g}"), "spread": float(f"{spread:.2g}")}


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


def blocks() -> dict[str, str]:
    """The ratios of each entry, over those of the first that has the case; smaller is faster."""
    known = entries()
    rows = []
    for case in CASES:
        first = next((entry["rows"][case]["ratio"] for entry in known if case in entry["rows"]), None)
        ratios = [entry["rows"][case]["ratio"] if case in entry["rows"] else None for entry in known]
        rows.append([case, *("" if ratio is None else f"{ratio / first:.2f}" for ratio in ratios)])
    return {"ledger": table(["", *(f"`{entry['commit']}`" for entry in known)], rows)}


def picture(known: list[dict[str, Any]]) -> Any:
    """How many times as fast as in the first entry each case is, from entry to entry."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9}):
        figure = Figure(figsize=(8, 7), layout="constrained")
        groups = [[case for case in CASES if case.startswith("learn, ")], []]
        groups[1] = [case for case in CASES if case not in groups[0]]
        for axes, cases in zip(figure.subplots(2, 1, sharex=True), groups, strict=True):
            for k, case in enumerate(cases):
                found = [(x, entry["rows"][case]["ratio"]) for x, entry in enumerate(known) if case in entry["rows"]]
                if found:
                    places, ratios = zip(*found, strict=True)
                    line = axes.plot(places, [ratios[0] / ratio for ratio in ratios], marker="o", markersize=3)
                    line[0].set(label=case, linestyle=("-", "--")[k % 2])
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}x")
            axes.yaxis.set_minor_formatter(lambda y, _: f"{y:g}x")
            axes.set_xticks(range(len(known)), [entry["commit"] for entry in known])
            axes.set_ylabel("speed over that of the first entry")
            axes.grid(color="#e2e8f0", linewidth=0.7)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def commit_of(name: str) -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", help="commit to measure; default: the working tree, as the last commit")
    parser.add_argument("--repeats", type=int, default=5, help="timings of each case")
    parser.add_argument("--only", default="", help="part of the names of cases; nothing is kept")
    parser.add_argument("--without", nargs="+", default=[], help="parts of the names of cases to leave out")
    parser.add_argument("--fill", action="store_true", help="measure what the entry of the commit does not have yet")
    parser.add_argument("--show", action="store_true", help="show the last entry beside the best of all others")
    parser.add_argument("--draw", action="store_true", help="draw the picture of all entries")
    options = parser.parse_args()
    known = entries()
    if options.draw:
        draw(picture(known), PICTURE, FIGURES)
        return
    if options.show:
        show(known[:-1], known[-1]["rows"])
        return
    commit = commit_of(options.commit or "HEAD")
    mine = next((entry for entry in known if entry["commit"] == commit), None) if options.fill else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = check_out(commit, folder)["base" if options.commit else "head"]
        names = [name for name in CASES if options.only in name and not any(p in name for p in options.without)]
        names = [name for name in names if mine is None or name not in mine["rows"]]
        rows = measure(place, folder, names, options.repeats)
    show(known, rows)
    if mine is not None:
        known = entries()  # another process may have written meanwhile
        mine = next(entry for entry in known if entry["commit"] == commit)
        mine["rows"] = {name: (mine["rows"] | rows)[name] for name in CASES if name in mine["rows"] or name in rows}
        FIGURES.write_text(json.dumps(known, indent=1) + "\n")
    elif not options.only:
        FIGURES.write_text(json.dumps([*known, {"commit": commit, "rows": rows}], indent=1) + "\n")
    sys.exit(1 if fallen(known, rows) else 0)


if __name__ == "__main__":
    main()
