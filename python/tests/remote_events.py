"""Events that tests write to servers of files, read back, and compare."""

from __future__ import annotations

import awkward as ak
import numpy as np

import colonnade

ENTRIES = 200_000


def events(count=ENTRIES, seed=1):
    """Flat, nested and floating-point columns."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 5, count)
    return ak.Array(
        {
            "id": np.arange(count),
            "pt": ak.unflatten(generator.normal(size=sizes.sum()).astype(np.float32), sizes),
            "weight": generator.random(count),
        }
    )


def write(uri, data, *, step=50_000, **options):
    """Write `data` to "Events", `step` entries at a time."""
    with colonnade.create(uri, "Events", **options) as writer:
        for start in range(0, len(data), step):
            writer.extend(data[start : start + step])


def read(uri):
    """All of "Events"."""
    with colonnade.open(uri, "Events") as data_set:
        return data_set.arrays()


def assert_equal(array, expected):
    """The same fields with the same values."""
    assert array.fields == expected.fields
    for field in expected.fields:
        assert ak.array_equal(array[field], expected[field], dtype_exact=False), field
