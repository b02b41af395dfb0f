"""Snapshots that many processes write into an object store: no page is moved, and all is there or nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from clients import running
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame, _core, distributed
from colonnade.distributed import Partial, runs
from colonnade.distributed.engines import Processes
from colonnade.errors import NotFoundError, UsageError

ENTRIES = 3000


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """For all processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", "100")
        yield


@pytest.fixture(scope="module")
def processes(small_parts: None) -> Iterator[Any]:
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("shared") / "in.root"
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 6, ENTRIES)
    with colonnade.create(
        path,
        "Events",
        {"n": "std::int64_t", "v": "std::vector<float>", "s": "std::string"},
        cluster_size="4 KiB",
    ) as writer:
        for first in range(0, ENTRIES, 500):
            mine = lengths[first : first + 500]
            writer.extend(
                {
                    "n": np.arange(first, first + 500),
                    "v": ak.unflatten(rng.normal(size=int(mine.sum())).astype(np.float32), mine),
                    "s": ak.Array([f"entry {first + k}" for k in range(500)]),
                }
            )
    return str(path)


def rows(uri: str, name: str = "Events") -> list[Any]:
    """All values of a data set; of floats the bits."""
    with colonnade.open(uri, name) as data:
        arrays = data.arrays(library="ak")
    return [
        (each["n"], tuple(np.float32(x).tobytes() for x in each["v"]), each["s"]) for each in arrays.tolist()
    ]


def is_clean(uri: str) -> bool:
    """Whether `gc` finds nothing, at the latest when it has looked once for those who were killed."""
    colonnade.collect_garbage(uri)
    report = colonnade.collect_garbage(uri)
    return not (report.removed or report.released or report.kept or report.problems)


