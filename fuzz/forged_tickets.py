"""Tickets that are changed and signed again with the secret of the model file, as its author could do."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import numpy as np

from onlineboost.data.hashing import feature_id
from onlineboost.fitted.asked import HEAD, SIGNATURE

ODD = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    -1.0,
    0.5,
    1.0,
    2.0,
    4.0,
    5.0,
    3e8,
    1e18,
    -1e18,
    1e30,
    1e44,
    1e99,
    1e300,
    1e-300,
)
IDS = (0, 1, 2, 3, 7, 20, 4096, 10**6, 2**30, 2**31 - 1, -1, -(2**31))
WHOLE = (0, 1, -1, 2, 3, 10**6, 2**61, 2**62 - 1, 2**62, 2**63 - 1, -(2**63))
NAMES: tuple[Any, ...] = (
    [[2**31 - 1, "z"]],
    [[10**30, "z"]],
    [[-1, "q"]],
    [[0, "a"], [1, "a"]],
    [[5, "\x1b[2J"]],
    [[9, ""]],
    "x",
    {"a": 1},
    [[1]],
    3,
    None,
    [["1", 2]],
    [[None, None]],
    [[4, "new0"], [4, "new1"]],
    [[10**6, "far"]],
    [[True, "1"]],
    [[1.0, "1"]],
    [],
    [[]],
    [[17, "17"]],
    [[feature_id("fits"), "fits"]],
    [[feature_id("fits"), "fits"]] * 3,
    [[feature_id("n" * 9999), "n" * 9999]],
    [[feature_id("\ud800"), "\ud800"]],
    [[feature_id("a\x00b"), "a\x00b"]],
    [[feature_id(str(k)), str(k)] for k in range(300)],
)
TEXTS = (
    b"[" * 100_000,
    b"[" * 900 + b"]" * 900,
    b'{"a":' * 5000 + b"1" + b"}" * 5000,
    b'[[1,"a"],' + b"[" * 99_999,
    b"\xff\xfe",
    b"[1,",
    b"NaN",
    b'[[1e400,"a"]]',
    b'[[4,"\\ud800"]]',
    b"[[" + b"9" * 5000 + b',"a"]]',
    b"\x00",
    b" ",
)


def pending_of(facts: Any) -> dict[str, Any] | None:
    """The description of the tickets of the model, if a file has any."""
    try:
        found = facts["parts"]["model"]["pending"]
        bytes.fromhex(found["secret"])
        return found
    except (LookupError, TypeError, ValueError):
        return None


def tickets_of(arrays: dict[str, np.ndarray]) -> list[bytes]:
    content, found, at = arrays["model.pending.tickets"].tobytes(), [], 0
    for size in arrays["model.pending.sizes"].tolist():
        found.append(content[at : at + size])
        at += size
    return found


def put(arrays: dict[str, np.ndarray], tickets: list[bytes]) -> None:
    arrays["model.pending.sizes"] = np.array([len(one) for one in tickets], np.int64)
    arrays["model.pending.tickets"] = np.frombuffer(b"".join(tickets), np.uint8).copy()


def change_tickets(draw: random.Random, arrays: dict[str, np.ndarray], pending: dict[str, Any]) -> None:
    """Change some of the tickets of a file."""
    secret, tickets = bytes.fromhex(pending["secret"]), tickets_of(arrays)
    for k, data in enumerate(tickets):
        if draw.random() < 0.7:
            tickets[k] = forged(draw, data, secret)
    if draw.random() < 0.05:
        tickets = draw.choice([tickets[::-1], tickets + tickets, tickets[:-1], [], tickets[:1]])
    put(arrays, tickets)


def from_outside(draw: random.Random, arrays: dict[str, np.ndarray], pending: dict[str, Any]) -> list[bytes]:
    """Tickets for ``tell`` that do not wait in the file."""
    secret = bytes.fromhex(pending["secret"])
    return [forged(draw, data, secret, run=draw.randrange(1 << 62)) for data in tickets_of(arrays)]


def forged(draw: random.Random, data: bytes, secret: bytes, run: int | None = None) -> bytes:
    """A changed ticket with a right signature."""
    model, number, time, own, entries, n_votes, n_scores, _ = HEAD.unpack_from(data)
    run, at = own if run is None else run, HEAD.size
    parts = []
    for n, kind in ((entries, np.int32), (entries, np.float32), (n_votes, np.float32), (n_scores, np.float64)):
        parts.append(np.frombuffer(data, kind, n, at).copy())
        at += parts[-1].nbytes
    ids, values, votes, scores = parts
    text, sizes = data[at:-SIGNATURE], None
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        how = draw.randrange(14)
        if how == 0 and ids.size:
            ids[draw.randrange(ids.size)] = draw.choice(IDS)
        elif how == 1 and values.size:
            values = _odd(draw, values)
        elif how == 2:
            n = draw.choice([0, 1, 40, 1000, 100_000])
            ids, values = np.arange(n, dtype=np.int32) * draw.choice([1, 0, 7]), np.ones(n, np.float32)
        elif how in (3, 4):
            votes = _odd(draw, _sized(draw, votes))
        elif how in (5, 6):
            scores = _odd(draw, _sized(draw, scores))
        elif how == 7:
            text = json.dumps(draw.choice(NAMES)).encode()
        elif how == 8:
            text = draw.choice(TEXTS)
        elif how == 9:
            time = draw.choice(ODD)
        elif how == 10:
            run = draw.choice(WHOLE)
        elif how == 11:
            number = draw.choice([number, number + 1, *WHOLE])
        elif how == 12:  # classes, in whatever order, and any
            votes = np.array([draw.randrange(-1, 7) for _ in range(votes.size)], np.float32)
        else:
            sizes = [
                draw.choice([n, n + 1, n - 1, 2**31 - 1, -1]) for n in (ids.size, votes.size, scores.size, len(text))
            ]
    sizes = sizes or [ids.size, votes.size, scores.size, len(text)]
    body = HEAD.pack(model, number, time, run, *sizes)
    with np.errstate(all="ignore"):
        body += b"".join(array.tobytes() for array in (ids.astype(np.int32), values, votes, scores)) + text
    signature = hashlib.blake2b(body, digest_size=SIGNATURE, key=secret).digest()
    return body + (signature if draw.random() < 0.98 else bytes(SIGNATURE))


def _odd(draw: random.Random, array: np.ndarray) -> np.ndarray:
    """Odd numbers in one place, some places or all."""
    with np.errstate(all="ignore"):
        number = np.float64(draw.choice(ODD)).astype(array.dtype)
    chosen = draw.choice([1, 3, array.size])
    for _ in range(chosen if array.size else 0):
        array[draw.randrange(array.size)] = number
    if chosen == array.size:
        array[:] = number
    return array


def _sized(draw: random.Random, array: np.ndarray) -> np.ndarray:
    """Mostly as many numbers as before."""
    n = max(0, array.size + draw.choice([-9, -1, 0, 0, 0, 0, 0, 0, 1, 9]))
    return array if n == array.size else np.resize(array if array.size else np.zeros(1, array.dtype), n)
