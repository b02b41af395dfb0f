"""Clients that are killed with SIGKILL, and what is removed of them: cached columns, and parts of snapshots."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, _core, collect_garbage

CACHING = """
    import os, signal, sys
    from colonnade import DataFrame

    file, place, when = sys.argv[1:]
    if __name__ == "__main__":
        spread = {} if when == "alone" else {"executor": 2, "npartitions": 3}
        df = DataFrame("Events", file, **spread)
        if when == "before":
            from colonnade.frame.actions import Actions
            Actions.snapshot = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
        kept = df.define("y", "x * 2").cache(["y"], place)
        print(kept.sum("y").value, flush=True)
        if when == "waits":
            sys.stdin.read()
        os.kill(os.getpid(), signal.SIGKILL)
"""

WRITING = """
    import os, signal, sys
    from colonnade import DataFrame, distributed
    from colonnade.distributed import driver

    class Engine:
        slots = 2
        def run(self, plans, tasks, piecemeal):
            known = {plan.fingerprint: plan.to_bytes() for plan in plans}
            while tasks:
                task = tasks.popleft()
                yield distributed.run_task(known[task.plan], task)

    file, uri = sys.argv[1:]
    driver.commit = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
    DataFrame("Events", file, executor=Engine(), npartitions=3).snapshot(uri, "Events")
"""


EXPORTING = """
    import os, signal, sys
    import colonnade

    file, place = sys.argv[1:]
    kill = lambda done, total: os.kill(os.getpid(), signal.SIGKILL)
    colonnade.export(file, place, progress=kill)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("killed") / "f.root"
    with colonnade.create(
        path, "Events", compression="none", cluster_size="8 KiB", page_size="4 KiB"
    ) as writer:
        for first in range(0, 3000, 1000):
            writer.extend({"x": np.arange(first, first + 1000, dtype=np.float64)})
    return str(path)


def client(program, path, *arguments):
    script = path / "client.py"
    script.write_text(textwrap.dedent(program))
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLONNADE_TEST_PART_ENTRIES": "1000"},
    )


def killed(program, path, *arguments):
    with client(program, path, *arguments) as process:
        said, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    return said


def holds_nothing(place: str) -> bool:
    if _core.is_object_store(place):
        return _core.data_sets(place) == []
    return list(Path(place).iterdir()) == []


@pytest.fixture(params=["folder", "store", "s3"])
def place(request, tmp_path):
    if request.param == "s3":
        request.getfixturevalue("s3")
        return request.getfixturevalue("s3_uri")("scratch?store")
    (tmp_path / "scratch").mkdir()
    return f"obj://{tmp_path}/scratch" if request.param == "store" else str(tmp_path / "scratch")


def test_cached_columns_of_a_killed_client(place, file, tmp_path):
    check_cached_columns(place, "after", file, tmp_path)


@pytest.mark.parametrize("when", ["alone", "before"])
def test_cached_columns_in_a_folder(when, file, tmp_path):
    (tmp_path / "scratch").mkdir()
    check_cached_columns(str(tmp_path / "scratch"), when, file, tmp_path)


def check_cached_columns(place, when, file, tmp_path):
    said = killed(CACHING, tmp_path, file, place, when)
    assert said == ("" if when == "before" else f"{float(2999 * 3000)}\n")
    if when != "before":
        assert not holds_nothing(place)
        assert collect_garbage(place, dry_run=True).leftovers >= 1
        assert not holds_nothing(place)
    report = collect_garbage(place)
    assert report.leftovers == 1
    assert holds_nothing(place)
    report = collect_garbage(place)
    assert (report.leftovers, report.released, report.kept, report.problems) == (0, (), (), ())


