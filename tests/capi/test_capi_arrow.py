"""Data sets as Arrow data through the C interface: against the Python package, ROOT's files, and themselves."""

from __future__ import annotations

import ctypes
import datetime
import threading
from pathlib import Path
from typing import Any

import c_library as c
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from other_names import renamed

import colonnade

# ---- Random tables


def arrays_of(kind: pa.DataType, count: int, draw: Any, nulls: bool) -> pa.Array:
    """Random values of a type, as Python values."""
    return pa.array([value_of(kind, draw, nulls) for _ in range(count)], kind)


def has_type_name(kind: pa.DataType) -> bool:
    """Whether values of the type may be missing: not structs, nor lists of them."""
    if pa.types.is_struct(kind):
        return False
    return not hasattr(kind, "value_type") or has_type_name(kind.value_type)


def value_of(kind: pa.DataType, draw: Any, nulls: bool) -> Any:
    if nulls and has_type_name(kind) and draw(st.integers(0, 4)) == 0:
        return None
    if pa.types.is_boolean(kind):
        return draw(st.booleans())
    if pa.types.is_integer(kind):
        bits = kind.bit_width
        low, high = (0, 2**bits - 1) if "u" in str(kind) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return draw(st.integers(low, high))
    if pa.types.is_floating(kind):
        return draw(st.floats(width=kind.bit_width, allow_nan=False))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return draw(st.binary(max_size=20))
    if pa.types.is_fixed_size_list(kind):
        return [value_of(kind.value_type, draw, nulls) for _ in range(kind.list_size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [value_of(kind.value_type, draw, nulls) for _ in range(draw(st.integers(0, 3)))]
    return {kind.field(k).name: value_of(kind.field(k).type, draw, nulls) for k in range(kind.num_fields)}


NUMBERS = [
    pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
    pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
]  # fmt: skip
PLAIN = st.sampled_from([*NUMBERS, pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])


def nested(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    members = st.lists(kinds, min_size=1, max_size=3)
    return st.one_of(
        kinds.map(pa.list_),
        kinds.map(pa.large_list),
        members.map(lambda types: pa.struct([(f"m{k}", kind) for k, kind in enumerate(types)])),
        st.tuples(st.sampled_from(NUMBERS), st.integers(1, 3)).map(lambda both: pa.list_(*both)),
    )


TYPES = st.recursive(PLAIN, nested, max_leaves=4)


@st.composite
def tables(draw: st.DrawFn, nulls: bool) -> pa.Table:
    kinds = draw(st.lists(TYPES, min_size=1, max_size=4))
    count = draw(st.integers(0, 12))
    columns = {f"c{k}": arrays_of(kind, count, draw, nulls) for k, kind in enumerate(kinds)}
    table = pa.table(columns)
    # Slices have offsets, and parts have lengths of their own.
    first = draw(st.integers(0, count))
    parts = [table.slice(first), table.slice(0, first)]
    return pa.concat_tables(parts)


MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@given(data=st.data(), nulls=st.booleans())
@MANY
def test_random_tables_come_back(tmp_path: Path, data: st.DataObject, nulls: bool) -> None:
    """What is written is what Python reads, and what the C interface reads, in one piece and in batches."""
    table = data.draw(tables(nulls))
    file = str(tmp_path / "t.root")
    assert c.write_table(table, file, mode=1, nulls=int(nulls)) == table.num_rows
    expected = table.to_pylist()
    with colonnade.open(file) as read:
        assert as_stored(read.to_arrow().to_pylist()) == as_stored(expected)
    with c.opened(file) as reader:
        whole = c.read(reader)
        whole.validate(full=True)
        assert as_stored(whole.to_pylist()) == as_stored(expected)
        size = data.draw(st.integers(1, 7))
        parts = c.stream(reader, batch_entries=size)
        batches = list(parts)
        assert all(0 < batch.num_rows <= size for batch in batches)
        assert as_stored([row for batch in batches for row in batch.to_pylist()]) == as_stored(expected)


def as_stored(value: Any) -> Any:
    """Bytes are stored as vectors of std::byte, which come back as lists of numbers."""
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, list):
        return [as_stored(item) for item in value]
    if isinstance(value, dict):
        return {name: as_stored(item) for name, item in value.items()}
    return value


# ---- The same shapes as Python gives


def without_nullability(kind: pa.DataType) -> str:
    return str(kind).replace(" not null", "")


def test_fixtures_read_as_in_python(fixture_files: list[Path]) -> None:
    """All data sets of the fixtures: types and values of every top-level field are those of `to_arrow()`."""
    seen = 0
    for file in fixture_files:
        for name in c.strings(c.made("colonnade_data_sets", str(file).encode())):
            with colonnade.open(file, name) as data_set, c.opened(str(file), name=name) as reader:
                for column in data_set.schema.select(None):
                    expected = outcome(lambda column=column: data_set.to_arrow([column]))
                    got = outcome(lambda column=column: pa.table(c.read(reader, [column])))
                    assert isinstance(expected, str) == isinstance(got, str), (
                        file,
                        name,
                        column,
                        expected,
                        got,
                    )
                    if isinstance(expected, str):
                        continue
                    seen += 1
                    got.validate(full=True)
                    types = [without_nullability(table.schema.field(0).type) for table in (expected, got)]
                    assert types[0] == types[1], (file, name, column)
                    assert repr(expected.to_pylist()) == repr(got.to_pylist()), (file, name, column)
    assert seen > 100


def outcome(work: Any) -> Any:
    try:
        return work()
    except (colonnade.Error, c.CError) as error:
        return str(error)


def test_paths_through_lists_and_records(tmp_path: Path) -> None:
    file = tmp_path / "f.root"
    jets = [[{"pt": 1.5, "tags": ["a"]}, {"pt": 2.5, "tags": []}], []]
    with colonnade.create(file, "Events") as writing:
        writing.extend({"jets": jets, "met": [1.0, 2.0]})
    with c.opened(str(file)) as reader:
        assert c.strings(c.made("colonnade_reader_fields", reader)) == ["jets", "met"]
        batch = c.read(reader, ["jets.pt", "met", "jets.tags"])
        assert batch.to_pylist() == [
            {"jets.pt": [1.5, 2.5], "met": 1.0, "jets.tags": [["a"], []]},
            {"jets.pt": [], "met": 2.0, "jets.tags": []},
        ]
        assert c.read(reader, ["met"], 1, 2).to_pylist() == [{"met": 2.0}]
        assert c.read(reader, ["met"], 2, 2).num_rows == 0


def test_variants_optionals_and_tuples(tmp_path: Path) -> None:
    file = tmp_path / "v.root"
    schema = {
        "v": "std::variant<std::int32_t,std::string,std::vector<float>>",
        "o": "std::optional<std::vector<std::int32_t>>",
        "p": "std::pair<std::int32_t,std::string>",
    }
    rows = [
        {"v": 3, "o": [1, 2], "p": (1, "a")},
        {"v": "text", "o": None, "p": (2, "b")},
        {"v": [0.5], "o": [], "p": (3, "c")},
    ]
    with colonnade.create(file, "Events", schema=schema) as writing:
        for row in rows:
            writing.fill(**row)
    with colonnade.open(file) as data_set, c.opened(str(file)) as reader:
        batch = c.read(reader)
        batch.validate(full=True)
        assert batch.to_pylist() == data_set.to_arrow().to_pylist()
        assert [row["v"] for row in batch.to_pylist()] == [3, "text", [0.5]]
        assert c.read(reader, ["v._1"]).column(0).to_pylist() == [None, "text", None]


# ---- Types that only Arrow has


def test_unions_dictionaries_views_and_times(tmp_path: Path) -> None:
    file = str(tmp_path / "u.root")
    codes = pa.array([0, 1, 0, 1], pa.int8())
    dense = pa.UnionArray.from_dense(
        codes, pa.array([0, 0, 1, 1], pa.int32()), [pa.array([1, 2], pa.int32()), pa.array(["x", "y"])]
    )
    sparse = pa.UnionArray.from_sparse(
        codes, [pa.array([1, 0, 2, 0], pa.int32()), pa.array(["", "x", "", "y"])]
    )
    words = pa.array(["a", "b", "a", "a"]).dictionary_encode()
    long = ["short", "a text of more than twelve bytes", "", "another one that is long enough"]
    when = [datetime.datetime(2026, 1, day) for day in range(1, 5)]
    table = pa.table(
        {
            "dense": dense,
            "sparse": sparse,
            "words": words,
            "views": pa.array(long, pa.string_view()),
            "when": pa.array(when, pa.timestamp("us", tz="UTC")),
            "day": pa.array([moment.date() for moment in when], pa.date32()),
            "map": pa.array([[(1, 2.5)], [], [(3, 4.5), (5, 6.5)], []], pa.map_(pa.int32(), pa.float64())),
        }
    )
    assert c.write_table(table, file) == 4
    with colonnade.open(file) as read:
        assert read.schema["when"].description == "timestamp[us, tz=UTC]"
        got = read.to_arrow().to_pydict()
    assert got["dense"] == got["sparse"] == [1, "x", 2, "y"]
    assert got["words"] == ["a", "b", "a", "a"]
    assert got["views"] == long
    assert got["when"] == [int(moment.replace(tzinfo=datetime.UTC).timestamp() * 1e6) for moment in when]
    assert got["day"] == [(moment.date() - datetime.date(1970, 1, 1)).days for moment in when]
    assert got["map"][2] == [{"0": 3, "1": 4.5}, {"0": 5, "1": 6.5}]


def test_missing_values_need_optionals(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, None, 3])})
    file = tmp_path / "n.root"
    with pytest.raises(c.CError, match="value 1 is missing") as refused:
        c.write_table(table, str(file))
    assert refused.value.status == c.CODES["conversion"]
    assert refused.value.field == "x"
    assert not file.exists()
    c.write_table(table, str(file), nulls=1)
    with colonnade.open(file) as read:
        assert read.schema["x"].type == "std::optional<std::int64_t>"
        assert read.to_arrow().column("x").to_pylist() == [1, None, 3]


