"""The names that analysis scripts import from ROOT for RDataFrame, implemented by Colonnade.

Replace `import ROOT` by `from colonnade import root as ROOT`, and a script that uses RDataFrame runs: ROOT.RDataFrame,
ROOT.TChain with friends, ROOT.TFile, ROOT.Experimental.RNTupleProcessor, ROOT.RDF.RunGraphs,
ROOT.RDF.Experimental.VariationsFor, ROOT.EnableImplicitMT. Other names raise an error that says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .errors import UnsupportedError, UsageError
from .frame.root import chains as _chains
from .frame.root import declared as _declared
from .frame.root import facade as _facade
from .frame.root import models as _models
from .frame.root import numbers as _numbers
from .frame.root import specification as _specification
from .frame.root import styles as _styles
from .frame.root import tables as _tables
from .frame.root.chains import TChain, TFile
from .frame.root.drawing import pads as _pads
from .frame.root.drawing.legends import TLegend
from .frame.root.drawing.pads import TCanvas, TPad
from .frame.root.drawing.stacks import THStack, TMultiGraph
from .frame.root.drawing.style import TGaxis, TStyle, gStyle
from .frame.root.drawing.texts import (
    TArrow,
    TBox,
    TEllipse,
    TLatex,
    TLine,
    TMarker,
    TPaveLabel,
    TPaveText,
    TText,
)
from .frame.root.facade import (
    DisableImplicitMT,
    EnableImplicitMT,
    GetThreadPoolSize,
    IsImplicitMTEnabled,
    RDataFrame,
)
from .frame.root.made import (
    TH1,
    TH1D,
    TH1F,
    TH2,
    TH2D,
    TH2F,
    TH3,
    TH3D,
    TH3F,
    TGraph,
    TGraphAsymmErrors,
    TGraphErrors,
)
from .frame.root.mathematics import TMath
from .frame.root.models import ELogLevel, RCompressionSetting
from .frame.root.spelling import vector
from .frame.root.styles import TColor
from .misuse import cpp_text

__all__ = [
    "RDF",
    "TH1",
    "TH1D",
    "TH1F",
    "TH2",
    "TH2D",
    "TH2F",
    "TH3",
    "TH3D",
    "TH3F",
    "Detail",
    "DisableImplicitMT",
    "ELogLevel",
    "EnableImplicitMT",
    "EnableThreadSafety",
    "Experimental",
    "GetThreadPoolSize",
    "IsImplicitMTEnabled",
    "Numba",
    "PyConfig",
    "RCompressionSetting",
    "RDataFrame",
    "RLogScopedVerbosity",
    "SetOwnership",
    "TArrow",
    "TBox",
    "TCanvas",
    "TChain",
    "TColor",
    "TEllipse",
    "TFile",
    "TGaxis",
    "TGraph",
    "TGraphAsymmErrors",
    "TGraphErrors",
    "THStack",
    "TLatex",
    "TLegend",
    "TLine",
    "TMarker",
    "TMath",
    "TMultiGraph",
    "TObject",
    "TPad",
    "TPaveLabel",
    "TPaveText",
    "TStyle",
    "TText",
    "gInterpreter",
    "gROOT",
    "gStyle",
    "kFALSE",
    "kTRUE",
    "std",
    "vector",
]

_DECLARED = (
    "functions and constants with gInterpreter.Declare, functions of a shared library (colonnade.library), or Python "
    "callables (DataFrame.with_functions, Define with a callable)"
)
_PLOTS = "to_hist() of a histogram, which plots with matplotlib and mplhep"
_ADVICE = {
    "DistributeSharedLibs": "colonnade.library: workers load the library by its name",
    "DistributeFiles": "the engine's own way, as client.upload_file or SparkContext.addFile; or a shared file system",
    "MakeCsvDataFrame": "RDF.FromCSV",
    "MakeSqliteDataFrame": "RDF.FromSqlite",
    "MakeNumpyDataFrame": "RDF.FromNumpy",
    "Calc": f"C++ code cannot be run; {_DECLARED}",
    "gSystem": "colonnade.library, for functions of C++ from a shared library",
    "Math": "expressions in strings, which have ROOT::Math::PtEtaPhiMVector and the like; the package vector",
    "RVec": "numpy.array",
    "TLorentzVector": "expressions in strings, which have ROOT::Math::PtEtaPhiMVector; the package vector",
    "TStopwatch": "time.perf_counter(), or DataFrame.explain()",
    "gRandom": f"numpy.random; for a column {_facade.RANDOM}",
    "TTree": "colonnade.import_tree, which makes an RNTuple of a TTree",
    "VecOps": "numpy.array, and expressions in strings, which have ROOT::VecOps::",
}
_ADVICE |= dict.fromkeys(("TRatioPlot", "TF1", "TPie"), _PLOTS)
_ADVICE |= dict.fromkeys(("TRandom", "TRandom1", "TRandom2", "TRandom3"), _ADVICE["gRandom"])
_ADVICE |= dict.fromkeys(("RVecB", "RVecD", "RVecF", "RVecI", "RVecU"), _ADVICE["RVec"])
_ADVICE |= dict.fromkeys(("TH1I", "TH1S", "TH1C", "TH2I", "TH3I"), "TH1D, TH2D, TH3D")

_LEVELS = {
    "kPrint": 0,
    "kInfo": 1000,
    "kWarning": 2000,
    "kError": 3000,
    "kBreak": 4000,
    "kSysError": 5000,
    "kFatal": 6000,
}
"""Of messages: scripts choose those that ROOT prints by `ROOT.gErrorIgnoreLevel`, which has no effect here."""

kTRUE, kFALSE = True, False  # noqa: N816


def __getattr__(name: str) -> Any:
    if name == "ROOT":  # the namespace, as in ROOT.ROOT.EnableImplicitMT()
        return sys.modules[__name__]
    if name.startswith("_"):
        raise AttributeError(name)
    if name == "gPad":
        return _pads.current()
    if name in _LEVELS:
        return _LEVELS[name]
    for numbers in (_styles.COLORS, _styles.MARKERS, _styles.PALETTES):
        if name in numbers:
            return numbers[name]
    if name in ("kZLIB", "kLZMA", "kLZ4", "kZSTD"):
        return RCompressionSetting.EAlgorithm[name]
    if function := _declared.declared(name):
        return function
    raise MissingNameError(
        f"colonnade.root has no {name}", _ADVICE.get(name, "ROOT itself, for anything but RDataFrame")
    )


class MissingNameError(UnsupportedError, AttributeError):
    """A name of ROOT's without a counterpart."""


