"""Small files that claim much, or really expand to much: what a process takes of memory while it opens and reads them
is measured from outside of the library, by the system.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash

import colonnade

MIB = 1 << 20
CHUNK = (1 << 24) - 1
# What the interpreter and its libraries may take meanwhile.
SLACK = 48 * MIB

USE = """
import json, sys, colonnade

def memory(what):
    for line in open("/proc/self/status"):
        if line.startswith(what + ":"):
            return int(line.split()[1]) << 10

warm, path, reads = sys.argv[1:]
colonnade.open(warm).arrays(library="np")
before = memory("VmRSS")
result = {"error": None, "text": ""}
try:
    data = colonnade.open(path)
    if reads == "read":
        result["sum"] = int(sum(len(each) for each in data.arrays(library="np")["v"]))
except BaseException as error:
    result["error"] = type(error).__module__ + "." + type(error).__name__
    result["is_ours"] = isinstance(error, colonnade.Error)
    result["text"] = str(error)
result["grown"] = memory("VmHWM") - before
print(json.dumps(result))
"""


def use(warm: Path, path: Path, reads: bool = False) -> dict[str, Any]:
    """Opens the file in a process of its own; one that hangs is ended."""
    done = subprocess.run(
        [sys.executable, "-c", USE, warm, path, "read" if reads else "open"],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One entry with the values 0 to 255 again and again, nothing compressed."""
    path = tmp_path_factory.mktemp("memory") / "good.bare"
    with colonnade.create(
        path, "E", {"v": "std::vector<std::uint8_t>"}, container="bare", compression="none"
    ) as writer:
        writer.fill(v=np.arange(40_000, dtype=np.uint8))
    return path


def chunk(stored: bytes, claim: int) -> bytes:
    return b"ZS\x01" + len(stored).to_bytes(3, "little") + claim.to_bytes(3, "little") + stored


def zeros(size: int) -> bytes:
    """A chunk that holds so many zeros, in as few bytes as Zstandard can."""
    return chunk(pa.Codec("zstd", 19).compress(bytes(size), asbytes=True), size)


def checked(content: bytes) -> Iterator[tuple[int, str]]:
    """Where 64 bytes are followed by their checksum: the anchor."""
    for at in range(len(content) - 71):
        total = xxhash.xxh3_64_intdigest(content[at : at + 64]).to_bytes(8, "little")
        found = content[at + 64 : at + 72]
        if found in (total, total[::-1]):
            yield at, "little" if found == total else "big"


def with_header(content: bytes, block: bytes, length: int) -> bytes:
    """The file with another block for a header, which claims to be so long, behind an anchor with a right checksum."""
    (at, order), *_ = checked(content)
    anchor = bytearray(content[at : at + 64])
    anchor[8:32] = struct.pack(">3Q", len(content), len(block), length)
    total = xxhash.xxh3_64_intdigest(anchor).to_bytes(8, order)  # type: ignore[arg-type]
    return content[:at] + anchor + total + content[at + 72 :] + block


