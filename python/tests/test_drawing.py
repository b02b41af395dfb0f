"""Canvases, legends and texts of ROOT's dialect: what is on the figures of matplotlib that they become."""

from __future__ import annotations

import io
import random
import sys

import numpy as np
import pytest

import colonnade
from colonnade import root as ROOT  # noqa: N812
from colonnade.frame.root.drawing import looks
from colonnade.frame.root.drawing.frames import Option
from colonnade.frame.root.drawing.histograms import statistics
from colonnade.frame.root.drawing.latex import readable

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(autouse=True)
def fresh_style():
    yield
    ROOT.gStyle.Reset()


@pytest.fixture
def canvas():
    return ROOT.TCanvas("canvas", "", 800, 600)


@pytest.fixture
def filled():
    h = ROOT.TH1D("h", "title;x;y", 4, 0, 2)
    for x in (0.1, 0.6, 0.7, 1.9, 5):
        h.Fill(x)
    return h


def axes_of(pad):
    """The frame of a pad without pads on it."""
    return pad.figure().axes[0]


def texts_of(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def outlines(axes):
    """The contents and edges of the histograms that are lines."""
    from matplotlib.patches import StepPatch

    steps = [patch for patch in axes.patches if isinstance(patch, StepPatch) and not patch.get_fill()]
    return [patch.get_data() for patch in steps]


def test_a_histogram_is_its_bins(canvas, filled):
    filled.Draw()
    axes = axes_of(canvas)
    ((contents, edges, baseline),) = outlines(axes)
    assert list(contents) == [1, 2, 0, 1]
    assert list(edges) == [0, 0.5, 1, 1.5, 2]
    assert baseline == 0
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 2), (0, 2.1))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    texts = texts_of(canvas.figure())
    assert texts[:3] == ["h", "Entries", "5"]
    assert texts[-1] == "title"
    assert {"Mean", "0.825", "Std Dev"} <= set(texts)


def test_what_changes_later_shows_unless_a_copy_was_drawn(canvas, filled):
    filled.Draw()
    filled.SetBinContent(1, 7)
    assert list(outlines(axes_of(canvas))[0][0]) == [7, 2, 0, 1]
    copied = filled.DrawCopy("HIST")
    filled.SetBinContent(1, 9)
    assert canvas.GetListOfPrimitives() == [copied]
    assert list(outlines(axes_of(canvas))[0][0]) == [7, 2, 0, 1]


def test_what_is_drawn_replaces_what_was_there_unless_it_is_the_same(canvas, filled):
    other = filled.Clone("other")
    filled.Draw()
    other.Draw("HIST SAME")
    assert canvas.GetListOfPrimitives() == [filled, other]
    assert len(outlines(axes_of(canvas))) == 2
    other.Draw()
    assert canvas.GetListOfPrimitives() == [other]
    assert canvas.GetPrimitive("other") is other
    assert canvas.GetPrimitive("h") is None


def test_the_same_as_nothing_is_a_frame(canvas, filled):
    filled.Draw("HIST SAME")
    assert axes_of(canvas).get_xlim() == (0, 2)
    assert "Entries" in texts_of(canvas.figure())
    other = filled.DrawNormalized("SAME", 8)
    assert list(other) == [0, 2, 4, 0, 2, 2]
    with pytest.raises(colonnade.UsageError, match="sum 0"):
        ROOT.TH1D("empty", "", 1, 0, 1).DrawNormalized()


def test_errors_are_drawn_where_they_are_known(canvas, filled):
    from matplotlib.collections import LineCollection

    def bars(option):
        filled.Draw(option)
        collections = axes_of(canvas).collections
        return [each.get_segments() for each in collections if isinstance(each, LineCollection)]

    assert bars("") == []
    filled.Sumw2()
    across, up = bars("")
    assert len(across) == len(up) == 3  # none of an empty bin
    assert up[1][:, 1] == pytest.approx([2 - 2**0.5, 2 + 2**0.5])
    assert across[1][:, 0] == pytest.approx([0.5, 1])
    assert bars("HIST") == []
    assert len(bars("E0")[1]) == 4
    assert len(bars("E X0")) == 1


