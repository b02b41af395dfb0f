"""Merging the data sets of several files into one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from colonnade import _core
from colonnade.annotations import checked
from colonnade.errors import UsageError
from colonnade.importing.copying import (
    CopyReport,
    CopySettings,
    CopyWatch,
    native_watch,
    report_of,
    verify_depth,
)
from colonnade.misuse import chosen_names, files_of, path_text
from colonnade.reading.opening import PathLike, split_target
from colonnade.reading.steps import byte_count
from colonnade.writing.options import Size, check_names, write_options

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["LeftOutObject", "MergeMode", "MergeReport", "merge"]

MergeMode: TypeAlias = Literal["strict", "filter", "union"]
"""The fields of the output: "strict", "filter" or "union"."""

_MODES: tuple[MergeMode, ...] = ("strict", "filter", "union")


@dataclass(frozen=True)
class LeftOutObject:
    """An object of the inputs that is not a data set."""

    path: str
    class_name: str
    inputs: int
    """Number of inputs with it."""


@dataclass(frozen=True)
class MergeReport:
    """The result of a merge."""

    data_sets: tuple[CopyReport, ...]
    """One for each data set, in the order of the output."""
    left_out: tuple[LeftOutObject, ...]
    """Histograms, trees and other objects of the inputs."""
    notes: tuple[str, ...]
    """For example inputs that lack a data set."""
    seconds: float
    interrupted: bool
    """True if `progress` stopped it."""


@checked
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
    check_pages: bool = True,
    **settings: Unpack[CopySettings],
) -> MergeReport:
    """Merge the data sets of several files: those of the same name follow each other in the order of the inputs.

    Normally pages are copied as they are stored, verified against their checksums. The output records its inputs and
    their entries in the attribute set "merged_inputs". Histograms, trees and other objects are left out, and the report
    lists them.

    Args:
        output: the file or object store to make.
        inputs: files, files in S3, object stores; names of files may have wildcards, as in `colonnade.open`. One that
            is given as "f.root:Events" chooses this data set, as `data_sets` does.
        mode: "strict": all inputs must have the same fields; "filter": the fields that all inputs have; "union": the
            fields of any input, zero or empty in the entries of inputs that lack them.
        data_sets: names of the data sets to merge; by default all.
        columns: paths of the fields to copy, or wildcards ("Muon_*"), with their sub-fields; by default all.
        compression: recompress: "zstd:5", "lz4", "none", ...; by default pages stay as they are.
        page_size: rearrange elements into pages of at most this size before compression; by default pages stay.
        cluster_size: rearrange entries into clusters of about this compressed size, which joins small clusters; by
            default clusters stay.
        overwrite: replace the output. Without it, `append` or `resume`, the output must not exist.
        append: add the inputs that the output does not contain yet. An input that has changed since is an error.
        resume: continue an interrupted merge after its last checkpoint.
        verify: read both sides again after each data set, as in `colonnade.copy`.
        jobs: threads for verification and compression; by default one per processor.
        progress: called a few times per second with a `CopyProgress`; returning False stops; True prints a line to
            standard error.
        progress_every: approximate seconds between two calls of `progress`.
        memory_budget: bytes of pages in flight.
        direct_io: bypass the page cache for reading and writing, if the file system supports it.
        check_pages: compare each page with its checksum. Without it, pages that the system copies from file to file, or
            lets both files share, are not read: damage is carried along, to be found by readers of the output. All
            other pages are checked in any case.
        settings: of the writer, as in `colonnade.create`.

    Returns:
        A report.

    Raises:
        FileMissingError: no such file.
        NotFoundError: an input without data sets, or a given name that no input has.
        UsageError: an input is given twice or is the output, or has changed since it was merged; the output exists;
            or files are given with the names of different data sets.
        SchemaError: the inputs' fields are incompatible in this mode.
        ChecksumError: a page of an input is damaged.
        StorageError: reading or writing failed.
    """
    if jobs is not None and not 0 < jobs < 1 << 16:
        raise UsageError(f"{jobs} is not a number of jobs", f"1 to {(1 << 16) - 1}")
    check_names(settings, "a merge")
    settings.setdefault("page_buffer_budget", "32 MiB")  # there may be many inputs, but memory is limited
    given = files_of(inputs, "a file, or a list of files: merge(output, inputs)")
    path_text(output, "the output comes first: merge(output, inputs)")
    uris, names = _named([*given, output], chosen_names(data_sets, "data set"))
    report = _core.merge(
        uris[:-1],
        uris[-1],
        names,
        _MODES.index(mode),
        bool(append),
        jobs or 0,
        chosen_names(columns, "field"),
        None if compression is None else str(compression),
        None if page_size is None else byte_count(page_size),
        None if cluster_size is None else byte_count(cluster_size),
        bool(overwrite),
        bool(resume),
        verify_depth(verify),
        byte_count(memory_budget),
        bool(direct_io),
        bool(check_pages),
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


def _named(files: Sequence[PathLike], chosen: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split files given as "f.root:Events" into their paths and the data sets to merge, none for all."""
    names = [name.strip("/") for name in chosen]
    uris = []
    for each in files:
        uri, name = _split(each)
        name = name.strip("/")
        names = names or ([name] if name else [])
        if name and names != [name]:
            raise UsageError(
                f"'{uri}:{name}' names another data set than {', '.join(names)}: a merge keeps their names",
                "colonnade import (colonnade.copy), for data sets with different names; or several merges",
            )
        uris.append(uri)
    return uris, names


def _split(file: PathLike) -> tuple[str, str]:
    uri, name = split_target(file) if path_text(file) else ("", "")
    return (f"{uri}:{name}", "") if _core.has_wildcard(name) else (uri, name)  # "2024:day1/*" is a path
