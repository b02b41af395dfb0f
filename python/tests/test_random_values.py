"""Python values of random types come back, however they are given: one by one, as columns or as rows; in lists, other
containers, or iterators, which give their items once.
"""

from __future__ import annotations

import random
import re
from collections import UserList, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from root_values import same

import colonnade

SCALARS = ("std::int64_t", "std::uint64_t", "double", "bool", "std::string")


@dataclass(frozen=True)
class Type:
    """A C++ type, a value of it, and what a reader makes of a value."""

    name: str
    make: Callable[[], Any]
    read: Callable[[Any], Any] = lambda value: value


class Types:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def of(self, depth: int) -> Type:
        makers = [self.scalar, self.vector, self.array, self.optional, self.pair, self.map, self.variant]
        return self.dice.choice(makers if depth else makers[:1])(depth - 1)

    def scalar(self, _: int) -> Type:
        numbers = [0, 7, 2**31, 2**62]
        values: dict[str, list[Any]] = {
            "std::int64_t": [*numbers, -1],
            "std::uint64_t": [*numbers, 2**64 - 1],
            "double": [0.0, 0.5, -1e300],
            "bool": [True, False],
            "std::string": ["", "é", "two words"],
        }
        name = self.dice.choice(SCALARS)
        return Type(name, lambda: self.dice.choice(values[name]))

    def vector(self, depth: int) -> Type:
        item = self.of(depth)
        return Type(
            f"std::vector<{item.name}>",
            lambda: [item.make() for _ in range(self.dice.randrange(4))],
            lambda value: [item.read(each) for each in value],
        )

    def array(self, depth: int) -> Type:
        item = self.of(depth)
        return Type(
            f"std::array<{item.name},2>",
            lambda: [item.make(), item.make()],
            lambda value: [item.read(each) for each in value],
        )

    def optional(self, depth: int) -> Type:
        item = self.of(depth)
        return Type(
            f"std::optional<{item.name}>",
            lambda: None if self.dice.random() < 0.3 else item.make(),
            lambda value: None if value is None else item.read(value),
        )

    def pair(self, depth: int) -> Type:
        first, second = self.of(depth), self.of(depth)
        return Type(
            f"std::pair<{first.name},{second.name}>",
            lambda: (first.make(), second.make()),
            lambda value: (first.read(value[0]), second.read(value[1])),
        )

    def map(self, depth: int) -> Type:
        key = self.dice.choice([Type("std::string", lambda: ""), Type("std::int64_t", lambda: 0)])
        value = self.of(depth)
        kind = self.dice.choice(["map", "unordered_map"])
        keys: list[Any] = ["a", "b", "c"] if key.name == "std::string" else [1, 2, 3]
        return Type(
            f"std::{kind}<{key.name},{value.name}>",
            lambda: {each: value.make() for each in keys[: self.dice.randrange(4)]},
            lambda given: [(each, value.read(item)) for each, item in given.items()],
        )

    def variant(self, _: int) -> Type:
        """Of types of which no value is one of the other."""
        text, number = Type("std::string", lambda: self.dice.choice(["", "é"])), self.number()
        kinds = self.dice.choice(
            [[text, number], [self.many(text), number], [self.many(text), self.many(number)]]
        )
        self.dice.shuffle(kinds)
        return Type(
            f"std::variant<{','.join(kind.name for kind in kinds)}>",
            lambda: self.dice.choice(kinds).make(),
        )

    def number(self) -> Type:
        return Type("std::int64_t", lambda: self.dice.choice([0, -5, 2**62]))

    def many(self, item: Type) -> Type:
        return Type(
            f"std::vector<{item.name}>", lambda: [item.make() for _ in range(self.dice.randint(1, 3))]
        )

    def wrapped(self, value: Any) -> Any:
        """A value with some of its lists in other containers, or as iterators."""
        if isinstance(value, dict):
            return {key: self.wrapped(item) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(map(self.wrapped, value))
        if not isinstance(value, list):
            return value
        items = [self.wrapped(item) for item in value]
        makers: list[Callable[[list[Any]], Any]] = [
            iter,
            deque,
            UserList,
            lambda given: (each for each in given),
        ]
        return self.dice.choice(makers)(items) if self.dice.random() < 0.5 else items


def as_rows(name: str, values: list[Any]) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


def one_by_one(writer: Any, values: list[Any]) -> None:
    for value in values:
        writer.fill(x=value)


WAYS: dict[str, Callable[[Any, list[Any]], None]] = {
    "one by one": one_by_one,
    "a column": lambda writer, values: writer.extend({"x": values}),
    "a tuple": lambda writer, values: writer.extend({"x": tuple(values)}),
    "rows": lambda writer, values: writer.extend(as_rows("x", values)),
}


@pytest.mark.parametrize("seed", range(4))
def test_values_come_back(seed: int) -> None:
    types = Types(seed)
    for _ in range(30):
        kind = types.of(3)
        values = [kind.make() for _ in range(types.dice.choice([1, 3, 6]))]
        expected = [kind.read(value) for value in values]
        for name, give in WAYS.items():
            place = "memory+obj:values"
            with colonnade.create(place, "Events", {"x": kind.name}) as writer:
                give(writer, [types.wrapped(value) for value in values])
            with colonnade.open(place, "Events") as data:
                assert same(data["x"].to_list(), expected), (kind.name, name)


class LooseTypes(Types):
    """Types that have no name: the values decide."""

    def of(self, depth: int) -> Type:
        makers = [self.scalar, self.vector, self.optional, self.pair, self.record, self.any]
        return self.dice.choice(makers if depth else makers[:1])(depth - 1)

    def record(self, depth: int) -> Type:
        members = {name: self.of(depth) for name in "abc"[: self.dice.randint(1, 3)]}
        return Type("", lambda: {name: member.make() for name, member in members.items()})

    def any(self, depth: int) -> Type:
        kinds = [self.of(depth), self.of(depth)]
        return Type("", lambda: self.dice.choice(kinds).make())


def plain(value: Any) -> Any:
    """A value as one of an inferred type: numbers beside others of another kind change theirs, tuples with records are
    records, and these may lack members.
    """
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, tuple):
        return plain({f"_{k}": item for k, item in enumerate(value)})
    return float(value) if type(value) is int else value


