"""Data frames on many processes and machines: one plan, tasks over stretches of entries, results that merge.

Users write `DataFrame("Events", files, executor=client)`. Its parts are

- `Plan`: the work of a run, as data; `DataFrame.freeze` makes one, `Plan.tasks` cuts it,
- `count_ranges`: counts in advance the rows of each stretch that reach ranges behind filters,
- `run_task`: computes a task on a worker, and returns a `Partial`,
- `merge`: merges partials, in any grouping and order,
- `Plan.finish`: returns the results to the DataFrame,

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
