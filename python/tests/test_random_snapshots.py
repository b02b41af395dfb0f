"""Snapshots whose client is killed at any moment: either nothing is visible or all of it, and `gc` removes the rest.

Sources are files, some with attribute sets that the snapshot takes over, with friends, joined, with variations, or
chains of TTrees; destinations are a file, a folder of files, object stores in a folder, in S3 and in Ceph, and files
in S3 and on XRootD, each empty or with something that is to be replaced or added to. A client that writes itself or
on two processes is killed at a random moment.

`make soak` tries other seeds.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import psutil
import pytest
import uproot
from clients import running

import colonnade
from colonnade import DataFrame, _core, distributed
from colonnade.distributed.engines import InThisProcess
from colonnade.distributed.plans import freeze
from colonnade.errors import FileMissingError, NotFoundError, StorageError

ENTRIES = 1500

CLIENT = """
    import json, sys, time
    from colonnade import DataFrame

    def frame(source, **more):
        df = DataFrame("Events", source["files"], friends=source.get("friends"), progress=False, **more)
        if "joined" in source:
            df = df.join("Side", source["joined"], on="n", how="inner", prefix="j_")
        for text in source["filters"]:
            df = df.filter(text)
        return df

    if __name__ == "__main__":
        source, target = json.loads(sys.argv[1]), sys.argv[2]
        df = frame(source, **({} if source["alone"] else {"executor": 2, "npartitions": source["tasks"]}))
        df.count().value
        print("begin", flush=True)
        df.snapshot(target, "Events", source["columns"], **source["options"])
        time.sleep(60)
"""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "50")


Rows = list[tuple[int, int, int]]
"""Of an attribute set: first entry, the entry after the last one, run."""


def write(path: Path, name: str, columns: dict[str, Any], runs: Rows | None = None) -> str:
    with colonnade.create(path, name, cluster_size="8 KiB") as writer:
        writer.extend(columns)
        for first, last, run in runs or []:
            writer.attributes("runs").add({"run": run}, first, last)
    return str(path)


def random_runs(chosen: random.Random, entries: int) -> Rows:
    ranges = [sorted(chosen.choices(range(entries + 1), k=2)) for _ in range(chosen.randint(1, 4))]
    return [(first, last, run) for run, (first, last) in enumerate(ranges)]


def random_source(chosen: random.Random, folder: Path) -> dict[str, Any]:
    """What a client's DataFrame is made of, and what it writes of it."""
    rng = np.random.default_rng(chosen.getrandbits(32))
    n, x = np.arange(ENTRIES), rng.normal(size=ENTRIES)
    v = ak.unflatten(rng.normal(size=3 * ENTRIES), np.full(ENTRIES, 3))
    edges = [0, *sorted(chosen.sample(range(1, ENTRIES), chosen.randint(0, 3))), ENTRIES]
    kind = chosen.choice(["files", "friends", "joined", "trees", "empty"])
    source: dict[str, Any] = {
        "kind": kind,
        "files": [],
        "columns": ["n", "x", "v"],
        "filters": [],
        "options": {},
        "alone": False,
    }
    has_runs = kind in ("files", "friends", "empty") and chosen.random() < 0.5
    for k, (first, last) in enumerate(itertools.pairwise(edges)):
        own = {"n": n[first:last], "x": x[first:last], "v": v[first:last]}
        path = folder / f"{k}.root"
        if kind == "trees":
            with uproot.recreate(path) as file:
                tree = file.mktree("Events", {"n": "int64", "x": "float64", "v": "3 * float64"})
                tree.extend({**own, "v": ak.to_numpy(own["v"])})
        else:
            kept = {name: own[name] for name in own if (kind, name) != ("friends", "x")}
            write(path, "Events", kept, random_runs(chosen, last - first) if has_runs else None)
        source["files"].append(str(path))
    if kind == "friends":
        source["friends"] = {"beside": [write(folder / "friend.root", "Events", {"x": x})]}
    if kind == "joined":
        order = rng.permutation(n)
        source["joined"] = [write(folder / "side.root", "Side", {"n": order, "y": x[order]})]
        source["columns"] = ["n", "v", "j_y"]
    if kind == "empty":
        source["filters"] = ["n < 0"]
    elif chosen.random() < 0.5:
        source["filters"] = [f"n % {chosen.randint(2, 5)} == 1"]
    if chosen.random() < 0.3:
        source["options"] = {"cluster_size": "2 KiB", "compression": "none"}
    if has_runs:
        source["options"]["attributes"] = True
    source["tasks"] = chosen.randint(1, 12)
    return source


