"""The results of `colonnade.RDataFrame`, with the methods of ROOT's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from colonnade.arrays.lazy import awkward as ak
from colonnade.frame.results import Cut, Display, Report, Result, Variations
from colonnade.misuse import function_of

from .histograms import GraphView, HistogramView, ProfileView, refuse
from .spelling import vector

__all__ = [
    "CutView",
    "DescriptionView",
    "DisplayView",
    "RResultMap",
    "RResultPtr",
    "ReportView",
    "VariationsView",
]


S = TypeVar("S")
T = TypeVar("T")


_OF_VECTOR: dict[str, Callable[..., Any]] = {
    "size": len,
    "at": operator.getitem,
    "front": lambda values: values[0],
    "back": lambda values: values[-1],
    "empty": lambda values: len(values) == 0,
}
"""Methods of std::vector, which Take gives in ROOT."""


class RResultPtr(Generic[T]):
    """A booked result: GetValue() computes it. Other attributes are those of the value."""

    kOnce = 0

    def __init__(self, result: Result[S], view: Callable[[S], T]) -> None:
        self._result: Result[Any]
        self._view: Callable[[Any], T]
        self._result, self._view = result, view
        self._seen: tuple[Any, T] | None = None

    def GetValue(self) -> T:
        """Return the value; computed in a pass over the entries if needed."""
        value = self._result.value
        if self._seen is None or self._seen[0] is not value:
            self._seen = (value, self._view(value))
        return self._seen[1]

    GetPtr = GetSharedPtr = GetValue

    def IsReady(self) -> bool:
        """Return whether the value is available without a pass."""
        return self._result.is_ready

    def OnPartialResult(self, every: int, callback: Callable[[T], object]) -> RResultPtr[T]:
        """Call back with partial values from time to time; `every` is ROOT's number of entries, a hint.

        With `kOnce`, which is 0, it is called with the first partial value alone.
        """
        function_of(callback, "OnPartialResult(every, callback)")
        remaining = [1] if every == self.kOnce else None

        def call(value: T) -> None:
            if remaining is None or (remaining and remaining.pop()):
                callback(value)

        return self._on_each_partial(call)

    def _on_each_partial(self, callback: Callable[[T], object]) -> RResultPtr[T]:
        self._result.on_partial(lambda value: callback(self._view(value)))
        return self

    def __bool__(self) -> bool:
        """Whether there is a result, as in ROOT; GetValue() is its value."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "OnPartialResultSlot":
            refuse("a result", name, "OnPartialResult: there are no slots")
        value: Any = self.GetValue()
        if isinstance(value, np.ndarray | ak.Array) and name in _OF_VECTOR:
            return partial(_OF_VECTOR[name], value)
        return getattr(value, name)

    def __iter__(self) -> Iterator[Any]:
        value: Any = self.GetValue()
        return iter(value)

    def __len__(self) -> int:
        value: Any = self.GetValue()
        return len(value)

    def __getitem__(self, key: Any) -> Any:
        value: Any = self.GetValue()
        return value[key]

    def __repr__(self) -> str:
        return f"<RResultPtr of {self._result!r}>"

    def _repr_html_(self) -> str:
        return self._result._repr_html_()


class RResultMap(Generic[T]):
    """A result with its variations, by "nominal" and "name:tag"."""

    def __init__(self, variations: Variations[S], view: Callable[[S], T]) -> None:
        self._variations: Variations[Any]
        self._view: Callable[[Any], T]
        self._variations, self._view = variations, view
        self._seen: dict[str, tuple[Any, T]] = {}

    def GetKeys(self) -> list[str]:
        """Return "nominal" and the names of the variations, in alphabetical order as in ROOT."""
        nominal, *others = self._variations
        keys: list[str] = vector([nominal, *sorted(others)])
        return keys

    keys = GetKeys

    def __getitem__(self, name: str) -> T:
        value = self._variations[name]
        if name not in self._seen or self._seen[name][0] is not value:
            view = self._view(value)
            if name != "nominal" and isinstance(view, HistogramView | ProfileView | GraphView):
                view.name += f"_{name.replace(':', '_')}"
            self._seen[name] = (value, view)
        return self._seen[name][1]

    def __iter__(self) -> Iterator[str]:
        return iter(self.GetKeys())

    def __len__(self) -> int:
        return len(self._variations)

    def __repr__(self) -> str:
        return repr(self._variations)


def _percentage(passed: int, of: int) -> float:
    return float(np.float32(100) * (np.float32(passed) / np.float32(of))) if of else float("nan")


