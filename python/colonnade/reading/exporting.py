"""Exporting data sets to Parquet, Arrow, CSV and NumPy files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from colonnade import _core
from colonnade.annotations import checked
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import (
    ConversionError,
    Error,
    ResourceError,
    UnsupportedError,
    UsageError,
    refused,
)
from colonnade.floating_point import with_standard_floating_point
from colonnade.misuse import path_text
from colonnade.schema.spec import spec_of
from colonnade.threads import check_threads

from .aside import written_aside
from .dataset import DataSet, Fields
from .elsewhere import file_name, written_elsewhere
from .opening import PathLike
from .opening import open as open_data_set

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMATS", "STORED_AS", "ExportFormat", "export"]

STORED_AS = "colonnade.field"
"""The key of Arrow's metadata under which exported columns say what they were."""

ExportFormat: TypeAlias = Literal["parquet", "arrow", "csv", "npz"]

FORMATS: dict[str, ExportFormat] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".npz": "npz",
}
"""Formats by file name extension."""


@with_standard_floating_point
@checked
def export(
    source: PathLike | tuple[PathLike, str] | Iterable[PathLike] | DataSet,
    destination: PathLike,
    name: str | None = None,
    *,
    columns: Fields = None,
    format: ExportFormat | None = None,  # noqa: A002
    compression: str = "zstd",
    step_size: int | str = "64 MiB",
    overwrite: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Write a data set to a file for other programs.

    Parquet and Arrow files keep nested types, and are written step by step in bounded memory. CSV supports columns of
    numbers and text. In a NumPy file lists are two arrays: `x`, the items of all entries, and `x.offsets`, the
    beginning of each entry's items; of lists in lists also `x.offsets.1`. It is made in memory.

    Args:
        source: the file; file and data set as "f.root:Events" or ("f.root", "Events"); several files, as
            `colonnade.open` takes them; or an open data set.
        destination: the file to write, here or at a URI. It appears when it is complete.
        name: the path of the data set at the source; optional if there is only one.
        columns: names, paths, wildcards; by default all readable fields.
        format: "parquet", "arrow" (the IPC file format), "csv" or "npz"; by default from the extension of
            `destination`.
        compression: of Parquet and Arrow: "zstd", "lz4" or "none".
        step_size: entries, or memory, to hold at a time.
        overwrite: replace an existing file.
        progress: called with the number of entries done, and in total.

    Returns:
        The number of entries written.

    Raises:
        UsageError: an unknown format or compression; or the destination exists, is no file, or is the source.
        UnsupportedError: the format cannot hold a column.
        StorageError: the destination cannot be written.
        ResourceError: memory or threads do not suffice.
    """
    if not isinstance(source, DataSet):
        with open_data_set(source, name) as opened:
            return export(
                opened,
                destination,
                columns=columns,
                format=format,
                compression=compression,
                step_size=step_size,
                overwrite=overwrite,
                progress=progress,
            )
    place = path_text(destination)
    file = file_name(place)
    chosen = format or FORMATS.get(Path(file).suffix.lower())
    if chosen not in _WRITERS:
        raise UsageError(
            f"'{file}' does not say which format to write",
            f"a name that ends in {', '.join(FORMATS)}, or format=",
        )
    if compression not in ("zstd", "lz4", "none"):
        raise UsageError(f"exports can be compressed with zstd, lz4 or none, not {compression!r}")
    report = progress or (lambda done, total: None)
    job = _Job(source, columns, compression, step_size, report)
    with _reported(place), _new_file(place, source.files, overwrite) as path:
        _WRITERS[chosen](job, path)
    return source.num_entries


@contextmanager
def _new_file(place: str, files: Iterable[str], overwrite: bool) -> Iterator[Path]:
    """Provide a path whose file gets its name, or is sent, when it is complete."""
    if any(_core.is_same_place(file, place) for file in files):
        raise UsageError("the destination would replace the source", "another file", uri=place)
    if _core.is_local_file(place):
        path = Path(_core.local_path(place))
        _check_place(path, overwrite)
        with written_aside(path) as aside:
            yield aside
    else:
        with written_elsewhere(place, replace=overwrite) as path:
            yield path


class _Job:
    """The data to export, and the options."""

    def __init__(
        self,
        source: DataSet,
        columns: Fields,
        compression: str,
        step_size: int | str,
        report: Callable[[int, int], object],
    ) -> None:
        self.source, self.columns, self.step_size, self._report = source, columns, step_size, report
        self.compression = None if compression == "none" else compression

    def batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the Arrow schema, with what the fields are here, and the record batches, step by step."""
        import pyarrow as pa

        reader = self.source.to_arrow_reader(self.columns, step_size=self.step_size)
        noted = pa.schema([field.with_metadata(self._note(field)) for field in reader.schema])
        return noted, self._counted(reader)

    def _note(self, field: pa.Field) -> dict[str, str]:
        """What an import needs to make the same field again, and the type to which that belongs; nothing for members of
        collections, which are columns of lists.
        """
        info = self.source.schema[field.name]
        above = info.parent
        while above is not None:
            if above.kind != _core.FieldKind.record:
                return {}
            above = above.parent
        stored = {"type": spec_of(info), "arrow": str(field.type), "description": info.description}
        return {STORED_AS: json.dumps(stored)}

    def _counted(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in reader:
                yield batch
                done += batch.num_rows
                self._report(done, self.source.num_entries)
        except ConversionError as error:
            place = {"uri": error.uri, "data_set": error.data_set, "field": error.field}
            raise ConversionError(error.problem, "columns= without it, or --columns", **place) from error


def _check_place(path: Path, overwrite: bool) -> None:
    """Refuse a place that a file may not be moved to."""
    if not path.exists():
        return
    if not path.is_file():
        raise UsageError("the destination is not a file", "the name of a file", uri=str(path))
    if not overwrite:
        raise UsageError(f"'{path}' already exists", "overwrite=True, or --overwrite")


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """Turn errors of the system into those that name the file."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, Error):
            raise
        raise ResourceError(
            f"there is not enough memory to write '{path}'", "a smaller step_size="
        ) from error
    except OSError as error:
        if isinstance(error, Error):  # of what is read
            raise
        raise refused(error, f"'{path}' cannot be written", path) from error


def _refuse(error: Exception, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} cannot hold these columns: {error}", "columns= without them, or --columns"
    )


def _parquet(job: _Job, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, batches = job.batches()
    variants = [field.name for field in schema if "union<" in str(field.type)]
    if variants:
        raise UnsupportedError(
            f"Parquet has no variants, and these columns have some: {', '.join(variants)}",
            "columns= without them (--columns), or Arrow",
        )
    try:
        options = {"compression": job.compression or "none", "use_dictionary": _without_reals(schema)}
        with pa.OSFile(str(path), "wb") as sink:
            writer = pq.ParquetWriter(sink, schema, **options)
            try:
                for batch in batches:
                    writer.write_batch(batch)
                writer.close()
            finally:
                writer.is_open = False  # its finalizer would close it again, and print that this fails
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise _refuse(error, "Parquet") from error


def _without_reals(schema: pa.Schema) -> list[str]:
    """Parquet's columns but those of real numbers, most of which are different: dictionaries make them larger."""
    import pyarrow.parquet as pq

    empty = io.BytesIO()
    pq.write_table(schema.empty_table(), empty)
    columns = pq.ParquetFile(empty).schema
    return [each.path for each in columns if each.physical_type not in ("FLOAT", "DOUBLE")]


def _arrow(job: _Job, path: Path) -> None:
    import pyarrow as pa

    schema, batches = job.batches()
    options = pa.ipc.IpcWriteOptions(compression=job.compression)
    check_threads(pa.cpu_count() if job.compression else 0)  # pyarrow 26 needs all that it asks for
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _csv(job: _Job, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    schema, batches = job.batches()
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested:
        raise UnsupportedError(
            f"CSV has one value per entry and column, and these columns are nested: {', '.join(nested)}",
            "columns= without them (--columns), or Parquet",
        )
    # A writer that opens the file itself ignores an error of closing.
    with pa.OSFile(str(path), "wb") as sink, csv.CSVWriter(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


_WITHOUT = "columns= without it (--columns), or Parquet"


def _npz(job: _Job, path: Path) -> None:
    import awkward as ak

    arrays: dict[str, Any] = {}
    table = job.source.arrays(job.columns)
    for name in table.fields:
        _flatten(name, ak.to_layout(table[name]), arrays)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _flatten(name: str, layout: Any, into: dict[str, Any], depth: int = 0) -> None:
    """Convert a layout to plain arrays: items and offsets for lists, an array per member for records."""
    import awkward as ak

    if layout.is_numpy:
        _add(name, np.asarray(layout.data), into)
    elif layout.is_record and not layout.is_tuple:
        for member in layout.fields:
            _flatten(f"{name}.{member}", layout.content(member)[: layout.length], into)
    elif layout.is_list and layout.parameter("__array__") in ("string", "bytestring"):
        _add(name, _texts(name, ak.to_list(layout)), into)
    elif layout.is_list:
        packed = layout.to_ListOffsetArray64(True)
        _add(f"{name}.offsets{f'.{depth}' if depth else ''}", np.asarray(packed.offsets.data), into)
        _flatten(name, packed.content[: packed.offsets[-1]], into, depth + 1)
    else:
        raise UnsupportedError(
            f"a NumPy file cannot hold the type of '{name}' ({layout.form.type})",
            _WITHOUT,
        )


def _texts(name: str, texts: list[str]) -> Any:
    """Return texts as an array of NumPy, which drops zeros at the end of them."""
    if any(text.endswith("\0") for text in texts):
        raise UnsupportedError(f"a NumPy file cannot hold texts that end in '\\0', as in '{name}'", _WITHOUT)
    return np.asarray(texts, np.str_)


def _add(name: str, array: Any, into: dict[str, Any]) -> None:
    """Add an array, or the same one again: a member of a column that is exported, too."""
    if name in into and into[name].tobytes() != array.tobytes():
        raise UnsupportedError(f"two arrays of the NumPy file would be named '{name}'", _WITHOUT)
    into[name] = array


_WRITERS: dict[str, Callable[[_Job, Path], None]] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "csv": _csv,
    "npz": _npz,
}
