"""Events: everything that changes a model or a ticket, in the order of their numbers.

The state of the service is a function of its events. The kinds, and their payloads as JSON unless said otherwise:

| kind | payload |
| --- | --- |
| create | the class and the parameters of a new model, with its seed |
| put, restore | digest of a model file |
| remove | nothing: the model is gone |
| ask | bytes of a ticket: the row as parsed, and the answers given |
| defer | the same as ask, of a ticket that does not wait yet |
| activate | nothing: the ticket of this id waits from now on |
| label | label and weight; the id is that of the ticket |
| learn | features, label, weight |
| rows | a list of examples |
| table | Arrow IPC stream; the labels are in the last column |
| expire | ids of tickets that have waited too long, and the label they are learned with, or none |
| forget | nothing: the ticket of this id is dropped |
| checkpoint, uncheckpoint | name of a checkpoint |
| mark | nothing: a snapshot is made of the state after this event |
| digest | number of a mark, and the digests of all models there |
| promote | nothing: the epoch of this and all later events is larger by one |
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import msgspec

HASH = 16  # bytes
START = bytes(HASH)  # chain before the first event
_HEAD = struct.Struct("<qqd")


class Event(msgspec.Struct, frozen=True, array_like=True):
    """An entry of the journal. ``chain`` is the hash of all events up to this one."""

    seq: int
    epoch: int
    time: float
    kind: str
    model: str
    id: str
    payload: bytes | None  # None: erased
    hash: bytes  # of the payload
    chain: bytes


class Example(msgspec.Struct, forbid_unknown_fields=True):
    """An example with its label, as events hold it."""

    features: dict[str, Any]
    label: str | int | float | bool
    weight: float = 1.0


class RawExample(msgspec.Struct, gc=False):
    """The same, with the features as JSON."""

    features: msgspec.Raw
    label: str | int | float | bool
    weight: float = 1.0


class Labeled(msgspec.Struct):
    """The payload of a label."""

    label: str | int | float | bool
    weight: float = 1.0


class Expired(msgspec.Struct):
    """The payload of an expiry; ``label`` is None or a list of one."""

    ids: list[str]
    label: list[Any] | None = None


class Spec(msgspec.Struct):
    """The payload of a creation."""

    model: dict[str, Any]


class Digests(msgspec.Struct):
    """The payload of a digest."""

    of: int
    models: dict[str, str]


class Named(msgspec.Struct):
    """The payload of an event about a checkpoint or a file."""

    name: str


encode = msgspec.json.Encoder().encode


def decoder(kind: Any) -> Any:
    return msgspec.json.Decoder(kind).decode


def digest_of(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=HASH).digest()


def event(last: bytes, seq: int, epoch: int, time: float, kind: str, model: str, id: str, payload: bytes) -> Event:
    """A new event after the one whose chain is ``last``."""
    mark = digest_of(payload)
    return Event(seq, epoch, time, kind, model, id, payload, mark, link(last, seq, epoch, time, kind, model, id, mark))


def link(last: bytes, seq: int, epoch: int, time: float, kind: str, model: str, id: str, mark: bytes) -> bytes:
    """The chain after an event."""
    text = f"{kind}\0{model}\0{id}".encode()
    return hashlib.blake2b(last + _HEAD.pack(seq, epoch, time) + mark + text, digest_size=HASH).digest()


def follows(last: bytes, one: Event) -> bool:
    """Whether an event is the next one after the chain ``last``."""
    return one.chain == link(last, one.seq, one.epoch, one.time, one.kind, one.model, one.id, one.hash)


def is_whole(one: Event) -> bool:
    """Whether the payload of an event is as it was written."""
    return one.payload is None or digest_of(one.payload) == one.hash
