"""`import_tree`: TTrees of all kinds of branches become data sets with the same values."""

from __future__ import annotations

import errno
import importlib
import math
import re
import shutil
import signal
import struct
import threading

import awkward as ak
import numpy as np
import pytest
import uproot
from locations import FIXTURES, shared
from root_values import assert_as_uproot, python_values

import colonnade
import colonnade.importing.trees as importing

TREE = FIXTURES / "trees" / "many_branches.root"
ODD = FIXTURES / "trees" / "odd_branches.root"
WHOLE = FIXTURES / "trees" / "whole_objects.root"
REDUCED = FIXTURES / "trees" / "reduced_numbers.root"
ARRAYS = FIXTURES / "trees" / "member_arrays.root"
ONE = FIXTURES / "trees" / "arrays_of_one.root"
MEMBERS = FIXTURES / "trees" / "member_objects.root"
OFFSETS = FIXTURES / "trees" / "offset_maps.root"
KEPT = FIXTURES / "trees" / "kept_baskets.root"
CONTAINERS = FIXTURES / "trees" / "container_arrays.root"
OTHERS = FIXTURES / "trees" / "other_containers.root"
LEAVES = FIXTURES / "trees" / "leaf_lists.root"
MEMBERWISE = FIXTURES / "trees" / "member_by_member.root"
MAPS = FIXTURES / "trees" / "maps.root"
COUNTED = FIXTURES / "trees" / "counted_members.root"
NESTED = FIXTURES / "trees" / "nested_members.root"
REFERENCES = FIXTURES / "trees" / "references.root"
UNSPLIT = FIXTURES / "trees" / "unsplit_objects.root"
TREES = [path for path in shared("*.root") if "rntuple" not in path.name]


def entry(e):
    """Some branches of the fixture's entry e, as make_trees.py fills them."""
    few = range(e % 3)
    return {
        "flag": bool(e % 2),
        "i8": e - 20,
        "u8": 250 + e % 6,
        "i16": -800 * e,
        "u16": 65000 + e,
        "i32": -100000 * e,
        "u32": 4000000000 + e,
        "i64": -(1 << 60) + e,
        "u64": (1 << 63) + e,
        "f32": float(np.float32(0.1) * np.float32(e)),
        "f64": 0.1 * e,
        "fixed": [0, e, 2 * e],
        "matrix": [[e, e + 0.5, e + 1.0], [e + 1.5, e + 2.0, e + 2.5]],
        "Hit": [
            {"x": e + k, "id": 200 + k, "xyz": [e + 10 * k + i for i in range(3)], "ok": bool(k % 2)}
            for k in range(e % 4)
        ],
        "nHit": e % 4,
        "Hit_x": [e + k for k in range(e % 4)],
        "adc": [e + 1.5 * k for k in range((e + 1) % 3)],
        "nsample": (e + 1) % 3,
        "left": [{"e": e * k, "t": -k} for k in range((e + 2) % 3)],
        "m": (e + 2) % 3,
        "c_text": f"text {e}",
        "text": "x" * (e % 30),
        "t_text": "é€",
        "v_bool": [bool(e % 2)] * (e % 4),
        "vv_int": [[e] * (e % 2)] * (e % 3),
        "v_text": ["s" + "x" * (e % 30)] * (e % 3),
        "vvv_double": [[[float(e)]] * (e % 3)] * 2,
        "v_i8": [-e] * (e % 3),
        "v_i64": [-(1 << 60) + e] * (e % 3),
        "m_int": [(k, float(e)) for k in few],
        "m_text": [(f"k{k}", [k, e]) for k in few],
        "s_int": sorted({k * e for k in few}),
        "pair": (e, e * 0.5),
        "bits": [bool((e * 77) >> bit & 1) for bit in range(12)],
        "v_pair": [(e, 1.5)] * (e % 3),
        "point": {"id": e, "x": 1.5 * e, "y": 2.5 * e},
        "whole_point": {"id": e, "x": 1.5 * e, "y": 2.5 * e},
        "lorentz": {"fP": {"fX": e, "fY": 1, "fZ": 2}, "fE": 3},
        "v_vector": [{"fX": e, "fY": 1, "fZ": 2}] * (e % 2),
        "leaves": {"a": e, "b": -e},
    }


TYPES = {
    "flag": "bool",
    "i8": "std::int8_t",
    "u8": "std::uint8_t",
    "i16": "std::int16_t",
    "u16": "std::uint16_t",
    "i32": "std::int32_t",
    "u32": "std::uint32_t",
    "i64": "std::int64_t",
    "u64": "std::uint64_t",
    "f32": "float",
    "f64": "double",
    "f16": "float",
    "d32": "double",
    "matrix": "std::array<std::array<float,3>,2>",
    "Hit.id": "std::uint8_t",
    "Hit.xyz": "std::array<float,3>",
    "Hit_x": "std::vector<float>",
    "nHit": "ROOT::RNTupleCardinality<std::uint32_t>",
    "adc": "std::vector<double>",
    "text": "std::string",
    "v_i8": "std::vector<std::int8_t>",
    "v_u16": "std::vector<std::uint16_t>",
    "vvv_double": "std::vector<std::vector<std::vector<double>>>",
    "m_text": "std::map<std::string,std::vector<std::int32_t>>",
    "s_int": "std::set<std::int32_t>",
    "pair": "std::pair<std::int32_t,float>",
    "v_pair": "std::vector<std::pair<std::int32_t,float>>",
    "point.y": "double",
}


def close(left, right):
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-7)
    return left == right


def branch_values(path, tree, branch):
    with uproot.open(path) as file:
        return python_values(file[tree][branch].array())


# ---- Values


@pytest.fixture
def imported(tmp_path):
    report = colonnade.import_tree(TREE, tmp_path / "to.root", verify=True)
    return report, colonnade.open(tmp_path / "to.root")


def test_values_are_those_that_root_wrote(imported):
    report, data_set = imported
    assert (report.entries, report.data_set, report.verified) == (40, "Events", True)
    assert not report.skipped
    assert not report.interrupted
    expected = [entry(e) for e in range(40)]
    for name in expected[0]:
        found = data_set[name].to_list()
        for e in range(40):
            assert close(found[e], expected[e][name]), (name, e)


def test_values_are_those_that_uproot_reads(imported):
    report, data_set = imported
    assert_as_uproot(TREE, "Events", data_set, report)


def test_types_are_kept(imported):
    _, data_set = imported
    for name, expected in TYPES.items():
        assert data_set.schema[name].type == expected, name
    assert data_set.schema["Hit_x"].projected == "Hit"
    assert data_set.schema["i32"].description == "Whole numbers"


def test_other_readers_read_it(imported, tmp_path):
    report, _ = imported
    with uproot.open(tmp_path / "to.root") as file:
        theirs = file["Events"].arrays(["i32", "text", "Hit_x", "Hit", "nHit"])
    assert theirs["i32"].to_list() == branch_values(TREE, "Events", "i32")
    assert theirs["Hit_x"].to_list() == branch_values(TREE, "Events", "Hit_x")
    assert theirs["Hit"].x.to_list() == branch_values(TREE, "Events", "Hit_x")
    assert theirs["nHit"].to_list() == branch_values(TREE, "Events", "nHit")
    assert "nHit" in report.projected


@pytest.mark.parametrize("step_size", ["1 B", "700 B", "10 kB"])
def test_steps_do_not_matter(tmp_path, step_size, imported):
    report = colonnade.import_tree(TREE, tmp_path / "steps.root", step_size=step_size, threads=2, verify=True)
    assert report.steps > 1
    assert report.verified
    with colonnade.open(tmp_path / "steps.root") as data_set:
        assert data_set.arrays().to_list() == imported[1].arrays().to_list()


def test_without_grouping_and_aliases(tmp_path):
    report = colonnade.import_tree(TREE, tmp_path / "flat.root", grouping=False)
    assert report.projected == ()
    with colonnade.open(tmp_path / "flat.root") as data_set:
        assert data_set.schema["nHit"].type == "std::int32_t"
        assert data_set.schema["Hit_x"].projected is None
        assert_as_uproot(TREE, "Events", data_set, report)
    report = colonnade.import_tree(TREE, tmp_path / "plain.root", aliases=False)
    assert report.projected == ("nHit", "nsample", "m")


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        ("i32", {"i32"}),
        (["Hit"], {"Hit", "nHit", "Hit_x", "Hit_id", "Hit_ok"}),
        (["Hit_x"], {"Hit", "Hit_x"}),
        (["Hit.x", "Hit.ok"], {"Hit", "Hit_x", "Hit_ok"}),
        (["v_*"], {"v_float", "v_bool", "v_text", "v_i8", "v_u16", "v_i64", "v_pair", "v_vector"}),
        (["point.x", "m_int"], {"point", "m_int"}),
    ],
)
def test_columns(tmp_path, columns, fields):
    report = colonnade.import_tree(TREE, tmp_path / "to.root", columns=columns, verify=True)
    assert set(report.fields) | set(report.projected) == fields
    assert set(colonnade.open(tmp_path / "to.root").field_names) == fields