@pytest.mark.parametrize(
    ("make", "grows", "message"),
    [
        pytest.param(
            lambda: (zeros(CHUNK) * 256, 256 * CHUNK), 0, "file of this size can need", id="bomb of 4 GiB"
        ),
        pytest.param(lambda: (zeros(CHUNK), 31 << 30), 0, "file of this size can need", id="claim of 31 GiB"),
        pytest.param(
            lambda: (zeros(CHUNK), 300 << 20), 0, "bytes of content are missing", id="claim of 300 MiB"
        ),
        pytest.param(lambda: (zeros(CHUNK) * 4, 4 * CHUNK), 96 * MIB, "", id="bomb within the bound"),
        pytest.param(
            lambda: (b"".join(chunk(b"\x28\xb5\x2f\xfd" + bytes(60), CHUNK) for _ in range(3)), 3 * CHUNK),
            0,
            "Zstandard",
            id="chunks without content",
        ),
        pytest.param(
            lambda: (zeros(CHUNK) + chunk(b"?" * 9, CHUNK) * 3, 4 * CHUNK),
            16 * MIB,
            "Zstandard",
            id="one true chunk",
        ),
        pytest.param(
            lambda: (chunk(pa.Codec("zstd", 1).compress(bytes(1 << 30), asbytes=True), 70_000), 70_000),
            0,
            "Zstandard",
            id="a GiB in a chunk that claims less",
        ),
        pytest.param(
            lambda: (zeros(1000), 1 << 63), 0, "file of this size can need", id="claim of half of all numbers"
        ),
    ],
)
def test_opening_takes_memory_for_what_is_there(good, tmp_path, make, grows, message):
    block, length = make()
    path = tmp_path / "hostile.bare"
    path.write_bytes(with_header(good.read_bytes(), block, length))
    result = use(good, path)
    assert result.get("is_ours"), result
    assert message in result["text"]
    assert "hostile.bare" in result["text"]
    assert result["grown"] <= grows + SLACK, result


def with_page(content: bytes, block: bytes, elements: int) -> bytes:
    """The file with another block for the page of values, which claims so many elements. Header, footer and page list
    are not compressed, so the page's record is found by its bytes, and checksums by what they sum."""
    old = struct.pack("<iI", -40_000, 40_000)
    at = content.index(old)
    page_list = bytearray(content)
    page = struct.pack("<iIQ", -elements, len(block), len(content))
    page_list[at : at + len(page)] = page
    total = xxhash.xxh3_64_intdigest(block).to_bytes(8, "little")
    return reseal(bytes(content), bytes(page_list)) + block + total


def reseal(old: bytes, new: bytes) -> bytes:
    """`new`, which is `old` with some bytes changed in an envelope, with its checksum made right. An envelope
    begins with its type and length and ends with the checksum of all before."""
    changed = next(i for i in range(len(old)) if old[i] != new[i])
    for begin in range(changed, -1, -1):
        kind, length = (
            struct.unpack_from("<H", old, begin)[0],
            int.from_bytes(old[begin + 2 : begin + 8], "little"),
        )
        end = begin + length
        if kind != 3 or not changed < end <= len(old):
            continue
        if xxhash.xxh3_64_intdigest(old[begin : end - 8]).to_bytes(8, "little") == old[end - 8 : end]:
            return reseal_links(new, begin, end)
    raise AssertionError("the page list was not found")


def reseal_links(new: bytes, begin: int, end: int) -> bytes:
    total = xxhash.xxh3_64_intdigest(new[begin : end - 8]).to_bytes(8, "little")
    return new[: end - 8] + total + new[end:]


def test_a_page_that_is_not_there_takes_no_memory(good, tmp_path):
    path = tmp_path / "hostile.bare"
    for block in (bytes(40_000), zeros(CHUNK) + bytes(40_000), chunk(b"?" * 9, CHUNK) * 4000):
        path.write_bytes(with_page(good.read_bytes(), block, 1 << 30))
        result = use(good, path, reads=True)
        assert result.get("is_ours"), result
        assert "hostile.bare" in result["text"]
        assert result["grown"] <= SLACK, result


def test_a_page_of_zeros_is_what_it_claims(good, tmp_path):
    """The other side of the bound: what honestly expands is read."""
    path = tmp_path / "zeros.bare"
    path.write_bytes(with_page(good.read_bytes(), zeros(40_000), 40_000))
    assert use(good, path, reads=True)["sum"] == 40_000


def test_a_page_takes_the_memory_of_its_content(good, tmp_path):
    """A page may be large; that it is more than the collection needs is told, within the bound for a page."""
    path = tmp_path / "hostile.bare"
    path.write_bytes(with_page(good.read_bytes(), zeros(CHUNK) * 8, 8 * CHUNK))
    result = use(good, path, reads=True)
    assert result["error"] is None or result["is_ours"], result
    assert result["grown"] <= 2 * 8 * CHUNK + SLACK, result
