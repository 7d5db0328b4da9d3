"""The site: its navigation, the reference of every public name and option, the check of links. Nothing is built."""

from __future__ import annotations

import collections
import doctest
import importlib
import inspect
import re
from pathlib import Path

import docstring_check
import figures
import pytest
import typer

pytest.importorskip("yaml")

from website import api, citations, commands, docstrings, environment, links, llms, stage
from website.__main__ import COPIED
from website.check import problems

from onlineboost.cli.app import build

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return stage.pages()


@pytest.fixture(scope="module")
def nav() -> list[str]:
    return [path for _, path in stage.entries_of(stage.config()["nav"])]


def test_every_page_is_in_the_navigation_once(pages, nav):
    assert [path for path, times in collections.Counter(nav).items() if times > 1] == []
    assert set(nav) == set(pages)
    assert {path.name for path in ROOT.glob("docs/*.md")} <= set(nav)


@pytest.mark.parametrize("module", api.Reference().modules)
def test_every_public_name_has_an_entry(module, pages):
    """A heading, where its description is, and a link in the list of the module; parameters with types and defaults."""
    found = importlib.import_module(module)
    names = found.__all__ if hasattr(found, "__all__") else api.names_of(found)
    for name in names:
        thing = getattr(found, name)
        assert f"[`{name}`](" in pages[f"reference/{module}.md"]
        if inspect.ismodule(thing):
            continue
        path, _, anchor = api.Reference().links[f"{module}.{name}"].partition("#")
        assert f"{{ #{anchor} }}" in pages[path], name
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
            entry = pages[path].partition(f"{{ #{anchor} }}")[2]
            checked = name != "Named" and module not in docstring_check.NOT_YET
            for parameter in docstring_check.parameters(thing, bound=False) if checked else ():
                item = re.search(rf"^`{re.escape(parameter)}` <small>([^\n]+)</small>\n:   [^ \n]", entry, re.M)
                assert item, f"{name}: {parameter}"


NO_EXAMPLE = {  # it takes a broken machine, cluster, package or disk to see them, or a page shows them
    "ConflictError", "ForkError", "InvalidStateError", "KernelError", "MemoryWarning", "MissingPackageError",
    "RangeWarning", "ReadWarning", "ServiceError", "WorkerError",
}  # fmt: skip


def test_every_class_and_function_has_an_example(pages):
    reference = api.Reference()
    lacking = set()
    for module, name, thing in reference.exports():
        if callable(thing) and reference.homes[id(thing)] == (module, name):
            path, _, anchor = reference.links[f"{module}.{name}"].partition("#")
            entry = pages[path].partition(f"{{ #{anchor} }}")[2]
            if ">>>" not in re.split(r"^##? ", entry, flags=re.M)[0]:
                lacking.add(name)
    assert lacking == NO_EXAMPLE


def test_the_reference_has_all_models():
    """Not only the modules with few names."""
    links_ = api.Reference().links
    assert len(links_) > 100
    assert {"onlineboost.OnlineBoost", "onlineboost.load", "onlineboost.theory.n_learners"} <= set(links_)


def test_an_example_after_a_list_is_no_entry():
    def told(a, b=2):
        """Learn.

        Parameters
        ----------
        a : int
            First,

            with a paragraph.

        b : int
            Second.

        >>> told(1)
        3
        """

    text = docstrings.markdown(told, {"b": 2})
    assert text.endswith("`b` <small>int, default=2</small>\n:   Second.\n\n```pycon\n>>> told(1)\n3\n```")
    assert "`a` <small>int</small>\n:   First,\n    \n    with a paragraph." in text


def test_methods_are_described_where_they_are_first_public(pages):
    assert "{ #onlineboost.OnlineBBM.certificate }" in pages["reference/OnlineBBM.md"]
    assert "{ #onlineboost.OnlineBBM.partial_fit }" not in pages["reference/OnlineBBM.md"]
    assert re.search(
        r"Inherited from .*\[`partial_fit`\]\(\w+\.md#[\w.]+\.partial_fit\)", pages["reference/OnlineBBM.md"]
    )


