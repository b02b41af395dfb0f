"""Expressions made from Python objects: the texts that come out, and what they compute."""

from __future__ import annotations

import math
import pickle

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, col, fn
from colonnade.frame.expressions import literal, where

X, N = col("x"), col("n")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (X + 1, "(x + 1)"),
        (1 + X, "(1 + x)"),
        (X - 2.5, "(x - 2.5)"),
        (2 - X, "(2 - x)"),
        (X >= N, "(x >= n)"),
        (7 % N, "(7 % n)"),
        (6 & N, "(6 & n)"),
        (6 | N, "(6 | n)"),
        (6 ^ N, "(6 ^ n)"),
        (True & (X > 0), "(true && (x > 0))"),
        (2 * X * X, "((2 * x) * x)"),
        (X / 2.0, "(x / 2.0)"),
        (X % 3, "(x % 3)"),
        (X**2, "pow(x, 2)"),
        (2**X, "pow(2, x)"),
        (-X, "(-x)"),
        (+X, "(+x)"),
        (abs(X), "abs(x)"),
        (X <= N, "(x <= n)"),
        (X == 0, "(x == 0)"),
        (X != 0, "(x != 0)"),
        ((X > 0) & (X < 5), "((x > 0) && (x < 5))"),
        ((X > 0) | (N == 2), "((x > 0) || (n == 2))"),
        ((X > 0) ^ (N == 2), "((x > 0) != (n == 2))"),
        (~(X > 0), "(!(x > 0))"),
        (~((X > 0) & (N > 0)), "(!((x > 0) && (n > 0)))"),
        (N & 3, "(n & 3)"),
        (N << 2, "(n << 2)"),
        (N >> 1, "(n >> 1)"),
        (1 << N, "(1 << n)"),
        (8 >> N, "(8 >> n)"),
        (X[0], "x[0]"),
        (X[X > 20], "x[(x > 20)]"),
        (X["sum"], "x.sum"),
        (col("jets").pt, "jets.pt"),
        (col("p4").Pt(), "p4.Pt()"),
        (X.size(), "x.size()"),
        (X.at(N, 3), "x.at(n, 3)"),
        (X.sum(), "Sum(x)"),
        (X.mean(), "Mean(x)"),
        (X.min(), "Min(x)"),
        (X.max(), "Max(x)"),
        (~X.any(), "(!Any(x))"),
        (~X.all(), "(!All(x))"),
        (X.argmin(), "ArgMin(x)"),
        (X.argmax(), "ArgMax(x)"),
        (X.astype("float"), "static_cast<float>(x)"),
        (X.astype("int8"), "static_cast<std::int8_t>(x)"),
        (X.astype(np.uint16), "static_cast<std::uint16_t>(x)"),
        (X.astype(np.dtype("f8")), "static_cast<double>(x)"),
        (fn.DeltaR(X, 1.0, N, 2.0), "DeltaR(x, 1.0, n, 2.0)"),
        (fn.TMath.Abs(X), "TMath::Abs(x)"),
        (fn.Construct["ROOT::Math::PtEtaPhiMVector"](X, X), "Construct<ROOT::Math::PtEtaPhiMVector>(x, x)"),
        (np.sqrt(X * X), "sqrt((x * x))"),
        (np.arctan2(X, 1), "atan2(x, 1)"),
        (np.float32(1.5) * X, "(1.5e+00f * x)"),
        (np.logical_and(X > 0, N > 0), "((x > 0) && (n > 0))"),
        (np.float32(0.5) > X, "(5.e-01f > x)"),
        (np.int64(3) - X, "(3 - x)"),
        (np.divide(X, N), "(x / n)"),
        (np.bitwise_or(N, 2), "(n | 2)"),
        (np.negative(X), "(-x)"),
        (np.positive(X), "x"),
        (np.logical_not(X), "(!x)"),
        (np.invert(N), "(~n)"),
        (np.square(X), "(x * x)"),
        (np.sum(X, axis=1), "Sum(x)"),
        (where(X > 0, 1, 2), "((x > 0) ? 1 : 2)"),
        (np.where(X > 0, X, 0), "((x > 0) ? x : 0)"),
        (X == 'a"b\\', '(x == "a\\"b\\\\")'),
        (X == True, "(x == true)"),  # noqa: E712
    ],
)
def test_texts(expression, text):
    assert str(expression) == text
    assert repr(expression) == f"<Expression {text}>"


@pytest.mark.parametrize(
    "value",
    [0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 0.1, -0.0, 1e-310, 1e300, 5e-324],
)
def test_literals_give_back_their_value(value):
    frame = colonnade.DataFrame(1).define("v", literal(value))
    (back,) = frame.to_numpy(["v"])["v"]
    assert back == value
    assert math.copysign(1, back) == math.copysign(1, value)


@pytest.mark.parametrize("value", [np.float32(0.1), np.float32(3e38), np.float32(1e-45), -np.float32(2.5)])
def test_literals_of_single_precision(value):
    back = colonnade.DataFrame(1).define("v", literal(value)).to_numpy(["v"])["v"]
    assert back.dtype == np.float32
    assert back[0] == value


