"""`colonnade export`: data sets as files that other programs read."""

from __future__ import annotations

import click

from colonnade.reading.chain import MissingFields
from colonnade.reading.exporting import export as export_data_set
from colonnade.reading.opening import open as open_data_set

from .common import count_text, fields_option, file_and_name, missing_option, number_or_text, progress_bar

__all__ = ["export"]


@click.command(short_help="Write a data set as Parquet, Arrow, CSV or NumPy.")
@click.argument("file")
@click.argument("destination")
@click.option("--name", help="Path of the data set in FILE, if there are several.")
@fields_option("--columns")
@click.option(
    "--format",
    "chosen",
    type=click.Choice(["parquet", "arrow", "csv", "npz"]),
    help="Default: by the ending of DESTINATION.",
)
@click.option(
    "--compression", default="zstd", show_default=True, help="For Parquet and Arrow: zstd, lz4 or none."
)
@click.option(
    "--step-size",
    metavar="SIZE",
    default="64 MiB",
    show_default=True,
    help="Bytes to hold in memory at a time.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@missing_option
def export(
    file: str,
    destination: str,
    name: str | None,
    columns: list[str] | None,
    chosen: str | None,
    compression: str,
    step_size: str,
    overwrite: bool,
    missing: MissingFields,
) -> None:
    """Write the data set of FILE to DESTINATION: x.parquet, x.arrow, x.csv or x.npz (NumPy).

    FILE may have wildcards: 'run*.root' exports the entries of all these files. DESTINATION may be a URI:
    https://host/x.parquet, s3://bucket/x.parquet.
    """
    with (
        open_data_set(file_and_name(file, name), missing=missing) as data_set,
        progress_bar("entries") as progress,
    ):
        task = progress.add_task(data_set.name, total=data_set.num_entries)
        entries = export_data_set(
            data_set,
            destination,
            columns=columns,
            format=chosen,  # type: ignore[arg-type]
            compression=compression,
            step_size=number_or_text(step_size),
            overwrite=overwrite,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    click.echo(f"{destination}: {count_text(entries, 'entry')}")
