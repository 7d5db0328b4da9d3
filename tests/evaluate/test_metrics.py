from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, mean_pinball_loss, r2_score, roc_auc_score, top_k_accuracy_score

from onlineboost import Adaptive, Copies, DataError, LeastSquares, Linear, OnlineBBM, ParameterError, SafeBoost, Tree
from onlineboost.__main__ import main
from onlineboost.cli.notes import Notes
from onlineboost.data.scores import joined_scores
from onlineboost.datasets import load_letter
from onlineboost.evaluate import Measurement, progressive_error
from onlineboost.evaluate.measurement import metrics_of
from onlineboost.evaluate.metrics import Calibration, Confusion, Curve, Metric, Ranking, auc
from onlineboost.evaluate.metrics.top_k import TopK
from onlineboost.evaluate.training import Counts
from onlineboost.readers import open_stream
from onlineboost.registry import METRICS, Registry

examples = st.lists(
    st.tuples(
        st.sampled_from([-2.5, -1.0, 0.0, 0.1, 3.0]), st.sampled_from([0.0, 1.0]), st.sampled_from([0.5, 1.0, 3.0])
    ),
    min_size=1,
    max_size=60,
)


def parts(rows: list, cuts: list[int]):
    """The rows as arrays, in batches."""
    table = np.array(rows)
    return [part.T for part in np.split(table, sorted(cut % len(rows) for cut in cuts)) if len(part)]


@given(examples, st.lists(st.integers(0, 1000), max_size=4))
def test_figures_do_not_depend_on_batches_and_equal_those_of_scikit_learn(rows, cuts):
    ranking, confusion, calibration = Ranking(), Confusion(), Calibration()
    for scores, y, weight in parts(rows, cuts):
        ranking.update(scores, y, weight)
        confusion.update(scores, y, weight)
        calibration.update(1 / (1 + np.exp(-scores)), y, weight)
    scores, y, weight = np.array(rows).T
    right = confusion.table.trace() / confusion.table.sum()
    assert right == pytest.approx(np.average((scores >= 0) == (y > 0), weights=weight))
    probability = 1 / (1 + np.exp(-scores))
    assert calibration.log_loss == pytest.approx(log_loss(y, probability, sample_weight=weight, labels=[0, 1]))
    assert calibration.brier == pytest.approx(np.average((probability - (y > 0)) ** 2, weights=weight))
    at = np.minimum((probability * 15).astype(int), 14)
    gaps = [np.abs(np.sum((weight * (probability - (y > 0)))[at == k])) for k in range(15)]
    assert calibration.error == pytest.approx(sum(gaps) / weight.sum())
    if len(set(y)) == 2:
        assert ranking.auc == pytest.approx(roc_auc_score(y, scores, sample_weight=weight))
    else:
        assert ranking.auc is None


def test_the_area_is_close_when_there_are_too_many_scores(monkeypatch):
    monkeypatch.setattr(auc, "_MAX_SCORES", 1000)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30_000) < 0.4, 1.0, 0.0)
    scores = rng.normal(size=y.size) + 2 * y
    ranking = Ranking()
    for part in np.array_split(np.arange(y.size), 10):
        ranking.update(scores[part], y[part], np.ones(part.size))
    assert ranking.scores.size <= 1000
    assert ranking.auc == pytest.approx(roc_auc_score(y, scores), abs=1e-3)


@given(st.lists(st.booleans(), min_size=1, max_size=3000), st.lists(st.integers(0, 5000), max_size=5))
def test_a_curve_remembers_the_same_points_whatever_the_batches(wrong, cuts):
    whole, cut = Curve(most=16), Curve(most=16)
    wrong = np.array(wrong)
    whole.update(wrong, np.ones(wrong.size))
    for part in np.split(wrong, sorted(c % wrong.size for c in cuts)):
        cut.update(part, np.ones(part.size))
    assert cut == whole
    assert len(whole.points) <= 16
    for n, error in whole.points:
        assert error == pytest.approx(wrong[:n].mean())
    assert [mark[0] for mark in whole.marks] == [1 << k for k in range(wrong.size.bit_length())]
    assert all(mistakes == wrong[:n].sum() for n, _, mistakes in whole.marks)


def test_a_curve_survives_json():
    curve = Curve()
    curve.update(np.array([True, False, True]), np.array([1.0, 2.0, 0.3]))
    notes = json.loads(json.dumps(Notes(Counts(curve)).as_json()))
    assert Notes.from_json(Path("model"), notes).counts.curve == curve


