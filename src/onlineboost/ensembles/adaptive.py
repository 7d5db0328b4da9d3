"""Adaptive: concept drift for any booster or learner, in an ensemble with a fast learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from onlineboost.boosters.base import seed_of
from onlineboost.boosters.safe import SafeBoost
from onlineboost.classifier import OnlineClassifier
from onlineboost.ensembles import restarting
from onlineboost.ensembles.ensemble import Ensemble
from onlineboost.ensembles.restarting import Alarm, Around, RestartCommittee, Restarting
from onlineboost.errors import ParameterError
from onlineboost.fitted.fitted import Fitted
from onlineboost.learners.base import Learner
from onlineboost.learners.linear import Linear
from onlineboost.parameters import check_one_of

Reset = Literal["all", "learners", "none"]
_RESETS: tuple[Reset, ...] = ("all", "learners", "none")


@dataclass(eq=False, repr=False)
class Adaptive(Around, Ensemble):
    """Wrapper for concept drift: resets a booster or learner when its error rises, and stacks it with a fast learner.

    Parameters
    ----------
    estimator : booster, learner or None, default=None
        Booster or compiled learner; None: ``SafeBoost()``.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    fast : learner or None, default=None
        Learner that adapts quickly; None: ``Linear(standardize=True, learning_rate=32)``.
    reset : {"all", "learners", "none"}, default="all"
        Reset when the error rises: the whole model ("all"), single weak learners ("learners"), or nothing ("none").
    delta : float, default=0.002
        Confidence parameter of the drift detector ADWIN; a lower value gives fewer alarms.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.
    on_drift : callable or None, default=None
        Function that is called with an ``Alarm(example, learner)`` soon after each drift alarm. It must not raise.

    Notes
    -----
    Drift is detected by the number of mistakes; weights of examples do not count.

    Examples
    --------
    The labels are reversed from the middle of the stream on.

    >>> from onlineboost import Adaptive, OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> y[10_000:] *= -1
    >>> round(progressive_error(OnlineBBM(Tree(5), random_state=0), X, y), 3)
    0.265
    >>> round(progressive_error(Adaptive(OnlineBBM(Tree(5), random_state=0), on_drift=print), X, y), 3)
    Alarm(example=10048, learner=None)
    0.126
    """

    estimator: Any = None
    _: KW_ONLY
    fast: Any = None
    reset: Reset = "all"
    delta: float = 0.002
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None
    on_drift: Callable[[Alarm], object] | None = None

    def _watched(self, fitted: Fitted) -> Any:
        return fitted.root.parts[0]

    def verdict(self) -> str:
        """The number of drift alarms, and whether boosting has paid since the last one.

        Returns
        -------
        str
            The verdict.
        """
        inner: str = self._inside().verdict()
        node = self._node().parts[0]
        if not isinstance(node, RestartCommittee):
            return inner
        return restarting.verdict(node, inner, "The model without the fast learner")

    def _model(self) -> Any:
        """A new wrapped model."""
        if self.estimator is None:
            return SafeBoost()
        if not isinstance(self.estimator, OnlineClassifier):
            raise ParameterError("estimator", self.estimator, "a booster or a learner of onlineboost")
        if isinstance(self.estimator, Ensemble | Restarting):
            raise ParameterError("estimator", self.estimator, "a model that does not adapt itself")
        return self.estimator.clone()

    def _parts(self) -> list[OnlineClassifier]:
        check_one_of("reset", self.reset, _RESETS)
        fast = Linear(standardize=True, learning_rate=32.0) if self.fast is None else self.fast
        if not isinstance(fast, Learner):
            raise ParameterError("fast", self.fast, "a compiled learner such as Linear, or None")
        model = self._model()
        if self.reset != "none":
            model = Restarting(model, reset=self.reset, delta=self.delta)
        return [model, fast.clone()]

    def _n_light(self) -> int:
        return 2

    def _first_seed(self) -> int:
        return seed_of(getattr(self._model(), "random_state", None))
