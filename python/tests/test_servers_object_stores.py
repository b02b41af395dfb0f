"""Whole data sets in object stores on real servers, S3 and Ceph: written, read, copied, and with faults."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import awkward as ak
import numpy as np
import pytest
from object_store_places import TIMEOUT, CephStore, S3Store
from processes import find_program
from s3_server import SECRET_KEY

import colonnade

ENTRIES = 6000
CLUSTER = 1500
"""Entries of a cluster."""
BOUND = 45
"""Seconds: far above what TIMEOUT allows, below what the default timeout would take."""


def events(count=ENTRIES, seed=1):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 4, count)
    hits = generator.integers(0, 3, sizes.sum())
    jets = ak.zip(
        {
            "pt": generator.normal(size=sizes.sum()).astype(np.float32),
            "hits": ak.unflatten(generator.integers(0, 100, hits.sum()).astype(np.int32), hits),
        },
        depth_limit=1,
    )
    return ak.Array(
        {
            "id": np.arange(count),
            "weight": generator.random(count),
            "label": [f"event {number % 17}" for number in range(count)],
            "jets": ak.unflatten(jets, sizes),
        }
    )


def fill(writer, data):
    for start in range(0, len(data), CLUSTER):
        writer.extend(data[start : start + CLUSTER])
        writer.commit_cluster()


def write(uri, data, name="Events", **options):
    with colonnade.create(uri, name, **options) as writer:
        fill(writer, data)


def read(uri, name="Events"):
    with colonnade.open(uri, name) as data_set:
        return data_set.arrays()


def assert_equal(array, expected):
    assert array.fields == expected.fields
    for field in expected.fields:
        assert ak.array_equal(array[field], expected[field], dtype_exact=False), field


@contextmanager
def bounded():
    """The block ends because it gave up, not because a timeout of a minute or more ran out."""
    before = time.monotonic()
    yield
    assert time.monotonic() - before < BOUND


@pytest.fixture(params=["s3", "rados"])
def uri(request):
    """An object store of its own for each test."""
    if request.param == "s3":
        request.getfixturevalue("s3")
        return request.getfixturevalue("s3_uri")()
    request.getfixturevalue("ceph")
    return request.getfixturevalue("rados_uri")


@pytest.fixture(params=["s3", "rados"])
def place(request):
    """One that may be harmed."""
    prefix = request.getfixturevalue("s3_prefix")
    if request.param == "s3":
        return S3Store(request.getfixturevalue("own_s3"), prefix)
    return CephStore(request.getfixturevalue("ceph"), request.getfixturevalue("rados_uri"))


@pytest.fixture
def made(tmp_path):
    """A file to be copied."""
    path = tmp_path / "made.root"
    write(path, events(), compression="none")
    return path


@contextmanager
def child(program, *arguments):
    """A second process, killed at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


# ---- Without faults


@pytest.mark.parametrize("splice_size", [0, "16 KiB", "1 MiB"])
@pytest.mark.parametrize("mapping", ["locality", "object_per_page"])
def test_round_trip(uri, mapping, splice_size):
    data = events()
    write(uri, data, object_mapping=mapping, splice_size=splice_size, page_size="4 KiB", compression="lz4")
    assert_equal(read(uri), data)
    with colonnade.open(uri, "Events") as data_set:
        for start in range(1000, ENTRIES, 2000):  # not where clusters begin
            part = data_set.arrays(["label", "jets.hits"], entry_start=start, entry_stop=start + 700)
            assert ak.array_equal(part["label"], data["label"][start : start + 700])
        assert data_set.verify() > 0


def test_several_data_sets_in_a_store(uri, run):
    first, second = events(2000, 1), events(3000, 2)
    write(uri, first, "Events", compression="zstd:5")
    write(uri, second, "dir/Events", compression="none", object_mapping="object_per_page")
    write(uri, events(10, 3), "Short")
    assert sorted(colonnade.datasets(uri)) == ["Events", "Short", "dir/Events"]
    assert_equal(read(uri, "Events"), first)
    assert_equal(read(uri, "dir/Events"), second)
    write(uri, second, "Events")
    assert_equal(read(uri, "Events"), second)
    colonnade.remove_data_set(uri, "Short")
    assert sorted(colonnade.datasets(uri)) == ["Events", "dir/Events"]
    assert run("gc", uri) == (0, "nothing to remove\n", "")


