"""Random jobs in random homes whose end fails: what was committed stays, and what is reported as done is there.

A case is a home with or without a data set, a job, a fault that begins somewhere in it, and what the user does about
the error. Another data set of the same home never changes. `make soak` tries other seeds.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import os
import random
import resource
import sys
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from fault_proxy import FaultProxy
from xrootd_proxy import XrootdProxy

import colonnade
from colonnade import DataFrame
from colonnade.distributed.engines import InThisProcess

ROUNDS = int(os.environ.get("COLONNADE_ENDINGS", "0"))
"""More cases than the usual few."""
PIECE = 40

Columns = dict[str, list[Any]]
"""The values of each field; None instead: there is no data set."""


def piece(base: int, first: int, last: int) -> dict[str, Any]:
    numbers = np.arange(base + first, base + last)
    return {"id": numbers, "list": [[float(k)] * (k % 3) for k in numbers]}


def columns(base: int, count: int) -> Columns:
    return {name: list(np.asarray(v) if name == "id" else v) for name, v in piece(base, 0, count).items()}


def joined(*several: Columns) -> Columns:
    return {name: list(itertools.chain(*(each[name] for each in several))) for name in several[0]}


# ---- Homes


class Home(ABC):
    """Where a data set is, and how that fails."""

    appears_at_close = False
    kinds: tuple[str, ...] = ()
    """Of errors that a fault may cause, beside "io"."""
    takes_more = True
    """Whether a data set can be continued, and others added."""
    file: Path | None = None
    """A ROOT file where its server has it."""

    def __init__(self, uri: str, **options: Any) -> None:
        self.uri, self.options = uri, options

    @abstractmethod
    def fault(self, chosen: random.Random) -> contextlib.AbstractContextManager[None]:
        """Something fails within its block."""

    def copy_of_file(self, folder: Path) -> Path | None:
        """The file as others see it; None: there is none, or it is no ROOT file."""
        return self.file if self.file is not None and self.file.is_file() else None


class LocalHome(Home):
    """Files may have no more than so many bytes, as on a disk that is full, or only so many may be open."""

    kinds = ("resource",)

    @contextlib.contextmanager
    def fault(self, chosen: random.Random) -> Iterator[None]:
        which, path = resource.RLIMIT_FSIZE, Path(self.uri.removeprefix("obj://"))
        begin = path.stat().st_size if path.is_file() else 0
        limit = chosen.choice([0, begin + chosen.randrange(6000)])
        if chosen.random() < 0.3:
            which = resource.RLIMIT_NOFILE
            limit = max(map(int, os.listdir("/proc/self/fd"))) + chosen.randrange(12)
        soft, most = resource.getrlimit(which)
        resource.setrlimit(which, (limit, most))
        try:
            yield
        finally:
            resource.setrlimit(which, (soft, most))

    def copy_of_file(self, folder: Path) -> Path | None:
        path = Path(self.uri)
        return path if self.uri.endswith(".root") and path.is_file() else None


class Broken(FaultProxy):
    """From some request on, all of some number of requests fail."""

    def __init__(self, port: int) -> None:
        super().__init__(port, 0)
        self.after = self.many = 0
        self.how = ""

    def _next_fault(self, method: str, path: str) -> tuple[str, random.Random]:
        with self._lock:
            if method == "GET" and self.how.endswith(("403", "507")) and "?" not in path:
                return "", random.Random(0)  # writing is refused, reading is not
            fault = ""
            if self.how and self.after <= 0 and self.many > 0:
                fault, self.many = self.how, self.many - 1
                self.told.append((fault, method, path))
            self.after -= 1
            return fault, random.Random(0)


WEB_FAULTS = ("403", "507", "500", "503", "closed")


class WebHome(Home):
    """Behind a proxy."""

    appears_at_close = True
    kinds = ("not_found", "resource")  # 404, 507
    takes_more = False

    def __init__(self, uri: str, proxy: Broken, file: Path | None, **options: Any) -> None:
        super().__init__(uri, **options)
        self.proxy, self.file = proxy, file
        if file is None:
            self.appears_at_close, self.takes_more = False, True

    @contextlib.contextmanager
    def fault(self, chosen: random.Random) -> Iterator[None]:
        self.proxy.after = chosen.choice([0, 1, 2, 3, 5, 8, 13])
        self.proxy.many = chosen.choice([1, 3, 10**6, 10**6])
        self.proxy.how = f"{chosen.choice(['not asked', 'done'])}: {chosen.choice(WEB_FAULTS)}"
        # Only here: a busy machine takes a server away for seconds, too.
        with pytest.MonkeyPatch.context() as patch:
            for name in ("HTTP", "S3"):
                patch.setenv(f"COLONNADE_{name}_TIMEOUT", "1")
            try:
                yield
            finally:
                self.proxy.how = ""


class XrootdHome(Home):
    """Behind a proxy that refuses requests which write. New files get their names with the first commit."""

    kinds = ("usage",)  # the server says that the name is taken

    def __init__(self, uri: str, proxy: XrootdProxy, file: Path) -> None:
        super().__init__(uri)
        self.proxy, self.file = proxy, file

    @contextlib.contextmanager
    def fault(self, chosen: random.Random) -> Iterator[None]:
        first, many = chosen.choice([0, 1, 2, 3, 5, 8, 13]), chosen.choice([1, 3, 10**6, 10**6])
        names = chosen.choice([("write",), ("mv",), ("write", "mv")])
        begun = itertools.count()

        def refuses(name: str, _arguments: bytes) -> bool:
            return name in names and first <= next(begun) < first + many

        self.proxy.refuses = refuses
        try:
            yield
        finally:
            self.proxy.refuses = lambda _name, _arguments: False


def home_of(request: pytest.FixtureRequest, kind: str) -> Any:
    """Makes a home in a folder of its own."""
    if kind in ("root", "bare", "folder"):

        def local(folder: Path) -> Home:
            name = {"root": "f.root", "bare": "f.bare", "folder": "store"}[kind]
            options = {"container": "bare"} if kind == "bare" else {}
            return LocalHome(f"{'obj://' if kind == 'folder' else ''}{folder / name}", **options)

        return local
    if kind == "xrootd":
        return xrootd_home(request)
    monkeypatch = request.getfixturevalue("monkeypatch")
    server: Any = request.getfixturevalue("http" if kind == "http" else "s3")
    proxy = Broken(server.port)
    proxy.__enter__()
    request.addfinalizer(lambda: proxy.__exit__(None, None, None))
    if kind == "http":

        def web(folder: Path) -> Home:
            below = server.data / folder.name
            below.mkdir()
            way = random.Random(folder.name).choice(["files", "nomove"])
            url = f"{server.url_at(proxy.port)}/{way}/{folder.name}/f.root"
            return WebHome(url, proxy, below / "f.root")

        return web
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint_at(proxy.port))

    def s3(folder: Path) -> Home:
        uri = f"s3://{BUCKET}/{folder.name}/{'f.root' if kind == 's3-file' else 'store'}"
        file = server.data / BUCKET / folder.name / "f.root" if kind == "s3-file" else None
        return WebHome(uri, proxy, file)

    from s3_server import BUCKET

    return s3


def xrootd_home(request: pytest.FixtureRequest) -> Any:
    server: Any = request.getfixturevalue("xrootd")
    prefix: str = request.getfixturevalue("s3_prefix")
    proxy = XrootdProxy(server.port)
    proxy.__enter__()
    request.addfinalizer(lambda: proxy.__exit__(None, None, None))

    def make(folder: Path) -> Home:
        name = f"{prefix}/{folder.name}/f.root"
        return XrootdHome(f"{server.uri_at(proxy.port)}{name}", proxy, server.data / name)

    return make


# ---- Cases


def without_frames(error: BaseException) -> BaseException:
    """Without what the calls that failed still hold, such as the file that was opened."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = None
        each = each.__cause__ or each.__context__
    return error