def test_literals_without_digits():
    frame = colonnade.DataFrame(1).define("a", literal(math.inf)).define("b", literal(-math.inf))
    arrays = frame.define("c", literal(math.nan)).to_numpy()
    assert (arrays["a"][0], arrays["b"][0]) == (math.inf, -math.inf)
    assert math.isnan(arrays["c"][0])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: bool(X > 0), "has no truth value"),
        (lambda: 1 < X < 3, "has no truth value"),
        (lambda: X // 2, "no operator //"),
        (lambda: X[1:3], "cannot be sliced"),
        (lambda: X[None], "a value of type NoneType cannot be used"),
        (lambda: X + object(), "a value of type object cannot be used"),
        (lambda: (X + 1)(2), "cannot be called"),
        (lambda: X["a b"], "is not the name of a member"),
        (lambda: np.heaviside(X, 1), r"numpy\.heaviside has no counterpart"),
        (lambda: np.sum(X), None),
        (lambda: np.sum(X, axis=0), r"numpy\.sum with these arguments"),
        (lambda: np.median(X), r"numpy\.median with these arguments"),
        (lambda: literal(2**64), "does not fit in 64 bits"),
        (lambda: iter(X), "not iterable"),
    ],
)
def test_what_is_refused(make, problem):
    if problem is None:
        make()
        return
    with pytest.raises(TypeError, match=problem):
        make()


def test_expressions_can_be_pickled_and_have_no_secret_members():
    assert str(pickle.loads(pickle.dumps((X > 0) & (N < 2)))) == "((x > 0) && (n < 2))"
    assert not hasattr(X, "_repr_html_")
    assert not hasattr(fn, "__wrapped__")
    assert "Sum" in dir(fn)
    assert "TMath" in dir(fn)


@pytest.fixture
def frame():
    return colonnade.DataFrame.from_arrays(
        {
            "n": np.array([7, -7, 4], dtype=np.int32),
            "k": np.array([2, 2, -3], dtype=np.int32),
            "b": np.array([True, False, True]),
            "x": ak.Array([[1, 2, 3], [], [4]]),
            "bs": ak.Array([[True, False, True], [], [False]]),
            "f": np.array([1.5, 2.5, -1.0]),
        }
    )


def values(frame, expression):
    return ak.to_list(frame.take(expression).value)


def test_types_of_columns_choose_what_operators_mean(frame):
    # Division is Python's, ...
    assert values(frame, N / col("k")) == [3.5, -3.5, 4 / -3]
    assert values(frame, "n / k") == [3, -3, -1]
    assert values(frame, N / 2) == [3.5, -3.5, 2.0]
    assert values(frame, 1 / N) == [1 / 7, -1 / 7, 0.25]
    assert values(frame, X / 2) == [[0.5, 1.0, 1.5], [], [2.0]]
    # ... and truth values are not numbers.
    assert values(frame, ~col("b")) == [False, True, False]
    assert values(frame, ~N) == [-8, 6, -5]
    assert values(frame, col("b") & (N > 5)) == [True, False, False]
    assert values(frame, ~col("bs")) == [[False, True, False], [], [True]]
    assert values(frame, N & 3) == [3, 1, 0]
    assert values(frame.filter(~col("b")), N) == [-7]
    assert values(frame, X[~col("bs")]) == [[2], [], [4]]
    assert values(frame, where(N > 0, col("f"), 0)) == [1.5, 0.0, -1.0]
    assert values(frame, where(X > 1, X, 0)) == [[0, 2, 3], [], [4]]


def test_three_spellings_give_the_same(frame):
    text = frame.take("sqrt(f*f + n*n)").value
    built = frame.take(np.sqrt(col("f") * col("f") + N * N)).value
    called = frame.define("y", lambda f, n: np.sqrt(f * f + n * n)).take("y").value
    np.testing.assert_array_equal(text, built)
    np.testing.assert_array_equal(text, called)


def test_errors_name_the_place_when_booked(frame):
    with pytest.raises(colonnade.NotFoundError, match="nn"):
        frame.define("y", col("nn") + 1)
    with pytest.raises(colonnade.TypeMismatchError, match="is not an expression"):
        frame.sum(3)


def test_columns_of_any_name():
    data = {
        "a": [1.0, 2.0],
        "b": [10.0, 20.0],
        "a+b": [5.0, 6.0],
        "and": [7.0, 8.0],
        "M_PI": [9.0, 9.5],
        "x y": [1, 2],
    }
    frame = DataFrame.from_arrays(data)
    for name, expected in data.items():
        assert values(frame, col(name)) == expected
    assert values(frame, col("a+b") * 2 + col("a")) == [11.0, 14.0]
    assert values(frame, "`a+b` + a + b") == [16.0, 28.0]
    assert values(frame.define("s", col("and") + col("a+b")), "s") == [12.0, 14.0]
    assert str(col("a+b")) == "`a+b`"
    assert str(col("jets.pt")) == "jets.pt"
    with pytest.raises(colonnade.Error, match=r"there is no column 'b\+a'"):
        frame.take(col("b+a"))
    for name in ("", "a`b"):
        with pytest.raises(colonnade.Error, match="is not a column name"):
            col(name)


def test_texts_of_any_letters_are_found_again():
    texts = ["a\0b", "7\x0018", "b\r", 'q"\\', "\x1b[0m", "é\u2028😀", "\udcffa"]
    layout = ak.to_layout([text.encode("utf-8", "surrogateescape") for text in texts])
    characters = layout.content.copy(parameters={"__array__": "char"})
    df = DataFrame.from_arrays(
        {"s": ak.Array(layout.copy(content=characters, parameters={"__array__": "string"}))}
    )
    assert sorted(df.unique("s").value) == sorted(texts)
    for text in texts:
        assert df.filter(col("s") == text).count() == 1
    with pytest.raises(colonnade.TypeMismatchError, match="not valid Unicode"):
        df.filter(col("s") == "\ud800")
