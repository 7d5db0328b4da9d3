"""Weak learners: each is a classifier by itself, and makes committees of N of its kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Floats
from onlineboost.engine.heads import new_head
from onlineboost.engine.machine import CompiledMachine
from onlineboost.engine.record import Settings, new_record
from onlineboost.model import OnlineClassifier
from onlineboost.registry import LEARNERS, Entry, Option
from onlineboost.transforms.chain import Transforms


class AloneState(NamedTuple):
    """No booster at all: one learner that sees every example with its own weight."""

    n: int


@njit
def vote(state: AloneState, h: Floats) -> float:
    return float(h[0])


@njit
def round(state: AloneState, h: Floats, y: float, p: Floats) -> None:
    p[:] = 1.0


dispatch.register(dispatch.vote, AloneState, vote)
dispatch.register(dispatch.round, AloneState, round)


class Learner(OnlineClassifier):
    """A compiled weak learner. A subclass names its state class and its three compiled functions:

    ``class Mine(Learner, state=MineState, workspace=workspace, predict=predict, learn=learn)``

    A fourth, ``forget=forget``, is needed if single learners are to be reset when the stream changes (``Adaptive``).
    With ``name="mine"`` and ``options=(...)`` it is on the command line: ``onlineboost train --learner mine``.
    """

    prefers: ClassVar[Literal["weight", "sample"]]
    """How the learner would rather be told how much an example matters."""

    linear: ClassVar[bool] = False
    """Whether it weighs features one by one: it gains little from boosting, and a feature's number is an address."""

    strength: ClassVar[str] = "mean weight times largest magnitude"
    """What the numbers of ``strengths`` are."""

    def __init_subclass__(
        cls,
        *,
        state: type,
        workspace: Callable[..., Any],
        predict: Callable[..., None],
        learn: Callable[..., None],
        forget: Callable[..., None] | None = None,
        name: str = "",
        options: tuple[Option, ...] = (),
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        dispatch.register(dispatch.workspace, state, workspace)
        dispatch.register(dispatch.predict, state, predict)
        dispatch.register(dispatch.learn, state, learn)
        if forget is not None:
            dispatch.register(dispatch.forget, state, forget)
        if name:
            LEARNERS.add(Entry(name, cls, cls.__name__, options))

    @classmethod
    def from_options(cls, **given: Any) -> Self:
        """A learner by the options that were typed on the command line."""
        return cls(**given)

    @abstractmethod
    def committee(self, n_learners: int, n_features: int) -> Any:
        """The state of ``n_learners`` copies side by side that have learnt nothing. Checks the parameters."""

    @abstractmethod
    def grow(self, committee: Any, n_features: int) -> Any:
        """The same committee with room for ``n_features``; the size must depend on ``n_features`` alone."""

    def strengths(self, committee: Any, n_learners: int) -> Floats | None:
        """How far each feature can move the answer, with its sign; None for learners of which that cannot be said."""
        return None

    def n_seen(self, committee: Any) -> int | None:
        """How many features the learners have met; None if they do not know."""
        return None

    def name_features(self, transforms: Transforms, names: Mapping[int, str]) -> None:
        """What features are called, as soon as that is known, for transforms that need it."""

    def unmet_columns(self, transforms: Transforms) -> list[str]:
        """Columns that parameters name and of which no feature is known so far."""
        return []

    def max_row_features(self) -> int | None:
        """How many features a row may have; None for any number."""
        return None

    def separate(self, n_learners: int, n_features: int) -> bool:
        """Whether the first learners of a committee are as if the others were not there, to the last bit."""
        return False

    def transforms(self, n_features: int) -> Transforms:
        """The states of the transforms that rows pass before the committee sees them."""
        return ()

    def new_machine(self, n_features: int, seed: int | None = None) -> CompiledMachine:
        settings = Settings(n_learners=1, hard=False, sample=False, seed=0)
        states = self.committee(1, n_features), AloneState(1), new_head("vote", 1), new_record(1)
        return CompiledMachine(settings, self, *states, transforms=self.transforms(n_features))

    def base_learner(self) -> Learner:
        return self
