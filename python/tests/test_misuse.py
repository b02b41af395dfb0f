"""Calls with arguments that do not fit: what the message says, and that none is about the inside of the library."""

import inspect
import os
import random
import re
import shutil
from datetime import timedelta

import awkward as ak
import hist
import numpy as np
import pandas as pd
import pytest

import colonnade
from colonnade import DataFrame, UsageError
from colonnade.reading.dataset import ReadSettings
from colonnade.writing.options import WriteSettings


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("misuse") / "f.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend({"id": np.arange(10), "pt": ak.Array([[40.0, 20.0], []] * 5), "x": np.arange(10) / 2})
    return path


def mask_beside(file):
    mask = file + ".json"
    with open(mask, "w", encoding="utf-8") as text:
        text.write("{}")
    return mask


# ---- Habits from uproot


@pytest.mark.parametrize(
    ("arguments", "problem", "advice"),
    [
        ({"cut": "x > 1"}, "arrays() has no argument 'cut'", "DataFrame(ds).filter(condition)"),
        ({"filter_name": "p*"}, "arrays() has no argument 'filter_name'", "fields=, with wildcards"),
        ({"expressions": ["pt"]}, "arrays() has no argument 'expressions'", "fields="),
        ({"how": "zip"}, "arrays() has no argument 'how'", "library='pd'"),
        ({"libary": "np"}, "arrays() has no argument 'libary'", "'library'"),
        ({"entry_start": "a"}, "entry_start='a' is not a whole number", ""),
        ({"entry_stop": 1.5}, "entry_stop=1.5 is not a whole number", ""),
        ({"library": np}, "unknown library 'numpy'", "'np'"),
        ({"fields": 3}, "3 is not the name of a field", "a name, or a list of names"),
        ({"fields": ["x", 3]}, "3 is not the name of a field", "a string"),
    ],
)
def test_arguments_of_arrays(path, arguments, problem, advice):
    with pytest.raises(colonnade.Error) as refused:
        colonnade.open(path).arrays(**arguments)
    assert problem in refused.value.problem
    assert advice in refused.value.advice


def test_what_is_advised_works(path):
    data_set = colonnade.open(path)
    assert DataFrame(data_set).filter("x > 1").to_awkward(["x"]).x.to_list() == [1.5, 2, 2.5, 3, 3.5, 4, 4.5]
    assert data_set.arrays(fields="p*").fields == ["pt"]
    assert list(data_set.arrays(library="pd").columns) == ["id", "pt", "x"]


def test_fields_in_no_list(path):
    data_set = colonnade.open(path)
    for read in (data_set.arrays, data_set.iterate):
        with pytest.raises(UsageError, match=r"takes its fields as one list; try: \w+\(\['pt', 'id'\]\)"):
            read("pt", "id")


@pytest.mark.parametrize("step_size", [0, -3, 1e30, float("nan"), "x", "0 B", None])
def test_steps_are_refused_where_they_are_asked_for(path, step_size):
    for whole in (colonnade.open(path), DataFrame("Events", path)):
        for read in (whole.iterate, whole.to_arrow_reader):
            with pytest.raises(colonnade.Error, match=r"step|size"):
                read(step_size=step_size)


@pytest.mark.parametrize("target", [None, 3, b"f.root", 2.5])
def test_what_names_no_file(target):
    with pytest.raises(colonnade.TypeMismatchError, match="does not name a file; try: a path"):
        colonnade.open(target)


def test_options_that_are_misspelled(path, tmp_path):
    with pytest.raises(UsageError, match=r"open\(\) has no argument 'library'; try: open\(file\)\.arrays"):
        colonnade.open(path, library="np")
    with pytest.raises(UsageError, match=r"create\(\) has no argument 'compresion'; try: 'compression'"):
        colonnade.create(tmp_path / "x.root", "Events", compresion="lz4")
    with pytest.raises(UsageError, match=r"DataFrame\(\) has no argument 'thread'; try: 'threads'"):
        DataFrame("Events", path, thread=1)
    with pytest.raises(TypeError):  # as Python's own
        colonnade.open(path, library="np")


def test_an_empty_file_name():
    with pytest.raises(UsageError, match="the name of the file is empty"):
        colonnade.open("")


def test_a_misspelled_type_has_no_advice_for_cpp(tmp_path):
    with pytest.raises(colonnade.SchemaError, match=r"'flot' .*; try: 'float' \[field=x\]"):
        colonnade.create(tmp_path / "f.root", "Events", {"x": "flot"})


