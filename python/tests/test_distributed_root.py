"""What ROOT's own tests of its distributed RDataFrame look at, in ROOT's spelling, on clusters of two workers.

    ROOT's tests             here
    check_backend            test_the_number_of_partitions_is_the_users, test_a_cluster_without_workers_yet,
                             test_more_partitions_than_entries, test_empty_files, test_the_same_file_several_times,
                             test_errors_come_out_of_workers, test_what_workers_call_first; workers with several
                             threads, which ROOT refuses, are used in test_distributed.py and test_engines.py
    check_cloned_actions     test_arrays_whatever_the_files_and_partitions
    check_definepersample    test_values_of_samples
    check_distribute_cppcode, check_distribute_headers_sharedlibs_files
                             test_callables_take_with_them_what_they_need, test_what_is_distributed_otherwise: there
                             is no C++ that workers compile; functions of libraries are in test_frame_libraries.py
    check_explicit_api       test_clusters_by_their_names
    check_friend_trees, check_friend_trees_alignment
                             test_friends_stay_aligned
    check_fromspec           test_specifications, test_specifications_of_different_trees
    check_histo_write        test_histograms_are_written
    check_inv_mass           test_the_mass_of_two_muons
    check_live_visualize     test_live_visualize
    check_missing_values     test_missing_columns
    check_reducer_merge      test_merged_results, test_arrays, test_snapshots, test_report
    check_rungraphs          test_graphs_that_run_together
    check_variations         test_variations, test_variations_of_nothing

All compare with the same analysis without a cluster, bit by bit.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from shuffled_engine import Shuffled

import colonnade
from colonnade import root as ROOT  # noqa: N812
from colonnade.distributed.engines import Processes
from colonnade.errors import UnsupportedError, UsageError

ENTRIES = 100


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """For all processes that are started: so little data are many tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", "8")
        yield


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    """Two workers of one thread each, as those that ROOT tests with."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"dashboard_address": ":0", "host": "127.0.0.1"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.fixture(params=["dask", "processes", "shuffled"])
def executor(request: pytest.FixtureRequest) -> Any:
    return Shuffled(7) if request.param == "shuffled" else request.getfixturevalue(request.param)


def write(path: Path, name: str = "tree", **columns: Any) -> str:
    sizes: Any = {"page_size": 64, "initial_page_size": 64}
    with colonnade.create(path, name, **sizes) as writer:
        size = len(next(iter(columns.values())))
        for at in range(0, max(size, 1), 20):
            writer.extend({key: values[at : at + 20] for key, values in columns.items()})
            writer.commit_cluster()
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three files of 100 entries."""
    folder = tmp_path_factory.mktemp("root")
    numbers = np.arange(3 * ENTRIES, dtype=np.float64)
    return [
        write(folder / f"f{k}.root", v=numbers[k * ENTRIES : (k + 1) * ENTRIES], b=np.full(ENTRIES, 42 + k))
        for k in range(3)
    ]


# ---- check_backend


def test_the_number_of_partitions_is_the_users(files: list[str]) -> None:
    seen = []

    class Noting(Shuffled):
        def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Any:
            seen.append(len(tasks))
            yield from super().run(plans, tasks, piecemeal)

    for wanted in (1, 3, 6, 15):
        assert (
            ROOT.RDataFrame("tree", files, executor=Noting(0), npartitions=wanted).Count().GetValue() == 300
        )
        assert wanted <= seen[-1] <= 2 * wanted + len(files)


def test_a_cluster_without_workers_yet(dask: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "nthreads", dict)
    monkeypatch.setattr(dask, "scheduler_info", lambda **_: {"workers": {}})
    assert ROOT.RDataFrame("tree", files, executor=dask).Count().GetValue() == 300
    assert ROOT.RDataFrame(10, executor=dask).Count().GetValue() == 10


def test_more_partitions_than_entries(executor: Any) -> None:
    df = ROOT.RDataFrame(1, executor=executor, npartitions=50).Define("u", "123")
    assert df.Histo1D(("name", "title", 1, 100, 130), "u").GetMean() == 123


@pytest.mark.parametrize("npartitions", range(1, 6))
def test_empty_files(executor: Any, files: list[str], tmp_path: Path, npartitions: int) -> None:
    empty = write(tmp_path / "empty.root", v=np.zeros(0), b=np.zeros(0, dtype=np.int64))
    chain = [name for file in files for name in (empty, file)]
    options = {"executor": executor, "npartitions": npartitions}
    assert ROOT.RDataFrame("tree", chain, **options).Count().GetValue() == 300
    nothing = ROOT.RDataFrame("tree", empty, **options).Histo1D(("h", "h", 10, 0, 10), "v")
    assert nothing.GetEntries() == 0  # ROOT raises an error here


