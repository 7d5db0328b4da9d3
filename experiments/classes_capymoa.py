"""CapyMOA's ARF(10) over one of the sets of ``classes.py``, in the environment of the rivals and on one core.

    python experiments/classes_capymoa.py FILE.npz

The file has ``X`` and whole numbers ``y``. Prints the number of rows predicted rightly and the seconds, as JSON. Java
compiles while another model learns the first rows.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import islice

import numpy as np

FIRST = 1_000  # rows of the model that is thrown away


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from capymoa.classifier import AdaptiveRandomForestClassifier
    from capymoa.stream import NumpyStream

    with np.load(sys.argv[1]) as kept:
        X, y = kept["X"].astype(np.float64), kept["y"]

    def run(n: int) -> tuple[int, float]:
        stream = NumpyStream(X, y)
        model = AdaptiveRandomForestClassifier(stream.get_schema(), ensemble_size=10)
        rows, right = list(islice(stream, n)), 0
        start = time.process_time()
        for row in rows:
            right += model.predict(row) == row.y_index
            model.train(row)
        return right, time.process_time() - start

    run(FIRST)
    right, seconds = run(len(y))
    print(json.dumps({"right": int(right), "seconds": seconds}))


if __name__ == "__main__":
    main()
