"""The data that a writer accepts: dictionaries, Awkward arrays, Arrow tables, data frames - as one layout per field."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

from colonnade.arrays.awkward import AwkwardBuilder
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.arrays.objects import are_tuples, is_changed, layout_of_objects
from colonnade.arrays.plain import as_mapping, kept_items
from colonnade.errors import ConversionError, Error, TypeMismatchError, UsageError, locate

__all__ = ["Batch", "Decimals", "has_items", "to_batch"]

Decimals: TypeAlias = Literal["refuse", "double", "int64", "text"]
"""What becomes of decimal numbers, for which RNTuple has no type: the nearest `double`, integers, or their digits."""

_NUMBERS = "?bBhHiIlLqQfd"  # their types of NumPy, by characters
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
    lists: Mapping[str, Sequence[Any]] = {}
    """Columns that came as lists. Awkward makes one type of their numbers."""


def to_batch(data: Any, by_value: Collection[str] = (), decimals: Decimals = "refuse") -> Batch:
    """Convert users' data to one layout per field.

    Args:
        data: see `Filler.extend`; or a batch, which is returned.
        by_value: columns whose lists can be stored value by value, and may have values that no array can hold together.
        decimals: what becomes of decimal numbers in tables and arrays of Arrow.

    Raises:
        TypeMismatchError: the data have no named columns, or a column has values that cannot be stored.
        ConversionError: integers that do not fit into 64 bits, or times that do not fit a unit of Arrow.
        UsageError: columns of different lengths, or of the same name.
    """
    if isinstance(data, Batch):
        return data
    if isinstance(data, ak.Array):
        return _from_awkward(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _from_columns(((name, data[name]) for name in data.dtype.names), by_value)
    if isinstance(data, Mapping):
        return _from_columns(data.items(), by_value, decimals)
    if _package(data) in ("pandas", "polars") and hasattr(data, "shape") and hasattr(data, "columns"):
        columns = data.items() if hasattr(data, "items") else ((series.name, series) for series in data)
        return _from_columns(columns, by_value)._replace(entries=len(data))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _from_arrow(data, decimals)
    items = data if isinstance(data, list) else []
    rows = [members for row in items if (members := as_mapping(row)) is not None]
    if rows and len(rows) == len(items):
        names = dict.fromkeys(name for row in rows for name in row)
        return _from_columns(((name, [row.get(name) for row in rows]) for name in names), by_value)
    raise _without_columns(data)


def _without_columns(data: Any) -> TypeMismatchError:
    return TypeMismatchError(
        f"a {type(data).__name__} has no named columns",
        "a dictionary of arrays, an Awkward array of records, an Arrow table or a data frame",
    )


def _package(values: Any) -> str:
    return type(values).__module__.partition(".")[0]


def _from_awkward(data: ak.Array) -> Batch:
    layout = _of_awkward(data)
    if layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if not layout.is_record or layout.is_tuple:
        raise TypeMismatchError(
            f"an Awkward array of type '{layout.form.type}' has no fields",
            "an array of records (ak.zip), or a dictionary",
        )
    units: dict[str, str] = {}
    columns = {
        name: _as_integers(layout.content(name)[: layout.length], name, units) for name in layout.fields
    }
    return Batch(columns, layout.length, notes=units)


def _from_arrow(data: Any, decimals: Decimals) -> Batch:
    import pyarrow as pa

    try:
        # Import of a table anew fails on empty chunks at an offset (pyarrow 26).
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except (pa.ArrowException, TypeError) as error:
        raise _without_columns(data) from error
    columns = zip(table.column_names, table.columns, strict=True)
    return _from_columns(columns, decimals=decimals)._replace(entries=table.num_rows)


def _from_columns(
    columns: Iterable[tuple[Any, Any]], by_value: Collection[str] = (), decimals: Decimals = "refuse"
) -> Batch:
    found: dict[str, _Column] = {}
    for key, values in columns:
        name = str(key)
        if name in found:
            raise UsageError("two columns have the same name", "rename one of them", field=name)
        found[name] = _column(name, values, by_value=name in by_value, decimals=decimals)
    lengths = {name: column.content.length for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise UsageError(f"the arrays have different lengths ({listed})")
    return Batch(
        {name: column.content for name, column in found.items()},
        next(iter(lengths.values()), 0),
        frozenset(name for name, column in found.items() if column.loose),
        {path: unit for column in found.values() for path, unit in column.units.items()},
        {name: column.values for name, column in found.items() if column.values is not None},
    )


# ---- One column


class _Column(NamedTuple):
    content: Content
    loose: bool = False
    units: Mapping[str, str] = {}
    values: Sequence[Any] | None = None


def _column(name: str, values: Any, *, by_value: bool, decimals: Decimals) -> _Column:
    """Convert a column. NumPy, Awkward, Arrow, pandas and Polars raise errors of any type for what they do not know."""
    objects = None
    try:
        array = _as_arrow(values)
        if array is None:
            objects = _objects(values)
            content = _layout(values) if objects is None else _layout_without_zones(objects)
            if content is not None and (objects is None or not _has_times(content)):
                units: dict[str, str] = {}
                return _Column(_as_integers(content, name, units), units=units, values=objects)
            listed: Sequence[Any] = objects or []
            objects = None  # their times are all of them: no value is taken one by one
            array = _times_of(listed)
        content = _from_arrow_array(array, decimals)
        # NaN of NumPy's types is a number; pandas' own types are optional, even if none is missing.
        optional = hasattr(getattr(values, "array", values), "_mask")
        if optional and not content.is_option:
            content = ak.contents.UnmaskedArray.simplified(content)
        return _Column(content, not optional, _units(name, array.type))
    except MemoryError:
        raise
    except Exception as error:
        if by_value and objects is not None:
            return _Column(_without_items(len(objects)), values=objects)
        if isinstance(error, Error):
            raise locate(error, field=name) from error.__cause__
        kind = getattr(values, "dtype", getattr(values, "type", type(values).__name__))
        meant = isinstance(error, TypeError | ValueError | NotImplementedError | OverflowError)
        why = f": {str(error).splitlines()[0]}" if meant and str(error) else ""
        if objects is not None:
            why = f", the first in row {_first_refused(objects)}{why}"
        raise TypeMismatchError(
            f"values of type '{kind}' cannot be stored{why}",
            "convert them to an array of numbers, texts, lists or records",
            field=name,
        ) from error


def _layout_without_zones(values: Sequence[Any]) -> Content | None:
    """The layout of a list; None for times with zones, which Awkward (2.14) does not take."""
    try:
        return layout_of_objects(values)
    except TypeError as error:
        # "can't subtract offset-naive and offset-aware datetimes", and pandas' words for it
        if "aware" in str(error):
            return None
        raise


def _without_items(count: int) -> Content:
    """A layout that only has a length."""
    return ak.contents.RegularArray(ak.contents.EmptyArray(), 0, count)


def has_items(content: Content) -> bool:
    """Return False for the layout of a list that no array can hold."""
    return not (content.is_regular and content.size == 0 and content.content.is_unknown)


def _as_arrow(values: Any) -> Any:
    """The Arrow array of a column of Arrow, pandas or Polars, or of times of NumPy; None for others."""
    if isinstance(values, ak.Array):
        return None
    if _package(values) == "pandas":
        import pandas as pd
        import pyarrow as pa

        series = pd.Series(values)
        if isinstance(series.dtype, pd.SparseDtype):
            series = series.sparse.to_dense()
        if series.dtype == object:
            return _of_objects(series)
        is_plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
        return None if is_plain else _in_one_piece(pa.Array.from_pandas(series))
    if _package(values) == "polars" and str(values.dtype) == "Object":
        raise TypeMismatchError(
            "Python objects of Polars cannot be stored", "map_elements, to a type of Polars"
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return _times(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "T":
        return _texts(values)
    if hasattr(values, "__arrow_c_stream__"):
        import pyarrow as pa

        chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array(values)
        return _in_one_piece(chunked)
    if hasattr(values, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.array(values)
    return None


def _of_objects(series: Any) -> Any:
    """The Arrow array of a column of pandas' objects; None if Arrow has no type for all of them."""
    import pandas as pd
    import pyarrow as pa

    kind = pd.api.types.infer_dtype(series)
    if kind.startswith(("datetime", "timedelta")):
        series = series.infer_objects()  # Arrow cuts off nanoseconds of objects
    try:
        array = _in_one_piece(pa.Array.from_pandas(series))
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        # A list with floating-point numbers would round these integers.
        if kind == "mixed-integer-float" or "exactly representable" in str(error):
            raise
        return None
    if _are_tuples(series[series.notna()], array.type):
        return None
    if array.type.num_fields:
        # NaN and NaT in lists are missing values for Arrow, or NaN is a number, and others are refused.
        with contextlib.suppress(ValueError, TypeError, pa.ArrowException):
            array = pa.array(series.to_numpy(), mask=series.isna().to_numpy(), from_pandas=False)
    if kind in ("mixed", "mixed-integer") and pa.types.is_floating(array.type):
        return None  # truth values among the numbers, which Arrow would make numbers
    # Arrow makes texts of bytes among them, or the other way round, and numbers of truth values in lists.
    if ("binary" in str(array.type) or array.type.num_fields) and is_changed(
        series, _from_arrow_array(array)
    ):
        return None
    may_have_times = series.dtype == object and re.search("int|date|time|duration", str(array.type))
    return _checked_times(array, series) if may_have_times else array


