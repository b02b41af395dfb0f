"""Engines carry tasks to workers and partial results back. This module has those for `concurrent.futures`.

An engine has a number of `slots`, and `run`, which takes tasks and yields partial results until all are done or failed.
Errors of a task are part of its partial result; the loss of a worker is a failure of the
tasks that it had. The caller may append tasks meanwhile, to try again. Closing the generator cancels tasks that have
not begun.
"""

from __future__ import annotations

import functools
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Protocol, TypeVar

from colonnade.errors import Error, ResourceError, UsageError
from colonnade.threads import ThreadPool, start_thread

from .partials import Counters, Failure, Partial
from .tail import Tail
from .tasks import Task
from .worker import PlanMissingError, Work, attempt, loaded, run_task

__all__ = ["Engine", "Futures", "InThisProcess", "Processes", "WorkerLostError", "engine_of"]


T = TypeVar("T")


class WorkerLostError(Error, RuntimeError):
    """A worker was lost with its task."""

    kind = "resource"


class Engine(Protocol):
    """Carries tasks to workers."""

    @property
    def slots(self) -> int:
        """The approximate number of tasks that run at the same time."""

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Run tasks, and yield their partial results, which may be merged; with `piecemeal`, as they complete."""


class InThisProcess:
    """Computes task after task in this process, with all threads, so that partial results can be shown."""

    is_of_this_machine = True

    def __init__(self, threads: int = 0) -> None:
        self.slots = 4
        self._threads = threads

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield the partial result of each task."""
        known = {plan.fingerprint: plan for plan in plans}
        while tasks:
            task = tasks.popleft()
            yield run_task(known[task.plan], task, self._threads)


class Futures:
    """Any executor with the interface of `concurrent.futures`: processes, loky, Parsl, MPIPoolExecutor."""

    def __init__(self, executor: Executor, slots: int | None = None) -> None:
        self._executor = executor
        known = slots or _slots_of(executor)
        self.slots = known or len(os.sched_getaffinity(0))
        # Only as many tasks as keep workers busy, so that an interrupted run ends soon. Parsl and some versions of
        # mpi4py do not tell how many workers there are, perhaps hundreds.
        self._most = 2 * known + 2 if known else sys.maxsize

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield the partial result of each task, as they come."""
        sent = _Sent(plans, self.slots)
        tail = Tail(plans, self.slots)
        calls = _Calls(self._executor)
        running = 0
        try:
            while running or tasks:
                while tasks and running < self._most:
                    task = tasks.popleft()
                    calls.begin(task, sent.of(task))
                    tail.begin(task)
                    running += 1
                for task in [] if tasks else tail.copies():
                    calls.begin(task, sent.of(task))
                    running += 1
                for task, partial in calls.ended(None if tasks else tail.pause):
                    if sent.is_missing(partial):
                        calls.begin(task, sent.again(task))
                        continue
                    running -= 1
                    if tail.ends(task, bool(partial.failures)):
                        yield partial
                if not tasks and tail.is_over:
                    break
        except BrokenExecutor as error:
            raise WorkerLostError(
                f"a worker was lost, and the executor takes no more tasks since then: {error}",
                "a new executor; or a number of processes, `executor=2`, which are replaced when they are lost",
            ) from error
        finally:
            calls.end()


class _Calls:
    """The calls of a run to an executor, all of them in a thread of its own, which Ctrl-C does not interrupt.

    Futures and executors use conditions. An exception in one, from a signal's handler, leaves it locked, and a worker
    that has an answer then waits for good. The queues here are in C.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._begun: SimpleQueue[tuple[Task, bytes | str] | None] = SimpleQueue()
        self._ended: SimpleQueue[tuple[Task, Partial] | BaseException] = SimpleQueue()
        self._running: set[Future[Partial]] = set()
        self._is_broken = False
        start_thread(self._work)

    def begin(self, task: Task, plan: bytes | str) -> None:
        """Have a task computed."""
        self._begun.put((task, plan))

    def ended(self, seconds: float | None) -> Iterator[tuple[Task, Partial]]:
        """Yield the tasks that have ended since the last call, and wait for one, at most so long.

        Raises:
            Exception: what the executor raised, for example as its processes are gone.
        """
        try:
            found = self._ended.get(timeout=seconds)
            while True:
                if isinstance(found, BaseException):
                    raise found
                yield found
                found = self._ended.get_nowait()
        except Empty:
            pass

    def end(self) -> None:
        """Cancel the tasks that have not begun, soon."""
        self._begun.put(None)

    def _work(self) -> None:
        while (call := self._begun.get()) is not None:
            try:
                future = self._submitted(*call)
                self._running.add(future)
                future.add_done_callback(functools.partial(self._note, call[0]))
            except BaseException as error:  # else the run would wait for the task for good
                self._is_broken = self._is_broken or isinstance(error, BrokenExecutor)
                self._ended.put(error)
        for future in list(self._running):
            # A broken executor fails its futures one by one. One that is cancelled meanwhile ends its thread
            # with an InvalidStateError (Python 3.11), and the processes that are left stay.
            if self._is_broken:
                break
            with suppress(Exception):  # Parsl cannot cancel
                future.cancel()

    def _submitted(self, task: Task, plan: bytes | str) -> Future[Partial]:
        future = self._executor.submit(attempt, plan, task)
        if not callable(getattr(future, "add_done_callback", None)):
            raise UsageError(
                f"submit() of the executor, a {type(self._executor).__name__}, returned a {type(future).__name__}, "
                "which is no future",
                "an Executor whose submit() returns a concurrent.futures.Future",
            )
        return future

    def _note(self, task: Task, future: Future[Partial]) -> None:
        self._running.discard(future)
        try:
            if not future.cancelled() and isinstance(future.exception(), BrokenExecutor):
                self._is_broken = True
            self._ended.put((task, _outcome(future, task)))
        except BaseException as error:  # else the run would wait for the task for good
            self._ended.put(error)


