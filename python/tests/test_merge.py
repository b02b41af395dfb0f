"""Merging: random schemas cut into files and put together again in every mode, and what is refused."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uproot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from root_values import same
from test_round_trip import KINDS

import colonnade

QUIET = settings(
    deadline=None,
    max_examples=120,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def arguments_of(template: str) -> list[str]:
    """Split at the commas that are in no inner template."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(template):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(template[begin:at])
            begin = at + 1
    return [*parts, template[begin:]]


def zero(spec):
    """What a field of this type has in entries of inputs that lack it."""
    if isinstance(spec, dict):
        return {name: zero(each) for name, each in spec.items()}
    if isinstance(spec, list):
        return []
    name, _, inner = spec.partition("<")
    inner = inner.removesuffix(">")
    match name:
        case "std::array":
            item, size = inner.rsplit(",", 1)
            return [zero(item)] * int(size)
        case "std::bitset":
            return [False] * int(inner)
        case "std::tuple":
            return tuple(zero(each) for each in arguments_of(inner))
        case "std::optional" | "std::unique_ptr" | "std::variant":
            return None
        case "std::vector" | "ROOT::VecOps::RVec" | "std::set" | "std::map":
            return []
        case "std::string":
            return ""
        case "bool":
            return False
    return 0.0 if name in ("float", "double", "Double32_t") else 0


def write(path, schema, entries, *, ends=(), name="Events", **options):
    if "mode" not in options:  # to take the place of another file takes long
        Path(path).unlink(missing_ok=True)
    with colonnade.create(path, name, schema, **options) as writer:
        for number, entry in enumerate(entries):
            if number in ends:
                writer.commit_cluster()
            writer.fill(**entry)


@st.composite
def files(draw: st.DrawFn):
    """Fields, and for each file which of them it has, its entries and how it is written."""
    kinds = draw(st.lists(KINDS, min_size=1, max_size=4))
    fields = {f"field{number}": kind for number, kind in enumerate(kinds)}
    made = []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, unique=True))
        entry = st.fixed_dictionaries({name: fields[name].values for name in names})
        made.append(
            (
                {name: fields[name].spec for name in names},
                draw(st.lists(entry, max_size=4)),
                draw(st.sets(st.integers(0, 4), max_size=2)),
                draw(st.sampled_from(["none", "zstd:1", "lz4:1"])),
            )
        )
    return {name: kind.spec for name, kind in fields.items()}, made


def common(made):
    return set.intersection(*(set(schema) for schema, *_ in made))


def expected_of(fields, made, mode):
    names = common(made) if mode == "filter" else set().union(*(schema for schema, *_ in made))
    return [
        {name: entry[name] if name in entry else zero(fields[name]) for name in names}
        for _, entries, *_ in made
        for entry in entries
    ]


WAYS = [{}, {"compression": "zlib:1"}, {"cluster_size": "1 kB"}, {"page_size": 64}]


@QUIET
@given(sample=files(), mode=st.sampled_from(["strict", "filter", "union"]), way=st.sampled_from(WAYS))
def test_merged_is_as_concatenated(tmp_path, sample, mode, way):
    fields, made = sample
    inputs = []
    for number, (schema, entries, ends, compression) in enumerate(made):
        inputs.append(tmp_path / f"in{number}.root")
        write(inputs[-1], schema, entries, ends=ends, compression=compression)
    merge = lambda: colonnade.merge(  # noqa: E731
        tmp_path / "out.root", inputs, mode=mode, verify="values", overwrite=True, **way
    )
    differ = any(set(schema) != set(made[0][0]) for schema, *_ in made)
    if (mode == "strict" and differ) or (mode == "filter" and not common(made)):
        with pytest.raises(colonnade.SchemaError):
            merge()
        return
    report = merge()
    data_set = colonnade.open(tmp_path / "out.root")
    expected = expected_of(fields, made, mode)
    found = data_set.arrays().to_list()
    assert len(found) == len(expected) == report.data_sets[0].entries
    assert same(found, expected)
    assert report.data_sets[0].verified
    data_set.verify()


