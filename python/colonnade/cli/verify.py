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
    good = [_verify(file, name) for name in names or _core.data_sets(file)]
    context.exit(0 if all(good) else 1)


def _verify(file: str, name: str) -> bool:
    try:
        with DataSet(file, name) as data_set, progress_bar("pages") as progress:
            task = progress.add_task(name, total=None)
            pages = data_set.verify(lambda done, pages: progress.update(task, completed=done, total=pages))
    except Error as error:
        click.echo(f"{name}: damaged: {error}", err=True)
        return False
    click.echo(f"{name}: {pages} pages are as they were written")
    return True
