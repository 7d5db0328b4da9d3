"""A committee of compiled learners and its booster: the leaf of every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from onlineboost.data.allocation import planning
from onlineboost.data.batch import Batch, Floats, Ints, Ints32
from onlineboost.engine import replay
from onlineboost.engine.groups import Groups
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.engine.passage import Passage
from onlineboost.engine.remote import RoundsAway
from onlineboost.engine.replay import Kept
from onlineboost.engine.rounds import Rounds
from onlineboost.engine.stage import Stage
from onlineboost.errors import ParameterError
from onlineboost.loop import adwin, loop
from onlineboost.loop.adwin import NoWatch, Watch
from onlineboost.loop.explaining import Explained, as_shares, can_explain, explained
from onlineboost.loop.heads import Head, VoteHead, probabilities
from onlineboost.loop.link import Alone
from onlineboost.loop.loop import Mode
from onlineboost.loop.record import Record, Settings, new_record
from onlineboost.parameters import check_whole
from onlineboost.storage.validity import require
from onlineboost.transforms.bins import LEFT, MET, STRAYED
from onlineboost.transforms.chain import Origins, Transforms, output_names
from onlineboost.transforms.indicators import IndicatorsState
from onlineboost.transforms.slots import Slots, new_slots
from onlineboost.transforms.tokens import TokensState

_REPLAYING = Mode(True, True, False)


@dataclass
class Committee(Node):
    """A committee of compiled learners and its booster, with slots, transforms and rows to replay."""

    finish: ClassVar[Any] = staticmethod(loop.finish)
    parts: ClassVar[tuple[Any, ...]] = ()  # type: ignore[misc]

    settings: Settings
    learner: Any  # the weak learner of the committee
    committee: Any
    booster: Any
    head: Head
    record: Record
    transforms: Transforms = ()
    slots: Slots | None = None  # of features; None: rows have slots for ids already
    watch: NoWatch | Watch = adwin.NO_WATCH  # resets learners whose error rises
    kept: Kept = replay.NOTHING  # the first rows, while they are replayed
    names: dict[int, str] = field(default_factory=dict)  # of features by id, if the learner needs them
    n_grown: int = 0  # number of slots, if rows have them already

    # ---- rows

    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        mode = stage.mode
        if mode.learning:  # a committee that was trimmed gets its room back
            empty = Batch(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), y[:0], y[:0])
            self.replace_if_new(committee=self.learner.with_room_for(self.committee, empty)[0])
        Passage(self, stage, stage.slotted(self, y), out)

    def rounds(self, stage: Stage, batch: Batch, out: Floats, rows: Ints, longest: int) -> Rounds:
        """The calls for rows after all transforms."""
        many = stage.table.capacity > 1 and stage.mode == Mode(True, False, False) and self.settings.scan
        if many and self.away is not None and self.is_old:
            return RoundsAway(self, stage, batch, out, rows, longest)
        divisible = self.learner.axes and self.settings.n_learners > self.learner.grain
        if many and self.n_jobs > 1 and divisible and isinstance(self.watch, NoWatch):
            return Groups(self, stage, batch, out, rows, longest)
        return Rounds(self, stage, batch, out, rows, longest)

    @property
    def is_old(self) -> bool:
        """Whether replays and pauses are over."""
        return bool(self.record.clock[0] >= self.youth)

    @property
    def youth(self) -> int:
        """Number of first rows with replays and pauses."""
        return int(max(replay.last(self.learner.replay), self.learner.youth))

    def replace_if_new(self, **states: Any) -> None:
        """Replace the states that have changed."""
        new = {name: value for name, value in states.items() if getattr(self, name) is not value}
        if new:
            self.replace(**new)

    def keep_rows(self, rows: Batch) -> None:
        """Keep learned rows of a young stream, and replay all of them if that is due."""
        from onlineboost.engine.program import run_slotted

        most, seen = replay.last(self.learner.replay), self.n_learned
        kept = self.kept.with_rows(rows)
        if most and kept.y.size > self.kept.y.size:
            self.kept = kept
            if replay.is_due(seen, most):
                run_slotted(self, kept.reordered(seen), _REPLAYING, replay.last(most))
            if seen >= most:
                self.kept = type(kept)(*replay.NOTHING)

    @property
    def leaves(self) -> tuple[Committee, ...]:
        return (self,)

    @property
    def n_answers(self) -> tuple[int, int]:
        return self.settings.n_learners, self.width

    def could_answer(self, answers: PastAnswers) -> bool:
        return super().could_answer(answers) and bool(np.isfinite(answers.votes).all())

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        self.bring_back()
        if not can_explain(self):
            name = type(self.learner).__name__
            raise ParameterError("estimator", self.learner, f"a learner that explains its votes: {name} has no explain")
        return explained(self, batches[id(self)])

    # ---- slots

    def take(self, slots: Slots, batch: Batch) -> None:
        """Use slots with new ones for features of the batch, and make room for them in all states."""
        self.grow(int(slots.used[0]))
        self.replace_if_new(slots=slots)
        if self.learner.needs_names():
            self._name(np.unique(batch.indices[batch.indptr[0] : batch.indptr[-1]]))

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        grown = [transform.grown(n_features) for transform in self.transforms]
        pairs: Any = zip(grown, self.transforms, strict=True)
        if any(new is not old for states in pairs for new, old in zip(*states, strict=True)):
            self.replace(transforms=tuple(grown))
        self.replace_if_new(committee=self.learner.grow(self.committee, n_features))
        if self.slots is None:
            self.n_grown = n_features

    def enlarge(self) -> None:
        """Make room that is due after a row."""
        committee, transforms = self.learner.enlarged(self.committee, self.transforms)
        if committee is not self.committee:
            self.replace(committee=committee, transforms=transforms)

    def succeeded_by(self, fresh: Committee) -> None:
        """Let a new committee begin at this row of the stream, with the features known so far."""
        fresh.slots, fresh.names = self.slots, self.names
        fresh.grow(self.n_slots)
        pairs = zip(self.transforms, fresh.transforms, strict=True)
        if not planning():
            fresh.transforms = tuple(new.continued(old) for old, new in pairs)

    @property
    def capacity(self) -> int:
        """Number of slots with room, if new slots need nothing else."""
        return 0 if self.transforms or self.learner.needs_names() else int(self.learner.capacity(self.committee))

    @property
    def n_slots(self) -> int:
        return int(self.slots.used[0]) if self.slots is not None else self.n_grown

    @property
    def max_slots(self) -> int:
        return self.slots.bound if self.slots is not None else 0

    @property
    def out_of_slots(self) -> bool:
        return self.n_slots == self.max_slots

    # ---- states and files

    def own_states(self) -> dict[str, Any]:
        parts = {"record": self.record, "committee": self.committee, "booster": self.booster, "head": self.head}
        parts |= {"kept": self.kept}
        parts |= {"slots": self.slots} if self.slots is not None else {}
        parts |= {f"transform{number}": transform for number, transform in enumerate(self.transforms)}
        parts |= {"watch": self.watch}
        fields = ((part, pair) for part, state in parts.items() for pair in zip(state._fields, state, strict=True))
        return parts | {f"{part}.{name}": inner for part, (name, inner) in fields if hasattr(inner, "_fields")}

    @property
    def sizes(self) -> list[Any]:
        return [self.n_slots, self.kept.sizes, [*self.learner.room(self.committee)]]

    def resize(self, sizes: list[Any]) -> None:
        assert self.slots is not None
        slots, kept, room = sizes
        self.slots = self.slots.grown(check_whole("slots", slots, 0, self.slots.bound))
        self.grow(slots)
        self.kept = replay.planned_rows(kept, self.learner.replay, type(self.kept))
        self.committee = self.learner.in_room(self.committee, room)
        self.transforms = self.learner.transforms_in(self.transforms, self.committee)

    def check(self) -> None:
        bins = self.learner.bins_of(self.committee, self.transforms)
        require(bins is None or bins.clock[MET] <= self.n_slots, "bins.clock", "slots in use")
        for transform in self.transforms:
            if isinstance(transform, TokensState):
                transform.check_bins()
        if hasattr(self.committee, "nodes"):  # of trees: 1 + the slot that a node splits by
            require(self.committee.nodes[..., 0].max(initial=0) <= self.n_slots, "nodes", "splits by slots in use")
        if self.kept.indices.size:
            require(self.kept.indices.max() < self.n_slots, "kept.indices", "slots in use")
        self.kept.check_labels(self.n_classes)
        self.learner.check_states(self.committee)

    def trimmed(self) -> Self:
        twin = super().trimmed()
        twin.committee = self.learner.trimmed(self.committee)
        return twin

    def snapshot(self) -> Self:
        return super(Committee, self.trimmed()).snapshot()

    # ---- features

    def name_features(self, names: Mapping[int, str]) -> None:
        if self.learner.needs_names():
            self.names.update(names)
            self._name(np.array([*names], np.int32))

    def _name(self, ids: Ints32) -> None:
        """Give the learner the names of features that have slots."""
        assert self.slots is not None
        found = zip(self.slots.find(ids).tolist(), ids.tolist(), strict=True)
        names = {slot: self.names.get(id, str(id)) for slot, id in found if slot >= 0}
        self.learner.name_features(self.transforms, names)

    @property
    def n_left(self) -> int:
        """Number of times that values of a feature have left the range of its bins."""
        bins = self.learner.bins_of(self.committee, self.transforms)
        return int(bins.clock[STRAYED]) if bins is not None else 0

    def names_left(self, names: Mapping[int, str]) -> list[str]:
        """The names of these features."""
        bins = self.learner.bins_of(self.committee, self.transforms)
        slots = np.flatnonzero(bins.counts[:, LEFT]).tolist() if bins is not None else []
        known = self.names_met(names) if slots else {}
        return [known.get(slot, str(slot)) for slot in slots]

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        strengths = self.learner.strengths(self.committee, self.settings.n_learners)
        if strengths is None:
            return []
        known = output_names(self.transforms, self.names_met(names))
        order = np.argsort(-np.abs(strengths), kind="stable").tolist()
        return [(known.get(j, str(j)), j, float(strengths[j])) for j in order if strengths[j] != 0]

    def importances(self) -> dict[int, float]:
        strengths = self.learner.strengths(self.committee, self.settings.n_learners)
        if strengths is None or self.slots is None:
            return {}
        ids = self.slots.ids().tolist()
        origins: Origins = {slot: (slot,) for slot in range(len(ids))}
        for transform in self.transforms:
            origins = transform.origins(origins)
        found: dict[int, float] = {}
        for number in np.flatnonzero(strengths).tolist():
            for slot in origins.get(number, ()):
                share = abs(float(strengths[number])) / len(origins[number])
                found[ids[slot]] = found.get(ids[slot], 0.0) + share
        return as_shares(found)

    # ---- answers

    @property
    def gives_odds(self) -> bool:
        alone = isinstance(self.booster, Alone) and self.learner.gives_odds
        return alone or not isinstance(self.head, VoteHead)

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head, scores)

    # ---- other machines

    def check_divisible(self) -> None:
        simple = not any(isinstance(transform, IndicatorsState) for transform in self.transforms)
        still = not self.may_alarm and isinstance(self.watch, NoWatch)
        if not (self.settings.scan and self.learner.axes and simple and still and self.settings.n_learners > 1):
            raise ParameterError(
                "engine",
                "ray",
                "'threads': only ensembles, and boosters of several learners that "
                "are neither reset nor over indicators of bins, are divided among machines",
            )

    def bring_back(self) -> None:
        if self.away is None or self.away.current:
            return
        groups = self.away.states()
        sizes = [last - first for first, last in (group.bounds for group in groups)]
        self.replace(committee=self.learner.joined([group.node.committee for group in groups], sizes))
        for group in groups:
            mine = slice(*group.bounds)
            self.record.edges[mine] = group.node.record.edges[mine]
            self.record.weights[mine] = group.node.record.weights[mine]
            for name in self.booster.of_learners() if hasattr(self.booster, "of_learners") else ():
                getattr(self.booster, name)[mine] = getattr(group.node.booster, name)[mine]

    def elsewhere(self) -> Self:
        twin = super().elsewhere()
        twin.slots, twin.names, twin.n_grown = None, {}, self.n_slots
        return twin

    def returned(self, before: Self) -> Self:
        self.slots, self.names = before.slots, before.names
        return self


def new_committee(
    learner: Any, booster: Any, head: Any, n_features: int, settings: Settings, kind: Any = Committee, **more: Any
) -> Any:
    """A node before the first example."""
    states = learner.committee(settings.n_learners, n_features), booster, head, new_record(settings.n_learners)
    slots = new_slots(learner.slot_limit())
    return kind(settings, learner, *states, learner.transforms(n_features), slots, **more)
