"""Random types read as other random types, nested to any depth, against a model of docs/schema-evolution.md."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from programs import convert, write
from root_bridge import Variant
from root_write import Field, agrees
from values import INTEGERS, arguments, as_float32, generate, random_type

NUMBERS = {**INTEGERS, "bool": (1, False), "char": (8, True)}
REALS = ("float", "double", "Double32_t")
SEQUENCES = ("std::vector", "ROOT::VecOps::RVec")
SETS, MULTISETS = ("std::set", "std::unordered_set"), ("std::multiset", "std::unordered_multiset")
MAPS, MULTIMAPS = ("std::map", "std::unordered_map"), ("std::multimap", "std::unordered_multimap")
COLLECTIONS = SEQUENCES + SETS + MULTISETS + MAPS + MULTIMAPS
NULLABLES = ("std::optional", "std::unique_ptr")
PRODUCTS = ("std::pair", "std::tuple")
CARDINALITIES = ("ROOT::RNTupleCardinality<std::uint32_t>", "ROOT::RNTupleCardinality<std::uint64_t>")
KEYS = (*INTEGERS, "float", "double", "std::string")

Conversion = Callable[[Any], Any]


class Refused(Exception):
    """The types do not fit."""


class Unfit(Exception):
    """The value does not fit the type."""


def kind_of(type_name: str) -> str:
    return type_name.split("<", 1)[0]


def bare(type_name: str) -> str:
    """Without std::atomic."""
    while kind_of(type_name) == "std::atomic":
        type_name = arguments(type_name)[0]
    return type_name


def item_of(type_name: str) -> str:
    parts = arguments(type_name)
    return f"std::pair<{parts[0]},{parts[1]}>" if kind_of(type_name) in MAPS + MULTIMAPS else parts[0]


# ---- The model


def conversion(stored: str, wanted: str) -> Conversion:
    """What a value of the stored type is as one of the wanted type."""
    stored, wanted = bare(stored), bare(wanted)
    kind = kind_of(wanted)
    if kind in NULLABLES:
        return to_nullable(stored, arguments(wanted)[0])
    if wanted in CARDINALITIES:
        return to_count(kind_of(stored))
    if kind in NUMBERS:
        return same(
            to_integer(*NUMBERS[kind]) if kind != "bool" else lambda value: int(value != 0), stored in NUMBERS
        )
    if kind in REALS:
        return same(to_float if kind == "float" else float, stored in REALS)
    if kind in PRODUCTS:
        items = conversions(stored, wanted, kind_of(stored) in PRODUCTS)
        return lambda value: [convert_item(item) for convert_item, item in zip(items, value, strict=True)]
    if kind == "std::variant":
        items = conversions(stored, wanted, kind_of(stored) == kind)
        return lambda value: Variant(value.tag, items[value.tag - 1](value.value))
    if kind == "std::array" or kind in COLLECTIONS:
        return to_items(stored, wanted)
    return same(lambda value: value, stored == wanted)  # text, std::byte, bits


def same(convert_value: Conversion, fits: bool) -> Conversion:
    if not fits:
        raise Refused
    return convert_value


def conversions(stored: str, wanted: str, fits: bool) -> list[Conversion]:
    if not fits or len(arguments(stored)) != len(arguments(wanted)):
        raise Refused
    return [conversion(*pair) for pair in zip(arguments(stored), arguments(wanted), strict=True)]


def to_integer(bits: int, is_signed: bool) -> Conversion:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)

    def checked(value: int) -> int:
        if not low <= value <= high:
            raise Unfit
        return value

    return checked


def to_count(stored: str) -> Conversion:
    return same(
        lambda value: int(value is not None) if stored in NULLABLES else len(value),
        stored in COLLECTIONS + NULLABLES,
    )


def to_float(value: float) -> float:
    if math.isinf(value):
        return value
    try:
        return as_float32(value)
    except OverflowError:
        raise Unfit from None


def to_nullable(stored: str, wanted: str) -> Conversion:
    if kind_of(stored) not in NULLABLES:
        return conversion(stored, wanted)
    item = arguments(stored)[0]
    try:
        of_item = conversion(item, wanted)
    except Refused:
        listed = ("std::array", "std::bitset", *COLLECTIONS, *NULLABLES)
        if kind_of(bare(wanted)) not in COLLECTIONS or kind_of(bare(item)) in listed:
            raise
        return conversion(stored, wanted)  # a list of 0 or 1 items, which is always there
    return lambda value: None if value is None else of_item(value)


def to_items(stored: str, wanted: str) -> Conversion:
    of, to = kind_of(stored), kind_of(wanted)
    if of not in (*COLLECTIONS, "std::array", *NULLABLES):
        raise Refused
    item = item_of(stored)
    fits = (
        to in SEQUENCES + MULTISETS
        or (to in SETS and of in SETS + MAPS)
        or (to in MAPS and of in MAPS)
        or (to in MULTIMAPS and kind_of(bare(item)) in PRODUCTS)
        or (to == "std::array" == of and arguments(stored)[1] == arguments(wanted)[1])
    )
    of_item = same(conversion(item, item_of(wanted)), fits)

    def converted(value: Any) -> list[Any]:
        if of in NULLABLES:
            value = [] if value is None else [value]
        return [of_item(item) for item in value]

    return converted


# ---- Random requests


def request(stored: str, rng: random.Random, *, is_key: bool = False) -> str:
    """A type as which the stored one can be read, usually."""
    kind, chance = kind_of(stored), rng.random()
    if is_key:
        return rng.choice(list(INTEGERS)) if kind in NUMBERS else stored
    if chance < 0.04:
        return random_type(rng, rng.randint(0, 2), False)
    if chance < 0.14:
        return f"{rng.choice(NULLABLES)}<{request(stored, rng)}>"
    if kind in NUMBERS:
        return rng.choice([stored, rng.choice(list(NUMBERS))])
    if kind in REALS:
        return rng.choice(REALS)
    if kind in ("std::pair", "std::tuple", "std::variant"):
        parts = [request(part, rng) for part in arguments(stored)]
        if len(parts) == 2 and kind in PRODUCTS:
            kind = rng.choice(PRODUCTS)
        return f"{kind}<{','.join(parts if kind in PRODUCTS else dict.fromkeys(parts))}>"
    if kind == "std::atomic":
        return rng.choice([stored, request(arguments(stored)[0], rng)])
    if kind in NULLABLES or kind == "std::array" or kind in COLLECTIONS:
        return rng.choice(collections_for(stored, rng))
    return stored


def collections_for(stored: str, rng: random.Random) -> list[str]:
    kind, item = kind_of(stored), item_of(stored)
    wanted = request(item, rng)
    choices = [f"{each}<{wanted}>" for each in SEQUENCES]
    if kind in NULLABLES:
        return [
            *choices,
            *[f"{each}<{wanted}>" for each in NULLABLES] * 2,
            f"std::optional<std::vector<{wanted}>>",
        ]
    if kind == "std::array":
        return [*choices, f"std::array<{wanted},{arguments(stored)[1]}>"]
    choices.append(rng.choice(CARDINALITIES))
    if kind_of(item) == "std::pair" and kind_of(arguments(item)[0]) in KEYS:
        parts = f"{request(arguments(item)[0], rng, is_key=True)},{request(arguments(item)[1], rng)}"
        choices += [f"{each}<{parts}>" for each in (MAPS if kind in MAPS else MULTIMAPS)] * 2
    if item in KEYS:
        key = request(item, rng, is_key=True)
        choices += [f"{each}<{key}>" for each in (SETS + MULTISETS if kind in SETS else MULTISETS)]
    return choices


@pytest.mark.parametrize("seed", range(30))
def test_values_are_read_as_other_types_or_refused(tmp_path, seed):
    rng = random.Random(seed)
    entries = rng.choice([1, 3, 6])
    types = [random_type(rng, rng.randint(1, 3), False) for _ in range(10)]
    fields = [
        Field(f"f{number}", name, [generate(name, rng) for _ in range(entries)])
        for number, name in enumerate(types)
    ]
    # A number that does not fit hides its neighbours in the page: each entry has pages of its own.
    write(tmp_path / "f.root", "Data", fields, clusters=range(1, entries + 1))
    wanted = [(field, request(field.type, rng)) for field in fields for _ in range(6)]
    answers = convert(tmp_path / "f.root", "Data", [(field.name, name) for field, name in wanted])
    for (field, name), answer in zip(wanted, answers, strict=True):
        case = f"{field.type} as {name}"
        try:
            convert_value = conversion(field.type, name)
        except Refused:
            assert "refused" in answer, case
            continue
        assert isinstance(answer, list), (case, answer)
        is_unordered = any(kind in case for kind in ("set", "map"))
        for value, read in zip(field.values, answer, strict=True):
            try:
                expected = convert_value(value)
            except Unfit:
                assert read == {"error": True}, (case, value)
            else:
                assert agrees(expected, read, is_unordered), (case, value)
