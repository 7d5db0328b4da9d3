"""The base classes of weak learners: each is a model by itself, and creates committees of N copies."""

from __future__ import annotations

import inspect
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np

from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot
from onlineboost.data.arrays import copied
from onlineboost.data.batch import Batch, Floats
from onlineboost.engine.classes import one_committee
from onlineboost.engine.committee import Committee, new_committee
from onlineboost.loop.heads import new_head
from onlineboost.loop.link import Alone
from onlineboost.loop.record import Settings
from onlineboost.model import OnlineModel
from onlineboost.parameters import defaults
from onlineboost.registry import LEARNERS, Entry, Option
from onlineboost.transforms.bins import Bins
from onlineboost.transforms.chain import Transform, Transforms


def _missing(*arguments: Any) -> None:
    """The default of a required compiled function."""


@hot
def _nothing_to_note(state: Any, work: Any, batch: Batch, r: int) -> None:
    pass


@hot
def _never_full(state: Any) -> bool:
    return False


_KERNELS = "workspace", "predict", "learn", "forget", "meet", "full", "carry", "pull", "explain"


def kernels_of(module: str) -> dict[str, Any]:
    """The compiled functions of a learner by name, in the module of this name."""
    found = vars(sys.modules[module])
    return {name: found[name] for name in _KERNELS if name in found}


