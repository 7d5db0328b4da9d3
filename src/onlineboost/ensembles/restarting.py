"""Restarting: any booster or learner, for streams that change: it starts over when its error rises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, Ints, cut
from onlineboost.diagnostics.report import Report
from onlineboost.engine import adwin
from onlineboost.engine.adwin import Watch, Windows, new_watch, new_windows
from onlineboost.engine.compiled_machine import CompiledMachine
from onlineboost.engine.fitted import Fitted
from onlineboost.engine.machine import Said
from onlineboost.engine.one_row import Steps
from onlineboost.engine.schedule import later
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.linear import Linear
from onlineboost.model import OnlineModel
from onlineboost.parameters import check_between, check_one_of
from onlineboost.storage.validity import COUNT, Limits

Reset = Literal["all", "learners"]
_RESETS: tuple[Reset, ...] = ("all", "learners")
_PIECE = 1024  # rows that the model learns before its answers are tested for drift


class Alarm(NamedTuple):
    """The error has risen, and the model or a learner was reset."""

    example: int  # number of examples learnt before the alarm
    learner: int | None  # number of the learner that was reset, from 0; None: the whole model started over


class Clock(NamedTuple):
    examples: Ints  # [1] of the stream so far

    def limits(self) -> Limits:
        return {"examples": COUNT}


def new_clock() -> Clock:
    return Clock(np.zeros(1, np.int64))


@dataclass
class RestartingMachine(CompiledMachine):
    """The machine of a model that starts over at an alarm."""

    clock: Clock = field(default_factory=new_clock)
    windows: Windows = field(default_factory=lambda: new_windows(1))
    spec: Any = None  # the ``Restarting`` that this was made by
    notify: Callable[[Alarm], None] = print

    def run_slotted(self, batch: Batch, learning: bool, said: Said | None = None) -> Floats:
        if not learning:
            return super().run_slotted(batch, False, said)
        answers, start = [np.empty(0)], 0
        while start < batch.y.size:
            notified = self.n_alarms
            part = cut(batch, start, min(start + _PIECE, batch.y.size))
            now = None if said is None else said.rows(start, start + part.y.size)
            scores, stop = super().run_slotted(part, True, now), -1
            if self.spec.reset == "all":
                delta, example = self.spec.delta, int(self.clock.examples[0])
                stop = adwin.until_alarm(self.windows, scores, part.y, part.weight, delta, example)
            stop, alarm = (part.y.size, False) if stop < 0 else (stop, True)
            answers.append(scores[:stop])
            self.clock.examples[0] += np.count_nonzero(part.weight[:stop] > 0)
            start += stop
            if alarm:
                self._start_over()  # the model has learnt beyond the alarm, but none of it is kept
            for event in self.alarms(notified):
                later(partial(self.notify, event))
        return np.concatenate(answers)

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        if not super().add_steps(steps, score):
            return False
        if steps.learning:
            stop, row = np.zeros(1, np.int64), steps.row
            whole = self.spec.reset == "all"
            arguments = self.windows, self.clock.examples, score, row.y, row.weight, float(self.spec.delta), whole, stop
            steps.calls.append(Call(adwin.watch_row, *arguments))

            def event() -> None:
                if stop[0]:
                    notified = self.n_alarms - 1
                    self._start_over()
                    for event in self.alarms(notified):
                        later(partial(self.notify, event))

            steps.events.append(event)
        return True

    def _start_over(self) -> None:
        fresh: CompiledMachine = self.spec.model().new_machine(0, self.settings.seed)
        self.succeeded_by(fresh)
        vars(self).update(vars(fresh))

    def plain(self) -> CompiledMachine:
        """The machine of the model since it last started over; it shares the memory of this one."""
        return CompiledMachine(**{one.name: getattr(self, one.name) for one in fields(CompiledMachine)})

    @property
    def n_learnt(self) -> int:
        return int(self.clock.examples[0])

    def go_to(self, example: int) -> None:
        self.clock.examples[0] = example

    @property
    def may_alarm(self) -> bool:
        return True

    def listen(self, notify: Callable[[Alarm], None]) -> None:
        self.notify = notify

    def tell_of(self, alarm: Alarm) -> None:
        self.notify(alarm)

    def returned(self, before: Self) -> Self:
        found = super().returned(before)
        found.notify = before.notify
        return found

    @property
    def _watching(self) -> Any:
        return self.watch if isinstance(self.watch, Watch) else self.windows

    @property
    def n_alarms(self) -> int:
        return int(self._watching.counts[0])

    def forget_alarms(self) -> None:
        self._watching.counts[0] = 0

    def alarms(self, since: int = 0) -> list[Alarm]:
        if since == self.n_alarms:
            return []
        one = self._watching is not self.windows
        return [Alarm(example, k if one else None) for example, k in adwin.alarms(self._watching, since)]

    def states(self) -> dict[str, Any]:
        return super().states() | {"clock": self.clock, "windows": self.windows}


class Listening(OnlineModel):
    """A model with alarms, and a function that is told of them."""

    one_committee = False

    on_drift: Callable[[Alarm], object] | None

    @property
    def alarms_(self) -> list[Alarm]:
        """The alarms so far; only the most recent are kept if there are very many."""
        found: list[Alarm] = self._alarming().alarms()
        return found

    @property
    def n_alarms_(self) -> int:
        """Number of alarms so far."""
        return int(self._alarming().n_alarms)

    def _alarming(self) -> Any:
        return self._check_fitted().machine

    def saved_params(self) -> dict[str, Any]:
        return super().saved_params() | {"on_drift": None}

    def check_listener(self) -> None:
        if self.on_drift is not None and not callable(self.on_drift):
            raise ParameterError("on_drift", self.on_drift, "a function of an Alarm, or None")

    def notify(self, alarm: Alarm) -> None:
        """Tell of an alarm."""
        if self.on_drift is not None:
            self.on_drift(alarm)


class Around:
    """A model around another one, which may have started over."""

    @property
    def estimator_(self) -> Any:
        """A copy of the model since it last started over, for its ``report()``, ``alphas_`` and so on."""
        return self._inside(copied=True)

    @abstractmethod
    def _inside(self, copied: bool = False) -> Any:
        """The model since it last started over; unless it is copied, it shares the memory of the machine."""

    def report(self) -> Report:
        """The report of the booster, since it last started over."""
        model = self.estimator_
        if isinstance(model, Learner):
            raise ParameterError("estimator", model.clone(), "a booster: a single learner has no report")
        found: Report = model.report()
        return found


@dataclass(eq=False, repr=False)
class Restarting(Around, Listening, OnlineClassifier):
    """Any booster or learner, for streams that change: it starts over when its error rises.

    Until it has learnt again it errs more: ``Adaptive`` and ``OnlineBoost`` put other learners beside it.

    Parameters
    ----------
    estimator : booster of compiled learners, or compiled learner
    reset : what starts over when its error rises: the whole model ("all"), or single weak "learners"
    delta : ADWIN's confidence parameter; lower values give fewer alarms
    n_jobs : number of threads (None: 1, -1: one for each core); the result is the same, bit for bit
    lag : number of last labels that are features of each row, ``label[-1]`` and so on; 0: none
    class_weight : factor of the weights of rows by their label: a dict, "balanced" (by how rare labels are), or None
    on_drift : function called with an ``Alarm(example, learner)`` soon after each alarm; it must not raise

    Drift is detected by the number of mistakes; weights of examples do not count.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Restarting, Tree
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter()
    >>> y[10_000:] *= -1
    >>> Restarting(OnlineBBM(Tree(5), random_state=0)).fit(X, y).alarms_
    [Alarm(example=10048, learner=None)]
    """

    example: ClassVar[dict[str, Any]] = {"estimator": Linear()}

    estimator: Any
    _: KW_ONLY
    reset: Reset = "all"
    delta: float = 0.002
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None
    on_drift: Callable[[Alarm], object] | None = None

    def _inside(self, copied: bool = False) -> Any:
        fitted = self._check_fitted()
        self._machine(fitted)
        fitted = fitted.copied() if copied else fitted
        return inside(fitted, fitted.machine)

    def verdict(self) -> str:
        """The number of alarms, and whether boosting has paid since the last."""
        fitted = self._check_fitted()
        if fitted.target.width > 1:
            return verdict(fitted.machine, "", "The model")
        return verdict(self._machine(fitted), self._inside().verdict(), "The model")

    def _machine(self, fitted: Fitted) -> RestartingMachine:
        machine = fitted.machine
        if not isinstance(machine, RestartingMachine):
            raise ParameterError("y", f"{self.classes_.size} classes", "two: each of more has a model of its own")
        return machine

    def model(self) -> Any:
        """A new model of the kind that starts over."""
        if not isinstance(self.estimator, OnlineClassifier):
            raise ParameterError("estimator", self.estimator, "a booster or a learner of onlineboost")
        return self.estimator.clone()

    def base_learner(self) -> Any:
        return self.model().base_learner()

    def new_machine(self, n_features: int, seed: int | None = None) -> RestartingMachine:
        check_one_of("reset", self.reset, _RESETS)
        check_between("delta", self.delta, 0, 1)
        self.check_listener()
        model = self.model().new_machine(n_features, seed)
        if type(model) is not CompiledMachine:
            raise ParameterError("estimator", self.estimator, "a booster of compiled learners, such as Linear or Tree")
        if self.reset == "learners":
            if type(model.committee) not in dispatch.forget.kernels:  # type: ignore[attr-defined]
                learner = self.base_learner()
                raise ParameterError("reset", self.reset, f"'all': single learners of {learner!r} cannot be reset")
            model.watch = new_watch(model.settings.n_learners, float(self.delta))
        return RestartingMachine(**vars(model), spec=self.clone(), notify=self.notify)


def inside(fitted: Fitted, machine: Any) -> Any:
    """The model that a machine was made for, since it last started over; it shares the memory of the machine."""
    model = fitted.spec.model()
    machine = machine.plain() if isinstance(machine, RestartingMachine) else machine
    model.fitted = replace(fitted, spec=model.clone(), machine=machine)
    return model


def verdict(machine: Any, inner: str, who: str) -> str:
    """The number of alarms, and what the verdict on the model is since the last."""
    n = machine.n_alarms
    if not n:
        return f"There was no alarm. {inner}".rstrip()
    whole = not isinstance(getattr(machine, "watch", None), Watch)
    what = "The stream changed" if whole else "Learners were reset"
    counted = "1 alarm" if n == 1 else f"{n:,} alarms"
    changes = f"{what}: {counted}, the last after {machine.alarms()[-1].example:,} examples."
    return f"{changes} {who}{', since then' if whole else ''}: {inner}" if inner else changes
