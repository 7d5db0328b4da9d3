"""One mixed table through every kind of source: the same model, bit for bit, and how fast each is read.

The table is a survey of incomes (SLID of the R package carData: words, numbers, gaps), with a date made up for each row
and a label: whether the hourly wage is above the median. ``OnlineBoost("low")`` learns it as a pandas, Polars and
PyArrow frame, as dicts, as CSV and as Parquet; models are compared by their files.

    python experiments/frames.py SLID.csv
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from onlineboost import OnlineBoost
from onlineboost.readers import open_stream

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, keep, kept, table

FIGURES = FOLDER / "frames.json"
LABEL = "well_paid"


def mixed(path: Path) -> pd.DataFrame:
    """The table: words, numbers, gaps, a date and a boolean."""
    frame = pd.read_csv(path, index_col=0).dropna(subset="wages").reset_index(drop=True)
    frame["answered"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame.index * 7919 % 12_000, unit="h")
    frame["urban"] = frame.index % 3 == 0
    frame[LABEL] = (frame.pop("wages") > 14).map({True: "yes", False: "no"})
    return frame


def one_by_one(rows: list[dict[str, Any]], y: list[str]) -> OnlineBoost:
    model = new()
    for x, label in zip(rows, y, strict=True):
        model.learn_one(x, label)
    return model


def new() -> OnlineBoost:
    return OnlineBoost("low", random_state=0)


def answers_of(model: OnlineBoost, frame: pd.DataFrame) -> str:
    """A digest of the answers to all rows."""
    return hashlib.sha256(model.predict_proba(open_stream(frame, label=LABEL)).tobytes()).hexdigest()[:12]


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    rows = [[name, one["answers"], f"{one['rows'] / one['seconds']:,.0f}"] for name, one in found.items()]
    return {"frames": table(["source", "answers of the model, as a digest", "rows/s"], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("survey", type=Path, help="SLID.csv")
    frame = mixed(parser.parse_args().survey)
    X, y = frame.drop(columns=LABEL), frame[LABEL].tolist()
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = Path(folder) / "survey.csv", Path(folder) / "survey.parquet"
        frame.to_csv(csv, index=False)
        frame.to_parquet(parquet, index=False)
        sources: dict[str, Callable[[], OnlineBoost]] = {
            "pandas": lambda: new().fit(X, y),
            "Polars": lambda: new().fit(pl.from_pandas(X), y),
            "PyArrow": lambda: new().fit(pa.Table.from_pandas(X, preserve_index=False), y),
            "a list of dicts": lambda: new().fit(rows, y),
            "dicts, one by one": lambda: one_by_one(rows, y),
            "CSV": lambda: new().fit(open_stream(csv, label=LABEL)),
            "Parquet": lambda: new().fit(open_stream(parquet, label=LABEL)),
        }
        found = {}
        for name, learn in sources.items():
            learn()  # compiles
            start = time.process_time()
            model = learn()
            seconds = time.process_time() - start
            found[name] = {"answers": answers_of(model, frame), "rows": len(y), "seconds": seconds}
            print(name, found[name])
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
