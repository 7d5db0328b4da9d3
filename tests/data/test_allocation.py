"""Memory for states."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from onlineboost.data.allocation import extended, filled, lengthened, roomy, zeros


@pytest.mark.parametrize("shape", [(), 0, 7, (3, 5), (300, 500), (1 << 15, 2, 2)])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float32])
def test_zeros_are_those_of_numpy(shape, dtype):
    found, expected = zeros(shape, dtype), np.zeros(shape, dtype)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert found.flags.c_contiguous and found.flags.aligned and found.flags.writeable
    found[...] = 1
    assert zeros(shape, dtype).sum() == 0


def test_large_arrays_are_not_in_the_heap():
    """Memory of the heap that was used before would be filled, all of it, and kept afterwards."""
    for array in (
        zeros((1000, 1000)),
        filled(0, (1000, 1000)),
        filled([1, 2], (50_000, 2)),
        extended(np.ones(4), 1 << 20),
    ):
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)


def test_arrays_of_numbers_and_of_rows():
    assert filled(np.inf, (200, 200), np.float32).min() == np.inf
    assert filled([1, 2], (50_000, 2)).sum(axis=0).tolist() == [50_000, 100_000]
    assert extended(np.ones(4), 1 << 20).sum() == 4


def test_an_array_grows_to_many_times_its_length_without_a_copy():
    array = roomy((1000, 32))
    array[:] = 1
    longer = lengthened(array, 200_000)
    assert np.shares_memory(array, longer)
    assert longer.sum() == 32_000


def test_what_there_is_no_memory_for():
    with pytest.raises(MemoryError, match=f"no room for {1 << 62:,} bytes"):
        zeros((1 << 62,), np.int8)
