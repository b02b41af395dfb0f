"""The command line."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from clients import running
from locations import FIXTURES
from rich.console import Console

import colonnade
from colonnade import _core
from colonnade.cli import diff, main
from colonnade.cli.info import describe
from colonnade.cli.tables import Column, Table
from colonnade.cli.treemap import stored_boxes

SEVERAL = str(FIXTURES / "several_data_sets.root")
RECORDS = str(FIXTURES / "types_untyped.root")


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample.root"
    with colonnade.create(path, "Events", {"id": "std::int32_t", "x": "std::vector<double>"}) as writer:
        for number in range(20):
            writer.fill(id=number, x=[number / 2, float("nan")])
            if number == 9:
                writer.commit_cluster()
    return path


def test_info_lists_sizes(run, sample):
    status, out, err = run("info", sample)
    assert (status, err) == (0, "")
    assert "Events: 20 entries, 2 clusters, 6 pages" in out
    assert "std::vector<double>" in out
    assert "zstd:5" in out


def test_info_as_json(run, sample):
    status, out, _ = run("info", sample, "--json")
    found = json.loads(out)
    assert status == 0
    assert found["size"] == sample.stat().st_size
    (data,) = found["data_sets"]
    assert (data["name"], data["entries"], data["clusters"], data["pages"]) == ("Events", 20, 2, 6)
    identity, x = data["fields"]
    assert (identity["type"], identity["packed_bytes"]) == ("std::int32_t", 80)
    assert x["packed_bytes"] == 20 * 8 + 40 * 8
    assert x["fields"][0]["path"] == "x._0"
    assert data["packed_bytes"] == identity["packed_bytes"] + x["packed_bytes"]
    assert data["stored_bytes"] == identity["stored_bytes"] + x["stored_bytes"] < sample.stat().st_size


def test_info_of_column_types(run, sample):
    lines = [line.split() for line in run("info", sample, "--types")[1].splitlines()]
    assert {tuple(line[:3]) for line in lines if line and line[0].startswith("Split")} == {
        ("SplitReal64", "1", "40"),
        ("SplitIndex64", "1", "20"),
        ("SplitInt32", "1", "20"),
    }
    (data,) = json.loads(run("info", sample, "--json")[1])["data_sets"]
    for size in ("pages", "stored_bytes", "packed_bytes"):
        assert sum(each[size] for each in data["column_types"]) == data[size]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_treemaps(run, sample, tmp_path, ending):
    picture = tmp_path / f"map.{ending}"
    assert run("info", sample, "Events", "--treemap", picture)[0] == 0
    written = picture.read_bytes()
    assert written.startswith(b"\x89PNG") if ending == "png" else b"</svg>" in written


def test_what_treemaps_refuse(run, sample, tmp_path):
    status, _, err = run("info", sample, "--treemap", tmp_path / "map.root")
    assert status == 1
    assert "map.root" in err
    assert ".svg" in err
    with colonnade.create(sample, "Others", {"x": "float"}, mode="update"):
        pass
    assert "has 2; try: the name of one" in run("info", sample, "--treemap", tmp_path / "map.svg")[2]
    assert "stores nothing" in run("info", sample, "Others", "--treemap", tmp_path / "map.svg")[2]
    assert not list(tmp_path.glob("map.*"))


def test_areas_of_treemaps_are_stored_sizes(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events") as writer:
        counts = rng.poisson(3, 5000)
        jets = ak.zip({"pt": rng.normal(size=counts.sum()), "id": rng.integers(0, 5, counts.sum())})
        jets = ak.unflatten(jets, counts)
        writer.extend(
            {"n": np.arange(5000), "jets": jets, "x": rng.normal(size=(5000, 3)), "zero": counts * 0}
        )
    with colonnade.open(path) as data:
        described = describe(data)
        sizes = _core.column_statistics(data.descriptor)
    boxes = list(stored_boxes(described))
    area = sum(box.dx * box.dy for box in boxes)
    assert area == pytest.approx(96)
    assert sorted(box.dx * box.dy / area for box in boxes) == pytest.approx(
        sorted(each.stored_bytes / described["stored_bytes"] for each in sizes if each.stored_bytes)
    )
    for one, other in itertools.combinations(boxes, 2):
        width = min(one.x + one.dx, other.x + other.dx) - max(one.x, other.x)
        height = min(one.y + one.dy, other.y + other.dy) - max(one.y, other.y)
        assert min(width, height) < 1e-9
    assert {box.text.splitlines()[0] for box in boxes} == {"n", "jets", "pt", "id", "x", "zero"}


def printed(table, width):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(table, crop=False)
    return out.getvalue().splitlines()


def test_tables():
    """Only columns that fold become narrower than their cells."""
    table = Table([Column("field"), Column("type", folds=True, style="cyan"), Column("pages", right=True)])
    table.rows += [["a_long_name", "std::vector<float> of 日本", "12"], ["x", "a b", "345678"]]
    assert printed(table, 80) == [
        " field        type                         pages ",
        " a_long_name  std::vector<float> of 日本      12 ",
        " x            a b                         345678 ",
    ]
    assert printed(table, 33) == [
        " field        type         pages ",
        " a_long_name  std::vecto      12 ",
        "              r<float>           ",
        "              of 日本            ",
        " x            a b         345678 ",
    ]
    assert [line.split()[0] for line in printed(table, 1)[1::7]] == ["a_long_name", "x"]
    assert printed(Table([Column("a"), Column("b")], edge="", rows=[["1\n2", "\x1b[1m"]]), 80) == [
        "a     b      ",
        r"1\n2  \x1b[1m",
    ]


def test_info_lists_sub_fields_on_demand(run, sample):
    assert "└─ _0" not in run("info", sample)[1]
    assert "└─ _0" in run("info", sample, "--all")[1]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.root")), ids=lambda path: path.stem)
def test_info_of_every_fixture(run, path):
    assert run("info", path)[0] == 0
    status, out, _ = run("info", path, "--json")
    assert status == 0
    assert {data["name"] for data in json.loads(out)["data_sets"]} == set(colonnade.datasets(path))


def test_ls(run):
    status, out, _ = run("ls", SEVERAL)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines() if "RNTuple" in line] == colonnade.datasets(SEVERAL)
    rows = json.loads(run("ls", SEVERAL, "--json")[1])
    assert {row["path"] for row in rows if row["class"] == "RNTuple"} == set(colonnade.datasets(SEVERAL))


def test_show(run, sample):
    status, out, _ = run("show", sample, "Events", "--entries", "3:5")
    assert status == 0
    assert out.splitlines() == ['3: {"id": 3, "x": [1.5, nan]}', '4: {"id": 4, "x": [2, nan]}']
    assert len(run("show", sample)[1].splitlines()) == 10
    assert run("show", sample, "--entries", "-1:", "--fields", "id")[1] == '19: {"id": 19}\n'
    assert run("show", sample, "--entries", "7", "--fields", "i*")[1] == '7: {"id": 7}\n'


def test_show_as_json(run, sample):
    found = json.loads(run("show", sample, "--json", "--entries", "0:2")[1])
    assert found == [{"id": 0, "x": [0, "nan"]}, {"id": 1, "x": [0.5, "nan"]}]


def test_texts_that_are_not_unicode_are_not_json(run, tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"s": "std::string"}) as writer:
        writer.fill(s=b"\xff")
        writer.attributes("notes", {"s": "std::string"}).add({"s": b"\xff"}, 0, 1)
    for extra in ((), ("--attributes", "notes")):
        status, out, err = run("show", tmp_path / "f.root", "--json", *extra)
        assert (status, out) == (1, "")
        assert "not valid UTF-8" in err
        assert "leave out --json" in err
    status, _, err = run("export", tmp_path / "f.root", tmp_path / "f.parquet")
    assert status == 1
    assert "not valid UTF-8, which Arrow requires; try: columns= without it, or --columns" in err


@pytest.mark.parametrize("values", [[np.nan, np.nan], [-1.7e308, 1.7e308], [0, np.inf]])
def test_histograms_of_values_that_no_axis_covers(run, tmp_path, values):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": np.array(values, float)})
    status, _, err = run("show", tmp_path / "f.root", "--histogram", "x")
    assert status == 1
    assert "which no axis can cover; try: a range (--range 0:100)" in err


def test_a_histogram_has_the_range_that_is_asked_for(run, tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": np.array([-1e6, 0, 0.5, 1, 3.5, 4, np.nan, np.inf])})
    status, out, err = run("show", tmp_path / "f.root", "--histogram", "x", "--range", "0:4", "--bins", "4")
    assert (status, err) == (0, "")
    title, *lines = out.splitlines()
    assert title.startswith("x: 8 values, ")
    assert title.endswith("; 4 are outside of the range")
    assert [(float(line.split("|")[0]), int(line.split()[-1])) for line in lines] == [
        (0, 2),
        (1, 1),
        (2, 0),
        (3, 1),
    ]


def test_show_schema(run):
    out = run("show", RECORDS, "--schema")[1]
    assert "record: record" in out
    named = run("show", RECORDS, "--schema", "--fields", "record")[1]
    assert named.startswith("record: record")
    assert named in out
    assert named != out


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.root")), ids=lambda path: path.stem)
def test_show_every_fixture(run, path):
    for name in colonnade.datasets(path):
        assert run("show", path, name)[0] == 0


def test_verify(run):
    status, out, err = run("verify", SEVERAL)
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == len(colonnade.datasets(SEVERAL))


def test_verify_names_the_damage(run, sample, tmp_path):
    page = colonnade.open(sample).descriptor.clusters[1].columns[0].pages[0]
    content = bytearray(sample.read_bytes())
    content[page.offset] ^= 0xFF
    damaged = tmp_path / "damaged.root"
    damaged.write_bytes(content)
    status, out, err = run("verify", damaged)
    assert (status, out) == (1, "")
    assert err.startswith("Events: damaged: ")
    for place in (str(damaged), "cluster=1", "page=0", "offset="):
        assert place in err
    (tmp_path / "cut.root").write_bytes(content[: len(content) // 2])
    shutil.copy(sample, tmp_path / "sound.root")
    status, out, err = run("verify", f"{tmp_path}/*.root")
    assert status == 1
    assert [line.split(": damaged: ")[0] for line in err.splitlines()] == [
        f"{tmp_path}/cut.root",
        f"{damaged}: Events",
    ]
    assert f"{tmp_path}/sound.root: Events: " in out
    assert run("verify", *sorted(tmp_path.glob("*.root"))) == (status, out, err)
    assert run("verify", f"{sample}:Events", tmp_path / "sound.root")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("info", "/no/such/file.root"), "No such file"),
        (("ls", __file__), "test_cli.py"),
        (("show", SEVERAL, "Nope"), "Nope"),
        (("show", SEVERAL), "5 data sets"),
        (("show", RECORDS, "--fields", "nope"), "nope"),
        (("verify", "/no/such/file.root"), "No such file"),
        (("generate", "lhcb", "/no/such/folder/f.root"), "/no/such/folder"),
        (("ls", "caf\udce9.root"), "not valid Unicode"),
        (("info", RECORDS, "caf\udce9"), "not valid Unicode"),
        (("verify", RECORDS, "caf\udce9"), "not valid Unicode"),
        (("import", RECORDS, "no.root", "--cluster-size", "1e400"), "not a size"),
        (("import", RECORDS, "no.root", "--checkpoint-every", "²"), "not a time"),
        (("merge", "no.root", RECORDS, "--checkpoint-every", "²"), "not a time"),
        (("export", RECORDS, "no.parquet", "--step-size", "²"), "not a size"),
        (("export", RECORDS, ".", "--format", "csv", "--overwrite"), "not a file"),
    ],
)
def test_errors_are_one_line(run, arguments, text):
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith("colonnade: ")
    assert len(err.splitlines()) == 1
    assert text in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("nope",),
        ("info",),
        ("show", RECORDS, "--entries", "x"),
        ("generate", "nope", "f"),
        ("generate", "random", "f", "--seed", "-1"),
        ("verify", "f.root", "Events", "g.root"),
        ("info", "f.root", "g.root"),
        ("show", "f.root", "--json", "--schema"),
        ("show", "f.root", "--json", "--histogram", "x"),
        ("show", "f.root", "--schema", "--attributes", "runs"),
        ("show", "f.root", "--fields", "x", "--histogram", "x"),
        ("show", "f.root", "--range", "0:1"),
        *(
            ("show", "f.root", "--histogram", "x", "--range", text)
            for text in ("1", "1:0", "0:x", "0:inf", "0:1:2")
        ),
    ],
)
def test_wrong_usage(run, arguments):
    status, _, err = run(*arguments)
    assert status == 2
    assert "Usage" in err


def test_names_are_printed_as_they_are(run, tmp_path):
    names = ["a:key:b", "[bold]z", "p[q]"]
    with colonnade.create(tmp_path / "f.root", "Events", dict.fromkeys(names, "int")):
        pass
    lines = run("info", tmp_path / "f.root")[1].splitlines()
    assert [line.split()[0] for line in lines[-3:]] == names

    source, home = tmp_path / "[red].root", f"obj://{tmp_path}/cache"
    with colonnade.create(source, "Events", {":key:": "int"}) as writer:
        writer.extend({":key:": [1]})
    assert run("cache", "warm", source, "--home", home)[0] == 0
    assert f"{source}:Events" in run("cache", "ls", "--home", home)[1]
    assert ":key:" in run("cache", "info", source, "--home", home)[1]


def test_help_and_version(run):
    assert run("--help")[0] == 0
    assert colonnade.__version__ in run("--version")[1]


@pytest.mark.parametrize(
    ("sample_name", "data_set", "fields"),
    [("lhcb", "DecayTree", 26), ("nanoaod", "Events", 6), ("random", "random", 2)],
)
def test_generate(run, tmp_path, sample_name, data_set, fields):
    path = tmp_path / "f.root"
    status, out, _ = run(
        "generate", sample_name, path, "--events", 1000, "--compression", "lz4:1", "--seed", 3
    )
    assert status == 0
    assert "1000 events" in out
    found = colonnade.open(path)
    assert (found.name, found.num_entries, len(found.field_names)) == (data_set, 1000, fields)


@pytest.mark.parametrize("place", ["obj://{}", "file://{}/f%20g.root", "{}/f.root:DecayTree"])
def test_generate_where_uris_say(run, tmp_path, place):
    place = place.format(tmp_path)
    status, out, error = run("generate", "lhcb", place, "--events", 10)
    assert (status, error) == (0, "")
    assert ("KiB" in out) == ("obj:" not in place)
    assert colonnade.open(place).num_entries == 10


def test_demo(run, tmp_path):
    status, out, _ = run("demo", "--events", 50_000, "--output", tmp_path / "demo")
    assert status == 0
    assert "million events/s" in out
    candidates = int(out.split("found")[1].split()[0])
    assert 50 < candidates < 500
    assert (tmp_path / "demo" / "b_mass.png").read_bytes()[:4] == b"\x89PNG"


def test_output_that_nobody_reads_ends_quietly(sample):
    command = [
        sys.executable,
        "-c",
        "from colonnade.cli import main; main()",
        "show",
        str(sample),
        "--entries",
        "0:20",
    ]
    with running(command, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 1


@pytest.mark.parametrize("command", ["show", "info", "ls", "verify", "--help"])
def test_output_to_a_full_device_is_told(sample, command):
    command = [sys.executable, "-m", "colonnade", command, str(sample)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("colonnade: the output cannot be written (No space left on device); try: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["show", "info", "ls", "verify", "--help", "show --entries 30:"])
@pytest.mark.parametrize("closed", [["stdout"], ["stderr"], ["stdout", "stderr"]])
def test_output_to_streams_that_are_closed_is_dropped(sample, monkeypatch, command, closed):
    """As those of `colonnade show f.root >&- 2>&-`, which Python has as None."""
    for name in closed:
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), str(sample)])
    for name in closed:
        getattr(sys, name).close()
    assert stop.value.code == 0


@pytest.fixture(scope="module")
def many_data_sets(tmp_path_factory):
    """A file with 200 data sets."""
    path = tmp_path_factory.mktemp("many") / "many.root"
    for number in range(200):
        mode = "update" if number else "create"
        with colonnade.create(path, f"of_number_{number}", {"x": "float"}, mode=mode) as writer:
            writer.fill(x=number)
    return path


def bytes_read():
    """The bytes that this process has asked the system for so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