def test_the_same_file_several_times(executor: Any, files: list[str]) -> None:
    df = ROOT.RDataFrame("tree", [files[0]] * 3, executor=executor)
    assert df.Count().GetValue() == 300
    assert df.Sum("v").GetValue() == 3 * sum(range(ENTRIES))


def test_errors_come_out_of_workers(executor: Any) -> None:
    def refuse(entry: Any) -> Any:
        if entry > 50:
            raise ArithmeticError("no such number")
        return 1.0

    with pytest.raises(ArithmeticError, match="no such number"):
        ROOT.RDataFrame(100, executor=executor).Define("x", refuse, ["rdfentry_"]).Sum("x").GetValue()


def test_scalars_and_lists_in_one_graph(executor: Any) -> None:
    """ROOT raises an error here."""
    df = (
        ROOT.RDataFrame(100, executor=executor)
        .Define("x", "rdfentry_")
        .Define("y", "ROOT::RVecF{1., 2., 3.}")
    )
    graph = df.Graph("x", "y").GetValue()
    assert graph.GetN() == 300
    assert list(graph.GetX())[:4] == [0, 0, 0, 1]


def test_what_workers_call_first(executor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colonnade.frame.root.facade, "_setup", "")

    def prepare(value: int, *, times: int) -> None:
        os.environ["COLONNADE_TEST_PREPARED"] = str(
            times * (value + int(os.environ.get("COLONNADE_TEST_PREPARED", "0")))
        )

    def prepared(entry: Any) -> float:
        return float(os.environ["COLONNADE_TEST_PREPARED"])

    ROOT.RDF.Distributed.initialize(prepare, 41, times=3)
    for _ in range(2):  # once in each process
        df = ROOT.RDataFrame(1000, executor=executor, npartitions=20)
        known = df.Define("u", prepared, ["rdfentry_"])
        assert known.Histo1D(("h", "", 1, 100, 130), "u").GetMean() == 123
    plan = df.AsDataFrame().freeze(total := df.Count()._result)
    with pytest.raises(UsageError, match="carries code"):
        plan.graph(allow_code=False)
    assert not total.is_ready
    os.environ.pop("COLONNADE_TEST_PREPARED", None)

    def fail() -> None:
        raise OSError("no such service")

    ROOT.RDF.Distributed.initialize(fail)
    with pytest.raises(OSError, match="no such service"):
        ROOT.RDataFrame(10, executor=executor).Count().GetValue()
    with pytest.raises(UnsupportedError, match="cannot be sent"):
        ROOT.RDF.Distributed.initialize(print, threading.Lock())


# ---- check_cloned_actions


@pytest.mark.parametrize("number", [1, 3, 7])
@pytest.mark.parametrize("npartitions", [1, 2, 3, 7, 8, 15, 16, 21])
def test_arrays_whatever_the_files_and_partitions(files: list[str], number: int, npartitions: int) -> None:
    chain = [files[0]] * number
    found = ROOT.RDataFrame("tree", chain, executor=Shuffled(number), npartitions=npartitions).AsNumpy(["v"])
    assert found["v"].tolist() == list(range(ENTRIES)) * number  # in entry order, which ROOT does not promise


# ---- check_definepersample, check_distribute_cppcode


def test_values_of_samples(executor: Any, files: list[str]) -> None:
    def number(_: int, sample: Any) -> float:
        return float([sample.Contains(file) for file in files].index(True) + 1)

    df = ROOT.RDataFrame("tree", files, executor=executor).DefinePerSample("id", number)
    again = df.RedefinePerSample("id", lambda slot, sample: 11 * number(slot, sample))
    counts = [df.Filter(f"id == {k}").Count() for k in (1, 2, 3)]
    counts += [again.Filter(f"id == {k}").Count() for k in (11, 22, 33)]
    assert [count.GetValue() for count in counts] == [ENTRIES] * 6


def test_callables_take_with_them_what_they_need(executor: Any) -> None:
    factor = 123

    def helper(x: Any) -> Any:
        return x * factor

    def value(entry: Any) -> Any:
        return helper(entry) + 1

    df = ROOT.RDataFrame(10, executor=executor).Define("u", value, ["rdfentry_"])
    assert df.Sum("u").GetValue() == 45 * 123 + 10