def test_files_and_names_in_the_order_of_root(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for write in (
        lambda: colonnade.create("Events", "f.root", {"x": "float"}),
        lambda: DataFrame("Events", path).snapshot("Events", "f.root"),
    ):
        with pytest.raises(UsageError, match=r"'f\.root' is the name of a file, not of a data set; try: "):
            write()
    assert list(tmp_path.iterdir()) == []


# ---- Data frames


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda df: df.histo1d("x", bins=10), r"has no argument 'bins'; try: histo1d\(\("),
        (lambda df: df.histo1d("x", 10, 0, 1), r"takes from .*; try: histo1d\(\("),
        (lambda df: df.histo1d(("h", "t", 10, float("nan"), 1), "x"), "cannot have 10 bins from nan to 1"),
        (lambda df: df.histo1d(("h", "t", 10, 0, 10**400), "x"), "cannot have 10 bins from 0 to 1000"),
        (lambda df: df.histo1d(("h", "t", 10**400, 0, 1), "x"), "cannot have 1000"),
        (lambda df: df.histo1d(("h", "t", 10, 0, np.complex64(1)), "x"), "cannot have 10 bins from 0 to "),
        (lambda df: df.histo1d(("h", "t", 10, 0, float("inf")), "x"), "cannot have 10 bins from 0 to inf"),
        (lambda df: df.histo1d(("h", "t", float("inf"), 0, 1), "x"), "cannot have inf bins"),
        (lambda df: df.histo1d(3, "x"), "the model of a histogram cannot be 3"),
        (lambda df: df.histo2d("x", "id"), r"missing .*'y'; try: histo2d\(\("),
        (lambda df: df.take("x", "id"), r"try: to_numpy\(\[x, y\]\)"),
        (lambda df: df.display(3), r"try: display\(rows=3\)"),
        (lambda df: df.range(1.5), r"start=1\.5 is not a whole number"),
        (lambda df: df.define(3, "x"), "3 is not the name of a column"),
        (lambda df: df.alias("y", None), "None is not the name of a column"),
        (lambda df: df.has_column(3), "3 is not the name of a column"),
        (lambda df: df.define("y", "x\ud800"), r"not valid Unicode; try: bytes as they are shown, '\\xff'"),
        (
            lambda df: colonnade.open("caf\udce9.root"),
            "not valid Unicode; try: a link to it whose name is UTF-8",
        ),
        (lambda df: df.to_numpy(3), "3 is not the name of a column; try: a name, or a list"),
        (lambda df: df.fill(3, "x"), "an object of type 'int' is not a histogram"),
        (lambda df: df.quantile("x", 1.5), r"q=1\.5 is not a quantile"),
        (lambda df: df.quantile("x", "a"), r"q='a' is not a quantile"),
        (lambda df: df.variations_for("x"), "an object of type 'str' is not a result"),
        (lambda df: df.count().on_partial(None), "None cannot be called"),
        (lambda df: df.freeze([df.count()]), "an object of type 'list' is not a result"),
        (lambda df: df.freeze(df.count()).tasks("3"), "target='3' is not a whole number"),
        (lambda df: colonnade.compute(3), "an object of type 'int' is not a result"),
        (lambda df: colonnade.run_graphs(["x"]), "an object of type 'str' is not a result"),
        (lambda df: DataFrame(10**30), "takes only a number of entries, not 1000000000000"),
        (lambda df: DataFrame(10, cache="on"), "10 entries without columns takes no 'cache'"),
        (lambda df: DataFrame(10, "f.root"), "10 entries without columns takes no files"),
        (lambda df: DataFrame(10, entries=5), "entries=5 is not a range of entries"),
        (lambda df: colonnade.RDataFrame(5).AsNumpy("*"), r"'\*' is not a regular expression"),
    ],
)
def test_what_data_frames_refuse(path, call, message):
    with pytest.raises(colonnade.Error, match=message):
        call(DataFrame("Events", path))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("median", r"quantile\(x\)"),
        ("quantiles", r"quantile\(x, \["),
        ("AsNumpy", r"to_numpy\(columns\)"),
        ("Histo1D", "RDataFrame"),
        ("head", r"range\(5\)\.to_pandas\(\)"),
    ],
)
def test_names_from_elsewhere(path, name, advice):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; try: .*{advice}"):
        getattr(DataFrame("Events", path), name)


