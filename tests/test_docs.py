"""Figures in the documents are generated, never typed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

from onlineboost.__main__ import main

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["speed", "streams"])
def test_tables_of_speeds_come_from_the_figures(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    readme = (ROOT / "README.md").read_text()
    assert benchmark.with_table(readme, json.loads(benchmark.FIGURES.read_text())) == readme


def test_results_come_from_the_committed_json(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "experiments")
    publish = importlib.import_module("publish")
    found = publish.found()
    page, readme = (ROOT / "docs/results.md").read_text(), (ROOT / "README.md").read_text()
    assert publish.with_results(page, found, publish.several()) == page
    assert publish.with_table(readme, found) == readme
    assert (ROOT / "docs/reproduction/report.html").read_text() == publish.report.html(found)


def test_the_page_of_bins_comes_from_the_committed_json(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "experiments")
    bins = importlib.import_module("bins")
    assert bins.page(json.loads(bins.FIGURES.read_text())) == bins.PAGE.read_text()


def test_the_page_of_rivals_comes_from_the_committed_json(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    accuracy = importlib.import_module("accuracy_page")
    assert accuracy.page(json.loads(accuracy.VALIDATION.read_text())) == accuracy.PAGE.read_text()


def test_tables_list_what_is_registered(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    tables = importlib.import_module("tables")
    pages = {path: path.read_text() for path in tables.PAGES}
    assert {path: tables.with_tables(page) for path, page in pages.items()} == pages
    assert all(sum(f"<!-- {name}, from" in page for page in pages.values()) == 1 for name in tables.TABLES)


def test_the_figures_of_the_theory_come_from_its_numbers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments")
    pictures = importlib.import_module("theory")
    page = (ROOT / "docs/theory.md").read_text()
    assert pictures.with_figures(page, json.loads((ROOT / "docs/theory" / pictures.NUMBERS).read_text())) == page
    assert all((ROOT / f"docs/theory/{name}.svg").stat().st_size < 150_000 for name in pictures.FIGURES)


def test_the_tests_that_the_documents_name_exist():
    written = set(
        re.findall(r"^def (test_\w+)", "".join(path.read_text() for path in ROOT.glob("tests/**/*.py")), re.M)
    )
    for page in ROOT.glob("docs/*.md"):
        assert set(re.findall(r"`(test_\w+)`", page.read_text())) <= written, page.name


def test_the_first_screen_of_the_readme_is_a_real_run(tmp_path, monkeypatch, capfd):
    """But for speed, time and memory, which differ from run to run."""
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    commands = [line[2:].split("#")[0].split()[1:] for line in block.splitlines() if line.startswith("$ ")]
    expected = [line for line in block.splitlines() if not line.startswith("$ ")]
    monkeypatch.setenv("ONLINEBOOST_QUIET", "1")
    for command in commands:
        with pytest.raises(SystemExit):
            main(command)
    out, err = capfd.readouterr()
    assert _steady((err + out).splitlines()) == _steady(expected)


def _steady(lines: list[str]) -> list[str]:
    lines = [re.sub(r" \(.*/s\)", "", line) for line in lines]
    return [line for line in lines if not line.startswith(("time:", "memory:", "onlineboost: compil"))]


def test_every_link_leads_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
