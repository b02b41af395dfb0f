"""The parts of the benchmark runners that decide something: turns, ratios, targets, what fio says, the report."""

import json
import sys

import pytest
from common import (
    BenchmarkError,
    Series,
    alternate,
    codec_options,
    execute,
    ratios,
    root_setting,
    run,
    save_report,
    spread,
    status_of,
    table_of,
)
from disk import cached_share, check_space, parse_fio
from local_report import markdown, save
from local_results import Results, Row, Table, bandwidths
from local_session import Session, faster


def series(*seconds, **more):
    return Series([{"seconds": value, "cpu_seconds": value, "max_rss_kib": 1, **more} for value in seconds])


@pytest.fixture
def results():
    about = {"cpu": "x", "cores": 2, "load_before": 0.5, "kernel": "6", "commit": "abc", "date": "today"}
    return Results(about, events=10, repeats=3)


@pytest.fixture
def session(tmp_path, results):
    return Session(tmp_path, tmp_path, results, tmp_path)


# ---- Turns and ratios


def test_sides_take_turns_and_each_goes_first_once():
    order = []
    sides = {name: lambda name=name: order.append(name) or {"seconds": 1.0} for name in "abc"}
    found = alternate(3, sides)
    assert order == list("abcbcacab")
    assert {name: len(side.runs) for name, side in found.items()} == {"a": 3, "b": 3, "c": 3}


def test_ratios_are_formed_within_a_round():
    assert ratios(series(2.0, 9.0), series(1.0, 3.0)) == [2.0, 3.0]


def test_sides_with_different_numbers_of_rounds_have_no_ratio():
    with pytest.raises(ValueError, match="shorter"):
        ratios(series(1.0, 2.0), series(1.0))


def test_spread_shows_median_and_range():
    assert spread([3.0, 1.0, 2.5]) == "2.50 (1.00 to 3.00)"


def test_bandwidths_are_per_run():
    assert bandwidths(series(2.0, 4.0, bytes=8).runs) == [4.0, 2.0]


def test_a_warm_measurement_runs_once_more(session):
    calls = []
    sides = {"a": lambda: calls.append(1) or {"seconds": 1.0}}
    assert len(session.turns("x", sides, warm=True)["a"].runs) == 3
    assert len(calls) == 4


# ---- Targets


@pytest.mark.parametrize(
    ("values", "target", "at_most", "met"),
    [
        ([3.4, 3.5, 9.0], 3.5, False, True),
        ([3.4, 3.4, 9.0], 3.5, False, False),
        ([1.5, 1.4, 9.0], 1.5, True, True),
        ([1.6, 1.4, 9.0], 1.5, True, False),
        ([1.0], None, False, None),
    ],
)
def test_the_median_decides_on_the_target(values, target, at_most, met):
    assert Row("g", "w", "m", values, target, at_most).met is met


def test_faster_is_the_time_of_the_other_side_over_ours():
    row = faster("g", "w", series(6.0, 8.0, 4.0), series(2.0, 2.0, 2.0), 3.0)
    assert row.values == [3.0, 4.0, 2.0]
    assert row.met is True
    assert row.reference == "ROOT 6.00 (4.00 to 8.00) s"


# ---- What goes wrong is said


def test_sides_that_differ_are_a_problem(session):
    session.same("read", {"ROOT": series(1.0, candidates=5), "ours": series(1.0, candidates=6)}, "candidates")
    assert session.results.problems == ["read: the sides differ in candidates: {'ROOT': [5], 'ours': [6]}"]


def test_sides_that_agree_are_none(session):
    session.same("read", {"ROOT": series(1.0, candidates=5), "ours": series(2.0, candidates=5)}, "candidates")
    assert session.results.problems == []


def test_a_failing_program_is_quoted():
    with pytest.raises(BenchmarkError, match="failed with status 3:\nout of luck"):
        execute(sys.executable, "-c", "import sys; sys.stderr.write('out of luck'); sys.exit(3)")


def test_the_last_line_is_the_report():
    assert run(sys.executable, "-c", "print('hello'); print('{\"seconds\": 2}')") == {"seconds": 2}


def test_a_program_that_is_not_built_is_named(session):
    with pytest.raises(BenchmarkError, match="lhcb_read is missing"):
        session.program("lhcb_read")


@pytest.mark.parametrize(("codec", "number"), [("none", 0), ("zstd:5", 505), ("lz4:4", 404), ("zlib:1", 101)])
def test_settings_as_root_numbers_them(codec, number):
    assert root_setting(codec) == number


@pytest.mark.parametrize("codec", ["zstd", "zstd:fast", "brotli:1", ""])
def test_unknown_settings_are_refused(codec):
    with pytest.raises(BenchmarkError, match="unknown codec"):
        root_setting(codec)


