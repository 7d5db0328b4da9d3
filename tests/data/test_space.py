"""One feature space: the same features from any source give the same model, bit for bit."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import onlineboost
from onlineboost import Adaptive, DataError, Linear, NaiveBayes, OnlineBBM, Perceptron, SafeBoost, Tree
from onlineboost.readers import open_stream

NUMBERS = [str(j) for j in range(8)]
NAMES = ["size", "12", "a b", "größe", "x=y", "7.5", "Z", "3"]
MODELS = {
    "linear": Linear,
    "standardized": lambda: Linear(standardize=True),
    "bbm": lambda: OnlineBBM(Linear(), 3),
    "tree": lambda: Tree(3, grace_period=8, tau=0.3),
    "full": lambda: Linear(bits=2),
    "adaptive": lambda: Adaptive(OnlineBBM(Linear(), 3), delta=0.9),
}


def table(n=300):
    rng = np.random.default_rng(11)
    X = np.round(rng.normal(size=(n, 8)) * 16) / 8 * rng.choice([0, 1, 1, 64], size=(n, 8))
    X[: n // 2, 5] = 0  # a feature that comes late
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0, 1, -1)
    return X.astype(np.float32), y


X, Y = table()


def frame(names, rows):
    return pd.DataFrame(X[rows], columns=names)


def dicts(names, rows):
    return [dict(zip(names, row, strict=True)) for row in X[rows].tolist()]


def lines(rows, of_row):
    return "".join(f"{of_row(label, row)}\n" for label, row in zip(Y[rows].tolist(), X[rows].tolist(), strict=True))


def streamed(model, path, text, **options):
    path.write_text(text)
    like = {"like": model} if model._fitted is not None else {}
    model.partial_fit(open_stream(path, **like, **options))


def by_array(model, names, rows, folder):
    model.partial_fit(X[rows], Y[rows], classes=[-1, 1])


def by_sparse(model, names, rows, folder):
    model.partial_fit(sp.csr_matrix(X[rows]), Y[rows], classes=[-1, 1])


def by_pandas(model, names, rows, folder):
    model.partial_fit(frame(names, rows), Y[rows], classes=[-1, 1])


def by_polars(model, names, rows, folder):
    model.partial_fit(pl.from_pandas(frame(names, rows)), Y[rows], classes=[-1, 1])


def by_pyarrow(model, names, rows, folder):
    model.partial_fit(pa.Table.from_pandas(frame(names, rows)), Y[rows], classes=[-1, 1])


def by_dicts(model, names, rows, folder):
    for x, label in zip(dicts(names, rows), Y[rows].tolist(), strict=True):
        model.learn_one(x, label)


def by_dict_stream(model, names, rows, folder):
    like = {"like": model} if model._fitted is not None else {}
    model.partial_fit(open_stream(zip(dicts(names, rows), Y[rows].tolist(), strict=True), **like))


def by_frame_stream(model, names, rows, folder):
    like = {"like": model} if model._fitted is not None else {}
    model.partial_fit(open_stream(frame(names, rows), y=Y[rows], **like))


def by_csv(model, names, rows, folder):
    streamed(model, folder / "data.csv", frame(names, rows).assign(label=Y[rows]).to_csv(index=False))


def by_jsonl(model, names, rows, folder):
    text = frame(names, rows).assign(label=Y[rows]).to_json(orient="records", lines=True)
    streamed(model, folder / "data.jsonl", text)


def by_parquet(model, names, rows, folder):
    pq.write_table(pa.Table.from_pandas(frame(names, rows).assign(label=Y[rows])), folder / "data.parquet")
    like = {"like": model} if model._fitted is not None else {}
    model.partial_fit(open_stream(folder / "data.parquet", batch_size=7, **like))


def by_vw(model, names, rows, folder):
    def line(label, row):
        return f"{label} | " + " ".join(f"{name}:{value}" for name, value in zip(names, row, strict=True))

    streamed(model, folder / "data.vw", lines(rows, line), batch_size=1)


def by_libsvm(model, names, rows, folder):
    def line(label, row):
        return f"{label} " + " ".join(f"{name}:{value}" for name, value in zip(names, row, strict=True))

    streamed(model, folder / "data.libsvm", lines(rows, line))


NAMED = [
    by_pandas,
    by_polars,
    by_pyarrow,
    by_dicts,
    by_dict_stream,
    by_frame_stream,
    by_csv,
    by_jsonl,
    by_parquet,
]
NUMBERED = [*NAMED, by_array, by_sparse, by_vw, by_libsvm]
ALL = slice(0, len(X))


def states(model):
    """All arrays, as bytes."""
    return {name: array.tobytes() for name, array in model._fitted.root.trimmed().arrays().items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The states of a model by its name, and that of features."""
    found = {}

    def of(kind, names):
        if (kind, names is NAMES) not in found:
            model = MODELS[kind]()
            by_pandas(model, names, ALL, tmp_path_factory.getbasetemp())
            found[kind, names is NAMES] = states(model)
        return found[kind, names is NAMES]

    return of


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("source", NUMBERED, ids=lambda source: source.__name__)
def test_numbered_features_from_any_source(kind, source, expected, tmp_path):
    model = MODELS[kind]()
    source(model, NUMBERS, ALL, tmp_path)
    assert states(model) == expected(kind, NUMBERS)


