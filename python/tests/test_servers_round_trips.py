"""How many round trips opening and reading take over each transport, counted by a proxy on the way."""

from __future__ import annotations

import contextlib
import math
import shutil

import awkward as ak
import numpy as np
import pyarrow.compute as pc
import pytest
import uproot
from remote_events import assert_equal, events, write
from round_trips import RoundTrips

import colonnade
from colonnade import DataFrame
from colonnade.importing import tree_columns

COUNT = 60_000
# Several cluster groups, so that there are several page lists.
GROUPS = {"cluster_size": "300 kB", "checkpoint_every": 1, "step": 10_000}


@contextlib.contextmanager
def over_http(request):
    http = request.getfixturevalue("http")
    with RoundTrips(http) as trips:
        yield trips, lambda name: (str(http.data / name), f"{http.url_at(trips.port)}/files/{name}")


@contextlib.contextmanager
def over_https(request):
    https = request.getfixturevalue("https")
    with RoundTrips(https) as trips:
        yield trips, lambda name: (str(https.data / name), f"{https.url_at(trips.port)}/files/{name}")


@contextlib.contextmanager
def over_xrootd(request):
    xrootd = request.getfixturevalue("xrootd")
    with RoundTrips(xrootd) as trips:
        yield trips, lambda name: (xrootd.uri + name, xrootd.uri_at(trips.port) + name)


@contextlib.contextmanager
def over_s3(request, ending=""):
    s3, s3_uri = request.getfixturevalue("s3"), request.getfixturevalue("s3_uri")
    monkeypatch = request.getfixturevalue("monkeypatch")
    with RoundTrips(s3) as trips:

        def uris(name):
            # Who asks second goes through the proxy.
            monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
            uri = s3_uri(name.removesuffix(".root") + ending)
            return uri, uri

        yield trips, uris


@contextlib.contextmanager
def over_s3_files(request):
    with over_s3(request, ".root") as both:
        yield both


PLACES = {
    "http": over_http,
    "https": over_https,
    "xrootd": over_xrootd,
    "s3 files": over_s3_files,
    "s3 stores": over_s3,
}


@pytest.fixture(params=PLACES)
def place(request):
    """A function that writes events under a name and gives the URI that goes through the proxy; and the counter."""
    with PLACES[request.param](request) as (trips, uris):

        def make(name, data, **options):
            there, through = uris(name)
            write(there, data, **options)
            if request.param.startswith("s3"):
                s3 = request.getfixturevalue("s3")
                request.getfixturevalue("monkeypatch").setenv("AWS_ENDPOINT_URL", s3.endpoint_at(trips.port))
            return through

        yield make, trips


def test_opening_takes_three_at_most(place):
    make, trips = place
    first = make("trips-first.root", events(COUNT, seed=1), **GROUPS)
    second = make("trips-second.root", events(COUNT, seed=2), **GROUPS)
    colonnade.open(first, "Events").close()  # connections are made and logins done
    before = trips.count
    with colonnade.open(second, "Events") as data_set:
        opened = trips.count
        assert opened - before <= 3
        assert_equal(data_set.arrays(), events(COUNT, seed=2))
    # All columns of all clusters fit what is asked for side by side; lists come with their ends.
    assert trips.count - opened <= 2


def test_the_next_step_is_on_its_way_while_one_is_worked_on(place):
    make, trips = place
    data = events(COUNT)
    uri = make("trips-steps.root", data, cluster_size="100 kB")
    with colonnade.open(uri, "Events") as data_set:
        before = trips.count
        steps = list(data_set.iterate(step_size=5_000))
    assert len(steps) == 12
    # A round trip for the first; with the others there is at least one that was on its way before.
    assert trips.count - before <= 8


