"""The picture docs/rivals.svg: mean error against examples per second, from committed figures.

python benchmarks/rivals_picture.py
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import ROOT, draw, kept
from rivals_page import EFFORTS, FIGURES, PARTS, RIVALS, error, finished, mean, speed

PICTURE = ROOT / "docs/rivals.svg"
OURS, THEIRS = "#d9480f", "#64809f"
FONT = ["DejaVu Sans", "Verdana", "Arial", "sans-serif"]
GAP = 7  # points between a mark and its label
DISTANCES = (1.0, 1.8, 2.8)
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


def points(streams: Any) -> dict[str, tuple[float, float]]:
    """Examples per second, and error in percent, by model."""
    names = finished(streams, (*EFFORTS, *PARTS, *RIVALS))
    models = (*EFFORTS, *PARTS, *RIVALS)
    return {model: (speed(streams, names, model), 100 * mean(streams, names, model, error)) for model in models}


def picture(streams: Any) -> Any:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = points(streams)
    with rc_context({"font.family": "sans-serif", "font.sans-serif": FONT, "font.size": 9}):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        axes.set_xscale("log")
        for model, (x, y) in found.items():
            axes.scatter(x, y, zorder=3, **_mark(model))
        axes.margins(x=0.12, y=0.08)
        axes.set_xlabel("examples per second, one core, log scale (faster to the right)")
        axes.set_ylabel("mean error, % (better below)")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        axes.grid(color="#e2e8f0", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        n = len(finished(streams, found))
        axes.set_title(
            f"Error against speed: means of {n} public streams, each row predicted, then learned", fontsize=10
        )
        for label, model in (("the default", EFFORTS[1]), ("its members alone", "linear"), ("other libraries", "VW")):
            axes.scatter([], [], label=label, **_mark(model))
        axes.legend(loc="upper left", frameon=False, fontsize=9)
        _label(figure, axes, found)
    return figure


def _mark(model: str) -> dict[str, Any]:
    if model in EFFORTS:
        return {"marker": "*", "s": 170, "color": OURS, "edgecolor": "white", "linewidth": 0.6}
    if model in PARTS:
        return {"marker": "D", "s": 22, "facecolor": "white", "edgecolor": OURS, "linewidth": 1.1}
    return {"marker": "o", "s": 42, "color": THEIRS, "edgecolor": "white", "linewidth": 0.6}


def _label(figure: Any, axes: Any, found: dict[str, tuple[float, float]]) -> None:
    """Each label beside its mark, in the first place where it covers no mark and no other label."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    half = GAP * figure.dpi / 72 * 0.8
    taken = [axes.get_legend().get_window_extent()]
    for x, y in axes.transData.transform(list(found.values())):
        taken.append(Bbox.from_extents(x - half, y - half, x + half, y + half))
    frame = axes.get_window_extent()
    for model, point in found.items():
        style = {"color": THEIRS if model in RIVALS else OURS, "weight": "bold" if model in EFFORTS else "normal"}
        size = 8 if model in PARTS else 9
        text = axes.annotate(model, point, (0, 0), textcoords="offset points", size=size, **style)
        text.set_in_layout(False)
        costs = {}
        for place in product(DISTANCES, SIDES):
            _move(text, *place)
            box = text.get_window_extent()
            outside = box.width * box.height - _overlap(box, frame)
            costs[place] = outside + sum(_overlap(box, other) for other in taken)
        _move(text, *min(costs, key=lambda place: costs[place]))
        taken.append(text.get_window_extent())


def _move(text: Any, distance: float, side: tuple[int, int]) -> None:
    dx, dy = side
    text.xyann = (dx * GAP * distance, dy * GAP * distance)
    text.set_ha({1: "left", 0: "center", -1: "right"}[dx])
    text.set_va({1: "bottom", 0: "center", -1: "top"}[dy])


def _overlap(one: Any, other: Any) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(width, 0.0) * max(height, 0.0)


def main() -> None:
    draw(picture(kept(FIGURES)["streams"]), PICTURE, FIGURES)


if __name__ == "__main__":
    main()
