"""The data that a writer accepts: dictionaries, Awkward arrays, Arrow tables, data frames - as one layout per field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import TypeMismatchError, UsageError

__all__ = ["Batch", "to_batch"]


class Batch(NamedTuple):
    """Columns of equal length."""

    columns: dict[str, Content]
    entries: int
    loose: bool
    """Option types mean nothing: any column of the source may have missing values."""
    optional: frozenset[str] = frozenset()
    """Columns whose option types are meaningful anyway."""
    notes: Mapping[str, str] = {}
    """The meaning of the numbers in columns: the unit of times."""


def to_batch(data: Any) -> Batch:
    """Convert users' data to one layout per field.

    Raises:
        TypeMismatchError: the data have no named columns.
        UsageError: columns of different lengths.
    """
    if isinstance(data, ak.Array):
        return _from_awkward(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _checked({name: ak.to_layout(data[name]) for name in data.dtype.names}, False)
    if isinstance(data, Mapping):
        columns = {str(name): _column(str(name), values) for name, values in data.items()}
        notes = {str(name): _unit_of_values(values) for name, values in data.items()}
        return _checked(columns, False)._replace(notes={name: note for name, note in notes.items() if note})
    if _is_pandas(data):
        return _from_pandas(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _from_arrow(data)
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
        return _from_awkward(ak.Array(data))
    raise TypeMismatchError(
        f"a {type(data).__name__} has no named columns",
        "a dictionary of arrays, an Awkward array of records, an Arrow table or a pandas data frame",
    )


def _from_awkward(data: ak.Array) -> Batch:
    layout = ak.to_layout(data)
    if layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if not layout.is_record or layout.is_tuple:
        raise TypeMismatchError(
            f"an Awkward array of type '{layout.form.type}' has no fields",
            "an array of records (ak.zip), or a dictionary",
        )
    return Batch(
        {name: layout.content(name)[: layout.length] for name in layout.fields}, layout.length, False
    )


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.startswith("pandas") and hasattr(data, "columns")


def _from_arrow(data: Any) -> Batch:
    import pyarrow as pa

    table = pa.table(data)
    columns = {}
    notes = {}
    for name in table.column_names:
        column = table.column(name)
        # A column without chunks would have no type.
        chunk = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        columns[str(name)] = _from_arrow_array(str(name), chunk)
        notes[str(name)] = _unit_of(chunk.type)
    return Batch(columns, table.num_rows, True, notes={name: note for name, note in notes.items() if note})


def _from_pandas(data: Any) -> Batch:
    """NaN of NumPy's types is a number; pandas' own types with missing values are optional, even if none is missing."""
    columns = {str(name): data[name] for name in data.columns}
    if len(columns) != len(data.columns):
        raise UsageError("two columns of the data frame have the same name", "rename one of them")
    batch = _checked({name: _column(name, series) for name, series in columns.items()}, True)
    optional = {name for name, series in columns.items() if hasattr(series.array, "_mask")}
    notes = {name: _unit_of_series(series) for name, series in columns.items()}
    contents = {
        name: ak.contents.UnmaskedArray.simplified(content)
        if name in optional and not content.is_option
        else content
        for name, content in batch.columns.items()
    }
    return batch._replace(
        columns=contents,
        entries=len(data),
        optional=frozenset(optional),
        notes={name: note for name, note in notes.items() if note},
    )


def _unit_of_series(series: Any) -> str:
    import pyarrow as pa

    is_plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
    return "" if is_plain else _unit_of(pa.Array.from_pandas(series.iloc[:0]).type)


def _unit_of(kind: Any) -> str:
    """The meaning of integers that stand for dates and times: "timestamp[us, tz=UTC]"; empty for other types."""
    import pyarrow as pa

    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return str(kind) if pa.types.is_temporal(kind) else ""


def _storable(kind: Any) -> Any:
    """The type that can be stored, with the layouts that Awkward supports.

    Polars, for example, gives strings as views. Categories become their values, dates and times integers.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _storable(kind.value_type)
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()

    if pa.types.is_string_view(kind):
        return pa.large_utf8()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_storable(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.large_list(_storable(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct(
            [(kind.field(k).name, _storable(kind.field(k).type)) for k in range(kind.num_fields)]
        )
    return kind


def _from_arrow_array(name: str, array: Any) -> Content:
    import pyarrow as pa

    try:
        kind = _storable(array.type)
        if pa.types.is_dictionary(array.type):  # views can be cast, but not decoded
            plain = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(kind))
            array = plain.dictionary_decode()
        return ak.to_layout(ak.from_arrow(_rebased(array if kind == array.type else array.cast(kind))))
    except (TypeError, ValueError, NotImplementedError) as error:  # the last: types that pyarrow cannot cast
        raise TypeMismatchError(
            f"Arrow values of type '{array.type}' cannot be stored", field=name
        ) from error


def _rebased(array: Any) -> Any:
    """Copy a slice with its validity bits.

    Awkward (for example 2.14) takes these bits from the beginning of their buffer, wherever the slice begins.
    """
    import pyarrow as pa

    parts = list(_parts_of(array))
    if any(part.offset for part in parts) and any(part.buffers()[0] is not None for part in parts):
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


def _unit_of_values(values: Any) -> str:
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        import pyarrow as pa

        return str(pa.from_numpy_dtype(values.dtype))
    if type(values).__module__.startswith("pyarrow"):
        return _unit_of(values.type)
    return _unit_of_series(values) if type(values).__module__.startswith("pandas") else ""


def _column(name: str, values: Any) -> Content:
    if isinstance(values, ak.Array):
        return ak.to_layout(values)
    if type(values).__module__.startswith("pyarrow"):
        chunk = values.combine_chunks() if hasattr(values, "combine_chunks") else values
        return _from_arrow_array(name, chunk)
    if type(values).__module__.startswith("pandas"):
        import pyarrow as pa

        if isinstance(getattr(values, "dtype", None), np.dtype) and values.dtype.kind in "biuf":
            return ak.to_layout(values.to_numpy())
        return _column(name, pa.Array.from_pandas(values))
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        import pyarrow as pa

        return _from_arrow_array(name, pa.array(values))  # it knows the missing ones
    if isinstance(values, np.ndarray) and values.dtype == np.object_:
        values = values.tolist()
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TypeMismatchError(f"a {type(values).__name__} is not an array of values", field=name)
    try:
        if isinstance(values, np.ndarray):
            if not values.dtype.isnative and values.dtype.kind in "biuf":
                values = values.astype(values.dtype.newbyteorder("="))
            return ak.to_layout(values, regulararray=True)
        return ak.to_layout(ak.Array(values))
    except (TypeError, ValueError) as error:
        raise TypeMismatchError(
            f"the values are not an array: {str(error).splitlines()[0]}", field=name
        ) from error


def _checked(columns: dict[str, Content], loose: bool) -> Batch:
    lengths = {name: column.length for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise UsageError(f"the arrays have different lengths ({listed})")
    return Batch(columns, next(iter(lengths.values()), 0), loose)
