"""Histograms and graphs in ROOT files, as scripts write them: `f = ROOT.TFile("f.root", "RECREATE"); h.Write()`.

uproot writes them, with all that ROOT has for them: titles, statistics, underflow and overflow, sums of squares, errors
of points.
"""

from __future__ import annotations

import functools
import os
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import UnsupportedError, UsageError
from colonnade.misuse import column_name, path_text

from .histograms import GraphView, HistogramView, ManyAxesView, ProfileView, refuse, set_writer

__all__ = ["OutputFile", "OutputFolder", "is_output"]

_MODES = ("RECREATE", "NEW", "CREATE", "UPDATE")
_current: OutputFolder | None = None
"""Where `Write` of a histogram goes: the file that was opened last, or its folder that `cd` was called for."""


def is_output(option: str) -> bool:
    """Return whether a file is opened for writing with this option of TFile."""
    return option.upper() in _MODES


class OutputFolder:
    """A folder of a file that is written, with the methods of TDirectory."""

    def __init__(self, file: OutputFile, path: str) -> None:
        self._file, self._path = file, path

    def GetName(self) -> str:
        """Return its name."""
        return self._path.rpartition("/")[2]

    def cd(self, path: str = "") -> bool:
        """Let `Write` of histograms and graphs write here, or to a folder in this one."""
        global _current  # noqa: PLW0603
        _current = OutputFolder(self._file, self._inside(path)) if path else self
        return True

    def mkdir(self, name: str, *_: Any) -> OutputFolder:
        """Make a folder in this one."""
        path = self._inside(column_name(name, "folder"))
        self._file._open().mkdir(path)
        self._file._add(path)
        return OutputFolder(self._file, path)

    def WriteObject(self, written: Any, name: str, *_: Any) -> int:
        """Write a histogram or a graph, under a name.

        Raises:
            UnsupportedError: it is something else.
            UsageError: the file is closed, or has something of this name.
        """
        view = written.GetValue() if hasattr(written, "GetValue") else written
        file, path = self._file._open(), self._inside(name)
        if path in self._file._names:
            # uproot adds a cycle, but ROOT reads the first in the list, which is the older one.
            raise UsageError(
                f"there is '{path}' in '{self._file.path}' already", 'another name, or a new file, "RECREATE"'
            )
        file[path] = _stored(view, name.rpartition("/")[2])
        self._file._add(path)
        return 1

    def WriteTObject(self, written: Any, name: str = "", *_: Any) -> int:
        """Write a histogram or a graph, under its own name if none is given; see `WriteObject`."""
        return self.WriteObject(written, name or str(written.GetName()))

    def _inside(self, name: str) -> str:
        return f"{self._path}/{name}".strip("/")

    def __getattr__(self, name: str) -> NoReturn:
        refuse(
            "a TFile that is written",
            name,
            "WriteObject(histogram or graph, name), or uproot for other objects",
        )


class OutputFile(OutputFolder):
    """A file that histograms and graphs are written to, with the methods of TFile."""

    def __init__(self, name: Any, option: str) -> None:
        """Make a file, or open one to add to it with "UPDATE", which makes it if there is none.

        Raises:
            UnsupportedError: uproot, which writes it, is not installed.
            FileExistsError: with "NEW" and "CREATE" there is one.
        """
        super().__init__(self, "")
        self.path = path_text(name)
        try:
            import uproot
        except ImportError:
            raise UnsupportedError(
                "histograms are written by uproot, which is not installed", "pip install uproot"
            ) from None
        makers = {"RECREATE": uproot.recreate}
        if os.path.exists(self.path):  # else "UPDATE" makes it
            makers["UPDATE"] = uproot.update
        self._writer: Any = makers.get(option.upper(), uproot.create)(self.path)
        self._names = set(self._writer.keys(cycle=False))
        self.cd()

    def _open(self) -> Any:
        if self._writer is None:
            raise UsageError(f"the file '{self.path}' is closed", "Write before Close")
        return self._writer

    def _add(self, path: str) -> None:
        parts = path.split("/")
        self._names.update("/".join(parts[: k + 1]) for k in range(len(parts)))

    def GetName(self) -> str:
        """Return the path."""
        return self.path

    def IsOpen(self) -> bool:
        """Return whether it can be written."""
        return self._writer is not None

    def IsZombie(self) -> bool:
        """Return False: a file that cannot be made raises."""
        return False

    def Write(self, *_: Any) -> int:
        """Do nothing: what is written is in the file at once."""
        return 0

    def Close(self, *_: Any) -> None:
        """Close the file."""
        global _current  # noqa: PLW0603
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if _current is not None and _current._file is self:
            _current = None

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.Close()

    def __fspath__(self) -> str:
        return self.path


