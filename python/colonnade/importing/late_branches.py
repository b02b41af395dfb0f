"""Trees of uproot whose plain branches are read when they are used: a tree may have thousands, most of them unused.

What is needed of each at once is found in the bytes of the tree. The others are read with the tree, as uproot does.
It imports uproot.
"""

from __future__ import annotations

import struct
import threading
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import uproot.deserialization
from uproot.models.TBranch import Model_TBranch_v13
from uproot.models.TObjArray import Model_TObjArray
from uproot.source.cursor import Cursor

from .baskets import mended, named_as_its_base
from .tree_bytes import LEAVES, Baskets, PlainBranch, baskets_of, plain_branch

__all__ = ["LateBranch", "read_tree", "structure_of"]

_TAG_OFFSET = 2
_ARRAY = struct.Struct(">IHHIIBii")
"""What a TObjArray has before its objects."""
_REFERENCED = 0x10


def read_tree(key: Any) -> Any:
    """Return the tree of a key of uproot."""
    try:
        chunk, cursor = key.get_uncompressed_chunk_cursor()
        file = key._file
        context = {"breadcrumbs": (), "TKey": key}
        return file.class_named(key.fClassName).read(chunk, cursor, context, _File(file), file, key)
    except Exception:  # uproot has no common class of errors
        return key.get()  # tries more, and tells what is wrong


def structure_of(tree: Any) -> tuple[object, ...] | None:
    """What equals that of other trees with the same branches; None if it depends on more than their bytes tell."""
    found = [branch for branch in tree.branches if branch.late is not None]
    if not found or len(found) < len(tree.branches):
        return None
    entries = int(tree.num_entries)
    late = found[0].late
    is_plain = (
        all(late.baskets.are_regular)
        and not late.shared_places
        and all(branch.num_entries >= entries for branch in found)
    )
    return tuple(branch.plain.structure for branch in found) if is_plain else None


