"""Engines as they are really run: ways to start processes, clusters that grow and shrink, two executors, late tasks.

And what is said when something is wrong with a worker: the version, a package, the memory, the code that it was given.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import importlib
import itertools
import json
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame, _core, distributed
from colonnade.distributed import Failure, Partial, Task, dask, spark
from colonnade.distributed.engines import (
    Futures,
    InThisProcess,
    Processes,
    WorkerLostError,
    _Pool,
    _Process,
    _Sent,
    engine_of,
)
from colonnade.distributed.partials import Counters
from colonnade.distributed.spark import _error
from colonnade.distributed.tail import Tail
from colonnade.distributed.tasks import cut
from colonnade.distributed.worker import PlanMissingError, attempt
from colonnade.errors import FormatError, ResourceError, StorageError, UnsupportedError, UsageError
from colonnade.frame.user_modules import sources_in

ENTRIES = 2000


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """For all processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", "50")
        yield


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("engines") / "f.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend({"x": np.random.default_rng(1).normal(size=ENTRIES)})
    return str(path)


def slow_pid(x: Any) -> Any:
    time.sleep(0.02)
    return np.full(len(x), os.getpid())


def analysis(df: Any) -> tuple[Any, set[int]]:
    """The bits of some results, and the processes that computed them."""
    node = df.define("pid", slow_pid, ["x"], returns="std::int64_t")
    booked = node.sum("x"), node.histo1d(("h", "", 9, -3, 3), "x", "x"), node.take("x"), node.unique("pid")
    values = [each.value for each in booked]
    found = values[0].hex(), values[1].view(flow=True).tobytes(), values[2].tobytes()
    return found, set(values[3])


# ---- Ways to start workers


@contextmanager
def started(how: str) -> Iterator[Executor]:
    with ExitStack() as stack:
        if how == "threads":
            yield stack.enter_context(ThreadPoolExecutor(3))
        elif how == "loky":
            import loky

            yield stack.enter_context(loky.ProcessPoolExecutor(2))
        else:
            context = multiprocessing.get_context(how)
            yield stack.enter_context(ProcessPoolExecutor(2, mp_context=context))


def test_other_interpreters_are_no_workers(file: str) -> None:
    """Python has them from 3.14 on; NumPy cannot be imported there."""
    of_python = getattr(concurrent.futures, "InterpreterPoolExecutor", None)
    kind = of_python or type(
        "Executor", (ThreadPoolExecutor,), {"__module__": "concurrent.futures.interpreter"}
    )
    with (
        kind(1) as executor,
        pytest.raises(UsageError, match="the main interpreter alone; try: a number of"),
    ):
        DataFrame("Events", file, executor=executor)


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver", "loky", "threads"])
def test_ways_to_start_workers(how: str, file: str) -> None:
    expected, _ = analysis(DataFrame("Events", file, threads=1))
    with started(how) as executor:
        for _ in range(2):
            found, pids = analysis(DataFrame("Events", file, executor=executor))
            assert found == expected
            assert (os.getpid() in pids) == (how == "threads")


