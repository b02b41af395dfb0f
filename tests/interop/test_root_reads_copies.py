"""Copies that Colonnade made of files that ROOT wrote: ROOT reads from them what it reads from the originals."""

from __future__ import annotations

import pytest
import uproot
from comparing import value_differences
from programs import FIXTURES, expected

import colonnade

FILES = sorted(path.stem for path in (FIXTURES / "expected").glob("*.json"))
WAYS = {"pages": {}, "recompress": {"compression": "lz4:2"}, "decode": {"cluster_size": "20 kB"}}
# Those whose columns are the least like others.
SOME_FILES = [
    "encodings_real32_quant",
    "late_fields",
    "many_cluster_groups",
    "merged_union",
    "suppressed_columns",
    "types_classes",
    "types_nullables",
    "types_projected",
    "types_untyped",
    "types_variants",
]
COPIES = [(name, "pages") for name in FILES] + [
    (name, way) for name in SOME_FILES for way in ("recompress", "decode")
]


def copied(tmp_path, fixture, content, **options):
    path = tmp_path / "copy.root"
    for name in content:
        report = colonnade.copy(FIXTURES / f"{fixture}.root", path, name, verify="values", **options)
        assert report.verified
        assert report.entries == content[name]["entries"]
    return path


@pytest.mark.parametrize(("fixture", "way"), COPIES)
def test_root_reads_the_same_values(root, tmp_path, fixture, way):
    content = expected(fixture)
    path = copied(tmp_path, fixture, content, **WAYS[way])
    read = root.dump(path, *content)
    assert root.printed == ""
    assert set(read) == set(content)
    for name, wanted in content.items():
        unordered = {field["name"] for field in wanted["fields"] if "unordered_" in field["type"]}
        assert list(value_differences(wanted["values"], read[name]["values"], unordered)) == []
        if way != "decode":
            assert read[name]["clusters"] == wanted["clusters"]
        if way == "pages":
            assert read[name]["fields"] == wanted["fields"]


@pytest.mark.parametrize(
    "fixture", ["types_basic", "types_sequences", "late_fields", "many_clusters", "compression_505"]
)
def test_uproot_reads_the_same_values(tmp_path, fixture):
    content = expected(fixture)
    path = copied(tmp_path, fixture, content)
    for name in content:
        with uproot.open(FIXTURES / f"{fixture}.root") as original, uproot.open(path) as copy:
            # As text, since NaN is not equal to itself.
            assert repr(copy[name].arrays().to_list()) == repr(original[name].arrays().to_list())
