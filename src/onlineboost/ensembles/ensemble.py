"""Stacked ensembles: models of several types on the same rows, weighted by an online stack."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from onlineboost.boosters.base import seed_of
from onlineboost.classifier import OnlineClassifier
from onlineboost.diagnostics.report import Columns, Report
from onlineboost.diagnostics.verdict import gain
from onlineboost.engine.class_votes import ClassVotesCommittee
from onlineboost.engine.node import Node
from onlineboost.ensembles.restarting import Alarm, Listening
from onlineboost.ensembles.resting import new_rest
from onlineboost.ensembles.stack import new_scales, new_stack, with_chances
from onlineboost.ensembles.stacked import StackedNode
from onlineboost.errors import ParameterError
from onlineboost.learners.linear import Linear
from onlineboost.loop.record import Settings, new_record
from onlineboost.parameters import brief, check_whole

MAX_PARTS = 50
STRENGTH = "share of the influence on the members, by their gains"  # of features


class Ensemble(Listening, OnlineClassifier):
    """Models on the same rows, with a stack of their scores (``stack.py``). Subclasses define the models."""

    random_state: Any

    @abstractmethod
    def _parts(self) -> list[OnlineClassifier]:
        """New members, the light ones first."""

    def _parts_for_classes(self) -> list[OnlineClassifier]:
        """``_parts`` for more than two classes; a member that differs is replaced when the third class appears."""
        return self._parts()

    @abstractmethod
    def _n_light(self) -> int:
        """Number of first members that see every row; the others may be paused (``resting.py``)."""

    def _rests_on_short_rows(self) -> bool:
        """Whether these are paused on short rows too, if there are more features than slots."""
        return False

    def _stacks_steadily(self) -> bool:
        """Whether the stack forgets less where one of two labels is rare."""
        return False

    def _number_of(self, k: int) -> int:
        """The number that the seed of member k is derived from."""
        return k

    def _first_seed(self) -> int:
        """The seed, from which members get theirs."""
        return seed_of(self.random_state)

    def _base_learner(self) -> Any:
        return self._parts()[0]._base_learner()

    def _row_limit(self) -> int | None:
        limits = (part._row_limit() for part in self._parts())
        return min((most for most in limits if most is not None), default=None)

    def _slot_limit(self) -> int:
        return max(part._slot_limit() for part in self._parts())

    def _new_node(self, n_features: int, seed: int | None = None) -> StackedNode:
        self._check_listener()
        seed = self._first_seed() if seed is None else seed
        parts = self._parts()
        nodes: list[Node] = []
        for k, part in enumerate(parts):
            node = part._new_node(n_features, _seed(seed, self._number_of(k), part))
            if not isinstance(node, Node):
                raise ParameterError("estimators", part, "models of compiled learners, such as Linear or Tree")
            if isinstance(node, ClassVotesCommittee):
                raise ParameterError(
                    "estimators",
                    part,
                    "models with log odds, which boosters of learners that vote for classes do not have",
                )
            if getattr(part, "on_drift", None) is None:
                node.listen(self._notify)
            nodes.append(node)
        n, light, steady = len(nodes), self._n_light(), self._stacks_steadily()
        stacks = new_stack(n, steady=steady), new_stack(light, steady=steady)
        states = *stacks, new_scales(n), new_rest(self._rests_on_short_rows())
        settings = Settings(n, hard=False, sample=False, seed=seed)
        return StackedNode(settings, new_record(n), tuple(nodes), *states)

    def _with_classes(self, node: Any, n: int) -> StackedNode:
        models, stack = self._parts_for_classes(), node.stack
        before: tuple[Any, ...] = node.parts
        if node.n_classes == 2:
            stack, pairs = with_chances(stack), zip(models, self._parts(), before, strict=True)
            before = tuple(one if repr(new) == repr(old) else _successor(new, one) for new, old, one in pairs)
        parts = tuple(model._with_classes(one, n) for model, one in zip(models, before, strict=True))
        twin: StackedNode = replace(node, parts=parts, stack=stack)
        for model, part in zip(models, twin.parts, strict=True):
            if getattr(model, "on_drift", None) is None:
                part.listen(self._notify)
        return twin

    # ---- what was learned

    def _node(self) -> StackedNode:
        node = self._check_fitted().root
        assert isinstance(node, StackedNode)
        return node

    @property
    def n_paused_(self) -> int:
        """Number of members that are paused, because they are slow and do not improve accuracy."""
        return self._node().n_resting

    def verdict(self) -> str:
        """Whether the ensemble was better than its first member, by a paired test; also the drift alarms.

        Returns
        -------
        str
            The verdict.
        """
        node = self._node()
        total, n = float(node.record.totals[0]), node.n_alarms
        if not total:
            return ""
        sentences = [f"The ensemble {gain(node.record.totals, brief(self._check_fitted().spec._parts()[0]))}."]
        if n:
            counted = "once" if n == 1 else f"{n:,} times"
            last = self.alarms_[-1].example
            sentences.append(f"Concept drift: members were reset {counted}, last after {last:,} examples.")
        if self.n_paused_:
            members = "1 member is" if self.n_paused_ == 1 else f"{self.n_paused_} members are"
            sentences.append(f"{members} paused: slow, and no gain in accuracy.")
        return " ".join(sentences)

    def report(self) -> Report:
        """The contribution of each member of the ensemble.

        ``gain`` is the mean shift of the log odds towards the right label by the member, over about the last 2,000
        examples. The gains of all members and of the stack's constant add up to the mean margin of the predictions.

        Returns
        -------
        Report
            A table (``print``) or a plot (``.plot(path)``).
        """
        node = self._node()
        paused, scales = node.n_resting, node.scales
        used = node.answering.weights[:-1][: len(node.parts)]
        weights = np.concatenate([used, np.zeros(len(node.parts) - used.size)])
        gains = scales.earned[:-1] / max(float(scales.earned[-1]), 1e-300)
        error = (1 - self.edges_) / 2
        columns: Columns = {"error alone": (error, "12.4f"), "weight": (weights, "+10.3f"), "gain": (gains, "+10.3f")}
        spec = self._check_fitted().spec
        names = [brief(part) for part in (spec._parts() if node.n_classes == 2 else spec._parts_for_classes())]
        active = len(names) - paused
        names = [name if k < active else f"{name} (paused)" for k, name in enumerate(names)]
        bars = gains / max(float(np.abs(gains).sum()), 1e-300)
        title = f"{type(self).__name__}, {len(names)} members"
        return Report(title, self.n_seen_, "member", names, columns, bars, None, self.verdict())


def _successor(model: OnlineClassifier, old: Any) -> Any:
    """A new node in the place of a node of another model, with the features known so far."""
    fresh: Any = model._new_node(0, old.settings.seed)
    old.leaves[0].succeeded_by(fresh.leaves[0])
    return fresh


def _seed(seed: int, k: int, part: OnlineClassifier) -> int:
    """The seed of member k; members of an inner ensemble get others."""
    return (seed + (1000 * (k + 1) if isinstance(part, Ensemble) else k)) % (1 << 63)


@dataclass(eq=False, repr=False)
class StackedEnsemble(Ensemble):
    """Different models on the same rows, combined by an online stacker that weights each by its recent performance.

    Parameters
    ----------
    estimators : list of estimators
        Boosters, learners or ensembles, but no boosters of Python objects.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    n_always_active : int or None, default=None
        Number of the first estimators that learn every row; the others are paused while they are slow and do not
        improve accuracy. None: all.
    random_state : int, NumPy generator or None, default=None
        Random seed of the estimators, in place of their own; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.
    on_drift : callable or None, default=None
        Function that is called with an ``Alarm(example, learner)`` soon after each drift alarm of an estimator that is
        reset on drift. It must not raise.

    Examples
    --------
    >>> from onlineboost import Linear, OnlineBBM, StackedEnsemble, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> products, trees = Linear(bins=16, crosses=True), OnlineBBM(Tree(8), head="stack", random_state=1)
    >>> [round(progressive_error(model, X, y), 3) for model in (products, trees)]
    [0.105, 0.08]
    >>> round(progressive_error(StackedEnsemble([products, trees], random_state=0), X, y), 3)
    0.077
    """

    _example: ClassVar[dict[str, Any]] = {"estimators": (Linear(),)}

    estimators: Sequence[Any]
    _: KW_ONLY
    n_always_active: int | None = None
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None
    on_drift: Callable[[Alarm], object] | None = None

    def _parts(self) -> list[OnlineClassifier]:
        if not isinstance(self.estimators, list | tuple) or not 1 <= len(self.estimators) <= MAX_PARTS:
            raise ParameterError("estimators", self.estimators, f"a list of 1 to {MAX_PARTS} models")
        for model in self.estimators:
            if not isinstance(model, OnlineClassifier):
                raise ParameterError("estimators", model, "boosters and learners of onlineboost")
        return [model.clone() for model in self.estimators]

    def _n_light(self) -> int:
        n = len(self.estimators)
        if self.n_always_active is None:
            return n
        return check_whole("n_always_active", self.n_always_active, 1, n)