def test_fills_lines_and_markers_look_as_they_were_set(canvas, filled):
    filled.SetFillColor("kAzure-9")
    filled.SetLineColor((1.0, 0.0, 0.0))
    filled.SetLineStyle(ROOT.kDashed)
    filled.SetLineWidth(3)
    filled.SetMarkerStyle(ROOT.kFullSquare)
    filled.Draw("HIST P")
    axes = axes_of(canvas)
    area, line = axes.patches[:2]
    assert area.get_facecolor() == looks.color(ROOT.kAzure - 9)
    assert line.get_edgecolor() == (1, 0, 0, 1)
    assert line.get_linewidth() == pytest.approx(3 * 0.72)
    assert axes.lines[0].get_marker() == "s"
    assert axes.lines[0].get_xydata().tolist() == [[0.25, 1], [0.75, 2], [1.75, 1]]
    for wrong in ("reddish", "k", "", (1, 2), "#12"):
        with pytest.raises((colonnade.UsageError, TypeError)):
            filled.SetLineColor(wrong)


def test_colors_are_those_of_root():
    as_text = {
        ROOT.kRed: "ff0000",
        ROOT.kRed - 10: "ffcccc",
        ROOT.kGreen + 2: "009900",
        ROOT.kBlue - 5: "666699",
        ROOT.kOrange + 7: "ff6600",
        ROOT.kViolet - 9: "cc99ff",
        ROOT.kGray + 2: "666666",
        ROOT.kP6Blue: "5790fc",
        ROOT.kP10Cyan: "92dadd",
        8: "59d454",
        51: "9200ff",
        99: "ff1800",
        1: "000000",
        99999: "000000",
        ROOT.TColor.GetColor("#123456"): "123456",
    }
    for number, text in as_text.items():
        parts = tuple(int(text[k : k + 2], 16) / 255 for k in (0, 2, 4))
        assert looks.color(number) == (*parts, 1.0), number


def test_pads_are_divided_row_by_row(canvas, filled):
    canvas.Divide(2, 2)
    assert canvas.cd(3) is ROOT.gPad
    filled.Draw()
    pad = canvas.GetPad(3)
    assert (pad.GetXlowNDC(), pad.GetYlowNDC()) == pytest.approx((0.01, 0.01))
    assert (pad.GetWNDC(), pad.GetHNDC()) == pytest.approx((0.48, 0.48))
    assert pad.GetMother() is canvas
    assert (pad.GetAbsWNDC(), pad.GetAbsHNDC(), pad.GetWw(), pad.GetWh()) == pytest.approx(
        (0.48, 0.48, 796, 572)
    )
    (axes,) = canvas.figure().axes
    assert axes.get_position().bounds == pytest.approx((0.058, 0.058, 0.384, 0.384))
    assert canvas.cd() is canvas
    with pytest.raises(colonnade.UsageError, match="no pad 5"):
        canvas.cd(5)
    own = ROOT.TPad("own", "", 0.2, 0.3, 0.7, 0.9)
    own.Draw()
    own.cd()
    assert ROOT.gPad is own
    own.SetMargin(0, 0, 0, 0)
    filled.Draw()
    assert canvas.figure().axes[-1].get_position().bounds == pytest.approx((0.2, 0.3, 0.5, 0.6))


def test_logarithmic_scales(canvas, filled):
    canvas.SetLogy()
    filled.Draw()
    axes = axes_of(canvas)
    assert axes.get_yscale() == "log"
    assert axes.get_ylim() == pytest.approx((0.5, 4 * 0.9 / 0.95))
    assert canvas.GetUymin() == pytest.approx(np.log10(0.5))
    assert canvas.GetLogy() == 1
    assert canvas.GetLogx() == 0


def test_two_axes(canvas):
    h = ROOT.TH2D("h2", "t;x;y;z", 3, 0, 3, 2, 0, 2)
    h.Fill(0.5, 0.5, 4)
    h.Fill(2.5, 1.5, 1)
    h.SetStats(False)
    h.Draw("COLZ")
    figure = canvas.figure()
    mesh = figure.axes[0].collections[0]
    assert mesh.get_array().tolist() == [[4, None, None], [None, None, 1]]
    assert figure.axes[1].get_ylabel() == "z"
    h.Draw("TEXT")
    assert texts_of(canvas.figure())[:2] == ["4", "1"]
    h.Draw("BOX")
    (boxes,) = axes_of(canvas).collections
    assert [np.ptp(path.vertices[:, 0]) for path in boxes.get_paths()] == pytest.approx([1, 0.5])
    for option in ("", "SCAT", "CONT", "CONT3", "COL TEXT"):
        h.Draw(option)
        canvas.figure()
    canvas.SetLogz()
    h.Draw("COLZ")
    assert canvas.figure().axes[0].collections[0].norm.vmin == 1


