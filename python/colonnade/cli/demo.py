"""`colonnade demo`: from nothing to the peak of the B meson."""

from __future__ import annotations

import time
from pathlib import Path

import click

from colonnade.reading.dataset import DataSet
from colonnade.samples import SAMPLES

from .common import bytes_text, compression_option, progress_bar
from .generate import write_sample

__all__ = ["demo"]


@click.command(short_help="Generate events, write and read them, and plot the B mass.")
@click.option(
    "--events", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Number of events."
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the file and the plot.",
)
@compression_option
def demo(events: int, output: Path, compression: str) -> None:
    """Generate LHCb-like events, write them, read 18 of the 26 fields, and plot the mass of B candidates."""
    from colonnade.analysis import b_mass

    output.mkdir(parents=True, exist_ok=True)
    file = output / "B2HHH.root"
    sample = SAMPLES["lhcb"]
    with progress_bar("events") as progress:
        task = progress.add_task("generate and write", total=events)
        written = write_sample(
            sample,
            str(file),
            events,
            compression=compression,
            progress=lambda done: progress.update(task, completed=done),
        )
        click.echo(
            f"{'file':10} {file}, {bytes_text(file.stat().st_size)}, {events} events, {len(sample.schema)} fields"
        )
        _report("write", events, written.seconds)

        task = progress.add_task("read and select", total=events)
        masses = b_mass.histogram()
        reading = analysing = 0.0
        with DataSet(str(file), sample.dataset) as data_set:
            before = time.perf_counter()
            for columns in data_set.iterate(list(b_mass.COLUMNS), step_size="64 MB", library="np"):
                read = time.perf_counter()
                masses.fill(b_mass.select(columns).mass)
                progress.update(task, advance=len(columns[b_mass.COLUMNS[0]]))
                reading, before = reading + read - before, time.perf_counter()
                analysing += before - read
    _report("read", events, reading)
    _report("analyse", events, analysing)
    click.echo(
        f"{'found':10} {int(masses.sum())} candidates between {b_mass.WINDOW[0]:g} and {b_mass.WINDOW[1]:g} MeV/c^2"
    )
    b_mass.plot(masses, output / "b_mass.png")
    click.echo(f"{'plot':10} {output / 'b_mass.png'}")


def _report(what: str, events: int, seconds: float) -> None:
    click.echo(f"{what:10} {events / seconds / 1e6:.2f} million events/s ({seconds:.2f} s)")
