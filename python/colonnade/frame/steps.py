"""Computed columns step by step: iterates over a DataFrame in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from colonnade import _core
from colonnade.arrays.arrow import ArrowBuilder
from colonnade.arrays.awkward import zip_fields
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.numpy import to_numpy, to_series
from colonnade.errors import UnsupportedError, UsageError
from colonnade.misuse import thread_count, whole_number
from colonnade.reading.dataset import unknown_library
from colonnade.reading.steps import parse_size

from .session import Booking, Remote, Session
from .values import assemble, layout_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from colonnade.reading.dataset import Library

    from .node import Node

__all__ = ["ENTRY", "Columns", "Steps", "as_arrow", "as_library", "sliced"]

Columns = Mapping[str, _core.Values]
"""Values by name, one element per row."""
ENTRY = "rdfentry_"
"""The column with the numbers of the entries."""
_TOGETHER = 16 << 20
"""Bytes of rows that small steps are computed for at once: a pass for each takes longer than they do."""


class Steps:
    """The columns of a node, computed for consecutive stretches of entries.

    Args:
        node: a node of the graph.
        columns: the texts of expressions by the names of their columns.
        threads: number of threads of a step; 0: one for each processor.
    """

    def __init__(self, node: Node, columns: Mapping[str, str], threads: int | None = None) -> None:
        self._node, self._texts = node, dict(columns)
        self._session = node._session
        self._graph = self._session.graph
        self._threads = self._session.threads if threads is None else thread_count(threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the steps as a plan, which another process computes from the same files.

        Raises:
            UnsupportedError: arrays in memory, and callables that cannot be pickled.
        """
        from colonnade.distributed.plans import freeze

        number = self._booked()
        try:
            plan = freeze(self._session, [number])
        except UnsupportedError as error:
            advice = "in a DataLoader num_workers=0, or multiprocessing_context='fork'"
            raise UnsupportedError(error.problem, f"{error.advice}; {advice}") from error
        finally:
            self._session.drop(number)
        return _of_plan, (plan.to_bytes(), self._session.place, self._threads)

    def only(self, names: Iterable[str]) -> Steps:
        """Return the steps of some of the columns."""
        return Steps(self._node, {name: self._texts[name] for name in names}, self._threads)

    @property
    def is_after_range(self) -> bool:
        """Whether there is a range above: its entries are known only after counting all previous ones."""
        return self._graph.is_after_range(self._node._node)

    def parts(self) -> list[tuple[int, int]]:
        """First entry and end of stretches that are efficient to read at once; they follow from the data alone."""
        return self._graph.parts()

    def compute(self, first: int, last: int, cursors: _core.KeptCursors | None = None) -> Columns:
        """Return the rows of the entries [first, last) that pass the filters; other bookings are not computed.

        Args:
            first: the first entry.
            last: the one behind the last.
            cursors: of consecutive stretches: what comes behind this one is on its way then.

        Raises:
            UsageError: a range stands above.
        """
        wanted = self._wanted()
        # Booked and computed at once: a pass of another thread would compute the booking of all entries.
        number = self._graph.run_step(
            wanted.node,
            wanted.kind,
            list(wanted.arguments),
            wanted.options,
            first,
            last,
            self._threads,
            cursors,
        )
        try:
            return _columns_of(self._graph, number)
        finally:
            self._session.drop(number)

    def compute_all(self) -> Columns:
        """Return all rows; other bookings are computed in the same pass."""
        from .session import run_sessions

        number = self._booked()
        try:
            run_sessions([self._session])
            return _columns_of(self._graph, number)
        finally:
            self._session.drop(number)

    def each(self, step_size: int | str, library: Library) -> Iterator[Any]:
        """Yield the rows of consecutive steps, except those without rows, as arrays of a library.

        Args:
            step_size: entries of a step before filters, or bytes of its rows ("100 MB").
            library: as of `as_library`.

        Raises:
            UsageError: the size is invalid, or there is no such library.
        """
        entries, budget = _size_of(step_size)
        if self.is_after_range:
            computed = self.compute_all()
            yield from sliced(computed, _borders(computed, entries, budget), library)
            return
        wanted = list(self._texts)
        numbered = (
            self if budget is not None else Steps(self._node, {**self._texts, ENTRY: ENTRY}, self._threads)
        )
        for first, computed in numbered._stretches(entries, budget):
            borders = _borders(computed, entries, budget, first)
            yield from sliced({name: computed[name] for name in wanted}, borders, library)

    def _stretches(self, entries: int, budget: int | None) -> Iterator[tuple[int, Columns]]:
        """Yield the first entry and the rows of consecutive stretches that have rows."""
        stretches = Stretches(self.parts(), entries, budget)
        remote = self._session.remote
        cursors = self._graph.keep_cursors() if remote is None else None
        while not stretches.is_over:
            if remote is None:
                wave = [stretches.next()]
                computed: Iterator[Columns] = (self.compute(*each, cursors) for each in wave)
            else:
                wave = [stretches.next() for _ in range(remote.width) if not stretches.is_over]
                computed = self._elsewhere(remote, wave)
            for first, last in wave:
                try:
                    columns = next(computed)
                except Exception:
                    if not stretches.divide(first, last):
                        raise
                    break
                stretches.note(_bytes_of(columns) / (last - first))
                if _rows(columns):
                    yield first, columns

    def _elsewhere(self, remote: Remote, wave: list[tuple[int, int]]) -> Iterator[Columns]:
        number = self._booked()
        try:
            for graph, of_graph in remote.compute(self._session, number, wave):
                yield _columns_of(graph, of_graph)
        finally:
            self._session.drop(number)

    def _booked(self) -> int:
        return self._session.book(self._wanted())

    def _wanted(self) -> Booking:
        options = json.dumps({"names": list(self._texts)})
        return Booking("take", self._node._node, tuple(self._texts.values()), options)


