"""Made-up samples with the schema and the distributions of well-known open data sets.

Each generator yields dictionaries of columns, chunk by chunk, and does not depend on files. Events are made in blocks
of `BLOCK`, each with a random generator seeded with (seed, sample, block): the same seed gives the same events for any
chunk size, a shorter sample is the beginning of a longer one, and several processes can each make a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.arrays.lazy import awkward as ak

__all__ = [
    "BLOCK",
    "DIMUON_SCHEMA",
    "GEN_RANDOM_SCHEMA",
    "LHCB_SCHEMA",
    "SAMPLES",
    "Sample",
    "dimuon",
    "gen_random",
    "lhcb",
]

BLOCK = 1 << 16
"""Events that share one random generator."""

Floats = NDArray[np.float64]
Columns = dict[str, Any]

B_MASS = 5279.34
"""Mass of the charged B meson in MeV/c^2."""
KAON_MASS = 493.677
"""Mass of the charged kaon in MeV/c^2."""
PION_MASS = 139.570
"""Mass of the charged pion in MeV/c^2."""
MUON_MASS = 0.1056583755
"""Mass of the muon in GeV/c^2."""


def _lhcb_schema() -> dict[str, str]:
    schema = {"B_FlightDistance": "double", "B_VertexChi2": "double"}
    for track in ("H1", "H2", "H3"):
        schema |= {f"{track}_{name}": "double" for name in ("PX", "PY", "PZ", "ProbK", "ProbPi")}
        schema |= {f"{track}_{name}": "std::int32_t" for name in ("Charge", "isMuon")}
        schema[f"{track}_IPChi2"] = "double"
    return schema


LHCB_SCHEMA: Mapping[str, str] = _lhcb_schema()
"""Columns of the LHCb B2HHH open data: 20 of type double, 6 of type int, 184 bytes per event."""

DIMUON_SCHEMA: Mapping[str, str] = {
    "nMuon": "std::uint32_t",
    "Muon_pt": "std::vector<float>",
    "Muon_eta": "std::vector<float>",
    "Muon_phi": "std::vector<float>",
    "Muon_mass": "std::vector<float>",
    "Muon_charge": "std::vector<std::int32_t>",
}
"""The muons of CMS NanoAOD."""

GEN_RANDOM_SCHEMA: Mapping[str, str] = {"eventId": "std::uint64_t", "particles": "std::vector<float>"}
"""An event number and a list of random numbers, incompressible: for measuring how fast data can be written."""


# ---- Blocks and chunks

_BlockMaker = Callable[[np.random.Generator, int], Columns]


def _join(parts: list[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    return {
        name: np.concatenate([part[name] for part in parts])
        if isinstance(values, np.ndarray)
        else ak.concatenate([part[name] for part in parts])
        for name, values in first.items()
    }


def _chunks(
    make_block: _BlockMaker, sample: int, events: int, *, first: int, chunk_size: int, seed: int
) -> Iterator[Columns]:
    """Cut the blocks that cover [first, first + events) into chunks of `chunk_size` events."""
    if events < 0 or first < 0:
        raise ValueError(f"events ({events}) and first ({first}) must not be negative")
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    end = first + events
    parts: list[Columns] = []
    held = 0
    for block in range(first // BLOCK, -(-end // BLOCK) if events else 0):
        at = block * BLOCK
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, sample, block])))
        columns = make_block(generator, at)
        position, stop = max(first - at, 0), min(end - at, BLOCK)
        while position < stop:
            taken = min(chunk_size - held, stop - position)
            parts.append({name: values[position : position + taken] for name, values in columns.items()})
            position += taken
            held += taken
            if held == chunk_size:
                yield _join(parts)
                parts, held = [], 0
    if parts:
        yield _join(parts)


# ---- Kinematics. Momenta are arrays of shape (3, n): x, y, z.


def _directions(generator: np.random.Generator, count: int) -> Floats:
    """Unit vectors, uniform over the sphere."""
    cosine = generator.uniform(-1.0, 1.0, count)
    phi = generator.uniform(-np.pi, np.pi, count)
    sine = np.sqrt(1.0 - cosine * cosine)
    return np.stack([sine * np.cos(phi), sine * np.sin(phi), cosine])


def _breakup(mass: Floats, first: Floats | float, second: Floats | float) -> Floats:
    """Momentum of the products of a two-body decay, in the frame of the decaying particle; 0 below the threshold."""
    total, difference = first + second, first - second
    squared = (mass * mass - total * total) * (mass * mass - difference * difference)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)) / (2.0 * mass))


def _boost(momentum: Floats, energy: Floats, frame: Floats, frame_mass: Floats) -> tuple[Floats, Floats]:
    """Momentum and energy of particles, from the rest frame of a system with momentum `frame` to the laboratory."""
    frame_energy = np.sqrt(np.sum(frame * frame, axis=0) + frame_mass * frame_mass)
    along = np.sum(momentum * frame, axis=0)
    boosted_energy = (frame_energy * energy + along) / frame_mass
    boosted = momentum + frame * ((along / (frame_energy + frame_mass) + energy) / frame_mass)
    return boosted, boosted_energy


def _decay(
    generator: np.random.Generator,
    frame: Floats,
    mass: Floats,
    first: Floats | float,
    second: Floats | float,
) -> tuple[Floats, Floats]:
    """Momenta of the two products of isotropic two-body decays, in the laboratory."""
    size = _breakup(mass, first, second)
    momentum = size * _directions(generator, mass.size)
    one, _ = _boost(momentum, np.sqrt(size * size + first * first), frame, mass)
    return one, frame - one


def _pair_masses(
    generator: np.random.Generator, parent: Floats, one: Floats, two: Floats, three: Floats
) -> Floats:
    """Mass of the pair (one, two) in three-body decays, distributed according to phase space (flat Dalitz plots)."""
    low, high = one + two, parent - three
    pair = np.empty_like(parent)
    # The density is the product of the two break-up momenta; each factor is largest at the other one's threshold.
    ceiling = _breakup(parent, low, three) * _breakup(high, one, two)
    open_events = np.arange(parent.size)
    while open_events.size:
        trial = low[open_events] + generator.random(open_events.size) * (high - low)[open_events]
        density = _breakup(parent[open_events], trial, three[open_events])
        density *= _breakup(trial, one[open_events], two[open_events])
        accepted = generator.random(open_events.size) * ceiling[open_events] < density
        pair[open_events[accepted]] = trial[accepted]
        open_events = open_events[~accepted]
    return pair


# ---- LHCb: charged B mesons that decay into three charged hadrons

_SIGNAL_SHARE = 0.0022  # B -> K K K
_MISIDENTIFIED_SHARE = 0.004  # B -> K pi pi, with pions taken for kaons
_PARTIAL_SHARE = 0.00055  # B -> K K K and a lost pion: a shoulder below the peak
_PHI_SHARE = 0.12  # of the signal comes from B -> phi K
_MASS_RESOLUTION = 17.0  # MeV/c^2

_KAON, _PION, _MUON = 0, 1, 2
# Shape of the identification variables by species: x = (1 - (1 - u)^(1/b))^(1/a) for uniform u.
_PROB_K_SHAPE = np.array([[3.0, 1.0], [0.5, 4.0], [0.5, 5.0]])
_PROB_PI_SHAPE = np.array([[0.5, 4.0], [3.0, 1.0], [1.0, 1.5]])
_IS_MUON = np.array([0.011, 0.009, 0.95])


def _lhcb_masses(generator: np.random.Generator, kind: NDArray[np.int64]) -> Floats:
    """Mass of the three-particle system in MeV/c^2; kind: 0 background, 1 signal, 2 misidentified, 3 partial."""
    # Combinatorial background: a falling exponential between the limits of the preselection, 5.0 and 6.3 GeV/c^2.
    low, high, slope = 5000.0, 6300.0, 1600.0
    uniform = generator.random(kind.size)
    mass = low - slope * np.log1p(-uniform * -np.expm1((low - high) / slope))
    peak = (kind == 1) | (kind == 2)
    mass[peak] = B_MASS + _MASS_RESOLUTION * generator.standard_normal(np.count_nonzero(peak))
    partial = kind == 3
    lost = generator.exponential(60.0, np.count_nonzero(partial)) + PION_MASS
    mass[partial] = B_MASS - lost + _MASS_RESOLUTION * generator.standard_normal(lost.size)
    return np.asarray(np.maximum(mass, 4500.0))


def _lhcb_species(generator: np.random.Generator, kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """The species of each of the three tracks, shape (3, n)."""
    uniform = generator.random((3, kind.size))
    species = np.where(uniform < 0.16, _KAON, np.where(uniform < 0.985, _PION, _MUON))
    species[:, (kind == 1) | (kind == 3)] = _KAON
    species[:, kind == 2] = np.array([[_KAON], [_PION], [_PION]])
    return species


def _lhcb_momenta(
    generator: np.random.Generator, kind: NDArray[np.int64], mass: Floats
) -> tuple[Floats, Floats]:
    """Momenta of the three tracks, shape (3 tracks, 3, n), and of the B candidate (size only), all in MeV/c."""
    count = kind.size
    transverse = generator.gamma(2.0, 3000.0, count)
    pseudorapidity = generator.uniform(2.2, 4.6, count)
    phi = generator.uniform(-np.pi, np.pi, count)
    parent = transverse * np.stack([np.cos(phi), np.sin(phi), np.sinh(pseudorapidity)])

    # Everything except B -> K pi pi has its mass under the kaon hypothesis, as the analysis computes it.
    heavy = np.full(count, KAON_MASS)
    light = np.where(kind == 2, PION_MASS, KAON_MASS)
    pair = _pair_masses(generator, mass, heavy, light, light)
    resonant = (kind == 1) & (generator.random(count) < _PHI_SHARE)
    phi_mass = 1019.46 + 0.5 * 4.25 * np.clip(generator.standard_cauchy(count), -10.0, 40.0)
    pair = np.where(resonant, phi_mass, pair)
    pair_momentum, third = _decay(generator, parent, mass, pair, light)
    first, second = _decay(generator, pair_momentum, pair, heavy, light)
    return np.stack([first, second, third]), np.asarray(np.sqrt(np.sum(parent * parent, axis=0)))


def _probabilities(generator: np.random.Generator, shapes: Floats, species: NDArray[np.int64]) -> Floats:
    """Identification variables; the detector's software keeps them in single precision."""
    exponents = (1.0 / shapes)[species]
    values = (1.0 - generator.random(species.size) ** exponents[:, 1]) ** exponents[:, 0]
    return values.astype(np.float32).astype(np.float64)


