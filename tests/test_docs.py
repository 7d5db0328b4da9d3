"""Figures in the documents are generated, never typed."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import diagram
import figures
import numpy as np
import pages
import pytest
import sources

from onlineboost import OnlineBoost
from onlineboost.__main__ import main

ROOT = Path(__file__).parent.parent
PROSE = re.compile(
    r"(?<![\w.])\d*\.\d{3,}(?!\w)|\d times (as|faster|slower)|\d ?% (fewer|more|less|lower|higher)|"
    r"\d ?(MB/s|microseconds|ns|ms)\b"
)
MEASURED = re.compile(r"[^A-Za-z]*(\.\d|\d ?%|\dx|\d ?(s|ms|/s|MB/s)\b)[^A-Za-z]*")
FOLDERS = ("src", "tests", "scripts", "experiments", "benchmarks", "fuzz")  # of code
LOG = "performance.md"  # of measurements, typed when they were made


def test_blocks_come_from_the_committed_figures():
    for path in pages.PAGES:
        page = path.read_text()
        assert pages.rewritten(page) == page, path.name


def test_pages_with_figures_say_when_and_where_they_were_measured():
    for path in ROOT.glob("docs/*.md"):
        page = path.read_text()
        assert bool(pages.measurements(page)) == ("<!-- measurements -->" in page), path.name


def test_no_measurement_is_typed():
    """In tables: a cell with a decimal fraction or a unit of speed, and no words. In prose: three decimals, a ratio."""
    for path in (path for path in pages.PAGES if path.name != LOG):
        page = pages.BLOCK.sub("", path.read_text())
        page = re.sub(r"^```.*?^```|`[^`\n]*`|^    .*?$", "", page, flags=re.S | re.M)  # code runs, or is an example
        cells = [cell for line in page.splitlines() if line.startswith("|") for cell in line.split("|")]
        assert [cell for cell in cells if MEASURED.fullmatch(cell)] == [], path.name
        assert [found[0] for found in PROSE.finditer(page)] == [], path.name


def test_no_block_breaks_a_paragraph():
    """Markdown takes a line that begins with a comment out of its paragraph."""
    for path in pages.PAGES:
        found = pages.BLOCK.finditer("\n" + path.read_text())
        assert not [block[0] for block in found if _within_a_line(block)], path.name


def _within_a_line(found: re.Match) -> bool:
    return not found["line"] and found.string[found.start() - 1] == "\n"


def test_pictures_are_drawn_from_the_committed_figures():
    for path in sorted({*ROOT.glob("docs/**/*.svg")} - {diagram.PICTURE}):
        name, digest = re.search(r"<dc:source>(\S+) (\w+)</dc:source>", path.read_text()).groups()
        assert figures.stamp(figures.FOLDER / name) == f"{name} {digest}", path.name


def test_the_diagram_has_the_members_of_the_default():
    assert diagram.PICTURE.read_text() == diagram.svg()
    report = OnlineBoost().fit(np.eye(4), [0, 1, 0, 1]).report()
    drawn = [member for _, _, members in diagram.MEMBERS for member in members]
    kinds = re.compile(r"(?<!=)\b[A-Z]\w+")
    assert sorted(map(kinds.findall, drawn)) == sorted(map(kinds.findall, report.names))


def test_lines_that_the_code_names_are_in_the_pseudo_code():
    page = (ROOT / "docs/algorithms.md").read_text()
    for section in ("Online BBM", "AdaBoost.OL"):
        text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        pseudo, code = re.findall(r"```\w+\n(.*?)```", text, re.S)
        named = {int(k) for found in re.findall(r"# .*?lines? (\d+)(?: and (\d+))?", code) for k in found if k}
        assert len(named) > 3
        assert named <= {int(k) for k in re.findall(r"^ ?(\d+) ", pseudo, re.M)}, section


def test_a_block_is_whole_lines_or_a_part_of_a_line(monkeypatch):
    monkeypatch.setattr(pages, "blocks", lambda script: {"n": "7\n"})
    assert pages.rewritten("so <!-- n from a.py --><!-- end --> or") == "so <!-- n from a.py -->7<!-- end --> or"
    assert pages.rewritten("<!-- n from a.py -->\nold\n<!-- end -->") == "<!-- n from a.py -->\n7\n<!-- end -->"
    with pytest.raises(ValueError, match="a.py has no block 'm'. Its blocks: n"):
        pages.rewritten("<!-- m from a.py --><!-- end -->")
    with pytest.raises(ValueError, match="has no <!-- end -->"):
        pages.rewritten("<!-- n from a.py -->\nold <!-- n from a.py --><!-- end -->")


def test_the_report_comes_from_the_committed_json(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments")
    publish = importlib.import_module("publish")
    assert publish.PAGE.read_text() == publish.report.html(publish.found())


def test_the_tests_that_the_documents_name_exist():
    written = set(
        re.findall(r"^def (test_\w+)", "".join(path.read_text() for path in ROOT.glob("tests/**/*.py")), re.M)
    )
    for page in ROOT.glob("docs/*.md"):
        assert set(re.findall(r"`(test_\w+)`", page.read_text())) <= written, page.name


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_what_train_prints_is_a_real_run(tmp_path, monkeypatch, capfd):
    """But for speed, time and memory, which differ from run to run."""
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```console\n(.*?)```", (ROOT / "docs/cli.md").read_text(), re.S)[1]
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
    """To a file, and to a heading of it."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("fuzz/*.md")]:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#?([^):\s]*)\)", page.read_text()):
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in _anchors(path.read_text()), f"{page.name}: {target}#{anchor}"


def _anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pages_that_messages_name_exist():
    written = "".join(path.read_text() for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py"))
    assert [name for name in set(re.findall(r"\bdocs/[\w-]+\.md", written)) if not (ROOT / name).exists()] == []


def test_modules_that_the_examples_import_are_public():
    """``docs/versions.md`` lists them."""
    pages_ = "".join(path.read_text() for path in pages.PAGES)
    used = set(re.findall(r"from (onlineboost[\w.]*) import|`(onlineboost\.[a-z_.]+)`", pages_))
    public = set(re.findall(r"`(onlineboost[.\w]*)`", (ROOT / "docs/versions.md").read_text()))
    modules = {name for pair in used for name in pair if name and _is_module(name)}
    assert modules <= public


def _is_module(name: str) -> bool:
    path = ROOT / "src" / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


WORDS = {  # searched for, and where they must stand
    "classification": ("README", "classification", "multiclass"),
    "regression": ("README", "regression"),
    "concept drift": ("README", "concept-drift"),
    "imbalanced": ("README", "imbalanced-data"),
    "delayed": ("README", "delayed-labels"),
    "deploy": ("README", "deployment", "classification"),
    "monitor": ("README", "deployment", "concept-drift"),
    "tutorial": ("README", "classification"),
}


@pytest.mark.parametrize("word", WORDS)
def test_the_fields_words_stand_in_the_pages(word):
    for name in WORDS[word]:
        page = ROOT / ("README.md" if name == "README" else f"docs/{name}.md")
        assert word in page.read_text().lower(), name


def test_no_row_begins_with_a_riddle():
    """The noun comes first."""
    riddle = re.compile(r"^(?:\| ?|- |#+ )\W*(?:what|of which|those that|whoever)\b.*$", re.I | re.M)
    for page in pages.PAGES:
        assert riddle.findall(pages.BLOCK.sub("", page.read_text())) == [], page.name


def test_spelling_is_american():
    british = r"\w*(?:learnt|labell(?:ed(?!by)|ing)|colour|behaviour|neighbour|licence|centred|normalis|standardis)\w*"
    for path in [*pages.PAGES, *(ROOT / "src/onlineboost/cli").rglob("*.py")]:
        text = path.read_text().replace('"learnt"', "")  # a key of model files
        assert re.findall(british, text, re.I) == [], path.name


def test_every_file_of_figures_has_one_command():
    files = {path.stem for path in figures.FOLDER.glob("*.json")}
    assert files <= {*sources.COMMANDS, *sources.OTHERS}
    assert all((figures.ROOT / command.split()[0]).is_file() for command in sources.COMMANDS.values())


def test_figures_are_old_when_code_changes_not_when_comments_do(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    path = tmp_path / "src/a.py"

    def digest(text):
        path.write_text(text)
        sources._code.cache_clear()
        return sources._together({path})

    assert digest('"""A."""\nx = 1  # one\n') == digest('"""B."""\nx = 1\n') != digest('"""B."""\nx = 2\n')
