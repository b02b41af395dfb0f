"""`colonnade.open` for TTrees: a data set whose fields are imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields as members_of
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.errors import NotFoundError, UnsupportedError
from colonnade.reading.chain import Chain, MissingFields
from colonnade.reading.dataset import DataSet, Fields, lasting_cache, read_options
from colonnade.reading.metrics import ReadMetrics
from colonnade.reading.steps import steps

from .tree_columns import TreeColumns
from .watching import ImportBar

if TYPE_CHECKING:
    import awkward as ak

    from colonnade.reading.attributes import AttributeSets
    from colonnade.schema.fields import FieldInfo

__all__ = ["TreeDataSet", "tree_source"]


class TreeDataSet(DataSet):
    """A data set of one or several TTrees (some files may have RNTuples), which are imported on demand.

    Columns are imported only once; with a cache, also for later processes.
    """

    def __init__(
        self,
        *,
        missing: MissingFields = "error",
        _selection: Fields = None,
        _columns: TreeColumns,
        **settings: Any,
    ) -> None:
        self._settings = dict(settings, cache=lasting_cache(settings.get("cache")))
        self._missing: MissingFields = missing
        self._columns = _columns
        self._imports: list[DataSet] = []
        self._places: dict[str, DataSet] = {}
        with _columns.naming_trees():
            shape = self._open_files(_columns.shapes, missing)
        files = self._columns.files
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        self._begin(files[0] + more, shape._open_reader(), _selection)
        self._name = self._columns.names[0]
        self._shape = shape
        self._num_entries = sum(self._columns.entries)

    def _open_files(self, files: list[str], missing: MissingFields) -> DataSet:
        settings = dict(
            self._settings, cache=self._settings.get("cache") if self._columns.has_stored() else "off"
        )
        if len(files) == 1:
            return DataSet(files[0], self._columns.data_sets[0], **settings)
        return Chain(self._columns.named(files), missing=missing, **settings)

    @property
    def files(self) -> list[str]:
        """The files of the trees."""
        return list(self._columns.files)

    @property
    def descriptor(self) -> _core.Descriptor:
        """The fields of an import, without clusters and pages."""
        return self._shape.descriptor

    @property
    def attributes(self) -> AttributeSets:
        """Trees have no attribute sets.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("a TTree has no attribute sets", "open a data set")

    @property
    def metrics(self) -> ReadMetrics:
        """The storage requests for imported columns so far."""
        found = [self._shape.metrics, *(one.metrics for one in self._imports)]
        sums = {
            member.name: sum(getattr(one, member.name) for one in found)
            for member in members_of(ReadMetrics)
            if isinstance(getattr(found[0], member.name), int | float)
        }
        return ReadMetrics(**{**vars(found[0]), **sums})

    def select(self, fields: Fields) -> DataSet:
        """Return the same data set with only these fields."""
        return TreeDataSet(
            missing=self._missing,
            _selection=list(self._select(fields)),
            _columns=self._columns,
            **self._settings,
        )

    def entry_texts(self, start: int, stop: int, fields: Fields = None) -> Iterator[tuple[int, str]]:
        """See `DataSet.entry_texts`."""
        paths = [info.path for info in self._select(fields).values()]
        yield from self._together(paths).entry_texts(start, stop, paths)

    def verify(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Import everything, then check it like `DataSet.verify`."""
        return self._together([info.path for info in self._select(None, warns=False).values()]).verify(
            progress
        )

    def read_through(self, fields: Fields = None, *, step_size: int | str = "256 MiB") -> int:
        """See `DataSet.read_through`."""
        paths = [info.path for info in self._select(fields).values()]
        return self._together(paths).read_through(paths, step_size=step_size)

    def __getitem__(self, field: str | Sequence[str]) -> ak.Array:
        """See `DataSet.__getitem__`; the names of branches are fields, too."""
        return super().__getitem__(self._by_branch(field))

    def __repr__(self) -> str:
        count = len(self._select(None, warns=False))
        return f"<TreeDataSet '{self._name}' of '{self._uri}': {self._num_entries} entries, {count} fields>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (
            self._columns.places,
            self._missing,
            self._settings,
            self._selection,
        )

    # ---- Inside

    def _select(self, fields: Fields, *, warns: bool = True) -> dict[str, FieldInfo]:
        return super()._select(None if fields is None else self._by_branch(fields), warns=warns)

    def _by_branch(self, fields: str | Sequence[str]) -> str | Sequence[str]:
        """Fields in place of the names of their branches, unless a field has that name or path."""

        def place(name: str) -> str:
            if not isinstance(name, str) or name in self._schema:
                return name
            return self._columns.other_names(all_=False).get(name, name)

        if isinstance(fields, str):
            return place(fields)
        return [place(name) for name in fields] if isinstance(fields, list | tuple) else fields

    def _named_places(self) -> list[tuple[str, str]]:
        return self._columns.places

    def _bring(self, paths: list[str]) -> None:
        """Import missing columns, all at once."""
        self._open_reader()
        missing = [path for path in paths if path not in self._places]
        if missing:
            self._import(missing)

    def _import(self, paths: list[str]) -> DataSet:
        with ImportBar(None) as bar:
            files = self._columns.fetch(paths, bar.update)
        # Files without trees have more fields than the imported ones.
        brought = self._open_files(files, "fill" if self._missing == "fill" else "skip")
        self._imports.append(brought)
        self._places.update(dict.fromkeys(paths, brought))
        return brought

    def _together(self, paths: list[str]) -> DataSet:
        """One data set with all of these, whatever was imported before."""
        self._open_reader()
        found = {id(self._places.get(path)) for path in paths}
        if paths and len(found) == 1 and paths[0] in self._places:
            return self._places[paths[0]]
        return self._import(paths)

    def _assemble(
        self, selected: dict[str, FieldInfo], start: int, stop: int, builder: Any, ahead: int = 0
    ) -> dict[str, Any]:
        self._bring([info.path for info in selected.values()])
        places = self._places.copy()  # other threads may import columns meanwhile
        made: dict[str, Any] = {}
        for brought in {id(one): one for one in places.values()}.values():
            here = {name: info for name, info in selected.items() if places[info.path] is brought}
            if not here:
                continue
            there = brought._select([info.path for info in here.values()])
            renamed = dict(zip(here, there.values(), strict=True))
            made.update(brought._assemble(renamed, start, stop, builder, ahead))
        return {name: made[name] for name in selected}

    def _steps(
        self, selected: dict[str, FieldInfo], step_size: int | str, start: int, stop: int
    ) -> Iterator[tuple[int, int]]:
        paths = [info.path for info in selected.values()]
        if not paths:
            return steps((), step_size, start, stop)
        self._bring(paths)
        first = self._places[paths[0]]
        here = [path for path in paths if self._places[path] is first]
        return first._steps(first._select(here), step_size, start, stop)

    def _cluster_steps(
        self, selected: dict[str, FieldInfo], step_size: int | str, stop: int
    ) -> Iterator[tuple[int, int]]:
        # The clusters are those of the imported columns.
        return self._steps(selected, step_size, 0, stop)


def tree_source(columns: TreeColumns, settings: dict[str, Any], progress: bool | None) -> _core.FrameSource:
    """Make a source of a data frame that imports the columns of trees before the passes that use them."""
    if not columns.has_stored():
        settings = dict(settings, cache="off")
    options = read_options(**settings)

    def fetch(paths: Sequence[str]) -> _core.FrameSource:
        with ImportBar(progress) as bar:
            brought = columns.fetch(paths, bar.update)
        return _core.open_named_chain(columns.named(brought), options)

    with columns.naming_trees():
        shape = _core.open_named_chain(columns.named(columns.shapes), options)
    return _core.late_source(shape, columns.samples, fetch, columns.other_names())


def _reopen(
    files: list[tuple[str, str]], missing: MissingFields, settings: dict[str, Any], selection: Fields
) -> TreeDataSet:
    uri, name = files[0]
    gone = NotFoundError(f"there is no TTree '{name}' any more", uri=uri)
    columns = TreeColumns.of(files, cache=settings.get("cache"), otherwise=gone)
    return TreeDataSet(missing=missing, _selection=selection, _columns=columns, **settings)
