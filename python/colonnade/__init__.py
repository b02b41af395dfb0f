"""Read and write RNTuple columnar event data, without ROOT.

import colonnade

ds = colonnade.open("f.root", "Events")
arrays = ds.arrays(["pt", "jets.eta"])

with colonnade.create("g.root", "Events", {"pt": "std::vector<float>"}) as w:
    w.extend({"pt": arrays.pt})

df = colonnade.DataFrame("Events", "f*.root")
h = df.filter("nMuon == 2").histo1d(("pt", "", 100, 0, 200), "Muon_pt")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

try:
    from ._core import version as __version__
except ModuleNotFoundError as missing:
    raise ImportError(
        f"{__path__[0]} has no compiled module for this Python: install the package with pip, not as a zip archive"
    ) from missing

from . import cache
from .errors import (
    ChecksumError,
    ConversionError,
    Error,
    FileMissingError,
    FormatError,
    LeftOutWarning,
    NotFoundError,
    ResourceError,
    SchemaError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
)
from .reading.attributes import Attribute, AttributeSet, AttributeSets
from .reading.chain import Chain
from .reading.dataset import DataSet
from .reading.metrics import ReadMetrics
from .reading.opening import datasets, open  # noqa: A004
from .schema.fields import FieldInfo, Schema
from .writing.attributes import AttributeAppender, AttributeRange, AttributeSetWriter
from .writing.creating import DataSetWriter, add_attributes, create, resume

if TYPE_CHECKING:
    from .frame import (
        Cut,
        DataFrame,
        Display,
        Explanation,
        Expression,
        Functions,
        GraphPoints,
        Library,
        LibraryFunction,
        Model,
        Report,
        Result,
        Stats,
        StepCost,
        TextFunction,
        Variations,
        col,
        compute,
        fn,
        functions,
        get_include,
        json_mask,
        library,
        onnx_model,
        run_graphs,
        variations_for,
    )
    from .frame.corrections import Correction, corrections
    from .frame.root.facade import RDataFrame
    from .importing.copying import CopyProgress, CopyReport, copy
    from .importing.merging import LeftOutObject, MergeReport, merge
    from .importing.tables import TableReport, import_table
    from .importing.trees import ImportProgress, ImportReport, import_tree, trees
    from .maintenance.garbage import (
        GarbageClaim,
        GarbageReport,
        RemovedGeneration,
        collect_garbage,
        remove_data_set,
    )
    from .maintenance.repairing import DroppedCluster, RepairReport, repair
    from .reading.exporting import export
    from .writing.parallel import FillContext, ParallelDataSetWriter, create_parallel

__all__ = [
    "Attribute",
    "AttributeAppender",
    "AttributeRange",
    "AttributeSet",
    "AttributeSetWriter",
    "AttributeSets",
    "Chain",
    "ChecksumError",
    "ConversionError",
    "CopyProgress",
    "CopyReport",
    "Correction",
    "Cut",
    "DataFrame",
    "DataSet",
    "DataSetWriter",
    "Display",
    "DroppedCluster",
    "Error",
    "Explanation",
    "Expression",
    "FieldInfo",
    "FileMissingError",
    "FillContext",
    "FormatError",
    "Functions",
    "GarbageClaim",
    "GarbageReport",
    "GraphPoints",
    "ImportProgress",
    "ImportReport",
    "LeftOutObject",
    "LeftOutWarning",
    "Library",
    "LibraryFunction",
    "MergeReport",
    "Model",
    "NotFoundError",
    "ParallelDataSetWriter",
    "RDataFrame",
    "ReadMetrics",
    "RemovedGeneration",
    "RepairReport",
    "Report",
    "ResourceError",
    "Result",
    "Schema",
    "SchemaError",
    "Stats",
    "StepCost",
    "StorageError",
    "TableReport",
    "TextFunction",
    "TypeMismatchError",
    "UnsupportedError",
    "UsageError",
    "Variations",
    "__version__",
    "add_attributes",
    "cache",
    "col",
    "collect_garbage",
    "compute",
    "copy",
    "corrections",
    "create",
    "create_parallel",
    "datasets",
    "export",
    "fn",
    "functions",
    "get_include",
    "import_table",
    "import_tree",
    "json_mask",
    "library",
    "merge",
    "onnx_model",
    "open",
    "remove_data_set",
    "repair",
    "resume",
    "run_graphs",
    "trees",
    "variations_for",
]


_OTHER_NAMES = {
    "concatenate": "colonnade.open(files).arrays()",
    "dask": "colonnade.DataFrame(name, files, executor=client)",
    "iterate": "colonnade.open(files).iterate()",
    "lazy": "colonnade.open(files): nothing is read before it is asked for",
    "read": "colonnade.open(file).arrays()",
    "recreate": 'colonnade.create(file, "Events")',
    "update": 'colonnade.create(file, "Events", mode="update")',
}
"""What people look for who come from uproot, and what it is here."""

_LATE = {
    ".frame.root.facade": ["RDataFrame"],
    ".importing.copying": ["CopyProgress", "CopyReport", "copy"],
    ".importing.merging": ["LeftOutObject", "MergeReport", "merge"],
    ".importing.tables": ["TableReport", "import_table"],
    ".importing.trees": ["ImportProgress", "ImportReport", "import_tree", "trees"],
    ".maintenance.garbage": [
        "GarbageClaim",
        "GarbageReport",
        "RemovedGeneration",
        "collect_garbage",
        "remove_data_set",
    ],
    ".maintenance.repairing": ["DroppedCluster", "RepairReport", "repair"],
    ".reading.exporting": ["export"],
    ".writing.parallel": ["FillContext", "ParallelDataSetWriter", "create_parallel"],
}
"""Modules that not every program needs, and their public names: imported when they are used. Others are of `frame`."""

_LATE_PACKAGES = ("frame", "importing", "maintenance")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        of_frame = ".frame" if name in __all__ else None
        module = next((module for module, names in _LATE.items() if name in names), of_frame)
        if module is not None:
            value = getattr(importlib.import_module(module, __name__), name)
            globals()[name] = value
            return value
        if name in _LATE_PACKAGES:
            return importlib.import_module(f".{name}", __name__)
        there = _OTHER_NAMES.get(name)
        raise AttributeError(f"colonnade has no '{name}'" + (f"; try: {there}" if there else ""))


def __dir__() -> list[str]:
    """List the public names only, without submodules."""
    return sorted(__all__)
