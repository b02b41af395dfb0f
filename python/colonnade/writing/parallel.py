"""Writing data sets from several threads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.annotations import checked, checked_methods
from colonnade.arrays.columns import PathArray
from colonnade.errors import Error, TypeMismatchError, UsageError, redacted
from colonnade.locks import ProcessLock
from colonnade.misuse import column_name, mapping_of, shown
from colonnade.reading.opening import PathLike
from colonnade.schema.spec import Encoding, Spec

from .attributes import ContextAttributes, SharedAttributeSet
from .creating import projection, target_of
from .filling import Closing, Filler, build_fields, descriptions_of, encodings_of, give_up_failed
from .options import WriteMode, WriteSettings, check_names, write_options

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["FillContext", "ParallelDataSetWriter", "create_parallel"]


@checked_methods
class FillContext(Filler):
    """The interface through which one thread fills a data set. Made by `ParallelDataSetWriter.context`.

    It has a cluster of its own; its entries stay together cluster by cluster, in their order. Contexts check, encode,
    compress and write in parallel: only pure Python code waits for the interpreter.

    Used as a context manager it writes its data at the end of the block; if the block is left by an exception, its open
    cluster is dropped.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        fields: Mapping[str, _core.Field],
        context: _core.FillContext,
        writer: ParallelDataSetWriter,
    ) -> None:
        self._context = context
        self._writer = writer  # destroyed after its contexts
        super().__init__(uri, name)
        self._fields = dict(fields)
        self._sets: dict[str, ContextAttributes] = {}
        self._remember()
        writer._open.add(id(self))

    def attributes(self, name: str, schema: Mapping[str, Spec] | None = None) -> ContextAttributes:
        """Return the interface to an attribute set, which all contexts share; ranges are of this context's own entries.

        Args:
            name: of the set; made on first use by any context.
            schema: a type for each field, or None: the first values determine the fields.
        """
        self._check_open()
        shared = self._writer._shared_set(column_name(name, "set"), schema)
        if name not in self._sets:
            self._sets[name] = ContextAttributes(self, shared, self._writer._writer)
        return self._sets[name]

    def commit_cluster(self) -> None:
        """End the cluster here and write it."""
        self._check_open()
        self._retry()
        self._hand_on()
        self._guard(self._context.commit_cluster)

    def close(self) -> None:
        """Write the open cluster and end; does nothing if closed already.

        Raises:
            UsageError: closing it failed before, and cannot be repeated (see `DataSetWriter.close`).
        """
        if self._is_over():
            return
        self._end(self._finish)

    def _may_close_again(self) -> bool:
        return self._context.may_close_again

    def _retry(self) -> None:
        if self._may_close_again():
            self._guard(self._context.go_on)

    def _finish(self) -> None:
        self._retry()
        self._hand_on()
        self._context.close()
        self._writer._open.discard(id(self))

    def _hand_on(self) -> None:
        self._flush_rows()
        for each in self._sets.values():
            self._guard(each._flush)

    def abort(self) -> None:
        """End without the open cluster."""
        self._closed = True
        self._rows = None
        self._context.discard()
        self._writer._open.discard(id(self))

    def _end_forgotten(self, *, failed: bool) -> None:
        if self._writer._closed and not self._closed and self._process == os.getpid():
            # An exception has ended the writer. The code that caught it knows what is lost.
            self.abort()
        super()._end_forgotten(failed=failed)
        if self._writer._is_forgotten:
            self._writer._end_forgotten(failed=failed)

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return (
            f"<FillContext of '{self._name}' in '{redacted(self._uri)}': {self.num_entries} entries, {state}>"
        )

    def _written(self) -> int:
        return self._context.num_entries

    def _append(self, arrays: list[PathArray]) -> None:
        self._context.append(arrays)
        for each in self._sets.values():
            each._flush()


