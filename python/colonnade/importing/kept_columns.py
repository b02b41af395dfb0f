"""Imported columns of TTrees, kept in files: of a cache, or of this process, which removes them."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
import threading
import weakref
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from colonnade import _core
from colonnade.errors import Error, FileMissingError, StorageError, refused
from colonnade.locks import ProcessLock

if TYPE_CHECKING:
    from .tree_columns import Watch, _TreeFile

__all__ = [
    "KeptColumns",
    "KeptFile",
    "TemporaryFolder",
    "collect_garbage",
    "evict",
    "kept_files",
    "kept_in",
    "remove_kept",
    "trees_of",
]

_TEMPORARY = "colonnade-trees-"
_USED = ".used"
_USES = ".uses"
_COPIED = 16 << 20
"""Bytes per copy operation."""
_IMPORTING: dict[tuple[int, str, str, frozenset[str]], threading.Lock] = {}


class TemporaryFolder:
    """A folder of this process, removed when it ends."""

    _folder = ""
    _lock = ProcessLock()

    @classmethod
    def folder(cls) -> str:
        """Return its path; makes it on first use."""
        with cls._lock:
            if not cls._folder or not cls._folder.startswith(_own_folder()):  # a forked child makes its own
                try:
                    cls._remove_orphaned()
                    cls._folder = tempfile.mkdtemp(prefix=_own_folder())
                except OSError as error:
                    raise StorageError(
                        f"no folder can be made for imported columns: {error.strerror}",
                        "TMPDIR= another folder, or cache=",
                        uri=error.filename,
                    ) from error
                atexit.register(_remove_own, cls._folder)
        return cls._folder

    @staticmethod
    def _remove_orphaned() -> None:
        """Remove folders of killed processes."""
        for folder in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*-*"):
            owner = folder.name.removeprefix(_TEMPORARY).partition("-")[0]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                shutil.rmtree(folder, ignore_errors=True)


def _remove_own(folder: str) -> None:
    if folder.startswith(_own_folder()):  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)


def _own_folder() -> str:
    return os.path.join(tempfile.gettempdir(), f"{_TEMPORARY}{os.getpid()}-")


@dataclass(frozen=True)
class KeptFile:
    """Imported columns of a tree in a cache."""

    path: str
    uri: str
    tree: str
    version: str
    branches: tuple[str, ...]
    bytes: int
    last_use: float


class _Uses:
    """What a process uses of a folder of a cache: others that make room leave it alone.

    A process lists it in a file, of which it holds the lock, so that those of killed ones can be told and removed.
    Nothing is done to the used files themselves: their times are part of their identity.
    """

    _made: ClassVar[dict[tuple[int, str], _Uses]] = {}
    _making = ProcessLock()

    def __init__(self, base: str) -> None:
        self._base, self._process = base, os.getpid()
        self._counts: Counter[str] = Counter()
        self._dropped: deque[set[str]] = deque()
        with self.locked(base):
            self._file, self._path = tempfile.mkstemp(_USES, f"{self._process}-", f"{base}/{_USED}")
            os.fchmod(self._file, 0o644)  # for others
            fcntl.flock(self._file, fcntl.LOCK_EX)
        atexit.register(self._remove)

    @classmethod
    def of(cls, base: str) -> _Uses:
        """Return those of this process; makes them on first use. Raises `OSError` if that is impossible."""
        with cls._making:
            key = (os.getpid(), base)  # a forked child makes its own
            if key not in cls._made or not os.path.exists(cls._made[key]._path):
                cls._made[key] = cls(base)
            return cls._made[key]

    @staticmethod
    @contextlib.contextmanager
    def locked(base: str, *, waits: bool = True) -> Iterator[None]:
        """Keep others from adding uses, and from removing files. Raises `BlockingIOError` unless it waits for them."""
        os.makedirs(f"{base}/{_USED}", exist_ok=True)
        with open(f"{base}/{_USED}/lock", "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                yield
            finally:
                # Closing is not enough: a child that was forked meanwhile has the file open as well.
                fcntl.flock(file, fcntl.LOCK_UN)

    def add(self, path: str) -> None:
        """Begin to use a file, which need not exist yet."""
        with self.locked(self._base):
            self._counts[path] += 1
            if self._dropped:
                self._write()
            else:
                os.pwrite(self._file, self._line(path), os.fstat(self._file).st_size)

    def drop(self, paths: set[str]) -> None:
        """End the use of files, at the latest when the process next uses or drops one.

        The garbage collector calls this in any place, also in one of this thread that holds the lock: it never waits.
        """
        if self._process == os.getpid():  # not in a forked child
            self._dropped.append(paths)
            with contextlib.suppress(OSError), self.locked(self._base, waits=False):
                self._write()

    def _write(self) -> None:
        while self._dropped:
            self._counts -= Counter(self._dropped.popleft())
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, b"".join(map(self._line, self._counts)), 0)

    def _line(self, path: str) -> bytes:
        return f"{os.path.relpath(path, self._base)}\n".encode()

    def _remove(self) -> None:
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    @staticmethod
    def all_of(base: str) -> set[str]:
        """What running processes use. Call it while it is `locked`. Removes the lists of killed ones."""
        found: set[str] = set()
        for path in Path(base, _USED).glob(f"*{_USES}"):
            with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    found.update(f"{base}/{name.rstrip()}" for name in file)
                else:
                    path.unlink()
        return found


class KeptColumns:
    """Imported columns: files in a folder for each state of a tree.

    In folders, the names of files contain a checksum, which is verified when a process first uses one. From elsewhere
    each process copies the files that it uses, and checks all their pages. A read never fails because of one of these
    files.

    Args:
        base: the folder.
        budget: the maximum size of all files.
        shared: whether others may remove files.
    """

    def __init__(self, base: str, budget: int | None = None, *, shared: bool = False) -> None:
        self.base = base
        self._budget = budget
        self._shared = shared
        self._used: set[str] = set()
        self._is_local = _core.is_local_file(base)
        self._known: dict[str, frozenset[str]] = {}
        self._whole: set[str] = set()
        self._copies: dict[str, str] = {}

    def find(self, tree: _TreeFile, branches: frozenset[str]) -> str:
        """Return a file that has the branches; empty if none has all of them."""
        for path in _listed(f"{glob.escape(self.base)}/{tree.identity}/*.root"):
            if path not in self._known:
                self._known[path] = _branches_in(path)
            if self._known[path] >= branches and self._is_whole(path):
                self._use(path)
                # Another process may have removed it before.
                if not self._is_local or os.path.exists(path):
                    return self._copies.get(path, path)
        return ""

    def _use(self, path: str) -> None:
        """Keep others from removing a file until nothing uses this any more."""
        if not self._is_local or not self._shared:
            return
        _mark_used(path)
        # The folder of others may only be read.
        with contextlib.suppress(OSError):
            if path not in self._used:
                uses = _Uses.of(self.base)
                uses.add(path)
                if not self._used:
                    weakref.finalize(self, uses.drop, self._used)
                self._used.add(path)

    def _is_whole(self, path: str) -> bool:
        if path in self._whole:
            return True
        try:
            found = self._has_its_sum(path) if self._is_local else self._is_good_copy(path)
        except Error:
            found = False
        if found:
            self._whole.add(path)
        else:
            self._copies.pop(path, None)
            self._known.pop(path, None)
            with contextlib.suppress(Error):
                remove_kept(path)
        return found

    @staticmethod
    def _has_its_sum(path: str) -> bool:
        return f"{_core.sum_of_file(path):016x}" == Path(path).stem.rpartition("-")[2]

    def _is_good_copy(self, path: str) -> bool:
        """Check the file, where there is room for one as a copy, from which it is read afterwards."""
        from colonnade.reading.dataset import DataSet

        file = _core.open_bytes(path)
        with contextlib.suppress(OSError):
            folder = TemporaryFolder.folder()
            if shutil.disk_usage(folder).free > 2 * file.size:
                copy = f"{folder}/{hashlib.sha256(path.encode()).hexdigest()[:20]}.copy.root"
                with open(copy, "wb") as to:
                    for begin in range(0, file.size, _COPIED):
                        to.write(file.read(begin, begin + _COPIED))
                self._copies[path] = copy
        DataSet(self._copies.get(path, path), cache="off").verify()
        return True

    def get(self, tree: _TreeFile, branches: frozenset[str], watch: Watch) -> str:
        """Find a file that has the branches, or import them, once for all threads that want the same."""
        # A forked child does not wait for the threads of its parent.
        target = (os.getpid(), self.base, tree.identity, branches)
        with _IMPORTING.setdefault(target, threading.Lock()):
            return self.find(tree, branches) or self.add(tree, branches, watch)

    def add(self, tree: _TreeFile, branches: frozenset[str], watch: Watch) -> str:
        """Import branches to a file; raises `Error` if it cannot be written."""
        name = hashlib.sha256("\n".join(sorted(branches)).encode()).hexdigest()[:20]
        folder = f"{self.base}/{tree.identity}"
        path = f"{folder}/{name}.root"
        if self._is_local:
            aside = f"{folder}/.{name}.{os.getpid()}-{threading.get_ident()}.root"
            try:
                os.makedirs(folder, exist_ok=True)
                tree.write(branches, aside, watch)
                path = f"{folder}/{name}-{_core.sum_of_file(aside):016x}.root"
                self._use(path)
                os.replace(aside, path)
            except OSError as error:
                if isinstance(error, StorageError) and error.uri != aside:
                    raise  # of what is read
                problem = "the imported columns cannot be written"
                if isinstance(error, StorageError):
                    raise StorageError(f"{problem}: {error.problem}", error.advice, uri=self.base) from error
                raise refused(error, problem, self.base) from error
            self._whole.add(path)
        else:
            tree.write(branches, path, watch)
            self._whole.add(path)
        self._known[path] = branches
        if self._is_local and self._budget is not None:
            evict(self.base, self._budget, spare=path)
        return path


def trees_of(home: str) -> str:
    """The folder of imported columns that belongs to a cache home."""
    path = home.removeprefix("obj://").rstrip("/")
    if path.startswith("s3://") and path.count("/") == 2:
        return f"{path}/trees"
    return f"{path}-trees"


def _listed(pattern: str) -> list[str]:
    try:
        return list(_core.expand_names([pattern]))
    except Error:
        return []


def _branches_in(path: str) -> frozenset[str]:
    """The branches listed in an imported file. Damaged files are removed."""
    found = _record(path)
    if found is None:
        with contextlib.suppress(Error):
            remove_kept(path)
        return frozenset()
    return frozenset(found["branches"])


def _mark_of(path: str) -> Path:
    """The file whose time is that of the last use: the time of a data set's own file is part of its identity."""
    return Path(path).with_name(f".{Path(path).name}{_USED}")