def is_alive(pid: int) -> bool:
    """Whether a process still runs. One that has ended stays as a zombie if no parent collects it, as in containers."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_processes_end_with_their_client(file: str, tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        "import os, signal\n"
        "from colonnade import DataFrame\n"
        "if __name__ == '__main__':\n"
        f"    df = DataFrame('Events', {file!r}, executor=2)\n"
        "    pid = df.define('p', lambda x: 0 * x + os.getpid(), ['x'], returns='double').take('p').value\n"
        "    print(*map(int, set(pid)), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    pids = [int(each) for each in ran.stdout.split()]
    assert pids, ran.stderr
    end = time.monotonic() + 60
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < end, "workers outlive their client"
        time.sleep(0.05)


# ---- Dask


@pytest.fixture
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    options: dict[str, Any] = {"dashboard_address": ":0", "host": "127.0.0.1"}
    with LocalCluster(n_workers=0, threads_per_worker=1, processes=True, **options) as made:
        yield made


def test_a_script_that_its_processes_run_again(file: str, tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        f"from colonnade import DataFrame\nDataFrame('Events', {file!r}, executor=1).count().value\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert "\ncolonnade.errors.UsageError: a new process ended with exit code 1" in ran.stderr
    assert 'try: if __name__ == "__main__":' in ran.stderr


def test_a_script_from_the_standard_input(file: str) -> None:
    script = (
        "from colonnade import DataFrame\n"
        f"print(DataFrame('Events', {file!r}, executor=1).define('y', lambda x: 0 * x + 1, ['x']).sum('y').value)\n"
    )
    ran = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=False)
    assert ran.stdout == f"{float(ENTRIES)}\n", ran.stderr


def test_processes_within_processes(file: str, tmp_path: Path) -> None:
    """One of multiprocessing waits at its end for those that it has started; a daemon may start none."""
    script = tmp_path / "client.py"
    script.write_text(
        "import multiprocessing\n"
        "from colonnade import DataFrame\n"
        "def work():\n"
        "    try:\n"
        f"        print(DataFrame('Events', {file!r}, executor=1).count().value, flush=True)\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, error, flush=True)\n"
        "if __name__ == '__main__':\n"
        "    for daemon in (False, True):\n"
        "        process = multiprocessing.get_context('fork').Process(target=work, daemon=daemon)\n"
        "        process.start()\n"
        "        process.join()\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    lines = ran.stdout.splitlines()
    assert len(lines) == 2, ran.stderr
    assert lines[0] == str(ENTRIES)
    assert lines[1].startswith("UsageError this process may not start others, because it is a daemon")


def test_workers_that_come_when_there_is_work(cluster: Any, file: str) -> None:
    from distributed import Client

    cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=2)
    with Client(cluster) as client:
        expected, _ = analysis(DataFrame("Events", file, threads=1))
        for _ in range(2):
            found, pids = analysis(DataFrame("Events", file, executor=client, npartitions=30))
            assert found == expected
            assert pids


def test_workers_that_join_and_leave_meanwhile(cluster: Any, file: str) -> None:
    from distributed import Client

    cluster.scale(1)
    with Client(cluster) as client:
        client.wait_for_workers(1)
        expected, _ = analysis(DataFrame("Events", file, threads=1))
        sizes = [2, 1, 3, 0, 2]
        ended = threading.Event()

        def change() -> None:
            for size in sizes:
                if ended.wait(0.4):
                    return
                cluster.scale(size)

        changing = threading.Thread(target=change)
        changing.start()
        try:
            for _ in range(3):
                assert analysis(DataFrame("Events", file, executor=client, npartitions=40))[0] == expected
        finally:
            ended.set()
            changing.join()


def test_a_cluster_without_workers_is_told(cluster: Any, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client

    monkeypatch.setattr("colonnade.distributed.dask._LOOK_EVERY", 0.05)
    monkeypatch.setattr("colonnade.distributed.dask._ALONE", 0.2)
    told = []

    def start_one(message: Any, *_: Any, **__: Any) -> None:
        told.append(str(message))
        cluster.scale(1)

    with Client(cluster) as client, warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", start_one)
        assert DataFrame("Events", file, executor=client).count().value == ENTRIES
    assert [each for each in told if "has no workers" in each]


@pytest.mark.parametrize("processes", [True, False])
def test_workers_with_several_threads(processes: bool, file: str) -> None:
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"dashboard_address": ":0"} | ({"host": "127.0.0.1"} if processes else {})
    with (
        LocalCluster(n_workers=1, threads_per_worker=3, processes=processes, **options) as cluster,
        Client(cluster) as client,
    ):
        expected, _ = analysis(DataFrame("Events", file, threads=1))
        found, pids = analysis(DataFrame("Events", file, executor=client))
        assert found == expected
        assert (os.getpid() in pids) == (not processes)


@pytest.mark.parametrize("npartitions", [3, 12])
def test_tasks_that_fail_when_dask_repeats_them(
    npartitions: int, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    def fail(plans: Any, *partials: Any) -> None:
        task = Task("", 0, 1, (0,))
        raise dask._TaskFailedError([Failure(task, StorageError("gone"))], Counters())

    monkeypatch.setattr(dask, "_merge", fail)
    with (
        Client(processes=False, n_workers=1, dashboard_address=":0") as client,
        pytest.raises(StorageError, match="gone"),
    ):
        DataFrame("Events", file, executor=client, npartitions=npartitions).sum("x").value  # noqa: B018


def test_what_stands_for_a_cluster_of_dask(file: str) -> None:
    from distributed import Client

    class Mine(Client):  # type: ignore[misc]
        pass

    async def run_asynchronously(address: str) -> None:
        async with Client(address, asynchronous=True) as client:
            with pytest.raises(UsageError, match="client of Dask is asynchronous"):
                DataFrame("Events", file, executor=client)

    with Mine(processes=False, n_workers=1, dashboard_address=":0") as client:
        for executor, engine in ((client, dask.Dask), (client.get_executor(), Futures)):
            assert type(engine_of(executor)) is engine
            assert DataFrame("Events", file, executor=executor).count().value == ENTRIES
        with pytest.raises(UsageError, match="LocalCluster cannot run tasks"):
            DataFrame("Events", file, executor=client.cluster)
        asyncio.run(run_asynchronously(client.scheduler.address))


@pytest.mark.parametrize("how", ["closed", "cancelled"])
def test_a_client_of_dask_that_gives_up_tasks(how: str, file: str, tmp_path: Path) -> None:
    from distributed import Client, Future

    with (
        Client(processes=False, n_workers=1, dashboard_address=":0") as other,
        Client(other.cluster) as client,
    ):
        begun = tmp_path / "begun"

        def tell(x: Any) -> Any:
            begun.touch()
            return slow_pid(x)

        def give_up() -> None:
            while not begun.exists():
                time.sleep(0.01)
            if how == "closed":
                client.close()
            else:
                client.cancel([Future(key, client) for key in client.futures])

        thread = threading.Thread(target=give_up)
        thread.start()
        df = DataFrame("Events", file, executor=client, npartitions=40)
        with pytest.raises(WorkerLostError, match=r"Dask .* closed"):
            df.define("y", tell, ["x"], returns="double").sum("y").value  # noqa: B018
        thread.join()
        if how == "closed":
            with pytest.raises(WorkerLostError, match="client of Dask is closed"):
                df.sum("x").value  # noqa: B018
        else:
            assert df.count().value == ENTRIES


def test_results_that_dask_loses_when_they_are_there(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    expected = DataFrame("Events", file, threads=1).sum("x").value
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        take = dask._Futures.take

        def lose_merged(run: Any, future: Any, piecemeal: bool) -> Any:
            if run.running[future][0] is None:
                future._state.lose()  # and Dask computes it again
            return take(run, future, piecemeal)

        with monkeypatch.context() as patch:
            patch.setattr(dask._Futures, "take", lose_merged)
            df = DataFrame("Events", file, executor=client, npartitions=12)
            assert df.sum("x").value == expected
        gather, failures = client.gather, [OSError("gone")]

        def gather_later(future: Any) -> Any:
            if failures:
                raise failures.pop()
            return gather(future)

        monkeypatch.setattr(client, "gather", gather_later)
        df = DataFrame("Events", file, executor=client, npartitions=12, checkpoint=tmp_path / "kept")
        assert df.sum("x").value == expected
        failures = [dask._TaskFailedError([Failure(Task("", 0, 1, (0,)), StorageError("gone"))], Counters())]
        with pytest.raises(StorageError, match="gone"):
            DataFrame("Events", file, executor=client).sum("x").value  # noqa: B018


@pytest.mark.parametrize("slice_bytes", [1 << 28, 100])
def test_an_interrupted_run_leaves_nothing_on_dask(
    slice_bytes: int, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traceback, which notebooks keep, holds the run; its results would stay with the workers."""
    from distributed import Client

    monkeypatch.setattr(distributed.plans, "_SLICE_BYTES", slice_bytes)
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        taken: list[Any] = []
        take = dask._Futures.take

        def interrupted(self: Any, future: Any, piecemeal: bool) -> Any:
            taken.append(future)
            if len(taken) == 12:
                raise KeyboardInterrupt
            return take(self, future, piecemeal)

        with monkeypatch.context() as patch:
            patch.setattr(dask._Futures, "take", interrupted)
            df = DataFrame("Events", file, executor=client, npartitions=40)
            with pytest.raises(KeyboardInterrupt) as kept:
                df.histo1d(("h", "", 50, -3, 3), "x", "x").value  # noqa: B018
        assert kept.tb
        tasks = client.cluster.scheduler.tasks
        end = time.monotonic() + 60
        while tasks and time.monotonic() < end:
            time.sleep(0.01)
        assert not tasks
        assert df.count().value == ENTRIES


