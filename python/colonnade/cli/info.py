"""`colonnade info` and `colonnade ls`: what a file holds and what it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from colonnade import _core
from colonnade.errors import UsageError, redacted
from colonnade.reading.dataset import DataSet, DataSetOpener
from colonnade.reading.opening import datasets
from colonnade.schema.fields import FieldInfo

from .common import (
    bytes_text,
    compression_name,
    console,
    count_text,
    fields_option,
    file_and_name,
    file_size,
    json_option,
    name_argument,
    print_json,
)
from .tables import Column, Table
from .treemap import draw

__all__ = ["info", "ls"]


def _sizes(columns: list[int], statistics: list[_core.ColumnStatistics]) -> dict[str, Any]:
    chosen = [statistics[column] for column in columns]
    stored, packed = sum(s.stored_bytes for s in chosen), sum(s.packed_bytes for s in chosen)
    return {
        "pages": sum(s.pages for s in chosen),
        "stored_bytes": stored,
        "packed_bytes": packed,
        "ratio": round(packed / stored, 3) if stored else None,
    }


def _describe_field(field: FieldInfo, statistics: list[_core.ColumnStatistics]) -> dict[str, Any]:
    below = [] if field.projected else [column for part in field.walk() for column in part.columns]
    return {
        "path": field.path,
        "type": field.type,
        "encodings": list(field.encodings),
        "unreadable": field.unreadable or None,
        "projected": field.projected,
        "description": field.description,
        **_sizes(below, statistics),
        "fields": [_describe_field(child, statistics) for child in field.children],
    }


def _describe_column_types(
    descriptor: _core.Descriptor, statistics: list[_core.ColumnStatistics]
) -> list[dict[str, Any]]:
    """Describe the types of columns, the largest first."""
    columns: dict[str, list[int]] = {}
    for number, column in enumerate(descriptor.columns):
        columns.setdefault(column.encoding.type, []).append(number)
    found = [
        {
            "type": name,
            "columns": len(chosen),
            "elements": sum(statistics[each].elements for each in chosen),
            **_sizes(chosen, statistics),
        }
        for name, chosen in columns.items()
    ]
    return sorted(found, key=lambda each: (-each["stored_bytes"], each["type"]))


def describe(data_set: DataSet, fields: list[str] | None = None) -> dict[str, Any]:
    """Describe a data set as `info --json` prints it: sizes in bytes, compressed (stored) and before (packed)."""
    chosen = data_set.schema if fields is None else data_set.schema.select(fields)
    descriptor = data_set.descriptor
    statistics = _core.column_statistics(descriptor)
    settings = sorted({compression_name(s.compression) for s in statistics if s.pages})
    return {
        "name": data_set.name,
        "description": data_set.description,
        "writer": descriptor.writer,
        "entries": data_set.num_entries,
        "clusters": len(_core.cluster_starts(descriptor)) - 1,
        "columns": len(statistics),
        "compression": settings,
        **_sizes(list(range(len(statistics))), statistics),
        "fields": [_describe_field(field, statistics) for field in chosen.values()],
        "column_types": _describe_column_types(descriptor, statistics),
        "attribute_sets": _describe_attribute_sets(data_set),
    }


def _describe_attribute_sets(data_set: DataSet) -> list[dict[str, Any]]:
    """Describe the attribute sets; unreadable ones have the reason instead of rows and fields."""
    found: list[dict[str, Any]] = []
    for name, rows, why in data_set.attributes.readable():
        if rows is None:
            found.append({"name": name, "unreadable": why})
            continue
        statistics = _core.column_statistics(rows.descriptor)
        fields = [{"path": each, "type": info.type} for each, info in rows.schema.items()]
        sizes = _sizes(list(range(len(statistics))), statistics)
        found.append({"name": name, "unreadable": None, "rows": rows.num_rows, **sizes, "fields": fields})
    return found


def measure(data_set: DataSet, fields: list[str] | None) -> dict[str, Any]:
    """Read fields once; what that took, as `info --metrics --json` prints it."""
    start = time.perf_counter()
    values = data_set.read_through(fields)
    return {
        **asdict(data_set.metrics),
        "value_bytes": values,
        "seconds": round(time.perf_counter() - start, 6),
    }


@click.command(short_help="Print fields, types, sizes and ratios.")
@click.argument("file")
@name_argument
@json_option
@click.option("--all", "everything", is_flag=True, help="List sub-fields, too.")
@click.option("--types", is_flag=True, help="List the types of columns instead of the fields.")
@click.option("--treemap", metavar="FILE", help="Draw the stored sizes: .svg, .png, .pdf, ...")
@click.option("--metrics", is_flag=True, help="Read all fields once and print the cost.")
@fields_option("--fields")
def info(
    file: str,
    name: str | None,
    as_json: bool,
    everything: bool,
    types: bool,
    treemap: str | None,
    metrics: bool,
    fields: list[str] | None,
) -> None:
    """Print the data sets of FILE: entries, clusters, and for each field type, size and ratio.

    --fields limits the table, the picture of --treemap, and what --metrics reads, to the named fields.
    """
    file, found_name = file_and_name(file, name)
    opener = None if found_name else DataSetOpener(file)
    names = opener.names if opener else [found_name]
    if treemap is not None and len(names) != 1:
        raise UsageError(
            f"a treemap shows one data set, and the file has {len(names)}", "the name of one behind the file"
        )
    found = []
    for each in names:
        with opener.open(each) if opener else DataSet(file, each) as data_set:
            found.append(describe(data_set, fields))
            if metrics:
                found[-1]["metrics"] = measure(data_set, fields)
    if treemap is not None:
        draw(found[0], treemap)
    size = file_size(file)
    if as_json:
        objects = [
            {"path": o.path, "class": o.class_name, "size": o.size} for o in _core.stored_objects(file)
        ]
        print_json({"file": file, "size": size, "data_sets": found, "other_objects": objects})
        return
    taken = "" if size is None else f"{bytes_text(size)}, "
    click.echo(f"{redacted(file)}: {taken}{count_text(len(found), 'data set')}")
    if not names:
        others = sorted({f"{o.class_name} '{o.path}'" for o in _core.stored_objects(file)})
        click.echo(
            f"  it holds {', '.join(others[:10])}; colonnade import converts TTrees"
            if others
            else "  it is empty"
        )
    for data in found:
        _print(data, everything, types)
        if metrics:
            _print_metrics(data["metrics"])


def _print(data: dict[str, Any], everything: bool, types: bool) -> None:
    ratio = f", ratio {data['ratio']:.2f}" if data["ratio"] else ""
    click.echo(
        f"\n{data['name']}: {count_text(data['entries'], 'entry')}, {count_text(data['clusters'], 'cluster')}, "
        f"{count_text(data['pages'], 'page')}, "
        f"{bytes_text(data['packed_bytes'])} stored in {bytes_text(data['stored_bytes'])}{ratio}"
    )
    click.echo(
        f"  written by {data['writer'] or 'an unknown program'}, compression {', '.join(data['compression']) or '-'}"
    )
    console().print(_types_table(data) if types else _fields_table(data, everything), crop=False)
    _print_attribute_sets(data["attribute_sets"])


_SIZES = [
    *(Column(title, right=True) for title in ("pages", "size", "stored", "ratio")),
    Column("share", style="green"),
]


def _types_table(data: dict[str, Any]) -> Table:
    numbers = [Column(title, right=True) for title in ("columns", "elements")]
    table = Table([Column("column type", style="cyan"), *numbers, *_SIZES])
    for each in data["column_types"]:
        cells = each["type"], str(each["columns"]), str(each["elements"])
        table.rows.append([*cells, *_size_cells(each, data["stored_bytes"])])
    return table


def _fields_table(data: dict[str, Any], everything: bool) -> Table:
    # Names are never broken, so that a search finds them. Types are, in a narrow terminal.
    types = [Column("type", folds=True, style="cyan"), Column("encoding", folds=True, style="dim")]
    table = Table([Column("field"), *types, *_SIZES])
    for top in data["fields"]:
        for name, field in _rows(top, "", "", everything):
            table.rows.append(_cells(name, field, data["stored_bytes"]))
    return table


def _print_attribute_sets(found: list[dict[str, Any]]) -> None:
    for each in found:
        if each["unreadable"]:
            click.echo(f"  attribute set {each['name']}: cannot be read: {each['unreadable']}")
            continue
        fields = ", ".join(f"{field['path']} ({field['type']})" for field in each["fields"])
        click.echo(
            f"  attribute set {each['name']}: {count_text(each['rows'], 'row')}, "
            f"{bytes_text(each['stored_bytes'])}, {fields}"
        )


def _print_metrics(taken: dict[str, Any]) -> None:
    rows = {
        "values": bytes_text(taken["value_bytes"]),
        "requests": f"{taken['requests']}",
        "bytes": f"{bytes_text(taken['bytes'])}, {bytes_text(taken['read_over_bytes'])} of them not wanted",
        "metadata": bytes_text(taken["metadata_bytes"]),
        "pages": f"{taken['pages']}, {taken['prefetched_used']} read ahead, {taken['prefetched_unused']} in vain",
        "memory ahead": bytes_text(taken["peak_ahead_bytes"]),
        "seconds": f"{taken['seconds']:.3f}, {taken['seconds_waiting']:.3f} of them waiting",
        "decoding": f"{taken['seconds_decoding']:.3f} s, all threads",
    }
    click.echo("  read once:")
    for name, text in rows.items():
        click.echo(f"    {name:12}  {text}")


def _rows(
    field: dict[str, Any], lead: str, below: str, everything: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a field and, if wanted, of all below it, with the branches of the tree in front of the names."""
    path: str = field["path"]
    yield lead + (path.rpartition(".")[2] if lead else path), field
    children = field["fields"] if everything else []
    for number, child in enumerate(children):
        last = number == len(children) - 1
        yield from _rows(
            child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), everything
        )