@checked_methods
class ParallelDataSetWriter(Closing):
    """A data set that several threads write, each through a context of its own. Made by `create_parallel`.

    Thread-safe. Used as a context manager it commits at the end of the block; if the block is left by an exception,
    only earlier commits stay.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        schema: Mapping[str, Spec],
        options: _core.WriteOptions,
        *,
        mode: WriteMode = "recreate",
        encodings: Mapping[str, Encoding] | None = None,
        field_descriptions: Mapping[str, str] | None = None,
        projections: Mapping[str, tuple[Spec, str | Mapping[str, str]]] | None = None,
    ) -> None:
        super().__init__(uri, name)
        self._open: set[int] = set()  # the ids of its open contexts
        self._is_forgotten = False
        self._sets: dict[str, SharedAttributeSet] = {}
        self._sets_mutex = ProcessLock()
        self._fields = build_fields(
            schema, encodings_of(encodings), descriptions_of(field_descriptions), whole=True
        )
        projected = _projected({} if projections is None else projections)
        give_up_failed(uri, name)
        self._writer = self._guard(
            lambda: _core.make_parallel_writer(
                uri, name, list(self._fields.values()), projected, options, mode
            )
        )
        self._remember()

    @property
    def num_entries(self) -> int:
        """Number of entries in written clusters of all contexts."""
        return self._writer.num_entries

    @property
    def field_names(self) -> list[str]:
        """Names of the fields."""
        return list(self._fields)

    def context(self) -> FillContext:
        """Make a context for one thread."""
        self._check_open()
        return FillContext(self._uri, self._name, self._fields, self._guard(self._writer.make_context), self)

    def attributes(self, name: str, schema: Mapping[str, Spec]) -> None:
        """Add an attribute set with these fields. Contexts add its rows, see `FillContext.attributes`."""
        self._check_open()
        self._shared_set(column_name(name, "set"), schema)

    def _shared_set(self, name: str, schema: Mapping[str, Spec] | None) -> SharedAttributeSet:
        with self._sets_mutex:
            found = self._sets.setdefault(name, SharedAttributeSet(name))
        if schema is not None:
            self._guard(lambda: found.make(self._writer, schema))
        return found

    def commit_staged(self) -> None:
        """With staged order: add the clusters written so far to the data set, in the order of their contexts.

        They become readable with the next checkpoint, `commit` or `close`.
        """
        self._check_open()
        self._guard(self._writer.commit_staged)

    def commit(self) -> None:
        """Commit the written clusters, and continue. The open clusters of contexts are not included.

        A file that `close` could not send is closed.
        """
        self._check_open()
        if self._is_complete():
            self.close()
            return
        self._guard(self._writer.commit_data_set)

    def close(self) -> None:
        """Commit and close; does nothing if closed already.

        Raises:
            UsageError: a context is still open; nothing is lost: close it, then the writer. Or closing the writer
                failed before, and cannot be repeated (see `DataSetWriter.close`).
        """
        if self._is_over():
            return
        try:
            self._guard(self._writer.close)
        except UsageError:
            raise
        except Error as error:
            self._note(error)
            raise
        self._closed = True

    def _may_close_again(self) -> bool:
        return self._writer.may_close_again

    def abort(self) -> None:
        """Close without committing: the file keeps the last commit."""
        self._closed = True
        self._writer.discard()

    def _replaces(self) -> bool:
        return self._writer.replaces

    def _end_forgotten(self, *, failed: bool) -> None:
        # The contexts of a cycle are collected with it, in any order: the last one ends the writer.
        self._is_forgotten = True
        if not getattr(self, "_open", None):
            super()._end_forgotten(failed=failed)

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        place = redacted(self._uri)
        return f"<ParallelDataSetWriter '{self._name}' in '{place}': {len(self._fields)} fields, {state}>"


def _projected(projections: Any) -> list[tuple[_core.Field, dict[str, str]]]:
    usage = '{"y": ("float", "x")}, a type and what the field shows'
    fields = []
    for name, given in mapping_of(projections, usage).items():
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise TypeMismatchError(
                f"{shown(given)} is not a type and the sources of the projected field '{name}'", usage
            )
        fields.append(projection(name, *given))
    return fields


@checked
def create_parallel(
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    schema: Mapping[str, Spec] | None = None,
    *,
    mode: WriteMode = "recreate",
    encodings: Mapping[str, Encoding] | None = None,
    field_descriptions: Mapping[str, str] | None = None,
    projections: Mapping[str, tuple[Spec, str | Mapping[str, str]]] | None = None,
    **settings: Unpack[WriteSettings],
) -> ParallelDataSetWriter:
    """Create a data set that several threads fill.

    Args:
        target: see `create`.
        name: see `create`.
        schema: a type for each field, see `create`; required.
        mode: see `create`.
        encodings: see `create`.
        field_descriptions: see `create`.
        projections: fields that show the columns of others, by name: a type and sources as for `add_projected`.
        settings: the other options of `create` (compression, cluster_size, checkpoint_every, ...), and `cluster_order`:
            "as_written", in the order in which clusters are finished, or "staged", context by context in the order of
            their creation, so that the same work gives the same data set in every run; `commit_staged` adds
            staged clusters to the data set, and `commit` and `close` also make them readable.

    Returns:
        The writer, best used as a context manager.

    Raises:
        SchemaError: a type that cannot be stored.
        StorageError: the file cannot be written.
        UsageError: an option is invalid.
    """
    uri, found = target_of(target, name)
    check_names(settings, "a parallel writer")
    options = write_options(**settings)
    if schema is None:
        raise UsageError(
            "a data set that many threads fill needs a schema",
            "create_parallel(file, name, schema)",
            uri=uri,
            data_set=found,
        )
    return ParallelDataSetWriter(
        uri,
        found,
        schema,
        options,
        mode=mode,
        encodings=encodings,
        field_descriptions=field_descriptions,
        projections=projections,
    )
