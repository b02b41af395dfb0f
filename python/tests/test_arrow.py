"""Arrow: the stream that a data set gives, and those who take it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import awkward as ak
import duckdb
import numpy as np
import polars
import pyarrow as pa
import pytest

import colonnade
from colonnade import _core
from colonnade.arrays.arrow import ArrowBuilder, with_text_views
from colonnade.polars import frame_of


@pytest.fixture
def data_set(tmp_path):
    """Two clusters of 50 entries."""
    path = tmp_path / "arrow.root"
    with colonnade.create(path, "Events") as writer:
        for start in (0, 50):
            number = np.arange(start, start + 50)
            writer.extend(
                {
                    "id": number,
                    "flag": number % 3 == 0,
                    "pt": ak.unflatten(np.arange(50.0, dtype=np.float32), [2, 0, 1, 1, 1] * 10),
                    "name": [f"µ{k}" for k in number],
                    "maybe": ak.Array([k if k % 2 else None for k in number]),
                    "jets": ak.Array([[{"pt": float(k), "n": k}] * (k % 3) for k in number]),
                    "pair": ak.Array([(int(k), f"p{k}") for k in number]),
                    "fixed": np.arange(150).reshape(50, 3),
                    "either": ak.Array([k if k % 2 else str(k) for k in number.tolist()]),
                }
            )
            writer.commit_cluster()
    return colonnade.open(path)


def test_table_from_the_stream(data_set):
    table = pa.table(data_set)
    table.validate(full=True)
    assert table.num_rows == 100
    assert table.column_names == data_set.field_names
    assert table.schema.field("pt").type == pa.large_list(pa.float32())
    assert table.schema.field("name").type == pa.large_utf8()
    assert table.schema.field("fixed").type == pa.list_(pa.int64(), 3)
    assert table.schema.field("jets").type == pa.large_list(
        pa.struct([("pt", pa.float64()), ("n", pa.int64())])
    )
    assert pa.types.is_union(table.schema.field("either").type)
    assert table.column("maybe").null_count == 50
    rows = table.to_pylist()
    expected = data_set.arrays().to_list()
    for row, entry in zip(rows, expected, strict=True):
        assert tuple(row.pop("pair").values()) == entry.pop("pair")
        assert row == entry


def test_schema_without_data(data_set):
    assert pa.schema(data_set) == pa.table(data_set).schema


def test_batches_follow_the_steps(data_set):
    reader = data_set.to_arrow_reader(["id"], step_size="400 B")
    assert [batch.num_rows for batch in reader] == [50, 50]
    reader = data_set.to_arrow_reader(["id", "either"], step_size=30)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]
    assert len({str(batch.schema) for batch in batches}) == 1


def test_errors_in_the_stream_are_told(data_set, tmp_path):
    damaged = tmp_path / "damaged.root"
    content = bytearray((tmp_path / "arrow.root").read_bytes())
    page = data_set.descriptor.clusters[1].columns[0].pages[0]
    content[page.offset] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(Exception, match="checksum"):
        pa.table(colonnade.open(damaged))


def test_numbers_and_offsets_are_not_copied():
    values, offsets = np.arange(4.0), np.array([0, 1, 4])
    builder = ArrowBuilder()
    numbers = builder.numbers(values)
    assert numbers.buffers()[1].address == values.ctypes.data
    lists = builder.list(offsets, numbers)
    assert lists.buffers()[1].address == offsets.ctypes.data
    assert lists.values.buffers()[1].address == values.ctypes.data
    text = builder.text(offsets, np.frombuffer(b"abcd", dtype=np.uint8))
    assert text.to_pylist() == ["a", "bcd"]


def test_capsules_have_the_names_of_the_interface(data_set):
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(data_set.__arrow_c_stream__()) == b"arrow_array_stream"
    assert name(data_set.__arrow_c_schema__()) == b"arrow_schema"


def test_requested_schemas_are_met_where_a_cast_exists(data_set):
    """Otherwise the stream has its own, which the caller sees."""
    chosen = data_set.select(["id", "name"])
    for source in (chosen, colonnade.DataFrame(chosen)):
        for kind, given in [(pa.int32(), pa.int32()), (pa.list_(pa.int64()), pa.int64())]:
            wanted = pa.schema([("id", kind), ("name", pa.string_view())])
            stream = source.__arrow_c_stream__(wanted.__arrow_c_schema__())
            table = pa.RecordBatchReader._import_from_c_capsule(stream).read_all()
            assert table.schema.field("id").type == given
            assert table["id"].to_pylist() == list(range(100))
        for names in (["id"], ["name", "id"]):
            with pytest.raises(colonnade.UsageError, match="to_arrow_reader"):
                pa.table(source, schema=pa.schema([(name, pa.large_string()) for name in names]))


@pytest.mark.parametrize("names", [["pt", "n"], ["n", "pt"], ["pt", "m"], ["pt"], ["pt", "n", "m"]])
def test_requested_records_have_all_members(data_set, names):
    """Arrow's cast would leave members out, and add missing values."""
    members = pa.struct([(name, pa.float32()) for name in names])
    wanted = pa.schema([("id", pa.int32()), ("jets", pa.list_(members))])
    chosen = data_set.select(["id", "jets"])
    for source in (chosen, colonnade.DataFrame(chosen)):
        if set(names) == {"pt", "n"}:
            table = pa.table(source, schema=wanted)
            assert table.schema == wanted
            assert table["jets"].to_pylist() == data_set["jets"].to_list()
        else:
            with pytest.raises(colonnade.UsageError, match="other members") as caught:
                pa.table(source, schema=wanted)
            assert caught.value.field == "jets"


