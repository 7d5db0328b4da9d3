"""``onlineboost train``: learn from files in one pass, and say how well it went."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.errors import DataError, ParameterError

if TYPE_CHECKING:
    from onlineboost.evaluate.training import Training
    from onlineboost.model import OnlineClassifier

BOOSTING, LEARNER, RUN = "Boosting", "Weak learner", "Run"


class Algorithm(StrEnum):
    BBM = "bbm"
    ADABOOST_OL = "adaboost-ol"
    ADABOOST_OL_S = "adaboost-ol-s"
    OSBOOST = "osboost"
    OSBOOST_OCP = "osboost-ocp"
    NONE = "none"


class Delivery(StrEnum):
    AUTO = "auto"
    WEIGHT = "weight"
    SAMPLE = "sample"


class Votes(StrEnum):
    HARD = "hard"
    REAL = "real"


class LearnerKind(StrEnum):
    LINEAR = "linear"


class Loss(StrEnum):
    SQUARED = "squared"
    LOGISTIC = "logistic"


def _in(panel: str, *names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def train(
    context: typer.Context,
    files: o.Files,
    output: Annotated[Path | None, _in(o.OUTPUT, "--output", "-o", help="Where the model is kept.")] = None,
    label: o.Label = None,
    format: o.FormatOption = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    positive: o.Positive = None,
    bits: o.Bits = 18,
    header: o.Header = None,
    separator: o.Separator = None,
    on_error: o.OnErrorOption = o.OnError.RAISE,
    algorithm: Annotated[Algorithm, _in(BOOSTING, "--algorithm", "-a", help="How to boost.")] = Algorithm.BBM,
    n: Annotated[int, _in(BOOSTING, "--learners", "-n", help="Number of weak learners.", min=1)] = 21,
    gamma: Annotated[float | None, _in(BOOSTING, "--gamma", help="Their edge over guessing. (default: 0.1)")] = None,
    delivery: Annotated[
        Delivery, _in(BOOSTING, "--delivery", help="Weights as importance, or as chances.")
    ] = Delivery.AUTO,
    votes: Annotated[Votes, _in(BOOSTING, "--votes", help="Votes of -1 and +1, or real ones.")] = Votes.HARD,
    seed: Annotated[int, _in(BOOSTING, "--seed", help="Of everything random.", min=0)] = 0,
    learner: Annotated[LearnerKind, _in(LEARNER, "--learner", help="What is boosted.")] = LearnerKind.LINEAR,
    learning_rate: Annotated[float, _in(LEARNER, "--learning-rate", help="Size of a step.")] = 0.5,
    loss: Annotated[Loss, _in(LEARNER, "--loss", help="What a step makes smaller.")] = Loss.SQUARED,
    standardize: Annotated[
        bool, _in(LEARNER, "--standardize/--no-standardize", help="Centre and bound features on the way.")
    ] = True,
    passes: Annotated[int, _in(RUN, "--passes", help="How often to read the files.", min=1)] = 1,
    holdout: Annotated[
        list[str] | None, _in(RUN, "--holdout", help="File to test on at the end; can be repeated.")
    ] = None,
    resume: Annotated[Path | None, _in(RUN, "--resume", help="Go on with this model, where it stopped.")] = None,
    checkpoint_every: Annotated[
        int | None, _in(RUN, "--checkpoint-every", help="Save the model after each so many examples.", min=1)
    ] = None,
    baseline: Annotated[
        bool, _in(RUN, "--baseline/--no-baseline", help="Train the base learner alone too, to compare.")
    ] = True,
    plot: o.Plot = None,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn from files, in one pass.

    Each example is scored before it is learnt, so the error that is shown is an honest one.

    Examples:

      onlineboost train clicks.parquet --label clicked -o clicks.model

      onlineboost train 'day-*.csv.gz' --label bought --positive yes -n 61 -o model

      zcat huge.vw.gz | onlineboost train - -f vw -o model --checkpoint-every 1000000

      onlineboost train huge.vw.gz --resume model
    """
    chosen = _chosen(context)
    job = Job(output or resume, resume, passes, checkpoint_every, quiet or json_output)
    job.check(plot, files)
    stream_options = {
        "format": format,
        "header": header,
        "separator": o.separator_of(separator),
        "on_error": on_error.value,
    }
    if resume is not None:
        _refuse_with_resume(chosen)
        training, unfinished = _resumed(resume)
        recipe: dict[str, Any] = {"like": training.model}
    else:
        base = _learner(loss.value, learning_rate, standardize)
        settings = {"n": n, "gamma": gamma, "delivery": delivery.value, "votes": votes.value, "seed": seed}
        from onlineboost.evaluate.training import Training

        model = _booster(algorithm, base, settings, chosen)
        training = Training(model, base.clone() if baseline and algorithm != Algorithm.NONE else None)
        unfinished = None
        recipe = {
            "label": label,
            "weight": weight,
            "drop": drop or (),
            "categorical": categorical or (),
            "positive": positive,
            "bits": bits,
        }
    job.run(training, files, stream_options, recipe, unfinished)
    result = job.summary(training)
    if len(result["labels"]) < 2:
        known = ", ".join(map(str, result["labels"]))
        print(f"onlineboost: only one label was met ({known}): there is nothing to tell apart", file=sys.stderr)
    if holdout:
        from onlineboost.cli.evaluate import measure

        result["holdout"] = measure(training.model, training.base, holdout, stream_options, quiet or json_output)
    if plot is not None:
        from onlineboost.evaluate.plots import Picture, draw

        title = f"{result['algorithm']} on {', '.join(Path(f).name for f in files[:3])}"
        draw(Picture(title, training.curve.points, training.base_curve.points, training.model.edges_), plot)
        result["plot"] = str(plot)
    if json_output:
        print(json.dumps(result))
    else:
        _print_summary(result)
    if job.interrupted:
        raise typer.Exit(130)


