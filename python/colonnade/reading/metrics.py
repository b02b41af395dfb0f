"""What reading a data set has taken."""

from __future__ import annotations

from dataclasses import dataclass, fields

from colonnade import _core

__all__ = ["ReadMetrics", "metrics_of"]


@dataclass(frozen=True)
class ReadMetrics:
    """What a data set has asked of its storage since it was opened, and where the time went."""

    requests: int
    """Reads for pages."""
    bytes: int
    """Of these reads."""
    read_over_bytes: int
    """Of `bytes`, not wanted: gaps that were cheaper to read than to skip, and alignment."""
    pages: int
    """Decompressed and decoded."""
    metadata_bytes: int
    """Header, footer, page lists."""
    prefetched_used: int
    """Pages that were read ahead and then asked for."""
    prefetched_unused: int
    """Pages that were read ahead in vain."""
    peak_ahead_bytes: int
    """The most memory that pages ahead were given."""
    seconds_waiting: float
    """Of the reading thread, for bytes or for other threads."""
    seconds_decoding: float
    """Verifying, decompressing and decoding; the sum over all threads."""
    cache_pages: int
    """Of `pages`, those that the cache had."""
    cache_bytes: int
    """Stored, of these."""
    cache_added: int
    """Pages given to the cache."""
    cache_dropped: int
    """Pages that the cache had no room for, or was lost for."""
    cache: str
    """"used", "lost: why" or "bypassed: why"; empty where there is no cache."""


def metrics_of(counted: _core.ReadMetrics) -> ReadMetrics:
    """Take the numbers over from the C++ side."""
    return ReadMetrics(**{each.name: getattr(counted, each.name) for each in fields(ReadMetrics)})
