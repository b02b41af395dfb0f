"""Random batches against plain arrays: all types, definitions, weights, padding, splits, ranks, workers, resuming."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade import ml

NUMBERS = [
    "bool",
    "std::int8_t",
    "std::uint8_t",
    "std::int16_t",
    "std::uint32_t",
    "std::int64_t",
    "float",
    "double",
]
DTYPES = dict(zip(NUMBERS, ["?", "i1", "u1", "i2", "u4", "i8", "f4", "f8"], strict=True))


def values_of(dice: np.random.Generator, kind: str, count: int) -> Any:
    if kind in ("float", "double"):
        made = dice.normal(size=count)
        made[dice.random(count) < 0.05] = np.nan
        made[dice.random(count) < 0.02] = -np.inf
        return made.astype(DTYPES[kind])
    info = (0, 2) if kind == "bool" else (np.iinfo(DTYPES[kind]).min, np.iinfo(DTYPES[kind]).max)
    return dice.integers(info[0], info[1], count, dtype=np.int64).astype(DTYPES[kind])


@dataclass
class Sample:
    """Files, and all that is in them: numbers, lists, and what is derived from them."""

    paths: list[str]
    columns: dict[str, Any]

    @property
    def entries(self) -> int:
        return len(self.columns["label"])


def write(folder: Path, seed: int) -> Sample:
    dice, chosen = np.random.default_rng(seed), random.Random(seed)
    schema = {f"n{k}": chosen.choice(NUMBERS) for k in range(3)}
    items = {f"v{k}": chosen.choice(NUMBERS) for k in range(2)}
    paths, parts = [], []
    for number in range(chosen.randint(1, 3)):
        path = str(folder / f"{number}.root")
        types = {**schema, **{name: f"std::vector<{kind}>" for name, kind in items.items()}}
        types |= {"label": "std::int32_t", "w": "double"}
        with colonnade.create(path, "Events", types) as writer:
            for _ in range(chosen.randint(0 if number else 1, 6)):
                count = chosen.choice([1, 17, 120])
                columns: dict[str, Any] = {
                    name: values_of(dice, kind, count) for name, kind in schema.items()
                }
                for name, kind in items.items():
                    counts = dice.integers(0, 5, count) * (dice.random() < 0.9)
                    columns[name] = ak.unflatten(values_of(dice, kind, int(counts.sum())), counts)
                columns["label"] = dice.integers(0, 3, count).astype(np.int32)
                columns["w"] = dice.random(count)
                writer.extend(columns)
                writer.commit_cluster()
                parts.append(columns)
        paths.append(path)
    return Sample(paths, {name: ak.concatenate([part[name] for part in parts]) for name in parts[0]})


@dataclass
class Choice:
    """Settings, and what they must give."""

    sample: Sample
    arguments: dict[str, Any]
    cut: str
    passes: Any
    derived: Any

    def make(self, **more: Any) -> ml.Batches:
        frame = (
            colonnade.DataFrame("Events", self.sample.paths)
            .define("z", "int(v0.size()) + 2 * label")
            .filter(self.cut)
        )
        return ml.Batches(frame, **{**self.arguments, **more})

    def expected(self, name: str) -> Any:
        return self.derived if name == "z" else self.sample.columns[name]


def choose(dice: random.Random, sample: Sample) -> Choice:
    columns = sample.columns
    label, w = np.asarray(columns["label"]), np.asarray(columns["w"])
    cut, passes = dice.choice(
        [
            ("true", w >= 0),
            ("w < 0.5", w < 0.5),
            ("label != 1", label != 1),
            ("w > 2", w > 2),
            ("w < 0.05", w < 0.05),
        ]
    )
    arguments: dict[str, Any] = {
        "features": dice.sample(["n0", "n1", "n2", "v0", "v1", "z"], dice.randint(1, 4)),
        "target": dice.choice([None, "label", ["label", "w"]]),
        "weight": dice.choice([None, "w"]),
        "batch_size": dice.choice([1, 7, 64, 5000]),
        "window": dice.choice([1, 50, 300, 10_000]),
        "shuffle": dice.random() < 0.7,
        "seed": dice.randint(0, 3),
        "drop_last": dice.random() < 0.3,
        "in_memory": dice.random() < 0.3,
        "threads": dice.choice([None, 1, 2]),
        "dtype": dice.choice([None, None, "float32", "float64"]),
        "pad": dice.choice([None, 1, 3, {"v0": 2}]),
        "pad_value": dice.choice([0, 1]),
    }
    lists = [name for name in arguments["features"] if name[0] == "v"]
    if isinstance(arguments["pad"], dict) and "v0" not in lists:
        arguments["pad"] = None
    pad = arguments["pad"]
    padded = (
        pad is not None and all(name in pad for name in lists) if isinstance(pad, dict) else pad is not None
    )
    arguments["matrix"] = (not lists or padded) and dice.random() < 0.5
    if arguments["target"] == "label" and dice.random() < 0.5:
        arguments["class_weights"] = dice.choice(["balanced", {0: 0.5, 1: 2, 2: 7}])
    return Choice(sample, arguments, cut, passes, np.asarray(ak.num(columns["v0"])) + 2 * label)


# ---- What a batch must hold


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"))


def check(batch: ml.Batch, choice: Choice) -> None:
    arguments, entry = choice.arguments, np.asarray(batch.entry)
    names = arguments["features"]
    wanted = [feature(choice, name, entry) for name in names]
    if arguments["matrix"]:
        together = np.concatenate([np.asarray(each).reshape(len(entry), -1) for each in wanted], axis=1)
        assert batch.features.shape == together.shape
        assert same(batch.features, together)
    else:
        assert list(batch.features) == list(names)
        for name, each in zip(names, wanted, strict=True):
            found = batch.features[name]
            if isinstance(found, ml.Jagged):
                assert ak.num(each, axis=1).tolist() == np.diff(found.offsets).tolist()
                assert same(found.values, ak.flatten(each))
            else:
                assert same(found, each)
    match arguments["target"]:
        case None:
            assert batch.target is None
        case "label":
            assert same(batch.target, np.asarray(choice.sample.columns["label"])[entry])
        case _:
            assert same(batch.target["w"], np.asarray(choice.sample.columns["w"])[entry])


def feature(choice: Choice, name: str, entry: Any) -> Any:
    values, pad = choice.expected(name)[entry], choice.arguments["pad"]
    dtype = choice.arguments["dtype"]
    if name[0] != "v":
        plain = np.asarray(values)
        return plain if dtype is None else plain.astype(dtype)
    values = values if dtype is None else ak.values_astype(values, dtype)
    length = pad.get(name) if isinstance(pad, dict) else pad
    if length is None:
        return values
    kind = np.dtype(ak.type(values).content.content.primitive)
    filled = ak.fill_none(ak.pad_none(values, length, clip=True), kind.type(choice.arguments["pad_value"]))
    return ak.to_numpy(ak.values_astype(filled, kind)).reshape(len(entry), length)


def weights_of(choice: Choice, rows: Any) -> Any:
    """The weights that rows of an epoch must have, by entry."""
    classes = choice.arguments.get("class_weights")
    weight = None if choice.arguments["weight"] is None else np.asarray(choice.sample.columns["w"])
    if classes is None:
        return weight
    label = np.asarray(choice.sample.columns["label"])
    if classes == "balanced":
        seen, counts = np.unique(label[rows], return_counts=True)
        classes = {each: len(rows) / (len(seen) * count) for each, count in zip(seen, counts, strict=True)}
    factors = np.array([classes.get(each, 0) for each in label.tolist()], float)
    return factors if weight is None else factors * weight


def entries_of(batches: Iterator[ml.Batch] | ml.Batches) -> list[list[int]]:
    return [batch.entry.tolist() for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return [entry for batch in batches for entry in batch]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 30 entries, so that windows hold several."""
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "30")


