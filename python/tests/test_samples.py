"""The generators of samples, and the B-mass analysis on them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import awkward as ak
import numpy as np
import pytest

from colonnade import samples
from colonnade.analysis import b_mass

DTYPES = {"double": "float64", "std::int32_t": "int32", "std::uint32_t": "uint32", "std::uint64_t": "uint64"}


def whole(name: str, events: int, **options):
    (chunk,) = samples.SAMPLES[name].generate(events, chunk_size=events, **options)
    return chunk


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_columns_are_those_of_the_schema(name):
    sample = samples.SAMPLES[name]
    columns = whole(name, 1000)
    assert list(columns) == list(sample.schema)
    for column, type_name in sample.schema.items():
        assert len(columns[column]) == 1000
        if type_name in DTYPES:
            assert columns[column].dtype == DTYPES[type_name]
        else:
            item = type_name.removeprefix("std::vector<").removesuffix(">")
            expected = {"float": "float32", "std::int32_t": "int32"}[item]
            assert str(columns[column].type) == f"1000 * var * {expected}"


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_events_do_not_depend_on_how_they_are_asked_for(name):
    generate = samples.SAMPLES[name].generate
    events = samples.BLOCK + 500
    expected = whole(name, events)
    chunks = list(generate(events, chunk_size=30_001))
    assert [len(next(iter(chunk.values()))) for chunk in chunks] == [30_001, 30_001, events - 60_002]
    part = whole(name, 700, first=samples.BLOCK - 300)
    for column, values in expected.items():
        assert ak.array_equal(ak.concatenate([chunk[column] for chunk in chunks]), values)
        assert ak.array_equal(part[column], values[samples.BLOCK - 300 : samples.BLOCK + 400])


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_blocks_and_seeds_give_different_events(name):
    columns = whole(name, 2 * samples.BLOCK)
    other = whole(name, 1000, seed=77)
    for column, values in columns.items():
        if column in {"eventId", "Muon_mass"}:
            continue
        assert not ak.array_equal(values[:1000], values[samples.BLOCK : samples.BLOCK + 1000])
        assert not ak.array_equal(values[:1000], other[column])


def test_no_events_and_wrong_arguments():
    assert list(samples.lhcb(0)) == []
    with pytest.raises(ValueError, match=r"events \(-1\)"):
        next(samples.lhcb(-1))
    with pytest.raises(ValueError, match="chunk_size must be at least 1, not 0"):
        next(samples.lhcb(10, chunk_size=0))


def test_lhcb_has_the_size_of_the_original():
    columns = whole("lhcb", 1000)
    assert len(columns) == 26
    assert len(b_mass.COLUMNS) == 18
    assert set(b_mass.COLUMNS) <= set(columns)
    assert sum(values.nbytes for values in columns.values()) == 184 * 1000


def test_lhcb_selects_24_thousand_of_8_million_with_a_peak_at_the_b_mass():
    events = 6 * samples.BLOCK
    mass = np.concatenate([b_mass.select(chunk).mass for chunk in samples.lhcb(events)])
    assert len(mass) * 8_500_000 / events == pytest.approx(24_000, rel=0.1)
    near = mass[abs(mass - 5279.34) < 30]
    beside = mass[(mass > 5330) & (mass < 5390)]
    assert len(near) > 5 * len(beside)
    assert np.mean(near) == pytest.approx(5279.34, abs=2.0)


def test_lhcb_charges_are_those_of_a_charged_b():
    columns = whole("lhcb", 10_000)
    total = sum(columns[f"H{track}_Charge"] for track in (1, 2, 3))
    assert set(np.unique(total)) == {-1, 1}


def test_dimuon_pairs_show_the_z():
    columns = whole("dimuon", samples.BLOCK)
    pt, eta, phi = (columns[f"Muon_{name}"] for name in ("pt", "eta", "phi"))
    assert np.array_equal(ak.num(pt).to_numpy(), columns["nMuon"])
    two = columns["nMuon"] == 2
    first, second = ({"pt": pt[two, i], "eta": eta[two, i], "phi": phi[two, i]} for i in (0, 1))
    mass = np.sqrt(
        2 * first["pt"] * second["pt"]
        * (np.cosh(first["eta"] - second["eta"]) - np.cos(first["phi"] - second["phi"]))
    )  # fmt: skip
    mass = ak.to_numpy(mass)
    counts = {centre: np.count_nonzero(abs(mass - centre) < 5) for centre in (75, 91.19, 107)}
    assert counts[91.19] > 10 * max(counts[75], counts[107])
    assert ak.all(ak.sum(columns["Muon_charge"][two], axis=1) == 0)


def test_gen_random_has_five_numbers_per_event():
    columns = whole("gen_random", 100_000)
    assert np.array_equal(columns["eventId"], np.arange(100_000))
    counts = ak.num(columns["particles"]).to_numpy()
    assert counts.mean() == pytest.approx(5, abs=0.05)
    assert counts.var() == pytest.approx(5, abs=0.15)
    assert 0 <= ak.min(columns["particles"]) < ak.max(columns["particles"]) < 100


# ---- The analysis


def candidate() -> dict[str, np.ndarray]:
    """One event: a B at rest that decays into three kaons of equal energy, 120 degrees apart."""
    size = np.sqrt((5279.34 / 3) ** 2 - b_mass.KAON_MASS**2)
    columns = {}
    for number, track in enumerate(("H1", "H2", "H3")):
        angle = 2 * np.pi * number / 3
        values = {"isMuon": 0, "ProbK": 0.9, "ProbPi": 0.1}
        values |= {"PX": size * np.cos(angle), "PY": size * np.sin(angle), "PZ": 0.0}
        columns |= {f"{track}_{name}": np.array([value]) for name, value in values.items()}
    return columns


def test_mass_of_a_known_decay():
    selected, mass = b_mass.select(candidate())
    assert selected.tolist() == [True]
    assert mass == pytest.approx([5279.34], abs=1e-6)


@pytest.mark.parametrize("track", ["H1", "H2", "H3"])
@pytest.mark.parametrize(("name", "value"), [("isMuon", 1), ("ProbK", 0.5), ("ProbPi", 0.5)])
def test_every_cut_rejects(track, name, value):
    columns = candidate() | {f"{track}_{name}": np.array([value])}
    selected, mass = b_mass.select(columns)
    assert selected.tolist() == [False]
    assert mass.size == 0


def test_masses_outside_of_the_window_are_no_candidates():
    columns = candidate()
    columns = {
        name: values * (1.1 if name[3] == "P" and len(name) == 5 else 1) for name, values in columns.items()
    }
    selected, mass = b_mass.select(columns)
    assert selected.tolist() == [False]
    assert mass.size == 0


def test_the_order_of_the_tracks_does_not_matter():
    columns = whole("lhcb", 20_000)
    expected = b_mass.select(columns)
    for one, two in combinations(("H1", "H2", "H3"), 2):
        names = {one: two, two: one}
        swapped = {name: columns[f"{names.get(name[:2], name[:2])}{name[2:]}"] for name in b_mass.COLUMNS}
        selected, mass = b_mass.select(swapped)
        assert np.array_equal(selected, expected.selected)
        assert mass == pytest.approx(expected.mass)


def test_a_missing_column_is_named():
    columns = candidate()
    del columns["H2_ProbPi"]
    with pytest.raises(KeyError, match="H2_ProbPi"):
        b_mass.select(columns)


def test_histogram_and_plot(tmp_path: Path):
    masses = b_mass.histogram()
    for chunk in samples.lhcb(50_000):
        masses.fill(b_mass.select(chunk).mass)
    assert masses.axes[0].size == 500
    assert masses.axes[0].edges[[0, -1]].tolist() == [5050, 5500]
    b_mass.plot(masses, tmp_path / "b_mass.png")
    assert (tmp_path / "b_mass.png").read_bytes().startswith(b"\x89PNG")