class WeakLearner(OnlineModel):
    """Common base of weak learners for classification and regression; see ``Learner``."""

    prefers: ClassVar[Literal["weight", "sample"]]
    """Preferred delivery: importance weights or sampling."""

    replay: int = 0
    """Number of first rows that are kept and replayed while the stream is young."""

    linear: ClassVar[bool] = False
    """Whether the model is linear in the features: it then gains little from boosting."""

    pooled: ClassVar[tuple[str, ...]] = ()
    """Arrays of a committee in which each learner uses its own places."""

    youth: ClassVar[int] = 0
    """Number of first rows that may pause the loop, so that the committee gets more room."""

    takes_missing: ClassVar[bool] = False
    """Whether rows keep missing values as NaN; otherwise they are left out."""

    axes: ClassVar[dict[str, int]] = {}
    """Arrays of a committee with a place for each learner, and the axis; empty: it cannot be divided."""

    grain: ClassVar[int] = 1
    """Committees are divided at multiples of this number of learners, by default."""

    several_classes: ClassVar[bool] = False
    """Whether single learners for several classes form one committee, which runs shared transforms once."""

    gives_odds: ClassVar[bool] = False
    """Whether the votes of a single learner are log odds; others need Platt scaling in an ensemble."""

    workspace: ClassVar[Callable[[Any, int], Any]]
    """Scratch memory for rows of a length, separate from the committee."""

    strength: ClassVar[str] = "mean weight times largest magnitude"
    """The measure of ``strengths``, as a text."""

    def __init_subclass__(
        cls,
        *,
        state: type | None = None,
        workspace: Callable[..., Any] = _missing,
        predict: Callable[..., None] = _missing,
        learn: Callable[..., None] = _missing,
        forget: Callable[..., None] | None = None,
        meet: Callable[..., None] | None = None,
        full: Callable[..., bool] | None = None,
        carry: Callable[..., None] | None = None,
        pull: Callable[..., None] | None = None,
        explain: Callable[..., int] | None = None,
        name: str = "",
        options: tuple[Option, ...] = (),
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        if WeakLearner in cls.__bases__ or (state is None and hasattr(cls, "workspace")):  # abstract, or derived
            return
        if state is None or _missing in (workspace, predict, learn):
            raise TypeError("a learner names its state, workspace, predict and learn: class Mine(Learner, state=...)")
        if "y" in inspect.signature(getattr(learn, "py_func", learn)).parameters:
            raise TypeError("learn takes targets t, one for each learner, in the place of y: learn(..., r, h, t, p)")
        cls.workspace = staticmethod(getattr(workspace, "py_func", workspace))
        dispatch.own(state, cls)
        dispatch.register(dispatch.predict, state, predict)
        dispatch.register(dispatch.learn, state, learn)
        dispatch.register(dispatch.meet, state, meet or _nothing_to_note)
        dispatch.register(dispatch.full, state, full or _never_full)
        if carry is not None:
            dispatch.register(dispatch.carry, state, carry)
        if pull is not None and explain is not None:
            dispatch.register(dispatch.pull, state, pull)
            dispatch.register(dispatch.explain, state, explain)
        if forget is not None:
            dispatch.register(dispatch.forget, state, forget)
        if name:
            LEARNERS.add(Entry(name, cls, cls.__name__, options))

    @classmethod
    def _author_hooks(cls) -> frozenset[str]:
        """All names of learners except parameters and those of every model."""
        kinds = [kind for kind in cls.__mro__ if issubclass(kind, OnlineModel) and not issubclass(kind, WeakLearner)]
        of_models = {name for kind in kinds for name in dir(kind)} | defaults(cls).keys()
        ours = (kind for kind in cls.__mro__ if kind.__module__.startswith("onlineboost."))
        names = {name for kind in ours for name in vars(kind) if not name.startswith("_")}
        return frozenset(names - of_models)

    @classmethod
    def from_options(cls, **given: Any) -> Self:
        """A learner from options of the command line."""
        return cls(**given)

    @abstractmethod
    def committee(self, n_learners: int, n_features: int) -> Any:
        """The initial state of ``n_learners`` copies side by side. Raises an error for wrong parameters."""

    @abstractmethod
    def grow(self, committee: Any, n_features: int) -> Any:
        """The same committee with room for ``n_features``; its size must depend on ``n_features`` only."""

    def capacity(self, committee: Any) -> int:
        """Number of features that fit without ``grow``; 0: unknown."""
        return 0

    def part(self, committee: Any, first: int, last: int) -> Any:
        """The learners from ``first`` to ``last`` as a committee.

        It is a view of the whole where possible; all parts but the first have copies of shared arrays.
        """
        n = self.size(committee)

        def mine(name: str, value: Any) -> Any:
            if not isinstance(value, np.ndarray) or name not in self.axes:
                return value if first == 0 or name in self.pooled else copied(value)
            each = value.shape[self.axes[name]] // n
            span = [slice(None)] * self.axes[name] + [slice(first * each, last * each)]
            return np.ascontiguousarray(value[tuple(span)])

        return type(committee)(*(mine(name, value) for name, value in zip(committee._fields, committee, strict=True)))

    def put(self, committee: Any, part: Any, first: int, last: int) -> None:
        """Copy back the arrays of a part that are not views of the whole committee."""
        n = self.size(committee)
        for name, axis in self.axes.items():
            whole, mine = getattr(committee, name), getattr(part, name)
            if axis:
                each = whole.shape[axis] // n
                whole[(slice(None),) * axis + (slice(first * each, last * each),)] = mine

    def apart(self, committee: Any, first: int, last: int) -> Any:
        """A part with memory of its own, to be sent to another machine."""
        return copied(self.part(committee, first, last))

    def joined(self, parts: list[Any], sizes: list[int]) -> Any:
        """The whole committee, from parts made by ``apart``; shared arrays are the same in all parts."""
        first = parts[0]
        made = {name: np.concatenate([getattr(part, name) for part in parts], axis) for name, axis in self.axes.items()}
        return first._replace(**made)

    def further(self, committee: Any, n_learners: int, n_features: int) -> Any:
        """New learners, to be joined to a committee."""
        return self.committee(n_learners, n_features)

    def size(self, committee: Any) -> int:
        """Number of learners of a committee that can be divided."""
        name = next(iter(self.axes))
        return int(getattr(committee, name).shape[self.axes[name]])

    def with_room_for(self, committee: Any, rows: Batch) -> tuple[Any, Batch]:
        """The committee with room for the features of the first rows, and those rows."""
        return committee, rows

    def row_room(self, committee: Any) -> int:
        """Number of slots that the committee has room for at once."""
        return 1 << 62

    def known(self, committee: Any, rows: Batch) -> Batch:
        """The rows without features beyond the room of the committee."""
        return rows

    def bins_of(self, committee: Any, transforms: Transforms) -> Bins | None:
        """The bins of the features, if the learner has any."""
        return None

    def settle(self, committee: Any, transform: Transform) -> None:
        """Adapt to a change of a transform; called after the transformed rows are learned."""

    def trimmed(self, committee: Any) -> Any:
        """The committee, or a copy of it, without unused room."""
        return committee

    def check_states(self, committee: Any) -> None:
        """Raise an ``InvalidStateError`` unless the states within a committee fit together."""

    def n_kept(self, committee: Any) -> int:
        """Number of rows that the committee keeps to learn them again."""
        return 0

    def without_rows(self, committee: Any) -> Any:
        """A trimmed committee without the rows that it keeps."""
        return committee

    def refitted(self, committee: Any) -> Any:
        """The same committee with more room, called when it is full."""
        raise NotImplementedError

    def room(self, committee: Any) -> tuple[int, ...]:
        """The sizes of a committee that follow neither from the parameters nor from the number of slots."""
        return ()

    def in_room(self, committee: Any, room: Any) -> Any:
        """A new committee with this room; raises an error if that is impossible."""
        return committee

    def transforms_in(self, transforms: Transforms, committee: Any) -> Transforms:
        """Transforms with the room of a committee."""
        return transforms

    def enlarged(self, committee: Any, transforms: Transforms) -> tuple[Any, Transforms]:
        """Committee and transforms, enlarged if the last row requires it; otherwise the same objects."""
        return committee, transforms

    def strengths(self, committee: Any, n_learners: int) -> Floats | None:
        """The influence of each feature on the answer, with its sign; None if the learner has no such measure."""
        return None

    def means(self, committee: Any) -> Floats:
        """The mean vote below each node, [trees, nodes], by which splits are explained; empty if there are none."""
        return np.empty((0, 0))

    def n_terms(self, committee: Any, rows: Batch) -> int:
        """Maximum number of terms in the explanation of a row."""
        return int(rows.indptr[-1] - rows.indptr[0])

    def unused(self, committee: Any) -> int:
        """Reserved bytes that are not used yet."""
        return 0

    def is_full(self, committee: Any, transforms: Any) -> bool:
        """Whether the memory limit is reached."""
        return False

    def n_seen(self, committee: Any) -> int | None:
        """Number of different features seen so far; None if the learner does not count them."""
        return None

    def needs_names(self) -> bool:
        """Whether ``name_features`` makes a difference."""
        return False

    def name_features(self, transforms: Transforms, names: Mapping[int, str]) -> None:
        """Give the names of features, by slot, to the transforms that need them."""

    def unmet_columns(self, names: Iterable[str]) -> list[str]:
        """Columns named by parameters that are not among these features."""
        return []

    def slot_limit(self) -> int:
        """Number of features with slots of their own; further ones share slots by hashing."""
        return int(getattr(self, "max_slots", 1 << 18))

    def row_limit(self) -> int | None:
        """Maximum number of features in a row; None: no limit."""
        return None

    def separate(self, n_learners: int, n_features: int) -> bool:
        """Whether learners of a committee do not affect each other: the first n are a committee of n, bit for bit."""
        return False

    def transforms(self, n_features: int) -> Transforms:
        """The initial states of the transforms applied to rows before the committee."""
        return ()

    def _base_learner(self) -> Any:
        return self


class Learner(WeakLearner, OnlineClassifier):
    """A compiled weak learner; base class for authors of learners.

    A subclass names its state class and three compiled functions,

    ``class Mine(Learner, state=MineState, workspace=workspace, predict=predict, learn=learn)``

    and overrides the hooks ``committee`` and ``grow``, which make and enlarge the state of N copies side by side. With
    ``name="mine"`` and ``options=(...)`` it is available on the command line: ``onlineboost train --learner mine``.

    A fourth function, ``forget=forget``, is needed to reset single learners on concept drift (``Adaptive``). Two more,
    ``pull=pull`` and ``explain=explain`` (``compiled/dispatch.py``), are needed to explain predictions.

    All other methods that boosters do not have are hooks with a default as well. The engine calls them; users do not.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.

    Attributes
    ----------
    prefers : {"weight", "sample"}
        Hook for authors: preferred delivery, importance weights or sampling.
    linear : bool, default=False
        Hook for authors: whether the model is linear in the features, so that boosting gains little.
    takes_missing : bool, default=False
        Hook for authors: whether rows keep missing values, as NaN; otherwise they are left out.

    Examples
    --------
    >>> from onlineboost import Tree
    >>> from onlineboost.extend import Learner
    >>> isinstance(Tree(), Learner), len(Tree().committee(3, 4).nodes)
    (True, 3)
    """

    def _new_node(self, n_features: int, seed: int | None = None) -> Committee:
        settings = Settings(n_learners=1, hard=False, sample=False, seed=0, scan=True)
        found: Committee = new_committee(self, Alone(1), new_head("vote", 1), n_features, settings)
        return found

    def _with_classes(self, node: Any, n: int) -> Any:
        return one_committee(node, n) if self.several_classes else super()._with_classes(node, n)
