"""The view functions of the small system contracts."""

from __future__ import annotations

import pytest

from entresol.errors import ExecutionReverted
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BRIDGEHUB, MESSAGE_ROOT, SYSTEM_CONTEXT
from tests.support.contracts.layer_two import (
    ALICE,
    CHAIN_ID,
    FEE,
    L1_CHAIN_ID,
    LayerTwo,
    failure,
)


@pytest.mark.parametrize(
    ("getter", "expected"),
    [
        ("chainId()(uint256)", CHAIN_ID),
        ("origin()(address)", str(ALICE)),
        ("gasPrice()(uint256)", 0),
        ("blockGasLimit()(uint256)", 30_000_000),
        ("coinbase()(address)", str(Address.zero())),
        ("difficulty()(uint256)", 0),
        ("baseFee()(uint256)", FEE),
        ("gasPerPubdataByte()(uint256)", 800),
        ("getBlockNumber()(uint128)", 3),
        ("getBlockTimestamp()(uint128)", 1_002),
        ("getL2BlockNumberAndTimestamp()(uint128,uint128)", (3, 1_002)),
        ("getBatchNumberAndTimestamp()(uint128,uint128)", (3, 1_002)),
    ],
)
def test_the_context_returns_chain_block_and_transaction(
    l2: LayerTwo, getter: str, expected: object
) -> None:
    l2.chain.builder.seal()
    l2.chain.builder.seal()
    assert l2.read(SYSTEM_CONTEXT, getter) == expected


def test_the_context_returns_the_hashes_of_recent_blocks(l2: LayerTwo) -> None:
    hashes = [l2.chain.head.hash(), l2.chain.builder.seal().hash(), bytes(32)]
    told = [
        l2.read(SYSTEM_CONTEXT, "getBlockHashEVM(uint256)(bytes32)", number) for number in range(3)
    ]
    assert told == hashes


def test_the_bridgehub_returns_the_bridges_of_this_chain(l2: LayerTwo) -> None:
    for getter in ("assetRouter()", "sharedBridge()"):
        assert Address.parse(l2.read(BRIDGEHUB, f"{getter}(address)")) == ASSET_ROUTER
    assert Address.parse(l2.read(BRIDGEHUB, "messageRoot()(address)")) == MESSAGE_ROOT
    assert l2.read(BRIDGEHUB, "L1_CHAIN_ID()(uint256)") == L1_CHAIN_ID
    base = l2.read(BRIDGEHUB, "baseTokenAssetId(uint256)(bytes32)", CHAIN_ID)
    assert base == asset_id(L1_CHAIN_ID, ETH_TOKEN)
    assert l2.read(BRIDGEHUB, "baseTokenAssetId(uint256)(bytes32)", 324) == bytes(32)


def test_the_aggregated_root_is_zero(l2: LayerTwo) -> None:
    assert l2.read(MESSAGE_ROOT, "getAggregatedRoot()(bytes32)") == bytes(32)
    assert Address.parse(l2.read(MESSAGE_ROOT, "BRIDGE_HUB()(address)")) == BRIDGEHUB


def test_the_bootloader_rejects_calls_and_ether(l2: LayerTwo) -> None:
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(BOOTLOADER, b"\x12\x34\x56\x78")
    assert caught.value.data == failure("NothingToCall()")
    assert not l2.send(BOOTLOADER, b"", value=1).succeeded
