"""Files that Colonnade wrote: ROOT and uproot read the values that were given, and ROOT does not complain."""

from __future__ import annotations

import random
import warnings
from itertools import pairwise
from typing import Any

import pytest
import uproot
from comparing import all_differences, field_differences, value_differences
from programs import FIXTURES, Script, dump, expected, write
from programs import field_of as spelled
from rebuilding import field_of, sources_of, writable
from root_bridge import Variant
from root_write import Field, agrees
from values import generate, in_order

TYPES = sorted(path.stem for path in (FIXTURES / "expected").glob("types_*.json"))
ENCODINGS = sorted(path.stem for path in (FIXTURES / "expected").glob("encodings_*.json"))


def content_of(fixture: str) -> tuple[str, dict[str, Any]]:
    """The name and content of the only data set of a fixture, without what only ROOT can write."""
    ((name, content),) = expected(fixture).items()
    content["fields"] = [field for field in content["fields"] if writable(field)]
    return name, content


def rewrite(path, fixture: str, *, encodings: bool = False, **options: Any) -> dict[str, Any]:
    """Write a fixture's fields and values with Colonnade, with the same clusters; what ROOT read from the fixture."""
    name, content = content_of(fixture)
    stored = [field for field in content["fields"] if "projection_of" not in field]
    write(
        path,
        name,
        [field_of(field, content["values"][field["name"]], encodings) for field in stored],
        clusters=[first for first, _ in content["clusters"][1:]],
        projections=[(field_of(f), sources_of(f)) for f in content["fields"] if "projection_of" in f],
        **options,
    )
    return {name: content}


def root_reads(root, path, names=()):
    """What ROOT reads; it must print nothing, and Colonnade must read the same, with the same schema and pages."""
    read = root.dump(path, *names)
    assert root.printed == ""
    assert all_differences(read, dump(path, *names)) == []
    return read


def assert_values(read, wanted):
    for name, content in wanted.items():
        fields = {field["name"]: field["type"] for field in content["fields"]}
        values = {field: content["values"][field] for field in fields}
        unordered = {field for field, type_name in fields.items() if "unordered_" in type_name}
        assert list(value_differences(values, read[name]["values"], unordered)) == []


def assert_given(read: dict[str, Any], fields: list[Field]) -> None:
    """ROOT's values of one data set are those of the fields."""
    for field in fields:
        values = read["values"][field.name]
        assert len(values) == len(field.values)
        for entry, (value, other) in enumerate(zip(field.values, values, strict=True)):
            unordered = "unordered_" in field.type
            assert agrees(value, other, unordered), f"{field.name}, entry {entry}: {value!r}, ROOT {other!r}"


# ---- Every type and column type


def as_we_write(field: dict[str, Any]) -> dict[str, Any]:
    """A field of ROOT's, without what depends on ROOT's classes and page sizes."""
    kept = {k: v for k, v in field.items() if k not in ("type_checksum", "columns", "fields")}
    if not kept["type"].startswith("fixture::Versioned"):
        kept.pop("type_version", None)  # ROOT counts a class without version as 1
    if "default_delete" in kept.get("alias", ""):
        del kept["alias"]
    kept["columns"] = [
        {k: v for k, v in column.items() if k != "pages"} for column in field.get("columns", [])
    ]
    kept["fields"] = [as_we_write(part) for part in field.get("fields", [])]
    return kept


def schema_differences(ours: list[dict[str, Any]], root: list[dict[str, Any]]) -> list[str]:
    """ROOT stores an enum of std::int8_t as char, we as std::int8_t; else the schemas are the same."""
    found = field_differences([as_we_write(field) for field in root], [as_we_write(field) for field in ours])
    return [difference for difference in found if "Tiny" not in difference]


@pytest.mark.parametrize("fixture", TYPES)
def test_types(root, tmp_path, fixture):
    wanted = rewrite(tmp_path / "f.root", fixture)
    read = root_reads(root, tmp_path / "f.root")
    assert_values(read, wanted)
    for name, content in wanted.items():
        assert schema_differences(read[name]["fields"], content["fields"]) == []


