"""I/O and timing counters of data sets."""

from __future__ import annotations

from dataclasses import dataclass, fields

from colonnade import _core

__all__ = ["ReadMetrics", "metrics_of"]


@dataclass(frozen=True)
class ReadMetrics:
    """I/O and timing counters of a data set since it was opened."""

    requests: int
    """Reads for pages."""
    bytes: int
    """Of these requests."""
    read_over_bytes: int
    """The part of `bytes` that was not needed: gaps that were cheaper to read than to skip, and alignment."""
    pages: int
    """Decompressed and decoded."""
    metadata_bytes: int
    """Header, footer, page lists."""
    prefetched_used: int
    """Pages read ahead that were used."""
    prefetched_unused: int
    """Pages read ahead that were not used."""
    peak_ahead_bytes: int
    """Peak memory of pages read ahead."""
    seconds_waiting: float
    """Of the reading thread, on I/O or other threads."""
    seconds_decoding: float
    """Verifying, decompressing and decoding, summed over threads."""
    cache_pages: int
    """The part of `pages` that came from the cache."""
    cache_bytes: int
    """Stored bytes of these."""
    cache_added: int
    """Pages given to the cache."""
    cache_dropped: int
    """Pages that the cache had no room for, or lost."""
    cache: str
    """"used", "only read: why", "lost: why", "bypassed: why" or "not used: why"; empty without a cache."""


def metrics_of(counted: _core.ReadMetrics) -> ReadMetrics:
    """Convert the counters of the C++ side."""
    return ReadMetrics(**{each.name: getattr(counted, each.name) for each in fields(ReadMetrics)})