def test_odd_branches(tmp_path):
    """Each has the values that ROOT wrote, or is left out with a reason."""
    with pytest.raises(colonnade.UnsupportedError, match="it has 3 entries, the tree 10"):
        colonnade.import_tree([f"{ODD}:odd"] * 2, tmp_path / "none.root", columns="late")
    with pytest.raises(colonnade.UnsupportedError, match=r"no branch to import: .*'late' of type "):
        colonnade.import_tree(f"{ODD}:odd", tmp_path / "none.root", columns="late", skip_unreadable=True)
    report = colonnade.import_tree(
        f"{ODD}:odd", tmp_path / "to.root", skip_unreadable=True, verify=True, step_size="200 B"
    )
    assert [one.branch for one in report.skipped] == ["late"]
    assert report.renamed.items() >= {"n.a": "n_a_", "p_a": "p.a", "event/three[3]": "event.three"}.items()
    assert report.projected == ("n_a_", "p_a", "p_b", "count")
    counter = colonnade.import_tree(f"{ODD}:odd", tmp_path / "counter.root", columns="n_a_")
    assert list(counter.renamed) == ["n.a"]
    data_set = colonnade.open(tmp_path / "to.root")
    expected = {
        "text": [chr(97 + e) * (e % 3) for e in range(10)],
        "#hits": [10 * e for e in range(10)],
        "header": [{"n": e % 4, "run": 100 + e} for e in range(10)],
        "x": [[e + k for k in range(e % 4)] for e in range(10)],
        "n_a": [50 + e for e in range(10)],
        "n_a_": [e % 3 for e in range(10)],
        "p_b": [[-e - k for k in range(e % 3)] for e in range(10)],
        "event.three": [[0, e, 2 * e] for e in range(10)],
        "event.points": [[{"id": e, "x": 0.5 * k, "y": e + 0.25 * k} for k in range(2)] for e in range(10)],
        "event.steps": [[{"id": e, "x": [1, 2]}] for e in range(10)],
        "event.links": [[(1, e), (1, e + 1)] for e in range(10)],
        "event.weights": [[(e, 0.5 * e)] for e in range(10)],
    }
    ranged = [round(k * 65536 / 100) * 100 / 65536 for k in range(12)]
    expected |= {
        "d32": [ranged[e : e + 3] for e in range(10)],
        "v_d32": [ranged[e : e + e % 2] for e in range(10)],
        "event.cells": [[{"id": e, "range": ranged[1:3]}] * (e % 3) for e in range(10)],
    }
    assert {name: data_set[name].to_list() for name in expected} == expected
    assert data_set.schema["event.links"].type == "std::multimap<std::int32_t,std::int32_t>"
    assert data_set.schema["event.weights"].type == "std::unordered_map<std::int32_t,float>"


def test_numbers_of_reduced_precision_are_those_that_root_reads(tmp_path):
    colonnade.import_tree(f"{REDUCED}:stored", tmp_path / "to.root", verify=True)
    with uproot.open(REDUCED) as file, colonnade.open(tmp_path / "to.root") as data_set:
        read = {name: branch.array().to_list() for name, branch in file["read"].items() if name != "members"}
        members = [member.name for member in data_set.schema["members"].children]
        paths = {name: f"members.{name}" if name in members else name for name in read}
        assert len(paths) == 29
        assert {name: data_set[path].to_list() for name, path in paths.items()} == read


def test_objects_that_are_not_split(tmp_path):
    """Their first bytes are values, also where they look like a header."""
    colonnade.import_tree(WHOLE, tmp_path / "to.root", verify=True, step_size="50 B")
    with colonnade.open(tmp_path / "to.root") as data_set:
        assert data_set.arrays().to_list() == [
            {
                "run": {"run": 65535 + e, "name": "x" * e},
                "later": {"run": 65535 + e, "name": "x" * e, "part": e},
                "note": {"line": e, "text": "x" * e},
                "pair": {"first": e, "second": "x" * e},
                "ranged": {"angle": int(0.1 * e * 6553.6 + 0.5) / 6553.6, "unit": "x" * e},
                "times": [{"fSec": e, "fNanoSec": 5 * e}] * (e % 3),
                "ones": [{"id": e}] * (e % 4),
                "holders": [{"number": e, "one": {"id": -e}}] * (e % 3),
                "lists": {"ones": [{"id": e}] * (e % 4), "twos": [{"id": e, "x": 0.5 * e}] * (e % 3)},
            }
            for e in range(10)
        ]


def test_classes_of_one_name_in_several_files(tmp_path):
    """Each file tells the members of its classes, also if another one has been read before."""
    other = tmp_path / "other.root"
    other.write_bytes(MEMBERWISE.read_bytes().replace(b"\x02id", b"\x02no"))
    for path, name in ((MEMBERWISE, "id"), (other, "no"), (MEMBERWISE, "id")):
        report = colonnade.import_tree(path, tmp_path / "to.root", columns="cluster", overwrite=True)
        assert report.entries == 10
        assert colonnade.open(tmp_path / "to.root")["cluster"][name].to_list() == list(range(10))


def test_classes_with_several_versions_in_a_file(tmp_path, monkeypatch):
    """As merged files may have them. Structs have no version that would tell which one is stored."""
    read = uproot.reading.ReadOnlyFile.streamers.fget

    def streamers(file):
        found = read(file)
        if "Cluster" in found:
            found["Cluster"][2] = found["Element"][1]
        return found

    monkeypatch.setattr(uproot.reading.ReadOnlyFile, "streamers", property(streamers))
    for column in ("cluster", "steps", "layers.rings"):
        with pytest.raises(colonnade.UnsupportedError, match="several versions of the class 'Cluster'"):
            colonnade.import_tree(MEMBERWISE, tmp_path / "to.root", columns=column)
    columns = ["links", "layers.number"]
    assert colonnade.import_tree(MEMBERWISE, tmp_path / "to.root", columns=columns, verify=True).entries == 10


def test_items_that_are_stored_member_by_member(tmp_path):
    """Of vectors that are not split; within other vectors they never are."""
    kinds = [-2, 3, 70000]

    def cluster(seed):
        return {"id": seed, "energy": 0.5 * seed, "at": [seed + 0.25, -seed]}

    def clusters(count, seed):
        return [cluster(seed + k) for k in range(count)]

    def steps(count, seed):
        return [
            cluster(seed + k)
            | {"name": "a" * (300 if k == 1 else k), "element": {"id": seed, "x": 2.0 * k}}
            | {"label": "b" * k, "hits": [seed] * k, "last": k + 1 == count}
            for k in range(count)
        ]

    def layer(e, k):
        return {
            "number": 10 * e + k,
            "kinds": kinds[: (e + k) % 4],
            "clusters": clusters((e + k) % 4, e),
            "steps": steps((e + 2 * k) % 4, 100 + e),
            "links": [{"to": e - i} for i in range((e + k) % 3)],
            "rings": [{"clusters": clusters(i + 1, 7 * e), "names": ["x", "y" * i]} for i in range(k)],
        }

    report = colonnade.import_tree(MEMBERWISE, tmp_path / "copy.root", verify=True, step_size="500 B")
    assert not report.skipped
    for found in (colonnade.open(MEMBERWISE), colonnade.open(tmp_path / "copy.root")):
        assert found["layers"].to_list() == [[layer(e, k) for k in range(e % 4)] for e in range(10)]
        single = [layer(e, 3) for e in range(10)]
        assert found["layer"].to_list() == single
        assert found["cluster"].to_list() == [cluster(e) for e in range(10)]
        assert found["named"]["fName"].to_list() == [
            ["n" * (300 * k) for k in range(e % 3)] for e in range(10)
        ]
        assert found["named"]["fTitle"].to_list() == [["t" * e] * (e % 3) for e in range(10)]
        assert found["alone"].to_list() == [
            {"number": e, "elements": [{"id": 10 * e, "x": 0.5 * e}], "kinds": kinds[: e % 4]}
            for e in range(10)
        ]
        for name in ("clusters", "steps", "links"):
            assert found[name].to_list() == [each[name] for each in single]


def test_enums_without_negative_values():
    """In dictionaries that are compiled they are stored as unsigned integers, of which the bits are the same."""
    streamers = importlib.import_module("colonnade.importing.streamers")
    with uproot.open(MEMBERWISE) as file:
        element = next(each for each in file.file.streamers["Alone"][1].elements if each.name == "kinds")
        element._members["fCtype"] = 13
        streamers.mend_streamers(file.file)
        assert element.typename == "vector<unsigned int>"


def test_objects_in_an_object_that_is_split_once(tmp_path):
    """ROOT stores them with headers, also within others, which are no values."""
    report = colonnade.import_tree(
        MEMBERS, tmp_path / "copy.root", skip_unreadable=True, verify=True, step_size="50 B"
    )
    assert [one.reason for one in report.skipped] == ["ROOT has stored none of its values"]
    with pytest.warns(colonnade.LeftOutWarning, match="'points/_M_elems"):
        tree = colonnade.open(MEMBERS)
    for found in (tree, colonnade.open(tmp_path / "copy.root")):
        assert found["o"].to_list() == [
            {
                "before": e,
                "point": {"id": 10 + e, "x": 0.5 * e, "y": 0.25 * e},
                "vector": {"fX": e, "fY": e + 1, "fZ": e + 2},
                "pair": {"first": 20 + e, "second": {"id": 30 + e, "x": 1.5 * e, "y": 2.5 * e}},
                "nested": {"fCoordinates": {"fX": 40 + e, "fY": 41 + e, "fZ": 42 + e}},
                "after": -e,
            }
            for e in range(9)
        ]
        assert found["whole"].to_list() == [{"number": e, "mark": 10 * e} for e in range(9)]
        assert found["split.Numbered.number"].to_list() == list(range(9))
        assert found["split.mark"].to_list() == list(range(0, 90, 10))
        letters = [ord(letter) for letter in "abcdefghi"]
        assert found["letters.letters"].to_list() == [letters[:e] for e in range(9)]


