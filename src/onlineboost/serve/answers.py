"""Predictions of models as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from onlineboost.data.batch import Floats
from onlineboost.data.scores import as_columns
from onlineboost.ensembles.regressor import OnlineBoostRegressor
from onlineboost.fitted import late
from onlineboost.fitted.fitted import Fitted
from onlineboost.model import OnlineModel
from onlineboost.readers.memory import table_of_lines

_lines = msgspec.json.Encoder().encode_lines


def key(label: Any) -> str:
    """A label as a key of JSON."""
    return {True: "true", False: "false"}[label] if isinstance(label, bool) else str(label)


def finite(value: Any) -> Any:
    """A finite number; None for others."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def answer(model: OnlineModel, fitted: Fitted, scores: Floats) -> dict[str, Any]:
    """The prediction for the scores of one row, [width]."""
    (found,) = answers(model, fitted, scores[None])
    return found


def answers(model: OnlineModel, fitted: Fitted, scores: Floats) -> list[dict[str, Any]]:
    """A prediction for each row of scores, [rows, width]."""
    if fitted.of_numbers:
        return _numbers(model, fitted, scores)
    scores = as_columns(scores)
    chances = fitted.probabilities(scores)
    target, cutoff = fitted.target, fitted.cutoff
    signs = fitted.by_threshold(chances if cutoff is not None and cutoff.of_probability else scores, cutoff)
    if len(signs) == 1:
        by_label = target.by_label(chances[0])
        return [
            {
                "prediction": target.decode_one(signs[0]),
                "probabilities": {key(k): float(p) for k, p in by_label.items()},
            }
        ]
    labels = target.decode(signs).tolist() if len(target.classes) else [None] * len(signs)
    names = [key(label) for label in target.classes.tolist()]
    if len(names) < 2:
        shares: list[list[float]] = [[1.0] * len(names)] * len(labels)
    else:
        shares = target.probabilities(chances).tolist()
    return [
        {"prediction": label, "probabilities": dict(zip(names, share, strict=True))}
        for label, share in zip(labels, shares, strict=True)
    ]


def _numbers(model: OnlineModel, fitted: Fitted, scores: Floats) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"prediction": finite(float(row[0]))} for row in scores]
    if isinstance(model, OnlineBoostRegressor) and fitted.root.n_learned:
        low, high = model.bounds(scores)
        for one, ends in zip(found, zip(low.tolist(), high.tolist(), strict=True), strict=True):
            one["interval"] = [*map(finite, ends)]  # of 90 %
    return found


def predict_one(model: OnlineModel, x: Mapping[str, Any]) -> dict[str, Any]:
    """The prediction for one dict of features."""
    fitted = fitted_of(model)
    return answer(model, fitted, fitted.score_one(x))


def predict_many(model: OnlineModel, X: Any) -> list[dict[str, Any]]:
    """The predictions for a list of dicts or an Arrow table."""
    if not len(X):
        return []
    fitted = fitted_of(model)
    if isinstance(X, list) and fitted.columns.schema is None:  # of JSON: there is no need to look at each value
        source = table_of_lines(_lines(X), fitted.columns)
        fitted.columns.locate(source)
        return answers(model, fitted, fitted.scores(source))
    return answers(model, fitted, model._scores_many(X))


def ask(model: OnlineModel, x: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a ticket, and the prediction."""
    fitted = fitted_of(model)
    data, scores = late.ask_apart(fitted, x)
    return data, answer(model, fitted, scores)


def explain_one(model: OnlineModel, x: Mapping[str, Any], top: int) -> dict[str, Any]:
    """The strongest contributions to the score of one dict of features; of several classes, for each."""
    found = model.explain_one(x)
    if hasattr(found, "bias"):
        return _reasons(found, top)
    return {"classes": {key(label): _reasons(reasons, top) for label, reasons in found.items()}}


def _reasons(found: Any, top: int) -> dict[str, Any]:
    shown = {str(name): finite(float(value)) for name, value in [*found.items()][:top]}
    return {"score": finite(float(found.score)), "bias": finite(float(found.bias)), "contributions": shown}


def fitted_of(model: OnlineModel) -> Fitted:
    assert model._fitted is not None  # models of the service begin with a ``Fitted``
    return model._fitted


def metrics(model: OnlineModel) -> dict[str, Any]:
    """Running metrics as JSON."""
    found = model.metrics_
    return {
        "task": "regression" if fitted_of(model).of_numbers else "classification",
        "all": {name: finite(value) for name, value in found.all._asdict().items()},
        "last": {name: finite(value) for name, value in found.last._asdict().items()},
        "alarms": int(model.n_alarms_),
        "learned": model.n_seen_,
    }
