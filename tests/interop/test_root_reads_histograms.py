"""Histograms that scripts write to a TFile: ROOT reads those that its own RDataFrame makes of the same entries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
if sys.argv[1] == "theirs":
    import ROOT
else:
    from colonnade import root as ROOT
df = ROOT.RDataFrame(1000).Define("x", "rdfentry_ * 0.037").Define("y", "double(rdfentry_ % 7)")
df = df.Define("z", "0.5 * y").Define("w", "0.5 + y")
file = ROOT.TFile(sys.argv[2], "RECREATE")
for h in (
    df.Histo1D(("h", "t;first;second", 20, 0.0, 30.0), "x", "w"),
    df.Histo1D(("flat", "t", 20, 0.0, 30.0), "x"),
    df.Histo2D(("h2", "t;a;b;c", 10, 0.0, 30.0, 5, 1.0, 6.0), "x", "y", "w"),
    df.Histo3D(("h3", "t;a;b;c", 4, 0.0, 30.0, 5, 1.0, 6.0, 3, 0.0, 2.0), "x", "y", "z"),
    df.Profile1D(("p", "t;q;r", 10, 0.0, 30.0), "x", "y", "w"),
    df.Profile1D(("ps", "t;q;r", 10, 0.0, 30.0, "s"), "x", "y"),
):
    h.GetXaxis().SetTitle("of the script")
    h.Write()
folder = file.mkdir("folder")
folder.cd()
df.Histo1D(("inside", "t", 20, 0.0, 30.0), "x").Write()
file.Close()
"""

READ = """
import sys, ROOT
file = ROOT.TFile(sys.argv[1])
for name in ("h", "flat", "h2", "h3", "p", "ps", "folder/inside"):
    h = file.Get(name)
    print(name, h.ClassName(), h.GetTitle(), [axis.GetTitle() for axis in (h.GetXaxis(), h.GetYaxis(), h.GetZaxis())])
    numbers = [h.GetEntries(), h.GetSumOfWeights(), h.GetEffectiveEntries(), h.GetSumw2N()]
    numbers += [f(axis) for axis in range(1, h.GetDimension() + 1) for f in (h.GetMean, h.GetStdDev)]
    numbers += [f(k) for k in range(h.GetNcells()) for f in (h.GetBinContent, h.GetBinError)]
    print(*(f"{number:.10g}" for number in numbers))
"""


def test_root_reads_what_scripts_write(tmp_path: Path) -> None:
    read = {}
    for which in ("theirs", "ours"):
        path = str(tmp_path / f"{which}.root")
        subprocess.run([sys.executable, "-c", SCRIPT, which, path], check=True)
        read[which] = subprocess.run(
            [sys.executable, "-c", READ, path], check=True, capture_output=True, text=True
        ).stdout
    assert read["ours"] == read["theirs"]
    assert read["ours"].count("\n") == 14
