"""Fixtures that web3.py's own tests need: clients, contracts, blocks, and an event loop for coroutines."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hexbytes import HexBytes
from web3 import AsyncWeb3, Web3
from web3._utils.module_testing.utils import RequestMocker

from tests.support.clients.web3_chain import (
    ALICE,
    CHAIN_ID,
    CONTRACTS,
    Prepared,
    Served,
    serving,
)
from tests.support.inprocess_node import inprocess_anvil, inprocess_node
from tests.support.polling import PATIENCE_SECONDS

# A test that is expected to fail may do so by waiting for what never comes.
IMPATIENCE_SECONDS = 3.0


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asyncio: a coroutine, run on the event loop of its module")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine where its fixtures live; pytest itself knows none."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    runner = pyfuncitem.funcargs["runner"]
    assert isinstance(runner, asyncio.Runner)
    expected_to_fail = pyfuncitem.get_closest_marker("xfail") is not None
    patience = IMPATIENCE_SECONDS if expected_to_fail else PATIENCE_SECONDS
    runner.run(asyncio.wait_for(pyfuncitem.obj(**arguments), patience))
    return True


@pytest.fixture(scope="module", autouse=True)
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def layer_two(runner: asyncio.Runner) -> Iterator[Served]:
    # The objects of a block must not change during a test.
    with (
        inprocess_node("--chain-id", str(CHAIN_ID), "--no-settle") as node,
        serving(node.url, runner) as served,
    ):
        yield served


@pytest.fixture(scope="module")
def layer_one(runner: asyncio.Runner) -> Iterator[Served]:
    with (
        inprocess_anvil("anvil", "--chain-id", str(CHAIN_ID)) as node,
        serving(node.url, runner) as served,
    ):
        yield served


@pytest.fixture
def w3(served: Served) -> Web3:
    return served.w3


@pytest.fixture
def async_w3(served: Served) -> AsyncWeb3[Any]:
    return served.async_w3


@pytest.fixture
def prepared(served: Served) -> Prepared:
    return served.prepared


@pytest.fixture
def request_mocker() -> type[RequestMocker]:
    return RequestMocker


@pytest.fixture(params=[HexBytes, str], ids=["bytes", "text"])
def written(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Addresses may be given in two notations, and tests that care run with both."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def keyfile_account_pkey() -> str:
    return HexBytes(ALICE.key).to_0x_hex()


@pytest.fixture
def keyfile_account_address() -> str:
    return ALICE.address


@pytest.fixture
def async_keyfile_account_address() -> str:
    return ALICE.address


@pytest.fixture
def keyfile_account_address_dual_type(written: Callable[[str], Any]) -> Any:
    return written(ALICE.address)


@pytest.fixture
def async_keyfile_account_address_dual_type(written: Callable[[str], Any]) -> Any:
    return written(ALICE.address)


@pytest.fixture
def skip_if_testrpc() -> Callable[[Web3], None]:
    return lambda _: None


@pytest.fixture
def async_skip_if_testrpc() -> Callable[[AsyncWeb3[Any]], None]:
    return lambda _: None


@pytest.fixture
def mined_txn_hash(prepared: Prepared) -> str:
    return prepared.mined


@pytest.fixture
def txn_hash_with_log(prepared: Prepared) -> str:
    return prepared.with_log


@pytest.fixture
def math_contract_deploy_txn_hash(prepared: Prepared) -> str:
    return prepared.deployment_of_math


@pytest.fixture
def empty_block(w3: Web3, prepared: Prepared) -> Any:
    return w3.eth.get_block(prepared.empty_block)


@pytest.fixture
def async_empty_block(empty_block: Any) -> Any:
    return empty_block


@pytest.fixture
def block_with_txn(w3: Web3, prepared: Prepared) -> Any:
    return w3.eth.get_block(prepared.block_with_transaction)


@pytest.fixture
def async_block_with_txn(block_with_txn: Any) -> Any:
    return block_with_txn


@pytest.fixture
def block_with_txn_with_log(w3: Web3, prepared: Prepared) -> Any:
    return w3.eth.get_block(prepared.block_with_log)


@pytest.fixture
def async_block_with_txn_with_log(block_with_txn_with_log: Any) -> Any:
    return block_with_txn_with_log


@pytest.fixture
def math_contract_address(prepared: Prepared) -> str:
    return prepared.addresses["math"]


@pytest.fixture
def async_math_contract_address(prepared: Prepared) -> str:
    return prepared.addresses["math"]


@pytest.fixture
def emitter_contract_address(prepared: Prepared) -> str:
    return prepared.addresses["emitter"]


@pytest.fixture
def async_emitter_contract_address(prepared: Prepared) -> str:
    return prepared.addresses["emitter"]


def _contract(name: str) -> Any:
    """Return the fixture of a contract as synchronous clients see it."""

    @pytest.fixture(name=f"{name}_contract")
    def contract(w3: Web3, prepared: Prepared) -> Any:
        address = Web3.to_checksum_address(prepared.addresses[name])
        return w3.eth.contract(address, abi=CONTRACTS[name]["abi"])

    return contract


def _async_contract(name: str) -> Any:
    """Return the fixture of a contract as asynchronous clients see it."""

    @pytest.fixture(name=f"async_{name}_contract")
    def contract(async_w3: AsyncWeb3[Any], prepared: Prepared) -> Any:
        address = Web3.to_checksum_address(prepared.addresses[name])
        return async_w3.eth.contract(address, abi=CONTRACTS[name]["abi"])

    return contract


math_contract = _contract("math")
emitter_contract = _contract("emitter")
offchain_lookup_contract = _contract("offchain_lookup")
panic_errors_contract = _contract("panic_errors")
revert_contract = _contract("revert")
storage_contract = _contract("storage")
async_math_contract = _async_contract("math")
async_emitter_contract = _async_contract("emitter")
async_offchain_lookup_contract = _async_contract("offchain_lookup")
async_panic_errors_contract = _async_contract("panic_errors")
async_revert_contract = _async_contract("revert")
async_storage_contract = _async_contract("storage")
