"""The processors of ROOT and those of `colonnade.root`, over the same random chains and joins."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import colonnade
from colonnade import root as facade

TYPES = {"run": "std::int32_t", "event": "std::uint64_t", "x": "double", "flag": "std::int16_t"}


def write(
    path: Path, name: str, keys: list[tuple[int, int]], fields: dict[str, str], scale: int
) -> list[str]:
    """Data sets whose values tell the entry."""
    with colonnade.create(path, name, fields) as writer:
        for first in range(0, len(keys), 5):
            some = keys[first : first + 5]
            columns: dict[str, Any] = {"run": [run for run, _ in some], "event": [event for _, event in some]}
            columns |= {
                field: [
                    (scale + first + i) / 2 if fields[field] == "double" else scale + i
                    for i in range(len(some))
                ]
                for field in fields
                if field not in columns
            }
            writer.extend(columns)
            writer.commit_cluster()
    return [name, str(path)]


def random_keys(dice: random.Random, count: int, *, unique: bool) -> list[tuple[int, int]]:
    """ROOT's join takes any of several entries with a key, so that those of a right side are different."""
    every = [(run, event) for run in range(-2, 3) for event in range(12)]
    return dice.sample(every, count) if unique else dice.choices(every, k=count)


def plan(dice: random.Random, folder: Path) -> tuple[list[Any], list[str]]:
    """What is combined, as nested lists, and the fields that are asked for."""
    files = 0

    def single(name: str, count: int, *, unique: bool, fields: tuple[str, ...] = ("x", "flag")) -> list[Any]:
        nonlocal files
        files += 1
        types = {field: TYPES[field] for field in ("run", "event", *fields)}
        keys = random_keys(dice, count, unique=unique)
        return ["single", write(folder / f"{files}.root", name, keys, types, 100 * files)]

    def chain(name: str, *, unique: bool) -> list[Any]:
        if unique or dice.random() < 0.3:
            return single(name, dice.randint(1, 30), unique=unique)
        return ["chain", [single(name, dice.randint(1, 12), unique=False) for _ in range(dice.randint(1, 3))]]

    kind = dice.choice(["single", "chain", "uneven chain", "join", "aligned", "chain of joins"])
    own, other = ["run", "event", "x", "flag"], ["More.x", "More.flag", "More.event"]
    if kind in ("single", "chain"):
        return chain("Events", unique=kind == "single"), own
    if kind == "uneven chain":
        parts = [single("Events", 5, unique=False), single("Events", 4, unique=False, fields=("x",))]
        return ["chain", parts], own
    if kind == "aligned":
        count = dice.randint(1, 30)
        both = [single("Events", count, unique=False), single("More", count, unique=False)]
        return ["join", *both, []], own + other
    on = dice.choice([["event", "run"], ["run", "event"]])
    if kind == "join":
        return ["join", chain("Events", unique=False), chain("More", unique=True), on], own + other
    parts = [
        ["join", single("Events", dice.randint(1, 9), unique=False), single("More", 20, unique=True), on]
        for _ in range(dice.randint(1, 3))
    ]
    return ["chain", parts], own + other


def made(namespace: Any, described: list[Any]) -> Any:
    """A processor as both libraries make it."""
    kind, *rest = described
    processor = namespace.Experimental.RNTupleProcessor
    if kind == "single":
        return processor.Create(namespace.Experimental.RNTupleOpenSpec(*rest[0]))
    if kind == "chain":
        return processor.CreateChain([made(namespace, each) for each in rest[0]])
    return processor.CreateJoin(made(namespace, rest[0]), made(namespace, rest[1]), rest[2])


def rows_of(namespace: Any, described: list[Any], fields: list[str]) -> list[Any]:
    """What is found, entry by entry."""
    processor = made(namespace, described)
    asked = [(field, processor.RequestField[TYPES[field.rpartition(".")[2]]](field)) for field in fields]
    rows = []
    for entry in processor:
        values = [each.__deref__() if each.HasValue() else None for _, each in asked]
        place = (processor.GetCurrentEntryNumber(), processor.GetNEntriesProcessed())
        rows.append([int(entry), *map(int, place), int(processor.GetCurrentProcessorNumber()), values])
    return rows


