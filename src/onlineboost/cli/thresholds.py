"""``--threshold`` and ``--cost``, and metrics of a rare positive label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from onlineboost.cli import options as o
from onlineboost.cli.notes import Loaded, threshold_of
from onlineboost.cli.terminal import printable
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.evaluate.metrics.confusion import Confusion, cost, f1, precision, recall
from onlineboost.evaluate.threshold import Cutoff, Rule
from onlineboost.evaluate.training import RARE, Training

_HELP = "Threshold for the positive label: a probability, f1 (best F1), cost (lowest --cost), or recall=0.9."
TrainingThreshold = Annotated[str | None, o.labels(f"{_HELP} (default: 0.5)", metavar="RULE")]
ThresholdOption = Annotated[str | None, o.labels(f"{_HELP} (default: that of the model, or 0.5)", metavar="RULE")]
CostOption = Annotated[
    str | None, o.labels("Cost of a false negative and of a false positive, such as fn=10,fp=1.", metavar="COSTS")
]


def rule_of(threshold: str | None, cost: str | None) -> Rule | None:
    """The rule of ``--threshold``; None without the option."""
    costs = costs_of(cost)
    if threshold is None:
        return None
    if threshold == "cost" and cost is None:
        raise ConflictError("--threshold cost needs --cost, such as --cost fn=10,fp=1.")
    return Rule.parsed(threshold, *costs, name="--threshold")


def costs_of(cost: str | None) -> tuple[float, float]:
    """Costs of a false negative and of a false positive."""
    found = {"fn": 1.0, "fp": 1.0}
    for pair in cost.split(",") if cost is not None else ():
        name, _, value = pair.strip().partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in found or not 0 <= number <= 1e18:
            raise ParameterError("--cost", cost, "costs of at least 0, such as fn=10,fp=1")
        found[name] = number
    if not any(found.values()):
        raise ParameterError("--cost", cost, "costs that are not both 0")
    return found["fn"], found["fp"]


def cutoff_of(path: Path, loaded: Loaded, asked: Rule | None) -> Cutoff | None:
    """The requested threshold, or else that of the model; None if it has none."""
    target = loaded.fitted.target
    if asked is not None and (target.width > 1 or not len(target.classes)):
        raise ConflictError("--threshold is for binary classification: leave it out for this model.")
    if asked is not None and len(target.classes) == 1:
        only = printable(target.classes[0])
        raise ConflictError(f"--threshold needs two labels, and the model knows only {only}: leave it out.")
    if asked is not None and asked.by is None:
        assert asked.at is not None
        return Cutoff(asked.at, True)
    two = target.width == 1 and len(target.classes) == 2
    counted = threshold_of(path, loaded.notes) if two else None
    if asked is None:
        return loaded.fitted.cutoff
    found = None if counted is None else counted.cut(asked, target.turned)
    if found is None:
        raise ConflictError(
            f"--threshold {asked} needs the label counts that onlineboost train saves, which {path} does not have: "
            "give a number, such as --threshold 0.2, or train the model again."
        )
    return found


def is_rare(confusion: Confusion) -> bool:
    """Whether few examples have the positive label."""
    return 0 < float(confusion.table[1].sum()) < RARE * float(confusion.table.sum())


def positive_figures(training: Training) -> dict[str, Any]:
    """Metrics of the positive label, and the threshold; empty for several classes and for regression."""
    threshold, fitted = training.threshold, training.model._fitted
    if threshold is None or fitted is None or len(fitted.target.classes) != 2:
        return {}
    confusion, cutoff, rule = threshold.confusion(fitted.target.turned), training.cutoff, threshold.rule
    figures = {"f1": f1(confusion), "precision": precision(confusion), "recall": recall(confusion)}
    figures |= {"share": threshold.share(fitted.target.turned), "rare": is_rare(confusion)}
    if cutoff is None:
        return {"positive": figures}
    if rule is not None and rule.by == "cost":
        figures["cost"] = cost(confusion, rule.fn, rule.fp)
    found = {
        "rule": str(rule),
        "probability": cutoff.probability(fitted),
        "score": None if cutoff.of_probability else cutoff.at,
    }
    return {"positive": figures, "threshold": found}


def positive_lines(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Lines of the summary: where the positive label is rare, or a threshold was asked for."""
    found: list[tuple[str, str]] = []
    figures, threshold = result.get("positive"), result.get("threshold")
    if figures is None:
        return found
    if threshold is not None:
        by = "" if threshold["score"] is None else f" (by {threshold['rule']})"
        found.append(("threshold", f"{threshold['probability']:.4f}{by}"))
    if figures["rare"] or threshold is not None:
        label, share = result["labels"][1], f"{100 * figures['share']:.2g} % of the examples"
        more = f"precision {figures['precision']:.4f}, recall {figures['recall']:.4f}; {share}"
        found.append(("progressive F1", f"{figures['f1']:.4f} of {label}: {more}"))
        if "cost" in figures:
            found.append(("cost per example", f"{figures['cost']:.4f}"))
    elif figures["share"] > 1 - RARE:
        label, share = result["labels"][0], f"{100 * (1 - figures['share']):.2g} % of the examples"
        found.append(("rare label", f"{label} ({share}): --positive {label} shows how well it is found"))
    return found
