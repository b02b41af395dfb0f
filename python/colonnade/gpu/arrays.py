"""Fields of clusters as arrays in GPU memory or, by the same code, in host memory.

It follows `columnar_reader.cpp`: ranges of elements, one per cluster, descend the schema; a collection maps its ranges
to ranges of its items. The ends of collections count from the beginning of their cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from colonnade._core import ArrayRole, ElementType, FieldKind
from colonnade.arrays.awkward import AwkwardBuilder, zip_fields
from colonnade.arrays.forms import Assembler
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import Error, FormatError, locate
from colonnade.reading.dataset import DataSet, Fields
from colonnade.schema.fields import FieldInfo

from .backends import Backend, BackendName, backend_of
from .blocks import can_decompress, decompress
from .decoding import convert, decode, require_readable
from .pages import (
    ColumnKey,
    SealedCluster,
    SealedColumn,
    cluster_numbers,
    columns_of,
    read_clusters,
    reader_of,
    single,
    wanted_fields,
)

__all__ = ["FlatField", "arrays", "flat_arrays"]

_AT_ONCE = 1 << 29
"""Bytes of contents that a GPU decompresses together, if clusters are smaller; it needs them three times meanwhile."""

_COUNTED = (FieldKind.collection, FieldKind.nullable, FieldKind.cardinality, FieldKind.string)
_COLUMNS = {**dict.fromkeys(_COUNTED, ElementType.index), FieldKind.variant: ElementType.switch}


class FlatField(NamedTuple):
    """The arrays of a field; None for those that it lacks. They implement `__dlpack__`, for PyTorch and JAX."""

    values: Any = None
    """Numbers; for a string its characters."""
    offsets: Any = None
    """Item i of a collection, or text i, spans offsets[i] to offsets[i + 1]; a missing value spans nothing."""
    tags: Any = None
    """The alternative of a variant: 1 for the first one, 0 for no value."""


def arrays(
    data_set: DataSet,
    fields: Fields = None,
    *,
    clusters: Sequence[int] | None = None,
    backend: BackendName = "cupy",
    direct: bool = False,
) -> ak.Array:
    """Read fields as an Awkward array with the backend "cuda", or "cpu" for backend="numpy".

    Args:
        data_set: a data set in one file.
        fields: see `DataSet.arrays`.
        clusters: the numbers of the clusters to read; all if None.
        backend: "cupy" decodes on the GPU, "numpy" runs the same operations on the processor.
        direct: read straight to GPU memory; see `sealed`.

    Returns:
        The result of `DataSet.arrays` for the entries of these clusters.

    Raises:
        UnsupportedError: CuPy, KvikIO or a GPU is missing; or a chain or a TTree.
        ChecksumError, FormatError: the file is damaged.
    """
    walk = _read(data_set, fields, clusters, backend, direct)
    kind = "cpu" if backend == "numpy" else "cuda"
    assembler = Assembler(walk.found, AwkwardBuilder(kind))
    layouts = {
        name: _located(data_set, info, lambda info=info: assembler.field(info, walk.entries))
        for name, info in walk.selected.items()
    }
    return zip_fields(layouts, walk.entries, kind)


def flat_arrays(
    data_set: DataSet,
    fields: Fields = None,
    *,
    clusters: Sequence[int] | None = None,
    backend: BackendName = "cupy",
    direct: bool = False,
) -> dict[str, FlatField]:
    """Read fields as flat arrays of CuPy, or of NumPy for backend="numpy".

    Args:
        data_set: a data set in one file.
        fields: see `DataSet.arrays`.
        clusters: see `arrays`.
        backend: see `arrays`.
        direct: see `arrays`.

    Returns:
        The arrays of the fields, of their sub-fields and of the enclosing collections, by stored path: "jets" has the
        offsets, "jets._0.pt" the values.

    Raises:
        UnsupportedError: CuPy, KvikIO or a GPU is missing; or a chain or a TTree.
        ChecksumError, FormatError: the file is damaged.
    """
    walk = _read(data_set, fields, clusters, backend, direct)
    flat: dict[str, FlatField] = {}
    for number, role, array in walk.found:
        path = walk.infos[number].path
        flat[path] = flat.get(path, FlatField())._replace(**{role.name: array})
    return flat


# ---- Inside

_Ranges: TypeAlias = list[tuple[int, int]]
"""Elements of a field, one range per cluster."""
_Elements: TypeAlias = tuple[ElementType, Any]
"""The target type of a column's elements, and their array; two arrays for variants."""


