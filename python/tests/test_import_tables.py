"""Tables become data sets: random ones with nested types and missing values, and what is refused."""

from __future__ import annotations

import decimal
import json
import random
import sqlite3
import string
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
import uproot

import colonnade
from colonnade import threads
from colonnade.cli import main
from colonnade.importing import table_files

LEAVES = [
    pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(),
    pa.large_string(),
]  # fmt: skip


def a_type(chosen: random.Random, depth: int) -> pa.DataType:
    kind = chosen.choice(["leaf", "leaf", "list", "large", "view", "fixed", "struct"] if depth else ["leaf"])
    if kind == "leaf":
        return chosen.choice(LEAVES)
    if kind == "struct":
        count = chosen.randint(1, 3)
        return pa.struct([(f"m{k}", a_type(chosen, depth - 1)) for k in range(count)])
    item = a_type(chosen, depth - 1)
    return {
        "list": pa.list_(item),
        "large": pa.large_list(item),
        "view": pa.list_view(item),
        "fixed": pa.list_(item, 2),
    }[kind]


def a_value(chosen: random.Random, kind: pa.DataType, missing: float) -> Any:
    """Missing values are in leaves and lists: records without a class have no name that an optional could have."""
    types = pa.types
    if types.is_struct(kind):
        return {m.name: a_value(chosen, m.type, missing) for m in kind}
    if types.is_fixed_size_list(kind):
        return [a_value(chosen, kind.value_type, missing) for _ in range(kind.list_size)]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind):
        return [a_value(chosen, kind.value_type, missing) for _ in range(chosen.choice([0, 1, 3]))]
    if chosen.random() < missing:
        return None
    if types.is_boolean(kind):
        return chosen.random() < 0.5
    if types.is_floating(kind):
        return float(chosen.randint(-1000, 1000)) / 8
    if types.is_integer(kind):
        return chosen.randint(0, 2 ** (kind.bit_width - pa.types.is_signed_integer(kind)) - 1)
    return "".join(chosen.choices(string.ascii_letters + "é µ", k=chosen.randint(0, 5)))


def a_table(seed: int) -> pa.Table:
    chosen = random.Random(seed)
    rows = chosen.choice([0, 1, 7, 300])
    columns = {}
    for k in range(chosen.randint(1, 6)):
        kind = a_type(chosen, chosen.randint(0, 3))
        missing = chosen.choice([0, 0, 0.2, 0.9])
        # The first value that is missing may come late.
        late = chosen.choice([0, rows // 2])
        values = [a_value(chosen, kind, missing if row >= late else 0) for row in range(rows)]
        columns[f"c{k}"] = pa.array(values, kind)
    return pa.table(columns)


def put(table: pa.Table, path: Path, seed: int = 0) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50, write_statistics=seed % 3 != 1)
    else:
        new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=40)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("seed", range(40))
def test_random_tables(tmp_path: Path, seed: int, ending: str) -> None:
    table = a_table(seed)
    source = put(table, tmp_path / f"t{ending}", seed)
    report = colonnade.import_table(
        source, tmp_path / "f.root", verify=True, batch_size=random.Random(seed).choice([16, 1000])
    )
    assert report.data_set == "t"
    assert report.entries == table.num_rows
    assert report.verified
    with colonnade.open(tmp_path / "f.root") as data_set:
        assert data_set.arrays().to_list() == table.to_pylist()
        for name in table.column_names:
            has_missing = "None" in repr(table[name].to_pylist())
            assert ("optional" in str(data_set.schema[name])) == has_missing, str(data_set.schema[name])


@pytest.mark.parametrize("seed", range(10))
def test_what_was_exported_comes_back(tmp_path: Path, seed: int) -> None:
    table = a_table(seed + 100)
    first, back = tmp_path / "first.root", tmp_path / "back.root"
    with colonnade.create(first, "Events") as writer:
        writer.extend(table)
    colonnade.export(first, tmp_path / "x.parquet")
    colonnade.import_table(tmp_path / "x.parquet", (back, "Events"))
    with colonnade.open(first) as ours, colonnade.open(back) as theirs:
        assert theirs.arrays().to_list() == ours.arrays().to_list()


def test_several_files_columns_and_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(["import", *arguments])
        return ended.value.code, "".join(capsys.readouterr())

    files = []
    for k in range(3):
        table = pa.table({"x": [1.0 * k, 2.0], "n": pa.array([k, None], pa.int32()), "s": ["a", "b"]})
        files.append(str(put(table, tmp_path / f"t{k}.parquet")))
    out = str(tmp_path / "f.root")
    code, said = run(*files, out, "--columns", "x,n", "--verify", "--json")
    assert code == 0, said
    report = json.loads(said)
    assert report["entries"] == 6
    assert report["fields"] == ["x", "n"]
    with colonnade.open(out) as data_set:
        assert data_set["n"].to_list() == [0, None, 1, None, 2, None]
        assert data_set["x"].to_list() == [0, 2, 1, 2, 2, 2]
    code, said = run(files[0], out)
    assert code == 1
    assert "already exists" in said
    code, said = run(files[0], f"{out}:Other")
    assert code == 0, said
    assert "2 entries in 'Other'" in said
    with colonnade.open(f"{out}:t0") as data_set:  # what was there is as it was
        assert data_set.num_entries == 6
    code, said = run(f"{tmp_path}/t[01].parquet", f"{out}:Some", "--columns", "[sx],n*", "--json")
    assert code == 0, said
    assert json.loads(said)["fields"] == ["x", "s", "n"]
    assert json.loads(said)["entries"] == 4
    for wrong, text in (
        (["--columns", "no*"], "no column 'no*'"),
        (["--resume"], "cannot be resumed"),
        (["--tree", "T"], "no named data sets"),
    ):
        code, said = run(files[0], str(tmp_path / "g.root"), *wrong)
        assert code == 1
        assert text in said


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("run,pt,name,seen\n1,2.5,a,true\n2,,b,false\n3,1e300,,true\n")
    colonnade.import_table(tmp_path / "t.csv", tmp_path / "f.root", verify=True)
    with colonnade.open(tmp_path / "f.root") as data_set:
        assert data_set.arrays().to_list() == [
            {"run": 1, "pt": 2.5, "name": "a", "seen": True},
            {"run": 2, "pt": None, "name": "b", "seen": False},
            {"run": 3, "pt": 1e300, "name": "", "seen": True},
        ]
        assert data_set.schema["run"].type == "std::int64_t"