@pytest.mark.parametrize("fixture", TYPES)
def test_types_from_many_threads(root, tmp_path, fixture):
    wanted = rewrite(tmp_path / "f.root", fixture, threads=3, max_page_size=64, checkpoint_every_clusters=2)
    assert_values(root_reads(root, tmp_path / "f.root"), wanted)


@pytest.mark.parametrize("fixture", ["types_basic", "types_sequences", "types_records"])
def test_uproot_reads_what_many_threads_wrote(tmp_path, fixture):
    for name, content in rewrite(tmp_path / "f.root", fixture, threads=3, max_page_size=64).items():
        for field in content["fields"]:
            ours = uproot_values(tmp_path / "f.root", name, field["name"])
            theirs = uproot_values(FIXTURES / f"{fixture}.root", name, field["name"])
            assert repr(ours) == repr(theirs), field["name"]


@pytest.mark.parametrize("fixture", ENCODINGS)
def test_column_types(root, tmp_path, fixture):
    wanted = rewrite(tmp_path / "f.root", fixture, encodings=True)
    read = root_reads(root, tmp_path / "f.root")
    for name, content in wanted.items():
        assert schema_differences(read[name]["fields"], content["fields"]) == []
        if "real" not in fixture:
            assert_values(read, wanted)
        else:  # stored once more, rounded values must stay what they are
            assert list(value_differences(content["values"], read[name]["values"])) == []


def test_all_column_types_are_written():
    def columns(fields):
        for field in fields:
            yield from (column["type"] for column in field.get("columns", []))
            yield from columns(field.get("fields", []))

    written = {column for fixture in ENCODINGS for column in columns(content_of(fixture)[1]["fields"])}
    assert len(written) == 29  # all but SplitReal16, which ROOT does not know


def uproot_values(path, name, field):
    """What uproot reads, or the kind of its error."""
    try:
        with uproot.open(path) as file:
            return file[name].arrays([field])[field].to_list()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("fixture", TYPES)
def test_uproot_reads_types_as_from_root(tmp_path, fixture):
    """uproot has no variants after the first cluster, no optional of optional, ...: but the same for both writers."""
    for name, content in rewrite(tmp_path / "f.root", fixture).items():
        for field in content["fields"]:
            if "unordered_" in field["type"] or "Tiny" in field["type"]:
                continue  # another order, another type: see above
            ours = uproot_values(tmp_path / "f.root", name, field["name"])
            theirs = uproot_values(FIXTURES / f"{fixture}.root", name, field["name"])
            assert repr(ours) == repr(theirs), field["name"]


# ---- Compression

LEVELS = {"zlib": 9, "lzma": 9, "lz4": 9, "zstd": 9}
SETTINGS = ["none", *(f"{name}:{level}" for name, most in LEVELS.items() for level in range(1, most + 1))]


@pytest.mark.parametrize(
    "setting", ["none", "zlib:1", "lzma:7", "lz4:4", "lz4:9", "zstd:1", "zstd:5", 101, 0]
)
def test_compression(root, tmp_path, setting):
    wanted = rewrite(tmp_path / "f.root", "compression_505", compression=setting)
    assert_values(root_reads(root, tmp_path / "f.root"), wanted)


def test_all_compression_levels_in_one_file(root, tmp_path):
    fields = some_fields(30)
    script = Script()
    for number, setting in enumerate(SETTINGS):
        script.open(tmp_path / "f.root", setting, fields, add=number > 0, compression=setting)
        script.fill(fields)
        script.step("close")
    script.run()
    read = root_reads(root, tmp_path / "f.root")
    assert set(read) == set(SETTINGS)
    for content in read.values():
        assert_given(content, fields)


@pytest.mark.parametrize("setting", ["lz4:4", "zstd:5"])
def test_page_of_more_than_16_mib(root, tmp_path, setting):
    size = (1 << 24) + 300_000
    fields = [Field("text", "std::string", ["before", "a" * (size - 5) + "tail!", "after"])]
    sizes = {"initial_page_size": 1 << 25, "max_page_size": 1 << 25}
    write(tmp_path / "f.root", "Chunked", fields, compression=setting, **sizes)
    read = root_reads(root, tmp_path / "f.root")
    assert read["Chunked"]["fields"][0]["columns"][1]["pages"] == [[size + 11]]
    assert_given(read["Chunked"], fields)


