"""A cluster that is simulated around the real planner, driver and merger: up to 10 000 workers and a petabyte.

Tasks are those of a plan, what they give is merged by the functions that real workers call, and the driver and what it
knows of late tasks are the real ones. Simulated is what takes time: tasks read and decode at the measured rate of a
core, or share what their node's link (25 Gb/s for 32 workers) and the object store (50 GB/s for all) can serve; some
tasks are stragglers, some workers are lost with their task. Events are in the order of their times; nothing sleeps.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import colonnade
from colonnade import distributed
from colonnade.distributed import Failure, Partial, Piece, Task
from colonnade.distributed.driver import Driver
from colonnade.distributed.engines import WorkerLostError
from colonnade.distributed.tail import Tail

__all__ = ["Machine", "Outcome", "simulate"]

GROUP = 8
"""Partial results that are merged to one, as on Dask."""


@dataclass(frozen=True)
class Machine:
    """What a cluster is made of; rates in bytes per second, times in seconds."""

    core_rate: float
    """Stored bytes that one worker goes through."""
    per_task: float
    """What a task takes beyond its bytes."""
    per_message: float = 0.0005
    """What the scheduler takes for a task or a result."""
    per_merge: float = 0.002
    link: float = 25e9 / 8
    workers_of_node: int = 32
    store: float = 50e9
    stragglers: float = 0.01
    """The share of tasks that take five times as long."""
    losses: float = 0.0005
    """The share of tasks whose worker is lost in the middle."""

    def limit(self, workers: int, size: float) -> tuple[float, str]:
        """Seconds that so many bytes take at least, and what does not let it be less."""
        nodes = -(-workers // self.workers_of_node)
        rates = {"cores": workers * self.core_rate, "links": nodes * self.link, "store": self.store}
        what = min(rates, key=lambda name: rates[name])
        return size / rates[what], what

    def rate(self, active: int, nodes: int) -> float:
        """Of each task, while so many are at work."""
        return min(self.core_rate, self.link / -(-active // nodes), self.store / active)


@dataclass
class Outcome:
    """What a simulated run was like."""

    workers: int
    bytes: float
    tasks: int = 0
    seconds: float = 0
    idle: float = 0
    """The share of the workers' time in which they had nothing to do that was of use."""
    client_bytes: int = 0
    merge_depth: int = 0
    lost: int = 0
    repeated: int = 0
    """Late tasks that were begun once more."""

    @property
    def rate(self) -> float:
        return self.bytes / self.seconds


@dataclass
class _Attempt:
    task: Task
    begun: float
    work: float
    """Bytes, times how slow it is."""
    is_lost: bool
    is_active: bool = field(default=False)
    is_over: bool = field(default=False)


