"""NumPy arrays and pandas series from Awkward layouts and Arrow arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.arrays.texts import texts_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["to_numpy", "to_series"]


def to_numpy(layout: Content) -> NDArray[Any]:
    """Return numbers, fixed-size arrays and records of these as such; anything else as an array of objects.

    The objects are NumPy arrays for lists of numbers, str for strings, None for missing values, and lists, dicts and
    tuples for deeper types. The arrays may be written to.
    """
    if _is_flat(layout):
        return _writable(ak.to_numpy(layout))
    result = np.empty(layout.length, dtype=np.object_)
    if layout.is_list and layout.parameter("__array__") == "string":
        result[:] = texts_of(layout)
    elif layout.is_list and not layout.is_regular and _is_flat(layout.content):
        offsets, content = np.asarray(layout.offsets.data).tolist(), _writable(ak.to_numpy(layout.content))
        for number in range(layout.length):
            part = content[offsets[number] : offsets[number + 1]]
            result[number] = part.tobytes().decode("utf-8", "surrogateescape") if _is_text(layout) else part
    else:
        for number, value in enumerate(ak.to_list(layout)):
            result[number] = value
    return result


def _writable(array: Any) -> NDArray[Any]:
    """The array, or a copy of one whose memory belongs to others."""
    found: NDArray[Any] = np.asarray(array)
    return found if found.flags.writeable else found.copy()


def _is_text(layout: Content) -> bool:
    return layout.parameter("__array__") in ("string", "bytestring")


def _is_flat(layout: Content) -> bool:
    if layout.is_record:
        return (
            not layout.is_tuple and bool(layout.contents) and all(part.is_numpy for part in layout.contents)
        )
    if layout.is_regular:
        return layout.size > 0 and _is_flat(layout.content) and not layout.content.is_record
    return bool(layout.is_numpy)


def to_series(array: pa.Array, index: pd.Index) -> pd.Series[Any]:
    """Return numbers and strings in the form of pandas, everything else as Arrow types without a copy."""
    import pandas as pd
    from pyarrow import types

    kind = array.type
    values: Any = pd.arrays.ArrowExtensionArray(array)
    if types.is_large_string(kind):
        values = array.to_pandas().array
    elif array.null_count == 0 and (
        types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
    ):
        values = array.to_numpy(zero_copy_only=False)
    return pd.Series(values, index=index)
