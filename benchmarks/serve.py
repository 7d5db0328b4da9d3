"""Load on ``onlineboost serve``, beside a Flask app around a pickled model of River: requests a second, latencies.

The server has one core and the client, wrk, the other; both servers take turns. Time of the server's processor is
measured, too: other work on the machine hardly affects it.

    python benchmarks/serve.py [--seconds 3] [--rounds 5]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from cost import rows

from onlineboost import OnlineBBM, OnlineBoost, Tree

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, keep, kept, table

FIGURES = FOLDER / "serve.json"
CONNECTIONS, WIDTH, TRAINED, BODY, WORDS = 32, 10, 2_000, 1_000, 500
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
FLASK = "flask"


class Case(NamedTuple):
    """A kind of load."""

    title: str
    server: str
    model: str
    answer: str  # predict or learn
    body: str  # folder of bodies
    rows: int = 1
    type: str = JSON
    connections: int = CONNECTIONS


CASES = {
    "predict": Case("predict, 21 trees, 10 features", "disk", "trees", "predict", "asked"),
    "learn": Case("learn, the same", "disk", "trees", "learn", "labeled"),
    "learn in memory": Case(
        "learn, with the folder in memory: no disk to wait for", "memory", "trees", "learn", "labeled"
    ),
    "predict words": Case("predict, `OnlineBoost()`, 8 numbers and 2 words", "disk", "words", "predict", "asked words"),
    "learn words": Case("learn, the same", "disk", "words", "learn", "labeled words"),
    "predict many": Case("predict, JSON of 1,000 rows", "disk", "trees", "predict", "asked many", BODY, JSON, 4),
    "learn many": Case("learn, JSON of 1,000 rows", "disk", "trees", "learn", "labeled many", BODY, JSON, 4),
    "predict arrow": Case("predict, Arrow of 1,000 rows", "disk", "trees", "predict", "asked arrow", BODY, ARROW, 4),
    "learn arrow": Case("learn, Arrow of 1,000 rows", "disk", "trees", "learn", "labeled arrow", BODY, ARROW, 4),
    "flask predict": Case("Flask and a pickle, 21 Hoeffding trees: predict", FLASK, "trees", "predict", "asked"),
    "flask learn": Case("the same: learn", FLASK, "trees", "learn", "labeled"),
    "flask linear predict": Case(
        "Flask and a pickle, logistic regression: predict", FLASK, "linear", "predict", "asked"
    ),
    "flask linear learn": Case("the same: learn", FLASK, "linear", "learn", "labeled"),
}


# ---- models and bodies


def examples(number: int, n: int, words: bool) -> list[tuple[dict[str, Any], int]]:
    X, y = rows(number, n, WIDTH)
    found = []
    for row, label in zip(X.round(4).tolist(), y.tolist(), strict=True):
        x: dict[str, Any] = {f"f{k}": value for k, value in enumerate(row)}
        if words:
            for k in (8, 9):
                x[f"f{k}"] = f"word {int(abs(row[k]) * WORDS / 4) % WORDS}"
        found.append((x, int(label)))
    return found


def write_bodies(folder: Path) -> None:
    """Bodies of all cases, each folder with files 0, 1, 2, ..."""

    def write(name: str, bodies: list[bytes]) -> None:
        (folder / name).mkdir()
        for k, body in enumerate(bodies):
            (folder / name / str(k)).write_bytes(body)

    for end in ("", " words"):
        given = examples(2, 2_000, bool(end))
        write("asked" + end, [json.dumps({"features": x}).encode() for x, _ in given])
        write("labeled" + end, [json.dumps({"features": x, "label": y}).encode() for x, y in given])
    parts = [examples(3 + k, BODY, False) for k in range(16)]
    write("asked many", [json.dumps([{"features": x} for x, _ in part]).encode() for part in parts])
    write("labeled many", [json.dumps([{"features": x, "label": y} for x, y in part]).encode() for part in parts])
    write("asked arrow", [ipc([x for x, _ in part]) for part in parts])
    write("labeled arrow", [ipc([{**x, "label": y} for x, y in part]) for part in parts])


def ipc(given: list[dict[str, Any]]) -> bytes:
    found, sink = pa.Table.from_pylist(given), io.BytesIO()
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)
    return sink.getvalue()


def write_models(folder: Path) -> None:
    """Models that have learned a little, as files of this package and as pickles of River."""
    import pickle

    from river import ensemble, linear_model, preprocessing, tree

    trees, words = OnlineBBM(Tree(), 21, random_state=0), OnlineBoost(random_state=0)
    for model, with_words in ((trees, False), (words, True)):
        for x, y in examples(0, TRAINED, with_words):
            model.learn_one(x, y)
    trees.save(folder / "trees.model")
    words.save(folder / "words.model")
    rivals = {
        "trees": ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(), n_models=21, seed=0),
        "linear": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }
    (folder / FLASK).mkdir()
    for name, model in rivals.items():
        for x, y in examples(0, TRAINED, False):
            model.learn_one(x, y)
        (folder / FLASK / name).write_bytes(pickle.dumps(model))


# ---- servers


class Server:
    """A server on the first core."""

    def __init__(self, command: list[str], log: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        with log.open("wb") as file:
            command = ["taskset", "-c", "0", sys.executable, *command, str(self.port)]
            self.process = subprocess.Popen(command, stdout=file, stderr=file)
        end = time.monotonic() + 120
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(log.read_text()[-3000:])
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True

    def seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rest(self) -> None:
        """Wait until requests whose clients have gone are done, too."""
        before = -1.0
        while self.seconds() - before > 0.02:
            before = self.seconds()
            time.sleep(0.5)

    def transactions(self) -> float:
        """Commits of the journal so far."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return float(next(line for line in lines if line.startswith("onlineboost_writer_groups_total")).split()[1])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def start(folder: Path, memory: Path) -> dict[str, Server]:
    own = ["-m", "onlineboost", "serve", str(folder / "trees.model"), str(folder / "words.model"), "--dir"]
    flask = [str(Path(__file__).with_name("serve_flask.py")), str(folder / FLASK)]
    return {
        "disk": Server([*own, str(folder / "state"), "--port"], folder / "disk.log"),
        "memory": Server([*own, str(memory / "state"), "--port"], folder / "memory.log"),
        FLASK: Server(flask, folder / "flask.log"),
    }


