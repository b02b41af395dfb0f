"""The state that all nodes of a DataFrame share: its graph, and the settings of its passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from colonnade import _core
from colonnade.errors import UnsupportedError, UsageError, redacted
from colonnade.misuse import thread_count

from .callables import pickled, restored, saved_state
from .progress import PassBar
from .values import layout_of, python_array

if TYPE_CHECKING:
    from colonnade.writing.attributes import AttributeAppender

    from .cached import CachePlace
    from .sample_info import Owner

__all__ = ["BLOCK_ENTRIES", "Booking", "PythonCalls", "Remote", "Session", "Skipped", "run_sessions"]

BLOCK_ENTRIES = 100_000
"""The default number of entries that Python callables get at once."""


@dataclass(frozen=True)
class PythonCalls:
    """A result that Python code computes: add(state, arrays), merge(state, later); the first state is None."""

    add: Callable[[Any, list[Any]], Any]
    merge: Callable[[Any, Any], Any]
    in_order: bool = False

    def block(self, state: Any, values: list[_core.Values], size: int) -> Any:
        """Add a block of entries."""
        return self.add(state, [python_array(layout_of(each)) for each in values])


@dataclass(frozen=True)
class Booking:
    """A request to a graph that can be repeated for another graph with the same nodes."""

    kind: str
    """A name of src/frame/results/result.h; "report"; or "python" for the result of `calls`."""
    node: int
    arguments: tuple[str, ...] = ()
    options: str = "{}"
    calls: PythonCalls | None = None

    def book(self, graph: _core.FrameGraph) -> int:
        """Book the result, and return its number."""
        if self.kind == "report":
            return graph.report(self.node)
        if self.calls is None:
            return graph.book(self.node, self.kind, list(self.arguments), self.options)
        calls = self.calls
        accumulator = _core.python_accumulator(
            calls.block, calls.merge, saved_state, restored, calls.in_order
        )
        return graph.book_accumulator(self.node, list(self.arguments), accumulator)


@dataclass(frozen=True)
class Skipped:
    """Entries that results lack, since they could not be read.

    A file that could not be opened has none; it would begin at `first`.
    """

    first: int
    """The first entry."""
    last: int
    """The entry after the last one."""
    problem: str


class Remote(Protocol):
    """Computes booked results in other processes, or otherwise than in one pass of this process."""

    def survey(
        self, files: list[tuple[str, str]], options: _core.ReadOptions, progress: bool | None
    ) -> list[str] | None:
        """Describe files, each with the name of its data set; None if this process had better open them."""

    def run(self, sessions: list[Session]) -> None:
        """Compute the requested results of sessions that have this remote."""

    @property
    def width(self) -> int:
        """The number of stretches of entries to compute at the same time."""

    def compute(
        self, session: Session, result: int, stretches: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[_core.FrameGraph, int]]:
        """Compute one result of each stretch: yields graphs that have it, and its number there."""

    def skipped_of(self, session: Session) -> list[Skipped]:
        """Return the entries that were left out of the results of a session."""


@dataclass(frozen=True)
class RemoteRun:
    """The costs of the tasks of a pass."""

    entries: int
    bytes: int
    """Stored bytes that were read."""
    seconds: float
    tasks: int
    workers: int
    costs: Sequence[tuple[int, str, str, str, int, int | None, int, float]]
    """Costs as of `FrameGraph.last_costs`, summed over tasks."""


class Session:
    """The graph of a DataFrame with the options of its passes, and its bookings."""

    def __init__(
        self,
        source: _core.FrameSource,
        place: str,
        threads: int = 0,
        progress: bool | None = None,
        block_entries: int = BLOCK_ENTRIES,
        remote: Remote | None = None,
    ) -> None:
        if isinstance(block_entries, bool) or not 0 < int(block_entries) < 1 << 32:
            raise UsageError(
                f"block_entries={block_entries!r} is not a number of entries", "1, 2, ... 100000"
            )
        self.source, self.graph, self.place = source, _core.FrameGraph(source), redacted(place)
        self.threads, self.progress, self.block_entries = thread_count(threads), progress, int(block_entries)
        self.graph.set_block_entries(self.block_entries)
        self.last_run: _core.RunReport | None = None
        self.last_remote: RemoteRun | None = None
        """The costs instead of that, if tasks made the last pass."""
        self.left_out: list[tuple[str, str]] = source.left_out
        """Fields of the source without a column, and the reasons."""
        self.hidden: set[str] = set()
        """Columns of open data sets that their selections of fields leave out: expressions may use them."""
        self.shown: Sequence[str] = ()
        """The selected fields of an open data set, in the order in which columns are listed."""
        self.friends: Sequence[str] = ()
        """The names of friends, by which their columns can be called, too."""
        self.branches: dict[str, str] = {}
        """Columns of TTrees by the names of their branches, which are not those of fields."""
        self.leaf_types: dict[str, bool] = {}
        """By column of TTrees, whether ROOT names its type as that of a leaf: "Int_t"."""
        self.masks: dict[str, tuple[str, int]] = {}
        """By column of TTrees that ROOT wrote with variations, the column and the bit that say where it has a value."""
        self.regrouped: set[str] = set()
        """Collections of arrays of TTrees that are columns as well."""
        self.joined: set[str] = set()
        """Columns that the joins of an open data set define."""
        self.matches: Sequence[int] = ()
        """The number of files that match each of the given names."""
        self.lost: Sequence[Skipped] = ()
        """Files that could not be opened."""
        self.owners: list[Owner] | None = None
        """The sample of each file, if they were specified."""
        self.kept: CachePlace | None = None
        """Where the columns are, if `cache()` put them in a place that goes with this DataFrame."""
        self.remote = remote
        self.setup = ""
        """A pickled function that each process calls once before its first task: see `Plan.set_up`."""
        self.functions: dict[str, Callable[..., Any]] = {}
        """User functions that expressions can call."""
        self.texts: list[str] = []
        """What defines classes and names for types, which expressions can name."""
        self.answers: dict[str, str] = {}
        """Functions that have the answers to what expressions ask about samples, in ROOT's dialect."""
        self.bookings: dict[int, Booking] = {}
        self.joins: list[tuple[_core.Join, str]] = []
        """Joins whose tables of keys must exist before tasks need them, with their names."""
        self.varied: set[int] = set()
        """Results that are computed for all variations."""
        self.written: set[int] = set()
        """Snapshots that other processes wrote."""
        self.before_commit: dict[int, Callable[[AttributeAppender], object]] = {}
        """What adds attribute sets to snapshots before they are committed."""
        self.failed: set[int] = set()
        """Results that made a remote run fail: left out until they are requested."""
        self.watchers: dict[int, list[Callable[[_core.FrameGraph, int], object]]] = {}
        """The callbacks for partial results."""
        self.partly_shown: set[int] = set()
        """The results that callbacks got a part of in the last run."""
        self._dropped: set[int] = set()
        """Results without references that are still booked."""
        self._users: set[object] = set()
        """The present uses of the bookings."""

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled, with all nodes, results and batches."""
        raise UnsupportedError(
            f"what is made of a data frame cannot be sent to another process ({self.place})",
            "the same calls there; executor=; in a DataLoader num_workers=0, or multiprocessing_context='fork'",
        )

    def book(self, booking: Booking) -> int:
        """Book a result.

        Raises:
            UnsupportedError: its callables cannot be sent to the workers.
        """
        if self.remote is not None and booking.calls is not None:
            pickled((booking.calls.add, booking.calls.merge), "the callable of a result")
        number = booking.book(self.graph)
        self.bookings[number] = booking
        return number

    def vary(self, result: int) -> list[str]:
        """Book a result for all variations, and return their names."""
        names = self.graph.vary_result(result)
        self.varied.add(result)
        return names

    def is_ready(self, result: int) -> bool:
        """Whether a result is computed."""
        return result in self.written or self.graph.is_ready(result)

    def retry(self, result: int) -> None:
        """Include a result again that made a pass fail."""
        self.failed.discard(result)
        self.graph.retry(result)

    def on_partial(self, result: int, watch: Callable[[_core.FrameGraph, int], object]) -> None:
        """Register a function, called with graphs that have computed a part of the result."""
        self.watchers.setdefault(result, []).append(watch)

    def wanted(self) -> list[int]:
        """Return the results that a remote run has to compute."""
        with self.keeping():
            return [
                each for each in list(self.bookings) if each not in self.failed and not self.is_ready(each)
            ]

    def needed(self, results: Iterable[int]) -> str:
        """Return what results need of the graph, as JSON."""
        bookings = [self.bookings[result] for result in results]
        of_all = any(each.kind == "report" and each.node == 0 for each in bookings)
        return self.graph.plan(None if of_all else sorted({each.node for each in bookings}))

    def prepare_joins(self) -> None:
        """Make the tables of keys that wanted results need."""
        if not self.joins:
            return
        with self.keeping():
            wanted = self.wanted()
            try:
                tables = self._tables(wanted)
            except UnsupportedError:  # there will be no plan, either
                return
            for join, table in [each for each in self.joins if each[1] in tables]:
                try:
                    join.prepare()
                except Exception:
                    self.failed.update(result for result in wanted if table in self._tables([result]))
                    raise
                self.joins.remove((join, table))

    def _tables(self, results: Iterable[int]) -> set[str]:
        return {join.get("table", "") for join in json.loads(self.needed(results)).get("joins", [])}

    def drop(self, result: int) -> None:
        """Drop a result without references: at once, or after the current pass.

        Any thread may call it at any time, and again.
        """
        self._dropped.add(result)
        self._drop_unused()

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Drop no result meanwhile: the garbage collector may do so between any two instructions."""
        use = object()
        try:
            self._users.add(use)
            yield
        finally:
            self._users.discard(use)
            self._drop_unused()

    def _drop_unused(self) -> None:
        if not self._users:
            for result in list(self._dropped):
                self._drop_now(result)
                self._dropped.discard(result)

    def _drop_now(self, result: int) -> None:
        self.bookings.pop(result, None)
        for numbers in (self.varied, self.written, self.failed):
            numbers.discard(result)
        self.watchers.pop(result, None)
        self.before_commit.pop(result, None)
        self.graph.drop(result)


