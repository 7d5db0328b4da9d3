"""The model that a command line of Vowpal Wabbit asks for, as options of ``onlineboost train``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from onlineboost.classifier import OnlineClassifier
from onlineboost.cli.choice import are_numbers
from onlineboost.errors import ConflictError
from onlineboost.readers import files

Given = dict[str, list[str]]

_BOOSTERS = {
    "bbm": ("bbm", "--normalizer", "none"),
    "logistic": ("adaboost-ol", "--expert", "last"),
    "adaptive": ("adaboost-ol", "--expert", "random"),
}
_NUMBERS = {"learning_rate": "--learning-rate", "power_t": "--power-t", "bit_precision": "-b", "random_seed": "--seed"}
_ADAPTIVE = ("adaptive", "normalized", "invariant")
_EXACT_UP_TO = 62  # learners, in vw's BBM

MODEL_OPTIONS = (
    *("boosting", "alg", "gamma", "loss_function", "link", "quadratic", "interactions", "oaa"),
    "classweight",
    *("min_prediction", "max_prediction", *_NUMBERS, *_ADAPTIVE),
)


@dataclass
class Translation:
    """The translation of a command, or of its options for the model."""

    options: list[str] = field(default_factory=list)  # of ``train``
    notes: list[str] = field(default_factory=list)  # differences, and options that need no counterpart
    missing: dict[str, str] = field(default_factory=dict)  # options without a counterpart, and what to do instead
    is_default: bool = False  # whether it is the default model of ``train``
    commands: list[str] = field(default_factory=list)


class Source:
    """VW text that need not exist: the command may be for another machine."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        return Path(self.path).is_file()

    @cached_property
    def lines(self) -> list[str]:
        """The first lines, of 64 KB at most."""
        if not self.exists:
            return []
        with files.Source(self.path) as file:
            start = file.head()
        return (start[: start.rfind(b"\n") + 1] or start).decode(errors="replace").splitlines()

    @property
    def labels(self) -> set[float]:
        """Different labels; none if some are not numbers, which ``train`` reports."""
        words = [line.partition("|")[0].split() for line in self.lines]
        try:
            return {float(before[0]) for before in words if before}
        except ValueError:
            return set()

    @property
    def namespaces(self) -> list[str]:
        """Namespaces in the order in which they come."""
        parts = [part for line in self.lines for part in line.split("|")[1:] if not part[:1].isspace()]
        return list(dict.fromkeys(part.split()[0].partition(":")[0] for part in parts if part.strip()))


def read_model(given: Given, source: Source) -> Translation:
    """The options of ``train`` for those of ``vw``."""
    classes = "boosting" in given or "oaa" in given or "binary" in given or last(given, "loss_function") == "logistic"
    if not classes and are_numbers(source.labels):
        return _regressor(given)
    model = Translation()
    _boosting(given, model)
    model.options.append("--no-standardize")
    _loss(given, model)
    for name, flag in _NUMBERS.items():
        if name in given:
            model.options += [flag, number(given, name)]
    for pair in given.get("classweight", []):
        model.options += ["--class-weight", _weight(pair)]
    _crosses(given, source, model)
    if not classes and not source.exists:
        model.notes.append("if the labels are numbers and not classes: onlineboost train FILE -f vw --task number")
    if not classes and source.labels == {0, 1}:
        model.notes.append("labels 0 and 1 are classes: scores are within -1 and +1; vw's are near the labels.")
    if "oaa" in given:
        most = int(number(given, "oaa"))
        model.options += ["--max-classes", str(most)] if most > OnlineClassifier.max_classes else []
        model.notes.append(
            "--oaa: one model for each label of the file, from where it is first met; the answers are near vw's."
        )
    chosen = [name for name in _ADAPTIVE if name in given]
    if 0 < len(chosen) < len(_ADAPTIVE):
        model.missing["--" + chosen[0]] = "updates are always adaptive, normalized and importance-invariant."
    return model


def _regressor(given: Given) -> Translation:
    model = Translation(["--task", "number"], is_default=True)
    model.notes.append("numeric labels: OnlineBoostRegressor, more than vw's linear model (docs/regression.md).")
    without = [f"--{name}" for name in given if name in MODEL_OPTIONS]
    if without:
        model.notes.append(f"{', '.join(without)}: left out, since OnlineBoostRegressor chooses its own settings.")
    return model


