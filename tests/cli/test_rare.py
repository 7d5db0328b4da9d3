"""Rare labels on the command line: class weights, thresholds, costs."""

from __future__ import annotations

import copy
import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from commands import run

import onlineboost
from onlineboost import OnlineBBM
from onlineboost.errors import ParameterError
from onlineboost.model import load_all

MODEL = ["--label", "y", "-a", "bbm", "-n", 5, "--head", "stack"]


def write(path, n: int = 4000, labels=("no", "yes"), seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(3)
    rare = X[:, 0] + X[:, 1] + rng.normal(size=n) / 2 > 2.6
    rows = [",".join(map(str, row)) + f",{labels[one]}" for row, one in zip(X.tolist(), rare.astype(int), strict=True)]
    path.write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    return path


def labels_of(text: str) -> list[str]:
    return [row["label"] for row in csv.DictReader(io.StringIO(text))]


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "x.csv")


@pytest.fixture
def model(data, tmp_path, capsys):
    run(capsys, "train", data, *MODEL, "-q", "-o", tmp_path / "m")
    return tmp_path / "m"


def test_class_weights(data, tmp_path, capsys):
    for given, wanted in ((["balanced"], "balanced"), (["yes=10", "no=0.5"], {"yes": 10.0, "no": 0.5})):
        flags = [word for one in given for word in ("--class-weight", one)]
        run(capsys, "train", data, *MODEL, *flags, "-o", tmp_path / "m", "-q")
        model = onlineboost.load(tmp_path / "m")
        assert isinstance(model, OnlineBBM) and model.class_weight == wanted
        run(capsys, "train", write(tmp_path / "more.csv", 100), "--resume", tmp_path / "m", "-q")
        assert onlineboost.load(tmp_path / "m").class_weight == wanted
    numbers = write(tmp_path / "n.csv", 300, "01")
    _, err = run(capsys, "train", numbers, *MODEL, "--class-weight", "1=10,7=3", "-q")
    assert "no example has the label 7 of --class-weight" in err
    _, err = run(capsys, "train", numbers, *MODEL, "--positive", "1", "--class-weight", "1=10", "-q")
    assert "--class-weight" not in err
    _, err = run(capsys, "train", data, *MODEL, "--class-weight", "yes", code=2)
    assert "--class-weight='yes': expected balanced, or labels and weights, such as yes=10" in err
    _, err = run(capsys, "train", data, "--label", "y", "-a", "none", "--class-weight", "balanced", code=2)
    assert "--class-weight does not apply to Linear alone" in err
    _, err = run(capsys, "train", data, "--label", "y", "--task", "number", "--class-weight", "balanced", code=2)
    assert "--class-weight is for classification" in err


def test_rare_labels_have_f1_beside_the_error(data, tmp_path, capsys):
    out, err = run(capsys, "train", data, *MODEL)
    assert re.search(
        r"examples +error +since last +F1 +base alone\n +1,024 +0\.\d{4} +0\.\d{4} +0\.\d{4} +0\.\d{4}", err
    )
    assert re.search(r"progressive F1: +0\.\d{4} of yes: precision 0\.\d{4}, recall 0\.\d{4}; \d\.\d % of the ex", out)
    out, err = run(capsys, "train", write(tmp_path / "turned.csv", labels=("ok", "bad")), *MODEL)
    assert "F1" not in out + err and "rare label:          bad (3." in out and "--positive bad shows how" in out
    result = json.loads(run(capsys, "train", data, *MODEL, "--json")[0])
    assert result["positive"]["rare"] and 0 < result["positive"]["f1"] < 1


@pytest.mark.parametrize("learner", [[], ["--checkpoint-every", 300]])
def test_a_threshold_is_learned_saved_and_used(data, tmp_path, capsys, learner):
    wanted = ["--threshold", "recall=0.95", "-o", tmp_path / "m"]
    result = json.loads(run(capsys, "train", data, *MODEL, *wanted, *learner, "--json")[0])
    assert result["threshold"]["rule"] == "recall=0.95" and result["positive"]["recall"] > 0.7
    test = write(tmp_path / "test.csv", seed=5)
    tested = json.loads(run(capsys, "evaluate", tmp_path / "m", test, "--json")[0])
    plain = json.loads(run(capsys, "evaluate", tmp_path / "m", test, "--threshold", "0.5", "--json")[0])
    assert tested["recall"] > 0.85 > plain["recall"] and tested["auc"] == plain["auc"]
    answers = labels_of(run(capsys, "predict", tmp_path / "m", test, "-q")[0])
    found = [line.rpartition(",")[2] for line in test.read_text().splitlines()[1:]]
    hits = [answer for answer, label in zip(answers, found, strict=True) if label == "yes"]
    assert hits.count("yes") / len(hits) == pytest.approx(tested["recall"])


