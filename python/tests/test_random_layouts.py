"""Random layouts of Awkward arrays, as slices and selections leave them, are written with the values that they show."""

from __future__ import annotations

import random
from typing import Any

import awkward as ak
import numpy as np
import pytest
from awkward.contents import (
    BitMaskedArray,
    ByteMaskedArray,
    Content,
    IndexedArray,
    IndexedOptionArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
    RegularArray,
    UnionArray,
    UnmaskedArray,
)
from awkward.index import Index8, Index32, Index64, IndexU8
from root_values import same

import colonnade


class Layouts:
    """Makes layouts, with values that nothing refers to before, between and behind those that count."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def of(self, count: int, depth: int) -> Content:
        makers = [self.lists, self.views, self.regular, self.indexed, self.optional, self.bytes_mask]
        makers += [self.bits_mask, self.unmasked, self.record, self.union, self.dimensions, self.categories]
        return self.dice.choice(makers)(count, depth - 1) if depth else self.leaf(count)

    def leaf(self, count: int) -> Content:
        if self.dice.random() < 0.25:
            return ak.to_layout(ak.Array(["é" * self.dice.randint(0, 3) for _ in range(count + 1)]))[:count]
        kind = self.dice.choice(["i1", "i4", "i8", "u2", "f4", "f8", "?"])
        return NumpyArray(np.array(self.numbers(count, 0, 9)).astype(kind))

    def numbers(self, count: int, low: int, high: int) -> list[int]:
        return [self.dice.randint(low, high) for _ in range(count)]

    def lists(self, count: int, depth: int) -> Content:
        offsets = np.cumsum([self.dice.randint(0, 2), *self.numbers(count, 0, 3)])
        index = self.dice.choice([Index32, Index64])(offsets)
        return ListOffsetArray(index, self.of(int(offsets[-1]) + self.dice.randint(0, 3), depth))

    def views(self, count: int, depth: int) -> Content:
        size = self.dice.randint(1, 9)
        starts = self.numbers(count, 0, size)
        stops = [self.dice.randint(start, size) for start in starts]
        return ListArray(Index64(np.array(starts)), Index64(np.array(stops)), self.of(size, depth))

    def regular(self, count: int, depth: int) -> Content:
        size = self.dice.choice([0, 1, 3])
        return RegularArray(self.of(count * size + (size > 1), depth), size, count)

    def indexed(self, count: int, depth: int) -> Content:
        size = self.dice.randint(1, 8)
        index = Index64(np.array(self.numbers(count, 0, size - 1)))
        return IndexedArray.simplified(index, self.of(size, depth))

    def optional(self, count: int, depth: int) -> Content:
        size = self.dice.randint(1, 8)
        index = Index64(np.array(self.numbers(count, -1, size - 1)))
        return IndexedOptionArray.simplified(index, self.of(size, depth))

    def bytes_mask(self, count: int, depth: int) -> Content:
        mask = Index8(np.array(self.numbers(count, 0, 1), np.int8))
        return ByteMaskedArray.simplified(
            mask, self.of(count + 1, depth), valid_when=self.dice.random() < 0.5
        )

    def bits_mask(self, count: int, depth: int) -> Content:
        size = (count + 7) // 8
        mask = IndexU8(np.array(self.numbers(size, 0, 255), np.uint8))
        when, order = (self.dice.random() < 0.5 for _ in range(2))
        return BitMaskedArray.simplified(mask, self.of(8 * size, depth), when, count, order)

    def unmasked(self, count: int, depth: int) -> Content:
        return UnmaskedArray.simplified(self.of(count, depth))

    def record(self, count: int, depth: int) -> Content:
        return RecordArray([self.of(count + k, depth) for k in range(2)], ["p", "q"], count)

    def union(self, count: int, depth: int) -> Content:
        size = self.dice.randint(1, 8)
        contents = [NumpyArray(np.arange(size)), ak.to_layout(ak.Array([["z"]] * size))]
        tags = Index8(np.array(self.numbers(count, 0, 1), np.int8))
        return UnionArray(tags, Index64(np.array(self.numbers(count, 0, size - 1))), contents)

    def dimensions(self, count: int, depth: int) -> Content:
        return NumpyArray(np.arange(6 * count).reshape(count, 3, 2)[:, ::-1])

    def categories(self, count: int, depth: int) -> Content:
        texts = [self.dice.choice(["a", "bb"]) for _ in range(count + 1)]
        return ak.to_layout(ak.str.to_categorical(ak.Array(texts)))[:count]


@pytest.mark.parametrize("seed", range(30))
def test_layouts_come_back(seed: int) -> None:
    layouts = Layouts(seed)
    for _ in range(25):
        count = layouts.dice.choice([1, 2, 5, 13])
        array: Any = ak.Array(layouts.of(count, layouts.dice.choice([1, 2, 3])))
        array = array[layouts.dice.choice([0, 0, count // 2]) :]
        place = "memory+obj:layouts"
        try:
            with colonnade.create(place, "Events") as writer:
                writer.extend({"x": array})
        except colonnade.SchemaError as error:
            if "a missing value cannot be a record" not in str(error):
                raise
            continue
        with colonnade.open(place, "Events") as data:
            assert same(data["x"].to_list(), array.to_list()), array.type
