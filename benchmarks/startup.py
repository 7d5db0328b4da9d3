"""Seconds of processor time from import to the first prediction in a new process, with a warm cache of compiled code.

python benchmarks/startup.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from onlineboost import OnlineBBM
from onlineboost.datasets import load_letter

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, keep, kept

FIGURES = FOLDER / "startup.json"
PROGRAM = """
import time
began = time.process_time()
import onlineboost
imported = time.process_time()
import sys, numpy as np
onlineboost.load(sys.argv[1]).decision_function(np.ones((1, 16)))
print(imported - began, time.process_time() - began)
"""


def blocks() -> dict[str, str]:
    return {name: f"{seconds:.1f} s" for name, seconds in kept(FIGURES).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        OnlineBBM().fit(*load_letter()).save(path)
        command = [sys.executable, "-c", PROGRAM, path]
        runs = [
            [float(t) for t in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]
            for _ in range(options.repeats)
        ]
    imported, predicted = (statistics.median(times) for times in zip(*runs, strict=True))
    print(f"import: {imported:.2f} s; import to first prediction: {predicted:.2f} s (required: at most 1 s)")
    keep(FIGURES, {"import": imported, "first prediction": predicted})


if __name__ == "__main__":
    main()
