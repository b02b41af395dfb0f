"""Where the fields of joined data sets come from: data sets in files, and how their entries are found."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from colonnade.errors import UnsupportedError
from colonnade.schema.fields import FieldInfo

from .dataset import DataSet
from .joining import Joined, Way, shown_fields, ways_of

__all__ = ["Column", "Keys", "Place", "Places", "check_place"]


class Column(NamedTuple):
    """A column of a place; without a path, the number of the entry there."""

    place: int
    path: str = ""
    friend: str = ""
    """Empty: it is of the first data set there."""

    @property
    def name(self) -> str:
        """What it is called in a data set with these friends."""
        return f"{self.friend}.{self.path}" if self.friend else self.path


@dataclasses.dataclass
class Place:
    """Data sets in files whose entries have the same numbers."""

    first: DataSet
    friends: dict[str, DataSet] = dataclasses.field(default_factory=dict)

    def add(self, name: str, other: DataSet) -> str:
        """Add a friend, and return its name, which may be longer than that given."""
        while name in self.friends or name in self.first.schema:
            name += "_"
        self.friends[name] = other
        return name


@dataclasses.dataclass(frozen=True)
class Keys:
    """How entries of a place are found."""

    place: int
    pairs: Sequence[tuple[Column, Column]]
    """Columns of other places, and columns there."""
    inner: bool
    is_optional: bool
    """Whether what it is joined to may have no entry itself."""
    takes_first: bool
    table: str
    sections: Sequence[tuple[int, int]]
    """Where parts begin on both sides, if entries are found only in the same part."""
    position: int
    """The place whose entries these parts are of."""


class _Leaf(NamedTuple):
    place: int
    friend: str
    data_set: DataSet


class _Both(NamedTuple):
    joined: Joined
    first: _Tree
    other: _Tree


_Tree: TypeAlias = "_Leaf | _Both"


class Places:
    """The data sets that a joined one is made of.

    Args:
        whole: the data set.
        begin: the number of the place of its own entries.

    Raises:
        UnsupportedError: they are joined in a way that a DataFrame does not have.
    """

    def __init__(self, whole: DataSet, begin: int = 0) -> None:
        self.places: dict[int, Place] = {}
        self.joins: list[Keys] = []
        """In an order in which each finds its keys."""
        self._whole = whole
        self._begin, self._next = begin, begin + 1
        self._optional = {begin: False}
        self._tree = self._add(whole, begin, "", "a side of a join" if begin else "")

    @property
    def has_frame(self) -> bool:
        """Whether the entries of the data set are those of a data frame."""
        return self._begin == 0

    def column(self, field: str) -> Column:
        """Where a field comes from: one that the data set shows, or "f.x"."""
        return self._at(self._tree, field)

    def shown(self) -> dict[str, Column]:
        """The columns of all fields that the data set shows."""
        return {name: self.column(name) for name in self._whole.field_names}

    def _add(self, data_set: DataSet, place: int, name: str, inside: str) -> _Tree:
        """Add a data set; what it is inside of needs the entries that an inner join leaves out."""
        if not isinstance(data_set, Joined):
            if place not in self.places:
                self.places[place] = Place(data_set)
                return _Leaf(place, "", data_set)
            return _Leaf(place, self.places[place].add(name, data_set), data_set)
        match = data_set._match
        if match.by_entry:
            first = self._add(data_set._first, place, name, "friends")
            other = self._add(data_set._other, place, data_set._shown.qualifier, "friends")
            return _Both(data_set, first, other)
        first = self._add(data_set._first, place, name, inside)
        if match.inner and inside:
            raise UnsupportedError(
                f"a DataFrame cannot have an inner join as {inside}, since entries are counted without those left out",
                "how='left' for the inner one, friends before joins, or joins one after the other",
                uri=data_set.uri,
                data_set=data_set.name,
            )
        ways = ways_of(data_set)
        _check_alike(data_set, ways)
        number, self._next = self._next, self._next + 1
        self._optional[number] = match.optional or self._optional[place]
        at = len(self.joins)
        other = self._add(data_set._other, number, "", "a side of a join")
        pairs = [(self._at(first, here), self._at(other, there)) for here, there in ways[0].pairs.items()]
        for _, there in pairs:
            check_place(there, number, data_set)
        whole_chain = len(ways) == 1
        self.joins.insert(
            at,
            Keys(
                number,
                pairs,
                match.inner,
                self._optional[place],
                ways[0].takes_first,
                ways[0].table if whole_chain else "",
                () if whole_chain else [way.begins for way in ways],
                place,
            ),
        )
        return _Both(data_set, first, other)

    def _at(self, tree: _Tree, path: str) -> Column:
        if isinstance(tree, _Leaf):
            return Column(tree.place, path, tree.friend)
        info, rest = tree.joined._schema.split(path)
        found = self._of(tree, info)
        return found._replace(path=f"{found.path}.{rest}") if rest else found

    def _of(self, tree: _Tree, info: FieldInfo) -> Column:
        if isinstance(tree, _Leaf):
            names = (name for name, each in shown_fields(tree.data_set).items() if each is info)
            return Column(tree.place, next(names, info.path), tree.friend)
        schema = tree.joined._schema
        side = schema.side_of(info)
        if side is None:
            return Column(self._place_of(tree.other))
        return self._of(tree.first if side is tree.joined._first else tree.other, schema.own(info))

    def _place_of(self, tree: _Tree) -> int:
        while isinstance(tree, _Both):
            tree = tree.first
        return tree.place


def check_place(key: Column, place: int, data_set: DataSet) -> None:
    """Refuse keys of what was joined to the other side: tables hold keys of one data set and its friends."""
    if key.place != place or not key.path:
        what = f"'{key.path}'" if key.path else "the number of an entry"
        raise UnsupportedError(
            f"a DataFrame cannot be joined by {what}, which the other side got by a join itself",
            "keys of the other side's own, or joins one after the other",
            uri=data_set.uri,
            data_set=data_set.name,
        )


def _check_alike(data_set: Joined, ways: Sequence[Way]) -> None:
    kinds: list[tuple[Mapping[str, str], bool]] = [(dict(way.pairs), way.takes_first) for way in ways]
    if any(kind != kinds[0] for kind in kinds):
        raise UnsupportedError(
            "a DataFrame cannot be made from a chain of joins by different keys",
            "the same on= and duplicates= for all",
            uri=data_set.uri,
            data_set=data_set.name,
        )
