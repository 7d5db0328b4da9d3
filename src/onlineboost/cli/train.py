"""``onlineboost train``: train a model on files in one pass, and report its progressive error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.cli.choice import (
    TASKS,
    EffortName,
    TargetName,
    TaskName,
    bounded,
    choose,
    choose_regressor,
    find_task,
    unknown_labels,
)
from onlineboost.cli.config import ConfigOption, SaveConfigOption, save, source_of
from onlineboost.cli.dates import find_dates
from onlineboost.cli.evaluate import measure
from onlineboost.cli.job import Job
from onlineboost.cli.notes import Notes, load
from onlineboost.cli.registered import registered_options
from onlineboost.cli.schema_file import SchemaFile
from onlineboost.cli.summary import print_summary
from onlineboost.cli.terminal import announce, print_json, printable
from onlineboost.cli.thresholds import CostOption, TrainingThreshold, rule_of
from onlineboost.compiled.jit import without_notice
from onlineboost.data.columns import MAX_LAG
from onlineboost.data.kinds import Kind
from onlineboost.data.regression import Numbers
from onlineboost.errors import ConflictError
from onlineboost.evaluate.plots import draw, picture
from onlineboost.evaluate.training import Training
from onlineboost.readers.files import expand


def train(
    context: typer.Context,
    files: o.FilesOrConfig = None,
    output: Annotated[Path | None, o.output("Model file to write.", "--output", "-o", metavar="MODEL")] = None,
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
        TaskName, o.labels("Task: binary classification, classes (two or more), or number (regression).", metavar=TASKS)
    ] = TaskName.AUTO,
    target: Annotated[
        TargetName,
        o.labels(
            "Regression target: its logarithm (log, for prices), unchanged (identity), or both (auto).",
            metavar="auto|log|identity",
        ),
    ] = TargetName.AUTO,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    effort: Annotated[
        EffortName, o.model("Effort of OnlineBoost: low is fastest, high is most accurate.", metavar="low|normal|high")
    ] = EffortName.NORMAL,
    memory: Annotated[
        bool,
        o.model(
            "Keep recent rows, binned, in the model and its file, to train on them again (OnlineBoost only).",
            "--memory/--no-memory",
        ),
    ] = True,
    adaptive: Annotated[
        bool,
        o.model("Reset the model on concept drift; OnlineBoost does so without this option.", "--adaptive"),
    ] = False,
    lag: Annotated[
        int,
        o.labels("Use the last N labels as features, for streams in time order.", min=0, max=MAX_LAG),
    ] = 0,
    class_weight: Annotated[
        list[str] | None,
        o.labels("Weight classes: balanced, or LABEL=WEIGHT, such as yes=10 (repeatable).", metavar="WEIGHTS"),
    ] = None,
    max_classes: o.MaxClasses = None,
    threshold: TrainingThreshold = None,
    cost: CostOption = None,
    seed: Annotated[int, o.model("Random seed.", min=0)] = 0,
    passes: Annotated[int, o.training("Read the files N times.", min=1)] = 1,
    holdout: Annotated[
        list[str] | None, o.training("Evaluate the trained model on this file (repeatable).", metavar="FILE")
    ] = None,
    resume: Annotated[
        Path | None,
        o.training("Continue training this model file, and save to it unless -o is given.", metavar="MODEL"),
    ] = None,
    again: Annotated[
        bool, o.training("With --resume: learn all rows again, also those of files already learned.", "--again")
    ] = False,
    jobs: o.Jobs = None,
    engine: o.Engine = o.EngineName.THREADS,
    address: o.Address = None,
    delay: Annotated[
        float | None,
        o.labels("Simulate delayed labels: X examples later, or X units of --delay-column.", metavar="X", min=0),
    ] = None,
    delay_column: Annotated[str | None, o.labels("Timestamp column for --delay.", metavar="COLUMN")] = None,
    checkpoint_every: Annotated[int | None, o.training("Save the model every N examples.", min=1)] = None,
    baseline: Annotated[
        bool, o.training("Compare with the base learner alone, trained on the same rows.", "--baseline/--no-baseline")
    ] = True,
    predictions: Annotated[
        Path | None,
        o.output(
            "Write each prediction made before learning to a file (.csv, .jsonl or .parquet).",
            "--predictions",
            "-p",
            metavar="FILE",
        ),
    ] = None,
    plot: o.Plot = None,
    config: ConfigOption = None,
    save_config: SaveConfigOption = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Train a model on files, in one pass.

    Prints the progressive error: each example is predicted before it is learned.

    Examples:

      onlineboost train clicks.parquet --label clicked -o clicks.model

      onlineboost train 'day-*.csv.gz' --label bought --effort high -o bought.model

      onlineboost train tomorrow.parquet --resume clicks.model

      onlineboost train fraud.csv -l fraud --class-weight balanced --threshold f1

      onlineboost train rentals.csv --label count --task number --lag 3

      onlineboost train clicks.parquet --label clicked -a bbm --learner tree -n 61

      zcat huge.vw.gz | onlineboost train - -f vw -o model --checkpoint-every 100000

      onlineboost train --config train.toml
    """
    files = files or (context.default_map or {}).get("files", [])
    if not files:
        context.fail("Missing argument 'FILES...'.")
    quiet = quiet or json_output
    reading = o.stream_options(given, on_error)
    job = Job(output, resume, passes, checkpoint_every, quiet, predictions)
    job.check(plot, files, holdout or [])
    rule = rule_of(threshold, cost)
    if cost is not None and threshold != "cost":
        raise ConflictError("--cost needs --threshold cost: without it, costs have no effect on training.")
    if address is not None and engine is o.EngineName.THREADS:
        raise ConflictError("--address names a Ray cluster: it needs --engine ray.")
    if delay is not None and engine is not o.EngineName.THREADS:
        raise ConflictError("--delay simulates delayed labels one example at a time: leave out --engine ray.")
    if delay_column is not None and delay is None:
        raise ConflictError("--delay-column needs --delay, in the unit of the column.")
    if delay is not None and (resume is not None or checkpoint_every is not None):
        other = "--resume" if resume is not None else "--checkpoint-every"
        raise ConflictError(f"--delay simulates delayed labels on whole files: leave out {other}.")
    if again and resume is None:
        raise ConflictError("--again needs --resume MODEL: it trains that model again on files already learned.")
    given_schema = o.schema_options(label, weight, drop, categorical, text, day_first, month_first, positive)
    columns = SchemaFile.read(schema_file) if schema_file is not None else None
    if resume is not None:
        loaded = load(resume)
        notes = Notes.from_json(resume, loaded.notes)
        training = Training(loaded.model, loaded.base, notes.counts)
        if columns is not None:
            raise ConflictError("--schema has no effect with --resume: the model has its own columns.")
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
                    raise ConflictError("--target is for regression: leave it out, or use --task number.")
                model, base = choose(given, chosen, effort, memory, adaptive, seed, lag, class_weight, positive)
                base = bounded(base, max_classes) if base is not None else None
        training = Training(model, base if baseline else None, delay=delay, delay_column=delay_column)
        notes = Notes()
    if rule is not None and training.threshold is not None:
        training.threshold.rule = rule
    if save_config is not None:
        save(save_config, context, files, [*expand(files), *map(str, filter(None, [job.output]))])
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
        announce("onlineboost: --threshold is for binary classification: it has no effect on this model")
    for label in unknown_labels(training.model):
        announce(f"onlineboost: no example has the label {label!r} of --class-weight")
    for name in training.model.columns_not_met():
        announce(f"onlineboost: the files have no column {name!r}: --cross had no effect")
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
    """The options given on the command line or in a configuration file, by parameter."""
    return {name for name in context.params if source_of(context, name)}


