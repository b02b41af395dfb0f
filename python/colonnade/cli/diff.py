"""`colonnade diff`: whether two data sets hold the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from colonnade.arrays.awkward import AwkwardBuilder
from colonnade.arrays.forms import Flat
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import Error
from colonnade.reading.attributes import AttributeSet, AttributeSets
from colonnade.reading.dataset import DataSet
from colonnade.reading.steps import clusters, steps
from colonnade.schema.fields import FieldInfo

from .common import count_text, fields_option, file_and_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["diff", "differences"]

_STEP = "32 MB"
_BLOCK = 10_000
"""Values that are compared one by one, as Python's, if any bits differ."""


@click.command(short_help="Compare two data sets: fields, types, values.")
@click.argument("file")
@click.argument("other")
@fields_option("--fields")
@click.option("--schema", is_flag=True, help="Compare types only, not values.")
@click.pass_context
def diff(context: click.Context, file: str, other: str, fields: list[str] | None, schema: bool) -> None:
    """Compare the data sets of FILE and OTHER: fields, types, values. Both are f.root or f.root:Events.

    Attribute sets are compared, too, unless fields are named. Floating-point numbers are equal if their bits are, or
    if both are NaN. The exit status is 0 if nothing differs and 1 otherwise.
    """
    with DataSet(*file_and_name(file, None)) as left, DataSet(*file_and_name(other, None)) as right:
        found = differences(left, right, fields, values=not schema)
        for line in found:
            click.echo(line)
        if not found:
            what = "types" if schema else count_text(left.num_entries, "entry")
            sets = (
                [count_text(len(left.attributes), "attribute set")] if not fields and left.attributes else []
            )
            click.echo(
                "the same: " + ", ".join([count_text(len(left.select(fields).keys()), "field"), *sets, what])
            )
    context.exit(1 if found else 0)


def differences(
    left: DataSet, right: DataSet, fields: list[str] | None = None, *, values: bool = True
) -> list[str]:
    """Say in a line each what differs between two data sets; nothing if they hold the same.

    Args:
        left: one.
        right: the other.
        fields: what is compared, see `DataSet.arrays`; None: all fields and the attribute sets.
        values: compare values, not only types.
    """
    found, same = _type_differences(left.schema.select(fields), right.schema.select(fields))
    if left.num_entries != right.num_entries:
        found.append(f"! {count_text(left.num_entries, 'entry')} -> {count_text(right.num_entries, 'entry')}")
    if values:
        found += _value_differences(left, right, same)
    if fields is None:
        found += _set_differences(left.attributes, right.attributes, values=values)
    return found


def _type_differences(
    mine: Mapping[str, FieldInfo], theirs: Mapping[str, FieldInfo]
) -> tuple[list[str], list[str]]:
    """The lines about fields, and the names of those that are the same."""
    found = [f"- {name}: {info.type}" for name, info in mine.items() if name not in theirs]
    found += [f"+ {name}: {info.type}" for name, info in theirs.items() if name not in mine]
    shared = [name for name in mine if name in theirs]
    changed = [name for name in shared if str(mine[name]) != str(theirs[name])]
    found += [f"! {name}: {mine[name].type} -> {theirs[name].type}" for name in changed]
    return found, [name for name in shared if name not in changed]


def _set_differences(left: AttributeSets, right: AttributeSets, *, values: bool) -> list[str]:
    found = [f"- attribute set {name}" for name in left if name not in right]
    found += [f"+ attribute set {name}" for name in right if name not in left]
    for name in left:
        if name not in right:
            continue
        try:
            lines = _differences_of(left[name], right[name], values=values)
        except Error as error:
            lines = [f"! it cannot be compared: {error.problem}"]
        found += [f"{line[0]} attribute set {name}: {line[2:]}" for line in lines]
    return found


def _differences_of(left: AttributeSet, right: AttributeSet, *, values: bool) -> list[str]:
    found, same = _type_differences(left.schema, right.schema)
    if not values:
        return found
    if left.num_rows != right.num_rows:
        found.append(f"! {count_text(left.num_rows, 'row')} -> {count_text(right.num_rows, 'row')}")
    stop = min(left.num_rows, right.num_rows)
    moved = np.flatnonzero((left.ranges[:stop] != right.ranges[:stop]).any(axis=1))
    if len(moved):
        one, two = left.ranges[moved[0]], right.ranges[moved[0]]
        found.append(
            f"! {count_text(len(moved), 'range')} of {stop} differ, first of row {moved[0]}: "
            f"{one[0]} to {one[1]} -> {two[0]} to {two[1]}"
        )
    paths = [f"_userData.{field}" for field in same]
    lines = _value_differences(left._rows, right._rows, paths, what="row")
    return found + [line.replace("_userData.", "", 1) for line in lines]


