"""Files that other processes open, write or change at the same time."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess

import pytest
import uproot
from crashes import ENTRIES, arguments, clusters_of, ids_of, run, start, stopped_writer

import colonnade


@pytest.mark.parametrize(
    "options", [{}, {"threads": 2}, {"bare": True}, {"direct": True}, {"name": "dir/Events"}]
)
def test_opened_while_it_is_written(tmp_path, options):
    """A reader finds a checkpoint at any time, never an older one than before, and all values are right."""
    file = tmp_path / "growing.root"
    name = options.get("name", "Events")
    seen = []
    with start(file, clusters=60, wait=True, **options) as writer:
        for line in writer.stdout:
            if line.startswith("cluster"):  # the next one is written while this reads
                writer.stdin.write("\n")
                writer.stdin.flush()
            seen.append(len(clusters_of(ids_of(file, name))))
    assert seen == sorted(seen)
    assert seen[-1] == 60 * options.get("threads", 1)
    assert len(set(seen)) >= 30


def test_root_and_uproot_open_it_between_checkpoints(tmp_path, root):
    """The file has a checkpoint and, behind it, clusters that no footer knows: to ROOT it is a file like any other."""
    file = tmp_path / "open.root"
    copy = tmp_path / "copy.root"
    for threads in (0, 2):
        with stopped_writer(file, clusters=7, checkpoint=5, threads=threads):
            shutil.copy(file, copy)
            for each in (file, copy):
                # Checkpoints cover 5 clusters, or 10 of the two threads.
                entries = 5 * ENTRIES * max(threads, 1)
                read = root.dump(each)
                assert root.printed == ""
                assert len(read["Events"]["values"]["id"]) == entries
                with uproot.open(each) as opened:
                    assert opened["Events"].num_entries == entries
                assert len(ids_of(each)) == entries
        assert colonnade.repair(file).recovered_clusters == 2 * max(threads, 1)
        read = root.dump(file)
        assert root.printed == ""
        assert len(read["Events"]["values"]["id"]) == 7 * ENTRIES * max(threads, 1)
        with uproot.open(file) as opened:
            assert opened["Events"].num_entries == 7 * ENTRIES * max(threads, 1)


def test_a_second_writer_is_refused(tmp_path):
    file = tmp_path / "open.root"
    with stopped_writer(file, clusters=3):
        for options in ({}, {"add": True, "name": "Other"}, {"threads": 2}):
            said = run(file, clusters=1, **options)
            assert "another writer has it open" in said.error
        with pytest.raises(colonnade.StorageError, match="another writer has it open"):
            colonnade.repair(file)
        with pytest.raises(colonnade.StorageError, match="another writer has it open"):
            colonnade.repair(file, dry_run=True)
        assert clusters_of(ids_of(file)) == [0, ENTRIES, 2 * ENTRIES]
    assert clusters_of(ids_of(file)) == [0, ENTRIES, 2 * ENTRIES]
    assert run(file, clusters=1).closed


def test_write_protected_targets(tmp_path):
    """Read-only files and folders are not written, whichever user runs the test."""
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "directory" in run(folder, clusters=1).error
    missing = run(tmp_path / "no" / "such" / "folder.root", clusters=1)
    assert "No such file" in missing.error
    file = tmp_path / "protected.root"
    assert run(file, clusters=2).closed
    content = file.read_bytes()
    file.chmod(stat.S_IRUSR)
    command = []
    if os.geteuid() == 0:
        # The administrator may write everything; without that right, in a child, the system says no.
        command = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
    done = subprocess.run(
        [*command, *arguments(file, clusters=1)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "Permission denied" in done.stdout
    assert file.read_bytes() == content


def test_replaced_while_open(tmp_path):
    """A reader keeps the file that it opened."""
    file, other = tmp_path / "data.root", tmp_path / "other.root"
    assert run(file, clusters=8).closed
    assert run(other, clusters=2).closed
    with colonnade.open(file, "Events") as data_set:
        os.replace(other, file)
        assert len(data_set.arrays(["id"])["id"]) == 8 * ENTRIES
    assert len(ids_of(file)) == 2 * ENTRIES


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_truncated_while_open(tmp_path, keep):
    file = tmp_path / "data.root"
    assert run(file, clusters=8).closed
    with colonnade.open(file, "Events") as data_set:
        os.truncate(file, keep)
        with pytest.raises(colonnade.Error) as caught:
            data_set.arrays(["id", "items"])
    assert "truncated" in str(caught.value) or "ends" in str(caught.value)
    with pytest.raises(colonnade.Error):
        colonnade.open(file, "Events")
    with pytest.raises(colonnade.Error):
        colonnade.repair(file)
    assert file.stat().st_size == keep
