"""Multicall3, as clients call it."""

from __future__ import annotations

import pytest

from entresol.errors import ExecutionReverted
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import BASE_TOKEN, MULTICALL
from tests.support.contracts.layer_two import (
    ALICE,
    CHAIN_ID,
    ETHER,
    FEE,
    LayerTwo,
    calldata,
    encode,
    failure,
)

NAME = calldata("name()")
ETHER_NAME = encode("(string)", "Ether")
REJECTED = failure("NothingToCall()")
TARGET = Address(b"\x66" * 20)


def test_aggregate3_returns_a_result_for_each_call(l2: LayerTwo) -> None:
    calls = [(BASE_TOKEN, False, NAME), (BOOTLOADER, True, NAME), (TARGET, True, NAME)]
    answer = l2.read(MULTICALL, "aggregate3((address,bool,bytes)[])((bool,bytes)[])", calls)
    assert answer == ((True, ETHER_NAME), (False, REJECTED), (True, b""))


def test_aggregate_returns_the_block(l2: LayerTwo) -> None:
    calls = [(BASE_TOKEN, NAME), (BASE_TOKEN, calldata("decimals()"))]
    answer = l2.read(MULTICALL, "aggregate((address,bytes)[])(uint256,bytes[])", calls)
    assert answer == (1, (ETHER_NAME, encode("(uint8)", 18)))


@pytest.mark.parametrize(
    "call",
    [
        calldata("aggregate((address,bytes)[])", [(BOOTLOADER, NAME)]),
        calldata("blockAndAggregate((address,bytes)[])", [(BOOTLOADER, NAME)]),
        calldata("tryAggregate(bool,(address,bytes)[])", True, [(BOOTLOADER, NAME)]),
        calldata("tryBlockAndAggregate(bool,(address,bytes)[])", True, [(BOOTLOADER, NAME)]),
        calldata("aggregate3((address,bool,bytes)[])", [(BOOTLOADER, False, NAME)]),
        calldata("aggregate3Value((address,bool,uint256,bytes)[])", [(BOOTLOADER, False, 0, NAME)]),
    ],
)
def test_a_required_call_that_fails_reverts_all(l2: LayerTwo, call: bytes) -> None:
    with pytest.raises(ExecutionReverted, match="Multicall3: call failed"):
        l2.call(MULTICALL, call)


def test_try_aggregate_returns_which_calls_failed(l2: LayerTwo) -> None:
    calls = [(BASE_TOKEN, NAME), (BOOTLOADER, NAME)]
    results = ((True, ETHER_NAME), (False, REJECTED))
    forms = "tryAggregate(bool,(address,bytes)[])((bool,bytes)[])"
    assert l2.read(MULTICALL, forms, False, calls) == results
    forms = "tryBlockAndAggregate(bool,(address,bytes)[])(uint256,bytes32,(bool,bytes)[])"
    assert l2.read(MULTICALL, forms, False, calls) == (1, bytes(32), results)
    forms = "blockAndAggregate((address,bytes)[])(uint256,bytes32,(bool,bytes)[])"
    assert l2.read(MULTICALL, forms, calls[:1]) == (1, bytes(32), results[:1])


def test_value_is_split_among_the_calls(l2: LayerTwo) -> None:
    calls = [(TARGET, False, 3, b""), (L1_MESSENGER, True, 2, b""), (TARGET, False, 5, b"")]
    call = calldata("aggregate3Value((address,bool,uint256,bytes)[])", calls)
    assert l2.send(MULTICALL, call, value=10).succeeded
    assert (l2.balance(TARGET), l2.balance(MULTICALL)) == (8, 2)


def test_the_value_must_match_the_calls(l2: LayerTwo) -> None:
    call = calldata("aggregate3Value((address,bool,uint256,bytes)[])", [(TARGET, False, 3, b"")])
    with pytest.raises(ExecutionReverted, match="Multicall3: value mismatch"):
        l2.call(MULTICALL, call, value=4)


@pytest.mark.parametrize(
    ("getter", "expected"),
    [
        ("getBlockNumber()(uint256)", 2),
        ("getCurrentBlockCoinbase()(address)", str(Address.zero())),
        ("getCurrentBlockDifficulty()(uint256)", 0),
        ("getCurrentBlockGasLimit()(uint256)", 30_000_000),
        ("getCurrentBlockTimestamp()(uint256)", 1_001),
        ("getBasefee()(uint256)", FEE),
        ("getChainId()(uint256)", CHAIN_ID),
    ],
)
def test_it_returns_the_fields_of_the_block(l2: LayerTwo, getter: str, expected: object) -> None:
    l2.chain.builder.seal()
    assert l2.read(MULTICALL, getter) == expected


def test_it_returns_hashes_and_balances(l2: LayerTwo) -> None:
    head = l2.chain.builder.seal().hash()
    assert l2.read(MULTICALL, "getLastBlockHash()(bytes32)") == head
    assert l2.read(MULTICALL, "getBlockHash(uint256)(bytes32)", 1) == head
    assert l2.read(MULTICALL, "getEthBalance(address)(uint256)", ALICE) == 100 * ETHER
