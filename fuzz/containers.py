"""Fuzzer of the readers of Parquet, Arrow and compressed files. See README.md here.

python fuzz/containers.py --format all --inputs 3000 --command 150 --seed 0
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import hashlib
import io
import json
import lzma
import os
import random
import re
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("ONLINEBOOST_QUIET", "1")

import pyarrow as pa
import pyarrow.parquet as pq

from onlineboost.cli.app import main as command_line
from onlineboost.errors import DataError
from onlineboost.readers import open_stream

LIMIT = 5.0  # seconds for an input; the command line has six times as many
MAX_BATCH_MB = 64
MEMORY = 400  # MB that reading one input may add; MAX_BATCH_MB bounds the tables
ADDRESS_SPACE = 8 << 30  # added to what the process has: more is an error of the allocation, not of the machine
ROWS = 60
INTERESTING = (
    0,
    1,
    2,
    7,
    8,
    255,
    256,
    65535,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 62) + 1,
    (1 << 63) - 1,
)


# ---- honest files


@dataclass
class Seed:
    """An honest file. ``hot`` are ranges where lengths, offsets and checksums are: half of the changes go there."""

    format: str
    suffix: str
    content: bytes
    hot: list[tuple[int, int]]
    rows: int = ROWS


def table(rng: random.Random, kind: int) -> Any:
    """Columns of all kinds that are read, and some that are not (dropped by name)."""
    n = ROWS
    word = [rng.choice(["red", "green", "blue", "", None, "é", "x" * 40]) for _ in range(n)]
    columns = {
        "label": pa.array([k % 2 for k in range(n)], pa.int8()),
        "number": pa.array([k * 0.5 + 1 for k in range(n)]),
        "gaps": pa.array([k if k % 3 else None for k in range(n)], pa.int32()),
        "word": pa.array(word),
        "flag": pa.array([k % 5 == 0 for k in range(n)]),
        "day": pa.array([k * 86400 for k in range(n)], pa.int64()).cast(pa.timestamp("s")),
    }
    if kind % 3 == 1:
        columns["code"] = pa.array(word).dictionary_encode()
        columns["part"] = pa.StructArray.from_arrays([columns["gaps"], columns["word"]], ["inner", "text"])
    if kind % 3 == 2:
        columns["list"] = pa.array([[k, k + 1] if k % 4 else None for k in range(n)])
        columns["money"] = pa.array([f"{k}.25" for k in range(n)]).cast(pa.decimal128(12, 2))
        columns["large"] = columns["word"].cast(pa.large_string())
    return pa.table(columns)


def parquet_seeds(rng: random.Random) -> Iterator[Seed]:
    encodings = {
        "number": "BYTE_STREAM_SPLIT",
        "gaps": "DELTA_BINARY_PACKED",
        "word": "DELTA_BYTE_ARRAY",
        "flag": "RLE",
    }
    for kind, compression in enumerate(["none", "snappy", "gzip", "zstd", "lz4", "brotli", "none", "zstd", "none"]):
        options: dict[str, Any] = {"compression": compression, "row_group_size": rng.choice([ROWS, 25])}
        options["data_page_version"] = rng.choice(["1.0", "2.0"])
        options["write_page_checksum"] = kind % 2 == 0
        options["data_page_size"] = rng.choice([64, 1 << 20])
        options["use_dictionary"] = kind % 3 != 2
        data = table(rng, kind)
        if kind % 3 == 2:
            options["column_encoding"] = encodings
            data = data.drop(["list"]) if kind == 2 else data
        file = io.BytesIO()
        pq.write_table(data, file, **options)
        content = file.getvalue()
        footer = int.from_bytes(content[-8:-4], "little")
        hot = [(len(content) - 8 - footer, len(content)), (4, 64)]
        group = pq.read_metadata(io.BytesIO(content)).row_group(0)
        for c in range(group.num_columns):
            column = group.column(c)
            starts = [column.data_page_offset, column.dictionary_page_offset or column.data_page_offset]
            hot += [(start, min(start + 40, len(content))) for start in starts]
        yield Seed("parquet", ".parquet", content, hot)


def arrow_seeds(rng: random.Random, stream: bool) -> Iterator[Seed]:
    for kind in range(9):
        options = pa.ipc.IpcWriteOptions(compression=[None, "zstd", "lz4"][kind // 3])
        data = table(rng, kind)
        if kind == 2:
            data = data.append_column("view", data["word"].combine_chunks().cast(pa.string_view()))
        file = io.BytesIO()
        open_writer = pa.ipc.new_stream if stream else pa.ipc.new_file
        with open_writer(file, data.schema, options=options) as writer:
            writer.write_table(data, max_chunksize=25)
        content = file.getvalue()
        hot = []
        at = content.find(b"\xff\xff\xff\xff")
        while 0 <= at < len(content) - 8:
            size = int.from_bytes(content[at + 4 : at + 8], "little")
            hot.append((at, min(at + 8 + size % 4096, len(content))))
            at = content.find(b"\xff\xff\xff\xff", at + 8)
        if not stream:
            footer = int.from_bytes(content[-10:-6], "little")
            hot.append((len(content) - 10 - footer, len(content)))
        yield Seed("arrow-stream" if stream else "arrow-file", ".arrow", content, hot)


def texts(rng: random.Random, format: str) -> list[bytes]:
    """Three parts of a file; no two rows are the same."""
    lines = [f"{1 if k % 2 else -1} | a:{k + 1} b{k % 7} c:{rng.randrange(1, 99)}\n" for k in range(ROWS)]
    if format == "jsonl":
        lines = [f'{{"label": {k % 2}, "a": {k + 1}, "b": "{rng.choice("uvw")}"}}\n' for k in range(ROWS)]
    if format == "csv":
        lines = [f"{k % 2},{k + 1},{rng.choice('uvw')}\n" for k in range(ROWS)]
        lines[0] = "label,a,b\n" + lines[0]
    return ["".join(lines[k : k + ROWS // 3]).encode() for k in range(0, ROWS, ROWS // 3)]


def gz_member(text: bytes, rng: random.Random) -> bytes:
    """A member with any of the optional header fields, stored or compressed."""
    flags, more = 0, b""
    if rng.random() < 0.3:
        flags, more = flags | 4, more + struct.pack("<H", 5) + b"ab\x01\x00z"
    if rng.random() < 0.5:
        flags, more = flags | 8, more + b"name.txt\0"
    if rng.random() < 0.3:
        flags, more = flags | 16, more + b"comment\0"
    head = b"\x1f\x8b\x08" + struct.pack("<BIBB", flags, rng.randrange(1 << 32), 0, 3) + more
    packer = zlib.compressobj(rng.choice([0, 1, 6, 9]), zlib.DEFLATED, -15)
    body = packer.compress(text) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(text), len(text))


def zst_member(text: bytes, rng: random.Random) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(text)
    return sink.getvalue().to_pybytes()


def xz_member(text: bytes, rng: random.Random) -> bytes:
    check = rng.choice([lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])
    padding = bytes(rng.choice([0, 0, 4]))
    return lzma.compress(text, check=check, preset=rng.choice([0, 6])) + padding


PACK: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "gz": gz_member,
    "bz2": lambda text, rng: bz2.compress(text, rng.choice([1, 9])),
    "xz": xz_member,
    "zst": zst_member,
}


def packed_seeds(rng: random.Random, format: str) -> Iterator[Seed]:
    for kind in ("vw", "jsonl", "csv", "vw", "jsonl", "csv"):
        parts = texts(rng, kind)
        parts = parts if rng.random() < 0.6 else [b"".join(parts)]
        packed = [PACK[format](part, rng) for part in parts]
        hot, at = [], 0
        for member in packed:
            hot += [(at, min(at + 16, at + len(member))), (max(at, at + len(member) - 32), at + len(member))]
            at += len(member)
        yield Seed(format, f".{kind}.{format}", b"".join(packed), hot)


SEEDS: dict[str, Callable[[random.Random], Iterator[Seed]]] = {
    "parquet": parquet_seeds,
    "arrow-file": lambda rng: arrow_seeds(rng, stream=False),
    "arrow-stream": lambda rng: arrow_seeds(rng, stream=True),
    **{name: partial(packed_seeds, format=name) for name in PACK},
}


# ---- damage


class Generator:
    """Damaged files, from honest ones of the same format."""

    def __init__(self, format: str, rng: random.Random) -> None:
        self.rng = rng
        self.seeds = list(SEEDS[format](rng))

    def input(self) -> tuple[Seed, bytes]:
        seed = self.rng.choice(self.seeds)
        content = seed.content
        if self.rng.random() < 0.02:
            return seed, content  # honest: must be read whole
        for _ in range(self.rng.choice([1, 1, 1, 2, 3, 8])):
            content = self.changed(seed, content)
        return seed, content

    def place(self, seed: Seed, content: bytes) -> int:
        if seed.hot and self.rng.random() < 0.6:
            a, b = self.rng.choice(seed.hot)
            return min(self.rng.randrange(a, max(b, a + 1)), max(len(content) - 1, 0))
        return self.rng.randrange(max(len(content), 1))

    def changed(self, seed: Seed, content: bytes) -> bytes:
        rng, at = self.rng, self.place(seed, content)
        size = rng.choice([1, 2, 4, 8, rng.randrange(1, 200)])
        kind = rng.randrange(14)
        if kind < 4 and content:
            flipped = content[at] ^ (1 << rng.randrange(8))
            return content[:at] + bytes([flipped]) + content[at + 1 :]
        if kind == 4:
            return content[:at] + rng.randbytes(1) + content[at + 1 :]
        if kind == 5:
            return content[:at] + bytes(size) + content[at + size :]
        if kind == 6:
            return content[:at] + rng.randbytes(size) + content[at + size :]
        if kind == 7:
            return content[:at] if rng.random() < 0.5 else content[: len(content) - rng.randrange(1, 40)]
        if kind in (8, 9):
            return self.changed_number(content, at)
        if kind == 10:
            return (
                content[:at]
                + rng.choice([b"", rng.randbytes(size), bytes(size)])
                + content[at + size * rng.randrange(2) :]
            )
        if kind == 11:
            other = rng.choice(self.seeds).content
            begin = rng.randrange(len(other))
            return content[:at] + other[begin : begin + size] + content[at + rng.choice([0, size]) :]
        if kind == 12:
            tail = [bytes(rng.choice([1, 4, 8, 512])), rng.randbytes(size), rng.choice(self.seeds).content, b"\n"]
            return content + rng.choice(tail)
        if seed.format in PACK or rng.random() < 0.3:
            return self.changed_member(seed, content)
        return content[:at] + content[at : at + size] * rng.randrange(2, 5) + content[at + size :]

    def changed_number(self, content: bytes, at: int) -> bytes:
        """A length or an offset: a field of 4 or 8 bytes with another value."""
        rng, width = self.rng, self.rng.choice([4, 4, 8])
        at -= at % rng.choice([1, 4, 8])
        now = int.from_bytes(content[at : at + width], "little")
        values = [*INTERESTING, now + 1, now - 1, now * 2, now // 2, -now, now + 8, len(content)]
        new = rng.choice(values) & ((1 << (8 * width)) - 1)
        return content[:at] + new.to_bytes(width, "little") + content[at + width :]

    def changed_member(self, seed: Seed, content: bytes) -> bytes:
        """Another file after this one, with a byte of its beginning or end changed, or none."""
        other = bytearray(self.rng.choice([s for s in self.seeds if s.suffix == seed.suffix]).content)
        place = self.rng.choice([0, 1, 2, 3, self.rng.randrange(len(other)), len(other) - 1])
        other[place] ^= self.rng.choice([0, 1 << self.rng.randrange(8)])
        return content + bytes(other)


# ---- reading, in a worker


def read_rows(path: str, options: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Every row as (label, features, values)."""
    rows = []
    for page in open_stream(path, **options):
        batch = page.batch
        for r in range(batch.y.size):
            part = slice(int(batch.indptr[r]), int(batch.indptr[r + 1]))
            rows.append((float(batch.y[r]), batch.indices[part].tobytes(), batch.values[part].tobytes()))
    return rows


