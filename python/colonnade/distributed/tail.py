"""The end of a run: idle workers repeat the last tasks, of which some take very long.

The first result of a task is used; both have the same bits. Tasks with side effects - snapshots, and
callables that are called for their side effects - are not repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from .tasks import Task
from .worker import Work

__all__ = ["Tail"]

_SLOW = 1.5
"""A task is late after this multiple of the average duration."""
_AT_LEAST = 0.5
"""A task is not late before this number of seconds."""
_LOOKS_EVERY = 0.25
"""Seconds between two looks."""


class Tail:
    """The tasks of a run, and their workers."""

    def __init__(
        self, plans: Sequence[Work], slots: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slots, self._clock = slots, clock
        self._plans = {plan.fingerprint: plan for plan in plans}
        self._began = clock()
        self._since: dict[Task, float] = {}
        """The last start of each running task."""
        self._copies: dict[Task, int] = {}
        """The number of running copies of each task."""
        self._ended = self._at_work = 0
        self._is_short = False
        self._looked = self._began

    @property
    def is_over(self) -> bool:
        """Whether all tasks that began have a result, or have failed."""
        return not self._copies

    @property
    def pause(self) -> float | None:
        """Seconds until the next search for late tasks; None if there is nothing to gain."""
        return _LOOKS_EVERY if 0 < len(self._copies) < self._slots else None

    def begin(self, task: Task) -> None:
        """Note that a task was sent."""
        self._since[task] = self._clock()
        self._copies[task] = 1
        self._at_work += 1
        self._is_short = False

    def ends(self, task: Task, failed: bool = False) -> bool:
        """Note that a task ended; returns whether its result counts.

        It does not count if the task is done already, or if it failed and another worker is still trying it.
        """
        if task not in self._copies:
            return False
        self._copies[task] -= 1
        self._at_work -= 1
        if failed and self._copies[task] > 0:
            return False
        self._at_work -= self._copies[task]
        del self._copies[task], self._since[task]
        self._ended += 1
        if not self._is_short and len(self._copies) <= self._slots:
            # From now on all tasks are running, and none waits for a worker.
            self._is_short = True
            now = self._clock()
            self._since = dict.fromkeys(self._since, now)
        return True

    def copies(self) -> list[Task]:
        """Return late tasks to repeat now, as many as there are idle workers."""
        idle = self._slots - self._at_work
        now = self._clock()
        if idle <= 0 or not self._is_short or self._ended == 0 or now - self._looked < _LOOKS_EVERY:
            return []
        self._looked = now
        average = (now - self._began) * self._slots / (self._ended + len(self._copies))
        limit = now - max(_SLOW * average, _AT_LEAST)
        late = [task for task, since in self._since.items() if since < limit and self._copies[task] == 1]
        chosen = [task for task in late if self._plans[task.plan].may_repeat(task.results)][:idle]
        for task in chosen:
            self._copies[task] += 1
        self._at_work += len(chosen)
        return chosen
