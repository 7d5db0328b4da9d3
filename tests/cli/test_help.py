"""Help in three lengths, versions, completion: short enough to read, and complete."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from commands import run

from onlineboost.cli import version
from onlineboost.cli.app import build
from onlineboost.cli.layout import USUAL
from onlineboost.cli.registered import registered_options

COMMANDS = (
    "train",
    "tune",
    "predict",
    "evaluate",
    "inspect",
    "serve",
    "convert",
    "reproduce",
    "datasets",
    "demo",
    "warm",
)
WITH_FILES = ("train", "tune", "predict", "evaluate", "inspect", "convert", "vw", "completion")


def flags(text: str) -> set[str]:
    """The long options that a help text lists."""
    return {
        flag.replace("[no-]", "") for line in re.findall(r"^ {2}(?:-\w,|   ) (--\S+)", text, re.M) for flag in [line]
    }


@pytest.mark.parametrize("name", WITH_FILES)
def test_without_arguments_a_command_shows_usage_and_examples(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, err = run(capsys, name, code=2)
    lines = out.splitlines()
    assert not err and len(lines) <= 25
    assert lines[0].startswith(f"Usage: onlineboost {name} ") and lines[-1] == f"more: onlineboost {name} --help"
    assert sum(f"onlineboost {name} " in line for line in lines[1:-1]) == 3 or name == "vw"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_on_a_page(name, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    short, everything = (run(capsys, name, option)[0] for option in ("--help", "--help-all"))
    lines = short.splitlines()
    assert len(lines) <= 80 and max(map(len, lines)) <= width
    assert max(map(len, everything.splitlines())) <= width
    assert lines[-1].startswith("Documentation: ") and everything.splitlines()[-1] == lines[-1]
    assert flags(short) <= flags(everything)
    assert "<bool>" not in everything


def test_help_all_has_every_option(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    everything = run(capsys, "train", "--help-all")[0]
    options = {option.flags[0].partition("/")[0] for option in registered_options().values()}
    assert flags(everything) >= options | {"--threshold", "--cost", "--config", "--save-config", "--jobs", "--help-all"}
    assert len(flags(everything)) > 3 * len(flags(run(capsys, "train", "--help")[0]))
    for title in ("Labels", "Data", "Weak learner", "Training"):
        assert f"\n{title}:\n" in everything
    labels = everything.partition("\nLabels:\n")[2].partition("\n\n")[0]
    assert {"--threshold", "--cost", "--class-weight"} <= flags(f"\n{labels}")


def test_usual_options_exist():
    from typer.main import get_command

    commands = get_command(build([])).commands
    for name, usual in USUAL.items():
        assert {*usual} <= {parameter.name for parameter in commands[name].params}


def test_one_name_for_one_thing(capsys):
    """Fails if: a command has another flag for the number of threads, or ``-j`` and ``-n`` mean two things."""
    texts = {name: run(capsys, name, "--help-all")[0] for name in COMMANDS}
    assert not any("--workers" in text or "--learners" in text for text in texts.values())
    for short, long in (("-j", "--jobs"), ("-n", "--n-estimators"), ("-l", "--label"), ("-o", "--output")):
        found = {name for text in texts.values() for name in re.findall(rf"^ {{2}}{short}, (\S+)", text, re.M)}
        assert found == {long}


def test_help_texts_name_their_noun(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for name in COMMANDS:
        for line in run(capsys, name, "--help-all")[0].splitlines():
            text = re.split(r" {2,}", line.strip())[-1]
            assert not re.match(r"(What|Of which|Those|Whether|How|Where)\b", text), line


def test_research_commands_are_last(capsys):
    out, _ = run(capsys, "--help")
    titles = re.findall(r"^(\w[\w ]*):$", out, re.M)
    assert titles == ["Models", "Data files", "Setup", "Research", "Options"]
    research = out.partition("Research:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (\w+)", research, re.M) == ["reproduce", "datasets"]
    assert max(map(len, out.splitlines())) <= 80
    assert run(capsys, code=2) == (out, "")  # without a command


def test_help_says_what_auto_is(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    out = " ".join(run(capsys, "train", "--help-all")[0].split())
    assert (
        "auto: OnlineBoost, or safe if another option of a booster or learner is given" in out
        and "(default: auto)" in out
    )
    assert "(default: auto,safe,bbm)" in " ".join(run(capsys, "tune", "--help")[0].split())
    assert "Random seed. (default: 0)" in out


def test_help_ends_with_the_address_of_the_documentation(capsys, monkeypatch):
    from email.message import Message

    found = Message()
    found["Project-URL"] = "Homepage, https://a.b/c"
    found["Project-URL"] = "Documentation, https://a.b/c/docs"
    monkeypatch.setattr(version, "metadata", lambda name: found)
    assert run(capsys, "train", "--help")[0].endswith("\nDocumentation: https://a.b/c/docs\n")
    del found["Project-URL"]
    found["Project-URL"] = "Documentation, HOME/docs"
    assert run(capsys, "--help")[0].endswith("\nDocumentation: docs/ of the source distribution\n")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_printed_before_anything_heavy_is_imported(flag, capsys):
    program = f"""
import sys
from onlineboost.__main__ import main
main(["{flag}"])
print(sorted({{"numba", "numpy", "typer", "rich", "llvmlite"}} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = found.stdout.splitlines()
    assert re.fullmatch(r"onlineboost [\d.]+", lines[0]) and re.fullmatch(r"Python [\d.]+, Numba [\d.]+", lines[1])
    assert lines[2:] == ["[]"]
    assert run(capsys, flag)[0].splitlines() == lines[:2]


def completed(script: str, *words: str) -> list[str]:
    """The words that bash offers for the last one."""
    line = " ".join(f"'{word}'" for word in words)
    program = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _onlineboost; echo "${{COMPREPLY[@]}}"'
    found = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_values(capsys):
    script, _ = run(capsys, "completion", "bash")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    assert completed(script, "onlineboost", "tr") == ["train"]
    assert completed(script, "onlineboost", "train", "--eff") == ["--effort"]
    assert completed(script, "onlineboost", "train", "--effort", "") == ["low", "normal", "high"]
    assert completed(script, "onlineboost", "train", "--learner", "t") == ["tree"]
    assert completed(script, "onlineboost", "predict", "mo") == []  # a file: bash's own
    assert {"--halving", "--jobs"} <= {*completed(script, "onlineboost", "tune", "--")}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_all_commands(shell, capsys):
    script, _ = run(capsys, "completion", shell)
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
    for name in (*COMMANDS, "vw", "completion", "about"):
        assert re.search(rf"\b{name}\b", script)
    assert "checkpoint-every" in script and "low normal high" in script