class Job:
    """A run over files: progress, checkpoints, interruption."""

    def __init__(self, output: Path | None, resume: Path | None, passes: int, every: int | None, quiet: bool) -> None:
        self.output, self.resume, self.passes, self.every, self.quiet = output, resume, passes, every, quiet
        self.interrupted = False
        self.seconds = 0.0
        self.skipped = 0
        self.first_pass: tuple[float, float] | None = None
        self.lines = 0

    def check(self, plot: Path | None, files: list[str]) -> None:
        """What can go wrong at the end is looked at before the beginning."""
        if plot is not None:
            from onlineboost.evaluate.plots import check_plot

            check_plot(plot)
        if self.output is not None:
            folder = self.output.expanduser().resolve().parent
            if self.output.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
                raise ParameterError("--output", str(self.output), "a file in a folder that exists and can be written")
        if self.every is not None and self.output is None:
            raise ParameterError("--checkpoint-every", self.every, "--output MODEL, where checkpoints are kept")
        if self.passes > 1 and "-" in files:
            raise ParameterError("--passes", self.passes, "1 with standard input, which can be read once")

    def run(
        self,
        training: Training,
        files: list[str],
        stream_options: dict[str, Any],
        recipe: dict[str, Any],
        unfinished: dict[str, Any] | None,
    ) -> None:
        from onlineboost.readers.files import expand

        names = expand(files)
        self.lines = len(training.curve.marks)
        place = _place(unfinished, names, self.quiet)
        self.passes = max(self.passes, place.get("passes", 1))
        old = {kind: signal.signal(kind, self._stop) for kind in (signal.SIGINT, signal.SIGTERM)}
        began = time.perf_counter()
        try:
            for number in range(place["pass"], self.passes + 1):
                rows = place["rows"] if number == place["pass"] else 0
                if training.model.__sklearn_is_fitted__():
                    recipe = {"like": training.model}
                self._pass(training, names, number, rows, stream_options | recipe)
                if self.interrupted:
                    break
        finally:
            for kind, handler in old.items():
                signal.signal(kind, handler)
        self.seconds = time.perf_counter() - began
        if not training.model.__sklearn_is_fitted__():
            raise DataError(f"{', '.join(names)}: no examples, nothing was learnt")
        if self.output is not None and not self.interrupted:
            self._save(training, None)

    def _pass(
        self, training: Training, names: list[str], number: int, skip: int, stream_options: dict[str, Any]
    ) -> None:
        from onlineboost.cli.show import Progress, say_skipped
        from onlineboost.evaluate.training import rows_of
        from onlineboost.readers import open_stream

        what = "training" if self.passes == 1 else f"pass {number} of {self.passes}"
        with open_stream(names, **stream_options) as stream, Progress(what, stream.size, self.quiet) as progress:
            done = 0
            for batch in stream:
                size = batch.y.size
                start = min(max(skip - done, 0), size)
                while start < size and not self.interrupted:
                    stop = size if self.every is None else min(size, start + self.every - (done + start) % self.every)
                    part = batch if (start, stop) == (0, size) else rows_of(batch, start, stop)
                    training.learn(part, stream)
                    start = stop
                    place = {"files": names, "pass": number, "rows": done + start, "passes": self.passes}
                    if self.every is not None and (done + start) % self.every == 0:
                        self._save(training, place)
                    self._lines(training, progress)
                if self.interrupted:
                    place = {"files": names, "pass": number, "rows": done + start, "passes": self.passes}
                    if self.output is not None and training.model.__sklearn_is_fitted__():
                        self._save(training, place)
                    break
                done += size
                progress.update(stream, size, f", error {training.curve.error:.4f}")
        self.skipped += stream.skipped
        say_skipped(stream)
        if number == 1:
            self.first_pass = (training.curve.error, training.base_curve.error)

    def _stop(self, *signal_and_frame: object) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def _save(self, training: Training, place: dict[str, Any] | None) -> None:
        from onlineboost import persist

        assert self.output is not None
        notes = {
            "curve": training.curve.as_json(),
            "base_curve": training.base_curve.as_json(),
            "entries": training.entries,
            "unfinished": place,
        }
        persist.save(training.model, self.output.expanduser(), training.base, notes)

    def _lines(self, training: Training, progress: Any) -> None:
        """A line whenever the number of examples has doubled."""
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
            "seconds": self.seconds,
            "memory": peak_memory(),
            "skipped": self.skipped,
            "labels": training.model.classes_.tolist(),
            "output": str(self.output) if self.output else None,
            "interrupted": self.interrupted,
        }
        if self.passes > 1 and self.first_pass is not None:
            result["first_pass_error"] = self.first_pass[0]
        return result


