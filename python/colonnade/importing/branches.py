"""What kind of branch of a TTree it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .complaints import raise_of_source
from .containers import base_class_of, interpretation_of

__all__ = [
    "OF_OBJECTS",
    "arrays_by_counter",
    "collection_of",
    "descendants",
    "first_entry",
    "is_array_of_containers",
    "is_array_of_objects",
    "is_empty",
    "is_named_as_leaf",
    "is_reference",
    "is_split_collection",
    "is_tobject",
    "type_name_of",
]

OF_OBJECTS = ("TBranchElement", "TBranchObject")
"""The classes of branches with values of classes."""
_COLLECTIONS = (3, 4)
"""ROOT's types of branches that count the values of their sub-branches: TClonesArray, collections."""


def type_name_of(branch: Any) -> str:
    """The C++ type of a branch's values, as far as uproot knows it."""
    try:
        return str(branch.typename or "")
    except Exception:  # uproot fails on unknown types, and on objects with some members
        return str(branch.member("fClassName", none_if_missing=True) or "unknown")


def is_named_as_leaf(branch: Any) -> bool:
    """Return whether a branch has numbers of its own, not an object of a class."""
    return re.search(r"[<:]|string|String", type_name_of(branch)) is None


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


def is_reference(branch: Any) -> bool:
    """True for a TRef or TRefArray, also in a list, but not for arrays of them."""
    kind = str(getattr(branch.streamer, "typename", ""))
    return kind in ("TRef", "TRefArray") and not getattr(branch.streamer, "array_length", 0)


def is_tobject(branch: Any) -> bool:
    """True for TObject as the base class of an object that is split, but not its base classes: it has no members."""
    return base_class_of(branch) == "TObject"


def is_empty(branch: Any) -> bool:
    """True if the first basket has no bytes. ROOT writes such ones for `std::array` where it does not know it."""
    try:
        return len(branch.basket(0).data) == 0
    except Exception as error:  # uproot has no common class of errors
        raise_of_source(error)
        return False


def first_entry(branch: Any) -> int:
    """Return the first entry of a branch that was added to a tree which had entries."""
    return max(int(branch.member("fFirstEntry", none_if_missing=True) or 0), 0)


def descendants(branch: Any, path: str) -> Iterator[tuple[Any, str]]:
    """Iterate over the branches with values below a branch, each with its path."""
    for sub in branch.branches:
        if sub.branches:
            yield from descendants(sub, f"{path}/{sub.name}")
        else:
            yield sub, f"{path}/{sub.name}"


def is_split_collection(branch: Any) -> bool:
    """True if each sub-branch has one value per item of the branch's collection.

    Sub-branches of an object may be those of collections that it has, each with a counter of its own.
    """
    found = [sub for sub, _ in descendants(branch, "")]
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


def arrays_by_counter(branches: list[Any]) -> dict[str, str]:
    """The name of an array's counter, by name of the array. A counter in a leaf list is not a branch."""
    names = {branch.name for branch in branches if not branch.branches and branch.num_leaves == 1}
    found = {}
    for branch in branches:
        counter = None if branch.branches else branch.count_branch
        if counter is not None and counter is not branch and counter.name in names:
            found[branch.name] = counter.name
    return {name: counter for name, counter in found.items() if counter not in found}
