"""`colonnade merge`: the data sets of several files become those of one."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from colonnade.importing.copying import CopyReport
from colonnade.importing.merging import MergeReport
from colonnade.importing.merging import merge as merge_files

from .common import bytes_text, fields_option, json_option, number_or_text, print_json, transfer_options
from .progress import TransferBar, told

__all__ = ["merge"]


@click.command(short_help="Merge several files into one.")
@click.argument("output")
@click.argument("inputs", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(["strict", "filter", "union"]),
    default="strict",
    show_default=True,
    help="Fields of the output: equal in all inputs, common to all, or of any input.",
)
@click.option("--name", "data_sets", metavar="NAME", multiple=True, help="Data set to merge; default: all.")
@fields_option("--columns", "Fields to copy, or wildcards, separated by commas: pt,jets.eta,Muon_*.")
@click.option(
    "--recompress",
    "compression",
    metavar="SETTING",
    help="Compression, such as zstd:5, lz4, none, or ROOT's 505.",
)
@click.option("-f", "--overwrite", is_flag=True, help="Replace the output.")
@click.option("-a", "--append", is_flag=True, help="Add the inputs that are not in the output yet.")
@click.option("--resume", is_flag=True, help="Continue an interrupted merge.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Number of threads; default: one per processor."
)
@transfer_options
@click.option("--unchecked", is_flag=True, help="Do not read and check pages that the system copies.")
@json_option
def merge(**given: Any) -> None:
    """Merge the data sets of INPUTS into OUTPUT: files, files in S3, object stores.

    Data sets of the same name are concatenated in the order of the inputs, page by page as they are stored. Names of
    inputs may have wildcards. "f.root:Events" is the data set "Events" alone, as with --name. Histograms, trees and
    other objects are left out and listed.
    """
    as_json = given.pop("as_json")
    every = given.pop("checkpoint_every")
    with TransferBar("merging") as bar, told("--resume continues after the last checkpoint"):
        report = merge_files(
            given.pop("output"),
            given.pop("inputs"),
            data_sets=given.pop("data_sets") or None,
            verify=given.pop("verify") or False,
            checkpoint_every=number_or_text(every),
            progress=bar.copying,
            check_pages=not given.pop("unchecked"),
            **given,
        )
    if as_json:
        print_json(dataclasses.asdict(report))
        return
    for line in _lines(report):
        click.echo(line)


def _lines(report: MergeReport) -> list[str]:
    lines = [line for each in report.data_sets for line in _data_set_lines(each)]
    lines += [f"note: {note}" for note in report.notes]
    for one in report.left_out:
        lines.append(f"left out: '{one.path}' of class {one.class_name}, in {one.inputs} inputs")
    return lines


def _data_set_lines(report: CopyReport) -> list[str]:
    size = report.bytes_read or report.bytes_written
    moved = f"{bytes_text(size)} in {report.seconds:.1f} s, {bytes_text(size / max(report.seconds, 1e-3))}/s"
    lines = [f"{report.data_set}: {report.entries} entries, {moved}"]
    if report.bytes_shared:
        lines.append(f"{report.data_set}: {bytes_text(report.bytes_shared)} are shared with the inputs")
    if report.known_sources:
        lines.append(f"{report.data_set}: {report.known_sources} inputs were in it already")
    elif report.resumed_entries:
        lines.append(f"{report.data_set}: {report.resumed_entries} entries were there already")
    if report.verified:
        lines.append(f"{report.data_set}: verified, both sides are the same")
    return lines + [f"{report.data_set}: {note}" for note in report.notes]
