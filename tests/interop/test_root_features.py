"""Types and classes of ROOT that random schemas do not have: read as ROOT reads them, also after copies and merges."""

from __future__ import annotations

import warnings

import pytest
from comparing import all_differences
from programs import dump
from root_write_features import DATASET, ENTRIES, FEATURES

import colonnade

SPECIAL = {"streamed", "soa"}


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in SPECIAL])
def test_feature_is_read_as_root_reads_it(root, tmp_path, name):
    path, again, both = (tmp_path / f"{part}.root" for part in ("f", "again", "both"))
    theirs = root.call("write_feature", name, str(path))
    for mode in ("entries", "views"):
        assert all_differences(theirs, dump(path, mode=mode)) == []
    colonnade.copy(path, again, cluster_size=200, page_size=64, verify="values")
    colonnade.merge(both, [path, again], verify="values")
    values = theirs[DATASET]["values"]
    assert root.dump(both)[DATASET]["values"] == {field: rows * 2 for field, rows in values.items()}


def test_parts_of_streamed_classes(root, tmp_path):
    """What has a streamer field in it is left out alone, and all pages come along."""
    path, merged = tmp_path / "f.root", tmp_path / "merged.root"
    root.call("write_feature", "streamed", str(path))
    colonnade.merge(merged, [path])
    count = ENTRIES
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = colonnade.open(merged)
        assert data.field_names == ["before", "c", "h", "after"]
        assert data["c"].to_list() == [{"k": i, "last": float(i)} for i in range(count)]
        assert data["h"].to_list() == [[{"k": i, "last": 0.0}] * (i % 3) for i in range(count)]
        assert data["after"].to_list() == [[0.5] * (i % 4) for i in range(count)]
    assert "'c.s'" in " ".join(str(each.message) for each in caught)
    assert len(root.dump(merged)[DATASET]["fields"]) == len(FEATURES["streamed"])


def test_structures_of_arrays_stay_such(root, tmp_path):
    """ROOT 6.40 writes them; it does not read them yet."""
    path, pages, again, merged = (tmp_path / f"{name}.root" for name in ("f", "pages", "again", "merged"))
    root.call("write_feature", "soa", str(path))
    colonnade.copy(path, pages, verify="values")
    colonnade.copy(path, again, cluster_size=200, page_size=64, verify="values")
    colonnade.merge(merged, [path, again], verify="values")
    marked = root.call("structures_of_arrays", str(path), DATASET)
    assert marked == ["a", "b._0", "c.s", "d._1"]
    for file, times in ((path, 1), (pages, 1), (again, 1), (merged, 2)):
        assert root.call("structures_of_arrays", str(file), DATASET) == marked
        points = [
            [{"x": float(k), "y": float(-k), "w": [float(k)]} for k in range(i % 4)] for i in range(ENTRIES)
        ] * times
        numbers = list(range(ENTRIES)) * times
        with colonnade.open(file) as data:
            assert data["a"].to_list() == points
            assert data["b"].to_list() == [[p] * (n % 3) for n, p in zip(numbers, points, strict=True)]
            assert data["c"].to_list() == [
                {"before": n, "s": p, "after": "z"} for n, p in zip(numbers, points, strict=True)
            ]
            assert data["d"].to_list() == list(zip(numbers, points, strict=True))
            assert data["late"].to_list() == numbers
