"""Random joins: keys of both sides, columns of every family, and what pandas makes of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pandas as pd
from hypothesis import strategies as st

import colonnade

__all__ = ["Case", "cases", "content", "key_columns", "merged", "write"]

KEY_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def write(
    folder: Path, stem: str, name: str, columns: dict[str, Any], kinds: dict[str, str], cuts: list[int]
) -> list[str]:
    """A chain of files, of which some may be empty, with pages of a few elements."""
    entries = len(next(iter(columns.values())))
    paths = []
    for k, (first, last) in enumerate(itertools.pairwise([0, *sorted(cuts), entries])):
        paths.append(str(folder / f"{stem}{k}.root"))
        with colonnade.create(paths[-1], name, kinds, initial_page_size=64, page_size=64) as writer:
            for at in range(first, last, 13):
                writer.extend({column: values[at : min(at + 13, last)] for column, values in columns.items()})
                writer.commit_cluster()
    return paths


class Case(NamedTuple):
    """Keys of both sides by column, the types of these columns, and where files end."""

    left: list[tuple[int, ...]]
    right: list[tuple[int, ...]]
    left_types: list[str]
    right_types: list[str]
    left_cuts: list[int]
    right_cuts: list[int]


def numbers_of(kind: str, *, common: bool) -> st.SearchStrategy[int]:
    """Mostly few different ones, so that there are matches; and those at the ends of the type."""
    limits = np.iinfo(kind)
    least, most = int(limits.min), int(limits.max)
    edges = [
        value
        for value in (least, least + 1, -1, 0, 127, 2**31, 2**32 - 1, 2**63 - 1, most)
        if least <= value <= most
    ]
    small = st.integers(max(least, -4), min(most, 6))
    return st.one_of(small, small, st.sampled_from(edges)) if common else st.integers(least, most)


@st.composite
def cases(draw: st.DrawFn, *, unique: bool) -> Case:
    """Keys of which many match; `unique`: those of the right side are all different."""
    keys = draw(st.integers(1, 3))
    left_types = [draw(st.sampled_from(KEY_TYPES)) for _ in range(keys)]
    right_types = [draw(st.sampled_from(KEY_TYPES)) for _ in range(keys)]
    common = draw(st.booleans())

    def rows(types: list[str], distinct: bool) -> list[tuple[int, ...]]:
        row = st.tuples(*(numbers_of(kind, common=common) for kind in types))
        return draw(st.lists(row, max_size=70, unique=distinct))

    right = rows(right_types, unique)
    left = rows(left_types, False)
    # So that many match, where the types allow it.
    fitting = [
        key
        for key in right
        if all(
            np.iinfo(kind).min <= part <= np.iinfo(kind).max
            for kind, part in zip(left_types, key, strict=True)
        )
    ]
    if fitting:
        left += draw(st.lists(st.sampled_from(fitting), max_size=60))
        left = draw(st.permutations(left))
    cuts = [draw(st.lists(st.integers(0, len(rows)), max_size=3)) for rows in (left, right)]
    return Case(left, right, left_types, right_types, *cuts)


def content(entries: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns of every family whose values tell the entry."""
    numbers = np.arange(entries)
    lists = ak.Array([[float(i), *([0.5] * (i % 3))] if i % 4 else [] for i in range(entries)] or [[0.0]])[
        :entries
    ]
    nested = ak.Array([[[i] * (k % 3) for k in range(i % 4)] for i in range(entries)] + [[[1]]])[:entries]
    optional = ak.Array([None if i % 5 == 2 else i / 4 for i in range(entries)] + [1.0, None])[:entries]
    columns = {
        "number": numbers / 8,
        "flag": numbers % 3 == 0,
        "text": ak.Array([f"entry {i}" * (i % 3) for i in range(entries)] + ["x"])[:entries],
        "list": lists,
        "nested": nested,
        "maybe": optional,
    }
    kinds = {
        "number": "double",
        "flag": "bool",
        "text": "std::string",
        "list": "std::vector<double>",
        "nested": "std::vector<std::vector<std::int32_t>>",
        "maybe": "std::optional<double>",
    }
    return columns, kinds


def key_columns(
    rows: list[tuple[int, ...]], types: list[str], stem: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns of the parts of keys, and their types."""
    columns = {f"{stem}{k}": np.array([row[k] for row in rows], dtype=kind) for k, kind in enumerate(types)}
    return columns, {f"{stem}{k}": f"std::{kind}_t" for k, kind in enumerate(types)}


def merged(case: Case, how: str) -> list[tuple[int, int]]:
    """The left and the right rows, -1 for none, by pandas. Keys are Python's integers, which know no overflow."""
    names = [f"k{k}" for k in range(len(case.left_types))]

    def frame(rows: list[tuple[int, ...]], number: str) -> pd.DataFrame:
        columns = {name: pd.Series([row[k] for row in rows], dtype=object) for k, name in enumerate(names)}
        return pd.DataFrame({**columns, number: np.arange(len(rows))})

    right = frame(case.right, "right").drop_duplicates(names, keep="first")
    both = frame(case.left, "left").merge(right, on=names, how=how).sort_values("left")
    return [(int(a), -1 if pd.isna(b) else int(b)) for a, b in zip(both["left"], both["right"], strict=True)]