def frame(source: dict[str, Any], **more: Any) -> Any:
    """As the client makes it."""
    df: Any = DataFrame("Events", source["files"], friends=source.get("friends"), progress=False, **more)
    if "joined" in source:
        df = df.join("Side", source["joined"], on="n", how="inner", prefix="j_")
    for text in source["filters"]:
        df = df.filter(text)
    return df


def rows_at(target: str) -> list[Any] | None:
    """What is visible of a snapshot."""
    try:
        files = f"{target}*.root" if target.endswith("/") else target
        if target.endswith("/") and not os.path.isdir(target):
            return None
        rows = list(DataFrame("Events", files, progress=False).to_awkward().tolist())
        if target.endswith("/"):
            return rows
        with colonnade.open(target, "Events") as data:
            return [*rows, *([list(data.attributes["runs"])] if "runs" in data.attributes else [])]
    except NotFoundError:
        return None


def others_at(target: str) -> list[int]:
    """What was there before a snapshot was added."""
    with colonnade.open(target, "Others") as data:
        return data.arrays(["n"], library="np")["n"].tolist()


def beside(target: str, folder: Path) -> list[str]:
    """Files and folders beside a local destination."""
    name = target.rstrip("/").rpartition("/")[2]
    return sorted(each.name for each in folder.iterdir() if each.name != name)


def end_of(client: subprocess.Popen[str]) -> None:
    """Kill a client, and wait until what it started has ended by itself."""
    below = psutil.Process(client.pid).children(recursive=True)
    client.kill()
    client.wait()
    _, alive = psutil.wait_procs(below, timeout=300)
    assert not alive, "workers outlive their client"


@pytest.fixture
def servers(
    s3: Any,
    s3_uri: Callable[[str], str],
    ceph: Any,
    rados_uri: str,
    xrootd_uri: Callable[[str], str],
) -> dict[str, Callable[[str], str]]:
    """What makes URIs of destinations on servers."""
    assert s3 is not None
    assert ceph is not None
    return {
        "s3": s3_uri,
        "s3 file": lambda name: s3_uri(f"{name}.root"),
        "rados": lambda name: f"{rados_uri}{name}",
        "xrootd": lambda name: xrootd_uri(f"{name}.root"),
    }


