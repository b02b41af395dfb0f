"""Polars over data sets and data frames: lazy frames that read and compute only what a query needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from colonnade._core import FieldKind
from colonnade.arrays.arrow import with_text_views
from colonnade.errors import Error, UnsupportedError, UsageError
from colonnade.frame.actions import Actions
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import open as open_data_set

if TYPE_CHECKING:
    import polars as pl

    from colonnade.reading.dataset import Fields
    from colonnade.schema.fields import FieldInfo

__all__ = ["check_types", "frame_of", "scan"]


def scan(
    source: DataSet | Actions | str | os.PathLike[str] | list[str],
    name: str = "",
    *,
    fields: Fields = None,
    **options: Any,
) -> pl.LazyFrame:
    """Scan a data set or a `colonnade.DataFrame`.

    Polars tells which columns and rows a query needs. Of a data set the columns of the condition are read first, the
    others only where a row passes; a DataFrame computes the columns that the query names.

    Args:
        source: an open data set, a DataFrame, or an argument of `colonnade.open`.
        name: of the data set; not of an open one.
        fields: columns of the frame; by default all readable ones.
        **options: see `colonnade.open`; not of an open data set.

    Raises:
        UsageError: `source` is open, but a name or options are given.
        UnsupportedError: a column has a type that Polars lacks, such as a variant.
    """
    from polars.io.plugins import register_io_source

    if (name or options) and isinstance(source, Actions | DataSet):
        what = "a DataFrame" if isinstance(source, Actions) else "an open data set"
        raise UsageError(f"{what} takes no name or options", "fields=, or the file instead")
    if isinstance(source, Actions):
        scanned: DataSet | Actions = source
        names = source._polars_columns(fields)
        schema = dict(frame_of(source._arrow_schema(names).empty_table()).schema)
    else:
        scanned = data_set = source if isinstance(source, DataSet) else open_data_set(source, name, **options)
        selected = data_set._select(fields)
        schema = {}
        for column, info in selected.items():
            schema |= _schema_of(data_set, column, info)

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if columns is None else columns

        def passes(batch: Any) -> Any:
            assert predicate is not None
            rows = frame_of(batch).with_columns(predicate.alias("passes"))
            return rows["passes"].fill_null(False).to_arrow()

        tested = [] if predicate is None else list(dict.fromkeys(predicate.meta.root_names()))
        found = scanned._arrow_batches(wanted, tested, None if predicate is None else passes, rows)
        yield from map(frame_of, found)

    return register_io_source(batches, schema=schema, is_pure=True, explain_name="COLONNADE")


def _schema_of(data_set: DataSet, column: str, info: FieldInfo) -> Any:
    import polars as pl

    try:
        batch = data_set._batch({column: info}, 0, 0)
        check_types({column: info})
        return frame_of(batch).schema
    except Error:
        raise
    except (pl.exceptions.PolarsError, ValueError, NotImplementedError) as error:
        raise _no_type(column, info) from error


def check_types(selected: Mapping[str, FieldInfo]) -> None:
    """Refuse variants, at any depth: Polars would end in a panic, which is no `Exception`.

    Raises:
        UnsupportedError: a column has a type that Polars lacks.
    """
    for column, info in selected.items():
        for part in info.walk():
            if part.kind == FieldKind.variant:
                raise _no_type(column, part)


def _no_type(column: str, info: FieldInfo) -> UnsupportedError:
    return UnsupportedError(
        f"Polars has no type for '{info.type}'", "leave the column out: fields=[...]", field=column
    )


def _with_text_views(column: Any) -> Any:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return with_text_views(column)
    return with_text_views(column.chunk(0)) if column.num_chunks == 1 else column


def frame_of(batch: Any) -> pl.DataFrame:
    """Return an Arrow table or record batch as a data frame of Polars."""
    import polars as pl

    if batch.num_columns == 0:  # rows of nothing still count; older versions of Polars have none
        return pl.select(pl.repeat(None, batch.num_rows).alias("row")).drop("row")
    columns = [_with_text_views(column) for column in batch.columns]
    frame = pl.from_arrow(type(batch).from_arrays(columns, batch.schema.names))
    assert isinstance(frame, pl.DataFrame)
    return frame
