"""Scripts that measure the figures in docs/figures, and the sources that each of them measures."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMANDS = {
    "batch_trees": "benchmarks/batch_trees.py",
    "bins": "experiments/bins.py",
    "class_votes": "experiments/class_votes.py",
    "classes": "experiments/classes.py",
    "conformance": "experiments/conformance.py",
    "cost": "benchmarks/cost.py",
    "default": "benchmarks/default.py",
    "drift": "experiments/drift.py",
    "features": "experiments/features.py",
    "frames": "experiments/frames.py",
    "from_lightgbm": "experiments/from_lightgbm.py",
    "lag": "experiments/lag.py",
    "late": "experiments/late.py",
    "numbers": "experiments/regression.py",
    "probabilities": "experiments/probabilities.py",
    "results": "experiments/results.py",
    "rivals": "benchmarks/rivals.py",
    "serve": "benchmarks/serve.py",
    "sizing": "benchmarks/sizing.py",
    "speed": "benchmarks/speed.py --publish",
    "standardize": "experiments/standardize.py",
    "streams": "benchmarks/streams.py --publish",
    "tables": "experiments/tables.py",
    "theory": "experiments/theory.py",
    "threads": "benchmarks/threads.py",
    "trees": "benchmarks/trees.py",
    "tune": "benchmarks/tune.py",
    "unlabeled": "experiments/unlabeled.py",
}
# Measured otherwise: by make ledger, by make wheel and benchmarks/startup.py, by fuzz/endurance.py, and on data sets
# that were collected by hand.
OTHERS = ("ledger", "startup", "reliability", "validation")


_IMPORT = """
import importlib.util, os, sys
import onlineboost
for script in sys.argv[1:]:
    folder = os.path.dirname(script)
    sys.path[0] = folder
    sys.stdout.flush()
    if os.fork():
        if os.wait()[1]:
            raise SystemExit(f"{script} cannot be imported")
        continue
    spec = importlib.util.spec_from_file_location("script", script)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    print(script, *(getattr(module, "__file__", None) for module in list(sys.modules.values())), sep="|")
    sys.stdout.flush()
    os._exit(0)
"""


def digest(name: str) -> str | None:
    """Of the code that the script of some figures imports; comments and docstrings do not count."""
    return digests((name,))[name]


@functools.cache
def digests(names: tuple[str, ...]) -> dict[str, str | None]:
    scripts = {ROOT / COMMANDS[name].split()[0]: name for name in names if name in COMMANDS}
    path = os.pathsep.join(map(str, (ROOT / "scripts", ROOT / "src")))
    command = [sys.executable, "-c", _IMPORT, *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    found: dict[str, str | None] = dict.fromkeys(names)
    for line in done.stdout.splitlines():
        script, *files = line.split("|")
        found[scripts[Path(script)]] = _together({Path(file) for file in (script, *files)})
    return found


def _together(files: set[Path]) -> str:
    rooms = [ROOT / room for room in ("src", "benchmarks", "experiments")]
    found = hashlib.sha256()
    for path in sorted(file for file in files if any(file.is_relative_to(room) for room in rooms)):
        found.update(f"{path.relative_to(ROOT)} {_code(path)}\n".encode())
    return found.hexdigest()[:16]


@functools.cache
def _code(path: Path) -> str:
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(node):
            node.body[0] = ast.Pass()
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None