def _are_tuples(values: Iterable[Any], kind: Any) -> bool:
    """Whether values that Arrow takes for lists, or the items of such, are tuples."""
    while _is_list(kind):
        if are_tuples(values):
            return True
        kind = kind.value_type
        if _is_list(kind):
            values = [item for value in values for item in value if item is not None]
    return False


def _times_of(values: Sequence[Any]) -> Any:
    """The Arrow array of a list with times, of which Awkward drops what the first one does not have."""
    import pyarrow as pa

    if set(map(type, values)) in ({np.datetime64}, {np.timedelta64}):
        kinds = {value.dtype for value in values}
        if len(kinds) == 1:
            return _times(np.array(values, kinds.pop()))
    return _checked_times(pa.array(_in_known_units(values)), values)


def _in_known_units(value: Any) -> Any:
    """Values with NumPy's times, at any depth, in units that Arrow has; dates are Python's."""
    if isinstance(value, list | tuple):
        return list(map(_in_known_units, value))
    if isinstance(value, Mapping):
        return {name: _in_known_units(item) for name, item in value.items()}
    if not isinstance(value, np.datetime64 | np.timedelta64 | np.ndarray) or value.dtype.kind not in _UNITS:
        return value
    kind = value.dtype.kind
    unit = _UNITS[kind].get(np.datetime_data(value.dtype)[0])
    if unit is None:
        return value
    if isinstance(value, np.ndarray):
        return [_in_known_units(item) for item in value]
    finer = value.astype(f"{kind}8[{unit}]")
    if unit != "D":
        return finer
    day = finer.item()
    if isinstance(day, int):
        raise ConversionError(f"{value!r} is no date of Python", "an array of NumPy, or integers")
    return day


