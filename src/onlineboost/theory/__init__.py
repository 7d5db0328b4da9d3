"""The paper's theorems as functions: number of learners, number of examples, bounds on mistakes.

Theorems, lemmas and equations are numbered as in Beygelzimer, Kale and Luo (2015).

>>> from onlineboost import theory
>>> theory.n_learners(0.1, 0.1), theory.n_learners(0.1, 0.1, coin="weight")
(163, 41)
"""

from onlineboost.boosters.shared.majority import penalty, phi, phi0, weight, weight_norms
from onlineboost.boosters.shared.plurality import mbbm_phi0
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
from onlineboost.theory.simulated import Simulated, independent_learners, simulated_stream, two_phase_learners

__all__ = [
    "Bound",
    "Simulated",
    "Table1",
    "Table1Row",
    "adaboost_ol_bound",
    "adaboost_ol_bound_from_gamma",
    "bbm_bound",
    "excess_from_regret",
    "independent_learners",
    "mbbm_phi0",
    "n_learners",
    "osboost_bound",
    "penalty",
    "phi",
    "phi0",
    "sample_complexity",
    "simulated_stream",
    "table1",
    "two_phase_learners",
    "weight",
    "weight_norms",
    "weighted_excess",
]
