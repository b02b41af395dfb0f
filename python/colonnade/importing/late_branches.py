"""Trees of uproot whose plain branches are read when they are used: a tree may have thousands, most of them unused.

What is needed of each at once is found in the bytes of the tree. The others are read with the tree, as uproot does.
It imports uproot.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import uproot.deserialization
from uproot.models.TBranch import Model_TBranch_v13, Model_TBranchElement_v10
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
    Found,
    Numbers,
    PlainBranch,
    baskets_of,
    numbers_of,
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
    if late is None or late.has_others or late.shared_places:
        return None
    if not all(late.baskets.are_regular):
        return None
    ends = np.maximum(late.numbers.first_entries, 0) + late.numbers.entries
    ends = ends[late.numbers.have_branches == 0]
    if not np.all(ends >= int(tree.num_entries)):
        return None
    # Of what class objects are, values may tell.
    is_empty = bool(late.classes) and int(tree.num_entries) == 0
    return late.structure, late.classes, is_empty


def pattern_of(tree: Any) -> Pattern | None:
    """Return the pattern of the branches of a tree that has a structure; None if trees like it have no pattern."""
    late = tree.branches[0].late
    try:
        return late.pattern or Pattern(late.found)
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
        self._late.all[self._late.leaves[tag][0]].read_members_late()
        return dict.__getitem__(self, tag)


class _Late:
    """The branches of a tree, some of which are read late."""

    def __init__(self, file: Any, patterns: Sequence[Pattern]) -> None:
        self.file = file
        self._patterns = patterns
        self.lock = ProcessLock(reentrant=True)
        self.branches: list[Any] = []
        self.all: list[Any] = []
        """Those that are read late, also those below others."""
        self.plain: Sequence[PlainBranch] = []
        """What is known of them."""
        self.has_others = False
        self.has_read_baskets = False
        self.pattern: Pattern | None = None
        self.found: Any = None
        self.references = _References(self)

    def read(self, chunk: Any, cursor: Any, context: Any, file: Any, selffile: Any, parent: Any) -> Any:
        """Read the array of branches; see `uproot.model.Model.read`."""
        begin = cursor.copy()
        array, size = _head(chunk, cursor, context, self.file, parent)
        array._data = self.branches
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
                self.numbers, self.leaf_tags = found.numbers, found.leaf_tags
                for tag in found.tags:
                    self._add(tag)
                for tag, name in found.told:
                    self.references[tag] = self.file.class_named(name)
                cursor.move_to(found.end)
                return True
        return False

    def _look_at_all(self, data: bytes, cursor: Any, context: Any, selffile: Any, count: int) -> None:
        self.found = found = Found(data, cursor.origin, self._class_name)
        self.plain, self.leaves = found.branches, found.leaves
        for _ in range(count):
            told = len(found.told)
            end = found.add(cursor.index)
            if end is None:
                self.has_others = True
                read = uproot.deserialization.read_object_any
                self.branches.append(read(self.chunk, cursor, context, self.file, selffile, self.tree))
                continue
            for tag, name in list(found.told.items())[told:]:
                self.references[tag] = self.file.class_named(name)
            for each in found.branches[len(self.all) :]:
                self._add(each.start - cursor.origin + TAG_OFFSET)
            cursor.move_to(end)

    def _add(self, tag: int) -> None:
        plain = self.plain[len(self.all)]
        kind: Any = _LateElement if plain.class_ is not None else _LateBranch
        branch = kind.__new__(kind)
        branch.late, branch.plain, branch.number = self, plain, len(self.all)
        branch.below = [] if plain.has_branches else _NONE
        self.references[tag] = branch
        self.all.append(branch)
        above = self.branches if plain.above < 0 else self.all[plain.above].below
        above.append(branch)

    def _class_name(self, tag: int) -> str:
        return self._names.get(self.references.get(tag), "")

    @cached_property
    def _names(self) -> dict[Any, str]:
        """Names of the classes of uproot; none if the file has classes of its own for some of them."""
        names = ("TBranch", "TBranchElement", "TObjArray", "TNamed", "TLeaf", "ROOT::TIOFeatures", *LEAVES)
        found = {self.file.class_named(name): name for name in names}
        return found if all(kind is uproot.classes.get(name) for kind, name in found.items()) else {}

    @cached_property
    def leaves(self) -> dict[int, tuple[int, int]]:
        """The numbers of the branch and of the leaf in it, by tag of the leaf."""
        return dict(zip(self.leaf_tags.tolist(), self.pattern.leaves, strict=True)) if self.pattern else {}

    @cached_property
    def leaf_tags(self) -> np.ndarray:
        """The tags of leaves of branches that match a pattern, in their order."""
        return np.empty(0, np.int64)

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

    @cached_property
    def classes(self) -> bytes:
        """Equal for the same classes; empty if the branches have none."""
        if not any(each.class_ is not None for each in self.plain):
            return b""
        file = self.file
        begin, size = int(file._fSeekInfo), int(file._fNbytesInfo)
        key = file.chunk(begin, min(begin + size, file.fEND)).raw_data.tobytes() if begin else b""
        (length,) = _LENGTH_OF_KEY.unpack_from(key, _LENGTH_AT) if key else (0,)
        return hashlib.sha256(key[length:]).digest()


def _head(chunk: Any, cursor: Any, context: Any, file: Any, parent: Any) -> tuple[Any, int | None]:
    """Read what an array has before its objects; return it and its number of bytes."""
    array = Model_TObjArray.empty()
    size, version, _ = uproot.deserialization.numbytes_version(chunk, cursor, context)
    of_object = uproot.models.TObject.Model_TObject.read(chunk, cursor, context, file, file, parent)
    array._bases.append(of_object)
    array._members["fName"] = cursor.string(chunk, context)
    array._members["fSize"], array._members["fLowerBound"] = cursor.fields(chunk, _BOUNDS, context)
    array._num_bytes, array._instance_version = size, version
    return array, size


class _Above:
    """A file of uproot that reads the branches below one, which are known already."""

    def __init__(self, file: Any, branches: list[Any]) -> None:
        self._file, self._branches = file, branches
        self._is_read = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def class_named(self, name: str, version: Any = None) -> Any:
        """Return a class, or what reads the array of branches."""
        if name != "TObjArray" or self._is_read:
            return self._file.class_named(name, version)
        self._is_read = True
        return self

    def read(self, chunk: Any, cursor: Any, context: Any, file: Any, selffile: Any, parent: Any) -> Any:
        """Skip the array of branches; see `uproot.model.Model.read`."""
        begin = cursor.index
        array, size = _head(chunk, cursor, context, self._file, parent)
        array._data = self._branches
        cursor.move_to(begin + size)
        return array


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


def _late(kind: Any) -> Any:
    """The class of branches that are read late and then become those of a class that is mended."""

    class Late(kind):  # type: ignore[misc]
        """A plain branch whose members are read when they are first used."""

        late: _Late
        plain: PlainBranch
        number: int
        below: list[Any]

        @property
        def _lookup(self) -> dict[str, Any]:
            return {each.name: each for each in reversed(self.below)}

        @property
        def streamer(self) -> Any:
            if self.plain.class_ is None:
                return None
            self.read_members_late()
            return self.streamer

        @property
        def branches(self) -> list[Any]:
            return self.below

        @property
        def name(self) -> str:
            return self.plain.name

        @property
        def title(self) -> str:
            return self.plain.title

        @property
        def parent(self) -> Any:
            above = self.plain.above
            return self.late.tree if above < 0 else self.late.all[above]

        @property
        def num_entries(self) -> int:
            return max(self.plain.first_entry, 0) + self._number("entries")

        @property
        def num_leaves(self) -> int:
            return len(self.plain.leaves)

        @property
        def count_branch(self) -> Any:
            counter = self.plain.leaves[0].counter if len(self.plain.leaves) == 1 else None
            return None if counter is None else self.late.all[counter[0]]

        @property
        def compressed_bytes(self) -> int:
            return self._number("compressed_bytes")

        @property
        def num_baskets(self) -> int:
            if not self.is_regular:
                self.read_members_late()
                return int(self.num_baskets)
            return self._number("written")

        def _number(self, name: str) -> int:
            return int(getattr(self.late.numbers, name)[self.number])

        def member(self, name: str, *arguments: Any, **named: Any) -> Any:
            if name == "fName":
                return self.plain.name
            known = _KNOWN.get(name)
            if known is not None:
                return self._number(known)
            self.read_members_late()
            return self.member(name, *arguments, **named)

        def __getattr__(self, name: str) -> Any:
            if name not in _READ:
                raise AttributeError(name)
            self.read_members_late()
            return getattr(self, name)

        def read_members_late(self) -> None:
            """Become a branch as uproot reads it, at once for other threads, and for forked children."""
            late = self.late
            with late.lock:
                if type(self) is not Late:
                    return
                read: Any = kind.__new__(kind)
                read.late, read.plain, read.number = late, self.plain, self.number
                # Another branch may need this one while the tree is read.
                begin = int(late.numbers.begins[self.number]) if late.pattern else self.plain.begin
                found = _Found(late.references)
                cursor = Cursor(begin, late.origin, found)
                context = dict(late.context, breadcrumbs=(self,))
                place = (late.chunk, cursor, context)
                # As `uproot.model.Model.read` does.
                read._cursor, read._file = cursor.copy(), late.file
                # That of a branch below another one has no members that are looked at.
                read._parent = late.tree if self.plain.above < 0 else _WITHOUT_MEMBERS
                read._concrete, read._members, read._bases = None, {}, []
                read._num_bytes, read._instance_version, read._is_memberwise = None, None, False
                read.read_numbytes_version(*place)
                read.read_members(*place, _Above(late.file, self.below) if self.below else late.file)
                read.check_numbytes(*place)
                read.postprocess(*place, late.file)
                for each in [*read.member("fLeaves"), *(read._embedded_baskets or [])]:
                    if each._parent is read:  # it may be a leaf that a branch below has
                        each._parent = self
                above = read._parent = self.parent
                while above is not late.tree:  # uproot does not know them while it reads this one
                    for name in ("fBranchCount", "fBranchCount2"):
                        if read._members[name] is above:
                            read._members[name] = None
                    above = above.parent
                self.__dict__.update(read.__dict__)
                self.__class__ = kind
                late.references.update(found)

    return named_as_its_base(Late)


_Branch: Any = mended(Model_TBranch_v13)
_Element: Any = mended(Model_TBranchElement_v10)
LATE = _LateBranch, _LateElement = _late(_Branch), _late(_Element)


class _Found(dict[int, Any]):
    """What a branch has by their tags, besides what was known."""

    def __init__(self, known: _References) -> None:
        super().__init__()
        self._known = known

    def __contains__(self, tag: object) -> bool:
        return super().__contains__(tag) or tag in self._known

    def __missing__(self, tag: int) -> Any:
        return self._known[tag]


_NONE: list[Any] = []
_WITHOUT_MEMBERS = SimpleNamespace(members={})
_LENGTH_OF_KEY = struct.Struct(">H")
_LENGTH_AT = 14
"""In a key: the number of its bytes before what is stored."""
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
