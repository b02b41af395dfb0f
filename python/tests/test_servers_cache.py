"""The cache in front of real servers: what these are asked is counted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
import uproot
from fault_proxy import FaultProxy
from s3_server import BUCKET
from wrong_server import WrongServer

import colonnade
from colonnade import DataFrame, cache
from colonnade.importing import kept_columns, tree_columns

COLUMNS = 4


def write(path, entries=400_000, seed=1):
    """Noise, which compresses little: 3 MB a column."""
    random = np.random.default_rng(seed)
    with colonnade.create(path, "Events", compression="none", cluster_size="4 MB") as writer:
        writer.extend({f"x{k}": random.random(entries) for k in range(COLUMNS)})
    return path


def asked_bytes(server):
    """Bytes of all ranges that were asked for."""
    asked = 0
    for request in server.requests():
        if request.method != "GET":
            continue
        first, last = re.fullmatch(r"bytes=(\d*)-(\d*)", request.range).groups()
        asked += int(last) - int(first) + 1 if first else int(last)
    return asked


READ = (
    "import sys, colonnade, numpy as np\n"
    "print('ready', flush=True)\n"
    "sys.stdin.readline()\n"
    "with colonnade.open(sys.argv[1], 'Events', cache=sys.argv[2]) as data:\n"
    "    print(sum(float(np.sum(data.arrays([name], library='np')[name])) for name in data.field_names))\n"
    "    print(data.metrics.cache_pages, data.metrics.pages)\n"
    "print(colonnade.cache.flush())\n"
)


def read_side_by_side(uri, home, processes=3):
    """Start all of them at once; what they printed."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", READ, uri, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    told = [child.communicate(timeout=500)[0].split() for child in children]
    assert all(child.returncode == 0 for child in children)
    return told


def test_the_next_token_finds_what_is_cached(http, tmp_path):
    write(http.data / "token.root", 1000)
    home = f"{tmp_path}/home?timeout=60&bypass=no"
    for token, pages in (("first.part.sum", 0), ("second.part.sum", COLUMNS)):
        uri = f"{http.url}/files/token.root?authz={token}"
        with colonnade.open(uri, "Events", cache=home) as data:
            data.arrays()
            assert data.metrics.cache_pages == pages
        cache.flush()
    (found,) = cache.ls(home)
    assert found.uri == f"{http.url}/files/token.root?authz=***"
    assert cache.info(uri, home) == [found]
    for path in (tmp_path / "home").rglob("*"):
        assert not path.is_file() or b"part.sum" not in path.read_bytes()


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_readers_side_by_side_download_each_page_once(kind, http, http_proxy, s3, s3_uri, tmp_path):
    size = os.path.getsize(write(http.data / "shared.root"))
    uri = f"{http.url_at(http_proxy.port)}/files/shared.root"
    home = {"folder": str(tmp_path / "home"), "s3": s3_uri("home")}[kind] + "?timeout=60&bypass=no"
    with http_proxy.toxic("latency", latency=20):
        http.forget_requests()
        alone = read_side_by_side(uri, "off")
        assert asked_bytes(http) > 2.9 * size
        http.forget_requests()
        shared = read_side_by_side(uri, home)
    # A home that takes seconds for one window keeps less; the readers say so.
    assert asked_bytes(http) < 1.2 * size or any(one[3] == "False" for one in shared), shared
    assert {one[0] for one in alone} == {one[0] for one in shared}
    # Most of what a reader did not download came from the home.
    served = [int(one[1]) for one in shared]
    assert sum(served) > 1.5 * int(shared[0][2]) or any(one[3] == "False" for one in shared), shared


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_what_another_reader_cached_after_the_first_read_is_found(kind, http, s3, s3_uri, tmp_path):
    size = os.path.getsize(write(http.data / "later.root"))
    uri = f"{http.url}/files/later.root"
    home = {"folder": str(tmp_path / "home"), "s3": s3_uri("home")}[kind] + "?timeout=60&bypass=no"
    with colonnade.open(uri, "Events", cache=home) as data:
        data.arrays(["x0"])
        # It begins and ends while this process has the data open and reads nothing.
        read_side_by_side(uri, home, processes=1)
        assert asked_bytes(http) < 1.2 * size
        data.arrays(["x1", "x2", "x3"])
        assert data.metrics.cache_pages == 3 * data.metrics.pages // 4
    assert asked_bytes(http) < 1.2 * size