def test_branches_of_several_leaves(tmp_path):
    """Arrays among them have their dimensions, also those of one value."""
    report = colonnade.import_tree(
        LEAVES, tmp_path / "copy.root", verify=True, step_size="200 B", skip_unreadable=True
    )
    assert [one.branch for one in report.skipped] == ["counted", "named"]
    assert "arrays whose lengths vary" in report.skipped[0].reason
    with pytest.warns(colonnade.LeftOutWarning, match="counted"):
        opened = colonnade.open(LEAVES)
    for found in (opened, colonnade.open(tmp_path / "copy.root")):
        assert str(found.schema["hit"]["at"].type) == "std::array<std::array<double,3>,2>"
        assert str(found.schema["one"]["one"].type) == "std::array<std::uint16_t,1>"
        assert found["one"].to_list() == [{"one": [e], "two": 10 * e} for e in range(10)]
        assert found["hit"].to_list() == [
            {
                "at": [[e + 0.125 * k for k in row] for row in (range(3), range(3, 6))],
                "time": -(1 << 40) * e,
                "charge": -0.5 * e,
                "id": [65000 + e],
                "good": [(e + k) % 2 == 1 for k in range(3)],
                "flag": 200 + e,
            }
            for e in range(10)
        ]


def test_baskets_with_sizes_of_entries(tmp_path):
    """Instead of offsets, or with neither: where entries begin follows from a counter, whose baskets are others."""
    report = colonnade.import_tree(OFFSETS, tmp_path / "copy.root", verify=True, step_size="500 B")
    assert not report.skipped
    for found in (colonnade.open(OFFSETS), colonnade.open(tmp_path / "copy.root")):
        texts = ["x" * (e % 7) for e in range(100)]
        expected = {
            "x": [[10 * e + i for i in range(e % 4)] for e in range(100)],
            "n_items.grid": [
                [[10 * e + i + 0.25, 10 * e + i + 0.5] for i in range(e % 4)] for e in range(100)
            ],
            "y": [[-10 * e - i for i in range(e % 3)] for e in range(100)],
            "c_text": texts,
            "text": texts,
            "list": [[e] * (e % 5) for e in range(100)],
            "texts": [[texts[e]] * (e % 3) for e in range(100)],
            "o.text": [[text] * 2 for text in texts],
            "o.numbers": [[[e] * (e % 2), []] for e in range(100)],
        }
        assert {name: found[name].to_list() for name in expected} == expected


@pytest.mark.parametrize(
    ("place", "form", "value", "reason"),
    [
        (0, ">i", 1 << 30, r"a basket of \d+ bytes claims 1073741824, of which \d+ are its key"),
        (6, ">i", (1 << 31) - 1, r"compressed blocks of \d+ bytes claim 2147483647"),
        (14, ">h", 2000, r"a basket of \d+ bytes claims \d+, of which 2000 are its key"),
        (-9, ">i", 1, r"a basket claims 1 entries, and its branch \d+"),
        (-5, ">i", 1 << 24, r"a basket of \d+ bytes claims values up to 16777216"),
    ],
)
def test_baskets_that_claim_other_sizes_than_they_have(tmp_path, place, form, value, reason):
    """What they claim may be hundreds of millions, which no step takes memory for, nor the time to look at."""
    with uproot.open(OFFSETS) as file:
        seek = int(file["Events"]["grid"].member("fBasketSeek")[0])
    content = bytearray(OFFSETS.read_bytes())
    end = struct.unpack_from(">h", content, seek + 14)[0]
    struct.pack_into(form, content, seek + (place if place >= 0 else end + place), value)
    (tmp_path / "damaged.root").write_bytes(content)
    with pytest.raises(colonnade.FormatError, match=rf"'grid'.*{reason}"):
        colonnade.import_tree(tmp_path / "damaged.root", tmp_path / "to.root")


@pytest.mark.parametrize(
    ("array", "number", "value", "reason"),
    [
        ("fBasketSeek", 1, None, "it has a basket at the place of another one"),  # uproot waits forever
        ("fBasketEntry", 1, 1 << 40, "its baskets are not in the order of entries"),
        ("fBasketBytes", 1, -1, "it has a basket of negative size"),
    ],
)
def test_branches_that_claim_impossible_baskets(tmp_path, array, number, value, reason):
    path = tmp_path / "damaged.root"
    with uproot.recreate(path, compression=None) as file:
        tree = file.mktree("t", {"x": "int32"})
        for begin in range(3):
            tree.extend({"x": np.arange(begin, begin + 5, dtype=np.int32)})
    with uproot.open(path) as file:
        places = file["t"]["x"].member(array)[:3]
    content = path.read_bytes()
    damaged = places.copy()
    damaged[number] = damaged[0] if value is None else value
    assert content.count(places.tobytes()) == 1
    path.write_bytes(content.replace(places.tobytes(), damaged.tobytes()))
    with pytest.raises(colonnade.UnsupportedError, match=f"'x'.*{reason}"):
        colonnade.import_tree(path, tmp_path / "to.root")


@pytest.mark.parametrize("count", [5, 1 << 29, (1 << 32) - 1])
def test_lists_that_claim_more_items_than_they_have_bytes(count):
    """uproot would take 4 GiB of memory for half a billion items before it looks for the first one."""
    bounds = importlib.import_module("colonnade.importing.bounds")
    texts = uproot.containers.AsVector(False, uproot.containers.AsString(False))
    for model in (texts, uproot.containers.AsVector(False, np.dtype(">f8"))):
        entry = count.to_bytes(4, "big") + b"\x01a\x01b"
        chunk = uproot.source.chunk.Chunk.wrap(None, np.frombuffer(entry, np.uint8))
        cursor = uproot.source.cursor.Cursor(0)
        with pytest.raises(ValueError, match=f"an entry claims {count} items"):
            bounds.bounded(model).read(chunk, cursor, {}, None, None, None)


@pytest.mark.parametrize(
    ("kind", "offsets", "reason"),
    [
        ("AsJagged", [0, 80, 40, 120], "the offsets of a basket are not in order"),
        ("AsStrings", [0, 3, 3, 4], "an entry ends within the length of its text"),
    ],
)
def test_offsets_of_baskets_that_no_lists_have(kind, offsets, reason):
    class Basket:
        num_entries = 3

        def member(self, _):
            return 70

    of_uproot = {
        "AsJagged": uproot.interpretation.jagged.AsJagged(uproot.interpretation.numerical.AsDtype(">f4")),
        "AsStrings": uproot.interpretation.strings.AsStrings(),
    }[kind]
    of_uproot.__class__ = importlib.import_module("colonnade.importing.interpretations")._MENDED[
        type(of_uproot)
    ]
    data = np.frombuffer(b"\x02ab\xff" + bytes(116), np.uint8)
    with pytest.raises(ValueError, match=reason):
        of_uproot.basket_array(data, np.array(offsets), Basket(), None, {}, 70, None, {})


def test_written_by_uproot(tmp_path):
    source = tmp_path / "uproot.root"
    random = np.random.default_rng(2)
    lists = ak.Array([list(random.normal(size=n)) for n in random.integers(0, 4, size=500)])
    ids = ak.values_astype(ak.local_index(lists), np.int16)
    with uproot.recreate(source) as file:
        tree = file.mktree(
            "dir/t",
            {
                "x": "float64",
                "b": "bool",
                "arr": "2 * int8",
                "jet": ak.zip({"pt": lists, "id": ids}).type.content,
            },
        )
        for begin in (0, 200):
            part = slice(begin, 200 if begin == 0 else 500)
            size = part.stop - part.start
            tree.extend(
                {
                    "x": np.where(np.arange(size) % 7 == 0, np.nan, -0.0),
                    "b": np.arange(size) % 2 == 0,
                    "arr": np.arange(2 * size, dtype=np.int8).reshape(-1, 2),
                    "jet": ak.zip({"pt": lists[part], "id": ids[part]}),
                }
            )
    assert colonnade.trees(source) == ["dir/t"]
    report = colonnade.import_tree(source, tmp_path / "to.root", verify=True)
    assert report.data_set == "dir/t"
    assert report.renamed == {"jet_pt": "jet.pt", "jet_id": "jet.id"}
    assert report.projected == ("njet", "jet_pt", "jet_id")
    data_set = colonnade.open(tmp_path / "to.root")
    assert data_set["jet.pt"].to_list() == lists.to_list()
    assert (
        np.asarray(data_set["x"]).tobytes()
        == np.where(np.concatenate([np.arange(200), np.arange(300)]) % 7 == 0, np.nan, -0.0).tobytes()
    )
    assert_as_uproot(source, "dir/t", data_set, report)


if TREES:  # the collection is not everywhere

    @pytest.mark.parametrize("path", TREES, ids=lambda path: path.name)
    def test_public_samples(path, tmp_path):
        (name,) = colonnade.trees(path)
        report = colonnade.import_tree(path, tmp_path / "to.root", step_size="1 MB", verify=True)
        assert report.verified
        data_set = colonnade.open(tmp_path / "to.root")
        assert_as_uproot(path, name, data_set, report)
        with uproot.open(path) as file:
            for counter in {"nMuon", "NMuon"} & set(file[name].keys()):
                assert data_set[counter].to_list() == file[name][counter].array().to_list()
                assert "Muon" in report.fields


# ---- Several sources, several steps


def test_several_become_one(tmp_path):
    report = colonnade.import_tree(
        [TREE, f"{TREE}:Events", (TREE, "Events")], tmp_path / "to.root", destination_name="All", verify=True
    )
    assert report.entries == 120
    assert len(report.trees) == 3
    assert (
        colonnade.open(tmp_path / "to.root", "All")["i32"].to_list()
        == branch_values(TREE, "Events", "i32") * 3
    )
    for name in ("1.root", "2.root"):
        shutil.copy(TREE, tmp_path / name)
    report = colonnade.import_tree(f"{tmp_path}/[12].root:Events", tmp_path / "two.root", columns="i32")
    assert report.entries == 80
    assert len(report.trees) == 2


def simple_tree(path, **columns):
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", {name: values.dtype for name, values in columns.items()})
        tree.extend(columns)
    return path


