"""Plans: the work of a run, as data that another process or machine can use.

A plan is a JSON text: the graph that the results need, an index of the files (schemas, entries, parts, identities), the
results, and the version of Colonnade. Restoring the graph opens no file; a file that was replaced meanwhile
is an error when it is read.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import itertools
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade import _core
from colonnade.errors import FormatError, UnsupportedError, UsageError, redacted
from colonnade.frame.callables import load_callable, pickled, unpickled, without_places
from colonnade.frame.compiled import Loops
from colonnade.frame.session import Booking, PythonCalls, Session
from colonnade.locks import ProcessLock
from colonnade.misuse import whole_number

from .snapshots import Claim, claimed
from .tasks import Task, cut

if TYPE_CHECKING:
    from .partials import Partial
    from .ranges import Reached

__all__ = ["Plan", "failing", "freeze"]

_SLICE_BYTES = 256 << 20
"""The approximate bytes of a large result that are sent and merged at once."""
_MOST_SLICES = 1 << 16
_MOST_URIS = 16
"""The most files that a task lists for data locality: it may have thousands of small files."""


class _Rows(NamedTuple):
    """The rows that reach a node, as far as plain ranges determine them: `first`, `first + step`, ... before `last`."""

    first: int
    step: int
    last: int
    is_filtered: bool = False
    ranges: tuple[int, ...] = ()
    """Behind filters: the rows are not known."""


class Plan:
    """Results of a DataFrame, ready for computation elsewhere. `DataFrame.freeze` makes one."""

    def __init__(self, text: str) -> None:
        """Make a plan from its text, which is not trusted.

        Raises:
            FormatError: it is not a plan.
            UnsupportedError: it was made by another version of Colonnade.
        """
        self.text = text
        try:
            self._content: dict[str, Any] = json.loads(text)
            version = self._content["colonnade"]
            if version != _core.version:  # whose plans may have other contents
                raise UnsupportedError(
                    f"the plan was made by Colonnade {version}, but this is {_core.version}",
                    "the same version on all machines",
                )
            self.entries = _stretch(self._content["entries"])
            self._graph_text = json.dumps(self._content["graph"])
            self._results = [_checked(each) for each in self._content["results"]]
            self._index = [_file(each) for each in _index_of(self._content["graph"]["source"])]
            self._rows = self._reaching()
            if any(each["node"] not in self._rows for each in self._results):
                raise ValueError("a result is of a node that does not exist")
            self._setup = str(self._content.get("setup", ""))
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"this is not a plan of a DataFrame ({error})") from None
        self._session: Session | None = None
        # Graphs of one plan have the same callables: each is compiled once.
        self._loops: Loops = {}
        self._sizes: list[int] | None = None
        self.numbers: tuple[int, ...] = ()
        """The numbers of the results in the original DataFrame."""
        self.claims: dict[int, Claim] = {}
        """The claims on the destinations of snapshots."""
        self._owners: list[tuple[int, ...]] = []
        self._keys: dict[int, str] = {}

    def __repr__(self) -> str:
        return f"<Plan of {len(self._results)} results over {self.entries[1] - self.entries[0]} entries>"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the plan's text, equal for equal work."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """The first entry of each part, and the one behind its last. Opens the files if the plan is from elsewhere."""
        graph = self.graph(allow_code=True) if self._session is None else self._session.graph
        return graph.parts()

    @cached_property
    def files(self) -> list[tuple[int, int]]:
        """The first entry of each file, and the one behind its last."""
        ends = list(itertools.accumulate((entries for _, entries in self._index), initial=0))
        return list(itertools.pairwise(ends))

    @cached_property
    def _ends(self) -> list[int]:
        return [end for _, end in self.files]

    @cached_property
    def own_uris(self) -> set[str]:
        """The files of the source and its friends that no join reads, as errors name them."""
        graph = self._content["graph"]
        return _uris_in(graph["source"]) - _uris_in(graph.get("joins", []))

    def to_bytes(self) -> bytes:
        """Return the text as UTF-8, which `from_bytes` takes."""
        return self.text.encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Plan:
        """Restore a plan. Runs no code of it: `graph` does."""
        try:
            return cls(data.decode())
        except UnicodeDecodeError as error:
            raise FormatError(f"this is not a plan of a DataFrame ({error})") from None

    def stretches(self, target: int, slots: int = 0) -> list[tuple[int, int]]:
        """Cut the entries into about `target` stretches with equal work; see `tasks`."""
        return cut(self.parts, self.files, whole_number("target", target), self._sizes, slots)

    def tasks(self, target: int, reached: Reached | None = None, slots: int = 0) -> list[Task]:
        """Cut the work into about `target` tasks.

        Args:
            target: the approximate number of tasks.
            reached: what `count_ranges` gave for the stretches of as many tasks. Without it all results behind ranges
                that are behind filters are one task of their own, and with it there are none for stretches of which
                no result gets anything: see `Reached.rest`.
            slots: the number of tasks that run at the same time. The last ones are shorter then, and there are twice
                as many.
        """
        everything = tuple(range(len(self)))
        counted = tuple(k for k in everything if self.ranges(k))
        if reached is not None:
            nodes = {node for k in counted for node in self.ranges(k)}
            wanted = [
                (place, tuple(k for k in everything if reached.needs(place, k)))
                for place in range(len(reached.stretches))
            ]
            return [
                self.task(*reached.stretches[place], results, reached.before(place, nodes))
                for place, results in wanted
                if results
            ]
        others = tuple(k for k in everything if k not in counted)
        whole = [self.task(*self.entries, counted)] if counted else []
        return whole + [
            self.task(*each, others) for each in (self.stretches(target, slots) if others else [])
        ]

    def task(
        self, first: int, last: int, results: tuple[int, ...], reached: tuple[tuple[int, str, int], ...] = ()
    ) -> Task:
        """Make a task of some results for some entries; see `Task`."""
        return Task(
            self.fingerprint,
            first,
            last,
            results,
            uris=self._uris_between(first, last),
            bytes=self._bytes_between(first, last),
            reached=reached,
        )

    @cached_property
    def _bytes_before(self) -> list[int]:
        return list(itertools.accumulate(self._sizes or [], initial=0))

    @cached_property
    def _begins(self) -> list[int]:
        return [first for first, _ in self.parts]

    def _bytes_between(self, first: int, last: int) -> int:
        if not self._sizes:
            return 0
        before = self._bytes_before
        return (
            before[bisect.bisect_left(self._begins, last)] - before[bisect.bisect_left(self._begins, first)]
        )

    # ---- Ranges

    @cached_property
    def _nodes(self) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        number = 0
        for node in self._content["graph"]["nodes"]:
            number = operator.index(node.get("number", number + 1))
            found[number] = node
        return found

    def _reaching(self) -> dict[int, _Rows]:
        found = {0: _Rows(self.entries[0], 1, self.entries[1])}
        for number, node in self._nodes.items():
            rows = found[node["parent"]]
            if node["kind"].startswith("filter"):
                rows = rows._replace(is_filtered=True)
            elif node["kind"] == "range" and rows.is_filtered:
                rows = rows._replace(ranges=(*rows.ranges, number))
            elif node["kind"] == "range":
                begin, end, stride = map(operator.index, node["range"])
                last = min(rows.last, rows.first + rows.step * end) if end else rows.last
                rows = _Rows(rows.first + rows.step * begin, rows.step * max(stride, 1), last)
            found[number] = rows
        return found

    def ranges(self, result: int) -> tuple[int, ...]:
        """The nodes of the ranges behind filters above a result: the rows that pass them must be counted."""
        asked = self._results[result]
        if self.is_report(result) and asked["node"] == 0:  # of the whole graph
            return tuple(sorted({node for rows in self._rows.values() for node in rows.ranges}))
        return self._rows[asked["node"]].ranges

    @cached_property
    def has_ranges(self) -> bool:
        """Whether a result is behind such a range."""
        return any(map(self.ranges, range(len(self))))

    def ranges_above(self, node: int) -> tuple[int, ...]:
        """The ranges behind filters above another such range."""
        return self._rows[node].ranges[:-1]

    def last_row(self, node: int) -> int:
        """The number of rows up to the end of a range; 0 for all."""
        return int(self._nodes[node]["range"][1])

    def passing(self, node: int, rows: int) -> int:
        """The number of the first rows reaching a range that pass it."""
        begin, end, stride = self._nodes[node]["range"]
        return len(range(begin, min(rows, end) if end else rows, max(stride, 1)))

    def counting(self, nodes: Sequence[int]) -> Plan:
        """Make the plan that counts the rows that reach ranges, in all variations: a result for each."""
        parents = [self._nodes[node]["parent"] for node in nodes]
        above = set()
        for parent in parents:
            at = parent
            while at:
                above.add(at)
                at = self._nodes[at]["parent"]
        graph = dict(self._content["graph"])
        graph["nodes"] = [{**node, "number": k} for k, node in self._nodes.items() if k in above]
        if "callables" in graph:
            graph["callables"] = sum("payload" in node.get("definition", {}) for node in graph["nodes"])
        asked = [_described(Booking("count", parent), True) for parent in parents]
        plan = Plan(json.dumps({**self._content, "graph": graph, "results": asked}))
        plan._session, plan._sizes = self._session, self._sizes
        plan._owners = [
            tuple(number for k in range(len(self)) if node in self.ranges(k) for number in self.owners(k))
            for node in nodes
        ]
        return plan

    def owners(self, result: int) -> tuple[int, ...]:
        """The results of the DataFrame that need a result of the plan."""
        return self._owners[result] if self._owners else self.numbers[result : result + 1]

    def _outside(self) -> Callable[[int, int], bool]:
        """A function: whether plain ranges exclude the entries [first, last) from all results."""
        wanted = [
            self._rows[0 if self.is_report(k) else asked["node"]] for k, asked in enumerate(self._results)
        ]
        bounds = {(rows.first, rows.last) for rows in wanted}
        return lambda first, last: all(last <= low or high <= first for low, high in bounds)

    def _uris_between(self, first: int, last: int) -> tuple[str, ...]:
        ends = self._ends
        inside = self._index[bisect.bisect_right(ends, first) : bisect.bisect_left(ends, last) + 1]
        return tuple(itertools.islice((uri for uri, entries in inside if entries), _MOST_URIS))

    def key(self, result: int) -> str:
        """A hash of one result: the same in all plans that compute it from the same entries. Unpickles callables.

        Raises:
            FormatError: the plan is damaged.
        """
        if result not in self._keys:
            try:
                self._keys[result] = self._key(result)
            except (ValueError, TypeError, RecursionError) as error:
                raise FormatError(f"the callables of a plan are damaged ({error})") from None
        return self._keys[result]

    def _key(self, result: int) -> str:
        graph = self._content["graph"]
        needed = set()
        at = self._results[result]["node"]
        while at:
            needed.add(at)
            at = self._nodes[at]["parent"]
        asked = self._results[result]
        of_all_filters = asked["kind"] == "report" and asked["node"] == 0
        chosen = [(k, node) for k, node in self._nodes.items() if of_all_filters or k in needed]
        places = {number: place for place, (number, _) in enumerate(chosen, 1)} | {0: 0}
        described = [{**node, "number": None, "parent": places.get(node["parent"], 0)} for _, node in chosen]
        content = {name: value for name, value in self._content.items() if name not in ("graph", "results")}
        rest = {name: value for name, value in graph.items() if name not in ("nodes", "callables")}
        asked = {**asked, "node": places.get(asked["node"], 0)}
        whole = [rest, *_without_places([content, rest.pop("functions", []), described, asked])]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    # ---- For workers

    def graph(
        self, *, allow_code: bool = True, may_use: Callable[[str, bool], bool] | None = None
    ) -> _core.FrameGraph:
        """Restore the graph, without results.

        Args:
            allow_code: whether callables are unpickled, which runs any code that is in them.
            may_use: called with each URI, and True if the plan would write it: whether the plan may. None allows all.

        Raises:
            UsageError: the plan needs more than it may use.
        """
        if not allow_code and (self._setup or any("calls" in each for each in self._results)):
            raise UsageError(
                "the plan carries code, which may do anything on this machine",
                "allow_code=True, if you trust the author of the plan",
            )
        for result in self._results:
            if result["kind"] == "snapshot" and may_use is not None:
                uri = json.loads(result["options"]).get("uri", "")
                if not may_use(uri, True):
                    raise UsageError(f'the plan writes "{uri}", which is not allowed', uri=uri)
        load = partial(load_callable, loops=self._loops) if allow_code else None
        return _core.FrameGraph.from_plan(self._graph_text, load, may_use)

    def set_up(self) -> None:
        """Call the author's function for each process. Unpickles code, as `booking` does."""
        with _set_up_lock:
            if self._setup and self._setup not in _set_up:
                function, arguments, named = unpickled(self._setup)
                function(*arguments, **named)
                _set_up.add(self._setup)

    def booking(self, result: int) -> Booking:
        """Return the booking of a result. Unpickles callables, so only for trusted plans."""
        asked = self._results[result]
        calls = None
        if "calls" in asked:
            found = unpickled(asked["calls"])
            if len(found) != len(fields(PythonCalls)):
                raise FormatError("the callables of a plan are those of another place")
            calls = PythonCalls(*found)
        return Booking(asked["kind"], asked["node"], tuple(asked["arguments"]), asked["options"], calls)

    def is_varied(self, result: int) -> bool:
        """Whether a result is computed for all variations."""
        return bool(self._results[result]["varied"])

    def is_report(self, result: int) -> bool:
        """Whether it is what filters let pass."""
        return bool(self._results[result]["kind"] == "report")

    def slices(self, result: int) -> int:
        """How many pieces a result of some entries has, as it is large: each has some of the bins."""
        return int(self._results[result].get("slices", 1))

    @cached_property
    def most_slices(self) -> int:
        """Of any result."""
        return max(map(self.slices, range(len(self))), default=1)

    def is_snapshot(self, result: int) -> bool:
        """Whether it writes rows."""
        return bool(self._results[result]["kind"] == "snapshot")

    def may_keep(self, result: int) -> bool:
        """True if its pieces stand for its tasks in a later run: it is neither a snapshot nor `foreach`."""
        return not self.is_snapshot(result) and "has_effects" not in self._results[result]

    def may_repeat(self, results: Sequence[int]) -> bool:
        """True if a task of these results may run twice at the same time: it writes nothing and calls no user code."""
        return not any(self.is_snapshot(k) or "calls" in self._results[k] for k in results)

    # ---- For the maker

    def finish(self, partial: Partial) -> None:
        """Give the results of all tasks to the DataFrame that the plan was made of.

        Raises:
            UsageError: entries are missing or there twice; the plan comes from elsewhere.
        """
        from .driver import finish

        if self._session is None:
            raise UsageError(
                "the plan was not made here: its results belong to another DataFrame",
                "the plan that DataFrame.freeze returned",
            )
        with self._session.keeping():
            finish(self, self._session, partial)

    def __len__(self) -> int:
        return len(self._results)


