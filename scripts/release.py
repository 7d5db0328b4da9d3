"""All that a release needs, in dist/, checked. Nothing is uploaded and nothing is tagged.

    python scripts/release.py [--built] [--final]

Version and changelog; wheels and sdist (``make wheel``, with ``twine check``); each of them installed in an empty
environment, where the first commands of the README run; a bill of materials (scripts/sbom.py); the site; digests.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"


def problems(root: Path = ROOT, final: bool = False) -> Iterator[str]:
    """Reasons why this version cannot be released: places that name another version, no entry in the changelog."""
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    places = {
        "src/onlineboost/__init__.py": r'^__version__ = "([^"]+)"',
        "CITATION.cff": r"^version: \"?([^\"\s]+)",
        "packaging/recipe.yaml": r"^  version: \"?([^\"\s]+)",
    }
    for path, pattern in places.items():
        found = re.search(pattern, (root / path).read_text(), re.M)
        if found is None or found[1] != version:
            yield f"{path}: version {found[1] if found else 'missing'}, expected {version} as in pyproject.toml"
    entry = re.search(rf"^## {re.escape(version)}(, .*)?$\n+(?!## )\S", (root / "CHANGELOG.md").read_text(), re.M)
    if entry is None:
        yield f"CHANGELOG.md: no entry '## {version}, <date>' with a text"
    elif final and not re.fullmatch(r", \d{4}-\d\d-\d\d", entry[1] or ""):
        yield f"CHANGELOG.md: '## {version}{entry[1] or ''}', expected a date: '## {version}, 2026-01-31'"
    if final and git("status", "--porcelain"):
        yield "the working tree has changes: commit them first"
    if final and git("tag", "--list", f"v{version}"):
        yield f"the tag v{version} is there already"


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def artefacts(folder: Path = DIST) -> list[Path]:
    """The packages in a folder: wheels with compiled code, the wheel for any platform, the sdist; all of them there."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    pure = [path for path in wheels if path.name.endswith("-py3-none-any.whl")]
    if len(pure) != 1 or len(wheels) < 2 or len(sources) != 1:
        names = ", ".join(path.name for path in [*wheels, *sources]) or "nothing"
        raise SystemExit(
            f"dist/ has {names}: expected one sdist, one wheel for any platform, and one for this platform"
        )
    return [*(path for path in wheels if path not in pure), *pure, *sources]


def commands(readme: str) -> tuple[str, list[str]]:
    """The first Python example of the README, and its commands from a CSV file to predictions.

    >>> commands("```python\\n>>> 1 + 1\\n2\\n```\\n\\n    onlineboost demo\\n    onlineboost train a.csv  # a file\\n")
    ('>>> 1 + 1\\n2\\n', ['onlineboost demo', 'onlineboost train a.csv'])
    """
    example = re.search(r"^```python\n(.*?)^```", readme, re.S | re.M)
    lines = re.findall(r"^ {4}(onlineboost .*?)(?:  +#.*)?$", readme, re.M)
    return (example[1] if example else ""), lines


def try_out(package: Path, folder: Path) -> Path:
    """Install a package in an empty environment, run the first commands of the README there; its Python."""
    home = folder / package.name
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    bin_ = home / ("Scripts" if os.name == "nt" else "bin")
    path = os.pathsep.join([str(bin_), os.environ["PATH"]])
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    env |= {"PATH": path, "NUMBA_CACHE_DIR": str(home / "compiled")}
    subprocess.run([bin_ / "python", "-m", "pip", "install", "--quiet", package], check=True, env=env)
    example, lines = commands((ROOT / "README.md").read_text())
    (home / "readme.txt").write_text(example)
    began = time.monotonic()
    subprocess.run([bin_ / "python", "-m", "doctest", home / "readme.txt"], check=True, env=env, cwd=home)
    first = time.monotonic() - began
    for line in lines:
        subprocess.run(
            line.split(), check=True, env=env, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    print(f"{package.name}: the README's first example after {first:.0f} s, then {len(lines)} commands", flush=True)
    return bin_ / "python"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--built", action="store_true", help="check the packages in dist/ as they are")
    parser.add_argument(
        "--final", action="store_true", help="also: a date in the changelog, no open changes, no such tag"
    )
    options = parser.parse_args()
    if found := [*problems(final=options.final)]:
        raise SystemExit("\n".join(found))
    make = shutil.which("make") or "make"
    if not options.built:
        subprocess.run([make, "wheel"], cwd=ROOT, check=True)
    packages = artefacts()
    with tempfile.TemporaryDirectory() as folder:
        pythons = [try_out(package, Path(folder)) for package in packages]
        script = [pythons[0], ROOT / "scripts/sbom.py", "onlineboost"]
        content = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    bill = DIST / "onlineboost.cdx.json"
    bill.write_text(content)
    subprocess.run([make, "docs"], cwd=ROOT, check=True)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in [*packages, bill]]
    (DIST / SUMS).write_text("\n".join([*lines, ""]))
    print(f"{len(packages)} packages, {bill.name} and {SUMS} in dist/, the site in site/; nothing was uploaded")


if __name__ == "__main__":
    main()