def test_trees_without_branches_are_passed_over(tmp_path):
    none = f"{FIXTURES / 'trees' / 'no_branches.root'}:Events"
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("Events", {"x": "int32"}).extend({"x": np.arange(3)})
    tree = tmp_path / "tree.root"
    for sources in ([none, tree], [tree, none], [none, tree, none]):
        assert colonnade.import_tree(sources, tmp_path / "to.root", overwrite=True).entries == 3
    for sources in ([none], [none, none]):
        with pytest.raises(colonnade.UnsupportedError, match="there is no branch to import"):
            colonnade.import_tree(sources, tmp_path / "none.root")


def test_other_branches_are_refused(tmp_path):
    first = simple_tree(tmp_path / "1.root", x=np.arange(3), y=np.arange(3))
    second = simple_tree(tmp_path / "2.root", x=np.arange(3))
    third = simple_tree(tmp_path / "3.root", x=np.arange(3), y=np.arange(3.0))
    with pytest.raises(colonnade.SchemaError, match="'y' is in one and not in the other"):
        colonnade.import_tree([first, second], tmp_path / "to.root")
    with pytest.raises(colonnade.SchemaError, match="'y' is double, not std::int64_t"):
        colonnade.import_tree([first, third], tmp_path / "to.root")
    assert not (tmp_path / "to.root").exists()
    assert colonnade.import_tree([first, second, third], tmp_path / "to.root", columns="x").entries == 9


def test_the_order_of_branches_may_differ(tmp_path):
    first = simple_tree(tmp_path / "1.root", x=np.arange(3), y=np.arange(3) / 2)
    second = simple_tree(tmp_path / "2.root", y=np.arange(3) / 4, x=-np.arange(3))
    report = colonnade.import_tree([first, second], tmp_path / "to.root", verify=True)
    assert report.fields == ("x", "y")
    found = colonnade.open(tmp_path / "to.root")
    assert found["x"].to_list() == [0, 1, 2, 0, -1, -2]
    assert found["y"].to_list() == [0, 0.5, 1, 0, 0.25, 0.5]


def large_tree(path, entries=200_000):
    with uproot.recreate(path, compression=None) as file:
        tree = file.mktree("Events", {"x": "float64", "n": "int32"})
        for begin in range(0, entries, 10_000):
            tree.extend({"x": np.arange(begin, begin + 10_000) / 3, "n": np.arange(begin, begin + 10_000)})
    return path


def test_memory_is_bounded(tmp_path, monkeypatch):
    """No step has more than the size asked for, and no more than three steps are alive at a time."""
    source = large_tree(tmp_path / "large.root")
    largest, alive, most = 0, 0, 0
    steps = importing._Import._steps

    class Counted(dict):
        def __del__(self):
            nonlocal alive
            alive -= 1

    def counted(self, *arguments):
        nonlocal largest, alive, most
        for columns, count in steps(self, *arguments):
            largest = max(largest, sum(column.nbytes for column in columns.values()))
            alive += 1
            most = max(most, alive)
            yield Counted(columns), count

    monkeypatch.setattr(importing._Import, "_steps", counted)
    report = colonnade.import_tree(source, tmp_path / "to.root", step_size="100 kB", verify=True)
    assert report.steps >= 24
    assert largest <= 100_000
    assert most <= 4


def test_progress_is_told(tmp_path):
    seen = []
    colonnade.import_tree(TREE, tmp_path / "to.root", step_size="5 kB", verify=True, progress=seen.append)
    done = [state.entries for state in seen if not state.verifying]
    assert done == sorted(done)
    assert done[-1] == 40
    assert all(state.total_entries == 40 for state in seen)
    assert seen[-1].verifying
    assert seen[-1].entries == 40
    assert seen[-1].bytes_read > 10_000


# ---- Interrupts


def test_a_stopped_import_is_resumed(tmp_path):
    source, to = large_tree(tmp_path / "large.root"), tmp_path / "to.root"
    options = {"step_size": "100 kB", "cluster_size": "50 kB", "checkpoint_every": 1}
    report = colonnade.import_tree(source, to, progress=lambda state: state.entries < 50_000, **options)
    assert report.interrupted
    assert 50_000 <= report.entries < 60_000
    assert colonnade.open(to).num_entries == report.entries
    with pytest.raises(colonnade.UsageError, match="to continue an interrupted import"):
        colonnade.import_tree(source, to, **options)
    again = colonnade.import_tree(source, to, resume=True, verify=True, **options)
    assert again.resumed_entries == report.entries
    assert (again.entries, again.verified, again.interrupted) == (200_000, True, False)
    with uproot.open(to) as file:
        assert np.array_equal(np.asarray(file["Events"].arrays().n), np.arange(200_000))
    third = colonnade.import_tree(source, to, resume=True, verify=True, **options)
    assert (third.resumed_entries, third.steps, third.verified) == (200_000, 0, True)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("store", [False, True])