def test_graphs(canvas):
    graph = ROOT.TGraphErrors(3, [1.0, 2, 3], [4.0, 6, 5], [0.5] * 3, [1.0] * 3)
    graph.SetTitle("graph;time;#Delta x")
    graph.SetMarkerStyle(20)
    graph.Draw("ALP")
    axes = axes_of(canvas)
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert points[0].get_xydata().tolist() == [[1, 4], [2, 6], [3, 5]]
    assert axes.get_xlim() == pytest.approx((0.2, 3.8))
    assert axes.get_ylim() == pytest.approx((2.6, 7.4))
    assert axes.get_xlabel() == "time"
    assert "Delta" in axes.get_ylabel()
    graph.GetXaxis().SetLimits(0, 10)
    graph.GetYaxis().SetRangeUser(-1, 1)
    axes = axes_of(canvas)
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 10), (-1, 1))
    for option in ("A3", "A2", "AF", "AB", "APZ", "APX", "A*"):
        graph.Draw(option)
        canvas.figure()
    several = ROOT.TMultiGraph("m", "both")
    several.Add(graph, "P")
    several.Add(ROOT.TGraph([0.0, 1], [0.0, 10]), "L")
    several.Draw("A")
    assert axes_of(canvas).get_ylim() == pytest.approx((0, 10.5))


def test_graphs_made_by_hand():
    graph = ROOT.TGraph()
    graph.AddPoint(1, 2)
    graph.SetPoint(2, 5, 6)
    assert graph.GetX().tolist() == [1, 0, 5]
    assert graph.GetN() == 3
    with_errors = ROOT.TGraphAsymmErrors(2, np.array([1.0, 2]), [3.0, 4], 0, 0, [0.1, 0.2], [0.3, 0.4])
    assert with_errors.GetErrorXlow(0) == 0
    assert with_errors.GetEYhigh().tolist() == [0.3, 0.4]
    with_errors.SetPointError(1, 1, 2, 3, 4)
    assert [with_errors.GetErrorXhigh(1), with_errors.GetErrorYlow(1)] == [2, 3]
    assert isinstance(with_errors, ROOT.TGraph)
    assert not isinstance(graph, ROOT.TGraphErrors)
    line = ROOT.TGraph([3.0, 1, 2], [30.0, 10, 25])
    assert [line.Eval(x) for x in (0, 1, 1.5, 2.5, 4)] == [-5, 10, 17.5, 27.5, 35]
    assert [ROOT.TGraph().Eval(1), ROOT.TGraph([1.0], [2.0]).Eval(5)] == [0, 2]
    h = ROOT.TH1D("h", "t", 2, 0, 4)
    h.Fill(1, 9)
    assert ROOT.TGraph(h).GetX().tolist() == [1, 3]
    assert ROOT.TGraphErrors(h).GetEXlow().tolist() == [1, 1]
    for arguments in ((2, [1.0]), ([1.0], [1.0, 2]), ("x",), (1, [1.0], [1.0], [1.0])):
        with pytest.raises(colonnade.UsageError):
            ROOT.TGraph(*arguments)


def test_stacks(canvas, filled):
    stack = ROOT.THStack("s", "stack;a;b")
    upper = filled.Clone("upper")
    upper.SetFillColor(ROOT.kBlue)
    stack.Add(filled)
    stack.Add(upper)
    stack.Draw("HIST")
    axes = axes_of(canvas)
    assert [list(each[0]) for each in outlines(axes)] == [[2, 4, 0, 2], [1, 2, 0, 1]]
    assert axes.get_ylim() == (0, 4.2)
    assert list(stack.GetStack().Last()) == [0, 2, 4, 0, 2, 2]
    stack.SetMaximum(10)
    stack.Draw("HIST NOSTACK")
    assert [list(each[0]) for each in outlines(axes_of(canvas))] == [[1, 2, 0, 1]] * 2
    assert axes_of(canvas).get_ylim() == (0, 10)
    legend = canvas.BuildLegend(0.6, 0.6, 0.9, 0.9)
    assert [entry.GetLabel() for entry in legend.GetListOfPrimitives()] == ["title", "title"]
    with pytest.raises(colonnade.UsageError, match="2 bins"):
        stack.Add(ROOT.TH1D("other", "", 2, 0, 2))
    with pytest.raises(colonnade.UsageError, match="the stack has 4 from"):
        stack.Add(ROOT.TH1D("other", "", 4, 0, 3))


