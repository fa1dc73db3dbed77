"""Execute a block from what is published of it: its transactions, and what its header has by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from entresol._native import Rules, keccak256
from entresol.chain.fees import fee_input
from entresol.chain.rules import FORKS, ChainRules, fee_constants_of
from entresol.errors import (
    BlockFull,
    BlockRuleBroken,
    InvalidTransaction,
    SystemTransactionFailed,
    UnreadableData,
)
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock, ParentBlock
from entresol.execution.block_rules import check_block, next_salt, prevrandao_after
from entresol.execution.evm_env import BlockEnv
from entresol.features.derive.errors import UnderivableBlock
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.limits import gas_limit_with_room
from entresol.primitives.transactions import PriorityTransaction, SystemTransaction, Transaction
from entresol.storage.block_rows import Prices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol._native import Snapshot
    from entresol.primitives.headers import Header
    from entresol.primitives.published.body import PublishedBlock, PublishedPrices
    from entresol.primitives.published.rules import BlockRules
    from entresol.primitives.values import Hash32
    from entresol.state.state_trie import StateTrie
    from entresol.storage.store_view import StoreView

_LATEST_TIMESTAMP: Final = 2**64 - 1
"""A commitment has eight bytes for it."""


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """Rules and prices of a block, and what follows from them; empty blocks have those of the block before."""

    published: BlockRules
    chain: ChainRules
    evm: Rules
    prices: Prices | None = None
    """None before the first block of a batch, which has them."""
    base_fee: int = 0

    @classmethod
    def of(cls, chain: ChainRules, published: BlockRules) -> InForce:
        """Return rules that were published, without prices; `chain` has what is not published."""
        rules = chain.at(published)
        return cls(published=published, chain=rules, evm=rules.evm_rules())

    def after(self, block: PublishedBlock) -> InForce:
        """Return what is in force in a block that follows; raise `UnderivableBlock` for rules that it cannot have."""
        found = self
        if block.rules is not None:
            check_change(self.published, block.rules)
            found = InForce.of(self.chain, block.rules)
            if block.prices is None and self.prices is not None:
                return found.at_prices(self.prices)
        return found if block.prices is None else found.at_prices(block.prices)

    def at_prices(self, prices: PublishedPrices | Prices) -> InForce:
        """Return the same rules at prices of L1, from which those of the L2 follow."""
        fees = fee_input(fee_constants_of(self.published), prices.l1_gas_price, prices.ether)
        return msgspec.structs.replace(
            self,
            prices=Prices(prices.l1_gas_price, fees.fair_pubdata_price, prices.ether),
            base_fee=fees.base_fee,
        )


class BlockParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a block is executed with beside what is published of it."""

    in_force: InForce
    edits: PublishedEdits | None
    deposits: Sequence[PriorityTransaction]
    transactions: Sequence[Transaction | InvalidTransaction]
    """With senders recovered; those that could not be read are errors."""


