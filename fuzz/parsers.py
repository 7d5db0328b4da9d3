"""Fuzzer of the compiled text parsers. See README.md here.

NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=/tmp/fuzz-cache python fuzz/parsers.py --format all --inputs 250000 --seed 0
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "readers"))

from reference_readers import Options, Result, read
from test_readers_text import (
    AMOUNTS,
    BAD_NUMBERS,
    CSV_HEADER,
    DATES,
    MISSING,
    NAMES,
    NUMBERS,
    ORDERED,
    SPICE,
    WORDS,
    assert_same,
    compiled,
)

from onlineboost.compiled.jit import njit
from onlineboost.readers.scan import word

MAX_BYTES = 400
MAX_KEPT = 3000  # inputs to mutate further
CHUNKS = (16, 17, 23, 32, 64, 200, 1024)
BATCHES = (1, 2, 7, 100)
LIMIT = 1.0  # seconds for an input
SEPARATORS, CURRENCIES = ",,,.' \u2019\u00a0\u202f", "$\u20ac\u00a3\u00a5\u20b9"
AROUND = "-", "$", "%", "\u20ac", "(", ")", "/"
TOKENS = {
    "vw": ["|", " ", ":", "'", "\t", "\r\n", "\n", "|a ", "|b:2 ", " :3", "1 ", "-1 2 '", "a:b", "1e18", "nan"],
    "libsvm": [" ", ":", "#", "\t", "\n", "\r\n", "1 ", "-1 ", "qid:", "1:", "0000000001:", "1e400", "nan"],
    "csv": [",", '"', '""', "\n", "\r\n", "\r", " ", '","', '"\n', "1,", "nan", "2026-11-15T10:20:30Z", *AROUND],
    "jsonl": ["{", "}", "[", "]", ",", ":", '"', "\\", "\\u00e9", "\\ud83d\\ude00", "\n", "null", '"label":1', *AROUND],
}  # fmt: skip


# ---- inputs


FORMATS = ("vw", "libsvm", "csv", "jsonl")


class Generator:
    """Inputs: lines of the grammar, mutations of earlier inputs, and random bytes."""

    def __init__(self, format: str, rng: random.Random) -> None:
        self.format, self.rng = format, rng
        self.kept: list[bytes] = []
        self.line: Callable[[], str] = getattr(self, format)

    def input(self) -> bytes:
        kind = self.rng.random()
        if kind < 0.05:
            return self.rng.randbytes(self.rng.randrange(1, 80))
        if kind < 0.2:
            return bytes(self.rng.choices(SPICE[self.format], k=self.rng.randrange(1, 60)))
        if kind < 0.5 or not self.kept:
            text = self.lines()
            return text if kind < 0.35 else self.changed(text)
        return self.changed(self.rng.choice(self.kept))[:MAX_BYTES]

    def keep(self, text: bytes) -> None:
        if len(self.kept) < MAX_KEPT:
            self.kept.append(text)
        else:
            self.kept[self.rng.randrange(MAX_KEPT)] = text

    def lines(self) -> bytes:
        end = self.rng.choice(["\n", "\n", "\r\n"])
        text = end.join(self.line() for _ in range(self.rng.randrange(1, 5))) + self.rng.choice(["", end])
        return (b"\xef\xbb\xbf" if self.rng.random() < 0.02 else b"") + text.encode()[:MAX_BYTES]

    def changed(self, text: bytes) -> bytes:
        rng = self.rng
        for _ in range(rng.choice([1, 1, 2, 3, 6])):
            a, b = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
            kind = rng.randrange(8)
            if kind == 0:
                text = text[:a] + rng.randbytes(1) + text[a + 1 :]
            elif kind == 1:
                text = text[:a] + bytes([rng.choice(SPICE[self.format])]) + text[a + rng.randrange(2) :]
            elif kind == 2:
                text = text[:a] + text[min(b, a + rng.randrange(1, 9)) :]
            elif kind == 3:
                text = text[:a] + rng.choice(TOKENS[self.format]).encode() + text[a:]
            elif kind == 4:
                text = text[:b] + text[a:b] + text[b:]
            elif kind == 5:
                text = text[:a] + rng.choice([*NUMBERS, *BAD_NUMBERS]).encode() + text[b if rng.random() < 0.1 else a :]
            elif kind == 6 and self.kept:
                other = rng.choice(self.kept)
                text = text[:a] + other[rng.randrange(len(other) + 1) :]
            else:
                text = text[:b]
        return text

    def number(self) -> str:
        rng = self.rng
        if rng.random() < 0.05:
            return rng.choice(BAD_NUMBERS)
        return rng.choice(NUMBERS) if rng.random() < 0.5 else f"{rng.uniform(-1e4, 1e4):.{rng.randrange(18)}g}"

    def label(self) -> str:
        return self.rng.choice(["1", "-1", "1", "-1", "1.0"] if self.rng.random() < 0.95 else ["2", "x", "", "1" * 65])

    def vw(self) -> str:
        rng = self.rng
        text = self.label() + rng.choice(["", "", " 2", " .5 'tag", " 'tag", " 1 1", " -1", "\t", " tag|a b"]) + " "
        for _ in range(rng.randrange(1, 4)):
            text += "|" + rng.choice(["", "", "a", "b", "ab", "12", "é", "a:2", "b:0", "12:.5", ":", "a:x", "a:1e18"])
            for _ in range(rng.randrange(5)):
                text += rng.choice([" ", " ", "\t", "  "])
                name = rng.choice(NAMES)
                forms = [name, f"{name}:{self.number()}", f"{name}:red", f":{self.number()}", f":{name}", f"{name}:"]
                text += rng.choice(forms)
        return text

    def libsvm(self) -> str:
        rng = self.rng
        indices = [*(str(rng.randrange(1100)) for _ in range(4)), "0007", "12345678", "123456789", "x", ""]
        pairs = [
            f"{rng.choice(indices)}{rng.choice([':', ':', ':', ' :', ''])}{self.number()}"
            for _ in range(rng.randrange(5))
        ]
        return rng.choice([" ", "\t"]).join([self.label(), *pairs]) + rng.choice(["", "", " ", "#", " # x", " qid:1"])

    def cell(self) -> str:
        rng = self.rng
        known = [rng.choice(cells) for cells in (WORDS, DATES, ORDERED, MISSING, AMOUNTS)]
        return rng.choice([self.number(), *known, self.amount(), self.date()])

    def amount(self) -> str:
        """A number with signs and separators, in their places mostly."""
        rng = self.rng
        groups = [str(rng.randrange(1000)), *(f"{rng.randrange(1000):03}" for _ in range(rng.randrange(4)))]
        text = rng.choice(SEPARATORS).join(groups) + rng.choice(["", "", ".5", ",25", "'5"])
        gap = rng.choice(["", "", " ", "\u00a0", "\u202f"])
        signs = rng.choice(["", "", "", "-", "+"]), rng.choice(["", *CURRENCIES]), rng.choice(["", "", "", "-"])
        text = signs[0] + signs[1] + gap * bool(signs[1]) + signs[2] + text
        text += rng.choice(["", "", gap + "%", gap + rng.choice(CURRENCIES)])
        return f"({text})" if rng.random() < 0.2 else text

    def date(self) -> str:
        """A date with the day or the month first, or nearly."""
        rng = self.rng
        mark, form = rng.choice("/.-"), rng.choice(["{}", "{:02}"])
        parts = (
            form.format(rng.randrange(33)),
            form.format(rng.randrange(14)),
            f"{rng.choice([1, 1999, 2024, 2100]):04}",
        )
        time = rng.choice(
            ["", "", "", " 10:30", "T23:59:60Z", " 24:00", " 1:30", "T10:30+02:00", " 10:30:15.25-0730", " "]
        )
        return mark.join(parts) + time

    def csv(self) -> str:
        rng = self.rng
        cells = [self.label(), rng.choice(["1", "2", ".5", self.number()]), *(self.cell() for _ in range(4))]
        for k in range(len(cells)):
            kind = rng.random()
            if kind < 0.2:
                cells[k] = '"' + cells[k] + rng.choice(["", "", ",", "\n", '""', "\r\n"]) + '"'
            elif kind < 0.25:
                cells[k] += rng.choice([" ", '"', "\t", "\r", ",", "\n"])
        return ",".join(cells[: rng.choice([6] * 20 + [5, 1])])

    def jsonl(self) -> str:
        rng = self.rng
        gap = rng.choice(["", "", "", " ", "\t"])
        members = [f'"label":{gap}{self.label()}'] if rng.random() < 0.95 else []
        if rng.random() < 0.4:
            members.append(f'"w":{self.number()}')
        members += [f"{self.key()}{gap}:{self.value(0)}" for _ in range(rng.randrange(4))]
        return "{" + f"{gap},".join(members) + "}"

    def key(self) -> str:
        return f'"{self.rng.choice([*NAMES[:6], "zip", "skip", "o", "o.a", "", "label", "w"])}"'

    def value(self, depth: int) -> str:
        rng = self.rng
        kind = rng.random()
        if kind < 0.15 and depth < 4:
            return "[" + ",".join(self.value(depth + 1) for _ in range(rng.randrange(4))) + "]"
        if kind < 0.3 and depth < 4:
            return "{" + ",".join(f"{self.key()}:{self.value(depth + 1)}" for _ in range(rng.randrange(3))) + "}"
        if kind < 0.31:
            return "[" * 33
        if kind < 0.6:
            return self.number()
        if kind < 0.8:
            return rng.choice(["true", "false", "null", "NaN"])
        escape = rng.choice(["", "", "", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\x", "\\ud83d", "\\", "\\u12"])
        return f'"{self.cell()}{escape}"'

    def options(self) -> Options:
        rng = self.rng
        options = Options(labeled=rng.random() < 0.6, skip=rng.random() < 0.75)
        if self.format in ("csv", "jsonl"):
            options.weight = rng.choice([None, "w"])
            options.drop, options.categorical = rng.choice([(), ("skip",)]), rng.choice([(), ("zip", "12")])
            options.day_first, options.month_first = rng.choice([((), ())] * 3 + [(("a",), ()), ((), ("a",))])
            options.reading = rng.random() < 0.8
        if self.format == "csv" and rng.random() < 0.2:
            options = Options(options.labeled, options.skip, "0", None, ("5",), ("3",), header=False)
        elif self.format == "csv":
            options.header = rng.choice([True, None])
        return options


# ---- one parser


class Watchdog(threading.Thread):
    """Ends the process when an input never ends: compiled code does not hold Python's lock, so a thread can see it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.began: float | None = None
        self.text = b""

    def run(self) -> None:
        while True:
            time.sleep(0.2)
            began = self.began
            if began is not None and time.perf_counter() - began > 10 * LIMIT:
                print(f"HANG: more than {10 * LIMIT:g} s for {self.text!r}", flush=True)
                os._exit(3)


