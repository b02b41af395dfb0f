"""Opening, selecting, and reading in all forms."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from locations import FIXTURES
from other_names import renamed

import colonnade
from colonnade.reading.opening import split_target

SEVERAL = FIXTURES / "several_data_sets.root"
PROJECTED = FIXTURES / "types_projected.root"
CLUSTERS = FIXTURES / "many_clusters.root"


@pytest.fixture
def sample(tmp_path):
    """Three clusters of 100 entries, in "Events"."""
    path = tmp_path / "sample.root"
    with colonnade.create(path, "Events") as writer:
        for start in (0, 100, 200):
            number = np.arange(start, start + 100)
            writer.extend(
                {
                    "id": number,
                    "x": number / 2,
                    "Muon_pt": ak.unflatten(np.arange(100.0), [2, 0, 1, 1] * 25),
                    "Muon_eta": ak.unflatten(np.arange(100.0), [2, 0, 1, 1] * 25),
                    "name": [f"n{k}" for k in number],
                    "jets": ak.Array([[{"pt": float(k), "tags": ["a"] * (k % 3)}] * (k % 2) for k in number]),
                    "matrix": np.arange(600).reshape(100, 2, 3),
                    "maybe": ak.Array([k if k % 2 else None for k in number]),
                }
            )
            writer.commit_cluster()
    return path


@pytest.mark.parametrize(
    "target",
    [
        (SEVERAL, "Events"),
        (str(SEVERAL), "Events"),
        (f"{SEVERAL}:Events", None),
        ((SEVERAL, "Events"), None),
        (f"{SEVERAL}:dir/deep/Events", None),
        (f"file://{SEVERAL}:dir/deep/Events", None),
        ([f"file://{SEVERAL}:Events"], None),
        (f"file://{SEVERAL}:Events", "Events"),
        (SEVERAL, "dir/Other"),
    ],
)
def test_data_set_is_named_in_several_ways(target):
    data_set = colonnade.open(*target)
    text = target[0][0] if isinstance(target[0], list) else target[0]
    assert data_set.name == (target[1] or (text[1] if isinstance(text, tuple) else text.split(".root:")[1]))
    assert data_set.num_entries > 0


def test_enumerations_over_int8_have_a_sign():
    """ROOT stores their values as `char`."""
    path = FIXTURES / "types_enums.root"
    values = [127, -128, 127, 0, 127, -128, 0, -128]
    ds = colonnade.open(path)
    assert ds.schema["Tiny"].children[0].type == "char"
    assert str(ds["Tiny"].type) == "8 * int8"
    assert ds["Tiny"].tolist() == ds.to_arrow(["Tiny"])["Tiny"].to_pylist() == values
    assert [text for _, text in ds.entry_texts(0, 2, ["Tiny"])] == ['{"Tiny": 127}', '{"Tiny": -128}']
    assert colonnade.open([path, path])["Tiny"].tolist() == values * 2
    assert colonnade.DataFrame(ds).take("Tiny").value.tolist() == values


def test_names_and_paths_may_have_colons(tmp_path):
    for file, name in ("a.root", "x:y"), ("b:1.root", "x:y"), ("b", "z"):
        with colonnade.create(tmp_path / file, name, {"n": "int"}) as writer:
            writer.fill(n=1)
        assert colonnade.open(f"{tmp_path}/{file}:{name}").name == name
    assert colonnade.open(f"{tmp_path}/b:1.root:x:y").name == "x:y"  # beside the file "b"


def test_names_of_places_in_memory_are_no_names_of_data_sets():
    """A DataFrame of one, as a snapshot returns it, was refused: the text behind the colon was taken for a name."""
    place = "memory+obj:named-after-colon"
    with colonnade.create(place, "Events", {"x": "int"}) as writer:
        writer.extend({"x": [1, 2]})
    assert colonnade.open(place)["x"].to_list() == colonnade.open([place], "Events")["x"].to_list() == [1, 2]
    copied = colonnade.DataFrame("Events", place).snapshot(place, "Copied")
    assert copied.sum("x").value == 3


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("root://host:1094//a/f.root:dir/Events", ("root://host:1094//a/f.root", "dir/Events")),
        ("s3://bucket/run*.root:Events", ("s3://bucket/run*.root", "Events")),
        ("http://host:8080/f.root", ("http://host:8080/f.root", "")),
        ("http://user.root:word@host/f", ("http://user.root:word@host/f", "")),
        ("https://host/f.root?x=a:b", ("https://host/f.root?x=a:b", "")),
        ("https://host/a.root:b.root", ("https://host/a.root:b.root", "")),
        ("daos://pool/container:x", ("daos://pool/container:x", "")),
    ],
)
def test_names_behind_uris(text, split):
    assert split_target(text) == split


def test_name_may_be_left_out_if_there_is_one_data_set_only():
    assert colonnade.open(PROJECTED).name == "Projected"
    with pytest.raises(colonnade.UsageError, match="5 data sets") as caught:
        colonnade.open(SEVERAL)
    assert "Events" in caught.value.advice


def test_name_given_twice_is_refused():
    with pytest.raises(colonnade.UsageError, match="twice"):
        colonnade.open((SEVERAL, "Events"), "Events")


def test_missing_file_is_a_file_not_found_error(tmp_path):
    for call in (colonnade.open, colonnade.datasets):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "none.root")
        assert isinstance(caught.value, colonnade.FileMissingError)
        assert isinstance(caught.value, colonnade.NotFoundError)
        assert caught.value.uri == str(tmp_path / "none.root")
    with pytest.raises(colonnade.FileMissingError, match=r"none\.root"):
        colonnade.open(f"{tmp_path}/none.root:Events")


def test_missing_data_set_and_field_are_lookup_errors():
    with pytest.raises(LookupError, match="Nope") as caught:
        colonnade.open(SEVERAL, "Nope")
    assert caught.value.kind == "not_found"
    with pytest.raises(LookupError, match="did you mean jets_pt") as caught:
        colonnade.open(PROJECTED).arrays("jet_pt")
    assert caught.value.field == "jet_pt"
    assert caught.value.data_set == "Projected"


def test_what_a_file_lacks_is_no_missing_file(tmp_path):
    colonnade.copy(PROJECTED, f"obj://{tmp_path}/store")
    for uri in (str(PROJECTED), f"file://{PROJECTED}", f"obj://{tmp_path}/store"):
        for use in (
            lambda: colonnade.open(uri, "Nope"),  # noqa: B023
            lambda: colonnade.DataFrame("Nope", uri),  # noqa: B023
            lambda: colonnade.open(uri).attributes["nope"],  # noqa: B023
        ):
            with pytest.raises(colonnade.NotFoundError, match="there is no") as caught:
                use()
            assert not isinstance(caught.value, FileNotFoundError)
    for uri in (f"file://{tmp_path}/none.root", f"obj://{tmp_path}/none"):
        with pytest.raises(colonnade.FileMissingError):
            colonnade.open(uri, "Nope")


def test_text_file_is_refused(tmp_path):
    path = tmp_path / "text.root"
    path.write_text("this is not a ROOT file, and it is long enough to hold a header" * 10)
    with pytest.raises(colonnade.FormatError):
        colonnade.datasets(path)


def test_schemas_that_look_alike_are_told_apart(tmp_path):
    """Schemas of files that are opened one after the other are made once."""

    def schema_of(name, schema, **options):
        with colonnade.create(tmp_path / name, "t", schema=schema, **options) as writer:
            writer.fill(**dict.fromkeys(schema, 1))
        return colonnade.open(tmp_path / name).schema

    plain = schema_of("a.root", {"x": "double", "y": "float"})
    assert schema_of("b.root", {"x": "double", "y": "float"})["x"] is plain["x"]
    swapped = schema_of("c.root", {"y": "double", "x": "float"})
    assert [(name, info.type, info.columns) for name, info in swapped.items()] == [
        ("y", "double", (0,)),
        ("x", "float", (1,)),
    ]
    described = schema_of("d.root", {"x": "double", "y": "float"}, field_descriptions={"x": "GeV"})
    assert (described["x"].description, plain["x"].description) == ("GeV", "")
    encoded = schema_of("e.root", {"x": "double", "y": "float"}, encodings={"y": "Real32"})
    assert encoded["y"].encodings != plain["y"].encodings
    for i in range(6):  # more than are kept
        schema_of(f"{i}.root", {f"z{i}": "float"})
    again = colonnade.open(tmp_path / "a.root").schema
    assert again["x"] is not plain["x"]
    assert repr(again) == repr(plain)


def test_properties(sample):
    data_set = colonnade.open(sample)
    assert data_set.num_entries == 300
    assert data_set.field_names == ["id", "x", "Muon_pt", "Muon_eta", "name", "jets", "matrix", "maybe"]
    assert data_set.uri == str(sample)
    assert data_set.schema["x"].type == "double"
    assert data_set.schema["jets.pt"].path == "jets._0.pt"
    assert "jets.tags" in data_set.schema
    assert "jets.none" not in data_set.schema
    assert len(data_set.descriptor.clusters) == 3
    assert [cluster.entries for cluster in data_set.descriptor.clusters] == [100, 100, 100]


def test_representations_name_what_matters(sample):
    data_set = colonnade.open(sample)
    assert repr(data_set) == f"<DataSet 'Events' in '{sample}': 300 entries, 8 fields>"
    assert "jets: collection" in str(data_set.schema)
    assert "    pt: double" in str(data_set.schema)
    assert "<table>" in data_set._repr_html_()
    assert "std::vector&lt;double&gt;" in data_set._repr_html_()


def test_paths_reach_members_of_collections(sample):
    data_set = colonnade.open(sample)
    arrays = data_set.arrays(["jets.pt", "jets._0.pt", "jets.tags", "x"])
    assert arrays.fields == ["jets.pt", "jets._0.pt", "jets.tags", "x"]
    assert arrays["jets.pt"].to_list() == data_set["jets"].pt.to_list()
    assert arrays["jets._0.pt"].to_list() == data_set["jets"].pt.to_list()
    assert arrays["jets.tags"].to_list() == data_set["jets"].tags.to_list()


def test_wildcards_select_names_and_members(sample):
    data_set = colonnade.open(sample)
    assert data_set.arrays("Muon_*").fields == ["Muon_pt", "Muon_eta"]
    assert data_set.arrays(["jets.*", "i?"]).fields == ["jets.pt", "jets.tags", "id"]
    assert data_set.arrays("*").fields == data_set.field_names
    with pytest.raises(colonnade.NotFoundError, match="no field matches 'Electron_"):
        data_set.arrays("Electron_*")


def test_wildcards_stay_within_selected_fields(sample, tmp_path):
    events = colonnade.open(sample)
    data_set = events.select(["jets.pt", "Muon_pt", "maybe"])
    for each in (data_set, pickle.loads(pickle.dumps(data_set))):
        assert each.arrays("*").fields == ["jets.pt", "Muon_pt", "maybe"]
        assert each.arrays(["m*", "Muon_*"]).fields == ["maybe", "Muon_pt"]
        assert each.select("*").arrays("jets.*").fields == ["jets.pt"]
        assert each.arrays("x").fields == ["x"]
        for pattern in ("x*", "jets.t*", "Muon_e*"):
            with pytest.raises(colonnade.NotFoundError, match="no selected field matches") as caught:
                each.arrays(pattern)
            assert caught.value.field == pattern
    assert events.select("jets").arrays("jets.*").fields == ["jets.pt", "jets.tags"]
    with colonnade.create(tmp_path / "other.root", "Other", {"key": "std::int64_t"}) as writer:
        writer.extend({"key": np.arange(300)})
    other = colonnade.open(tmp_path / "other.root")
    joined = other.join(events.select(["id", "x"]), on={"key": "id"}, columns="*")
    assert joined.field_names == ["key", "id", "x", "Events_entry"]
    assert other.with_friends({"f": events}).select(["key", "x"]).arrays("*").fields[:2] == ["key", "x"]


def test_names_with_brackets_are_names_first(tmp_path):
    with colonnade.create(tmp_path / "f.root", "t") as writer:
        writer.extend({"event": [{"x[3]": 1, "x3": 2}]})
    data_set = colonnade.open(tmp_path / "f.root")
    assert data_set["event.x[3]"].to_list() == [1]
    assert data_set.arrays("event.x[0-9]").fields == ["event.x3"]


def test_names_that_are_not_text_are_shown_and_given_escaped(tmp_path):
    path = tmp_path / "names.root"
    content = {"a_??": [1, 2], "plain": [3, 4], "record": [{"b_??": 5}, {"b_??": 6}]}
    with colonnade.create(path, "Events", compression="none") as writer:
        writer.extend(content)
    stored = renamed(path.read_bytes(), b"a_??", b"a_\xff\xe9")
    path.write_bytes(renamed(stored, b"b_??", b"b_\xc3\xff"))
    data_set = colonnade.open(path)
    record = [{r"b_\xc3\xff": 5}, {r"b_\xc3\xff": 6}]
    expected = {r"a_\xff\xe9": [1, 2], "plain": [3, 4], "record": record}
    assert data_set.field_names == list(expected)
    for read in (data_set, colonnade.open([path])):
        assert {name: read[name].to_list() for name in expected} == expected
        assert read.arrays(library="pa").to_pydict() == expected
        assert read[r"record.b_\xc3\xff"].to_list() == [5, 6]
    colonnade.copy(path, tmp_path / "copy.root", columns=[r"a_\xff\xe9"])
    assert colonnade.open(tmp_path / "copy.root").field_names == [r"a_\xff\xe9"]
    frame = colonnade.DataFrame("Events", path)
    assert frame.sum(r"`a_\xff\xe9` + plain").value == 10
    assert frame.sum(r"record.b_\xc3\xff").value == 11
    for made in (frame, frame.snapshot(tmp_path / "snapshot.root")):
        assert made.to_arrow().to_pydict() == expected


def test_a_data_set_whose_name_is_not_text_opens_by_what_is_shown(tmp_path):
    for path in (tmp_path / "f.root", tmp_path / "f.rntuple"):
        with colonnade.create(path, "Ev_zz", compression="none") as writer:
            writer.extend({"x": [1, 2]})
        path.write_bytes(renamed(path.read_bytes(), b"Ev_zz", b"Ev_\xff\xe9"))
        [name] = colonnade.datasets(path)
        assert name == r"Ev_\xff\xe9"
        data_set = colonnade.open(path, name)
        assert pickle.loads(pickle.dumps(data_set))["x"].to_list() == [1, 2]
        assert colonnade.DataFrame(name, path).sum("x").value == 3
        with pytest.raises(colonnade.NotFoundError):
            colonnade.open(path, r"Ev_\xff\xe8")


def test_variants_in_variants_have_no_more_types_than_a_union_can_have(tmp_path):
    path = tmp_path / "variants.root"
    inner = [
        f"std::variant<{','.join(f'std::array<{of},{n}>' for n in range(1, 67))}>"
        for of in ("float", "std::string")
    ]
    values = [[1.0] * 66, ["a"] * 61, ["a"] * 62, ["a"] * 63, ["a"] * 66]
    with colonnade.create(path, "E", {"v": f"std::variant<{','.join(inner)}>"}) as writer:
        for value in values:
            writer.extend({"v": [value]})
    data_set = colonnade.open(path)
    assert data_set.arrays(library="pa")["v"].to_pylist() == values
    for read in (lambda: data_set["v"], lambda: colonnade.DataFrame("E", path).take("v").value):
        with pytest.raises(colonnade.UnsupportedError, match="of at most 128 types"):
            read()


def test_member_of_a_variant_is_missing_where_there_is_another():
    data_set = colonnade.open(FIXTURES / "types_variants.root")
    whole = data_set["variant_int32_string"].to_list()
    assert data_set["variant_int32_string._0"].to_list() == [v if isinstance(v, int) else None for v in whole]
    assert data_set["variant_int32_string._1"].to_list() == [v if isinstance(v, str) else None for v in whole]


def test_member_of_an_optional_record_and_of_a_base_class():
    optional = colonnade.open(FIXTURES / "types_nullables.root")
    expected = [point and point["x"] for point in optional["optional_Point"].to_list()]
    assert optional["optional_Point.x"].to_list() == expected
    classes = colonnade.open(FIXTURES / "types_classes.root")
    assert classes["Derived.base_id"].to_list() == [v["base_id"] for v in classes["Derived"].to_list()]


def test_arrays_of_one_read_outlive_each_other(tmp_path):
    given = {
        f"c{k}": np.arange(50_000) * (k + 1) for k in range(20)
    }  # 400 kB each: together in one block of memory
    given["list"] = ak.unflatten(np.arange(100_000), np.full(50_000, 2))
    path = tmp_path / "columns.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend(given)
    with colonnade.open(path) as data:
        for name in ("c0", "c7", "c19", "list"):
            arrays = dict(zip(given, ak.unzip(data.arrays()), strict=True))
            kept = arrays.pop(name)
            del arrays
            other = data.arrays()  # may take the memory
            assert ak.array_equal(kept, given[name])
            assert ak.array_equal(other[name], given[name])


def test_entries_count_like_slices(sample):
    data_set = colonnade.open(sample)
    for start, stop in [(None, None), (5, 10), (-10, None), (None, -290), (290, 1000), (10, 5), (150, 250)]:
        found = data_set.arrays("id", entry_start=start, entry_stop=stop).id.to_list()
        assert found == list(range(300))[start:stop]


@pytest.mark.parametrize("chained", [False, True])
def test_steps_decode_each_page_once(tmp_path: Path, chained: bool) -> None:
    """Also where they end within pages, and the ends of lists are needed of the page before."""
    path = str(tmp_path / "f.root")
    lists = ak.unflatten(np.arange(30_000.0), np.full(10_000, 3))
    with colonnade.create(
        path, "Events", {"x": "double", "v": "std::vector<double>"}, page_size=4096
    ) as writer:
        writer.extend({"x": np.arange(10_000.0), "v": lists})
    opened = [path, path] if chained else path
    with colonnade.open(opened) as whole:
        whole.arrays()
        pages = whole.metrics.pages
    for step in (1000, 137, 10):
        with colonnade.open(opened) as ds:
            read = [x for each in ds.iterate(step_size=step) for x in each.x.to_list()]
            assert read == [*range(10_000)] * (2 if chained else 1)
            assert ds.metrics.pages == pages, step


@pytest.mark.parametrize("step", [1, 7, 100, 299, 1000, "1 kB", "5 kB", "100 MB"])
@pytest.mark.parametrize("bounds", [(None, None), (50, 251)])
def test_steps_cover_everything_in_order(sample, step, bounds):
    data_set = colonnade.open(sample)
    start, stop = bounds
    parts = list(data_set.iterate(["id", "jets"], step_size=step, entry_start=start, entry_stop=stop))
    joined = ak.concatenate(parts)
    assert joined.id.to_list() == list(range(300))[start:stop]
    assert joined.jets.to_list() == data_set.arrays("jets").jets[start:stop].to_list()
    if isinstance(step, int):
        assert all(len(part) == step for part in parts[:-1])


def test_steps_by_size_follow_clusters(sample):
    data_set = colonnade.open(sample)
    assert [len(part) for part in data_set.iterate("x", step_size="1000 B")] == [100, 100, 100]
    assert [len(part) for part in data_set.iterate("x", step_size="1.6 kB")] == [200, 100]
    assert [len(part) for part in data_set.iterate("x", step_size="400 B")] == [50] * 6
    assert [len(part) for part in data_set.iterate("x", step_size="1 GiB")] == [300]


@pytest.mark.parametrize("step", [0, -1, "0 B", "many", "10 parsec"])
def test_steps_that_make_no_sense_are_refused(sample, step):
    with pytest.raises(colonnade.UsageError):
        list(colonnade.open(sample).iterate(step_size=step))


def test_numpy(sample):
    arrays = colonnade.open(sample).arrays(library="np")
    assert arrays["id"].dtype == np.int64
    assert arrays["x"].tolist() == [k / 2 for k in range(300)]
    assert arrays["matrix"].shape == (300, 2, 3)
    assert arrays["Muon_pt"].dtype == object
    assert arrays["Muon_pt"][0].dtype == np.float64
    assert arrays["Muon_pt"][0].tolist() == [0, 1]
    assert arrays["name"][299] == "n299"
    assert arrays["maybe"][:3].tolist() == [None, 1, None]
    assert arrays["jets"][1] == [{"pt": 1.0, "tags": ["a"]}]


def test_pandas(sample):
    frame = colonnade.open(sample).arrays(entry_start=10, library="pd")
    assert frame.index[0] == 10
    assert frame["id"].dtype == np.int64
    assert frame["x"].sum() == sum(k / 2 for k in range(10, 300))
    assert frame["name"].iloc[0] == "n10"
    assert str(frame["maybe"].dtype) == "int64[pyarrow]"
    assert frame["maybe"].isna().sum() == 145
    assert len(frame["Muon_pt"].iloc[2]) == 2


def test_unknown_library_is_refused(sample):
    with pytest.raises(colonnade.UsageError, match="'ak', 'np', 'pa', 'pd'"):
        colonnade.open(sample).arrays(library="torch")


def test_reading_copies_no_numbers(sample):
    data_set = colonnade.open(sample)
    reader = data_set._open_reader()
    ((_, _, flat),) = reader.arrays(["x"], 0, 300)
    assert flat.flags["ALIGNED"]
    assert not flat.flags["OWNDATA"]
    from colonnade.arrays.awkward import AwkwardBuilder

    assert AwkwardBuilder().numbers(flat).data.ctypes.data == flat.ctypes.data


def test_only_what_is_asked_is_read(sample):
    data_set = colonnade.open(sample)
    data_set.arrays("x")
    assert data_set.metrics.pages == 3
    data_set.arrays("x", entry_stop=1)
    assert data_set.metrics.pages == 4


def test_arrays_outlive_the_data_set(sample):
    with colonnade.open(sample) as data_set:
        arrays = data_set.arrays(["x", "name"])
    assert arrays.x[299] == 149.5
    with pytest.raises(colonnade.UsageError, match="closed"):
        data_set.arrays("x")


def test_selected_fields_go_with_pickling(sample):
    chosen = colonnade.open(sample).select(["x", "jets.pt"])
    again = pickle.loads(pickle.dumps(chosen))
    assert again.field_names == ["x", "jets.pt"]
    assert again.arrays().to_list() == chosen.arrays().to_list()


def test_the_working_folder_may_change(sample, monkeypatch, tmp_path):
    monkeypatch.chdir(sample.parent)
    data_set = colonnade.open(sample.name)
    stored = colonnade.copy(sample, "obj:store") and colonnade.open("obj:store")
    cached = colonnade.open(sample.name, cache="home")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert data_set.uri == sample.name
    for same in (data_set, stored, cached):
        for again in (same.select("x"), pickle.loads(pickle.dumps(same))):
            assert (again.uri, len(again["x"])) == (same.uri, 300)
        assert colonnade.DataFrame(same).count().value == 300
    assert not list(elsewhere.iterdir())
    assert (tmp_path / "home").is_dir()


def test_threads_may_share_a_data_set(sample):
    data_set = colonnade.open(sample)
    expected = data_set.arrays().to_list()

    def part(start):
        return data_set.arrays(entry_start=start, entry_stop=start + 30).to_list()

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(part, range(0, 300, 30)))
    assert [entry for each in parts for entry in each] == expected


def test_show_prints_entries(sample):
    data_set = colonnade.open(sample)
    out = io.StringIO()
    data_set.show(1, 3, fields=["id", "jets.pt", "name"], file=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("1: {")
    assert '"n1"' in lines[0]
    out = io.StringIO()
    data_set.show(file=out)
    assert len(out.getvalue().splitlines()) == 10


def test_streamer_field_is_listed_and_the_rest_reads():
    data_set = colonnade.open(FIXTURES / "types_streamer.root")
    assert data_set.field_names == ["before", "after"]
    assert data_set.schema["blob"].unreadable
    assert "cannot be read" in str(data_set.schema)
    with pytest.warns(colonnade.LeftOutWarning, match="'blob'"):
        assert len(data_set.arrays()) == 5


def test_projected_fields_name_their_source():
    schema = colonnade.open(PROJECTED).schema
    assert schema["jets_pt"].projected == "jets"
    assert schema["plain_again"].projected == "plain"
    assert schema["plain"].projected is None


def test_no_entries_keep_their_types():
    arrays = colonnade.open(FIXTURES / "empty.root").arrays()
    assert len(arrays) == 0
    assert str(arrays.v.type) == "0 * var * int16"
    assert str(arrays.s.type) == "0 * string"


def test_clusters_may_be_many():
    data_set = colonnade.open(CLUSTERS)
    assert len(data_set.descriptor.clusters) > 10
    assert [len(part) for part in data_set.iterate(step_size=1)] == [1] * data_set.num_entries


@pytest.mark.parametrize("path", [Path(FIXTURES / "compression_505.root")])
def test_damage_is_told_with_its_place(path, tmp_path):
    data_set = colonnade.open(path)
    page = next(r for r in data_set.descriptor.clusters[0].columns if r.pages).pages[0]
    damaged = tmp_path / "damaged.root"
    content = bytearray(path.read_bytes())
    content[page.offset] ^= 0x40
    damaged.write_bytes(content)
    with pytest.raises(colonnade.ChecksumError) as caught:
        colonnade.open(damaged).arrays()
    error = caught.value
    assert error.uri == str(damaged)
    assert error.data_set == "Compressed"
    assert error.field
    assert error.cluster == 0
    assert error.page == 0
    assert error.offset is not None
    assert isinstance(error, ValueError)
    with pytest.raises(colonnade.ChecksumError):
        colonnade.open(damaged).verify()


def test_errors_survive_pickling():
    error = colonnade.ChecksumError("broken", "copy it again", uri="f.root", page=3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is colonnade.ChecksumError
    assert str(again) == str(error) == "broken; try: copy it again [uri=f.root, page=3]"
    assert (again.uri, again.page, again.problem, again.advice) == ("f.root", 3, "broken", "copy it again")


@pytest.mark.parametrize("first", ["", "from tblib import pickling_support; pickling_support.install()"])
def test_errors_of_all_classes_survive_pickling(first):
    """Also where Dask has extended pickling for all exceptions that it knew."""
    code = f"""
import pickle, colonnade, colonnade.errors
{first}
kinds = [getattr(colonnade.errors, name) for name in colonnade.errors.__all__]
for kind in (each for each in kinds if isinstance(each, type) and issubclass(each, colonnade.Error)):
    error = kind("problem", "advice", uri="f.root", offset=7)
    error.__notes__ = ["note"]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind, kind
    assert (str(again), again.args, again.__dict__) == (str(error), error.args, error.__dict__), kind
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
