"""Column encodings on arrays of NumPy or CuPy: converts the contents of pages, end to end, to elements.

Consecutive pages with the same number of elements are decoded by the same operations, as rows of a matrix. The results
equal those of `codec::decode` bit by bit. Signed integers and the ends of collections restart with every page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade._core import ElementType
from colonnade.errors import ConversionError, TypeMismatchError, UnsupportedError

__all__ = ["convert", "decode", "require_readable", "to_double", "to_single"]

_PLAIN = {
    "Byte": "<u1",
    "Char": "<i1",
    "Int8": "<i1",
    "UInt8": "<u1",
    "Int16": "<i2",
    "UInt16": "<u2",
    "Int32": "<i4",
    "UInt32": "<u4",
    "Int64": "<i8",
    "UInt64": "<u8",
    "Real32": "<f4",
    "Real64": "<f8",
    "Index64": "<u8",
}
_PLANES = {
    "SplitUInt16": "<u2",
    "SplitUInt32": "<u4",
    "SplitUInt64": "<u8",
    "SplitReal32": "<f4",
    "SplitReal64": "<f8",
}
_ZIGZAG = {"SplitInt16": "<i2", "SplitInt32": "<i4", "SplitInt64": "<i8"}

_ELEMENTS = {
    ElementType.boolean: "?",
    ElementType.byte: "<u1",
    ElementType.character: "<i1",
    ElementType.int8: "<i1",
    ElementType.uint8: "<u1",
    ElementType.int16: "<i2",
    ElementType.uint16: "<u2",
    ElementType.int32: "<i4",
    ElementType.uint32: "<u4",
    ElementType.int64: "<i8",
    ElementType.uint64: "<u8",
    ElementType.float32: "<f4",
    ElementType.float64: "<f8",
}

_FAMILIES = (("Real",), ("Index",), ("Switch",), ("Byte",))
_FAMILY_OF = {
    ElementType.float32: "Real",
    ElementType.float64: "Real",
    ElementType.index: "Index",
    ElementType.switch: "Switch",
    ElementType.byte: "Byte",
}


def decode(xp: Any, encoding: _core.ColumnEncoding, content: Any, counts: NDArray[Any]) -> Any:
    """Decode the elements of pages.

    Args:
        xp: NumPy or CuPy.
        encoding: the encoding of the column.
        content: the bytes of the pages, decompressed, end to end.
        counts: the number of elements of each page, on the host.

    Returns:
        An array of elements in the type of the column, float64 for Real32Quant; (indices, tags) for Switch.
    """
    kind = encoding.type
    if kind in _PLAIN:
        return content.view(_PLAIN[kind])
    if kind == "Index32":
        return content.view("<u4").astype("<u8")
    if kind == "Real16":
        return _widen(xp, content.view("<u2"))
    if kind == "Switch":
        records = content.reshape(-1, 12)
        return _view(xp, records[:, :8], "<u8"), _view(xp, records[:, 8:], "<u4")
    rows = _ROWS.get(kind)
    if rows is None:
        raise UnsupportedError(f"the column type '{kind}' is unknown")
    parts = [
        rows(xp, pages, count, encoding).reshape(-1) for pages, count in _runs(content, counts, encoding)
    ]
    if not parts:
        return rows(xp, content.reshape(1, 0), 0, encoding).reshape(-1)
    return parts[0] if len(parts) == 1 else xp.concatenate(parts)


def require_readable(kind: str, element: ElementType) -> None:
    """Refuse what the reader refuses: columns of another family than the elements.

    Raises:
        TypeMismatchError: for example integers read as numbers with a fraction.
    """
    family = next((words[0] for words in _FAMILIES if kind.removeprefix("Split").startswith(words)), "Int")
    if family != _FAMILY_OF.get(element, "Int"):
        raise TypeMismatchError(f"column type {kind} cannot be read into {element.name} elements")


def convert(xp: Any, values: Any, element: ElementType) -> Any:
    """Convert elements to the in-memory type of a field, like the reader.

    Raises:
        ConversionError: a value does not fit.
    """
    dtype = np.dtype(_ELEMENTS[element])
    if dtype.kind == "b":
        converted = values != 0
    elif values.dtype == dtype:
        converted = values
    else:
        if values.dtype.kind == "f":
            converted = to_double(xp, values) if dtype.itemsize == 8 else to_single(xp, values)
        else:
            converted = values.astype(dtype)
        _require_fit(xp, values, converted, element)
    return converted.view("<u1") if element == ElementType.character else converted


# Processors keep the sign and the payload of NaNs, and subnormal numbers; GPUs, as CuPy compiles for them, do not.


def to_double(xp: Any, values: Any) -> Any:
    """Single to double precision, in integers."""
    bits = values.view("<u4").astype("<u8")
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude << 29) + (896 << 52)
    subnormal = (magnitude.astype("<f8") * 2.0**-149).view("<u8")
    finite = xp.where(magnitude < 0x800000, subnormal, normal)
    quiet = (magnitude > 0x7F800000).astype("<u8") << 51
    special = xp.where(magnitude >= 0x7F800000, (normal + (896 << 52)) | quiet, finite)
    return (((bits >> 31) << 63) | special).view("<f8")


def to_single(xp: Any, values: Any) -> Any:
    """Double to single precision, rounded to the nearest: subnormal numbers and NaNs in integers."""
    bits = values.view("<u8")
    sign = ((bits >> 63) << 31).astype("<u4")
    with np.errstate(over="ignore", invalid="ignore"):
        normal = values.astype("<f4").view("<u4")
        is_subnormal = abs(values) < 2.0**-126
        subnormal = xp.rint(abs(xp.where(is_subnormal, values, 0.0)) * 2.0**149).astype("<u4") | sign
    nan = (((bits & ((1 << 52) - 1)) >> 29) | 0x7FC00000).astype("<u4") | sign
    return xp.where(xp.isnan(values), nan, xp.where(is_subnormal, subnormal, normal)).view("<f4")


def _require_fit(xp: Any, values: Any, converted: Any, element: ElementType) -> None:
    if values.dtype.kind == "f":
        misfits = xp.isinf(converted) & ~xp.isinf(values)
    else:
        misfits = (converted.astype(values.dtype) != values) | ((converted < 0) != (values < 0))
    if bool(misfits.any()):
        first = int(xp.argmax(misfits))
        raise ConversionError(
            f"element {first} is {values[first]}, which {element.name} cannot hold",
            "a wider type of the field",
        )


# ---- Pages as rows


def _runs(content: Any, counts: NDArray[Any], encoding: _core.ColumnEncoding) -> Iterator[tuple[Any, int]]:
    """Yield the content of consecutive pages of one size as a matrix, and their number of elements."""
    borders = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    start = 0
    for first, last in itertools.pairwise(borders):
        count = int(counts[first]) if last > first else 0
        size = (count * encoding.bits + 7) // 8
        end = start + (last - first) * size
        if count:
            yield content[start:end].reshape(last - first, size), count
        start = end


def _view(xp: Any, array: Any, dtype: str) -> Any:
    """The bytes of rows as one number each."""
    return xp.ascontiguousarray(array).reshape(-1).view(dtype)


def _bits(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    bits = (rows[:, :, None] >> xp.arange(8, dtype=xp.uint8)) & 1
    return bits.reshape(len(rows), 8 * rows.shape[1])[:, :count].astype(bool)


def _planes(xp: Any, rows: Any, count: int, dtype: str) -> Any:
    """Plane b of a page has byte b of each of its elements."""
    width = np.dtype(dtype).itemsize
    elements = rows.reshape(len(rows), width, count).transpose(0, 2, 1)
    return _view(xp, elements, dtype).reshape(len(rows), count)


def _split(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    return _planes(xp, rows, count, _PLANES[encoding.type])


def _zigzag(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    """0, 1, 2, 3 stand for 0, -1, 1, -2."""
    dtype = _ZIGZAG[encoding.type]
    values = _planes(xp, rows, count, dtype.replace("i", "u"))
    one = values.dtype.type(1)
    return ((values >> one) ^ (~(values & one) + one)).view(dtype)


def _delta(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    """Sums modulo the width of the column."""
    dtype = "<u4" if encoding.bits == 32 else "<u8"
    return xp.cumsum(_planes(xp, rows, count, dtype), axis=1, dtype=dtype).astype("<u8")


def _split_half(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    return _widen(xp, _planes(xp, rows, count, "<u2"))


def _widen(xp: Any, halves: Any) -> Any:
    """Half precision to float32, in integers, so that NaNs have the same bits everywhere."""
    bits = halves.astype("<u4")
    magnitude = bits & 0x7FFF
    normal = (magnitude << 13) + (112 << 23)
    subnormal = (magnitude.astype("<f4") * np.float32(2.0**-24)).view("<u4")
    finite = xp.where(magnitude < 0x400, subnormal, normal)
    special = xp.where(magnitude >= 0x7C00, normal + (112 << 23), finite)
    return (((bits & 0x8000) << 16) | special).view("<f4")


def _stream(xp: Any, rows: Any, count: int, bits: int) -> Any:
    """Integers of `bits` bits, least significant bit first, which span up to five bytes."""
    first = xp.arange(count, dtype="<u8") * np.uint64(bits)
    places = (first >> np.uint64(3)).astype("<i8")
    words = xp.zeros((len(rows), count), "<u8")
    for byte in range((bits + 14) // 8):
        # Bits beyond the page belong to no element.
        at = xp.minimum(places + byte, rows.shape[1] - 1)
        words |= rows[:, at].astype("<u8") << np.uint64(8 * byte)
    return (words >> (first & np.uint64(7))) & np.uint64((1 << bits) - 1)


def _truncated(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    """The upper bits of float32."""
    upper = _stream(xp, rows, count, encoding.bits).astype("<u4")
    return (upper << np.uint32(32 - encoding.bits)).view("<f4")


def _quantised(xp: Any, rows: Any, count: int, encoding: _core.ColumnEncoding) -> Any:
    """0 stands for the minimum, the largest integer for the maximum; one rounding per operation, as in C++."""
    scale = (encoding.maximum - encoding.minimum) / float((1 << encoding.bits) - 1)
    products = _stream(xp, rows, count, encoding.bits).astype("<f8") * scale
    return xp.minimum(products + encoding.minimum, encoding.maximum)


_ROWS: dict[str, Callable[[Any, Any, int, _core.ColumnEncoding], Any]] = {
    "Bit": _bits,
    **dict.fromkeys(_PLANES, _split),
    **dict.fromkeys(_ZIGZAG, _zigzag),
    "SplitIndex32": _delta,
    "SplitIndex64": _delta,
    "SplitReal16": _split_half,
    "Real32Trunc": _truncated,
    "Real32Quant": _quantised,
}
