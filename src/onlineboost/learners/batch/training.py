"""What a training keeps between its steps.

**Sums are whole numbers.** Slopes and curvatures are rounded to multiples of units that are chosen for each tree, and
packed into one number, the slope above and the curvature in the lower 32 bits. So a histogram takes one addition for
each value; sums do not depend on their order; and the larger child is its parent less the smaller one, exactly.

**Most zeros are not counted.** Where a feature is zero in more rows than one of eight, its bin of zero is what the
others leave of the leaf.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot
from onlineboost.data.allocation import filled, reserved
from onlineboost.data.batch import Floats, Floats32, Ints, Ints32
from onlineboost.learners.batch.plan import Plan
from onlineboost.learners.batch.trees import Trees, new_trees

MOST_BINS = 1 << 16  # of all features together
PHASE, TREE, AT, LEAVES, NEAR, FAR, FEATURES, BINS = range(8)  # of the clock of a training
LOW, HIGH, NODE, SLOT, BIN, SIDE, SUM, LEFT = range(8)  # of a leaf
NUMBER, FIRST, ZERO, MANY, SPARSE = range(5)  # of a feature: its slot, where its bins begin, that of zero, how many
G, H, UNIT_G, UNIT_H = range(4)  # of the sums of a training
MASK = (1 << 32) - 1


class Training(NamedTuple):
    """The trees that are being made; nothing of it is in model files."""

    clock: Ints  # [8] by the fields above
    entries: NDArray[np.uint16]  # the bins of each row that are counted
    ends: NDArray[np.uint64]  # [rows + 1] where those of a row end
    targets: Floats32  # [rows]
    weights: Floats32  # [rows]
    scores: Floats  # [rows, scores]
    chances: Floats32  # [rows, classes]
    slopes: Floats32  # [rows, 2] slope and curvature
    packed: Ints  # [rows] both as whole numbers
    order: Ints32  # [rows] by leaf
    spare: Ints32  # [rows]
    pool: Ints  # histograms, one for each leaf, without gaps: of all bins that features have
    sides: Ints  # [2, bins] the sums on the left of each bin, with missing values on the right, and on the left
    found: Floats  # [bins] gains of splits at each bin
    leaves: Ints  # [leaves, 8] by the fields above
    gains: Floats  # [leaves] of their best splits
    cover: Floats  # [nodes] sums of curvatures
    features: Ints  # [slots, 5] by the fields above; the last one says whether the bin of zero is not counted
    sums: Floats  # [4] of slopes and of curvatures; their units
    trees: Trees

    def saved(self) -> dict[str, Any]:
        return {}


def new_training(rows: int, slots: int, n_bins: int, scores: int, plan: Plan) -> Training:
    leaves, nodes = plan.leaves, 2 * plan.leaves - 1
    bins = min(slots * (n_bins + 1), MOST_BINS) if rows else 0
    return Training(
        np.zeros(8, np.int64),
        reserved((rows * slots,), np.uint16),
        reserved((rows + 1 if rows else 0,), np.uint64),
        reserved((rows,), np.float32),
        reserved((rows,), np.float32),
        reserved((rows, scores), np.float64),
        reserved((rows, scores if scores > 1 else 0), np.float32),
        reserved((rows, 2), np.float32),
        reserved((rows,), np.int64),
        reserved((rows,), np.int32),
        reserved((rows,), np.int32),
        reserved((leaves * bins,), np.int64),
        reserved((2, bins), np.int64),
        reserved((bins,), np.float64),
        filled(0, (leaves, 8), np.int64),
        filled(0, leaves),
        filled(0, nodes),
        filled(0, (slots, 5), np.int64),
        np.zeros(4),
        new_trees(plan.rounds * scores if rows else 0, nodes, scores, slots),
    )


@hot
def place_of(training: Training, leaf: int) -> int:
    """Where the histogram of a leaf begins."""
    return leaf * training.clock[BINS]  # type: ignore[no-any-return]