def test_results_are_drawn(canvas):
    df = ROOT.RDataFrame(10).Define("x", "0.2 * rdfentry_").Define("y", "x * x")
    h = df.Histo1D(("r", "t", 4, 0, 2), "x")
    h.Draw()
    profile = df.Profile1D(("p", "t", 4, 0, 2), "x", "y")
    profile.Draw("SAME")
    graph = df.Graph("x", "y")
    graph.Draw("P SAME")
    stack = ROOT.THStack("s", "")
    stack.Add(h)
    legend = ROOT.TLegend(0.1, 0.7, 0.3, 0.9)
    legend.AddEntry(h, "entries", "l")
    legend.AddEntry("p", "means", "pe")
    legend.AddEntry(graph, "points", "p")
    legend.Draw()
    figure = canvas.figure()
    assert list(outlines(figure.axes[0])[0][0]) == [3, 2, 3, 2]
    assert {"entries", "means", "points"} <= set(texts_of(figure))


def test_profiles_are_copied(canvas):
    df = ROOT.RDataFrame(10).Define("x", "0.2 * rdfentry_").Define("y", "x * x")
    profile = df.Profile1D(("p", "t;a;b", 4, 0, 2), "x", "y")
    profile.GetYaxis().SetTitleSize(0.1)
    profile.SetLineColor(ROOT.kRed)
    copied = profile.Clone("other")
    profile.SetLineColor(ROOT.kBlue)
    profile.GetYaxis().SetTitleSize(0.2)
    profile.GetXaxis().SetTitle("changed")
    assert (copied.GetName(), copied.GetLineColor(), copied.GetEntries()) == ("other", ROOT.kRed, 10)
    assert copied.GetYaxis().GetTitleSize() == pytest.approx(0.1)
    assert copied.GetXaxis().GetTitle() == "a"
    assert list(copied) == list(profile)
    drawn = copied.DrawCopy("HIST")
    copied.SetLineColor(ROOT.kGreen)
    assert drawn.GetLineColor() == ROOT.kRed


def test_legends_show_what_objects_look_like(canvas, filled):
    filled.SetFillColor(ROOT.kRed)
    line = ROOT.TLine(0, 0, 1, 1)
    line.SetLineColor(ROOT.kGreen)
    filled.Draw()
    legend = ROOT.TLegend(0.2, 0.6, 0.5, 0.8, "header")
    legend.SetNColumns(2)
    legend.AddEntry(filled, "", "f")
    legend.AddEntry(line, "a line", "l")
    legend.AddEntry(None, "text alone", "")
    legend.Draw()
    assert legend.GetNRows() == 3
    figure = canvas.figure()
    found = {text.get_text(): text for axes in figure.axes for text in axes.texts}
    width, height = figure.canvas.get_width_height()
    places = {}
    for name in ("header", "a line", "text alone"):
        x, y = found[name].get_transform().transform(found[name].get_position())
        places[name] = (x / width, y / height)
    assert places["header"][1] == pytest.approx(0.8 - 0.1 / 3)
    assert places["a line"] == pytest.approx((0.35 + 0.25 * 0.15, 0.7))
    assert places["text alone"] == pytest.approx((0.2, 0.6 + 0.1 / 3))
    assert any(each.get_color() == looks.color(ROOT.kGreen) for each in figure.axes[0].lines)
    for arguments in ((0.1, 0.2, 0.3), (0.5, 0.5, 0.2, 0.8), ("a", "b", "c")):
        with pytest.raises(colonnade.UsageError):
            ROOT.TLegend(*arguments)


