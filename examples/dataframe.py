"""The DataFrame example of the documentation: a selection, a histogram, a cut flow, a callable, a variation."""

import awkward as ak
import numpy as np

import colonnade
from colonnade import col, fn

random = np.random.default_rng(1)
counts = random.integers(0, 4, 10_000)
muons = int(counts.sum())
with colonnade.create("events.root", "Events") as writer:
    writer.extend(
        {
            "weight": random.uniform(0.9, 1.1, 10_000),
            "Muon_pt": ak.unflatten(random.exponential(20, muons).astype(np.float32), counts),
            "Muon_charge": ak.unflatten(random.choice([-1, 1], muons).astype(np.int32), counts),
        }
    )

df = colonnade.DataFrame("Events", "events.root")
pairs = (
    df.filter("Muon_pt.size() == 2", name="two muons")
    .filter("Muon_charge[0] != Muon_charge[1]", name="opposite charge")
    .define("total", fn.Sum(col("Muon_pt")))  # the same as "Sum(Muon_pt)"
    .define("ratio", lambda pt: ak.min(pt, axis=1) / ak.max(pt, axis=1), ["Muon_pt"], returns="float")
)
varied = pairs.vary("total", "{total * 0.98, total * 1.02}", ["down", "up"], "scale")

h = varied.histo1d(("total", "sum of pt", 20, 0, 100), "total", "weight")
variations = df.variations_for(h)
ratio, report = pairs.mean("ratio"), pairs.report()
print(h.value)  # one pass over the entries computes all of it
print("mean ratio:", ratio.value)
report.value.print()
assert df.num_runs == 1
assert set(variations) == {"nominal", "scale:down", "scale:up"}
assert report.value["two muons"].passed == np.count_nonzero(counts == 2)

same = (
    colonnade.RDataFrame("Events", "events.root")
    .Filter("Muon_pt.size() == 2")
    .Define("total", "Sum(Muon_pt)")
)
assert same.Count().GetValue() == report.value["two muons"].passed
assert np.isclose(same.Mean("total").GetValue(), np.mean(same.AsNumpy(["total"])["total"]))
