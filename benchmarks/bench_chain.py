"""Blocks from raw transactions to disk, beside anvil's, which are in memory."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness import Peer, Row, Target, best_seconds
from entresol._native import TxEnv, address_of, call, keccak256, public_key
from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.features.dev.reverts import Reverts
from entresol.features.explorer.account_index import AccountIndex
from entresol.primitives.transactions import FeeMarketTransaction, decode, decode_many, sign
from entresol.primitives.values import Address, Hash32
from tests.support.anvil import Anvil, running_anvil
from tests.support.differential.contracts import TOKEN

ROUNDS: Final = 3
INDEX_ROUNDS: Final = 7
CHAIN_ID: Final = 31337
SENDERS: Final = 500
ETHER: Final = 10**18
TOKEN_ADDRESS: Final = Address(b"\x70" * 20)
TRANSFER: Final = bytes.fromhex("a9059cbb")
BALANCE_OF: Final = bytes.fromhex("70a08231")

SECRETS: Final = [number.to_bytes(32) for number in range(1, SENDERS + 1)]
ADDRESSES: Final = [Address(address_of(public_key(secret))) for secret in SECRETS]

RULES: Final = ChainRules(
    chain_id=CHAIN_ID, gas_limit=1_000_000_000, fees=ChainRules.layer_2(base_fee=1).fees
)


def rows() -> Iterable[Row]:
    """Measure a chain."""
    for kind in ("transfers", "ERC-20 transfers"):
        yield from throughput(kind)
    yield from index_cost()
    yield from checkpoints()
    yield warm_call()


def throughput(kind: str) -> Iterator[Row]:
    """Measure transactions a second, in blocks of several sizes, with and without durability."""
    for size, count in ((1, 1_000), (50, 3_000), (500, 5_000)):
        raws = transactions(kind, count)
        # In turns, so that what else the machine does meets all of them.
        rounds = [
            (
                anvil_rate(kind, raws, size),
                our_rate(raws, size, durable=True),
                our_rate(raws, size, durable=False),
            )
            for _ in range(ROUNDS)
        ]
        theirs, durable, not_synced = map(statistics.median, zip(*rounds, strict=True))
        peer = Peer("anvil", theirs)
        for is_durable, ours in ((True, durable), (False, not_synced)):
            yield Row(
                what=f"{kind}, blocks of {size}, {'durable' if is_durable else 'not synced'}",
                value=ours,
                unit="/s",
                peer=peer,
                target=target(kind, size, peer, durable=is_durable),
            )


def index_cost() -> Iterator[Row]:
    """Measure what the index of accounts and tokens adds to sealing, in processor time."""
    for kind in ("transfers", "ERC-20 transfers"):
        for size, count in ((1, 1_500), (500, 5_000)):
            raws = transactions(kind, count)
            seconds = [
                (sealing_seconds(raws, size, indexed=True), sealing_seconds(raws, size))
                for _ in range(INDEX_ROUNDS)
            ]
            with_it, without = (min(round_) for round_ in zip(*seconds, strict=True))
            yield Row(
                what=f"{kind}, blocks of {size}, more for the explorer's index",
                value=100 * (with_it / without - 1),
                unit="%",
                target=Target(5, "at most"),
            )


def sealing_seconds(raws: Sequence[bytes], size: int, *, indexed: bool = False) -> float:
    """Return the processor time in which a chain takes and seals transactions."""
    with open_chain(durable=False) as chain:
        chain.ledger.store.keep_indexes([AccountIndex()] if indexed else [])
        start = time.process_time()
        for first in range(0, len(raws), size):
            for transaction in decode_many(raws[first : first + size]):
                assert not isinstance(transaction, Exception)
                chain.add(transaction)
            chain.builder.seal()
        return time.process_time() - start


def target(kind: str, size: int, peer: Peer, *, durable: bool) -> Target | None:
    """Return what a row has to hold."""
    if kind == "transfers" and size == 500 and durable:
        return Target(5_000, "at least")
    if kind == "transfers" and size == 1 and not durable:
        return Target(peer.value, "at least")
    return None


def transactions(kind: str, count: int) -> list[bytes]:
    """Return signed transactions of many senders, each sender's in order."""
    raws = []
    for number in range(count):
        nonce, sender = divmod(number, SENDERS)
        to = Address(ADDRESSES[sender][::-1])
        data = TRANSFER + bytes(12) + to + (1).to_bytes(32)
        is_token = kind != "transfers"
        payload = FeeMarketTransaction(
            chain_id=CHAIN_ID,
            nonce=nonce,
            max_priority_fee_per_gas=0,
            max_fee_per_gas=2 * 10**9,
            gas_limit=100_000 if is_token else 21_000,
            to=TOKEN_ADDRESS if is_token else to,
            value=0 if is_token else 1,
            data=data if is_token else b"",
        )
        raws.append(sign(payload, SECRETS[sender]).raw)
    return raws


