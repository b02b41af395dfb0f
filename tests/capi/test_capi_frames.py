"""Data frames through the C interface, against those of the Python package; and programs in other languages."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import c_library as c
import numpy as np
import pyarrow as pa
import pytest

import colonnade

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two files of events with lists."""
    random = np.random.default_rng(1)
    paths = []
    for number in range(2):
        path = tmp_path_factory.mktemp("frames") / f"f{number}.root"
        lists = [random.normal(size=random.integers(0, 4)) for _ in range(500)]
        with colonnade.create(path, "Events") as writing:
            writing.extend(
                {
                    "x": random.normal(size=500),
                    "n": random.integers(-5, 5, 500),
                    "big": random.integers(2**60, 2**61, 500).astype(np.uint64),
                    "v": lists,
                    "s": [f"name {i % 7}" for i in range(500)],
                }
            )
        paths.append(str(path))
    return paths


@contextmanager
def frame(uris: list[str], *steps: tuple[str, ...], threads: int = 2, last: int = 0) -> Iterator[Any]:
    options = c.FrameOptions(struct_size=ctypes.sizeof(c.FrameOptions), threads=threads, last=last)
    with ExitStack() as frames:
        made = c.made(
            "colonnade_frame_open", None, c.texts(uris), ctypes.c_size_t(len(uris)), ctypes.byref(options)
        )
        frames.callback(c.LIBRARY.colonnade_frame_release, made)
        for name, *arguments in steps:
            made = c.made(f"colonnade_frame_{name}", made, *(c.encoded(text) for text in arguments))
            frames.callback(c.LIBRARY.colonnade_frame_release, made)
        yield made


def number(result: ctypes.c_void_p) -> float:
    out = ctypes.c_double()
    c.call("colonnade_result_double", result, ctypes.byref(out))
    return out.value


def integer(result: ctypes.c_void_p) -> int:
    out = ctypes.c_int64()
    c.call("colonnade_result_int64", result, ctypes.byref(out))
    return out.value


STEPS = (
    ("define", "y", "x * 2 + Sum(v)"),
    ("filter", "n > -3", "n"),
    ("redefine", "x", "x + 1"),
    ("filter", "y < 2", "y"),
)


def python_frame(files: list[str]) -> Any:
    df = colonnade.DataFrame("Events", files).define("y", "x * 2 + Sum(v)").filter("n > -3", name="n")
    return df.redefine("x", "x + 1").filter("y < 2", name="y")


def test_results_are_those_of_python(files: list[str]) -> None:
    expected = python_frame(files)
    with frame(files, *STEPS) as made:
        results = [c.made("colonnade_frame_count", made)]
        asked = [
            (kind, column) for kind in ("sum", "min", "max", "mean", "stddev") for column in ("x", "n", "v")
        ]
        results += [
            c.made("colonnade_frame_statistic", made, kind.encode(), column.encode())
            for kind, column in asked
        ]
        report = c.made("colonnade_frame_report", made)
        c.call("colonnade_results_run", (ctypes.c_void_p * 2)(results[0], report), ctypes.c_size_t(2))
        assert number(results[0]) == integer(results[0]) == expected.count().value
        for (kind, column), result in zip(asked, results[1:], strict=True):
            assert number(result) == getattr(expected, kind)(column).value
        assert integer(results[2]) == expected.sum("n").value
        with pytest.raises(c.CError, match="not an integer of 64 bits"):
            integer(results[1])
        cuts, count = ctypes.POINTER(c.Cut)(), ctypes.c_size_t()
        c.call("colonnade_result_report", report, ctypes.byref(cuts), ctypes.byref(count))
        found = [(cuts[k].name.decode(), cuts[k].all, cuts[k].passed) for k in range(count.value)]
        assert found == [(cut.name, cut.all, cut.passed) for cut in expected.report().value]
        for result in [*results, report]:
            c.LIBRARY.colonnade_result_release(result)


def test_integers_that_no_number_of_the_caller_holds(files: list[str]) -> None:
    with frame(files) as made:
        total = c.made("colonnade_frame_statistic", made, b"max", b"big")
        expected = colonnade.DataFrame("Events", files).max("big").value
        assert integer(total) == expected
        if int(float(expected)) != expected:
            with pytest.raises(c.CError, match="a double cannot hold"):
                number(total)
        too_much = c.made("colonnade_frame_statistic", made, b"sum", b"big")
        with pytest.raises(c.CError):
            integer(too_much)
        for result in (total, too_much):
            c.LIBRARY.colonnade_result_release(result)
    with frame(files, ("filter", "x > 1000", None)) as made:
        nothing = c.made("colonnade_frame_statistic", made, b"max", b"n")
        assert np.isnan(number(nothing))
        with pytest.raises(c.CError, match="there were no values"):
            integer(nothing)
        c.LIBRARY.colonnade_result_release(nothing)


