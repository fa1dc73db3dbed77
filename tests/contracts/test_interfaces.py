"""What tools and clients rely on: selectors, topics, addresses of the development L1, and bytecode that is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entresol import contracts
from entresol._native import keccak256
from entresol.node.settlement.settlement_layer import development_contracts
from entresol.primitives.bytecode import eravm_hash
from tests.support.contracts.engine import (
    Contract,
    Engine,
    Reverted,
    find,
    selector,
    signature,
    topic,
    type_of,
)
from tests.support.contracts.l1_contracts import ALICE, BOB, DEPLOYER, deploy

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


ADDRESSES = {
    "bridgehub": "0x800c91b13473c201ce8d6af477b5deb9ad183356",
    "chain": "0xa4ce0eecb9d66a74d027e2b07685c5e00592b143",
    "asset_router": "0xc50c5a98f557b568d8670e6af47770f5ce274a74",
    "nullifier": "0xf1843cc2096d940ffab031b4253dccd986fc0c37",
    "native_token_vault": "0xafef7db9255a12e29c4c595a0a36ba15ce304e86",
    "validator_timelock": "0x7f09a13e549b1684895facf7836515f8c3ffba9d",
    "chain_type_manager": "0x237238d87fe6f40f675cdca1723a93a629a1c2f1",
    "verifier": "0x18a11fa912bb52a7a771855968478580dc986c28",
    "legacy_bridge": "0x66968e72fb399240527192f464406cfc2eaf03cc",
    "bytecodes_supplier": "0xa5ddb1217d93ef65d7fc3d11079588e7d6f2db09",
    "message_root": "0xb9e81365243c1a42fab4ef0ad70f55e8a55c659b",
    "chain_registration_sender": "0x2418aee0c3dd5bb9cafd2e299b4271c1289f6ba4",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_contracts_of_the_development_l1_stay_at_their_addresses(name: str) -> None:
    assert str(getattr(development_contracts(), name)) == ADDRESSES[name]


# --- Published bytecode ---


ERA = b"\x01" * 32
OTHER_ERA = b"\x02" * 96
EVM = bytes.fromhex("6080604052")


@pytest.fixture
def engine() -> Engine:
    return deploy().engine


@pytest.fixture
def supplier(engine: Engine) -> Contract:
    return engine.deploy("BytecodesSupplier", sender=DEPLOYER)


def published(engine: Engine, supplier: Contract) -> list[tuple[str, dict[str, object]]]:
    return [(event.name, event.fields) for event in engine.events(supplier)]


@pytest.mark.parametrize("function", ["publishBytecode", "publishEraBytecode"])
def test_anybody_publishes_bytecode(engine: Engine, supplier: Contract, function: str) -> None:
    engine.send(BOB, supplier, function, ERA)
    name = eravm_hash(ERA)
    fields = {"bytecodeHash": name, "bytecode": ERA}
    assert published(engine, supplier) == [("BytecodePublished", fields)]
    assert engine.read(supplier, "publishingBlock", name) == 1


@pytest.mark.parametrize("function", ["publishBytecodes", "publishEraBytecodes"])
def test_several_are_published_at_once(engine: Engine, supplier: Contract, function: str) -> None:
    engine.send(ALICE, supplier, function, [ERA, OTHER_ERA])
    names = [fields["bytecodeHash"] for _, fields in published(engine, supplier)]
    assert names == [eravm_hash(ERA), eravm_hash(OTHER_ERA)]


@pytest.mark.parametrize(
    ("function", "codes"), [("publishEVMBytecode", EVM), ("publishEVMBytecodes", [EVM])]
)
def test_evm_bytecode_has_its_keccak(
    engine: Engine, supplier: Contract, function: str, codes: object
) -> None:
    engine.send(ALICE, supplier, function, codes)
    name = keccak256(EVM)
    fields = {"bytecodeHash": name, "bytecode": EVM}
    assert published(engine, supplier) == [("EVMBytecodePublished", fields)]
    assert engine.read(supplier, "evmPublishingBlock", name) == 1
    assert engine.read(supplier, "publishingBlock", name) == 0


@pytest.mark.parametrize(
    ("function", "code", "error"),
    [
        ("publishBytecode", ERA, "BytecodeAlreadyPublished"),
        ("publishEVMBytecode", EVM, "EVMBytecodeAlreadyPublished"),
    ],
)
def test_nothing_is_published_twice(
    engine: Engine, supplier: Contract, function: str, code: bytes, error: str
) -> None:
    engine.send(ALICE, supplier, function, code)
    with pytest.raises(Reverted) as rejection:
        engine.send(BOB, supplier, function, code)
    assert rejection.value.error == error


@pytest.mark.parametrize(
    ("function", "code", "other"),
    [
        ("publishBytecode", ERA, OTHER_ERA),
        ("publishEraBytecode", ERA, OTHER_ERA),
        ("publishEVMBytecode", EVM, b""),
    ],
)
def test_a_list_with_one_that_is_published_publishes_none(
    engine: Engine, supplier: Contract, function: str, code: bytes, other: bytes
) -> None:
    with pytest.raises(Reverted, match="AlreadyPublished"):
        engine.send(ALICE, supplier, f"{function}s", [other, code, code])
    engine.send(BOB, supplier, function, code)
    with pytest.raises(Reverted, match="AlreadyPublished"):
        engine.send(ALICE, supplier, f"{function}s", [other, code])
    engine.send(ALICE, supplier, function, other)


@pytest.mark.parametrize(
    ("code", "error"), [(b"\x01", "LengthIsNotDivisibleBy32"), (bytes(64), "MalformedBytecode")]
)
def test_what_is_no_eravm_bytecode_is_rejected(
    engine: Engine, supplier: Contract, code: bytes, error: str
) -> None:
    with pytest.raises(Reverted) as rejection:
        engine.send(ALICE, supplier, "publishBytecode", code)
    assert rejection.value.error == error
