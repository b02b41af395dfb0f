"""`colonnade repair`, as people run it."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys

from crashes import ENTRIES, ids_of, run, stopped_writer


def command(*arguments) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", "from colonnade.cli import main; main()", "repair", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_tells_what_it_finds_and_does(tmp_path):
    file = tmp_path / "crashed.root"
    with stopped_writer(file, clusters=5, checkpoint=3):
        refused = command(file)
        assert refused.returncode == 1
        assert "another writer has it open" in refused.stderr
        assert "another writer has it open" in command(file, "--dry-run").stderr
    content = file.read_bytes()
    with open(file, "rb") as shared:
        fcntl.flock(shared, fcntl.LOCK_SH)  # a dry run only reads
        dry = command(file, "--dry-run")
    assert dry.returncode == 0
    assert "Events: 1500 entries in 3 clusters at the last checkpoint" in dry.stdout
    assert "1000 entries in 2 clusters would be brought back" in dry.stdout
    assert file.read_bytes() == content
    done = command(file, "Events")
    assert "1000 entries in 2 clusters brought back" in done.stdout
    assert "the file was repaired" in done.stdout
    assert len(ids_of(file)) == 5 * ENTRIES
    again = json.loads(command(file, "--json").stdout)
    assert (again["entries"], again["recovered_entries"], again["written"]) == (2500, 0, False)
    assert "nothing to bring back" in command(file).stdout


def test_names_what_is_missing(tmp_path):
    file = tmp_path / "whole.root"
    assert run(file, clusters=1).closed
    missing = command(file, "Other")
    assert missing.returncode == 1
    assert "Other" in missing.stderr
    assert command(tmp_path / "none.root").returncode == 1
