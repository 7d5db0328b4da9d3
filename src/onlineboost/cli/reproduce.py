"""``onlineboost reproduce``: the paper's experiment, from data to report."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onlineboost.bars import new_bar
from onlineboost.cli import options as o
from onlineboost.cli.options import EngineName
from onlineboost.cli.terminal import announce, say
from onlineboost.data.batch import Batch, joined
from onlineboost.errors import ParameterError
from onlineboost.readers import open_stream
from onlineboost.storage.atomic import write_text

if TYPE_CHECKING:
    from onlineboost.tuning.race import Row


def reproduce(
    data: Annotated[
        Path | None,
        o.plain(
            "Folder of the data sets. (default: only the bundled set)", envvar="ONLINEBOOST_DATA", metavar="FOLDER"
        ),
    ] = None,
    sets: Annotated[
        str | None,
        o.plain(
            "Data sets, comma-separated; missing ones are downloaded if possible. (default: all in --data)",
            metavar="NAMES",
        ),
    ] = None,
    output: Annotated[Path, o.plain("Folder for results and report.", "--output", "-o", metavar="FOLDER")] = Path(
        "reproduction"
    ),
    splits: Annotated[int, o.plain("Number of random train/test splits; several give standard errors.", min=1)] = 1,
    quick: Annotated[bool, o.plain("Try fewer configurations.", "--quick")] = False,
    seed: Annotated[int, o.plain("Random seed.", min=0)] = 0,
    jobs: o.Jobs = None,
    engine: o.Engine = EngineName.THREADS,
    address: o.Address = None,
    quiet: o.Quiet = False,
) -> None:
    """Repeat the paper's experiment and write a report.

    Each data set is split at random: every algorithm is tuned by progressive error on 80 %, and its best configuration
    is tested on 20 %. The same command resumes an interrupted run.

    Examples:

      onlineboost reproduce

      onlineboost reproduce --data folder --sets letter,covtype --splits 5 -o five
    """
    from rich.console import Console

    from onlineboost.reproduction import report
    from onlineboost.reproduction.run import Experiment

    names = _names(data, sets)
    if not quiet:
        announce(f"onlineboost: {', '.join(names)}: results in {output}")
    output.mkdir(parents=True, exist_ok=True)  # an error here comes before any data are read
    loaded = {name: _load(name, data) for name in names}
    command = _command(data, sets, splits, quick, seed)
    bar = Bar(quiet)
    experiment = Experiment(output, command, splits, quick, seed, engine.value, address, jobs, bar)
    bar.total = experiment.configurations(loaded)
    try:
        results = experiment.run(loaded)
    except KeyboardInterrupt:
        announce(f"onlineboost: interrupted: to continue, repeat the command; results are in {output}")
        raise
    finally:
        bar.close()
    write_text(output / "report.html", report.html(results))
    write_text(output / "report.md", report.markdown(results))
    Console().print(report.text(results))
    say(f"full report: {output / 'report.html'}")


def _names(data: Path | None, sets: str | None) -> list[str]:
    from onlineboost.datasets import SETS, get
    from onlineboost.datasets.places import locate

    if data is not None and not data.is_dir():
        raise ParameterError("--data", str(data), "a folder that exists")
    if sets is not None:
        wanted = [name.strip() for name in sets.split(",") if name.strip()]
        if not wanted:
            raise ParameterError("--sets", sets, "comma-separated names of sets")
        return [get(name).name for name in wanted]
    if data is None:
        return ["letter"]
    here = {name: locate(known, data) for name, known in SETS.items() if not known.extra}
    found = [name for name, path in here.items() if path is not None and path.parent == data]
    if not found:
        raise ParameterError("--data", str(data), "a folder with files NAME.libsvm.gz; for names: onlineboost datasets")
    return found


def _load(name: str, data: Path | None) -> Batch:
    from onlineboost.datasets import find, get
    from onlineboost.datasets.places import check

    path, file = find(name, data), get(name).file
    batch = joined([page.batch for page in open_stream(path)])
    assert file is not None
    check(path, file, batch)
    return batch


def _command(data: Path | None, sets: str | None, splits: int, quick: bool, seed: int) -> str:
    """The command that gives the same results; they do not depend on engine and jobs."""
    words = ["onlineboost", "reproduce"]
    words += ["--data", "FOLDER"] if data is not None else []
    words += ["--sets", sets] if sets is not None else []
    words += ["--splits", str(splits)] if splits != 1 else []
    words += ["--quick"] if quick else []
    return shlex.join([*words, *(["--seed", str(seed)] if seed else [])])


class Bar:
    """One progress bar for all configurations of all sets; without a terminal, a line for each set."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.total, self.before = quiet, 0, 0
        self.what, self.of, self.set = "", 0, ""
        self.began = time.perf_counter()
        self.bar: Any = None
        if not quiet and sys.stderr.isatty():
            self.bar = new_bar(facts=False)
            self.task = self.bar.add_task("", total=None)
            self.bar.start()

    def __call__(self, what: str, done: int, of: int, best: Row | None) -> None:
        if what != self.what:
            self.before += self.of
            self.what, self.of = what, of
            name = what.partition(",")[0]
            if name != self.set and self.bar is None and not self.quiet:
                seconds = time.perf_counter() - self.began
                announce(f"onlineboost: {name}, after {seconds:,.0f} s ...")
            self.set = name
        if self.bar is not None:
            error = f", best error {best.error:.4f}" if best is not None else ""
            facts = f"{what}: {done:,} of {of:,}{error}"
            self.bar.update(self.task, total=self.total, completed=self.before + done, description=facts)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
