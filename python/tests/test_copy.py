"""Copies made from Python: what is asked for, what is reported, what stops them."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time

import numpy as np
import pytest
from locations import FIXTURES

import colonnade


@pytest.fixture
def made(tmp_path):
    """A data set of some clusters."""
    path = tmp_path / "made.root"
    random = np.random.default_rng(1)
    with colonnade.create(path, "dir/Events", cluster_size=40_000, page_size=4096) as writer:
        for _ in range(10):
            writer.extend({"x": random.normal(size=5000), "n": random.integers(0, 9, size=5000)})
    return path


def values(path, name=None):
    arrays = colonnade.open(path, name).arrays()
    return {field: arrays[field].to_list() for field in arrays.fields}


def test_a_copy_has_the_same_values(made, tmp_path):
    to = tmp_path / "copy.root"
    report = colonnade.copy(made, to, verify="values")
    assert values(to) == values(made)
    assert report.mode == "pages"
    assert report.data_set == "dir/Events"
    assert report.entries == 50_000
    assert report.clusters >= 5
    assert report.bytes_read == report.bytes_written > 100_000
    assert report.verified
    assert not report.interrupted
    assert report.notes == ()
    assert report.seconds > 0


def test_older_cycles_are_copied_under_their_name(tmp_path):
    """A copy of "Events;1" is no data set of that name, which ROOT would take for a cycle."""
    source = FIXTURES / "replaced_data_set.root"
    assert values(f"{source}:Events;1") != values(source) == values(source, "Events;2")
    report = colonnade.copy(f"{source}:Events;1", tmp_path / "copy.root", verify="values")
    assert report.data_set == "Events"
    assert values(tmp_path / "copy.root") == values(source, "Events;1")
    # A name may have a semicolon itself.
    with colonnade.create(tmp_path / "named.root", "x;1", {"n": "int"}) as writer:
        writer.fill(n=7)
    colonnade.copy(tmp_path / "named.root", tmp_path / "again.root")
    assert colonnade.datasets(tmp_path / "again.root") == ["x;1"]


def test_the_time_between_reports_is_a_number(made, tmp_path):
    for wrong in (float("nan"), -1):
        with pytest.raises(colonnade.UsageError, match="no number of seconds"):
            colonnade.copy(made, tmp_path / "copy.root", progress_every=wrong)


def test_names_columns_and_containers(made, tmp_path):
    to = tmp_path / "copy.bare"
    report = colonnade.copy(f"{made}:dir/Events", to, destination_name="Other", columns="n", container="bare")
    assert report.data_set == "Other"
    assert colonnade.datasets(to) == ["Other"]
    assert values(to) == {"n": values(made)["n"]}


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({"compression": "lz4"}, "recompress"),
        ({"compression": 101}, "recompress"),
        ({"page_size": "1 KiB"}, "decode"),
        ({"cluster_size": "1 MB"}, "decode"),
    ],
)
def test_other_shapes(made, tmp_path, options, mode):
    to = tmp_path / "copy.root"
    report = colonnade.copy(made, to, verify=True, **options)
    assert report.mode == mode
    assert report.verified
    assert values(to) == values(made)


def test_several_become_one(made, tmp_path):
    to = tmp_path / "copy.root"
    report = colonnade.copy(
        [made, (made, "dir/Events"), f"{made}:dir/Events"], to, destination_name="All", verify=True
    )
    assert report.entries == 150_000
    assert values(to, "All")["x"] == values(made)["x"] * 3
    for name in ("a/1.root", "a/b/2.root"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(made, tmp_path / name)
    report = colonnade.copy(f"{tmp_path}/a/**/*.root:dir/Events", to, columns="[nx]", overwrite=True)
    assert report.entries == 100_000
    assert values(to, "dir/Events") == {name: values(made)[name] * 2 for name in ("x", "n")}
    with pytest.raises(colonnade.FileMissingError, match="no file matches"):
        colonnade.copy(f"{tmp_path}/no*.root", to, overwrite=True)


def test_other_schemas_are_refused(made, tmp_path):
    other = tmp_path / "other.root"
    with colonnade.create(other, "Events") as writer:
        writer.extend({"x": np.zeros(3, np.float32), "n": np.zeros(3, np.int64)})
    with pytest.raises(colonnade.SchemaError, match="'x' is float, not double"):
        colonnade.copy([made, other], tmp_path / "to.root")
    assert not (tmp_path / "to.root").exists()


def test_what_is_there_stays(made, tmp_path):
    to = tmp_path / "copy.root"
    colonnade.copy(made, to)
    before = to.read_bytes()
    with pytest.raises(colonnade.UsageError, match="already exists"):
        colonnade.copy(made, to)
    with pytest.raises(colonnade.FileMissingError):
        colonnade.copy(tmp_path / "none.root", to, overwrite=True)
    with pytest.raises(colonnade.NotFoundError):
        colonnade.copy(made, to, columns=["none"], overwrite=True)
    with pytest.raises(colonnade.UsageError):
        colonnade.copy(made, to, verify="bytes", overwrite=True)
    with pytest.raises(colonnade.UsageError):
        colonnade.copy([], to, overwrite=True)
    assert to.read_bytes() == before
    colonnade.copy(made, to, destination_name="Second")
    assert sorted(colonnade.datasets(to)) == ["Second", "dir/Events"]
    colonnade.copy(made, to, destination_name="Third", overwrite=True)
    assert colonnade.datasets(to) == ["Third"]


def test_damage_is_not_carried_on(made, tmp_path):
    content = bytearray(made.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(8)
    made.write_bytes(content)
    with pytest.raises(colonnade.ChecksumError) as caught:
        colonnade.copy(made, tmp_path / "to.root")
    assert caught.value.uri == str(made)
    assert caught.value.field in ("x", "n")
    assert caught.value.cluster is not None
    with pytest.raises(colonnade.Error):
        colonnade.open(tmp_path / "to.root", "dir/Events")


def test_progress_is_told_and_may_stop(made, tmp_path):
    to = tmp_path / "copy.root"
    options = {"memory_budget": "64 KiB", "checkpoint_every": 1, "progress_every": 0}
    seen = []

    def stop(progress):
        seen.append(progress)
        return progress.entries < 20_000

    report = colonnade.copy(made, to, progress=stop, **options)
    assert report.interrupted
    assert 20_000 <= report.entries < 50_000
    assert [state.entries for state in seen] == sorted(state.entries for state in seen)
    assert all(state.total_entries == 50_000 and state.total_bytes > 100_000 for state in seen)
    assert colonnade.open(to).num_entries == report.entries
    again = colonnade.copy(made, to, resume=True, verify="values", **options)
    assert again.resumed_entries == report.entries
    assert again.verified
    assert values(to) == values(made)


def test_what_the_callback_raises_comes_out(made, tmp_path):
    def fail(progress):
        raise LookupError("stop here")

    with pytest.raises(LookupError, match="stop here"):
        colonnade.copy(made, tmp_path / "to.root", progress=fail)


def test_a_line_of_progress(made, tmp_path, capsys):
    colonnade.copy(made, tmp_path / "to.root", progress=True)
    assert "100.0 %" in capsys.readouterr().err


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_it_in_good_order(made, tmp_path):
    to = tmp_path / "copy.root"
    main = threading.main_thread().ident

    def interrupt(progress):
        if progress.entries > 10_000:
            signal.pthread_kill(main, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        colonnade.copy(
            made, to, progress=interrupt, progress_every=0, memory_budget="64 KiB", checkpoint_every=1
        )
    entries = colonnade.open(to).num_entries
    assert 0 < entries < 50_000
    report = colonnade.copy(made, to, resume=True)
    assert report.resumed_entries == entries
    assert values(to) == values(made)


@pytest.mark.parametrize("name", ["to.root", "store"])
@pytest.mark.parametrize("options", [{}, {"cluster_size": "10 KiB"}])
def test_what_was_to_be_replaced_still_is_after_an_interrupt(made, tmp_path, name, options):
    """Before its first checkpoint the old data set is there: going on was refused, although it may be replaced."""
    to = f"obj://{tmp_path / name}" if name == "store" else str(tmp_path / name)
    with colonnade.create(to, colonnade.datasets(made)[0], {"x": "int"}) as writer:
        writer.extend({"x": [1, 2, 3]})
    report = colonnade.copy(made, to, overwrite=True, progress=lambda _: False, progress_every=0, **options)
    assert report.interrupted
    assert colonnade.open(to).field_names == ["x"]
    with pytest.raises(colonnade.UsageError, match="does not hold the beginning of this copy"):
        colonnade.copy(made, to, resume=True, **options)
    report = colonnade.copy(made, to, overwrite=True, resume=True, **options)
    assert report.resumed_entries == 0
    assert values(to) == values(made)


@pytest.mark.parametrize("options", [{}, {"cluster_size": "10 KiB"}])
def test_what_differs_in_attributes_alone_is_replaced_as_a_whole(tmp_path, options):
    for name, path in (("made.root", "new"), ("to.root", "old")):
        with colonnade.create(tmp_path / name, "Events", {"x": "int"}) as writer:
            writer.extend({"x": [1, 2, 3]})
            writer.attributes("files").add({"path": path}, first=0, last=3)
    report = colonnade.copy(
        tmp_path / "made.root", tmp_path / "to.root", overwrite=True, resume=True, **options
    )
    assert (report.entries, report.resumed_entries) == (3, 0)
    with colonnade.open(tmp_path / "to.root") as data:
        assert data["x"].to_list() == [1, 2, 3]
        assert data.attributes["files"]["path"].to_list() == ["new"]


def test_projected_fields_may_be_all_that_comes_late(tmp_path):
    """A copy that was killed before its first cluster has the fields of the header alone."""
    schema = {"jets": [{"pt": "float"}]}
    made, to = tmp_path / "made.root", tmp_path / "to.root"
    with colonnade.create(made, "Events", schema) as writer:
        writer.add_projected("pt", "std::vector<float>", {"pt": "jets", "pt._0": "jets._0.pt"})
        writer.extend({"jets": [[{"pt": 1}], []]})
    colonnade.create(to, "Events", schema).close()
    assert colonnade.copy(made, to, resume=True).entries == 2
    assert colonnade.open(to)["pt"].to_list() == [[1], []]


def test_other_threads_run_meanwhile(made, tmp_path):
    """Copying releases the interpreter: the switch interval is too long for another thread to take it."""
    begins, goes_on = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: begins.wait() and goes_on.set())
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(600)
    try:
        begins.set()
        end = time.monotonic() + 60
        while not goes_on.is_set() and time.monotonic() < end:
            colonnade.copy(made, tmp_path / "to.root", overwrite=True, cluster_size="10 kB")
        assert goes_on.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_into_an_object_store_and_back(made, tmp_path):
    store = f"obj://{tmp_path / 'store'}"
    assert colonnade.copy(made, store, verify="values", splice_size="8 KiB").verified
    assert colonnade.copy((store, "dir/Events"), tmp_path / "back.root", verify=True).verified
    assert values(tmp_path / "back.root") == values(made)
    assert os.path.isdir(tmp_path / "store")