def test_names_of_files_become_names_of_data_sets(tmp_path: Path) -> None:
    source = put(pa.table({"x": [1]}), tmp_path / "my data.v2.parquet")
    report = colonnade.import_table(source, tmp_path / "f.root")
    assert report.data_set == "my_data_v2"
    assert colonnade.datasets(tmp_path / "f.root") == ["my_data_v2"]


def test_names_of_columns_become_names_of_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By themselves, as those of branches, or as asked for; the values stay those of their columns."""
    columns = ["Time (s)", "Time_(s)", "a.b", "E, MeV", "k=v", "", "x"]
    table = pa.table(
        {name: [k, None] for k, name in enumerate(columns)} | {"a/b": pa.array([0, 0], pa.date32())}
    )
    fields = ["Time_(s)_", "Time_(s)", "a_b", "E,_MeV", "k=v", "_", "x"]
    back = tmp_path / "f.root"
    pa.csv.write_csv(table, tmp_path / "t.csv")
    for source in (put(table, tmp_path / "t.parquet"), put(table, tmp_path / "t.arrow"), tmp_path / "t.csv"):
        report = colonnade.import_table(source, back, overwrite=True, verify=True, batch_size=1)
        changed = {old: new for old, new in zip(columns, fields, strict=True) if old != new}
        assert report.renamed == changed | {"a/b": "a_b_"}
        with colonnade.open(back) as data_set:
            assert data_set.arrays(fields).to_list() == [
                dict(zip(fields, range(len(fields)), strict=True)),
                dict.fromkeys(fields),
            ]
            assert data_set.schema["a_b_"].description == "date32[day]"
    with pytest.raises(SystemExit) as ended:
        main(
            [
                *["import", str(tmp_path / "t.parquet"), str(back), "--overwrite", "--columns", 'x,"E, MeV"'],
                *["--columns", "k=v", "--rename", "k=v=energy", "--rename", "x=y"],
            ]
        )
    assert ended.value.code == 0
    assert "renamed: 'E, MeV' to 'E,_MeV'" in capsys.readouterr().out
    assert colonnade.open(back).keys() == ["y", "E,_MeV", "energy"]
    for rename, problem in (
        ({"x": "a_b", "a.b": "a_b"}, "two fields would have the name 'a_b'"),
        ({"x": "y z"}, "'y z' is not a valid field name"),
        ({"z": "y"}, "there is no column 'z'"),
        ({"x": 1}, "not the name of a column"),
        (["x"], "has no names"),
    ):
        with pytest.raises(colonnade.Error, match=problem):
            colonnade.import_table(tmp_path / "t.arrow", tmp_path / "g.root", rename=rename)


def test_empty_fields_of_csv_are_missing_numbers_and_empty_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        'name,n,x,flag,day\na,1,1.5,true,2026-01-02\n,,,,\n"","","","",""\nNA,NA,null,NULL,NA\n'
    )
    colonnade.import_table(tmp_path / "t.csv", tmp_path / "f.root", verify=True)
    with colonnade.open(tmp_path / "f.root") as data_set:
        rows = data_set.arrays()
    assert rows.name.to_list() == ["a", "", "", "NA"]
    for column, first in {"n": 1, "x": 1.5, "flag": True}.items():
        assert rows[column].to_list() == [first, None, None, None]
    assert rows.day.to_list()[1:] == [None] * 3


def test_csv_loses_no_value(tmp_path: Path) -> None:
    """Integers of 64 bits and NaN, also of files that an export wrote."""
    columns = {
        "u": np.array([2**64 - 1, 2**63 + 1, 0], np.uint64),
        "x": np.array([np.nan, -1.5, np.inf]),
        "o": ak.Array([np.nan, None, 2.0]),
    }
    with colonnade.create(tmp_path / "from.root", "t") as writer:
        writer.extend(columns)
    colonnade.export(tmp_path / "from.root", tmp_path / "t.csv")
    colonnade.import_table([tmp_path / "t.csv"] * 2, tmp_path / "f.root", verify=True)
    with colonnade.open(tmp_path / "f.root") as data_set:
        assert {name: info.type for name, info in data_set.schema.items()} == {
            "u": "std::uint64_t",
            "x": "double",
            "o": "std::optional<double>",
        }
        assert repr(data_set.arrays().to_list()) == repr(ak.zip(columns).to_list() * 2)
    (tmp_path / "long.csv").write_text("id\n-1\n9223372036854775809\n")
    colonnade.import_table(tmp_path / "long.csv", tmp_path / "long.root", verify=True)
    assert colonnade.open(tmp_path / "long.root")["id"].to_list() == ["-1", "9223372036854775809"]


def test_csv_of_one_column_keeps_missing_values(tmp_path: Path) -> None:
    """They are empty lines."""
    for values in ([1, None, 3, None], [0.5, None], ["a", "", "b"]):
        with colonnade.create(tmp_path / "from.root", "t") as writer:
            writer.extend({"x": ak.Array(values)})
        colonnade.export(tmp_path / "from.root", tmp_path / "t.csv", overwrite=True)
        colonnade.import_table(tmp_path / "t.csv", tmp_path / "f.root", overwrite=True, verify=True)
        assert colonnade.open(tmp_path / "f.root")["x"].to_list() == values


def test_csv_has_texts_with_lines_at_every_place(tmp_path: Path) -> None:
    """Also where Arrow's blocks of a megabyte end."""
    columns = {
        "n": list(range(3000)),
        "s": ["a line\nanother one," * (number % 97) for number in range(3000)],
    }
    pa.csv.write_csv(pa.table(columns), tmp_path / "t.csv")
    colonnade.import_table(tmp_path / "t.csv", tmp_path / "f.root", verify=True)
    with colonnade.open(tmp_path / "f.root") as data_set:
        assert {name: data_set[name].to_list() for name in data_set} == columns


