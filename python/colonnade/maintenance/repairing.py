"""Bringing back what a writer wrote after its last checkpoint, when it could not close the file."""

from __future__ import annotations

import os
from dataclasses import dataclass

from colonnade import _core
from colonnade.reading.opening import PathLike

__all__ = ["DroppedCluster", "RepairReport", "repair"]


@dataclass(frozen=True)
class DroppedCluster:
    """A cluster that was found behind the last checkpoint and could not be brought back."""

    offset: int
    """Of its record in the file."""
    first_entry: int
    """As its writer counted."""
    entries: int
    reason: str


@dataclass(frozen=True)
class RepairReport:
    """What `repair` found, and what it did."""

    data_set: str
    entries: int
    """At the last checkpoint."""
    clusters: int
    """At the last checkpoint."""
    recovered_entries: int
    """Brought back; with `dry_run`, what would be."""
    recovered_clusters: int
    renumbered_clusters: int
    """How many of these have other entry numbers than their writer gave them, since a cluster before them is lost."""
    dropped: tuple[DroppedCluster, ...]
    torn_records: int
    """Of clusters that were being written."""
    scanned_bytes: int
    written: bool
    """Whether the file was changed."""


def repair(path: PathLike, data_set: str | None = None, *, dry_run: bool = False) -> RepairReport:
    """Bring back whole clusters that were written after the last checkpoint, before their writer crashed.

    Every page of them is checked. The file is changed as a checkpoint changes it: at any moment, and after a crash,
    it is as good as before. A file that needs nothing is left as it is.

    Args:
        path: the file.
        data_set: the path of the data set; may be left out, then it is the one that was being written.
        dry_run: only report what would be done.

    Raises:
        FileMissingError: no such file.
        NotFoundError: no such data set, or none at all.
        StorageError: a writer has the file open, or it cannot be written.
        FormatError: what the last checkpoint wrote is damaged.
    """
    found = _core.repair(os.fspath(path), data_set or "", dry_run)
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
