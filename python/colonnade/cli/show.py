"""`colonnade show`: values."""

from __future__ import annotations

import awkward as ak
import click

from colonnade.dataset import DataSet
from colonnade.errors import ConversionError

from .common import print_json

__all__ = ["show"]


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
            f"'{text}' is no range of entries; write a:b", param_hint="--entries"
        ) from None
    if not colon and start is not None:
        return start, start + 1 if start != -1 else None
    return start, stop


@click.command()
@click.argument("file")
@click.argument("name", required=False)
@click.option("--entries", metavar="A:B", help="Entries A to B, B excluded; the first ten if left out.")
@click.option(
    "--fields", metavar="NAMES", multiple=True, help="Names, paths or wildcards, separated by commas."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of entries.")
@click.option("--schema", is_flag=True, help="Print the schema instead of values.")
def show(
    file: str, name: str | None, entries: str | None, fields: tuple[str, ...], as_json: bool, schema: bool
) -> None:
    """Print the values of the data set NAME in FILE; NAME may be left out if there is only one."""
    start, stop = _range(entries)
    names = [part for text in fields for part in text.split(",") if part] or None
    with DataSet(file, name or "") as data_set:
        if schema:
            click.echo(str(data_set.schema))
        elif as_json:
            try:
                rows = ak.to_list(data_set.arrays(names, entry_start=start, entry_stop=stop))
            except UnicodeDecodeError as error:
                raise ConversionError(f"a string is not UTF-8 ({error})", "leave out --json") from None
            print_json(rows)
        else:
            begin, end, _ = slice(start, stop).indices(data_set.num_entries)
            for number, text in data_set.entry_texts(begin, max(begin, end), names):
                click.echo(f"{number}: {text}")