# ---- measuring


def load(case: Case, server: Server, bodies: Path, seconds: float) -> dict[str, float]:
    """One run of wrk on the second core."""
    address = f"http://127.0.0.1:{server.port}/v1/models/{case.model}/{case.answer}"
    script = str(Path(__file__).with_name("serve.lua"))
    command = ["taskset", "-c", "1", "wrk", "-t", "1", "-c", str(case.connections), "-d", f"{seconds:g}s"]
    server.rest()
    counts = case.server != FLASK and case.answer == "learn"
    before, groups = server.seconds(), server.transactions() if counts else 0.0
    command += ["--timeout", "30s", "-s", script, address, "--", str(bodies / case.body), case.type]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if found["errors"]:
        raise SystemExit(done.stdout)
    return {
        "rate": found["requests"] * case.rows / found["seconds"],
        "busy_rate": found["requests"] * case.rows / (server.seconds() - before),
        "p50": found["p50"],
        "p99": found["p99"],
    } | ({"together": found["requests"] / (server.transactions() - groups)} if counts else {})


def flush(folder: Path, n: int = 200) -> float:
    """Milliseconds that the disk takes for a page that is appended and flushed; median."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(n):
            began = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


def measure(rounds: int, seconds: float, only: list[str]) -> dict[str, Any]:
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in only}
    flushes = []
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir=memory) as other:
        folder = Path(name)
        write_bodies(folder)
        write_models(folder)
        servers = start(folder, Path(other))
        try:
            for k in range(rounds + 1):
                flushes.append(flush(folder))
                for case in only:
                    longer = 2 if CASES[case].server == FLASK else 1
                    one = load(CASES[case], servers[CASES[case].server], folder, longer * seconds)
                    if k and not one["rate"]:
                        raise SystemExit(f"{case}: no answer within {longer * seconds:g} s: give more --seconds")
                    if k:  # the first round warms up
                        runs[case].append(one)
                        print(
                            f"{k} of {rounds}, {case}: { ({key: round(v, 2) for key, v in one.items()}) }", flush=True
                        )
        finally:
            for one in servers.values():
                one.stop()
        shutil.rmtree(Path(other) / "state")
    cases = {case: {key: statistics.median(run[key] for run in each) for key in each[0]} for case, each in runs.items()}
    for case, each in runs.items():
        cases[case]["best_p99"] = min(run["p99"] for run in each)
    return {"rounds": rounds, "flush_ms": statistics.median(flushes), "cases": cases}


# ---- text


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    cases = found["cases"]
    heads = ["load", "examples/s", "per second of its processor time", "p50, ms", "p99, ms"]
    lines = [
        [CASES[name].title, f"{one['rate']:,.0f}", f"{one['busy_rate']:,.0f}", f"{one['p50']:.1f}", f"{one['p99']:.1f}"]
        for name, one in cases.items()
    ]

    def ratio(mine: str, theirs: str) -> str:
        return f"{cases[mine]['busy_rate'] / cases[theirs]['busy_rate']:,.0f}"

    return {
        "load": table(heads, lines),
        "predict ratio": ratio("predict", "flask predict"),
        "learn ratio": ratio("learn", "flask learn"),
        "linear predict ratio": ratio("predict", "flask linear predict"),
        "linear learn ratio": ratio("learn", "flask linear learn"),
        "flush": f"{found['flush_ms']:.2g} ms",
        "together": f"{cases['learn']['together']:.0f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="of each run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=[*CASES], help="some cases; nothing is kept then")
    options = parser.parse_args()
    found = measure(options.rounds, options.seconds, options.only or [*CASES])
    if not options.only:
        keep(FIGURES, found)
        print(blocks()["load"])


if __name__ == "__main__":
    main()
