"""Output of ``train`` for people: the error whenever the examples have doubled, alarms, and the summary."""

from __future__ import annotations

from typing import Any, cast

from onlineboost import Adaptive
from onlineboost.cli.terminal import Progress, format_labels, say, say_facts, say_lines
from onlineboost.cli.thresholds import is_rare, positive_lines
from onlineboost.data.kinds import Kind, listed_kinds
from onlineboost.ensembles.restarting import Restarting
from onlineboost.evaluate.metrics.confusion import Confusion, f1
from onlineboost.evaluate.training import Training


class Lines:
    """Progress lines of a training."""

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
        threshold, fitted = self.training.threshold, self.training.model._fitted
        if threshold is None or fitted is None or len(threshold.marks) != len(self.training.curve.marks):
            return ""
        table = Confusion(threshold.marks[k])
        table = table.turned() if fitted.target.turned else table
        shown = self.with_f1 or threshold.rule is not None or is_rare(table)
        value = f1(table)
        return f"{value:.4f}" if shown and value == value else ""

    def _print_alarms(self, new: int, progress: Progress) -> None:
        model = cast(Any, self.training.model)
        whole = f"{'the model' if isinstance(model, Adaptive | Restarting) else 'a member'} is reset"
        for example, learner in model.alarms_[-new:] if new else ():
            action = whole if learner is None else f"learner {learner + 1} is reset"
            progress.line(f"{example:>12,} drift, error has increased: {action}")

    def _n_alarms(self) -> int:
        return self.training.model.n_alarms_ if self.training.model._fitted is not None else 0


def columns_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The kind of each column, and a warning of columns with cells of two kinds."""
    known = {name: Kind(**facts) for name, facts in found.items()}
    hint = "; --categorical COLUMN reads all cells as categories"
    lines = [(f"  {kind}", names + (hint if kind == "mixed" else "")) for kind, names in listed_kinds(known)]
    return [("columns", f"{len(known):,}"), *lines] if known else []


_CLOSE = 1.25  # times the model's error


def _is_close(result: dict[str, Any], number: dict[str, float] | None) -> bool:
    """Whether always repeating the last label is nearly as good as the model, or better."""
    no_change = result["no_change_error"]
    if no_change is None or not result["order_tells"]:
        return False
    squares = number is not None and 1 - number["no_change_r2"] < _CLOSE**2 * (1 - number["r2"])
    return bool(no_change < _CLOSE * result["error"] or squares)


def print_summary(result: dict[str, Any]) -> None:
    if result["interrupted"]:
        output = result["output"]
        saved = f"saved to {output}; continue with --resume {output}" if output else "not saved (no -o MODEL)"
        say()
        say(f"Interrupted after {result['examples']:,} examples: {saved}")
        say()
    speed = (
        f"({result['learned'] / max(result['seconds'], 1e-9):,.0f}/s)" if result["learned"] else "(none in this run)"
    )
    lines = [("algorithm", result["model_as_typed"]), ("examples", f"{result['examples']:,} {speed}")]
    met = "not counted by this learner" if result["features"] is None else f"{result['features']:,}"
    lines.append(("features", f"{met} ({result['features_per_example']:.1f} non-zero per example)"))
    lines += columns_lines(result["columns"])
    number = result.get("number")
    if number is not None:
        lines.append(("target", f"a number, mean {number['mean']:.5g} (for classification: --task classes)"))
        r2 = f"{number['r2']:.4f}, progressive: each example is predicted before it is learned"
        lines.append(("R2", r2 if number["r2"] == number["r2"] else "not defined: all targets are the same"))
        lines.append(("mean absolute error", f"{number['mae']:.5g}"))
        lines.append(("root mean square", f"{number['rmse']:.5g}"))
    else:
        lines.append(("labels", format_labels(result["labels"])))
        lines.append(("progressive error", f"{result['error']:.4f}"))
        lines += positive_lines(result)
    if result["base_error"] is not None:
        lines.append(("base learner alone", f"{result['base_error']:.4f}"))
    if _is_close(result, number):
        figure = f"R2 {number['no_change_r2']:.4f}" if number is not None else f"{result['no_change_error']:.4f}"
        advice = "" if result["lag"] else "; --lag 3 uses previous labels as features"
        lines.append(("no change", f"{figure} (always predicting the last label: rows are ordered{advice})"))
    if "first_pass_error" in result:
        lines.append(("error of first pass", f"{result['first_pass_error']:.4f}"))
    if "holdout" in result:
        base = result["holdout"].get("base_error")
        alone = f" (base learner alone: {base:.4f})" if base is not None else ""
        lines.append(("error on holdout", f"{result['holdout']['error']:.4f}{alone}"))
    if result["alarms"]:
        lines.append(("alarms", f"{result['alarms']:,}"))
    if result["paused_members"]:
        lines.append(("paused members", f"{result['paused_members']} (slow, and no gain in accuracy)"))
    lines.append(("time", f"{result['seconds']:.2f} s"))
    lines.append(("memory", f"{result['memory'] / 1e6:,.0f} MB; model {result['model_memory'] / 1e6:,.3g} MB"))
    lines.append(("model", result["output"] or "not saved (no -o MODEL)"))
    if "predictions" in result:
        lines.append(("answers", result["predictions"]))
    if "plot" in result:
        lines.append(("plot", result["plot"]))
    say_facts(lines)
    if result["verdict"]:
        say_lines(f"\n{result['verdict']}")
