"""What ``onlineboost demo`` says is what was measured."""

from __future__ import annotations

import re

import numpy as np
import pytest

from onlineboost import Linear, OnlineBBM, Tree
from onlineboost.cli import demo
from onlineboost.cli.demo import chart
from onlineboost.datasets import load_letter


def test_the_demo(capsys):
    demo.run()
    out = capsys.readouterr().out
    assert out.isascii()
    X, y = load_letter()
    found = {name: float(error) for name, error in re.findall(r"^(\w[\w. ]+?) {2,}(0\.\d{4}) ", out, re.M)}
    assert list(found) == [entry.name for entry in (*demo.ALONE.values(), *demo.BOOSTERS, demo.DEFAULT)]
    wrong = {}
    for name, model in (("Tree", Tree(5)), ("Online BBM over trees", OnlineBBM(Tree(5), random_state=0))):
        wrong[name] = (model.progressive_fit(X, y) >= 0) != (y > 0)
        assert found[name] == pytest.approx(wrong[name].mean(), abs=5e-5)
    change = wrong["Online BBM over trees"].astype(float) - wrong["Tree"]
    margin = 2 * change.std() / len(y) ** 0.5
    row = next(line for line in out.splitlines() if line.startswith("Online BBM over trees  "))
    assert row.split()[5:7] == [f"{change.mean():+.4f}", f"{margin:.4f}"]
    assert "onlineboost train your.csv --label column -o your.model" in out
    assert "OnlineBoost, without tuning, gained" in out


def mistakes(**shares: float) -> dict[str, np.ndarray]:
    """Mistakes of all models of the demo, with this share for those that are named, else a third."""
    draws = np.random.default_rng(0).random(10_000)
    every = [entry.name for entry in (*demo.ALONE.values(), *demo.BOOSTERS, demo.DEFAULT)]
    return {name: draws < shares.get(name.replace(" ", "_").replace(".", ""), 1 / 3) for name in every}


def test_the_sentences_follow_from_the_mistakes():
    first, second, third = demo.sentences(mistakes())
    assert first == "Online BBM over linear learners made no difference to Linear alone (95 %: +0.0 to +0.0 points)."
    assert second.startswith("Online BBM over trees made no difference to Tree alone")
    assert third.startswith("OnlineBoost, without tuning, made no difference to Online BBM over linear learners")
    first, second, third = demo.sentences(mistakes(Tree=0.2, Online_BBM_over_trees=0.1, OnlineBoost=0.4))
    assert re.match(r"Online BBM over trees gained 1\d\.\d points over Tree alone \(95 %: ", second)
    assert re.match(r"OnlineBoost, without tuning, lost \d+\.\d points against Online BBM over trees ", third)


def test_the_default_is_compared_with_the_better_learner():
    assert demo.alone(demo.DEFAULT, mistakes(Tree=0.2)) == "Tree"
    assert demo.alone(demo.DEFAULT, mistakes(Linear=0.2)) == "Linear"
    assert demo.alone(demo.BOOSTERS[0], mistakes(Tree=0.2)) == "Linear"
    assert demo.alone(demo.ALONE[demo.TREES], {}) is None


def test_comparison_is_paired():
    rng = np.random.default_rng(0)
    base = rng.random(10_000) < 0.3
    better = base & (rng.random(10_000) < 0.97)
    low, high = demo.compare(better, base).interval
    assert 0 < low < high
    assert demo.compare(base, better).interval == (-high, -low)
    assert demo.compare(base, base) == (0, 0)


@pytest.mark.parametrize("scale", [0.003, 0.04, 0.3, 1.0])
def test_every_point_of_a_chart_is_on_the_line_of_its_value(scale):
    rng = np.random.default_rng(1)
    curves = {letter: (scale * rng.random(10)).tolist() for letter in "LTBO"}
    lines = chart(curves, range(2000, 20_001, 2000))
    assert len(lines) < 20 and max(map(len, lines)) < 80
    steps = [float(line.split("|")[0]) for line in lines[:-2]]
    for letter, curve in curves.items():
        drawn = [value for line, value in zip(lines, steps, strict=False) for _ in range(line.count(letter))]
        assert sorted(drawn) == pytest.approx(sorted(curve), abs=0.51 * (steps[0] - steps[1]) + 5e-4)


def test_the_learners_are_those_of_the_commands():
    assert repr(demo.ALONE[demo.LINEAR].model) == repr(Linear.from_options())