def test_checkpoints_and_resuming_do_not_change_what_was_counted(data, tmp_path, capsys):
    run(capsys, "train", data, *MODEL, "--threshold", "f1", "-o", tmp_path / "whole", "-q")
    run(capsys, "train", data, *MODEL, "--threshold", "f1", "-o", tmp_path / "m", "--checkpoint-every", 570, "-q")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_thresholds_of_a_model_that_was_trained_without_one(model, data, capsys):
    shares = []
    for rule in (["f1"], ["recall=1"], ["0.9"], ["cost", "--cost", "fn=20,fp=1"]):
        answers = labels_of(run(capsys, "predict", model, data, "--threshold", *rule, "-q")[0])
        shares.append(answers.count("yes") / len(answers))
    plain = labels_of(run(capsys, "predict", model, data, "-q")[0])
    share = plain.count("yes") / len(plain)
    assert shares[2] < share < shares[3] < shares[1]
    out, _ = run(capsys, "evaluate", model, data, "--cost", "fn=20,fp=1")
    dear = float(re.search(r"cost per example: +(\S+)", out)[1])
    out, _ = run(capsys, "evaluate", model, data, "--threshold", "cost", "--cost", "fn=20,fp=1")
    assert float(re.search(r"cost per example: +(\S+)", out)[1]) < dear
    assert re.search(r"threshold: +0\.\d{4} of the probability of yes", out) and re.search(
        r"MCC: +0\.\d+ \(of yes\)", out
    )


def test_thresholds_that_make_no_sense(model, data, tmp_path, capsys):
    for words, said, code in (
        (["--threshold", "high"], "--threshold='high': expected a probability above 0 and below 1, 'f1'", 2),
        (["--threshold", "cost"], "--threshold cost needs --cost", 2),
        (["--cost", "fn=x"], "--cost='fn=x': expected costs of at least 0, such as fn=10,fp=1", 2),
        (["--cost", "fn=0,fp=0"], "not both 0", 2),
    ):
        assert said in run(capsys, "evaluate", model, data, *words, code=code)[1]
    assert "--cost needs --threshold cost" in run(capsys, "train", data, *MODEL, "--cost", "fn=2", code=2)[1]
    saved = onlineboost.load(model)
    saved.save(tmp_path / "python")
    _, err = run(capsys, "predict", tmp_path / "python", data, "--threshold", "f1", code=2)
    assert "needs the label counts that onlineboost train saves" in err
    assert labels_of(run(capsys, "predict", tmp_path / "python", data, "--threshold", "0.3", "-q")[0])


def test_a_model_that_has_met_one_label_has_no_threshold(tmp_path, capsys):
    data = write(tmp_path / "x.csv", 50, ("yes", "yes"))
    run(capsys, "train", data, *MODEL, "--threshold", "0.2", "-q", "-o", tmp_path / "m")
    for rule in ("0.2", "f1"):
        _, err = run(capsys, "predict", tmp_path / "m", data, "--threshold", rule, code=2)
        assert "--threshold needs two labels, and the model knows only yes: leave it out." in err
    for command in ("predict", "evaluate"):
        run(capsys, command, tmp_path / "m", data, "-q")


def test_more_than_two_labels_and_numbers_have_no_threshold(tmp_path, capsys):
    three = tmp_path / "three.csv"
    three.write_text("a,y\n" + "".join(f"{k % 7},{'uvw'[k % 3]}\n" for k in range(90)))
    _, err = run(capsys, "train", three, *MODEL, "--threshold", "f1", "-o", tmp_path / "m", "-q")
    assert "--threshold is for binary classification: it has no effect" in err
    _, err = run(capsys, "predict", tmp_path / "m", three, "--threshold", "f1", code=2)
    assert "--threshold is for binary classification" in err
    assert "u" in labels_of(run(capsys, "predict", tmp_path / "m", three, "-q")[0])
    _, err = run(capsys, "evaluate", tmp_path / "m", three, "--cost", "fn=2", code=2)
    assert "--cost is for binary classification" in err


