"""Derivation from published batches, beside `entresol verify` of the same chain: both recover every sender."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness import Peer, Row, Target
from entresol._native import address_of, keccak256, public_key
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.primitives.transactions import FeeMarketTransaction, Transaction, sign
from entresol.primitives.values import Address, Hash32
from tests.support.differential.contracts import TOKEN
from tests.support.features.derive.operated_chain import DerivedChain, OperatedChain

ROUNDS: Final = 3
CHAIN_ID: Final = 270
ETHER: Final = 10**18
FEE: Final = 10**9
TOKEN_ADDRESS: Final = Address(b"\x70" * 20)
TRANSFER: Final = bytes.fromhex("a9059cbb")
SECRETS: Final = [number.to_bytes(32) for number in range(1, 101)]
SENDERS: Final = [Address(address_of(public_key(secret))) for secret in SECRETS]
TIMES_VERIFICATION: Final = 2
BLOCKS_A_BATCH: Final = 50


def rows() -> Iterable[Row]:
    """Measure blocks of several sizes."""
    yield derived("transfers, blocks of 100", "transfers", blocks=30, size=100)
    yield derived("ERC-20 transfers, blocks of 100", "ERC-20 transfers", blocks=30, size=100)
    yield derived("transfers, a block each", "transfers", blocks=1_000, size=1)
    yield derived("empty blocks", "transfers", blocks=2_000, size=0)


def derived(what: str, kind: str, *, blocks: int, size: int) -> Row:
    """Measure the derivation of a chain and its verification in turns, on disk."""
    with operated(kind, blocks, size) as operator:
        rounds = [(verify(operator), derive(operator)) for _ in range(ROUNDS)]
    verified, found = (
        statistics.median(taken) / blocks / max(size, 1) for taken in zip(*rounds, strict=True)
    )
    return Row(
        what=f"derivation of {what}",
        value=found * 1e6,
        unit="µs" if size else "µs a block",
        peer=Peer("verify", verified * 1e6),
        target=Target(TIMES_VERIFICATION * verified * 1e6, "at most"),
    )


def verify(operator: OperatedChain) -> float:
    """Return how many seconds it takes to execute all blocks again."""
    start = time.perf_counter()
    operator.chain.verify()
    return time.perf_counter() - start


def derive(operator: OperatedChain) -> float:
    """Return how many seconds it takes to derive all batches into a new directory."""
    claims = operator.claims()
    with tempfile.TemporaryDirectory() as directory:
        chain = DerivedChain(operator, Path(directory) / "derived")
        start = time.perf_counter()
        chain.derive(*claims)
        seconds = time.perf_counter() - start
        assert chain.chain.ledger.head_hash == operator.chain.ledger.head_hash
        chain.close()
    return seconds


@contextmanager
def operated(kind: str, blocks: int, size: int) -> Iterator[OperatedChain]:
    """Seal blocks of so many transactions, in batches."""
    with tempfile.TemporaryDirectory() as directory:
        operator = OperatedChain(Path(directory) / "operator", genesis=genesis())
        for block in range(blocks):
            for index in range(size):
                operator.chain.add(transaction(kind, block * size + index))
            operator.seal()
            if block % BLOCKS_A_BATCH == BLOCKS_A_BATCH - 1 or block == blocks - 1:
                operator.seal_batch()
        sealed = sum(len(record.transactions) for record in operator.chain.blocks.records())
        assert sealed == blocks * size
        yield operator
        operator.close()


def genesis() -> Genesis:
    """Return a chain with rich senders, each of which has tokens."""
    storage = {
        Hash32(keccak256(sender.rjust(32, b"\0") + bytes(32))): Hash32((10**6).to_bytes(32))
        for sender in SENDERS
    }
    token = GenesisAccount(code=TOKEN, nonce=1, storage=storage)
    return Genesis.development(CHAIN_ID, SENDERS, 10**6 * ETHER, {TOKEN_ADDRESS: token})


def transaction(kind: str, number: int) -> Transaction:
    """Return the transaction with this number, of the senders in turns."""
    nonce, sender = divmod(number, len(SENDERS))
    to = Address(SENDERS[sender][::-1])
    is_token = kind != "transfers"
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=FEE,
        gas_limit=100_000 if is_token else 21_000,
        to=TOKEN_ADDRESS if is_token else to,
        value=0 if is_token else 1,
        data=TRANSFER + bytes(12) + to + (1).to_bytes(32) if is_token else b"",
    )
    return sign(payload, SECRETS[sender], sender=SENDERS[sender])
