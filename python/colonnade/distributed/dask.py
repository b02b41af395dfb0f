"""Dask: tasks on the workers of a `distributed.Client`, merged there by eights, so that the client gets one result."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import queue
import threading
import time
import warnings
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .engines import WorkerLostError, load_all
from .partials import Counters, Failure, Partial, by_slice
from .tail import Tail
from .tasks import Task
from .worker import Work, attempt, merge

__all__ = ["Dask", "Homes"]

_GROUP = 8
"""The number of partial results that are merged to one."""
_LOOK_EVERY = 5.0
"""Seconds between looks for workers by a run that waits."""
_ALONE = 30.0
"""Seconds without workers before the warning."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc."""


@functools.cache
def _keep_buffers() -> None:
    """Let glibc reuse freed buffers, as it does by default.

    Nannies start workers with MALLOC_TRIM_THRESHOLD_, which also makes each buffer of 128 KiB or more a mapping of its
    own: memory that the kernel clears each time, for a sixth of the CPU time of a task.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ and "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        with contextlib.suppress(AttributeError):  # other C libraries
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_MMAP_THRESHOLD, 32 << 20)  # the maximum of glibc
            mallopt(_TRIM_THRESHOLD, 64 << 20)


class _TaskFailedError(Exception):
    """Reports failures to the client at once; it sees results that workers merge only at the end."""

    def __init__(self, failures: list[Failure], counters: Counters) -> None:
        super().__init__(failures, counters)
        self.failures, self.counters = failures, counters


class _Plans(dict[str, bytes]):
    """The plans of a run by fingerprint."""

    def __repr__(self) -> str:  # Dask may log it, and URIs in plans may have passwords
        return f"<{len(self)} plans>"


def _same(plans: dict[str, bytes]) -> dict[str, bytes]:
    return plans


def _run(plans: dict[str, bytes], task: Task) -> Partial:
    _keep_buffers()
    made = attempt(plans[task.plan], task)
    if made.failures:
        from distributed import get_worker

        worker = get_worker().address
        raise _TaskFailedError([replace(each, worker=worker) for each in made.failures], made.counters)
    return made


def _slice(partial: Partial, number: int) -> Partial:
    slices = by_slice(partial)
    return slices[number] if number < len(slices) else Partial()


def _merge(plans: dict[str, bytes], *partials: Partial) -> Partial:
    return merge(load_all(list(plans.values())), partials)


class Dask:
    """A client of `distributed`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def slots(self) -> int:
        """The threads of all current workers."""
        if _is_closed(self._client):
            raise WorkerLostError("the client of Dask is closed", "a new one")
        return max(sum(int(each) for each in self._client.nthreads().values()), 1)

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield partial results: of single tasks, or merged by workers."""
        run = _Futures(self._client, plans, self.slots)
        try:
            run.submit(tasks)
            while run.running:
                future = run.next_ended()
                if future is not None:
                    yield from run.take(future, piecemeal)
                run.submit(tasks)
            yield from run.rest()
        finally:
            run.end()


class _Futures:
    """The futures of one run."""

    def __init__(self, client: Any, plans: Sequence[Work], slots: int) -> None:
        self._client = client
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        """All futures that are still in use."""
        by_fingerprint = _Plans({plan.fingerprint: plan.to_bytes() for plan in plans})
        # The result of a task: the scheduler keeps it for workers that come later, when all of today's are gone, and
        # can wait for the first one.
        self._plans = self._submit(_same, by_fingerprint)
        self._homes, self._tail = Homes(client), Tail(plans, slots)
        self._workers = _Workers(client)
        self._planned = 0
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._slices = {plan.fingerprint: plan.most_slices for plan in plans}
        self.running: dict[Any, tuple[Task | None, int, int]] = {}
        """The role of each future: a task or a merge, its slice, and how often its result was merged."""
        self._where: dict[Task, str | None] = {}
        self._of_task: dict[Task, list[Any]] = defaultdict(list)
        self._done: dict[tuple[int, int], list[Any]] = defaultdict(list)
        """Partial results on the workers, by slice and number of merges."""

    def submit(self, tasks: deque[Task]) -> None:
        """Submit all tasks; start late ones on another worker, too, when no other tasks are left."""
        taken = [tasks.popleft() for _ in range(len(tasks))]
        for task, where in zip(taken, self._homes.of(taken), strict=True):
            self._tail.begin(task)
            self._begin(task, where)
        for task in self._tail.copies():
            elsewhere = replace(task, attempt=task.attempt + 1, tried=(*task.tried, self._where[task] or ""))
            self._begin(task, *self._homes.of([elsewhere]))

    def end(self) -> None:
        """Cancel what runs, and release all results, which the traceback of a Ctrl-C would keep on the workers."""
        if _is_closed(self._client):
            return
        if self.running:
            self._client.cancel(list(self.running), force=True)
        for future in list(self._made):
            future.release()

    def _submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        future = self._client.submit(function, *arguments, pure=False, **options)
        self._made.add(future)
        return future

    def _begin(self, task: Task, where: str | None) -> None:
        future = self._submit(_run, self._plans, task, workers=where, allow_other_workers=where is not None)
        self._where[task] = where
        self._of_task[task].append(future)
        self._watch(future, task, 0, 0)

    def next_ended(self) -> Any:
        """Return a future that has ended, or None if it is time to look for late tasks."""
        pause = self._tail.pause
        while True:
            try:
                future = self._ended.get(timeout=_LOOK_EVERY if pause is None else min(pause, _LOOK_EVERY))
            except queue.Empty:
                self._look()
                if pause is not None:
                    return None
                continue
            if future in self.running:  # others were cancelled
                return future

    def take(self, future: Any, piecemeal: bool) -> Iterator[Partial]:
        """Yield the outcome of a future that has ended, keep its result, or have it merged."""
        task, part, level = self.running.pop(future)
        # What was lost since it was there, Dask computes again.
        failed = future.status in ("error", "cancelled")
        if task is not None:
            if not self._tail.ends(task, failed):
                return
            self._cancel_copies(task)
        if failed:
            self._check_plans()
            if task is None:
                raise _error_of(_reason(future))
            yield _failed(task, _reason(future))
            return
        if piecemeal and task is not None:
            try:
                found = self._client.gather(future)
            except Exception as error:  # its worker was lost meanwhile, and Dask has repeated the task
                self._check_plans()
                found = _failed(task, error)
            yield found
            return
        if task is not None:
            # The counters are known when everything is merged; until then they are those planned.
            self._planned += task.bytes
            yield Partial(counters=Counters(1, task.last - task.first, task.bytes))
        if task is None:
            self._keep(future, part, level)
            return
        slices = self._slices[task.plan]
        for k in range(slices):
            # Slices are separate from here on, so that a worker has one slice of several tasks rather than all slices.
            self._keep(future if slices == 1 else self._submit(_slice, future, k), k, 0)

    def _cancel_copies(self, task: Task) -> None:
        others = [future for future in self._of_task.pop(task) if self.running.pop(future, None) is not None]
        if others:
            self._client.cancel(others, force=True)

    def _keep(self, future: Any, part: int, level: int) -> None:
        alike = self._done[part, level]
        alike.append(future)
        if len(alike) == _GROUP:
            del self._done[part, level]
            self._watch(self._merging(alike), None, part, level + 1)

    def rest(self) -> Iterator[Partial]:
        """Merge the remaining partial results, and fetch the result."""
        for wanted in sorted({part for part, _ in self._done}):
            left = [
                future
                for (part, _), alike in sorted(self._done.items())
                if part == wanted
                for future in alike
            ]
            future = left[0] if len(left) == 1 else self._merging(left)
            self.running[future] = None, wanted, 0  # so that Ctrl-C cancels it, too
            ended = threading.Event()
            future.add_done_callback(lambda _, ended=ended: ended.set())
            while not ended.wait(_LOOK_EVERY):
                self._look()
            try:
                whole: Partial = self._client.gather(future)
            except Exception as error:
                self._check_plans()
                raise _error_of(error) from None
            del self.running[future]
            whole.counters.tasks = whole.counters.entries = 0  # they were counted one by one
            if wanted == 0:
                whole.counters.bytes -= self._planned
            yield whole

    def _look(self) -> None:
        self._check_plans()
        self._workers.look()

    def _check_plans(self) -> None:
        """Raise an error if the scheduler does not know the run any longer: no other attempt can succeed."""
        if self._plans.status == "cancelled" or _is_closed(self._client):
            raise WorkerLostError(
                "Dask has given up all tasks of the run: its client was closed or restarted, or lost the scheduler",
                "the same again with a client that is connected",
            )

    def _merging(self, futures: list[Any]) -> Any:
        return self._submit(_merge, self._plans, *futures)

    def _watch(self, future: Any, task: Task | None, part: int, level: int) -> None:
        self.running[future] = task, part, level
        future.add_done_callback(self._ended.put)


def _is_closed(client: Any) -> bool:
    return client.status in ("closing", "closed")


def _reason(future: Any) -> BaseException | None:
    error: BaseException | None = future.exception() if future.status == "error" else None
    return error


def _failed(task: Task, reason: BaseException | None) -> Partial:
    if isinstance(reason, _TaskFailedError):
        return Partial(failures=reason.failures, counters=reason.counters)
    if _is_killed(reason):  # Dask has repeated it
        task = replace(task, attempt=task.attempt + getattr(reason, "allowed_failures", 0))
    return Partial(failures=[Failure(task, _lost(reason))])


def _error_of(reason: BaseException | None) -> BaseException:
    """The error of a merge. If a worker is lost, Dask repeats the tasks that it needs, which may fail now."""
    return reason.failures[0].error if isinstance(reason, _TaskFailedError) else _lost(reason)


def _lost(error: BaseException | None) -> BaseException:
    """The failure for a future's error, which is the worker's: errors of tasks are part of their results."""
    if _is_killed(error):
        return WorkerLostError(_of_killed(error))
    if error is None or isinstance(error, OSError) or type(error).__name__ == "CancelledError":
        return WorkerLostError(str(error or "a worker was lost"))
    return error


def _is_killed(error: BaseException | None) -> bool:
    return type(error).__name__ == "KilledWorker"


def _of_killed(error: Any) -> str:
    """What Dask knows of the workers that were lost with a task, with the memory that they might have."""
    worker = error.last_worker
    limit = f", which may use {worker.memory_limit >> 20} MiB of memory" if worker.memory_limit else ""
    return (
        f"{error.allowed_failures + 1} workers of Dask ended with it, the last one at {worker.address}{limit}"
    )


class _Workers:
    """Warns of a cluster without workers. The run waits all the same: batch systems may start workers much later."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._seen = self._looked = time.monotonic()
        self._is_told = False

    def look(self) -> None:
        """Warn once if there have been none for long."""
        if time.monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = time.monotonic()
        if self._client.scheduler_info()["workers"]:
            self._seen, self._is_told = time.monotonic(), False
        elif not self._is_told and time.monotonic() - self._seen > _ALONE:
            self._is_told = True
            warnings.warn(
                "the Dask cluster has no workers, and the run waits for some; try: start workers, or Ctrl-C",
                stacklevel=2,
            )


