"""Packages, their dependencies, and the workflows that test and build them."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import home
import numba
import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(TEXT)
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def workflow(name: str) -> dict:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())


def test_numba_is_bounded_above_where_this_version_ends():
    [bounds] = [line for line in PROJECT["project"]["dependencies"] if line.startswith("numba")]
    major, minor = re.search(r",<(\d+)\.(\d+)$", bounds).groups()
    assert tuple(map(int, numba.__version__.split(".")[:2])) < (int(major), int(minor))
    assert bounds.replace("numba", "numba ") in (ROOT / "packaging/recipe.yaml").read_text()


def test_development_needs_groups_not_extras():
    assert set(PROJECT["project"]["optional-dependencies"]) == {"plot", "ray", "serve"}
    assert {"test", "dev", "bench"} <= set(PROJECT["dependency-groups"])
    assert "[dev]" not in (ROOT / "Makefile").read_text()


def test_every_system_and_python_is_tested():
    versions = workflow("test")["jobs"]["versions"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in versions["os"]} == {"ubuntu", "macos", "windows"}
    named = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line]
    assert versions["python"] == named


def test_workflows_run_the_tests_of_make_pythons():
    tried = re.search(r"^TRIED := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    runs = [step["run"] for step in workflow("test")["jobs"]["versions"]["steps"] if "run" in step]
    assert f"python -m pytest {tried}" in runs


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_read_only_and_call_what_exists(path):
    found = workflow(path.stem)
    assert found["permissions"] == {"contents": "read"}
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M)
    for job in found["jobs"].values():
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert set(re.findall(r"\bmake (\w+)", step.get("run", ""))) <= set(targets)
            scripts = re.findall(r"python (scripts/\S+)", step.get("run", ""))
            assert all((ROOT / script).exists() for script in scripts)


def test_the_home_fills_every_placeholder():
    filled = home.filled(TEXT, "https://a.b/c")
    urls = tomllib.loads(filled)["project"]["urls"].values()
    assert all(url.startswith("https://a.b/c") for url in urls) and home.home(filled) == "https://a.b/c"
    again = home.filled(filled, "https://d.e/f")
    assert "https://a.b/c" not in again and home.home(again) == "https://d.e/f"


def test_examples_of_the_home():
    assert doctest.testmod(home) == (0, 2)


def test_an_index_gets_absolute_links_only():
    page = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", home.absolute(page, "https://a.b/c"))
    assert links and all(re.match(r"https?://|#", link) for link in links)
    assert home.absolute(page, None) == page


def test_packages_are_built_with_the_hooks():
    built = PROJECT["tool"]["hatch"]
    assert PROJECT["project"]["dynamic"] == ["readme"] and "custom" in built["metadata"]["hooks"]
    assert "custom" in built["build"]["targets"]["wheel"]["hooks"]
    assert {"hatch_build.py", "scripts/home.py"} <= set(built["build"]["targets"]["sdist"]["include"])
