"""The contribution of each learner of a booster, as a table and as a plot; the certificate of Online BBM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.data.batch import Floats, Ints
from onlineboost.storage.pictures import BLUE, RED, check_picture, save_picture


@dataclass(frozen=True)
class Certificate:
    """mistakes = T Phi_0(0) + the sum of the learners' deficits, g ||w^i||_1 - w^i.z^i; the proof of Lemma 3, exactly.

    A mistake is a majority of zero or less for the right label. Examples count by their own weights.
    """

    n_examples: float
    potential: float  # Phi_0(0), the error rate if every learner has exactly its edge
    deficits: Floats  # mistakes added by each learner that misses its edge; negative: mistakes saved
    mistakes: float

    @property
    def explained(self) -> float:
        """The right side of the identity."""
        return self.n_examples * self.potential + float(self.deficits.sum())

    @property
    def worst(self) -> int:
        """The number of the learner that adds most mistakes, counted from 0."""
        return int(np.argmax(self.deficits))

    def __str__(self) -> str:
        parts = {
            f"mistakes on {self.n_examples:,.1f} examples": f"{self.mistakes:,.1f}",
            f"if every learner had exactly its edge: {self.potential:.2%}": f"{self.n_examples * self.potential:,.1f}",
            "added by learners below their edge": f"{self.deficits[self.deficits > 0].sum():+,.1f}",
            "saved by learners above it": f"{self.deficits[self.deficits < 0].sum():+,.1f}",
        }
        lines = [f"{number:>14}  {meaning}" for meaning, number in parts.items()]
        if self.deficits.max() > 0:
            lines.append(f"Learner {self.worst + 1} costs most: {self.deficits.max():,.1f} mistakes.")
        return "\n".join(lines)


Columns = dict[str, tuple[Floats | Ints, str]]


@dataclass(frozen=True)
class Report:
    """``print`` it for a table; ``plot`` draws it."""

    title: str
    n_examples: int
    row: str  # what a row of the table is: "learner", "member"
    names: list[str]  # of the rows
    columns: Columns  # by name: a number for each row, and its format
    bars: Floats  # lengths beside the table, from 0 to 1
    certificate: Certificate | None  # of Online BBM with hard votes
    verdict: str  # verdict

    def __str__(self) -> str:
        lines = [f"{self.title}, {self.n_examples:,} examples"]
        width = max(7, *map(len, self.names))
        widths = {name: int(form.strip("+").split(".")[0].split(",")[0]) for name, (_, form) in self.columns.items()}
        align = "<" if self.row == "member" else ">"
        lines.append(f"{self.row:{align}{width}}" + "".join(name.rjust(widths[name]) for name in self.columns))
        for i, name in enumerate(self.names):
            cells = "".join(_cell(values[i].item(), form) for values, form in self.columns.values())
            bar = 0 if math.isnan(self.bars[i]) else round(40 * max(float(self.bars[i]), 0))
            lines.append(f"{name:{align}{width}}{cells}  {'#' * bar}".rstrip())
        if self.certificate is not None:
            lines += ["", str(self.certificate)]
        if self.verdict:
            lines += ["", self.verdict]
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw every column against the rows, to a .png, .svg or .pdf file."""
        target = check_picture(path)
        from matplotlib.figure import Figure

        beside = (
            0.08 * max(map(len, self.names)) if self.row == "member" else 0.0
        )  # names of members stand beside the bars
        figure: Any = Figure(figsize=(4.5 * len(self.columns) + beside, 3.5), layout="constrained")
        axes = figure.subplots(1, len(self.columns), sharey=self.row == "member")
        for axis, (name, (values, _)) in zip(axes, self.columns.items(), strict=True):
            harmful = values > 0 if name == "mistakes added" else values < 0
            colors = [RED if bad else BLUE for bad in harmful]
            if self.row == "member":  # names need room: bars from left to right, the first member on top
                axis.barh(self.names[::-1], values[::-1], color=colors[::-1])
                axis.axvline(0, color="black", linewidth=0.5)
                axis.set(title=name)
            else:
                axis.bar(range(1, len(self.names) + 1), values, color=colors)
                axis.axhline(0, color="black", linewidth=0.5)
                axis.set(xlabel=self.row, title=name)
        figure.suptitle(f"{self.title}, {self.n_examples:,} examples")
        save_picture(figure, target)


def _cell(value: float, form: str) -> str:
    """A number in its column, with fewer digits if it would not fit."""
    text = format(value, form)
    width = int(form.strip("+").split(".")[0].split(",")[0])
    return text if len(text) < width + 1 and text[0] == " " else f"{value:{width}.4g}"
