"""OnlineBoostClassifier, the default, and its short name OnlineBoost: linear learners, pairs of features, trees."""

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
from onlineboost.learners.ftrl import FTRLProximal
from onlineboost.learners.linear import Linear
from onlineboost.learners.naive_bayes import NaiveBayes
from onlineboost.learners.newton import Newton
from onlineboost.learners.tree import Tree
from onlineboost.parameters import check_bool, check_one_of, check_whole

Effort = Literal["low", "normal", "high"]
EFFORTS: tuple[Effort, ...] = ("low", "normal", "high")
_MB: dict[Effort, int] = {"low": 256, "normal": 512, "high": 2048}
_MB_BEFORE = 512  # memory of each member with trees, in models of older versions
_MEMORY_MB = 64  # maximum for kept rows
_SETTLING = 0.2
_CLASSES = 64  # with more than two classes, each gets one of so many shares of the trees' memory


@dataclass(eq=False, repr=False)
class OnlineBoostClassifier(Ensemble):
    """The default classifier, which needs no tuning: linear models and boosted trees under one stack.

    Good on tables and text, with and without concept drift, on short and long streams. One member learns all pairs of
    features, and another is reset when its error rises; trees are paused while they are slow and do not improve
    accuracy.

    Parameters
    ----------
    effort : {"low", "normal", "high"}, default="normal"
        Number and size of the members: a higher effort takes more time and makes fewer errors.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    pairs : bool, default=True
        Whether one member learns all pairs of features (``FTRLProximal``), in rows of at most 48 features. False is
        also the ensemble of older versions: Newton forgets at one rate, and trees are paused on long rows only.
    memory : bool, default=True
        Whether one member keeps the last rows, as bins, and learns them more than once (``BatchBoost``); not with
        ``effort="low"``. A saved model contains these rows, unless it is saved with ``memory=False``.
    max_mb : int or None, default=None
        Memory in megabytes: half of it for histograms of trees, a quarter for weights of pairs, an eighth for the kept
        rows (at most 64, and as much again for a training). Linear members always have room for 262,144 features. None:
        256, 512 or 2,048 by ``effort``; 0: 512 for each member with trees, and for pairs.
    steady : bool, default=True
        Whether the stack and the batch trees adapt more slowly where one of two labels is rare, and weights of frequent
        features settle (``FTRLProximal``). False is the behavior of older versions.
    random_state : int, NumPy generator or None, default=None
        Random seed; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.
    on_drift : callable or None, default=None
        Function that is called with an ``Alarm(example, learner)`` soon after each drift alarm. It must not raise.

    Examples
    --------
    >>> from onlineboost import OnlineBoost
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(OnlineBoost(random_state=0), X, y), 3)
    0.051
    """

    _absent: ClassVar[dict[str, Any]] = {"steady": False, "pairs": False, "memory": False, "max_mb": 0}

    effort: Effort = "normal"
    _: KW_ONLY
    pairs: bool = True
    memory: bool = True
    max_mb: int | None = None
    steady: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None
    on_drift: Callable[[Alarm], object] | None = None

    def _parts(self) -> list[OnlineClassifier]:
        return [*self._light(), *_TREES[check_effort(self.effort)](self._tree_mb(1)), *self._small()]

    def _parts_for_classes(self) -> list[OnlineClassifier]:
        mb = self._tree_mb(_CLASSES)
        trees = _TREES[self.effort](mb)
        if self.effort == "normal":
            trees[-1] = OnlineBBM(Tree(10, max_mb=mb), 21, head="stack")
        return [*self._light(), *trees, *self._small()]

    def _small(self) -> list[OnlineClassifier]:
        """Members for few features and few rows, and the memory; Newton of older versions forgets at one rate."""
        mb = min(max(self._mb() // 8, 1), _MEMORY_MB) if self._mb() else _MEMORY_MB
        keeps = check_bool("memory", self.memory) and self.effort != "low"
        memory = [BatchBoost(max_mb=mb, gentle=self._stacks_steadily())] if keeps else []
        return [Newton(steady=check_bool("pairs", self.pairs)), NaiveBayes(), *memory]

    def _mb(self) -> int:
        """Megabytes for the whole model; 0: no limit."""
        if self.max_mb is None:
            return _MB[check_effort(self.effort)]
        return check_whole("max_mb", self.max_mb, 0, 1 << 20)

    def _memory_limit(self) -> int | None:
        return self.max_mb or None

    def _tree_mb(self, n: int) -> int:
        """Megabytes for the histograms of each member with trees, per class: half of all."""
        if not self._mb():
            return _MB_BEFORE
        return max(self._mb() // (2 * _N_TREES[self.effort] * n), 1)

    def _n_light(self) -> int:
        return len(self._light())

    def _number_of(self, k: int) -> int:
        """The other members have the same seeds as without pairs."""
        first = len(_linear())
        if not self.pairs or k < first:
            return k
        return k - 1 if k > first else len(self._parts()) - 1

    def _stacks_steadily(self) -> bool:
        return check_bool("steady", self.steady)

    def _rests_on_short_rows(self) -> bool:
        return bool(self.pairs)

    def _light(self) -> list[OnlineClassifier]:
        mb = max(self._mb() // 4, 1) if self._mb() else _MB_BEFORE
        pairs = FTRLProximal(settling=_SETTLING if self._stacks_steadily() else 0.0, max_mb=mb)
        return [*_linear(), pairs] if check_bool("pairs", self.pairs) else _linear()


OnlineBoost = OnlineBoostClassifier


def check_effort(effort: Any) -> Effort:
    check_one_of("effort", effort, EFFORTS)
    return effort  # type: ignore[no-any-return]


def _linear() -> list[OnlineClassifier]:
    return [
        OnlineBBM(Linear(standardize=True), 21, head="stack"),
        Linear(standardize=True, learning_rate=32.0),
        Linear("logistic", standardize=True),
        Linear(),
    ]


def _few_trees(mb: int) -> list[OnlineClassifier]:
    return [Restarting(OnlineBBM(Tree(8, max_mb=mb), 11, head="stack"))]


def _trees(mb: int) -> list[OnlineClassifier]:
    return [
        Restarting(OnlineBBM(Tree(8, max_mb=mb), 21, head="stack")),
        OnlineBBM(Tree(5, bins=64, max_mb=mb), 21, head="stack"),
    ]


def _many_trees(mb: int) -> list[OnlineClassifier]:
    return [
        Restarting(SafeBoost(Tree(8, max_mb=mb), 63)),
        OnlineBBM(Tree(5, bins=64, max_mb=mb), 21, head="stack"),
        OnlineBBM(Tree(12, leaf_prediction="majority", max_mb=mb), 31, head="stack"),
        OnlineBBM(Tree(3, max_mb=mb), 31, head="stack"),
        Linear(bins=16),
    ]


_TREES: dict[Effort, Callable[[int], list[OnlineClassifier]]] = {
    "low": _few_trees,
    "normal": _trees,
    "high": _many_trees,
}
_N_TREES: dict[Effort, int] = {"low": 1, "normal": 2, "high": 4}  # members with trees
