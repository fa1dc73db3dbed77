"""The fixtures: one devnet for all tests with the same settings, in each worker of xdist; the rest is isolated by test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from entresol.testing.devnet_start import DEVNET_START, DevnetStart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from web3 import AsyncWeb3, Web3

    from entresol.inprocess.bridge import Bridge
    from entresol.inprocess.devnet import Devnet
    from entresol.inprocess.devnet_settings import SettingValue
    from entresol.inprocess.layer import DevnetAccount
    from entresol.testing.chain_time import ChainTime
    from entresol.testing.devnet_pool import DevnetPool

# Modules of a node are imported when a test needs one: other runs have no use for them.

SETTINGS: Final = pytest.StashKey[object]()
"""The definition of `devnet_settings` that counts for the last item that had fixtures."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop the devnet if another definition of `devnet_settings` is nearest to the item, as for another parameter.

    pytest keeps one value of a fixture of the session, whichever definitions its arguments have elsewhere.
    """
    # Functions have fixtures, doctests, and items of other plugins: whatever has a request.
    request = getattr(item, "_request", None)
    if request is None:
        return
    fixtures = item.session._fixturemanager  # noqa: SLF001 - the only place that knows what is nearest
    nearest = (fixtures.getfixturedefs("devnet_settings", item) or (None,))[-1]
    last = item.session.stash.setdefault(SETTINGS, nearest)
    if nearest is last:
        return
    item.session.stash[SETTINGS] = nearest
    for definition in fixtures.getfixturedefs("devnet", item) or ():
        if definition.func.__module__ == __name__:
            # The request only names what failed.
            definition.finish(request)


@pytest.fixture(scope="session")
def devnet_settings() -> Mapping[str, SettingValue]:
    """Return settings of the devnet, by their names in the configuration; the nearest definition counts."""
    return {}


@pytest.fixture(scope="session")
def devnet_pool(pytestconfig: pytest.Config) -> Iterator[DevnetPool]:
    """Return the devnets of the session, by their settings; `--entresol-offline` is for all of them."""
    from entresol.testing.devnet_pool import DevnetPool  # noqa: PLC0415

    is_offline = bool(pytestconfig.getoption("--entresol-offline", default=False))
    profiled = None
    if pytestconfig.pluginmanager.has_plugin("entresol-profiling"):
        from entresol.testing.profiling import PROFILED  # noqa: PLC0415

        profiled = pytestconfig.stash[PROFILED]
    pool = DevnetPool(is_offline=is_offline, profiled=profiled)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def devnet(
    devnet_pool: DevnetPool, devnet_settings: Mapping[str, SettingValue]
) -> Iterator[Devnet]:
    """Return the devnet; tests with the same `devnet_settings` share it, and each worker of xdist has its own.

    Batches are settled on request, by `bridge`, so that blocks of L1 do not come and go while a test runs.
    """
    with devnet_pool.started(devnet_settings) as net:
        yield net


@pytest.fixture
def devnet_of_test(request: pytest.FixtureRequest) -> Devnet:
    """Return the devnet with the settings of the test's marker `entresol`; the shared one without a marker."""
    marker = request.node.get_closest_marker("entresol")
    if marker is None:
        shared: Devnet = request.getfixturevalue("devnet")
        return shared
    pool: DevnetPool = request.getfixturevalue("devnet_pool")
    return pool.get({**request.getfixturevalue("devnet_settings"), **marker.kwargs})


@pytest.fixture
def isolated_devnet(devnet_of_test: Devnet, request: pytest.FixtureRequest) -> Iterator[Devnet]:
    """Return the devnet, and revert all of its chains after the test."""
    devnet = devnet_of_test
    request.node.stash[DEVNET_START] = DevnetStart.now(devnet)
    with devnet.isolated():
        yield devnet


@pytest.fixture
def l1(isolated_devnet: Devnet) -> Web3:
    """Return a web3.py client of the L1; the first account is its default."""
    return isolated_devnet.l1.new_w3()


@pytest.fixture
def l2(isolated_devnet: Devnet) -> Web3:
    """Return a web3.py client of the L2, the first one if there are several; the first account is its default."""
    return isolated_devnet.l2.new_w3()


@pytest.fixture
def l2s(isolated_devnet: Devnet, l2: Web3) -> tuple[Web3, ...]:
    """Return a web3.py client of each chain of layer 2, in the order of the setting `chains`; `l2` is the first."""
    return (l2, *(layer.new_w3() for layer in isolated_devnet.l2s[1:]))


@pytest.fixture
def async_l1(isolated_devnet: Devnet) -> AsyncWeb3[Any]:
    """Return an asynchronous web3.py client of the L1."""
    return isolated_devnet.l1.new_async_w3()


@pytest.fixture
def async_l2(isolated_devnet: Devnet) -> AsyncWeb3[Any]:
    """Return an asynchronous web3.py client of the L2, the first one if there are several."""
    return isolated_devnet.l2.new_async_w3()


@pytest.fixture
def async_l2s(isolated_devnet: Devnet, async_l2: AsyncWeb3[Any]) -> tuple[AsyncWeb3[Any], ...]:
    """Return an asynchronous web3.py client of each chain of layer 2; `async_l2` is the first."""
    return (async_l2, *(layer.new_async_w3() for layer in isolated_devnet.l2s[1:]))


@pytest.fixture
def accounts(devnet_of_test: Devnet) -> tuple[DevnetAccount, ...]:
    """Return accounts with ether on every chain, which the node signs for."""
    return devnet_of_test.accounts


@pytest.fixture
def bridge(isolated_devnet: Devnet, l1: Web3, l2: Web3) -> Bridge:
    """Return the bridge between the layers; that of the first L2 if there are several."""
    return isolated_devnet.bridge_of(l1, l2)


@pytest.fixture
def bridges(
    isolated_devnet: Devnet, l1: Web3, l2s: tuple[Web3, ...], bridge: Bridge
) -> tuple[Bridge, ...]:
    """Return the bridge of each chain in `l2s`; `bridge` is the first."""
    return (bridge, *(isolated_devnet.bridge_of(l1, layer) for layer in l2s[1:]))


@pytest.fixture
def chain_time(isolated_devnet: Devnet) -> ChainTime:
    """Return the clock of all chains."""
    from entresol.testing.chain_time import ChainTime  # noqa: PLC0415

    return ChainTime(isolated_devnet.layers, isolated_devnet.l2)