def objects(folder: Path) -> int:
    """Bytes in a store of this file system."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


# ---- What is written


@pytest.mark.parametrize("mapping", ["locality", "object_per_page"])
@pytest.mark.parametrize("seed", range(4))
def test_values_and_order_are_those_of_one_process(
    seed: int, mapping: Any, file: str, tmp_path: Path
) -> None:
    chosen = random.Random(seed)
    modulus = chosen.choice([1, 2, 7, ENTRIES + 1])
    kept = f"n % {modulus} == {modulus - 1}"
    uri = f"obj://{tmp_path}/store"
    options: dict[str, Any] = {
        "object_mapping": mapping,
        "splice_size": chosen.choice([0, "1 KiB", "1 MiB"]),
        "cluster_size": chosen.choice(["1 KiB", "1 MiB"]),
        "compression": chosen.choice(["none", "zstd:1"]),
        "checkpoint_every": chosen.choice([None, 1]),
    }
    here, there = str(tmp_path / "here.root"), chosen.randint(2, 40)
    DataFrame("Events", file, threads=1).filter(kept).snapshot(here, "Events", ["n", "v", "s"])
    spread = DataFrame("Events", file, executor=Shuffled(seed), npartitions=there)
    made = spread.filter(kept).snapshot(uri, "dir/Events", ["n", "v", "s"], **options)
    assert made.count().value == ENTRIES // modulus
    assert rows(uri, "dir/Events") == rows(here)
    assert _core.data_sets(uri) == ["dir/Events"]
    assert not colonnade.collect_garbage(uri).removed


def test_pages_are_written_once_and_stay(processes: Any, tmp_path: Path) -> None:
    source = str(tmp_path / "in.root")
    values = np.random.default_rng(1).integers(0, 1 << 62, 1_000_000)
    with colonnade.create(source, "Events", {"n": "std::int64_t"}) as writer:
        writer.extend({"n": values})
    df = DataFrame("Events", source, executor=processes, npartitions=6)

    def moved() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        counts = dict(line.split(": ") for line in lines)
        return int(counts["rchar"]) + int(counts["wchar"])

    before = moved()
    df.snapshot(f"obj://{tmp_path}/store", "Events", ["n"], compression="none")
    by_client = moved() - before
    assert objects(tmp_path / "store") < 8.1e6  # one copy is left
    assert by_client < 1e6, "the client moved pages"
    with colonnade.open(f"obj://{tmp_path}/store", "Events") as data:
        assert np.array_equal(data.arrays()["n"], values)


def test_stores_on_servers(s3_uri: Callable[[str], str], s3: Any, processes: Any, file: str) -> None:
    uri = s3_uri("snap")
    DataFrame("Events", file, executor=processes, npartitions=7).snapshot(uri, "Events", ["n", "v", "s"])
    assert rows(uri) == rows(file)
    assert is_clean(uri)
    DataFrame("Events", file, executor=processes).filter("n < 100").snapshot(uri, "Events", ["n", "v", "s"])
    assert rows(uri) == rows(file)[:100]
    assert is_clean(uri)


def test_a_store_of_ceph(ceph: Any, rados_uri: str, processes: Any, file: str) -> None:
    DataFrame("Events", file, executor=processes, npartitions=7).snapshot(
        rados_uri, "Events", ["n", "v", "s"]
    )
    assert rows(rados_uri) == rows(file)
    assert is_clean(rados_uri)


def test_what_was_there_is_replaced_at_the_end(processes: Any, file: str, tmp_path: Path) -> None:
    uri = f"obj://{tmp_path}/store"
    DataFrame("Events", file).snapshot(uri, "Events", ["n", "v", "s"])
    # It may be what the rows are read from.
    DataFrame("Events", uri, executor=processes).filter("n >= 1000").snapshot(uri, "Events", ["n", "v", "s"])
    assert rows(uri) == rows(file)[1000:]
    assert is_clean(uri)


def test_snapshots_and_other_results_of_one_run(processes: Any, file: str, tmp_path: Path) -> None:
    df = DataFrame("Events", file, executor=processes)
    total = df.sum("n")
    made = [
        df.filter(f"n % 2 == {k}").snapshot(f"obj://{tmp_path}/store", f"Half{k}", ["n"], lazy=True)
        for k in range(2)
    ]
    assert total.value == ENTRIES * (ENTRIES - 1) // 2
    assert [each.value.count().value for each in made] == [ENTRIES // 2, ENTRIES // 2]
    assert sorted(_core.data_sets(f"obj://{tmp_path}/store")) == ["Half0", "Half1"]


def test_plans_without_a_claim_copy_parts(file: str, tmp_path: Path) -> None:
    df = DataFrame("Events", file)
    made = df.snapshot(f"obj://{tmp_path}/store", "Events", ["n"], lazy=True)
    plan = df.freeze(made)
    partials = [distributed.run_task(plan.to_bytes(), task) for task in plan.tasks(4)]
    plan.finish(distributed.merge(plan, partials))
    assert made.value.count().value == ENTRIES
    assert _core.data_sets(f"obj://{tmp_path}/store") == ["Events"]


# ---- What goes wrong


class Repeating(Shuffled):
    """Each task is computed once or more, and one of its results is taken."""

    def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:  # type: ignore[override]
        known = {plan.fingerprint: plan.to_bytes() for plan in plans}
        while tasks:
            task = tasks.popleft()
            done = [distributed.run_task(known[task.plan], task) for _ in range(self._random.randint(1, 3))]
            yield self._random.choice(done)


def test_tasks_that_run_twice(file: str, tmp_path: Path) -> None:
    uri = f"obj://{tmp_path}/store"
    DataFrame("Events", file, executor=Repeating(3), npartitions=9).snapshot(uri, "Events", ["n", "v", "s"])
    used = objects(tmp_path / "store")
    assert rows(uri) == rows(file)
    DataFrame("Events", file, executor=Shuffled(3), npartitions=9).snapshot(
        f"obj://{tmp_path}/once", "Events", ["n", "v", "s"]
    )
    # The commit has removed what was not taken; records differ by some bytes.
    assert abs(used - objects(tmp_path / "once")) < 1000
    assert is_clean(uri)
    assert rows(uri) == rows(file)


def test_a_worker_that_is_killed_while_it_writes(processes: Any, file: str, tmp_path: Path) -> None:
    marker, uri = str(tmp_path / "killed"), f"obj://{tmp_path}/store"

    def die_once(n: Any) -> Any:
        if np.any(np.asarray(n) == 1450):  # in the middle of a task
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return n
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    df = DataFrame("Events", file, executor=processes, npartitions=3)
    df.define("m", die_once, ["n"], returns="std::int64_t").snapshot(
        uri, "Events", ["m", "v", "s"], cluster_size="1 KiB", page_size=256
    )
    assert os.path.exists(marker)
    with colonnade.open(uri, "Events") as data:
        assert data.arrays()["m"].tolist() == list(range(ENTRIES))
    assert is_clean(uri)


DRIVER = """
    import os, signal, sys
    from colonnade import DataFrame, distributed
    from colonnade.distributed import driver

    file, uri, when = sys.argv[1:]

    class Engine:
        slots = 4
        def run(self, plans, tasks, piecemeal):
            known = {plan.fingerprint: plan.to_bytes() for plan in plans}
            done = 0
            while tasks:
                task = tasks.popleft()
                yield distributed.run_task(known[task.plan], task)
                done += 1
                if str(done) == when:
                    os.kill(os.getpid(), signal.SIGKILL)

    if when == "commit":
        def before(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        driver.commit = before
    DataFrame("Events", file, executor=Engine(), npartitions=6).snapshot(uri, "Events", ["n", "v", "s"])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["1", "4", "commit", "end"])
