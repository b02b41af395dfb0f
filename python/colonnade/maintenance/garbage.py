"""Removes what writers that ended without closing left in object stores and beside files; and removes data sets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from colonnade import _core
from colonnade.errors import FileMissingError
from colonnade.reading.opening import PathLike
from colonnade.writing.options import seconds_of

__all__ = ["GarbageClaim", "GarbageReport", "RemovedGeneration", "collect_garbage", "remove_data_set"]


@dataclass(frozen=True)
class RemovedGeneration:
    """Objects that one run of a writer made and that no reader can reach."""

    data_set: str
    """Empty if no record names it any more."""
    generation: int
    objects: int
    """Reserved by the writer; it may have made fewer."""
    uncommitted_part: bool
    """Only data written after the last commit of a data set that stays."""


@dataclass(frozen=True)
class GarbageClaim:
    """The current or former writer of a data set."""

    data_set: str
    writer: str


@dataclass(frozen=True)
class GarbageReport:
    """What `collect_garbage` removed or, with `dry_run`, would remove."""

    removed: tuple[RemovedGeneration, ...]
    released: tuple[GarbageClaim, ...]
    """Claims of writers that have ended."""
    kept: tuple[GarbageClaim, ...]
    """Claims of writers that run."""
    leftovers: int
    """Unfinished files of values in a folder, left by killed writers; parts beside a file, left by runs of tasks."""
    problems: tuple[str, ...]
    """Unreadable records; the objects that they name stay."""


def collect_garbage(
    uri: PathLike,
    *,
    dry_run: bool = False,
    older_than: str | float | timedelta | None = None,
    force: bool = False,
) -> GarbageReport:
    """Remove what writers left behind in an object store. Data that a committed data set needs are never removed.

    Of a local file, or a folder of files, it removes what runs of tasks on several workers left beside it whose client
    was killed.

    Args:
        uri: the object store, or the file or folder that was to be written.
        dry_run: only report what would be done.
        older_than: a time ("5 min", seconds, a timedelta). Claims of writers on other machines, which renew them while
            they live, are watched for this long instead of a minute.
        force: consider all writers dead. The next commit of one that still runs fails. In a folder, this also removes
            values that no record names, which a crash of the machine may leave.

    Raises:
        FileMissingError: no such store.
        StorageError: the store cannot be reached or written.
        UsageError: neither an object store nor a place of this machine.
    """
    age = None if older_than is None else seconds_of(older_than)
    place = os.fspath(uri)
    if not _core.is_object_store(place) and ("://" not in place or place.startswith("file:")):
        return _of_runs(Path(_core.local_path(place.rstrip("/"))), dry_run, age, force)
    found = _core.collect_garbage(os.fspath(uri), dry_run, age, force)
    return GarbageReport(
        removed=tuple(
            RemovedGeneration(one.data_set, one.generation, one.objects, one.uncommitted_part)
            for one in found.removed
        ),
        released=tuple(GarbageClaim(one.data_set, one.writer) for one in found.released),
        kept=tuple(GarbageClaim(one.data_set, one.writer) for one in found.kept),
        leftovers=found.leftovers,
        problems=tuple(found.problems),
    )


def _of_runs(destination: Path, dry_run: bool, age: float | None, force: bool) -> GarbageReport:
    from colonnade.distributed.runs import claimed_runs, end, unfinished

    if not destination.parent.is_dir():
        raise FileMissingError("no such folder", uri=str(destination.parent))
    released, kept, leftovers = [], [], 0
    for run in claimed_runs(destination, force=force, older_than=age):
        claim = GarbageClaim(destination.name, f"run {run.name}")
        if run.is_alive:
            kept.append(claim)
            continue
        released.append(claim)
        leftovers += run.parts if dry_run else end(destination, run.name)
    for file in unfinished(destination, force=force, older_than=age):
        leftovers += 1
        if not dry_run:
            file.unlink(missing_ok=True)
    return GarbageReport((), tuple(released), tuple(kept), leftovers, ())


def remove_data_set(uri: PathLike, name: str) -> None:
    """Remove a data set and everything that belongs to it from an object store.

    Raises:
        NotFoundError: no such data set.
        UsageError: it is being written, or `uri` is not an object store.
    """
    _core.remove_data_set(os.fspath(uri), name)
