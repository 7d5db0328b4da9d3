"""Build the site: pages are staged in build/website, and the result is in site/.

PYTHONPATH=scripts python -m website
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

from website import llms, notebooks, stage
from website.check import problems
from website.links import ROOT

BUILD, SITE = ROOT / "build/website", ROOT / "site"
COPIED = "*.svg", "*.webp", "figures/*.json", "theory/*.svg", "reproduction/*.json", "reproduction/*.html"


def main() -> None:
    ran = {path: notebooks.run(path)[0] for path in notebooks.paths()}
    config, pages = stage.config(), stage.pages(ran)
    shutil.rmtree(BUILD, ignore_errors=True)
    folder = BUILD / config["docs_dir"]
    for path, text in pages.items():
        write(folder / path, text)
    for pattern in COPIED:
        for path in ROOT.glob(f"docs/{pattern}"):
            copy(path, folder / path.relative_to(ROOT / "docs"))
    for path, outcomes in ran.items():
        for name, text in notebooks.files(path, outcomes).items():
            write(folder / "examples" / name, text)
    for path in Path(__file__).parent.glob("assets/*"):
        copy(path, folder / "assets" / path.name)
    write(BUILD / "mkdocs.yml", yaml.safe_dump(config, sort_keys=False))
    if subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=BUILD).returncode:
        raise SystemExit("the site was not built: see above")
    built = BUILD / config["site_dir"]
    for path, text in pages.items():
        write(built / path, text)
    summary = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"]
    write(built / "llms.txt", llms.text(config, pages, summary))
    if found := problems(built):
        raise SystemExit("\n".join([*found, f"{len(found)} links lead nowhere, or are fetched from elsewhere"]))
    shutil.rmtree(SITE, ignore_errors=True)
    built.rename(SITE)
    print(f"{len(pages)} pages: {SITE / 'index.html'}")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


if __name__ == "__main__":
    main()
