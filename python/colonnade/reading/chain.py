"""Chains: the data sets of several files, read as one."""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from colonnade import _core
from colonnade.annotations import checked_methods
from colonnade.arrays.forms import Assembler
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import FormatError, StorageError, UsageError, redacted
from colonnade.misuse import function_of, path_text
from colonnade.schema.fields import FieldInfo

from .aside import written_whole
from .attributes import AttributeSet
from .dataset import DataSet, Fields, ReadSettings, lasting_cache, read_options
from .steps import Cluster

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import NDArray

__all__ = ["Chain", "MissingFields", "files_of"]

MissingFields: TypeAlias = Literal["error", "fill", "skip"]


@checked_methods
class Chain(DataSet):
    """Data sets of several files, one after the other: a `DataSet` of all their entries. Made by `colonnade.open`.

    `name` is that of the first data set; `named_files` has the name of each. Fields are matched by name. Fields of
    different types are read as one type that holds the values of all; `schema` says which.
    """

    def __init__(
        self,
        files: Sequence[tuple[str, str]],
        *,
        missing: MissingFields = "error",
        max_open_files: int = 16,
        index: str | os.PathLike[str] | None = None,
        _selection: Fields = None,
        _known: str = "",
        _reader: _core.ChainReader | None = None,
        **settings: Unpack[ReadSettings],
    ) -> None:
        check_open_files(max_open_files)
        self._settings = dict(settings, cache=lasting_cache(settings.get("cache")))
        self._missing: MissingFields = missing
        self._max_open_files = max_open_files
        policy = (read_options(**self._settings), getattr(_core.MissingFields, missing), max_open_files)
        known = _known or _read_index(index, files)
        reader = _reader
        if reader is None and known:
            reader = _core.open_known_chain_reader(known, *policy)
        elif reader is None:
            reader = _core.open_chain_reader(list(files), *policy)
        self._files = reader.files()
        more = f" and {len(self._files) - 1} more" if len(self._files) > 1 else ""
        self._begin(self._files[0].uri + more, reader, _selection)
        if index is not None and not known:
            self.save_index(index)

    @property
    def uri(self) -> str:
        """The first file, and the number of others; `files` lists all."""
        return self._uri

    @property
    def files(self) -> list[str]:
        """The files with the entries, in order."""
        return [file.uri for file in self._files]

    @property
    def named_files(self) -> list[tuple[str, str]]:
        """The files, each with the name of its data set."""
        return [(file.uri, file.data_set) for file in self._files]

    @property
    def file_offsets(self) -> list[int]:
        """The first entry of each file, and the number of entries at the end."""
        return [*(file.first for file in self._files), self._num_entries]

    def file_of(self, entry: int) -> str:
        """Return the file that holds an entry; negative numbers count from the end."""
        number = entry + self._num_entries if entry < 0 else entry
        if not 0 <= number < self._num_entries:
            raise self._misuse(f"entry {entry} is beyond the {self._num_entries} entries of the chain")
        place = bisect.bisect_right(self._files, number, key=lambda file: file.first + file.entries)
        return self._files[place].uri

    @property
    def descriptor(self) -> _core.Descriptor:
        """The fields of all files as one schema, without columns and pages; the entries of a file are a cluster."""
        return self._open_chain().descriptor

    def save_index(self, path: str | os.PathLike[str]) -> None:
        """Write a small index of the files, with which `colonnade.open(..., index=path)` opens none.

        Raises:
            UsageError: a schema has parts unknown to this version, so that it must be read from its file.
            StorageError: the file cannot be written.
        """
        text = self._open_chain().index()
        if not text:
            raise self._misuse(
                "this version knows the schema of a file only in part, so the file cannot be indexed"
            )
        target = Path(path_text(path))
        if not target.name:
            raise UsageError(f"'{path_text(path)}' is not the name of a file", "index='runs.json'")
        with written_whole(target, "the index cannot be written") as aside:
            aside.write_text(text, encoding="utf-8")

    def select(self, fields: Fields) -> Chain:
        """Return the same chain with only these fields. Opens no file."""
        return _reopen(*self._how_to_reopen(list(self._select(fields))))

    def verify(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Read, check and decode every page of every file, including attribute sets; see `DataSet.verify`."""
        if progress is not None:
            function_of(progress, "verify(progress=lambda done, total: ...)")
        return self._open_chain().verify(progress)

    def __repr__(self) -> str:
        count = len(self._select(None, warns=False))
        files = "1 file" if len(self._files) == 1 else f"{len(self._files)} files, the first is"
        return (
            f"<Chain '{self._name}' of {files} '{redacted(self._files[0].uri)}': "
            f"{self._num_entries} entries, {count} fields>"
        )

    def __enter__(self) -> Chain:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, self._how_to_reopen(self._selection)

    # ---- Inside

    def _open_chain(self) -> _core.ChainReader:
        reader = self._open_reader()
        assert isinstance(reader, _core.ChainReader)
        return reader

    def _open_attribute_set(self, name: str) -> AttributeSet:
        reader, entries = self._guard(lambda: self._open_chain().attribute_set(name))
        rows = Chain(
            [],
            missing=self._missing,
            max_open_files=self._max_open_files,
            _reader=reader,
            **self._settings,
        )
        return AttributeSet(name, rows, entries, rows.file_offsets)

    def _assemble_at(
        self, selected: dict[str, FieldInfo], entries: NDArray[np.int64], builder: Any
    ) -> dict[str, Any]:
        """As `_assemble`, of entries in any order."""
        paths = [info.path for info in selected.values()]
        wanted = np.ascontiguousarray(entries, dtype=np.uint64)
        arrays = self._open_chain().arrays_at(paths, wanted) if paths else []
        assembler = Assembler(arrays, builder)
        return {name: self._field(assembler, info, len(wanted)) for name, info in selected.items()}

    def _named_places(self) -> list[tuple[str, str]]:
        return [(file.place, file.data_set) for file in self._files]

    def _how_to_reopen(self, selection: Fields) -> tuple[Any, ...]:
        options = {"missing": self._missing, "max_open_files": self._max_open_files, **self._settings}
        return self._named_places(), options, selection, self._open_chain().index(places=True)

    def _clusters(self, selected: dict[str, FieldInfo], start: int, stop: int) -> Iterator[Cluster]:
        paths = [info.path for info in selected.values()]
        for number, file in enumerate(self._files):
            if file.first < stop and file.first + file.entries > start:
                yield from self._open_chain().cluster_sizes(paths, number)


def _reopen(files: list[tuple[str, str]], options: dict[str, Any], selection: Fields, known: str) -> Chain:
    return Chain(files, _selection=selection, _known=known, **options)


def files_of(data_set: DataSet) -> list[tuple[str, str]]:
    """Return the files of an open data set, each with the name of its data set, as they are named in this folder."""
    uris = data_set.files if isinstance(data_set, Chain) else [data_set.uri]
    return [
        (uri if _core.absolute_name(uri) == place else place, name)
        for uri, (place, name) in zip(uris, data_set._named_places(), strict=True)
    ]


def check_open_files(most: int) -> None:
    """Refuse a maximum number of open files that is none."""
    if not 1 <= most < 1 << 63:
        raise UsageError(f"a chain with {most} open files cannot be read", "max_open_files=1 or more")


def _read_index(path: str | os.PathLike[str] | None, files: Sequence[tuple[str, str]]) -> str:
    """The text of an index if there is one for these files; empty if it must be made."""
    if path is None:
        return ""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"'{path_text(path)}' cannot be read: {error}", uri=str(path)) from error
    try:
        held = _core.index_files(text)
    except FormatError as error:
        raise FormatError(
            error.problem, "another place for the index, or remove that file", uri=str(path)
        ) from None
    same = len(held) == len(files) and all(
        (uri, name.strip("/") or data_set) == (uri_held, data_set)
        for (uri, name), (uri_held, data_set) in zip(files, held, strict=True)
    )
    return text if same else ""