def _mark_used(path: str) -> None:
    with contextlib.suppress(OSError):
        _mark_of(path).touch()


def _last_use(path: str) -> float:
    used = os.stat(path).st_mtime
    with contextlib.suppress(OSError):
        used = max(used, _mark_of(path).stat().st_mtime)
    return used


def remove_kept(path: str) -> None:
    """Remove imported columns from a cache."""
    _core.remove_file(path)
    with contextlib.suppress(OSError):
        if "://" not in path:
            _mark_of(path).unlink()


def _record(path: str) -> dict[str, Any] | None:
    try:
        names = _core.data_sets(path)
        text = _core.open(path, names[0], _core.ReadOptions()).descriptor.description
        told = json.loads(text)["imported"]
        return told if isinstance(told, dict) else None
    except (Error, ValueError, KeyError, TypeError, IndexError):
        return None


def kept_files(home: str) -> list[KeptFile]:
    """Imported columns of the cache with that home, most recently used first."""
    return kept_in(trees_of(home))


def kept_in(base: str) -> list[KeptFile]:
    """The same by their own folder. Unreadable files have no URI."""
    found = []
    for path in _listed(f"{glob.escape(base)}/*/*.root"):
        told = _record(path) or {"uri": "", "tree": "", "version": "", "branches": []}
        size, used = 0, 0.0
        with contextlib.suppress(OSError):
            state = os.stat(path) if "://" not in path else None
            size, used = (state.st_size, _last_use(path)) if state else (_core.open_bytes(path).size, 0.0)
        branches = tuple(told["branches"])
        found.append(KeptFile(path, told["uri"], told["tree"], told["version"], branches, size, used))
    return sorted(found, key=lambda one: -one.last_use)


