"""Polars over data sets: lazy frames that read only the columns and clusters that a query needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from colonnade._core import FieldKind
from colonnade.errors import Error, UnsupportedError
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import open as open_data_set
from colonnade.reading.scanning import batches_where

if TYPE_CHECKING:
    import polars as pl

    from colonnade.reading.dataset import Fields
    from colonnade.schema.fields import FieldInfo

__all__ = ["check_types", "frame_of", "scan"]


def scan(
    source: DataSet | str | os.PathLike[str] | list[str],
    name: str = "",
    *,
    fields: Fields = None,
    **options: Any,
) -> pl.LazyFrame:
    """Scan a data set.

    Polars tells which columns and rows a query needs: the columns of the condition are read first, the others only
    where a row passes.

    Args:
        source: an open data set, or an argument of `colonnade.open`.
        name: of the data set.
        fields: columns of the frame; by default all readable ones.
        **options: see `colonnade.open`.

    Raises:
        UnsupportedError: a column has a type that Polars lacks, such as a variant.
    """
    from polars.io.plugins import register_io_source

    data_set = source if isinstance(source, DataSet) else open_data_set(source, name, **options)
    selected = data_set._select(fields)
    schema: dict[str, pl.DataType] = {}
    for column, info in selected.items():
        schema |= _schema_of(data_set, column, info)

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if columns is None else columns
        if predicate is None:
            yield from (frame_of(batch) for batch in batches_where(data_set, wanted, last=rows))
            return

        def passes(batch: Any) -> Any:
            return frame_of(batch).select(predicate.alias("passes"))["passes"].fill_null(False).to_arrow()

        tested = predicate.meta.root_names()
        yield from (frame_of(batch) for batch in batches_where(data_set, wanted, tested, passes, rows))

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
        if any(part.kind == FieldKind.variant for part in info.walk()):
            raise _no_type(column, info)


def _no_type(column: str, info: FieldInfo) -> UnsupportedError:
    return UnsupportedError(
        f"Polars has no type for '{info.type}'", "leave the column out: fields=[...]", field=column
    )


def frame_of(batch: Any) -> pl.DataFrame:
    """Return an Arrow table or record batch as a data frame of Polars."""
    import polars as pl

    if batch.num_columns == 0:  # rows of nothing still count; older versions of Polars have none
        return pl.select(pl.repeat(None, batch.num_rows).alias("row")).drop("row")
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame
