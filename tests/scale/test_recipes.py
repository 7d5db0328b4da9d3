"""The recipes of docs/batch-scoring.md run, and give the model's own answers."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys

import pandas as pd
import pytest

import onlineboost
from conftest import ROOT
from onlineboost.datasets import load_letter
from onlineboost.readers import open_stream

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore"),  # other packages' warnings are theirs
]
RECIPES = dict(
    re.findall(r"^### (.+?)\n\n```python\n(.*?)^```", (ROOT / "docs/batch-scoring.md").read_text(), re.M | re.S)
)


def test_all_recipes_are_here():
    assert list(RECIPES) == ["Ray Data", "Spark", "Dask"]


@pytest.fixture
def shared(tmp_path):
    """The folder that the recipes call /shared, with two Parquet files and a model."""
    (tmp_path / "letter").mkdir()
    X, y = load_letter()
    frame = pd.DataFrame(X[:1000], columns=[f"f{j}" for j in range(16)]).assign(half=y[:1000], id=range(1000))
    frame[:600].to_parquet(tmp_path / "letter/1.parquet", index=False)
    frame[600:].to_parquet(tmp_path / "letter/2.parquet", index=False)
    model = onlineboost.Linear().fit(open_stream(frame, label="half", drop="id"))
    model.save(tmp_path / "letter.model")
    return tmp_path


def check(name, shared):
    exec(RECIPES[name].replace("/shared", str(shared)), {"__name__": "__main__"})
    (folder,) = shared.glob("scored-by-*")
    scored = pd.read_parquet(folder).sort_values("id", ignore_index=True)
    rows = pd.read_parquet(shared / "letter")
    chances = onlineboost.load(shared / "letter.model").predict_proba(rows)[:, 1]
    pd.testing.assert_frame_equal(scored, rows.assign(probability=chances), check_dtype=False, check_exact=True)


def test_ray_data(cluster, shared):
    check("Ray Data", shared)


def test_spark(shared, monkeypatch):
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("needs Spark: pip install pyspark, and Java")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        check("Spark", shared)
    finally:
        session.stop()


def test_dask(shared):
    if importlib.util.find_spec("dask") is None:
        pytest.skip("needs Dask: pip install 'dask[dataframe]'")
    check("Dask", shared)


@pytest.mark.parametrize("name", ["Spark", "Dask"])
def test_functions_for_workers_score_frames(name, shared):
    """What runs on the workers takes frames of pandas, with or without Spark and Dask."""
    tree = ast.parse(RECIPES[name].replace("/shared", str(shared)))
    known = {"onlineboost": onlineboost}
    wanted = [node for node in tree.body if isinstance(node, ast.Assign | ast.FunctionDef)][:2]  # MODEL, score
    exec(compile(ast.Module(wanted, []), name, "exec"), known)
    rows = pd.read_parquet(shared / "letter")
    found = pd.concat(known["score"](iter([rows[:300], rows[300:]]))) if name == "Spark" else known["score"](rows)
    chances = onlineboost.load(shared / "letter.model").predict_proba(rows)[:, 1]
    pd.testing.assert_frame_equal(found, rows.assign(probability=chances), check_exact=True)
