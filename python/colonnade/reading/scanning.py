"""Scans by other engines, which request columns and rows: nothing else is read.

The columns of a condition are read first, cluster by cluster, the others only where a row passes. Of servers all come
together as long as rows pass: a second request takes longer than the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from colonnade.errors import UnsupportedError
from colonnade.reading.steps import with_next

if TYPE_CHECKING:
    from .dataset import DataSet, Fields

__all__ = ["ArrowDataset", "batches_where"]

_STEP = "64 MiB"


def batches_where(
    data_set: DataSet,
    columns: Sequence[str],
    tested: Sequence[str] = (),
    passes: Callable[[pa.RecordBatch], pa.BooleanArray] | None = None,
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
    is_far = any("://" in file for file in data_set.files)
    passed = False  # rows of the step before
    for (begin, end), ahead in with_next(data_set._cluster_steps(every, _STEP, stop)):
        together = is_far and passed
        head = (
            data_set._batch(every, begin, end, ahead) if together else data_set._batch(first_read, begin, end)
        )
        mask = passes(head.select(list(first_read)) if together else head)
        passed = mask.true_count > 0
        if not passed:
            continue
        arrays = dict(zip(head.schema.names, head.columns, strict=True))
        if rest and not together:
            tail = data_set._batch(rest, begin, end)
            arrays |= dict(zip(tail.schema.names, tail.columns, strict=True))
        if not columns:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * mask.true_count, pa.struct([])))
            continue
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=schema)
        yield batch if mask.true_count == len(mask) else batch.filter(mask)


class ArrowDataset(ds.Dataset):  # type: ignore[misc]
    """A data set as a pyarrow dataset, for DuckDB and other engines.

    Scans read the columns that they project or filter by, and of entries without passing rows only the latter.
    """

    def __init__(self, data_set: DataSet, fields: Fields = None) -> None:
        self._data_set = data_set
        self._names = list(data_set._select(fields))
        self._schema = data_set._batch(data_set._select(self._names), 0, 0).schema

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns that can be scanned."""
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, ds.Expression] | None = None,
        filter: ds.Expression | None = None,  # noqa: A002
        **options: Any,
    ) -> ds.Scanner:
        """Scan columns, or expressions over them, of the rows that pass a filter; see `pyarrow.dataset.Dataset`."""
        tested = self._used(filter)
        if isinstance(columns, Mapping):
            projected = [name for each in columns.values() for name in self._used(each)]
        else:
            projected = self._names if columns is None else list(columns)
        names = list(dict.fromkeys([*projected, *tested]))
        schema = pa.schema([self._schema.field(name) for name in names])

        def passes(batch: pa.RecordBatch) -> pa.BooleanArray:
            found = ds.InMemoryDataset(batch).scanner(columns={"passes": filter}).to_table()["passes"]
            return found.combine_chunks().fill_null(False)

        batches = batches_where(self._data_set, names, tested, None if filter is None else passes)
        return ds.Scanner.from_batches(batches, schema=schema, columns=columns, filter=filter, **options)

    def count_rows(self, filter: ds.Expression | None = None, **options: Any) -> int:  # noqa: A002
        """Count the rows that pass a filter."""
        if filter is None:
            return self._data_set.num_entries
        return int(self.scanner(columns=self._used(filter)[:1], filter=filter, **options).count_rows())

    def get_fragments(self, filter: ds.Expression | None = None) -> Iterator[ds.Fragment]:  # noqa: A002
        """Raise UnsupportedError: a data set has no fragments of Arrow's kind."""
        raise UnsupportedError("a data set has no fragments", "scanner(), to_batches() or to_table()")

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrowDataset, (self._data_set, self._names)

    def _used(self, expression: ds.Expression | None) -> list[str]:
        """The columns of an expression: those without which it is invalid."""
        if expression is None:
            return []
        text = str(expression)
        used = []
        for name in self._names:
            if name not in text:
                continue
            others = pa.schema([field for field in self._schema if field.name != name])
            try:
                ds.InMemoryDataset(others.empty_table()).scanner(columns={"it": expression}).projected_schema  # noqa: B018
            except pa.ArrowInvalid:
                used.append(name)
        return used
