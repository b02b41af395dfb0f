"""Data sets in ROOT files on a real S3 server: written and read there, by others after a download, and with faults."""

from __future__ import annotations

import json

import pytest
import uproot
from remote_events import assert_equal, events, read, write
from s3_server import BUCKET

import colonnade

TIMEOUT = 3
"""Seconds that a request keeps being tried, where the test is about a server that does not come back."""


def key_of(uri):
    return uri.removeprefix(f"s3://{BUCKET}/")


def assert_nothing_left(server, uri):
    assert server.requests().keys(BUCKET, key_of(uri)) == []
    assert server.requests().uploads(BUCKET, key_of(uri)) == []


# ---- Without faults


@pytest.mark.parametrize("compression", ["none", "zstd:5"])
def test_round_trip(s3, s3_uri, compression):
    data = events()
    write(s3_uri("f.root"), data, compression=compression)
    assert_equal(read(s3_uri("f.root")), data)
    assert colonnade.datasets(s3_uri("f.root")) == ["Events"]
    assert s3.requests().uploads(BUCKET, key_of(s3_uri("f.root"))) == []


def test_bare_file(s3, s3_uri):
    data = events(1000)
    write(s3_uri("f.bare"), data, container="bare")
    assert_equal(read(s3_uri("f.bare")), data)


def test_file_of_several_parts(s3, s3_uri):
    data = events(3_000_000)
    write(s3_uri("f.root"), data, compression="none", checkpoint_every=1)
    assert len(s3.requests().get(BUCKET, key_of(s3_uri("f.root")))) > 40 << 20
    assert_equal(read(s3_uri("f.root")), data)


def test_data_set_in_a_directory(s3, s3_uri):
    data = events(1000)
    with colonnade.create(s3_uri("f.root"), "dir/sub/Events", checkpoint_every=1) as writer:
        writer.extend(data)
    assert colonnade.datasets(s3_uri("f.root")) == ["dir/sub/Events"]
    assert_equal(colonnade.open(s3_uri("f.root"), "dir/sub/Events").arrays(), data)


def test_a_merge_of_several_data_sets_is_refused_before_it_writes(s3, s3_uri, tmp_path):
    write(tmp_path / "f.root", events(10))
    with colonnade.create(tmp_path / "f.root", "More", {"x": "int"}, mode="update") as writer:
        writer.fill(x=1)
    with pytest.raises(colonnade.UsageError, match="takes one data set, and the inputs have 2: Events, More"):
        colonnade.merge(s3_uri("m.root"), tmp_path / "f.root")
    assert_nothing_left(s3, s3_uri("m.root"))
    colonnade.merge(s3_uri("m.root"), tmp_path / "f.root", data_sets="Events")
    assert_equal(read(s3_uri("m.root")), events(10))


def test_others_read_what_was_uploaded(s3, s3_uri, tmp_path):
    data = events(100_000)
    write(s3_uri("f.root"), data, checkpoint_every=1)
    copy = tmp_path / "copy.root"
    copy.write_bytes(s3.requests().get(BUCKET, key_of(s3_uri("f.root"))))
    with uproot.open(copy) as file:
        assert_equal(file["Events"].arrays(), data)
    assert_equal(read(copy), data)


def test_file_that_others_wrote(s3, s3_uri, tmp_path):
    data = events(10_000)
    write(tmp_path / "local.root", data)
    s3.requests().put(BUCKET, key_of(s3_uri("f.root")), (tmp_path / "local.root").read_bytes())
    assert_equal(read(s3_uri("f.root")), data)


def test_a_file_is_replaced_at_close(s3, s3_uri):
    old, new = events(1000, 1), events(2000, 2)
    write(s3_uri("f.root"), old)
    with colonnade.create(s3_uri("f.root"), "Events", checkpoint_every=1) as writer:
        writer.extend(new)
        assert_equal(read(s3_uri("f.root")), old)
    assert_equal(read(s3_uri("f.root")), new)


def test_a_file_cannot_be_added_to(s3, s3_uri):
    write(s3_uri("f.root"), events(1000))
    with pytest.raises(colonnade.UnsupportedError, match="cannot be changed in place"):
        colonnade.create(s3_uri("f.root"), "More", {"x": "float"}, mode="update")


def test_a_copy_that_is_complete_is_not_made_again(s3, s3_uri, tmp_path):
    for name, data in (
        ("f.root", events(1000)),
        ("other.root", events(1000, 7)),
        ("more.root", events(2000)),
    ):
        write(tmp_path / name, data)
    colonnade.copy(tmp_path / "f.root", s3_uri("copy.root"))
    report = colonnade.copy(tmp_path / "f.root", s3_uri("copy.root"), resume=True, verify=True)
    assert (report.resumed_entries, report.pages, report.verified) == (1000, 0, True)
    for other in ("other.root", "more.root"):
        with pytest.raises(colonnade.UsageError, match="does not hold the beginning of this copy"):
            colonnade.copy(tmp_path / other, s3_uri("copy.root"), resume=True)
    with pytest.raises(colonnade.UnsupportedError, match="cannot be changed in place"):
        colonnade.copy(
            [(tmp_path / "f.root", "Events"), (tmp_path / "other.root", "Events")],
            s3_uri("copy.root"),
            resume=True,
        )
    assert_equal(read(s3_uri("copy.root")), events(1000))


