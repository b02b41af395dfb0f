"""Loads ROOT once and gives the tools of this folder what they share: dictionaries made on the fly, token streams."""

from __future__ import annotations

import struct
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CLASSES = HERE.parent.parent / "fixtures" / "fixture_classes.h"

SET_KINDS = ("std::set", "std::unordered_set", "std::multiset", "std::unordered_multiset")
MAP_KINDS = ("std::map", "std::unordered_map", "std::multimap", "std::unordered_multimap")


@lru_cache(maxsize=1)
def load() -> Any:
    """Import ROOT and compile the bridge and the fixture classes in its interpreter. Returns the ROOT module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ROOT

        ROOT.gROOT.SetBatch(True)
        if not ROOT.gInterpreter.Declare(f'#include "{HERE / "root_bridge.h"}"'):
            raise RuntimeError("root_bridge.h does not compile in ROOT's interpreter")
        ROOT.colonnade_test.throw_on_fatal()
        if CLASSES.exists() and not ROOT.gInterpreter.Declare(f'#include "{CLASSES}"'):
            raise RuntimeError(f"{CLASSES} does not compile in ROOT's interpreter")
    return ROOT


def closing(type_name: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes."""
    depth = 0
    for at in range(opening, len(type_name)):
        depth += {"<": 1, ">": -1}.get(type_name[at], 0)
        if depth == 0:
            return at
    raise ValueError(f"unbalanced brackets in {type_name}")


def _collections_in(type_name: str) -> list[str]:
    """All set and map types inside a type name, innermost first."""
    found = []
    for kind in SET_KINDS + MAP_KINDS:
        start = type_name.find(kind + "<")
        while start >= 0:
            found.append(type_name[start : closing(type_name, start + len(kind)) + 1])
            start = type_name.find(kind + "<", start + 1)
    return sorted(set(found), key=len)


_made: set[str] = set()


def _normalized(type_name: str) -> str:
    """The spelling under which ROOT keeps the class of a type."""
    result = load().std.string()
    load().TClassEdit.GetNormalizedName(result, type_name)
    return str(result)


def _ensure_collection(type_name: str) -> None:
    # A proxy copies elements: none can be made for elements that cannot be copied.
    if type_name in _made or "std::atomic<" in type_name or "std::unique_ptr<" in type_name:
        return
    ROOT = load()
    is_map = type_name.split("<", 1)[0] in MAP_KINDS
    if is_map:
        # ROOT wants to know the pair before the map; otherwise it looks for it while the map is half made.
        ROOT.TClass.GetClass("std::pair<" + type_name.split("<", 1)[1])
    code = (
        f"namespace colonnade_test {{ inline void adopt_{len(_made)}() {{ CollectionDictionary<{type_name}>::"
        f"adopt<::ROOT::Detail::TCollectionProxyInfo::{'MapInsert' if is_map else 'Insert'}>"
        f'("{_normalized(type_name)}"); }} }}'
    )
    if not ROOT.gInterpreter.Declare(code):
        raise RuntimeError(f"cannot make a dictionary for {type_name}")
    getattr(ROOT.colonnade_test, f"adopt_{len(_made)}")()
    _made.add(type_name)


def ensure_dictionaries(type_names: list[str]) -> None:
    """Make every set and map named in the given types readable and writable for ROOT."""
    for type_name in type_names:
        for collection in _collections_in(type_name):
            _ensure_collection(collection)


class Variant:
    """A value of a variant: the 1-based tag and the value; tag 0 is the variant without a value."""

    def __init__(self, tag: int, value: Any = None):
        self.tag = tag
        self.value = value


def tokens(value: Any) -> bytes:
    """The byte stream for one value; see TokenReader in root_bridge.h."""
    if value is None:
        return b"n"
    if isinstance(value, Variant):
        return b"v" + struct.pack("<Q", value.tag) + (tokens(value.value) if value.tag else b"")
    if isinstance(value, (bool, int)):
        return b"i" + struct.pack("<Q", int(value) & 0xFFFFFFFFFFFFFFFF)
    if isinstance(value, float):
        return b"d" + struct.pack("<d", value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return b"s" + struct.pack("<Q", len(value)) + value
    if isinstance(value, dict):
        value = list(value.values())
    return b"l" + struct.pack("<Q", len(value)) + b"".join(tokens(item) for item in value)