def test_an_interrupt_leaves_what_the_last_checkpoint_holds(tmp_path, store):
    source = large_tree(tmp_path / "large.root")
    to = f"obj://{tmp_path / 'store'}" if store else str(tmp_path / "to.root")
    main = threading.main_thread().ident

    def interrupt(state):
        if state.entries >= 100_000:
            signal.pthread_kill(main, signal.SIGINT)

    options = {"step_size": "100 kB", "cluster_size": "50 kB", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        colonnade.import_tree(source, to, progress=interrupt, **options)
    entries = colonnade.open(to).num_entries
    assert 0 < entries <= 110_000
    report = colonnade.import_tree(source, to, resume=True, verify=True, **options)
    assert report.resumed_entries == entries
    assert np.array_equal(np.asarray(colonnade.open(to)["n"]), np.arange(200_000))


def test_without_checkpoints_nothing_is_left(tmp_path):
    to = tmp_path / "to.root"
    options = {"step_size": "5 kB", "checkpoint_every": None}
    report = colonnade.import_tree(TREE, to, progress=lambda _: False, **options)
    assert report.interrupted
    assert report.entries == 0
    assert not to.exists()

    def fail(state):
        raise LookupError("stop here")

    with pytest.raises(LookupError, match="stop here"):
        colonnade.import_tree(TREE, to, progress=fail, **options)
    assert not to.exists()
    assert colonnade.import_tree(TREE, to, resume=True, **options).entries == 40


def test_only_the_beginning_of_an_import_is_resumed(tmp_path):
    first = simple_tree(tmp_path / "1.root", x=np.arange(100))
    other = simple_tree(tmp_path / "2.root", x=np.arange(200) + 1)
    to = tmp_path / "to.root"
    colonnade.import_tree(first, to)
    before = to.read_bytes()
    with pytest.raises(colonnade.UsageError, match=r"does not hold the beginning.*entry 0"):
        colonnade.import_tree(other, to, resume=True)
    with pytest.raises(colonnade.UsageError, match="it has 100 entries, the sources 50"):
        colonnade.import_tree(simple_tree(tmp_path / "3.root", x=np.arange(50)), to, resume=True)
    with pytest.raises(colonnade.UsageError, match="other fields"):
        colonnade.import_tree(simple_tree(tmp_path / "4.root", y=np.arange(100)), to, resume=True)
    assert to.read_bytes() == before
    report = colonnade.import_tree([first, other], to, resume=True, verify=True)
    assert (report.resumed_entries, report.entries) == (100, 300)
    report = colonnade.import_tree(other, to, resume=True, overwrite=True, verify=True)
    assert (report.resumed_entries, report.entries) == (0, 200)


# ---- What goes wrong


def test_verify_finds_another_value(tmp_path, monkeypatch):
    to = tmp_path / "to.root"
    append = importing._Writer._append

    def wrong(self, arrays):
        path, role, element, values = arrays[0]
        changed = values.copy()
        changed[7] += 1
        append(self, [(path, role, element, changed), *arrays[1:]])

    source = simple_tree(tmp_path / "1.root", x=np.arange(100), y=np.arange(100.0))
    monkeypatch.setattr(importing._Writer, "_append", wrong)
    colonnade.import_tree(source, to)
    with pytest.raises(
        colonnade.FormatError, match="the values of entry 7 differ from those of the tree"
    ) as caught:
        colonnade.import_tree(source, to, overwrite=True, verify=True)
    assert caught.value.field == "x"


def test_verify_finds_a_damaged_destination(tmp_path):
    source, to = (
        simple_tree(tmp_path / "1.root", x=np.random.default_rng(1).normal(size=50_000)),
        tmp_path / "to.root",
    )
    size = None

    def damage(state):
        nonlocal size
        if state.verifying and size is None:
            content = bytearray(to.read_bytes())
            size = len(content)
            content[size // 2] ^= 0xFF
            to.write_bytes(content)

    with pytest.raises(colonnade.ChecksumError):
        colonnade.import_tree(source, to, verify=True, step_size="40 kB", page_size="4 KiB", progress=damage)


def test_what_is_there_stays(tmp_path):
    to = tmp_path / "to.root"
    colonnade.import_tree(TREE, to, columns="i32")
    before = to.read_bytes()
    with pytest.raises(colonnade.UsageError, match="already exists"):
        colonnade.import_tree(TREE, to)
    with pytest.raises(colonnade.NotFoundError, match=r"no branch 'i3'.*i32"):
        colonnade.import_tree(TREE, to, columns="i3", overwrite=True)
    with pytest.raises(colonnade.NotFoundError, match=r"no TTree 'None'.*Events"):
        colonnade.import_tree(TREE, to, "None", overwrite=True)
    with pytest.raises(colonnade.FileMissingError):
        colonnade.import_tree(tmp_path / "none.root", to, overwrite=True)
    with pytest.raises(colonnade.UsageError):
        colonnade.import_tree([], to, overwrite=True)
    with pytest.raises(colonnade.UsageError):
        colonnade.import_tree(TREE, to, overwrite=True, step_size="much")
    assert to.read_bytes() == before
    colonnade.import_tree(TREE, to, destination_name="Second", columns="u8")
    assert sorted(colonnade.datasets(to)) == ["Events", "Second"]
    colonnade.import_tree(TREE, to, destination_name="Third", overwrite=True, columns="u8")
    assert colonnade.datasets(to) == ["Third"]


def test_the_source_is_not_replaced(tmp_path):
    source = simple_tree(tmp_path / "1.root", x=np.arange(3))
    before = source.read_bytes()
    with pytest.raises(colonnade.UsageError, match="replace the source"):
        colonnade.import_tree(source, source, overwrite=True)
    assert source.read_bytes() == before


def test_members_of_objects_that_are_not_split(tmp_path):
    """Of base classes, of items of vectors and of a TClonesArray, too: arrays, lists of objects, reduced numbers."""

    def cluster(seed):
        return {"id": seed, "energy": 0.5 * seed, "at": [seed + 0.25, -seed]}

    def reading(e):
        numbers = {"flag": e, "time": 0.5 * e, "energy": 0.25 * e, "count": 7 * e, "angle": 0.125 * e}
        return numbers | {"sides": [1, 0.5 * e, -2], "table": [0.25 * e, 4]}

    def vertex(e):
        return {
            "number": 65536 + e,
            "clusters": [cluster(e + k) for k in range(e % 3)],
            "groups": [[{"id": e, "x": 0.5 * e}]] * (e % 4),
            "ends": [{"id": e + k, "x": 1.5 * k} for k in range(2)],
            "kinds": [-2, 3, 70000][: e % 4],
            "reading": reading(e),
            "sides": [[{"id": e, "x": 0.5 * k}] * (k + e % 2) for k in range(2)],
            "single": [[e] * (e % 3)],
            "names": ["n" * e, "n" * (e + 1)],
            "labels": ["l" * e, "l" * (e + 1)],
        }

    def tracks(e):
        return [
            {"id": e + k, "cluster": cluster(e), "x": [e] * k, "name": "t" * (300 if k == 1 else k)}
            for k in range(e % 3)
        ]

    report = colonnade.import_tree(UNSPLIT, tmp_path / "copy.root", verify=True, step_size="500 B")
    assert not report.skipped
    for found in (colonnade.open(UNSPLIT), colonnade.open(tmp_path / "copy.root")):
        for e, entry in enumerate(found.arrays().to_list()):
            vertices = [vertex(e + k) for k in range(e % 4)]
            own = {"inner": vertices, "name": "f" * e}
            assert entry == {
                "fit": vertex(e) | own,
                "once": {"Vertex": vertex(e)} | own,
                "vertices": vertices,
                "halves": [{"number": k, "vertex": vertex(e + k)} for k in range(e % 4)],
                "readings": [reading(e)] * (e % 3),
                "tracks": tracks(e),
                "owner": {"number": e, "tracks": tracks(e)},
            }


def test_arrays_with_a_counter_in_objects_that_are_not_split(tmp_path):
    """uproot does not find the counter among other numbers."""

    def counted(count, value):
        own = {"x": [value + 0.25 * k for k in range(count)], "y": [value - k for k in range(count)]}
        return {"before": value, "count": count, "between": 0.5 * value} | own

    report = colonnade.import_tree(COUNTED, tmp_path / "copy.root", verify=True, step_size="500 B")
    assert not report.skipped
    for found in (colonnade.open(COUNTED), colonnade.open(tmp_path / "copy.root")):
        for e, entry in enumerate(found.arrays().to_list()):
            few = range(e % 3)
            bundle = {
                "number": e,
                "elements": [{"id": e, "x": 0.5 * e}] * (e % 3),
                "one": counted(e % 4, e),
                "many": [counted(k, e) for k in few],
            }
            assert entry == {
                "bundle": bundle,
                "once": bundle,
                "counted": counted(e % 4, e),
                "list": [counted(k, e) for k in few],
            }


def without_tobject(value):
    """Values without the members of TObject, with those of split items as those of their objects, and pairs alike."""
    if isinstance(value, list):
        return [without_tobject(each) for each in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["first", "second"]:
        return tuple(value.values())
    found = {}
    for name, each in value.items():
        if name.startswith("note_"):
            found.setdefault("note", {})[name.removeprefix("note_")] = without_tobject(each)
        elif name != "TObject":
            found[name] = without_tobject(each)
    for members in (found, found.get("note", {})):
        for name in ("fUniqueID", "fBits"):
            members.pop(name, None)
    return found


def test_references_are_the_numbers_of_their_objects(tmp_path):
    """Bits say which objects others refer to, and have more bytes then."""
    colonnade.import_tree(REFERENCES, tmp_path / "copy.root", verify=True, step_size="300 B")
    for opened in (colonnade.open(tmp_path / "copy.root"), colonnade.open(REFERENCES)):
        entries = zip(*(opened[name].to_list() for name in ("parts", "jets", "part", "jet")), strict=True)
        for e, (parts, jets, part, jet) in enumerate(entries):
            numbers = {one["fUniqueID"]: one["pt"] for one in parts if one["fBits"] & 0x10}
            assert sorted(numbers) == sorted(one["fUniqueID"] for one in parts if one["fUniqueID"])
            assert [one["pt"] for one in parts] == [e + k for k in range(e % 4)]
            found = [(one["pt"], one["after"], one["leader"], one["parts"]) for one in jets]
            assert [one[:2] for one in found] == [(10 * e + k, k) for k in range(e % 3)]
            assert [numbers.get(one[2]) for one in found] == [
                e + k if k < e % 4 else None for k in range(e % 3)
            ]
            assert [[numbers[n] for n in one[3]] for one in found] == [
                [e + i for i in range(k, e % 4)] for k in range(e % 3)
            ]
            assert (part["pt"], jet["pt"], jet["after"]) == (e, e, -e)
            assert part["TObject"]["fBits"] & 0x10
            assert jet["leader"] == part["TObject"]["fUniqueID"] > 0
            assert jet["parts"] == [part["TObject"]["fUniqueID"]] * (e % 3)


def test_pointers_in_objects_that_are_not_split_are_told(tmp_path):
    """uproot leaves them out, and so did the import without a word."""
    source = FIXTURES / "trees" / "pointers.root"
    with pytest.raises(
        colonnade.UnsupportedError, match=r"'whole\.best' of type 'Goal\*'.*what pointers in objects"
    ):
        colonnade.import_tree(source, tmp_path / "copy.root")
    report = colonnade.import_tree(source, tmp_path / "copy.root", skip_unreadable=True)
    assert {one.branch for one in report.skipped if one.branch.startswith("whole")} == {
        "whole.best",
        "whole.goal",
    }
    with pytest.warns(colonnade.LeftOutWarning, match=r"'whole\.goal'"):
        opened = colonnade.open(source)
    assert opened.arrays(["whole"])["whole"].to_list() == [{"n": n, "z": 2.5} for n in range(3)]


def test_arrays_with_a_counter_in_lists_that_are_split():
    expected = [[((e + k) % 4, e + k) for k in range((e + 1) % 3)] for e in range(10)]
    assert colonnade.open(REFERENCES)["counted"].to_list() == [
        [
            {
                "before": value,
                "count": size,
                "x": [value + 0.25 * n for n in range(size)],
                "between": 0.5 * value,
                "y": [value - n for n in range(size)],
            }
            for size, value in items
        ]
        for items in expected
    ]


def test_base_classes_without_members():
    opened = colonnade.open(REFERENCES)
    assert opened["one"].to_list() == [{"a": e} for e in range(10)]
    assert opened["many"].to_list() == [[{"a": e}] * (e % 3) for e in range(10)]


def test_members_of_classes_with_blanks_in_their_names():
    opened = colonnade.open(REFERENCES)["tuples"].to_list()
    assert opened == [[{"_0": e, "_1": "x" * e}] * (e % 2) for e in range(10)]


def test_templates_in_objects_that_are_not_split():
    opened = colonnade.open(FIXTURES / "trees" / "templates.root")["wrapper"].to_list()
    for e, one in enumerate(opened):
        numbers = [e + 0.5] * (e % 3)
        items = [{"key": -e, "target": numbers}] * e
        assert one == {"present": e % 2 == 1, "items": items, "groups": [(e, numbers), (7, [])]}


def test_references_that_are_cut_or_by_uuid():
    references = importlib.import_module("colonnade.importing.references")
    tref = bytes.fromhex("0001 00000007 00000000 0001")
    data = np.frombuffer(tref * 2, np.uint8)
    assert list(references._values(data, np.array([0, 0, 24]), references._reference)) == [
        [],
        [b"\0\0\0\7"] * 2,
    ]
    with pytest.raises(ValueError, match="ends within a reference"):
        list(references._values(data[:-1], np.array([0, 12, 23]), references._reference))
    uuid = np.frombuffer(tref[:9] + b"\x20" + tref[10:], np.uint8)
    with pytest.raises(ValueError, match="by UUID"):
        list(references._values(uuid, np.array([0, 12]), references._reference))


def test_lists_in_the_items_of_lists(tmp_path):
    """uproot reads no lists in lists that are stored member by member, nor arrays of objects in the items of lists."""

    def page(e):
        return {"a": e, "rows": [[e + k] * (k + e % 2) for k in range(e % 3)]}

    def note(e):
        return {"t": e, "queue": [0.5 * e] * (e % 3), "some": [e]}

    def folder(e):
        return {
            "pages": [page(e)] * (e % 3),
            "two": [page(e), page(e + 1)],
            "one": [page(e + 2)],
            "table": [[page(e), page(e + 1)], [page(e + 2), page(e + 3)]],
            "pairs": [(e, f"p{e}")] * (e % 4),
            "many": [-1, e, e],
            "note": note(e),
            "notes": [note(e), note(e + 1)],
        }

    with pytest.raises(
        colonnade.UnsupportedError, match=r"'pointing'.* references to other objects \(TRef\)"
    ):
        colonnade.import_tree(NESTED, tmp_path / "whole.root")
    report = colonnade.import_tree(NESTED, tmp_path / "copy.root", skip_unreadable=True, verify=True)
    assert [one.branch for one in report.skipped] == ["pointing"]
    with pytest.warns(colonnade.LeftOutWarning, match="TRef"):
        opened = colonnade.open(NESTED)
    for found in (opened, colonnade.open(tmp_path / "copy.root")):
        for e, entry in enumerate(found.arrays().to_list()):
            several = [folder(e + k) for k in range((e + 1) % 3)]
            assert without_tobject(entry) == {
                "whole": folder(e),
                "split": folder(e),
                "once": folder(e),
                "items": several,
                "vector": several,
                "note": note(e),
                "a_note": note(e),
            }


@pytest.mark.parametrize("tree", ["plain", "features"])
def test_maps_enums_and_branches_that_were_added_later(tmp_path, tree):
    """uproot reads no empty maps of texts, knows the size of no enum, and expects that branches begin at entry 0."""

    def words(e):
        few = range(e % 3)
        return {
            "number": e,
            "counts": [("c" * (k + 1), e) for k in few],
            "names": [(k - 1, "n" * e) for k in few],
            "same": [("s" * k, "" if k else "first") for k in few],
        }

    def vectors(e):
        return [{"fX": e, "fY": k, "fZ": 0.5 * e} for k in range(e % 3)]

    report = colonnade.import_tree((MAPS, tree), tmp_path / "copy.root", verify=True, step_size="500 B")
    assert not report.skipped
    for found in (colonnade.open(MAPS, tree), colonnade.open(tmp_path / "copy.root")):
        assert found.schema["kinds"].type == "std::vector<std::int32_t>"
        assert found.schema["set"].type == "std::set<std::int32_t>"
        for e, entry in enumerate(found.arrays().to_list()):
            few, kinds = range(e % 3), [-2, 3, 70000][: e % 4]
            late = e if e >= 4 else 0
            assert entry == {
                "keeper": {"number": e, "vectors": vectors(e)},
                "vectors": vectors(e + 1),
                "words": words(e),
                "split": words(e),
                "lists": [("l" * k, [e] * k) for k in few],
                "nested": [("k" * k, [("a", e), ("b", 0.5 * e)] if k else []) for k in few],
                "many": [[("high", 2**64 - 1 - e)] if k else [] for k in range(e % 4)],
                "list": [words(e + k) for k in range(e % 4)],
                "items": [words(e + k) for k in range(e % 4)],
                "kinds": kinds,
                "set": kinds,
                "n": late % 3,
                "x": [e + k for k in range(late % 3)],
                "text": "t" * late,
            }


def test_what_is_no_tree(tmp_path):
    (tmp_path / "text.root").write_text("no ROOT file, only a text")
    with pytest.raises(colonnade.FormatError, match="not a ROOT file"):
        colonnade.import_tree(tmp_path / "text.root", tmp_path / "to.root")
    with pytest.raises(colonnade.NotFoundError, match="no TTree"):
        colonnade.import_tree(FIXTURES / "types_basic.root", tmp_path / "to.root")
    two = tmp_path / "two.root"
    with uproot.recreate(two) as file:
        for name in ("a", "b"):
            file.mktree(name, {"x": "int32"}).extend({"x": [1]})
    with pytest.raises(colonnade.UsageError, match=r"2 TTrees.*a, b"):
        colonnade.import_tree(two, tmp_path / "to.root")
    assert colonnade.import_tree(f"{two}:b", tmp_path / "to.root").data_set == "b"


def test_files_that_were_not_closed(tmp_path):
    """Their headers may tell an end before the list of what is in a folder."""
    path, content = tmp_path / "t.root", bytearray(TREE.read_bytes())
    with uproot.open(TREE) as file:
        content[12:16] = file._fSeekKeys.to_bytes(4, "big")
    path.write_bytes(content)
    assert colonnade.trees(path) == ["Events"]
    assert colonnade.open(path)["i32"].to_list() == branch_values(TREE, "Events", "i32")


def unclosed_tree(path, saved):
    """A file whose writer was killed: there is no list of what is in it."""
    content = bytearray(TREE.read_bytes())
    with uproot.open(TREE) as file:
        at = content.index(file._fSeekKeys.to_bytes(4, "big"), file._cursor.index)
    content[at : at + 4] = bytes(4)
    path.write_bytes(content if saved else content.replace(b"\5TTree\6Events", b"\5TXxxx\6Events"))
    return path


def test_trees_of_a_file_whose_writer_stopped(tmp_path):
    """ROOT finds them between the other bytes of the file."""
    path = unclosed_tree(tmp_path / "t.root", saved=True)
    with pytest.warns(
        colonnade.LeftOutWarning, match="not closed by its writer: trees have the entries that were saved"
    ):
        assert colonnade.trees(path) == ["Events"]
    with pytest.warns(colonnade.LeftOutWarning):
        assert colonnade.open(path)["i32"].to_list() == branch_values(TREE, "Events", "i32")
    with pytest.warns(colonnade.LeftOutWarning):
        assert colonnade.import_tree(path, tmp_path / "to.root", columns="i32", verify=True).entries == 40
    with pytest.warns(colonnade.LeftOutWarning):
        assert colonnade.DataFrame("Events", path).count().value == 40
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.warns(colonnade.LeftOutWarning):
        assert colonnade.trees(f"file:{path}") == ["Events"]


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("x", "the values of entry 7 differ from those of the tree"),
        ("ny", "the values of entry 7 differ from those of the tree"),
        (None, "there are 3 entries, but the sources have 10"),
    ],
)
def test_verification_finds_what_storage_has_changed(tmp_path, monkeypatch, field, problem):
    with uproot.recreate(tmp_path / "t.root") as file:
        file.mktree("Events", {"x": "int64", "y": "var * float64"})
        file["Events"].extend({"x": np.arange(10), "y": ak.Array([[1.5]] * 10)})

    class Changed(importing.DataSet):
        def arrays(self, *arguments, **named):
            found = super().arrays(*arguments, **named)
            if field in found.fields:
                ones = np.arange(len(found)) == 7
                found[field] = ak.values_astype(found[field] + ones, ak.type(found[field]).content.primitive)
            return found

        @property
        def num_entries(self):
            return super().num_entries if field else 3

    monkeypatch.setattr(importing, "DataSet", Changed)
    with pytest.raises(colonnade.FormatError, match=problem) as found:
        colonnade.import_tree(tmp_path / "t.root", tmp_path / "to.root", verify=True)
    assert found.value.field == field


def test_trees_behind_free_space_of_a_file_whose_writer_stopped(tmp_path):
    """Removed objects leave space whose first number is its negative size."""
    path = unclosed_tree(tmp_path / "t.root", saved=True)
    content = bytearray(path.read_bytes())
    basket = content.index(b"\7TBasket\3i64") - 26
    size = int.from_bytes(content[basket : basket + 4], "big")
    content[basket : basket + 4] = (-size).to_bytes(4, "big", signed=True)
    path.write_bytes(content)
    with pytest.warns(colonnade.LeftOutWarning):
        assert colonnade.trees(path) == ["Events"]
    with pytest.warns(colonnade.LeftOutWarning):
        assert colonnade.open(path)["i32"].to_list() == branch_values(TREE, "Events", "i32")


def test_a_file_whose_writer_stopped_says_so(tmp_path):
    path = unclosed_tree(tmp_path / "t.root", saved=False)
    assert colonnade.trees(path) == []
    told = r"there is no {}: the file was not closed by its writer"
    for name, read, what in (
        ("Events", colonnade.open, 'data set "Events"'),
        ("Events", lambda *place: colonnade.DataFrame(*place[::-1]), 'data set "Events"'),
        ("Events", lambda *place: colonnade.import_tree(place, tmp_path / "to.root"), "TTree 'Events'"),
        (None, lambda path, _: colonnade.import_tree(path, tmp_path / "to.root"), "TTree"),
    ):
        with pytest.raises(colonnade.NotFoundError, match=told.format(what)):
            read(path, name)
    with pytest.raises(colonnade.NotFoundError, match="has no data set: it was not closed"):
        colonnade.open(path)


def test_a_branch_keeps_a_name_that_others_would_get(tmp_path):
    """RDataFrame's snapshots write "a_b" for "a.b", perhaps beside it."""
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("t", {"a.b": "int32", "a_b": "int32", "a b": "int32"})
        file["t"].extend({"a.b": np.array([1]), "a_b": np.array([2]), "a b": np.array([3])})
    data_set = colonnade.open(tmp_path / "tree.root", "t")
    frame = colonnade.DataFrame("t", tmp_path / "tree.root")
    for value, name in enumerate(["a.b", "a_b", "a b"], 1):
        assert data_set[name].to_list() == [value]
        assert frame.take(name).value.tolist() == [value]


def test_names_of_trees_become_names_of_data_sets(tmp_path):
    with uproot.recreate(tmp_path / "t.root") as file:
        file.mktree("a dir/my tree.v2", {"x": "int32"}).extend({"x": [1, 2]})
    report = colonnade.import_tree(tmp_path / "t.root", tmp_path / "f.root", verify=True)
    assert report.data_set == "a dir/my_tree_v2"
    assert colonnade.open(tmp_path / "f.root", "a dir/my_tree_v2")["x"].to_list() == [1, 2]
    assert colonnade.open(tmp_path / "t.root", "a dir/my tree.v2")["x"].to_list() == [1, 2]


def test_names_with_semicolons(tmp_path):
    """Only a number after one is a cycle."""
    path = tmp_path / "t.root"
    with uproot.recreate(path) as file:
        file.mktree("a;b/c;d", {"x": "int32"}).extend({"x": [1, 2]})
    assert colonnade.trees(path) == ["a;b/c;d"]
    for name in (None, "a;b/c;d", "a;b/c;d;1"):
        assert colonnade.open(path, name)["x"].to_list() == [1, 2]
    report = colonnade.import_tree((path, "a;b/c;d"), tmp_path / "to.root")
    assert report.data_set == "a;b/c;d"
    with pytest.raises(colonnade.NotFoundError, match="a;b/c;d;2"):
        colonnade.import_tree((path, "a;b/c;d;2"), tmp_path / "none.root")


def test_a_tree_beside_a_newer_object_of_its_name(tmp_path):
    path = tmp_path / "t.root"
    with uproot.recreate(path) as file:
        file.mktree("a", {"x": "i8"}).extend({"x": np.arange(3)})
        file["b"] = np.histogram([1.0, 2.0])
    # uproot would remove the tree; ROOT makes a second cycle of the name.
    key = re.compile(rb"\x00\x01(.{8}\x04TH1D\x01)b", re.DOTALL)
    changed, count = key.subn(lambda found: b"\0\x02" + found[1] + b"a", path.read_bytes())
    assert count == 2
    path.write_bytes(changed)
    assert colonnade.trees(path) == ["a"]
    for name in "a", "a;1":
        assert colonnade.open(path, name)["x"].tolist() == [0, 1, 2]
    with pytest.raises(colonnade.NotFoundError, match="no TTree 'a;2'"):
        colonnade.import_tree((path, "a;2"), tmp_path / "new.root")


def test_names_of_trees_and_folders_may_have_colons(tmp_path):
    path = tmp_path / "t.root"
    with uproot.recreate(path) as file:
        file.mktree("a:b/c:d", {"x": "i8"}).extend({"x": np.arange(3)})
    assert colonnade.open(f"{path}:a:b/c:d")["x"].tolist() == [0, 1, 2]


def test_a_tree_without_entries(tmp_path):
    source = tmp_path / "empty.root"
    with uproot.recreate(source) as file:
        file.mktree("Events", {"x": "int32", "v": "var * float64"})
    report = colonnade.import_tree(source, tmp_path / "to.root", verify=True)
    assert report.entries == 0
    data_set = colonnade.open(tmp_path / "to.root")
    assert data_set.num_entries == 0
    assert data_set.schema["v"].type == "std::vector<double>"


def test_branches_that_cannot_be_imported(tmp_path, monkeypatch):
    """uproot makes no array of `v_pair`; the others can be imported without it."""
    plan = importing.plan_fields

    def spoilt(tree, wanted, **options):
        branch = tree["v_text"]
        monkeypatch.setattr(
            branch, "_interpretation", uproot.interpretation.identify.UnknownInterpretation("odd", 0, 0)
        )
        return plan(tree, wanted, **options)

    monkeypatch.setattr(importing, "plan_fields", spoilt)
    to = tmp_path / "to.root"
    with pytest.raises(colonnade.UnsupportedError, match=r"branch 'v_text' of type .*skip.unreadable"):
        colonnade.import_tree(TREE, to)
    assert not to.exists()
    report = colonnade.import_tree(TREE, to, skip_unreadable=True, verify=True)
    assert [one.branch for one in report.skipped] == ["v_text"]
    assert "v_text" not in report.fields
    assert report.verified


def test_what_uproot_fails_at_is_told_in_plain_words(tmp_path, monkeypatch):
    """It takes the brackets in comments of Float16_t for a range; so objects with it have no type."""
    found = uproot.interpretation.identify.interpretation_of

    def fail(branch, *more):
        if branch.name in ("event", "x", "event/three[3]"):
            raise UnboundLocalError("cannot access local variable 'low'")
        return found(branch, *more)

    monkeypatch.setattr(uproot.interpretation.identify, "interpretation_of", fail)
    reason = "'x'.*uproot fails with UnboundLocalError: cannot access"
    with pytest.raises(colonnade.UnsupportedError, match=reason):
        colonnade.import_tree(f"{ODD}:odd", tmp_path / "none.root", columns="x")
    report = colonnade.import_tree(f"{ODD}:odd", tmp_path / "to.root", skip_unreadable=True)
    assert "x" in [one.branch for one in report.skipped]
    event = colonnade.open(tmp_path / "to.root")["event"]
    assert {"points", "steps"} <= set(ak.fields(event))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (AssertionError(), "uproot fails with AssertionError, without saying why"),
        (KeyError("fBits"), "uproot fails with KeyError: 'fBits'"),
        (
            uproot.interpretation.objects.CannotBeAwkward("deque<int>"),
            "uproot cannot read values of the type deque<int>",
        ),
        (
            NotImplementedError("memberwise serialization of AsVector(Hit)\nin file f.root"),
            "its items are stored member by member, which uproot cannot read",
        ),
        (ValueError("odd bytes"), "odd bytes"),
        (
            ValueError(
                "attempting to get bytes 4:10\noutside expected range 0:4 for this Chunk\nin file f.root"
            ),
            "the values of an entry end at 4, uproot reads on at 4",
        ),
        (
            ValueError("expected 16 bytes but cursor moved by 28 bytes (through Hit)\nin file f.root"),
            "Hit has 16 bytes, of which uproot reads 28",
        ),
        (
            ValueError("in AwkwardForth source code, line 9 col 7, 'do' is missing\n\n    0 do\n"),
            "uproot fails to make a reader of its values",
        ),
    ],
)
def test_what_uproot_leaves_unsaid_is_told(tmp_path, monkeypatch, error, words):
    found = uproot.interpretation.identify.interpretation_of

    def fail(branch, *more):
        if branch.name == "x":
            raise error
        return found(branch, *more)

    monkeypatch.setattr(uproot.interpretation.identify, "interpretation_of", fail)
    with pytest.raises(
        colonnade.UnsupportedError, match=f"the branch 'x' of type .* cannot be imported: {words}"
    ):
        colonnade.import_tree(f"{ODD}:odd", tmp_path / "none.root", columns="x")