def declared(path: str, format: str) -> int:
    """How many rows the metadata of an accepted table say that it has; -1 if something follows its end."""
    content = Path(path).read_bytes()
    if format == "parquet":
        return int(pq.read_metadata(io.BytesIO(content)).num_rows)
    if format == "arrow-file":
        reader = pa.ipc.open_file(pa.BufferReader(content))
        return sum(reader.get_batch(k).num_rows for k in range(reader.num_record_batches))
    file = pa.BufferReader(content)
    rows = sum(batch.num_rows for batch in pa.ipc.open_stream(file))
    return rows if file.tell() == len(content) else -1


def unpacked(content: bytes, format: str) -> bytes | None:
    """The text of a compressed file, the obvious way; None unless it is whole members and nothing else."""
    text = b""
    try:
        if format == "zst":
            return pa.CompressedInputStream(pa.BufferReader(content), "zstd").read() if whole_frames(content) else None
        while content:
            if format == "gz":
                member: Any = zlib.decompressobj(31)
            else:
                member = bz2.BZ2Decompressor() if format == "bz2" else lzma.LZMADecompressor(lzma.FORMAT_XZ)
            text += member.decompress(content)
            if not member.eof:
                return None
            rest = member.unused_data
            padding = len(rest) - len(rest.lstrip(b"\0"))
            if format == "gz" or (format == "xz" and padding % 4 == 0):
                rest = rest[padding:]
            content = rest
    except (zlib.error, OSError, ValueError, EOFError, lzma.LZMAError):
        return None
    return text