def test_the_command_line(uri, run):
    write(uri, events(2000), "Events")
    write(uri, events(500), "dir/Others")
    status, out, _ = run("ls", uri)
    assert status == 0
    assert "Events" in out
    assert "dir/Others" in out
    status, out, _ = run("info", uri, "--json")
    assert status == 0
    assert json.loads(out)["size"] is None  # of a file
    described = {one["name"]: one for one in json.loads(out)["data_sets"]}
    assert described["Events"]["entries"] == 2000
    assert described["Events"]["clusters"] == 2
    assert described["dir/Others"]["entries"] == 500
    status, out, _ = run("info", uri)
    assert status == 0
    assert out.startswith(f"{uri}: 2 data sets")
    status, out, _ = run("verify", uri)
    assert status == 0
    assert out.count("all intact") == 2
    assert run("rm", uri, "dir/Others") == (0, "dir/Others: removed\n", "")


@pytest.mark.parametrize("mapping", ["locality", "object_per_page"])
def test_copied_there_and_back(uri, made, tmp_path, mapping):
    there = colonnade.copy(made, uri, object_mapping=mapping, verify=True)
    assert there.mode == "pages"
    assert there.verified
    assert_equal(read(uri), events())
    back = colonnade.copy(uri, tmp_path / "back.root", verify="values")
    assert (back.mode, back.pages, back.clusters) == ("pages", there.pages, there.clusters)
    assert_equal(read(tmp_path / "back.root"), events())


def test_between_s3_and_ceph(s3, s3_uri, ceph, rados_uri, monkeypatch):
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    data = events()
    write(s3_uri(), data)
    assert colonnade.copy(s3_uri(), rados_uri, verify=True).verified
    assert colonnade.copy(rados_uri, s3_uri("back"), compression="lz4", verify=True).verified
    assert_equal(read(s3_uri("back")), data)


def test_many_threads_write(uri):
    threads, parts, size = 4, 3, 500

    def work(thread):
        with writer.context() as context:
            for part in range(parts):
                numbers = np.arange(size) + (thread * parts + part) * size
                context.extend({"n": numbers, "pt": ak.unflatten(np.repeat(numbers, 2), 2)})
                context.commit_cluster()

    schema = {"n": "std::int64_t", "pt": "std::vector<float>"}
    with colonnade.create_parallel(uri, "Events", schema) as writer, ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    arrays = read(uri)
    numbers = ak.to_numpy(arrays["n"])
    assert sorted(numbers.tolist()) == list(range(threads * parts * size))
    assert np.all(np.diff(numbers.reshape(-1, size)) == 1)
    assert np.array_equal(ak.to_numpy(arrays["pt"]), np.repeat(numbers, 2).reshape(-1, 2))


COUNT = """
import sys
import colonnade
for line in sys.stdin:
    print(colonnade.open(sys.argv[1], "Events").num_entries, flush=True)
"""


def test_checkpoints_are_seen_by_other_processes(uri):
    data = events()
    with child(COUNT, uri) as other:

        def count():
            other.stdin.write("\n")
            other.stdin.flush()
            return int(other.stdout.readline())

        with colonnade.create(uri, "Events", checkpoint_every=1) as writer:
            writer.extend(data[:2000])
            writer.commit_cluster()
            assert count() == 2000
            writer.extend(data[2000:])
            assert count() == 2000
        assert count() == ENTRIES
    assert_equal(read(uri), data)


def test_what_is_replaced_cannot_be_mixed_up(uri):
    old, new = events(seed=1), events(seed=2)
    write(uri, old, compression="none")
    with colonnade.open(uri, "Events") as data_set:
        with colonnade.create(uri, "Events", compression="none") as writer:
            fill(writer, new)
            assert_equal(read(uri), old)
        with pytest.raises(colonnade.Error, match="object 1:"):
            data_set.arrays()
    assert_equal(read(uri), new)


