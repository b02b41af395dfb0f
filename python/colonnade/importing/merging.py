"""Merging the data sets of several files into one file."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from colonnade import _core
from colonnade.errors import FileMissingError, UsageError
from colonnade.importing.copying import (
    CopyReport,
    CopySettings,
    CopyWatch,
    native_watch,
    report_of,
    verify_depth,
)
from colonnade.reading.opening import PathLike
from colonnade.reading.steps import byte_count
from colonnade.writing.options import Size, check_names, write_options

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["LeftOutObject", "MergeMode", "MergeReport", "expand_inputs", "merge"]

MergeMode: TypeAlias = Literal["strict", "filter", "union"]
"""Which fields the output has: the ones that all inputs must have, those that all have, or those that any has."""

_MODES: tuple[MergeMode, ...] = ("strict", "filter", "union")


@dataclass(frozen=True)
class LeftOutObject:
    """Something in the inputs that is no data set."""

    path: str
    class_name: str
    inputs: int
    """How many have it."""


@dataclass(frozen=True)
class MergeReport:
    """What a merge did."""

    data_sets: tuple[CopyReport, ...]
    """Of each, in the order in which they are in the output."""
    left_out: tuple[LeftOutObject, ...]
    """Histograms, trees and whatever else the inputs hold."""
    notes: tuple[str, ...]
    """Such as inputs that lack a data set that others have."""
    seconds: float
    interrupted: bool
    """Whether `progress` stopped it."""


def merge(
    output: PathLike,
    inputs: Iterable[PathLike] | PathLike,
    *,
    mode: MergeMode = "strict",
    data_sets: Sequence[str] | str | None = None,
    columns: Sequence[str] | str | None = None,
    compression: str | int | None = None,
    page_size: Size | None = None,
    cluster_size: Size | None = None,
    overwrite: bool = False,
    append: bool = False,
    resume: bool = False,
    verify: bool | Literal["pages", "values"] = False,
    jobs: int | None = None,
    progress: bool | CopyWatch | None = None,
    progress_every: float = 0.2,
    memory_budget: Size = "64 MiB",
    direct_io: bool = False,
    **settings: Unpack[CopySettings],
) -> MergeReport:
    """Merge the data sets of several files: those of the same name follow each other in the order of the inputs.

    As a rule pages are copied as they are stored, each compared with its checksum on the way. The output keeps which
    entries came from which input in the attribute set "merged_inputs". Histograms, trees and other objects are left
    out, and the report lists them.

    Args:
        output: the file or object store to make.
        inputs: files, files in S3, object stores; names of local files may have wildcards.
        mode: "strict": all inputs have the same fields; "filter": only the fields that all have; "union": the fields
            that any has, zero or empty in the entries of inputs that lack them.
        data_sets: names of those to merge; all if left out.
        columns: paths of the fields to take, with all below them; all if left out.
        compression: compress again: "zstd:5", "lz4", "none", ...; kept as it is if left out.
        page_size: put elements into pages of at most this size before compression; kept if left out.
        cluster_size: put entries into clusters of about this compressed size, which turns many small clusters into
            few; kept if left out.
        overwrite: replace what is at the output. Without it, `append` or `resume` the output must not be there.
        append: add the inputs that are not in the output yet. One that has changed since is an error.
        resume: go on with a merge that was interrupted, after its last checkpoint.
        verify: read both sides again when a data set is done, as in `colonnade.copy`.
        jobs: threads that verify and compress; one per processor if left out.
        progress: called a few times per second with a `CopyProgress`, returning False stops; True writes a line
            to standard error.
        progress_every: seconds between two calls of `progress`, about.
        memory_budget: bytes of pages that are under way.
        direct_io: past the page cache, reading and writing, where the file system can.
        settings: of the writer, as in `colonnade.create`.

    Returns:
        What was done.

    Raises:
        FileMissingError: no such file.
        NotFoundError: an input without data sets, or no input has one of a name that was given.
        UsageError: an input is given twice or is the output, has changed since it was merged, or the output is there.
        SchemaError: the inputs' fields do not fit together in this mode.
        ChecksumError: a page of an input is damaged.
        StorageError: reading or writing failed.
    """
    if mode not in _MODES:
        raise UsageError(f"a merge is 'strict', 'filter' or 'union', not {mode!r}")
    if jobs is not None and jobs < 1:
        raise UsageError(f"{jobs} jobs do nothing", "one or more")
    check_names(settings, "a merge")
    settings.setdefault("page_buffer_budget", "32 MiB")  # inputs may be many, memory is not
    names = [data_sets] if isinstance(data_sets, str) else list(data_sets or ())
    report = _core.merge(
        expand_inputs(inputs),
        os.fspath(output),
        [name.strip("/") for name in names],
        _MODES.index(mode),
        append,
        jobs or 0,
        [columns] if isinstance(columns, str) else list(columns or ()),
        None if compression is None else str(compression),
        None if page_size is None else byte_count(page_size),
        None if cluster_size is None else byte_count(cluster_size),
        overwrite,
        resume,
        verify_depth(verify),
        byte_count(memory_budget),
        direct_io,
        progress_every,
        write_options(direct_io=direct_io, **settings),
        native_watch(progress),
    )
    return MergeReport(
        data_sets=tuple(report_of(each) for each in report.data_sets),
        left_out=tuple(LeftOutObject(one.path, one.class_name, one.inputs) for one in report.left_out),
        notes=tuple(report.notes),
        seconds=report.seconds,
        interrupted=report.interrupted,
    )


def expand_inputs(inputs: Iterable[PathLike] | PathLike) -> list[str]:
    """Put the names of files, in order, in place of those with wildcards.

    Raises:
        FileMissingError: no file has a name like that.
    """
    given = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    names: list[str] = []
    for each in given:
        name = os.fspath(each)
        if "://" in name or not glob.has_magic(name) or os.path.exists(name):
            names.append(name)
            continue
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileMissingError(f"no file has a name like '{name}'")
        names += found
    return names