def _chosen(context: typer.Context) -> set[str]:
    """The options that were given, not left at their default."""
    return {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}


def _refuse_with_resume(chosen: set[str]) -> None:
    fixed = {"label", "weight", "drop", "categorical", "positive", "bits", "algorithm", "n", "gamma", "delivery"}
    fixed |= {"votes", "seed", "learner", "learning_rate", "loss", "standardize", "baseline"}
    for name in sorted(chosen & fixed):
        option = "-n" if name == "n" else f"--{name.replace('_', '-')}"
        raise ParameterError(option, "...", "nothing with --resume: the model keeps the settings it was trained with")


def _resumed(path: Path) -> tuple[Training, dict[str, Any] | None]:
    import onlineboost
    from onlineboost import persist
    from onlineboost.evaluate.metrics import Curve
    from onlineboost.evaluate.training import Training

    model, base, notes = persist.load_all(path, onlineboost.OnlineClassifier.kinds)
    if model._columns.recipe is None:
        raise DataError(f"{path}: this model was trained on arrays or dicts in Python: go on with it there")
    training = Training(model, base)
    if notes:
        training.curve, training.base_curve = (Curve.from_json(notes[name]) for name in ("curve", "base_curve"))
        training.entries = notes["entries"]
    return training, (notes or {}).get("unfinished")


