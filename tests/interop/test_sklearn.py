"""Every estimator, through scikit-learn's own checks and tools."""

from __future__ import annotations

import pytest
from estimators import ESTIMATORS, public_estimators
from sklearn.utils.estimator_checks import check_estimator

from onlineboost import Binner
from onlineboost.interop.sklearn import EXPECTED_FAILURES

# Class weights of 1000 against 0.0001 on 50 rows: as with the same sample_weight, bit for bit (test_class_weights.py).
_REASON = {"check_class_weight_classifiers": "errs with rows of weight 1000 among few, also as sample_weight"}
HEAVY = dict.fromkeys(("AdaBoostOL", "AdaBoostOLPlus", "OnlineBBM over an object"), _REASON)


def test_every_estimator_is_checked():
    assert public_estimators() <= {name.partition(" ")[0] for name in ESTIMATORS}


@pytest.mark.parametrize("name", [*ESTIMATORS, "Binner"])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(name):
    model = Binner() if name == "Binner" else ESTIMATORS[name]
    expected = {} if name == "Binner" else EXPECTED_FAILURES | HEAVY.get(name, {})
    found = check_estimator(model, expected_failed_checks=expected, on_skip=None, on_fail=None)
    problems = [f"{one['check_name']}: {one['exception']}" for one in found if one["status"] == "failed"]
    assert not problems
    assert sum(one["status"] == "passed" for one in found) > 40
