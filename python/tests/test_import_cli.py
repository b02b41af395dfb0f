"""`colonnade import` from the command line."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import uproot
from clients import running
from locations import FIXTURES

import colonnade
from colonnade import CopyProgress
from colonnade.cli.progress import TransferBar

TREE = FIXTURES / "trees" / "many_branches.root"


@pytest.fixture
def made(tmp_path):
    """An RNTuple of some clusters."""
    path = tmp_path / "made.root"
    with colonnade.create(path, "dir/Events", cluster_size=40_000, page_size=4096) as writer:
        for begin in range(0, 50_000, 5000):
            writer.extend({"x": np.arange(begin, begin + 5000) / 3, "n": np.arange(begin, begin + 5000)})
    return path


def values(place, name=None):
    return colonnade.open(place, name).arrays().to_list()


def test_an_rntuple_to_a_store_and_back(run, made, tmp_path):
    store = f"obj://{tmp_path}/store"
    status, out, _ = run("import", made, store, "--verify")
    assert status == 0
    assert "50000 entries in 'dir/Events'" in out
    assert "verified" in out
    back = tmp_path / "back.root"
    assert run("import", store, back, "--name", "dir/Events", "--destination-name", "Back")[0] == 0
    assert values(back) == values(made)
    assert colonnade.datasets(back) == ["Back"]


def test_other_shapes(run, made, tmp_path):
    to = tmp_path / "to.root"
    options = ["--compression", "lz4", "--page-size", "2 KiB", "--cluster-size", "1 MB", "--columns", "n"]
    status, out, _ = run("import", f"{made}:dir/Events", made, to, *options, "--verify=pages", "--json")
    report = json.loads(out)
    assert (status, report["mode"], report["verified"], report["entries"]) == (0, "decode", True, 100_000)
    assert colonnade.open(to).field_names == ["n"]


def test_a_second_name_is_not_part_of_the_file(run, made, tmp_path):
    to = tmp_path / "to.root"
    status, _, err = run("import", made, f"{to}:New", "--destination-name", "Other")
    assert (status, err) == (1, f"colonnade: the data set is named twice: 'New' and 'Other' [uri={to}]\n")
    assert not list(tmp_path.glob("to.root*"))


def test_wildcards(run, made, tmp_path):
    for name in ("1.root", "2.root"):
        shutil.copy(made, tmp_path / name)
    status, out, _ = run("import", f"{tmp_path}/?.root", tmp_path / "to.root", "--columns", "[n]*")
    assert status == 0
    assert "100000 entries in 'dir/Events'" in out
    assert colonnade.open(tmp_path / "to.root").field_names == ["n"]
    assert run("import", f"{tmp_path}/no*.root", tmp_path / "to.root")[0] == 1


def test_a_tree(run, tmp_path):
    to = f"obj://{tmp_path}/store"
    options = ["--verify", "--step-size", "5 kB", "--mapping", "object_per_page", "--splice-size", "0"]
    status, out, _ = run("import", TREE, to, *options)
    assert status == 0
    assert "40 entries in 'Events'" in out
    assert "verified" in out
    with uproot.open(TREE) as file:
        expected = file["Events"]["Hit_x"].array().to_list()
    assert colonnade.open(to, "Events")["Hit_x"].to_list() == expected
    status, out, _ = run(
        "import", TREE, tmp_path / "flat.root", "--no-grouping", "--no-aliases", "--json", "--tree", "Events"
    )
    assert status == 0
    assert json.loads(out)["projected"] == []


@pytest.fixture
def web(tmp_path):
    """A web server of the folder."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_rntuples_and_trees_of_a_web_server(run, made, tmp_path, web):
    shutil.copy(TREE, tmp_path / "tree.root")
    assert run("import", f"{web}/made.root", tmp_path / "a.root")[0] == 0
    assert values(tmp_path / "a.root") == values(made)
    status, out, _ = run("import", f"{web}/tree.root", tmp_path / "b.root", "--json")
    assert status == 0
    assert json.loads(out)["trees"]


