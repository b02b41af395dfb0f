"""Scans by Polars and DuckDB: the same answers as over a table in memory, and only what is needed is read."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import duckdb
import hypothesis.strategies as st
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from hypothesis import HealthCheck, given, settings

import colonnade
import colonnade.polars


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 clusters of 500 entries; `n` rises."""
    file = tmp_path_factory.mktemp("scan") / "e.root"
    random = np.random.default_rng(4)
    with colonnade.create(file, "Events") as writing:
        for cluster in range(20):
            counts = random.integers(0, 4, 500)
            writing.extend(
                {
                    "n": np.arange(cluster * 500, cluster * 500 + 500),
                    "x": random.normal(size=500),
                    "name": [f"name {i % 13}" for i in range(500)],
                    "v": ak.unflatten(random.normal(size=counts.sum()), counts),
                    "wide": random.normal(size=500),
                }
            )
            writing.commit_cluster()
    return file


def pages_of(data_set: Any, columns: list[str], clusters: int) -> int:
    """Count pages of some clusters."""
    ids = {number for column in columns for info in data_set.schema[column].walk() for number in info.columns}
    return sum(
        len(found.pages) for cluster in data_set.descriptor.clusters[:clusters] for found in cluster.columns
        if found.column in ids
    )  # fmt: skip


