"""``onlineboost vw``: the equivalent commands of onlineboost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from onlineboost.cli.terminal import announce, say
from onlineboost.cli.vw.model import MODEL_OPTIONS, Source, Translation, last, number, read_model
from onlineboost.cli.vw.options import NOTHING_TO_DO, SHORT, instead_of, parse
from onlineboost.errors import ConflictError

_FILES = (
    *("data", "final_regressor", "initial_regressor", "predictions", "raw_predictions", "testonly"),
    *("passes", "quiet"),
)
_READABLE = ("invert_hash", "readable_model")
_LETTER = {name: f"-{letter}" for letter, name in SHORT.items()}


def vw(
    arguments: Annotated[list[str], typer.Argument(metavar="VW_OPTIONS...", help="Options of vw, unchanged.")],
) -> None:
    """Translate a Vowpal Wabbit command, without running it.

    Commands go to standard output, differences to standard error. An option without a counterpart is an error (exit
    code 2).

    Examples:

      onlineboost vw -d day.vw --boosting 20 --alg BBM -f model

      onlineboost vw -d day.vw -t -i model -p answers.csv

      onlineboost vw -d day.vw --loss_function logistic -b 22 -f model | sh
    """
    found = translate(arguments)
    for option, instead in found.missing.items():
        announce(f"no counterpart: {option}: {instead}")
    for command in found.commands:
        if found.missing:
            announce(f"without it: {command}" if len(found.missing) == 1 else f"without them: {command}")
        else:
            say(command)
    for note in found.notes:
        announce(f"note: {note}")
    if found.missing:
        raise typer.Exit(2)


def verbatim(arguments: list[str]) -> list[str]:
    """The arguments of ``main``, with those of ``vw`` marked as not ours; ``onlineboost vw --help`` is ours.

    >>> verbatim(["vw", "-d", "day.vw"])
    ['vw', '--', '-d', 'day.vw']
    """
    ours = arguments[:1] != ["vw"] or arguments[1:] in ([], ["-h"], ["--help"]) or arguments[1:2] == ["--"]
    return arguments if ours else ["vw", "--", *arguments[1:]]


def flag(name: str) -> str:
    """An option in its usual form."""
    return _LETTER.get(name, f"--{name}")


def translate(arguments: list[str]) -> Translation:
    """The equivalent commands.

    >>> translate(["-d", "day.vw", "--boosting", "10", "-f", "model"]).commands
    ['onlineboost train day.vw -f vw -a bbm -n 10 --normalizer none --votes real --no-standardize -o model']
    """
    given, found = parse(arguments), Translation()
    for name in given:
        if name in NOTHING_TO_DO:
            found.notes += [f"{flag(name)}: {NOTHING_TO_DO[name]}"] if NOTHING_TO_DO[name] else []
        elif name not in (*_FILES, *_READABLE, *MODEL_OPTIONS):
            found.missing[flag(name)] = instead_of(name)
    if "cache_file" in given and "data" not in given:
        found.missing["--cache_file"] = "caches of vw are not read: name the text with -d."
    model = read_model(given, Source(last(given, "data") or "-"))
    if "testonly" in given:
        _test(given, found)
    else:
        _train(given, model, found)
    _show(given, found)
    return found


def _outputs(given: dict[str, list[str]]) -> dict[str | None, str]:
    """The files of answers, and the option of each."""
    found: dict[str | None, str] = {}
    for name in ("predictions", "raw_predictions"):
        if name in given:
            found.setdefault(last(given, name), flag(name))
    return found


def _quiet(given: dict[str, list[str]]) -> list[str]:
    return ["-q"] if "quiet" in given else []


def _model_of(given: dict[str, list[str]], found: Translation) -> str | None:
    """The model to begin with. Its settings come with it."""
    models = given.get("initial_regressor", [])
    if len(models) > 1:
        found.missing["-i"] = "one model; several are stacked in Python by StackedEnsemble."
    if models:
        found.notes.append(
            f"-i: {models[0]} is a model file of onlineboost; those of vw cannot be read: train it again."
        )
        kept = [flag(name) for name in given if name in MODEL_OPTIONS]
        found.notes += [f"{', '.join(kept)}: the model has its own settings."] if kept else []
    return models[0] if models else None


def _test(given: dict[str, list[str]], found: Translation) -> None:
    model, data = _model_of(given, found), last(given, "data") or "-"
    if model is None:
        raise ConflictError("vw -t without -i MODEL tests an untrained model: name one with -i.")
    if "final_regressor" in given:
        found.missing["-f"] = "with -t the model does not change: cp MODEL FILE."
    outputs = _outputs(given)
    link = last(given, "link")
    if link == "logistic":
        found.notes.append("--link logistic: the column probability of the answers, beside label and score.")
    elif outputs:
        found.notes.append("answers have the columns label, score (the prediction of vw) and probability.")
    for output in outputs:
        words = ["onlineboost", "predict", model, data, "-f", "vw"]
        if output is None or output in ("/dev/stdout", "stdout"):
            found.commands.append(shlex.join(words))
        elif Path(output).suffix.lower() in (".csv", ".jsonl", ".parquet"):
            found.commands.append(shlex.join([*words, "-o", output, *_quiet(given)]))
        else:
            found.commands.append(f"{shlex.join(words)} > {shlex.quote(output)}")
    if not outputs:
        found.commands.append(shlex.join(["onlineboost", "evaluate", model, data, "-f", "vw", *_quiet(given)]))


def _train(given: dict[str, list[str]], model: Translation, found: Translation) -> None:
    start, output, data = _model_of(given, found), last(given, "final_regressor"), last(given, "data") or "-"
    words = ["onlineboost", "train", data, "-f", "vw"]
    if start is not None:
        words += ["--resume", start]
        found.notes.append("files already learned are skipped; --again trains on them again, as vw does.")
        if output is None:
            found.notes.append(f"without -f, {start} is overwritten; -f FILE keeps it.")
    else:
        words += model.options
        found.missing |= model.missing
        found.notes += model.notes
    words += ["-o", output] if output is not None else []
    passes = number(given, "passes") if "passes" in given else "1"
    if passes != "1":
        words += ["--passes", passes]
        if "holdout_off" not in given:
            found.notes.append("--passes: all examples are learned; vw holds out every tenth, and may stop early.")
    outputs = _outputs(given)
    for answers, option in [*outputs.items()][:1]:
        words += _predictions(answers, option, passes, _columns(given, model), found)
    for option in [*outputs.values()][1:]:
        found.missing[option] = f"one file has all answers: leave out {option}; the raw prediction is its column score."
    found.commands.append(shlex.join([*words, *_quiet(given)]))
    if start is None and not model.is_default:
        found.notes.append(
            f"without options, onlineboost train {shlex.quote(data)} -f vw is OnlineBoost (docs/benchmarks.md)."
        )


def _columns(given: dict[str, list[str]], model: Translation) -> str:
    """The columns of the answers before learning, and which is the prediction of vw."""
    if "--task" in model.options:
        return "prediction, low and high"
    if "oaa" in given:
        return "label (the prediction of vw) and score"
    if last(given, "link") == "logistic":
        return "label and score; with --link logistic the prediction of vw is 1 / (1 + exp(-score))"
    return "label and score (the prediction of vw)"


def _predictions(output: str | None, option: str, passes: str, columns: str, found: Translation) -> list[str]:
    """The option that writes the answers before learning."""
    if passes != "1":
        found.missing[option] = (
            "progressive predictions need one pass: leave out --passes, or predict afterwards (-t -i)."
        )
        return []
    path, where = Path(output or ""), ""
    if path.suffix.lower() not in (".csv", ".jsonl", ".parquet"):
        if output is None or str(path.parent) == "/dev":
            found.missing[option] = "name a file that ends in .csv, .jsonl or .parquet."
            return []
        output, where = f"{output}.csv", f" are CSV, in {output}.csv, and"
    found.notes.append(f"{option}: answers{where} have the columns {columns}.")
    return ["--predictions", str(output)]


def _show(given: dict[str, list[str]], found: Translation) -> None:
    """The command that shows the model."""
    model = last(given, "final_regressor") or last(given, "initial_regressor")
    for name in _READABLE:
        if name in given and model is None:
            found.missing[flag(name)] = "save the model (-f MODEL); onlineboost inspect MODEL shows it."
        elif name in given and model is not None:
            output = last(given, name) or ""
            found.commands.append(f"{shlex.join(['onlineboost', 'inspect', model])} > {shlex.quote(output)}")
            found.notes.append(
                f"{flag(name)}: settings, edges and the strongest features by name; no list of all weights."
            )
