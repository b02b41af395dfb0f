"""Containers of C++ that uproot does not know, and ROOT stores like others that it does."""

from __future__ import annotations

import re
from typing import Any

from .leaf_lists import leaf_list_of
from .member_by_member import class_of_clones

__all__ = ["interpretation_of"]

_LIKE = {
    "deque": "vector",
    "forward_list": "vector",
    "multiset": "vector",
    "unordered_set": "vector",
    "unordered_multiset": "vector",
    "multimap": "map",
    "unordered_map": "map",
    "unordered_multimap": "map",
}
"""Sets with equal items, or in no order, are no `std::set` of a field."""
_UNKNOWN = re.compile(rf"\b({'|'.join(_LIKE)})(?=\s*<)")


def interpretation_of(branch: Any) -> Any:
    """Return uproot's interpretation of a branch, also of what uproot (up to 5.7) does not know."""
    rows = leaf_list_of(branch)
    if rows is not None:
        return rows
    base = _base_class_of(branch)
    if base is not None:
        return base
    found = branch.interpretation
    is_top = branch.top_level and branch.has_member("fClassName")
    name = str(branch.member("fClassName") if is_top else getattr(branch.streamer, "typename", ""))
    if name == "TClonesArray" and not branch.branches:
        return _clones(branch) or found
    if type(found).__name__ == "AsStrings" and _is_text_of_items(branch):
        return _lists_of_texts(branch)
    if "Unknown_" not in repr(found) or branch.branches or getattr(branch.streamer, "array_length", 0):
        return found
    like = _UNKNOWN.sub(lambda kind: _LIKE[kind[1]], name)
    if like == name or name.endswith("*"):
        return found
    from uproot.containers import AsArray
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    is_in_list = not is_top and branch.count_leaf is not None
    model = parse_typename(like, file=branch.file, outer_header=not is_in_list, string_header=not is_top)
    return AsObjects(AsArray(True, False, model, ()) if is_in_list else model, branch).simplify()


def _clones(branch: Any) -> Any | None:
    """Objects in a TClonesArray that is not split: their class is told with the values."""
    from uproot.containers import AsVector
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    if not hasattr(branch, "class_of_clones"):
        if not branch.num_entries:
            return None
        basket = branch.basket(0)
        bounds = basket.byte_offsets
        branch.class_of_clones = class_of_clones(basket.data[bounds[0] : bounds[1]].tobytes())[0]
    found = AsObjects(AsVector(True, parse_typename(branch.class_of_clones, file=branch.file)), branch)
    found.is_of_clones = True
    return found


def _base_class_of(branch: Any) -> Any | None:
    """The members of a base class in an object that is split, but not its base classes."""
    number = branch.member("fID", none_if_missing=True)
    is_member = number is not None and number >= 0 and branch.member("fType") == 0
    if not is_member or branch.branches or branch.streamer is not None or branch.count_leaf is not None:
        return None
    versions = branch.file.streamers.get(str(branch.member("fClassName")), {})
    known = versions.get(branch.member("fClassVersion"))
    if known is None or number >= len(known.elements) or known.elements[number].typename != "BASE":
        return None
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    name = str(known.elements[number].name)
    if name not in branch.file.streamers:
        return None
    return AsObjects(parse_typename(name, file=branch.file), branch).simplify()


def _is_text_of_items(branch: Any) -> bool:
    """True for a member `TString x` of the items of a split collection, which uproot takes for one text."""
    streamer = branch.streamer
    is_text = getattr(streamer, "typename", "") == "TString" and getattr(streamer, "array_length", 0) == 0
    return is_text and branch.count_leaf is not None


def _lists_of_texts(branch: Any) -> Any:
    from uproot.containers import AsArray, AsString
    from uproot.interpretation.objects import AsObjects

    return AsObjects(AsArray(False, False, AsString(False), ()), branch)
