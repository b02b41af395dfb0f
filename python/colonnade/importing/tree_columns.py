"""TTrees as data sets: names and types are known at once, columns are imported on demand.

Imported columns are kept in files: of a cache, where later processes find them, or of this process, which removes them.
A file has some branches of one tree, by the rules of `import_tree`.
"""

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
import uuid
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from colonnade import _core
from colonnade.errors import (
    Error,
    FileMissingError,
    FormatError,
    SchemaError,
    StorageError,
    redacted,
    warn_left_out,
)
from colonnade.locks import ProcessLock
from colonnade.misuse import path_text
from colonnade.threads import ThreadPool
from colonnade.writing.options import write_options

from .tree_schema import Leaf, PlannedField, TreePlan, plan_fields
from .trees import (
    _TREES,
    ImportProgress,
    _data_set_names,
    _Import,
    _opened,
    _probe,
    _tree,
    _tree_names,
    _Writer,
    local_path,
    split_cycle,
    target_name,
)

__all__ = [
    "KeptFile",
    "TreeColumns",
    "collect_garbage",
    "evict",
    "kept_files",
    "kept_in",
    "remove_kept",
    "trees_of",
]

_RULES = 14
"""The version of names, types and values; files imported by another version are not used."""
_TEMPORARY = "colonnade-trees-"
_USED = ".used"
_USES = ".uses"
_SIZEOF = ("#", "R_rdf_sizeof_")
_OPENED = 16
"""The maximum number of open files."""
_IMPORTED = 4
"""The maximum number of trees that are imported at once."""
_STEP_SIZE = 16 << 20
"""Bytes of values of a tree that are read at a time."""
_COPIED = 16 << 20
"""Bytes per copy operation."""
Watch: TypeAlias = Callable[[ImportProgress], object]


# ---- A tree


class _TreeFile:
    """A TTree of a file, to be imported.

    Args:
        uri: of the file.
        name: of the tree; may be empty if there is only one.
        file: opened by uproot.
        keeps_open: whether the bytes of a remote file stay open until the columns are imported.
    """

    def __init__(self, uri: str, name: str, file: Any, *, keeps_open: bool) -> None:
        self.uri = uri
        self._place = _core.absolute_name(uri)
        self.name, tree = _tree(file, uri, name)
        self._asked = name.strip("/") or self.name  # perhaps with a cycle
        self.data_set = target_name(self.name)
        self.entries = int(tree.num_entries)
        self.title = str(tree.title or "")
        plan = plan_fields(tree, lambda _: True)
        self.plan = plan.without(_probe(tree, plan.leaves()))
        self._sizes = {leaf.path: int(leaf.branch.compressed_bytes) for leaf in self.plan.leaves()}
        remote = None if local_path(uri) else file.file.source.file
        self.version = _version(uri, remote)
        self._held = remote if keeps_open else None
        self._process = os.getpid()
        # Sources that may change unnoticed are imported for one reader only.
        self._state = self.version or uuid.uuid4().hex
        self._projections = self.plan.projections(aliases=True)
        self._counters = self.plan.counters()
        self._counter_paths = self.plan.counter_paths()
        self._like_sizes = self._branches_like_sizes()

    @property
    def identity(self) -> str:
        """Identifies trees, and states of one."""
        told = json.dumps([_RULES, _core.cached_origin(self._place), self._asked, self._state])
        return hashlib.sha256(told.encode()).hexdigest()[:20]

    def has(self, path: str) -> bool:
        """True if the tree has part of the column."""
        tops = {each.partition(".")[0] for each in _spellings(path)}
        return not tops.isdisjoint([*self._projections, *(node.name for node in self.plan.nodes)])

    def branches_of(self, paths: Iterable[str]) -> frozenset[str]:
        """The branches that columns need. Never empty: at least one is needed to count entries."""
        spelled = (each for path in paths for each in _spellings(path))
        found = frozenset(branch for each in spelled for branch in self._branches(each))
        if not found:
            # A counter would be a number alone, and is the length of a list in files with the whole tree.
            others = self._sizes.keys() - self._counter_paths
            found = frozenset({min(others, key=lambda branch: (self._sizes[branch], branch))})
        return found | self._like_sizes

    def _branches_like_sizes(self) -> frozenset[str]:
        """The branches of fields "#x" beside "x": a file with "x" alone would have the size of "x" under that name."""
        names = [*self._projections, *(node.name for node in self.plan.nodes)]
        sizes = {sign + name for sign in _SIZEOF for name in names}
        like = [node for node in self.plan.nodes if node.name in sizes]
        return frozenset(leaf.path for node in like for leaf in node.leaves())

    def _branches(self, path: str) -> list[str]:
        top = path.partition(".")[0]
        for node in self.plan.nodes:
            if node.name == top:
                return _below(node, path)
        for node in self.plan.nodes:
            members: dict[str, Leaf] = getattr(node, "members", {})
            aliases: dict[str, str] = getattr(node, "projections", {})
            if top in self._projections and top in aliases:
                return [members[aliases[top]].path]
            if self._counters.get(top) == node.name:
                # A counter is the length of a list, which must exist.
                return [min((leaf.path for leaf in members.values()), key=lambda branch: self._sizes[branch])]
        return []

    def shape(self) -> str:
        """Return a file with all fields and no entries, which equal trees share."""
        told = [self.name, self.title, self.plan.schema(), self._projections, self.plan.titles()]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:20]
        path = f"{_Temporary.folder()}/{digest}.shape.root"
        if not os.path.exists(path):
            self._write_shape(path)
        return path

    def _write_shape(self, to: str) -> None:
        writer = _Writer(
            to,
            self.data_set,
            None,
            write_options(description=self.title),
            mode="recreate",
            field_descriptions=self.plan.titles(),
        )
        try:
            for new, (spec, columns) in self._projections.items():
                writer.add_projected(new, spec, columns)
            writer.begin(self.plan.schema(), resume=False)
            writer.close()
        except BaseException:
            writer.abort()
            raise

    def write(self, branches: frozenset[str], to: str, watch: Watch) -> None:
        """Import some branches, while `watch` does not return False."""
        task = _Import(
            places=[(self._place, self._asked)],
            target=(to, self.data_set),
            columns=[],
            grouping=True,
            aliases=True,
            skip_unreadable=True,
            step_size=_STEP_SIZE,
            threads=len(os.sched_getaffinity(0)),
            progress=watch,
            only=branches,
            held=self._held if self._process == os.getpid() else None,
        )
        told = {
            "uri": _core.cached_origin(self._place),
            "tree": self.name,
            "version": self.version,
            "branches": sorted(branches),
        }
        options = {
            "compression": "zstd:1",
            "checkpoint_every": None,
            "parallel_sealing": True,
            "description": json.dumps({"imported": told}),
        }
        report = task.run(options, overwrite=True, resume=False, verify=False)
        if report.entries != self.entries:
            raise FormatError(
                f"the tree has {report.entries} entries now, and had {self.entries} when it was opened",
                "open it again",
                uri=self.uri,
                data_set=self.name,
            )


