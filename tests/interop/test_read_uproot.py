"""Data sets that uproot writes itself: random arrays, in one step or several, and what ROOT does not read either."""

from __future__ import annotations

import random
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import colonnade

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"]
TEXTS = ["", "a", "naïve ☢ µ±", "x" * 40]


def an_array(dice: random.Random, count: int, depth: int, *, in_array: bool = False) -> ak.Array:
    """An array of a type that uproot 5.7 writes as ROOT reads it."""
    kinds = ["number", "number", "text"]
    if depth:
        kinds += ["list", "list", "array", "missing", "union"] + ["record", "tuple"] * (not in_array)
    match dice.choice(kinds):
        case "number":
            return ak.Array(np.frombuffer(dice.randbytes(8 * count), "u8").astype(dice.choice(NUMBERS)))
        case "text":
            return ak.Array(texts(dice, count))
        case "list":
            counts = [dice.choice([0, 1, 2, 5]) for _ in range(count)]
            return ak.unflatten(an_array(dice, sum(counts), depth - 1, in_array=in_array), counts)
        case "array":
            return ak.to_regular(ak.unflatten(an_array(dice, 3 * count, 0, in_array=True), [3] * count))
        case "missing":
            return (
                ak.Array([None, *texts(dice, count)])[1:]
                if dice.random() < 0.5
                else some_missing(dice, count)
            )
        case "union":
            return ak.concatenate([texts(dice, count // 2), np.arange(count - count // 2)])
        case kind:
            parts = [an_array(dice, count, depth - 1) for _ in range(dice.randint(1, 3))]
            names = [f"m{k}" for k in range(len(parts))]
            return ak.zip(
                dict(zip(names, parts, strict=True)) if kind == "record" else tuple(parts), depth_limit=1
            )


def texts(dice: random.Random, count: int) -> Any:
    return ak.from_iter([dice.choice(TEXTS) for _ in range(count)] or ["a"])[:count]


def some_missing(dice: random.Random, count: int) -> Any:
    return ak.from_iter([0.5, *(None if dice.random() < 0.3 else dice.gauss(0, 1) for _ in range(count))])[1:]


def without_tuples(value: Any) -> Any:
    """Tuples with records in them are records with numbered members, since they have no type of C++."""
    if isinstance(value, tuple):
        return {f"_{k}": without_tuples(item) for k, item in enumerate(value)}
    if isinstance(value, dict):
        return {name: without_tuples(item) for name, item in value.items()}
    return list(map(without_tuples, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(12))
def test_random_arrays(tmp_path, seed):
    dice = random.Random(seed)
    path, steps = tmp_path / "f.root", dice.choice([1, 1, 3])
    data = {f"f{k}": an_array(dice, 20, 3) for k in range(dice.randint(1, 4))}
    packed = dice.choice([None, uproot.ZSTD(3), uproot.LZ4(4), uproot.ZLIB(1)])
    with uproot.recreate(path, compression=packed) as file:
        writer = file.mkrntuple("Events", data)
        for _ in range(steps - 1):
            writer.extend(data)
    colonnade.copy(path, tmp_path / "copy.root", cluster_size=300, page_size=64, verify="values")
    for file in (path, tmp_path / "copy.root"):
        with colonnade.open(file) as data_set:
            data_set.verify()
            for name, values in data.items():
                read, expected = (without_tuples(each.to_list()) for each in (data_set[name], values))
                assert repr(read) == repr(expected * steps), (file.name, data_set.schema[name].type)


def test_arrays_of_records_are_left_out(tmp_path):
    """uproot 5.7 gives them a field without a type, of which ROOT 6.40 makes no model; the others are read."""
    records = ak.to_regular(ak.Array([[{"a": 1}, {"a": 2}]] * 3))
    with uproot.recreate(tmp_path / "f.root") as file:
        file.mkrntuple("Events", {"r": records, "n": [1, 2, 3]})
    with colonnade.open(tmp_path / "f.root") as data_set:
        assert "do not fit its type" in data_set.schema["r"].unreadable
        with pytest.warns(colonnade.LeftOutWarning):
            assert data_set.arrays().to_list() == [{"n": 1}, {"n": 2}, {"n": 3}]
