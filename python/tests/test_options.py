"""Options of local storage, and what reading took."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest
from locations import REPOSITORY

import colonnade
from colonnade.cli import main
from colonnade.reading.dataset import read_options
from colonnade.reading.steps import byte_count
from colonnade.writing.options import checkpoints, write_options

ENTRIES = 20_000


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "f.root"
    rng = np.random.default_rng(1)
    with colonnade.create(path, "Events", {"x": "double", "n": "std::int32_t"}, page_size="16 KiB") as writer:
        for _ in range(2):
            values = rng.normal(size=ENTRIES // 2)
            writer.extend({"x": values, "n": np.arange(ENTRIES // 2, dtype=np.int32)})
            writer.commit_cluster()
    return path


# ---- Reading


@pytest.mark.parametrize("local_io", ["automatic", "pread", "threads", "io_uring", "mmap"])
@pytest.mark.parametrize("direct_io", [False, True])
def test_every_way_of_reading_gives_the_same(sample, local_io, direct_io):
    expected = colonnade.open(sample).arrays(library="np")
    read = colonnade.open(sample, local_io=local_io, direct_io=direct_io).arrays(library="np")
    for name, values in expected.items():
        np.testing.assert_array_equal(read[name], values)


@pytest.mark.parametrize(
    "options", [{"parallel_decompression": False}, {"memory_budget": "1 MiB"}, {"read_ahead": 4096}]
)
def test_other_options_give_the_same(sample, options):
    expected = colonnade.open(sample).arrays(library="np")
    read = colonnade.open(sample, **options).arrays(library="np")
    np.testing.assert_array_equal(read["x"], expected["x"])


def test_options_survive_pickling_and_selecting(sample):
    data_set = colonnade.open(sample, local_io="pread", parallel_decompression=False)
    for other in (pickle.loads(pickle.dumps(data_set)), data_set.select("x")):
        assert other._settings == data_set._settings


def test_wrong_options_of_reading(sample):
    with pytest.raises(colonnade.UsageError, match="local_io must be"):
        colonnade.open(sample, local_io="telepathy")
    with pytest.raises(colonnade.UsageError, match="is not a size"):
        colonnade.open(sample, memory_budget="much")
    with pytest.raises(colonnade.UsageError, match="cannot be negative"):
        colonnade.open(sample, read_ahead=-1)


# ---- Metrics


def test_metrics_count_what_was_read(sample):
    data_set = colonnade.open(sample, parallel_decompression=False, local_io="pread")
    before = data_set.metrics
    assert (before.requests, before.bytes, before.pages) == (0, 0, 0)
    assert before.metadata_bytes > 0
    data_set.arrays("x")
    after = data_set.metrics
    columns = {column.field: column.id for column in data_set.descriptor.columns}
    x = data_set.descriptor.find_field("x")
    stored = [page for cluster in data_set.descriptor.clusters for page in cluster.columns[columns[x]].pages]
    assert after.pages == len(stored)
    assert 0 < after.requests <= len(stored)
    wanted = sum(page.size + 8 for page in stored)
    assert after.bytes - after.read_over_bytes == wanted
    assert after.seconds_decoding > 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        after.pages = 0


def test_reading_through_keeps_nothing_and_counts_the_values(sample):
    assert colonnade.open(sample).read_through() == ENTRIES * 12
    assert colonnade.open(sample).read_through("n", step_size="10 KiB") == ENTRIES * 4
    assert colonnade.open(sample).read_through([]) == 0


def test_info_prints_metrics(sample, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["info", str(sample), "--metrics", "--fields", "x", "--json"])
    assert stop.value.code == 0
    (found,) = json.loads(capsys.readouterr().out)["data_sets"]
    assert found["metrics"]["value_bytes"] == ENTRIES * 8
    assert found["metrics"]["pages"] == next(f["pages"] for f in found["fields"] if f["path"] == "x")
    with pytest.raises(SystemExit):
        main(["info", str(sample), "--metrics"])
    text = capsys.readouterr().out
    for word in ("requests", "not wanted", "waiting", "decoding"):
        assert word in text
    with pytest.raises(SystemExit) as stop:
        main(["info", str(sample), "--fields", "bogus"])
    assert stop.value.code == 1


# ---- Writing


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, (0, 0.0)),
        (3, (3, 0.0)),
        ("30s", (0, 30.0)),
        ("1.5 min", (0, 90.0)),
        ("2h", (0, 7200.0)),
        ("250ms", (0, 0.25)),
        (timedelta(minutes=2), (0, 120.0)),
        ({"clusters": 2}, (2, 0.0)),
        ({"clusters": 2, "seconds": 5}, (2, 5.0)),
    ],
)
def test_checkpoints_are_given_in_several_ways(given, expected):
    assert checkpoints(given) == expected
    options = write_options(checkpoint_every=given)
    assert (options.checkpoint_clusters, options.checkpoint_seconds) == expected


@pytest.mark.parametrize(
    "given",
    [
        0,
        -1,
        True,
        2**32,
        1.5,
        "soon",
        "30",
        {},
        {"entries": 3},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"clusters": 1.5},
        timedelta(seconds=-1),
    ],
)
def test_checkpoints_that_make_no_sense(tmp_path, given):
    with pytest.raises(colonnade.UsageError):
        colonnade.create(tmp_path / "f.root", "Events", {"x": "double"}, checkpoint_every=given)
    assert not (tmp_path / "f.root").exists()


@pytest.mark.parametrize("option", ["container", "durability", "cluster_order"])
def test_choices_are_checked(option):
    with pytest.raises(colonnade.UsageError, match="not 'nonsense'"):
        write_options(**{option: "nonsense"})


@pytest.mark.parametrize(
    "options",
    [{"direct_io": True}, {"parallel_sealing": True}, {"durability": "machine"}, {"checkpoint_every": 1}],
)
def test_options_of_writing_change_no_value(tmp_path, options):
    values = np.random.default_rng(2).normal(size=50_000)
    with colonnade.create(tmp_path / "f.root", "Events", **options) as writer:
        for part in np.split(values, 5):
            writer.extend({"x": part})
            writer.commit_cluster()
    np.testing.assert_array_equal(colonnade.open(tmp_path / "f.root").arrays(library="np")["x"], values)


COUNT = "import colonnade, sys; print(colonnade.open(sys.argv[1], 'Events').num_entries)"


def test_another_process_reads_up_to_the_last_checkpoint(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", {"x": "double"}, checkpoint_every=2) as writer:
        for _ in range(3):
            writer.extend({"x": np.arange(10.0)})
            writer.commit_cluster()
        seen = subprocess.run([sys.executable, "-c", COUNT, path], capture_output=True, text=True, check=True)
        assert int(seen.stdout) == 20
    assert colonnade.open(path).num_entries == 30


def test_version_is_that_of_the_library():
    project = (REPOSITORY / "CMakeLists.txt").read_text(encoding="utf-8")
    assert re.search(r"project\(Colonnade VERSION ([0-9.]+)", project)[1] == colonnade.__version__


def test_one_machine_plays_several():
    def run(name):
        code = "from colonnade import _core; print(_core.instruction_set())"
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "COLONNADE_CPU": name},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("baseline").stdout == "baseline\n"
    assert run("").stdout != ""
    unknown = run("sse2")
    assert unknown.returncode != 0
    assert "COLONNADE_CPU=sse2 is not an instruction set" in unknown.stderr
    assert "baseline" in unknown.stderr


def test_reading_ahead_has_one_default():
    stated = colonnade._core.ReadOptions().read_ahead
    for function in (colonnade.open, colonnade.DataSet.__init__, read_options):
        assert byte_count(inspect.signature(function).parameters["read_ahead"].default) == stated
    text = (REPOSITORY / "docs" / "local-storage.md").read_text(encoding="utf-8")
    assert f"`read_ahead` bytes per column ({stated >> 20} MiB)" in " ".join(text.split())


def test_every_option_has_one_default():
    core = colonnade._core
    for made, stated in (write_options(), core.WriteOptions()), (read_options(), core.ReadOptions()):
        for name in dir(stated):
            if not name.startswith("_"):
                assert getattr(made, name) == getattr(stated, name), name
    defaults = inspect.signature(write_options).parameters
    for function in (colonnade.create, colonnade.import_table, colonnade.import_tree):
        for name, option in inspect.signature(function).parameters.items():
            if name in defaults and name != "checkpoint_every":
                assert option.default == defaults[name].default, (function, name)


def test_numbers_and_flags_of_numpy_are_options(tmp_path):
    path, other, yes, three = tmp_path / "f.root", tmp_path / "g.root", np.bool_(True), np.int64(3)
    options = {
        "checksums": yes,
        "same_page_merging": yes,
        "parallel_sealing": yes,
        "direct_io": np.bool_(False),
        "discard_unrepaired": yes,
        "cluster_size": np.int64(1 << 20),
        "clusters_per_group": three,
        "checkpoint_every": {"clusters": three, "seconds": np.float32(30)},
    }
    with colonnade.create(path, "Events", {"x": "double"}, **options) as writer:
        writer.extend({"x": np.arange(10.0)})
    df = colonnade.DataFrame("Events", path, checksums=yes, parallel_decompression=yes)
    assert df.snapshot(other, **options).count() == 10
    assert colonnade.copy(path, other, overwrite=yes, check_pages=yes).entries == 10
    colonnade.merge(other, [path], overwrite=yes, append=np.bool_(False), check_pages=yes)
    assert not colonnade.repair(other, dry_run=yes).written
    varied = df.vary("x", "{x + 1, x - 1}", np.int64(2))
    assert varied.variation_names == ["nominal", "x:0", "x:1"]
    assert df.quantile("x", exact_up_to=np.int64(100)) == 4.5
