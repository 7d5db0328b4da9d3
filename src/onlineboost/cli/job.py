"""Training on files: progress, checkpoints, interruption, resuming."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from onlineboost.cli.terminal import tell
from onlineboost.compiled.jit import compile_seconds
from onlineboost.errors import ConflictError, DataError, ParameterError
from onlineboost.storage.atomic import check_target

if TYPE_CHECKING:
    from onlineboost.cli.inputs import Inputs, Part
    from onlineboost.cli.notes import Notes
    from onlineboost.data.page import Page
    from onlineboost.evaluate.training import Training


class _Stopped(BaseException):
    """Raised by a signal while the job waits for data."""


class Job:
    """One or more passes over files."""

    inputs: Inputs
    notes: Notes  # of the model that is resumed

    def __init__(self, output: Path | None, resumed: Path | None, passes: int, every: int | None, quiet: bool) -> None:
        self.output = output or resumed
        self.resumed, self.passes, self.every, self.quiet = resumed, passes, every, quiet
        self.interrupted = self.waiting = self.learning = self.failed = False
        self.seconds = 0.0
        self.skipped = 0
        self.first_error: float | None = None
        self.lines = self.alarms = self.learnt = 0
        self.place: tuple[int, int] | None = None  # pass, and rows of it; None: nothing of these files was learnt
        self.finished = False
        self.rows: dict[int, int] = {}  # of each input

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
        notes: Notes,
        again: bool,
    ) -> None:
        """Learn what the model has not learnt of the files, and save it."""
        from onlineboost.readers.files import expand

        names = expand(files)
        self.lines, self.alarms, self.notes = len(training.curve.marks), _n_alarms(training), notes
        first, skip = self._begin(names, again)
        self.inputs.tell()
        changes = bool(self.inputs.parts(self.passes)) or self.output != self.resumed
        began = time.perf_counter() - compile_seconds()
        with self._signals():
            try:
                for number in range(first, self.passes + 1):
                    if training.model.fitted is not None:
                        schema = {"like": training.model}
                    if parts := self.inputs.parts(number):
                        self._pass(training, number, parts, skip, reading | schema)
                    skip = 0
                    if self.interrupted:
                        break
                self.finished = not self.interrupted
            except _Stopped:
                self.interrupted = True
            except Exception as problem:
                self.waiting = False
                self._keep(training, problem)
                raise
            self.waiting = False
            self.seconds = time.perf_counter() - compile_seconds() - began
            if training.model.fitted is None:
                if self.interrupted:
                    raise KeyboardInterrupt
                raise DataError(f"{', '.join(names)}: no examples, nothing was learnt")
            if self.finished:
                self.inputs.finish(self.rows)
            if self.output is not None and changes:
                self._save(training)

    def _begin(self, names: list[str], again: bool) -> tuple[int, int]:
        """The pass and the row to begin at: where the training stopped, if the files are the same."""
        from onlineboost.cli.inputs import Inputs

        stopped, learnt = self.notes.unfinished, self.notes.learnt
        if stopped is not None and stopped["files"] == _paths(names):
            passes = max(self.passes, stopped["passes"])
            self.inputs = Inputs(names, learnt, passes, stopped["again"])
            changed = self.inputs.changed(stopped["inputs"])
            if not changed or stopped["error"]:
                self.passes, self.place = passes, (stopped["pass"], stopped["rows"])
                mended = ", with a changed file: its rows up to there are taken to be the same" if changed else ""
                tell(f"onlineboost: continuing after {_where(stopped)}{mended}")
                return self.place
            if not again:
                raise DataError(
                    f"{', '.join(changed)}: has changed since the training stopped at {_where(stopped)}: "
                    "restore it, or --again learns all its rows"
                )
        elif stopped is not None:
            others = "of other files: learning all rows of these files"
            tell(f"onlineboost: the model had stopped at {_where(stopped)} {others}")
        self.inputs = Inputs(names, learnt, self.passes, again)
        return 1, 0

    def _pass(self, training: Training, number: int, parts: list[Part], skip: int, options: dict[str, Any]) -> None:
        from onlineboost.cli.show import Progress, say_skipped
        from onlineboost.readers import open_stream

        what = "training" if self.passes == 1 else f"pass {number} of {self.passes}"
        names = [self.inputs.names[part.place] for part in parts]
        done, rows, known = 0, dict[int, int](), 0  # rows of the pass, of each input, and at the beginning of this one
        self.waiting = True  # opening a pipe may block
        with open_stream(names, **options) as stream, Progress(what, stream.size, self.quiet) as progress:
            while not self.interrupted:
                self.waiting = True
                page = next(stream, None)
                self.waiting = False
                if page is None:
                    break
                size, part = page.n_rows, parts[page.source]
                if part.place not in rows:
                    rows[part.place], known = 0, part.skip
                    if self.inputs.found[part.place].size is None:
                        known, skip = self._meet(part.place, page, skip)
                start = min(max(skip - done, known - rows[part.place], 0), size)
                while start < size and not self.interrupted:
                    stop = size if self.every is None else min(size, start + self.every - (done + start) % self.every)
                    self.learning = True
                    training.learn(page.rows(start, stop))
                    self.learnt += stop - start
                    start, self.place = stop, (number, done + stop)
                    self.learning = False
                    if self.every is not None and (done + start) % self.every == 0:
                        self._checkpoint(training, progress)
                    self._print_progress(training, progress)
                    self._print_alarms(training, progress)
                done += size
                rows[part.place] += size
                progress.update(stream, size, f", error {training.curve.error:.4f}")
        self.rows |= rows
        if number == 1:
            self.skipped, self.first_error = stream.skipped, training.curve.error
            say_skipped(stream)

    def _meet(self, place: int, page: Page, skip: int) -> tuple[int, int]:
        """Identify a pipe by its first page: rows learnt before, and rows to skip if the training stopped there."""
        known, stopped = self.inputs.meet(place, page.batch), self.notes.unfinished
        if skip and stopped is not None and not stopped["error"] and self.inputs.changed(stopped["inputs"]):
            tell(f"onlineboost: the model had stopped at {_where(stopped)} of another stream: learning all rows")
            self.place = None
            return known, 0
        return known, skip

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop in good order by Ctrl-C, SIGTERM and, except under nohup, the end of the terminal."""
        kinds = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            kinds.append(signal.SIGHUP)
        old = {kind: signal.signal(kind, self._stop) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in old.items():
                signal.signal(kind, handler)

    def _stop(self, kind: int, frame: object) -> None:
        """The first signal stops the run after the current batch, a second Ctrl-C immediately.

        Others may come twice: a closed terminal sends several.
        """
        if self.interrupted and kind == signal.SIGINT:
            os.write(2, b"onlineboost: stopped immediately: what was learnt since the last save is lost\n")
            os._exit(130)  # no exception can be raised within compiled code
        self.interrupted = True
        if self.waiting:
            self.waiting = False
            raise _Stopped

    def _checkpoint(self, training: Training, progress: Any) -> None:
        """Save, or say that it was not possible: the next checkpoint may be."""
        try:
            self._save(training)
        except OSError as problem:
            progress.line(f"onlineboost: checkpoint not saved: {problem.strerror or problem}")

    def _keep(self, training: Training, problem: Exception) -> None:
        """Save what was learnt before an error, so that a run with a mended input continues there."""
        whole = not self.learning or isinstance(problem, DataError)  # such an error comes before anything changes
        if self.place is None or training.model.fitted is None or not whole:
            return
        self.failed = True
        learnt = f"onlineboost: {training.model.n_seen_:,} examples were learnt before the error"
        if self.output is None:
            tell(f"{learnt}: not saved (no -o MODEL)")
            return
        try:
            self._save(training)
        except OSError as second:
            tell(f"{learnt}: not saved: {second}")
        else:
            tell(f"{learnt}: saved to {self.output}; mend the input, then continue with --resume {self.output}")

    def _save(self, training: Training) -> None:
        from onlineboost.cli.notes import Notes

        assert self.output is not None
        place = None if self.finished else self.notes.unfinished
        if self.place is not None and not self.finished:
            where = {"files": _paths(self.inputs.names), "pass": self.place[0], "rows": self.place[1]}
            run = {"passes": self.passes, "again": self.inputs.again, "error": self.failed}
            place = {**where, **run, "inputs": self.inputs.as_json()}
        notes = Notes(training.curve, training.base_curve, training.entries, place, self.inputs.learnt)
        training.model.save(self.output, base=training.base, notes=notes.as_json())

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
            "learnt": self.learnt,
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


def _paths(names: list[str]) -> list[str]:
    return [os.path.realpath(name) if name != "-" else name for name in names]


def _where(stopped: dict[str, Any]) -> str:
    return f"row {stopped['rows']:,}" + (f" of pass {stopped['pass']}" if stopped["passes"] > 1 else "")


def _n_alarms(training: Training) -> int:
    return training.model.n_alarms_ if training.model.fitted is not None else 0