_set_up: set[str] = set()
"""What has been called in this process."""
_set_up_lock = ProcessLock()

_KINDS = {"kind": str, "node": int, "arguments": list, "options": str, "varied": bool}


def _stretch(entries: Any) -> tuple[int, int]:
    is_pair = isinstance(entries, list) and [type(each) for each in entries] == [int, int]
    if not is_pair or not 0 <= entries[0] <= entries[1] < 1 << 63:
        raise ValueError("the entries are invalid")
    return entries[0], entries[1]


def _index_of(source: dict[str, Any]) -> list[Any]:
    """The files of a source, or of the first one of friends."""
    found: list[Any] = source.get("first", source).get("index", {"files": []})["files"]
    return found


def _file(described: list[Any]) -> tuple[str, int]:
    """A file of an index, and its number of entries."""
    uri, entries = described[0], described[2]
    if not isinstance(uri, str):
        raise ValueError("a file has no name")
    return uri, operator.index(entries)


def _checked(result: dict[str, Any]) -> dict[str, Any]:
    """The same, if it is what describes a result."""
    fits = all(type(result[name]) is kind for name, kind in _KINDS.items())
    texts = [*result["arguments"], result.get("calls", "")]
    slices = result.get("slices", 1)
    if (
        not fits
        or type(slices) is not int
        or not 1 <= slices <= _MOST_SLICES
        or not all(isinstance(each, str) for each in texts)
        or not isinstance(json.loads(result["options"]), dict)
    ):
        raise ValueError("the description of a result is invalid")
    return result