def test_histograms(files: list[str]) -> None:
    edges = (ctypes.c_double * 4)(-5, 0, 1, 5)
    axes = (c.Axis * 2)(c.Axis(b"x", 10, -2, 2, None), c.Axis(b"n", 3, 0, 0, edges))
    with frame(files, *STEPS) as made:
        for weight in (None, "abs(x)"):
            result = c.made(
                "colonnade_frame_histogram",
                made,
                axes,
                c.texts(["x", "n"]),
                ctypes.c_size_t(2),
                c.encoded(weight),
            )
            histogram = c.Histogram()
            c.call("colonnade_result_histogram", result, ctypes.byref(histogram))
            expected = python_frame(files).histo2d(
                ("h", "", 10, -2, 2, [-5, 0, 1, 5]), "x", "n", *([weight] if weight else [])
            ).value  # fmt: skip
            values = np.ctypeslib.as_array(histogram.values, (histogram.num_cells,)).reshape(5, 12).T
            assert (values == expected.values(flow=True)).all()
            assert list(histogram.bins[:2]) == [10, 3]
            assert list(histogram.edges[1][:4]) == [-5, 0, 1, 5]
            assert bool(histogram.variances) == (weight is not None)
            if weight is not None:
                variances = (
                    np.ctypeslib.as_array(histogram.variances, (histogram.num_cells,)).reshape(5, 12).T
                )
                assert (variances == expected.variances(flow=True)).all()
            c.LIBRARY.colonnade_result_release(result)


def test_columns_and_snapshots(files: list[str], tmp_path: Path) -> None:
    expected = python_frame(files)
    columns = ["y", "v", "s", "x"]
    with frame(files, *STEPS) as made:
        taken = c.made("colonnade_frame_take", made, c.texts(columns), ctypes.c_size_t(len(columns)))
        out = c.ArrowStruct()
        c.call("colonnade_result_stream", taken, ctypes.byref(out))
        c.LIBRARY.colonnade_result_release(taken)
        table = pa.RecordBatchReader._import_from_c(out.address).read_all()
        table.validate(full=True)
        assert table.to_pydict() == {
            name: list(values) for name, values in expected.to_arrow(columns).to_pydict().items()
        }
        assert set(c.strings(c.made("colonnade_frame_columns", made))) >= set(columns)
        entries = c.U64()
        file = str(tmp_path / "s.root")
        c.call(
            "colonnade_frame_snapshot", made, b"Cut", file.encode(), c.texts(columns), ctypes.c_size_t(4), None,
            ctypes.byref(entries),
        )  # fmt: skip
        assert entries.value == table.num_rows
    with colonnade.open(file, "Cut") as read:
        assert read.to_arrow(columns).to_pydict() == table.to_pydict()
    with frame(files, last=10) as made:
        count = c.made("colonnade_frame_count", made)
        assert integer(count) == 10
        c.LIBRARY.colonnade_result_release(count)


def test_snapshots_into_a_file_with_data_sets(files: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "s.root")
    entries = c.U64()
    create, replace, add = range(3)

    def snapshot(name: bytes, mode: int) -> None:
        options = c.write_options(mode=mode)
        c.call(
            "colonnade_frame_snapshot", made, name, file.encode(), c.texts(["x"]), ctypes.c_size_t(1),
            ctypes.byref(options), ctypes.byref(entries),
        )  # fmt: skip

    with frame(files, last=10) as made:
        with pytest.raises(c.CError, match="No such file"):
            snapshot(b"One", add)
        snapshot(b"One", create)
        snapshot(b"Two", add)
        for mode in (create, add):
            with pytest.raises(c.CError, match=r"exists|already"):
                snapshot(b"Two", mode)
        with pytest.raises(c.CError, match="mode has no such value"):
            snapshot(b"Three", 3)
        assert colonnade.datasets(file) == ["One", "Two"]
        snapshot(b"Three", replace)
    assert colonnade.datasets(file) == ["Three"]
    assert entries.value == 10


