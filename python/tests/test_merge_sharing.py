"""Merging by reference: on a file system that shares blocks, the output has those of its inputs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import colonnade

SIZE = "400M"
ROWS = 400_000


@pytest.fixture(scope="module")
def reflinks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of an XFS of its own, which can share blocks."""
    place = tmp_path_factory.mktemp("xfs")
    image, folder = place / "image", place / "mounted"
    folder.mkdir()
    image.touch()
    os.truncate(image, 400 << 20)
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # what a failed test holds may be open


def write(path: Path, seed: int, **options: Any) -> dict[str, Any]:
    """Random numbers, which do not compress, in clusters of some MB."""
    rng = np.random.default_rng(seed)
    columns = {
        "x": rng.normal(size=ROWS),
        "n": rng.integers(0, 1 << 60, ROWS),
        "b": rng.integers(0, 2, ROWS) > 0,
    }
    options = {"compression": "none", "page_size": "64 KiB", **options}
    with colonnade.create(
        path, "Events", {"x": "double", "n": "std::int64_t", "b": "bool"}, **options
    ) as writer:
        for first in range(0, ROWS, 100_000):
            writer.extend({name: values[first : first + 100_000] for name, values in columns.items()})
            writer.commit_cluster()
    return columns


def used(folder: Path) -> int:
    """Bytes of the file system that are taken."""
    os.sync()
    state = os.statvfs(folder)
    return (state.f_blocks - state.f_bfree) * state.f_frsize


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("container", ["root", "bare"])
def test_blocks_are_shared(reflinks: Path, checked: bool, container: Any) -> None:
    inputs = [reflinks / f"in{number}.root" for number in range(3)]
    columns = [write(path, number) for number, path in enumerate(inputs)]
    before = used(reflinks)
    out = reflinks / "out.root"
    report = colonnade.merge(out, inputs, check_pages=checked, container=container).data_sets[0]
    assert report.bytes_read == (report.bytes_written if checked else 0)
    assert report.bytes_written > 3 * ROWS * 16
    # All but the blocks at the ends of stretches, of which there are few.
    assert report.bytes_shared > 0.99 * report.bytes_written
    assert used(reflinks) - before < 0.05 * report.bytes_written
    for path in inputs:
        path.unlink()
    found = colonnade.open(out)
    assert found.verify() > 0
    for name in ("x", "n", "b"):
        np.testing.assert_array_equal(found[name], np.concatenate([each[name] for each in columns]))
    if container == "root":
        np.testing.assert_array_equal(uproot.open(out)["Events"].arrays()["x"], found["x"])
    out.unlink()


def test_what_changes_is_not_shared(reflinks: Path, tmp_path: Path) -> None:
    """Pages that are compressed again, that get checksums, or that lie on another file system."""
    source, plain = reflinks / "source.root", reflinks / "plain.root"
    write(source, 1)
    write(plain, 2, checksums=False)
    ways: list[tuple[Path, Path, dict[str, Any]]] = [
        (source, reflinks / "a.root", {"compression": "lz4"}),
        (source, tmp_path / "b.root", {}),
        (plain, reflinks / "c.root", {"check_pages": False}),
    ]
    for inputs, out, options in ways:
        report = colonnade.merge(out, inputs, verify="values", **options).data_sets[0]
        assert (report.bytes_shared, report.bytes_read > 0) == (0, True)
        out.unlink()
    # Without checksums pages stay as they are.
    report = colonnade.merge(
        reflinks / "d.root", plain, check_pages=False, checksums=False, verify="values"
    ).data_sets[0]
    assert report.bytes_shared > 0.99 * report.bytes_written
    for path in (source, plain, reflinks / "d.root"):
        path.unlink()


def test_appending_and_resuming(reflinks: Path) -> None:
    inputs = [reflinks / f"in{number}.root" for number in range(3)]
    columns = [write(path, number) for number, path in enumerate(inputs)]
    out = reflinks / "out.root"
    colonnade.merge(
        out, inputs[0], checkpoint_every=1, progress_every=0, progress=lambda state: state.entries < 200_000
    )
    colonnade.merge(out, inputs[:1], resume=True, checkpoint_every=1)
    appended = colonnade.merge(out, inputs, append=True).data_sets[0]
    assert appended.bytes_shared > 0.99 * 2 * ROWS * 16
    np.testing.assert_array_equal(colonnade.open(out)["n"], np.concatenate([each["n"] for each in columns]))
    for path in (*inputs, out):
        path.unlink()


@pytest.mark.parametrize("shares", [True, False])
def test_damage_is_found_unless_nobody_looks(reflinks: Path, tmp_path: Path, shares: bool) -> None:
    folder = reflinks if shares else tmp_path
    source, out = folder / "source.root", folder / "out.root"
    write(source, 3)
    content = bytearray(source.read_bytes())
    content[len(content) // 2] ^= 1
    source.write_bytes(content)
    with pytest.raises(colonnade.ChecksumError, match=r"source\.root"):
        colonnade.merge(out, source)
    assert not out.exists()
    for options in ({"compression": "lz4"}, {"cluster_size": "1 MiB"}):
        with pytest.raises(colonnade.ChecksumError, match=r"source\.root"):
            colonnade.merge(out, source, check_pages=False, **options)
    report = colonnade.merge(out, source, check_pages=False).data_sets[0]
    assert (report.bytes_read, report.bytes_shared > 0) == (0, shares)
    with pytest.raises(colonnade.ChecksumError):
        colonnade.open(out).verify()
    source.unlink()
    out.unlink()
