"""Progressive error beside CapyMOA's random forests and random patches, River's Mondrian forest, and LightGBM.

ARF       CapyMOA AdaptiveRandomForestClassifier(ensemble_size=30)
SRP       CapyMOA StreamingRandomPatches(ensemble_size=30)
AMF       River AMFClassifier(n_estimators=10)
LightGBM  trained again on all rows whenever their number has doubled, from 256 on
no change the label of the row before

All with their defaults, on one core. Streams: the sets that are on this machine, in their own order and shuffled,
River's generators as in experiments/bins.py, and the files of --folder (see accuracy_rivals.py). On each stream all
models take turns, ours here and the rivals in .venv-rivals, which the first run makes. The figures are saved in
accuracy.json after every model, and what is there already is not measured again; --again measures ours anew. The whole
takes some hours. CapyMOA needs Java.

    python benchmarks/accuracy.py [--rows 20000] [--streams letter,sine] [--folder FOLDER] [--rivals ARF,AMF] [--again]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import accuracy_rivals
import numpy as np
import scipy.sparse as sp
from accuracy_page import NO_CHANGE, duel
from rich.console import Console
from rich.table import Table

from onlineboost import Adaptive, DataError, Linear, OnlineBoost, OnlineClassifier, SafeBoost, Tree, datasets

MODELS: dict[str, OnlineClassifier] = {
    "SafeBoost(Linear)": SafeBoost(Linear(standardize=True), random_state=0),
    "SafeBoost(Tree(8))": SafeBoost(Tree(8), random_state=0),
    "Adaptive(SafeBoost(Tree(8)))": Adaptive(SafeBoost(Tree(8), random_state=0)),
    'OnlineBoost("low")': OnlineBoost("low", random_state=0),
    "OnlineBoost()": OnlineBoost(random_state=0),
    'OnlineBoost("high")': OnlineBoost("high", random_state=0),
}
RIVALS = tuple(accuracy_rivals.RIVALS)

HERE = Path(__file__).parent
FIGURES, VERSIONS, VENV = HERE / "accuracy.json", HERE / "rivals.txt", HERE.parent / ".venv-rivals"
PYTHON = VENV / "bin" / "python"
PACKAGES = ("capymoa", "lightgbm", "river", "scipy")
MAX_DENSE = 1_000  # features; sets with more stay sparse
Rows = tuple[Any, np.ndarray]
Figures = dict[str, Any]  # of one model on one stream, see accuracy_rivals.figures
Found = dict[str, dict[str, Any]]  # by stream: the limit of rows, and the figures by model


def read_set(name: str, data: Path, rows: int, shuffled: bool) -> Rows | None:
    try:
        X, y = datasets.load(name, data, download=False)
    except (FileNotFoundError, DataError):
        return None
    order = np.random.default_rng(0).permutation(len(y))[:rows] if shuffled else np.arange(min(rows, len(y)))
    X = X[order]
    return (X if X.shape[1] > MAX_DENSE else X.toarray()), y[order]


def streams(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Rows | None]]]:
    """Names, and what makes the rows; None if the set is not on this machine."""
    sys.path.append(str(HERE.parent / "experiments"))
    bins = importlib.import_module("bins")

    def of_set(name: str, shuffled: bool) -> Callable[[], Rows | None]:
        return lambda: read_set(name, options.data, options.rows, shuffled)

    def of_file(path: Path) -> Callable[[], Rows]:
        return lambda: accuracy_rivals.load(path, options.rows)

    for name in bins.SETS:
        yield name, of_set(name, False)
        yield f"{name}-shuffled", of_set(name, True)
    yield "elec", of_set("elec", False)
    for name, make in bins.GENERATORS.items():
        yield name.lower().replace(",", "").replace(" ", "-"), make
    if options.folder:
        for path in sorted(options.folder.glob("*.npz")):
            yield path.stem, of_file(path)


def save_stream(path: Path, rows: Rows, limit: int) -> None:
    X, y = rows[0][:limit].astype(np.float32), rows[1][:limit]
    if sp.issparse(X):
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    else:
        np.savez(path, X=X, y=y)


def run_model(model: OnlineClassifier, X: Any, y: np.ndarray) -> Figures:
    few = [*range(min(300, len(y))), y.argmax(), y.argmin()]  # both labels
    with warnings.catch_warnings(action="ignore"):
        model.clone().progressive_fit(X[few], y[few])  # compiles
        began = time.process_time()
        scores = model.clone().progressive_fit(X, y)
        seconds = time.process_time() - began
    return accuracy_rivals.figures(np.where(scores >= 0, 1, -1), y, seconds)


def run_rival(rival: str, path: Path) -> Figures:
    """In its own environment, by accuracy_rivals.py."""
    output = path.with_suffix(f".{rival}.json")
    script = HERE / "accuracy_rivals.py"
    command: list[str | Path] = [PYTHON, script, path.parent, rival, str(sys.maxsize), output, "--streams", path.stem]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{rival} failed on {path.stem}:\n{done.stderr}")
    figures: Figures = json.loads(output.read_text())[path.stem]
    return figures


def run(name: str, path: Path) -> Figures:
    if name in RIVALS:
        return run_rival(name, path)
    X, y = accuracy_rivals.load(path, sys.maxsize)
    if name == NO_CHANGE:
        return accuracy_rivals.figures(np.roll(y, 1), y, 0)
    return run_model(MODELS[name], X, y)


def prepare_rivals(rivals: list[str]) -> None:
    """The environment of the rivals; made again when the versions have changed."""
    if {"ARF", "SRP"} & set(rivals) and not (shutil.which("java") or "JAVA_HOME" in os.environ):
        raise SystemExit("ARF and SRP need Java, which is not installed. Without them: --rivals LightGBM,AMF")
    ready = VENV / ".ready"
    if ready.exists() and ready.read_text() == VERSIONS.read_text():
        return
    print(f"installing the rivals in {VENV.name}: some minutes", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--constraint", VERSIONS, *PACKAGES], check=True)
    shutil.copyfile(VERSIONS, ready)


def measure(options: argparse.Namespace, found: Found) -> Found:
    """Measure what is missing; the figures of the streams chosen."""
    names = [NO_CHANGE, *MODELS, *options.rivals]
    possible = dict(streams(options))
    chosen = options.streams or list(possible)
    unknown = [name for name in chosen if name not in possible]
    if unknown:
        raise SystemExit(f"--streams {','.join(unknown)}: no such stream. Streams: {', '.join(possible)}")
    for number, stream in enumerate(chosen, 1):
        if found.get(stream, {}).get("limit") != options.rows:
            found[stream] = {"limit": options.rows, "models": {}}
        known = found[stream]["models"]
        if options.again:
            known = found[stream]["models"] = {name: known[name] for name in known if name not in MODELS}
        missing = [name for name in names if name not in known]
        if not missing:
            continue
        print(f"{number} of {len(chosen)}: {stream}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            rows = possible[stream]()
            if rows is None or len(set(rows[1][: options.rows])) < 2:
                print("  left out:", "not on this machine" if rows is None else "these rows have one label", flush=True)
                del found[stream]
                continue
            path = Path(folder) / f"{stream}.npz"
            save_stream(path, rows, options.rows)
            for name in missing:
                known[name] = run(name, path)
                accuracy_rivals.save(found, options.output)
                print(f"  {name}: {line(known[name])}", flush=True)
    return {stream: found[stream] for stream in chosen if stream in found}


def line(figures: Figures) -> str:
    if "skipped" in figures:
        return f"left out, {figures['skipped']}"
    rows = figures["rows"]
    return f"error {figures['mistakes'] / rows:.4f} of {rows:,} rows, {figures['seconds']:.1f} s"


def show(found: Found, rivals: list[str]) -> None:
    names = [NO_CHANGE, *MODELS, *rivals]
    by_model = {name: [stream["models"][name] for stream in found.values()] for name in names}
    shared = [i for i in range(len(found)) if all("rows" in by_model[name][i] for name in names)]
    console = Console(width=160)

    console.print(f"{len(found)} streams: won-lost, and the geometric mean of our error / theirs", highlight=False)
    pairs = Table("ours")
    others = [*rivals, NO_CHANGE]
    for other in others:
        pairs.add_column(other, justify="right")
    for name in MODELS:
        pairs.add_row(name, *(duel(by_model[name], by_model[other]) for other in others))
    console.print(pairs)

    console.print(f"Means of the streams that all were run on: {len(shared)}", highlight=False)
    means = Table("model")
    for heading in ("error", "error of the first 1,000 rows", "examples/s"):
        means.add_column(heading, justify="right")
    for name in names if shared else ():
        some = [by_model[name][i] for i in shared]
        error = statistics.mean(each["mistakes"] / each["rows"] for each in some)
        first = statistics.mean(each["first"] / min(each["rows"], accuracy_rivals.BLOCK) for each in some)
        seconds = sum(each["seconds"] for each in some)
        rate = f"{sum(each['rows'] for each in some) / seconds:,.0f}" if seconds else ""
        means.add_row(name, f"{error:.4f}", f"{first:.4f}", rate)
    console.print(means)


def names_of(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of real sets, optional")
    parser.add_argument("--rows", type=int, default=20_000, help="of each stream, at most")
    parser.add_argument("--streams", type=names_of, help="names, separated by commas; all if not given")
    parser.add_argument("--folder", type=Path, help="more streams, as NAME.npz")
    parser.add_argument("--rivals", type=names_of, default=list(RIVALS), help="names, separated by commas")
    parser.add_argument("--output", type=Path, default=FIGURES, help="JSON file of the figures")
    parser.add_argument("--again", action="store_true", help="measure our models anew")
    options = parser.parse_args()
    if not set(options.rivals) <= set(RIVALS):
        raise SystemExit(f"--rivals {','.join(options.rivals)}: no such rival. Rivals: {', '.join(RIVALS)}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    prepare_rivals(options.rivals)
    found: Found = json.loads(options.output.read_text()) if options.output.exists() else {}
    measured = measure(options, found)
    if not measured:
        raise SystemExit("no streams: nothing to compare")
    show(measured, options.rivals)


if __name__ == "__main__":
    main()
