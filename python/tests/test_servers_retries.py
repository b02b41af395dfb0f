"""Object stores that fail while a data set is written, and answer again: what the writer was given is not lost.

A history is a way of writing, a fault that begins at some moment of it, and what the user does about the error.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import subprocess
import sys

import numpy as np
import pytest
from object_store_places import TIMEOUT, CephStore, S3Store

import colonnade

ROUNDS = int(os.environ.get("COLONNADE_RETRIES", "0"))
"""More histories than the usual few."""
COUNT = 3000
PIECE = 250


class FolderStore:
    """A folder; its disk is full while no file may have a byte."""

    def __init__(self, path):
        self.uri = self.impatient = f"obj://{path}"

    @contextlib.contextmanager
    def full(self):
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    lost = full


def place_of(request, name):
    if name == "folder":
        return FolderStore(request.getfixturevalue("tmp_path") / "store")
    prefix = request.getfixturevalue("s3_prefix")
    if name == "rados":
        return CephStore(request.getfixturevalue("ceph"), request.getfixturevalue("rados_uri"))
    request.getfixturevalue("monkeypatch").setenv("COLONNADE_S3_TIMEOUT", str(TIMEOUT))
    return S3Store(request.getfixturevalue("own_s3"), prefix)


def piece(first, last):
    numbers = np.arange(first, last)
    return {"id": numbers, "half": numbers / 2, "text": [f"event {n % 17}" for n in numbers]}


def committed(uri):
    """The entries that a reader sees, all as they were written; None if there is no data set."""
    try:
        with colonnade.open(uri, "Events") as data_set:
            found = data_set.arrays()
            parts = list(data_set.attributes.get("parts", []))
    except colonnade.NotFoundError:
        return None
    expected = piece(0, len(found))
    assert found.fields == ["id", "half", "text"]
    for name, values in expected.items():
        assert found[name].tolist() == list(values)
    for row in parts:
        assert row.first == row.values["part"] * PIECE
        assert row.last <= len(found)
    return len(found)


def parts_of(uri):
    with colonnade.open(uri, "Events") as data_set:
        return [row.values["part"] for row in data_set.attributes.get("parts", [])]


def told(error):
    assert error.kind == "io", repr(error)
    assert "call close() or commit again" in error.advice, repr(error)


@pytest.mark.parametrize(("name", "how"), [("folder", "full"), ("s3", "lost"), ("rados", "full")])
def test_a_writer_is_closed_again(request, name, how):
    place = place_of(request, name)
    writer = colonnade.create(place.impatient, "Events")
    writer.extend(piece(0, 500))
    writer.commit()
    writer.extend(piece(500, 900))
    for number in range(900, 1000):
        writer.fill(id=number, half=number / 2, text=f"event {number % 17}")
    with getattr(place, how)():
        with pytest.raises(colonnade.StorageError) as failed:
            writer.close()
        told(failed.value)
        with pytest.raises(colonnade.UsageError, match="nothing can be added now"):
            writer.extend(piece(0, 1))
    assert committed(place.uri) == 500
    writer.close()
    writer.close()
    assert committed(place.uri) == 1000
    assert colonnade.collect_garbage(place.uri, dry_run=True).removed == ()


@pytest.mark.parametrize("call", ["close", "commit", "commit_cluster"])
def test_after_a_failure_entries_are_refused_at_once(request, call):
    """One by one, too, where they would wait: who repeats a call that was refused adds nothing twice."""
    place = place_of(request, "folder")
    writer = colonnade.create(place.uri, "Events")
    writer.extend(piece(0, 500))
    rows = writer.attributes("parts", {"part": int})
    with place.full():
        with pytest.raises(colonnade.StorageError):
            getattr(writer, call)()
        for add in (
            lambda: writer.fill(id=500, half=250.0, text="event 7"),
            lambda: writer.extend(piece(500, 501)),
            lambda: rows.add({"part": 0}, 0, PIECE),
        ):
            with pytest.raises(colonnade.UsageError, match="nothing can be added now"):
                add()
    if call != "close":
        getattr(writer, call)()
        writer.fill(id=500, half=250.0, text="event 7")
        rows.add({"part": 0}, 0, PIECE)
    writer.close()
    assert committed(place.uri) == (500 if call == "close" else 501)
    assert parts_of(place.uri) == ([] if call == "close" else [0])


def test_a_writer_that_is_given_up_leaves_the_last_commit(request):
    place = place_of(request, "folder")
    writer = colonnade.create(place.uri, "Events")
    writer.extend(piece(0, 500))
    writer.commit()
    writer.extend(piece(500, 900))
    with place.full(), pytest.raises(colonnade.StorageError):
        writer.close()
    writer.abort()
    with pytest.raises(colonnade.UsageError, match="closed"):
        writer.extend(piece(900, 901))
    colonnade.collect_garbage(place.uri)
    assert committed(place.uri) == 500


@pytest.mark.parametrize("again", ["dropped", "create", "create_parallel", "resume", "add_attributes"])
def test_a_failed_writer_is_in_nobodys_way(request, again):
    """Nor does the traceback that may hold it, as in a notebook."""
    place = place_of(request, "folder")
    writer = colonnade.create(place.uri, "Events")
    writer.extend(piece(0, 500))
    writer.commit()
    writer.extend(piece(500, 900))
    with place.full(), pytest.raises(colonnade.StorageError):
        writer.close()
    if again == "dropped":
        del writer
        assert committed(place.uri) == 500
    elif again == "create":
        with colonnade.create(place.uri, "Events") as writer:
            writer.extend(piece(0, 700))
        assert committed(place.uri) == 700
    elif again == "create_parallel":
        with colonnade.create_parallel(place.uri, "Events", {"x": int}):
            pass
    elif again == "resume":
        with colonnade.resume(place.uri, "Events") as writer:
            writer.extend(piece(500, 600))
        assert committed(place.uri) == 600
    else:
        with colonnade.add_attributes(place.uri, "Events") as appender:
            appender.attributes("parts").add({"part": 0}, 0, 250)
        assert committed(place.uri) == 500
    assert colonnade.collect_garbage(place.uri, dry_run=True).removed == ()


def test_a_second_writer_of_the_process_is_refused(request):
    place = place_of(request, "folder")
    with colonnade.create(place.uri, "Events", {"x": int}):
        with pytest.raises(
            colonnade.UsageError, match=f"is being written by process {os.getpid()}"
        ) as refused:
            colonnade.create(place.uri, "Events", {"x": int})
        assert "abort()" in refused.value.advice


def test_a_program_that_catches_the_error_loses_nothing(request):
    place = place_of(request, "folder")
    program = """
