"""Scans by other engines, which request columns and rows: nothing else is read.

The columns of a condition are read first, cluster by cluster, the others only where a row passes. Of servers all come
together in the first step, and as long as rows pass: a second request takes longer than the bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import acero

from colonnade import _core
from colonnade.errors import UnsupportedError
from colonnade.reading.steps import with_next
from colonnade.reading.streams import Stream

if TYPE_CHECKING:
    from .dataset import DataSet

__all__ = ["ArrowDataset", "batches_where"]

_STEP = "64 MiB"

Passes: TypeAlias = Callable[[pa.RecordBatch], pa.BooleanArray]
"""Returns which rows of a batch pass a test."""


class Scanned(Protocol):
    """What other engines scan."""

    def _arrow_schema(self, columns: Any) -> pa.Schema:
        """Give the columns that names and wildcards choose, with their types."""

    def _arrow_batches(
        self, columns: Sequence[str], tested: Sequence[str], passes: Passes | None, rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Compute columns of those of the first rows that pass a test, which needs some columns."""

    def _arrow_rows(self) -> int:
        """Count the rows."""


def batches_where(
    data_set: DataSet,
    columns: Sequence[str],
    tested: Sequence[str] = (),
    passes: Passes | None = None,
    last: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read columns of the entries that pass a test.

    Args:
        data_set: the data set to read.
        columns: of the batches, in order.
        tested: columns that the test needs.
        passes: returns which rows of a batch of these columns pass.
        last: the entry before which to stop; None: the end.
    """
    selected = data_set._select(list(columns), warns=False)
    first_read = data_set._select(list(tested), warns=False)
    rest = {name: info for name, info in selected.items() if name not in first_read}
    stop = data_set.num_entries if last is None else min(last, data_set.num_entries)
    schema = data_set._batch(selected, 0, 0).schema
    if passes is None:
        for (begin, end), ahead in with_next(data_set._steps(selected, _STEP, 0, stop)):
            yield data_set._batch(selected, begin, end, ahead)
        return
    every = {**first_read, **rest}
    is_far = not all(map(_core.is_local, data_set.files))
    together = is_far
    for (begin, end), ahead in with_next(data_set._cluster_steps(every, _STEP, stop)):
        wanted = every if together else first_read
        head = data_set._batch(wanted, begin, end, ahead if is_far else 0)
        mask = passes(head.select(list(first_read)))
        together = is_far and mask.true_count > 0
        if mask.true_count == 0:
            continue
        arrays = dict(zip(head.schema.names, head.columns, strict=True))
        if rest and wanted is not every:
            tail = data_set._batch(rest, begin, end)
            arrays |= dict(zip(tail.schema.names, tail.columns, strict=True))
        if not columns:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * mask.true_count, pa.struct([])))
            continue
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=schema)
        yield batch if mask.true_count == len(mask) else batch.filter(mask)


class _Unreadable(io.BytesIO):
    """The file of PyArrow's own scans, which would not ask for columns and rows."""

    def read(self, _size: int | None = -1, /) -> bytes:
        raise UnsupportedError("PyArrow cannot do this with a data set", "to_table(), and the same with that")


def _values(expression: ds.Expression, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Evaluate in this thread: those of Arrow may all be waiting for scans that were left, this one among them."""
    rows = acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([batch])))
    values = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["values"]), [rows])
    return values.to_table(use_threads=False)["values"].combine_chunks()


def _owned_by_arrow(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Copy: threads of Arrow may free batches when the interpreter ends, and Python's memory is freed with its lock."""
    if batch.num_columns == 0:
        return batch
    return pa.RecordBatch.from_arrays(
        [pa.concat_arrays([column]) for column in batch.columns], schema=batch.schema
    )


class ArrowDataset(ds.UnionDataset):  # type: ignore[misc]
    """A data set or a data frame as a pyarrow dataset, for DuckDB and other engines.

    Scans read the columns that they project or filter by, and of entries without passing rows only the latter. What
    PyArrow scans without `scanner()`, to sort, join and unite datasets, is an UnsupportedError.
    """

    def __init__(self, source: Scanned, columns: Any = None, condition: ds.Expression | None = None) -> None:
        self._source, self._condition = source, condition
        schema = source._arrow_schema(columns)
        self._names = list(schema.names)
        arrow = ds.IpcFileFormat()
        unreadable = ds.FileSystemDataset([arrow.make_fragment(_Unreadable(bytes(64)))], schema, arrow)
        super().__init__(schema, [unreadable])

    def filter(self, expression: ds.Expression) -> ArrowDataset:
        """Return the dataset of the rows that pass this filter, too."""
        return ArrowDataset(self._source, self._names, self._filtered(expression))

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, ds.Expression] | None = None,
        filter: ds.Expression | None = None,  # noqa: A002
        **options: Any,
    ) -> ds.Scanner:
        """Scan columns, or expressions over them, of the rows that pass a filter; see `pyarrow.dataset.Dataset`."""
        filter = self._filtered(filter)  # noqa: A001
        tested = self._used(filter)
        if isinstance(columns, Mapping):
            projected = [name for each in columns.values() for name in self._used(each)]
        else:
            paths = self._names if columns is None else columns
            projected = [path if path in self._names else path.split(".")[0] for path in paths]
        names = sorted(
            {*projected, *tested}, key=self.schema.get_field_index
        )  # positions count in this order
        schema = pa.schema([self.schema.field(name) for name in names])

        def passes(batch: pa.RecordBatch) -> pa.BooleanArray:
            return _values(filter, batch).fill_null(False)

        found = self._source._arrow_batches(names, tested, None if filter is None else passes)
        batches = map(_owned_by_arrow, found)
        return ds.Scanner.from_batches(
            Stream(batches), schema=schema, columns=columns, filter=filter, **options
        )

    def count_rows(self, filter: ds.Expression | None = None, **options: Any) -> int:  # noqa: A002
        """Count the rows that pass a filter."""
        condition = self._filtered(filter)
        if condition is None:
            return self._source._arrow_rows()
        return int(self.scanner(columns=self._used(condition)[:1], filter=filter, **options).count_rows())

    def get_fragments(self, filter: ds.Expression | None = None) -> Iterator[ds.Fragment]:  # noqa: A002
        """Raise UnsupportedError: a data set has no fragments of Arrow's kind."""
        raise UnsupportedError("a data set has no fragments", "scanner(), to_batches() or to_table()")

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrowDataset, (self._source, self._names, self._condition)

    def _filtered(self, expression: ds.Expression | None) -> ds.Expression | None:
        if self._condition is None:
            return expression
        return self._condition if expression is None else self._condition & expression

    def _used(self, expression: ds.Expression | None) -> list[str]:
        """The columns of an expression: those without which it is invalid; all if it names one by its position."""
        if expression is None:
            return []
        text = str(expression)
        if "FieldPath(" in text:
            return self._names
        used = []
        for name in self._names:
            if name not in text:
                continue
            others = pa.schema([field for field in self.schema if field.name != name])
            try:
                ds.InMemoryDataset([], others).scanner(columns={"it": expression}).projected_schema  # noqa: B018
            except pa.ArrowInvalid:
                used.append(name)
        return used