class CutView:
    """A line of a cut flow with the methods of TCutInfo."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut

    def GetName(self) -> str:
        """Return the name of the filter."""
        return self.cut.name

    def GetAll(self) -> int:
        """Return the number of entries that reached it."""
        return self.cut.all

    def GetPass(self) -> int:
        """Return the number of entries that passed."""
        return self.cut.passed

    def GetEff(self) -> float:
        """Return the percentage that passed, in single precision."""
        return _percentage(self.cut.passed, self.cut.all)

    def __repr__(self) -> str:
        return repr(self.cut)


class ReportView:
    """A cut flow with the methods of RCutFlowReport."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def Print(self) -> None:
        """Print the cut flow, one filter per line."""
        print(self.AsString(), end="")

    def AsString(self) -> str:
        """Return the cut flow as ROOT prints it, one filter per line."""
        total = self.report[0].all if len(self.report) else 0
        return "".join(
            f"{cut.name:<20}: pass={cut.passed:<10} all={cut.all:<10} -- "
            f"eff={_percentage(cut.passed, cut.all):.2f} % "
            f"cumulative eff={_percentage(cut.passed, total):.2f} %\n"
            for cut in self.report
        )

    def At(self, name: str) -> CutView:
        """Return the filter of a name."""
        return CutView(self.report[name])

    __getitem__ = At

    def __iter__(self) -> Iterator[CutView]:
        return (CutView(cut) for cut in self.report)

    def __len__(self) -> int:
        return len(self.report)

    def __repr__(self) -> str:
        return repr(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


class DisplayView:
    """The first entries with the methods of RDisplay."""

    def __init__(self, display: Display, most_items: int = 10) -> None:
        """`most_items` is the number of items of a list that are printed."""
        self.display, self._most_items = display, most_items

    def Print(self) -> None:
        """Print the table, with the first items of lists."""
        print(self._table(self._most_items), end="")

    def AsString(self) -> str:
        """Return the table as ROOT draws it: one line per item of a list, a rule after each entry."""
        return self._table(None)

    def _table(self, most_items: int | None) -> str:
        shown, every = self._rows(most_items), self._rows(self._most_items) + self._rows(None)
        # A column is as wide as all of its items, and as the dots behind the first ones, as in ROOT.
        widths = [max(len(line) for row in every for line in row[k]) for k in range(len(shown[0]))]
        # Columns that a line of 100 characters has no room for are dots, in all lines.
        room = sum(total <= 100 for total in accumulate(width + 3 for width in widths))
        kept = max(room, 2)
        if kept < len(widths):
            widths = [*widths[:kept], 3]
            # The lines that only the columns left out would fill are left out, too.
            shown = [[*row[:kept], ["..."] * max(map(len, row[:kept]))] for row in shown]
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"
        return rule + "".join(_drawn(row, widths) + rule for row in shown)

    def _rows(self, most_items: int | None) -> list[list[list[str]]]:
        arrays = self.display.arrays
        names = arrays.fields
        inner = {name: _SINGLE if "float32" in str(arrays[name].type) else _DOUBLE for name in names}
        rows = zip(self.display.numbers, arrays.to_list(), strict=True)
        cells = [
            [[str(number)], *(_lines(row[name], most_items, inner[name]) for name in names)]
            for number, row in rows
        ]
        return [[["Row"], *([name] for name in names)], *cells]

    def __repr__(self) -> str:
        return self.AsString()

    def _repr_html_(self) -> str:
        return self.display._repr_html_()


# Numbers in lists within lists, as ROOT's interpreter prints them.
_DOUBLE, _SINGLE = "{:#.8g}", "{:#.6g}f"


def _lines(value: Any, most: int | None, inner: str) -> list[str]:
    if not isinstance(value, list):
        return [_cell(value, "{:f}", inner)]
    shown = [_cell(item, "{:f}", inner) for item in value[:most]]
    return [*shown, *(["..."] if most is not None and most < len(value) else [])]


def _cell(value: Any, number: str, inner: str) -> str:
    """A value, whose numbers have one format, and another one in lists."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number.format(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "{ " + ", ".join(_cell(item, inner, inner) for item in value) + " }" if value else "{}"
    return str(value)


def _drawn(row: list[list[str]], widths: list[int]) -> str:
    """The lines of an entry: "| 0   | 1.500000 | "."""
    height = max(1, *map(len, row))
    lines = [[cell[k] if k < len(cell) else "" for cell in row] for k in range(height)]
    return "".join(
        "| " + "".join(f"{text:<{width}} | " for text, width in zip(line, widths, strict=True)) + "\n"
        for line in lines
    )


class DescriptionView:
    """A text with the methods of RDFDescription."""

    def __init__(self, text: str, files: int = 0) -> None:
        self._text, self._files = text, files

    def Print(self, shortFormat: bool = False) -> None:
        """Print the text, or its first line alone."""
        print(self.AsString(shortFormat))

    def AsString(self, shortFormat: bool = False) -> str:
        """Return the text, or its first line alone."""
        return self._text.partition("\n")[0] if shortFormat else self._text

    def GetNFiles(self) -> int:
        """Return the number of files."""
        return self._files

    def __repr__(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> NoReturn:
        refuse("a description", name, "AsString()")


class VariationsView(DescriptionView):
    """A text with the methods of RVariationsDescription: lines that end."""

    def Print(self, shortFormat: bool = False) -> None:
        """Print the text, or its first line alone."""
        print(self.AsString(shortFormat), end="\n" if shortFormat and self._text else "")
