"""Whether a client is still there, as those can tell who clean up after it.

What a client keeps for its own life has a sign beside it: columns that `DataFrame.cache` put somewhere, and parts of a
snapshot into a file of S3. In an object store the sign is a claim on a data set of its own, which the client renews and
nothing is ever written to; in a local folder a locked file:

    cache-0123456789abcdef                            columns
    cache-0123456789abcdef~client                     the claim of their client
    .cache-0123456789abcdef.client                    in a folder, the file that it locks
    Events~part-r123456789abcdef-0-500-0-89abcdef     a part of a snapshot
    Events~part-r123456789abcdef~client               the claim of its client

A client claims before anything is there, and removes its claim when it needs nothing of it any longer. So what is
there, and has no claim afterwards, belongs to nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from colonnade import _core
from colonnade.errors import Error, StorageError
from colonnade.reading.aside import unfinished
from colonnade.writing.options import write_options

from .runs import end, ended_runs, is_held, of_destination

__all__ = ["Presence", "abandoned_data_sets", "abandoned_in_folder", "kept_by_clients"]

_CLAIM = "~client"
_LOCK = ".client"
_OWNED = re.compile(r"(?P<owner>cache-[0-9a-f]{16}|.+~part-r[0-9a-f]{15})(-\d+-\d+-\d+-[0-9a-f]{8})?")
_CACHE = re.compile(r"\.?(?P<owner>cache-[0-9a-f]{16})(?=[./]|$)")


class Presence:
    """The sign of this process."""

    def __init__(self, place: str, owner: str) -> None:
        """Give it; raises `StorageError` if nothing can be written there."""
        self._writer: _core.SharedWriter | None = None
        self._lock, self._path = -1, Path()
        if _core.is_object_store(place):
            self._writer = _core.open_shared_writer(f"{owner}{_CLAIM}", place, write_options())
        elif _core.is_local_file(place):
            self._path = Path(place) / f".{owner}{_LOCK}"
            try:
                self._lock = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise StorageError(
                    f"no files can be created in the folder: {error.strerror}", "another place", uri=place
                ) from error
            with contextlib.suppress(OSError):  # a file system without locks: `gc` looks at the age of files
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @property
    def ticket(self) -> str:
        """What tells others in an object store whether it is still there: see `SharedWriter.is_open`."""
        return "" if self._writer is None else self._writer.ticket

    def end(self) -> None:
        """Take it away."""
        if self._writer is not None:
            with contextlib.suppress(Error):
                self._writer.discard()
        if self._lock >= 0:
            with contextlib.suppress(OSError):  # the folder may be gone, or read-only by now
                self._path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1


# ---- Object stores


def kept_by_clients(names: Iterable[str]) -> list[str]:
    """Return the data sets that a client keeps for its life only."""
    return [name for name in names if _OWNED.fullmatch(name)]


def abandoned_data_sets(kept: Iterable[str], claimed: Iterable[str]) -> list[str]:
    """Return those of `kept` whose client is gone.

    Args:
        kept: as they were before the claims were looked at.
        claimed: data sets with claims of writers that are at work.
    """
    living = {name.removesuffix(_CLAIM) for name in claimed if name.endswith(_CLAIM)}
    found = []
    for name in kept:
        match = _OWNED.fullmatch(name)
        if match is not None and match["owner"] not in living:
            found.append(name)
    return found


# ---- Folders


def abandoned_in_folder(folder: Path, *, dry_run: bool, force: bool, older_than: float | None) -> list[str]:
    """Remove columns in a local folder whose client is gone, with what was to become such; returns their names."""
    found: dict[str, list[Path]] = {}
    for each in folder.iterdir():
        if match := _CACHE.match(each.name):
            found.setdefault(match["owner"], []).append(each)
    gone = []
    for owner, files in sorted(found.items()):
        if not force and is_held(folder / f".{owner}{_LOCK}", files, older_than):
            continue
        gone.append(owner)
        if not dry_run:
            _remove_columns(folder, owner)
    return gone


def _remove_columns(folder: Path, owner: str) -> None:
    for destination in (folder / owner, folder / f"{owner}.root"):
        for run in [*of_destination(destination), *(each.name for each in ended_runs(destination))]:
            end(destination, run)
        for file in unfinished(destination, force=True, older_than=None):
            file.unlink(missing_ok=True)
    shutil.rmtree(folder / owner, ignore_errors=True)
    (folder / f"{owner}.root").unlink(missing_ok=True)
    (folder / f".{owner}{_LOCK}").unlink(missing_ok=True)
