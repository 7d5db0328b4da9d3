"""How many of scikit-learn's and River's own checks every estimator passes.

It goes on where it stopped, if the code is still the same.

python experiments/conformance.py
"""

from __future__ import annotations

import os
import sys
import warnings
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("scripts", "tests")]
from estimators import ESTIMATORS
from figures import FOLDER, begun, keep, kept

ROWS = 40
FIGURES = FOLDER / "conformance.json"


def by_sklearn(model: Any) -> tuple[int, int]:
    from sklearn.utils.estimator_checks import check_estimator

    found = check_estimator(model, on_skip=None, on_fail=None)
    done = [one for one in found if one["status"] != "skipped"]
    return sum(one["status"] == "passed" for one in done), len(done)


def by_river(model: Any) -> tuple[int, int]:
    """On the first rows of River's streams; ``make river`` takes whole ones."""
    from river import checks

    passed, number, name = 0, 0, "_yield_datasets"
    whole = getattr(checks, name)
    short = lambda model, scale=1: (list(islice(one, ROWS * scale)) for one in whole(model, scale))  # noqa: E731
    with patch.object(checks, name, short):
        for check in checks.yield_checks(model):
            number += 1
            try:
                check(model.clone())
                passed += 1
            except Exception as problem:
                print(f"{model}: {check.__name__}: {problem}")
    return passed, number


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    sums = {name: [sum(one[name][k] for one in found.values()) for k in (0, 1)] for name in ("sklearn", "river")}
    return {
        "conformance": f"{sums['sklearn'][0]:,} of {sums['sklearn'][1]:,} checks of scikit-learn's `check_estimator` "
        f"and {sums['river'][0]:,} of {sums['river'][1]:,} of River's, over {len(found)} estimators"
    }


def main() -> None:
    warnings.simplefilter("ignore")
    os.environ["ONLINEBOOST_QUIET"] = "1"
    found = begun(FIGURES)
    for name, model in ESTIMATORS.items():
        if name not in found:
            found[name] = {"sklearn": by_sklearn(model), "river": by_river(model)}
            keep(FIGURES, found)
        print(name, found[name], flush=True)


if __name__ == "__main__":
    main()
