"""Where arrays are: in the memory of the processor (NumPy) or of the GPU (CuPy).

What decodes is written against the functions that both libraries have, and gets the library as `xp`.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import UnsupportedError, UsageError

__all__ = ["Backend", "BackendName", "backend_of", "library"]

BackendName: TypeAlias = Literal["cupy", "numpy"]

_PACKAGES = {
    "cupy": "CuPy, as 'pip install cupy-cuda12x'",
    "nvidia.nvcomp": "nvCOMP, as 'pip install nvidia-nvcomp-cu12'",
    "kvikio": "KvikIO, as 'pip install kvikio-cu12'",
}


@dataclass(frozen=True)
class Backend:
    """An array library and the moves between its memory and that of the processor."""

    name: BackendName
    xp: Any

    def from_host(self, array: NDArray[Any]) -> Any:
        """Give the library's array with these values; NumPy's is the same one."""
        return self.xp.asarray(array)

    def to_host(self, array: Any) -> NDArray[Any]:
        """Give a NumPy array with these values."""
        return np.asarray(array if self.xp is np else self.xp.asnumpy(array))

    def buffer(self, size: int) -> NDArray[np.uint8]:
        """Make a buffer in the memory of the processor, page-locked where CuPy and a GPU are there."""
        cupy = self.xp if self.xp is not np else _usable_cupy()
        if cupy is None or size == 0:
            return np.empty(size, np.uint8)
        buffer: NDArray[np.uint8] = importlib.import_module("cupyx").empty_pinned(size, np.uint8)
        return buffer


def backend_of(name: BackendName, *, direct: bool = False) -> Backend:
    """Return the backend of this name.

    Args:
        name: "cupy" or "numpy".
        direct: it is to be read to directly.

    Raises:
        UsageError: no such backend, or none that can be read to directly.
        UnsupportedError: CuPy is not installed, or finds no GPU.
    """
    if direct and name != "cupy":
        raise UsageError("direct reading is for the memory of a GPU", "backend='cupy'")
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
        UnsupportedError: it is not installed, or does not load; the message says how to get it.
    """
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise UnsupportedError(
            f"{_PACKAGES[name].partition(',')[0]} is not there ({error})",
            f"install {_PACKAGES[name]}; backend='numpy' needs no GPU",
        ) from error


def _usable_cupy() -> Any:
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        return backend_of("cupy").xp
    except UnsupportedError:
        return None
