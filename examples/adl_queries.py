"""The eight queries of the analysis description languages' benchmark, on made-up events of the NanoAOD kind.

    python adl_queries.py [FILE...] [--processes N]

Q1 to Q8 ask for missing energy, jets, selections over pairs and triples, and leptons away from jets: see the benchmark
of IRIS-HEP. All of them are booked on one graph and computed in one pass: here, or on processes with the same answer.
"""

import argparse

import awkward as ak
import numpy as np

import colonnade

EVENTS = 20_000


def make_events(path: str, seed: int) -> str:
    """Events with jets, electrons, muons and missing energy; momenta in GeV."""
    rng = np.random.default_rng(seed)

    def particles(name: str, mean: float, mass: float) -> dict[str, ak.Array]:
        counts = rng.poisson(mean, EVENTS)
        total = int(counts.sum())
        content = {
            "pt": 15 + rng.exponential(30, total),
            "eta": rng.normal(0, 1.5, total),
            "phi": rng.uniform(-np.pi, np.pi, total),
            "mass": np.full(total, mass),
        }
        columns = {
            f"{name}_{key}": ak.unflatten(values.astype(np.float32), counts)
            for key, values in content.items()
        }
        charge = rng.choice(np.array([-1, 1], dtype=np.int32), total)
        return {**columns, f"{name}_charge": ak.unflatten(charge, counts)}

    jets = particles("Jet", 3, 8.0)
    jets["Jet_btag"] = ak.values_astype(
        ak.unflatten(rng.random(int(ak.sum(ak.num(jets["Jet_pt"])))), ak.num(jets["Jet_pt"])), np.float32
    )
    events = {
        "MET_pt": rng.exponential(25, EVENTS).astype(np.float32),
        "MET_phi": rng.uniform(-np.pi, np.pi, EVENTS).astype(np.float32),
        **jets,
        **particles("Electron", 0.8, 0.0005),
        **particles("Muon", 0.9, 0.106),
    }
    with colonnade.create(path, "Events") as writer:
        writer.extend(events)
    return path


def queries(df: colonnade.DataFrame) -> dict[str, colonnade.Result]:
    """Book the histograms of all queries."""
    met = ("met", "missing energy", 100, 0.0, 200.0)
    jet = ("jet", "jet momentum", 100, 15.0, 200.0)
    q1 = df.histo1d(met, "MET_pt")
    q2 = df.histo1d(jet, "Jet_pt")
    q3 = df.define("central", "Jet_pt[abs(Jet_eta) < 1]").histo1d(jet, "central")
    q4 = df.filter("Sum(Jet_pt > 40 && abs(Jet_eta) < 1) > 1", name="two jets").histo1d(met, "MET_pt")

    muons = df.filter("Muon_pt.size() >= 2").define("pairs", "Combinations(Muon_pt, 2)")
    for one in ("pt", "eta", "phi", "mass", "charge"):
        muons = muons.define(f"first_{one}", f"Take(Muon_{one}, pairs[0])")
        muons = muons.define(f"second_{one}", f"Take(Muon_{one}, pairs[1])")
    sides = [
        ", ".join(f"{side}_{one}" for one in ("pt", "eta", "phi", "mass")) for side in ("first", "second")
    ]
    pair_mass = f"InvariantMasses({sides[0]}, {sides[1]})"
    muons = muons.define("pair_mass", pair_mass)
    near_z = "Any(pair_mass > 60 && pair_mass < 120 && first_charge != second_charge)"
    q5 = muons.filter(near_z, name="Z").histo1d(met, "MET_pt")

    three = df.filter("Jet_pt.size() >= 3").define("leading", "Reverse(Argsort(Jet_pt))")
    three = three.define("sorted_pt", "Take(Jet_pt, leading)").define("sorted_b", "Take(Jet_btag, leading)")
    q6a = three.define("triple_pt", "sorted_pt[0] + sorted_pt[1] + sorted_pt[2]").histo1d(
        ("triple", "momenta of three jets", 100, 0.0, 400.0), "triple_pt"
    )
    q6b = three.define("best_b", "Max(Take(sorted_b, 3))").histo1d(("b", "b tag", 100, 0.0, 1.0), "best_b")

    # Jets that are away from all leptons, per event by Python code that Numba compiles where it is installed.
    def away(jet_pt, jet_eta, jet_phi, lepton_pt, lepton_eta, lepton_phi):
        total = 0.0
        for j in range(len(jet_pt)):
            if jet_pt[j] <= 30:
                continue
            is_near = False
            for k in range(len(lepton_pt)):
                turn = abs(jet_phi[j] - lepton_phi[k])
                turn = min(turn, 2 * np.pi - turn)
                if lepton_pt[k] > 10 and (jet_eta[j] - lepton_eta[k]) ** 2 + turn**2 < 0.16:
                    is_near = True
            if not is_near:
                total += jet_pt[j]
        return total

    leptons = df
    for one in ("pt", "eta", "phi", "mass", "charge"):
        leptons = leptons.define(f"Lepton_{one}", f"Concatenate(Electron_{one}, Muon_{one})")
    names = [f"{kind}_{one}" for kind in ("Jet", "Lepton") for one in ("pt", "eta", "phi")]
    q7 = (
        leptons.define("ht", away, names, per_row=True, returns="double")
        .filter("ht > 0")
        .histo1d(("ht", "momenta away from leptons", 100, 0.0, 400.0), "ht")
    )

    hardest = leptons.filter("Lepton_pt.size() >= 3").define("best", "ArgMax(Lepton_pt)")
    transverse = "sqrt(2 * Lepton_pt[best] * MET_pt * (1 - cos(Lepton_phi[best] - MET_phi)))"
    q8 = hardest.define("mt", transverse).histo1d(("mt", "transverse mass", 100, 0.0, 250.0), "mt")
    return {"Q1": q1, "Q2": q2, "Q3": q3, "Q4": q4, "Q5": q5, "Q6a": q6a, "Q6b": q6b, "Q7": q7, "Q8": q8}


def main() -> None:
    """Compute the queries here and on processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    files = options.files or [make_events(f"events{k}.root", k) for k in range(3)]

    here = queries(colonnade.DataFrame("Events", files))
    there = queries(colonnade.DataFrame("Events", files, executor=options.processes))
    for name, result in there.items():
        found, expected = result.value.view(flow=True), here[name].value.view(flow=True)
        assert found.tobytes() == expected.tobytes(), name
        print(f"{name:>4}: {result.value.sum(flow=True):9.0f} entries, mean {mean(result.value):8.3f}")


def mean(histogram) -> float:
    """The mean of what is in range."""
    counts = histogram.values()
    return float(np.average(histogram.axes[0].centers, weights=counts)) if counts.sum() else float("nan")


if __name__ == "__main__":
    main()
