"""Python callables in the graph: per block and per entry, their types, their errors."""

from __future__ import annotations

import datetime
import decimal
import gc
import math
import re
import sys
import textwrap
import traceback
import typing
import weakref

import awkward as ak
import numba
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

import colonnade
from colonnade import DataFrame
from colonnade.frame import callables, compiled
from colonnade.frame.sharing import COUNTS_ALL, is_shared

ENTRIES = 2000
RANDOM = np.random.default_rng(5)
COUNTS = RANDOM.integers(0, 4, ENTRIES)
ARRAYS = {
    "n": RANDOM.integers(-5, 5, ENTRIES).astype(np.int32),
    "f": RANDOM.normal(size=ENTRIES).astype(np.float32),
    "d": RANDOM.normal(size=ENTRIES),
    "b": RANDOM.integers(0, 2, ENTRIES) == 1,
    "pt": ak.unflatten(RANDOM.exponential(20, COUNTS.sum()).astype(np.float32), COUNTS),
    "tag": ak.Array([f"t{k % 3}" for k in range(ENTRIES)]),
    "hit": ak.Array([{"x": k, "y": k / 2} for k in range(ENTRIES)]),
}

# As of the statements `type Of[T] = NDArray[T]` and `type Singles = Of[np.float32]`.
T = typing.TypeVar("T", bound=np.generic)
Of = TypeAliasType("Of", NDArray[T], type_params=(T,))
Singles = TypeAliasType("Singles", Of[np.float32])


@pytest.fixture
def frame():
    return DataFrame.from_arrays(ARRAYS, threads=2)


@pytest.fixture(params=["with Numba", "without Numba"])
def numba_or_not(request, monkeypatch):
    if request.param == "without Numba":
        monkeypatch.setitem(sys.modules, "numba", None)
    return request.param


def column(frame, name="y"):
    return frame.take(name).value


def test_trials_have_lists_of_several_items_if_one_is_not_enough(frame, numba_or_not):
    pairs = frame.filter("n > 1").define("p", "std::vector<double>{d, 2 * d}")
    both = pairs.define("y", lambda p: p[0] + p[1], per_row=True)
    assert both.column_type("y") == "double"
    assert column(both).tolist() == (ARRAYS["d"] * 3)[ARRAYS["n"] > 1].tolist()
    assert (
        column(pairs.define("y", lambda p: p[:, 1])).tolist() == (ARRAYS["d"] * 2)[ARRAYS["n"] > 1].tolist()
    )
    with pytest.raises(colonnade.TypeMismatchError, match="failed on a trial of 2 entries"):
        pairs.define("y", lambda p: p[:, 20])


# ---- Per block


def test_blocks_of_arrays(frame):
    n, d, pt = ARRAYS["n"], ARRAYS["d"], ARRAYS["pt"]
    np.testing.assert_array_equal(column(frame.define("y", lambda n, d: n * d)), n * d)
    np.testing.assert_array_equal(column(frame.define("y", lambda a, b: a - b, ["d", "n * 2"])), d - n * 2)
    np.testing.assert_array_equal(column(frame.define("y", np.hypot, ["d", "f"])), np.hypot(d, ARRAYS["f"]))
    counts = column(frame.define("y", ak.num, ["pt"]))
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, COUNTS)
    large = column(frame.define("y", lambda pt: pt[pt > 20]))
    assert ak.to_list(large) == ak.to_list(pt[pt > 20])
    nested = column(frame.define("y", lambda pt: ak.cartesian([pt, pt], nested=True)))
    assert ak.num(nested, axis=2).tolist() == [[count] * count for count in COUNTS.tolist()]
    tags = column(frame.define("y", lambda tag: tag))
    assert ak.to_list(tags) == ak.to_list(ARRAYS["tag"])
    assert ak.to_list(column(frame.define("y", lambda hit: hit.x + hit.y))) == [
        k * 1.5 for k in range(ENTRIES)
    ]
    records = column(frame.define("y", lambda n, d: ak.zip({"n": n, "d": d})))
    assert ak.to_list(records.n) == n.tolist()
    assert column(frame.define("y", lambda n: [str(k) for k in n])).to_list() == [str(k) for k in n]
    pairs = column(frame.define("y", lambda n: np.stack([n, n + 1], axis=1)))
    assert ak.to_list(pairs[:3]) == [[int(k), int(k) + 1] for k in n[:3]]


def test_conditions(frame):
    assert frame.filter(lambda n: n > 2).count().value == np.count_nonzero(ARRAYS["n"] > 2)
    assert frame.filter(lambda b: b, name="b").report().value["b"].passed == np.count_nonzero(ARRAYS["b"])
    both = frame.filter(lambda x, y: (x > 0) & (y > 0), ["n", "d"], name="both")
    assert both.count().value == np.count_nonzero((ARRAYS["n"] > 0) & (ARRAYS["d"] > 0))


