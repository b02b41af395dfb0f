"""Workers compute tasks of a plan and merge partial results. They keep plans, so that tasks are cheap."""

from __future__ import annotations

import atexit
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, overload

from colonnade import _core
from colonnade.errors import (
    Error,
    FileMissingError,
    FormatError,
    StorageError,
    TypeMismatchError,
    UsageError,
)
from colonnade.locks import ProcessLock

from .exceptions import sendable
from .partials import Counters, Failure, Key, Partial, Piece, costs_of, joined
from .plans import Plan
from .snapshots import check_wanted, give_up, part_booking, parts_of, saved_parts
from .surveys import LoadedSurvey, Survey
from .tasks import Task

__all__ = ["LoadedPlan", "PlanMissingError", "Work", "attempt", "is_of_files", "loaded", "merge", "run_task"]

Work: TypeAlias = Plan | Survey
"""The origin of tasks."""

_MOST_PLANS = 16
"""The number of plans that a process keeps."""


class LoadedPlan:
    """A plan with graphs for its tasks: as many as have run at the same time."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._lock = ProcessLock()
        self._idle: dict[tuple[int, ...], list[Graph]] = {}

    @contextmanager
    def graph(self, results: tuple[int, ...]) -> Iterator[Graph]:
        """Yield a graph with some of the results booked, for the caller alone. After an error it is not used again."""
        with self._lock:
            idle = self._idle.setdefault(results, [])
            graph = idle.pop() if idle else None
        if graph is None:
            graph = Graph(self.plan, results)
        yield graph
        with self._lock:
            idle.append(graph)

    @contextmanager
    def merged(self, result: int, pieces: Sequence[bytes]) -> Iterator[tuple[_core.FrameGraph, int]]:
        """Yield a graph that has merged pieces of a result, and the result's number in it."""
        # One graph with all results merges everything: callables are bound, and perhaps compiled, only once.
        with self.graph(tuple(range(len(self.plan)))) as graph:
            graph.core.begin_anew()
            graph.core.set_stretch(*self.plan.entries, [])  # what is merged is of stretches
            number = graph.numbers[result]
            for each in pieces:
                graph.core.merge_result(number, each)
            yield graph.core, number

    def run(self, task: Task, threads: int) -> Partial:
        """Compute a task; see `run_task`."""
        self._check(task)
        failed: tuple[int, ...] = ()
        try:
            self.plan.set_up()
            with self.graph(task.results) as graph, graph.writing(task) as places:
                try:
                    report = graph.compute(task, threads)
                except BaseException:
                    failed = graph.failed()
                    raise
                pieces: dict[Key, list[Piece]] = {}
                for result in task.results:
                    failed = (result,)  # if it cannot be saved
                    saved = [saved_parts([places[result]])] if result in places else graph.saved(result)
                    pieces[task.plan, result] = [
                        Piece(task.first, task.last, data, k) for k, data in enumerate(saved)
                    ]
                failed = ()
                costs = {task.plan: costs_of(graph.core.last_costs)}
        except (Exception, SystemExit) as error:
            if not isinstance(error, Error):  # whose messages say where
                error.add_note(f"while {task.where} were computed")
            return Partial(failures=[Failure(task, sendable(error), failed)], counters=Counters(tasks=1))
        progress = report.progress
        counters = Counters(1, task.last - task.first, progress.bytes, progress.cache_bytes, progress.seconds)
        return Partial(pieces, [], counters, costs)

    def _check(self, task: Task) -> None:
        begin, end = self.plan.entries
        if not begin <= task.first <= task.last <= end or not set(task.results) <= set(range(len(self.plan))):
            raise UsageError("the plan has no such task", "a task of `Plan.tasks`")
        counted = {node for node, _, _ in task.reached}
        for result in task.results:
            if not counted.issuperset(self.plan.ranges(result)) and task.first != self.plan.entries[0]:
                raise UsageError(
                    "the result follows a range, and the task does not say how many entries reached it before",
                    "tasks with `reached`, of `Plan.tasks(n, count_ranges(...))`",
                )

    def merge(self, result: int, pieces: Sequence[bytes], part: int = 0) -> bytes:
        """Merge consecutive pieces of one slice of a result."""
        if self.plan.is_snapshot(result):
            return saved_parts(place for each in pieces for place in parts_of(each))
        with self.merged(result, pieces) as (graph, number):
            return graph.save_result(number, part, self.plan.slices(result))

    def nothing(self, result: int, part: int = 0) -> bytes:
        """The piece of a result without entries, or a slice of it."""
        if self.plan.is_snapshot(result):
            return saved_parts([])
        with self.graph((result,)) as graph:
            graph.compute(
                Task(self.plan.fingerprint, self.plan.entries[0], self.plan.entries[0], (result,)), 1
            )
            return graph.saved(result)[part]