def _checked_times(array: Any, values: Iterable[Any]) -> Any:
    """The array, if its times are those that were given."""
    for row, (found, value) in enumerate(zip(array.to_pylist(), values, strict=True)):
        if not _is_kept(found, value):
            raise ConversionError(f"{value!r} in row {row} does not fit {array.type}", "times of one kind")
    return array


def _is_kept(found: Any, value: Any) -> bool:
    """Whether Arrow's times are those that were given.

    It makes dates of times of day that follow a date, and integers of NumPy's times beside integers.
    """
    if isinstance(found, list):
        return all(map(_is_kept, found, value))
    if isinstance(found, dict):
        return all(_is_kept(item, value.get(name)) for name, item in found.items())
    if isinstance(found, date | time | timedelta):
        return bool(found == value)
    return found is None or not isinstance(value, np.datetime64 | np.timedelta64)


def _texts(values: Any) -> Any:
    """The Arrow array of NumPy's texts of any length, of which some may be missing."""
    import pyarrow as pa

    texts = [text if isinstance(text, str) else None for text in values.ravel().tolist()]
    return _in_rows(pa.array(texts, pa.large_string()), values.shape)


def _times(values: Any) -> Any:
    """The Arrow array of times of NumPy, of which Arrow knows the missing ones."""
    import pyarrow as pa

    # NumPy and Arrow treat masks in different ways.
    if isinstance(values, np.ma.MaskedArray):
        values = values.filled(np.array("NaT", values.dtype).flat[0])
    kind = values.dtype.kind
    unit, _ = np.datetime_data(values.dtype)
    finer = np.dtype(f"{kind}8[{_UNITS[kind].get(unit, unit)}]")
    flat = values.ravel()
    # NumPy up to 2.4 and Arrow do not check that finer units, and days in 32 bits, can hold the times.
    try:
        array = pa.array(flat.astype(finer, copy=False))
        back = array.to_numpy(zero_copy_only=False).astype(values.dtype)
    except OverflowError:
        back = None
    if back is None or not np.array_equal(back, flat, equal_nan=True):
        raise ConversionError(
            f"times of '{values.dtype}' do not fit {pa.from_numpy_dtype(finer)}", "another unit, or integers"
        )
    return _in_rows(array, values.shape)


