"""What the paper proves, as numbers: how many learners, how many examples, how many mistakes at most.

Theorems, lemmas and equations are counted as in Beygelzimer, Kale and Luo (2015).

>>> from onlineboost import theory
>>> theory.n_learners(0.1, 0.1), theory.n_learners(0.1, 0.1, coin="weight")
(163, 41)
"""

from onlineboost.theory.bounds import (
    Bound,
    adaboost_ol_bound,
    adaboost_ol_bound_from_gamma,
    bbm_bound,
    excess_from_regret,
    osboost_bound,
    weighted_excess,
)
from onlineboost.theory.complexity import Table1, Table1Row, n_learners, sample_complexity, table1
from onlineboost.theory.majority import penalty, phi, phi0, weight, weight_norms

__all__ = [
    "Bound",
    "Table1",
    "Table1Row",
    "adaboost_ol_bound",
    "adaboost_ol_bound_from_gamma",
    "bbm_bound",
    "excess_from_regret",
    "n_learners",
    "osboost_bound",
    "penalty",
    "phi",
    "phi0",
    "sample_complexity",
    "table1",
    "weight",
    "weight_norms",
    "weighted_excess",
]