def _value_differences(left: DataSet, right: DataSet, names: list[str], *, what: str = "entry") -> list[str]:
    found = []
    stop = min(left.num_entries, right.num_entries)
    for name in names:
        count, first = 0, None
        columns = sorted({c for part in left.schema[name].walk() for c in part.columns})
        for start, end in steps(clusters(left.descriptor, columns), _STEP, 0, stop):
            if _same_stored(left, right, name, start, end):
                continue
            mine, theirs = (_values(each, name, start, end) for each in (left, right))
            differing, place = _compared(mine, theirs)
            count += differing
            if differing and first is None:
                one, two = (ak.to_list(each[place : place + 1])[0] for each in (mine, theirs))
                first = (start + place, one, two)
        if first is not None:
            number, one, two = first
            found.append(
                f"! {name}: {count_text(count, 'value')} of {stop} differ, first at {what} {number}: {one!r} -> {two!r}"
            )
    return found


def _same_stored(left: DataSet, right: DataSet, name: str, start: int, end: int) -> bool:
    """Whether all arrays of a field are the same: then so are the values, which need not be made."""
    mine, theirs = (
        [
            (role, array.dtype, array)
            for _, role, array in each._open_reader().arrays([each.schema[name].path], start, end)
        ]
        for each in (left, right)
    )
    return len(mine) == len(theirs) and all(
        one[:2] == two[:2] and np.array_equal(one[2].view(np.uint8), two[2].view(np.uint8))
        for one, two in zip(mine, theirs, strict=True)
    )


class _NamedAlternatives(AwkwardBuilder):
    """Values of variants are records with the name of their alternative: equal numbers may have different types."""

    def variant(self, tags: Flat, contents: Sequence[Content]) -> Content:
        named = [self.record([f"_{number}"], [each], each.length) for number, each in enumerate(contents)]
        return super().variant(tags, named)


def _values(data_set: DataSet, name: str, start: int, end: int) -> Content:
    assembled: Content = data_set._assemble(data_set._select([name]), start, end, _NamedAlternatives())
    return assembled[name]


def _compared(mine: Content, theirs: Content) -> tuple[int, int]:
    """How many of as many values differ, and which one is the first of them."""
    if _same_bits(mine, theirs):
        return 0, 0
    if all(isinstance(each, ak.contents.NumpyArray) for each in (mine, theirs)):
        return _compared_numbers(mine.data, theirs.data)
    count, first = 0, 0
    for begin in range(0, len(mine), _BLOCK):
        one, two = (each[begin : begin + _BLOCK] for each in (mine, theirs))
        if _same_bits(one, two):
            continue
        for place, values in enumerate(zip(ak.to_list(one), ak.to_list(two), strict=True), begin):
            if not _same(*values):
                first = first if count else place
                count += 1
    return count, first


def _compared_numbers(mine: NDArray[Any], theirs: NDArray[Any]) -> tuple[int, int]:
    bits = np.dtype(f"u{mine.dtype.itemsize}")
    differ = mine.view(bits) != theirs.view(bits)
    if mine.dtype.kind == "f":
        differ &= ~(np.isnan(mine) & np.isnan(theirs))
    return int(np.count_nonzero(differ)), int(np.argmax(differ))


def _same_bits(one: Content, two: Content) -> bool:
    """Whether all buffers are the same. If not, values may still be: bits of what is missing do not count."""
    forms, lengths, buffers = zip(
        *(ak.to_buffers(ak.to_packed(each, highlevel=False)) for each in (one, two)), strict=True
    )
    return (
        lengths[0] == lengths[1]
        and forms[0] == forms[1]
        and all(
            np.array_equal(buffers[0][key].view(np.uint8), buffers[1][key].view(np.uint8))
            for key in buffers[0]
        )
    )


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        # The sign of zero counts: diff reports every change.
        return one.hex() == two.hex()
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool(one == two)