def test_steps_are_ahead_within_little_memory(place):
    """Pages at the border of two steps come once, are decoded once, and do not keep others from coming."""
    make, trips = place
    data = {f"x{k}": events(COUNT, seed=k).weight for k in range(8)}
    uri = make("trips-memory.root", ak.Array(data), cluster_size="8 MB", page_size=32768, compression="none")
    with colonnade.open(uri, "Events", memory_budget="1 MB") as data_set:
        before = trips.count
        steps = list(data_set.iterate(step_size=10_000))
        assert data_set.metrics.pages == 8 * math.ceil(COUNT / 4096)
        assert data_set.metrics.prefetched_unused == 0
    assert ak.array_equal(ak.concatenate([each.x3 for each in steps]), data["x3"])
    assert trips.count - before <= 12


# Rows of every step, and of the last one alone.
@pytest.mark.parametrize(("column", "limit", "most"), [("weight", 0.5, 9), ("id", 59_900, 11)])
def test_scans_read_the_next_step_ahead(place, monkeypatch, column, limit, most):
    make, trips = place
    monkeypatch.setattr("colonnade.reading.scanning._STEP", "100 kB")
    data = events(COUNT)
    uri = make("trips-scan.root", data, cluster_size="100 kB")
    with colonnade.open(uri, "Events") as data_set:
        steps = len(list(data_set._cluster_steps(data_set._select(["id", "weight"]), "100 kB", COUNT)))
        scanned = data_set.to_arrow_dataset(["id", "weight"])
        before = trips.count
        found = scanned.to_table(filter=pc.field(column) > limit)
    kept = data[data[column] > limit]
    assert found["id"].to_pylist() == kept.id.to_list()
    assert found["weight"].to_pylist() == kept.weight.to_list()
    # The first step comes at once, the others are asked for ahead; a rest that was not expected takes one more.
    assert steps == 16
    assert trips.count - before <= most


def test_a_few_entries_take_little(place):
    make, _ = place
    uri = make("trips-few.root", events(COUNT), compression="none", page_size=4096)
    with colonnade.open(uri, "Events") as data_set:
        opened = data_set.metrics.bytes
        few = data_set.arrays(["id", "weight"], entry_start=30_000, entry_stop=30_010)
        assert few.id.to_list() == list(range(30_000, 30_010))
        # One page of each column, or two where the entries lie across a border.
        assert data_set.metrics.bytes - opened - data_set.metrics.read_over_bytes <= 4 * (4096 + 8)


def test_a_frame_asks_for_its_columns_together(place):
    make, trips = place
    data = {f"x{k}": events(COUNT, seed=k).weight for k in range(12)}
    uri = make("trips-frame.root", ak.Array(data))
    frame = DataFrame("Events", uri, threads=1, progress=False)
    total = frame.define("all", " + ".join(data)).sum("all")
    before = trips.count
    assert total.value == pytest.approx(float(sum(ak.sum(column) for column in data.values())))
    assert trips.count - before <= 6


def test_files_of_a_chain_are_opened_together(http):
    with RoundTrips(http) as trips:
        write(http.data / "trips-chain.root", events(1_000))
        for index in range(30):
            (http.data / f"trips-chain-{index}.root").write_bytes(
                (http.data / "trips-chain.root").read_bytes()
            )
        uris = [f"{http.url_at(trips.port)}/files/trips-chain-{index}.root" for index in range(30)]
        before = trips.count
        with colonnade.open(uris, "Events") as chain:
            assert chain.num_entries == 30_000
        assert trips.count - before <= 6


@pytest.fixture
def chain(http):
    """Eight files of two columns, and the counter."""
    with RoundTrips(http) as trips:
        for index in range(8):
            # Pages that were not among the bytes of the opening.
            write(http.data / f"trips-part-{index}.root", events(COUNT, seed=index)[["id", "weight"]])
        yield [f"{http.url_at(trips.port)}/files/trips-part-{index}.root" for index in range(8)], trips


def test_the_next_file_of_a_chain_is_on_its_way(chain):
    uris, trips = chain
    with colonnade.open(uris, "Events") as data_set:
        before = trips.count
        steps = list(data_set.iterate(step_size=COUNT))
        assert [int(step.id[-1]) for step in steps] == [COUNT - 1] * 8
    assert trips.count - before <= 5  # one after the other they would take eight