def _write(view: HistogramView | ProfileView | GraphView, name: str) -> int:
    if _current is None:
        raise UsageError("no file is open for writing", 'ROOT.TFile("f.root", "RECREATE")')
    return _current.WriteTObject(view, name)


set_writer(_write)


def _stored(view: Any, name: str) -> Any:
    """The object that uproot writes."""
    if isinstance(view, GraphView):
        return _graph(view)
    is_profile = isinstance(view, ProfileView)
    dimensions = view.GetDimension() if isinstance(view, HistogramView | ProfileView) else 0
    most = 1 if is_profile else 3
    if not 1 <= dimensions <= most or isinstance(view, ManyAxesView):
        what = f"a {type(view).__name__}" if dimensions == 0 else f"'{view.GetName()}'"
        raise UnsupportedError(
            f"{what} cannot be written to a ROOT file: it is no histogram of up to three axes, TProfile or graph",
            "its to_hist(), or arrays with uproot",
        )
    from uproot.writing import identify

    axes = [_axis(view.GetAxis(k), "xyz"[k]) for k in range(dimensions)]
    more = {f"f{letter}axis": axes[k] for k, letter in enumerate("XYZ"[:dimensions])}
    return _profile(view, name, more, identify) if is_profile else _histogram(view, name, more, identify)


_OF_THE_POINTS = -1111.0
"""As limits of what is drawn, to ROOT: it chooses them."""
_ERRORS = ("fEXlow", "fEXhigh", "fEYlow", "fEYhigh")


def _graph(view: GraphView) -> Any:
    import uproot

    points = view.points
    # uproot makes none without points; they are set below.
    graph = uproot.as_TGraph({"x": [0.0], "y": [0.0]}, minY=_OF_THE_POINTS, maxY=_OF_THE_POINTS)
    graph._members.update(fNpoints=len(points), fX=np.asarray(points.x), fY=np.asarray(points.y))
    graph._bases[0]._members["fTitle"] = points.title
    if not points.errors:
        return graph
    made = _with_errors().empty()
    made._bases.append(graph)
    made._members.update(zip(_ERRORS, points.errors, strict=True))
    return made


@functools.cache
def _with_errors() -> Any:
    """uproot's class, which can only be read, with what writes it."""
    from uproot.models.TGraph import Model_TGraphAsymmErrors_v3 as Known

    return type(Known.__name__, (Known,), {"_serialize": _serialize_with_errors})


def _serialize_with_errors(graph: Any, out: list[bytes], header: bool, name: Any, flags: Any) -> None:
    """A TGraphAsymmErrors, version 3: the TGraph, and each array of errors behind a byte that says that it is there."""
    from uproot.serialization import numbytes_version

    first = len(out)
    graph._bases[0]._serialize(out, True, name, flags)
    out.extend(b"\x01" + np.asarray(graph._members[each], dtype=">f8").tobytes() for each in _ERRORS)
    if header:
        out.insert(first, numbytes_version(sum(map(len, out[first:])), 3))


def _axis(axis: Any, letter: str) -> Any:
    from uproot.writing import identify

    edges = np.array([axis.GetBinLowEdge(k + 1) for k in range(axis.GetNbins() + 1)])
    variable: dict[str, Any] = {"fXbins": edges} if axis.IsVariableBinSize() else {}
    if axis._bin_labels:
        variable["fLabels"] = identify.to_THashList(
            [_label(number, text, identify) for number, text in sorted(axis._bin_labels.items())]
        )
    return identify.to_TAxis(
        f"{letter}axis",
        axis.GetTitle(),
        axis.GetNbins(),
        axis.GetXmin(),
        axis.GetXmax(),
        **variable,
        **_looks(axis),
    )


