"""Partials: the pieces that tasks have computed. Any grouping and order of merging gives the same bits."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field

from colonnade.errors import FormatError, TypeMismatchError, UsageError
from colonnade.frame.callables import with_sum, without_sum

from .exceptions import packed, unpacked
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

    @property
    def is_valid(self) -> bool:
        """Whether it may be one of `run_task`."""
        numbers = (self.first, self.last, self.slice)
        return (
            all(isinstance(each, int) for each in numbers)
            and 0 <= self.first <= self.last
            and isinstance(self.data, bytes | None)
        )


@dataclass(frozen=True)
class Failure:
    """A failed task, and the reason."""

    task: Task
    error: BaseException
    results: tuple[int, ...] = ()
    """The results that caused it, if known."""
    worker: str = ""
    """The worker, if the engine can choose another one."""

    def __reduce__(self) -> tuple[object, ...]:
        return _failure, (self.task, packed(self.error), self.results, self.worker)


def _failure(task: Task, error: bytes, results: tuple[int, ...], worker: str) -> Failure:
    return Failure(task, unpacked(error), results, worker)


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
    early: list[Failure] = field(default_factory=list)
    """Failures that come again: the run ends at once where another attempt does not solve them."""

    def to_bytes(self) -> bytes:
        """Return bytes for `from_bytes`: a pickle, only for processes that trust each other."""
        return with_sum(pickle.dumps(self, protocol=5))

    @classmethod
    def from_bytes(cls, data: bytes) -> Partial:
        """Restore a partial; runs any code that is in the bytes.

        Raises:
            FormatError: they are another thing, or damaged.
        """
        try:
            found = pickle.loads(without_sum(data))
        except Exception as error:  # any error of damaged bytes
            raise FormatError(f"these bytes are not a partial result ({error})") from error
        if not isinstance(found, cls):
            raise FormatError("these bytes are not a partial result")
        return found


def joined(partials: Iterable[Partial]) -> Partial:
    """Collect the pieces of partials, in order.

    Raises:
        TypeMismatchError: something else is among them.
        FormatError: a piece is damaged.
        UsageError: entries are included twice.
    """
    made = Partial()
    for partial in partials:
        if not isinstance(partial, Partial):
            raise TypeMismatchError(f"{partial!r} is not a partial result", "what run_task and merge return")
        for key, pieces in partial.pieces.items():
            if not all(each.is_valid for each in pieces):
                raise FormatError("a piece of a partial result is damaged")
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