class _Namespace(type):
    """A namespace of ROOT's; missing names raise an error."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingNameError(
            f"colonnade.root.{cls.__name__.strip('_')} has no {name}", _ADVICE.get(name, "")
        )


class PyConfig(metaclass=_Namespace):
    """How Python uses ROOT: what scripts set has no effect."""


class gROOT(metaclass=_Namespace):  # noqa: N801
    """What scripts ask of ROOT itself."""

    @staticmethod
    def SetBatch(batch: bool = True) -> None:
        """Do nothing: there are no windows."""

    @staticmethod
    def IsBatch() -> bool:
        """Return True: there are no windows."""
        return True

    @staticmethod
    def SetStyle(name: str = "Default") -> None:
        """Let `gStyle` have the settings of a style: "ATLAS", or "Modern", ROOT's own, which others look like."""
        gStyle.choose(name)

    @staticmethod
    def GetStyle(name: str = "") -> Any:
        """Return `gStyle`: there is one style."""
        return gStyle

    @staticmethod
    def ForceStyle(force: bool = True) -> None:
        """Do nothing: what has no looks of its own follows `gStyle`."""

    @staticmethod
    def ProcessLine(line: str) -> int:
        """Load the file of `.L file`, or define the functions of the line, and return 0."""
        return gInterpreter.ProcessLine(line)

    @staticmethod
    def LoadMacro(path: str) -> int:
        """Define the functions of a file, and return 0."""
        _declared.declare_files(path)
        return 0


class TObject:
    """Something without looks, for lines of legends that are texts alone."""


def SetOwnership(thing: object, python_owns: bool) -> None:
    """Do nothing: what is drawn stays with its pad."""


def EnableThreadSafety() -> None:
    """Do nothing: threads may use all data frames."""


class RLogScopedVerbosity:
    """What scripts let a part of ROOT print: it has no effect; `DataFrame.explain()` tells the costs of passes."""

    def __init__(self, channel: object = None, verbosity: object = None) -> None:
        """Do nothing."""


