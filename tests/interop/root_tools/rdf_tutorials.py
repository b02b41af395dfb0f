"""The analyses of ROOT's RDataFrame tutorials, for whichever RDataFrame they are given.

Each takes a class with ROOT's spelling and a file, and returns the histograms and numbers that it computes. What the
tutorials declare as C++ functions stands here as expressions, so that both sides get the same strings.
"""

from __future__ import annotations

from array import array
from typing import Any


def contents(histogram: Any) -> list[list[float]]:
    """The contents and errors of all bins of a 1D histogram, underflow and overflow included."""
    bins = range(histogram.GetNbinsX() + 2)
    return [[histogram.GetBinContent(i) for i in bins], [histogram.GetBinError(i) for i in bins]]


def statistics(histogram: Any) -> dict[str, Any]:
    """What a histogram knows of the values it was filled with."""
    axes = range(1, histogram.GetDimension() + 1)
    found: dict[str, Any] = {
        "entries": histogram.GetEntries(),
        "effective": histogram.GetEffectiveEntries(),
        "sum": histogram.GetSumOfWeights(),
        "axes": [
            [
                histogram.GetMean(k),
                histogram.GetStdDev(k),
                histogram.GetRMS(k),
                histogram.GetMeanError(k),
                histogram.GetStdDevError(k),
            ]
            for k in axes
        ],
    }
    if histogram.GetDimension() == 1:
        sums = array("d", [0] * 4)
        histogram.GetStats(sums)
        found["sums"] = list(sums)
    return found


def df_statistics(RDataFrame: Any, path: str) -> dict[str, Any]:
    """No tutorial: histograms of columns as they are, with fills out of range and weights of both signs."""
    df = RDataFrame("Events", path).Define("w", "Muon_pt * 0.25 - 2").Define("none", "0 * Muon_pt")
    model = ("h", "", 7, 5.5, 40)
    two = (*model, 5, -1.3, 2.1)
    three = (*two, 4, -1, 3)
    histograms = {
        "one": df.Histo1D(model, "Muon_pt"),
        "weighted": df.Histo1D(model, "Muon_pt", "w"),
        "automatic": df.Histo1D("Muon_pt"),
        "automatic and weighted": df.Histo1D("Muon_pt", "w"),
        "two": df.Histo2D(two, "Muon_pt", "Muon_eta"),
        "two, weighted": df.Histo2D(two, "Muon_pt", "Muon_eta", "w"),
        "three": df.Histo3D(three, "Muon_pt", "Muon_eta", "Muon_phi"),
        "three, weighted": df.Histo3D(three, "Muon_pt", "Muon_eta", "Muon_phi", "w"),
        "out of range": df.Histo1D(("h", "", 7, -10, -5), "Muon_pt", "w"),
        "without weight": df.Histo1D(model, "Muon_pt", "none"),
    }
    return {name: statistics(histogram) for name, histogram in histograms.items()}