import resource, sys, colonnade
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
try:
    with colonnade.create(sys.argv[1], "Events") as writer:
        writer.extend({"id": [0, 1], "half": [0.0, 0.5], "text": ["event 0", "event 1"]})
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
except colonnade.StorageError:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    writer.close()
"""
    subprocess.run([sys.executable, "-c", program, place.uri], check=True)
    assert committed(place.uri) == 2


class History:
    """Numbers in their order, in pieces."""

    def __init__(self, place, seed):
        self.place, self.random = place, random.Random(seed)
        self.given = 0
        """Entries that were acknowledged, or taken by a call that failed."""
        self.sets = None
        self.options = {"cluster_size": self.random.choice([1000, "1 MiB"]), "compression": "none"}
        if self.random.random() < 0.5:
            self.options["checkpoint_every"] = self.random.randrange(1, 4)
        if self.random.random() < 0.3:
            self.options["object_mapping"] = "object_per_page"
        self.has_parts = self.random.random() < 0.5
        self.parts = []
        """Rows about ranges of entries that were acknowledged."""

    def open(self):
        uri = self.place.impatient
        if self.random.random() < 0.4:
            with colonnade.create(uri, "Events", **self.options) as writer:
                writer.extend(piece(0, PIECE))
            self.given = PIECE
            self.options.pop("object_mapping", None)
            return colonnade.resume(uri, "Events", **self.options)
        return colonnade.create(uri, "Events", {"id": int, "half": float, "text": str}, **self.options)

    def add(self, writer):
        first, last = self.given, self.given + PIECE
        try:
            if self.random.random() < 0.5:
                writer.extend(piece(first, last))
            else:
                for number in range(first, last):
                    writer.fill(id=number, half=number / 2, text=f"event {number % 17}")
        finally:
            self.given = writer.num_entries
        if self.has_parts:
            self.sets.add({"part": first // PIECE}, first, last)
            self.parts.append(first // PIECE)
        if self.random.random() < 0.2:
            self.random.choice([writer.commit, writer.commit_cluster])()

    def run(self):
        writer = self.open()
        if self.has_parts:
            self.sets = writer.attributes("parts", {"part": int})
        begin = self.random.randrange(COUNT // PIECE)
        is_over = False
        with contextlib.ExitStack() as fault:
            try:
                while self.given < COUNT:
                    if self.given // PIECE == begin:
                        fault.enter_context(self.random.choice([self.place.lost, self.place.full])())
                        begin = -1
                    self.add(writer)
                if begin >= 0:
                    fault.enter_context(self.place.full())
                writer.close()
                is_over = True
            except colonnade.StorageError as error:
                told(error)
                if self.random.random() < 0.3:
                    with contextlib.suppress(colonnade.StorageError):
                        writer.close()
        if not is_over:
            self.end(writer)
        assert committed(self.place.uri) == self.given
        found = parts_of(self.place.uri)
        assert found == sorted(set(found))
        assert set(found) >= set(self.parts)
        colonnade.collect_garbage(self.place.uri)
        assert colonnade.collect_garbage(self.place.uri, dry_run=True).removed == ()
        assert committed(self.place.uri) == self.given

    def end(self, writer):
        """What the user does about it."""
        seen = committed(self.place.uri)
        assert (seen or 0) <= self.given
        choice = self.random.choice(["again", "go on", "resume", "drop"])
        if choice == "again":
            writer.close()
        elif choice == "go on":
            self.random.choice([writer.commit, writer.commit_cluster])()
            self.has_parts = False
            writer.extend(piece(self.given, self.given + 7))
            self.given += 7
            writer.close()
        else:
            if choice == "resume" or not writer._waits:
                writer.abort()
            self.parts = []
            seen = committed(self.place.uri)
            if seen is None:
                with colonnade.create(self.place.impatient, "Events") as again:
                    again.extend(piece(0, 3))
                self.given = 3
            else:
                with colonnade.resume(self.place.impatient, "Events") as again:
                    assert again.num_entries == seen
                    again.extend(piece(seen, seen + 3))
                self.given = seen + 3


@pytest.mark.parametrize("seed", range(ROUNDS or 8))
def test_random_histories_in_a_folder(request, seed):
    History(place_of(request, "folder"), seed).run()


@pytest.mark.parametrize("seed", range(ROUNDS or 1))
@pytest.mark.parametrize("name", ["s3", "rados"])
def test_random_histories_on_servers(request, name, seed):
    History(place_of(request, name), f"{name} {seed}").run()
