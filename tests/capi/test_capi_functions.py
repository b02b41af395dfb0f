"""What definitions, variations and joins through the C interface give, against those of the Python package."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import awkward as ak
import c_library as c
import numpy as np
import pyarrow as pa
import pytest

import colonnade

FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(c.ArrowStruct)
)
ENTRIES = 400


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two files; the second has a column more."""
    dice, paths = np.random.default_rng(3), []
    for number in range(2):
        path = tmp_path_factory.mktemp("functions") / f"f{number}.root"
        columns: dict[str, Any] = {
            "key": np.arange(number * ENTRIES, (number + 1) * ENTRIES),
            "x": dice.normal(size=ENTRIES),
            "n": dice.integers(-5, 5, ENTRIES).astype(np.int16),
            "v": [dice.normal(size=dice.integers(0, 4)) for _ in range(ENTRIES)],
            "s": [f"name {i % 7}" for i in range(ENTRIES)],
            "b": dice.random(ENTRIES) < 0.5,
        }
        if number:
            columns["late"] = dice.normal(size=ENTRIES)
        with colonnade.create(path, "Events") as writing:
            writing.extend(columns)
        paths.append(str(path))
    return paths


class Frames:
    """Frames that are released in the end."""

    def __init__(self, stack: ExitStack, uris: Sequence[str], threads: int = 2) -> None:
        self._stack = stack
        options = c.FrameOptions(struct_size=ctypes.sizeof(c.FrameOptions), threads=threads)
        count = ctypes.c_size_t(len(uris))
        self.last = self._kept(
            c.made("colonnade_frame_open", None, c.texts(uris), count, ctypes.byref(options))
        )

    def _kept(self, frame: ctypes.c_void_p, what: str = "frame") -> ctypes.c_void_p:
        self._stack.callback(getattr(c.LIBRARY, f"colonnade_{what}_release"), frame)
        return frame

    def step(self, name: str, *arguments: Any) -> Frames:
        given = (c.encoded(each) if isinstance(each, str) else each for each in arguments)
        self.last = self._kept(c.made(f"colonnade_frame_{name}", self.last, *given))
        return self

    def result(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        return self._kept(c.made(f"colonnade_frame_{name}", self.last, *arguments), "result")

    def under(self, result: ctypes.c_void_p, variation: str) -> ctypes.c_void_p:
        return self._kept(c.made("colonnade_result_variation", result, variation.encode()), "result")

    def statistic(self, kind: str, column: str) -> ctypes.c_void_p:
        return self.result("statistic", kind.encode(), column.encode())

    def take(self, *columns: str) -> ctypes.c_void_p:
        return self.result("take", c.texts(columns), ctypes.c_size_t(len(columns)))


@contextmanager
def frames(uris: Sequence[str], threads: int = 2) -> Iterator[Frames]:
    with ExitStack() as stack:
        yield Frames(stack, uris, threads)


def names(*texts: str) -> tuple[Any, ctypes.c_size_t]:
    return c.texts(texts), ctypes.c_size_t(len(texts))


def number(result: ctypes.c_void_p) -> float:
    out = ctypes.c_double()
    c.call("colonnade_result_double", result, ctypes.byref(out))
    return out.value


def table(result: ctypes.c_void_p) -> pa.Table:
    out = c.ArrowStruct()
    c.call("colonnade_result_stream", result, ctypes.byref(out))
    return pa.RecordBatchReader._import_from_c(out.address).read_all()


# ---- Ranges


@pytest.mark.parametrize("stride", [2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
@pytest.mark.parametrize("begin", [0, 5, ENTRIES + 7])
def test_ranges_with_long_strides(
    files: list[str], monkeypatch: pytest.MonkeyPatch, begin: int, stride: int
) -> None:
    """The blocks behind the first row of the range have none."""
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "30")
    with frames(files) as made:
        made.step("filter", "key >= 0", None).step("range", *map(c.U64, (begin, 2**64 - 1, stride)))
        assert table(made.take("key", "v"))["key"].to_pylist() == [begin]


# ---- Variations


@pytest.mark.parametrize("seed", range(15))
def test_random_variations(files: list[str], seed: int) -> None:
    """Every kind of result under every variation that reaches it."""
    dice = random.Random(seed)
    python = colonnade.DataFrame("Events", files)
    with frames(files, dice.choice([1, 2])) as made:
        for step in range(dice.randint(1, 4)):
            kind = dice.choice(["vary", "vary several", "define", "filter"])
            if kind == "vary":
                column, tags = dice.choice(["x", "v"]), [f"t{k}" for k in range(dice.randint(1, 3))]
                text = "{" + ", ".join(f"{column} * {k + 2}" for k in range(len(tags))) + "}"
                name = f"sys{step}" if step else None
                python = python.vary(column, text, tags, name or "")
                made.step("vary", *names(column), text, *names(*tags), name)
            elif kind == "vary several":
                text = "{{x + 1, x - 1}, {short(n + 1), short(n - 1)}}"
                python = python.vary(["x", "n"], text, ["up", "down"], f"both{step}")
                made.step("vary", *names("x", "n"), text, *names("up", "down"), f"both{step}")
            elif kind == "define":
                python = python.define(f"d{step}", "x + n * 0.5")
                made.step("define", f"d{step}", "x + n * 0.5")
            else:
                cut = dice.choice(["x > -1", "n > -3", "v.size() > 0"])
                python = python.filter(cut, name=f"cut{step}")
                made.step("filter", cut, f"cut{step}")
        compare_results(dice, python, made)


def compare_results(dice: random.Random, python: Any, made: Frames) -> None:
    column = dice.choice(["x", "n", "x * n"])
    pairs = [
        (python.count(), made.result("count"), lambda result: number(result)),
        (python.sum(column), made.statistic("sum", column), lambda result: number(result)),
    ]
    for expected, result, value in pairs:
        varied = colonnade.variations_for(expected)
        keys = c.strings(c.made("colonnade_result_variations", result))
        assert keys == list(varied)
        for key in keys:
            assert value(made.under(result, key)) == pytest.approx(varied[key], rel=1e-12)
        assert value(result) == pytest.approx(varied["nominal"], rel=1e-12)
    # Columns of one take are reached by different variations.
    taken = made.take("x", "n", "v")
    for key in c.strings(c.made("colonnade_result_variations", taken)):
        found = table(made.under(taken, key)).to_pydict()
        assert len({len(values) for values in found.values()}) == 1
        for name, values in found.items():
            varied = colonnade.variations_for(python.take(name))
            assert values == ak.to_list(varied[key if key in varied else "nominal"])
    report = made.result("report")
    varied = colonnade.variations_for(python.report())
    for key in c.strings(c.made("colonnade_result_variations", report)):
        cuts, count = ctypes.POINTER(c.Cut)(), ctypes.c_size_t()
        under = made.under(report, key)
        c.call("colonnade_result_report", under, ctypes.byref(cuts), ctypes.byref(count))
        found = [(cuts[k].name.decode(), cuts[k].all, cuts[k].passed) for k in range(count.value)]
        assert found == [(cut.name, cut.all, cut.passed) for cut in varied[key]]


def test_histograms_of_variations_and_what_does_not_reach(files: list[str]) -> None:
    axis = c.Axis(b"x", 10, -3, 3, None)
    with frames(files) as made:
        made.step("vary", *names("x"), "{x - 1, x + 1}", *names("down", "up"), None)
        result = made.result("histogram", ctypes.byref(axis), c.texts(["x"]), ctypes.c_size_t(1), None)
        expected = colonnade.variations_for(
            colonnade.DataFrame("Events", files).vary("x", "{x - 1, x + 1}", ["down", "up"])
            .histo1d(("h", "", 10, -3, 3), "x")
        )  # fmt: skip
        for key in ("nominal", "x:down", "x:up"):
            histogram = c.Histogram()
            c.call("colonnade_result_histogram", made.under(result, key), ctypes.byref(histogram))
            values = np.ctypeslib.as_array(histogram.values, (histogram.num_cells,))
            assert (values == expected[key].values(flow=True)).all()
        with pytest.raises(
            c.CError, match=r'no variation "x:left" reaches the result.*\n?.*nominal, x:down, x:up'
        ) as refused:
            made.under(result, "x:left")
        assert refused.value.status == c.CODES["not found"]
        nothing = made.statistic("sum", "n")
        assert c.strings(c.made("colonnade_result_variations", nothing)) == ["nominal"]
        with pytest.raises(c.CError, match="tag"):
            made.step("vary", *names("x"), "{x}", *names("a", "b"), None)


# ---- Functions


class Function:
    """A function over Arrow arrays, as C calls it. `made` takes the columns and gives an array, or what to return."""

    def __init__(self, made: Callable[..., Any]) -> None:
        self.calls = 0
        self._made = made
        self.pointer = FUNCTION(self._call)

    def _call(self, _context: Any, schema: int, arguments: int, result: Any) -> int:
        self.calls += 1
        # pyarrow releases what it imports: it gets copies of the structs, whose release callbacks do nothing here.
        batch = borrowed(schema, arguments)
        made = self._made(*batch.columns)
        if isinstance(made, int):
            return made
        made._export_to_c(ctypes.addressof(result.contents))
        return 0


def borrowed(schema: int, array: int) -> pa.RecordBatch:
    """A copy of the columns of a call."""
    copies = (c.ArrowStruct(), c.ArrowStruct())
    ctypes.memmove(copies[0].address, schema, 72)
    ctypes.memmove(copies[1].address, array, 80)
    copies[0].words[7] = ctypes.cast(keep_schema, ctypes.c_void_p).value
    copies[1].words[8] = ctypes.cast(keep_array, ctypes.c_void_p).value
    batch = pa.RecordBatch._import_from_c(copies[1].address, copies[0].address)
    return pa.RecordBatch.from_arrays(
        [pa.array(each.to_pylist(), each.type) for each in batch.columns], batch.schema.names
    )


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(c.ArrowStruct))


@RELEASE
def keep_schema(struct: Any) -> None:
    """Say that it is released, and release nothing."""
    struct.contents.words[7] = 0


@RELEASE
def keep_array(struct: Any) -> None:
    """The same for an array."""
    struct.contents.words[8] = 0


def defined(made: Frames, name: str, function: Function, kind: pa.DataType, *columns: str) -> Frames:
    schema = c.ArrowStruct()
    pa.field("ignored", kind)._export_to_c(schema.address)
    try:
        return made.step(
            "define_function", name, function.pointer, None, ctypes.byref(schema), *names(*columns)
        )
    finally:
        pa.Field._import_from_c(schema.address)  # which releases it


FUNCTIONS: dict[str, tuple[Callable[..., Any], pa.DataType, tuple[str, ...], str]] = {
    "double": (lambda x, n: pa.array([a + b for a, b in zip(x.to_pylist(), n.to_pylist(), strict=True)], pa.float64()),
               pa.float64(), ("x", "n"), "x + n"),
    "int": (lambda n: pa.array([2 * a for a in n.to_pylist()], pa.int32()), pa.int32(), ("n",), "2 * n"),
    "bool": (lambda x, b: pa.array([a > 0 and c for a, c in zip(x.to_pylist(), b.to_pylist(), strict=True)]),
             pa.bool_(), ("x", "b"), "x > 0 && b"),
    "text": (lambda s: pa.array([a + "!" for a in s.to_pylist()], pa.string()), pa.string(), ("s",), 's + "!"'),
    "large text": (lambda s: pa.array(s.to_pylist(), pa.large_string()), pa.large_string(), ("s",), "s"),
    "list": (lambda v: pa.array([[2 * a for a in each] for each in v.to_pylist()], pa.list_(pa.float64())),
             pa.list_(pa.float64()), ("v",), "2 * v"),
    "size": (lambda v: pa.array([len(each) for each in v.to_pylist()], pa.uint8()), pa.uint8(), ("v",), "v.size()"),
    # A slice of a longer array, and values that lie behind others.
    "slice": (lambda x: pa.array([7.0] * 3 + x.to_pylist() + [8.0]).slice(3, len(x)), pa.float64(), ("x",), "x"),
    "half": (lambda n: pa.array(np.array(n.to_pylist(), np.float16)), pa.float16(), ("n",), "n * 1.f"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("threads", [1, 2])
def test_functions(files: list[str], kind: str, threads: int) -> None:
    python, arrow, columns, text = FUNCTIONS[kind]
    function = Function(python)
    with frames(files, threads) as made:
        made.step("filter", "n != 3", None)
        defined(made, "y", function, arrow, *columns)
        taken = made.take("y")
        expected = colonnade.DataFrame("Events", files).filter("n != 3").define("y", text).take("y").value
        assert table(taken).to_pydict()["y"] == ak.to_list(expected)
        assert 0 < function.calls < 100


FAILING: dict[str, tuple[Callable[..., Any], pa.DataType, str]] = {
    "a code": (lambda x: 42, pa.float64(), "failed with 42"),
    "too few values": (lambda x: pa.array(x.to_pylist()[1:], pa.float64()), pa.float64(), "values for"),
    "a missing value": (lambda x: pa.array([None] * len(x), pa.float64()), pa.float64(), "is missing"),
    "another type": (lambda x: pa.array(["a"] * len(x)), pa.float64(), "buffers, its type has others"),
}


@pytest.mark.parametrize("kind", FAILING)
def test_functions_that_fail(files: list[str], kind: str) -> None:
    python, arrow, says = FAILING[kind]
    function = Function(python)
    with frames(files) as made:
        defined(made, "y", function, arrow, "x")
        with pytest.raises(c.CError, match=says):
            number(made.statistic("sum", "y"))
        assert number(made.result("count")) == 2 * ENTRIES  # the frame goes on


def test_functions_that_make_no_sense(files: list[str]) -> None:
    function = Function(lambda x: x)
    with frames(files) as made:
        with pytest.raises(c.CError, match='a function cannot return the type of "y"') as refused:
            defined(made, "y", function, pa.struct([("a", pa.int32())]), "x")
        assert refused.value.status == c.CODES["type"]
        with pytest.raises(c.CError, match="nothing"):
            defined(made, "y", function, pa.float64(), "nothing")
        with pytest.raises(c.CError, match="the function is a null pointer"):
            made.step("define_function", "y", None, None, ctypes.byref(c.ArrowStruct()), *names("x"))


SOURCE = """
#include <colonnade/functions.h>
double scaled(double x, int n) { return x * n; }
COLONNADE_FUNCTIONS("1", colonnade::function<scaled>("scaled"))
"""


def test_functions_of_libraries(files: list[str], tmp_path: Path) -> None:
    source, library = tmp_path / "mine.cpp", tmp_path / "libmine.so"
    source.write_text(SOURCE)
    flags = ["-std=c++20", "-fPIC", "-shared", f"-I{colonnade.get_include()}"]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, source, "-o", library], check=True)
    with frames(files) as made:
        made.step("define_library", "y", str(library), "scaled", *names("x", "n"))
        expected = colonnade.DataFrame("Events", files).sum("x * n").value
        assert number(made.statistic("sum", "y")) == pytest.approx(expected, rel=1e-12)
        with pytest.raises(c.CError, match="has no function 'other'"):
            made.step("define_library", "z", str(library), "other", *names("x"))
        with pytest.raises(c.CError, match="cannot be loaded"):
            made.step("define_library", "z", str(tmp_path / "no.so"), "scaled", *names("x", "n"))


# ---- Names, files and joins


class JoinOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("left", ctypes.c_int32), ("first_of_duplicates", ctypes.c_int32),
        ("columns", ctypes.c_void_p), ("num_columns", ctypes.c_size_t), ("prefix", ctypes.c_char_p),
        ("table", ctypes.c_char_p), ("cache", ctypes.c_char_p),
    ]  # fmt: skip