@pytest.mark.parametrize("seed", range(6))
def test_values_decide_the_type_of_a_field(seed: int) -> None:
    types = LooseTypes(seed)
    written = 0
    for _ in range(30):
        kind = types.of(3)
        values = [kind.make() for _ in range(types.dice.choice([1, 3, 6]))]
        place = "memory+obj:values"
        give = WAYS[types.dice.choice(["a column", "a tuple", "rows"])]
        try:
            with colonnade.create(place, "Events") as writer:
                give(writer, [types.wrapped(value) for value in values])
        except (colonnade.SchemaError, colonnade.ConversionError, colonnade.TypeMismatchError) as error:
            known = "type is unknown|cannot be a record|is rounded beside|fit into no type|members? .* (is|are) missing"
            if not re.search(known, str(error)):
                raise
            continue
        with colonnade.open(place, "Events") as data:
            assert same(plain(data["x"].to_list()), plain(values)), values
        written += 1
    assert written > 5


def test_truth_values_stay_what_they_are_beside_large_integers(tmp_path: Any) -> None:
    values = [True, 2**64 - 1, None, "a", [2**63], False, 1]
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": values})
    assert same(colonnade.open(tmp_path / "f.root")["x"].to_list(), values)


def test_iterators_decide_the_type_of_a_field(tmp_path: Any) -> None:
    """The first entry is read twice: for the schema, and for its values."""
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.fill(x=iter([1, 2]), y=[iter(["a"])])
        writer.fill(x=iter([3]), y=[iter([])])
    found = colonnade.open(tmp_path / "f.root").arrays().to_list()
    assert found == [{"x": [1, 2], "y": [["a"]]}, {"x": [3], "y": [[]]}]


def test_iterators_beside_integers_that_awkward_does_not_take(tmp_path: Any) -> None:
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": [{"a": iter([1, 2]), "b": 2**64 - 1}, {"a": iter([3]), "b": 0}]})
    found = colonnade.open(tmp_path / "f.root")["x"].to_list()
    assert found == [{"a": [1, 2], "b": 2**64 - 1}, {"a": [3], "b": 0}]
