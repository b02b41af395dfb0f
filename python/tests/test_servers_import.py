"""Imports into a real S3 server, an object store under a prefix and a ROOT file as one object; of tables elsewhere."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
import uproot
from locations import FIXTURES

import colonnade
from colonnade.importing import table_files
from colonnade.reading.elsewhere import TransportFile

TREE = FIXTURES / "trees" / "many_branches.root"


@pytest.mark.parametrize("key", ["store", "file.root"])
def test_a_tree_in_s3(s3, s3_uri, tmp_path, key):
    place = s3_uri(key)
    options = {"step_size": "10 kB", "cluster_size": "1 kB", "checkpoint_every": 1}
    report = colonnade.import_tree(TREE, place, verify=True, **options)
    assert report.verified
    with uproot.open(TREE) as file:
        expected = file["Events"]["vv_int"].array().to_list()
    assert colonnade.open(place, "Events")["vv_int"].to_list() == expected
    with pytest.raises(colonnade.UsageError, match="already exists"):
        colonnade.import_tree(TREE, place)
    back = tmp_path / "back.root"
    assert colonnade.copy((place, "Events"), back, verify="values").verified
    assert colonnade.open(back).arrays().to_list() == colonnade.open(place, "Events").arrays().to_list()


def test_an_interrupted_import_into_s3_is_resumed(s3, s3_uri):
    place = s3_uri("store")
    options = {"step_size": "10 kB", "checkpoint_every": 1, "cluster_size": "1 kB"}
    report = colonnade.import_tree(TREE, place, progress=lambda _: False, **options)
    assert report.interrupted
    assert 0 < report.entries < 40
    again = colonnade.import_tree(TREE, place, resume=True, verify=True, **options)
    assert again.resumed_entries == report.entries
    assert again.entries == 40


# ---- Tables


@functools.cache
def a_table(rows=5000):
    return pa.table(
        {
            "run": np.arange(rows) // 100,
            "x": pa.array([None if k % 7 == 0 else k / 8 for k in range(rows)]),
            "jets": pa.array([[k + 0.5] * (k % 4) for k in range(rows)]),
        }
    )


def flat(table):
    return table.drop_columns(["jets"])


def put_parquet(table, path):
    pq.write_table(table, path, row_group_size=700)


def put_arrow(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


def put_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


def put_csv(table, path):
    pyarrow.csv.write_csv(flat(table), path)


def put_packed_csv(table, path):
    with pa.CompressedOutputStream(str(path), "gzip") as sink:
        pyarrow.csv.write_csv(flat(table), sink)


def put_packed_json(table, path):
    rows = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    with pa.CompressedOutputStream(str(path), "zstd") as sink:
        sink.write(rows.encode())


PUTS = {
    "t.parquet": put_parquet,
    "t.arrow": put_arrow,
    "t.arrows": put_stream,
    "t.orc": pyarrow.orc.write_table,
    "t.csv": put_csv,
    "t.csv.gz": put_packed_csv,
    "t.jsonl.zst": put_packed_json,
}


def expected_of(name, table):
    return (flat(table) if ".csv" in name else table).to_pylist()


@pytest.mark.parametrize("name", PUTS)
def test_a_table_on_a_web_server(http, tmp_path, name):
    PUTS[name](a_table(), http.data / name)
    source = f"{http.url}/files/{name}?download=1"
    report = colonnade.import_table(source, tmp_path / "f.root", verify=True, batch_size=999)
    assert (report.data_set, report.entries) == ("t", 5000)
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == expected_of(name, a_table())


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz"])
def test_a_table_in_s3_and_on_xrootd(s3, s3_uri, xrootd, xrootd_uri, tmp_path, name):
    """And a chain of both, into a store."""
    PUTS[name](a_table(), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    key = s3_uri(name)
    bucket, _, path = key.removeprefix("s3://").partition("/")
    s3.requests().put(bucket, path, content)
    (xrootd.data / name).write_bytes(content)
    sources = [key, f"{xrootd.uri}{name}", str(tmp_path / name)]
    report = colonnade.import_table(sources, (s3_uri("store"), "Events"), verify=True)
    assert report.entries == 15000
    assert colonnade.open(s3_uri("store"), "Events").arrays().to_list() == 3 * expected_of(name, a_table())


def test_only_columns_in_use_are_fetched(http, tmp_path):
    table = pa.table(
        {"small": np.arange(100_000), "large": np.random.default_rng(1).random((100_000, 8)).tolist()}
    )
    pq.write_table(table, http.data / "wide.parquet")
    http.forget_requests()
    colonnade.import_table(f"{http.url}/files/wide.parquet", tmp_path / "f.root", columns=["small"])
    ranges = [re.fullmatch(r"bytes=(\d*)-(\d+)", request.range) for request in http.requests()]
    fetched = sum(
        int(found[2]) + 1 - int(found[1]) if found[1] else int(found[2]) for found in ranges if found
    )
    assert 0 < fetched < (http.data / "wide.parquet").stat().st_size / 4


def test_a_table_that_is_not_there(http, tmp_path):
    for name in ("none.parquet", "none.csv"):
        with pytest.raises(colonnade.FileMissingError, match=name):
            colonnade.import_table(f"{http.url}/files/{name}", tmp_path / "f.root")
    assert not (tmp_path / "f.root").exists()


def test_a_damaged_table_on_a_web_server(http, tmp_path):
    put_parquet(a_table(), http.data / "bad.parquet")
    content = (http.data / "bad.parquet").read_bytes()
    (http.data / "bad.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(colonnade.FormatError, match="cannot be read as parquet"):
        colonnade.import_table(f"{http.url}/files/bad.parquet", tmp_path / "f.root")


def test_a_server_that_is_lost_meanwhile(http, http_proxy, tmp_path, monkeypatch):
    """The place of a read decides when: pyarrow reads further ahead than an import is told of."""
    monkeypatch.setenv("COLONNADE_HTTP_TIMEOUT", "5")  # a busy machine takes a server away for seconds, too
    monkeypatch.setattr(table_files, "_STEP", 1 << 16)
    put_csv(a_table(600_000), http.data / "lost.csv")
    half = (http.data / "lost.csv").stat().st_size // 2
    read, lock = TransportFile.read, threading.Lock()
    lost: list[int] = []
    with contextlib.ExitStack() as meanwhile:

        def read_or_lose(file, size=-1, /):
            with lock:
                if not lost and file.tell() >= half:
                    lost.append(file.tell())
                    meanwhile.enter_context(http_proxy.toxic("reset_peer", timeout=0))
            return read(file, size)

        monkeypatch.setattr(TransportFile, "read", read_or_lose)
        with pytest.raises(colonnade.StorageError, match=r"lost\.csv"):
            colonnade.import_table(f"{http.url_at(http_proxy.port)}/files/lost.csv", tmp_path / "f.root")
    assert lost
    assert not (tmp_path / "f.root").exists()


# ---- Exports


@pytest.fixture(params=["http", "s3", "xrootd"])
def place(request, s3_prefix):
    """Makes URIs of files."""
    server = request.getfixturevalue(request.param)
    if request.param == "http":
        return lambda name: f"{server.url}/files/{s3_prefix}-{name}"
    return request.getfixturevalue(f"{request.param}_uri")


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.csv"])
def test_a_table_is_exported_to_where_it_is_imported_from(place, tmp_path, name):
    local, back = tmp_path / "f.root", tmp_path / "back.root"
    put_parquet(expected := flat(a_table()), tmp_path / "t.parquet")
    colonnade.import_table(tmp_path / "t.parquet", local)
    assert colonnade.export(local, place(name)) == 5000
    with pytest.raises(colonnade.Error, match="exists"):
        colonnade.export(local, place(name))
    colonnade.export(local, place(name), columns=["run"], overwrite=True)
    colonnade.import_table(place(name), back, verify=True)
    assert colonnade.open(back).arrays().to_list() == expected.select(["run"]).to_pylist()


def test_arrays_of_numpy_are_exported_to_a_web_server(http, tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": np.arange(10.0)})
    colonnade.export(tmp_path / "f.root", f"{http.url}/files/x.npz")
    with np.load(http.data / "x.npz") as arrays:
        assert arrays["x"].tolist() == [*range(10)]


def test_a_failed_export_leaves_nothing_behind(http, tmp_path):
    put_parquet(a_table(), tmp_path / "t.parquet")
    colonnade.import_table(tmp_path / "t.parquet", tmp_path / "f.root")
    before = {each.name for each in http.data.iterdir()}
    with pytest.raises(colonnade.UnsupportedError, match="jets"):  # CSV has no lists
        colonnade.export(tmp_path / "f.root", f"{http.url}/files/nested.csv")
    with pytest.raises(ZeroDivisionError):
        colonnade.export(
            tmp_path / "f.root", f"{http.url}/files/stopped.parquet", progress=lambda done, total: 1 // 0
        )
    assert {each.name for each in http.data.iterdir()} == before
