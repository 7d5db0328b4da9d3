"""``onlineboost train`` without a choice of algorithm or learner, and the one comparison that it prints."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import typer
from commands import run

import onlineboost
from onlineboost import Linear, OnlineBoost
from onlineboost.cli.app import main
from onlineboost.cli.choice import EffortName
from onlineboost.cli.job import Job
from onlineboost.cli.summary import print_summary
from onlineboost.datasets import load_letter
from onlineboost.ensembles.ensemble import STRENGTH, Ensemble
from onlineboost.ensembles.online_boost import EFFORTS
from onlineboost.evaluate import progressive_error
from onlineboost.model import load_all
from onlineboost.parameters import brief
from onlineboost.readers import open_stream

ROWS = 3000
LINEAR = "Linear(standardize=True)"


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """Some of the letters in two files, and the second with its labels reversed."""
    folder = tmp_path_factory.mktemp("letters")
    X, y = load_letter()
    signs = {"first": y[:ROWS], "second": y[ROWS : 2 * ROWS], "turned": -y[ROWS : 2 * ROWS]}
    for name, labels in signs.items():
        values = X[:ROWS] if name == "first" else X[ROWS : 2 * ROWS]
        rows = (f"{','.join(map(str, row))},{label}" for row, label in zip(values.tolist(), labels, strict=True))
        (folder / f"{name}.csv").write_text("\n".join([",".join([*(f"f{j}" for j in range(16)), "label"]), *rows]))
    return folder


@pytest.fixture(scope="module")
def model(letters):
    """The default, trained on the first file."""
    with pytest.raises(SystemExit) as exit:
        main(["train", str(letters / "first.csv"), "-q", "-o", str(letters / "m")])
    assert not exit.value.code
    return letters / "m"


# ---- which model


@pytest.mark.parametrize(
    ("options", "model", "base"),
    [
        ("", "OnlineBoostClassifier(random_state=0)", LINEAR),
        ("-a auto --seed 3", "OnlineBoostClassifier(random_state=3)", LINEAR),
        ("--effort high", "OnlineBoostClassifier(effort='high', random_state=0)", LINEAR),
        ("-a auto --effort low", "OnlineBoostClassifier(effort='low', random_state=0)", LINEAR),
        ("--no-baseline", "OnlineBoostClassifier(random_state=0)", "None"),
        ("-a safe", f"SafeBoost(estimator={LINEAR}, random_state=0)", LINEAR),
        ("--learner linear", f"SafeBoost(estimator={LINEAR}, random_state=0)", LINEAR),
        ("--learner tree", "SafeBoost(estimator=Tree(), random_state=0)", "Tree()"),
        ("-n 61", f"SafeBoost(estimator={LINEAR}, n_estimators=61, random_state=0)", LINEAR),
        ("--bins 8", "SafeBoost(estimator=Linear(bins=8), random_state=0)", "Linear(bins=8)"),
        ("--no-standardize", "SafeBoost(estimator=Linear(), random_state=0)", "Linear()"),
        ("--adaptive", f"Adaptive(estimator=SafeBoost(estimator={LINEAR}, random_state=0))", LINEAR),
        ("-a none", LINEAR, "None"),
    ],
)
def test_the_model_that_is_asked_for(letters, capsys, monkeypatch, options, model, base):
    asked = []

    def stop(job, training, *_):
        asked.append(training)
        raise typer.Exit

    monkeypatch.setattr(Job, "run", stop)
    run(capsys, "train", letters / "first.csv", *options.split())
    assert (repr(asked[0].model), repr(asked[0].base)) == (model, base)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "-a auto -n 5",
            "--n-estimators does not apply to --algorithm auto, which chooses its learners and their settings",
        ),
        ("-a auto --learner tree", "Leave out --learner, or name an algorithm, such as -a safe."),
        ("-a auto --adaptive", "--adaptive does not apply to --algorithm auto"),
        ("--gamma 0.1", "--gamma needs an algorithm that has it: -a with one of bbm,"),
        ("--effort low -a bbm", "--effort does not apply to --algorithm bbm: it is for OnlineBoost, the default"),
        ("--effort normal -a none", "Leave out --effort or --algorithm none."),
        ("--effort low --learner tree", "--effort does not apply to --learner: it is for OnlineBoost"),
        ("--effort low --no-standardize", "Leave out --effort or --standardize."),
        ("--no-memory -a bbm", "--memory does not apply to --algorithm bbm: it is for OnlineBoost, the default"),
        ("--effort low --adaptive", "Leave out --effort or --adaptive."),
    ],
)
def test_options_that_do_not_go_together(letters, capsys, options, message):
    out, err = run(capsys, "train", letters / "first.csv", *options.split(), code=2)
    assert message in err and out == "" and len(err.splitlines()) == 1


def test_the_effort_comes_with_a_resumed_model(letters, model, capsys):
    _, err = run(capsys, "train", letters / "second.csv", "--resume", model, "--effort", "low", code=2)
    assert "--effort has no effect with --resume: the model has its own settings." in err


def test_the_rows_that_are_kept_are_said_and_may_be_left_out(letters, model, tmp_path, capsys):
    assert json.loads(run(capsys, "inspect", model, "--json")[0])["rows_kept"] == ROWS
    assert f"the last {ROWS:,} are kept, binned (train --no-memory keeps none)" in run(capsys, "inspect", model)[0]
    run(capsys, "train", letters / "first.csv", "--no-memory", "--no-baseline", "-q", "-o", tmp_path / "m")
    facts = json.loads(run(capsys, "inspect", tmp_path / "m", "--json")[0])
    assert "rows_kept" not in facts and facts["settings"]["memory"] is False and len(facts["members"]) == 9


def test_efforts_are_those_of_the_class():
    assert tuple(map(str, EffortName)) == EFFORTS


# ---- training


def test_the_default_is_compared_with_a_linear_learner(letters, model, capsys):
    out, _ = run(capsys, "train", letters / "first.csv", "--json")
    result = json.loads(out)
    stream = lambda: open_stream(letters / "first.csv")
    assert result["algorithm"] == "OnlineBoostClassifier"
    assert result["error"] == progressive_error(OnlineBoost(random_state=0), stream())
    assert result["base_error"] == progressive_error(Linear(standardize=True), stream())
    y = np.concatenate([page.batch.y for page in stream()])
    wrong, alone = (
        (one.progressive_fit(stream()) >= 0) != (y > 0)
        for one in (OnlineBoost(random_state=0), Linear(standardize=True))
    )
    better = alone.astype(float) - wrong
    points, error = 100 * better.mean(), 196 * better.std() / len(y) ** 0.5
    interval = f"(95 %: {points - error:+.1f} to {points + error:+.1f} points)"
    share = f"{100 * better.sum() / alone.sum():.1f} % fewer mistakes"
    assert (
        result["verdict"] == f"OnlineBoostClassifier gained {points:.1f} points over Linear alone {interval}, {share}."
    )
    assert result["gain"] == pytest.approx(better.sum() / alone.sum())
    assert result["paused_members"] == result["alarms"] == 0


def test_resuming_counts_the_comparison_on(letters, model, capsys):
    both = letters / "first.csv", letters / "second.csv"
    whole = json.loads(run(capsys, "train", *both, "--json", "-o", letters / "whole")[0])
    part = json.loads(run(capsys, "train", both[1], "--resume", model, "-o", letters / "resumed", "--json")[0])
    assert (letters / "resumed").read_bytes() == (letters / "whole").read_bytes()
    assert part["verdict"] == whole["verdict"]
    paired = load_all(letters / "whole")[2]["paired"]
    assert paired["weight"] == 2 * ROWS
    assert (paired["better"] - paired["worse"]) / (2 * ROWS) == pytest.approx(whole["base_error"] - whole["error"])


def test_without_the_learner_beside_it_the_model_speaks_for_itself(letters, model, capsys):
    out, _ = run(capsys, "train", letters / "first.csv", "--no-baseline", "-o", letters / "alone")
    assert onlineboost.load(letters / "alone").verdict() in out
    assert "The ensemble gained" in out and "alone" not in out.replace(str(letters / "alone"), "")


def test_one_comparison_is_printed(letters, model, capsys):
    out, _ = run(capsys, "train", letters / "first.csv", "-q")
    assert len(re.findall(r"gained|lost|made no difference|mistakes", out)) == 2  # of one sentence
    assert "The ensemble" not in out and "boosting:" not in out


def test_a_part_that_starts_over_is_said(letters, model, capsys, monkeypatch):
    monkeypatch.setenv("ONLINEBOOST_QUIET", "1")
    out, err = run(capsys, "train", letters / "first.csv", letters / "turned.csv")
    said = re.findall(r"([\d,]+) drift, error has increased: a member is reset", err)
    assert said and ROWS < int(said[0].replace(",", "")) < ROWS + 500
    assert f"alarms: {'':>12} {len(said)}" in out
    assert f"Concept drift: 1 alarm, the last after {said[-1]} examples." in out


def test_parts_that_rest_are_said(letters, model, capsys, monkeypatch):
    monkeypatch.setattr(Ensemble, "n_paused_", property(lambda ensemble: 3))
    result = json.loads(run(capsys, "train", letters / "first.csv", "--json")[0])
    assert result["paused_members"] == 3
    print_summary(result)
    assert "paused members:      3 (slow, and no gain in accuracy)" in capsys.readouterr().out
    parts = json.loads(run(capsys, "inspect", model, "--json")[0])["members"]
    assert [part["paused"] for part in parts] == [False] * 7 + [True] * 3
    assert len(re.findall(r" \(paused\)\n", run(capsys, "inspect", model)[0])) == 3


# ---- inspect


def test_inspection_of_an_ensemble_shows_its_parts(letters, model, capsys):
    facts = json.loads(run(capsys, "inspect", model, "--json")[0])
    loaded = onlineboost.load(model)
    report = loaded.report()
    assert [part["name"] for part in facts["members"]] == report.names == list(map(brief, loaded._parts()))
    for key in ("error alone", "weight", "gain"):
        assert [part[key.replace(" ", "_")] for part in facts["members"]] == report.columns[key][0].tolist()
    assert facts["settings"] == {
        "effort": "normal",
        "memory": True,
        "steady": True,
        "max_classes": 100,
        "pairs": True,
        "max_mb": None,
        "random_state": 0,
        "lag": 0,
        "class_weight": None,
        "on_drift": None,
    }
    assert 0.9 < sum(feature["strength"] for feature in facts["strongest"]) <= 1  # the rest is that of weak pairs
    assert facts["strength"] == STRENGTH
    out, _ = run(capsys, "inspect", model)
    assert "OnlineBoostClassifier, 3,000 examples learned" in out
    assert all(f"  {name}\n" in out for name in report.names)
    assert "strongest features: share of the influence on the members" in out and "weak learner" not in out


def test_inspection_of_an_adaptive_model_shows_the_fast_learner(letters, tmp_path, capsys):
    run(capsys, "train", letters / "first.csv", "--adaptive", "-n", 5, "-q", "-o", tmp_path / "m")
    parts = json.loads(run(capsys, "inspect", tmp_path / "m", "--json")[0])["members"]
    assert parts[1]["name"] == "Linear(learning_rate=32.0, standardize=True)"
    assert parts[0]["name"].startswith("Restarting(SafeBoost(Linear(standardize=True)")


def test_inspection_of_models_in_a_list(tmp_path, capsys):
    X, y = load_letter()
    models = [Linear(standardize=True), onlineboost.OnlineBBM(Linear(standardize=True), 21, head="stack")]
    onlineboost.StackedEnsemble(models, random_state=0).fit(X[:500], y[:500]).save(tmp_path / "m")
    out, _ = run(capsys, "inspect", tmp_path / "m")
    shared = "random_state=0, lag=0, class_weight=None, on_drift=None"
    assert f"settings:            estimators={models!r}, max_classes=100, n_always_active=None, {shared}\n" in out


def test_the_plot_of_an_ensemble_names_its_bars(model):
    from onlineboost.evaluate.plots import _figure, picture

    left, right = _figure(picture("title", onlineboost.load(model), ([(1, 0.5), (9, 0.2)], [(1, 0.5)]))).axes
    assert [line.get_label() for line in left.lines] == ["OnlineBoostClassifier: 0.2000", "base learner alone: 0.5000"]
    assert (right.get_xlabel(), len(right.patches)) == ("member", 10)