def _below(node: PlannedField, path: str) -> list[str]:
    """The branches of a field, or of a member of it."""
    places = TreePlan([node], []).places()
    # A pair needs both of its members.
    pairs = isinstance(node.spec, str) or any(
        part[1:].isdigit()
        for place in places.values()
        for part in place.split(".")[1:]
        if part.startswith("_")
    )
    found = [
        branch
        for branch, place in places.items()
        if place == path or place.startswith(f"{path}.") or path.startswith(f"{place}.")
    ]
    return list(places) if pairs or not found else found


def _spellings(path: str) -> set[str]:
    """What a column may stand for: "#x" is the size of "x", or a field of this name."""
    return {path, *(path.removeprefix(sign) for sign in _SIZEOF)}


def _version(uri: str, remote: _core.RandomAccessFile | None) -> str:
    """Changes with the file; empty if unknown."""
    if remote is not None:
        return f"{remote.size} {remote.version}" if remote.version else ""
    state = os.stat(local_path(uri))
    return f"{state.st_size} {state.st_mtime_ns} {state.st_ino}"


# ---- Storage of imported columns


class _Temporary:
    """A folder of this process, removed when it ends."""

    _folder = ""
    _lock = ProcessLock()

    @classmethod
    def folder(cls) -> str:
        """Return its path; makes it on first use."""
        with cls._lock:
            if not cls._folder or not cls._folder.startswith(_own_folder()):  # a forked child makes its own
                cls._remove_orphaned()
                cls._folder = tempfile.mkdtemp(prefix=_own_folder())
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


_IMPORTING: dict[tuple[int, str, str, frozenset[str]], threading.Lock] = {}