def test_callables_see_what_survives_and_their_columns_are_columns(frame):
    seen = []

    def square(n: NDArray[np.int32]) -> NDArray[np.int64]:
        seen.append(n)
        return n.astype(np.int64) ** 2

    node = frame.filter("n > 2").define("y", square)
    assert node.column_type("y") == "std::int64_t"
    assert seen == []  # annotated: nothing is tried
    assert node.filter("y > 9").sum("y * 1.0").value == np.sum(ARRAYS["n"][ARRAYS["n"] > 3] ** 2)
    assert min(min(block) for block in seen) == 3
    assert sum(len(block) for block in seen) == np.count_nonzero(ARRAYS["n"] > 2)


@pytest.mark.parametrize("kind", ["function", "object", "partial", "wrapped"])
@pytest.mark.parametrize("per_row", [False, True])
def test_annotations_may_have_names_that_only_type_checkers_know(frame, per_row, kind):
    """From Python 3.14 on they need no quotes: annotations are evaluated when they are asked for."""
    unknown = "unknown.Array" if sys.version_info >= (3, 14) else "'unknown.Array'"
    source = f"""
        import functools

        def function(d: {unknown}, least: {unknown} = 0) -> {unknown}:
            return d * 2

        class Object:
            def __call__(self, d: {unknown}) -> {unknown}:
                return d * 2

        object = Object()
        partial = functools.partial(function, least=1)

        @functools.wraps(function)
        def wrapped(*given: {unknown}) -> {unknown}:
            return function(*given)
    """
    made = {"__name__": "made"}
    exec(compile(textwrap.dedent(source), "made.py", "exec", dont_inherit=True), made)
    for columns in (None, ["d"]):
        node = frame.define("y", made[kind], columns, per_row=per_row)
        assert node.column_type("y") == "double"
        np.testing.assert_array_equal(column(node), ARRAYS["d"] * 2)
    with pytest.raises(colonnade.UsageError, match="does not take 3 columns"):
        frame.define("y", made[kind], ["d", "n", "f"])


def test_blocks_cannot_be_changed(frame):
    def change(d):
        d[0] = 7
        return d

    with pytest.raises(ValueError, match="read-only"):
        frame.define("y", change, returns="double").sum("y").value  # noqa: B018


@pytest.mark.parametrize(
    ("returns", "name"),
    [
        ("float", "float"),
        (np.float32, "float"),
        (np.dtype("int16"), "std::int16_t"),
        (bool, "bool"),
        (int, "std::int64_t"),
        (float, "double"),
        (Singles, "float"),
    ],
)
def test_types_of_results_that_are_said(frame, returns, name):
    node = frame.define(
        "y", lambda n: n.astype(np.int8) > 0 if returns is bool else n.astype(np.int8), returns=returns
    )
    assert node.column_type("y") == name
    assert column(node).sum() == (ARRAYS["n"] > 0).sum() if returns is bool else ARRAYS["n"].sum()


def annotated(kind):
    def function(n):
        return np.asarray(n, dtype=np.float64)

    function.__annotations__["return"] = kind
    return function


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (float, "double"),
        (NDArray[np.float64], "double"),
        ("np.float32", "float"),
        (Of[np.int16], "std::int16_t"),
        (Singles, "float"),
        (Of, "double"),
        (ak.Array, "double"),
        (None, "double"),
    ],
)
def test_types_of_results_by_annotation(frame, kind, name):
    assert frame.define("y", annotated(kind)).column_type("y") == name


# ---- Per entry


def test_entries(frame, numba_or_not):
    n, f, d, pt = ARRAYS["n"], ARRAYS["f"], ARRAYS["d"], ARRAYS["pt"]

    def sign(d):
        if d > 0:
            return 1
        return -1

    node = frame.define("y", sign, per_row=True)
    assert node.column_type("y") == "std::int64_t"
    np.testing.assert_array_equal(column(node), np.where(d > 0, 1, -1))

    # Numbers are Python's: the product of two floats has double precision.
    product = frame.define("y", lambda f, n: f * f + n, per_row=True)
    assert product.column_type("y") == "double"
    np.testing.assert_array_equal(column(product), f.astype(np.float64) ** 2 + n)

    length = frame.define("y", lambda pt: math.sqrt(len(pt)), per_row=True)
    np.testing.assert_array_equal(column(length), np.sqrt(COUNTS))
    cut = frame.define("y", lambda pt, d: pt[pt > 20 * d], per_row=True)
    assert cut.column_type("y") == "std::vector<float>"
    assert ak.to_list(column(cut)) == ak.to_list(pt[pt > 20 * d])
    flag = frame.define("y", lambda n, b: b and n > 0, per_row=True)
    assert flag.column_type("y") == "bool"
    np.testing.assert_array_equal(column(flag), ARRAYS["b"] & (n > 0))
    assert frame.filter(lambda n: n > 2, per_row=True).count().value == np.count_nonzero(n > 2)
    single = frame.define("y", lambda n: n * 2, per_row=True, returns="float")
    assert column(single).dtype == np.float32


