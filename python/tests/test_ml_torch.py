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
