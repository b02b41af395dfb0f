"""The fields of a TTree, and how they are made of the arrays of its branches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import FormatError
from colonnade.schema.spec import Spec

from .branches import first_entry, type_name_of
from .field_types import is_pair_of, item_of
from .whole_objects import with_member_dimensions, with_shape

__all__ = ["MAPS", "Leaf", "PlannedField", "TreePlan", "Unreadable"]

MAPS = ("map", "multimap", "unordered_map", "unordered_multimap")


@dataclass(frozen=True)
class Unreadable:
    """A branch that cannot be imported."""

    branch: str
    type: str
    reason: str

    @property
    def problem(self) -> str:
        """What to tell of it."""
        return f"the branch '{self.branch}' of type '{self.type}' cannot be imported: {self.reason}"


@dataclass(frozen=True)
class Leaf:
    """A branch with values of its own."""

    branch: Any
    path: str
    """Including the enclosing branches, in uproot's form."""
    spec: Spec
    objects: bool
    """Deserialized object by object: only an attempt tells whether uproot can."""
    in_list: bool = False
    """Each value comes in a list of its own."""
    dimensions: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    """Those of members of the objects."""
    shape: tuple[int, ...] = ()
    """That of the items of lists, if these are arrays of objects with several dimensions."""
    named_as_leaf: bool = True
    """See `is_named_as_leaf`."""
    nested: Callable[[bytes, int], int] | None = None
    """See `nested_lists`."""

    def of(self, tree: Any) -> Leaf:
        """The same branch of another tree of uproot with the same structure."""
        return replace(self, branch=tree[self.path])

    def content(self, found: Content) -> Content:
        """The values in the arrays that uproot makes."""
        found = with_member_dimensions(found, self.dimensions)
        if self.shape:
            found = found.copy(content=with_shape(found.content, self.shape))
        if not self.in_list:
            return found
        lists = found.to_ListOffsetArray64(True)
        return lists.content[: int(lists.offsets[-1])]

    @property
    def interpretation(self) -> Any:
        """How uproot reads the branch."""
        from .interpretations import mended_interpretation

        return mended_interpretation(self.branch)

    @property
    def first(self) -> int:
        """The first entry of the branch."""
        return first_entry(self.branch)

    def entries(self, found: Content, start: int, stop: int) -> Content:
        """The same for entries, of which the first ones may be before those of the branch: zero or empty."""
        content = self.content(found)
        missing = min(max(self.first - start, 0), stop - start)
        if not missing:
            return content
        zero = ak.Array(content.form.length_one_array(highlevel=False))
        return ak.to_layout(ak.concatenate([zero[np.zeros(missing, np.int64)], content]))


class PlannedField(Protocol):
    """A field, or a member of one."""

    name: str

    @property
    def spec(self) -> Spec: ...  # noqa: D102

    def leaves(self) -> Iterator[Leaf]: ...  # noqa: D102

    def without(self, paths: frozenset[str]) -> PlannedField | None: ...  # noqa: D102

    def of(self, tree: Any) -> PlannedField: ...  # noqa: D102

    def content(self, arrays: Mapping[str, Content]) -> Content: ...  # noqa: D102


@dataclass
class _Value:
    """A field with the values of one branch."""

    name: str
    leaf: Leaf

    @property
    def spec(self) -> Spec:
        return self.leaf.spec

    def leaves(self) -> Iterator[Leaf]:
        yield self.leaf

    def without(self, paths: frozenset[str]) -> PlannedField | None:
        return None if self.leaf.path in paths else self

    def of(self, tree: Any) -> PlannedField:
        return _Value(self.name, self.leaf.of(tree))

    def content(self, arrays: Mapping[str, Content]) -> Content:
        return arrays[self.leaf.path]


@dataclass
class _Record:
    """A field of a split object."""

    name: str
    members: list[PlannedField]
    is_pair: bool

    @property
    def spec(self) -> Spec:
        specs = {member.name: member.spec for member in self.members}
        if is_pair_of(self.is_pair, specs):
            return f"std::pair<{specs['first']},{specs['second']}>"
        return specs

    def leaves(self) -> Iterator[Leaf]:
        for member in self.members:
            yield from member.leaves()

    def without(self, paths: frozenset[str]) -> PlannedField | None:
        members = [left for member in self.members if (left := member.without(paths))]
        return _Record(self.name, members, self.is_pair) if members else None

    def of(self, tree: Any) -> PlannedField:
        return _Record(self.name, [member.of(tree) for member in self.members], self.is_pair)

    def content(self, arrays: Mapping[str, Content]) -> Content:
        parts = {member.name: member.content(arrays) for member in self.members}
        names = None if isinstance(self.spec, str) else list(parts)
        return ak.contents.RecordArray(list(parts.values()), names)


