"""Read and write RNTuple columnar event data, without ROOT.

import colonnade

ds = colonnade.open("f.root", "Events")
arrays = ds.arrays(["pt", "jets.eta"])

with colonnade.create("g.root", "Events", {"pt": "std::vector<float>"}) as w:
    w.extend({"pt": arrays.pt})
"""

from __future__ import annotations

from . import _core
from .copying import CopyProgress, CopyReport, copy
from .dataset import DataSet
from .errors import (
    ChecksumError,
    ConversionError,
    Error,
    FileMissingError,
    FormatError,
    NotFoundError,
    ResourceError,
    SchemaError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
)
from .garbage import GarbageClaim, GarbageReport, RemovedGeneration, collect_garbage, remove_data_set
from .importing import ImportProgress, ImportReport, import_tree, trees
from .metrics import ReadMetrics
from .opening import datasets, open  # noqa: A004
from .parallel import FillContext, ParallelDataSetWriter, create_parallel
from .repairing import DroppedCluster, RepairReport, repair
from .schema import FieldInfo, Schema
from .writing import DataSetWriter, create

__version__ = _core.version

__all__ = [
    "ChecksumError",
    "ConversionError",
    "CopyProgress",
    "CopyReport",
    "DataSet",
    "DataSetWriter",
    "DroppedCluster",
    "Error",
    "FieldInfo",
    "FileMissingError",
    "FillContext",
    "FormatError",
    "GarbageClaim",
    "GarbageReport",
    "ImportProgress",
    "ImportReport",
    "NotFoundError",
    "ParallelDataSetWriter",
    "ReadMetrics",
    "RemovedGeneration",
    "RepairReport",
    "ResourceError",
    "Schema",
    "SchemaError",
    "StorageError",
    "TypeMismatchError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "collect_garbage",
    "copy",
    "create",
    "create_parallel",
    "datasets",
    "import_tree",
    "open",
    "remove_data_set",
    "repair",
    "trees",
]
