"""Random histories of writing over HTTP and S3, with faults that know requests: answers are lost after they were done.

A call that returns has done what it says; one that fails has done all of it or nothing. Nothing is left that the next
`gc` does not remove.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fault_proxy import FAULTS, FaultProxy
from http_server import HttpServer
from s3_server import BUCKET, S3Server

import colonnade
from colonnade import DataFrame

SCHEMA = {"id": "std::int64_t", "list": "std::vector<std::int32_t>"}
STEPS = 8

State = tuple[list[int], list[list[int]], list[int]] | None
"""The two columns, and the ends of the rows of an attribute set; None: no data set."""


def made(numbers: random.Random) -> Any:
    first, count = numbers.randrange(1 << 40), numbers.choice([0, 1, 30, 900])
    return list(range(first, first + count)), [[k % 7] * (k % 3) for k in range(count)], []


class History:
    """Data sets at servers behind a proxy, and what they must be."""

    def __init__(self, seed: int, proxy: FaultProxy, places: list[tuple[str, str]]) -> None:
        self._random, self._proxy, self._places = random.Random(seed), proxy, places
        self.states: dict[tuple[str, str], State] = dict.fromkeys(places)

    def step(self) -> None:
        work = self._random.choice(
            [
                self._create,
                self._create,
                self._create,
                self._copy,
                self._merge,
                self._snapshot,
                self._add_rows,
                self._remove,
            ]
        )
        chosen = work()
        if chosen is None:
            return
        place, run, after = chosen
        before = self.states[place]
        self._proxy.faults = FAULTS if self._random.random() < 0.5 else tuple(self._random.sample(FAULTS, 2))
        self._proxy.rate = self._random.choice([0, 0.1, 0.3])
        told = len(self._proxy.told)
        begin, failure = time.monotonic(), None
        try:
            run()
        except colonnade.Error as error:
            failure = error
        self._proxy.rate = 0
        self._proxy.settle()
        assert time.monotonic() - begin < 90
        what = f"{work.__name__} {place}: {failure!r}, {self._proxy.told[told:]}"
        assert failure is None or len(self._proxy.told) > told, what
        found = self.found(place)
        assert found in ([after] if failure is None else [before, after]), what
        self.states[place] = found

    def found(self, place: tuple[str, str]) -> State:
        try:
            with colonnade.open(*place) as data:
                arrays = data.arrays()
                ends = [last for _, last, _ in data.attributes["rows"]] if "rows" in data.attributes else []
                return arrays["id"].to_list(), arrays["list"].to_list(), ends
        except colonnade.NotFoundError:
            return None

    def _any(self, where: Callable[[str], bool] = lambda _: True) -> Any:
        """A data set that is there, and its state."""
        there = [
            (place, state) for place, state in self.states.items() if state is not None and where(place[0])
        ]
        return self._random.choice(there) if there else (None, None)

    def _create(self) -> Any:
        place, (ids, lists, _) = self._random.choice(self._places), made(self._random)
        mapping = self._random.choice(["locality", "object_per_page"])

        def run() -> None:
            with colonnade.create(*place, SCHEMA, object_mapping=mapping) as writer:
                writer.extend({"id": np.array(ids, dtype=np.int64), "list": lists})

        return place, run, (ids, lists, [])

    def _copy(self) -> Any:
        (source, state), place = self._any(), self._random.choice(self._places)
        if source is None or source == place:
            return None
        options: Any = self._random.choice([{}, {"compression": "lz4"}, {"verify": "values"}])
        return (
            place,
            lambda: colonnade.copy(source, place[0], destination_name=place[1], overwrite=True, **options),
            state,
        )

    def _merge(self) -> Any:
        (one, first), (two, second) = self._any(), self._any()
        place = self._random.choice(self._places)
        if (
            one is None
            or one[0] == two[0]
            or place[0] in (one[0], two[0])
            or len({one[1], two[1], place[1]}) > 1
        ):
            return None
        count = len(first[0])
        merged = first[0] + second[0], first[1] + second[1], first[2] + [count + end for end in second[2]]
        inputs = [one[0], two[0]]
        return place, lambda: colonnade.merge(place[0], inputs, data_sets=place[1], overwrite=True), merged

    def _snapshot(self) -> Any:
        (source, state), place = self._any(), self._random.choice(self._places)
        if source is None:
            return None
        kept = [k for k, number in enumerate(state[0]) if number % 3]
        frame = DataFrame(source[1], source[0], progress=False).filter("id % 3 != 0")
        after = [state[0][k] for k in kept], [state[1][k] for k in kept], []
        return place, lambda: frame.snapshot(*place, ["id", "list"]), after

    def _add_rows(self) -> Any:
        place, state = self._any(lambda uri: "." not in uri)
        if place is None:
            return None
        end = len(state[0])

        def run() -> None:
            with colonnade.add_attributes(*place) as data:
                data.attributes("rows", {"k": "int"}).add({"k": 1}, first=0, last=end)

        return place, run, (state[0], state[1], [*state[2], end])

    def _remove(self) -> Any:
        place, _ = self._any(lambda uri: "." not in uri)
        return place and (place, lambda: colonnade.remove_data_set(*place), None)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP", "S3"):
        monkeypatch.setenv(f"COLONNADE_{name}_TIMEOUT", "6")


@pytest.fixture
def s3_behind_proxy(s3: S3Server, impatient: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(s3.port, 1) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint_at(proxy.port))
        yield proxy


@pytest.mark.parametrize("seed", range(6))
def test_in_s3(
    s3_behind_proxy: FaultProxy, s3: S3Server, s3_uri: Callable[[str], str], s3_prefix: str, seed: int
) -> None:
    store = s3_uri("store")
    names = [
        (store, "Events"),
        (store, "dir/Others"),
        (s3_uri("f.root"), "Events"),
        (s3_uri("g.root"), "Events"),
    ]
    history = History(seed, s3_behind_proxy, names)
    for _ in range(STEPS):
        history.step()
    try:
        report = colonnade.collect_garbage(store)
    except colonnade.FileMissingError:
        assert history.states[names[0]] is history.states[names[1]] is None
        return
    assert (report.kept, report.problems) == ((), ())
    assert colonnade.collect_garbage(store).removed == ()
    for place, state in history.states.items():
        assert history.found(place) == state
        if state is not None and place[0] == store:
            colonnade.remove_data_set(*place)
    # All that is left are the records of names: prefix/group/number/distribution key/attribute key.
    left = s3.requests().keys(BUCKET, f"{s3_prefix}/store/")
    assert {int(key.split("/")[-4], 16) for key in left} == {0}


@pytest.mark.parametrize("seed", range(6))
def test_over_http(http: HttpServer, impatient: None, s3_prefix: str, seed: int) -> None:
    (http.data / s3_prefix).mkdir()
    with FaultProxy(http.port, seed) as proxy:
        url = f"{http.url_at(proxy.port)}/{'nomove' if seed % 3 == 0 else 'files'}/{s3_prefix}"
        history = History(seed, proxy, [(f"{url}/{name}.root", "Events") for name in "fgh"])
        for _ in range(2 * STEPS):
            history.step()
        for place, state in history.states.items():
            assert history.found(place) == state


def test_python_goes_on_while_attribute_sets_are_added(
    s3_behind_proxy: FaultProxy, s3_uri: Callable[[str], str]
) -> None:
    """The proxy is a thread of this process: it answers nothing while a call keeps the interpreter."""
    with colonnade.create(s3_uri("store"), "Events") as writer:
        writer.extend({"x": [1, 2, 3]})
    with colonnade.add_attributes(s3_uri("store"), "Events") as data:
        data.attributes("rows").add({"k": 1}, first=0, last=3)
    assert colonnade.open(s3_uri("store"), "Events").attributes["rows"]["k"].to_list() == [1]
