"""Histograms and graphs that scripts make by hand, `ROOT.TH1D("h", "title", 10, 0, 1)`, and those of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import UnsupportedError, UsageError
from colonnade.frame.histograms import joined_title, split_title
from colonnade.frame.results import GraphPoints

from .histograms import GraphView, HistogramView, ProfileView
from .reshaping import axis_of
from .styles import AXIS, HISTOGRAM

__all__ = [
    "TH1",
    "TH1D",
    "TH1F",
    "TH2",
    "TH2D",
    "TH2F",
    "TH3",
    "TH3D",
    "TH3F",
    "TGraph",
    "TGraphAsymmErrors",
    "TGraphErrors",
    "histogram_in",
]

Floats = NDArray[np.float64]


class _Kind(type):
    """A class of ROOT's: its objects are views, which know how many axes they have and how precise they are."""

    axes: int
    single: bool | None
    """None for any."""

    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, HistogramView) or (cls.axes and value.GetDimension() != cls.axes):
            return False
        return cls.single is None or value._single == cls.single


class TH1(metaclass=_Kind):
    """What all histograms are."""

    axes = 0
    single: bool | None = None

    def __new__(cls, *arguments: Any) -> Any:
        """Make a histogram: a name, a title, and for each axis the number of bins, with a range or the edges.

        Raises:
            UsageError: other arguments.
            UnsupportedError: the class has no objects of its own.
        """
        if cls.single is None:
            raise UnsupportedError(
                f"a {cls.__name__} cannot be made by itself", f"ROOT.TH{cls.axes or 1}D(name, title, ...)"
            )
        name, title, *rest = arguments if len(arguments) > 1 else ("", "", None)
        if not isinstance(name, str) or not isinstance(title, str):
            raise UsageError(
                f"the arguments of {cls.__name__} are wrong", 'ROOT.TH1D("name", "title", bins, low, high)'
            )
        axes = [_axis(rest, number) for number in range(cls.axes)]
        if rest:
            raise UsageError(f"{cls.__name__} takes no more arguments: {rest}")
        made = empty(name, title, axes)
        made._single = cls.single
        return made

    @staticmethod
    def AddDirectory(add: bool = True) -> None:
        """Do nothing: histograms are in no directory."""

    @staticmethod
    def SetDefaultSumw2(store: bool = True) -> None:
        """Let histograms that are made by hand keep the squares of weights; those with weights always do."""
        global _keeps_squares  # noqa: PLW0603
        _keeps_squares = store

    @staticmethod
    def StatOverflows(flag: bool = True) -> None:
        """Raise unless statistics are those of values within the axes.

        Raises:
            UnsupportedError: they should have the others, too.
        """
        if flag:
            raise UnsupportedError(
                "statistics are those of values within the axes", "Mean and StdDev of the RDataFrame"
            )


_keeps_squares = False


class TH1D(TH1):
    """A histogram with one axis."""

    axes, single = 1, False


class TH1F(TH1):
    """A histogram with one axis, whose contents have single precision."""

    axes, single = 1, True


class TH2(TH1):
    """What histograms with two axes are."""

    axes = 2


class TH2D(TH2):
    """A histogram with two axes."""

    single = False


class TH2F(TH2):
    """A histogram with two axes, whose contents have single precision."""

    single = True


class TH3(TH1):
    """What histograms with three axes are."""

    axes = 3


class TH3D(TH3):
    """A histogram with three axes."""

    single = False


class TH3F(TH3):
    """A histogram with three axes, whose contents have single precision."""

    single = True


class _GraphKind(type):
    """A class of ROOT's: its objects are views of points."""

    errors: int | None

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, GraphView) and (cls.errors is None or bool(value.points.errors))