def test_what_is_distributed_otherwise() -> None:
    for name, instead in {
        "DistributeSharedLibs": "library",
        "DistributeFiles": "upload_file",
    }.items():
        with pytest.raises(UnsupportedError, match=instead):
            getattr(ROOT.RDF.Distributed, name)


def test_values_of_samples_by_texts(executor: Any, files: list[str]) -> None:
    texts = [f'rdfsampleinfo_.Contains("{file}") ? {k} : ' for k, file in enumerate(files, 1)]
    df = ROOT.RDataFrame("tree", files, executor=executor).DefinePerSample("id", "".join(texts) + "0")
    again = df.RedefinePerSample("id", "".join(texts) + "0")
    counts = [each.Filter(f"id == {k}").Count() for each in (df, again) for k in (1, 2, 3)]
    assert [count.GetValue() for count in counts] == [ENTRIES] * 6


# ---- check_explicit_api


def test_clusters_by_their_names(dask: Any) -> None:
    for place in (ROOT.RDF.Distributed, ROOT.RDF.Experimental.Distributed):
        for options in ({"daskclient": dask}, {"executor": dask}):
            df = place.Dask.RDataFrame(10, npartitions=2, **options).Define("x", "1")
            histogram = df.Vary("x", "ROOT::RVecI{-2,2}", ["down", "up"]).Histo1D(
                ("n", "t", 10, -10, 10), "x"
            )
            varied = place.VariationsFor(histogram)
            means = [varied[name].GetMean() for name in ("nominal", "x:up", "x:down")]
            assert means == [1, 2, -2]
    for kind in (ROOT.RDF.Distributed.Dask, ROOT.RDF.Distributed.Spark):
        with pytest.raises(UsageError, match="executor"):
            kind.RDataFrame(10)


# ---- check_friend_trees, check_friend_trees_alignment


@pytest.mark.parametrize("npartitions", range(1, 11))
def test_friends_stay_aligned(executor: Any, tmp_path: Path, npartitions: int) -> None:
    main = [write(tmp_path / f"m{k}.root", x=np.arange(10 * k, 10 * k + 10)) for k in range(3)]
    friend = [write(tmp_path / f"f{k}.root", x=np.arange(30 + 15 * k, 45 + 15 * k)) for k in range(2)]
    options = {"executor": executor, "npartitions": npartitions}
    df = colonnade.DataFrame("tree", main, friends={"friend": ("tree", friend)}, **options)
    assert df.sum("x").value == sum(range(30))
    assert df.sum("friend.x").value == sum(range(30, 60))


# ---- check_fromspec


def test_specifications(executor: Any, files: list[str], tmp_path: Path) -> None:
    samples = {
        name: {"trees": ["tree"], "files": [file], "metadata": {"lum": lum}}
        for name, file, lum in zip("abc", files, (100.0, 200.0, 200.0), strict=True)
    }
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"samples": samples}))
    df = ROOT.RDF.Experimental.FromSpec(str(path), executor=executor)
    df = df.DefinePerSample("lum", lambda _, sample: sample.GetD("lum"))
    assert df.Filter("lum == 100.").Count().GetValue() == ENTRIES
    assert df.Filter("lum == 200.").Count().GetValue() == 2 * ENTRIES


def test_specifications_of_different_trees(executor: Any, tmp_path: Path) -> None:
    samples = {}
    for lum, (name, column) in zip((100.0, 200.0), {"Events": "nElectron", "tree": "x"}.items(), strict=True):
        path = tmp_path / f"{name}.root"
        with uproot.recreate(path) as file:
            file.mktree(name, {column: np.arange(ENTRIES), "y": np.arange(ENTRIES)})
        samples[name] = {"trees": [name], "files": [str(path)], "metadata": {"lum": lum}}
    (tmp_path / "spec.json").write_text(json.dumps({"samples": samples}))
    df = ROOT.RDF.Experimental.FromSpec(str(tmp_path / "spec.json"), executor=executor)
    assert df.FilterAvailable("nElectron").Filter("nElectron > 2").Count().GetValue() == ENTRIES - 3
    assert df.Sum("y").GetValue() == 2 * sum(range(ENTRIES))
    df = df.DefinePerSample("lum", 'rdfsampleinfo_.GetD("lum")')
    assert df.Filter("lum == 100.").Count().GetValue() == ENTRIES


# ---- check_histo_write


