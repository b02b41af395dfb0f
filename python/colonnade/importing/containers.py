"""Containers of C++ that uproot does not know, and ROOT stores like others that it does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .leaf_lists import leaf_list_of
from .member_by_member import class_of_clones
from .reduced_precision import reduced_numbers_of

__all__ = [
    "base_class_of",
    "check_counts",
    "entry_offsets",
    "interpretation_of",
    "is_empty_base_class",
    "like_known",
    "size_of_enum",
]

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
_NUMBERS = ("int", "char", "short", "long long")
"""What an enum may be stored as."""
_LIST_HEADER = 10
"""The bytes before the items of a list: a header, and their number."""
_UNKNOWN = re.compile(rf"\b({'|'.join(_LIKE)})(?=\s*<)")


def like_known(name: str) -> str:
    """Return the type that uproot knows for one that it does not, and ROOT stores in the same way."""
    return _UNKNOWN.sub(lambda kind: _LIKE[kind[1]], name)


def interpretation_of(branch: Any) -> Any:
    """Return uproot's interpretation of a branch, also of what uproot (up to 5.7) does not know."""
    if not hasattr(branch, "found_interpretation"):
        branch.found_interpretation = _find_interpretation(branch)
    return branch.found_interpretation


def _find_interpretation(branch: Any) -> Any:
    rows = leaf_list_of(branch)
    if rows is not None:
        return rows
    if branch.has_member("fStreamerType") and not branch.branches:
        from .counted_arrays import counted_arrays_of
        from .references import references_of

        known = references_of(branch) or counted_arrays_of(branch)
        if known is not None:
            return known
    known = reduced_numbers_of(branch) or _whole_base_class(branch)
    if known is not None:
        return known
    found = branch.interpretation
    is_top = branch.top_level and branch.has_member("fClassName")
    name = str(branch.member("fClassName") if is_top else getattr(branch.streamer, "typename", ""))
    if name in ("TClonesArray", "TClonesArray*") and not branch.branches:
        return _clones(branch) or found
    if type(found).__name__ == "AsStrings" and _is_text_of_items(branch):
        return _lists_of_texts(branch)
    if "Unknown_" not in repr(found) or branch.branches or getattr(branch.streamer, "array_length", 0):
        return found
    like = like_known(name)
    if name.endswith("*"):
        return found
    if like == name:
        return (_numbers_of_enum(branch, name) if is_top else None) or found
    from uproot.containers import AsArray
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    is_in_list = not is_top and branch.count_leaf is not None
    model = parse_typename(like, file=branch.file, outer_header=not is_in_list, string_header=not is_top)
    return AsObjects(AsArray(True, False, model, ()) if is_in_list else model, branch).simplify()


def _numbers_of_enum(branch: Any, name: str) -> Any | None:
    """The values of an enum in a list: of what size they are, only the lists tell; it is `int` if all are empty.

    Whether they have a sign is told by nothing.
    """
    kind = re.fullmatch(
        r"(?:std::)?(vector|list|deque|set|multiset|unordered_set|unordered_multiset)<([\w:]+)>", name
    )
    if kind is None or kind[2] in branch.file.streamers:
        return None
    made = (_with_numbers(branch, f"{_LIKE.get(kind[1], kind[1])}<{number}>") for number in _NUMBERS)
    return next((each for each in made if _fits(branch, each)), None)


def _with_numbers(branch: Any, name: str) -> Any:
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    found = AsObjects(parse_typename(name, file=branch.file, outer_header=True, string_header=False), branch)
    found = found.simplify()
    found.is_of_enum = True
    return found


def size_of_enum(interpretation: Any) -> int:
    """The bytes of a value."""
    content = getattr(interpretation, "content", None)
    number = interpretation.model._items if content is None else content.from_dtype
    return int(number.itemsize)


def _fits(branch: Any, interpretation: Any) -> bool:
    for number in range(branch.num_baskets):
        basket = branch.basket(number)
        try:
            byte_offsets = entry_offsets(basket.byte_offsets, basket)
            check_counts(basket.data, byte_offsets, size_of_enum(interpretation))
        except ValueError:
            return False
        if np.any(np.diff(byte_offsets) > _LIST_HEADER):
            break
    return True


def check_counts(data: Any, byte_offsets: Any, size: int) -> None:
    """Refuse lists whose items do not have that many bytes."""
    begins, sizes = np.asarray(byte_offsets[:-1], np.int64), np.diff(byte_offsets)
    if np.any(sizes < _LIST_HEADER):
        raise ValueError("an entry ends within the header of a list")
    places = begins[:, np.newaxis] + np.arange(_LIST_HEADER - 4, _LIST_HEADER)
    counts = data[places].view(">u4").ravel().astype(np.int64)
    if np.any(counts * size + _LIST_HEADER != sizes):
        raise ValueError(f"an entry has items of an enum that do not have {size} bytes each")


def entry_offsets(found: Any, basket: Any) -> Any:
    """Where entries begin in a basket, of which ROOT's TIOFeatures `kGenerateOffsetMap` may store the sizes instead.

    uproot (up to 5.7) takes these for offsets, which count from the beginning of the basket's key.
    """
    if found is None:
        return found
    key = int(basket.member("fKeylen"))
    if len(found) != basket.num_entries + 1:  # of a damaged one, perhaps hundreds of millions
        raise ValueError(f"a basket has {len(found)} offsets for {basket.num_entries} entries")
    if found[0] == -key:
        found = np.append(np.cumsum(found[:-1] + key), found[-1]).astype(found.dtype)
    if found[0] < 0 or np.any(np.diff(found) < 0):
        raise ValueError("the offsets of a basket are not in order")
    return found


def _clones(branch: Any) -> Any | None:
    """Objects in a TClonesArray that is not split: their class is told with the values."""
    from uproot.containers import AsVector
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

    if not branch.num_entries:
        return None
    basket = branch.basket(0)
    bounds = entry_offsets(basket.byte_offsets, basket)
    name = class_of_clones(basket.data[bounds[0] : bounds[1]].tobytes())[0]
    found = AsObjects(AsVector(True, parse_typename(name, file=branch.file)), branch)
    found.is_of_clones = True
    return found


def base_class_of(branch: Any) -> str:
    """Return the name of the base class whose members a branch has, in an object that is split; empty if none."""
    return "" if branch.count_leaf is not None else _base_class(branch)


def is_empty_base_class(branch: Any) -> bool:
    """True for a base class without members, of an object or of the items of a list."""
    versions = branch.file.streamers.get(_base_class(branch), {})
    return bool(versions) and not any(streamer.elements for streamer in versions.values())


def _base_class(branch: Any) -> str:
    number = branch.member("fID", none_if_missing=True)
    if number is None or number < 0 or branch.streamer is not None:
        return ""
    versions = branch.file.streamers.get(str(branch.member("fClassName")), {})
    known = versions.get(branch.member("fClassVersion"))
    if known is None or number >= len(known.elements) or known.elements[number].typename != "BASE":
        return ""
    return str(known.elements[number].name)


def _whole_base_class(branch: Any) -> Any | None:
    """The members of a base class in an object that is split, but not its base classes."""
    if branch.branches or branch.member("fType", none_if_missing=True) != 0:
        return None
    name = base_class_of(branch)
    if name not in branch.file.streamers:
        return None
    from uproot.interpretation.identify import parse_typename
    from uproot.interpretation.objects import AsObjects

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
