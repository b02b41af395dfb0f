"""Files that are no data sets, wherever they are: for libraries that read and write such."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade import _core

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["TransportFile", "file_name", "opened", "written_elsewhere"]


def file_name(path: str) -> str:
    """The last part of a path or URI, without what follows names in URIs (?download=1)."""
    if "://" in path:
        return path.partition("?")[0].rpartition("/")[2]
    return os.path.basename(os.path.abspath(path))


def _file_uri(path: str) -> str:
    """Names in S3 that end with neither .root nor .bare say that they are files."""
    return path if "?" in path or not path.startswith("s3://") else f"{path}?file"


def opened(path: str) -> _core.RandomAccessFile:
    """Open a file for its bytes."""
    return _core.open_bytes(_file_uri(path))


@contextmanager
def written_elsewhere(uri: str, *, replace: bool) -> Iterator[Path]:
    """Provide a temporary path, whose file is sent on success, and removed.

    Raises:
        UsageError: there is a file, and it is not to be replaced.
        StorageError: the place takes no files.
    """
    new = _core.new_file(_file_uri(uri), replace)
    try:
        with tempfile.TemporaryDirectory(prefix="colonnade-") as folder:
            path = Path(folder, "file")
            yield path
            new.put(str(path))
    except BaseException:
        new.discard()
        raise


class TransportFile(io.RawIOBase):
    """The bytes of a file as a file of Python: read through Colonnade's transports, with their credentials and retries.

    What is asked for at once is read by several requests side by side.
    """

    def __init__(self, file: _core.RandomAccessFile) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place."""
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._file.size}[whence]
        if begin + offset < 0:
            raise ValueError(f"there is no place {begin + offset} in a file")
        self._place = begin + offset
        return self._place

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, or those that are left."""
        left = max(0, self._file.size - self._place)
        size = left if size is None or size < 0 else min(size, left)
        (content,) = self._file.read_ranges([(self._place, self._place + size)])
        self._place += len(content)
        return content

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer, unless the file ends before."""
        memory = memoryview(buffer).cast("B")
        content = self.read(len(memory))
        memory[: len(content)] = content
        return len(content)
