"""Corrections of correctionlib as definitions and as functions of expressions, against correctionlib itself."""

from __future__ import annotations

import pickle
import random

import awkward as ak
import correctionlib
import numpy as np
import pytest
from correctionlib import schemav2 as cs

import colonnade
from colonnade import DataFrame, col, fn

LETTERS = ["nominal", "up", "dn"]
INPUTS = [("x", "real"), ("y", "real"), ("n", "int"), ("s", "string"), ("t", "string")]
CASES = 40


def random_content(rng: random.Random, depth: int, names: list[str]):
    """A random tree of correctionlib's nodes that gives a value for whatever it gets, flow and defaults included."""
    kinds = {name: kind for name, kind in INPUTS if name in names}
    reals = [name for name, kind in kinds.items() if kind == "real"]
    choice = rng.random()
    if depth == 0 or choice < 0.15:
        return rng.uniform(-2, 2)
    again = lambda: random_content(rng, depth - 1, names)  # noqa: E731
    if choice < 0.35:
        edges = sorted({round(rng.uniform(-3, 3), 2) for _ in range(rng.randint(2, 5))} | {-3.5, 3.5})
        flow = rng.choice(["clamp", again(), "wrap"])
        content = [again() for _ in edges[:-1]]
        return cs.Binning(
            nodetype="binning", input=rng.choice(reals), edges=edges, content=content, flow=flow
        )
    if choice < 0.5:
        uniform = cs.UniformBinning(n=rng.randint(1, 4), low=-1, high=rng.choice([1, 2.5]))
        return cs.Binning(
            nodetype="binning",
            input=rng.choice(reals),
            edges=uniform,
            content=[again() for _ in range(uniform.n)],
            flow=rng.choice(["clamp", again()]),
        )
    if choice < 0.6:
        edges = [[-3.0, 0.0, 3.0], [-3.0, 1.0, 3.0]]
        content = [again() for _ in range(4)]
        return cs.MultiBinning(
            nodetype="multibinning", inputs=["x", "y"], edges=edges, content=content, flow="clamp"
        )
    if choice < 0.8:
        name = rng.choice([name for name, kind in kinds.items() if kind != "real"])
        keys = LETTERS if kinds[name] == "string" else list(range(-2, 3))
        chosen = rng.sample(keys, rng.randint(1, len(keys)))
        content = [cs.CategoryItem(key=key, value=again()) for key in chosen]
        return cs.Category(nodetype="category", input=name, content=content, default=again())
    if choice < 0.9:
        return cs.Formula(
            nodetype="formula",
            expression=rng.choice(
                ["[0]*x+[1]", "exp(-x*x)*[0]+y*[1]", "max(x,y)+[0]", "(x>[0])*y+[1]", "sqrt(abs(x))"]
            ),
            parser="TFormula",
            variables=["x", "y"],
            parameters=[rng.uniform(-1, 1), rng.uniform(-1, 1)],
        )
    return cs.Transform(
        nodetype="transform",
        input="x",
        rule=cs.Formula(nodetype="formula", expression="x*0.5+0.1", parser="TFormula", variables=["x"]),
        content=again(),
    )


def correction_set(name: str, content, inputs=INPUTS) -> correctionlib.CorrectionSet:
    correction = cs.Correction(
        name=name,
        version=1,
        inputs=[cs.Variable(name=each, type=kind) for each, kind in inputs],
        output=cs.Variable(name="w", type="real"),
        data=content,
    )
    return correctionlib.CorrectionSet(cs.CorrectionSet(schema_version=2, corrections=[correction]))


@pytest.fixture
def arrays():
    rng = np.random.default_rng(5)
    size = 700
    return {
        "x": rng.normal(0, 2, size).astype(np.float32),
        "y": rng.uniform(-4, 4, size),
        "n": rng.integers(-3, 4, size).astype(np.int32),
        "s": ak.Array(rng.choice(LETTERS, size).tolist()),
        "t": ak.Array(rng.choice([*LETTERS, "other, longer"], size).tolist()),
    }


