"""A device that becomes full: close() says so, and the file keeps its last checkpoint."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from crashes import Said, arguments, clusters_of, ids_of

import colonnade

SIZES = ("96k", "200k", "345k")


@contextmanager
def small_device(folder: Path, size: str):
    """A memory file system of this size, where it may be mounted."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()) != 0:
        yield None
        return
    try:
        yield folder
    finally:
        libc.umount2(os.fsencode(folder), 2)


def in_namespace(folder: Path, size: str, command: list[str], copy: Path) -> subprocess.CompletedProcess[str]:
    """The same in a user name space of its own: the file is copied out at the end."""
    mount = 'mount -t tmpfs -o size="$1" none "$2" && to="$3" && shift 3 && '
    script = mount + '{ "$@"; end=$?; cp "$2" "$to"; exit $end; }'
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", size, str(folder), str(copy), *command],
        capture_output=True,
        text=True,
        check=False,
    )


def limited(command: list[str], size: str) -> subprocess.CompletedProcess[str]:
    """With a limit of the size of files: what is left where nothing can be mounted."""

    def limit() -> None:
        bytes_ = int(size.rstrip("k")) << 10
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))

    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)


def write_to_full_device(tmp_path: Path, size: str, **options) -> tuple[Said, Path]:
    """Write more than there is room for, on the best full device that can be had; the file it leaves."""
    folder, copy = tmp_path / "device", tmp_path / "copy.root"
    folder.mkdir()
    with small_device(folder, size) as device:
        if device is not None:
            file = device / "full.root"
            done = subprocess.run(arguments(file, **options), capture_output=True, text=True, check=False)
            copy.write_bytes(file.read_bytes())
            return Said().take(done.stdout), copy
    done = in_namespace(folder, size, arguments(folder / "full.root", **options), copy)
    if not done.stdout:
        done = limited(arguments(copy, **options), size)
    return Said().take(done.stdout), copy


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "options", [{}, {"checkpoint": 3}, {"bare": True}, {"direct": True}, {"threads": 2, "checkpoint": 2}]
)
def test_is_reported_and_the_last_checkpoint_stays(tmp_path, size, options):
    said, file = write_to_full_device(tmp_path, size, clusters=60, **options)
    assert said.opened
    assert not said.closed
    assert "No space left" in said.error or "File too large" in said.error
    before = clusters_of(ids_of(file))
    assert len(before) >= len(said.clusters) - options.get("checkpoint", 1) + 1
    assert colonnade.repair(file).entries == 500 * len(before)
    after = clusters_of(ids_of(file))
    assert after[: len(before)] == before
    if "threads" not in options:
        # A ParallelWriter that failed gives the space behind its last checkpoint back.
        assert set(said.clusters) <= set(after)


def test_of_a_limited_file_size(tmp_path):
    file = tmp_path / "limited.root"
    said = Said().take(limited(arguments(file, clusters=60), "150k").stdout)
    assert "File too large" in said.error
    assert set(said.clusters) <= set(clusters_of(ids_of(file)))


def test_repair_on_a_full_device_leaves_the_file(tmp_path):
    """There is no room for the footer: the checkpoint stays, and all of it can be had once there is room."""
    file = tmp_path / "crashed.root"
    said = Said().take(limited(arguments(file, clusters=60, checkpoint=50), "150k").stdout)
    assert len(said.clusters) > 3
    content = file.read_bytes()
    code = f"""if True:
        import resource, signal, colonnade
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({len(content)}, {len(content)}))
        try:
            colonnade.repair({str(file)!r})
        except colonnade.StorageError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert len(ids_of(file)) == 0
    report = colonnade.repair(file)
    assert report.recovered_clusters >= len(said.clusters)
    assert set(said.clusters) <= set(clusters_of(ids_of(file)))
