"""The conversion of a TTree's branches to fields.

    branch without sub-branches               -> a field: numbers, strings, arrays, (nested) vectors, maps, objects
    x[n], y[n]: arrays that share a counter   -> a collection of records, see `_counted`; n becomes its cardinality
    branch of an object, split                -> a record with a member for each sub-branch
    branch of a vector of objects, split      -> a collection of records
    branch of a pair, map, vector of pairs    -> std::pair, std::map, std::vector<std::pair>

Names lose what field names may not contain: the name of the branch above, a dot at the end; other dots, slashes and
blanks become underscores.
"""

from __future__ import annotations

import copy
import importlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import FormatError, NotFoundError, ResourceError, StorageError
from colonnade.schema.spec import Spec

from .containers import base_class_of, interpretation_of
from .leaf_lists import leaf_list_of
from .reduced_precision import comment_of
from .whole_objects import (
    ambiguous_class,
    dimensions_of_members,
    has_objects,
    has_references,
    with_member_dimensions,
    with_shape,
)

__all__ = [
    "NOTHING_STORED",
    "Leaf",
    "PlannedField",
    "TreePlan",
    "Unreadable",
    "clean_name",
    "collection_of",
    "is_array_of_objects",
    "is_empty",
    "plan_fields",
    "raise_of_source",
    "short_reason",
    "type_name_of",
    "with_dimensions",
]

_TYPES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_BASE_CLASS = 1
"""ROOT's type of branches of a base class."""
_COLLECTIONS = (3, 4)
"""ROOT's types of branches that count the values of their sub-branches: TClonesArray, collections."""
_MAPS = ("map", "multimap", "unordered_map", "unordered_multimap")
_PROJECTABLE = re.compile(r"(?:std::vector<)+(?:bool|float|double|std::u?int\d+_t|std::string)>+")
_RANGE_AFTER_SIZE = re.compile(r"\].*\[[^]]*,")
NOTHING_STORED = "ROOT has stored none of its values"
_PLAIN = (
    (
        re.compile(r"expected Chunk of length (\d+),\s+received (\d+) bytes.*"),
        r"it ends within a part of \1 bytes, after \2",
    ),
    (
        re.compile(r"attempting to get bytes (\d+):\d+\s+outside expected range (\d+):(\d+) for this Chunk"),
        r"the values of an entry end at \3, uproot reads on at \1",
    ),
    (
        re.compile(r"expected (\d+) bytes but cursor moved by (\d+) bytes \(through ([^)]*)\)"),
        r"\3 has \1 bytes, of which uproot reads \2",
    ),
    (
        re.compile(r"'\w+ beyond' in AwkwardForth runtime.*", re.DOTALL),
        "the values of an entry end before what uproot reads",
    ),
    (re.compile(r"in AwkwardForth source code.*", re.DOTALL), "uproot fails to make a reader of its values"),
)
"""What uproot says of bytes that are missing or left, and how to say it."""
_COUNTER = re.compile(r"(?:[nN]_?|num_?)(?P<after>[A-Za-z].*)|(?P<before>.+?)_?(?:_n|_N|_size|_count)")


class _UnfitError(Exception):
    """There is no matching field type."""


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
    def first(self) -> int:
        """The first entry of the branch."""
        return _first_entry(self.branch)

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
        if _as_pair(self.is_pair, specs):
            return f"std::pair<{specs['first']},{specs['second']}>"
        return specs

    def leaves(self) -> Iterator[Leaf]:
        for member in self.members:
            yield from member.leaves()

    def without(self, paths: frozenset[str]) -> PlannedField | None:
        members = [left for member in self.members if (left := member.without(paths))]
        return _Record(self.name, members, self.is_pair) if members else None

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
        specs = {name: _item(leaf.spec) for name, leaf in self.members.items()}
        if _as_pair(bool(self.of_pairs), specs):
            first, second = specs["first"], specs["second"]
            if self.of_pairs in _MAPS:
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
        fields = {*self.projections(aliases=True), *(node.name for node in self.nodes)}
        for path, place in self.names().items():
            above, slash, last = path.rpartition("/")
            name = re.sub(r"(\[\w+\])+$", "", last.rstrip("."))
            top = above.partition("/")[0].rstrip(".")
            if name != place and name not in fields and (all_ or not slash or name.startswith(f"{top}.")):
                found.setdefault(name, place)
        return found

    def leaf_types(self) -> dict[str, bool]:
        """By field, whether ROOT names its type as that of a leaf, "Int_t", and not of a class, "vector<int>"."""
        found: dict[str, bool] = {}
        named = {leaf.path: is_named_as_leaf(leaf.branch) for leaf in self.leaves()}
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


