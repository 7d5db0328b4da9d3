"""Labels that are numbers to predict, in every format."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onlineboost import ConflictError, DataError, OnlineBoostRegressor, ParameterError
from onlineboost.data.regression import Numbers
from onlineboost.errors import ReadError
from onlineboost.readers import open_stream

TARGETS = [0.0, -0.0, 1.5, -2e10, 3.0, 1e-300, 12345678.25, 7.0]


def sources(folder):
    a = range(1, len(TARGETS) + 1)
    (folder / "x.csv").write_text("a,label\n" + "".join(f"{k},{y!r}\n" for k, y in zip(a, TARGETS, strict=True)))
    (folder / "x.vw").write_text("".join(f"{y!r} | a:{k}\n" for k, y in zip(a, TARGETS, strict=True)))
    (folder / "x.libsvm").write_text("".join(f"{y!r} 1:{k}\n" for k, y in zip(a, TARGETS, strict=True)))
    lines = (json.dumps({"a": k, "label": y}) for k, y in zip(a, TARGETS, strict=True))
    (folder / "x.jsonl").write_text("\n".join(lines))
    pq.write_table(pa.table({"a": list(a), "label": TARGETS}), folder / "x.parquet")
    files = [folder / f"x.{ending}" for ending in ("csv", "vw", "libsvm", "jsonl", "parquet")]
    return [
        *files,
        pd.DataFrame({"a": list(a), "label": TARGETS}),
        [({"a": k}, y) for k, y in zip(a, TARGETS, strict=True)],
    ]


def test_every_source_has_the_same_numbers(tmp_path):
    for source in sources(tmp_path):
        stream = open_stream(source, task="number", batch_size=3)
        pages = list(stream)
        assert np.concatenate([page.batch.y for page in pages]).tolist() == TARGETS, source
        assert isinstance(pages[0].target, Numbers)


def test_many_different_numbers_are_read(tmp_path):
    """Classes have a limit, numbers have none."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=3000).round(6)
    (tmp_path / "x.csv").write_text("a,label\n" + "".join(f"{k % 7},{v}\n" for k, v in enumerate(y.tolist())))
    found = np.concatenate([page.batch.y for page in open_stream(tmp_path / "x.csv", task="number")])
    assert np.array_equal(found, y)
    with pytest.raises(ReadError, match="y has fractions .* expected classes; for regression use a regressor"):
        list(open_stream(tmp_path / "x.csv"))


@pytest.mark.parametrize("label", ["", "ten", "inf", "1e400"])
def test_what_is_no_number_is_refused_with_its_place(label, tmp_path):
    (tmp_path / "x.csv").write_text(f"a,label\n1,2\n1,0\n1,{label}\n")
    with pytest.raises(ReadError, match="line 4, character 3") as caught:
        list(open_stream(tmp_path / "x.csv", task="number"))
    assert (caught.value.line, caught.value.column) == (4, 3)


def test_a_number_has_no_positive_label(tmp_path):
    (tmp_path / "x.csv").write_text("a,label\n1,2\n1,0\n")
    with pytest.raises(ConflictError, match="regression has no positive label"):
        list(open_stream(tmp_path / "x.csv", task="number", positive="2"))
    with pytest.raises(ParameterError, match="task='numbers'"):
        open_stream(tmp_path / "x.csv", task="numbers")


def test_a_regressor_learns_streams_of_numbers_only(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).round(3)
    y = (2 * X[:, 0] + X[:, 1]).round(4)
    lines = [",".join(map(str, [*row, target])) for row, target in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "x.csv").write_text("a,b,c,label\n" + "\n".join(lines))
    model = OnlineBoostRegressor(random_state=0).fit(open_stream(tmp_path / "x.csv", task="number"))
    answers = model.predict(pd.DataFrame(X, columns=list("abc")))
    assert np.array_equal(
        answers, np.concatenate([model.predict(page) for page in open_stream(tmp_path / "x.csv", like=model)])
    )
    rest = y - answers
    assert np.mean(rest**2) < 0.1 * np.var(y)
    with pytest.raises(DataError, match="the labels are classes: expected numbers"):
        OnlineBoostRegressor().fit(open_stream([({"a": 1.0}, "x"), ({"a": 2.0}, "y")]))