def _lhcb_block(generator: np.random.Generator, _at: int) -> Columns:
    uniform = generator.random(BLOCK)
    shares = np.cumsum([_SIGNAL_SHARE, _MISIDENTIFIED_SHARE, _PARTIAL_SHARE])
    kind = np.searchsorted(shares, uniform, side="right") + 1
    kind[kind == 4] = 0
    mass = _lhcb_masses(generator, kind)
    species = _lhcb_species(generator, kind)
    momenta, total = _lhcb_momenta(generator, kind, mass)

    # Real B mesons fly 0.49 mm times their momentum over mass on average, other combinations seem to fly less far.
    lifetime = np.where(kind > 0, 0.491, 0.25)
    columns: Columns = {
        "B_FlightDistance": 1.0 + lifetime * total / mass * generator.standard_exponential(BLOCK),
        "B_VertexChi2": np.minimum(generator.gamma(1.5, np.where(kind > 0, 2.0, 4.0), BLOCK), 60.0),
    }
    charge = np.where(generator.random(BLOCK) < 0.5, 1, -1)
    odd_one = generator.integers(0, 3, BLOCK)
    order = generator.permuted(np.tile(np.arange(3), (BLOCK, 1)), axis=1).T
    event = np.arange(BLOCK)
    for number in range(3):
        name, track = f"H{number + 1}_", order[number]
        what = species[track, event]
        for axis, letter in enumerate("XYZ"):
            columns[f"{name}P{letter}"] = momenta[track, axis, event]
        columns[f"{name}ProbK"] = _probabilities(generator, _PROB_K_SHAPE, what)
        columns[f"{name}ProbPi"] = _probabilities(generator, _PROB_PI_SHAPE, what)
        columns[f"{name}Charge"] = np.where(odd_one == number, -charge, charge).astype(np.int32)
        columns[f"{name}isMuon"] = (generator.random(BLOCK) < _IS_MUON[what]).astype(np.int32)
        columns[f"{name}IPChi2"] = 4.0 + np.exp(generator.normal(np.where(kind > 0, 4.5, 3.5), 1.4))
    return columns