@dataclass
class _Collection:
    """A field with one item per value of the arrays that share a counter."""

    name: str
    members: dict[str, Leaf]
    of_pairs: str = ""
    """The kind of the collection, as "map" or "vector", if the items are pairs."""
    counter: Leaf | None = None
    is_plain: bool = False
    """A list of the values of its only branch, instead of records."""
    projections: dict[str, str] = field(default_factory=dict)
    """The member with the values of a branch, by name of the projected field."""
    counter_name: str = ""
    """The name of the field that shows the counter."""
    uneven: Unreadable | None = None
    """The array that turned out to have other lengths than the others, or than the counter says."""

    @property
    def spec(self) -> Spec:
        if self.is_plain:
            return next(iter(self.members.values())).spec
        # The branches have lists: the item of the spec `std::vector<float>` is a member.
        specs = {name: item_of(leaf.spec) for name, leaf in self.members.items()}
        if is_pair_of(bool(self.of_pairs), specs):
            first, second = specs["first"], specs["second"]
            if self.of_pairs in MAPS:
                return f"std::{self.of_pairs}<{first},{second}>"
            return f"std::vector<std::pair<{first},{second}>>"
        return [specs]

    def leaves(self) -> Iterator[Leaf]:
        yield from self.members.values()
        if self.counter is not None:
            yield self.counter

    def without(self, paths: frozenset[str]) -> PlannedField | None:
        members = {name: leaf for name, leaf in self.members.items() if leaf.path not in paths}
        if not members:
            return None if self.counter is None else _Value(self.counter_name, self.counter)
        projections = {name: member for name, member in self.projections.items() if member in members}
        return replace(self, members=members, projections=projections)

    def of(self, tree: Any) -> PlannedField:
        members = {name: leaf.of(tree) for name, leaf in self.members.items()}
        return replace(self, members=members, counter=None if self.counter is None else self.counter.of(tree))

    def content(self, arrays: Mapping[str, Content]) -> Content:
        offsets = None
        items = []
        for leaf in self.members.values():
            lists = arrays[leaf.path].to_ListOffsetArray64(True)
            found = np.asarray(lists.offsets.data)
            if offsets is None:
                offsets, first = found, leaf
            elif not np.array_equal(offsets, found):
                raise self._uneven(leaf, found, first, offsets)
            items.append(lists.content[: int(found[-1])])
        assert offsets is not None
        if self.counter is not None:
            counts = np.asarray(arrays[self.counter.path].data).astype(np.int64)
            if not np.array_equal(np.diff(offsets), counts):
                sums = np.concatenate([[0], np.cumsum(counts)])
                raise self._uneven(first, offsets, self.counter, sums)
        if self.is_plain:
            return ak.contents.ListOffsetArray(ak.index.Index64(offsets), items[0])
        names = None if isinstance(self.spec, str) else list(self.members)
        return ak.contents.ListOffsetArray(
            ak.index.Index64(offsets), ak.contents.RecordArray(items, names, length=int(offsets[-1]))
        )

    def _uneven(self, one: Leaf, offsets: Any, other: Leaf, others: Any) -> FormatError:
        row = int(np.argmax(np.diff(offsets) != np.diff(others)))
        have = f"have {np.diff(offsets)[row]} and {np.diff(others)[row]} values in one entry"
        advice = "without grouping, each becomes a field of its own"
        why = f"it shares a counter with '{other.path}', but they {have}; {advice}"
        self.uneven = Unreadable(one.path, type_name_of(one.branch), why)
        problem = f"the branches '{one.path}' and '{other.path}' share a counter, but {have}"
        return FormatError(problem, advice, field=self.name)


