"""Recovers what a writer wrote after its last checkpoint, if it could not close the file."""

from __future__ import annotations

from dataclasses import dataclass

from colonnade import _core
from colonnade.annotations import checked
from colonnade.misuse import column_name, path_text
from colonnade.reading.opening import PathLike

__all__ = ["DroppedCluster", "RepairReport", "repair"]


@dataclass(frozen=True)
class DroppedCluster:
    """A cluster found after the last checkpoint that could not be recovered."""

    offset: int
    """Of its record in the file."""
    first_entry: int
    """As its writer counted."""
    entries: int
    reason: str


@dataclass(frozen=True)
class RepairReport:
    """The result of `repair`."""

    data_set: str
    entries: int
    """At the last checkpoint."""
    clusters: int
    """At the last checkpoint."""
    recovered_entries: int
    """Recovered or, with `dry_run`, recoverable."""
    recovered_clusters: int
    renumbered_clusters: int
    """The number of these with other entry numbers than their writer gave them, because an earlier cluster is lost."""
    dropped: tuple[DroppedCluster, ...]
    torn_records: int
    """Of clusters that were being written when the writer ended."""
    scanned_bytes: int
    written: bool
    """True if the file was changed."""


@checked
def repair(path: PathLike, data_set: str | None = None, *, dry_run: bool = False) -> RepairReport:
    """Recover whole clusters that were written after the last checkpoint, before their writer crashed.

    Every page of them is checked. The file is changed like by a checkpoint: a crash at any moment leaves it as good as
    before. An intact file is not changed.

    Args:
        path: the file.
        data_set: the path of the data set; by default the one that was being written.
        dry_run: only report what would be done.

    Raises:
        FileMissingError: no such file.
        NotFoundError: no such data set, or none at all.
        StorageError: a writer has the file open, or it cannot be written.
        FormatError: the data of the last checkpoint are damaged.
    """
    found = _core.repair(
        path_text(path), "" if data_set is None else column_name(data_set, "data set"), bool(dry_run)
    )
    dropped = tuple(DroppedCluster(c.offset, c.first_entry, c.entries, c.reason) for c in found.dropped)
    return RepairReport(
        data_set=found.data_set,
        entries=found.entries,
        clusters=found.clusters,
        recovered_entries=found.recovered_entries,
        recovered_clusters=found.recovered_clusters,
        renumbered_clusters=found.renumbered_clusters,
        dropped=dropped,
        torn_records=found.torn_records,
        scanned_bytes=found.scanned_bytes,
        written=found.written,
    )