def _looks(view: Any) -> dict[str, Any]:
    """What was set for pictures, as the members of ROOT's classes."""
    return {f"f{name}": value for name, value in view._style.items() if not name.endswith("Alpha")}


def _limits(view: Any) -> dict[str, float]:
    return {"fMinimum": view.GetMinimumStored(), "fMaximum": view.GetMaximumStored()}


def _label(number: int, text: str, identify: Any) -> Any:
    """The name of a bin, with its number."""
    made = identify.to_TObjString(text)
    for base in made.bases:
        base._members["@fUniqueID"] = number
    return made


def _flat(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """By the global numbers of bins."""
    return np.ascontiguousarray(np.ravel(values, order="F"), dtype=np.float64)


def _histogram(view: HistogramView, name: str, axes: dict[str, Any], identify: Any) -> Any:
    moments = view._value.moments
    sums: dict[str, float] = {"fTsumw": moments.sum_w, "fTsumw2": moments.sum_w2}
    inner = view._inner(view._contents())
    centers = [np.array([axis.GetBinCenter(k + 1) for k in range(axis.GetNbins())]) for axis in view._axes]
    grids = np.meshgrid(*centers, indexing="ij")
    for k, letter in enumerate("xyz"[: len(axes)]):
        sums |= {
            f"fTsumw{letter}": float(moments.sum_wx[k]),
            f"fTsumw{letter}2": float(moments.sum_wxx[k]),
            **{f"fTsumw{'xyz'[j]}{letter}": _product(moments, inner, grids, j, k) for j in range(k)},
        }
    maker = getattr(identify, f"to_TH{len(axes)}x")
    return maker(
        name,
        view.GetTitle(),
        _flat(view._contents()).astype(np.float32 if view._single else np.float64),
        view.GetEntries(),
        fSumw2=_flat(view._squared_errors()) if view._value.weighted else np.zeros(0),
        **sums,
        **axes,
        **_titled(view, len(axes), identify),
        **_looks(view),
        **_limits(view),
    )


def _product(moments: Any, contents: Any, centers: Any, j: int, k: int) -> float:
    """The sum of products along two axes, with the covariance of the bins: that of the values is not kept."""
    total = contents.sum()
    if not total or not moments.sum_w:
        return 0.0
    means = [(contents * centers[number]).sum() / total for number in (j, k)]
    covariance = (contents * centers[j] * centers[k]).sum() / total - means[0] * means[1]
    return float(moments.sum_w * covariance + moments.sum_wx[j] * moments.sum_wx[k] / moments.sum_w)


def _profile(view: ProfileView, name: str, axes: dict[str, Any], identify: Any) -> Any:
    value = view._value
    return identify.to_TProfile(
        name,
        view.GetTitle(),
        _flat(view._shaped(value.sum_wy)),
        view.GetEntries(),
        view._sum("sum_w"),
        view._sum("sum_w2"),
        *view._sums(1),
        *view._sums(2),
        _flat(view._shaped(value.sum_wyy)),
        _flat(view._shaped(value.sum_w)),
        _flat(view._shaped(value.sum_w2)),
        fErrorMode=["mean", "s", "i", "g"].index(value.spread),
        **axes,
        **_titled(view, 1, identify),
        **_looks(view),
        **_limits(view),
    )


def _titled(view: Any, dimensions: int, identify: Any) -> dict[str, Any]:
    """The axes behind those with bins, which have the titles of the contents."""
    titles = {"Y": view.GetYaxis().GetTitle(), "Z": view.GetZaxis().GetTitle()}
    return {
        f"f{letter}axis": identify.to_TAxis(f"{letter.lower()}axis", title, 1, 0.0, 1.0)
        for letter, title in titles.items()
        if "XYZ".index(letter) >= dimensions
    }
