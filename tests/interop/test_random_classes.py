"""Random classes that ROOT writes, in random encodings and with late fields: as ROOT reads them, and after copies.

Two versions of a class in one merged file: each version of the program reads all entries.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from comparing import all_differences
from programs import dump
from root_worker import RootWorker

import colonnade

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
from root_values import expected_values, fields_of, python_values, same

DATA_SET = "Random"


@pytest.mark.parametrize("seed", range(8))
def test_classes_of_root(root, tmp_path, seed):
    path, again, both = (tmp_path / f"{name}.root" for name in ("f", "again", "both"))
    theirs = root.call("write_classes", seed, str(path))
    for mode in ("entries", "views"):
        assert all_differences(theirs, dump(path, mode=mode)) == []
    colonnade.copy(path, again, cluster_size=200, page_size=64, compression="lz4", verify="values")
    colonnade.merge(both, [path, again], verify="values")
    values = theirs[DATA_SET]["values"]
    for file, times in ((path, 1), (again, 1), (both, 2)):
        with colonnade.open(file) as data_set:
            fields = fields_of(data_set)
            assert list(fields) == list(values)
            for name, info in fields.items():
                wanted = [expected_values(info, value) for value in values[name]] * times
                assert same(python_values(data_set[name]), wanted), (file.name, name, info.type)
    read = root.dump(again)[DATA_SET]["values"]
    assert read == values
    assert root.printed == ""


@pytest.fixture(scope="module")
def later_root():
    """ROOT in another process, since a class has one version in a process."""
    with RootWorker() as worker:
        yield worker


# Always these: ROOT crashes when it opens some files of its own that have another version of a class.
@pytest.mark.parametrize("case", range(4))
def test_classes_in_two_versions(root, later_root, tmp_path, case):
    files = [tmp_path / "first.root", tmp_path / "second.root"]
    workers = [root, later_root]
    for version, (worker, path) in enumerate(zip(workers, files, strict=True), 1):
        assert all_differences(worker.call("write_version", case, str(path), version), dump(path)) == []
    parts = [[worker.dump(path)[DATA_SET]["values"] for path in files] for worker in workers]
    union = {"mode": "union"}
    for way in (union, {**union, "cluster_size": 200, "page_size": 64}, {"mode": "filter"}):
        merged = tmp_path / "merged.root"
        colonnade.merge(merged, files, verify="values", overwrite=True, **way)
        for worker, (before, after) in zip(workers, parts, strict=True):
            rows = worker.dump(merged)[DATA_SET]["values"]
            assert list(rows) == list(before)
            if way["mode"] == "union":
                assert rows == {name: before[name] + after[name] for name in rows}
