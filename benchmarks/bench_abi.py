"""ABI and typed data: what settlement, deposits and signatures encode, decode and hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from eth_abi.abi import decode as decode_by_library
from eth_abi.abi import encode as encode_by_library
from eth_account.messages import encode_typed_data

from benchmarks.harness import Peer, Row, best_seconds
from entresol.l1.contracts import REQUEST_TYPES, decode_deposit
from entresol.l1.layer_one import L1Log
from entresol.primitives import abi
from entresol.primitives.transactions import PriorityTransaction, ZkTransaction
from entresol.primitives.typed_data import TypedData
from entresol.primitives.values import Address, Hash32
from entresol.rollup.commitments import (
    CommitBatchInfo,
    StoredBatchInfo,
    commit_data,
    encode_call,
    execute_data,
    proof_data,
)
from entresol.rollup.priority_tree import PriorityOpsBatchInfo
from tests.support.rollup.layer_ones import request_data

BATCHES: Final = 10
DEPOSITS: Final = 100
ADDRESS: Final = Address(b"\x11" * 20)
WORD: Final = Hash32(b"\x22" * 32)

DEPOSIT: Final = PriorityTransaction(
    sender=ADDRESS,
    to=ADDRESS,
    refund_recipient=ADDRESS,
    gas_limit=300_000,
    gas_per_pubdata_limit=800,
    max_fee_per_gas=250_000_000,
    nonce=7,
    value=10**18,
    to_mint=2 * 10**18,
    data=bytes(range(100)),
)
ZK: Final = ZkTransaction(
    nonce=7,
    max_priority_fee_per_gas=0,
    max_fee_per_gas=250_000_000,
    gas_limit=300_000,
    to=ADDRESS,
    value=10**18,
    data=bytes(range(100)),
    chain_id=270,
    sender=ADDRESS,
    gas_per_pubdata_limit=50_000,
)


def rows() -> Iterable[Row]:
    """Measure the ABI, the transactions that are made of it, and typed data."""
    yield from calls()
    yield from settlement()
    yield from deposits()
    yield from typed_data()


def calls() -> Iterator[Row]:
    """Measure small calls and their results."""
    kinds, values = ["address", "uint256"], [ADDRESS, 10**18]
    encoded = encode_by_library(kinds, values)
    yield _row(
        "encode a call with two arguments",
        lambda: abi.encode_call("transfer(address,uint256)", *values),
        lambda: encode_by_library(kinds, values),
    )
    yield _row(
        "decode two words",
        lambda: abi.decode("(address,uint256)", encoded),
        lambda: decode_by_library(kinds, encoded),
    )
    text = encode_by_library(["string"], ["Ether"])
    yield _row(
        "decode a short string",
        lambda: abi.decode("(string)", text),
        lambda: decode_by_library(["string"], text),
    )


def settlement() -> Iterator[Row]:
    """Measure the calls that commit, prove and execute batches on L1."""
    previous = StoredBatchInfo.genesis(WORD)
    batch = CommitBatchInfo(
        chain_id=270,
        number=1,
        first_block=1,
        last_block=10,
        first_timestamp=1_700_000_000,
        last_timestamp=1_700_000_010,
        state_root=WORD,
        message_root=WORD,
        l1_transactions=DEPOSITS,
        priority_hash=WORD,
    )
    stored = [batch.stored()] * BATCHES
    path = (WORD,) * 8
    operations = [PriorityOpsBatchInfo(path, path, (WORD,) * DEPOSITS)] * BATCHES
    data = execute_data(stored, operations, [()] * BATCHES)
    yield _row("hash of a stored batch", stored[0].hash)
    yield _row("data that commits a batch", lambda: commit_data(previous, batch))
    yield _row(f"data that proves {BATCHES} batches", lambda: proof_data(previous, stored))
    yield _row(
        f"data that executes {BATCHES} batches of {DEPOSITS} deposits",
        lambda: execute_data(stored, operations, [()] * BATCHES),
    )
    yield _row(
        f"call with data of {len(data):,} bytes",
        lambda: encode_call("execute", ADDRESS, 1, BATCHES, data),
    )


def deposits() -> Iterator[Row]:
    """Measure a deposit, from its log to its hash."""
    canonical = DEPOSIT.to_abi()
    log = L1Log(
        address=ADDRESS,
        topics=(),
        data=request_data(DEPOSIT),
        block_number=1,
        block_hash=WORD,
        transaction_hash=WORD,
        index=0,
    )
    yield _row(
        "decode the log of a deposit",
        lambda: abi.decode(REQUEST_TYPES, log.data),
        lambda: decode_by_library([REQUEST_TYPES], bytes(31) + b"\x20" + log.data),
    )
    yield _row("read a deposit from its log", lambda: decode_deposit(log))
    yield _row("canonical tuple of a deposit", DEPOSIT.to_abi)
    yield _row("read that tuple", lambda: PriorityTransaction.from_abi(canonical))


def typed_data() -> Iterator[Row]:
    """Measure digests that wallets sign."""
    for structs in (2, 200):
        document = mails(structs)
        yield _row(
            f"digest of a typed document with {structs} structs",
            lambda it=document: TypedData.parse(it).signing_hash(),  # type: ignore[misc]
            lambda it=document: encode_typed_data(full_message=it),  # type: ignore[misc]
        )
    yield _row("digest of a 0x71 transaction", ZK.signing_hash)


def mails(count: int) -> dict[str, Any]:
    """Return a document with that many persons in an array."""
    person = {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"}
    kinds = {
        "EIP712Domain": {"name": "string", "version": "string", "chainId": "uint256"},
        "Person": {"name": "string", "wallet": "address"},
        "Mail": {"to": "Person[]", "amount": "uint256", "contents": "string"},
    }
    return {
        "types": {
            name: [{"name": member, "type": kind} for member, kind in members.items()]
            for name, members in kinds.items()
        },
        "primaryType": "Mail",
        "domain": {"name": "Ether Mail", "version": "1", "chainId": 1},
        "message": {"to": [person] * count, "amount": str(10**18), "contents": "Hello!"},
    }


def _row(what: str, work: Callable[[], object], library: Callable[[], object] | None = None) -> Row:
    name = "eth-account" if "document" in what else "eth-abi"
    peer = None if library is None else Peer(name, best_seconds(library) * 1e6)
    return Row(what=what, value=best_seconds(work) * 1e6, unit="µs", peer=peer)