def test_opening_a_table_names_the_command(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0]})
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.orc.write_table(table, tmp_path / "t.orc")
    texts = [tmp_path / f"t.{ending}" for ending in ("tsv", "csv.gz", "jsonl", "ndjson.zst")]
    for text in texts:
        text.write_text("x\n1\n")
    files = [put(table, tmp_path / "t.parquet"), put(table, tmp_path / "t.arrow"), tmp_path / "t.csv"]
    for file in (*files, tmp_path / "t.orc", *texts):
        for use in (colonnade.open, lambda path: colonnade.DataFrame("Events", path).count().value):
            with pytest.raises(colonnade.FormatError, match="`colonnade import` makes a data set of a table"):
                use(file)
    (tmp_path / "of.csv").mkdir()
    np.save(tmp_path / "of.csv" / "x.npy", np.arange(3))
    # What the folder is called tells nothing.
    with pytest.raises(colonnade.FormatError, match=r"from_arrays\(.*numpy.load"):
        colonnade.open(tmp_path / "of.csv" / "x.npy")


def test_opening_other_formats_names_what_takes_them(tmp_path: Path) -> None:
    """What the message says works with the file."""
    table = pa.table({"x": [1.0, 2.5]})
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        table.to_pandas().to_sql("t", connection, index=False)
    np.save(tmp_path / "t.npy", table["x"].to_numpy())
    np.savez(tmp_path / "t.npz", x=table["x"].to_numpy())
    with pa.OSFile(str(tmp_path / "t.arrows"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "t.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    (tmp_path / "t.txt").write_text("just a text\n")
    made = {
        "sqlite": ("pandas.read_sql", lambda path: pd.read_sql("select * from t", sqlite3.connect(path))),
        "npy": ("numpy.load", lambda path: {"x": np.load(path)}),
        "npz": ("numpy.load", lambda path: dict(np.load(path))),
        "arrows": (r"pyarrow\.ipc\.open_stream", lambda path: pa.ipc.open_stream(path).read_all()),
        "h5": (r"h5py\.File", None),
        "txt": ("the right file", None),
    }
    for ending, (says, read) in made.items():
        path = tmp_path / f"t.{ending}"
        for use in (colonnade.open, lambda path: colonnade.DataFrame("Events", path).count().value):
            with pytest.raises(colonnade.FormatError, match=says):
                use(path)
        if read is not None:
            assert colonnade.DataFrame.from_arrays(read(path)).sum("x").value == 3.5


def test_a_tree_among_several_is_named(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "two.root") as file:
        file["A"] = {"x": np.arange(3)}
        file["B"] = {"y": np.arange(4.0)}
    with pytest.raises(colonnade.UsageError, match="name one of: A, B"):
        colonnade.open(tmp_path / "two.root")
    assert colonnade.DataFrame("B", tmp_path / "two.root").sum("y").value == 6


def test_times_and_categories(tmp_path: Path) -> None:
    times = pa.array([1, 2, 3], pa.timestamp("us", tz="UTC"))
    rows = pa.array(
        [[("a", {"t": 1}), ("b", {"t": None})], [], []],
        pa.map_(pa.string(), pa.struct([("t", pa.time32("ms"))])),
    )
    table = pa.table({"t": times, "c": pa.array(["a", "b", "a"]).dictionary_encode(), "m": rows})
    colonnade.import_table(put(table, tmp_path / "t.parquet"), tmp_path / "f.root")
    with colonnade.open(tmp_path / "f.root") as data_set:
        assert data_set["t"].to_list() == [1, 2, 3]
        assert data_set.schema["t"].description == "timestamp[us, tz=UTC]"
        assert data_set["c"].to_list() == ["a", "b", "a"]
        assert data_set["m"].to_list()[0] == [{"_0": "a", "_1": {"t": 1}}, {"_0": "b", "_1": {"t": None}}]
        assert data_set.schema["m._0._1.t"].description == "time32[ms]"


def test_runs_with_missing_values(tmp_path: Path) -> None:
    """Their own count of missing values is always 0."""
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None])
    colonnade.import_table(put(pa.table({"r": runs}), tmp_path / "t.arrow"), tmp_path / "f.root", verify=True)
    assert colonnade.open(tmp_path / "f.root")["r"].to_list() == ["a", "a", None]


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
def test_damaged_arrow_files_are_refused(tmp_path: Path, ending: str) -> None:
    """Their offsets may lead anywhere."""
    source = put(pa.table({"s": ["text"] * 40}), tmp_path / f"t.{ending}")
    data = bytearray(source.read_bytes())
    offsets = np.arange(0, 164, 4, np.int32).tobytes()
    place = data.index(offsets)
    data[place + 40 : place + 44] = b"\xff\xff\xff\x7f"
    source.write_bytes(data)
    with pytest.raises(colonnade.FormatError, match="cannot be read as arrow"):
        colonnade.import_table(source, tmp_path / "f.root")


