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

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .branches import (
    OF_OBJECTS,
    arrays_by_counter,
    descendants,
    first_entry,
    is_array_of_containers,
    is_array_of_objects,
    is_empty,
    is_named_as_leaf,
    is_reference,
    is_split_collection,
    is_tobject,
    type_name_of,
)
from .complaints import NOTHING_STORED, UnfitError, raise_of_source, short_reason
from .containers import base_class_of, interpretation_of, is_empty_base_class
from .dimensions import shape_of_items, with_dimensions
from .field_names import clean_name, free_name, member_name
from .field_types import is_list, item_of, spec_of
from .leaf_lists import leaf_list_of
from .tree_plan import MAPS, Leaf, PlannedField, TreePlan, Unreadable, _Collection, _Record, _Value
from .whole_objects import ambiguous_class, dimensions_of_members, has_objects, has_references, pointers

__all__ = ["plan_fields"]

_BASE_CLASS = 1
"""ROOT's type of branches of a base class."""
_PROJECTABLE = re.compile(r"(?:std::vector<)+(?:bool|float|double|std::u?int\d+_t|std::string)>+")
_IDENTIFIER = re.compile(r"[A-Za-z]\w*")
_COUNTER = re.compile(r"(?:[nN]_?|num_?)(?P<after>[A-Za-z].*)|(?P<before>.+?)_?(?:_n|_N|_size|_count)")


def plan_fields(tree: Any, wanted: Any, *, grouping: bool = True) -> TreePlan:
    """Find the fields of a tree.

    Args:
        tree: of uproot.
        wanted: tells whether to import a branch, by its path.
        grouping: make collections of arrays that share a counter.
    """
    if any(branch.classname in OF_OBJECTS for branch in tree.branches):
        _ = tree.file.streamers  # fails if the classes are damaged
    unreadable: list[Unreadable] = []
    planner = _Planner(tree, wanted, unreadable, grouping)
    return TreePlan(_with_projections(planner.nodes(tree.branches, "", "")), unreadable)


