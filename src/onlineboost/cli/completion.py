"""``onlineboost completion``: scripts by which shells complete commands, options and their values.

The scripts hold all words themselves: asking the command at each key would take a second.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.cli.registered import AUTO, NONE
from onlineboost.cli.terminal import say_lines
from onlineboost.registry import BOOSTERS, FORMATS, LEARNERS

Shell = StrEnum("Shell", {"BASH": "bash", "ZSH": "zsh", "FISH": "fish"})


def completion(context: typer.Context, shell: Annotated[Shell, o.argument("bash, zsh or fish.", "SHELL")]) -> None:
    """Print a completion script for bash, zsh or fish.

    Examples:

      source <(onlineboost completion bash)

      source <(onlineboost completion zsh)

      onlineboost completion fish > ~/.config/fish/completions/onlineboost.fish
    """
    commands: dict[str, Any] = context.find_root().command.commands  # type: ignore[attr-defined]
    say_lines("\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell.value](commands)))


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def _flags(option: Any) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def _choices(option: Any) -> list[str]:
    """The values of an option, if it has a few."""
    named = {"algorithm": [AUTO, *BOOSTERS.names(), NONE], "learner": LEARNERS.names(), "format": FORMATS.names()}
    if option.name in named:
        return named[option.name]
    metavar = option.metavar or ""
    return metavar.split("|") if "|" in metavar else []


def _bash(commands: dict[str, Any]) -> Iterator[str]:
    yield "# onlineboost: completion for bash"
    yield "_onlineboost() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield "  COMPREPLY=()"
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    COMPREPLY=($(compgen -W "{_words([*commands, "--help", "--version"])}" -- "$word"))'
    yield "    return"
    yield "  fi"
    yield '  case "${COMP_WORDS[1]} $before" in'
    for name, command in commands.items():
        for option in _options(command):
            if choices := _choices(option):
                cases = "|".join(f'"{name} {flag}"' for flag in _flags(option))
                yield f'    {cases}) words="{_words(choices)}" ;;'
    yield '    "completion completion") words="bash zsh fish" ;;'
    yield "  esac"
    yield '  if [ -z "$words" ]; then'
    yield '    case "$word" in -*) ;; *) return ;; esac'
    yield '    case "${COMP_WORDS[1]}" in'
    for name, command in commands.items():
        flags = [flag for option in _options(command) for flag in _flags(option) if flag.startswith("--")]
        yield f'      {name}) words="{_words([*flags, "--help"])}" ;;'
    yield "    esac"
    yield "  fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _onlineboost onlineboost"


def _zsh(commands: dict[str, Any]) -> Iterator[str]:
    yield "# onlineboost: completion for zsh, by way of that for bash"
    yield "autoload -U +X compinit && compinit -u"
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _bash(commands)


def _fish(commands: dict[str, Any]) -> Iterator[str]:
    yield "# onlineboost: completion for fish"
    for name, command in commands.items():
        yield f"complete -c onlineboost -f -n __fish_use_subcommand -a {name} -d {shlex.quote(_first(command.help))}"
    for name, command in commands.items():
        for option in _options(command):
            words = [f"complete -c onlineboost -n '__fish_seen_subcommand_from {name}'"]
            words += [f"-{'l' if flag.startswith('--') else 's'} {flag.lstrip('-')}" for flag in _flags(option)]
            choices = _choices(option)
            words += [f"-x -a '{_words(choices)}'"] if choices else [] if option.is_flag else ["-r"]
            yield " ".join([*words, f"-d {shlex.quote(_first(option.help))}"])
    yield "complete -c onlineboost -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'"


def _words(words: Iterable[str]) -> str:
    return " ".join(words)


def _first(help: str | None) -> str:
    """The beginning of the first sentence, without characters that shells read in quotes."""
    sentence = (help or "").strip().split("\n")[0].split(". ")[0]
    return sentence.split(" (")[0].rstrip(".").replace("'", "").replace("\\", "")