class Graph:
    """The graph of a plan with some results booked."""

    def __init__(self, plan: Plan, results: tuple[int, ...]) -> None:
        self.core = plan.graph()
        self.numbers: dict[int, int] = {}
        """By the index of the result in the plan."""
        self._parts: dict[int, int] = {}
        """Of the snapshots of the task that is running."""
        self._plan = plan
        for result in results:
            if not plan.is_snapshot(result):
                self.numbers[result] = self._booked(plan, result)

    def compute(self, task: Task, threads: int) -> _core.RunReport:
        """Compute the results of some entries from the start."""
        self.core.begin_anew()
        self.core.set_stretch(task.first, task.last, list(task.reached))
        return _core.run_graphs([self.core], threads, None)

    def failed(self) -> tuple[int, ...]:
        """The results that made the last computation fail."""
        numbers = self.numbers | self._parts
        return tuple(result for result, number in numbers.items() if self.core.is_failed(number))

    def saved(self, result: int) -> list[bytes]:
        """A result as bytes, in the plan's number of slices."""
        slices = self._plan.slices(result)
        return [self.core.save_result(self.numbers[result], part, slices) for part in range(slices)]

    def _booked(self, plan: Plan, result: int) -> int:
        number = plan.booking(result).book(self.core)
        if plan.is_varied(result):
            self.core.vary_result(number)
        return number

    @contextmanager
    def writing(self, task: Task) -> Iterator[dict[int, tuple[str, str]]]:
        """Book the snapshots of a task while it runs; yields their places."""
        places = {}
        try:
            for result in task.results:
                if self._plan.is_snapshot(result):
                    booking, places[result] = part_booking(self._plan.booking(result), task)
                    self._parts[result] = booking.book(self.core)
                    if self._plan.is_varied(result):
                        self.core.vary_result(self._parts[result])
            yield places
            for result in places:
                check_wanted(self._plan.booking(result))
        except BaseException:
            for result, place in places.items():
                give_up(self._plan.booking(result), place)
            raise
        finally:
            while self._parts:
                self.core.drop(self._parts.popitem()[1])


Loaded: TypeAlias = "LoadedPlan | LoadedSurvey"

_plans: OrderedDict[str, Loaded] = OrderedDict()
_plans_lock = ProcessLock()
atexit.register(_plans.clear)  # while there is an interpreter to destroy the callables


@overload
def loaded(plan: Plan) -> LoadedPlan: ...
@overload
def loaded(plan: Work | bytes) -> Loaded: ...
def loaded(plan: Work | bytes) -> Loaded:
    """Return a plan ready for tasks; this process's own if it is the same."""
    fingerprint = hashlib.sha256(plan).hexdigest() if isinstance(plan, bytes) else plan.fingerprint
    with _plans_lock:
        known = _plans.get(fingerprint)
        if known is None:
            known = _plans[fingerprint] = _made(plan)
        _plans.move_to_end(fingerprint)
        while len(_plans) > _MOST_PLANS:
            _plans.popitem(last=False)
    return known


