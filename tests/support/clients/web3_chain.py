"""The chain that web3.py's own tests expect: its contracts, and blocks of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from eth_account import Account
from eth_account.signers.local import LocalAccount
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3
from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.offchain_lookup import OFFCHAIN_LOOKUP_DATA
from web3._utils.contract_sources.contract_data.panic_errors_contract import (
    PANIC_ERRORS_CONTRACT_DATA,
)
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.storage_contract import STORAGE_CONTRACT_DATA

# Some of the tests sign for this chain and no other.
CHAIN_ID: Final = 131277322940537

ALICE: Final[LocalAccount] = Account.from_key(
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
)

# The one event of the emitter that the tests check, by its position in `enum WhichEvent`.
LOG_DOUBLE_WITH_INDEX: Final = 9

CONTRACTS: Final[dict[str, Any]] = {
    "math": MATH_CONTRACT_DATA,
    "emitter": EMITTER_CONTRACT_DATA,
    "offchain_lookup": OFFCHAIN_LOOKUP_DATA,
    "panic_errors": PANIC_ERRORS_CONTRACT_DATA,
    "revert": REVERT_CONTRACT_DATA,
    "storage": STORAGE_CONTRACT_DATA,
}


class Prepared(NamedTuple):
    """Addresses, hashes and block numbers of a prepared chain."""

    addresses: dict[str, str]
    deployment_of_math: str
    mined: str
    with_log: str
    empty_block: int
    block_with_transaction: int
    block_with_log: int


class Served(NamedTuple):
    url: str
    w3: Web3
    async_w3: AsyncWeb3[Any]
    prepared: Prepared


@contextmanager
def serving(url: str, runner: asyncio.Runner) -> Iterator[Served]:
    w3, provider = Web3(HTTPProvider(url)), AsyncHTTPProvider(url)
    try:
        yield Served(url, w3, AsyncWeb3(provider), prepare(w3))
    finally:
        runner.run(provider.disconnect())


def prepare(web3: Web3) -> Prepared:
    deployments = {name: _send(web3, data=data["bytecode"]) for name, data in CONTRACTS.items()}
    addresses = {name: receipt.contractAddress for name, receipt in deployments.items()}
    web3.provider.make_request("evm_mine", [])  # type: ignore[arg-type]
    empty_block = web3.eth.block_number
    mined = _send(web3, to=ALICE.address, value=1)
    emitter: Any = web3.eth.contract(
        Web3.to_checksum_address(addresses["emitter"]), abi=EMITTER_CONTRACT_DATA["abi"]
    )
    log_double = emitter.encode_abi("logDouble", [LOG_DOUBLE_WITH_INDEX, 12_345, 54_321])
    with_log = _send(web3, to=emitter.address, data=log_double)
    # A filter without a range covers the latest block, which should have no logs.
    web3.provider.make_request("evm_mine", [])  # type: ignore[arg-type]
    return Prepared(
        addresses,
        deployments["math"].transactionHash.to_0x_hex(),
        mined.transactionHash.to_0x_hex(),
        with_log.transactionHash.to_0x_hex(),
        empty_block,
        mined.blockNumber,
        with_log.blockNumber,
    )


def _send(web3: Web3, **fields: Any) -> Any:
    transaction = {
        "chainId": CHAIN_ID,
        "nonce": web3.eth.get_transaction_count(ALICE.address),
        "gas": 3_000_000,
        "maxFeePerGas": 10**9,
        "maxPriorityFeePerGas": 10**8,
        "value": 0,
        **fields,
    }
    signed = ALICE.sign_transaction(transaction)
    sent = web3.eth.send_raw_transaction(signed.raw_transaction)
    return web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.005)