class TGraph(metaclass=_GraphKind):
    """Points."""

    errors: int | None = None

    def __new__(cls, *arguments: Any) -> Any:
        """Make a graph: the number of points, their coordinates, and errors if the class has them.

        `TGraph(3, x, y)`, `TGraph(x, y)`, `TGraph(3)`, `TGraph()`; `TGraphErrors(3, x, y, ex, ey)`;
        `TGraphAsymmErrors(3, x, y, exl, exh, eyl, eyh)`. Errors that are left out, or 0, are 0. A histogram becomes
        the centers of its bins and their contents.

        Raises:
            UsageError: other arguments.
        """
        rest = list(arguments)
        if rest and isinstance(view := getattr(rest[0], "GetPtr", lambda: rest[0])(), HistogramView):
            return _points_of(view, with_errors=cls.errors is not None)
        count = int(rest.pop(0)) if rest and isinstance(rest[0], int | np.integer) else None
        arrays = [_values(each, count) for each in rest]
        arrays += [_values(0, count)] * max(2 - len(arrays), 0)
        size = len(arrays[0]) if count is None else count
        arrays = [each if len(each) else np.zeros(size) for each in arrays]
        if len(arrays) > 2 + (cls.errors or 0) or any(len(each) != size for each in arrays):
            raise UsageError(
                f"the arguments of {cls.__name__} are wrong: {len(arguments)} of other lengths or too many",
                f"ROOT.{cls.__name__}(n, x, y{', errors ...' if cls.errors else ''})",
            )
        if cls.errors is not None:
            arrays += [np.zeros(size)] * (2 + cls.errors - len(arrays))
            if cls.errors == 2:
                arrays = [*arrays[:2], arrays[2], arrays[2], arrays[3], arrays[3]]
        return GraphView(GraphPoints("Graph", "Graph", arrays[0], arrays[1], tuple(arrays[2:])))


class TGraphErrors(TGraph):
    """Points with errors, as large in both directions."""

    errors = 2


class TGraphAsymmErrors(TGraph):
    """Points with errors in each direction."""

    errors = 4


def _values(given: Any, count: int | None) -> Floats:
    """Return a copy of the first values; none for ROOT's null pointer."""
    if given is None or (isinstance(given, int) and given == 0):
        return np.zeros(0)
    if isinstance(given, str) or not hasattr(given, "__getitem__") or not hasattr(given, "__len__"):
        raise UsageError(f"{given!r} is no array of coordinates", "an array or a list of numbers")
    found = np.array(
        [float(given[k]) for k in range(len(given) if count is None else min(count, len(given)))]
    )
    if count is not None and len(found) < count:
        raise UsageError(f"{count} points were requested of {len(found)} values")
    return found


def _points_of(view: HistogramView, *, with_errors: bool) -> GraphView:
    if view.GetDimension() != 1:
        raise UsageError(f"'{view.GetName()}' has {view.GetDimension()} axes", "a histogram with one axis")
    bins = range(1, view.GetNbinsX() + 1)
    x, y = (np.array([each(k) for k in bins]) for each in (view.GetBinCenter, view.GetBinContent))
    errors: tuple[Floats, ...] = ()
    if with_errors:
        half = np.array([view.GetBinWidth(k) / 2 for k in bins])
        error = np.array([view.GetBinError(k) for k in bins])
        errors = (half, half, error, error)
    return GraphView(GraphPoints(view.GetName(), view.GetTitle(), x, y, errors))


def _axis(rest: list[Any], number: int) -> SimpleNamespace:
    """Take an axis from the arguments: bins, low, high, or bins, edges."""
    example = 'ROOT.TH1D("name", "title", bins, low, high), or bins and an array of edges'
    if len(rest) < 2 or not isinstance(rest[0], int | float | np.number) or int(rest[0]) < 1:
        raise UsageError("an axis needs the number of its bins, and a range or edges", example)
    bins = int(rest.pop(0))
    name = "xyz"[number]
    given = rest.pop(0)
    if isinstance(given, int | float | np.number):
        if not rest:
            raise UsageError("the upper end of an axis is missing", example)
        low, high = float(given), float(rest.pop(0))
        if not low < high:
            raise UsageError(f"an axis from {low} to {high} has no range", example)
        return axis_of(name, low + (high - low) * np.arange(bins + 1) / bins, regular=True)
    if isinstance(given, str) or not hasattr(given, "__getitem__") or not hasattr(given, "__len__"):
        raise UsageError(f"{given!r} is neither a range nor edges", example)
    if len(given) < bins + 1:
        raise UsageError(f"{bins} bins have {bins + 1} edges, not {len(given)}", example)
    edges = np.asarray([float(given[k]) for k in range(bins + 1)])
    if not np.all(np.diff(edges) > 0):
        raise UsageError("the edges of an axis must rise", example)
    return axis_of(name, edges, regular=False)


def empty(name: str, title: str, axes: Sequence[Any]) -> HistogramView:
    """Return a histogram without entries."""
    cells = int(np.prod([axis.bins + 2 for axis in axes]))
    nothing = [0.0] * len(axes)
    return HistogramView(
        SimpleNamespace(
            name=name,
            title=title,
            axes=list(axes),
            weighted=_keeps_squares,
            entries=0.0,
            values=np.zeros(cells),
            variances=np.zeros(cells) if _keeps_squares else None,
            moments=SimpleNamespace(sum_w=0.0, sum_w2=0.0, sum_wx=nothing, sum_wxx=nothing),
        )
    )


