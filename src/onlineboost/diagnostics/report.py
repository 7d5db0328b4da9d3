"""The contribution of each learner of a booster: as a table, as a plot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onlineboost.data.batch import Floats, Ints
from onlineboost.diagnostics.certificate import Certificate
from onlineboost.errors import MissingPackageError, ParameterError
from onlineboost.storage.atomic import replacing

_BLUE, _RED = "#2166ac", "#b2182b"


@dataclass(frozen=True)
class Report:
    """``print`` it for a table; ``plot`` draws it."""

    booster: str
    n_examples: int
    edges: Floats
    weights: Floats
    certificate: Certificate | None  # of Online BBM with hard votes
    experts: Ints | None  # mistakes of AdaBoost.OL's experts
    verdict: str  # whether boosting paid

    def columns(self) -> dict[str, tuple[Floats | Ints, str]]:
        """The columns of the table by name: a number for each learner, and its format."""
        found: dict[str, tuple[Floats | Ints, str]] = {
            "weight": (self.weights / max(self.n_examples, 1), "10.4f"),
            "edge": (self.edges, "+10.4f"),
        }
        if self.certificate is not None:
            found["mistakes added"] = (self.certificate.deficits, "+16,.1f")
        if self.experts is not None:
            found["expert's mistakes"] = (self.experts, "18,d")
        return found

    def __str__(self) -> str:
        columns = self.columns()
        lines = [f"{self.booster}, {len(self.edges)} learners, {self.n_examples:,} examples"]
        width = {name: int(form.strip("+").split(".")[0].split(",")[0]) for name, (_, form) in columns.items()}
        lines.append("learner" + "".join(name.rjust(width[name]) for name in columns))
        for i in range(len(self.edges)):
            cells = "".join(_cell(values[i].item(), form) for values, form in columns.values())
            bar = 0 if math.isnan(self.edges[i]) else round(40 * max(float(self.edges[i]), 0))
            lines.append(f"{i + 1:>7}{cells}  {'#' * bar}".rstrip())
        if self.certificate is not None:
            lines += ["", str(self.certificate)]
        if self.verdict:
            lines += ["", self.verdict]
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw every column against the learners, to a .png, .svg or .pdf file."""
        if not isinstance(path, str | Path) or Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ParameterError("path", path, "a file that ends in .png, .svg or .pdf")
        target = Path(path).expanduser()
        if not target.parent.is_dir():
            raise ParameterError("path", path, f"an existing folder: {target.parent} does not exist")
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingPackageError("a plot", "Matplotlib", "matplotlib") from None
        columns = self.columns()
        figure: Any = Figure(figsize=(4.5 * len(columns), 3.5), layout="constrained")
        axes = figure.subplots(1, len(columns))
        number = range(1, len(self.edges) + 1)
        for axis, (name, (values, _)) in zip(axes, columns.items(), strict=True):
            harmful = values > 0 if name == "mistakes added" else values < 0
            axis.bar(number, values, color=[_RED if bad else _BLUE for bad in harmful])
            axis.axhline(0, color="black", linewidth=0.5)
            axis.set(xlabel="learner", title=name)
        figure.suptitle(f"{self.booster}, {self.n_examples:,} examples")
        with replacing(target) as temporary:
            figure.savefig(temporary, format=target.suffix.lower()[1:])


def _cell(value: float, form: str) -> str:
    """A number in its column, with fewer digits if it would not fit."""
    text = format(value, form)
    width = int(form.strip("+").split(".")[0].split(",")[0])
    return text if len(text) < width + 1 and text[0] == " " else f"{value:{width}.4g}"