# ---- Options and layout


def some_fields(count: int) -> list[Field]:
    """A few fields that touch the common kinds of columns."""
    types = {
        "i": "std::int32_t",
        "x": "float",
        "s": "std::string",
        "v": "std::vector<std::int16_t>",
        "b": "bool",
        "vv": "std::vector<std::vector<float>>",
        "either": "std::variant<std::int32_t,std::string>",
        "maybe": "std::optional<double>",
        "bits": "std::bitset<10>",
        "three": "std::array<std::int16_t,3>",
        "m": "std::map<std::string,std::vector<std::uint8_t>>",
        "derived": "fixture::Derived",
    }
    return [
        Field(name, t, [in_order(t, generate(t, random.Random(f"{name}{k}"))) for k in range(count)])
        for name, t in types.items()
    ]


OPTIONS = {
    "defaults": {},
    "no checksums": {"page_checksums": 0},
    "no merging": {"same_page_merging": 0},
    "tiny pages": {"initial_page_size": 16, "max_page_size": 64},
    "tiny pages, uncompressed": {"initial_page_size": 16, "max_page_size": 64, "compression": "none"},
    "small page buffers": {"page_buffer_budget": 2000, "initial_page_size": 64},
    "small clusters": {"approximate_cluster_size": 300, "max_uncompressed_cluster_size": 600},
    "small keys": {"max_key_size": 400},
    "small keys, uncompressed": {"max_key_size": 1000, "compression": "none"},
    "small groups": {"clusters_per_group": 2},
    "bare": {"bare": 1},
}


