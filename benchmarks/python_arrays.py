#!/usr/bin/env python3
"""Reads the columns of the B-mass analysis as NumPy arrays: python_arrays.py uproot|colonnade FILE.

The clock runs from opening the file until the arrays are there; imports are done before.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from colonnade.analysis.b_mass import COLUMNS

Arrays = Mapping[str, np.ndarray[Any, Any]]


def reader(library: str) -> Callable[[str], Arrays]:
    """How a library reads the columns of a file."""
    if library == "uproot":
        import uproot

        return lambda path: uproot.open(path)["DecayTree"].arrays(list(COLUMNS), library="np")
    import colonnade

    return lambda path: colonnade.open(path).arrays(list(COLUMNS), library="np")


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in {"uproot", "colonnade"}:
        print(f"usage: {sys.argv[0]} uproot|colonnade FILE", file=sys.stderr)
        return 2
    read = reader(sys.argv[1])
    wall, cpu = time.perf_counter(), time.process_time()
    arrays = read(sys.argv[2])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu

    checksum = 0
    for name in COLUMNS:
        checksum = zlib.crc32(arrays[name].tobytes(), checksum)
    report = {
        "seconds": wall,
        "cpu_seconds": cpu,
        "events": len(arrays[COLUMNS[0]]),
        "checksum": checksum,
        "max_rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