def _place(unfinished: dict[str, Any] | None, names: list[str], quiet: bool) -> dict[str, Any]:
    """Where to begin: where a checkpoint stopped, if the files are the same."""
    if unfinished is None:
        return {"pass": 1, "rows": 0}
    where = f"row {unfinished['rows']:,}" + (f" of pass {unfinished['pass']}" if unfinished["passes"] > 1 else "")
    same = unfinished["files"] == names
    if not quiet:
        text = "going on after" if same else "the files are not those of the checkpoint, which had come to"
        print(f"onlineboost: {text} {where}", file=sys.stderr)
    return unfinished if same else {"pass": 1, "rows": 0}


def _learner(loss: str, learning_rate: float, standardize: bool) -> OnlineClassifier:
    from onlineboost import Linear

    return Linear(loss, learning_rate=learning_rate, standardize=standardize)  # type: ignore[arg-type]


def _booster(
    algorithm: Algorithm, base: OnlineClassifier, settings: dict[str, Any], chosen: set[str]
) -> OnlineClassifier:
    from onlineboost import AdaBoostOL, OnlineBBM, OSBoost, OSBoostOCP

    if algorithm == Algorithm.NONE:
        for name in sorted({"n", "gamma", "delivery", "votes"} & chosen):
            raise ParameterError(f"--{name}", settings[name], "nothing with --algorithm none, which does not boost")
        base._assemble(1)
        return base
    kinds: dict[str, Any] = {"bbm": OnlineBBM, "osboost": OSBoost, "osboost-ocp": OSBoostOCP}
    kind = kinds.get(algorithm.value, AdaBoostOL)
    options: dict[str, Any] = {"delivery": settings["delivery"], "random_state": settings["seed"]}
    if algorithm == Algorithm.ADABOOST_OL_S:
        if settings["delivery"] == "weight":
            raise ParameterError("--delivery", "weight", "sample, which is what adaboost-ol-s means")
        options["delivery"] = "sample"
    if settings["gamma"] is not None:
        if kind is AdaBoostOL:
            raise ParameterError("--gamma", settings["gamma"], f"nothing: {algorithm.value} finds the edges by itself")
        options["gamma"] = settings["gamma"]
    if "votes" in kind._defaults():
        options["votes"] = settings["votes"]
    elif "votes" in chosen:
        raise ParameterError("--votes", settings["votes"], f"nothing: {algorithm.value} has hard votes only")
    booster: OnlineClassifier = kind(base, settings["n"], **options)
    booster._assemble(1)  # settings are checked before files are opened
    return booster


def _print_summary(result: dict[str, Any]) -> None:
    if result["interrupted"]:
        kept = f"what was learnt is kept in {result['output']}" if result["output"] else "nothing was kept: -o MODEL"
        more = f"; go on with --resume {result['output']}" if result["output"] else ""
        print(f"\nInterrupted after {result['examples']:,} examples: {kept}{more}\n")
    lines = [("examples", f"{result['examples']:,} ({result['examples'] / max(result['seconds'], 1e-9):,.0f}/s)")]
    lines.append(("features", f"{result['features']:,}, of which {result['features_per_example']:.1f} per example"))
    lines.append(("labels", ", ".join(str(label) for label in result["labels"]) + " (the last is positive)"))
    lines.append(("progressive error", f"{result['error']:.4f}"))
    if result["base_error"] is not None:
        lines.append(("base learner alone", f"{result['base_error']:.4f}"))
    if result["gain"] is not None:
        gain = result["gain"]
        lines.append(("boosting", f"{abs(gain):.1%} {'fewer' if gain >= 0 else 'more'} mistakes"))
    for name, key in (("error of first pass", "first_pass_error"),):
        if key in result:
            lines.append((name, f"{result[key]:.4f}"))
    if "holdout" in result:
        base = result["holdout"].get("base_error")
        alone = f" (base learner alone: {base:.4f})" if base is not None else ""
        lines.append(("error on holdout", f"{result['holdout']['error']:.4f}{alone}"))
    lines.append(("time", f"{result['seconds']:.2f} s"))
    lines.append(("memory", f"{result['memory'] / 1e6:,.0f} MB"))
    lines.append(("model", result["output"] or "not kept: -o MODEL"))
    if "plot" in result:
        lines.append(("plot", result["plot"]))
    for name, value in lines:
        print(f"{name + ':':<20} {value}")
