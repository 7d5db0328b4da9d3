"""``make figures``: what is old is measured, what is current is not, and a stopped run goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import figures
import measure
import pytest
import sources


@pytest.fixture
def three(tmp_path, monkeypatch):
    """Three files of figures: one current, one of other code, one never measured; the scripts that were run."""
    for name, digest in (("new", "d"), ("old", "before")):
        facts = {"date": "2026-01-01", "machine": "a machine", "sources": digest}
        (tmp_path / f"{name}.json").write_text(json.dumps({"measured": facts, "figures": {}}))
    ran = []

    def run(command, cwd):
        name = command[1].removesuffix(".py")
        ran.append(name)
        done = name != "never"
        if done:
            figures.keep(tmp_path / f"{name}.json", {"n": 1})
        return subprocess.CompletedProcess(command, 0 if done else 1)

    monkeypatch.setattr(measure, "FOLDER", tmp_path)
    monkeypatch.setattr(measure, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(sources, "COMMANDS", {name: f"{name}.py" for name in ("new", "old", "never")})
    monkeypatch.setattr(sources, "digests", lambda names: dict.fromkeys(names, "d"))
    monkeypatch.setattr(sources, "digest", lambda name: "d")
    monkeypatch.setattr(figures.pages, "main", lambda: None)
    return ran


def main(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["measure.py", *words])
    measure.main()


def test_the_list_says_what_is_old(three, monkeypatch, capsys):
    main(monkeypatch, "--list")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["new", "2026-01-01", "current"],
        ["old", "2026-01-01", "old"],
        ["never", "never", "old"],
    ]
    assert three == []


def test_what_was_measured_is_not_measured_again(three, monkeypatch):
    with pytest.raises(SystemExit, match="failed: never; see above, and run again"):
        main(monkeypatch)
    assert three == ["old", "never"]
    with pytest.raises(SystemExit, match="never"):
        main(monkeypatch)
    assert three == ["old", "never", "never"]
    main(monkeypatch, "new")
    assert three[3:] == ["new"]


def test_figures_have_date_machine_and_sources(three, monkeypatch, tmp_path):
    main(monkeypatch, "old")
    facts = json.loads((tmp_path / "old.json").read_text())["measured"]
    assert set(facts) == {"date", "machine", "sources"} and all(facts.values())
    assert facts["sources"] == "d" and "cores" in facts["machine"]


def test_an_unknown_name_is_an_error(three, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        main(monkeypatch, "odl")
    assert "odl: expected names among new old never" in capsys.readouterr().err
