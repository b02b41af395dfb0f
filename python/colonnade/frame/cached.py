"""Cached columns in a location that all workers can reach: a data set that lives as long as its DataFrame."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import uuid
import weakref

from colonnade import _core
from colonnade.distributed.presence import Presence
from colonnade.distributed.snapshots import split_name
from colonnade.errors import Error, StorageError
from colonnade.maintenance.garbage import remove_data_set
from colonnade.misuse import path_text

__all__ = ["CachePlace", "files_in"]


class CachePlace:
    """The location of one DataFrame's columns: an object store, a local folder, or a remote one."""

    def __init__(self, place: str | os.PathLike[str], of_tasks: bool) -> None:
        where = path_text(place).rstrip("/")
        where = _core.absolute_name(_core.local_path(where) if where.startswith("file:") else where)
        self.name = f"cache-{uuid.uuid4().hex[:16]}"
        self._is_store = _core.is_object_store(where)
        self._is_folder = of_tasks and _core.is_local_file(where)
        if self._is_store:
            self.target = where
        elif self._is_folder:  # one file per task, which need not be copied
            self.target = f"{where}/{self.name}/"
        else:
            folder, ending, query = split_name(where)
            self.target = f"{folder.rstrip('/')}{ending}/{self.name}.root{query}"
        if _core.is_local_file(where):
            try:
                os.makedirs(where, exist_ok=True)
            except OSError as error:
                raise StorageError(
                    f"the folder cannot be made: {error.strerror}", "another place", uri=where
                ) from error
        presence = Presence(where, self.name)
        self.remove = weakref.finalize(
            self, _remove, self.target, self.name, self._is_store, self._is_folder, presence
        )
        """Removes the columns, once: when nothing uses the place any longer, or when this process ends."""

    @property
    def files(self) -> str:
        """The files that a DataFrame over the columns opens."""
        return files_in(self.target) if self._is_folder else self.target


def files_in(folder: str) -> str:
    """The pattern of the files that tasks wrote into a folder, whatever its name."""
    return f"{glob.escape(folder)}*.root"


def _remove(target: str, name: str, is_store: bool, is_folder: bool, presence: Presence) -> None:
    if is_folder:
        shutil.rmtree(target, ignore_errors=True)
    else:
        with contextlib.suppress(Error):
            if is_store:
                remove_data_set(target, name)
            else:
                _core.remove_file(target)
    presence.end()
