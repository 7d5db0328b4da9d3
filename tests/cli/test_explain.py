"""``predict --explain`` and ``inspect --plot``: features that count, by name."""

from __future__ import annotations

import csv
import io

from commands import run

from onlineboost import Linear
from onlineboost.readers import open_stream


def test_a_date_is_one_reason(tmp_path, capsys):
    lines = [f"2024-{k % 12 + 1:02}-{k % 28 + 1:02},{k % 12 % 2}" for k in range(300)]
    (tmp_path / "x.csv").write_text("\n".join(["sold,label", *lines]))
    Linear().fit(open_stream(tmp_path / "x.csv")).save(tmp_path / "m")
    out, _ = run(capsys, "predict", tmp_path / "m", tmp_path / "x.csv", "--explain", 5)
    found = [row["because"] for row in csv.DictReader(io.StringIO(out))]
    assert len(found) == 300 and all(one.startswith("sold ") and ";" not in one for one in found)


def test_answers_say_which_features_count_and_pictures_are_drawn(tmp_path, capsys):
    rows = [({"size": k % 5, "colour": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    Linear().fit(open_stream(rows)).save(tmp_path / "m")
    (tmp_path / "x.csv").write_text("size,colour\n3,red\n1,blue\n")
    out, _ = run(capsys, "predict", tmp_path / "m", tmp_path / "x.csv", "--explain", 1)
    found = list(csv.DictReader(io.StringIO(out)))
    assert [row["because"].split(" ")[0] for row in found] == ["colour=red", "colour=blue"]
    plain, _ = run(capsys, "predict", tmp_path / "m", tmp_path / "x.csv")
    assert "because" not in plain
    text, _ = run(capsys, "inspect", tmp_path / "m", "--plot", tmp_path / "m.svg")
    assert text.index("strongest features") < text.index("settings")
    assert (tmp_path / "m.svg").stat().st_size
    _, error = run(capsys, "inspect", tmp_path / "m", "--plot", tmp_path / "m.txt", code=2)
    assert ".png, .svg or .pdf" in error