def plan_fields(tree: Any, wanted: Any, *, grouping: bool = True) -> TreePlan:
    """Find the fields of a tree.

    Args:
        tree: of uproot.
        wanted: tells whether to import a branch, by its path.
        grouping: make collections of arrays that share a counter.
    """
    unreadable: list[Unreadable] = []
    planner = _Planner(tree, wanted, unreadable, grouping)
    return TreePlan(_with_projections(_unique(planner.nodes(tree.branches, "", ""))), unreadable)


class _Planner:
    def __init__(self, tree: Any, wanted: Any, unreadable: list[Unreadable], grouping: bool) -> None:
        self._tree, self._wanted, self._unreadable, self._grouping = tree, wanted, unreadable, grouping
        self._shared = _shared_places(tree.itervalues(recursive=True))

    def nodes(self, branches: Iterable[Any], above: str, prefix: str) -> list[PlannedField]:
        """Fields of sibling branches; `above` is the path, `prefix` the name of the enclosing branch."""
        branches = list(branches)
        counted: dict[str, list[Leaf]] = {}
        counters: dict[str, Leaf] = {}
        order: list[PlannedField | str] = []
        by_counter = _arrays_by_counter(branches) if self._grouping and not above else {}
        for branch in branches:
            path = above + branch.name
            if branch.branches:
                # ROOT names a base class like the object if that has a dot in its name.
                base = base_class_of(branch) if above and branch.name == prefix else ""
                node = self._split(branch, path, base or _member(branch.name, prefix))
                order += [node] if node else []
                continue
            leaf = None if _is_tobject(branch) else self._leaf(branch, path)
            if leaf is None:
                continue
            counter = by_counter.get(branch.name)
            if branch.name in by_counter.values():
                counters[branch.name] = leaf
                order.append(branch.name)
            elif counter is not None and _is_list(leaf.spec):
                counted.setdefault(counter, []).append(leaf)
                order.append(counter)
            else:
                order.append(_Value(_member(branch.name, prefix) if above else clean_name(branch.name), leaf))
        taken = {one.name for one in order if not isinstance(one, str)}
        return self._in_order(order, counters, counted, taken)

    @staticmethod
    def _in_order(
        order: list[PlannedField | str],
        counters: dict[str, Leaf],
        counted: dict[str, list[Leaf]],
        taken: set[str],
    ) -> list[PlannedField]:
        nodes: list[PlannedField] = []
        done: set[str] = set()
        for one in order:
            if not isinstance(one, str):
                nodes.append(one)
            elif one not in done:
                done.add(one)
                nodes.append(_counted(one, counters.get(one), counted.get(one, []), taken))
                taken.add(nodes[-1].name)
        return nodes

    def _split(self, branch: Any, path: str, name: str) -> PlannedField | None:
        type_name = type_name_of(branch)
        kind = re.match(r"(?:std::)?(\w*)", type_name)
        kind_name = kind[1] if kind else ""
        if _is_split_collection(branch):
            members: dict[str, Leaf] = {}
            for sub, sub_path in _descendants(branch, path):
                leaf = self._leaf(sub, sub_path)
                if leaf is not None and not _is_list(leaf.spec):
                    self._refused(sub_path, sub, "its values do not follow the collection that it belongs to")
                elif leaf is not None:
                    members[free_name(_member(sub.name, branch.name), members)] = leaf
            of_pairs = kind_name if kind_name in _MAPS or "pair<" in type_name else ""
            return _Collection(name, members, of_pairs) if members else None
        # Members of a base class, as in `event.Base`, have the prefix that it has; if it has a base, the whole name.
        is_base = branch.member("fType", none_if_missing=True) == _BASE_CLASS
        own = f"{branch.name}."
        is_prefix = not is_base or any(sub.name.startswith(own) for sub in branch.branches)
        prefix = branch.name if is_prefix else branch.name.rpartition(".")[0]
        nodes = _unique(self.nodes(branch.branches, f"{path}/", prefix))
        return _Record(name, nodes, kind_name == "pair") if nodes else None

    def _leaf(self, branch: Any, path: str) -> Leaf | None:
        if not self._wanted(path):
            return None
        try:
            if self._tree[path] is not branch:
                raise _UnfitError("another branch has the same name")
            if branch.num_entries < self._tree.num_entries:
                raise _UnfitError(f"it has {branch.num_entries} entries, the tree {self._tree.num_entries}")
            _check_baskets(branch, self._shared)
            _check_std_array(branch)
            _check_arrays(branch)
            _check_objects(branch)
            interpretation = with_dimensions(interpretation_of(branch), branch)
            form = interpretation.awkward_form(self._tree.file)
            objects = has_objects(branch)
            dimensions = dimensions_of_members(branch) if objects else {}
            shape = _shape_of_items(interpretation, branch)
            if dimensions or shape:
                empty = form.length_zero_array(highlevel=False)
                form = Leaf(branch, path, "", objects, False, dimensions, shape).content(empty).form
            spec = _spec(form)
            in_list = is_array_of_objects(branch) or is_array_of_containers(branch)
        except _UnfitError as error:
            self._refused(path, branch, str(error))
            return None
        except Exception as error:  # uproot raises any kind
            raise_of_source(error)
            self._refused(path, branch, short_reason(error))
            return None
        spec, objects = (_item(spec), True) if in_list else (spec, objects)
        return Leaf(branch, path, spec, objects, in_list, dimensions, shape)

    def _refused(self, path: str, branch: Any, reason: str) -> None:
        self._unreadable.append(Unreadable(path, type_name_of(branch), reason))