def _cells(name: str, field: dict[str, Any], total: int) -> list[str]:
    notes = f" -> {field['projected']}" if field["projected"] else ""
    notes += f" (cannot be read: {field['unreadable']})" if field["unreadable"] else ""
    return [name, field["type"] + notes, " ".join(field["encodings"]), *_size_cells(field, total)]


def _size_cells(sizes: dict[str, Any], total: int) -> list[str]:
    """The cells of `_SIZES`."""
    return [
        str(sizes["pages"]),
        bytes_text(sizes["packed_bytes"]),
        bytes_text(sizes["stored_bytes"]),
        f"{sizes['ratio']:.2f}" if sizes["ratio"] else "-",
        _bar(sizes["stored_bytes"] / total if total else 0.0),
    ]


def _bar(share: float, width: int = 10) -> str:
    eighths = round(share * width * 8)
    rest = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"[eighths % 8]
    return ("\u2588" * (eighths // 8) + rest).rstrip()


@click.command(short_help="List data sets and other objects.")
@click.argument("file")
@json_option
def ls(file: str, as_json: bool) -> None:
    """List the data sets and the other objects of FILE."""
    rows: list[dict[str, Any]] = [{"path": name, "class": "RNTuple", "size": None} for name in datasets(file)]
    rows += [{"path": o.path, "class": o.class_name, "size": o.size} for o in _core.stored_objects(file)]
    if as_json:
        print_json(rows)
        return
    width = max((len(str(row["path"])) for row in rows), default=0)
    for row in rows:
        size = "" if row["size"] is None else f"  {bytes_text(row['size'])}"
        click.echo(f"{row['path']!s:{width}}  {row['class']}{size}")
