"""Machines: what runs a fitted model, behind one interface for all kinds of models."""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import Source, copied, writable
from onlineboost.data.batch import Batch, Floats, Floats32, Ints32, cut, typed
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.engine.dicts import row_of
from onlineboost.engine.explaining import Explained
from onlineboost.engine.one_row import OneRow, Steps
from onlineboost.engine.record import Record, Settings
from onlineboost.engine.token import Token
from onlineboost.errors import ParameterError
from onlineboost.storage.validity import saved_arrays


class Machine(ABC):
    """All states that affect the next update, behind one interface for compiled learners and Python objects.

    ``examples`` are in the machine's own form, made by ``of_table``, ``of_batch`` or ``of_dict``.
    """

    settings: Settings
    record: Record
    n_jobs: int = 1  # number of threads
    away: Any = None  # an ``engine.remote.Away``, if learners may be elsewhere

    @abstractmethod
    def run(self, examples: Any, learning: bool) -> Floats:
        """Score every example before its label is used; with ``learning``, learn from it."""

    @abstractmethod
    def of_table(self, source: Source, y: Floats, weight: Floats, target: Classes) -> Iterator[Any]:
        """The rows of a table as examples, in parts that are run one after the other."""

    @abstractmethod
    def of_batch(self, batch: Batch, target: Classes) -> Iterator[Any]:
        """The rows of a batch as examples, in parts that are run one after the other."""

    @abstractmethod
    def of_dict(
        self, x: Mapping[Any, Any], columns: Columns, target: Classes, y: float, weight: float, learning: bool
    ) -> Any:
        """One dict as an example. With ``learning``, new names are remembered."""

    @property
    def n_classes(self) -> int:
        """Number of classes that it knows."""
        return 2

    @property
    @abstractmethod
    def n_slots(self) -> int:
        """Number of features with slots."""

    def check_classes(self, n: int) -> None:  # noqa: B027  most machines take any number
        """Raise an error for more classes than it can take."""

    @property
    def n_learnt(self) -> int:
        """Number of examples learnt."""
        return int(self.record.clock[0])

    @property
    def learners(self) -> Record:
        """The statistics of the weak learners, or of the parts."""
        return self.record

    @property
    @abstractmethod
    def sizes(self) -> list[Any]:
        """Numbers that decide the shapes of the states: of slots, of rows kept, of the room of the learners."""

    @abstractmethod
    def resize(self, sizes: list[Any]) -> None:
        """Give a new machine states of these sizes, to be filled in."""

    def check(self) -> None:  # noqa: B027  most states do not depend on each other
        """Raise an error unless the states fit together."""

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities of the positive label, or of all classes."""

    @abstractmethod
    def states(self) -> dict[str, Any] | None:
        """All states by name, each a NamedTuple of arrays; None if they are not made of arrays."""

    def arrays(self) -> dict[str, NDArray[Any]] | None:
        """Every array that does not follow from the parameters, by name; None if the states are not made of arrays."""
        states = self.states()
        if states is None:
            return None
        return {
            f"{part}.{name}": array for part, state in states.items() for name, array in saved_arrays(state).items()
        }

    def trimmed(self) -> Self:
        """The same machine without room that is not in use, as it is saved; it may share arrays."""
        return self

    def snapshot(self) -> Self:
        """A copy with arrays of its own."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            setattr(twin, name, value.snapshot() if isinstance(value, Machine) else copied(value))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("passes", "token", "n_jobs", "away")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy read-only arrays, such as those of a memory map: compiled code needs writable ones."""
        kept = {name: writable(value) for name, value in state.items()}
        self.__dict__.update(kept, passes=threading.local(), token=Token())

    def name_features(self, names: Mapping[int, str]) -> None:  # noqa: B027  most machines do not need names
        """Take in the names of features, by id."""

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        """Columns that the parameters name and that none of these features belongs to."""
        return []

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        """The names of the features learnt so far by slot, given names by id; a feature without a name has its id."""
        return {}

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        """Whether each feature was learnt."""
        return np.ones(ids.size, np.bool_)

    @property
    def n_features_seen(self) -> int | None:
        """Number of different features seen so far; None if the learners do not count them."""
        return None

    @property
    def n_strayed(self) -> int:
        """How often the values of a feature have left the range that its bins were made for."""
        return 0

    def strayed(self, names: Mapping[int, str]) -> list[str]:
        """The names of the features whose values have done so, given names by id."""
        return []

    def explain(self, examples: Any) -> Explained:
        """The scores of examples, as sums over their features."""
        raise NotImplementedError("Python objects do not say what their answers consist of")

    def importances(self) -> dict[int, float]:
        """The share of each feature in the influence on the answers, by id; empty if unknown, or nothing was learnt."""
        return {}

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """Name, number and strength of each feature that the committee uses, the strongest first; empty if unknown.

        ``names`` are those of features by id.
        """
        return []