def lhcb(events: int, *, first: int = 0, chunk_size: int = BLOCK, seed: int = 2011) -> Iterator[Columns]:
    """B mesons that decay into three charged hadrons, after the LHCb open data B2HHH.

    Most events are combinatorial background, some are B+ -> K+ K+ K- decays, generated as sequential two-body decays in
    phase space (including phi(1020) K); B+ -> K+ pi+ pi- and partly reconstructed decays are included, too. With 8.5
    million events about 24 thousand pass the selection of `colonnade.analysis.b_mass`.

    Args:
        events: how many events.
        first: number of the first event, to make a part of a sample.
        chunk_size: events per dictionary; does not change the events.
        seed: of the random generators.

    Yields:
        The columns of `LHCB_SCHEMA` as NumPy arrays. Momenta (PX, PY, PZ) are in MeV/c, B_FlightDistance is in mm,
        Charge in units of the elementary charge; ProbK, ProbPi, the chi-squares and isMuon (0 or 1) have no unit.
    """
    return _chunks(_lhcb_block, 1, events, first=first, chunk_size=chunk_size, seed=seed)


# ---- CMS: events with muons

# Mass, observed width (both GeV/c^2) and share of the resonances; the rest is a falling continuum.
_RESONANCES = np.array(
    [
        [0.7827, 0.012, 0.02],
        [1.0195, 0.014, 0.02],
        [3.0969, 0.035, 0.15],
        [9.4603, 0.09, 0.06],
        [91.19, 2.2, 0.35],
    ]
)


