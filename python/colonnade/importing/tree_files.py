"""Files with TTrees, opened with uproot."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.errors import (
    Error,
    FileMissingError,
    FormatError,
    LeftOutWarning,
    NotFoundError,
    StorageError,
    UnsupportedError,
    UsageError,
    redacted,
)

from .complaints import raise_of_source, short_reason
from .field_names import clean_name

if TYPE_CHECKING:
    from .branch_patterns import Pattern

__all__ = [
    "TREES",
    "checked_baskets",
    "data_set_names",
    "find_tree",
    "local_path",
    "opened",
    "split_cycle",
    "target_name",
    "tree_names",
]

TREES = ("TTree", "TNtuple", "TNtupleD", "TChain")
"""The classes of trees."""


def _uproot() -> Any:
    try:
        import uproot
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"TTrees are read with uproot, which cannot be imported: {error}; "
            "try: pip install 'colonnade[import]', or pip install uproot"
        ) from error
    return uproot


def local_path(uri: str) -> str:
    """The path of a file that uproot opens itself, given as "path" or "file:path"; empty for others."""
    return "" if "://" in uri else uri.removeprefix("file:")


@contextlib.contextmanager
def opened(uri: str, held: _core.RandomAccessFile | None = None) -> Iterator[Any]:
    """A ROOT file, opened by uproot; `held`: its bytes, if they are open already."""
    _uproot()
    path = local_path(uri)
    if path and not os.path.isfile(path):
        problem = "this is a folder" if os.path.isdir(path) else "there is no such file"
        raise FileMissingError(problem, uri=uri)
    try:
        if not path:
            from .transport_source import TransportSource

            handler = TransportSource if held is None else TransportSource.of(held)
            file = _contents(uri, handler=handler)
        else:
            file = _contents(os.path.abspath(path))
    except Error:
        raise
    except Exception as error:  # uproot has no common class of errors
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(
                f"the file cannot be opened: {error.strerror or short_reason(error)}",
                _core.system_advice(error.errno),
                uri=uri,
            ) from error
        raise_of_source(error, uri=uri)
        raise FormatError(
            f"this is not a ROOT file that uproot can read: {short_reason(error)}",
            "check that the file is one and was transferred completely",
            uri=uri,
        ) from error
    with file:
        yield file


def _contents(path: str, **options: Any) -> Any:
    """The top folder of a file.

    The header of a file that was not closed may tell an older end than its folders have, where uproot would stop.
    Files may have different classes of the same name and version: uproot would read all as it read the first.
    """
    uproot = _uproot()
    of_files = "uproot.dynamic"
    classes = {name: kind for name, kind in uproot.classes.items() if kind.__module__ != of_files}
    file = uproot.reading.ReadOnlyFile(path, custom_classes=classes, **options)
    file.decompression_executor = checked_baskets()
    file._fEND = max(file.fEND, file.source.num_bytes)
    folder = file.root_directory
    if not folder._fSeekKeys:
        from .recovery import recover

        if recover(folder, TREES):
            warnings.warn(
                f"{redacted(path)}: the file was not closed by its writer: trees have the entries that were saved",
                LeftOutWarning,
                stacklevel=3,
            )
    return folder


def checked_baskets(executor: Executor | None = None) -> Executor:
    """Return what makes baskets of bytes, in an executor or at once."""
    from .bounds import CheckedBaskets

    return CheckedBaskets(executor)


def tree_names(file: Any) -> list[str]:
    """Return the paths of the trees of a file."""
    return list(_cycles_of(file, *TREES))


def data_set_names(file: Any) -> list[str]:
    """Return the paths of the data sets of a file."""
    return list(_cycles_of(file, "ROOT::RNTuple"))


def target_name(tree: str) -> str:
    """The path of the data set for the one of a tree, whose name may have characters that data sets may not have."""
    folder, slash, name = tree.rpartition("/")
    return f"{folder}{slash}{clean_name(name)}"


def _cycles_of(file: Any, *kinds: str) -> dict[str, list[int]]:
    """Return the cycles of the objects of these classes, by name; other objects are ignored."""
    found: dict[str, list[int]] = {}
    for key, kind in file.iterclassnames(recursive=True):
        name, _, cycle = key.rpartition(";")
        if kind in kinds:
            found.setdefault(name, []).append(int(cycle))
    return found


def split_cycle(name: str) -> tuple[str, str]:
    """The name of a tree and its cycle, as "2", which is empty if it is not told. The name may have semicolons."""
    found, _, cycle = name.rpartition(";")
    return (found, cycle) if cycle.isdecimal() and found else (name, "")


def _no_tree(file: Any, problem: str, **place: str) -> NotFoundError:
    """What to raise for a file without trees, perhaps because it has no list of what is in it."""
    if file._fSeekKeys:
        return NotFoundError(problem, **place)
    return NotFoundError(
        f"{problem}: the file was not closed by its writer, which had saved none",
        "write it again",
        **place,
    )


def find_tree(file: Any, uri: str, name: str, patterns: Sequence[Pattern] = ()) -> tuple[str, Any]:
    """The tree of that name, or the only one."""
    cycles = _cycles_of(file, *TREES)
    names = list(cycles)
    wanted = name.strip("/")
    if not names:
        raise _no_tree(file, f"there is no TTree '{wanted}'" if wanted else "there is no TTree", uri=uri)
    if not wanted:
        if len(names) != 1:
            raise UsageError(f"there are {len(names)} TTrees", f"name one of: {', '.join(names)}", uri=uri)
        wanted = names[0]
    found, cycle = (wanted, "") if wanted in names else split_cycle(wanted)
    if found not in names or (cycle and cycle not in map(str, cycles[found])):
        raise NotFoundError(f"there is no TTree '{wanted}'", f"one of: {', '.join(names)}", uri=uri)
    from .bounds import check_key
    from .late_branches import read_tree

    try:
        # uproot splits the names of its own lookups at colons.
        *folders, last = found.split("/")
        folder = functools.reduce(lambda outer, inner: outer.key(inner).get(), folders, file)
        tree = read_tree(check_key(folder.key(f"{last};{cycle or max(cycles[found])}")), patterns)
    except Exception as error:  # uproot has no common class of errors
        raise_of_source(error, uri=uri, data_set=wanted)
        raise FormatError(
            f"the tree cannot be read: {short_reason(error)}", uri=uri, data_set=wanted
        ) from error
    if tree.classname == "TChain":
        raise UnsupportedError(
            "this is a TChain: its trees are in other files",
            "open a list of those files",
            uri=uri,
            data_set=wanted,
        )
    from .baskets import mend_baskets
    from .branches import OF_OBJECTS
    from .streamers import mend_streamers

    mend_baskets(tree.branches)
    if any(branch.classname in OF_OBJECTS for branch in tree.branches):
        mend_streamers(tree.file)
    return found, tree
