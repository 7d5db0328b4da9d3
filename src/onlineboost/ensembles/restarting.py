"""Restarting: concept drift for any booster or learner, which is reset when its error rises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import dispatch
from onlineboost.data.batch import Floats, Ints
from onlineboost.diagnostics.report import Report
from onlineboost.engine.committee import Committee
from onlineboost.engine.node import Node, of_part
from onlineboost.engine.schedule import later
from onlineboost.engine.stage import Key, Stage
from onlineboost.errors import ParameterError
from onlineboost.fitted.fitted import Fitted
from onlineboost.learners.base import Learner
from onlineboost.learners.linear import Linear
from onlineboost.loop import adwin
from onlineboost.loop.adwin import Watch, Windows, new_watch, new_windows
from onlineboost.model import OnlineModel
from onlineboost.parameters import check_between, check_one_of
from onlineboost.storage.validity import COUNT, Limits

Reset = Literal["all", "learners"]
_RESETS: tuple[Reset, ...] = ("all", "learners")


class Alarm(NamedTuple):
    """A drift alarm: the error has risen, and the model or a learner was reset.

    Parameters
    ----------
    example : int
        Number of examples learned before the alarm.
    learner : int or None
        Number of the learner that was reset, from 0; None: the whole model was reset.

    Examples
    --------
    >>> from onlineboost.extend import Alarm
    >>> Alarm(example=10048, learner=None).example
    10048
    """

    example: int
    learner: int | None


class Clock(NamedTuple):
    examples: Ints  # [1] of the stream so far

    def limits(self) -> Limits:
        return {"examples": COUNT}


def new_clock() -> Clock:
    return Clock(np.zeros(1, np.int64))


@dataclass
class Restart(Node):
    """A node whose one part is reset when its error rises. Subclasses define how errors are watched."""

    parts: tuple[Any, ...]
    windows: Windows
    spec: Any  # the model of this node
    notify: Callable[[Alarm], None]

    @property
    def part(self) -> Any:
        """The part since the last reset."""
        return self.parts[0]

    settings = of_part("settings")
    record = of_part("record")
    n_classes = of_part("n_classes")
    width = of_part("width")
    learners = of_part("learners")
    gives_odds = of_part("gives_odds")
    probabilities = of_part("probabilities")
    explain = of_part("explain")
    importances = of_part("importances")
    strengths = of_part("strengths")

    def start_over(self, fresh: Any) -> None:
        """Continue with a new part, and report the alarm."""
        fresh.use_threads(self.part.n_jobs)
        for node in fresh.walk():
            node.prepared = self.prepared
        self.replace(parts=(fresh,))
        for alarm in self.alarms(self.n_alarms - 1):
            later(partial(self.notify, alarm))

    @property
    def may_alarm(self) -> bool:
        return True

    def listen(self, notify: Callable[[Alarm], None]) -> None:
        self.notify = notify

    def announce(self, alarm: Alarm) -> None:
        self.notify(alarm)

    @property
    def watching(self) -> Any:
        """The states that raise alarms."""
        return self.windows

    @property
    def n_alarms(self) -> int:
        return int(self.watching.counts[0])

    def forget_alarms(self) -> None:
        self.watching.counts[0] = 0

    def alarms(self, since: int = 0) -> list[Alarm]:
        whole = self.watching is self.windows
        return [Alarm(example, None if whole else k) for example, k in adwin.alarms(self.watching, since)]

    def returned(self, before: Self) -> Self:
        self.notify = before.notify
        return super().returned(before)

    def check_divisible(self) -> None:
        raise ParameterError(
            "engine", "ray", "'threads': a model that resets on drift cannot be divided among machines"
        )


@dataclass
class RestartCommittee(Restart):
    """A committee that is reset, as a whole or by single learners, when mistakes increase."""

    clock: Clock = field(default_factory=new_clock)
    n_told = 0  # reported alarms of single learners

    leaves = of_part("leaves")
    n_answers = of_part("n_answers")
    could_answer = of_part("could_answer")
    sizes = of_part("sizes")

    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        with stage.repeatable() as span:
            stage.part(0, self.part, y, out)
            if stage.mode.learning:
                stop, whole = stage.array("stop", 1, np.int64), self.spec.reset == "all"
                states = self.windows, self.clock.examples, out.reshape(-1), y, stage.table.weight
                ask = partial(self._on_alarm, stage.path, span, stop)
                stage.call(adwin.watch_rows, span, *states, float(self.spec.delta), whole, stop, ask=ask)
                if not whole:
                    stage.step(self._tell)

    def _on_alarm(self, path: Key, span: Ints, stop: Ints, stage: Stage) -> Key:
        fresh = self.spec._model()._new_node(0, self.settings.seed)
        self.part.succeeded_by(fresh)
        last = int(span[1])
        self.start_over(fresh)  # the part has learned beyond the alarm, but none of it is kept
        if stop[0] == last:
            return (*path, "end")
        stage.again = path, int(stop[0]), last
        return (*path, "begin")

    def _tell(self) -> None:
        """Report learners that were reset."""
        told, self.n_told = self.n_told, self.n_alarms
        for alarm in self.alarms(told) if told < self.n_told else ():
            later(partial(self.notify, alarm))

    @property
    def n_learned(self) -> int:
        return int(self.clock.examples[0])

    def go_to(self, example: int) -> None:
        self.clock.examples[0] = example

    @property
    def watching(self) -> Any:
        return self.part.watch if isinstance(self.part.watch, Watch) else self.windows

    def forget_alarms(self) -> None:
        super().forget_alarms()
        self.n_told = 0

    def own_states(self) -> dict[str, Any]:
        return {"clock": self.clock, "windows": self.windows}

    def states(self) -> dict[str, Any]:
        return self.part.states() | self.own_states()  # type: ignore[no-any-return]

    def resize(self, sizes: list[Any]) -> None:
        self.part.resize(sizes)
        self.n_told = 0

    def check(self) -> None:
        self.part.check()
        self.n_told = self.n_alarms


class Listening(OnlineModel):
    """A model with alarms, and a function to call on them."""

    _one_committee = False

    on_drift: Callable[[Alarm], object] | None

    @property
    def alarms_(self) -> list[Alarm]:
        """Drift alarms so far; of very many, only the most recent."""
        found: list[Alarm] = self._alarming().alarms()
        return found

    @property
    def n_alarms_(self) -> int:
        """Number of drift alarms so far."""
        return int(self._alarming().n_alarms)

    def _alarming(self) -> Any:
        return self._check_fitted().root

    def _saved_params(self) -> dict[str, Any]:
        return super()._saved_params() | {"on_drift": None}

    def _check_listener(self) -> None:
        if self.on_drift is not None and not callable(self.on_drift):
            raise ParameterError("on_drift", self.on_drift, "a function of an Alarm, or None")

    def _notify(self, alarm: Alarm) -> None:
        """Report an alarm."""
        if self.on_drift is not None:
            self.on_drift(alarm)


class Around:
    """A wrapper of a model that may have been reset."""

    _check_fitted: Any  # of ``OnlineModel``

    @property
    def estimator_(self) -> Any:
        """A copy of the model since its last reset, for its ``report()``, ``alphas_`` and so on."""
        return self._inside(copied=True)

    def _inside(self, copied: bool = False) -> Any:
        """The model since its last reset; unless it is copied, it shares the memory of the node."""
        fitted: Fitted = self._check_fitted()
        node, model = self._watched(fitted), fitted.spec._model()
        if copied:
            fitted = fitted.copied()
            node = self._watched(fitted)
        node = (node.part if isinstance(node, Restart) else node).trimmed()  # a copy has other programs
        model._fitted = replace(fitted, spec=model.clone(), root=node)
        return model

    @abstractmethod
    def _watched(self, fitted: Fitted) -> Any:
        """The node that may be reset."""

    def report(self) -> Report:
        """The report of the booster since its last reset.

        Returns
        -------
        Report
            A table (``print``) or a plot (``.plot(path)``).
        """
        model = self.estimator_
        if isinstance(model, Learner):
            raise ParameterError("estimator", model.clone(), "a booster: a single learner has no report")
        found: Report = model.report()
        return found


@dataclass(eq=False, repr=False)
class Restarting(Around, Listening, OnlineClassifier):
    """Wrapper for concept drift: resets a booster or learner when its error rises.

    After a reset it makes more errors until it has learned again; ``Adaptive`` and ``OnlineBoost`` combine it with
    other learners.

    Parameters
    ----------
    estimator : booster or learner
        Booster of compiled learners, or compiled learner.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    reset : {"all", "learners"}, default="all"
        Reset when the error rises: the whole model ("all"), or single weak learners ("learners").
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
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter()
    >>> y[10_000:] *= -1
    >>> Restarting(OnlineBBM(Tree(5), random_state=0)).fit(X, y).alarms_
    [Alarm(example=10048, learner=None)]
    """

    _example: ClassVar[dict[str, Any]] = {"estimator": Linear()}

    estimator: Any
    _: KW_ONLY
    reset: Reset = "all"
    delta: float = 0.002
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None
    on_drift: Callable[[Alarm], object] | None = None

    def verdict(self) -> str:
        """The number of drift alarms, and whether boosting has paid since the last one.

        Returns
        -------
        str
            The verdict.
        """
        fitted = self._check_fitted()
        if fitted.target.width > 1:
            return verdict(fitted.root, "", "The model")
        return verdict(self._watched(fitted), self._inside().verdict(), "The model")

    def _watched(self, fitted: Fitted) -> RestartCommittee:
        if not isinstance(fitted.root, RestartCommittee):
            raise ParameterError(
                "y", f"{self.classes_.size} classes", "two classes: of more, each class has its own model"
            )
        return fitted.root

    def _model(self) -> Any:
        """A new wrapped model."""
        if not isinstance(self.estimator, OnlineClassifier):
            raise ParameterError("estimator", self.estimator, "a booster or a learner of onlineboost")
        return self.estimator.clone()

    def _base_learner(self) -> Any:
        return self._model()._base_learner()

    def _new_node(self, n_features: int, seed: int | None = None) -> RestartCommittee:
        check_one_of("reset", self.reset, _RESETS)
        check_between("delta", self.delta, 0, 1)
        self._check_listener()
        part = self._model()._new_node(n_features, seed)
        if type(part) is not Committee:
            raise ParameterError("estimator", self.estimator, "a booster of compiled learners, such as Linear or Tree")
        if self.reset == "learners":
            if type(part.committee) not in dispatch.forget.kernels:  # type: ignore[attr-defined]
                learner = self._base_learner()
                raise ParameterError("reset", self.reset, f"'all': single learners of {learner!r} cannot be reset")
            part.watch = new_watch(part.settings.n_learners, float(self.delta))
        return RestartCommittee((part,), new_windows(1), self.clone(), self._notify)


def verdict(node: Any, inner: str, who: str) -> str:
    """The number of drift alarms, and the verdict on the model since the last one."""
    n = node.n_alarms
    if not n:
        return f"No drift alarms. {inner}".rstrip()
    whole = not isinstance(getattr(node.parts[0], "watch", None), Watch)
    what = "Concept drift" if whole else "Learners were reset"
    counted = "1 alarm" if n == 1 else f"{n:,} alarms"
    changes = f"{what}: {counted}, the last after {node.alarms()[-1].example:,} examples."
    return f"{changes} {who}{', since then' if whole else ''}: {inner}" if inner else changes
