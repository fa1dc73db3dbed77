"""Accounts of the clients, the contracts that they deploy, and typed data that they sign."""

from __future__ import annotations

from typing import Any, Final

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_typing import ChecksumAddress
from web3 import Web3
from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.panic_errors_contract import (
    PANIC_ERRORS_CONTRACT_DATA,
)
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.storage_contract import STORAGE_CONTRACT_DATA

from entresol.contracts import Artifact, artifact
from tests.support.contracts.engine import find
from tests.support.rpc_client import RpcClient

ALICE: Final[LocalAccount] = Account.from_key(
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
)
BOB: Final[LocalAccount] = Account.from_key(
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
)
NOBODY: Final[ChecksumAddress] = Web3.to_checksum_address(
    "0x00000000000000000000000000000000deadbeef"
)
CHAIN_ID: Final = 270
GWEI: Final = 10**9
ETHER: Final = 10**18

_FEES: Final[dict[str, Any]] = {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": 0}


def signed_transfer(nonce: int, **fields: Any) -> str:
    whole: dict[str, Any] = {
        "chainId": CHAIN_ID,
        "nonce": nonce,
        "gas": 100_000,
        "value": 1,
        "to": NOBODY,
    }
    return Web3.to_hex(ALICE.sign_transaction({**whole, **_FEES, **fields}).raw_transaction)


def sign_next(client: RpcClient, **fields: Any) -> str:
    nonce = int(client("eth_getTransactionCount", ALICE.address, "pending"), 16)
    whole: dict[str, Any] = {"chainId": CHAIN_ID, "nonce": nonce, "gas": 2_000_000, "value": 0}
    return Web3.to_hex(ALICE.sign_transaction({**whole, **_FEES, **fields}).raw_transaction)


def send_next(client: RpcClient, **fields: Any) -> dict[str, Any]:
    return client.receipt(client("eth_sendRawTransaction", sign_next(client, **fields)))


def _contract(data: Any) -> dict[str, Any]:
    return {"bytecode": data["bytecode"], "runtime": data["bytecode_runtime"], "abi": data["abi"]}


def _compiled(found: Artifact) -> dict[str, Any]:
    return {"bytecode": str(found.bytecode), "runtime": str(found.runtime), "abi": found.abi}


CONTRACTS: Final[dict[str, dict[str, Any]]] = {
    "emitter": _contract(EMITTER_CONTRACT_DATA),
    "math": _contract(MATH_CONTRACT_DATA),
    "panics": _contract(PANIC_ERRORS_CONTRACT_DATA),
    "reverts": _contract(REVERT_CONTRACT_DATA),
    "storage": _contract(STORAGE_CONTRACT_DATA),
    "token": _compiled(artifact("TestERC20")),
    # Takes messages of other chains.
    "recipient": _compiled(find("Recipient")),
}


# The example of EIP-712 itself.
MAIL: Final[dict[str, Any]] = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person"},
            {"name": "contents", "type": "string"},
        ],
    },
    "primaryType": "Mail",
    "domain": {
        "name": "Ether Mail",
        "version": "1",
        "chainId": 1,
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    },
    "message": {
        "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
        "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
        "contents": "Hello, Bob!",
    },
}
