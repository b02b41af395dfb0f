"""A cluster that is simulated around the real planner, driver and merger: up to 10 000 workers and a petabyte.

Tasks are those of a plan, what they give is merged by the functions that real workers call, and the driver is the real
one. Simulated is what takes time: a task reads and decodes at the measured rate of a core, as long as its node's link
(25 Gb/s for 32 workers) and the object store (50 GB/s for all) can serve it; some tasks are stragglers, some workers
are lost with their task. Events are in the order of their times; nothing sleeps.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import colonnade
from colonnade import distributed
from colonnade.distributed import Failure, Partial, Piece, Task
from colonnade.distributed.driver import Driver
from colonnade.distributed.engines import WorkerLostError

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


@dataclass
class Outcome:
    """What a simulated run was like."""

    workers: int
    bytes: float
    tasks: int
    seconds: float = 0
    idle: float = 0
    """The share of the workers' time that they had nothing to do."""
    client_bytes: int = 0
    merge_depth: int = 0
    lost: int = 0

    @property
    def rate(self) -> float:
        return self.bytes / self.seconds


class Cluster:
    """An engine whose workers are simulated; partial results are real."""

    def __init__(self, workers: int, machine: Machine, bytes_per_entry: float, seed: int = 1) -> None:
        self.slots = workers
        self.outcome = Outcome(workers, 0, 0)
        self._machine, self._bytes_per_entry = machine, bytes_per_entry
        self._random = random.Random(seed)
        self._now = 0.0
        self._busy = 0.0

    def run(self, plans: Sequence[Any], tasks: deque[Task], piecemeal: bool) -> Generator[Partial]:
        """Yield lost tasks as they are missed, and what all others gave at the end."""
        template = distributed.run_task(plans[0], Task(tasks[0].plan, 0, 0, tasks[0].results))
        running: list[Any] = []
        idle, scheduler = self.slots, self._now
        levels: dict[int, list[Partial]] = {}
        while tasks or running:
            while tasks and idle:
                task = tasks.popleft()
                idle -= 1
                self.outcome.tasks += 1
                scheduler = max(scheduler, self._now) + self._machine.per_message
                taken, is_lost = self._seconds(task, self.slots - idle)
                self._busy += taken
                heapq.heappush(running, (scheduler + taken, self.outcome.tasks, task, is_lost))
            self._now, _, task, is_lost = heapq.heappop(running)
            idle += 1
            if is_lost:
                self.outcome.lost += 1
                yield Partial(failures=[Failure(task, WorkerLostError("simulated"))])
                continue
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

    def _collect(self, plans: Any, levels: dict[int, list[Partial]], level: int, partial: Partial) -> None:
        """Merging is done by workers beside their tasks, and takes time of theirs."""
        levels.setdefault(level, []).append(partial)
        if len(levels[level]) == GROUP:
            merged = distributed.merge(plans, levels.pop(level))
            self._busy += self._machine.per_merge
            self._collect(plans, levels, level + 1, merged)

    def _seconds(self, task: Task, active: int) -> tuple[float, bool]:
        """How long a task takes while so many are running, and whether its worker is lost."""
        machine = self._machine
        size = (task.last - task.first) * self._bytes_per_entry
        self.outcome.bytes += size
        nodes = max(1, -(-active // machine.workers_of_node))
        of_network = min(machine.link * nodes, machine.store) / active
        seconds = machine.per_task + size / min(machine.core_rate, of_network)
        seconds *= self._random.uniform(0.9, 1.1)
        if self._random.random() < machine.stragglers:
            seconds *= 5
        if self._random.random() < machine.losses:
            self.outcome.bytes -= size
            return seconds * self._random.random(), True
        return seconds, False


def simulate(
    workers: int, size: float, machine: Machine, *, tasks_per_worker: int = 4, seed: int = 1
) -> Outcome:
    """Run a histogram over `size` stored bytes on simulated workers.

    The data set is made of entries without columns; each stands for as many bytes as the parts of real data have.
    """
    entries = 1 << 36
    cluster = Cluster(workers, machine, size / entries, seed)
    driver = Driver(cluster, tasks_per_worker * workers)
    df = colonnade.DataFrame(entries, progress=False)
    df._session.remote = driver
    booked = df.count(), df.define("x", "rdfentry_ % 1000").histo1d(("h", "", 500, 0, 1000), "x")
    if booked[1].value is None or not booked[0].is_ready:
        raise AssertionError("the run has no results")
    return cluster.outcome
