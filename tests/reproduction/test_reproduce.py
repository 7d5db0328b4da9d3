"""The paper's experiment: what is tried, what is found, and that it is the same whoever works."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from onlineboost import AdaBoostOL, Linear, OnlineBBM, OSBoostOCP, Tree
from onlineboost.__main__ import main
from onlineboost.data.batch import Batch, joined, shuffled
from onlineboost.datasets import load_letter
from onlineboost.readers import open_stream
from onlineboost.reproduction import protocol, run, vw
from onlineboost.reproduction.protocol import LARGE, Task
from onlineboost.reproduction.run import Experiment


def few(examples: int, quick: bool, seed: int) -> list[Task]:
    """Some cells with some settings each."""
    bbm = [
        OnlineBBM(Linear(learning_rate=rate), n, votes="real", normalizer="none", delivery="weight", random_state=seed)
        for rate in (0.1, 2.0)
        for n in (3, 5)
    ]
    adaboost = [[AdaBoostOL(Linear(), 3, expert=e, votes="real", random_state=seed)] for e in ("last", "random")]
    return [
        Task("baseline", "paper", [Linear(learning_rate=rate) for rate in (0.1, 0.5, 2.0)]),
        Task("bbm", "vw", bbm),
        Task("adaboost-ol", "vw", adaboost[0]),
        Task("adaboost-ol-s", "vw", adaboost[1]),
        Task("bbm", "trees", [OnlineBBM(Tree(2), 3, random_state=seed), OnlineBBM(Tree(2), 3, gamma=7.0)]),
    ]


@pytest.fixture(scope="module")
def letters() -> Batch:
    X, y = load_letter()
    return joined([page.batch for page in open_stream(X[:2000], y=y[:2000])])


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(run, "tasks", few)
    monkeypatch.setattr(run, "TIMED", 1)


def entry(results: dict, family: str, setting: str) -> dict:
    return next(e for e in results["sets"][0]["entries"] if (e["family"], e["setting"]) == (family, setting))


def test_enough_is_tried():
    for examples, least in ((20_000, 400), (LARGE, 60)):
        made = {(task.family, task.setting): task.models for task in protocol.tasks(examples, False, 0)}
        for (family, setting), models in made.items():
            assert len({repr(model) for model in models}) == len(models)
            assert setting not in ("paper", "vw") or len(models) >= least, family
    every = {family for family, _ in made}
    assert every == set(protocol.FAMILIES)
    assert {setting for _, setting in made} | {"vw itself"} == set(protocol.SETTINGS)


def test_the_two_settings_are_the_papers_and_the_authors():
    made = {(task.family, task.setting): task.models[-1] for task in protocol.tasks(20_000, False, 0)}
    paper, theirs = made["bbm", "paper"], made["bbm", "vw"]
    assert paper.coin == 0.5 + paper.gamma / 2
    assert (paper.votes, paper.normalizer, paper.delivery) == ("hard", "reachable", "weight")
    assert (theirs.coin, theirs.votes, theirs.normalizer, theirs.delivery) == ("auto", "real", "none", "weight")
    assert [made["adaboost-ol", s].expert for s in ("paper", "vw")] == ["random", "last"]
    assert [made["adaboost-ol-s", s].delivery for s in ("paper", "vw")] == ["sample", "weight"]
    assert made["osboost-ocp", "vw"].as_authors and not made["osboost-ocp", "paper"].as_authors
    assert isinstance(made["osboost-ocp", "paper"], OSBoostOCP)
    assert all(model.get_params()["estimator__standardize"] is False for model in (paper, theirs))
    names = ("votes", "delivery", "expert", "as_authors")
    found = {key: tuple(getattr(model, name, None) for name in names) for key, model in made.items()}
    assert {key: facts for key, facts in found.items() if key[1] in ("paper", "vw") and key[0] != "baseline"} == {
        ("bbm", "paper"): ("hard", "weight", None, None),
        ("bbm", "vw"): ("real", "weight", None, None),
        ("adaboost-ol", "paper"): ("hard", "weight", "random", None),
        ("adaboost-ol", "vw"): ("real", "weight", "last", None),
        ("adaboost-ol-s", "paper"): ("hard", "sample", "random", None),
        ("adaboost-ol-s", "vw"): ("real", "weight", "random", None),
        ("osboost-ocp", "paper"): ("hard", "weight", None, False),
        ("osboost-ocp", "vw"): ("real", "weight", None, True),
        ("osboost", "paper"): ("hard", "weight", None, None),
        ("osboost", "vw"): ("real", "weight", None, None),
    }


@pytest.mark.parametrize(
    ("family", "model", "expected"),
    [
        ("baseline", Linear(learning_rate=2.0), "-l 2.0 --binary -b 18"),
        ("bbm", OnlineBBM(Linear(), 41, 0.3), "-l 0.5 --binary --boosting 41 --alg BBM -b 24 --gamma 0.3"),
        ("adaboost-ol", AdaBoostOL(Linear(), 4), "-l 0.5 --binary --boosting 4 --alg logistic -b 20"),
        ("adaboost-ol-s", AdaBoostOL(Linear(), 5), "-l 0.5 --binary --boosting 5 --alg adaptive -b 21"),
    ],
)
def test_the_options_of_vw(family, model, expected):
    assert vw.options(family, model) == expected.split()


def test_a_cell_is_the_best_by_progressive_error_tested_on_the_rest(quick, letters, tmp_path):
    results = Experiment(tmp_path, splits=2).run({"letter": letters})
    cell = entry(results, "baseline", "paper")
    for split in range(2):
        order = np.random.default_rng(split).permutation(2000)
        X, y = load_letter()
        X, y = X[order], y[order]
        found = []
        for rate in (0.1, 0.5, 2.0):
            model = Linear(learning_rate=rate)
            progressive = ((model.progressive_fit(X[:1600], y[:1600]) >= 0) != (y[:1600] > 0)).mean()
            found.append((progressive, rate, ((model.decision_function(X[1600:]) >= 0) != (y[1600:] > 0)).mean()))
        assert cell["test"][split] == min(found)[2]
        if split == 0:
            assert (cell["progressive"], cell["chosen"]["learning_rate"]) == min(found)[:2]
    assert (cell["tried"], cell["failed"]) == (3, 0)
    assert cell["curve"][-1] == [1600, round(cell["progressive"], 5)]
    about = results["sets"][0]
    assert (about["train"], about["test"], about["features"]) == (1600, 400, 16)
    assert about["paper"] == {"baseline": 0.2295, "bbm": 0.1923, "adaboost-ol": 0.2078, "adaboost-ol-s": 0.2078,
                              "osboost-ocp": 0.2148, "osboost": 0.2150}  # fmt: skip
    assert [one["name"] for one in results["missing"]] == ["maptaskcoref", "vehv2binary"]


def test_what_fails_is_told_in_its_row(quick, letters, tmp_path):
    cell = entry(Experiment(tmp_path).run({"letter": letters}), "bbm", "trees")
    assert (cell["tried"], cell["failed"]) == (2, 1)
    assert "gamma=7.0" in cell["reasons"][0]
    assert len(cell["test"]) == 1


def test_a_cell_of_which_all_fails(letters, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "tasks", lambda *a: [Task("bbm", "trees", [OnlineBBM(Tree(2), gamma=7.0)])])
    monkeypatch.setattr(vw, "is_installed", lambda: False)
    results = Experiment(tmp_path).run({"letter": letters})
    assert (entry(results, "bbm", "trees")["test"], results["vw_sweep"]) == ([], None)


def test_the_real_vw_finds_the_same(quick, letters, tmp_path):
    """The program and our variants of it differ by what is drawn for AdaBoost.OL.S."""
    pytest.importorskip("vowpalwabbit")
    results = Experiment(tmp_path).run({"letter": letters})
    for family, near in (("baseline", 0.003), ("bbm", 0.003), ("adaboost-ol", 0.003), ("adaboost-ol-s", 0.1)):
        ours = entry(results, family, "paper" if family == "baseline" else "vw")
        theirs = entry(results, family, "vw itself")
        assert theirs["chosen"] == ours["chosen"]
        assert abs(theirs["test"][0] - ours["test"][0]) <= near, family
    sweep = results["vw_sweep"]
    assert sweep["configurations"] == 4 and sweep["vw_seconds"] > sweep["our_seconds"] > 0


@pytest.mark.xdist_group("ray")
def test_the_same_json_whoever_works_and_how_often_it_was_interrupted(quick, letters, tmp_path, request):
    kinds = {"one": {"workers": 1}, "three": {"workers": 3}}
    if importlib.util.find_spec("ray") is not None:  # as ``make setup`` has it
        request.getfixturevalue("cluster")
        kinds["ray"] = {"engine": "ray", "workers": 2}
    for name, options in kinds.items():
        Experiment(tmp_path / name, **options).run({"letter": letters})
    texts = [(tmp_path / name / "results.json").read_bytes() for name in kinds]

    # Interrupted in the third cell.
    def interrupting(what: str, *progress: object) -> None:
        if "AdaBoost" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Experiment(tmp_path / "again", notice=interrupting).run({"letter": letters})
    tried: list[str] = []
    results = Experiment(tmp_path / "again", notice=lambda what, *more: tried.append(what)).run({"letter": letters})
    texts.append((tmp_path / "again" / "results.json").read_bytes())
    assert len(set(texts)) == 1
    assert not any("baseline" in what or "Online BBM (vw)" in what for what in tried)
    assert tried
    # A cell that was half written is found anew; the race is known.
    half = tmp_path / "again" / "races" / "letter-0-baseline-paper.json"
    half.write_text(half.read_text()[:50])
    Experiment(tmp_path / "again").run({"letter": letters})
    assert (tmp_path / "again" / "results.json").read_bytes() == texts[0]
    # Nothing of the time it took is among the results, and the report has both.
    assert "seconds" not in json.loads(texts[0]) and results["seconds"] > 0
    assert all("seconds" in e for e in results["sets"][0]["entries"])


def test_other_data_are_not_taken_for_the_same(quick, letters, tmp_path):
    first = Experiment(tmp_path).run({"letter": letters})
    second = Experiment(tmp_path, seed=1).run({"letter": letters})
    assert first["sets"][0]["entries"] != second["sets"][0]["entries"]
    # Classes of the test part alone.
    y = letters.y.copy()
    some = np.random.default_rng(0).permutation(2000)[1600:]
    y[some] = 1 - y[some]
    Experiment(tmp_path).run({"letter": letters})
    third = Experiment(tmp_path).run({"letter": letters._replace(y=y)})
    errors = [entry(results, "baseline", "paper")["test"][0] for results in (first, third)]
    assert errors[0] + errors[1] == pytest.approx(1)


def test_a_vw_that_fails_is_told_in_its_row_and_tried_again(quick, letters, tmp_path, monkeypatch):
    pytest.importorskip("vowpalwabbit")

    def fails(*arguments: str) -> None:
        raise RuntimeError("vw failed: no memory")

    with monkeypatch.context() as broken:
        broken.setattr(vw, "_vw", fails)
        results = Experiment(tmp_path).run({"letter": letters})
    cell = entry(results, "bbm", "vw itself")
    assert (cell["failed"], cell["reasons"], cell["test"]) == (1, ["vw failed: no memory"], [])
    assert results["vw_sweep"] is None
    assert len(entry(Experiment(tmp_path).run({"letter": letters}), "bbm", "vw itself")["test"]) == 1


def test_shuffling_moves_whole_rows(letters):
    moved = shuffled(letters, 3)
    order = np.random.default_rng(3).permutation(2000)
    for new, old in list(enumerate(order))[::97]:
        for rows, at in ((moved, new), (letters, old)):
            assert rows.y[at] == letters.y[old]
        part, same = (
            rows.indices[rows.indptr[at] : rows.indptr[at + 1]].tolist()
            + rows.values[rows.indptr[at] : rows.indptr[at + 1]].tolist()
            for rows, at in ((moved, new), (letters, old))
        )
        assert part == same


def test_another_file_of_a_sets_name_is_refused(tmp_path, capsys):
    (tmp_path / "covtype.libsvm").write_text("+1 1:1\n-1 2:1\n")
    with pytest.raises(SystemExit) as exit:
        main(["reproduce", "--data", str(tmp_path), "-o", str(tmp_path / "out")])
    assert exit.value.code == 1
    assert "2 examples, 1 positive, features 1 to 2: expected 581,012" in capsys.readouterr().err


def test_the_command_writes_a_report(quick, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit:
        main(["reproduce", "-o", "out"])
    assert not exit.value.code
    out, err = capsys.readouterr()
    assert "letter" in out and "full report: out/report.html" in out
    assert "letter: results in out" in err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "races", "results.json", "timings.json", "report.html", "report.md",
    }  # fmt: skip
    assert json.loads((tmp_path / "out/results.json").read_text())["command"] == "onlineboost reproduce"
    assert (tmp_path / "out/report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "none"], "--data='none': expected a folder that exists"),
        (["--data", "."], "expected a folder with files NAME.libsvm.gz; for names: onlineboost datasets"),
        (["--sets", "letters"], "did you mean letter?"),
        (["--sets", "vehv2binary"], "vehv2binary is not available"),
        (["--sets", " ,"], "--sets=' ,': expected comma-separated names of sets"),
    ],
)
def test_mistakes_of_the_command(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit:
        main(["reproduce", *arguments])
    assert exit.value.code in (1, 2)
    assert message in capsys.readouterr().err


def test_the_folder_of_data_is_that_of_the_environment(tmp_path, capsys, monkeypatch):
    """Unless --data names another."""
    (tmp_path / "covtype.libsvm").write_text("+1 1:1\n-1 2:1\n")
    monkeypatch.setenv("ONLINEBOOST_DATA", str(tmp_path))
    with pytest.raises(SystemExit) as exit:
        main(["reproduce", "-o", str(tmp_path / "out")])
    assert exit.value.code == 1
    assert "covtype.libsvm: 2 examples" in capsys.readouterr().err
