"""Files as people have them: kept columns, answers from a pipe, answers while learning, ids."""

from __future__ import annotations

import io
import json
import select
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from commands import ENVIRONMENT, command, run

from onlineboost import LeastSquares, Linear, OnlineBBM, OnlineBoostRegressor, load
from onlineboost.readers import open_stream

OPTIONS = ["-a", "bbm", "-n", 3, "-q"]


def same_model():
    return OnlineBBM(Linear(standardize=True), n_estimators=3, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows as CSV, JSON lines, Parquet and Arrow, with an id that no model has learned, and a model."""
    path = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(2)
    size, colour = rng.normal(size=300).round(3), rng.choice(["red", "blue"], 300)
    label = np.where(size + (colour == "red") > 0.3, "yes", "no")
    frame = pd.DataFrame({"size": size, "colour": colour, "label": label})
    frame.to_csv(path / "train.csv", index=False)
    frame.insert(0, "id", [f'u "{k}", x' for k in range(300)])
    frame.to_csv(path / "new.csv", index=False)
    frame.to_json(path / "new.jsonl", orient="records", lines=True)
    frame.to_parquet(path / "new.parquet")
    frame.to_feather(path / "new.arrow")
    same_model().fit(open_stream(path / "train.csv")).save(path / "model")
    return path


@pytest.mark.parametrize("name", ["new.csv", "new.jsonl", "new.parquet", "new.arrow"])
def test_columns_of_the_input_row_numbers_and_probabilities(folder, tmp_path, capsys, name):
    given = pd.read_csv(folder / "new.csv")
    run(capsys, "predict", folder / "model", folder / "train.csv", "-o", tmp_path / "plain.csv")
    plain = pd.read_csv(tmp_path / "plain.csv")
    options = ["--keep", "id,label", "--row-numbers", "--probabilities"]
    for suffix in ("csv", "parquet"):
        run(capsys, "predict", folder / "model", folder / name, *options, "-o", tmp_path / f"a.{suffix}")
    answers = pd.read_csv(tmp_path / "a.csv")
    assert [*answers] == ["row", "id", "input.label", *plain, "probability.no", "probability.yes"]
    assert answers["row"].tolist() == [*range(1, 301)]
    assert answers["id"].tolist() == given["id"].tolist() and answers["input.label"].tolist() == given["label"].tolist()
    assert answers[[*plain]].equals(plain) and answers["probability.yes"].tolist() == plain["probability"].tolist()
    assert np.allclose(answers["probability.no"] + answers["probability.yes"], 1)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), answers, check_dtype=False, rtol=1e-15)


def test_answers_to_no_rows_have_a_heading(folder, tmp_path, capsys):
    (tmp_path / "none.csv").write_text("id,size,colour,label\n")
    arguments = "predict", folder / "model", tmp_path / "none.csv", "--columns", "warn", "-o"
    assert run(capsys, *arguments, "-")[0] == "label,score,probability\n"
    for name in ("a.csv", "a.parquet"):
        run(capsys, *arguments, tmp_path / name)
    assert (tmp_path / "a.csv").read_text() == "label,score,probability\n"
    assert [*pd.read_parquet(tmp_path / "a.parquet")] == ["label", "score", "probability"]


def test_what_cannot_be_kept_is_an_error(folder, tmp_path, capsys):
    (tmp_path / "x.vw").write_text("| size:1\n")
    for file, options, code, said in (
        (
            folder / "new.csv",
            ["--keep", "ids"],
            1,
            "no column 'ids' for --keep; the columns are id, size, colour, label",
        ),
        (tmp_path / "x.vw", ["--keep", "id"], 2, "--keep does not apply to VW text, which has no columns"),
        (folder / "new.csv", ["--keep", "id", "--engine", "ray"], 2, "--keep cannot be combined with --engine ray"),
    ):
        assert said in run(capsys, "predict", folder / "model", file, *options, code=code)[1]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_each_line_of_a_pipe_is_answered_before_the_next_one_comes(folder, form):
    lines = {"csv": ["id,size,colour", "a,2.5,red", "b,-2,blue"]}
    lines["jsonl"] = ["", '{"id": "a", "size": 2.5, "colour": "red"}', '{"id": "b", "size": -2, "colour": "blue"}']
    process = subprocess.Popen(
        command("predict", folder / "model", "-", "-f", form, "--keep", "id"),
        env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        process.stdin.write("\n".join([*lines[form][:2], ""]).encode())
        process.stdin.flush()
        assert process.stdout.readline() == b"id,label,score,probability\n"
        assert process.stdout.readline().startswith(b"a,yes,")
        assert not select.select([process.stdout], [], [], 0.2)[0]
        process.stdin.write(lines[form][2].encode())
        process.stdin.close()
        assert process.stdout.readline().startswith(b"b,no,")
    assert process.returncode == 0


def test_answers_while_learning_are_those_before_learning(folder, tmp_path, capsys):
    file, answers, model = folder / "train.csv", tmp_path / "answers.csv", tmp_path / "m"
    options = [*OPTIONS, "-o", model]
    result = json.loads(run(capsys, "train", file, *options, "--predictions", answers, "--json")[0])
    (page,) = open_stream(file)
    scores = same_model().learn(page)
    found = pd.read_csv(answers)
    assert [*found] == ["label", "score"] and result["predictions"] == str(answers)
    assert np.array_equal(found["score"], page.target.scores(scores))
    assert np.mean(found["label"] != pd.read_csv(file)["label"]) == pytest.approx(result["error"])
    for name in ("a.jsonl", "a.parquet"):
        run(capsys, "train", file, *options, "--predictions", tmp_path / name, "--checkpoint-every", 70)
    assert pd.read_json(tmp_path / "a.jsonl", lines=True).to_dict() == found.to_dict()
    assert pd.read_parquet(tmp_path / "a.parquet").to_dict() == found.to_dict()
    again = ["train", file, "--resume", model, "-q", "--predictions", answers]
    assert "some rows were learned before" in run(capsys, *again, code=2)[1]
    run(capsys, *again, "--again")
    assert len(pd.read_csv(answers)) == 300
    for more, said in (
        (["--passes", 2, "--predictions", answers], "leave out --passes"),
        (["--predictions", tmp_path / "a.txt"], "a file that ends in .csv, .jsonl or .parquet"),
        (["--predictions", file], "another file than the input"),
    ):
        assert said in run(capsys, "train", file, *more, code=2)[1]


def test_rows_whose_answers_cannot_be_written_are_learned_once(tmp_path, capsys):
    """The labels of the second file do not fit the Parquet file that the first one began."""
    files, model = [tmp_path / "1.csv", tmp_path / "2.csv"], tmp_path / "m"
    for file, label in zip(files, (1, 2.5), strict=True):
        pd.DataFrame({"size": range(50), "label": label}).to_csv(file, index=False)
    wrong = ["--predictions", tmp_path / "a.parquet", "-o", model]
    _, err = run(capsys, "train", *files, *OPTIONS, *wrong, "--task", "classes", code=1)
    assert "write .csv or .jsonl" in err and "100 examples were learned before the error" in err
    run(capsys, "train", *files, "--resume", model, "-q")
    assert load(model).n_seen_ == 100


def test_numbers_while_learning(tmp_path, capsys):
    rng = np.random.default_rng(1)
    x = rng.normal(size=80).round(2)
    pd.DataFrame({"x": x, "y": (3 * x + rng.normal(size=80)).round(3)}).to_csv(tmp_path / "n.csv", index=False)
    run(capsys, "train", tmp_path / "n.csv", "--label", "y", "-q", "--predictions", tmp_path / "a.csv")
    stream = open_stream(tmp_path / "n.csv", label="y", task="number")
    expected = OnlineBoostRegressor(random_state=0).progressive_interval(stream)
    found = pd.read_csv(tmp_path / "a.csv")
    assert [*found] == ["prediction", "low", "high"]
    assert all(np.array_equal(found[name], one) for name, one in zip(found, expected, strict=True))


def test_numbers_without_bounds_while_learning(tmp_path, capsys):
    x = np.arange(40) % 7
    pd.DataFrame({"x": x, "y": x + 0.5}).to_csv(tmp_path / "n.csv", index=False)
    model = LeastSquares()
    (page,) = open_stream(tmp_path / "n.csv", label="y", task="number")
    model.learn(page)
    model.save(tmp_path / "m")
    answers = ["--predictions", tmp_path / "a.csv", "-o", tmp_path / "more", "-q"]
    run(capsys, "train", tmp_path / "n.csv", "--resume", tmp_path / "m", "--again", *answers)
    found = pd.read_csv(tmp_path / "a.csv")
    assert [*found] == ["prediction"] and np.array_equal(found["prediction"], model.learn(page))


def test_ids_are_warned_of_once_and_only_ids(tmp_path, capsys):
    rows = [
        {
            "user": f"u{k}",
            "ticket": f"{k}t",
            "row": k,
            "big": 10**9 + k,
            "size": k % 7,
            "colour": "rb"[k % 2],
            "label": k % 3 % 2,
        }
        for k in range(150)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "x.csv", index=False)
    _, err = run(capsys, "train", tmp_path / "x.csv", *OPTIONS)
    assert err.splitlines() == [
        "onlineboost: columns 'user', 'ticket' have a different value in every row, like ids; "
        "if they are ids, leave them out: --drop user --drop ticket",
        "onlineboost: columns 'big', 'row' have numbers that count up, like ids; "
        "if they are ids, leave them out: --drop big --drop row",
    ]
    drop = ["--drop", "user", "--drop", "row", "--drop"]
    assert run(capsys, "train", tmp_path / "x.csv", *OPTIONS, *drop, "big")[1] == (
        "onlineboost: column 'ticket' has a different value in every row, like an id; "
        "if it is one, leave it out: --drop ticket\n"
    )
    drop += ["ticket", "--drop", "big"]
    assert run(capsys, "train", tmp_path / "x.csv", *OPTIONS, *drop)[1] == ""


def test_a_column_of_text_is_said_once_and_is_no_id(tmp_path, capsys):
    rows = [{"message": f"please help number {k} again", "size": k % 7, "label": k % 3 % 2} for k in range(150)]
    pd.DataFrame(rows).to_csv(tmp_path / "x.csv", index=False)
    file, model = tmp_path / "x.csv", tmp_path / "m"
    flag = "--categorical message reads each cell as one value"
    said = f"onlineboost: column 'message' is text: its words are features; {flag}\n"
    assert run(capsys, "train", file, *OPTIONS, "-o", model)[1] == said
    assert run(capsys, "train", file, "-q", "--resume", model, "--again")[1] == ""
    assert run(capsys, "train", file, *OPTIONS, "--text", "message")[1] == ""
    err = run(capsys, "train", file, "--resume", model, "--again", "--text", "size", code=2)[1]
    assert "--text is fixed by the model of --resume, which has none: leave it out." in err
    known = load(model)._fitted.columns.names.values()
    assert {"message=please", "message=149"} <= {*known}


def test_dates_are_found_in_the_first_rows_and_said(tmp_path, capsys):
    rows = [
        {
            "joined": f"{k % 28 + 1:02}/{k % 12 + 1:02}/2023",
            "left": f"1/{k % 3 + 1}/2024",
            "size": k % 7,
            "label": k % 2,
        }
        for k in range(150)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "x.csv", index=False)
    out, err = run(capsys, "train", tmp_path / "x.csv", *OPTIONS, "-o", tmp_path / "m")
    assert err.splitlines() == [
        "onlineboost: column 'joined' has dates: read with the day first; --month-first joined is the other order",
        "onlineboost: column 'left' has dates: read with the day first, although the first rows do not show it; "
        "--month-first left is the other order",
    ]
    assert "  date:              joined, left" in out.splitlines()
    assert "  number:            size" in run(capsys, "inspect", tmp_path / "m")[0].splitlines()
    err = run(capsys, "train", tmp_path / "x.csv", *OPTIONS, "--month-first", "joined", code=1)[1]
    assert "x.csv: line 14" in err
    assert "found '13/01/2023' in column 'joined'; --day-first is the other order" in err or "--day-first" in err
    assert run(capsys, "train", tmp_path / "x.csv", *OPTIONS, "--day-first", "joined", "--drop", "left")[1] == ""
    loaded = load(tmp_path / "m")._fitted.columns
    assert loaded.schema.day_first == ("joined", "left")
    assert run(capsys, "train", tmp_path / "x.csv", "-q", "--resume", tmp_path / "m", "--again")[1] == ""


def test_a_decimal_comma_is_said_with_the_option(tmp_path, capsys):
    lines = [f"{k % 9},{k % 8}5;{k % 2}" for k in range(60)]
    (tmp_path / "x.csv").write_text("a;label\n" + "\n".join(lines) + "\n")
    _, err = run(capsys, "train", tmp_path / "x.csv", *OPTIONS)
    assert "x.csv: from line 2 on: '0,05' is read as the number 0.05, with a decimal comma; set --decimal to '.'" in err
    assert run(capsys, "train", tmp_path / "x.csv", *OPTIONS, "--decimal", ",")[1] == ""


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_answers_line_up_where_records_cannot_be_read(kind, tmp_path, capsys):
    rows = [f"{k % 3 - 1},{k % 2}" for k in range(40)]
    (tmp_path / "x.csv").write_text("\n".join(["a,label", *rows]) + "\n")
    run(capsys, "train", tmp_path / "x.csv", "-a", "none", "-o", tmp_path / "m")
    whole, _ = run(capsys, "predict", tmp_path / "m", tmp_path / "x.csv")
    bad = [0, 7, 8, 39]
    lines = [f"{'1e30' if k in bad else row.split(',')[0]}" for k, row in enumerate(rows)]
    (tmp_path / "y.csv").write_text("\n".join(["a", *lines]) + "\n")
    command = "predict", tmp_path / "m", tmp_path / "y.csv"
    run(capsys, *command, code=1)
    output = tmp_path / f"out.{kind}"
    _, said = run(capsys, *command, "--on-error", "skip", "--row-numbers", "-o", output)
    assert "empty predictions: 4 (unreadable records)" in said and "line 2, " in said
    read = {"csv": pd.read_csv, "jsonl": partial(pd.read_json, lines=True), "parquet": pd.read_parquet}[kind]
    found, expected = read(output), pd.read_csv(io.StringIO(whole))
    assert found["row"].tolist() == [*range(1, 41)]
    assert found["score"].isna().to_numpy().nonzero()[0].tolist() == bad
    assert found["label"].dropna().astype(int).tolist() == expected["label"].drop(index=bad).tolist()
    _, said = run(capsys, *command, "--on-error", "skip", "--keep", "a", code=2)
    assert "--keep cannot be combined with --on-error skip" in said


def test_an_empty_answer_comes_at_once(tmp_path, capsys):
    """From a pipe, before the next line."""
    (tmp_path / "x.csv").write_text("a,label\n1,0\n2,1\n" * 9)
    (tmp_path / "x.jsonl").write_text('{"a": 1, "label": 0}\n{"a": 2, "label": 1}\n' * 9)
    run(capsys, "train", tmp_path / "x.jsonl", "-a", "none", "-o", tmp_path / "m")
    command = [sys.executable, "-m", "onlineboost", "predict", tmp_path / "m", "-", "-f", "jsonl", "--on-error", "skip"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, env=ENVIRONMENT, **pipes) as process:
        answers = []
        for line in ('{"a": 1}', '{"a": ', '{"a": 2}'):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            answers += [process.stdout.readline() for _ in range(1 + (not answers))]
        _, said = process.communicate()
    assert [len(answer.split(",")) for answer in answers] == [3] * 4 and answers[2] == ",,\n"
    assert "empty predictions: 1 (unreadable records)" in said