def is_array_of_objects(branch: Any) -> bool:
    """True for `T x[3]` where T is a class: uproot makes a list of such arrays for each entry, always with one."""
    streamer = branch.streamer
    return (
        streamer is not None
        and streamer.classname in ("TStreamerObject", "TStreamerObjectAny")
        and streamer.array_length > 0
        and branch.count_leaf is None
    )


def is_array_of_containers(branch: Any) -> bool:
    """True for members such as `std::string t[2]` and `std::array<std::vector<int>,2> v`."""
    array: Any = getattr(interpretation_of(branch), "model", None)
    is_array = hasattr(array, "speedbump") and hasattr(array.values, "header") and len(array.inner_shape) > 0
    return is_array and getattr(branch.streamer, "array_length", 0) > 0 and branch.count_leaf is None


def _is_tobject(branch: Any) -> bool:
    """True for TObject as the base class of an object that is split, but not its base classes: it has no members."""
    return base_class_of(branch) == "TObject"


def _is_array_of_char(branch: Any) -> bool:
    """True for a member `char* x; //[n]`, which uproot (up to 5.7) takes for a text with its length before it."""
    streamer = branch.streamer
    return (
        streamer is not None
        and streamer.classname == "TStreamerBasicPointer"
        and streamer.typename == "char*"
    )


def is_empty(branch: Any) -> bool:
    """True if the first basket has no bytes. ROOT writes such ones for `std::array` where it does not know it."""
    try:
        return len(branch.basket(0).data) == 0
    except Exception as error:  # uproot has no common class of errors
        raise_of_source(error)
        return False


def _with_one_header(interpretation: Any, branch: Any) -> Any:
    """ROOT writes one header for all items of an array, and none for an std::array of vectors.

    uproot (up to 5.7) expects one for each item, and none for `TString t[2]`. Of several dimensions it takes the first
    alone, and its faster way of reading fails for nested items.
    """
    array = interpretation.model
    items = copy.copy(array.values)
    items.header = False
    header = branch.streamer.classname != "TStreamerObjectAny"
    found = type(interpretation)(
        type(array)(header, array.speedbump, items, (math.prod(array.inner_shape),)), branch
    )
    inner = getattr(items, "values", getattr(items, "keys", None))
    found._forth = inner is None or isinstance(inner, np.dtype)
    return found


