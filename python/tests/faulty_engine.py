"""An engine for tests on which all goes wrong that may: answers are lost, late and there twice, and workers give up."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from typing import Any

from colonnade import distributed
from colonnade.distributed import Failure, Partial, Task
from colonnade.distributed.engines import WorkerLostError
from colonnade.errors import StorageError

MOST_ATTEMPTS = 4


class Faulty:
    """Tasks in any order, some of which fail as long as they may be tried again; partial results in any groups."""

    slots = 5

    def __init__(self, seed: int, before: Callable[[int, Task], object] | None = None) -> None:
        """Decide by a seed; `before` is called before each task with the number of those that are done."""
        self._random, self._before = random.Random(seed), before
        self.faults = self.done = 0

    def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Generator[Partial]:
        """Yield failures, and what is left of the rest after some merging."""
        known = {plan.fingerprint: plan.to_bytes() for plan in plans}
        made: list[Partial] = []
        while tasks:
            taken = [tasks.popleft() for _ in range(self._random.randint(1, len(tasks)))]
            for task in self._random.sample(taken, len(taken)):
                partial = self._computed(known[task.plan], task)
                if partial.failures or piecemeal:
                    yield partial
                else:
                    made.append(partial)
                self._merge_some(known, made)
            if self._random.random() < 0.3:
                yield from made
                made = []
        yield from made

    def _computed(self, plan: bytes, task: Task) -> Partial:
        if self._before is not None:
            self._before(self.done, task)
        self.done += 1
        how = self._random.random()
        may_fail = task.attempt + 1 < MOST_ATTEMPTS
        if how < 0.15 or (how < 0.3 and may_fail):
            distributed.run_task(plan, task)  # done, and nobody hears of it
        if how < 0.4 and may_fail:
            self.faults += 1
            errors = [WorkerLostError("killed"), StorageError("the server does not answer")]
            failure = Failure(task, self._random.choice(errors), worker=self._random.choice(["", "a", "b"]))
            return Partial(failures=[failure])
        return Partial.from_bytes(distributed.run_task(plan, task).to_bytes())

    def _merge_some(self, known: dict[str, bytes], made: list[Partial]) -> None:
        while len(made) > 1 and self._random.random() < 0.5:
            size = min(len(made), self._random.randint(2, 4))
            chosen = [made.pop(self._random.randrange(len(made))) for _ in range(size)]
            made.append(Partial.from_bytes(distributed.merge(list(known.values()), chosen).to_bytes()))