@pytest.mark.parametrize("command", ["ls", "info", "verify", "repair"])
def test_what_lists_many_data_sets_is_read_a_few_times(run, many_data_sets, command):
    run(command, many_data_sets)  # which imports what it needs
    before = bytes_read()
    assert run(command, many_data_sets)[0] == 0
    # The list of keys is about a tenth of the file, and a search for what a writer left goes through all of it.
    assert bytes_read() - before < 6 * many_data_sets.stat().st_size


def test_info_and_verify_show_all_of_many_data_sets(run, many_data_sets):
    names = [f"of_number_{number}" for number in range(200)]
    assert [
        each["name"] for each in json.loads(run("info", many_data_sets, "--json")[1])["data_sets"]
    ] == names
    verified = run("verify", many_data_sets)[1].splitlines()
    assert [line.partition(":")[0] for line in verified] == names


def kill_writer(opened, values):
    """A process that opens a writer so, fills a cluster with each value, and ends without closing it."""
    program = f"""
import os, colonnade
writer = colonnade.{opened}
for value in {list(values)}:
    writer.fill(x=value)
    writer.commit_cluster()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_repair_finds_one_of_many_data_sets(run, many_data_sets, tmp_path):
    path = shutil.copy(many_data_sets, tmp_path)
    kill_writer(
        f'create({str(path)!r}, "last", {{"x": "float"}}, mode="update", checkpoint_every=2)', range(5)
    )
    found = json.loads(run("repair", path, "--json")[1])
    assert (found["data_set"], found["entries"], found["recovered_entries"]) == ("last", 4, 1)
    assert len(colonnade.datasets(path)) == 201
    assert colonnade.open(path, "last").arrays(library="np")["x"].tolist() == [0, 1, 2, 3, 4]


def test_update_refuses_to_lose_one_of_many_data_sets(many_data_sets, tmp_path):
    path = shutil.copy(many_data_sets, tmp_path)
    kill_writer(
        f'create({str(path)!r}, "last", {{"x": "float"}}, mode="update", checkpoint_every=2)', range(5)
    )
    with pytest.raises(colonnade.UsageError, match='1 entries of the data set "last"'):
        colonnade.create(path, "other", {"x": "float"}, mode="update")


def test_update_refuses_to_lose_what_a_resumed_writer_left(run, tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", {"x": "float"}, checkpoint_every=2) as writer:
        for number in range(3):
            writer.fill(x=number)
            writer.commit_cluster()
    kill_writer(f'resume({str(path)!r}, "Events", checkpoint_every=100)', [3])
    with pytest.raises(colonnade.UsageError, match='1 entries of the data set "Events"'):
        colonnade.create(path, "other", {"x": "float"}, mode="update")
    assert json.loads(run("repair", path, "--json")[1])["recovered_entries"] == 1
    colonnade.create(path, "other", {"x": "float"}, mode="update").close()
    assert colonnade.open(path, "Events")["x"].tolist() == [0, 1, 2, 3]


def test_diff_makes_values_only_of_what_differs(run, tmp_path, monkeypatch):
    schema = dict.fromkeys(["a", "b", "c"], "float") | {"n": "std::vector<std::int32_t>"}
    for file, b in [("one.root", 1.0), ("two.root", 2.0)]:
        with colonnade.create(tmp_path / file, "Events", schema) as writer:
            writer.fill(a=float("nan"), b=b, c=0.0, n=[1, 2])
    made = []
    values = diff._values
    monkeypatch.setattr(
        diff, "_values", lambda data, name, *range: made.append(name) or values(data, name, *range)
    )
    status, out, _ = run("diff", tmp_path / "one.root", tmp_path / "two.root")
    assert (status, out) == (1, "! b: 1 value of 1 differ, first at entry 0: 1.0 -> 2.0\n")
    assert made == ["b", "b"]
