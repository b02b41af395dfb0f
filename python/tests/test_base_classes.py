"""Members of base classes in arrays, paths and data frames, where a name is inherited twice or hidden.

The bases of a class are stored as records ":_0", ":_1", ... Here they have no type, so their names tell them apart;
types do in src/frame/sources/source_test.cpp.
"""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest

import colonnade

NAMES = {":_0::id", ":_0::weight", "left", ":_1::id", ":_1::weight", "right", "weight"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("bases") / "both.root")
    count = np.arange(10)
    base = ak.zip({"id": count, "weight": 0.5 * count})
    other = ak.zip({"id": 100 + count, "weight": -1.5 * count})
    left = ak.zip({":_0": base, "left": -count}, depth_limit=1)
    right = ak.zip({":_0": other, "right": ak.unflatten(np.arange(45), count)}, depth_limit=1)
    both = ak.zip({":_0": left, ":_1": right, "weight": 1000 * count}, depth_limit=1)
    with colonnade.create(path, "Events") as writer:
        writer.extend({"both": both})
    return path


def check(both):
    assert set(both.fields) == NAMES
    assert both[":_0::id"].tolist() == list(range(10))
    assert both[":_1::id"].tolist() == list(range(100, 110))
    assert both[":_0::weight"].tolist() == [0.5 * k for k in range(10)]
    assert both[":_1::weight"].tolist() == [-1.5 * k for k in range(10)]
    assert both["weight"].tolist() == [1000 * k for k in range(10)]
    assert both["left"].tolist() == [-k for k in range(10)]


def test_all_members_come_back_from_arrays(file):
    data = colonnade.open(file)
    check(data.arrays()["both"])
    check(ak.from_arrow(data.arrays(library="pa"))["both"])
    assert set(data.arrays(library="pd")["both"][3]) == NAMES
    assert set(data.arrays(library="np")["both"][3]) == NAMES
    assert data["both.:_1::id"].tolist() == list(range(100, 110))
    assert data["both.weight"].tolist() == [1000 * k for k in range(10)]


def test_an_ambiguous_name_lists_the_candidates(file):
    data = colonnade.open(file)
    with pytest.raises(colonnade.NotFoundError, match=r"'id' is inherited more than once.*:_0::id, :_1::id"):
        data["both.id"]
    with pytest.raises(colonnade.Error, match=r"(?s)inherited more than once.*:_0::id, :_1::id"):
        colonnade.DataFrame("Events", file).take("both.id").value  # noqa: B018


def test_data_frames_have_all_members(file, tmp_path):
    frame = colonnade.DataFrame("Events", file)
    check(ak.Array(frame.take("both").value))
    assert {f"both.{name}" for name in NAMES} < set(frame.column_names)
    target = str(tmp_path / "snapshot.root")
    frame.snapshot(target, "Events", ["both"])
    check(colonnade.open(target).arrays()["both"])


def test_members_of_a_base_that_some_files_of_a_chain_lack(tmp_path):
    base = {":_0": {"top": "int"}, "id": "int", "name": "std::string"}
    classes = {"derived": {":_0": base, "x": "int"}, "plain": {"x": "int"}}
    for name, members in classes.items():
        with colonnade.create(tmp_path / f"{name}.root", "Events", {"it": members, "list": [members]}) as w:
            value = {":_0": {":_0": {"top": 1}, "id": 2, "name": "three"}, "x": 4}
            value = value if name == "derived" else {"x": 5}
            w.fill(it=value, list=[value, value])
    there = {"top": 1, "id": 2, "name": "three", "x": 4}
    missing = {"top": None, "id": None, "name": None, "x": 5}
    for order in ("derived", "plain"), ("plain", "derived"):
        files = [tmp_path / f"{name}.root" for name in order]
        rows = [there if name == "derived" else missing for name in order]
        chain = colonnade.open(files, missing="fill")
        assert chain["it"].to_list() == rows
        assert chain["list"].to_list() == [[row, row] for row in rows]
        assert chain["it.id"].to_list() == [row["id"] for row in rows]
        assert chain.to_arrow(["it"])["it"].to_pylist() == rows
        assert colonnade.open(files, missing="skip")["it"].to_list() == [{"x": row["x"]} for row in rows]
