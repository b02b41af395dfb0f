"""An engine for tests: it does everything in this process, in an order and a grouping that a seed decides."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

from colonnade import distributed
from colonnade.distributed import Partial


class Shuffled:
    """An engine of this process: tasks in any order, partial results merged in any groups, through bytes."""

    slots = 5

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Generator[Partial]:
        """Yield what is left after some merging."""
        known = {plan.fingerprint: plan.to_bytes() for plan in plans}
        shuffled = self._random.sample(list(tasks), len(tasks))
        tasks.clear()
        made = [distributed.run_task(known[task.plan], task) for task in shuffled]
        while not piecemeal and len(made) > 1 and self._random.random() < 0.9:
            chosen = [
                made.pop(self._random.randrange(len(made)))
                for _ in range(min(len(made), self._random.randint(2, 4)))
            ]
            merged = distributed.merge(list(known.values()), chosen)
            made.append(Partial.from_bytes(merged.to_bytes()))
        yield from made
