"""Transfers on their way between the layers, or that wait to be claimed on L1: an index, however old they are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from entresol.l1.contracts import read_contract
from entresol.l1.layer_one import is_canonical
from entresol.primitives.base_token import L2_ASSET_ROUTER, L2_BASE_TOKEN
from entresol.primitives.batches import SettlementStep
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.l2_to_l1_logs import BOOTLOADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from entresol.chain.chain import Chain
    from entresol.l1.layer_one import L1Block, LayerOne
    from entresol.primitives.values import Address, Hash32
    from entresol.storage.log_index import OpenLog

MAX_TRANSFERS: Final = 100
"""How many one page has, and how many calls of L1 a round takes."""
MAX_ROUNDS: Final = 5
"""How many pages of nothing but what L1 has completed are passed over at once."""
MAX_REOPENED_BLOCKS: Final = 1_000
"""How many blocks of L1 one page may find reverted."""
_CALLS_AT_ONCE: Final = 8
_PLACE_SIZE: Final = 12
_WITHDRAWING: Final = frozenset(
    contract.rjust(32, b"\0") for contract in (L2_BASE_TOKEN, L2_ASSET_ROUTER)
)

TransferKind: TypeAlias = Literal["withdrawal", "message", "deposit", "failedDeposit"]
TransferStatus: TypeAlias = Literal["pending", "claimable"]


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """A deposit, message or withdrawal that is not completed on both layers."""

    kind: TransferKind
    status: TransferStatus
    transaction: Hash32
    index: int
    block: int | None
    batch: int | None
    problem: str | None = None
    """Why the relay of the node has not completed it when it last tried."""


class TransferPage(msgspec.Struct, frozen=True):
    """Some transfers, and where the next ones begin; None after the last."""

    transfers: list[Transfer]
    following: bytes | None


class OpenTransfers:
    """Lists what is not completed, the oldest first, and closes what L1 has completed.

    Persists: what is closed, with the block of L1 that says so: if a reorg or a revert removes the block, it is open
    again.
    """

    def __init__(self, chain: Chain, l1: LayerOne, nullifier: Address) -> None:
        self._blocks = chain.blocks
        self._batches = chain.batches
        self._table = chain.open_logs
        self._queue = chain.filler.priority
        self._chain_id = chain.rules.chain_id
        self._l1 = l1
        self._nullifier = nullifier
        self._found_open: BoundedMap[bytes, tuple[Hash32, Hash32]] = BoundedMap(10 * MAX_TRANSFERS)
        self.withdrawal_problem: Callable[[Hash32, int], str | None] = lambda _hash, _index: None
        """Why the relay of the node has not completed a withdrawal; set by that."""
        self.bundle_problem: Callable[[Hash32], str | None] = lambda _bundle: None
        """Why it has not executed a bundle that another chain has sent to this one."""
        # One page at a time, however many clients ask: L1 may be somebody else's.
        self._turn = asyncio.Lock()

    async def page(self, after: bytes = b"", limit: int = MAX_TRANSFERS) -> TransferPage:
        """Return up to `limit` transfers that follow a place; an empty one is the beginning."""
        limit = min(limit, MAX_TRANSFERS)
        if after and len(after) != _PLACE_SIZE:
            return self._deposits(int.from_bytes(after), limit)
        async with self._turn:
            await self._reopen()
            head = await self._l1.head()
            for _ in range(MAX_ROUNDS):
                logs = self._read(after, limit)
                closed = await self._closed(logs, head)
                transfers = [self._transfer(log) for log in logs if log not in closed]
                if len(logs) < limit:
                    deposits = self._deposits(0, limit - len(transfers))
                    return TransferPage(transfers + deposits.transfers, deposits.following)
                after = logs[-1].key
                if transfers:
                    break
        return TransferPage(transfers, after)

    def _read(self, after: bytes, limit: int) -> list[OpenLog]:
        head = self._blocks.head_number or 0
        # Rows of reverted blocks stay until others overwrite them.
        return [transfer for transfer in self._table.read(after, limit) if transfer.block <= head]

    def _deposits(self, first: int, limit: int) -> TransferPage:
        """Return the deposits that no block has yet, from an id on."""
        found = (deposit for deposit in self._queue if deposit.payload.nonce >= first)
        transfers: list[Transfer] = []
        for transaction in found:
            if len(transfers) == limit:
                return TransferPage(transfers, transaction.payload.nonce.to_bytes(8))
            transfers.append(
                Transfer(
                    kind="deposit",
                    status="pending",
                    transaction=transaction.hash,
                    index=0,
                    block=None,
                    batch=None,
                )
            )
        return TransferPage(transfers, None)

    def _transfer(self, log: OpenLog) -> Transfer:
        batch, is_executed = self._batch(log)
        kind = _kind(log)
        return Transfer(
            kind=kind,
            status="claimable" if is_executed and kind != "message" else "pending",
            transaction=log.transaction,
            index=log.index,
            block=log.block,
            batch=batch,
            problem=self.withdrawal_problem(log.transaction, log.index),
        )

    def _batch(self, log: OpenLog) -> tuple[int | None, bool]:
        """Return the batch of a log, and whether L1 has executed it."""
        position = self._batches.position_of_block(log.block)
        if position is None:
            return None, False
        settled = self._batches.settled(position.batch, SettlementStep.EXECUTE)
        return position.batch, settled is not None

    # Closing

    async def _reopen(self) -> None:
        """Open again what was closed as of a block that L1 does not have any more."""
        for _ in range(MAX_REOPENED_BLOCKS):
            last = self._table.last_closed()
            if last is None:
                return
            number, block_hash = last
            if await is_canonical(self._l1, number, block_hash):
                return
            self._table.reopen(number, self._blocks.block_hash)

    async def _closed(self, logs: list[OpenLog], head: L1Block) -> set[OpenLog]:
        """Return which of some logs are completed as of a block of L1, and close them."""
        hashes = {log: self._blocks.block_hash(log.block) for log in logs}
        found: set[OpenLog] = set()
        for some in _parts(logs):
            completed = await asyncio.gather(
                *(self._is_completed(log, hashes[log], head) for log in some)
            )
            found |= {
                log for log, is_completed in zip(some, completed, strict=True) if is_completed
            }
        # No await from here on. Blocks that were reverted meanwhile have left the table, or will.
        same = [
            (log, block_hash)
            for log in found
            if (block_hash := hashes[log]) and block_hash == self._blocks.block_hash(log.block)
        ]
        if same:
            self._table.close(same, head.number, head.hash)
        return found

    async def _is_completed(self, log: OpenLog, block_hash: Hash32 | None, head: L1Block) -> bool:
        kind = _kind(log)
        _, is_executed = self._batch(log)
        if kind == "message":
            return is_executed
        if kind == "withdrawal" and not is_executed:
            return False
        if block_hash is None or self._found_open.get(log.key) == (block_hash, head.hash):
            return False
        read = self._is_finalized if kind == "withdrawal" else self._is_refunded
        # What is closed stays closed, so that one wrong response may not do it.
        is_completed = await read(log, head) and await read(log, head)
        if not is_completed:
            self._found_open.put(log.key, (block_hash, head.hash))
        return is_completed

    async def _is_finalized(self, log: OpenLog, head: L1Block) -> bool:
        position = self._batches.position_of_block(log.block)
        if position is None:
            return False
        leaf = position.logs_before + log.position
        signature = "isWithdrawalFinalized(uint256,uint256,uint256)"
        arguments = (self._chain_id, position.batch, leaf)
        found = await read_contract(
            self._l1, self._nullifier, signature, "bool", *arguments, block=head.number
        )
        return bool(found)

    async def _is_refunded(self, log: OpenLog, head: L1Block) -> bool:
        """Return whether L1 holds nothing that a failed deposit could get back."""
        signature = "depositHappened(uint256,bytes32)"
        arguments = (self._chain_id, bytes(log.transaction))
        found = await read_contract(
            self._l1, self._nullifier, signature, "bytes32", *arguments, block=head.number
        )
        return not any(found)


def _kind(log: OpenLog) -> TransferKind:
    sent = log.log
    if sent.sender == BOOTLOADER:
        return "failedDeposit"
    return "withdrawal" if sent.key in _WITHDRAWING else "message"


def _parts(logs: list[OpenLog]) -> Iterator[Iterable[OpenLog]]:
    for at in range(0, len(logs), _CALLS_AT_ONCE):
        yield logs[at : at + _CALLS_AT_ONCE]
