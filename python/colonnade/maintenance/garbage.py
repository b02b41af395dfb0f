"""Removes what writers that ended without closing left in object stores and beside files; and removes data sets."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from colonnade import _core
from colonnade.annotations import checked
from colonnade.errors import Error, FileMissingError, NotFoundError, StorageError, UsageError
from colonnade.misuse import column_name, path_text
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
    """Files of unfinished values that killed writers left, in a folder; parts of snapshots, and cached columns, of
    clients that were killed."""
    problems: tuple[str, ...]
    """Unreadable records; the objects that they name stay."""


@checked
def collect_garbage(
    uri: PathLike,
    *,
    dry_run: bool = False,
    older_than: str | float | timedelta | None = None,
    force: bool = False,
) -> GarbageReport:
    """Remove what writers left behind in an object store. Data that a committed data set needs are never removed.

    It also removes what clients that were killed kept for themselves: parts of snapshots by several workers beside a
    file or folder, local, in S3 or over XRootD, and columns that `DataFrame.cache` put into a folder or store. Over
    XRootD nothing tells whether a client is there: what may be in use is kept without `older_than` or `force`.

    Args:
        uri: the object store, or the file or folder that was to be written, or that has cached columns.
        dry_run: only report what would be done.
        older_than: a time ("5 min", seconds, a timedelta). Claims of writers on other machines, which renew them while
            they live, are watched for this long instead of a minute. Where there are no claims and locks, older files
            are removed.
        force: consider all writers dead. The next commit of one that still runs fails. In a folder, this also removes
            values that no record names, which a crash of the machine may leave.

    Raises:
        FileMissingError: no such store.
        StorageError: the store cannot be reached or written.
        UsageError: nothing can be removed there.
    """
    age = None if older_than is None else seconds_of(older_than)
    place = path_text(uri)
    if not place:  # as of a variable of the shell that is not set
        raise UsageError(
            "the name of the store, file or folder is empty", "a path or a URI; '.' for this folder"
        )
    if _core.is_object_store(place):
        return _of_store(place, dry_run, age, force)
    if _core.is_local_file(place):
        try:
            return _of_runs(Path(_core.local_path(place.rstrip("/"))), dry_run, age, force)
        except OSError as error:
            if isinstance(error, Error):
                raise
            raise StorageError(f"the folder cannot be cleaned up: {error.strerror}", uri=place) from error
    if place.startswith("s3:"):
        return _of_parts_in_s3(place, dry_run, age, force)
    if _core.has_file_names(place):
        return _of_files_beyond(place, dry_run, age, force)
    if place.startswith(("http:", "https:")):
        raise UsageError(
            "nothing tells whether the writers of files on a web server are gone",
            "remove their hidden files, .NAME.<16 digits>.part, on the server once no program writes NAME",
            uri=place,
        )
    raise UsageError(
        "nothing can be removed there",
        "an object store, a local path, or a file in S3 or over XRootD",
        uri=place,
    )


def _of_store(uri: str, dry_run: bool, age: float | None, force: bool) -> GarbageReport:
    from colonnade.distributed.presence import abandoned_data_sets, kept_by_clients

    # Before the claims: a client that begins in between is not taken to be gone.
    kept = kept_by_clients(_core.data_sets(uri))
    found = _core.collect_garbage(uri, dry_run, age, force)
    abandoned = abandoned_data_sets(kept, [one.data_set for one in found.kept])
    removed = 0
    for name in abandoned:
        with contextlib.suppress(NotFoundError, UsageError):  # gone meanwhile; or a worker still writes it
            if not dry_run:
                remove_data_set(uri, name)
            removed += 1
    return GarbageReport(
        removed=tuple(
            RemovedGeneration(one.data_set, one.generation, one.objects, one.uncommitted_part)
            for one in found.removed
        ),
        released=tuple(GarbageClaim(one.data_set, one.writer) for one in found.released),
        kept=tuple(GarbageClaim(one.data_set, one.writer) for one in found.kept),
        leftovers=found.leftovers + removed,
        problems=tuple(found.problems),
    )


def _of_runs(destination: Path, dry_run: bool, age: float | None, force: bool) -> GarbageReport:
    from colonnade.distributed.presence import abandoned_in_folder
    from colonnade.distributed.runs import claimed_runs, end, ended_runs
    from colonnade.reading.aside import unfinished

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
    for run in ended_runs(destination):
        leftovers += run.parts if dry_run else end(destination, run.name)
    for file in unfinished(destination, force=force, older_than=age):
        leftovers += 1
        if not dry_run:
            file.unlink(missing_ok=True)
    if destination.is_dir():
        leftovers += len(abandoned_in_folder(destination, dry_run=dry_run, force=force, older_than=age))
    return GarbageReport((), tuple(released), tuple(kept), leftovers, ())


def _of_parts_in_s3(uri: str, dry_run: bool, age: float | None, force: bool) -> GarbageReport:
    from colonnade.distributed.snapshots import parts_store

    try:
        return _of_store(parts_store(uri), dry_run, age, force)
    except NotFoundError:  # no run ever had parts there
        return GarbageReport((), (), (), 0, ())


def _of_files_beyond(uri: str, dry_run: bool, age: float | None, force: bool) -> GarbageReport:
    """Parts beside a file, or columns in a folder, where a client leaves no sign: by their age."""
    groups: dict[str, list[str]] = {}
    for file in _files_of_clients(uri):
        match = re.search(r"\.part-(r[0-9a-f]{15})-|/(cache-[0-9a-f]{16})\.root(\?|$)", file)
        if match is not None:
            groups.setdefault(match[1] or match[2], []).append(file)
    kept, released, leftovers = [], [], 0
    for owner, files in groups.items():
        claim = GarbageClaim(owner, "a client that may be at work" if not force else "a client")
        if not force and (age is None or max(map(_changed, files)) + age > time.time()):
            kept.append(claim)
            continue
        released.append(claim)
        leftovers += len(files)
        for file in [] if dry_run else files:
            with contextlib.suppress(NotFoundError):
                _core.remove_file(file)
    return GarbageReport((), tuple(released), tuple(kept), leftovers, ())


def _files_of_clients(uri: str) -> list[str]:
    from colonnade.distributed.snapshots import split_name, split_part_name

    stem, ending, query = split_name(uri)
    pattern = f"{stem.rstrip('/')}/cache-*.root{query}"
    if ending:
        stem, ending, query = split_part_name(uri)
        pattern = f"{stem}.part-*{ending or '.root'}{query}"
    try:
        return list(_core.expand_names([pattern]))
    except NotFoundError:
        return []


def _changed(uri: str) -> float:
    """When a file was changed; now if its server does not say."""
    version = _core.open_bytes(uri).version
    return float(version) if version.isdigit() else time.time()


@checked
def remove_data_set(uri: PathLike, name: str) -> None:
    """Remove a data set and everything that belongs to it from an object store.

    Raises:
        NotFoundError: no such data set.
        UsageError: it is being written, or `uri` is not an object store.
    """
    _core.remove_data_set(path_text(uri), column_name(name, "data set"))