def test_a_code_may_stand_for_a_missing_value(tmp_path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 1]), pa.array(["a", "b", None]))
    table = pa.table({"x": words, "v": pa.ListArray.from_arrays([0, 1, 1, 3, 4], words)})
    file = tmp_path / "n.root"
    with pytest.raises(c.CError, match="value 2 is missing"):
        c.write_table(table, str(file))
    c.write_table(table, str(file), nulls=1)
    with colonnade.open(file) as read:
        assert read["x"].to_list() == ["a", None, None, "b"]
        assert read["v"].to_list() == [["a"], [], [None, None], ["b"]]
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 3]), pa.array(["a", None]), safe=False)
    with pytest.raises(c.CError, match="beyond"):
        c.write_table(pa.table({"x": wrong}), str(tmp_path / "wrong.root"), nulls=1)


def test_dictionaries_of_dictionaries_are_what_they_stand_for(tmp_path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1]), pa.array(["a", "b", None]))
    outer = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None], pa.int16()), words)
    table = pa.table({"x": outer, "v": pa.ListArray.from_arrays([0, 1, 1, 3, 4, 5], outer)})
    file = tmp_path / "d.root"
    with pytest.raises(c.CError, match="is missing"):
        c.write_table(table, str(file))
    c.write_table(table.slice(1), str(file), nulls=1)
    with colonnade.open(file) as read:
        assert read["x"].to_list() == ["a", None, "b", None]
        assert read["v"].to_list() == [[], ["a", None], ["b"], [None]]
    inner = pa.DictionaryArray.from_arrays(pa.array([0, 3]), pa.array(["a", "b"]), safe=False)
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 1]), inner)
    with pytest.raises(c.CError, match="beyond"):
        c.write_table(pa.table({"x": wrong}), str(tmp_path / "wrong.root"), nulls=1)


