"""Spark: tasks as partitions of an RDD, merged by executors in a tree; the driver gets one result."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from colonnade.errors import UnsupportedError

from .engines import WorkerLostError, load_all
from .partials import Counters, Failure, Partial, by_slice
from .tasks import Task
from .worker import Work, attempt, merge

__all__ = ["Spark"]

_BROUGHT = 32
"""Up to this number of partial results the driver merges them: each stage of a tree takes tens of milliseconds."""
_POLL = 0.1
"""Seconds between two looks at the progress of a job."""


class Spark:
    """A SparkSession or SparkContext."""

    def __init__(self, spark: Any) -> None:
        self._context = getattr(spark, "sparkContext", spark)

    @property
    def slots(self) -> int:
        """The number of tasks that all executors run at the same time."""
        return max(int(self._context.defaultParallelism), 1)

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield partial results: of all tasks merged, or with `piecemeal` of a few for each slot, one by one."""
        sent = self._context.broadcast({plan.fingerprint: plan.to_bytes() for plan in plans})
        slices = max((plan.most_slices for plan in plans), default=1)
        try:
            while tasks:
                size = min(2 * self.slots, len(tasks)) if piecemeal else len(tasks)
                yield from self._job(sent, [tasks.popleft() for _ in range(size)], piecemeal, slices)
        finally:
            sent.unpersist()

    def _job(self, sent: Any, tasks: Sequence[Task], piecemeal: bool, slices: int) -> Generator[Partial]:
        told = self._context.accumulator([], _Lists())

        def compute(task: Task) -> Partial:
            made = attempt(sent.value[task.plan], task)
            if made.failures:
                told.add(made.failures)
            return made

        def together(one: Partial, other: Partial) -> Partial:
            return merge(load_all(list(sent.value.values())), [one, other])

        def of_slices(task: Task) -> list[tuple[int, Partial]]:
            return list(enumerate(by_slice(compute(task))))

        listed = self._context.parallelize(tasks, len(tasks))
        action: Callable[[], list[Partial]]
        if slices > 1:  # records of Spark are smaller than 2 GB
            apart = listed.flatMap(of_slices)
            action = (apart if piecemeal else apart.reduceByKey(together, slices)).values().collect
        elif piecemeal or len(tasks) <= _BROUGHT:
            action = listed.map(compute).collect
        else:
            action = lambda: [listed.map(compute).treeReduce(together)]  # noqa: E731
        job = _Job(self._context, action)
        try:
            done = 0
            known: set[Task] = set()
            while not job.wait(_POLL):
                yield from _new_failures(told.value, known)
                finished = min(job.finished_tasks(), len(tasks))
                if finished > done:
                    yield Partial(counters=_planned(tasks[done:finished]))
                    done = finished
            if job.error is not None:
                failed = _error(str(job.error))
                yield Partial(failures=[Failure(task, failed) for task in tasks])
                return
            yield Partial(counters=_planned(tasks[:done], -1))  # they come again
            for partial in job.result:
                partial.failures = [each for each in partial.failures if each.task not in known]
                yield partial
        finally:
            job.cancel()


class _Lists:
    """Spark's accumulator for failures, which reach the driver as soon as a task has ended, not with the job."""

    def zero(self, value: list[Failure]) -> list[Failure]:
        return []

    def addInPlace(self, one: list[Failure], other: list[Failure]) -> list[Failure]:  # noqa: N802
        return [*one, *other]


def _new_failures(told: Sequence[Failure], known: set[Task]) -> Iterator[Partial]:
    for each in list(told):
        if each.task not in known:
            known.add(each.task)
            yield Partial(failures=[each])


def _error(text: str) -> Exception:
    """What the text of a Spark error means. Spark has already tried each task several times."""
    reason = _reason(text)
    if re.match(r"(ModuleNotFoundError|ImportError): ", reason) or "different version" in reason:
        return UnsupportedError(
            f"the Python of Spark's workers cannot run tasks ({reason})",
            "PYSPARK_PYTHON, a Python on the workers of the same version and with the same packages as here",
        )
    return WorkerLostError(reason)


def _reason(text: str) -> str:
    """The reason of a Spark error: the last line of a worker's traceback, or the master's message."""
    lines = [line.strip() for line in text.splitlines()]
    of_python = [
        line
        for line in lines
        if re.match(r"[\w.]*(Error|Exception)\b.*: ", line) and not line.startswith("py4j")
    ]
    failures = [line for line in lines if "Job aborted" in line or "Lost task" in line]
    return (of_python or failures or lines or [""])[-1]


def _planned(tasks: Sequence[Task], sign: int = 1) -> Counters:
    """The approximate counters of tasks."""
    entries = sum(task.last - task.first for task in tasks)
    return Counters(sign * len(tasks), sign * entries, sign * sum(task.bytes for task in tasks))


class _Job:
    """A job that its caller can observe and cancel while it runs."""

    def __init__(self, context: Any, action: Callable[[], list[Partial]]) -> None:
        from pyspark import InheritableThread

        self._context, self._group = context, f"colonnade-{uuid.uuid4()}"
        self.result: list[Partial] = []
        self.error: Exception | None = None
        self._ended = threading.Event()

        def work() -> None:
            try:
                context.setJobGroup(self._group, "Colonnade", interruptOnCancel=True)
                self.result = action()
            except Exception as error:  # of Py4J, or of the worker's Python: told by the caller
                self.error = error
            finally:
                self._ended.set()

        self._thread = InheritableThread(target=work)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most `seconds`; return whether it has ended."""
        return self._ended.wait(seconds)

    def finished_tasks(self) -> int:
        """The number of ended tasks of the job's first stage, which computes."""
        tracker = self._context.statusTracker()
        for job in sorted(tracker.getJobIdsForGroup(self._group)):
            found = tracker.getJobInfo(job)
            stages = sorted(found.stageIds) if found is not None else []
            first = tracker.getStageInfo(stages[0]) if stages else None
            if first is not None:
                return int(first.numCompletedTasks)
        return 0

    def cancel(self) -> None:
        """End it, if it still runs."""
        if not self._ended.is_set():
            self._context.cancelJobGroup(self._group)
            end = time.monotonic() + 30
            while self._thread.is_alive() and time.monotonic() < end:
                self._thread.join(_POLL)
