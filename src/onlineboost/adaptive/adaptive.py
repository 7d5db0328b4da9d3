"""Adaptive: any booster or learner, made fit for streams that change; ``machine.py`` says how it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from onlineboost.adaptive.machine import AdaptiveMachine, Alarm, new_state
from onlineboost.boosters.safe import SafeBoost
from onlineboost.compiled import dispatch
from onlineboost.diagnostics.report import Report
from onlineboost.engine.adwin import new_watch, new_windows
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.copies import Copies
from onlineboost.learners.linear import Linear
from onlineboost.model import OnlineClassifier
from onlineboost.parameters import check_between, check_one_of

Reset = Literal["all", "learners", "none"]
_RESETS: tuple[Reset, ...] = ("all", "learners", "none")


@dataclass(eq=False, repr=False)
class Adaptive(OnlineClassifier):
    """Any booster or learner, made fit for streams that change.

    Parameters
    ----------
    estimator : a booster or a compiled learner; None is ``SafeBoost()``
    fast : a learner that follows changes at once; None is ``Linear(standardize=True, learning_rate=32)``
    reset : what forgets when its mistakes become more: the model ("all"), single weak "learners", or "none"
    delta : ADWIN's: how sure an alarm is; lower is calmer
    on_drift : is called with an ``Alarm(example, learner)`` at each alarm, soon after; it must not raise

    Mistakes count by examples here, not by weights.

    Examples
    --------
    Letters, and from the middle on their opposites.

    >>> from onlineboost import Adaptive, OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> y[10_000:] *= -1
    >>> round(progressive_score(OnlineBBM(Tree(5), random_state=0), X, y), 3)
    0.26
    >>> round(progressive_score(Adaptive(OnlineBBM(Tree(5), random_state=0), on_drift=print), X, y), 3)
    Alarm(example=10048, learner=None)
    0.137
    """

    estimator: Any = None
    _: KW_ONLY
    fast: Any = None
    reset: Reset = "all"
    delta: float = 0.002
    on_drift: Callable[[Alarm], object] | None = None

    @property
    def alarms_(self) -> list[Alarm]:
        """The alarms so far; of very many, the last."""
        return self._adaptive().alarms()

    @property
    def n_alarms_(self) -> int:
        """How many there were."""
        return self._adaptive()._n_alarms

    @property
    def estimator_(self) -> Any:
        """The model as it is since it started anew, to look at: its own ``report()``, ``alphas_`` and the like."""
        model = self._adaptive().maker._model()
        model._machine, model._labels, model._columns = self._adaptive().model, self._labels, self._columns
        return model

    def verdict(self) -> str:
        """How the stream changed, and whether boosting paid since."""
        n, reset = self.n_alarms_, self._adaptive().maker.reset
        inner: str = self.estimator_.verdict()
        if reset == "none":
            return inner
        if not n:
            return f"There was no alarm. {inner}".rstrip()
        what = "The stream changed" if reset == "all" else "Learners forgot"
        counted = "1 alarm" if n == 1 else f"{n:,} alarms"
        changes = f"{what}: {counted}, the last after {self.alarms_[-1].example:,} examples."
        if not inner:
            return changes
        since = ", since then" if reset == "all" else ""
        return f"{changes} The model without the fast learner{since}: {inner}"

    def report(self) -> Report:
        """That of the booster, without the fast learner, since it started anew."""
        inside = self.estimator_
        if not hasattr(inside, "report"):
            raise ParameterError("estimator", self.estimator, "a booster, whose learners there is a report of")
        found: Report = inside.report()
        return found

    def _adaptive(self) -> AdaptiveMachine:
        machine: Any = self._check_fitted()
        assert isinstance(machine, AdaptiveMachine)
        return machine

    def _model(self) -> Any:
        if self.estimator is None:
            return SafeBoost()
        if not isinstance(self.estimator, OnlineClassifier):
            raise ParameterError("estimator", self.estimator, "a booster or a learner of onlineboost")
        if isinstance(self.estimator, Adaptive):
            raise ParameterError("estimator", self.estimator, "a model that is not adaptive already")
        return self.estimator.clone()

    def _fast(self) -> Any:
        return Linear(standardize=True, learning_rate=32.0) if self.fast is None else self.fast

    def _member(self) -> Any:
        return self._model()._member()

    def _longest_row(self) -> int | None:
        both = (getattr(learner, "longest_row", None) for learner in (self._member(), self._fast()))
        return min((most for most in both if most is not None), default=None)

    def _saved_params(self) -> dict[str, Any]:
        return super()._saved_params() | {"on_drift": None}

    def _assemble(self, n_features: int, seed: int | None = None) -> Any:
        check_one_of("reset", self.reset, _RESETS)
        check_between("delta", self.delta, 0, 1)
        if self.on_drift is not None and not callable(self.on_drift):
            raise ParameterError("on_drift", self.on_drift, "a function of an Alarm, or None")
        member = self._member()
        if isinstance(member, Copies):
            raise ParameterError("estimator", self.estimator, "a booster of compiled learners, such as Linear or Tree")
        fast = self._fast()
        if not isinstance(fast, Learner):
            raise ParameterError("fast", self.fast, "a compiled learner such as Linear, or None")
        model = self._model()._new_machine(n_features, seed)
        if self.reset == "learners":
            if type(model.committee) not in dispatch.forget.kernels:  # type: ignore[attr-defined]
                raise ParameterError("reset", self.reset, f"'all': {member!r} cannot make single learners forget")
            model.watch = new_watch(model.settings.n_learners, float(self.delta))
        machines = model, fast.clone()._new_machine(n_features, seed)
        return AdaptiveMachine(*machines, new_state(), new_windows(1), (n_features, n_features), self)
