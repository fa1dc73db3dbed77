"""Receipt objects: how transactions ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from entresol._native import keccak256
from entresol.primitives.addresses import create_address
from entresol.primitives.logs import bloom_of
from entresol.primitives.records import BlockRecord, TransactionResult, logs_of, messages_of
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address, Bloom
from entresol.rpc.render.hex import data, quantity
from entresol.rpc.render.inclusion import BlockInclusion
from entresol.rpc.render.logs import event_text, log_context, message_texts
from entresol.rpc.render.transactions import effective_gas_price

CONTRACT_DEPLOYER: Final = Address.parse("0x0000000000000000000000000000000000008006")
CONTRACT_DEPLOYED: Final = keccak256(b"ContractDeployed(address,bytes32,address)")
DEPLOYMENTS: Final = frozenset(
    keccak256(signature)[:4]
    for signature in (
        b"create(bytes32,bytes32,bytes)",
        b"create2(bytes32,bytes32,bytes)",
        b"createAccount(bytes32,bytes32,bytes,uint8)",
        b"create2Account(bytes32,bytes32,bytes,uint8)",
    )
)

_NO_BLOOM: Final = Bloom.zero().hex()


class CumulativeTotals:
    """What the transactions of a block had come to before the next one."""

    __slots__ = ("gas_used", "logs", "messages")

    def __init__(self) -> None:
        self.gas_used = 0
        self.logs = 0
        self.messages = 0

    def add(self, outcome: TransactionResult) -> None:
        """Go on behind a transaction."""
        self.gas_used += outcome.gas_used
        self.logs += len(outcome.logs)
        self.messages += len(outcome.l2_to_l1_logs)


def receipt_at(record: BlockRecord, place: BlockInclusion, index: int) -> str:
    """Return the receipt of one transaction of a block."""
    before = CumulativeTotals()
    for outcome in record.results[:index]:
        before.add(outcome)
    return receipt_text(record.transaction(index), record.results[index], place, index, before)


def receipts_of(record: BlockRecord, place: BlockInclusion) -> Iterator[str]:
    """Yield the receipts of a block."""
    before = CumulativeTotals()
    for index, outcome in enumerate(record.results):
        yield receipt_text(record.transaction(index), outcome, place, index, before)
        before.add(outcome)


def receipt_text(
    transaction: Transaction,
    outcome: TransactionResult,
    place: BlockInclusion,
    index: int,
    before: CumulativeTotals,
) -> str:
    """Return how `transaction` ended."""
    payload, tx_hash = transaction.payload, transaction.hash
    bloom = bloom_of(logs_of(outcome)).hex() if outcome.logs else _NO_BLOOM
    return (
        f'{{"transactionHash":"0x{tx_hash.hex()}","type":"{hex(payload.type)}",'
        f'"transactionIndex":"{hex(index)}",{place.text},'
        f'"l1BatchTxIndex":{quantity(place.index_in_batch(index))},'
        f'"status":"{hex(outcome.succeeded)}",'
        f'"from":"0x{transaction.sender.hex()}","to":{data(payload.to)},'
        f'"contractAddress":{data(created_by(transaction, outcome))},'
        f'"gasUsed":"{hex(outcome.gas_used)}",'
        f'"cumulativeGasUsed":"{hex(before.gas_used + outcome.gas_used)}",'
        f'"effectiveGasPrice":"{hex(effective_gas_price(payload, place.base_fee))}",'
        f'"logs":{_logs(outcome, place, tx_hash, index, before.logs)},"logsBloom":"0x{bloom}",'
        f'"l2ToL1Logs":{_messages(outcome, place, tx_hash, index, before.messages)}}}'
    )


def created_by(transaction: Transaction, outcome: TransactionResult) -> bytes | None:
    """Return the contract that a transaction was sent to make, also if it failed to.

    Through the contract deployer that is the one which it reports to have made for the sender: contracts
    that a constructor makes are reported too, but for another.
    """
    payload = transaction.payload
    if payload.to is None:
        return create_address(transaction.sender, payload.nonce)
    if payload.to != CONTRACT_DEPLOYER or payload.data[:4] not in DEPLOYMENTS:
        return None
    reported = CONTRACT_DEPLOYED, transaction.sender.rjust(32, b"\0")
    for address, topics, _ in outcome.logs:
        if address == CONTRACT_DEPLOYER and topics[:2] == reported and len(topics) == 4:
            return topics[3][12:]
    return None


def _logs(
    outcome: TransactionResult, place: BlockInclusion, tx_hash: bytes, index: int, first: int
) -> str:
    if not outcome.logs:
        return "[]"
    context = log_context(place, tx_hash, index)
    texts = (event_text(it, context, first + n, n) for n, it in enumerate(outcome.logs))
    return f"[{','.join(texts)}]"


def _messages(
    outcome: TransactionResult, place: BlockInclusion, tx_hash: bytes, index: int, first: int
) -> str:
    if not outcome.l2_to_l1_logs:
        return "[]"
    return message_texts(messages_of(outcome), place, (tx_hash, index), first)
