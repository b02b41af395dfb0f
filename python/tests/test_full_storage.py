"""Storage that has no room, takes no such name, or is not there: errors that say so, and nothing half done."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame
from colonnade.cli import main
from colonnade.cli.info import describe
from colonnade.cli.treemap import draw
from colonnade.distributed.engines import InThisProcess
from colonnade.distributed.runs import Run
from colonnade.distributed.snapshots import Destination
from colonnade.distributed.tasks import Task
from colonnade.importing.complaints import raise_of_source
from colonnade.reading.aside import unfinished

LONGEST = 255  # bytes of a name
NAMES = ["n" * (LONGEST - 8), "名" * ((LONGEST - 8) // 3)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    with colonnade.create(folder / "f.root", "Events", {"x": float, "s": str}) as writer:
        writer.extend({"x": [0.5 * i for i in range(5000)], "s": [f"text {i}" for i in range(5000)]})
    return folder / "f.root"


LIMITED = """if True:
    import resource, sys
    import colonnade
    file, folder = sys.argv[1:]
    data_set_of_two = colonnade.open([file, file])
    frame = colonnade.DataFrame("Events", file)
    for number in range(100):
        frame = frame.define(f"y{number}", f"x + {number}")
    ways = {
        "f.parquet": lambda to: colonnade.export(file, to),
        "f.arrow": lambda to: colonnade.export(file, to),
        "f.csv": lambda to: colonnade.export(file, to),
        "f.npz": lambda to: colonnade.export(file, to),
        "f.json": lambda to: data_set_of_two.save_index(to),
        "f.dot": lambda to: frame.save_graph(to),
    }
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    for name, way in ways.items():
        try:
            way(f"{folder}/{name}")
        except colonnade.StorageError as error:
            print(name, error.uri == f"{folder}/{name}", error.problem.partition(": ")[2], "|", error.advice)
