"""Data sets being written."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, TypeAlias

from . import _core
from .columns import PathArray, flatten, members_problem
from .errors import Error, SchemaError, TypeMismatchError, UsageError, locate
from .opening import PathLike, split_target
from .rows import Rows
from .sources import Batch, to_batch
from .spec import Encoding, Spec, apply_encodings, build_field, infer
from .steps import parse_size

__all__ = ["DataSetWriter", "create"]

Size: TypeAlias = int | str
"""Bytes, or a text as "128 MiB"."""

_ROWS_HELD = 4096


class DataSetWriter:
    """A data set being written. Made by `colonnade.create`.

    Used as a context manager it commits at the end of the block; if the block is left by an exception, only what was
    committed before stays. Without, `close` must be called. Several threads may use one writer; their calls take turns.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        schema: Mapping[str, Spec] | None,
        options: _core.WriteOptions,
        *,
        add: bool = False,
        encodings: Mapping[str, Encoding] | None = None,
        field_descriptions: Mapping[str, str] | None = None,
    ) -> None:
        self._uri, self._name, self._options, self._add = uri, name, options, add
        self._encodings = dict(encodings or {})
        self._descriptions = dict(field_descriptions or {})
        self._fields: dict[str, _core.Field] = {}
        self._projections: list[tuple[_core.Field, dict[str, str]]] = []
        self._writer: _core.Writer | None = None
        self._rows: Rows | None = None
        self._closed = False
        if schema is not None:
            self._start(schema)

    # ---- What it is

    @property
    def uri(self) -> str:
        """The file."""
        return self._uri

    @property
    def name(self) -> str:
        """The path of the data set in the file."""
        return self._name

    @property
    def num_entries(self) -> int:
        """Number of entries that were given so far."""
        written = self._writer.num_entries if self._writer else 0
        return written + (len(self._rows) if self._rows else 0)

    @property
    def field_names(self) -> list[str]:
        """Names of the fields, empty as long as the schema is not known."""
        return list(self._fields)

    # ---- Writing

    def extend(self, data: Any) -> None:
        """Add entries as whole arrays.

        Args:
            data: one value per entry and field, as a dictionary of arrays (NumPy, Awkward, Arrow, lists), an Awkward
                array of records, an Arrow table or anything that gives an Arrow stream, or a pandas data frame. The
                first one fixes the schema if `create` was not given any.

        Raises:
            TypeMismatchError: fields are missing or too many, or values are of another type. Nothing is written then.
            ConversionError: a value does not fit its type. Nothing is written then.
            UsageError: the arrays have different lengths. Nothing is written then.
        """
        self._check_open()
        self._guard(lambda: self._extend(to_batch(data)))

    def _extend(self, batch: Batch) -> None:
        if self._writer is None:
            self._start(
                {name: infer(column, name, loose=batch.loose) for name, column in batch.columns.items()}
            )
        missing = [name for name in self._fields if name not in batch.columns]
        extra = [name for name in batch.columns if name not in self._fields]
        if missing or extra:
            raise TypeMismatchError(members_problem("fields", missing, extra))
        arrays: list[PathArray] = []
        for name, field in self._fields.items():
            arrays += flatten(field, batch.columns[name])
        self._flush_rows()
        if batch.entries:
            self._started().append(arrays)

    def fill(self, **values: Any) -> None:
        """Add one entry, a value for each field; entries are collected and written together.

        Raises:
            TypeMismatchError: a field is missing or unknown, or a value is of another type. The entry is not added.
            ConversionError: a value does not fit its type. The entry is not added.
        """
        self._check_open()
        self._guard(lambda: self._fill(values))

    def _fill(self, values: dict[str, Any]) -> None:
        if self._writer is None:
            batch = to_batch([values])
            self._start({name: infer(column, name) for name, column in batch.columns.items()})
        if self._rows is None:
            self._rows = Rows(self._fields)
        self._rows.add(values)
        if len(self._rows) >= _ROWS_HELD:
            self._flush_rows()

    def extend_schema(self, fields: Mapping[str, Spec]) -> None:
        """Add fields to the schema. Entries that are there already read as zero or empty.

        Raises:
            SchemaError: no such type, or a field of that name exists.
        """
        self._check_open()
        self._guard(lambda: self._extend_schema(fields))

    def _extend_schema(self, fields: Mapping[str, Spec]) -> None:
        built = self._build(fields)
        for name in built:
            if name in self._fields:
                raise SchemaError(f"there is a field '{name}' already", "another name", field=name)
        if self._writer is None:
            raise UsageError("the schema is not known yet", "extend() or give a schema to create() first")
        self._flush_rows()
        for name, field in built.items():
            self._writer.extend(field)
            self._fields[name] = field
        self._rows = None

    def add_projected(self, name: str, type_name: Spec, sources: str | Mapping[str, str]) -> None:
        """Add a field that shows the columns of others under another name or shape; it is not filled.

        Args:
            name: of the new field.
            type_name: its type, for instance "std::vector<float>".
            sources: the path of the field that it shows, or a mapping from the paths of the new field and its
                sub-fields to such paths: {"jet_pt": "jets", "jet_pt._0": "jets._0.pt"}.

        Raises:
            SchemaError: the types do not fit each other.
        """
        self._check_open()
        given = {name: sources} if isinstance(sources, str) else dict(sources)
        field = build_field(name, type_name)
        if self._writer is None:
            self._projections.append((field, given))
        else:
            self._guard(lambda: self._started().extend_projected(field, given))

    def commit_cluster(self) -> None:
        """End the cluster here and write it."""
        self._check_open()
        self._flush_rows()
        if self._writer is not None:
            self._guard(self._writer.commit_cluster)

    def commit(self) -> None:
        """Write everything so far, so that the file can be opened, and go on."""
        self._check_open()
        self._flush_rows()
        if self._writer is not None:
            self._guard(self._writer.commit_data_set)

    # ---- Life

    def close(self) -> None:
        """Commit and close; does nothing if closed already."""
        if self._closed:
            return
        if self._writer is None:
            self._guard(lambda: self._start({}))
        self._flush_rows()
        self._closed = True
        self._guard(self._started().close)

    def abort(self) -> None:
        """Close without committing: the file keeps what was committed before."""
        self._closed = True
        self._rows = None
        if self._writer is not None:
            self._writer.abandon()

    def __enter__(self) -> DataSetWriter:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._writer is not None:
            warnings.warn(
                f"{self!r} was never closed; what was not committed is lost", ResourceWarning, stacklevel=2
            )
            self.abort()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        count = len(self._fields)
        return f"<DataSetWriter '{self._name}' in '{self._uri}': {self.num_entries} entries, {count} fields, {state}>"

    # ---- Inside

    def _build(self, schema: Mapping[str, Spec]) -> dict[str, _core.Field]:
        fields = {name: build_field(name, spec) for name, spec in schema.items()}
        chosen = {path: e for path, e in self._encodings.items() if path.partition(".")[0] in fields}
        apply_encodings(fields, chosen)
        for name, field in fields.items():
            field.description = self._descriptions.get(name, "")
        return fields

    def _start(self, schema: Mapping[str, Spec]) -> None:
        fields = self._build(schema)
        unknown = [
            name for name in [*self._encodings, *self._descriptions] if name.partition(".")[0] not in fields
        ]
        if unknown and schema:
            raise UsageError(
                f"encodings or descriptions are given for {', '.join(unknown)}, which are no fields"
            )
        self._writer = _core.make_writer(
            self._uri, self._name, list(fields.values()), self._projections, self._options, self._add
        )
        self._fields = fields

    def _started(self) -> _core.Writer:
        if self._writer is None:
            raise UsageError("the schema is not known yet", "give one to create()")
        return self._writer

    def _flush_rows(self) -> None:
        if self._rows is not None and len(self._rows):
            arrays = self._rows.take()
            self._guard(lambda: self._started().append(arrays))

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the writer is closed", uri=self._uri, data_set=self._name)

    def _guard(self, work: Any) -> None:
        try:
            work()
        except Error as error:
            raise locate(error, uri=self._uri, data_set=self._name) from error.__cause__