def test_polars(data_set):
    chosen = data_set.select(["id", "flag", "pt", "name", "maybe", "jets", "pair", "fixed"])
    frame = polars.DataFrame(chosen)
    assert frame.shape == (100, 8)
    assert frame["id"].sum() == 4950
    assert frame["maybe"].null_count() == 50
    assert frame["name"][99] == "µ99"
    assert frame["pt"].explode().drop_nulls().sum() == pytest.approx(ak.sum(data_set["pt"]))
    assert frame["jets"].to_list() == data_set["jets"].to_list()


def test_polars_has_texts_as_views(tmp_path):
    rng = np.random.default_rng(5)
    letters = np.array(["a", "z", "é", "漢", "𝛑"])
    texts = ["".join(rng.choice(letters, size)) for size in rng.integers(0, 16, 240)]
    texts[7::9] = ["thirteen char"[: k % 14] for k in range(len(texts[7::9]))]
    lists = ak.unflatten(ak.Array(texts), [0, 2, 1, 5] * 30)
    path = tmp_path / "texts.root"
    with colonnade.create(path, "Texts") as writer:
        columns = {
            "plain": texts[:120],
            "listed": lists,
            "nested": ak.unflatten(lists, [3, 0, 1] * 30 + [0] * 30),
            "record": ak.zip({"text": texts[120:], "large_string": np.arange(120)}),
            "maybe": [text if k % 3 else None for k, text in enumerate(texts[:120])],
            "fixed": ak.to_regular(ak.unflatten(ak.Array(texts), 2), axis=1),
            "number": np.arange(120),
        }
        writer.extend(columns)
    data_set = colonnade.open(path)
    expected = polars.from_arrow(data_set.to_arrow())
    assert data_set.to_polars().equals(expected)
    assert colonnade.polars.scan(path).collect().equals(expected)
    some = polars.col("number") % 5 == 1
    assert colonnade.polars.scan(path).filter(some).collect().equals(expected.filter(some))
    assert colonnade.polars.scan(colonnade.DataFrame("Texts", str(path))).collect().equals(expected)
    assert polars.concat(data_set.iterate(step_size=50, library="pl")).equals(expected)
    sliced = data_set.to_arrow()[17:90]
    assert frame_of(sliced).equals(expected[17:90])
    if hasattr(pa.DataType, "has_variadic_buffers"):
        own = data_set.to_arrow(["listed"])["listed"].chunk(0)
        array = with_text_views(own)
        array.validate(full=True)
        assert array.type == pa.large_list(pa.string_view())
        assert array.values.buffers()[2].address == own.values.buffers()[2].address


