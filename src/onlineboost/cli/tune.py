"""``onlineboost tune``: comparison of many configurations on the same files."""

from __future__ import annotations

import itertools
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from onlineboost import LeastSquares, OnlineBoost, OnlineBoostRegressor, OnlineGradientBoost, RegressionTree
from onlineboost.cli import options as o
from onlineboost.cli.choice import TASKS, TaskName, bounded, choose_regressor, find_task
from onlineboost.cli.registered import (
    AUTO,
    NONE,
    booster_options,
    learner_for,
    learner_options,
    make_learner,
    make_model,
    names_of,
    registered_options,
    values_of,
)
from onlineboost.cli.terminal import Progress, RaceProgress, print_json, say, say_facts, say_lines, say_skipped
from onlineboost.cli.train import chosen_options
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.model import OnlineModel
from onlineboost.readers import open_stream
from onlineboost.registry import BOOSTERS, LEARNERS

if TYPE_CHECKING:
    from onlineboost.tuning.race import Race

HALVING = 3


def tune(
    context: typer.Context,
    files: o.Files,
    label: o.Label = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    text: o.Text = None,
    day_first: o.DayFirst = None,
    month_first: o.MonthFirst = None,
    positive: o.Positive = None,
    task: Annotated[
        TaskName, o.labels("Task: binary classification, classes (two or more), or number (regression).", metavar=TASKS)
    ] = TaskName.AUTO,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    max_classes: o.MaxClasses = None,
    seed: Annotated[int, o.model("Random seed.", min=0)] = 0,
    halving: Annotated[
        bool,
        o.training("Keep only the best third of the configurations after 1/9 and 1/3 of the examples.", "--halving"),
    ] = False,
    jobs: o.Jobs = None,
    engine: o.Engine = o.EngineName.THREADS,
    address: o.Address = None,
    journal: Annotated[
        Path | None,
        o.training("Save results to this file; the same command resumes an interrupted run.", metavar="FILE"),
    ] = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Compare many configurations by progressive error.

    Every combination of the comma-separated values is tried. By default these are OnlineBoost (auto), SafeBoost over
    linear learners and trees, and Online BBM; for regression, a fixed list of models. The lowest error of many is
    slightly optimistic. The last line printed is the train command of the best configuration.

    Examples:

      onlineboost tune clicks.parquet --label clicked

      onlineboost tune train.vw -a bbm,osboost -n 5,21 --gamma .05,.1,.2 --halving

      onlineboost tune 'day-*.csv.gz' --label bought --journal bought.jsonl -j 8
    """
    from onlineboost.tuning import race

    quiet = quiet or json_output
    _check_journal(journal)
    reading = o.stream_options(given, on_error)
    schema = o.schema_options(label, weight, drop, categorical, text, day_first, month_first, positive)
    chosen = chosen_options(context)
    schema["task"] = find_task(task, files, reading | schema, chosen)
    numbers = schema["task"] == "number"
    raced = _regressors(chosen, seed) if numbers else list(entries(given, chosen, seed))
    began = time.perf_counter()
    data = _read(files, reading | schema, quiet, numbers)
    progress = RaceProgress(quiet)
    try:
        found = race.tune(
            [bounded(entry.model, max_classes) for entry in raced],
            data,
            halving=HALVING if halving else None,
            workers=jobs,
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
    command = _command(context, raced[winner].options) if not numbers else _lines_of_python(context, best)
    if json_output:
        rows = [row.as_json() for row in found.rows]
        print_json({"examples": data.rows, "rows": rows, "best": rows[winner], "command": command, "seconds": seconds})
    else:
        _print(found, data.rows, seconds, command)


class Entry(NamedTuple):
    """A configuration, and the options of ``train`` that make it."""

    model: OnlineModel
    options: dict[str, Any]


def entries(given: dict[str, Any], named: set[str], seed: int) -> Iterator[Entry]:
    """Every combination of the values that apply to the algorithm and the learner."""
    algorithms = _algorithms(given, named)
    known = {name: BOOSTERS.find(name).options if name not in (AUTO, NONE) else () for name in algorithms}
    for parameter, option in booster_options().items():
        if given[parameter] is not None and not any(option in options for options in known.values()):
            raise ConflictError(f"{option.flags[0]} does not apply to --algorithm {given['algorithm']}.")
    for name, options in known.items():
        if name == AUTO:
            yield Entry(OnlineBoost(random_state=seed), {})
            continue
        by_default = name == "safe" and "algorithm" not in named  # its error hardly depends on the number of learners
        varied = [option for option in options if not by_default or option.parameter in named]
        learners = _learners(name, given, named)
        for learner in map(LEARNERS.find, learners):
            others = {option for other in learners for option in LEARNERS.find(other).options} - {*learner.options}
            mine = {option.parameter: option for option in (*varied, *learner.options)}
            lists = {key: values_of(option, given[key]) for key, option in mine.items() if option.tried}
            fixed = {key: given[key] for key in mine.keys() - lists.keys()}
            # An option that applies to no learner is an error; one of another algorithm or learner in the list is not.
            known_to_none = {key for key, option in learner_options().items() if option not in others} - mine.keys()
            fixed |= {key: given[key] for key in known_to_none}
            for values in itertools.product(*lists.values()):
                chosen = dict(zip(lists, values, strict=True))
                settings = fixed | chosen
                model = make_model(name, make_learner(learner.name, settings), settings, seed)
                yield Entry(model, {"algorithm": name, "learner": learner.name, **chosen})


def _algorithms(given: dict[str, Any], named: set[str]) -> list[str]:
    """Algorithms: as given; by default without ``auto`` if an option of learners or boosters is given."""
    names = names_of(given["algorithm"], [AUTO, *BOOSTERS.names(), NONE])
    told = {"learner", *registered_options()} & named
    return [name for name in names if name != AUTO or not told or "algorithm" in named]


def _learners(algorithm: str, given: dict[str, Any], named: set[str]) -> list[str]:
    """Learners: as given; by default those of the race for ``safe``, or the default of the algorithm."""
    names = names_of(given["learner"], LEARNERS.names(), "--learner")
    if "learner" in named:
        return names
    told = [option for key, option in learner_options().items() if key in named]
    fitting = [name for name in names if all(option in LEARNERS.find(name).options for option in told)] or names[:1]
    if "algorithm" not in named:
        return fitting if algorithm == "safe" else fitting[:1]
    return [learner_for(algorithm, {"learner": names[0]}, named)]


def _regressors(chosen: set[str], seed: int) -> list[Entry]:
    """The default, boosted trees of three depths with and without a memory of recent rows, and linear models."""
    default, _ = choose_regressor(chosen, True, seed, 0)
    trees = [RegressionTree(depth, memory=memory) for depth in (3, 5, 8) for memory in (0, 64)]
    boosters = [OnlineGradientBoost(tree, n) for tree in trees for n in (20, 60)]
    linear = [LeastSquares(forgetting) for forgetting in (1.0, 0.9999, 0.999, 0.99)]
    return [Entry(model, {}) for model in (default, *boosters, *linear)]


def _lines_of_python(context: typer.Context, best: Any) -> str:
    """Code or command that trains the best regressor."""
    if isinstance(best.model, OnlineBoostRegressor):
        return _command(context, {"task": "number"})
    return f"in Python: model = {' '.join(repr(best.model).split())}"


def _check_journal(journal: Path | None) -> None:
    from onlineboost.tuning.runs import is_journal

    if journal is not None:
        if journal.expanduser().is_file() and not is_journal(journal.expanduser()):
            raise ParameterError("--journal", str(journal), "a journal, or the name of a file that does not exist")
        folder = journal.expanduser().resolve().parent
        if journal.expanduser().is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ParameterError("--journal", str(journal), "a file in a folder that exists and can be written")


def _read(files: list[str], options: dict[str, Any], quiet: bool, numbers: bool) -> Any:
    from onlineboost.tuning.data import read

    with open_stream(files, **options) as stream, Progress("reading", stream.size, quiet) as progress:
        data = read(stream, notice=lambda batch: progress.update(stream, batch.y.size), numbers=numbers)
    say_skipped(stream)
    return data


_TUNE_ONLY = {"files", "halving", "jobs", "engine", "address", "journal", "json_output", "quiet"}


def _command(context: typer.Context, options: dict[str, Any]) -> str:
    """The command that trains a model with these options and the others given here."""
    words = ["onlineboost", "train", *context.params["files"]]
    lists = {name for name, option in registered_options().items() if option.tried}
    others = chosen_options(context) - _TUNE_ONLY - {"algorithm", "learner"} - lists - _of_others(options)
    values = {name: context.params[name] for name in others} | options
    for parameter in context.command.params:
        if parameter.name in values:
            words += _as_typed(parameter, values[parameter.name])
    return shlex.join([*words, "-o", "best.model"])


def _of_others(options: dict[str, Any]) -> set[str]:
    """Options of other algorithms and learners."""
    if "algorithm" not in options:  # the default, which has its own learners
        return {*registered_options()}
    boosting = BOOSTERS.find(options["algorithm"]).options if options["algorithm"] != NONE else ()
    mine = {option.parameter for option in (*boosting, *LEARNERS.find(options["learner"]).options)}
    return registered_options().keys() - mine


def _as_typed(parameter: Any, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (parameter.opts[0], str(one))]


def _print(race: Race, examples: int, seconds: float, command: str) -> None:
    counts = {status: sum(row.status == status for row in race.rows) for status in ("done", "stopped", "failed")}
    finished = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    say_lines(race.table())
    say()
    lines = [("configurations", finished), ("examples", f"{examples:,}"), ("time", f"{seconds:.2f} s")]
    lines.append(race.lowest)
    say_facts(lines)
    say()
    say(command)
