"""Attribute sets that a snapshot takes over, with ranges adjusted to the entries that pass its filters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import NotFoundError, SchemaError
from colonnade.reading.dataset import DataSet
from colonnade.schema.spec import Spec, spec_of

if TYPE_CHECKING:
    from colonnade.arrays.lazy import Content
    from colonnade.writing.attributes import AttributeAppender

    from .actions import Actions
    from .results import Result

__all__ = ["CarriedAttributes"]


@dataclass(frozen=True)
class _Rows:
    """The rows of a file's set: ranges of entries, counted over all files, and the values of each field."""

    ranges: list[tuple[int, int]]
    columns: dict[str, Content]

    def borders(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self.ranges)


class CarriedAttributes:
    """The attribute sets of all files that a data frame reads, and the number of selected entries before each border.

    It is made before the snapshot is computed, which also counts these entries.
    """

    def __init__(self, node: Actions, names: Sequence[str] | None) -> None:
        self._schemas: dict[str, dict[str, Spec]] = {}
        self._rows: dict[str, list[_Rows]] = {}
        for sample in node._session.source.samples:
            if sample.uri:
                with DataSet(sample.uri, sample.data_set) as data_set:
                    self._read(data_set, sample.first, names)
        missing = [name for name in names or [] if name not in self._rows]
        if missing:
            raise NotFoundError(
                f"no file has an attribute set '{missing[0]}'", f"one of {', '.join(self._rows)}"
            )
        borders = {border for parts in self._rows.values() for part in parts for border in part.borders()}
        self._borders = sorted(borders)
        self._counts: Result[Any] | None = None
        if borders:
            # Exact: counts and numbers of entries are below 2^53.
            edges = [*self._borders, self._borders[-1] + 1]
            self._counts = node.histo1d(("", "", edges), "rdfentry_")

    def _read(self, data_set: DataSet, first_entry: int, names: Sequence[str] | None) -> None:
        for name in data_set.attributes:
            if names is not None and name not in names:
                continue
            found = data_set.attributes[name]
            schema = {field: spec_of(found.schema[field]) for field in found.field_names}
            if self._schemas.setdefault(name, schema) != schema:
                raise SchemaError(
                    f"the attribute set '{name}' has other fields here than in the files before",
                    "name the sets that are wanted: attributes=[...]",
                    uri=data_set.uri,
                    data_set=data_set.name,
                )
            ranges = (found.ranges.astype(np.int64) + first_entry).tolist()
            # Arrays know the alternatives of variants, which Python's values do not tell.
            columns = {field: ak.to_layout(found.arrays([field])[field]) for field in schema}
            self._rows.setdefault(name, []).append(_Rows(ranges, columns))

    def add_to(self, out: AttributeAppender) -> None:
        """Add the sets to the snapshot, which has all its entries and is not committed yet."""
        left: dict[int, int] = {}
        if self._counts is not None:
            bins = np.rint(self._counts.value.values(flow=True)).astype(np.int64)
            left = dict(zip(self._borders, np.cumsum(bins).tolist(), strict=False))
        for name, parts in self._rows.items():
            into = out.attributes(name, self._schemas[name])
            for part in parts:
                into._extend([(left[first], left[last]) for first, last in part.ranges], part.columns)