def whole_frames(content: bytes) -> bool:
    """Whether Zstandard's frames end where the file ends (RFC 8878, sections 3.1.1 and 3.1.2)."""
    at = 0
    while at < len(content):
        mark = int.from_bytes(content[at : at + 4], "little")
        if mark & 0xFFFFFFF0 == 0x184D2A50:
            at += 8 + int.from_bytes(content[at + 4 : at + 8], "little")
            continue
        if mark != 0xFD2FB528 or at + 5 >= len(content):
            return False
        flags = content[at + 4]
        single = flags >> 5 & 1
        at += 5 + (not single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
        last = False
        while not last:
            head = int.from_bytes(content[at : at + 3], "little")
            last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
            at += 3 + (1 if kind == 1 else size)
            if at > len(content):
                return False
        at += 4 * (flags >> 2 & 1)
    return at == len(content)


def verdict(path: str, format: str, options: dict[str, Any], honest: int) -> dict[str, Any]:
    before = peak_memory()
    began = time.perf_counter()
    answer: dict[str, Any] = {"kind": "accepted"}
    try:
        rows = read_rows(path, options)
    except (DataError, FileNotFoundError) as problem:
        answer = {"kind": "refused", "message": str(problem).replace(path, "F")}
    except BaseException as problem:
        where = traceback.format_exc().splitlines()[-4:]
        answer = {"kind": "problem", "message": f"{type(problem).__name__}: {problem}", "where": where}
    answer["seconds"] = time.perf_counter() - began
    answer["memory"] = max(0, peak_memory() - before)
    if answer["kind"] == "accepted":
        answer["same"] = len(rows) == honest
        problem = wrong(path, format, rows)
        if problem:
            answer |= {"kind": "problem", "message": problem}
    return answer


def wrong(path: str, format: str, rows: list[tuple[Any, ...]]) -> str:
    """What is wrong with the rows of an accepted file."""
    if format in PACK:
        text = unpacked(Path(path).read_bytes(), format)
        if text is None:
            return f"accepted, but not whole: {len(rows)} rows"
        plain = Path(path).with_suffix("")
        plain.write_bytes(text)
        return "" if read_rows(str(plain), {}) == rows else "other rows than the text has"
    try:
        expected = declared(path, format)
    except (pa.ArrowException, OSError) as problem:
        return f"accepted, but Arrow says: {problem}"
    if expected < 0:
        return f"accepted, but something follows the end: {len(rows)} rows"
    return "" if expected == len(rows) else f"rows lost in silence: {len(rows)} of {expected}"


def peak_memory() -> int:
    """The most memory so far, in MB; a process that just started has none of its parent's."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, used + ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Worker:
    """A process that reads files; a crash or a hang is its death, and the next file gets a new one."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        ask, self.ask = os.pipe()
        self.answer, answer = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.ask)
            os.close(self.answer)
            limit_memory()
            with os.fdopen(ask, "rb") as tasks, os.fdopen(answer, "wb") as answers:
                serve(tasks, answers)
            os._exit(0)
        os.close(ask)
        os.close(answer)
        self.tasks, self.answers = os.fdopen(self.ask, "wb"), os.fdopen(self.answer, "rb")

    def read(self, task: dict[str, Any]) -> dict[str, Any]:
        self.tasks.write(json.dumps(task).encode() + b"\n")
        self.tasks.flush()
        ready, _, _ = select.select([self.answers], [], [], LIMIT)
        line = self.answers.readline() if ready else b""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        if not ready:
            os.kill(self.process, signal.SIGKILL)
        code = self.stop()
        self.start()
        words = f"crash: signal {-code}" if ready else f"hang: more than {LIMIT:g} s"
        return {"kind": "problem", "message": words, "seconds": LIMIT if not ready else 0, "memory": 0}

    def stop(self) -> int:
        self.tasks.close()
        self.answers.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def serve(tasks: Any, answers: Any) -> None:
    for line in tasks:
        task = json.loads(line)
        answer = verdict(task["path"], task["format"], task["options"], task["rows"])
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