class _Sent:
    """The plans sent with tasks: a large plan is sent to each process once."""

    _SMALL = 8 << 10

    def __init__(self, plans: Sequence[Work], slots: int) -> None:
        self._plans = {plan.fingerprint: plan.to_bytes() for plan in plans}
        self._left = dict.fromkeys(self._plans, slots)

    def of(self, task: Task) -> bytes | str:
        """The plan, or its fingerprint for processes that should have it."""
        plan = self._plans[task.plan]
        self._left[task.plan] -= 1
        return plan if len(plan) <= self._SMALL or self._left[task.plan] >= 0 else task.plan

    def again(self, task: Task) -> bytes:
        """The plan, for a process that does not have it."""
        return self._plans[task.plan]

    @staticmethod
    def is_missing(partial: Partial) -> bool:
        """Whether the process does not have the plan."""
        return any(isinstance(each.error, PlanMissingError) for each in partial.failures)


class Processes:
    """Processes of this machine, started when they are needed, and restarted when one is killed."""

    is_of_this_machine = True
    _shared: ClassVar[dict[tuple[int, int], Processes]] = {}

    @classmethod
    def shared(cls, number: int) -> Processes:
        """The processes shared by all DataFrames with this number: starting one takes longer than many an analysis."""
        key = os.getpid(), number  # a forked process has none of them
        if key not in cls._shared:
            cls._shared[key] = cls(number)
        return cls._shared[key]

    def __init__(self, number: int) -> None:
        if not 1 <= number < 1 << 16:
            raise UsageError(f"{number} is not a number of processes", "1, 2, ...")
        self.slots = number
        self._pool: _Pool | None = None
        self._lock = threading.Lock()
        self._runs: set[object] = set()
        self._started_with: tuple[dict[str, str], str] = {}, ""
        self._client = os.getpid()

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield the partial result of each task, as they come."""
        if self._client != os.getpid():  # a forked child, which has none of the threads
            self._client, self._pool, self._runs, self._lock = os.getpid(), None, set(), threading.Lock()
        runs, run = self._runs, object()
        try:
            pool = self._started(run)
            yield from Futures(pool, self.slots).run(plans, tasks, piecemeal)
        finally:
            runs.discard(run)

    def close(self, wait: bool = True) -> None:
        """End the processes after their current tasks; `wait` for that."""
        if self._client != os.getpid():
            return
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            self._at_exit.cancel()
            pool.shutdown(wait, cancel_futures=True)

    def _started(self, run: object) -> _Pool:
        # Credentials may be newer, and file names are relative to the current folder.
        try:
            now = dict(os.environ), os.getcwd()
        except OSError as error:
            raise UsageError(
                "the current folder, where processes start, has been removed", "os.chdir()"
            ) from error
        if not self._runs and now != self._started_with:
            self.close(wait=False)  # one may have stood still since an earlier run
        with self._lock:
            self._runs.add(run)
            if self._pool is None:
                self._started_with = now
                self._pool = _Pool(self.slots)
                # At exit a process waits for those that it has started. One of multiprocessing calls nothing of atexit.
                self._at_exit = Finalize(None, self.close, exitpriority=100)
            return self._pool


class _Pool(ThreadPool):
    """Processes with a pipe each: one that is killed takes its own task along and nothing else.

    Those of `ProcessPoolExecutor` share a pipe and its lock. One that is killed in the middle of an answer leaves the
    others, and whoever waits for them, blocked for good.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._free: list[_Process] = []
        self._is_over = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return super().submit(self._call, fn, args, kwargs)

    def _call(self, *call: Any) -> Any:
        process = self._free_process()
        try:
            return process.call(call)
        finally:
            self._free.append(process)
            if self._is_over:
                self._end_free()

    def _free_process(self) -> _Process:
        while self._free:
            with suppress(IndexError):  # another thread took it
                process = self._free.pop()
                if process.is_alive:
                    return process
                process.end()
        return _Process()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._is_over = True
        self._end_free()

    def _end_free(self) -> None:
        with suppress(IndexError):  # another thread took it
            while self._free:
                self._free.pop().end()


