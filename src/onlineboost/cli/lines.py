"""The lines that ``train`` prints on the way: the error whenever the examples have doubled, and alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from onlineboost.cli.show import Progress
    from onlineboost.evaluate.training import Training


class Lines:
    """What was printed of a training, and what is new."""

    def __init__(self, training: Training, quiet: bool) -> None:
        self.training, self.quiet = training, quiet
        self.marks, self.alarms = len(training.curve.marks), self._n_alarms()

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
        if marks[k][0] == 1024:
            head = f"{'examples':>12} {'error':>9} {'since last':>11}"
            progress.line(head + (f" {'base alone':>11}" if base else ""))
        (n, weight, mistakes), (_, last_weight, last_mistakes) = marks[k], marks[k - 1]
        recent = (mistakes - last_mistakes) / max(weight - last_weight, 1e-300)
        text = f"{n:>12,} {mistakes / max(weight, 1e-300):>9.4f} {recent:>11.4f}"
        progress.line(text + (f" {base[k][2] / max(base[k][1], 1e-300):>11.4f}" if base else ""))

    def _print_alarms(self, new: int, progress: Progress) -> None:
        from onlineboost import Adaptive, Restarting

        model = cast(Any, self.training.model)
        whole = f"{'the model' if isinstance(model, Adaptive | Restarting) else 'a part'} starts over"
        for example, learner in model.alarms_[-new:] if new else ():
            action = whole if learner is None else f"learner {learner + 1} is reset"
            progress.line(f"{example:>12,} drift, more mistakes than before: {action}")

    def _n_alarms(self) -> int:
        return self.training.model.n_alarms_ if self.training.model.fitted is not None else 0
