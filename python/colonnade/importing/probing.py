"""Attempts to read the branches of a TTree, which tell whether uproot can, and at which one it failed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from colonnade.arrays.lazy import awkward as ak

from .branches import is_empty, type_name_of
from .complaints import NOTHING_STORED, raise_of_source, short_reason
from .tree_files import checked_baskets
from .tree_plan import Leaf, Unreadable

__all__ = ["array_of", "failing", "probe"]

_PROBED = 64
"""The number of entries for which uproot must be able to make objects before the import begins."""
_PROBED_AT_ONCE = 64 << 20
"""Compressed bytes of baskets that are read together for that."""


def array_of(leaf: Leaf, begin: int, end: int, executor: Executor | None = None) -> Any:
    """Some entries of a branch, except those before its first one."""
    return leaf.branch.array(
        leaf.interpretation,
        entry_start=max(begin, leaf.first),
        entry_stop=max(end, leaf.first),
        library="ak",
        decompression_executor=checked_baskets(executor),
    )


def probe(tree: Any, leaves: list[Leaf]) -> list[Unreadable]:
    """Branches of objects of which uproot cannot make arrays."""
    entries = min(int(tree.num_entries), _PROBED)
    objects = [leaf for leaf in leaves if leaf.objects] if entries else []
    if not objects:
        return []
    from .nested_lists import are_sound

    found = []
    for group in _groups(objects):
        sound = are_sound(tree, group, entries)
        tried = [leaf for leaf in group if leaf.path not in sound]
        if len(tried) > 1 and _reads_all(tree, tried, entries):
            continue
        reasons = ((leaf, _refusal(leaf, 0, entries)) for leaf in tried)
        found += [Unreadable(leaf.path, str(leaf.branch.typename), why) for leaf, why in reasons if why]
    return found


def _groups(leaves: list[Leaf]) -> Iterator[list[Leaf]]:
    """Branches whose first baskets are read together."""
    group: list[Leaf] = []
    size = 0
    for leaf in leaves:
        baskets = max(int(leaf.branch.num_baskets), 1)
        size += int(leaf.branch.compressed_bytes) // baskets
        if group and size > _PROBED_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(leaf)
    if group:
        yield group


def _reads_all(tree: Any, leaves: list[Leaf], entries: int) -> bool:
    wanted = [(leaf.path, leaf.interpretation) for leaf in leaves]
    if any(leaf.first for leaf in leaves):
        return False
    try:
        found = next(tree.iterate(wanted, entry_stop=entries, step_size=entries, library="ak", how=dict))
        return all(
            len(leaf.entries(ak.to_layout(found[leaf.path]), 0, entries)) == entries for leaf in leaves
        )
    except Exception as error:  # uproot has no common class of errors
        raise_of_source(error)
        return False


def failing(leaves: list[Leaf], begin: int, end: int) -> Unreadable | None:
    """The branch of which uproot cannot read some entries."""
    for leaf in leaves:
        why = _refusal(leaf, begin, end)
        if why:
            return Unreadable(leaf.path, type_name_of(leaf.branch), why)
    return None


def _refusal(leaf: Leaf, begin: int, end: int) -> str:
    """Why uproot cannot make an array of some entries."""
    try:
        found = array_of(leaf, begin, end)
        count = len(leaf.entries(ak.to_layout(found), begin, end))
    except Exception as error:  # uproot has no common class of errors
        raise_of_source(error)
        return NOTHING_STORED if is_empty(leaf.branch) else short_reason(error)
    if count == end - begin:
        return ""
    return NOTHING_STORED if is_empty(leaf.branch) else f"it has {count} of the entries {begin} to {end}"