@QUIET
@given(
    members=st.lists(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), min_size=2, max_size=4),
    counts=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    way=st.sampled_from(WAYS),
)
def test_members_of_records_come_together(tmp_path, members, counts, way):
    """Union and filter reach into records and collections of records."""
    specs = {"a": "float", "b": "std::string", "c": "std::vector<std::int16_t>", "d": "std::array<bool,2>"}
    values = {"a": 1.5, "b": "text", "c": [1, 2], "d": [True, False]}
    inputs, entries = [], []
    for number, names in enumerate(members):
        inputs.append(tmp_path / f"in{number}.root")
        one = {name: values[name] for name in names}
        own = [{"one": one, "many": [one] * count} for count in counts]
        schema = {
            "one": {name: specs[name] for name in names},
            "many": [{name: specs[name] for name in names}],
        }
        write(inputs[-1], schema, own, ends=[2])
        entries.append(own)
    every = sorted(set().union(*members))
    colonnade.merge(tmp_path / "out.root", inputs, mode="union", verify="values", overwrite=True, **way)

    def filled(one, names):
        return {name: one.get(name, zero(specs[name])) for name in names}

    expected = [
        {"one": filled(entry["one"], every), "many": [filled(one, every) for one in entry["many"]]}
        for own in entries
        for entry in own
    ]
    assert same(colonnade.open(tmp_path / "out.root").arrays().to_list(), expected)
    with uproot.open(tmp_path / "out.root") as file:
        assert same(file["Events"].arrays().to_list(), expected)


@QUIET
@given(sample=files(), cut=st.integers(0, 4), mode=st.sampled_from(["strict", "union"]))
def test_appended_is_as_merged_at_once(tmp_path, sample, cut, mode):
    fields, made = sample
    if mode == "strict":
        made = [one for one in made if set(one[0]) == set(made[0][0])]
    # What is there keeps its encodings.
    made = [(*one[:3], "zstd:1") for one in made]
    inputs = []
    for number, (schema, entries, ends, compression) in enumerate(made):
        inputs.append(tmp_path / f"in{number}.root")
        write(inputs[-1], schema, entries, ends=ends, compression=compression)
    out = tmp_path / "out.root"
    out.unlink(missing_ok=True)
    for some in (inputs[:cut], inputs, inputs):
        if some:
            report = colonnade.merge(out, some, mode=mode, append=True, verify="values")
    assert report.data_sets[0].known_sources == len(inputs)
    data_set = colonnade.open(out)
    assert same(data_set.arrays().to_list(), expected_of(fields, made, mode))
    data_set.verify()


def test_what_does_not_fit_what_is_there_is_named(tmp_path):
    """In mode filter the fields of an existing output stay: the input that lacks one is at fault, not the others."""
    paths = [tmp_path / f"in{number}.root" for number in range(3)]
    for path, names in zip(paths, ["ab", "a", "c"], strict=True):
        write(path, dict.fromkeys(names, "int"), [dict.fromkeys(names, 1)])
    out = tmp_path / "out.root"
    colonnade.merge(out, paths[:1], mode="filter")
    with pytest.raises(colonnade.SchemaError, match="in this one there is no field 'b'") as caught:
        colonnade.merge(out, paths[:2], mode="filter", append=True)
    assert caught.value.uri == str(paths[1])
    with pytest.raises(colonnade.SchemaError, match="there is no field that all sources have"):
        colonnade.merge(tmp_path / "none.root", paths[1:], mode="filter")


@QUIET
@given(
    sample=files(),
    cut=st.integers(1, 3),
    later=st.sampled_from([{"cluster_size": "1 kB"}, {"page_size": 64}]),
)
def test_values_are_appended_behind_several_encodings(tmp_path, sample, cut, later):
    """Pages that were kept gave fields an encoding for each compression; what comes later has one of them."""
    fields, made = sample
    inputs = []
    for number, (schema, entries, ends, compression) in enumerate(made):
        inputs.append(tmp_path / f"in{number}.root")
        write(inputs[-1], schema, entries, ends=ends, compression=compression)
    out = tmp_path / "out.root"
    colonnade.merge(out, inputs[:cut], mode="union", verify="values", overwrite=True)
    colonnade.merge(out, inputs, mode="union", append=True, verify="values", **later)
    with colonnade.open(out) as data_set:
        assert same(data_set.arrays().to_list(), expected_of(fields, made, "union"))
        data_set.verify()


# ---- Files as people have them


@pytest.fixture
def made(tmp_path):
    paths = []
    for number in range(4):
        paths.append(tmp_path / f"part{number}.root")
        with colonnade.create(paths[-1], "Events", cluster_size=20_000, page_size=2048) as writer:
            for _ in range(5):
                writer.extend({"x": [float(number)] * 2000, "n": list(range(2000))})
    return paths