# ---- the registry


def test_every_metric_is_registered():
    described = {metric.name: (metric.title, metric.needs, metric.lower_is_better) for metric in METRICS}
    assert described == {
        "auc": ("AUC", "scores", False),
        "coverage": ("within 90 % interval", "intervals", False),
        "mae": ("mean absolute error", "scores", True),
        "pinball": ("pinball loss", "intervals", True),
        "r2": ("R2", "scores", False),
        "rmse": ("root mean square", "scores", True),
        "brier": ("Brier score", "probabilities", True),
        "calibration-error": ("calibration error", "probabilities", True),
        "error": ("error", "scores", True),
        "f1": ("F1", "scores", False),
        "log-loss": ("log loss", "probabilities", True),
        "macro-f1": ("macro F1", "scores", False),
        "mcc": ("MCC", "scores", False),
        "pr-auc": ("PR-AUC", "scores", False),
        "precision": ("precision", "scores", False),
        "recall": ("recall", "scores", False),
        "top-3": ("top-3 accuracy", "scores", False),
    }


@given(examples, st.lists(st.integers(0, 1000), max_size=4))
def test_a_measurement_is_each_metric_by_itself(rows, cuts):
    together, alone = Measurement(), {metric.name: metric.accumulator() for metric in metrics_of("classes")}
    for scores, y, weight in parts(rows, cuts):
        probabilities = 1 / (1 + np.exp(-scores))
        together.update(scores, y, weight, probabilities)
        for metric in metrics_of("classes"):
            alone[metric.name].update(scores if metric.needs == "scores" else probabilities, y, weight)
    for name, value in together.values().items():
        found = METRICS.find(name).value(alone[name])
        assert value == found or (value is None and math.isnan(found))
    assert together["error"].curve == alone["error"].curve
    assert together["log-loss"] is together["brier"]


def test_metrics_of_numbers():
    rng = np.random.default_rng(0)
    y, answers, weight = rng.normal(size=50), rng.normal(size=50), rng.random(50)
    bounds = np.stack([answers - 1, answers + 1], axis=1)
    measured = Measurement(metrics_of("number"))
    for part in (slice(0, 7), slice(7, 50)):
        measured.update(answers[part], y[part], weight[part], intervals=bounds[part])
    found = measured.values()
    ends = [mean_pinball_loss(y, bounds[:, k], sample_weight=weight, alpha=q) for k, q in ((0, 0.05), (1, 0.95))]
    assert found["pinball"] == pytest.approx(np.mean(ends))
    assert found["coverage"] == pytest.approx(np.average(np.abs(y - answers) <= 1, weights=weight))
    assert found["r2"] == pytest.approx(r2_score(y, answers, sample_weight=weight))
    assert found["rmse"] == pytest.approx(np.sqrt(np.average((y - answers) ** 2, weights=weight)))
    assert found["mae"] == pytest.approx(np.average(np.abs(y - answers), weights=weight))


@pytest.mark.parametrize(("task", "shape"), [("number", 300), ("classes", 300), ("classes", (300, 5))])
def test_metrics_have_the_same_bits_for_any_batches(task, shape):
    rng = np.random.default_rng(0)
    scores, weight, place = rng.normal(size=shape), rng.random(300), rng.integers(0, 2 if shape == 300 else 5, 300)
    y = rng.normal(size=300) if task == "number" else place
    bounds = {"intervals": scores[:, None] + [-1, 1]} if task == "number" else {}
    chances = {"probabilities": 1 / (1 + np.exp(-scores))} if task == "classes" else {}
    found = []
    for rows in (1, 7, 64, 300):
        measured = Measurement(metrics_of(task))
        for part in (slice(start, start + rows) for start in range(0, 300, rows)):
            more = {name: values[part] for name, values in (bounds | chances).items()}
            measured.update(scores[part], y[part], weight[part], **more)
        found.append(measured.values())
    assert found[0] == found[1] == found[2] == found[3]
    assert sum(value is not None for value in found[0].values()) >= 5


def test_the_area_has_the_same_bits_whenever_a_class_comes():
    rng = np.random.default_rng(0)
    two, scores, weight = rng.normal(size=200), rng.normal(size=(100, 3)), rng.random(300)
    y = np.array([*rng.choice([0.0, 1.0], 200), *rng.choice([0.0, 1.0, 2.0], 100)])
    cut, whole = Ranking(), Ranking()
    for part in (slice(0, 150), slice(150, 200)):
        cut.update(two[part], y[part], weight[part])
    cut.update(scores, y[200:], weight[200:])
    whole.update(joined_scores([two[:, None], scores]), y, weight)
    assert cut.auc == whole.auc
    assert [one.weight for one in cut.classes] == [one.weight for one in whole.classes]