def df_projections(RDataFrame: Any, path: str) -> dict[str, Any]:
    """No tutorial: sums over axes and over bins, with fills out of range and weights of both signs."""
    df = RDataFrame("Events", path).Define("w", "Muon_pt * 0.25 - 2")
    names = ["Muon_pt", "Muon_eta", "Muon_phi"]
    made = {}
    for kind, weight in (("", []), (" with weights", ["w"])):
        model = ("h", "t;a;b", 3, [4, 5, 3], [5.5, -1.3, -2.0], [40.0, 2.1, 2.0])
        many = df.HistoND(model, [*names, *weight]).GetValue()
        for axes in ((0,), (1,), (2,), (0, 1), (2, 0), (0, 1, 2), (2, 1, 0), (1, "E")):
            made[f"{axes}{kind}"] = many.Projection(*axes)
        two = df.Histo2D((f"h{kind}", "t;a;b", 4, 5.5, 40, 5, -1.3, 2.1), *names[:2], *weight).GetValue()
        for bins in ((), (0, -1), (1, 5), (2, 3), (0, 6), (2, 9), (0, 6, "e"), (3, 3, "e")):
            # ROOT fills a histogram of that name again, if there is one.
            name = f"of {len(made)}"
            made[f"x {bins}{kind}"] = two.ProjectionX(*([f"x {name}", *bins] if bins else []))
            made[f"y {bins}{kind}"] = two.ProjectionY(*([f"y {name}", *bins] if bins else []))
        one = df.Histo1D(("h", "t;a", 12, 5.5, 40), "Muon_pt", *weight).GetValue()
        edges = array("d", [one.GetXaxis().GetBinLowEdge(k) for k in (2, 3, 8, 13)])
        for number in (2, 3, 5, 12):
            made[f"{number} bins{kind}"] = one.Rebin(number, "r")
        made[f"edges{kind}"] = one.Rebin(3, "r", edges)
        made[f"two edges{kind}"] = one.Rebin(2, "r", edges)
        made[f"edges again{kind}"] = made[f"edges{kind}"].Rebin(2, "s")
        one.Rebin(4)
        made[f"itself{kind}"] = one
    return {
        name: {
            **statistics(h),
            "contents": [h.GetBinContent(k) for k in range(h.GetNcells())],
            "errors": [h.GetBinError(k) for k in range(h.GetNcells())],
            "texts": [str(h.GetName()), str(h.GetTitle()), str(h.GetXaxis().GetTitle())],
            "edges": [h.GetXaxis().GetBinLowEdge(k) for k in range(1, h.GetNbinsX() + 2)],
        }
        for name, h in made.items()
    }


def df102(RDataFrame: Any, path: str) -> dict[str, Any]:
    """The di-muon spectrum."""
    df = RDataFrame("Events", path)
    df_2mu = df.Filter("nMuon == 2", "Events with exactly two muons")
    df_os = df_2mu.Filter("Muon_charge[0] != Muon_charge[1]", "Muons with opposite charge")
    df_mass = df_os.Define("Dimuon_mass", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)")
    h = df_mass.Histo1D(("Dimuon_mass", "Dimuon_mass", 3000, 0.25, 300), "Dimuon_mass")
    count, highest = df_mass.Count(), df_mass.Max("Dimuon_mass")
    return {"mass": contents(h), "count": count.GetValue(), "highest": highest.GetValue()}


def select_leptons(df: Any, name: str, isolation: str) -> Any:
    return (
        df.Filter(f"n{name} >= 4", f"At least four {name}s")
        .Filter(f"All(abs({name}_{isolation}) < 0.40)", "Require good isolation")
        .Filter(f"All({name}_pt > 5) && All(abs({name}_eta) < 2.4)", "Good kinematics")
        .Define(f"{name}_ip3d", f"sqrt({name}_dxy*{name}_dxy + {name}_dz*{name}_dz)")
        .Define(
            f"{name}_sip3d", f"{name}_ip3d / sqrt({name}_dxyErr*{name}_dxyErr + {name}_dzErr*{name}_dzErr)"
        )
        .Filter(f"All({name}_sip3d < 4) && All(abs({name}_dxy) < 0.5) && All(abs({name}_dz) < 1.0)", "Track")
        .Filter(f"n{name} == 4 && Sum({name}_charge == 1) == 2 && Sum({name}_charge == -1) == 2", "Two pairs")
    )