def test_wildcards_and_several_data_sets(made, tmp_path):
    for number, path in enumerate(made[:2]):
        with colonnade.create(path, "runs/Runs", {"run": "int"}, mode="update") as writer:
            writer.fill(run=number)
    report = colonnade.merge(tmp_path / "all.root", tmp_path / "part*.root", verify="values")
    assert [(one.data_set, one.entries) for one in report.data_sets] == [("Events", 40_000), ("runs/Runs", 2)]
    assert report.notes == ("'runs/Runs' is in 2 of 4 inputs",)
    assert colonnade.open(tmp_path / "all.root", "runs/Runs")["run"].to_list() == [0, 1]
    assert colonnade.open(tmp_path / "all.root", "Events")["x"].to_list()[::10_000] == [0, 1, 2, 3]


def test_other_objects_are_listed(tmp_path):
    for number in range(2):
        with uproot.recreate(tmp_path / f"h{number}.root") as file:
            file["folder/histogram"] = np.histogram([0.5, 1.5], bins=2)
        write(tmp_path / f"h{number}.root", {"x": "int"}, [{"x": number}], mode="update")
    report = colonnade.merge(tmp_path / "out.root", tmp_path / "h*.root")
    assert [(one.path, one.class_name, one.inputs) for one in report.left_out] == [
        ("folder/histogram", "TH1D", 2)
    ]


def test_names_that_are_not_unicode_are_matched_by_wildcards(made, tmp_path):
    shutil.copy(made[1], os.fsencode(tmp_path) + b"/caf\xe9.root")
    report = colonnade.merge(tmp_path / "out.root", tmp_path / "caf*.root")
    assert report.data_sets[0].entries == 10_000
    again = colonnade.merge(tmp_path / "out.root", tmp_path / "caf*.root", append=True)
    assert again.data_sets[0].known_sources == 1
    with pytest.raises(colonnade.UsageError, match="not valid Unicode"):
        colonnade.open(tmp_path / "caf*.root")


def test_what_makes_no_sense_is_refused(made, tmp_path):
    out = tmp_path / "out.root"
    with pytest.raises(colonnade.UsageError, match="given twice"):
        colonnade.merge(out, [made[0], f"{tmp_path}/./part0.root"])
    os.link(made[0], tmp_path / "second name.root")
    with pytest.raises(colonnade.UsageError, match="given twice"):
        colonnade.merge(out, [made[0], tmp_path / "second name.root"])
    with pytest.raises(colonnade.UsageError, match="one of the inputs"):
        colonnade.merge(made[0], made, overwrite=True)
    with pytest.raises(colonnade.UsageError, match="nothing to merge"):
        colonnade.merge(out, [])
    with pytest.raises(colonnade.UsageError, match="name of an input is empty"):
        colonnade.merge(out, [made[0], ""])
    with pytest.raises(colonnade.FileMissingError, match=r"no such|No such|does not exist"):
        colonnade.merge(out, [made[0], tmp_path / "none.root"])
    with pytest.raises(colonnade.FileMissingError, match="no file matches"):
        colonnade.merge(out, tmp_path / "none*.root")
    with pytest.raises(colonnade.NotFoundError, match="no input has a data set 'Runs'"):
        colonnade.merge(out, made, data_sets="Runs")
    with pytest.raises(colonnade.UsageError, match="'Events' is named twice"):
        colonnade.merge(out, made, data_sets=["Events", "/Events"])
    with pytest.raises(colonnade.UsageError, match="'strict', 'filter' or 'union'"):
        colonnade.merge(out, made, mode="both")
    assert not out.exists()
    colonnade.merge(out, made[:1])
    with pytest.raises(colonnade.UsageError, match="already exists"):
        colonnade.merge(out, made)
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("tree", {"x": "int32"}).extend({"x": [1, 2]})
    with pytest.raises(colonnade.NotFoundError, match="no RNTuple"):
        colonnade.merge(out, [made[0], tmp_path / "tree.root"], overwrite=True)


