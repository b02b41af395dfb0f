"""TTrees that are opened as data sets: the same values as after an import, and only what is used is imported."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import awkward as ak
import numpy as np
import pyarrow.compute as pc
import pytest
import uproot
from clients import running
from hypothesis import given, settings
from hypothesis import strategies as st
from locations import FIXTURES
from root_values import assert_as_uproot
from shuffled_engine import Shuffled
from uproot.source.chunk import Chunk
from uproot.source.cursor import Cursor

import colonnade
from colonnade import DataFrame, cache, distributed
from colonnade import root as ROOT  # noqa: N812
from colonnade.importing import (
    kept_columns,
    late_branches,
    masks,
    nested_lists,
    shared_plans,
    tree_columns,
    tree_files,
    tree_schema,
)
from colonnade.importing.baskets import mend_baskets
from colonnade.importing.bounds import check_key
from colonnade.importing.trees import _Import

TREE = FIXTURES / "trees" / "many_branches.root"
ODD = FIXTURES / "trees" / "odd_branches.root"
SCALARS = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
]
CLASHING = [
    "G0_m0",
    "G0.m0",
    "G0 m0",
    "G0_m0_",
    "n_G0",
    "n.G0",
    "n G0",
    "nG0",
    "#G0",
    "#G0_m0",
    "G0_items",
    "m0",
]
"""Names that others of a random tree have, too, or whose fields would have the same name."""


def numbers(random, kind, size):
    if kind == "bool":
        return random.integers(0, 2, size).astype(bool)
    if kind.startswith("float"):
        return np.where(random.random(size) < 0.05, np.nan, random.normal(size=size) * 1e3).astype(kind)
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max, size, dtype=kind, endpoint=True)


def random_tree(path, seed, entries):
    """Numbers, fixed-size arrays and groups of arrays with a counter, in several baskets; some names clash."""
    random = np.random.default_rng(seed)
    join = str(random.choice(["_", ".", " "]))
    counter_join = str(random.choice(["", "_", ".", " "]))
    scalars = {f"s{k}_{kind}": kind for k, kind in enumerate(random.choice(SCALARS, random.integers(1, 5)))}
    scalars |= {
        str(name): "uint64" if "#" in name else str(random.choice(SCALARS))  # as sizes are
        for name in random.choice(CLASHING, random.integers(0, 6), replace=False)
        if name not in (f"G0{join}m0", f"n{counter_join}G0")
    }
    groups = {
        f"G{k}": {f"m{j}": str(random.choice(SCALARS[1:])) for j in range(random.integers(1, 4))}
        for k in range(random.integers(0, 3))
    }
    fixed = {"arr": "3 * int16"} if random.random() < 0.5 else {}
    columns = {name: numbers(random, kind, entries) for name, kind in scalars.items()}
    columns |= {name: random.integers(-9, 9, (entries, 3)).astype(np.int16) for name in fixed}
    for name, members in groups.items():
        counts = random.integers(0, 5, entries)
        columns[name] = ak.zip(
            {
                member: ak.unflatten(numbers(random, kind, int(counts.sum())), counts)
                for member, kind in members.items()
            }
        )
    cuts = sorted(random.integers(0, entries + 1, random.integers(0, 4)).tolist())
    with uproot.recreate(path) as file:
        types = {name: (str(scalars[name]) if name in scalars else fixed.get(name)) for name in columns}
        types |= {name: columns[name].type.content for name in groups}
        tree = file.mktree(
            "Events",
            types,
            counter_name=lambda group: f"n{counter_join}{group}",
            field_name=lambda group, member: f"{group}{join}{member}",
        )
        for begin, end in zip([0, *cuts], [*cuts, entries], strict=True):
            if begin < end:
                tree.extend({name: values[begin:end] for name, values in columns.items()})
    return path


def same(one, other):
    """Types and values, NaN included."""
    assert str(one.type) == str(other.type)
    assert ak.array_equal(one, other, equal_nan=True)


# ---- The same as an import


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), entries=st.integers(0, 400), data=st.data())
def test_random_trees_are_what_an_import_makes_of_them(tmp_path_factory, seed, entries, data):
    folder = tmp_path_factory.mktemp("random")
    source = random_tree(folder / "tree.root", seed, entries)
    report = colonnade.import_tree(source, folder / "imported.root", verify=True)
    expected = colonnade.open(folder / "imported.root")
    assert_as_uproot(source, "Events", expected, report)
    tree = colonnade.open(source)
    assert tree.num_entries == expected.num_entries == entries
    assert {name: str(info.type) for name, info in tree.schema.items()} == {
        name: str(info.type) for name, info in expected.schema.items()
    }
    names = expected.field_names
    for _ in range(3):
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        begin = data.draw(st.integers(0, entries))
        end = data.draw(st.integers(begin, entries))
        same(
            tree.arrays(chosen, entry_start=begin, entry_stop=end),
            expected.arrays(chosen, entry_start=begin, entry_stop=end),
        )
    paths = [path for path in DataFrame(expected).column_names if "." in path] + names
    chosen = data.draw(st.lists(st.sampled_from(paths), min_size=1, unique=True))
    ours = DataFrame("Events", str(source), threads=3)
    theirs = DataFrame("Events", str(folder / "imported.root"), threads=1)
    for path in chosen:
        assert ours.column_type(path) == theirs.column_type(path)
        one, other = ours.take(path), theirs.take(path)
        assert repr(list(one.value)) == repr(list(other.value))


def test_every_kind_of_branch(tmp_path):
    report = colonnade.import_tree(TREE, tmp_path / "imported.root", skip_unreadable=True)
    expected = colonnade.open(tmp_path / "imported.root")
    with pytest.warns(colonnade.LeftOutWarning) if report.skipped else pytest.MonkeyPatch.context():
        tree = colonnade.open(TREE)
    assert tree.field_names == expected.field_names
    same(tree.arrays(), expected.arrays())
    for name in expected.field_names:
        same(tree[name], expected[name])
    assert list(tree.entry_texts(3, 6)) == list(expected.entry_texts(3, 6))
    pieces = list(tree.iterate(["i32", "Hit_x"], step_size=7))
    same(ak.concatenate(pieces), expected.arrays(["i32", "Hit_x"]))
    assert str(tree.to_arrow().schema) == str(expected.to_arrow().schema)
    assert tree.to_arrow().equals(expected.to_arrow())
    above = pc.field("i32") > int(np.median(expected["i32"]))
    scans = [each.to_arrow_dataset(["Hit_x", "i32"]) for each in (tree, expected)]
    assert scans[0].to_table(filter=above).equals(scans[1].to_table(filter=above))
    assert 0 < scans[0].count_rows(filter=above) == scans[1].count_rows(filter=above)
    assert tree.description == expected.description
    same(pickle.loads(pickle.dumps(tree.select("Hit"))).arrays(), expected.arrays("Hit"))
    assert tree.verify() > 0
    assert tree.metrics.pages > 0
    assert tree.read_through("Hit") == expected.read_through("Hit")
    assert [len(step) for step in tree.iterate([], step_size=7)] == [
        len(step) for step in expected.iterate([], step_size=7)
    ]
    tree.close()
    for use in (lambda: tree["i32"], tree.read_through, tree.show):
        with pytest.raises(colonnade.UsageError, match="closed"):
            use()


def test_names_that_others_have_too(tmp_path):
    """Whatever was read before, the same fields as those of an import."""
    colonnade.import_tree(f"{ODD}:odd", tmp_path / "imported.root", skip_unreadable=True)
    expected = colonnade.open(tmp_path / "imported.root")
    with pytest.warns(colonnade.LeftOutWarning):
        tree = colonnade.open(ODD, "odd")
    with pytest.warns(colonnade.LeftOutWarning):
        frame = DataFrame("odd", str(ODD))
    assert tree.field_names == expected.field_names
    for name in ("p.a", "n_a", "n_a_", "#hits", "event.links", "text"):
        same(tree[name], expected[name])
        assert repr(frame.take(name).value) == repr(DataFrame(expected).take(name).value)


def test_branches_have_their_own_names(tmp_path):
    muons = ak.Array([[{"pt": 1.0, "q": 1}, {"pt": 2.0, "q": -1}], [], [{"pt": 3.0, "q": 1}]])
    for name, start in {"main": 10.0, "other": 20.0}.items():
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mktree(name, {"e_pt": "float64", "e.pt": "float64", "Muon": muons.type})
            file[name].extend({"e_pt": np.arange(3.0), "e.pt": start + np.arange(3.0), "Muon": muons})
    frame = DataFrame("main", str(tmp_path / "main.root"))
    assert frame.define("s", "e.pt + e_pt").sum("s").value == 36
    assert frame.redefine("e.pt", "2. * e.pt").sum("e.pt").value == 66
    assert "e_pt_" in frame.column_names
    assert "e.pt" not in frame.column_names
    with ProcessPoolExecutor(1) as executor:
        spread = DataFrame("main", str(tmp_path / "main.root"), executor=executor)
        assert spread.sum("e.pt").value == 33
    # In ROOT's dialect they are those that are listed.
    rdf = ROOT.RDataFrame("main", str(tmp_path / "main.root"))
    names = ["Muon_pt", "Muon_q", "e.pt", "e_pt", "nMuon"]
    assert rdf.GetColumnNames() == list(rdf.AsNumpy()) == names
    assert rdf.Redefine("e.pt", "1.").GetColumnNames() == names
    types = ["ROOT::VecOps::RVec<Double_t>", "ROOT::VecOps::RVec<Long64_t>", "Double_t", "Double_t", "Int_t"]
    assert [rdf.GetColumnType(name) for name in names] == types
    assert rdf.Define("d", "2 * e.pt").GetColumnType("d") == "double"
    muon = rdf.Define("Muon", "Muon_pt[Muon_q > 0]")
    assert [rdf.HasColumn("Muon"), muon.HasColumn("Muon")] == [False, True]
    assert muon.GetColumnNames() == ["Muon", *names]
    assert muon.Define("s", "Sum(Muon)").Sum("s").GetValue() == muon.Sum("Muon").GetValue() == 4
    assert rdf.Snapshot("s", str(tmp_path / "s.root"), ["e.pt", "nMuon"]).GetColumnNames() == [
        "e_pt",
        "nMuon",
    ]
    assert (
        "Muon"
        not in colonnade.open(rdf.Snapshot("a", str(tmp_path / "a.root")) and tmp_path / "a.root").schema
    )
    chain, other = ROOT.TChain("main"), ROOT.TChain("other")
    chain.Add(str(tmp_path / "main.root"))
    other.Add(str(tmp_path / "other.root"))
    chain.AddFriend(other, "f")
    both = ROOT.RDataFrame(chain)
    assert both.GetColumnNames() == sorted([*names, *(f"f.{name}" for name in names)])
    assert both.GetColumnType("f.e.pt") == both.Alias("a", "f.e_pt").GetColumnType("a") == "Double_t"
    assert both.Define("d", "f.e.pt - e.pt").Sum("d").GetValue() == 30


def test_arrays_with_a_counter_have_their_own_names(tmp_path):
    path = str(tmp_path / "flat.root")
    slices = ak.Array([[{"nhit": 3, "x": 1.5}], [], [{"nhit": 4, "x": 2.5}, {"nhit": 5, "x": 3.5}]])
    with uproot.recreate(path) as file:
        file.mktree(
            "rec",
            {"slc": slices.type},
            counter_name=lambda group: f"rec.{group}.length",
            field_name=lambda group, member: f"rec.{group}.{member}",
        )
        file["rec"].extend({"slc": slices})
    rdf = ROOT.RDataFrame("rec", path)
    names = ["rec.slc.length", "rec.slc.nhit", "rec.slc.x"]
    assert rdf.GetColumnNames() == list(rdf.AsNumpy()) == names
    assert rdf.GetColumnType("rec.slc.x") == "ROOT::VecOps::RVec<Double_t>"
    assert rdf.Define("s", "rec.slc.length * Sum(rec.slc.x)").Sum("s").GetValue() == 13.5
    assert colonnade.open(path)["rec.slc.nhit"].to_list() == slices.nhit.to_list()


def test_arrays_of_trees_have_no_friends(tree):
    with pytest.raises(colonnade.UnsupportedError, match=r"no joins and friends.*DataFrame"):
        colonnade.open(tree, friends={"f": colonnade.open(tree)})
    frame = DataFrame("Events", str(tree), friends={"f": ("Events", str(tree))})
    assert frame.define("d", "f.met - met").sum("d").value == 0


def test_cycles():
    for name, entries in {"again;1": 2, "again;2": 4, "again": 4}.items():
        tree = pickle.loads(pickle.dumps(colonnade.open(ODD, name)))
        assert tree["x"].to_list() == list(range(entries))
        assert (
            DataFrame(name, str(ODD)).sum("x").value == DataFrame(tree).sum("x").value == sum(range(entries))
        )


def test_stored_chains_are_refused():
    for use in (colonnade.open, lambda path, name: DataFrame(name, str(path))):
        with pytest.raises(colonnade.UnsupportedError, match="trees are in other files"):
            use(ODD, "chain")


def test_results_of_data_frames(tmp_path):
    colonnade.import_tree(TREE, tmp_path / "imported.root", skip_unreadable=True)

    def results(frame):
        cut = (
            frame.filter("nHit > 0").define("far", "Sum(Hit_x * Hit_x)").vary("far", "{far * 2}", ["up"], "v")
        )
        mean = cut.mean("far")
        varied = cut.variations_for(cut.sum("far"))
        written = cut.snapshot(tmp_path / f"{id(frame)}.root", "Out", ["i32", "far", "Hit_id"])
        ids = [list(each) for each in written.take("Hit_id").value]
        return [
            mean.value,
            varied["v:up"],
            frame.count().value,
            frame.sum("#Hit").value,
            ids,
            str(cut.report()),
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", "3")
        ours = results(DataFrame("Events", str(TREE), threads=3))
    theirs = results(DataFrame("Events", str(tmp_path / "imported.root")))
    assert repr(ours) == repr(theirs)


# ---- Only what is used


@pytest.fixture
def imported(monkeypatch):
    """The branches of each import, in order."""
    found = []
    write = tree_columns._TreeFile.write

    def noted(self, branches, to, watch):
        found.append(sorted(branches))
        return write(self, branches, to, watch)

    monkeypatch.setattr(tree_columns._TreeFile, "write", noted)
    return found


@pytest.fixture
def tree(tmp_path):
    return random_tree_of_names(tmp_path / "names.root")


def random_tree_of_names(path, entries=1000, factor=1):
    random = np.random.default_rng(5)
    counts = random.integers(0, 4, entries)
    muon = ak.zip(
        {name: ak.unflatten(random.normal(size=counts.sum()), counts) for name in ("pt", "eta", "phi")}
    )
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", {"run": "int32", "met": "float64", "Muon": muon.type.content})
        tree.extend({"run": np.arange(entries) * factor, "met": random.normal(size=entries), "Muon": muon})
    return path


def test_columns_are_imported_as_they_are_used(tree, imported):
    frame = DataFrame("Events", str(tree))
    assert frame.column_type("Muon_pt")
    cut = frame.filter("nMuon >= 2").define("lead", "Muon_pt[0]")
    assert imported == []
    first, second = cut.mean("lead"), cut.count()
    assert first.value
    assert second.value
    assert len(imported) == 1
    assert "Muon_pt" in imported[0]
    assert not {"Muon_phi", "run", "met"} & set(imported[0])
    assert cut.max("lead").value
    assert len(imported) == 1
    assert frame.sum("met").value
    assert imported[1:] == [["met"]]
    # What the process has imported is there for others, too.
    assert DataFrame("Events", str(tree)).sum("met").value
    assert colonnade.open(tree)["met"].tolist() == uproot.open(tree)["Events/met"].array().tolist()
    assert len(imported) == 2


def test_columns_that_were_imported_apart_are_read_together(tmp_path, tree):
    colonnade.import_tree(tree, tmp_path / "to.root")
    data, apart = colonnade.open(tmp_path / "to.root"), colonnade.open(tree)
    for name in apart.field_names[:3]:
        assert apart[name].to_list() == data[name].to_list()
    assert apart.files == [str(tree)]
    assert repr(apart) == f"<TreeDataSet 'Events' of '{tree}': 1000 entries, {len(data.field_names)} fields>"
    for fields in ([], None):
        assert list(apart.entry_texts(990, 2000, fields)) == list(data.entry_texts(990, 2000, fields))
        assert apart.read_through(fields) == data.read_through(fields)
        parts = [part.to_list() for part in apart.iterate(fields, step_size="20 kB")]
        assert [*itertools.chain.from_iterable(parts)] == data.arrays(fields).to_list()
    assert apart.verify() == data.verify()
    with pytest.raises(colonnade.UnsupportedError, match="a TTree has no attribute sets"):
        _ = apart.attributes


def test_threads_import_a_column_once(tree, imported):
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda _: colonnade.open(tree)["met"].to_list(), range(4)))
    assert found == [uproot.open(tree)["Events/met"].array().to_list()] * 4
    assert imported == [["met"]]


def test_members_first_then_the_whole(tree):
    frame = DataFrame("Events", str(tree))
    first = frame.take("Muon.pt").value
    whole = frame.take("Muon").value
    assert [[muon["pt"] for muon in event] for event in ak.to_list(whole)] == ak.to_list(first)
    data_set = colonnade.open(tree)
    assert data_set["Muon.pt"].to_list() == data_set["Muon"].pt.to_list()


def test_baskets_of_other_branches_are_not_read(tree, monkeypatch):
    read = []
    arrays = _Import._arrays

    def noted(self, reading, start, stop):
        read.extend(leaf.path for leaf in reading.plan.leaves())
        return arrays(self, reading, start, stop)

    monkeypatch.setattr(_Import, "_arrays", noted)
    assert len(colonnade.open(tree)["Muon_eta"]) == 1000
    assert set(read) == {"Muon_eta", "nMuon"}


def test_names_that_are_not_there(tree):
    with pytest.raises(colonnade.NotFoundError, match="Muon_pt"):
        DataFrame("Events", str(tree)).define("x", "Muon_pT")
    with pytest.raises(colonnade.NotFoundError):
        colonnade.open(tree)["nothing"]
    with pytest.raises(colonnade.NotFoundError, match="there is no data set"):
        colonnade.open(tree, "Other")
    with pytest.raises(colonnade.FileMissingError):
        colonnade.open(str(tree) + "x", "Events")


# ---- Several files


def test_chains(tmp_path, tree):
    other = random_tree_of_names(tmp_path / "names2.root", entries=300, factor=2)
    stored = tmp_path / "names3.root"
    colonnade.import_tree(other, stored)
    files = [str(tree), str(other), str(stored)]
    expected = np.concatenate([np.arange(1000), np.arange(300) * 2, np.arange(300) * 2])
    data_set = colonnade.open(files)
    assert data_set.num_entries == 1600
    assert data_set["run"].tolist() == expected.tolist()
    assert colonnade.open(str(tmp_path / "names*.root"))["run"].tolist() == expected.tolist()
    frame = DataFrame("Events", files)
    assert frame.sum("run").value == expected.sum()
    assert frame.filter("nMuon == 1").count().value == int(ak.sum(data_set["nMuon"] == 1))
    names = frame.define_per_sample("where", "rdfsampleinfo_").take("where").value
    assert str(names[0]).endswith("names.root/Events")
    assert DataFrame(data_set).max("run").value == expected.max()


def test_trees_of_different_names(tmp_path):
    files = []
    for number, name in enumerate(["one", "dir/two", "th ree", "stored"]):
        files.append((str(tmp_path / f"{number}.root"), name))
        values = {"x": np.arange(5) + 10 * number}
        if name == "stored":
            with colonnade.create(*files[-1]) as writer:
                writer.extend(values)
        else:
            with uproot.recreate(files[-1][0]) as file:
                file.mktree(name, values)
    for chain in (files[:3], files, files[1:] + files[:2]):
        expected = [int(uri[-6]) * 10 + k for uri, _ in chain for k in range(5)]
        data_set = pickle.loads(pickle.dumps(colonnade.open(chain)))
        assert data_set["x"].tolist() == data_set.select("x")["x"].tolist() == expected
        for frame in (DataFrame("", chain), DataFrame("", chain, executor=Shuffled(1)), DataFrame(data_set)):
            assert frame.take("x").value.tolist() == expected
        assert set(frame.files) == {f"{uri}/{name}" for uri, name in chain}
    friends = DataFrame("", files[:2], friends={"f": files[2:]})
    assert friends.define("y", "f.x - x").unique("y").value == [20]
    with pytest.raises(colonnade.NotFoundError, match="no TTree 'Other'"):
        DataFrame("", [files[0], (files[1][0], "Other")])
    with pytest.raises(colonnade.SchemaError, match="'dir/two', but 'one' in the files before"):
        colonnade.open([uri for uri, _ in files[:2]])


def test_trees_of_a_chain_are_imported_together(tmp_path):
    """Each once, with their progress as one; the first that fails ends all."""
    files = [tmp_path / f"tree{number}.root" for number in range(6)]
    for number, each in enumerate(files):
        random_tree_of_names(each, entries=100 * (number + 1), factor=number)
    chain = [str(each) for each in (*files, files[0])]
    columns = tree_columns.TreeColumns.of(
        [(each, "Events") for each in chain], otherwise=colonnade.NotFoundError("none")
    )
    seen = []
    found = columns.fetch(["run"], seen.append)
    assert found[0] == found[-1]
    assert len(set(found)) == 6
    assert sorted(one.entries for one in seen) == [one.entries for one in seen]
    assert (seen[-1].entries, {one.total_entries for one in seen}) == (2100, {2100})
    expected = [entry * number for number in (*range(6), 0) for entry in range(100 * (number + 1))]
    assert DataFrame("Events", chain).take("run").value.tolist() == expected

    def refuse(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        columns.fetch(["met"], refuse)
    assert len(columns.fetch(["met"], lambda _: None)) == 7


def test_files_without_a_branch(tmp_path, tree):
    bare = tmp_path / "bare.root"
    with uproot.recreate(bare) as file:
        file.mktree("Events", {"run": "int32"}).extend({"run": np.arange(10)})
    frame = DataFrame("Events", [str(tree), str(bare)]).default_value_for("met", 0.5)
    assert frame.sum("run").value == sum(range(1000)) + 45
    expected = float(ak.sum(uproot.open(tree)["Events/met"].array()))
    assert frame.sum("met").value == pytest.approx(expected + 5)
    assert len(colonnade.open([str(tree), str(bare)], missing="fill")["met"]) == 1010
    with pytest.raises(colonnade.SchemaError, match=f"is in {tree} but not in {bare}"):
        colonnade.open([str(tree), str(bare)])


def test_a_tree_without_branches(tmp_path, tree):
    """Jobs that selected nothing leave such trees."""
    files = [str(tree), str(FIXTURES / "trees" / "no_branches.root")]
    for options in ({}, {"cache": tmp_path / "cache"}, {"cache": tmp_path / "cache"}):
        for order in (files, files[::-1]):
            assert DataFrame("Events", order, **options).sum("run").value == sum(range(1000))
    assert colonnade.open(files, missing="fill")["run"].to_list() == list(range(1000))
    chain = ROOT.TChain("Events")
    for file in files:
        chain.Add(file)
    assert chain.GetEntries() == 1000


def test_a_tree_without_a_column_beside_an_imported_one(tmp_path):
    """A file with the counter alone, to count entries, would have a number where the others have a length."""
    lists, values = ak.Array([[1.5, 2.5], [], [3.5]]), np.arange(3.0)
    for name, more in (("bare", {}), ("whole", {"met": values})):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            columns = {"jet": lists, **more}
            types = {"jet": "var * float64", **dict.fromkeys(more, "float64")}
            file.mktree("Events", types).extend(columns)
    colonnade.import_tree(tmp_path / "whole.root", tmp_path / "imported.root")
    chain = colonnade.open([tmp_path / "bare.root", tmp_path / "imported.root"], missing="fill")
    assert chain["met"].to_list() == [None, None, None, 0.0, 1.0, 2.0]
    assert chain["jet"].to_list() == 2 * lists.to_list()


def test_other_processes_get_the_same_bits(tree):
    def results(frame):
        cut = frame.filter("nMuon > 0").define("lead", "Muon_pt[0]")
        return [
            cut.mean("lead").value,
            cut.histo1d(("h", "", 20, -3, 3), "lead", "met").value.view(flow=True),
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", "50")
        alone = results(DataFrame("Events", str(tree)))
        with ProcessPoolExecutor(2) as executor:
            spread = results(DataFrame("Events", str(tree), executor=executor, npartitions=5))
    assert repr(alone) == repr(spread)


# ---- A cache


def test_a_cache_keeps_imported_columns(tmp_path, tree, imported):
    home = tmp_path / "home[1]"
    options = {"cache": str(home)}
    assert DataFrame("Events", str(tree), **options).sum("met").value
    assert colonnade.open(tree, **options)["Muon_pt"].ndim == 2
    assert len(imported) == 2
    code = (
        "import sys, colonnade\n"
        "from colonnade.importing import tree_columns\n"
        "def refuse(*_): raise AssertionError('imported again')\n"
        "tree_columns._TreeFile.write = refuse\n"
        "print(colonnade.DataFrame('Events', sys.argv[1], cache=sys.argv[2]).sum('met').value)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tree), str(home)], check=True, capture_output=True, text=True
    )
    assert float(told.stdout) == DataFrame("Events", str(tree)).sum("met").value
    (one, other) = cache.ls(home)
    assert {one.uri, other.uri} == {str(tree)}
    assert {column.field for column in (*one.columns, *other.columns)} >= {"met", "Muon_pt"}
    assert cache.info(tree, home)
    checked = cache.verify(home)
    assert checked.damaged == 0
    assert checked.pages > 0
    assert cache.warm(tree, "Events", columns=["run"], home=home) > 0
    assert cache.warm(tree, "Events", columns=["run"], home=home) == 0
    assert len(cache.ls(home)) == 3
    assert cache.rm(tree, ["met"], home) > 0
    assert len(cache.ls(home)) == 2
    assert cache.gc(home).evicted == 0
    gc.collect()  # what is used stays
    assert cache.gc(f"{home}?budget=1").evicted > 0
    assert kept_columns.kept_files(str(home)) == []
    assert cache.ls(home) == []
    assert cache.verify(home).pages == cache.gc(home).bytes == 0
    with pytest.raises(colonnade.FileMissingError, match="has nothing of"):
        cache.rm(tree, home=home)


def test_a_cache_knows_a_local_file_by_its_path_and_its_uri(tmp_path, tree):
    home = tmp_path / "home"
    spellings = (str(tree), f"file://{tree}", f"file:{tree}", os.path.relpath(tree))
    for opened, asked in itertools.product(spellings, repeat=2):
        assert len(colonnade.open(opened, cache=str(home))["met"])
        assert [one.uri for one in cache.info(asked, home)] == [str(tree)]
        assert cache.rm(asked, home=home) > 0
        assert cache.ls(home) == []


@pytest.mark.parametrize("seed", range(6))
def test_what_is_used_survives_a_cache_with_little_room(tmp_path, seed):
    random = np.random.default_rng(seed)
    chosen = [bool(random.integers(0, 2)) for _ in range(2)]
    files = [random_tree_of_names(tmp_path / f"{k}.root", factor=k + 1) for k in range(3)]
    home = str(tmp_path / "home") + f"?budget={random.choice([1, 5000, 20000])}"
    expected = colonnade.open(files)
    data_set = colonnade.open(files, cache=home)
    frames = [DataFrame("Events", list(map(str, files)), cache=home, threads=2) for _ in range(2)]
    columns = ["run", "met", "Muon_pt", "nMuon"]
    for _ in range(4):
        name = str(random.choice(columns))
        for frame in frames if chosen[0] else reversed(frames):
            assert ak.to_list(frame.take(name).value) == ak.to_list(expected[name])
        if chosen[1]:
            cache.gc(f"{home.partition('?')[0]}?budget=1")
        names = list(random.choice(columns, 2, replace=False))
        for step, there in zip(data_set.iterate(names), expected.iterate(names), strict=True):
            same(step, there)
    del frame, frames, data_set, step
    gc.collect()
    cache.gc(f"{home.partition('?')[0]}?budget=1")
    assert kept_columns.kept_files(home.partition("?")[0]) == []


def test_columns_survive_other_processes_that_make_room(tmp_path, tree):
    home = f"{tmp_path / 'home'}?budget=1"
    code = (
        "import sys, colonnade\n"
        "for name in ('run', 'met', 'Muon_pt'):\n"
        "    for _ in range(4):\n"
        "        got = colonnade.DataFrame('Events', sys.argv[1:], cache=%r, threads=1).sum(name + ' * 2.')\n"
        "        assert got.value == colonnade.DataFrame('Events', sys.argv[1:], threads=1).sum(name + ' * 2.').value\n"
    )
    files = [str(random_tree_of_names(tmp_path / f"{k}.root", factor=k + 1)) for k in range(3)]
    command = [sys.executable, "-c", code % home, *files]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for child in children:
        assert child.communicate()[1] == ""
        assert child.returncode == 0
    assert not list((tmp_path / "home-trees" / ".used").glob("*.uses"))


@pytest.mark.parametrize("seed", range(6))
def test_frames_that_use_the_same_columns_do_not_disturb_each_other(tmp_path, seed):
    chosen = random.Random(seed)
    files = [str(random_tree_of_names(tmp_path / f"{k}.root", entries=300, factor=k + 1)) for k in range(3)]
    whole = colonnade.open(files)
    options = {"cache": f"{tmp_path / 'home'}?budget={chosen.choice(['1', '1GB'])}"} if seed % 2 else {}
    engines = [{}, {"executor": Shuffled(seed), "npartitions": 4}]
    frames = [DataFrame("Events", files, **chosen.choice(engines), **options) for _ in range(3)]
    plans = []
    for _ in range(6):
        booked = []
        for frame in chosen.sample(frames, chosen.randint(1, 3)):
            column = chosen.choice(["run", "met", "Muon_pt"])
            expected = ak.sum(whole[column])
            booked.append((frame.sum(column), expected))
            if chosen.random() < 0.3:
                booked[-1][0].on_partial(lambda value: None)
            if chosen.random() < 0.5:
                result = frame.sum(f"{column} + 0")
                plans.append((frame.freeze(result), result, expected))
        if chosen.random() < 0.5:
            colonnade.run_graphs(frames)
        for result, expected in booked:
            assert result.value == pytest.approx(expected)
    for plan, result, expected in plans:
        partials = [distributed.run_task(plan, task) for task in plan.tasks(3)]
        plan.finish(distributed.merge(plan, partials))
        assert result.value == pytest.approx(expected)


def test_the_least_recently_used_columns_are_removed_first(tmp_path, tree):
    home = str(tmp_path / "home")
    for name in ("run", "met", "Muon_pt"):
        assert colonnade.open(tree, cache=home)[name] is not None
    for age, one in enumerate(kept_columns.kept_files(home)):
        os.utime(one.path, ns=(0, (1000 - age) * 10**9))
        for mark in Path(one.path).parent.glob(".*.used"):
            mark.unlink()
    oldest = kept_columns.kept_files(home)[-1]
    assert colonnade.open(tree, cache=home)[oldest.branches[0]] is not None
    newest, second, last = kept_columns.kept_files(home)
    assert newest.path == oldest.path
    assert cache.gc(f"{home}?budget={newest.bytes + second.bytes}").evicted == last.bytes
    assert {one.path for one in kept_columns.kept_files(home)} == {newest.path, second.path}
    assert cache.rm(tree, home=home) > 0
    assert not [
        path
        for path in (tmp_path / "home-trees").rglob("*")
        if path.is_file() and path.parent.name != ".used"
    ]


def test_what_killed_processes_used_can_be_removed(tmp_path, tree):
    code = (
        "import sys, os, colonnade\n"
        "data_set = colonnade.open(sys.argv[1], cache=sys.argv[2])\n"
        "data_set['run']\n"
        "os.kill(os.getpid(), 9)\n"
    )
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", code, str(tree), str(home)], check=False)
    assert len(list((tmp_path / "home-trees" / ".used").glob("*.uses"))) == 1
    assert cache.gc(f"{home}?budget=1").evicted > 0
    assert kept_columns.kept_files(str(home)) == []
    assert not list((tmp_path / "home-trees" / ".used").glob("*.uses"))


def test_the_garbage_collector_never_waits_for_the_lock_of_a_cache(tmp_path):
    base = str(tmp_path)
    uses = kept_columns._Uses.of(base)
    for name in ("a", "b"):
        uses.add(f"{base}/{name}")
    with kept_columns._Uses.locked(base):
        uses.drop({f"{base}/a"})  # what the collector may do anywhere in this thread
        assert kept_columns._Uses.all_of(base) == {f"{base}/a", f"{base}/b"}
    uses.add(f"{base}/c")
    with kept_columns._Uses.locked(base):
        assert kept_columns._Uses.all_of(base) == {f"{base}/b", f"{base}/c"}


@pytest.mark.parametrize("others", [False, True])
def test_columns_of_trees_are_removed_whatever_else_is_there(tmp_path, tree, others):
    home = str(tmp_path / "home")
    plain = tmp_path / "plain.root"
    with colonnade.create(plain, "Plain", {"x": "double"}) as writer:
        writer.extend({"x": np.arange(100.0)})
    assert colonnade.open(tree, cache=home)["run"] is not None
    if others:
        assert colonnade.open(plain, cache=home)["x"] is not None
        assert cache.flush()
    with pytest.raises(colonnade.UnsupportedError, match="cannot be pinned"):
        cache.pin(tree, home=home)
    assert cache.rm(tree, home=home) > 0
    assert [one.uri for one in cache.ls(home)] == [str(plain)] * others
    with pytest.raises(colonnade.FileMissingError, match="has nothing of"):
        cache.rm(tree, home=home)


def test_a_tree_that_changed_is_imported_again(tmp_path, tree):
    home = str(tmp_path / "home")
    before = DataFrame("Events", str(tree), cache=home).sum("run").value
    time.sleep(0.01)
    random_tree_of_names(tree, factor=3)
    assert DataFrame("Events", str(tree), cache=home).sum("run").value == 3 * before
    assert cache.gc(home).outdated > 0


def test_damaged_files_of_a_cache_are_imported_again(tmp_path, tree):
    home = str(tmp_path / "home")
    expected = DataFrame("Events", str(tree), cache=home).sum("run").value
    random = np.random.default_rng(2)
    for turn in range(12):
        (kept,) = kept_columns.kept_files(home)
        damaged = bytearray(Path(kept.path).read_bytes())
        if turn < 3:
            damaged = damaged[: len(damaged) * turn // 2] + bytes(turn)
        else:
            damaged[random.integers(0, len(damaged))] ^= 1 << random.integers(0, 8)
        Path(kept.path).write_bytes(damaged)
        assert DataFrame("Events", str(tree), cache=home).sum("run").value == expected
    assert cache.verify(home).damaged == 0


def test_damaged_files_of_a_cache_are_found(tmp_path, tree):
    home = str(tmp_path / "home")
    expected = DataFrame("Events", str(tree), cache=home).sum("run").value
    (kept,) = kept_columns.kept_files(home)
    damaged = bytearray(Path(kept.path).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    Path(kept.path).write_bytes(damaged)
    assert cache.verify(home).damaged == 1
    assert kept_columns.kept_files(home) == []
    assert cache.verify(home).damaged == 0
    assert DataFrame("Events", str(tree), cache=home).sum("run").value == expected


def test_a_cache_that_cannot_be_written_is_none(tmp_path, tree):
    (tmp_path / "home-trees").write_text("in the way")
    assert DataFrame("Events", str(tree), cache=str(tmp_path / "home")).sum("run").value == sum(range(1000))


def test_a_file_that_cannot_be_read_is_not_one_that_cannot_be_written(tree, monkeypatch):
    data = colonnade.open(tree)

    def fail(*_: object) -> None:
        raise colonnade.StorageError("the file cannot be read: Too many open files", uri=str(tree))

    monkeypatch.setattr(tree_columns._TreeFile, "write", fail)
    with pytest.raises(colonnade.StorageError, match=r"^the file cannot be read"):
        data["met"]
    monkeypatch.undo()
    assert len(data["met"]) == data.num_entries


def test_processes_that_are_killed_leave_nothing_wrong(tmp_path, tree):
    home = str(tmp_path / "home")
    code = (
        "import sys, colonnade\n"
        "print('ready', flush=True)\n"
        "print(colonnade.DataFrame('Events', sys.argv[1], cache=sys.argv[2]).sum('Muon_pt[Muon_pt > 0].size()'))\n"
    )
    random = np.random.default_rng(3)
    for _ in range(6):
        command = [sys.executable, "-c", code, str(tree), home]
        with running(command) as child:
            child.stdout.readline()
            time.sleep(random.uniform(0, 0.3))
            child.send_signal(signal.SIGKILL)
    expected = colonnade.open(tree)["Muon_pt"]
    same(colonnade.open(tree, cache=home)["Muon_pt"], expected)
    assert cache.verify(home).damaged == 0


def test_folders_of_killed_processes_are_removed(tmp_path, tree):
    code = "import sys, os, colonnade; colonnade.open(sys.argv[1])['run']; os.kill(os.getpid(), 9)"
    environment = dict(os.environ, TMPDIR=str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    subprocess.run([sys.executable, "-c", code, str(tree)], check=False, env=environment)
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    code = "import sys, colonnade; colonnade.open(sys.argv[1])['run']"
    subprocess.run([sys.executable, "-c", code, str(tree)], check=True, env=environment)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_tree_that_is_replaced_while_it_is_read(tmp_path, tree):
    data_set = colonnade.open(tree)
    random_tree_of_names(tree, entries=10)
    with pytest.raises(colonnade.FormatError, match="open it again"):
        data_set["run"]


def test_fields_are_found_by_the_names_of_branches(tmp_path):
    path = tmp_path / "dots.root"
    names = ["Info.x", "Info.y", "Info_y"]
    with uproot.recreate(path) as file:
        tree = file.mktree("t", dict.fromkeys(names, np.int32))
        tree.extend({name: np.arange(3, dtype=np.int32) * k for k, name in enumerate(names, 1)})
    opened = colonnade.open(path)
    assert [opened[name].to_list() for name in names] == [[0, 1, 2], [0, 2, 4], [0, 3, 6]]
    assert opened["Info_y_"].to_list() == [0, 2, 4]
    assert opened.arrays(names[:2]).fields == ["Info_x", "Info_y_"]
    assert opened.select("Info.x").field_names == ["Info_x"]
    with pytest.raises(colonnade.NotFoundError, match=r"Info\.z"):
        opened["Info.z"]


# ---- Trees with the same branches

KINDS = {"run": "int32", "met": "float64", "Muon_pt": "var * float32", "flags": "3 * uint8"}


def tree_of(path, entries, kinds=KINDS, *, title=""):
    """A tree of plain branches, with seven entries in a basket."""
    random = np.random.default_rng(entries)
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", kinds, title=title)
        for start in range(0, entries, 7):
            count = min(7, entries - start)
            sizes = random.integers(0, 4, count)
            made = {
                name: ak.unflatten(random.normal(size=sizes.sum()), sizes)
                if kind.startswith("var")
                else random.integers(0, 99, (count, *([int(kind[0])] if "*" in kind else [])))
                for name, kind in kinds.items()
            }
            tree.extend(made)
    return str(path)


@pytest.fixture
def planned(monkeypatch):
    """The entries of trees that were planned by themselves."""
    found = []
    plan = shared_plans._fields_of

    def noted(tree):
        found.append(tree.num_entries)
        return plan(tree)

    monkeypatch.setattr(shared_plans, "_fields_of", noted)
    return found


def test_trees_with_the_same_branches_share_a_plan(tmp_path, planned):
    entries = [30, 0, 7, 100, 30]
    files = [
        tree_of(tmp_path / f"{number}.root", each, title=f"{number}") for number, each in enumerate(entries)
    ]
    data = colonnade.open(files)
    for name in KINDS:
        expected = [each for one in files for each in uproot.open(one)["Events"][name].array().tolist()]
        assert data[name].tolist() == expected
    assert DataFrame("Events", files).count().value == sum(entries)
    assert planned == [30, 30]


def test_data_frames_follow_the_friends_that_are_stored_with_trees(tmp_path, monkeypatch):
    """As ROOT does; those that cannot be opened, or have other entries, are left out with a warning."""
    path = str(FIXTURES / "trees" / "friends.root")
    shutil.copy(path, tmp_path / "friends.root")
    monkeypatch.chdir(tmp_path)
    with uproot.recreate("more.root") as file:
        file.mktree("More", {"w": "int32"}).extend({"w": np.arange(5) * 10})
    with pytest.warns(colonnade.LeftOutWarning, match=r"'Short\.\*' .*5"):
        frame = DataFrame("Events", "friends.root")
    assert frame.column_names == ["x", "Same.y", "again.y", "w"]
    assert frame.sum("x + Same.y + again.y + More.w").value == 130
    with pytest.warns(colonnade.LeftOutWarning, match="Short"):
        assert list(map(str, ROOT.RDataFrame("Events", "friends.root").GetColumnNames())) == [
            "More.w",
            "Same.y",
            "again.y",
            "x",
        ]
    given = dict.fromkeys(("Same", "Short", "More"), ("Same", path))
    assert DataFrame("Events", ["friends.root"], friends=given).sum("More.y + again.y").value == 20
    Path("more.root").unlink()
    with pytest.warns(colonnade.LeftOutWarning) as found:
        assert DataFrame("Events", "friends.root").column_names == ["x", "Same.y", "again.y"]
    assert ["Short" in str(found[0].message), "More" in str(found[1].message)] == [True, True]
    assert colonnade.open("friends.root:Events").keys() == ["x"]


@pytest.mark.parametrize("name", ["counted_members", "member_arrays"])
def test_trees_with_the_same_classes_share_a_plan(tmp_path, planned, name):
    source = FIXTURES / "trees" / f"{name}.root"
    files = [str(shutil.copy(source, tmp_path / f"{number}.root")) for number in range(3)]
    data = colonnade.open(files)
    assert len(planned) == 1
    alone = colonnade.open(str(source))
    for column in alone.keys():  # noqa: SIM118
        assert repr(data[column].tolist()) == repr(3 * alone[column].tolist())


def test_the_counts_of_nested_lists_tell_whether_uproot_reads_them():
    random = np.random.default_rng(1)
    with tree_files.opened(str(TREE)) as file:
        _, tree = tree_files.find_tree(file, str(TREE), "Events")
        leaves = [leaf for leaf in tree_schema.plan_fields(tree, lambda _: True).leaves() if leaf.nested]
        assert nested_lists.are_sound(tree, leaves, 40) == {leaf.path for leaf in leaves}
        sound = 0
        for leaf in leaves:
            basket = leaf.branch.basket(0)
            model = leaf.interpretation.model
            for begin, end in itertools.pairwise(basket.byte_offsets.tolist()):
                for _ in range(10):
                    values = basket.data[begin:end].copy()
                    values[random.integers(len(values))] ^= 1 << random.integers(8)
                    try:
                        is_sound = leaf.nested(values.tobytes(), 0) == len(values)
                    except (ValueError, IndexError, struct.error):
                        is_sound = False
                    if is_sound:  # it does not fail
                        place = Chunk.wrap(file.file.source, values), Cursor(0), {}
                        model.read(*place, file.file, file.file, None)
                    sound += is_sound
        assert len(leaves) > 1
        assert sound > 10


@pytest.mark.parametrize(
    "kinds",
    [
        KINDS | {"met": "float32"},
        KINDS | {"run": "uint32"},
        KINDS | {"flags": "4 * uint8"},
        KINDS | {"flags": "uint8"},
        KINDS | {"more": "int8"},
        {"met" if name == "run" else "run" if name == "met" else name: kind for name, kind in KINDS.items()},
        {name.replace("met", "mett"): kind for name, kind in KINDS.items()},
        {name: KINDS[name] for name in ("run", "met", "Muon_pt")},
    ],
    ids=str,
)
def test_trees_with_other_branches_have_plans_of_their_own(tmp_path, planned, kinds):
    files = [(tree_of(tmp_path / "first.root", 20), ""), (tree_of(tmp_path / "second.root", 2, kinds), "")]
    both = tree_columns.TreeColumns.of(files, otherwise=colonnade.NotFoundError("none"))
    assert planned == [20, 2]
    alone = tree_columns.TreeColumns.of(files[1:], otherwise=colonnade.NotFoundError("none"))
    assert both._trees[1].plan.schema() == alone._trees[0].plan.schema()
    brought = colonnade.open(both.fetch(["run"], lambda _: None)[1])
    assert brought["run"].tolist() == uproot.open(files[1][0])["Events/run"].array().tolist()


def test_a_tree_whose_baskets_are_not_in_order_is_planned_by_itself(tmp_path, planned):
    """It has the branches of the other one, but one of them cannot be read."""
    files = [tree_of(tmp_path / f"{number}.root", 20) for number in range(2)]
    begins = [number.to_bytes(8, "big") for number in (0, 7, 14, 20)]
    content = Path(files[1]).read_bytes()
    changed = content.replace(b"".join(begins), b"".join([begins[0], begins[2], begins[1], begins[3]]), 1)
    assert changed != content
    Path(files[1]).write_bytes(changed)
    with pytest.warns(colonnade.LeftOutWarning, match="'run'.*not in the order of entries"):
        data = colonnade.open(files, missing="fill")
    assert planned == [20, 20]
    assert data["met"].tolist() == [
        each for one in files for each in uproot.open(one)["Events/met"].array().tolist()
    ]


def dumped(found, seen):
    """An object of uproot, with all that it has."""
    if not isinstance(found, uproot.Model):
        return found.tolist() if isinstance(found, np.ndarray) else repr(type(found))
    if id(found) in seen:
        return type(found).__name__
    seen[id(found)] = found
    members = {name: dumped(each, seen) for name, each in found.members.items()}
    values = {name: each for name, each in found.members.items() if isinstance(each, int | float | str)}
    items = [dumped(each, seen) for each in getattr(found, "_data", ())]
    return (
        type(found).__name__,
        found.num_bytes,
        members,
        values,
        items,
        [dumped(each, seen) for each in found.bases],
    )


def keys_of_trees(path):
    with tree_files.opened(path) as file:
        names = [name for name in file.keys(recursive=True) if file.key(name).fClassName in tree_files.TREES]
        for name in names:
            yield file, name


def test_branches_that_are_read_late_are_those_of_uproot(tmp_path):
    seen = 0
    for path in [*(FIXTURES / "trees").glob("*.root"), tree_of(tmp_path / "made.root", 30)]:
        for file, name in keys_of_trees(str(path)):
            theirs = check_key(file.key(name)).get()
            mend_baskets(theirs.branches)
            patterns = []
            for _ in range(2):
                tree = late_branches.read_tree(check_key(file.key(name)), patterns)
                mend_baskets(tree.branches)
                if late_branches.structure_of(tree) is not None:
                    patterns = [late_branches.pattern_of(tree)]
                found = next((each.late.all for each in tree.branches if each.late is not None), [])
                seen += len(found)
                assert [each.name for each in tree.branches] == [each.name for each in theirs.branches]
                for each in reversed(found):
                    assert each._members
                    assert type(each) not in late_branches.LATE
                ours, others = ([dumped(each, {}) for each in one.branches] for one in (tree, theirs))
                assert ours == others
    assert seen > 100


@pytest.mark.parametrize("name", ["", "arrays_of_one"])
def test_damaged_trees_are_read_as_by_uproot(tmp_path, name):
    """A byte that is another one is seen where uproot sees it, with and without a pattern of the tree."""
    path = str(FIXTURES / "trees" / f"{name}.root") if name else tree_of(tmp_path / "made.root", 30)
    random = np.random.default_rng(1)
    with tree_files.opened(path) as file:
        tree = late_branches.read_tree(check_key(file.key("Events")))
        mend_baskets(tree.branches)
        patterns = [late_branches.pattern_of(tree)]
        content = np.array(tree.chunk.raw_data)
        file.file.object_cache = None
        for _ in range(60):
            damaged = content.copy()
            damaged[random.integers(len(damaged))] ^= 1 << random.integers(8)
            outcomes = []
            for given in (None, [], patterns):
                key = file.key("Events")
                chunk, cursor = key.get_uncompressed_chunk_cursor()
                chunk = Chunk.wrap(chunk.source, damaged)
                key.get_uncompressed_chunk_cursor = lambda chunk=chunk, cursor=cursor: (chunk, cursor.copy())
                try:
                    tree = key.get() if given is None else late_branches.read_tree(key, given)
                    mend_baskets(tree.branches)
                    plan = tree_schema.plan_fields(tree, lambda _: True)
                    outcomes.append((repr(plan.schema()), repr(plan.unreadable), plan.titles()))
                except Exception as error:  # uproot has no common class of errors
                    outcomes.append(type(error))
            assert outcomes[0] == outcomes[1] == outcomes[2]


def test_columns_of_variations_have_values_where_they_passed():
    path = str(FIXTURES / "trees" / "variations.root")
    with pytest.warns(UserWarning, match="the columns e, v, v__shift_down and 4 others of ROOT's snapshot"):
        frame = DataFrame("t", path)
    passed = frame.filter_available("x").take("x").value
    assert passed.tolist() == [0, 10, 20, 30, 40, 80, 90]
    up = frame.filter_available("x__shift_up").take("x__shift_up").value
    assert up.tolist() == [0.5, 10.5, 20.5, 30.5, 40.5, 70.5, 80.5, 90.5]
    assert frame.filter_missing("x").count().value == 2
    filled = frame.default_value_for("x", -1).default_value_for("v", [])
    assert filled.column_type("x") == "float"
    assert filled.take("x").value.tolist() == [0, 10, 20, 30, 40, -1, -1, 80, 90]
    assert filled.take("v").value.tolist() == [[0], [10], [20], [30], [40], [], [], [80], [90]]
    assert frame.redefine("x", "1").filter_available("x").count().value == 9
    with pytest.warns(UserWarning, match="the columns e"):
        chain = ROOT.RDataFrame("t", [path, path])
    assert chain.FilterAvailable("x").Count().GetValue() == 14


def test_masks_that_cannot_be_read_are_refused():
    path = str(FIXTURES / "trees" / "variations.root")
    with tree_files.opened(path) as file:
        key = file.key("R_rdf_column_to_bitmask_mapping_t")
        content = bytes(key.get_uncompressed_chunk_cursor()[0].raw_data)
        good = masks.masks_of(file, "t", ["R_rdf_mask_t_0"])
        assert good["x__shift_up"] == ("R_rdf_mask_t_0", 2)
        assert masks.masks_of(file, "t", ["x"]) == masks.masks_of(file, "u", ["R_rdf_mask_t_0"]) == {}
    for end in range(len(content)):
        with pytest.raises(IndexError):
            masks._read(content[:end])


def test_columns_of_lorentz_vectors_are_vectors(tmp_path):
    frame = ROOT.RDataFrame("t", str(FIXTURES / "trees" / "vectors.root"))
    frame = frame.Define("m", "l.M()").Define("pt", "l.Pt()").Define("r", "s.Mag()").Define("sum", "l + l")
    frame = frame.Define("e", "many.E()").Define("masses", "many.M()").Define("total", "Sum(many).Pz()")
    taken = {name: frame.Take(name).GetValue().tolist() for name in ("m", "pt", "r", "e", "masses", "total")}
    assert taken == {
        "m": [0, 12, 24, 36],
        "pt": [0, 5, 10, 15],
        "r": [0, 3, 6, 9],
        "e": [[], [0], [0, 5], [0, 5, 10]],
        "masses": [[], [0], [0, 4], [0, 4, 8]],
        "total": [0, 0, 3, 9],
    }
    assert frame.Define("twice", "sum.E()").Take("twice").GetValue().tolist() == [0, 26, 52, 78]
    written = frame.AsDataFrame().snapshot(tmp_path / "s.root", "t", ["l", "sum", "many"])
    again = written.define("m", "l.M()").define("two", "sum.E()").define("e", "many.E()")
    assert again.take("m").value.tolist() == [0, 12, 24, 36]
    assert again.take("two").value.tolist() == [0, 26, 52, 78]
    assert again.take("e").value.tolist() == [[], [0], [0, 5], [0, 5, 10]]