@pytest.mark.parametrize("buffer", [1, 2, 3])
def test_views_without_a_buffer_are_refused(tmp_path: Path, buffer: int) -> None:
    """The views, the characters, and the sizes of the buffers with these."""
    batch = pa.record_batch({"s": pa.array(["short", "longer than a view"], pa.string_view())})
    given = c.ArrowStruct()
    batch._export_to_c(given.address)
    (child,) = (c.U64 * 1).from_address(given.words[6])
    length_to_children = (c.U64 * 6).from_address(child)
    assert length_to_children[3] == 4
    (c.U64 * 4).from_address(length_to_children[5])[buffer] = 0
    with c.writer(str(tmp_path / "v.root"), batch.schema, nulls=1) as writing:
        with pytest.raises(c.CError, match=r"null pointer|points nowhere") as caught:
            c.call("colonnade_writer_append", writing, ctypes.byref(given))
        assert caught.value.field.startswith("s")
    assert given.words[8] == 0


def test_unions_with_decreasing_offsets_are_refused(tmp_path: Path) -> None:
    codes, places = pa.array([0, 1, 0], pa.int8()), pa.array([1, 0, 0], pa.int32())
    union = pa.UnionArray.from_dense(codes, places, [pa.array([1, 2]), pa.array(["a"])])
    with pytest.raises(c.CError, match="the offsets of the union decrease") as refused:
        c.write_table(pa.table({"u": union}), str(tmp_path / "u.root"))
    assert (refused.value.status, refused.value.field) == (c.CODES["usage"], "u")


