"""Long and extreme trials, and the table of docs/reliability.md. See README.md here.

python fuzz/endurance.py stream --rows 10000000
python fuzz/endurance.py tickets --tickets 1000000
python fuzz/endurance.py lines --megabytes 1024
python fuzz/endurance.py writers --rounds 20
python fuzz/endurance.py weights
python fuzz/endurance.py containers --inputs 1000

Each prints a line for each step and writes its counts into docs/figures/reliability.json. A stream goes on where it
stopped: its model is in --folder.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "figures" / "reliability.json"
TITLES = {
    "parsers": "text parsers, with bounds checks and a reference",
    "models": "model files with recomputed checksums, with bounds checks",
    "containers": "Parquet, Arrow, gz, bz2, xz, zst through the readers",
    "containers_command": "the same through `onlineboost train`",
    "kills": "SIGKILL at any moment, with checkpoints, until a training ends",
    "actors": "SIGKILL for workers of Ray while they learn",
    "kills_at_end": "SIGKILL between the last save and the exit",
    "signals": "SIGINT, SIGTERM, SIGHUP",
    "full_disk": "full disk",
    "caches": "caches of compiled code: read-only, full, damaged, made by two processes at once",
    "threads": "predictions while another thread learns new names",
    "drift": "predictions while another thread learns and the model starts over on drift",
    "stream": '`OnlineBoost("low")` on a stream with new words and changes of concept',
    "tickets": "tickets that wait for their labels",
    "lines": "one line of a gigabyte, in a file, a pipe and a gz file",
    "writers": "two trainings into one file at once, with checkpoints and with `--resume`",
    "weights": "weights of 0, 1e-300 and 1e18, mixed; extreme `class_weight`",
    "serve_kills": "`onlineboost serve`: SIGKILL for leader and follower, with clients that label late and send again",
    "serve_soak": "`onlineboost serve`: mixed load with tickets that mostly expire",
    "serve_api": "`onlineboost serve`: requests drawn from its OpenAPI document",
    "lowest": "the lowest versions of all dependencies",
    "pythons": "Python 3.12 and 3.13 (3.11: all tests, `make test`)",
}


# ---- the table


def figures() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    return found


def note(trial: str, trials: str, found: str, command: str, **more: Any) -> None:
    """Write down what a trial has found."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    all_figures = figures() | {trial: {"date": date, "trials": trials, "found": found, "command": command, **more}}
    text = json.dumps({name: all_figures[name] for name in sorted(all_figures)}, indent=1, ensure_ascii=False)
    FIGURES.write_text(text + "\n")
    print(f"{trial}: {trials}: {found}", flush=True)


def blocks() -> dict[str, str]:
    """The generated text of docs/reliability.md."""
    known = figures()
    lines = ["| trial | date | how often | found | command |", "| --- | --- | ---: | --- | --- |"]
    for name, title in TITLES.items():
        one = known.get(name, {"date": "", "trials": "", "found": "not tried yet", "command": ""})
        command = f"`{one['command']}`" if one["command"] else ""
        lines.append(f"| {title} | {one['date']} | {one['trials']} | {one['found']} | {command} |")
    return {"trials": "\n".join(lines), "stream": _stream_table(known.get("stream", {}).get("curve", []))}


def _stream_table(curve: list[dict[str, Any]]) -> str:
    columns = {
        "rows": "{:,}",
        "words": "{:,}",
        "alarms": "{:,}",
        "rows_per_second": "{:,}",
        "histograms_mb": "{:,}",
        "process_mb": "{:,}",
    }
    heads = "rows", "words", "restarts", "rows/s", "histograms, MB", "process, MB"
    lines = [f"| {' | '.join(heads)} |", "|" + " ---: |" * len(heads)]
    for point in curve:
        cells = (form.format(point[name]) for name, form in columns.items())
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


# ---- trials


