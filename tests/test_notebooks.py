"""The worked examples run, and what their pages say of the results is true."""

from __future__ import annotations

import doctest
import json
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("yaml")

from website import notebooks
from website.links import NOTEBOOKS, ROOT

EXAMPLES = {path.stem: path for path in notebooks.paths()}


@pytest.fixture(scope="module")
def results():
    """Outcomes and names of each example, run once."""
    done = {}

    def run(name):
        if name not in done:
            done[name] = notebooks.run(EXAMPLES[name])
        return done[name]

    return run


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_page_with_one_picture(results, name):
    outcomes, _ = results(name)
    page = notebooks.page(EXAMPLES[name], outcomes)
    files = notebooks.files(EXAMPLES[name], outcomes)
    assert re.findall(r"^!\[(.*)\]\((.*)\)$", page, re.M) == [(outcomes_title(outcomes), f"{name}.svg")]
    assert "<svg" in files[f"{name}.svg"] and "#ffffff" not in files[f"{name}.svg"]
    assert "## What has it learned?" in page and "## Next" in page
    assert "Warning" not in page and str(ROOT) not in page


def outcomes_title(outcomes):
    [title] = [title for outcome in outcomes for title, _ in outcome.pictures]
    return title


def test_fraud(results):
    _, found = results("fraud")
    live, scores, fraud, day = (found[name] for name in ("live", "scores", "fraud", "day"))
    at_once, late, amounts = (found["caught"](score)[live].mean() for score in scores.values())
    assert at_once > late > 2 * amounts
    assert 0.01 < fraud.mean() < 0.03
    expected = [float(one) for one in re.findall(r"it expects ([\d.]+)%", printed(results, "fraud"))]
    assert max(expected) > 50 and expected[-1] < 5  # the trap, and its end
    assert found["lost"] < 0.5 * found["X"]["amount"][live].sum()
    assert set(found["model"].importances()) == set(found["X"])
    assert len(found["model"].pending) == found["PER_DAY"] * found["WAIT"]
    blind = live & (day >= found["NEW_SCAM"]) & (day < found["NEW_SCAM"] + found["WAIT"])
    later = live & (day >= found["NEW_SCAM"] + found["WAIT"])
    assert found["caught"](found["late"])[later].mean() > found["caught"](found["late"])[blind].mean()


def test_demand(results):
    _, found = results("demand")
    day, inside, expected, sold = (found[name] for name in ("day", "inside", "expected", "sold"))
    rows = day >= 60
    assert 0.87 < inside[rows].mean() < 0.93
    assert np.abs(expected - sold)[rows].mean() < 0.75 * np.abs(found["last_week"] - sold)[rows].mean()
    opening = (day >= found["COMPETITOR"]) & (day < found["COMPETITOR"] + 6)
    assert inside[opening].mean() < 0.8 < inside[day >= found["COMPETITOR"] + 6].mean()
    costs = [float(one) for one in re.findall(r"costs +([\d.]+)", printed(results, "demand"))]
    assert costs[1] < costs[0] < costs[2]
    assert next(iter(found["model"].importances())) == "time"


def test_tickets(results):
    _, found = results("tickets")
    right, queue, accuracy = found["right"], found["queue"], found["accuracy"]
    new = np.flatnonzero(queue == "recall")
    assert (
        np.nanmean(right[new[new < found["RECALL"] + 100]]) < 0.5 < np.nanmean(right[new[new > found["RECALL"] + 200]])
    )
    assert np.nanmean(found["among_three"][1000:]) > 0.9
    assert accuracy[len(accuracy) // 4] > accuracy[-1] + 0.1
    alone = dict(re.findall(r"(\w+) alone: '(\w+)'", printed(results, "tickets")))
    assert alone["invoice"] == "billing" and alone["battery"] == "recall" and alone["back"] in ("refunds", "returns")


def test_sensor(results):
    _, found = results("sensor")
    once, learning = found["wrong"].values()
    assert once[-1000:].mean() > 2 * learning[-1000:].mean()
    assert once[-1000:].mean() > 2 * once[:1000].mean()
    [drift] = found["drifts"]
    assert found["REPLACED"] < drift.example < found["REPLACED"] + 500
    shares = [float(one) for one in re.findall(r"one label in +\d+: ([\d.]+)%", printed(results, "sensor"))]
    assert shares == sorted(shares)


def test_booster(results):
    _, found = results("booster")
    possible = [found["possible"](n) for n in found["numbers"]]
    assert np.allclose(found["ours"], possible, atol=3.5 * np.sqrt(0.25 / found["EXAMPLES"]))
    one, equal, ours, wild, bbm = found["errors"].values()
    assert bbm < ours < 0.8 * equal and equal < one and wild > ours
    edges = found["model"].edges_
    assert edges[0] > edges[5] > edges[20] > 0.1


def printed(results, name):
    return "\n".join(outcome.printed for outcome in results(name)[0])


def test_every_link_of_an_example_leads_somewhere():
    for path in EXAMPLES.values():
        for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", path.read_text()):
            assert (path.parent / target).is_file(), f"{path.name}: {target}"


def test_examples_are_notebooks_for_jupyter():
    for path in EXAMPLES.values():
        text = path.read_text()
        found = json.loads(notebooks.jupyter(text))["cells"]
        assert found[0]["cell_type"] == "markdown" and found[0]["source"].startswith("# ")
        assert "".join(re.findall(r"^(?!#).+$", text, re.M)) == "".join(
            line
            for cell in found
            if cell["cell_type"] == "code"
            for line in re.findall(r"^(?!#).+$", cell["source"], re.M)
        )


def test_figures_of_others_are_not_in_a_notebook(tmp_path):
    from matplotlib import pyplot as plt

    plt.figure()
    path = tmp_path / "plain.py"
    path.write_text("# %% [markdown]\n# # Plain\n\n# %%\nprint(1)\n")
    assert [outcome.pictures for outcome in notebooks.run(path)[0]] == [(), ()]


def test_an_error_names_the_line_of_the_file(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("# %% [markdown]\n# # Bad\n\n# %%\nx = 1\n\n# %%\ny = x\n1 / 0\n")
    with pytest.raises(ZeroDivisionError) as caught:
        notebooks.run(path)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (path, 9)


def test_doctests():
    assert doctest.testmod(notebooks).failed == 0
    assert doctest.testmod(notebooks).attempted > 0


def test_the_folder_is_part_of_the_source_distribution():
    assert NOTEBOOKS.startswith("examples/") and '"examples"' in (ROOT / "pyproject.toml").read_text()
