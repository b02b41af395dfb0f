"""Random chains whose files differ, with the least and greatest values, NaN, late fields and small pages.

Arrays, steps, texts (which C++'s views read), data frames, friends and joins, with a cache or an engine now and then,
against lists of Python; test_chain.py and test_frame_chains.py have more types and ordinary values.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pytest
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame

Maker = Callable[[random.Random], Any]


class Kind(NamedTuple):
    """A type, its random values, and what it reads as in entries before it came."""

    spec: Any
    make: Maker
    zero: Any


def integer(bits: int, signed: bool) -> Kind:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    values = [low, high, 0, 1, max(low, -1)]
    return Kind(f"std::{'' if signed else 'u'}int{bits}_t", lambda dice: dice.choice(values), 0)


def real(spec: str, values: list[float]) -> Kind:
    return Kind(spec, lambda dice: dice.choice([0.0, -0.0, math.nan, math.inf, *values]), 0.0)


def optional(kind: Kind, template: str = "std::optional") -> Kind:
    return Kind(
        f"{template}<{kind.spec}>", lambda dice: None if dice.random() < 0.4 else kind.make(dice), None
    )


def lists(kind: Kind) -> Kind:
    return Kind(
        f"std::vector<{kind.spec}>", lambda dice: [kind.make(dice) for _ in range(dice.randint(0, 3))], []
    )


def pairs(kind: Kind) -> Kind:
    return Kind(
        f"std::array<{kind.spec},2>", lambda dice: [kind.make(dice), kind.make(dice)], [kind.zero] * 2
    )


def record(**members: Kind) -> Kind:
    return Kind(
        {name: kind.spec for name, kind in members.items()},
        lambda dice: {name: kind.make(dice) for name, kind in members.items()},
        {name: kind.zero for name, kind in members.items()},
    )


def collection(**members: Kind) -> Kind:
    one = record(**members)
    return Kind([one.spec], lambda dice: [one.make(dice) for _ in range(dice.randint(0, 3))], [])


INTEGERS = [integer(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)]
SMALL = [kind for kind in INTEGERS if "64" not in kind.spec]
FLOAT, DOUBLE = real("float", [2.0**-149, 2.0**127]), real("double", [5e-324, 1e308])
TEXT = Kind("std::string", lambda dice: dice.choice(["", "a", "é%", "x" * 50]), "")
COLUMNS: dict[str, list[Kind]] = {
    "integers": INTEGERS,
    "reals": [FLOAT, DOUBLE],
    "texts": [TEXT, optional(TEXT)],
    "optionals": [*SMALL, *map(optional, SMALL), *(optional(kind, "std::unique_ptr") for kind in SMALL)],
    "lists": [*map(lists, SMALL), *map(pairs, SMALL), *(lists(optional(kind)) for kind in SMALL)],
    "lists and optionals": [*map(lists, SMALL), *map(optional, SMALL)],
    "lists of lists": [lists(lists(FLOAT)), lists(optional(lists(DOUBLE))), pairs(lists(DOUBLE))],
    "records": [record(a=kind, b=lists(item)) for kind in SMALL for item in (FLOAT, DOUBLE)],
    "collections": [collection(a=kind, b=item) for kind in SMALL for item in (FLOAT, DOUBLE)],
    "other members": [record(a=SMALL[0]), record(t=TEXT, a=SMALL[2]), record(c=record(d=FLOAT), t=TEXT)],
}


class File(NamedTuple):
    path: str
    kinds: dict[str, Kind]
    rows: list[dict[str, Any]]


def make_files(dice: random.Random, folder: Path) -> tuple[dict[str, str], list[File]]:
    """Which kind of column each name is, and files that have some of them."""
    columns = {f"c{number}": dice.choice(sorted(COLUMNS)) for number in range(dice.randint(1, 4))}
    files: list[File] = []
    for number in range(dice.randint(1, 4)):
        names = [name for name in columns if dice.random() < 0.8]
        dice.shuffle(names)
        kinds = {name: dice.choice(COLUMNS[columns[name]]) for name in names}
        late = {name for name in names if dice.random() < 0.25}
        entries = dice.choice([0, 1, 5, 17])
        begin = dice.randint(0, entries)
        file = File(str(folder / f"{number}.root"), kinds, [])
        files.append(file)
        schema = {name: kinds[name].spec for name in names if name not in late} | {"id": "std::int32_t"}
        options = {
            "compression": dice.choice(["none", "zstd:1", "lz4:1"]),
            "page_size": dice.choice([64, 1 << 16]),
        }
        with colonnade.create(file.path, "Events", schema, **options) as writer:
            for entry in range(entries + 1):
                if entry == begin and late:
                    writer.extend_schema({name: kinds[name].spec for name in names if name in late})
                if dice.random() < 0.2:
                    writer.commit_cluster()
                if entry == entries:
                    break
                absent = late if entry < begin else set()
                row = {name: kinds[name].zero if name in absent else kinds[name].make(dice) for name in names}
                row["id"] = sum(len(other.rows) for other in files)
                writer.fill(**{name: value for name, value in row.items() if name not in absent})
                file.rows.append(row)
    return columns, files


def common_range(specs: list[str]) -> tuple[int, int]:
    """Of the integer that holds those of all files."""
    found = [
        (sign != "u", int(bits)) for sign, bits in re.findall(r"(u?)int(\d+)_t", "".join(map(str, specs)))
    ]
    widest = {
        signed: max([bits for is_signed, bits in found if is_signed == signed], default=0)
        for signed in (0, 1)
    }
    signed = widest[1] > 0
    bits = min(64, max(widest[1], 2 * widest[0])) if signed else widest[0]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def expected_values(name: str, column: str, files: list[File]) -> list[Any] | None:
    """What a chain with missing="fill" has; None: a value is beyond the common type."""
    having = [file for file in files if name in file.kinds]
    specs = [file.kinds[name].spec for file in having]
    are_lists = column == "lists and optionals" and any("vector" in spec for spec in specs)
    members = {member for spec in specs for member in spec} if column == "other members" else None
    values: list[Any] = []
    for file in files:
        for row in file.rows:
            value = row.get(name)
            if file in having and are_lists and "optional" in file.kinds[name].spec:
                value = [] if value is None else [value]
            if value is not None and members is not None:
                value = {member: value.get(member) for member in members}
            values.append(value)
    if column == "integers":
        low, high = common_range(specs)
        if any(value is not None and not low <= value <= high for value in values):
            return None
    return values


def plain(value: Any) -> Any:
    """What can be compared: numbers as texts, so that NaN equals itself and zeros have a sign, and sorted members."""
    if isinstance(value, dict):
        return {name: plain(value[name]) for name in sorted(value)}
    return [plain(each) for each in value] if isinstance(value, list) else repr(value)


def text_value(text: str) -> Any:
    spelled = re.sub(r"(?<=[\[ ])nan", "NaN", re.sub(r"(?<=[\[ ])inf", "Infinity", text))
    return json.loads(spelled, parse_int=float)


def as_numbers(value: Any) -> Any:
    """As texts have them: floats in their shortest form, whole numbers without a point."""
    if isinstance(value, dict):
        return {name: as_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_numbers(each) for each in value]
    if isinstance(value, str) or value is None:
        return value
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@pytest.mark.parametrize("seed", range(40))
def test_chains_of_files_that_differ(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    columns, files = make_files(dice, tmp_path)
    paths = [file.path for file in files]
    total = sum(len(file.rows) for file in files)
    options = {"cache": str(tmp_path / "cache")} if dice.random() < 0.3 else {}
    chain = colonnade.open(paths, missing="fill", max_open_files=dice.randint(1, 3), **options)
    known = {name: column for name, column in columns.items() if any(name in file.kinds for file in files)}
    expected = {name: expected_values(name, column, files) for name, column in known.items()}
    assert set(chain.field_names) == {"id", *known}
    fitting = {name: values for name, values in expected.items() if values is not None}
    for name in expected.keys() - fitting.keys():
        with pytest.raises(colonnade.ConversionError, match=name):
            chain.arrays([name])
    for name, values in fitting.items():
        assert plain(chain[name].to_list()) == plain(values), (name, known[name])
        steps = chain.iterate([name], step_size=dice.choice([1, 2, 5, "100 B"]))
        assert plain([each for step in steps for each in step[name].to_list()]) == plain(values), (
            name,
            known[name],
        )
        texts = [text_value(text)[name] for _, text in chain.select([name]).entry_texts(0, total)]
        assert plain(as_numbers(texts)) == plain(as_numbers(values)), (name, known[name])
    check_frames(dice, files, known, fitting)
    if fitting and total:
        check_joins(dice, tmp_path, chain, fitting, total)


def check_frames(
    dice: random.Random, files: list[File], known: dict[str, str], fitting: dict[str, list[Any]]
) -> None:
    engine = {"executor": Shuffled(dice.randint(0, 99)), "npartitions": 5} if dice.random() < 0.3 else {}
    frame: Any = DataFrame("Events", [file.path for file in files], progress=False, **engine)
    has = {name: [name in file.kinds for file in files for _ in file.rows] for name in known}
    for name, values in fitting.items():
        if known[name] == "other members":
            continue
        there = [value for value, is_there in zip(values, has[name], strict=True) if is_there]
        assert plain(ak.to_list(frame.filter_available(name).take(name).value)) == plain(there), known[name]
        if len(there) < len(values):
            with pytest.raises(colonnade.Error, match=name):
                frame.take(name).value  # noqa: B018
        if known[name] == "integers":
            filled = [value if is_there else 3 for value, is_there in zip(values, has[name], strict=True)]
            assert frame.default_value_for(name, 3).take(name).value.tolist() == filled


def check_joins(
    dice: random.Random, folder: Path, chain: colonnade.DataSet, fitting: dict[str, list[Any]], total: int
) -> None:
    keys = [dice.randint(0, total + 1) for _ in range(9)]
    for name, values in (("keys", keys), ("numbers", list(range(total)))):
        with colonnade.create(folder / f"{name}.root", name, {"key": "std::int32_t"}) as writer:
            writer.extend({"key": np.array(values, np.int32)})
    part = chain.select(["id", *fitting])
    joined = colonnade.open(folder / "keys.root").join(part, on={"key": "id"}, how="left", prefix="r_")
    beside = colonnade.open(folder / "numbers.root", friends={"f": part})
    for name, values in fitting.items():
        found = [values[key] if key < total else None for key in keys]
        assert plain(joined[f"r_{name}"].to_list()) == plain(found)
        assert plain(beside[f"f.{name}"].to_list()) == plain(values)
