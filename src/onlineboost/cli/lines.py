"""The lines that ``train`` prints on the way: the error whenever the examples have doubled, and alarms."""

from __future__ import annotations

from typing import Any, cast

from onlineboost import Adaptive, Restarting
from onlineboost.cli.show import Progress
from onlineboost.cli.thresholds import is_rare
from onlineboost.evaluate.metrics.confusion import Confusion, f1
from onlineboost.evaluate.training import Training


class Lines:
    """What was printed of a training, and what is new."""

    def __init__(self, training: Training, quiet: bool) -> None:
        self.training, self.quiet = training, quiet
        self.marks, self.alarms = len(training.curve.marks), self._n_alarms()
        self.with_f1: bool | None = None  # whether the lines have F1; None: nothing was printed yet

    def print(self, progress: Progress) -> None:
        """Print what is new above the bar."""
        marks, alarms = len(self.training.curve.marks), self._n_alarms()
        if not self.quiet:
            for k in range(self.marks, marks):
                self._print_mark(k, progress)
            self._print_alarms(alarms - self.alarms, progress)
        self.marks, self.alarms = marks, alarms

    def _print_mark(self, k: int, progress: Progress) -> None:
        marks, base = self.training.curve.marks, self.training.base_curve.marks
        if marks[k][0] < 1024:
            return
        f1 = self._f1(k)
        if self.with_f1 is None:
            self.with_f1 = bool(f1)
        if marks[k][0] == 1024:
            head = f"{'examples':>12} {'error':>9} {'since last':>11}" + (f" {'F1':>8}" if self.with_f1 else "")
            progress.line(head + (f" {'base alone':>11}" if base else ""))
        (n, weight, mistakes), (_, last_weight, last_mistakes) = marks[k], marks[k - 1]
        recent = (mistakes - last_mistakes) / max(weight - last_weight, 1e-300)
        text = f"{n:>12,} {mistakes / max(weight, 1e-300):>9.4f} {recent:>11.4f}" + (
            f" {f1 or '-':>8}" if self.with_f1 else ""
        )
        progress.line(text + (f" {base[k][2] / max(base[k][1], 1e-300):>11.4f}" if base else ""))

    def _f1(self, k: int) -> str:
        """F1 of the positive label at a mark; empty unless it is rare, or a threshold was asked for."""
        threshold, fitted = self.training.threshold, self.training.model.fitted
        if threshold is None or fitted is None or len(threshold.marks) != len(self.training.curve.marks):
            return ""
        table = Confusion(threshold.marks[k])
        table = table.turned() if fitted.target.turned else table
        shown = self.with_f1 or threshold.rule is not None or is_rare(table)
        value = f1(table)
        return f"{value:.4f}" if shown and value == value else ""

    def _print_alarms(self, new: int, progress: Progress) -> None:
        model = cast(Any, self.training.model)
        whole = f"{'the model' if isinstance(model, Adaptive | Restarting) else 'a part'} starts over"
        for example, learner in model.alarms_[-new:] if new else ():
            action = whole if learner is None else f"learner {learner + 1} is reset"
            progress.line(f"{example:>12,} drift, more mistakes than before: {action}")

    def _n_alarms(self) -> int:
        return self.training.model.n_alarms_ if self.training.model.fitted is not None else 0
