"""What all tests share: real servers (tests/servers), for the tests that ask for them."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

sys.path.insert(0, str(Path(__file__).resolve().parent / "tests" / "servers"))

pytest_plugins = ["server_fixtures"]

SOAK = os.environ.get("COLONNADE_RANDOM_SEED")
"""Random cases are the same in each run, but for `make soak`: this is added to the seeds of tests."""

# The profile that has the same cases each time, and no limits of time, which a busy machine breaks.
settings.register_profile("soak", settings.get_profile("ci"), derandomize=False)
settings.load_profile("soak" if SOAK else "ci")


def has_seed(item: pytest.Function) -> bool:
    return "seed" in getattr(getattr(item, "callspec", None), "params", {})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: no collection of garbage needs to look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Mark tests of random cases; files with much text, which take long, come first: none is waited for at the end."""
    for item in items:
        if has_seed(item) or is_hypothesis_test(item.obj):
            item.add_marker("random")
    rank = {path: -path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: rank[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    if SOAK and has_seed(pyfuncitem):
        pyfuncitem.funcargs["seed"] += int(SOAK)
    # Worker processes outlive a test: they are started again where the environment has changed, as by its name.
    os.environ["PYTEST_CURRENT_TEST"] = "a test"


@pytest.fixture(scope="module", autouse=True)
def own_declarations() -> Iterator[None]:
    """What tests of a module declare for all RDataFrames of the process ends with the module.

    Those of later modules would be given it, too, which costs more than many of their tests.
    """
    from colonnade.frame.root import declared

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_functions", "_overloads", "_texts", "_folders", "_sessions"):
            patch.setattr(declared, name, getattr(declared, name).copy())
        yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In continuous integration, failures are told at once: a run that is stopped prints no summary."""
    if os.environ.get("CI") and report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(
            f"\n{report.nodeid} ({report.when}, {report.duration:.0f} s)\n{report.longreprtext}\n", flush=True
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In continuous integration, a test that could not run is no success; the summary names it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