def _without_places(described: Any, name: str = "") -> Any:
    """The same with what callables do in place of their texts."""
    if isinstance(described, list):
        return [_without_places(each) for each in described]
    if isinstance(described, dict):
        return {key: _without_places(value, key) for key, value in described.items()}
    if name == "payload":
        return without_places(base64.b64decode(described).decode())
    return without_places(described) if name in ("calls", "setup") else described


def _uris_in(sources: Any) -> set[str]:
    """The files that a description of sources names."""
    if isinstance(sources, list):
        return set().union(*map(_uris_in, sources))
    if not isinstance(sources, dict):
        return set()
    named = [file[0] for file in sources.get("index", {}).get("files", [])] + sources.get("uris", [])
    named += [sources["uri"]] if "uri" in sources else []  # of a sample
    inside = (each for name, each in sources.items() if name != "index")
    return {redacted(_core.absolute_name(each)) for each in named}.union(*map(_uris_in, inside))


def freeze(session: Session, numbers: Sequence[int], claims: bool = False) -> Plan:
    """Make the plan of booked results.

    Args:
        session: of the DataFrame.
        numbers: of the results.
        claims: whether the destinations of snapshots are claimed: who does must end `Plan.claims`.

    Raises:
        UnsupportedError: arrays in memory, and callables that cloudpickle cannot take.
    """
    bookings = [session.bookings[number] for number in numbers]
    claimed_by: dict[int, Claim] = {}
    try:
        for place, booking in enumerate(bookings):
            if claims and booking.kind == "snapshot":
                with failing(session, numbers[place]):
                    bookings[place], claimed_by[place] = claimed(booking)
        plan = _made(session, numbers, bookings)
    except BaseException:
        for claim in claimed_by.values():
            claim.end()
        raise
    plan.claims = claimed_by
    return plan


