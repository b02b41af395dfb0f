"""Options of writers, checked and converted for the C++ side."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypedDict

from colonnade import _core
from colonnade.annotations import checked
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import UsageError
from colonnade.misuse import shown
from colonnade.reading.steps import byte_count

__all__ = [
    "CheckpointEvery",
    "ContainerSettings",
    "Size",
    "WriteMode",
    "WriteSettings",
    "check_names",
    "seconds_of",
    "write_options",
]

Size: TypeAlias = int | str
"""Bytes, or a text as "128 MiB"."""

CheckpointEvery: TypeAlias = int | str | timedelta | Mapping[str, int | float] | None
"""A number of clusters, a time ("30s", "2 min", timedelta), {"clusters": 10, "seconds": 30.0}, or None."""

WriteMode: TypeAlias = Literal["create", "recreate", "update"]
"""The allowed target of a writer: nothing, anything (which is replaced), or a file to which it adds."""

_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


class ContainerSettings(TypedDict, total=False):
    """The keyword options of all writing functions; `colonnade.create` explains them."""

    description: str
    container: Literal["root", "bare"]
    max_cluster_size: Size | None
    initial_page_size: Size
    page_buffer_budget: Size
    checksums: bool
    same_page_merging: bool
    max_key_size: Size
    clusters_per_group: int
    durability: Literal["process", "machine"]
    discard_unrepaired: bool
    object_mapping: Literal["locality", "object_per_page"]
    splice_size: Size
    object_class: str


class WriteSettings(ContainerSettings, total=False):
    """The options of writers."""

    compression: str | int
    cluster_size: Size
    page_size: Size
    direct_io: bool
    parallel_sealing: bool
    checkpoint_every: CheckpointEvery
    cluster_order: Literal["as_written", "staged"]


def check_names(options: Mapping[str, object], what: str) -> None:
    """Refuse unknown options, which can only come through **options.

    Raises:
        UsageError: there is no such option.
    """
    known = list(WriteSettings.__annotations__)
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            raise UsageError(f"{what} has no option '{name}'", f"'{close[0]}'" if close else "")


@checked
def write_options(
    *,
    compression: str | int = "zstd:5",
    description: str = "",
    container: Literal["root", "bare"] = "root",
    cluster_size: Size = "128 MiB",
    max_cluster_size: Size | None = None,
    page_size: Size = "256 KiB",
    initial_page_size: Size = 256,
    page_buffer_budget: Size = "128 MiB",
    checksums: bool = True,
    same_page_merging: bool = True,
    max_key_size: Size = "1 GiB",
    clusters_per_group: int = 1024,
    direct_io: bool = False,
    parallel_sealing: bool = False,
    checkpoint_every: CheckpointEvery = None,
    durability: Literal["process", "machine"] = "process",
    discard_unrepaired: bool = False,
    cluster_order: Literal["as_written", "staged"] = "as_written",
    object_mapping: Literal["locality", "object_per_page"] = "locality",
    splice_size: Size = "1 MiB",
    object_class: str = "",
) -> _core.WriteOptions:
    """Make the options of a writer.

    Raises:
        UsageError: an option is invalid.
    """
    options = _core.WriteOptions()
    options.compression = str(compression)
    options.description = description
    options.bare_file = container == "bare"
    options.cluster_size = byte_count(cluster_size)
    options.max_cluster_size = (
        min(10 * options.cluster_size, 2**63 - 1)
        if max_cluster_size is None
        else byte_count(max_cluster_size)
    )
    options.max_page_size = byte_count(page_size)
    options.initial_page_size = byte_count(initial_page_size)
    options.page_buffer_budget = byte_count(page_buffer_budget)
    options.page_checksums = bool(checksums)
    options.same_page_merging = bool(same_page_merging)
    options.max_key_size = byte_count(max_key_size)
    if not 0 < clusters_per_group < 2**32:
        raise UsageError(f"clusters_per_group={clusters_per_group} is not a number of clusters", "1024")
    options.clusters_per_group = clusters_per_group
    options.direct_io = bool(direct_io)
    options.parallel_sealing = bool(parallel_sealing)
    options.checkpoint_clusters, options.checkpoint_seconds = checkpoints(checkpoint_every)
    options.survives_machine_crash = durability == "machine"
    options.discard_unrepaired = bool(discard_unrepaired)
    options.staged = cluster_order == "staged"
    options.object_per_page = object_mapping == "object_per_page"
    options.splice_size = byte_count(splice_size)
    options.object_class = object_class
    return options


def _plain(number: Any) -> Any:
    """A number of NumPy as one of Python."""
    return number.item() if "numpy" in sys.modules and isinstance(number, np.number) else number


def checkpoints(every: CheckpointEvery) -> tuple[int, float]:
    """Clusters and seconds between checkpoints, 0 for never."""
    advice = "a number of clusters, a time as '30s', or {'clusters': 10, 'seconds': 30}"
    if every is None:
        return 0, 0.0
    if isinstance(every, Mapping):
        unknown = [name for name in every if name not in ("clusters", "seconds")]
        if unknown or not every:
            raise UsageError(
                f"checkpoints cannot be made every {', '.join(map(str, unknown)) or 'nothing'}", advice
            )
        clusters, seconds = every.get("clusters", 0), every.get("seconds", 0.0)
    elif isinstance(every, timedelta):
        clusters, seconds = 0, every.total_seconds()
    elif isinstance(every, str):
        clusters, seconds = 0, _seconds(every, advice)
    else:
        clusters, seconds = every, 0.0
    clusters, seconds = _plain(clusters), _plain(seconds)
    if isinstance(clusters, bool) or not isinstance(clusters, int) or not 0 <= clusters < 2**32:
        raise UsageError(f"checkpoints cannot be made every {shown(clusters)} clusters", advice)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 2**63:
        raise UsageError(f"checkpoints cannot be made every {shown(seconds)} seconds", advice)
    if clusters == 0 and seconds == 0:
        raise UsageError("checkpoints cannot be made every 0 clusters or seconds", f"None, or {advice}")
    return clusters, float(seconds)


def seconds_of(time: str | float | timedelta) -> float:
    """Seconds of a time as "2 h", of a number of seconds, also as a text, or of a timedelta."""
    advice = "a time as '2 h', or seconds"
    if isinstance(time, timedelta):
        time = time.total_seconds()
    if isinstance(time, str):
        return _seconds(f"{time}s" if time.isdecimal() else time, advice)
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < 2**63:
        raise UsageError(f"{shown(time)} is not a time", advice)
    return float(time)


def _seconds(text: str, advice: str) -> float:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|h)\s*", text)
    if match is None:
        raise UsageError(f"'{text}' is not a time", advice)
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds >= 2**63:
        raise UsageError(f"{shown(text)} is not a time", advice)
    return seconds