def test_entries_that_numba_does_not_take(frame):
    node = frame.define("y", lambda tag: tag.upper() + "!", per_row=True)
    assert node.column_type("y") == "std::string"
    assert ak.to_list(column(node)[:3]) == ["T0!", "T1!", "T2!"]
    rows = frame.define("y", lambda hit: hit["x"] + 1, per_row=True)
    assert column(rows).sum() == sum(range(ENTRIES)) + ENTRIES
    table = {k: k * k for k in range(-5, 6)}
    np.testing.assert_array_equal(
        column(frame.define("y", lambda n: table[n], per_row=True)), ARRAYS["n"] ** 2
    )


def test_what_numba_has_compiled_runs_without_the_lock():
    kind = colonnade._core.ValueType.named("double")
    loop = compiled.compile_rows(lambda x: x * 2, [kind], None)
    assert loop.result == kind
    assert loop._loop.targetoptions["nogil"]
    assert compiled.compile_rows(lambda x: eval("x"), [kind], None) is None
    assert compiled.compile_rows(lambda x: x + 1j, [kind], None) is None

    @numba.njit
    def twice(x):
        return x * 2

    assert DataFrame(10).define("y", twice, ["rdfentry_"], per_row=True).sum("y").value == 90


@pytest.mark.parametrize("index", [0, -1, 5])
def test_indices_beyond_a_list(numba_or_not, index):
    frame = DataFrame.from_arrays({"v": ak.Array([[1], [], [2]])})
    node = frame.define("y", lambda v: v[index], per_row=True, returns="std::int64_t")
    with pytest.raises(IndexError, match="out of bounds") as caught:
        node.take("y").value  # noqa: B018
    assert "called with v, to define 'y'" in "".join(caught.value.__notes__)


