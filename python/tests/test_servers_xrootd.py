"""Data sets in ROOT files on a real XRootD server: written and read there, with faults, by both client versions."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from locations import FIXTURES, REPOSITORY
from remote_events import assert_equal, events, read, write
from xrootd_proxy import XrootdProxy
from xrootd_server import XrootdServer

import colonnade

TREE = FIXTURES / "trees" / "many_branches.root"


def path_of(server, uri):
    return server.data / uri.removeprefix(server.uri)


def run(program, *arguments, **environment):
    """A program of its own: what it printed. The client library reads its settings once."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, env={**os.environ, **environment}, check=False
    )
    return done.stdout + done.stderr


READ = """
import sys, colonnade
try:
    print("sum", int(sum(colonnade.open(sys.argv[1], "Events").arrays(["id"])["id"])))
except (colonnade.Error, OSError) as error:
    print(type(error).__name__, error)
"""


# ---- Without faults


@pytest.mark.parametrize("compression", ["none", "zstd:5"])
def test_round_trip(xrootd_uri, compression):
    data = events()
    write(xrootd_uri("f.root"), data, compression=compression, checkpoint_every=1)
    assert_equal(read(xrootd_uri("f.root")), data)
    assert colonnade.datasets(xrootd_uri("f.root")) == ["Events"]


def test_bare_file(xrootd_uri):
    data = events(1000)
    write(xrootd_uri("f.bare"), data, container="bare")
    assert_equal(read(xrootd_uri("f.bare")), data)


def test_uproot_reads_what_was_written(xrootd, xrootd_uri):
    data = events(100_000)
    write(xrootd_uri("f.root"), data)
    with uproot.open(path_of(xrootd, xrootd_uri("f.root"))) as file:
        assert_equal(file["Events"].arrays(), data)


def test_data_sets_are_added_and_replaced(xrootd_uri):
    first, second = events(1000, 1), events(2000, 2)
    uri = xrootd_uri("f.root")
    write(uri, first)
    with colonnade.create(uri, "More", mode="update") as writer:
        writer.extend(second)
    assert sorted(colonnade.datasets(uri)) == ["Events", "More"]
    assert_equal(read(uri), first)
    write(uri, second)
    # The server hands out the old file for as long as it has it open.
    end = time.monotonic() + 30
    while len(read(uri)) != len(second) and time.monotonic() < end:
        time.sleep(0.05)
    assert_equal(read(uri), second)
    assert colonnade.datasets(uri) == ["Events"]


def test_second_writer_is_refused(xrootd_uri):
    uri = xrootd_uri("f.root")
    with colonnade.create(uri, "Events") as writer:
        writer.extend(events(100))
        with pytest.raises(colonnade.Error, match="another writer has it open"):
            write(uri, events(10))
    assert len(read(uri)) == 100


def test_chain_by_wildcards(xrootd_uri):
    for number in range(3):
        write(xrootd_uri(f"run{number}/part.root"), events(1000, number))
    for pattern in ("run*/p*.root", "**/part.root", "run*/**/*.root"):
        assert colonnade.DataFrame("Events", xrootd_uri(pattern)).count().value == 3000
    with pytest.raises(colonnade.NotFoundError, match="no file matches"):
        colonnade.DataFrame("Events", xrootd_uri("run*/no*.root")).count().value  # noqa: B018
    write(xrootd_uri("run[1]/part.root"), events(10))
    for name, entries in (("run[1]/part.root", 10), ("run[1]/p*.root", 1000), ("run[12]/part.root", 2000)):
        assert colonnade.DataFrame("Events", xrootd_uri(name)).count().value == entries


def test_snapshot_and_copy(xrootd, xrootd_uri, tmp_path):
    data = events(20_000)
    write(tmp_path / "local.root", data)
    with_token = "snapshot.root?authz=a.b/c"
    for executor, name in ((None, "snapshot.root"), (ThreadPoolExecutor(2), with_token)):
        frame = colonnade.DataFrame("Events", tmp_path / "local.root", executor=executor)
        frame.filter("id < 10000").snapshot(xrootd_uri(name), "Events")
        assert_equal(read(xrootd_uri(name)), data[:10_000])
    colonnade.copy(tmp_path / "local.root", xrootd_uri("copy.root"), "Events")
    colonnade.copy(xrootd_uri("copy.root"), tmp_path / "back.root", "Events")
    assert_equal(read(tmp_path / "back.root"), data)
    assert [path.name for path in path_of(xrootd, xrootd_uri("copy.root")).parent.glob(".*")] == []