def _shape_in_name(branch: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\[(\d+)\]", str(branch.name)))


def _shape_of_items(interpretation: Any, branch: Any) -> tuple[int, ...]:
    """The shape of arrays of objects in lists, such as `std::string names[2][3]`, which are deserialized as one row."""
    shape, model = _shape_in_name(branch), getattr(interpretation, "model", None)
    is_row = hasattr(model, "speedbump") and getattr(model, "inner_shape", None) == (math.prod(shape),)
    return shape if len(shape) > 1 and is_row else ()


def with_dimensions(interpretation: Any, branch: Any) -> Any:
    """Return an interpretation in which arrays in lists, such as `hits.position[2][3]`, have all their dimensions.

    uproot (up to 5.7) makes one dimension of them, and none of arrays of one value.
    """
    if is_array_of_containers(branch):
        return _with_one_header(interpretation, branch)
    if _is_array_of_char(branch) and hasattr(interpretation, "length_bytes"):
        of_uproot: Any = importlib.import_module("uproot.interpretation")
        return of_uproot.jagged.AsJagged(of_uproot.numerical.AsDtype("i1"), header_bytes=1)
    shape = _shape_in_name(branch)
    size = math.prod(shape)
    if not shape or (size > 1 and len(shape) == 1):
        return interpretation
    if size == 1 and getattr(branch.streamer, "array_length", 0) != 1:  # the brackets are part of a name
        return interpretation
    of_objects: Any = getattr(interpretation, "model", None)
    if size == 1 and getattr(of_objects, "inner_shape", None) == () and hasattr(of_objects, "header"):
        array = type(of_objects)(of_objects.header, of_objects.speedbump, of_objects.values, (1,))
        return type(interpretation)(array, branch)
    content: Any = getattr(interpretation, "content", None)
    if size == 1 and getattr(content, "to_dims", None) == ():
        same = copy.copy(interpretation)
        same._content = type(content)(content.low, content.high, content.num_bits, shape)
        return same
    if hasattr(content, "model") and size == 1:
        return _array_of_one_object(interpretation, branch)
    if getattr(content, "inner_shape", None) not in (((), (1,)) if size == 1 else ((size,),)):
        return interpretation
    same = copy.copy(interpretation)
    kinds = (content.from_dtype.base, content.to_dtype.base)
    same._content = type(content)(*(np.dtype((kind, shape)) for kind in kinds))
    return same


def _array_of_one_object(interpretation: Any, branch: Any) -> Any:
    if not is_array_of_objects(branch):
        raise _UnfitError("uproot cannot read arrays of one object in lists")
    return interpretation


def _check_arrays(branch: Any) -> None:
    """Refuse arrays that uproot (up to 5.7) does not know in leaf lists, or of which it makes wrong values.

    Of Double32_t and Float16_t it takes a dimension or counter, as in `[3][0,100,16]`, for the range, and loses the
    size of fixed-size arrays in lists.
    """
    leaves = branch.member("fLeaves")
    is_array = any(leaf.member("fLen") > 1 or leaf.member("fLeafCount") is not None for leaf in leaves)
    if len(leaves) > 1 and is_array and leaf_list_of(branch) is None:
        raise _UnfitError("uproot cannot read leaf lists with arrays whose lengths vary, or with texts")
    try:
        content: Any = getattr(interpretation_of(branch), "content", None)
    except UnboundLocalError as error:  # it takes the brackets for a range
        raise _UnfitError(
            "uproot cannot read a Float16_t with other brackets than those of a range"
        ) from error
    if getattr(content, "num_bits", None) is not None and content.to_dims:
        raise _UnfitError("uproot cannot read lists of fixed-size arrays of Double32_t or Float16_t")
    is_member = branch.streamer is not None and not branch.streamer.typename.endswith("*")
    if not is_member and _RANGE_AFTER_SIZE.search(comment_of(branch) or ""):
        raise _UnfitError("uproot cannot read arrays of Double32_t or Float16_t with a range")


def _check_std_array(branch: Any) -> None:
    """Refuse an `std::array` in a split vector that ROOT did not write: its lists would be empty."""
    if branch.name.rpartition(".")[2].startswith("_M_elems[") and branch.num_entries and is_empty(branch):
        raise _UnfitError(NOTHING_STORED)


def _first_entry(branch: Any) -> int:
    from .baskets import first_entry

    return first_entry(branch)


def _check_baskets(branch: Any, shared: frozenset[int]) -> None:
    """Refuse a branch with baskets that cannot be read, in the tree itself, as AutoSave leaves them, or in the file.

    `shared`: see `_shared_places`.
    """
    count = branch._num_normal_baskets
    if shared and not shared.isdisjoint(branch.member("fBasketSeek")[:count].tolist()):
        raise _UnfitError("it has a basket at the place of another one")
    if np.any(branch.member("fBasketBytes")[:count] < 0):
        raise _UnfitError("it has a basket of negative size")
    entries = branch.member("fBasketEntry")[: count + 1]
    if count and (entries[0] != _first_entry(branch) or np.any(np.diff(entries) < 0)):
        raise _UnfitError("its baskets are not in the order of entries")
    try:
        len(branch.embedded_baskets)
    except Exception as error:  # uproot raises any kind
        raise_of_source(error)
        raise _UnfitError(f"its last baskets cannot be read: {short_reason(error)}") from error


def _shared_places(branches: Iterable[Any]) -> frozenset[int]:
    """Return the places in the file that more than one basket of these branches claims."""
    parts = [branch.member("fBasketSeek")[: branch._num_normal_baskets] for branch in branches]
    places, counts = np.unique(np.concatenate([np.empty(0, np.int64), *parts]), return_counts=True)
    return frozenset(places[counts > 1].tolist())


def _check_objects(branch: Any) -> None:
    """Refuse objects of which uproot would make wrong values."""
    if not has_objects(branch):
        return
    if has_references(branch):
        raise _UnfitError("it has references to other objects (TRef), which uproot cannot read")
    name = ambiguous_class(branch)
    if name:
        raise _UnfitError(
            f"the file has several versions of the class '{name}', which uproot does not tell apart"
        )


def raise_of_source(error: Exception, **place: str) -> None:
    """Raise what is no branch's fault: the file cannot be read, or memory or threads are short."""
    if isinstance(error, (StorageError, NotFoundError, ResourceError)):
        raise error
    if isinstance(error, MemoryError):
        raise ResourceError("there is not enough memory to read the tree", "less at once", **place) from error
    if isinstance(error, RuntimeError) and str(error).startswith("can't start new thread"):
        raise ResourceError(
            "the system starts no more threads", "raise the limit of processes (ulimit -u)", **place
        ) from error
    # Without a number it is a complaint of uproot about the content.
    if isinstance(error, OSError) and error.errno is not None:
        raise StorageError(f"the file cannot be read: {short_reason(error)}", **place) from error


def short_reason(error: BaseException) -> str:
    """uproot's complaint in one line: its own text adds the position and much advice."""
    kind = type(error).__name__
    if kind == "CannotBeAwkward":  # it says no more than the type
        return f"uproot cannot read values of the type {error}"
    if kind == "UnknownInterpretation":
        return "uproot does not know how its values are stored"
    text = str(error).partition("\nin file")[0].partition("\nin object")[0]
    for pattern, words in _PLAIN:
        text = pattern.sub(words, text)
    if text.startswith("need at least one array to concatenate"):
        return "it has empty maps in lists, which uproot cannot read"
    if text.startswith("memberwise serialization"):
        return "its items are stored member by member, which uproot cannot read"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0] == "while reading" and len(lines) > 2:
        return f"{lines[-1]}, while reading {lines[1]}"
    if lines and lines[0].endswith(","):
        return " ".join(lines[:2])
    if not lines:
        return f"uproot fails with {type(error).__name__}, without saying why"
    # These are no complaints of uproot: the message of a KeyError is nothing but the key.
    is_mistake = isinstance(error, (LookupError, TypeError, AttributeError, NameError))
    return f"uproot fails with {kind}: {lines[0]}" if is_mistake else lines[0]


