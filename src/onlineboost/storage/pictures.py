"""Pictures in files: checked before anything is drawn, written as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onlineboost.errors import MissingPackageError, ParameterError
from onlineboost.storage.atomic import replacing

BLUE, RED = "#2166ac", "#b2182b"
KINDS = (".png", ".svg", ".pdf")


def check_picture(path: Any, parameter: str = "path") -> Path:
    """The file for a picture; raises an error unless it can be written, and Matplotlib is there."""
    if not isinstance(path, str | Path) or Path(path).suffix.lower() not in KINDS:
        raise ParameterError(parameter, path, "a file that ends in .png, .svg or .pdf")
    target = Path(path).expanduser()
    if not target.parent.is_dir():
        raise ParameterError(parameter, path, f"an existing folder: {target.parent} does not exist")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingPackageError("a plot", "Matplotlib", "matplotlib") from None
    return target


def save_picture(figure: Any, target: Path) -> None:
    """Write a figure of Matplotlib."""
    with replacing(target) as temporary:
        figure.savefig(temporary, format=target.suffix.lower()[1:])


def draw_bars(target: Path, title: str, axis: str, names: Sequence[str], values: Sequence[float]) -> None:
    """Draw named bars from left to right, the first on top; those below zero in red."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(7, 1.2 + 0.28 * max(len(names), 1)), layout="constrained")
    axes = figure.subplots()
    places = range(len(names), 0, -1)
    axes.barh(places, values, color=[RED if value < 0 else BLUE for value in values])
    axes.set_yticks(places, [name.replace("$", r"\$") for name in names])  # a dollar begins a formula
    axes.axvline(0, color="black", linewidth=0.5)
    axes.set_xlabel(axis)
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, parse_math=False)
    save_picture(figure, target)