def test_texts_lie_at_fractions_of_the_pad_or_at_coordinates(canvas, filled):
    canvas.Divide(2, 1)
    canvas.cd(2)
    filled.Draw()
    text = ROOT.TLatex()
    text.SetTextAlign(22)
    inside = text.DrawLatex(1.0, 1.05, "inside")
    text.DrawLatexNDC(0.5, 0.5, "middle")
    plain = ROOT.TText(0.5, 1, "a_b #alpha")
    plain.Draw()
    assert inside.GetTitle() == "inside"
    figure = canvas.figure()
    found = {each.get_text(): each for axes in figure.axes for each in axes.texts}
    for name in ("inside", "middle"):
        x, y = found[name].get_transform().transform(found[name].get_position())
        assert (x, y) == pytest.approx((0.75 * 796, 0.5 * 572)), name
    assert found["inside"].get_ha() == "center"
    assert "a_b #alpha" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text (GeV)", "plain text (GeV)"),
        ("5 $", "5 \\$"),
        ("m_{T}", "m$_{\\mathregular{T}}$"),
        ("#sqrt{s} = 8 TeV", "$\\sqrt{\\mathregular{s}}$ = 8 TeV"),
        ("#alpha^{2}", "$\\mathregular{\\alpha}^{2}$"),
        ("#font[42]{x}", "$\\mathregular{x}$"),
        ("#bf{CMS}", "$\\mathbf{\\mathbf{C}\\mathbf{M}\\mathbf{S}}$"),
        ("#splitline{one}{#mu}", "one\n$\\mathregular{\\mu}$"),
        ("a#", "a$\\#$"),
        ("#left(x#right)", "$\\left(\\mathregular{x}\\right)$"),
    ],
)
def test_formulas(text, expected):
    assert readable(text) == expected


def test_bold_texts_have_parts_that_are_not():
    assert readable("#bf{x}", True) == "$\\mathrm{\\mathrm{x}}$"


@pytest.mark.parametrize(
    "text",
    [
        "m_{#mu#mu} [GeV/c^{2}]",
        "p_{T}^{jet}",
        "B^{0}_{s} #rightarrow J/#psi #phi",
        "#frac{1}{N} #frac{dN}{d#eta}",
        "#bar{t}t, #vec{p}, #hat{x}, #tilde{#chi}^{0}_{1}",
        "#int L dt = 36.1 fb^{-1}",
        "#Delta#phi(l,#it{E}_{T}^{miss})",
        "#it{p}_{T} #geq 25 GeV",
        "#void8 #deg #AA #hbar #ell",
        "#[]{x} #(){y} #{}{z} #||{w}",
        "#color[2]{red} #scale[0.5]{small} #kern[-0.2]{k} #lower[0.1]{l}",
        "#left[a#right], #left{b#right}",
        "100% & more _ #_ ~ 'a' \"b\"",
        "\\sqrt{s}",
    ],
)
def test_formulas_that_scripts_have_are_understood(text):
    from matplotlib.mathtext import MathTextParser

    made = readable(text)
    assert made != text.replace("$", "\\$")
    for line in made.split("\n"):
        MathTextParser("path").parse(line)


@pytest.mark.parametrize("seed", range(2))
def test_any_text_can_be_drawn(seed):
    from matplotlib.mathtext import MathTextParser

    parts = [
        "#mu",
        "_{",
        "^{",
        "}",
        "{",
        "#frac",
        "#sqrt",
        "[",
        "]",
        "a",
        "$",
        "\\",
        "#",
        "#left(",
        "%",
        " ",
        "#it{",
    ]
    chosen = random.Random(seed)
    for _ in range(200):
        text = "".join(chosen.choice(parts) for _ in range(chosen.randint(1, 12)))
        for line in readable(text).split("\n"):
            MathTextParser("path").parse(line)


def test_statistics(filled):
    lines = dict(statistics(filled))
    assert lines == {"h": "", "Entries": "5", "Mean": "0.825", "Std Dev": "0.661"}
    ROOT.gStyle.SetOptStat("eou")
    assert statistics(filled) == [("Entries", "5"), ("Underflow", "0"), ("Overflow", "1")]
    ROOT.gStyle.SetOptStat(1000000)
    assert statistics(filled) == [("Integral", "4")]
    ROOT.gStyle.SetOptStat(0)
    assert statistics(filled) == []