@contextlib.contextmanager
def _uses_of(base: str) -> Iterator[set[str]]:
    """The files of a folder that running processes use. Until the end, no other use begins and no file is removed."""
    with contextlib.ExitStack() as stack:
        used: set[str] = set()
        with contextlib.suppress(OSError):  # which may only be read
            if _core.is_local_file(base) and os.path.isdir(base):
                stack.enter_context(_Uses.locked(base))
                used = _Uses.all_of(base)
        yield used


def evict(base: str, budget: int, spare: str = "") -> int:
    """Remove least recently used files until the rest fits, except used ones; returns the number of bytes removed."""
    files = kept_in(base)
    left, removed = sum(one.bytes for one in files), 0
    if left <= budget:
        return 0
    with _uses_of(base) as used:
        for one in reversed(files):
            if left <= budget:
                break
            if one.path == spare or one.path in used:
                continue
            with contextlib.suppress(FileMissingError):  # another process made room, too
                remove_kept(one.path)
            left -= one.bytes
            removed += one.bytes
    return removed


def collect_garbage(home: str, budget: int) -> tuple[int, int, int, int]:
    """Remove leftovers, outdated columns, and those above the budget from a cache, except what is used.

    Returns:
        The number of leftovers; the outdated bytes; the bytes above the budget; the remaining bytes.
    """
    base = trees_of(home)
    files = kept_in(base)
    latest: dict[tuple[str, str], KeptFile] = {}
    for one in files:  # most recently used first
        latest.setdefault((one.uri, one.tree), one)
    outdated, leftovers = 0, 0
    with _uses_of(base) as used:
        for one in files:
            if one.path in used:
                continue
            if not one.uri:
                leftovers += 1
            elif latest[one.uri, one.tree].version != one.version:
                outdated += one.bytes
            else:
                continue
            remove_kept(one.path)
        for mark in Path(base).glob(f"*/.*{_USED}"):
            if not mark.with_name(mark.name[1:].removesuffix(_USED)).exists():
                mark.unlink(missing_ok=True)
    evicted = evict(base, budget)
    return leftovers, outdated, evicted, sum(one.bytes for one in kept_in(base))
