"""Functions of C++ libraries: types, errors, threads, and workers that have the same library or another one."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame, distributed
from colonnade.errors import NotFoundError, TypeMismatchError, UnsupportedError, UsageError
from colonnade.frame.callables import pickled
from colonnade.frame.libraries import LibraryFunction

SOURCE = """
#include <cmath>
#include <colonnade/functions.h>
#include <numeric>
#include <stdexcept>

float scale_factor(float pt, float eta) noexcept { return pt > 20 ? 0.98F : 1.02F + 0.01F * eta; }
double scalar_sum(std::span<const float> pt) { return std::accumulate(pt.begin(), pt.end(), 0.0); }
std::vector<float> above(const std::vector<float>& pt, double least) {
  std::vector<float> kept;
  for (const float each : pt)
    if (each > least) kept.push_back(each);
  return kept;
}
bool is_long(std::string_view text) { return text.size() > 2; }
std::string twice(const std::string& text) { return text + text; }
std::int64_t count(std::span<const std::int16_t> a, std::span<const bool> b, std::uint8_t c) {
  return static_cast<std::int64_t>(a.size() + 10 * b.size() + 100 * c);
}
int positive(int x) {
  if (x < 0) throw std::invalid_argument("it is below zero");
  return x;
}
int thrown() { throw 1; }
COLONNADE_FUNCTIONS(VERSION, colonnade::function<scale_factor>("scale_factor"),
                    colonnade::function<scalar_sum>("scalar_sum"), colonnade::function<above>("above"),
                    colonnade::function<is_long>("is_long"), colonnade::function<twice>("twice"),
                    colonnade::function<count>("count"), colonnade::function<positive>("positive"),
                    colonnade::function<thrown>("thrown"))