def stream(arguments: argparse.Namespace) -> None:
    from endurance_trials import run_stream

    curve = run_stream(arguments.rows, arguments.folder, arguments.new_words)
    speeds, memory = [one["rows_per_second"] for one in curve], [one["process_mb"] for one in curve]
    later = speeds[len(speeds) // 2 :]
    found = f"{min(speeds):,} to {max(speeds):,} rows/s, in the second half {min(later):,} to {max(later):,}"
    found += f"; at most {max(memory):,} MB, at the end {memory[-1]:,}"
    trials = f"{curve[-1]['rows']:,} rows, {curve[-1]['words']:,} words, {curve[-1]['alarms']} restarts"
    note("stream", trials, found, f"fuzz/endurance.py stream --rows {arguments.rows}", curve=curve)


def tickets(arguments: argparse.Namespace) -> None:
    from endurance_trials import run_tickets

    found = run_tickets(arguments.tickets, arguments.folder)
    note("tickets", f"{arguments.tickets:,} tickets", found, f"fuzz/endurance.py tickets --tickets {arguments.tickets}")


def lines(arguments: argparse.Namespace) -> None:
    from endurance_inputs import run_lines

    trials, found = run_lines(arguments.megabytes, arguments.folder)
    note("lines", trials, found, f"fuzz/endurance.py lines --megabytes {arguments.megabytes}")


def writers(arguments: argparse.Namespace) -> None:
    from endurance_inputs import run_writers

    trials, found = run_writers(arguments.rounds, arguments.folder)
    note("writers", trials, found, f"fuzz/endurance.py writers --rounds {arguments.rounds}")


def weights(arguments: argparse.Namespace) -> None:
    from endurance_weights import run_weights

    trials, found = run_weights(arguments.folder)
    note("weights", trials, found, "fuzz/endurance.py weights")


def containers(arguments: argparse.Namespace) -> None:
    """Run fuzz/containers.py, and count what it says."""
    given = f"--inputs {arguments.inputs} --command {arguments.commands} --seed {arguments.seed}"
    command = [sys.executable, str(ROOT / "fuzz" / "containers.py"), *given.split(), "--keep"]
    said = subprocess.run([*command, str(arguments.folder / "problems")], capture_output=True, text=True, check=False)
    print(said.stdout, said.stderr, sep="\n")
    count_containers(said.stdout, given)


def count_containers(said: str, given: str) -> None:
    """Write down what fuzz/containers.py has said."""
    inputs = sum(int(n.replace(",", "")) for n in re.findall(r"^[\w-]+: ([\d,]+) inputs", said, re.M))
    commands = sum(int(n.replace(",", "")) for n in re.findall(r"command line: ([\d,]+) inputs", said))
    problems = sum(int(n.replace(",", "")) for n in re.findall(r"problems: ([\d,]+)$", said, re.M))
    most = max(int(n.replace(",", "")) for n in re.findall(r"added by one: ([\d,]+) MB", said))
    good = "no crash, hang or traceback, no row lost in silence" if not problems else f"{problems:,} problems"
    command = f"fuzz/containers.py {given}"
    note("containers", f"{inputs:,} files", f"{good}; at most {most} MB of memory for one", command)
    good = "exit codes 0 and 1, and a message" if not problems else f"{problems:,} problems"
    note("containers_command", f"{commands:,} files", good, command)


def main() -> None:
    os.environ.setdefault("ONLINEBOOST_QUIET", "1")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("endurance"), help="for files of the trials")
    trials = parser.add_subparsers(required=True)

    def add(trial: Callable[[argparse.Namespace], None], **options: int) -> None:
        one = trials.add_parser(trial.__name__)
        one.set_defaults(trial=trial)
        for name, default in options.items():
            one.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)

    add(stream, rows=10_000_000, new_words=20)
    add(tickets, tickets=1_000_000)
    add(lines, megabytes=1024)
    add(writers, rounds=20)
    add(weights)
    add(containers, inputs=1000, commands=100, seed=32)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.trial(arguments)


if __name__ == "__main__":
    main()
