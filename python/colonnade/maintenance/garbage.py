"""Removing from object stores what writers left behind that ended without closing, and data sets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

from colonnade import _core
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
    """Files of unfinished values that killed writers left, in a folder."""
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

    Args:
        uri: the object store.
        dry_run: only report what would be done.
        older_than: a time ("5 min", seconds, a timedelta). Claims of writers on other machines, which renew them while
            they live, are watched for so long instead of a minute.
        force: take all writers to be gone. The next commit of one that is still at work fails. In a folder, values that
            no record speaks of, which a crash of the machine may leave, are removed, too.

    Raises:
        FileMissingError: no such store.
        StorageError: the store cannot be reached or written.
        UsageError: not an object store.
    """
    age = None if older_than is None else seconds_of(older_than)
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


def remove_data_set(uri: PathLike, name: str) -> None:
    """Remove a data set from an object store, with all that belongs to it.

    Raises:
        NotFoundError: no such data set.
        UsageError: it is being written, or `uri` is not an object store.
    """
    _core.remove_data_set(os.fspath(uri), name)
