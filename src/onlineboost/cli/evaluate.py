"""``onlineboost evaluate``: how good a model is on files that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onlineboost.cli import options as o

if TYPE_CHECKING:
    from onlineboost.model import OnlineClassifier


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model that was trained before.")],
    files: o.Files,
    format: o.FormatOption = None,
    label: o.Label = None,
    weight: o.Weight = None,
    header: o.Header = None,
    separator: o.Separator = None,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    plot: o.Plot = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Test a model on examples with labels. Nothing is learnt.

    Examples:

      onlineboost evaluate clicks.model tomorrow.parquet

      onlineboost evaluate model 'test-*.csv' --json --plot test.html
    """
    from onlineboost.cli.load import load
    from onlineboost.cli.show import print_json
    from onlineboost.evaluate.plots import Picture, check_plot, draw

    if plot is not None:
        check_plot(plot)
    loaded = load(model)
    options = o.stream_options(format, header, separator, on_error) | {"label": label, "weight": weight}
    result, curves = measure(loaded.model, loaded.base, files, options, quiet or json_output)
    if plot is not None:
        title = f"{type(loaded.model).__name__} on {', '.join(Path(f).name for f in files[:3])}"
        draw(Picture(title, *curves, loaded.model.edges_, result["reliability"]), plot)
        result["plot"] = str(plot)
    print_json(result) if json_output else _print(result)


def measure(
    model: OnlineClassifier, base: OnlineClassifier | None, files: list[str], options: dict[str, Any], quiet: bool
) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """All figures of a model on files with labels, and the error curves of model and base learner."""
    from onlineboost.cli.load import check_known
    from onlineboost.cli.show import Progress, say_skipped
    from onlineboost.errors import DataError
    from onlineboost.evaluate.metrics import Calibration, Confusion, Curve, Ranking
    from onlineboost.readers import open_stream

    curve, base_curve, confusion, ranking, calibration = Curve(), Curve(), Confusion(), Ranking(), Calibration()
    with open_stream(files, like=model, **options) as stream, Progress("testing", stream.size, quiet) as progress:
        for page in stream:
            batch = page.batch
            if not curve.examples:
                check_known(model, batch)
            scores = model.decision_function(page)
            curve.update(page.target.mistakes(scores, batch.y), batch.weight)
            confusion.update(scores, batch.y, batch.weight)
            ranking.update(scores, batch.y, batch.weight)
            calibration.update(model.probabilities(scores), batch.y, batch.weight)
            if base is not None:
                base_curve.update(page.target.mistakes(base.decision_function(page), batch.y), batch.weight)
            progress.update(stream, batch.y.size, f", error {curve.error:.4f}")
    say_skipped(stream)
    if not curve.examples:
        raise DataError(f"{', '.join(files)}: no examples, there is nothing to test on")
    figures = {
        "examples": curve.examples,
        "error": curve.error,
        "base_error": base_curve.error if base is not None else None,
        "auc": ranking.auc,
        "log_loss": calibration.log_loss if calibration.weight else None,
        "brier": calibration.brier if calibration.weight else None,
        "calibration_error": calibration.error if calibration.weight else None,
        "reliability": calibration.line(),
        "labels": model.classes_.tolist(),
        "confusion": confusion.table.tolist(),
        "skipped": stream.skipped,
    }
    return figures, (curve.line(), base_curve.line())


def _print(result: dict[str, Any]) -> None:
    lines = [("examples", f"{result['examples']:,}"), ("error", f"{result['error']:.4f}")]
    if result["base_error"] is not None:
        lines.append(("base learner alone", f"{result['base_error']:.4f}"))
    if result["log_loss"] is not None:
        lines.append(("log loss", f"{result['log_loss']:.4f}"))
        lines.append(("Brier score", f"{result['brier']:.4f}"))
        lines.append(("calibration error", f"{result['calibration_error']:.4f}"))
    lines.append(("AUC", "needs both labels" if result["auc"] is None else f"{result['auc']:.4f}"))
    if "plot" in result:
        lines.append(("plot", result["plot"]))
    for name, value in lines:
        print(f"{name + ':':<20} {value}")
    labels = [*map(str, result["labels"]), "-", "-"][:2]
    width = max(12, *(len(label) + 2 for label in labels))
    print(f"\n{'label / answer':<20}" + "".join(f"{label:>{width}}" for label in labels))
    for label, row in zip(labels, result["confusion"], strict=True):
        print(f"{label:<20}" + "".join(f"{count:>{width},.10g}" for count in row))
