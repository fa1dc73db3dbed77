"""Selectors, topics and layouts that clients were compiled against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entresol import contracts
from tests.support.contracts.engine import find, selector, signature, topic, type_of

CLIENT_ABIS = Path(__file__).parents[1] / "node_modules" / "zksync-ethers" / "abi"

SETTLE = "BatchesSharedBridge(address,uint256,uint256,bytes)"


@pytest.mark.parametrize(
    ("contract", "entry", "expected"),
    [
        ("ValidatorTimelock", f"commit{SETTLE}", "0db9eb87"),
        ("ValidatorTimelock", f"prove{SETTLE}", "9271e450"),
        ("ValidatorTimelock", f"execute{SETTLE}", "a085344d"),
        ("ValidatorTimelock", "revertBatchesSharedBridge(address,uint256)", "7ca4eff7"),
        ("ZKChain", f"commit{SETTLE}", "0db9eb87"),
        ("ZKChain", "NewPriorityRequestId(uint256,bytes32)", "779f4416"),
        ("ZKChain", "ReportCommittedBatchRangeZKsyncOS(uint64,uint64,uint64)", "a2ac1056"),
    ],
)
def test_what_has_no_abi_in_client_libraries_is_named_as_the_network_names_it(
    contract: str, entry: str, expected: str
) -> None:
    (found,) = [
        known
        for known in contracts.artifact(contract).abi
        if known["type"] in ("function", "event") and signature(known) == entry
    ]
    named = selector(found) if found["type"] == "function" else topic(found)[:4]
    assert named.hex() == expected
    if found["type"] == "event":
        assert all(field["indexed"] for field in found["inputs"])


def _shape(entry: dict[str, Any]) -> tuple[object, ...]:
    """Return the parts of an ABI entry that a compiled client relies on."""
    indexed = [it.get("indexed", False) for it in entry["inputs"]]
    outputs = [type_of(it) for it in entry.get("outputs", [])]
    return signature(entry), indexed, outputs


@pytest.mark.clients
@pytest.mark.parametrize(
    ("contract", "theirs", "used"),
    [
        ("Bridgehub", "IBridgehub", ("baseToken getZKChain getHyperchain baseTokenAssetId assetRouter "
         "sharedBridge chainTypeManager getAllZKChainChainIDs l2TransactionBaseCost "
         "requestL2TransactionDirect requestL2TransactionTwoBridges proveL2MessageInclusion")),
        ("ZKChain", "IZkSyncHyperchain", ("l2TransactionBaseCost proveL2MessageInclusion "
         "proveL2LogInclusion proveL1ToL2TransactionStatus storedBatchHash l2LogsRootHash "
         "getTotalBatchesCommitted getTotalBatchesVerified getTotalBatchesExecuted "
         "getTotalPriorityTxs getPubdataPricingMode NewPriorityRequest BlockCommit "
         "BlocksVerification BlockExecution BlocksRevert")),
        ("L1AssetRouter", "IL1AssetRouter", ("L1_NULLIFIER nativeTokenVault isWithdrawalFinalized "
         "finalizeWithdrawal bridgeRecoverFailedTransfer bridgehubDeposit finalizeDeposit "
         "BridgehubDepositBaseTokenInitiated BridgehubDepositInitiated DepositFinalizedAssetRouter")),
        ("L1AssetRouter", "IL1SharedBridge", "l2BridgeAddress"),
        ("L1Nullifier", "IL1Nullifier", ("finalizeDeposit isWithdrawalFinalized "
         "BridgehubDepositFinalized")),
        ("L1NativeTokenVault", "IL1NativeTokenVault", ("assetId tokenAddress originChainId "
         "registerToken")),
        ("L1ERC20Bridge", "IL1ERC20Bridge", "finalizeWithdrawal"),
        ("TestERC20", "IERC20", "name symbol decimals balanceOf allowance approve"),
    ],
    ids=lambda it: it if " " not in it else "",
)  # fmt: skip
def test_functions_and_events_match_the_abi_of_client_libraries(
    contract: str, theirs: str, used: str
) -> None:
    known = json.loads((CLIENT_ABIS / f"{theirs}.json").read_text())
    ours = {
        signature(entry): _shape(entry)
        for entry in find(contract).abi
        if entry["type"] in ("function", "event")
    }
    shared = {
        signature(it): _shape(it)
        for it in known
        if it["type"] in ("function", "event") and signature(it) in ours
    }
    assert set(used.split()) <= {name.partition("(")[0] for name in shared}
    assert {name: ours[name] for name in shared} == shared