class _Planner:
    def __init__(self, tree: Any, wanted: Any, unreadable: list[Unreadable], grouping: bool) -> None:
        self._tree, self._wanted, self._unreadable, self._grouping = tree, wanted, unreadable, grouping
        self._shared = _shared_places(tree.branches)
        self._known: dict[tuple[Any, ...], Leaf] = {}

    def nodes(self, branches: Iterable[Any], above: str, prefix: str) -> list[PlannedField]:
        """Fields of sibling branches; `above` is the path, `prefix` the name of the enclosing branch."""
        branches = list(branches)
        spelled = {
            branch.name.removeprefix(f"{prefix.rstrip('.')}."): above + branch.name for branch in branches
        }
        counted: dict[str, list[Leaf]] = {}
        counters: dict[str, Leaf] = {}
        order: list[PlannedField | str] = []
        by_counter = arrays_by_counter(branches) if self._grouping and not above else {}
        counting = set(by_counter.values())
        for branch in branches:
            path = above + branch.name
            if branch.branches:
                # ROOT names a base class like the object if that has a dot in its name.
                base = base_class_of(branch) if above and branch.name == prefix else ""
                node = self._split(branch, path, base or member_name(branch.name, prefix))
                order += [node] if node else []
                continue
            kind = _kind_of(branch)
            leaf = self._like(branch, path, kind)
            if leaf is None and (kind is not None or not is_tobject(branch)):
                leaf = self._leaf(branch, path)
                if leaf is not None and kind is not None and not branch.late.has_read_baskets:
                    self._known[kind] = leaf
            if leaf is None:
                continue
            counter = by_counter.get(branch.name)
            if branch.name in counting:
                counters[branch.name] = leaf
                order.append(branch.name)
            elif counter is not None and is_list(leaf.spec):
                counted.setdefault(counter, []).append(leaf)
                order.append(counter)
            else:
                order.append(
                    _Value(member_name(branch.name, prefix) if above else clean_name(branch.name), leaf)
                )
        taken = {one.name for one in order if not isinstance(one, str)}
        return _unique(self._in_order(order, counters, counted, taken), spelled)

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
        if is_split_collection(branch):
            members: dict[str, Leaf] = {}
            with_values = (each for each in descendants(branch, path) if not is_empty_base_class(each[0]))
            for sub, sub_path in with_values:
                leaf = self._leaf(sub, sub_path)
                if leaf is not None and not is_list(leaf.spec):
                    self._refused(sub_path, sub, "its values do not follow the collection that it belongs to")
                elif leaf is not None:
                    members[free_name(member_name(sub.name, branch.name), members)] = leaf
            of_pairs = kind_name if kind_name in MAPS or "pair<" in type_name else ""
            return _Collection(name, members, of_pairs) if members else None
        # Members of a base class, as in `event.Base`, have the prefix that it has; if it has a base, the whole name.
        is_base = branch.member("fType", none_if_missing=True) == _BASE_CLASS
        own = f"{branch.name}."
        is_prefix = not is_base or any(sub.name.startswith(own) for sub in branch.branches)
        prefix = branch.name if is_prefix else branch.name.rpartition(".")[0]
        nodes = self.nodes(branch.branches, f"{path}/", prefix)
        return _Record(name, nodes, kind_name == "pair") if nodes else None

    def _like(self, branch: Any, path: str, kind: tuple[Any, ...] | None) -> Leaf | None:
        """A branch of which only the name differs from another one, as far as it can be told without reading it."""
        known = self._known.get(kind) if kind is not None and not self._shared and branch.is_regular else None
        if known is None or not self._wanted(path) or self._tree._lookup.get(path) is not branch:
            return None
        if branch.num_entries < self._tree.num_entries:
            return None
        return replace(known, branch=branch, path=path)

    def _leaf(self, branch: Any, path: str) -> Leaf | None:
        if not self._wanted(path):
            return None
        try:
            if self._tree[path] is not branch:
                raise UnfitError("another branch has the same name")
            if branch.num_entries < self._tree.num_entries:
                raise UnfitError(f"it has {branch.num_entries} entries, the tree {self._tree.num_entries}")
            _check_baskets(branch, self._shared)
            _check_std_array(branch)
            _check_arrays(branch)
            objects = has_objects(branch)
            if objects and not is_reference(branch):
                _check_objects(branch)
            interpretation = with_dimensions(interpretation_of(branch), branch)
            form = interpretation.awkward_form(self._tree.file)
            dimensions = dimensions_of_members(branch) if objects else {}
            shape = shape_of_items(interpretation, branch)
            if dimensions or shape:
                empty = form.length_zero_array(highlevel=False)
                form = Leaf(branch, path, "", objects, False, dimensions, shape).content(empty).form
            spec = spec_of(form)
            in_list = is_array_of_objects(branch) or is_array_of_containers(branch)
        except UnfitError as error:
            self._refused(path, branch, str(error))
            return None
        except Exception as error:  # uproot raises any kind
            raise_of_source(error)
            self._refused(path, branch, short_reason(error))
            return None
        if objects:
            reason = "uproot does not read what pointers in objects that are not split point to"
            for member, kind in pointers(branch):
                self._unreadable.append(Unreadable(f"{path.rstrip('.')}.{member}", kind, reason))
        spec, objects = (item_of(spec), True) if in_list else (spec, objects)
        leaf = Leaf(branch, path, spec, objects, in_list, dimensions, shape, is_named_as_leaf(branch))
        if not objects or in_list or shape:
            return leaf
        from .nested_lists import nested_lists

        return replace(leaf, nested=nested_lists(leaf.interpretation))

    def _refused(self, path: str, branch: Any, reason: str) -> None:
        self._unreadable.append(Unreadable(path, type_name_of(branch), reason))


def _check_arrays(branch: Any) -> None:
    """Refuse arrays that uproot (up to 5.7) does not know in leaf lists."""
    leaves = branch.member("fLeaves")
    is_array = any(leaf.member("fLen") > 1 or leaf.member("fLeafCount") is not None for leaf in leaves)
    if len(leaves) > 1 and is_array and leaf_list_of(branch) is None:
        raise UnfitError("uproot cannot read leaf lists with arrays whose lengths vary, or with texts")


