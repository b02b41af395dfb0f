"""`colonnade generate`: made-up samples."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from colonnade.errors import redacted
from colonnade.reading.opening import split_target
from colonnade.samples import SAMPLES, Sample
from colonnade.writing.creating import create

from .common import bytes_text, compression_option, file_size, progress_bar

__all__ = ["Written", "generate", "write_sample"]

_ALIASES = {"nanoaod": "dimuon", "random": "gen_random"}


class Written(NamedTuple):
    """What writing a sample took."""

    entries: int
    seconds: float
    """For writing, without making the events."""


def write_sample(
    sample: Sample,
    path: str,
    events: int,
    *,
    seed: int | None = None,
    progress: Callable[[int], Any] = int,
    **options: Any,
) -> Written:
    """Make events and write them; `options` are those of `colonnade.create`."""
    seeds = {} if seed is None else {"seed": seed}
    seconds = 0.0
    entries = 0
    with create(path, sample.dataset, dict(sample.schema), **options) as writer:
        for chunk in sample.generate(events, **seeds):
            before = time.perf_counter()
            writer.extend(chunk)
            seconds += time.perf_counter() - before
            entries = writer.num_entries
            progress(entries)
        before = time.perf_counter()
    seconds += time.perf_counter() - before
    return Written(entries, seconds)


@click.command(short_help="Generate a sample: B decays, muons, or random numbers.")
@click.argument("sample", type=click.Choice([*SAMPLES, *_ALIASES]), metavar="{lhcb|nanoaod|random}")
@click.argument("out")
@click.option(
    "--events", type=click.IntRange(min=0), default=100_000, show_default=True, help="Number of events."
)
@compression_option
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the random numbers.")
@click.option(
    "--cluster-size", default="128 MiB", show_default=True, help="Target compressed size of a cluster."
)
def generate(
    sample: str, out: str, events: int, compression: str, seed: int | None, cluster_size: str
) -> None:
    """Generate a sample and write it to the file OUT: lhcb (B decays), nanoaod (muons) or random (numbers)."""
    chosen = SAMPLES[_ALIASES.get(sample, sample)]
    with progress_bar("events") as progress:
        task = progress.add_task(chosen.dataset, total=events)
        written = write_sample(
            chosen,
            out,
            events,
            seed=seed,
            progress=lambda done: progress.update(task, completed=done),
            compression=compression,
            cluster_size=cluster_size,
        )
    size = file_size(split_target(out, chosen.dataset)[0])
    taken = "" if size is None else f", {bytes_text(size)}"
    click.echo(f"{redacted(out)}: {written.entries} events in '{chosen.dataset}'{taken}")