def test_variants(tmp_path: Path) -> None:
    file, copy = str(tmp_path / "v.root"), str(tmp_path / "copy.root")
    values = [1, "one", 2, "", 3]
    with colonnade.create(file, "Events", {"v": "std::variant<std::int32_t,std::string>"}) as writing:
        for value in values:
            writing.fill(v=value)
    with frame([file], ("filter", "v._1.has_value() || v._0.value() < 3", "small")) as made:
        taken = c.made("colonnade_frame_take", made, c.texts(["v"]), ctypes.c_size_t(1))
        out = c.ArrowStruct()
        c.call("colonnade_result_stream", taken, ctypes.byref(out))
        c.LIBRARY.colonnade_result_release(taken)
        table = pa.RecordBatchReader._import_from_c(out.address).read_all()
        table.validate(full=True)
        assert table["v"].to_pylist() == values[:4]
        entries = c.U64()
        c.call(
            "colonnade_frame_snapshot", made, b"Cut", copy.encode(), c.texts(["v"]), ctypes.c_size_t(1), None,
            ctypes.byref(entries),
        )  # fmt: skip
    assert colonnade.open(copy, "Cut").to_arrow().column("v").to_pylist() == values[:4]


def test_misuse_is_an_error(files: list[str]) -> None:
    with frame(files) as made:
        for wrong, says in (
            (("define", "z", "nothing + 1"), "nothing"),
            (("filter", "s", None), "s"),
            (("define", "x", "1"), "x"),
            (("statistic", "median", "x"), "there is no statistic"),
        ):
            with pytest.raises(c.CError, match=says):
                c.made(f"colonnade_frame_{wrong[0]}", made, *(c.encoded(text) for text in wrong[1:]))
        with pytest.raises(c.CError, match="at least one axis"):
            c.made("colonnade_frame_histogram", made, None, None, ctypes.c_size_t(0), None)
        count = c.made("colonnade_frame_count", made)
        with pytest.raises(c.CError, match="the result is not a histogram"):
            c.call("colonnade_result_histogram", count, ctypes.byref(c.Histogram()))
        c.LIBRARY.colonnade_result_release(count)
    for function in ("colonnade_frame_count", "colonnade_result_double"):
        with pytest.raises(c.CError, match="is a null pointer"):
            c.call(function, None, ctypes.byref(ctypes.c_void_p()))
    options = c.FrameOptions(struct_size=3)
    with pytest.raises(c.CError, match="struct_size"):
        c.made("colonnade_frame_open", None, c.texts(files), ctypes.c_size_t(2), ctypes.byref(options))


def test_callers_with_an_older_header(files: list[str]) -> None:
    """Members that they do not know have their defaults."""
    options = c.FrameOptions(struct_size=c.FrameOptions.last.offset, threads=1, first=5, last=6)
    made = c.made("colonnade_frame_open", None, c.texts(files), ctypes.c_size_t(2), ctypes.byref(options))
    count = c.made("colonnade_frame_count", made)
    assert integer(count) == 995
    c.LIBRARY.colonnade_result_release(count)
    c.LIBRARY.colonnade_frame_release(made)
    assert c.LIBRARY.colonnade_abi_version() == 2
    assert c.LIBRARY.colonnade_version().decode() == colonnade.__version__


def test_a_program_in_go(files: list[str], tmp_path: Path) -> None:
    build = Path(os.environ["COLONNADE_BUILD_DIR"]) / "src"
    program = tmp_path / "histogram"
    go = Path(sys.prefix) / "bin" / "go"
    environment = os.environ | {
        "CGO_ENABLED": "1",
        "CGO_CFLAGS": f"-I{ROOT / 'include'}",
        "CGO_LDFLAGS": f"-L{build} -Wl,-rpath,{build}",
        "GOFLAGS": "-buildvcs=false -mod=mod",
        "GOTOOLCHAIN": "local",
        "GOCACHE": str(tmp_path / "cache"),
        "GOPATH": str(tmp_path / "go"),
    }
    # Go's own library, which is compiled as well, takes nearly all of the time.
    unoptimised = ["-gcflags=all=-N -l", "-ldflags=-s -w"]
    subprocess.run(
        [go, "build", *unoptimised, "-o", program, "."],
        cwd=ROOT / "examples" / "go",
        env=environment,
        check=True,
    )
    assert_counts_as_here(program, files)


def test_a_program_in_rust(files: list[str], tmp_path: Path) -> None:
    build = Path(os.environ["COLONNADE_BUILD_DIR"]) / "src"
    program, bindings = tmp_path / "histogram", tmp_path / "colonnade.rs"
    header, source = ROOT / "include" / "colonnade.h", ROOT / "examples" / "rust" / "main.rs"
    bindgen = ["bindgen", "--with-derive-default", "--size_t-is-usize", header, "-o", bindings]
    subprocess.run(bindgen, check=True)
    rustc = ["rustc", "--edition", "2021", "-D", "warnings", source, "-o", program]
    libraries = ["-L", build, "-l", "colonnade", "-C", f"link-arg=-Wl,-rpath,{build}"]
    subprocess.run(rustc + libraries, env=os.environ | {"COLONNADE_RS": str(bindings)}, check=True)
    assert_counts_as_here(program, files)


