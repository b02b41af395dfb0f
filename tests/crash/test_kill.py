"""Writers are killed at random moments: what a checkpoint covered reads back, repair brings back what is whole, and
never is there a wrong value.

COLONNADE_KILLS says how often each way of writing is killed.
"""

from __future__ import annotations

import os
import random

import pytest
import uproot
from crashes import assert_in_order, clusters_of, ids_of, run, run_and_kill

import colonnade

KILLS = int(os.environ.get("COLONNADE_KILLS", "60"))

MODES = {
    "sequential": {"clusters": 60},
    "sequential_zstd": {"clusters": 40, "compression": "zstd:1", "checkpoint": 4},
    "sequential_direct": {"clusters": 60, "direct": True, "checkpoint": 3},
    "sequential_no_checksums": {"clusters": 60, "checksums": False, "checkpoint": 5},
    "bare": {"clusters": 60, "bare": True, "checkpoint": 2},
    "directory": {"clusters": 60, "name": "dir/sub/Events"},
    "parallel": {"clusters": 20, "threads": 3},
    "parallel_rare": {"clusters": 20, "threads": 4, "checkpoint": 7},
    "parallel_direct": {"clusters": 20, "threads": 3, "direct": True, "checkpoint": 4},
}


def examine(file, said, options):
    """What the file holds after a crash, before and after repair; the number of clusters each time."""
    name = options.get("name", "Events")
    checkpoint = options.get("checkpoint", 1)
    try:
        before = clusters_of(ids_of(file, name))
    except colonnade.Error:
        # Before the first checkpoint, which is made when the writer is, there may be nothing to open.
        assert not said.opened
        return 0, 0
    assert_in_order(before)
    # Each line is written after its cluster; the checkpoint that is due then has been made as well.
    assert len(before) >= len(said.clusters) - (checkpoint - 1)
    if checkpoint == 1:
        assert set(said.clusters) <= set(before)
    if "threads" not in options:
        assert before == [500 * i for i in range(len(before))]
    if said.closed:
        assert set(said.clusters) == set(before)

    report = colonnade.repair(file, name)
    assert report.entries == 500 * len(before)
    after = clusters_of(ids_of(file, name))
    assert after[: len(before)] == before
    assert len(after) == len(before) + report.recovered_clusters
    assert_in_order(after)
    if "direct" not in options:
        # What went to the kernel is in the file: nothing that was written is lost.
        assert set(said.clusters) <= set(after)
        assert report.dropped == ()
        if "threads" not in options:
            assert after == [500 * i for i in range(len(after))]
    with colonnade.open(file, name) as data_set:
        data_set.verify()
    again = colonnade.repair(file, name)
    assert (again.entries, again.written) == (500 * len(after), False)
    return len(before), len(after)


@pytest.mark.parametrize("mode", MODES)
def test_killed_at_random_moments(tmp_path, mode, root):
    options = MODES[mode]
    generator = random.Random(mode)
    file = tmp_path / "crash.root"
    assert run(file, **options).closed
    whole = len(ids_of(file, options.get("name", "Events")))
    seen = set()
    recovered = 0
    for kill in range(KILLS):
        file.unlink(missing_ok=True)
        said = run_and_kill(file, generator, **options)
        before, after = examine(file, said, options)
        seen.add(before)
        recovered += after - before
        if before and not options.get("bare") and kill % 10 == 0:
            with uproot.open(file) as opened:
                assert opened[options.get("name", "Events")].num_entries == 500 * after
        if before and not options.get("bare") and kill % 20 == 0:
            read = root.dump(file)
            assert root.printed == ""
            assert len(next(iter(read.values()))["values"]["id"]) == 500 * after
    assert len(seen) > min(KILLS, 10) / 5, "the moments were not random"
    assert whole == 500 * options["clusters"] * max(options.get("threads", 1), 1)
    if options.get("checkpoint", 1) > 1 and KILLS >= 30:
        assert recovered > 0, "repair had nothing to do"


def test_killed_while_adding_to_a_file(tmp_path):
    """What else is in the file is not touched, whatever happens."""
    file = tmp_path / "crash.root"
    generator = random.Random(2)
    for _ in range(max(KILLS // 6, 1)):
        file.unlink(missing_ok=True)
        assert run(file, clusters=3, name="first/Events").closed
        said = run_and_kill(file, generator, clusters=40, checkpoint=2, name="second/Events", add=True)
        assert clusters_of(ids_of(file, "first/Events")) == [0, 500, 1000]
        if "second/Events" not in colonnade.datasets(file):
            assert not said.opened
            continue
        before = clusters_of(ids_of(file, "second/Events"))
        assert len(before) >= len(said.clusters) - 1
        report = colonnade.repair(file)
        if report.written:
            assert report.data_set == "second/Events"
        after = clusters_of(ids_of(file, "second/Events"))
        assert set(said.clusters) <= set(after)
        assert clusters_of(ids_of(file, "first/Events")) == [0, 500, 1000]
