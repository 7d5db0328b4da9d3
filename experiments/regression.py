"""R2, coverage of 90 % intervals and rows per second of ``OnlineBoostRegressor`` on six streams, in their order.

    python experiments/regression.py FOLDER [SET ...]

FOLDER has NAME.csv.gz with a heading, the target last; sets that are absent are skipped. Words become one column each.
The last line is a stream whose noise doubles half-way.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from onlineboost import OnlineBoostRegressor, RangeWarning
from onlineboost.regressor import r2

SETS = ("abalone", "ailerons", "bike", "fried", "DemandF", "MetroTraffic")


def load(path: Path) -> tuple[object, np.ndarray]:
    table = pd.read_csv(path)
    columns = []
    for name in table.columns[:-1]:
        if pd.api.types.is_numeric_dtype(table[name]):
            columns.append(table[[name]].to_numpy(np.float64))
        else:  # in the order in which words are met
            codes = pd.factorize(table[name])[0]
            columns.append(sp.csr_matrix((np.ones(len(codes)), (np.arange(len(codes)), codes))))
    words = any(sp.issparse(column) for column in columns)
    return (sp.hstack(columns, "csr") if words else np.hstack(columns)), table.iloc[:, -1].to_numpy(np.float64)


def noise_doubles(rows: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((rows, 5))
    noise = np.where(np.arange(rows) < rows // 2, 0.3, 0.6)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=rows)


def run(name: str, X: object, y: np.ndarray) -> float:
    began = time.process_time()
    answers, low, high = OnlineBoostRegressor(random_state=0).progressive_interval(X, y)
    seconds = time.process_time() - began
    inside, half = (low <= y) & (y <= high), len(y) // 2
    found = r2(y, answers)
    covers = f"covers {inside.mean():.3f}, halves {inside[:half].mean():.3f} {inside[half:].mean():.3f}"
    print(f"{name:14} R2 {found:.4f}  {covers}  {len(y) / seconds:,.0f} rows/s", flush=True)
    return found


def main() -> None:
    warnings.simplefilter("ignore", RangeWarning)  # of these streams, many features move
    folder, wanted = Path(sys.argv[1]), sys.argv[2:] or SETS
    rng = np.random.default_rng(0)  # compiles
    for X in (rng.normal(size=(300, 3)), sp.csr_matrix(rng.normal(size=(300, 3)))):
        OnlineBoostRegressor().progressive_fit(X, rng.normal(size=300))
    found = []
    for name in wanted:
        path = folder / f"{name}.csv.gz"
        if path.exists():
            found.append(run(name, *load(path)))
        else:
            print(f"{name:14} is absent: {path}")
    if found:
        print(f"{'mean':14} R2 {np.mean(found):.4f}")
    run("noise doubles", *noise_doubles())


if __name__ == "__main__":
    main()
