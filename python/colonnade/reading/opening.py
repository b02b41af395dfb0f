"""How data sets are found and opened: paths, names, and both in one."""

from __future__ import annotations

import os
from typing import TypeAlias

from colonnade import _core
from colonnade.errors import UsageError

from .dataset import DataSet, LocalIo

__all__ = ["PathLike", "datasets", "open", "split_target"]

PathLike: TypeAlias = "str | os.PathLike[str]"


def split_target(target: PathLike | tuple[PathLike, str], name: str | None = None) -> tuple[str, str]:
    """Split "f.root:Events", ("f.root", "Events") or "f.root" and a name into file and name; no name is ""."""
    if isinstance(target, tuple):
        if name is not None:
            raise UsageError("the name of the data set is given twice")
        path, name = target
        return os.fspath(path), name
    uri = os.fspath(target)
    if name is not None:
        return uri, name
    # A colon may be part of the path or of a scheme: it starts a name only if what stands before it may be a file.
    if isinstance(target, str) and not os.path.exists(uri):
        head, colon, tail = uri.rpartition(":")
        plain = "://" not in uri and not tail.startswith("/") and not tail.endswith(".root")
        if colon and head and tail and (os.path.exists(head) or plain):
            return head, tail
    return uri, ""


def open(  # noqa: A001
    target: PathLike | tuple[PathLike, str],
    name: str | None = None,
    *,
    checksums: bool = True,
    read_ahead: int | str = "2 MiB",
    memory_budget: int | str = "256 MiB",
    parallel_decompression: bool = True,
    local_io: LocalIo = "automatic",
    direct_io: bool = False,
    cache: PathLike | None = None,
) -> DataSet:
    """Open a data set for reading.

    Args:
        target: the file; or file and data set as "f.root:Events" or ("f.root", "Events").
        name: the path of the data set in the file, "Events" or "dir/Events"; may be left out if there is only one.
        checksums: verify the checksums of pages where the file has them.
        read_ahead: bytes that are read at once per column.
        memory_budget: bytes of pages that are fetched and kept ahead, a number or a text as "256 MiB".
        parallel_decompression: decompress pages that come next on idle processors.
        local_io: how local files are read: one request at a time ("pread"), several by "threads" or by "io_uring", or
            as memory ("mmap"); "automatic" takes the fastest that the machine allows.
        direct_io: read past the page cache where the file system can.
        cache: where pages are kept once they have been read: a folder or an object store ("/scratch/cache",
            "s3://bucket/cache?budget=1TB"), "on" for the folder of this user, "off" for nowhere. Left out: what
            COLONNADE_CACHE or the configuration says, for data that are not on this machine.

    Returns:
        The data set. It may be used as a context manager.

    Raises:
        FileMissingError: no such file.
        NotFoundError: no such data set.
        UsageError: the file has several data sets and none was named, or an option makes no sense.
        FormatError: the file is damaged or of another format.
    """
    uri, found = split_target(target, name)
    return DataSet(
        uri,
        found,
        checksums=checksums,
        read_ahead=read_ahead,
        memory_budget=memory_budget,
        parallel_decompression=parallel_decompression,
        local_io=local_io,
        direct_io=direct_io,
        cache=cache,
    )


def datasets(path: PathLike) -> list[str]:
    """List the data sets of a file, as "Events" or "dir/Events".

    Raises:
        FileMissingError: no such file.
        FormatError: the file is damaged or of another format.
    """
    return _core.data_sets(os.fspath(path))