def test_what_goes_wrong_is_told_in_one_line(run, made, tmp_path):
    to = tmp_path / "to.root"
    for arguments, problem in {
        (TREE, to, "--columns", "none"): "there is no branch 'none'",
        (TREE, to, "--tree", "None"): "there is no TTree 'None'",
        (made, to, "--tree", "Events"): "there is no TTree",
        (FIXTURES / "several_data_sets.root", to, "--name", "Nope"): 'there is no data set "Nope"',
        (FIXTURES / "README.md", to): "not a ROOT file",
        (f"obj://{tmp_path}/none", to): "there is no object store",
        (made, TREE, to): "some sources are TTrees, others are RNTuples",
        (tmp_path / "no.root", to): "No such file",
        (made, to, "--columns", "none"): "none",
        (TREE, to, "--threads", "1", "--checkpoint-every", "often"): "'often' is not a time",
        (made, to, "--no-aliases"): "--no-aliases is for TTrees",
        (made, to, "--step-size", "32 MB"): "--step-size is for TTrees",
        (tmp_path / "table.csv", to, "--threads", "2"): "--threads is for TTrees",
    }.items():
        status, out, err = run("import", *arguments)
        assert (status, out) == (1, "")
        assert problem in err
        assert err.count("\n") == 1
        assert not to.exists()
    assert run("import", TREE, to)[0] == 0
    status, _, err = run("import", TREE, to)
    assert status == 1
    assert "already exists" in err
    assert run("import", TREE, to, "--overwrite")[0] == 0
    assert run("import", TREE, "--verify")[0] == 2


PAUSING = """
import signal, sys, time
import colonnade.importing.trees as importing
from colonnade.cli import main
# Processes in the background of a shell are started with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
advance = importing._Import._advance
steps = 0
def pausing(self, *arguments, **named):
    global steps
    steps += 1
    if steps == 10:
        print("paused", flush=True)
        while True:
            time.sleep(0.01)
    return advance(self, *arguments, **named)
importing._Import._advance = pausing
main(["import", *sys.argv[1:]])
"""
IN_SMALL_STEPS = ["--step-size", "20 kB", "--cluster-size", "20 kB", "--checkpoint-every", "1"]


@pytest.fixture
def numbers(tmp_path):
    """A TTree of 40 small steps, and its values."""
    values = np.random.default_rng(1).integers(0, 2**31, size=200_000, dtype=np.int32)
    with uproot.recreate(tmp_path / "large.root", compression=None) as file:
        tree = file.mktree("Events", {"n": "int32"})
        for begin in range(0, 200_000, 10_000):
            tree.extend({"n": values[begin : begin + 10_000]})
    return tmp_path / "large.root", values


def test_ctrl_c_says_how_to_go_on(run, tmp_path, numbers):
    source, values = numbers
    to = tmp_path / "to.root"
    program = [sys.executable, "-c", PAUSING, str(source), str(to), *IN_SMALL_STEPS]
    with running(program, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "paused\n"
        os.kill(process.pid, signal.SIGINT)
        err = process.communicate()[1]
    assert process.returncode == 130
    assert "--resume continues after the last checkpoint" in err
    assert "Traceback" not in err
    there = colonnade.open(to).num_entries
    assert 0 < there <= 50_000
    status, out, _ = run("import", source, to, *IN_SMALL_STEPS, "--resume", "--verify")
    assert status == 0
    assert f"{there} entries were there already" in out
    assert np.array_equal(np.asarray(colonnade.open(to)["n"]), values)


@pytest.mark.parametrize("store", [False, True])
def test_a_killed_import_is_resumed(run, tmp_path, numbers, store):
    source, values = numbers
    to = f"obj://{tmp_path}/store" if store else tmp_path / "to.root"
    program = [sys.executable, "-c", PAUSING, str(source), str(to), *IN_SMALL_STEPS]
    with running(program) as process:
        assert process.stdout.readline() == "paused\n"
        process.kill()
    there = colonnade.open(to).num_entries
    assert 0 < there <= 50_000
    status, out, _ = run("import", source, to, *IN_SMALL_STEPS, "--resume", "--verify")
    assert status == 0
    assert f"{there} entries were there already" in out
    assert np.array_equal(np.asarray(colonnade.open(to)["n"]), values)


def test_what_the_bar_shows(monkeypatch):
    """Bytes tell how far a copy with large clusters is, entries how far a comparison of values is."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any file for a terminal
    bar = TransferBar("copying")

    def shown(**state):
        bar.copying(CopyProgress(**{"bytes_written": 0, "total_entries": 8, "total_bytes": 100} | state))
        task = bar._bar[0].tasks[0]
        return task.description, round(task.percentage), bool(task.fields["rate"])

    with bar:
        assert shown(entries=0, bytes_read=0, verifying=False) == ("copying", 0, False)
        assert shown(entries=0, bytes_read=50, verifying=False) == ("copying", 50, True)
        assert shown(entries=0, bytes_read=100, verifying=False) == ("copying", 99, True)
        assert shown(entries=8, bytes_read=100, verifying=False) == ("copying", 100, True)
        assert shown(entries=2, bytes_read=0, verifying=True) == ("verifying", 25, False)
        assert shown(entries=0, bytes_read=100, verifying=True) == ("verifying", 100, True)
        bar.reading(3, 4)
        assert bar._bar[0].tasks[0].percentage == 75