def type_name_of(branch: Any) -> str:
    """The C++ type of a branch's values, as far as uproot knows it."""
    try:
        return str(branch.typename or "")
    except Exception:  # uproot fails on unknown types, and on objects with some members
        return str(branch.member("fClassName", none_if_missing=True) or "unknown")


def is_named_as_leaf(branch: Any) -> bool:
    """Return whether a branch has numbers of its own, not an object of a class."""
    return re.search(r"[<:]|string|String", type_name_of(branch)) is None


# ---- Splitting and counting


def _descendants(branch: Any, path: str) -> Iterator[tuple[Any, str]]:
    for sub in branch.branches:
        if sub.branches:
            yield from _descendants(sub, f"{path}/{sub.name}")
        else:
            yield sub, f"{path}/{sub.name}"


def _is_split_collection(branch: Any) -> bool:
    """True if each sub-branch has one value per item of the branch's collection.

    Sub-branches of an object may be those of collections that it has, each with a counter of its own.
    """
    found = [sub for sub, _ in _descendants(branch, "")]
    counted = branch.member("fType", none_if_missing=True) in (None, *_COLLECTIONS)
    return counted and bool(found) and all(sub.count_leaf is not None for sub in found)


def collection_of(branch: Any) -> Any | None:
    """The branch of the collection of which a branch is a member of the items, if any. It has their number."""
    above = branch.parent
    while above is not None and hasattr(above, "branches") and above.has_member("fType"):
        if int(above.member("fType")) in _COLLECTIONS:
            return above
        above = above.parent
    return None


