"""The names that analysis scripts import from ROOT for RDataFrame, implemented by Colonnade.

Replace `import ROOT` by `from colonnade import root as ROOT`, and a script that uses RDataFrame runs: ROOT.RDataFrame,
ROOT.TChain with friends, ROOT.Experimental.RNTupleProcessor, ROOT.RDF.RunGraphs,
ROOT.RDF.Experimental.VariationsFor, ROOT.EnableImplicitMT. Other names raise an error that says so.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from .errors import UnsupportedError, UsageError
from .frame.root import chains as _chains
from .frame.root import facade as _facade
from .frame.root import models as _models
from .frame.root.chains import TChain
from .frame.root.facade import (
    DisableImplicitMT,
    EnableImplicitMT,
    GetThreadPoolSize,
    IsImplicitMTEnabled,
    RDataFrame,
)
from .frame.root.models import RCompressionSetting

__all__ = [
    "RDF",
    "DisableImplicitMT",
    "EnableImplicitMT",
    "Experimental",
    "GetThreadPoolSize",
    "IsImplicitMTEnabled",
    "RCompressionSetting",
    "RDataFrame",
    "TChain",
]

_ADVICE = {
    "FromCSV": "RDF.FromArrow(pyarrow.csv.read_csv(...))",
    "FromSqlite": "RDF.FromArrow of a table",
    "DistributeCppCode": "expressions in strings, Python callables, or colonnade.library for functions of C++",
    "DistributeHeaders": "colonnade.library, for C++ functions of a shared library",
    "DistributeSharedLibs": "colonnade.library: workers load the library by its name",
    "DistributeFiles": "the engine's own way, as client.upload_file or SparkContext.addFile; or a shared file system",
    "gInterpreter": "C++ code cannot be declared; expressions in strings, or Python callables",
    "Numba": "a Python callable as it is: it is compiled by Numba if that is installed",
    "TFile": "colonnade.open, colonnade.create",
    "TTree": "colonnade.import_tree, which makes an RNTuple of a TTree",
    "TCanvas": "to_hist() of a histogram, which plots with matplotlib and mplhep",
}


def __getattr__(name: str) -> Any:
    if name == "ROOT":  # the namespace, as in ROOT.ROOT.EnableImplicitMT()
        return sys.modules[__name__]
    if name.startswith("_"):
        raise AttributeError(name)
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
    LiveVisualize = staticmethod(_facade.LiveVisualize)
    initialize = staticmethod(_facade.initialize)
    RunGraphs = staticmethod(_facade.RunGraphs)
    VariationsFor = staticmethod(_facade.VariationsFor)


class Experimental(metaclass=_Namespace):
    """The namespace ROOT::Experimental."""

    RNTupleOpenSpec = _chains.RNTupleOpenSpec
    RNTupleProcessor = _chains.RNTupleProcessor
    RNTupleComposer = _chains.RNTupleProcessor


class _Experimental(metaclass=_Namespace):
    """ROOT's experimental names."""

    Distributed = _Distributed
    FromSpec = staticmethod(_facade.FromSpec)
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
    def FromRNTuple(name: str, files: object) -> RDataFrame:
        """Make an RDataFrame of a data set."""
        return RDataFrame(name, files)

    @staticmethod
    def AsRNode(node: RDataFrame) -> RDataFrame:
        """Return the node."""
        return node
