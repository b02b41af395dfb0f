"""Files that ROOT wrote, read through the C++ library: the same values, schema, clusters and pages as ROOT reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from comparing import all_differences, entry_differences
from programs import FIXTURES, REPOSITORY, convert, dump, expected

import colonnade

FILES = sorted(path.stem for path in (FIXTURES / "expected").glob("*.json"))
SHARED = Path(os.environ.get("COLONNADE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
# test_int_multicluster has 10^8 entries: minutes as JSON. The Python tests compare it with uproot.
SAMPLES = sorted(path for path in SHARED.glob("*rntuple*.root") if "int_multicluster" not in path.name)


@pytest.mark.parametrize("mode", ["entries", "views"])
@pytest.mark.parametrize("name", FILES)
def test_fixture_is_read_as_root_reads_it(name, mode):
    assert all_differences(expected(name), dump(FIXTURES / f"{name}.root", mode=mode)) == []


@pytest.mark.parametrize("name", FILES)
def test_fixture_is_read_into_cpp_types(name):
    for data_set, fields in dump(FIXTURES / f"{name}.root", mode="typed").items():
        stored = expected(name)[data_set]
        types = {field["name"]: field["type"] for field in stored["fields"]}
        for field, values in fields.items():
            unordered = "unordered_" in types[field]
            assert list(entry_differences(field, stored["values"][field], values, unordered)) == []


def test_late_fields_are_read_after_roots_merger(root, tmp_path):
    """It writes zeros for the entries before a late field, and counts elements from those of the field on."""
    inputs = [str(tmp_path / "a.root"), str(tmp_path / "b.root")]
    for path in inputs:
        with colonnade.create(path, "Events", {"n": "std::int32_t"}) as writer:
            writer.fill(n=0)
            writer.fill(n=1)
            writer.commit_cluster()
            writer.extend_schema({"late": "float"})
            writer.fill(n=2, late=2.5)
    root.call("hadd", inputs, str(tmp_path / "merged.root"))
    theirs = root.dump(tmp_path / "merged.root")["Events"]["values"]
    assert dump(tmp_path / "merged.root")["Events"]["values"] == theirs
    assert theirs["late"] == [0, 0, 2.5] * 2


def test_all_fixture_classes_are_read_into_cpp_types():
    typed = {
        field["type"]
        for name in FILES
        for data_set, fields in dump(FIXTURES / f"{name}.root", mode="typed").items()
        for field in expected(name)[data_set]["fields"]
        if field["name"] in fields
    }
    stored = {
        field["type"]
        for name in FILES
        for content in expected(name).values()
        for field in content["fields"]
        if "fixture::" in field["type"]
    }
    assert stored - typed == {"fixture::Streamed"}


def test_streamer_field_is_listed_with_its_type_and_the_reason():
    read = dump(FIXTURES / "types_streamer.root")["Streamer"]
    assert read["unreadable"] == {
        "blob": "streamer field (role 0x04): its objects are serialised by ROOT's own streamer"
    }
    assert [field["type"] for field in read["fields"]] == [
        "float",
        "fixture::Streamed",
        "std::vector<std::int32_t>",
    ]
    assert set(read["values"]) == {"before", "after"}


# ---- Reading under another type

CONVERSIONS = json.loads((FIXTURES / "expected_conversions.json").read_text("utf-8"))
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
# (field, type) -> why the answer is another than ROOT's.
KNOWN_DIFFERENCES = {
    **{
        (
            field,
            "std::optional<std::vector<std::int32_t>>",
        ): "a chain whose other files have lists, or lack the field, reads values as lists of 0 or 1 items"
        for field in ("optional", "unique_ptr")
    },
    **{
        (
            field,
            f"fixture::{enum}",
        ): "integers are read as enums, bounds-checked; ROOT reads only enums as integers"
        for field in [*_INTEGERS, "bool", "char", "atomic"]
        for enum in ("Scoped", "Tiny")
    },
    **{
        ("array", f"ROOT::VecOps::RVec<std::{item}>"): "ROOT accepts the type, then fails at the first entry"
        for item in ("int32_t", "int16_t")
    },
    (
        "array",
        "std::multiset<std::int32_t>",
    ): "a multiset holds any sequence; ROOT takes it from vectors only",
}
# Types whose items ROOT gives in the order of its hash table.
UNORDERED = ("std::unordered_set<std::int32_t>", "std::unordered_map<std::int32_t,float>")


def test_conversions_are_those_of_root():
    wanted = {(field, t): v for field, answers in CONVERSIONS.items() for t, v in answers["read"].items()}
    wanted |= {(field, t): None for field, answers in CONVERSIONS.items() for t in answers["refused"]}
    assert len(wanted) > 2000
    read = dict(zip(wanted, convert(FIXTURES / "conversions.root", "Conversions", list(wanted)), strict=True))
    differing = {}
    for (field, type_name), values in wanted.items():
        ours = read[field, type_name]
        if values is None or isinstance(ours, dict):
            if (values is None) != isinstance(ours, dict):
                differing[field, type_name] = [f"ROOT {values}, ours {ours}"]
        elif found := list(entry_differences(field, values, ours, type_name in UNORDERED)):
            differing[field, type_name] = found
    assert {key: found for key, found in differing.items() if key not in KNOWN_DIFFERENCES} == {}
    assert set(KNOWN_DIFFERENCES) - set(differing) == set()


def test_known_differences_give_the_stored_values():
    stored = expected("conversions")["Conversions"]["values"]
    ranges = {"fixture::Scoped": (-(2**31), 2**31 - 1), "fixture::Tiny": (-128, 127)}
    read = convert(FIXTURES / "conversions.root", "Conversions", list(KNOWN_DIFFERENCES))
    for (field, type_name), values in zip(KNOWN_DIFFERENCES, read, strict=True):
        if type_name in ranges:
            low, high = ranges[type_name]
            want = [int(v) if low <= v <= high else {"error": True} for v in stored[field]]
        elif type_name.startswith("std::optional<std::vector<"):
            want = [[] if v is None else [v] for v in stored[field]]
        else:
            want = [sorted(v) if "multiset" in type_name else v for v in stored[field]]
        assert values == want, (field, type_name)


def test_refusals_say_what_does_not_fit():
    refused = [(field, t) for field, answers in CONVERSIONS.items() for t in answers["refused"]]
    refused = [pair for pair in refused if pair not in KNOWN_DIFFERENCES]
    for (field, type_name), answer in zip(
        refused, convert(FIXTURES / "conversions.root", "Conversions", refused), strict=True
    ):
        assert field in answer["refused"], (field, type_name)
        assert "conversions.root" in answer["refused"], (field, type_name)


# ---- Public samples


if SAMPLES:  # the collection is not everywhere

    @pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
    def test_sample_is_read_as_root_reads_it(root, path):
        assert all_differences(root.dump(path), dump(path)) == []