class _Kept:
    """Imported columns: files in a folder for each state of a tree.

    In folders, the names of files contain a checksum, which is verified when a process first uses one. From elsewhere
    each process copies the files that it uses, and checks all their pages. None of these files makes a read fail.

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
            folder = _Temporary.folder()
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
                raise StorageError(
                    f"the imported columns cannot be written: {error.strerror or error}", uri=self.base
                ) from error
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


# ---- The columns of several files


class _Total:
    """The progress of several imports as one."""

    def __init__(self, watch: Watch, entries: int) -> None:
        self._watch, self._entries = watch, entries
        self._latest: dict[str, ImportProgress] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def of(self, identity: str) -> Watch:
        """Return what takes the progress of one import; it returns False once the others have been stopped."""

        def update(progress: ImportProgress) -> bool:
            with self._lock:
                self._latest[identity] = progress
                entries, size = (
                    sum(getattr(each, name) for each in self._latest.values())
                    for name in ("entries", "bytes_read")
                )
                if (
                    not self._stopped
                    and self._watch(ImportProgress(entries, self._entries, size, False)) is False
                ):
                    self._stopped = True
                return not self._stopped

        return update

    def stop(self) -> None:
        """Let all imports end."""
        self._stopped = True


class TreeColumns:
    """The columns of one or several files, some with a TTree and others with a data set."""

    def __init__(
        self,
        files: Sequence[tuple[str, str]],
        found: Sequence[_Found],
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self.files = [uri for uri, _ in files]
        self._trees: list[_TreeFile | None] = []
        self.places: list[tuple[str, str]] = []
        """The files by names that last, each with the name of its tree, perhaps with a cycle."""
        self.names: list[str] = []
        """The name of the tree of each, or of its data set."""
        self.data_sets: list[str] = []
        """The names of the data sets that stand for the trees."""
        self.entries: list[int] = []
        self.shapes: list[str] = []
        for (uri, name), each in zip(files, found, strict=True):
            self._add(uri, name.strip("/"), each.data_set, each.tree)
        self._home = self._home_of(cache)

    @classmethod
    def of(
        cls,
        files: Sequence[tuple[str, str]],
        *,
        cache: str | os.PathLike[str] | None = None,
        otherwise: Error,
    ) -> TreeColumns:
        """Find the trees of files.

        Args:
            files: their URIs, each with the name of its tree or data set, which may be empty if it has only one.
            cache: of `colonnade.open`.
            otherwise: raised if none of the files has a tree of its name.
        """
        keeps_open = len(files) <= _OPENED
        with ThreadPool(_OPENED) as executor:
            found = list(executor.map(lambda file: _look(*file, keeps_open=keeps_open), files))
        if not any(each.is_tree for each in found):
            raise otherwise
        for each in found:
            if each.error is not None:
                raise each.error
        return cls(files, found, cache)

    def _add(self, uri: str, asked: str, there: str, tree: _TreeFile | None) -> None:
        found = there or (tree.name if tree else "")
        if not asked and self.names and found != self.names[0]:
            raise SchemaError(
                f"the data set here is '{found}', but '{self.names[0]}' in the files before",
                "name one of them",
                uri=uri,
            )
        self.places.append((_core.absolute_name(uri), asked or found))
        self.names.append(found)
        self.data_sets.append(found if tree is None else tree.data_set)
        self._trees.append(tree)
        if tree is None:
            self.entries.append(_core.open(uri, found, _core.ReadOptions()).num_entries)
            self.shapes.append(_core.absolute_name(uri))
            return
        self.entries.append(tree.entries)
        if tree.plan.unreadable:
            reasons = [(one.branch, one.reason) for one in tree.plan.unreadable]
            warn_left_out(reasons, f"{uri}, '{tree.name}'", stacklevel=5)
        self.shapes.append(tree.shape())

    def _home_of(self, cache: str | os.PathLike[str] | None) -> _Kept | None:
        remote = not all(map(_core.is_local, self.files))
        home, budget = _core.cache_home("" if cache is None else path_text(cache), remote)
        # Data sets of other stores have no file names.
        usable = home and ("://" not in home or home.startswith(("obj://", "s3://")))
        return _Kept(trees_of(home), budget, shared=True) if usable else None

    @property
    def samples(self) -> list[tuple[str, int, str, str]]:
        """Name, entries, file and data set of each."""
        return [
            (f"{uri}/{name}", entries, uri, name)
            for uri, name, entries in zip(self.files, self.names, self.entries, strict=True)
        ]

    @contextlib.contextmanager
    def naming_trees(self) -> Iterator[None]:
        """Let errors name the files of trees instead of those that stand for them."""
        try:
            yield
        except Error as error:
            problem, uri = error.problem, error.uri
            for shape, file in zip(self.shapes, self.files, strict=True):
                problem = problem.replace(shape, redacted(file))
                uri = file if uri == shape else uri
            named = type(error)(problem, error.advice, uri=uri, data_set=error.data_set, field=error.field)
            raise named from error.__cause__

    def other_names(self, *, all_: bool = True) -> dict[str, str]:
        """Columns by names of branches that are not theirs: see `TreePlan.other_names`."""
        found: dict[str, str] = {}
        for tree in self._trees:
            found = {**(tree.plan.other_names(all_=all_) if tree is not None else {}), **found}
        return found

    def leaf_types(self) -> dict[str, bool]:
        """See `TreePlan.leaf_types`."""
        found: dict[str, bool] = {}
        for tree in self._trees:
            found = {**(tree.plan.leaf_types() if tree is not None else {}), **found}
        return found

    def regrouped(self) -> set[str]:
        """Columns whose arrays are columns as well: see `TreePlan.regrouped`."""
        return {name for tree in self._trees if tree is not None for name in tree.plan.regrouped()}

    def has_stored(self) -> bool:
        """True if some of the files have data sets instead of trees."""
        return any(tree is None for tree in self._trees)

    def may_be_kept(self) -> bool:
        """Whether a cache keeps what is imported: it must know later whether the trees have changed."""
        return all(tree.version for tree in self._trees if tree is not None)

    def named(self, files: Sequence[str]) -> list[tuple[str, str]]:
        """Files that stand for those of the trees, each with the name of its data set."""
        return list(zip(files, self.data_sets, strict=True))

    def fetch(self, paths: Iterable[str], watch: Watch) -> list[str]:
        """Return for each file one that has the columns as a data set; see `named`.

        Args:
            paths: of columns, in the data frame's or the data sets' form.
            watch: called with the progress of all imports together.
        """
        wanted = list(paths)
        trees = {tree.identity: tree for tree in self._trees if tree is not None}
        total = _Total(watch, sum(tree.entries for tree in trees.values()))
        with ThreadPool(_IMPORTED) as executor:
            try:
                coming = {
                    identity: executor.submit(
                        self._fetch, tree, [path for path in wanted if tree.has(path)], total.of(identity)
                    )
                    for identity, tree in trees.items()
                }
                files = {identity: each.result() for identity, each in coming.items()}
            except BaseException:
                total.stop()
                executor.shutdown(wait=False, cancel_futures=True)
                raise
        return [
            place if tree is None else files[tree.identity]
            for (place, _), tree in zip(self.places, self._trees, strict=True)
        ]

    def _fetch(self, tree: _TreeFile, paths: list[str], watch: Watch) -> str:
        branches = tree.branches_of(paths)
        if self._home is not None and tree.version:
            # A failing cache counts as none.
            with contextlib.suppress(Error):
                return self._home.get(tree, branches, watch)
        return _Kept(_Temporary.folder()).get(tree, branches, watch)


@dataclass
class _Found:
    """What a file has under a name."""

    data_set: str = ""
    """Its name, if it is one."""
    tree: _TreeFile | None = None
    is_tree: bool = False
    """True if there is one, even if it cannot be read."""
    error: Exception | None = None


def _look(uri: str, name: str, *, keeps_open: bool) -> _Found:
    found = _Found()
    try:
        with _opened(uri) as file:
            trees, data_sets = _tree_names(file), _data_set_names(file)
            found.is_tree = _is_among(name, trees)
            found.data_set = _named(name, data_sets)
            if not found.data_set:
                found.tree = _TreeFile(uri, name, file, keeps_open=keeps_open)
    except (Error, ModuleNotFoundError) as error:
        found.error = error
        if not found.is_tree:  # uproot reads ROOT files only, and not all of them
            with contextlib.suppress(Error):
                found.data_set = _named(name, _core.data_sets(uri))
                found.is_tree = not found.data_set and _has_tree(uri, name)
                found.error = None if found.data_set else error
    return found


def _has_tree(uri: str, name: str) -> bool:
    """True if a file, which uproot cannot read, has a tree of that name."""
    trees = [each.path for each in _core.stored_objects(uri) if each.class_name in _TREES]
    return _is_among(name, trees)


def _is_among(name: str, trees: list[str]) -> bool:
    """True if one of the trees has that name, which may have a cycle, or if there is a tree and no name is given."""
    wanted = name.strip("/")
    return not {wanted, split_cycle(wanted)[0]}.isdisjoint(trees) if wanted else bool(trees)


def _named(name: str, data_sets: list[str]) -> str:
    """The data set of that name, or the only one."""
    if name:
        return name.strip("/") if name.strip("/") in data_sets else ""
    return data_sets[0] if len(data_sets) == 1 else ""