# ---- Writers


def test_a_writer_appends_commits_and_closes(tmp_path: Path) -> None:
    file = tmp_path / "w.root"
    batch = pa.record_batch({"x": pa.array([1.0, 2.0]), "s": pa.array(["a", "b"])})
    with c.writer(str(file), batch.schema, compression="lz4") as writing:
        c.append(writing, batch)
        c.append(writing, batch.slice(1))
        assert c.LIBRARY.colonnade_writer_num_entries(writing) == 3
        c.call("colonnade_writer_commit", writing)
        c.append(writing, batch)
        c.call("colonnade_writer_close", writing)
        with pytest.raises(c.CError, match="the writer is closed"):
            c.append(writing, batch)
    with colonnade.open(file) as read:
        assert read.to_arrow().to_pydict() == {"x": [1, 2, 2, 1, 2], "s": ["a", "b", "b", "a", "b"]}
    with pytest.raises(c.CError) as refused, c.writer(str(file), batch.schema):
        pass
    assert refused.value.status == c.CODES["usage"]
    with c.writer(str(file), batch.schema, name="More", mode=2) as writing:
        c.call("colonnade_writer_close", writing)
    assert c.strings(c.made("colonnade_data_sets", str(file).encode())) == ["Events", "More"]


def test_a_writer_that_is_released_drops_what_was_not_committed(tmp_path: Path) -> None:
    file = tmp_path / "w.root"
    batch = pa.record_batch({"x": pa.array([1.0, 2.0])})
    with c.writer(str(file), batch.schema) as writing:
        c.append(writing, batch)
    assert not file.exists()
    with c.writer(str(file), batch.schema) as writing:
        c.append(writing, batch)
        c.call("colonnade_writer_commit", writing)
        c.append(writing, batch)
    with colonnade.open(file) as read:
        assert read.num_entries == 2


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (pa.decimal128(10, 2), "the Arrow type 'd:10,2' cannot be stored"),
        (pa.null(), "the Arrow type 'n' cannot be stored"),
        (pa.struct([]), "a struct without fields"),
        (pa.list_(pa.struct([("a", pa.int32())]), 2), "a struct in a fixed-size list"),
        (pa.run_end_encoded(pa.int32(), pa.float64()), r"the Arrow type '\+r' cannot be stored"),
    ],
)
def test_types_that_cannot_be_stored(tmp_path: Path, kind: pa.DataType, says: str) -> None:
    file = tmp_path / "k.root"
    with pytest.raises(c.CError, match=says) as refused:
        c.write_table(pa.table({"c": pa.array([], kind)}), str(file))
    assert refused.value.status in (c.CODES["schema"], c.CODES["unsupported"])
    assert refused.value.field == "c"
    assert not file.exists()


def test_entries_without_a_field_are_refused(tmp_path: Path) -> None:
    entries = pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))
    file = tmp_path / "f.root"
    with pytest.raises(c.CError, match="entries without any field are not counted"):
        c.write_table(pa.RecordBatchReader.from_batches(entries.schema, [entries]), str(file))
    assert not file.exists()


def test_a_stream_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def batches() -> Any:
        yield pa.record_batch({"x": pa.array([1.0])})
        raise OSError("the source is gone")

    file = tmp_path / "s.root"
    source = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), batches())
    with pytest.raises(c.CError, match="the source is gone"):
        c.write_table(source, str(file))
    assert not file.exists()


# ---- Chains, threads, errors


def test_chains_and_missing_fields(tmp_path: Path) -> None:
    for number in range(3):
        c.write_table(pa.table({"x": [number, number], **({"y": [1.5, 2.5]} if number else {})}),
                      str(tmp_path / f"f{number}.root"))  # fmt: skip
    pattern = str(tmp_path / "f*.root")
    with pytest.raises(c.CError) as refused, c.opened(pattern):
        pass
    assert refused.value.status == c.CODES["schema"]
    with c.opened(pattern, missing=1) as reader:
        assert c.LIBRARY.colonnade_reader_num_entries(reader) == 6
        got = pa.Table.from_batches(c.stream(reader, batch_entries=4)).to_pydict()
        assert got == {"x": [0, 0, 1, 1, 2, 2], "y": [None, None, 1.5, 2.5, 1.5, 2.5]}
    with c.opened(pattern, missing=2) as reader:
        assert c.schema_of(reader).names == ["x"]