def test_passwords_are_in_no_log(file: str) -> None:
    """Dask logs tasks that fail, with their errors and arguments."""
    uri = "https://me:hidden@host/f.root?token=hidden"
    task = Task("plan", 0, 1, (0,), uris=(uri,))
    assert "hidden" not in repr(dask._TaskFailedError([Failure(task, StorageError("gone"))], Counters()))
    assert "hidden" not in repr(dask._Plans(plan=uri.encode()))


# ---- Spark


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ModuleNotFoundError: No module named 'numpy'", UnsupportedError),
        (
            "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
            UnsupportedError,
        ),
        (
            "AttributeError: Can't get attribute 'f' on <module 'colonnade.distributed.spark' from '/lib'>",
            UnsupportedError,
        ),
        (
            ": org.apache.spark.SparkException: Job aborted: 3 MiB is bigger than spark.driver.maxResultSize (1 MiB)",
            ResourceError,
        ),
        ("MemoryError: no room", WorkerLostError),
        ("ExecutorLostFailure (executor 1 exited)", WorkerLostError),
    ],
)
def test_what_spark_says(line: str, kind: type[Exception]) -> None:
    error = _error(
        f"py4j.Py4JError: Job aborted\nTraceback (most recent call last):\n  {line}\n\tat org.apache\n\t... 2 more"
    )
    assert type(error) is kind
    assert "\n" not in str(error)
    assert "at org.apache" not in str(error)
    assert not str(error).startswith(":")


