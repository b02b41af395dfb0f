"""`colonnade repair`: what a crashed writer left behind its last checkpoint."""

from __future__ import annotations

import dataclasses

import click

from colonnade.maintenance.repairing import RepairReport
from colonnade.maintenance.repairing import repair as repair_file

from .common import count_text, json_option, print_json

__all__ = ["repair"]


@click.command(short_help="Recover what a crashed writer wrote.")
@click.argument("file")
@click.argument("data_set", required=False)
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
@json_option
def repair(file: str, data_set: str | None, dry_run: bool, as_json: bool) -> None:
    """Recover what a crashed writer wrote to FILE after its last checkpoint.

    Clusters with all of their pages intact are added to DATA_SET; without a name, to the one that was being written. A
    file that needs no repair is not changed.
    """
    report = repair_file(file, data_set, dry_run=dry_run)
    if as_json:
        print_json(dataclasses.asdict(report))
        return
    click.echo(f"{report.data_set}: {_entries_in(report.entries, report.clusters)} at the last checkpoint")
    if report.recovered_clusters:
        verb = "would be brought back" if dry_run else "brought back"
        click.echo(f"  {_entries_in(report.recovered_entries, report.recovered_clusters)} {verb}")
    if report.renumbered_clusters:
        moved = count_text(report.renumbered_clusters, "cluster")
        click.echo(f"  entries of {moved} have new numbers, as clusters before them are lost")
    for cluster in report.dropped:
        click.echo(
            f"  dropped: {count_text(cluster.entries, 'entry')} from {cluster.first_entry} on, "
            f"recorded at byte {cluster.offset}: {cluster.reason}"
        )
    if report.torn_records:
        click.echo(f"  {count_text(report.torn_records, 'cluster')} had only begun to be recorded")
    click.echo(_conclusion(report, dry_run))


def _entries_in(entries: int, clusters: int) -> str:
    return f"{count_text(entries, 'entry')} in {count_text(clusters, 'cluster')}"


def _conclusion(report: RepairReport, dry_run: bool) -> str:
    if report.written:
        return "  the file was repaired"
    if report.recovered_clusters and dry_run:
        return "  nothing was changed; run it without --dry-run"
    return "  nothing to bring back: the file was left as it is"