def _arrays_by_counter(branches: list[Any]) -> dict[str, str]:
    """The name of an array's counter, by name of the array. A counter in a leaf list is not a branch."""
    names = {branch.name for branch in branches if not branch.branches and len(branch.member("fLeaves")) == 1}
    found = {}
    for branch in branches:
        counter = None if branch.branches else branch.count_branch
        if counter is not None and counter is not branch and counter.name in names:
            found[branch.name] = counter.name
    return {name: counter for name, counter in found.items() if counter not in found}


def _counted(counter: str, leaf: Leaf | None, arrays: list[Leaf], taken: set[str]) -> PlannedField:
    """The collection of the arrays that share a counter.

    `nMuon` with `Muon_pt`, `Muon_eta` is the collection `Muon` of {pt, eta}. If the arrays' names do not begin
    with the counted name, the collection is named after their common prefix up to an underscore; if there is none,
    it is named after the counter, and members keep their names. A single array of another name stays a list of
    this name.
    """
    if not arrays:
        assert leaf is not None
        return _Value(clean_name(counter), leaf)
    names = [array.branch.name for array in arrays]
    match = _COUNTER.fullmatch(counter)
    counts = (match["after"] or match["before"]) if match else ""
    first, last = min(names), max(names)
    shared = next((first[:end] for end in range(len(first), 0, -1) if last.startswith(first[:end])), "")
    shared = shared[: shared.rfind("_") + 1]
    prefixes = [f"{counts}_"] * bool(counts) + [shared] * (len(names) > 1)
    prefix = next((one for one in prefixes if one and all(_has(name, one) for name in names)), "")
    if len(names) == 1 and not prefix:
        return _Collection(clean_name(names[0]), {"_0": arrays[0]}, "", leaf, is_plain=True)
    aliases = {clean_name(name) for name in names}
    name = free_name(
        clean_name(prefix.rstrip("_") or counts or f"{counter}_items"),
        taken | aliases | {clean_name(counter)},
    )
    members: dict[str, Leaf] = {}
    projections: dict[str, str] = {}
    for array in arrays:
        member = free_name(clean_name(array.branch.name[len(prefix) :]), members)
        members[member] = array
        projections.setdefault(clean_name(array.branch.name), member)
    return _Collection(name, members, "", leaf, projections=projections)


