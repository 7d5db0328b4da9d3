"""Adaptive: any booster or learner, for streams that change; ``machine.py`` has the algorithm."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
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
    """Any booster or learner, for streams that change: it starts over on drift, beside a fast learner.

    Parameters
    ----------
    estimator : booster or compiled learner (None: ``SafeBoost()``)
    fast : learner that follows changes quickly (None: ``Linear(standardize=True, learning_rate=32)``)
    reset : what starts over when its error rises: the whole model ("all"), single weak "learners", or "none"
    delta : ADWIN's confidence parameter; lower values give fewer alarms
    on_drift : function called with an ``Alarm(example, learner)`` soon after each alarm; it must not raise

    Drift is detected by the number of mistakes; weights of examples do not count.

    Examples
    --------
    The labels are reversed from the middle of the stream on.

    >>> from onlineboost import Adaptive, OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> y[10_000:] *= -1
    >>> round(progressive_score(OnlineBBM(Tree(5), random_state=0), X, y), 3)
    0.265
    >>> round(progressive_score(Adaptive(OnlineBBM(Tree(5), random_state=0), on_drift=print), X, y), 3)
    Alarm(example=10048, learner=None)
    0.122
    """

    one_committee = False

    estimator: Any = None
    _: KW_ONLY
    fast: Any = None
    reset: Reset = "all"
    delta: float = 0.002
    on_drift: Callable[[Alarm], object] | None = None

    @property
    def alarms_(self) -> list[Alarm]:
        """The alarms so far; only the most recent are kept if there are very many."""
        return self._machine().alarms()

    @property
    def n_alarms_(self) -> int:
        """Number of alarms so far."""
        return self._machine().n_alarms

    @property
    def estimator_(self) -> Any:
        """A copy of the model since it last started over, for its ``report()``, ``alphas_`` and so on."""
        return copy.deepcopy(self._inside())

    def _inside(self) -> Any:
        """The model since it last started over, to be read at once: it shares the memory of this one."""
        fitted = self._check_fitted()
        model = fitted.spec.model()
        model.fitted = replace(fitted, spec=model.clone(), machine=self._machine().model)
        return model

    def verdict(self) -> str:
        """The number of alarms, and whether boosting has paid since the last."""
        n, reset = self.n_alarms_, self._check_fitted().spec.reset
        inner: str = self._inside().verdict()
        if reset == "none":
            return inner
        if not n:
            return f"There was no alarm. {inner}".rstrip()
        what = "The stream changed" if reset == "all" else "Learners were reset"
        counted = "1 alarm" if n == 1 else f"{n:,} alarms"
        changes = f"{what}: {counted}, the last after {self.alarms_[-1].example:,} examples."
        if not inner:
            return changes
        since = ", since then" if reset == "all" else ""
        return f"{changes} The model without the fast learner{since}: {inner}"

    def report(self) -> Report:
        """The report of the booster without the fast learner, since it last started over."""
        inside = self._inside()
        if not hasattr(inside, "report"):
            raise ParameterError("estimator", self.estimator, "a booster: a single learner has no report")
        found: Report = inside.report()
        return found

    def _machine(self) -> AdaptiveMachine:
        machine = self._check_fitted().machine
        assert isinstance(machine, AdaptiveMachine)
        return machine

    def model(self) -> Any:
        """A new model of the kind that adapts."""
        if self.estimator is None:
            return SafeBoost()
        if not isinstance(self.estimator, OnlineClassifier):
            raise ParameterError("estimator", self.estimator, "a booster or a learner of onlineboost")
        if isinstance(self.estimator, Adaptive):
            raise ParameterError("estimator", self.estimator, "a model that is not Adaptive itself")
        return self.estimator.clone()

    def _fast(self) -> Any:
        return Linear(standardize=True, learning_rate=32.0) if self.fast is None else self.fast

    def base_learner(self) -> Any:
        return self.model().base_learner()

    def max_row_features(self) -> int | None:
        both = (model.max_row_features() for model in (self.model(), self._fast()))
        return min((most for most in both if most is not None), default=None)

    def max_features(self) -> int:
        return int(max(model.max_features() for model in (self.model(), self._fast())))

    def saved_params(self) -> dict[str, Any]:
        return super().saved_params() | {"on_drift": None}

    def _notify(self, alarm: Alarm) -> None:
        if self.on_drift is not None:
            self.on_drift(alarm)

    def new_machine(self, n_features: int, seed: int | None = None) -> AdaptiveMachine:
        check_one_of("reset", self.reset, _RESETS)
        check_between("delta", self.delta, 0, 1)
        if self.on_drift is not None and not callable(self.on_drift):
            raise ParameterError("on_drift", self.on_drift, "a function of an Alarm, or None")
        learner, fast = self.base_learner(), self._fast()
        if isinstance(learner, Copies):
            raise ParameterError("estimator", self.estimator, "a booster of compiled learners, such as Linear or Tree")
        if not isinstance(fast, Learner):
            raise ParameterError("fast", self.fast, "a compiled learner such as Linear, or None")
        model = self.model().new_machine(n_features, seed)
        if self.reset == "learners":
            if type(model.committee) not in dispatch.forget.kernels:  # type: ignore[attr-defined]
                raise ParameterError("reset", self.reset, f"'all': single learners of {learner!r} cannot be reset")
            model.watch = new_watch(model.settings.n_learners, float(self.delta))
        machines = model, fast.clone().new_machine(n_features, seed)
        states = new_state(), new_windows(1)
        return AdaptiveMachine(*machines, *states, self.clone(), self._notify)