# ---- One writer of a name

HOLD = """
import sys
import colonnade
writer = colonnade.create(sys.argv[1], "Events", {"n": "std::int32_t"})
writer.extend({"n": [1, 2, 3]})
writer.commit()
writer.extend({"n": list(range(1000))})
writer.commit_cluster()
print("writing", flush=True)
sys.stdin.read()
"""


def test_second_writers_are_refused_until_the_first_is_dead(uri):
    with child(HOLD, uri) as other:
        assert other.stdout.readline() == "writing\n"
        with pytest.raises(colonnade.UsageError, match=f"is being written by process {other.pid} on host"):
            write(uri, events(10))
        write(uri, events(10), "Others")
        report = colonnade.collect_garbage(uri)
        assert (report.removed, [kept.data_set for kept in report.kept]) == ((), ["Events"])
    assert colonnade.open(uri, "Events").num_entries == 3
    write(uri, events())
    assert_equal(read(uri), events())
    assert_equal(read(uri, "Others"), events(10))
    report = colonnade.collect_garbage(uri)
    assert (report.removed, report.released, report.kept, report.problems) == ((), (), (), ())


def test_second_writers_in_the_same_process_are_refused(uri):
    with colonnade.create(uri, "Events") as writer:
        fill(writer, events())
        with pytest.raises(colonnade.UsageError, match=f"is being written by process {os.getpid()} on host"):
            write(uri, events(10))
    assert_equal(read(uri), events())


# ---- Servers that are lost


def test_server_lost_while_writing(place, run):
    data = events()
    committed = set()

    def write_on(lost):
        with colonnade.create(place.impatient, "Events", compression="none") as writer:
            writer.extend(data[:CLUSTER])
            writer.commit()
            committed.update(place.values())
            writer.extend(data[CLUSTER : 2 * CLUSTER])
            writer.commit_cluster()
            wait_for(lambda: place.values() > committed)
            lost.enter_context(place.lost())
            fill(writer, data)
            writer.commit()

    with ExitStack() as lost, bounded(), pytest.raises(colonnade.StorageError) as raised:
        write_on(lost)
    assert place.uri in str(raised.value)
    assert "try:" in str(raised.value)
    assert SECRET_KEY not in str(raised.value)
    assert_equal(read(place.uri), data[:CLUSTER])
    assert run("verify", place.uri)[0] == 0
    # The writer could not clean up; its process goes on and does not stand in its own way.
    assert place.values() > committed
    report = colonnade.collect_garbage(place.uri)
    assert [(one.data_set, one.uncommitted_part) for one in report.removed] == [("Events", True)]
    assert (report.kept, report.problems) == ((), ())
    assert place.values() <= committed
    assert_equal(read(place.uri), data[:CLUSTER])
    write(place.uri, data)
    assert_equal(read(place.uri), data)


def test_server_lost_before_the_first_commit(place):
    def write_on(lost):
        with colonnade.create(place.impatient, "Events", compression="none") as writer:
            writer.extend(events(CLUSTER))
            writer.commit_cluster()
            lost.enter_context(place.lost())

    with ExitStack() as lost, bounded(), pytest.raises(colonnade.StorageError):
        write_on(lost)
    assert colonnade.datasets(place.uri) == []
    with pytest.raises(colonnade.NotFoundError, match="Events"):
        colonnade.open(place.uri, "Events")
    colonnade.collect_garbage(place.uri)
    assert place.pages() == []
    write(place.uri, events(10))
    assert_equal(read(place.uri), events(10))


def test_a_copy_that_lost_its_server_is_resumed(place, made):
    options = {"memory_budget": "64 KiB", "checkpoint_every": 1}
    with ExitStack() as lost, bounded():

        def lose(progress):
            if progress.entries >= CLUSTER and not is_lost:
                is_lost.append(True)
                lost.enter_context(place.lost())

        is_lost: list[bool] = []
        with pytest.raises(colonnade.StorageError):
            colonnade.copy(made, place.impatient, progress=lose, progress_every=0, **options)
    data = events()
    reached = colonnade.open(place.uri, "Events").num_entries
    assert CLUSTER <= reached < ENTRIES
    assert_equal(read(place.uri), data[:reached])
    report = colonnade.copy(made, place.uri, resume=True, verify="values", **options)
    assert report.resumed_entries == reached
    assert report.verified
    straight = colonnade.copy(made, place.uri, destination_name="Straight", **options)
    assert (report.entries, report.clusters) == (straight.entries, straight.clusters)
    assert_equal(read(place.uri), read(place.uri, "Straight"))
    assert_equal(read(place.uri), data)
    assert colonnade.collect_garbage(place.uri).removed == ()