@pytest.mark.parametrize("kind", ["linear", "bbm", "tree"])
@pytest.mark.parametrize("source", NAMED, ids=lambda source: source.__name__)
def test_named_features_from_any_source(kind, source, expected, tmp_path):
    model = MODELS[kind]()
    source(model, NAMES, ALL, tmp_path)
    assert states(model) == expected(kind, NAMES)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("names", [NUMBERS, NAMES], ids=["numbers", "names"])
def test_sources_may_change_on_the_way(kind, names, expected, tmp_path):
    """Every source in turn, in pieces of odd sizes, with the model saved and loaded between them."""
    sources = NUMBERED if names is NUMBERS else NAMED
    ends = [round(k * len(X) / len(sources)) for k in range(len(sources) + 1)]
    model = MODELS[kind]()
    if isinstance(model, Adaptive):
        model.on_drift = None
    for source, start, stop in zip(sources, ends, ends[1:], strict=False):
        source(model, names, slice(start, stop), tmp_path)
        model.save(tmp_path / "model")
        model = pickle.loads(pickle.dumps(onlineboost.load(tmp_path / "model")))
    assert states(model) == expected(kind, names)


@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("kind", MODELS)
def test_batches_do_not_matter(kind, step, expected, tmp_path):
    model = MODELS[kind]()
    for start in range(0, len(X), step):
        by_array(model, NUMBERS, slice(start, start + step), tmp_path)
    assert states(model) == expected(kind, NUMBERS)


@pytest.mark.parametrize("kind", ["linear", "tree"])
def test_answers_by_any_source(kind, tmp_path):
    model = MODELS[kind]()
    by_csv(model, NAMES, ALL, tmp_path)
    scores = model.decision_function(frame(NAMES, ALL))
    assert np.array_equal(model.decision_function(open_stream(frame(NAMES, ALL), like=model, labels="ignored")), scores)
    assert np.array_equal(model.decision_function(pl.from_pandas(frame(NAMES, ALL))), scores)
    assert [model.decision_one(x) for x in dicts(NAMES, slice(0, 20))] == scores[:20].tolist()
    known = frame(NAMES, ALL).assign(unknown=5.0)
    with pytest.raises(DataError, match="a column 'unknown', which the model has not learned"):
        model.predict(known)
    with pytest.warns(UserWarning, match="a column 'unknown'"):
        found = model.decision_function(open_stream(known, like=model, labels="ignored", columns="warn"))
    assert np.array_equal(found, scores)
    assert model.decision_one({**dicts(NAMES, ALL)[0], "unknown": 5.0, "colour": "red"}) == scores[0]
    with pytest.raises(DataError, match="knows features by name: expected a data frame, dicts or a stream"):
        model.predict(X)


def test_a_frame_is_known_by_its_headings_and_an_array_by_position():
    model = Linear().fit(frame(NAMES, ALL), Y)
    scores = model.decision_function(frame(NAMES, ALL))
    assert np.array_equal(model.decision_function(X), scores)
    assert [model.decision_one(x) for x in dicts(NAMES, slice(0, 5))] == scores[:5].tolist()
    with pytest.raises(DataError, match="X has 7 features, but Linear is expecting 8 features"):
        model.predict(X[:, 1:])
    with pytest.raises(DataError, match="must be in the same order"):
        model.predict(frame(NAMES, ALL)[NAMES[1:] + NAMES[:1]])
    model.learn_one({"size": 1.0, "new": 2.0}, 1)
    assert model.predict_one({"new": 2.0}) in (-1, 1)
    assert model.n_features_in_ == 8