def test_every_option_of_every_command_is_described(pages):
    page = pages["reference/commands.md"]
    root = typer.main.get_command(build([]))
    for name, command in root.commands.items():
        entry = page.partition(f"{{ #onlineboost-{name} }}")[2].partition("\n## ")[0]
        assert entry, name
        flags = {
            flag for parameter in command.params if parameter.param_type_name == "option" for flag in parameter.opts
        }
        assert [flag for flag in sorted(flags) if not re.search(rf"`[^`\n]*{flag}\b[^`\n]*`\n: ", entry)] == [], name


def test_every_environment_variable_is_described(monkeypatch, pages):
    assert environment.section() in pages["reference/onlineboost.errors.md"]
    monkeypatch.delitem(environment.MEANINGS, "ONLINEBOOST_DATA")
    with pytest.raises(ValueError, match="ONLINEBOOST_DATA"):
        environment.section()


def test_every_page_begins_with_a_sentence_for_llms_txt(pages):
    text = llms.text(stage.config(), pages, "Summary.")
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == len(pages) - 1  # the home page has no line
    assert [line for line in lines if line.endswith("): ")] == []


def test_the_home_page_is_the_beginning_of_the_readme(pages):
    first = (ROOT / "README.md").read_text().split("\n\n")[1]
    assert first in pages["index.md"]
    assert "](docs/" not in pages["index.md"]


def test_links_out_of_the_site_name_the_file_or_lead_home():
    assert links.relinked("[a](../tests/vw.py#b)", "docs/data.md", "https://a.b/c") == (
        "[a](https://a.b/c/blob/main/tests/vw.py#b)"
    )
    assert links.relinked("```\n[a](../tests/vw.py)\n```", "docs/data.md", None) == "```\n[a](../tests/vw.py)\n```"


def test_broken_links_and_fetched_files_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="x">A</h1><a href="b.html#y">b</a><script src="https://a.b/c.js"></script>'
    )
    (tmp_path / "b.html").write_text(
        '<a href="a.html#x">a</a><a href="c.html">c</a><img src="d.svg"><a href="https://a.b">e</a>'
    )
    assert problems(tmp_path) == [
        "a.html: fetches https://a.b/c.js",
        "a.html: b.html#y",
        "b.html: c.html",
        "b.html: d.svg",
    ]


def test_names_in_headings_links_and_code_are_no_links():
    reference = api.Reference()
    link = f"[`Tree`]({reference.links['Tree']})"
    assert reference.linked("`Tree` and `Tree`") == f"{link} and `Tree`"
    for text in ("## `Tree`", "[a `Tree`](b.md)", "```python\n`Tree`\n```", "`a` Tree `b`"):
        assert reference.linked(text) == text
    assert reference.linked("`Tree`\n\n## Next\n\n`Tree`") == f"{link}\n\n## Next\n\n{link}"


def test_keys_of_citations_differ():
    keys = re.findall(r"^@\w+\{(\w+),$", citations.page(), re.M)
    assert len(keys) == len(set(keys)) > 10


def test_pictures_of_pages_are_copied():
    copied = {path for pattern in COPIED for path in ROOT.glob(f"docs/{pattern}")}
    for page in ROOT.glob("docs/*.md"):
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
            assert page.parent / name in copied, f"{page.name}: {name}"


def test_pictures_can_be_read_on_light_and_dark_pages():
    for path in ROOT.glob("docs/**/*.svg"):
        text = path.read_text()
        assert figures.for_any_background(text) == text, path.name
        assert f"text{{fill:{figures.GRAY}}}" in text, path.name


@pytest.mark.parametrize("module", [docstrings, figures, links, llms])
def test_examples(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 0


def test_commands_are_those_of_the_program():
    assert {name.split()[1] for name in commands.names()} == set(typer.main.get_command(build([])).commands)
