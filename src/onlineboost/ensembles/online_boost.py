"""OnlineBoost: the default, an ensemble of linear learners and boosted trees with nothing to choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.safe import SafeBoost
from onlineboost.classifier import OnlineClassifier
from onlineboost.ensembles.ensemble import Ensemble
from onlineboost.ensembles.restarting import Alarm, Restarting
from onlineboost.learners.batch_boost import BatchBoost
from onlineboost.learners.linear import Linear
from onlineboost.learners.naive_bayes import NaiveBayes
from onlineboost.learners.newton import Newton
from onlineboost.learners.tree import Tree
from onlineboost.parameters import check_bool, check_one_of

Effort = Literal["low", "normal", "high"]
EFFORTS: tuple[Effort, ...] = ("low", "normal", "high")
_MB = 512  # for the histograms of a part


@dataclass(eq=False, repr=False)
class OnlineBoost(Ensemble):
    """The default, nothing to choose: linear learners and boosted trees that see with different eyes, under one stack.

    Good on tables and text, on streams that stay as they are or change, on short and long ones. One part starts over
    when its error rises; trees rest where rows are long and they earn nothing.

    Parameters
    ----------
    effort : "low", "normal" or "high": more and larger parts take more time and err less
    memory : whether one part keeps the last rows, as bins, and learns them more than once (``BatchBoost``); not with
        "low". A saved model contains these rows, unless it is saved with ``memory=False``
    random_state : seed
    lag : number of last labels that are features of each row, ``label[-1]`` and so on; 0: none
    class_weight : factor of the weights of rows by their label: a dict, "balanced" (by how rare labels are), or None
    on_drift : function called with an ``Alarm(example, learner)`` soon after each alarm; it must not raise

    Examples
    --------
    >>> from onlineboost import OnlineBoost
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> round(progressive_score(OnlineBoost(random_state=0), X, y), 3)
    0.052
    """

    absent: ClassVar[dict[str, Any]] = {"memory": False}

    effort: Effort = "normal"
    _: KW_ONLY
    memory: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None
    on_drift: Callable[[Alarm], object] | None = None

    def parts(self) -> list[OnlineClassifier]:
        check_one_of("effort", self.effort, EFFORTS)
        parts = [*_linear(), *_TREES[self.effort]()]
        if check_bool("memory", self.memory) and self.effort != "low":
            parts.append(BatchBoost())
        return parts

    def parts_for_classes(self) -> list[OnlineClassifier]:
        parts = self.parts()
        if self.effort == "normal":
            parts[self.n_light() + 1] = OnlineBBM(Tree(10, max_mb=_MB), 21, head="stack")
        return parts

    def n_light(self) -> int:
        return len(_linear())


def _linear() -> list[OnlineClassifier]:
    return [
        OnlineBBM(Linear(standardize=True), 21, head="stack"),
        Linear(standardize=True, learning_rate=32.0),
        Linear("logistic", standardize=True),
        Linear(),
    ]


def _few_trees() -> list[OnlineClassifier]:
    return [Restarting(OnlineBBM(Tree(8, max_mb=_MB), 11, head="stack")), Newton(), NaiveBayes()]


def _trees() -> list[OnlineClassifier]:
    return [
        Restarting(OnlineBBM(Tree(8, max_mb=_MB), 21, head="stack")),
        OnlineBBM(Tree(5, bins=64, max_mb=_MB), 21, head="stack"),
        Newton(),
        NaiveBayes(),
    ]


def _many_trees() -> list[OnlineClassifier]:
    return [
        Restarting(SafeBoost(Tree(8, max_mb=_MB), 63)),
        OnlineBBM(Tree(5, bins=64, max_mb=_MB), 21, head="stack"),
        OnlineBBM(Tree(12, leaves="majority", max_mb=_MB), 31, head="stack"),
        OnlineBBM(Tree(3, max_mb=_MB), 31, head="stack"),
        Linear(bins=16),
        Newton(),
        NaiveBayes(),
    ]


_TREES: dict[Effort, Callable[[], list[OnlineClassifier]]] = {
    "low": _few_trees,
    "normal": _trees,
    "high": _many_trees,
}
