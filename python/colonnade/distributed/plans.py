"""Plans: what a run computes, as data that another process or machine can work from.

A plan is a JSON text: the graph that the results need, an index of the files (schemas, entries, parts, identities), the
results, and the version of Colonnade. Nothing is opened to make a graph of it again; a file that was replaced meanwhile
is an error when it is read.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.errors import FormatError, UnsupportedError, UsageError
from colonnade.frame.callables import load_callable, pickled
from colonnade.frame.session import Booking, PythonCalls, Session

from .tasks import Task, cut

if TYPE_CHECKING:
    from .partials import Partial

__all__ = ["Plan", "freeze"]


class Plan:
    """Results of a DataFrame, ready to be computed elsewhere. `DataFrame.freeze` makes one."""

    def __init__(self, text: str) -> None:
        """Take the text of a plan, which is not trusted with anything yet.

        Raises:
            FormatError: it is no plan.
            UnsupportedError: it was made by another version of Colonnade.
        """
        self.text = text
        try:
            self._content: dict[str, Any] = json.loads(text)
            version = self._content["colonnade"]
            self.entries: tuple[int, int] = tuple(self._content["entries"])
            self._graph_text = json.dumps(self._content["graph"])
            self._results = [_checked(each) for each in self._content["results"]]
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"this is no plan of a DataFrame ({error})") from None
        if version != _core.version:
            raise UnsupportedError(
                f"the plan was made by Colonnade {version}, and this is {_core.version}",
                "the same version on all machines",
            )
        self._session: Session | None = None
        self._sizes: list[int] | None = None
        self.numbers: tuple[int, ...] = ()
        """Of the results in the DataFrame that the plan was made of."""

    def __repr__(self) -> str:
        return f"<Plan of {len(self._results)} results over {self.entries[1] - self.entries[0]} entries>"

    @cached_property
    def fingerprint(self) -> str:
        """A number of the plan's text, the same for the same work."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """The first entry of each part, and the one behind its last. Opens the files if the plan is from elsewhere."""
        graph = self.graph(allow_code=True) if self._session is None else self._session.graph
        return graph.parts()

    @cached_property
    def files(self) -> list[tuple[int, int]]:
        """The first entry of each file, and the one behind its last."""
        ends = list(itertools.accumulate((file[2] for file in self._index), initial=0))
        return list(itertools.pairwise(ends))

    @cached_property
    def _ends(self) -> list[int]:
        return [end for _, end in self.files]

    @cached_property
    def _index(self) -> list[Any]:
        source = self._content["graph"]["source"]
        found = source.get("first", source).get("index", {"files": []})["files"]
        return list(found)

    def to_bytes(self) -> bytes:
        """Return the text as UTF-8, which `from_bytes` takes."""
        return self.text.encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Plan:
        """Make a plan again. Runs nothing of it: `graph` does."""
        try:
            return cls(data.decode())
        except UnicodeDecodeError as error:
            raise FormatError(f"this is no plan of a DataFrame ({error})") from None

    def tasks(self, target: int) -> list[Task]:
        """Cut the work into about so many tasks.

        Results that only the whole data set gives - behind a range - are one task of their own.
        """
        everything = tuple(k for k in range(len(self._results)) if self.is_whole(k))
        others = tuple(k for k in range(len(self._results)) if k not in everything)
        stretches = cut(self.parts, self.files, target, self._sizes) if others else []
        made = [(stretch, others) for stretch in stretches]
        if everything:
            made.insert(0, (self.entries, everything))
        return [
            Task(self.fingerprint, *stretch, results, uris=self._uris_between(*stretch))
            for stretch, results in made
        ]

    def _uris_between(self, first: int, last: int) -> tuple[str, ...]:
        ends = self._ends
        inside = self._index[bisect.bisect_right(ends, first) : bisect.bisect_left(ends, last) + 1]
        return tuple(file[0] for file in inside if file[2])

    def key(self, result: int) -> str:
        """A number of one result: the same in any plan that computes it of the same entries."""
        graph = self._content["graph"]
        numbers = {0: 0}
        nodes = []
        number = 0
        for node in graph["nodes"]:
            number = node.get("number", number + 1)
            numbers[number] = len(numbers)
            nodes.append((number, node))
        needed = set()
        at = self._results[result]["node"]
        parents = {number: node["parent"] for number, node in nodes}
        while at:
            needed.add(at)
            at = parents[at]
        asked = self._results[result]
        of_all_filters = asked["kind"] == "report" and asked["node"] == 0
        chosen = [(number, node) for number, node in nodes if of_all_filters or number in needed]
        places = {number: place for place, (number, _) in enumerate(chosen, 1)} | {0: 0}
        described = [{**node, "number": None, "parent": places.get(node["parent"], 0)} for _, node in chosen]
        content = {name: value for name, value in self._content.items() if name not in ("graph", "results")}
        rest = {name: value for name, value in graph.items() if name not in ("nodes", "callables")}
        whole = [content, rest, described, {**asked, "node": places.get(asked["node"], 0)}]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    # ---- For workers

    def graph(
        self, *, allow_code: bool = True, may_use: Callable[[str, bool], bool] | None = None
    ) -> _core.FrameGraph:
        """Make the graph again, without results.

        Args:
            allow_code: whether callables are unpickled, which runs whatever code is in them.
            may_use: asked for each URI: may the plan read it (False), or write it (True)? All may be used if None.

        Raises:
            UsageError: it asks for what it may not.
        """
        for result in self._results:
            if "calls" in result and not allow_code:
                raise UsageError(
                    "the plan carries code, which may do anything on this machine",
                    "allow it where you trust its maker",
                )
            if result["kind"] == "snapshot" and may_use is not None:
                uri = json.loads(result["options"]).get("uri", "")
                if not may_use(uri, True):
                    raise UsageError(f'the plan writes "{uri}", which it may not', uri=uri)
        return _core.FrameGraph.from_plan(self._graph_text, load_callable if allow_code else None, may_use)

    def booking(self, result: int) -> Booking:
        """Return what is asked of the graph for a result. Unpickles callables: of plans that are trusted."""
        asked = self._results[result]
        calls = None
        if "calls" in asked:
            import cloudpickle

            calls = PythonCalls(*cloudpickle.loads(base64.b64decode(asked["calls"])))
        return Booking(asked["kind"], asked["node"], tuple(asked["arguments"]), asked["options"], calls)

    def is_varied(self, result: int) -> bool:
        """Whether a result is wanted for all variations."""
        return bool(self._results[result]["varied"])

    def is_whole(self, result: int) -> bool:
        """Whether only the whole data set gives it."""
        return bool(self._results[result]["whole"])

    def is_snapshot(self, result: int) -> bool:
        """Whether it writes rows."""
        return bool(self._results[result]["kind"] == "snapshot")

    # ---- For the maker

    def finish(self, partial: Partial) -> None:
        """Give the results of all tasks to the DataFrame that the plan was made of.

        Raises:
            UsageError: entries are missing or there twice; the plan comes from elsewhere.
        """
        from .driver import finish

        if self._session is None:
            raise UsageError(
                "the plan was made elsewhere: its results belong to a DataFrame there",
                "finish with the plan that DataFrame.freeze gave",
            )
        finish(self, self._session, partial)

    def __len__(self) -> int:
        return len(self._results)


