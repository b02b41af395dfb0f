"""Random analyses with ROOT's spelling, by ROOT and by Colonnade: the same file, the same names, the same results."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
import pytest
import rdf_random
from test_frame_against_root import differences

import colonnade
import colonnade.root

EVENTS = 400


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Small numbers of every type, some at the ends of its range; NaN and infinities."""
    rng = np.random.default_rng(3)
    arrays = {"b": rng.integers(0, 2, EVENTS).astype(bool)}
    for name, kind in {"i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16"}.items():
        info = np.iinfo(kind)
        arrays[name] = rng.integers(info.min, info.max, EVENTS, dtype=kind, endpoint=True)
    for name, kind in {"i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64"}.items():
        small = rng.integers(0 if kind[0] == "u" else -50, 50, EVENTS)
        arrays[name] = np.where(rng.uniform(size=EVENTS) < 0.02, np.iinfo(kind).max // 3, small).astype(kind)
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0, 3.0]
    arrays["f"] = np.where(
        rng.uniform(size=EVENTS) < 0.03, rng.choice(odd, EVENTS), rng.normal(5, 20, EVENTS)
    )
    arrays["f"] = arrays["f"].astype(np.float32)
    arrays["d"] = rng.normal(1, 3, EVENTS)
    for pair, kinds in (("fd", ("float32", "float64")), ("ibu", ("int32", "bool", "uint16"))):
        counts = rng.integers(0, 6, EVENTS)
        for letter, kind in zip(pair, kinds, strict=True):
            items = rng.normal(2, 8, counts.sum())
            items = (
                items
                if letter in "fd"
                else np.abs(items)
                if letter == "u"
                else items.round() * (letter != "b" or 1)
            )
            arrays[f"v{letter}"] = ak.unflatten((items > 2) if letter == "b" else items.astype(kind), counts)
    arrays["s"] = ak.Array([("a", "b", "cc", "")[k] for k in rng.integers(0, 4, EVENTS)])
    counts = rng.integers(0, 4, EVENTS)
    inner = rng.integers(0, 3, counts.sum())
    arrays["vv"] = ak.unflatten(
        ak.unflatten(rng.integers(-9, 9, inner.sum()).astype(np.int16), inner), counts
    )
    arrays["vs"] = ak.unflatten(
        ak.Array([("x", "yy", "")[k] for k in rng.integers(0, 3, counts.sum())]), counts
    )
    path = tmp_path_factory.mktemp("facade") / "events.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend(arrays)
    return str(path)


# Where both are right: decision 47 has no number for the least and the mean of nothing.
OF_NOTHING = ("Min", "Max", "Mean", "StdDev", "Stats", "WeightedStats", "VariedNumber")


def settle_errors(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Take ROOT's errors of a profile's means where they are what rounding leaves of sums of large squares."""
    for k, (content, one, other) in enumerate(
        zip(ours["contents"], theirs["errors"], ours["errors"], strict=True)
    ):
        if {type(content), type(one), type(other)} == {float} and abs(one - other) < 1e-7 * abs(content):
            ours["errors"][k] = one


@pytest.mark.parametrize("seed", range(4))
def test_random_analyses(root, file, seed):
    theirs = root.call("frame_random", seed, file)
    ours = rdf_random.analysis(seed, colonnade.RDataFrame, colonnade.root.RDF.VariationsFor, file)
    assert list(theirs) == list(ours)
    wrong = []
    for name, expected in theirs.items():
        kind = name.split()[1]
        if "of nothing" in name and kind in OF_NOTHING:
            continue
        if kind.startswith("Profile"):
            settle_errors(expected, ours[name])
        if kind.startswith("Histo"):  # weights that are NaN or infinite: ROOT's spread of NaN is 0
            pairs = zip(expected["spread"], ours[name]["spread"], strict=True)
            expected["spread"] = ["nan" if other == "nan" and one == 0 else one for one, other in pairs]
        if kind == "WeightedStats" and expected[2] == -1:  # ROOT's spread where the variance is negative
            expected[2] = 0.0
        if kind == "WeightedStats" and ours[name][1:3] == ["nan", "nan"] and expected[2] == 0:  # of NaN
            expected[2] = "nan"
        found = differences(expected, ours[name], 1e-9)
        if found:
            wrong.append(f"{name}: ROOT and ours differ: {found[:5]}")
    assert not wrong, f"seed {seed}\n" + "\n".join(wrong)
