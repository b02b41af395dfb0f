#!/usr/bin/env python3
"""Times an analysis of weighted histograms with variations: 20 histograms, each nominal and for 4 variations.

Prints a line of JSON per pass: threads, wall-clock and processor seconds. Compare two builds by running this in turns
with the interpreter of each:

    for k in 1 2 3 4 5; do for side in old new; do $side/bin/python benchmarks/frame_weighted.py; done; done
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade import DataFrame


def analysis(data: dict[str, NDArray[np.float64]], threads: int) -> list[Any]:
    frame = DataFrame.from_arrays(data, threads=threads, progress=False)
    node = frame.vary("w", "{w * 0.9, w * 1.1}", ["down", "up"], "norm")
    node = node.vary("x0", "{x0 * 0.98, x0 * 1.02}", ["down", "up"], "scale").filter("x0 > 10")
    results = []
    for k in range(20):
        model = (f"h{k}", "", 100, 0.0, 20.0 + 5 * k)
        results.append(node.variations_for(node.histo1d(model, f"x{k % 5} + {k} * x0 / 40", "w")))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    random = np.random.default_rng(1)
    data = {f"x{k}": random.exponential(30, options.entries) for k in range(5)}
    data["w"] = random.normal(1, 0.2, options.entries)
    for threads in options.threads:
        results = analysis(data, threads)
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        total = sum(h.sum(flow=True).value for result in results for h in result.values())
        after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - start
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        print(json.dumps({"threads": threads, "wall": wall, "cpu": cpu, "total": total}), flush=True)


if __name__ == "__main__":
    main()
