"""Running metrics: those of the scores that rows had before they were learned, for any batches and any source."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import river.metrics

import onlineboost
from onlineboost import LeastSquares, Linear, OnlineBBM, StackedEnsemble
from onlineboost.errors import ModelFileError
from onlineboost.evaluate import progressive_error
from onlineboost.readers import open_stream
from tests.model_files import forge

ROWS = 1800
MODELS = {
    "two": lambda: OnlineBBM(Linear(), 3, head="stack", random_state=0),
    "votes": lambda: OnlineBBM(Linear(), 3, random_state=0, class_weight="balanced"),
    "classes": lambda: StackedEnsemble([Linear(), Linear("logistic")], random_state=0),
    "unknown": lambda: OnlineBBM(Linear(), 3, head="stack", random_state=0),  # log odds until there are three classes
    "numbers": LeastSquares,
}


def data(kind: str):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 4))
    y = X @ [1, -2, 3, 0.5] + rng.normal(size=ROWS)
    y = (
        y
        if kind == "numbers"
        else np.digitize(y, [-1, 2]) * (np.arange(ROWS) > 40)
        if kind in ("classes", "unknown")
        else y > 0
    )
    return [{f"x{k}": value for k, value in enumerate(row)} for row in X.tolist()], y.tolist(), rng.integers(0, 3, ROWS)


def stream(kind: str):
    rows, y, weight = data(kind)
    weighted = [row | {"w": own} for row, own in zip(rows, weight.tolist(), strict=True)]
    return open_stream(weighted, y=y, weight="w", task="number" if kind == "numbers" else "classes")


def learned(kind: str, *sizes: int):
    """A model that has learned in batches of these sizes; without any, row by row."""
    model, (rows, y, weight) = MODELS[kind](), data(kind)
    for row, label, own in zip(rows, y, weight.tolist(), strict=True) if not sizes else ():
        model.learn_one(row, label, own)
    for page in stream(kind) if sizes else ():
        start, some = 0, itertools.cycle(sizes)
        while start < page.n_rows:
            stop = min(start + next(some), page.n_rows)
            model.learn(page.rows(start, stop))
            start = stop
    return model


def kept(model) -> list[bytes]:
    return [array.tobytes() for array in model._fitted.running.state()]


@pytest.mark.parametrize("kind", MODELS)
def test_metrics_are_the_same_for_any_batches_and_after_loading(kind, tmp_path):
    """Rows of weight 0 do not count; the first row of a class is answered without it."""
    single, mixed = learned(kind), learned(kind, 100, 1, 2, 7)
    assert kept(single) == kept(mixed)
    assert single.metrics_.last.rows == 1000
    mixed.save(tmp_path / "model")
    loaded = onlineboost.load(tmp_path / "model")
    assert kept(loaded) == kept(mixed)
    assert loaded.metrics_.all[:3] == mixed.metrics_.all[:3]
    assert (loaded.metrics_.all.rate, loaded.metrics_.last.rate) == (None, None)  # of the process that learned


@pytest.mark.parametrize("kind", ["two", "classes", "numbers"])
def test_metrics_are_those_of_river(kind):
    """Of the last 1,000 rows: all others were learned before, so that there are answers."""
    rows, y, weight = data(kind)
    model, first = MODELS[kind](), np.flatnonzero(weight)[-1000]
    names = ("MAE", "MSE") if kind == "numbers" else ("Accuracy", "CrossEntropy")
    theirs = [getattr(river.metrics, name)() for name in names]
    for k in range(ROWS):
        if k >= first and weight[k]:
            one = model.predict_one(rows[k])
            other = one if kind == "numbers" else model.predict_proba_one(rows[k])
            for metric, answer in zip(theirs, (one, other), strict=True):
                metric.update(y[k], answer, w=float(weight[k]))
        model.learn_one(rows[k], y[k], float(weight[k]))
    loss, other = (metric.get() for metric in theirs)
    expected = [loss if kind == "numbers" else 1 - loss, other]
    assert [*model.metrics_.last[1:3]] == pytest.approx(expected, rel=1e-9)
    assert model.metrics_.all.rows == np.count_nonzero(weight)


def test_errors_are_progressive_and_late_answers_count_as_they_were_given():
    rows, y, _ = data("two")
    expected = progressive_error(MODELS["two"](), stream("two"))
    assert learned("two", 500).metrics_.all.error == pytest.approx(expected)
    model = MODELS["two"]()
    model.learn_one(rows[0], True)
    model.learn_one(rows[1], False)
    asked = [model.ask(row) for row in rows[2:300]]
    model.tell(asked, y[2:300])
    wrong = sum(ticket.prediction != label for ticket, label in zip(asked, y[2:300], strict=True))
    assert model._fitted.running.last[2:300, 1].sum() == wrong


def test_log_loss_of_scores_that_are_no_log_odds_is_not_known():
    assert learned("votes", 500).metrics_.all.log_loss is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("sums", -1.0), ("sums", np.nan), ("sums", 1.0), ("last", np.inf), ("last", 0.0), ("last", np.zeros((9, 3)))],
)
def test_damaged_metrics_are_refused(name, value, tmp_path):
    learned("two", 500).save(tmp_path / "model")

    def change(arrays, facts) -> None:
        arrays[f"model.metrics.{name}"] = (
            value if np.ndim(value) else np.full_like(arrays[f"model.metrics.{name}"], value)
        )

    forge(tmp_path / "model", tmp_path / "forged", change)
    with pytest.raises(ModelFileError):
        onlineboost.load(tmp_path / "forged")