def test_streams_outlive_their_reader_and_go_on_in_other_threads(tmp_path: Path) -> None:
    file = str(tmp_path / "f.root")
    values = np.arange(100_000)
    c.write_table(pa.table({"x": values}), file, cluster_size=20_000)
    with c.opened(file) as reader:
        streams = [c.stream(reader, batch_entries=777) for _ in range(4)]
    sums: list[int] = []

    def drain(source: pa.RecordBatchReader) -> None:
        sums.append(sum(int(batch.column(0).to_numpy().sum()) for batch in source))

    threads = [threading.Thread(target=drain, args=(source,)) for source in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [int(values.sum())] * 4


def test_errors_say_what_and_where(tmp_path: Path) -> None:
    missing = str(tmp_path / "no.root")
    with pytest.raises(c.CError) as refused, c.opened(missing):
        pass
    assert refused.value.status in (c.CODES["io"], c.CODES["not found"])
    assert missing in str(refused.value)
    file = str(tmp_path / "f.root")
    c.write_table(pa.table({"energy": [1.0]}), file)
    with c.opened(file) as reader:
        with pytest.raises(c.CError, match="energy") as refused:
            c.read(reader, ["enrgy"])
        assert refused.value.status == c.CODES["not found"]
        with pytest.raises(c.CError, match="requested twice"):
            c.read(reader, ["energy", "energy"])
        with pytest.raises(c.CError, match="are not within 1"):
            c.read(reader, first=2, last=3)
    with pytest.raises(c.CError, match="a URI is a null pointer"):
        c.call("colonnade_open", None, None, 1, None, None if False else c.ctypes.byref(c.ctypes.c_void_p()))
    with pytest.raises(c.CError, match="out is a null pointer"):
        c.call("colonnade_open", None, c.texts([file]), 1, None, None)


def test_text_that_is_not_utf8_is_an_error_of_the_stream(tmp_path: Path) -> None:
    file = tmp_path / "f.root"
    with colonnade.create(file, "Events", schema={"s": "std::string"}) as writing:
        writing.extend({"s": pa.array([b"\xff\xfe"]).cast(pa.string(), safe=False)})
    with c.opened(str(file)) as reader:
        with pytest.raises(c.CError, match="UTF-8"):
            c.read(reader)
        with pytest.raises(pa.ArrowInvalid, match="UTF-8"):
            list(c.stream(reader))


def test_names_that_are_not_utf8_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "names.root"
    with colonnade.create(path, "Ev_zz", compression="none") as writing:
        writing.extend({"a_??": [1, 2], "record": [{"b_??": 5}, {"b_??": 6}]})
    content = path.read_bytes()
    for name in (b"Ev_zz", b"a_??", b"b_??"):
        content = renamed(content, name, name[:-2] + b"\xff\xe9")
    path.write_bytes(content)
    expected = {r"a_\xff\xe9": [1, 2], "record": [{r"b_\xff\xe9": 5}, {r"b_\xff\xe9": 6}]}
    assert c.strings(c.made("colonnade_data_sets", str(path).encode())) == [r"Ev_\xff\xe9"]
    for data_set in (r"Ev_\xff\xe9", None):
        with c.opened(str(path), name=data_set) as reader:
            assert c.strings(c.made("colonnade_reader_fields", reader)) == list(expected)
            assert c.read(reader).to_pydict() == expected
            assert c.read(reader, [r"a_\xff\xe9"]).to_pydict() == {r"a_\xff\xe9": [1, 2]}


def test_errors_are_utf8(tmp_path: Path) -> None:
    file = str(tmp_path / "f.root").encode()
    c.write_table(pa.table({"x": [1]}), file.decode())
    uris = (ctypes.c_char_p * 1)(file)
    with pytest.raises(c.CError) as refused:
        c.made("colonnade_open", b"caf\xe9", uris, ctypes.c_size_t(1), None)
    assert refused.value.problem == r'there is no data set "caf\xe9"'
    assert r"data set=caf\xe9" in str(refused.value)


def test_clusters_of_any_size(tmp_path: Path) -> None:
    """Also above the limit in memory that C++ has as an option of its own."""
    table = pa.table({"x": pa.array([1, 2], pa.int32())})
    for number, size in enumerate([1, 2**31, 2**63, 2**64 - 1]):
        file = str(tmp_path / f"f{number}.root")
        assert c.write_table(table, file, cluster_size=size) == 2
        with c.opened(file) as reader:
            assert c.read(reader).to_pydict() == {"x": [1, 2]}
