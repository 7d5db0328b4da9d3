"""``onlineboost evaluate``: metrics of a model on files with labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.cli import options as o
from onlineboost.cli.answers import bounds_of
from onlineboost.cli.columns import check_features, features_of
from onlineboost.cli.notes import load
from onlineboost.cli.terminal import Progress, announce, print_json, printable, say, say_facts, say_skipped
from onlineboost.cli.thresholds import CostOption, ThresholdOption, costs_of, cutoff_of, rule_of
from onlineboost.cli.warm import compile_first
from onlineboost.data.batch import Floats
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.data.scores import as_columns
from onlineboost.errors import ConflictError, DataError
from onlineboost.evaluate.measurement import Measurement, metrics_of
from onlineboost.evaluate.metrics import Confusion, Curve
from onlineboost.evaluate.metrics.confusion import cost
from onlineboost.evaluate.plots import check_plot, draw, picture
from onlineboost.evaluate.threshold import Cutoff
from onlineboost.model import OnlineModel
from onlineboost.readers import open_stream
from onlineboost.readers.files import expand
from onlineboost.registry import METRICS

_MANY_CLASSES = 30  # printed, at most


def evaluate(
    model: o.Model,
    files: o.Files,
    label: o.Label = None,
    weight: o.Weight = None,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    columns: o.Columns = o.OtherColumns.STRICT,
    threshold: ThresholdOption = None,
    cost: CostOption = None,
    plot: o.Plot = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Evaluate a model on labeled examples.

    The model does not change.

    Examples:

      onlineboost evaluate clicks.model tomorrow.parquet

      onlineboost evaluate clicks.model 'test-*.csv' --json --plot test.html

      onlineboost evaluate fraud.model june.csv --threshold cost --cost fn=10,fp=1
    """
    if plot is not None:
        check_plot(plot)
    rule = rule_of(threshold, cost)
    loaded = load(model)
    cutoff = cutoff_of(model, loaded, rule)
    options = o.stream_options(given, on_error) | {"label": label, "weight": weight, "columns": columns.value}
    expand(files)
    compile_first([loaded.model, loaded.base], quiet or json_output)
    result, curves = measure(loaded.model, loaded.base, files, options, quiet or json_output, cutoff)
    if cost is not None:
        result["cost"] = _cost(result, loaded.fitted.target, *costs_of(cost))
    if plot is not None:
        title = f"{type(loaded.model).__name__} on {', '.join(Path(f).name for f in files[:3])}"
        made = picture(printable(title), loaded.model, curves, result["reliability"])
        many = len(result.get("confusion", ())) > 2
        draw(made._replace(confusion=(_labels(result), result["confusion"])) if many else made, plot)
        result["plot"] = str(plot)
    print_json(result) if json_output else _print(result)


def measure(
    model: OnlineModel,
    base: OnlineModel | None,
    files: list[str],
    options: dict[str, Any],
    quiet: bool,
    cutoff: Cutoff | None = None,
) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """Metrics of a model on files with labels, and the error curves of model and base learner."""
    fitted = model._fitted
    assert fitted is not None
    if isinstance(fitted.target, Numbers):
        return _measure_numbers(model, files, options, quiet)
    measured, alone = Measurement(), Measurement([METRICS.find("error"), METRICS.find("log-loss")])
    confusion, labels = measured["macro-f1"], fitted.target.known
    curve, base_curve = measured["error"].curve, alone["error"].curve

    def update(page: Page, scores: Floats) -> None:
        nonlocal labels
        y, weight, labels = page.batch.y, page.batch.weight, page.target.known
        answers = cutoff.signs(fitted, scores) if cutoff is not None else None
        measured.update(scores, y, weight, fitted.probabilities(scores), answers=answers)
        if base is not None and base._fitted is not None:
            scores = as_columns(base.scores(page))
            # From the same probability on: the score of a threshold is that of the model only.
            answers = (
                Cutoff(cutoff.probability(fitted), True).signs(base._fitted, scores) if cutoff is not None else None
            )
            alone.update(scores, y, weight, base._fitted.probabilities(scores), answers=answers)

    skipped = _score(model, files, options, quiet, curve, update)
    new = [printable(label) for label in labels if label not in fitted.target.known]
    if new:
        some = ", ".join(new[:5]) + (", ..." if len(new) > 5 else "")
        announce(f"onlineboost: label {some} is unknown to the model: such examples count as errors")
    figures = {
        "examples": curve.examples,
        **{name.replace("-", "_"): value for name, value in measured.values(fitted.target.turned).items()},
        "base_error": base_curve.error if base is not None else None,
        "base_log_loss": alone.values()["log-loss"] if base is not None else None,
        "reliability": measured["calibration-error"].line(),
        "labels": labels,
        "confusion": confusion.table.tolist(),
        "recall_of_labels": confusion.recall.tolist(),
        "precision_of_labels": confusion.precision.tolist(),
        "positive": fitted.target.classes.tolist()[-1] if fitted.target.width == 1 else None,
        "threshold": cutoff.probability(fitted) if cutoff is not None else None,
        "skipped": skipped,
    }
    return figures, (curve.line(), base_curve.line())


