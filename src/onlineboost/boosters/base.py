"""What every booster shares: parameters, the committee, the delivery of weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.data.batch import Ints
from onlineboost.diagnostics.certificate import Certificate
from onlineboost.diagnostics.report import Report
from onlineboost.diagnostics.verdict import verdict
from onlineboost.engine.heads import HEADS, HeadName, new_head
from onlineboost.engine.machine import Machine
from onlineboost.engine.record import Settings, new_record
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.copies import Copies
from onlineboost.learners.linear import Linear
from onlineboost.model import OnlineClassifier
from onlineboost.parameters import check_count, check_one_of

Delivery = Literal["auto", "weight", "sample"]
Votes = Literal["hard", "real"]


class Booster(OnlineClassifier):
    """An online boosting algorithm. A subclass names its state class and its two compiled functions:

    ``class Mine(Booster, state=MineState, vote=vote, round=round)``

    and says what the state is before the first example (``initial_state``).
    """

    estimator: Any
    n_estimators: int
    delivery: Delivery
    random_state: Any
    votes: Votes = "hard"
    head: HeadName = "vote"

    derived: ClassVar[tuple[str, ...]] = ()
    """Fields of the state that follow from the parameters, so that a model file need not hold them."""

    _kernels: ClassVar[tuple[Callable[..., float], Callable[..., None]]]

    def __init_subclass__(
        cls, *, state: type, vote: Callable[..., float], round: Callable[..., None], **keywords: Any
    ) -> None:
        super().__init_subclass__(**keywords)
        cls._kernels = (dispatch.register(dispatch.vote, state, vote), dispatch.register(dispatch.round, state, round))

    @abstractmethod
    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> Any:
        """The booster's arrays before the first example. Checks the parameters of the algorithm."""

    def certificate(self) -> Certificate:
        """Where the mistakes come from, learner by learner; an identity that Online BBM alone has."""
        raise ParameterError("booster", self, "OnlineBBM, whose mistakes the identity of Lemma 3 explains")

    def verdict(self) -> str:
        """Whether boosting paid, by a paired test on the stream; empty where nobody knows."""
        machine = self._check_fitted()
        return verdict(machine.record, machine.maker, machine.maker._member())

    def report(self) -> Report:
        """What each learner contributed, as a table (``print``) and as a picture (``.plot(path)``)."""
        machine = self._check_fitted()
        known = machine.settings.hard and not np.isnan(machine.record.totals).any()
        certificate = self.certificate() if known and type(self).certificate is not Booster.certificate else None
        parts = self.edges_, self.weight_sums_, certificate, self._experts(), self.verdict()
        return Report(type(self).__name__, self.n_seen_, *parts)

    def _new_head(self, n_learners: int) -> Any:
        return new_head(self.head, n_learners)

    def _experts(self) -> Ints | None:
        """The mistakes of the booster's experts, if it has any."""
        return None

    def _member(self) -> Learner | Copies:
        """The weak learner that the user named, as something that can form a committee."""
        if self.estimator is None:
            return Linear()
        return self.estimator if isinstance(self.estimator, Learner | Copies) else Copies(self.estimator)

    def _assemble(self, n_features: int, seed: int | None = None) -> Machine:
        check_count("n_estimators", self.n_estimators)
        check_one_of("delivery", self.delivery, ("auto", "weight", "sample"))
        check_one_of("votes", self.votes, ("hard", "real"))
        check_one_of("head", self.head, HEADS)
        member, n = self._member(), int(self.n_estimators)
        sampled = (member.prefers if self.delivery == "auto" else self.delivery) == "sample"
        seed = _seed(self.random_state) if seed is None else seed
        settings = Settings(n, hard=self.votes == "hard", sample=sampled, seed=seed)
        booster = self.initial_state(n, sampled, seed)
        compiled = isinstance(member, Learner)
        committee = (
            member.committee(n, n_features)
            if isinstance(member, Learner)
            else member.committee(n, settings.hard, settings.sample)
        )
        views = member.views(n_features) if isinstance(member, Learner) else ()
        parts = settings, committee, booster, self._kernels, self._new_head(n), new_record(n)
        return Machine(*parts, compiled, self.derived, views=views)


def _seed(random_state: Any) -> int:
    """A seed from None (a fresh one), a whole number, or a NumPy generator."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 1 << 63:
        raise ParameterError("random_state", random_state, "None, a whole number of at least 0, or a NumPy generator")
    return int(random_state)
