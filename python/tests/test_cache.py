"""The cache from Python and the command line: the same values, and what it has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, cache
from colonnade.cli import main

NAMESPACE = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.root"
    with colonnade.create(path, "Events") as writer:
        for i in range(4):
            writer.extend({"x": np.arange(5000, dtype=np.int32) + i, "y": np.linspace(0, i, 5000)})
    return path


@pytest.fixture
def run(capsys):
    def invoke(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in arguments])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return invoke


def filled(events, home, columns=None):
    with colonnade.open(events, cache=home) as data:
        values = data.arrays(columns)
        metrics = data.metrics
    del data
    assert cache.flush()
    return values, metrics


def test_open_reads_through_a_cache(events, tmp_path):
    plain = colonnade.open(events).arrays(library="np")
    _, first = filled(events, tmp_path / "home")
    assert (first.cache, first.cache_pages, first.cache_added) == ("used", 0, first.pages)
    values, second = filled(events, tmp_path / "home")
    assert second.cache_pages == second.pages > 0
    assert np.array_equal(np.asarray(values["x"]), plain["x"])
    assert np.array_equal(np.asarray(values["y"]), plain["y"])
    assert colonnade.open(events).metrics.cache == ""


def test_a_data_frame_reads_through_a_cache(events, tmp_path):
    wanted = DataFrame("Events", events).sum("y").value
    for expected in (False, True):
        frame = DataFrame("Events", events, cache=tmp_path / "home")
        assert frame.sum("y").value == wanted
        assert (frame.metrics.cache_pages == frame.metrics.pages) == expected
        assert frame.metrics.cache == "used"
        del frame
        assert cache.flush()


def test_the_environment_and_the_configuration_are_for_data_elsewhere(events, tmp_path, monkeypatch):
    config = tmp_path / "config"
    config.write_text(f"# of mine\ncache = {tmp_path / 'home'}\n")
    monkeypatch.setenv("COLONNADE_CONFIG", str(config))
    assert colonnade.open(events).metrics.cache == ""
    filled(events, tmp_path / "home")
    assert [one.uri for one in cache.ls()] == [str(events)]
    monkeypatch.setenv("COLONNADE_CACHE", str(tmp_path / "other"))
    with pytest.raises(colonnade.Error):
        cache.ls()


def test_a_cache_that_is_something_else_is_no_empty_one(events, tmp_path, run, monkeypatch):
    monkeypatch.setenv("COLONNADE_CACHE", str(tmp_path / "later"))
    assert run("cache", "ls")[0] == 0  # it is made when it is first used
    (tmp_path / "later").mkdir()
    assert run("cache", "ls")[0] == 0
    for other in (events, tmp_path):
        monkeypatch.setenv("COLONNADE_CACHE", str(other))
        status, _, said = run("cache", "ls")
        assert status == 1
        assert "there is no object store" in said


def test_what_a_cache_has(events, tmp_path, run):
    home = tmp_path / "home"
    filled(events, home, ["x"])
    (found,) = cache.ls(home)
    assert (found.uri, found.name, [one.field for one in found.columns]) == (str(events), "Events", ["x"])
    assert found.bytes > 0
    assert found.last_use is not None
    assert len(found.users) == 1
    status, out, _ = run("cache", "ls", "--home", home)
    assert status == 0
    assert str(events) in out
    assert (
        json.loads(run("cache", "info", events, "--home", home, "--json")[1])[0]["columns"][0]["field"] == "x"
    )
    assert "x" in run("cache", "info", events, "--home", home)[1]


def test_warming(events, tmp_path, run):
    home = tmp_path / "home"
    status, out, error = run("cache", "warm", events, "--columns", "y", "--home", home)
    assert (status, error) == (0, "")
    assert out.startswith(f"{events}: ")
    assert out.endswith(" added\n")
    assert run("cache", "warm", events, "--columns", "none", "--home", home)[:2] == (1, "")  # no bar, either
    _, metrics = filled(events, home, ["y"])
    assert metrics.cache_pages == metrics.pages
    steps = []
    assert cache.warm(events, home=home, progress=steps.append) > 0
    assert steps[-1] == pytest.approx(1)
    assert cache.warm(events, home=home) == 0
    with colonnade.create(tmp_path / "empty.root", "Events", {"y": "double"}):
        pass
    for file in (events, tmp_path / "empty.root"):
        with pytest.raises(colonnade.NotFoundError, match="no field 'z'"):
            cache.warm(file, columns=["y", "z"], home=home)
    _, metrics = filled(events, home)
    assert metrics.cache_pages == metrics.pages


def test_verifying_pinning_and_removing(events, tmp_path, run):
    home = tmp_path / "home"
    filled(events, home)
    found = cache.verify(home)
    assert found.pages > 0
    assert found.damaged == found.unknown == 0
    values = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size > 10000]
    data = bytearray(values[0].read_bytes())
    data[100] ^= 1
    values[0].write_bytes(data)
    assert run("cache", "verify", "--home", home)[0] == 1
    assert cache.verify(home).damaged == 0

    assert run("cache", "pin", events, "--columns", "x", "--home", home)[0] == 0
    cache.gc(f"{home}?budget=1")
    (left,) = cache.ls(home)
    assert [one.field for one in left.columns] == ["x"]
    assert cache.unpin(events, home) == 1
    assert run("cache", "rm", events, "--home", home)[0] == 0
    assert cache.ls(home) == []
    assert run("cache", "rm", events, "--home", home)[0] == 1


def test_outdated_states_go_with_gc(events, tmp_path):
    home = tmp_path / "home"
    filled(events, home)
    with colonnade.create(events, "Events") as writer:
        writer.extend({"x": np.arange(7, dtype=np.int32)})
    time.sleep(0.01)
    values, metrics = filled(events, home)
    assert np.asarray(values["x"]).tolist() == list(range(7))
    assert metrics.cache_pages == 0
    assert len(cache.ls(home)) == 2
    cache.gc(home)
    assert len(cache.ls(home)) == 1


def test_a_full_disk_is_no_failure(events, tmp_path):
    """On a file system of 16 KiB, in a namespace of its own."""
    home = tmp_path / "small"
    home.mkdir()
    script = (
        "import colonnade, sys; from colonnade import cache\n"
        f"with colonnade.open({str(events)!r}, cache={str(home / 'home')!r}) as data:\n"
        "    values = data.arrays(library='np')\n"
        "cache.flush()\n"
        f"plain = colonnade.open({str(events)!r}).arrays(library='np')\n"
        "assert all((values[name] == plain[name]).all() for name in plain)\n"
    )
    mounted = subprocess.run(
        [
            *NAMESPACE,
            "sh",
            "-c",
            f'mount -t tmpfs -o size=16k none {home} && exec {sys.executable} -c "$0"',
            script,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert mounted.returncode == 0, mounted.stderr
    assert "nothing is added to the cache" in mounted.stderr


def test_a_home_that_cannot_be_written_is_read(events, tmp_path):
    """On a file system that is read-only, in a namespace of its own."""
    home = tmp_path / "home"
    filled(events, home, ["x"])
    script = (
        "import colonnade; from colonnade import cache\n"
        "for _ in range(2):\n"
        f"    with colonnade.open({str(events)!r}, cache={str(home)!r}) as data:\n"
        "        data.arrays()\n"
        "        assert data.metrics.cache_pages > 0\n"
        "    cache.flush()\n"
        f"cache.warm({str(events)!r}, home={str(home)!r})\n"
    )
    mounted = subprocess.run(
        [
            *NAMESPACE,
            "sh",
            "-c",
            f'mount --bind {home} {home} && mount -o remount,ro,bind {home} && exec {sys.executable} -c "$0"',
            script,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "nothing is added to the cache" in mounted.stderr
    assert f"StorageError: the cache {home} is only read: cannot write" in mounted.stderr, mounted.stderr


def test_a_process_that_is_killed_leaves_right_values(events, tmp_path):
    home = tmp_path / "home"
    plain = colonnade.open(events).arrays(library="np")
    script = f"import colonnade\nwhile True: colonnade.open({str(events)!r}, cache={str(home)!r}).arrays()"
    for delay in (0.0, 0.02, 0.05, 0.2):
        child = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
        while child.poll() is None and not home.exists():
            time.sleep(0.005)
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        values = colonnade.open(events, cache=home).arrays(library="np")
        assert all(np.array_equal(values[name], plain[name]) for name in plain)


@pytest.mark.parametrize("columns", [5, [], ["\ud800"], [None], b"x"])
def test_columns_that_are_none(events, tmp_path, columns):
    """A text was taken for the names of its letters, and an empty list for all columns."""
    for use in (cache.pin, cache.rm, cache.warm):
        with pytest.raises(colonnade.Error, match=r"name of a column|no columns are named"):
            use(events, columns=columns, home=tmp_path / "home")


def test_one_column(events, tmp_path):
    home = tmp_path / "home"
    assert cache.warm(events, columns="y", home=home) > 0
    assert cache.pin(events, "y", home) == 1
    assert cache.rm(events, "y", home) > 0
