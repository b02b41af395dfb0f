"""`colonnade repair`: what a crashed writer left behind its last checkpoint."""

from __future__ import annotations

import dataclasses

import click

from colonnade.maintenance.repairing import RepairReport
from colonnade.maintenance.repairing import repair as repair_file

from .common import json_option, print_json

__all__ = ["repair"]


@click.command()
@click.argument("file")
@click.argument("data_set", required=False)
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@json_option
def repair(file: str, data_set: str | None, dry_run: bool, as_json: bool) -> None:
    """Bring back what a crashed writer wrote to FILE after its last checkpoint.

    Clusters that are whole, every page of them, are added to DATA_SET; without a name, to the one that was being
    written. A file that needs nothing is left as it is.
    """
    report = repair_file(file, data_set, dry_run=dry_run)
    if as_json:
        print_json(dataclasses.asdict(report))
        return
    click.echo(
        f"{report.data_set}: {report.entries} entries in {report.clusters} clusters at the last checkpoint"
    )
    if report.recovered_clusters:
        verb = "would be brought back" if dry_run else "brought back"
        click.echo(f"  {report.recovered_entries} entries in {report.recovered_clusters} clusters {verb}")
    if report.renumbered_clusters:
        click.echo(
            f"  {report.renumbered_clusters} of these clusters follow a lost one and are numbered anew"
        )
    for cluster in report.dropped:
        click.echo(
            f"  dropped: {cluster.entries} entries from {cluster.first_entry} on, recorded at byte {cluster.offset}: "
            f"{cluster.reason}"
        )
    if report.torn_records:
        click.echo(f"  {report.torn_records} clusters had only begun to be recorded")
    click.echo(_conclusion(report, dry_run))


def _conclusion(report: RepairReport, dry_run: bool) -> str:
    if report.written:
        return "  the file was repaired"
    if report.recovered_clusters and dry_run:
        return "  nothing was changed; run it without --dry-run"
    return "  nothing to bring back: the file was left as it is"
