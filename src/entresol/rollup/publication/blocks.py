"""What is published of a sealed block: what differs from the rules, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.chain.fees import fee_input
from entresol.chain.rules import ETHEREUM_TYPES, fee_constants_of
from entresol.errors import NotPublishable
from entresol.execution.block_rules import RecordRules, check_block, prevrandao_after
from entresol.primitives.published.block import (
    PublishedBlock,
    PublishedPrices,
    block_size,
)
from entresol.primitives.published.body import MAX_FRAME_BYTES
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.published.gas_limit import gas_limit_with_room
from entresol.primitives.published.limits import MAX_BODY_BYTES
from entresol.primitives.records import roots_of
from entresol.primitives.transactions import PriorityTransaction, load, may_be_unsigned
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.transactions.system import SYSTEM_TYPE
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.primitives.headers import Header
    from entresol.primitives.published.rules import BlockRules
    from entresol.primitives.records import BlockRecord
    from entresol.storage.block_rows import Prices

MAX_BLOCK_BYTES: Final = MAX_BODY_BYTES - MAX_FRAME_BYTES
"""What a block takes at most, because it is never divided."""

_DERIVABLE: Final = RecordRules(
    is_development=True, publishes=True, accepted_types=ETHEREUM_TYPES | {ZK_TYPE}
)
"""What others derive has constant fields, an order and types; what only developers may do is judged elsewhere."""


class RulesInForce(msgspec.Struct, frozen=True, kw_only=True):
    """Rules and prices of the block before; without prices a block is the first of its batch."""

    rules: BlockRules
    prices: PublishedPrices | None = None


def published_block(
    record: BlockRecord,
    parent: Header,
    prices: Prices,
    rules: BlockRules,
    before: RulesInForce,
) -> PublishedBlock:
    """Return what is published of a block.

    Raises `BlockRuleBroken` or `NotPublishable` for one that could not be derived from it. Edits that make it larger
    than a batch are published by hash.
    """
    header = record.header()
    check_block(record, parent, _DERIVABLE)
    found_prices = published_prices(prices)
    deposits, transactions = _transactions_of(record)
    block = PublishedBlock(
        timestamp_step=header.timestamp - parent.timestamp,
        rules=None if rules == before.rules else rules,
        prices=None if found_prices == before.prices else found_prices,
        edits=_edits_of(record),
        roots=tuple(roots_of(record)),
        deposits=deposits,
        transactions=transactions,
        **_differences(record, header, found_prices, rules),
    )
    if isinstance(block.edits, PublishedEdits) and block_size(block) > MAX_BLOCK_BYTES:
        return msgspec.structs.replace(block, edits=block.edits.by_hash())
    return block


def published_prices(prices: Prices) -> PublishedPrices:
    """Return the prices of a block from which the others follow."""
    return PublishedPrices(prices.l1_gas_price, prices.ether)


def base_fee_by_rule(rules: BlockRules, prices: PublishedPrices) -> int:
    """Return the base fee of a block by the fee rule."""
    return fee_input(fee_constants_of(rules), prices.l1_gas_price, prices.ether).base_fee


def gas_limit_by_rule(record: BlockRecord, rules: BlockRules) -> int:
    """Return the gas limit of a block by the rule: that of the chain, with room for what has to be first."""
    first = next((raw for raw, _ in record.transactions if raw[0] in PRIORITY_TYPES), None)
    payload = None if first is None else PriorityTransaction.decode(first)
    return gas_limit_with_room(rules.gas_limit, len(roots_of(record)), payload)


def _differences(
    record: BlockRecord, header: Header, prices: PublishedPrices, rules: BlockRules
) -> dict[str, Any]:
    """Return the fields of a header that do not follow from the rules."""
    by_rule = (
        ("gas_limit", header.gas_limit, gas_limit_by_rule(record, rules)),
        ("beneficiary", header.beneficiary, rules.beneficiary),
        ("base_fee", header.base_fee_per_gas, base_fee_by_rule(rules, prices)),
        ("prevrandao", header.mix_hash, prevrandao_after(header.parent_hash, header.number)),
    )
    return {name: value for name, value, expected in by_rule if value != expected}


def _edits_of(record: BlockRecord) -> PublishedEdits | None:
    return PublishedEdits.of(record.edits, record.codes) if record.edits else None


def _transactions_of(record: BlockRecord) -> tuple[int, tuple[bytes, ...]]:
    """Return how many deposits a block has, and the transactions after them."""
    raws = [raw for raw, _ in record.transactions]
    begin = 1 if raws and raws[0][0] == SYSTEM_TYPE else 0
    end = begin
    while end < len(raws) and raws[end][0] in PRIORITY_TYPES:
        end += 1
    for raw, sender in record.transactions[end:]:
        _check_sender(raw, sender)
    return end - begin, tuple(raws[end:])


def _check_sender(raw: bytes, sender: bytes) -> None:
    """Reject a transaction whose sender does not follow from its bytes."""
    if raw[0] == ZK_TYPE or not may_be_unsigned(raw):
        return
    payload: Any = load(raw, Address(sender)).payload
    if not payload.r and not payload.s:
        raise NotPublishable("transactions", "one has no signature, so nobody knows its sender")
