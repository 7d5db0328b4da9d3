"""Training on files: progress, checkpoints, interruption, resuming."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onlineboost.cli.answers import check_kind, open_output, progressive_columns, progressive_names
from onlineboost.cli.columns import warn_of_id_columns
from onlineboost.cli.inputs import Inputs
from onlineboost.cli.look_alikes import LookAlikes
from onlineboost.cli.notes import Notes
from onlineboost.cli.summary import Lines
from onlineboost.cli.terminal import Interrupted, Progress, announce, peak_memory, say_skipped
from onlineboost.cli.thresholds import positive_figures
from onlineboost.cli.warm import Compiling, compiling
from onlineboost.compiled.jit import compile_seconds
from onlineboost.data.kinds import kinds
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.errors import ConflictError, DataError, ParameterError
from onlineboost.evaluate.plots import check_plot
from onlineboost.evaluate.training import Training
from onlineboost.parameters import brief
from onlineboost.readers import open_stream
from onlineboost.readers.files import expand, is_regular
from onlineboost.storage.atomic import check_target, fingerprint


def _learned_before() -> ConflictError:
    rows = "some rows were learned before and have no progressive prediction"
    return ConflictError(f"--predictions: {rows}: use new files only, or learn all rows with --again.")


class Job:
    """One or more passes over files."""

    inputs: Inputs
    notes: Notes  # of the model that is resumed
    code: Compiling
    lines: Lines

    def __init__(
        self,
        output: Path | None,
        resumed: Path | None,
        passes: int,
        every: int | None,
        quiet: bool,
        predictions: Path | None = None,
    ) -> None:
        self.predictions = predictions
        self.answers: Callable[[Training, Page], object] = lambda training, page: None
        self.output = output or resumed
        self.found = fingerprint(self.output) if self.output is not None else None  # before reading; last saved
        self.replaced = False  # whether another process has saved there
        self.resumed, self.passes, self.every, self.quiet = resumed, passes, every, quiet
        self.interrupted = self.waiting = self.learning = self.failed = False
        self.seconds = self.waited = 0.0  # time of the work; time spent waiting for the compiler
        self.skipped = 0
        self.first_error: float | None = None
        self.learned = 0
        self.finished = False
        self.read: set[int] = set()  # places of inputs
        self.text: frozenset[str] = frozenset()  # known text columns
        self.look_alikes: LookAlikes | None = None  # for a new table

    def check(self, plot: Path | None, files: list[str], holdout: list[str]) -> None:
        """Raise an error if the outputs could not be written or the files not be read, before the work begins."""
        if plot is not None:
            check_plot(plot)
        if self.output is not None:
            check_target("--output", self.output, expand(files))
            folder = self.output.expanduser().resolve().parent
            if self.output.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
                raise ParameterError("--output", str(self.output), "a file in a folder that exists and can be written")
        if self.predictions is not None:
            check_target("--predictions", self.predictions, [*expand(files), *map(str, filter(None, [self.output]))])
            check_kind("--predictions", str(self.predictions))
            if self.passes > 1:
                raise ConflictError("--predictions are made before learning, in one pass: leave out --passes.")
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
        """Learn the new rows of the files, and save the model."""
        names = expand(files)
        self.lines, self.notes = Lines(training, self.quiet), notes
        if training.model._fitted is not None and training.model._fitted.columns.text is not None:
            self.text = training.model._fitted.columns.text.columns
        if training.model._fitted is None:
            self.look_alikes = LookAlikes()
        self.inputs = Inputs(names, notes.learned, notes.unfinished, self.passes, again)
        self.inputs.announce()
        if self.passes > 1:
            announce(
                f"onlineboost: {self.passes:,} passes: only the error of the first is progressive. Later passes score "
                "examples that the model has learned; use --holdout FILE for the error on new examples"
            )
        self.passes = self.inputs.passes
        if self.predictions is not None and not self.inputs.are_new:
            raise _learned_before()
        changes = bool(self.inputs.round()[1]) or self.output != self.resumed
        began = time.perf_counter() - compile_seconds()
        with (
            self._signals(),
            compiling([training.model, training.base], self.quiet) as self.code,
            self._open_answers(training, schema),
        ):
            try:
                while not self.interrupted:
                    number, places = self.inputs.round()
                    if not places:
                        break
                    fitted = training.model._fitted
                    if fitted is not None and fitted.columns.schema is not None:
                        schema = {"like": training.model}
                    self._round(training, number + 1, places, reading | schema)
                self.finished = not self.interrupted
            except Interrupted:
                self.interrupted = True
            except Exception as problem:
                self.waiting = False
                self._keep(training, problem)
                raise
            self.waiting = False
            training.finish()
            self.seconds = time.perf_counter() - compile_seconds() - began - self.waited
            if training.model._fitted is None:
                if self.interrupted:
                    raise Interrupted
                raise DataError(f"{', '.join(names)}: no examples, so nothing was learned")
            if self.output is not None and changes:
                self._save(training)

    @contextmanager
    def _open_answers(self, training: Training, schema: dict[str, Any]) -> Iterator[None]:
        """Write progressive predictions to a file that appears when it is complete."""
        if self.predictions is None:
            yield
            return
        fitted = training.model._fitted
        numbers = schema.get("task") == "number" if fitted is None else isinstance(fitted.target, Numbers)
        names = progressive_names(training.model, numbers)
        with open_output(str(self.predictions), names, as_json=False, escape=False) as file:
            self.answers = lambda training, page: file.write(
                file.form(progressive_columns(training.model, page.target, training.scores, training.answers))
            )
            yield

    def _await_code(self, progress: Progress) -> None:
        """Wait for compiled code; an interrupt ends the wait, since nothing was learned yet."""
        if not self.code.pending:
            return
        began = time.perf_counter()
        self.waiting = True
        with progress.hidden():
            self.code.wait()
        self.waiting = False
        self.waited += time.perf_counter() - began

    def _round(self, training: Training, number: int, places: list[int], options: dict[str, Any]) -> None:
        """Learn one pass over some inputs."""
        what = "training" if self.passes == 1 else f"pass {number} of {self.passes}"
        rows, skip = dict[int, int](), 0  # rows by place; rows to skip in this one
        self.ended = 0  # places
        self.waiting = True  # opening a pipe may block
        with (
            open_stream([self.inputs.names[place] for place in places], **options) as stream,
            Progress(what, stream.size, self.quiet) as progress,
        ):
            while not self.interrupted:
                self.waiting = True
                try:
                    page = next(stream, None)
                finally:
                    self.waiting = False
                    self._end(places[: stream.source], rows)
                if page is None:
                    self._end(places, rows)
                    break
                self._await_code(progress)
                if training.model._fitted is None and stream.has_columns:
                    warn_of_id_columns(page)
                if self.look_alikes is not None:
                    self.look_alikes.meet(page)
                size, place = page.n_rows, places[page.source]
                if place not in rows:
                    rows[place], skip = 0, self.inputs.meet(place, page)
                    if skip and self.predictions is not None:
                        raise _learned_before()
                start = min(max(skip - rows[place], 0), size)
                while start < size and not self.interrupted:
                    stop = size if self.every is None else min(size, start + self.every - self.learned % self.every)
                    self.learning = True
                    training.learn(page.rows(start, stop))
                    self._say_text(training)
                    self.learned += stop - start
                    start = stop
                    self.inputs.learn(place, rows[place] + stop)
                    self.learning = False
                    self.answers(training, page)
                    if self.every is not None and self.learned % self.every == 0:
                        self._checkpoint(training, progress)
                    self.lines.print(progress)
                rows[place] += size
                progress.update(stream, size, f", error {training.curve.error:.4f}")
        if self.read.isdisjoint(places):  # not the same records twice
            self.skipped += stream.skipped
            say_skipped(stream)
        self.read.update(places)
        if number == 1:
            self.first_error = training.curve.error

    def _say_text(self, training: Training) -> None:
        """Report columns that are read as text."""
        found = training.model._fitted.columns.text  # type: ignore[union-attr]
        for name in sorted(found.columns - self.text) if found is not None else ():
            self.text |= {name}
            read = f"--categorical {shlex.quote(name)} reads each cell as one value"
            announce(f"onlineboost: column {name!r} is text: its words are features; {read}")

    def _end(self, places: list[int], rows: dict[int, int]) -> None:
        """Note the end of these inputs."""
        for place in places[self.ended :]:
            self.ended += 1
            self.inputs.finish(place, rows.get(place, 0))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop cleanly on Ctrl-C, SIGTERM and, except under nohup, the end of the terminal."""
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

        Other signals may come twice: a closed terminal sends several.
        """
        if self.interrupted and kind == signal.SIGINT:
            os.write(2, b"onlineboost: stopped immediately: changes since the last save are lost\n")
            os._exit(130)  # no exception can be raised within compiled code
        self.interrupted = True
        if self.waiting:
            self.waiting = False
            raise Interrupted

    def _checkpoint(self, training: Training, progress: Progress) -> None:
        """Save; if that fails, warn and continue."""
        try:
            self._save(training)
        except OSError as problem:
            progress.line(f"onlineboost: checkpoint not saved: {problem.strerror or problem}")

    def _keep(self, training: Training, problem: Exception) -> None:
        """Save the rows learned before an error, so that training continues there with a corrected input."""
        whole = not self.learning or isinstance(problem, DataError)  # such an error comes before anything changes
        if not self.inputs.moved or training.model._fitted is None or not whole:
            return
        self.failed = True
        learned = f"onlineboost: {training.model.n_seen_:,} examples were learned before the error"
        if self.output is None:
            announce(f"{learned}: not saved (no -o MODEL)")
            return
        try:
            self._save(training)
        except OSError as second:
            announce(f"{learned}: not saved: {second}")
        else:
            announce(f"{learned}: saved to {self.output}; correct the input, then continue with --resume {self.output}")

    def _save(self, training: Training) -> None:
        assert self.output is not None
        self._look_for_others(self.output)
        left = None if self.finished else self.notes.unfinished
        if self.inputs.moved and not self.finished:
            left = self.inputs.unfinished(self.failed)
        notes = Notes(training, left, self.inputs.learned).as_json()
        training.model.save(self.output, base=training.base, notes=notes)
        self.found = fingerprint(self.output)

    def _look_for_others(self, output: Path) -> None:
        """Warn, once, that another process has saved its model in the same file."""
        if not self.replaced and fingerprint(output) not in (None, self.found):
            self.replaced = True
            news = f"another process has changed {output} during this training"
            announce(f"onlineboost: {news}: its model is replaced by this one; give each training its own -o MODEL")

    def summary(self, training: Training) -> dict[str, Any]:
        curve, base = training.curve, training.base_curve
        found = kinds(training.model._fitted.columns, curve.examples)  # type: ignore[union-attr]
        result: dict[str, Any] = {
            "algorithm": type(training.model).__name__,
            "model": repr(training.model.clone()),
            "model_as_typed": brief(training.model),
            "examples": curve.examples,
            "learned": self.learned,
            "error": curve.error,
            "base_error": base.error if training.base is not None else None,
            "no_change_error": training.repeated.error if training.repeated is not None else None,
            "order_tells": training.repeated is not None and training.order_tells,
            "lag": training.model.lag,
            "gain": training.gain,
            "verdict": training.verdict(),
            "features": training.n_features,
            "features_per_example": training.entries / max(curve.examples, 1),
            "columns": {name: kind._asdict() for name, kind in found.items()},
            "alarms": self.lines.alarms,
            "paused_members": getattr(training.model, "n_paused_", 0),
            "seconds": self.seconds,
            "memory": peak_memory(),
            "model_memory": training.model.n_bytes(),
            "skipped": self.skipped,
            "labels": training.model._fitted.target.classes.tolist(),  # type: ignore[union-attr]
            "output": str(self.output) if self.output else None,
            "interrupted": self.interrupted,
        }
        if training.errors.weight:
            errors = training.errors
            result["number"] = {"mean": errors.mean, "mae": errors.mae, "rmse": errors.rmse, "r2": errors.r2}
            if training.repeated is not None:
                result["number"]["no_change_r2"] = errors.r2_of(training.repeated.squared)
        if self.predictions is not None:
            result["predictions"] = str(self.predictions)
        result |= positive_figures(training)
        if self.passes > 1 and self.first_error is not None:
            result["first_pass_error"] = self.first_error
        return result
