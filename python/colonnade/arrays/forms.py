"""From the arrays of a columnar read to nested arrays, for any array library.

A read returns flat arrays: values, offsets, tags (see include/colonnade/columnar.h). The `Assembler` walks the schema
and passes them to a `Builder`, which knows one array library and nothing about RNTuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from colonnade._core import ArrayRole, FieldKind
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import FormatError
from colonnade.schema.fields import FieldInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Assembler", "Builder", "Flat"]

Flat: TypeAlias = "NDArray[Any]"
A = TypeVar("A")


class Builder(Protocol[A]):
    """Builds arrays of one library. `count` is the number of values where the arguments do not determine it."""

    def numbers(self, values: Flat) -> A:
        """Values of a plain type."""
        ...

    def text(self, offsets: Flat, characters: Flat) -> A:
        """Strings: text i is characters[offsets[i]:offsets[i + 1]]."""
        ...

    def list(self, offsets: Flat, content: A) -> A:
        """Lists: list i is content[offsets[i]:offsets[i + 1]]."""
        ...

    def regular(self, content: A, size: int, count: int) -> A:
        """Lists of one length."""
        ...

    def option(self, offsets: Flat, content: A) -> A:
        """Value i is missing if offsets[i] == offsets[i + 1], else content[offsets[i]]."""
        ...

    def record(self, names: Sequence[str] | None, contents: Sequence[A], count: int) -> A:
        """Records; tuples if there are no names."""
        ...

    def variant(self, tags: Flat, contents: Sequence[A]) -> A:
        """Value i comes from contents[tags[i] - 1], which hold their values in order; missing if the tag is 0."""
        ...


class Assembler(Generic[A]):
    """Builds the arrays of fields from one columnar read."""

    def __init__(self, arrays: Sequence[tuple[int, ArrayRole, Flat]], builder: Builder[A]) -> None:
        self._flat = {(number, role): flat for number, role, flat in arrays}
        self._builder = builder

    def field(self, info: FieldInfo, count: int) -> A:
        """Build the array of a field at any depth: enclosing records are dropped, enclosing lists and options stay."""
        way: list[FieldInfo] = []
        above = info.parent
        while above is not None:
            way.append(above)
            above = above.parent
        return self._along(list(reversed(way)), info, count)

    def _along(self, way: list[FieldInfo], info: FieldInfo, count: int) -> A:
        if not way:
            return self._whole(info, count)
        outer, rest = way[0], way[1:]
        if outer.kind in (FieldKind.collection, FieldKind.nullable):
            offsets = self._offsets(outer)
            content = self._along(rest, info, int(offsets[-1]))
            return self._listed(outer, offsets, content)
        if outer.kind == FieldKind.array:
            return self._builder.regular(self._along(rest, info, count * outer.size), outer.size, count)
        if outer.kind == FieldKind.variant:
            # Missing if the variant holds another alternative.
            number = next(i for i, child in enumerate(outer.children) if child is (rest[0] if rest else info))
            here = self._tags(outer) == number + 1
            offsets = np.zeros_like(here, dtype=np.int64, shape=len(here) + 1)
            np.cumsum(here, out=offsets[1:])
            return self._builder.option(offsets, self._along(rest, info, int(offsets[-1])))
        return self._along(rest, info, count)

    def _whole(self, info: FieldInfo, count: int) -> A:
        match info.kind:
            case FieldKind.scalar:
                return self._builder.numbers(self._values(info))
            case FieldKind.string:
                return self._builder.text(self._offsets(info), self._values(info))
            case FieldKind.collection | FieldKind.nullable:
                offsets = self._offsets(info)
                return self._listed(info, offsets, self._whole(info.children[0], int(offsets[-1])))
            case FieldKind.array:
                items = self._whole(info.children[0], count * info.size)
                return self._builder.regular(items, info.size, count)
            case FieldKind.bitset:
                return self._builder.regular(self._builder.numbers(self._values(info)), info.size, count)
            case FieldKind.record:
                return self._record(info, count)
            case FieldKind.variant:
                tags = self._tags(info)
                counts = np.bincount(tags, minlength=info.alternatives + 1)
                contents = [
                    self._whole(child, int(counts[number + 1])) for number, child in enumerate(info.children)
                ]
                return self._builder.variant(tags, contents)
            case FieldKind.wrapper:
                return self._whole(info.children[0], count)
            case FieldKind.cardinality:
                counts = np.diff(self._offsets(info))
                width = np.uint64 if "uint64" in info.type else np.uint32
                if counts.size and counts.max() > np.iinfo(width).max:
                    raise FormatError(
                        "a collection has more items than its 32-bit counter can hold", field=info.path
                    )
                return self._builder.numbers(counts.astype(width))
        raise FormatError(f"the type '{info.type}' does not fit what is stored", field=info.path)

    def _listed(self, info: FieldInfo, offsets: Flat, content: A) -> A:
        if info.kind == FieldKind.collection:
            return self._builder.list(offsets, content)
        if len(offsets) > 1 and np.diff(offsets).max() > 1:
            raise FormatError("an optional value holds more than one item", field=info.path)
        return self._builder.option(offsets, content)

    def _record(self, info: FieldInfo, count: int) -> A:
        if info.is_tuple:
            return self._builder.record(None, [self._whole(child, count) for child in info.children], count)
        members = [(name, member) for name, member in info.named if not member.unreadable]
        contents = [self._whole(member, count) for _, member in members]
        return self._builder.record([name for name, _ in members], contents, count)

    def _values(self, info: FieldInfo) -> Flat:
        return self._array(info, ArrayRole.values)

    def _offsets(self, info: FieldInfo) -> Flat:
        return self._array(info, ArrayRole.offsets)

    def _tags(self, info: FieldInfo) -> Flat:
        return self._array(info, ArrayRole.tags)

    def _array(self, info: FieldInfo, role: ArrayRole) -> Flat:
        found = self._flat.get((info.id, role))
        if found is None:
            raise FormatError(
                f"the type '{info.type}' does not fit what is stored: it has no {role.name}", field=info.path
            )
        return found