"""


def test_files_for_others_are_complete_or_not_there(file, tmp_path):
    """The limit of file sizes plays the disk that is full. Without -B, Python would cut off its own files, too."""
    folder = tmp_path / "to"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, file, folder], capture_output=True, text=True, check=True
    )
    names = ["f.parquet", "f.arrow", "f.csv", "f.npz", "f.json", "f.dot"]
    advice = "raise the limit of file sizes (ulimit -f)"
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [[name, "True"] for name in names]
    assert all("File too large" in line and line.endswith(f"| {advice}") for line in done.stdout.splitlines())
    assert done.stderr == ""
    assert list(folder.iterdir()) == []


def test_a_drawing_on_a_device_that_is_full(file):
    with pytest.raises(colonnade.StorageError, match=r"No space left.*try: free space.*/dev/full"):
        DataFrame("Events", file).save_graph("/dev/full")


def test_a_treemap_without_a_folder(file, tmp_path):
    with (
        colonnade.open(file) as data_set,
        pytest.raises(
            colonnade.StorageError, match=r"the treemap cannot be written: No such file.*check the path"
        ),
    ):
        draw(describe(data_set), tmp_path / "nowhere" / "f.svg")


@pytest.mark.parametrize("name", NAMES, ids=["letters", "characters"])
def test_names_as_long_as_they_may_be(file, tmp_path, name):
    folder = tmp_path / "to"
    folder.mkdir()
    frame = DataFrame("Events", file, executor=InThisProcess(), npartitions=2)
    assert colonnade.export(file, folder / f"{name}.parquet") == 5000
    colonnade.open([file, file]).save_index(folder / f"{name}.json")
    assert frame.snapshot(folder / f"{name}.root").count().value == 5000
    assert frame.snapshot(f"{folder}/{name}/").count().value == 5000
    assert {each.name for each in folder.iterdir()} == {
        name,
        *(f"{name}{e}" for e in (".parquet", ".json", ".root")),
    }


def test_a_name_that_is_too_long(file, tmp_path):
    to = tmp_path / ("n" * 300 + ".parquet")
    with pytest.raises(colonnade.StorageError, match=r"File name too long; try: a shorter name"):
        colonnade.export(file, to)


@pytest.mark.parametrize(
    "name",
    ["out.root", f"{'n' * 70}.root", *(f"{each}.root" for each in NAMES)],
    ids=["short", "long", "letters", "characters"],
)
def test_what_killed_writers_leave_beside_long_names_is_removed(file, tmp_path, name):
    folder = tmp_path / "to"
    folder.mkdir()
    run = Run(folder / name)
    to = Destination(str(folder / name), "Events", "recreate", {}, run=run.name)
    place, _ = to.part(Task("0" * 64, 0, 5000, (0,)))
    for target in (place, str(folder / name)):
        if os.fork() == 0:
            with contextlib.suppress(BaseException):
                writer = colonnade.create(target, "Events", {"x": float})
                writer.extend({"x": [1.0]})
            os._exit(0)
        os.wait()
    assert len(list(folder.iterdir())) == 3
    run.end()
    assert len(unfinished(folder / name, force=False, older_than=None)) == 1
    assert colonnade.collect_garbage(folder / name).leftovers == 1
    assert list(folder.iterdir()) == []


def test_an_export_to_a_link_goes_where_it_points(file, tmp_path):
    (tmp_path / "large").mkdir()
    (tmp_path / "f.parquet").symlink_to(tmp_path / "large" / "g.parquet")
    colonnade.export(file, tmp_path / "f.parquet")
    assert (tmp_path / "f.parquet").is_symlink()
    assert [each.name for each in (tmp_path / "large").iterdir()] == ["g.parquet"]


def test_a_join_names_the_folder_that_is_missing(file, tmp_path, monkeypatch):
    monkeypatch.setenv("COLONNADE_JOIN_MEMORY_MIB", "0")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with colonnade.create(tmp_path / "keys.root", "Keys", {"id": int}) as writer:
        writer.extend({"id": [1, 2]})
    joined = DataFrame.from_arrays({"id": np.array([2])}).join("Keys", tmp_path / "keys.root", on="id")
    with pytest.raises(
        colonnade.ResourceError, match=r"needs 1 MiB of disk in .*nowhere: No such file.*TMPDIR"
    ):
        _ = joined.count().value


def test_commands_say_which_place_cannot_be_used(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--output", "/proc/nowhere/demo"])
    assert stop.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("colonnade: '/proc/nowhere' cannot be used (No such file or directory); try: ")
    assert len(told.splitlines()) == 1


def test_uproot_without_room_for_another_file():
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE), "tree.root")
    with pytest.raises(
        colonnade.StorageError, match=r"read: Too many open files; try: .*ulimit -n.*uri=tree.root"
    ):
        raise_of_source(error, uri="tree.root")


def test_commands_say_how_to_go_on_when_there_is_room(file, tmp_path):
    to = tmp_path / "all.root"
    command = [
        sys.executable,
        "-B",
        "-m",
        "colonnade",
        "merge",
        str(to),
        str(file),
        "--checkpoint-every",
        "1",
    ]
    limit = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000,) * 2); "
    limit += "os.execv(sys.argv[1], sys.argv[1:])"
    limited = [sys.executable, "-c", limit, *command]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert (
        "; try: raise the limit of file sizes (ulimit -f); --resume continues after the last checkpoint"
        in done.stderr
    )
    subprocess.run([*command, "--resume"], capture_output=True, check=True)
    assert colonnade.open(to).num_entries == 5000


def test_a_device_is_no_place_for_a_data_set():
    with pytest.raises(colonnade.StorageError, match="it is not a regular file; try: the name of a file"):
        colonnade.create("/dev/full", "Events", {"x": float})


GROWING = """if True:
    import os, resource, sys
    import colonnade, numpy

    def fill(writer):
        for number in range(20):
            writer.extend({"x": numpy.random.default_rng(number).random(100_000)})

    def in_context(writer):
        with writer.context() as context:
            fill(context)

    def annotate(writer):
        for number in range(20):
            writer.attributes("more").add({"x": numpy.random.default_rng(number).random(100_000)}, number, number + 1)

    root, bare, direct = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_FSIZE, (10 << 20, 10 << 20))
    options = {"mode": "update", "compression": "none", "cluster_size": "1 MB", "direct_io": direct == "direct"}
    for file, make, use in (
        (root, lambda: colonnade.create(root, "More", {"x": float}, **options), fill),
        (root, lambda: colonnade.create_parallel(root, "More", {"x": float}, **options), in_context),
        (root, lambda: colonnade.add_attributes(root, "Events"), annotate),
        (bare, lambda: colonnade.add_attributes(bare, "Events"), annotate),
    ):
        before = os.path.getsize(file)
        try:
            with make() as writer:
                use(writer)
        except colonnade.StorageError as error:
            print("File too large" in error.problem, os.path.getsize(file) - before, colonnade.open(file).num_entries)
"""


@pytest.mark.parametrize("way", ["direct", "cached"])
def test_an_addition_without_room_gives_back_what_it_took(file, tmp_path, way):
    bare = tmp_path / "bare.root"
    colonnade.copy(file, bare, container="bare")
    command = [sys.executable, "-B", "-W", "ignore", "-c", GROWING, file, bare, way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True 0 5000"] * 4
    assert done.stderr == ""


@pytest.mark.parametrize("executor", [None, InThisProcess()], ids=["here", "engine"])
def test_a_snapshot_that_failed_is_made_again(file, tmp_path, executor):
    """Also while its traceback is there, as in a notebook; until then no other pass tries to write it."""
    frame = DataFrame("Events", file, executor=executor, npartitions=None if executor is None else 2)
    to = tmp_path / "later" / "f.root"
    with pytest.raises(colonnade.Error, match="No such file") as failed:
        frame.snapshot(to)
    assert frame.count().value == 5000
    to.parent.mkdir()
    assert frame.sum("x").value > 0
    assert not to.exists()
    assert frame.snapshot(to).count().value == 5000
    assert failed.value.__traceback__ is not None
