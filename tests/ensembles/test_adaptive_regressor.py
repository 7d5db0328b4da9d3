from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import onlineboost
from onlineboost import (
    Adaptive,
    AdaptiveRegressor,
    LeastSquares,
    Linear,
    ModelFileError,
    OnlineGradientBoost,
    ParameterError,
    RegressionTree,
)


def stream(n: int = 6000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The target is reversed half-way; some are outliers."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = 1e3 * (np.sin(6 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n))
    y[n // 2 :] *= -1
    y[rng.integers(0, n, 5)] = 1e9
    return X, y


def test_it_starts_over_after_a_change_only():
    X, y = stream()
    heard: list[onlineboost.Alarm] = []
    model = AdaptiveRegressor(RegressionTree(5), on_drift=heard.append)
    answers, plain = model.progressive_fit(X, y), RegressionTree(5).progressive_fit(X, y)
    (alarm,) = model.alarms_
    assert heard == [alarm]
    assert 3000 < alarm.example < 3300
    assert model.n_seen_ == 6000
    assert "1 alarm" in model.verdict()
    assert np.array_equal(answers[: alarm.example], plain[: alarm.example])
    fresh = RegressionTree(5).progressive_fit(X[alarm.example :], y[alarm.example :])
    assert np.array_equal(answers[alarm.example :], fresh)
    good = np.abs(y) < 1e8
    assert np.mean((answers - y)[good][3300:] ** 2) < 0.5 * np.mean((plain - y)[good][3300:] ** 2)


@pytest.mark.parametrize("change", [lambda y: y, lambda y: y + 1e6, lambda y: 1e-6 * y])
def test_neither_the_unit_nor_noise_alarms(change):
    rng = np.random.default_rng(1)
    X, y = rng.random((8000, 3)), rng.standard_t(3, size=8000)
    assert AdaptiveRegressor(RegressionTree(3)).fit(X, change(y)).n_alarms_ == 0


def test_any_batches_saving_and_single_rows(tmp_path):
    X, y = stream()
    whole = AdaptiveRegressor(RegressionTree(5)).fit(X, y)
    parts = AdaptiveRegressor(RegressionTree(5))
    for start, stop in ((0, 7), (7, 2000), (2000, 3050), (3050, 5900)):
        parts.partial_fit(X[start:stop], y[start:stop])
        parts.save(tmp_path / "m")
        parts = onlineboost.load(tmp_path / "m")
    for x, target in zip(X[5900:], y[5900:], strict=True):
        parts.learn_one(dict(enumerate(x)), target)
    whole.save(tmp_path / "whole")
    parts.save(tmp_path / "parts")
    assert np.array_equal(whole.predict(X), parts.predict(X))
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert parts.alarms_ == whole.alarms_


def test_late_labels():
    X, y = stream(2000)
    now, late = AdaptiveRegressor(RegressionTree(3)), AdaptiveRegressor(RegressionTree(3))
    now.fit(X, y)
    for x, target in zip(X, y, strict=True):
        late.tell(late.ask(dict(enumerate(x))), target)
    assert late.alarms_ == now.alarms_
    assert np.array_equal(late.predict(X), now.predict(X))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"estimator": AdaptiveRegressor()}, "estimator"), ({"estimator": Adaptive()}, "estimator"),
     ({"delta": 0}, "delta"), ({"on_drift": 1}, "on_drift")],
)  # fmt: skip
def test_wrong_parameters(wrong, name):
    with pytest.raises(ParameterError, match=name):
        AdaptiveRegressor(**wrong).fit(np.eye(3), [1.0, 2.0, 3.0])


def test_targets_are_those_of_the_loss():
    with pytest.raises(onlineboost.DataError, match="at least 0"):
        AdaptiveRegressor(OnlineGradientBoost(loss="poisson")).fit(np.eye(2), [1.0, -1.0])


@pytest.mark.parametrize(("field", "change"), [("usual.error", lambda a: a - 1e9), ("windows.block", lambda a: a + 99)])
def test_a_file_with_an_impossible_state_is_refused(field, change, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    model = AdaptiveRegressor(LeastSquares()).fit(rng.random((50, 2)), rng.random(50))
    whole = type(model._fitted.root).arrays
    monkeypatch.setattr(
        type(model._fitted.root), "arrays", lambda node: (a := whole(node)) | {field: change(a[field].copy())}
    )
    model.save(tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        onlineboost.load(tmp_path / "m")


def test_names_are_known_after_an_alarm(tmp_path):
    """By which columns are crossed: going on is going on from a file."""
    X, y = stream(3000)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = AdaptiveRegressor(OnlineGradientBoost(Linear(crosses=[("a", "b")]), 5))
    model.fit(frame[:2000], y[:2000])
    assert model.n_alarms_ > 0
    model.save(tmp_path / "m")
    again = onlineboost.load(tmp_path / "m")
    rest = frame[2000:], y[2000:]
    assert np.array_equal(model.progressive_fit(*rest), again.progressive_fit(*rest))
    names = model._fitted.root.names_met(model._fitted.columns.names)
    assert {"a", "b", "c"} <= set(names.values())