@dataclass
class TreePlan:
    """The fields of a tree."""

    nodes: list[PlannedField]
    unreadable: list[Unreadable]

    def schema(self) -> dict[str, Spec]:
        """The type of each field."""
        return {node.name: node.spec for node in self.nodes}

    def projections(self, aliases: bool) -> dict[str, tuple[Spec, dict[str, str]]]:
        """Projected fields under the names of branches: counters, and the arrays if `aliases`."""
        found: dict[str, tuple[Spec, dict[str, str]]] = {}
        for node in self._collections():
            if node.counter is not None:
                bits = 64 if "64" in str(node.counter.spec) else 32
                counts = f"ROOT::RNTupleCardinality<std::uint{bits}_t>"
                found[node.counter_name] = (counts, {node.counter_name: node.name})
            for name, member in node.projections.items() if aliases else ():
                spec = str(node.members[member].spec)
                found[name] = (spec, _sources(name, spec, node.name, f"{node.name}._0.{member}"))
        return found

    def counters(self) -> dict[str, str]:
        """The collection counted by a field that shows a counter, by name of the field."""
        return {node.counter_name: node.name for node in self._collections() if node.counter is not None}

    def counter_paths(self) -> set[str]:
        """The paths of the branches that count the items of collections."""
        return {node.counter.path for node in self._collections() if node.counter is not None}

    def _collections(self) -> Iterator[_Collection]:
        yield from (node for node in self.nodes if isinstance(node, _Collection))

    def names(self) -> dict[str, str]:
        """Path of the field by path of the branch, if they differ."""
        return {path: place for path, place in _places(self.nodes) if path != place}

    def other_names(self, *, all_: bool = True) -> dict[str, str]:
        """Path of the field by the name that its branch has in ROOT, where that is no field: "Electron.pt".

        That is the last part of its path. All names include those that lack the object: "x" for "event.x".
        """
        found: dict[str, str] = {}
        projected = {
            node.members[member].path: name
            for node in self._collections()
            for name, member in node.projections.items()
        }
        fields = {*self.projections(aliases=True), *(node.name for node in self.nodes)}
        for path, member in self.names().items():
            place = projected.get(path, member)
            above, slash, last = path.rpartition("/")
            name = re.sub(r"(\[\w+\])+$", "", last.rstrip("."))
            top = above.partition("/")[0].rstrip(".")
            if name != place and name not in fields and (all_ or not slash or name.startswith(f"{top}.")):
                found.setdefault(name, place)
        return found

    def leaf_types(self) -> dict[str, bool]:
        """By field, whether ROOT names its type as that of a leaf, "Int_t", and not of a class, "vector<int>"."""
        found: dict[str, bool] = {}
        named = {leaf.path: leaf.named_as_leaf for leaf in self.leaves()}
        for path, place in _places(self.nodes):
            found[place] = named.get(path, True)
        for node in self._collections():
            for name, member in node.projections.items():
                found[name] = named[node.members[member].path]
        return found

    def regrouped(self) -> set[str]:
        """Collections of arrays that are all fields as well, and members that are."""
        found: set[str] = set()
        for node in self._collections():
            found.update(f"{node.name}.{member}" for member in node.projections.values())
            if node.members and set(node.members) == set(node.projections.values()):
                found.add(node.name)
        return found

    def titles(self) -> dict[str, str]:
        """The tree's titles of its branches, by field."""
        found = {}
        for node in self.nodes:
            leaf = node.leaf if isinstance(node, _Value) else getattr(node, "counter", None)
            title = str(leaf.branch.title or "") if leaf is not None else ""
            if leaf is not None and title.partition("/")[0].partition("[")[0] != leaf.branch.name:
                found[node.name] = title
        return found

    def places(self) -> dict[str, str]:
        """Path of the field by path of the branch."""
        return dict(_places(self.nodes))

    def only(self, paths: frozenset[str]) -> TreePlan:
        """The same fields, restricted to these branches."""
        others = frozenset(leaf.path for leaf in self.leaves()) - paths
        left = [kept for node in self.nodes if (kept := node.without(others))]
        return TreePlan([node for node in left if any(leaf.path in paths for leaf in node.leaves())], [])

    def of(self, tree: Any) -> TreePlan:
        """The same fields of another tree of uproot with the same structure."""
        return TreePlan([node.of(tree) for node in self.nodes], self.unreadable)

    def leaves(self) -> list[Leaf]:
        """All branches to read."""
        return [leaf for node in self.nodes for leaf in node.leaves()]

    def without(self, found: list[Unreadable]) -> TreePlan:
        """The same without branches that turned out to be unreadable."""
        paths = frozenset(one.branch for one in found)
        nodes = [left for node in self.nodes if (left := node.without(paths))]
        return TreePlan(nodes, self.unreadable + found)


def _places(
    nodes: Iterable[PlannedField], above: str = "", *, of_pair: bool = False
) -> Iterator[tuple[str, str]]:
    for number, node in enumerate(nodes):
        place = above + (f"_{number}" if of_pair else node.name)
        if isinstance(node, _Value):
            yield node.leaf.path, place
        elif isinstance(node, _Record):
            yield from _places(node.members, f"{place}.", of_pair=isinstance(node.spec, str))
        elif isinstance(node, _Collection):
            pairs = isinstance(node.spec, str)
            for index, (name, leaf) in enumerate(node.members.items()):
                yield leaf.path, place if node.is_plain else f"{place}.{f'_0._{index}' if pairs else name}"
            if node.counter is not None:
                yield node.counter.path, node.counter_name


def _sources(name: str, spec: str, collection: str, member: str) -> dict[str, str]:
    """The column sources of a projected list: its items are the member's, at all depths."""
    found = {name: collection, f"{name}._0": member}
    for depth in range(1, spec.count("std::vector<")):
        found[f"{name}._0{'._0' * depth}"] = f"{member}{'._0' * depth}"
    return found
