"""The base class of boosters: common parameters, the committee, the delivery of weights."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.diagnostics.report import Certificate, Columns, Report
from onlineboost.diagnostics.verdict import verdict
from onlineboost.engine.committee import Committee, new_committee
from onlineboost.engine.objects import ObjectCommittee
from onlineboost.errors import KernelError, ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.class_learner import ClassLearner
from onlineboost.learners.copies import Copies
from onlineboost.learners.linear import Linear
from onlineboost.loop.explaining import credit_in_turn
from onlineboost.loop.heads import HEADS, HeadName, new_head
from onlineboost.loop.link import LEAD, ROUND, SETTLE, VOTE, link, new_table, settle_nothing
from onlineboost.loop.record import Settings, new_record
from onlineboost.parameters import check_count, check_one_of
from onlineboost.registry import BOOSTERS, Entry, Option
from onlineboost.regressor import OnlineRegressor

Delivery = Literal["auto", "weight", "sample"]
Votes = Literal["hard", "real"]


MAX_LEARNERS = 10_000
_REHEARSED = 64  # rehearsed rounds of a custom booster, before it learns
_ROUNDING = 1e-9

LEARNERS_OPTION = Option(
    "n_estimators",
    "Number of weak learners.",
    int,
    short="-n",
    least=1,
    most=MAX_LEARNERS,
    tried=(5, 11, 21, 51),
)
GAMMA = Option(
    "gamma", "Assumed edge: each weak learner is right with probability 1/2 + gamma.", float, tried=(0.05, 0.1, 0.2)
)
DELIVERY = Option(
    "delivery",
    "Use of example weights: as importance weights (weight), or as probabilities of learning (sample).",
    choices=("auto", "weight", "sample"),
)
VOTES = Option(
    "votes", "Votes of the weak learners: -1 or +1 (hard), or real numbers (real).", choices=("hard", "real")
)
HEAD = Option(
    "head", "Final prediction: the algorithm's own vote, or a logistic regression on the votes (stack).", choices=HEADS
)
ADVICE_ON_GAMMA = "SafeBoost, a lower gamma, or real votes"  # for algorithms that assume an edge
COMMON = (LEARNERS_OPTION, DELIVERY)
"""Options that every booster has."""


@hot
def lead_by_votes(state: Any, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    """Not called: the vote is computed from the learners' votes."""


class Kernels(NamedTuple):
    """The compiled functions of a booster, as ``compiled/dispatch.py`` describes them."""

    lead: Callable[..., None]
    round: Callable[..., None]
    vote: Callable[..., Any]
    settle: Callable[..., None]