CONDITIONS = [
    "n < 700", "x > 0.5 and n > 3000", "name = 'name 3'", "x > 100", "n >= 0", "n in (1, 2, 9999)", "x is null",
    "x > 0 or n < 10", "length(name) > 6",
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_duckdb_answers_as_over_a_table(events: Path, condition: str) -> None:
    with colonnade.open(events) as data_set:
        table, scanned = data_set.to_arrow(), data_set.to_arrow_dataset()
        for query in (
            f"select n, x from source where {condition} order by n",
            f"select count(*), max(x), sum(n), min(name) from source where {condition}",
            f"select name, count(*) as c from source where {condition} group by name order by name",
            f"select v, wide from source where {condition} order by n limit 17",
        ):
            source = table
            expected = duckdb.sql(query).to_arrow_table().to_pylist()
            source = scanned  # noqa: F841
            assert duckdb.sql(query).to_arrow_table().to_pylist() == expected


@given(data=st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_polars_answers_as_over_a_frame(events: Path, data: st.DataObject) -> None:
    draw = data.draw
    conditions = [
        pl.col("n") < draw(st.integers(0, 10_000)),
        pl.col("x") > draw(st.floats(-3, 3)),
        pl.col("name") == f"name {draw(st.integers(0, 14))}",
        pl.col("v").list.len() > draw(st.integers(0, 4)),
        pl.col("x").is_null(),
    ]
    with colonnade.open(events) as data_set:
        lazy, eager = colonnade.polars.scan(data_set), pl.DataFrame(data_set.to_arrow()).lazy()
        queries = [lazy, eager]
        for _ in range(draw(st.integers(0, 2))):
            condition = draw(st.sampled_from(conditions))
            if draw(st.booleans()):
                condition = condition & draw(st.sampled_from(conditions))
            queries = [query.filter(condition) for query in queries]
        if draw(st.booleans()):
            rows = draw(st.integers(0, 2000))
            queries = [query.head(rows) for query in queries]
        columns = draw(st.lists(st.sampled_from(["n", "x", "name", "v", "wide"]), min_size=1, unique=True))
        found, expected = (query.select(columns).collect() for query in queries)
        assert found.equals(expected)
        lengths = [query.select(pl.len()).collect().item() for query in queries]
        assert lengths[0] == lengths[1]


def test_only_what_is_needed_is_read(events: Path) -> None:
    with colonnade.open(events) as data_set:
        found = colonnade.polars.scan(data_set).filter(pl.col("n") < 700).select("x").collect()
        assert len(found) == 700
        # The condition's column of all clusters, the other one of the two that have such rows.
        assert data_set.metrics.pages == pages_of(data_set, ["n"], 20) + pages_of(data_set, ["x"], 2)
    with colonnade.open(events) as data_set:
        scanned = data_set.to_arrow_dataset()
        assert scanned.to_table(columns=["x"], filter=pc.field("n") < 700).num_rows == 700
        assert data_set.metrics.pages == pages_of(data_set, ["n"], 20) + pages_of(data_set, ["x"], 2)
    with colonnade.open(events) as data_set:
        source = data_set.to_arrow_dataset()  # noqa: F841
        assert duckdb.sql("select avg(x) from source where n < 700").fetchall()[0][0] is not None
        assert data_set.metrics.pages <= pages_of(data_set, ["n", "x"], 20)


def test_data_frames_compute_only_what_is_asked_for(events: Path) -> None:
    def fail(n: Any) -> Any:
        raise AssertionError

    with colonnade.open(events) as data_set:
        frame = colonnade.DataFrame(data_set).define("twice", "2 * n").define("failing", fail, returns="int")
        source = frame.filter("n >= 500").to_arrow_dataset()
        query = "select sum(twice), count(*) from source where n < 600"
        assert duckdb.sql(query).fetchall() == [(109_900, 100)]
        assert duckdb.sql("select count(*) from source").fetchall() == [(9500,)]
        assert source.count_rows() == 9500
        assert source.count_rows(filter=pc.field("twice") < 1010) == 5
        lazy = colonnade.polars.scan(frame).filter(pl.col("n") < 600)
        assert lazy.select("twice").collect()["twice"].sum() == 359_400
        assert lazy.head(3).select("twice").collect()["twice"].to_list() == [0, 2, 4]
        assert colonnade.polars.scan(frame.range(7), fields="n*").select(pl.len()).collect().item() == 7
        with pytest.raises(AssertionError):
            source.to_table()


def test_arrow_datasets_are_complete(events: Path) -> None:
    with colonnade.open(events) as data_set:
        scanned = data_set.to_arrow_dataset()
        assert scanned.count_rows() == 10_000
        assert scanned.count_rows(filter=pc.field("n") < 5) == 5
        assert scanned.head(3, columns=["n"]).to_pydict() == {"n": [0, 1, 2]}
        table = scanned.to_table(
            columns={"double": pc.field("n") * 2, "x": pc.field("x")}, filter=pc.field("x") > 3
        )
        expected = data_set.to_arrow(["n", "x"]).filter(pc.field("x") > 3)
        assert table["double"].to_pylist() == [2 * n for n in expected["n"].to_pylist()]
        assert next(batch.schema.names for batch in scanned.to_batches(columns=["v"])) == ["v"]
        again = pickle.loads(pickle.dumps(scanned))
        assert again.to_table(columns=["n"]) == scanned.to_table(columns=["n"])
        with pytest.raises(colonnade.UnsupportedError, match="fragments"):
            list(scanned.get_fragments())
        assert data_set.to_arrow_dataset(["n"]).schema.names == ["n"]


def test_filters_of_arrow_datasets_add_up(events: Path) -> None:
    with colonnade.open(events) as data_set:
        scanned = data_set.to_arrow_dataset().filter(pc.field("n") < 700).filter(pc.field("n") >= 600)
        for each in (scanned, pickle.loads(pickle.dumps(scanned))):
            assert each.count_rows() == 100
            assert each.to_table(columns=["n"], filter=pc.field("n") < 602).to_pydict() == {"n": [600, 601]}


def test_scans_that_are_left_do_not_hold_up_others(events: Path) -> None:
    """They shared PyArrow's threads: those waited for the filters of the left scans, which waited for a thread."""
    with colonnade.open(events) as data_set:
        scanned = data_set.to_arrow_dataset(["n", "x"])
        for _ in range(60):
            next(iter(scanned.to_batches(columns=["x"], filter=pc.field("n") >= 0)))
        assert scanned.count_rows(filter=pc.field("n") >= 5000) == 5000


def test_what_pyarrow_scans_itself_is_refused(events: Path) -> None:
    """It knows nothing of scanner() there; such calls ended the interpreter."""
    with colonnade.open(events) as data_set:
        scanned = data_set.to_arrow_dataset(["n", "x"])
        table = scanned.to_table()
        assert scanned.partition_expression.equals(pc.scalar(True))
        calls: list[Callable[[], Any]] = [
            lambda: scanned.sort_by("n"),
            lambda: scanned.join(ds.dataset(table), "n", right_suffix="2"),
            lambda: ds.dataset(table).join(scanned, "n", right_suffix="2"),
            lambda: scanned.join_asof(ds.dataset(table.select(["n"])), "n", [], 0),
            lambda: scanned.replace_schema(table.schema).to_table(),
            lambda: ds.dataset([scanned]).head(1),
            lambda: ds.Scanner.from_dataset(scanned).count_rows(),
        ]
        for call in calls:
            with pytest.raises(colonnade.UnsupportedError, match=r"PyArrow cannot .* to_table\(\)"):
                call()


def test_columns_of_variants_do_not_matter_to_filters(tmp_path: Path) -> None:
    file = tmp_path / "v.root"
    with colonnade.create(file, "E", schema={"v": "std::variant<int,std::string>", "x": "int"}) as writing:
        writing.fill(v=1, x=1)
        writing.fill(v="a", x=2)
    with colonnade.open(file) as data_set:
        scanned = data_set.to_arrow_dataset()
        assert duckdb.sql("select x from scanned where x > 1").fetchall() == [(2,)]
        assert scanned.to_table(filter=pc.field("x") < 2).to_pylist() == [{"v": 1, "x": 1}]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_counts_rows_of_no_column(tmp_path: Path, engine: Any) -> None:
    with colonnade.create(tmp_path / "n.root", "E", {"n": "int"}) as writer:
        writer.extend({"n": np.arange(9)})
    lazy = colonnade.polars.scan(tmp_path / "n.root").with_row_index("row")
    assert lazy.select("row").collect(engine=engine)["row"].to_list() == list(range(9))
    assert lazy.head(7).select(pl.len()).collect(engine=engine).item() == 7
    passing = colonnade.polars.scan(tmp_path / "n.root").filter(pl.col("n") % 2 == 0)
    assert passing.with_row_index("row").select("row").collect(engine=engine)["row"].to_list() == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_what_polars_does_not_have(tmp_path: Path) -> None:
    file = tmp_path / "v.root"
    with colonnade.create(file, "E", schema={"v": "std::variant<int,std::string>", "x": "int"}) as writing:
        writing.fill(v=1, x=2)
    with pytest.raises(colonnade.UnsupportedError, match="Polars has no type"):
        colonnade.polars.scan(file)
    assert colonnade.polars.scan(file, fields=["x"]).collect().to_dicts() == [{"x": 2}]
    inside = tmp_path / "inside.root"
    with colonnade.create(
        inside, "E", schema={"v": {"of": "std::vector<std::variant<int,float>>"}}
    ) as writing:
        writing.fill(v={"of": [1]})
    for made in (file, inside):
        # What a Polars panic raises would pass through `except Exception`.
        for use in (colonnade.polars.scan, colonnade.DataSet.to_polars):
            with pytest.raises(
                colonnade.UnsupportedError, match="Polars has no type for 'std::variant<"
            ) as caught:
                use(colonnade.open(made))
            assert caught.value.field == "v"
    with pytest.raises(colonnade.Error, match=r"no\.root"):
        colonnade.polars.scan(tmp_path / "no.root")
    data_set = colonnade.open(file)
    for opened in (data_set, colonnade.DataFrame("E", file)):
        with pytest.raises(colonnade.UsageError, match="takes no name"):
            colonnade.polars.scan(opened, "Other")
        with pytest.raises(colonnade.UsageError, match="takes no name or options"):
            colonnade.polars.scan(opened, local_io="mmap")
    data_set.close()
    with pytest.raises(colonnade.UsageError, match="closed"):
        colonnade.polars.scan(data_set)


def test_a_damaged_file_is_an_error_of_the_query(tmp_path: Path, events: Path) -> None:
    file = tmp_path / "d.root"
    content = bytearray(events.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(Exception, match="checksum"):
        colonnade.polars.scan(file).collect()
    source = colonnade.open(file).to_arrow_dataset()
    with pytest.raises(Exception, match="checksum"):
        duckdb.sql("select * from source").to_arrow_table()
    assert isinstance(source.schema, pa.Schema)


_LEFT = """
import sys, colonnade, pyarrow as pa, pyarrow.dataset as ds
import colonnade.reading.scanning as scanning
scanning._STEP = "1 MB"
events = colonnade.open(sys.argv[1]).to_arrow_dataset()
match sys.argv[2]:
    case "batches":
        left = events.scanner(columns=["x"]).to_batches()
        next(left)
    case "filter":
        left = events.scanner(columns=["x"], filter=ds.field("y") > 5).to_batches()
        next(left)
    case "reader":
        left = events.scanner().to_reader()
        left.read_next_batch()
    case "head":
        events.head(5)
    case "DuckDB":
        import duckdb
        left = duckdb.connect().execute("select x from events where y > 5")
        left.fetchone()
    case "Polars":
        import polars
        polars.scan_pyarrow_dataset(events).head(3).collect()
    case "stream":
        left = pa.RecordBatchReader.from_stream(colonnade.open(sys.argv[1]))
        left.read_next_batch()
print("done")
"""


@pytest.mark.parametrize("how", ["batches", "filter", "reader", "head", "DuckDB", "Polars", "stream"])
def test_scans_that_are_left_do_not_disturb_the_end_of_the_program(tmp_path, how):
    """Threads of Arrow that wanted the interpreter lock ended the program with a signal, or kept it from ending."""
    with colonnade.create(tmp_path / "e.root", "Events", compression="none") as writing:
        for _ in range(4):
            writing.extend({"x": np.arange(500_000.0), "y": np.arange(500_000.0)})
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _LEFT, str(tmp_path / "e.root"), how],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_streams_end_with_the_program(events):
    """What is begun later, or goes on in the main thread, is an error rather than a part of the rows."""
    code = """
import atexit, sys
@atexit.register
def last():
    for go_on in (lambda: left.read_next_batch(), lambda: later.to_arrow_reader()):
        try:
            go_on()
        except Exception as error:
            print(error)
import colonnade
later = colonnade.open(sys.argv[1])
left = later.to_arrow_reader("n", step_size=100)
left.read_next_batch()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(events)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("the program ends, and nothing more can be read") == 2
