"""TTrees as data sets: names and types are known at once, columns are imported on demand.

Imported columns are kept in files: of a cache, where later processes find them, or of this process, which removes them.
A file has some branches of one tree, by the rules of `import_tree`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from colonnade import _core
from colonnade.errors import (
    Error,
    FormatError,
    SchemaError,
    UnsupportedError,
    redacted,
    warn_left_out,
)
from colonnade.misuse import path_text
from colonnade.reading.opening import PathLike
from colonnade.threads import ThreadPool
from colonnade.writing.creating import create
from colonnade.writing.options import write_options

from .kept_columns import KeptColumns, TemporaryFolder, trees_of
from .masks import masks_of
from .shared_plans import SharedPlans
from .tree_bytes import friends_of, has_index
from .tree_files import (
    TREES,
    data_set_names,
    find_tree,
    local_path,
    opened,
    split_cycle,
    target_name,
    tree_names,
)
from .tree_plan import Leaf, PlannedField, TreePlan
from .trees import ImportProgress, _Import, _Writer

__all__ = ["TreeColumns"]

_RULES = 17
"""The version of names, types and values; files imported by another version are not used."""
_SIZEOF = ("#", "R_rdf_sizeof_")
_OPENED = 16
"""The maximum number of open files."""
_IMPORTED = 4
"""The maximum number of trees that are imported at once."""
_STEP_SIZE = 16 << 20
"""Bytes of values of a tree that are read at a time."""
Watch: TypeAlias = Callable[[ImportProgress], object]


# ---- A tree


class _TreeFile:
    """A TTree of a file, to be imported.

    Args:
        uri: of the file.
        name: of the tree; may be empty if there is only one.
        file: opened by uproot.
        plans: those of trees that may have the same branches.
        keeps_open: whether the bytes of a remote file stay open until the columns are imported.
    """

    def __init__(self, uri: str, name: str, file: Any, plans: SharedPlans, *, keeps_open: bool) -> None:
        self.uri = uri
        self._place = _core.absolute_name(uri)
        self.name, tree = find_tree(file, uri, name, plans.patterns)
        self._asked = name.strip("/") or self.name  # perhaps with a cycle
        self.data_set = target_name(self.name)
        self.entries = int(tree.num_entries)
        self.title = str(tree.title or "")
        data = tree.chunk.raw_data.tobytes()
        self.friends = {friend: (there or uri, of) for friend, of, there in friends_of(data)}
        self.has_index = has_index(data)
        self._plans, self._planned = plans, plans.plan_of(tree)
        self.plan = self._planned.plan
        self.masks = masks_of(file, self.name, self._planned.names)
        self._sizes = {path: int(tree[path].compressed_bytes) for path in self._planned.paths}
        remote = None if local_path(uri) else file.file.source.file
        self.version = _version(uri, remote)
        self._held = remote if keeps_open else None
        self._process = os.getpid()
        # Sources that may change unnoticed are imported for one reader only.
        self._state = self.version or uuid.uuid4().hex

    @property
    def identity(self) -> str:
        """Identifies trees, and states of one."""
        told = json.dumps([_RULES, _core.cached_origin(self._place), self._asked, self._state])
        return hashlib.sha256(told.encode()).hexdigest()[:20]

    def has(self, path: str) -> bool:
        """True if the tree has part of the column."""
        tops = {each.partition(".")[0] for each in _spellings(path)}
        return not tops.isdisjoint(self._planned.names)

    def branches_of(self, paths: Iterable[str]) -> frozenset[str]:
        """The branches that columns need, and at least one if the tree has any: it counts entries."""
        spelled = (each for path in paths for each in _spellings(path))
        found = frozenset(branch for each in spelled for branch in self._branches(each))
        if not found:
            # A counter would be a number alone, and is the length of a list in files with the whole tree.
            others = self._sizes.keys() - self._planned.counter_paths
            found = frozenset(sorted(others, key=lambda branch: (self._sizes[branch], branch))[:1])
        return found | self._branches_like_sizes()

    def _branches_like_sizes(self) -> frozenset[str]:
        """The branches of fields "#x" beside "x": a file with "x" alone would have the size of "x" under that name."""
        sizes = {sign + name for sign in _SIZEOF for name in self._planned.names}
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
            if top in self._planned.projections and top in aliases:
                return [members[aliases[top]].path]
            if self._planned.counters.get(top) == node.name:
                # A counter is the length of a list, which must exist.
                return [min((leaf.path for leaf in members.values()), key=lambda branch: self._sizes[branch])]
        return []

    def shape(self) -> str:
        """Return a file with all fields and no entries, which equal trees share."""
        told = [self.name, self.title, self._planned.told]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:20]
        path = f"{TemporaryFolder.folder()}/{digest}.shape.root"
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
            field_descriptions=self._planned.titles,
        )
        try:
            for new, (spec, columns) in self._planned.projections.items():
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
            plans=self._plans,
            held=self._held if self._process == os.getpid() else None,
        )
        told = {
            "uri": _core.cached_origin(self._place),
            "tree": self.name,
            "version": self.version,
            "branches": sorted(branches),
        }
        description = json.dumps({"imported": told})
        if not branches and not self.entries:  # as a job leaves it that selected nothing
            create(to, self.data_set, {}, description=description).close()
            return
        options = {
            "compression": "zstd:1",
            "checkpoint_every": None,
            "parallel_sealing": True,
            "description": description,
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
        plans = SharedPlans(of_many=len(files) > 1)

        def look(file: tuple[str, str]) -> _Found:
            return _look(*file, plans, keeps_open=keeps_open)

        with ThreadPool(_OPENED) as executor:  # the others are compared with the first one
            found = [each for part in (files[:1], files[1:]) for each in executor.map(look, part)]
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

    def _home_of(self, cache: str | os.PathLike[str] | None) -> KeptColumns | None:
        remote = not all(map(_core.is_local, self.files))
        home, budget = _core.cache_home("" if cache is None else path_text(cache), remote)
        # Data sets of other stores have no file names.
        usable = home and ("://" not in home or home.startswith(("obj://", "s3://")))
        return KeptColumns(trees_of(home), budget, shared=True) if usable else None

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

    def have_index(self) -> bool:
        """True if some trees have an index, by which ROOT finds their entries if they are friends."""
        return any(tree is not None and tree.has_index for tree in self._trees)

    def stored_friends(self) -> dict[str, list[PathLike | tuple[PathLike, str]]]:
        """For each friend that is stored with all trees, its files, each with the name of its tree there."""
        found = [{} if tree is None else tree.friends for tree in self._trees]
        return {name: [of[name] for of in found] for name in found[0] if all(name in of for of in found)}

    def other_names(self, *, all_: bool = True) -> dict[str, str]:
        """Columns by names of branches that are not theirs: see `TreePlan.other_names`."""
        found: dict[str, str] = {}
        for plan in self._distinct_plans():
            found = {**plan.other_names(all_=all_), **found}
        return found

    def leaf_types(self) -> dict[str, bool]:
        """See `TreePlan.leaf_types`."""
        found: dict[str, bool] = {}
        for plan in self._distinct_plans():
            found = {**plan.leaf_types(), **found}
        return found

    def masks(self) -> dict[str, tuple[str, int]]:
        """See `masks_of`.

        Raises:
            UnsupportedError: the files have different ones.
        """
        found = [tree.masks for tree in self._trees if tree is not None]
        if any(each != found[0] for each in found):
            raise UnsupportedError(
                "the files are snapshots with different variations", "a data frame for each"
            )
        return found[0] if found else {}

    def regrouped(self) -> set[str]:
        """Columns whose arrays are columns as well: see `TreePlan.regrouped`."""
        return {name for plan in self._distinct_plans() for name in plan.regrouped()}

    def _distinct_plans(self) -> Iterable[TreePlan]:
        return {id(tree.plan): tree.plan for tree in self._trees if tree is not None}.values()

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
        return KeptColumns(TemporaryFolder.folder()).get(tree, branches, watch)


@dataclass
class _Found:
    """What a file has under a name."""

    data_set: str = ""
    """Its name, if it is one."""
    tree: _TreeFile | None = None
    is_tree: bool = False
    """True if there is one, even if it cannot be read."""
    error: Exception | None = None


def _look(uri: str, name: str, plans: SharedPlans, *, keeps_open: bool) -> _Found:
    found = _Found()
    try:
        with opened(uri) as file:
            trees, data_sets = tree_names(file), data_set_names(file)
            found.is_tree = _is_among(name, trees)
            found.data_set = _named(name, data_sets)
            if not found.data_set:
                found.tree = _TreeFile(uri, name, file, plans, keeps_open=keeps_open)
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
    trees = [each.path for each in _core.stored_objects(uri) if each.class_name in TREES]
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
