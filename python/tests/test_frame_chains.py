"""Data frames over random chains, whose files differ in types, columns and names: against lists of Python."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame


class Kind(NamedTuple):
    """A type that a file may have, its random values, and how they read where the column has another type."""

    spec: Any
    make: Any
    listed: bool = False
    """A value and none are lists of one item and none where other files have lists."""


def number(rng):
    return rng.randint(-50, 49)


def positive(rng):
    return rng.randint(0, 49)


def real(rng):
    return rng.choice([0.5, -2.25, 1e3])


def text(rng):
    return rng.choice(["", "a", "naïve"])


def lists(make, least=0, most=3):
    return lambda rng: [make(rng) for _ in range(rng.randint(least, most))]


def optional(make):
    return lambda rng: None if rng.random() < 0.4 else make(rng)


def record(**members):
    return lambda rng: {name: make(rng) for name, make in members.items()}


INT = Kind("std::int32_t", number)
LONG = Kind("std::int64_t", number)
COLUMNS = {
    "numbers": [INT, LONG, Kind("std::int8_t", number), Kind("std::uint16_t", positive)],
    "reals": [Kind("float", real), Kind("double", real)],
    "texts": [Kind("std::string", text), Kind("std::optional<std::string>", optional(text))],
    "optionals": [
        INT,
        Kind("std::optional<std::int64_t>", optional(number)),
        Kind("std::unique_ptr<std::int32_t>", optional(number)),
    ],
    "lists": [
        Kind("std::vector<std::int32_t>", lists(number)),
        Kind("std::array<std::int64_t,2>", lists(number, 2, 2)),
        Kind("std::vector<std::optional<std::int32_t>>", lists(optional(number))),
    ],
    "optional lists": [
        Kind("std::vector<float>", lists(real)),
        Kind("std::optional<std::vector<double>>", optional(lists(real))),
        Kind("std::optional<std::vector<std::optional<float>>>", optional(lists(optional(real)))),
    ],
    "lists of lists": [
        Kind("std::vector<std::vector<std::int32_t>>", lists(lists(number))),
        Kind("std::vector<std::optional<std::vector<std::int64_t>>>", lists(optional(lists(number)))),
    ],
    "lists and optionals": [
        Kind("std::vector<std::int64_t>", lists(number)),
        Kind("std::optional<std::int32_t>", optional(number), listed=True),
    ],
    "variants": [
        Kind("std::variant<std::int32_t,std::string>", lambda rng: rng.choice([number, text])(rng)),
        Kind("std::variant<std::int64_t,std::string>", lambda rng: rng.choice([number, text])(rng)),
        Kind(
            "std::variant<std::int8_t,std::optional<std::string>>",
            lambda rng: rng.choice([number, text])(rng),
        ),
    ],
    "pairs": [
        Kind("std::pair<std::int32_t,float>", lambda rng: (number(rng), real(rng))),
        Kind("std::pair<std::int64_t,std::optional<double>>", lambda rng: (number(rng), optional(real)(rng))),
    ],
    "records": [
        Kind({"a": "std::int32_t", "b": "std::vector<float>"}, record(a=number, b=lists(real))),
        Kind(
            {"b": "std::vector<double>", "a": "std::optional<std::int64_t>"},
            record(b=lists(real), a=optional(number)),
        ),
    ],
}


class Chain(NamedTuple):
    files: list[tuple[str, str]]
    columns: dict[str, list[Any]]
    """The values of each column; `ABSENT` in the files that lack it."""
    kinds: dict[str, str]


ABSENT = object()


def make_chain(folder, seed):
    rng = random.Random(seed)
    kinds = {f"c{i}": rng.choice(sorted(COLUMNS)) for i in range(rng.randint(1, 4))}
    count = rng.randint(1, 4)
    chosen = {
        column: [None if rng.random() < 0.15 else rng.choice(COLUMNS[kind]) for _ in range(count)]
        for column, kind in kinds.items()
    }
    for kinds_of_files in chosen.values():
        kinds_of_files[0] = kinds_of_files[0] or next((each for each in kinds_of_files if each), None)
    columns: dict[str, list[Any]] = {column: [] for column in kinds}
    files = []
    for number_of_file in range(count):
        path, name = folder / f"{seed}-{number_of_file}.root", rng.choice(["Events", "dir/Others", "Runs"])
        schema = {"id": "std::int32_t"} | {
            column: each[number_of_file].spec for column, each in chosen.items() if each[number_of_file]
        }
        with colonnade.create(path, name, schema, compression="none") as writer:
            for entry in range(rng.randint(0, 6)):
                if rng.random() < 0.2:
                    writer.commit_cluster()
                values = {c: chosen[c][number_of_file].make(rng) for c in schema if c != "id"}
                writer.fill(id=entry, **values)
                for column, all_kinds in chosen.items():
                    value = values.get(column, ABSENT)
                    own = all_kinds[number_of_file]
                    if own and own.listed and not all(each is None or each.listed for each in all_kinds):
                        value = [] if value is None else [value]
                    columns[column].append(value)
        files.append((str(path), name))
    known = {column for column, each in chosen.items() if any(each)}
    return Chain(
        files,
        {c: v for c, v in columns.items() if c in known},
        {c: k for c, k in kinds.items() if c in known},
    )


def present(values):
    return [each for each in values if each is not ABSENT]


def same(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    return found == expected and (found is None) == (expected is None)


def taken(df, column):
    return ak.to_list(df.take(column).value)


@pytest.mark.parametrize("seed", range(60))
def test_a_chain_holds_the_values_of_its_files(tmp_path, seed):
    chain = make_chain(tmp_path, seed)
    df = DataFrame("", chain.files)
    opened = colonnade.open(chain.files, missing="fill")
    # No file may have any of the columns.
    assert len({opened.num_entries, df.count().value, *map(len, chain.columns.values())}) == 1
    for column, values in chain.columns.items():
        there = df.filter_available(column)
        assert same(taken(there, column), present(values)), chain.kinds[column]
        if len(present(values)) < len(values):
            with pytest.raises(colonnade.Error, match=f"'{column}' is not in"):
                taken(df, column)
            continue
        assert same(taken(DataFrame(opened), column), values)
        every_second = df.filter("id % 2 == 1")
        odd = [value for value, number in zip(values, taken(df, "id"), strict=True) if number % 2 == 1]
        assert same(taken(every_second, column), odd)
        copy = df.snapshot(tmp_path / "copy.root", "Copy", [column])
        if "records" not in chain.kinds[column]:
            assert same(taken(copy, column), values)
        if chain.kinds[column] in ("numbers", "reals", "optionals"):
            expected, _ = np.histogram([v for v in values if v is not None], 10, (-50, 50))
            assert df.histo1d((10, -50, 50), column).value.values().tolist() == expected.tolist()