def _in_rows(array: Any, shape: tuple[int, ...]) -> Any:
    """The Arrow array of this shape."""
    import pyarrow as pa

    for depth in range(len(shape) - 1, 0, -1):  # `from_arrays` refuses lists without items (pyarrow 26)
        kind = pa.list_(array.type, shape[depth])
        array = pa.Array.from_buffers(kind, math.prod(shape[:depth]), [None], children=[array])
    return array


def _in_one_piece(array: Any) -> Any:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    # Empty ones at an offset cannot be combined (pyarrow 26).
    chunks = [chunk for chunk in array.chunks if len(chunk)]
    if len(chunks) < 2:
        return chunks[0] if chunks else pa.nulls(0, array.type)
    whole = pa.chunked_array(chunks, array.type)
    try:
        return whole.combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowIndexError):
        # Together they are too long for offsets of 32 bits, or have dictionaries, or empty items at an offset, that
        # Arrow (26) cannot combine.
        if "union" in str(array.type):  # of which Awkward would merge the numbers
            raise
        return whole


def _objects(values: Any) -> Sequence[Any] | None:
    """A list, or the Python objects of pandas and NumPy as one, without pandas' missing values."""
    if isinstance(values, list | tuple):
        return kept_items(values)
    if not hasattr(values, "dtype") or values.dtype != object or np.ndim(values) != 1:
        return None
    if _package(values) != "pandas":
        return kept_items(list(values))
    return kept_items([None if no else value for value, no in zip(values, values.isna(), strict=True)])


def _first_refused(values: Sequence[Any]) -> int:
    """The row with which a list cannot be converted any more."""
    good, bad = 0, len(values)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            layout_of_objects(values[:middle])
            good = middle
        except Exception:
            bad = middle
    return good


def _layout(values: Any) -> Content:
    """The layout of an array of Awkward or NumPy, or of a list."""
    if isinstance(values, ak.Array):
        return _of_awkward(values)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TypeMismatchError(
            f"a {type(values).__name__} is not an array of values",
            "a list or an array, as list(values) gives",
        )
    if isinstance(values, set | frozenset):
        raise TypeMismatchError("the values of a set have no order", "sorted(values), or a list")
    if isinstance(values, np.matrix) or (
        hasattr(values, "__array__") and not isinstance(values, np.ndarray)  # of pandas, JAX, PyTorch
    ):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        return layout_of_objects(values)
    if values.dtype == np.object_:
        return layout_of_objects(values.tolist())
    if values.dtype.names:
        names, rows = list(values.dtype.names), values.reshape(-1)
        records = ak.contents.RecordArray([_layout(rows[name]) for name in names], names, len(rows))
        return _in_shape(records, values.shape)
    # Awkward takes texts of fixed length from contiguous arrays only.
    values = values.astype(values.dtype.newbyteorder("="), order="C", copy=False)
    if values.ndim == 1 and values.dtype.char in _NUMBERS and type(values) is np.ndarray:
        return ak.contents.NumpyArray(values)  # what Awkward makes of it, in a tenth of the time
    return ak.to_layout(values, regulararray=True)


def _of_awkward(array: ak.Array) -> Content:
    layout = ak.to_layout(array)
    if layout.backend.name == "typetracer":
        raise TypeMismatchError("an array of Awkward's typetracer has no values", "compute() first")
    return ak.to_backend(layout, "cpu", highlevel=False)


