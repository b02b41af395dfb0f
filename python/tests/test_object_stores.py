"""Data sets in object stores, written and cleaned up from Python and the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import colonnade
from colonnade.writing.options import seconds_of, write_options

CRASH = """
import os, signal, sys
import colonnade
writer = colonnade.create(sys.argv[1], "Events", {"n": "std::int32_t"})
for start in range(0, 3000, 1000):
    writer.extend({"n": list(range(start, start + 1000))})
    writer.commit_cluster()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def store(tmp_path):
    return f"obj://{tmp_path}/store"


def write(store, name, count, **options):
    with colonnade.create(
        store, name, {"n": "std::int32_t", "x": "std::vector<double>"}, **options
    ) as writer:
        for first in range(0, count, 100):
            last = min(count, first + 100)
            numbers = np.arange(first, last, dtype=np.int32)
            writer.extend({"n": numbers, "x": [[float(n)] * (n % 3) for n in numbers]})
            writer.commit_cluster()


def crash(store):
    done = subprocess.run([sys.executable, "-c", CRASH, store], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("mapping", ["locality", "object_per_page"])
@pytest.mark.parametrize("splice_size", [0, "4 KiB", "1 MiB"])
def test_what_is_written_is_read(store, mapping, splice_size):
    write(store, "Events", 1000, object_mapping=mapping, splice_size=splice_size, page_size="256 B")
    write(store, "dir/Others", 10)
    data_set = colonnade.open(store, "Events")
    arrays = data_set.arrays(["n", "x"])
    assert arrays["n"].tolist() == list(range(1000))
    assert arrays["x"].tolist() == [[float(n)] * (n % 3) for n in range(1000)]
    assert sorted(colonnade.datasets(store)) == ["Events", "dir/Others"]


def test_a_data_set_is_replaced_when_it_is_committed(store):
    write(store, "Events", 100)
    with colonnade.create(store, "Events", {"n": "std::int32_t"}) as writer:
        writer.extend({"n": [1, 2]})
        assert colonnade.open(store, "Events").num_entries == 100
    assert colonnade.open(store, "Events").num_entries == 2


def test_one_writer_of_a_name(store):
    with colonnade.create(store, "Events", {"n": "std::int32_t"}):
        with pytest.raises(colonnade.UsageError, match=f"is being written by process {os.getpid()} on host"):
            colonnade.create(store, "Events", {"n": "std::int32_t"})
        write(store, "Others", 10)
    with pytest.raises(colonnade.UsageError, match="already"):
        colonnade.create(store, "Events", {"n": "std::int32_t"}, mode="update")


def test_gc_removes_what_a_killed_writer_left(store, run):
    write(store, "Events", 100)
    crash(store)
    assert colonnade.open(store, "Events").num_entries == 100
    status, out, _ = run("gc", store, "--dry-run")
    assert status == 0
    assert "would be removed" in out
    assert "would be released" in out
    status, out, _ = run("gc", store, "--json")
    report = json.loads(out)
    assert [one["data_set"] for one in report["removed"]] == ["Events"]
    assert report["problems"] == []
    assert run("gc", store)[1] == "nothing to remove\n"
    assert colonnade.open(store, "Events").arrays("n")["n"].tolist() == list(range(100))


def test_gc_by_force_removes_what_lost_its_record(store, tmp_path, run):
    """As if the machine had gone down before the folder with the records was on the device."""
    folder = tmp_path / "store" / "0" / "0"
    write(store, "Kept", 10)
    kept = {path.name for path in folder.iterdir()}
    write(store, "Lost", 10)
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
    assert run("gc", store) == (0, "nothing to remove\n", "")
    told = "generation 2, of which no record speaks, would be removed\n"
    assert run("gc", store, "--force", "--dry-run") == (0, told, "")
    assert run("gc", store, "--force") == (0, told.replace("would be ", ""), "")
    assert run("gc", store, "--force") == (0, "nothing to remove\n", "")
    assert colonnade.open(store, "Kept").arrays(["n"])["n"].tolist() == list(range(10))


def test_gc_leaves_writers_alone(store, run):
    with colonnade.create(store, "Events", {"n": "std::int32_t"}) as writer:
        writer.extend({"n": [1, 2, 3]})
        assert "left alone, being written by process" in run("gc", store, "--older-than", "1 s")[1]
        report = colonnade.collect_garbage(store)
        assert report.removed == ()
        assert report.kept[0].data_set == "Events"
    assert colonnade.open(store, "Events").num_entries == 3


def test_rm(store, run):
    write(store, "A", 10)
    write(store, "B", 10)
    assert run("rm", store, "A") == (0, "A: removed\n", "")
    assert colonnade.datasets(store) == ["B"]
    status, _, err = run("rm", store, "A")
    assert status == 1
    assert "there is no data set" in err


def test_files_have_no_garbage(tmp_path, run):
    path = tmp_path / "f.root"
    report = colonnade.collect_garbage(path)
    assert not report.removed
    assert not report.kept
    assert report.leftovers == 0
    assert run("gc", path)[0] == 0


def test_options_are_checked(store):
    assert write_options(object_mapping="object_per_page").object_per_page
    assert write_options(splice_size=0).splice_size == 0
    assert write_options(object_class="SX").object_class == "SX"
    with pytest.raises(colonnade.UsageError, match="object_mapping"):
        write_options(object_mapping="other")
    assert seconds_of("2 h") == 7200.0
    for wrong in ("soon", -1, True):
        with pytest.raises(colonnade.UsageError, match="time"):
            seconds_of(wrong)
    with pytest.raises(colonnade.UsageError, match="bare file"):
        colonnade.create(store, "Events", {"n": "std::int32_t"}, container="bare")