@pytest.mark.parametrize(("labels", "rule"), [(("no", "yes"), "f1"), (("ok", "bad"), "recall=0.9"), ("01", "0.1")])
def test_python_answers_by_the_threshold_of_the_file(tmp_path, capsys, labels, rule):
    data, path = write(tmp_path / "x.csv", 3000, labels), tmp_path / "m"
    run(capsys, "train", data, *MODEL, "--threshold", rule, "-q", "-o", path)
    told = labels_of(run(capsys, "predict", path, data, "-q")[0])
    rows = [{k: float(v) for k, v in row.items() if k != "y"} for row in csv.DictReader(io.StringIO(data.read_text()))]
    loaded, notes = onlineboost.load(path), load_all(path)[2]
    loaded.save(tmp_path / "again")
    older = onlineboost.load(path)
    older.threshold = None
    assert [*map(str, older.predict(rows))] != told
    older.save(tmp_path / "older", notes=notes)  # as before models had thresholds: in the notes only
    for file in ("m", "again", "older"):
        model = onlineboost.load(tmp_path / file)
        assert [*map(str, model.predict(rows))] == told
        assert [str(model.predict_one(row)) for row in rows[:200]] == told[:200]
        assert [str(ticket.prediction) for ticket in model.ask(rows[:200])] == told[:200]
        assert [*map(str, model.predict_many(pd.DataFrame(rows)))] == told
        assert model.score(rows, model.predict(rows)) == 1.0
        assert labels_of(run(capsys, "predict", tmp_path / file, data, "-q")[0]) == told
        assert f"threshold {model.threshold:.4g}>" in repr(model) and "threshold" not in repr(model.clone())
    out, _ = run(capsys, "inspect", path)
    by = f" \\(by {rule}\\)" if rule != "0.1" else ""
    assert re.search(f"threshold: +{loaded.threshold:.4f} of the probability of {max(labels)}{by}", out)


def test_a_threshold_of_a_call_and_of_a_model(model, data, tmp_path, capsys):
    rows = [{k: float(v) for k, v in row.items() if k != "y"} for row in csv.DictReader(io.StringIO(data.read_text()))]
    loaded = onlineboost.load(model)
    assert loaded.threshold is None and "threshold" not in repr(loaded)
    plain, chances = loaded.predict(rows), loaded.predict_proba(rows)[:, 1]
    assert ((loaded.predict(rows, threshold=0.1) == "yes") == (chances >= 0.1)).all()
    assert (loaded.predict(rows) == plain).all()
    loaded.threshold = 0.1
    assert ((copy.deepcopy(loaded).predict(rows) == "yes") == (chances >= 0.1)).all() and loaded.threshold == 0.1
    assert ((loaded.predict(rows, threshold=0.3) == "yes") == (chances >= 0.3)).all()
    loaded.save(tmp_path / "set")
    answers = labels_of(run(capsys, "predict", tmp_path / "set", data, "-q")[0])
    assert [answer == "yes" for answer in answers] == (chances >= 0.1).tolist()
    run(capsys, "train", data, "--resume", tmp_path / "set", "--again", "-q")
    assert onlineboost.load(tmp_path / "set").threshold == 0.1
    for wrong in (0, 1, 1.5, "f1", float("nan")):
        with pytest.raises(ParameterError, match="threshold=.*expected a probability above 0 and below 1"):
            loaded.predict(rows, threshold=wrong)
    three = OnlineBBM(n_estimators=3).fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ParameterError, match="a threshold is for two labels, and the model has 0, 1, 2"):
        three.predict(np.eye(3), threshold=0.5)
    with pytest.raises(ParameterError, match="a threshold is for two labels"):
        three.threshold = 0.5
    loaded.learn_one(rows[0], "maybe")  # a third label: the threshold has no effect
    assert loaded.threshold is None and "threshold" not in repr(loaded) and "no" in loaded.predict(rows)


def test_answers_before_learning_are_by_the_threshold_of_then(data, tmp_path, capsys):
    flags = ["--threshold", "recall=0.95", "-p", tmp_path / "p.csv", "--json"]
    figures = json.loads(run(capsys, "train", data, *MODEL, *flags)[0])["positive"]
    answers = np.array(labels_of((tmp_path / "p.csv").read_text())) == "yes"
    truth = np.array([line.endswith("yes") for line in data.read_text().splitlines()[1:]])
    assert answers[truth].mean() == pytest.approx(figures["recall"])
    assert truth[answers].mean() == pytest.approx(figures["precision"])


def test_model_and_base_learner_are_compared_by_the_same_probability(data, tmp_path, capsys):
    run(capsys, "train", data, *MODEL, "--threshold", "recall=0.95", "-q", "-o", tmp_path / "m")
    model, base, _ = load_all(tmp_path / "m")
    result = json.loads(run(capsys, "evaluate", tmp_path / "m", data, "--json")[0])
    rows = [{k: float(v) for k, v in row.items() if k != "y"} for row in csv.DictReader(io.StringIO(data.read_text()))]
    truth = np.array([line.endswith("yes") for line in data.read_text().splitlines()[1:]])
    for one, name in ((model, "error"), (base, "base_error")):
        wrong = (one.predict(rows, threshold=model.threshold) == "yes") != truth
        assert result[name] == pytest.approx(wrong.mean(), abs=1e-3)
    chance = np.where(truth, *base.predict_proba(rows)[:, ::-1].T)
    assert result["base_log_loss"] == pytest.approx(-np.log(chance).mean())
    out, _ = run(capsys, "evaluate", tmp_path / "m", data)
    assert re.search(r"base learner alone: +0\.\d+ \(log loss 0\.\d+\)", out)
