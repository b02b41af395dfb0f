"""`colonnade show`: values."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import click

from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import UnsupportedError
from colonnade.reading.chain import MissingFields
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import open as open_data_set

from .common import fields_option, file_and_name, missing_option, name_argument, print_json

__all__ = ["show"]

_LINE = 110


def _range(text: str | None) -> tuple[int | None, int | None]:
    """Split "a:b", "a:", ":b" or "a"."""
    if text is None:
        return None, 10
    first, colon, last = text.partition(":")
    try:
        start = int(first) if first else None
        stop = int(last) if last else None
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is not a range of entries; write A:B, such as 0:10", param_hint="--entries"
        ) from None
    if not colon and start is not None:
        return start, start + 1 if start != -1 else None
    return start, stop


def _axis(text: str | None) -> tuple[float, float] | None:
    """Split "low:high"."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise click.BadParameter(
            f"'{text}' is not a range of values; write LOW:HIGH, such as 0:100", param_hint="--range"
        )
    return low, high


@click.command(short_help="Print values, or a histogram.")
@click.argument("file")
@name_argument
@click.option(
    "--entries", metavar="A:B", help="Entries from A up to, but not including, B; default: the first ten."
)
@fields_option("--fields")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of entries.")
@click.option("--schema", is_flag=True, help="Print the schema instead of values.")
@click.option("--histogram", metavar="EXPRESSION", help="Print a histogram of a column or an expression.")
@click.option(
    "--bins", type=click.IntRange(min=1), default=40, show_default=True, help="Bins of the histogram."
)
@click.option(
    "--range", "axis", metavar="LOW:HIGH", help="Range of the histogram; default: that of the values."
)
@click.option(
    "--attributes", metavar="SET", help="Print an attribute set; with --entries, its rows for these entries."
)
@missing_option
def show(
    file: str,
    name: str | None,
    entries: str | None,
    fields: list[str] | None,
    as_json: bool,
    schema: bool,
    histogram: str | None,
    bins: int,
    axis: str | None,
    attributes: str | None,
    missing: MissingFields,
) -> None:
    """Print values of the data set NAME in FILE; NAME is optional if there is only one.

    FILE may also be f.root:Events, and may have wildcards ('run*.root'). Entries that are too long for a line are
    printed with one field per line. On a terminal, the output goes through a pager.
    """
    _check_options(schema, histogram is not None, attributes is not None, as_json, bool(fields))
    start, stop = _range(entries)
    if axis is not None and histogram is None:
        raise click.UsageError("--range is that of a histogram: --histogram COLUMN")
    edges = _axis(axis)
    with open_data_set(file_and_name(file, name), missing=missing) as data_set:
        if schema:
            shown = data_set.schema.select(fields).values() if fields else [data_set.schema]
            click.echo("\n".join(map(str, shown)))
        elif attributes is not None:
            _show_attributes(data_set, attributes, entries, as_json)
        elif histogram is not None:
            click.echo(_histogram(data_set, histogram, bins, edges, entries))
        elif as_json:
            print_json(ak.to_list(data_set.arrays(fields, entry_start=start, entry_stop=stop)))
        else:
            begin, end, _ = slice(start, stop).indices(data_set.num_entries)
            if data_set.num_entries == 0:
                click.echo(f"'{data_set.name}' has no entries", err=True)
            elif entries and begin >= end:
                click.echo(f"no entries in {entries}: there are {data_set.num_entries}", err=True)
            lines = _lines(data_set, begin, max(begin, end), fields)
            if sys.stdout.isatty():
                click.echo_via_pager(lines)
            else:
                for line in lines:
                    click.echo(line, nl=False)


def _check_options(schema: bool, histogram: bool, attributes: bool, as_json: bool, has_fields: bool) -> None:
    """Refuse options that would be ignored."""
    options = {"--schema": schema, "--histogram": histogram, "--attributes": attributes}
    given = [option for option, is_given in options.items() if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} cannot be combined: one of them at a time")
    if as_json and (schema or histogram):
        raise click.UsageError(f"{given[0]} prints no JSON: leave out --json")
    if has_fields and (histogram or attributes):
        raise click.UsageError(f"{given[0]} takes no fields: leave out --fields")


def _show_attributes(data_set: DataSet, name: str, entries: str | None, as_json: bool) -> None:
    found = data_set.attributes[name]
    ranges = found.ranges.tolist()
    numbers = list(range(found.num_rows))
    if entries is not None:
        begin, end, _ = slice(*_range(entries)).indices(data_set.num_entries)
        numbers = [n for n in numbers if _touches(ranges[n][0], ranges[n][1], begin, end)]
    if as_json:
        rows = (found.row(number) for number in numbers)
        print_json([{"first": row.first, "last": row.last, "values": row.values} for row in rows])
        return
    for number in numbers:
        first, last = ranges[number]
        ((_, text),) = found.row_texts(number, number + 1)
        click.echo(f"{number}: entries {first} to {last}: {text}")


def _touches(first: int, last: int, begin: int, end: int) -> bool:
    """Whether a range shares entries with another, or is empty and lies in it."""
    return begin <= first < end if first == last else first < end and begin < last


def _lines(data_set: DataSet, begin: int, end: int, fields: list[str] | None) -> Iterator[str]:
    # Projected fields show what others hold: they come only where they are named.
    shown = fields or [name for name in data_set if not data_set.schema[name].projected]
    if not shown:
        shown = data_set.keys()
    for number, text in data_set.entry_texts(begin, end, shown):
        if len(text) <= _LINE:
            yield f"{number}: {text}\n"
            continue
        each = (value for path in shown for _, value in data_set.entry_texts(number, number + 1, path))
        # Together: each piece is a write of its own.
        yield "".join([f"{number}:\n", *(f"    {_without_braces(value)}\n" for value in each)])


def _without_braces(text: str) -> str:
    return text[1:-1] if text.startswith("{") and text.endswith("}") else text


def _histogram(
    data_set: DataSet,
    expression: str,
    bins: int,
    wanted: tuple[float, float] | None,
    entries: str | None,
) -> str:
    from colonnade.frame import DataFrame

    start, stop = _range(entries) if entries is not None else (None, None)
    begin, end, _ = slice(start, stop).indices(data_set.num_entries)
    frame = DataFrame(data_set, entries=(begin, max(begin, end)), progress=False)
    frame.column_type(expression)  # whose errors do not speak of statistics
    statistics = frame.stats(expression)
    if statistics.value.count == 0:
        return f"{expression}: no values"
    low, high = wanted or (statistics.value.min, statistics.value.max)
    if not math.isfinite(high - low):
        raise UnsupportedError(
            f"the values of '{expression}' reach from {low} to {high}, which no axis can cover",
            "a range (--range 0:100)",
        )
    edges = (low, high) if high > low else (low - 0.5, low + 0.5)
    below, *filled, above = frame.histo1d(("", "", bins, *edges), expression).value.values(flow=True)
    if wanted is None:  # the largest value belongs into the last bin, where an axis says overflow
        filled[-1] += above
    most = max(*filled, 1)
    found = statistics.value
    spread = f"mean {found.mean:.6g}, standard deviation {found.stddev:.6g}"
    outside = f"; {int(below + above)} are outside of the range" if wanted else ""
    lines = [f"{expression}: {found.count} values, {spread}{outside}"]
    step = (edges[1] - edges[0]) / bins
    for number, content in enumerate(filled):
        bar = "\u2588" * round(60 * content / most)
        lines.append(f"{edges[0] + number * step:>12.5g} | {bar} {int(content)}")
    return "\n".join(lines)