def _made(plan: Work | bytes) -> Loaded:
    if isinstance(plan, Survey):
        return LoadedSurvey(plan)
    if isinstance(plan, Plan):
        return LoadedPlan(Plan(plan.text))  # a plan made by a DataFrame keeps a reference to it
    return LoadedSurvey(Survey.from_bytes(plan)) if Survey.is_one(plan) else LoadedPlan(Plan.from_bytes(plan))


def is_of_files(error: BaseException) -> bool:
    """Whether the data caused an error, rather than the request."""
    return isinstance(error, StorageError | FormatError | FileMissingError)


def run_task(plan: Work | bytes, task: Task, threads: int = 1) -> Partial:
    """Compute a task.

    Args:
        plan: the plan, or its bytes.
        task: one of its tasks.
        threads: the number of threads.

    Returns:
        A piece for each of its results; or none, and the failure. Errors are not raised, so that an engine does not
        mistake them for errors of a worker.

    Raises:
        UsageError: the task is of another plan.
    """
    known = loaded(plan)
    if task.plan != known.plan.fingerprint:
        raise UsageError("the task belongs to another plan", "the plan that made it")
    return known.run(task) if isinstance(known, LoadedSurvey) else known.run(task, threads)


class PlanMissingError(LookupError):
    """A process got the fingerprint of a plan that it does not have."""


def attempt(plan: bytes | str, task: Task) -> Partial:
    """Compute a task for an engine: all errors of this process are failures of the task, too.

    Args:
        plan: the plan, or its fingerprint if this process should have it.
        task: one of its tasks.
    """
    try:
        if isinstance(plan, str):
            with _plans_lock:
                known = _plans.get(plan)
            if known is None:
                raise PlanMissingError(plan)
            return run_task(known.plan, task)
        return run_task(plan, task)
    except (
        BaseException
    ) as error:  # a plan of another version, for example, or what ends a test within a callable
        return Partial(failures=[Failure(task, sendable(error))], counters=Counters(tasks=1))


def merge(plans: Work | Sequence[Work | bytes], partials: Sequence[Partial]) -> Partial:
    """Merge partial results, in any grouping and order, without reading data.

    Args:
        plans: the plans of the partial results.
        partials: of tasks, or merged before.

    Returns:
        One partial, in which consecutive pieces are merged.

    Raises:
        UsageError: entries are included twice, or a piece is of another plan.
        FormatError: a piece is damaged.
    """
    listed = [plans] if isinstance(plans, Plan | Survey) else list(plans)
    if isinstance(partials, Partial) or not isinstance(partials, Iterable):
        raise TypeMismatchError(f"{partials!r} is not a list of partial results", "[partial]")
    known = {each.plan.fingerprint: each for each in map(loaded, listed)}
    made = joined(partials)
    for key, pieces in made.pieces.items():
        if key[0] not in known or key[1] not in range(len(known[key[0]].plan)):
            raise UsageError(
                "a partial result belongs to another plan", "merge the partial results of one plan only"
            )
        made.pieces[key] = list(_together(known[key[0]], key[1], pieces))
    return made


def _together(plan: Loaded, result: int, pieces: list[Piece]) -> Iterator[Piece]:
    run: list[Piece] = []
    for piece in [*pieces, None]:
        if piece is not None and (not run or (piece.slice == run[-1].slice and piece.first == run[-1].last)):
            run.append(piece)
            continue
        if run:
            yield _merged(plan, result, run)
        run = [] if piece is None else [piece]


def _merged(plan: Loaded, result: int, run: list[Piece]) -> Piece:
    data = [piece.data for piece in run if piece.data is not None]
    part = run[0].slice
    merged = data[0] if len(data) == 1 else plan.merge(result, data, part) if data else None
    return Piece(run[0].first, run[-1].last, merged, part)