@pytest.mark.parametrize("checkpoint_every", [None, 1])
def test_a_writer_that_fails_leaves_nothing(s3, s3_uri, checkpoint_every):
    def fail_half_way():
        with colonnade.create(s3_uri("f.root"), "Events", checkpoint_every=checkpoint_every) as writer:
            writer.extend(events(1_500_000))
            writer.commit()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert_nothing_left(s3, s3_uri("f.root"))


# ---- With faults


def test_missing_object_and_bucket(s3, s3_uri):
    with pytest.raises(colonnade.NotFoundError, match="no object"):
        colonnade.open(s3_uri("missing.root"), "Events")
    with pytest.raises(colonnade.NotFoundError, match="colonnade-missing"):
        colonnade.open("s3://colonnade-missing/f.root", "Events")
    with pytest.raises(colonnade.NotFoundError, match="colonnade-missing"):
        write("s3://colonnade-missing/f.root", events(1))


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_wrong_credentials(s3, s3_uri, monkeypatch, name):
    write(s3_uri("f.root"), events(10))
    monkeypatch.setenv(name, "certainly-wrong-1234567890")
    for work in (lambda: read(s3_uri("f.root")), lambda: write(s3_uri("g.root"), events(10))):
        with pytest.raises(colonnade.Error) as raised:
            work()
        said = str(raised.value)
        assert "AWS_ACCESS_KEY_ID" in said
        if name == "AWS_SECRET_ACCESS_KEY":
            assert "certainly-wrong" not in said


def test_server_gone_while_writing(own_s3, s3_uri, monkeypatch):
    old = events(1000)
    write(s3_uri("f.root"), old)
    monkeypatch.setenv("COLONNADE_S3_TIMEOUT", str(TIMEOUT))

    def write_on():
        more = events(1_500_000)
        with colonnade.create(s3_uri("f.root"), "Events", compression="none") as writer:
            writer.extend(more)
            own_s3.kill()
            for _ in range(100):  # far more than is buffered
                writer.extend(more)

    with pytest.raises(colonnade.Error, match=r"127\.0\.0\.1") as raised:
        write_on()
    assert s3_uri("f.root") in str(raised.value)
    own_s3.start()
    assert_equal(read(s3_uri("f.root")), old)


def test_server_gone_while_reading(own_s3, s3_uri, monkeypatch):
    write(s3_uri("f.root"), events(), compression="none")
    monkeypatch.setenv("COLONNADE_S3_TIMEOUT", str(TIMEOUT))
    with colonnade.open(s3_uri("f.root"), "Events") as data_set:
        own_s3.kill()
        with pytest.raises(colonnade.Error, match=r"127\.0\.0\.1"):
            data_set.arrays()


def test_server_back_while_reading(own_s3, s3_uri):
    data = events()
    write(s3_uri("f.root"), data, compression="none")
    with colonnade.open(s3_uri("f.root"), "Events") as data_set, own_s3.gone_until_missed():
        assert_equal(data_set.arrays(), data)


def test_server_back_while_writing(own_s3, s3_uri):
    data = events(1_500_000)
    writer = colonnade.create(s3_uri("f.root"), "Events", compression="none")
    writer.extend(data[:1_000_000])
    with own_s3.gone_until_missed():
        writer.extend(data[1_000_000:])
        writer.close()
    assert_equal(read(s3_uri("f.root")), data)


@pytest.mark.parametrize("entries", [1000, 3_000_000])
def test_the_parts_stay_if_another_program_was_faster(s3, s3_uri, tmp_path, monkeypatch, entries):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    uri, data = s3_uri("f.root"), events(entries)
    writer = colonnade.create(uri, "Events", compression="none", mode="create")
    writer.extend(data)
    s3.requests().put(BUCKET, key_of(uri), b"of another program")
    with pytest.raises(
        colonnade.StorageError, match=r"another program has created .* stay in the bucket"
    ) as told:
        writer.close()
    (kept,) = tmp_path.glob("colonnade-*.kept")
    assert kept.as_uri() in str(told.value)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert s3.requests().get(BUCKET, key_of(uri)) == b"of another program"
    s3.requests().complete_upload(json.loads(kept.read_text()))
    assert_equal(read(uri), data)
    assert s3.requests().uploads(BUCKET, key_of(uri)) == []


def test_connections_that_are_cut(s3_proxy, s3_uri):
    """Each connection ends after 2 MB, one way and the other: everything takes several attempts."""
    data = events()
    with s3_proxy.toxic("limit_data", stream="upstream", toxicity=0.5, bytes=2_000_000):
        write(s3_uri("f.root"), data, compression="none")
    with s3_proxy.toxic("limit_data", bytes=2_000_000):
        assert_equal(read(s3_uri("f.root")), data)


def test_slow_connections(s3_proxy, s3_uri):
    data = events(50_000)
    with s3_proxy.toxic("latency", latency=30, jitter=20):
        write(s3_uri("f.root"), data)
        assert_equal(read(s3_uri("f.root")), data)


def test_no_connections_for_a_while(s3_proxy, s3_uri):
    data = events()
    write(s3_uri("f.root"), data, compression="none")
    with colonnade.open(s3_uri("f.root"), "Events") as data_set, s3_proxy.gone_for(connections=3):
        arrays = data_set.arrays()
    assert_equal(arrays, data)


def test_object_replaced_while_open(s3, s3_uri):
    write(s3_uri("f.root"), events(seed=1), compression="none")
    with colonnade.open(s3_uri("f.root"), "Events") as data_set:
        write(s3_uri("f.root"), events(seed=2), compression="none")
        with pytest.raises(colonnade.Error, match="replaced"):
            data_set.arrays()
