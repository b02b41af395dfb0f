"""Containers of C++ that uproot does not know, and ROOT stores like others that it does."""

from __future__ import annotations

import re
from typing import Any

from .leaf_lists import leaf_list_of

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
_INT = 3
"""ROOT's number of the type int."""
_ENUMS = re.compile(r"<[^<>,]*>$")
_UNKNOWN = re.compile(rf"\b({'|'.join(_LIKE)})(?=\s*<)")


def interpretation_of(branch: Any) -> Any:
    """Return uproot's interpretation of a branch, also of what uproot (up to 5.7) does not know."""
    rows = leaf_list_of(branch)
    if rows is not None:
        return rows
    found = branch.interpretation
    if type(found).__name__ == "AsStrings" and _is_text_of_items(branch):
        return _lists_of_texts(branch)
    if "Unknown_" not in repr(found) or branch.branches or getattr(branch.streamer, "array_length", 0):
        return found
    is_top = branch.top_level and branch.has_member("fClassName")
    name = str(branch.member("fClassName") if is_top else getattr(branch.streamer, "typename", ""))
    like = _UNKNOWN.sub(lambda kind: _LIKE[kind[1]], _ENUMS.sub("<int>", name) if _has_ints(branch) else name)
    if like == name or name.endswith("*"):
        return found
    from uproot.containers import AsArray
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    is_in_list = not is_top and branch.count_leaf is not None
    model = parse_typename(like, file=branch.file, outer_header=not is_in_list, string_header=not is_top)
    return AsObjects(AsArray(True, False, model, ()) if is_in_list else model, branch).simplify()


def _has_ints(branch: Any) -> bool:
    """True for a container that ROOT stores as one of int, as it does with those of an enum of that size."""
    streamer = branch.streamer
    return streamer is not None and streamer.member("fCtype", none_if_missing=True) == _INT


def _is_text_of_items(branch: Any) -> bool:
    """True for a member `TString x` of the items of a split collection, which uproot takes for one text."""
    streamer = branch.streamer
    is_text = getattr(streamer, "typename", "") == "TString" and getattr(streamer, "array_length", 0) == 0
    return is_text and branch.count_leaf is not None


def _lists_of_texts(branch: Any) -> Any:
    from uproot.containers import AsArray, AsString
    from uproot.interpretation.objects import AsObjects

    return AsObjects(AsArray(False, False, AsString(False), ()), branch)
