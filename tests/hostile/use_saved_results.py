"""Merges saved results of each kind after changing them, in a process of limited memory: use_saved_results.py FILE

Prints what came out that is neither a value nor a colonnade.Error, and values that no such result can have.
"""

from __future__ import annotations

import json
import math
import operator
import os
import resource
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import colonnade
from colonnade import DataFrame
from colonnade.distributed import Plan, run_task
from colonnade.distributed.worker import LoadedPlan, loaded

LIMIT = 3 << 30
MOST_PLACES = 120
"""That are changed in one saved result, each in every way."""

AXIS = ("h", "", 10, -3.0, 3.0)

KINDS: dict[str, Callable[[DataFrame], Any]] = {
    "count": lambda df: df.count(),
    "sum": lambda df: df.sum("x"),
    "sum of integers": lambda df: df.sum("n"),
    "mean": lambda df: df.mean("x"),
    "stddev": lambda df: df.stddev("x"),
    "stats": lambda df: df.stats("x"),
    "weighted stats": lambda df: df.stats("x", "w"),
    "min": lambda df: df.min("x"),
    "max": lambda df: df.max("n"),
    "histogram": lambda df: df.histo1d(AXIS, "x"),
    "weighted histogram": lambda df: df.histo1d(AXIS, "x", "w"),
    "automatic histogram": lambda df: df.histo1d("x"),
    "histogram of two": lambda df: df.histo2d((*AXIS, 5, 0.0, 2.0), "x", "w"),
    "profile": lambda df: df.profile1d(AXIS, "x", "w"),
    "weighted profile": lambda df: df.profile1d(AXIS, "x", "w", "w"),
    "graph": lambda df: df.graph("x", "w"),
    "take": lambda df: df.take("x"),
    "take of texts": lambda df: df.take("s"),
    "take of lists": lambda df: df.take("v"),
    "display": lambda df: df.display(["x", "s", "v"]),
    "report": lambda df: df.filter("x > 0", name="positive").report(),
    "quantile": lambda df: df.quantile("x"),
    "unique": lambda df: df.unique("n"),
    "value_counts": lambda df: df.value_counts("n"),
    "reduce": lambda df: df.reduce(operator.add, "x", 0.0),
}
# States of Python code are pickles behind a checksum.
PICKLES = {"reduce", "quantile", "unique", "value_counts"}
# What the session makes values of, not the graph.
WITHOUT_VALUE = {*PICKLES, "report"}
COUNTED = {"histogram", "automatic histogram", "histogram of two"}
WEIGHTED = {"weighted histogram"}

WORDS = (
    bytes(8),
    b"\xff" * 8,
    struct.pack("<d", math.nan),
    struct.pack("<d", -1.0),
    struct.pack("<d", math.inf),
    struct.pack("<q", -(1 << 63)),
    struct.pack("<q", 1 << 40),
    struct.pack("<q", 1 << 62),
)


def changes(data: bytes) -> Iterator[tuple[str, bytes]]:
    places = range(0, len(data), max(1, len(data) // MOST_PLACES))
    for at in places:
        yield f"cut to {at}", data[:at]
    yield "longer", data + b"\0"
    yield "twice", data + data
    for at in places:
        for word in WORDS:
            yield f"{word.hex()} at {at}", data[:at] + word[: len(data) - at] + data[at + 8 :]


def is_impossible(kind: str, value: Any) -> bool:
    """Is it what no entries could give? Weighted sums may be anything."""
    if kind == "count":
        return value < 0
    if kind in COUNTED:
        return not bool(np.all(np.asarray(value.values) >= 0))
    if kind in WEIGHTED:
        return bool(np.any(np.asarray(value.variances) < 0))
    return False


def attempt(kind: str, plan: LoadedPlan, what: str, pieces: list[bytes]) -> bool:
    """Whether they were merged."""
    try:
        with plan.merged(0, pieces) as (core, number):
            core.save_result(number)
            value = core.value(number, "nominal") if kind not in WITHOUT_VALUE else None
    except colonnade.Error:
        return False
    except BaseException as error:
        print(f"{kind}, {what}: {type(error).__module__}.{type(error).__name__}: {str(error)[:300]!r}")
        return False
    if value is not None and is_impossible(kind, value):
        print(f"{kind}, {what}: {value}")
    return True


def saved(path: str, kind: str) -> tuple[LoadedPlan, list[bytes]]:
    df = DataFrame("E", path, threads=1)
    plan: Plan = df.freeze(KINDS[kind](df))
    return loaded(plan), [
        piece.data for piece in run_task(plan, plan.tasks(1)[0]).pieces[plan.fingerprint, 0]
    ]


def main() -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:4])  # stacks of threads count, too
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    warnings.simplefilter("ignore")
    all_saved = {kind: saved(sys.argv[1], kind) for kind in KINDS}
    tried = merged = 0
    for kind, (plan, (data, *_)) in all_saved.items():
        if not attempt(kind, plan, "as it is", [data]):
            print(f"{kind}: what was saved cannot be merged")
        for what, bad in changes(data):
            tried += 1
            merged += attempt(kind, plan, what, [bad])
        for other, (_, (different, *_)) in all_saved.items():
            is_other = kind != other and not {kind, other} <= PICKLES
            if is_other and attempt(kind, plan, f"what {other} saved", [different]):
                print(f"{kind}: what {other} saved was merged")
    print(json.dumps({"tried": tried, "merged": merged}), file=sys.stderr)


if __name__ == "__main__":
    main()
