"""Snapshots into files of ROOT: ROOT finds its own objects there as before, and reads what was added."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import colonnade
from colonnade import DataFrame

WRITE = """
import sys, ROOT
file = ROOT.TFile(sys.argv[1], "RECREATE")
histogram = ROOT.TH1D("h", "", 3, 0, 3)
histogram.Fill(1)
histogram.Write()
file.Close()
"""

READ = """
import sys, ROOT
file = ROOT.TFile(sys.argv[1])
print(file.Get("h").GetEntries(), file.TestBit(ROOT.TFile.kRecovered))
print(*(ROOT.RDataFrame(name, sys.argv[1]).Sum("n").GetValue() for name in ("Few", "d/More")))
"""


def run(script: str, path: Path) -> str:
    command = [sys.executable, "-W", "ignore", "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_other_objects_of_a_file_stay(tmp_path: Path) -> None:
    source, path = tmp_path / "source.root", tmp_path / "f.root"
    with colonnade.create(source, "Events") as writer:
        writer.extend({"n": np.arange(400)})
    run(WRITE, path)
    DataFrame("Events", source).filter("n < 3").snapshot(path, "Few", mode="update")
    DataFrame("Events", source, executor=2).filter("n < 5").snapshot(path, "d/More", append=True)
    assert sorted(colonnade.datasets(path)) == ["Few", "d/More"]
    assert run(READ, path).split() == ["1.0", "False", "3.0", "10.0"]