def test_data_frames_of_pandas_and_polars(path):
    frame = DataFrame("Events", path).filter("x > 3")
    assert frame.to_pandas(["id", "x"]).to_dict("list") == {"id": [7, 8, 9], "x": [3.5, 4, 4.5]}
    assert frame.to_polars().to_dict(as_series=False) == {
        "id": [7, 8, 9],
        "pt": [[], [40, 20], []],
        "x": [3.5, 4, 4.5],
    }
    assert frame.range(2).to_pandas("pt")["pt"].map(list).to_list() == [[], [40, 20]]
    nothing = frame.filter("false")
    assert nothing.to_pandas().shape == (0, 3)
    assert nothing.to_polars().schema == frame.to_polars().schema


def test_the_facade_knows_the_other_order_and_the_other_names(path, tmp_path):
    frame = colonnade.RDataFrame("Events", str(path))
    with pytest.raises(UsageError, match=r"try: Snapshot\('Events', 'f\.root'\), the name of the data set"):
        frame.Snapshot("f.root", "Events")
    assert frame.Snapshot("Events", str(tmp_path / "s.root")).Count().GetValue() == 10
    for name, method in [("count", "Count"), ("histo1d", "Histo1D"), ("has_column", "HasColumn")]:
        with pytest.raises(AttributeError, match=rf"has no {name}; try: {method}\("):
            getattr(frame, name)
    with pytest.raises(UsageError, match=r"with 1 axis takes 1 column and at most one weight, not 4 columns"):
        frame.Histo1D("x", 10, 0, 1)
    with pytest.raises(colonnade.TypeMismatchError, match="3 cannot be called; try: OnPartialResult"):
        frame.Count().OnPartialResult(1, 3)