def test_joins(files: list[str], tmp_path: Path) -> None:
    other = str(tmp_path / "o.root")
    order = np.random.default_rng(1).permutation(2 * ENTRIES)[:500]
    with colonnade.create(other, "More") as writing:
        writing.extend({"id": order, "w": order * 0.5, "unused": order})
    wanted = c.texts(["w"])
    for left in (0, 1):
        options = JoinOptions(struct_size=ctypes.sizeof(JoinOptions), left=left, columns=ctypes.addressof(wanted),
                              num_columns=1, prefix=b"other_")  # fmt: skip
        with frames(files) as made:
            keys = (c.texts(["key"]), c.texts(["id"]), ctypes.c_size_t(1))
            made.step("join", "More", *names(other), *keys, ctypes.byref(options))
            expected = colonnade.DataFrame("Events", files).join(
                "More",
                other,
                on={"key": "id"},
                columns=["w"],
                how="left" if left else "inner",
                prefix="other_",
            )
            assert number(made.result("count")) == expected.count().value == (2 * ENTRIES if left else 500)
            assert table(made.take("key", "other_w")).to_pydict() == {
                name: list(values)
                for name, values in expected.to_arrow(["key", "other_w"]).to_pydict().items()
            }
    with frames(files) as made, pytest.raises(c.CError, match="id"):
        made.step("join", "More", *names(other), c.texts(["id"]), None, ctypes.c_size_t(1), None)