def our_rate(raws: Sequence[bytes], size: int, *, durable: bool) -> float:
    """Return how many transactions a second go from raw bytes into sealed blocks."""
    with open_chain(durable=durable) as chain:
        start = time.perf_counter()
        for first in range(0, len(raws), size):
            burst = raws[first : first + size]
            for transaction in [decode(burst[0])] if size == 1 else decode_many(burst):
                assert not isinstance(transaction, Exception)
                chain.add(transaction)
            chain.builder.seal()
        seconds = time.perf_counter() - start
        sealed = sum(len(record.transactions) for record in chain.blocks.records())
        assert sealed == len(raws)
        assert all(o.succeeded for r in chain.blocks.records() for o in r.results)
    return len(raws) / seconds


def anvil_rate(kind: str, raws: Sequence[bytes], size: int) -> float:
    """Return how many transactions a second anvil takes and mines, sent to it in batches.

    What it mines by itself it puts into blocks of about ten, some of them after their acknowledgement.
    """
    options = ["--no-mining"] if size > 1 else []
    with running_anvil(*options, "--gas-limit", str(RULES.gas_limit)) as anvil:
        found(anvil, kind)
        calls = [("eth_sendRawTransaction", ["0x" + raw.hex()]) for raw in raws]
        start = time.perf_counter()
        if size == 1:
            hashes = [h for n in range(0, len(calls), 500) for h in anvil.batch(calls[n : n + 500])]
        else:
            hashes = []
            for first in range(0, len(calls), size):
                hashes += anvil.batch(calls[first : first + size])
                anvil("evm_mine")
        while int(anvil("txpool_status")["pending"], 16):
            time.sleep(0.001)
        anvil.receipt(hashes[-1])
        return len(raws) / (time.perf_counter() - start)


def found(anvil: Anvil, kind: str) -> None:
    """Give anvil the same beginning."""
    anvil.batch([("anvil_setBalance", ["0x" + a.hex(), hex(100 * ETHER)]) for a in ADDRESSES])
    if kind != "transfers":
        anvil("anvil_setCode", str(TOKEN_ADDRESS), "0x" + TOKEN.hex())
        slots = [
            ("anvil_setStorageAt", [str(TOKEN_ADDRESS), str(s), str(v)]) for s, v in balances()
        ]
        anvil.batch(slots)


def balances() -> Iterator[tuple[Hash32, Hash32]]:
    """Yield the token's storage: everybody has a million."""
    for address in ADDRESSES:
        slot = keccak256(address.rjust(32, b"\0") + bytes(32))
        yield Hash32(slot), Hash32((10**6).to_bytes(32))


@contextmanager
def open_chain(*, durable: bool) -> Iterator[Chain]:
    """Open a chain with rich senders and a token."""
    token = GenesisAccount(code=TOKEN, nonce=1, storage=dict(balances()))
    genesis = Genesis.development(CHAIN_ID, ADDRESSES, 100 * ETHER, {TOKEN_ADDRESS: token})
    with tempfile.TemporaryDirectory() as directory:
        chain = Chain.open(Path(directory) / "chain", RULES, genesis, durable=durable)
        chain.schedule.seal_on_request()
        yield chain
        chain.close()


def checkpoints() -> Iterator[Row]:
    """Measure going back one block, on a small and on a larger state."""
    for blocks in (1, 20):
        with open_chain(durable=False) as chain:
            raws = transactions("transfers", blocks * SENDERS + 1)
            for first in range(0, len(raws) - 1, SENDERS):
                for raw in raws[first : first + SENDERS]:
                    chain.add(decode(raw))
                chain.builder.seal()
            seconds, reverts = [], Reverts(chain)
            for _ in range(20):
                start = time.perf_counter()
                checkpoint = reverts.checkpoint()
                chain.add(decode(raws[-1]))
                chain.builder.seal()
                reverts.restore(checkpoint)
                seconds.append(time.perf_counter() - start)
        yield Row(
            what=f"checkpoint, a block, and back, after {blocks * SENDERS:,} transfers",
            value=min(seconds) * 1e3,
            unit="ms",
        )


def warm_call() -> Row:
    """Measure a call on the latest state."""
    with open_chain(durable=False) as chain:
        rules = chain.rules.evm_rules()
        block = chain.ledger.next_block_env(chain.head.timestamp + 1).native
        data = BALANCE_OF + bytes(12) + ADDRESSES[0]
        message = TxEnv(sender=ADDRESSES[1], to=TOKEN_ADDRESS, data=data, gas_limit=10**6)
        assert call(chain.ledger.latest, rules, block, message).status == "success"
        seconds = best_seconds(lambda: call(chain.ledger.latest, rules, block, message))
    return Row(
        what="call balanceOf on the latest state, warm",
        value=seconds * 1e6,
        unit="µs",
        target=Target(25, "at most"),
    )