def df103(RDataFrame: Any, path: str) -> dict[str, Any]:
    """Higgs bosons to four muons: the pair nearest to the Z, the other pair, and the mass of all four."""
    found: dict[str, Any] = {}
    for name, isolation in (("Muon", "pfRelIso04_all"), ("Electron", "pfRelIso03_all")):
        take = ", ".join(f"Take({name}_{key}, pairs[{{0}}])" for key in ("pt", "eta", "phi", "mass"))
        df = (
            select_leptons(RDataFrame("Events", path), name, isolation)
            .Define("pairs", f"Combinations({name}_pt, 2)")
            .Define("opposite", f"Take({name}_charge, pairs[0]) != Take({name}_charge, pairs[1])")
            .Define("masses", f"InvariantMasses({take.format(0)}, {take.format(1)})")
            .Define("far", "Where(opposite, abs(masses - 91.2f), 1e9f)")
            .Define("best", "ArgMin(far)")
            # Of four leptons the pairs number i and 5 - i have no lepton in common.
            .Define("Z_mass_1", "std::max(masses[best], masses[5 - best])")
            .Define("Z_mass_2", "std::min(masses[best], masses[5 - best])")
            .Filter("Z_mass_1 > 40 && Z_mass_1 < 120", "First Z")
            .Define("H_mass", f"InvariantMass({name}_pt, {name}_eta, {name}_phi, {name}_mass)")
            .Define("weight", "11580.0 * 0.0065 / 299973.0")
        )
        h = df.Histo1D(("h_sig", "", 36, 70, 600), "H_mass", "weight")
        z = df.Histo1D(("z", "", 75, 40, 190), "Z_mass_1", "weight")
        report = df.Report()
        found[name] = {
            "H": contents(h),
            "Z": contents(z),
            "report": [[cut.GetName(), cut.GetAll(), cut.GetPass()] for cut in report],
        }
    return found


def df104(RDataFrame: Any, path: str) -> dict[str, Any]:
    """Higgs bosons to two photons."""
    df = (
        RDataFrame("mini", path)
        .Define("weight", "scaleFactor_PHOTON * scaleFactor_PILEUP * mcWeight")
        .Filter("trigP")
        .Define(
            "goodphotons",
            "photon_isTightID && (photon_pt > 25000) && (abs(photon_eta) < 2.37) && "
            "((abs(photon_eta) < 1.37) || (abs(photon_eta) > 1.52))",
        )
        .Filter("Sum(goodphotons) == 2")
        .Filter("Sum(photon_ptcone30[goodphotons] / photon_pt[goodphotons] < 0.065) == 2")
        .Filter("Sum(photon_etcone20[goodphotons] / photon_pt[goodphotons] < 0.065) == 2")
        .Define(
            "m_yy",
            "InvariantMass(photon_pt[goodphotons], photon_eta[goodphotons], photon_phi[goodphotons], "
            "0 * photon_pt[goodphotons]) / 1000.0",
        )
        .Filter("photon_pt[goodphotons][0] / 1000.0 / m_yy > 0.35")
        .Filter("photon_pt[goodphotons][1] / 1000.0 / m_yy > 0.25")
    )
    h = df.Histo1D(
        ("ggH", "Diphoton invariant mass; m_{#gamma#gamma} [GeV];Events", 30, 5, 160), "m_yy", "weight"
    )
    stats = df.Stats("m_yy", "weight")
    return {
        "m_yy": contents(h),
        "stats": [stats.GetN(), stats.GetMean(), stats.GetRMS(), stats.GetMin(), stats.GetMax()],
    }


def df105(RDataFrame: Any, path: str) -> dict[str, Any]:
    """W bosons: the transverse mass of the one good lepton and the missing momentum."""
    df = (
        RDataFrame("mini", path)
        .Filter("trigE || trigM")
        .Filter("met_et > 30000")
        .Define(
            "good_lep",
            "lep_isTightID && lep_pt > 35000 && lep_ptcone30 / lep_pt < 0.1 && lep_etcone20 / lep_pt < 0.1",
        )
        .Filter("ROOT::VecOps::Sum(good_lep) == 1")
        .Define("idx", "return ROOT::VecOps::ArgMax(good_lep);")
        .Filter(
            "lep_type[idx] == 11 ? abs(lep_eta[idx]) < 2.46 && (abs(lep_eta[idx]) < 1.37 || abs(lep_eta[idx]) > 1.52)"
            " : lep_type[idx] == 13 && abs(lep_eta[idx]) < 2.4"
            " && abs(lep_z0[idx] * std::sin(2 * atan(exp(-lep_eta[idx])))) < 0.5"
        )
        .Define(
            "mt",
            "sqrt(2 * lep_pt[idx] / 1000 * met_et / 1000 * (1 - cos(ROOT::VecOps::DeltaPhi(lep_phi[idx], met_phi))))",
        )
        .Define("weight", "scaleFactor_ELE * scaleFactor_MUON * scaleFactor_PILEUP * mcWeight")
    )
    h = df.Histo1D(("mt", "", 24, 60, 180), "mt", "weight")
    profile = df.Profile1D(("p", "", 10, 30, 130), "mt", "weight")
    return {
        "mt": contents(h),
        "profile": contents(profile),
        "sum": df.Sum("mt").GetValue(),
        "mean": df.Mean("mt").GetValue(),
        "stddev": df.StdDev("mt").GetValue(),
    }