@pytest.mark.parametrize("there", ["nothing", "a bare file", "a bare merge", "a file", "a merge", "a store"])
def test_what_a_later_data_set_lacks_is_found_before_anything_is_written(tmp_path, there):
    inputs = [tmp_path / "a.root", tmp_path / "b.root"]
    for path, kind in zip(inputs, ["int", "double"], strict=True):
        write(path, {"x": "int"}, [{"x": 1}], name="First")
        write(path, {"y": kind}, [{"y": 1}], name="Second", mode="update")
    out, options, fails = tmp_path / "out.root", {}, colonnade.SchemaError
    match there:
        case "a bare file":
            options, fails = {"container": "bare"}, colonnade.UsageError
            inputs = inputs[:1]
        case "a bare merge":
            colonnade.merge(out, inputs[0], data_sets="First", container="bare")
            inputs, options, fails = inputs[1:], {"append": True}, colonnade.UsageError
        case "a file":
            write(out, {"z": "int"}, [{"z": 1}])
            options = {"overwrite": True}
        case "a merge":
            colonnade.merge(out, inputs[:1])
            options = {"append": True}
        case "a store":
            out = f"obj://{tmp_path}/store"
            write(out, {"y": "int"}, [{"y": 1}], name="Second")
            inputs, fails = inputs[:1], colonnade.UsageError
    before = out.read_bytes() if there in ("a bare merge", "a file", "a merge") else None
    with pytest.raises(fails, match="Second"):
        colonnade.merge(out, inputs, **options)
    if before is not None:
        assert out.read_bytes() == before
    elif there != "a store":
        assert not out.exists()
    else:
        with pytest.raises(colonnade.NotFoundError):
            colonnade.open(out, "First")


def test_an_input_that_changed_is_an_error(made, tmp_path):
    out = tmp_path / "out.root"
    colonnade.merge(out, made[:2])
    write(made[0], {"x": "double", "n": "std::int64_t"}, [{"x": 1, "n": 2}], mode="recreate")
    with pytest.raises(colonnade.UsageError, match=r"has changed since it was merged.*part0\.root"):
        colonnade.merge(out, made, append=True)
    assert colonnade.open(out).num_entries == 20_000


def test_an_input_is_known_with_other_permissions_and_names(made, tmp_path):
    out = tmp_path / "out.root"
    colonnade.merge(out, made[:2])
    made[0].chmod(0o400)
    made[1].rename(tmp_path / "renamed.root")
    report = colonnade.merge(out, [made[0], tmp_path / "renamed.root", made[2]], append=True)
    assert report.data_sets[0].known_sources == 2
    assert colonnade.open(out)["x"].to_list() == [float(i) for i in range(3) for _ in range(10_000)]
    os.utime(made[0])
    with pytest.raises(colonnade.UsageError, match="has changed since it was merged"):
        colonnade.merge(out, made[:1], append=True)


def test_what_nobody_merged_is_not_appended_to(made, tmp_path):
    with pytest.raises(colonnade.UsageError, match="does not say what it was made from"):
        colonnade.merge(made[0], made[1:], append=True)


