"""`colonnade verify`: every checksum, every page."""

from __future__ import annotations

import click

from colonnade import _core
from colonnade.errors import FormatError, UnsupportedError
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import split_target

from .common import count_text, file_and_name, progress_bar

__all__ = ["verify"]


@click.command(short_help="Check every checksum and every page.")
@click.argument("file")
@click.argument("names", nargs=-1)
@click.pass_context
def verify(context: click.Context, file: str, names: tuple[str, ...]) -> None:
    """Check all data sets of FILE, or those named: verify all checksums and decode every page.

    The exit status is 0 if everything is intact and 1 otherwise.
    """
    uri, found = split_target(file)
    for name in names:
        file_and_name(file, name)  # refuses those of files
    known = _core.data_sets(uri)
    wanted = names or ((found,) if found else known)
    if not known or any(name.strip("/") not in known for name in wanted):
        DataSet(
            uri, next((name for name in wanted if name.strip("/") not in known), "")
        )  # says what is there
    good = [_verify(uri, name) for name in wanted]
    context.exit(0 if all(good) else 1)


def _verify(file: str, name: str) -> bool:
    try:
        with DataSet(file, name) as data_set, progress_bar("pages") as progress:
            task = progress.add_task(name, total=None)
            pages = data_set.verify(lambda done, pages: progress.update(task, completed=done, total=pages))
    except (FormatError, UnsupportedError) as error:
        click.echo(
            f"{name}: damaged: {error}" if isinstance(error, FormatError) else f"{name}: {error}", err=True
        )
        return False
    click.echo(f"{name}: {count_text(pages, 'page')}, all intact")
    return True