# ---- one format


class Session:
    def __init__(self, format: str, seed: int, keep: Path) -> None:
        self.rng = random.Random(f"{format} {seed}")
        self.format, self.keep = format, keep
        self.make = Generator(format, self.rng)
        self.folder = Path(tempfile.mkdtemp())
        self.accepted: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self.bytes = self.memory = 0
        self.slowest = self.slowest_command = 0.0
        self.digest = hashlib.sha256()

    def write(self) -> tuple[Seed, Path, bytes]:
        seed, content = self.make.input()
        path = self.folder / f"x{seed.suffix}"
        path.write_bytes(content)
        self.bytes += len(content)
        self.digest.update(len(content).to_bytes(4, "little") + content)
        return seed, path, content

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"batch_size": self.rng.choice([7, 1 << 14, 1 << 14])}
        if "arrow" in self.format or self.format == "parquet":
            options |= {"max_batch_mb": MAX_BATCH_MB, "labels": self.rng.choice(["required", "required", "ignored"])}
            options["drop"] = self.rng.choice(["list", (), "list"])
        return options

    def read(self, inputs: int) -> None:
        worker = Worker()
        began = time.perf_counter()
        for _ in range(inputs):
            seed, path, content = self.write()
            options = self.options()
            options["drop"] = options.get("drop", ()) if b"list" in content else ()
            honest = content == seed.content
            if honest:
                options["drop"] = "list" if b"list" in content else ()
            task = {"path": str(path), "format": seed.format, "options": options, "rows": seed.rows}
            answer = worker.read(task)
            if honest and not answer.get("same"):
                answer |= {"kind": "problem", "message": f"honest, but: {answer.get('message')}"}
            self.note(answer, path, content, str(options))
        worker.stop()
        self.report(inputs, time.perf_counter() - began)

    def note(self, answer: dict[str, Any], path: Path, content: bytes, how: str) -> None:
        self.slowest, self.memory = max(self.slowest, answer["seconds"]), max(self.memory, answer["memory"])
        if answer["kind"] == "accepted":
            self.accepted["as many rows" if answer["same"] else "other rows, as declared"] += 1
        elif answer["kind"] == "refused":
            self.refusals[kind_of(answer["message"])] += 1
        if answer["kind"] == "problem":
            self.problem(answer["message"], path, content, f"{how}\n    " + "\n    ".join(answer.get("where", ())))
        if answer["memory"] > MEMORY:
            self.problem(f"memory: {answer['memory']} MB more", path, content, how)

    def command(self, inputs: int) -> None:
        began = time.perf_counter()
        for _ in range(inputs):
            _, path, content = self.write()
            output, model = self.folder / "output", self.folder / "model"
            arguments = ["train", str(path), "-o", str(model), "-a", "bbm", "-n", "2", "--no-baseline", "--quiet"]
            arguments += ["--drop", "list"] if b"list" in content else []
            start = time.perf_counter()
            child = os.fork()
            if child == 0:
                run_command(arguments, output)
            ended = wait(child, 6 * LIMIT)
            self.slowest_command = max(self.slowest_command, time.perf_counter() - start)
            said = output.read_text(errors="replace")
            self.codes[f"exit {ended}" if ended is not None and ended >= 0 else "killed"] += 1
            if ended is None or ended < 0:
                words = "hang" if ended is None else f"crash: signal {-ended}"
                self.problem(f"command: {words}", path, content, said[-300:])
            elif "Traceback" in said or ended not in (0, 1):
                self.problem(f"command: exit {ended}: {said.splitlines()[-1] if said else ''}", path, content, said)
            elif ended == 1 and "onlineboost: " not in said:
                self.problem("command: exit 1 without a message", path, content, said)
        codes = ", ".join(f"{code} {n:,}" for code, n in self.codes.most_common())
        seconds = time.perf_counter() - began
        print(f"  command line: {inputs:,} inputs in {seconds:.0f} s ({codes}); slowest: {self.slowest_command:.2f} s")

    def problem(self, words: str, path: Path, content: bytes, how: str) -> None:
        """Tell the first of a kind, and keep its input."""
        kind = re.sub(r"\d+", "N", words)[:90]
        self.problems[kind] += 1
        if self.problems[kind] == 1:
            kept = self.keep / f"{self.format}-{hashlib.sha256(content).hexdigest()[:8]}{''.join(path.suffixes)}"
            self.keep.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(content)
            print(f"PROBLEM {self.format}: {words[:400]}\n    {kept.name}: {how}", flush=True)

    def report(self, inputs: int, seconds: float) -> None:
        size, speed = self.bytes / 1e6, inputs / seconds
        print(f"{self.format}: {inputs:,} inputs ({size:.1f} MB) in {seconds:.0f} s, {speed:,.0f}/s")
        for name, counts in (("accepted", self.accepted), ("refused", self.refusals)):
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common(12))
            print(f"  {name}: {sum(counts.values()):,} ({kinds})")
        print(f"  slowest input: {1000 * self.slowest:.0f} ms; most memory added by one: {self.memory} MB")

    def finish(self) -> int:
        n = sum(self.problems.values())
        print(f"  digest of the inputs: {self.digest.hexdigest()[:16]}; problems: {n:,}", flush=True)
        for kind, count in self.problems.most_common():
            print(f"    {count:,} {kind}", flush=True)
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()
        return n


