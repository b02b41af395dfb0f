"""Luminosity masks: the runs and luminosity blocks that an experiment certifies, as a condition for `filter`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.annotations import checked
from colonnade.errors import FormatError, StorageError
from colonnade.misuse import column_name, path_text

__all__ = ["LuminosityMask", "json_mask"]


class LuminosityMask:
    """A condition on run and luminosity block, called with arrays of both; made by `json_mask`.

    Args:
        ranges: for each run its ranges of blocks, first and last.
        run: the column with the number of the run.
        block: the column with the number of the luminosity block.
    """

    def __init__(self, ranges: Mapping[int, Sequence[tuple[int, int]]], run: str, block: str) -> None:
        listed = sorted((number, first, last) for number, some in ranges.items() for first, last in some)
        table = np.array(listed, dtype=np.int64).reshape(-1, 3)
        self._runs = np.unique(table[:, 0])
        self._starts = np.searchsorted(table[:, 0], self._runs)
        self._ends = np.searchsorted(table[:, 0], self._runs, side="right")
        self._table = table
        self.__name__ = "json_mask"
        self.columns = [run, block]

    def __call__(self, run: Any, block: Any) -> NDArray[np.bool_]:
        """Return which pairs are certified."""
        runs, blocks = np.asarray(run).astype(np.int64), np.asarray(block).astype(np.int64)
        passed = np.zeros(runs.shape, dtype=np.bool_)
        for number in np.unique(runs):
            at = np.searchsorted(self._runs, number)
            if at == len(self._runs) or self._runs[at] != number:
                continue
            here = runs == number
            for _, first, last in self._table[self._starts[at] : self._ends[at]]:
                passed |= here & (blocks >= first) & (blocks <= last)
        return passed


@checked
def json_mask(
    path: str | os.PathLike[str], run: str = "run", block: str = "luminosityBlock"
) -> LuminosityMask:
    """Read a luminosity mask, for `df.filter(colonnade.json_mask("golden.json"))`.

    Args:
        path: a JSON file {"run": [[first block, last block], ...], ...}.
        run: the column with the number of the run.
        block: the column with the number of the luminosity block.

    Raises:
        StorageError: the file cannot be read.
        FormatError: it is not a luminosity mask.
    """
    path = path_text(path)
    try:
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
    except OSError as error:
        raise StorageError(f"the luminosity mask cannot be read: {error.strerror}", uri=path) from error
    except ValueError as error:
        raise FormatError(f"the luminosity mask is not valid JSON: {error}", uri=path) from error
    try:
        ranges = {
            int(number): [(int(first), int(last)) for first, last in some] for number, some in read.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise FormatError(
            "the file is not a luminosity mask", '{"273158": [[1, 1279]], ...}', uri=path
        ) from error
    return LuminosityMask(ranges, column_name(run), column_name(block))
