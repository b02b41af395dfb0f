"""Histograms of ROOT's dialect that scripts make by hand, their looks, ranges of axes, and files."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

import colonnade
from colonnade import root as ROOT  # noqa: N812


@pytest.fixture
def filled():
    h = ROOT.TH1D("h", "title;x;y", 4, 0, 2)
    for x in (0.1, 0.6, 0.7, 1.9, 5):
        h.Fill(x)
    return h


def test_made_by_hand(filled):
    assert list(filled) == [0, 1, 2, 0, 1, 1]
    assert (filled.GetEntries(), filled.GetMean()) == (5, pytest.approx(0.825))
    assert (filled.GetTitle(), filled.GetXaxis().GetTitle(), filled.GetYaxis().GetTitle()) == (
        "title",
        "x",
        "y",
    )
    two = ROOT.TH2F("two", "", 2, array("d", [0, 1, 4]), 3, 0, 3)
    two.Fill(0.5, 2.5, 0.1)
    assert two.GetBinContent(1, 3) == np.float32(0.1)
    assert two.GetXaxis().IsVariableBinSize()
    assert not two.GetYaxis().IsVariableBinSize()
    assert [isinstance(two, kind) for kind in (ROOT.TH1, ROOT.TH2, ROOT.TH2F)] == [True] * 3
    assert [isinstance(filled, kind) for kind in (ROOT.TH1, ROOT.TH1D, ROOT.TH1F, ROOT.TH2)] == [
        True,
        True,
        False,
        False,
    ]
    assert isinstance(two.ProjectionX(), ROOT.TH1D)
    assert isinstance(two.Rebin2D(1, 3, "new"), ROOT.TH2F)


def test_with_results():
    df = ROOT.RDataFrame(10).Define("x", "0.2 * rdfentry_")
    total = ROOT.TH1D("total", "t", 4, 0, 2)
    total.Add(df.Histo1D(total, "x"))
    total.Add(df.Filter("x < 1").Histo1D(("a", "b", 4, 0, 2), "x").GetPtr(), 2)
    assert list(total) == [0, 9, 6, 3, 2, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("h",),
        ("h", "t", 4),
        ("h", "t", 4, 0),
        ("h", "t", 4, 1, 1),
        ("h", "t", 2, [0, 1]),
        ("h", "t", 0, 0, 1),
        ("h", "t", 2, [0, 2, 1]),
        ("h", "t", 2, 0, 1, 5),
        ("h", "t", 2, "low"),
        (1, "t", 2, 0, 1),
    ],
)
def test_wrong_arguments(arguments):
    with pytest.raises(colonnade.UsageError):
        ROOT.TH1D(*arguments)


def test_ranges_of_axes(filled):
    axis = filled.GetXaxis()
    axis.SetRangeUser(0.5, 1.0)
    assert (axis.GetFirst(), axis.GetLast()) == (2, 2)
    assert (filled.Integral(), filled.GetMean(), filled.GetMaximum()) == (2, 0.75, 2)
    for call in (filled.Rebin, filled.GetCumulative, filled.Clone("other").Rebin):
        with pytest.raises(colonnade.UsageError, match="an axis has a range"):
            call()
    axis.SetRange(0, 0)
    assert (axis.GetFirst(), axis.GetLast(), filled.Integral()) == (1, 4, 4)
    filled.SetAxisRange(0, 0.9)
    assert filled.Integral() == 3
    axis.UnZoom()
    assert filled.Rebin().GetNbinsX() == 2


def test_looks(filled):
    assert (filled.GetLineColor(), filled.GetFillStyle(), filled.GetMarkerSize()) == (602, 1001, 1)
    filled.SetLineColor(ROOT.kRed + 2)
    filled.SetMarkerColor(ROOT.TColor.GetColor("#123456"))
    filled.SetFillColorAlpha(ROOT.kBlue, 0.3)
    filled.SetMaximum(10)
    filled.SetStats(0)
    filled.SetTitleSize(0.25, "XY")
    filled.GetXaxis().CenterTitle(True)
    copy = filled.Clone("copy")
    filled.SetLineColor(1)
    assert (copy.GetLineColor(), copy.GetFillColor(), copy.GetMaximum(), filled.GetLineColor()) == (
        634,
        600,
        10,
        1,
    )
    assert copy.GetMarkerColor() == ROOT.TColor.GetColor(0x12, 0x34, 0x56) == ROOT.TColor.GetColor("#123456")
    assert (copy.GetXaxis().GetTitleSize(), copy.GetXaxis().GetLabelSize()) == (0.25, np.float32(0.035))
    copy.SetTitle("new;z")
    assert (copy.GetFillColor(), copy.GetXaxis().GetTitle(), copy.GetYaxis().GetTitle()) == (600, "z", "y")
    ROOT.gStyle.SetOptStat(0)
    ROOT.gStyle.SetPalette(ROOT.kBird)
    graph = ROOT.RDataFrame(2).Define("x", "1").Graph("x", "x")
    graph.SetMarkerStyle(ROOT.kFullCircle)
    assert (graph.GetMarkerStyle(), graph.GetLineColor()) == (20, 1)
    with pytest.raises(colonnade.UsageError, match="no colour"):
        ROOT.TColor.GetColor("reddish")


def test_files(filled, tmp_path):
    path = str(tmp_path / "h.root")
    single, two = (
        ROOT.TH1F("single", "s", 2, array("d", [0, 1, 4])),
        ROOT.TH2D("two", "t;x;y;z", 2, 0, 2, 3, 0, 3),
    )
    single.Fill(0.5, 0.1)
    two.Fill(1.5, 2.5, 2)
    filled.GetXaxis().SetBinLabel(1, "all")
    filled.SetLineColor(ROOT.kRed)
    filled.SetMinimum(0.5)
    filled.GetXaxis().SetNdivisions(505)
    profile = two.ProfileX()
    with ROOT.TFile(path, "RECREATE"):
        for each in (filled, single, two, profile):
            each.Write()
    file = ROOT.TFile.Open(path)
    for each in (filled, single, two, profile):
        read = file.Get(each.GetName())
        cells = range(each.GetNcells())
        assert [read.GetBinContent(k) for k in cells] == [each.GetBinContent(k) for k in cells]
        assert [read.GetBinError(k) for k in cells] == [each.GetBinError(k) for k in cells]
        assert (read.GetMean(), read.GetStdDev()) == (each.GetMean(), each.GetStdDev())
        assert (read.GetEntries(), read.GetTitle()) == (each.GetEntries(), each.GetTitle())
        assert [read._axis_or_contents(k).GetTitle() for k in range(2)] == [
            each._axis_or_contents(k).GetTitle() for k in range(2)
        ]
    read = file.Get("h")
    assert (read.GetLineColor(), read.GetMinimum(), read.GetXaxis().GetNdivisions()) == (632, 0.5, 505)
    assert (read.GetXaxis().GetBinLabel(1), read.GetXaxis().GetBinLabel(2)) == ("all", "")
    assert isinstance(file.Get("single"), ROOT.TH1F)
    assert file.Get("nothing") is None
    with pytest.raises(colonnade.UsageError, match="no bin 5 to be named"):
        read.GetXaxis().SetBinLabel(5, "more")
