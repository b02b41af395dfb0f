"""Data frames on many processes and machines: one plan, tasks over stretches of entries, results that merge.

`DataFrame("Events", files, executor=client)` is all that a user writes. Below it are

- `Plan`: what a run computes, as data; `DataFrame.freeze` makes one, `Plan.tasks` cuts it,
- `count_ranges`: what ranges behind filters let pass of each stretch, counted before,
- `run_task`: what a worker does, giving a `Partial`,
- `merge`: puts partials together, in any grouping and order,
- `Plan.finish`: gives the results back to the DataFrame,

and engines, which carry tasks to workers: any `concurrent.futures.Executor`, Dask, Spark, processes of this machine.
"""

from __future__ import annotations

from colonnade.frame.session import Skipped

from .driver import remote_of
from .engines import Engine
from .partials import Failure, Partial, Piece
from .plans import Plan
from .ranges import Reached, count_ranges
from .tasks import Task
from .worker import merge, run_task

__all__ = [
    "Engine",
    "Failure",
    "Partial",
    "Piece",
    "Plan",
    "Reached",
    "Skipped",
    "Task",
    "count_ranges",
    "merge",
    "remote_of",
    "run_task",
]
