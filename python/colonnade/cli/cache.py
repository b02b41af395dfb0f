"""`colonnade cache ...`: what a cache has, and what is done with it on purpose."""

from __future__ import annotations

import dataclasses
from datetime import datetime

import click
from rich.progress import Progress, TaskID

from colonnade import cache as caching
from colonnade.errors import NotFoundError, redacted

from .common import bytes_text, console, count_text, fields_option, json_option, print_json, progress_bar
from .tables import Column, Table

__all__ = ["cache"]

_home = click.option(
    "--home",
    metavar="HOME",
    help="The cache: a folder or an object store. Default: COLONNADE_CACHE, the configuration, or your own folder.",
)
_columns = fields_option("--columns", "Only these fields and their sub-fields, separated by commas.")


@click.group()
def cache() -> None:
    """Inspect and manage a cache of pages."""


@cache.command()
@_home
@json_option
def ls(home: str | None, as_json: bool) -> None:
    """List the cached data sets, most recently used first."""
    try:
        found = caching.ls(home)
    except NotFoundError:
        if home is not None or not caching._will_be_made():
            raise
        found = []
    if as_json:
        print_json([_plain(one) for one in found])
        return
    names = ("data set", "size", "columns", "last use", "users")
    table = Table(
        [
            Column(name, right=name in ("size", "columns"), folds=name in ("data set", "users"))
            for name in names
        ],
        edge="",
    )
    for one in found:
        pinned = " (pinned)" if one.pinned else ""
        title = f"{redacted(one.uri)}:{one.name}{pinned}" if one.uri else "(its record is damaged)"
        sizes = bytes_text(one.bytes), str(len(one.columns))
        table.rows.append([title, *sizes, _when(one.last_use), ", ".join(one.users)])
    console().print(table, crop=False)
    click.echo(f"{count_text(len(found), 'data set')}, {bytes_text(sum(one.bytes for one in found))}")


@cache.command()
@click.argument("uri")
@_home
@json_option
def info(uri: str, home: str | None, as_json: bool) -> None:
    """Show what is cached of URI, column by column."""
    found = caching.info(uri, home)
    if as_json:
        print_json([_plain(one) for one in found])
        return
    for one in found:
        click.echo(f"{redacted(one.uri)}:{one.name}, version {one.version}, {bytes_text(one.bytes)}")
        names = ("column", "field", "clusters", "pages", "size", "last use")
        texts = ("field", "last use")
        table = Table(
            [Column(name, right=name not in texts, folds=name == "field") for name in names], edge=""
        )
        for column in one.columns:
            field = column.field + (" (pinned)" if column.pinned else "")
            counts = str(column.clusters), str(column.pages), bytes_text(column.bytes)
            table.rows.append([str(column.column), field, *counts, _when(column.last_use)])
        console().print(table, crop=False)
    if not found:
        click.echo("the cache has nothing of it")


@cache.command()
@click.argument("uris", metavar="URI...", nargs=-1, required=True)
@_columns
@_home
def warm(uris: tuple[str, ...], columns: list[str] | None, home: str | None) -> None:
    """Read data sets into the cache."""
    for uri in uris:
        with progress_bar("%") as bar:
            task = bar.add_task(redacted(uri), total=100)

            def show(done: float, bar: Progress = bar, task: TaskID = task) -> None:
                bar.update(task, completed=int(100 * done))

            added = caching.warm(uri, columns=columns, home=home, progress=show)
        click.echo(f"{redacted(uri)}: {bytes_text(added)} added")


@cache.command()
@_home
def verify(home: str | None) -> None:
    """Check every cached page, and remove damaged ones."""
    found = caching.verify(home)
    click.echo(f"{count_text(found.pages, 'page')}, {bytes_text(found.bytes)}: right")
    if found.unknown:
        click.echo(f"{count_text(found.unknown, 'value')}: not checked, since the metadata are missing")
    if found.damaged:
        click.echo(f"{count_text(found.damaged, 'value')}: damaged, and removed")
        raise click.exceptions.Exit(1)


@cache.command()
@click.argument("uri")
@_columns
@_home
def pin(uri: str, columns: list[str] | None, home: str | None) -> None:
    """Keep what is cached of URI when space is needed."""
    click.echo(f"{count_text(caching.pin(uri, columns, home), 'data set')} pinned")


@cache.command()
@click.argument("uri")
@_home
def unpin(uri: str, home: str | None) -> None:
    """Undo `pin`."""
    click.echo(f"{count_text(caching.unpin(uri, home), 'data set')} not pinned any more")


@cache.command()
@click.argument("uris", metavar="URI...", nargs=-1, required=True)
@_columns
@_home
def rm(uris: tuple[str, ...], columns: list[str] | None, home: str | None) -> None:
    """Remove what is cached of URI."""
    for uri in uris:
        click.echo(f"{redacted(uri)}: {bytes_text(caching.rm(uri, columns, home))} removed")


@cache.command()
@_home
def gc(home: str | None) -> None:
    """Remove leftovers of killed processes, outdated pages, and what exceeds the budget."""
    found = caching.gc(home)
    click.echo(f"{count_text(found.leftovers, 'unfinished value')} removed")
    click.echo(f"{bytes_text(found.outdated)} of data sets that have changed removed")
    click.echo(f"{bytes_text(found.evicted)} above the budget removed, {bytes_text(found.bytes)} are left")


def _when(time: datetime | None) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M") if time else "unknown"


def _plain(one: caching.CachedDataSet) -> dict[str, object]:
    plain = dataclasses.asdict(one)
    plain["last_use"] = one.last_use.isoformat() if one.last_use else None
    for column in plain["columns"]:
        column["last_use"] = column["last_use"].isoformat() if column["last_use"] else None
    return plain