# ---- Functions of the package


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda file: colonnade.open(file, 3), "3 is not the name of a data set; try: a string"),
        (lambda file: colonnade.open([file, 3]), "3 does not name a file"),
        (lambda file: colonnade.open(file).schema[3], "3 is not the name of a field"),
        (lambda file: colonnade.open(file).attributes[3], "3 is not the name of a set of attributes"),
        (lambda file: colonnade.create(3, "E", {"x": float}), "3 does not name a file"),
        (lambda file: colonnade.create("b.root", "E", 3), "3 is not a schema; try: a type for each field"),
        (lambda file: colonnade.create("b.root", "E", {3: float}), "3 is not the name of a field"),
        (lambda file: colonnade.create("b.root", "E", {"x": None}), "None is not a type"),
        (
            lambda file: colonnade.create("b.root", "E", {"x": np.arange(999.0)}),
            r"array\(\[.{,30} is not a type; try: no schema: extend\(\) takes values",
        ),
        (
            lambda file: DataFrame({"x": np.arange(999.0)}),
            r"made from \{'x': array\(\[.{,30} without files; try: .* DataFrame.from_arrays",
        ),
        (lambda file: colonnade.open(pd.DataFrame({"x": range(999)})), ".{,50} does not name a file"),
        (colonnade.copy, r"copy\(\) missing .*; try: copy\(source, destination\)"),
        (lambda file: colonnade.copy(3, "b.root"), "3 does not name a file; try: a file or store"),
        (
            lambda file: colonnade.copy(colonnade.open(file), "b.root"),
            "does not name a file; try: a file or store",
        ),
        (lambda file: colonnade.merge("b.root", colonnade.open(file)), "does not name a file; try: a file"),
        (lambda file: colonnade.copy(file, "b.root", columns=3), "3 is not the name of a field"),
        (
            lambda file: colonnade.copy(file, "b.root", columns=[]),
            "no fields are named; try: .* None for all",
        ),
        (lambda file: colonnade.merge("b.root", file, columns=[]), "no fields are named"),
        (lambda file: colonnade.merge("b.root", file, data_sets=()), "no data sets are named"),
        (lambda file: colonnade.import_tree(file, "b.root", columns=[]), "no columns are named"),
        (lambda file: colonnade.merge([file], "b.root"), r"the output comes first: merge\(output, inputs\)"),
        (lambda file: colonnade.repair(file, 3), "3 is not the name of a data set"),
        (lambda file: colonnade.import_tree(3, "b.root"), "3 does not name a file; try: a ROOT file"),
        (lambda file: colonnade.Schema({"x": float}), r"a mapping, .* for create\(\)"),
        (lambda file: colonnade.json_mask(3), "3 does not name a file"),
        (lambda file: colonnade.json_mask(mask_beside(file), run=3), "3 is not the name of a column"),
        (lambda file: colonnade.open(file, index=3), "3 does not name a file; try: a path"),
        (lambda file: colonnade.open([file]).save_index(""), "'' is not the name of a file"),
        (lambda file: colonnade.collect_garbage(""), "the name of the store, file or folder is empty"),
        (lambda file: colonnade.collect_garbage(".", older_than=timedelta(-1)), "-86400.0 is not a time"),
        (
            lambda file: colonnade.export(file, "obj:///x/x.csv"),
            "an object store cannot be written as a file",
        ),
        (
            lambda file: colonnade.create("b.root", "E", {"x": int}, clusters_per_group=0),
            "clusters_per_group=0 is not a number of clusters; try: 1024",
        ),
        (
            lambda file: colonnade.create("b.root", "E").extend_schema({"x": int}),
            r"not known yet; try: extend\(\) or give a schema",
        ),
        (lambda file: colonnade.export(file, "b.npz", compression="gzip"), "zstd, lz4 or none, not 'gzip'"),
        (
            lambda file: colonnade.open(file).join(colonnade.open(file), on="id", how="inner").attributes,
            "an inner join leaves entries out",
        ),
        (
            lambda file: (
                colonnade.open(file).join(colonnade.open(file), on="id").join(colonnade.open(file), on="id")
            ),
            "already a field 'Events_entry'; try: another prefix",
        ),
        (lambda file: colonnade.open([file], index="."), r"'\.' cannot be read"),
        (lambda file: colonnade.open([file]).file_of(10), "entry 10 is beyond the 10 entries of the chain"),
        (lambda file: DataFrame("\ud800", file), "is not the name of a data set: it is not valid Unicode"),
        (lambda file: DataFrame("Events", file, friends=["x"]), r"\['x'\] has no names; try: friends="),
        (lambda file: DataFrame("Events", file, executor=1 << 70), "[0-9]+ is not a number of processes"),
        (
            lambda file: DataFrame("Events", file).join("Events", file, on="id", columns=3),
            "3 is not the name of a column",
        ),
        (
            lambda file: DataFrame("Events", file).join("Events", file, on="id", columns=["\ud800"]),
            "is not the name of a column: it is not valid Unicode",
        ),
        (lambda file: colonnade.open([file], index=[]), r"\[\] does not name a file"),
        *(
            (
                lambda file, most=most: colonnade.open([file], max_open_files=most),
                f"a chain with {most} open files cannot be read",
            )
            for most in (0, -1, 1 << 70)
        ),
        (lambda file: colonnade.open(file, max_open_files=0), "a chain with 0 open files"),
        (
            lambda file: colonnade.create_parallel("b.root", "E", {"x": int}, projections=["x"]),
            r"\['x'\] has no names; try: \{\"y\": ",
        ),
        (
            lambda file: colonnade.create_parallel("b.root", "E", {"x": int}, projections={"y": 3}),
            "3 is not a type and the sources of the projected field 'y'",
        ),
        *(
            (
                lambda file, call=call: call(DataFrame("Events", file)),
                "are for callables; an expression names its columns itself",
            )
            for call in (
                lambda frame: frame.define_per_sample("y", "1", returns="float"),
                lambda frame: frame.redefine_per_sample("x", "1", returns="float"),
                lambda frame: frame.vary("x", "{x, x}", ["a", "b"], per_row=True),
                lambda frame: frame.vary("x", ["x", "x"], ["a", "b"], returns="float"),
                lambda frame: frame.vary("x", "{x, x}", ["a", "b"], arguments=["x"]),
            )
        ),
        (lambda file: colonnade.RDataFrame("Events", 3), "3 does not name a file; try: RDataFrame"),
        (
            lambda file: DataFrame("Events", file).vary("x", {}, 10**9),
            "1000000000 is not a number of variations",
        ),
        (lambda file: DataFrame("Events", file).foreach(3, "x"), "3 cannot be called"),
        *(
            (
                lambda file, every=every: colonnade.create("b.root", "E", {"x": int}, checkpoint_every=every),
                problem,
            )
            for every, problem in (
                ({"seconds": 10**400}, r"every 10+\.\.\.0+ seconds"),
                ("9" * 400 + "h", "is not a time"),
                ({1: 2, "a": 3}, "every 1, a"),
            )
        ),
        *(
            (
                lambda file, edges=edges: DataFrame("Events", file).histo1d(("h", "", edges), "x"),
                "the edges of an axis",
            )
            for edges in ([0, np.inf], [0, np.nan, 1], [0, 10**400])
        ),
        (lambda file: DataFrame("Events", file).quantile("x", [[1], [1, 2]]), "is not a quantile"),
        (lambda file: colonnade.col("x").astype({"x": "float"}), "is not a type"),
        (lambda file: DataFrame("Events", file).define("y", len, returns={"x": {}}), "is not a value type"),
        (lambda file: DataFrame("Events", file).iterate(library=np), "unknown library 'numpy'; try: 'np'"),
        (lambda file: DataFrame("Events", file).iterate(library=np.arange(3)), "library=array"),
        (lambda file: colonnade.open(file).schema["pt"].find(3), "3 is not the name of a field"),
        (
            lambda file: DataFrame("Events", file).histo1d(("h", "", np.nan, [0, 1]), "x"),
            "nan bins do not have 2 edges",
        ),
        (
            lambda file: (
                colonnade.open(file).join(colonnade.open(file).select(["id", "x"]), on="id").verify(3)
            ),
            "3 cannot be called",
        ),
        (
            lambda file: DataFrame("Events", file).save_graph("no/such/place.dot"),
            "cannot be written: No such file",
        ),
    ],
)
def test_functions(path, call, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(colonnade.Error, match=problem):
        call(str(path))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda chain: chain.file_of("x"), "entry='x' is not a whole number"),
        (lambda chain: chain.file_of(1.5), "entry=1.5 is not a whole number"),
        (lambda chain: chain.verify(3), "3 cannot be called"),
        (lambda chain: chain.save_index(3), "3 does not name a file"),
        (lambda chain: chain.schema.select(3), "3 is not the name of a field"),
        (lambda chain: chain.schema.left_out([3]), "3 is not the name of a field"),
        (lambda chain: chain.attributes["runs"].of_entry(1.5), "entry=1.5 is not a whole number"),
        (lambda chain: chain.attributes["runs"].covering(0, "x"), "last='x' is not a whole number"),
        (lambda chain: chain.attributes["runs"].row("x"), "number='x' is not a whole number"),
        (lambda chain: chain.attributes["runs"].arrays(3), "3 is not the name of a field"),
    ],
)
def test_methods_of_chains_and_attributes(tmp_path, call, problem):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "double"}) as writer:
        writer.extend({"x": [1.0]})
        writer.attributes("runs", {"run": "int"}).add({"run": 1}, 0, 1)
    with pytest.raises(colonnade.TypeMismatchError, match=problem):
        call(colonnade.open([tmp_path / "f.root"]))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda runs: runs.add(None, 0, 1), "None has no names; try: a value for each field"),
        (lambda runs: runs.add([1], 0, 1), r"\[1\] has no names"),
        (lambda runs: runs.add({"run": 1}, [0], 1), r"first=\[0\] is not a whole number"),
        (lambda runs: runs.add({"run": 1}, 0, np.arange(3)), "last=array.* is not a whole number"),
        (lambda runs: runs.range([1]), r"\[1\] has no names"),
    ],
)
def test_rows_of_attributes(tmp_path, call, problem):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "double"}) as writer:
        writer.extend({"x": [1.0]})
        for schema in ({"run": "int"}, None):
            with pytest.raises(colonnade.TypeMismatchError, match=problem):
                call(writer.attributes(f"runs{schema is None}", schema))
        writer.attributes("runs").add({"run": 1}, np.int8(0), 1)
    data_set = colonnade.open(tmp_path / "f.root")
    runs = data_set.attributes["runs"]
    with pytest.raises(colonnade.NotFoundError, match=r"no field 'r\*'"):
        runs["r*"]
    assert list(runs.row_texts(-1, 5)) == [(0, '{"run": 1}')]
    assert list(data_set.entry_texts(-5, 2**70)) == [(0, '{"x": 1}')]