_KINDS = {"kind": str, "node": int, "arguments": list, "options": str, "varied": bool, "whole": bool}


def _checked(result: dict[str, Any]) -> dict[str, Any]:
    """The same, if it is what describes a result."""
    fits = all(type(result[name]) is kind for name, kind in _KINDS.items())
    texts = [*result["arguments"], result.get("calls", "")]
    if (
        not fits
        or not all(isinstance(each, str) for each in texts)
        or not isinstance(json.loads(result["options"]), dict)
    ):
        raise ValueError("a result is not described as results are")
    return result


def freeze(session: Session, numbers: Sequence[int]) -> Plan:
    """Make the plan of booked results.

    Raises:
        UnsupportedError: arrays in memory, and callables that cloudpickle cannot take.
    """
    graph = session.graph
    bookings = [session.bookings[number] for number in numbers]
    of_all = any(each.kind == "report" and each.node == 0 for each in bookings)
    described = json.loads(graph.plan(None if of_all else sorted({each.node for each in bookings})))
    parts = graph.parts()
    content = {
        "colonnade": _core.version,
        "graph": described,
        "entries": [parts[0][0], parts[-1][1]] if parts else [0, 0],
        "results": [
            _described(booking, number in session.varied, not graph.is_mergeable(number))
            for booking, number in zip(bookings, numbers, strict=True)
        ],
    }
    plan = Plan(json.dumps(content))
    plan._session, plan.numbers, plan._sizes = session, tuple(numbers), graph.part_bytes()
    return plan


def _described(booking: Booking, varied: bool, whole: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": booking.kind,
        "node": booking.node,
        "arguments": list(booking.arguments),
        "options": booking.options,
        "varied": varied,
        "whole": whole,
    }
    if booking.calls is not None:
        calls = booking.calls
        made["calls"] = pickled((calls.add, calls.merge, calls.in_order), "a callable")
    return made
