"""Training on files: progress, checkpoints, interruption, summary."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from onlineboost.compiled.jit import compile_seconds
from onlineboost.errors import ConflictError, DataError, ParameterError
from onlineboost.storage.atomic import check_target

if TYPE_CHECKING:
    from onlineboost.evaluate.training import Training


class _Stopped(BaseException):
    """Raised by a signal while the job waits for data."""


class Job:
    """One or more passes over files."""

    def __init__(self, output: Path | None, passes: int, every: int | None, quiet: bool) -> None:
        self.output, self.passes, self.every, self.quiet = output, passes, every, quiet
        self.interrupted = self.waiting = False
        self.seconds = 0.0
        self.skipped = 0
        self.first_error: float | None = None
        self.lines = self.alarms = 0
        self.place: dict[str, Any] | None = None  # where it stopped; None: at the end

    def check(self, plot: Path | None, files: list[str], holdout: list[str]) -> None:
        """Raise an error if the outputs could not be written or the files not be read, before the work begins."""
        from onlineboost.readers.files import expand, is_regular

        if plot is not None:
            from onlineboost.evaluate.plots import check_plot

            check_plot(plot)
        if self.output is not None:
            check_target("--output", self.output, expand(files))
            folder = self.output.expanduser().resolve().parent
            if self.output.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
                raise ParameterError("--output", str(self.output), "a file in a folder that exists and can be written")
        if self.every is not None and self.output is None:
            raise ConflictError("--checkpoint-every needs --output MODEL, where checkpoints are saved.")
        if holdout:
            expand(holdout)
        if self.passes > 1 and not all(map(is_regular, expand(files))):
            raise ConflictError("--passes needs files: standard input or a pipe can be read only once.")

    def run(
        self,
        training: Training,
        files: list[str],
        reading: dict[str, Any],
        schema: dict[str, Any],
        unfinished: dict[str, Any] | None,
    ) -> None:
        from onlineboost.readers.files import expand

        names = expand(files)
        self.lines, self.alarms = len(training.curve.marks), _n_alarms(training)
        start = _start(unfinished, names)
        self.passes = max(self.passes, start.get("passes", 1))
        began = time.perf_counter() - compile_seconds()
        old = {kind: signal.signal(kind, self._stop) for kind in (signal.SIGINT, signal.SIGTERM)}
        try:
            for number in range(start["pass"], self.passes + 1):
                if training.model.fitted is not None:
                    schema = {"like": training.model}
                self._pass(training, names, number, start["rows"] if number == start["pass"] else 0, reading | schema)
                if self.interrupted:
                    break
        except _Stopped:
            self.interrupted = True
        finally:
            for kind, handler in old.items():
                signal.signal(kind, handler)
        self.seconds = time.perf_counter() - compile_seconds() - began
        if training.model.fitted is None:
            if self.interrupted:
                raise KeyboardInterrupt
            raise DataError(f"{', '.join(names)}: no examples, nothing was learnt")
        if self.output is not None:
            self._save(training)

    def _pass(self, training: Training, names: list[str], number: int, skip: int, options: dict[str, Any]) -> None:
        from onlineboost.cli.show import Progress, say_skipped
        from onlineboost.readers import open_stream

        what = "training" if self.passes == 1 else f"pass {number} of {self.passes}"
        done = 0
        self.waiting = True  # opening a pipe may block
        with open_stream(names, **options) as stream, Progress(what, stream.size, self.quiet) as progress:
            while not self.interrupted:
                self.waiting = True
                page = next(stream, None)
                self.waiting = False
                if page is None:
                    break
                size = page.n_rows
                start = min(max(skip - done, 0), size)
                while start < size and not self.interrupted:
                    stop = size if self.every is None else min(size, start + self.every - (done + start) % self.every)
                    training.learn(page.rows(start, stop))
                    start = stop
                    where = [os.path.realpath(name) if name != "-" else name for name in names]
                    self.place = {"files": where, "pass": number, "rows": done + start, "passes": self.passes}
                    if self.every is not None and (done + start) % self.every == 0:
                        self._save(training)
                    self._print_progress(training, progress)
                    self._print_alarms(training, progress)
                done += size
                progress.update(stream, size, f", error {training.curve.error:.4f}")
        self.waiting = False
        if number == 1:
            self.skipped, self.first_error = stream.skipped, training.curve.error
            say_skipped(stream)
        if number == self.passes and not self.interrupted:
            self.place = None

    def _stop(self, *signal_and_frame: object) -> None:
        """The first signal stops the run after the current batch, the second immediately."""
        if self.interrupted:
            os.write(2, b"onlineboost: stopped immediately: what was learnt since the last save is lost\n")
            os._exit(130)  # no exception can be raised within compiled code
        self.interrupted = True
        if self.waiting:
            raise _Stopped

    def _save(self, training: Training) -> None:
        assert self.output is not None
        notes = {
            "curve": training.curve.as_json(),
            "base_curve": training.base_curve.as_json(),
            "entries": training.entries,
            "unfinished": self.place,
        }
        training.model.save(self.output, base=training.base, notes=notes)

    def _print_alarms(self, training: Training, progress: Any) -> None:
        """Print a line for each new alarm."""
        new, model = _n_alarms(training) - self.alarms, cast(Any, training.model)
        for example, learner in model.alarms_[-new:] if new and not self.quiet else ():
            action = "the model starts over" if learner is None else f"learner {learner + 1} is reset"
            progress.line(f"{example:>12,} drift, more mistakes than before: {action}")
        self.alarms += new

    def _print_progress(self, training: Training, progress: Any) -> None:
        """Print a line whenever the number of examples has doubled."""
        marks, base = training.curve.marks, training.base_curve.marks
        if self.quiet or len(marks) <= self.lines:
            return
        for k in range(self.lines, len(marks)):
            if marks[k][0] < 1024:
                continue
            if marks[k][0] == 1024:
                head = f"{'examples':>12} {'error':>9} {'since last':>11}"
                progress.line(head + (f" {'base alone':>11}" if base else ""))
            (n, weight, mistakes), (_, last_weight, last_mistakes) = marks[k], marks[k - 1]
            recent = (mistakes - last_mistakes) / max(weight - last_weight, 1e-300)
            text = f"{n:>12,} {mistakes / max(weight, 1e-300):>9.4f} {recent:>11.4f}"
            progress.line(text + (f" {base[k][2] / max(base[k][1], 1e-300):>11.4f}" if base else ""))
        self.lines = len(marks)

    def summary(self, training: Training) -> dict[str, Any]:
        from onlineboost.cli.show import peak_memory

        curve, base = training.curve, training.base_curve
        result: dict[str, Any] = {
            "algorithm": type(training.model).__name__,
            "model": repr(training.model),
            "examples": curve.examples,
            "error": curve.error,
            "base_error": base.error if training.base is not None else None,
            "gain": training.gain,
            "features": training.n_features,
            "features_per_example": training.entries / max(curve.examples, 1),
            "alarms": self.alarms,
            "seconds": self.seconds,
            "memory": peak_memory(),
            "skipped": self.skipped,
            "labels": training.model.classes_.tolist(),
            "output": str(self.output) if self.output else None,
            "interrupted": self.interrupted,
        }
        if self.passes > 1 and self.first_error is not None:
            result["first_pass_error"] = self.first_error
        return result


def _start(unfinished: dict[str, Any] | None, names: list[str]) -> dict[str, Any]:
    """Where to begin: where a checkpoint stopped, if the files are the same."""
    if unfinished is None:
        return {"pass": 1, "rows": 0}
    where = f"row {unfinished['rows']:,}" + (f" of pass {unfinished['pass']}" if unfinished["passes"] > 1 else "")
    same = unfinished["files"] == [os.path.realpath(name) if name != "-" else name for name in names]
    others = f"the model had stopped at {where} of other files: learning all rows of these files"
    print(f"onlineboost: {f'continuing after {where}' if same else others}", file=sys.stderr)
    return unfinished if same else {"pass": 1, "rows": 0}


def _n_alarms(training: Training) -> int:
    return training.model.n_alarms_ if training.model.fitted is not None else 0


def print_summary(result: dict[str, Any]) -> None:
    from onlineboost.cli.show import format_labels

    if result["interrupted"]:
        output = result["output"]
        saved = f"saved to {output}; continue with --resume {output}" if output else "not saved (no -o MODEL)"
        print(f"\nInterrupted after {result['examples']:,} examples: {saved}\n")
    lines = [("examples", f"{result['examples']:,} ({result['examples'] / max(result['seconds'], 1e-9):,.0f}/s)")]
    met = "not counted by this learner" if result["features"] is None else f"{result['features']:,}"
    lines.append(("features", f"{met} ({result['features_per_example']:.1f} non-zero per example)"))
    lines.append(("labels", format_labels(result["labels"])))
    lines.append(("progressive error", f"{result['error']:.4f}"))
    if result["base_error"] is not None:
        lines.append(("base learner alone", f"{result['base_error']:.4f}"))
    if result["gain"] is not None:
        lines.append(("boosting", f"{abs(result['gain']):.1%} {'fewer' if result['gain'] >= 0 else 'more'} mistakes"))
    if "first_pass_error" in result:
        lines.append(("error of first pass", f"{result['first_pass_error']:.4f}"))
    if "holdout" in result:
        base = result["holdout"].get("base_error")
        alone = f" (base learner alone: {base:.4f})" if base is not None else ""
        lines.append(("error on holdout", f"{result['holdout']['error']:.4f}{alone}"))
    if result["alarms"]:
        lines.append(("alarms", f"{result['alarms']:,}"))
    lines.append(("time", f"{result['seconds']:.2f} s"))
    lines.append(("memory", f"{result['memory'] / 1e6:,.0f} MB"))
    lines.append(("model", result["output"] or "not saved (no -o MODEL)"))
    if "plot" in result:
        lines.append(("plot", result["plot"]))
    for name, value in lines:
        print(f"{name + ':':<20} {value}")
    if result.get("verdict"):
        print(f"\n{result['verdict']}")
