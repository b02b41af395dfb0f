"""Files that are written beside their place, and get their name when they are complete."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from colonnade import _core
from colonnade.errors import Error, refused

__all__ = ["is_in_use", "newest", "stem_of", "unfinished", "written_aside", "written_whole"]


def stem_of(name: str) -> str:
    """Return how the names of temporary files for a file begin, short enough for all file systems."""
    return os.fsdecode(_core.aside_stem(os.fsencode(name)))


@contextlib.contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Provide a temporary path in the same folder, which is renamed on success and removed otherwise.

    Its file is named and locked like those of writers (io/file_system.h): what a killed process leaves, `gc` removes,
    and the next one that writes to `path`. Links stay, and their target is replaced.
    """
    path = Path(os.path.realpath(path))
    aside = path.with_name(f"{stem_of(path.name)}{secrets.token_hex(8)}.part")
    with open(aside, "xb") as lock:
        try:
            with contextlib.suppress(OSError):  # a file system without locks: such files stay
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(OSError):  # a folder that cannot be listed, or files of others
                for left in unfinished(path, force=False, older_than=None):
                    left.unlink(missing_ok=True)
            yield aside
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)


@contextlib.contextmanager
def written_whole(path: Path, problem: str) -> Iterator[Path]:
    """Provide a path like `written_aside`, or `path` itself if that is a device or a pipe.

    Raises:
        StorageError: with this problem, if the system refuses.
    """
    try:
        with (
            written_aside(path) if path.is_file() or not path.exists() else contextlib.nullcontext(path) as at
        ):
            yield at
    except Error:  # perhaps an OSError as well, of what is read meanwhile
        raise
    except OSError as error:
        raise refused(error, problem, str(path)) from error


def unfinished(destination: Path, *, force: bool, older_than: float | None) -> list[Path]:
    """Return unfinished files for the destination, left by writers that have ended."""
    name = re.compile(re.escape(stem_of(destination.name)) + "[0-9a-f]{16}[.]part")
    found = sorted(each for each in destination.parent.iterdir() if name.fullmatch(each.name))
    return [each for each in found if force or not is_in_use(each, [], older_than)]


def is_in_use(locked: Path, parts: list[Path], older_than: float | None) -> bool:
    """Return whether a process holds the lock of a file; without locks, whether it or `parts` are new."""
    try:
        number = os.open(locked, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        return older_than is None or newest([locked, *parts]) + older_than > time.time()
    finally:
        os.close(number)
    return False


def newest(paths: list[Path]) -> float:
    """Return when the last of these files was changed."""
    times = [0.0]
    for each in paths:
        with contextlib.suppress(OSError):
            times.append(each.stat().st_mtime)
    return max(times)
