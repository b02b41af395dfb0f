"""Sealed pages: the stored pages of columns, with the information that an external decoder needs."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade._core import FieldKind
from colonnade.errors import StorageError, TypeMismatchError, UnsupportedError
from colonnade.reading.dataset import DataSet, Fields
from colonnade.schema.fields import FieldInfo

from .backends import Backend, BackendName, backend_of, library
from .blocks import BLOCK, find_blocks

__all__ = [
    "BLOCK",
    "PAGE",
    "ColumnKey",
    "SealedCluster",
    "SealedColumn",
    "cluster_numbers",
    "columns_of",
    "read_clusters",
    "reader_of",
    "sealed",
    "single",
    "wanted_fields",
]

PAGE = np.dtype(
    [
        ("offset", "<u8"),
        ("position", "<u8"),
        ("size", "<u8"),
        ("content_size", "<u8"),
        ("first", "<u8"),
        ("elements", "<u4"),
        ("has_checksum", "?"),
        ("is_in_file", "?"),
        ("padding", "<u2"),
    ]
)
"""A page: its position in the file and in its column's data, its sealed and decompressed size (equal if uncompressed),
the index of its first element in the cluster, its number of elements, whether eight bytes of XXH3 follow it, and
whether it is one piece at `offset`."""

ColumnKey = tuple[int, int]
"""The id of a field, and the index of one of its columns."""


@dataclasses.dataclass(frozen=True)
class SealedColumn:
    """The pages of a column in a cluster. A string has two columns: the ends of the texts, and the texts."""

    field: str
    """The path of the field."""
    number: int
    """The index among the columns of the field."""
    column: int
    """The physical column in the cluster."""
    cluster: int
    encoding: _core.ColumnEncoding
    """The type of the column, for example "SplitReal32", with `bits`, `minimum` and `maximum`."""
    compression: int
    """ROOT's number for the writer's setting, algorithm * 100 + level."""
    elements: int
    """The elements in pages, after `leading_zeros` that precede the first page of a deferred column."""
    leading_zeros: int
    pages: NDArray[Any]
    """One `PAGE` each."""
    data: Any
    """The pages: bytes in host memory, page-locked if possible, or in GPU memory."""
    _host: NDArray[np.uint8] | None = dataclasses.field(repr=False)
    """The same bytes in host memory, unless they were read straight to the GPU."""
    _place: _core.SealedColumn = dataclasses.field(repr=False)
    _backend: Backend = dataclasses.field(repr=False)

    @property
    def content_size(self) -> int:
        """The decompressed size of all pages in bytes."""
        return self._place.content_size

    @cached_property
    def blocks(self) -> NDArray[Any]:
        """The compression blocks of the pages, one `BLOCK` each.

        Raises:
            FormatError: they are damaged.
        """
        return find_blocks(self)

    @cached_property
    def checksums(self) -> NDArray[np.uint64]:
        """The checksums of the pages, 0 if there is none."""
        sums = np.zeros(len(self.pages), "<u8")
        summed = np.flatnonzero(self.pages["has_checksum"])
        found = self.bytes_at((self.pages["position"] + self.pages["size"])[summed], 8)
        sums[summed] = np.ascontiguousarray(found).view("<u8").reshape(-1)
        return sums

    def host(self) -> NDArray[np.uint8]:
        """Return `data` in host memory."""
        return self._backend.to_host(self.data) if self._host is None else self._host

    def bytes_at(self, positions: NDArray[Any], count: int) -> NDArray[np.uint8]:
        """Return `count` bytes of `data` from each position, as rows in host memory."""
        index = positions[:, None].astype("<i8") + np.arange(count)
        if self._host is not None:
            return np.asarray(self._host[index])
        return self._backend.to_host(self.data[self._backend.from_host(index)])


@dataclasses.dataclass(frozen=True)
class SealedCluster:
    """The columns of a cluster."""

    number: int
    first_entry: int
    entries: int
    columns: tuple[SealedColumn, ...]


def sealed(
    data_set: DataSet,
    fields: Fields = None,
    *,
    clusters: Sequence[int] | None = None,
    backend: BackendName = "cupy",
    direct: bool = False,
) -> Iterator[SealedCluster]:
    """Read the stored pages of fields, cluster by cluster.

    The processor verifies the checksums of pages, unless the data set was opened with `checksums=False`.

    Args:
        data_set: a data set in one file.
        fields: see `DataSet.arrays`; includes the columns of the enclosing collections.
        clusters: their numbers; all if None.
        backend: where the data are: "cupy" for GPU memory, "numpy" for host memory, page-locked if CuPy and a GPU are
            available.
        direct: read straight to GPU memory with KvikIO: local files only.

    Yields:
        The clusters, in the requested order.

    Raises:
        UnsupportedError: CuPy, KvikIO or a GPU is missing; or a chain or a TTree.
        ChecksumError, FormatError: the file is damaged.
    """
    place = backend_of(backend, direct=direct)
    source = single(data_set)
    wanted = wanted_fields(source._select(fields).values())
    return read_clusters(source, columns_of(wanted), cluster_numbers(source, clusters), place, direct)


def read_clusters(
    data_set: DataSet,
    columns: dict[ColumnKey, FieldInfo],
    clusters: Sequence[int],
    backend: Backend,
    direct: bool,
) -> Iterator[SealedCluster]:
    """Read columns of clusters; see `sealed`."""
    reader = reader_of(data_set)
    described = reader.descriptor.clusters
    for number in clusters:
        cluster = described[number]
        first, entries = cluster.first_entry, cluster.entries
        places = {key: reader.sealed_column(*key, number) for key in columns}
        # Projected fields use the columns of others.
        distinct = {place.column: place for place in places.values()}
        read = _read_direct if direct else _read
        data = dict(zip(distinct, read(data_set, list(distinct.values()), backend), strict=True))
        yield SealedCluster(
            number,
            first,
            entries,
            tuple(
                _column(info, key[1], places[key], data[places[key].column], backend)
                for key, info in columns.items()
            ),
        )


def wanted_fields(infos: Iterable[FieldInfo]) -> dict[int, FieldInfo]:
    """Return the fields needed to read these: the enclosing ones, and readable ones below."""
    wanted: dict[int, FieldInfo] = {}
    for info in infos:
        above = info.parent
        while above is not None:
            wanted[above.id] = above
            above = above.parent
        wanted.update(_readable(info))
    return wanted


def _readable(info: FieldInfo) -> dict[int, FieldInfo]:
    if info.unreadable:
        return {}
    found = {info.id: info}
    for child in info.children:
        found.update(_readable(child))
    return found


def columns_of(wanted: dict[int, FieldInfo]) -> dict[ColumnKey, FieldInfo]:
    """Return the columns from which fields are read."""
    return {
        (number, k): wanted[number]
        for number in sorted(wanted)
        if wanted[number].columns
        for k in range(2 if wanted[number].kind == FieldKind.string else 1)
    }


def single(data_set: DataSet) -> DataSet:
    """Return the data set, which must be an RNTuple in one file.

    Raises:
        TypeMismatchError: it is not a data set.
        UnsupportedError: it is another data set.
    """
    if not isinstance(data_set, DataSet):
        raise TypeMismatchError(f"{data_set!r} is not a data set", "what colonnade.open gives")
    if type(data_set) is not DataSet:
        raise UnsupportedError(
            "only a data set in one file has sealed pages, not a chain or a TTree",
            "colonnade.open of one file after the other",
            uri=data_set.uri,
            data_set=data_set.name,
        )
    return data_set


def reader_of(data_set: DataSet) -> _core.Reader:
    """Return the reader of the data set."""
    reader = single(data_set)._open_reader()
    assert isinstance(reader, _core.Reader)
    return reader


def cluster_numbers(data_set: DataSet, clusters: Sequence[int] | None) -> list[int]:
    """Return the numbers of clusters; all if None.

    Raises:
        UsageError: there is no such cluster.
        TypeMismatchError: they are not numbers.
    """
    count = len(reader_of(data_set).descriptor.clusters)
    try:
        numbers = list(range(count)) if clusters is None else [operator.index(number) for number in clusters]
    except TypeError:
        raise TypeMismatchError(f"clusters={clusters!r} is not a list of numbers", "[0, 1]") from None
    for number in numbers:
        if not 0 <= number < count:
            raise data_set._misuse(f"there is no cluster {number}", f"0 to {count - 1}" if count else "")
    return numbers


# ---- Inside


_Read = tuple[Any, NDArray[np.uint8] | None]
"""The pages of a column where they were asked for, and in host memory unless they were read straight to the GPU."""


def _column(
    info: FieldInfo, number: int, place: _core.SealedColumn, data: _Read, backend: Backend
) -> SealedColumn:
    return SealedColumn(
        info.path,
        number,
        place.column,
        place.cluster,
        place.encoding,
        place.compression,
        place.elements,
        place.leading_zeros,
        place.places.view(PAGE),
        *data,
        place,
        backend,
    )


def _read(data_set: DataSet, places: list[_core.SealedColumn], backend: Backend) -> list[_Read]:
    buffers = [backend.buffer(place.size) for place in places]
    reader_of(data_set).read_sealed(places, buffers)
    return [(backend.from_host(buffer), buffer) for buffer in buffers]


def _read_direct(data_set: DataSet, places: list[_core.SealedColumn], backend: Backend) -> list[_Read]:
    """Reads pages straight to GPU memory, and copies them to the host to verify their checksums."""
    kvikio = library("kvikio")
    # KvikIO does not wait for the current stream, whose work may still use memory that is given out here again.
    backend.xp.cuda.get_current_stream().synchronize()
    buffers = [backend.xp.empty(place.size, np.uint8) for place in places]
    reads: list[tuple[_core.SealedColumn, Callable[[], int], int]] = []
    with kvikio.CuFile(_core.local_path(data_set.uri), "r") as file:
        for place, buffer in zip(places, buffers, strict=True):
            pages = place.places.view(PAGE)
            if not pages["is_in_file"].all():
                raise UnsupportedError(
                    "not every page is contiguous in the file", "direct=False", uri=data_set.uri
                )
            for page in pages:
                at, size = int(page["position"]), int(page["size"]) + 8 * int(page["has_checksum"])
                future = file.pread(buffer[at : at + size], size, int(page["offset"]))
                reads.append((place, future.get, size))
        for place, get, size in reads:
            given = get()
            if given != size:
                raise StorageError(
                    f"KvikIO read {given} bytes of {size}",
                    "check that the file was transferred completely",
                    uri=data_set.uri,
                    column=place.column,
                    cluster=place.cluster,
                )
    if data_set._settings["checksums"]:
        for place, buffer in zip(places, buffers, strict=True):
            reader_of(data_set).verify_sealed(place, backend.to_host(buffer))
    return [(buffer, None) for buffer in buffers]