def _check_std_array(branch: Any) -> None:
    """Refuse an `std::array` in a split vector that ROOT did not write: its lists would be empty."""
    if branch.name.rpartition(".")[2].startswith("_M_elems[") and branch.num_entries and is_empty(branch):
        raise UnfitError(NOTHING_STORED)


def _check_baskets(branch: Any, shared: frozenset[int]) -> None:
    """Refuse a branch with baskets that cannot be read, in the tree itself, as AutoSave leaves them, or in the file.

    `shared`: see `_shared_places`.
    """
    count = branch._num_normal_baskets
    if shared and not shared.isdisjoint(branch.member("fBasketSeek")[:count].tolist()):
        raise UnfitError("it has a basket at the place of another one")
    if np.any(branch.member("fBasketBytes")[:count] < 0):
        raise UnfitError("it has a basket of negative size")
    entries = branch.member("fBasketEntry")[: count + 1]
    if count and (entries[0] != first_entry(branch) or np.any(np.diff(entries) < 0)):
        raise UnfitError("its baskets are not in the order of entries")
    try:
        len(branch.embedded_baskets)
    except Exception as error:  # uproot raises any kind
        raise_of_source(error)
        raise UnfitError(f"its last baskets cannot be read: {short_reason(error)}") from error


def _shared_places(branches: Iterable[Any]) -> frozenset[int]:
    """Return the places in the file that more than one basket of these branches claims."""
    parts = [np.empty(0, np.int64), *_places_of(branches)]
    places, counts = np.unique(np.concatenate(parts), return_counts=True)
    return frozenset(places[counts > 1].tolist())


def _places_of(branches: Iterable[Any]) -> Iterator[Any]:
    """The places of the baskets of branches and of those below them."""
    late = None
    for branch in _with_those_below(branches):
        if getattr(branch, "is_regular", False):
            late = branch.late
        else:
            yield branch.member("fBasketSeek")[: branch._num_normal_baskets]
    if late is not None:
        yield late.baskets.places


def _with_those_below(branches: Iterable[Any]) -> Iterator[Any]:
    for branch in branches:
        yield branch
        yield from _with_those_below(branch.branches)


def _kind_of(branch: Any) -> tuple[Any, ...] | None:
    """Equal for branches with one leaf that differ in the name alone; None for others."""
    plain = getattr(branch, "plain", None)
    if plain is None or len(plain.leaves) != 1:
        return None
    leaf = plain.leaves[0]
    if plain.class_ is not None:
        is_whole = plain.above < 0 and plain.class_.number < 0 and not plain.class_.name_of_parent
        return (plain.class_, leaf.kind, leaf.length, leaf.size, leaf.member) if is_whole else None
    rest = leaf.title.removeprefix(leaf.name)
    if rest == leaf.title or not (_IDENTIFIER.fullmatch(plain.name) and _IDENTIFIER.fullmatch(leaf.name)):
        return None
    counter = None if leaf.counter is None else f"[{branch.count_branch.name}]"
    if counter is not None and rest.startswith(counter):
        rest = rest.removeprefix(counter)
        counter = "[n]"
    return leaf.kind, rest, counter, leaf.length, leaf.size, leaf.is_unsigned


def _check_objects(branch: Any) -> None:
    """Refuse objects of which uproot would make wrong values."""
    if has_references(branch):
        raise UnfitError("it has references to other objects (TRef), which uproot cannot read")
    name = ambiguous_class(branch)
    if name:
        raise UnfitError(
            f"the file has several versions of the class '{name}', which uproot does not tell apart"
        )


# ---- Splitting and counting


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


def _unique(nodes: list[PlannedField], spelled: Mapping[str, str]) -> list[PlannedField]:
    """Give each node a name of its own. That of a branch with this very name stays: `a_b`, also after `a.b`.

    Args:
        nodes: with names that may be equal.
        spelled: the paths of branches by their names.
    """
    kept: dict[str, PlannedField] = {}
    for node in nodes:
        path = spelled.get(node.name)
        if path is not None and f"{next(node.leaves()).path}/".startswith(f"{path}/"):
            kept.setdefault(node.name, node)
    taken = set(kept)
    for node in nodes:
        if kept.get(node.name) is not node:
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