class Session:
    def __init__(self, format: str, seed: int, compare: float) -> None:
        self.rng = random.Random(f"{format} {seed}")
        self.format, self.compare = format, compare
        self.make = Generator(format, self.rng)
        self.watchdog = Watchdog()
        self.behaviors: set[object] = set()
        self.refusals: Counter[str] = Counter()
        self.problems: dict[str, bytes] = {}
        self.rows = self.entries = self.compared = self.bytes = 0
        self.slowest = 0.0
        self.digest = hashlib.sha256()

    def run(self, inputs: int) -> None:
        head = CSV_HEADER if self.format == "csv" else ""
        compiled(self.format, f"{head}1\n".encode(), Options(header=True))  # compiles
        self.watchdog.start()
        began = time.perf_counter()
        for n in range(inputs):
            text, options = self.make.input(), self.make.options()
            if self.format == "csv" and options.header is not False and self.rng.random() < 0.95:
                text = CSV_HEADER.encode() + text
            self.one(text, options, self.rng.choice(CHUNKS), self.rng.choice(BATCHES))
            if (n + 1) % 50_000 == 0:
                print(f"  {self.format}: {n + 1} inputs, {len(self.problems)} problems", file=sys.stderr, flush=True)
        self.report(inputs, time.perf_counter() - began)

    def one(self, text: bytes, options: Options, chunk: int, batch_size: int) -> None:
        self.digest.update(len(text).to_bytes(4, "little") + text)
        self.bytes += len(text)
        self.watchdog.text, self.watchdog.began = text, time.perf_counter()
        found = None
        try:
            found = compiled(self.format, text, options, chunk, batch_size)
        except Exception as problem:  # IndexError is an array overrun; nothing but a DataError may come out
            self.problem(f"{type(problem).__name__}: {problem}", text, options, chunk, batch_size)
        seconds = time.perf_counter() - self.watchdog.began
        self.watchdog.began = None
        self.slowest = max(self.slowest, seconds)
        if seconds > LIMIT:
            self.problem(f"slow: {seconds:.1f} s", text, options, chunk, batch_size)
        if found is None:
            return
        self.rows += len(found.rows)
        self.entries += sum(len(row.features) for row in found.rows)
        self.refusals.update(refusal.kind for refusal in found.refusals)
        behavior = (tuple(refusal.kind for refusal in found.refusals), min(len(found.rows), 3), options.labeled)
        new = behavior not in self.behaviors and len(text) > 0
        if new:
            self.behaviors.add(behavior)
            self.make.keep(text[len(CSV_HEADER) :] if text.startswith(CSV_HEADER.encode()) else text)
        if new or self.rng.random() < self.compare:
            self.compared += 1
            difference = self.difference(found, text, options)
            if difference:
                self.problem(f"differs: {difference}", text, options, chunk, batch_size)

    def difference(self, found: Result, text: bytes, options: Options) -> str:
        expected = read(self.format, text, options)
        try:
            assert_same(found, expected)
        except AssertionError:
            pairs = itertools.zip_longest(found.refusals, expected.refusals)
            first = next(((a, b) for a, b in pairs if a != b), None)
            if first is None:
                return f"rows or names: {found} instead of {expected}"
            return " instead of ".join("a row" if refusal is None else refusal.kind for refusal in first)
        return ""

    def problem(self, words: str, text: bytes, options: Options, chunk: int, batch_size: int) -> None:
        """Tell the first of a kind, and remember the shortest."""
        kind = re.sub(r"\d+", "", words)[:60]
        if kind not in self.problems:
            print(
                f"PROBLEM {self.format}: {words[:400]}\n  {text!r}\n  {options} chunk={chunk} batch_size={batch_size}"
            )
        if kind not in self.problems or len(text) < len(self.problems[kind]):
            self.problems[kind] = text

    def report(self, inputs: int, seconds: float) -> None:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.refusals.most_common())
        size, speed = self.bytes / 1e6, inputs / seconds
        print(f"{self.format}: {inputs:,} inputs ({size:.1f} MB) in {seconds:.0f} s, {speed:,.0f}/s")
        print(f"  accepted rows: {self.rows:,} with {self.entries:,} features")
        print(f"  refusals: {sum(self.refusals.values()):,} ({kinds})")
        print(f"  behaviors: {len(self.behaviors):,}; compared with the reference: {self.compared:,}")
        print(f"  slowest input: {1000 * self.slowest:.0f} ms; digest of the inputs: {self.digest.hexdigest()[:16]}")
        print(f"  problems: {len(self.problems)}", flush=True)
        for kind, text in self.problems.items():
            print(f"    {kind}: shortest {text!r}", flush=True)


# ---- the whole


@njit
def _beyond(text, at):
    return word(text, at)


def bounds_are_checked() -> bool:
    """Whether compiled code notices that it reads beyond an array, here one byte."""
    try:
        _beyond(np.zeros(8, np.uint8), 1)
    except IndexError:
        return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--format", choices=[*FORMATS, "all"], default="all")
    parser.add_argument("--inputs", type=int, default=250_000, help="for each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", type=float, default=0.25, help="share of inputs also given to the reference")
    arguments = parser.parse_args()
    if not bounds_are_checked():
        print("bounds are not checked: set NUMBA_BOUNDSCHECK=1, and NUMBA_CACHE_DIR to a folder of its own")
        return 2
    problems = 0
    for format in FORMATS if arguments.format == "all" else [arguments.format]:
        session = Session(format, arguments.seed, arguments.compare)
        session.run(arguments.inputs)
        problems += len(session.problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