@pytest.mark.parametrize("seed", range(CASES))
def test_random_corrections_have_the_values_of_correctionlib(seed, arrays, small_parts):
    rng = random.Random(seed)
    reference = correction_set("sf", random_content(rng, 4, [name for name, _ in INPUTS]))
    df = DataFrame.from_arrays(arrays, threads=3, block_entries=100).with_functions(
        colonnade.corrections(reference)
    )
    from_text = df.define("w", "sf(x, y, n, s, t)").take("w")
    from_callable = df.define("w", colonnade.corrections(reference)["sf"]).take("w")
    constant = df.define("w", 'sf(x, y, n, "up", t)').take("w")
    columns = [ak.to_list(arrays[name]) for name, _ in INPUTS]
    expected = [reference["sf"].evaluate(*row) for row in zip(*columns, strict=True)]
    np.testing.assert_array_equal(from_text.value, expected)
    np.testing.assert_array_equal(from_callable.value, expected)
    fixed = [reference["sf"].evaluate(x, y, n, "up", t) for x, y, n, _, t in zip(*columns, strict=True)]
    np.testing.assert_array_equal(constant.value, fixed)
    small_parts(df, 3)


def simple():
    return correction_set(
        "sf",
        cs.Category(
            nodetype="category",
            input="s",
            content=[
                cs.CategoryItem(
                    key="nominal",
                    value=cs.Binning(
                        nodetype="binning", input="pt", edges=[0, 20, 40], content=[1.5, 2.5], flow="error"
                    ),
                ),
                cs.CategoryItem(key="up", value=3.0),
            ],
        ),
        [("pt", "real"), ("s", "string")],
    )


def test_of_lists_there_is_a_value_for_each_item():
    arrays = {
        "pt": ak.Array([[10.0, 30.0], [], [5.0]]),
        "deep": ak.Array([[[10.0], [30.0, 31.0]], [], [[]]]),
        "s": ["nominal", "up", "up"],
    }
    df = DataFrame.from_arrays(arrays).with_functions(colonnade.corrections(simple()))
    assert df.column_type("sf(pt, s)") == "std::vector<double>"
    assert df.take("sf(pt, s)").value.to_list() == [[1.5, 2.5], [], [3.0]]
    assert df.take('sf(deep, "nominal")').value.to_list() == [[[1.5], [2.5, 2.5]], [], [[]]]
    assert df.define("w", "Product(sf(pt, s))").take("w").value.tolist() == [3.75, 1, 3]


def test_corrections_mix_with_expressions_and_col():
    df = DataFrame.from_arrays({"pt": [10.0, 30.0, 99.0], "s": ["nominal"] * 3}).with_functions(
        colonnade.corrections(simple())
    )
    # What is not reached is not computed: 99 is out of range.
    assert df.define("w", 'pt < 40 ? 2 * sf(pt, "nominal") : -1').take("w").value.tolist() == [3, 5, -1]
    assert df.filter("pt < 40").take(fn.sf(col("pt"), "up") + col("pt")).value.tolist() == [13, 33]
    varied = df.filter("pt < 40").vary("pt", "{pt * 0.5, pt * 1.3}", ["down", "up"])
    found = df.variations_for(varied.take('sf(pt, "nominal")'))
    assert found["nominal"].tolist() == [1.5, 2.5]
    assert found["pt:down"].tolist() == [1.5, 1.5]  # of 5 and 15
    assert found["pt:up"].tolist() == [1.5, 2.5]  # of 13 and 39


def test_wrong_arguments_are_errors_at_booking():
    df = DataFrame.from_arrays({"pt": [10.0], "k": [1], "s": ["nominal"]})
    sf = colonnade.corrections(simple())["sf"]
    df.with_functions({"sf": sf, "of_number": colonnade.corrections(counted())["of_number"]})
    for text, said in [
        ("sf(pt)", r"'sf': got 1 arguments, it is sf\(pt: real, s: string\)"),
        ("sf(s, pt)", "'pt' is a std::string"),
        ("sf(pt, k)", "'s' is a "),
        ("of_number(pt)", "'n' is a double"),
    ]:
        with pytest.raises(colonnade.TypeMismatchError, match=said):
            df.define("w", text)
    with pytest.raises(colonnade.NotFoundError, match=r"unknown function 'sff'.*sf"):
        df.define("w", "sff(pt)")
    with pytest.raises(colonnade.UsageError, match="'sqrt' is already a function of the language"):
        df.with_functions({"sqrt": sf})
    with pytest.raises(colonnade.UsageError, match="'my sf' is not a valid name for a function"):
        df.with_functions({"my sf": sf})
    with pytest.raises(colonnade.UsageError, match="there is already a function 'sf'"):
        df.with_functions({"sf": lambda x: x})
    df.with_functions({"sf": colonnade.corrections(simple())["sf"]})  # the same again, as notebooks do


