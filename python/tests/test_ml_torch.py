"""Batches in PyTorch's DataLoader. PyTorch weighs gigabytes: these tests are collected where it is installed."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import colonnade
from colonnade import ml


@pytest.fixture
def frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> colonnade.DataFrame:
    """Parts of 30 entries."""
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "30")
    path = str(tmp_path / "f.root")
    numbers = np.arange(1000)
    with colonnade.create(path, "Events", {"x": "float", "flag": "bool", "v": "std::vector<float>"}) as w:
        w.extend(
            {"x": numbers, "flag": numbers % 2 == 0, "v": ak.Array([[1.0] * (k % 3) for k in range(1000)])}
        )
    return colonnade.DataFrame("Events", path)


def entries_of(batches: object) -> list[list[int]]:
    """The entries of each batch."""
    return [batch.entry.tolist() for batch in batches]  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_the_order_is_the_same_for_any_number_of_workers(frame: colonnade.DataFrame, workers: int) -> None:
    """DataLoader takes batches of its workers in turns."""

    def made() -> ml.Batches:
        return ml.Batches(frame, ["x"], target="flag", library="torch", batch_size=64, window=300)

    loader = DataLoader(made().as_torch(), batch_size=None, num_workers=workers)
    assert entries_of(loader) == entries_of(made())


def test_workers_that_are_spawned(frame: colonnade.DataFrame) -> None:
    """They get the batches by pickle."""

    def made() -> ml.Batches:
        return ml.Batches(frame, ["x"], target="flag", library="torch", batch_size=64, window=300)

    loader = DataLoader(made().as_torch(), batch_size=None, num_workers=2, multiprocessing_context="spawn")
    assert entries_of(loader) == entries_of(made())


def test_workers_that_persist(frame: colonnade.DataFrame) -> None:
    """They go from epoch to epoch by themselves."""

    def made() -> ml.Batches:
        return ml.Batches(frame, ["x"], library="torch", batch_size=64, window=300)

    plain = made()
    loader = DataLoader(made().as_torch(), batch_size=None, num_workers=2, persistent_workers=True)
    assert [entries_of(loader) for _ in range(3)] == [entries_of(plain) for _ in range(3)]


@pytest.mark.parametrize("workers", [0, 2])
def test_ranks_and_epochs_with_workers(frame: colonnade.DataFrame, workers: int) -> None:
    """Each rank has its own loader, as in distributed training; every epoch is in another order, the same for all."""

    def made(library: str) -> ml.Batches:
        return ml.Batches(
            frame.filter("x > 50"), ["x", "v"], target="flag", library=library, batch_size=32, window=90
        )

    for epoch in range(2):
        seen = []
        for rank in range(2):
            dataset = made("torch").for_rank(rank, 2).as_torch()
            dataset.set_epoch(epoch)
            plain = made("np").for_rank(rank, 2)
            plain.set_epoch(epoch)
            length = len(dataset)
            found = list(DataLoader(dataset, batch_size=None, num_workers=workers))
            assert len(found) == length
            for batch, expected in zip(found, plain, strict=True):
                assert batch.entry.tolist() == expected.entry.tolist()
                assert np.array_equal(batch.features["x"].numpy(), expected.features["x"])
                assert np.array_equal(batch.features["v"].values().numpy(), expected.features["v"].values)
                assert np.array_equal(batch.features["v"].offsets().numpy(), expected.features["v"].offsets)
            seen += [entry for batch in found for entry in batch.entry.tolist()]
        assert len(set(seen)) == len(seen)


def test_tensors(frame: colonnade.DataFrame) -> None:
    """Tensors that may be written to; lists as nested tensors."""
    batch = next(
        iter(ml.Batches(frame, ["x", "v"], target="flag", library="torch", batch_size=8, shuffle=False))
    )
    assert batch.features["x"].dtype == torch.float32
    assert batch.target.tolist() == [k % 2 == 0 for k in range(8)]
    assert [len(each) for each in batch.features["v"].unbind()] == [k % 3 for k in range(8)]
    batch.features["x"][0] = 5
    assert batch.features["x"][0] == 5


def test_integers_of_64_bits_without_a_sign(frame: colonnade.DataFrame) -> None:
    """NumPy has two types for them, of which PyTorch knows one."""
    frame = frame.define("u", "static_cast<std::uint64_t>(x)").define(
        "us", "std::vector<std::uint64_t>{u, u}"
    )
    batch = next(iter(ml.Batches(frame, ["u", "us", "rdfentry_"], target="u", library="torch", batch_size=8)))
    assert batch.target.dtype == torch.uint64
    for found in (batch.features["u"], batch.features["us"].values()[::2], batch.features["rdfentry_"]):
        assert found.tolist() == batch.entry.tolist() == batch.target.tolist()


def test_a_model_learns(frame: colonnade.DataFrame) -> None:
    """The whole loop, with a split."""
    batches = ml.Batches(
        frame.define("z", "fmod(x, 2)"),
        ["z"],
        target="flag",
        matrix=True,
        dtype="float32",
        library="torch",
        batch_size=64,
    )
    train, validation = batches.split(0.8)
    model = torch.nn.Linear(1, 1)
    optimiser = torch.optim.Adam(model.parameters(), 0.1)
    for _ in range(10):
        for features, target, _weight, _entry in train:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(features)[:, 0], target.float())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    right = [((model(b.features)[:, 0] > 0) == b.target).float().mean().item() for b in validation]
    assert min(right) == 1