@pytest.mark.parametrize("seed", range(24))
def test_processors_find_what_roots_find(root, tmp_path: Path, seed: int) -> None:
    described, fields = plan(random.Random(seed), tmp_path)
    ours = rows_of(facade, described, fields)
    theirs = root.call("process_entries", described, fields, TYPES)
    assert len(ours) == len(theirs)
    for here, there in zip(ours, theirs, strict=True):
        assert here == there, (described, fields)


def test_structure_and_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = [write(tmp_path / f"{name}.root", name, [(0, 1), (0, 2)], TYPES, 0) for name in ("A", "B")]
    join = facade.Experimental.RNTupleProcessor.CreateJoin(*specs, ["event"], "both")
    join.PrintStructure()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    assert printed[1].split() == ["|", "A", "|", "|", "B", "|"]
    assert join.GetProcessorName() == "both"
    with pytest.raises(colonnade.NotFoundError, match="no field 'y'"):
        join.RequestField("y")
    x = join.RequestField["double"]("B.x")
    with pytest.raises(colonnade.UsageError, match="at no entry"):
        x.HasValue()
    with pytest.raises(colonnade.UnsupportedError, match="GetPtr"):
        x.BindRawPtr(object())
    assert [(entry, x.GetPtr()) for entry in join] == [(0, 0.0), (1, 0.5)]
    with pytest.raises(AttributeError, match="has no Nothing"):
        join.Nothing  # noqa: B018


def test_chains_of_joins_are_sides_of_joins(tmp_path: Path) -> None:
    keys = {
        name: [(0, i) for i in rows] for name, rows in {"A": range(4), "B": (1, 3), "C": range(2, 8)}.items()
    }
    a, b, c = (write(tmp_path / f"{name}.root", name, keys[name], TYPES, 10) for name in keys)
    processor = facade.Experimental.RNTupleProcessor
    chain = processor.CreateChain([processor.CreateJoin(a, b, ["event"]) for _ in range(2)])
    outer = processor.CreateJoin(chain, c, ["event"])
    inner, other = outer.RequestField("B.event"), outer.RequestField("C.event")
    rows = [(inner.HasValue() and inner(), other.HasValue() and other()) for _ in outer]
    assert rows == [(False, False), (1, False), (False, 2), (3, 3)] * 2
    reverse = processor.CreateJoin(c, chain, ["event"], "reverse")
    deep, own = reverse.RequestField("A.B.event"), reverse.RequestField("A.event")
    rows = [(own.HasValue() and own(), deep.HasValue() and deep()) for _ in reverse]
    assert rows == [(2, False), (3, 3), *[(False, False)] * 4]


def test_chains_with_friends(tmp_path: Path) -> None:
    """TChain, AddFriend and RDataFrame as scripts use them."""
    for k in range(2):
        write(tmp_path / f"e{k}.root", "Events", [(k, i) for i in range(5)], TYPES, 10 * k)
    write(tmp_path / "f.root", "Friend", [(7, i) for i in range(10)], TYPES, 1000)
    chain = facade.TChain("Events")
    assert chain.Add(f"{tmp_path}/e*.root") == 1
    friend = facade.TChain("Friend")
    friend.Add(str(tmp_path / "f.root"))
    chain.AddFriend(friend, "f")
    chain.AddFriend("again = Friend", str(tmp_path / "f.root"))
    df = facade.RDataFrame(chain)
    assert chain.GetEntries() == 10
    assert df.Filter("f.run == 7 && again.x == f.x").Count().GetValue() == 10
    assert list(df.Take["double"]("f.x").GetValue()) == [500 + i / 2 for i in range(10)]
    plain = facade.RDataFrame("Events", f"{tmp_path}/e*.root", friends={"g": f"{tmp_path}/f.root"})
    assert plain.Sum("g.x - x").GetValue() == df.Sum("f.x - x").GetValue()
    named = facade.TChain()
    named.Add(f"{tmp_path}/e0.root/Events")
    named.Add(f"{tmp_path}/f.root?#Friend")
    assert facade.RDataFrame(named).Count().GetValue() == 15
    with pytest.raises(AttributeError, match="has no Draw"):
        chain.Draw("x")
