"""A weak learner: what the user names, a classifier by itself, and the maker of a committee of N of its kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Floats
from onlineboost.engine.heads import new_head
from onlineboost.engine.machine import Machine
from onlineboost.engine.record import Settings, new_record
from onlineboost.model import OnlineClassifier
from onlineboost.transforms.chain import Transform


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

    A fourth, ``forget=forget``, is needed if single learners shall forget when the stream changes (``Adaptive``).
    """

    prefers: ClassVar[Literal["weight", "sample"]]
    """How the learner would rather be told how much an example matters."""

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
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        dispatch.register(dispatch.workspace, state, workspace)
        dispatch.register(dispatch.predict, state, predict)
        dispatch.register(dispatch.learn, state, learn)
        if forget is not None:
            dispatch.register(dispatch.forget, state, forget)

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

    def name_features(self, views: tuple[Transform, ...], names: Mapping[int, str]) -> None:
        """What features are called, as soon as that is known, for views that ask for it."""

    def not_met(self, views: tuple[Transform, ...]) -> list[str]:
        """Columns that parameters name and of which no feature is known so far."""
        return []

    @property
    def longest_row(self) -> int | None:
        """How many features a row may have at most; None for any number."""
        return None

    def separate(self, n_learners: int, n_features: int) -> bool:
        """Whether the first learners of a committee are as if the others were not there, to the last bit."""
        return False

    def views(self, n_features: int) -> tuple[Transform, ...]:
        """The states of what examples pass, one after the other, before the committee sees them."""
        return ()

    def _assemble(self, n_features: int, seed: int | None = None) -> Machine:
        settings = Settings(n_learners=1, hard=False, sample=False, seed=0)
        committee = self.committee(1, n_features)
        kernels = (vote, round)
        parts = settings, committee, AloneState(1), kernels, new_head("vote", 1), new_record(1)
        return Machine(*parts, compiled=True, views=self.views(n_features))

    def _member(self) -> Learner:
        return self
