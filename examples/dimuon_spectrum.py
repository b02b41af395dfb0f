"""An analysis as it is written for ROOT: only the first import is another one. It ends with a picture.

The events are made up: pairs of muons from a falling background and from a particle of 91.2 GeV.
"""

import awkward as ak
import numpy as np

import colonnade
from colonnade import root as ROOT  # noqa: N812 (instead of `import ROOT`)

random = np.random.default_rng(1)
count = 20_000
mass = np.where(
    random.random(count) < 0.3, random.normal(91.2, 2.5, count), 20 + random.exponential(30, count)
)
angles = random.uniform(-3.1, 3.1, count)
with colonnade.create("muons.root", "Events", compression="zstd:5") as writer:
    writer.extend(
        {
            "Muon_pt": ak.from_regular(np.stack([mass / 2, mass / 2], axis=1).astype(np.float32)),
            "Muon_eta": ak.from_regular(np.zeros((count, 2), np.float32)),
            "Muon_phi": ak.from_regular(np.stack([angles, angles + np.pi], axis=1).astype(np.float32)),
            "Muon_mass": ak.from_regular(np.full((count, 2), 0.1057, np.float32)),
            "Muon_charge": ak.from_regular(np.tile(np.array([1, -1], np.int32), (count, 1))),
        }
    )

df = ROOT.RDataFrame("Events", "muons.root")
pairs = df.Filter("Muon_charge[0] != Muon_charge[1]", "opposite charges")
pairs = pairs.Define("mass", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)")
h = pairs.Histo1D(("mass", ";m_{#mu#mu} (GeV);N_{Events}", 100, 20, 140), "mass")
peak = pairs.Filter("mass > 80 && mass < 100", "near the peak").Histo1D(("peak", "", 100, 20, 140), "mass")
report = pairs.Report()

ROOT.gStyle.SetOptStat(0)
canvas = ROOT.TCanvas("canvas", "", 800, 700)
canvas.SetLogy()
h.Draw()
peak.SetFillColor(ROOT.kAzure - 9)
peak.Draw("HIST SAME")
legend = ROOT.TLegend(0.6, 0.75, 0.88, 0.88)
legend.SetBorderSize(0)
legend.AddEntry(h.GetPtr(), "all pairs", "l")
legend.AddEntry(peak.GetPtr(), "80 to 100 GeV", "f")
legend.Draw()
label = ROOT.TLatex()
label.SetTextFont(42)
label.SetTextSize(0.04)
label.DrawLatexNDC(0.1, 0.92, "Z #rightarrow #mu^{+}#mu^{-}, made up")
canvas.SaveAs("dimuon_spectrum.png")
report.Print()
assert 90 < peak.GetMean() < 92
