"""Finding and opening data sets: paths, names, and both in one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from colonnade import _core
from colonnade.annotations import checked
from colonnade.errors import NotFoundError, TypeMismatchError, UnsupportedError, UsageError
from colonnade.misuse import check_order, column_name, mapping_of, path_text, refuse_arguments
from colonnade.misuse import files_of as files_given

from .chain import Chain, MissingFields, check_open_files, files_of
from .dataset import DataSet, LocalIo, ReadSettings, lasting_cache
from .joining import Joined, chained

__all__ = ["PathLike", "datasets", "open", "split_target", "split_targets"]

PathLike: TypeAlias = "str | os.PathLike[str]"

_OPTIONS = (*ReadSettings.__annotations__, "target", "name", "friends", "missing", "max_open_files", "index")
_OF_UPROOT = {
    "library": "open(file).arrays(library=...)",
    "filter_name": "open(file).arrays(fields), with wildcards: 'Muon_*'",
    "mode": "colonnade.create(file, name, mode='update') to write",
    "object_cache": "memory_budget",
    "array_cache": "memory_budget",
    "num_workers": "nothing: all processors are used",
}
"""What uproot calls them, and what to use here."""


def split_target(target: PathLike | tuple[PathLike, str], name: str | None = None) -> tuple[str, str]:
    """Split "f.root:Events", ("f.root", "Events") or "f.root" and a name into file and name; no name is ""."""
    if isinstance(target, tuple):
        if name is not None:
            raise UsageError("the name of the data set is given twice")
        if len(target) != 2:
            raise TypeMismatchError(f"{target!r} does not name a data set", '("f.root", "Events")')
        return path_text(target[0]), column_name(target[1], "data set")
    uri = path_text(target)
    if not uri:
        raise UsageError("the name of the file is empty", "a path or a URI")
    if name is not None:
        name = column_name(name, "data set")
        return (_without_name(uri, name) if isinstance(target, str) else uri), name
    # A colon may be part of the path or of a scheme: it starts a name only if the text before it may be a file.
    if isinstance(target, str) and not os.path.exists(uri):
        head, colon, tail = _at_colon(uri)
        plain = _may_have_name(uri, head) and not tail.startswith("/") and not tail.endswith(".root")
        is_scheme = tail.startswith("//") or head.lower() in ("memory", "memory+obj")
        if colon and head and tail and not is_scheme and (os.path.exists(head) or plain):
            return head, tail
    return uri, ""


def _without_name(uri: str, name: str) -> str:
    """The file of "f.root:Events", which names the same data set; with another name it is refused."""
    head, _, tail = _at_colon(uri)
    is_named = head.endswith(".root") and _may_have_name(uri, head) and not tail.endswith(".root")
    if not is_named or not tail or os.path.exists(uri):
        return uri
    if tail.strip("/") != name.strip("/"):
        raise UsageError(f"the data set is named twice: '{tail}' and '{name}'", uri=head)
    return head


def _may_have_name(uri: str, head: str) -> bool:
    """Whether the text before a colon may be a file: of URIs one whose path ends with .root."""
    _, scheme, rest = head.partition("://")
    return "://" not in uri or (bool(scheme) and "/" in rest and head.endswith(".root"))


def _at_colon(uri: str) -> tuple[str, str, str]:
    """Split at the last colon behind an existing file, since names may have colons, too; otherwise at the last one."""
    head = uri
    while "://" not in uri and ":" in head:
        head = head.rpartition(":")[0]
        if os.path.isfile(head):
            return head, ":", uri[len(head) + 1 :]
    return uri.rpartition(":")


@checked
def open(  # noqa: A001
    target: PathLike | tuple[PathLike, str] | Iterable[PathLike | tuple[PathLike, str] | DataSet],
    name: str | None = None,
    *,
    friends: Mapping[str, Any] | None = None,
    missing: MissingFields | None = None,
    max_open_files: int = 16,
    index: PathLike | None = None,
    checksums: bool = True,
    read_ahead: int | str = "1 MiB",
    memory_budget: int | str = "256 MiB",
    parallel_decompression: bool = True,
    local_io: LocalIo = "automatic",
    direct_io: bool = False,
    cache: PathLike | None = None,
    **others: NoReturn,
) -> DataSet:
    """Open a data set for reading, or those of several files as one.

    A TTree is opened as the data set that `import_tree` would make of it; fields are imported on demand.

    Args:
        target: the file; or file and data set as "f.root:Events" or ("f.root", "Events"). Several files: a name with
            wildcards, "run*.root", or a list, whose items may have wildcards and names, too, or be data sets. Names may
            differ from file to file. Joined data sets are chained with others that are joined in the same way. Files
            may be URIs; a name after a colon needs one that ends with ".root".
        name: the path of the data set in the file, "Events" or "dir/Events"; optional if there is only one.
        friends: other data sets with as many entries, by name, whose fields are beside those of this one: anything
            that `target` accepts, or open data sets; see `DataSet.with_friends`. `DataSet.join` joins by keys.
        missing: for several files, what to do about fields that some lack: "error" raises `SchemaError`, "fill" gives
            them missing values in the entries of these files, "skip" leaves the fields out. By default the
            policy of the chains in the list applies, or "error" if there are none.
        max_open_files: for several files, the maximum number open at a time.
        index: for several files, a small file with their lengths and types, so that they need not be opened before they
            are read. It is written if it does not exist or belongs to other files.
        checksums: verify the checksums of pages, if there are any.
        read_ahead: bytes to read at once per column.
        memory_budget: bytes of pages to fetch and keep ahead, a number or a text such as "256 MiB".
        parallel_decompression: decompress the next pages on idle processors.
        local_io: how to read local files: one request at a time ("pread"), several by "threads" or by "io_uring", or as
            memory ("mmap"); "automatic" uses the fastest available.
        direct_io: bypass the page cache, if the file system supports it.
        cache: where to keep pages once they have been read: a folder or an object store ("/scratch/cache",
            "s3://bucket/cache?budget=1TB"), "on" for this user's folder, "off" for nowhere. By default COLONNADE_CACHE
            or the configuration decides, for data on other machines.

    Returns:
        The data set; for several files a `Chain`, which is one. It may be used as a context manager.

    Raises:
        FileMissingError: no such file.
        NotFoundError: no such data set, or no file matches the wildcards.
        SchemaError: fields of several files are incompatible.
        UsageError: the file has several data sets and none was named, or an option is invalid.
        FormatError: the file is damaged or of another format.
    """
    refuse_arguments("open", others, _OPTIONS, _OF_UPROOT)
    check_open_files(max_open_files)
    index = None if index is None else path_text(index)
    settings: ReadSettings = {
        "checksums": checksums,
        "read_ahead": read_ahead,
        "memory_budget": memory_budget,
        "parallel_decompression": parallel_decompression,
        "local_io": local_io,
        "direct_io": direct_io,
        "cache": cache,
    }
    options: dict[str, Any] = {"missing": missing, "max_open_files": max_open_files, **settings}
    if friends is not None:
        opened = {
            each: of if isinstance(of, DataSet) else open(_listed(of), **options)
            for each, of in mapping_of(friends, 'friends={"f": "f.root:Events"}').items()
        }
        return open(_listed(target), name, index=index, **options).with_friends(opened)
    policy = missing or "error"
    kept = lasting_cache(cache) or ""
    if isinstance(target, str | os.PathLike | tuple):
        uri, found = split_target(target, name)
        check_order(uri, found, "open")
        files = _core.expand_names([uri], kept) if _core.has_wildcard(uri) else [uri]
        if files == [uri]:
            try:
                return DataSet(uri, found, **settings)
            except NotFoundError as error:
                return _open_trees([(uri, found)], policy, settings, error)
        named = [(file, found) for file in files]
    else:
        members = files_given(target, "a path, which may have wildcards, or a list of paths")
        if not members:
            raise UsageError("the list of files is empty")
        if any(isinstance(each, Joined) for each in members):
            return _open_joins(members, name, index, options)
        given = list(_expanded(members, kept))
        policy = missing or _policy_of(members)
        common = "" if name is None else column_name(name, "data set")
        named = [] if common else of_different_names(given)
        if not named:
            found, files = split_targets(common, given)
            named = [(file, found) for file in files]
    try:
        return Chain(named, missing=policy, max_open_files=max_open_files, index=index, **settings)
    except NotFoundError as error:
        return _open_trees(named, policy, settings, error)


def _listed(target: Any) -> Any:
    """One file as a list of files: a chain need not be opened again for friends."""
    return [target] if isinstance(target, str | os.PathLike | tuple) else target


def _expanded(
    targets: Iterable[PathLike | tuple[PathLike, str] | DataSet], cache: str
) -> Iterator[tuple[str, str]]:
    """Give the files that match wildcards, and those of data sets, in their place; no name is ""."""
    for each in targets:
        if not isinstance(each, DataSet):
            uri, name = split_target(each)
            yield from ((file, name) for file in _core.expand_names([uri], cache))
        elif each._selection is not None:
            raise UnsupportedError(
                "a data set of selected fields cannot be part of a chain",
                "open the files as a chain with missing='skip', and select its fields",
                uri=each.uri,
            )
        elif type(each) in (DataSet, Chain):
            yield from files_of(each)
        else:
            raise UnsupportedError(f"a {type(each).__name__} cannot be part of a chain", "its files instead")


def _open_joins(
    members: list[Any], name: str | None, index: PathLike | None, options: dict[str, Any]
) -> Joined:
    """Chain joined data sets: their sides are chained, and keep their matches."""
    joins = [each for each in members if isinstance(each, Joined) and each._selection is None]
    if len(joins) < len(members):
        raise UnsupportedError(
            "joined data sets can be chained with each other alone, and with all of their fields",
            "chain the files first, then join the chains",
        )
    first = open([each._first for each in joins], name, index=index, **options)
    return chained(joins, first, open([each._other for each in joins], **options))


def _policy_of(members: Iterable[object]) -> MissingFields:
    """What the chains among them do about fields that some files lack."""
    found = {each._missing for each in members if isinstance(each, Chain)} - {"error"}
    if len(found) > 1:
        raise UsageError(
            "the chains in the list differ in what they do about missing fields",
            "missing='fill' or missing='skip'",
        )
    return found.pop() if found else "error"


def _open_trees(
    files: list[tuple[str, str]], missing: MissingFields, settings: ReadSettings, error: NotFoundError
) -> DataSet:
    """Open TTrees, if the files have these instead of data sets."""
    from colonnade.importing.tree_columns import TreeColumns
    from colonnade.importing.tree_data_set import TreeDataSet

    columns = TreeColumns.of(files, cache=settings.get("cache"), otherwise=error)
    return TreeDataSet(missing=missing, _columns=columns, **settings)


def of_different_names(
    files: Sequence[PathLike | tuple[PathLike, str]],
) -> list[tuple[str, str]]:
    """Split files that each name a data set; none if some do not, or if the names are all the same."""
    pairs = [(uri, name.strip("/")) for uri, name in map(split_target, files)]
    names = {name for _, name in pairs}
    return pairs if len(names) > 1 and all(names) else []


def split_targets(name: str, files: Iterable[PathLike | tuple[PathLike, str]]) -> tuple[str, list[str]]:
    """Split files given as "f.root:Events" into their common name and their paths."""
    listed = []
    for each in files:
        uri, found = split_target(each)
        if found and name and found.strip("/") != name.strip("/"):
            raise UsageError(f"the data set is '{name}', but '{uri}:{found}' names '{found}'")
        listed.append(uri)
        name = name or found
    return name, listed


@checked
def datasets(path: PathLike) -> list[str]:
    """List the data sets of a file or an object store, as "Events" or "dir/Events".

    Raises:
        FileMissingError: no such file.
        FormatError: the file is damaged or of another format.
    """
    return _core.data_sets(path_text(path))