_SAVED_IN_MODEL = {
    *("label", "weight", "task", "target", "drop", "categorical", "text", "day_first", "month_first", "positive"),
    *("algorithm", "learner"),
    *("adaptive", "effort", "memory", "lag", "class_weight", "seed", "baseline"),
}


def _check_with_resume(context: typer.Context, model: Any, given_schema: dict[str, Any]) -> dict[str, Any]:
    """Raise an error for options that the model fixes, unless they are the same as in training.

    Returns the options for columns that a model does not have: one trained in Python, which has learned no stream.
    """
    new = given_schema if model._fitted.columns.schema is None else {}
    fixed = _SAVED_IN_MODEL | registered_options().keys()
    saved, ignored = _settings_of(model), []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in (fixed & chosen_options(context)) - new.keys():
            continue
        given = context.params[name]
        if name in saved and _words(given) != _words(saved[name]):
            before = " ".join(sorted(_words(saved[name]))) or "none"
            flag = parameter.opts[0]
            raise ConflictError(f"{flag} is fixed by the model of --resume, which has {before}: leave it out.")
        if name not in saved and source_of(context, name) == "command line":
            raise ConflictError(f"{parameter.opts[0]} has no effect with --resume: the model has its own settings.")
        if name not in saved:
            ignored.append(parameter.opts[0].lstrip("-"))
    if ignored:
        keys = ", ".join(ignored)
        announce(
            f"onlineboost: {context.params['config']}: ignored: {keys}: the model of --resume has its own settings"
        )
    return new


def _settings_of(model: Any) -> dict[str, Any]:
    """Training options of a model, as typed."""
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
