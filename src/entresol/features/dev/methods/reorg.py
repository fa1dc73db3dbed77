"""`anvil_rollback`, `anvil_reorg` and `anvil_reset`: blocks that are gone again, on both layers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from entresol.chain.mempool.validation import check_raw
from entresol.errors import (
    ControlRejected,
    ExecutionFailed,
    ForeignOrigin,
    InvalidParams,
    InvalidTransaction,
    MalformedValue,
    PoolRejection,
    RemoteFailed,
    RollbackRejected,
    UnknownAccount,
)
from entresol.features.dev.methods.mining import block_count, sliced
from entresol.primitives.transactions import BlobTransaction, decode
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.call_request import TransactionObject
from entresol.rpc.types.fork_target import ForkTarget, ResetOptions
from entresol.rpc.types.number import Number
from entresol.state_missing import retried

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.chain.keyring import Keyring
    from entresol.features.dev.checkpoint import NodeRevertPlan
    from entresol.features.dev.methods.revert_runner import RevertRunner
    from entresol.features.dev.node_chains import NodeChains
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.services.fill_transaction import TransactionFiller
    from entresol.rpc.types.fork_target import ForkControl
    from entresol.sequencer.sequencer import Sequencer

_BLOB_PREFIX: Final = bytes([BlobTransaction.type])


class ReorgTransaction:
    """A transaction of a reorg, raw or to be filled in, and the index of its block."""

    json_schema: ClassVar[dict[str, Any]] = {
        "type": "array",
        "prefixItems": [{"type": ["object", "string"]}, {"type": "integer"}],
    }

    def __init__(self, transaction: Data | TransactionObject, index: int) -> None:
        self.transaction = transaction
        self.index = index

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a pair of a transaction, an object or raw bytes, and a number."""
        if not isinstance(value, list) or len(value) != len(("transaction", "index")):
            raise MalformedValue("should be a pair of a transaction and the index of its block")
        given, index = value
        if isinstance(given, str):
            return cls(Data.parse(given), int(Number.parse(index)))
        return cls(convert(given, TransactionObject), int(Number.parse(index)))


class AnvilReorg:
    """Rolling back, by anvil's names."""

    prefix = "anvil"

    def __init__(
        self,
        chain: Chain,
        sequencer: Sequencer,
        node_chains: NodeChains,
        reverts: RevertRunner,
        keyring: Keyring,
        filler: TransactionFiller,
    ) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self._node_chains = node_chains
        self._reverts = reverts
        self._keyring = keyring
        self._filler = filler

    @method(RollbackRejected)
    def rollback(self, depth: Number | None = None) -> Awaitable[None] | None:
        """Roll the chain back by some blocks, by default one; its clock is set to that block.

        The other layer, if both are of this node, is rolled back to its head at that time, with batches and deposits. Steps
        of settlement that L1 no longer has are undone, also of batches that stay. One of several L2s is rolled back alone,
        unless L1 may have one of its batches: then L1 is, too, and each other L2 to before its first deposit since.
        """
        plan = self._plan(1 if depth is None else int(depth))
        return self._reverts.run(plan, None, None)

    @method(RollbackRejected, InvalidTransaction, PoolRejection, ExecutionFailed, UnknownAccount)
    async def reorg(
        self, depth: Number, transactions: list[ReorgTransaction] | None = None
    ) -> None:
        """Roll the chain back, and seal as many other blocks, with the given transactions in them."""
        count = block_count(int(depth))
        self._node_chains.check_depth(self._chain, count, what="Reorg")
        of_block: defaultdict[int, list[ReorgTransaction]] = defaultdict(list)
        for transaction in transactions or ():
            if transaction.index >= count:
                raise InvalidParams(
                    "Block number for reorg tx will exceed the reorged chain height. "
                    f"Block number {transaction.index} must not exceed (depth-1) {count - 1}"
                )
            of_block[transaction.index].append(transaction)
        await self._reverts.finish(self._plan(count))
        async for number in sliced(count):
            given = of_block.pop(number, [])
            async for at in sliced(len(given)):
                await self._add(given[at])
            await self._sequencer.seal()

    def _plan(self, depth: int) -> Callable[[], NodeRevertPlan]:
        """Return what plans a rollback; blocks that are sealed while it is prepared are rolled back too."""
        self._node_chains.check_depth(self._chain, depth)
        target = self._chain.number - depth
        return lambda: self._node_chains.plan_roll_back(
            self._chain, max(self._chain.number - target, 0)
        )

    async def _add(self, given: ReorgTransaction) -> None:
        if isinstance(given.transaction, Data):
            check_raw(given.transaction, self._chain.pool.rules)
            decoded = await _decoded(bytes(given.transaction))
            await retried(partial(self._chain.add, decoded))
            return
        sender = self._keyring.sender(given.transaction.from_)
        payload, sidecar = await self._filler.fill(given.transaction, sender)
        signed = self._keyring.transaction(payload, sender, sidecar)
        await retried(partial(self._chain.add, signed))


class AnvilReset:
    """`anvil_reset`: the genesis again, or a block of a remote chain."""

    prefix = "anvil"

    def __init__(self, node_chains: NodeChains, reverts: RevertRunner, forks: ForkControl) -> None:
        self._node_chains = node_chains
        self._reverts = reverts
        self._forks = forks

    @method(*(RollbackRejected, ControlRejected, ForeignOrigin, RemoteFailed))
    async def reset(self, options: ResetOptions | None = None) -> None:
        """Start again from the genesis, on both layers: without blocks, pool, snapshots and state edits.

        With `{forking: {jsonRpcUrl, blockNumber}}` the chain is a fork of that block then, by default of the last URL
        and of the latest block. Without options a fork ends, and the chain keeps its id.

        The development L1 is reset with the L2, whichever receives the request, because deposits and batches are on
        both: its contracts, accounts and balances are those of its genesis again. An L1 of `--l1-url` stays as it is,
        so the L2 can be reset only while none of its batches is there.
        """
        if options is not None:
            await self._forks.reset(options.target or ForkTarget())
        elif self._forks.is_fork:
            await self._forks.reset(None)
        else:
            await self._reverts.reset(self._node_chains)


class HardhatReset(AnvilReset):
    """`hardhat_reset`, which returns true."""

    prefix = "hardhat"
    acknowledges = True

    @method(*(RollbackRejected, ControlRejected, ForeignOrigin, RemoteFailed))
    async def reset(self, options: ResetOptions | None = None) -> None:
        """Start again from the genesis, on both layers; a devnet of Hardhat has one.

        With `{forking: {jsonRpcUrl, blockNumber}}` the chain is a fork of that block then; without it, it is none.

        The development L1 is reset with the L2, whichever receives the request: its blocks, contracts that were
        deployed, balances and snapshots are gone as well. An L1 of `--l1-url` stays as it is, so the L2 can be reset
        only while none of its batches is there.
        """
        target = None if options is None else options.target
        if target is not None or self._forks.is_fork:
            await self._forks.reset(target)
        else:
            await self._reverts.reset(self._node_chains)


async def _decoded(raw: bytes) -> Transaction:
    if raw[:1] != _BLOB_PREFIX:
        return decode(raw)
    # Verifying blobs takes some milliseconds.
    return await asyncio.get_running_loop().run_in_executor(None, decode, raw)
