"""What a person who knows ROOT, uproot and Polars tries first."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
import zipfile

import awkward as ak
import hist
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from locations import FIXTURES

import colonnade

TREES = next((FIXTURES / "trees").glob("many_branches.root"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.root"
    jets = ak.Array(
        [[{"pt": 1.5, "eta": 0.5}], [], [{"pt": 2.5, "eta": -1.0}, {"pt": 3.5, "eta": 2.0}]] * 100
    )
    with colonnade.create(path, "Events") as writer:
        writer.extend(
            {"id": np.arange(300), "x": np.linspace(0, 1, 300), "name": ["a", "bc", ""] * 100, "jets": jets}
        )
    return path


# ---- A data set


def test_a_data_set_is_a_mapping_of_its_fields(file):
    events = colonnade.open(file)
    assert events.keys() == list(events) == ["id", "x", "name", "jets"]
    assert "x" in events
    assert "jets.pt" in events
    assert "nothing" not in events
    assert 3 not in events
    assert len(events) == 4
    assert events
    assert events.keys(recursive=True) == ["id", "x", "name", "jets", "jets.pt", "jets.eta"]
    assert events._ipython_key_completions_() == events.keys(recursive=True)


def test_data_sets_convert_to_what_people_use(file):
    events = colonnade.open(file)
    assert events.to_pandas(["id", "x"]).shape == (300, 2)
    polars = events.to_polars()
    assert polars["jets"].to_list() == events["jets"].to_list()
    assert events.arrays("id", library="pl")["id"].to_list() == list(range(300))
    assert events.to_arrow("id").num_rows == 300
    assert events.to_numpy("id")["id"].dtype == np.int64
    assert ak.to_list(events.head(2, "name")) == [{"name": "a"}, {"name": "bc"}]
    assert len(events.head(library="pd")) == 5


def test_only_what_users_need_is_completed():
    assert "open" in dir(colonnade)
    assert not {"annotations", "awkward_arrays", "columns", "rows"} & set(dir(colonnade))


def test_a_file_with_trees_only(run):
    assert colonnade.open(TREES).num_entries == colonnade.open(TREES, "Events").num_entries == 40
    status, out, err = run("verify", TREES)
    assert (status, out) == (1, "")
    assert "only TTrees" in err
    status, out, _ = run("info", TREES)
    assert status == 0
    assert "TTree 'Events'" in out


def test_habits_from_uproot(file):
    events = colonnade.open(file)
    assert {name: len(array) for name, array in events.items()} == dict.fromkeys(events, 300)
    assert [len(array) for array in events.values()] == [300] * 4
    assert events.typenames(recursive=True)["jets.pt"] == "double"
    assert events[["id", "x"]].fields == ["id", "x"]
    for use, kind, advice in (
        (lambda: events[0], TypeError, "head()"),
        (lambda: events[:5], TypeError, "entry_start=0"),
        (lambda: events.x, AttributeError, "ds['x']"),
        (lambda: events["x > 0"], LookupError, "take('x > 0') for an expression"),
        (lambda: events["Events"], LookupError, "name of this data set"),
        (lambda: events.arrays("x", library="pandas"), ValueError, "try: 'pd'"),
        (lambda: events.arrays("id, x"), LookupError, "a list of names: ['id', 'x']"),
        (lambda: events.arrays("ID"), LookupError, "did you mean id?"),
        (lambda: events.arrays(["x"], 0, 10), TypeError, "entry_start=0"),
        (lambda: events.columns, AttributeError, "field_names"),
        (lambda: events.filter("x > 0"), AttributeError, "colonnade.DataFrame(ds).filter(condition)"),
        (lambda: colonnade.open("Events", "f.root"), ValueError, "open('f.root', 'Events', ...)"),
        (lambda: colonnade.iterate, AttributeError, "colonnade.open(files).iterate()"),
        (lambda: colonnade.recreate, AttributeError, "colonnade.create"),
        (lambda: colonnade.nothing, AttributeError, "has no 'nothing'"),
    ):
        with pytest.raises(kind, match=re.escape(advice)):
            use()
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = events.nothing
    assert repr(colonnade.open([file])).startswith("<Chain 'Events' of 1 file '")


def test_what_a_program_does_not_use_is_not_imported():
    code = (
        "import sys, colonnade\n"
        "assert not {'colonnade.frame', 'colonnade.importing', 'concurrent.futures', 'subprocess'} & set(sys.modules)\n"
        "assert colonnade.frame.DataFrame is colonnade.DataFrame\n"
        "from colonnade import *\n"
        "assert all(name in globals() for name in colonnade.__all__)\n"
        "assert colonnade.RDataFrame.__module__ == 'colonnade.frame.root.facade'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_habits_from_pandas_and_polars(file, tmp_path):
    frame = colonnade.DataFrame("Events", file)
    assert frame.to_pandas(["id", "x"])["x"].sum() == pytest.approx(150)
    assert frame.filter("x > 2").to_pandas().shape == (0, 4)
    assert frame.to_polars("jets")["jets"].to_list() == frame.to_awkward("jets").jets.to_list()
    assert frame
    assert "jets.pt" in frame
    assert "nothing" not in frame
    assert 3 not in frame
    for use, kind, advice in (
        (lambda: frame["x"], TypeError, "take('x')"),
        (lambda: frame.x, AttributeError, "take('x')"),
        (lambda: frame.columns, AttributeError, "column_names"),
        (lambda: frame.nothing, AttributeError, "has no attribute 'nothing'"),
        (lambda: len(frame), TypeError, "count()"),
        (lambda: list(frame), TypeError, "not iterable"),
        (lambda: frame.snapshot("Events", "g.root"), ValueError, "snapshot('g.root', 'Events'"),
        (lambda: colonnade.DataFrame(str(file), "Events"), ValueError, "DataFrame('Events', "),
        (lambda: frame.histo1d(hist.Hist.new.Reg(5, 0, 1).Double(), "x"), ValueError, "fill(histogram, x)"),
        (
            lambda: frame.define("y", lambda x: 1, returns=int).sum("y").value,
            TypeError,
            "one value of type int",
        ),
    ):
        with pytest.raises(kind, match=re.escape(advice)):
            use()
    assert not (tmp_path / "Events").exists()


# ---- Results


def test_a_frame_says_which_data_set_it_found(file):
    assert repr(colonnade.DataFrame(str(file))).startswith("<DataFrame of 'Events' in")


def test_numbers_stand_for_their_values(file):
    frame = colonnade.DataFrame("Events", file)
    count, mean = frame.count(), frame.mean("x")
    assert count == 300
    assert count != 299
    assert 299 < count <= 300
    assert count > frame.range(10).count()
    assert count == frame.count()
    assert bool(count)
    assert not frame.filter("x > 2").count()
    assert int(count) == 300
    assert float(mean) == pytest.approx(0.5)
    assert f"{mean:.2f}" == "0.50"
    assert f"{count}" == str(count) == "300"
    assert count is not None
    assert (count + 1, 1 - count, count * 2, 600 / count) == (301, -299, 600, 2.0)
    assert frame.sum("x") / count == pytest.approx(0.5)
    assert (-count, abs(-1 * mean), round(mean, 1)) == (-300, pytest.approx(0.5), 0.5)
    assert np.float64(2) * mean == pytest.approx(1.0)
    assert np.sqrt(count) == np.sqrt(300)
    assert (np.array([1, 2]) * count).tolist() == [300, 600]
    assert len({count, frame.count()}) == 2


def test_a_copy_is_the_same_node_or_result(file):
    frame = colonnade.DataFrame("Events", file)
    passed = copy.copy(frame.filter("x > 0.5"))
    assert frame.filter("x < 0.1").count() == 30
    count = passed.count()
    assert copy.copy(count) is count
    del passed
    assert count.value == 150
    assert copy.copy(colonnade.RDataFrame("Events", str(file)).Filter("x > 0.5")).Count().GetValue() == 150


def test_what_has_no_one_meaning_is_refused(file):
    histogram = colonnade.DataFrame("Events", file).histo1d(("", "", 10, 0, 1), "x")
    for use in (bool, float, lambda each: each < 3, lambda each: each + 1, np.asarray, lambda each: -each):
        with pytest.raises(colonnade.TypeMismatchError, match="is ambiguous"):
            use(histogram)


def test_what_only_a_value_has_is_said(file):
    frame = colonnade.DataFrame("Events", file)
    values = frame.take("id")
    assert (values == 3).sum() == 1
    assert (values != 3).sum() == 299
    with pytest.raises(TypeError, match=re.escape("take(id).value[...]")):
        values[0]
    with pytest.raises(TypeError, match="not iterable"):
        list(values)
    with pytest.raises(AttributeError, match=r"try: \.value\.plot"):
        frame.histo1d("x").plot()


def test_a_cut_flow_has_names(file):
    report = colonnade.DataFrame("Events", file).filter("x > 0.5", name="half").report().value
    assert "half" in report
    assert "quarter" not in report
    assert report[0] in report


# ---- Models of histograms


def test_titles_are_split_as_in_root(file):
    frame = colonnade.DataFrame("Events", file)
    model = ("m", "mass;m [GeV];entries", 10, 0, 1)
    made = frame.histo1d(model, "x").value
    assert (made.label, made.axes[0].label, made.axes[0].name) == ("mass", "m [GeV]", "x")
    profile = frame.profile1d(model, "x", "id").value
    assert (profile.label, profile.axes[0].label) == ("mass", "m [GeV]")
    view = colonnade.RDataFrame("Events", str(file)).Histo1D(model, "x").GetValue()
    assert view.GetTitle() == "mass"
    assert view.GetXaxis().GetTitle() == "m [GeV]"
    assert view.GetYaxis().GetTitle() == "entries"
    plain = frame.histo1d(("m", "a#;b", 10, 0, 1), "x").value
    assert (plain.label, plain.axes[0].label) == ("a;b", "x")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("x", "with 1 axis is a tuple, not the text 'x'"),
        (("a", 10, 0, 1), "begins with two strings, its name and its title"),
        (("a", "b", "c", 10, 0, 1), "begins with two strings"),
        (("a", "b", 10), "with 1 axis cannot be"),
    ],
)
def test_wrong_models_say_what_is_wrong(file, model, problem):
    with pytest.raises(colonnade.UsageError, match=problem):
        colonnade.DataFrame("Events", file).histo1d(model, "x")


def test_wrong_options_name_the_right_one(file, tmp_path):
    frame = colonnade.DataFrame("Events", file)
    with pytest.raises(
        colonnade.UsageError, match="a snapshot has no option 'compresion'; try: 'compression'"
    ):
        frame.snapshot(tmp_path / "out.root", compresion="lz4")
    with pytest.raises(colonnade.UsageError, match="a copy has no option 'durabilty'; try: 'durability'"):
        colonnade.copy(file, tmp_path / "out.root", durabilty="machine")


# ---- Places


def test_the_data_frame_takes_places_as_open_does(file):
    for frame in (
        colonnade.DataFrame("Events", f"{file}:Events"),
        colonnade.DataFrame("", [f"{file}:Events", str(file)]),
        colonnade.DataFrame(f"{file}:Events"),
        colonnade.DataFrame(str(file)),
    ):
        assert frame.count().value in (300, 600)
    with pytest.raises(colonnade.UsageError, match=r"the data set is 'Events', but .* names 'Runs'"):
        colonnade.DataFrame("Events", f"{file}:Runs")
    with pytest.raises(colonnade.UsageError, match="without files"):
        colonnade.DataFrame("Events")


# ---- The terminal


def test_commands_take_places(run, file):
    place = f"{file}:Events"
    assert "Events: 300 entries, 1 cluster, " in run("info", place)[1]
    assert run("show", place, "--entries", "0:1")[1].startswith("0: {")
    assert run("verify", place)[0] == 0
    assert "named twice" in run("show", place, "Runs")[2]


def test_verify_of_a_name_that_is_not_there(run, file):
    status, _, err = run("verify", file, "bogus")
    assert status == 1
    assert "damaged" not in err
    assert "there is no data set" in err


def test_info_draws_a_tree(run, file):
    out = run("info", file, "--all")[1]
    assert "├─ " in out or "└─ " in out
    assert "└─ eta" in out
    assert "█" in out
    only = run("info", file, "--fields", "x,id")[1]
    assert "jets" not in only


def test_names_are_never_broken(run, tmp_path, monkeypatch):
    name = "a_name_that_goes_on_" * 10
    with colonnade.create(tmp_path / "long.root", "Events") as writer:
        writer.extend({name: np.arange(3)})
    monkeypatch.setenv("COLUMNS", "80")
    assert name in run("info", tmp_path / "long.root")[1]


def test_show_puts_long_entries_on_lines_of_their_own(run, tmp_path):
    with colonnade.create(tmp_path / "long.root", "Events") as writer:
        writer.extend({"v": [list(range(100))] * 2, "id": [1, 2]})
    lines = run("show", tmp_path / "long.root")[1].splitlines()
    assert [line.split(":")[0].strip().strip('"') for line in lines] == ["0", "v", "id", "1", "v", "id"]


def test_show_draws_a_histogram(run, file):
    status, out, _ = run("show", file, "--histogram", "jets.pt", "--bins", "4")
    assert status == 0
    head, *bars = out.splitlines()
    assert head.startswith("jets.pt: 300 values, mean 2.5")
    assert [int(line.split()[-1]) for line in bars] == [100, 0, 100, 100]
    assert (
        sum(int(line.split()[-1]) for line in run("show", file, "--histogram", "2 * x")[1].splitlines()[1:])
        == 300
    )


def test_diff_finds_every_kind_of_difference(run, file, tmp_path):
    other = tmp_path / "g.root"
    events = colonnade.open(file)
    arrays = {name: events[name] for name in events}
    changed = ak.to_numpy(arrays["x"]).copy()
    changed[7] = -0.0
    with colonnade.create(other, "Events") as writer:
        writer.extend(
            {
                "id": ak.values_astype(arrays["id"], np.int32),
                "x": changed,
                "jets": arrays["jets"],
                "n": changed,
            }
        )
    assert run("diff", file, file) == (0, "the same: 4 fields, 300 entries\n", "")
    status, out, _ = run("diff", file, other)
    assert status == 1
    lines = out.splitlines()
    assert "- name: std::string" in lines
    assert "+ n: double" in lines
    assert "! id: std::int64_t -> std::int32_t" in lines
    assert any(line.startswith("! x: 1 value of 300 differ, first at entry 7") for line in lines)
    assert run("diff", file, other, "--fields", "jets")[0] == 0
    assert run("diff", file, other, "--fields", "x", "--schema")[0] == 0


def a_one(tag):
    parts = [pa.array([1], pa.int32()), pa.array([1], pa.int64())]
    return pa.UnionArray.from_dense(pa.array([tag], pa.int8()), pa.array([0], pa.int32()), parts)


@pytest.mark.parametrize(
    ("spec", "one", "two", "says"),
    [
        ("std::variant<int,double>", [1], [1.0], "{'_0': 1} -> {'_1': 1.0}"),
        ("std::variant<int,bool>", [1], [True], "{'_0': 1} -> {'_1': True}"),
        ("std::variant<int,std::int64_t>", a_one(0), a_one(1), "{'_0': 1} -> {'_1': 1}"),
        (
            "std::optional<std::variant<std::int64_t,double>>",
            [2**53],
            [2**53 + 1],
            "{'_0': 9007199254740992} -> {'_0': 9007199254740993}",
        ),
    ],
)
def test_diff_sees_types_of_variants(run, tmp_path, spec, one, two, says):
    for name, column in (("a.root", one), ("b.root", two)):
        with colonnade.create(tmp_path / name, "Events", {"v": spec}) as writer:
            writer.extend({"v": column})
            writer.fill(v=0.5 if "double" in spec else 0)
    status, out, _ = run("diff", tmp_path / "a.root", tmp_path / "b.root")
    assert (status, out) == (1, f"! v: 1 value of 2 differ, first at entry 0: {says}\n")


ANY_FLOAT = st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")])
ANY_VALUE = {
    "double": ANY_FLOAT,
    "std::uint8_t": st.integers(0, 3),
    "bool": st.booleans(),
    "std::string": st.sampled_from(["", "a", "bc"]),
    "std::vector<float>": st.lists(ANY_FLOAT, max_size=2),
    "std::array<std::int16_t,2>": st.tuples(st.integers(-1, 1), st.integers(-1, 1)).map(list),
    "std::optional<double>": st.none() | ANY_FLOAT,
    "std::vector<std::vector<bool>>": st.lists(st.lists(st.booleans(), max_size=2), max_size=2),
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_diff_counts_what_a_loop_over_the_values_counts(run, monkeypatch, tmp_path_factory, data):
    def is_same(one, two):
        if isinstance(one, list):
            return len(one) == len(two) and all(map(is_same, one, two))
        return repr(one) == repr(two)

    spec = data.draw(st.sampled_from(sorted(ANY_VALUE)))
    mine = data.draw(st.lists(ANY_VALUE[spec], min_size=1, max_size=30))
    theirs = [data.draw(ANY_VALUE[spec]) if data.draw(st.integers(0, 9)) == 0 else value for value in mine]
    monkeypatch.setattr(sys.modules["colonnade.cli.diff"], "_BLOCK", data.draw(st.sampled_from([1, 7, 100])))
    files = [tmp_path_factory.mktemp("diff") / "f.root" for _ in range(2)]
    for file, values in zip(files, (mine, theirs), strict=True):
        with colonnade.create(file, "Events", {"v": spec}) as writer:
            for value in values:
                writer.fill(v=value)
    places = [place for place, pair in enumerate(zip(mine, theirs, strict=True)) if not is_same(*pair)]
    status, out, _ = run("diff", *files)
    assert status == bool(places)
    if places:
        first = (
            colonnade.open(files[0])["v"].tolist()[places[0]],
            colonnade.open(files[1])["v"].tolist()[places[0]],
        )
        amount = "1 value" if len(places) == 1 else f"{len(places)} values"
        expected = (
            f"! v: {amount} of {len(mine)} differ, first at entry {places[0]}: {first[0]!r} -> {first[1]!r}"
        )
        assert out.strip() == expected


def run_alone(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "colonnade", *map(str, arguments)],
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_terminals_without_the_letters_of_bars(file, encoding):
    for arguments in (["info", file, "--all"], ["show", file, "--histogram", "x", "--bins", "3"]):
        done = run_alone(*arguments, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert (done.returncode, done.stderr) == (0, b"")
        if encoding == "ascii":  # click writes UTF-8 there
            continue
        out = done.stdout.decode(encoding)
        assert ("#" in out) == (encoding != "utf-8")
        assert ("█" in out) == (encoding == "utf-8")


_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_names_of_files_that_python_does_not_encode_as_utf_8(file, tmp_path):
    done = run_alone("export", file, tmp_path / "é.csv", **_ASCII)
    assert done.returncode == 1
    assert b"PYTHONUTF8=1" in done.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_an_index_is_the_same_wherever_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with colonnade.create("f.root", "Événements") as writer:
        writer.extend({"x": [1, 2]})
    colonnade.open(["f.root", "./f.root"]).save_index("here")
    code = "import colonnade; colonnade.open(['f.root', './f.root'], index='here').save_index('there')"
    subprocess.run([sys.executable, "-c", code], env=os.environ | _ASCII, check=True)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_a_package_without_its_compiled_module_says_so(tmp_path):
    with zipfile.ZipFile(tmp_path / "colonnade.zip", "w") as archive:
        archive.write(colonnade.__file__, "colonnade/__init__.py")
    there = {"PYTHONPATH": str(tmp_path / "colonnade.zip")}
    command = [sys.executable, "-c", "import colonnade"]
    done = subprocess.run(command, env=os.environ | there, capture_output=True, check=False)
    assert b"colonnade.zip/colonnade has no compiled module for this Python" in done.stderr


def test_readers_that_have_seen_enough(file):
    command = f"{sys.executable} -m colonnade show {file} --entries 0:300 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0].startswith("0: {")


def test_errors_in_expressions_keep_their_mark(file):
    done = run_alone("show", file, "--histogram", "nope * 2")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[1:] == ["  nope * 2", "  ^~~~"]


def test_the_list_of_commands_is_read_whole():
    done = run_alone("--help")
    assert "..." not in done.stdout.decode().partition("Commands:")[2]


def test_ranges_without_entries_say_so(run, file):
    status, out, err = run("show", file, "--entries", "500:510")
    assert (status, out) == (0, "")
    assert "no entries in 500:510: there are 300" in err
    assert run("show", file, "--entries", "500:510", "--json") == (0, "[]\n", "")


def test_the_package_runs_as_a_module(file):
    done = subprocess.run(
        [sys.executable, "-m", "colonnade", "show", str(file), "--entries", "1", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)[0]["id"] == 1


def test_the_shell_completes_fields_and_data_sets(file):
    from click.shell_completion import ShellComplete

    from colonnade.cli import app

    complete = ShellComplete(app, {}, "colonnade", "_COLONNADE_COMPLETE")
    found = complete.get_completions(["show", str(file), "--fields"], "id,jets.")
    assert [each.value for each in found] == ["id,jets.pt", "id,jets.eta"]
    for command in (["merge", "none.root", str(file)], ["import", str(file)], ["export", str(file)]):
        assert [each.value for each in complete.get_completions([*command, "--columns"], "jets.p")] == [
            "jets.pt"
        ]
    assert [each.value for each in complete.get_completions(["info", str(file)], "Ev")] == ["Events"]


# ---- Export


def test_export_keeps_values_and_types(file, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    events = colonnade.open(file)
    expected = events.to_arrow()
    assert colonnade.export(file, tmp_path / "f.parquet", step_size=70) == 300
    assert pq.read_table(tmp_path / "f.parquet").to_pylist() == expected.to_pylist()
    colonnade.export(events, tmp_path / "f.arrow")
    with pa.ipc.open_file(tmp_path / "f.arrow") as opened:
        assert opened.read_all().to_pylist() == expected.to_pylist()
    colonnade.export(f"{file}:Events", tmp_path / "f.npz", columns=["id", "jets.pt", "jets", "name"])
    with np.load(tmp_path / "f.npz") as arrays:
        assert arrays["id"].tolist() == list(range(300))
        rebuilt = ak.unflatten(arrays["jets.pt"], np.diff(arrays["jets.pt.offsets"]))
        assert rebuilt.to_list() == events["jets.pt"].to_list()
        assert arrays["name"].tolist() == events["name"].to_list()
        assert len(arrays["jets.offsets"]) == 301
    colonnade.export(file, tmp_path / "f.csv", columns=["id", "name"])
    assert (tmp_path / "f.csv").read_text().splitlines()[:3] == ['"id","name"', '0,"a"', '1,"bc"']


def test_export_makes_dictionaries_of_what_repeats(tmp_path):
    """Of real numbers they would take twice as long and more space."""
    import pyarrow.parquet as pq

    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        lists = [[0.5], [0.25, 0.5]]
        writer.extend({"x": np.array([1.0, 2.0]), "v": lists, "n": np.array([1, 1]), "t": ["a", "b"]})
    colonnade.export(tmp_path / "f.root", tmp_path / "f.parquet")
    colonnade.export(tmp_path / "f.root", tmp_path / "x.parquet", columns=["x"])
    for name, expected in {"f.parquet": {"n", "t"}, "x.parquet": set()}.items():
        group = pq.ParquetFile(tmp_path / name).metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        assert {each.path_in_schema for each in columns if "RLE_DICTIONARY" in each.encodings} == expected


@pytest.mark.parametrize(
    ("spec", "values", "name", "problem"),
    [
        (
            "std::variant<int,float>",
            [1, 0.5],
            "parquet",
            "Parquet has no variants, and .* some: x; .* or Arrow",
        ),
        ("std::vector<std::variant<int>>", [[1], []], "parquet", "Parquet has no variants, and .* some: x"),
        (
            {"a": {}, "b": "int"},
            [{"a": {}, "b": 1}] * 2,
            "parquet",
            "Parquet cannot hold these columns: .* 'a'",
        ),
        ("std::variant<int,float>", [1, 0.5], "npz", "cannot hold the type of 'x'"),
        ("std::optional<int>", [1, None], "npz", "cannot hold the type of 'x'"),
        ("std::vector<std::string>", [["a", "b\0"], []], "npz", r"texts that end in '\\0', as in 'x'"),
    ],
)
def test_export_names_columns_that_a_format_cannot_hold(tmp_path, spec, values, name, problem):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": spec}) as writer:
        writer.extend([{"x": value} for value in values])
    with pytest.raises(colonnade.UnsupportedError, match=problem):
        colonnade.export(tmp_path / "f.root", tmp_path / f"f.{name}")
    assert [each.name for each in tmp_path.iterdir()] == ["f.root"]


def test_export_refuses_what_it_cannot_keep(file, tmp_path):
    with pytest.raises(colonnade.UnsupportedError, match="these columns are nested: jets"):
        colonnade.export(file, tmp_path / "f.csv")
    with pytest.raises(colonnade.UsageError, match="does not say which format to write"):
        colonnade.export(file, tmp_path / "f.xyz")
    colonnade.export(file, tmp_path / "f.parquet", columns="id")
    with pytest.raises(colonnade.UsageError, match="already exists"):
        colonnade.export(file, tmp_path / "f.parquet", columns="id")
    before = file.read_bytes()
    (tmp_path / "link").symlink_to(file)
    for place in (file, tmp_path / "link"):
        with pytest.raises(colonnade.UsageError, match="would replace the source"):
            colonnade.export(file, place, columns="id", format="csv", overwrite=True)
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(colonnade.UsageError, match="is not a file"):
            colonnade.export(file, place, columns="id", format="csv", overwrite=True)
    assert file.read_bytes() == before
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.parquet", "f.root", "link", "pipe"]


@pytest.mark.parametrize("ending", ["csv", "arrow", "parquet"])
def test_export_reports_that_closing_failed(file, tmp_path, capfd, ending):
    def close_early(done, total):
        folder = "/proc/self/fd"
        for number in os.listdir(folder) if done == total else ():
            link = f"{folder}/{number}"
            if os.path.islink(link) and os.readlink(link).endswith(".part"):
                os.close(int(number))

    with pytest.raises(colonnade.StorageError, match="cannot be written"):
        colonnade.export(file, tmp_path / f"f.{ending}", columns="id", progress=close_early)
    assert [path.name for path in tmp_path.iterdir()] == ["f.root"]
    assert capfd.readouterr().err == ""


def test_export_to_numpy_keeps_everything_or_says_so(tmp_path):
    path, table = tmp_path / "f.root", tmp_path / "f.npz"
    schema = {
        "file": "std::vector<std::vector<int>>",
        "allow_pickle": "int",
        "s": "std::string",
        "hits": [{"offsets": "int"}],
    }
    columns = ["file", "allow_pickle", "s"]
    with colonnade.create(path, "E", schema) as writing:
        writing.fill(file=[[1], [2, 3]], allow_pickle=7, s="a\0b", hits=[{"offsets": 77}])
    colonnade.export(path, table, columns=columns)
    with np.load(table) as arrays:
        assert {name: arrays[name].tolist() for name in arrays} == {
            "file.offsets": [0, 2],
            "file.offsets.1": [0, 1, 3],
            "file": [1, 2, 3],
            "allow_pickle": [7],
            "s": ["a\0b"],
        }
    with pytest.raises(colonnade.UnsupportedError, match=r"would be named 'hits\.offsets'"):
        colonnade.export(path, table, overwrite=True)
    with colonnade.create(path, "E", {"s": "std::string"}, mode="recreate") as writing:
        writing.fill(s="a\0")
    with pytest.raises(colonnade.UnsupportedError, match="texts that end in"):
        colonnade.export(path, table, overwrite=True)
    with colonnade.create(path, "E", {"s": "std::string"}, mode="recreate"):
        pass
    colonnade.export(path, table, overwrite=True)
    with np.load(table) as arrays:
        assert arrays["s"].dtype.kind == "U"


def test_export_command(run, file, tmp_path):
    assert run("export", file, tmp_path / "f.parquet", "--columns", ",")[0] == 2
    status, out, _ = run("export", file, tmp_path / "f.parquet", "--columns", "id", "--columns", "x")
    assert (status, out) == (0, f"{tmp_path / 'f.parquet'}: 300 entries\n")
    assert run("export", file, tmp_path / "f.parquet")[0] == 1
    assert run("export", file, tmp_path / "f.parquet", "--overwrite", "--columns", "jets")[0] == 0


def test_commands_import_no_more_than_they_need(file, tmp_path):
    """NumPy and Awkward take longer than most commands, which read no values."""
    code = (
        "import sys\n"
        "from colonnade.cli import app\n"
        "file, merged = sys.argv[1:]\n"
        "for command in (['info', file], ['ls', file], ['verify', file], ['merge', merged, file]):\n"
        "    app(command, standalone_mode=False)\n"
        "    assert not {'numpy', 'awkward', 'pyarrow', 'hist'} & set(sys.modules), command\n"
    )
    subprocess.run([sys.executable, "-c", code, file, tmp_path / "merged.root"], check=True)