_NEXT_TRY = 32  # rows
_LARGEST_SCORE = 1e45  # a million times the largest float32


class Said(NamedTuple):
    """What a machine has said of some rows: all that it must know later, to learn them as it would have then."""

    votes: Floats32  # [rows, learners of all parts] real votes; [rows, 0]: those of the time when they are needed
    scores: Floats  # [rows, answers] that of the machine first, then those of its parts; NaN of parts that rested

    def rows(self, start: int, stop: int) -> Said:
        return Said(self.votes[start:stop], self.scores[start:stop])

    @property
    def silent(self) -> bool:
        """Whether nothing was said."""
        return bool(np.isnan(self.scores).all() and np.isnan(self.votes).all())


def are_scores(scores: Floats) -> bool:
    """Whether these can be answers: sums of a million votes at most."""
    return bool((np.abs(scores) <= _LARGEST_SCORE).all())


class BatchMachine(Machine):
    """A machine whose examples are batches."""

    @abstractmethod
    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        """``Machine.run``. What is said of the rows is written into ``said``, or taken from it if they are learnt."""

    @property
    @abstractmethod
    def n_said(self) -> tuple[int, int]:
        """Number of votes and of answers that are said of a row."""

    @abstractmethod
    def could_say(self, said: Said) -> bool:
        """Whether this machine can have said this of rows; ``said`` has its numbers of votes, or none, and answers.

        Compiled code uses votes and answers without a check.
        """

    def ask(self, rows: Batch) -> Said:
        """What the machine says of rows."""
        votes, scores = self.n_said
        said = Said(np.full((rows.y.size, votes), np.nan, np.float32), np.full((rows.y.size, scores), np.nan))
        said.scores[:, : self.width] = self.run(rows, False, said).reshape(rows.y.size, -1)
        return said

    def fitting(self, said: Said) -> Said:
        """What was said, as it is read now: nothing, if there were fewer classes then."""
        votes, scores = self.n_said
        if said.scores.shape[1] == scores and said.votes.shape[1] in (0, votes):
            return said
        n = len(said.scores)
        return Said(np.empty((n, 0), np.float32), np.full((n, scores), np.nan))

    def tell(self, rows: Batch, said: Said) -> None:
        """Learn rows whose labels have come, by what was said of them."""
        told(self.run, rows, said, self.width)

    passes: Any  # what each thread keeps from row to row

    @property
    def width(self) -> int:
        """Number of scores of a row: one for each class, but one for two."""
        return self.n_classes if self.n_classes > 2 else 1

    def shape_of(self, rows: Batch) -> tuple[int, ...]:
        """The shape of the scores of rows."""
        return (rows.y.size,) if self.width == 1 else (rows.y.size, self.width)

    @property
    def leaves(self) -> tuple[Any, ...]:
        """Machines of compiled learners that take the same rows with slots for ids, by ``run_slotted``."""
        return ()

    def run_slotted(self, batch: Batch, learning: bool, said: Said | None = None) -> Floats:
        """``run`` on rows with slots for ids."""
        raise NotImplementedError

    def explain_slotted(self, rows: Batch) -> Explained:
        """``explain`` for rows with slots for ids."""
        raise NotImplementedError

    @property
    def out_of_slots(self) -> bool:
        """Whether all slots are taken: further features share them."""
        return False

    def elsewhere(self) -> Self:
        """A copy that learns on another machine, from rows with slots for ids."""
        return copy.copy(self)

    @abstractmethod
    def add_steps(self, steps: Steps, score: Floats) -> bool:
        """Add the calls that take one row through this machine and write its score; False if there is no such way."""

    def run_row(self, ids: Ints32, values: tuple[float, ...], y: float, weight: float, learning: bool) -> Any:
        """The answer to one row, which is learnt if asked; None if it must go the way of batches."""
        rows = self.passes.__dict__
        if self.away is not None or (learning and self.n_learnt < rows.get("next_try", 0)):
            return None
        key = "learn_one" if learning else "score_one"
        row: OneRow | None = rows.get(key)
        if row is None or not row.is_current(len(values)):
            size = 1 << (max(len(values), 8) - 1).bit_length()
            row = rows[key] = OneRow(self, learning, size)
        if not row.possible:
            if learning:  # it may be possible later: a young model grows old
                rows[key], rows["next_try"] = None, self.n_learnt + _NEXT_TRY
            return None
        if learning:
            row.y[0], row.weight[0] = y, weight
        return row.run(ids, values)

    @property
    @abstractmethod
    def max_slots(self) -> int:
        """Number of features that can have slots of their own."""

    @property
    @abstractmethod
    def gives_odds(self) -> bool:
        """Whether scores are log odds."""

    def go_to(self, example: int) -> None:
        """Go on at this example of the stream, after a time without rows: alarms are numbered by it."""

    def check_divisible(self) -> None:
        """Raise an error if this machine cannot be divided among several machines."""
        raise ParameterError("engine", "ray", "'threads': this model has nothing that can be divided")

    def go_away(self, away: Any) -> None:
        """Let learners learn elsewhere from now on, or here if ``away`` is None."""
        self.away = away

    def bring_back(self) -> None:
        """Take back what actors have learnt, if they have."""

    @property
    def may_alarm(self) -> bool:
        """Whether it may start over."""
        return False

    @property
    def n_alarms(self) -> int:
        """Number of alarms so far."""
        return 0

    def listen(self, notify: Callable[[Any], None]) -> None:
        """Tell of alarms by this function."""

    def tell_of(self, alarm: Any) -> None:
        """Tell of an alarm that was raised elsewhere."""

    def forget_alarms(self) -> None:
        """As if there had been none."""

    def alarms(self, since: int = 0) -> list[Any]:
        """The alarms from number ``since`` on, as far as they are kept."""
        return []

    def returned(self, before: Self) -> Self:
        """This machine, which was elsewhere, in the place of the one that had stayed here."""
        return self

    def of_table(self, source: Source, y: Floats, weight: Floats, target: Classes) -> Iterator[Batch]:
        for batch in source.batches(y, weight):
            yield from self.of_batch(batch, target)

    def of_batch(self, batch: Batch, target: Classes) -> Iterator[Batch]:
        yield typed(batch)

    def of_dict(
        self, x: Mapping[Any, Any], columns: Columns, target: Classes, y: float, weight: float, learning: bool
    ) -> Batch:
        batch, new = row_of(x, columns, learning, y, weight)
        if new:
            self.name_features(new)
        return batch


def told(run: Callable[..., Floats], rows: Batch, said: Said, width: int) -> Floats:
    """Learn rows of which a machine has said something, or nothing: then as if the label were there at once.

    Returns the scores of the machine: those given then, or those of now.
    """
    scores, silent = np.array(said.scores[:, :width]), np.isnan(said.scores[:, 0])
    ends = [0, *(np.flatnonzero(np.diff(silent)) + 1).tolist(), rows.y.size]
    for start, stop in pairwise(ends):
        mine = cut(rows, start, stop)
        if start < stop and silent[start]:
            scores[start:stop] = run(mine, True).reshape(-1, width)
        elif start < stop:
            run(mine, True, said.rows(start, stop))
    return scores