def create(
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    schema: Mapping[str, Spec] | None = None,
    *,
    mode: Literal["recreate", "update"] = "recreate",
    append: bool = False,
    compression: str | int = "zstd:5",
    encodings: Mapping[str, Encoding] | None = None,
    description: str = "",
    field_descriptions: Mapping[str, str] | None = None,
    container: Literal["root", "bare"] = "root",
    cluster_size: Size = "128 MiB",
    max_cluster_size: Size | None = None,
    page_size: Size = "1 MiB",
    initial_page_size: Size = 256,
    page_buffer_budget: Size = "128 MiB",
    checksums: bool = True,
    same_page_merging: bool = True,
    max_key_size: Size = "1 GiB",
    clusters_per_group: int = 1024,
) -> DataSetWriter:
    """Create a data set.

    Args:
        target: the file, or file and data set as "f.root:Events" or ("f.root", "Events"). It is replaced, unless a data
            set is added to it.
        name: the path of the data set in the file, "Events" or "dir/Events".
        schema: a type for each field: "std::vector<float>", np.float32, {"pt": "float"} for a record,
            [{"pt": "float"}] for a collection of records. Inferred from the first data if left out.
        mode: "update" adds the data set to an existing ROOT file and leaves everything else in it as it is.
        append: the same as mode="update".
        compression: "zstd:5", "lz4", "zlib:1", "lzma:7", "none", or ROOT's number (505).
        encodings: how numbers are stored, by path: "Real16", ("Real32Trunc", bits),
            ("Real32Quant", bits, minimum, maximum).
        description: of the data set.
        field_descriptions: of top-level fields.
        container: "root" for a ROOT file, "bare" for a file with nothing but the data set.
        cluster_size: compressed size that a cluster should have.
        max_cluster_size: limit of a cluster before compression, ten times cluster_size if left out.
        page_size: limit of a page before compression.
        initial_page_size: what a page starts with; pages of fields with little data stay small.
        page_buffer_budget: memory for all open pages.
        checksums: write a checksum with each page.
        same_page_merging: store equal pages of a cluster once.
        max_key_size: larger payloads are split over several keys of the ROOT file.
        clusters_per_group: clusters whose page lists are stored together.

    Returns:
        The writer, best used as a context manager.

    Raises:
        SchemaError: a type that cannot be stored.
        StorageError: the file cannot be written.
        UsageError: an option makes no sense.
    """
    if mode not in ("recreate", "update"):
        raise UsageError(f"the mode is 'recreate' or 'update', not '{mode}'")
    if container not in ("root", "bare"):
        raise UsageError(f"the container is 'root' or 'bare', not '{container}'")
    if isinstance(name, Mapping):
        raise UsageError("the schema is given in place of the name", "create(file, name, schema)")
    uri, found = split_target(target, name)
    if not found:
        raise UsageError("the data set needs a name", "create('f.root', 'Events', ...)", uri=uri)
    options = _core.WriteOptions()
    options.compression = str(compression)
    options.cluster_size = _bytes(cluster_size)
    options.max_cluster_size = (
        10 * options.cluster_size if max_cluster_size is None else _bytes(max_cluster_size)
    )
    options.max_page_size = _bytes(page_size)
    options.initial_page_size = _bytes(initial_page_size)
    options.page_buffer_budget = _bytes(page_buffer_budget)
    options.max_key_size = _bytes(max_key_size)
    options.clusters_per_group = clusters_per_group
    options.page_checksums = checksums
    options.same_page_merging = same_page_merging
    options.bare_file = container == "bare"
    options.description = description
    return DataSetWriter(
        uri,
        found,
        schema,
        options,
        add=append or mode == "update",
        encodings=encodings,
        field_descriptions=field_descriptions,
    )


def _bytes(size: Size) -> int:
    count = parse_size(size) if isinstance(size, str) else size
    if count < 0:
        raise UsageError(f"a size cannot be negative ({size})")
    return count