def df106(RDataFrame: Any, path: str) -> dict[str, Any]:
    """Higgs bosons to four leptons, with a systematic variation of the weight."""
    members = ", ".join(f"lep_{key}[good_lep]" for key in ("pt", "eta", "phi", "E"))
    df = (
        RDataFrame("mini", path)
        .Filter("trigE || trigM")
        .Define(
            "good_lep",
            "abs(lep_eta) < 2.5 && lep_pt > 5000 && lep_ptcone30 / lep_pt < 0.3 && lep_etcone20 / lep_pt < 0.3",
        )
        .Filter("Sum(good_lep) == 4")
        .Filter("Sum(lep_charge[good_lep]) == 0")
        .Define("goodlep_sumtypes", "Sum(lep_type[good_lep])")
        .Filter("goodlep_sumtypes == 44 || goodlep_sumtypes == 52 || goodlep_sumtypes == 48")
        .Define("sorted_pt", "Reverse(Sort(lep_pt[good_lep]))")
        .Filter("sorted_pt[0] > 25000 && sorted_pt[1] > 15000 && sorted_pt[2] > 10000")
        .Define("four", f"Construct<ROOT::Math::PtEtaPhiEVector>({members})")
        .Define("m4l", "(four[0] + four[1] + four[2] + four[3]).M() / 1000.f")
        .Define("weight", "scaleFactor_ELE * scaleFactor_MUON * scaleFactor_PILEUP * mcWeight")
        .Vary("weight", "ROOT::RVec<float>{weight * 0.9f, weight * 1.1f}", ["down", "up"])
    )
    h = df.Histo1D(("m4l", "", 24, 80, 400), "m4l", "weight")
    return {"nominal": contents(h), "df": df, "h": h}


def df107(RDataFrame: Any, path: str) -> dict[str, Any]:
    """Single top quarks: one lepton, two jets of which one comes from a b quark, missing momentum."""
    df = (
        RDataFrame("mini", path)
        .Filter("trigE || trigM", "trigger")
        .Filter("met_et > 30000", "missing momentum")
        .Define("good_leps", "lep_isTightID && lep_pt > 30000 && lep_ptcone30 / lep_pt < 0.15")
        .Filter("Sum(good_leps) >= 1", "lepton")
        .Define("good_jets", "jet_pt > 30000 && abs(jet_eta) < 2.5")
        .Filter("Sum(good_jets) == 2", "two jets")
        .Define("n_b", "Sum(jet_MV2c10[good_jets] > 0.6)")
        .Filter("n_b == 1", "b jet")
        .Define("ht", "Sum(jet_pt[good_jets]) + lep_pt[good_leps][0] + met_et")
        .Define("d_eta", "abs(jet_eta[good_jets][0] - jet_eta[good_jets][1])")
        .Define(
            "nearest",
            "Min(DeltaR(jet_eta[good_jets], lep_eta[good_leps][0] + 0 * jet_eta[good_jets],"
            " jet_phi[good_jets], lep_phi[good_leps][0] + 0 * jet_phi[good_jets]))",
        )
        .Filter("ht > 120000", "activity")
    )
    h = df.Histo1D(("ht", "", 40, 0, 500000), "ht")
    two = df.Histo2D(("two", "", 10, 0, 5, 10, 0, 5), "d_eta", "nearest")
    arrays = df.AsNumpy(["ht", "d_eta"])
    return {
        "ht": contents(h),
        "two": [two.GetBinContent(i, j) for i in range(12) for j in range(12)],
        "arrays": {name: [float(x) for x in values] for name, values in arrays.items()},
        "filters": [str(name) for name in df.GetFilterNames()],
    }