def test_styles(canvas, filled):
    ROOT.gStyle.SetOptTitle(0)
    ROOT.gStyle.SetOptStat(0)
    filled.Draw()
    assert texts_of(canvas.figure()) == []
    ROOT.gROOT.SetStyle("ATLAS")
    assert ROOT.gStyle.GetPadLeftMargin() == 0.16
    assert ROOT.TCanvas("other").GetLeftMargin() == 0.16
    assert ROOT.TH1D("later", "", 1, 0, 1).GetLineWidth() == 2
    ROOT.gStyle.Reset()
    ROOT.gStyle.SetTitleSize(0.06, "XY")
    ROOT.gStyle.SetLabelSize(0.02, "Y")
    assert ROOT.gStyle.GetTitleSize("Y") == 0.06
    assert ROOT.gStyle.GetLabelSize("X") == 0.035
    ROOT.gStyle.SetTextFont(42)
    assert [ROOT.TLatex().GetTextFont(), ROOT.TPaveText(0, 0, 1, 1).GetTextFont()] == [42, 62]
    ROOT.gStyle.SetHistLineWidth(3)
    ROOT.gStyle.SetMarkerStyle(21)
    later = ROOT.TH1D("later", "", 1, 0, 1)
    assert (later.GetLineWidth(), later.GetMarkerStyle(), filled.GetLineWidth()) == (3, 21, 1)
    own = ROOT.TStyle("own", "a style")
    own.SetPadLeftMargin(0.3)
    own.cd()
    assert own is ROOT.gStyle is ROOT.gROOT.GetStyle("Plain")
    assert ROOT.TPad("p", "", 0, 0, 1, 1).GetLeftMargin() == 0.3
    ROOT.TGaxis.SetMaxDigits(3)
    assert ROOT.gStyle.GetAxisMaxDigits() == 3
    for name in ("GetNothing", "Nothing"):
        with pytest.raises(AttributeError, match="gStyle has no"):
            getattr(ROOT.gStyle, name)


@pytest.mark.parametrize("ending", ["png", "pdf", "svg", "eps", "ps", "jpg"])
def test_pictures_are_saved(canvas, filled, tmp_path, ending):
    filled.Draw()
    ROOT.TLatex(0.5, 0.5, "#mu").Draw()
    path = tmp_path / f"picture.{ending}"
    canvas.SaveAs(str(path))
    assert path.stat().st_size > 2000
    if ending in ("png", "jpg"):
        with Image.open(path) as opened:
            assert opened.size == (796, 572)


def test_a_picture_is_replaced_as_a_whole(canvas, filled, tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"before")
    h3 = ROOT.TH3D("h3", "", 1, 0, 1, 1, 0, 1, 1, 0, 1)
    h3.Draw()
    with pytest.raises(colonnade.UnsupportedError, match="3 axes"):
        canvas.SaveAs(str(path))
    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["picture.png"]
    filled.Draw()
    with pytest.raises(colonnade.StorageError, match=r"nowhere"):
        canvas.SaveAs(str(tmp_path / "nowhere" / "picture.png"))
    for name in ("picture", "picture.root", "picture.C", "png"):
        with pytest.raises(colonnade.UnsupportedError, match="cannot be saved"):
            canvas.Print(str(tmp_path / name))


def test_pages_of_a_document(canvas, filled, tmp_path):
    path = str(tmp_path / "pages.pdf")
    filled.Draw()
    canvas.Print(f"{path}[")
    for _ in range(3):
        canvas.Print(path)
    assert list(tmp_path.iterdir()) == []
    canvas.Print(f"{path}]")
    assert (tmp_path / "pages.pdf").read_bytes().count(b"/Type /Page\n") in (0, 3)
    canvas.Print(f"{path}(")
    canvas.Print(f"{path})")
    with pytest.raises(colonnade.UsageError, match="not begun"):
        canvas.Print(f"{path})")
    with pytest.raises(colonnade.UsageError, match="only a PDF"):
        canvas.Print(str(tmp_path / "pages.ps("))


def test_a_notebook_shows_the_picture(canvas, filled):
    filled.Draw()
    assert Image.open(io.BytesIO(canvas._repr_png_())).size == (796, 572)


def test_canvases():
    assert ROOT.TCanvas().GetWw() == 696
    assert ROOT.TCanvas("c", "t", 10, 20, 900, 700).GetWh() == 672
    assert ROOT.gPad.GetName() == "c"
    for arguments in (("c", "t", 5, 5), ("c", "t", 1, 2, 3)):
        with pytest.raises(colonnade.UsageError):
            ROOT.TCanvas(*arguments)
    canvas = ROOT.TCanvas("closed")
    canvas.Close()
    assert ROOT.gPad is None
    h = ROOT.TH1D("h", "", 1, 0, 1)
    h.Draw()
    assert ROOT.gPad.GetListOfPrimitives() == [h]


def test_frames(canvas):
    frame = canvas.DrawFrame(0, -1, 10, 1, "title;x;y")
    frame.GetYaxis().SetTitle("other")
    axes = axes_of(canvas)
    assert (axes.get_xlim(), axes.get_ylim(), axes.get_ylabel()) == ((0, 10), (-1, 1), "other")
    assert outlines(axes) == []
    with pytest.raises(colonnade.UsageError, match="no area"):
        canvas.DrawFrame(1, 0, 1, 1)


