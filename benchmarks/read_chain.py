"""The chains that the benchmarks of read methods read: accounts, a token, and blocks of its transfers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from benchmarks.load import SERVER_CORE, pinned
from benchmarks.servers import CHAIN_ID, Server
from entresol._native import address_of, keccak256, public_key
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.support.differential.contracts import TOKEN
from tests.support.node_process import running_node
from tests.support.rollup.pair import Pair, message_hash
from tests.support.rpc_client import HttpRpcClient

BLOCKS: Final = int(os.environ.get("ENTRESOL_BENCH_BLOCKS", "2000"))
"""Anvil takes longer for each block that it has: minutes for 10,000 of them."""
TRANSFERS: Final = 5
"""Transfers of tokens in each block, by different senders."""
FILTERS: Final = 64
MESSAGES: Final = 200
MESSAGES_A_BATCH: Final = 4

TOKEN_ADDRESS: Final = Address(b"\x70" * 20)
REVERTING: Final = {
    # Reverts with its call data.
    Address(b"\x71" * 20): "365f5f37365ffd",
    # Reverts without data.
    Address(b"\x72" * 20): "5f5ffd",
    # Pops from an empty stack.
    Address(b"\x73" * 20): "50",
    Address(b"\x74" * 20): "fe",
    # Loops forever.
    Address(b"\x75" * 20): "5b5f56",
}
"""Contracts that fail every call, with their code."""
_TRANSFER: Final = bytes.fromhex("a9059cbb")
_BALANCE_OF: Final = bytes.fromhex("70a08231")
_ETHER: Final = 10**18
_AT_ONCE: Final = 500

_SECRETS: Final = [number.to_bytes(32) for number in range(1, 251)]
SENDERS: Final = [Address(address_of(public_key(secret))) for secret in _SECRETS]
PEOPLE: Final = [Address(keccak256(number.to_bytes(4))[:20]) for number in range(10_000)]
"""The recipients of tokens; every other one has ether."""


class ReadChain(msgspec.Struct, frozen=True):
    """What a server has to be asked for."""

    blocks: int
    hashes: list[str]
    """Of the blocks from 1 on."""
    transactions: list[str]
    filters: list[str] = []


class SettledChain(msgspec.Struct, frozen=True):
    """What a node that settles has to be asked for."""

    blocks: int
    batches: int
    transactions: list[str]
    messages: list[tuple[int, str, str]]
    """The block, the sender and the hash of each message to L1."""
    codes: list[str]


def found(client: HttpRpcClient) -> ReadChain:
    """Give a server accounts, a token, blocks and filters."""
    rich = [*SENDERS, *PEOPLE[::2]]
    _batches(client, [("anvil_setBalance", [str(address), hex(100 * _ETHER)]) for address in rich])
    _batches(client, [("anvil_setCode", [str(TOKEN_ADDRESS), "0x" + TOKEN.hex()])])
    _batches(client, [("anvil_setCode", [str(at), "0x" + code]) for at, code in REVERTING.items()])
    _batches(client, [("anvil_setStorageAt", _token_balance(sender)) for sender in SENDERS])
    client.batch([("evm_setAutomine", [False])])
    transactions = []
    for number in range(BLOCKS):
        first = number * TRANSFERS
        raws = [raw_transfer(index) for index in range(first, first + TRANSFERS)]
        transactions += client.batch([("eth_sendRawTransaction", [raw]) for raw in raws])
        client("evm_mine")
    assert client.receipt(transactions[-1])["status"] == "0x1"
    blocks = int(client("eth_blockNumber"), 16)
    named = [("eth_getBlockByNumber", [hex(number), False]) for number in range(1, blocks + 1)]
    return ReadChain(
        blocks,
        [block["hash"] for block in _batches(client, named)],
        transactions,
        [client("eth_newFilter", {"address": str(person)}) for person in PEOPLE[:FILTERS]],
    )


@contextmanager
def settled() -> Iterator[tuple[Server, SettledChain]]:
    """Start a node with its L1, and give it transactions, messages and batches that L1 has executed."""
    options = ("--silent", "--l1-delay", "0.02", "--settle-interval", "1000")
    with TemporaryDirectory() as folder:
        info = Path(folder) / "info.json"
        with pinned(SERVER_CORE):
            starting = running_node("--config-out", str(info), *options, info=info)
            node = starting.__enter__()
        try:
            layers = Pair.connect(info)
            yield (Server("node", HttpRpcClient(node.url), node.process.pid), _messages(layers))
            layers.close()
        finally:
            starting.__exit__(None, None, None)


def _messages(layers: Pair) -> SettledChain:
    codes = [bytes([0xFE, *number.to_bytes(2)]) * 64 for number in range(MESSAGES)]
    sender = layers.l2("eth_accounts")[0]
    for number, code in enumerate(codes):
        layers.l2("anvil_setCode", code_holder(number), "0x" + code.hex())
    sent = []
    for number in range(MESSAGES):
        sent.append(layers.send_message(number.to_bytes(4)))
        if (number + 1) % MESSAGES_A_BATCH == 0:
            layers.l2.receipt(sent[-1])
            layers.l2("anvil_zks_commitBatch", number // MESSAGES_A_BATCH + 1)
    layers.proven(sent[-1])
    numbers = [int(layers.l2.receipt(transaction)["blockNumber"], 16) for transaction in sent]
    hashes = [message_hash(number.to_bytes(4)) for number in range(MESSAGES)]
    return SettledChain(
        int(layers.l2("eth_blockNumber"), 16),
        int(layers.l2("zks_L1BatchNumber"), 16),
        sent,
        [(block, sender, name) for block, name in zip(numbers, hashes, strict=True)],
        ["0x" + keccak256(code).hex() for code in codes],
    )


def code_holder(number: int) -> str:
    """Return the account that has the published code at `number`."""
    return f"0x{number + 0xC0DE0000:040x}"


def raw_transfer(index: int) -> str:
    """Return the signed transfer of tokens to the recipient at `index`."""
    at, nonce = index % len(SENDERS), index // len(SENDERS)
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        max_priority_fee_per_gas=index % 1000,
        max_fee_per_gas=2 * 10**9,
        gas_limit=100_000,
        to=TOKEN_ADDRESS,
        value=0,
        data=transfer_data(PEOPLE[index % len(PEOPLE)]),
    )
    return "0x" + sign(payload, _SECRETS[at]).raw.hex()


def transfer_data(to: Address) -> bytes:
    """Return the call data of a transfer of one token."""
    return _TRANSFER + bytes(12) + to + (1).to_bytes(32)


def balance_of_data(holder: Address) -> bytes:
    """Return the call data that reads how many tokens an account has."""
    return _BALANCE_OF + bytes(12) + holder


def token_slot(holder: Address) -> str:
    """Return the slot of the token that holds the balance of an account."""
    return "0x" + keccak256(holder.rjust(32, b"\0") + bytes(32)).hex()


def _token_balance(holder: Address) -> list[str]:
    return [str(TOKEN_ADDRESS), token_slot(holder), "0x" + (10**6).to_bytes(32).hex()]


def _batches(client: HttpRpcClient, calls: Sequence[tuple[str, Sequence[object]]]) -> list[Any]:
    done: list[Any] = []
    for first in range(0, len(calls), _AT_ONCE):
        done += client.batch(calls[first : first + _AT_ONCE])
    assert not any(isinstance(outcome, Exception) for outcome in done), done
    return done
