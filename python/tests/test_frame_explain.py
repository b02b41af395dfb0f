"""`explain()`: what the parts of a pass took."""

from __future__ import annotations

import numpy as np
import pytest
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame


@pytest.fixture
def file(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as w:
        w.extend({"x": np.arange(1000.0), "n": np.arange(1000) % 4, "unread": np.zeros(1000)})
    return tmp_path / "f.root"


def cost(explanation, what, name="", text=None):
    (found,) = [
        each for each in explanation if (each.what, each.name) == (what, name) and text in (None, each.text)
    ]
    return found


def test_before_a_pass_it_says_what_to_do(file):
    explanation = DataFrame("Events", file).explain()
    assert len(explanation) == 0
    assert "no pass was made yet" in str(explanation)
    assert "no pass was made yet" in explanation._repr_html_()


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_counted_where_they_are_computed(file, threads, small_parts):
    df = DataFrame("Events", file, threads=threads)
    passed = df.filter("n == 3", name="three").define("slow", lambda x: x * 2).define("y", "sqrt(x)")
    total, kept, report = passed.sum("slow"), df.filter("n == 3").count(), passed.report()
    assert total.value == 2 * np.arange(3, 1000, 4).sum()
    assert kept.value == 250
    explanation = df.explain()
    small_parts(df, threads)
    assert cost(explanation, "read", "n").rows == 1000
    assert cost(explanation, "read", "x").bytes in (250 * 8, 1000 * 8)  # picked from the page, or all of it
    three = cost(explanation, "filter", "three")
    assert (three.kind, three.text, three.rows, three.rows_left) == ("node", "n == 3", 1000, 250)
    assert cost(explanation, "define", "slow", "callable(x)").rows == 250
    assert cost(explanation, "sum", "", "slow").kind == "result"
    assert cost(explanation, "report").kind == "result"
    assert report.value["three"].passed == 250
    assert not [each for each in explanation if each.name in ("y", "unread")]
    assert explanation.seconds == pytest.approx(sum(each.seconds for each in explanation))
    assert explanation.seconds > 0


def test_the_text_has_a_line_for_each_part(file):
    df = DataFrame("Events", file)
    result = df.filter("x > 499", name="late").mean("x")
    assert result.value == 749.5
    explanation = df.explain()
    text = str(explanation)
    assert text.startswith("1000 entries in ")
    assert len(text.splitlines()) == 2 + len(explanation)
    assert any(line.split()[:6] == ["filter", "late:", "x", ">", "499", "1000"] for line in text.splitlines())
    assert "<table>" in explanation._repr_html_()
    assert "x &gt; 499" in explanation._repr_html_()
    with pytest.raises(AttributeError):
        explanation[0].rows = 1


def test_a_dear_part_has_most_of_the_time(file):
    def slow(x):
        out = x.copy()
        for _ in range(3000):
            out = np.sqrt(out * out + 1)
        return out

    df = DataFrame("Events", file, threads=1)
    result = df.define("slow", slow).sum("slow")
    assert result.value > 0
    dear = max(df.explain(), key=lambda each: each.seconds)
    assert (dear.what, dear.name) == ("define", "slow")


def explained(df):
    """All that does not follow from how long things take."""
    passed = df.filter("n == 3", name="three").define("y", "sqrt(x)").define("z", "y * 2")
    results = passed.sum("z"), passed.sum("z"), df.filter("x > 100").count(), passed.take("n")
    assert results[0].value == results[1].value
    assert len(results[3].value) == 250
    rows = [
        (each.kind, each.what, each.name, each.text, each.rows, each.rows_left)
        for each in df.explain()
        if each.kind != "other"
    ]
    return sorted(rows, key=str)


@pytest.mark.parametrize("seed", range(5))
def test_workers_say_what_their_tasks_took(file, seed, small_parts, monkeypatch):
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "100")
    here = explained(DataFrame("Events", file, threads=1))
    df = DataFrame("Events", file, executor=Shuffled(seed), npartitions=seed + 2)
    assert explained(df) == here
    assert all(each.seconds >= 0 for each in df.explain())
    assert "5 workers" in str(df.explain())


def test_workers_of_an_engine_say_it(file):
    df = DataFrame("Events", file, executor=1)
    assert "no pass was made yet" in str(df.explain())
    kept = df.filter("n == 3", name="three").sum("x")
    assert kept.value == np.arange(3, 1000, 4).sum()
    assert cost(df.explain(), "filter", "three").rows_left == 250
    assert str(df.explain()).startswith("1000 entries in ")
    assert "on 1 worker," in str(df.explain())
