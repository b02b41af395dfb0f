"""`colonnade diff`: whether two data sets hold the same."""

from __future__ import annotations

from typing import Any

import click

from colonnade.arrays.lazy import awkward as ak
from colonnade.reading.dataset import DataSet
from colonnade.reading.steps import clusters, steps

from .common import count_text, fields_option, file_and_name

__all__ = ["diff", "differences"]

_STEP = "32 MB"


@click.command()
@click.argument("file")
@click.argument("other")
@fields_option("--fields")
@click.option("--schema", is_flag=True, help="Compare types only, not values.")
@click.pass_context
def diff(context: click.Context, file: str, other: str, fields: list[str] | None, schema: bool) -> None:
    """Compare the data sets of FILE and OTHER: fields, types, values. Places are f.root or f.root:Events.

    Floating-point numbers are the same if their bits are, or if both are not a number. The exit status is 0 if nothing
    differs and 1 otherwise.
    """
    with DataSet(*file_and_name(file, None)) as left, DataSet(*file_and_name(other, None)) as right:
        found = differences(left, right, fields, values=not schema)
        for line in found:
            click.echo(line)
        if not found:
            what = "types" if schema else count_text(left.num_entries, "entry")
            click.echo(f"the same: {count_text(len(left.select(fields).keys()), 'field')}, {what}")
    context.exit(1 if found else 0)


def differences(
    left: DataSet, right: DataSet, fields: list[str] | None = None, *, values: bool = True
) -> list[str]:
    """Say in a line each what differs between two data sets; nothing if they hold the same."""
    mine, theirs = left.schema.select(fields), right.schema.select(fields)
    found = [f"- {name}: {info.type}" for name, info in mine.items() if name not in theirs]
    found += [f"+ {name}: {info.type}" for name, info in theirs.items() if name not in mine]
    shared = [name for name in mine if name in theirs]
    changed = [name for name in shared if str(mine[name]) != str(theirs[name])]
    found += [f"! {name}: {mine[name].type} -> {theirs[name].type}" for name in changed]
    if left.num_entries != right.num_entries:
        found.append(f"! {count_text(left.num_entries, 'entry')} -> {count_text(right.num_entries, 'entry')}")
    if values:
        same = [name for name in shared if name not in changed]
        found += _value_differences(left, right, same)
    return found


def _value_differences(left: DataSet, right: DataSet, names: list[str]) -> list[str]:
    found = []
    stop = min(left.num_entries, right.num_entries)
    for name in names:
        count, first = 0, None
        columns = sorted({c for part in left.schema[name].walk() for c in part.columns})
        for start, end in steps(clusters(left.descriptor, columns), _STEP, 0, stop):
            mine, theirs = (
                ak.to_list(each.arrays([name], entry_start=start, entry_stop=end)[name])
                for each in (left, right)
            )
            for number, (one, two) in enumerate(zip(mine, theirs, strict=True), start):
                if not _same(one, two):
                    count += 1
                    first = (number, one, two) if first is None else first
        if first is not None:
            number, one, two = first
            found.append(
                f"! {name}: {count_text(count, 'value')} of {stop} differ, first at entry {number}: {one!r} -> {two!r}"
            )
    return found


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        # The sign of zero counts: diff is for whoever wants to know whether anything was changed.
        return one.hex() == two.hex()
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool(one == two)