def test_metrics_fit_the_task():
    X = np.random.default_rng(0).random((60, 2))
    assert progressive_error(LeastSquares(), X, X[:, 0], metric="rmse") < 0.3
    for model, metric, able in ((LeastSquares(), "error", "'mae' or 'r2' or 'rmse'"), (Linear(), "rmse", "'auc'")):
        with pytest.raises(ParameterError, match=f"a metric of scores: {able}"):
            progressive_error(model, X, (X[:, 0] > 0.5).astype(int), metric=metric)


def test_a_measurement_without_probabilities_leaves_their_metrics_out():
    measurement = Measurement()
    measurement.update(np.array([1.0, -1.0]), np.array([1.0, 1.0]), np.ones(2))
    nothing = dict.fromkeys(["auc", "brier", "calibration-error", "log-loss", "mcc", "top-3"])
    positive = {"f1": 2 / 3, "pr-auc": 1.0, "precision": 1.0, "recall": 0.5}
    assert measurement.values() == {"error": 0.5, "macro-f1": 1 / 3, **positive, **nothing}


def test_a_metric_of_ones_own_is_one_class(stream, monkeypatch):
    class Margin:
        total = weight = 0.0

        def update(self, scores, y, weight):
            self.total, self.weight = self.total + (weight * y * scores).sum(), self.weight + weight.sum()

        @property
        def value(self) -> float:
            return self.total / self.weight

    ours = Registry("metric", METRICS.room)
    monkeypatch.setattr("onlineboost.evaluate.progressive.METRICS", ours)
    ours.add(Metric("margin", "mean margin", Margin, lower_is_better=False))
    X, y = stream
    assert progressive_error(Linear(), X, y, metric="margin") == np.mean((y > 0) * Linear().progressive_fit(X, y))


# ---- progressive_error

MODELS = [
    Linear(),
    Tree(2),
    OnlineBBM(n_estimators=5),
    OnlineBBM(Linear(), 3, head="stack"),
    OnlineBBM(Copies(Linear()), 3),
    SafeBoost(Tree(2), 6, random_state=1),
    Adaptive(OnlineBBM(n_estimators=3)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_progressive_score_is_that_of_a_loop_that_scores_then_learns(model, stream):
    X, y = stream
    X, y, weight = X[:120], y[:120], np.random.default_rng(0).choice([0.0, 0.5, 2.0], 120)
    looped, scores = model.clone().partial_fit(X[:0], y[:0], classes=[-1, 1]), []
    for r in range(len(y)):
        row = slice(r, r + 1)
        scores.append(looped.decision_function(X[row])[0])
        looped.partial_fit(X[row], y[row], sample_weight=weight[row])
    wrong = sum(w for s, label, w in zip(scores, y, weight, strict=True) if (s >= 0) != (label > 0))
    assert progressive_error(model, X, y, sample_weight=weight) == pytest.approx(wrong / weight.sum(), abs=1e-12)
    area = roc_auc_score(y, scores, sample_weight=weight)
    assert progressive_error(model, X, y, "auc", weight) == pytest.approx(area, abs=1e-12)


def test_progressive_score_does_not_change_the_model(stream):
    X, y = stream
    new, fitted = OnlineBBM(Tree(2), 3, random_state=0), OnlineBBM(Tree(2), 3, random_state=0).fit(X[:50], y[:50])
    before = fitted.decision_function(X)
    assert progressive_error(fitted, X, y) == progressive_error(new, X, y)
    assert not new.__sklearn_is_fitted__()
    assert fitted.n_seen_ == 50
    np.testing.assert_array_equal(fitted.decision_function(X), before)


@pytest.mark.parametrize(("negative", "positive"), [(0, 1), (2, 3), ("ham", "spam"), (False, True), (-0.5, 7.0)])
def test_progressive_score_takes_any_two_labels(stream, negative, positive):
    X, y = stream
    labels = [positive if label > 0 else negative for label in y]
    assert progressive_error(OnlineBBM(n_estimators=3), X, labels) == progressive_error(OnlineBBM(n_estimators=3), X, y)
    assert progressive_error(Linear(), X, labels, metric="auc") > 0.7


@pytest.mark.parametrize("batch_size", [7, 1000])
def test_progressive_score_of_a_stream_is_that_of_its_scores(stream, batch_size):
    X, y = stream
    weight = np.where(X[:, 0] > 0, 0.5, 3.0)
    model = OnlineBBM(n_estimators=3)

    def opened():
        return open_stream(X, y=np.where(y > 0, "yes", "no"), sample_weight=weight, batch_size=batch_size)

    scores = model.clone().progressive_fit(opened())
    signs = np.concatenate([page.batch.y for page in opened()])
    error = np.average((scores >= 0) != (signs > 0), weights=weight)
    assert progressive_error(model, opened()) == pytest.approx(error)
    assert progressive_error(model, opened(), metric="auc") == pytest.approx(
        roc_auc_score(signs, scores, sample_weight=weight)
    )
    pages = list(opened())
    if len(pages) == 1:
        assert progressive_error(model, pages[0].batch) == progressive_error(model, opened())


def test_progressive_score_is_what_training_on_the_command_line_prints(stream, tmp_path, capsys):
    X, y = stream
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), fmt="%.6g", delimiter=",", comments="", header="a,b,c,d,e,f,g,h,i,j,half")
    with pytest.raises(SystemExit, match="0"):
        main(["train", str(path), "--label", "half", "-a", "bbm", "-n", "5", "--json"])
    said = json.loads(capsys.readouterr().out)
    base = Linear(standardize=True)
    for model, key in ((OnlineBBM(base, 5, random_state=0), "error"), (base, "base_error")):
        assert progressive_error(model, open_stream(path, label="half")) == said[key]


