"""Plots of a training or an evaluation: error curves and the learners' edges, as PNG, SVG or a web page."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.ensembles.ensemble import Ensemble
from onlineboost.errors import MissingPackageError, ParameterError
from onlineboost.model import OnlineModel
from onlineboost.regressor import OnlineRegressor
from onlineboost.storage.atomic import replacing, write_text

KINDS = (".png", ".svg", ".html")
_BLUE, _GRAY = "#2166ac", "#888888"
_NAMED_CLASSES, _LONG = 30, 12  # classes whose labels are written in a picture, and characters of each


class Picture(NamedTuple):
    """Data of a plot."""

    title: str
    curve: list[tuple[int, float]]  # examples, error of the model so far
    base_curve: list[tuple[int, float]]
    edges: Floats  # or weights of parts; none: no bars
    reliability: list[tuple[float, float, float]] = []  # noqa: RUF012 (mean probability, share of positives, weight)
    bar: str = "weak learner"  # name of a bar
    name: str = "boosted"  # of the model, in the legend
    confusion: tuple[list[str], list[list[float]]] | None = None  # labels; weight by label and prediction
    height: str = "edge over guessing, by its weights"  # of a bar
    error: str = "error so far"


def picture(
    title: str,
    model: OnlineModel,
    curves: tuple[list[tuple[int, float]], list[tuple[int, float]]],
    reliability: list[tuple[float, float, float]] | None = None,
) -> Picture:
    """The data of a plot of this model; ``curves`` are those of the model and of its base learner."""
    if isinstance(model, OnlineRegressor):
        weights, name = getattr(model, "weights_", np.empty(0)), type(model).__name__
        error = "mean absolute error so far"
        return Picture(title, *curves, weights, [], "member", name, height="weight in the stack", error=error)
    bar = "member" if isinstance(model, Ensemble) else "weak learner"
    return Picture(title, *curves, model.edges_, reliability or [], bar, type(model).__name__)


def check_plot(path: Path) -> None:
    """Raise an error if the plot could not be written, before the work begins."""
    if path.suffix.lower() not in KINDS:
        raise ParameterError("--plot", str(path), f"a file that ends in {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise ParameterError("--plot", str(path), f"an existing folder: {path.parent} does not exist")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackageError("a plot", "Matplotlib", "matplotlib") from None


def draw(picture: Picture, path: Path) -> None:
    """Write the plot in the format that the file's name ends in."""
    figure = _figure(picture)
    kind = path.suffix.lower()
    if kind != ".html":
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=150, format=kind[1:])
        return
    memory = io.StringIO()
    figure.savefig(memory, format="svg")
    svg = memory.getvalue()
    write_text(path, _PAGE.format(title=html.escape(picture.title), svg=svg[svg.index("<svg") :]))


def _figure(picture: Picture) -> Any:
    from matplotlib.figure import Figure

    panels = 1 + (len(picture.edges) > 0) + bool(picture.reliability) + (picture.confusion is not None)
    figure = Figure(figsize=(5 * panels, 4.2), layout="constrained")
    left, *others = figure.subplots(1, panels, squeeze=False)[0]
    figure.suptitle(picture.title, parse_math=False)  # a dollar in a file's name is no formula
    for curve, name, color in (
        (picture.curve, picture.name, _BLUE),
        (picture.base_curve, "base learner alone", _GRAY),
    ):
        if curve:
            examples, errors = zip(*curve, strict=True)
            left.plot(examples, errors, color=color, label=f"{name}: {errors[-1]:.4f}")
    left.set(xlabel="examples", ylabel=picture.error, xscale="log")
    _zoom(left, [*picture.curve, *picture.base_curve])
    if left.get_legend_handles_labels()[0]:
        left.legend(frameon=False)
    if len(picture.edges):
        others[0].bar(range(1, len(picture.edges) + 1), picture.edges, color=_BLUE)
        others[0].axhline(0, color="black", linewidth=0.8)
        others[0].set(xlabel=picture.bar, ylabel=picture.height)
    if picture.reliability:
        given, true, weight = zip(*picture.reliability, strict=True)
        axes = others[int(len(picture.edges) > 0)]
        axes.plot([0, 1], [0, 1], color=_GRAY, linewidth=0.8)
        axes.plot(given, true, color=_BLUE)
        axes.scatter(given, true, [5 + 200 * w / max(weight) for w in weight], color=_BLUE)
        axes.set(xlabel="mean probability", ylabel="share of positives", xlim=(0, 1), ylim=(0, 1))
    for axes in (left, *others):
        axes.spines[["top", "right"]].set_visible(False)
    if picture.confusion is not None:
        _draw_confusion(others[-1], *picture.confusion)
    return figure


def _draw_confusion(axes: Any, labels: list[str], table: list[list[float]]) -> None:
    """The share of each label's examples by prediction; mistakes are darkened to be visible."""
    sums = [max(sum(row), 1e-300) for row in table]
    shares = [[(count / total) ** 0.5 for count in row] for row, total in zip(table, sums, strict=True)]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set(xlabel="prediction", ylabel="label")
    if len(labels) <= _NAMED_CLASSES:
        short = [label if len(label) <= _LONG else f"{label[: _LONG - 1]}…" for label in labels]
        turned = 90 if any(len(label) > 2 for label in short) else 0
        axes.set_xticks(range(len(labels)), short, rotation=turned, fontsize=7, parse_math=False)
        axes.set_yticks(range(len(labels)), short, fontsize=7, parse_math=False)


def _zoom(axes: Any, points: list[tuple[int, float]]) -> None:
    """Scale the axis without the first 1 % of the examples, which are noise."""
    late = [error for examples, error in points if examples >= 0.01 * points[-1][0]]
    if late and max(late) > 0:
        axes.set_ylim(0.9 * min(late), 1.1 * max(late))


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 1rem; }} svg {{ width: 100%; height: auto; }}</style>
<h1>{title}</h1>
{svg}
</html>
"""
