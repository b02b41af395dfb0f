"""Attribute sets: values that belong to ranges of a data set's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from colonnade import _core
from colonnade.annotations import checked_methods
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import Error, FormatError, NotFoundError, UnsupportedError, UsageError, redacted
from colonnade.misuse import column_name, names_of

from .steps import entry_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from colonnade.schema.fields import FieldInfo

    from .dataset import DataSet, Fields, Library

__all__ = ["Attribute", "AttributeSet", "AttributeSets"]

_STEP = 1000


class Attribute(NamedTuple):
    """A row of an attribute set."""

    first: int
    """The first entry of its range."""
    last: int
    """The end of its range."""
    values: dict[str, Any]


@checked_methods
class AttributeSet:
    """Rows, each with a range of entries and a value for every field. Found in `DataSet.attributes`.

    Rows are in the order in which they were written; ranges may overlap, be empty, and leave entries out.
    """

    def __init__(
        self, name: str, rows: DataSet, entries: Sequence[tuple[int, int]], borders: Sequence[int]
    ) -> None:
        """`entries`: for each file, those of its ranges; `borders`: the first row of each file, and the end."""
        self._name, self._rows, self._entries, self._borders = name, rows, entries, borders
        self._ranges: NDArray[np.uint64] | None = None

    @property
    def name(self) -> str:
        """Its name in the data set."""
        return self._name

    @property
    def schema(self) -> dict[str, FieldInfo]:
        """The fields with their types, including unreadable ones."""
        if "_userData" not in self._rows.schema:  # files of a chain may have no common fields
            return {}
        return dict(self._rows.schema["_userData"].members())

    @property
    def field_names(self) -> list[str]:
        """Names of the readable fields."""
        return [name for name, info in self.schema.items() if not info.unreadable]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self._rows.num_entries

    def __len__(self) -> int:
        return self.num_rows

    def __bool__(self) -> bool:
        return True

    # ---- Ranges

    @property
    def ranges(self) -> NDArray[np.uint64]:
        """The first entry and the end of each row's range.

        Raises:
            FormatError: the data set does not have these entries.
        """
        if self._ranges is None:
            read = self._rows.arrays(["_rangeStart", "_rangeLen"], library="np")
            for file, (begin, end) in enumerate(self._entries):
                rows = slice(self._borders[file], self._borders[file + 1])
                self._check_ranges(file, read["_rangeStart"][rows], read["_rangeLen"][rows], end - begin)
                read["_rangeStart"][rows] += np.uint64(begin)
            first, count = read["_rangeStart"], read["_rangeLen"]
            self._ranges = np.stack([first, first + count], axis=1)
            self._ranges.flags.writeable = False
        return self._ranges

    def _check_ranges(
        self, file: int, first: NDArray[np.uint64], count: NDArray[np.uint64], num_entries: int
    ) -> None:
        entries = np.uint64(num_entries)
        wrong = np.flatnonzero((first > entries) | (count > entries - np.minimum(first, entries)))
        if len(wrong):
            row = int(wrong[0])
            raise FormatError(
                f"row {row} is about {count[row]} entries from {first[row]} on, but the data set has {entries}",
                "ask whoever wrote the file",
                uri=self._rows.files[file],
                data_set=self._rows.name,
            )

    def of_entry(self, entry: int) -> NDArray[np.int64]:
        """Find the rows whose range contains an entry, sorted by the beginning of their ranges."""
        return self.covering(entry, entry + 1)

    def covering(self, first: int, last: int) -> NDArray[np.int64]:
        """Find the rows whose range contains all entries from `first` to `last` (exclusive)."""
        begin, end = self.ranges.T
        if not 0 <= first < last:
            return np.empty(0, dtype=np.int64)
        return self._in_order((begin <= first) & (end >= last))

    def within(self, first: int, last: int) -> NDArray[np.int64]:
        """Find the rows with a non-empty range between `first` and `last` (exclusive)."""
        begin, end = self.ranges.T
        return self._in_order((begin >= max(first, 0)) & (end <= max(last, 0)) & (begin < end))

    def _in_order(self, fits: NDArray[np.bool_]) -> NDArray[np.int64]:
        rows = np.flatnonzero(fits)
        return rows[np.argsort(self.ranges[rows, 0], kind="stable")]

    # ---- Values

    def arrays(
        self,
        fields: Fields = None,
        *,
        row_start: int | None = None,
        row_stop: int | None = None,
        library: Library = "ak",
    ) -> Any:
        """Read fields as arrays with one value per row, of all rows or those in [row_start, row_stop).

        See `DataSet.arrays`.
        """
        start, stop, _ = slice(row_start, row_stop).indices(self.num_rows)
        names = self.field_names if fields is None else names_of(fields, "field")
        try:
            selected = self._rows._select([f"_userData.{name}" for name in names]) if names else {}
        except NotFoundError as error:
            own = (error.field or "").removeprefix("_userData.")
            raise NotFoundError(
                f"there is no field '{own}'",
                f"one of: {', '.join(self.field_names)}",
                uri=self._rows.uri,
                data_set=self._rows.name,
                field=own,
            ) from None
        selected = {path.removeprefix("_userData."): info for path, info in selected.items()}
        return self._rows._read(selected, start, max(start, stop), library)

    def __getitem__(self, field: str) -> ak.Array:
        """Read one field as an `awkward.Array`."""
        found = self.arrays(column_name(field, "field"))
        if field not in found.fields:  # a wildcard
            raise NotFoundError(f"there is no field '{field}'", "arrays() for several", field=field)
        return found[field]

    def row(self, number: int) -> Attribute:
        """Read a row; negative numbers count from the end.

        Raises:
            UsageError: there is no such row.
        """
        start = number + self.num_rows if number < 0 else number
        if not 0 <= start < self.num_rows:
            raise UsageError(f"row {number} is beyond the {self.num_rows} rows of the set '{self._name}'")
        return next(self._read_rows(start, start + 1))

    def __iter__(self) -> Iterator[Attribute]:
        """Iterate over the rows."""
        for start in range(0, self.num_rows, _STEP):
            yield from self._read_rows(start, min(start + _STEP, self.num_rows))

    def _read_rows(self, start: int, stop: int) -> Iterator[Attribute]:
        values = ak.to_list(self.arrays(row_start=start, row_stop=stop)) if self.field_names else []
        for number, (first, last) in enumerate(self.ranges[start:stop].tolist()):
            yield Attribute(first, last, values[number] if values else {})

    def row_texts(self, start: int, stop: int) -> Iterator[tuple[int, str]]:
        """Iterate over the numbers and texts of rows, such as {"run": 7}, in JSON-like form."""
        start, stop = entry_range(start, stop, self.num_rows)
        if not self.field_names:
            yield from ((number, "{}") for number in range(start, stop))
            return
        for number, text in self._rows.entry_texts(start, stop, "_userData"):
            yield number, text.removeprefix('{"_userData": ').removesuffix("}")

    def __copy__(self) -> AttributeSet:
        return self

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            f"the attribute set '{self._name}' cannot be sent to another process",
            f"the data set, which has it there: .attributes[{self._name!r}]",
        )

    @property
    def descriptor(self) -> _core.Descriptor:
        """All metadata of the set as a data set of its own."""
        return self._rows.descriptor

    def __repr__(self) -> str:
        return (
            f"<AttributeSet '{self._name}' in '{redacted(self._rows.uri)}': {self.num_rows} rows, "
            f"fields {', '.join(self.field_names)}>"
        )


class AttributeSets(Mapping[str, AttributeSet]):
    """The attribute sets of a data set by name. A set is opened on first use."""

    def __init__(self, data_set: DataSet) -> None:
        self._data_set = data_set
        self._names = data_set._open_reader().attribute_sets()
        self._opened: dict[str, AttributeSet] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeSets, (self._data_set,)

    def __getitem__(self, name: str) -> AttributeSet:
        """Open a set.

        Raises:
            NotFoundError: there is no set of this name.
            UnsupportedError, FormatError: this set is unreadable.
        """
        name = column_name(name, "set of attributes")
        if name not in self._opened:
            self._opened[name] = self._data_set._open_attribute_set(name)
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def get(self, name: str, default: Any = None) -> Any:
        """Open a set, or return `default` if there is no set of this name."""
        if name not in self._names:
            return default
        return self[name]

    def __repr__(self) -> str:
        return f"<AttributeSets: {', '.join(self._names) or 'none'}>"

    def verify(self) -> int:
        """Read, check and decode every page of the sets of known versions, and their ranges.

        Returns:
            The number of pages.

        Raises:
            ChecksumError, FormatError: the first damage, with its place.
        """
        pages = 0
        for name in self._names:
            try:
                found = self[name]
            except UnsupportedError:
                continue
            pages += found._rows.verify()
            _ = found.ranges
        return pages

    def readable(self) -> Iterator[tuple[str, AttributeSet | None, str]]:
        """Iterate over names and sets, or None and the reason why a set is unreadable."""
        for name in self._names:
            found, why = None, ""
            try:
                found = self[name]
            except Error as error:
                why = error.problem
            yield name, found, why
