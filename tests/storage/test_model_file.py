from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import forge
from safetensors.numpy import load_file

import onlineboost
from conftest import ROOT
from onlineboost import (
    AdaBoostOL,
    DataError,
    Linear,
    ModelFileError,
    NotFittedError,
    OnlineBBM,
    OnlineBoost,
    OnlineBoostRegressor,
    PotentialBoost,
)
from onlineboost.errors import ReadWarning
from onlineboost.storage import upgrades

SAVED = ROOT / "tests" / "saved"
REFUSED = {"format1-linear": "is 1, of", "format2-adaptive": "is 2, with an Adaptive model of"}


@pytest.fixture(scope="module")
def saved(stream, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    AdaBoostOL(n_estimators=3, random_state=1).fit(*stream).save(path)
    return path


def test_the_file_holds_everything(stream, tmp_path):
    X, y = stream
    labels = np.where(y > 0, "spam", "ham")
    model = OnlineBBM(Linear("logistic", learning_rate=0.2), 5, 0.2, delivery="sample", random_state=9).fit(X, labels)
    model.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")
    assert repr(twin) == repr(model)
    assert twin.classes_.tolist() == ["ham", "spam"]
    assert (twin.n_seen_, twin.n_features_in_) == (400, 10)
    assert np.array_equal(twin.predict(X), model.predict(X))


def test_a_model_of_dicts_keeps_its_names(tmp_path):
    model = OnlineBBM(n_estimators=3)
    for k in range(40):
        model.learn_one({"size": k % 7 - 3, "colour": "red" if k % 2 else "blue", 5: 1.0}, k % 2)
    model.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")
    x = {"colour": "red", 5: 1.0, "never seen": 3.0}
    assert twin.decision_one(x) == model.decision_one(x)
    twin.learn_one({"brand new": 1.0}, 1)
    model.learn_one({"brand new": 1.0}, 1)
    assert twin.decision_one({"brand new": 1.0}) == model.decision_one({"brand new": 1.0})


def test_parameters_set_after_fit_are_not_those_of_the_file(stream, tmp_path):
    """The file holds the model that was trained; what was set since takes effect at the next fit, which never came."""
    X, y = stream
    model, untouched = (OnlineBBM(n_estimators=5).fit(X, y) for _ in range(2))
    model.set_params(n_estimators=20, gamma=0.3, votes="real", estimator=Linear("logistic")).save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")
    assert repr(twin) == "OnlineBBM(n_estimators=5)"
    assert np.array_equal(twin.progressive_fit(X, y), untouched.progressive_fit(X, y))


def test_a_seed_that_was_drawn_is_kept(stream, tmp_path):
    """Without ``random_state`` the seed is known to nobody; sampling and the random expert must go on from it."""
    X, y = stream
    for more in ({}, {"delivery": "sample"}, {"random_state": np.random.default_rng(0)}):
        model = AdaBoostOL(n_estimators=5, expert="random", **more).fit(X[:200], y[:200])
        model.save(tmp_path / "m")
        twin = onlineboost.load(tmp_path / "m")
        assert np.array_equal(twin.progressive_fit(X[200:], y[200:]), model.progressive_fit(X[200:], y[200:]))


def test_labels_that_a_file_cannot_hold(tmp_path):
    model = Linear()
    model.learn_one({"a": 1.0}, (0, 1))
    with pytest.raises(DataError, match="cannot be saved in a model file"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_function_as_terminal_is_saved_by_its_values(stream, tmp_path):
    model = PotentialBoost(terminal=lambda s: np.exp(-s / 5), n_estimators=5).fit(*stream)
    model.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")
    assert np.array_equal(twin.progressive_fit(*stream), model.progressive_fit(*stream))


def test_nothing_to_save():
    with pytest.raises(NotFittedError, match="nothing to save"):
        OnlineBBM().save("unused")


@settings(max_examples=150)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed(saved, tmp_path_factory, where, bit):
    content = bytearray(saved.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "flipped"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="flipped: "):
        onlineboost.load(path)


@settings(max_examples=60)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_noticed(saved, tmp_path_factory, share):
    content = saved.read_bytes()
    path = tmp_path_factory.getbasetemp() / "truncated"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="container: not a model file, or only a part of one"):
        onlineboost.load(path)


def part(facts: dict) -> dict:
    return facts["parts"]["model"]


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        (
            "format",
            lambda f: f.update(format=99),
            "format: is 99, expected a number from 1 to 8: try a newer onlineboost",
        ),
        ("class", lambda f: part(f).update({"class": "Nonsense"}), "class Nonsense is not known: import the module"),
        ("class", lambda f: part(f).pop("class"), "class: missing"),
        ("params", lambda f: part(f)["params"].update(n_estimators=0), "n_estimators=0: expected a whole number"),
        (
            "params",
            lambda f: part(f)["params"].update(n_estimators=4),
            r"record.edges: is float64\[3\], expected float64\[4\]",
        ),
        ("params", lambda f: part(f)["params"].update(surprise=1), "unexpected keyword argument"),
        (
            "sizes",
            lambda f: part(f).update(sizes=[16, [0, 0], []]),
            r"committee.weights: is float32\[16, 2, 8\], expected float32\[32, 2, 8\]",
        ),
        ("target", lambda f: part(f).pop("target"), "target: missing"),
        ("parts", lambda f: f.pop("parts"), "description: not the description of a model"),
        ("parts", lambda f: f["parts"].pop("model"), "model: missing"),
    ],
)
def test_a_description_that_makes_no_sense(saved, tmp_path, field, change, message):
    forge(saved, tmp_path / "m", lambda _, facts: change(facts))
    with pytest.raises(ModelFileError, match=message):
        onlineboost.load(tmp_path / "m")