def test_lists_of_unions_in_a_batch_of_empty_ones(tmp_path: Path) -> None:
    """Arrow's count of their bytes ended the process."""
    unions = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    lists = pa.ListArray.from_arrays(pa.array([0] + [2] * 41, pa.int32()), unions)
    source = put(pa.table({"x": lists}), tmp_path / "t.arrow")
    assert colonnade.import_table(source, tmp_path / "f.root", verify=True).bytes_read > 0
    assert colonnade.open(tmp_path / "f.root")["x"].to_list() == [[1, "b"], *[[]] * 40]


ROWS = [{"n": 1, "s": "a\tb"}, {"n": None, "s": "é"}, {"n": 3, "s": 'x,"y"'}]
TEXTS = {
    "tsv": 'n\ts\n1\t"a\tb"\n\té\n3\t"x,""y"""\n',
    "csv": 'n,s\r\n1,a\tb\r\n,é\r\n3,"x,""y"""\r\n',
    "jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS),
}


@pytest.mark.parametrize(
    "ending", ["csv", "CSV.gz", "csv.zst", "csv.bz2", "csv.lz4", "tsv", "tsv.gz", "jsonl", "json.zst"]
)
def test_text_and_compressed_text(tmp_path: Path, ending: str) -> None:
    kind, _, packed = ending.lower().partition(".")
    text = TEXTS["jsonl" if kind == "json" else kind].encode()
    codec = {"gz": "gzip", "zst": "zstd"}.get(packed, packed)
    source = tmp_path / f"a.b.{ending}"
    with pa.CompressedOutputStream(source, codec) if packed else source.open("wb") as sink:
        sink.write(text)
    report = colonnade.import_table(source, tmp_path / "f.root", verify=True, batch_size=2)
    assert report.data_set == "a_b"
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == ROWS


def test_delimiters_and_encodings_of_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "f.root")
    for k, (encoding, delimiter) in enumerate([("cp1252", ";"), ("utf-16", r"\t"), ("utf-8-sig", "|")]):
        source = tmp_path / f"t{k}.txt"
        lines = ("n;s", '1;"a\tb"', ";é", '3;"x,""y"""')
        source.write_text("\n".join(lines).replace(";", delimiter.replace(r"\t", "\t")), encoding)
        options = ["--format", "csv", "--delimiter", delimiter, "--encoding", encoding, "--overwrite"]
        with pytest.raises(SystemExit) as ended:
            main(["import", str(source), out, *options])
        assert ended.value.code == 0, capsys.readouterr()
        assert colonnade.open(out).arrays().to_list() == ROWS
    (tmp_path / "semi.csv").write_text("a;b\n1;2\n")
    (tmp_path / "latin.csv").write_bytes("n,s\n1,é\n".encode("latin-1"))
    (tmp_path / "late.csv").write_bytes(b"s\n" + b"x\n" * 600_000 + "é".encode("latin-1"))
    for name, problem, more in (
        ("semi.csv", r"only column is 'a;b'; try: delimiter=';' \(--delimiter\)", {}),
        ("latin.csv", r"not UTF-8; try: encoding= .*field=s", {}),
        ("late.csv", "invalid UTF8 data", {}),
        ("latin.csv", "no encoding 'x'", {"encoding": "x"}),
        ("latin.csv", "delimiter=';;' is not one character", {"delimiter": ";;"}),
        ("semi.csv", "delimiter= is for CSV", {"delimiter": ",", "format": "orc"}),
        ("semi.csv", "column_names= is for CSV", {"column_names": "a", "format": "json"}),
        ("semi.csv", "',' separates both", {"delimiter": ",", "decimal": ","}),
        ("semi.csv", "skip_rows=-1 is not", {"skip_rows": -1}),
        ("semi.csv", r"only column is 'a;b'", {"header": False}),
        ("semi.csv", "Expected 3 columns, got 2", {"column_names": ["a", "b", "c"], "delimiter": ";"}),
    ):
        with pytest.raises(colonnade.Error, match=problem):
            colonnade.import_table(tmp_path / name, out, overwrite=True, **more)