@contextmanager
def _starting_process() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ResourceError(
            f"cannot start a process: {error.strerror}",
            "fewer processes, or more processes, files and memory (ulimit -u, ulimit -n, ulimit -v, pids.max)",
        ) from error


class _Process:
    """A process that computes what it is sent, one call at a time."""

    all: ClassVar[set[_Process]] = set()
    """Those that have not been ended."""
    has_tracker: ClassVar[bool] = False
    """Whether one was started, and with the first the tracker of multiprocessing."""

    def __init__(self) -> None:
        if multiprocessing.current_process().daemon:
            raise UsageError(
                "this process may not start others, because it is a daemon of multiprocessing",
                "threads=; or a process that is none: daemon=False, or a ProcessPoolExecutor instead of a Pool",
            )
        main = sys.modules["__main__"]
        if getattr(main, "__file__", None) == "<stdin>":  # which the process would look for
            del main.__file__
        context = multiprocessing.get_context("spawn")  # not forked: this process may have threads
        with _starting_process():
            self._connection, of_process = context.Pipe()
        self.all.add(self)
        self._process = context.Process(target=_serve, args=(of_process,))
        self._has_begun = False
        try:
            with _starting_process():
                resource_tracker.ensure_running()  # else it is started below, and unblocks signals
                _Process.has_tracker = True
                before = signal.pthread_sigmask(
                    signal.SIG_BLOCK, {signal.SIGINT}
                )  # which the process has, too
                try:
                    self._process.start()
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except BaseException:
            self._close()
            raise
        finally:
            of_process.close()  # so that there is an end when the process has ended

    @property
    def is_alive(self) -> bool:
        return not multiprocessing.connection.wait([self._process.sentinel], 0)

    def call(self, call: tuple[Any, ...]) -> Any:
        """Give what the function returns, or raise what it raises.

        Raises:
            WorkerLostError: the process ended before it answered.
            UsageError: it failed before its first call.
        """
        sent = pickle.dumps(call)
        try:
            if not self._has_begun:
                self._connection.recv_bytes()
                self._has_begun = True
            self._connection.send_bytes(sent)
            received = self._connection.recv_bytes()
        except (EOFError, OSError):
            self.end()
            code = self._process.exitcode  # unknown if another library waited for the process
            if not self._has_begun and code is not None and code >= 0:  # no signal
                raise UsageError(
                    f"a new process ended with exit code {code} before its first task, perhaps because it runs all "
                    "of the script that started it",
                    'if __name__ == "__main__": before what the script does; else what the process has written',
                ) from None
            raise WorkerLostError(
                f"process {self._process.pid} ended" + (f" with exit code {code}" if code is not None else "")
            ) from None
        is_returned, answer = pickle.loads(received)
        if is_returned:
            return answer
        raise answer

    def end(self) -> None:
        self._close()
        self._process.join()

    def leave(self) -> None:
        """Close a forked child's copy of the connection: the process ends once every copy is closed."""
        self._connection.close()
        # Else the child would wait for it when it ends, which fails.
        multiprocessing.process._children.discard(self._process)  # type: ignore[attr-defined]

    def _close(self) -> None:
        self.all.discard(self)
        self._connection.close()


