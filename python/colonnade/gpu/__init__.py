"""Sealed pages for accelerators, and decoding there.

from colonnade import gpu

events = gpu.arrays(data_set, ["met", "jets.pt"])                 # an Awkward array in the memory of the GPU
pages = gpu.sealed(data_set, ["met"], backend="numpy")            # the pages as they are stored, by cluster

With backend="numpy" the same code runs on the processor.
"""

from .arrays import FlatField, arrays, flat_arrays
from .backends import BackendName
from .pages import BLOCK, PAGE, SealedCluster, SealedColumn, sealed

__all__ = [
    "BLOCK",
    "PAGE",
    "BackendName",
    "FlatField",
    "SealedCluster",
    "SealedColumn",
    "arrays",
    "flat_arrays",
    "sealed",
]