class _File:
    """A file of uproot that reads the two arrays of a tree, of branches and of their leaves, in another way."""

    def __init__(self, file: Any) -> None:
        self._file = file
        late = _Late(file)
        self._arrays = iter((late, _Leaves(late)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def class_named(self, name: str, version: Any = None) -> Any:
        """Return a class, or what reads one of the arrays."""
        return next(self._arrays) if name == "TObjArray" else self._file.class_named(name, version)


class _References(dict[int, Any]):
    """Objects and classes by their tags; leaves of late branches are read when they are asked for."""

    def __init__(self, branches: list[Any], leaves: dict[int, tuple[int, int]]) -> None:
        super().__init__()
        self._branches, self._leaves = branches, leaves

    def __contains__(self, tag: object) -> bool:
        return super().__contains__(tag) or tag in self._leaves

    def __missing__(self, tag: int) -> Any:
        self._branches[self._leaves[tag][0]].read_members_late()
        return dict.__getitem__(self, tag)


class _Late:
    """The branches of a tree."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.lock = threading.RLock()
        self.branches: list[Any] = []
        self.leaves: dict[int, tuple[int, int]] = {}
        self.references = _References(self.branches, self.leaves)
        self.plain: list[PlainBranch] = []

    def read(self, chunk: Any, cursor: Any, context: Any, file: Any, selffile: Any, parent: Any) -> Any:
        """Read the array of branches; see `uproot.model.Model.read`."""
        file = self._file
        array = Model_TObjArray.empty()
        begin = cursor.index
        size, version, _ = uproot.deserialization.numbytes_version(chunk, cursor, context)
        array._bases.append(
            uproot.models.TObject.Model_TObject.read(chunk, cursor, context, file, file, parent)
        )
        array._members["fName"] = cursor.string(chunk, context)
        array._members["fSize"], array._members["fLowerBound"] = cursor.fields(chunk, _BOUNDS, context)
        array._data = self.branches
        self.chunk, self.context, self.tree, self.origin = chunk, dict(context), parent, cursor.origin
        cursor._refs = self.references
        data = bytes(chunk.raw_data) if self._names else b""
        for number in range(array._members["fSize"]):
            found = plain_branch(data, cursor.index, cursor.origin, self._class_name, self.leaves)
            if found is None:
                self.branches.append(
                    uproot.deserialization.read_object_any(chunk, cursor, context, file, selffile, parent)
                )
                continue
            plain, told = found
            branch = LateBranch.__new__(LateBranch)
            branch.late, branch.plain, branch.number = self, plain, len(self.plain)
            for tag, name in told.items():
                self.references[tag] = file.class_named(name)
            self.references[cursor.index - cursor.origin + _TAG_OFFSET] = branch
            for leaf, tag in enumerate(plain.tags):
                self.leaves[tag] = (number, leaf)
            self.plain.append(plain)
            self.branches.append(branch)
            cursor.move_to(plain.end)
        uproot.deserialization.numbytes_check(chunk, Cursor(begin), cursor, size, "TObjArray", context, "")
        array._num_bytes, array._instance_version = size, version
        return array

    def _class_name(self, tag: int) -> str:
        return self._names.get(self.references.get(tag), "")

    @cached_property
    def _names(self) -> dict[Any, str]:
        """Names of the classes of uproot; none if the file has classes of its own for some of them."""
        names = ("TBranch", "TObjArray", "TNamed", "TLeaf", "ROOT::TIOFeatures", *LEAVES)
        found = {self._file.class_named(name): name for name in names}
        return found if all(kind is uproot.classes.get(name) for kind, name in found.items()) else {}

    @cached_property
    def baskets(self) -> Baskets:
        """The baskets of all late branches."""
        return baskets_of(self.chunk.raw_data, self.plain)

    @cached_property
    def shared_places(self) -> bool:
        """True if two of these baskets are at one place."""
        places = np.sort(self.baskets.places)
        return bool(np.any(places[1:] == places[:-1]))


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
        tags = np.frombuffer(chunk.raw_data[begin + _ARRAY.size : end].tobytes(), ">u4").tolist()
        is_plain = is_object == 1 and not bits & _REFERENCED and not name and count == len(tags)
        if is_plain and all(tag in self._late.references for tag in tags):
            cursor.move_to(end)
            array = Model_TObjArray.empty()
            array._data = []
            return array
        file = self._late._file
        return Model_TObjArray.read(chunk, cursor, context, file, selffile, parent)


_Branch: Any = mended(Model_TBranch_v13)


@named_as_its_base
class LateBranch(_Branch):  # type: ignore[misc]
    """A plain branch whose members are read when they are first used, by one thread at a time."""

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
    def num_entries(self) -> int:
        return max(self.plain.first_entry, 0) + self.plain.entries

    @property
    def num_leaves(self) -> int:
        return len(self.plain.leaves)

    @property
    def count_branch(self) -> Any:
        counter = self.plain.leaves[0].counter if len(self.plain.leaves) == 1 else None
        return None if counter is None else self.late.branches[counter[0]]

    @property
    def compressed_bytes(self) -> int:
        return self.plain.compressed_bytes

    def member(self, name: str, *arguments: Any, **named: Any) -> Any:
        place = _KNOWN.get(name)
        return super().member(name, *arguments, **named) if place is None else self.plain[place]

    def __getattr__(self, name: str) -> Any:
        if name not in _READ:
            raise AttributeError(name)
        self.read_members_late()
        return getattr(self, name)

    def read_members_late(self) -> None:
        """Become a branch as uproot reads it."""
        late = self.late
        with late.lock:
            if type(self) is not LateBranch:
                return
            self.__class__ = _Branch
            cursor = Cursor(self.plain.begin, late.origin, late.references)
            context = dict(late.context, breadcrumbs=(self,))
            place = (late.chunk, cursor, context)
            # As `uproot.model.Model.read` does.
            self._cursor, self._file, self._parent, self._concrete = (
                cursor.copy(),
                late._file,
                late.tree,
                None,
            )
            self._members, self._bases = {}, []
            self._num_bytes, self._instance_version, self._is_memberwise = None, None, False
            self.read_numbytes_version(*place)
            self.read_members(*place, late._file)
            self.check_numbytes(*place)
            self.postprocess(*place, late._file)


_BOUNDS = uproot.models.TObjArray._tobjarray_format1
_KNOWN = {
    name: PlainBranch._fields.index(field)
    for name, field in {
        "fName": "name",
        "fTitle": "title",
        "fEntries": "entries",
        "fFirstEntry": "first_entry",
        "fTotBytes": "total_bytes",
        "fZipBytes": "compressed_bytes",
    }.items()
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
