"""Array libraries: NumPy in host memory, or CuPy in GPU memory.

Decoding uses functions that both libraries have, and gets the library as `xp`.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import UnsupportedError, UsageError

__all__ = ["Backend", "BackendName", "backend_of", "library", "usable_cupy"]

BackendName: TypeAlias = Literal["cupy", "numpy"]

_PACKAGES = {
    "cupy": "CuPy, as 'pip install cupy-cuda13x', or cupy-cuda12x for CUDA 12",
    "nvidia.nvcomp": "nvCOMP, as 'pip install nvidia-nvcomp-cu13', or nvidia-nvcomp-cu12 for CUDA 12",
    "kvikio": "KvikIO, as 'pip install kvikio-cu13', or kvikio-cu12 for CUDA 12",
}


@dataclass(frozen=True)
class Backend:
    """An array library, and copies between its memory and the host's."""

    name: BackendName
    xp: Any

    def from_host(self, array: NDArray[Any]) -> Any:
        """Return the library's array with these values; for NumPy it is the same one."""
        return self.xp.asarray(array)

    def to_host(self, array: Any) -> NDArray[Any]:
        """Return a NumPy array with these values."""
        return np.asarray(array if self.xp is np else self.xp.asnumpy(array))

    def buffer(self, size: int) -> NDArray[np.uint8]:
        """Make a buffer in host memory, page-locked if CuPy and a GPU are available."""
        cupy = self.xp if self.xp is not np else usable_cupy()
        if cupy is None or size == 0:
            return np.empty(size, np.uint8)
        buffer: NDArray[np.uint8] = importlib.import_module("cupyx").empty_pinned(size, np.uint8)
        return buffer


def backend_of(name: BackendName, *, direct: bool = False) -> Backend:
    """Return the backend of this name.

    Args:
        name: "cupy" or "numpy".
        direct: true if it must support direct reading.

    Raises:
        UsageError: no such backend, or one without direct reading.
        UnsupportedError: CuPy is not installed, or finds no GPU.
    """
    if direct and name != "cupy":
        raise UsageError("direct reading needs the memory of a GPU", "backend='cupy'")
    if name == "numpy":
        return Backend("numpy", np)
    if name not in get_args(BackendName):
        raise UsageError(f"unknown backend '{name}'", "one of 'cupy', 'numpy'")
    cupy = library("cupy")
    if not cupy.cuda.is_available():
        raise UnsupportedError("CuPy finds no GPU with a driver that suits it", "backend='numpy'")
    return Backend("cupy", cupy)


def library(name: str) -> Any:
    """Import a library of the GPU.

    Raises:
        UnsupportedError: it is not installed, or does not load; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise UnsupportedError(
            f"{_PACKAGES[name].partition(',')[0]} is not available ({error})",
            f"install {_PACKAGES[name]}; backend='numpy' needs no GPU",
        ) from error


def usable_cupy() -> Any:
    """Return CuPy if it is installed and finds a GPU, else None."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        return backend_of("cupy").xp
    except UnsupportedError:
        return None
