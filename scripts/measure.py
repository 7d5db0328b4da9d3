"""Measure the figures in docs/figures whose code has changed since; hours for all, and it goes on where it stopped.

python scripts/measure.py [--list] [NAME ...]
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time

import sources
from figures import FOLDER


def state(name: str, digest: str | None) -> tuple[str, bool]:
    """When figures were measured, and whether it was with the code of today."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return "never", False
    measured = json.loads(path.read_text())["measured"]
    return measured["date"], measured["sources"] == digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="show what would be measured, and measure nothing")
    parser.add_argument("names", nargs="*", help="figures to measure, whatever their age (default: all that are old)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in sources.COMMANDS]
    if unknown:
        parser.error(f"{' '.join(unknown)}: expected names among {' '.join(sources.COMMANDS)}")
    states = {name: state(name, digest) for name, digest in sources.digests(tuple(sources.COMMANDS)).items()}
    old = options.names or [name for name, (_, current) in states.items() if not current]
    if options.list:
        for name, (date, current) in states.items():
            print(f"{name:16} {date:12} {'current' if current else 'old'}")
        return
    failed = []
    for k, name in enumerate(old, 1):
        began = time.monotonic()
        print(f"{k} of {len(old)}: {sources.COMMANDS[name]}", flush=True)
        command = [sys.executable, *shlex.split(sources.COMMANDS[name])]
        if subprocess.run(command, cwd=sources.ROOT).returncode:
            failed.append(name)
        print(f"{name}: {time.monotonic() - began:,.0f} s", flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; see above, and run again")


if __name__ == "__main__":
    main()
