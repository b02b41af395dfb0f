"""The results of DataFrames, which are computed when their values are read."""

from __future__ import annotations

import html
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TextIO, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import NotFoundError, TypeMismatchError, UnsupportedError
from colonnade.misuse import function_of
from colonnade.notebook import folded_table, html_of, html_table, most_rows

from .session import Booking, Session, run_sessions

__all__ = ["Cut", "Display", "GraphPoints", "JoinedResult", "Report", "Result", "Stats", "Variations"]

R = TypeVar("R", bound="Result[Any]")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def _arithmetic(operation: Callable[[Any, Any], Any], sign: str, *, swapped: bool = False) -> Any:
    def apply(self: Result[Any], other: Any) -> Any:
        values = [self._number_value(sign), _value_or_number(other)]
        return operation(*(reversed(values) if swapped else values))

    return apply


class Result(Generic[T_co]):
    """A booked result. `value` computes it, and in the same pass everything else that is booked.

    A result without references is not computed.
    """

    def __init__(
        self,
        session: Session,
        booking: Booking,
        what: str,
        convert: Callable[[_core.FrameGraph, int, str], T_co],
    ) -> None:
        """`convert(graph, number, variation)` returns the value from a graph in which it is booked and computed."""
        self._session, self._what, self._convert = session, what, convert
        self._values: dict[str, T_co] = {}
        self._number = session.book(booking)

    @_core.finalizer
    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self._session.drop(self._number)

    def _forget(self) -> None:
        """Drop the booking before all references are gone."""
        self._session.drop(self._number)
        del self._number

    def __copy__(self: R) -> R:
        # The end of a copy would drop the booking of both.
        return self

    @property
    def value(self) -> T_co:
        """The value; computed in a pass over the entries if needed.

        Raises:
            Error: a file is damaged, an index is out of bounds, ...; exceptions of callables pass through.
        """
        return self._value_of("")

    @property
    def is_ready(self) -> bool:
        """Whether `value` is available without a pass."""
        return "" in self._values or self._is_computed

    @property
    def _numbers(self) -> list[int]:
        """The numbers of its bookings."""
        return [self._number]

    @property
    def _is_computed(self) -> bool:
        return all(self._session.is_ready(each) for each in self._numbers)

    def _value_of(self, variation: str) -> T_co:
        if variation not in self._values:
            if not self._session.is_ready(self._number):
                self._session.retry(self._number)
                run_sessions([self._session])
            self._values[variation] = self._convert(self._session.graph, self._number, variation)
        return self._values[variation]

    def _vary(self) -> list[str]:
        return self._session.vary(self._number)

    def on_partial(self, callback: Callable[[T_co], object]) -> Result[T_co]:
        """Call back with partial values from time to time while a pass runs; see docs/distributed.md.

        Args:
            callback: gets a copy of the value of some of the entries, in the thread that requested the result. An
                exception ends the pass.

        Returns:
            This result.
        """
        function_of(callback, "on_partial(callback), which gets the value")
        convert = self._convert
        self._session.on_partial(self._number, lambda graph, number: callback(convert(graph, number, "")))
        return self

    # ---- In place of its value

    def _number_value(self, operation: str) -> Any:
        """The value if it is a number; other values are ambiguous as a number."""
        value = self.value
        if isinstance(value, int | float | np.number | np.bool_):
            return value
        raise TypeMismatchError(
            f"{self._what} is a {type(value).__name__}, for which {operation} is ambiguous",
            "the same on its .value",
        )

    def __eq__(self, other: object) -> Any:
        if other is None:
            return False
        return self.value == (other.value if isinstance(other, Result) else other)

    def __ne__(self, other: object) -> Any:
        if other is None:
            return True
        return self.value != (other.value if isinstance(other, Result) else other)

    def __lt__(self, other: Any) -> bool:
        return bool(self._number_value("<") < _value_or_number(other))

    def __le__(self, other: Any) -> bool:
        return bool(self._number_value("<=") <= _value_or_number(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._number_value(">") > _value_or_number(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._number_value(">=") >= _value_or_number(other))

    __array_priority__ = 1000  # NumPy leaves operators of its numbers with results to these

    # Two results are two bookings, even if their values are equal.
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self._number_value("truth"))

    __add__ = _arithmetic(operator.add, "+")
    __radd__ = _arithmetic(operator.add, "+", swapped=True)
    __sub__ = _arithmetic(operator.sub, "-")
    __rsub__ = _arithmetic(operator.sub, "-", swapped=True)
    __mul__ = _arithmetic(operator.mul, "*")
    __rmul__ = _arithmetic(operator.mul, "*", swapped=True)
    __truediv__ = _arithmetic(operator.truediv, "/")
    __rtruediv__ = _arithmetic(operator.truediv, "/", swapped=True)

    def __neg__(self) -> Any:
        return -self._number_value("-")

    def __abs__(self) -> Any:
        return abs(self._number_value("abs()"))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._number_value("round()"), digits)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._number_value("conversion to an array"), dtype=dtype)

    def __int__(self) -> int:
        return int(self._number_value("int()"))

    def __float__(self) -> float:
        return float(self._number_value("float()"))

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"<{self._what}: {self.value!r}>" if self.is_ready else f"<{self._what}: not computed yet>"

    # ---- What only its value has

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeMismatchError("a result cannot be indexed", f"{self._what}.value[...]")

    __iter__ = None  # Python would ask for items

    if not TYPE_CHECKING:

        def __getattribute__(self, name: str) -> Any:
            # Where `value` raises the AttributeError of a callable, __getattr__ would hide it.
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                if hasattr(type(self), name):
                    raise
            advice = "" if name.startswith("_") else f"; try: .value.{name}, if its value has that"
            raise AttributeError(f"a {type(self).__name__} has no attribute '{name}'{advice}")

    def _repr_html_(self) -> str:
        if not self.is_ready:
            return f"<p>{html.escape(self._what)}: not computed yet</p>"
        made = html_of(self.value)
        return f"<p>{html.escape(repr(self.value))}</p>" if made is None else made