def histogram_in(path: str, name: str) -> HistogramView | ProfileView | None:
    """Return a histogram or profile of a ROOT file; None if there is none of that name.

    Raises:
        UnsupportedError: it is something else, or uproot is not installed.
    """
    try:
        import uproot
    except ImportError:
        raise UnsupportedError(
            "histograms are read by uproot, which is not installed", "pip install uproot"
        ) from None
    with uproot.open(path) as file:
        if name not in file:
            return None
        stored: Any = file[name]
        kind = str(file.classname_of(name))
    if kind == "TProfile":
        return _profile(stored)
    if kind[:3] not in ("TH1", "TH2", "TH3") or kind[3:] not in ("D", "F", "I", "S", "C", "L"):
        raise UnsupportedError(f"'{name}' in '{path}' is a {kind}, which is not read here", "uproot.open")
    axes = [_stored_axis(stored.member(f"f{letter}axis"), letter) for letter in "XYZ"[: int(kind[2])]]
    shape = [axis.bins + 2 for axis in axes]
    squares = np.asarray(stored.member("fSumw2"), np.float64)
    made = HistogramView(
        SimpleNamespace(
            name=str(stored.member("fName")),
            title=_title(stored),
            axes=axes,
            weighted=len(squares) > 0,
            entries=float(stored.member("fEntries")),
            values=np.asarray(stored.values(flow=True), np.float64).reshape(shape).ravel(order="F"),
            variances=squares if len(squares) else None,
            moments=SimpleNamespace(
                sum_w=float(stored.member("fTsumw")),
                sum_w2=float(stored.member("fTsumw2")),
                sum_wx=[float(stored.member(f"fTsumw{letter}")) for letter in "xyz"[: len(axes)]],
                sum_wxx=[float(stored.member(f"fTsumw{letter}2")) for letter in "xyz"[: len(axes)]],
            ),
        )
    )
    made._single = kind[3:] == "F"
    _label(made, stored)
    return made


def _title(stored: Any) -> str:
    labels = [str(stored.member(f"f{letter}axis").member("fTitle")) for letter in "XYZ"]
    while labels and not labels[-1]:
        labels.pop()
    return joined_title(split_title(str(stored.member("fTitle")))[0], labels)


def _stored_axis(axis: Any, letter: str) -> SimpleNamespace:
    edges = np.asarray(axis.member("fXbins"), np.float64)
    bins, low, high = int(axis.member("fNbins")), float(axis.member("fXmin")), float(axis.member("fXmax"))
    if len(edges):
        return axis_of(letter.lower(), edges, regular=False)
    return axis_of(letter.lower(), low + (high - low) * np.arange(bins + 1) / bins, regular=True)


def _label(view: HistogramView | ProfileView, stored: Any) -> None:
    view._style = _looks(stored, HISTOGRAM)
    view.SetMinimum(float(stored.member("fMinimum")))
    view.SetMaximum(float(stored.member("fMaximum")))
    for axis, letter in zip(view._axes, "XYZ", strict=False):
        axis._style = _looks(stored.member(f"f{letter}axis"), AXIS)
        for label in stored.member(f"f{letter}axis").member("fLabels") or ():
            number = int(label.member("@fUniqueID") if label.has_member("@fUniqueID") else 0)
            if number:
                axis.SetBinLabel(number, str(label))


def _looks(stored: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: stored.member(f"f{name}") for name in names if stored.has_member(f"f{name}")}


def _profile(stored: Any) -> ProfileView:
    axis = _stored_axis(stored.member("fXaxis"), "X")
    sums = {
        "sum_w": stored.member("fBinEntries"),
        "sum_w2": stored.member("fBinSumw2"),
        "sum_wyy": stored.member("fSumw2"),
    }
    arrays = {name: np.asarray(each, np.float64) for name, each in sums.items()}
    arrays["sum_wy"] = np.asarray(stored.bases[0].bases[-1], np.float64)
    if not len(arrays["sum_w2"]):
        arrays["sum_w2"] = arrays["sum_w"]
    made = ProfileView(
        SimpleNamespace(
            name=str(stored.member("fName")),
            title=_title(stored),
            axes=[axis],
            entries=float(stored.member("fEntries")),
            spread=["mean", "s", "i", "g"][int(stored.member("fErrorMode"))],
            sum_wx=[float(stored.member("fTsumwx"))],
            sum_wxx=[float(stored.member("fTsumwx2"))],
            **arrays,
        )
    )
    _label(made, stored)
    return made