def test_damage_is_named(made, tmp_path):
    content = bytearray(made[2].read_bytes())
    content[len(content) // 2] ^= 1
    made[2].write_bytes(content)
    with pytest.raises(colonnade.ChecksumError, match=r"part2\.root"):
        colonnade.merge(tmp_path / "out.root", made)
    assert not (tmp_path / "out.root").exists()


@pytest.mark.parametrize("way", [{}, {"cluster_size": "30 kB"}, {"compression": "lz4"}])
@pytest.mark.parametrize("stop_at", [1, 7, 13])
@pytest.mark.parametrize("append", [False, True])
def test_an_interrupted_merge_goes_on(made, tmp_path, way, stop_at, append):
    out = tmp_path / "out.root"
    calls = 0

    def stop(progress):
        nonlocal calls
        calls += 1
        return calls < stop_at

    options = {"checkpoint_every": 2, "append": append, **way}
    report = colonnade.merge(out, made, progress=stop, progress_every=0, **options)
    if report.interrupted:
        report = colonnade.merge(out, made, resume=True, verify="values", **options)
    assert report.data_sets[0].entries == 40_000
    assert colonnade.open(out)["x"].to_list() == [float(i) for i in range(4) for _ in range(10_000)]
    assert colonnade.merge(out, made, append=True).data_sets[0].known_sources == 4


def test_an_interrupted_append_goes_on(made, tmp_path):
    out = tmp_path / "out.root"
    # With many clusters: two or three are on their way when the merge is stopped.
    with colonnade.create(made[2], "Events") as writer:
        for first in range(0, 10_000, 200):
            writer.extend({"x": [2.0] * 200, "n": [row % 2000 for row in range(first, first + 200)]})
            writer.commit_cluster()
    colonnade.merge(out, made[:2])

    def stop(progress):
        return progress.entries <= 20_000

    report = colonnade.merge(out, made, append=True, progress=stop, progress_every=0, checkpoint_every=1)
    assert report.interrupted
    assert 20_000 < report.data_sets[0].entries < 30_000
    with pytest.raises(colonnade.UsageError, match="first append the same inputs again"):
        colonnade.merge(out, [*made[:2], made[3]], append=True)
    colonnade.merge(out, made, append=True, verify="values")
    assert colonnade.open(out)["x"].to_list() == [float(i) for i in range(4) for _ in range(10_000)]


@pytest.mark.parametrize("where", ["file", "store"])
def test_an_interrupted_append_of_another_data_set_goes_on(tmp_path, where):
    """What does not say yet what it was made from is continued with resume alone: it may be anyone's."""
    inputs = [tmp_path / "a.root", tmp_path / "b.root"]
    rows = [{"x": row} for row in range(400)]
    write(inputs[0], {"x": "int"}, rows, name="First")
    write(inputs[1], {"x": "int"}, rows, name="First")
    write(inputs[1], {"x": "int"}, rows, name="Second", mode="update", ends=range(10, 400, 10))
    out = str(tmp_path / "out.root") if where == "file" else f"obj://{tmp_path}/store"
    colonnade.merge(out, inputs[:1])

    def stop(progress):
        return progress.total_entries == 800 or progress.entries < 100

    report = colonnade.merge(
        out, inputs, append=True, progress=stop, progress_every=0, checkpoint_every=1, jobs=1
    )
    assert report.interrupted
    assert 100 <= colonnade.open(out, "Second").num_entries < 400
    with pytest.raises(colonnade.UsageError, match="resume to continue an interrupted merge"):
        colonnade.merge(out, inputs, append=True)
    report = colonnade.merge(out, inputs, append=True, resume=True)
    assert [each.entries for each in report.data_sets] == [800, 400]
    assert [each.known_sources for each in report.data_sets] == [2, 0]
    for name, copies in (("First", 2), ("Second", 1)):
        assert colonnade.open(out, name)["x"].to_list() == [*range(400)] * copies
    assert [each.known_sources for each in colonnade.merge(out, inputs, append=True).data_sets] == [2, 1]


def test_small_clusters_become_large(made, tmp_path):
    report = colonnade.merge(tmp_path / "out.root", made, cluster_size="10 MB", verify="values")
    assert report.data_sets[0].clusters == 1
    assert report.data_sets[0].mode == "decode"


@pytest.mark.parametrize("container", ["root", "bare"])
@pytest.mark.parametrize("checked", [True, False])
def test_small_clusters_stay_small(tmp_path, container, checked):
    """Where the system could copy each cluster by itself, which would put each into blocks of its own."""
    sources, out = [tmp_path / "a.root", tmp_path / "b.root"], tmp_path / "out.root"
    for source in sources:
        with colonnade.create(source, "Events", container=container) as writer:
            for number in range(300):
                writer.extend({"x": [float(number)] * 40})
                writer.commit_cluster()
    colonnade.merge(out, sources, check_pages=checked, container=container)
    assert colonnade.open(out)["x"].to_list() == [float(row // 40 % 300) for row in range(24_000)]
    assert out.stat().st_size < 1.1 * sum(source.stat().st_size for source in sources)


def test_object_stores_too(made, tmp_path):
    store = f"obj://{tmp_path}/store"
    colonnade.merge(store, made[:3], verify="values")
    report = colonnade.merge(store, made, append=True, verify="values")
    assert report.data_sets[0].known_sources == 3
    assert colonnade.open(store).num_entries == 40_000


def test_jobs_give_the_same_file(made, tmp_path):
    files = []
    for jobs in (1, 2, 7):
        colonnade.merge(tmp_path / f"{jobs}.root", made, jobs=jobs, compression="lz4:3")
        files.append(colonnade.open(tmp_path / f"{jobs}.root").arrays().to_list())
    assert files[0] == files[1] == files[2]
    with pytest.raises(colonnade.UsageError, match="0 is not a number of jobs; try: 1 to 65535"):
        colonnade.merge(tmp_path / "out.root", made, jobs=0)


MANY = """
import sys
import colonnade
colonnade.merge(sys.argv[1], sys.argv[2])
# Not what getrusage says, which counts the process that this one was forked from.
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024)
"""


def test_memory_stays_small_for_many_inputs(tmp_path):
    for number in range(300):
        with colonnade.create(tmp_path / f"in{number:04}.root", "Events") as writer:
            writer.extend({"x": [float(number)] * 3000})
    done = subprocess.run(
        [sys.executable, "-c", MANY, tmp_path / "out.root", str(tmp_path / "in*.root")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 200
    assert colonnade.open(tmp_path / "out.root").num_entries == 900_000


def test_the_command_line(made, tmp_path):
    out = tmp_path / "out.root"

    def run(*arguments):
        command = [sys.executable, "-m", "colonnade", "merge", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(out, *made[:2], "--verify")
    assert done.returncode == 0, done.stderr
    assert re.match(r"Events: 20000 entries, .*\nEvents: verified", done.stdout)
    assert run(out, *made[:2]).returncode == 1
    done = run("-a", out, f"{tmp_path}/part*.root", "-j", "2")
    assert "Events: 2 inputs were in it already" in done.stdout
    assert colonnade.open(out).num_entries == 40_000
    assert run(out, *made, "-f", "--recompress", "lz4", "--json").returncode == 0


def test_files_that_name_their_data_set(tmp_path, run):
    """ "f.root:Events" was a file of that name here, alone of all commands."""
    for number in range(2):
        for name in ("Events", "dir/Other"):
            mode = "create" if name == "Events" else "update"
            write(
                tmp_path / f"in{number}.root",
                {"x": "int"},
                [{"x": number}, {"x": len(name)}],
                name=name,
                mode=mode,
            )
    first, second = (str(tmp_path / f"in{number}.root") for number in range(2))
    for number, (output, inputs, options) in enumerate(
        [
            ("", [f"{first}:Events", f"{second}:Events"], []),
            ("", [f"{tmp_path}/in?.root:Events/"], []),
            ("", [f"{first}:Events", second], []),
            (":Events", [first, second], []),
            ("", [first, f"{second}:Events"], ["--name", "Events"]),
        ]
    ):
        out = str(tmp_path / f"out{number}.root")
        status, _, err = run("merge", out + output, *inputs, *options)
        assert (status, err) == (0, "")
        assert colonnade.datasets(out) == ["Events"]
        assert colonnade.open(out)["x"].tolist() == [0, 6, 1, 6]
        assert run("merge", "--append", out + output, *inputs, *options)[0] == 0
        assert colonnade.open(out).num_entries == 4
    for output, inputs, options, other in [
        ("", [f"{first}:Events", f"{second}:dir/Other"], {}, "in1.root:dir/Other' names another"),
        (":New", [f"{first}:Events"], {}, "none.root:New' names another data set than Events"),
        ("", [f"{first}:Events"], {"data_sets": ["Events", "dir/Other"]}, "than Events, dir/Other"),
        ("", [f"{first}:None"], {}, "data set 'None'|no data set"),
    ]:
        with pytest.raises(colonnade.Error, match=other):
            colonnade.merge(f"{tmp_path}/none.root{output}", inputs, **options)
        assert not (tmp_path / "none.root").exists()


def test_paths_with_colons_are_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "day:1").mkdir()
    for name in ("day:1/a.root", "b:2.root"):
        write(name, {"x": "int"}, [{"x": 1}])
    colonnade.merge("out:3.root", ["day:1/*", "b:2.root:Events"])
    assert colonnade.open(tmp_path / "out:3.root").num_entries == 2


def test_several_encodings_are_continued_after_a_copy(tmp_path: Path) -> None:
    for name, compression in (("a", "none"), ("b", "zstd")):
        with colonnade.create(
            tmp_path / f"{name}.root", "Events", {"x": "int"}, compression=compression
        ) as writer:
            writer.extend({"x": [1, 2]})
    merged, copied = tmp_path / "merged.root", tmp_path / "copied.root"
    colonnade.merge(merged, [tmp_path / "a.root", tmp_path / "b.root"])
    with pytest.raises(colonnade.UnsupportedError, match=r"several encodings.*copy with a page size"):
        colonnade.resume(merged, "Events")
    colonnade.copy(merged, copied, page_size="64 KiB")
    with colonnade.resume(copied, "Events") as writer:
        writer.fill(x=3)
    assert colonnade.open(copied)["x"].to_list() == [1, 2, 1, 2, 3]
