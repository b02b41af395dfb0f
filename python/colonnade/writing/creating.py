"""Writing data sets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from colonnade import _core
from colonnade.annotations import checked, checked_methods
from colonnade.arrays.columns import PathArray
from colonnade.errors import SchemaError, UsageError, redacted
from colonnade.misuse import check_order, mapping_of, name_pairs, refuse_arguments
from colonnade.reading.opening import PathLike, split_target
from colonnade.schema.spec import Encoding, Spec, build_field, infer

from .attributes import AttributeAppender, AttributeSetWriter, find_or_make
from .filling import Filler, TakingTurns, build_fields, descriptions_of, encodings_of, give_up_failed
from .options import CheckpointEvery, Size, WriteMode, WriteSettings, check_names, write_options
from .sources import Batch, to_batch

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["DataSetWriter", "add_attributes", "create", "projection", "resume", "target_of"]


@checked_methods
class DataSetWriter(TakingTurns, Filler):
    """A data set being written. Made by `colonnade.create`.

    Used as a context manager it commits at the end of the block; if the block is left by an exception, only earlier
    commits stay. Otherwise `close` must be called. A writer that is not closed is closed when it is garbage collected
    or when the program ends, with a warning; if it would replace an existing data set, or an exception ended the
    program, its data are dropped with a warning. Several threads may use one writer; their calls take turns.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        schema: Mapping[str, Spec] | None,
        options: _core.WriteOptions,
        *,
        mode: WriteMode = "recreate",
        encodings: Mapping[str, Encoding] | None = None,
        field_descriptions: Mapping[str, str] | None = None,
    ) -> None:
        self._writer: _core.Writer | None = None
        super().__init__(uri, name)
        self._options, self._mode = options, mode
        self._encodings = encodings_of(encodings)
        self._descriptions = descriptions_of(field_descriptions)
        self._projections: list[tuple[_core.Field, dict[str, str]]] = []
        self._attributes: dict[str, AttributeSetWriter] = {}
        self._closed = False
        if schema is not None:
            self._start(schema)

    # ---- Writing

    def extend_schema(self, fields: Mapping[str, Spec]) -> None:
        """Add fields to the schema. They read as zero or empty in earlier entries.

        Raises:
            SchemaError: no such type, or a field of that name exists.
        """
        self._guard(lambda: self._extend_schema(fields))

    def _extend_schema(self, fields: Mapping[str, Spec]) -> None:
        self._check_open()
        built = build_fields(fields, self._encodings, self._descriptions, whole=False)
        for name in built:
            if name in self._fields:
                raise SchemaError(f"there is already a field '{name}'", "another name", field=name)
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
            SchemaError: the types are incompatible.
        """
        self._check_open()
        field, given = projection(name, type_name, sources)

        def add() -> None:
            if self._writer is None:
                self._projections.append((field, given))
            else:
                self._writer.extend_projected(field, given)

        self._guard(add)

    def attributes(self, name: str, schema: Mapping[str, Spec] | None = None) -> AttributeSetWriter:
        """Add an attribute set to the data set: values for ranges of its entries.

            with writer.attributes("runs").range({"run": 4711}):
                writer.extend(...)

        Args:
            name: of the set. If it was requested before, the same set is returned.
            schema: a type for each field, see `create`; by default inferred from the first values.

        Raises:
            UsageError: the name is invalid, or the set has its fields already.
            SchemaError: a type that cannot be stored.
        """
        self._check_open()
        return self._guard(lambda: find_or_make(self, self._attributes, name, schema))

    def commit_cluster(self) -> None:
        """End the cluster here and write it."""
        self._guard(lambda: self._commit(_core.Writer.commit_cluster))

    def commit(self) -> None:
        """Commit everything so far, so that the file can be opened, and continue.

        A file that `close` could not send is closed.
        """
        self._guard(lambda: self._commit(_core.Writer.commit_data_set))

    def _commit(self, commit: Callable[[_core.Writer], None]) -> None:
        self._check_open()
        if self._is_complete():
            self.close()
            return
        self._retry()
        self._flush_rows()
        if self._writer is not None:
            self._flush_attributes()
            commit(self._writer)

    # ---- Life

    def close(self) -> None:
        """Commit and close; does nothing if closed already.

        Closing that failed because of an object store, or because a file could not be sent over HTTP or to S3, can be
        repeated when the cause is gone, by this object; `abort` gives up instead. The error says so.

        Raises:
            UsageError: closing it failed before, and cannot be repeated.
        """
        self._close(self._finish)

    def abort(self) -> None:
        """Close without committing: the file keeps the last commit."""
        self._closed = True
        self._rows = None
        if self._writer is not None:
            self._writer.abandon()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        count = len(self._fields)
        place = redacted(self._uri)
        return f"<DataSetWriter '{self._name}' in '{place}': {self.num_entries} entries, {count} fields, {state}>"

    # ---- Inside

    def _finish(self) -> None:
        if self._writer is None:
            self._start({})
        self._retry()
        self._flush_rows()
        self._flush_attributes()
        self._started().close()

    def _may_close_again(self) -> bool:
        return self._writer is not None and self._writer.may_close_again

    def _retry(self) -> None:
        if self._writer is not None and self._may_close_again():
            self._guard(self._writer.go_on)

    def _is_started(self) -> bool:
        return self._writer is not None

    def _written(self) -> int:
        return self._writer.num_entries if self._writer else 0

    def _append(self, arrays: list[PathArray]) -> None:
        self._flush_attributes()  # so that a checkpoint during this call includes them
        self._started().append(arrays)
        self._flush_attributes()

    def _flush_attributes(self) -> None:
        for each in self._attributes.values():
            each._flush()

    def _begin_with_batch(self, batch: Batch) -> None:
        if self._writer is None:
            self._descriptions = {**batch.notes, **self._descriptions}
            self._start(
                {
                    name: infer(column, name, loose=name in batch.loose)
                    for name, column in batch.columns.items()
                }
            )

    def _begin_with_row(self, values: dict[str, Any]) -> None:
        if self._writer is None:
            batch = to_batch([values])
            self._descriptions = {**batch.notes, **self._descriptions}
            self._start({name: infer(column, name) for name, column in batch.columns.items()})

    def _continue(self) -> None:
        give_up_failed(self._uri, self._name)
        # The writer locks the data set, and compares.
        there = _core.open(self._uri, self._name, _core.ReadOptions()).descriptor
        stored = there.fields  # a new list each time
        projected: list[tuple[_core.Field, dict[str, str]]] = []
        for number in there.top_level_fields():
            field = _core.field_to_continue(there, number)
            if stored[number].source_field is None:
                self._fields[field.name] = field
            else:
                projected.append((field, _sources_below(there, stored, number)))
        self._writer = _core.resume_writer(
            self._uri, self._name, list(self._fields.values()), projected, self._options
        )
        self._remember()

    def _start(self, schema: Mapping[str, Spec]) -> None:
        fields = build_fields(schema, self._encodings, self._descriptions, whole=True)
        give_up_failed(self._uri, self._name)
        self._writer = _core.make_writer(
            self._uri, self._name, list(fields.values()), self._projections, self._options, self._mode
        )
        self._fields = fields
        self._remember()

    def _replaces(self) -> bool:
        return self._writer is not None and self._writer.replaces

    def _started(self) -> _core.Writer:
        if self._writer is None:
            raise UsageError("the schema is not known yet", "give one to create()")
        return self._writer


@checked
def create(
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    schema: Mapping[str, Spec] | None = None,
    *,
    mode: WriteMode = "recreate",
    append: bool = False,
    compression: str | int = "zstd:5",
    encodings: Mapping[str, Encoding] | None = None,
    description: str = "",
    field_descriptions: Mapping[str, str] | None = None,
    container: Literal["root", "bare"] = "root",
    cluster_size: Size = "128 MiB",
    max_cluster_size: Size | None = None,
    page_size: Size = "256 KiB",
    initial_page_size: Size = 256,
    page_buffer_budget: Size = "128 MiB",
    checksums: bool = True,
    same_page_merging: bool = True,
    max_key_size: Size = "1 GiB",
    clusters_per_group: int = 1024,
    direct_io: bool = False,
    parallel_sealing: bool = False,
    checkpoint_every: CheckpointEvery = None,
    durability: Literal["process", "machine"] = "process",
    discard_unrepaired: bool = False,
    object_mapping: Literal["locality", "object_per_page"] = "locality",
    splice_size: Size = "1 MiB",
    object_class: str = "",
    **others: NoReturn,
) -> DataSetWriter:
    """Create a data set. Sizes are numbers of bytes, or texts such as "64 MiB".

    Args:
        target: the file, or file and data set as "f.root:Events" or ("f.root", "Events"). It is replaced, unless a data
            set is added to it. In an object store ("obj:///path", "s3://bucket/prefix", "rados://pool/namespace",
            "daos://pool/container") only the data set is replaced, by the first commit.
        name: the path of the data set in the file, "Events" or "dir/Events".
        schema: a type for each field: "std::vector<float>", np.float32, {"pt": "float"} for a record, [{"pt": "float"}]
            for a collection of records; or the schema of another data set. By default inferred from the first data.
        mode: "recreate" replaces an existing file; "create" makes a new one, and fails if one exists or appears while
            it is written; "update" adds the data set to an existing ROOT file and leaves everything else in it
            unchanged. In an object store the modes apply to the data set.
        append: the same as mode="update".
        compression: "zstd:5", "lz4", "zlib:1", "lzma:7", "none", or ROOT's number (505).
        encodings: how to store numbers, by path: "Real16", ("Real32Trunc", bits), ("Real32Quant", bits, minimum,
            maximum).
        description: of the data set.
        field_descriptions: by path.
        container: "root" for a ROOT file, "bare" for a file that contains only the data set.
        cluster_size: target compressed size of a cluster.
        max_cluster_size: maximum size of a cluster before compression; by default ten times cluster_size.
        page_size: maximum size of a page before compression.
        initial_page_size: initial size of a page; pages of fields with few data stay small.
        page_buffer_budget: memory for all open pages.
        checksums: write a checksum with each page.
        same_page_merging: store equal pages of a cluster once.
        max_key_size: larger payloads are split over several keys of the ROOT file.
        clusters_per_group: clusters whose page lists are stored together.
        direct_io: bypass the page cache; if the file system does not support it, warns and uses the cache.
        parallel_sealing: encode and compress pages on idle processors.
        checkpoint_every: how often to commit: a number of clusters, a time ("30s", "2 min", a timedelta;
            checked whenever a cluster is written), or both as {"clusters": 10, "seconds": 30}, whichever comes
            first.
        durability: committed data survive a crash of the "process", or of the "machine" (slower: waits for the
            device).
        discard_unrepaired: with mode="update", continue even if the file holds clusters of a killed writer, which
            `repair` could recover; they may be lost.
        object_mapping: in an object store, "locality" keeps the pages of a cluster's column together;
            "object_per_page" makes an object of each page.
        splice_size: in an object store, pages of a column are written together up to this size; 0: each page by itself.
        object_class: for DAOS, such as "SX"; by default the container's redundancy, over up to 32 groups of targets.

    Returns:
        The writer, best used as a context manager.

    Raises:
        SchemaError: a type that cannot be stored.
        StorageError: the file cannot be written.
        UsageError: an option is invalid.
    """
    refuse_arguments("create", others, inspect.signature(create).parameters)
    uri, found = target_of(target, name)
    options = write_options(
        compression=compression,
        description=description,
        container=container,
        cluster_size=cluster_size,
        max_cluster_size=max_cluster_size,
        page_size=page_size,
        initial_page_size=initial_page_size,
        page_buffer_budget=page_buffer_budget,
        checksums=checksums,
        same_page_merging=same_page_merging,
        max_key_size=max_key_size,
        clusters_per_group=clusters_per_group,
        direct_io=direct_io,
        parallel_sealing=parallel_sealing,
        checkpoint_every=checkpoint_every,
        durability=durability,
        discard_unrepaired=discard_unrepaired,
        object_mapping=object_mapping,
        splice_size=splice_size,
        object_class=object_class,
    )
    return DataSetWriter(
        uri,
        found,
        schema,
        options,
        mode="update" if append else mode,
        encodings=encodings,
        field_descriptions=field_descriptions,
    )


@checked
def resume(
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    **settings: Unpack[WriteSettings],
) -> DataSetWriter:
    """Continue a data set after its last commit, with the fields and encodings that it has, late ones included.

        with colonnade.resume("f.root", "Events", checkpoint_every="30s") as writer:
            writer.extend(events[writer.num_entries :])

    It may be in a file, also beside others, or in an object store. Files over HTTP and in S3 cannot be changed. What
    a killed writer left behind its last commit is given up: `repair` first to keep it.

    Args:
        target: file or store, and data set; see `create`.
        name: the path of the data set in the file.
        settings: the other options of `create` (compression, cluster_size, checkpoint_every, ...); those about the
            layout of the data set, such as `max_key_size` and `object_mapping`, stay as they are.

    Returns:
        The writer, best used as a context manager. Its `num_entries` begins with those that are there.

    Raises:
        NotFoundError: no such data set.
        SchemaError: the fields cannot be written by this version.
        StorageError: the file cannot be written.
        UsageError: an option is invalid.
    """
    uri, found = target_of(target, name)
    check_names(settings, "a writer")
    writer = DataSetWriter(uri, found, None, write_options(**settings))
    writer._guard(writer._continue)
    return writer


@checked
def add_attributes(
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    *,
    compression: str | int = "zstd:5",
    durability: Literal["process", "machine"] = "process",
) -> AttributeAppender:
    """Add attribute sets to an existing data set.

        with colonnade.add_attributes("f.root", "Events") as ds:
            ds.attributes("quality").add({"good": True}, first=0, last=ds.num_entries)

    Args:
        target: file or store, and data set; see `create`.
        name: the path of the data set in the file.
        compression: of new attribute sets.
        durability: see `create`.

    Returns:
        The object that takes the rows, best used as a context manager.

    Raises:
        NotFoundError: there is no such data set.
        StorageError: the file cannot be written.
    """
    uri, found = target_of(target, name)
    options = write_options(compression=compression, durability=durability)
    return AttributeAppender(uri, found, lambda: _core.open_appender(uri, found, options), is_there=True)


def projection(
    name: str, type_name: Spec, sources: str | Mapping[str, str]
) -> tuple[_core.Field, dict[str, str]]:
    """Return a projected field, and the paths of the fields that it and its sub-fields show."""
    field = build_field(name, type_name)
    usage = "the path of a field, or a mapping of paths to paths"
    pairs = {name: sources} if isinstance(sources, str) else mapping_of(sources, usage)
    return field, name_pairs(pairs, "field")


def target_of(target: PathLike | tuple[PathLike, str], name: str | None) -> tuple[str, str]:
    """File and data set to be written; raises `UsageError` if they are not named."""
    if isinstance(name, Mapping):
        raise UsageError("the schema is given in place of the name", "create(file, name, schema)")
    uri, found = split_target(target, name)
    if not found:
        raise UsageError("the data set needs a name", "create('f.root', 'Events', ...)", uri=uri)
    check_order(uri, found, "create")
    return uri, found


def _sources_below(
    there: _core.Descriptor, stored: Sequence[_core.FieldDescriptor], number: int
) -> dict[str, str]:
    """Return where the parts of a projected field are stored, by their paths."""
    below = [number]
    sources: dict[str, str] = {}
    for field in below:  # it grows
        source = stored[field].source_field
        if source is not None:
            sources[there.path_of(field)] = there.path_of(source)
        below += stored[field].children
    return sources
