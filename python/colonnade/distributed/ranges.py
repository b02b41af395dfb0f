"""Ranges behind filters: how many rows reach them before each stretch of entries, which is counted first.

The rows that pass a range depend on the number of rows that reached it before. A run with such ranges counts these
rows for each of its stretches, and then computes all stretches at the same time, each from the right number on. Nested
ranges are counted from the outermost on. Counting proceeds from the front in waves that double, and ends as soon as
every range has reached its end: the first ten rows of a large data set cost a few tasks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from colonnade.errors import TypeMismatchError, UsageError

from .partials import Key, Partial, Piece, joined
from .plans import Plan
from .tasks import Task
from .worker import loaded

__all__ = ["Compute", "Reached", "count_ranges"]

Compute = Callable[[Plan, Sequence[Task]], Partial | Iterable[Partial]]
"""Computes tasks of a plan, and gives their pieces, one for each task or smaller ones; none are merged."""
Instance = tuple[int, str]
"""The node of a range, and a variation of the rows that reach it."""


@dataclass(frozen=True)
class Reached:
    """The rows that reach the ranges of a plan before each stretch, and in total."""

    plan: Plan
    stretches: Sequence[tuple[int, int]]
    rows: Mapping[Instance, Sequence[int]]

    def before(self, place: int, ranges: Iterable[int]) -> tuple[tuple[int, str, int], ...]:
        """The counts of some ranges that a task of a stretch needs."""
        wanted = set(ranges)
        return tuple((*key, rows[place]) for key, rows in self.rows.items() if key[0] in wanted)

    def lets_pass(self, place: int, ranges: Iterable[int]) -> bool:
        """Whether rows of a stretch can pass all of these ranges, in any variation."""
        return all(
            any(
                self.plan.passing(node, rows[place]) < self.plan.passing(node, rows[place + 1])
                for (of, _), rows in self.rows.items()
                if of == node
            )
            for node in ranges
        )

    def needs(self, place: int, result: int) -> bool:
        """Whether a stretch can contribute to a result."""
        # A report counts before its ranges, too; and one task has to write a snapshot without rows.
        needs_anyway = self.plan.is_report(result) or (place == 0 and self.plan.is_snapshot(result))
        return needs_anyway or self.lets_pass(place, self.plan.ranges(result))

    def rest(self) -> Partial:
        """Pieces of the stretches that contribute nothing to a result, and have no tasks."""
        pieces: dict[Key, list[Piece]] = {}
        for result in range(len(self.plan)):
            left = [s for place, s in enumerate(self.stretches) if not self.needs(place, result)]
            if left:
                pieces[self.plan.fingerprint, result] = [
                    Piece(first, last, None, part)
                    for part in range(self.plan.slices(result))
                    for first, last in left
                ]
        return Partial(pieces)


def count_ranges(
    plan: Plan,
    stretches: Sequence[tuple[int, int]],
    compute: Compute,
    before: Iterable[tuple[int, str, int]] = (),
    wave: int = 16,
) -> Reached:
    """Count the rows that reach the ranges behind filters of a plan.

    Args:
        plan: whose ranges.
        stretches: of entries, which follow each other.
        compute: computes tasks: `lambda plan, tasks: [run_task(plan, task) for task in tasks]`, perhaps elsewhere.
        before: the rows that reached them before the first stretch.
        wave: the number of stretches that are counted first.

    Raises:
        UsageError: the pieces of a stretch are missing or merged with others, or the stretches are not in order. Where
            a task failed, its error is raised.
        TypeMismatchError: `compute` returns something else.
    """
    _check_order(stretches)
    needed = {node for result in range(len(plan)) for node in plan.ranges(result)}
    start = {(node, variation): rows for node, variation, rows in before}
    rows: dict[Instance, list[int]] = {}
    by_depth = sorted(needed, key=lambda node: (len(plan.ranges_above(node)), node))
    for _, nodes in itertools.groupby(by_depth, key=lambda node: len(plan.ranges_above(node))):
        level = _Level(plan, list(nodes), Reached(plan, stretches, rows))
        level.count(compute, start, wave)
        rows.update(level.rows)
    return Reached(plan, stretches, rows)


def _check_order(stretches: Sequence[tuple[int, int]]) -> None:
    """Refuse stretches that do not follow each other: the rows before each would be wrong."""
    for (first, last), (after, _) in itertools.pairwise(stretches):
        if last != after:
            raise UsageError(
                f"the stretch from {after} does not follow that from {first} to {last}",
                "what Plan.stretches returns",
            )


class _Level:
    """Ranges of the same depth; the ranges above are counted already."""

    def __init__(self, plan: Plan, nodes: list[int], outer: Reached) -> None:
        self._plan, self._nodes, self._outer = plan, nodes, outer
        self._counting = plan.counting(nodes)
        self.rows: dict[Instance, list[int]] = {}

    def count(self, compute: Compute, start: Mapping[Instance, int], wave: int) -> None:
        with loaded(self._counting).graph(tuple(range(len(self._nodes)))) as graph:
            for place, node in enumerate(self._nodes):
                for variation in graph.core.vary_result(graph.numbers[place]):
                    self.rows[node, variation] = [start.get((node, variation), 0)]
        stretches = self._outer.stretches
        done = 0
        while done < len(stretches) and not all(map(self._has_ended, self._nodes)):
            wanted = {
                at: [k for k in range(len(self._nodes)) if self._matters(k, at)]
                for at in range(done, min(done + wave, len(stretches)))
            }
            tasks = [self._task(at, tuple(results)) for at, results in wanted.items() if results]
            given = compute(self._counting, tasks) if tasks else []
            if not isinstance(given, Iterable | Partial):
                raise TypeMismatchError(
                    f"compute(plan, tasks) returned {given!r}, not a list of partial results",
                    "[run_task(plan, task) for task in tasks]",
                )
            found = joined([given] if isinstance(given, Partial) else given)
            for at, results in wanted.items():
                self._add(found, *stretches[at], results)
            done, wave = done + len(wanted), 2 * wave
        for rows in self.rows.values():  # where all have ended it does not matter how many more come
            rows.extend(rows[-1:] * (len(stretches) + 1 - len(rows)))

    def _matters(self, place: int, at: int) -> bool:
        node = self._nodes[place]
        return not self._has_ended(node) and self._outer.lets_pass(at, self._plan.ranges_above(node))

    def _has_ended(self, node: int) -> bool:
        last = self._plan.last_row(node)
        return last > 0 and all(rows[-1] >= last for (of, _), rows in self.rows.items() if of == node)

    def _task(self, at: int, results: tuple[int, ...]) -> Task:
        outer = {above for k in results for above in self._plan.ranges_above(self._nodes[k])}
        first, last = self._outer.stretches[at]
        return self._counting.task(first, last, results, self._outer.before(at, outer))

    def _add(self, found: Partial, first: int, last: int, wanted: Sequence[int]) -> None:
        """Add the counts of a stretch; nothing if it does not contribute or could not be read."""
        for place, node in enumerate(self._nodes):
            pieces = self._pieces(found, place, first, last) if place in wanted else []
            data = [piece.data for piece in pieces if piece.data is not None]
            instances = [key for key in self.rows if key[0] == node]
            if not data:
                for key in instances:
                    self.rows[key].append(self.rows[key][-1])
                continue
            with loaded(self._counting).merged(place, data) as (graph, number):
                graph.vary_result(number)
                for key in instances:
                    more = cast(int, graph.value(number, key[1]))
                    self.rows[key].append(self.rows[key][-1] + more)

    def _pieces(self, found: Partial, place: int, first: int, last: int) -> list[Piece]:
        """The pieces of a stretch, which are all there."""
        of_range = found.pieces.get((self._counting.fingerprint, place), [])
        pieces = [piece for piece in of_range if first <= piece.first and piece.last <= last]
        if sum(piece.last - piece.first for piece in pieces) != last - first:
            for failure in found.failures:
                raise failure.error
            raise UsageError(
                f"the rows from {first} to {last} that reach a range were not counted by themselves",
                "[run_task(plan, task) for task in tasks], without a merge",
            )
        return pieces