def _has(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and len(name) > len(prefix)


# ---- Names


def _member(name: str, above: str) -> str:
    """The name of a branch of an object, without the object's name and sizes of arrays: `event.hits[3]` is `hits`."""
    above = above.rstrip(".")
    name = name[len(above) + 1 :] if above and name.startswith(f"{above}.") else name
    return clean_name(re.sub(r"(\[\w+\])+$", "", name.rstrip(".")))


def clean_name(name: str) -> str:
    """Return the name of a field for that of a branch or column, with underscores for what it may not have."""
    return re.sub(r"[\x00-\x20\x7f./\\]", "_", name.rstrip(".")) or "_"


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name with as many underscores as it needs to be none of those that are taken."""
    used = set(taken)
    while name in used:
        name += "_"
    return name


def _unique(nodes: list[PlannedField]) -> list[PlannedField]:
    taken: set[str] = set()
    for node in nodes:
        node.name = free_name(node.name, taken)
        taken.add(node.name)
    return nodes


def _with_projections(nodes: list[PlannedField]) -> list[PlannedField]:
    """Give projected fields names that no other field of the tree has; an alias whose name is in use is left out.

    A part of the tree keeps these names: what is in use there depends on what was asked for.
    """
    taken = {node.name for node in nodes}
    collections = [node for node in nodes if isinstance(node, _Collection)]
    for node in collections:
        if node.counter is not None:
            node.counter_name = free_name(clean_name(node.counter.path), taken)
            taken.add(node.counter_name)
    for node in collections:
        node.projections = {
            name: member
            for name, member in node.projections.items()
            if name not in taken and _PROJECTABLE.fullmatch(str(node.members[member].spec))
        }
        taken.update(node.projections)
    return nodes


# ---- Types


def _as_pair(is_pair: bool, specs: dict[str, Spec]) -> bool:
    return (
        is_pair and list(specs) == ["first", "second"] and all(isinstance(one, str) for one in specs.values())
    )


def _is_list(spec: Spec) -> bool:
    return isinstance(spec, list) or (isinstance(spec, str) and spec.startswith("std::vector<"))


def _item(spec: Spec) -> Spec:
    """The item type of a list."""
    return spec[0] if isinstance(spec, list) else re.sub(r"^std::vector<|>$", "", spec)


def _spec(form: Any) -> Spec:
    """The type of uproot's arrays of a branch."""
    kind = form.parameter("__array__")
    if isinstance(form, ak.forms.NumpyForm):
        return _numbers(form)
    if isinstance(form, ak.forms.RecordForm):
        return _record(form)
    if isinstance(form, ak.forms.ListOffsetForm | ak.forms.ListForm | ak.forms.RegularForm):
        if kind == "string":
            return "std::string"
        if kind == "bytestring":
            return "std::vector<std::byte>"
        item = _spec(form.content)
        if not isinstance(item, str):
            return [item]
        if kind == "sorted_map" and item.startswith("std::pair<"):
            return f"std::map{item.removeprefix('std::pair')}"
        if kind == "set":
            return f"std::set<{item}>"
        if isinstance(form, ak.forms.RegularForm) and form.size > 0:
            return f"std::array<{item},{form.size}>"
        return f"std::vector<{item}>"
    if form.is_option:
        item = _spec(form.content)
        if isinstance(item, str):
            return f"std::optional<{item}>"
        raise _UnfitError("there is no field type for a record that may be missing")
    if isinstance(form, ak.forms.UnionForm):
        items = [_spec(part) for part in form.contents]
        if all(isinstance(item, str) for item in items):
            return f"std::variant<{','.join(items)}>"
        raise _UnfitError("there is no field type for alternatives that are records")
    if form.is_indexed:
        return _spec(form.content)
    raise _UnfitError("its type is not known")


def _numbers(form: Any) -> str:
    name = _TYPES.get(form.primitive)
    if name is None:
        raise _UnfitError(f"there is no field type for {form.primitive}")
    for size in reversed(form.inner_shape):
        name = f"std::array<{name},{size}>" if size else f"std::vector<{name}>"
    return name


def _record(form: Any) -> Spec:
    specs = [_spec(part) for part in form.contents]
    if form.is_tuple:
        if all(isinstance(one, str) for one in specs):
            return f"std::{'pair' if len(specs) == 2 else 'tuple'}<{','.join(specs)}>"
        return {f"_{number}": one for number, one in enumerate(specs)}
    if not specs:
        raise _UnfitError("it has no members")
    for name in form.fields:
        if name != clean_name(name):
            raise _UnfitError(f"its member '{name}' has no valid field name")
    return dict(zip(form.fields, specs, strict=True))