class Detail(metaclass=_Namespace):
    """The namespace ROOT::Detail."""

    class RDF(metaclass=_Namespace):
        """The namespace ROOT::Detail::RDF."""

        @staticmethod
        def RDFLogChannel() -> None:
            """Return nothing: there are no messages of ROOT's."""


class gInterpreter(metaclass=_Namespace):  # noqa: N801
    """Where scripts declare functions that expressions call. Nothing is compiled, and nothing else can be run."""

    @staticmethod
    def Declare(text: str) -> bool:
        """Define functions and constants: expressions of all RDataFrames can call them."""
        return _declared.declare(text)

    @staticmethod
    def ProcessLine(line: str) -> int:
        """Load the file of `.L file`, or define the functions of the line, and return 0."""
        line = cpp_text(line).strip()
        if line.startswith("gErrorIgnoreLevel"):
            pass  # there are no messages of ROOT's
        elif line.startswith(".L "):
            _declared.declare_files(line[3:].strip().rstrip("+"))
        else:
            _declared.declare(line)
        return 0

    @staticmethod
    def GenerateDictionary(*classes: str) -> bool:
        """Do nothing, and return True: types need no dictionary."""
        return True

    @staticmethod
    def AddIncludePath(folder: str) -> None:
        """Look in a folder, too, for files that declared texts include."""
        _declared.add_folder(folder)


class numeric_limits:  # noqa: N801
    """The limits of a type, given by its name or Python's: `ROOT.std.numeric_limits[int].min()`."""

    def __init__(self, kind: Any) -> None:
        self._type = _numbers.number_type(kind)
        if self._type.kind == "b":
            raise UsageError("bool has no limits here", "False and True")
        self._limits: Any = np.iinfo(self._type) if self._type.kind in "iu" else np.finfo(self._type)

    def __class_getitem__(cls, kind: Any) -> numeric_limits:
        return cls(kind)

    def min(self) -> int | float:
        """Return the least integer, or the least positive normal number."""
        return self._python(self._limits.min if self._type.kind in "iu" else self._limits.tiny)

    def lowest(self) -> int | float:
        """Return the least finite number."""
        return self._python(self._limits.min)

    def max(self) -> int | float:
        """Return the largest finite number."""
        return self._python(self._limits.max)

    def epsilon(self) -> int | float:
        """Return the distance from 1 to the next number; 0 for integers."""
        return 0 if self._type.kind in "iu" else float(self._limits.eps)

    def infinity(self) -> int | float:
        """Return infinity; 0 for integers."""
        return 0 if self._type.kind in "iu" else float("inf")

    def quiet_NaN(self) -> int | float:
        """Return NaN; 0 for integers."""
        return 0 if self._type.kind in "iu" else float("nan")

    def _python(self, value: Any) -> int | float:
        return int(value) if self._type.kind in "iu" else float(value)


class std(metaclass=_Namespace):  # noqa: N801
    """The namespace std."""

    vector = vector
    string = str
    numeric_limits = numeric_limits


class _Numba(type):
    """Declared callables are attributes."""

    def __getattr__(cls, name: str) -> Any:
        if not name.startswith("_") and (function := _declared.declared(f"Numba::{name}")):
            return function
        raise AttributeError(f"no callable is declared as Numba::{name}")


class Numba(metaclass=_Numba):
    """The namespace of Python callables that expressions call: `Numba::f(x)`."""

    @staticmethod
    def Declare(input_types: Sequence[str], return_type: str, name: str | None = None) -> Any:
        """Make a decorator that lets expressions call a function, compiled by Numba where that is installed.

        Args:
            input_types: C++ types of numbers, "float", or of lists, "RVecF", to which its arguments are converted.
            return_type: the type of its value.
            name: by default that of the function.
        """

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            made = _numbers.row_function(function, input_types, return_type)
            _declared.declare_callable(f"Numba::{name or function.__name__}", made)
            return function

        return decorate


class _Dask(metaclass=_Namespace):
    """RDataFrames on Dask, as made before `executor`."""

    @staticmethod
    def RDataFrame(
        *arguments: Any, daskclient: Any = None, executor: Any = None, npartitions: int | None = None
    ) -> RDataFrame:
        """Make an RDataFrame that runs on a Dask cluster."""
        return _on(arguments, daskclient if executor is None else executor, npartitions)