@contextmanager
def failing(session: Session, number: int) -> Iterator[None]:
    """Leave a result out of later runs, until it is requested, if this work for it fails."""
    try:
        yield
    except Exception:
        session.failed.add(number)
        raise


def _made(session: Session, numbers: Sequence[int], bookings: Sequence[Booking]) -> Plan:
    graph = session.graph
    try:
        described = json.loads(session.needed(numbers))
    except UnsupportedError:
        if session.remote is not None:
            for number in numbers:
                with suppress(UnsupportedError), failing(session, number):
                    session.needed([number])
        raise
    parts = graph.parts()
    content = {
        "colonnade": _core.version,
        "graph": described,
        "entries": [parts[0][0], parts[-1][1]] if parts else [0, 0],
        "results": [
            _described(booking, number in session.varied, graph.slices_of(number, _SLICE_BYTES))
            for booking, number in zip(bookings, numbers, strict=True)
        ],
    }
    plan = Plan(json.dumps(content | ({"setup": session.setup} if session.setup else {})))
    plan._session, plan.numbers = session, tuple(numbers)
    is_outside = plan._outside()
    plan._sizes = [
        0 if is_outside(*part) else size for part, size in zip(parts, graph.part_bytes(), strict=True)
    ]
    return plan


def _described(booking: Booking, varied: bool, slices: int = 1) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": booking.kind,
        "node": booking.node,
        "arguments": list(booking.arguments),
        "options": booking.options,
        "varied": varied,
    }
    if slices > 1:
        made["slices"] = slices
    if booking.calls is not None:
        calls = booking.calls
        made["calls"] = pickled((calls.add, calls.merge, calls.in_order), "a callable")
        if calls.in_order:
            made["has_effects"] = True
    return made
