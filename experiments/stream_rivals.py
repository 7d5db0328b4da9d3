"""A rival of ``classes.py`` or ``regression.py`` over one set, in the environment of the rivals and on one core.

    python experiments/stream_rivals.py RIVAL FILE.npz

The file has ``X`` and ``y``: whole numbers from 0 for classes, others for regression. Every row is predicted, then
learned; before the first label the prediction is 0. Writes the predictions to the same file, as ``answers``, and prints
the seconds. What is compiled is compiled while another model learns the first rows. LightGBM is trained anew on all
rows so far whenever there are 1.41 times as many, from row 64 on.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

FIRST = 1_000  # rows of the model that is thrown away
GROWTH = 1.41
FIRST_TRAINING = 64  # rows


def trainings(n: int) -> Iterator[tuple[int, int]]:
    """The rows of each training, and the first row that the next one answers.

    >>> list(trainings(200))
    [(64, 91), (91, 129), (129, 182), (182, 200)]
    """
    begin = FIRST_TRAINING
    while begin < n:
        end = min(int(begin * GROWTH) + 1, n)
        yield begin, end
        begin = end


def lightgbm(X: Any, y: Any, classes: int) -> Any:
    """One block of answers a training."""
    import lightgbm

    objective = {"objective": "multiclass", "num_class": classes} if classes else {"objective": "regression"}
    answers = np.zeros(len(y))
    for begin, end in trainings(len(y)):
        data = lightgbm.Dataset(X[:begin], y[:begin])
        model = lightgbm.train(objective | {"num_threads": 1, "verbose": -1}, data)
        found = model.predict(X[begin:end], num_threads=1)
        answers[begin:end] = found.argmax(axis=1) if classes else found
    return answers


def capymoa(X: Any, y: Any, classes: int) -> Any:
    from capymoa import classifier, regressor
    from capymoa.stream import NumpyStream

    stream: Any = NumpyStream(X.astype(np.float64), y, target_type="categorical" if classes else "numeric")
    kind = classifier.AdaptiveRandomForestClassifier if classes else regressor.AdaptiveRandomForestRegressor
    model = kind(stream.get_schema(), ensemble_size=10)
    answers = np.zeros(len(y))
    for k, row in enumerate(islice(stream, len(y))):
        found = model.predict(row)
        answers[k] = 0 if found is None else found
        model.train(row)
    return answers


RIVALS: dict[str, Callable[[Any, Any, int], Any]] = {"LightGBM": lightgbm, "CapyMOA ARF(10)": capymoa}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rival", choices=RIVALS)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with np.load(options.file) as kept:
        X, y = kept["X"], kept["y"]
    classes = int(y.max()) + 1 if np.issubdtype(y.dtype, np.integer) else 0
    run = RIVALS[options.rival]
    few = np.concatenate([np.arange(FIRST), [int(y.argmax())]])
    run(X[few], y[few], classes)
    begin = time.process_time()
    answers = run(X, y, classes)
    seconds = time.process_time() - begin
    np.savez(options.file, answers=answers)
    print(seconds)


if __name__ == "__main__":
    main()
