"""Cutting a data set into steps: by a number of entries, or by memory, along the clusters if they fit."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from colonnade import _core
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import UsageError
from colonnade.misuse import whole_number

__all__ = [
    "Cluster",
    "byte_count",
    "check_step",
    "clusters",
    "common_steps",
    "entry_range",
    "parse_size",
    "steps",
]

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def parse_size(text: str) -> int:
    """Bytes of a size like "100 MB", "1.5 GiB" or "4096"."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    size = math.inf if match is None or match[2] not in _UNITS else float(match[1]) * _UNITS[match[2]]
    if math.isinf(size):
        raise UsageError(f"'{text}' is not a size", "a number with a unit, such as '100 MB'")
    return int(size)


def byte_count(size: int | str) -> int:
    """Bytes of a size given as a number or a text; raises `UsageError` for anything else."""
    count = parse_size(size) if isinstance(size, str) else whole_number("size", size)
    if count < 0:
        raise UsageError(f"a size cannot be negative ({size})")
    if count >= 2**63:
        raise UsageError(f"a size of {size} is beyond all memory", "a number with a unit, such as '100 MB'")
    return count


def entry_range(start: int | None, stop: int | None, entries: int) -> tuple[int, int]:
    """The entries [start, stop) as slices understand them; none if they end before they begin."""
    first = None if start is None else whole_number("entry_start", start)
    behind = None if stop is None else whole_number("entry_stop", stop)
    begin, end, _ = slice(first, behind).indices(entries)
    return begin, max(begin, end)


def check_step(step_size: int | str) -> None:
    """Refuse what is not the size of a step: a number of entries, or memory as a text."""
    if isinstance(step_size, str):
        if parse_size(step_size) < 1:
            raise UsageError("a step must have at least one byte")
    elif whole_number("step_size", step_size) < 1:
        raise UsageError(f"a step must have at least one entry, not {step_size}")


Cluster: TypeAlias = tuple[int, int, int]
"""First entry, end of the entries, decoded bytes."""


def clusters(descriptor: _core.Descriptor, columns: list[int]) -> Iterator[Cluster]:
    """Iterate over the clusters of a data set, with the bytes of these columns in each."""
    starts = _core.cluster_starts(descriptor)
    sizes = _core.cluster_bytes(descriptor, columns)
    yield from zip(starts[:-1], starts[1:], sizes, strict=True)


def steps(
    clusters: Iterable[Cluster], step_size: int | str, start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Cut [start, stop) into steps.

    A number is a number of entries; clusters do not matter then. A size in memory gives whole clusters as long as they
    fit, and equal parts of a larger cluster.
    """
    check_step(step_size)
    if isinstance(step_size, str):
        yield from _by_size(clusters, parse_size(step_size), start, stop)
        return
    size = whole_number("step_size", step_size)  # NumPy's small integers would wrap around
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


def common_steps(parts: Iterable[Iterable[tuple[int, int]]], start: int) -> Iterator[tuple[int, int]]:
    """Give the steps from `start` on. One ends wherever a step of any part does."""
    for end in heapq.merge(*((last for _, last in part) for part in parts)):
        if end > start:
            yield start, end
            start = end


def with_next(parts: Iterable[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], int]]:
    """Give each step with the end of the one behind it, or 0 with the last one."""
    before: tuple[int, int] | None = None
    for part in parts:
        if before is not None:
            yield before, part[1]
        before = part
    if before is not None:
        yield before, 0


def _by_size(clusters: Iterable[Cluster], budget: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
    first, held = start, 0.0
    for begin, end, size in clusters:
        if begin >= stop:
            break
        low, high = max(begin, start), min(end, stop)
        if low >= high:
            continue
        share = size * (high - low) / (end - begin)
        if held + share > budget and first < low:
            yield first, low
            first, held = low, 0.0
        if share > budget:
            parts = int(np.ceil(share / budget))
            for edge in np.linspace(low, high, min(parts, high - low) + 1).astype(np.int64)[1:-1].tolist():
                yield first, edge
                first = edge
            yield first, high
            first, held = high, 0.0
        else:
            held += share
    if first < stop:
        yield first, stop
