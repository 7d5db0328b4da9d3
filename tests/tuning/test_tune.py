"""Tuning beside the slow truth: every row is what its model alone would give."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from river.naive_bayes import GaussianNB
from sklearn.linear_model import SGDClassifier

from onlineboost import (
    AdaBoostOL,
    AdaBoostOLPlus,
    ConflictError,
    Copies,
    DataError,
    LeastSquares,
    Linear,
    MissingPackageError,
    NaiveBayes,
    NotFittedError,
    OnlineBBM,
    OnlineGradientBoost,
    OSBoost,
    OSBoostOCP,
    ParameterError,
    Perceptron,
    RegressionTree,
    Stump,
    Tree,
)
from onlineboost.cli.app import main
from onlineboost.cli.registered import registered_options
from onlineboost.cli.tune import entries as entries_of
from onlineboost.datasets import load_letter
from onlineboost.evaluate import progressive_error
from onlineboost.readers import open_stream
from onlineboost.tuning import data as tuning_data
from onlineboost.tuning import grid, runs, tune
from onlineboost.tuning.data import read

ENVIRONMENT = {**os.environ, "ONLINEBOOST_QUIET": "1"}
NESTED = {
    "tree": lambda: AdaBoostOL(Tree(3, grace_period=8, replay=0)),
    "sampled": lambda: AdaBoostOL(Tree(3, grace_period=8, replay=0), delivery="sample", random_state=4),
    "random expert": lambda: AdaBoostOL(NaiveBayes(replay=0), expert="random"),
    "last expert": lambda: AdaBoostOL(Stump(grace_period=8, max_features=0.5, replay=0), expert="last", votes="real"),
    "osboost": lambda: OSBoost(Tree(2, grace_period=8, replay=0), gamma=0.2),
    "linear": lambda: AdaBoostOL(Linear("logistic")),
    "perceptron": lambda: OSBoost(Perceptron(standardize=True), random_state=7),
}
OTHERS = {
    "bbm": lambda: OnlineBBM(Linear(standardize=True)),
    "ocp": lambda: OSBoostOCP(Tree(2, grace_period=8)),
    "plus": lambda: AdaBoostOLPlus(Tree(2, grace_period=8)),
    "stack": lambda: AdaBoostOL(Tree(2, grace_period=8), head="stack"),
    "replayed": lambda: AdaBoostOL(Tree(2, grace_period=8)),
    "bins": lambda: OnlineBBM(Linear(bins=8)),
    "crossed": lambda: OnlineBBM(Linear(crosses=[(0, 1)], bits=6)),
    "copies": lambda: OnlineBBM(Copies(Linear())),
    "river": lambda: OnlineBBM(GaussianNB()),
    "sklearn": lambda: OSBoost(SGDClassifier(loss="log_loss", random_state=0)),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """A few hundred examples come in several pieces, too."""
    monkeypatch.setattr(tuning_data, "ROWS", 150)


@pytest.fixture(scope="module")
def letters():
    X, y = load_letter()
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], 2000)
    return X[:2000], y[:2000], weight


def alone(model, X, y=None, weight=None) -> float:
    """The progressive error of one model, by its own means, added up one by one."""
    model = model.clone()
    if getattr(model, "random_state", 0) is None:
        model.set_params(random_state=0)
    scores = model.progressive_fit(X, y, weight)
    return error(scores, y, weight)


def error(scores, y, weight) -> float:
    weight = np.ones(len(scores)) if weight is None else weight
    mistakes = total = 0.0
    for score, label, w in zip(scores.tolist(), y.tolist(), weight.tolist(), strict=True):
        mistakes += w * ((score >= 0) != (label > 0))
        total += w
    return mistakes / total


def facts(race) -> list[tuple]:
    """All of the rows but the time."""
    return [(repr(row.model), row.error, row.examples, row.status, row.reason) for row in race.rows]


@pytest.mark.parametrize("name", [*NESTED, *OTHERS])
def test_a_row_is_what_the_model_alone_would_give(letters, name):
    slow = name in ("river", "sklearn", "copies")
    X, y, weight = (part[: 160 if slow else 1000] for part in letters)
    models = grid((NESTED | OTHERS)[name](), n_estimators=[3, 1, 2, 2] if slow else [7, 1, 3, 3])
    race = tune(models, X, y, weight, workers=2)
    assert [row.error for row in race.rows] == [alone(model, X, y, weight) for model in models]
    assert {row.status for row in race.rows} == {"done"}
    assert all(row.examples == len(y) for row in race.rows)


def test_regressors_are_compared_by_their_root_mean_square(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    y, weight = 50 + 10 * np.sin(6 * X[:, 0]) + rng.normal(size=600), rng.integers(0, 3, 600).astype(float)
    models = [RegressionTree(2), LeastSquares(), OnlineGradientBoost(RegressionTree(2), 4, loss="absolute")]
    answers = [model.clone().progressive_fit(X, y, weight) for model in models]
    expected = [float(np.sqrt(np.average((found - y) ** 2, weights=weight))) for found in answers]
    race = tune(models, X, y, weight, workers=2, journal=tmp_path / "j")
    assert [row.error for row in race.rows] == pytest.approx(expected, rel=1e-12)
    assert race.best.error == min(row.error for row in race.rows)
    assert "RMSE" in str(race)
    again = tune(models, X, y, weight, journal=tmp_path / "j")
    assert [row.error for row in again.rows] == [row.error for row in race.rows]
    rows = [({f"f{j}": float(v) for j, v in enumerate(row)}, float(t)) for row, t in zip(X, y, strict=True)]
    (one,) = tune([LeastSquares()], open_stream(rows, task="number", batch_size=70)).rows
    found = LeastSquares().progressive_fit(open_stream(rows, task="number", batch_size=33))
    assert one.error == pytest.approx(float(np.sqrt(np.mean((found - y) ** 2))))
    with pytest.raises(ParameterError, match="classifiers only, or regressors only"):
        tune([LeastSquares(), Linear()], X, y)
    with pytest.raises(DataError, match="not numbers, which a regressor learns"):
        tune([LeastSquares()], open_stream([({"a": 1.0}, "x"), ({"a": 2.0}, "y")]))


@pytest.mark.parametrize("name", [*NESTED, *OTHERS])
def test_which_models_share_a_run(name):
    models = dict(enumerate(grid((NESTED | OTHERS)[name](), n_estimators=[7, 1, 3])))
    assert runs.together(models) == ([[1, 2, 0]] if name in NESTED else [[0], [2], [1]])


def test_trees_that_lack_memory_share_no_run():
    models = dict(enumerate(grid(OSBoost(Tree(8, max_mb=1)), n_estimators=[5, 21])))
    assert runs.together(models) == [[1], [0]]


def test_learners_alone(letters):
    X, y, _ = letters
    models = [*grid(Linear(standardize=True), learning_rate=[0.1, 0.5, 2.0]), Tree(3), NaiveBayes(), Perceptron()]
    assert [row.error for row in tune(models, X, y).rows] == [alone(model, X, y) for model in models]


@pytest.mark.parametrize("learner", [Linear(standardize=True), Linear(crosses=[("f1", "f2")]), Tree(2), Stump()])
def test_streams_and_batches(tmp_path, learner):
    X, y = load_letter()
    X, y = X[:500], y[:500]
    rows = [({f"f{j}": float(x) for j, x in enumerate(row)}, int(label)) for row, label in zip(X, y, strict=True)]
    models = grid(OSBoost(learner, random_state=0), n_estimators=[1, 3])
    expected = [error(model.clone().progressive_fit(open_stream(rows, batch_size=64)), y, None) for model in models]
    assert [row.error for row in tune(models, open_stream(rows, batch_size=80)).rows] == expected
    if learner.get_params().get("crosses"):
        return  # batches by themselves have no names
    assert [row.error for row in tune(models, list(open_stream(rows, batch_size=80))).rows] == expected


def test_sparse_matrices_and_frames(letters):
    import pandas as pd
    import scipy.sparse as sp

    X, y, _ = letters
    models = [OSBoost(Tree(2), 3, random_state=0), OnlineBBM(Linear(crosses=[("f1", "f2")]), 3)]
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(16)])
    assert [row.error for row in tune(models, frame, y).rows] == [alone(model, frame, y) for model in models]
    (row,) = tune(models[:1], sp.csr_matrix(X), y).rows
    assert row.error == alone(models[0], X, y)


MODELS = [
    *grid(OnlineBBM(Linear(standardize=True)), n_estimators=[1, 5], estimator__learning_rate=[0.05, 0.5]),
    *grid(OSBoost(Tree(2)), n_estimators=[1, 3, 7], gamma=[0.1, 0.2]),
    *grid(AdaBoostOL(Stump()), n_estimators=[5, 3]),
    Linear(),
]


@pytest.mark.parametrize("halving", [None, 2, 3])
def test_the_number_of_threads_changes_nothing(letters, halving):
    X, y, weight = letters
    races = [facts(tune(MODELS, X, y, weight, halving=halving, workers=n)) for n in (1, 2, 3)]
    assert races[0] == races[1] == races[2]


def halved(models, X, y, eta):
    """Successive halving, word by word: examples and status of each model."""
    n = len(y)
    stops = [int(np.ceil(n / eta**2)), int(np.ceil(n / eta)), n]
    scores = [model.clone().progressive_fit(X, y) for model in models]
    rows = [[0, "done"] for _ in models]
    alive = list(range(len(models)))
    for stop in stops:
        for k in alive:
            rows[k][0] = stop
        if stop == n:
            break
        ranked = sorted(alive, key=lambda k: (error(scores[k][:stop], y[:stop], None), k))
        keep = ranked[: int(np.ceil(len(alive) / eta))]
        for k in set(alive) - set(keep):
            rows[k][1] = "stopped"
        alive = keep
    return [(error(scores[k][: rows[k][0]], y[: rows[k][0]], None), *rows[k]) for k in range(len(models))]


@pytest.mark.parametrize("eta", [2, 3])
def test_halving_is_halving(letters, eta):
    X, y, _ = letters
    models = [model.clone() for model in MODELS]
    for model in models:
        if hasattr(model, "random_state"):
            model.set_params(random_state=0)
    race = tune(models, X[:1001], y[:1001], halving=eta)
    assert [(row.error, row.examples, row.status) for row in race.rows] == halved(models, X[:1001], y[:1001], eta)
    assert race.best.status == "done"


def test_halving_keeps_the_states_of_those_only_that_may_go_on(letters, monkeypatch):
    from onlineboost.tuning import race

    most = []
    give_up = race._Track._give_up

    def watched(track, *rest):
        give_up(track, *rest)
        most.append(len(track.tickets))

    monkeypatch.setattr(race._Track, "_give_up", watched)
    X, y, _ = letters
    tune(grid(Linear(), learning_rate=np.geomspace(0.01, 4, 30).tolist()), X, y, halving=3, workers=1)
    assert max(most) == 10


@pytest.mark.parametrize(("halving", "states"), [(None, 3), (3, 13)])
def test_memory_is_that_of_those_at_work_and_those_that_may_go_on(letters, monkeypatch, halving, states):
    made, most = [], []
    make = runs.Run._new_node
    monkeypatch.setattr(runs.Run, "_new_node", lambda *rest: (node := make(*rest), made.append(weakref.ref(node)))[0])
    X, y, _ = letters
    race = tune(
        grid(Linear(), learning_rate=np.geomspace(0.01, 4, 30).tolist()),
        X,
        y,
        halving=halving,
        workers=1,
        progress=lambda *_: most.append(sum(node() is not None for node in made)),
    )
    assert max(most) <= states
    assert not any(row.model.__sklearn_is_fitted__() for row in race.rows)


def test_rows_hold_models_that_have_learned_nothing(letters):
    X, y, _ = letters
    (row,) = tune([OnlineBBM(GaussianNB(), 2)], X[:100], y[:100]).rows
    assert not row.model.__sklearn_is_fitted__()


def test_what_fails_is_told_and_the_others_go_on(letters, monkeypatch):
    X, y, _ = letters
    run = runs.Run._new_node

    def short_of_memory(self, n_features):
        if self.models[-1].get_params().get("n_estimators", 1) > 5:
            raise MemoryError
        return run(self, n_features)

    monkeypatch.setattr(runs.Run, "_new_node", short_of_memory)
    models = [
        *grid(OSBoost(Tree(2)), n_estimators=[3, 9, 5]),
        OSBoost(None, 3, 0.9),
        OnlineBBM(n_estimators=0),
        Linear(),
    ]
    race = tune(models, X, y)
    assert [row.status for row in race.rows] == ["done", "failed", "done", "failed", "failed", "done"]
    assert race.rows[1].reason == "MemoryError"
    assert "gamma=0.9" in race.rows[3].reason
    assert "n_estimators=0" in race.rows[4].reason
    assert race.rows[2].error == alone(models[2], X, y)
    assert "failed: OnlineBBM(n_estimators=0" in str(race)


def test_if_all_fail_there_is_no_best(letters):
    X, y, _ = letters
    race = tune([OSBoost(gamma=0.9)], X, y)
    with pytest.raises(NotFittedError, match="gamma=0.9"):
        race.best  # noqa: B018


def test_of_equals_the_first_given_is_best(letters):
    X, y, _ = letters
    models = [Linear(learning_rate=4.0), Tree(2), Tree(2, bins=16), Tree(2)]
    race = tune(models, X, y, workers=2)
    assert race.best is race.rows[1]


def test_seeds_are_fixed_and_told(letters):
    X, y, _ = letters
    generator = np.random.default_rng(5)
    models = [OSBoost(Tree(2), 3), OSBoost(Tree(2), 3, random_state=generator), OSBoost(Tree(2), 3, random_state=9)]
    rows = tune(models, X, y).rows
    assert [row.model.random_state for row in rows] == [0, int(np.random.default_rng(5).integers(1 << 32)), 9]
    assert models[0].random_state is None  # what was given is left as it was


def test_grid_gives_each_model_its_own_learner():
    models = grid(OnlineBBM(SGDClassifier(loss="log_loss")), estimator__alpha=[0.1, 0.2])
    assert [model.estimator.alpha for model in models] == [0.1, 0.2]


def test_progress_is_told(letters):
    X, y, _ = letters
    told = []
    race = tune(MODELS, X, y, progress=lambda *facts: told.append(facts))
    assert [done for done, _, _ in told] == list(range(1, len(MODELS) + 1))
    assert {total for _, total, _ in told} == {len(MODELS)}
    assert told[-1][2].error == race.best.error


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"models": []}, "at least one configuration"),
        ({"models": [Linear]}, "boosters and learners"),
        ({"halving": 1}, "at least 2"),
        ({"workers": 0}, "workers=0"),
        ({"engine": "dask"}, "'threads', 'ray'"),
        ({"address": "auto"}, "engine='ray'"),
    ],
)
def test_clumsy_calls(letters, keywords, said):
    X, y, _ = letters
    with pytest.raises((ParameterError, ConflictError), match=said):
        tune(**{"models": [Linear()], "X": X, "y": y} | keywords)


def test_data_that_are_none(letters):
    X, y, _ = letters
    for arguments, said in (((X,), "y is missing"), (([*[]], None), "y is missing"), ((X, y[:-1]), "per row")):
        with pytest.raises(DataError, match=said):
            tune([Linear()], *arguments)
    assert tune([Linear()], X, y, np.zeros(len(y))).rows[0].status == "failed"


# ---- the journal


def test_a_journal_is_not_run_again(letters, tmp_path, monkeypatch):
    X, y, weight = letters
    path = tmp_path / "journal"
    first = tune(MODELS[:4], X, y, weight, journal=path)
    lines = path.read_text().splitlines()
    assert len(lines) == 4
    began = []
    advance = runs.Run.advance
    monkeypatch.setattr(runs.Run, "advance", lambda run, *rest: began.append(run) or advance(run, *rest))
    again = tune(MODELS[:5], X, y, weight, journal=path)
    assert len(began) == 1
    assert [row.error for row in again.rows[:4]] == [row.error for row in first.rows]
    assert facts(again)[:4] == facts(first)
    tune(MODELS[:4], X, -y, weight, journal=path)  # other data
    assert len(began) == 5
    assert facts(tune(MODELS[:4], X, y, weight, journal=path)) == facts(first)
    assert len(began) == 5
    assert len(path.read_text().splitlines()) == 9


def test_a_torn_line_is_run_again(letters, tmp_path):
    X, y, _ = letters
    path = tmp_path / "journal"
    whole = tune(MODELS[:4], X, y, journal=path)
    text = path.read_text()
    path.write_text(text[:-40])
    assert facts(tune(MODELS[:4], X, y, journal=path)) == facts(whole)
    *before, torn, last = path.read_text().splitlines()
    assert text.splitlines()[:3] == before
    assert json.loads(last)["key"] == json.loads(text.splitlines()[3])["key"]
    with pytest.raises(ValueError):
        json.loads(torn)


def test_halving_goes_on_from_a_journal(letters, tmp_path):
    X, y, weight = letters
    path = tmp_path / "journal"
    whole = tune(MODELS, X, y, weight, halving=3, journal=path)
    lines = path.read_text().splitlines()
    for kept in (0, 3, len(MODELS) - 1, len(MODELS) + 1, len(lines)):
        path.write_text("".join(f"{line}\n" for line in lines[:kept]))
        assert facts(tune(MODELS, X, y, weight, halving=3, journal=path)) == facts(whole)


def test_a_journal_of_a_full_race_serves_halving(letters, tmp_path):
    X, y, _ = letters
    full = tune(MODELS, X, y, journal=tmp_path / "j")
    best = tune(MODELS, X, y, halving=3, journal=tmp_path / "j").best
    assert best.error == full.rows[[repr(row.model) for row in full.rows].index(repr(best.model))].error


# ---- the command


@pytest.fixture(scope="module")
def letter_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tune") / "letter.csv"
    with pytest.raises(SystemExit):
        main(["demo", "--export", str(path)])
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:4001]) + "\n")
    return path


def run(capsys, *arguments: object, code: int = 0) -> str:
    with pytest.raises(SystemExit) as exit:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert (exit.value.code or 0) == code, err
    return out if code == 0 else err


OPTIONS = ["--label", "half", "-n", "1,5", "--gamma", ".1,.2", "--learning-rate", ".1,1", "-q"]


def test_the_command_that_is_printed_trains_the_winner(letter_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = run(capsys, "tune", letter_file, *OPTIONS, "-a", "bbm,adaboost-ol", "--no-standardize", "--votes", "real")
    table, rest = out.split("\n\n", 1)
    assert len(table.splitlines()) == 11
    assert "12 done" in rest
    command = rest.strip().splitlines()[-1].split()
    trained = json.loads(run(capsys, *command[1:], "--json"))
    assert f"lowest error:        {trained['error']:.4f}" in rest
    assert table.splitlines()[1].split()[0] == f"{trained['error']:.4f}"
    assert (tmp_path / "best.model").exists()


def test_json(letter_file, capsys):
    options = [*OPTIONS, "-a", "bbm", "--learner", "linear", "--json", "--halving"]
    result = json.loads(run(capsys, "tune", letter_file, *options))
    models = grid(OnlineBBM(Linear(standardize=True)), n_estimators=[1, 5], gamma=[0.1, 0.2])
    models = [model for one in models for model in grid(one, estimator__learning_rate=[0.1, 1.0])]
    race = tune(models, open_stream(letter_file, label="half"), halving=3)
    assert [(row["model"], row["error"], row["status"]) for row in result["rows"]] == [
        (repr(row.model), row.error, row.status) for row in race.rows
    ]
    assert result["best"]["error"] == race.best.error
    assert result["examples"] == 4000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-n", "5,x"], "comma-separated whole numbers"),
        (["-a", "bbm,magic"], "names from auto, adaboost-ol, "),
        (["--gamma", "0.1,0.7"], "gamma=0.7"),
        (["-a", "adaboost-ol", "--gamma", "0.1"], "--gamma does not apply to --algorithm adaboost-ol"),
        (["--learner", "tree", "--learning-rate", "1"], "--learning-rate does not apply to --learner tree"),
        (["-a", "none", "-n", "5"], "--n-estimators does not apply to --algorithm none"),
        (["--address", "auto"], "engine='ray'"),
        (["--journal", "/nowhere/j"], "a folder that exists"),
    ],
)
def test_mistakes_on_the_command_line(letter_file, capsys, options, said):
    assert said in run(capsys, "tune", letter_file, "--label", "half", *options, code=2)


def test_without_a_choice_the_default_of_train_and_the_learner_are_raced(letter_file, capsys):
    entries = {
        options: [(type(entry.model).__name__, entry.options.get("learner"), len(entry.options)) for entry in found]
        for options, found in {
            "none": list(raced({}, set())),
            "depth": list(raced({"max_depth": "2"}, {"max_depth"})),
            "learners": list(raced({"learner": "linear,tree", "learning_rate": "1"}, {"learner", "learning_rate"})),
        }.items()
    }
    kinds = {name: [*dict.fromkeys(entry[:2] for entry in found)] for name, found in entries.items()}
    linear, tree, bbm = ("SafeBoost", "linear"), ("SafeBoost", "tree"), ("OnlineBBM", "linear")
    assert kinds["none"] == [("OnlineBoostClassifier", None), linear, tree, bbm]
    assert len(entries["none"]) == 1 + 3 + 3 + 36
    assert kinds["depth"] == [tree, ("OnlineBBM", "tree")] and kinds["learners"] == [
        linear,
        tree,
        bbm,
        ("OnlineBBM", "tree"),
    ]
    options = ["--label", "half", "-a", "auto,safe", "--learning-rate", "1", "-n", "3", "--json", "-q"]
    result = json.loads(run(capsys, "tune", letter_file, *options))
    assert [row["model"].split("(")[0] for row in result["rows"]] == ["OnlineBoostClassifier", "SafeBoost"]
    assert result["best"]["model"] == "OnlineBoostClassifier(random_state=0)"
    assert result["command"] == f"onlineboost train {letter_file} --label half -o best.model"


def raced(options, named):
    given = dict.fromkeys(registered_options()) | {"algorithm": "auto,safe,bbm", "learner": "linear,tree"}
    return entries_of(given | options, named, 0)


def test_trees_and_the_learner_alone(letter_file, capsys):
    out = run(capsys, "tune", letter_file, "--label", "half", "-a", "none", "--learner", "tree", "--max-depth", "2,3")
    assert out.strip().splitlines()[-1].endswith("--algorithm none --learner tree --max-depth 3 -o best.model")


def test_a_race_that_was_killed_goes_on(letter_file, tmp_path, capsys):
    options = ["--label", "half", "-a", "bbm,osboost", "--learner", "tree", "-n", "21,51", "--json", "-j", 1]
    options += ["--gamma", "0.05,0.1,0.2", "--max-depth", "3"]
    whole = json.loads(run(capsys, "tune", letter_file, *options))
    journal = tmp_path / "journal"
    command = [sys.executable, "-m", "onlineboost", "tune", letter_file, *options, "--journal", journal]
    process = subprocess.Popen([*map(str, command)], env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    while process.poll() is None and (not journal.exists() or journal.read_text().count("\n") < 2):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 2 <= journal.read_text().count("\n") < len(whole["rows"])
    resumed = json.loads(run(capsys, "tune", letter_file, *options, "--journal", journal))
    assert timeless(resumed) == timeless(whole)
    assert journal.read_text().count("\n") >= len(whole["rows"])


def timeless(result):
    if isinstance(result, dict):
        return {name: timeless(value) for name, value in result.items() if name != "seconds"}
    return [timeless(value) for value in result] if isinstance(result, list) else result


def test_a_bar_after_two_seconds_on_a_terminal(monkeypatch):
    from onlineboost.cli import terminal
    from onlineboost.tuning import Row

    monkeypatch.setattr(terminal.sys.stderr, "isatty", lambda: True, raising=False)
    progress = terminal.RaceProgress(quiet=False)
    progress(1, 9, None)
    assert progress.bar is None
    progress.began -= 3
    progress(2, 9, Row(Linear(), 0.25))
    assert progress.bar.tasks[0].description == "2 of 9 configurations, best error 0.25"
    progress.close()
    hidden = terminal.RaceProgress(quiet=True)
    hidden.began -= 3
    hidden(2, 9, None)
    assert hidden.bar is None


# ---- Ray


@pytest.mark.parametrize("halving", [None, 3])
def test_ray_changes_nothing(letters, cluster, halving):
    X, y, weight = letters
    threads = tune(MODELS, X, y, weight, halving=halving)
    rays = tune(MODELS, X, y, weight, halving=halving, engine="ray", workers=2)
    assert facts(rays) == facts(threads)
    assert cluster.is_initialized()  # it was there before, and stays


class Deadly(GaussianNB):
    """A learner that takes its process with it, unless it is the one of the test."""

    def __init__(self, home: int = 0):
        super().__init__()
        self.home = home

    def learn_one(self, x, y):
        if os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_died_is_told(letters, cluster):
    X, y, _ = letters
    models = [Linear(), OnlineBBM(Deadly(os.getpid()), 1), Linear(learning_rate=0.1), OSBoost(gamma=0.9)]
    race = tune(models, X[:200], y[:200], engine="ray", workers=2)
    assert [row.status for row in race.rows] == ["done", "failed", "done", "failed"]
    assert "the worker died" in race.rows[1].reason
    assert "gamma=0.9" in race.rows[3].reason


def test_without_ray_it_is_said_how_to_get_it(letters, monkeypatch):
    X, y, _ = letters
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match="needs Ray, which is not installed: pip install 'onlineboost"):
        tune([Linear()], X, y, engine="ray")


def test_rows_are_copied_out_of_the_object_store_once(letters, cluster):
    from onlineboost.tuning import engines

    X, y, _ = letters
    reference = cluster.put(read(X, y))
    mine = engines._own(reference)
    assert mine is engines._own(reference)
    assert all(array.flags.writeable for array in mine.batch)
    assert not cluster.get(reference).batch.values.flags.writeable
    engines._mine.clear()


def test_a_journal_is_not_written_over_other_files(tmp_path, capsys):
    """Such as the data that are read."""
    from onlineboost.__main__ import main

    path = tmp_path / "data.csv"
    path.write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(SystemExit) as exit:
        main(["tune", str(path), "--label", "y", "--journal", str(path)])
    assert exit.value.code == 2
    assert "expected a journal, or the name of a file that does not exist" in capsys.readouterr().err
    assert path.read_text() == "a,y\n1,0\n2,1\n"


@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_many_classes_are_as_alone():
    X, letters = load_letter(letters=True)
    X, y = X[:1500], np.where(letters < "E", letters, "E")[:1500]
    models = grid(OnlineBBM(Tree(2), head="stack", random_state=0), n_estimators=[2, 4])
    for source in (lambda: (X, y), lambda: (open_stream(X, y=y),)):
        race = tune(models, *source())
        alone = [progressive_error(model, *source()) for model in models]
        assert [race.rows[k].error for k in range(2)] == pytest.approx(alone, abs=1e-12)