class Stretches:
    """Consecutive stretches of entries that are computed at once.

    By bytes: as many parts as are expected to fit, at least one. By entries: one step, then as many as are expected to
    take `_TOGETHER` bytes.
    """

    def __init__(self, parts: list[tuple[int, int]], entries: int, budget: int | None) -> None:
        self._parts, self._entries, self._budget = parts, entries, budget
        self._bytes_per_entry = float(budget or _TOGETHER)
        self._alone_until = 0
        self._next = parts[0][0] if parts else 0
        self._next_part = 0

    @property
    def is_over(self) -> bool:
        """Whether no stretch is left."""
        return not self._parts or self._next == self._parts[-1][1]

    def divide(self, first: int, last: int) -> bool:
        """Go back to the begin of a stretch that failed and go on with single steps; False if it was one."""
        if self._budget is not None or last - first <= self._entries:
            return False
        self._next, self._alone_until = first, last
        return True

    def note(self, bytes_per_entry: float) -> None:
        """Estimate the next stretches from the rows of this one."""
        self._bytes_per_entry = bytes_per_entry

    def next(self) -> tuple[int, int]:
        """Return the next stretch."""
        first = self._next
        if self._budget is None:
            steps = max(int(_TOGETHER / max(self._bytes_per_entry * self._entries, 1)), 1)
            steps = 1 if first < self._alone_until else steps
            self._next = min(first + steps * self._entries, self._parts[-1][1])
            return first, self._next
        while True:
            self._next = self._parts[self._next_part][1]
            self._next_part += 1
            if self.is_over:
                break
            if (self._parts[self._next_part][1] - first) * self._bytes_per_entry > self._budget:
                break
        return first, self._next


def _of_plan(data: bytes, place: str, threads: int) -> Steps:
    """Restore the steps whose plan `Steps.__reduce__` made."""
    from colonnade.distributed.plans import Plan

    from .node import Node

    plan = Plan.from_bytes(data)
    plan.set_up()
    session = Session(_core.empty_source(0), place, threads)
    session.graph = plan.graph(allow_code=True)  # its source is that of the plan
    rows = plan.booking(0)
    names = json.loads(rows.options)["names"]
    return Steps(Node(session, rows.node), dict(zip(names, rows.arguments, strict=True)), threads)


def _columns_of(graph: _core.FrameGraph, number: int) -> Columns:
    value = cast("_core.ArraysValue", graph.value(number, ""))
    return {name: values.spread() for name, values in value.columns}


def _borders(columns: Columns, entries: int, budget: int | None, first: int | None = None) -> list[int]:
    """Return the rows at which steps end: by bytes, or by entries from `first` on; by rows if that is None."""
    rows = _rows(columns)
    if budget is None and first is not None:
        numbers = to_numpy(layout_of(columns[ENTRY]))
        last = int(numbers[-1]) + 1
        ends = np.arange(first + entries, last, entries, dtype=numbers.dtype)
        return [*np.searchsorted(numbers, ends).tolist(), rows]
    if budget is not None:
        entries = max(int(budget * rows / max(_bytes_of(columns), 1)), 1)
    return [*range(entries, rows, entries), rows]


def sliced(columns: Columns, borders: Iterable[int], library: Library) -> Iterator[Any]:
    """Yield computed rows in steps that end at these rows, as arrays of a library; empty ones are left out."""
    whole = as_arrow(columns) if library == "pd" else as_library(columns, library)
    for first, last in pairwise([0, *borders]):
        if first == last:
            continue
        if library == "np":
            yield {name: array[first:last] for name, array in whole.items()}
        elif library == "pd":
            yield table_as_pandas(whole[first:last])
        else:
            yield whole[first:last]


def as_arrow(columns: Columns) -> pa.Table:
    """Return rows as an Arrow table, whose schema is the same for all steps."""
    import pyarrow

    builder = ArrowBuilder()
    return pyarrow.table({name: assemble(values, builder) for name, values in columns.items()})


def as_library(columns: Columns, library: Library) -> Any:
    """Return rows as `DataSet.arrays` does.

    Raises:
        UsageError: no such library.
    """
    if library == "pa":
        return as_arrow(columns)
    if library == "pl":
        from colonnade.polars import frame_of

        return frame_of(as_arrow(columns))
    if library == "pd":
        return table_as_pandas(as_arrow(columns))
    layouts = {name: layout_of(values) for name, values in columns.items()}
    if library == "ak":
        return zip_fields(layouts, _rows(columns))
    if library == "np":
        return {name: to_numpy(layout) for name, layout in layouts.items()}
    raise unknown_library(library)


def table_as_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as `DataSet.arrays` does with library="pd"."""
    import pandas
    import pyarrow

    index = pandas.RangeIndex(table.num_rows)
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    series = {
        name: to_series(each.chunk(0) if isinstance(each, pyarrow.ChunkedArray) else each, index)
        for name, each in columns.items()
    }
    return pandas.DataFrame(series, index=index)


def _size_of(step_size: int | str) -> tuple[int, int | None]:
    """The entries of a step; or 0 and its bytes."""
    entries, budget = (
        (0, parse_size(step_size))
        if isinstance(step_size, str)
        else (whole_number("step_size", step_size), None)
    )
    if (entries if budget is None else budget) < 1:
        raise UsageError(f"a step must have at least one {'byte' if budget is not None else 'entry'}")
    return entries, budget


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _bytes_of(columns: Columns) -> int:
    return sum(ak.Array(layout_of(values)).nbytes for values in columns.values())