def _measure_numbers(
    model: OnlineModel, files: list[str], options: dict[str, Any], quiet: bool
) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """``measure`` for regression."""
    measured, curve = Measurement(metrics_of("number")), Curve()

    def update(page: Page, scores: Floats) -> None:
        y, weight, bounds = page.batch.y, page.batch.weight, bounds_of(model, scores)
        intervals = np.stack(bounds, axis=1) if bounds else None
        measured.update(page.target.decode(scores), y, weight, intervals=intervals)
        curve.update(page.target.losses(scores, y), weight)

    skipped = _score(model, files, options, quiet, curve, update)
    figures = {
        "examples": curve.examples,
        "error": curve.error,
        **measured.values(),
        "base_error": None,
        "reliability": None,
        "skipped": skipped,
    }
    return figures, (curve.line(), [])


def _score(
    model: OnlineModel,
    files: list[str],
    options: dict[str, Any],
    quiet: bool,
    curve: Curve,
    update: Callable[[Page, Floats], None],
) -> int:
    """Pass each page and its scores to ``update``; returns the number of skipped records."""
    with open_stream(files, like=model, **options) as stream, Progress("testing", stream.size, quiet) as progress:
        for page in stream:
            if not curve.examples:
                check_features(model, features_of(page.batch), page.n_rows)
            update(page, as_columns(model.scores(page)))
            progress.update(stream, page.n_rows, f", error {curve.error:.4g}")
    say_skipped(stream)
    if not curve.examples:
        raise DataError(f"{', '.join(files)}: no examples to test on")
    return int(stream.skipped)


def _print(result: dict[str, Any]) -> None:
    if "r2" in result:
        _print_numbers(result)
        return
    lines = [("examples", f"{result['examples']:,}"), ("error", _format(result["error"]))]
    if result["base_error"] is not None:
        loss = "" if result["base_log_loss"] is None else f" (log loss {result['base_log_loss']:.4f})"
        lines.append(("base learner alone", f"{result['base_error']:.4f}{loss}"))
    for metric in metrics_of("classes"):
        figure = result[metric.name.replace("-", "_")]
        defined = metric.name != "top-3" or figure is not None  # of more than three classes
        shown = len(result["confusion"]) == 2 if metric.of_positive else metric.name != "error" and defined
        if shown:
            of = f" (of {printable(result['positive'])})" if metric.of_positive else ""
            lines.append((metric.title, _format(figure) + of))
    if result["threshold"] is not None:
        lines.insert(1, ("threshold", f"{result['threshold']:.4f} of the probability of {result['positive']}"))
    if "cost" in result:
        lines.append(("cost per example", _format(result["cost"])))
    if "plot" in result:
        lines.append(("plot", result["plot"]))
    say_facts(lines)
    labels = _labels(result)
    say()
    if len(labels) > 2:
        _print_classes(labels, result)
        return
    width = max(12, *(len(label) + 2 for label in labels))
    say(f"{'label / predicted':<20}" + "".join(f"{label:>{width}}" for label in labels))
    for label, row in zip(labels, result["confusion"], strict=True):
        say(f"{label:<20}" + "".join(f"{count:>{width},.10g}" for count in row))


def _cost(result: dict[str, Any], target: Any, fn: float, fp: float) -> float:
    if len(result.get("confusion", ())) != 2:
        raise ConflictError("--cost is for binary classification: leave it out for this model.")
    confusion = Confusion(np.array(result["confusion"]))
    return cost(confusion.turned() if target.turned else confusion, fn, fp)


def _labels(result: dict[str, Any]) -> list[str]:
    """The names of the rows of the confusion table."""
    return [*map(printable, result["labels"]), "-", "-"][: len(result["confusion"])]


def _print_numbers(result: dict[str, Any]) -> None:
    lines = [("examples", f"{result['examples']:,}"), ("R2", _format(result["r2"]))]
    lines += [("mean absolute error", f"{result['mae']:.5g}"), ("root mean square", f"{result['rmse']:.5g}")]
    if result["coverage"] is not None:
        lines.append(("within 90 % interval", f"{100 * result['coverage']:.1f} %"))
        lines.append(("its pinball loss", f"{result['pinball']:.5g}"))
    if "plot" in result:
        lines.append(("plot", result["plot"]))
    say_facts(lines, 21)


def _print_classes(labels: list[str], result: dict[str, Any]) -> None:
    """Recall and precision of each class, the most frequent first, and its most frequent confusion."""
    table = result["confusion"]
    order = sorted(range(len(labels)), key=lambda k: -sum(table[k]))
    width = max(8, *(len(label) + 2 for label in labels))
    say(f"{'label':<{width}}{'examples':>10}{'recall':>9}{'precision':>11}  most often confused with")
    for k in order[:_MANY_CLASSES]:
        wrong = {j: count for j, count in enumerate(table[k]) if j != k and count > 0}
        worst = max(wrong, key=wrong.__getitem__) if wrong else None
        taken = "-" if worst is None else f"{labels[worst]} ({wrong[worst]:,.10g})"
        figures = (
            f"{sum(table[k]):>10,.10g}{result['recall_of_labels'][k]:>9.4f}{result['precision_of_labels'][k]:>11.4f}"
        )
        say(f"{labels[k]:<{width}}{figures}  {taken}")
    if len(order) > _MANY_CLASSES:
        say(f"... and {len(order) - _MANY_CLASSES:,} more (--json has all)")


def _format(figure: float | None) -> str:
    return "not defined for these examples" if figure is None else f"{figure:.4f}"