@pytest.mark.parametrize(("tree", "entries"), [("plain", 40), ("features", 40), ("empty", 1)])
def test_baskets_within_a_tree(tmp_path, tree, entries):
    """What such a basket has follows from its flag, not from its sizes; an empty one elsewhere is none of them."""
    report = colonnade.import_tree((KEPT, tree), tmp_path / "copy.root", verify=True, step_size="500 B")
    assert not report.skipped
    for found in (colonnade.open(KEPT, tree), colonnade.open(tmp_path / "copy.root")):
        texts = ["x" * (e % 7) for e in range(entries)]
        expected = {
            "n": [e % 4 for e in range(entries)],
            "number": list(range(entries)),
            "x": [[10 * e + i for i in range(e % 4)] for e in range(entries)],
            "c_text": texts,
            "text": texts,
            "list": [[e] * (e % 5) for e in range(entries)],
        }
        assert {name: found[name].to_list() for name in expected} == expected


def test_baskets_within_a_tree_that_cannot_be_read(tmp_path, monkeypatch):
    kind = importlib.import_module("colonnade.importing.baskets")._Within
    found = kind.read_members

    def read(basket, *more):
        if basket.parent.name == "x":
            raise ValueError("expected 203 bytes")
        found(basket, *more)

    monkeypatch.setattr(kind, "read_members", read)
    reason = "'x'.*its last baskets cannot be read: expected 203 bytes"
    with pytest.raises(colonnade.UnsupportedError, match=reason):
        colonnade.import_tree((KEPT, "plain"), tmp_path / "to.root")
    report = colonnade.import_tree((KEPT, "plain"), tmp_path / "to.root", skip_unreadable=True)
    assert [one.branch for one in report.skipped] == ["x"]