def test_what_cannot_be_drawn_says_so(canvas, filled):
    for option in ("LEGO2", "SURF"):
        filled.Draw(option)
        with pytest.raises(colonnade.UnsupportedError, match="cannot be painted"):
            canvas.figure()
    for thing in (canvas, ROOT.TLatex(), ROOT.TLegend(), ROOT.THStack()):
        with pytest.raises(colonnade.UnsupportedError, match="Sideways"):
            thing.Sideways()


def test_words_of_options():
    assert Option("hist same e1").words == {"HIST", "SAME", "E1"}
    assert Option("COLZ").words == {"COLZ", "COL", "Z"}
    assert Option("PE1SAMES").words == {"P", "E1", "SAME"}
    assert Option("NOSTACK HIST").words == {"NOSTACK", "HIST"}
    assert Option("HISTO W").words == {"HIST"}


def test_boxes_arrows_and_other_shapes(canvas, filled):
    filled.Draw()
    arrow = ROOT.TArrow(0.5, 0.5, 1, 1, 0.02, "<|>")
    box = ROOT.TBox(0.2, 0.2, 0.6, 0.8)
    box.SetFillColor(ROOT.kYellow)
    ellipse = ROOT.TEllipse(1, 1, 0.2)
    marker = ROOT.TMarker(1, 1, 20)
    label = ROOT.TPaveLabel(0.5, 1, 1, 1.5, "label")
    paved = ROOT.TPaveText(0.1, 0.1, 0.3, 0.3, "NDC")
    paved.AddText("one").SetTextColor(ROOT.kRed)
    paved.AddText("two")
    for each in (arrow, box, ellipse, marker, label, paved):
        each.Draw()
    ROOT.TLine().DrawLineNDC(0, 0, 1, 1)
    figure = canvas.figure()
    assert {"label", "one", "two"} <= set(texts_of(figure))
    found = {each.get_text(): each for axes in figure.axes for each in axes.texts}
    assert found["one"].get_color() == looks.color(ROOT.kRed)
    assert found["two"].get_color() == looks.color(1)
    assert any(patch.get_facecolor() == looks.color(ROOT.kYellow) for patch in figure.axes[0].patches)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of sums of infinite contents
@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_contents_are_a_picture_is_made(seed):
    chosen = random.Random(seed)
    values = [0, 1, -1, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"), 1e-5, 123456, 0.1]
    options = ["", "HIST", "E", "E0", "E1", "E2", "E3", "P", "L", "LF2", "BAR", "TEXT", "AXIS", "*H", "E1 X0"]
    for number in range(12):
        canvas = ROOT.TCanvas("canvas", "", chosen.choice([20, 300]), chosen.choice([50, 300]))
        for letter in "xyz":
            getattr(canvas, f"SetLog{letter}")(chosen.random() < 0.3)
        canvas.SetMargin(*(0.6 * chosen.random() for _ in range(4)))
        h = ROOT.TH1D("h", "t;#mu_{;x", chosen.choice([1, 2, 20]), chosen.choice([-1, 0, 1e-9]), 1)
        two = ROOT.TH2D("two", "", chosen.choice([1, 5]), 0, 3, chosen.choice([1, 4]), -1, 1)
        for each in (h, two):
            for k in range(each.GetNcells()):
                each.SetBinContent(k, chosen.choice(values))
        h.SetFillColor(chosen.choice([0, 2, 99999, -5]))
        h.SetFillStyle(chosen.choice([0, 1001, 3004, 3654, 4050, 9999]))
        h.SetMarkerStyle(chosen.choice([1, 20, 5, 77, -1]))
        thing = [h, two, ROOT.TGraph(h)][number % 3]
        thing.Draw(
            chosen.choice([options, ["COLZ", "BOX", "SCAT", "TEXT"], ["AP", "ALP", "AB", "A*"]][number % 3])
        )
        canvas.BuildLegend()
        assert canvas._repr_png_().startswith(b"\x89PNG")


def test_without_matplotlib_the_error_says_what_to_install(canvas, filled, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    filled.Draw()
    assert canvas.GetUymax() == 2.1  # limits need none
    with pytest.raises(colonnade.UnsupportedError, match=r"matplotlib.*pip install"):
        canvas.figure()