class Case:
    def __init__(self, home: Home, folder: Path, seed: object) -> None:
        self.home, self.folder, self.random = home, folder, random.Random(f"{seed}")
        self.base = 1000
        self.before: Columns | None = None
        self.others: dict[str, Columns] = {}
        self.acknowledged = 0
        """Entries that a commit has reported."""
        self.given: Columns = columns(0, 0)
        """All that the job was given so far, in its order."""
        self.late: int | None = None
        """The entry before which a field was added."""
        self.begun = 0
        self.replaces_file = False
        """Whether the job makes a new file, without other data sets."""
        self.resumes = False
        """Whether the job can be continued by `resume=True`."""
        self.writer: Any = None
        self.makes_prefixes = False
        """Whether parts of what was given may be committed."""
        self.story: list[str] = []

    def tell(self, *what: object) -> None:
        self.story.append(" ".join(map(str, what)))

    def prepare(self) -> None:
        home = self.home
        if self.random.random() < 0.5:
            with colonnade.create(self.folder / "first.root", "Events") as writer:
                writer.extend(piece(0, 0, 70))
            # By a merge, so that more can be appended.
            colonnade.merge(home.uri, self.folder / "first.root", data_sets="Events", **home.options)
            self.before = columns(0, 70)
            self.tell("there was one")
            if home.takes_more and not home.uri.endswith(".bare") and self.random.random() < 0.5:
                with colonnade.create(home.uri, "Others", mode="update") as writer:
                    writer.extend(piece(500, 0, 30))
                self.others["Others"] = columns(500, 30)
        self.source = self.folder / "source.root"
        with colonnade.create(self.source, "Events") as writer:
            for k in range(4):
                writer.extend(piece(self.base, k * PIECE, (k + 1) * PIECE))
                writer.commit_cluster()
        self.whole = columns(self.base, 4 * PIECE)

    # -- Jobs: what runs, and what is there once it has returned

    def write(self) -> Any:
        is_there = self.before is not None
        how = self.random.choice(
            ["recreate", "resume", "resume"] if is_there and self.home.takes_more else ["recreate"]
        )
        options: dict[str, Any] = {"compression": self.random.choice(["none", "zstd:1"])}
        if self.random.random() < 0.4:
            options["checkpoint_every"] = self.random.randint(1, 2)
        if self.random.random() < 0.5:
            options["cluster_size"] = 600
        parallel = how == "recreate" and self.random.random() < 0.2
        is_prefix = not self.home.appears_at_close
        self.tell("write", how, options, "parallel" if parallel else "")
        begun = self.before if how == "resume" else columns(0, 0)
        self.begun = len(begun["id"])
        if how == "recreate" and self.others and not self.home.uri.startswith(("obj:", "s3:")):
            self.replaces_file = True
        pieces = self.random.randint(1, 5)
        late = self.random.randrange(1, pieces + 1) if not parallel and self.random.random() < 0.4 else pieces
        if late < pieces:
            self.tell("with a late field from piece", late)
        self.makes_prefixes = is_prefix
        self.late = self.begun + late * PIECE if late < pieces else None
        self.given = self.with_late(joined(begun, columns(self.base, pieces * PIECE)))

        def run() -> Any:
            self.given, self.acknowledged = begun, self.begun if how == "resume" else 0
            if how == "resume":
                writer = colonnade.resume(self.home.uri, "Events", **options)
            elif parallel:
                schema = {"id": "std::int64_t", "list": "std::vector<double>"}
                writer = colonnade.create_parallel(
                    self.home.uri, "Events", schema, **options, **self.home.options
                )
            else:
                writer = colonnade.create(self.home.uri, "Events", **options, **self.home.options)
            self.writer = writer
            with contextlib.ExitStack() as block:
                filler = block.enter_context(writer.context()) if parallel else writer
                for number in range(pieces):
                    first, last = number * PIECE, (number + 1) * PIECE
                    added = piece(self.base, first, last)
                    if number == late:
                        writer.extend_schema({"late": "std::int64_t"})
                    if number >= late:
                        added["late"] = added["id"]
                    self.given = joined(begun, columns(self.base, last))
                    if number >= late:
                        self.given = self.with_late(self.given)
                    if self.random.random() < 0.3:
                        for k in range(PIECE):
                            filler.fill(**{name: values[k] for name, values in added.items()})
                    else:
                        filler.extend(added)
                    chance = self.random.random()
                    if chance < 0.2:
                        filler.commit_cluster()
                    elif chance < 0.5 and not parallel:
                        writer.commit()
                        self.acknowledged = len(self.given["id"]) if is_prefix else 0
            writer.close()
            return self.given

        return run

    def with_late(self, given: Columns) -> Columns:
        """With the field that is zero for entries before it."""
        if self.late is None:
            return given
        return {**given, "late": [number if k >= self.late else 0 for k, number in enumerate(given["id"])]}

    def copy(self) -> Any:
        self.tell("copy")
        options: dict[str, Any] = self.random.choice(
            [{}, {"compression": "lz4"}, {"checkpoint_every": 1}, {"verify": "values"}]
        )
        self.given, self.makes_prefixes = self.whole, "checkpoint_every" in options
        self.resumes = self.makes_prefixes and self.home.takes_more

        def run(**more: Any) -> Any:
            more = more or {"overwrite": self.before is not None}
            colonnade.copy(
                (self.source, "Events"), (self.home.uri, "Events"), **options, **more, **self.home.options
            )
            return self.whole

        self.replaces_file = not self.is_store()
        return run

    def merge(self) -> Any:
        appends = self.before is not None and self.home.takes_more and self.random.random() < 0.5
        other = self.folder / "second.root"
        with colonnade.create(other, "Events") as writer:
            writer.extend(piece(9000, 0, 50))
        added = joined(self.whole, columns(9000, 50))
        result = joined(self.before, added) if appends else added
        options: dict[str, Any] = {"checkpoint_every": 1} if self.random.random() < 0.4 else {}
        self.tell("merge", "append" if appends else "", options)
        self.given, self.makes_prefixes = result, "checkpoint_every" in options or appends
        self.begun = len(self.before["id"]) if appends else 0
        self.resumes = bool(options) and self.home.takes_more and not appends
        mode = {"append": True} if appends else {"overwrite": self.before is not None}
        self.replaces_file = not appends and not self.is_store()

        def run(**more: Any) -> Any:
            kind = {} if appends else self.home.options
            colonnade.merge(
                self.home.uri, [self.source, other], data_sets="Events", **options, **(more or mode), **kind
            )
            return result

        return run

    def snapshot(self) -> Any:
        engine: Any = {}
        if self.random.random() < 0.5 and not self.home.uri.startswith("http"):
            engine = {"executor": InThisProcess(), "npartitions": 3}
        frame = DataFrame("Events", str(self.source), progress=False, **engine).filter("id % 3 != 0")
        kept = [k for k, number in enumerate(self.whole["id"]) if number % 3]
        result = {name: [values[k] for k in kept] for name, values in self.whole.items()}
        self.tell("snapshot", "of parts" if engine else "")
        self.given, self.replaces_file = result, not self.is_store()

        def run() -> Any:
            frame.snapshot(self.home.uri, "Events", ["id", "list"], **self.home.options)
            return result

        return run

    def import_(self) -> Any:
        kind = self.random.choice(["parquet", "csv", "tree"])
        table = self.folder / f"t.{kind}"
        numbers = np.arange(self.base, self.base + 160)
        if kind == "tree":
            return self.import_tree(table, numbers)
        with colonnade.create(self.folder / "flat.root", "Events") as writer:
            writer.extend({"id": numbers})
        colonnade.export((self.folder / "flat.root", "Events"), table)
        result = {"id": list(numbers)}
        self.tell("import", kind)
        self.given, self.replaces_file = result, not self.is_store()

        def run() -> Any:
            colonnade.import_table(
                table, (self.home.uri, "Events"), overwrite=self.before is not None, **self.home.options
            )
            return result

        return run

    def import_tree(self, path: Path, numbers: Any) -> Any:
        with uproot.recreate(path) as file:
            file.mktree("Tree", {"id": numbers[:100]})
            file["Tree"].extend({"id": numbers[100:]})
        result = {"id": list(numbers)}
        self.tell("import of a tree")
        self.given, self.replaces_file = result, not self.is_store()

        def run() -> Any:
            colonnade.import_tree(
                (path, "Tree"),
                (self.home.uri, "Events"),
                overwrite=self.before is not None,
                **self.home.options,
            )
            return result

        return run

    def attributes(self) -> Any:
        if self.before is None or not self.home.takes_more:
            return self.copy()
        self.tell("attributes")
        self.given = self.before

        def run() -> Any:
            with colonnade.add_attributes(self.home.uri, "Events") as data:
                data.attributes("rows").add({"k": 1}, first=0, last=70)
            return self.before

        return run

    def update(self) -> Any:
        """Another data set is added."""
        if self.before is None or not self.home.takes_more or self.home.uri.endswith(".bare") or self.others:
            return self.write()
        self.tell("update")
        self.given = self.before

        def run() -> Any:
            with colonnade.create(self.home.uri, "Others", mode="update") as writer:
                writer.extend(piece(500, 0, 300))
            self.others["Others"] = columns(500, 300)
            return self.before

        return run

    def is_store(self) -> bool:
        return self.home.takes_more and not self.home.uri.endswith((".root", ".bare"))

    # -- What is there

    def found(self, name: str = "Events") -> Columns | None:
        try:
            with colonnade.open(self.home.uri, name) as data:
                arrays = data.arrays()
        except colonnade.NotFoundError:
            return None
        return {field: arrays[field].to_list() for field in arrays.fields}

    def seen_by_uproot(self) -> Any:
        path = self.home.copy_of_file(self.folder)
        if path is None:
            return None
        with uproot.open(io.BytesIO(path.read_bytes())) as file:
            if "Events" not in [key.split(";")[0] for key in file]:
                return None
            arrays = file["Events"].arrays()
            return {field: arrays[field].to_list() for field in arrays.fields}

    def check(self, why: object) -> Columns | None:
        """What is there is one of the states that may be."""
        found = self.found()
        allowed = [self.before, self.given]
        if self.makes_prefixes and found is not None:
            count = len(found["id"])
            prefix = {name: values[:count] for name, values in self.given.items()}
            allowed.append(prefix)
            if self.late is not None and count <= self.late:  # before the field was added
                allowed.append({name: prefix[name] for name in ("id", "list")})
        assert found in allowed, (self.story, why, found and len(found["id"]))
        if self.acknowledged:
            assert found is not None
            assert len(found["id"]) >= self.acknowledged, (self.story, why)
        if self.home.uri.endswith(".root"):
            seen = self.seen_by_uproot()
            assert seen == found, (self.story, why, "uproot")
        if found == self.before or not self.replaces_file:
            for name, values in self.others.items():
                assert self.found(name) == values, (self.story, why, name)
        return found

    def run(self) -> None:
        self.prepare()
        jobs = [self.write] * 5 + [
            self.copy,
            self.merge,
            self.snapshot,
            self.import_,
            self.attributes,
            self.update,
        ]
        job = self.random.choice(jobs)()
        failure: Any = None
        is_killed = self.random.random() < 0.15
        if is_killed:
            self.kill(job)
        else:
            with self.home.fault(self.random):
                try:
                    result = job()
                except colonnade.Error as error:
                    failure = without_frames(error)
        if failure is not None:
            # At a second look after a refusal, the server says that there is nothing.
            assert failure.kind in ("io", *self.home.kinds), (self.story, repr(failure))
        waits = self.writer is not None and self.writer._waits
        self.tell(repr(failure), "waits" if waits else "", "killed" if is_killed else "")
        if failure is None and not is_killed:
            assert self.found() == result, self.story
            self.check("done")
        else:
            found = self.check("failed")
            self.react(job, found, waits)
        self.clean()

    def kill(self, job: Callable[[], Any]) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                threading.Timer(self.random.random() * 0.05, lambda: os.kill(os.getpid(), 9)).start()
                job()
            except BaseException:
                pass
            finally:
                os.kill(os.getpid(), 9)
        os.waitpid(pid, 0)

    def react(self, job: Callable[..., Any], found: Columns | None, waits: bool) -> None:
        ways = ["retry", "give up"]
        if waits:
            ways += ["again"] * 3
        if self.resumes and found is not None and found != self.before:
            ways += ["resume"] * 2
        if isinstance(self.home, LocalHome) and not self.is_store() and found is not None:
            ways.append("repair")
        if self.home.takes_more and found is not None:
            ways.append("continue")
        way = self.random.choice(ways)
        self.tell("then", way)
        if way == "again":
            self.close_again()
            assert self.found() == self.given, self.story
            self.check(way)
            assert not list((self.folder / "kept").glob("*.kept")), self.story
            return
        if self.writer is not None:
            with contextlib.suppress(colonnade.Error):
                self.writer.abort()
            self.writer = None
        if way == "repair":
            report = colonnade.repair(self.home.uri, "Events")
            assert not report.dropped, (self.story, report)
            entries = len(found["id"])
            found = self.check_longer(entries)
        elif way == "resume":
            job(resume=True)
            assert self.found() == self.given, self.story
        elif way == "retry":
            self.retry(job, found)
        elif way == "continue":
            with colonnade.resume(self.home.uri, "Events") as writer:
                last = {name: [7] for name in found if name != "list"}
                writer.extend({**last, "list": [[]]})
            self.given = joined(found, {**last, "list": [[]]})
            assert self.found() == self.given, self.story
        else:
            self.check(way)

    def close_again(self) -> None:
        """Its timeout is that of the fault, which the server may need to answer at all."""
        for _ in range(20):
            try:
                self.writer.close()
            except colonnade.Error:
                assert self.writer._waits, self.story
            else:
                return
        self.writer.close()

    def check_longer(self, entries: int) -> Columns | None:
        self.makes_prefixes = True
        found = self.check("repaired")
        assert len(found["id"]) >= entries, self.story
        return found

    def retry(self, job: Callable[..., Any], found: Columns | None) -> None:
        """The whole job from what there was."""
        if found != self.before:
            self.check("retry")
            with colonnade.create(self.home.uri, "Events", mode="recreate", **self.home.options) as writer:
                writer.extend(piece(77, 0, 10))
            assert self.found() == columns(77, 10), self.story
            return
        try:
            result = job()
        except colonnade.UsageError as error:
            if "can still be recovered" in str(error) or "repair" in str(error):
                return
            raise
        assert self.found() == result, self.story
        self.check("retried")

    def clean(self) -> None:
        self.writer = None
        found = self.found()
        self.check_descriptors()
        with contextlib.suppress(colonnade.NotFoundError):
            if isinstance(self.home, LocalHome) or self.is_store():
                colonnade.collect_garbage(self.home.uri)
                again = colonnade.collect_garbage(self.home.uri)
                assert again.removed == (), self.story
                assert again.leftovers == 0, self.story
        assert self.found() == found, self.story
        if isinstance(self.home, LocalHome):
            left = [
                each.name
                for each in self.folder.iterdir()
                if each.name.startswith(".") or each.name.endswith(".kept")
            ]
            assert not left, (self.story, left)

    def check_descriptors(self) -> None:
        """None of a file that was written is left open."""
        gc.collect()
        opened = []
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # that of the list itself
                opened.append(os.readlink(f"/proc/self/fd/{number}"))
        # Data frames, which the job still has, keep what they read.
        left = [name for name in opened if name.startswith(f"{self.folder}/") and name != str(self.source)]
        assert not left, (self.story, left)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("kind", ["root", "bare", "folder", "http", "s3-file", "s3-store", "xrootd"])
def test_random_endings(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    make = home_of(request, kind)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the limit of file sizes would cut it off
    for number in range(ROUNDS or (4 if kind in ("root", "bare", "folder") else 2)):
        folder = tmp_path / f"{kind}-{seed}-{number}"
        folder.mkdir()
        (folder / "kept").mkdir()
        monkeypatch.setenv("TMPDIR", str(folder / "kept"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Case(make(folder), folder, f"{kind} {seed} {number}").run()
