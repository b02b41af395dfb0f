"""Double32_t and Float16_t of TTrees: how ROOT stores them follows from brackets in the comment of the member.

    // [0,100,16]    a number from 0 to 100, as an integer of 16 bits
    // [0,100]       the same of 32 bits
    // [0,0,10]      floating-point, with 10 bits of the fraction
    // any other     float; Float16_t: floating-point, with 12 bits of the fraction

uproot (up to 5.7) reads other values than ROOT where the bounds are texts like "2pi", where a fraction would have more
than 14 bits, which ROOT does not do, and of integers of 32 bits the last digits. It takes all brackets for those of a
range, and loses the size of arrays in lists.
"""

from __future__ import annotations

import copy
import functools
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "as_root_reads",
    "comment_of",
    "is_reduced",
    "precision_of",
    "read_member",
    "reduced_numbers_of",
    "size_of",
]

_MULTIPLES = {"2pi": 2, "2*pi": 2, "twopi": 2, "pi/2": 0.5, "pi/4": 0.25, "pi": 1}
_FRACTION_BITS = 14
"""The largest number of bits of a fraction that brackets can ask for."""
_FLOAT16_BITS = 12


@dataclass(frozen=True)
class Precision:
    """How ROOT stores the numbers."""

    low: float = 0
    per_unit: float = 0
    """Steps of the integers in the file per unit; 0: these are no integers."""
    fraction_bits: int = 0
    """0: not reduced."""


def is_reduced(type_name: str) -> bool:
    """True for the types whose values may be stored with less precision."""
    return type_name.startswith(("Double32_t", "Float16_t"))


def comment_of(branch: Any) -> str | None:
    """Return the comment of a branch of Double32_t or Float16_t, which may be empty; None of others."""
    leaf = next(iter(branch.member("fLeaves")), None)
    if leaf is not None and leaf.classname in ("TLeafD32", "TLeafF16"):
        return str(leaf.member("fTitle")).partition("/")[2]
    if branch.streamer is not None and is_reduced(branch.streamer.typename):
        return str(branch.streamer.title)
    return None


def reduced_numbers_of(branch: Any) -> Any | None:
    """Return an interpretation of uproot for such a branch, without the comment; None of others."""
    leaves, streamer = branch.member("fLeaves"), branch.streamer
    if comment_of(branch) is None or len(leaves) > 1 or str(getattr(streamer, "typename", "")).endswith("*"):
        return None
    is_leaf = leaves[0].classname in ("TLeafD32", "TLeafF16")
    is_half = leaves[0].classname == "TLeafF16" or (not is_leaf and streamer.typename.startswith("Float16_t"))
    sizes = re.findall(r"\[(\d+)\]", str(leaves[0].member("fTitle") if is_leaf else branch.name))
    double, half, _ = _kinds()
    found = (half if is_half else double)(0, 0, 32, tuple(map(int, sizes)))
    return found if branch.count_leaf is None else _lists_of(found)


def _lists_of(items: Any) -> Any:
    from uproot.interpretation.jagged import AsJagged

    return AsJagged(items)


def precision_of(comment: str) -> Precision:
    """Find what ROOT makes of a comment."""
    for text in re.findall(r"\[([^]]*)\]", comment)[:2]:  # the first may be a dimension
        low, comma, rest = text.partition(",")
        if comma:
            high, _, bits = rest.partition(",")
            return _precision(_bound(low), _bound(high), _bits(bits))
    return Precision()


def _precision(low: float, high: float, bits: int) -> Precision:
    if low < high:
        steps = 2**bits if bits < 32 else 2**32 - 1
        return Precision(low, steps / (high - low))
    return Precision(fraction_bits=bits if bits <= _FRACTION_BITS else int(low))


def _bound(text: str) -> float:
    text = text.lower().replace(" ", "")
    if "pi" in text:
        multiple = next(factor for name, factor in _MULTIPLES.items() if name in text)
        return math.copysign(multiple * math.pi, -1 if "-" in text else 1)
    found = re.match(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text)
    return float(found[0]) if found else 0.0


def _bits(text: str) -> int:
    found = re.match(r"\s*[+-]?\d+", text)
    bits = int(found[0]) if found else 32
    return bits if 2 <= bits <= 32 else 32


def as_root_reads(interpretation: Any, comment: str) -> Any:
    """Return an interpretation of uproot that has ROOT's values, for numbers or lists of them with a comment."""
    content = getattr(interpretation, "content", None)
    if content is not None:
        same = copy.copy(interpretation)
        same._content = as_root_reads(content, comment)
        if getattr(same._content, "to_dims", ()):
            kind: Any = type(same._content)
            same._content.__class__ = _of_arrays(kind)
        return same
    double, half, numbers = _kinds()
    if not isinstance(interpretation, double | half | numbers):
        return interpretation
    is_half = isinstance(interpretation, half)
    shape = (
        interpretation.to_dims if isinstance(interpretation, half | double) else interpretation.inner_shape
    )
    precision = precision_of(comment)
    if precision.per_unit:
        made = _ranged(half if is_half else double)(precision.low, math.inf, 32, shape)
        made.per_unit = precision.per_unit
        return made
    bits = precision.fraction_bits or (_FLOAT16_BITS if is_half else 0)
    if bits:
        return (half if is_half else double)(0, 0, bits, shape)
    return numbers(np.dtype((">f4", shape)), np.dtype(("f8", shape)))


@functools.cache
def _one(type_name: str, comment: str) -> Any:
    double, half, _ = _kinds()
    return as_root_reads((half if type_name.startswith("Float16_t") else double)(0, 0, 32, ()), comment)


def size_of(type_name: str, comment: str) -> int:
    """The bytes of a number."""
    return int(_one(type_name, comment).from_dtype.itemsize)


def read_member(
    chunk: Any, cursor: Any, context: Any, type_name: str, comment: str, length: int
) -> float | np.ndarray:
    """Read a member of an object, or an array of some length; 0: a number."""
    how = _one(type_name, comment)
    stored = cursor.bytes(chunk, size_of(type_name, comment) * max(length, 1), context)
    values = how.basket_array(stored, None, None, None, context, 0, None, None).astype(how.to_dtype)
    return values if length else float(values[0])


def _kinds() -> tuple[Any, Any, Any]:
    from uproot.interpretation import numerical

    return numerical.AsDouble32, numerical.AsFloat16, numerical.AsDtype


@functools.cache
def _of_arrays(kind: Any) -> Any:
    class Arrays(kind):  # type: ignore[misc]
        """Arrays in lists."""

        @property
        def itemsize(self) -> int:
            return int(super().itemsize) * math.prod(self.to_dims)

    return Arrays


@functools.cache
def _ranged(kind: Any) -> Any:
    class Ranged(kind):  # type: ignore[misc]
        """Numbers that are stored as integers."""

        per_unit = 1.0

        @property
        def cache_key(self) -> str:
            return f"{super().cache_key}*{self.per_unit!r}"

        def basket_array(self, data: Any, *_: Any, **__: Any) -> Any:
            values = data.view(self.from_dtype) / self.per_unit + self.low
            kind, shape = self.to_dtype.base, self.to_dims
            return values.astype(kind).reshape(-1, *shape)

    return Ranged
