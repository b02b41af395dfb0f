"""`colonnade verify`: every checksum, every page."""

from __future__ import annotations

import click

from colonnade import _core
from colonnade.dataset import DataSet
from colonnade.errors import Error

from .common import progress_bar

__all__ = ["verify"]


@click.command()
@click.argument("file")
@click.argument("names", nargs=-1)
@click.pass_context
def verify(context: click.Context, file: str, names: tuple[str, ...]) -> None:
    """Check all data sets of FILE, or those named: all checksums, and every page is decoded.

    The exit status is 0 if everything is as it was written and 1 otherwise.
    """
    damaged = 0
    for name in names or _core.data_sets(file):
        try:
            pages = _verify(file, name)
        except Error as error:
            damaged += 1
            click.echo(f"{name}: damaged: {error}", err=True)
        else:
            click.echo(f"{name}: {pages} pages are as they were written")
    context.exit(1 if damaged else 0)


def _verify(file: str, name: str) -> int:
    with DataSet(file, name) as data_set, progress_bar("pages") as progress:
        task = progress.add_task(name, total=None)
        return data_set.verify(lambda done, pages: progress.update(task, completed=done, total=pages))