def test_server_lost_while_reading(place):
    data = events()
    write(place.uri, data, compression="none")
    with colonnade.open(place.impatient, "Events") as data_set:
        with place.lost(), bounded(), pytest.raises(colonnade.StorageError) as raised:
            data_set.arrays()
        assert place.uri in str(raised.value)
        assert "try:" in str(raised.value)
        assert SECRET_KEY not in str(raised.value)
        assert_equal(data_set.arrays(), data)
    with place.lost(), bounded(), pytest.raises(colonnade.StorageError):
        colonnade.open(place.impatient, "Events")


def test_server_back_in_time(place):
    """A client with a longer timeout does not notice."""
    data = events()
    with colonnade.create(place.uri, "Events", compression="none") as writer:
        fill(writer, data[:3000])
        with place.lost_until_missed():
            fill(writer, data[3000:])
            writer.commit()
    with colonnade.open(place.uri, "Events") as data_set, place.lost_until_missed():
        assert_equal(data_set.arrays(), data)


def wait_for(condition):
    """What happens in the background happens some time."""
    deadline = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ---- No space


def test_no_space(place):
    data = events()
    committed = set()

    def write_on(full):
        with colonnade.create(place.impatient, "Events", compression="none") as writer:
            writer.extend(data[:CLUSTER])
            writer.commit()
            committed.update(place.values())
            full.enter_context(place.full())
            fill(writer, data)
            writer.commit()

    with ExitStack() as full, bounded():
        with pytest.raises(colonnade.StorageError) as raised:
            write_on(full)
        assert place.uri in str(raised.value)
        assert "try:" in str(raised.value)
        assert_equal(read(place.uri), data[:CLUSTER])
    assert_equal(read(place.uri), data[:CLUSTER])
    colonnade.collect_garbage(place.uri)
    assert place.values() <= committed
    write(place.uri, data)
    assert_equal(read(place.uri), data)


# ---- Values that are not what was written


