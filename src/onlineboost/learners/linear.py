"""Linear: the default learner of Vowpal Wabbit, for any number of learners at once.

A linear score over the features and a constant, learned by adaptive (AdaGrad), normalized, importance-invariant
gradient steps: Karampatziakis and Langford (2011); Ross, Mineiro and Langford (2013).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from onlineboost.data.allocation import filled, lengthened, roomy
from onlineboost.data.arrays import isolated
from onlineboost.data.batch import Floats, Floats32
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.learners import linear_kernels
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.learners.linear_kernels import ALONE, BLOCK, LinearState
from onlineboost.parameters import check_between, check_one_of
from onlineboost.registry import Option
from onlineboost.transforms.bins import BINS, FIRST, Bins
from onlineboost.transforms.chain import Transform, Transforms
from onlineboost.transforms.crosses import (
    CROSSES,
    MAX_CROSSED,
    CrossesState,
    all_pairs,
    check_crosses,
    columns_not_met,
    crossed_columns,
    n_output_features,
    n_products,
    name_columns,
    new_crosses,
)
from onlineboost.transforms.indicators import IndicatorsState, new_indicators
from onlineboost.transforms.slots import BITS
from onlineboost.transforms.standardize import STANDARDIZE, new_standardize

LEARNING_RATE = Option("learning_rate", "Learning rate.", float, tried=(0.1, 0.5, 2.0))
_OPTIONS = (
    Option("loss", "Loss function.", choices=("squared", "logistic")),
    LEARNING_RATE,
    Option("power_t", "Decay exponent of the learning rate, 0 to 1.", float),
)


@dataclass(eq=False, repr=False)
class Linear(
    Learner,
    name="linear",
    options=(*_OPTIONS, STANDARDIZE, BINS, *CROSSES, BITS),
    state=LinearState,
    **kernels_of(linear_kernels.__name__),
):
    """Linear classifier, the default weak learner: the same as Vowpal Wabbit's, to the last digit.

    Parameters
    ----------
    loss : {"squared", "logistic"}, default="squared"
        Loss: "squared" (scores are clipped to [-1, 1]) or "logistic" (to [-50, 50]).
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    learning_rate : float, default=0.5
        Step size.
    power_t : float, default=0.5
        Exponent by which the step size of a feature decreases with the sum of its squared gradients.
    standardize : bool, default=False
        Whether features are centered and bounded online (rule: ``transforms/standardize.py``).
    bins : int, default=0
        Number of bins of a feature, a power of two: each dense feature becomes one indicator per bin (rule:
        ``transforms/indicators.py``). 0: features as they are. Cannot be combined with ``standardize``.
    crosses : bool or list of pairs, default=False
        Products of two features as new features: True for all pairs, or a list of pairs of columns, by name or number.
    bits : int, default=18
        At most 2**bits features have slots of their own; further features share slots by a hash. Products, too.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(Linear(), X, y), 3)
    0.307
    >>> round(progressive_error(Linear(bins=16, crosses=True), X, y), 3)
    0.105
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    linear: ClassVar[bool] = True
    axes: ClassVar[dict[str, int]] = {"numbers": 2}
    grain: ClassVar[int] = 16  # a cache line
    several_classes: ClassVar[bool] = True

    loss: Literal["squared", "logistic"] = "squared"
    _: KW_ONLY
    learning_rate: float = 0.5
    power_t: float = 0.5
    standardize: bool = False
    bins: int = 0
    crosses: bool | Sequence[tuple[str | int, str | int]] = False
    bits: int = 18

    @classmethod
    def from_options(cls, **given: Any) -> Self:
        """A learner from options of the command line; without bins, features are standardized by default."""
        pairs = given.pop("cross", None)
        if pairs and given.get("crosses"):
            raise ConflictError("--cross has no effect with --crosses, which multiplies all pairs.")
        if pairs:
            given["crosses"] = pairs
        return cls(**{"standardize": not given.get("bins"), **given})

    def committee(self, n_learners: int, n_features: int) -> LinearState:
        check_one_of("loss", self.loss, ("squared", "logistic"))
        check_between("learning_rate", self.learning_rate, 0, math.inf)
        if not isinstance(self.power_t, numbers.Real) or not 0 <= float(self.power_t) <= 1:
            raise ParameterError("power_t", self.power_t, "a number from 0 to 1")
        if not isinstance(self.standardize, bool | np.bool_):
            raise ParameterError("standardize", self.standardize, "True or False")
        check_crosses(self.bins, self.crosses, self.bits)
        if self.bins and self.standardize:
            raise ParameterError("standardize", self.standardize, "False with bins, for which scales do not matter")
        block = BLOCK if n_learners > 1 else ALONE
        lanes = -(-n_learners // len(block)) * len(block)
        rows = self._n_rows(n_features)
        return LinearState(
            numbers=roomy((rows, 3, _stride(lanes))),
            norm_sum=filled(0, lanes),
            weight_sum=filled(0, lanes),
            lane=0,
            block=block,
            learning_rate=float(self.learning_rate),
            power_t=float(self.power_t),
            logistic=self.loss == "logistic",
        )

    def strengths(self, committee: LinearState, n_learners: int) -> Floats | None:
        """The learners' mean weight times the largest magnitude of the feature."""
        mean: Floats = committee.weights[1:, 0, :n_learners].mean(axis=1, dtype=np.float64)
        largest: Floats32 = committee.scale[1:, :n_learners].max(axis=1)
        return mean * largest.astype(np.float64)

    def n_seen(self, committee: LinearState) -> int | None:
        return int(np.count_nonzero(committee.scale[1:].any(axis=1)))

    def transforms(self, n_features: int) -> Transforms:
        bins, products = int(self.bins), n_products(self.crosses, self.bits)
        scaled: Transforms = (new_standardize(n_features),) if self.standardize else ()
        binned: Transforms = (new_indicators(n_features, bins, steady=products > 0),) if bins else ()
        crossed: Transforms = (new_crosses(n_features, bins, self.crosses, int(self.bits)),) if products else ()
        return scaled + binned + crossed

    def bins_of(self, committee: LinearState, transforms: Transforms) -> Bins | None:
        found = (transform.bins for transform in transforms if isinstance(transform, IndicatorsState))
        return next(found, None)

    def settle(self, committee: LinearState, transform: Transform) -> None:
        if isinstance(transform, IndicatorsState):
            transform.settle(committee.numbers, 1 + n_products(self.crosses, self.bits))

    def separate(self, n_learners: int, n_features: int) -> bool:
        return True

    def needs_names(self) -> bool:
        return bool(crossed_columns(self.crosses))

    @property
    def replay(self) -> int:  # type: ignore[override]
        """The rows before there are bins are learned when there are."""
        return FIRST if self.bins else 0

    def name_features(self, transforms: Transforms, names: Mapping[int, str]) -> None:
        for transform in transforms:
            if isinstance(transform, CrossesState):
                name_columns(transform, self.crosses, names)

    def unmet_columns(self, names: Iterable[str]) -> list[str]:
        return columns_not_met(self.crosses, names)

    def slot_limit(self) -> int:
        return 1 << int(self.bits)

    def row_limit(self) -> int | None:
        return MAX_CROSSED if all_pairs(self.crosses) else None

    def _n_rows(self, n_features: int) -> int:
        """Number of rows of weights: a power of two, beyond the number of features after the transforms."""
        products = n_products(self.crosses, int(self.bits))
        return 1 << n_output_features(n_features, bins=int(self.bins), products=products).bit_length()

    def part(self, committee: LinearState, first: int, last: int) -> LinearState:
        """Whole blocks of lanes have the memory of all; others are copied."""
        width, lanes = len(committee.block), committee.norm_sum.size
        if first % width == 0 and (last % width == 0 or last + width > lanes):
            mine = slice(first, min(-(-last // width) * width, lanes))
            sums = isolated(committee.norm_sum[mine]), isolated(committee.weight_sum[mine])
            return committee._replace(norm_sum=sums[0], weight_sum=sums[1], lane=committee.lane + first)
        return self.apart(committee, first, last)

    def apart(self, committee: LinearState, first: int, last: int) -> LinearState:
        width = len(committee.block)
        part = _with_lanes(committee, -(-(last - first) // width) * width, committee.block)
        for mine, whole in _lanes(part, committee, first, last):
            mine[:] = whole
        return part

    def joined(self, parts: list[LinearState], sizes: list[int]) -> LinearState:
        n = sum(sizes)
        block = BLOCK if n > 1 else ALONE
        whole, first = _with_lanes(parts[0], -(-n // len(block)) * len(block), block), 0
        for part, size in zip(parts, sizes, strict=True):
            self.put(whole, part, first, first + size)
            first += size
        return whole

    def put(self, committee: LinearState, part: LinearState, first: int, last: int) -> None:
        for mine, whole in _lanes(part, committee, first, last):
            if mine.base is not whole.base:
                whole[:] = mine

    def capacity(self, committee: LinearState) -> int:
        return len(committee.numbers) - 1 if not self.bins else 0

    def grow(self, committee: LinearState, n_features: int) -> LinearState:
        rows = self._n_rows(n_features)
        longer = rows > len(committee.numbers)
        return committee._replace(numbers=lengthened(committee.numbers, rows)) if longer else committee


def _with_lanes(like: LinearState, lanes: int, block: tuple[int, ...]) -> LinearState:
    """Fresh learners over the features of others."""
    rows, stride = len(like.numbers), _stride(lanes)
    return like._replace(
        numbers=roomy((rows, 3, stride)),
        norm_sum=np.zeros(lanes),
        weight_sum=np.zeros(lanes),
        lane=0,
        block=block,
    )


def _lanes(part: LinearState, whole: LinearState, first: int, last: int) -> list[tuple[Any, Any]]:
    """The numbers of some learners in a part of a committee and in the whole."""
    mine, n = slice(first, last), last - first
    its = slice(part.lane, part.lane + n)
    return [
        (part.numbers[:, :, its], whole.numbers[:, :, mine]),
        (part.norm_sum[:n], whole.norm_sum[mine]),
        (part.weight_sum[:n], whole.weight_sum[mine]),
    ]


def _stride(lanes: int) -> int:
    """Memory for so many lanes: of many, whole cache lines, which two threads must not share."""
    return lanes if lanes < 64 else -(-lanes // 16) * 16
