"""Every estimator, through River's own checks and tools."""

from __future__ import annotations

import pytest
from estimators import ESTIMATORS
from river import base, checks


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(name):
    model = ESTIMATORS[name]
    assert isinstance(model, base.MiniBatchRegressor if model.sklearn_type == "regressor" else base.MiniBatchClassifier)
    assert not model._unit_test_skips()
    checks.check_estimator(model)