@pytest.mark.parametrize("seed", range(6))
def test_csv_as_instruments_write_it(tmp_path: Path, seed: int) -> None:
    """Decimal commas, no line of names, lines of remarks in front of it."""
    chosen = random.Random(seed)
    comma, names, remarks = chosen.random() < 0.7, chosen.choice([None, "f", "given"]), chosen.randint(0, 2)
    columns = {
        "n": [chosen.randint(-99, 99) for _ in range(20)],
        "x": [chosen.choice([None, chosen.gauss(0, 1), chosen.randint(0, 9) / 4]) for _ in range(20)],
        "s": [chosen.choice(["a", "b c", "1.5,2"]) for _ in range(20)],
        "u": [2**63 + chosen.randint(0, 9) for _ in range(20)],
    }
    if chosen.random() < 0.3:
        columns = {"x": columns["x"]}
    lines = ["remark; no table"] * remarks + ([";".join(columns)] if names is None else [])
    for row in zip(*columns.values(), strict=True):
        texts = ("" if each is None else str(each) for each in row)
        lines.append(
            ";".join(t.replace(".", ",") if comma and t[-1:].isdigit() and "," not in t else t for t in texts)
        )
    source = tmp_path / "t.csv"
    source.write_text("\n".join(lines) + "\n")
    options: dict[str, Any] = {"skip_rows": remarks} if remarks else {}
    options |= {"decimal": ","} if comma else {"delimiter": ";"}
    found = list(columns)
    if names == "f":
        options["header"], found = False, [f"f{k}" for k in range(len(columns))]
    elif names == "given":
        options["column_names"] = found = [f"{name}_" for name in columns]
    report = colonnade.import_table(source, tmp_path / "f.root", verify=True, **options)
    assert report.fields == tuple(found)
    read = colonnade.open(tmp_path / "f.root").arrays()
    assert {name: read[name].to_list() for name in found} == dict(zip(found, columns.values(), strict=True))


def test_csv_without_names_on_the_command_line(tmp_path: Path, run: Any) -> None:
    source, out = tmp_path / "t.csv", tmp_path / "f.root"
    source.write_text("1,5;2\n-0,25;3\n")
    assert run("import", source, out, "--decimal", ",", "--no-header")[0] == 0
    assert colonnade.open(out).arrays().to_list() == [{"f0": 1.5, "f1": 2}, {"f0": -0.25, "f1": 3}]
    options = ["--decimal", ",", "--column-names", 'x,"y, z"', "--skip-rows", "1", "--overwrite"]
    assert run("import", source, out, *options)[0] == 0
    assert colonnade.open(out).arrays().to_list() == [{"x": -0.25, "y,_z": 3}]
    for option in (["--no-header"], ["--skip-rows", "1"], ["--decimal", ","], ["--decimals-as", "double"]):
        status, _, err = run("import", out, tmp_path / "g.root", *option)
        assert (status, f"{option[0]} is for tables" in err) == (1, True)


DECIMALS = [
    pa.decimal32(9, 3), pa.decimal64(18, 5), pa.decimal128(38, 10), pa.decimal256(76, 30), pa.decimal128(9, -3),
]  # fmt: skip


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_decimals_become_the_nearest_doubles_or_texts(tmp_path: Path, kind: pa.DataType, run: Any) -> None:
    """A cast of Arrow (26) itself is one bit off for many of them."""
    chosen = random.Random(str(kind))

    def number() -> decimal.Decimal:
        digits = 10 ** chosen.randint(1, kind.precision)
        return decimal.Decimal(chosen.randrange(1 - digits, digits)).scaleb(
            -kind.scale, decimal.Context(prec=99)
        )

    plain = pa.array([number() for _ in range(300)], kind)
    missing = pa.array([None if k % 7 == 3 else number() for k in range(300)], kind)
    lists = pa.ListArray.from_arrays(pa.array(range(301), pa.int32()), plain)
    records = pa.StructArray.from_arrays([plain, pa.array(range(300))], ["d", "n"])
    table = pa.table({"d": plain, "m": missing, "l": lists, "r": records})
    if kind.bit_width == 128:
        table = table.append_column("c", plain.dictionary_encode())
    source, out = put(table.slice(1), tmp_path / "t.arrow"), tmp_path / "f.root"
    with pytest.raises(
        colonnade.SchemaError, match=r"no decimal numbers; try: decimals_as='double'.*--decimals-as"
    ):
        colonnade.import_table(source, out)
    assert not out.exists()
    rows = table.slice(1).to_pylist()

    def converted(value: Any, to: Any) -> Any:
        if isinstance(value, dict):
            return {name: converted(each, to) for name, each in value.items()}
        if isinstance(value, list):
            return [converted(each, to) for each in value]
        return to(value) if isinstance(value, decimal.Decimal) else value

    assert run("import", source, out, "--decimals-as", "double", "--verify")[0] == 0
    assert colonnade.open(out).arrays().to_list() == converted(rows, float)
    colonnade.import_table(source, out, decimals_as="text", overwrite=True, verify=True)
    read = colonnade.open(out)
    assert read.schema["m"].type == "std::optional<std::string>"
    texts = [row["d"] for row in read.arrays(["d"]).to_list()]
    assert list(map(decimal.Decimal, texts)) == [row["d"] for row in rows]


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_decimals_become_integers_if_all_are(tmp_path: Path, kind: pa.DataType, run: Any) -> None:
    """As the wide integers and sums of DuckDB, which are decimals of Arrow without a fraction."""
    most = min(10 ** (kind.precision - kind.scale) - 1, 2**63 - 1) // 1000 * 1000
    values = [0, most, None, -most, 7000]
    column = pa.array([None if value is None else decimal.Decimal(value) for value in values], kind)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4, 5], pa.int32()), column)
    source, out = put(pa.table({"d": column, "l": lists}), tmp_path / "t.arrow"), tmp_path / "f.root"
    assert run("import", source, out, "--decimals-as", "int64", "--verify")[0] == 0
    events = colonnade.open(out)
    assert events.schema["d"].type == "std::optional<std::int64_t>"
    assert events["d"].to_list() == values
    assert events["l"].to_list() == [values[:2], [], [None], [-most], [7000]]
    wrong = [decimal.Decimal(2**63)] if kind.precision > 20 else []
    wrong += [decimal.Decimal("0.5")] if kind.scale > 0 else []
    for value in wrong:
        put(pa.table({"d": pa.array([value], kind)}), source)
        with pytest.raises(
            colonnade.ConversionError, match=r"not all values .*are integers.*'text'"
        ) as caught:
            colonnade.import_table(source, tmp_path / "g.root", decimals_as="int64")
        assert caught.value.field == "d"


