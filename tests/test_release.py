"""``make release``: versions and changelog, artefacts, the README's commands, the bill of materials."""

from __future__ import annotations

import doctest
import json
import re
import shutil
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
import release
import sbom

ROOT = Path(__file__).parent.parent
NAMED = "pyproject.toml", "src/onlineboost/__init__.py", "CITATION.cff", "packaging/recipe.yaml", "CHANGELOG.md"


@pytest.fixture
def copy(tmp_path):
    for name in NAMED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_this_version_is_the_same_everywhere():
    assert [*release.problems()] == []


@pytest.mark.parametrize("name", NAMED[1:4])
def test_another_version_is_found(copy, name):
    path = copy / name
    path.write_text(re.sub(r"\b0\.1\.0\b", "0.0.9", path.read_text()))
    [problem] = release.problems(copy)
    assert problem.startswith(f"{name}: version 0.0.9, expected ")


def test_the_changelog_has_an_entry(copy):
    path = copy / "CHANGELOG.md"
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    path.write_text(f"# Changelog\n\n## {version}, unreleased\n\n## 0.0.1\n\nOld.\n")
    [problem] = release.problems(copy)
    assert problem.startswith("CHANGELOG.md: no entry")
    path.write_text(f"# Changelog\n\n## {version}, unreleased\n\nNew.\n")
    assert [*release.problems(copy)] == []
    assert "expected a date" in next(release.problems(copy, final=True))


def test_every_kind_of_package_is_there(tmp_path):
    names = "a-1-py3-none-any.whl", "a-1-py3-none-manylinux_2_28_x86_64.whl", "a-1.tar.gz"
    for name in names:
        with pytest.raises(SystemExit, match="expected one sdist, one wheel for any platform, and one for this"):
            release.artefacts(tmp_path)
        (tmp_path / name).touch()
    assert [path.name for path in release.artefacts(tmp_path)] == [names[1], names[0], names[2]]


def test_the_readme_has_an_example_and_commands():
    example, lines = release.commands((ROOT / "README.md").read_text())
    assert ">>> from onlineboost import OnlineBoost\n" in example
    assert {line.split()[1] for line in lines} >= {"demo", "train", "predict"}


def test_the_bill_has_the_package_and_what_it_needs():
    found = sbom.bill("onlineboost", {sbom.canonical(one.metadata["Name"]): one for one in distributions()})
    names = {one["name"] for one in found["components"]}
    assert found["metadata"]["component"]["name"] == "onlineboost"
    assert {"numpy", "numba", "llvmlite", "pyarrow", "narwhals"} <= names and "pytest" not in names
    refs = {one["bom-ref"] for one in [*found["components"], found["metadata"]["component"]]}
    assert {one["ref"] for one in found["dependencies"]} == refs
    assert {ref for one in found["dependencies"] for ref in one["dependsOn"]} < refs
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@\S+", ref) for ref in refs)
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("module", [release, sbom])
def test_doctests(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 0
