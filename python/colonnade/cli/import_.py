"""`colonnade import`: data sets from any place to any other, and what becomes one: TTrees and tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from colonnade import _core
from colonnade.errors import FormatError, NotFoundError, UsageError
from colonnade.importing.copying import CopyReport, copy
from colonnade.importing.table_files import table_format
from colonnade.importing.tables import TableReport, import_table
from colonnade.importing.trees import ImportReport, import_tree, trees
from colonnade.reading.opening import split_target

from .common import bytes_text, fields_option, json_option, number_or_text, print_json, transfer_options
from .progress import TransferBar, told

__all__ = ["import_"]


@click.command("import", short_help="Copy data sets; convert TTrees, Parquet, Arrow, ORC, CSV, JSON.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.argument("destination")
@click.option("--name", help="Path of the data set or tree in the sources, if there are several.")
@click.option("--tree", help="Path of the TTree in the sources, even if an RNTuple has this name, too.")
@click.option(
    "--destination-name", help="Path of the data set in the destination; default: as in the source."
)
@fields_option(
    "--columns",
    "Fields, branches or columns, or wildcards (Muon_*), separated by commas; names with commas in double quotes.",
)
@click.option(
    "--rename",
    metavar="OLD=NEW",
    multiple=True,
    help="Tables: name of the field for a column, such as 'Time (s)=time'; may be repeated.",
)
@click.option(
    "--format",
    type=click.Choice(["parquet", "arrow", "orc", "csv", "json"]),
    help="Tables: the format of the sources; by default from the extension.",
)
@click.option("--delimiter", help="Tables: of CSV, by default a comma, and a tab in .tsv files.")
@click.option("--encoding", help="Tables: of CSV, such as latin-1; by default UTF-8.")
@click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    show_default=True,
    help="Tables: of CSV, what separates the digits of a fraction; with a comma, columns are separated by ;.",
)
@click.option("--no-header", is_flag=True, help="Tables: of CSV without names in the first line: f0, f1, ...")
@fields_option(
    "--column-names", "Tables: of CSV without names in the first line, those of all columns: time,x."
)
@click.option(
    "--skip-rows",
    type=click.IntRange(min=0),
    default=0,
    metavar="COUNT",
    help="Tables: of CSV, lines to leave out at the beginning of each file.",
)
@click.option(
    "--decimals-as",
    type=click.Choice(["refuse", "double", "int64", "text"]),
    default="refuse",
    show_default=True,
    help="Tables: what becomes of decimal numbers.",
)
@click.option(
    "--compression",
    help="Compression, such as zstd:5, lz4, none, or ROOT's 505. Default: RNTuples keep theirs, TTrees get zstd:5.",
)
@click.option("--overwrite", is_flag=True, help="Replace the destination.")
@click.option("--resume", is_flag=True, help="Continue an interrupted import.")
@click.option(
    "--mapping",
    type=click.Choice(["locality", "object_per_page"]),
    default="locality",
    show_default=True,
    help="How an object store holds pages.",
)
@click.option(
    "--splice-size",
    metavar="SIZE",
    default="1 MiB",
    show_default=True,
    help="Size up to which pages are written together.",
)
@click.option("--object-class", default="", help="Object class in DAOS, such as SX.")
@transfer_options
@click.option(
    "--discard-unrepaired",
    is_flag=True,
    help="Add to a file with clusters that `repair` could recover; they may be lost.",
)
@click.option("--skip-unreadable", is_flag=True, help="TTrees: skip branches that cannot be imported.")
@click.option("--no-grouping", is_flag=True, help="TTrees: keep arrays that share a counter separate.")
@click.option(
    "--no-aliases", is_flag=True, help="TTrees: add no projected fields under the names of such arrays."
)
@click.option(
    "--step-size", metavar="SIZE", default="32 MB", show_default=True, help="TTrees: bytes to read at a time."
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="TTrees: threads for decompression; default: one per processor.",
)
@json_option
@click.pass_context
def import_(context: click.Context, /, **given: Any) -> None:
    """Copy data sets from SOURCE... to DESTINATION: files, files in S3, object stores.

    RNTuples are copied page by page; by default pages stay as they are stored. TTrees are read with uproot, and
    Parquet, Arrow, ORC, CSV and JSON files, and folders of them, with pyarrow. Several sources with the same fields
    become one data set. Sources and destinations are "f.root" or "f.root:Events", and names of sources may have
    wildcards; object stores are obj:///path, s3://bucket/prefix, rados://pool/namespace and daos://pool/container.
    """
    if given["format"] or any(map(table_format, given["sources"])):
        _refuse_options_of_trees(context)
        _shown(_import_tables(given), given)
        return
    for name in (
        "rename",
        "delimiter",
        "encoding",
        "decimal",
        "no_header",
        "column_names",
        "skip_rows",
        "decimals_as",
    ):
        if given[name] and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise UsageError(
                f"--{name.replace('_', '-')} is for tables",
                "--format, if the sources are tables of another extension",
            )
    named = [_place(source, given["tree"] or given["name"]) for source in given["sources"]]
    sources = [(file, name) for uri, name in named for file in _core.expand_names([uri])]
    kinds = {_is_tree(*source, wanted=given["tree"] is not None) for source in sources}
    if len(kinds) > 1:
        raise UsageError("some sources are TTrees, others are RNTuples", "import them one after the other")
    if kinds == {False}:
        _refuse_options_of_trees(context)
    _shown((_import_trees if kinds.pop() else _copy)(sources, given), given)


def _refuse_options_of_trees(context: click.Context) -> None:
    for name in ("skip_unreadable", "no_grouping", "no_aliases", "step_size", "threads"):
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name.replace('_', '-')} is for TTrees, which these sources are not")


def _shown(report: CopyReport | ImportReport | TableReport, given: dict[str, Any]) -> None:
    if given["as_json"]:
        print_json(dataclasses.asdict(report))
    else:
        for line in _lines(report, given["destination"]):
            click.echo(line)


def _place(source: str, name: str | None) -> tuple[str, str]:
    uri, found = split_target(source)
    return uri, found or name or ""


def _is_tree(uri: str, name: str, *, wanted: bool) -> bool:
    """Whether this is a TTree: what is no RNTuple."""
    if wanted:
        return True
    try:
        names = _core.data_sets(uri)
    except NotFoundError:
        return False  # copying says what is missing
    except FormatError:
        return True
    if name.strip("/") in names or (names and not name):
        return False
    return not names or name.strip("/") in trees(uri)


def _common(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "destination_name": given["destination_name"],
        "columns": given["columns"],
        "overwrite": given["overwrite"],
        "container": given["container"],
        "direct_io": given["direct_io"],
        "discard_unrepaired": given["discard_unrepaired"],
        "object_mapping": given["mapping"],
        "splice_size": given["splice_size"],
        "object_class": given["object_class"],
    }


def _sizes(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: given[name] for name in ("compression", "page_size", "cluster_size") if given[name] is not None
    }


# ---- RNTuples


def _copy(sources: Sequence[tuple[str, str]], given: dict[str, Any]) -> CopyReport:
    every = number_or_text(given["checkpoint_every"])
    with TransferBar("copying") as bar, told("--resume continues after the last checkpoint"):
        return copy(
            [source if source[1] else source[0] for source in sources],
            given["destination"],
            resume=given["resume"],
            verify=given["verify"] or False,
            checkpoint_every=every,
            progress=bar.copying,
            **_common(given),
            **_sizes(given),
        )


# ---- TTrees


def _import_trees(sources: Sequence[tuple[str, str]], given: dict[str, Any]) -> ImportReport:
    every = number_or_text(given["checkpoint_every"])
    with TransferBar("importing") as bar, told("--resume continues after the last checkpoint"):
        return import_tree(
            list(sources),
            given["destination"],
            resume=given["resume"],
            verify=given["verify"] is not None,
            skip_unreadable=given["skip_unreadable"],
            grouping=not given["no_grouping"],
            aliases=not given["no_aliases"],
            step_size=given["step_size"],
            threads=given["threads"],
            checkpoint_every=every,
            progress=bar.importing,
            **_common(given),
            **_sizes(given),
        )


# ---- Tables


def _import_tables(given: dict[str, Any]) -> TableReport:
    if given["resume"]:
        raise UsageError("imports of tables cannot be resumed", "--overwrite, to begin again")
    if given["tree"] or given["name"]:
        raise UsageError("a table has no named data sets", "--destination-name, to name the new data set")
    pairs = [text.rpartition("=") for text in given["rename"]]
    if not all(old and new for old, _, new in pairs):
        raise UsageError("--rename takes two names", "--rename 'Time (s)=time'")
    every = given["checkpoint_every"]
    with TransferBar("importing") as bar:
        return import_table(
            given["sources"],
            given["destination"],
            rename={old: new for old, _, new in pairs},
            format=given["format"],
            delimiter=given["delimiter"],
            encoding=given["encoding"],
            decimal=given["decimal"],
            header=not given["no_header"],
            column_names=given["column_names"],
            skip_rows=given["skip_rows"],
            decimals_as=given["decimals_as"],
            verify=given["verify"] is not None,
            checkpoint_every=None if every is None else number_or_text(every),
            progress=bar.reading,
            **_common(given),
            **_sizes(given),
        )


# ---- What people see


def _lines(report: CopyReport | ImportReport | TableReport, destination: str) -> list[str]:
    rate = report.bytes_read / max(report.seconds, 1e-3)
    moved = f"{bytes_text(report.bytes_read)} in {report.seconds:.1f} s, {bytes_text(rate)}/s"
    lines = [f"{destination}: {report.entries} entries in '{report.data_set}', {moved}"]
    if not isinstance(report, TableReport) and report.resumed_entries:
        lines.append(f"{report.resumed_entries} entries were there already")
    if isinstance(report, CopyReport):
        lines += [f"note: {note}" for note in report.notes]
    elif isinstance(report, TableReport):
        lines += [f"renamed: '{column}' to '{field}'" for column, field in report.renamed.items()]
    else:
        lines += [f"left out: '{one.branch}' of type '{one.type}': {one.reason}" for one in report.skipped]
    if report.verified:
        lines.append("verified: both sides are the same")
    return lines