def run_sessions(sessions: Iterable[Session]) -> int:
    """Compute the bookings of several graphs in one pass.

    Returns:
        The number of graphs that had something to compute.
    """
    unique = list({id(each): each for each in sessions}.values())
    ran = [each for each in unique if each.remote is not None and each.wanted()]
    _check_destinations(unique)
    for each in ran:
        each.prepare_joins()
    watched = [(each, number) for each in unique if each.watchers for number in each.wanted()]
    for each in unique:
        each.partly_shown.clear()
    remotes = {id(remote): remote for each in ran if (remote := each.remote) is not None}
    for remote in remotes.values():
        remote.run([each for each in ran if each.remote is remote])
    ran += _run_watched([each for each in unique if each.remote is None and each.watchers and each.wanted()])
    passes = _run_here([each for each in unique if each.remote is None and each not in ran])
    # What took too little time to be shown in parts is shown as a whole.
    for each, number in watched:
        if number not in each.partly_shown and each.is_ready(number):
            for watch in each.watchers.get(number, []):
                watch(each.graph, number)
    return len(ran) + passes


def _check_destinations(sessions: Sequence[Session]) -> None:
    """Refuse to write a data set twice in a run: the later snapshot would replace the earlier one.

    Threads of one pass see each other.
    """
    ordered = sorted(sessions, key=lambda each: each.remote is not None)
    snapshots = [
        (each, number)
        for each in ordered
        for number in each.wanted()
        if each.bookings[number].kind == "snapshot"
    ]
    if len(snapshots) < 2:
        return
    from colonnade.distributed.snapshots import Destination

    known: set[tuple[str, str]] = set()
    for each, number in snapshots:
        to = Destination.of(each.bookings[number])
        if to.place in known:
            each.failed.add(number)
            raise UsageError(
                "another snapshot of this run has the same destination",
                "another file, or the value of one before the other is booked",
                uri=to.uri,
            )
        known.add(to.place)


def _run_watched(sessions: list[Session]) -> list[Session]:
    """Compute results in this process stretch by stretch, to show partial ones, and return the sessions that can be."""
    if not sessions:
        return []
    from colonnade.distributed.driver import here

    return here().run_planned(sessions)


def _run_here(sessions: list[Session]) -> int:
    if not sessions:
        return 0
    before = [each.graph.passes for each in sessions]
    wanted = {each.progress for each in sessions}
    with ExitStack() as stack:
        bar = stack.enter_context(PassBar(True if True in wanted else None if None in wanted else False))
        threads = max(each.threads for each in sessions)
        report = _core.run_graphs([each.graph for each in sessions], threads, bar.update)
    ran = [each for each, passes in zip(sessions, before, strict=True) if each.graph.passes > passes]
    for each in ran:
        each.last_run, each.last_remote = report, None
    return len(ran)
