"""Copies that Colonnade made of files that ROOT wrote: ROOT reads from them what it reads from the originals."""

from __future__ import annotations

import pytest
import uproot
from comparing import value_differences
from programs import FIXTURES, expected
from root_worker import RootWorker

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


def streamed_copies(tmp_path) -> dict[str, int]:
    """Files with what ROOT's streamer wrote, by the number of times that it is in them."""
    source, out = FIXTURES / "types_streamer.root", {name: str(tmp_path / f"{name}.root") for name in "abcde"}
    colonnade.copy(source, out["a"], compression="lz4:2", verify="values")
    colonnade.copy([source, out["a"]], out["b"])
    colonnade.merge(out["c"], [source, out["b"]], verify="pages")
    colonnade.copy(source, f"obj://{tmp_path}/store")
    colonnade.copy(f"obj://{tmp_path}/store", out["d"])
    for count in (1, 2):
        colonnade.merge(out["e"], [str(source), out["d"]][:count], append=True)
    return dict(zip(out.values(), [1, 2, 3, 1, 2], strict=True))


def test_streamer_fields_go_wherever_pages_go(root, tmp_path):
    """Colonnade lists and skips them; ROOT reads them from copies, merged files, and after a store."""
    wanted = expected("types_streamer")["Streamer"]
    for path, times in streamed_copies(tmp_path).items():
        with colonnade.open(path) as data:
            assert data.field_names == ["before", "after"]
            assert data["after"].to_list() == wanted["values"]["after"] * times
            data.verify()
        read = root.dump(path, "Streamer")["Streamer"]
        assert root.printed == ""
        assert [field["type"] for field in read["fields"]] == [field["type"] for field in wanted["fields"]]
        objects = [[i, "text" * i, [0.5 * k for k in range(i)]] for i in range(5)]
        assert root.call("read_streamed", path, "Streamer", "blob") == objects * times


@pytest.mark.parametrize("is_first", [True, False])
def test_entries_without_a_streamer_field_are_refused(tmp_path, is_first):
    """ROOT would take the memory behind an object without bytes for one."""
    source, other, out = FIXTURES / "types_streamer.root", tmp_path / "other.root", tmp_path / "f.root"
    colonnade.copy(source, other, columns=["before", "after"])
    inputs = [source, other] if is_first else [other, source]
    with pytest.raises(colonnade.UnsupportedError, match="no 'blob', and there is no empty object"):
        colonnade.merge(out, inputs, mode="union")
    assert not out.exists()
    colonnade.merge(out, inputs[:1])
    before = out.read_bytes()
    with pytest.raises(colonnade.UnsupportedError, match="no 'blob', and there is no empty object"):
        colonnade.merge(out, inputs, mode="union", append=True)
    assert out.read_bytes() == before
    colonnade.merge(tmp_path / "filtered.root", inputs, mode="filter", verify=True)


@pytest.mark.parametrize("way", [{"cluster_size": "20 kB"}, {"page_size": 4096}])
def test_streamer_fields_cannot_be_cut_anew(tmp_path, way):
    source, out = FIXTURES / "types_streamer.root", tmp_path / "f.root"
    with pytest.raises(colonnade.UnsupportedError, match=r"role 0x04.*without this field") as refused:
        colonnade.copy(source, out, **way)
    assert "blob" in str(refused.value)
    assert not out.exists()
    colonnade.copy(source, out, columns=["before", "after"], verify="values", **way)
    with colonnade.open(out) as data:
        assert data.num_entries == 5


# ---- What ROOT knows of classes


def classes_in(path):
    """The versions of each class that the file describes, ROOT::RNTuple left out."""
    with uproot.open(path) as file:
        streamers = file.file.streamers
        return {name: set(versions) for name, versions in streamers.items() if name != "ROOT::RNTuple"}


@pytest.mark.parametrize("way", WAYS)
def test_descriptions_of_classes_come_along(tmp_path, way):
    source, out = FIXTURES / "types_classes.root", tmp_path / "f.root"
    colonnade.copy(source, out, **WAYS[way])
    wanted = classes_in(source)
    assert wanted["fixture::Versioned"] == {7}
    assert classes_in(out) == wanted
    colonnade.merge(tmp_path / "merged.root", [source, out])
    assert classes_in(tmp_path / "merged.root") == wanted


def test_descriptions_are_of_classes_of_the_fields(root, tmp_path):
    part, numbers = tmp_path / "part.root", tmp_path / "numbers.root"
    colonnade.copy(FIXTURES / "types_classes.root", part, columns=["Versioned"])
    assert classes_in(part) == {"fixture::Versioned": {7}}
    colonnade.copy(FIXTURES / "types_basic.root", numbers)
    assert classes_in(numbers) == {}
    colonnade.copy(FIXTURES / "types_streamer.root", part)
    assert classes_in(part) == {"fixture::Versioned": {7}, "fixture::Streamed": {1}}
    # Those of other objects stay where they are, and those that are there are not added again.
    root.call("write_with_root", str(tmp_path / "old.root"))
    before = classes_in(tmp_path / "old.root")
    colonnade.copy(FIXTURES / "types_classes.root", f"{tmp_path / 'old.root'}:A")
    colonnade.copy(FIXTURES / "types_classes.root", f"{tmp_path / 'old.root'}:B")
    assert classes_in(tmp_path / "old.root") == before | classes_in(FIXTURES / "types_classes.root")
    listed = [
        name.replace("> >", ">>")
        for name in root.call("inspect", str(tmp_path / "old.root"))["streamer_infos"]
    ]
    assert sorted(listed) == sorted([*classes_in(tmp_path / "old.root"), "ROOT::RNTuple", "listOfRules"])
    assert root.call("read_objects", str(tmp_path / "old.root"))["histogram"][5] == 3.0


def test_root_applies_read_rules_to_copies(root, tmp_path):
    """A later version of a class makes its members of those in the file, whose description ROOT needs."""
    source = str(tmp_path / "source.root")
    root.call("write_evolving", source, 3)
    copies = {}
    for way, options in WAYS.items():
        copies[str(tmp_path / f"{way}.root")] = 1
        colonnade.copy(source, tmp_path / f"{way}.root", **options)
    copies[str(tmp_path / "merged.root")] = 2
    colonnade.merge(tmp_path / "merged.root", [source, tmp_path / "pages.root"])
    copies[source] = 1  # last: ROOT remembers what a file says
    with RootWorker() as later:  # the class has one version in a process
        for path, times in copies.items():
            rows = [[0, 0.0], [1, 5.0, 0.0], [2, 10.0, 0.0, 5.0]]
            assert later.call("read_evolved", path) == rows * times, path
        new = str(tmp_path / "new.root")
        later.call("write_evolved", new, 3)
    with pytest.raises(colonnade.SchemaError, match=r"version 3 of the type 'evolution::Point', not 2"):
        colonnade.merge(tmp_path / "strict.root", [source, new])
    (union,) = colonnade.merge(tmp_path / "union.root", [source, new], mode="union").data_sets
    assert [note for note in union.notes if "'evolution::Point'" in note and "several versions" in note]
    again = [source, tmp_path / "recompress.root"]
    (same,) = colonnade.merge(tmp_path / "same.root", again, mode="union").data_sets
    assert same.notes == ()
