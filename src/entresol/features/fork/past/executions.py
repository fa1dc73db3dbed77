"""Execute on the remote's state after a block of the past, or execute the block itself once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from entresol.errors import MalformedValue, UnknownBlock
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.tracing import SealedBlock
from entresol.features.fork.errors import RemoteMalformed
from entresol.features.fork.past.passing import PassedReads
from entresol.features.fork.past.remote import block_of, is_null
from entresol.features.fork.past.router import names_transaction
from entresol.features.fork.replay.block_replay import executed_header
from entresol.features.fork.replay.remote_transactions import read_transaction
from entresol.features.fork.table_feed import remote_snapshot
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.transactions import load
from entresol.primitives.values import Address
from entresol.rpc.services.open_past import PastEnv
from entresol.state_missing import retried

if TYPE_CHECKING:
    from entresol._native import Rules, Snapshot
    from entresol.features.fork.past.remote import PastBlock, PastChain
    from entresol.features.fork.past.router import PastCall
    from entresol.primitives.headers import Header
    from entresol.rpc.services.open_past import OpenPast

StateAt: TypeAlias = "Callable[[PastBlock], Snapshot]"
"""Returns the state after a block of the past."""
RulesOf: TypeAlias = "Callable[[str], Rules]"
"""Returns the rules of a hardfork, on the remote's chain."""

MAX_STATES: Final = 32
"""How many states of the past are kept; what was read of them is in their tables, and in the cache."""
MAX_REPLAYED: Final = 8
"""How many blocks of the past are kept with their transactions."""

_LOG: Final = (Address.zero(), (), b"")
_block: Final = msgspec.json.Decoder(dict[str, Any]).decode
_logs: Final = msgspec.json.Decoder(list[dict[str, Any]]).decode


class NotExecutable(Exception):  # noqa: N818  # it becomes a request to the remote
    """A block that cannot be executed here; the text says why."""


class PastExecutions:
    """Runs calls on the remote's states.

    Remembers: the states used last, and the blocks executed last. Assumes: the event loop. Fails:
    with `RemoteFailed`, or as the call itself.
    """

    def __init__(
        self, remote: PastChain, rules_of: RulesOf, open_past: OpenPast, state_at: StateAt
    ) -> None:
        self._remote = remote
        self._rules_of = rules_of
        self._open = open_past
        self._state_at = state_at
        self._passed = PassedReads(remote)
        self._envs: BoundedMap[int, PastEnv] = BoundedMap(MAX_STATES)
        self._sealed: BoundedMap[int, SealedBlock] = BoundedMap(MAX_REPLAYED)

    async def execute(self, call: PastCall) -> Any:
        """Run a call on the state after its block, or before one of the block's transactions."""
        past = await self._env(call.number)
        if names_transaction(call.arguments):
            past = past._replace(sealed=await self._block(call.number))
        return await self._run(call, past)

    async def replay(self, call: PastCall) -> Any:
        """Execute a block once more; one that cannot be executed here is left to the remote's own method."""
        try:
            sealed = await self._block(call.number)
        except NotExecutable:
            return await self._passed.of_sealed(call.method, call.arguments, call.number)
        past = await self._env(call.number)
        return await self._run(call, past._replace(sealed=sealed))

    async def _run(self, call: PastCall, past: PastEnv) -> Any:
        def run() -> Any:
            with self._open.at(past):
                return call.run_by_number()

        return await retried(run)

    async def _env(self, number: int) -> PastEnv:
        known = self._envs.touch(number)
        if known is not None:
            return known
        block = await self._past_block(number)
        header, rules = self._executed(block)
        env = EvmEnv(self._state_at(block), rules, BlockEnv.of(header))
        past = PastEnv(number, block.hash, header, env)
        self._envs.put(number, past)
        return past

    def _executed(self, block: PastBlock) -> tuple[Header, Rules]:
        """Return what a block is executed with: the rules are those of its own hardfork."""
        hardfork = self._remote.hardfork_of(block.header.timestamp, block.json)
        return executed_header(block.header, hardfork), self._rules_of(hardfork)

    async def _past_block(self, number: int) -> PastBlock:
        block = await self._remote.past_block(number)
        if block is None:
            raise UnknownBlock(number)
        return block

    async def _block(self, number: int) -> SealedBlock:
        """Return a block with its transactions, on the state of its parent; raise `NotExecutable` if that is in vain."""
        known = self._sealed.touch(number)
        if known is not None:
            return known
        if number == 0:
            raise NotExecutable("the first block was not executed")
        block, parent = await self._past_block(number), await self._env(number - 1)
        stored = [_stored(transaction) for transaction in await self._transactions(block)]
        counts = await self._log_counts(block, len(stored))
        header, rules = self._executed(block)
        record = BlockRecord(
            header_rlp=header.encode(),
            transactions=tuple(stored),
            results=tuple(
                TransactionResult(succeeded=True, gas_used=0, logs=(_LOG,) * count)
                for count in counts
            ),
            changes=(),
            codes=(),
        ).with_header(header)
        state = parent.env.state
        sealed = SealedBlock(record, parent.header, rules, state)  # type: ignore[arg-type]
        self._sealed.put(number, sealed)
        return sealed

    async def _transactions(self, block: PastBlock) -> list[dict[str, Any]]:
        name = "eth_getBlockByHash"
        found = await self._remote.read(
            name,
            [str(block.hash), True],
            is_final=lambda sealed: block_of(sealed) == block.number,
            at=block.number,
        )
        try:
            transactions = _block(found)["transactions"]
            if all(isinstance(transaction, dict) for transaction in transactions):
                return list(transactions)
        except (msgspec.DecodeError, KeyError, TypeError):
            pass
        raise RemoteMalformed(self._remote.host, name, "a block with its transactions is expected")

    async def _log_counts(self, block: PastBlock, count: int) -> list[int]:
        """Return how many logs each transaction has: those after it count on."""
        found = await self._remote.read(
            "eth_getLogs",
            [{"blockHash": str(block.hash)}],
            is_final=lambda result: not is_null(result),
            at=block.number,
        )
        counts = [0] * count
        try:
            for log in _logs(found):
                counts[int(log["transactionIndex"], 16)] += 1
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
            raise RemoteMalformed(
                self._remote.host, "eth_getLogs", "logs with their transactions are expected"
            ) from None
        return counts


def _stored(fields: dict[str, Any]) -> tuple[bytes, Address]:
    """Return the bytes and the sender of a transaction; raise `NotExecutable` if blocks here cannot have it."""
    try:
        read = read_transaction(fields)
    except MalformedValue as error:
        raise NotExecutable(f"transaction {fields.get('hash')}: {error}") from None
    sent = read.transaction
    if sent is None:
        raise NotExecutable(f"transaction {read.hash}: {read.note}")
    # One that nobody signed may have another hash at the remote than its bytes have here.
    if load(sent.raw, sent.sender).hash != read.hash:
        raise NotExecutable(f"transaction {read.hash} has no signature")
    return sent.raw, sent.sender


def remote_state(remote: PastChain, block: PastBlock) -> Snapshot:
    """Return the state after a block of the past, of which the remote's table has what was read."""
    return remote_snapshot(remote.table_at(block.number))