def check_change(before: BlockRules, after: BlockRules) -> None:
    """Raise `UnderivableBlock` for new rules that would make another chain of it, or that are not known here."""
    if after.fork not in FORKS:
        raise UnderivableBlock("rules.fork", f"{after.fork} is not known: update entresol")
    for name in ("chain_id", "is_development"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            raise UnderivableBlock(f"rules.{name}", f"{new}, and it is {old} for ever")


def derive_block(
    block: PublishedBlock,
    parts: BlockParts,
    parent: Header,
    parent_hash: Hash32,
    *,
    snapshot: Snapshot,
    trie: StateTrie,
) -> ExecutedBlock:
    """Execute a block on its parent's state; raise `UnderivableBlock` if that is not possible, or breaks a rule."""
    in_force = parts.in_force
    env = _env(block, parts, parent, parent_hash)
    executor = BlockExecutor(
        in_force.evm,
        snapshot,
        env,
        ParentBlock(parent_hash, parent.state_root),
        accepts_unsigned=in_force.chain.is_development,
    )
    try:
        if parts.edits is not None:
            executor.edit(parts.edits.changes, parts.edits.codes)
        executor.begin()
        _run_all(executor, block, parts)
    except OverflowError as error:
        raise UnderivableBlock("header", f"no block has such values: {error}") from error
    executed = executor.finish(trie)
    try:
        check_block(executed.record, parent, in_force.chain.record_rules(parent, in_force.prices))
    except BlockRuleBroken as error:
        raise UnderivableBlock("rules", error.difference) from error
    return executed


def _env(block: PublishedBlock, parts: BlockParts, parent: Header, parent_hash: Hash32) -> BlockEnv:
    """Return the environment of a block: what is published of it, and everything else by rule."""
    number, timestamp = parent.number + 1, parent.timestamp + block.timestamp_step
    if timestamp > _LATEST_TIMESTAMP:
        raise UnderivableBlock("timestamp_step", f"the timestamp would be {timestamp}")
    in_force = parts.in_force
    rules = in_force.published
    gas_limit, base_fee = block.gas_limit, block.base_fee
    if gas_limit is None:
        first = parts.deposits[0] if parts.deposits else None
        gas_limit = gas_limit_with_room(rules.gas_limit, len(block.roots), first)
    return BlockEnv(
        number=number,
        timestamp=timestamp,
        gas_limit=gas_limit,
        beneficiary=rules.beneficiary if block.beneficiary is None else block.beneficiary,
        base_fee=in_force.base_fee if base_fee is None else base_fee,
        prevrandao=prevrandao_after(parent_hash, number)
        if block.prevrandao is None
        else block.prevrandao,
    )


def _run_all(executor: BlockExecutor, block: PublishedBlock, parts: BlockParts) -> None:
    if block.roots:
        system = SystemTransaction.root_import(block.roots, next_salt(executor.overlay))
        _run(executor, "roots", [Transaction.of_system(system)])
    _run(executor, "deposits", map(Transaction.from_l1, parts.deposits))
    _run(executor, "transactions", parts.transactions)


def _run(
    executor: BlockExecutor, field: str, transactions: Iterable[Transaction | InvalidTransaction]
) -> None:
    for index, transaction in enumerate(transactions):
        try:
            if isinstance(transaction, InvalidTransaction):
                raise transaction
            executor.run(transaction)
        except (InvalidTransaction, BlockFull, SystemTransactionFailed) as error:
            raise UnderivableBlock(f"{field}[{index}]", str(error)) from error


class EditSource(Protocol):
    """Somebody who has the edits of which L1 has only the hash."""

    def edits(self, block: int, wanted: EditsByHash) -> bytes | None:
        """Return the encoding of the edits of a block; None if they are not known."""


def read_edits(wanted: EditsByHash, found: bytes) -> PublishedEdits:
    """Decode edits that somebody has given; raise `UnderivableBlock` if they are not those that L1 has the hash of."""
    if len(found) != wanted.size:
        raise UnderivableBlock("edits.size", f"{wanted.size} bytes expected, got {len(found)}")
    found_hash = keccak256(found)
    if found_hash != wanted.hash:
        raise UnderivableBlock("edits.hash", f"{wanted.hash} expected, got 0x{found_hash.hex()}")
    try:
        return PublishedEdits.decode(found)
    except UnreadableData as error:
        raise UnderivableBlock("edits", str(error)) from error


def check_codes(edits: PublishedEdits, state: StoreView) -> None:
    """Raise `UnderivableBlock` if edits give an account code that nobody knows."""
    known = {EMPTY_CODE_HASH, *map(keccak256, edits.codes)}
    for change in edits.changes:
        code_hash = None if change.account is None else change.account.code_hash
        if code_hash is None or code_hash in known or state.code(code_hash) is not None:
            continue
        problem = f"0x{change.address.hex()} has code with the hash 0x{code_hash.hex()}, which is not published"
        raise UnderivableBlock("edits.codes", problem)