def _in_shape(content: Content, shape: tuple[int, ...]) -> Content:
    """The layout of an array of this shape."""
    for depth in range(len(shape) - 1, 0, -1):
        content = ak.contents.RegularArray(content, shape[depth], math.prod(shape[:depth]))
    return content


def _as_integers(content: Content, path: str, units: dict[str, str]) -> Content:
    """The layout with integers for times, whose units are added by path; missing times become missing values."""
    if not _has_times(content):
        return content
    if content.is_numpy:
        array = _times(np.asarray(content.data))
        units |= _units(path, array.type)
        return _from_arrow_array(array)
    if content.is_option or content.is_indexed:
        whole = content.to_IndexedOptionArray64() if content.is_option else content
        return type(whole).simplified(whole.index, _as_integers(whole.content, path, units))
    if content.is_list:
        return content.copy(content=_as_integers(content.content, f"{path}._0", units))
    names = content.fields if content.is_record and not content.is_tuple else range(len(content.contents))
    below = [f"{path}.{name}" if isinstance(name, str) else f"{path}._{name}" for name in names]
    return content.copy(
        contents=[_as_integers(*each, units) for each in zip(content.contents, below, strict=True)]
    )


def _has_times(content: Content) -> bool:
    if content.is_numpy:
        return bool(content.dtype.kind in "mM")
    return "64[" in str(content.form.type)  # as in datetime64[us]


# ---- Arrow


def _units(path: str, kind: Any) -> dict[str, str]:
    """The meaning of integers that stand for dates and times, by path: {"t": "timestamp[us, tz=UTC]"}."""
    import pyarrow as pa

    below = path
    while (inner := _inner_type(kind)) is not None:
        below += "._0" if _is_list(kind) else ""
        kind = inner
    if pa.types.is_union(kind):
        alternatives = enumerate(_alternatives(kind))
        return {k: v for n, each in alternatives for k, v in _units(f"{below}._{n}", each).items()}
    if pa.types.is_map(kind):
        return _units(f"{below}._0._0", kind.key_type) | _units(f"{below}._0._1", kind.item_type)
    if pa.types.is_struct(kind):
        members = [kind.field(number) for number in range(kind.num_fields)]
        return {k: v for m in members for k, v in _units(f"{below}.{m.name}", m.type).items()}
    if pa.types.is_interval(kind):
        return {path: "months, days, nanoseconds"}
    return {path: str(kind)} if pa.types.is_temporal(kind) else {}


def _inner_type(kind: Any) -> Any:
    """The type of the items of lists, and of what others stand for; None for other types."""
    import pyarrow as pa

    if _is_tensor(kind):
        return _in_rows(pa.nulls(0, kind.value_type), (0, *_shape_of(kind))).type
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if _is_list(kind) or pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    if pa.types.is_union(kind) and kind.num_fields == 1:
        return kind.field(0).type
    return None


def _alternatives(kind: Any) -> list[Any]:
    """The types in a union; unions in it are taken apart, as in variants."""
    import pyarrow as pa

    if not pa.types.is_union(kind):
        return [kind]
    return [each for number in range(kind.num_fields) for each in _alternatives(kind.field(number).type)]


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or _is_view(kind)
    )


def _is_view(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list_view(kind) or types.is_large_list_view(kind))


