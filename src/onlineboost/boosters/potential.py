"""The potential family (section 3.1 of the paper): boosting from any terminal potential.

| paper | here | meaning |
| --- | --- | --- |
| Phi_N(s) | ``terminal`` | cost of a final margin s: non-increasing, and at least 1 for s <= 0 to bound mistakes |
| Phi_i(s) | | the expected cost if a coin decides the votes after learner i |
| w^i(s) = (Phi_i(s-1) - Phi_i(s+1)) / 2 | ``row[c]`` | weight for learner i if c votes before it were right |

The recursion is computed on the weights, which obey the same recursion as the potentials. Sums of positive terms lose
no digits; differences of potentials would lose all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from onlineboost.boosters.base import ADVICE_ON_GAMMA, COMMON, GAMMA, HEAD, Booster, Delivery
from onlineboost.boosters.online_bbm import OnlineBBMState, round, vote
from onlineboost.boosters.shared.coin import NEGLIGIBLE, Coin, bias
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats, Ints
from onlineboost.errors import ParameterError
from onlineboost.loop.explaining import credit_sum
from onlineboost.loop.heads import HeadName
from onlineboost.registry import Option

Named = Literal["zero-one", "fair-ties", "logistic", "hinge", "exponential"]
Terminal = Named | Callable[[Floats], Floats] | Floats

_POTENTIALS: dict[str, Callable[[Floats], Floats]] = {
    "zero-one": lambda s: (s <= 0).astype(float),
    "fair-ties": lambda s: ((s < 0).astype(float) + (s <= 0)) / 2,
    "logistic": lambda s: np.logaddexp(0, -s) / math.log(2),
    "hinge": lambda s: np.maximum(0, 1 - s),
}


_TERMINAL = Option(
    "terminal", "Loss of the final margin, from which weights are computed.", choices=(*_POTENTIALS, "exponential")
)


@dataclass(eq=False, repr=False)
class PotentialBoost(
    Booster,
    name="potential",
    title="Potential boosting",
    options=(*COMMON, GAMMA, HEAD, _TERMINAL),
    state=OnlineBBMState,
    vote=vote,
    round=round,
    credit=credit_sum,
):
    """Online BBM for any loss of the final margin, such as logistic or hinge.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``. Any online classifier of River or scikit-learn works as well.
    n_estimators : int, default=21
        Number of weak learners.
    gamma : float, default=0.1
        Assumed edge of the weak learners over guessing, above 0 and below 1/2.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    terminal : str, callable or array, default="zero-one"
        Loss Phi_N of the final margin (terminal potential): "zero-one" (Online BBM itself), "fair-ties" (a tie costs
        half), "logistic", "hinge" or "exponential"; a function of an array of margins; or its N + 1 values at -N, -N +
        2, ..., N.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
    coin : "auto" or float, default="auto"
        Probability of heads. "auto" is 1/2 + gamma with importance weights and 1/2 + gamma/2 with sampling.
    head : {"vote", "stack"}, default="vote"
        Final score: the algorithm's own vote ("vote"), or a logistic regression on the votes, learned online ("stack").
    random_state : int, NumPy generator or None, default=None
        Random seed, for sampling; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.

    Examples
    --------
    >>> from onlineboost import PotentialBoost
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> model = PotentialBoost(terminal="fair-ties", n_estimators=20)
    >>> print(f"{progressive_error(model, X, y):.3f}")
    0.310
    """

    advice = ADVICE_ON_GAMMA

    estimator: Any = None
    n_estimators: int = 21
    gamma: float = 0.1
    _: KW_ONLY
    terminal: Terminal = "zero-one"
    delivery: Delivery = "auto"
    coin: Coin = "auto"
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> OnlineBBMState:
        b = bias(self.coin, self.gamma, sampled)
        return potential_table(*self._last_weights(n_learners, b), b)

    def _last_weights(self, N: int, b: float) -> tuple[Floats, Ints]:
        """w^N at the margins 2c - (N - 1), as mantissas and exponents."""
        if isinstance(self.terminal, str) and self.terminal == "exponential":
            eta = math.log(b / (1 - b)) / 2  # the steepest for which Phi_0 = (2 sqrt(b q))^N
            log2 = -eta * (2 * np.arange(N) - (N - 1)) / math.log(2)
            return np.exp2(log2 - np.floor(log2)), np.floor(log2).astype(np.int64)
        values = self._values(N)
        weights = (values[:-1] - values[1:]) / 2
        if not (np.isfinite(values).all() and (weights >= 0).all() and weights.any()):
            raise ParameterError("terminal", self.terminal, "a potential that is finite, non-increasing, not constant")
        return _normalized(weights, np.zeros(N, np.int64))

    def _values(self, N: int) -> Floats:
        s = np.arange(-N, N + 1, 2, dtype=float)
        if isinstance(self.terminal, str):
            if self.terminal not in _POTENTIALS:
                raise ParameterError("terminal", self.terminal, f"one of {', '.join(_POTENTIALS)}, exponential")
            return _POTENTIALS[self.terminal](s)
        values = self.terminal(s) if callable(self.terminal) else self.terminal
        values = np.asarray(values, float)
        if values.shape != s.shape:
            raise ParameterError("terminal", self.terminal, f"{N + 1} values, one for each of -N, -N + 2, ..., N")
        return values

    def _saved_params(self) -> dict[str, Any]:
        params = super()._saved_params()
        return params | ({"terminal": self._values(int(self.n_estimators))} if callable(self.terminal) else {})


def potential_table(mantissa: Floats, exponent: Ints, b: float) -> OnlineBBMState:
    """All learners' weights from the last one's: w^{i-1}(s) = q w^i(s - 1) + b w^i(s + 1); each row's maximum is 1."""
    N = mantissa.size
    rows = np.arange(1, N + 1)
    start = rows * (rows - 1) // 2
    table = filled(0, int(rows.sum()))
    for i in range(N, 0, -1) if not planning() else ():
        top = exponent.max()
        row = np.ldexp(mantissa, exponent - top)
        row /= row.max()
        row[row < NEGLIGIBLE] = 0
        table[start[i - 1] : start[i - 1] + i] = row[::-1]  # k falls as c grows
        left = (1 - b) * mantissa[:-1], exponent[:-1]
        right = b * mantissa[1:], exponent[1:]
        mantissa, exponent = _add(*left, *right)
    low = N // 2 - rows + 1  # k = N // 2 - c for c = i - 1, ..., 0
    return OnlineBBMState(table, start - low, low, np.full(N, N // 2))


def _add(m1: Floats, e1: Ints, m2: Floats, e2: Ints) -> tuple[Floats, Ints]:
    """Sums of numbers given as mantissa and binary exponent, whose range is unlimited."""
    e = np.maximum(e1, e2)
    return _normalized(np.ldexp(m1, e1 - e) + np.ldexp(m2, e2 - e), e)


def _normalized(mantissa: Floats, exponent: Ints) -> tuple[Floats, Ints]:
    mantissa, shift = np.frexp(mantissa)
    return mantissa, np.where(mantissa == 0, -(1 << 30), exponent + shift)
