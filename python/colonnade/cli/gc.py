"""`colonnade gc` and `colonnade rm`: what writers left behind in object stores, and data sets that are to go."""

from __future__ import annotations

import dataclasses

import click

from colonnade.maintenance.garbage import GarbageReport, collect_garbage, remove_data_set

from .common import count_text, json_option, print_json

__all__ = ["gc", "rm"]


@click.command(short_help="Remove what crashed writers and clients left behind.")
@click.argument("uri")
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
@click.option(
    "--force", is_flag=True, help="Treat all writers as gone; the next commit of a running one fails."
)
@click.option(
    "--older-than",
    metavar="TIME",
    help='How long to watch the claims of writers on other machines, such as "5 min"; default: a minute. '
    "Where there are no claims, remove files that are older.",
)
@json_option
def gc(uri: str, dry_run: bool, force: bool, older_than: str | None, as_json: bool) -> None:
    """Remove from the object store, file or folder URI what crashed writers left behind.

    Also removes what killed clients left: parts of their snapshots, beside the file or in a store, and columns that
    they cached.

    Data sets stay as their last commit left them. Running writers are not disturbed; for those on other machines, it
    takes up to a minute to find out that they run.
    """
    report = collect_garbage(uri, dry_run=dry_run, older_than=older_than, force=force)
    if as_json:
        print_json(dataclasses.asdict(report))
        return
    for line in _lines(report, dry_run):
        click.echo(line)


def _lines(report: GarbageReport, dry_run: bool) -> list[str]:
    would = "would be " if dry_run else ""
    lines = []
    for one in report.removed:
        if not one.data_set:
            lines.append(f"generation {one.generation}, of which no record speaks, {would}removed")
            continue
        part = "what followed its last commit" if one.uncommitted_part else f"generation {one.generation}"
        lines.append(f"{one.data_set}: {part} {would}removed, up to {one.objects} objects of pages")
    lines += [f"{one.data_set}: claim of {one.writer} {would}released" for one in report.released]
    lines += [f"{one.data_set}: left alone, being written by {one.writer}" for one in report.kept]
    if report.leftovers:
        lines.append(f"{count_text(report.leftovers, 'leftover')} {would}removed")
    lines += [f"not touched, since it cannot be read: {problem}" for problem in report.problems]
    return lines or ["nothing to remove"]


@click.command(short_help="Remove a data set from an object store.")
@click.argument("uri")
@click.argument("data_set")
def rm(uri: str, data_set: str) -> None:
    """Remove DATA_SET from the object store URI."""
    remove_data_set(uri, data_set)
    click.echo(f"{data_set}: removed")
