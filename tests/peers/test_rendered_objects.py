"""Rendered objects beside those of a real anvil: every key of anvil's is here, except those listed with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol.primitives.transactions import SignedPayload, sign
from tests.support.anvil import Anvil
from tests.support.chain.dev_chain import ETHER, LOG_CODE, LOGGER
from tests.support.chain.sample_chain import SECRETS, SENDERS, SampleChain, payloads, sample_chain

# A header here has the 16 fields of London; later forks added these for blobs, for the beacon
# chain and its withdrawals and requests, none of which a layer 2 has.
NO_BLOCK_KEYS = {
    "withdrawals",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
}
NO_RECEIPT_KEYS = {
    "blobGasPrice",  # there are no blobs
    "blockTimestamp",  # anvil's own, as a JSON number; it is in the block, the logs and transactions
}
NAMES = ["legacy", "access_list", "fee_market", "set_code"]


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleChain]:
    with sample_chain() as sample:
        yield sample


def prepared(anvil: Anvil) -> dict[str, str]:
    """Send anvil the transactions of our block, all into one of its own."""
    anvil("anvil_setChainId", 270)
    anvil("evm_setAutomine", False)
    anvil("anvil_setNextBlockBaseFeePerGas", hex(100_000_000))
    anvil("anvil_setCode", str(LOGGER), "0x" + LOG_CODE.hex())
    anvil("anvil_setCode", "0x0000000000000000000000000000000000008008", "0x" + LOG_CODE.hex())
    hashes = {}
    for (name, payload), secret, sender in zip(payloads().items(), SECRETS, SENDERS, strict=False):
        if name in NAMES:
            anvil("anvil_setBalance", str(sender), hex(100 * ETHER))
            hashes[name] = anvil("eth_sendRawTransaction", _raw(payload, secret))
    anvil("evm_mine")
    return hashes


@pytest.mark.peer
def test_every_key_of_anvil_is_here(sample: SampleChain, anvil: Anvil) -> None:
    hashes = prepared(anvil)
    theirs = anvil("eth_getBlockByNumber", "latest", True)
    assert len(theirs["transactions"]) == len(NAMES)
    assert set(theirs) - set(sample.block()) == NO_BLOCK_KEYS
    for name, transaction_hash in hashes.items():
        assert transaction_hash == str(sample.hashes[name])
        _compare_transaction(sample, anvil, name)
        _compare_receipt(sample, anvil, name)


def _compare_transaction(sample: SampleChain, anvil: Anvil, name: str) -> None:
    ours = sample.transaction(name)
    theirs = anvil("eth_getTransactionByHash", ours["hash"])
    assert set(theirs) - set(ours) == set()
    elsewhere = {"blockHash", "blockNumber", "transactionIndex", "blockTimestamp", "gasPrice"}
    assert _without(theirs, elsewhere) == {key: ours[key] for key in _without(theirs, elsewhere)}


def _compare_receipt(sample: SampleChain, anvil: Anvil, name: str) -> None:
    ours = sample.receipt(name)
    theirs = anvil.receipt(ours["transactionHash"])
    assert set(theirs) - set(ours) == NO_RECEIPT_KEYS
    for our_log, their_log in zip(ours["logs"], theirs["logs"], strict=True):
        assert set(their_log) - set(our_log) == set()
    same = ("from", "to", "type", "status", "contractAddress", "transactionHash")
    assert [ours[key] for key in same] == [theirs[key] for key in same]


def _without(shown: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in shown.items() if key not in keys}


def _raw(payload: SignedPayload, secret: bytes) -> str:
    return "0x" + sign(payload, secret).raw.hex()
