from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import ENVIRONMENT, command, run, standard_input, training_on_a_pipe
from typer.testing import CliRunner

import onlineboost
from conftest import ROOT
from onlineboost.classifier import OnlineClassifier
from onlineboost.cli.app import build
from onlineboost.evaluate.training import Training
from onlineboost.model import load_all
from onlineboost.readers import open_stream


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """The bundled letters as CSV, in two halves, and as one VW file."""
    from onlineboost.datasets import load_letter

    folder = tmp_path_factory.mktemp("letters")
    X, y = load_letter()
    lines = [
        ",".join([*map(str, row), "A-M" if label > 0 else "N-Z"]) for row, label in zip(X.tolist(), y, strict=True)
    ]
    head = ",".join([*(f"f{j}" for j in range(16)), "half"])
    (folder / "first.csv").write_text("\n".join([head, *lines[:4000]]) + "\n")
    (folder / "second.csv").write_text("\n".join([head, *lines[4000:6000]]) + "\n")
    vw = [
        f"{int(label)} |l " + " ".join(f"f{j}:{x}" for j, x in enumerate(row))
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    (folder / "all.vw").write_text("\n".join(vw) + "\n")
    return folder


@pytest.fixture
def model(letters, tmp_path, capsys):
    run(capsys, "train", letters / "first.csv", "--label", "half", "-n", 5, "-o", tmp_path / "m", "-q")
    return tmp_path / "m"


# ---- train


def test_training_says_how_well_it_went(letters, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ONLINEBOOST_QUIET", "1")
    out, err = run(capsys, "train", letters / "first.csv", "--label", "half", "-n", 5, "-o", tmp_path / "m")
    facts = dict(re.findall(r"^([\w ]+): +(.*)$", out, re.M))
    model, base, _ = load_all(tmp_path / "m")
    pages = [*open_stream(letters / "first.csv", label="half")]
    learner = onlineboost.Linear(standardize=True)
    models = onlineboost.SafeBoost(learner, 5, random_state=0), learner.clone()
    scores, alone = (np.concatenate([one.learn(page) for page in pages]) for one in models)
    y = np.concatenate([page.batch.y for page in pages])
    error, base_error = (((s >= 0) != (y > 0)).mean() for s in (scores, alone))
    assert facts["progressive error"] == f"{error:.4f}"
    assert facts["base learner alone"] == f"{base_error:.4f}"
    assert "boosting" not in facts  # one comparison, in a sentence
    better = ((alone >= 0) != (y > 0)).astype(float) - ((scores >= 0) != (y > 0))
    points, margin = 100 * better.mean(), 196 * better.std() / len(y) ** 0.5
    interval = f"(95 %: {points - margin:+.2f} to {points + margin:+.2f} points)"
    assert re.search(rf"^SafeBoost .* Linear alone {re.escape(interval)}", out, re.M)
    assert facts["examples"].startswith("4,000 (")
    assert facts["features"] == "16 (15.6 non-zero per example)"
    assert set(facts) >= {"time", "memory", "model", "labels"}
    assert model.n_seen_ == base.n_seen_ == 4000
    lines = err.splitlines()
    assert lines[0].split() == ["examples", "error", "since", "last", "base", "alone"]
    assert [line.split()[0] for line in lines[1:]] == ["1,024", "2,048"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-a", "bbm", "--gamma", "0.2"], "OnlineBBM(estimator=Linear(standardize=True), n_estimators=3, gamma=0.2"),
        (["-a", "adaboost-ol", "--no-standardize"], "AdaBoostOL(estimator=Linear(), n_estimators=3"),
        (["-a", "adaboost-ol-s", "--no-standardize", "--seed", "4"], "delivery='sample', random_state=4"),
        (["-a", "osboost", "--no-standardize"], "OSBoost(estimator=Linear(), n_estimators=3"),
        (["-a", "osboost-ocp", "--no-standardize", "--delivery", "sample"], "delivery='sample'"),
        (["-a", "bbm", "--no-standardize", "--votes", "real", "--loss", "logistic"], "votes='real'"),
        (["-a", "bbm", "--no-standardize", "--head", "stack"], "head='stack'"),
        (["-a", "adaboost-ol-plus", "--no-standardize"], "AdaBoostOLPlus("),
        (["-a", "defensive", "--no-standardize"], "DefensiveBoost("),
        (["-a", "bbm", "--learner", "naive-bayes", "--bins", "8"], "NaiveBayes(bins=8)"),
        (
            ["-a", "bbm", "--learner", "perceptron", "--no-standardize"],
            "OnlineBBM(estimator=Perceptron(), n_estimators=3",
        ),
        (["--bins", "8", "--cross", "f1, f2"], "Linear(bins=8, crosses=[('f1', 'f2')])"),
        (["--learning-rate", "0.1"], "learning_rate=0.1"),
        (["-a", "bbm", "--learner", "stump"], "OnlineBBM(estimator=Stump(), n_estimators=3"),
        (["--learner", "tree", "--max-depth", "3"], "SafeBoost(estimator=Tree(max_depth=3), n_estimators=3"),
    ],
)
def test_every_algorithm_can_be_trained(letters, capsys, options, expected):
    out, _ = run(capsys, "train", letters / "first.csv", "--label", "half", "-n", 3, "--json", *options)
    result = json.loads(out)
    assert expected in result["model"]
    assert 0.1 < result["error"] < 0.5


def test_the_learner_alone(letters, tmp_path, capsys):
    options = ["--label", "half", "-a", "none", "--loss", "logistic", "--json", "-o", tmp_path / "m"]
    result = json.loads(run(capsys, "train", letters / "first.csv", *options)[0])
    assert result["model"] == "Linear(loss='logistic', standardize=True)"
    assert result["base_error"] is None
    tested = json.loads(run(capsys, "evaluate", tmp_path / "m", letters / "second.csv", "--json")[0])
    assert 0.4 < tested["log_loss"] < 0.7


def test_passes_and_holdout(letters, tmp_path, capsys):
    out, _ = run(
        capsys, "train", letters / "first.csv", "--label", "half", "-n", 3, "--passes", 2, "--json",
        "--holdout", letters / "second.csv", "-o", tmp_path / "m",
    )  # fmt: skip
    result = json.loads(out)
    assert result["examples"] == 8000
    assert result["first_pass_error"] > result["error"]
    tested = json.loads(run(capsys, "evaluate", tmp_path / "m", letters / "second.csv", "--json")[0])
    assert tested["error"] == result["holdout"]["error"]


def test_the_same_command_writes_the_same_bytes(letters, tmp_path, capsys):
    for name in ("a", "b"):
        run(capsys, "train", letters / "first.csv", "--label", "half", "-n", 3, "-q", "-o", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_standard_input(letters, tmp_path, capsys):
    def piped(name: str, *arguments: object) -> str:
        with standard_input(tmp_path / "piped", (letters / name).read_bytes()):
            return run(capsys, *arguments)[0]

    out = piped("first.csv", "train", "-", "--label", "half", "-n", 3, "-q", "-o", tmp_path / "m", "--json")
    assert json.loads(out)["examples"] == 4000
    out = piped("second.csv", "predict", tmp_path / "m", "-")
    assert len(out.splitlines()) == 2001


# ---- resume, checkpoints, interruption


def test_a_learner_that_does_not_count_features_is_summed_up(letters, capsys):
    out, _ = run(capsys, "train", letters / "first.csv", "--label", "half", "-a", "none", "--learner", "perceptron")
    assert "Perceptron(standardize=True)" in out
    assert "features:            not counted by this learner (15.6 non-zero per example)" in out


def test_the_base_learner_has_crosses_too(tmp_path, capsys):
    """A page stays whole: the second model that learns it has all names. Without them its error is above .3."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, (2, 5000))
    table = rng.integers(0, 2, (6, 6))
    rows = (f"a{i},b{j},{table[i, j] if rng.random() > 0.05 else 1 - table[i, j]}" for i, j in zip(a, b, strict=True))
    (tmp_path / "pairs.csv").write_text("\n".join(["first,second,label", *rows]) + "\n")
    found = json.loads(run(capsys, "train", tmp_path / "pairs.csv", "--cross", "first,second", "-n", 5, "--json")[0])
    assert abs(found["error"] - found["base_error"]) < 0.01 and found["base_error"] < 0.09


def test_an_adaptive_model_says_when_the_stream_changed(letters, tmp_path, capsys):
    lines = (letters / "first.csv").read_text().splitlines()
    turned = [line.replace("A-M", "x").replace("N-Z", "A-M").replace("x", "N-Z") for line in lines[2001:]]
    (tmp_path / "first.csv").write_text("\n".join(lines[:2001]) + "\n")
    (tmp_path / "turned.csv").write_text("\n".join([lines[0], *turned]) + "\n")
    options = ("--label", "half", "-n", 5, "-a", "bbm", "--learner", "tree", "--adaptive")
    both = tmp_path / "first.csv", tmp_path / "turned.csv"
    out, err = run(capsys, "train", *both, *options, "-o", tmp_path / "m")
    said = re.findall(r"([\d,]+) drift, error has increased: the model is reset", err)
    assert said and all(2000 < int(number.replace(",", "")) < 2500 for number in said[:1])
    assert f"alarms: {'':>12} {len(said)}" in out
    assert "Concept drift: " in out
    facts = json.loads(run(capsys, "inspect", tmp_path / "m", "--json")[0])
    assert [f"{alarm['example']:,}" for alarm in facts["alarms"]] == said
    assert run(capsys, "inspect", tmp_path / "m")[0].startswith("Adaptive, 4,000 examples learned")
    # The same in two steps: alarms of the first step are not said again.
    run(capsys, "train", both[0], *options, "-o", tmp_path / "half")
    _, err = run(capsys, "train", both[1], "--resume", tmp_path / "half")
    assert re.findall(r"([\d,]+) drift, error has increased", err) == said
    assert (tmp_path / "half").read_bytes() == (tmp_path / "m").read_bytes()


def test_resuming_with_other_files_is_training_on_both(letters, tmp_path, capsys):
    both = [letters / "first.csv", letters / "second.csv"]
    run(capsys, "train", *both, "--label", "half", "-n", 3, "-q", "-o", tmp_path / "whole")
    run(capsys, "train", both[0], "--label", "half", "-n", 3, "-q", "-o", tmp_path / "part")
    run(capsys, "train", both[1], "--resume", tmp_path / "part", "-q", "-o", tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "part").read_bytes() != (tmp_path / "whole").read_bytes()


def test_ctrl_c_saves_what_was_learned_and_resuming_gives_the_same_bits(letters, tmp_path, capsys):
    """The stream comes through a pipe that stops in the middle, so that the signal finds the command at work."""
    run(capsys, "train", letters / "all.vw", "-n", 3, "-o", tmp_path / "whole", "-q")
    (tmp_path / "piped").mkdir()
    pipe = tmp_path / "piped" / "all.vw"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        command("train", pipe, "-f", "vw", "-n", 3, "-o", tmp_path / "m"),
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    content = (letters / "all.vw").read_bytes()
    with pipe.open("wb") as file:
        file.write(content)
        file.flush()
        for _ in range(100):
            if "16,384" in process.stderr.readline():
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)  # it ends, though the pipe is still open
    assert process.returncode == 130
    assert re.search(r"Interrupted after [\d,]+ examples: saved to .*m; continue with --resume", out)
    pipe.unlink()
    pipe.write_bytes(content)
    assert "continuing after row" in run(capsys, "train", pipe, "--resume", tmp_path / "m")[1]
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_signal_while_the_input_is_silent_saves_and_ends(letters, tmp_path):
    """SIGTERM; Ctrl-C is above, hangups are in test_lifecycle.py."""
    with training_on_a_pipe(tmp_path / "m", (letters / "all.vw").read_bytes() * 2) as process:
        process.send_signal(signal.SIGTERM)
        out = process.stdout.read()  # ends, though the pipe is still open
        assert process.wait(timeout=20) == 130
    assert b"examples: saved to" in out
    assert onlineboost.load(tmp_path / "m").n_seen_ >= 16384


def test_checkpoints_come_when_they_are_asked_for(letters, tmp_path, monkeypatch, capsys):
    saved = []
    save = OnlineClassifier.save

    def watched(model, path, *, base, notes):
        saved.append((model.n_seen_, notes["unfinished"] and notes["unfinished"]["rows"]))
        save(model, path, base=base, notes=notes)

    monkeypatch.setattr(OnlineClassifier, "save", watched)
    options = ["--label", "half", "-n", 3, "-q", "-o", tmp_path / "m", "--checkpoint-every", 1500]
    run(capsys, "train", letters / "first.csv", *options)
    assert saved == [(1500, 1500), (3000, 3000), (4000, None)]


def test_a_checkpoint_with_fractional_weights_ends_in_the_same_bytes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{k % 2},{rng.normal():.4f},{rng.random():.3f}" for k in range(3000)]
    (tmp_path / "w.csv").write_text("label,a,w\n0,1,0\n" + "\n".join(rows) + "\n")
    for name, more in (("whole", []), ("parts", ["--checkpoint-every", "70"])):
        run(capsys, "train", tmp_path / "w.csv", "--weight", "w", "-n", 3, "-q", "-o", tmp_path / name, *more)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


def test_a_pipe_is_read_from_its_beginning(letters, capsys):
    """Its format is told by its first bytes, which are not lost by that. As a shell names it for ``<(cat all.vw)``."""
    with subprocess.Popen(["cat", letters / "all.vw"], stdout=subprocess.PIPE) as writer:
        out, _ = run(capsys, "train", f"/dev/fd/{writer.stdout.fileno()}", "-n", 3, "--json", "-q")
    assert json.loads(out)["examples"] == 20000


def stopped(notes: dict, times: int) -> dict:
    """Notes as if the last pass of the only file had stopped at its last row."""
    [one] = notes["learnt"]
    input = {name: one[name] for name in ("name", "size", "digest")}
    left = [{**input, "times": 1}]
    place = {"input": input, "rows": one["rows"], "left": left, "error": False, "head": None, "times": times}
    return {"unfinished": place, "learned": [{**one, "times": times}] if times else []}


def test_resuming_with_another_spelling_of_the_path_goes_on_there(letters, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(letters)
    run(capsys, "train", "first.csv", "--label", "half", "-n", 3, "-q", "-o", tmp_path / "m")
    model, base, notes = load_all(tmp_path / "m")
    model.save(tmp_path / "m", base=base, notes={**notes, **stopped(notes, 0)})
    _, err = run(capsys, "train", letters / "first.csv", "--resume", tmp_path / "m", "-q")
    assert "continuing after row 4,000" in err
    assert onlineboost.load(tmp_path / "m").n_seen_ == 4000


def test_a_killed_run_goes_on_from_its_last_checkpoint_with_the_same_bits():
    """A few trials; ``fuzz/kill.py`` does as many as one likes."""
    few = ["--kills", "2", "--at-end", "1", "--signals", "1", "--full", "1", "--rows", "2000"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "fuzz" / "kill.py"), *few], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "5 trials in" in done.stdout and "kills between the last save and the exit" in done.stdout


# ---- predict, evaluate, inspect


def test_predictions_in_every_format(letters, model, tmp_path, capsys):
    loaded = onlineboost.load(model)
    scores = loaded.decision_function(open_stream(letters / "second.csv", like=loaded))
    labels = loaded.predict(open_stream(letters / "second.csv", like=loaded)).tolist()
    chances = loaded.predict_proba(open_stream(letters / "second.csv", like=loaded))[:, 1].tolist()
    names = ("label", "score", "probability")
    expected = [dict(zip(names, row, strict=True)) for row in zip(labels, scores.tolist(), chances, strict=True)]
    out, _ = run(capsys, "predict", model, letters / "second.csv")
    rows = [line.split(",") for line in out.splitlines()]
    assert rows[0] == ["label", "score", "probability"]
    assert [dict(zip(names, (label, float(s), float(p)), strict=True)) for label, s, p in rows[1:]] == expected
    for name in ("p.csv", "p.jsonl", "p.parquet"):
        run(capsys, "predict", model, letters / "second.csv", "-o", tmp_path / name)
    assert (tmp_path / "p.csv").read_text() == out
    assert [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()] == expected
    assert pq.read_table(tmp_path / "p.parquet").to_pylist() == expected


def test_predictions_never_leave_half_a_file(letters, model, tmp_path, capsys):
    answers = tmp_path / "p.csv"
    answers.write_text("old")
    (tmp_path / "bad.csv").write_bytes((letters / "second.csv").read_bytes() + b"1,2\n")
    assert "line 2002" in run(capsys, "predict", model, tmp_path / "bad.csv", "-o", answers, code=1)[1]
    assert answers.read_text() == "old"
    assert (
        "another file" in run(capsys, "predict", model, letters / "second.csv", "-o", letters / "second.csv", code=2)[1]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "m", "p.csv"]


def test_data_of_which_the_model_knows_nothing_are_refused(model, tmp_path, capsys):
    (tmp_path / "other.csv").write_text("x,y\n1,2\n")
    for name in ("predict", "evaluate"):
        text = "x,y,half\n1,2,A-M\n"
        (tmp_path / "other.csv").write_text(text)
        assert "knows none of the features: expected" in run(capsys, name, model, tmp_path / "other.csv", code=1)[1]


def test_evaluation(letters, model, tmp_path, capsys):
    from sklearn.metrics import confusion_matrix, roc_auc_score

    loaded = onlineboost.load(model)
    scores = loaded.scores(open_stream(letters / "second.csv", like=loaded))
    y = np.concatenate([page.batch.y for page in open_stream(letters / "second.csv", like=loaded)])
    result = json.loads(run(capsys, "evaluate", model, letters / "second.csv", "--json")[0])
    assert result["auc"] == pytest.approx(roc_auc_score(y, scores))
    assert result["confusion"] == confusion_matrix(y > 0, scores >= 0).tolist()
    assert result["error"] == pytest.approx(((scores >= 0) != (y > 0)).mean())
    chances = loaded._fitted.root.probabilities(scores)
    assert result["log_loss"] == pytest.approx(-np.log(np.where(y > 0, chances, 1 - chances)).mean())
    assert result["brier"] == pytest.approx(np.mean((chances - (y > 0)) ** 2))
    assert result["calibration_error"] < 0.1 and sum(weight for _, _, weight in result["reliability"]) == len(y)
    out, _ = run(capsys, "evaluate", model, letters / "second.csv")
    assert f"error:               {result['error']:.4f}" in out
    assert re.search(r"label / predicted +[AN]-[MZ] +[AN]-[MZ]\n[AN]-[MZ] +\d+ +\d+\n[AN]-[MZ] +\d+ +\d+\n", out)


def test_inspection_names_the_strongest_features(letters, model, capsys):
    facts = json.loads(run(capsys, "inspect", model, "--json", "--top", 3)[0])
    assert facts["algorithm"] == "SafeBoost"
    assert facts["examples"] == 4000
    assert facts["edges"] == onlineboost.load(model).edges_.tolist()
    names = [feature["feature"] for feature in facts["strongest"]]
    assert len(names) == 3
    assert set(names) < {f"f{j}" for j in range(16)}
    out, _ = run(capsys, "inspect", model)
    assert "SafeBoost, 4,000 examples learned" in out
    assert "edge of each weak learner" in out


def test_inspection_of_trees_says_what_splits_gained(letters, tmp_path, capsys):
    options = ["--label", "half", "-n", 3, "--learner", "tree", "-q", "-o", tmp_path / "m"]
    run(capsys, "train", letters / "first.csv", *options)
    facts = json.loads(run(capsys, "inspect", tmp_path / "m", "--json", "--top", 99)[0])
    assert sum(feature["strength"] for feature in facts["strongest"]) == pytest.approx(1)
    assert facts["strongest"][0]["feature"].startswith("f")
    assert "share of the gain of all splits" in run(capsys, "inspect", tmp_path / "m")[0]


def test_inspection_of_models_made_in_python(tmp_path, capsys):
    model = onlineboost.OnlineBBM(n_estimators=3)
    for k in range(50):
        model.learn_one({"size": k % 7 - 3}, k % 7 > 3)
    model.save(tmp_path / "m")
    facts = json.loads(run(capsys, "inspect", tmp_path / "m", "--json")[0])
    assert facts["strongest"][0]["feature"] == "size"
    (tmp_path / "sizes.csv").write_text("size\n3\n-3\n")
    answers = run(capsys, "predict", tmp_path / "m", tmp_path / "sizes.csv")[0].splitlines()
    assert [answer.partition(",")[0] for answer in answers[-2:]] == ["True", "False"]


def test_plots(letters, model, tmp_path, capsys):
    train = ["train", letters / "first.csv", "--label", "half", "-n", 3, "-q"]
    run(capsys, *train, "--plot", tmp_path / "t.html")
    run(capsys, *train, "--plot", tmp_path / "t.png")
    run(capsys, "evaluate", model, letters / "second.csv", "--plot", tmp_path / "e.svg")
    for name, begins in {"t.html": b"<!doctype html>", "t.png": b"\x89PNG", "e.svg": b"<?xml"}.items():
        assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_plot_shows_both_curves_to_their_end_and_a_bar_for_each_learner():
    from onlineboost.evaluate.plots import Picture, _figure

    picture = Picture("title", [(1, 0.5), (300, 0.2)], [(1, 0.4), (300, 0.3)], np.array([0.4, -0.1, 0.2]))
    left, right = _figure(picture).axes
    boosted, base = left.lines
    assert (boosted.get_xydata().tolist(), base.get_xydata().tolist()) == (
        [[1, 0.5], [300, 0.2]],
        [[1, 0.4], [300, 0.3]],
    )
    assert [line.get_label() for line in left.lines] == ["boosted: 0.2000", "base learner alone: 0.3000"]
    assert [bar.get_height() for bar in right.patches] == [0.4, -0.1, 0.2]


# ---- convert


@pytest.mark.parametrize("target", ["x.vw", "x.libsvm.gz", "x.jsonl.zst", "x.csv", "x.tsv.bz2", "x.parquet", "x.arrow"])
def test_a_converted_file_trains_the_same_model(letters, tmp_path, capsys, target):
    (tmp_path / "in.jsonl").write_text(
        "".join(
            json.dumps({"a b": k % 5 - 2, "c": "x|y" if k % 3 else "z", "d": k / 7, "label": k % 2}) + "\n"
            for k in range(300)
        )
    )
    run(capsys, "convert", tmp_path / "in.jsonl", tmp_path / target, "-q")
    models = [onlineboost.OnlineBBM(n_estimators=3).fit(open_stream(tmp_path / name)) for name in ("in.jsonl", target)]
    arrays = [model._fitted.root.arrays() for model in models]
    same = all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])
    # A table has all rows in the order of its columns, so that sums may differ in their last bits.
    close = all(np.allclose(arrays[0][name], arrays[1][name], rtol=1e-4, atol=1e-6) for name in arrays[0])
    assert same if Path(target).suffixes[0] in (".vw", ".libsvm", ".jsonl") else close


def test_conversion_refuses_what_a_format_cannot_hold(tmp_path, capsys):
    (tmp_path / "w.vw").write_text("1 2 | a\n-1 1 | b\n")
    _, err = run(capsys, "convert", tmp_path / "w.vw", tmp_path / "w.libsvm", code=1)
    assert "no place for weights" in err
    assert not (tmp_path / "w.libsvm").exists()
    (tmp_path / "twice.vw").write_text("1 | a a\n")
    assert "the same feature twice" in run(capsys, "convert", tmp_path / "twice.vw", tmp_path / "t.csv", code=1)[1]
    assert "ends in one of" in run(capsys, "convert", tmp_path / "w.vw", tmp_path / "w.xlsx", code=2)[1]
    _, err = run(capsys, "convert", tmp_path / "w.vw", tmp_path / "w.cvs.gz", code=2)
    assert err.startswith("onlineboost: OUT=") and "did you mean .csv?" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["twice.vw", "w.vw"]


# ---- mistakes


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "nowhere.csv"], 1, "nowhere.csv: no such file"),
        (["train", "bad.vw"], 1, "bad.vw: line 2, character 8: expected a number, found '1x'"),
        (["train", "first.csv"], 1, "which column is the label? Name it with --label;"),
        (["train", "empty.vw"], 1, "no examples, so nothing was learned"),
        (["train", "bad.vw", "-a", "bbm", "--gamma", "0.7"], 2, "--gamma=0.7: expected"),
        (
            ["train", "bad.vw", "-a", "adaboost-ol", "--gamma", "0.1"],
            2,
            "--gamma does not apply to adaboost-ol. Algorithms with --gamma: bbm, mbbm, osboost, osboost-ocp, pot",
        ),
        (["train", "bad.vw", "--cross", "a"], 2, "--cross='a': expected two columns"),
        (
            ["train", "bad.vw", "--learner", "tree", "--loss", "logistic"],
            2,
            "--loss does not apply to --learner tree. Learners with --loss: linear.",
        ),
        (["train", "bad.vw", "--learning-rate", "0"], 2, "--learning-rate=0.0: expected"),
        (["train", "bad.vw", "--max-depth", "3"], 2, "--max-depth does not apply to --learner linear"),
        (["train", "bad.vw", "--learner", "tree", "--loss", "squared"], 2, "--loss does not apply to --learner tree"),
        (["train", "bad.vw", "-o", "nowhere/model"], 2, "a file in a folder that exists"),
        (["train", "bad.vw", "--checkpoint-every", "5"], 2, "--checkpoint-every needs --output MODEL"),
        (["train", "-", "--passes", "2"], 2, "--passes needs files: standard input or a pipe"),
        (["train", "bad.vw", "--plot", "x.pdf"], 2, ".png, .svg, .html"),
        (["train", "bad.vw", "--resume", "first.csv"], 1, "first.csv: container: not a model file"),
        (["train", "bad.vw", "-o", "bad.vw"], 2, "--output='bad.vw': expected another file than the input"),
        (["train", "bad.vw", "-o", "-"], 2, "the name of a file"),
        (["train", "bad.vw", "-o", "/dev/null"], 2, "the name of a file"),
        (["convert", "bad.vw", "bad.vw"], 2, "OUT='bad.vw': expected another file than the input"),
        (["train", "bad.vw", "--holdout", "nowhere.vw"], 1, "nowhere.vw: no such file"),
        (["train", "first.csv", "--label", "HALF"], 1, "did you mean 'half'?"),
        (
            ["train", "first.csv", "--label", "half", "--weight", "half"],
            2,
            "--weight='half': expected another column than the label",
        ),
        (["train", "zip.csv", "--label", "half"], 1, "zip.csv: this is a zip archive"),
        (
            ["train", "array.jsonl"],
            1,
            "array.jsonl: line 1, character 1: expected '{': one JSON object per line, and no list",
        ),
        (["predict", "nowhere", "bad.vw"], 1, "nowhere: no such model"),
        (["predict", "bad.vw", "bad.vw"], 1, "bad.vw: container"),
        (["inspect", "nowhere"], 1, "nowhere: no such model"),
        (["convert", "nowhere.csv", "x.vw"], 1, "nowhere.csv: no such file"),
    ],
)
def test_a_mistake_is_one_line_and_an_exit_code(letters, tmp_path, capsys, monkeypatch, arguments, code, message):
    monkeypatch.setenv("ONLINEBOOST_QUIET", "1")
    monkeypatch.chdir(tmp_path)
    Path("bad.vw").write_text("1 | a\n-1 | a:1x\n")
    Path("empty.vw").write_text("\n\n")
    Path("zip.csv").write_bytes(b"PK\x03\x04rest")
    Path("array.jsonl").write_text('[{"label": 1}]')
    Path("first.csv").write_bytes((letters / "first.csv").read_bytes())
    out, err = run(capsys, *arguments, code=code)
    assert message in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize(
    "arguments",
    [["train"], ["train", "x", "-n", "0"], ["train", "x", "-a", "gentle"], ["fly"], ["train", "x", "--wings"]],
)
def test_a_wrong_command_line_is_exit_code_two(arguments, capsys):
    assert "Traceback" not in run(capsys, *arguments, code=2)[1]


def test_a_mistake_as_json(tmp_path, capsys):
    (tmp_path / "bad.vw").write_text("1 | a\n-1 | a:1x\n")
    error = json.loads(run(capsys, "train", tmp_path / "bad.vw", "--json", code=1)[0])
    assert (error["line"], error["column"]) == (2, 8)
    assert error["path"].endswith("bad.vw")


def test_records_that_cannot_be_read_can_be_skipped_and_are_counted(tmp_path, capsys):
    (tmp_path / "bad.vw").write_text("1 | a\n-1 | a:1x\n" * 8)
    out, err = run(capsys, "train", tmp_path / "bad.vw", "-n", 3, "--on-error", "skip", "--json")
    assert (json.loads(out)["examples"], json.loads(out)["skipped"]) == (8, 8)
    assert "skipped: " in err
    assert "8 records in total" in err


def test_settings_cannot_change_on_resuming(letters, model, capsys):
    _, err = run(capsys, "train", letters / "second.csv", "--resume", model, "-n", 7, code=2)
    assert "--n-estimators has no effect with --resume: the model has its own settings." in err


def test_one_label_alone_is_said(tmp_path, capsys):
    (tmp_path / "x.vw").write_text("1 | a\n1 | b\n")
    assert "all examples have the label 1: expected two labels" in run(capsys, "train", tmp_path / "x.vw", "-n", 3)[1]


def test_a_checkpoint_of_the_second_pass_goes_on_with_the_second_pass(letters, tmp_path, capsys):
    def train(*options: object) -> None:
        run(capsys, "train", letters / "first.csv", "-q", *options)

    train("--label", "half", "-n", 3, "--passes", 2, "-o", tmp_path / "whole")
    train("--label", "half", "-n", 3, "--passes", 2, "-o", tmp_path / "m")
    loaded = load_all(tmp_path / "m")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "m").read_bytes()
    loaded[0].save(tmp_path / "m", base=loaded[1], notes={**loaded[2], **stopped(loaded[2], 1)})
    train("--resume", tmp_path / "m")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_reader_that_goes_away_is_no_traceback(letters, model):
    process = subprocess.Popen(
        command("predict", model, *[letters / "first.csv"] * 20),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
    )  # fmt: skip
    with process:
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "inspect", "convert"])
def test_help_has_examples(name):
    result = CliRunner().invoke(build([]), [name, "--help"])
    assert result.exit_code == 0
    assert f"onlineboost {name} " in result.output


def test_a_model_that_another_process_has_saved_is_replaced_with_a_word(letters, tmp_path, monkeypatch, capsys):
    model, learn = tmp_path / "m", Training.learn
    new = ["train", letters / "first.csv", "--label", "half", "-a", "bbm", "-n", 3, "-q", "-o", model]
    resumed = ["train", letters / "second.csv", "-q", "--resume", model]
    for options in (new, resumed):
        assert "another process" not in run(capsys, *options, "--checkpoint-every", 1500)[1]

    def with_another(training, page):
        if model.exists():
            shutil.copy(model, tmp_path / "other")
            os.replace(tmp_path / "other", model)
        learn(training, page)

    monkeypatch.setattr(Training, "learn", with_another)
    run(capsys, *new)
    for options in (new, [*resumed, "--again"]):
        _, err = run(capsys, *options, "--checkpoint-every", 1500)
        assert err.count(f"another process has changed {model} during this training: its model is replaced") == 1