def _leave_to_parent() -> None:
    for each in _Process.all:
        each.leave()
    _Process.all.clear()


def _leave_tracker() -> None:
    """Let the tracker of multiprocessing end by itself, as in processes that have not started it.

    It ends when all forked children have ended. From Python 3.13 on its parent waits for it at exit, and so for them.
    """
    if _Process.has_tracker:
        resource_tracker._resource_tracker._pid = None  # type: ignore[attr-defined]


os.register_at_fork(after_in_parent=_leave_tracker, after_in_child=_leave_to_parent)


def _serve(connection: Connection) -> None:
    """Answer calls until nobody sends more."""
    _begin()
    connection.send_bytes(b"")
    while True:
        try:
            call = connection.recv_bytes()
        except EOFError:
            return
        try:
            function, arguments, named = pickle.loads(call)
            connection.send((True, function(*arguments, **named)))
        except Exception as error:  # also of what cannot be pickled
            connection.send((False, error))


def _begin() -> None:
    """Set up a process of this machine: it ignores Ctrl-C, which its client handles, and ends with its client."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    client = multiprocessing.parent_process()
    if client is not None:
        threading.Thread(target=_end_with, args=(client,), daemon=True).start()


def _end_with(client: BaseProcess) -> None:
    client.join()
    os._exit(1)


def engine_of(executor: Any) -> Engine:
    """Return the engine for the user's `executor`.

    Raises:
        UsageError: there is none.
    """
    if isinstance(executor, int) and not isinstance(executor, bool):
        return Processes.shared(executor)
    modules = {each.__module__ for each in type(executor).__mro__}
    if "concurrent.futures.interpreter" in modules:
        raise UsageError(
            "an InterpreterPoolExecutor cannot run tasks: NumPy and Colonnade are for the main interpreter alone",
            "a number of processes, a ProcessPoolExecutor",
        )
    packages = {each.partition(".")[0] for each in modules}
    can_submit = callable(getattr(executor, "submit", None))
    if "distributed" in packages and can_submit and not isinstance(executor, Executor):
        if executor.asynchronous:
            raise UsageError("the client of Dask is asynchronous", "Client(...) without asynchronous=True")
        from .dask import Dask

        return Dask(executor)
    if "pyspark" in packages:
        from .spark import Spark

        return Spark(executor)
    if callable(getattr(executor, "run", None)) and hasattr(executor, "slots"):
        engine: Engine = executor
        return engine
    if can_submit:
        return Futures(executor)
    raise UsageError(
        f"a {type(executor).__name__} cannot run tasks",
        "a number of processes, an Executor of concurrent.futures, a client of Dask, or a session of Spark",
    )


def _slots_of(executor: Executor) -> int | None:
    for name in ("_max_workers", "max_workers", "num_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    return None


def _outcome(future: Future[Partial], task: Task) -> Partial:
    try:
        found: object = future.result()
        if isinstance(found, Partial):
            return found
        raise UsageError(
            f"the executor's future has a {type(found).__name__}, which is not what its function has returned",
            "an Executor that passes results on as they are",
        )
    except (BrokenExecutor, WorkerLostError) as error:
        return _lost(task, error)
    except CancelledError:  # by the executor or its user
        return _lost(task, WorkerLostError("the executor cancelled the task"))
    except Exception as error:
        if type(error).__name__ in ("ManagerLost", "WorkerLost"):  # of Parsl
            return _lost(task, error)
        return Partial(failures=[Failure(task, error)], counters=Counters(tasks=1))


def _lost(task: Task, error: BaseException) -> Partial:
    return Partial(failures=[Failure(task, WorkerLostError(str(error)))])


def load_all(plans: Sequence[bytes]) -> list[Work]:
    """Load plans from bytes; plans that this process has are reused."""
    return [loaded(each).plan for each in plans]