def kept(rows: list[int], batches: list[list[int]], choice: Choice) -> None:
    """Rows of an epoch, but for those that `drop_last` leaves out: each once, batches full but for the last one."""
    size, seen = choice.arguments["batch_size"], flat(batches)
    if choice.arguments["drop_last"]:
        assert len(seen) == len(rows) // size * size
        assert set(seen) <= set(rows)
    else:
        assert sorted(seen) == sorted(rows)
    assert len(set(seen)) == len(seen)
    assert all(len(batch) == size for batch in batches[:-1])


@pytest.mark.parametrize("seed", range(30))
def test_batches_are_the_rows(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    sample = write(tmp_path, seed)
    choice = choose(dice, sample)
    rows = np.flatnonzero(choice.passes)
    batches = choice.make()
    wanted = weights_of(choice, rows)
    orders = []
    for epoch in range(2):
        assert batches.epoch == epoch
        found = list(batches)
        assert len(found) == len(batches)
        kept(rows.tolist(), entries_of(iter(found)), choice)
        for batch in found:
            check(batch, choice)
            assert batch.weight is None if wanted is None else np.allclose(batch.weight, wanted[batch.entry])
        orders.append(entries_of(iter(found)))
        if not choice.arguments["shuffle"]:
            assert flat(orders[-1]) == sorted(flat(orders[-1]))
    # The same order from anything with the same settings, whatever reads it.
    again = choice.make(threads=dice.choice([1, 2]), in_memory=dice.random() < 0.5)
    assert [entries_of(again), entries_of(again)] == orders


@pytest.mark.parametrize("seed", range(10))
def test_going_on_at_every_batch_and_sharing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(500 + seed)
    choice = choose(dice, write(tmp_path, 500 + seed))
    choice.arguments["batch_size"] = dice.choice([7, 64])
    fraction, split_seed = dice.choice([0.2, 0.5, 0.9]), dice.randint(0, 3)
    world = dice.choice([1, 2, 3])
    epoch = dice.choice([0, 1, 5])

    def made(side: int, rank: int = 0) -> ml.Batches:
        shares = choice.make().split(fraction, split_seed)
        part = shares[side] if world == 1 else shares[side].for_rank(rank, world)
        part.set_epoch(epoch)
        return part

    sides = []
    for side in (0, 1):
        rows, size = made(side).num_rows, choice.arguments["batch_size"]
        if world > 1 and 0 < rows < world * size:
            with pytest.raises(colonnade.UsageError, match="rows are not a batch"):
                next(iter(made(side)))
            sides.append(set())
            continue
        ranks = [entries_of(made(side, rank)) for rank in range(world)]
        whole = [entry for rank in ranks for entry in flat(rank)]
        assert len(set(whole)) == len(whole)
        if world > 1:
            assert [len(rank) for rank in ranks] == [rows // (world * size)] * world
        sides.append(set(whole))
        rank = dice.randrange(world)
        for stop in range(len(ranks[rank]) + 1):
            begun = made(side, rank)
            iterator = iter(begun)
            first = [next(iterator).entry.tolist() for _ in range(stop)]
            resumed = made(side, rank)
            resumed.load_state_dict(pickle.loads(pickle.dumps(begun.state_dict())))
            rest = list(resumed)
            assert first + [batch.entry.tolist() for batch in rest] == ranks[rank]
            for batch in rest[:2]:
                check(batch, choice)
            assert resumed.epoch == epoch + 1
        begun = made(side, rank)
        for workers in (1, 2, 3):
            shares = [entries_of(begun.shared_batches(worker, workers)) for worker in range(workers)]
            together = [shares[k % workers][k // workers] for k in range(len(ranks[rank]))]
            assert together == ranks[rank]
    assert not sides[0] & sides[1]
    if world == 1 and not choice.arguments["drop_last"]:
        assert sides[0] | sides[1] == set(np.flatnonzero(choice.passes).tolist())


def test_other_results_of_the_frame_meanwhile() -> None:
    """What a loop asks the same data frame between two batches does not go through the rows of the next ones."""
    rows = 600
    frame = colonnade.DataFrame.from_arrays({"x": np.arange(rows)}).define("z", "x * 2")
    for seed in range(3):
        batches = ml.Batches(frame, ["z"], batch_size=4, window=60, seed=seed)
        alone = entries_of(batches)
        batches.set_epoch(0)
        found = []
        for batch in batches:
            found.append(batch.entry.tolist())
            assert (batch.features["z"] == 2 * batch.entry).all()
            assert frame.count().value == rows
        assert found == alone
        assert sorted(flat(found)) == list(range(rows))