class Booster(OnlineClassifier):
    """An online boosting algorithm; base class for authors of boosters.

    A subclass names its state class and two compiled functions,

    ``class Mine(Booster, state=MineState, vote=vote, round=round)``

    and returns its initial state (``initial_state``). With ``name="mine"`` and ``options=(...)`` it is available on the
    command line: ``onlineboost train --algorithm mine``.

    ``round(state, h, y, p)`` sees all votes. A round that goes from learner to learner may be written as a scan,
    ``round(state, h, y, p, t, first, carry)``, for the learners from number ``first`` on: then learners can be divided
    among cores. Such a booster may have ``lead(state, h, e, first, carry)``, which computes the inputs of its vote, and
    ``settle(state, e, y)``, which updates the state that only its vote depends on.

    ``credit(state, h, e, slopes, leading)`` computes the change of the score with each vote, for explanations. Without
    it, learners are credited in turn with the change that they cause.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.

    Attributes
    ----------
    advice : str
        Hook for authors: alternative that the verdict recommends if boosting did not pay.
    grouped : bool, default=False
        Hook for authors: whether learners form groups, so that the first n of them are not a booster of their own.
    learner_name : str, default="linear"
        Hook for authors: default weak learner on the command line.
    max_learners : int, default=10000
        Hook for authors: maximum number of weak learners.

    Examples
    --------
    >>> from onlineboost import OnlineBBM
    >>> from onlineboost.extend import Booster
    >>> issubclass(OnlineBBM, Booster), OnlineBBM.max_learners
    (True, 10000)
    """

    estimator: Any
    n_estimators: int
    delivery: Delivery
    random_state: Any
    votes: Votes = "hard"
    head: HeadName = "vote"

    advice: ClassVar[str] = "SafeBoost"
    """Advice of the verdict if boosting did not pay."""

    grouped: ClassVar[bool] = False
    """Whether learners form groups, so that a prefix of them is not a booster of its own."""

    max_learners: ClassVar[int] = MAX_LEARNERS
    """Maximum number of weak learners."""

    learner_name: ClassVar[str] = "linear"
    """The weak learner that the command line takes if none is named."""

    _traits: ClassVar[dict[str, bool]]
    """Properties of the algorithm for ``Settings``."""

    _kernels: ClassVar[Kernels]

    _from_outside: ClassVar[bool] = False
    """Whether its functions are from outside the package."""

    def __init_subclass__(
        cls,
        *,
        state: type | None = None,
        vote: Callable[..., Any] | None = None,
        round: Callable[..., None] | None = None,
        lead: Callable[..., None] = lead_by_votes,
        settle: Callable[..., None] = settle_nothing,
        credit: Callable[..., None] = credit_in_turn,
        name: str = "",
        title: str = "",
        options: tuple[Option, ...] = (),
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        if state is None and hasattr(cls, "_kernels"):  # a subclass of a booster is that booster
            return
        if state is None or vote is None or round is None:
            raise TypeError("a booster names its state, vote and round: class Mine(Booster, state=..., ...)")
        scan = {"first", "carry"} <= inspect.signature(getattr(round, "py_func", round)).parameters.keys()
        dispatch.own(state, cls)
        cls._from_outside = not getattr(round, "py_func", round).__module__.startswith("onlineboost.")
        cls._traits = {"leading": lead is not lead_by_votes, "scan": scan}
        cls._kernels = Kernels(
            dispatch.register(dispatch.lead, state, lead),
            dispatch.register(dispatch.round, state, round if scan else _as_scan(round)),
            dispatch.register(dispatch.vote, state, vote),
            dispatch.register(dispatch.settle, state, settle),
        )
        dispatch.register(dispatch.credit, state, credit)
        if name:
            BOOSTERS.add(Entry(name, cls, title or cls.__name__, options))

    @classmethod
    def _author_hooks(cls) -> frozenset[str]:
        return frozenset({"advice", "boosts", "grouped", "initial_state", "learner_name", "max_learners"})

    @classmethod
    def boosts(cls, learner: type) -> bool:
        """Whether it boosts compiled learners of a class; a hook for authors.

        Parameters
        ----------
        learner : type
            Class of the learner.

        Returns
        -------
        bool
            Whether it does.
        """
        return not issubclass(learner, ClassLearner)

    @abstractmethod
    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> Any:
        """The state before the first example; a hook for authors.

        Parameters
        ----------
        n_learners : int
            Number of weak learners.
        sampled : bool
            Whether weights are sampling probabilities.
        seed : int
            Random seed.

        Returns
        -------
        NamedTuple of arrays
            The state.

        Raises
        ------
        ParameterError
            A parameter of the algorithm is wrong.
        """

    def _check_kernels(self) -> None:
        """Raise an error if a custom booster breaks the contract in a few rounds.

        These rounds have random votes and labels, and a state of their own.
        """
        if not self._from_outside:
            return
        n, rng = int(self.n_estimators), np.random.default_rng(0)
        state = self.initial_state(n, self.delivery == "sample", 0)
        h, p, t, table = np.empty(n), np.empty(n), np.empty(n, np.float32), new_table(1, n, self._traits["leading"])
        made = link(state, table, h, p, t)
        for k in range(_REHEARSED):
            y = float(rng.choice([-1, 1]))
            share = rng.random()  # share of learners that are right
            real = rng.uniform(0, 1, n) if self.votes == "real" else 1.0
            h[:] = np.where(rng.random(n) < share, y, -y) * real
            p[:], t[:], table.carry[:] = np.nan, y, 0.0
            table.carry[0, 0] = k
            for step in (LEAD, VOTE, ROUND, SETTLE) if self._traits["leading"] else (VOTE, ROUND, SETTLE):
                made.take(step, y)
            wrong = np.flatnonzero(~((p >= 0) & (p <= 1 + _ROUNDING)))
            if wrong.size:
                found = f"round: p[{wrong[0]}] is {p[wrong[0]]:g} after round {k + 1}"
                expected = "expected a weight from 0 to 1 for each learner (docs/write-your-own-booster.md)"
                raise KernelError(f"{type(self).__name__}: {found}: {expected}")

    def certificate(self) -> Certificate:
        """The mistakes as a sum over learners (Lemma 3); only Online BBM has a certificate.

        Returns
        -------
        Certificate
            The sum; ``print`` shows it.
        """
        raise ParameterError("booster", self, "OnlineBBM, the only algorithm with a certificate (Lemma 3)")

    def verdict(self) -> str:
        """Whether boosting has paid, by a paired test on the stream.

        Returns
        -------
        str
            The verdict; empty if no example had a positive weight.
        """
        fitted = self._check_fitted()
        return verdict(fitted.root.learners, fitted.spec, fitted.spec._base_learner())

    def report(self) -> Report:
        """The contribution of each learner.

        Returns
        -------
        Report
            A table (``print``) or a plot (``.plot(path)``).
        """
        node = self._check_fitted().root
        two = isinstance(node, Committee | ObjectCommittee)
        certified = two and node.settings.hard and type(self).certificate is not Booster.certificate
        certificate = self.certificate() if certified else None
        edges, experts = self.edges_, self._experts() if two else None
        columns: Columns = {"weight": (self.weight_sums_ / max(self.n_seen_, 1), "10.4f"), "edge": (edges, "+10.4f")}
        if certificate is not None:
            columns["mistakes added"] = (certificate.deficits, "+16,.1f")
        if experts is not None:
            columns["expert's mistakes"] = (experts, "18,d")
        title, names = f"{type(self).__name__}, {len(edges)} learners", [str(i + 1) for i in range(len(edges))]
        return Report(title, self.n_seen_, "learner", names, columns, edges, certificate, self.verdict())

    def _new_head(self, n_learners: int) -> Any:
        """The initial state of the head, which turns votes into the prediction."""
        return new_head(self.head, n_learners)

    def _experts(self) -> Ints | None:
        """The mistakes of the booster's experts, if it has any."""
        return None

    def _base_learner(self) -> Learner | Copies:
        """The weak learner, ready to form a committee."""
        if self.estimator is None:
            return Linear()
        if isinstance(self.estimator, OnlineRegressor):
            raise ParameterError("estimator", self.estimator, "a classifier; for regression use OnlineGradientBoost")
        if isinstance(self.estimator, ClassLearner):
            expected = f"a binary learner, such as Tree; {type(self.estimator).__name__} is for OnlineMBBM"
            raise ParameterError("estimator", self.estimator, expected)
        return self.estimator if isinstance(self.estimator, Learner | Copies) else Copies(self.estimator)

    def _booster_state(self) -> Any:
        """The state of the algorithm, for reading."""
        node = self._check_fitted().root
        if not isinstance(node, Committee | ObjectCommittee):
            raise ParameterError(
                "y", f"{self.classes_.size} classes", "two classes: of more, each class has its own booster"
            )
        return node.booster

    def _new_node(self, n_features: int, seed: int | None = None) -> Committee | ObjectCommittee:
        check_count("n_estimators", self.n_estimators, self.max_learners)
        check_one_of("delivery", self.delivery, ("auto", "weight", "sample"))
        check_one_of("votes", self.votes, ("hard", "real"))
        check_one_of("head", self.head, HEADS)
        learner, n = self._base_learner(), int(self.n_estimators)
        sampled = (learner.prefers if self.delivery == "auto" else self.delivery) == "sample"
        seed = seed_of(self.random_state) if seed is None else seed
        settings = Settings(n, hard=self.votes == "hard", sample=sampled, seed=seed, **self._traits)
        booster, head, record = self.initial_state(n, sampled, seed), self._new_head(n), new_record(n)
        if isinstance(learner, Copies):
            committee = learner.committee(n, n_features, settings.hard, settings.sample)
            return self._object_committee(settings, committee, booster, head, record)
        return self._compiled_committee(learner, booster, head, n_features, settings)

    _object_committee: ClassVar[type[ObjectCommittee]] = ObjectCommittee
    """The node over learners that are Python objects."""

    _compiled_committee: ClassVar[Callable[..., Committee]] = staticmethod(new_committee)
    """The node over compiled learners."""


@functools.cache
def _as_scan(round: Callable[..., None]) -> Callable[..., None]:
    """A round over all votes, with the arguments of a round over some; all learners are then one group."""
    kernel = round if hasattr(round, "py_func") else njit(round)

    def whole(state: Any, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
        kernel(state, h, y, p)

    return njit(whole)


def seed_of(random_state: Any) -> int:
    """A seed from None (a random one), a whole number, or a NumPy generator."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 1 << 63:
        raise ParameterError("random_state", random_state, "None, a whole number of at least 0, or a NumPy generator")
    return int(random_state)