@pytest.mark.parametrize("mapping", ["locality", "object_per_page"])
def test_a_value_that_was_changed(place, run, mapping):
    write(place.uri, events(), compression="none", page_size="4 KiB", object_mapping=mapping)
    pages = place.pages()
    place.corrupt(pages[len(pages) // 2])
    with pytest.raises(colonnade.ChecksumError) as raised:
        read(place.uri)
    error = raised.value
    assert error.uri == place.uri
    assert error.data_set == "Events"
    assert error.field is not None
    assert error.cluster is not None
    assert error.page is not None
    for part in ("object 1:", "distribution key", "attribute key"):
        assert part in str(error)
    status, _, said = run("verify", place.uri)
    assert status == 1
    assert "object 1:" in said


def test_a_value_that_is_gone(place):
    write(place.uri, events(), compression="none")
    pages = place.pages()
    place.remove(pages[len(pages) // 2])
    with pytest.raises(colonnade.Error) as raised:
        read(place.uri)
    assert re.search(r"object 1:\d+, distribution key \d+, attribute key 0", str(raised.value))
    assert raised.value.field is not None


@pytest.mark.parametrize("compression", ["none", "zstd:5"])
def test_metadata_that_were_changed(place, compression):
    write(place.uri, events(), compression=compression)
    metadata = sorted(value for value in place.values() - set(place.pages()) if is_metadata(value))
    assert len(metadata) == 3  # header, page list, footer
    for value in metadata:
        with spoilt(place, value), pytest.raises(colonnade.FormatError) as raised:
            colonnade.open(place.uri, "Events")
        assert re.search(r"object 1:0, distribution key 0, attribute key \d+:", str(raised.value))
        assert (raised.value.uri, raised.value.data_set) == (place.uri, "Events")
    assert_equal(read(place.uri), events())


@contextmanager
def spoilt(place, value):
    place.corrupt(value)
    yield
    place.corrupt(value)


def is_metadata(value):
    group = value.split("/")[-4] if "/" in value else value.split(".")[0]
    return int(group, 16) > 0


# ---- What is not there, and who may not


def test_missing_data_sets(uri):
    with pytest.raises(colonnade.NotFoundError, match="no data set"):
        colonnade.open(uri, "Events")
    write(uri, events(10))
    with pytest.raises(colonnade.NotFoundError, match="Other") as raised:
        colonnade.open(uri, "Other")
    assert "one of: Events" in str(raised.value)


def test_missing_bucket(s3):
    missing = "s3://colonnade-missing/x"
    for work in (lambda: read(missing), lambda: write(missing, events(1))):
        with pytest.raises(colonnade.NotFoundError, match=r"bucket.*colonnade-missing") as raised:
            work()
        assert "pool" not in str(raised.value)
        assert SECRET_KEY not in str(raised.value)


def test_missing_pool(ceph):
    for work in (lambda: read("rados://missing/x"), lambda: write("rados://missing/x", events(1))):
        with pytest.raises(colonnade.NotFoundError, match="missing") as raised:
            work()
        assert "ceph osd pool create missing" in str(raised.value)


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_wrong_credentials(s3, s3_uri, monkeypatch, name):
    write(s3_uri(), events(10))
    monkeypatch.setenv(name, "certainly-wrong-1234567890")
    works = (
        lambda: read(s3_uri()),
        lambda: write(s3_uri("other"), events(10)),
        lambda: colonnade.datasets(s3_uri()),
        lambda: colonnade.collect_garbage(s3_uri()),
    )
    for work in works:
        with pytest.raises(colonnade.StorageError) as raised:
            work()
        said = str(raised.value)
        assert "AWS_ACCESS_KEY_ID" in said  # what to check
        secret = "certainly-wrong" if name == "AWS_SECRET_ACCESS_KEY" else SECRET_KEY
        assert secret not in said


@pytest.mark.parametrize("has_key", [True, False])
def test_wrong_credentials_of_ceph(ceph, rados_uri, tmp_path, has_key):
    """The cluster asks nobody for a key; here the client insists, with a wrong one or none."""
    wrong = subprocess.run(
        [find_program("ceph-authtool"), "--gen-print-key"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if has_key:
        (tmp_path / "keyring").write_text(f"[client.admin]\nkey = {wrong}\n")
    configuration = ceph.configuration.read_text().replace(
        "auth client required = none", "auth client required = cephx"
    )
    (tmp_path / "ceph.conf").write_text(f"{configuration}[client]\nkeyring = {tmp_path / 'keyring'}\n")
    with pytest.raises(colonnade.StorageError) as raised:
        read(f"{rados_uri}?conf={tmp_path / 'ceph.conf'}&timeout={TIMEOUT}")
    assert "keyring" in str(raised.value)  # what to check
    assert wrong not in str(raised.value)


# ---- Connections


def test_connections_that_are_cut(s3_proxy, s3_uri):
    """Each connection ends after so many bytes: what is large takes several attempts."""
    data = events()
    with s3_proxy.toxic("limit_data", stream="upstream", toxicity=0.5, bytes=100_000):
        write(s3_uri(), data, compression="none")
    with s3_proxy.toxic("limit_data", bytes=100_000):
        assert_equal(read(s3_uri()), data)


def test_slow_connections(s3_proxy, s3_uri):
    data = events()
    with s3_proxy.toxic("latency", latency=20, jitter=15):
        write(s3_uri(), data)
        assert_equal(read(s3_uri()), data)


def test_no_connections_for_a_while(s3_proxy, s3_uri):
    data = events()
    with colonnade.create(s3_uri(), "Events", compression="none") as writer:
        fill(writer, data[:3000])
        with s3_proxy.gone_for(connections=3):
            fill(writer, data[3000:])
    assert_equal(read(s3_uri()), data)