def tree_with_a_damaged_basket(path):
    source = large_tree(path, 50_000)
    content = bytearray(source.read_bytes())
    with uproot.open(source) as file:
        branch = file["Events"]["n"]
        seek = int(branch.member("fBasketSeek")[3])
    content[seek : seek + 60] = bytes(60)  # the basket's header
    source.write_bytes(content)
    return source


def test_a_branch_that_fails_later_is_named(tmp_path):
    source = tree_with_a_damaged_basket(tmp_path / "large.root")
    with pytest.raises(
        colonnade.FormatError, match=r"the branch 'n' of type 'int32_t' cannot be read in .*skip_unreadable"
    ):
        colonnade.import_tree(source, tmp_path / "to.root", step_size="100 kB", checkpoint_every=None)
    assert not (tmp_path / "to.root").exists()


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (OSError(errno.EIO, "Input/output error"), colonnade.StorageError),
        (MemoryError(), colonnade.ResourceError),
        (RuntimeError("can't start new thread"), colonnade.ResourceError),
        (colonnade.StorageError("the server is gone"), colonnade.StorageError),
        (colonnade.FileMissingError("there is no such file"), colonnade.NotFoundError),
    ],
)
def test_what_fails_around_branches_leaves_none_out(tmp_path, monkeypatch, failure, expected):
    """Wherever it comes: while branches are looked at, tried, or read. Such a failure may pass."""
    source = uproot.source.fsspec.FSSpecSource
    chunks, bad, asked = source.chunks, 0, 0

    def failing(*arguments, **options):
        nonlocal asked
        asked += 1
        if asked == bad:
            raise failure
        return chunks(*arguments, **options)

    def imported():
        return colonnade.import_tree(
            TREE, tmp_path / "to.root", skip_unreadable=True, overwrite=True, step_size="10 kB"
        )

    monkeypatch.setattr(source, "chunks", failing)
    skipped = imported().skipped
    total = asked
    assert total > 3
    while bad < total:
        bad, asked = bad + 1, 0
        with pytest.raises(expected):
            imported()
    bad = 0
    assert imported().skipped == skipped


