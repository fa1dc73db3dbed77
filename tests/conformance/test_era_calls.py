"""What the tests of zksync-era check of calls and estimates, item by item, for every method that executes one.

The number of a test is that of its item in the list of behaviours, as in `test_era_checklist.py`. Where this node
decides otherwise, the test has the word `here` in its name and says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from web3 import Web3

from tests.support.clients.accounts import ALICE, BOB, NOBODY, send_next
from tests.support.clients.contracts import CONTRACTS
from tests.support.contracts.create2 import alias
from tests.support.evm.programs import demand_gas, program
from tests.support.rollup.pair import Pair, running_pair
from tests.support.rpc_client import RpcClient, RpcError

pytestmark = pytest.mark.clients

FUTURE = "0x989680"
OWNER_MARGIN = 100_000
NO_BLOCK = "Block with such an ID doesn't exist yet"
SENDER = ALICE.address.lower()
TARGET = "0x" + "7a" * 20
WORD = bytes(range(32))
ENDLESS = "0x5b5f56"
MATH = Web3().eth.contract(abi=CONTRACTS["math"]["abi"])
REVERTS = Web3().eth.contract(abi=CONTRACTS["reverts"]["abi"])

ESTIMATES_ON_L2 = ["eth_estimateGas", "zks_estimateFee"]
ESTIMATES = [*ESTIMATES_ON_L2, "zks_estimateGasL1ToL2"]
METAS: list[dict[str, Any]] = [
    {},
    {"type": "0x71"},
    {"type": "0x71", "eip712Meta": {"gasPerPubdata": "0x00"}},
]
"""The fields by which a call is one of type 0x71 or not."""

every_estimate = pytest.mark.parametrize("method", ESTIMATES)
every_method = pytest.mark.parametrize("method", ["eth_call", *ESTIMATES])


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with running_pair("--no-settle") as running:
        yield running


@pytest.fixture(scope="module")
def client(pair: Pair) -> RpcClient:
    return pair.l2


def deploy(client: RpcClient) -> str:
    """Deploy a counter, and return its address."""
    deployed = send_next(client, data=CONTRACTS["math"]["bytecode"])["contractAddress"]
    return Web3.to_checksum_address(deployed)


def estimate(client: RpcClient, method: str, call: dict[str, Any], *more: Any) -> int:
    result = client(method, call, *more)
    return int(result["gas_limit"] if isinstance(result, dict) else result, 16)


def overriding(method: str, **account: Any) -> tuple[Any, ...]:
    """Return the parameters that override the account at the target."""
    overrides = {TARGET: account}
    return ("latest", overrides) if method in {"eth_call", "eth_estimateGas"} else (overrides,)


def rejected(client: RpcClient, method: str, *params: Any) -> RpcError:
    with pytest.raises(RpcError) as raised:
        client(method, *params)
    return raised.value


# Calls.


def test_48_a_call_is_of_its_block(client: RpcClient) -> None:
    address = deploy(client)
    deployed = client("eth_blockNumber")
    call = {"to": address, "data": MATH.encode_abi("counter")}
    send_next(client, to=address, data=MATH.encode_abi("incrementCounter", [7]))
    assert int(client("eth_call", call), 16) == 7
    assert int(client("eth_call", call, "latest"), 16) == 7
    assert int(client("eth_call", call, deployed), 16) == 0
    error = rejected(client, "eth_call", call, FUTURE)
    assert (error.code, error.message) == (-32602, NO_BLOCK)


def test_53_a_call_may_assume_a_balance(client: RpcClient) -> None:
    its_balance = "0x475f5260205ff3"
    overrides = overriding("eth_call", code=its_balance, balance="0x2a")
    assert int(client("eth_call", {"to": TARGET}, *overrides), 16) == 42


@pytest.mark.parametrize("name", ["state", "stateDiff"])
def test_53_a_call_may_assume_code_and_storage(client: RpcClient, name: str) -> None:
    call = {"to": TARGET, "data": MATH.encode_abi("counter")}
    slots = {"0x" + "00" * 32: f"0x{42:064x}"}
    overrides = overriding("eth_call", code=CONTRACTS["math"]["runtime"], **{name: slots})
    assert int(client("eth_call", call, *overrides), 16) == 42


def test_53_a_whole_storage_hides_what_was_there(client: RpcClient) -> None:
    address = deploy(client)
    send_next(client, to=address, data=MATH.encode_abi("incrementCounter", [7]))
    call = {"to": address, "data": MATH.encode_abi("counter")}
    other = {f"0x{9:064x}": f"0x{1:064x}"}
    assert int(client("eth_call", call, "latest", {address: {"stateDiff": other}}), 16) == 7
    assert int(client("eth_call", call, "latest", {address: {"state": other}}), 16) == 0


def test_53_whole_storage_and_some_slots_exclude_each_other(client: RpcClient) -> None:
    overrides = overriding("eth_call", state={}, stateDiff={})
    assert rejected(client, "eth_call", {"to": TARGET}, *overrides).code == -32602


# Estimates.


@pytest.mark.parametrize("extra", METAS)
@pytest.mark.parametrize("method", ESTIMATES_ON_L2)
@pytest.mark.parametrize("threshold", [50_000, 100_000, 300_000, 1_000_000])
def test_51_an_estimate_is_enough_and_not_twice_as_much(
    client: RpcClient, method: str, threshold: int, extra: dict[str, Any]
) -> None:
    client("anvil_setCode", TARGET, "0x" + program([demand_gas(threshold)]) + "00")
    estimated = estimate(client, method, {"from": SENDER, "to": TARGET, **extra})
    # With eip712Meta there is room for the signatures of a multisig account, whose owner may ask.
    room = OWNER_MARGIN if "eip712Meta" in extra else 0
    assert threshold <= estimated < 2 * threshold + room
    sent = send_next(client, to=Web3.to_checksum_address(TARGET), gas=estimated)
    assert sent["status"] == "0x1"


@pytest.mark.parametrize("threshold", [300_000, 500_000, 1_000_000])
def test_51_an_estimate_from_l1_is_here_what_l1_accepts_as_well(
    client: RpcClient, threshold: int
) -> None:
    """zksync-era may return less than L1 accepts; here the least that L1 accepts is the least result."""
    method, call = "zks_estimateGasL1ToL2", {"from": SENDER, "to": TARGET}
    code = "0x" + program([demand_gas(threshold)]) + "00"
    estimated = estimate(client, method, call, *overriding(method, code=code))
    assert threshold <= estimated < 2 * threshold
    least = estimate(client, method, call, *overriding(method, code="0x"))
    assert least == 10_000 + 173_484 + 88 * 800


@pytest.mark.parametrize("extra", METAS)
@pytest.mark.parametrize("method", ESTIMATES_ON_L2)
def test_52_a_value_of_256_bits_is_more_than_any_account_has(
    client: RpcClient, method: str, extra: dict[str, Any]
) -> None:
    call = {"from": SENDER, "to": BOB.address, "value": hex(2**256 - 1), **extra}
    is_zk = "eip712Meta" in call or call.get("type") == "0x71"
    words = "gas + value. balance: " if is_zk else "gas * price + value: "
    assert rejected(client, method, call).message.startswith(f"insufficient funds for {words}")


def test_52_a_value_of_256_bits_is_more_than_l1_can_mint(client: RpcClient) -> None:
    call = {"from": SENDER, "to": TARGET, "value": hex(2**256 - 1)}
    error = rejected(client, "zks_estimateGasL1ToL2", call)
    assert error.code == 3
    assert error.message == "integer overflow computing base token amount to mint"


@every_estimate
@pytest.mark.parametrize("name", ["state", "stateDiff"])
def test_53_an_estimate_may_assume_a_balance_code_and_storage(
    client: RpcClient, method: str, name: str
) -> None:
    # Reverts unless slot 0 holds the balance of the contract.
    code = "0x5f5447 14 600a 57 5f5ffd 5b 00".replace(" ", "")
    slots = {"0x" + "00" * 32: f"0x{42:064x}"}
    overrides = overriding(method, code=code, balance="0x2a", **{name: slots})
    assert estimate(client, method, {"from": SENDER, "to": TARGET}, *overrides) > 21_000


def test_56_an_estimate_from_l1_is_something(client: RpcClient, pair: Pair) -> None:
    meta = {"gasPerPubdata": "0x0320"}
    router = alias(pair.asset_router.address)
    for call in (
        {"from": SENDER, "to": SENDER, "value": "0x1", "type": "0x71", "eip712Meta": meta},
        {"from": str(router), "to": NOBODY, "data": "0x01", "eip712Meta": meta},
    ):
        assert estimate(client, "zks_estimateGasL1ToL2", call) > 0


def test_57_a_transaction_is_filled_in(client: RpcClient) -> None:
    """Clients that ask for it take what they get; viem does so before each transaction."""
    filled = client("eth_fillTransaction", {"from": SENDER, "to": BOB.address})["tx"]
    assert (filled["type"], filled["gas"], filled["maxPriorityFeePerGas"]) == (
        "0x2",
        "0x5208",
        "0x0",
    )


def test_74_a_fee_is_spelled_with_underscores_and_in_hex(client: RpcClient) -> None:
    fee = client("zks_estimateFee", {"from": SENDER, "to": BOB.address, "value": "0x1"})
    assert set(fee) == {
        "gas_limit",
        "max_fee_per_gas",
        "max_priority_fee_per_gas",
        "gas_per_pubdata_limit",
    }
    assert all(re.fullmatch("0x(0|[1-9a-f][0-9a-f]*)", value) for value in fee.values())


# Calls and estimates that fail.


@pytest.mark.parametrize("method", ["eth_call", *ESTIMATES_ON_L2])
def test_31_a_missing_target_is_rejected_with_the_type(client: RpcClient, method: str) -> None:
    error = rejected(client, method, {"from": SENDER, "data": "0x00", "type": "0x71"})
    assert (error.code, error.data) == (3, None)
    assert error.message == "Failed to serialize transaction: toAddressIsNull"
    assert client(method, {"from": SENDER, "data": "0x00"})


def test_31_a_missing_target_is_rejected_from_l1(client: RpcClient) -> None:
    error = rejected(client, "zks_estimateGasL1ToL2", {"from": SENDER, "data": "0x00"})
    assert (error.code, error.data) == (3, None)
    assert error.message == "Failed to serialize transaction: toAddressIsNull"


@every_method
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (WORD + b"\0", "Bytecode length is not divisible by 32"),
        (WORD * 2, "Bytecode has even number of 32-byte words"),
    ],
    ids=["odd bytes", "even words"],
)
def test_35_a_wrong_bytecode_is_rejected(
    client: RpcClient, method: str, code: bytes, problem: str
) -> None:
    meta = {"gasPerPubdata": "0xc350", "factoryDeps": [list(code)]}
    call = {"from": SENDER, "to": NOBODY, "type": "0x71", "eip712Meta": meta}
    error = rejected(client, method, call)
    assert (error.code, error.data) == (3, None)
    expected = f"Failed to serialize transaction: factory dependency #0 is invalid: {problem}"
    assert error.message == expected


@every_method
@pytest.mark.parametrize("extra", METAS[:2], ids=["any type", "type 0x71"])
@pytest.mark.parametrize(
    ("function", "message", "data"),
    [
        ("revertWithMessage", "execution reverted: Function has been reverted.", "0x08c379a0"),
        # The text names the selector as anvil's does; clients read the data.
        (
            "customErrorWithoutMessage",
            "execution reverted: custom error 0x82b42900",
            "0x82b42900",
        ),
        ("revertWithoutMessage", "execution reverted", "0x"),
    ],
)
def test_54_and_55_a_revert_has_code_3_its_reason_and_its_data(
    client: RpcClient, method: str, extra: dict[str, Any], function: str, message: str, data: str
) -> None:
    client("anvil_setCode", TARGET, CONTRACTS["reverts"]["runtime"])
    call = {"from": SENDER, "to": TARGET, "data": REVERTS.encode_abi(function), **extra}
    error = rejected(client, method, call)
    assert (error.code, error.message, error.data[:10]) == (3, message, data)


@every_estimate
def test_55_an_estimate_of_an_endless_loop_ends(client: RpcClient, method: str) -> None:
    overrides = overriding(method, code=ENDLESS)
    error = rejected(client, method, {"from": SENDER, "to": TARGET}, *overrides)
    assert error.code in {3, -32000}