def test_progressive_score_says_what_it_cannot_do(stream):
    X, y = stream
    with pytest.raises(
        ParameterError,
        match=r"metric='log-loss': expected a metric of scores: 'auc' or 'error' or 'f1' or 'macro-f1' or",
    ):
        progressive_error(Linear(), X, y, metric="log-loss")
    with pytest.raises(ParameterError, match="metric='eror': expected one of auc, .*; did you mean 'error'"):
        progressive_error(Linear(), X, y, metric="eror")
    with pytest.raises(DataError, match="the target y is None"):
        progressive_error(Linear(), X)
    with pytest.raises(DataError, match="has its own labels"):
        progressive_error(Linear(), open_stream(X, y=y), y)
    with pytest.raises(DataError, match="no rows"):
        progressive_error(Linear(), open_stream(X[:0], y=y[:0]))
    assert math.isnan(progressive_error(Linear(), X, y, sample_weight=np.zeros(len(y))))
    one = open_stream([({"a": 1.0}, 1)] * 3)
    assert math.isnan(progressive_error(Linear(), one, metric="auc"))


def test_metrics_of_classes_do_not_depend_on_pages():
    """Pages before the third class have one score for each row."""
    X, letters = load_letter(letters=True)
    y = np.where(letters < "D", letters, "D")[np.argsort(letters == "C", kind="stable")][:600]
    X = X[np.argsort(letters == "C", kind="stable")][:600]
    y[:200] = np.where(y[:200] == "A", "A", "D")
    for metric in ("auc", "error", "macro-f1"):
        found = {
            progressive_error(Tree(2), open_stream(X, y=y, batch_size=rows), metric=metric) for rows in (20, 64, 600)
        }
        assert len(found) == 1 and 0 < found.pop() < 1


def test_top_3_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, place, weight = rng.normal(size=(500, 6)), rng.integers(0, 6, 500), rng.random(500)
    top = TopK()
    for part in (slice(0, 3), slice(3, 300), slice(300, 500)):
        top.update(scores[part], place[part], weight[part])
    assert top.value == pytest.approx(top_k_accuracy_score(place, scores, k=3, sample_weight=weight))
    few = TopK()
    few.update(scores[:, :3], np.minimum(place, 2), weight)
    assert math.isnan(few.value)  # all are among the first three
    late = TopK()  # a class that was not known yet, and one whose score ties with all
    late.update(np.array([[1.0, 0, 0, -np.inf], [0, 0, 0, 0]]), np.array([3.0, 2.0]), np.ones(2))
    assert late.value == 0.5


def test_a_label_that_two_classes_do_not_have_is_no_positive_one():
    ranking = Ranking()
    ranking.update(np.array([-2.0, -1, 1, 2, -3]), np.array([0.0, 0, 1, 1, 2]), np.ones(5))
    assert ranking.auc == 1.0
