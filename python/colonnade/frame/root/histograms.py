"""Histograms, profiles and graphs with the methods of ROOT's classes that scripts use on results.

They are views of values, which histograms change as ROOT's do; `Draw` puts them on pads (`drawing`), `to_hist()`
returns a `hist.Hist`. Bins are numbered as in ROOT: 0 is the underflow, GetNbinsX() + 1 the overflow.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import UnsupportedError, UsageError
from colonnade.frame.histograms import joined_title, split_title, to_hist, to_profile
from colonnade.frame.results import GraphPoints, Stats

from .reshaping import Reshaped, changeable
from .styles import CURRENT, styled

__all__ = ["AxisView", "GraphView", "HistogramView", "ManyAxesView", "ProfileView", "StatsView"]

Floats = NDArray[np.float64]
_LARGEST = float(np.finfo(np.float32).max)

_ADVICE = {
    "Fit": "values() and variances(), with scipy.optimize.curve_fit or iminuit",
    "GetCorrelationFactor": "Mean of x, y, x * x, y * y and x * y: a histogram keeps no products of values",
    "GetCovariance": "Mean of x, y and x * y: a histogram keeps no products of values",
    "Chi2Test": "values() and variances(), with scipy.stats.chi2",
    "KolmogorovTest": "values(), with scipy.stats.kstwobign, or Take and scipy.stats.ks_2samp",
    "Project3D": "to_hist().project(0, 1)",
    "ProjectionZ": "to_hist().project(2)",
    "SaveAs": 'ROOT.TFile("f.root", "RECREATE").WriteObject(h, "name"); to_hist().plot() for pictures',
}
"""What to use instead of methods that change or write histograms."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """A method of ROOT's without a counterpart."""


def refuse(what: str, name: str, advice: str) -> NoReturn:
    """Raise for a missing attribute, so that `hasattr` and copies work as usual."""
    if name.startswith("_"):
        raise AttributeError(name)
    raise UnsupportedAttributeError(f"{what} has no {name}", advice)


_writer: list[Callable[[Any, str], int]] = []


def set_writer(writer: Callable[[Any, str], int]) -> None:
    """Set what `Write` of a histogram calls."""
    _writer[:] = [writer]


@styled("axis")
class AxisView:
    """An axis with the methods of TAxis."""

    _style: dict[str, Any] = {}  # noqa: RUF012 (replaced, never changed)
    _range: tuple[int, int] | None = None
    _has_range = True
    """Whether the owner follows `SetRange`."""

    def __init__(self, edges: Floats, title: str, *, regular: bool) -> None:
        self._edges, self._title, self._regular = edges, title, regular
        self._on_title: Callable[[str], None] = lambda title: None
        self._on_limits: Callable[[float, float], None] | None = None
        self._bin_labels: dict[int, str] = {}

    def GetNbins(self) -> int:
        """Return the number of bins, without underflow and overflow."""
        return len(self._edges) - 1

    def GetFirst(self) -> int:
        """Return the number of the first bin of the range: 1 unless one is set."""
        return self._range[0] if self._range else 1

    def GetLast(self) -> int:
        """Return the number of the last bin of the range."""
        return self._range[1] if self._range else self.GetNbins()

    def SetRange(self, first: int = 0, last: int = 0) -> None:
        """Choose the bins for pictures, means, integrals and maxima; `SetRange(0, 0)` all but the overflows."""
        most = self.GetNbins() + 1
        is_all = last < first or last < 0 or first > most or first == last == 0
        if not is_all and not self._has_range:
            refuse("an axis of this kind", "SetRange", "to_hist()[low:high]")
        self._range = None if is_all else (max(first, 0), min(last, most))

    def SetRangeUser(self, ufirst: float, ulast: float) -> None:
        """Choose the bins between two values; see `SetRange`. Of contents, as `SetMinimum` and `SetMaximum`."""
        if self._on_limits is not None:
            self._on_limits(ufirst, ulast)
            return
        first, last = self.FindBin(ufirst), self.FindBin(ulast)
        first += self.GetBinUpEdge(first) <= ufirst
        last -= self.GetBinLowEdge(last) >= ulast
        self.SetRange(first, last)

    def UnZoom(self) -> None:
        """Choose all bins again."""
        self.SetRange(0, 0)

    def SetBinLabel(self, number: int, label: str) -> None:
        """Give a bin a name for pictures, which is in files, too."""
        if not 1 <= number <= self.GetNbins():
            raise UsageError(f"an axis with {self.GetNbins()} bins has no bin {number} to be named")
        self._bin_labels[int(number)] = str(label)

    def GetBinLabel(self, number: int) -> str:
        """Return the name of a bin; "" without one."""
        return self._bin_labels.get(int(number), "")

    def GetXmin(self) -> float:
        """Return the lower edge of the first bin."""
        return float(self._edges[0])

    def GetXmax(self) -> float:
        """Return the upper edge of the last bin."""
        return float(self._edges[-1])

    def GetBinLowEdge(self, number: int) -> float:
        """Return the lower edge of a bin; bins beyond the axis have the mean width, as in ROOT."""
        return float(self._edges[number - 1]) if self._has_edges(number) else self._along(number - 1)

    def GetBinUpEdge(self, number: int) -> float:
        """Return the upper edge of a bin."""
        return float(self._edges[number]) if self._has_edges(number) else self._along(number)

    def GetBinCenter(self, number: int) -> float:
        """Return the middle of a bin."""
        if self._has_edges(number):
            return self.GetBinLowEdge(number) + 0.5 * self.GetBinWidth(number)
        return self._along(number - 0.5)

    def GetBinWidth(self, number: int) -> float:
        """Return the width of a bin."""
        if self._has_edges(number):
            return float(self._edges[number] - self._edges[number - 1])
        return self._mean_width()

    def FindBin(self, value: float) -> int:
        """Return the bin of a value."""
        if np.isnan(value):
            return self.GetNbins() + 1
        return int(np.searchsorted(self._edges, value, side="right"))

    FindFixBin = FindBin

    def IsVariableBinSize(self) -> bool:
        """Return whether the bins were given by their edges."""
        return not self._regular

    def GetTitle(self) -> str:
        """Return the title of the axis."""
        return self._title

    GetName = GetTitle

    def SetTitle(self, title: str) -> None:
        """Change the title of the axis, of its histogram, too."""
        self._title = title
        self._on_title(title)

    def _has_edges(self, number: int) -> bool:
        return not self._regular and 1 <= number <= self.GetNbins()

    def _along(self, bins: float) -> float:
        """A place on the axis, in bins of the mean width."""
        return self.GetXmin() + bins * self._mean_width()

    def _mean_width(self) -> float:
        return (self.GetXmax() - self.GetXmin()) / self.GetNbins()

    def __getattr__(self, name: str) -> NoReturn:
        refuse("an axis", name, "the axes of to_hist()")


def _range_of_bins(first: int, last: int, size: int) -> slice:
    """Return bins as ROOT reads them: a range that ends before it starts goes on to the overflow."""
    first = max(first, 0)
    return slice(first, size if last < first else last + 1)


