"""A team of Ray's actors, which take batches one after the other and can be made again.

Each actor hands over its state at a checkpoint. If one dies, all are made again from the last checkpoint and get the
batches since then once more: since their work is deterministic, nothing changes. All of them, because an actor that
lives may have counted on one that died, or be past a checkpoint that the others did not reach.

References are handed over within lists, and actors fetch them. As an argument by itself, a result that is there already
ends this process if the actor dies at that moment (a check of Ray 2.60 fails).
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import numpy as np

from onlineboost.data.batch import Batch, without_rest
from onlineboost.errors import WorkerError

_TRIES = 3  # for each actor: how often the team is made again for the same batch
PATIENCE = 600.0  # seconds: an actor waits for a machine, starts, compiles
_SLOWER = 50  # a batch that takes so many times the longest so far will not end

Found = TypeVar("Found")


class Worker:
    """An actor. Arrays of the object store are copied: functions would be compiled again for such as are read-only."""

    def __init__(self, state: list[Any]) -> None:
        os.environ["ONLINEBOOST_QUIET"] = "1"
        self.work, self.done = pickle.loads(_fetched(state)[0]), 0

    def place(self) -> str:
        return f"process {os.getpid()} on {socket.gethostname()}"

    def run(self, number: int, given: list[Any], n_slots: int) -> Any:
        """Learn batch ``number``, which must be the next one: its rows, and the result of the actor before this one."""
        if number != self.done:
            raise RuntimeError(f"batch {number} came when {self.done} was expected")
        rows, *before = _fetched(given)
        found = self.work.run(Batch(*map(np.array, rows)), before[0][2] if before else None, n_slots)
        self.done += 1
        return found

    def state(self) -> bytes:
        from ray import cloudpickle  # which takes functions of the user too

        self.done = 0
        found: bytes = cloudpickle.dumps(self.work)
        return found


def _fetched(references: list[Any]) -> list[Any]:
    """In an actor. The result of an actor that has died is an error; one that never comes is noticed by the team."""
    import ray

    return ray.get(references)  # type: ignore[no-any-return]


@dataclass
class _Remote:
    """An actor, seen from here."""

    checkpoint: bytes  # its state, before the batches below
    actor: Any = None
    place: Any = None  # reference to its host and process
    results: list[Any] = field(default_factory=list)  # references, one for each batch since the checkpoint


class Team:
    """Actors of Ray that take batches one after the other; each may need the result of the one before it."""

    def __init__(self, ray: Any, states: list[bytes], chained: bool, workers: float) -> None:
        self.ray, self.chained = ray, chained
        share = min(1.0, int(1000 * workers / len(states)) / 1000)  # of a core
        self.kind = ray.remote(num_cpus=share, max_restarts=0)(Worker)
        self.remotes = [_Remote(state) for state in states]
        self.batches: list[
            list[tuple[Any, int]]
        ] = []  # since the checkpoint, for each actor: rows and numbers of slots
        self._heard = 0  # number of these batches whose results have come
        self._longest = 0.0  # seconds that an answer has taken
        self._failure: Exception | None = None  # why the team was given up
        for remote in self.remotes:
            self._make(remote)

    def _make(self, remote: _Remote) -> None:
        remote.actor, remote.results = self.kind.remote([self.ray.put(remote.checkpoint)]), []
        remote.place = remote.actor.place.remote()

    def send(self, rows: list[Batch], n_slots: list[int]) -> None:
        """Give a batch to all actors, the same rows or each its own."""
        known: dict[int, Any] = {}
        for batch in rows:
            if id(batch) not in known:
                known[id(batch)] = self.ray.put(tuple(without_rest(batch)))
        self.batches.append([(known[id(batch)], n) for batch, n in zip(rows, n_slots, strict=True)])
        self._ask(len(self.batches) - 1)

    def _ask(self, number: int) -> None:
        before: list[Any] = []
        for remote, (rows, n_slots) in zip(self.remotes, self.batches[number], strict=True):
            remote.results.append(remote.actor.run.remote(number, [rows, *before], n_slots))
            before = [remote.results[number]] if self.chained else []

    def results(self, number: int) -> list[Any]:
        """The results of all actors for a batch since the checkpoint."""
        return self._made_sure(lambda: self._hear(number), f"batch {number + 1}")

    def cut(self) -> list[bytes]:
        """The states of all actors, when all batches are done; from here on they can be made again from these."""

        def states() -> list[bytes]:
            if self._heard < len(self.batches):
                self._hear(len(self.batches) - 1)
            asked = [remote.actor.state.remote() for remote in self.remotes]
            return [self._get(k, state, "its state") for k, state in enumerate(asked)]

        found = self._made_sure(states, "the checkpoint")
        for remote, state in zip(self.remotes, found, strict=True):
            remote.checkpoint, remote.results = state, []
        self.batches, self._heard = [], 0
        return found

    def close(self) -> None:
        for remote in self.remotes:
            self.ray.kill(remote.actor)

    # ---- actors that die

    def _made_sure(self, ask: Callable[[], Found], what: str) -> Found:
        """The answer to a question; if an actor dies meanwhile, the team is made again and asked again."""
        if self._failure is not None:
            raise self._failure
        died = 0
        while True:
            try:
                return ask()
            except self.ray.exceptions.RayError as problem:
                died += 1
                failure = self._failure_of(problem, died, what)
                if failure is not None:
                    self._give_up(failure, problem)
            self._start_anew()

    def _failure_of(self, problem: Any, died: int, what: str) -> Exception | None:
        """The error to raise, if it does not help to make the team again."""
        while isinstance(problem, self.ray.exceptions.RayTaskError):
            problem = problem.cause
        if not isinstance(problem, self.ray.exceptions.RayError):  # of the work itself: it would come again
            return problem or WorkerError(f"a Ray worker failed at {what}")
        if died < _TRIES * len(self.remotes):
            return None
        return WorkerError(f"Ray workers died {died} times at {what}: {str(problem).strip().splitlines()[0]}")

    def _start_anew(self) -> None:
        """Make all actors again, whatever state they are in, and give them the batches since the checkpoint."""
        self.close()
        self._heard = 0
        for remote in self.remotes:
            self._make(remote)
        for number in range(len(self.batches)):
            self._ask(number)

    def _give_up(self, failure: Exception, problem: Exception) -> NoReturn:
        """Fail every later request at once with the same error: learning since the checkpoint is lost."""
        self._failure = failure
        self.close()
        raise failure from problem

    # ---- waiting

    def _hear(self, number: int) -> list[Any]:
        """Wait for one batch after the other, so that the limit holds for each."""
        for earlier in range(self._heard, number):
            self._results_of(earlier)
            self._heard = earlier + 1
        found = self._results_of(number)
        self._heard = max(self._heard, number + 1)
        return found

    def _results_of(self, number: int) -> list[Any]:
        what = f"batch {number + 1}"
        return [self._get(k, remote.results[number], what) for k, remote in enumerate(self.remotes)]

    def _get(self, k: int, reference: Any, what: str) -> Any:
        """An answer of actor k, within a limit."""
        began, limit = time.monotonic(), max(PATIENCE, _SLOWER * self._longest)
        try:
            found = self.ray.get(reference, timeout=limit)
        except self.ray.exceptions.GetTimeoutError as problem:
            late = f"Ray worker {k + 1} of {len(self.remotes)} has not answered for {limit:,.0f} s"
            states = "; ".join(map(self._state_of, range(len(self.remotes))))
            self._give_up(
                WorkerError(f"{late}: expected {what}. {states}. Train again from the last saved model"), problem
            )
        self._longest = max(self._longest, time.monotonic() - began)
        return found

    def _state_of(self, k: int) -> str:
        """Where an actor is, and at which batch since the checkpoint."""
        remote, sent = self.remotes[k], len(self.batches)
        if not self._is_there(remote.place):
            return f"Worker {k + 1} has not started: it waits for a free core of the cluster"
        try:
            place = self.ray.get(remote.place)
        except self.ray.exceptions.RayError:
            return f"Worker {k + 1} has died"
        done = sum(map(self._is_there, remote.results))
        state = f"Worker {k + 1} ({place}) has done {done} of {sent} batches"
        if done < sent and self.chained and k and not self._is_there(self.remotes[k - 1].results[done]):
            return f"{state} and waits for worker {k}"
        return f"{state} and is at work on batch {done + 1}" if done < sent else state

    def _is_there(self, reference: Any) -> bool:
        return bool(self.ray.wait([reference], timeout=0)[0])
