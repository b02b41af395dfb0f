"""The driver: cuts the work of DataFrames into tasks, runs them with an engine, and returns the results.

Tasks whose worker was lost, or that could not read their files, are tried again. Entries that still cannot be read are
an error, or are left out, as the user chooses. A folder can keep the pieces of each result.
"""

from __future__ import annotations

import bisect
import hashlib
import os
import secrets
import tempfile
import time
import warnings
import weakref
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from colonnade import _core
from colonnade.errors import ResourceError, StorageError, UnsupportedError, UsageError
from colonnade.frame.progress import PassBar, Tasks
from colonnade.frame.session import RemoteRun, Session, Skipped
from colonnade.misuse import path_text

from .engines import Engine, InThisProcess, WorkerLostError, engine_of
from .partials import Costs, Counters, Failure, Partial, Piece, joined
from .plans import Plan, failing, freeze
from .ranges import Compute, count_ranges
from .snapshots import commit, parts_of
from .surveys import Survey
from .tasks import Task, divided, halves
from .worker import Work, is_of_files, loaded, merge

__all__ = ["Driver", "finish", "here", "remote_of"]

_ATTEMPTS = 4
"""The number of attempts for a task."""
_ATTEMPTS_OF_ONE_WORKER = 12
"""If all were of one worker: as its tasks fail at once, it is idle, and schedulers may move tasks to it again."""
_TASKS_PER_SLOT = 4
"""Long tasks per slot; with the shorter ones at the end there are about eight."""
_MOST_TASKS = 1 << 13
"""If that is at least one for each worker thread."""
_MERGED_AT = 16
"""The number of partial results that are merged at once."""
_MANY_FILES = 500
"""From this number of files on, workers open them: fewer are opened faster than a task runs."""
_SHOWN_EVERY = 0.5
"""The least number of seconds between two updates of partial results."""


def remote_of(
    executor: Any,
    npartitions: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    checkpoint: str | os.PathLike[str] | None = None,
) -> Driver:
    """Return the driver for a DataFrame; see `colonnade.DataFrame` for the arguments."""
    if npartitions is not None and (isinstance(npartitions, bool) or npartitions < 1):
        raise UsageError(f"npartitions={npartitions!r} is not a number of tasks", "1, 2, ...")
    kept = None if checkpoint is None else Checkpoint(path_text(checkpoint))
    engine = engine_of(executor)
    of = engine if isinstance(executor, int) else executor
    key = id(of), npartitions, on_error, kept and kept.folder
    driver = _shared.get(key)
    if driver is None:
        driver = _shared[key] = Driver(engine, npartitions, on_error == "skip", kept)
        driver.executor = executor  # as long as it exists, no other one has its id
    return driver


def here() -> Driver:
    """Return a driver that computes in this process, task by task."""
    return Driver(InThisProcess(), 32)


_shared: weakref.WeakValueDictionary[tuple[object, ...], Driver] = weakref.WeakValueDictionary()
"""The drivers of DataFrames with the same executor and options, whose results are computed together."""

Counts = tuple[tuple[int, str, int], ...]
"""`Task.reached`."""
Where = tuple[str, int, int]
"""The fingerprint of a plan, and a stretch of its entries."""