def test_an_old_format_is_upgraded_step_by_step(saved, stream, tmp_path, monkeypatch):
    """The one seam for changes of the format: here two made-up ones, that rename a field and an array."""

    def first(arrays, facts):
        facts["parts"]["model"]["target"] = facts["parts"]["model"].pop("labels")
        return arrays, facts

    def second(arrays, facts):
        return {name.replace("model.old.", "model.record."): array for name, array in arrays.items()}, facts

    now, expected = upgrades.FORMAT, onlineboost.load(saved).decision_function(stream[0])
    forge(saved, tmp_path / "old", lambda _, facts: part(facts).update(labels=part(facts).pop("target")))
    with pytest.raises(ModelFileError, match="target: missing"):
        onlineboost.load(tmp_path / "old")
    monkeypatch.setattr(upgrades, "FORMAT", now + 2)
    monkeypatch.setattr(upgrades, "UPGRADES", {now: first, now + 1: second})
    assert np.array_equal(onlineboost.load(tmp_path / "old").decision_function(stream[0]), expected)


def test_regressors_of_before_learn_targets_as_they_are(tmp_path):
    """Also within others. Parameters that files do not have are those of before."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), np.exp(3 * rng.random(60))
    for name, wrapped in (("alone", lambda model: model), ("within", onlineboost.AdaptiveRegressor)):
        model = wrapped(onlineboost.OnlineBoostRegressor(target="identity")).fit(X[:40], y[:40])
        model.save(tmp_path / name)

        def change(_, facts):
            params = part(facts)["params"]
            del params.get("estimator", {"params": params})["params"]["target"]
            facts["format"] = 7

        forge(tmp_path / name, tmp_path / "old", change)
        old = onlineboost.load(tmp_path / "old")
        assert np.array_equal(old.progressive_fit(X[40:], y[40:]), model.progressive_fit(X[40:], y[40:]))


def test_folders(saved, tmp_path):
    model = onlineboost.load(saved)
    with pytest.raises(FileNotFoundError, match="nowhere does not exist: create it first"):
        model.save(tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        model.save(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder: name a model file"):
        onlineboost.load(tmp_path)


def test_other_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        onlineboost.load(tmp_path / "nowhere")
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(ModelFileError, match="was not written by onlineboost"):
        onlineboost.load(tmp_path / "other")


def test_a_failed_save_leaves_the_old_file(saved, stream, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(saved.read_bytes())
    model = OnlineBBM(n_estimators=3).fit(*stream)

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == saved.read_bytes()
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("path", sorted(SAVED.glob("*.safetensors")), ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore:a model of an older onlineboost:onlineboost.errors.ReadWarning")
def test_files_of_every_released_format_are_read(path, stream):
    """Files stay here for ever; beside each, the scores it gave when it was written."""
    if path.stem in REFUSED:
        with pytest.raises(ModelFileError, match=f"format: {REFUSED[path.stem]} an older onlineboost: train the model"):
            onlineboost.load(path)
        return
    model = onlineboost.load(path)
    expected = np.load(path.with_suffix(".npy"))
    assert model.scores(stream[0][:50]) == pytest.approx(expected, rel=1e-12)


def test_labels_that_were_codes_are_places(stream):
    """Formats before 7: labels that were kept, the last labels and a ticket that waits go on as they would have."""
    X, path = stream[0], SAVED / "format6-lag.safetensors"
    y, model = np.argmax(X[:, :3], axis=1), onlineboost.load(path)
    model.tell([model.pending[number] for number in model.pending], y[200:202].tolist())
    assert np.array_equal(model.progressive_fit(X[202:], y[202:]), np.load(path.with_name("format6-lag-later.npy")))
    old = {"model.part0.kept.y": np.array([1.0, -1.0, 2.0]), "base.kept.y": np.array([-1.0, 0.5])}
    parts = {"model": {"target": [[1], [2], [3]], "last_labels": [-1.0, 2.0]}, "base": {"target": "numbers"}}
    found, facts = upgrades.upgraded(
        old | {"model.head.sharpness": np.ones(2)},
        {"format": 6, "parts": parts, "notes": {"repeated": {"last": -1.0}}},
    )
    assert {name: array.tolist() for name, array in found.items()} == {
        "model.part0.kept.y": [1, 0, 2], "base.kept.y": [-1, 0.5], "model.head.temperature": [1, 1]
    }  # fmt: skip
    assert (facts["parts"]["model"]["last_labels"], facts["notes"]["repeated"]["last"]) == ([0, 2], 0)


def test_shared_scales_become_those_of_each_learner():
    """Formats before 5; and the room for many learners is that of today."""
    path = SAVED / "format4-bbm.safetensors"
    with pytest.warns(ReadWarning, match="each of its linear learners has scales of features of its own"):
        scale = onlineboost.load(path)._fitted.root.committee.scale
    rows = load_file(path)["model.committee.scale"]
    assert scale.any() and np.array_equal(scale, np.repeat(rows[:, None], scale.shape[1], 1))
    for n in (65, 101, 130):
        state = Linear().committee(n, 3)
        lanes = state.norm_sum.size
        old = {"committee.weights": state.weights[:, :, :lanes], "committee.scale": state.scale[:, 0]}
        with pytest.warns(ReadWarning):
            new, _ = upgrades.upgraded(old, {"format": 3, "parts": {}})
        assert {name: array.shape for name, array in new.items()} == {
            "committee.weights": state.weights.shape,
            "committee.scale": state.scale.shape,
        }


def test_the_defaults_of_older_files_keep_no_rows(stream, tmp_path):
    """Parts that came later are left out where the description does not have their parameter."""
    X, y = stream
    for model in (OnlineBoost(memory=False, random_state=0), OnlineBoostRegressor(memory=False)):
        model.fit(X[:100], y[:100]).save(tmp_path / "m")
        forge(tmp_path / "m", tmp_path / "old", lambda _, facts: facts["parts"]["model"]["params"].pop("memory"))
        found = onlineboost.load(tmp_path / "old")
        assert found.memory is False and np.array_equal(found.predict(X), model.predict(X))
