"""Compression blocks of sealed pages: finds them, and decompresses them with nvCOMP.

A compressed page is a sequence of blocks, each with a header of nine bytes: three for the algorithm, three for the size
of the block, three for that of its content, both least significant byte first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import FormatError, UnsupportedError

from .backends import Backend, library

if TYPE_CHECKING:
    from .pages import SealedColumn

__all__ = ["ALGORITHMS", "BLOCK", "can_decompress", "decompress", "find_blocks"]

BLOCK = np.dtype(
    [
        ("page", "<u4"),
        ("algorithm", "<u4"),
        ("position", "<u8"),
        ("size", "<u8"),
        ("content_position", "<u8"),
        ("content_size", "<u8"),
    ]
)
"""A block: its page, its algorithm (see `ALGORITHMS`), the position in the column's data after its header, and the
position of its content in the column's content."""

ALGORITHMS = {0: "none", 1: "zlib", 2: "lzma", 3: "deflate", 4: "lz4", 5: "zstd"}
"""The names of the numbers in `BLOCK`. ROOT's old "deflate" has no zlib header."""

_HEADER = 9
_TAGS = {b"ZL\x08": 1, b"XZ\x00": 2, b"CS\x08": 3, b"L4\x01": 4, b"ZS\x01": 5}
_ALIGNMENT = 16
# Per page. Writers make one per plane or per 16 MiB; processing more one by one could take hours.
_MOST_BLOCKS = 4096
# nvCOMP's names, and the bytes before and after its stream: zlib's header and checksum, LZ4's checksum.
_ON_DEVICE = {1: ("Deflate", 2, 4), 3: ("Deflate", 0, 0), 4: ("LZ4", 8, 0), 5: ("Zstd", 0, 0)}


def find_blocks(column: SealedColumn) -> NDArray[Any]:
    """List the blocks of all pages; an uncompressed page is a block with algorithm 0.

    Parses the headers of the first blocks of all pages together, then those of the second ones, and so on.

    Raises:
        FormatError: the sizes do not add up, or an algorithm is unknown.
    """
    pages = column.pages
    starts = np.concatenate([[0], np.cumsum(pages["content_size"])]).astype("<u8")
    found = []
    plain = np.flatnonzero(pages["size"] == pages["content_size"])
    found.append(
        _blocks(plain, 0, pages["position"][plain], pages["size"][plain], starts[plain], pages["size"][plain])
    )
    open_pages = np.flatnonzero(pages["size"] != pages["content_size"])
    at, content = pages["position"][open_pages], starts[open_pages]
    for _ in range(_MOST_BLOCKS):
        if not len(open_pages):
            break
        ends = (pages["position"] + pages["size"])[open_pages]
        content_ends = starts[open_pages + 1]
        _require(column, open_pages, ends - at >= _HEADER, "a compressed block has no room for its header")
        headers = column.bytes_at(at, _HEADER)
        algorithms = _algorithms(column, open_pages, headers)
        sizes, content_sizes = _number(headers[:, 3:6]), _number(headers[:, 6:9])
        at = at + np.uint64(_HEADER)
        _require(
            column, open_pages, sizes <= ends - at, "a compressed block reaches past the end of its page"
        )
        _require(
            column,
            open_pages,
            (content_sizes > 0) & (content_sizes <= content_ends - content),
            "a compressed block does not say how much of its page it holds",
        )
        found.append(_blocks(open_pages, algorithms, at, sizes, content, content_sizes))
        at, content = at + sizes, content + content_sizes
        is_full = content == content_ends
        _require(
            column, open_pages, ~is_full | (at == ends), "bytes follow the last block of a compressed page"
        )
        open_pages, at, content = open_pages[~is_full], at[~is_full], content[~is_full]
    none = np.zeros(len(open_pages), bool)
    _require(column, open_pages, none, f"a page has more than {_MOST_BLOCKS} compressed blocks")
    blocks = np.concatenate(found)
    return np.asarray(blocks[np.argsort(blocks["content_position"], kind="stable")])


def can_decompress(blocks: NDArray[Any]) -> bool:
    """True if nvCOMP is available and supports all algorithms."""
    if not set(np.unique(blocks["algorithm"]).tolist()) <= {0, *_ON_DEVICE}:
        return False
    try:
        return blocks["algorithm"].max(initial=0) == 0 or bool(library("nvidia.nvcomp"))
    except UnsupportedError:
        return False