def _boosting(given: Given, model: Translation) -> None:
    if "boosting" not in given:
        model.options += ["-a", "none"]
        return
    n, alg = number(given, "boosting"), (last(given, "alg") or "BBM").lower()
    if alg not in _BOOSTERS:
        raise ConflictError(f"vw --alg {last(given, 'alg')}: expected BBM, logistic or adaptive.")
    algorithm, *more = _BOOSTERS[alg]
    gamma = ["--gamma", number(given, "gamma")] if alg == "bbm" and "gamma" in given else []
    model.options += ["-a", algorithm, "-n", n, *gamma, *more, "--votes", "real"]
    if alg == "bbm" and int(n) > _EXACT_UP_TO:
        model.notes.append(
            f"--boosting {n}: vw's weights are wrong for more than {_EXACT_UP_TO} learners; ours are exact."
        )
    if alg == "adaptive":
        model.notes.append("--alg adaptive: another random expert than vw's; --expert vote is their weighted vote.")
    if "bit_precision" in given:
        model.notes.append("-b: slots for each learner; in vw all learners share them.")


def _loss(given: Given, model: Translation) -> None:
    loss, link = last(given, "loss_function") or "squared", last(given, "link") or "identity"
    limits = {"squared": 1.0, "logistic": 50.0}
    if loss not in limits:
        model.missing[f"--loss_function {loss}"] = (
            "--loss squared or logistic; for numbers, in Python OnlineGradientBoost has six losses."
        )
        return
    if link not in ("identity", "logistic"):
        model.missing[f"--link {link}"] = (
            "scores have no link function; onlineboost predict has a column of probabilities."
        )
    if link == "logistic" and "boosting" in given:
        model.missing["--link logistic"] = (
            "with --boosting it makes votes of 0 to 1, and an error of one half: leave it out."
        )
    model.options += ["--loss", loss] if loss != "squared" else []
    bounds = [float(number(given, name)) if name in given else None for name in ("min_prediction", "max_prediction")]
    most = limits[loss]
    if bounds not in ([None, None], [-most, most]):
        model.missing["--min_prediction, --max_prediction"] = f"scores are within -{most:g} and +{most:g}, always."
    if loss == "squared" and bounds == [None, None] and "oaa" not in given:
        model.notes.append("scores are within -1 and +1 from the start; vw's range grows with the labels it meets.")


def _crosses(given: Given, source: Source, model: Translation) -> None:
    pairs: dict[tuple[str, str], None] = {}
    for name in ("quadratic", "interactions"):
        for letters in given.get(name, []):
            if letters == "::":
                model.options.append("--crosses")
                model.notes.append(
                    "--crosses: all pairs of different features; vw multiplies a feature by itself, too."
                )
            elif len(letters) != 2 or ":" in letters or not letters.isalnum():
                model.missing[f"--{name} {letters}"] = (
                    "--cross takes pairs of namespaces; trees find more by themselves."
                )
            else:
                known = source.namespaces  # or the letters if there are none
                first, second = ([name for name in known if name.startswith(each)] or [each] for each in letters)
                pairs |= dict.fromkeys((a, b) for a in first for b in second)
    if "--crosses" in model.options:
        return
    for pair in pairs:
        model.options += ["--cross", ",".join(pair)]
    if any(a == b for a, b in pairs):
        model.notes.append("--cross: of a namespace with itself, all pairs of different features; vw has squares, too.")
    if pairs and not source.namespaces:
        model.notes.append("--cross: names of namespaces, where vw has their first letters: write them out.")


def _weight(pair: str) -> str:
    label, _, weight = pair.rpartition(":")
    if not label or not weight.replace(".", "", 1).isdigit():
        raise ConflictError(f"vw --classweight {pair}: expected a label and its weight, such as 1:10.")
    return f"{label}={weight}"


def last(given: Given, name: str) -> str | None:
    return given[name][-1] if given.get(name) else None


def number(given: Given, name: str) -> str:
    """The value of an option as text, which is a number in its range."""
    text = given[name][-1]
    whole = name in ("boosting", "bit_precision", "passes", "random_seed", "oaa")
    limits = {"boosting": (1, 10_000), "bit_precision": (1, 30), "passes": (1, 10_000), "power_t": (0, 1)}
    limits["oaa"] = (1, 1000)
    low, high = limits.get(name, (None, None))
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        raise ConflictError(f"vw --{name} {text}: expected a {'whole ' * whole}number.") from None
    if low is not None and high is not None and not low <= value <= high:
        raise ConflictError(f"vw --{name} {text}: expected {low} to {high:,}, which onlineboost has.")
    return text
