"""CuPy, nvCOMP and KvikIO for tests: the real ones on machines with a GPU, and stand-ins on others.

Stand-ins compute with NumPy and cramjam, take only calls that CuPy 14, nvCOMP 6 and KvikIO 26 have, and refuse what
those refuse: arrays of the processor among those of the device, blocks at odd addresses. What runs on them is the code
that a GPU would get; that a GPU gets the same results is not shown by them. Awkward takes their arrays for NumPy's, so
its arrays on a device have no stand-in.
"""

from __future__ import annotations

import ctypes
import sys
import types
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import pytest

from colonnade.gpu import backends

_FUNCTIONS = {
    "arange",
    "argmax",
    "ascontiguousarray",
    "concatenate",
    "cumsum",
    "empty",
    "full",
    "isinf",
    "isnan",
    "minimum",
    "rint",
    "searchsorted",
    "uint8",
    "where",
    "zeros",
}


class DeviceArray(np.ndarray):
    """An array that does not mix with those of NumPy."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        """What has the address."""
        return types.SimpleNamespace(ptr=self.ctypes.data)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        given = _unwrapped([*inputs, *options.get("out", ())])
        outs = tuple(given[len(inputs) :])
        if outs:
            options["out"] = outs
        return _wrapped(getattr(ufunc, method)(*given[: len(inputs)], **options))

    def __array_function__(self, function: Any, kinds: Any, arguments: Any, options: Any) -> Any:
        return _wrapped(
            function(*_unwrapped(arguments), **dict(zip(options, _unwrapped(options.values()), strict=True)))
        )

    def __getitem__(self, index: Any) -> Any:
        _unwrapped([index])
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _unwrapped([index, value])
        super().__setitem__(index, value)


def _unwrapped(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            found.append(type(value)(_unwrapped(value)))
        elif isinstance(value, DeviceArray):
            found.append(value.view(np.ndarray))
        elif isinstance(value, np.ndarray) and value.ndim:
            raise TypeError("an array of the processor among those of the device")
        else:
            found.append(value)
    return found


def _wrapped(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_wrapped(each) for each in value)
    return value.view(DeviceArray) if isinstance(value, np.ndarray) else value


class _CopyRanges:
    """The kernel of that name."""

    def __init__(self, code: str, name: str) -> None:
        assert f"void {name}(" in code
        assert name == "copy_ranges"

    def __call__(self, grid: tuple[int, int], block: tuple[int], ranges: tuple[Any, Any, Any]) -> None:
        assert all(isinstance(each, DeviceArray) and each.dtype == "<u8" for each in ranges)
        assert {len(each) for each in ranges} == {grid[0]}
        for source, target, size in zip(*(each.tolist() for each in ranges), strict=True):
            ctypes.memmove(target, source, size)


class _Cupy(types.ModuleType):
    RawKernel = _CopyRanges
    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        get_current_stream=lambda: types.SimpleNamespace(ptr=7, synchronize=lambda: None),
    )

    @staticmethod
    def asarray(array: Any) -> Any:
        return np.array(array).view(DeviceArray)

    @staticmethod
    def asnumpy(array: Any) -> Any:
        assert isinstance(array, DeviceArray)
        return np.array(array.view(np.ndarray))

    def __getattr__(self, name: str) -> Any:
        if name not in _FUNCTIONS:
            raise AttributeError(name)
        function = getattr(np, name)
        if isinstance(function, type):
            return function
        return lambda *arguments, **options: _wrapped(function(*_unwrapped(arguments), **options))


class _Batch:
    def __init__(self, buffer: Any, at: list[int], sizes: list[int]) -> None:
        assert isinstance(buffer, DeviceArray)
        assert all(each % 16 == 0 for each in at)
        self.buffers = [buffer[first : first + size] for first, size in zip(at, sizes, strict=True)]
        self.buffer_sizes = [len(each) for each in self.buffers]


def _inflate(data: bytes, size: int) -> bytes:
    return zlib.decompressobj(-15).decompress(data)


_OPENERS = {
    "Deflate": _inflate,
    "LZ4": lambda data, size: bytes(cramjam.lz4.decompress_block(data, output_len=size)),
    "Zstd": lambda data, size: bytes(cramjam.zstd.decompress(data)),
}


class _Codec:
    def __init__(self, *, algorithm: str, bitstream_kind: str, cuda_stream: int) -> None:
        assert bitstream_kind == "raw"
        assert cuda_stream == 7
        self._open = _OPENERS[algorithm]

    def decode(self, sources: _Batch, out: _Batch) -> _Batch:
        for number, (source, target) in enumerate(zip(sources.buffers, out.buffers, strict=True)):
            try:
                content = self._open(source.tobytes(), len(target))[: len(target)]
            except (zlib.error, cramjam.DecompressionError):
                content = b""
            target[: len(content)] = np.frombuffer(content, np.uint8).view(DeviceArray)
            out.buffer_sizes[number] = len(content)
        return out


class _CuFile:
    def __init__(self, path: str, flags: str) -> None:
        assert flags == "r"
        self._content = Path(path).read_bytes()

    def __enter__(self) -> _CuFile:
        return self

    def __exit__(self, *error: object) -> None:
        del self._content

    def pread(self, buffer: Any, size: int, file_offset: int) -> Any:
        assert isinstance(buffer, DeviceArray)

        def get() -> int:
            content = self._content[file_offset : file_offset + size]
            buffer[: len(content)] = np.frombuffer(content, np.uint8).view(DeviceArray)
            return len(content)

        return types.SimpleNamespace(get=get)


@dataclass
class Device:
    """What tests need to know of a GPU, or of what stands in for it."""

    array: type
    """The type of its arrays."""
    asked: list[str] = field(default_factory=list)
    """The algorithms that nvCOMP was asked for."""

    def recording(self, codec: Any) -> Any:
        """Wrap nvCOMP's `Codec`."""

        def record(**options: Any) -> Any:
            self.asked.append(options["algorithm"])
            return codec(**options)

        return record


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    """A GPU if there is one, else the stand-ins."""
    real = backends.usable_cupy()
    if real is None:
        return _stand_in(monkeypatch)
    nvcomp = backends.library("nvidia.nvcomp")
    device = Device(real.ndarray)
    monkeypatch.setattr(nvcomp, "Codec", device.recording(nvcomp.Codec))
    return device


def _stand_in(monkeypatch: pytest.MonkeyPatch) -> Device:
    device = Device(DeviceArray)
    cupy = _Cupy("cupy")

    def as_arrays(buffer: Any, offsets: list[int], sizes: list[int], cuda_stream: int = 0) -> _Batch:
        return _Batch(buffer, offsets, sizes)

    nvcomp = types.ModuleType("nvidia.nvcomp")
    nvcomp.__dict__.update(
        Codec=device.recording(_Codec), as_arrays=as_arrays, BitstreamKind=types.SimpleNamespace(RAW="raw")
    )
    cupyx, kvikio = types.ModuleType("cupyx"), types.ModuleType("kvikio")
    cupyx.__dict__["empty_pinned"] = np.empty
    kvikio.__dict__["CuFile"] = _CuFile
    nvidia = types.ModuleType("nvidia")
    for module in (cupy, cupyx, nvcomp, kvikio, nvidia):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(backends, "usable_cupy", lambda: cupy)
    return device
