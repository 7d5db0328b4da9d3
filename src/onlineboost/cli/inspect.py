"""``onlineboost inspect``: the contents of a model file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from onlineboost.cli import options as o
from onlineboost.cli.notes import Notes, load
from onlineboost.cli.schema_file import write_schema
from onlineboost.cli.summary import columns_lines
from onlineboost.cli.terminal import format_labels, print_json, say, say_facts
from onlineboost.data.kinds import kinds
from onlineboost.ensembles.ensemble import STRENGTH, Ensemble
from onlineboost.ensembles.regressor import OnlineBoostRegressor
from onlineboost.errors import ConflictError, ModelFileError
from onlineboost.parameters import brief
from onlineboost.storage.pictures import check_picture, draw_bars


def inspect(
    model: o.Model,
    top: Annotated[int, o.plain("Show the N strongest features.", min=0)] = 20,
    plot: Annotated[
        Path | None, o.plain("Plot the strongest features to a file (.png, .svg or .pdf).", metavar="FILE")
    ] = None,
    schema: Annotated[
        Path | None,
        o.plain("Write column roles as JSON, for train --schema; - prints them.", metavar="FILE"),
    ] = None,
    json_output: o.Json = False,
) -> None:
    """Show settings, strongest features and ensemble members.

    Examples:

      onlineboost inspect clicks.model

      onlineboost inspect clicks.model --plot clicks.svg

      onlineboost inspect clicks.model --json --top 100

      onlineboost inspect clicks.model --schema clicks.schema.json
    """
    if schema is not None:
        if plot is not None or json_output:
            other = "--plot" if plot is not None else "--json"
            raise ConflictError(f"--schema cannot be combined with {other}: leave out one.")
        loaded = load(model)
        columns = loaded.fitted.columns
        write_schema(schema, columns, kinds(columns, loaded.model.n_seen_), model)
        return
    target = check_picture(plot, "--plot") if plot is not None else None
    facts = describe(model, top)
    if target is not None:
        names = [one["feature"] for one in facts["strongest"]]
        values = [one["strength"] for one in facts["strongest"]]
        title = f"{facts['algorithm']}, {facts['examples']:,} examples"
        draw_bars(target, title, facts["strength"], names, values)
    print_json(facts) if json_output else _print(facts)


def describe(path: Path, top: int) -> dict[str, Any]:
    loaded = load(path)
    model, columns = loaded.model, loaded.fitted.columns
    strongest = loaded.fitted.root.strengths(columns.names)
    facts: dict[str, Any] = {
        "algorithm": type(model).__name__,
        "settings": {name: _plain(value) for name, value in model.get_params(deep=False).items() if name != "n_jobs"},
        "examples": model.n_seen_,
        "labels": loaded.fitted.target.classes.tolist(),
        "features": model.n_features_in_,
        "edges": model.edges_.tolist(),
        "strongest": [dict(zip(("feature", "number", "strength"), one, strict=True)) for one in strongest[:top]],
        "strength": STRENGTH if isinstance(model, Ensemble) else getattr(model._base_learner(), "strength", ""),
    }
    if loaded.fitted.cutoff is not None:
        facts["threshold"] = loaded.fitted.cutoff.probability(loaded.fitted)
    if isinstance(model, Ensemble):
        facts["members"] = _members(model)
    if isinstance(model, OnlineBoostRegressor):
        facts["members"] = [
            {"name": name, "weight": weight}
            for name, weight in zip(model._part_names(), model.weights_.tolist(), strict=True)
        ]
    if kept := loaded.fitted.root.n_kept:
        facts["rows_kept"] = kept
    if columns.schema:
        given = columns.schema._asdict().items()
        facts["reading"] = {name: value for name, value in given if value is not False and value not in (None, ())}
    facts["columns"] = {name: kind._asdict() for name, kind in kinds(columns, model.n_seen_).items()}
    if hasattr(model, "alarms_"):  # ensembles, and models with drift detection
        facts["alarms"] = [alarm._asdict() for alarm in model.alarms_]
    with suppress(ModelFileError):  # notes of another program
        notes = Notes.from_json(path, loaded.notes)
        if notes.counts.curve.weight:
            facts["progressive_error"] = notes.counts.curve.error
        rule = notes.counts.threshold.rule if notes.counts.threshold is not None else None
        if "threshold" in facts and rule is not None and rule.by is not None:
            facts["threshold_rule"] = str(rule)
        if notes.unfinished:
            facts["unfinished"] = notes.unfinished.as_json()
    return facts


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _members(model: Ensemble) -> list[dict[str, Any]]:
    """Weights and gains of the members of an ensemble, from its report."""
    report = Ensemble.report(model)  # the report of ``Adaptive`` is that of its booster
    names = [brief(part) for part in model._parts()]
    active = len(names) - model.n_paused_
    found = [{"name": name, "paused": k >= active} for k, name in enumerate(names)]
    for column, (values, _) in report.columns.items():
        for member, value in zip(found, values.tolist(), strict=True):
            member[column.replace(" ", "_")] = value
    return found


def _print(facts: dict[str, Any]) -> None:
    say(f"{facts['algorithm']}, {facts['examples']:,} examples learned")
    if facts["strongest"]:
        say()
        say(f"strongest features: {facts['strength']}")
        for feature in facts["strongest"]:
            say(f"{feature['strength']:>+12.4f}  {feature['feature']}")
        say()
    lines = [("settings", ", ".join(f"{name}={value}" for name, value in facts["settings"].items()))]
    lines.append(("labels", format_labels(facts["labels"]) or "numbers"))
    if "threshold" in facts:
        by = f" (by {facts['threshold_rule']})" if "threshold_rule" in facts else ""
        lines.append(("threshold", f"{facts['threshold']:.4f} of the probability of {facts['labels'][-1]}{by}"))
    if "reading" in facts:
        lines.append(("reading", ", ".join(f"{name}={value}" for name, value in facts["reading"].items())))
    lines.append(("features", f"{facts['features']:,}"))
    lines += columns_lines(facts["columns"])
    if "rows_kept" in facts:
        lines.append(("rows", f"the last {facts['rows_kept']:,} are kept, binned (train --no-memory keeps none)"))
    if facts.get("alarms"):
        lines.append(
            ("alarms", f"{len(facts['alarms']):,}, the last after {facts['alarms'][-1]['example']:,} examples")
        )
    if "progressive_error" in facts:
        lines.append(("progressive error", f"{facts['progressive_error']:.4f}"))
    if "unfinished" in facts:
        place = facts["unfinished"]
        where = f"after row {place['rows']:,} of {place['input']['name']}" if place["input"] else "between two files"
        left = ", ".join(dict.fromkeys(one["name"] for one in place["left"]))
        lines.append(("stopped", where + (f"; left: {left}" if left else "")))
    say_facts(lines)
    if facts["labels"]:
        say()
    if "members" in facts:
        _print_members(facts["members"])
    elif facts["labels"]:
        say("edge of each weak learner, on weighted examples (0: guessing, 1: always right)")
        for i, edge in enumerate(facts["edges"], 1):
            say(f"{i:>6} {edge:>8.4f} {'#' * round(40 * max(edge, 0))}")


def _print_members(members: list[dict[str, Any]]) -> None:
    if "gain" not in members[0]:
        say("ensemble members (weight: in the stack)")
        for member in members:
            say(f"{member['weight']:>+8.3f}  {member['name']}")
        return
    say("ensemble members (gain: recent mean shift of the log odds towards the right label)")
    say(f"{'error alone':>12} {'weight':>8} {'gain':>8}  member")
    for member in members:
        name = f"{member['name']} (paused)" if member["paused"] else member["name"]
        say(f"{member['error_alone']:>12.4f} {member['weight']:>+8.3f} {member['gain']:>+8.3f}  {name}")
