"""The base class of weak learners that vote for one of K classes; each is a classifier by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot
from onlineboost.data.batch import Floats
from onlineboost.engine.class_votes import ClassVotesCommittee
from onlineboost.engine.committee import new_committee
from onlineboost.learners.base import WeakLearner
from onlineboost.loop.class_tally import temperature_head
from onlineboost.loop.explaining_classes import credit_classes
from onlineboost.loop.record import Settings


class AloneOfClassesState(NamedTuple):
    """The state without a booster: one learner gets every example with its own weight. It has no ``round``."""

    n: int


@hot
def credit(state: AloneOfClassesState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    credit_classes(slopes)


dispatch.register(dispatch.credit, AloneOfClassesState, credit)


class ClassLearner(WeakLearner, OnlineClassifier):
    """A compiled weak learner that votes for one of many classes; base class for authors of learners.

    It is written like a ``Learner``, but its targets ``t`` and its votes ``h`` are places of classes, from 0 on.
    ``OnlineMBBM`` and ``AdaBoostOLM`` boost it.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.

    Examples
    --------
    >>> from onlineboost import ClassTree
    >>> from onlineboost.extend import ClassLearner
    >>> isinstance(ClassTree(), ClassLearner), ClassTree().max_classes
    (True, 100)
    """

    def __init_subclass__(
        cls, *, state: type | None = None, explain: Callable[..., None] | None = None, **keywords: Any
    ) -> None:
        super().__init_subclass__(state=state, **keywords)
        if state is not None and explain is not None:
            dispatch.register(dispatch.explain_classes, state, explain)

    @abstractmethod
    def more_classes(self, committee: Any, n: int) -> Any:
        """The same committee for n classes; new committees have two."""

    def _new_node(self, n_features: int, seed: int | None = None) -> ClassVotesCommittee:
        settings = Settings(n_learners=1, hard=False, sample=False, seed=0)
        return class_votes_committee(self, AloneOfClassesState(1), temperature_head(), n_features, settings)

    def _with_classes(self, node: Any, n: int) -> ClassVotesCommittee:
        found: ClassVotesCommittee = node.with_classes(n, node.booster)
        return found


def class_votes_committee(
    learner: ClassLearner, booster: Any, head: Any, n_features: int, settings: Settings
) -> ClassVotesCommittee:
    """The node of a committee whose learners vote for classes, before a third class."""
    states = learner, booster, head, n_features, settings
    node: ClassVotesCommittee = new_committee(*states, kind=ClassVotesCommittee)
    return node
