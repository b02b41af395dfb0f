"""Copying data sets between any two places."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from colonnade import _core
from colonnade.errors import UsageError
from colonnade.misuse import advised, chosen_names, files_of
from colonnade.reading.opening import PathLike, split_target
from colonnade.reading.steps import byte_count
from colonnade.writing.attributes import AttributeAppender, adding
from colonnade.writing.options import CheckpointEvery, ContainerSettings, Size, check_names, write_options

if TYPE_CHECKING:
    from typing import Unpack

__all__ = [
    "CopyProgress",
    "CopyReport",
    "CopySettings",
    "CopySource",
    "CopyWatch",
    "copy",
    "native_watch",
    "report_of",
    "verify_depth",
]

CopySource: TypeAlias = "PathLike | tuple[PathLike, str]"
"""A file or store, "f.root:Events", or ("f.root", "Events")."""


@dataclass(frozen=True)
class CopyProgress:
    """The progress of a copy."""

    entries: int
    total_entries: int
    bytes_read: int
    """Bytes of pages."""
    bytes_written: int
    total_bytes: int
    """To read in total."""
    verifying: bool
    """True while the comparison that follows the copy runs."""

    @property
    def fraction(self) -> float:
        """How much of the copy, or of the comparison that follows it, is done: from 0 to 1.

        Entries are counted by clusters; bytes tell more where these are large, but what is read is not yet written.
        """
        entries = self.entries / self.total_entries if self.total_entries else 1.0
        read = self.bytes_read / self.total_bytes if self.total_bytes else 0.0
        return min(max(entries, read if self.verifying else 0.99 * read), 1.0)


CopyWatch: TypeAlias = Callable[[CopyProgress], object]
"""Called a few times per second; returning False stops the copy."""


class CopySettings(ContainerSettings, total=False):
    """The options of writers that copies share; `colonnade.create` explains them."""

    checkpoint_every: CheckpointEvery


CopyMode: TypeAlias = Literal["pages", "recompress", "decode"]
_MODES: tuple[CopyMode, ...] = ("pages", "recompress", "decode")


@dataclass(frozen=True)
class CopyReport:
    """The result of a copy."""

    data_set: str
    """Its path at the destination."""
    mode: CopyMode
    """How pages were copied: as they are stored, recompressed, or decoded into other pages."""
    entries: int
    """Readable entries of the destination."""
    clusters: int
    pages: int
    """Written by this call; equal pages that share storage count once."""
    bytes_read: int
    """Bytes of pages."""
    bytes_written: int
    """Bytes of pages."""
    bytes_shared: int
    """The part of these in blocks that the file system shares between source and destination, which takes no space."""
    resumed_entries: int
    """Already present before."""
    known_sources: int
    """Inputs of a merge that its output contained already."""
    seconds: float
    verified: bool
    interrupted: bool
    """True if `progress` stopped it: the destination is what the last checkpoint left."""
    notes: tuple[str, ...]
    """What could not be copied, and why."""


@advised("copy(source, destination)")
def copy(
    source: CopySource | list[CopySource],
    destination: CopySource,
    name: str | None = None,
    *,
    destination_name: str | None = None,
    columns: Sequence[str] | str | None = None,
    compression: str | int | None = None,
    page_size: Size | None = None,
    cluster_size: Size | None = None,
    overwrite: bool = False,
    resume: bool = False,
    verify: bool | Literal["pages", "values"] = False,
    progress: bool | CopyWatch | None = None,
    progress_every: float = 0.2,
    memory_budget: Size = "256 MiB",
    direct_io: bool = False,
    check_pages: bool = True,
    before_commit: Callable[[AttributeAppender], object] | None = None,
    **settings: Unpack[CopySettings],
) -> CopyReport:
    """Copy a data set between any two places: files, files in S3, object stores.

    Normally pages are copied as they are stored, verified against their checksums, without decompression. Several
    sources with the same schema become one data set, one after the other.

    Ctrl-C stops the copy cleanly: what the last checkpoint holds stays.

    Args:
        source: the file or store; or file and data set as "f.root:Events" or ("f.root", "Events");
            or a list of several. Names of files may have wildcards, as in `colonnade.open`.
        destination: likewise.
        name: the path of the data set at the sources; optional if there is only one.
        destination_name: its path at the destination; by default the source's.
        columns: paths of the fields to copy, or wildcards ("Muon_*", "jets.p?"), with their sub-fields. Fields that
            they need are included: the enclosing collections and records, the sources of projected fields, the other
            parts of pairs, tuples and variants.
        compression: recompress: "zstd:5", "lz4", "none", ...; by default pages stay as they are.
        page_size: rearrange elements into pages of at most this size before compression; by default pages stay.
        cluster_size: rearrange entries into clusters of about this compressed size; by default clusters stay.
        overwrite: replace the destination: a file as a whole, in an object store the data set. Without it the data set
            is added to an existing ROOT file or store.
        resume: continue an interrupted copy after its last checkpoint. The destination must hold the beginning of
            what the copy would make, otherwise nothing changes. With `overwrite`, anything else there is
            replaced.
        verify: read both sides again after the copy: True or "pages" compares the pages byte by byte, or the values
            where pages were rearranged; "values" always compares the values.
        progress: called a few times per second with a `CopyProgress`; returning False stops; True prints a line to
            standard error.
        progress_every: approximate seconds between two calls of `progress`.
        memory_budget: bytes of pages in flight.
        direct_io: bypass the page cache for reading and writing, if the file system supports it.
        check_pages: compare each page with its checksum. Without it, pages that the system copies from file to file, or
            lets both files share, are not read: damage is carried along, to be found by readers of the output. All
            other pages are checked in any case.
        before_commit: called when all entries are written, to add attribute sets that are committed with them; not with
            `resume`. If it raises, there is no copy.
        settings: of the writer, as in `colonnade.create`: container, checksums (for pages without one),
            checkpoint_every, durability, max_key_size, clusters_per_group, object_mapping, splice_size, ...

    Returns:
        A report.

    Raises:
        FileMissingError: no such file.
        NotFoundError: no such data set or field.
        UsageError: the data set exists already, or is not the beginning of this copy.
        SchemaError: the sources have different schemas.
        ChecksumError: a page of a source, or of the destination after the copy, is damaged.
        StorageError: reading or writing failed.
    """
    sources = _sources(source, name)
    target = split_target(destination, destination_name)
    check_names(settings, "a copy")
    options = write_options(direct_io=direct_io, **settings)
    report = _core.copy(
        sources,
        target,
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
        options,
        native_watch(progress),
        None if before_commit is None else adding(before_commit, target[0], target[1] or sources[0][1]),
    )
    return report_of(report)


def report_of(report: _core.CopyReport) -> CopyReport:
    """Make the report for users."""
    return CopyReport(
        data_set=report.data_set,
        mode=_MODES[report.mode],
        entries=report.entries,
        clusters=report.clusters,
        pages=report.pages,
        bytes_read=report.bytes_read,
        bytes_written=report.bytes_written,
        bytes_shared=report.bytes_shared,
        resumed_entries=report.resumed_entries,
        known_sources=report.known_sources,
        seconds=report.seconds,
        verified=report.verified,
        interrupted=report.interrupted,
        notes=tuple(report.notes),
    )


def _sources(source: CopySource | list[CopySource], name: str | None) -> list[tuple[str, str]]:
    given = [source] if isinstance(source, tuple) else files_of(source, "a file or store, or a list of them")
    places = [split_target(one, None if isinstance(one, tuple) else name) for one in given]
    if not places:
        raise UsageError("there is nothing to copy", "name a source")
    return places


def verify_depth(verify: bool | str) -> int:
    """Return the number of a verification mode."""
    return {False: 0, True: 1, "pages": 1, "values": 2}[verify]


def native_watch(progress: bool | CopyWatch | None) -> Callable[[_core.CopyProgress], bool] | None:
    """Convert the user's callback to the function that is called while bytes move."""
    if progress is None or progress is False:
        return None
    watch: CopyWatch = _Line() if progress is True else progress

    def look(state: _core.CopyProgress) -> bool:
        seen = CopyProgress(
            entries=state.entries,
            total_entries=state.total_entries,
            bytes_read=state.bytes_read,
            bytes_written=state.bytes_written,
            total_bytes=state.total_bytes,
            verifying=state.verifying,
        )
        return watch(seen) is not False

    return look


class _Line:
    """Rewrites one line on standard error."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._verifying = False

    def __call__(self, state: CopyProgress) -> None:
        if state.verifying and not self._verifying:
            self._verifying, self._begin = True, time.monotonic()
        done = state.fraction
        rate = state.bytes_read / max(time.monotonic() - self._begin, 1e-3) / 1e6
        what = "verifying" if state.verifying else "copying"
        end = "\n" if done >= 1 else ""
        sys.stderr.write(
            f"\r{what} {100 * done:5.1f} %  {state.bytes_read / 1e6:,.0f} MB  {rate:,.0f} MB/s {end}"
        )
        sys.stderr.flush()