@pytest.mark.parametrize("checkpoint_every", [None, 1])
@pytest.mark.parametrize("to", ["file", "store", "other"])
def test_a_branch_that_fails_later_can_be_left_out(tmp_path, to, checkpoint_every):
    """The import begins again without it, unless a checkpoint has it in a file with other data sets."""
    source = tree_with_a_damaged_basket(tmp_path / "large.root")
    place = f"obj://{tmp_path}/store" if to == "store" else str(tmp_path / "to.root")
    if to == "other":
        with colonnade.create(place, "Other") as writer:
            writer.extend({"x": np.array([1, 2])})
    sizes = {"step_size": "100 kB", "cluster_size": "100 kB", "checkpoint_every": checkpoint_every}
    settings = {"skip_unreadable": True, "verify": True, **sizes}
    if to == "other" and checkpoint_every:
        with pytest.raises(colonnade.FormatError, match="the branch 'n' of type 'int32_t' cannot be read"):
            colonnade.import_tree(source, place, **settings)
        assert colonnade.open(place, "Other")["x"].to_list() == [1, 2]
        return
    report = colonnade.import_tree(source, place, **settings)
    assert [one.branch for one in report.skipped] == ["n"]
    assert report.verified
    assert report.entries == 50_000
    data_set = colonnade.open(place, "Events")
    assert "n" not in data_set.field_names
    assert data_set.num_entries == 50_000
    if to == "other":
        assert colonnade.open(place, "Other")["x"].to_list() == [1, 2]


def test_counters_that_say_otherwise(tmp_path):
    source = tmp_path / "odd.root"
    with uproot.recreate(source) as file:
        tree = file.mktree(
            "Events", {"a": "var * float32", "b": "var * float32"}, counter_name=lambda name: "n"
        )
        tree.extend({"n": [1, 1], "a": ak.Array([[1.0], [2.0]]), "b": ak.Array([[1.0], [2.0]])})
    report = colonnade.import_tree(source, tmp_path / "to.root", verify=True)
    assert report.fields == ("n_items",)
    assert report.projected == ("n", "a", "b")


def test_an_array_of_other_lengths_than_its_counter_can_be_left_out(tmp_path):
    """ROOT writes one, with an error, for a counter above the largest that it knows."""
    source = tmp_path / "odd.root"
    with uproot.recreate(source, compression=None) as file:
        tree = file.mktree(
            "Events", {"a": "var * float32", "b": "var * float32"}, counter_name=lambda name: f"n{name}"
        )
        for count in (1, 2):
            lists = ak.Array([[1.0] * count] * 50)
            tree.extend({"a": lists, "b": lists})
    content = source.read_bytes()
    with uproot.open(source) as file:
        seeks = [int(file["Events"]["na"].member("fBasketSeek")[1])]
        key = file["Events"]["na"].basket(1).member("fKeylen")
    begin = seeks[0] + key
    source.write_bytes(content[:begin] + (7).to_bytes(4, "big") + content[begin + 4 :])
    with pytest.raises(colonnade.FormatError, match="'a' and 'na' share a counter, but have 2 and 7 values"):
        colonnade.import_tree(source, tmp_path / "to.root", step_size="100 B")
    report = colonnade.import_tree(
        source, tmp_path / "left.root", step_size="100 B", skip_unreadable=True, verify=True
    )
    (left_out,) = report.skipped
    assert left_out.branch == "a"
    assert left_out.reason.startswith(
        "it shares a counter with 'na', but they have 2 and 7 values in one entry"
    )
    found = colonnade.open(tmp_path / "left.root")
    assert found["na"].to_list() == [1] * 50 + [7] + [2] * 49
    assert found["b"].to_list() == [[1.0]] * 50 + [[1.0, 1.0]] * 50


def test_uproot_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "uproot", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        colonnade.import_tree(TREE, tmp_path / "to.root")
    for read in (colonnade.open, lambda path: colonnade.DataFrame("Events", str(path))):
        with pytest.raises(ModuleNotFoundError, match="pip install"):
            read(TREE)
    assert colonnade.open(FIXTURES / "types_basic.root").num_entries > 0


# ---- Object stores


def test_into_an_object_store(tmp_path):
    store = f"obj://{tmp_path / 'store'}"
    report = colonnade.import_tree(TREE, store, verify=True, object_mapping="object_per_page")
    assert report.verified
    assert_as_uproot(TREE, "Events", colonnade.open(store, "Events"), report)


def test_arrays_in_objects_have_all_dimensions():
    def grid(e, i):
        start = 100 * e + 10 * i
        rows = [[float(start + j) for j in range(3)], [float(start + j) for j in range(3, 6)]]
        own = {"m": rows, "k": [e, e - 1, e - 2, e - 3], "x": float(i)}
        return {"b": [[i, i - 1], [i - 2, i - 3]], **own}

    def in_base(grid):
        return {"Base": {"b": grid.pop("b")}, **grid}

    found = colonnade.open(ARRAYS, "Events")
    assert found["whole"].to_list() == [grid(e, e) for e in range(4)]
    assert found["grids"].to_list() == [
        {"items": [grid(e, i) for i in range(e)], "one": in_base(grid(e, e)), "two": [grid(e, e)] * 2}
        for e in range(4)
    ]


def test_arrays_in_lists_keep_their_dimensions(tmp_path):
    assert not colonnade.import_tree(ONE, tmp_path / "copy.root").skipped

    def item(e, i):
        arrays = {
            "x": [float(i)],
            "y": [10 + i],
            "m": [[20.0 + i]],
            "d": [30.0 + i],
            "s": ["text"],
            "w": [[e, i]],
            "t": [["a", "b", "c"], ["d", "", str(i)]],
            "u": [["one"]],
        }
        return {**arrays, "b": i > 0}

    for found in (colonnade.open(ONE, "Events"), colonnade.open(tmp_path / "copy.root")):
        items = found["items"].to_list()
        ranges = [[one.pop("r") for one in entry] for entry in items]
        assert ranges == [[], [[0.0]], [[0.0], [pytest.approx(10, abs=1e-3)]]]
        assert items == [[item(e, i) for i in range(e)] for e in range(3)]
        assert found["list[1]"].to_list() == [[0.5] * e for e in range(3)]


def test_arrays_of_containers_in_objects(tmp_path):
    report = colonnade.import_tree(CONTAINERS, tmp_path / "copy.root", verify=True)
    assert report.verified
    expected = [
        {
            "text": [letter * (300 if e == 3 else e) for letter in "ab"],
            "one": [str(e)],
            "table": [[str(100 * e + 10 * i + k) for k in range(3)] for i in range(2)],
            "t_text": ["0", str(e)],
            "numbers": [[-e] * e, [-e] * (e + 1)],
            "texts": [["0"] * e, ["1"] * e],
            "nested": [[[[float(i)] * k] * e for k in range(2)] for i in range(2)],
            "bits": [[i == 1, e == 2] for i in range(2)],
            "sets": [sorted({e, e + i}) for i in range(2)],
            "std_text": ["", "x", str(e)],
            "std_numbers": [[e] * e, [e] * (e + 1)],
            "after": e,
        }
        for e in range(4)
    ]
    for found in (colonnade.open(CONTAINERS, "Events"), colonnade.open(tmp_path / "copy.root")):
        assert found["o"].to_list() == expected
        assert found.schema["o.table"].type == "std::array<std::array<std::string,3>,2>"
        assert found.schema["o.sets"].type == "std::array<std::set<std::int32_t>,2>"


def test_containers_that_uproot_does_not_know(tmp_path):
    report = colonnade.import_tree(OTHERS, tmp_path / "copy.root", verify=True)
    assert report.verified
    expected = [
        {
            "object": {
                "before": e,
                "equal": sorted([e, e, -e]),
                "unordered": [e],
                "points": [{"id": e, "x": 0.5 * e}] * (e % 3),
                "after": -e,
            },
            "numbers": [e] * (e % 4),
            "texts": sorted(["b", "a" * (300 if e % 2 else e), "b"]),
            "nested": [["x", "y" * e]] * (e % 3),
            "lists": [(k, [float(e)] * (k + 1)) for k in range(e % 3)],
            "pairs": [("key", k) for k in range(e % 3)],
        }
        for e in range(9)
    ]
    for found in (colonnade.open(OTHERS, "Events"), colonnade.open(tmp_path / "copy.root")):
        assert found.arrays().to_list() == expected
        assert found.schema["numbers"].type == "std::vector<std::int32_t>"
        assert found.arrays(entry_start=3, entry_stop=5).to_list() == expected[3:5]


def test_a_complete_import_does_not_need_its_destination_any_more(tmp_path, monkeypatch):
    """As when a server is lost after the commit: only a comparison reads it, and says that the commit was made."""

    def lost(*_):
        raise colonnade.StorageError("no answer", "try again later", uri="there")

    monkeypatch.setattr(importing, "DataSet", lost)
    report = colonnade.import_tree(TREE, tmp_path / "to.root")
    with colonnade.open(tmp_path / "to.root") as written:
        assert report.entries == written.num_entries
    with pytest.raises(colonnade.StorageError) as caught:
        colonnade.import_tree(TREE, tmp_path / "to.root", overwrite=True, verify=True)
    assert caught.value.problem == (
        "no answer; what was committed is in its place and can be read, but was not compared with its source to the end"
    )
    assert caught.value.uri == "there"