def test_histograms_are_written(executor: Any, files: list[str], tmp_path: Path) -> None:
    histogram = ROOT.RDataFrame("tree", files, executor=executor).Histo1D(("h", "h", 10, 0.0, 300.0), "v")
    with uproot.recreate(tmp_path / "h.root") as file:
        file["h"] = histogram.GetValue().to_hist()
    with uproot.open(tmp_path / "h.root") as file:
        assert file["h"].values().tolist() == [30.0] * 10


# ---- check_inv_mass


def test_the_mass_of_two_muons(executor: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 5, 500)
    lists = {
        name: ak.unflatten(make(counts.sum()).astype(np.float32), counts)
        for name, make in {
            "Muon_pt": lambda size: rng.exponential(30, size),
            "Muon_eta": lambda size: rng.normal(0, 2, size),
            "Muon_phi": lambda size: rng.uniform(-3, 3, size),
            "Muon_mass": lambda size: np.full(size, 0.106),
        }.items()
    }
    charges = ak.unflatten(rng.choice([-1, 1], counts.sum()).astype(np.int32), counts)
    file = write(tmp_path / "muons.root", nMuon=counts.astype(np.uint32), Muon_charge=charges, **lists)

    def spectrum(**options: Any) -> Any:
        df = (
            ROOT.RDataFrame("tree", file, **options)
            .Filter("nMuon == 2")
            .Filter("Muon_charge[0] != Muon_charge[1]")
        )
        df = df.Define("m", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)")
        return df.Histo1D(("m", "m", 300, 0.25, 300.0), "m").GetValue()

    local, remote = spectrum(), spectrum(executor=executor)
    assert local.GetEntries() > 20
    assert remote.to_hist() == local.to_hist()
    assert (remote.GetMean(), remote.GetStdDev()) == (local.GetMean(), local.GetStdDev())


# ---- check_live_visualize


def test_live_visualize(executor: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colonnade.distributed.driver, "_SHOWN_EVERY", 0.0)
    df = ROOT.RDataFrame("tree", files, executor=executor, npartitions=8)
    points: list[int] = []

    def note(graph: Any, into: list[int]) -> None:
        into.append(graph.GetN())

    graph = df.Graph("v", "b")
    ROOT.RDF.Distributed.LiveVisualize({graph: partial(note, into=points)})
    assert graph.GetN() == 300
    assert points == sorted(points)
    assert points[-1] <= 300
    with pytest.raises(UsageError, match="NoneType"):
        ROOT.RDF.Distributed.LiveVisualize([None], note)
    other = df.Graph("v", "b")
    with pytest.raises(TypeError, match="iterable"):
        ROOT.RDF.Distributed.LiveVisualize(other)
    for wrong in (17, note):  # nothing that is called; one that wants two values
        with pytest.raises(UsageError, match="cannot be called"):
            ROOT.RDF.Distributed.LiveVisualize({other: wrong})
    with pytest.warns(UserWarning, match="already computed"):
        ROOT.RDF.Distributed.LiveVisualize([graph], print)


def test_annotations_of_callbacks_may_have_names_that_only_type_checkers_know(
    executor: Any, files: list[str]
) -> None:
    unknown = "unknown.Graph" if sys.version_info >= (3, 14) else "'unknown.Graph'"
    made: dict[str, Any] = {"points": []}
    source = f"def note(graph: {unknown}) -> {unknown}: points.append(graph.GetN())"
    exec(compile(source, "made.py", "exec", dont_inherit=True), made)
    graph = ROOT.RDataFrame("tree", files, executor=executor, npartitions=8).Graph("v", "b")
    ROOT.RDF.Distributed.LiveVisualize({graph: made["note"]})
    assert graph.GetN() == 300