def test_large_unsigned_integers(numba_or_not):
    """Numba makes an `int64` that wraps around, or a double, of a `uint64` and a number."""
    large = np.array([2**64 - 1, 2**63, 2**53 + 1, 7], np.uint64)
    frame = DataFrame.from_arrays({"n": large}, block_entries=2)
    assert frame.define("y", lambda n: n % 3, per_row=True).take("y").value.tolist() == [0, 2, 0, 1]
    assert frame.define("y", lambda n: n // 2, per_row=True).column_type("y") == "std::int64_t"
    kept = frame.define("y", lambda n: n if n > 1 else 0, per_row=True, returns="std::uint64_t")
    assert kept.take("y").value.tolist() == large.tolist()
    one = DataFrame.from_arrays({"v": ak.unflatten(large, 2)}).define("y", lambda v: v // 2, per_row=True)
    assert one.take("y").value.to_list() == [[2**63 - 1, 2**62], [2**52, 3]]


@pytest.mark.parametrize("per_row", [False, True])
def test_signed_integers_as_unsigned_ones(numba_or_not, per_row):
    frame = DataFrame.from_arrays({"n": np.array([0, 255]), "m": np.array([-1, 2])})
    node = frame.define("y", lambda n: n, per_row=per_row, returns="std::uint8_t")
    assert column(node).dtype == np.uint8
    assert column(node).tolist() == [0, 255]
    with pytest.raises(colonnade.TypeMismatchError, match="'<lambda>': -1 is not a std::uint8_t"):
        column(frame.define("y", lambda m: m, per_row=per_row, returns="std::uint8_t"))


def test_results_do_not_depend_on_the_number_of_threads(numba_or_not, small_parts):
    def everything(threads):
        frame = DataFrame.from_arrays(ARRAYS, threads=threads)
        node = frame.define("y", lambda pt, d: ak.sum(pt, axis=1) * d).define(
            "z", lambda y, n: y * n if n > 0 else y, per_row=True
        )
        total = node.aggregate(lambda state, z: state + float(np.sum(z)), lambda a, b: a + b, "z", 0.0)
        found = [node.take("z").value.tobytes(), node.sum("z").value, total.value]
        small_parts(frame, threads)
        return found

    assert everything(1) == everything(2) == everything(3) == everything(7)


def test_blocks_do_not_depend_on_what_else_is_booked(small_parts):
    def values(*, alone):
        frame = DataFrame.from_arrays(ARRAYS, threads=2, block_entries=7)
        ranged = frame.range(5, 60, 2).define("y", lambda n: n - np.mean(n))
        others = [] if alone else [frame.count(), frame.reduce(lambda s, t: s + t, "d")]
        return ranged.take("y").value.tobytes(), len(others)

    assert values(alone=True)[0] == values(alone=False)[0]


# ---- Errors


@pytest.mark.parametrize(
    ("function", "columns", "kind", "problem"),
    [
        (lambda n: n[:1], None, colonnade.UsageError, "returned 1 values for 2 entries"),
        (
            lambda n: 1.0,
            None,
            colonnade.TypeMismatchError,
            "returned one value of type float, not an array with one value per entry",
        ),
        (np.sum, ["n"], colonnade.TypeMismatchError, "per_row=True"),
        (lambda n: "text", None, colonnade.TypeMismatchError, "returned one value of type str"),
        (lambda n: {"a": n}, None, colonnade.TypeMismatchError, "returned one value of type dict"),
        (lambda n: n.astype(complex), None, colonnade.TypeMismatchError, "complex128"),
        (
            lambda pt: ak.max(ak.mask(pt, pt > 1), axis=1),
            None,
            colonnade.ConversionError,
            "2 values are missing",
        ),
        (
            lambda n: n.nothing,
            None,
            colonnade.TypeMismatchError,
            "failed on a trial .*AttributeError.*nothing",
        ),
        (lambda nn: nn, None, colonnade.NotFoundError, "nn"),
        (lambda n, d: n, ["n"], colonnade.UsageError, "does not take 1 columns"),
        (lambda *columns: columns[0], None, colonnade.UsageError, "are not named"),
        (max, None, colonnade.UsageError, r"columns=\[...\]"),
    ],
)
def test_what_is_refused_when_booked(frame, function, columns, kind, problem):
    with pytest.raises(kind, match=problem):
        frame.define("y", function, columns)
    assert frame.num_runs == 0


def test_types_that_are_none(frame):
    with pytest.raises(colonnade.TypeMismatchError, match=r"not a value type|not a known type of values"):
        frame.define("y", lambda n: n, returns="quaternion")
    with pytest.raises(colonnade.TypeMismatchError, match=r"not a value type|not a known type of values"):
        frame.define("y", lambda n: n, returns=object)


def test_wrong_sizes_in_a_pass(frame):
    node = frame.define("y", lambda n: n[n > 0], returns="int")
    with pytest.raises(colonnade.UsageError, match=r"returned \d+ values for \d+ entries"):
        node.sum("y").value  # noqa: B018
    assert frame.count().value == ENTRIES


def test_other_types_in_a_pass(frame):
    node = frame.define("y", lambda n: n * 0.5, returns="int")
    with pytest.raises(colonnade.TypeMismatchError, match=r"float64.*std::int32_t"):
        node.sum("y").value  # noqa: B018


@pytest.mark.parametrize("per_row", [False, True])
def test_conditions_that_are_numbers(frame, numba_or_not, per_row):
    booked = frame.filter(lambda n: n % 2, per_row=per_row).count()
    with pytest.raises(
        colonnade.TypeMismatchError,
        match=r"'int.*' are not of type 'bool'; try: a comparison, such as x != 0",
    ):
        booked.value  # noqa: B018


@pytest.mark.parametrize("options", [{}, {"per_row": True}])
@pytest.mark.parametrize("returns", ["int", "std::vector<int>"])
def test_integers_that_the_type_lacks(options, returns):
    column = [2**31 - 1, 2] if returns == "int" else [[2**31 - 1], [2]]
    frame = DataFrame.from_arrays({"n": ak.Array(column)})
    fits = frame.define("y", lambda n: n * 1, returns=returns, **options)
    assert ak.to_list(fits.take("y").value) == column
    node = frame.define("y", lambda n: n + 1, returns=returns, **options)
    with pytest.raises(colonnade.TypeMismatchError, match="2147483648 is not a std::int32_t"):
        node.take("y").value  # noqa: B018


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", [ZeroDivisionError, AttributeError])  # Python hides the latter in properties
def test_exceptions_pass_through_with_their_traceback(threads, kind):
    frame = DataFrame.from_arrays(ARRAYS, threads=threads)

    def fails_inside(n):
        raise kind(f"a block of {len(n)}")

    node = frame.define("y", fails_inside, returns="int")
    total, count = node.sum("y"), frame.count()
    with pytest.raises(kind, match="a block of") as caught:
        total.value  # noqa: B018
    assert "fails_inside" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert not count.is_ready

    def fails_on_entries(state, n):
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        frame.aggregate(fails_on_entries, lambda a, b: a, "n", 0).value  # noqa: B018
    # The graph is usable, and what failed is tried again when it is asked for.
    assert count.value == ENTRIES
    with pytest.raises(kind, match="a block of"):
        total.value  # noqa: B018
    assert frame.max("n").value == 4


def test_a_callable_cannot_use_a_dataframe_that_runs(frame):
    count = frame.count()
    node = frame.define("y", lambda n: n * 0 + count.value, returns="double")
    with pytest.raises(colonnade.UsageError, match="cannot use a DataFrame while it is run"):
        node.sum("y").value  # noqa: B018


# ---- Elsewhere


def test_callables_in_plans(frame, monkeypatch):
    node = DataFrame(10).define("y", lambda k: k * 2, ["rdfentry_"])
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    plain = DataFrame(10).define("y", lambda k: k * 2, ["rdfentry_"])
    booked = [plain.sum("y"), node.sum("y")]
    with pytest.raises(colonnade.UnsupportedError):
        plain.plan()
    monkeypatch.undo()
    assert '"payload"' in node.plan()
    assert [each.value for each in booked] == [90, 90]
    spec = callables._Spec(lambda n: n + 1, False, None, ())
    again = callables.load_callable(callables._payload(spec), ["n"])
    number = frame._graph.define(0, "again", again)
    assert column(DataFrame._over(frame._session, number), "again").sum() == ARRAYS["n"].sum() + ENTRIES


def test_samples(tmp_path):
    for name in ("a", "b"):
        with colonnade.create(tmp_path / f"{name}.root", "Events") as writer:
            writer.extend({"x": np.arange(5)})
    calls = []

    def weight(sample):
        calls.append(sample)
        return 2.0 if sample.endswith("b.root/Events") else 1.0

    frame = DataFrame("Events", tmp_path / "*.root").define_per_sample("w", weight)
    np.testing.assert_array_equal(frame.take("w").value, [1] * 5 + [2] * 5)
    assert calls[0].endswith("a.root/Events")  # a trial
    assert len(calls) == 3
    names = DataFrame("Events", tmp_path / "*.root").define_per_sample("s", lambda sample: sample[-13:-12])
    assert ak.to_list(names.take("s").value) == ["a"] * 5 + ["b"] * 5
    again = frame.redefine_per_sample("w", lambda sample: 7, returns="int")
    assert again.take("w").value.tolist() == [7] * 10
    with pytest.raises(colonnade.TypeMismatchError, match="failed on a trial: KeyError"):
        frame.define_per_sample("v", lambda sample: {}["no"])


def test_a_dataframe_that_its_callable_knows_is_collected():
    def make():
        frame = DataFrame(10)
        frame = frame.define("y", lambda k: k + (0 if frame is not None else 1), ["rdfentry_"])
        result = frame.aggregate(
            lambda state, y: state + y.sum() + (0 if result is not None else 1), lambda a, b: a + b, "y", 0
        )
        assert result.value == 45
        return weakref.ref(frame._session)

    session = make()
    gc.collect()
    assert session() is None


# ---- Memory that others write to


MANY = 60_000
MANY_COUNTS = RANDOM.integers(0, 4, MANY)
LARGE = {
    "x": RANDOM.normal(size=MANY),
    "v": ak.unflatten(RANDOM.normal(size=MANY_COUNTS.sum()), MANY_COUNTS),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("returns", [None, "double"])
def test_a_buffer_that_is_filled_for_each_block(threads, returns):
    buffer = np.empty(MANY)
    frame = DataFrame.from_arrays(LARGE, threads=threads)
    twice = frame.define("y", lambda x: np.multiply(x, 2, out=buffer[: len(x)]), returns=returns)
    both = twice.define("z", lambda x: np.multiply(x, 3, out=buffer[: len(x)]), returns=returns)
    taken = both.to_numpy(["y", "z"])
    np.testing.assert_array_equal(taken["y"], LARGE["x"] * 2)
    np.testing.assert_array_equal(taken["z"], LARGE["x"] * 3)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_buffer_behind_lists_that_is_filled_for_each_block(threads):
    buffer = np.empty(len(ak.flatten(LARGE["v"])))

    def twice(v):
        items = np.multiply(np.asarray(ak.flatten(v)), 2, out=buffer[: ak.sum(ak.num(v))])
        return ak.unflatten(items, ak.num(v))

    frame = DataFrame.from_arrays(LARGE, threads=threads).define("y", twice, ["v"])
    assert ak.array_equal(column(frame), LARGE["v"] * 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_buffer_that_is_filled_for_each_entry(threads, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    numbers, items = np.empty(10), []

    def of_array(v):
        numbers[: len(v)] = v * 2
        return numbers[: len(v)]

    def of_list(v):
        items[:] = (v * 2).tolist()
        return items

    frame = DataFrame.from_arrays({"v": LARGE["v"][:5000]}, threads=threads)
    for function in (of_array, of_list):
        made = frame.define("y", function, ["v"], per_row=True, returns="std::vector<double>")
        assert ak.array_equal(column(made), LARGE["v"][:5000] * 2)


def test_memory_is_shared_only_where_nobody_else_has_it():
    held = np.arange(5.0)

    def given(make):
        answer = make()
        return is_shared(answer)

    # Where references cannot be counted, all is taken as shared.
    assert given(lambda: held * 2) != COUNTS_ALL
    assert given(lambda: (held * 2)[1:]) != COUNTS_ALL
    assert given(lambda: ak.unflatten(held * 2, [2, 3])) != COUNTS_ALL
    assert given(lambda: [1, 2]) != COUNTS_ALL
    assert given(lambda: (held * 2, held * 3)) != COUNTS_ALL
    assert given(lambda: held)
    assert given(lambda: held[1:])
    assert given(lambda: ak.unflatten(held, [2, 3]))
    assert given(lambda: (held * 2, held))
    assert given(lambda: np.frombuffer(bytearray(8)))

    seen = []

    def part(x):
        seen.append((is_shared(x), is_shared(x[1:])))
        return x[::2].repeat(2)[: len(x)]

    column(DataFrame.from_arrays({"x": held}).define("y", part, ["x"], returns="double"))
    assert seen == [(False, False)]


def test_offsets_are_those_of_when_they_were_given():
    offsets = np.array([0, 2, 3], dtype=np.int64)
    content = ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(np.arange(3.0)))
    frame = DataFrame.from_arrays({"v": ak.Array(content)})
    offsets[:] = [0, 1_000_000, 2_000_000]
    assert column(frame, "v").to_list() == [[0.0, 1.0], [2.0]]


# ---- Reductions


@pytest.mark.parametrize("threads", [1, 2])
def test_reductions_of_lists_without_items(threads):
    frame = DataFrame.from_arrays(LARGE, threads=threads)
    few = frame.filter("rdfentry_ == 777 || v.size() == 0")
    expected = ak.max(LARGE["v"][777]) if len(LARGE["v"][777]) else None
    assert few.reduce(np.maximum, "v").value == expected
    none = frame.filter("v.size() == 0")
    assert none.reduce(np.maximum, "v").value is None
    assert none.reduce(np.maximum, "v", start=-1.0).value == -1.0
    assert frame.reduce(np.maximum, "v").value == ak.max(LARGE["v"])


def test_numbers_beside_texts_are_no_texts():
    df = DataFrame.from_arrays({"x": np.arange(4)}, block_entries=2)
    for first, other in ((1.5, "a"), (True, "a"), ("a", 1.5)):
        with pytest.raises(colonnade.TypeMismatchError, match="are not of type 'std::string'"):
            _ = df.define("y", lambda x: other if x else first, per_row=True, returns=str).take("y").value  # noqa: B023


@pytest.mark.parametrize(
    ("function", "index"),
    [
        (lambda x: np.ma.masked_array([x], [x > 5])[0], 6),
        (lambda x: np.ma.masked_array([x], [x < 5])[0], 0),
        (lambda x: np.ma.masked_array(x, x > 5), 6),
        (lambda x: np.ma.masked_array([x, 1], [x > 5, False]), 12),
        (lambda x: np.array([x, 1]) if x < 5 else np.ma.masked_array([x, 1], [x > 5, False]), 12),
    ],
)
def test_masked_values_of_entries_are_missing(numba_or_not, function, index):
    frame = DataFrame.from_arrays({"x": np.arange(10.0)})
    is_list = index == 12
    node = frame.define("y", function, per_row=True, returns="std::vector<double>" if is_list else "double")
    with pytest.raises(colonnade.ConversionError, match=f"are missing, the first at index {index}"):
        _ = node.take("y").value


def test_masked_arrays_without_missing_values_are_arrays():
    frame = DataFrame.from_arrays({"x": np.arange(3.0)})
    node = frame.define("y", lambda x: np.ma.masked_array([x, 1], [False, x > 5]), per_row=True)
    assert node.take("y").value.to_list() == [[0, 1], [1, 1], [2, 1]]


@pytest.mark.parametrize("returns", ["double", None])
@pytest.mark.parametrize("per_row", [False, True])
def test_a_callable_cannot_use_a_frame(per_row, returns):
    """Also on its trial, when it would wait for the definition that it belongs to."""
    df = DataFrame.from_arrays({"x": np.arange(10.0)})
    uses = (
        lambda x: x / df.max("x").value,
        lambda x: x * df.has_column("x"),
        lambda x: x * df.nothing,
        lambda x: x * DataFrame.from_arrays({"x": np.arange(3.0)}).max("x").value,
    )
    for use in uses:
        with pytest.raises(colonnade.UsageError, match="a callable of a DataFrame cannot use a DataFrame"):
            _ = df.define("y", use, ["x"], per_row=per_row, returns=returns).sum("y").value


def circular():
    value = []
    value.append(value)
    return value


UNUSABLE = {
    "object": object(),
    "Decimal": decimal.Decimal("1.5"),
    "datetime": datetime.datetime(2026, 1, 1),
    "timedelta": np.timedelta64(1, "s"),
    "complex": 1j,
    "longdouble": np.longdouble("1.1"),
    "set": {1, 2},
    "iterator": iter([1, 2]),
    "generator": (k for k in range(2)),
    "large": 2**64,
    "missing": None,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "masked": np.ma.masked,
    "table": pd.DataFrame({"a": [1]}),
    "keys": {1: 2},
    "surrogate": "\ud800",
    "name": {"\ud800": 1},
    "objects": np.array([object()]),
    "bytes": np.void(b"ab"),
    "circular": circular(),
}
"""Awkward and NumPy gave their own errors for them, lost the items of iterators, or recursed without end."""

FOREIGN = re.compile(r"C\+\+|incompatible|awkward|inhomogeneous|pickle|recursion|len\(\)|dtype")
PLACES = {
    "entry": (True, lambda value: lambda n: value),
    "item": (True, lambda value: lambda n: [1, value]),
    "deep item": (True, lambda value: lambda n: [[value]]),
    "member": (True, lambda value: lambda n: {"a": value}),
    "second entry": (True, lambda value: lambda n: value if n > 1 else 1),
    "block": (False, lambda value: lambda n: [value] * len(n)),
    "item of a block": (False, lambda value: lambda n: [[value]] * len(n)),
    "member in a block": (False, lambda value: lambda n: [{"a": value}] * len(n)),
    "second of a block": (False, lambda value: lambda n: [1, value, 1, 1][: len(n)]),
    "whole block": (False, lambda value: lambda n: value),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", UNUSABLE)
def test_values_that_no_column_has(monkeypatch, kind, place):
    monkeypatch.setitem(sys.modules, "numba", None)
    frame = DataFrame.from_arrays({"n": np.arange(4)})
    per_row, make = PLACES[place]
    for returns in (None, "std::int64_t"):
        with pytest.raises(colonnade.Error, match=r"^define '.*': the callable '<lambda>'") as caught:
            _ = frame.define("y", make(UNUSABLE[kind]), per_row=per_row, returns=returns).take("y").value
        message = str(caught.value)
        assert not re.search(
            r"C\+\+|incompatible|awkward|inhomogeneous|pickle|recursion|len\(\)|dtype", message
        ), message


@pytest.mark.parametrize("per_row", [False, True])
def test_large_integers_in_lists(per_row):
    frame = DataFrame.from_arrays({"n": np.arange(3)})
    for large in (2**63, np.uint64(2**63), 2**64 - 1):
        one = [[1, large], [2]]
        function = (lambda n: one) if per_row else (lambda n: [one] * len(n))  # noqa: B023
        assert frame.define("y", function, per_row=per_row).take("y").value.to_list() == [one] * 3
    negative = [[-1, 2**63]]
    function = (lambda n: negative) if per_row else (lambda n: [negative] * len(n))
    with pytest.raises(colonnade.ConversionError, match="fit into no type of 64 bits"):
        frame.define("y", function, per_row=per_row)


@pytest.mark.parametrize(
    ("function", "returns"),
    [
        (lambda n: np.uint64(2**63) if n else -1, "double"),
        (lambda n: np.array([2**63], dtype=np.uint64) if n else np.array([-1]), "std::vector<double>"),
    ],
)
def test_integers_of_entries_are_not_rounded(monkeypatch, function, returns):
    """NumPy makes doubles of signed and unsigned integers."""
    monkeypatch.setitem(sys.modules, "numba", None)
    frame = DataFrame.from_arrays({"n": np.array([0, 1, 1])})
    with pytest.raises(colonnade.ConversionError, match="fit into no type of 64 bits"):
        _ = frame.define("y", function, per_row=True, returns=returns).take("y").value


@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64 - 1])
@pytest.mark.parametrize("per_row", [False, True])
def test_integers_are_not_rounded_to_the_type_of_a_trial(per_row, large):
    """The trial gives empty lists, which are lists of `double`."""
    frame = DataFrame.from_arrays({"n": np.array([1, 5])})

    def one(n):
        return [large, 2**60, 3] if n > 1 else []

    function = one if per_row else lambda n: [one(each) for each in n]
    node = frame.define("y", function, ["n"], per_row=per_row)
    assert node.column_type("y") == "std::vector<double>"
    with pytest.raises(colonnade.TypeMismatchError, match=rf"{large} is not a double; try: returns="):
        column(node)
    kind = "std::uint64_t" if large >= 2**63 else "std::int64_t"
    named = frame.define("y", function, ["n"], per_row=per_row, returns=f"std::vector<{kind}>")
    assert column(named).to_list() == [[], [large, 2**60, 3]]
    rounded = frame.define("y", function, ["n"], per_row=per_row, returns="std::vector<double>")
    assert column(rounded).to_list() == [[], [float(large), 2.0**60, 3.0]]


@pytest.mark.parametrize(
    ("values", "halves", "function", "per_row"),
    [
        ([7, 2**53 + 1], [3, 2**52], lambda n: (n.astype(np.int64), n // 2), False),
        ([7, 2**53 + 1], [3, 2**52], lambda n: (np.int64(n), np.uint64(n // 2)), True),
        ([[7], [2**53 + 1]], [[3], [2**52]], lambda n: (ak.values_astype(n, np.int64), n // 2), False),
    ],
)
def test_signed_and_unsigned_variations(values, halves, function, per_row):
    """Awkward makes doubles of both together."""
    array = ak.values_astype(ak.Array(values), np.uint64)
    frame = DataFrame.from_arrays({"n": array}).vary("n", function, ["a", "b"], "s", per_row=per_row)
    found = {name: ak.to_list(each) for name, each in frame.variations_for(frame.take("n")).items()}
    assert found == {"nominal": values, "s:a": values, "s:b": halves}


def test_empty_arrays_have_any_type(numba_or_not):
    """NumPy's are arrays of doubles: these were refused as integers, in a block without any item."""
    frame = DataFrame.from_arrays({"n": np.arange(4)}, block_entries=2)
    for function, per_row in (
        (lambda n: np.array([k for k in range(max(int(n) - 1, 0))]), True),  # noqa: C416
        (lambda n: np.array([]), True),
        (lambda n: np.empty((len(n), 0)), False),
    ):
        node = frame.define("y", function, per_row=per_row, returns="std::vector<std::int64_t>")
        assert node.take("y").value.to_list() in ([[]] * 4, [[], [], [0], [0, 1]])


def test_records_of_numpy_in_lists():
    frame = DataFrame.from_arrays({"n": np.arange(2)})
    pair = np.array([(2**53 + 1, 2.5)], dtype=[("a", "i8"), ("b", "f8")])
    rows = [{"a": 2**53 + 1, "b": 2.5}]
    assert frame.define("y", lambda n: pair[0], per_row=True).take("y").value.to_list() == rows * 2
    assert frame.define("y", lambda n: [pair, pair]).take("y").value.to_list() == [rows] * 2


def test_equal_callables_are_compiled_once(frame, monkeypatch):
    made = []
    monkeypatch.setattr(compiled, "_KNOWN", type(compiled._KNOWN)())
    loop = compiled.Loop
    monkeypatch.setattr(compiled, "Loop", lambda *given: made.append(given) or loop(*given))

    def times(factor):
        return lambda n: n * factor + math.floor(0.5)

    for _ in range(3):
        assert frame.define("y", times(2), per_row=True).sum("y").value == 2 * ARRAYS["n"].sum()
    assert len(made) == 1
    for factor in (3, 2.0, True, 0.0, -0.0):  # each is other code for Numba
        assert frame.define("y", times(factor), per_row=True).sum("y").value == factor * ARRAYS["n"].sum()
    assert len(made) == 6
    table = [2]
    for _ in range(2):  # what a list holds may change
        frame.define("y", lambda n: n * table[0], per_row=True).sum("y").value  # noqa: B018
    assert len(compiled._KNOWN) == 6


def test_callables_that_differ_in_what_they_catch_are_not_equal():
    """Their code is the same but for the table of exceptions."""
    whole, rest = {}, {}
    exec("def f(x):\n try: y = 1 / x; z = 1.0\n except Exception: return -1.0\n return y + z", whole)
    exec("def f(x):\n y = 1 / x\n try: z = 1.0\n except Exception: return -1.0\n return y + z", rest)
    frame = DataFrame.from_arrays({"x": np.array([2.0, 0.0])})
    assert frame.define("y", whole["f"], per_row=True).take("y").value.tolist() == [1.5, -1.0]
    with pytest.raises(ZeroDivisionError):
        frame.define("y", rest["f"], per_row=True).take("y").value  # noqa: B018


def test_large_integers_around_callables():
    large = 10**5000  # more digits than Python writes
    frame = DataFrame.from_arrays({"x": np.array([2.0])})
    assert frame.define("y", lambda x: x if large > 3 else 0.0, per_row=True).take("y").value.tolist() == [
        2.0
    ]
