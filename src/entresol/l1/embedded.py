"""`LayerOne` over the development L1, a chain in this process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from entresol._native import Account, keccak256
from entresol.chain.events import BLOCK_EVENTS
from entresol.chain.logs import find_logs
from entresol.chain.mempool.validation import check_raw
from entresol.errors import AlreadyKnown, InvalidTransaction, LayerOneRejected, PoolRejection
from entresol.execution.calls import CallRequest, call, estimate_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.l1.layer_one import DEFAULT_SENDER, L1Block, L1Fees, L1Finality, L1Log, L1Receipt
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.transactions import decode
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import included
from entresol.state_missing import retried, waited
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.logs import LocatedLog
    from entresol.sequencer.sequencer import Sequencer

_REJECTED: Final = -32000


class EmbeddedLayerOne:
    """A `LayerOne` over a chain in this process. Fails: as `RemoteLayerOne`, but it is always reachable."""

    def __init__(self, chain: Chain, sequencer: Sequencer, name: str = "the embedded L1") -> None:
        self.name = name
        self._sequencer = sequencer
        # Only a developer reverts it.
        self.reorg_level = logging.DEBUG
        self._chain = chain
        self._rules = chain.rules.evm_rules()

    async def chain_id(self) -> int:
        """Return the chain id."""
        return self._chain.rules.chain_id

    async def block_number(self, tag: L1Finality = "latest") -> int:  # noqa: ARG002  # as in LayerOne
        """Return the number of the latest block, whatever the tag: it is final."""
        return self._chain.number

    async def block(self, number: int) -> L1Block | None:
        """Return a block by its number."""
        return None if self._chain.blocks.block_hash(number) is None else self._block(number)

    async def head(self) -> L1Block:
        """Return the latest block."""
        return self._block(self._chain.number)

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        """Return the logs of a contract in a range of blocks, in order, by their first topics."""
        query = LogQuery(
            addresses=frozenset({bytes(address)}),
            topics=tuple(frozenset({bytes(topic)}) for topic in topics),
        )
        last = min(last, self._chain.number)
        return [_log(found) for found in find_logs(self._chain.blocks, query, first, last)]

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        """Return the output of a call on the latest block, or on another one by its number or hash."""
        env, request = self._evm_env(block), CallRequest(sender=sender, to=to, data=data)
        return await waited(lambda: call(env, request))

    async def estimate_gas(
        self, sender: Address, to: Address | None, data: bytes, *, block: Hash32 | None = None
    ) -> int:
        """Return the gas that a transaction needs after the latest block, or after another one."""
        env, request = self._evm_env(block), CallRequest(sender=sender, to=to, data=data)
        return await waited(lambda: estimate_gas(env, request).gas)

    async def send(self, raw: bytes) -> Hash32:
        """Send a signed transaction; succeeds if L1 has it already."""
        transaction_hash = Hash32(keccak256(raw))
        if self._chain.blocks.locate_transaction(transaction_hash) is not None:
            return transaction_hash
        try:
            check_raw(raw, self._chain.pool.rules)
            # A revert may have put it back into the pool, where nothing else would wake the sequencer for it.
            with contextlib.suppress(AlreadyKnown):
                await retried(partial(self._chain.add, decode(raw)))
            await included(self._sequencer, transaction_hash)
        except (InvalidTransaction, PoolRejection) as error:
            raise LayerOneRejected("eth_sendRawTransaction", _REJECTED, str(error)) from error
        return transaction_hash

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return the receipt of a transaction, or None if it is in no block."""
        blocks = self._chain.blocks
        location = blocks.locate_transaction(transaction_hash)
        block_hash = None if location is None else blocks.block_hash(location.block_number)
        if location is None or block_hash is None:
            return None
        result = blocks.record(location.block_number).results[location.transaction_index]
        return L1Receipt(
            transaction_hash=transaction_hash,
            block_number=location.block_number,
            block_hash=block_hash,
            succeeded=result.succeeded,
            gas_used=result.gas_used,
        )

    async def nonce(self, address: Address, block: Hash32 | None = None) -> int:
        """Return the nonce of an account after the latest block, or after another one."""
        state = (
            self._chain.latest if block is None else self._chain.state_after(self._number(block))
        )
        return (await retried(partial(state.account, address)) or Account()).nonce

    async def balance(self, address: Address) -> int:
        """Return the balance of an account in wei."""
        return (await retried(lambda: self._chain.latest.account(address)) or Account()).balance

    async def code(self, address: Address, block: int | None = None) -> bytes:
        """Return the code of an account after the latest block, or after an older one."""
        state = self._chain.latest if block is None else self._chain.state_after(block)
        code_hash = (await retried(partial(state.account, address)) or Account()).code_hash
        if code_hash == EMPTY_CODE_HASH:
            return b""
        return await retried(partial(state.code, code_hash))

    async def fees(self) -> L1Fees:
        """Return the current gas prices."""
        return L1Fees(self._chain.next_base_fee(), self._chain.rules.suggested_tip)

    async def wait_for_block(self, seconds: float) -> None:
        """Wait for the next block, up to so many seconds."""
        woken = asyncio.Event()
        subscription = self._chain.events.subscribe(*BLOCK_EVENTS, backlog=1, wake=woken.set)
        try:
            with contextlib.suppress(TimeoutError):
                # Not `wait_for`, which on Python 3.11 can lose a cancellation.
                async with asyncio.timeout(seconds):
                    await woken.wait()
        finally:
            self._chain.events.unsubscribe(subscription)

    async def close(self) -> None:
        """Do nothing: the node closes the chain."""

    def _block(self, number: int) -> L1Block:
        header = self._chain.blocks.header(number)
        return L1Block(
            number=number,
            hash=header.hash(),
            parent_hash=header.parent_hash,
            timestamp=header.timestamp,
            base_fee=header.base_fee_per_gas,
        )

    def _number(self, block: int | Hash32 | None) -> int:
        if not isinstance(block, Hash32):
            return self._chain.number if block is None else block
        number = self._chain.blocks.block_number(block)
        if number is None:
            raise LayerOneRejected("a call", _REJECTED, f"there is no block {block}")
        return number

    def _evm_env(self, block: int | Hash32 | None) -> EvmEnv:
        number = self._number(block)
        header = self._chain.blocks.header(number)
        return EvmEnv(self._chain.state_after(number), self._rules, BlockEnv.of(header))


def _log(found: LocatedLog) -> L1Log:
    return L1Log(
        address=found.address,
        topics=found.topics,
        data=found.data,
        block_number=found.block_number,
        block_hash=found.block_hash,
        transaction_hash=found.transaction_hash,
        index=found.index,
    )