def test_cached_columns_of_a_client_at_work(place, file, tmp_path):
    with client(CACHING, tmp_path, file, place, "waits") as process:
        assert process.stdout.readline() == f"{float(2999 * 3000)}\n"
        kept = DataFrame("Events", file).cache(["x"], place)  # and one of this process
        collect_garbage(place)
        assert kept.sum("x").value == 2999 * 1500
        assert not holds_nothing(place)
        process.stdin.close()
        process.wait()
    assert collect_garbage(place).leftovers == 1  # that of the other client
    assert kept.sum("x").value == 2999 * 1500
    del kept
    assert holds_nothing(place)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_unfinished_exports(ending, file, tmp_path):
    place = tmp_path / f"x.{ending}"
    words = [sys.executable, "-c", textwrap.dedent(EXPORTING), str(file), str(place)]
    for removal in (
        lambda: collect_garbage(place),
        lambda: colonnade.export(file, place),
    ):
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
        assert [each.suffix for each in tmp_path.iterdir()] == [".part"]
        removal()
        assert not list(tmp_path.glob("*.part"))
    assert [each.name for each in tmp_path.iterdir()] == [place.name]


def test_what_only_looks_like_cached_columns_stays(tmp_path):
    for name in ("cache-0123", "cache-0123456789abcdef0.root", "my-cache-0123456789abcdef.root"):
        (tmp_path / name).write_text("")
    old = tmp_path / "cache-0123456789abcdef.root"  # without a sign of its client
    old.write_text("")
    assert collect_garbage(tmp_path).leftovers == 0
    assert collect_garbage(tmp_path, older_than="1 h").leftovers == 0
    assert collect_garbage(tmp_path, older_than="3600").leftovers == 0
    os.utime(old, (1e9, 1e9))
    assert collect_garbage(tmp_path, older_than="1 h").leftovers == 1
    assert len(list(tmp_path.iterdir())) == 3


def test_files_on_web_servers_are_left_to_people():
    with pytest.raises(colonnade.UsageError, match=r"\.NAME\.<16 digits>\.part"):
        collect_garbage("https://host/f.root")


def test_parts_of_a_snapshot_into_a_file_of_s3(s3, s3_uri, file, tmp_path):
    uri = s3_uri("out.root")
    assert collect_garbage(uri).leftovers == 0  # there is nothing at all
    killed(WRITING, tmp_path, file, uri)
    with pytest.raises(colonnade.NotFoundError):
        colonnade.open(uri)
    parts = s3_uri("out-parts?store")
    assert len(_core.data_sets(parts)) == 3
    assert collect_garbage(uri, dry_run=True).leftovers == 3
    assert collect_garbage(uri).leftovers == 3
    assert _core.data_sets(parts) == []
    frame = DataFrame("Events", file, executor=2, npartitions=3)
    assert frame.snapshot(uri, "Events").sum("x").value == 2999 * 1500
    report = collect_garbage(uri)
    assert (report.leftovers, report.released, report.kept) == (0, (), ())


@pytest.mark.parametrize("token", ["", "?authz=a.b/c"])
def test_files_over_xrootd(token, xrootd, xrootd_uri, file, tmp_path):
    folder, uri = f"{xrootd_uri('')}{token}", f"{xrootd_uri('out.root')}{token}"
    killed(WRITING, tmp_path, file, uri)
    killed(CACHING, tmp_path, file, folder, "alone")
    parts = f"{xrootd_uri('out.part-*.root')}{token}"
    assert len(_core.expand_names([parts])) == 3
    for place, files in ((uri, 3), (folder.rstrip("/"), 1)):
        for careful in (None, "1 h"):
            report = collect_garbage(place, older_than=careful)
            assert (report.leftovers, len(report.kept)) == (0, 1)
        assert collect_garbage(place, older_than=0, dry_run=True).leftovers == files
        report = collect_garbage(place, **({"force": True} if files == 1 else {"older_than": 0}))
        assert (report.leftovers, report.kept) == (files, ())
        assert collect_garbage(place).kept == ()
    with pytest.raises(colonnade.NotFoundError):
        _core.expand_names([parts])
