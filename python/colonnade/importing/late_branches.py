"""Trees of uproot whose plain branches are read when they are used: a tree may have thousands, most of them unused.

What is needed of each at once is found in the bytes of the tree. The others are read with the tree, as uproot does.
It imports uproot.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import uproot.deserialization
from uproot.models.TBranch import Model_TBranch_v13
from uproot.models.TObjArray import Model_TObjArray
from uproot.source.cursor import Cursor

from colonnade.locks import ProcessLock

from .baskets import mended, named_as_its_base
from .branch_patterns import Pattern
from .tree_bytes import (
    LEAVES,
    REFERENCED,
    TAG_OFFSET,
    Baskets,
    Numbers,
    PlainBranch,
    baskets_of,
    numbers_of,
    plain_branch,
)

__all__ = ["pattern_of", "read_tree", "structure_of"]

_ARRAY = struct.Struct(">IHHIIBii")
"""What a TObjArray has before its objects."""


def read_tree(key: Any, patterns: Sequence[Pattern] = ()) -> Any:
    """Return the tree of a key of uproot, which may have the branches of one of the patterns."""
    try:
        chunk, cursor = key.get_uncompressed_chunk_cursor()
        file = _File(key._file, patterns)
        context = {"breadcrumbs": (), "TKey": key}
        return file.class_named(key.fClassName).read(chunk, cursor, context, file, key._file, key)
    except Exception:  # uproot has no common class of errors
        return key.get()  # tries more, and tells what is wrong


def structure_of(tree: Any) -> tuple[object, ...] | None:
    """What equals that of other trees with the same branches; None if it depends on more than their bytes tell."""
    late = next((branch.late for branch in tree.branches), None)
    if late is None or len(late.plain) < len(tree.branches) or late.shared_places:
        return None
    if not all(late.baskets.are_regular):
        return None
    ends = np.maximum(late.numbers.first_entries, 0) + late.numbers.entries
    return late.structure if np.all(ends >= int(tree.num_entries)) else None


def pattern_of(tree: Any) -> Pattern | None:
    """Return the pattern of the branches of a tree that has a structure; None if trees like it have no pattern."""
    late = tree.branches[0].late
    try:
        return late.pattern or Pattern(bytes(late.chunk.raw_data), late.origin, late.plain)
    except ValueError:
        return None


class _File:
    """A file of uproot that reads the two arrays of a tree, of branches and of their leaves, in another way."""

    def __init__(self, file: Any, patterns: Sequence[Pattern]) -> None:
        self._file = file
        late = _Late(file, patterns)
        self._arrays = iter((late, _Leaves(late)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def class_named(self, name: str, version: Any = None) -> Any:
        """Return a class, or what reads one of the arrays."""
        return next(self._arrays) if name == "TObjArray" else self._file.class_named(name, version)


class _References(dict[int, Any]):
    """Objects and classes by their tags; leaves of late branches are read when they are asked for."""

    def __init__(self, late: _Late) -> None:
        super().__init__()
        self._late = late

    def __contains__(self, tag: object) -> bool:
        return super().__contains__(tag) or tag in self._late.leaves

    def __missing__(self, tag: int) -> Any:
        self._late.branches[self._late.leaves[tag][0]].read_members_late()
        return dict.__getitem__(self, tag)


class _Late:
    """The branches of a tree, some of which are read late."""

    def __init__(self, file: Any, patterns: Sequence[Pattern]) -> None:
        self.file = file
        self._patterns = patterns
        self.lock = ProcessLock(reentrant=True)
        self.branches: list[Any] = []
        self.plain: Sequence[PlainBranch] = []
        self.pattern: Pattern | None = None
        self.references = _References(self)

    def read(self, chunk: Any, cursor: Any, context: Any, file: Any, selffile: Any, parent: Any) -> Any:
        """Read the array of branches; see `uproot.model.Model.read`."""
        file = self.file
        array = Model_TObjArray.empty()
        begin = cursor.copy()
        size, version, _ = uproot.deserialization.numbytes_version(chunk, cursor, context)
        of_object = uproot.models.TObject.Model_TObject.read(chunk, cursor, context, file, file, parent)
        array._bases.append(of_object)
        array._members["fName"] = cursor.string(chunk, context)
        array._members["fSize"], array._members["fLowerBound"] = cursor.fields(chunk, _BOUNDS, context)
        array._num_bytes, array._instance_version, array._data = size, version, self.branches
        self.chunk, self.context, self.tree, self.origin = chunk, dict(context), parent, cursor.origin
        cursor._refs = self.references
        data = bytes(chunk.raw_data) if self._names else b""
        if not self._matches(data, cursor, array._members["fSize"]):
            self._look_at_all(data, cursor, context, selffile, array._members["fSize"])
        uproot.deserialization.numbytes_check(chunk, begin, cursor, size, "TObjArray", context, "")
        return array

    def _matches(self, data: bytes, cursor: Any, count: int) -> bool:
        """Look whether the branches are those of a pattern."""
        for pattern in self._patterns:
            found = pattern.match(data, cursor.index, cursor.origin, count)
            if found is not None:
                self.pattern, self.plain = pattern, pattern.branches
                self.numbers, self._starts = found
                tags = self._starts - cursor.origin + TAG_OFFSET
                for number, tag in enumerate(tags.tolist()):
                    self._add(number, tag)
                for number, at, name in pattern.told:
                    self.references[int(tags[number]) + at] = self.file.class_named(name)
                cursor.move_to(int(self.numbers.ends[-1]))
                return True
        return False

    def _look_at_all(self, data: bytes, cursor: Any, context: Any, selffile: Any, count: int) -> None:
        self.plain = plain = []
        self.leaves = {}
        for number in range(count):
            found = plain_branch(data, cursor.index, cursor.origin, self._class_name, self.leaves)
            if found is None:
                read = uproot.deserialization.read_object_any
                self.branches.append(read(self.chunk, cursor, context, self.file, selffile, self.tree))
                continue
            branch, told = found
            for tag, name in told.items():
                self.references[tag] = self.file.class_named(name)
            for leaf, tag in enumerate(branch.tags):
                self.leaves[tag] = (number, leaf)
            plain.append(branch)
            self._add(len(plain) - 1, cursor.index - cursor.origin + TAG_OFFSET)
            cursor.move_to(branch.end)

    def _add(self, number: int, tag: int) -> None:
        branch = _LateBranch.__new__(_LateBranch)
        branch.late, branch.plain, branch.number = self, self.plain[number], number
        self.references[tag] = branch
        self.branches.append(branch)

    def _class_name(self, tag: int) -> str:
        return self._names.get(self.references.get(tag), "")

    @cached_property
    def _names(self) -> dict[Any, str]:
        """Names of the classes of uproot; none if the file has classes of its own for some of them."""
        names = ("TBranch", "TObjArray", "TNamed", "TLeaf", "ROOT::TIOFeatures", *LEAVES)
        found = {self.file.class_named(name): name for name in names}
        return found if all(kind is uproot.classes.get(name) for kind, name in found.items()) else {}

    @cached_property
    def leaves(self) -> dict[int, tuple[int, int]]:
        """The numbers of the branch and of the leaf in it, by tag of the leaf."""
        if self.pattern is None:
            return {}
        places = (
            (number, leaf) for number, each in enumerate(self.plain) for leaf in range(len(each.leaves))
        )
        return dict(zip(self.leaf_tags.tolist(), places, strict=True))

    @property
    def leaf_tags(self) -> np.ndarray:
        """The tags of leaves of branches that match a pattern, in their order."""
        return self.pattern.leaf_tags(self._starts, self.origin) if self.pattern else np.empty(0, np.int64)

    @cached_property
    def numbers(self) -> Numbers:
        """What differs between trees of the same structure."""
        return numbers_of(self.plain)

    @cached_property
    def baskets(self) -> Baskets:
        """The baskets of all late branches."""
        return baskets_of(memoryview(self.chunk.raw_data), self.numbers)

    @cached_property
    def shared_places(self) -> bool:
        """True if two of these baskets are at one place."""
        places = np.sort(self.baskets.places)
        return bool(np.any(places[1:] == places[:-1]))

    @cached_property
    def structure(self) -> tuple[object, ...]:
        """Equal for the same branches."""
        return tuple(each.structure for each in self.plain)


class _Leaves:
    """The leaves of a tree, which belong to its branches and are not read a second time."""

    def __init__(self, late: _Late) -> None:
        self._late = late

    def read(self, chunk: Any, cursor: Any, context: Any, file: Any, selffile: Any, parent: Any) -> Any:
        """Skip an array of references to leaves, or read it if it has others; see `uproot.model.Model.read`."""
        begin = cursor.index
        size, _, _ = uproot.deserialization.numbytes_version(chunk, cursor, context, move=False)
        end = begin + (size or 0)
        _, _, is_object, _, bits, name, count, _ = _ARRAY.unpack_from(chunk.raw_data, begin)
        tags = np.frombuffer(chunk.raw_data[begin + _ARRAY.size : end].tobytes(), ">u4")
        is_plain = is_object == 1 and not bits & REFERENCED and not name and count == len(tags)
        if is_plain and (np.array_equal(tags, self._late.leaf_tags) or self._are_known(tags)):
            cursor.move_to(end)
            array = Model_TObjArray.empty()
            array._data = []
            return array
        return Model_TObjArray.read(chunk, cursor, context, self._late.file, selffile, parent)

    def _are_known(self, tags: np.ndarray) -> bool:
        return all(tag in self._late.references for tag in tags.tolist())


_Branch: Any = mended(Model_TBranch_v13)


@named_as_its_base
class _LateBranch(_Branch):  # type: ignore[misc]
    """A plain branch whose members are read when they are first used."""

    plain: PlainBranch
    branches: ClassVar[list[Any]] = []
    streamer = None
    _lookup: ClassVar[dict[str, Any]] = {}

    @property
    def name(self) -> str:
        return self.plain.name

    @property
    def title(self) -> str:
        return self.plain.title

    @property
    def parent(self) -> Any:
        return self.late.tree

    @property
    def num_entries(self) -> int:
        return max(self.plain.first_entry, 0) + self._number("entries")

    @property
    def num_leaves(self) -> int:
        return len(self.plain.leaves)

    @property
    def count_branch(self) -> Any:
        counter = self.plain.leaves[0].counter if len(self.plain.leaves) == 1 else None
        return None if counter is None else self.late.branches[counter[0]]

    @property
    def compressed_bytes(self) -> int:
        return self._number("compressed_bytes")

    def _number(self, name: str) -> int:
        return int(getattr(self.late.numbers, name)[self.number])

    def member(self, name: str, *arguments: Any, **named: Any) -> Any:
        if name == "fName":
            return self.plain.name
        known = _KNOWN.get(name)
        return super().member(name, *arguments, **named) if known is None else self._number(known)

    def __getattr__(self, name: str) -> Any:
        if name not in _READ:
            raise AttributeError(name)
        self.read_members_late()
        return getattr(self, name)

    def read_members_late(self) -> None:
        """Become a branch as uproot reads it, at once for other threads, and for forked children."""
        late = self.late
        with late.lock:
            if type(self) is not _LateBranch:
                return
            read: Any = _Branch.__new__(_Branch)
            read.late, read.plain, read.number = late, self.plain, self.number
            # Another branch may need this one while the tree is read.
            begin = int(late.numbers.begins[self.number]) if late.pattern else self.plain.begin
            found = _Found(late.references)
            cursor = Cursor(begin, late.origin, found)
            context = dict(late.context, breadcrumbs=(self,))
            place = (late.chunk, cursor, context)
            # As `uproot.model.Model.read` does.
            read._cursor, read._file, read._parent = cursor.copy(), late.file, late.tree
            read._concrete, read._members, read._bases = None, {}, []
            read._num_bytes, read._instance_version, read._is_memberwise = None, None, False
            read.read_numbytes_version(*place)
            read.read_members(*place, late.file)
            read.check_numbytes(*place)
            read.postprocess(*place, late.file)
            for each in [*read.member("fLeaves"), *(read._embedded_baskets or [])]:
                each._parent = self
            self.__dict__.update(read.__dict__)
            self.__class__ = _Branch
            late.references.update(found)


class _Found(dict[int, Any]):
    """What a branch has by their tags, besides what was known."""

    def __init__(self, known: _References) -> None:
        super().__init__()
        self._known = known

    def __contains__(self, tag: object) -> bool:
        return super().__contains__(tag) or tag in self._known

    def __missing__(self, tag: int) -> Any:
        return self._known[tag]


_BOUNDS = uproot.models.TObjArray._tobjarray_format1
_KNOWN = {
    "fEntries": "entries",
    "fFirstEntry": "first_entries",
    "fTotBytes": "total_bytes",
    "fZipBytes": "compressed_bytes",
}
_READ = frozenset(
    {
        "_bases",
        "_cache_key",
        "_concrete",
        "_context",
        "_cursor",
        "_cursor_baskets",
        "_embedded_baskets",
        "_embedded_baskets_lock",
        "_file",
        "_instance_version",
        "_interpretation",
        "_is_memberwise",
        "_members",
        "_num_bytes",
        "_num_normal_baskets",
        "_parent",
        "_streamer",
        "_streamer_isTClonesArray",
        "_tree_iofeatures",
        "_typename",
    }
)
"""What a branch has once it was read."""
