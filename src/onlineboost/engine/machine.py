"""The working parts of a fitted model: what affects the next update, and what a file must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Batch, Floats
from onlineboost.engine import adwin as drift
from onlineboost.engine import loop as engine
from onlineboost.engine.adwin import NoWatch, Watch
from onlineboost.engine.heads import Head, probabilities
from onlineboost.engine.record import Record, Settings
from onlineboost.transforms.chain import Transform, grown, pieces, seen


@dataclass
class Machine:
    """A committee and its booster."""

    settings: Settings
    committee: Any  # a state of arrays, or N Python objects
    booster: Any
    kernels: tuple[Callable[..., float], Callable[..., None]]
    head: Head
    record: Record
    compiled: bool
    derived: tuple[str, ...] = ()  # fields of the booster's state that follow from the parameters
    maker: Any = None  # a copy of the model with the parameters that it was made by
    views: tuple[Transform, ...] = ()  # what rows pass before the committee sees them
    watch: NoWatch | Watch = drift.NOTHING  # whether learners are watched, and forget if they err more than before

    def run(self, batch: Batch, learning: bool) -> Floats:
        scores = []
        for part in pieces(batch, self.views):
            for view in self.views:
                part = seen(view, part, learning)
            states = self.committee, self.booster, self.head, self.watch
            scores.append(engine.run_compiled(*states, self.settings, part, self.record, learning))
        return np.concatenate(scores) if len(scores) != 1 else scores[0]

    def run_objects(self, rows: Iterator[tuple[Any, float, float]], learning: bool) -> Floats:
        parts = self.committee, self.booster, self.head, self.kernels, self.settings
        return engine.run_objects(*parts, rows, self.record, learning)

    def grow(self, n_features: int) -> None:
        """Room for more features."""
        if self.compiled:
            self.committee = self.maker._member().grow(self.committee, n_features)
        self.views = tuple(grown(view, n_features) for view in self.views)

    @property
    def asks_names(self) -> bool:
        """Whether it matters what features are called."""
        return bool(self.views)

    def name_features(self, names: Mapping[int, str]) -> None:
        if self.views:
            self.maker._member().name_features(self.views, names)

    def columns_not_met(self) -> list[str]:
        """Columns that parameters name and of which no feature is known."""
        names: list[str] = self.maker._member().not_met(self.views) if self.compiled else []
        return names

    @property
    def n_features_seen(self) -> int | None:
        found: int | None = self.maker._member().n_seen(self.committee) if self.compiled else None
        return found

    @property
    def gives_probabilities(self) -> bool:
        return not any(np.isnan(array).any() for array in self.head)

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head, scores)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array of the state that cannot be worked out again from the parameters, by name."""
        arrays: dict[str, NDArray[Any]] = {}
        parts = {"record": self.record, "committee": self.committee, "booster": self.booster, "head": self.head}
        parts |= {f"view{number or ''}": view for number, view in enumerate(self.views)}
        parts |= {"watch": self.watch}
        for part, state in parts.items():
            for name, value in zip(state._fields, state, strict=True):
                if isinstance(value, np.ndarray) and (part != "booster" or name not in self.derived):
                    arrays[f"{part}.{name}"] = value
        return arrays