def test_several_files_are_a_list_or_a_tuple(path, tmp_path):
    file = str(path)
    copied = str(tmp_path / "copy.root")
    assert colonnade.copy((file, "Events"), copied).entries == 10
    for number, several in enumerate(([file, copied], (file, copied), iter([file, copied]))):
        assert colonnade.merge(tmp_path / f"{number}.root", several).data_sets[0].entries == 20
    assert DataFrame("Events", (file, copied)).count().value == 20
    assert colonnade.RDataFrame("Events", (file, copied)).Count().GetValue() == 20
    table = str(tmp_path / "x.parquet")
    colonnade.export(file, table)
    assert colonnade.import_table((table, table), tmp_path / "t.root").entries == 20


def test_what_is_called_like_a_scheme_is_no_file_of_a_uri(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(path, "obj")
    os.mkdir("s3")
    for uri in (f"obj://{tmp_path}/store", f"obj://{tmp_path}/again"):
        assert colonnade.copy(path, uri, overwrite=True).entries == 10
        assert colonnade.open(uri)["id"].to_list() == list(range(10))
    assert colonnade.datasets("obj") == ["Events"]
    assert colonnade.open("obj:Events").num_entries == 10
    with pytest.raises(colonnade.UsageError, match="s3:///"):
        colonnade.open("s3:///x")


# ---- Expressions as Python and NumPy write them


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("len(pt)", "unknown function 'len'; did you mean 'size'?"),
        ("x > 1 and True", "the constants are 'true' and 'false'"),
        ("np.sqrt(x)", "functions have no module in front"),
        ("1 if x > 2 else 0", "write 'condition ? a : b'"),
        ("x ** 2", "pow"),
        ("x ^ 2", "pow"),
        ("name == 'a'", "strings stand in double quotes"),
    ],
)
def test_expressions_as_in_python(text, message):
    frame = DataFrame.from_arrays({"x": [1.0], "pt": ak.Array([[1.0]]), "name": ["a"]})
    with pytest.raises(colonnade.Error) as refused:
        frame.define("y", text)
    assert message in str(refused.value)