"""


def build(path: Path, source: str, *options: str) -> Path:
    code = path.with_suffix(".cpp")
    code.write_text(source)
    compiler = os.environ.get("CXX", "c++")
    include = f"-I{colonnade.get_include()}"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    command = [compiler, "-std=c++20", "-O1", *warnings, "-fPIC", "-shared", include, *options]
    subprocess.run([*command, code, "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> colonnade.Library:
    folder = tmp_path_factory.mktemp("libraries")
    return colonnade.library(build(folder / "libmine.so", SOURCE, '-DVERSION="1.2"'))


def rows(number: int) -> dict[str, object]:
    random = np.random.default_rng(number)
    counts = random.integers(0, 5, number)
    return {
        "pt": random.uniform(0, 50, number).astype("f4"),
        "eta": random.normal(size=number),
        "jets": ak.unflatten(random.uniform(0, 99, counts.sum()).astype("f4"), counts),
        "i2": ak.unflatten(np.arange(counts.sum(), dtype="i2"), counts),
        "flags": ak.unflatten(random.integers(0, 2, counts.sum()).astype(bool), counts),
        "u1": random.integers(0, 255, number).astype("u1"),
        "text": ["x" * (k % 5) for k in range(number)],
    }


def test_what_a_library_has(library: colonnade.Library) -> None:
    assert library.version == "1.2"
    assert list(library)[:3] == ["scale_factor", "scalar_sum", "above"]
    assert library.above.parameters == ("std::vector<float>", "double")
    assert library["count"].result == "std::int64_t"
    assert "above" in dir(library)
    assert "1.2" in repr(library)
    assert "scale_factor(float, float)" in repr(library.scale_factor)


@pytest.mark.parametrize("number", [1, 7, 1000])
def test_every_type(library: colonnade.Library, number: int) -> None:
    data = rows(number)
    df = DataFrame.from_arrays(data).with_functions(library)
    texts = {
        "sf": "scale_factor(pt, eta)",
        "constant": "scale_factor(30, eta) + scale_factor(1, 2)",
        "sum": "scalar_sum(jets)",
        "of a list": "scalar_sum({1.f, 2.f})",
        "kept": "above(jets, 40)",
        "chosen": "scalar_sum(above(jets[jets > 20], pt))",
        "long": 'is_long(text) && !is_long("ab")',
        "twice": "twice(text)",
        "counts": "count(i2, flags, u1)",
    }
    for k, text in enumerate(texts.values()):
        df = df.define(f"y{k}", text)
    found = df.to_awkward([f"y{k}" for k in range(len(texts))])
    values = dict(zip(texts, (found[f"y{k}"].tolist() for k in range(len(texts))), strict=True))
    pt, eta, jets = np.asarray(data["pt"]), np.float32(data["eta"]), ak.to_list(data["jets"])
    factors = np.where(pt > 20, np.float32(0.98), np.float32(1.02) + np.float32(0.01) * eta)
    assert np.allclose(values["sf"], factors, rtol=1e-7)
    assert values["constant"] == [pytest.approx(0.98 + 1.04)] * number
    assert values["sum"] == [sum(each) for each in jets]
    assert values["of a list"] == [3.0] * number
    assert values["kept"] == [[x for x in each if x > 40] for each in jets]
    assert values["chosen"] == [
        sum(x for x in each if x > 20 and x > at) for each, at in zip(jets, pt, strict=True)
    ]
    assert values["long"] == [len(each) > 2 for each in data["text"]]
    assert values["twice"] == [2 * each for each in data["text"]]
    sizes = ak.num(data["i2"], axis=1)
    assert df.filter("pt < 0").take("y4").value.tolist() == []
    assert values["counts"] == (11 * sizes + 100 * data["u1"].astype(int)).tolist()


def test_where_callables_stand(library: colonnade.Library) -> None:
    data = rows(500)
    df = DataFrame.from_arrays(data)
    expected = df.with_functions(library).filter("is_long(text)").sum("scale_factor(pt, eta)").value
    direct = df.filter(library.is_long, ["text"]).define("sf", library.scale_factor, ["pt", "eta"])
    assert direct.sum("sf").value == expected
    assert library.scale_factor(data["pt"], data["eta"]).tolist() == pytest.approx(
        df.with_functions(library).define("y", "scale_factor(pt, eta)").to_numpy(["y"])["y"].tolist()
    )


def test_many_threads(library: colonnade.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "50")
    path = tmp_path / "f.root"
    with colonnade.create(
        path, "Events", {"pt": "float", "eta": "float", "jets": "std::vector<float>"}
    ) as out:
        data = rows(5000)
        out.extend({name: data[name] for name in ("pt", "eta", "jets")})
    found = [
        DataFrame("Events", path, threads=threads)
        .with_functions(library)
        .define("y", "scalar_sum(above(jets, pt)) * scale_factor(pt, eta)")
        .sum("y")
        .value.hex()
        for threads in (1, 4)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("positive(-1)", UsageError, "'positive' of '.*' failed: it is below zero"),
        ("thrown()", UsageError, "other than a std::exception"),
        (
            "above(jets)",
            TypeMismatchError,
            r"takes \(std::vector<float>, double\), got \(std::vector<float>\)",
        ),
        ("scalar_sum(text)", TypeMismatchError, r"takes \(std::vector<float>\), got \(std::string\)"),
        ("scale_facto(pt, eta)", NotFoundError, "scale_factor"),
    ],
)
def test_errors(library: colonnade.Library, text: str, error: type, message: str) -> None:
    df = DataFrame.from_arrays(rows(10)).with_functions(library)
    with pytest.raises(error, match=message):
        df.define("y", text).sum("y").value  # noqa: B018


def test_misuse(library: colonnade.Library, tmp_path: Path) -> None:
    df = DataFrame.from_arrays(rows(10))
    with pytest.raises(UsageError, match="columns="):
        df.define("y", library.scale_factor)
    with pytest.raises(UsageError, match=r"is a C\+\+ function"):
        df.define("y", library.scale_factor, ["pt", "eta"], per_row=True)
    with pytest.raises(TypeMismatchError, match="returns float, not bool"):
        df.filter(library.scale_factor, ["pt", "eta"])
    with pytest.raises(AttributeError, match="no function 'nothing'"):
        _ = library.nothing
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        colonnade.library(tmp_path / "none.so")
    with pytest.raises(UsageError, match="no functions for expressions"):
        colonnade.library(ctypes.util.find_library("m") or "libm.so.6")


@pytest.mark.parametrize(
    ("list_", "error", "message"),
    [
        ('{2, "1", 0, nullptr}', UnsupportedError, "interface 2"),
        ('{1, "1", -1, nullptr}', UsageError, "damaged"),
        ("{1, nullptr, 0, nullptr}", UsageError, "damaged"),
        ('{1, "1", 1, &nameless}', UsageError, "damaged"),
        ('{1, "1", 1, &untyped}', UsageError, "type 'std::map<int, int>'"),
        ('{1, "1", 2, twins}', UsageError, "two functions called 'f'"),
    ],
)
def test_damaged_lists(list_: str, error: type, message: str, tmp_path: Path) -> None:
    source = f"""