def test_a_client_that_is_killed(when: str, file: str, tmp_path: Path) -> None:
    uri = f"obj://{tmp_path}/store"
    DataFrame("Events", file).filter("n < 10").snapshot(uri, "Events", ["n", "v", "s"])
    before = objects(tmp_path / "store")
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DRIVER), file, uri, when],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert rows(uri) == (rows(file) if when == "end" else rows(file)[:10])
    report = colonnade.collect_garbage(uri)
    assert bool(report.removed) == (when != "end")
    if when != "end":
        assert objects(tmp_path / "store") < before + 500
    assert is_clean(uri)
    DataFrame("Events", file, executor=Shuffled(1)).snapshot(uri, "Events", ["n", "v", "s"])
    assert rows(uri) == rows(file)


def test_parts_that_cannot_be_removed_are_a_warning(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[Path]:
        raise OSError(24, "Too many open files")

    out = tmp_path / "out.root"
    monkeypatch.setattr(runs, "_parts", fail)
    with pytest.warns(
        RuntimeWarning, match=r"out.root' remain beside it \(Too many open files\); `colonnade gc`"
    ):
        DataFrame("Events", file, executor=Shuffled(2)).snapshot(out, "Events", ["n", "v", "s"])
    monkeypatch.undo()
    assert rows(str(out)) == rows(file)
    colonnade.collect_garbage(out)
    assert [each.name for each in tmp_path.iterdir()] == ["out.root"]


def test_a_client_that_is_killed_at_any_time(file: str, tmp_path: Path) -> None:
    chosen = random.Random(11)
    script = """
        import sys
        from colonnade import DataFrame
        if __name__ == "__main__":
            file, uri = sys.argv[1:]
            df = DataFrame("Events", file, executor=2, npartitions=12)
            print("begin", flush=True)
            while True:
                df.snapshot(uri, "Events", ["n", "v", "s"])
                print("written", flush=True)
                df.filter("n < 10").snapshot(uri, "Events", ["n", "v", "s"])
    """
    path = tmp_path / "client.py"
    path.write_text(textwrap.dedent(script))
    uri = f"obj://{tmp_path}/store"
    expected = rows(file)
    states = set()
    for number in range(6):
        with running([sys.executable, str(path), file, uri]) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begin\n"
            if number % 2 == 1:
                assert process.stdout.readline() == "written\n"
            time.sleep(chosen.random())
            process.kill()
        try:
            found = rows(uri)
        except NotFoundError:
            found = []
        assert found in ([], expected, expected[:10])
        states.add(len(found))
        is_clean(uri)
        if found:
            assert rows(uri) == found
    assert states - {0}


def test_two_clients_do_not_write_one_data_set(file: str, tmp_path: Path) -> None:
    uri = f"obj://{tmp_path}/store"
    other = _core.open_shared_writer("Events", uri, colonnade.writing.options.write_options())
    df = DataFrame("Events", file, executor=Shuffled(1))
    with pytest.raises(UsageError, match="is being written by process"):
        df.snapshot(uri, "Events", ["n"])
    other.discard()
    df.snapshot(uri, "Events", ["n"])
    assert is_clean(uri)


def test_a_run_that_fails_leaves_what_was_there(processes: Any, file: str, tmp_path: Path) -> None:
    uri = f"obj://{tmp_path}/store"
    DataFrame("Events", file).filter("n < 10").snapshot(uri, "Events", ["n", "v", "s"])
    before = objects(tmp_path / "store")

    def fail(n: Any) -> Any:
        if np.any(np.asarray(n) == 2000):
            raise ValueError("no")
        return n

    df = DataFrame("Events", file, executor=processes, npartitions=6)
    with pytest.raises(ValueError, match="no"):
        df.define("m", fail, ["n"], returns="std::int64_t").snapshot(uri, "Events", ["m"])
    assert rows(uri) == rows(file)[:10]
    end = time.monotonic() + 60
    while not is_clean(uri):
        assert time.monotonic() < end, "what workers are at comes to no end"
        time.sleep(0.05)
    assert objects(tmp_path / "store") < before + 1000


def test_a_part_that_was_removed_is_an_error(file: str, tmp_path: Path) -> None:
    uri = f"obj://{tmp_path}/store"
    df = DataFrame("Events", file, executor=Losing(1))
    with pytest.raises(NotFoundError, match="part of the data set is missing"):
        df.snapshot(uri, "Events", ["n"])
    assert _core.data_sets(uri) == []
    assert is_clean(uri)


class Losing(Shuffled):
    """The name of a part is not that of what was written."""

    def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:  # type: ignore[override]
        for partial in super().run(plans, tasks, True):
            for pieces in partial.pieces.values():
                for k, piece in enumerate(pieces):
                    data = piece.data or b""
                    last = b"1" if data[-4:-3] != b"1" else b"2"
                    pieces[k] = distributed.Piece(piece.first, piece.last, data[:-4] + last + data[-3:])
            yield partial
