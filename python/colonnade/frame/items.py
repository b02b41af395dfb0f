"""Functions of numbers and texts that other libraries compute: one value per entry, or per item of lists.

They can be used like callables, and expressions can call them after `DataFrame.with_functions`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.texts import different_texts
from colonnade.errors import TypeMismatchError, UsageError

__all__ = ["ItemFunction", "Items", "Texts", "innermost"]


class Texts:
    """Texts of items: the different ones, and for each item the number of its text."""

    def __init__(self, layout: Content) -> None:
        packed = layout.to_ListOffsetArray64(True)
        self.different: list[str]
        self.numbers: NDArray[np.int64]
        if _are_equal(np.asarray(packed.offsets.data), np.asarray(packed.content.data)):
            self.different = [str(ak.Array(layout)[0])]
            self.numbers = np.zeros(layout.length, dtype=np.int64)
            return
        self.different, self.numbers = different_texts(packed)


_SINGLE = (bool, int, float, str, np.generic)

Items: TypeAlias = "NDArray[Any] | Texts"
"""A column with a number or a text per item."""


class ItemFunction(ABC):
    """A function of numbers and texts. For lists it returns lists: a value per item, like functions of expressions."""

    name: str
    parameters: Sequence[str]
    """The columns that it takes by default; () if its parameters have no names."""

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        if not self.parameters or not all(each.isidentifier() for each in self.parameters):
            raise ValueError(f"the parameters of {self.name} have no names")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(each, kind) for each in self.parameters])

    @abstractmethod
    def item_type(self, types: Sequence[_core.ValueType]) -> _core.ValueType:
        """Return the result type for items of these types.

        Raises:
            TypeMismatchError: it does not take them.
        """

    @abstractmethod
    def of_items(self, columns: Sequence[Items], size: int) -> NDArray[Any]:
        """Compute a value for each item."""

    def item_depth(self, types: Sequence[_core.ValueType]) -> int:
        """Return the number of list levels that belong to an item: 0, except for functions of vectors."""
        return 0

    def result_type(self, types: Sequence[_core.ValueType]) -> _core.ValueType:
        """Return the result type for arguments of these types.

        Raises:
            TypeMismatchError: it does not take them.
        """
        levels = max((_depth(kind) for kind in types), default=0) - self.item_depth(types)
        inner = self.item_type(types)
        for _ in range(levels):
            inner = _core.ValueType.list_of(inner)
        return inner

    def apply(self, layouts: Sequence[Content], types: Sequence[_core.ValueType], size: int) -> Content:
        """Compute the results for a block of entries."""
        kept = self.item_depth(types)
        flat, levels = list(layouts), []
        while any(_depth_of(each) > kept for each in flat):
            offsets = _common_offsets(self.name, [each for each in flat if _depth_of(each) > kept])
            places = np.repeat(np.arange(size), np.diff(offsets))
            flat = [_content(each) if _depth_of(each) > kept else _at(each, places) for each in flat]
            levels.append(offsets)
            size = int(offsets[-1])
        values = self.of_items([_items(self.name, each) for each in flat], size)
        content = ak.to_layout(values, regulararray=True)
        for offsets in reversed(levels):
            content = ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
        return content

    def __call__(self, *arrays: Any) -> Any:
        """Return the results for arrays, or for one number or text each."""
        from .values import python_array, type_of

        lengths = [len(each) for each in arrays if not isinstance(each, _SINGLE)]
        count = max(lengths, default=1)
        layouts = [ak.to_layout([each] * count if isinstance(each, _SINGLE) else each) for each in arrays]
        if any(each.length != count for each in layouts):
            raise UsageError(f"'{self.name}' got arrays of lengths {lengths}", "arrays of one length")
        types = [type_of(each) for each in layouts]
        self.result_type(types)
        values = python_array(self.apply(layouts, types, count))
        return values if lengths else values[0]


def innermost(kind: _core.ValueType) -> _core.ValueType:
    """Return the type of the items of nested lists.

    Raises:
        TypeMismatchError: values may be missing.
    """
    while kind.kind == "list":
        if kind.is_optional:
            raise TypeMismatchError("values may be missing", "x.value_or(0), or a filter on x.has_value()")
        kind = kind.item
    return kind


def _depth(kind: _core.ValueType) -> int:
    return 1 + _depth(kind.item) if kind.kind == "list" else 0


def _is_text(layout: Content) -> bool:
    return layout.parameter("__array__") in ("string", "bytestring")


def _depth_of(layout: Content) -> int:
    return 1 + _depth_of(layout.content) if layout.is_list and not _is_text(layout) else 0


def _content(layout: Content) -> Content:
    packed = layout.to_ListOffsetArray64(True)
    return packed.content[: int(packed.offsets.data[-1])]


def _at(layout: Content, places: NDArray[np.int64]) -> Content:
    taken = layout[places]
    return taken.project() if taken.is_indexed else taken


def _common_offsets(name: str, lists: Sequence[Content]) -> NDArray[np.int64]:
    first, *others = (np.asarray(each.to_ListOffsetArray64(True).offsets.data) for each in lists)
    for each in others:
        if not np.array_equal(first, each):
            at = int(np.argmax(np.diff(first) != np.diff(each)))
            raise UsageError(
                f"'{name}' got lists of {first[at + 1] - first[at]} and {each[at + 1] - each[at]} items together",
                "lists of the same length, or one value for all items",
            )
    return np.array(first, dtype=np.int64)


def _items(name: str, layout: Content) -> Items:
    if _is_text(layout):
        return Texts(layout)
    try:
        return np.asarray(ak.to_numpy(ak.Array(layout)))
    except ValueError:
        raise UsageError(f"'{name}' got lists of different lengths for one input") from None


def _are_equal(offsets: NDArray[Any], characters: NDArray[Any]) -> bool:
    lengths = np.diff(offsets)
    if len(lengths) == 0 or (lengths != lengths[0]).any():
        return False
    table = characters[offsets[0] : offsets[-1]].reshape(len(lengths), lengths[0])
    return bool((table == table[0]).all())
