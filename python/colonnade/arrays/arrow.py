"""Arrow arrays from flat arrays: numbers, offsets and characters are not copied; bits and missing values must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import ConversionError, UsageError

from .forms import Flat

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowBuilder", "stream_as", "with_text_views"]


class ArrowBuilder:
    """The `Builder` of Arrow arrays.

    Lists and strings have 64-bit offsets, pairs and tuples become structs with the members "0", "1", ..., variants
    sparse unions, which more programs accept than dense ones (a variant without value is a missing value of the first
    alternative). All types are the same for every part of a data set.
    """

    def __init__(self) -> None:
        import pyarrow

        self._pa: Any = pyarrow

    def numbers(self, values: Flat) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        if values.dtype == np.bool_:
            bits = np.packbits(values, bitorder="little")
            return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
        return pa.Array.from_buffers(
            pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)]
        )

    def text(self, offsets: Flat, characters: Flat) -> pa.Array:
        """See `Builder`; raises `ConversionError` for invalid UTF-8."""
        pa = self._pa
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(characters)]
        array = pa.Array.from_buffers(pa.large_utf8(), len(offsets) - 1, buffers)
        if characters.size and characters.max() >= 0x80:
            try:
                array.validate(full=True)
            except pa.ArrowInvalid as error:
                raise ConversionError(
                    "a string is not valid UTF-8, which Arrow requires", "library='ak'"
                ) from error
        return array

    def list(self, offsets: Flat, content: pa.Array) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        return pa.Array.from_buffers(
            pa.large_list(content.type), len(offsets) - 1, [None, pa.py_buffer(offsets)], children=[content]
        )

    def regular(self, content: pa.Array, size: int, count: int) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        return pa.Array.from_buffers(pa.list_(content.type, size), count, [None], children=[content])

    def option(self, offsets: Flat, content: pa.Array) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        present = offsets[1:] != offsets[:-1]
        if present.all():
            return content
        kind = content.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or content.null_count:
            return content.take(pa.array(offsets[:-1], mask=~present))
        values = np.zeros(len(present), kind.to_pandas_dtype())  # a third of the time that take() needs
        values[present] = np.frombuffer(content.buffers()[1], values.dtype, len(content))
        bits = pa.py_buffer(np.packbits(present, bitorder="little"))
        return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])

    def record(self, names: Sequence[str] | None, contents: Sequence[pa.Array], count: int) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        labels = [str(number) for number in range(len(contents))] if names is None else names
        fields = [pa.field(name, content.type) for name, content in zip(labels, contents, strict=True)]
        return pa.Array.from_buffers(pa.struct(fields), count, [None], children=list(contents))

    def variant(self, tags: Flat, contents: Sequence[pa.Array]) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        children = []
        for number, content in enumerate(contents):
            here = tags == number + 1
            children.append(content.take(pa.array(np.cumsum(here) - 1, mask=~here)))
        codes = pa.array(np.maximum(tags - 1, 0).astype(np.int8))
        return pa.UnionArray.from_sparse(codes, children, [str(number) for number in range(len(children))])


def with_text_views(array: pa.Array) -> pa.Array:
    """Return an array with its texts as views, at any depth: Polars has them so. Characters are not copied.

    Without views remain: arrays with an offset, columns above 2 GiB, and all arrays of versions of PyArrow below 19.
    """
    if not hasattr(array.type, "has_variadic_buffers") or array.nbytes > np.iinfo(np.int32).max:
        return array
    return _with_text_views(array) if "large_string" in str(array.type) else array


def _with_text_views(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    kind, count = array.type, len(array)
    if array.offset:
        return array
    if kind == pa.large_utf8():
        present, offsets, characters = array.buffers()
        views = np.empty(2 * count, np.uint64)
        if count:
            bytes_ = np.frombuffer(characters, np.uint8) if characters else np.empty(0, np.uint8)
            _core.fill_text_views(views, np.frombuffer(offsets, np.int64, count + 1), bytes_)
        return pa.Array.from_buffers(pa.string_view(), count, [present, pa.py_buffer(views), characters])
    if pa.types.is_struct(kind):
        children = [_with_text_views(array.field(number)) for number in range(kind.num_fields)]
        fields = [kind.field(number).with_type(child.type) for number, child in enumerate(children)]
        return pa.Array.from_buffers(pa.struct(fields), count, array.buffers()[:1], children=children)
    if pa.types.is_large_list(kind):
        child = _with_text_views(array.values)
        return pa.Array.from_buffers(pa.large_list(child.type), count, array.buffers()[:2], children=[child])
    if pa.types.is_fixed_size_list(kind):
        child = _with_text_views(array.values[: count * kind.list_size])
        return pa.Array.from_buffers(
            pa.list_(child.type, kind.list_size), count, array.buffers()[:1], children=[child]
        )
    return array


def stream_as(reader: pa.RecordBatchReader, requested_schema: Any) -> object:
    """Return the capsule of a stream, in the types that a capsule requests or, if there is no such cast, in its own.

    Raises:
        UsageError: the request is for other columns, or other members of records.
    """
    import pyarrow

    if requested_schema is None:
        return reader.__arrow_c_stream__()
    wanted = pyarrow.Schema._import_from_c_capsule(requested_schema)
    if wanted.names != reader.schema.names:
        raise UsageError(
            f"the requested schema has the columns {', '.join(wanted.names)}, not {', '.join(reader.schema.names)}",
            "to_arrow_reader() with the columns",
        )
    for own, other in zip(reader.schema, wanted, strict=True):
        if not _has_same_members(own.type, other.type):
            raise UsageError(
                f"the requested schema has other members: {other.type}, not {own.type}",
                "to_arrow_reader(), and records made of its columns",
                field=own.name,
            )
    try:
        return reader.cast(wanted).__arrow_c_stream__()
    except (pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
        return reader.__arrow_c_stream__()


def _has_same_members(own: pa.DataType, other: pa.DataType) -> bool:
    """Whether records have the same members, in any order. A cast leaves out the others, and adds missing values."""
    import pyarrow

    if pyarrow.types.is_struct(own) and pyarrow.types.is_struct(other):
        ours, others = ({field.name: field.type for field in each} for each in (own, other))
        return ours.keys() == others.keys() and all(_has_same_members(ours[k], others[k]) for k in ours)
    if own.num_fields != other.num_fields:
        return True
    return all(_has_same_members(own.field(k).type, other.field(k).type) for k in range(own.num_fields))