class JoinedResult(Result[T_co]):
    """A result that is made of others of the same DataFrame, which are computed in the same pass."""

    def __init__(self, what: str, parts: Sequence[Result[Any]], join: Callable[[list[Any]], T_co]) -> None:
        self._what, self._parts, self._join = what, list(parts), join
        self._session = self._parts[0]._session
        self._values: dict[str, T_co] = {}
        # The variations of each part: what does not reach it leaves its value as it is.
        self._reached: list[list[str]] = [[] for _ in self._parts]

    @property
    def _numbers(self) -> list[int]:
        return [each._number for each in self._parts]

    def _value_of(self, variation: str) -> T_co:
        if variation not in self._values:
            parts = zip(self._parts, self._reached, strict=True)
            values = [each._value_of(variation if variation in names else "") for each, names in parts]
            self._values[variation] = self._join(values)
        return self._values[variation]

    def _vary(self) -> list[str]:
        self._reached = [each._vary() for each in self._parts]
        return list(dict.fromkeys(name for names in self._reached for name in names))

    def on_partial(self, callback: Callable[[T_co], object]) -> Result[T_co]:
        """Refuse: while a pass runs its parts have values of other entries."""
        raise UnsupportedError(
            f"a {self._what} is not shown while it is computed", "on_partial() of a histogram or a number"
        )


def _value_or_number(other: Any) -> Any:
    return other._number_value("a comparison") if isinstance(other, Result) else other


class _NoVariationError(NotFoundError, KeyError):
    """The exception that a mapping raises."""

    __str__ = Exception.__str__


class Variations(Mapping[str, T_co]):
    """The values of a result for its variations, by "nominal" and "name:tag"; made by `DataFrame.variations_for`."""

    def __init__(self, result: Result[T_co], names: Sequence[str]) -> None:
        self._result, self._names = result, list(names)

    @property
    def is_ready(self) -> bool:
        """Whether all values are available without a pass."""
        return self._result._is_computed

    def __getitem__(self, name: str) -> T_co:
        if name not in self._names:
            raise _NoVariationError(
                f"there is no variation '{name}' of this result", f"one of {', '.join(self._names)}"
            )
        return self._result._value_of("" if name == "nominal" else name)

    # Those of `Mapping` compute the value, and take a KeyError of a callable for a name that is not there.
    def __contains__(self, name: object) -> bool:
        return name in self._names

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value for a variation, or `default` if there is none of this name."""
        return self[name] if name in self._names else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Variations of {self._result!r}: {', '.join(self._names)}>"

    def _repr_html_(self) -> str:
        if not self.is_ready:
            return folded_table(["variation", "value"], [[name, ""] for name in self._names], "variations")
        shown = self._names[: most_rows()]
        rows = [[name, _one_line(self[name])] for name in shown]
        table = folded_table(["variation", "value"], rows, "variations", len(self._names))
        nominal = html_of(self["nominal"])
        if nominal is None:
            return table
        return f"{nominal}<details><summary>{len(self._names)} variations</summary>{table}</details>"


# ---- Values


@dataclass(frozen=True)
class Stats:
    """Number, sum, mean, spread (with n - 1 in the denominator) and range of values."""

    count: int
    sum: float
    mean: float
    stddev: float
    min: float
    max: float
    sum_of_weights: float
    sum_of_squared_weights: float


@dataclass(frozen=True)
class Cut:
    """The counts of a filter."""

    name: str
    all: int
    """Entries that reached it."""
    passed: int

    @property
    def efficiency(self) -> float:
        """The fraction that passed, 0 to 1; NaN if no entry reached it."""
        return self.passed / self.all if self.all else float("nan")


class Report(Sequence[Cut]):
    """A cut flow: the named filters of a DataFrame in their order, by number or by name."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self._cuts = list(cuts)

    def __getitem__(self, key: Any) -> Any:
        """The cut of a number or a name."""
        if not isinstance(key, str):
            return self._cuts[key]
        for cut in self._cuts:
            if cut.name == key:
                return cut
        raise NotFoundError(f"there is no filter '{key}'", ", ".join(repr(cut.name) for cut in self._cuts))

    def __len__(self) -> int:
        return len(self._cuts)

    def __contains__(self, cut: object) -> bool:
        """Return whether there is a filter of a name, or a cut."""
        return any(cut in (each, each.name) for each in self._cuts)

    def _rows(self) -> list[tuple[Cut, float]]:
        """Each cut with the fraction that passed it and all cuts before."""
        total = self._cuts[0].all if self._cuts else 0
        return [(cut, cut.passed / total if total else float("nan")) for cut in self._cuts]

    def __str__(self) -> str:
        width = max([len(cut.name) for cut in self._cuts], default=0)
        return "\n".join(
            f"{cut.name:<{width}}: pass={cut.passed:<10} all={cut.all:<10} -- "
            f"eff={100 * cut.efficiency:.2f} % cumulative eff={100 * cumulative:.2f} %"
            for cut, cumulative in self._rows()
        )

    def __repr__(self) -> str:
        return f"<Report of {len(self)} filter{'s' * (len(self) != 1)}>\n{self}"

    def print(self, file: TextIO | None = None) -> None:
        """Print the cut flow, one filter per line."""
        print(self, file=file)

    def _repr_html_(self) -> str:
        return html_table(
            ["filter", "entries", "passed", "efficiency", "cumulative"],
            [
                [cut.name, cut.all, cut.passed, f"{100 * cut.efficiency:.2f} %", f"{100 * cumulative:.2f} %"]
                for cut, cumulative in self._rows()
            ],
        )