def test_clusters_of_any_size(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": int}, cluster_size=2**63 - 1) as writer:
        writer.extend({"x": [1, 2]})
    assert colonnade.open(tmp_path / "f.root")["x"].to_list() == [1, 2]


# ---- Anything at all

ANYTHING = [
    None, 3, -1, 10**30, 2.5, float("nan"), float("inf"), "nope", "", "x", "pt", "id > 3", [], ["x"], ["x", 3],
    ["nope"], {}, {"x": 1}, object(), b"x", lambda *given: 1, (), (1, 2), np.float32(2), np.arange(3), True, "naïve",
    "*", ["*"], "\ud800", "a" * 2000,
]  # fmt: skip
OF_PYTHON = re.compile(r"[\w.]+\(\) (missing|takes|got) ")
"""What Python says of arguments that are missing or too many."""


def calls_of(path):
    """Everything that can be called: a name, and what makes it, for each call anew."""
    made = {
        "DataSet": lambda: colonnade.open(path),
        "DataFrame": lambda: DataFrame("Events", path),
        "RDataFrame": lambda: colonnade.RDataFrame("Events", str(path)),
    }
    for owner, make in made.items():
        kind = type(make())
        for name in dir(kind):
            if not name.startswith("_") and not isinstance(inspect.getattr_static(kind, name), property):
                yield f"{owner}.{name}", lambda make=make, name=name: getattr(make(), name)
    for name in colonnade.__all__:
        if inspect.isfunction(getattr(colonnade, name)):
            yield name, lambda name=name: getattr(colonnade, name)


PARAMETERS = {}
"""By the names of calls: looking at them takes as long as calling."""


def parameters_of(name, get):
    if name not in PARAMETERS:
        PARAMETERS[name] = inspect.signature(get()).parameters
    return PARAMETERS[name]


def number_of_arguments(parameters):
    """How many a call needs, and how many it takes by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [one for one in parameters.values() if one.kind in kinds]
    return sum(one.default is one.empty for one in given), len(given)


def try_call(name, call, given, named):
    """Call, and compute what is lazy; fail for exceptions that are neither the package's nor of missing arguments."""
    try:
        made = call(*given, **named)
        if isinstance(made, colonnade.Result):
            repr(made.value)
    except colonnade.Error:
        pass
    except Exception as error:
        if not (isinstance(error, TypeError) and OF_PYTHON.match(str(error))):
            text = ", ".join([*map(repr, given), *(f"{key}={value!r}" for key, value in named.items())])
            raise AssertionError(f"{name}({text}) raised {error!r}") from error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(20))