def _is_tensor(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.fixed_shape_tensor" and bool(kind.shape)


def _shape_of(tensor: Any) -> list[int]:
    """The shape of a type of tensors, in the order of their indices."""
    order = tensor.permutation or range(len(tensor.shape))
    return [tensor.shape[axis] for axis in order]


def _from_arrow_array(array: Any, decimals: Decimals = "refuse", *, is_tuple: bool = False) -> Content:
    """The layout of an Arrow array, made level by level.

    Awkward (2.14) merges the numbers of unions and misreads slices. Arrow (26) makes invalid records of slices in a
    cast, and decodes only some dictionaries and runs.
    """
    import pyarrow as pa

    types, kind = pa.types, array.type
    if isinstance(array, pa.ChunkedArray):
        chunks = [_from_arrow_array(chunk, decimals) for chunk in array.chunks]
        return ak.concatenate(chunks, highlevel=False)
    if isinstance(array, pa.ExtensionArray):
        if kind.extension_name.startswith("pandas."):
            raise TypeError("the storage of pandas' periods and intervals does not say what they are")
        storage = array.storage
        if kind.extension_name == "arrow.bool8":
            storage = storage.cast(pa.bool_())
        elif _is_tensor(kind):
            storage = _nested_arrays(storage, kind)
        return _from_arrow_array(storage, decimals, is_tuple=getattr(kind, "record_is_tuple", False))
    if types.is_run_end_encoded(kind):
        runs = np.searchsorted(array.run_ends, np.arange(len(array)) + array.offset, side="right")
        return _from_arrow_array(array.values, decimals)[runs]
    if types.is_dictionary(kind):
        return _from_dictionary(array, decimals)
    if types.is_union(kind):
        return _from_union(array, decimals)
    if types.is_struct(kind):
        content = _from_struct(array, None if is_tuple else [member.name for member in kind], decimals)
    elif types.is_map(kind) or _is_list(kind):
        content = _from_lists(array, decimals)
    else:
        content = _from_plain(array, decimals)
    if content.is_option or not array.null_count:
        return content
    present = np.asarray(array.is_valid()).view(np.int8)
    return ak.contents.ByteMaskedArray(ak.index.Index8(present), content, valid_when=True)


def _nested_arrays(storage: Any, tensor: Any) -> Any:
    """The lists of fixed size in lists that tensors are, of which Arrow stores the items in one list."""
    import pyarrow as pa

    count, shape = storage.offset + len(storage), _shape_of(tensor)
    items = storage.values[: count * math.prod(shape)]
    if tensor.permutation:
        places = np.arange(len(items)).reshape(count, *tensor.shape)
        items = items.take(pa.array(places.transpose(0, *(axis + 1 for axis in tensor.permutation)).ravel()))
    kind = _inner_type(tensor)
    rows = _in_rows(items, (count * shape[0], *shape[1:]))
    buffers = storage.buffers()[:1]
    return pa.Array.from_buffers(kind, len(storage), buffers, offset=storage.offset, children=[rows])


def _from_dictionary(array: Any, decimals: Decimals) -> Content:
    """Categories become their values."""
    values = _from_arrow_array(array.dictionary, decimals)
    if not array.null_count:
        return values[np.asarray(array.indices).astype(np.int64)]
    index = np.asarray(array.indices.cast("int64").fill_null(-1))
    return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(index), values)


def _from_union(array: Any, decimals: Decimals) -> Content:
    import pyarrow as pa

    def buffer(number: int, kind: Any) -> Any:
        # pyarrow's `type_codes` and `offsets` are those of the whole array, wherever a slice begins.
        buffers = [None, array.buffers()[number]]
        return np.asarray(pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset))

    codes = buffer(1, pa.int8())
    places = buffer(2, pa.int32()) if array.type.mode == "dense" else np.arange(len(array))
    tags = np.zeros(len(array), np.int64)
    contents = []
    for number, code in enumerate(array.type.type_codes):
        here = codes == code
        if np.any(np.diff(places[here]) < 0):
            raise UsageError(
                "the offsets of a dense union decrease", "an array for which validate(full=True) passes"
            )
        tags[here] = number + 1
        contents.append(_from_arrow_array(array.field(number), decimals)[places[here]])
    return AwkwardBuilder().variant(tags, contents)


def _from_struct(array: Any, names: list[str] | None, decimals: Decimals) -> Content:
    if names is not None and len(set(names)) < len(names):
        raise UsageError("two members have the same name", "rename one of them")
    members = [_from_arrow_array(array.field(number), decimals) for number in range(array.type.num_fields)]
    return ak.contents.RecordArray(members, names, length=len(array))


