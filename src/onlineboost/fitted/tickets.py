"""Tickets: predicted rows whose labels have not come yet.

``ask`` predicts a row and keeps the prediction; ``tell`` learns the row when its label comes, and metrics count that
prediction. A ticket is data: the row, eight bytes for each score, a number, a time, and with ``votes="then"`` four
bytes for each vote; signed by the model. The model keeps the bytes of pending tickets, and saves them in its file.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Batch
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.errors import ParameterError, TicketError
from onlineboost.fitted.asked import HEAD, LAST, SIGNATURE, Asked, Names, parsed, written
from onlineboost.forks import new_lock
from onlineboost.parameters import brief, check_one_of, check_whole, fits_json

Votes = Literal["now", "then"]
MAX_PENDING = 1_000_000  # default maximum of pending tickets
_MODEL, _SECRET = 8, 16  # bytes


@dataclass(frozen=True)
class Ticket:
    """A prediction whose label is delayed: ``model.tell(ticket, y)`` when it comes.

    ``bytes(ticket)`` contains all of it and may be stored anywhere: ``model.tell`` takes these bytes as well.

    Parameters
    ----------
    number : int
        Number of the ticket.
    prediction : label
        The predicted label, or number.
    probability : float
        Probability of the positive label; with more than two classes, of the predicted label.
    data : bytes
        The ticket as bytes.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> model = Linear()
    >>> model.learn_one({"size": 1.0}, 1)
    >>> model.ask({"size": 2.0}).number
    0
    """

    number: int
    prediction: Any
    probability: float
    data: bytes = field(repr=False)

    def __bytes__(self) -> bytes:
        return self.data


class Pending:
    """Pending tickets: predictions that wait for their delayed labels, with limits for their number and age.

    Parameters
    ----------
    max_pending : int, default=1000000
        Maximum number of pending tickets; beyond it the oldest expire. The model also remembers as many labeled tickets
        of its other copies, so that none is labeled twice.
    max_age : float or None, default=None
        Maximum age of a ticket, in the unit of ``ask(..., time=)``, or in requested rows if no times are given; None:
        no limit.
    on_expire : "drop" or tuple, default="drop"
        Action for expired tickets: "drop" them, or learn them with a label, as in ``on_expire=("label", 0)``.
    votes : {"now", "then"}, default="now"
        Votes that determine the weights of the learners: at the time of the label ("now"), or of the ticket ("then":
        four more bytes per learner, and less accurate if labels are very late).

    Examples
    --------
    >>> from onlineboost import Linear, Pending
    >>> model = Linear()
    >>> model.learn_one({"size": 1.0}, 1)
    >>> model.pending = Pending(max_pending=2)
    >>> tickets = [model.ask({"size": k}) for k in range(5)]
    >>> len(model.pending)
    2
    """

    def __init__(
        self,
        max_pending: int = MAX_PENDING,
        max_age: float | None = None,
        on_expire: Any = "drop",
        votes: Votes = "now",
    ) -> None:
        check_one_of("votes", votes, ("now", "then"))
        self.max_pending = check_whole("max_pending", max_pending, 1, 1 << 40)
        self.max_age, self.on_expire = max_age, on_expire
        self.votes = votes
        if max_age is not None and not (is_finite(max_age) and max_age >= 0):
            raise ParameterError("max_age", max_age, "a finite number of at least 0, or None")
        labeled = isinstance(on_expire, tuple | list) and len(on_expire) == 2 and on_expire[0] == "label"
        dropped = isinstance(on_expire, str) and on_expire == "drop"
        if not dropped and not (labeled and fits_json(on_expire[1])):
            raise ParameterError("on_expire", on_expire, "'drop', or ('label', y)")
        self.model, self.secret = secrets.token_bytes(_MODEL), secrets.token_bytes(_SECRET)
        self.run = secrets.randbits(62)  # copies of a model issue tickets of the same numbers
        self.past: dict[int, int] = {}  # by run: the next numbers of the copies that this one was made from
        self.next = 0  # number of the next ticket
        self.waiting: OrderedDict[int, bytes] = OrderedDict()  # by number; finds the oldest faster than a dict
        self.early: OrderedDict[str, None] = OrderedDict()  # signatures of labeled tickets of other copies
        self.lock = new_lock()

    def __len__(self) -> int:
        return len(self.waiting)

    def __repr__(self) -> str:
        bounds = f"max_pending={self.max_pending}, max_age={self.max_age}, on_expire={self.on_expire!r}"
        return f"Pending({bounds}), {len(self):,} waiting"

    def __iter__(self) -> Iterator[int]:
        """The numbers of the pending tickets, the oldest first."""
        return iter([*self.waiting])

    def __getitem__(self, number: int) -> bytes:
        """The bytes of a pending ticket."""
        if not isinstance(number, int) or number not in self.waiting:
            raise TicketError(
                f"ticket {brief(number)} is not pending: it was labeled before, has expired, or was never issued"
            )
        return self.waiting[number]

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            kept = {"waiting": self.waiting.copy(), "early": self.early.copy()}
            return {name: value for name, value in vars(self).items() if name != "lock"} | kept

    def frozen(self) -> Pending:
        """The same tickets of the same run, for a model file."""
        twin = Pending.__new__(Pending)
        twin.__dict__.update(self.__getstate__(), lock=new_lock())
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=new_lock())
        self._begin()

    def _begin(self) -> None:
        """Begin a run of its own, as a copy."""
        self.past = self.past | {self.run: self.next}
        self.run = secrets.randbits(62)

    # ---- issuing and labeling

    def kept(self, answers: PastAnswers) -> PastAnswers:
        """The part of past answers that tickets keep."""
        return answers if self.votes == "then" else answers._replace(votes=answers.votes[:, :0])

    def give(self, row: Batch, answers: PastAnswers, names: Names, time: float | None) -> tuple[int, bytes]:
        """A new ticket for a row: its number and its bytes."""
        with self.lock:
            number = self.next
            if number >= LAST:
                raise TicketError("the model has no numbers left for tickets: fit it again")
            at = float(number) if time is None else float(time)
            body = written(self.model, number, at, self.run, row, answers, names)
            data = body + self._signature(body)
            self.next += 1
            self.waiting[number] = data
            return number, data

    def due(self, time: float | None) -> list[bytes]:
        """Take out the tickets that have expired by now."""
        with self.lock:
            return [self.waiting.pop(number) for number in [*self._expired(time)]]

    def is_due(self, time: float | None) -> bool:
        """Whether a ticket has expired by now."""
        with self.lock:
            return any(True for _ in self._expired(time))

    def _expired(self, time: float | None) -> Iterator[int]:
        """The numbers of the tickets that have expired by now."""
        now = float(self.next) if time is None else float(time)
        for n, (number, data) in enumerate(self.waiting.items()):
            old = self.max_age is not None and now - HEAD.unpack_from(data)[2] > self.max_age
            if not old and len(self.waiting) - n <= self.max_pending:
                return
            yield number

    def read(self, data: Any, node: Node, longest: int | None) -> Asked:
        """The contents of a valid ticket of this model; ``longest`` is the maximum number of features of a row."""
        if not isinstance(data, Ticket | bytes | bytearray | memoryview):
            raise TicketError(f"{brief(data)} is not a ticket: expected a ticket of ask, or its bytes")
        data = bytes(data)
        if len(data) < HEAD.size + SIGNATURE:
            raise TicketError("the ticket is too short: expected the bytes of a ticket of this model")
        if data[:8] != self.model:
            raise TicketError("the ticket was issued by another model: call tell of the model that issued it")
        if not secrets.compare_digest(self._signature(data[:-SIGNATURE]), data[-SIGNATURE:]):
            raise TicketError("the ticket was changed or damaged: expected its bytes as issued")
        asked = parsed(data, node, longest)
        self.check(asked)
        return asked

    def check(self, asked: Asked) -> None:
        """Raise an error for a ticket that was labeled before, or has expired."""
        given = self.next if asked.run == self.run else self.past.get(asked.run, 0)
        if asked.mark.hex() in self.early or (not self._waits(asked) and asked.number < given):
            raise TicketError(f"ticket {asked.number} was labeled before, or has expired")

    def _waits(self, asked: Asked) -> bool:
        return self.waiting.get(asked.number, b"")[-SIGNATURE:] == asked.mark

    def take(self, asked: Asked) -> None:
        """Note that a ticket was labeled. A ticket of another copy of the model is remembered by its signature."""
        with self.lock:
            if self._waits(asked):
                del self.waiting[asked.number]
            else:
                self.early[asked.mark.hex()] = None
                if len(self.early) > self.max_pending:
                    self.early.popitem(last=False)

    def anew(self) -> Pending:
        """No tickets, with the same bounds."""
        return Pending(self.max_pending, self.max_age, self.on_expire, self.votes)

    def _signature(self, body: bytes) -> bytes:
        return hashlib.blake2b(body, digest_size=SIGNATURE, key=self.secret).digest()

    # ---- model files

    def describe(self) -> dict[str, Any]:
        """As JSON, without the tickets themselves."""
        names = "max_pending", "max_age", "on_expire", "votes", "next"
        keys: dict[str, Any] = {"model": self.model.hex(), "secret": self.secret.hex(), "early": [*self.early]}
        keys["past"] = [[run, number] for run, number in (self.past | {self.run: self.next}).items()]
        return {name: getattr(self, name) for name in names} | keys

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The pending tickets, one after the other, and the size of each."""
        with self.lock:
            tickets = [*self.waiting.values()]
        sizes = np.array([len(data) for data in tickets], np.int64)
        return {"pending.sizes": sizes, "pending.tickets": np.frombuffer(b"".join(tickets), np.uint8)}

    @classmethod
    def restore(cls, facts: Any, arrays: dict[str, NDArray[Any]], node: Node, longest: int | None) -> Pending:
        """The saved tickets; raises a ValueError if they are invalid."""
        fate = facts["on_expire"]
        fate = tuple(fate) if isinstance(fate, list) else fate
        found = cls(facts["max_pending"], facts["max_age"], fate, facts["votes"])
        found.model, found.secret = bytes.fromhex(facts["model"]), bytes.fromhex(facts["secret"])
        if (len(found.model), len(found.secret)) != (_MODEL, _SECRET):
            raise ValueError("the model and the secret of tickets have other sizes")
        found.next = check_whole("next", facts["next"], 0, LAST)
        early = facts["early"]
        if not isinstance(early, list) or not all(isinstance(mark, str) for mark in early):
            raise ValueError("the signatures of tickets are not strings")
        found.early = OrderedDict.fromkeys(early)
        found.past = {check_whole("run", run, 0, LAST): check_whole("next", n, 0, LAST) for run, n in facts["past"]}
        sizes, content = arrays["pending.sizes"], arrays["pending.tickets"].tobytes()
        whole = sizes.ndim == 1 and sizes.dtype == np.int64 and int(sizes.sum()) == len(content)
        if not whole or ((sizes < HEAD.size + SIGNATURE) | (sizes > len(content))).any():
            raise ValueError("the sizes of the tickets do not match")
        end, last = 0, -1
        for size in sizes.tolist():
            data, end = content[end : end + size], end + size
            number = int(HEAD.unpack_from(data)[1])
            if not last < number < found.next:
                raise ValueError("the tickets are not in their order")
            found.waiting[number] = data
            found.read(data, node, longest)
            last = number
        return found


def is_finite(number: object) -> bool:
    """Whether this is a number that a float can hold."""
    return isinstance(number, int | float) and abs(number) <= sys.float_info.max
