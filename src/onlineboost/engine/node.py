"""Nodes: a fitted model is a tree of them. ``program.py`` runs them."""

from __future__ import annotations

import copy
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import copied, writable
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.engine.features import Features
from onlineboost.errors import ParameterError
from onlineboost.loop.record import Record, Settings
from onlineboost.storage.validity import saved_arrays

if TYPE_CHECKING:
    from onlineboost.engine.stage import Stage
    from onlineboost.loop.explaining import Explained

NEVER = 1 << 62  # rows
_LARGEST_SCORE = 1e45  # a million times the largest float32
_NOT_KEPT = "prepared", "own_programs", "version", "n_jobs", "away"  # by copies and files


class Prepared:
    """The programs that threads keep from row to row, as long as no state of the model is replaced.

    Programs know nodes, and whoever has the root owns them; nodes know them by a weak reference. So a state that was
    replaced, and a model that is given up, are freed at once: they are large.
    """

    def __init__(self, root: Node) -> None:
        self.of_thread: Any = threading.local()
        self.states = object()  # changes whenever a state is replaced
        self.past: dict[int, list[Any]] = {}  # of stages that threads share, by their number: ``schedule.Past``
        for node in root.walk():
            node.prepared = weakref.ref(self)

    def renew(self) -> None:
        """Drop all programs, which have addresses of replaced states."""
        self.of_thread, self.states = threading.local(), object()


def _nothing() -> None:
    """In the place of a weak reference."""


class PastAnswers(NamedTuple):
    """The answers of all nodes to some rows: enough to learn the rows later, as at the time of the answers."""

    votes: Floats32  # [rows, learners of all committees] real votes; [rows, 0]: those of the time when they are learned
    scores: Floats  # [rows, scores of all nodes] those of a node before those of its children; NaN of paused ones

    def rows(self, start: int, stop: int) -> PastAnswers:
        return PastAnswers(self.votes[start:stop], self.scores[start:stop])


def of_part(name: str) -> Any:
    """An attribute or method that a node takes from its first part."""
    return property(lambda node: getattr(node.parts[0], name))