def test_numbers_are_names():
    model = Linear().fit(X, Y)
    assert model.decision_one({0: 1.0, "1": 2.0, np.int64(2): -1.0}) == model.decision_one({"0": 1, "1": 2, "2": -1})
    model.learn_one({"word": "red", 3: 1.0}, 1)
    assert model.decision_function(X).shape == (len(X),)


MISSING = {
    "array": lambda model, rows: model.partial_fit(rows, Y, classes=[-1, 1]),
    "sparse": lambda model, rows: model.partial_fit(sp.csr_matrix(rows), Y, classes=[-1, 1]),
    "pandas": lambda model, rows: model.partial_fit(pd.DataFrame(rows, columns=NUMBERS), Y, classes=[-1, 1]),
    "nullable": lambda model, rows: model.partial_fit(
        pd.DataFrame(rows, columns=NUMBERS).astype("Float64"), Y, classes=[-1, 1]
    ),
    "frames": lambda model, rows: model.partial_fit(open_stream(pd.DataFrame(rows, columns=NUMBERS), y=Y)),
    "arrays": lambda model, rows: model.partial_fit(open_stream(rows, y=Y)),
    "csv": lambda model, rows: model.partial_fit(
        open_stream(pd.read_csv(io.StringIO(pd.DataFrame(rows, columns=NUMBERS).to_csv(index=False))), y=Y)
    ),
    "dicts": lambda model, rows: [
        model.learn_one({j: v if k % 2 or v == v else None for j, v in enumerate(row)}, label)
        for k, (row, label) in enumerate(zip(rows.tolist(), Y.tolist(), strict=True))
    ],
    "dict stream": lambda model, rows: model.partial_fit(
        open_stream(zip((dict(zip(NUMBERS, row, strict=True)) for row in rows.tolist()), Y.tolist(), strict=True))
    ),
}


@pytest.mark.parametrize("source", MISSING)
def test_missing_values_from_any_source(source, tmp_path):
    """A missing value is an indicator; learners that take missing values see NaN before it."""
    rows = X.copy()
    rows[::5, 1] = rows[3::7, 4] = np.nan
    indicators = np.column_stack([np.isnan(rows[:, 1]), np.isnan(rows[:, 4])])
    names = [*NUMBERS[:2], "1=", *NUMBERS[2:5], "4=", *NUMBERS[5:]]
    filled = np.insert(np.nan_to_num(rows), [2, 5], indicators, axis=1)
    by_hand, model = Linear(standardize=True), Linear(standardize=True)
    by_hand.fit(pd.DataFrame(filled, columns=names), Y)
    MISSING[source](model, rows)
    assert states(model) == states(by_hand)
    if source == "array":
        assert np.isfinite(model.decision_function(rows)).all()
        with pytest.raises(DataError, match="X has inf at row 1, column 2"):
            model.predict(np.array([[0.0] * 8, [0, 0, np.inf, 0, 0, 0, 0, 0]]))


def test_more_names_than_slots_from_any_source():
    """Names that share slots keep the order of the source: asked twice, pickled or streamed, the same answer."""
    rng = np.random.default_rng(1)
    rows = [({c: float(rng.normal()) for c in rng.permutation(list("abcdefgh"))}, k % 2) for k in range(200)]
    for model in (NaiveBayes(max_slots=2), Tree(3, max_slots=3), Linear(bits=2)):
        one, twin, stream = model.clone(), model.clone(), model.clone().fit(open_stream(rows))
        for x, label in rows:
            one.learn_one(x, label)
            twin = pickle.loads(pickle.dumps(twin))
            twin.learn_one(x, label)
        for x, _ in rows[:20]:
            answers = [m.decision_one(x) for m in (one, one, twin, stream)]
            assert len(set(answers)) == 1


def test_many_names_within_a_bound():
    """Many names take no more memory than the bound allows."""
    model = Linear(bits=10)
    for start in range(0, 200_000, 500):
        model.learn_one({f"name {k}": 1.0 for k in range(start, start + 500)}, start // 500 % 2)
    assert model._fitted.root.slots.used[0] == 1024
    assert len(model._fitted.columns.names) <= 1024
    assert len(pickle.dumps(model)) < 200_000


@pytest.mark.parametrize(
    "make", [Linear, Perceptron, OnlineBBM, lambda: SafeBoost(Linear())], ids=["linear", "perceptron", "bbm", "safe"]
)
def test_a_small_model_is_small(make):
    by_stream, by_array = make(), make()
    by_stream.fit(open_stream(X, y=Y))
    by_array.fit(X, Y)
    assert len(pickle.dumps(by_stream)) < 1_000_000
    assert len(pickle.dumps(by_array)) < 1_000_000