@pytest.mark.parametrize("seed", range(16))
def test_a_client_is_killed_at_any_moment(
    seed: int, tmp_path: Path, servers: dict[str, Callable[[str], str]]
) -> None:
    chosen, folder = random.Random(seed), tmp_path
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    source = random_source(chosen, folder / "in")
    kind = chosen.choice(["file", "folder", "obj", *servers])
    if kind == "folder":
        source["options"].pop("attributes", None)
    else:
        source["alone"] = chosen.random() < 0.3
    target = f"{folder}/out/snap.root"
    if kind == "folder":
        target = f"{folder}/out/snap/"
    elif kind == "obj":
        target = f"obj://{folder}/out/store"
    elif kind in servers:
        target = servers[kind](f"{seed}")
    frame(source).snapshot(folder / "expected.root", "Events", source["columns"], **source["options"])
    expected = rows_at(str(folder / "expected.root"))
    before = None
    is_added = kind not in ("folder", "s3 file") and chosen.random() < 0.4
    if is_added:
        with colonnade.create(target, "Others") as writer:
            writer.extend({"n": np.arange(3)})
        source["options"] |= {"mode": "update", "discard_unrepaired": True}
    elif kind != "folder" and chosen.random() < 0.5:
        write_old = {"n": np.arange(3), "x": np.ones(3), "v": ak.Array([[1.0, 2.0, 3.0]] * 3)}
        with colonnade.create(target, "Events") as writer:
            writer.extend(write_old)
        before = rows_at(target)
    script = folder / "client.py"
    script.write_text(textwrap.dedent(CLIENT))
    with running([sys.executable, str(script), json.dumps(source), target]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n", source
        time.sleep(chosen.random() * 0.25)
        end_of(process)
    found = rows_at(target)
    assert found in (before, expected), f"{kind} of {source['kind']}"
    assert not is_added or others_at(target) == [0, 1, 2]
    if kind in ("file", "folder"):
        colonnade.collect_garbage(target)
    if kind in ("obj", "s3", "rados"):
        try:
            colonnade.collect_garbage(target)
            report = colonnade.collect_garbage(target)
            assert report == type(report)((), (), (), 0, ())
        except FileMissingError:
            assert found is None  # killed before it made the store
    if kind in ("file", "folder"):
        assert not colonnade.collect_garbage(target).leftovers
        assert beside(target, folder / "out") == []
    assert rows_at(target) == found
    # Whatever the client left, the next one gets through.
    if not ((kind == "folder" or is_added) and found is not None):
        frame(source, executor=2).snapshot(target, "Events", source["columns"], **source["options"])
    assert rows_at(target) == expected
    assert not is_added or others_at(target) == [0, 1, 2]
    if kind in ("file", "folder"):
        assert beside(target, folder / "out") == []


INTERRUPTED = """
    import signal, sys
    from colonnade import DataFrame

    if __name__ == "__main__":
        # Processes in the background of a shell are started with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        file, target = sys.argv[1:]
        df = DataFrame("Events", file, executor=2, npartitions=12, progress=False)
        df.count().value
        times, told, done = 0, 0, False
        while not done:
            try:
                while not done:  # here, too, what comes while a snapshot's objects are dropped is raised
                    if told == times:  # the next one comes when this has been read, maybe at once
                        told += 1
                        print("interrupted" if times else "begin", flush=True)
                    df.snapshot(target, "Events", ["n"])
                    done = times == 2
            except KeyboardInterrupt:
                times += 1
        print(df.sum("n").value, flush=True)
"""


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("place", ["file", "store"])
def test_a_client_is_interrupted_at_any_moment(place: str, seed: int, tmp_path: Path) -> None:
    """Ctrl-C in the middle of runs: the next one gets through, and nothing is left beside what was written."""
    chosen = random.Random(seed)
    values = np.arange(4000)
    source = write(tmp_path / "in.root", "Events", {"n": values})
    (tmp_path / "out").mkdir()
    target = f"{tmp_path}/out/snap.root" if place == "file" else f"obj://{tmp_path}/out/store"
    script = tmp_path / "client.py"
    script.write_text(textwrap.dedent(INTERRUPTED))
    command = [sys.executable, str(script), source, target]
    with running(command, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begin\n", process.stderr.read()
        for _ in range(2):
            time.sleep(0.05 + chosen.random() * 0.4)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n", process.stderr.read()
        assert process.stdout.readline() == f"{values.sum()}\n", process.stderr.read()
    assert process.returncode == 0
    assert np.array_equal(DataFrame("Events", target).to_numpy()["n"], values)
    if place == "file":
        assert beside(target, tmp_path / "out") == []
    else:
        report = colonnade.collect_garbage(target)
        assert not report.kept
        assert not report.problems


# ---- Claims on files


def run_command(*arguments: str) -> str:
    command = [sys.executable, "-m", "colonnade", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def claimed(tmp_path: Path) -> Any:
    """A plan whose snapshot has a claim, after one of its tasks is done."""
    source = write(tmp_path / "in.root", "Events", {"n": np.arange(500)})
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "snap.root"
    df = DataFrame("Events", source, progress=False)
    made = df.snapshot(target, "Events", ["n"], lazy=True)
    plan = freeze(df._session, df._session.wanted(), claims=True)
    tasks = plan.tasks(5)
    assert not distributed.run_task(plan.to_bytes(), tasks[0]).failures
    yield plan, tasks, target, made
    for claim in plan.claims.values():
        claim.end()


def test_runs_that_are_alive_are_left_alone(claimed: Any) -> None:
    _, _, target, _ = claimed
    before = beside(str(target), target.parent)
    assert len(before) == 2
    for more in ({}, {"dry_run": True}, {"older_than": 0}):
        report = colonnade.collect_garbage(target, **more)
        assert [claim.data_set for claim in report.kept] == ["snap.root"]
        assert not report.released
        assert not report.leftovers
    assert colonnade.collect_garbage(target.with_name("other.root")) == type(report)((), (), (), 0, ())
    assert beside(str(target), target.parent) == before
    report = colonnade.collect_garbage(target, force=True, dry_run=True)
    assert (len(report.released), report.leftovers) == (1, 1)
    assert beside(str(target), target.parent) == before
    printed = run_command("gc", str(target), "--force")
    assert printed.splitlines()[-1] == "1 leftover removed"
    assert beside(str(target), target.parent) == []
    with pytest.raises(FileMissingError):
        colonnade.collect_garbage(target / "nowhere" / "f.root")


def test_parts_that_come_late_are_removed_by_their_worker(claimed: Any) -> None:
    plan, tasks, target, _ = claimed
    (claim,) = plan.claims.values()
    claim.end()
    assert beside(str(target), target.parent) == []
    (failure,) = distributed.run_task(plan.to_bytes(), tasks[1]).failures
    assert isinstance(failure.error, StorageError)
    assert "has ended" in str(failure.error)
    assert beside(str(target), target.parent) == []


def test_late_tasks_that_fail_leave_no_folder(tmp_path: Path) -> None:
    def fail(n: Any) -> Any:
        raise ValueError("no")

    source = write(tmp_path / "in.root", "Events", {"n": np.arange(500)})
    (tmp_path / "out").mkdir()
    df = DataFrame("Events", source, executor=InThisProcess(), progress=False)
    node = df.define("m", fail, ["n"], returns="std::int64_t")
    made = node.snapshot(f"{tmp_path}/out/snap/", "Events", ["m"], lazy=True)
    plan = freeze(df._session, df._session.wanted(), claims=True)
    for claim in plan.claims.values():
        claim.end()
    (failure,) = distributed.run_task(plan.to_bytes(), plan.tasks(5)[1]).failures
    assert isinstance(failure.error, ValueError)
    assert beside("other", tmp_path / "out") == []
    del made


def test_parts_of_a_file_in_s3_that_come_late(s3: Any, s3_uri: Callable[[str], str], tmp_path: Path) -> None:
    source = write(tmp_path / "in.root", "Events", {"n": np.arange(500)})
    df = DataFrame("Events", source, executor=InThisProcess(), progress=False)
    made = df.snapshot(s3_uri("snap.root"), "Events", ["n"], lazy=True)
    plan = freeze(df._session, df._session.wanted(), claims=True)
    tasks = plan.tasks(5)
    assert not distributed.run_task(plan.to_bytes(), tasks[0]).failures
    parts = s3_uri("snap-parts?store")
    assert len(_core.data_sets(parts)) == 1
    for claim in plan.claims.values():
        claim.end()
    assert _core.data_sets(parts) == []
    (failure,) = distributed.run_task(plan.to_bytes(), tasks[1]).failures
    assert isinstance(failure.error, StorageError)
    assert "has ended" in str(failure.error)
    assert _core.data_sets(parts) == []
    del made


@pytest.mark.parametrize("place", ["file", "folder"])
def test_parts_of_workers_that_were_killed_late(place: str, tmp_path: Path) -> None:
    """A part that comes when its run has ended, of a worker that is killed before it looks whether it has."""
    source = write(tmp_path / "in.root", "Events", {"n": np.arange(500)})
    out = tmp_path / "out"
    out.mkdir()

    def begun(name: str) -> Any:
        df = DataFrame("Events", source, executor=InThisProcess(), progress=False)
        made = df.snapshot(f"{out}/{name}", "Events", ["n"], lazy=True)
        plan = freeze(df._session, df._session.wanted(), claims=True)
        assert not distributed.run_task(plan.to_bytes(), plan.tasks(5)[0]).failures
        (claim,) = plan.claims.values()
        return claim, made

    ended, first = begun("snap.root" if place == "file" else "snap/")
    (late,) = (each for each in out.iterdir() if ".part" in each.name)
    aside = late.rename(tmp_path / late.name)
    ended.end()
    alive, second = begun("snap.rntuple")  # whose parts begin with the same name
    unclaimed = out / "snap.part-0123456789abcdef-0-50-0-89abcdef.root"  # of a plan that the client keeps
    unclaimed.write_bytes(b"")
    before = sorted(out.iterdir())
    aside.rename(late)
    target = out / ("snap.root" if place == "file" else "snap")
    assert colonnade.collect_garbage(target, dry_run=True).leftovers == 1
    assert late.exists()
    assert colonnade.collect_garbage(target).leftovers == 1
    assert colonnade.collect_garbage(target).leftovers == 0
    assert sorted(out.iterdir()) == before
    alive.end()
    assert list(out.iterdir()) == [unclaimed]
    del first, second


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    source = write(tmp_path / "in.root", "Events", {"n": np.arange(500)})
    df = DataFrame("Events", source, executor=2, progress=False)
    with pytest.raises(StorageError, match=r"folder of the snapshot.*No such file"):
        df.snapshot(tmp_path / "nowhere" / "out.root", "Events", ["n"])