def test_tables_leave_out_the_runs():
    rows = [{"task": "own", "s": 1.5, "runs": [1, 2]}, {"task": "joined", "s": 3, "runs": []}]
    assert table_of(rows) == ["| task | s |", "|---|---|", "| own | 1.5 |", "| joined | 3 |"]


def test_a_report_is_saved_as_text_and_json(tmp_path):
    text = save_report(tmp_path / "new", "joins", ["# Joins", ""], {"rows": [1]})
    assert text == (tmp_path / "new" / "joins.md").read_text() == "# Joins\n\n"
    assert json.loads((tmp_path / "new" / "joins.json").read_text()) == {"rows": [1]}


def test_problems_fail_a_run(capsys):
    assert status_of([]) == 0
    assert status_of(["too slow"]) == 1
    assert capsys.readouterr().err == "error: too slow\n"


def test_options_of_codecs_are_checked_and_folders_made(tmp_path, monkeypatch):
    output = str(tmp_path / "out")
    monkeypatch.setattr(
        sys, "argv", ["run.py", "--output", output, "--codecs", "none,zstd:5", "--events", "4"]
    )
    options = codec_options("", "lz4:4")
    assert options.codecs == ["none", "zstd:5"]
    assert options.work.is_dir()
    monkeypatch.setattr(sys, "argv", ["run.py", "--output", output, "--codecs", "zip:5"])
    with pytest.raises(BenchmarkError, match="zip"):
        codec_options("", "lz4:4")


def test_a_full_disk_is_refused_before_anything_is_measured(tmp_path):
    check_space(tmp_path, 1)
    with pytest.raises(BenchmarkError, match="are needed"):
        check_space(tmp_path, 1 << 60)


# ---- The disk


def test_fio_is_understood_with_warnings_before_its_json():
    job = {
        "read": {"io_bytes": 0, "bw_bytes": 0},
        "write": {"io_bytes": 6_000_000, "bw_bytes": 3_000_000},
        "usr_cpu": 10.0,
        "sys_cpu": 15.0,
        "job_runtime": 2000,
    }
    found = parse_fio("fio: a warning\n" + json.dumps({"jobs": [job]}), "write")
    assert found == {"seconds": 2.0, "cpu_seconds": 0.5, "max_rss_kib": 0, "bytes": 6_000_000}


def test_a_file_just_written_is_cached(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))
    assert cached_share(path) == 1.0


def test_an_empty_file_is_not_cached(tmp_path):
    (tmp_path / "file").touch()
    assert cached_share(tmp_path / "file") == 0.0


# ---- The report


def test_the_report_says_which_targets_are_met(results):
    results.rows = [
        Row("a", "reading", "ROOT's time / ours", [4.0, 5.0, 3.0], 3.5, ours="1 s", reference="ROOT 4 s"),
        Row("b", "memory", "MB", [400.0], 300.0, at_most=True),
        Row("c", "beside", "x", [1.0]),
    ]
    text = markdown(results, [])
    assert (
        "| reading | ROOT's time / ours | 4.00 (3.00 to 5.00) | at least 3.50 | yes | 1 s | ROOT 4 s |"
        in text
    )
    assert "| memory | MB | 400 (400 to 400) | at most 300 | **no** |  |  |" in text
    assert "| beside | x | 1.00 (1.00 to 1.00) |  |  |  |  |" in text
    assert "Problems" not in text


def test_tables_have_a_column_for_every_key(results):
    results.tables["t"] = Table(
        "T", "note", [{"direct": True, "fio": [1500.0, 1000.0]}, {"direct": False, "r": [2.0]}]
    )
    text = markdown(results, [])
    assert "| direct | fio | r |" in text
    assert "| yes | 1250 (1000 to 1500) |  |" in text
    assert "| no |  | 2.00 (2.00 to 2.00) |" in text


def test_everything_is_saved(results, tmp_path):
    results.rows = [Row("a", "reading", "x", [4.0], 3.5)]
    results.tables = {
        "streams": Table("S", "", [{"streams": n, "fio": [2.0, 3.0], "ours": [1.0, 2.0]} for n in (1, 2)]),
        "parallel": Table(
            "P",
            "",
            [
                {"codec": "none", "threads": t, "direct": d, "ours data": [2.0, 3.0], "ROOT data": [1.0, 2.0]}
                for t in (1, 2)
                for d in (True, False)
            ],
        ),
    }
    results.problems = ["something differs"]
    save(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "local.md",
        "local-rows.png",
        "local-streams.png",
        "local-parallel.png",
    }
    assert "- something differs" in (tmp_path / "local.md").read_text()
    content = json.loads(json.dumps(results.to_json()))
    assert content["rows"][0]["met"] is True