class Display:
    """The first entries of columns, as text and as a table."""

    def __init__(self, columns: dict[str, ak.Array], numbers: ak.Array | None = None) -> None:
        """`numbers` are those of the rows; they are counted from 0 if left out."""
        self._columns, self._numbers = columns, numbers

    @property
    def arrays(self) -> ak.Array:
        """The entries."""
        return ak.zip(self._columns, depth_limit=1)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the rows."""
        if self._numbers is not None:
            return _values(self._numbers.layout)
        return [*range(len(next(iter(self._columns.values()), ())))]

    def _texts(self) -> list[list[str]]:
        lists = [[_short(value) for value in _values(column.layout)] for column in self._columns.values()]
        return [[str(number), *row] for number, *row in zip(self.numbers, *lists, strict=True)]

    def __str__(self) -> str:
        rows = [["Row", *self._columns], *self._texts()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = [
            "| " + " | ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)) + " |" for row in rows
        ]
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        return "\n".join([rule, lines[0], rule, *lines[1:], rule])

    __repr__ = __str__

    def print(self, file: TextIO | None = None) -> None:
        """Print the table."""
        print(self, file=file)

    def _repr_html_(self) -> str:
        return folded_table(["Row", *self._columns], self._texts(), "entries")


@dataclass(frozen=True)
class GraphPoints:
    """Points, with errors if they were requested."""

    name: str
    title: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    errors: tuple[NDArray[np.float64], ...] = ()
    """x low, x high, y low, y high; or nothing."""

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"<GraphPoints {self.name!r}: {len(self)} points{', with errors' if self.errors else ''}>"

    def _repr_html_(self) -> str:
        head = ["x", "y", *(["x down", "x up", "y down", "y up"] if self.errors else [])]
        columns = [array[: most_rows()].tolist() for array in (self.x, self.y, *self.errors)]
        rows = [[f"{value:.6g}" for value in row] for row in zip(*columns, strict=True)]
        table = folded_table(head, rows, "points", len(self))
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{table}"


def _one_line(value: object) -> str:
    if isinstance(value, int | float | str | np.number | np.bool_):
        return str(value)
    total = getattr(value, "sum", None)
    if type(value).__module__.startswith(("hist", "boost_histogram")) and total is not None:
        return f"{type(value).__name__} with a sum of {total()}"
    return _short(repr(value).split("\n", 1)[0])


def stats_of(value: _core.StatsValue) -> Stats:
    """Convert the numbers from the C++ side."""
    return Stats(*(getattr(value, each.name) for each in fields(Stats)))


def graph_of(value: _core.GraphValue) -> GraphPoints:
    """Convert the points from the C++ side."""
    errors = tuple(value.errors)
    return GraphPoints(value.name, value.title, value.x, value.y, errors if any(map(len, errors)) else ())


def report_of(counts: Sequence[tuple[str, int, int]]) -> Report:
    """Convert the counts from the C++ side."""
    return Report([Cut(*each) for each in counts])


def _values(layout: Content) -> list[Any]:
    """The values of a column; of numbers and lists of them in a fraction of the time that Awkward takes."""
    if layout.parameter("__array__") is None:
        if layout.is_numpy:
            return cast("list[Any]", layout.data.tolist())
        if layout.is_list and hasattr(layout, "offsets"):
            items = _values(layout.content)
            return [items[first:last] for first, last in pairwise(layout.offsets.data.tolist())]
    return cast("list[Any]", layout.to_list())


def _short(value: object, most: int = 60) -> str:
    text = f"{value:.7g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else text[: most - 3] + "..."