def _pair_kinematics(generator: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Momenta of the two muons of each pair in GeV/c."""
    kind = np.searchsorted(np.cumsum(_RESONANCES[:, 2]), generator.random(count), side="right")
    table = np.vstack([_RESONANCES, [0.0, 0.0, 0.0]])
    resonant = table[kind, 0] + table[kind, 1] * generator.standard_normal(count)
    continuum = 0.3 * np.exp(generator.random(count) * np.log(300.0 / 0.3))
    mass = np.maximum(np.where(kind < len(_RESONANCES), resonant, continuum), 2.1 * MUON_MASS)
    transverse = generator.gamma(1.5, 8.0, count)
    rapidity = generator.uniform(-2.2, 2.2, count)
    phi = generator.uniform(-np.pi, np.pi, count)
    along = np.sqrt(mass * mass + transverse * transverse) * np.sinh(rapidity)
    frame = np.stack([transverse * np.cos(phi), transverse * np.sin(phi), along])
    return _decay(generator, frame, mass, MUON_MASS, MUON_MASS)


def _dimuon_block(generator: np.random.Generator, _at: int) -> Columns:
    counts = generator.choice(6, BLOCK, p=[0.18, 0.2, 0.48, 0.1, 0.03, 0.01])
    starts = np.concatenate([[0], np.cumsum(counts)])
    total = int(starts[-1])
    # All muons are single ones at first; then the first two of each event with at least two become a pair.
    pt = 3.0 + generator.exponential(8.0, total)
    eta = generator.uniform(-2.4, 2.4, total)
    phi = generator.uniform(-np.pi, np.pi, total)
    charge = np.where(generator.random(total) < 0.5, 1, -1).astype(np.int32)

    pairs = starts[:-1][counts >= 2]
    for offset, momentum in enumerate(_pair_kinematics(generator, pairs.size)):
        pt[pairs + offset] = np.hypot(momentum[0], momentum[1])
        eta[pairs + offset] = np.arcsinh(momentum[2] / pt[pairs + offset])
        phi[pairs + offset] = np.arctan2(momentum[1], momentum[0])
    charge[pairs + 1] = -charge[pairs]

    values = {"pt": pt, "eta": eta, "phi": phi, "mass": np.full(total, MUON_MASS)}
    columns: Columns = {"nMuon": counts.astype(np.uint32)}
    for name, content in values.items():
        columns[f"Muon_{name}"] = ak.unflatten(content.astype(np.float32), counts)
    columns["Muon_charge"] = ak.unflatten(charge, counts)
    return columns


def dimuon(events: int, *, first: int = 0, chunk_size: int = BLOCK, seed: int = 2012) -> Iterator[Columns]:
    """Events with muons, named as in CMS NanoAOD; the pairs show the well-known resonances, from the omega to the Z.

    Args:
        events: how many events.
        first: number of the first event, to make a part of a sample.
        chunk_size: events per dictionary; does not change the events.
        seed: of the random generators.

    Yields:
        The columns of `DIMUON_SCHEMA`: nMuon as a NumPy array, the others as Awkward arrays with one list per event.
        Muon_pt is in GeV/c, Muon_mass in GeV/c^2, Muon_phi in radian, Muon_charge in units of the elementary charge.
    """
    return _chunks(_dimuon_block, 2, events, first=first, chunk_size=chunk_size, seed=seed)


# ---- Random numbers


def _random_block(generator: np.random.Generator, at: int) -> Columns:
    counts = generator.poisson(5.0, BLOCK)
    content = generator.random(int(counts.sum()), dtype=np.float32) * np.float32(100.0)
    return {
        "eventId": np.arange(at, at + BLOCK, dtype=np.uint64),
        "particles": ak.unflatten(content, counts),
    }


def gen_random(events: int, *, first: int = 0, chunk_size: int = BLOCK, seed: int = 5) -> Iterator[Columns]:
    """Event numbers and lists of random numbers, on average five per event, uniform between 0 and 100.

    Args:
        events: how many events.
        first: number of the first event, to make a part of a sample.
        chunk_size: events per dictionary; does not change the events.
        seed: of the random generators.

    Yields:
        The columns of `GEN_RANDOM_SCHEMA`: eventId as a NumPy array, particles as an Awkward array. No units.
    """
    return _chunks(_random_block, 3, events, first=first, chunk_size=chunk_size, seed=seed)


# ---- Samples of `colonnade generate`


@dataclass(frozen=True)
class Sample:
    """A sample by name: its description, its data set's name and schema, and its generator."""

    description: str
    dataset: str
    """Name of the data set in a file."""
    schema: Mapping[str, str]
    """Type of each column, as RNTuple spells types."""
    events: int
    """The number of events of the original."""
    generate: Callable[..., Iterator[Columns]]
    """Called as generate(events, first=, chunk_size=, seed=)."""


SAMPLES: Mapping[str, Sample] = {
    "lhcb": Sample(
        "B decays into three hadrons, after LHCb B2HHH", "DecayTree", LHCB_SCHEMA, 8_500_000, lhcb
    ),
    "dimuon": Sample("muons, after CMS NanoAOD", "Events", DIMUON_SCHEMA, 1_600_000, dimuon),
    "gen_random": Sample("random numbers in lists", "random", GEN_RANDOM_SCHEMA, 20_000_000, gen_random),
}