@pytest.mark.parametrize("clusters", [[], [1, 2, 10, 30, 31, 55], range(1, 61)], ids=["one", "few", "many"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_options(root, tmp_path, options, clusters):
    fields = some_fields(60)
    write(tmp_path / "f.root", "Data", fields, clusters=clusters, **options)
    read = root_reads(root, tmp_path / "f.root", ["Data"])["Data"]
    assert_given(read, fields)
    if "approximate_cluster_size" not in options:
        ends = sorted({0, *clusters, 60})
        assert read["clusters"] == [[a, b - a] for a, b in pairwise(ends)]
    if "clusters_per_group" in options:
        assert read["cluster_groups"] == (len(read["clusters"]) + 1) // 2
    if options.get("max_page_size") == 64:
        pages = next(field for field in read["fields"] if field["name"] == "x")["columns"][0]["pages"]
        assert max(elements for cluster in pages for elements in cluster) <= 16


@pytest.mark.parametrize("options", [{}, {"bare": 1}], ids=["file", "bare"])
def test_data_set_without_entries_or_fields(root, tmp_path, options):
    empty = [Field(field.name, field.type) for field in some_fields(0)]
    write(tmp_path / "empty.root", "Empty", empty, **options)
    read = root_reads(root, tmp_path / "empty.root", ["Empty"])["Empty"]
    assert read["entries"] == 0
    assert [field["name"] for field in read["fields"]] == [field.name for field in empty]
    write(tmp_path / "nothing.root", "Nothing", [], **options)
    assert root_reads(root, tmp_path / "nothing.root", ["Nothing"])["Nothing"]["fields"] == []


def test_same_pages_are_stored_once(root, tmp_path):
    fields = [Field(name, "std::vector<float>", [[0.0] * 100] * 20) for name in "abcdef"]
    for merging in (0, 1):
        write(tmp_path / f"{merging}.root", "Same", fields, same_page_merging=merging, compression="none")
        assert_given(root_reads(root, tmp_path / f"{merging}.root")["Same"], fields)
    separate, merged = ((tmp_path / f"{merging}.root").stat().st_size for merging in (0, 1))
    assert merged < separate - 5 * 20 * 100 * 4 / 2


def test_valueless_variant(root, tmp_path):
    values = [Variant(1, 5), Variant(0), Variant(2, "x"), Variant(0)]
    fields = [Field("v", "std::variant<std::int32_t,std::string>", values)]
    write(tmp_path / "f.root", "Data", fields, clusters=[1])
    assert_given(root_reads(root, tmp_path / "f.root")["Data"], fields)


def test_several_data_sets_and_directories(root, tmp_path):
    names = ["Events", "dir/Other", "dir/deep/Third", "dir/deep/Events", "Name-µ_(1),+"]
    script = Script()
    for number, name in enumerate(names):
        fields = some_fields(number)
        script.open(tmp_path / "f.root", name, fields, add=number > 0)
        script.fill(fields)
        script.step("close")
    script.run()
    read = root_reads(root, tmp_path / "f.root")
    assert set(read) == set(names)
    for number, name in enumerate(names):
        assert_given(read[name], some_fields(number))
    found = root.call("inspect", str(tmp_path / "f.root"))
    data_set = "ROOT::RNTuple"
    assert found["keys"] == {
        "Events;1": data_set,
        "dir;1": {"Other;1": data_set, "deep;1": {"Third;1": data_set, "Events;1": data_set}},
        "Name-µ_(1),+;1": data_set,
    }


def test_late_fields(root, tmp_path):
    fields, count = some_fields(20), 20
    zero = {"i": 0, "x": 0.0, "s": "", "v": [], "b": 0, "vv": [], "maybe": None, "m": []}
    zero |= {"either": Variant(0), "bits": [0] * 10, "three": [0] * 3}
    early = fields[:2]
    late = [Field(f"late_{field.name}", field.type, field.values) for field in fields if field.name in zero]
    script = Script()
    script.open(tmp_path / "f.root", "Late", early)
    script.fill(early, 0, 7, clusters=[4])
    for field in late:
        script.step("extend", spelled(field))
    pick = Field("floats", "std::vector<std::vector<float>>")
    script.step("project", [spelled(pick), [["floats", "late_vv"]]])
    script.step(
        "project", [spelled(Field("sizes", "ROOT::RNTupleCardinality<std::uint32_t>")), [["sizes", "late_v"]]]
    )
    script.fill([*early, *late], 7, count, clusters=[12])
    script.step("close")
    script.run()
    read = root_reads(root, tmp_path / "f.root")["Late"]
    assert_given(read, early)
    for field in late:
        field.values = [zero[field.name.removeprefix("late_")]] * 7 + field.values[7:]
    assert_given(read, late)
    assert read["values"]["floats"] == read["values"]["late_vv"]
    assert read["values"]["sizes"] == [len(value) for value in read["values"]["late_v"]]


def test_data_set_is_readable_after_each_commit(root, tmp_path):
    """What was committed is complete even if the writer never closes."""
    fields = some_fields(20)
    script = Script()
    script.open(tmp_path / "f.root", "Data", fields)
    script.fill(fields, 0, 9)
    script.step("commit")
    script.fill(fields, 9, 15)
    script.step("stop")
    with pytest.raises(RuntimeError, match="there is no step stop"):
        script.run()
    read = root_reads(root, tmp_path / "f.root")["Data"]
    assert read["entries"] in (9, 15)
    assert_given(read, [Field(f.name, f.type, f.values[: read["entries"]]) for f in fields])


# ---- Files with more in them than our data sets


def in_root_file(root, path):
    """Check that ROOT finds the file in order; its keys and objects."""
    found = root.call("inspect", str(path))
    assert "Error" not in root.printed
    assert "Warning" not in root.printed
    assert not found["recovered"]
    assert found["size"] == found["end"] == path.stat().st_size
    objects = root.call("read_objects", str(path))
    assert root.printed == ""
    return found["keys"], objects


def test_our_file_is_in_order_for_root(root, tmp_path):
    write(tmp_path / "f.root", "Data", some_fields(20), clusters=[10])
    keys, objects = in_root_file(root, tmp_path / "f.root")
    assert keys == {"Data;1": "ROOT::RNTuple"}
    assert objects == {}
    assert "ROOT::RNTuple" in root.call("inspect", str(tmp_path / "f.root"))["streamer_infos"]


def test_adding_to_a_root_file_leaves_the_rest(root, tmp_path):
    path, fields = tmp_path / "f.root", some_fields(25)
    root.call("write_with_root", str(path))
    before, (_, objects) = root.dump(path), in_root_file(root, path)
    assert set(objects) == {"tree", "histogram"}

    def add(name):
        script = Script()
        script.open(path, name, fields, add=True)
        script.fill(fields, clusters=[11])
        script.step("close")
        script.run()

    # ROOT and we take turns; each time everything that was there before is there still.
    add("Ours")
    add("dir/Ours")
    assert in_root_file(root, path)[1] == objects
    root.call("add_with_root", str(path), "Later", "another")
    assert root.printed == ""
    add("Last")
    keys, found = in_root_file(root, path)
    assert {
        "tree;1",
        "histogram;1",
        "FromROOT;1",
        "Ours;1",
        "dir;1",
        "Later;1",
        "another;1",
        "Last;1",
    } == set(keys)
    assert found == {**objects, "another": objects["histogram"]}
    read = root_reads(root, path)
    assert set(read) == {"FromROOT", "Ours", "dir/Ours", "Later", "Last"}
    assert read["FromROOT"] == before["FromROOT"]
    assert read["Later"]["values"] == before["FromROOT"]["values"]
    for name in ("Ours", "dir/Ours", "Last"):
        assert_given(read[name], fields)


def test_root_adds_to_our_file(root, tmp_path):
    path, fields = tmp_path / "f.root", some_fields(25)
    write(path, "dir/Ours", fields, clusters=[11])
    root.call("add_with_root", str(path), "FromROOT", "histogram")
    assert root.printed == ""
    keys, objects = in_root_file(root, path)
    assert keys["dir;1"] == {"Ours;1": "ROOT::RNTuple"}
    assert sum(objects["histogram"]) == 3
    read = root_reads(root, path)
    assert read["FromROOT"]["entries"] == 10
    assert_given(read["dir/Ours"], fields)


# ---- Merging with ROOT


def parts_to_merge() -> list[list[Field]]:
    """Two times the same fields with other values. Without classes: those that ROOT interprets have the version 1,
    those that it compiles and ours have none, and the merger wants them equal."""
    parts = [some_fields(9), some_fields(18)]
    for field in parts[1]:
        field.values = field.values[9:]
    return [[field for field in part if "fixture::" not in field.type] for part in parts]


@pytest.mark.parametrize("compression", [-1, 207], ids=["as is", "recompressed"])
@pytest.mark.parametrize("mode", ["filter", "strict", "union"])
@pytest.mark.parametrize("first", ["ours", "root"])
def test_merging_with_a_root_file(root, tmp_path, first, mode, compression):
    parts = parts_to_merge()
    paths = {"ours": tmp_path / "ours.root", "root": tmp_path / "root.root"}
    order = ["ours", "root"] if first == "ours" else ["root", "ours"]
    write(paths["ours"], "Data", parts[0], clusters=[4], compression="none" if mode == "union" else "zstd:5")
    root.call("write_fields", str(paths["root"]), "Data", [(f.name, f.type, f.values) for f in parts[1]])
    root.call(
        "merge", "Data", [str(paths[name]) for name in order], str(tmp_path / "m.root"), mode, compression
    )
    assert root.printed == ""
    sides = dict(zip(["ours", "root"], parts, strict=True))
    merged = [
        Field(field.name, field.type, field.values + sides[order[1]][number].values)
        for number, field in enumerate(sides[order[0]])
    ]
    assert_given(root_reads(root, tmp_path / "m.root")["Data"], merged)


def test_hadd(root, tmp_path):
    parts = parts_to_merge()
    write(tmp_path / "a.root", "Data", parts[0], clusters=[4])
    root.call(
        "write_fields", str(tmp_path / "b.root"), "Data", [(f.name, f.type, f.values) for f in parts[1]]
    )
    root.call("hadd", [str(tmp_path / "a.root"), str(tmp_path / "b.root")], str(tmp_path / "m.root"))
    assert root.printed == ""
    merged = [Field(a.name, a.type, a.values + b.values) for a, b in zip(*parts, strict=True)]
    assert_given(root_reads(root, tmp_path / "m.root")["Data"], merged)


@pytest.fixture(autouse=True)
def _quiet_uproot():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