def _from_lists(array: Any, decimals: Decimals) -> Content:
    """Maps become lists of tuples."""
    import pyarrow as pa

    kind, count = array.type, len(array)
    if pa.types.is_fixed_size_list(kind):
        # Missing lists have items, too, which are missing as a rule.
        with contextlib.suppress(pa.ArrowNotImplementedError):
            if array.null_count:
                present = np.asarray(array.is_valid())
                index = np.where(present, np.cumsum(present) - 1, -1)
                content = _from_lists(array.drop_null(), decimals)
                return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(index), content)
        items = array.values.slice(array.offset * kind.list_size, count * kind.list_size)
        return ak.contents.RegularArray(_from_arrow_array(items, decimals), kind.list_size, count)
    if _is_view(kind):
        starts = np.asarray(array.offsets, np.int64)
        stops = starts + np.asarray(array.sizes, np.int64)
        items = _from_arrow_array(array.values, decimals)
        return ak.contents.ListArray(ak.index.Index64(starts), ak.index.Index64(stops), items)
    offsets = np.asarray(array.offsets, np.int64) if count else np.zeros(1, np.int64)
    items = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    is_map = pa.types.is_map(kind)
    content = _from_struct(items, ["_0", "_1"], decimals) if is_map else _from_arrow_array(items, decimals)
    return ak.contents.ListOffsetArray(ak.index.Index64(offsets - offsets[0]), content)


def _from_plain(array: Any, decimals: Decimals) -> Content:
    """Numbers and texts, whatever stands for missing ones. Dates and times become integers."""
    import pyarrow as pa

    types, kind = pa.types, array.type
    if types.is_interval(kind):
        return _from_intervals(array)
    if types.is_decimal(kind):
        if decimals == "refuse":
            whole = "integers of 64 bits, to " if kind.scale <= 0 else ""
            raise TypeMismatchError(
                f"values of type '{kind}' cannot be stored: there are no decimal numbers",
                f"cast them to {whole}floating-point numbers, which rounds them, or to texts",
            )
        if decimals == "int64":
            return _from_plain(_whole(array), decimals)
        array = array.cast(pa.large_string())
        if decimals == "double":  # Arrow (26) itself does not cast to the nearest one
            array = array.cast(pa.float64())
    if types.is_temporal(kind):
        array = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif types.is_string_view(kind):  # as from Polars
        array = _without_views_of_missing(array).cast(pa.large_utf8())
    elif types.is_binary_view(kind):
        array = _without_views_of_missing(array).cast(pa.large_binary())
    elif types.is_fixed_size_binary(kind) and not kind.byte_width:  # of which Awkward takes no item
        array = pa.array([b""] * len(array), pa.large_binary())
    # Awkward takes the whole buffer of an empty array, and validity bits from the beginning of theirs.
    if not len(array):
        array = pa.array([], array.type)
    buffers = [None, *array.buffers()[1:]]
    plain = pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)
    return ak.to_layout(ak.from_arrow(plain))


def _whole(array: Any) -> Any:
    """Decimal numbers as integers."""
    import pyarrow as pa

    kind = array.type
    try:
        if kind.bit_width < 128:  # of which Arrow (26) refuses some
            array = array.cast(pa.decimal128(38, kind.scale))
        return array.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ConversionError(
            f"not all values of type '{kind}' are integers of 64 bits: {str(error).splitlines()[0]}",
            "decimals_as='double', which rounds, or 'text' (--decimals-as)",
        ) from error


def _from_intervals(array: Any) -> Content:
    """Intervals become tuples: months, days and nanoseconds are not multiples of each other."""
    kinds = {"months": np.int32, "days": np.int32, "nanoseconds": np.int64}
    parts = np.dtype(list(kinds.items()))
    buffer = (array.buffers()[1] if len(array) else None) or b""
    rows = np.frombuffer(buffer, parts, len(array), parts.itemsize * array.offset if buffer else 0)
    return ak.contents.RecordArray(
        [ak.contents.NumpyArray(np.ascontiguousarray(rows[name])) for name in kinds], None, len(rows)
    )


def _without_views_of_missing(array: Any) -> Any:
    """The array with empty texts for missing ones, whose views may be anything: Arrow (26) follows them in a cast."""
    import pyarrow as pa

    if not array.null_count:
        return array
    _, views, *data = array.buffers()
    words = np.frombuffer(views, np.uint64, 2 * len(array), 16 * array.offset).reshape(-1, 2)
    kept = words * np.asarray(array.is_valid()).astype(np.uint64)[:, np.newaxis]
    return pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(kept), *data])
