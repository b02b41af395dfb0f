"""Lambdas in expressions: Map, Filter and sorting by a comparison of one's own, against Python."""

from __future__ import annotations

import functools
import itertools

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame


def frame_of(rows, seed=0, **more):
    return DataFrame.from_arrays({"v": ak.Array(rows), **more}, threads=1 + seed % 3)


def by(less):
    """A key for sorted() of a comparison."""
    return functools.cmp_to_key(lambda a, b: -1 if less(a, b) else int(less(b, a)))


COMPARISONS = {
    "a > b": lambda a, b, k: a > b,
    "abs(a) < abs(b)": lambda a, b, k: abs(a) < abs(b),
    "abs(a - k) < abs(b - k)": lambda a, b, k: abs(a - k) < abs(b - k),
    "a % 3 < b % 3 || (a % 3 == b % 3 && a > b)": lambda a, b, k: (
        np.fmod(a, 3) < np.fmod(b, 3) or (np.fmod(a, 3) == np.fmod(b, 3) and a > b)
    ),
    "k > 0 ? a < b : b < a": lambda a, b, k: a < b if k > 0 else b < a,
    "false": lambda a, b, k: False,
}


@pytest.mark.parametrize("text", COMPARISONS)
@pytest.mark.parametrize("seed", range(4))
def test_lists_are_sorted_by_a_comparison(text, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, [3, 9, 40, 700][seed % 4], 60)
    rows = [rng.integers(-20, 20, length).tolist() for length in lengths]
    rows[0] = rows[0] or [1]
    k = rng.integers(-5, 5, len(rows))
    frame = frame_of(rows, seed, k=k.astype(np.int32)).define("n", "v.size()")
    frame = frame.filter("n != 2") if seed % 2 else frame
    lambda_ = f"[&](auto a, auto b) {{ return {text}; }}"
    expected = [
        sorted(row, key=by(lambda a, b, limit=limit: COMPARISONS[text](a, b, limit)))
        for row, limit in zip(rows, k.tolist(), strict=True)
        if not seed % 2 or len(row) != 2
    ]
    for name in ("Sort", "StableSort", "ROOT::VecOps::Sort"):
        assert frame.take(f"{name}(v, {lambda_})").value.to_list() == expected
    for name in ("Argsort", "StableArgsort"):
        order = frame.take(f"{name}(v, {lambda_})").value
        assert frame.take("v").value[order].to_list() == expected


def test_items_of_any_type_are_sorted():
    names = ["tau", "e", "mu", "photon", ""]
    frame = DataFrame.from_arrays({"s": ak.Array([names, [], names[1:]]), "k": [1.0, 2.0, 3.0]})
    by_length = "Sort(s, [](const std::string& a, const std::string& b) { return a.size() < b.size(); })"
    assert frame.take(by_length).value.to_list() == [sorted(names, key=len), [], sorted(names[1:], key=len)]
    pt = "auto o = ROOT::RVecD{1., 1., 1.}; return "
    frame = frame.define(
        "p", f"{pt}Construct<ROOT::Math::PtEtaPhiMVector>(ROOT::RVecD{{1., 3., 2.}}, k * o, o, o)"
    )
    sorted_ = frame.define("q", "Sort(p, [](auto& a, auto& b) { return a.Pt() > b.Pt(); })")
    assert sorted_.take("q.Pt()").value.to_list() == [pytest.approx([3, 2, 1])] * 3
    assert sorted_.take("q.Eta()").value.to_list() == [pytest.approx([k] * 3) for k in (1, 2, 3)]
    lists = frame_of([[[1, 2], [], [3]], [], [[4, 5, 6], [7]]])
    assert lists.take("Sort(v, [](auto& a, auto& b) { return a.size() < b.size(); })").value.to_list() == [
        [[], [3], [1, 2]],
        [],
        [[7], [4, 5, 6]],
    ]


@pytest.mark.parametrize("text", ["a <= b", "true", "a != b", "(a + b) % 3 == 0", "a < b || a > 5"])
def test_a_comparison_that_contradicts_itself_keeps_all_items(text):
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 10, length).tolist() for length in rng.integers(0, 60, 200)]
    found = frame_of(rows).take(f"Sort(v, [](auto a, auto b) {{ return {text}; }})").value.to_list()
    assert [sorted(row) for row in found] == [sorted(row) for row in rows]


def test_what_is_not_reached_within_a_lambda_is_not_computed():
    """Without a filter, and behind one: the entries of a block are numbered otherwise."""
    rows = [[0, 1, 2], [], [1], [5, 0]]
    text = "Map(v, [&](auto i) { return i < v.size() ? v[i] : -1; })"
    expected = [[row[i] if i < len(row) else -1 for i in row] for row in rows]
    frame = frame_of(rows)
    assert frame.take(text).value.to_list() == expected
    assert frame.filter("v.size() != 0").take(text).value.to_list() == [row for row in expected if row]
    order = "Sort(v, [&](auto i, auto j) { return i < v.size() && v[i] > 0 && j == 0; })"
    assert sorted(frame.take(order).value.to_list()[0]) == [0, 1, 2]
    wrong = frame.filter("rdfentry_ > 0").define("w", "Sort(v, [&](auto i, auto j) { return v[i] < v[j]; })")
    with pytest.raises(colonnade.Error, match="in entry 3, the index"):
        _ = wrong.take("w").value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Sort(v, [](auto a) { return a; })", "Sort has 1 list for a lambda of 1 parameter"),
        ("Sort(v, v, [](auto a, auto b) { return a < b; })", "Sort has 2 lists for a lambda of 2 parameters"),
        ("Filter(v, [](auto a, auto b) { return a < b; })", "Filter has 1 list for a lambda of 2 parameters"),
        ("Argsort(n, [](auto a, auto b) { return a < b; })", "goes through the items of lists, got"),
        ('Sort(v, [](auto a, auto b) { return "x"; })', "condition"),
        (
            "Max(v, [](auto a, auto b) { return a < b; })",
            "be the last argument of Map, Filter, Sort and Argsort",
        ),
    ],
)
def test_wrong_lambdas_are_told_when_booked(text, problem):
    with pytest.raises(colonnade.Error, match=problem):
        frame_of([[1]]).define("n", "v.size()").define("w", text)


def test_sorting_within_a_lambda():
    rows = [[[3, 1, 2], [5, 4]], [[]], [[1], [2, 3]]]
    text = "Map(v, [&](auto& w) { return Sum(Take(Sort(w, [&](auto a, auto b) { return a > b; }), 1, 0)); })"
    found = frame_of(rows).filter("v.size() > 0").take(text).value.to_list()
    assert found == [[max(inner, default=0) for inner in row] for row in rows]
    assert len(list(itertools.chain(*found))) == 5