@pytest.mark.parametrize(
    ("offsets", "words", "problem"),
    [
        ([0, 2, 1], 4, "do not fit their characters"),
        ([-1, 2, 3], 4, "do not fit their characters"),
        ([0, 2, 4], 4, "do not fit their characters"),
        ([0, 2], 4, "needs one view"),
        ([], 0, "needs one view"),
    ],
)
def test_views_of_broken_texts(offsets, words, problem):
    with pytest.raises(colonnade.UsageError, match=problem):
        _core.fill_text_views(np.empty(words, np.uint64), np.array(offsets, np.int64), np.zeros(3, np.uint8))


def test_duckdb(data_set):
    stream = data_set.to_arrow_reader()  # noqa: F841 - DuckDB finds variables by name
    assert duckdb.sql("SELECT count(*), sum(id), count(maybe), max(name) FROM stream").fetchall() == [
        (100, 4950, 50, "µ99")
    ]
    jets = pa.table(data_set.select("jets"))  # noqa: F841
    (found,) = duckdb.sql("SELECT sum(j.pt) FROM (SELECT unnest(jets) AS j FROM jets)").fetchall()
    assert found[0] == ak.sum(data_set["jets"].pt)


def test_duckdb_leaves_errors_alone():
    """It is made with nanobind, too, whose modules translate each other's exceptions; it takes a brace for its own."""
    code = (
        "import sys, colonnade, duckdb\n"
        "try:\n"
        "    colonnade._core.FrameGraph.from_plan(sys.argv[1], None, None)\n"
        "except colonnade.FormatError as error:\n"
        "    print(error.problem)\n"
    )
    plan = '{"version": 1, "source": {"source": "empty", "entries": {}}, "nodes": [], "results": []}'
    done = subprocess.run([sys.executable, "-c", code, plan], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{} is not a whole number")


def test_duckdb_takes_the_data_set_itself(data_set):
    chosen = data_set.select(["id", "pt"])  # noqa: F841 - DuckDB finds it by name
    assert duckdb.sql("SELECT sum(id) FROM chosen").fetchall() == [(4950,)]


def test_text_that_is_not_utf8_is_refused(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"s": "std::string"}) as writer:
        writer.fill(s="fine")
        writer.fill(s=b"\xff\xfe")
    data_set = colonnade.open(tmp_path / "f.root")
    with pytest.raises(colonnade.ConversionError, match="not valid UTF-8") as caught:
        data_set.arrays(library="pa")
    assert caught.value.field == "s"
    assert data_set.arrays(library="np")["s"].tolist() == ["fine", "\udcff\udcfe"]


def test_round_trip_through_arrow(data_set, tmp_path):
    chosen = data_set.select(["id", "flag", "pt", "name", "maybe", "jets", "fixed"])
    copy = tmp_path / "copy.root"
    for source in (pa.table(chosen), polars.DataFrame(chosen), chosen):
        with colonnade.create(copy, "Copy") as writer:
            writer.extend(source)
        again = colonnade.open(copy)
        assert again.arrays().to_list() == chosen.arrays().to_list()
        assert again.schema["id"].type == "std::int64_t"
        assert again.schema["maybe"].type == "std::optional<std::int64_t>"


def test_readers_at_the_end_of_a_program(data_set):
    """PyArrow keeps what its readers read."""
    code = f"import colonnade; reader = colonnade.open({data_set.uri!r}).to_arrow_reader()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