def test_decimals_are_not_rounded_because_another_file_has_doubles(tmp_path: Path) -> None:
    """The common type of both is double for Arrow."""
    exact = pa.array([decimal.Decimal("0.1")], pa.decimal128(38, 10))
    for number, (first, then) in enumerate(
        [(exact, [0.5]), (pa.array([[exact[0]]], pa.list_(exact.type)), [[0.5]])]
    ):
        files = [
            put(pa.table({"x": each}), tmp_path / f"{number}{k}.parquet")
            for k, each in enumerate((first, then))
        ]
        for order in (files, files[::-1]):
            for options in ({}, {"decimals_as": "double"}):
                with pytest.raises(colonnade.SchemaError, match="'x' has decimal and floating-point numbers"):
                    colonnade.import_table(order, tmp_path / "f.root", **options)
    whole = put(pa.table({"x": pa.array([7], pa.int32())}), tmp_path / "whole.parquet")
    colonnade.import_table([tmp_path / "00.parquet", whole], tmp_path / "f.root", decimals_as="text")
    assert [*map(decimal.Decimal, colonnade.open(tmp_path / "f.root")["x"].to_list())] == [
        decimal.Decimal("0.1"),
        7,
    ]


def test_json(tmp_path: Path) -> None:
    source, out = tmp_path / "t.json", tmp_path / "f.root"
    rows = [
        {"id": 2**64 - 1, "x": [{"u": 1, "v": 0.5}, {"u": 2**63, "v": 1}], "y": 2**63},
        {"id": 7, "x": [], "y": 0.5},
    ]
    source.write_text("\n\n".join(map(json.dumps, rows)))
    colonnade.import_table(source, out, verify=True)
    assert colonnade.open(out).arrays().to_list() == [{**rows[0], "y": 2.0**63}, rows[1]]
    many = '{"a": "%s"}\n' % ("x" * 1000) * 17_000
    for text, problem in (
        ('[{"a": 1}]', r"try: one record per line: jq -c"),
        (many + '{"b": 1}', "unexpected field; try: all members must be in the first 16 megabytes"),
        (many + '{"a": 1}', "from string to number.*the type that the first 16 megabytes show"),
        ('{"a": null}', "values in the first 16 megabytes are missing"),
        ("", "Empty JSON"),
    ):
        source.write_text(text)
        with pytest.raises(colonnade.Error, match=problem):
            colonnade.import_table(source, out, overwrite=True)
    source.write_bytes(b'{"a": "\xe9"}\n')
    with pytest.raises(colonnade.FormatError, match="Invalid UTF8"):
        colonnade.import_table(source, out, overwrite=True)


@pytest.mark.parametrize("ending", ["parquet", "orc", "feather", "csv.gz"])
def test_folders_tell_columns(tmp_path: Path, ending: str) -> None:
    """A column of the files is theirs, and so is one that a name of a folder repeats."""
    made = {}
    for year, key, rows in (("2023", "a%20b", 2), ("2024", "__HIVE_DEFAULT_PARTITION__", 1)):
        folder = tmp_path / "x=1" / "some.table" / f"year={year}" / f"key={key}" / "z=5"
        folder.mkdir(parents=True)
        made[year] = [{"x": 1.5, "z": k} for k in range(rows)]
        table = pa.Table.from_pylist(made[year])
        match ending:
            case "orc":
                pa.orc.write_table(table, folder / "0.orc")
            case "csv.gz":
                with pa.CompressedOutputStream(folder / "0.csv.gz", "gzip") as sink:
                    pa.csv.write_csv(table, sink)
            case _:
                put(table, folder / f"0.{ending}")
        (folder / "_SUCCESS").touch()
        (folder / ".0.parquet.crc").touch()
        (folder / "notes.txt").touch()
    source = tmp_path / "x=1" / "some.table"
    report = colonnade.import_table(source, tmp_path / "f.root", verify=True, batch_size=1)
    assert (report.data_set, report.fields) == ("some", ("x", "z", "year", "key"))
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == [
        *({**row, "year": 2023, "key": "a b"} for row in made["2023"]),
        *({**row, "year": 2024, "key": None} for row in made["2024"]),
    ]
    colonnade.import_table(source, tmp_path / "g.root", columns=["year"])
    assert colonnade.open(tmp_path / "g.root")["year"].to_list() == [2023, 2023, 2024]