def test_a_frame_reads_the_next_file_ahead(chain):
    uris, trips = chain
    frame = DataFrame("Events", uris, threads=1, progress=False)
    total = frame.define("twice", "2 * weight").sum("twice")
    before = trips.count
    assert total.value > 0
    assert frame.sum("id").value == 8 * COUNT * (COUNT - 1) // 2
    assert trips.count - before <= 12  # 32: two passes of eight files with two columns


def write_columns(uri, columns, step):
    """One cluster per `step` entries."""
    with colonnade.create(uri, "Events", compression="none") as writer:
        for start in range(0, len(next(iter(columns.values()))), step):
            writer.extend({name: values[start : start + step] for name, values in columns.items()})
            writer.commit_cluster()


@pytest.fixture
def neighbours(http):
    """Two files of as many entries and other clusters, their columns, and the counter."""
    count = 1_000_000
    columns = {"x": np.arange(count) * 0.5, "y": np.arange(count)[::-1] * 3}
    write_columns(http.data / "trips-x.root", {"x": columns["x"]}, 25_000)
    write_columns(http.data / "trips-y.root", {"key": np.arange(count), "y": columns["y"]}, 40_000)
    with RoundTrips(http) as trips:
        yield [f"{http.url_at(trips.port)}/files/trips-{name}.root" for name in columns], columns, trips


def test_a_frame_asks_for_several_parts_ahead(neighbours):
    (uri, _), columns, trips = neighbours
    total = DataFrame("Events", uri, threads=1, progress=False).sum("x")
    before = trips.count
    assert total.value == columns["x"].sum()
    assert trips.count - before <= 8  # 40 clusters


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("step", "most"), [("300 kB", 12), (20_000, 20)])
def test_steps_of_a_frame_are_on_their_way_while_one_is_worked_on(
    neighbours, monkeypatch, threads, step, most
):
    (uri, _), columns, trips = neighbours
    monkeypatch.setattr("colonnade.frame.steps._TOGETHER", 1)  # each step in a pass of its own
    frame = DataFrame("Events", uri, threads=threads, progress=False).define("twice", "2 * x")
    before = trips.count
    steps = list(frame.iterate("twice", step_size=step, library="np"))
    assert len(steps) > 10
    assert np.array_equal(np.concatenate([each["twice"] for each in steps]), 2 * columns["x"])
    assert trips.count - before <= most


def test_steps_of_friends_and_files_are_on_their_way(neighbours, chain, monkeypatch):
    monkeypatch.setattr("colonnade.frame.steps._TOGETHER", 1)
    (first, other), columns, trips = neighbours
    frame = DataFrame("Events", first, friends={"f": ("Events", other)}, threads=1, progress=False)
    before = trips.count
    steps = list(frame.define("both", "x + f.y").iterate("both", step_size=50_000, library="np"))
    assert np.array_equal(np.concatenate([each["both"] for each in steps]), columns["x"] + columns["y"])
    assert trips.count - before <= 16

    uris, trips = chain
    frame = DataFrame("Events", uris, threads=1, progress=False)
    before = trips.count
    steps = list(frame.iterate("id", step_size=COUNT, library="np"))
    assert [int(step["id"][-1]) for step in steps] == [COUNT - 1] * 8
    assert trips.count - before <= 10


def test_a_frame_whose_steps_are_left_has_read_little_ahead(neighbours):
    """What comes ahead is within the memory budget, and ends with the iterator."""
    (uri, _), columns, trips = neighbours
    frame = DataFrame("Events", uri, threads=1, progress=False, memory_budget="1 MB")
    steps = frame.iterate("x", step_size=20_000, library="np")
    assert np.array_equal(next(steps)["x"], columns["x"][:20_000])
    steps.close()
    assert trips.bytes < 4e6  # of 8 MB
    assert frame.sum("x").value == columns["x"].sum()


def test_friends_are_read_ahead_like_one_data_set(neighbours):
    (first, other), columns, trips = neighbours
    frame = DataFrame("Events", first, friends={"f": ("Events", other)}, threads=1, progress=False)
    total = frame.define("both", "x + f.y").sum("both")
    before = trips.count
    assert total.value == (columns["x"] + columns["y"]).sum()
    assert trips.count - before <= 16  # 40 and 25 clusters


