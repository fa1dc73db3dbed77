"""Fixtures and settings for all tests."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.support.anvil import Anvil, fresh_anvil
from tests.support.cluster.postgres import Postgres, running_postgres
from tests.support.run.environment import held_ports, own_cache, release_memory, temporary_files
from tests.support.run.examples import load_profile
from tests.support.run.tiers import EXPLORER, mark_tiers

# Each node that a test starts would otherwise compile the whole package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.support.run.fixtures"]

load_profile()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the files of this run together, and take the default ports while CI runs the tests.

    So one that binds them fails; elsewhere they are left to whoever works beside the tests.
    """
    if hasattr(config, "workerinput"):
        return
    held = contextlib.ExitStack()
    config.add_cleanup(held.close)
    folder = held.enter_context(temporary_files())
    held.enter_context(own_cache(folder / "cache"))
    if config.option.basetemp is None:
        config.option.basetemp = str(folder / "t")
    if os.environ.get("CI") == "true":
        held.enter_context(held_ports())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what only `make test-long` runs; where tests run beside each other, start slow files first, then large ones."""
    mark_tiers(items)
    if not hasattr(config, "workerinput"):
        return
    tests = Counter(item.path for item in items)
    slow = {item.path for item in items if any(item.iter_markers("slow"))}
    items.sort(key=lambda item: (item.path not in slow, -tests[item.path]))


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Give each worker one file after the other, as `--dist loadfile` does, and of the explorer's checks one `.mjs`."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.split("-", 1)[0] if nodeid.startswith(EXPLORER) else nodeid.split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Let the longest file run on several workers."""
    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Leave what was collected to itself: thousands of tests are not garbage.

    While the collector counts them it looks for garbage seldom, and what forms a circle, as an API with its chain does,
    stays for that long: processes grew by gigabytes.
    """
    gc.collect()
    gc.freeze()
    # From here on it counts only what is new.
    gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj) or pyfuncitem.get_closest_marker("asyncio"):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Describe a failure without collecting garbage meanwhile, which could end the whole run.

    What describes it parses sources. A finalizer that a collection runs within that may log a traceback, which parses,
    too, and Python before 3.11.8 fails then.
    """
    if call.excinfo is None or not gc.isenabled():
        return (yield)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Return memory after each file: syntax trees that it has cached, what one test has taken at once."""
    if isinstance(item, pytest.Function) and (nextitem is None or nextitem.path != item.path):
        release_memory(item.module)


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """Return an anvil with a fresh chain; mark the test `peer`."""
    with fresh_anvil() as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL, on which each test makes databases of its own."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """Let recursion end where Python ends it: a peer that tests import lifts the limit beyond what the stack can hold."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)