def test_folders_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    put(pa.table({"x": [1]}), tmp_path / "delta" / "0.parquet")
    (tmp_path / "mixed" / "k=__HIVE_DEFAULT_PARTITION__").mkdir(parents=True)
    put(pa.table({"x": [1]}), tmp_path / "mixed" / "k=__HIVE_DEFAULT_PARTITION__" / "0.parquet")
    (tmp_path / "mixed" / "0.json").write_text("{}")
    for name, problem, more in (
        ("empty", "the folder has no tables", {"format": "csv"}),
        ("empty", "the folder has no tables", {}),
        ("delta", "has '_delta_log', which says what of its files", {}),
        ("mixed", "which format to read", {}),
        ("mixed", "No non-null segments .* 'k'", {"format": "parquet"}),
    ):
        with pytest.raises(colonnade.Error, match=problem):
            colonnade.import_table(tmp_path / name, tmp_path / "f.root", **more)


@pytest.mark.parametrize(
    ("first", "then", "values"),
    [
        (pa.array([1, 2]), pa.array([0.5]), [1.0, 2.0, 0.5]),
        (pa.array([1, None], pa.int32()), pa.array([2**40]), [1, None, 2**40]),
        (pa.nulls(1), pa.array(["a"]), [None, "a"]),
        (pa.array([[1]], pa.list_(pa.int8())), pa.array([[300]]), [[1], [300]]),
        (pa.array([2**53 + 1]), pa.array([0.5]), "Integer value 9007199254740993 not in range"),
        (pa.array([1]), pa.array(["a"]), "Field x has incompatible types: int64 vs string"),
    ],
)
def test_types_that_hold_the_values_of_all_files(tmp_path: Path, first: Any, then: Any, values: Any) -> None:
    files = [
        put(pa.table({"x": first, "y": [7] * len(first)}), tmp_path / "0.parquet"),
        put(pa.table({"y": [7] * len(then), "x": then}), tmp_path / "1.parquet"),
    ]
    if isinstance(values, str):
        with pytest.raises(colonnade.Error, match=values):
            colonnade.import_table(files, tmp_path / "f.root")
        return
    colonnade.import_table(files, tmp_path / "f.root", verify=True)
    assert repr(colonnade.open(tmp_path / "f.root")["x"].to_list()) == repr(values)


def test_what_cannot_be_imported(tmp_path: Path) -> None:
    good = put(pa.table({"x": [1.0]}), tmp_path / "good.parquet")
    other = put(pa.table({"x": [1.0], "y": [2]}), tmp_path / "other.parquet")
    torn = tmp_path / "torn.parquet"
    torn.write_bytes(good.read_bytes()[:-20])
    (tmp_path / "torn.arrows").write_bytes(
        put(pa.table({"x": [1.0] * 99}), tmp_path / "t.arrows").read_bytes()[:-200]
    )
    (tmp_path / "none.arrow").write_bytes(b"none")
    named = put(pa.table({"abcdefgh": [1.0]}), tmp_path / "named.arrow")
    named.write_bytes(named.read_bytes().replace(b"abcdefgh", b"abc\xffefgh"))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("x,y\n1\n")
    header = tmp_path / "header.csv"
    header.write_text("x,y\n")
    (tmp_path / "latin.csv").write_bytes(b"x,\xe9\n1,2\n")
    (tmp_path / "twice.csv").write_text("x,x\n1,2\n")
    late = "x,y\n" + "1,\n" * 600_000
    (tmp_path / "gap.csv").write_text(late + "1,2\n")
    (tmp_path / "short.csv").write_text(late + "1\n")
    out = tmp_path / "f.root"
    cases: list[tuple[Any, type[colonnade.Error], str, dict[str, Any]]] = [
        (tmp_path / "none.parquet", colonnade.FileMissingError, "no such file", {}),
        (torn, colonnade.FormatError, "cannot be read as parquet: Parquet magic", {}),
        (tmp_path / "torn.arrows", colonnade.FormatError, "cannot be read as arrow: Expected to", {}),
        (named, colonnade.FormatError, "cannot be read as arrow: 'utf-8' codec can't decode", {}),
        (tmp_path / "none.arrow", colonnade.FormatError, "cannot be read as arrow: ", {}),
        (ragged, colonnade.FormatError, "cannot be read as csv: CSV parse error: Row #2", {}),
        (header, colonnade.SchemaError, "the file has no rows", {}),
        (tmp_path / "latin.csv", colonnade.FormatError, "'utf-8' codec can't decode", {}),
        (tmp_path / "gap.csv", colonnade.SchemaError, "values in the first megabyte are missing", {}),
        (
            tmp_path / "short.csv",
            colonnade.FormatError,
            r"Row #600002: Expected 2 columns, got 1: 1 \[uri",
            {},
        ),
        ([good, other], colonnade.SchemaError, "'y' is not in all of them", {}),
        (tmp_path / "twice.csv", colonnade.SchemaError, "two columns have the name 'x'", {}),
        (good, colonnade.UsageError, "no column 'z'", {"columns": ["z"]}),
        (good, colonnade.UsageError, "no columns are named", {"columns": []}),
        (tmp_path / "f.txt", colonnade.UsageError, "do not say which format to read", {}),
        ("obj:///s/x.parquet", colonnade.UnsupportedError, "store", {}),
        ([], colonnade.UsageError, "nothing to import", {}),
        (good, colonnade.UsageError, "batch_size=0", {"batch_size": 0}),
        (put(pa.table({"x": pa.nulls(3)}), tmp_path / "n.parquet"), colonnade.SchemaError, "missing", {}),
        (
            put(pa.table({"x": pa.array([{"a": 1}, None])}), tmp_path / "r.parquet"),
            colonnade.SchemaError,
            "cannot be a record.*columns= without it",
            {},
        ),
        (
            put(pa.table({"x": pa.array([[]], pa.list_(pa.null()))}), tmp_path / "l.parquet"),
            colonnade.SchemaError,
            "there are no values; try: columns= without it",
            {},
        ),
    ]
    for source, kind, text, more in cases:
        with pytest.raises(kind, match=text):
            colonnade.import_table(source, out, **more)
        assert not out.exists()
    (tmp_path / "late.csv").write_text("x\n" + "1\n" * 2_000_000 + "text\n")
    with pytest.raises(colonnade.FormatError, match="cannot be read"):
        colonnade.import_table(tmp_path / "late.csv", out)
    assert not out.exists()
    with pytest.raises(colonnade.UsageError, match="replace the source"):
        colonnade.import_table(good, good, overwrite=True)
    assert pq.read_table(good).num_rows == 1