def kind_of(message: str) -> str:
    """The beginning of a message, without names and numbers."""
    words = re.sub(r"^F: |'[^']*'", "", message)
    words = re.sub(r"(line|row|byte|column) [\d,]+(, column *\d*)?:? ?", "", words)
    return " ".join(re.sub(r"[\d.,]+", "", words.split(":")[0]).split()[:6]).lower()


def run_command(arguments: list[str], output: Path) -> None:
    """Run the command line and end the process as it would."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    limit_memory()
    code = 0
    try:
        command_line(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def wait(child: int, seconds: float) -> int | None:
    """The exit code of a child, negative for a signal; None if it had to be killed."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def warm_up(folder: Path) -> None:
    """Compile and import everything once, before processes are forked."""
    paths = [folder / f"x{suffix}" for suffix in (".vw", ".csv", ".jsonl", ".parquet")]
    paths[0].write_text("1 | a\n-1 | b\n")
    paths[1].write_text("label,a\n1,2\n0,3\n")
    paths[2].write_text('{"label": 1, "a": 2}\n{"label": 0, "a": "b"}\n')
    pq.write_table(table(random.Random(0), 1), paths[3])
    stdout, sys.stdout = sys.stdout, io.StringIO()
    for path in paths:
        with contextlib.suppress(SystemExit):
            command_line(["train", str(path), "-a", "bbm", "-n", "2", "--no-baseline", "-q"])
    sys.stdout = stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--format", choices=[*SEEDS, "all"], default="all")
    parser.add_argument("--inputs", type=int, default=3000, help="for each format")
    parser.add_argument("--command", type=int, default=150, help="more inputs for the command line, for each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-problems"), help="folder for inputs with problems")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        warm_up(Path(folder))
    problems = 0
    for format in SEEDS if arguments.format == "all" else [arguments.format]:
        session = Session(format, arguments.seed, arguments.keep)
        session.read(arguments.inputs)
        session.command(arguments.command)
        problems += session.finish()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
