"""What several commands need."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade import _core
from colonnade.errors import ConversionError, Error, UsageError
from colonnade.misuse import column_name
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import datasets, split_target

if TYPE_CHECKING:  # imported on first use, as not every command prints a table
    from rich.console import Console
    from rich.progress import Progress

__all__ = [
    "bytes_text",
    "compression_name",
    "compression_option",
    "console",
    "count_text",
    "fields_option",
    "file_and_name",
    "file_size",
    "json_option",
    "missing_option",
    "name_argument",
    "number_or_text",
    "print_json",
    "progress_bar",
    "transfer_options",
]

T = TypeVar("T")

_WIDEST = 4096
_ALGORITHMS = {0: "none", 1: "zlib", 2: "lzma", 3: "zlib", 4: "lz4", 5: "zstd"}


def console() -> Console:
    """Make the console for tables: as wide as the terminal, or as needed where there is none."""
    from rich.console import Console

    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=_WIDEST)


def file_and_name(file: str, name: str | None) -> tuple[str, str]:
    """Split FILE given as "f.root:Events"; the name is empty where none is given."""
    uri, found = split_target(file)
    if name:
        column_name(name, "data set")
    if found and name and found != name:
        raise click.UsageError(f"the data set is named twice: '{found}' and '{name}'")
    if name and name.endswith(".root"):
        raise click.UsageError(f"'{name}' is the name of a file, not of a data set: give one file at a time")
    return uri, found or name or ""


def file_size(uri: str) -> int | None:
    """Bytes of a local file; stores and files on servers are not asked for theirs."""
    try:
        return os.path.getsize(_core.local_path(uri))
    except (OSError, UsageError):
        return None


def missing_option(command: Callable[..., T]) -> Callable[..., T]:
    """Add --missing, for FILE with wildcards."""
    return click.option(
        "--missing",
        type=click.Choice(["error", "fill", "skip"]),
        default="error",
        show_default=True,
        help="What to do about fields that some of several files lack.",
    )(command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
compression_option = click.option(
    "--compression",
    default="zstd:5",
    show_default=True,
    help="Compression, such as zstd:5, lz4, zlib:1, lzma:7, none, or ROOT's 505.",
)


def transfer_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add what commands take that bring data sets to another place: sizes, checkpoints, verification."""
    options = (
        click.option(
            "--page-size", metavar="SIZE", help="Maximum size of a page before compression, such as '64 KiB'."
        ),
        click.option(
            "--cluster-size",
            metavar="SIZE",
            help="Target compressed size of a cluster, such as '64 MiB'.",
        ),
        click.option(
            "--verify",
            is_flag=False,
            flag_value="values",
            type=click.Choice(["pages", "values"]),
            help="Read both sides again afterwards, and compare pages or values.",
        ),
        click.option(
            "--checkpoint-every",
            metavar="TIME",
            default="30s",
            show_default=True,
            help="How often to commit: a number of clusters, or a time.",
        ),
        click.option(
            "--container",
            type=click.Choice(["root", "bare"]),
            default="root",
            show_default=True,
            help="For new files: a ROOT file, or a file with this data set only.",
        ),
        click.option("--direct-io", is_flag=True, help="Bypass the page cache."),
    )
    for option in reversed(options):  # as decorators, from the last one on
        command = option(command)
    return command


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun: "1 page", "2 pages"."""
    return (
        f"{count} {noun}"
        if count == 1
        else f"{count} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"
    )


def number_or_text(text: str) -> int | str:
    """Return a value that is a number, of entries or clusters, or a size or time as a text."""
    try:
        return int(text)
    except ValueError:
        return text


def _complete_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        return [name for name in datasets(context.params["file"]) if name.startswith(incomplete)]
    except (Error, KeyError):
        return []


def _complete_fields(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    head, comma, last = incomplete.rpartition(",")
    # While an option waits for its value, click has not told arguments apart yet: the first that is a data set counts.
    for file in filter(None, [context.params.get("file"), *context.args]):
        try:
            with DataSet(*file_and_name(file, context.params.get("name"))) as data_set:
                found = data_set.keys(recursive=True)
        except (Error, click.ClickException):
            continue
        return [f"{head}{comma}{path}" for path in found if path.startswith(last)]
    return []


def _split_fields(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> list[str] | None:
    names = [name for row in csv.reader(texts, skipinitialspace=True) for name in row if name]
    if texts and not names:
        raise click.BadParameter("no names are given")
    return names or None


def fields_option(
    flag: str, what: str = "Names, paths or wildcards, separated by commas: pt,jets.eta,Muon_*."
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make the option that selects fields: a list of names, or None. The shell completes them.

    Names are separated by commas, one with a comma is in double quotes, and the option may be repeated.
    """
    return click.option(
        flag,
        metavar="NAMES",
        multiple=True,
        callback=_split_fields,
        shell_complete=_complete_fields,
        help=what,
    )


name_argument = click.argument("name", required=False, shell_complete=_complete_names)
"""The argument NAME, a data set of FILE."""


def bytes_text(count: float) -> str:
    """Return a size as people read it: "1.5 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def compression_name(setting: int) -> str:
    """Return the name of ROOT's number for a compression: "zstd:5"."""
    algorithm, level = divmod(setting, 100)
    if level == 0:
        return "none"
    return f"{_ALGORITHMS.get(algorithm, str(algorithm))}:{level}"


def print_json(value: Any) -> None:
    """Print as JSON; numbers that JSON lacks become the texts "nan", "inf" and "-inf".

    Raises:
        ConversionError: a text that is not Unicode.
    """
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConversionError(f"a text is not valid UTF-8 ({error.reason})", "leave out --json") from None
    click.echo(text)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


def progress_bar(unit: str) -> Progress:
    """Make a progress bar on standard error that leaves nothing behind; shown on terminals only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    out = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=out, transient=True, disable=not out.is_terminal)