def counted():
    content = cs.Category(
        nodetype="category", input="n", content=[cs.CategoryItem(key=k, value=k / 2) for k in range(5)]
    )
    return correction_set("of_number", content, [("n", "int")])


def test_a_value_without_a_correction_says_which():
    df = DataFrame.from_arrays({"pt": np.linspace(1, 50, 50), "s": ["nominal"] * 50})
    df.with_functions(colonnade.corrections(simple()))
    with pytest.raises(
        colonnade.ConversionError, match=r"'sf' has no value for pt=40.0, s='nominal': .*bounds"
    ):
        _ = df.sum("sf(pt, s)").value
    with pytest.raises(colonnade.ConversionError, match="s='left'"):
        _ = df.sum('sf(pt, "left")').value


def test_files_and_what_is_none(tmp_path):
    path = tmp_path / "sf.json"
    path.write_text(simple()._data)
    found = colonnade.corrections(path)
    assert list(found) == ["sf"]
    assert repr(found["sf"]) == "<Correction sf(pt: real, s: string)>"
    assert found["sf"](30.0, "nominal") == 2.5
    assert found["sf"](np.array([10.0, 30.0]), "up").tolist() == [3, 3]
    assert pickle.loads(pickle.dumps(found["sf"])) == found["sf"]
    with pytest.raises(colonnade.FileMissingError, match="no such corrections file"):
        colonnade.corrections(tmp_path / "none.json")
    path.write_text('{"schema_version": 2, "corrections": 3}')
    with pytest.raises(colonnade.FormatError, match="has no correctionlib corrections"):
        colonnade.corrections(path)
    with pytest.raises(colonnade.FormatError, match=r"expected \.json"):
        colonnade.corrections(tmp_path / "sf.root")


def test_compound_corrections():
    content = cs.Binning(nodetype="binning", input="pt", edges=[0, 20, 90], content=[1.5, 2.0], flow="clamp")
    parts = [
        cs.Correction(
            name=name,
            version=1,
            inputs=[cs.Variable(name="pt", type="real")],
            output=cs.Variable(name="w", type="real"),
            data=content,
        )
        for name in ("first", "second")
    ]
    whole = cs.CompoundCorrection(
        name="both",
        inputs=[cs.Variable(name="pt", type="real")],
        output=cs.Variable(name="w", type="real"),
        inputs_update=["pt"],
        input_op="*",
        output_op="*",
        stack=["first", "second"],
    )
    reference = correctionlib.CorrectionSet(
        cs.CorrectionSet(schema_version=2, corrections=parts, compound_corrections=[whole])
    )
    pt = np.linspace(-5, 100, 64)
    df = DataFrame.from_arrays({"pt": pt}).with_functions(colonnade.corrections(reference))
    expected = [reference.compound["both"].evaluate(each) for each in pt]
    assert df.take("both(pt)").value.tolist() == expected
    assert pickle.loads(pickle.dumps(colonnade.corrections(reference)["both"]))(15.0) == 3.0


def test_functions_of_ones_own_travel_with_the_plan(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as w:
        w.extend({"pt": np.linspace(1, 39, 300), "s": ["nominal", "up", "up"] * 100})
    functions = {**colonnade.corrections(simple()), "twice": lambda x: 2 * x}
    results = []
    for executor in (None, 2):
        df = DataFrame("Events", tmp_path / "f.root", executor=executor).with_functions(functions)
        results.append(df.filter("twice(pt) > 10").sum("sf(pt, s) + twice(pt)").value)
    assert results[0] == results[1]
    pt = np.linspace(1, 39, 300)
    sf = np.where(np.arange(300) % 3 == 0, np.where(pt < 20, 1.5, 2.5), 3.0)
    assert results[0] == pytest.approx((sf + 2 * pt)[pt > 5].sum())


def test_functions_stand_within_lambdas():
    pt = ak.Array([[10.0, 30.0], [], [5.0]])
    df = DataFrame.from_arrays({"pt": pt, "s": ["nominal", "up", "up"]}, threads=2)
    df.with_functions({**colonnade.corrections(simple()), "twice": lambda x: 2 * x})
    found = df.take("Map(pt, [&](double p) { return p < 40 ? sf(p, s) + twice(p) : 0.0; })")
    assert found.value.to_list() == [[21.5, 62.5], [], [13.0]]