def test_a_task_that_spark_has_tried_often_is_not_tried_again(file: str) -> None:
    """Spark gives up a job when a task has failed four times, or once on `local[2]`; all its results are lost."""
    tasks = [Task("plan", first, first + 1, (0,), attempt=1) for first in range(3)]
    error = WorkerLostError("gone")

    def attempts(failed: spark._Failed) -> list[tuple[int, int]]:
        return [(each.task.first, each.task.attempt) for each in failed.failures(tasks)]

    assert attempts(spark._Failed(error)) == [(0, 1), (1, 1), (2, 1)]
    assert attempts(spark._Failed(error, 4, 2)) == [(2, 4), (0, 1), (1, 1)]
    assert attempts(spark._Failed(error, 4)) == [(0, 4), (1, 4), (2, 4)]  # the merging failed

    class Giving(InThisProcess):
        runs = 0

        def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:  # type: ignore[override]
            self.runs += 1
            taken = [tasks.popleft() for _ in range(len(tasks))]
            yield Partial(failures=spark._Failed(error, self.attempts, 1).failures(taken))

        attempts = 4

    for attempts_of_spark, runs in ((4, 1), (1, 4)):
        engine = Giving()
        engine.attempts = attempts_of_spark
        with pytest.raises(WorkerLostError, match=r"each time .*\(4 times\).*gone"):
            DataFrame("Events", file, executor=engine, npartitions=3).sum("x").value  # noqa: B018
        assert engine.runs == runs


@pytest.mark.parametrize(("dask_repeats", "runs"), [(3, 1), (1, 2), (0, 4)])
def test_a_task_that_dask_has_tried_often_is_not_tried_again(dask_repeats: int, runs: int, file: str) -> None:
    """Dask gives up a task when so many workers were lost with it, as happens to those that take too much memory."""
    from distributed.scheduler import KilledWorker

    worker = SimpleNamespace(address="tcp://127.0.0.1:1", memory_limit=500 << 20)
    taken: list[Task] = []

    class Killing(InThisProcess):
        def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:  # type: ignore[override]
            taken.append(tasks.popleft())
            yield dask._failed(taken[-1], KilledWorker("_run-1", worker, dask_repeats))

    with pytest.raises(
        WorkerLostError, match=r"\(4 times\).* at tcp://127.0.0.1:1, which may use 500 MiB of mem"
    ):
        DataFrame("Events", file, executor=Killing(), npartitions=1).sum("x").value  # noqa: B018
    assert len(taken) == runs


@pytest.mark.parametrize("error", [StorageError("away"), FormatError("damaged")])
def test_failures_that_are_told_early_come_again(error: Exception, file: str) -> None:
    """Spark may repeat a task of which a failure was told: a result counts, and nothing is computed twice."""

    class Telling(InThisProcess):
        def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:  # type: ignore[override]
            yield Partial(early=[Failure(tasks[0], error)])
            yield from super().run(plans, tasks, piecemeal)

    result = DataFrame("Events", file, executor=Telling(), npartitions=3).sum("x")
    if isinstance(error, FormatError):
        with pytest.raises(FormatError, match="damaged"):
            result.value  # noqa: B018
    else:
        assert result.value == DataFrame("Events", file).sum("x").value


class Stopped:
    """A context that was stopped."""

    __module__ = "pyspark.core.context"

    @property
    def defaultParallelism(self) -> int:  # noqa: N802
        raise AttributeError("'NoneType' object has no attribute 'sc'")


def test_sessions_of_spark_without_a_context(file: str) -> None:
    of_connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(UnsupportedError, match=r"Spark Connect .* no RDDs"):
        DataFrame("Events", file, executor=of_connect)
    with pytest.raises(UsageError, match="RDD cannot run tasks"):
        DataFrame("Events", file, executor=type("RDD", (), {"__module__": "pyspark.core.rdd"})())
    with pytest.raises(WorkerLostError, match=r"context of Spark has been stopped.*a new session"):
        DataFrame("Events", file, executor=Stopped()).sum("x").value  # noqa: B018


@pytest.mark.parametrize(
    ("slots", "options"),
    [
        (0, {}),
        (200, {"spark.executor.instances": "50", "spark.executor.cores": "4"}),
        (100, {"spark.executor.instances": "50", "spark.executor.cores": "4", "spark.task.cpus": "2"}),
        (16, {"spark.cores.max": "16"}),
        (16, {"spark.cores.max": "16", "spark.executor.instances": "50", "spark.executor.cores": "4"}),
        (40, {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "40"}),
        (0, {"spark.dynamicAllocation.enabled": "true", "spark.executor.cores": "4"}),
        (0, {"spark.executor.instances": "many"}),
    ],
)
def test_executors_of_spark_that_are_still_to_come(slots: int, options: dict[str, str]) -> None:
    assert spark._expected_slots(options.get) == slots


# ---- What travels


