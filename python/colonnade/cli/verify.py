"""`colonnade verify`: every checksum, every page."""

from __future__ import annotations

from collections.abc import Sequence

import click

from colonnade import _core
from colonnade.errors import Error, FormatError, UnsupportedError, redacted
from colonnade.reading.dataset import DataSet, DataSetOpener
from colonnade.reading.opening import split_target

from .common import count_text, file_and_name, progress_bar

__all__ = ["verify"]


@click.command(short_help="Check every checksum and every page.")
@click.argument("file")
@click.argument("names", nargs=-1)
@click.pass_context
def verify(context: click.Context, file: str, names: tuple[str, ...]) -> None:
    """Check all data sets of FILE, or those named: verify all checksums and decode every page.

    There may be several files, and FILE may have wildcards: 'run*.root' checks all these files, even if one is damaged.
    The exit status is 0 if everything is intact and 1 otherwise.
    """
    given = [file]
    if all(name.endswith(".root") for name in names):  # as shells expand *.root
        given += names
        names = ()
    for name in names:
        file_and_name(file, name)  # refuses those of files
    targets = [split_target(each) for each in given]
    files = [
        (each, names or ((name,) if name else ()))
        for uri, name in targets
        for each in _core.expand_names([uri])
    ]
    # A damaged file does not end the check of the others.
    good = (
        [_verify_file(*files[0], "")]
        if [each for each, _ in files] == [targets[0][0]]
        else [_verify_one_of(*each) for each in files]
    )
    context.exit(0 if all(good) else 1)


def _verify_one_of(file: str, names: Sequence[str]) -> bool:
    try:
        return _verify_file(file, names, f"{redacted(file)}: ")
    except Error as error:
        damaged = "damaged: " if isinstance(error, FormatError) else ""
        click.echo(f"{redacted(file)}: {damaged}{error}", err=True)
        return False


def _verify_file(file: str, names: Sequence[str], lead: str) -> bool:
    opener = DataSetOpener(file)
    known = dict.fromkeys(opener.names)
    wanted = names or known
    if not known or any(name.strip("/") not in known for name in wanted):
        DataSet(
            file, next((name for name in wanted if name.strip("/") not in known), "")
        )  # says what is there
    good = [_verify(opener, name, lead) for name in wanted]
    return all(good)


def _verify(opener: DataSetOpener, name: str, lead: str) -> bool:
    try:
        with opener.open(name) as data_set, progress_bar("pages") as progress:
            task = progress.add_task(name, total=None)
            pages = data_set.verify(lambda done, pages: progress.update(task, completed=done, total=pages))
    except (FormatError, UnsupportedError) as error:
        damaged = "damaged: " if isinstance(error, FormatError) else ""
        click.echo(f"{lead}{name}: {damaged}{error}", err=True)
        return False
    click.echo(f"{lead}{name}: {count_text(pages, 'page')}, all intact")
    return True
