"""Attribute sets on real servers: histories whose data sets lie in S3 and Ceph, and files in S3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_attribute_histories import History, Model, check

import colonnade


class HistoryElsewhere(History):
    """Half of the data sets are object stores on a server."""

    def __init__(self, folder: Path, seed: int, uri: Callable[[str], str]) -> None:
        super().__init__(folder, seed)
        self._uri = uri

    def place(self) -> str:
        local = super().place()
        return local if self.dice.random() < 0.5 else self._uri(Path(local).name.removesuffix(".root"))


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("seed", range(4))
def test_histories_in_s3(tmp_path: Path, s3_uri: Callable[[str], str], seed: int) -> None:
    history = HistoryElsewhere(tmp_path, seed, s3_uri)
    for _ in range(7):
        history.step()
    for number, model in enumerate(history.models):
        check(model)
        # A file in S3 appears when it is complete, its attribute sets among the rest.
        copied = Model(s3_uri(f"file{number}.root"), model.x, model.rows)
        assert colonnade.copy(model.place, copied.place, verify="values").verified
        check(copied)


@pytest.mark.usefixtures("ceph")
def test_a_history_in_ceph(tmp_path: Path, rados_uri: str) -> None:
    history = HistoryElsewhere(tmp_path, 11, lambda name: f"{rados_uri}-{name}")
    for _ in range(5):
        history.step()
    for model in history.models:
        check(model)


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("executor", [None, 2])
@pytest.mark.parametrize("place", ["file.root", "store"])
def test_a_snapshot_into_s3_has_them_in_its_one_commit(
    tmp_path: Path, s3_uri: Callable[[str], str], executor: int | None, place: str
) -> None:
    with colonnade.create(tmp_path / "in.root", "Events", {"x": "int"}) as writer:
        writer.extend({"x": range(20)})
        writer.attributes("runs").add({"run": 1}, 4, 20)
    frame = colonnade.DataFrame("Events", tmp_path / "in.root", executor=executor)
    frame.filter("x % 2 == 0").snapshot(s3_uri(place), "Events", attributes=True)
    check(Model(s3_uri(place), list(range(0, 20, 2)), {"runs": [colonnade.Attribute(2, 10, {"run": 1})]}))
