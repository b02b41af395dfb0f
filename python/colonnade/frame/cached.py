"""Cached columns in a location that all workers can reach: a data set that lives as long as its DataFrame."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
import weakref
from typing import TYPE_CHECKING

from colonnade import _core
from colonnade.distributed.presence import Presence
from colonnade.errors import Error, StorageError
from colonnade.maintenance.garbage import remove_data_set
from colonnade.misuse import path_text

if TYPE_CHECKING:
    from .session import Session

__all__ = ["CachePlace"]


class CachePlace:
    """The location of one DataFrame's columns: an object store, a local folder, or a remote one."""

    def __init__(self, place: str | os.PathLike[str], of_tasks: bool) -> None:
        where = path_text(place).rstrip("/")
        self.name = f"cache-{uuid.uuid4().hex[:16]}"
        self._is_store = _core.is_object_store(where)
        self._is_folder = of_tasks and not self._is_store and "://" not in where
        if self._is_store:
            self.target = where
        elif self._is_folder:  # one file per task, which need not be copied
            self.target = f"{where}/{self.name}/"
        else:
            self.target = f"{where}/{self.name}.root"
        if "://" not in where:
            try:
                os.makedirs(where, exist_ok=True)
            except OSError as error:
                raise StorageError(
                    f"the folder cannot be made: {error.strerror}", "another place", uri=where
                ) from error
        self._presence = Presence(where, self.name)

    @property
    def files(self) -> str:
        """The files that a DataFrame over the columns opens."""
        return f"{self.target}*.root" if self._is_folder else self.target

    def leave_with(self, session: Session) -> None:
        """Remove the columns when nothing uses a DataFrame's session any longer, or when this process ends."""
        weakref.finalize(
            session, _remove, self.target, self.name, self._is_store, self._is_folder, self._presence
        )


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
