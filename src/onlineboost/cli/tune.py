"""``onlineboost tune``: many settings on the same files, and the command that trains the best of them."""

from __future__ import annotations

import itertools
import os
import shlex
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from onlineboost.cli import options as o
from onlineboost.cli.train import (
    BOOSTING,
    LEARNER,
    RUN,
    Algorithm,
    Delivery,
    Head,
    LearnerKind,
    Loss,
    Votes,
    booster_of,
    chosen_options,
    make_booster,
    make_learner,
)
from onlineboost.cli.train import _in as opt
from onlineboost.errors import ParameterError

if TYPE_CHECKING:
    from onlineboost.model import OnlineClassifier
    from onlineboost.tuning.race import Race

HALVING = 3


class EngineName(StrEnum):
    THREADS = "threads"
    RAY = "ray"


def tune(
    context: typer.Context,
    files: o.Files,
    label: o.Label = None,
    format: o.FormatOption = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    positive: o.Positive = None,
    bits: o.Bits = 18,
    header: o.Header = None,
    separator: o.Separator = None,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    algorithm: Annotated[str, opt(BOOSTING, "--algorithm", "-a", help="How to boost; several: bbm,osboost.")] = "bbm",
    n: Annotated[str, opt(BOOSTING, "--learners", "-n", help="Numbers of weak learners.")] = "5,11,21,51",
    gamma: Annotated[
        str, opt(BOOSTING, "--gamma", help="Edges over guessing, for algorithms that have one.")
    ] = "0.05,0.1,0.2",
    delivery: Annotated[
        Delivery, opt(BOOSTING, "--delivery", help="Weights as importance, or as chances.")
    ] = Delivery.AUTO,
    votes: Annotated[Votes, opt(BOOSTING, "--votes", help="Votes of -1 and +1, or real ones.")] = Votes.HARD,
    head: Annotated[
        Head, opt(BOOSTING, "--head", help="Answer by the algorithm's vote, or by a stack on it.")
    ] = Head.VOTE,
    seed: Annotated[int, opt(BOOSTING, "--seed", help="Of everything random.", min=0)] = 0,
    learner: Annotated[LearnerKind, opt(LEARNER, "--learner", help="What is boosted.")] = LearnerKind.LINEAR,
    learning_rate: Annotated[str, opt(LEARNER, "--learning-rate", help="Sizes of a step; linear.")] = "0.1,0.5,2",
    loss: Annotated[Loss, opt(LEARNER, "--loss", help="What a step makes smaller.")] = Loss.SQUARED,
    standardize: Annotated[
        bool, opt(LEARNER, "--standardize/--no-standardize", help="Centre and bound features on the way.")
    ] = True,
    bins: Annotated[
        int | None,
        opt(LEARNER, "--bins", help="Values that a feature is told apart by. (default: 16; linear: all)"),
    ] = None,
    crosses: Annotated[bool, opt(LEARNER, "--crosses", help="A feature of each pair of features; linear.")] = False,
    cross: Annotated[
        list[str] | None,
        opt(LEARNER, "--cross", help="A feature of each pair from two columns, A,B; linear; can be repeated."),
    ] = None,
    max_depth: Annotated[str, opt(LEARNER, "--max-depth", help="Of a tree.")] = "2,3,5",
    halving: Annotated[
        bool, opt(RUN, "--halving", help="Only the best third goes on after 1/9 of the examples, and after 1/3.")
    ] = False,
    workers: Annotated[
        int | None, opt(RUN, "--workers", "-j", help="How many work at a time. (default: one per core)", min=1)
    ] = None,
    engine: Annotated[EngineName, opt(RUN, "--engine", help="Who works.")] = EngineName.THREADS,
    address: Annotated[
        str | None, opt(RUN, "--address", help="Of a Ray cluster. (default: one on this machine)")
    ] = None,
    journal: Annotated[
        Path | None, opt(RUN, "--journal", help="Keep each result here at once; what is there is not run again.")
    ] = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Try many settings, each in one pass, and say which makes the fewest mistakes.

    Lists have commas: every combination is tried. Each example is scored before it is learnt, so the errors are honest
    ones; that of the best of many is a little too good.

    Examples:

      onlineboost tune clicks.parquet --label clicked

      onlineboost tune train.vw -a bbm,osboost -n 5,11,21 --gamma .05,.1,.2 --learning-rate .1,.5,2 --halving

      onlineboost tune 'day-*.csv.gz' --label bought --journal bought.jsonl -j 8
    """
    from onlineboost.cli.show import RaceProgress, print_json
    from onlineboost.tuning import race

    quiet = quiet or json_output
    entries = list(_entries(context.params, chosen_options(context)))
    _check_journal(journal)
    reading = o.stream_options(format, header, separator, on_error)
    schema = o.schema_options(label, weight, drop, categorical, positive, bits)
    began = time.perf_counter()
    data = _read(files, reading | schema, quiet)
    progress = RaceProgress(quiet)
    try:
        found = race.tune(
            [entry.model for entry in entries],
            data,
            halving=HALVING if halving else None,
            workers=workers,
            engine=engine.value,
            address=address,
            journal=journal,
            progress=progress,
        )
    finally:
        progress.close()
    seconds = time.perf_counter() - began
    best = found.best
    winner = next(k for k, row in enumerate(found.rows) if row is best)
    command = _command(context, entries[winner].options)
    if json_output:
        rows = [row.as_json() for row in found.rows]
        print_json({"examples": data.rows, "rows": rows, "best": rows[winner], "command": command, "seconds": seconds})
    else:
        _print(found, data.rows, seconds, command)


class Entry(NamedTuple):
    """A configuration, and the options of ``train`` that make it."""

    model: OnlineClassifier
    options: dict[str, Any]


def _entries(given: dict[str, Any], chosen: set[str]) -> Iterator[Entry]:
    """Every combination of the lists, as far as algorithm and learner have use for them."""
    algorithms = [_algorithm(name) for name in _list("--algorithm", given["algorithm"], str)]
    boosts = [name for name in algorithms if name != Algorithm.NONE]
    has_gamma = {name for name in boosts if "gamma" in booster_of(name)._defaults()}
    if "gamma" in chosen and not has_gamma:
        raise ParameterError("--gamma", given["gamma"], f"nothing: {given['algorithm']} has no such choice")
    if "n" in chosen and not boosts:
        raise ParameterError("--learners", given["n"], "nothing with --algorithm none, which does not boost")
    by_learner = {LearnerKind.LINEAR: ("learning_rate", float), LearnerKind.TREE: ("max_depth", int)}
    varied, kind = by_learner.get(given["learner"], (None, float))
    for name in algorithms:
        lists = {"algorithm": [name]}
        if name in boosts:
            lists["n"] = _list("--learners", given["n"], int)
        if name in has_gamma:
            lists["gamma"] = _list("--gamma", given["gamma"], float)
        if varied is not None:
            lists[varied] = _list(f"--{varied.replace('_', '-')}", given[varied], kind)
        for values in itertools.product(*lists.values()):
            options = dict(zip(lists, values, strict=True))
            settings = {**given, "n": None, "gamma": None, **options}
            # What other algorithms of the list have use for is no mistake here.
            mine = (chosen - {"n", "gamma"}) | options.keys()
            model = make_booster(name, make_learner(given["learner"], mine, settings), settings, mine)
            yield Entry(model, options)


def _algorithm(name: str) -> Algorithm:
    if name not in list(Algorithm):
        raise ParameterError("--algorithm", name, f"some of {', '.join(Algorithm)}")
    return Algorithm(name)


def _list(name: str, text: str, kind: Callable[[str], Any]) -> list[Any]:
    """The values between the commas; one that is there twice is tried once."""
    try:
        values = list(dict.fromkeys(kind(part.strip()) for part in text.split(",")))
    except ValueError:
        what = {int: "whole numbers", float: "numbers"}[kind]  # type: ignore[index]
        raise ParameterError(name, text, f"{what} with commas between them") from None
    return values


def _check_journal(journal: Path | None) -> None:
    from onlineboost.tuning.journal import is_journal

    if journal is not None:
        if journal.expanduser().is_file() and not is_journal(journal.expanduser()):
            raise ParameterError("--journal", str(journal), "a journal, or the name of a file that does not exist")
        folder = journal.expanduser().resolve().parent
        if journal.expanduser().is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ParameterError("--journal", str(journal), "a file in a folder that exists and can be written")


def _read(files: list[str], options: dict[str, Any], quiet: bool) -> Any:
    from onlineboost.cli.show import Progress, say_skipped
    from onlineboost.readers import open_stream
    from onlineboost.tuning.data import read

    with open_stream(files, **options) as stream, Progress("reading", stream.size, quiet) as progress:
        data = read(stream, notice=lambda batch: progress.update(stream, batch.y.size))
    say_skipped(stream)
    return data


_NOT_OF_TRAIN = {"files", "halving", "workers", "engine", "address", "journal", "json_output", "quiet"}
_LISTS = {"algorithm", "n", "gamma", "learning_rate", "max_depth"}


def _command(context: typer.Context, options: dict[str, Any]) -> str:
    """The command that trains a model with these options, and with all else that was given here."""
    words = ["onlineboost", "train", *context.params["files"]]
    others = chosen_options(context) - _NOT_OF_TRAIN - _LISTS
    values = {name: context.params[name] for name in others} | options
    for parameter in context.command.params:
        if parameter.name in values:
            words += _typed_again(parameter, values[parameter.name])
    return shlex.join([*words, "-o", "best.model"])


def _typed_again(parameter: Any, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (parameter.opts[0], str(one))]


def _print(race: Race, examples: int, seconds: float, command: str) -> None:
    counts = {status: sum(row.status == status for row in race.rows) for status in ("done", "stopped", "failed")}
    told = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    print(race.table())
    print()
    lines = [("configurations", told), ("examples", f"{examples:,}"), ("time", f"{seconds:.2f} s")]
    lines.append(("least error", f"{race.best.error:.4f}"))
    for name, value in lines:
        print(f"{name + ':':<20} {value}")
    print(f"\n{command}")
