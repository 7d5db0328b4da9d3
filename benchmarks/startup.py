"""Waiting for the compiler: seconds of the first and the second ``onlineboost train letter.csv``; what is installed.

Each case is a whole process. "First" has an empty cache of compiled code; the wheel, made by ``make wheel``, is
unpacked into a folder of its own. The base commit, this tree and the wheel take turns.

    python benchmarks/startup.py --base COMMIT --wheel dist/onlineboost-*_*.whl [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

from compare_workers import check_out

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, keep, kept, table

FIGURES = FOLDER / "startup.json"
PREDICT = """
import time
began = time.perf_counter()
import sys
import numpy as np
import onlineboost
onlineboost.load(sys.argv[1]).decision_function(np.ones((1, 16)))
print(time.perf_counter() - began)
"""
FIT = """
import sys
from onlineboost import OnlineBoost
from onlineboost.datasets import load_letter
OnlineBoost(random_state=0).fit(*load_letter()).save(sys.argv[1])
"""


class Place:
    """A checkout or an installation, with a cache of compiled code of its own."""

    def __init__(self, package: Path, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        own = {
            "PYTHONPATH": str(package),
            "NUMBA_CACHE_DIR": str(self.cache),
            "PYTHONPYCACHEPREFIX": str(folder / "pyc"),
        }
        self.environment = os.environ | own | {"PYTHONSAFEPATH": "1"}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        return done.stdout

    def train(self) -> float:
        began = time.perf_counter()
        self.run("-m", "onlineboost", "train", "letter.csv", "--label", "half", "-o", "letter.model")
        return time.perf_counter() - began

    def measure(self) -> dict[str, float]:
        self.run("-m", "onlineboost", "demo", "--export", "letter.csv")
        shutil.rmtree(self.cache, ignore_errors=True)
        found = {"first": self.train(), "second": statistics.median(self.train() for _ in range(3))}
        self.run("-c", FIT, "fitted.model")
        found["prediction"] = statistics.median(float(self.run("-c", PREDICT, "fitted.model")) for _ in range(5))
        return found


def weights() -> dict[str, float]:
    """Megabytes on disk of this package's dependencies, and of theirs."""
    found: dict[str, float] = {}
    waiting = ["onlineboost"]
    while waiting:
        needed = [text for text in metadata.requires(waiting.pop()) or [] if "extra ==" not in text]
        for name in (re.match(r"[\w.-]+", text)[0].lower() for text in needed):  # type: ignore[index]
            try:
                files = metadata.files(name) or []
            except metadata.PackageNotFoundError:  # for other systems
                continue
            if name not in found:
                sizes = (path.stat().st_size for path in map(Path, (file.locate() for file in files)) if path.exists())
                found[name] = sum(sizes) / 1e6
                waiting.append(name)
    return found


def measure(base: str, wheel: Path, repeats: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        checked_out = check_out(base, Path(folder))
        packages = {"before": checked_out["base"] / "src", "source": checked_out["head"] / "src"}
        packages["wheel"] = Path(folder) / "wheel"
        zipfile.ZipFile(wheel).extractall(packages["wheel"])
        for k in range(repeats):
            for name, package in packages.items():
                own = Path(folder) / f"{name}-{k}"
                own.mkdir()
                runs.setdefault(name, []).append(Place(package, own).measure())
                print(f"{k + 1} of {repeats}, {name}: {runs[name][-1]}", flush=True)
    seconds = {
        name: {key: statistics.median(run[key] for run in each) for key in each[0]} for name, each in runs.items()
    }
    return {"base": base, "repeats": repeats, "seconds": seconds, "weights": weights()}


CASES = {"source": "from a source checkout", "wheel": "from the wheel"}


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    heads = ["", "first `train letter.csv` of a machine", "second", "import to first prediction"]
    rows = []
    for name, title in CASES.items():
        seconds = found["seconds"][name]
        cells = [f"{seconds['first']:.1f} s", f"{seconds['second']:.1f} s", f"{seconds['prediction']:.2f} s"]
        rows.append([title, *cells])
    sizes = sorted(found["weights"].items(), key=lambda item: -item[1])
    large = [(name, size) for name, size in sizes if size >= 5]
    rest = sum(size for _, size in sizes) - sum(size for _, size in large)
    sums = [["the others", f"{rest:.0f}"], ["**together**", f"**{sum(size for _, size in sizes):.0f}**"]]
    return {
        "startup": table(heads, rows),
        "weights": table(["dependency", "MB"], [*([name, f"{size:.0f}"] for name, size in large), *sums]),
        "source seconds": f"{found['seconds']['source']['first']:.0f} s",
        "wheel seconds": f"{found['seconds']['wheel']['first']:.1f} s",
        "megabytes": f"{sum(size for _, size in sizes):.0f} MB",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True, help="commit to compare with")
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    commit = ["git", "rev-parse", options.base]
    base = subprocess.run(commit, check=True, capture_output=True, text=True).stdout.strip()
    keep(FIGURES, measure(base, options.wheel, options.repeats))
    print(blocks()["startup"])


if __name__ == "__main__":
    main()