def assert_counts_as_here(program: Path, files: list[str]) -> None:
    """A program that prints entries and bins of a histogram, or an error."""
    ran = subprocess.run([program, files[0], "x", "4", "-2", "2"], capture_output=True, text=True, check=True)
    expected = colonnade.DataFrame("Events", files[0]).histo1d(("h", "", 4, -2, 2), "x").value
    cells = " ".join(f"{value:g}" for value in expected.values(flow=True))
    # Go puts blanks between numbers, Rust commas, and shows that they are no integers.
    assert ran.stdout.replace(",", "").replace(".0", "") == f"500 [{cells}]\n"
    failed = subprocess.run(
        [program, files[0], "nothing", "4", "-2", "2"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "nothing" in failed.stderr


@pytest.mark.parametrize(
    ("bins", "axes", "code"), [(0, 1, "usage"), (2**32 - 1, 1, "usage"), (2**30, 3, "resource")]
)
def test_histograms_that_cannot_be(files: list[str], bins: int, axes: int, code: str) -> None:
    given = (c.Axis * 3)(*[c.Axis(b"x", bins, 0, 1, None)] * 3)
    columns = (c.texts(["x"] * axes), ctypes.c_size_t(axes))
    with frame(files) as made:
        with pytest.raises(c.CError, match="bins") as refused:
            c.made("colonnade_frame_histogram", made, given, *columns, None)
        assert refused.value.status == c.CODES[code]


@pytest.mark.parametrize(("low", "high"), [(-np.inf, np.inf), (np.nan, 1), (0, np.inf)])
def test_axes_without_limits(files: list[str], low: float, high: float) -> None:
    """They are no axes whose limits follow from the values, as those without a range are."""
    edges = (ctypes.c_double * 2)(low, high)
    with frame(files) as made:
        for axis in (c.Axis(b"x", 1, low, high, None), c.Axis(b"x", 1, 0, 1, edges)):
            with pytest.raises(c.CError, match="an axis 'x' cannot have a limit at") as refused:
                c.made(
                    "colonnade_frame_histogram",
                    made,
                    ctypes.byref(axis),
                    c.texts(["x"]),
                    ctypes.c_size_t(1),
                    None,
                )
            assert refused.value.status == c.CODES["usage"]
        narrow = c.Axis(b"x", 3, 0, 5e-324, None)
        with pytest.raises(c.CError, match="that 3 bins can share"):
            c.made(
                "colonnade_frame_histogram",
                made,
                ctypes.byref(narrow),
                c.texts(["x"]),
                ctypes.c_size_t(1),
                None,
            )


def test_new_names_are_utf8(files: list[str]) -> None:
    """Reports and variations give them back."""
    wrong, x = (ctypes.c_char_p * 1)(b"\xff"), c.texts(["x"])
    one = ctypes.c_size_t(1)
    with frame(files) as made:
        for arguments, says in (
            (("filter", b"x > 0", b"\xff"), "the filter"),
            (("vary", x, one, b"{x + 1}", wrong, one, None), "the tag"),
            (("vary", x, one, b"{x + 1}", c.texts(["up"]), one, b"\xff"), "the variation"),
        ):
            with pytest.raises(c.CError, match=rf"{says} '\\xff' is not valid UTF-8"):
                c.made(f"colonnade_frame_{arguments[0]}", made, *arguments[1:])


@pytest.mark.parametrize("numbers", [(0, 0, 0), (5, 2, 1), (2**64 - 1, 0, 2**64 - 1)])
def test_ranges_at_their_limits(files: list[str], numbers: tuple[int, int, int]) -> None:
    with frame(files) as made:
        arguments = [c.U64(number) for number in numbers]
        if numbers[2] and numbers[1] == 0:
            behind = c.made("colonnade_frame_range", made, *arguments)
            count = c.made("colonnade_frame_count", behind)
            assert integer(count) == 0
            c.LIBRARY.colonnade_result_release(count)
            c.LIBRARY.colonnade_frame_release(behind)
        else:
            with pytest.raises(c.CError, match="has no entries"):
                c.made("colonnade_frame_range", made, *arguments)
