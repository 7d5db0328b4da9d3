"""Model files of ``train``, and their notes: error curves, unfinished input, inputs learned."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from onlineboost.cli.fingerprint import Input
from onlineboost.cli.inputs import MOST_TIMES, Learned, Unfinished
from onlineboost.data.classes import MAX_CLASSES
from onlineboost.errors import ModelFileError
from onlineboost.evaluate.metrics import Curve, NumberErrors
from onlineboost.evaluate.paired import Paired, PairedLoss
from onlineboost.evaluate.repeated import Repeated
from onlineboost.evaluate.threshold import Threshold
from onlineboost.evaluate.training import Counts
from onlineboost.fitted.fitted import Fitted
from onlineboost.model import OnlineModel, load_all

_MANY = 1 << 62


@dataclass
class Notes:
    """Facts that ``onlineboost train`` saves with the model."""

    counts: Counts = field(default_factory=Counts)
    unfinished: Unfinished | None = None  # None: the training came to its end
    learned: list[Learned] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        counts = self.counts
        return {
            "curve": asdict(counts.curve),
            "base_curve": asdict(counts.base_curve),
            "entries": counts.entries,
            "unfinished": self.unfinished and self.unfinished.as_json(),
            "learnt": [one._asdict() for one in self.learned],
            "paired": counts.paired and asdict(counts.paired),
            "repeated": counts.repeated and asdict(counts.repeated),
            "errors": asdict(counts.errors) if counts.errors.weight else None,
            "threshold": counts.threshold and counts.threshold.as_json(),
            "losses": counts.losses and asdict(counts.losses),
        }

    @classmethod
    def from_json(cls, path: Path, facts: Any) -> Notes:
        """Notes of a model file, checked; a model saved in Python has none."""
        if facts is None:
            return cls()
        try:
            counts = Counts(
                _curve(facts["curve"]),
                _curve(facts["base_curve"]),
                _whole(facts["entries"]),
                _optional(_paired, facts.get("paired")),
                _optional(_repeated, facts.get("repeated")),
                _optional(_errors, facts.get("errors")) or NumberErrors(),
                _optional(Threshold.from_json, facts["threshold"]) if "threshold" in facts else Threshold(),
                _optional(_losses, facts.get("losses")),
            )
            learned = [_learned(one) for one in _items(facts.get("learnt", []))]
            return cls(counts, _unfinished(facts.get("unfinished")), learned)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            expected = "not written by onlineboost train: expected its model file, or a model saved in Python"
            raise ModelFileError(path, "notes", expected) from problem


class Loaded(NamedTuple):
    model: OnlineModel
    fitted: Fitted
    base: OnlineModel | None  # the base learner, trained on the same stream
    notes: Any  # of its training, as JSON: ``Notes.from_json`` checks them


def load(path: Path) -> Loaded:
    """The model of a file, its base learner and the notes of its training."""
    if not path.expanduser().exists():
        raise FileNotFoundError(f"{path}: no such model; to train one: onlineboost train FILES -o {path}")
    model, base, notes = load_all(path)
    return Loaded(model, model._fitted, base, notes)


def threshold_of(path: Path, facts: Any) -> Threshold | None:
    """Counts for thresholds, by training; None if the notes have none."""
    given = facts.get("threshold") if isinstance(facts, dict) else None
    try:
        return _optional(Threshold.from_json, given)  # type: ignore[no-any-return]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise ModelFileError(path, "notes", "a threshold not written by onlineboost train") from problem


def _whole(value: Any, least: int = 0, most: int = _MANY) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(value)
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(value)
    return value


def _items(value: Any, most: int = _MANY) -> list[Any]:
    if type(value) is not list or len(value) > most:
        raise ValueError(value)
    return value


def _curve(facts: dict[str, Any]) -> Curve:
    points = [(_whole(n, 1), _number(error)) for n, error in _items(facts["points"], 1 << 20)]
    marks = [(_whole(n, 1), _number(weight), _number(wrong)) for n, weight, wrong in _items(facts["marks"], 63)]
    if [mark[0] for mark in marks] != [1 << k for k in range(len(marks))]:
        raise ValueError(marks)
    examples = _whole(facts["examples"])
    if len(marks) != examples.bit_length() or any(n > examples for n, _ in points):
        raise ValueError(examples)
    most, stride = _whole(facts["most"], 1), _whole(facts["stride"], 1)
    weight, mistakes = _number(facts["weight"]), _number(facts["mistakes"])
    return Curve(most, stride, examples, weight, mistakes, points, marks)


def _paired(facts: dict[str, Any]) -> Paired:
    found = Paired(*(_number(facts[one.name]) for one in fields(Paired)))
    if found.better + found.worse > found.weight * (1 + 1e-6):
        raise ValueError(found)
    return found


def _losses(facts: dict[str, Any]) -> PairedLoss:
    odds = [[float(one) for one in _items(table, 65)] for table in _items(facts["odds"], 2)]
    shaped = [len(table) for table in odds] in ([], [65, 65])
    gained = float(facts["gained"])
    if not shaped or not all(map(math.isfinite, [gained, *(one for table in odds for one in table)])):
        raise ValueError(facts)
    weight, squares, other = (_number(facts[name]) for name in ("weight", "squares", "other"))
    return PairedLoss(_whole(facts["rows"]), weight, gained, squares, other, odds)


def _repeated(facts: dict[str, Any]) -> Repeated:
    weight, mistakes, squared = (_number(facts.get(name, 0.0)) for name in ("weight", "mistakes", "squared"))
    counts = [_number(one) for one in _items(facts.get("counts", []), MAX_CLASSES)]
    _number(abs(facts["last"]))
    return Repeated(float(facts["last"]), weight, mistakes, squared, counts)


def _errors(facts: dict[str, Any]) -> NumberErrors:
    found = NumberErrors(*(float(facts[one.name]) for one in fields(NumberErrors)))
    if not all(map(math.isfinite, asdict(found).values())) or min(found.weight, found.squared, found.absolute) < 0:
        raise ValueError(found)
    return found


def _unfinished(facts: Any) -> Unfinished | None:
    if facts is None:
        return None
    input = _optional(_input, facts["input"])
    rows = _whole(facts["rows"], 0, _MANY if input is not None else 0)
    left = {_input(one): _whole(one["times"], 1, MOST_TIMES) for one in _items(facts["left"])}
    head, times = _optional(_text, facts["head"]), _whole(facts["times"])
    return Unfinished(input, rows, left, bool(facts["error"]), head, times)


def _input(facts: dict[str, Any]) -> Input:
    return Input(_text(facts["name"]), _optional(_whole, facts["size"]), _text(facts["digest"]))


def _optional(check: Any, value: Any) -> Any:
    return None if value is None else check(value)


def _learned(facts: dict[str, Any]) -> Learned:
    name, size, digest = _input(facts)
    return Learned(name, size, digest or "", _whole(facts["rows"]), _whole(facts["times"], 1))