def test_a_snapshot_does_not_replace_what_it_reads(xrootd_uri):
    """The server would show the old file as long as the DataFrame has it open."""
    uri, data = xrootd_uri("own.root"), events(100)
    write(uri, data)
    frame = colonnade.DataFrame("Events", uri)
    with pytest.raises(colonnade.UsageError, match="reads the file"):
        frame.filter("id < 10").snapshot(f"{uri}?authz=token", "Other")
    assert_equal(read(uri), data)
    frame.filter("id < 10").snapshot(uri, "Other", mode="update")
    assert colonnade.DataFrame("Other", uri).count().value == 10


def test_a_tree_is_read_as_it_is(xrootd, xrootd_uri):
    uri = xrootd_uri("tree.root")
    write(xrootd_uri("beside.root"), events(10))  # makes the folder
    path_of(xrootd, uri).write_bytes(TREE.read_bytes())
    with uproot.open(TREE) as file:
        expected = file["Events"]["vv_int"].array().to_list()
    assert colonnade.open(uri, "Events")["vv_int"].to_list() == expected
    assert colonnade.DataFrame("Events", uri).count().value == len(expected)


def test_command_line(xrootd_uri):
    write(xrootd_uri("f.root"), events(1000))
    command = [sys.executable, "-m", "colonnade"]
    for arguments in (["info", xrootd_uri("f.root")], ["verify", xrootd_uri("f.root")]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "1000" in subprocess.run(
        [*command, "info", xrootd_uri("f.root")], capture_output=True, text=True, check=True
    ).stdout.replace(",", "").replace("'", "")


# ---- Few requests


def test_opening_takes_few_requests(own_xrootd):
    uri = own_xrootd.uri + "f.root"
    write(uri, events(100_000))
    kinds = ("open", "read", "readv", "stat")
    before = [own_xrootd.requests(kind) for kind in kinds]
    with colonnade.open(uri, "Events") as data_set:
        assert data_set.num_entries == 100_000
    opened = dict(zip(kinds, (own_xrootd.requests(kind) for kind in kinds), strict=True))
    asked = {kind: count - was for (kind, count), was in zip(opened.items(), before, strict=True)}
    assert asked["open"] == 1
    assert asked["stat"] == 0
    assert asked["read"] + asked["readv"] <= 8, asked


def test_a_column_is_read_in_few_requests(own_xrootd):
    uri = own_xrootd.uri + "f.root"
    write(uri, events(500_000), compression="none", page_size=16384)
    before = own_xrootd.requests("readv?")
    with colonnade.open(uri, "Events") as data_set:
        data_set.arrays(["id"])
    assert own_xrootd.requests("readv?") - before <= 30


# ---- Faults


def test_server_that_dies_and_comes_back(own_xrootd):
    data = events(400_000)
    uri = own_xrootd.uri + "f.root"
    write(uri, data, compression="none")
    with colonnade.open(uri, "Events") as data_set:
        first = data_set.arrays(["id"], entry_stop=100)
        own_xrootd.kill()
        back = threading.Timer(2, own_xrootd.start)
        back.start()
        try:
            rest = data_set.arrays()
        finally:
            back.join()
    assert ak.array_equal(first["id"], data["id"][:100])
    assert_equal(rest, data)


def test_file_that_is_another_one_when_the_server_comes_back(own_xrootd):
    uri = own_xrootd.uri + "f.root"
    write(uri, events(100_000, 1), compression="none")
    with colonnade.open(uri, "Events") as data_set:
        own_xrootd.kill()
        path = path_of(own_xrootd, uri)
        path.write_bytes(path.read_bytes() + b"more")
        own_xrootd.start()
        with pytest.raises(colonnade.StorageError, match="changed while it was open"):
            data_set.arrays()


def test_opening_after_a_connection_was_lost(xrootd, xrootd_uri, s3_prefix):
    """The library gives up after some attempts to connect, and refuses at once, for a second, what comes next."""
    write(xrootd_uri("f.root"), events(1000))
    program = """
import sys, colonnade
sys.path.append(sys.argv[1])
from xrootd_proxy import XrootdProxy
with XrootdProxy(int(sys.argv[2])) as proxy:
    uri = f"root://127.0.0.1:{proxy.port}//{sys.argv[3]}"
    proxy.is_down = True
    try:
        colonnade.open(uri, "Events")
    except colonnade.StorageError as error:
        print(error)
    proxy.is_down = False
    print(colonnade.open(uri, "Events").num_entries)
"""
    once = {"XRD_CONNECTIONRETRY": "1", "XRD_CONNECTIONWINDOW": "2"}
    servers = str(REPOSITORY / "tests" / "servers")
    said = run(program, servers, str(xrootd.port), f"{s3_prefix}/f.root", **once)
    assert said.startswith("cannot open: ")
    assert said.splitlines()[-1] == "1000"


def test_pages_that_are_lost_together_are_given_up_together(xrootd, xrootd_uri, s3_prefix):
    """Those of a vector read, one of each cluster, do not wait for the timeout one after the other."""
    write(
        xrootd_uri("f.root"), events(100_000), page_size="16 KiB", compression="none", cluster_size="100 kB"
    )
    program = """
import sys, time, colonnade
sys.path.append(sys.argv[1])
from xrootd_proxy import XrootdProxy
with XrootdProxy(int(sys.argv[2])) as proxy:
    with colonnade.open(f"root://127.0.0.1:{proxy.port}//{sys.argv[3]}", "Events") as data_set:
        proxy.loses = lambda _: True
        begin = time.monotonic()
        try:
            data_set.verify()
        except colonnade.StorageError as error:
            print(error.kind, time.monotonic() - begin)
"""
    servers = str(REPOSITORY / "tests" / "servers")
    said = run(program, servers, str(xrootd.port), f"{s3_prefix}/f.root", COLONNADE_XROOTD_TIMEOUT="4")
    kind, seconds = said.split()
    assert kind == "io"
    assert float(seconds) < 60  # one after the other, more than 120


def test_server_that_stays_away(own_xrootd):
    uri = own_xrootd.uri + "f.root"
    write(uri, events(100_000), compression="none")
    program = """
import os, signal, sys, time, colonnade
data_set = colonnade.open(sys.argv[1], "Events")
os.kill(int(sys.argv[2]), signal.SIGKILL)
begin = time.monotonic()
try:
    data_set.arrays()
except colonnade.StorageError as error:
    print("after", int(time.monotonic() - begin), error)
"""
    said = run(program, uri, str(own_xrootd.running().pid), COLONNADE_XROOTD_TIMEOUT="3")
    assert "cannot read" in said
    assert uri in said
    assert int(said.split()[1]) < 60


def test_writer_that_loses_its_server(own_xrootd):
    uri = own_xrootd.uri + "f.root"
    write(uri, events(1000))
    program = """
import os, signal, sys, colonnade, numpy as np
writer = colonnade.create(sys.argv[1], "Events")
writer.extend({"id": np.zeros(10)})
os.kill(int(sys.argv[2]), signal.SIGKILL)
try:
    writer.extend({"id": np.random.default_rng(1).random(5_000_000)})
    writer.close()
    print("closed")
except colonnade.StorageError as error:
    print("failed", error)
"""
    pid = str(own_xrootd.running().pid)
    assert "failed cannot write" in run(program, uri, pid, COLONNADE_XROOTD_TIMEOUT="3")
    own_xrootd.kill()  # takes note of its end
    own_xrootd.start()
    assert len(read(uri)) == 1000


def test_writer_whose_server_comes_back(own_xrootd):
    """Many writes are under way when the server dies: the client library opens the file again for each."""
    uri = own_xrootd.uri + "f.root"
    numbers = np.arange(1_000_000)
    writer = colonnade.create(
        uri, "Events", {"id": "std::int64_t"}, compression="none", cluster_size="256 KiB"
    )
    writer.extend({"id": numbers[:100_000]})
    own_xrootd.running().pause()
    writer.extend({"id": numbers[100_000:]})
    own_xrootd.kill()
    own_xrootd.start()
    writer.close()
    assert np.array_equal(colonnade.open(uri, "Events")["id"].to_numpy(), numbers)


def add_numbers(uri):
    with colonnade.create(uri, "More", append=True) as writer:
        writer.extend({"id": np.random.default_rng(1).random(5_000_000)})


def test_an_addition_that_fails_is_cut_back(xrootd, xrootd_uri, s3_prefix):
    """As that to a local file, if the server can still be told."""
    write(xrootd_uri("f.root"), events(100))
    size = len((xrootd.data / s3_prefix / "f.root").read_bytes())
    with XrootdProxy(xrootd.port) as proxy:
        uri = f"{xrootd.uri_at(proxy.port)}{s3_prefix}/f.root"
        writes = itertools.count()
        proxy.refuses = lambda name, _arguments: name == "write" and next(writes) > 4
        with pytest.raises(colonnade.StorageError):
            add_numbers(uri)
    assert next(writes) > 4
    assert len((xrootd.data / s3_prefix / "f.root").read_bytes()) == size
    assert_equal(read(xrootd_uri("f.root")), events(100))


@pytest.mark.parametrize("lost", [1, 5])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_renaming_whose_answer_is_lost(xrootd, xrootd_uri, s3_prefix, lost, is_replaced):
    """The library renames again, and finds nothing to rename: the file has its name, and keeps it."""
    if is_replaced:
        write(xrootd_uri("f.root"), events(100, seed=2))
    with XrootdProxy(xrootd.port) as proxy:
        proxy.loses = lambda name: name == "mv" and len(proxy.lost) < lost
        with pytest.raises(
            colonnade.StorageError, match="what was committed is in its place and can be read"
        ):
            write(f"{xrootd.uri_at(proxy.port)}{s3_prefix}/f.root", events(100))
    assert proxy.lost
    assert_equal(read(xrootd_uri("f.root")), events(100))
    assert [path.name for path in path_of(xrootd, xrootd_uri("")).iterdir()] == ["f.root"]


def test_renaming_of_which_nothing_is_heard(xrootd, xrootd_uri, s3_prefix, monkeypatch):
    monkeypatch.setenv("COLONNADE_XROOTD_TIMEOUT", "5")
    write(xrootd_uri("f.root"), events(100, seed=2))
    with XrootdProxy(xrootd.port) as proxy:

        def loses(name):
            proxy.is_down = proxy.is_down or name == "mv"
            return proxy.is_down

        proxy.loses = loses
        with pytest.raises(colonnade.StorageError, match="it is not known whether the file is in its place"):
            write(f"{xrootd.uri_at(proxy.port)}{s3_prefix}/f.root", events(100))
    assert_equal(read(xrootd_uri("f.root")), events(100))


@pytest.mark.parametrize("refused", ["nothing", "the new file", "the new file, and the old one back", "all"])
def test_a_server_that_refuses_names_that_are_taken(xrootd, xrootd_uri, s3_prefix, refused):
    """The old file makes room for the new one, and comes back if that cannot take its place. Both stay in any case."""
    old, new = events(100, seed=2), events(100)
    write(xrootd_uri("f.root"), old)
    folder = path_of(xrootd, xrootd_uri(""))

    def refuses(name, arguments):
        if name != "mv":
            return False
        source, target = (each.rpartition("/")[2] for each in arguments.decode().split(" "))
        if target != "f.root":
            return refused == "all"
        is_old = source.endswith(".old")
        return (folder / target).exists() or refused != ("the new file" if is_old else "nothing")

    with XrootdProxy(xrootd.port) as proxy:
        proxy.refuses = refuses
        uri = f"{xrootd.uri_at(proxy.port)}{s3_prefix}/f.root"
        if refused == "nothing":
            write(uri, new)
        else:
            with pytest.raises(colonnade.StorageError, match="the name is taken") as told:
                write(uri, new)
    names = sorted(path.name for path in folder.iterdir())
    if refused == "nothing":
        assert names == ["f.root"]
        assert_equal(read(xrootd_uri("f.root")), new)
        return
    lost_old = refused == "the new file, and the old one back"
    old_name = next(name for name in names if name.endswith(".old")) if lost_old else "f.root"
    (kept,) = set(names) - {old_name}
    assert kept.endswith(".part" if refused == "all" else ".kept")
    assert f'"{kept}"' in str(told.value)
    assert not lost_old or f'{old_name}" now' in str(told.value)
    assert_equal(read(xrootd_uri(old_name)), old)
    assert_equal(read(xrootd_uri(kept)), new)


@pytest.mark.parametrize("meanwhile", ["nothing", "another file"])
def test_file_that_is_replaced_while_its_server_is_started_again(own_xrootd, tmp_path, meanwhile):
    """The server has forgotten the lock on the old file, and the writer takes it again if it is the same file."""
    uri = own_xrootd.uri + "f.root"
    with colonnade.create(uri, "Events") as writer:
        writer.extend({"id": [1, 2, 3]})
    writer = colonnade.create(uri, "Events", {"id": "std::int64_t"})
    writer.extend({"id": [4, 5]})
    own_xrootd.kill()
    own_xrootd.start()
    if meanwhile == "nothing":
        writer.close()
        assert colonnade.open(uri, "Events")["id"].to_list() == [4, 5]
        assert [path.name for path in own_xrootd.data.iterdir()] == ["f.root"]
    else:
        with colonnade.create(tmp_path / "other.root", "Events") as other:
            other.extend({"id": [6] * 1000})
        (own_xrootd.data / "f.root").write_bytes((tmp_path / "other.root").read_bytes())
        with pytest.raises(colonnade.StorageError, match="another program has created the file"):
            writer.close()
        assert colonnade.open(uri, "Events")["id"].to_list() == [6] * 1000
        (kept,) = own_xrootd.data.glob("f.root.*.kept")
        assert colonnade.open(own_xrootd.uri + kept.name)["id"].to_list() == [4, 5]
        assert len(list(own_xrootd.data.iterdir())) == 2


def test_slow_line(xrootd, xrootd_uri, toxiproxy):
    data = events(100_000)
    write(xrootd_uri("f.root"), data)
    proxy = toxiproxy.proxy("xrootd-slow", xrootd.port)
    uri = xrootd_uri("f.root").replace(str(xrootd.port), str(proxy.port))
    with proxy.toxic("latency", latency=20):
        assert_equal(read(uri), data)
    proxy.remove()


def test_redirection(own_xrootd, tmp_path):
    data = events(10_000)
    with XrootdServer(tmp_path / "front", leads_to={"all": own_xrootd, "/": own_xrootd}) as front:
        write(front.uri + "f.root", data)
        assert (own_xrootd.data / "f.root").exists()
        assert_equal(read(front.uri + "f.root"), data)
        assert colonnade.DataFrame("Events", front.uri + "*.root").count().value == 10_000


def test_a_file_that_was_replaced_on_another_server_of_a_cluster(own_xrootd, tmp_path):
    """Each server has files of its own: the new one is on one, the old one is not left on another."""
    with XrootdServer(tmp_path / "other") as other:
        paths = {"/f": own_xrootd, "/.f": other}
        requests = dict.fromkeys(("dirlist", "rm", "stat"), own_xrootd) | {"mv": other}
        with XrootdServer(tmp_path / "front", leads_to=paths | requests) as front:
            write(front.uri + "f.root", events(1000, seed=2))
            assert [path.name for path in other.data.iterdir()] == ["f.root"]
            write(own_xrootd.uri + "f.root", events(500))
            write(front.uri + "f.root", events(1000))
        assert_equal(read(other.uri + "f.root"), events(1000))
        assert list(own_xrootd.data.iterdir()) == []


# ---- Credentials and libraries


LIST = """
import sys, colonnade
try:
    print(colonnade.datasets(sys.argv[1]))
except colonnade.Error as error:
    print(type(error).__name__, error)
"""
SAMPLE = REPOSITORY / "tests" / "fixtures" / "compression_505.root"


def test_shared_secret(tmp_path):
    with XrootdServer(tmp_path / "sss", tls=True, security="sss") as server:
        (server.data / "f.root").write_bytes(SAMPLE.read_bytes())
        assert str(colonnade.datasets(SAMPLE)) in run(LIST, server.uri + "f.root", **server.environment())
        wrong = {**server.environment(), "XrdSecSSSKT": "/nowhere"}
        said = run(LIST, server.uri + "f.root", **wrong)
        assert "StorageError" in said
        assert "credentials" in said


def test_bearer_token(tmp_path):
    with XrootdServer(tmp_path / "ztn", security="ztn") as server:
        (server.data / "f.root").write_bytes(SAMPLE.read_bytes())
        assert server.issuer is not None
        good = server.issuer.token()
        uri = server.uri + "f.root"
        assert str(colonnade.datasets(SAMPLE)) in run(LIST, uri, **server.environment(), BEARER_TOKEN=good)
        file = tmp_path / "token"
        file.write_text(good)
        file.chmod(0o600)
        assert str(colonnade.datasets(SAMPLE)) in run(
            LIST, uri, **server.environment(), BEARER_TOKEN_FILE=str(file)
        )
        for bad in (good[:-8] + "AAAAAAAA", server.issuer.token(seconds=-10)):
            said = run(LIST, uri, **server.environment(), BEARER_TOKEN=bad)
            assert "StorageError" in said
            assert "credentials" in said
            assert bad not in said


def test_unknown_authority(tmp_path):
    with XrootdServer(tmp_path / "tls", tls=True) as server:
        said = run(READ, server.uri + "f.root", X509_CERT_DIR="/nowhere")
        assert "StorageError" in said
        assert "TLS" in said


def test_missing_library(xrootd_uri):
    said = run(READ, xrootd_uri("f.root"), COLONNADE_XRDCL="/nowhere/libXrdCl.so.3")
    assert "UnsupportedError" in said
    assert "libxrdcl3" in said
    assert "pip install xrootd" in said


def wheel():
    found = list(Path(sys.prefix).glob("lib/python3*/site-packages/pyxrootd/libXrdCl.so.6"))
    assert found, "the package xrootd is missing; to install it, run: tools/bootstrap.sh test"
    return str(found[0])


@pytest.mark.parametrize("version", ["libXrdCl.so.3", "libXrdCl.so.6"])
def test_both_versions_of_the_library(version, tmp_path):
    """The C++ tests, the suite of all transports among them."""
    program = Path(os.environ["COLONNADE_BUILD_DIR"]) / "src" / "io" / "colonnade_xrootd_test"
    servers = [sys.executable, str(REPOSITORY / "tests" / "servers" / "run_with.py"), "xrootd-tls", "xrootd"]
    library = wheel() if version.endswith("6") else version
    done = subprocess.run(
        [*servers, "--", str(program), "--gtest_brief=1"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLONNADE_XRDCL": library},
        check=False,
        timeout=550,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def read_in_child(uri, answers):
    answers.put(int(ak.sum(read(uri)["id"])))


def test_forked_processes_read(xrootd_uri):
    data = events(20_000)
    write(xrootd_uri("f.root"), data)
    uri = xrootd_uri("f.root")
    total = int(ak.sum(read(uri)["id"]))
    stop = threading.Event()

    def keep_reading():
        while not stop.is_set():
            assert int(ak.sum(read(uri)["id"])) == total

    reader = threading.Thread(target=keep_reading)
    reader.start()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    try:
        for _ in range(5):
            children = [context.Process(target=read_in_child, args=(uri, answers)) for _ in range(2)]
            for child in children:
                child.start()
            assert [answers.get(timeout=300) for _ in children] == [total] * 2
            for child in children:
                child.join(300)
                assert child.exitcode == 0
    finally:
        stop.set()
        reader.join()