def test_large_plans_travel_once_for_each_process(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    answers: list[bool] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, function: Any, plan: Any, task: Any) -> Any:  # type: ignore[override]
            sizes.append(len(plan))
            return super().submit(function, plan, task)

    monkeypatch.setattr(_Sent, "_SMALL", 100)
    original = _Sent.is_missing
    monkeypatch.setattr(
        _Sent, "is_missing", staticmethod(lambda p: answers.append(original(p)) or answers[-1])
    )
    with Noting(2) as executor:
        df = DataFrame("Events", file, executor=executor, npartitions=20)
        assert df.sum("x").value == DataFrame("Events", file).sum("x").value
    assert sum(size > 64 for size in sizes) == 2
    assert len(sizes) >= 20
    assert not any(answers)
    # A process that does not have it says so, and gets it.
    df = DataFrame("Events", file, executor=Shuffled(0))
    plan = df.freeze(total := df.sum("x * 3"))
    (task,) = plan.tasks(1)
    missing = attempt(plan.fingerprint, task)
    assert isinstance(missing.failures[0].error, PlanMissingError)
    assert original(missing)
    assert not attempt(plan.to_bytes(), task).failures
    assert not attempt(plan.fingerprint, task).failures
    assert not total.is_ready


def test_every_process_gets_a_large_plan(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that began later than the tasks that had it."""
    monkeypatch.setattr(_Sent, "_SMALL", 100)
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as executor:
        engine = Futures(executor, 1)  # it takes them for one
        for _ in range(3):
            df = DataFrame("Events", file, executor=engine, npartitions=20)
            assert df.sum("x").value == DataFrame("Events", file).sum("x").value


def test_the_client_holds_no_more_for_more_tasks() -> None:
    """Partial results are merged as they come: how many bytes the client has does not depend on how many there are."""
    most: dict[int, int] = {}

    class Weighing(Shuffled):
        def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Any:
            plan = plans[0]
            while tasks:
                task = tasks.popleft()
                yield distributed.run_task(plan, task)
                run = sys._getframe(1).f_locals["self"]
                held = [*run._parts, run._whole]
                size = sum(
                    len(piece.data or b"") for p in held for pieces in p.pieces.values() for piece in pieces
                )
                most[number] = max(most.get(number, 0), size)

    for number in (20, 200, 2000):
        df = DataFrame(1 << 20, executor=Weighing(0), npartitions=number, progress=False)
        assert df.define("x", "rdfentry_ % 100").histo1d(("h", "", 100, 0, 100), "x").value.sum() == 1 << 20
    assert most[2000] <= most[200] * 1.1
    assert most[2000] < 40_000


def test_messages_do_not_grow_with_the_tasks() -> None:
    import pickle

    for number in (10, 1000):
        df = DataFrame(1 << 20, executor=Shuffled(0), progress=False)
        plan = df.freeze(booked := df.histo1d(("h", "", 100, 0, 100), "rdfentry_"))
        tasks = plan.tasks(number)
        assert max(len(pickle.dumps(task)) for task in tasks) < 1000
        assert len(plan.to_bytes()) < 3000
        assert not booked.is_ready


# ---- The end of a run


@pytest.mark.parametrize("seed", range(20))
def test_stretches_become_shorter_at_the_end(seed: int) -> None:
    chosen = random.Random(seed)
    slots = chosen.choice([1, 2, 8, 100, 3000])
    parts = [(k, k + 1) for k in range(200_000)]
    stretches = cut(parts, [(0, 200_000)], 4 * slots, None, slots)
    lengths = [last - first for first, last in stretches]
    assert stretches[0][0] == 0
    assert stretches[-1][1] == 200_000
    assert all(a[1] == b[0] for a, b in itertools.pairwise(stretches))
    assert max(lengths) <= 200_000 / (4 * slots) + 1
    assert len(stretches) < 10 * slots + 10
    assert sum(lengths[-slots:]) <= max(200_000 / 20, 8 * slots) or slots == 1
    # Those who take the next one when they are ready end at nearly the same time.
    ready = [0.0] * slots
    for length in lengths:
        place = ready.index(min(ready))
        ready[place] += length * chosen.uniform(0.8, 1.2)
    assert max(ready) < sum(ready) / slots * (1.05 if slots < 3000 else 1.1)


class Plans:
    fingerprint = "plan"

    def may_repeat(self, results: Any) -> bool:
        return results != (1,)


def test_late_tasks_are_begun_once_more() -> None:
    now = [0.0]
    tail = Tail([Plans()], 4, lambda: now[0])  # type: ignore[list-item]
    tasks = [Task("plan", k, k + 1, (0,)) for k in range(7)] + [Task("plan", 7, 8, (1,))]
    for task in tasks:
        tail.begin(task)
    for k in range(4):
        now[0] += 1
        assert tail.ends(tasks[k])
        assert tail.copies() == []
    assert tail.pause is None
    assert tail.ends(tasks[4])
    assert tail.pause is not None
    assert tail.copies() == []  # they are not late yet
    now[0] += 100
    assert tail.copies() == [tasks[5]]  # there is one idle worker; nobody repeats what writes
    assert tail.copies() == []
    assert not tail.ends(tasks[5], failed=True)  # the other one is at it
    now[0] += 1
    assert tail.copies() == [tasks[5]]
    assert tail.ends(tasks[5])
    assert not tail.ends(tasks[5])  # comes second
    assert tail.ends(tasks[6], failed=True)
    assert not tail.is_over
    now[0] += 100
    assert tail.copies() == []
    assert tail.ends(tasks[7])
    assert tail.is_over


def test_a_worker_that_stands_still_is_not_waited_for(file: str) -> None:
    engine = Processes(3)
    try:
        expected, pids = analysis(DataFrame("Events", file, executor=engine))
        df = DataFrame("Events", file, executor=engine, npartitions=12)
        df.sum("x").value  # noqa: B018
        stopped = next(iter(pids))
        os.kill(stopped, signal.SIGSTOP)
        try:
            total = df.define("y", "x * 2").sum("y").value
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert total == DataFrame("Events", file).define("y", "x * 2").sum("y").value
        assert analysis(DataFrame("Events", file, executor=engine))[0] == expected
    finally:
        engine.close()


def wait_for(path: Path) -> None:
    path.with_suffix(".begun").touch()
    while not path.exists():
        time.sleep(0.01)


def test_processes_for_another_environment_do_not_wait_for_earlier_ones(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Processes(1)
    df = DataFrame("Events", file, executor=engine)
    assert df.count().value == ENTRIES
    pool = engine._pool
    assert pool is not None
    earlier = pool.submit(wait_for, tmp_path / "end")
    while not (tmp_path / "end.begun").exists():
        time.sleep(0.01)
    monkeypatch.setenv("COLONNADE_TEST_OTHER", "1")
    found = DataFrame("Events", file, executor=engine).filter("x > 0 || x <= 0").count().value
    assert (found, earlier.done()) == (ENTRIES, False)
    (tmp_path / "end").touch()
    earlier.result()
    pool.shutdown()
    engine.close()
    assert pool._free == []


# ---- What is said


def test_another_version(file: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    freeze = distributed.driver.freeze

    def older(*arguments: Any, **more: Any) -> Any:
        plan = freeze(*arguments, **more)
        content = json.loads(plan.text)
        plan.text = json.dumps({**content, "colonnade": "0.0.1"})
        return plan

    monkeypatch.setattr(distributed.driver, "freeze", older)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        df = DataFrame("Events", file, executor=executor)
        with pytest.raises(UnsupportedError, match=f"made by Colonnade 0.0.1, but this is {_core.version}"):
            df.sum("x").value  # noqa: B018


def no_more_in_path(folder: str) -> None:
    sys.path.remove(folder)


def test_a_package_that_workers_lack(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_here.py").write_text("def twice(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    context = multiprocessing.get_context("forkserver")  # which has begun without it, maybe
    with ProcessPoolExecutor(
        1, mp_context=context, initializer=no_more_in_path, initargs=(str(tmp_path),)
    ) as executor:
        df = DataFrame("Events", file, executor=executor)
        doubled = df.define("y", only_here.twice, ["x"], returns="double").sum("y")
        with pytest.raises(
            UnsupportedError, match=r"needs 'only_here', which is not installed on this worker"
        ):
            doubled.value  # noqa: B018
        folded = df.reduce(only_here.twice, "x")
        with pytest.raises(UnsupportedError, match="only_here"):
            folded.value  # noqa: B018


@pytest.mark.parametrize("source", ["function", "module", "script"])
def test_edited_modules(source: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / f"edited_{source}"  # imported by each test anew
    package.mkdir()
    use = f"from {package.name}.helper import FACTOR"
    (package / "__init__.py").touch()
    (package / "helper.py").write_text("FACTOR = 10_000\n")
    inside = f"def scaled(x):\n    {use}\n    return FACTOR * x\n"
    outside = f"{use}\n\ndef scaled(x):\n    return FACTOR * x\n"
    (tmp_path / "edited.py").write_text(outside if source == "module" else inside)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "edited", raising=False)
    import edited  # type: ignore[import-not-found]

    if source == "script":
        monkeypatch.setattr(edited.scaled, "__module__", "__main__")

    engine = Processes(1)
    try:
        for factor in (2, 30, 400):  # all files have different sizes: compiled modules know only seconds
            (package / "helper.py").write_text(f"FACTOR = {factor}\n")
            if source == "module":
                importlib.reload(sys.modules[f"{package.name}.helper"])
                importlib.reload(edited)
            df = DataFrame("Events", file, executor=engine, checkpoint=tmp_path / "kept")
            found = df.define("y", edited.scaled, ["x"], returns="double").sum("y").value
            assert found == factor * DataFrame("Events", file).sum("x").value
    finally:
        engine.close()


def test_modules_of_callables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages of another environment are installed ones; a folder may have the name of something in a module."""
    other = tmp_path / "lib" / "site-packages"
    for folder in (other / "from_elsewhere", tmp_path / "plots"):
        folder.mkdir(parents=True)
    (other / "from_elsewhere" / "__init__.py").touch()
    (tmp_path / "style.py").write_text("plots = 2\n")
    source = "import from_elsewhere\nfrom style import plots\ndef scaled(x):\n    return plots * x\n"
    (tmp_path / "with_style.py").write_text(source)
    monkeypatch.syspath_prepend(other)
    monkeypatch.syspath_prepend(tmp_path)
    import with_style  # type: ignore[import-not-found]

    monkeypatch.delitem(sys.modules, "style")
    found = sources_in(pickle.dumps(with_style.scaled))
    assert sorted(found) == ["style", "with_style"]


def test_errors_of_callables_say_where(file: str) -> None:
    def fail(x: Any) -> Any:
        if np.any(x > 2.5):
            raise KeyError("mine")
        return x

    engine = Processes(1)
    try:
        df = DataFrame("Events", file, executor=engine, npartitions=10)
        with pytest.raises(KeyError, match="mine") as caught:
            df.define("y", fail, ["x"], returns="double").sum("y").value  # noqa: B018
        notes = "\n".join(caught.value.__notes__)
        assert "the callable 'fail'" in notes
        assert Path(__file__).name in notes
        assert "called with x" in notes
        assert f"of '{file}'" in notes
        with pytest.raises(colonnade.Error, match="in entry") as of_text:
            df.define("y", "std::vector<double>({x})[x > 2.5 ? 1 : 0]").sum("y").value  # noqa: B018
        assert "definition of 'y'" in str(of_text.value)
        assert "std::vector<double>({x})[x > 2.5 ? 1 : 0]" in str(of_text.value)
        assert file in str(of_text.value)
    finally:
        engine.close()


def use_all_memory(x: Any) -> Any:
    """As the system does to a process that takes more than there is: it is killed."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1 << 33, resource.RLIM_INFINITY))
    try:
        return np.zeros(1 << 34, dtype=np.uint8)[: len(x)] + x
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def test_workers_without_memory(file: str) -> None:
    engine = Processes(1)
    try:
        df = DataFrame("Events", file, executor=engine, npartitions=1)
        large = df.define("y", use_all_memory, ["x"], returns="double").sum("y")
        with pytest.raises(WorkerLostError, match="lack of memory") as caught:
            large.value  # noqa: B018
        assert f"the entries from 0 to {ENTRIES} of '{file}'" in str(caught.value)
        assert "4 times" in str(caught.value)
    finally:
        engine.close()


def test_an_executor_that_ends_with_its_worker_is_told(file: str) -> None:
    def die(x: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        df = DataFrame("Events", file, executor=executor).define("y", die, ["x"], returns="double")
        with pytest.raises(WorkerLostError, match=r"takes no more tasks .* `executor=2`"):
            df.sum("y").value  # noqa: B018


class Breaking(Executor):
    """Fails its tasks one by one, with time between them, as `ProcessPoolExecutor` does when a process dies."""

    _max_workers = 2

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []
        self.refused: list[Exception] = []
        self.over = threading.Event()

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        if len(self.futures) == 4:
            raise BrokenProcessPool("a process is gone")
        self.futures.append(Future())
        if len(self.futures) == 4:
            threading.Thread(target=self._break).start()
        return self.futures[-1]

    def _break(self) -> None:
        for future in self.futures:
            try:
                future.set_exception(BrokenProcessPool("a process is gone"))
            except InvalidStateError as error:
                self.refused.append(error)
            time.sleep(0.2)
        self.over.set()


def test_tasks_of_an_executor_that_breaks_are_not_cancelled(file: str) -> None:
    executor = Breaking()
    with pytest.raises(WorkerLostError, match=r"takes no more tasks|a process is gone"):
        DataFrame("Events", file, executor=executor).sum("x").value  # noqa: B018
    assert executor.over.wait(60)
    assert executor.refused == []


class Odd(Executor):
    """An executor that does not tell its size, cannot cancel, and loses or cancels tasks."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.most = self.running = 0
        self.pool = ThreadPoolExecutor(2)

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        if isinstance(self.error, SystemExit):
            raise self.error
        self.running += 1
        self.most = max(self.most, self.running)
        future = self.pool.submit(self._call, function, *arguments)
        future.cancel = cannot_cancel  # type: ignore[method-assign]
        if isinstance(self.error, LookupError):
            future.exception = raise_lookup_error  # type: ignore[method-assign]
        return future

    def _call(self, function: Any, plan: Any, task: Task) -> Any:
        time.sleep(0.02)
        self.running -= 1
        if self.error is not None and (task.first, task.attempt) == (0, 0):
            raise self.error
        return function(plan, task)


def cannot_cancel() -> bool:
    raise NotImplementedError


def raise_lookup_error(timeout: float | None = None) -> None:
    raise LookupError("no result")


class ManagerLost(Exception):  # noqa: N818
    """Of Parsl."""


@pytest.mark.parametrize("error", [None, CancelledError(), ManagerLost("gone")])
def test_executors_of_few_abilities(
    error: Exception | None, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    executor = Odd(error)
    with executor.pool:
        df = DataFrame("Events", file, executor=executor, npartitions=40)
        assert df.sum("x").value == DataFrame("Events", file).sum("x").value
        assert executor.most > 20  # there may be hundreds of workers
        with pytest.raises(ZeroDivisionError):
            df.define("y", lambda x: x + 1 // 0, ["x"], returns="double").sum("y").value  # noqa: B018
    assert ignored == []


@pytest.mark.parametrize("error", [SystemExit(), LookupError()])
def test_executors_that_fail_are_not_waited_for(error: BaseException, file: str) -> None:
    executor = Odd(error)
    with executor.pool, pytest.raises((SystemExit, LookupError)):
        DataFrame("Events", file, executor=executor).sum("x").value  # noqa: B018


class Unusual(Executor):
    """What its `submit` returns is up to a test."""

    def __init__(self, returned: Callable[..., Any]) -> None:
        self.submit = returned  # type: ignore[method-assign]


def of_another_result(*_: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result("done")
    return future


class Unhashable(Future):  # type: ignore[type-arg]
    """A future that no set takes."""

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("returned", "kind", "said"),
    [
        (
            lambda *_: None,
            UsageError,
            r"submit\(\) of the executor, a Unusual, returned a NoneType, which is no",
        ),
        (lambda call, *given: call(*given), UsageError, "returned a Partial"),
        (of_another_result, UsageError, "future has a str, which is not what its function has returned"),
        (lambda *_: Unhashable(), TypeError, "unhashable"),
    ],
)
def test_executors_that_are_none_are_told(
    returned: Callable[..., Any], kind: type[Exception], said: str, file: str
) -> None:
    with pytest.raises(kind, match=said):
        DataFrame("Events", file, executor=Unusual(returned)).sum("x").value  # noqa: B018


def die_while_answering() -> None:
    """Leave half of a long answer in each pipe of this process."""
    for each in gc.get_objects():
        if isinstance(each, multiprocessing.connection.Connection) and not each.closed and each.writable:
            os.write(each.fileno(), struct.pack("!i", 1 << 20) + bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)


def square(x: int) -> int:
    return x * x


def cannot_be_pickled() -> Any:
    return threading.Lock()


def test_a_process_that_dies_while_it_answers_takes_nothing_else_along() -> None:
    multiprocessing.resource_tracker.ensure_running()  # a child, too
    before = psutil.Process().children()
    pool = _Pool(3)
    try:
        begun = list(pool.map(square, range(20)))
        lost = [pool.submit(die_while_answering) for _ in range(4)]
        others = [pool.submit(square, k) for k in range(20)]
        for each in lost:
            with pytest.raises(WorkerLostError, match=r"process \d+ ended with exit code -9"):
                each.result()
        assert begun == [each.result() for each in others] == [k * k for k in range(20)]
        with pytest.raises(TypeError, match="pickle"):
            pool.submit(cannot_be_pickled).result()
        with pytest.raises(TypeError, match="pickle"):
            pool.submit(square, threading.Lock()).result()
        with pytest.raises(TypeError, match="multiply"):
            pool.submit(square, "x").result()
        # Those that are killed while they have nothing to do are noticed before they are sent anything.
        children = [each for each in psutil.Process().children() if each not in before]
        for child in children:
            child.kill()
        psutil.wait_procs(children)
        assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
    finally:
        pool.shutdown()
    assert not [each for each in psutil.Process().children() if each not in before]


def test_a_process_that_begins_does_not_see_ctrl_c() -> None:
    with _Pool(1) as pool:
        process = _Process()
        pool._free.append(process)
        for _ in range(3):
            assert process._process.pid is not None
            os.kill(process._process.pid, signal.SIGINT)
            assert pool.submit(square, 3).result() == 9


def test_the_current_folder_has_been_removed(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.syspath_prepend("")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="current folder, where processes start, has been removed"):
        DataFrame("Events", file, executor=1).count().value  # noqa: B018
    with ThreadPoolExecutor(1) as executor:
        doubled = DataFrame("Events", file, executor=executor).define("y", lambda x: 2 * x, ["x"])
        assert doubled.count().value == ENTRIES