def test_joins_that_are_refused(files: list[str], tmp_path: Path) -> None:
    other = os.fsencode(tmp_path) + b"/\xff.root"
    with colonnade.create(tmp_path / "o.root", "More") as writing:
        writing.extend({"id": [1, 2], "w": [0.5, 1.5]})
    os.rename(tmp_path / "o.root", other)
    uris = ((ctypes.c_char_p * 1)(other), ctypes.c_size_t(1))
    keys = (c.texts(["key"]), c.texts(["id"]), ctypes.c_size_t(1))
    twice = c.texts(["w", "w"])
    for options, says, code in (
        ({"columns": ctypes.addressof(twice), "num_columns": 2}, "the column 'w' is given twice", "usage"),
        ({"table": os.fsencode(tmp_path / "keys")}, "names are not valid UTF-8", "unsupported"),
    ):
        join = JoinOptions(struct_size=ctypes.sizeof(JoinOptions), **options)
        with frames(files) as made, pytest.raises(c.CError, match=says) as refused:
            made.step("join", "More", *uris, *keys, ctypes.byref(join))
        assert refused.value.status == c.CODES[code]
    with frames(files) as made:
        made.step("join", "More", *uris, *keys, None)
        assert number(made.statistic("sum", "w")) == 2
    shutil.copy(other, tmp_path / "double.root")
    with frames(files) as made:
        made.step("join", "More", *names(*[str(tmp_path / "double.root")] * 2), *keys, None)
        with pytest.raises(c.CError, match=r"same key .* in the joined column 'More_entry'"):
            number(made.statistic("sum", "w"))


def test_other_names_types_and_files_that_lack_a_column(files: list[str]) -> None:
    with frames(files) as made:
        made.step("alias", "momentum", "x")
        assert c.strings(c.made("colonnade_frame_column_type", made.last, b"momentum * 2")) == ["double"]
        assert c.strings(c.made("colonnade_frame_column_type", made.last, b"v")) == ["std::vector<double>"]
        with pytest.raises(c.CError, match="nothing"):
            c.made("colonnade_frame_column_type", made.last, b"nothing")
        assert "momentum" in c.strings(c.made("colonnade_frame_columns", made.last))
        assert number(made.statistic("sum", "momentum")) == number(made.statistic("sum", "x"))
    for available in (1, 0):
        with frames(files) as made:
            made.step("filter_available", "late", ctypes.c_int32(available))
            assert number(made.result("count")) == ENTRIES
