"""The cache: its contents, and explicit operations on it. `colonnade.open(..., cache=...)` reads through it.

A home is a folder or an object store, as for `cache` there. The default comes from COLONNADE_CACHE or the
configuration, or is this user's folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from colonnade.annotations import checked
from colonnade.misuse import chosen_names, path_text

from . import _core
from .errors import Error, FileMissingError, NotFoundError, StorageError, UnsupportedError
from .reading.dataset import DataSet
from .reading.opening import PathLike, split_target

if TYPE_CHECKING:
    from .importing.kept_columns import KeptFile
    from .importing.trees import ImportProgress

__all__ = [
    "CacheCheck",
    "CacheGarbage",
    "CachedColumn",
    "CachedDataSet",
    "flush",
    "gc",
    "info",
    "ls",
    "pin",
    "rm",
    "unpin",
    "verify",
    "warm",
]


@dataclass(frozen=True)
class CachedColumn:
    """A cached column."""

    field: str
    column: int
    clusters: int
    """With at least one cached page."""
    pages: int
    bytes: int
    """An upper bound, at most an eighth too high."""
    pinned: bool
    last_use: datetime | None


@dataclass(frozen=True)
class CachedDataSet:
    """A cached data set, in one of its states."""

    uri: str
    """Empty if its record is damaged."""
    name: str
    version: str
    """Entity tag or modification time of the origin."""
    bytes: int
    pinned: bool
    users: tuple[str, ...]
    last_use: datetime | None
    columns: tuple[CachedColumn, ...]


@dataclass(frozen=True)
class CacheCheck:
    """The result of `verify`."""

    pages: int
    bytes: int
    damaged: int
    """Damaged values, now removed."""
    unknown: int
    """Values of data sets whose metadata are missing."""


@dataclass(frozen=True)
class CacheGarbage:
    """The result of `gc`."""

    leftovers: int
    """Unfinished values of processes that have ended."""
    outdated: int
    """Bytes of data sets that have changed since."""
    evicted: int
    """Bytes above the budget."""
    bytes: int
    """What remains."""


@checked
def ls(home: PathLike | None = None) -> list[CachedDataSet]:
    """List the data sets of a cache, most recently used first; those of TTrees come last.

    Raises:
        FileMissingError: no such home.
    """
    found = [] if _has_only_trees(home) else _core.cached_data_sets(_text(home))
    return [*map(_data_set, found), *map(_tree, _trees(home))]


@checked
def info(target: PathLike, home: PathLike | None = None) -> list[CachedDataSet]:
    """List the cached data sets of one file, one for each of its states."""
    uri = _core.cached_origin(split_target(target)[0])
    return [one for one in ls(home) if one.uri == uri]


@checked
def warm(
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    home: PathLike | None = None,
    progress: Callable[[float], None] | None = None,
) -> int:
    """Read a data set, or some of its columns, so that they are in the cache.

    Args:
        target: the file; or file and data set.
        name: the data set in the file.
        columns: fields by name; None for all.
        home: the cache.
        progress: called now and then with the fraction done, from 0 to 1.

    Returns:
        The number of bytes added.

    Raises:
        StorageError: the cache accepts no data, or the server does not tell whether the file changes.
    """
    uri, found = split_target(target, name)
    chosen = chosen_names(columns)
    try:
        return _core.warm_cache(found, uri, chosen, _text(home), progress)
    except NotFoundError as error:
        return _warm_tree(uri, found, chosen, home, progress, error)


@checked
def verify(home: PathLike | None = None) -> CacheCheck:
    """Check every page of a cache, and remove damaged ones."""
    from .importing.kept_columns import remove_kept

    has_pages = not _has_only_trees(home)
    pages = moved = damaged = 0
    for one in _trees(home):
        moved += one.bytes
        try:
            pages += DataSet(one.path, cache="off").verify()
        except Error:
            damaged += 1
            remove_kept(one.path)
    if not has_pages:
        return CacheCheck(pages, moved, damaged, 0)
    found = _core.verify_cache(_text(home))
    return CacheCheck(found.pages + pages, found.bytes + moved, found.damaged + damaged, found.unknown)


@checked
def pin(target: PathLike, columns: Sequence[str] | None = None, home: PathLike | None = None) -> int:
    """Protect a data set, or some of its columns, from eviction. Returns the number of data sets.

    Raises:
        UnsupportedError: columns of a TTree.
    """
    uri, chosen = split_target(target)[0], chosen_names(columns)
    try:
        return _core.pin_cached(uri, chosen, _text(home))
    except FileMissingError as error:
        if any(one.uri == _core.cached_origin(uri) for one in _trees(home)):
            raise UnsupportedError(
                "columns of a TTree cannot be pinned", "import it: `colonnade import`", uri=uri
            ) from error
        raise


@checked
def unpin(target: PathLike, home: PathLike | None = None) -> int:
    """Undo `pin`."""
    return _core.unpin_cached(split_target(target)[0], _text(home))


@checked
def rm(target: PathLike, columns: Sequence[str] | None = None, home: PathLike | None = None) -> int:
    """Remove a data set, or some of its columns, from a cache. Returns the number of bytes.

    Columns of a TTree that were imported together are removed together.
    """
    from .importing.kept_columns import remove_kept

    uri, chosen = split_target(target)[0], chosen_names(columns)
    wanted = set(chosen)
    has_pages = not _has_only_trees(home)
    removed = 0
    for one in _trees(home):
        if one.uri == _core.cached_origin(uri) and (not wanted or wanted & set(one.branches)):
            remove_kept(one.path)
            removed += one.bytes
    if not removed and not has_pages:
        told = _core.cached_origin(uri)
        raise FileMissingError(f"the cache has nothing of {told}", "`colonnade cache ls` lists what it has")
    try:
        return removed + _core.remove_cached(uri, chosen, _text(home))
    except FileMissingError:
        if not removed:
            raise
        return removed


@checked
def gc(home: PathLike | None = None) -> CacheGarbage:
    """Remove leftovers of killed processes, outdated data, and data above the budget."""
    from .importing.kept_columns import collect_garbage

    uri, budget = _core.cache_home(_text(home), True)
    has_pages = not _has_only_trees(home)
    # The core refuses what cannot be a home.
    found = _core.collect_cache_garbage(_text(home)) if has_pages else CacheGarbage(0, 0, 0, 0)
    leftovers, outdated, evicted, left = collect_garbage(uri, budget)
    return CacheGarbage(
        found.leftovers + leftovers, found.outdated + outdated, found.evicted + evicted, found.bytes + left
    )


@checked
def flush(seconds: float = 60) -> bool:
    """Wait until all pages read so far are in the cache, at most `seconds`; False if some are left.

    It gives up earlier if nothing is written for half of that time.

    When a process ends, it waits up to 5 s for them anyway.
    """
    return _core.flush_cache(seconds)


# ---- Imported columns of TTrees


def _trees(home: PathLike | None) -> list[KeptFile]:
    from .importing.kept_columns import kept_files

    uri, _ = _core.cache_home(_text(home), True)
    return kept_files(uri) if uri else []


def _has_only_trees(home: PathLike | None) -> bool:
    """True if the home has a folder for imported columns, even if it is empty, and nothing else."""
    from .importing.kept_columns import trees_of

    uri, _ = _core.cache_home(_text(home), True)
    if not uri or not os.path.isdir(trees_of(uri)):
        return False
    try:
        _core.cached_data_sets(_text(home))
    except NotFoundError:
        return True
    return False


def _will_be_made() -> bool:
    """Whether the own cache is made when it is first used: nothing is there that is something else."""
    uri = _core.cache_home("", True)[0] or _core.cache_home("on", True)[0]
    path = uri.removeprefix("obj://")
    if path == uri and "://" in uri:
        return False  # no bucket or pool is ever made
    return not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path))


def _tree(one: KeptFile) -> CachedDataSet:
    return CachedDataSet(
        uri=one.uri,
        name=one.tree,
        version=one.version,
        bytes=one.bytes,
        pinned=False,
        users=(),
        last_use=_time(int(one.last_use)),
        columns=tuple(CachedColumn(branch, -1, 0, 0, 0, False, None) for branch in one.branches),
    )


def _warm_tree(
    uri: str,
    name: str,
    columns: list[str],
    home: PathLike | None,
    progress: Callable[[float], None] | None,
    error: NotFoundError,
) -> int:
    from .importing.tree_columns import TreeColumns

    before = sum(one.bytes for one in _trees(home))
    tree = TreeColumns.of([(uri, name)], cache=_core.cache_home(_text(home), True)[0], otherwise=error)
    if not tree.may_be_kept():
        raise StorageError(
            "the cache keeps nothing of the tree: its server reports neither an entity tag nor a modification time, "
            "which tell whether it has changed",
            uri=uri,
        )
    wanted = DataSet(tree.shapes[0], cache="off").select(columns or None).field_names

    def watch(step: ImportProgress) -> None:
        if progress is not None:
            progress(step.entries / max(step.total_entries, 1))

    tree.fetch(wanted, watch)
    return max(0, sum(one.bytes for one in _trees(home)) - before)


# ---- Inside


def _text(home: PathLike | None) -> str:
    return "" if home is None else path_text(home)


def _time(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, tz=UTC) if seconds else None


def _data_set(one: _core.CachedDataSet) -> CachedDataSet:
    return CachedDataSet(
        uri=one.uri,
        name=one.name,
        version=one.version,
        bytes=one.bytes,
        pinned=one.pinned,
        users=tuple(one.users),
        last_use=_time(one.last_use),
        columns=tuple(
            CachedColumn(c.field, c.column, c.clusters, c.pages, c.bytes, c.pinned, _time(c.last_use))
            for c in one.columns
        ),
    )
