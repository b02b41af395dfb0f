"""The data that a writer accepts: dictionaries, Awkward arrays, Arrow tables, data frames - as one layout per field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import ConversionError, Error, TypeMismatchError, UsageError, locate

__all__ = ["Batch", "to_batch"]

_UNITS = {
    "M": {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s"},
    "m": {"W": "s", "D": "s", "h": "s", "m": "s"},
}
"""For NumPy's units of dates and of durations that Arrow does not have: finer ones that it has."""


class Batch(NamedTuple):
    """Columns of equal length."""

    columns: dict[str, Content]
    entries: int
    loose: frozenset[str] = frozenset()
    """Columns whose option types mean nothing: any column of their source may have missing values."""
    notes: Mapping[str, str] = {}
    """The meaning of numbers, by path: the unit of times."""


def to_batch(data: Any) -> Batch:
    """Convert users' data to one layout per field.

    Raises:
        TypeMismatchError: the data have no named columns, or a column has values that cannot be stored.
        ConversionError: integers that do not fit into 64 bits.
        UsageError: columns of different lengths, or of the same name.
    """
    if isinstance(data, ak.Array):
        return _from_awkward(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _from_columns((name, data[name]) for name in data.dtype.names)
    if isinstance(data, Mapping):
        return _from_columns(data.items())
    if _package(data) in ("pandas", "polars") and hasattr(data, "shape") and hasattr(data, "columns"):
        columns = data.items() if hasattr(data, "items") else ((series.name, series) for series in data)
        return _from_columns(columns)._replace(entries=len(data))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _from_arrow(data)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return _from_columns((name, [row.get(name) for row in data]) for name in names)
    raise _without_columns(data)


def _without_columns(data: Any) -> TypeMismatchError:
    return TypeMismatchError(
        f"a {type(data).__name__} has no named columns",
        "a dictionary of arrays, an Awkward array of records, an Arrow table or a data frame",
    )


def _package(values: Any) -> str:
    return type(values).__module__.partition(".")[0]


def _from_awkward(data: ak.Array) -> Batch:
    layout = ak.to_layout(data)
    if layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if not layout.is_record or layout.is_tuple:
        raise TypeMismatchError(
            f"an Awkward array of type '{layout.form.type}' has no fields",
            "an array of records (ak.zip), or a dictionary",
        )
    return Batch({name: layout.content(name)[: layout.length] for name in layout.fields}, layout.length)


def _from_arrow(data: Any) -> Batch:
    import pyarrow as pa

    try:
        # Import of a table anew fails on empty chunks at an offset (pyarrow 26).
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except (pa.ArrowException, TypeError) as error:
        raise _without_columns(data) from error
    columns = zip(table.column_names, table.columns, strict=True)
    return _from_columns(columns)._replace(entries=table.num_rows)


def _from_columns(columns: Iterable[tuple[Any, Any]]) -> Batch:
    found: dict[str, _Column] = {}
    for key, values in columns:
        name = str(key)
        if name in found:
            raise UsageError("two columns have the same name", "rename one of them", field=name)
        found[name] = _column(name, values)
    lengths = {name: column.content.length for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise UsageError(f"the arrays have different lengths ({listed})")
    return Batch(
        {name: column.content for name, column in found.items()},
        next(iter(lengths.values()), 0),
        frozenset(name for name, column in found.items() if column.loose),
        {path: unit for column in found.values() for path, unit in column.units.items()},
    )


# ---- One column


class _Column(NamedTuple):
    content: Content
    loose: bool = False
    units: Mapping[str, str] = {}


def _column(name: str, values: Any) -> _Column:
    """Convert a column. NumPy, Awkward, Arrow, pandas and Polars raise errors of any type for what they do not know."""
    try:
        array = _as_arrow(values)
        if array is None:
            return _Column(_layout(values))
        content = _from_arrow_array(array)
        # NaN of NumPy's types is a number; pandas' own types are optional, even if none is missing.
        optional = hasattr(getattr(values, "array", values), "_mask")
        if optional and not content.is_option:
            content = ak.contents.UnmaskedArray.simplified(content)
        return _Column(content, not optional, _units(name, array.type))
    except Error as error:
        raise locate(error, field=name) from error.__cause__
    except MemoryError:
        raise
    except Exception as error:
        kind = getattr(values, "dtype", getattr(values, "type", type(values).__name__))
        meant = isinstance(error, TypeError | ValueError | NotImplementedError)
        why = f": {str(error).splitlines()[0]}" if meant and str(error) else ""
        raise TypeMismatchError(
            f"values of type '{kind}' cannot be stored{why}",
            "convert them to an array of numbers, texts, lists or records",
            field=name,
        ) from error


def _as_arrow(values: Any) -> Any:
    """The Arrow array of a column of Arrow, pandas or Polars, or of times of NumPy; None for others."""
    if isinstance(values, ak.Array):
        return None
    if _package(values) == "pandas":
        import pandas as pd
        import pyarrow as pa

        series = pd.Series(values)
        is_plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
        return None if is_plain else _in_one_piece(pa.Array.from_pandas(series))
    if _package(values) == "polars" and str(values.dtype) == "Object":
        raise TypeMismatchError(
            "Python objects of Polars cannot be stored", "map_elements, to a type of Polars"
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        import pyarrow as pa

        return pa.array(_in_units_of_arrow(values))  # it knows the missing ones
    if hasattr(values, "__arrow_c_stream__"):
        import pyarrow as pa

        chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array(values)
        return _in_one_piece(chunked)
    if hasattr(values, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.array(values)
    return None


def _in_units_of_arrow(values: Any) -> Any:
    kind = values.dtype.kind
    unit, count = np.datetime_data(values.dtype)
    finer = _UNITS[kind].get(unit, unit)
    return values if (finer, count) == (unit, 1) else values.astype(f"{kind}8[{finer}]")


def _in_one_piece(array: Any) -> Any:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    # Empty ones at an offset cannot be combined (pyarrow 26). A column without chunks would have no type.
    chunks = [chunk for chunk in array.chunks if len(chunk)]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, array.type).combine_chunks()


def _layout(values: Any) -> Content:
    """The layout of an array of Awkward or NumPy, or of a list."""
    if isinstance(values, ak.Array):
        return ak.to_layout(values)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TypeMismatchError(f"a {type(values).__name__} is not an array of values")
    if _package(values) == "pandas" or isinstance(values, np.matrix):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        return _from_python(values)
    if values.dtype == np.object_:
        return _from_python(values.tolist())
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return ak.to_layout(values, regulararray=True)


def _from_python(values: Any) -> Content:
    """The layout of a list. Awkward takes no integers from 2^63 on, so that lists with some are taken apart."""
    try:
        return ak.to_layout(ak.Array(values))
    except RuntimeError:
        if not isinstance(values, list | tuple):
            raise
        if any(value is None for value in values):
            present = np.array([value is not None for value in values])
            index = np.where(present, np.cumsum(present) - 1, -1)
            content = _from_python([value for value in values if value is not None])
            return ak.contents.IndexedOptionArray(ak.index.Index64(index), content)
        if all(isinstance(value, Mapping) for value in values):
            names = list(dict.fromkeys(name for value in values for name in value))
            members = [_from_python([value.get(name) for value in values]) for name in names]
            return ak.contents.RecordArray(members, names)
        if all(isinstance(value, tuple) for value in values):
            return ak.contents.RecordArray([_from_python(part) for part in zip(*values, strict=True)], None)
        if all(isinstance(value, int | np.integer) for value in values):
            return _unsigned(values)
        if any(isinstance(value, str | bytes | Mapping) for value in values):
            raise
        offsets = np.cumsum([0, *(len(value) for value in values)])
        content = _from_python([item for value in values for item in value])
        return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)


def _unsigned(values: Sequence[int]) -> Content:
    try:
        return ak.to_layout(np.array(values, np.uint64))
    except OverflowError:
        raise ConversionError(
            f"the integers from {min(values)} to {max(values)} fit into no type of 64 bits"
        ) from None


# ---- Arrow


def _units(path: str, kind: Any) -> dict[str, str]:
    """The meaning of integers that stand for dates and times, by path: {"t": "timestamp[us, tz=UTC]"}."""
    import pyarrow as pa

    below = path
    while _is_list(kind) or pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        below += "._0" if _is_list(kind) else ""
        kind = kind.value_type
    if pa.types.is_map(kind):
        return _units(f"{below}._0._0", kind.key_type) | _units(f"{below}._0._1", kind.item_type)
    if pa.types.is_struct(kind):
        members = [kind.field(number) for number in range(kind.num_fields)]
        return {k: v for m in members for k, v in _units(f"{below}.{m.name}", m.type).items()}
    return {path: str(kind)} if pa.types.is_temporal(kind) else {}


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _storable(kind: Any, *, decoded: bool) -> Any:
    """The type that can be stored, with the layouts that Awkward supports.

    Polars, for example, gives strings as views. Categories become their values, dates and times integers. Maps are
    lists of tuples.

    Args:
        kind: the type of an array.
        decoded: False for the step before: dictionaries, of storable values. Arrow does not decode those of views.
    """
    import pyarrow as pa

    def inner(kind: Any) -> Any:
        return _storable(kind, decoded=decoded)

    if pa.types.is_dictionary(kind):
        values = inner(kind.value_type)
        return values if decoded else pa.dictionary(kind.index_type, values, kind.ordered)
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()

    if pa.types.is_string_view(kind):
        return pa.large_utf8()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_map(kind):
        return pa.large_list(pa.struct([("_0", inner(kind.key_type)), ("_1", inner(kind.item_type))]))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner(kind.value_type), kind.list_size)
    if _is_list(kind):
        return pa.large_list(inner(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(k).name, inner(kind.field(k).type)) for k in range(kind.num_fields)])
    return kind


def _from_arrow_array(array: Any) -> Content:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_run_end_encoded(array.type):
        array = compute.run_end_decode(array)
    for decoded in (False, True):
        kind = _storable(array.type, decoded=decoded)
        if kind != array.type:
            array = array.cast(kind)
    return ak.to_layout(ak.from_arrow(_rebased(array)))


def _rebased(array: Any) -> Any:
    """Copy what Awkward would misread.

    Awkward (for example 2.14) takes validity bits from the beginning of their buffer, wherever a slice begins, and the
    whole buffer of an empty part, which may have any size after a cast.
    """
    import pyarrow as pa

    parts = list(_parts_of(array))
    has_slice = any(part.offset for part in parts) and any(part.buffers()[0] is not None for part in parts)
    if has_slice or not all(len(part) for part in parts):
        return pa.concat_arrays([array, array.slice(0, 0)])
    return array


def _parts_of(array: Any) -> Iterator[Any]:
    """Yield an array and all its children."""
    import pyarrow as pa

    yield array
    kind = array.type
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        for number in range(kind.num_fields):
            yield from _parts_of(array.field(number))
    elif hasattr(array, "values"):
        yield from _parts_of(array.values)