def decompress(backend: Backend, columns: Sequence[SealedColumn]) -> list[Any]:
    """Decompress the blocks of columns in GPU memory; returns their contents.

    A GPU takes as long for one block as for thousands, so those of all columns are decompressed together. nvCOMP
    requires blocks and their contents at multiples of 16 bytes, so both are moved.

    Raises:
        FormatError: the size of a block's content differs from its header.
    """
    xp = backend.xp
    contents = [xp.empty(column.content_size, np.uint8) for column in columns]
    if not columns:
        return contents
    blocks = np.concatenate([column.blocks for column in columns])
    owners = np.repeat(np.arange(len(columns)), [len(column.blocks) for column in columns])
    stored_at = _addresses([column.data for column in columns])[owners] + blocks["position"]
    content_at = _addresses(contents)[owners] + blocks["content_position"]
    plain = blocks["algorithm"] == 0
    _move(backend, stored_at[plain], content_at[plain], blocks["size"][plain])
    for algorithm, (name, before, behind) in _ON_DEVICE.items():
        chosen = np.flatnonzero(blocks["algorithm"] == algorithm)
        if not len(chosen):
            continue
        some = blocks[chosen]
        _require_all(
            columns, owners[chosen], some, some["size"] >= before + behind, f"a block of {name} is too short"
        )
        sizes = some["size"] - np.uint64(before + behind)
        sealed_at, sealed_size = _aligned(sizes)
        opened_at, opened_size = _aligned(some["content_size"])
        sealed, opened = xp.empty(sealed_size, np.uint8), xp.empty(opened_size, np.uint8)
        _move(backend, stored_at[chosen] + np.uint64(before), _addresses([sealed]) + sealed_at, sizes)
        given = _decode(name, (sealed, sealed_at, sizes), (opened, opened_at, some["content_size"]), xp)
        problem = f"nvCOMP could not decompress {name}"
        _require_all(columns, owners[chosen], some, given == some["content_size"], problem)
        _move(backend, _addresses([opened]) + opened_at, content_at[chosen], some["content_size"])
    return contents


def _decode(name: str, sealed: tuple[Any, ...], opened: tuple[Any, ...], xp: Any) -> NDArray[Any]:
    """Run nvCOMP in the current stream; returns the sizes that it reports."""
    nvcomp = library("nvidia.nvcomp")
    stream = xp.cuda.get_current_stream().ptr
    codec = nvcomp.Codec(algorithm=name, bitstream_kind=nvcomp.BitstreamKind.RAW, cuda_stream=stream)
    source, target = (
        nvcomp.as_arrays(buffer, at.tolist(), sizes.tolist(), cuda_stream=stream)
        for buffer, at, sizes in (sealed, opened)
    )
    return np.asarray(codec.decode(source, out=target).buffer_sizes, "<u8")


# ---- Inside


def _blocks(
    pages: Any, algorithms: Any, at: Any, sizes: Any, content: Any, content_sizes: Any
) -> NDArray[Any]:
    blocks = np.empty(len(pages), BLOCK)
    for name, values in zip(
        BLOCK.names or (), (pages, algorithms, at, sizes, content, content_sizes), strict=True
    ):
        blocks[name] = values
    return blocks


def _number(bytes_of: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(bytes_of.astype("<u8") @ np.array([1, 1 << 8, 1 << 16], "<u8"))


def _algorithms(column: SealedColumn, pages: NDArray[Any], headers: NDArray[Any]) -> NDArray[Any]:
    numbers = np.zeros(len(headers), "<u4")
    for tag, number in _TAGS.items():
        numbers[(headers[:, :3] == np.frombuffer(tag, np.uint8)).all(axis=1)] = number
    _require(column, pages, numbers > 0, "a compressed block is of no known algorithm")
    return numbers


def _require(column: SealedColumn, pages: NDArray[Any], holds: NDArray[Any], problem: str) -> None:
    if not holds.all():
        raise FormatError(
            problem,
            "restore the file from another copy",
            field=column.field,
            column=column.column,
            cluster=column.cluster,
            page=int(pages[np.argmin(holds)]),
        )


def _require_all(
    columns: Sequence[SealedColumn], owners: Any, blocks: NDArray[Any], holds: NDArray[Any], problem: str
) -> None:
    """Name the column and the page of the first block for which a condition does not hold."""
    if not holds.all():
        first = int(np.argmin(holds))
        _require(columns[owners[first]], blocks["page"][first : first + 1], holds[first : first + 1], problem)


def _aligned(sizes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Aligned positions for ranges of these sizes, and the total size."""
    ends = np.cumsum((sizes + np.uint64(_ALIGNMENT - 1)) // np.uint64(_ALIGNMENT) * np.uint64(_ALIGNMENT))
    return np.concatenate([[0], ends[:-1]]).astype("<u8"), int(ends[-1])


def _addresses(arrays: Sequence[Any]) -> NDArray[Any]:
    return np.array([array.data.ptr for array in arrays], "<u8")


_COPY_RANGES = """
extern "C" __global__ void copy_ranges(const unsigned long long* from, const unsigned long long* to,
                                       const unsigned long long* sizes) {
  const unsigned char* source = reinterpret_cast<const unsigned char*>(from[blockIdx.x]);
  unsigned char* target = reinterpret_cast<unsigned char*>(to[blockIdx.x]);
  const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * gridDim.y;
  unsigned long long at = static_cast<unsigned long long>(blockIdx.y) * blockDim.x + threadIdx.x;
  for (; at < sizes[blockIdx.x]; at += step) target[at] = source[at];
}
"""


@cache
def _copy_ranges(xp: Any) -> Any:
    return xp.RawKernel(_COPY_RANGES, "copy_ranges")


def _move(backend: Backend, from_: Any, to: Any, sizes: Any) -> None:
    """Copy ranges of bytes between addresses, all in one kernel."""
    if len(sizes):
        arguments = tuple(backend.from_host(np.asarray(each, "<u8")) for each in (from_, to, sizes))
        _copy_ranges(backend.xp)((len(sizes), 64), (256,), arguments)
