"""Kill ``onlineboost train --checkpoint-every`` at random moments, resume it, and compare with an undisturbed run.

    python scripts/kill_trials.py FILE [--trials 50] [--seed 0] [-- options of train]

Each trial kills (SIGKILL) at a random time, checks that the checkpoint loads, resumes with the same files, perhaps
kills again, and compares the bytes of the finished model file. Prints how many trials found a checkpoint to go on from.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from onlineboost.model import load_all

ENVIRONMENT = {**os.environ, "ONLINEBOOST_QUIET": "1"}


def train(file: Path, options: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "onlineboost", "train", str(file), "-q", *options]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    _, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err.decode())


def trials(file: Path, folder: Path, n: int, seed: int, options: list[str]) -> int:
    """How many of n trials were resumed from a checkpoint. Raises if one ends with other bytes."""
    rng = random.Random(seed)
    whole = folder / "whole"
    finish(train(file, [*options, "-o", str(whole)]))  # compiles what is not compiled yet
    began = time.perf_counter()
    finish(train(file, [*options, "-o", str(whole)]))
    seconds = time.perf_counter() - began
    resumed = 0
    for trial in range(n):
        model = folder / f"trial-{trial}"
        done = False
        while not done:
            again = ["--resume", str(model)] if model.exists() else []
            kept = options if not again else _of_the_run(options)
            process = train(file, [*kept, *again, "-o", str(model)])
            time.sleep(rng.uniform(0.3, 1.05) * seconds)
            done = process.poll() is not None
            process.kill()
            _, err = process.communicate()
            if done and process.returncode:
                raise RuntimeError(err.decode())
            if model.exists():  # whatever the moment, the file is whole
                _, _, notes = load_all(model)
                done = done or notes["unfinished"] is None  # killed between the last save and the end
                resumed += not done
        if model.read_bytes() != whole.read_bytes():
            raise AssertionError(f"trial {trial} (seed {seed}): the resumed model has other bytes")
        model.unlink()
    return resumed


def _of_the_run(options: list[str]) -> list[str]:
    """The options that --resume takes: those of the model come with it."""
    at = options.index("--checkpoint-every")
    return options[at : at + 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("."))
    given, rest = parser.parse_known_args()
    options = [option for option in rest if option != "--"] or ["--checkpoint-every", "10000"]
    resumed = trials(given.file, given.folder, given.trials, given.seed, options)
    print(f"{given.trials} trials, {resumed} kills with a checkpoint to go on from: the same bytes every time")


if __name__ == "__main__":
    main()