class Node(Features, ABC):
    """A node of a model: states that affect the next update, and the compiled calls that rows pass.

    A leaf is a committee of weak learners. Other nodes have children, and make their answer from those of the children.
    """

    compiled = True  # unlike Python objects
    young: bool = False  # rows are held back
    settings: Settings
    record: Record
    parts: tuple[Any, ...]  # children
    n_jobs: int = 1  # number of threads
    away: Any = None  # an ``engine.remote.Away``, if learners may be on other machines
    prepared: Callable[[], Prepared | None] = staticmethod(_nothing)  # programs that have addresses of the states
    version: Any = None  # changes whenever a state of this node is replaced

    # ---- rows

    @abstractmethod
    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        """Add the calls that take rows with targets y through this node, and write scores to out, [rows, width]."""

    def replace(self, **states: Any) -> None:
        """Replace states by others, such as larger ones; the only way to do so."""
        vars(self).update(states)
        self.version = object()
        prepared = self.prepared()
        if prepared is not None:
            prepared.renew()

    def use_threads(self, n: int) -> None:
        """Learn on this number of threads, divided by parts, or by learners if there is one part."""
        if n != self.n_jobs:
            self.n_jobs = n
            self.replace()
        if len(self.parts) == 1:
            self.parts[0].use_threads(n)

    @property
    def divides(self) -> bool:
        """Whether its parts are divided among threads."""
        return self.n_jobs > 1 and len(self.parts) > 1

    def countdown(self, longest: int = NEVER) -> int:
        """Number of rows to be learned before the node must be asked (``look``).

        If they have at most ``longest`` entries each, it need not be asked where the answer is known: nothing changes.
        That holds as long as the rows do not take the last slots (``lacks_slots``).
        """
        return min((part.countdown(longest) for part in self.parts), default=NEVER)

    @property
    def lacks_slots(self) -> bool:
        """Whether features share slots in so many parts that it may decide otherwise."""
        return any(part.lacks_slots for part in self.parts)

    def look(self) -> None:
        """Make the decisions that are due after so many rows."""
        for part in self.parts:
            part.look()

    @property
    def n_classes(self) -> int:
        """Number of classes that it knows."""
        return 2

    @property
    def width(self) -> int:
        """Number of scores of a row: one for each class, but one for two."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def n_learned(self) -> int:
        """Number of examples learned."""
        return int(self.record.clock[0])

    @property
    def learners(self) -> Record:
        """The statistics of the weak learners, or of the parts."""
        return self.record

    @property
    @abstractmethod
    def gives_odds(self) -> bool:
        """Whether scores are log odds."""

    @property
    def gives_chances(self) -> bool:
        """Whether scores alone determine probabilities, without a learned temperature."""
        return self.gives_odds and self.width == 1

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities of place 1, or of all classes, given scores [rows, width]."""

    def check_classes(self, n: int) -> None:
        """Raise an error for more classes than it can take."""

    # ---- delayed labels

    @property
    def n_answers(self) -> tuple[int, int]:
        """Numbers of votes and of scores of a row in ``PastAnswers``."""
        pairs = [part.n_answers for part in self.parts]
        return sum(votes for votes, _ in pairs), self.width + sum(scores for _, scores in pairs)

    def could_answer(self, answers: PastAnswers) -> bool:
        """Whether these can be past answers of this node; compiled code does not check them."""
        votes, scores = 0, self.width
        for k, part in enumerate(self.parts):
            n, m = part.n_answers
            share = PastAnswers(answers.votes[:, votes : votes + n], answers.scores[:, scores : scores + m])
            silent = bool(np.isnan(share.scores).all() and np.isnan(share.votes).all())
            if not (part.could_answer(share) or (silent and self.may_be_silent(k))):
                return False
            votes, scores = votes + n, scores + m
        return bool((np.abs(answers.scores[:, : self.width]) <= _LARGEST_SCORE).all())

    def may_be_silent(self, k: int) -> bool:
        """Whether part k may give no answer; its votes and scores are then NaN."""
        return False

    def fitting(self, answers: PastAnswers) -> PastAnswers:
        """Past answers of the present shape; none, if there were fewer classes then."""
        votes, scores = self.n_answers
        if answers.scores.shape[1] == scores and answers.votes.shape[1] in (0, votes):
            return answers
        n = len(answers.scores)
        return PastAnswers(np.empty((n, 0), np.float32), np.full((n, scores), np.nan))

    # ---- states and files

    @abstractmethod
    def own_states(self) -> dict[str, Any]:
        """The states of this node alone by name, each a NamedTuple of arrays."""

    def states(self) -> dict[str, Any]:
        """All states by name; slots that parts share are there once."""
        found = self.own_states()
        seen: set[int] = set()
        for k, part in enumerate(self.parts):
            for name, state in part.states().items():
                if not hasattr(state, "bound") or id(state) not in seen:
                    found[f"part{k}.{name}"] = state
                    seen.add(id(state))
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array that does not follow from the parameters, by name."""
        states = self.states().items()
        return {f"{part}.{name}": array for part, state in states for name, array in saved_arrays(state).items()}

    @property
    def sizes(self) -> list[Any]:
        """Numbers that decide the shapes of the states: of slots, of rows kept, of the room of the learners."""
        return [part.sizes for part in self.parts]

    def resize(self, sizes: list[Any]) -> None:
        """Give a new node states of these sizes, to be filled in."""
        for part, size in zip(self.parts, sizes, strict=True):
            part.resize(size)
        self.share_slots()

    def check(self) -> None:
        """Raise an error unless the states fit together."""
        for part in self.parts:
            part.check()

    def trimmed(self) -> Self:
        """The same node without room that is not in use, as it is saved; it may share arrays."""
        self.bring_back()
        twin = copy.copy(self)
        if self.parts:
            twin.parts = tuple(part.trimmed() for part in self.parts)
        return twin

    def without_rows(self) -> Self:
        """``trimmed``, without the rows that learners keep to learn them more than once."""
        twin = self.trimmed()
        for leaf in twin.committees:
            leaf.committee = leaf.learner.without_rows(leaf.committee)
        return twin

    @property
    def n_kept(self) -> int:
        """Number of rows that a learner keeps to learn them again."""
        return max((leaf.learner.n_kept(leaf.committee) for leaf in self.committees), default=0)

    def snapshot(self) -> Self:
        """A copy with arrays of its own."""
        self.bring_back()
        twin = copy.copy(self)
        vars(twin).update(
            {name: copied(value) for name, value in vars(self).items() if name not in ("parts", *_NOT_KEPT)}
        )
        twin.prepared = _nothing
        if self.parts:
            twin.parts = tuple(part.snapshot() for part in self.parts)
            twin.share_slots()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_KEPT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy read-only arrays, such as those of a memory map: compiled code needs writable ones."""
        vars(self).update({name: writable(value) for name, value in state.items()})

    # ---- explanations

    @abstractmethod
    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        """The scores of rows, as sums over their features; ``batches`` has the rows of each leaf, by its ``id``."""

    @abstractmethod
    def importances(self) -> dict[int, float]:
        """The share of each feature in the influence on the answers, by id; empty if unknown or before learning."""

    @abstractmethod
    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """Name, number and strength of each feature that the committees use, the strongest first; empty if unknown.

        ``names`` are those of features by id.
        """

    # ---- alarms

    @property
    def may_alarm(self) -> bool:
        """Whether it may be reset by drift."""
        return any(part.may_alarm for part in self.parts)

    @property
    def n_alarms(self) -> int:
        """Number of alarms so far."""
        return sum(part.n_alarms for part in self.parts)

    def alarms(self, since: int = 0) -> list[Any]:
        """The alarms from number ``since`` on, as far as they are kept."""
        found = [alarm for part in self.parts for alarm in part.alarms()]
        return sorted(found, key=lambda alarm: alarm.example)

    def forget_alarms(self) -> None:
        """Reset the alarms."""
        for part in self.parts:
            part.forget_alarms()

    def listen(self, notify: Callable[[Any], None]) -> None:
        """Call this function on alarms."""
        for part in self.parts:
            part.listen(notify)

    def announce(self, alarm: Any) -> None:
        """Report an alarm that was raised on another machine."""
        next(part for part in self.parts if part.may_alarm).announce(alarm)

    def go_to(self, example: int) -> None:
        """Continue at this example of the stream after a pause: alarms are numbered by it."""
        for part in self.parts:
            part.go_to(example)

    # ---- other machines

    def check_divisible(self) -> None:
        """Raise an error if this node cannot be divided among several machines."""
        raise ParameterError("engine", "ray", "'threads': this model has nothing that can be divided")

    learns_away = False
    """Whether the whole node learns on other machines, by ``learn_away``."""

    def learn_away(self, rows: Batch) -> Floats:
        """The scores of the first rows, which other machines learn, [rows, width]."""
        raise NotImplementedError

    def go_away(self, away: Any) -> None:
        """Let learners learn on other machines from now on, or here if ``away`` is None."""
        self.away = away
        self.replace()

    def bring_back(self) -> None:
        """Take back the states from other machines, if they have any."""
        for part in self.parts:
            part.bring_back()

    def grow(self, n_features: int) -> None:
        """Make room for more features, on another machine: rows come with slots there."""
        for leaf in self.leaves:
            leaf.grow(n_features)

    def elsewhere(self) -> Self:
        """A copy that learns on another machine, from rows with slots for ids."""
        twin = copy.copy(self)
        twin.prepared, twin.away = _nothing, None
        if self.parts:
            twin.parts = tuple(part.elsewhere() for part in self.parts)
        return twin

    def returned(self, before: Self) -> Self:
        """This node, back from another machine, in the place of the old one here."""
        self.parts = tuple(part.returned(old) for part, old in zip(self.parts, before.parts, strict=True))
        return self
