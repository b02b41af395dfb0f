"""Spark: tasks as partitions of an RDD, merged by executors in a tree; the driver gets one result."""

from __future__ import annotations

import re
import threading
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from colonnade.errors import ResourceError, UnsupportedError, UsageError

from .engines import WorkerLostError, load_all
from .partials import Counters, Failure, Partial, by_slice
from .tasks import Task
from .worker import Work, attempt, merge

__all__ = ["Spark"]

_BROUGHT = 32
"""Up to this number of partial results the driver merges them: each stage of a tree takes tens of milliseconds."""
_POLL = 0.1
"""Seconds between two looks at the progress of a job."""
_SLOTS_EVERY = 5
"""Looks between two counts of the slots."""
_MOST_EXPECTED = 1 << 13
"""The most slots that count before their executors are there."""
_END_SECONDS = 30.0
"""The longest wait for the end of a cancelled job."""


class Spark:
    """A SparkSession or SparkContext."""

    def __init__(self, spark: Any) -> None:
        if any(".connect." in f"{each.__module__}." for each in type(spark).__mro__):
            raise UnsupportedError(
                "a session of Spark Connect cannot run tasks of a data frame, because it has no RDDs",
                'a session with a context, SparkSession.builder.master("spark://...").getOrCreate()',
            )
        self._context = getattr(spark, "sparkContext", spark)
        if not hasattr(type(self._context), "defaultParallelism"):
            raise UsageError(f"a {type(spark).__name__} cannot run tasks", "a session or context of Spark")
        self._runs: set[object] = set()
        self._slots = 1
        self._expected: int | None = None

    @property
    def slots(self) -> int:
        """The number of tasks that all executors run at the same time, or will once all that are wanted are there."""
        if not self._runs:  # else a thread counts them
            self.count_slots()
        return self._slots

    def count_slots(self) -> None:
        """Count the slots."""
        try:
            now = int(self._context.defaultParallelism)
            if self._expected is None:
                self._expected = _expected_slots(self._context.getConf().get)
        except Exception as error:  # of Py4J, or an AttributeError
            raise _stopped() from error
        self._slots = max(now, self._expected, 1)

    def run(self, plans: Sequence[Work], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield partial results: of all tasks merged, or with `piecemeal` of a few for each slot, one by one."""
        slots = self.slots
        calls = _Calls(self._context, plans, self.count_slots)
        try:
            self._runs.add(calls)
            calls.start()
            while tasks:
                size = min(2 * slots, len(tasks)) if piecemeal else len(tasks)
                yield from _job(calls, [tasks.popleft() for _ in range(size)], piecemeal)
                slots = self.slots
        finally:
            self._runs.discard(calls)
            calls.end()


def _expected_slots(option: Callable[[str], str | None]) -> int:
    """The slots that the options of a context ask for. Executors may come minutes later, as they are needed."""
    number = "spark.executor.instances"
    if option("spark.dynamicAllocation.enabled") == "true":
        number = "spark.dynamicAllocation.maxExecutors"
    try:
        executors, cores = int(option(number) or 0), int(option("spark.executor.cores") or 1)
        most = int(option("spark.cores.max") or 0)
        cores = min(executors * cores, most) if executors and most else executors * cores or most
        return min(cores, _MOST_EXPECTED) // max(int(option("spark.task.cpus") or 1), 1)
    except ValueError:  # no number: Spark will complain
        return 0


def _job(calls: _Calls, tasks: Sequence[Task], piecemeal: bool) -> Generator[Partial]:
    calls.begin(tasks, piecemeal)
    done = 0
    while isinstance(event := calls.next_event(), _Progress):
        if event.failures:
            yield Partial(early=event.failures)
        if event.finished > done:
            yield Partial(counters=_planned(tasks[done : event.finished]))
            done = event.finished
    yield Partial(counters=_planned(tasks[:done], -1))  # they come again
    if isinstance(event, _Failed):
        yield Partial(failures=event.failures(tasks))
    else:
        yield from event


@dataclass
class _Progress:
    """What is known of a running job."""

    finished: int
    """The number of tasks that have ended."""
    failures: list[Failure]
    """New ones."""


@dataclass
class _Failed:
    """A job that failed."""

    error: Exception
    """The failure of its tasks."""
    attempts: int = 1
    """The number of times that Spark has tried the task for which it gave up the job."""
    index: int | None = None
    """The number of this task; None if a merge failed, or another step."""

    def failures(self, tasks: Sequence[Task]) -> list[Failure]:
        """All results of the job are lost; the task that was the reason comes first."""
        order = list(tasks)
        if self.index is None:
            order = [replace(task, attempt=task.attempt + self.attempts - 1) for task in tasks]
        elif self.index < len(order):
            cause = order.pop(self.index)
            order.insert(0, replace(cause, attempt=cause.attempt + self.attempts - 1))
        return [Failure(task, self.error) for task in order]


_Event: TypeAlias = "_Progress | _Failed | list[Partial]"


class _Calls:
    """All calls of a run to Spark, in threads of its own.

    Spark's handler of Ctrl-C calls Spark. In the middle of another call of the main thread it would take the answer of
    that one, and every later call of the main thread would get the answer of the call before it.
    """

    def __init__(self, context: Any, plans: Sequence[Work], count_slots: Callable[[], None]) -> None:
        self._context, self._count_slots = context, count_slots
        self._plans = {plan.fingerprint: plan.to_bytes() for plan in plans}
        self._slices = max((plan.most_slices for plan in plans), default=1)
        self._group = ""
        """Of the current job."""
        self._jobs: SimpleQueue[tuple[Sequence[Task], bool] | None] = SimpleQueue()
        self._events: SimpleQueue[_Event | BaseException | None] = SimpleQueue()
        self._is_over = False
        self._thread = self._made(self._work)

    def start(self) -> None:
        """Start the thread that waits for jobs."""
        try:
            self._thread.start()
        except Exception as error:  # of Py4J, or an AssertionError
            raise _stopped() from error

    def begin(self, tasks: Sequence[Task], piecemeal: bool) -> None:
        """Begin a job."""
        self._jobs.put((tasks, piecemeal))

    def next_event(self) -> _Event:
        """Wait for news of the job.

        Raises:
            WorkerLostError: the context was stopped, or somebody has cancelled the job.
        """
        event = self._events.get()
        if event is None:
            raise WorkerLostError("the thread of the run has ended")
        if isinstance(event, BaseException):
            raise event
        return event

    def end(self) -> None:
        """Cancel the job, if one still runs, and wait for its end."""
        self._is_over = True
        self._jobs.put(None)
        if self._thread.is_alive():
            with suppress(Empty):
                while self._events.get(timeout=_END_SECONDS) is not None:
                    pass

    @staticmethod
    def _made(work: Callable[[], None]) -> threading.Thread:
        """Make a thread whose jobs have the pool and the description of the thread that starts it."""
        from pyspark import InheritableThread

        thread: threading.Thread = InheritableThread(target=work, daemon=True)
        return thread

    def _work(self) -> None:
        sent = None
        try:
            while (job := self._jobs.get()) is not None:
                try:
                    if sent is None:
                        sent = self._context.broadcast(self._plans)
                    self._events.put(self._computed(sent, *job))
                except Exception as error:
                    self._events.put(self._outcome(error))
        finally:
            with suppress(Exception):  # the context may have been stopped
                if sent is not None:
                    sent.destroy()  # else the driver would keep it in a file
            self._events.put(None)

    def _computed(self, sent: Any, tasks: Sequence[Task], piecemeal: bool) -> list[Partial]:
        told = self._context.accumulator([], _Lists())
        action = _action(self._context.parallelize(tasks, len(tasks)), sent, told, piecemeal, self._slices)
        self._group = f"colonnade-{uuid.uuid4()}"
        self._context.setJobGroup(self._group, "Colonnade", interruptOnCancel=True)
        ended = threading.Event()
        watch = self._made(lambda: self._watch(told, ended))
        watch.start()
        try:
            return [] if self._is_over else action()
        except Exception:
            self._wait_for_tasks()
            raise
        finally:
            ended.set()
            watch.join()
            told.value = []  # Spark keeps it

    def _wait_for_tasks(self) -> None:
        """Wait until no task of a failed job runs: Spark kills them later, and what one writes must be removed."""
        end = time.monotonic() + _END_SECONDS
        with suppress(Exception):  # the context may have been stopped
            while time.monotonic() < end and any(each.numActiveTasks for each in self._stages()):
                time.sleep(_POLL)

    def _watch(self, told: Any, ended: threading.Event) -> None:
        """Tell how a job goes on, and cancel it when it is no longer wanted."""
        seen = looks = 0
        while not ended.wait(_POLL):
            with suppress(Exception):  # if the context was stopped, the job fails
                if self._is_over:
                    self._context.cancelJobGroup(self._group)  # again and again: it may begin only now
                    continue
                failures = list(told.value)[seen:]
                seen += len(failures)
                self._events.put(_Progress(self._finished(), failures))
                looks += 1
                if looks % _SLOTS_EVERY == 0:
                    self._count_slots()

    def _stages(self) -> list[Any]:
        """What Spark knows of the stages of the job that have begun. The first one computes tasks."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in sorted(tracker.getJobIdsForGroup(self._group))]
        stages = [
            tracker.getStageInfo(stage) for job in jobs if job is not None for stage in sorted(job.stageIds)
        ]
        return [stage for stage in stages if stage is not None]

    def _finished(self) -> int:
        """The number of ended tasks."""
        stages = self._stages()
        return int(stages[0].numCompletedTasks) if stages else 0

    def _outcome(self, error: Exception) -> _Failed | Exception:
        """What follows from an error: of the tasks, which may be repeated, or of the run."""
        if _is_stopped(self._context):
            return _stopped()
        if not type(error).__module__.startswith(("pyspark.", "py4j.")) and not isinstance(error, OSError):
            return error  # of this process, such as a MemoryError
        text = "".join(traceback.format_exception_only(error))
        cancelled = re.search(r"Job \d+ cancelled\b.*", text)
        if cancelled:
            return WorkerLostError(
                f"somebody has cancelled the job of the run ({cancelled[0].strip()})", "the same again"
            )
        failed = _Failed(_error(text))
        tried = re.search(r"Task (\d+) in stage (\d+)\.\d+ failed (\d+) times", text)
        if tried:
            failed.attempts = int(tried[3])
            with suppress(Exception):  # the context may have been stopped meanwhile
                if self._stages()[0].stageId == int(tried[2]):
                    failed.index = int(tried[1])
        return failed


def _action(listed: Any, sent: Any, told: Any, piecemeal: bool, slices: int) -> Callable[[], list[Partial]]:
    """What computes an RDD of tasks: executors get these functions, and nothing of the driver but what they name."""

    def compute(task: Task) -> Partial:
        made = attempt(sent.value[task.plan], task)
        if made.failures:
            told.add(made.failures)
        return made

    def together(one: Partial, other: Partial) -> Partial:
        return merge(load_all(list(sent.value.values())), [one, other])

    def of_slices(task: Task) -> list[tuple[int, Partial]]:
        return list(enumerate(by_slice(compute(task))))

    def reduced() -> list[Partial]:
        return [listed.map(compute).treeReduce(together)]

    if slices > 1:  # records of Spark are smaller than 2 GB
        apart = listed.flatMap(of_slices)
        collect: Callable[[], list[Partial]] = (
            (apart if piecemeal else apart.reduceByKey(together, slices)).values().collect
        )
        return collect
    if piecemeal or listed.getNumPartitions() <= _BROUGHT:
        action: Callable[[], list[Partial]] = listed.map(compute).collect
        return action
    return reduced


class _Lists:
    """Spark's accumulator for failures, which reach the driver as soon as a task has ended, not with the job."""

    def zero(self, value: list[Failure]) -> list[Failure]:
        return []

    def addInPlace(self, one: list[Failure], other: list[Failure]) -> list[Failure]:  # noqa: N802
        return [*one, *other]


def _is_stopped(context: Any) -> bool:
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:  # it has no Java object any longer, or Java has ended
        return True


def _stopped() -> WorkerLostError:
    return WorkerLostError(
        "the context of Spark has been stopped, or its Java process has ended", "a new session"
    )


def _error(text: str) -> Exception:
    """What the text of a Spark error means."""
    reason = _reason(text)
    # Functions are sent by name, too, which another version may not have.
    lacks = (
        r"(ModuleNotFoundError|ImportError): |AttributeError: Can't get attribute '\w+' on <module 'colonnade"
    )
    if re.match(lacks, reason) or "different version" in reason:
        return UnsupportedError(
            f"the Python of Spark's workers cannot run tasks ({reason})",
            "PYSPARK_PYTHON, a Python on the workers of the same version and with the same packages as here",
        )
    if "spark.driver.maxResultSize" in reason:
        return ResourceError(
            f"the results are larger than what the driver of Spark accepts ({reason})",
            "a larger spark.driver.maxResultSize; snapshot() to write the rows to files, or iterate() to get them in "
            "steps",
        )
    return WorkerLostError(reason)


def _reason(text: str) -> str:
    """The reason of a Spark error: the last line of a worker's traceback, or the master's message."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [re.sub(r"^: (\w+\.)*\w+: ", "", line) for line in lines if not re.match(r"at |\.\.\. \d", line)]
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