def test_friends_are_opened_once(neighbours):
    (first, other), columns, trips = neighbours
    colonnade.open(first).close()  # connections are made
    before = trips.count
    with colonnade.open(first, friends={"f": other}) as both:
        assert trips.count - before <= 2
        assert np.array_equal(both.arrays("f.y", library="np")["f.y"], columns["y"])


def test_arrays_with_friends_come_from_all_sides_together(neighbours):
    (first, other), columns, trips = neighbours
    with colonnade.open(first, friends={"f": other, "g": other}) as both:
        before = trips.count
        found = both.arrays(["x", "f.y", "g.key"], entry_start=300_000, entry_stop=310_000, library="np")
        assert trips.count - before <= 2  # three sides
    for name, of in {"x": "x", "f.y": "y"}.items():
        assert np.array_equal(found[name], columns[of][300_000:310_000])


def test_joined_columns_are_read_ahead(neighbours):
    (_, other), columns, trips = neighbours
    few = DataFrame.from_arrays({"key": np.arange(10)})
    joined = few.join("Events", other, on="key").sum("y")
    before = trips.count
    assert joined.value == columns["y"][:10].sum()
    assert trips.count - before <= 8


def test_arrays_of_joins_read_the_next_blocks_ahead(neighbours):
    (_, other), columns, trips = neighbours
    with colonnade.open(other) as here, colonnade.open([other]) as there:
        joined = here.join(there, on="key", prefix="there_")
        joined.arrays("there_y", entry_stop=1)  # the table of keys is made
        before, decoded = trips.count, there.metrics.pages
        found = joined.arrays("there_y", entry_start=400_000, library="np")["there_y"]
        assert trips.count - before <= 8  # 38 blocks
        assert there.metrics.pages - decoded <= 31  # of 16 clusters
    assert np.array_equal(found, columns["y"][400_000:])


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("library", ["np", "pa"])
def test_steps_of_joins_read_the_next_one_ahead(neighbours, tmp_path, how, library):
    (_, uri), columns, trips = neighbours
    few = np.arange(0, len(columns["y"]), 1 if how == "inner" else 1000)
    with colonnade.create(tmp_path / "few.root", "Few") as writer:
        writer.extend({"key": few, "twice": 2 * few})
    with colonnade.open(uri) as here, colonnade.open(tmp_path / "few.root") as other:
        joined = here.join(other, on="key", how=how)
        assert joined.num_entries == len(columns["y"])
        before = trips.count
        steps = list(joined.iterate(["y", "twice"], step_size=40_000, library=library))
        # Keys come with the fields: each step took a round trip more, and what had come ahead was thrown away.
        assert trips.count - before <= 20  # 25 steps
        assert here.metrics.prefetched_unused == 0
    assert sum(np.asarray(each["y"]).sum() for each in steps) == columns["y"].sum()


@pytest.mark.parametrize("over", [over_http, over_xrootd])
def test_trees_are_imported_a_step_ahead(request, over, xrootd, tmp_path, monkeypatch):
    """Neither a basket nor a column takes a round trip of its own."""
    monkeypatch.setattr(tree_columns, "_STEP_SIZE", 1 << 20)
    names = [f"x{number}" for number in range(8)]
    local = tmp_path / "tree.root"
    with uproot.recreate(local) as file:
        tree = file.mktree("Events", dict.fromkeys(names, "float64"))
        for step in range(20):
            tree.extend({name: np.full(4000, step + 0.5) for name in names})
    with over(request) as (trips, uris):
        there, through = uris("trips-tree.root")
        shutil.copy(local, xrootd.data / "trips-tree.root" if "://" in there else there)
        with contextlib.suppress(colonnade.NotFoundError):
            colonnade.datasets(through)  # connections are made and logins done
        before = trips.count
        frame = DataFrame("Events", through)
        sums = [frame.sum(name) for name in names]
        assert {each.value for each in sums} == {4000 * 20 * 10.0}
        # To look for a data set and for a tree; then five steps of 32 baskets each, of which one is ahead.
        assert trips.count - before <= 4 + 6
