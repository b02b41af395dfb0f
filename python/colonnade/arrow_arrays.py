"""Arrow arrays from flat arrays: numbers, offsets and characters are not copied; bits and missing values must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ConversionError, ResourceError
from .forms import Flat

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowBuilder"]


class ArrowBuilder:
    """The `Builder` of Arrow arrays.

    Lists and strings have 64-bit offsets, pairs and tuples become structs with the members "0", "1", ..., variants
    dense unions (a variant without value is a missing value of the first alternative). All types are the same for
    every part of a data set.
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
        """See `Builder`; raises `ConversionError` for what is not UTF-8."""
        pa = self._pa
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(characters)]
        array = pa.Array.from_buffers(pa.large_utf8(), len(offsets) - 1, buffers)
        if characters.size and characters.max() >= 0x80:
            try:
                array.validate(full=True)
            except pa.ArrowInvalid as error:
                raise ConversionError("a string is not UTF-8, as Arrow wants it", "library='ak'") from error
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
        missing = offsets[1:] == offsets[:-1]
        if not missing.any():
            return content
        return content.take(self._pa.array(offsets[:-1], mask=missing))

    def record(self, names: Sequence[str] | None, contents: Sequence[pa.Array], count: int) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        labels = [str(number) for number in range(len(contents))] if names is None else names
        fields = [pa.field(name, content.type) for name, content in zip(labels, contents, strict=True)]
        return pa.Array.from_buffers(pa.struct(fields), count, [None], children=list(contents))

    def variant(self, tags: Flat, contents: Sequence[pa.Array]) -> pa.Array:
        """See `Builder`."""
        pa = self._pa
        children = list(contents)
        codes = np.maximum(tags - 1, 0).astype(np.int8)
        if (tags == 0).any():
            # Missing values take their turn among those of the first alternative: offsets must not go back.
            first = tags[codes == 0]
            children[0] = children[0].take(pa.array(np.cumsum(first) - 1, mask=first == 0))
        offsets = np.zeros(len(tags), dtype=np.int64)
        for number in range(len(children)):
            here = codes == number
            offsets[here] = np.arange(np.count_nonzero(here))
        if len(tags) > np.iinfo(np.int32).max:
            raise ResourceError("Arrow counts the values of a union in 32 bits", "read fewer entries at once")
        names = [str(number) for number in range(len(children))]
        return pa.UnionArray.from_dense(
            pa.array(codes, pa.int8()), pa.array(offsets.astype(np.int32), pa.int32()), children, names
        )