#include <colonnade/functions.h>
[[maybe_unused]] static int call(const colonnade::FunctionColumn*, std::int64_t,
                                 const colonnade::FunctionResult*) {{ return 1; }}
[[maybe_unused]] static const char* const none[] = {{nullptr}};
[[maybe_unused]] static const colonnade::FunctionDescription nameless = {{nullptr, "float", none, call}};
[[maybe_unused]] static const colonnade::FunctionDescription untyped = {{"f", "std::map<int, int>", none, call}};
[[maybe_unused]] static const colonnade::FunctionDescription twins[] = {{
    {{"f", "float", none, call}}, {{"f", "int", none, call}}}};
extern "C" const colonnade::FunctionList* colonnade_functions() {{
  static const colonnade::FunctionList list = {list_};
  return &list;
}}
"""
    with pytest.raises(error, match=message):
        colonnade.library(build(tmp_path / "libbad.so", source))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1;", "does not say why"),
        ("return 0;", "fewer results"),
        ("for (int k = 0; k < 100; ++k) out->append(out->self, nullptr, 0);\n  return 0;", "more results"),
        ("out->append(out->self, nullptr, -5); return 0;", "more results"),
        ('out->fail(out->self, "at once"); return 0;', "at once"),
    ],
)
def test_functions_that_break_the_rules(body: str, message: str, tmp_path: Path) -> None:
    source = f"""
#include <colonnade/functions.h>
static int call(const colonnade::FunctionColumn*, std::int64_t,
                [[maybe_unused]] const colonnade::FunctionResult* out) {{
  {body}
}}
static const char* const none[] = {{nullptr}};
extern "C" const colonnade::FunctionList* colonnade_functions() {{
  static const colonnade::FunctionDescription list[] = {{{{"f", "std::vector<float>", none, call}}}};
  static const colonnade::FunctionList library = {{1, "1", 1, list}};
  return &library;
}}
"""
    library = colonnade.library(build(tmp_path / "librules.so", source))
    df = DataFrame(10).with_functions(library).define("y", "Sum(f())")
    with pytest.raises(UsageError, match=message):
        df.sum("y").value  # noqa: B018


# ---- On workers


def test_plans_know_the_library(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    texts = set()
    for content in ("first", "second"):
        file.write_text(content)
        texts.add(pickled((LibraryFunction("f", "double", (), str(file), "1.2"),), "f"))
    assert len(texts) == 2


def test_workers_load_the_library(library: colonnade.Library) -> None:
    def booked(**more: object) -> colonnade.Result[float]:
        df = DataFrame(1000, **more).with_functions(library).define("x", "float(rdfentry_ % 40)")
        return df.filter("positive(int(rdfentry_)) % 3 > 0").define("y", "scale_factor(x, 1)").sum("y")

    assert booked(executor=Shuffled(1)).value.hex() == booked().value.hex()
    assert booked(executor=2).value.hex() == booked().value.hex()


def test_workers_refuse_another_version(library: colonnade.Library, tmp_path: Path) -> None:
    mine = tmp_path / "libmine.so"
    shutil.copy(library.path, mine)
    df = DataFrame(10, executor=2).with_functions(colonnade.library(mine)).define("y", "positive(3)")
    result = df.sum("y")
    plan = df.freeze(result)
    mine.unlink()  # a new file: this process goes on with the old one
    build(mine, SOURCE, '-DVERSION="1.3"')
    with pytest.raises(UsageError, match=r"version 1\.3 here, but 1\.2 where"):
        result.value  # noqa: B018
    with pytest.raises(UsageError, match="carries code"):
        distributed.Plan.from_bytes(plan.to_bytes()).graph(allow_code=False)
    mine.unlink()
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        DataFrame(10, executor=2).with_functions(
            {
                "p": colonnade.LibraryFunction(
                    str(tmp_path / "gone.so"), "1.2", "positive", "std::int32_t", ("std::int32_t",)
                )
            }
        )
