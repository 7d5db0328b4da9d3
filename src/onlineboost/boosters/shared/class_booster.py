"""Shared by boosters whose learners vote for classes."""

from __future__ import annotations

from typing import Any, ClassVar

from onlineboost.engine.object_classes import ClassObjectCommittee
from onlineboost.engine.objects import ObjectCommittee
from onlineboost.errors import ParameterError
from onlineboost.learners.base import WeakLearner
from onlineboost.learners.class_learner import ClassLearner, class_votes_committee
from onlineboost.learners.class_tree import ClassTree
from onlineboost.learners.copies import Copies
from onlineboost.loop.class_tally import temperature_head
from onlineboost.model import OnlineModel


class ClassBooster:
    """A booster of learners that vote for classes: one committee for any number of classes.

    A subclass has the state for a number of classes (``_state_for``), given that for fewer of them.
    """

    advice: ClassVar[str] = "OnlineBoost"
    learner_name: ClassVar[str] = "class-tree"
    _object_committee: ClassVar[type[ObjectCommittee]] = ClassObjectCommittee
    _compiled_committee = staticmethod(class_votes_committee)

    estimator: Any

    def _state_for(self, n_classes: int, n_learners: int, seed: int, before: Any = None) -> Any:
        """The state for this number of classes; ``before`` is the learned state for fewer."""
        raise NotImplementedError

    def _check_kernels(self) -> None:
        """No rehearsal, since votes are places of classes."""

    @classmethod
    def boosts(cls, learner: type) -> bool:
        """Whether it boosts compiled learners of a class; a hook for authors."""
        return issubclass(learner, ClassLearner)

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> Any:
        """The state before the first example; a hook for authors."""
        return self._state_for(2, n_learners, seed)

    def _base_learner(self) -> Any:
        """The weak learner, ready to form a committee."""
        if self.estimator is None:
            return ClassTree()
        inside = self.estimator.estimator if isinstance(self.estimator, Copies) else self.estimator
        if isinstance(inside, WeakLearner | OnlineModel) and not isinstance(self.estimator, ClassLearner):
            expected = "a learner that votes for classes: ClassTree, or a classifier of River or scikit-learn"
            raise ParameterError("estimator", self.estimator, expected)
        learner = self.estimator if isinstance(self.estimator, ClassLearner | Copies) else Copies(self.estimator)
        if isinstance(learner, Copies) and not learner.votes_for_classes:
            expected = "a multiclass learner; for binary learners use OnlineBBM or another booster"
            raise ParameterError("estimator", inside, expected)
        return learner

    def _with_classes(self, node: Any, n: int) -> Any:
        """The node for more classes: the same learners, from this row on."""
        settings = node.settings
        return node.with_classes(n, self._state_for(n, settings.n_learners, settings.seed, node.booster))

    def _new_head(self, n_learners: int) -> Any:
        return temperature_head()