def test_every_call_refuses_what_does_not_fit(path, seed, tmp_path, monkeypatch):
    """No exception but those of the package, and what Python says of missing arguments."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    calls = list(calls_of(path))
    for _ in range(1000):
        name, get = rng.choice(calls)
        least, most = number_of_arguments(parameters_of(name, get))
        given = [rng.choice(ANYTHING) for _ in range(rng.randint(least, max(least, min(most, least + 2))))]
        try_call(name, get(), given, {})


GOOD = {
    "x": "x", "y": "pt", "z": "x", "columns": ["x"], "uri": "new.root", "name": "Events", "condition": "x > 1",
    "function": np.maximum, "add": lambda state, array: state, "merge": lambda a, b: a, "model": None,
    "source": "a.root", "target": "new.root", "destination": "new.root", "output": "new.root", "inputs": ["a.root"],
    "path": "a.root", "file": "a.root", "files": "a.root", "schema": {"x": float}, "fields": ["x"],
    "expression": "x * 2", "start": 0, "weight": "x", "column": "x", "stop": 5, "histogram": None,
}  # fmt: skip
"""Arguments that fit, by the names of parameters."""


def options_of(parameters):
    """The options that a call takes by name."""
    names = []
    for name, one in parameters.items():
        if one.kind is one.VAR_KEYWORD:
            names += [*WriteSettings.__annotations__, *ReadSettings.__annotations__]
        elif one.kind is one.KEYWORD_ONLY or one.default is not one.empty:
            names.append(name)
    return names


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(10))
def test_every_option_refuses_what_does_not_fit(path, seed, tmp_path, monkeypatch):
    """One option of any kind, beside arguments that fit: a result, or an exception of the package."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.root").write_bytes(path.read_bytes())
    rng = random.Random(seed)
    calls = [(name, get) for name, get in calls_of(path) if options_of(parameters_of(name, get))]
    for _ in range(500):
        name, get = rng.choice(calls)
        parameters = parameters_of(name, get)
        least, _ = number_of_arguments(parameters)
        needed = list(parameters)[:least]
        given = [GOOD.get(each, rng.choice(ANYTHING)) for each in needed]
        option = rng.choice(options_of(parameters))
        named = {} if option in needed else {option: rng.choice(ANYTHING)}
        try_call(name, get(), given, named)


def test_options_behind_several_arguments_are_checked_by_name(path):
    frame = DataFrame("Events", path)
    histogram = hist.Hist(hist.axis.Regular(2, 0, 4), hist.axis.Regular(2, 0, 4))
    assert frame.fill(histogram, "x", "id").value.sum() == 2.0 * 2
    with pytest.raises(colonnade.TypeMismatchError, match="lazy='no' is not True or False"):
        frame.snapshot("new.root", lazy="no")
    with pytest.raises(UsageError, match="how must be 'inner' or 'left', not 'outer'"):
        colonnade.open(path).join(colonnade.open(path), on="id", how="outer")


def test_steps_of_small_integers(tmp_path):
    """NumPy's wrap around where entries are more."""
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": np.arange(300)})
    step = np.uint8(100)
    for source in (colonnade.open(tmp_path / "f.root"), DataFrame("Events", tmp_path / "f.root")):
        assert [len(arrays) for arrays in source.iterate(["x"], step_size=step)] == [100, 100, 100]


def test_arrays_without_dimensions_are_no_names(tmp_path):
    name = np.array("x")
    frame = DataFrame.from_arrays({"x": [1]})
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": [1]})
    for call in (
        lambda: frame.to_numpy(name),
        lambda: frame.define("y", lambda x: x, name),
        lambda: colonnade.open(tmp_path / "f.root").arrays(name),
    ):
        with pytest.raises(colonnade.TypeMismatchError, match=r"ndarray|array\("):
            call()


def test_what_names_no_file_or_result(tmp_path):
    frame = DataFrame(2)
    scalar = np.array(3)
    calls = [
        (lambda: colonnade.open(scalar), colonnade.TypeMismatchError),
        (lambda: colonnade.export(scalar, tmp_path / "f.npz"), colonnade.TypeMismatchError),
        (lambda: colonnade.run_graphs(scalar), colonnade.TypeMismatchError),
        (lambda: frame.save_graph("a\0b.dot"), UsageError),
        (lambda: colonnade.cache.gc(home="x" * 10000), colonnade.StorageError),
    ]
    for call, kind in calls:
        with pytest.raises(kind):
            call()