def _read(
    data_set: DataSet, fields: Fields, clusters: Sequence[int] | None, backend: BackendName, direct: bool
) -> _Walk:
    place = backend_of(backend, direct=direct)
    selected = single(data_set)._select(fields)
    wanted = wanted_fields(selected.values())
    columns = columns_of(wanted)
    numbers = cluster_numbers(data_set, clusters)
    walk = _Walk(data_set, place.xp, selected, wanted)
    for group in _groups(read_clusters(data_set, columns, numbers, place, direct), place):
        for cluster, decoded in zip(group, _decoded(data_set, group, list(columns), place), strict=True):
            walk.add(cluster, decoded)
    walk.run(place)
    return walk


def _groups(clusters: Iterable[SealedCluster], backend: Backend) -> Iterator[list[SealedCluster]]:
    """The clusters that are decoded together."""
    group: list[SealedCluster] = []
    held = 0
    for cluster in clusters:
        group.append(cluster)
        held += sum(column.content_size for column in cluster.columns)
        if backend.name == "numpy" or held >= _AT_ONCE:
            yield group
            group, held = [], 0
    if group:
        yield group


def _decoded(
    data_set: DataSet, group: list[SealedCluster], keys: list[ColumnKey], backend: Backend
) -> Iterator[dict[ColumnKey, _Elements]]:
    """The elements of the columns, by cluster; a physical column used by several fields is decoded once."""
    distinct = [{column.column: column for column in cluster.columns} for cluster in group]
    contents = iter(_contents(data_set, [column for each in distinct for column in each.values()], backend))
    for cluster, columns in zip(group, distinct, strict=True):
        known = {number: _elements(column, next(contents), backend) for number, column in columns.items()}
        yield {
            key: (column._place.element, known[column.column])
            for key, column in zip(keys, cluster.columns, strict=True)
        }


def _elements(column: SealedColumn, content: Any, backend: Backend) -> Any:
    require_readable(column.encoding.type, column._place.element)
    elements = decode(backend.xp, column.encoding, content, column.pages["elements"])
    if not column.leading_zeros:
        return elements
    if isinstance(elements, tuple):
        return tuple(_after_zeros(backend.xp, column.leading_zeros, part) for part in elements)
    return _after_zeros(backend.xp, column.leading_zeros, elements)


def _after_zeros(xp: Any, zeros: int, elements: Any) -> Any:
    return xp.concatenate([xp.zeros(zeros, elements.dtype), elements])


def _contents(data_set: DataSet, columns: list[SealedColumn], backend: Backend) -> Iterator[Any]:
    """The decompressed pages: by nvCOMP if it supports them and what it gets is verified, else by the processor.

    A damaged block can keep nvCOMP busy for minutes. `checksums=False` says that the data set is trusted.
    """
    trusted = not data_set._settings["checksums"]

    def fits_device(column: SealedColumn) -> bool:
        is_sound = trusted or column.pages["has_checksum"].all()
        return backend.name == "cupy" and bool(is_sound) and can_decompress(column.blocks)

    by_device = [fits_device(column) for column in columns]
    decompressed = iter(
        decompress(backend, [column for column, on in zip(columns, by_device, strict=True) if on])
    )
    for column, on in zip(columns, by_device, strict=True):
        if on:
            yield next(decompressed)
            continue
        content = np.empty(column.content_size, np.uint8)
        reader_of(data_set).decompress_sealed(column._place, column.host(), content)
        yield backend.from_host(content)


def _located(data_set: DataSet, info: FieldInfo, work: Any) -> Any:
    try:
        return work()
    except Error as error:
        raise locate(error, uri=data_set.uri, data_set=data_set.name, field=info.path) from error.__cause__