class _Spark(metaclass=_Namespace):
    """RDataFrames on Spark, as made before `executor`."""

    @staticmethod
    def RDataFrame(
        *arguments: Any, sparkcontext: Any = None, executor: Any = None, npartitions: int | None = None
    ) -> RDataFrame:
        """Make an RDataFrame that runs on a Spark cluster."""
        return _on(arguments, sparkcontext if executor is None else executor, npartitions)


def _on(arguments: tuple[Any, ...], executor: Any, npartitions: int | None) -> RDataFrame:
    if executor is None:
        raise UsageError("a distributed RDataFrame needs a cluster", "executor=client")
    return RDataFrame(*arguments, executor=executor, npartitions=npartitions)


class _Distributed(metaclass=_Namespace):
    """The module for clusters: mostly the same as without a cluster."""

    Dask = _Dask
    Spark = _Spark
    DistributeCppCode = staticmethod(_declared.declare)
    DistributeHeaders = staticmethod(_declared.declare_files)
    LiveVisualize = staticmethod(_facade.LiveVisualize)
    initialize = staticmethod(_facade.initialize)
    RunGraphs = staticmethod(_facade.RunGraphs)
    VariationsFor = staticmethod(_facade.VariationsFor)


class Experimental(metaclass=_Namespace):
    """The namespace ROOT::Experimental."""

    RNTupleOpenSpec = _chains.RNTupleOpenSpec
    RNTupleProcessor = _chains.RNTupleProcessor
    RNTupleComposer = _chains.RNTupleProcessor
    RLogScopedVerbosity = RLogScopedVerbosity
    ELogLevel = ELogLevel


class _Experimental(metaclass=_Namespace):
    """ROOT's experimental names."""

    Distributed = _Distributed
    FromSpec = staticmethod(_facade.FromSpec)
    RDatasetSpec = _specification.RDatasetSpec
    RMetaData = _specification.RMetaData
    RSample = _specification.RSample
    VariationsFor = staticmethod(_facade.VariationsFor)

    @staticmethod
    def AddProgressBar(node: RDataFrame) -> None:
        """Show a progress bar in all passes of an RDataFrame."""
        node._frame._session.progress = True

    @staticmethod
    def ThreadsPerTH3(threads: int = 1) -> None:
        """Do nothing: all threads fill one histogram."""


class RDF(metaclass=_Namespace):
    """The namespace ROOT::RDF."""

    Distributed = _Distributed
    Experimental = _Experimental
    RunGraphs = staticmethod(_facade.RunGraphs)
    VariationsFor = staticmethod(_facade.VariationsFor)
    SaveGraph = staticmethod(_facade.SaveGraph)
    FromNumpy = staticmethod(_facade.FromNumpy)
    FromPandas = staticmethod(_facade.FromPandas)
    FromArrow = staticmethod(_facade.FromArrays)
    FromCSV = staticmethod(_tables.FromCSV)
    FromSqlite = staticmethod(_tables.FromSqlite)
    ESnapshotOutputFormat = _models.ESnapshotOutputFormat
    RSnapshotOptions = _models.RSnapshotOptions
    TH1DModel = _models.TH1DModel
    TH2DModel = _models.TH2DModel
    TH3DModel = _models.TH3DModel
    THnDModel = _models.THnDModel
    THnSparseDModel = _models.THnSparseDModel
    TProfile1DModel = _models.TProfile1DModel
    TProfile2DModel = _models.TProfile2DModel

    @staticmethod
    def MakeTrivialDataFrame(size: int, skipEvenEntries: bool = False) -> RDataFrame:  # noqa: N803
        """Make an RDataFrame of so many entries with the column "col0", which has their numbers."""
        frame = RDataFrame(size).Define("col0", "rdfentry_")
        return frame.Filter("rdfentry_ % 2 == 1") if skipEvenEntries else frame

    @staticmethod
    def FromRNTuple(name: str, files: object) -> RDataFrame:
        """Make an RDataFrame of a data set."""
        return RDataFrame(name, files)

    @staticmethod
    def AsRNode(node: RDataFrame) -> RDataFrame:
        """Return the node."""
        return node

    RNode = AsRNode
