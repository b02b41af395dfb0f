"""Tasks: stretches of parts of a data set. A worker's parts are those of the whole run, so its results are, too."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from colonnade._core import redacted

__all__ = ["Task", "cut", "divided", "halves"]

_SHORTEST = 8
"""The ratio of the longest stretch to the last one."""
_MOST_STRETCHES = 1 << 15
"""The least fraction of the work in a stretch: a scheduler takes up to half a millisecond for each."""


@dataclass(frozen=True)
class Task:
    """Some results of a plan for the entries [first, last)."""

    plan: str
    """The plan's fingerprint."""
    first: int
    last: int
    results: tuple[int, ...]
    """The indices of its results in the plan."""
    attempt: int = 0
    tried: tuple[str, ...] = ()
    """The workers where it failed, which may be the reason."""
    uris: tuple[str, ...] = field(default=(), repr=False)  # with passwords, and Dask logs what failed
    """The first files that it reads, so that a task stays small."""
    bytes: int = 0
    """The approximate stored bytes of the columns in use."""
    reached: tuple[tuple[int, str, int], ...] = ()
    """Rows that reach ranges behind filters before `first`: the range's node, the variation, and how many."""

    @property
    def where(self) -> str:
        """The entries and files of the task, for messages."""
        files = [redacted(uri) for uri in self.uris]
        of_files = f" of '{files[0]}'" if files else ""
        return (
            f"the entries from {self.first} to {self.last}{of_files}{' and other files' if files[1:] else ''}"
        )


def cut(
    parts: Sequence[tuple[int, int]],
    files: Sequence[tuple[int, int]],
    target: int,
    sizes: Sequence[int] | None = None,
    slots: int = 0,
) -> list[tuple[int, int]]:
    """Cut entries into about `target` stretches of whole parts, or a few more.

    With `slots` the stretches of the second half become shorter and shorter, down to an eighth, so that all workers
    end at the same time: there are twice as many in total.

    A stretch ends with its file unless it has less than half of its intended size: no file is opened by two workers
    without need, and many small files do not make more tasks than large ones.

    Args:
        parts: (first, last) of each part, in order.
        files: (first, last) of each file, in order.
        target: the number of stretches.
        sizes: the work of each part, in any unit; its entries if None.
        slots: the number of stretches that are computed at the same time.

    Returns:
        (first, last) of each stretch; one without entries if there are no parts.
    """
    if not parts:
        return [(0, 0)]
    weights = [last - first for first, last in parts]
    if sizes is not None and any(sizes):
        weights = list(sizes)
    left = sum(weights)
    most = wanted = max(left / max(target, 1), 1)
    least = max(most / _SHORTEST, left / _MOST_STRETCHES)
    ends = {last for first, last in files if last > first}
    stretches = []
    begin, weight = parts[0][0], 0
    for (_, last), more in zip(parts, weights, strict=True):
        weight += more
        if last == parts[-1][1] or weight >= wanted or (last in ends and 2 * weight >= wanted):
            stretches.append((begin, last))
            left -= weight
            if slots:
                wanted = max(min(most, left / (2 * slots)), least)
            begin, weight = last, 0
    return stretches


def divided(stretches: Sequence[tuple[int, int]], edges: Iterable[int]) -> list[tuple[int, int]]:
    """Cut stretches at the edges inside of them, too."""
    ordered = sorted(edges)
    found: list[tuple[int, int]] = []
    for first, last in stretches:
        inside = [edge for edge in ordered if first < edge < last]
        found += itertools.pairwise([first, *inside, last])
    return found


def halves(task: Task, parts: Sequence[tuple[int, int]]) -> list[Task]:
    """Split a failed task into two; unchanged if it has only one part."""
    inside = [first for first, _ in parts if task.first < first < task.last]
    if not inside:
        return [task]
    middle = inside[len(inside) // 2]
    return [
        replace(task, first=first, last=last, attempt=task.attempt + 1)
        for first, last in ((task.first, middle), (middle, task.last))
    ]
