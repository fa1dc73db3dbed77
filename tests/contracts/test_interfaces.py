"""Selectors, topics and layouts that clients were compiled against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entresol import contracts
from tests.support.contracts.engine import selector, signature, topic, type_of

CLIENT_ABIS = Path(__file__).parents[1] / "node_modules" / "zksync-ethers" / "abi"

SELECTORS = [
    ("Bridgehub", "baseToken(uint256)", "59ec65a2"),
    ("Bridgehub", "getZKChain(uint256)", "e680c4c1"),
    ("Bridgehub", "getHyperchain(uint256)", "dead6f7f"),
    ("Bridgehub", "baseTokenAssetId(uint256)", "e52db4ca"),
    ("Bridgehub", "assetRouter()", "bc0aac10"),
    ("Bridgehub", "sharedBridge()", "38720778"),
    ("Bridgehub", "chainTypeManager(uint256)", "9d5bd3da"),
    ("Bridgehub", "getAllZKChainChainIDs()", "68b8d331"),
    ("Bridgehub", "l2TransactionBaseCost(uint256,uint256,uint256,uint256)", "71623274"),
    (
        "Bridgehub",
        "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address))",
        "d52471c1",
    ),
    (
        "Bridgehub",
        "requestL2TransactionTwoBridges((uint256,uint256,uint256,uint256,uint256,address,address,uint256,bytes))",
        "24fd57fb",
    ),
    (
        "Bridgehub",
        "proveL2MessageInclusion(uint256,uint256,uint256,(uint16,address,bytes),bytes32[])",
        "99c16d1a",
    ),
    ("ZKChain", "l2TransactionBaseCost(uint256,uint256,uint256)", "b473318e"),
    (
        "ZKChain",
        "proveL2MessageInclusion(uint256,uint256,(uint16,address,bytes),bytes32[])",
        "e4948f43",
    ),
    (
        "ZKChain",
        "proveL2LogInclusion(uint256,uint256,(uint8,bool,uint16,address,bytes32,bytes32),bytes32[])",
        "263b7f8e",
    ),
    (
        "ZKChain",
        "proveL1ToL2TransactionStatus(bytes32,uint256,uint256,uint16,bytes32[],uint8)",
        "042901c7",
    ),
    ("ZKChain", "storedBatchHash(uint256)", "b22dd78e"),
    ("ZKChain", "l2LogsRootHash(uint256)", "9cd939e4"),
    ("ZKChain", "getTotalBatchesCommitted()", "db1f0bf9"),
    ("ZKChain", "getTotalBatchesVerified()", "ef3f0bae"),
    ("ZKChain", "getTotalBatchesExecuted()", "b8c2f66f"),
    ("ZKChain", "getTotalPriorityTxs()", "a1954fc5"),
    ("ZKChain", "getPubdataPricingMode()", "06d49e5b"),
    ("ValidatorTimelock", "commitBatchesSharedBridge(address,uint256,uint256,bytes)", "0db9eb87"),
    ("ValidatorTimelock", "proveBatchesSharedBridge(address,uint256,uint256,bytes)", "9271e450"),
    ("ValidatorTimelock", "executeBatchesSharedBridge(address,uint256,uint256,bytes)", "a085344d"),
    ("ValidatorTimelock", "revertBatchesSharedBridge(address,uint256)", "7ca4eff7"),
    ("ZKChain", "commitBatchesSharedBridge(address,uint256,uint256,bytes)", "0db9eb87"),
    ("L1AssetRouter", "L1_NULLIFIER()", "e60ccaba"),
    ("L1AssetRouter", "nativeTokenVault()", "64e130cf"),
    ("L1AssetRouter", "isWithdrawalFinalized(uint256,uint256,uint256)", "8f31f052"),
    (
        "L1AssetRouter",
        "finalizeWithdrawal(uint256,uint256,uint256,uint16,bytes,bytes32[])",
        "c87325f1",
    ),
    (
        "L1AssetRouter",
        "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[])",
        "3601e63e",
    ),
    ("L1AssetRouter", "l2BridgeAddress(uint256)", "07ee9355"),
    ("L1AssetRouter", "bridgehubDeposit(uint256,address,uint256,bytes)", "ca408c23"),
    ("L1AssetRouter", "finalizeDeposit(uint256,bytes32,bytes)", "9c884fd1"),
    (
        "L1Nullifier",
        "finalizeDeposit((uint256,uint256,uint256,address,uint16,bytes,bytes32[]))",
        "74beea82",
    ),
    ("L1Nullifier", "isWithdrawalFinalized(uint256,uint256,uint256)", "8f31f052"),
    ("L1NativeTokenVault", "assetId(address)", "fd3f60df"),
    ("L1NativeTokenVault", "tokenAddress(bytes32)", "97bb3ce9"),
    ("L1NativeTokenVault", "originChainId(bytes32)", "5f3455b5"),
    ("L1NativeTokenVault", "registerToken(address)", "09824a80"),
    ("L1ERC20Bridge", "finalizeWithdrawal(uint256,uint256,uint16,bytes,bytes32[])", "11a2ccc1"),
    ("TestERC20", "name()", "06fdde03"),
    ("TestERC20", "symbol()", "95d89b41"),
    ("TestERC20", "decimals()", "313ce567"),
    ("TestERC20", "balanceOf(address)", "70a08231"),
    ("TestERC20", "allowance(address,address)", "dd62ed3e"),
    ("TestERC20", "approve(address,uint256)", "095ea7b3"),
    ("TestERC20", "mint(address,uint256)", "40c10f19"),
]

TOPICS = [
    (
        "ZKChain",
        "NewPriorityRequest",
        "4531cd5795773d7101c17bdeb9f5ab7f47d7056017506f937083be5d6e77a382",
    ),
    (
        "ZKChain",
        "NewPriorityRequestId",
        "779f441679936c5441b671969f37400b8c3ed0071cb47444431bf985754560df",
    ),
    ("ZKChain", "BlockCommit", "8f2916b2f2d78cc5890ead36c06c0f6d5d112c7e103589947e8e2f0d6eddb763"),
    (
        "ZKChain",
        "BlocksVerification",
        "22c9005dd88c18b552a1cd7e8b3b937fcde9ca69213c1f658f54d572e4877a81",
    ),
    (
        "ZKChain",
        "BlockExecution",
        "2402307311a4d6604e4e7b4c8a15a7e1213edb39c16a31efa70afb06030d3165",
    ),
    ("ZKChain", "BlocksRevert", "8bd4b15ea7d1bc41ea9abc3fc487ccb89cd678a00786584714faa9d751c84ee5"),
    (
        "ZKChain",
        "ReportCommittedBatchRangeZKsyncOS",
        "a2ac105688fc09c2584d6b2e79dd0fc14e6003a20c62ac45aa858e8ed12bb7bb",
    ),
    (
        "L1AssetRouter",
        "BridgehubDepositBaseTokenInitiated",
        "0f87e1ea5eb1f034a6071ef630c174063e3d48756f853efaaf4292b929298240",
    ),
    (
        "L1AssetRouter",
        "BridgehubDepositInitiated",
        "e21913bc89c1320d9709a5d236ffe06b54cf88aecfc9509ebd68f1adba45781e",
    ),
    (
        "L1Nullifier",
        "BridgehubDepositFinalized",
        "e4def01b981193a97a9e81230d7b9f31812ceaf23f864a828a82c687911cb2df",
    ),
    (
        "L1AssetRouter",
        "DepositFinalizedAssetRouter",
        "44eb9a840094a49b3cd0a5205042598a1c08c4e87bafb5760bc2d8efa170c541",
    ),
]

INDEXED = {
    "NewPriorityRequest": [],
    "NewPriorityRequestId": ["txId", "txHash"],
    "BlockCommit": ["batchNumber", "batchHash", "commitment"],
    "BlocksVerification": ["previousLastVerifiedBatch", "currentLastVerifiedBatch"],
    "BlockExecution": ["batchNumber", "batchHash", "commitment"],
    "BlocksRevert": [],
    "ReportCommittedBatchRangeZKsyncOS": ["batchNumber", "firstBlockNumber", "lastBlockNumber"],
}


@pytest.mark.parametrize(("contract", "function", "expected"), SELECTORS)
def test_a_function_has_the_selector_that_clients_use(
    contract: str, function: str, expected: str
) -> None:
    (entry,) = [
        entry
        for entry in contracts.artifact(contract).abi
        if entry["type"] == "function" and signature(entry) == function
    ]
    assert selector(entry).hex() == expected


@pytest.mark.parametrize(("contract", "event", "expected"), TOPICS)
def test_an_event_has_the_topic_that_clients_use(contract: str, event: str, expected: str) -> None:
    (entry,) = [
        entry
        for entry in contracts.artifact(contract).abi
        if entry["type"] == "event" and entry["name"] == event
    ]
    assert topic(entry).hex() == expected
    if event in INDEXED:
        assert [it["name"] for it in entry["inputs"] if it["indexed"]] == INDEXED[event]


def _shape(entry: dict[str, Any]) -> tuple[object, ...]:
    """Return the parts of an ABI entry that a compiled client relies on."""
    indexed = [it.get("indexed", False) for it in entry["inputs"]]
    outputs = [type_of(it) for it in entry.get("outputs", [])]
    return signature(entry), indexed, outputs


@pytest.mark.clients
@pytest.mark.parametrize(
    ("contract", "theirs"),
    [
        ("Bridgehub", "IBridgehub"),
        ("ZKChain", "IZkSyncHyperchain"),
        ("L1AssetRouter", "IL1AssetRouter"),
        ("L1AssetRouter", "IL1SharedBridge"),
        ("L1Nullifier", "IL1Nullifier"),
        ("L1NativeTokenVault", "IL1NativeTokenVault"),
        ("L1ERC20Bridge", "IL1ERC20Bridge"),
        ("TestERC20", "IERC20"),
    ],
)
def test_functions_and_events_match_the_abi_of_client_libraries(contract: str, theirs: str) -> None:
    known = json.loads((CLIENT_ABIS / f"{theirs}.json").read_text())
    ours = {
        signature(entry): _shape(entry)
        for entry in contracts.artifact(contract).abi
        if entry["type"] in ("function", "event")
    }
    shared = {
        signature(it): _shape(it)
        for it in known
        if it["type"] in ("function", "event") and signature(it) in ours
    }
    assert shared
    assert {name: ours[name] for name in shared} == shared


def test_the_contracts_of_l1_are_part_of_the_package() -> None:
    assert {
        "Bridgehub", "BytecodesSupplier", "ChainTypeManager", "DevelopmentVerifier", "ForkVerifier",
        "L1AssetRouter", "L1ERC20Bridge", "L1NativeTokenVault", "L1Nullifier", "TestERC20", "ValidatorTimelock", "ZKChain",
    } <= set(contracts.names())  # fmt: skip
