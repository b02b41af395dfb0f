"""Removing what writers left behind that ended without closing, from object stores and beside files; and data sets."""

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
    """Objects that one run of a writer made and no reader can reach."""

    data_set: str
    """Empty where no record speaks of it any more."""
    generation: int
    objects: int
    """That were reserved; there may have been fewer."""
    uncommitted_part: bool
    """Only what was written after the last commit of a data set that stays."""


@dataclass(frozen=True)
class GarbageClaim:
    """Who is, or was, writing a data set."""

    data_set: str
    writer: str


@dataclass(frozen=True)
class GarbageReport:
    """What `collect_garbage` removed; with `dry_run`, what it would."""

    removed: tuple[RemovedGeneration, ...]
    released: tuple[GarbageClaim, ...]
    """Claims of writers that are gone."""
    kept: tuple[GarbageClaim, ...]
    """Claims of writers that are at work."""
    leftovers: int
    """Files of unfinished values that killed writers left, in a folder; parts that runs of tasks left beside a file."""
    problems: tuple[str, ...]
    """Records that cannot be read; what they speak of is left as it is."""


def collect_garbage(
    uri: PathLike,
    *,
    dry_run: bool = False,
    older_than: str | float | timedelta | None = None,
    force: bool = False,
) -> GarbageReport:
    """Remove what writers left behind in an object store. What a committed data set needs is never touched.

    Of a local file, or a folder of files, it removes what runs of tasks on several workers left beside it whose client
    was killed.

    Args:
        uri: the object store, or the file or folder that was to be written.
        dry_run: only report what would be done.
        older_than: a time ("5 min", seconds, a timedelta). Claims of writers on other machines, which renew them while
            they live, are watched for so long instead of a minute.
        force: take all writers to be gone. The next commit of one that is still at work fails. In a folder, values that
            no record speaks of, which a crash of the machine may leave, are removed, too.

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
    """Remove a data set from an object store, with all that belongs to it.

    Raises:
        NotFoundError: no such data set.
        UsageError: it is being written, or `uri` is not an object store.
    """
    _core.remove_data_set(os.fspath(uri), name)