def test_a_full_cache_asks_the_origin_whether_it_changed_and_nothing_else(http, tmp_path):
    uri, home = f"{http.url}/files/many.root", tmp_path / "home"
    random = np.random.default_rng(2)
    with colonnade.create(http.data / "many.root", "Events") as writer:
        for _ in range(400):  # metadata that are longer than what comes with the opening
            writer.extend({f"x{k}": random.random(50) for k in range(40)})
            writer.commit_cluster()

    def read():
        http.forget_requests()
        with colonnade.open(uri, "Events", cache=home) as data:
            values = data.arrays([f"x{k}" for k in range(5)], library="np")
            metrics = data.metrics
        assert cache.flush()
        return values, metrics, http.requests()

    plain, _, first = read()
    values, metrics, second = read()
    assert metrics.cache_pages == metrics.pages
    assert all(np.array_equal(plain[name], values[name]) for name in plain)
    assert len(first) > 3
    assert len(second) == 2  # the beginning and the end of the file, at once


@pytest.mark.parametrize("server", ["http", "xrootd"])
def test_a_file_of_the_same_size_and_time_is_another_one(server, request, tmp_path):
    """Its UUID tells, which is in the first bytes."""
    server = request.getfixturevalue(server)
    path = write(server.data / "twin.root", 50_000)
    uri = f"{server.url}/files/twin.root" if hasattr(server, "url") else f"{server.uri}twin.root"
    before = os.stat(path)
    for seed in (1, 2):
        os.utime(write(path, 50_000, seed), ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        with colonnade.open(uri, "Events", cache=tmp_path / "home") as data:
            assert data["x1"].to_numpy().tolist() == colonnade.open(path)["x1"].to_numpy().tolist()
            assert data.metrics.cache_pages == 0
        assert cache.flush()
    with colonnade.open(uri, "Events", cache=tmp_path / "home") as data:
        data.arrays(["x1"])
        assert data.metrics.cache_pages > 0


def test_an_origin_that_is_trusted_is_not_asked(http, tmp_path):
    path = write(http.data / "trusted.root", 20_000)
    uri, home = f"{http.url}/files/trusted.root", f"{tmp_path / 'home'}?trust=1000"

    def read(names, place=home, name="Events"):
        http.forget_requests()
        with colonnade.open(uri, name, cache=place) as data:
            values = data.arrays(names, library="np")
        del data
        assert cache.flush()
        return values, len(http.requests())

    before, asked = read(["x0", "x1"], name=None)
    assert asked > 0
    for name in ("Events", None):
        values, asked = read(["x0", "x1"], name=name)
        assert asked == 0
        assert all(np.array_equal(values[each], before[each]) for each in values)
    # What is missing is fetched, and kept.
    assert read(["x2"])[1] > 0
    assert read(["x2"])[1] == 0
    frame = DataFrame("Events", uri, cache=home)
    http.forget_requests()
    assert frame.sum("x1").value == pytest.approx(before["x1"].sum())
    assert http.requests() == []
    time.sleep(1.1)  # the time of a file is in seconds
    write(path, 30_000, seed=2)
    # It is not seen as long as nothing is missing; a mixture is an error.
    assert np.array_equal(read(["x0"])[0]["x0"], before["x0"])
    with pytest.raises(colonnade.Error, match="has changed within the time"):
        read(["x3"])
    assert len(read(["x0"])[0]["x0"]) == 30_000
    assert len(read(["x3"])[0]["x3"]) == 30_000


def test_an_origin_without_a_version_is_not_cached_and_this_is_said(tmp_path, capfd):
    write(tmp_path / "f.root", 5_000)
    why = "reports neither an entity tag nor a modification time"
    with WrongServer((tmp_path / "f.root").read_bytes(), 1) as server:
        server.tag = ""
        with colonnade.open(server.url, "Events", cache=tmp_path / "home") as data:
            assert len(data.arrays(["x0"])) == 5_000
            assert data.metrics.cache.startswith("not used: ")
            assert why in data.metrics.cache
        assert capfd.readouterr().err.count(why) == 1
        frame = DataFrame("Events", server.url, cache=tmp_path / "home")
        assert frame.count().value == 5_000
        assert why not in capfd.readouterr().err  # once is enough
        with pytest.raises(colonnade.StorageError, match=why):
            cache.warm(server.url, "Events", home=tmp_path / "home")
        with pytest.raises(colonnade.NotFoundError):
            cache.ls(tmp_path / "home")
    assert cache.flush()


def test_a_tree_without_a_version_is_not_warmed(tmp_path):
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("Events", {"run": "int32"}).extend({"run": np.arange(3000)})
    with WrongServer((tmp_path / "tree.root").read_bytes(), 1) as server:
        assert cache.warm(server.url, "Events", home=tmp_path / "home") > 0
        server.tag = ""
        with pytest.raises(colonnade.StorageError, match="neither an entity tag nor a modification time"):
            cache.warm(server.url, "Events", home=tmp_path / "home")


def test_trust_ends(http, tmp_path):
    path = write(http.data / "ends.root", 5_000)
    uri, home = f"{http.url}/files/ends.root", f"{tmp_path / 'home'}?trust=1"
    for _ in range(2):
        with colonnade.open(uri, "Events", cache=home) as data:
            assert len(data.arrays(["x0"])) == 5_000
        assert cache.flush()
    time.sleep(2.1)
    write(path, 6_000)
    assert len(colonnade.open(uri, "Events", cache=home).arrays(["x0"])) == 6_000


def test_what_is_cached_is_a_data_set_without_its_origin(own_xrootd, tmp_path):
    path = write(own_xrootd.data / "gone.root", 10_000)
    uri, home = f"{own_xrootd.uri}gone.root", tmp_path / "home"
    with colonnade.open(uri, cache=home) as data:
        before = data.arrays(["x0", "x1"], library="np")
    del data
    assert cache.flush()
    path.unlink()
    offline = f"{home}?offline=yes"
    for opened in (colonnade.open, lambda pattern, cache: DataFrame("Events", [pattern], cache=cache)):
        with pytest.raises(colonnade.UsageError, match="only the server knows"):
            opened(f"{own_xrootd.uri}*.root", cache=offline)
    with colonnade.open(uri, cache=offline) as data:
        assert data.field_names == ["x0", "x1"]
        values = data.arrays(["x0", "x1"], library="np")
        assert all(np.array_equal(values[name], before[name]) for name in before)
        with pytest.raises(colonnade.Error, match="offline"):
            data["x2"]
    frame = DataFrame("Events", uri, cache=offline)
    assert frame.sum("x0").value == pytest.approx(before["x0"].sum())


def test_metrics_and_the_bar_of_a_frame_tell_what_came_from_the_cache(http, tmp_path, capsys):
    write(http.data / "frame.root", 100_000)
    uri = f"{http.url}/files/frame.root"
    for expected in (0, 1):
        frame = DataFrame("Events", uri, cache=tmp_path / "home", progress=True)
        assert frame.sum("x0").value > 0
        assert frame.metrics.cache_pages == expected * frame.metrics.pages
        assert frame.metrics.cache == "used"
        assert ("100% from the cache" in capsys.readouterr().err) == bool(expected)
        del frame
        assert cache.flush()


def test_imported_columns_that_are_damaged_in_s3_are_imported_again(s3, s3_uri, tmp_path, monkeypatch):
    tree = tmp_path / "tree.root"
    with uproot.recreate(tree) as file:
        file.mktree("Events", {"run": "int32", "met": "float64"}).extend(
            {"run": np.arange(3000), "met": np.random.default_rng(4).random(3000)}
        )
    home = s3_uri("home")
    expected = DataFrame("Events", str(tree), cache=home).sum("met").value
    random = np.random.default_rng(3)
    for _ in range(8):
        (kept,) = kept_columns.kept_files(home)
        stored = s3.data / BUCKET / kept.path.removeprefix(f"s3://{BUCKET}/")
        damaged = bytearray(stored.read_bytes())
        damaged[random.integers(0, len(damaged))] ^= 1 << random.integers(0, 8)
        stored.write_bytes(damaged)
        assert DataFrame("Events", str(tree), cache=home).sum("met").value == expected
    # What is sound is not imported again.
    imported = []
    monkeypatch.setattr(tree_columns._TreeFile, "write", lambda *_: imported.append(1))
    assert DataFrame("Events", str(tree), cache=home).sum("met").value == expected
    assert imported == []


class Evicting(FaultProxy):
    """Another process makes room just before the first request of a kind for a value of pages."""

    def __init__(self, s3, method, prefix):
        super().__init__(s3.port, 1)
        self._s3, self._method, self._prefix = s3, method, f"/{BUCKET}/{prefix}/"
        self.evicted = []

    def _next_fault(self, method, path):
        # .../group/data set/column/pages; data set 0 is the register.
        is_page = path.startswith(self._prefix) and "/48434143/" in path and int(path.split("/")[-3], 16) > 0
        if method == self._method and is_page and not self.evicted:
            self.evicted.append(path)
            self._s3.requests().delete(BUCKET, path.removeprefix(f"/{BUCKET}/"))
        return super()._next_fault(method, path)


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_what_others_remove_is_not_damaged(method, s3, s3_uri, s3_prefix, tmp_path, monkeypatch):
    write(tmp_path / "f.root", 20_000)
    home = s3_uri("home")
    cache.warm(tmp_path / "f.root", "Events", home=home)
    cache.flush()
    whole = cache.verify(home)
    with Evicting(s3, method, s3_prefix) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint_at(proxy.port))
        check = cache.verify(home)
    assert proxy.evicted
    assert (check.damaged, check.unknown) == (0, 0)
    assert 0 < check.pages < whole.pages