class Cluster:
    """An engine whose workers are simulated; partial results are real.

    All tasks that are at work go forward at the same rate, so one number says how far each would be.
    """

    def __init__(self, workers: int, machine: Machine, size: float, entries: int, seed: int = 1) -> None:
        self.slots = workers
        self.outcome = Outcome(workers, size)
        self._machine, self._bytes_per_entry = machine, size / entries
        self._nodes = -(-workers // machine.workers_of_node)
        self._random, self._numbers = random.Random(seed), itertools.count()
        self._now = self._done = self._busy = self._scheduler = 0.0
        self._active = self._at_work = 0
        self._attempts: dict[Task, list[_Attempt]] = {}
        self._beginning: list[Any] = []
        self._ending: list[Any] = []

    def run(self, plans: Sequence[Any], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield lost tasks as they are missed, and what all others gave at the end."""
        template = distributed.run_task(plans[0], Task(tasks[0].plan, 0, 0, tasks[0].results))
        tail = Tail(plans, self.slots, lambda: self._now)
        levels: dict[int, list[Partial]] = {}
        while tasks or not tail.is_over:
            for _ in range(min(self.slots - self._at_work, len(tasks))):
                task = tasks.popleft()
                tail.begin(task)
                self._begin(task)
            for task in [] if tasks else tail.copies():
                self.outcome.repeated += 1
                self._begin(task)
            ended = self._next(None if tasks else tail.pause)
            if ended is None:
                continue
            task = ended.task
            self._attempts[task].remove(ended)
            self._at_work -= 1
            if not tail.ends(task, ended.is_lost):
                continue
            for other in self._attempts.pop(task):  # late or early: it is of no use any more
                other.is_over = True
                self._active -= other.is_active
                self._at_work -= 1
            if ended.is_lost:
                self.outcome.lost += 1
                yield Partial(failures=[Failure(task, WorkerLostError("simulated"))])
                continue
            self.outcome.tasks += 1
            self._busy += self._now - ended.begun
            pieces = {
                key: [Piece(task.first, task.last, found[0].data)] for key, found in template.pieces.items()
            }
            self._collect(plans, levels, 0, Partial(pieces))
        rest = [partial for level in sorted(levels) for partial in levels[level]]
        if rest:
            self.outcome.merge_depth = max(self.outcome.merge_depth, max(levels) + 1)
            whole = distributed.merge(plans, rest)
            self._now += self._machine.per_merge * len(rest) / GROUP
            self.outcome.client_bytes += len(whole.to_bytes())
            yield whole
        self.outcome.seconds = self._now
        self.outcome.idle = 1 - self._busy / (self._now * self.slots)

    def _begin(self, task: Task) -> None:
        """Have the scheduler send a task, which takes its turn."""
        machine = self._machine
        self._scheduler = max(self._scheduler, self._now) + machine.per_message
        work = (task.last - task.first) * self._bytes_per_entry * self._random.uniform(0.9, 1.1)
        if self._random.random() < machine.stragglers:
            work *= 5
        is_lost = self._random.random() < machine.losses
        attempt = _Attempt(task, self._scheduler, work * (self._random.random() if is_lost else 1), is_lost)
        self._attempts.setdefault(task, []).append(attempt)
        self._at_work += 1
        heapq.heappush(self._beginning, (self._scheduler + machine.per_task, next(self._numbers), attempt))

    def _next(self, pause: float | None) -> _Attempt | None:
        """Go on to the next end of a task; None when a pause has passed before."""
        until = float("inf") if pause is None else self._now + pause
        while True:
            while self._ending and self._ending[0][2].is_over:
                heapq.heappop(self._ending)
            rate = self._machine.rate(self._active, self._nodes) if self._active else 0.0
            begins = self._beginning[0][0] if self._beginning else float("inf")
            ends = self._now + (self._ending[0][0] - self._done) / rate if self._ending else float("inf")
            then = min(begins, ends, until)
            self._done += (then - self._now) * rate
            self._now = then
            if then == begins:
                attempt = heapq.heappop(self._beginning)[2]
                if not attempt.is_over:
                    attempt.is_active = True
                    self._active += 1
                    heapq.heappush(self._ending, (self._done + attempt.work, next(self._numbers), attempt))
            elif then == ends:
                ended: _Attempt = heapq.heappop(self._ending)[2]
                self._active -= 1
                return ended
            else:
                return None

    def _collect(self, plans: Any, levels: dict[int, list[Partial]], level: int, partial: Partial) -> None:
        """Merging is done by workers beside their tasks, and takes time of theirs."""
        levels.setdefault(level, []).append(partial)
        if len(levels[level]) == GROUP:
            merged = distributed.merge(plans, levels.pop(level))
            self._busy += self._machine.per_merge
            self._collect(plans, levels, level + 1, merged)


def simulate(workers: int, size: float, machine: Machine, *, seed: int = 1) -> Outcome:
    """Run a histogram over `size` stored bytes on simulated workers.

    The data set is made of entries without columns; each stands for as many bytes as the parts of real data have.
    """
    entries = 1 << 36
    cluster = Cluster(workers, machine, size, entries, seed)
    df = colonnade.DataFrame(entries, progress=False)
    df._session.remote = Driver(cluster)
    booked = df.count(), df.define("x", "rdfentry_ % 1000").histo1d(("h", "", 500, 0, 1000), "x")
    if booked[1].value is None or not booked[0].is_ready:
        raise AssertionError("the run has no results")
    return cluster.outcome
