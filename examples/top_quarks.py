"""A search for top quarks in the manner of the Analysis Grand Challenge: samples, variations, one run on a cluster.

    python top_quarks.py [SCHEDULER]

With the address of a Dask scheduler ("tcp://head:8786") the work is done there, else on two processes. Two regions are
filled for each sample: events with four jets and one b jet (the sum of momenta), and with two b jets (the mass of the
three jets with the largest momentum together), with the energy scale of jets and b tagging varied. All DataFrames are
computed in one run.
"""

import sys

import awkward as ak
import hist
import numpy as np

import colonnade

EVENTS = 10_000
LUMINOSITY = 3378.0
"""In inverse picobarn."""
SAMPLES = {"ttbar": 396.9, "single top": 70.4, "W+jets": 61526.7}
"""Cross sections in picobarn."""


def make_sample(path: str, jets: float, b_share: float, seed: int) -> str:
    """Events with jets and one lepton; momenta in GeV."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(jets, EVENTS)
    total = int(counts.sum())
    columns = {
        "pt": 20 + rng.exponential(40, total),
        "eta": rng.normal(0, 1.2, total),
        "phi": rng.uniform(-np.pi, np.pi, total),
        "mass": rng.exponential(8, total),
        "btag": np.where(rng.random(total) < b_share, rng.beta(8, 2, total), rng.beta(1, 6, total)),
    }
    with colonnade.create(path, "Events") as writer:
        writer.extend(
            {
                **{
                    f"Jet_{name}": ak.unflatten(values.astype(np.float32), counts)
                    for name, values in columns.items()
                },
                "Lepton_pt": rng.exponential(30, EVENTS).astype(np.float32),
                "generator_weight": rng.choice(np.array([1.0, 1.0, 1.0, -0.2]), EVENTS),
            }
        )
    return path


def best_triple(pt, eta, phi, mass, btag):
    """The mass of the three jets, one of them a b jet at least, whose momenta add up to the largest."""
    best, found = -1.0, 0.0
    for i in range(len(pt)):
        for j in range(i + 1, len(pt)):
            for k in range(j + 1, len(pt)):
                if max(btag[i], btag[j], btag[k]) < 0.5:
                    continue
                x = y = z = energy = 0.0
                for n in (i, j, k):
                    px, py, pz = pt[n] * np.cos(phi[n]), pt[n] * np.sin(phi[n]), pt[n] * np.sinh(eta[n])
                    x, y, z = x + px, y + py, z + pz
                    energy += np.sqrt(px * px + py * py + pz * pz + mass[n] * mass[n])
                if x * x + y * y > best:
                    best = x * x + y * y
                    found = np.sqrt(max(energy * energy - best - z * z, 0.0))
    return found


def regions(df: colonnade.DataFrame, cross_section: float) -> dict[str, colonnade.Variations]:
    """Book the histograms of both regions with all variations."""
    scale = cross_section * LUMINOSITY / EVENTS
    df = df.define("weight", f"generator_weight * {scale}")
    df = df.vary("Jet_pt", "{Jet_pt * 0.97f, Jet_pt * 1.03f}", ["down", "up"], "jes")
    df = df.vary("weight", "{weight * 0.96, weight * 1.04}", ["down", "up"], "btag")
    jets = ["pt", "eta", "phi", "mass", "btag"]
    for name in jets:
        df = df.define(f"good_{name}", f"Jet_{name}[Jet_pt > 30 && abs(Jet_eta) < 2.4]")
    df = df.filter("Lepton_pt > 25", name="lepton").filter("good_pt.size() >= 4", name="four jets")
    one = df.filter("Sum(good_btag > 0.5) == 1", name="one b").define("ht", "Sum(good_pt)")
    two = df.filter("Sum(good_btag > 0.5) >= 2", name="two b")
    two = two.define("m", best_triple, [f"good_{name}" for name in jets], per_row=True, returns="double")
    return {
        "4j1b": one.variations_for(one.histo1d(("ht", "HT", 25, 50, 550), "ht", "weight")),
        "4j2b": two.variations_for(two.histo1d(("m", "three jets", 25, 50, 550), "m", "weight")),
    }


def main() -> None:
    """Fill all samples in one run, and print yields with their variations."""
    executor: object = 2
    if len(sys.argv) > 1:
        from dask.distributed import Client

        executor = Client(sys.argv[1])
    shapes = {"ttbar": (5.0, 0.4), "single top": (3.5, 0.3), "W+jets": (2.5, 0.1)}
    booked = {}
    frames = []
    for seed, (name, cross_section) in enumerate(SAMPLES.items()):
        files = [
            make_sample(f"{name.replace(' ', '_')}{k}.root", *shapes[name], 10 * seed + k) for k in range(2)
        ]
        frames.append(colonnade.DataFrame("Events", files, executor=executor))
        booked[name] = regions(frames[-1], cross_section / len(files))
    colonnade.run_graphs(frames)

    for region in ("4j1b", "4j2b"):
        print(region)
        for name, histograms in booked.items():
            found = histograms[region]
            nominal = found["nominal"].sum(flow=True).value
            changes = [
                f"{each} {100 * (found[each].sum(flow=True).value / nominal - 1):+.1f} %"
                for each in found
                if each != "nominal" and nominal
            ]
            print(f"  {name:>10}: {nominal:12.1f} events; {', '.join(changes)}")
    assert isinstance(booked["ttbar"]["4j2b"]["nominal"], hist.Hist)


if __name__ == "__main__":
    main()
