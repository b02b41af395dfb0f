"""Quantiles in bounded memory: how often each number is there, in bins where there are too many different ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade import _core

__all__ = ["Tally", "quantiles_of"]

_ANY = 1 << 62
"""More than any memory holds."""
_EACH_ONCE = np.empty(0, np.int64)
_SIGN = np.uint64(1 << 63)
_Keys = NDArray[np.uint64]
_Counts = NDArray[np.int64]


class Tally:
    """How often each number is there: one by one up to `most` different ones, else in bins of equal relative width.

    The bins are the finest of which no more than `most` are filled. That depends on the numbers alone, not on their
    order or on how they were spread over tallies that are merged, because a subset never fills more bins than the
    whole. Keys are the bits of a number in the order of the numbers, without the last `shift` bits.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.shift = 0
        self.keys: _Keys = np.empty(0, np.uint64)
        self.counts: _Counts = np.empty(0, np.int64)
        self.waiting: list[_Keys] = []
        self.nan = 0
        self.low, self.high = np.inf, -np.inf

    def add(self, values: Any) -> Tally:
        """Add numbers."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        keys, nan, low, high = _core.tally_keys(array, self.shift)
        self.nan += nan
        self.low, self.high = min(self.low, low), max(self.high, high)
        if keys.size:
            self.waiting.append(keys)
            if self._waits() > self.most:
                self._count()
        return self

    def merged(self, other: Tally) -> Tally:
        """Both together, as a tally of its own."""
        total = Tally(self.most)
        total.shift = max(self.shift, other.shift)
        total.nan = self.nan + other.nan
        total.low, total.high = min(self.low, other.low), max(self.high, other.high)
        for each in (self, other):
            bits = total.shift - each.shift
            if bits == 0 and not len(total.keys):
                # Arrays are never changed in place, so that tallies may share them.
                total.keys, total.counts = each.keys, each.counts
            elif len(each.keys):
                total._join(_without(bits, each.keys), each.counts)
        for each in (self, other):
            total.waiting += [_without(total.shift - each.shift, keys) for keys in each.waiting]
        if total._waits() > total.most:
            total._count()
        return total

    def sorted(self) -> Tally:
        """The same with nothing that waits to be counted."""
        return self.merged(Tally(self.most))._count() if self.waiting else self

    def _waits(self) -> int:
        return sum(map(len, self.waiting))

    def _count(self) -> Tally:
        if self.waiting:
            keys = np.concatenate(self.waiting)
            self.waiting = []
            self._join(_core.tally_sort(keys), _EACH_ONCE)
        return self

    def _join(self, keys: _Keys, counts: _Counts) -> None:
        most = min(self.most, _ANY)
        self.keys, self.counts, coarser = _core.tally_join(self.keys, self.counts, keys, counts, most)
        self.shift += coarser

    def values_at(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """The numbers at these places in the order; within a bin as if its numbers were spread evenly."""
        ends = np.cumsum(self.counts)
        bins = np.searchsorted(ends, ranks, side="right")
        if self.shift == 0:
            return _numbers_of(self.keys[bins])
        shift = np.uint64(self.shift)
        bottom = self._within(_numbers_of(self.keys[bins] << shift), self.low)
        top = self._within(_numbers_of(((self.keys[bins] + np.uint64(1)) << shift) - np.uint64(1)), self.high)
        counts = self.counts[bins]
        share = (ranks - (ends[bins] - counts) + 0.5) / counts
        with np.errstate(invalid="ignore", over="ignore"):
            found = bottom + (top - bottom) * share
        found = np.where(np.isfinite(found), found, bottom)
        # Both ends are known.
        return np.where(ranks == 0, self.low, np.where(ranks == ends[-1] - 1, self.high, found))

    def _within(self, ends: NDArray[np.float64], beyond: float) -> NDArray[np.float64]:
        """Ends of bins within the range of the numbers; the first and the last bin reach beyond the infinities."""
        return np.clip(np.where(np.isnan(ends), beyond, ends), self.low, self.high)


def quantiles_of(tally: Tally, q: float | Sequence[float]) -> Any:
    """The quantiles, interpolated linearly as `numpy.quantile` does; NaN of no values, and where a value is NaN."""
    wanted = np.atleast_1d(np.asarray(q, dtype=np.float64))
    tally = tally.sorted()
    total = int(tally.counts.sum())
    if total == 0 or tally.nan:
        found = np.full(wanted.shape, np.nan)
    else:
        places = wanted * (total - 1)
        below = np.floor(places).astype(np.int64)
        share = places - below
        low, high = tally.values_at(below), tally.values_at(np.minimum(below + 1, total - 1))
        with np.errstate(invalid="ignore", over="ignore"):
            step = high - low
            found = np.where(share < 0.5, low + step * share, high - step * (1 - share))
            is_beyond = np.isinf(step) & np.isfinite(low) & np.isfinite(high)
            found = np.where(is_beyond, low * (1 - share) + high * share, found)
        found = np.where((low == high) | (share == 0), low, found)
    return float(found[0]) if np.ndim(q) == 0 else found


def _without(bits: int, keys: _Keys) -> _Keys:
    return keys >> np.uint64(bits) if bits else keys


def _numbers_of(keys: _Keys) -> NDArray[np.float64]:
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).view(np.float64)
