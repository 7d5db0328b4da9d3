"""``onlineboost train``: train a model on files in one pass, and report its progressive error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.cli.choice import (
    EffortName,
    TargetName,
    TaskName,
    bounded,
    choose,
    choose_regressor,
    find_task,
    unknown_labels,
)
from onlineboost.cli.dates import find_dates
from onlineboost.cli.evaluate import measure
from onlineboost.cli.job import Job
from onlineboost.cli.notes import Notes, load
from onlineboost.cli.registered import registered_options
from onlineboost.cli.schema_file import SchemaFile
from onlineboost.cli.summary import print_summary
from onlineboost.cli.terminal import announce, print_json, printable
from onlineboost.cli.thresholds import CostOption, ThresholdOption, rule_of
from onlineboost.compiled.jit import without_notice
from onlineboost.data.columns import MAX_LAG
from onlineboost.data.kinds import Kind
from onlineboost.data.regression import Numbers
from onlineboost.errors import ConflictError
from onlineboost.evaluate.plots import draw, picture
from onlineboost.evaluate.training import Training


def train(
    context: typer.Context,
    files: o.Files,
    output: Annotated[Path | None, o.output("Model file to write.", "--output", "-o")] = None,
    label: o.Label = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    text: o.Text = None,
    day_first: o.DayFirst = None,
    month_first: o.MonthFirst = None,
    positive: o.Positive = None,
    schema_file: o.SchemaOption = None,
    task: Annotated[
        TaskName, o.data("Labels: two; classes, two or more; or a number. (auto: by the first examples)")
    ] = TaskName.AUTO,
    target: Annotated[
        TargetName,
        o.data(
            "Numbers that are learnt: as they are; their logarithm, of positive numbers such as prices; or both, "
            "weighed (auto)."
        ),
    ] = TargetName.AUTO,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    effort: Annotated[
        EffortName, o.boosting("Effort of OnlineBoost: more takes more time and errs less.")
    ] = EffortName.NORMAL,
    memory: Annotated[
        bool,
        o.boosting(
            "OnlineBoost keeps the last rows, as bins, and learns them more than once; the model file contains them.",
            "--memory/--no-memory",
        ),
    ] = True,
    adaptive: Annotated[
        bool,
        o.boosting(
            "Drift handling: the model starts over when its error rises; a fast learner bridges the gap. "
            "OnlineBoost has its own.",
            "--adaptive",
        ),
    ] = False,
    lag: Annotated[
        int,
        o.boosting(
            "Number of last labels that are features of each example, for streams whose order tells much.",
            min=0,
            max=MAX_LAG,
        ),
    ] = 0,
    class_weight: Annotated[
        list[str] | None,
        o.boosting(
            "Factor of the weights of examples by their label: 'balanced', by how rare labels are, or yes=10 (can "
            "be repeated)."
        ),
    ] = None,
    max_classes: o.MaxClasses = None,
    threshold: ThresholdOption = None,
    cost: CostOption = None,
    seed: Annotated[int, o.boosting("Random seed.", min=0)] = 0,
    passes: Annotated[int, o.run("Number of times to read the files.", min=1)] = 1,
    holdout: Annotated[list[str] | None, o.run("File to test on at the end (can be repeated).")] = None,
    resume: Annotated[Path | None, o.run("Model file to continue from.")] = None,
    again: Annotated[bool, o.run("Once more all rows of files that the model has learnt before.", "--again")] = False,
    jobs: o.Jobs = None,
    engine: o.Engine = o.EngineName.THREADS,
    address: o.Address = None,
    delay: Annotated[float | None, o.run("Labels come late: after so many further examples.", min=0)] = None,
    delay_column: Annotated[str | None, o.run("Column of times, in whose unit --delay is.")] = None,
    checkpoint_every: Annotated[int | None, o.run("Number of examples after which the model is saved.", min=1)] = None,
    baseline: Annotated[bool, o.run("Comparison with the base learner alone.", "--baseline/--no-baseline")] = True,
    predictions: Annotated[
        Path | None,
        o.output(
            "File (.csv, .jsonl or .parquet) for the answer to each example, before it is learnt.",
            "--predictions",
            "-p",
        ),
    ] = None,
    plot: o.Plot = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Train a model on files, in one pass.

    The error printed is the progressive error: each example is scored before it is learnt.

    Examples:

      onlineboost train clicks.parquet --label clicked -o clicks.model

      onlineboost train 'day-*.csv.gz' --label bought --positive yes --effort high -o model

      onlineboost train clicks.parquet --label clicked -a bbm --learner tree -n 61

      zcat huge.vw.gz | onlineboost train - -f vw -o model --checkpoint-every 1000000

      onlineboost train huge.vw.gz --resume model

      onlineboost train fraud.csv --label fraud --class-weight balanced --threshold recall=0.9 -o fraud.model

      onlineboost train rentals.csv --label count --task number --lag 3

      onlineboost train clicks.parquet --schema clicks.schema.json -o clicks.model
    """
    quiet = quiet or json_output
    reading = o.stream_options(given, on_error)
    job = Job(output, resume, passes, checkpoint_every, quiet, predictions)
    job.check(plot, files, holdout or [])
    rule = rule_of(threshold, cost)
    if cost is not None and threshold != "cost":
        raise ConflictError("--cost needs --threshold cost: nothing else in training depends on costs.")
    if address is not None and engine is o.EngineName.THREADS:
        raise ConflictError("--address is that of a Ray cluster: it needs --engine ray.")
    if delay is not None and engine is not o.EngineName.THREADS:
        raise ConflictError("--delay simulates late labels one example at a time: leave out --engine ray.")
    if delay_column is not None and delay is None:
        raise ConflictError("--delay-column needs --delay, how late labels are in the unit of the column.")
    if delay is not None and (resume is not None or checkpoint_every is not None):
        other = "--resume" if resume is not None else "--checkpoint-every"
        raise ConflictError(f"--delay simulates late labels on whole files: leave out {other}.")
    if again and resume is None:
        raise ConflictError("--again needs --resume MODEL, which has learnt the files before.")
    given_schema = o.schema_options(label, weight, drop, categorical, text, day_first, month_first, positive)
    columns = SchemaFile.read(schema_file) if schema_file is not None else None
    if resume is not None:
        loaded = load(resume)
        notes = Notes.from_json(resume, loaded.notes)
        training = Training(loaded.model, loaded.base, notes.counts)
        if columns is not None:
            raise ConflictError("--schema has no effect with --resume: columns come with the model.")
        schema = {"like": training.model} | _check_with_resume(context, training.model, given_schema)
    else:
        schema = given_schema if columns is None else columns.merged(given_schema)
        positive = schema["positive"]
        chosen = chosen_options(context) | ({"positive"} if positive is not None else set())
        schema |= find_dates(files, reading, schema)
        schema["task"] = find_task(task, files, reading | schema, chosen)
        with without_notice():
            if schema["task"] == "number":
                model, base = choose_regressor(chosen, memory, seed, lag, target.value)
            else:
                if "target" in chosen:
                    raise ConflictError("--target is for numbers: leave it out, or take --task number.")
                model, base = choose(given, chosen, effort, memory, adaptive, seed, lag, class_weight, positive)
                base = bounded(base, max_classes) if base is not None else None
        training = Training(model, base if baseline else None, delay=delay, delay_column=delay_column)
        notes = Notes()
    if rule is not None and training.threshold is not None:
        training.threshold.rule = rule
    bounded(training.model, max_classes).n_jobs = jobs if jobs is not None else -1
    with training.model.running_on(engine.value, jobs, address):
        job.run(training, files, reading, schema, notes, again)
    result = job.summary(training)
    if "number" not in result and len(result["labels"]) < 2:
        known = ", ".join(map(str, result["labels"]))
        wrong = f": no example has the label {positive!r} of --positive" if positive is not None else ""
        announce(f"onlineboost: all examples have the label {known}: expected two labels{wrong}")
        result["verdict"] = ""
    if rule is not None and training.threshold is None:
        announce("onlineboost: --threshold is for two labels: it has no effect on this model")
    for label in unknown_labels(training.model):
        announce(f"onlineboost: no example has the label {label!r} of --class-weight")
    for name in training.model.columns_not_met():
        announce(f"onlineboost: the files have no column {name!r}: nothing was crossed with it")
    if holdout and not job.interrupted:
        result["holdout"], _ = measure(training.model, training.base, holdout, reading, quiet, training.cutoff)
    if plot is not None:
        title = f"{result['algorithm']} on {', '.join(Path(f).name for f in files[:3])}"
        curves = training.curve.line(), training.base_curve.line()
        draw(picture(printable(title), training.model, curves), plot)
        result["plot"] = str(plot)
    if job.look_alikes is not None:
        job.look_alikes.say(training.model._fitted.columns)  # type: ignore[union-attr]
    if columns is not None:
        columns.say_differences({name: Kind(**facts) for name, facts in result["columns"].items()})
    if json_output:
        print_json(result)
    else:
        print_summary(result)
    if job.interrupted:
        raise typer.Exit(130)