class Homes:
    """Assigns the same worker to the same entries each time, so that its caches have their data.

    Each thread of a cluster gets the same amount of work: work stealing takes a second to begin.
    """

    def __init__(self, client: Any) -> None:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        self._threads = {str(name): int(workers[name]["nthreads"]) for name in sorted(workers)}
        self._load = dict.fromkeys(self._threads, 0)

    def of(self, tasks: Sequence[Task]) -> list[str | None]:
        """Choose a worker for each task."""
        if not self._threads:
            return [None] * len(tasks)
        share = (sum(self._load.values()) + sum(map(_work, tasks))) / sum(self._threads.values())
        return [self._home(task, share) for task in tasks]

    def _home(self, task: Task, share: float) -> str:
        """The first worker with room in the order of a hash: few tasks move when a worker leaves.

        A failed task goes to a worker that has not tried it, as the worker may be the reason.
        """
        what = f"{task.uris} {task.first} {task.last}"

        def weight(worker: str) -> bytes:
            return hashlib.sha256(f"{worker} {what}".encode()).digest()

        def filled(worker: str) -> float:
            return (self._load[worker] + _work(task) / 2) / self._threads[worker]

        ranked = sorted(self._threads, key=weight, reverse=True)
        if task.attempt:
            home = next(
                (each for each in ranked if each not in task.tried), ranked[task.attempt % len(ranked)]
            )
        else:
            home = next((each for each in ranked if filled(each) <= share), None) or min(ranked, key=filled)
        self._load[home] += _work(task)
        return home


def _work(task: Task) -> int:
    return task.bytes or task.last - task.first
