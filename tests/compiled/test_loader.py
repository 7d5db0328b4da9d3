"""Memory of LLVM's library."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from onlineboost import Perceptron
from onlineboost.compiled import loader
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import njit

MAPS = """\
7f0000000000-7f0004000000 r--p 00000000 fe:00 1  /lib/libllvmlite.so
Anonymous:             0 kB
Swap:                  0 kB
7f0004000000-7f0008000000 r-xp 04000000 fe:00 1  /lib/libllvmlite.so
Rss:               65536 kB
Anonymous:             0 kB
Swap:                  0 kB
7f0008000000-7f0008400000 r--p 08000000 fe:00 1  /lib/libllvmlite.so
Anonymous:           120 kB
Swap:                0 kB
7f0008800000-7f0008c00000 r--p 08c00000 fe:00 1  /lib/libllvmlite.so
Anonymous:             0 kB
Swap:                120 kB
7f0008400000-7f0008800000 rw-p 08400000 fe:00 1  /lib/libllvmlite.so
Anonymous:             0 kB
Swap:                  0 kB
7f0009000000-7f0009001000 r--p 08800000 fe:00 1  /lib/libllvmlite.so
Anonymous:             0 kB
Swap:                  0 kB
7f0100000000-7f0104000000 r-xp 00000000 fe:00 2  /lib/libc.so.6
Anonymous:             0 kB
Swap:                  0 kB
7f0200000000-7f0204000000 rw-p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd wr mr
"""


def test_ranges_that_may_have_been_written_to_stay():
    """Relocations, breakpoints and data of the library, other libraries and memory of nobody's."""
    found = [*loader.clean_ranges(MAPS, "libllvmlite")]
    assert found == [(0x7F0000000000, 0x7F0004000000), (0x7F0004000000, 0x7F0008000000)]


class Numbers(NamedTuple):
    cell: np.ndarray


def test_code_runs_and_is_compiled_after_pages_were_given_back():
    model = Perceptron().partial_fit(np.eye(4), [0, 1, 0, 1])
    before = model.decision_function(np.eye(4))
    loader.note_use()
    loader.give_back()
    np.testing.assert_array_equal(model.decision_function(np.eye(4)), before)

    @njit
    def double(block):
        (numbers,) = unpack(block)
        numbers.cell[0] *= 2

    numbers = Numbers(np.ones(1))
    Call(double, numbers)()
    assert numbers.cell[0] == 2


FORKED = """
import os, sys
import numpy as np
from onlineboost import Perceptron

def learn(model):
    model.fit(np.eye(4), [0, 1, 1, 0]).predict_proba(np.eye(4))

learn(Perceptron())  # loads code, and gives pages back
if not os.fork():
    from onlineboost import Linear, OnlineBBM, Stump
    learn(OnlineBBM(Linear(), 3))  # loads more, and gives pages back
    learn(OnlineBBM(Stump(), 3))
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are given back on Linux only")
def test_a_forked_child_loads_code():
    """Pages with relocations, which the child shares with its parent, stay."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
