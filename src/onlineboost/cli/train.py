"""``onlineboost train``: learn from files in one pass, and say how well it went."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.cli.job import Job, print_summary
from onlineboost.cli.show import print_json
from onlineboost.errors import ParameterError

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
    ADABOOST_OL_PLUS = "adaboost-ol-plus"
    DEFENSIVE = "defensive"
    SAFE = "safe"
    NONE = "none"


class Delivery(StrEnum):
    AUTO = "auto"
    WEIGHT = "weight"
    SAMPLE = "sample"


class Votes(StrEnum):
    HARD = "hard"
    REAL = "real"


class Head(StrEnum):
    VOTE = "vote"
    STACK = "stack"


class LearnerKind(StrEnum):
    LINEAR = "linear"
    STUMP = "stump"
    TREE = "tree"
    NAIVE_BAYES = "naive-bayes"
    PERCEPTRON = "perceptron"


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
    algorithm: Annotated[Algorithm, _in(BOOSTING, "--algorithm", "-a", help="How to boost.")] = Algorithm.SAFE,
    n: Annotated[
        int | None,
        _in(
            BOOSTING,
            "--learners",
            "-n",
            help="Number of weak learners. (default: 21; safe: 63; defensive: 1)",
            min=1,
            max=10_000,
        ),
    ] = None,
    gamma: Annotated[
        float | None, _in(BOOSTING, "--gamma", help="Their edge over guessing; not with safe. (default: 0.1)")
    ] = None,
    delivery: Annotated[
        Delivery, _in(BOOSTING, "--delivery", help="Weights as importance, or as chances.")
    ] = Delivery.AUTO,
    votes: Annotated[Votes, _in(BOOSTING, "--votes", help="Votes of -1 and +1, or real ones.")] = Votes.HARD,
    head: Annotated[
        Head, _in(BOOSTING, "--head", help="Answer by the algorithm's vote, or by a stack on it; not with safe.")
    ] = Head.VOTE,
    adaptive: Annotated[
        bool,
        _in(
            BOOSTING,
            "--adaptive",
            help="For streams that change: start anew when the error rises, beside a fast learner.",
        ),
    ] = False,
    seed: Annotated[int, _in(BOOSTING, "--seed", help="Of everything random.", min=0)] = 0,
    learner: Annotated[LearnerKind, _in(LEARNER, "--learner", help="What is boosted.")] = LearnerKind.LINEAR,
    learning_rate: Annotated[float, _in(LEARNER, "--learning-rate", help="Size of a step.")] = 0.5,
    loss: Annotated[Loss, _in(LEARNER, "--loss", help="What a step makes smaller.")] = Loss.SQUARED,
    standardize: Annotated[
        bool, _in(LEARNER, "--standardize/--no-standardize", help="Centre and bound features on the way.")
    ] = True,
    bins: Annotated[
        int | None, _in(LEARNER, "--bins", help="Values that a feature is told apart by. (default: 16; linear: all)")
    ] = None,
    crosses: Annotated[bool, _in(LEARNER, "--crosses", help="A feature of each pair of features; linear.")] = False,
    cross: Annotated[
        list[str] | None,
        _in(LEARNER, "--cross", help="A feature of each pair from two columns, A,B; linear; can be repeated."),
    ] = None,
    max_depth: Annotated[int | None, _in(LEARNER, "--max-depth", help="Of a tree. (default: 5)", min=1, max=20)] = None,
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
    chosen = chosen_options(context)
    quiet = quiet or json_output
    reading = o.stream_options(format, header, separator, on_error)
    job = Job(output or resume, passes, checkpoint_every, quiet)
    job.check(plot, files, holdout or [])
    if resume is not None:
        _refuse_with_resume(chosen, context.params)
        training, unfinished = _resumed(resume)
        schema: dict[str, Any] = {"like": training.model}
    else:
        from onlineboost.evaluate.training import Training

        base = make_learner(learner, chosen, context.params)
        settings = {
            "n": n,
            "gamma": gamma,
            "delivery": delivery.value,
            "votes": votes.value,
            "head": head.value,
            "seed": seed,
        }
        model = make_booster(algorithm, base, settings, chosen)
        if adaptive:
            from onlineboost import Adaptive

            model = Adaptive(model)
        training = Training(model, base.clone() if baseline and algorithm != Algorithm.NONE else None)
        unfinished = None
        schema = o.schema_options(label, weight, drop, categorical, positive, bits)
    job.run(training, files, reading, schema, unfinished)
    result = job.summary(training)
    if algorithm != Algorithm.NONE or adaptive or resume is not None:
        result["verdict"] = training.model.verdict()
    if len(result["labels"]) < 2:
        known = ", ".join(map(str, result["labels"]))
        print(f"onlineboost: only one label was met ({known}): there is nothing to tell apart", file=sys.stderr)
    for name in training.model.columns_not_met():
        print(f"onlineboost: no feature of the column {name!r} was met, and nothing crossed with it", file=sys.stderr)
    if holdout and not job.interrupted:
        from onlineboost.cli.evaluate import measure

        result["holdout"], _ = measure(training.model, training.base, holdout, reading, quiet)
    if plot is not None:
        from onlineboost.evaluate.plots import Picture, draw

        title = f"{result['algorithm']} on {', '.join(Path(f).name for f in files[:3])}"
        draw(Picture(title, training.curve.line(), training.base_curve.line(), training.model.edges_), plot)
        result["plot"] = str(plot)
    if json_output:
        print_json(result)
    else:
        print_summary(result)
    if job.interrupted:
        raise typer.Exit(130)


def chosen_options(context: typer.Context) -> set[str]:
    """The options that were given, not left at their default."""
    return {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}


def _refuse_with_resume(chosen: set[str], values: dict[str, Any]) -> None:
    fixed = {"label", "weight", "drop", "categorical", "positive", "bits", "algorithm", "n", "gamma", "delivery"}
    fixed |= {
        "votes",
        "head",
        "adaptive",
        "seed",
        "learner",
        "learning_rate",
        "loss",
        "standardize",
        "baseline",
        "max_depth",
        "bins",
        "crosses",
        "cross",
    }
    for name in sorted(chosen & fixed):
        raise ParameterError(*_typed(name, values[name]), "nothing with --resume: settings come with the model")


def _resumed(path: Path) -> tuple[Training, dict[str, Any] | None]:
    from onlineboost.cli.load import load
    from onlineboost.evaluate.metrics import Curve
    from onlineboost.evaluate.training import Training

    loaded = load(path)
    training = Training(loaded.model, loaded.base)
    if loaded.notes:
        curves = (Curve.from_json(loaded.notes[name]) for name in ("curve", "base_curve"))
        training.curve, training.base_curve = curves
        training.entries = loaded.notes["entries"]
    return training, loaded.notes.get("unfinished")


_TAKES = {
    LearnerKind.LINEAR: {"loss", "learning_rate", "standardize", "bins", "crosses", "cross"},
    LearnerKind.PERCEPTRON: {"standardize"},
    LearnerKind.NAIVE_BAYES: {"bins"},
    LearnerKind.STUMP: {"bins"},
    LearnerKind.TREE: {"bins", "max_depth"},
}


def make_learner(kind: LearnerKind, chosen: set[str], given: dict[str, Any]) -> OnlineClassifier:
    from onlineboost import Linear, NaiveBayes, Perceptron, Stump, Tree

    for name in sorted(set.union(*_TAKES.values()) & chosen - _TAKES[kind]):
        raise ParameterError(*_typed(name, given[name]), f"nothing with --learner {kind.value}")
    binned = {} if given["bins"] is None else {"bins": given["bins"]}
    if kind == LearnerKind.STUMP:
        return Stump(**binned)
    if kind == LearnerKind.TREE:
        return Tree(given["max_depth"] or 5, **binned)
    if kind == LearnerKind.NAIVE_BAYES:
        return NaiveBayes(**binned)
    # Features with bins have no scale, so that nothing is standardised unless that was asked for.
    standardize = given["standardize"] and ("standardize" in chosen or not given["bins"])
    if kind == LearnerKind.PERCEPTRON:
        return Perceptron(standardize=standardize)
    if given["crosses"] and given["cross"]:
        raise ParameterError("--cross", given["cross"][0], "nothing with --crosses, which takes all pairs")
    crosses = given["crosses"] or [_pair(text) for text in given["cross"] or ()] or False
    rate = given["learning_rate"]
    return Linear(given["loss"].value, learning_rate=rate, standardize=standardize, crosses=crosses, **binned)


def _typed(name: str, value: Any) -> tuple[str, Any]:
    """An option and its value as they were typed, or nearly so."""
    option = "--learners" if name == "n" else f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return (option, "on") if value else (option.replace("--", "--no-", 1), "on")
    return option, value.value if isinstance(value, StrEnum) else value[0] if isinstance(value, list) else value


def _pair(text: str) -> tuple[str, str]:
    first, _, second = (part.strip() for part in text.partition(","))
    if not first or not second or "," in second:
        raise ParameterError("--cross", text, "two columns with a comma between them, such as --cross age,city")
    return first, second


def make_booster(
    algorithm: Algorithm, base: OnlineClassifier, given: dict[str, Any], chosen: set[str]
) -> OnlineClassifier:
    if algorithm == Algorithm.NONE:
        for name in sorted({"n", "gamma", "delivery", "votes", "head"} & chosen):
            raise ParameterError(*_typed(name, given[name]), "nothing with --algorithm none, which does not boost")
        base._assemble(1)
        return base
    kind = booster_of(algorithm)
    options: dict[str, Any] = {"random_state": given["seed"]}
    if algorithm == Algorithm.ADABOOST_OL_S:
        if given["delivery"] == Delivery.WEIGHT:
            raise ParameterError("--delivery", "weight", "sample, which is what adaboost-ol-s means")
        options["delivery"] = "sample"
    for name in sorted({"gamma", "votes", "head", "delivery"} & chosen):
        option, value = _typed(name, given[name])
        if name not in kind._defaults():
            others = "others have, such as -a bbm"
            raise ParameterError(option, value, f"nothing: {algorithm.value} has no such choice; {others}")
        options[name] = value
    n = given["n"] or kind._defaults()["n_estimators"]
    booster: OnlineClassifier = kind(base, n, **options)
    booster._assemble(1)  # settings are checked before files are opened
    return booster


def booster_of(algorithm: Algorithm) -> Any:
    """The class that an algorithm's name stands for."""
    from onlineboost import AdaBoostOL, AdaBoostOLPlus, DefensiveBoost, OnlineBBM, OSBoost, OSBoostOCP, SafeBoost

    kinds: dict[Algorithm, Any] = {
        Algorithm.BBM: OnlineBBM,
        Algorithm.OSBOOST: OSBoost,
        Algorithm.OSBOOST_OCP: OSBoostOCP,
        Algorithm.ADABOOST_OL_PLUS: AdaBoostOLPlus,
        Algorithm.DEFENSIVE: DefensiveBoost,
        Algorithm.SAFE: SafeBoost,
    }
    return kinds.get(algorithm, AdaBoostOL)
