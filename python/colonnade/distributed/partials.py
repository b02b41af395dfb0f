"""Partials: the pieces that tasks have computed. Any grouping and order of merging gives the same bits."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field

from colonnade.errors import UsageError

from .tasks import Task

__all__ = ["Costs", "Counters", "Failure", "Partial", "Piece", "by_slice", "costs_of", "joined"]


@dataclass(frozen=True)
class Piece:
    """The partial of a result for the entries [first, last), as bytes."""

    first: int
    last: int
    data: bytes | None
    """None if these entries could not be read."""
    slice: int = 0
    """The number of the slice, for large results."""


@dataclass(frozen=True)
class Failure:
    """A failed task, and the reason."""

    task: Task
    error: BaseException
    results: tuple[int, ...] = ()
    """The results that caused it, if known."""
    worker: str = ""
    """The worker, if the engine can choose another one."""


@dataclass
class Counters:
    """The counters of tasks."""

    tasks: int = 0
    entries: int = 0
    bytes: int = 0
    """Read."""
    cache_bytes: int = 0
    """Of these, from a cache."""
    seconds: float = 0
    """Seconds of workers."""

    def add(self, other: Counters) -> None:
        """Add the counters of another partial."""
        for name in ("tasks", "entries", "bytes", "cache_bytes", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


Part = tuple[int, str, str, str, int]
"""A step of a pass: kind, what, name, text as in `FrameGraph.last_costs`, and its number among equal ones."""
Costs = dict[Part, tuple[int, int | None, int, float]]
"""The costs of steps: rows, rows left, bytes, seconds."""


def costs_of(measured: Iterable[tuple[int, str, str, str, int, int | None, int, float]]) -> Costs:
    """Take the costs that a graph has measured."""
    found: Costs = {}
    alike: dict[tuple[int, str, str, str], int] = {}
    for kind, what, name, text, rows, left, size, seconds in measured:
        part = kind, what, name, text
        alike[part] = alike.get(part, -1) + 1
        found[(*part, alike[part])] = rows, left, size, seconds
    return found


def _add(costs: Costs, more: Costs) -> None:
    for part, new in more.items():
        has = costs.get(part, (0, 0, 0, 0.0))
        left = None if has[1] is None or new[1] is None else has[1] + new[1]
        costs[part] = has[0] + new[0], left, has[2] + new[2], has[3] + new[3]


Key = tuple[str, int]
"""The fingerprint of a plan, and the index of a result in it."""


@dataclass
class Partial:
    """Pieces of results, in entry order for each; and the tasks that failed."""

    pieces: dict[Key, list[Piece]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)
    costs: dict[str, Costs] = field(default_factory=dict)
    """By the fingerprint of the plan."""

    def to_bytes(self) -> bytes:
        """Return bytes for `from_bytes`: a pickle, only for processes that trust each other."""
        return pickle.dumps(self, protocol=5)

    @classmethod
    def from_bytes(cls, data: bytes) -> Partial:
        """Restore a partial; runs any code that is in the bytes."""
        found = pickle.loads(data)
        if not isinstance(found, cls):
            raise UsageError("these bytes are not a partial result")
        return found


def joined(partials: Iterable[Partial]) -> Partial:
    """Collect the pieces of partials, in order.

    Raises:
        UsageError: entries are included twice.
    """
    made = Partial()
    for partial in partials:
        for key, pieces in partial.pieces.items():
            made.pieces.setdefault(key, []).extend(pieces)
        made.failures.extend(partial.failures)
        made.counters.add(partial.counters)
        for plan, costs in partial.costs.items():
            _add(made.costs.setdefault(plan, {}), costs)
    for pieces in made.pieces.values():
        pieces.sort(key=lambda piece: (piece.slice, piece.first, piece.last))
        for before, after in itertools.pairwise(pieces):
            if before.slice != after.slice:
                continue
            if after.first < before.last or (after.first, after.last) == (before.first, before.last):
                raise UsageError(
                    f"the entries from {after.first} to {min(before.last, after.last)} are included twice",
                    "merge the partial result of each task once",
                )
    return made


def by_slice(partial: Partial) -> list[Partial]:
    """Separate the slices of large results, so that each can be sent and merged independently."""
    slices = {0: Partial({}, partial.failures, partial.counters, partial.costs)}
    for key, pieces in partial.pieces.items():
        for piece in pieces:
            slices.setdefault(piece.slice, Partial()).pieces.setdefault(key, []).append(piece)
    return [slices[number] for number in sorted(slices)]
