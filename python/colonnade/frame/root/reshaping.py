"""Methods of ROOT's histograms that set bins, fill them, or make histograms with other bins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import UnsupportedError, UsageError
from colonnade.frame.histograms import joined_title, split_title

__all__ = ["Reshaped", "axis_of", "changeable"]

Floats = NDArray[np.float64]


def changeable(value: Any) -> SimpleNamespace:
    """Return the same bins, which may get other contents."""
    names = ("name", "title", "axes", "weighted", "entries", "values", "variances", "moments")
    return SimpleNamespace(
        **{name: getattr(value, name) for name in names if name != "variances" or value.weighted}
    )


def axis_of(name: str, edges: Floats, *, regular: bool) -> SimpleNamespace:
    """Return an axis like those of results."""
    return SimpleNamespace(
        name=name,
        edges=edges,
        regular=regular,
        bins=len(edges) - 1,
        range=(float(edges[0]), float(edges[-1])),
    )


def _joined(axis: Any, group: int) -> SimpleNamespace:
    """Return an axis whose bins are `group` old ones each, without those that are left over."""
    count = axis.bins // group
    edges = np.asarray(axis.edges)[: count * group + 1 : group]
    return axis_of(axis.name, edges, regular=axis.regular)


def _sums_of_groups(values: Floats, axis: int, starts: Sequence[int]) -> Floats:
    """Return the sums of the items between the starts along an axis."""
    return np.add.reduceat(values, starts, axis=axis)


class Reshaped(ABC):
    """The part of a histogram that changes single bins, and the bins themselves."""

    _value: Any
    _axes: list[Any]
    _shape: list[int]
    _title: str
    name: str

    _single: bool
    _style: dict[str, Any]
    _limits: tuple[float | None, float | None]
    _unused: Any = None
    """The statistics of fills, where those of the contents count since a content was set."""

    @abstractmethod
    def __init__(self, value: Any) -> None: ...

    @abstractmethod
    def _contents(self) -> Floats: ...

    @abstractmethod
    def _squared_errors(self) -> Floats: ...

    @abstractmethod
    def _place(self, bins: tuple[int, ...]) -> tuple[int, ...]: ...

    @abstractmethod
    def _change(self, contents: Floats, squared_errors: Floats | None) -> None: ...

    @abstractmethod
    def _reset_statistics(self) -> None: ...

    @abstractmethod
    def _count_entries(self) -> None: ...

    @abstractmethod
    def GetEffectiveEntries(self) -> float:
        """Return the number of fills without weights that would be as precise."""

    @abstractmethod
    def _give_looks(self, other: Any) -> None: ...

    @abstractmethod
    def _require_all_bins(self, method: str) -> None: ...

    @abstractmethod
    def Clone(self, newname: str = "") -> Self:
        """Return a copy, with a name of its own if one is given."""

    # ---- Names

    def SetName(self, name: str) -> None:
        """Change the name."""
        self.name = name
        self._value = changeable(self._value)
        self._value.name = name

    def SetTitle(self, title: str) -> None:
        """Change the title, and those of the axes that follow it behind semicolons, as ROOT does."""
        value = changeable(self._value)
        value.name = self.name
        first, labels = split_title(title)
        value.title = joined_title(first, [*labels, *split_title(value.title)[1][len(labels) :]])
        self._renew(value)

    def SetNameTitle(self, name: str, title: str) -> None:
        """Change the name and the title."""
        self.SetName(name)
        self.SetTitle(title)

    def _renew(self, value: Any) -> None:
        """Take another value, with the same looks."""
        before = self.Clone()
        self.__init__(value)  # type: ignore[misc]
        before._give_looks(self)

    def SetDirectory(self, directory: Any) -> None:  # noqa: B027
        """Do nothing: histograms belong to Python here, which is what SetDirectory(0) asks for."""

    # ---- Single bins

    def SetBinContent(self, *bins_and_content: float) -> None:
        """Change the content of a bin, by a number for each axis or by its global number.

        Errors stay where they are kept apart from contents (`GetSumw2N()`). Statistics are those of the bins then, and
        the number of entries rises by 1, as in ROOT.
        """
        *bins, content = bins_and_content
        place = self._bin(bins)
        if place is not None:
            contents = self._contents().copy()
            contents[place] = content
            self._change(contents, self._own_errors())
        self._tell_from_bins(self._value.entries + 1)

    def AddBinContent(self, *bins_and_weight: float) -> None:
        """Add a weight to a bin; without one, 1. Errors, statistics and entries stay, as in ROOT."""
        bins = list(bins_and_weight)
        weight = (
            bins.pop() if len(bins) > len(self._shape) or (len(self._shape) > 1 and len(bins) == 2) else 1
        )
        place = self._bin(bins)
        if place is not None:
            contents = self._contents().copy()
            contents[place] += np.float32(weight) if self._single else weight
            self._change(contents, self._own_errors())
        self._tell_from_bins(self._value.entries, only_if_they_did=True)

    def SetBinError(self, *bins_and_error: float) -> None:
        """Change the error of a bin; errors are kept apart from contents from now on."""
        *bins, error = bins_and_error
        is_inside = len(bins) == 1 or all(0 <= k < size for k, size in zip(bins, self._shape, strict=False))
        place = self._bin(bins) if is_inside else None
        if place is None:
            return
        squared = self._squared_errors().copy()
        squared[place] = error * error
        self._change(self._contents(), squared)
        self._tell_from_bins(self._value.entries, only_if_they_did=True)

    def Fill(self, *values: float) -> int:
        """Count one more entry: a value for each axis, and a weight, or 1.

        For many entries, book the histogram with a column of them, or use `to_hist()`, whose `fill` takes arrays.

        Returns:
            the global number of the bin, or -1 where a value lies beyond an axis.
        """
        axes = len(self._shape)
        if len(values) not in (axes, axes + 1):
            raise UsageError(
                f"Fill of a histogram with {axes} axes takes {axes} values and a weight, not {len(values)} numbers"
            )
        weight = float(values[axes]) if len(values) > axes else 1.0
        place = tuple(axis.FindBin(x) for axis, x in zip(self._axes, values, strict=False))
        squared = self._squared_errors().copy() if self._value.weighted or weight != 1 else None
        contents = self._contents().copy()
        contents[place] += np.float32(weight) if self._single else weight
        if squared is not None:
            squared[place] += weight * weight
        entries, before = self._value.entries, self._unused or self._value.moments
        # After a content was set, ROOT counts the sum of weights anew, and goes on with the others.
        sum_w = before.sum_w if self._unused is None else 0.0
        self._change(contents, squared)
        self._value.entries = entries + 1
        inside = all(0 < k < size - 1 for k, size in zip(place, self._shape, strict=True))
        if not inside:
            self._tell_from_bins(entries + 1, only_if_they_did=True)
            return -1
        self._unused = None
        self._value.moments = SimpleNamespace(
            sum_w=sum_w + weight,
            sum_w2=before.sum_w2 + weight * weight,
            sum_wx=[s + weight * x for s, x in zip(before.sum_wx, values, strict=False)],
            sum_wxx=[s + weight * x * x for s, x in zip(before.sum_wxx, values, strict=False)],
        )
        return int(np.ravel_multi_index(place, self._shape, order="F"))

    def Reset(self, option: str = "") -> None:
        """Empty all bins, their errors and statistics; options are refused."""
        if option:
            raise UnsupportedError(f"Reset has no option '{option}'", "Reset()")
        zeros = np.zeros(self._shape)
        self._change(zeros, zeros.copy() if self._value.weighted else None)
        nothing = [0.0] * len(self._shape)
        self._value.entries = 0.0
        self._unused = None
        self._value.moments = SimpleNamespace(sum_w=0.0, sum_w2=0.0, sum_wx=nothing, sum_wxx=nothing)

    def _bin(self, bins: Sequence[float]) -> tuple[int, ...] | None:
        """Return a place, or None if ROOT does nothing there."""
        numbers = [int(k) for k in bins]
        if len(numbers) == 1 and not 0 <= numbers[0] < int(np.prod(self._shape)):
            return None
        return self._place(tuple(numbers))

    def _own_errors(self) -> Floats | None:
        return self._squared_errors() if self._value.weighted else None

    def _tell_from_bins(self, entries: float, *, only_if_they_did: bool = False) -> None:
        if only_if_they_did and (entries == 0 or (self._unused is None and self._value.moments.sum_w != 0)):
            return
        unused = self._unused or self._value.moments
        self._value = changeable(self._value)
        self._reset_statistics()
        self._value.entries = float(entries)
        self._unused = unused

    # ---- Other bins

    def Rebin(self, ngroup: int = 2, newname: str = "", xbins: Any = None) -> Self:
        """Join bins, in this histogram or in a new one with the name `newname`.

        Bins that are left over go to the overflow, and the axis ends before them.

        Args:
            ngroup: the number of bins that become one; with `xbins` the number of new bins.
            newname: the name of a new histogram, which leaves this one unchanged.
            xbins: the edges of the new bins, which must be edges of old ones; the histogram is a new one.

        Returns:
            the histogram with the new bins.
        """
        if len(self._shape) != 1:
            raise UsageError("Rebin is for histograms with one axis", "Rebin2D, RebinX or RebinY")
        if xbins is None:
            return self._rebinned([ngroup], newname)
        edges = np.asarray([float(xbins[k]) for k in range(ngroup + 1)])
        if not np.all(np.diff(edges) > 0):
            raise UsageError("the edges of Rebin must rise")
        return self._with_edges(edges, newname)

    def RebinX(self, ngroup: int = 2, newname: str = "") -> Self:
        """Join bins of the first axis; see `Rebin`."""
        return self._rebinned([ngroup, *[1] * (len(self._shape) - 1)], newname)

    def RebinY(self, ngroup: int = 2, newname: str = "") -> Self:
        """Join bins of the second axis; see `Rebin`."""
        self._with_axes(2, "RebinY")
        return self._rebinned([1, ngroup], newname)

    def Rebin2D(self, nxgroup: int = 2, nygroup: int = 2, newname: str = "") -> Self:
        """Join bins of both axes; see `Rebin`."""
        self._with_axes(2, "Rebin2D")
        return self._rebinned([nxgroup, nygroup], newname)

    def _with_axes(self, count: int, method: str) -> None:
        if len(self._shape) != count:
            raise UsageError(f"{method} is for histograms with {count} axes, not {len(self._shape)}")

    def _rebinned(self, groups: list[int], newname: str) -> Self:
        for group, axis in zip(groups, self._value.axes, strict=True):
            if not 0 < group <= axis.bins:
                raise UsageError(f"{group} bins cannot be joined on an axis with {axis.bins}")
        starts = []
        for group, axis in zip(groups, self._value.axes, strict=True):
            end = axis.bins // group * group + 1
            starts.append([0, *range(1, end, group), end])
        axes = [_joined(axis, group) for axis, group in zip(self._value.axes, groups, strict=True)]
        has_rest = any(axis.bins % group for axis, group in zip(self._value.axes, groups, strict=True))
        return self._regrouped(axes, starts, newname, keeps_statistics=not has_rest)

    def _with_edges(self, edges: Floats, newname: str) -> Self:
        old = self._value.axes[0]
        widths = np.diff(old.edges)
        nearest = np.clip(np.searchsorted(old.edges, edges), 1, old.bins)
        nearest -= edges - old.edges[nearest - 1] < old.edges[nearest] - edges
        apart = np.abs(old.edges[nearest] - edges) > 1e-8 * widths[np.minimum(nearest, old.bins - 1)]
        if apart.any():
            raise UsageError(
                f"{edges[apart][0]} is no edge of a bin of '{self.name}'", "edges of its own bins alone"
            )
        starts = [0, *(int(k) + 1 for k in nearest)]
        axes = [axis_of(old.name, edges, regular=False)]
        return self._regrouped(axes, [starts], newname or self.name, keeps_statistics=True)

    def _regrouped(
        self, axes: list[Any], starts: list[list[int]], newname: str, *, keeps_statistics: bool
    ) -> Self:
        self._require_all_bins("Rebin")
        contents, squared = self._contents(), self._own_errors()
        axes_before = self._axes
        for number, firsts in enumerate(starts):
            contents = _sums_of_groups(contents, number, firsts)
            squared = None if squared is None else _sums_of_groups(squared, number, firsts)
        value = changeable(self._value)
        value.name, value.axes = self.name, axes
        into = type(self)(value) if newname else self
        told = self._unused
        into._unused = None
        if newname:
            into.SetName(newname)
        else:
            self.__init__(value)  # type: ignore[misc]
        into._single, into._style, into._limits = self._single, self._style, self._limits
        for old, new in zip(axes_before, into._axes, strict=True):
            new._style = old._style
        into._change(contents, squared)
        if not keeps_statistics and len(axes) > 1:
            into._reset_statistics()
        elif not keeps_statistics or (len(axes) > 1 and told is not None):
            into._unused = told
            into._tell_from_bins(value.entries)
        return into

    # ---- Fewer axes

    def ProjectionX(
        self, name: str = "_px", firstybin: int = 0, lastybin: int = -1, option: str = ""
    ) -> Self:
        """Return the sums over bins of the second axis, by default over all with underflow and overflow.

        Args:
            name: of the new histogram; by default "_px" behind the name of this one.
            firstybin: the first bin of the second axis.
            lastybin: the last one; a negative number is the overflow.
            option: "e" keeps errors apart from contents.
        """
        return self._projected(0, name, firstybin, lastybin, option)

    def ProjectionY(
        self, name: str = "_py", firstxbin: int = 0, lastxbin: int = -1, option: str = ""
    ) -> Self:
        """Return the sums over bins of the first axis; see `ProjectionX`."""
        return self._projected(1, name, firstxbin, lastxbin, option)

    def _projected(self, kept: int, name: str, first: int, last: int, option: str) -> Self:
        method = "ProjectionY" if kept else "ProjectionX"
        self._with_axes(2, method)
        self._require_all_bins(method)
        if option.strip("eo "):
            raise UnsupportedError(f"a projection has no option '{option}'", '"e", or none')
        size = self._shape[1 - kept]
        first, last = max(first, 0), size - 1 if last < 0 else min(last, size - 1)
        chosen: list[Any] = [slice(None), slice(None)]
        chosen[1 - kept] = slice(first, last + 1)
        contents = self._contents()[tuple(chosen)].sum(axis=1 - kept)
        has_errors = "e" in option or self._value.weighted
        squared = self._squared_errors()[tuple(chosen)].sum(axis=1 - kept) if has_errors else None
        value, moments = changeable(self._value), self._value.moments
        title, labels = split_title(value.title)
        value.title = joined_title(title, labels[kept : kept + 1])
        value.axes = [self._value.axes[kept]]
        value.moments = SimpleNamespace(
            sum_w=moments.sum_w,
            sum_w2=moments.sum_w2,
            sum_wx=[moments.sum_wx[kept]],
            sum_wxx=[moments.sum_wxx[kept]],
        )
        value.values, value.variances, value.weighted = contents, squared, squared is not None
        entries, total = value.entries, float(contents.sum())
        into = type(self)(value)
        # ROOT leaves out the others.
        names = ("LineColor", "FillColor", "MarkerColor", "MarkerStyle")
        into._style = {name: value for name, value in self._style.items() if name in names}
        into._axes[0]._style = self._axes[kept]._style
        into.SetName(self.name + name if name in ("", "_px", "_py") else name)
        # Those of fills, if all fills that count are in.
        is_all = (first, last) == (1, size - 2)
        is_all |= moments.sum_w != 0 and abs(moments.sum_w - total) < abs(moments.sum_w) * 1e-12
        if not is_all:
            into._tell_from_bins(0)
            into._unused = SimpleNamespace(sum_w=0.0, sum_w2=0.0, sum_wx=[0.0], sum_wxx=[0.0])
        if is_all and (first, last) == (0, size - 1):
            into._value.entries = entries
        else:
            into._value.entries = into.GetEffectiveEntries() if has_errors else float(np.floor(total + 0.5))
        return into
