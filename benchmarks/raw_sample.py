#!/usr/bin/env python3
"""Makes the LHCb sample as the benchmark programs read it: raw_sample.py FILE EVENTS.

The columns one after the other, little-endian, without any header. A program of its own, so that the memory it needs is
given back before anything is measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.analysis import b_mass
from colonnade.samples import LHCB_SCHEMA, lhcb

DTYPES: dict[str, np.dtype[Any]] = {"double": np.dtype("<f8"), "std::int32_t": np.dtype("<i4")}
SIZES = [DTYPES[type_name].itemsize for type_name in LHCB_SCHEMA.values()]


def make(path: Path, events: int) -> int:
    """Write the sample and return the number of candidates in it."""
    starts = dict(zip(LHCB_SCHEMA, events * np.cumsum([0, *SIZES[:-1]]), strict=True))
    file: Any = np.memmap(path, np.uint8, "w+", shape=(events * sum(SIZES),))
    at = candidates = 0
    for columns in lhcb(events):
        for name, values in columns.items():
            start = starts[name] + at * values.itemsize
            file[start : start + values.nbytes] = values.view(np.uint8)
        at += columns["H1_PX"].size
        candidates += b_mass.select(columns).mass.size
    file.flush()
    return candidates


if __name__ == "__main__":
    print(json.dumps({"candidates": make(Path(sys.argv[1]), int(sys.argv[2]))}))
