"""Random values for any RNTuple type name, and random type names: the data of the property-based tests."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import root_bridge
from root_bridge import Variant, closing

INTEGERS = {f"std::{u}int{bits}_t": (bits, not u) for u in ("", "u") for bits in (8, 16, 32, 64)}

# The members of the classes in fixture_classes.h, base classes first, in ROOT's order.
CLASSES: dict[str, list[str]] = {
    "fixture::Point": ["float", "double", "std::int32_t"],
    "fixture::Base": ["std::int32_t", "std::string"],
    "fixture::Middle": ["fixture::Base", "std::vector<float>"],
    "fixture::Other": ["std::int64_t"],
    "fixture::Derived": ["fixture::Middle", "fixture::Other", "double", "fixture::Point"],
    "fixture::Arrays": [
        "std::array<std::int32_t,3>",
        "std::array<std::array<float,3>,2>",
        "std::array<fixture::Point,2>",
    ],
    "fixture::Outer::Inner": ["std::int16_t", "std::vector<std::string>", "fixture::Outer::Inner::Kind"],
    "fixture::Outer": ["fixture::Outer::Inner", "std::vector<fixture::Outer::Inner>"],
    "fixture::Box<std::int32_t>": ["std::int32_t", "std::int32_t"],
    "fixture::Box<std::vector<double>>": ["std::vector<double>", "std::int32_t"],
    "fixture::Grid<float,4>": ["std::array<float,4>"],
    "fixture::Everything": [
        "bool",
        "char",
        "fixture::Scoped",
        "std::string",
        "std::unique_ptr<fixture::Point>",
        "std::variant<std::int32_t,std::string>",
        "std::pair<std::int32_t,float>",
        "std::tuple<std::int8_t,std::string,double>",
        "std::vector<std::vector<fixture::Point>>",
    ],
    "fixture::Empty": [],
    "fixture::Versioned": ["std::int32_t"],
    "fixture::Kept": ["std::int32_t", "std::int32_t"],
}
ENUMS: dict[str, list[int]] = {
    "fixture::Unscoped": [0, 1, 200000, -5],
    "fixture::Scoped": [0, 1, 77],
    "fixture::Tiny": [-128, 0, 127],
    "fixture::TinyUnsigned": [0, 255],
    "fixture::Short": [-32768, 32767],
    "fixture::ShortUnsigned": [0, 65535],
    "fixture::WordUnsigned": [4294967295],
    "fixture::Wide": [-(2**63), 2**63 - 1],
    "fixture::WideUnsigned": [2**64 - 1],
    "fixture::Outer::Inner::Kind": [0, 1],
}
_TEXTS = ["", "a", "muon", "naïve ☢ µ±", 'tab\tnewline\n"quote\\', "x" * 40, "nul\0inside", "日本語", "𝄞"]


def arguments(type_name: str) -> list[str]:
    """The template arguments of a type name."""
    opening = type_name.index("<")
    inner = type_name[opening + 1 : closing(type_name, opening)]
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(inner):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(inner[start:at].strip())
            start = at + 1
    return [*parts, inner[start:].strip()]


def as_float32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _integer(rng: random.Random, bits: int, signed: bool) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    choice = rng.random()
    if choice < 0.2:
        return rng.choice([low, high, 0])
    if choice < 0.6:
        return max(low, min(high, rng.randint(-100, 100)))
    return rng.randint(low, high)


def _real(rng: random.Random, double: bool) -> float:
    choice = rng.random()
    if choice < 0.1:
        return rng.choice([0.0, -0.0, math.inf, -math.inf, 1.0])
    value = rng.gauss(0, 100) if choice < 0.5 else rng.choice([-1, 1]) * 10 ** rng.uniform(-37, 37)
    return value if double else as_float32(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(item) for item in value)
    return value


def _distinct(values: list[Any]) -> list[Any]:
    seen: dict[Any, Any] = {}
    for value in values:
        seen.setdefault(_hashable(value), value)
    return list(seen.values())


def _length(rng: random.Random) -> int:
    return rng.choice([0, 0, 1, 1, 2, 3, 4, 7])


def generate(type_name: str, rng: random.Random) -> Any:
    """A random value as root_bridge.tokens() takes it."""
    if type_name in INTEGERS:
        return _integer(rng, *INTEGERS[type_name])
    if type_name in CLASSES:
        return [generate(member, rng) for member in CLASSES[type_name]]
    if type_name in ENUMS:
        return rng.choice(ENUMS[type_name])
    simple = {
        "bool": lambda: int(rng.random() < 0.5),
        "char": lambda: _integer(rng, 8, True),
        "std::byte": lambda: _integer(rng, 8, False),
        "float": lambda: _real(rng, False),
        "double": lambda: _real(rng, True),
        "Double32_t": lambda: _real(rng, False),
        "std::string": lambda: rng.choice(_TEXTS),
    }
    if type_name in simple:
        return simple[type_name]()
    kind, parts = type_name.split("<", 1)[0], arguments(type_name)
    if kind in ("std::vector", "ROOT::VecOps::RVec"):
        return [generate(parts[0], rng) for _ in range(_length(rng))]
    if kind == "std::array":
        return [generate(parts[0], rng) for _ in range(int(parts[1]))]
    if kind == "std::bitset":
        return [rng.randint(0, 1) for _ in range(int(parts[0]))]
    if kind in root_bridge.SET_KINDS:
        values = [generate(parts[0], rng) for _ in range(_length(rng))]
        return values if "multi" in kind else _distinct(values)
    if kind in root_bridge.MAP_KINDS:
        keys = [generate(parts[0], rng) for _ in range(_length(rng))]
        return [[key, generate(parts[1], rng)] for key in (keys if "multi" in kind else _distinct(keys))]
    if kind in ("std::pair", "std::tuple"):
        return [generate(part, rng) for part in parts]
    if kind in ("std::optional", "std::unique_ptr"):
        return generate(parts[0], rng) if rng.random() < 0.6 else None
    if kind == "std::atomic":
        return generate(parts[0], rng)
    if kind == "std::variant":
        tag = rng.randint(1, len(parts))
        return Variant(tag, generate(parts[tag - 1], rng))
    raise ValueError(f"no generator for {type_name}")


def in_order(type_name: str, value: Any) -> Any:
    """The value with the items of sets and maps in the order in which the C++ containers hold them."""
    kind, parts = type_name.split("<", 1)[0], arguments(type_name) if "<" in type_name else []
    if type_name in CLASSES or not parts or value is None or kind == "std::bitset":
        return value
    if kind in root_bridge.MAP_KINDS:
        value = [[in_order(part, item) for part, item in zip(parts, pair, strict=True)] for pair in value]
        return value if "unordered" in kind else sorted(value, key=lambda pair: pair[0])
    if kind in ("std::pair", "std::tuple"):
        return [in_order(part, item) for part, item in zip(parts, value, strict=True)]
    if kind == "std::variant":
        return Variant(value.tag, in_order(parts[value.tag - 1], value.value)) if value.tag else value
    if kind in ("std::optional", "std::unique_ptr", "std::atomic"):
        return in_order(parts[0], value)
    value = [in_order(parts[0], item) for item in value]
    return sorted(value) if kind in ("std::set", "std::multiset") else value


_LEAVES = [*INTEGERS, "bool", "char", "std::byte", "float", "double", "std::string"]
_KEYS = [*INTEGERS, "std::string"]


def _holds_proxied_variant(type_name: str) -> bool:
    if "<" not in type_name or type_name in CLASSES:
        return False
    kinds = [part.split("<", 1)[0] for part in arguments(type_name)]
    proxied = any(kind in root_bridge.SET_KINDS + root_bridge.MAP_KINDS for kind in kinds)
    return (proxied and type_name.startswith("std::variant<")) or any(
        _holds_proxied_variant(part) for part in arguments(type_name)
    )


def random_type(rng: random.Random, depth: int = 3, classes: bool = True, copyable: bool = False) -> str:
    """A random type name that ROOT can store; `classes` allows those of fixture_classes.h.

    ROOT copies the elements of maps, so atomics and unique pointers are left out below them (`copyable`)."""
    while True:
        type_name = _random_type(rng, depth, classes, copyable)
        # ROOT takes a variant of sets or maps for larger than it is, which overwrites what follows it in a pair.
        in_record = any(kind in type_name for kind in ("std::pair<", "std::tuple<", "map<"))
        if not (in_record and _holds_proxied_variant(type_name)):
            return type_name


def _random_type(rng: random.Random, depth: int, classes: bool, copyable: bool) -> str:
    if depth == 0 or rng.random() < 0.25:
        if classes and rng.random() < 0.15:
            # ROOT misplaces the members of a std::tuple that holds an empty class.
            barred = {"fixture::Empty"} | ({"fixture::Everything"} if copyable else set())
            return rng.choice([*ENUMS, *(name for name in CLASSES if name not in barred)])
        return rng.choice(_LEAVES)

    def inner() -> str:
        return _random_type(rng, depth - 1, classes, copyable)

    kind = rng.choice(
        ["vector"] * 4
        + ["array", "array", "pair", "tuple", "optional", "optional", "unique_ptr"]
        + ["variant", "variant", "set", "map", "map", "bitset", "atomic", "rvec"]
    )
    if copyable and kind in ("atomic", "unique_ptr"):
        kind = "vector"
    if kind == "array":
        return f"std::array<{inner()},{rng.randint(1, 4)}>"
    if kind == "pair":
        return f"std::pair<{inner()},{inner()}>"
    if kind in ("tuple", "variant"):
        parts = _distinct([inner() for _ in range(rng.randint(1, 4))])
        return f"std::{kind}<{','.join(parts)}>"
    if kind == "set":
        return f"{rng.choice(root_bridge.SET_KINDS)}<{rng.choice(_KEYS)}>"
    if kind == "map":
        return f"{rng.choice(root_bridge.MAP_KINDS)}<{rng.choice(_KEYS)},{_random_type(rng, depth - 1, classes, True)}>"
    if kind == "bitset":
        return f"std::bitset<{rng.choice([1, 7, 8, 9, 31, 64, 65, 130])}>"
    if kind == "atomic":
        return f"std::atomic<{rng.choice(_LEAVES[:-1])}>"
    if kind == "rvec":
        return f"ROOT::VecOps::RVec<{inner()}>"
    return f"std::{kind}<{inner()}>"
