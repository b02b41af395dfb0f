"""Locks that outlive a fork."""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property

__all__ = ["ProcessLock"]


class ProcessLock:
    """A lock that each process has its own of: no thread in a forked child releases what its parent held."""

    def __init__(self, *, reentrant: bool = False) -> None:
        self._make = threading.RLock if reentrant else threading.Lock
        self._locks = {os.getpid(): self._make()}

    def __enter__(self) -> None:
        self._locks.setdefault(os.getpid(), self._make()).acquire()

    def __exit__(self, *_: object) -> None:
        self._locks[os.getpid()].release()


def _renew_cached_properties() -> None:
    for name, module in list(sys.modules.items()):
        if not name.startswith(("awkward.", "colonnade.")):
            continue
        for each in list(vars(module).values()):
            if isinstance(each, type):
                for member in vars(each).values():
                    if isinstance(member, cached_property):
                        vars(member)["lock"] = threading.RLock()


if sys.version_info < (3, 12):
    # Each cached property has one lock for all objects. In a forked child it stays locked if another thread of the
    # parent was computing the property of any of them.
    os.register_at_fork(after_in_child=_renew_cached_properties)
