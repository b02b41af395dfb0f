"""Made-up samples with the schema that ROOT's RDataFrame tutorials read, a few thousand events each.

Distributions are wide rather than physical, so that every cut keeps and drops events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import colonnade

EVENTS = 6000


def lists(values: Any, counts: Any) -> Any:
    """Flat values as one list per event."""
    return ak.unflatten(values, counts)


def nano_leptons(random: Any, name: str, mass: float, counts: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Leptons as NanoAOD has them."""
    n = int(counts.sum())
    columns = {
        "pt": random.exponential(20, n) + 4,
        "eta": random.normal(0, 1.4, n),
        "phi": random.uniform(-np.pi, np.pi, n),
        "mass": np.full(n, mass),
        "pfRelIso03_all": random.exponential(0.12, n),
        "pfRelIso04_all": random.exponential(0.12, n),
        "dxy": random.normal(0, 0.01, n),
        "dz": random.normal(0, 0.02, n),
        "dxyErr": random.exponential(0.01, n) + 0.01,
        "dzErr": random.exponential(0.02, n) + 0.01,
    }
    schema = {f"{name}_{key}": "std::vector<float>" for key in columns} | {
        f"{name}_charge": "std::vector<std::int32_t>",
        f"n{name}": "std::uint32_t",
    }
    data = {f"{name}_{key}": lists(values.astype(np.float32), counts) for key, values in columns.items()}
    data[f"{name}_charge"] = lists(random.choice(np.array([-1, 1], np.int32), n), counts)
    data[f"n{name}"] = counts.astype(np.uint32)
    return schema, data


def nano(path: Path) -> Path:
    """Muons and electrons for df102 and df103."""
    random = np.random.default_rng(102)
    schema: dict[str, str] = {}
    data: dict[str, Any] = {}
    for name, mass in (("Muon", 0.10566), ("Electron", 0.000511)):
        more_schema, more = nano_leptons(random, name, mass, random.choice([0, 1, 2, 2, 4, 5], EVENTS))
        schema |= more_schema
        data |= more
    with colonnade.create(path, "Events", schema, cluster_size="100 kB", page_size=4096) as writer:
        writer.extend(data)
    return path


def atlas(path: Path) -> Path:
    """Photons, leptons, jets and weights for df104 to df107, energies in MeV."""
    random = np.random.default_rng(104)
    schema: dict[str, str] = {}
    data: dict[str, Any] = {}
    for name, most in (("photon", 5), ("lep", 7), ("jet", 6)):
        counts = random.integers(0, most, EVENTS)
        n = int(counts.sum())
        pt = random.exponential(40_000, n) + 4000
        columns: dict[str, tuple[str, Any]] = {
            "pt": ("float", pt),
            "eta": ("float", random.normal(0, 1.3, n)),
            "phi": ("float", random.uniform(-np.pi, np.pi, n)),
            "E": ("float", pt * random.uniform(1, 2, n)),
            "ptcone30": ("float", pt * random.exponential(0.05, n)),
            "etcone20": ("float", pt * random.exponential(0.05, n)),
            "isTightID": ("bool", random.random(n) < 0.8),
            "charge": ("std::int32_t", random.choice([-1, 1], n)),
            "type": ("std::uint32_t", random.choice([11, 13], n)),
            "z0": ("float", random.normal(0, 0.3, n)),
            "MV2c10": ("float", random.uniform(-1, 1, n)),
        }
        numpy_types = {
            "float": np.float32,
            "bool": np.bool_,
            "std::int32_t": np.int32,
            "std::uint32_t": np.uint32,
        }
        for key, (kind, values) in columns.items():
            schema[f"{name}_{key}"] = f"std::vector<{kind}>"
            data[f"{name}_{key}"] = lists(values.astype(numpy_types[kind]), counts)
        schema[f"{name}_n"] = "std::uint32_t"
        data[f"{name}_n"] = counts.astype(np.uint32)
    for name in ("trigE", "trigM", "trigP"):
        schema[name], data[name] = "bool", random.random(EVENTS) < 0.7
    for name in (
        "scaleFactor_PHOTON",
        "scaleFactor_ELE",
        "scaleFactor_MUON",
        "scaleFactor_PILEUP",
        "mcWeight",
    ):
        schema[name], data[name] = "float", random.normal(1, 0.2, EVENTS).astype(np.float32)
    schema |= {"met_et": "float", "met_phi": "float"}
    data["met_et"] = random.exponential(40_000, EVENTS).astype(np.float32)
    data["met_phi"] = random.uniform(-np.pi, np.pi, EVENTS).astype(np.float32)
    with colonnade.create(path, "mini", schema, cluster_size="100 kB", page_size=4096) as writer:
        writer.extend(data)
    return path
