"""Features of a node: their slots in its committees, names and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Ints32


class Features:
    """The methods of ``Node`` about features."""

    parts: tuple[Any, ...]

    def walk(self) -> Iterator[Any]:
        """This node and all nodes below it, each before its children."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def committees(self) -> list[Any]:
        """The leaves that learn from features."""
        return [node for node in self.walk() if not node.parts and hasattr(node, "learner")]

    def awake(self) -> tuple[Any, ...]:
        """The active parts, which see rows."""
        return self.parts

    @property
    def committees_awake(self) -> list[Any]:
        """The active committees, which see rows."""
        if not self.parts:
            return self.committees
        return [leaf for part in self.awake() for leaf in part.committees_awake]

    @property
    def leaves(self) -> tuple[Any, ...]:
        """Committees that see the same rows as this node, and may share their slots with others."""
        return ()

    def share_slots(self) -> None:
        """Let parts with the same numbering of features share slots."""
        groups: dict[Any, list[Any]] = {}
        for k, part in enumerate(self.parts):
            for leaf in part.leaves:
                if leaf.slots is not None:
                    key = leaf.slots.bound, leaf.learner.takes_missing, self.may_rest(k)
                    groups.setdefault(key, []).append(leaf)
        for first, *others in groups.values():
            for leaf in others:
                if leaf.n_slots != first.n_slots:
                    raise ValueError("parts that share slots have different numbers of them")
                leaf.slots = first.slots

    def may_rest(self, k: int) -> bool:
        """Whether part k may be paused."""
        return False

    @property
    def _widest(self) -> Any:
        """The committee with most slots; None if there is none."""
        return max(self.committees, key=lambda leaf: leaf.max_slots, default=None)

    @property
    def n_slots(self) -> int:
        """Number of features with slots."""
        return int(self._widest.n_slots) if self.committees else 0

    @property
    def max_slots(self) -> int:
        """Number of features that can have slots of their own."""
        return int(self._widest.max_slots) if self.committees else 0

    @property
    def out_of_slots(self) -> bool:
        """Whether all slots are taken: further features share them."""
        return bool(self.committees) and all(leaf.out_of_slots for leaf in self.committees)

    def name_features(self, names: Mapping[int, str]) -> None:
        """Add names of features, by id."""
        for part in self.parts:
            part.name_features(names)

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        """Columns named by parameters, to which none of these features belongs."""
        names = [*names]
        return list(dict.fromkeys(column for leaf in self.committees for column in leaf.learner.unmet_columns(names)))

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        """The names of the features learned so far by slot, given names by id; a feature without a name has its id."""
        slots = self._widest.slots if self.committees else None
        return {slot: names.get(id, str(id)) for slot, id in enumerate(slots.ids().tolist() if slots else ())}

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        """Whether each feature was learned."""
        found: NDArray[np.bool_] = self._widest.slots.find(ids) >= 0 if self.committees else np.zeros(ids.size, bool)
        return found

    @property
    def n_features_seen(self) -> int | None:
        """Number of different features seen so far; None if the learners do not count them."""
        counts = (leaf.learner.n_seen(leaf.committee) for leaf in self.committees)
        return max((count for count in counts if count is not None), default=None)

    @property
    def n_strayed(self) -> int:
        """Number of times that values of a feature have left the range of its bins."""
        return sum(leaf.n_left for leaf in self.committees)

    def strayed(self, names: Mapping[int, str]) -> list[str]:
        """The names of these features, given names by id."""
        return list(dict.fromkeys(name for leaf in self.committees for name in leaf.names_left(names)))