def test_any_results_of_any_data_frames_are_shown(executor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ROOT refuses all but histograms, profiles and graphs of one RDataFrame."""
    monkeypatch.setattr(colonnade.distributed.driver, "_SHOWN_EVERY", 0.0)
    frames = [ROOT.RDataFrame(size, executor=executor, npartitions=6) for size in (100, 50)]
    counts = [frame.Count() for frame in frames]
    seen: dict[int, list[int]] = {0: [], 1: []}
    ROOT.RDF.Distributed.LiveVisualize({count: seen[k].append for k, count in enumerate(counts)})
    ROOT.RDF.RunGraphs(counts)
    assert [count.GetValue() for count in counts] == [100, 50]
    assert seen[0]
    assert all(each == sorted(each) for each in seen.values())


# ---- check_missing_values


def test_missing_columns(executor: Any, files: list[str], tmp_path: Path) -> None:
    other = write(tmp_path / "other.root", w=np.arange(40.0))
    df = ROOT.RDataFrame("tree", [files[0], other], executor=executor)
    assert df.FilterAvailable("b").Count().GetValue() == ENTRIES
    assert df.FilterAvailable("w").Count().GetValue() == 40
    assert df.FilterMissing("b").Count().GetValue() == 40
    assert df.DefaultValueFor("b", 40).Filter("b == 42").Count().GetValue() == ENTRIES
    assert df.DefaultValueFor("b", 42).Filter("b == 42").Count().GetValue() == ENTRIES + 40
    assert df.DefaultValueFor("w", 0.25).Sum("w").GetValue() == sum(range(40)) + 0.25 * ENTRIES


# ---- check_reducer_merge


def plain(value: Any) -> Any:
    """What can be compared."""
    if hasattr(value, "to_hist"):
        made = value.to_hist()
        return [str(axis) for axis in made.axes], made.view(flow=True).tobytes()
    if hasattr(value, "GetN") and hasattr(value, "GetX"):
        return [list(value.GetX()), list(value.GetY())]
    if hasattr(value, "GetRMS"):
        return value.GetN(), value.GetMean(), value.GetRMS(), value.GetMin(), value.GetMax()
    return value


def book(**options: Any) -> dict[str, Any]:
    df = ROOT.RDataFrame(ENTRIES, **options)
    df = (
        df.Define("x", "rdfentry_ * 1.")
        .Define("y", "x * x / 7")
        .Define("z", "x * y")
        .Define("w", "1 / (x + 1)")
    )
    df = df.Define("v", "std::vector<double>({x, x + 1, x + 2})").Define("e", "0.5").Alias("a", "x")
    axis = (64, -4.0, 40.0)
    return {
        "Histo1D": df.Histo1D(("", "", *axis), "x", "w"),
        "Histo2D": df.Histo2D(("", "", *axis, *axis), "x", "y"),
        "Histo3D": df.Histo3D(("", "", *axis, *axis, *axis), "x", "y", "z"),
        "HistoNSparseD": df.HistoNSparseD(
            ("", "", 4, (5,) * 4, (0.0,) * 4, (100.0,) * 4), ("x", "y", "z", "w")
        ),
        "HistoND": df.HistoND(("", "", 4, (5,) * 4, (0.0,) * 4, (100.0,) * 4), ("x", "y", "z", "w")),
        "Profile1D": df.Profile1D(("", "", *axis), "x", "y"),
        "Profile2D": df.Profile2D(("", "", *axis, *axis), "x", "y", "z"),
        "Graph": df.Graph("x", "y"),
        "GraphAsymmErrors": df.GraphAsymmErrors("x", "y", "e", "e", "w", "w"),
        "Count": df.Count(),
        "Sum": df.Sum("y"),
        "Mean": df.Mean("v"),
        "StdDev": df.StdDev("v"),
        "Min": df.Min("y"),
        "Max": df.Max("a"),
        "Stats": df.Stats("y"),
        "Stats with weights": df.Stats("x", "w"),
        "Stats of lists": df.Stats("v"),
        "Redefine": df.Redefine("x", "x + 1").Sum("x"),
        # What ROOT's distributed version has not.
        "Range": df.Filter("x > 3").Range(5, 60, 2).Sum("y"),
        "Take": df.Range(20).Take("x"),
        "Aggregate": df.Aggregate(lambda s, x: s + x, lambda s, t: s + t, "x", 0.0),
    }


def test_merged_results(executor: Any) -> None:
    remote, local = book(executor=executor, npartitions=7), book()
    for name, result in remote.items():
        found, expected = plain(result.GetValue()), plain(local[name].GetValue())
        assert np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected, name


def test_arrays(executor: Any) -> None:
    df = (
        ROOT.RDataFrame(10, executor=executor)
        .Define("x", "(int)rdfentry_")
        .Define("y", "1.f/(1.f+rdfentry_)")
    )
    found = df.AsNumpy()
    assert (found["x"].dtype, found["y"].dtype) == (np.dtype("int32"), np.dtype("float32"))
    assert len(found["x"]) == len(found["y"]) == 10
    assert list(df.AsNumpy(columns=["x"])) == ["x"]
    later = df.AsNumpy(lazy=True)
    assert not later.IsReady()
    assert later.GetValue()["x"].tolist() == list(range(10))


def test_snapshots(executor: Any, tmp_path: Path) -> None:
    df = ROOT.RDataFrame(10, executor=executor)
    for name in "abcd":
        df = df.Define(name, "rdfentry_")
    one = df.Snapshot("snap", str(tmp_path / "one.root"), ["a", "b"])
    assert list(one.GetValue().GetColumnNames()) == ["a", "b"]
    assert [each.name for each in tmp_path.iterdir()] == ["one.root"]  # one data set, where ROOT leaves many
    assert ROOT.RDataFrame("snap", str(tmp_path / "one.root")).Sum("b").GetValue() == 45
    options = ROOT.RDF.RSnapshotOptions()
    options.fLazy = True
    later = df.Snapshot("snap", str(tmp_path / "later.root"), ["a"], options)
    assert not (tmp_path / "later.root").exists()
    assert later.GetValue().Count().GetValue() == 10
    update = ROOT.RDF.RSnapshotOptions()
    update.fMode = "UPDATE"
    df.Snapshot("more", str(tmp_path / "one.root"), ["a"], update)
    assert sorted(colonnade.datasets(tmp_path / "one.root")) == ["more", "snap"]


def test_report(executor: Any) -> None:
    df = ROOT.RDataFrame(ENTRIES, executor=executor).Define("x", "rdfentry_")
    report = df.Filter("x>25.", "Cut1").Filter("x>50.", "Cut2").Report()
    cuts = [(cut.GetName(), cut.GetPass(), cut.GetAll()) for cut in report]
    assert cuts == [("Cut1", 74, 100), ("Cut2", 49, 74)]


# ---- check_rungraphs


def test_graphs_that_run_together(executor: Any, files: list[str]) -> None:
    frames = [ROOT.RDataFrame("tree", file, executor=executor) for file in files]
    histograms = [df.Histo1D(("b", "b", 5, 40, 45), "b") for df in frames]
    assert not any(each.IsReady() for each in histograms)
    assert ROOT.RDF.RunGraphs(histograms) == 3
    assert all(each.IsReady() for each in histograms)
    assert [(each.GetEntries(), each.GetMean()) for each in histograms] == [
        (ENTRIES, 42 + k) for k in range(3)
    ]


# ---- check_variations


def test_variations(executor: Any) -> None:
    df = ROOT.RDataFrame(10, executor=executor, npartitions=2).Define("x", "1").Define("y", "42")
    model = ("name", "title", 10, -500, 500)
    varied = df.Vary("x", "ROOT::RVecI{-1, 2}", nVariations=2).Graph("x", "x")
    graphs = ROOT.RDF.Experimental.VariationsFor(varied)
    assert [set(graphs[name].GetX()) for name in ("nominal", "x:0", "x:1")] == [{1}, {-1}, {2}]
    mixed = df.Vary("x", "ROOT::RVecI{-1, 2}", variationTags=["down", "up"]).Histo1D(model, "x", "y")
    histograms = ROOT.RDF.Experimental.VariationsFor(mixed)
    found = [(histograms[k].GetMean(), histograms[k].GetMaximum()) for k in ("nominal", "x:down", "x:up")]
    assert found == [(1, 420), (-1, 420), (2, 420)]
    both = df.Vary(
        ["x", "y"], "ROOT::RVec<ROOT::RVecI>{{-1, 2, 3}, {41, 43, 44}}", ["down", "up", "other"], "xy"
    ).Histo1D(model, "x", "y")
    histograms = ROOT.RDF.Experimental.VariationsFor(both)
    found = [
        (histograms[k].GetMean(), histograms[k].GetMaximum())
        for k in ("nominal", "xy:down", "xy:up", "xy:other")
    ]
    assert found == [(1, 420), (-1, 410), (2, 430), (3, 440)]
    total = df.Vary("x", "ROOT::RVecI{-1*x, 2*x}", ["down", "up"], "mine").Filter("x > 0").Sum("x")
    sums = ROOT.RDF.Experimental.VariationsFor(total)
    assert total.GetValue() == 10
    assert [sums[k] for k in ("nominal", "mine:down", "mine:up")] == [10, 0, 20]


def test_variations_of_nothing(executor: Any) -> None:
    histogram = ROOT.RDataFrame(1, executor=executor).Define("x", "1").Histo1D(("h", "h", 1, 0, 10), "x")
    variations = ROOT.RDF.Distributed.VariationsFor(histogram)
    assert histogram.GetEntries() == 1
    assert list(variations.GetKeys()) == ["nominal"]