def chosen_options(context: typer.Context) -> set[str]:
    """The options given on the command line, by parameter."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


_SAVED_IN_MODEL = {
    *("label", "weight", "task", "target", "drop", "categorical", "text", "day_first", "month_first", "positive"),
    *("algorithm", "learner"),
    *("adaptive", "effort", "memory", "lag", "class_weight", "seed", "baseline"),
}


def _check_with_resume(context: typer.Context, model: Any, given_schema: dict[str, Any]) -> dict[str, Any]:
    """Raise an error for options whose values come with the model, unless they are the same as in training.

    Returns the options for columns that a model does not have: one trained in Python, which has learnt no stream.
    """
    new = given_schema if model._fitted.columns.schema is None else {}
    fixed = _SAVED_IN_MODEL | registered_options().keys()
    saved = _settings_of(model)
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in (fixed & chosen_options(context)) - new.keys():
            continue
        given = context.params[name]
        if name in saved and _words(given) != _words(saved[name]):
            before = " ".join(sorted(_words(saved[name]))) or "none"
            flag = parameter.opts[0]
            raise ConflictError(f"{flag} comes with the model of --resume, which has {before}: leave it out.")
        if name not in saved:
            raise ConflictError(f"{parameter.opts[0]} has no effect with --resume: settings come with the model.")
    return new


def _settings_of(model: Any) -> dict[str, Any]:
    """Options by which a model was trained, as they are typed."""
    schema = model._fitted.columns.schema
    task = (
        "number" if isinstance(model._fitted.target, Numbers) else "binary" if schema and schema.binary else "classes"
    )
    settings = {"lag": model.lag, "task": task} | ({"target": model.target} if hasattr(model, "target") else {})
    if schema is not None:
        settings |= {
            name: getattr(schema, name)
            for name in ("weight", "drop", "categorical", "text", "day_first", "month_first", "positive")
        }
        settings["label"] = schema.no_features[0]
    return settings


def _words(value: Any) -> set[str]:
    """One or several values of an option, to be compared."""
    several = value if isinstance(value, list | tuple) else () if value is None else (value,)
    return {str(one) for one in several}
