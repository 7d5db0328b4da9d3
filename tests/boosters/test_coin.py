"""The table of Online BBM's weights is the formula, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import reference

from onlineboost import ParameterError
from onlineboost.boosters.online_bbm import weight_table
from onlineboost.boosters.shared.coin import bias
from onlineboost.boosters.shared.majority import weight_norms


@pytest.mark.parametrize("normalizer", ["reachable", "mode", "none"])
@pytest.mark.parametrize("N", [1, 2, 3, 21, 64, 100])
def test_every_weight_is_correctly_rounded(N, normalizer):
    """The nearest float64 of the exact quotient of whole numbers; within 1e-12 of a tie, either neighbor."""
    for gamma in (0.02, 0.1, 0.3, 0.49):
        b = 0.5 + gamma
        state = weight_table(N, b, normalizer, False)
        for i in range(1, N + 1):
            norm = reference.largest_weight(N, i, b, normalizer)
            for k in range(N - i + 1):
                if normalizer == "reachable" and not max(0, N // 2 - i + 1) <= k <= N // 2:
                    continue  # only real votes beyond -1 and +1 lead there
                weight, found = reference.coin_weight(N - i, k, b), state.table[state.start[i - 1] + k]
                exact = weight / norm
                if exact == found:
                    continue
                if exact < 1e-299:
                    assert found <= 1e-299
                    continue
                error = abs(Fraction(float(found)) - Fraction(weight, norm))
                assert error <= Fraction(math.ulp(exact)) * (Fraction(1, 2) + Fraction(1, 10**12))


@pytest.mark.parametrize("N", [1, 2, 64, 301])
def test_every_norm_is_correctly_rounded(N):
    """Against whole numbers, for which weights can be met and which of them is largest."""
    for b in (0.51, 0.6, 0.75, 0.99):
        for i, found in enumerate(weight_norms(N, 0.1, b), 1):
            exact = Fraction(reference.largest_weight(N, i, b, "reachable"), 2 * reference.SCALE ** (N - i))
            error = abs(Fraction(float(found)) - exact)
            assert error <= Fraction(math.ulp(float(found))) * (Fraction(1, 2) + Fraction(1, 10**12))


def test_lemma_normalizer_bounds_every_weight_by_one():
    for N in (2, 21, 301):
        for b in (0.51, 0.6, 0.75, 0.99):
            table = weight_table(N, b, "lemma", False).table
            assert table.min() >= 0 and table.max() <= 1


def test_lemma_normalizer_is_lemma_4():
    """A weight over 1 / sqrt(2 pi m b q), where that is a bound."""
    N, b = 51, 0.6
    raw, bounded = (weight_table(N, b, normalizer, True) for normalizer in ("none", "lemma"))
    for i in range(1, N):
        row = slice(raw.start[i - 1] + raw.low[i - 1], raw.start[i - 1] + raw.high[i - 1] + 1)
        factor = math.sqrt(2 * math.pi * (N - i) * b * (1 - b))
        assert bounded.table[row] == pytest.approx(factor * raw.table[row], rel=1e-14)


def test_bias():
    assert bias("auto", 0.2, sampled=True) == 0.6
    assert bias("auto", 0.2, sampled=False) == 0.7
    for coin in (0.5, 1.0, "heads", 0.2):
        with pytest.raises(ParameterError, match="coin="):
            bias(coin, 0.2, sampled=False)
