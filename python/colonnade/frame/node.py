"""A node of a DataFrame's graph, and its properties."""

from __future__ import annotations

import fnmatch
import html
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from colonnade import _core
from colonnade.annotations import checked_methods
from colonnade.errors import (
    Error,
    NotFoundError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
    redacted,
    warn_left_out,
)
from colonnade.misuse import column_name, names_of, path_text
from colonnade.notebook import folded_table, most_rows
from colonnade.reading.aside import written_whole
from colonnade.reading.metrics import ReadMetrics, metrics_of

from .explaining import Explanation, explain
from .expressions import Expression, ExpressionLike, text_of
from .results import Result
from .session import Booking, Session, Skipped

__all__ = ["Columns", "Description", "Node", "drawing", "json_of", "write_drawing"]

N = TypeVar("N", bound="Node")
T = TypeVar("T")
Columns = str | Sequence[str] | None
"""Names, wildcards ("Muon_*"), expressions, or None for all columns."""
_RESERVED = frozenset(_core.special_names())
"""Names with another meaning in expressions."""


class Description:
    """The description of a DataFrame, as text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def print(self) -> None:
        """Print the text."""
        print(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


@checked_methods
class Node:
    """A node of a graph."""

    def __init__(self, session: Session, node: int = 0) -> None:
        self._session, self._node = session, node

    @_core.finalizer
    def __del__(self) -> None:
        if node := vars(self).pop("_node", 0):
            self._session.graph.release(node)

    def __copy__(self: N) -> N:
        # Nodes never change; a copy would release the node a second time.
        return self

    # ---- Questions

    @property
    def column_names(self) -> list[str]:
        """All columns: those of the source with their members ("jets.pt"), then defined ones.

        Those of a data set with selected fields are in the order of the selection.
        """
        names = self._graph.column_names(self._node)
        hidden = self._session.hidden
        if hidden:
            hidden = hidden.difference(set(self.defined_column_names) - self._session.joined)
        names = [name for name in names if name not in hidden]
        fields = self._session.shown
        return _in_order(self._as_selected(names, fields), fields) if fields else names

    @property
    def defined_column_names(self) -> list[str]:
        """Columns that were defined, and aliases."""
        return self._graph.defined_column_names(self._node)

    @property
    def filter_names(self) -> list[str]:
        """The filters above, in order; those without a name by their text. At the top: those of the whole graph."""
        return self._graph.filter_names(self._node)

    @property
    def variation_names(self) -> list[str]:
        """The variations above: "nominal", then "name:tag"."""
        return self._graph.variation_names(self._node)

    def column_type(self, expression: ExpressionLike) -> str:
        """Return the C++ name of the type of a column or an expression, as "float" or "std::vector<float>".

        Raises:
            NotFoundError: no such column.
        """
        return self._graph.column_type(self._node, self._text(expression)).name

    def has_column(self, name: str) -> bool:
        """Return whether there is already a column of that name."""
        return self._graph.has_column(self._node, column_name(name))

    def describe(self) -> Description:
        """Return a text about the source, the columns and the nodes."""
        return Description(redacted(self._graph.describe(self._node)))

    def explain(self) -> Explanation:
        """Return the costs of the last pass: rows, bytes and time of each column, node and result.

        Steps that several results share are computed once, and count for the first of them.
        """
        return explain(self._session)

    @property
    def num_runs(self) -> int:
        """The number of passes over the entries."""
        return self._graph.passes

    @property
    def num_entries(self) -> int:
        """Entries of the source, before any filter and range."""
        return self._session.source.entries

    @property
    def files(self) -> list[str]:
        """The files of the source with their data sets, as "f.root/Events"."""
        return [sample.name for sample in self._session.source.samples]

    @property
    def threads(self) -> int:
        """The number of threads of a pass; 0: one for each processor."""
        return self._session.threads

    @property
    def metrics(self) -> ReadMetrics | None:
        """The storage requests of the last pass and its times; None before the first pass."""
        report = self._session.last_run
        return None if report is None else metrics_of(report.metrics)

    @property
    def skipped(self) -> list[Skipped]:
        """The entries that on_error="skip" left out of results so far, in entry order."""
        session = self._session
        of_runs = [] if session.remote is None else session.remote.skipped_of(session)
        return sorted([*session.lost, *of_runs], key=lambda each: each.first)

    def plan(self) -> str:
        """Return the whole graph as JSON: the source, expressions and results, without values.

        Raises:
            UnsupportedError: arrays in memory, callables that cannot be pickled (with cloudpickle) and results that
                Python computes, such as quantiles, have no plan.
        """
        with self._session.keeping():
            for each in list(self._session.bookings.values()):
                if each.calls is not None:
                    raise UnsupportedError(
                        f"a result over ({', '.join(each.arguments)}) is computed by Python and has no description "
                        "in JSON",
                        "plan() before results such as quantile, reduce and aggregate are booked",
                    )
        return self._graph.to_json()

    def save_graph(self, path: str | os.PathLike[str] | None = None) -> str:
        """Draw the graph with the program `dot` of Graphviz.

        Args:
            path: a file to write to, as SVG; ".dot" and ".gv" are written as text for Graphviz, without that program.

        Returns:
            The drawing, as SVG (or as text for Graphviz).

        Raises:
            StorageError: `dot` is not installed or fails, or the file cannot be written.
        """
        dot = self._graph.dot()
        is_text = path is not None and path_text(path).endswith((".dot", ".gv"))
        drawn = dot if is_text else drawing(dot)
        if path is not None:
            write_drawing(drawn, path)
        return drawn

    def __repr__(self) -> str:
        count = len(self._top_names())
        return (
            f"<{type(self).__name__} of {self._session.place}: {self.num_entries} entries, {count} columns>"
        )

    def _repr_html_(self) -> str:
        names = self._top_names()
        defined = set(self.defined_column_names)
        rows = [
            [name, self.column_type(name), "defined" if name in defined else ""]
            for name in names[: most_rows()]
        ]
        table = folded_table(["column", "type", ""], rows, "columns", len(names))
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{table}"

    # ---- For subclasses

    @property
    def _graph(self) -> _core.FrameGraph:
        return self._session.graph

    def _text(self, expression: ExpressionLike) -> str:
        return text_of(expression, self._graph, self._node)

    def _texts(self, expressions: ExpressionLike | Sequence[ExpressionLike]) -> list[str]:
        if isinstance(expressions, str | Expression):
            return [self._text(expressions)]
        if not isinstance(expressions, list | tuple):  # quick to tell, unlike the others
            is_one = not isinstance(expressions, Iterable) or getattr(expressions, "ndim", 1) == 0
            if is_one:
                return [self._text(expressions)]  # type: ignore[arg-type]
        return [self._text(each) for each in expressions]

    def _top_names(self) -> list[str]:
        """Columns that are not members of others."""
        names = self.column_names
        known = set(names)
        return [
            name for name in names if not any(name[:k] in known for k in range(len(name)) if name[k] == ".")
        ]

    def _select(self, columns: Columns) -> list[str]:
        """Names of columns and expressions, with wildcards replaced by their matches."""
        names = self._top_names()
        reserved = [name for name in names if name in _RESERVED]
        names = [name for name in names if name not in _RESERVED]
        left_out = [
            *self._session.left_out,
            *((name, f"expressions reserve the name, `{name}` is the column") for name in reserved),
        ]
        if columns is None:
            warn_left_out(left_out, self._session.place, stacklevel=3)
            if not names:
                raise UsageError("there are no columns", "define() some, or count() for the number of rows")
            return names
        wanted = names_of(columns)
        selected: dict[str, None] = {}
        for each in wanted:
            selected |= dict.fromkeys(self._matches(each, names) or [each])
        if not selected:
            raise UsageError("no columns are named", "the names of columns, or None for all")
        warn_left_out(
            [(path, why) for path, why in left_out if _is_among(path, wanted, selected)],
            self._session.place,
            stacklevel=3,
        )
        return list(selected)

    def _matches(self, text: str, names: list[str]) -> list[str]:
        """Columns for which a text is a wildcard; none if it is a name or an expression."""
        if not any(c in text for c in "*?") or self.has_column(text):
            return []
        found = self._called(text, names) or self._called(text, self.column_names)
        try:
            self._graph.column_type(self._node, text)
        except Error as error:
            if found:
                return found
            problem = error.problem.partition("\n")[0]
            raise NotFoundError(
                f"no column matches '{text}', and as an expression: {problem}", ", ".join(names[:10])
            ) from None
        if found:
            raise UsageError(
                f"'{text}' is an expression, and a wildcard for {', '.join(found[:10])}",
                "spaces around operators, or the names of the columns",
            )
        return []

    def _as_selected(self, names: list[str], fields: Sequence[str]) -> list[str]:
        """Columns of friends by the names that a selection gave their fields: "f.x" in place of "x"."""
        known = set(names).difference(self.defined_column_names)
        called = {}
        for field in set(fields).difference(names):
            friend, _, path = field.partition(".")
            if friend in self._session.friends and friend not in names and path in known.difference(fields):
                called[path] = field
        if not called:
            return names
        return [_replaced(name, called) if name in known else name for name in names]

    def _called(self, wildcard: str, names: list[str]) -> list[str]:
        """Those that a wildcard matches: by the name, or by that with a friend ("f.x" for "x")."""
        # Columns of a friend that are not called as those of another one.
        others = self._session.hidden.union(names)
        found = []
        for name in names:
            qualified = (f"{friend}.{name}" for friend in self._session.friends)
            known = [name, *(each for each in qualified if each not in others)]
            matching = (each for each in known if fnmatch.fnmatchcase(each, wildcard))
            found += [each for each in matching if each == name or self.has_column(each)][:1]
        return found

    def _book(
        self,
        kind: str,
        arguments: Sequence[str],
        options: dict[str, object],
        convert: Callable[[object], T],
        what: str = "",
    ) -> Result[T]:
        return Result(
            self._session,
            Booking(kind, self._node, tuple(arguments), json_of(options)),
            what or f"{kind}({', '.join(arguments)})",
            lambda graph, number, variation: convert(graph.value(number, variation)),
        )


def _replaced(name: str, called: Mapping[str, str]) -> str:
    """Return what a column, or the one of which it is a member, is called."""
    path, members = name, ""
    while path not in called and "." in path:
        path, _, last = path.rpartition(".")
        members = f".{last}{members}"
    return called[path] + members if path in called else name


def _in_order(names: list[str], fields: Sequence[str]) -> list[str]:
    """Return columns in the order of the fields that they are, or are members of; others come last."""
    places = {field: place for place, field in enumerate(fields)}

    def place(name: str) -> int:
        while name not in places and "." in name:
            name = name.rpartition(".")[0]
        return places.get(name, len(places))

    return sorted(names, key=place)


def _is_among(path: str, wanted: list[str], selected: dict[str, None]) -> bool:
    """Whether a field is selected: by name, or by a wildcard."""
    top = path.partition(".")[0]
    wildcards = [each for each in wanted if any(c in each for c in "*?")]
    return any(path.startswith(f"{name}.") for name in selected) or any(
        fnmatch.fnmatchcase(top, each) or fnmatch.fnmatchcase(path, each) for each in wildcards
    )


def _plain_number(value: object) -> object:
    """Return a number of NumPy as one of Python, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeMismatchError(f"a {type(value).__name__} cannot be an option of a result")


_ENCODER = json.JSONEncoder(default=_plain_number)  # json.dumps would make one each time


def json_of(options: Mapping[str, object]) -> str:
    """Return options of a result as JSON."""
    return _ENCODER.encode(options)


def drawing(dot: str) -> str:
    """Return a text for Graphviz as SVG."""
    program = shutil.which("dot")
    if program is None:
        raise StorageError(
            "the program 'dot' of Graphviz, which draws graphs, is not installed",
            "apt-get install graphviz, or save_graph('graph.dot')",
        )
    done = subprocess.run([program, "-Tsvg"], input=dot, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StorageError(f"the program 'dot' failed: {done.stderr.strip()[:500]}")
    return done.stdout


def write_drawing(drawn: str, path: str | os.PathLike[str]) -> None:
    """Write a drawing, or its text, to a file."""
    with written_whole(Path(path_text(path)), "the drawing cannot be written") as aside:
        aside.write_text(drawn, encoding="utf-8")