class _Walk:
    """Converts the elements of clusters to the arrays of fields."""

    def __init__(
        self, data_set: DataSet, xp: Any, selected: dict[str, FieldInfo], wanted: dict[int, FieldInfo]
    ) -> None:
        self.selected, self.infos = selected, wanted
        self.found: list[tuple[int, ArrayRole, Any]] = []
        self.entries = 0
        self._data_set, self._xp = data_set, xp
        self._clusters: list[SealedCluster] = []
        self._decoded: list[dict[ColumnKey, _Elements]] = []

    def add(self, cluster: SealedCluster, decoded: dict[ColumnKey, _Elements]) -> None:
        """Append the elements of a cluster."""
        self._clusters.append(replace(cluster, columns=()))
        self._decoded.append(decoded)
        self.entries += cluster.entries

    def run(self, backend: Backend) -> None:
        """Make the arrays."""
        if not self._clusters:  # the reader knows their types
            paths = [info.path for info in self.selected.values()]
            empty = reader_of(self._data_set).arrays(paths, 0, 0) if paths else []
            self.found = [(number, role, backend.from_host(array)) for number, role, array in empty]
            return
        for info in self._data_set.schema.values():
            self._add(info, [(0, cluster.entries) for cluster in self._clusters])

    def _add(self, info: FieldInfo, ranges: _Ranges) -> None:
        """Add the arrays of a field and its sub-fields."""
        if info.id not in self.infos:
            return
        for child, inner in _located(self._data_set, info, lambda: self._read(info, ranges)):
            self._add(child, inner)

    def _read(self, info: FieldInfo, ranges: _Ranges) -> list[tuple[FieldInfo, _Ranges]]:
        if info.kind in _COUNTED:
            items = self._offsets(info, ranges)
            if info.kind == FieldKind.string:
                self._values(info, 1, items)
            return [(child, items) for child in info.children]
        if info.kind == FieldKind.variant:
            return list(zip(info.children, self._variant(info, ranges), strict=True))
        scaled = [(begin * max(info.size, 1), end * max(info.size, 1)) for begin, end in ranges]
        if not info.columns:
            return [(child, scaled) for child in info.children]
        self._values(info, 0, scaled)
        return []

    def _values(self, info: FieldInfo, k: int, ranges: _Ranges) -> None:
        parts = [
            convert(self._xp, array[begin:end], element)
            for element, array, begin, end in self._parts(info, k, ranges, "elements")
        ]
        self.found.append((info.id, ArrayRole.values, self._joined(parts)))

    def _offsets(self, info: FieldInfo, ranges: _Ranges) -> _Ranges:
        xp = self._xp
        parts, items, base = [xp.zeros(1, "<i8")], [], 0
        for (_, array, first, last), cluster in zip(
            self._parts(info, 0, ranges, "collections"), self._clusters, strict=True
        ):
            if first == last:
                items.append((0, 0))
                continue
            begin = int(array[first - 1]) if first else 0
            ends = array[first:last]
            self._require_ends(begin, ends, (1 << 62) - base, cluster)
            end = int(ends[-1])
            parts.append(ends.astype("<i8") + (base - begin))
            items.append((begin, end))
            base += end - begin
        self.found.append((info.id, ArrayRole.offsets, xp.concatenate(parts)))
        return items

    def _require_ends(self, begin: int, ends: Any, most: int, cluster: SealedCluster) -> None:
        xp = self._xp
        before = xp.concatenate([xp.full(1, begin, ends.dtype), ends[:-1]])
        if bool((ends < before).any()):
            at = int(xp.argmax(ends < before))
            problem = f"a collection ends at {int(ends[at])} before it starts at {int(before[at])}"
            raise FormatError(problem, cluster=cluster.number)
        if int(ends[-1]) > most:
            problem = f"a collection ends at item {int(ends[-1])}, but the cluster has {most}"
            raise FormatError(problem, cluster=cluster.number)

    def _variant(self, info: FieldInfo, ranges: _Ranges) -> list[_Ranges]:
        parts: list[Any] = []
        below: list[_Ranges] = [[] for _ in info.children]
        for (_, (indices, tags), first, last), cluster in zip(
            self._parts(info, 0, ranges, "variants"), self._clusters, strict=True
        ):
            index, tag = indices[first:last], tags[first:last]
            if len(tag) and int(tag.max()) > len(info.children):
                problem = (
                    f"a variant has the tag {int(tag.max())}, but there are {len(info.children)} alternatives"
                )
                raise FormatError(problem, cluster=cluster.number)
            parts.append(tag.astype("<i4"))
            for number, items in enumerate(below):
                items.append(self._alternative(index[tag == number + 1], cluster))
        self.found.append((info.id, ArrayRole.tags, self._joined(parts)))
        return below

    def _alternative(self, index: Any, cluster: SealedCluster) -> tuple[int, int]:
        """The values of an alternative are stored in the order of the variants that hold them."""
        if not len(index):
            return 0, 0
        first = int(index[0])
        expected = self._xp.arange(len(index), dtype="<u8") + np.uint64(first)
        wrong = index != expected
        if bool(wrong.any()):
            at = int(self._xp.argmax(wrong))
            problem = f"a variant points to value {int(index[at])} of its alternative instead of {first + at}"
            raise FormatError(problem, cluster=cluster.number)
        return first, first + len(index)

    def _parts(
        self, info: FieldInfo, k: int, ranges: _Ranges, what: str
    ) -> list[tuple[ElementType, Any, int, int]]:
        parts = []
        for cluster, decoded, (begin, end) in zip(self._clusters, self._decoded, ranges, strict=True):
            element, array = decoded[info.id, k]
            if info.kind in _COLUMNS and k == 0 and element != _COLUMNS[info.kind]:
                raise FormatError(f"the type '{info.type}' does not fit what is stored")
            there = len(array[0]) if isinstance(array, tuple) else len(array)
            if end > there:
                raise FormatError(
                    f"{what} up to {end} are needed, but the cluster has {there}", cluster=cluster.number
                )
            parts.append((element, array, begin, end))
        return parts

    def _joined(self, parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else self._xp.concatenate(parts)
