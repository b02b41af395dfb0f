"""Claims of snapshots into local files: the runs that write parts beside a destination, and orphaned parts.

A run holds a lock on a file beside its destination as long as it lives; its parts have its name:

    .out.root.r123456789abcdef.run                   the claim, locked
    out.part-r123456789abcdef-0-500-0-89abcdef.root  a part
    out.parts-r123456789abcdef/                      parts of a folder
    .out.root.0123456789abcdef.part                  the destination while it is written: io/file_system.h

Long names are shortened. The process that ends a run removes the claim before it searches for parts, and a worker
checks the claim after it has written its part. So a worker removes its own part if it is late. One that is killed
before leaves a part without a claim, which belongs to a run that has ended: claims come first. Plans without a claim
have parts without an "r".
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import re
import secrets
import shutil
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from colonnade import _core
from colonnade.errors import refused
from colonnade.reading.aside import is_in_use, newest, stem_of

__all__ = [
    "ClaimedRun",
    "Run",
    "claimed_runs",
    "end",
    "ended_runs",
    "is_claimed",
    "is_held",
    "of_destination",
    "run_name",
    "short_name",
]

_LONGEST = 48
_NAME = "r[0-9a-f]{15}"


def run_name() -> str:
    """Return a name for a run whose client shows that it is there; others have no "r"."""
    return f"r{secrets.token_hex(8)[1:]}"


def short_name(name: str) -> str:
    """Return a name that others can begin with.

    File systems take 255 bytes. Of a longer name than 96, that of its temporary file has 79: the run must be in them.
    """
    whole = os.fsencode(name)
    if len(whole) <= _LONGEST:
        return name
    return f"{whole[: _LONGEST - 17].decode(errors='ignore')}~{hashlib.sha256(whole).hexdigest()[:16]}"


def _claim(destination: Path, run: str) -> Path:
    return destination.with_name(f"{stem_of(destination.name)}{run}.run")


class Run:
    """A claim of this process. If it is dropped before its end, as by Ctrl-C at any moment, it ends then."""

    _process: int | None = None  # that has to end it

    def __init__(self, destination: Path) -> None:
        self.name = run_name()
        self._destination, self._claim = destination, _claim(destination, self.name)
        self._process = os.getpid()
        try:
            self._lock = io.FileIO(self._claim, "x+")  # an object, which closes the file when it is dropped
        except OSError as error:
            problem = "no files can be created in the folder of the snapshot"
            raise refused(error, problem, str(destination)) from error
        with contextlib.suppress(OSError):  # a file system without locks: `gc` does not remove anything there
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def end(self) -> None:
        """Remove all remaining parts, or warn that they remain."""
        try:
            end(self._destination, self.name)
        except OSError as error:
            warnings.warn(
                f"parts of the snapshot to '{self._destination}' remain beside it ({error.strerror}); "
                "`colonnade gc` removes them",
                RuntimeWarning,
                stacklevel=2,
            )
        self._process = None
        self._lock.close()

    @_core.finalizer
    def __del__(self) -> None:
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                end(self._destination, self.name)


def is_claimed(destination: Path, run: str) -> bool:
    """Whether the parts of a run are still needed."""
    return _claim(destination, run).exists()


def end(destination: Path, run: str) -> int:
    """Remove a claim, and then all parts; returns their number."""
    _parts(destination, run)  # where this fails, the claim stays for `gc`
    _claim(destination, run).unlink(missing_ok=True)
    parts = _parts(destination, run)
    for part in parts:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
    return len(parts)


def _parts(destination: Path, run: str) -> list[Path]:
    folder, stem = destination.parent, short_name(os.path.splitext(destination.name)[0])
    # Names of unfinished files begin with a dot: io/file_system.h.
    begins = f"{stem}.part-{run}-", f".{stem}.part-{run}-"
    name = short_name(destination.name)
    folders = f"{name}.parts-{run}", f"{name}.new-{run}"
    return [each for each in folder.iterdir() if each.name.startswith(begins) or each.name in folders]


@dataclass(frozen=True)
class ClaimedRun:
    """A run with a claim."""

    name: str
    is_alive: bool
    parts: int
    """The number of its files."""


def claimed_runs(destination: Path, *, force: bool, older_than: float | None) -> list[ClaimedRun]:
    """Return the runs with a claim on a destination.

    Args:
        destination: a file, or a folder.
        force: treat all of them as ended.
        older_than: seconds; without locks, runs whose files are all older count as ended.
    """
    found = []
    for run in of_destination(destination):
        parts = _parts(destination, run)
        is_alive = not force and is_in_use(_claim(destination, run), parts, older_than)
        found.append(ClaimedRun(run, is_alive, len(parts)))
    return found


def of_destination(destination: Path) -> list[str]:
    """Return the names of the runs with a claim on a destination."""
    claim = re.compile(rf"{re.escape(stem_of(destination.name))}(?P<run>{_NAME})\.run")
    matches = (claim.fullmatch(each.name) for each in sorted(destination.parent.iterdir()))
    return [match["run"] for match in matches if match is not None]


def ended_runs(destination: Path) -> list[ClaimedRun]:
    """Return the runs without a claim that have parts: of workers that were killed after their run had ended."""
    stem, name = short_name(os.path.splitext(destination.name)[0]), short_name(destination.name)
    part = re.compile(
        rf"\.?{re.escape(stem)}\.part-(?P<run>{_NAME})-.*|{re.escape(name)}\.parts-(?P<folder>{_NAME})"
    )
    matches = [part.fullmatch(each.name) for each in destination.parent.iterdir()]
    found = {match["run"] or match["folder"] for match in matches if match is not None}
    # Looked for afterwards, as a run may begin meanwhile. The stem of a part may be that of another destination, too.
    claims = [each.name for each in destination.parent.iterdir() if each.name.endswith(".run")]
    return [
        ClaimedRun(run, False, len(_parts(destination, run)))
        for run in sorted(found)
        if not any(claim.endswith(f".{run}.run") for claim in claims)
    ]


def is_held(lock: Path, files: list[Path], older_than: float | None) -> bool:
    """Whether a file is locked; where there is none, whether `files` may still be in use for all their age says."""
    if lock.exists():
        return is_in_use(lock, files, older_than)
    return older_than is None or newest(files) + older_than > time.time()
