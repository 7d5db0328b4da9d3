"""Classes or numbers: what ``onlineboost train`` takes the labels for."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from commands import run

from onlineboost import DataError, Linear, OnlineBoostRegressor, load
from onlineboost.cli import tune
from onlineboost.readers import open_stream


def write(path, labels, rows=300):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 2)).round(3)
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), labels(X), strict=True)]
    path.write_text("a,b,y\n" + "\n".join(lines) + "\n")


LABELS = {
    "fractions": (lambda X: (3 * X[:, 0] + X[:, 1]).round(2).tolist(), "number"),
    "counts": (lambda X: (40 * np.abs(X[:, 0])).astype(int).tolist(), "number"),
    "few": (lambda X: (X[:, 0] > 0).astype(int) + (X[:, 1] > 0), "classes"),
    "words": (lambda X: np.where(X[:, 0] > 0, "yes", "no").tolist(), "classes"),
    "two": (lambda X: np.where(X[:, 0] > 0, 0.5, 1.5).tolist(), "classes"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_the_task_is_found(kind, tmp_path, capsys):
    labels, task = LABELS[kind]
    write(tmp_path / "x.csv", labels)
    out, _ = run(capsys, "train", tmp_path / "x.csv", "--label", "y", "-o", tmp_path / "m", "--json")
    result = json.loads(out)
    assert ("number" in result) == (task == "number")
    assert result["algorithm"] == ("OnlineBoostRegressor" if task == "number" else "OnlineBoostClassifier")
    if task == "number":
        assert result["number"]["mae"] == pytest.approx(result["error"])
        assert result["no_change_error"] > result["error"]


def test_the_logarithm_is_learned_where_it_is_asked_for(tmp_path, capsys):
    write(tmp_path / "x.csv", lambda X: np.exp(X[:, 0]).round(3).tolist())
    command = "train", tmp_path / "x.csv", "--label", "y"
    run(capsys, *command, "--target", "log", "-o", tmp_path / "m")
    assert load(tmp_path / "m").target == "log"
    _, said = run(
        capsys, "train", tmp_path / "x.csv", "--resume", tmp_path / "m", "--again", "--target", "auto", code=2
    )
    assert "--target is fixed by the model of --resume, which has log" in said
    _, said = run(capsys, *command, "--task", "classes", "--target", "log", code=2)
    assert "--target is for regression: leave it out, or use --task number" in said
    write(tmp_path / "x.csv", LABELS["fractions"][0])
    _, said = run(capsys, *command, "--target", "log", code=1)
    assert "expected a number above 0" in said and "--target auto" in said and "row" in said


def test_numbers_from_training_to_answers(tmp_path, capsys):
    write(tmp_path / "x.csv", LABELS["fractions"][0], 800)
    out, _ = run(capsys, "train", tmp_path / "x.csv", "--label", "y", "-o", tmp_path / "m")
    assert "a number, " in out and "--task classes" in out and "R2:" in out
    resumed, _ = run(capsys, "train", tmp_path / "x.csv", "--resume", tmp_path / "m", "--again", "--json")
    assert json.loads(resumed)["examples"] == 1600
    tested, _ = run(capsys, "evaluate", tmp_path / "m", tmp_path / "x.csv", "--label", "y", "--json")
    assert json.loads(tested)["r2"] > 0.9 and 0.7 < json.loads(tested)["coverage"] <= 1
    printed, _ = run(capsys, "evaluate", tmp_path / "m", tmp_path / "x.csv", "--label", "y")
    assert "within 90 % interval" in printed and "pinball loss" in printed
    assert json.loads(tested)["pinball"] < json.loads(tested)["mae"] == pytest.approx(json.loads(tested)["error"])
    run(capsys, "evaluate", tmp_path / "m", tmp_path / "x.csv", "--label", "y", "--plot", tmp_path / "p.svg")
    assert "weight in the stack" in (tmp_path / "p.svg").read_text()
    run(capsys, "predict", tmp_path / "m", tmp_path / "x.csv", "-o", tmp_path / "answers.csv")
    head, first, *rest = (tmp_path / "answers.csv").read_text().splitlines()
    answer, low, high = map(float, first.split(","))
    assert head == "prediction,low,high" and low <= answer <= high and len(rest) == 799
    shown = run(capsys, "inspect", tmp_path / "m")[0]
    assert "numbers" in shown and "weight: in the stack" in shown and "LeastSquares" in shown


def test_bounds_come_with_the_scores(tmp_path, capsys, monkeypatch):
    """Rows are not scored a second time for them."""
    write(tmp_path / "x.csv", LABELS["fractions"][0], 60)
    run(capsys, "train", tmp_path / "x.csv", "--label", "y", "-o", tmp_path / "m", "-q")
    model = load(tmp_path / "m")
    (page,) = open_stream(tmp_path / "x.csv", like=model)
    wanted = np.stack(model.predict_interval(page), axis=1)
    monkeypatch.delattr(OnlineBoostRegressor, "predict_interval")
    run(capsys, "predict", tmp_path / "m", tmp_path / "x.csv", "-o", tmp_path / "answers.csv", "-q")
    assert np.array_equal(pd.read_csv(tmp_path / "answers.csv")[["low", "high"]], wanted)
    found = json.loads(run(capsys, "evaluate", tmp_path / "m", tmp_path / "x.csv", "--json")[0])
    assert found["coverage"] == np.mean((wanted[:, 0] <= page.batch.y) & (page.batch.y <= wanted[:, 1]))


def test_tuning_on_numbers_prints_how_to_train_the_best(tmp_path, capsys, monkeypatch):
    write(tmp_path / "x.csv", LABELS["fractions"][0], 60)
    default, *_, linear = tune._regressors(set(), 0)
    for entry, printed in ((default, "--label y --task number -o best.model"), (linear, "in Python: model = Least")):
        monkeypatch.setattr(tune, "_regressors", lambda chosen, seed, entry=entry: [entry])
        assert printed in run(capsys, "tune", tmp_path / "x.csv", "--label", "y")[0]


def test_tasks_that_do_not_fit(tmp_path, capsys):
    write(tmp_path / "x.csv", LABELS["words"][0])
    _, err = run(capsys, "train", tmp_path / "x.csv", "--label", "y", "--task", "number", code=1)
    assert "the target is 'no'" in err or "the target is 'yes'" in err
    _, err = run(capsys, "train", tmp_path / "x.csv", "--label", "y", "--task", "number", "-a", "bbm", code=2)
    assert "--algorithm is for classification" in err
    write(tmp_path / "same.csv", lambda X: ["4.5"] * len(X))
    out, _ = run(capsys, "train", tmp_path / "same.csv", "--label", "y", "--task", "number", "--json")
    assert json.loads(out)["error"] == pytest.approx(0, abs=0.05)


def test_a_pipe_is_read_once(tmp_path, capsys):
    write(tmp_path / "x.csv", LABELS["few"][0])
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["bash", "-c", f"cat {tmp_path / 'x.csv'} > {tmp_path / 'pipe'}"]):
        out, _ = run(capsys, "train", tmp_path / "pipe", "-f", "csv", "--label", "y", "--json")
    assert json.loads(out)["examples"] == 300


def test_a_regressor_of_few_rows_answers(tmp_path, capsys):
    write(tmp_path / "x.csv", LABELS["fractions"][0], 10)
    run(capsys, "train", tmp_path / "x.csv", "--label", "y", "-o", tmp_path / "m", "--task", "number", "-q")
    assert json.loads(run(capsys, "evaluate", tmp_path / "m", tmp_path / "x.csv", "--label", "y", "--json")[0])["r2"]


def test_the_first_number_does_not_count(tmp_path, capsys):
    """Nothing was known of it: an answer of 0 would outweigh all others."""
    write(tmp_path / "x.csv", lambda X: (2000 + 3 * X[:, 0]).round(3).tolist())
    result = json.loads(run(capsys, "train", tmp_path / "x.csv", "--label", "y", "--json")[0])
    assert result["number"]["r2"] > 0.5 and result["no_change_error"] < 10


def test_two_labels_are_asked_for(tmp_path, capsys):
    write(tmp_path / "two.csv", LABELS["words"][0])
    base = ["--label", "y", "--task", "binary", "-a", "bbm", "-n", 3, "-q"]
    run(capsys, "train", tmp_path / "two.csv", *base, "-o", tmp_path / "m")
    write(tmp_path / "three.csv", lambda X: [*["yes", "no"] * 149, "maybe", "yes"])
    _, err = run(capsys, "train", tmp_path / "three.csv", *base, code=1)
    assert "three.csv: line 300" in err and "the label 'maybe' is a third one, beside 'no' and 'yes'" in err
    assert "'classes' takes more" in err and "--positive" in err
    _, err = run(capsys, "train", tmp_path / "three.csv", "--resume", tmp_path / "m", code=1)
    assert "'maybe' is a third one" in err  # the model knows it
    out, err = run(capsys, "train", tmp_path / "three.csv", *base, "--on-error", "skip", "--json")
    assert json.loads(out)["skipped"] == 1
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "z"]})
    for source in (frame, frame.to_dict("records")):
        with pytest.raises(DataError, match="'z' is a third one"):
            list(open_stream(source, task="binary"))
    with pytest.raises(DataError, match="'z' is a third one"):
        list(open_stream(frame[["a"]].to_numpy(), y=["x", "y", "z"], task="binary"))


def test_a_label_that_was_not_learned_is_named(tmp_path, capsys):
    write(tmp_path / "x.csv", LABELS["words"][0])
    run(capsys, "train", tmp_path / "x.csv", "--label", "y", "-a", "bbm", "-n", 3, "-q", "-o", tmp_path / "m")
    write(tmp_path / "new.csv", lambda X: ["yes", "no", "maybe"] * 100)
    _, err = run(capsys, "evaluate", tmp_path / "m", tmp_path / "new.csv", "--label", "y")
    assert "label maybe is unknown to the model: such examples count as errors" in err


def walk(X):
    """Labels that are as the last ones."""
    return np.cumsum(np.random.default_rng(0).normal(size=len(X))).round(2).tolist()


def test_the_last_labels_are_features(tmp_path, capsys):
    write(tmp_path / "x.csv", walk, 1200)
    data = [tmp_path / "x.csv", "--label", "y", "--task", "number"]
    blind, _ = run(capsys, "train", *data, "-q")
    assert "no change:           R2 0." in blind and "--lag 3" in blind
    out, _ = run(capsys, "train", *data, "--lag", 2, "-o", tmp_path / "m", "--json")
    result = json.loads(out)
    assert result["lag"] == 2 and result["number"]["r2"] > 0.9 and 0 < result["number"]["no_change_r2"] < 1
    assert "label[-1]" in run(capsys, "inspect", tmp_path / "m")[0]
    _, err = run(capsys, "evaluate", tmp_path / "m", tmp_path / "x.csv", "--label", "y")
    assert "label[-1]" not in err  # no column that is missing
    late, _ = run(capsys, "train", *data, "--lag", 2, "--delay", 5, "--json")
    late = json.loads(late)
    assert late["no_change_error"] is None and late["number"]["r2"] < result["number"]["r2"]


def test_the_last_labels_of_classes(tmp_path, capsys):
    write(tmp_path / "x.csv", lambda X: ["abc"[k // 40 % 3] for k in range(len(X))], 600)
    data = [tmp_path / "x.csv", "--label", "y", "-a", "bbm", "-n", 3]
    out, _ = run(capsys, "train", *data, "-q")
    assert "no change:" in out and "--lag 3" in out
    out, _ = run(capsys, "train", *data, "--lag", 1, "-o", tmp_path / "m", "-q")
    assert "lag=1" in out and "base learner alone" not in out and "--lag 3" not in out
    _, err = run(capsys, "train", *data[:3], "--resume", tmp_path / "m", "--lag", 2, code=2)
    assert "--lag is fixed by the model of --resume, which has 1: leave it out." in err
    _, err = run(capsys, "train", *data[:3], "-a", "none", "--lag", 2, code=2)
    assert "--lag does not apply to Linear alone: leave it out, or name an algorithm, such as -a safe." in err


def test_the_confusion_of_many_classes_is_drawn(tmp_path, capsys):
    from onlineboost.evaluate.plots import Picture, _figure

    write(tmp_path / "x.csv", lambda X: [*np.array([*"pqrs"])[(X[:, 0] > 0) + 2 * (X[:, 1] > 0)]])
    data = [tmp_path / "x.csv", "--label", "y"]
    run(capsys, "train", *data, "-a", "bbm", "-n", 3, "-q", "-o", tmp_path / "m")
    out, _ = run(capsys, "evaluate", tmp_path / "m", *data, "--plot", tmp_path / "p.svg")
    assert "top-3 accuracy:" in out and (tmp_path / "p.svg").stat().st_size > 1000
    table = [[3.0, 1.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]]
    *_, axes = _figure(Picture("t", [(1, 0.5)], [], np.zeros(2), confusion=([*"ab$"], table))).axes
    assert axes.images[0].get_array().tolist() == [[0.75**0.5, 0.5, 0], [0, 1, 0], [0, 0, 0]]
    assert [text.get_text() for text in axes.get_yticklabels()] == [*"ab$"]


def test_options_that_come_with_a_resumed_model_may_be_given_again(tmp_path, capsys):
    lines = [f"{k % 7},{k % 3},x{k % 5},{k % 4 > 1:d},1" for k in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(["a,zip,user,bought,w", *lines]))
    (tmp_path / "y.csv").write_text("\n".join(["a,zip,user,bought,w", *lines[:30]]))
    columns = ["--label", "bought", "--weight", "w", "--drop", "user", "--categorical", "zip", "--positive", 1]
    model = ["-a", "none", "--no-standardize"]
    run(capsys, "train", tmp_path / "x.csv", *columns, *model, "-o", tmp_path / "m", "-q")
    run(capsys, "train", tmp_path / "y.csv", "--resume", tmp_path / "m", "-o", tmp_path / "plain", "-q")
    run(capsys, "train", tmp_path / "y.csv", "--resume", tmp_path / "m", "-o", tmp_path / "again", "-q", *columns)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "again").read_bytes()
    run(capsys, "train", tmp_path / "x.csv", "--resume", tmp_path / "m", "--task", "classes", "--lag", 0, "-q")
    for option, before in (("--label", "bought"), ("--drop", "user"), ("--weight", "w"), ("--positive", "1")):
        _, err = run(capsys, "train", tmp_path / "y.csv", "--resume", tmp_path / "m", option, "a", code=2)
        assert err == f"onlineboost: {option} is fixed by the model of --resume, which has {before}: leave it out.\n"


def test_a_model_of_python_takes_the_columns_that_are_given(tmp_path, capsys):
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "b": range(60)})
    Linear().fit(frame, [0, 1] * 30).save(tmp_path / "m")
    frame.assign(bought=[0, 1] * 30, w=1).to_csv(tmp_path / "x.csv", index=False)
    out, _ = run(
        capsys, "train", tmp_path / "x.csv", "--label", "bought", "--drop", "w", "--resume", tmp_path / "m", "--json"
    )
    assert json.loads(out)["examples"] == 60


def test_labels_that_are_ids_are_refused(tmp_path, capsys, monkeypatch):
    data, path = tmp_path / "x.csv", tmp_path / "m"
    write(data, lambda X: [f"user{k % 102}" for k in range(len(X))])
    model = ["--label", "y", "-a", "none", "-q"]
    for words in (["train", data, *model], ["tune", data, *model[:-1], "--learning-rate", "0.5"]):
        _, err = run(capsys, *words, code=1)
        assert "102 different labels ('user0', " in err and "more than 100: is the label an id?" in err
        assert "a larger max_classes (train --max-classes)" in err
    run(capsys, "train", data, *model, "--max-classes", 102, "-o", path)
    write(data, lambda X: [f"user{k % 103}" for k in range(len(X))])
    assert "more than 102" in run(capsys, "train", data, "--resume", path, "-q", code=1)[1]
    run(capsys, "train", data, "--resume", path, "--max-classes", 103, "-q")
    assert len(load(path).classes_) == load(path).max_classes == 103
    write(data, lambda X: X[:, 0])
    _, err = run(capsys, "train", data, "--label", "y", "--task", "number", "--max-classes", 9, code=2)
    assert "--max-classes is for classification: leave it out" in err


def test_labels_in_random_order_get_no_advice_on_lag(tmp_path, capsys):
    rng = np.random.default_rng(0)
    write(tmp_path / "x.csv", lambda X: rng.choice([*"abcdefghijkl"], len(X)).tolist(), rows=2000)
    out, _ = run(capsys, "train", tmp_path / "x.csv", "--label", "y", "-a", "none")
    assert "no change" not in out and "--lag" not in out
