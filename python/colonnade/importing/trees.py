"""Importing TTrees: makes data sets from what uproot reads, in steps of bounded memory."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from colonnade import _core
from colonnade.annotations import checked
from colonnade.arrays.columns import PathArray, flatten
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import (
    ConversionError,
    FormatError,
    NotFoundError,
    ResourceError,
    SchemaError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
    after_commit,
    redacted,
)
from colonnade.floating_point import with_standard_floating_point
from colonnade.misuse import advised, chosen_names, files_of, path_text, thread_count
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import PathLike, split_target
from colonnade.reading.steps import byte_count
from colonnade.schema.spec import Spec
from colonnade.threads import ThreadPool
from colonnade.writing.creating import DataSetWriter
from colonnade.writing.filling import build_fields
from colonnade.writing.options import (
    CheckpointEvery,
    ContainerSettings,
    Size,
    WriteMode,
    check_names,
    write_options,
)

from .branches import type_name_of
from .complaints import raise_of_source, short_reason
from .probing import array_of, failing, probe
from .shared_plans import SharedPlans
from .tree_files import checked_baskets, find_tree, local_path, opened, target_name, tree_names
from .tree_plan import Leaf, PlannedField, TreePlan, Unreadable
from .tree_schema import plan_fields

if TYPE_CHECKING:
    from typing import Unpack

__all__ = [
    "ImportProgress",
    "ImportReport",
    "ImportSettings",
    "ImportWatch",
    "import_tree",
    "trees",
]

Source: TypeAlias = "PathLike | tuple[PathLike, str]"
Result = TypeVar("Result")

_COMPARED = 1000
"""The number of entries before a checkpoint that must equal those of the trees when an import is resumed."""


class ImportSettings(ContainerSettings, total=False):
    """The options of writers for imports; `colonnade.create` explains them."""

    direct_io: bool


@dataclass(frozen=True)
class ImportProgress:
    """The progress of an import."""

    entries: int
    total_entries: int
    bytes_read: int
    """Bytes of values, uncompressed."""
    verifying: bool
    """True while the comparison that follows the import runs."""


ImportWatch: TypeAlias = Callable[[ImportProgress], object]
"""Called after each step; returning False stops the import."""


@dataclass(frozen=True)
class ImportReport:
    """The result of an import."""

    data_set: str
    """Its path at the destination."""
    trees: tuple[str, ...]
    """The sources of the entries, as "f.root:Events"."""
    entries: int
    """Readable entries of the destination."""
    fields: tuple[str, ...]
    """The filled fields."""
    projected: tuple[str, ...]
    """Projected fields under the names of branches: counters, and arrays that share one."""
    renamed: Mapping[str, str]
    """Path of the field by branch, if they differ."""
    skipped: tuple[Unreadable, ...]
    """Branches that were left out, and why."""
    bytes_read: int
    """Bytes of values, uncompressed."""
    steps: int
    seconds: float
    verified: bool
    resumed_entries: int
    """Already present before."""
    interrupted: bool
    """True if `progress` stopped it. The destination is what the last checkpoint left; without checkpoints, nothing."""


@checked
def trees(path: PathLike) -> list[str]:
    """List the TTrees of a ROOT file, as "Events" or "dir/Events".

    Raises:
        FileMissingError: no such file.
        FormatError: not a ROOT file.
    """
    with opened(path_text(path)) as file:
        return tree_names(file)


@with_standard_floating_point
@advised("import_tree(source, destination)")
def import_tree(
    source: Source | list[Source],
    destination: Source,
    tree: str | None = None,
    *,
    destination_name: str | None = None,
    columns: Sequence[str] | str | None = None,
    compression: str | int = "zstd:5",
    page_size: Size = "256 KiB",
    cluster_size: Size = "128 MiB",
    overwrite: bool = False,
    resume: bool = False,
    verify: bool = False,
    skip_unreadable: bool = False,
    grouping: bool = True,
    aliases: bool = True,
    step_size: Size = "32 MB",
    threads: int | None = None,
    checkpoint_every: CheckpointEvery = "30s",
    progress: ImportWatch | None = None,
    **settings: Unpack[ImportSettings],
) -> ImportReport:
    """Make a data set from a TTree, with uproot, which must be installed.

    All branches that uproot can read are imported: numbers with their width and sign, fixed-size arrays, strings,
    nested vectors, sets, maps, objects. Arrays that share a counter become a collection of records: nMuon,
    Muon_pt[nMuon] and Muon_eta[nMuon] the collection `Muon` of {pt, eta}; nMuon, Muon_pt and Muon_eta remain readable
    as projected fields without data of their own. Split objects become records. docs/import.md has the rules of
    names.

    Several trees with the same branches become one data set, one after the other. If an import is interrupted or fails,
    the last checkpoint stays, and `resume` continues from there.

    Args:
        source: the ROOT file; or file and tree as "f.root:Events" or ("f.root", "Events"); or a list of several. Names
            of files may have wildcards, as in `colonnade.open`.
        destination: the file or object store, or this and the path of the data set.
        tree: the path of the tree at the sources; optional if there is only one.
        destination_name: the path of the data set; by default the tree's, with _ for characters that names may
            not have.
        columns: branches, or the fields that they become, by names or wildcards; by default all.
        compression: of the data set.
        page_size: maximum size of a page before compression.
        cluster_size: target compressed size of a cluster.
        overwrite: replace the destination: a file as a whole, in an object store the data set. Without it the data set
            is added to an existing ROOT file or store.
        resume: continue an interrupted import after its last checkpoint. The destination must hold the beginning of
            what the import would make, otherwise nothing changes. With `overwrite`, anything else there is
            replaced. If it does not exist, the import begins.
        verify: read both sides again afterwards and compare all values.
        skip_unreadable: leave out branches that cannot be imported, and list them in the report, instead of refusing
            the tree.
        grouping: make collections of arrays that share a counter; otherwise each is a field of its own.
        aliases: projected fields under the names of the branches that went into such a collection.
        step_size: memory of the values that are read at a time; about three times as much is in use.
        threads: for decompression; by default one per processor.
        checkpoint_every: how often to commit, as in `colonnade.create`; None: never.
        progress: called after each step with an `ImportProgress`; returning False stops.
        settings: of the writer, as in `colonnade.create`.

    Raises:
        ModuleNotFoundError: uproot is not installed.
        FileMissingError: no such file.
        NotFoundError: no such tree or branch.
        UnsupportedError: a branch cannot be imported.
        UsageError: the data set exists already, or there are several trees and none was named.
        SchemaError: the sources have different branches.
        FormatError: a source is damaged; or values differ after the import.
        StorageError: reading or writing failed.
    """
    sources = [source] if isinstance(source, tuple) else files_of(source, "a ROOT file, or a list of them")
    if not sources:
        raise UsageError("there is nothing to import", "name a source")
    named = [split_target(one, None if isinstance(one, tuple) else tree) for one in sources]
    task = _Import(
        places=[(file, name) for uri, name in named for file in _core.expand_names([uri])],
        target=split_target(destination, destination_name),
        columns=chosen_names(columns),
        grouping=grouping,
        aliases=aliases,
        skip_unreadable=skip_unreadable,
        step_size=byte_count(step_size),
        threads=thread_count(threads or 0) or len(os.sched_getaffinity(0)),
        progress=progress or (lambda _: None),
    )
    options: dict[str, Any] = {
        "compression": compression,
        "page_size": page_size,
        "cluster_size": cluster_size,
        "checkpoint_every": checkpoint_every,
        "parallel_sealing": True,
        **settings,
    }
    check_names(options, "an import")
    write_options(**options)  # reports mistakes before anything is read
    return task.run(options, overwrite=overwrite, resume=resume, verify=verify)


class _Selection:
    """Selects the wanted branches."""

    def __init__(self, patterns: list[str]) -> None:
        self._patterns = patterns
        self._used: set[str] = set()

    def __call__(self, path: str) -> bool:
        parts = path.split("/")
        beginnings = {"/".join(parts[: count + 1]) for count in range(len(parts))} | {parts[-1]}
        beginnings |= {one.rstrip(".") for one in beginnings}
        found = [p for p in self._patterns if any(fnmatch.fnmatchcase(one, p) for one in beginnings)]
        self._used.update(found)
        return bool(found) or not self._patterns

    def check(self, names: list[str], place: dict[str, str]) -> None:
        for pattern in self._patterns:
            if pattern not in self._used:
                near = difflib.get_close_matches(pattern, names, 3)
                raise NotFoundError(
                    f"there is no branch '{pattern}'",
                    f"one of: {', '.join(near)}" if near else "the names of branches",
                    **place,
                )


# ---- The import


class _Writer(DataSetWriter):
    """Knows its whole schema, including projected fields, before the header is written."""

    def begin(self, schema: Mapping[str, Spec], *, resume: bool) -> None:
        self._guard(lambda: self._go_on(schema) if resume else self._start(schema))

    def _go_on(self, schema: Mapping[str, Spec]) -> None:
        fields = build_fields(schema, self._encodings, self._descriptions, whole=True)
        self._writer = _core.resume_writer(
            self._uri, self._name, list(fields.values()), self._projections, self._options
        )
        self._fields = fields
        self._remember()


@dataclass
class _Reading:
    """A tree that is being imported."""

    uri: str
    name: str
    file: Any
    tree: Any
    plan: TreePlan

    @property
    def entries(self) -> int:
        return int(self.tree.num_entries)

    @property
    def place(self) -> dict[str, str]:
        return {"uri": self.uri, "data_set": self.name}

    def read_ahead(self, leaves: list[Leaf], start: int, stop: int) -> None:
        """Have the baskets of the next step read while this one is decoded, if the file is elsewhere."""
        if not local_path(self.uri):
            self.file.file.source.read_ahead(
                each for leaf in leaves for each in _baskets(leaf.branch, start, stop)
            )


@dataclass
class _Import:
    places: list[tuple[str, str]]
    target: tuple[str, str]
    columns: list[str]
    grouping: bool
    aliases: bool
    skip_unreadable: bool
    step_size: int
    threads: int
    progress: ImportWatch
    only: frozenset[str] | None = None
    """Paths of branches that uproot can read: the fields are those of the whole tree, but made of these alone."""
    plans: SharedPlans | None = None
    """Of trees with the same branches, for `only`."""
    held: _core.RandomAccessFile | None = None
    """The bytes of the only source, if they are open already."""
    readings: list[_Reading] = field(default_factory=list)
    entries: int = 0
    total: int = 0
    resumed: int = 0
    bytes: int = 0
    steps: int = 0
    failed: Unreadable | None = None
    """The branch at which reading failed."""
    mode: WriteMode = "create"

    def run(self, options: dict[str, Any], *, overwrite: bool, resume: bool, verify: bool) -> ImportReport:
        begin = time.monotonic()
        with contextlib.ExitStack() as stack:
            self.executor = stack.enter_context(ThreadPool(self.threads))
            for uri, name in self.places:
                self._open(stack, uri, name)
            if not self.readings:
                raise UnsupportedError("there is no branch to import", uri=uri, data_set=name)
            self.total = sum(reading.entries for reading in self.readings)
            uri, name = self.target
            self.target = uri, name.strip("/") or target_name(self.readings[0].name)
            done = self._write(options, overwrite, resume)
            entries, moved = self.entries if done else self._readable(), self.bytes
            if done and verify:
                try:
                    done = self._verify()
                except (StorageError, ResourceError) as error:
                    raise after_commit(error, "was not compared with its source to the end") from error
        plan = self.readings[0].plan
        return ImportReport(
            data_set=self.target[1],
            trees=tuple(f"{redacted(reading.uri)}:{reading.name}" for reading in self.readings),
            entries=entries,
            fields=tuple(plan.schema()),
            projected=tuple(plan.projections(self.aliases)),
            renamed=plan.names(),
            skipped=tuple(plan.unreadable),
            bytes_read=moved,
            steps=self.steps,
            seconds=time.monotonic() - begin,
            verified=verify and done,
            resumed_entries=self.resumed,
            interrupted=not done,
        )

    # ---- Before anything is written

    def _open(self, stack: contextlib.ExitStack, uri: str, name: str) -> None:
        file = stack.enter_context(opened(uri, self.held))
        name, tree = find_tree(file, uri, name, () if self.plans is None else self.plans.patterns)
        place = {"uri": uri, "data_set": name}
        if not tree.branches and not tree.num_entries:
            return  # as a job leaves it that selected nothing
        if self.only is None:
            selection = _Selection(self._branches(tree))
            plan = plan_fields(tree, selection, grouping=self.grouping)
            selection.check(tree.keys(recursive=True), place)
            plan = plan.without(probe(tree, plan.leaves()))
        else:  # branches that have been probed
            known = None if self.plans is None else self.plans.find(tree)
            if known is None:
                plan = plan_fields(tree, lambda _: True, grouping=self.grouping).only(self.only)
            else:
                plan = known.only(self.only).of(tree)
        if plan.unreadable and not self.skip_unreadable:
            raise UnsupportedError(
                _problem_of(plan.unreadable),
                "skip_unreadable (--skip-unreadable) to leave such branches out, or name the columns",
                **place,
            )
        if not plan.nodes:
            why = f": {_problem_of(plan.unreadable)}" if plan.unreadable else ""
            raise UnsupportedError(
                f"there is no branch to import{why}", "other columns" if why else "", **place
            )
        if self.readings:
            self._compare_schemas(self.readings[0].plan, plan, place)
        self.readings.append(_Reading(uri, name, file, tree, plan))

    def _branches(self, tree: Any) -> list[str]:
        """The wanted branches: names of fields into which arrays are grouped stand for these arrays."""
        if not self.columns:
            return []
        plan = plan_fields(tree, lambda _: True, grouping=self.grouping)
        patterns = []
        for column in self.columns:
            matched = [node for node in plan.nodes if fnmatch.fnmatchcase(node.name, column)]
            paths = [leaf.path for node in matched for leaf in node.leaves()]
            # Members of fields, and counters, whose fields show a collection.
            paths += [path for path, place in plan.places().items() if fnmatch.fnmatchcase(place, column)]
            keys = tree.keys(recursive=True)
            direct = [key for key in keys if fnmatch.fnmatchcase(key, column)]
            patterns += [glob.escape(path) for path in paths] if paths and not direct else [column]
        return patterns

    @staticmethod
    def _compare_schemas(first: TreePlan, other: TreePlan, place: dict[str, str]) -> None:
        ours, theirs = first.schema(), other.schema()
        # The order matters only within records: repr() shows it.
        if sorted(map(repr, ours.items())) == sorted(map(repr, theirs.items())):
            return
        missing = [name for name in ours if name not in theirs] or [
            name for name in theirs if name not in ours
        ]
        if missing:
            why = f"'{missing[0]}' is in one and not in the other"
        else:
            name = next(name for name in ours if repr(ours[name]) != repr(theirs[name]))
            why = f"'{name}' is {theirs[name]}, not {ours[name]}"
        raise SchemaError(
            f"the sources have different branches: {why}",
            "import them into separate data sets, or name the columns that all of them have",
            **place,
        )

    # ---- Writing

    def _write(self, options: dict[str, Any], overwrite: bool, resume: bool) -> bool:
        """Import; returns False if it was stopped."""
        uri, name = self.target
        there = data_sets_at(uri, overwrite)
        if any(_core.is_same_place(reading.uri, uri) for reading in self.readings) and overwrite:
            raise UsageError("the destination would replace the source", "import to another place", uri=uri)
        found = there is not None and name in there
        if found and not overwrite and not resume:
            raise UsageError(
                "the data set already exists",
                "another name, overwrite to replace it, or resume to continue an interrupted import",
                uri=uri,
                data_set=name,
            )
        resume = found and resume and self._can_resume(overwrite)
        if resume and self.resumed == self.total:
            return True
        # A data set that appears meanwhile is not replaced, either.
        self.mode = "recreate" if overwrite else "create" if there is None else "update"
        options.setdefault("description", str(self.readings[0].tree.title or ""))
        while (done := self._attempt(options, resume=resume)) is None:
            self.failed = None
            self.entries, self.bytes, self.steps = 0, 0, 0
        return done

    def _attempt(self, options: dict[str, Any], *, resume: bool) -> bool | None:
        """Import; returns None if it has to begin again, without a branch that turned out to be unreadable."""
        try:
            return self._write_all(options, resume=resume)
        except FormatError:
            can_leave_out = self.skip_unreadable and self.only is None and not resume
            if self.failed is None or not can_leave_out or not self._can_begin_again():
                raise
            self._leave_out(self.failed)
            return None

    def _write_all(self, options: dict[str, Any], *, resume: bool) -> bool:
        plan = self.readings[0].plan
        writer = _Writer(
            *self.target, None, write_options(**options), mode=self.mode, field_descriptions=plan.titles()
        )
        try:
            for new, (spec, columns) in plan.projections(self.aliases).items():
                writer.add_projected(new, spec, columns)
            writer.begin(plan.schema(), resume=resume)
            done = self._transfer(writer)
            if not done and options["checkpoint_every"] is not None:
                writer.commit()
            if done or (options["checkpoint_every"] is not None and not writer._replaces()):
                writer.close()
            else:
                writer.abort()
        except BaseException:
            writer.abort()
            raise
        return done

    def _can_begin_again(self) -> bool:
        """False if a checkpoint has left what cannot be replaced: one of several data sets of a file."""
        uri, name = self.target
        if name in (data_sets_at(uri, overwrite=True) or []):
            if self.mode == "update" and not _core.is_object_store(uri):
                return False
            self.mode = "recreate"
        return True

    def _leave_out(self, branch: Unreadable) -> None:
        for reading in self.readings:
            reading.plan = reading.plan.without([branch])
        if not self.readings[0].plan.nodes:
            problem = f"there is no branch to import: {branch.problem}"
            raise UnsupportedError(problem, "other columns", **self.readings[0].place)

    def _can_resume(self, overwrite: bool) -> bool:
        """True if the existing entries are the first ones of the trees, judged by their number and the last ones.

        Otherwise they are to be replaced, or an error.
        """
        uri, name = self.target
        with DataSet(uri, name) as data_set:
            self.resumed = self.entries = data_set.num_entries
            why = ""
            if self.resumed > self.total:
                why = f"it has {self.resumed} entries, the sources {self.total}"
            elif set(self.readings[0].plan.schema()) - set(data_set.field_names):
                why = "it has other fields"
            else:
                try:
                    self._compare(data_set, max(0, self.resumed - _COMPARED), self.resumed, watched=False)
                except (FormatError, ConversionError, TypeMismatchError) as error:
                    why = f"in the field '{error.field}' {error.problem}" if error.field else error.problem
        if why and not overwrite:
            raise UsageError(
                f"the destination does not hold the beginning of this import: {why}",
                "another name, or replace it explicitly",
                uri=uri,
                data_set=name,
            )
        if why:
            self.resumed = self.entries = 0
        return not why

    def _readable(self) -> int:
        """The readable entries of the destination."""
        try:
            with DataSet(*self.target) as data_set:
                return data_set.num_entries
        except NotFoundError:
            return 0
        except FormatError:  # a file without a commit
            return 0

    def _transfer(self, writer: DataSetWriter) -> bool:
        with contextlib.closing(self._all_steps(self.entries, self.total)) as found:
            for columns, entries in found:
                writer.extend({name: ak.Array(column) for name, column in columns.items()})
                self.steps += 1
                if not self._advance(columns, entries, verifying=False):
                    return False
        return True

    def _advance(self, columns: dict[str, Content], entries: int, *, verifying: bool) -> bool:
        self.entries += entries
        self.bytes += sum(column.nbytes for column in columns.values())
        return self.progress(ImportProgress(self.entries, self.total, self.bytes, verifying)) is not False

    def _all_steps(self, begin: int, end: int) -> Generator[tuple[dict[str, Content], int], None, None]:
        """Columns of the fields and their length, step by step, for the entries of all trees from begin to end."""
        first = 0
        for reading in self.readings:
            start, stop = max(begin - first, 0), min(end - first, reading.entries)
            first += reading.entries
            if start < stop:
                yield from _ahead(self._steps(reading, start, stop))

    def _steps(self, reading: _Reading, start: int, stop: int) -> Iterator[tuple[dict[str, Content], int]]:
        for arrays, count in self._arrays(reading, start, stop):
            try:
                columns = {node.name: node.content(arrays) for node in reading.plan.nodes}
            except FormatError:
                self.failed = next(filter(None, map(_uneven_of, reading.plan.nodes)), None)
                raise
            yield columns, count

    def _arrays(self, reading: _Reading, start: int, stop: int) -> Iterator[tuple[dict[str, Content], int]]:
        """Layouts by path of the branch, step by step."""
        leaves = reading.plan.leaves()
        # With its interpretation a name is taken literally; otherwise it would be an expression.
        late = [leaf for leaf in leaves if leaf.first]
        wanted = [(leaf.path, leaf.interpretation) for leaf in leaves if not leaf.first]
        step = _entries_in(leaves, reading.entries, self.step_size)
        found = reading.tree.iterate(
            wanted,
            entry_start=start,
            entry_stop=stop,
            step_size=step,
            library="ak",
            how=dict,
            decompression_executor=checked_baskets(self.executor),
        )
        while start < stop:
            end = min(start + step, stop)
            reading.read_ahead(leaves, end, min(end + step, stop))
            try:
                arrays = next(found) if wanted else {}
                arrays |= {leaf.path: array_of(leaf, start, end, self.executor) for leaf in late}
            except Exception as error:  # uproot has no common class of errors
                raise_of_source(error, **reading.place)
                self.failed = failing(leaves, start, end)
                raise _failure(self.failed, start, end, error, reading.place) from error
            columns = {
                leaf.path: leaf.entries(ak.to_layout(arrays[leaf.path]), start, end) for leaf in leaves
            }
            for leaf in leaves:
                count = len(columns[leaf.path])
                if count != end - start:
                    why = f"it has {count} of the entries {start} to {end}"
                    self.failed = Unreadable(leaf.path, type_name_of(leaf.branch), why)
                    raise _failure(self.failed, start, end, ValueError(why), reading.place)
            yield columns, end - start
            start = end

    # ---- Comparing

    def _verify(self) -> bool:
        """Compare all values; returns False if it was stopped."""
        uri, name = self.target
        self.entries, self.bytes = 0, 0
        with DataSet(uri, name) as data_set:
            if data_set.num_entries != self.total:
                raise FormatError(
                    f"there are {data_set.num_entries} entries, but the sources have {self.total}",
                    "import again",
                    uri=uri,
                    data_set=name,
                )
            return self._compare(data_set, 0, self.total, watched=True)

    def _compare(self, data_set: DataSet, begin: int, end: int, *, watched: bool) -> bool:
        plan = self.readings[0].plan
        fields = build_fields(plan.schema(), {}, {}, whole=True)
        counters = plan.counters()
        with contextlib.closing(self._all_steps(begin, end)) as found:
            for columns, count in found:
                written = data_set.arrays([*fields, *counters], entry_start=begin, entry_stop=begin + count)
                for name, field_type in fields.items():
                    theirs = ak.to_layout(written[name])
                    if not same_arrays(flatten(field_type, columns[name]), flatten(field_type, theirs)):
                        raise self._differs(name, columns[name], theirs, begin)
                for name, of in counters.items():
                    lengths = ak.num(ak.Array(columns[of]))
                    if not np.array_equal(np.asarray(written[name]), np.asarray(lengths)):
                        raise self._differs(name, lengths.layout, written[name].layout, begin)
                begin += count
                if watched and not self._advance(columns, count, verifying=True):
                    return False
        return True

    def _differs(self, name: str, ours: Content, theirs: Content, begin: int) -> FormatError:
        left, right = ak.Array(ours), ak.Array(theirs)
        row = next((k for k in range(len(left)) if repr(_plain(left[k])) != repr(_plain(right[k]))), 0)
        return FormatError(
            f"the values of entry {begin + row} differ from those of the tree",
            "import again, to another place if the storage may be failing",
            uri=self.target[0],
            data_set=self.target[1],
            field=name,
        )


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def same_arrays(ours: list[PathArray], theirs: list[PathArray]) -> bool:
    """True if flat arrays are equal, including the bits of floating-point numbers."""
    if [one[:3] for one in ours] != [one[:3] for one in theirs]:
        return False
    return all(_equal(one[3], other[3]) for one, other in zip(ours, theirs, strict=True))


def _equal(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f" and one.dtype == other.dtype:
        bits = f"u{one.dtype.itemsize}"
        return bool(
            np.array_equal(np.ascontiguousarray(one).view(bits), np.ascontiguousarray(other).view(bits))
        )
    return bool(np.array_equal(one, other))


def _entries_in(leaves: list[Leaf], entries: int, size: int) -> int:
    """The number of entries whose values take so many bytes. uproot's own estimate reads a header of every basket."""
    branches = (leaf.branch for leaf in leaves)
    total = sum(max(int(each.uncompressed_bytes), int(each.compressed_bytes)) for each in branches)
    return max(1, entries * size // max(total, 1))


def _baskets(branch: Any, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Where the baskets lie whose first entry is in a range."""
    first = branch.entry_offsets
    for place, size, entry in zip(
        branch.member("fBasketSeek"), branch.member("fBasketBytes"), first[:-1], strict=False
    ):
        if size and start <= entry < stop:
            yield int(place), int(place) + int(size)


def _problem_of(branches: Sequence[Unreadable]) -> str:
    """What is wrong with the first of them."""
    more = f" (and {len(branches) - 1} more)" if len(branches) > 1 else ""
    return branches[0].problem + more


def _failure(
    failed: Unreadable | None, begin: int, end: int, error: Exception, place: dict[str, str]
) -> FormatError:
    if failed is None:
        return FormatError(f"reading failed after entry {begin}: {short_reason(error)}", **place)
    what = f"the branch '{failed.branch}' of type '{failed.type}' cannot be read in entries {begin} to {end}"
    advice = "skip_unreadable (--skip-unreadable) to leave such branches out, or other columns"
    return FormatError(f"{what}: {failed.reason}", advice, **place)


def _uneven_of(node: PlannedField) -> Unreadable | None:
    found: Unreadable | None = getattr(node, "uneven", None)
    return found


def _ahead(items: Iterator[Result]) -> Iterator[Result]:
    """Iterate, with the next item being computed while this one is used."""
    with ThreadPool(1) as thread:
        end = object()
        coming: Future[Any] = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item


# ---- The destination


def data_sets_at(uri: str, overwrite: bool) -> list[str] | None:
    """The data sets at a place; None if there is none."""
    try:
        return _core.data_sets(uri)
    except NotFoundError:
        return None
    except FormatError:
        if overwrite:
            return None
        raise