@styled("histogram")
class _Binned(ABC):
    """The common part of histograms and profiles."""

    _style: dict[str, Any] = {}  # noqa: RUF012 (replaced, never changed)
    _limits: tuple[float | None, float | None] = (None, None)
    """What `SetMinimum` and `SetMaximum` set."""

    _value: Any
    _numbering: Literal["C", "F"] = "F"
    """Of bins: "F" where the first axis is the fastest, as in TH1, TH2 and TH3."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self.name = str(value.name)
        self._title, labels = split_title(value.title)
        self._labels = dict(enumerate(labels))
        self._axes = [
            AxisView(axis.edges, self._labels.get(number, ""), regular=axis.regular)
            for number, axis in enumerate(value.axes)
        ]
        for number, view in enumerate(self._axes):
            view._on_title = partial(self._set_axis_title, number)
        self._shape = [axis.GetNbins() + 2 for axis in self._axes]
        self._contents_axes: dict[int, AxisView] = {}
        if CURRENT:
            self._style = dict(CURRENT)

    def _changeable_value(self) -> Any:
        return changeable(self._value)

    def _shaped(self, values: Any) -> Floats:
        return np.reshape(values, self._shape, order="F")

    @abstractmethod
    def _contents(self) -> Floats:
        """Return the contents of the bins, with underflow and overflow."""

    def _summable(self) -> Floats:
        """Return the contents for sums and comparisons: ROOT treats a mean with a negative weight as 0 there."""
        return self._contents()

    @abstractmethod
    def _squared_errors(self) -> Floats:
        """Return the squares of their errors."""

    def GetName(self) -> str:
        """Return the name that the model gave; of a variation, with that behind it."""
        return self.name

    def GetTitle(self) -> str:
        """Return the title that the model gave."""
        return self._title

    def GetEntries(self) -> float:
        """Return the number of fills."""
        return float(self._value.entries)

    def GetDimension(self) -> int:
        """Return the number of axes."""
        return len(self._axes)

    GetNdimensions = GetDimension

    def GetNcells(self) -> int:
        """Return the number of bins with underflow and overflow."""
        return int(np.prod(self._shape))

    GetNbins = GetSize = GetNcells

    def _axis(self, number: int) -> AxisView:
        if not 0 <= number < len(self._axes):
            raise UsageError(f"a histogram with {len(self._axes)} axes has no axis {number + 1}")
        return self._axes[number]

    def _axis_or_contents(self, number: int) -> AxisView:
        if number < len(self._axes):
            return self._axes[number]
        axis = self._contents_axes.get(number)
        if axis is None:
            axis = AxisView(np.array([0.0, 1.0]), self._labels.get(number, ""), regular=True)
            axis._on_title = partial(self._set_axis_title, number)
            if number == len(self._axes):
                axis._on_limits = self._set_limits
            self._contents_axes[number] = axis
        return axis

    def _set_limits(self, low: float, high: float) -> None:
        self._limits = (float(low), float(high))

    def _give_looks(self, other: Any) -> None:
        """Let one with the same bins have what is set for pictures, and the ranges of axes."""
        other._style, other._limits = self._style, self._limits
        for ours, theirs in zip(self._axes, other._axes, strict=True):
            theirs._style, theirs._range = ours._style, ours._range
            theirs._bin_labels = dict(ours._bin_labels)
        for number, axis in self._contents_axes.items():
            other._axis_or_contents(number)._style = axis._style

    def _set_axis_title(self, number: int, title: str) -> None:
        self._labels[number] = title
        labels = [self._labels.get(k, "") for k in range(max(self._labels) + 1)]
        self._value = self._changeable_value()
        self._value.title = joined_title(self._title, labels)

    def GetXaxis(self) -> AxisView:
        """Return the first axis."""
        return self._axis(0)

    def GetYaxis(self) -> AxisView:
        """Return the second axis; one bin with the title of the contents if there is none, as in ROOT."""
        return self._axis_or_contents(1)

    def GetZaxis(self) -> AxisView:
        """Return the third axis; one bin with the title of the contents if there is none, as in ROOT."""
        return self._axis_or_contents(2)

    def GetAxis(self, number: int) -> AxisView:
        """Return an axis, counted from 0."""
        return self._axis(number)

    def GetNbinsX(self) -> int:
        """Return the number of bins of the first axis."""
        return self._axis(0).GetNbins()

    def GetNbinsY(self) -> int:
        """Return the number of bins of the second axis; 1 if there is none."""
        return self._axes[1].GetNbins() if len(self._axes) > 1 else 1

    def GetNbinsZ(self) -> int:
        """Return the number of bins of the third axis; 1 if there is none."""
        return self._axes[2].GetNbins() if len(self._axes) > 2 else 1

    def GetBin(self, *bins: int) -> int:
        """Return the global number of a bin."""
        return int(np.ravel_multi_index(self._place(bins), self._shape, order=self._numbering))

    def GetBinContent(self, *bins: int) -> float:
        """Return the content of a bin, by a number for each axis or by its global number."""
        return float(self._contents()[self._place(bins)])

    def GetBinError(self, *bins: int) -> float:
        """Return the error of a bin."""
        with np.errstate(invalid="ignore"):
            return float(np.sqrt(self._squared_errors()[self._place(bins)]))

    def GetBinCenter(self, number: int) -> float:
        """Return the middle of a bin of the first axis."""
        return self._axes[0].GetBinCenter(number)

    def GetBinLowEdge(self, number: int) -> float:
        """Return the lower edge of a bin of the first axis."""
        return self._axes[0].GetBinLowEdge(number)

    def GetBinWidth(self, number: int) -> float:
        """Return the width of a bin of the first axis."""
        return self._axes[0].GetBinWidth(number)

    def FindBin(self, *values: float) -> int:
        """Return the global number of the bin of a point."""
        return self.GetBin(*(axis.FindBin(value) for axis, value in zip(self._axes, values, strict=True)))

    FindFixBin = FindBin

    def _place(self, bins: tuple[int, ...]) -> tuple[int, ...]:
        if len(bins) == 1 and len(self._shape) > 1:
            number = min(max(bins[0], 0), self.GetNcells() - 1)
            return tuple(int(k) for k in np.unravel_index(number, self._shape, order=self._numbering))
        if len(bins) != len(self._shape):
            raise UsageError(f"a histogram with {len(self._shape)} axes has no bin {bins}")
        return tuple(min(max(k, 0), size - 1) for k, size in zip(bins, self._shape, strict=True))

    def _inner(self, values: Floats) -> Floats:
        return values[(slice(1, -1),) * len(self._shape)]

    def _chosen(self) -> tuple[slice, ...]:
        """The bins of the ranges of the axes; those without underflow and overflow if none is set."""
        return tuple(slice(axis.GetFirst(), axis.GetLast() + 1) for axis in self._axes)

    def _has_range(self) -> bool:
        return any(axis._range for axis in self._axes)

    def SetMaximum(self, maximum: float = -1111) -> None:
        """Set the end of the axis of contents in pictures, which `GetMaximum` returns then; -1111 for none."""
        self._limits = (self._limits[0], None if maximum == -1111 else float(maximum))

    def SetMinimum(self, minimum: float = -1111) -> None:
        """Set the beginning of the axis of contents in pictures; see `SetMaximum`."""
        self._limits = (None if minimum == -1111 else float(minimum), self._limits[1])

    def GetMaximumStored(self) -> float:
        """Return what `SetMaximum` set, or -1111."""
        return -1111.0 if self._limits[1] is None else self._limits[1]

    def GetMinimumStored(self) -> float:
        """Return what `SetMinimum` set, or -1111."""
        return -1111.0 if self._limits[0] is None else self._limits[0]

    def SetOption(self, option: str = " ") -> None:
        """Keep an option for pictures."""
        self._style = {**self._style, "Option": option}

    def GetOption(self) -> str:
        """Return what `SetOption` set."""
        return str(self._style.get("Option", ""))

    def SetXTitle(self, title: str) -> None:
        """Change the title of the first axis."""
        self.GetXaxis().SetTitle(title)

    def SetYTitle(self, title: str) -> None:
        """Change the title of the second axis."""
        self.GetYaxis().SetTitle(title)

    def SetZTitle(self, title: str) -> None:
        """Change the title of the third axis."""
        self.GetZaxis().SetTitle(title)

    def SetAxisRange(self, xmin: float, xmax: float, axis: str = "X") -> None:
        """Choose the bins of an axis between two values; see `SetRange` of the axis."""
        number = "XYZ".find(axis.upper())
        if number == len(self._axes):  # the axis of the contents
            self.SetMinimum(xmin)
            self.SetMaximum(xmax)
        else:
            self._axis(number).SetRangeUser(xmin, xmax)

    def GetMaximum(self, maxval: float = _LARGEST) -> float:
        """Return the largest content below `maxval`, or what `SetMaximum` set."""
        if self._limits[1] is not None:
            return self._limits[1]
        values = self._summable()[self._chosen()]
        return float(values.max(where=values < maxval, initial=-_LARGEST))

    def GetMinimum(self, minval: float = -_LARGEST) -> float:
        """Return the smallest content above `minval`, or what `SetMinimum` set."""
        if self._limits[0] is not None:
            return self._limits[0]
        values = self._summable()[self._chosen()]
        return float(values.min(where=values > minval, initial=_LARGEST))

    def GetMaximumBin(self) -> int:
        """Return the global number of the first bin with the largest content; 0 if no content is a finite float."""
        return self._extreme(self._summable()[self._chosen()])

    def GetMinimumBin(self) -> int:
        """Return the global number of the first bin with the smallest content; see `GetMaximumBin`."""
        return self._extreme(-self._summable()[self._chosen()])

    def FindFirstBinAbove(
        self,
        threshold: float = 0,
        axis: int = 1,
        first_bin: int = 1,
        last_bin: int = -1,
    ) -> int:
        """Return the first bin along an axis with a content above the threshold; -1 if there is none."""
        return self._above(threshold, axis, first_bin, last_bin, 0)

    def FindLastBinAbove(
        self,
        threshold: float = 0,
        axis: int = 1,
        first_bin: int = 1,
        last_bin: int = -1,
    ) -> int:
        """Return the last bin along an axis with a content above the threshold; -1 if there is none."""
        return self._above(threshold, axis, first_bin, last_bin, -1)

    def _above(self, threshold: float, axis: int, first: int, last: int, which: int) -> int:
        bins = self._axis(axis - 1).GetNbins()
        first = 1 if first < 1 else first
        last = bins if last < 0 or last > bins else last
        others = tuple(slice(None) if k == axis - 1 else slice(1, -1) for k in range(len(self._shape)))
        contents = np.moveaxis(self._summable()[others], axis - 1, 0).reshape(bins + 2, -1)
        found = np.flatnonzero((contents[first : last + 1] > threshold).any(axis=1))
        return first + int(found[which]) if len(found) else -1

    def Integral(self, *ranges: int | str) -> float:
        """Return the sum of the contents of bins, (first, last) for each axis; of those chosen by ranges if left out.

        If the last argument is "width", contents are multiplied by the sizes of their bins.
        """
        bounds = [each for each in ranges if not isinstance(each, str)]
        values = self._summable()
        if "width" in "".join(each for each in ranges if isinstance(each, str)).lower():
            for k, axis in enumerate(self._axes):
                widths = np.array([axis.GetBinWidth(number) for number in range(self._shape[k])])
                values = values * np.expand_dims(widths, [j for j in range(len(self._shape)) if j != k])
        if not bounds:
            return float(values[self._chosen()].sum())
        if len(bounds) != 2 * len(self._shape):
            raise UsageError(f"an integral over {len(self._shape)} axes has {2 * len(self._shape)} bounds")
        chosen = []
        for k, size in enumerate(self._shape):
            chosen.append(_range_of_bins(bounds[2 * k], bounds[2 * k + 1], size))
        return float(values[tuple(chosen)].sum())

    def GetBinErrorLow(self, *bins: int) -> float:
        """Return the error of a bin: the same in both directions."""
        return self.GetBinError(*bins)

    GetBinErrorUp = GetBinErrorLow

    def _extreme(self, inner: Floats) -> int:
        # ROOT looks for contents above the least float, which NaN is not.
        contents = np.where(inner > -_LARGEST, inner, -np.inf).ravel(order="F")
        largest = int(np.argmax(contents))
        if contents[largest] == -np.inf:
            return 0
        place = np.unravel_index(largest, inner.shape, order="F")
        return self.GetBin(*(int(k) + axis.GetFirst() for k, axis in zip(place, self._axes, strict=True)))

    # ---- As in PyROOT

    def __len__(self) -> int:
        return self.GetNcells()

    def __iter__(self) -> Iterator[float]:
        """Go through the contents with underflow and overflow, along the last axis first."""
        return iter(self._contents().ravel().tolist())

    def __getitem__(self, bins: Any) -> float:
        """Return the content of a bin, counted from 0 along each axis without underflow and overflow."""
        numbers = bins if isinstance(bins, tuple) else (bins,)
        if len(numbers) != len(self._shape) or not all(isinstance(k, int | np.integer) for k in numbers):
            raise UsageError(
                f"{bins!r} is not the number of a bin along each axis", "to_hist()[...] for slices"
            )
        return float(self._inner(self._contents())[numbers])

    # ---- For mplhep and other programs that plot

    @property
    def axes(self) -> Any:
        """The axes, as those of `hist`."""
        return self.to_hist().axes

    def values(self, flow: bool = False) -> Floats:
        """Return the contents, without underflow and overflow."""
        return self._contents().copy() if flow else self._inner(self._contents()).copy()

    def variances(self, flow: bool = False) -> Floats:
        """Return the squared errors."""
        squared = self._squared_errors()
        return squared if flow else self._inner(squared)

    @abstractmethod
    def GetEffectiveEntries(self) -> float:
        """Return the number of fills without weights that would be as precise."""

    @abstractmethod
    def GetStdDev(self, axis: int = 1) -> float:
        """Return the standard deviation along an axis, counted from 1."""

    def GetMeanError(self, axis: int = 1) -> float:
        """Return the error of the mean along an axis, counted from 1."""
        effective = self.GetEffectiveEntries()
        return self.GetStdDev(axis) / float(np.sqrt(effective)) if effective > 0 else 0.0

    def GetStdDevError(self, axis: int = 1) -> float:
        """Return the error of the standard deviation along an axis, as it is for a normal distribution."""
        effective = self.GetEffectiveEntries()
        return self.GetStdDev(axis) / float(np.sqrt(2 * effective)) if effective > 0 else 0.0

    GetRMSError = GetStdDevError

    @abstractmethod
    def to_hist(self) -> Any:
        """Return it as `hist.Hist`."""

    def Write(self, name: str = "", *_: Any) -> int:
        """Write it to the `TFile` that was opened last for writing, under its own name if none is given."""
        return _writer[0](self, name)

    def _repr_html_(self) -> Any:
        return self.to_hist()._repr_html_()

    def __repr__(self) -> str:
        bins = " x ".join(str(axis.GetNbins()) for axis in self._axes)
        return f"<{type(self).__name__} '{self.GetName()}': {bins} bins, {self.GetEntries():.0f} entries>"

    def __getattr__(self, name: str) -> NoReturn:
        advice = "to_hist(), which plots" if name.startswith(("Draw", "Set", "Paint")) else "to_hist()"
        refuse("a histogram of colonnade.RDataFrame", name, _ADVICE.get(name, advice))


class HistogramView(_Binned, Reshaped):
    """A histogram with the methods of TH1, TH2, TH3 and THn.

    Statistics (GetMean, GetStdDev, GetEffectiveEntries) are those of fills within the axes, as in ROOT.
    """

    kind = "COUNT"

    _single = False
    """Whether contents are rounded to single precision, as of TH1F."""

    def _contents(self) -> Floats:
        return self._shaped(self._value.values)

    def _squared_errors(self) -> Floats:
        return self._shaped(self._value.variances if self._value.weighted else abs(self._value.values))

    def counts(self, flow: bool = False) -> Floats:
        """Return the effective number of entries per bin."""
        values, variances = self.values(flow), self.variances(flow)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where(variances != 0, values**2 / variances, 0.0)

    def GetSumOfWeights(self) -> float:
        """Return the sum of the contents, without underflow and overflow."""
        return float(self._inner(self._contents()).sum())

    def _moments(self) -> Any:
        """The statistics of fills, or those of bins where an axis has a range, or where these are none, as in ROOT."""
        is_known = self._unused is None and (self._value.moments.sum_w != 0 or self._value.entries == 0)
        if is_known and not self._has_range():
            return self._value.moments
        return self._bin_moments(self._chosen())

    def _errors_to_keep(self) -> Floats:
        """The squared errors to be kept apart from contents: 0 of a histogram without entries, as in ROOT."""
        squared = self._squared_errors()
        return squared if self._value.weighted or self._value.entries else np.zeros_like(squared)

    def GetEffectiveEntries(self) -> float:
        """Return the square of the sum of weights over the sum of their squares, of fills within the axes."""
        moments = self._moments()
        return float(moments.sum_w * moments.sum_w / moments.sum_w2 if moments.sum_w2 else abs(moments.sum_w))

    def GetStats(self, stats: Any = None) -> Floats:
        """Return the sums of w, w^2, w x and w x^2, and write them to the given array, as ROOT does."""
        if len(self._axes) != 1:
            refuse("a histogram with several axes", "GetStats", "GetMean(axis) and GetStdDev(axis)")
        moments = self._moments()
        found = np.array([moments.sum_w, moments.sum_w2, moments.sum_wx[0], moments.sum_wxx[0]])
        if stats is not None:
            for k, value in enumerate(found):
                stats[k] = float(value)
        return found

    def GetMean(self, axis: int = 1) -> float:
        """Return the mean along an axis, counted from 1."""
        return self._mean_and_square(axis)[0]

    def GetStdDev(self, axis: int = 1) -> float:
        """Return the standard deviation along an axis, counted from 1."""
        mean, square = self._mean_and_square(axis)
        # Negative with negative weights, or a bit below zero where all values are the same.
        return float(np.sqrt(max(square - mean * mean, 0.0)))

    GetRMS = GetStdDev

    def GetSkewness(self, axis: int = 1) -> float:
        """Return the skewness along an axis, of centers of bins; for axis 11 its error for a normal distribution."""
        if axis > 10:
            return self._error_of_shape(axis, 6)
        return self._central_moment(axis, 3)

    def GetKurtosis(self, axis: int = 1) -> float:
        """Return the kurtosis, which is 0 for a normal distribution; see `GetSkewness`."""
        if axis > 10:
            return self._error_of_shape(axis, 24)
        return self._central_moment(axis, 4) - 3

    def _error_of_shape(self, axis: int, variance: float) -> float:
        self._axis(axis - 11)
        effective = self.GetEffectiveEntries()
        return float(np.sqrt(variance / effective)) if effective > 0 else 0.0

    def _central_moment(self, axis: int, power: int) -> float:
        """Return the mean of a power of the distance from the mean, in standard deviations."""
        along = self._axis(axis - 1)
        others = tuple(k for k in range(len(self._shape)) if k != axis - 1)
        first, last = along.GetFirst(), along.GetLast()
        centers = np.array([along.GetBinCenter(k) for k in range(first, last + 1)])
        contents = self._contents()[self._chosen()].sum(axis=others)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            distances = (centers - self.GetMean(axis)) ** power
            scale = contents.sum() * np.float64(self.GetStdDev(axis)) ** power
            return float((contents * distances).sum() / scale)

    def GetIntegral(self) -> Floats:
        """Return the sums of the contents up to each inner bin in units of all, from 0 on."""
        sums = np.concatenate([[0.0], np.cumsum(self._inner(self._contents()).ravel(order="F"))])
        with np.errstate(invalid="ignore"):
            return sums / sums[-1] if sums[-1] else sums

    def GetQuantiles(self, number: int, quantiles: Any, probabilities: Any = None) -> int:
        """Write quantiles to the given array, as ROOT does, and return their number.

        Contents are spread evenly over their bins. A probability at which a bin ends gives its center, as in ROOT.

        Args:
            number: of quantiles.
            quantiles: an array with room for them.
            probabilities: of the quantiles; by default those of the edges of bins.
        """
        if len(self._axes) != 1:
            refuse("a histogram with several axes", "GetQuantiles", "the quantiles of a projection")
        integral, along = self.GetIntegral(), self._axes[0]
        edges = len(integral)
        if probabilities is None:
            self._quantiles_at(integral[: min(number, edges)], quantiles, integral, along)
            return edges
        self._quantiles_at([float(probabilities[k]) for k in range(number)], quantiles, integral, along)
        return number

    @staticmethod
    def _quantiles_at(probabilities: Any, quantiles: Any, integral: Floats, along: AxisView) -> None:
        bins = along.GetNbins()
        for k, probability in enumerate(probabilities):
            # The number of bins completely below it.
            below = int(np.searchsorted(integral, probability, side="right")) - 1
            if probability >= 1:
                filled = np.flatnonzero(np.diff(integral))
                quantiles[k] = along.GetBinUpEdge(int(filled[-1]) + 1 if len(filled) else bins)
            elif 0 < probability == integral[below]:  # ROOT's choice where a bin ends
                quantiles[k] = along.GetBinCenter(below)
            else:
                below = min(max(below, 0), bins - 1)
                step = integral[below + 1] - integral[below]
                inside = (probability - integral[below]) / step if step > 0 else 0.0
                quantiles[k] = along.GetBinLowEdge(below + 1) + along.GetBinWidth(below + 1) * inside

    def GetCumulative(self, forward: bool = True, suffix: str = "_cumulative") -> HistogramView:
        """Return the histogram of the sums up to each bin, or from it on, without underflow and overflow."""
        self._require_all_bins("GetCumulative")
        step = 1 if forward else -1

        def summed(values: Any) -> Floats:
            sums = np.zeros(self._shape)
            inner = self._inner(self._shaped(values))
            # Along all axes at once, the first one fastest, as ROOT does.
            along = np.cumsum(inner.ravel(order="F")[::step])[::step]
            self._inner(sums)[...] = along.reshape(inner.shape, order="F")
            return sums

        contents, nothing = summed(self._value.values), [0.0] * len(self._shape)
        made = HistogramView(
            SimpleNamespace(
                name=self.GetName() + suffix,
                title=self._value.title,
                axes=self._value.axes,
                weighted=self._value.weighted,
                entries=0.0,  # it is filled with nothing, and has no statistics, as ROOT's
                values=contents.ravel(order="F"),
                variances=summed(self._value.variances).ravel(order="F") if self._value.weighted else None,
                moments=SimpleNamespace(sum_w=0.0, sum_w2=0.0, sum_wx=nothing, sum_wxx=nothing),
            )
        )
        self._give_looks(made)
        made._change(made._contents(), made._own_errors())  # rounded
        return made

    def GetSumw2(self) -> Floats:
        """Return the sums of the squares of weights by the global numbers of bins; nothing without weights."""
        return self._squared_errors().ravel(order="F") if self._value.weighted else np.zeros(0)

    def GetSumw2N(self) -> int:
        """Return the number of sums of squares: 0 without weights."""
        return self.GetNcells() if self._value.weighted else 0

    # ---- Means of one axis along the other one

    def ProfileX(
        self, name: str = "_pfx", firstybin: int = 1, lastybin: int = -1, option: str = ""
    ) -> ProfileView:
        """Return the means of the second axis in the bins of the first one, of centers of bins, as ROOT does.

        Args:
            name: of the profile; by default "_pfx" behind the name of this one.
            firstybin: the first bin of the second axis.
            lastybin: the last one; the last before the overflow for a negative number.
            option: of the errors: "" for those of the means, "s", "i" or "g".
        """
        return self._profile(0, name, firstybin, lastybin, option)

    def ProfileY(
        self, name: str = "_pfy", firstxbin: int = 1, lastxbin: int = -1, option: str = ""
    ) -> ProfileView:
        """Return the means of the first axis in the bins of the second one; see `ProfileX`."""
        return self._profile(1, name, firstxbin, lastxbin, option)

    def _profile(self, kept: int, name: str, first: int, last: int, option: str) -> ProfileView:
        method = f"Profile{'XY'[kept]}"
        self._with_axes(2, method)
        self._require_all_bins(method)
        if option.lower() not in ("", "s", "i", "g"):
            raise UnsupportedError(f"a profile has no option '{option}' here", '"", "s", "i" or "g"')
        size = self._shape[1 - kept]
        first, last = 1 if first < 0 else first, size - 2 if last < 0 or last > size - 1 else last
        last = max(last, first - 1)
        along, across = self._axes[kept], self._axes[1 - kept]
        chosen: list[Any] = [slice(None), slice(None)]
        chosen[1 - kept] = slice(first, last + 1)
        weights = np.moveaxis(self._contents()[tuple(chosen)], kept, 0)
        # What is filled: a value with a weight for each bin with a content.
        squared = self._squared_errors() if self._value.weighted else self._contents()
        squares = np.moveaxis(squared[tuple(chosen)], kept, 0)
        squares = np.where(weights != 0, squares, 0.0)
        values = np.array([across.GetBinCenter(k) for k in range(first, last + 1)])
        places = np.array([along.GetBinCenter(k) for k in range(along.GetNbins() + 2)])
        total = weights.sum(axis=1)
        title, labels = split_title(self._value.title)
        made = ProfileView(
            SimpleNamespace(
                name=self.name + name if name in ("", f"_pf{'xy'[kept]}") else name,
                title=joined_title(title, labels[kept : kept + 1]),
                axes=[self._value.axes[kept]],
                spread=option.lower() or "mean",
                sum_w=total,
                sum_w2=squares.sum(axis=1),
                sum_wy=(weights * values).sum(axis=1),
                sum_wyy=(weights * values * values).sum(axis=1),
                sum_wx=[float((total * places)[1:-1].sum())],
                sum_wxx=[float((total * places * places)[1:-1].sum())],
                entries=0.0,
            )
        )
        made._value.entries = made.GetEffectiveEntries()
        return made

    # ---- Changes. The bins of the result stay: what changes is this view, which RResultPtr has once.

    def Clone(self, newname: str = "") -> HistogramView:
        """Return a copy, with a name of its own if one is given."""
        copied = type(self)(changeable(self._value))
        copied.name = newname or self.name
        copied._unused = self._unused
        self._give_looks(copied)
        return copied

    def _give_looks(self, other: Any) -> None:
        super()._give_looks(other)
        other._single = self._single

    def _require_all_bins(self, method: str) -> None:
        if self._has_range():
            raise UsageError(
                f"{method} of '{self.name}', of which an axis has a range", f"SetRange(0, 0) before {method}"
            )

    def Sumw2(self, flag: bool = True) -> None:
        """Keep the squares of errors apart from the contents, or make errors the roots of contents again."""
        self._change(self._contents(), self._errors_to_keep() if flag else None)

    def Scale(self, c1: float = 1, option: str = "") -> None:
        """Multiply contents and errors by a number, as ROOT does, and statistics as well.

        Args:
            c1: the number.
            option: "width" divides by the sizes of the bins, too; "nosw2" keeps errors that are roots of contents.
        """
        contents, squared = self._contents() * c1, self._errors_to_keep() * c1 * c1
        keeps_roots = "nosw2" in option.lower() and not self._value.weighted
        if "width" in option.lower():
            sizes = self._sizes()
            self._change(contents / sizes, None if keeps_roots else squared / sizes**2)
            self._reset_statistics()
            return
        before, tells_from_bins = self._moments(), self._unused is not None
        is_signed = len(self._axes) > 1 and not self._value.weighted
        self._change(contents, None if keeps_roots else squared)
        self._limits = (None, None)
        self._unused = None
        if self._single and tells_from_bins:  # of contents that are rounded
            self._value.moments = self._bin_moments(self._chosen())
            if is_signed:
                self._value.moments.sum_w2 = self._value.moments.sum_w
            return
        self._value.moments = SimpleNamespace(
            sum_w=before.sum_w * c1,
            sum_w2=before.sum_w2 * c1 * c1,
            sum_wx=[each * c1 for each in before.sum_wx],
            sum_wxx=[each * c1 for each in before.sum_wxx],
        )

    def Add(self, h1: Any, c1: float = 1) -> bool:
        """Add the contents of another histogram with the same bins, times a number.

        Statistics are added, or for a negative number those of the bins, as in ROOT.
        """
        other = self._same_bins(h1, "Add")
        entries = abs(self.GetEntries() + c1 * other.GetEntries())
        ours, theirs = self._moments(), other._moments()
        squared = self._errors_to_keep() + other._squared_errors() * c1 * c1
        weighted = self._value.weighted or other._value.weighted or c1 != 1
        self._limits = (None, None)
        added = other._contents() * c1
        if self._single:
            added = added.astype(np.float32).astype(np.float64)
        self._change(self._contents() + added, squared if weighted else None)
        if c1 < 0:
            self._reset_statistics()
            return True
        self._value.entries = entries
        self._unused = None
        if c1 != 1:
            self._count_entries()
        self._value.moments = SimpleNamespace(
            sum_w=ours.sum_w + c1 * theirs.sum_w,
            sum_w2=ours.sum_w2 + c1 * c1 * theirs.sum_w2,
            sum_wx=[a + c1 * b for a, b in zip(ours.sum_wx, theirs.sum_wx, strict=True)],
            sum_wxx=[a + c1 * b for a, b in zip(ours.sum_wxx, theirs.sum_wxx, strict=True)],
        )
        return True

    def Multiply(self, h1: Any) -> bool:
        """Multiply by the contents of another histogram with the same bins; statistics are those of the bins then."""
        other = self._same_bins(h1, "Multiply")
        ours, theirs = self._contents(), other._contents()
        squared = self._squared_errors() * theirs**2 + other._squared_errors() * ours**2
        self._limits = (None, None)
        self._change(ours * theirs, squared if self._value.weighted or other._value.weighted else None)
        self._reset_statistics()
        return True

    def Divide(self, h1: Any, h2: Any = None, c1: float = 1, c2: float = 1, option: str = "") -> bool:
        """Divide by another histogram with the same bins, or become `c1 * h1 / (c2 * h2)`; 0 where that divides by 0.

        Args:
            h1: what is divided by, or with h2 what is divided.
            h2: what h1 is divided by.
            c1: a factor of h1, where there is h2.
            c2: a factor of h2.
            option: "B" for errors of an efficiency, where h1 is a part of h2.
        """
        above = self if h2 is None else self._same_bins(h1, "Divide")
        below = self._same_bins(h1 if h2 is None else h2, "Divide")
        a, b = above._contents(), below._contents()
        a_squared, b_squared = above._squared_errors(), below._squared_errors()
        is_part = "b" in option.lower()
        has_errors = is_part or self._value.weighted or above._value.weighted or below._value.weighted
        entries = below.GetEntries()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            factor = c1 / c2 if h2 is not None else 1.0
            if is_part:
                squared = np.abs(((1 - 2 * a / b) * a_squared + a**2 * b_squared / b**2) / b**2)
                squared = np.where(a == b, 0.0, squared)
            else:
                squared = factor**2 * (a_squared * b**2 + b_squared * a**2) / b**4
            contents = np.where(b != 0, factor * a / b, 0.0)
        self._change(contents, np.where(b != 0, squared, 0.0) if has_errors else None)
        self._reset_statistics()
        if h2 is not None and is_part:
            self._value.entries = entries
        return True

    def __mul__(self, other: Any) -> HistogramView:
        """Return a copy, scaled by a number or multiplied by a histogram; see `Scale` and `Multiply`."""
        made = self.Clone()
        if isinstance(other, int | float | np.number):
            made.Scale(float(other))
        else:
            made.Multiply(other)
        return made

    __rmul__ = __mul__

    def __add__(self, other: Any) -> HistogramView:
        """Return a copy to which another histogram is added; see `Add`."""
        made = self.Clone()
        made.Add(other)
        return made

    def __sub__(self, other: Any) -> HistogramView:
        """Return a copy from which another histogram is subtracted; see `Add`."""
        made = self.Clone()
        made.Add(other, -1)
        return made

    def __truediv__(self, other: Any) -> HistogramView:
        """Return a copy that is divided by another histogram; see `Divide`."""
        made = self.Clone()
        made.Divide(other)
        return made

    def _same_bins(self, other: Any, method: str) -> HistogramView:
        found = other.GetValue() if hasattr(other, "GetValue") else other
        if not isinstance(found, HistogramView):
            raise UsageError(
                f"{method} takes a histogram of colonnade.RDataFrame, not {type(other).__name__}",
                f"to_hist(), for histograms of other packages, in place of {method}",
            )
        ours, theirs = ([axis._edges for axis in each._axes] for each in (self, found))
        if len(ours) != len(theirs) or not all(
            len(a) == len(b) and np.allclose(a, b, rtol=1e-12, atol=0)
            for a, b in zip(ours, theirs, strict=True)
        ):
            raise UsageError(
                f"{method} of '{self.GetName()}' and '{found.GetName()}', which have different bins",
                "the same model for both",
            )
        return found

    def _change(self, contents: Floats, squared_errors: Floats | None) -> None:
        value = changeable(self._value)
        if self._single:
            with np.errstate(over="ignore"):
                contents = contents.astype(np.float32).astype(np.float64)
        value.values = contents.ravel(order="F")
        value.weighted = squared_errors is not None
        value.variances = None if squared_errors is None else squared_errors.ravel(order="F")
        self._value = value

    def _sizes(self) -> Floats:
        """Return the widths of the bins, or their products."""
        widths = [
            np.array([axis.GetBinWidth(k) for k in range(axis.GetNbins() + 2)], np.float64)
            for axis in self._axes
        ]
        sizes: Floats = np.ones(self._shape)
        for number, along in enumerate(widths):
            sizes = sizes * along.reshape([-1 if k == number else 1 for k in range(len(widths))])
        return sizes

    def _reset_statistics(self) -> None:
        """Take them from the contents of bins, at their centers, as ROOT does where fills do not tell."""
        self._value.moments = self._bin_moments(self._chosen())
        self._unused = None
        self._count_entries()

    def _bin_moments(self, chosen: tuple[slice, ...]) -> SimpleNamespace:
        """Return sums over bins, at their centers."""
        contents = self._contents()[chosen]
        # Without weights ROOT takes the contents of several axes with their signs.
        is_signed = len(self._axes) > 1 and not self._value.weighted
        squared = contents if is_signed else self._squared_errors()[chosen]
        sum_w, sum_w2 = float(contents.sum()), float(squared.sum())
        sums: list[list[float]] = [[], []]
        for number, axis in enumerate(self._axes):
            centers = np.array([axis.GetBinCenter(k) for k in range(axis.GetNbins() + 2)])[chosen[number]]
            along = contents.sum(axis=tuple(k for k in range(len(self._shape)) if k != number))
            sums[0].append(float((along * centers).sum()))
            sums[1].append(float((along * centers * centers).sum()))
        return SimpleNamespace(sum_w=sum_w, sum_w2=sum_w2, sum_wx=sums[0], sum_wxx=sums[1])

    def _count_entries(self) -> None:
        """Take the number of fills from the contents of all bins, as many as would be as precise."""
        sum_w, sum_w2 = float(self._contents().sum()), float(self._squared_errors().sum())
        is_weighted = self._value.weighted and sum_w2 > 0
        self._value.entries = sum_w * sum_w / sum_w2 if is_weighted else abs(sum_w)

    def IntegralAndError(self, *ranges: Any) -> float:
        """Return the sum of the contents of bins, and write its error to the first element of an array.

        Args:
            ranges: the first and the last bin for each axis, the array, and perhaps "width", with which contents and
                errors are multiplied by the sizes of their bins.
        """
        axes = len(self._axes)
        if not 2 * axes < len(ranges) <= 2 * axes + 2:
            raise UsageError(f"IntegralAndError takes {2 * axes} bins, an array and an option")
        bounds, error, options = ranges[: 2 * axes], ranges[2 * axes], ranges[2 * axes + 1 :]
        squared = self._squared_errors()
        if any("width" in option.lower() for option in options):
            squared = squared * self._sizes() ** 2
        chosen = tuple(
            _range_of_bins(first, last, size)
            for first, last, size in zip(bounds[::2], bounds[1::2], self._shape, strict=True)
        )
        error[0] = float(np.sqrt(squared[chosen].sum()))
        return self.Integral(*bounds, *options)

    def Interpolate(self, x: float) -> float:
        """Return the content at a point, on straight lines between the centers of bins."""
        if len(self._axes) != 1:
            refuse("a histogram with several axes", "Interpolate", "scipy.interpolate")
        axis, contents = self._axes[0], self._contents()
        bins = axis.GetNbins()
        centers = np.array([axis.GetBinCenter(k + 1) for k in range(bins)])
        return float(np.interp(x, centers, contents[1:-1]))

    def _mean_and_square(self, axis: int) -> tuple[float, float]:
        """Return the mean of the coordinates and that of their squares."""
        self._axis(axis - 1)
        moments = self._moments()
        if moments.sum_w == 0:
            return 0.0, 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            return float(moments.sum_wx[axis - 1] / moments.sum_w), float(
                moments.sum_wxx[axis - 1] / moments.sum_w
            )

    def to_hist(self) -> Any:
        """Return it as `hist.Hist`."""
        return to_hist(self._value)


class ManyAxesView(HistogramView):
    """A histogram with the methods of THn, where the last axis has the fastest numbers of bins."""

    _numbering = "C"

    def Projection(self, *axes: int | str) -> HistogramView:
        """Return the histogram over one to three axes, counted from 0, with the sums over the others.

        `Projection(x)`, `Projection(y, x)`, whose first axis is the second argument, `Projection(x, y, z)`, each with
        an option behind, which has no effect. Statistics are those of bins, as in ROOT.
        """
        numbers = [each for each in axes if not isinstance(each, str)]
        if not 1 <= len(numbers) <= 3 or len(set(numbers)) < len(numbers):
            raise UsageError(
                f"a histogram is projected on one to three different axes, not {list(numbers)}",
                "Projection(0)",
            )
        kept = numbers[::-1] if len(numbers) == 2 else numbers
        others = tuple(k for k in range(len(self._shape)) if k not in kept)

        def summed(values: Floats) -> Floats:
            sums: Floats = values.sum(axis=others)  # with the axes in their order
            return sums.transpose([sorted(kept).index(number) for number in kept]).ravel(order="F")

        labels = [self._labels.get(number, "") for number in kept]
        made = HistogramView(
            SimpleNamespace(
                name=f"{self.name}_proj_{'_'.join(map(str, kept))}",
                title=joined_title(f"{self._title} projection {''.join(labels)}", labels),
                axes=[self._value.axes[number] for number in kept],
                weighted=self._value.weighted,
                entries=self._value.entries,
                values=summed(self._contents()),
                variances=summed(self._squared_errors()) if self._value.weighted else None,
                moments=self._value.moments,
            )
        )
        made._reset_statistics()
        made._value.entries = self._value.entries
        return made

    def _place(self, bins: tuple[Any, ...]) -> tuple[int, ...]:
        # THn takes the numbers along its axes as one array.
        in_array = len(bins) == 1 and not isinstance(bins[0], int | np.integer)
        return super()._place(tuple(int(k) for k in bins[0]) if in_array else bins)


def _refused(name: str) -> property:
    return property(lambda view: refuse("a histogram of HistoND", name, "to_hist()"))


# THn has other parameters.
for _name in ("SetBinContent", "AddBinContent", "SetBinError", "Fill", "Rebin", "RebinX"):
    setattr(ManyAxesView, _name, _refused(_name))


class ProfileView(_Binned):
    """A profile with the methods of TProfile and TProfile2D."""

    kind = "MEAN"

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        for axis in self._axes:
            axis._has_range = False

    def Clone(self, newname: str = "") -> ProfileView:
        """Return a copy, with a name of its own if one is given."""
        copied = type(self)(self._changeable_value())
        copied.name = newname or self.name
        self._give_looks(copied)
        return copied

    def _changeable_value(self) -> Any:
        sums = ("sum_w", "sum_w2", "sum_wy", "sum_wyy", "sum_wx", "sum_wxx")
        names = ("name", "title", "axes", "entries", "spread", *sums)
        return SimpleNamespace(**{name: getattr(self._value, name) for name in names})

    def _contents(self) -> Floats:
        sums = self._shaped(self._value.sum_w)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where(sums != 0, self._shaped(self._value.sum_wy) / sums, 0.0)

    def _squared_errors(self) -> Floats:
        sums, squares = self._shaped(self._value.sum_w), self._shaped(self._value.sum_w2)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            effective = sums**2 / squares
            spread = abs(self._shaped(self._value.sum_wyy) / sums - self._contents() ** 2)
            errors = {
                "mean": spread / effective,
                "s": spread,
                "i": np.where(spread > 0, spread, 1 / 12) / effective,
                "g": 1 / sums,
            }[self._value.spread]
        return np.where(sums != 0, errors, 0.0)

    def GetBinContent(self, *bins: int) -> float:
        """Return the mean in a bin, by a number for each axis or by its global number; 0 outside, as in ROOT."""
        return super().GetBinContent(*bins) if self._has(bins) else 0.0

    def GetBinError(self, *bins: int) -> float:
        """Return the error of a bin; see `GetBinContent`."""
        return super().GetBinError(*bins) if self._has(bins) else 0.0

    def GetBinEntries(self, number: int) -> float:
        """Return the sum of weights in a bin, by its global number."""
        return float(self._shaped(self._value.sum_w)[self._place((number,))]) if self._has((number,)) else 0.0

    def GetBinEffectiveEntries(self, number: int) -> float:
        """Return the square of the sum of weights in a bin over the sum of their squares."""
        sums = self.GetBinEntries(number)
        squares = float(self._shaped(self._value.sum_w2)[self._place((number,))])
        return sums * sums / squares if squares else 0.0

    def _has(self, bins: tuple[int, ...]) -> bool:
        return len(bins) > 1 or 0 <= bins[0] < self.GetNcells()

    def GetSumw2(self) -> Floats:
        """Return the sums of the squares of the averaged values, with their weights, by the global numbers of bins."""
        return self._shaped(self._value.sum_wyy).ravel(order="F")

    def GetSumw2N(self) -> int:
        """Return the number of bins with underflow and overflow."""
        return self.GetNcells()

    def SetDirectory(self, directory: object = None) -> None:
        """Do nothing: histograms are in no directory."""

    def GetErrorOption(self) -> str:
        """Return the kind of errors: "" for errors of the means, or "s", "i", "g"."""
        return "" if self._value.spread == "mean" else self._value.spread

    def _summable(self) -> Floats:
        return np.where(self._shaped(self._value.sum_w) > 0, self._contents(), 0.0)

    def GetSumOfWeights(self) -> float:
        """Return the sum of the contents, without underflow and overflow."""
        return float(self._inner(self._summable()).sum())

    # ---- Of the coordinates and of what is averaged, within the axes

    def GetEffectiveEntries(self) -> float:
        """Return the square of the sum of weights over the sum of their squares, of fills within the axes."""
        weights, squares = self._sum("sum_w"), self._sum("sum_w2")
        return weights * weights / squares if squares else abs(weights)

    def GetMean(self, axis: int = 1) -> float:
        """Return the mean along an axis; the axis after the binned ones, 2 of a TProfile, has the averaged values."""
        weights = self._sum("sum_w")
        return self._sums(axis)[0] / weights if weights else 0.0

    def GetStdDev(self, axis: int = 1) -> float:
        """Return the standard deviation along an axis; see `GetMean`."""
        mean = self.GetMean(axis)
        weights = self._sum("sum_w")
        return float(np.sqrt(max(self._sums(axis)[1] / weights - mean * mean, 0.0))) if weights else 0.0

    GetRMS = GetStdDev

    def _sum(self, which: str) -> float:
        return float(self._inner(self._shaped(getattr(self._value, which))).sum())

    def _sums(self, axis: int) -> tuple[float, float]:
        """Return the sums of the values along an axis, counted from 1, and of their squares."""
        if axis == len(self._axes) + 1:
            return self._sum("sum_wy"), self._sum("sum_wyy")
        self._axis(axis - 1)
        return float(self._value.sum_wx[axis - 1]), float(self._value.sum_wxx[axis - 1])

    def counts(self, flow: bool = False) -> Floats:
        """Return the sums of weights."""
        sums = self._shaped(self._value.sum_w)
        return sums if flow else self._inner(sums)

    def to_hist(self) -> Any:
        """Return it as `hist.Hist` with the storage WeightedMean."""
        return to_profile(self._value)


class _GraphAxis(AxisView):
    """An axis of a graph, whose limits are its own."""

    _user: tuple[float, float] | None = None

    def SetRangeUser(self, ufirst: float, ulast: float) -> None:
        """Set the limits in pictures."""
        if not ufirst < ulast:
            raise UsageError(f"an axis from {ufirst} to {ulast} has no range")
        self._user = (float(ufirst), float(ulast))
        self._edges = np.linspace(ufirst, ulast, len(self._edges))

    SetLimits = SetRangeUser

    def UnZoom(self) -> None:
        """Let the points tell the limits again."""
        self._user = None


@styled("graph")
class GraphView:
    """Points with the methods of TGraph and TGraphAsymmErrors."""

    _style: dict[str, Any] = {}  # noqa: RUF012 (replaced, never changed)
    _limits: tuple[float | None, float | None] = (None, None)
    """What `SetMinimum` and `SetMaximum` set."""

    def __init__(self, points: GraphPoints) -> None:
        self.points, self.name = points, points.name
        self._graph_axes: dict[int, _GraphAxis] = {}

    def _graph_axis(self, number: int) -> _GraphAxis:
        axis = self._graph_axes.get(number)
        if axis is None:
            values = self._along(number + 1)
            low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
            room = 0.1 * (high - low or 1.0)
            labels = split_title(self.points.title)[1]
            title = labels[number] if number < len(labels) else ""
            axis = _GraphAxis(np.linspace(low - room, high + room, 101), title, regular=True)
            axis._on_title = partial(self._set_axis_title, number)
            self._graph_axes[number] = axis
        return axis

    def _set_axis_title(self, number: int, title: str) -> None:
        first, labels = split_title(self.points.title)
        labels = [*labels, *[""] * (number + 1 - len(labels))]
        labels[number] = title
        self.points = dataclasses.replace(self.points, title=joined_title(first, labels))

    def GetXaxis(self) -> AxisView:
        """Return the first axis."""
        return self._graph_axis(0)

    def GetYaxis(self) -> AxisView:
        """Return the second axis."""
        return self._graph_axis(1)

    def SetTitle(self, title: str = "") -> None:
        """Change the title, and those of the axes that follow it behind semicolons."""
        self.points = dataclasses.replace(self.points, title=title)
        self._graph_axes.clear()

    def SetName(self, name: str = "") -> None:
        """Change the name."""
        self.name = name

    def SetMinimum(self, minimum: float = -1111) -> None:
        """Set the beginning of the second axis in pictures; -1111 for none."""
        self._limits = (None if minimum == -1111 else float(minimum), self._limits[1])

    def SetMaximum(self, maximum: float = -1111) -> None:
        """Set the end of the second axis in pictures; -1111 for none."""
        self._limits = (self._limits[0], None if maximum == -1111 else float(maximum))

    def Clone(self, newname: str = "") -> GraphView:
        """Return a copy, with a name of its own if one is given."""
        copied = type(self)(dataclasses.replace(self.points))
        copied.name = newname or self.name
        copied._style, copied._limits = self._style, self._limits
        for number, axis in self._graph_axes.items():
            theirs = copied._graph_axis(number)
            theirs._style, theirs._user, theirs._edges = axis._style, axis._user, axis._edges
        return copied

    def SetPoint(self, number: int, x: float, y: float) -> None:
        """Change a point, or add it, with points at 0 before it if there are fewer, without errors."""
        if number < 0:
            raise UsageError(f"a graph has no point {number}")
        points = self.points
        missing = max(number + 1 - len(points), 0)
        arrays = [np.append(each, np.zeros(missing)) for each in (points.x, points.y, *points.errors)]
        arrays[0][number], arrays[1][number] = x, y
        self.points = dataclasses.replace(points, x=arrays[0], y=arrays[1], errors=tuple(arrays[2:]))

    def AddPoint(self, x: float, y: float) -> None:
        """Add a point behind the others."""
        self.SetPoint(self.GetN(), x, y)

    def SetPointError(self, number: int, *errors: float) -> None:
        """Change the errors of a point: of x and y, or x low, x high, y low and y high."""
        if len(errors) == 2:
            errors = (errors[0], errors[0], errors[1], errors[1])
        if len(errors) != 4 or not 0 <= number < self.GetN():
            raise UsageError(
                f"a graph of {self.GetN()} points cannot have errors {errors} of point {number}",
                "SetPointError(number, ex, ey), or exl, exh, eyl, eyh",
            )
        arrays = [each.copy() for each in self.points.errors] or [np.zeros(self.GetN()) for _ in range(4)]
        for each, error in zip(arrays, errors, strict=True):
            each[number] = error
        self.points = dataclasses.replace(self.points, errors=tuple(arrays))

    def GetN(self) -> int:
        """Return the number of points."""
        return len(self.points)

    def GetX(self) -> Floats:
        """Return the first coordinates."""
        return self.points.x

    def GetY(self) -> Floats:
        """Return the second coordinates."""
        return self.points.y

    def GetPointX(self, number: int) -> float:
        """Return the first coordinate of a point."""
        return float(self.points.x[number])

    def GetPointY(self, number: int) -> float:
        """Return the second coordinate of a point."""
        return float(self.points.y[number])

    def Sort(self) -> None:
        """Sort the points of this view, with their errors, by the first coordinate."""
        points = self.points
        order = np.argsort(points.x, kind="stable")
        errors = tuple(each[order] for each in points.errors)
        self.points = dataclasses.replace(points, x=points.x[order], y=points.y[order], errors=errors)

    def Eval(self, x: float, *_: Any) -> float:
        """Return the second coordinate at `x`: on the line through the points beside it, or the nearest two outside."""
        if self.GetN() < 2:
            return float(self.points.y[0]) if self.GetN() else 0.0
        order = np.argsort(self.points.x, kind="stable")
        along, up = self.points.x[order], self.points.y[order]
        low = min(max(int(np.searchsorted(along, x, side="right")) - 1, 0), len(along) - 2)
        if along[low] == along[low + 1]:
            return float(up[low])
        slope = (up[low + 1] - up[low]) / (along[low + 1] - along[low])
        return float(up[low] + (x - along[low]) * slope)

    def GetMean(self, axis: int = 1) -> float:
        """Return the mean of the coordinates along an axis, counted from 1; 0 without points."""
        return float(np.mean(self._along(axis))) if self.GetN() else 0.0

    def GetRMS(self, axis: int = 1) -> float:
        """Return the standard deviation of the coordinates along an axis, with n in the denominator."""
        return float(np.std(self._along(axis))) if self.GetN() else 0.0

    def _along(self, axis: int) -> Floats:
        if axis not in (1, 2):
            raise UsageError(f"a graph has no axis {axis}", "1 or 2")
        return self.points.x if axis == 1 else self.points.y

    def GetEXlow(self) -> Floats:
        """Return the errors of the first coordinates, downwards."""
        return self._errors(0)

    def GetEXhigh(self) -> Floats:
        """Return the errors of the first coordinates, upwards."""
        return self._errors(1)

    def GetEYlow(self) -> Floats:
        """Return the errors of the second coordinates, downwards."""
        return self._errors(2)

    def GetEYhigh(self) -> Floats:
        """Return the errors of the second coordinates, upwards."""
        return self._errors(3)

    def _errors(self, which: int) -> Floats:
        if not self.points.errors:
            raise UsageError("the graph has no errors", "GraphAsymmErrors")
        return self.points.errors[which]

    def GetErrorXlow(self, number: int) -> float:
        """Return an error of a point."""
        return self._error(0, number)

    def GetErrorXhigh(self, number: int) -> float:
        """Return an error of a point."""
        return self._error(1, number)

    def GetErrorYlow(self, number: int) -> float:
        """Return an error of a point."""
        return self._error(2, number)

    def GetErrorYhigh(self, number: int) -> float:
        """Return an error of a point."""
        return self._error(3, number)

    def _error(self, which: int, number: int) -> float:
        return float(self.points.errors[which][number]) if self.points.errors else -1.0

    def GetName(self) -> str:
        """Return the name; of a variation, with that behind it."""
        return self.name

    def GetTitle(self) -> str:
        """Return the title."""
        return split_title(self.points.title)[0]

    def Write(self, name: str = "", *_: Any) -> int:
        """Write it to the `TFile` that was opened last for writing, under its own name if none is given."""
        return _writer[0](self, name)

    def __repr__(self) -> str:
        return f"<GraphView: {self.GetN()} points>"

    def __getattr__(self, name: str) -> NoReturn:
        refuse("a graph of colonnade.RDataFrame", name, "the arrays points.x and points.y")


class StatsView:
    """Statistics with the methods of TStatistic."""

    def __init__(self, stats: Stats) -> None:
        self.stats = stats

    def GetN(self) -> int:
        """Return the number of values."""
        return self.stats.count

    def GetMean(self) -> float:
        """Return the mean."""
        return self.stats.mean

    def GetRMS(self) -> float:
        """Return the standard deviation."""
        return self.stats.stddev

    def GetVar(self) -> float:
        """Return the square of the standard deviation."""
        return self.stats.stddev * self.stats.stddev

    def GetM2(self) -> float:
        """Return the sum of the squared distances to the mean, with their weights."""
        s = self.stats
        return self.GetVar() * s.sum_of_weights * (s.count - 1) / s.count if s.count > 1 else 0.0

    def GetMin(self) -> float:
        """Return the smallest value."""
        return self.stats.min

    def GetMax(self) -> float:
        """Return the largest value."""
        return self.stats.max

    def GetW(self) -> float:
        """Return the sum of weights."""
        return self.stats.sum_of_weights

    def GetW2(self) -> float:
        """Return the sum of the squared weights."""
        return self.stats.sum_of_squared_weights

    def GetNeff(self) -> int:
        """Return the equivalent number of unweighted values, rounded down as in ROOT; 0 if a weight is not finite."""
        s = self.stats
        effective = s.sum_of_weights * s.sum_of_weights / (s.sum_of_squared_weights or 1.0)
        return int(effective) if np.isfinite(effective) else 0

    def GetMeanErr(self) -> float:
        """Return the error of the mean: the standard deviation over the root of `GetNeff()`."""
        effective = self.GetNeff()
        return self.stats.stddev / effective**0.5 if effective else 0.0

    def GetName(self) -> str:
        """Return "", the name of results of RDataFrame."""
        return ""

    def Print(self) -> None:
        """Print the statistics."""
        s = self.stats
        print(
            f" OBJ: TStatistic\t  \t Mean = {s.mean:.5g} +- {self.GetMeanErr():.4g} \t RMS = {s.stddev:.5g} "
            f"\t Count = {s.count} \t Min = {s.min:.5g} \t Max = {s.max:.5g}"
        )

    def __repr__(self) -> str:
        return repr(self.stats)

    def __getattr__(self, name: str) -> NoReturn:
        refuse("the statistics of colonnade.RDataFrame", name, "the attributes of .stats")