class Checkpoint:
    """Pieces of results in a folder. Damaged ones are computed again."""

    def __init__(self, folder: str) -> None:
        if not folder or not _core.is_local_file(folder):
            raise UsageError("checkpoints are files in a local folder", "the path of one", uri=folder)
        self.folder = Path(_core.local_path(folder)).absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise StorageError(
                f"checkpoints cannot be written ({error.strerror})", "another folder", uri=folder
            ) from error

    def _path(self, plan: Plan, result: int, first: int, last: int, reached: Counts, part: int) -> Path:
        own = [each for each in reached if each[0] in plan.ranges(result)]
        rows = f"-{hashlib.sha256(repr(own).encode()).hexdigest()[:16]}" if own else ""
        of_slice = f"-slice{part}" if part else ""
        return self.folder / f"{plan.key(result)[:32]}-{first}-{last}{rows}{of_slice}.piece"

    def stretches(self, plan: Plan) -> list[tuple[int, int]]:
        """Return disjoint stretches for which the folder has pieces of a plan, preferring those with most results."""
        keys = {plan.key(result)[:32] for result in range(len(plan)) if plan.may_keep(result)}
        names = [each.name.removesuffix(".piece").split("-") for each in self.folder.glob("*.piece")]
        found = Counter(
            (int(name[1]), int(name[2]))
            for name in names
            if len(name) == 3 and name[0] in keys and name[1].isdecimal() and name[2].isdecimal()
        )
        chosen, at = [], 0
        for first, last in sorted(found, key=lambda each: (each[0], -found[each])):
            if first >= at and last > first:
                chosen.append((first, last))
                at = last
        return chosen

    def load(self, plan: Plan, result: int, task: Task) -> list[Piece] | None:
        """Return the pieces of a task: all slices, or nothing."""
        pieces = []
        for part in range(plan.slices(result)):
            path = self._path(plan, result, task.first, task.last, task.reached, part)
            try:
                content = path.read_bytes()
            except OSError:
                return None
            if self._digest(path, content[32:]) != content[:32]:
                return None
            pieces.append(Piece(task.first, task.last, content[32:], part))
        return pieces

    def keep(self, plan: Plan, partial: Partial, reached: Mapping[Where, Counts]) -> bool:
        """Save pieces, each completely or not at all, up to the first that cannot be written; return if all were."""
        for (fingerprint, result), pieces in partial.pieces.items():
            if fingerprint != plan.fingerprint or not plan.may_keep(result):
                continue
            for piece in pieces:
                if piece.data is not None:
                    before = reached.get((fingerprint, piece.first, piece.last), ())
                    path = self._path(plan, result, piece.first, piece.last, before, piece.slice)
                    if not self._write(path, piece.data):
                        return False
        return True

    @staticmethod
    def _digest(path: Path, data: bytes) -> bytes:
        """The digest of a piece and its name, so that a renamed piece is not accepted."""
        return hashlib.sha256(path.name.encode() + data).digest()

    def _write(self, path: Path, data: bytes) -> bool:
        fresh = path.with_name(f".{path.name}-{secrets.token_hex(4)}.part")
        try:
            fresh.write_bytes(self._digest(path, data) + data)
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            warnings.warn(
                f"pieces of results are no longer kept for checkpoint='{self.folder}' ({error.strerror})",
                stacklevel=2,
            )
            return False
        return True


@dataclass
class _State:
    """The progress of a run, with the attributes that PassBar reads."""

    total: int
    begin: float
    entries: int = 0
    bytes: int = 0
    cache_bytes: int = 0
    tasks: int = 0
    workers: int = 0
    looked: float = float("-inf")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def tasks_of(self, engine: Engine, total: int) -> Tasks:
        """The progress of tasks. Engines count their workers at most twice a second, as some are remote."""
        if self.seconds - self.looked > _SHOWN_EVERY:
            self.workers, self.looked = engine.slots, self.seconds
        return Tasks(self.tasks, total, min(self.workers, max(total - self.tasks, 0)), self.workers)

    def add(self, counters: Counters) -> None:
        self.tasks += counters.tasks
        self.entries += counters.entries
        self.bytes += counters.bytes
        self.cache_bytes += counters.cache_bytes