def test_variants_of_maps_come_back(tmp_path):
    """Arrow has records for the tuples of a map, which fitted no alternative."""
    spec = "std::variant<std::vector<std::tuple<std::int32_t,std::int64_t>>,double>"
    with colonnade.create(tmp_path / "f.root", "Events", {"x": spec}) as writer:
        writer.extend({"x": [[(1, 2)], 0.5, []]})
    colonnade.export(tmp_path / "f.root", tmp_path / "f.arrow")
    colonnade.import_table(tmp_path / "f.arrow", tmp_path / "g.root", verify=True)
    assert colonnade.open(tmp_path / "g.root").arrays()["x"].to_list() == [[(1, 2)], 0.5, []]


def test_pyarrow_is_asked_for_nothing_where_its_threads_could_not_start(tmp_path, monkeypatch):
    """It was seen to crash, and to hang, in later calls."""
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    colonnade.import_table(tmp_path / "t.csv", tmp_path / "t.root")

    def refuse(*arguments):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threads, "start_new_thread", refuse)
        with pytest.raises(colonnade.ResourceError, match=r"cannot start a thread.*pids\.max"):
            colonnade.import_table(tmp_path / "t.csv", tmp_path / "u.root")
        with pytest.raises(colonnade.ResourceError, match=r"cannot start a thread.*pids\.max"):
            colonnade.export(tmp_path / "t.root", tmp_path / "t.arrow")
        assert colonnade.export(tmp_path / "t.root", tmp_path / "t.arrow", compression="none") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.arrow", "t.csv", "t.root"]


def test_threads_that_end_for_want_of_memory_are_not_waited_for(tmp_path, monkeypatch):
    """Python starts them, but the function is never called, of which `Thread.start` knows nothing."""
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    monkeypatch.setattr(threads, "start_new_thread", lambda *_: 1)
    monkeypatch.setattr(threads, "_LONGEST_START", 0.01)
    with pytest.raises(colonnade.ResourceError, match="more memory for this process"):
        colonnade.import_table(tmp_path / "t.csv", tmp_path / "u.root")
    assert not (tmp_path / "u.root").exists()


def test_an_export_without_memory_says_so(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    colonnade.import_table(tmp_path / "t.csv", tmp_path / "t.root")

    def refuse(*arguments, **options):
        raise pa.ArrowMemoryError("malloc of size 448 failed")

    monkeypatch.setattr(pyarrow.csv, "CSVWriter", refuse)
    with pytest.raises(
        colonnade.ResourceError, match=r"not enough memory to write .*; try: a smaller step_size="
    ):
        colonnade.export(tmp_path / "t.root", tmp_path / "u.csv")


def test_wide_files_are_compared_without_lists_of_their_names_per_column(monkeypatch):
    class Schema:
        """Counts how often Arrow would make a list of all names."""

        def __init__(self, names):
            self.lists = 0
            self._names = names

        @property
        def names(self):
            self.lists += 1
            return list(self._names)

    monkeypatch.setattr(table_files, "_check_decimals", lambda *schemas: None)
    monkeypatch.setattr(pa, "unify_schemas", lambda schemas, **options: schemas[0])
    names = [f"c{number}" for number in range(500)]
    files = [(f"{number}.parquet", Schema(names)) for number in range(3)]
    assert table_files._common(files) is files[0][1]
    assert sum(schema.lists for _, schema in files) < 10


def test_import_of_columns_whose_names_have_dots_and_missing_values(tmp_path):
    table = pa.table({"a.b": [1, None], "a": [1, 2], "a.b.c": [1, 2], "d": [{"e": 1}, {"e": None}]})
    pq.write_table(table, tmp_path / "t.parquet")
    colonnade.import_table(tmp_path / "t.parquet", tmp_path / "f.root")
    types = colonnade.open(tmp_path / "f.root").typenames()
    assert [name for name, kind in types.items() if kind.startswith("std::optional")] == ["a_b"]
