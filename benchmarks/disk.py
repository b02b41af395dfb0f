"""The disk: free space, what of a file is in the page cache, and what fio reaches in the same folder."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import BenchmarkError, Run

FIO_BLOCK = 1 << 20
"""Bytes per request of fio: enough that larger ones are not faster."""


def check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchmarkError(
            f"{folder} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed; choose another one with "
            "--work, or fewer --events"
        )


def cached_share(path: Path) -> float:
    """The part of a file's pages that are in the page cache."""
    size = path.stat().st_size
    if size == 0:
        return 0.0
    libc = ctypes.CDLL(None, use_errno=True)
    pages = -(-size // mmap.PAGESIZE)
    present = (ctypes.c_ubyte * pages)()
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as view:
        start = ctypes.c_char.from_buffer(view)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), present)
        del start  # or the mapping cannot be closed
    if failed:
        raise BenchmarkError(f"mincore: {os.strerror(ctypes.get_errno())}")
    return sum(value & 1 for value in bytes(present)) / pages


def drop_from_cache(path: Path) -> None:
    """Have the system forget the contents of a file, so that the next reading comes from the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if (share := cached_share(path)) > 0.01:
        raise BenchmarkError(
            f"{share:.0%} of {path} stay in the page cache: nothing can be read from the disk"
        )


def fio(path: Path, task: str, streams: int, size: int = 0) -> Run:
    """What fio reaches past the page cache with one thread and `streams` requests in flight.

    Args:
        path: file to read, which stays as it is; or to write, which is replaced and then removed.
        task: "read" or "write".
        streams: requests in flight.
        size: bytes to write.
    """
    if shutil.which("fio") is None:
        raise BenchmarkError("fio is missing; `tools/bootstrap.sh bench` installs it")
    size = (size or path.stat().st_size) // FIO_BLOCK * FIO_BLOCK
    if size == 0:
        raise BenchmarkError(f"fio needs at least {FIO_BLOCK} bytes to {task}")
    command = [
        "fio",
        "--name=bandwidth",
        f"--filename={path}",
        f"--rw={task}",
        "--direct=1",
        f"--bs={FIO_BLOCK}",
    ]
    command += [f"--size={size}", f"--iodepth={streams}", "--output-format=json"]
    if task == "read":
        command.append("--readonly")
    for engine in ("io_uring", "libaio"):  # the second where the kernel denies the first
        with tempfile.TemporaryDirectory() as folder:  # where fio leaves its notes on the run
            done = subprocess.run(
                [*command, f"--ioengine={engine}"], capture_output=True, text=True, check=False, cwd=folder
            )
        if task == "write":
            path.unlink(missing_ok=True)
        if done.returncode == 0:
            return parse_fio(done.stdout, task)
    raise BenchmarkError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def parse_fio(output: str, task: str) -> Run:
    """Take what is needed from fio's JSON, which may have warnings before it."""
    job = json.loads(output[output.index("{") :])["jobs"][0]
    moved = job[task]["io_bytes"]
    seconds = moved / job[task]["bw_bytes"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    return {"seconds": seconds, "cpu_seconds": cpu, "max_rss_kib": 0, "bytes": moved}