class Driver:
    """Computes the results of DataFrames with an engine."""

    def __init__(
        self,
        engine: Engine,
        npartitions: int | None = None,
        skips: bool = False,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._engine, self._npartitions = engine, npartitions
        self.executor: Any = None
        """The user's."""
        self._skips, self._checkpoint = skips, checkpoint
        self._skipped: weakref.WeakKeyDictionary[Session, list[Skipped]] = weakref.WeakKeyDictionary()

    def skipped_of(self, session: Session) -> list[Skipped]:
        """Return the entries left out of the results of a DataFrame, in entry order."""
        return sorted(self._skipped.get(session, []), key=lambda each: each.first)

    def run(self, sessions: list[Session]) -> None:
        """Compute the booked results of DataFrames together."""
        with ExitStack() as stack:
            self._run([stack.enter_context(_planned(each)) for each in sessions], sessions)

    def run_planned(self, sessions: list[Session]) -> list[Session]:
        """Do the same for the DataFrames of which plans can be made, and return these."""
        plans, planned = [], []
        with ExitStack() as stack:
            for each in sessions:
                with suppress(UnsupportedError):  # arrays in memory, and callables that cannot be sent
                    plans.append(stack.enter_context(_planned(each)))
                    planned.append(each)
            if plans:
                self._run(plans, planned)
        return planned

    def _run(self, plans: list[Plan], sessions: list[Session]) -> None:
        _tell_apart(plans)
        run, partial = self._computed(plans, sessions)
        for plan, session in zip(plans, sessions, strict=True):
            finish(plan, session, partial)
            session.last_run = None
            session.last_remote = run.made_of(partial.costs.get(plan.fingerprint, {}))

    def _computed(self, plans: list[Plan], sessions: list[Session]) -> tuple[_Run, Partial]:
        """Compute plans; again if entries were left out that ranges had counted, or that kept pieces have."""
        while True:
            before = [set(self.skipped_of(session)) for session in sessions]
            run = _Run(self, plans, sessions, merges=True)
            tasks = [task for pair in zip(plans, sessions, strict=True) for task in self._tasks(*pair, run)]
            partial = run.do(tasks)
            fresh = [set(self.skipped_of(each)) - known for each, known in zip(sessions, before, strict=True)]
            if not any(
                skipped and (plan.has_ranges or run.has_kept(plan, skipped))
                for plan, skipped in zip(plans, fresh, strict=True)
            ):
                return run, partial

    def survey(
        self, files: list[tuple[str, str]], options: _core.ReadOptions, progress: bool | None
    ) -> list[str] | None:
        """Let workers describe many files, so that this process opens none; None if it had better open them."""
        if len(files) < _MANY_FILES or getattr(self._engine, "is_of_this_machine", False):
            return None
        survey = Survey.of([(_core.absolute_name(file), name) for file, name in files], options)
        run = _Run(Driver(self._engine), [survey], [], merges=True, progress=progress, what="opening")
        found = run.do(survey.tasks(self.target()[0]))
        (piece,) = merge(survey, [found]).pieces[survey.fingerprint, 0]
        texts = (piece.data or b"").decode().split("\n")
        return texts if all(texts) else None  # a schema that cannot be described

    def _tasks(self, plan: Plan, session: Session, run: _Run) -> list[Task]:
        target, slots = self.target()
        if not plan.has_ranges:
            tasks = plan.tasks(target, slots=slots)
            return tasks if self._checkpoint is None else self._as_kept(plan, tasks, self._checkpoint)
        skipped = {edge for each in self.skipped_of(session) for edge in (each.first, each.last)}
        stretches = divided(plan.stretches(target, slots), skipped)
        reached = count_ranges(plan, stretches, self.counting(session), wave=self._engine.slots)
        run.add(reached.rest())
        return plan.tasks(target, reached)

    @staticmethod
    def _as_kept(plan: Plan, tasks: list[Task], checkpoint: Checkpoint) -> list[Task]:
        """The same work, with the stretches of the kept pieces: the earlier run may have had other workers."""
        kept = checkpoint.stretches(plan)
        if not kept or not tasks:
            return tasks
        begins, edges = [first for first, _ in kept], {edge for each in kept for edge in each}
        rest = []
        for first, last in divided([(task.first, task.last) for task in tasks], edges):
            place = bisect.bisect_right(begins, first) - 1
            if place < 0 or first >= kept[place][1]:
                rest.append((first, last))
        return [plan.task(*each, tasks[0].results) for each in sorted([*kept, *rest])]

    def counting(self, session: Session) -> Compute:
        """Return a function that computes the tasks of plans that count rows for a DataFrame's ranges."""
        return lambda plan, tasks: _Run(self, [plan], [session], resumes=True).do(tasks)

    @property
    def width(self) -> int:
        """The number of stretches of entries to compute at the same time."""
        return 2 * self._engine.slots

    def compute(
        self, session: Session, result: int, stretches: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[_core.FrameGraph, int]]:
        """Compute one result of each stretch: yields graphs that have it, and its number there."""
        plan = freeze(session, [result])
        tasks = [Task(plan.fingerprint, first, last, (0,)) for first, last in stretches]
        computed = _Run(self, [plan], [session]).do(tasks)
        pieces = computed.pieces.get((plan.fingerprint, 0), [])
        for first, last in stretches:
            inside = [piece for piece in pieces if first <= piece.first and piece.last <= last]
            if sum(piece.last - piece.first for piece in inside if piece.slice == 0) != last - first:
                raise UsageError(f"the engine returned no separate result for the entries {first} to {last}")
            data = [piece.data for piece in inside if piece.data is not None]
            with loaded(plan).merged(0, data or [loaded(plan).nothing(0)]) as found:
                yield found

    # ---- For a run

    @property
    def engine(self) -> Engine:
        """The engine of the tasks."""
        return self._engine

    def target(self) -> tuple[int, int]:
        """The number of tasks of a plan, and of those that run at the same time: see `cut`."""
        slots = self._engine.slots
        if self._npartitions:
            return self._npartitions, 0
        return min(_TASKS_PER_SLOT * slots, max(slots, _MOST_TASKS)), slots

    @property
    def skips(self) -> bool:
        """Whether unreadable entries are left out."""
        return self._skips

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The folder for finished tasks."""
        return self._checkpoint

    def skip(self, session: Session, what: Skipped) -> None:
        """Note entries that were left out."""
        noted = self._skipped.setdefault(session, [])
        if (what.first, what.last) not in [(each.first, each.last) for each in noted]:
            noted.append(what)


@contextmanager
def _planned(session: Session) -> Iterator[Plan]:
    """Make the plan of what a DataFrame wants. Meanwhile its results are kept, and destinations claimed."""
    with session.keeping(), ExitStack() as claims:
        plan = freeze(session, session.wanted(), claims=True)
        for claim in plan.claims.values():
            claims.callback(claim.end)
        yield plan


class _Run:
    """One run over the plans of several DataFrames."""

    def __init__(
        self,
        driver: Driver,
        plans: Sequence[Work],
        sessions: list[Session],
        *,
        merges: bool = False,
        resumes: bool = False,
        progress: bool | None = False,
        what: str = "entries",
    ) -> None:
        """Make a run of plans for DataFrames; without any, `progress` and `what` determine the progress bar."""
        self._resumes = merges or resumes
        self._reached: dict[Where, Counts] = {}
        self._keeps = True
        self._kept: set[Where] = set()
        self._driver, self._work, self._sessions, self._merges = driver, plans, sessions, merges
        self._plans = [plan for plan in plans if isinstance(plan, Plan)]
        self._by_fingerprint = {plan.fingerprint: plan for plan in self._plans}
        self._progress, self._what = {each.progress for each in sessions} or {progress}, what
        self._whole = Partial()
        self._parts: list[Partial] = []
        self._bytes = 0
        # While pieces are merged and become values, they are in memory twice.
        self._most_bytes = _free_memory() // 3
        self._shown = time.monotonic()
        self._state = _State(0, self._shown)

    def do(self, tasks: Sequence[Task]) -> Partial:
        """Compute tasks, and return their pieces; a single one for each result if they are merged."""
        self._noted(tasks)
        left = [part for task in tasks for part in self._readable(task)]
        todo = deque(self._missing(left) if self._resumes else left)
        watched = self._merges and any(session.watchers for session in self._sessions)
        state = self._state = _State(sum(task.last - task.first for task in todo), time.monotonic())
        wants_bar = True if True in self._progress else None if None in self._progress else False
        total = len(todo)
        with PassBar(wants_bar, self._what if self._merges or not self._resumes else "counting") as bar:
            # Pieces that are shown, saved or returned are needed one by one.
            piecemeal = watched or not self._merges or self._driver.checkpoint is not None
            while todo:  # an engine whose workers are gone leaves tasks
                with closing(self._driver.engine.run(self._work, todo, piecemeal)) as outcomes:
                    for partial in outcomes:
                        state.add(partial.counters)
                        bar.update(state, state.tasks_of(self._driver.engine, total))
                        self._check([*partial.early, *partial.failures])
                        total += partial.counters.tasks if partial.failures else 0
                        for failure in partial.failures:
                            again = self._noted(self._again(failure))
                            total += len(again) - 1
                            todo.extend(again)
                        self._take(partial)
                        if watched:
                            self._show()
        self._put_together()
        return self._whole

    def add(self, partial: Partial) -> None:
        """Add pieces that are known in advance."""
        self._parts.append(partial)

    def has_kept(self, plan: Plan, skipped: Iterable[Skipped]) -> bool:
        """Whether pieces that were kept from an earlier run have any of the skipped entries."""
        kept = [(first, last) for fingerprint, first, last in self._kept if fingerprint == plan.fingerprint]
        return any(first < each.last and each.first < last for each in skipped for first, last in kept)

    def made_of(self, costs: Costs) -> RemoteRun:
        """Summarise the tasks of one of the DataFrames."""
        state = self._state
        by_kind = sorted(costs.items(), key=lambda each: each[0][0])  # columns, nodes, results
        listed = [(*part[:4], *taken) for part, taken in by_kind]
        return RemoteRun(state.entries, state.bytes, state.seconds, state.tasks, state.workers, listed)

    def _noted(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """The same tasks; the counts of their ranges are part of the key of their pieces."""
        self._reached.update(
            {(task.plan, task.first, task.last): task.reached for task in tasks if task.reached}
        )
        return tasks

    def _readable(self, task: Task) -> list[Task]:
        """The parts of a task without entries that are known to be unreadable."""
        plan = self._by_fingerprint.get(task.plan)
        if plan is None:
            return [task]
        session = self._session_of(plan)
        skipped = [
            each
            for each in self._driver.skipped_of(session)
            if task.first < each.last and each.first < task.last
        ]
        if not skipped:
            return [task]
        edges = {edge for each in skipped for edge in (each.first, each.last)}
        left = []
        for first, last in divided([(task.first, task.last)], edges):
            if any(each.first <= first < each.last for each in skipped):
                self._leave_out(plan, replace(task, first=first, last=last))
            else:
                left.append(replace(task, first=first, last=last))
        return left

    def _session_of(self, plan: Plan) -> Session:
        (session,) = (s for p, s in zip(self._plans, self._sessions, strict=True) if p is plan)
        return session

    def _leave_out(self, plan: Plan, task: Task) -> None:
        for result in task.results:
            slices = range(plan.slices(result))
            left_out = [Piece(task.first, task.last, None, part) for part in slices]
            self._parts.append(Partial({(task.plan, result): left_out}))

    def _missing(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks whose pieces an earlier run did not save."""
        kept = self._driver.checkpoint
        return (
            list(tasks) if kept is None else [each for task in tasks for each in self._not_kept(task, kept)]
        )

    def _not_kept(self, task: Task, kept: Checkpoint) -> list[Task]:
        plan = self._by_fingerprint[task.plan]
        missing = []
        for result in task.results:
            pieces = kept.load(plan, result, task) if plan.may_keep(result) else None
            if pieces is None:
                missing.append(result)
            else:
                self._kept.add((task.plan, task.first, task.last))
                self._parts.append(Partial({(task.plan, result): pieces}))
        return [replace(task, results=tuple(missing))] if missing else []

    # ---- What comes back

    def _take(self, partial: Partial) -> None:
        if not partial.pieces:
            return
        kept = self._driver.checkpoint
        if kept is not None and self._keeps:
            self._keeps = all(kept.keep(plan, partial, self._reached) for plan in self._plans)
        self._parts.append(partial)
        self._check_size(partial)
        if len(self._parts) >= _MERGED_AT:
            self._put_together()

    def _put_together(self) -> None:
        parts = [replace(each, failures=[]) for each in [self._whole, *self._parts]]
        self._whole = merge(self._work, parts) if self._merges else joined(parts)
        self._parts = []

    def _check_size(self, partial: Partial) -> None:
        """Refuse results that exceed this process's memory, before it is full."""
        for pieces in partial.pieces.values():
            self._bytes += sum(len(piece.data or b"") for piece in pieces)
        if self._bytes > self._most_bytes:  # merging may have made them smaller
            self._put_together()
            held = (piece.data or b"" for pieces in self._whole.pieces.values() for piece in pieces)
            self._bytes = sum(map(len, held))
        if self._bytes > self._most_bytes:
            raise ResourceError(
                f"the results take more than {self._bytes >> 20} MiB, but this process may use "
                f"only {self._most_bytes >> 20} MiB for them",
                "snapshot() to write the rows to files, or iterate() to get them in steps",
            )

    def _show(self) -> None:
        now = time.monotonic()
        if now - self._shown < _SHOWN_EVERY:
            return
        self._put_together()
        for plan, session in zip(self._plans, self._sessions, strict=True):
            for place, number in enumerate(plan.numbers):
                watchers = session.watchers.get(number, [])
                pieces = self._whole.pieces.get((plan.fingerprint, place), [])
                data = [piece.data for piece in pieces if piece.data is not None]
                if not watchers or not data or plan.is_snapshot(place):
                    continue
                with loaded(plan).merged(place, data) as (graph, of_graph):
                    for watch in watchers:
                        watch(graph, of_graph)
                session.partly_shown.add(number)
        self._shown = time.monotonic()

    # ---- What goes wrong

    def _check(self, failures: Iterable[Failure]) -> None:
        """Raise errors that another attempt does not solve."""
        for failure in failures:
            is_read_error = is_of_files(failure.error)
            is_damage = is_read_error and isinstance(failure.error, ValueError)  # which stays
            # Another worker may have the file.
            may_pass = isinstance(failure.error, WorkerLostError) or (is_read_error and not is_damage)
            if (may_pass and _may_repeat(failure)) or self._may_skip(failure):
                continue
            for plan, session in zip(self._plans, self._sessions, strict=True):
                if plan.fingerprint == failure.task.plan:
                    session.failed.update(k for place in failure.results for k in plan.owners(place))
            if isinstance(failure.error, WorkerLostError):
                task = failure.task
                raise WorkerLostError(
                    f"workers were lost each time they computed {task.where} ({task.attempt + 1} times), perhaps for "
                    f"lack of memory: {failure.error}",
                    "fewer or smaller results in one run, more memory for each worker, and the logs of the workers",
                ) from failure.error
            raise failure.error

    def _may_skip(self, failure: Failure) -> bool:
        """Whether the entries may be left out: their own files are unreadable, not a join or a destination."""
        plan = self._by_fingerprint.get(failure.task.plan)
        uri = getattr(failure.error, "uri", None)
        return self._driver.skips and is_of_files(failure.error) and plan is not None and uri in plan.own_uris

    def _again(self, failure: Failure) -> list[Task]:
        task = failure.task
        is_damage = is_of_files(failure.error) and isinstance(failure.error, ValueError)
        if not is_damage and _may_repeat(failure):
            tried = dict.fromkeys([*task.tried, failure.worker] if failure.worker else task.tried)
            return [replace(task, attempt=task.attempt + 1, tried=tuple(tried))]
        plan = self._by_fingerprint[task.plan]
        smaller = halves(task, plan.parts)
        if len(smaller) > 1:
            return [smaller[0], self._from_the_middle(plan, *smaller)] if task.reached else smaller
        self._driver.skip(self._session_of(plan), Skipped(task.first, task.last, str(failure.error)))
        self._leave_out(plan, task)
        return []

    def _from_the_middle(self, plan: Plan, early: Task, late: Task) -> Task:
        """The second half of a task, which needs the counts of its ranges in the first half."""
        count = self._driver.counting(self._session_of(plan))
        reached = count_ranges(plan, [(early.first, early.last)], count, before=early.reached)
        return replace(late, reached=reached.before(1, {node for node, _, _ in early.reached}))


def _may_repeat(failure: Failure) -> bool:
    """Whether there may be another attempt."""
    task = failure.task
    is_of_one_worker = bool(failure.worker) and set(task.tried) <= {failure.worker}
    return task.attempt + 1 < (_ATTEMPTS_OF_ONE_WORKER if is_of_one_worker else _ATTEMPTS)


def _tell_apart(plans: Sequence[Plan]) -> None:
    """Let equal plans of several DataFrames have fingerprints of their own, as pieces belong to one of them."""
    known: set[str] = set()
    for plan in plans:
        while plan.text in known:
            plan.text += " "
        known.add(plan.text)


def _free_memory() -> int:
    """The bytes of memory that the system reports as available."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 1 << 40


def finish(plan: Plan, session: Session, partial: Partial) -> None:
    """Give results to a DataFrame.

    Raises:
        UsageError: entries are missing. Where a task failed, its error is raised.
    """
    first, last = plan.entries
    partial = joined([partial])
    whole = []
    for place in range(len(plan)):
        pieces = partial.pieces.get((plan.fingerprint, place), [])
        slices = plan.slices(place)
        if len(pieces) > slices:
            pieces = merge(plan, [Partial({(plan.fingerprint, place): pieces})]).pieces[
                plan.fingerprint, place
            ]
        if [(p.slice, p.first, p.last) for p in pieces] != [(k, first, last) for k in range(slices)]:
            for failure in partial.failures:
                raise failure.error
            there = dict.fromkeys(f"{piece.first} to {piece.last}" for piece in pieces)
            some = ", ".join(list(there)[:20]) or "none"
            raise UsageError(
                f"partial results are missing: of the entries {first} to {last} there are {some}"
                + (f", of {len(pieces)} of {slices} slices" if slices > 1 else ""),
                "the partial results of all tasks of the plan",
            )
        nothing = loaded(plan).nothing
        whole.append([nothing(place, p.slice) if p.data is None else p.data for p in pieces])
    wanted = [
        (place, number, data)
        for place, (number, data) in enumerate(zip(plan.numbers, whole, strict=True))
        if number in session.bookings and not session.is_ready(number)
    ]
    for place, number, data in wanted:
        if not plan.is_snapshot(place):
            session.graph.retry(number)
            for each in data:
                session.graph.merge_result(number, each)
    # Their attribute sets may need the other results.
    for place, number, data in wanted:
        if plan.is_snapshot(place):
            add = session.before_commit.get(number)
            with failing(session, number):
                commit(session.bookings[number], parts_of(data[0]), plan.claims.get(place), add)
            session.written.add(number)
