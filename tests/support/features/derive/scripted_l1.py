"""An L1 that a test writes block by block, and what derives the batches that it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import msgspec

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.errors import LayerOneRejected
from entresol.features.derive.batch_deriver import BatchDeriver
from entresol.features.derive.derivation import Derivation, DerivationProgress, DerivationSources
from entresol.features.derive.errors import DerivationAlarm
from entresol.features.derive.l1_events import BATCH_RANGE, BATCHES_REVERTED, BatchClaim
from entresol.features.derive.opening import open_derived
from entresol.features.derive.snapshot import BatchSnapshot
from entresol.l1.availability.batch_data import BATCH_DATA
from entresol.l1.contracts import (
    BATCH_COMMITTED,
    BATCH_EXECUTED,
    BATCHES_VERIFIED,
    NEW_PRIORITY_REQUEST,
    ZkChain,
)
from entresol.l1.layer_one import L1Block, L1Finality, L1Log, L1Receipt, LayerOne
from entresol.primitives import abi
from entresol.primitives.batches import Batch, DataScheme
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batches import SealedBatch, stored_info_of
from entresol.rollup.publication.publication import published_genesis
from tests.support.chain.dev_chain import priority_transaction
from tests.support.known import known
from tests.support.published.values import DEVELOPMENT_RULES
from tests.support.rollup.layer_ones import request_data
from tests.support.rollup.publishing_chain import publishing_genesis

CONTRACT = Address(b"\xcc" * 20)
GENESIS = published_genesis(publishing_genesis(), DEVELOPMENT_RULES)
CHAIN_ID = DEVELOPMENT_RULES.chain_id


def word(number: int) -> Hash32:
    return Hash32(number.to_bytes(32))


class ScriptedLayerOne:
    """An L1 whose blocks a test writes; `fork` makes the hashes of its blocks others."""

    name = "the scripted L1"
    reorg_level = logging.WARNING

    def __init__(self) -> None:
        self.blocks: list[tuple[Hash32, list[L1Log]]] = []
        self.fork = 0
        self.finalized: int | None = 0
        """The last final block; None if it does not say."""
        self.genesis_hash = Hash32.zero()
        self.changed_logs: Callable[[list[L1Log]], list[L1Log]] = lambda logs: logs
        self.has_receipts = True
        self.requests: list[tuple[int, int]] = []
        self.batches: dict[bytes, Batch] = {}
        self.mine()

    # What a test writes

    def mine(self, *logs: tuple[Sequence[Hash32], bytes]) -> int:
        number = len(self.blocks)
        block_hash = Hash32(keccak256(b"%d/%d" % (self.fork, number)))
        found = [
            L1Log(
                address=CONTRACT,
                topics=tuple(topics),
                data=data,
                block_number=number,
                block_hash=block_hash,
                transaction_hash=Hash32(keccak256(block_hash)),
                index=index,
            )
            for index, (topics, data) in enumerate(logs)
        ]
        self.blocks.append((block_hash, found))
        return number

    def reorg(self, last: int) -> None:
        """Remove the blocks after `last`; those to come are others."""
        del self.blocks[last + 1 :]
        self.fork += 1

    def batch(self, number: int, *, blocks: int = 2, deposits: int = 0, salt: bytes = b"") -> Batch:
        """Return a batch of so many blocks that follows the one before it, as it is derived."""
        before = self._live().get(number - 1)
        first = 1 if before is None else before.last_block + 1
        first_id = 0 if before is None else before.first_priority_id + before.l1_transactions
        data = b"batch %d " % number + salt
        found = Batch(
            number=number,
            first_block=first,
            last_block=first + blocks - 1,
            first_timestamp=1_000,
            last_timestamp=1_000,
            transactions=deposits,
            l1_transactions=deposits,
            first_priority_id=first_id,
            priority_hash=bytes(32),
            priority_frontier=(),
            logs=0,
            message_root=keccak256(data),
            state_root=keccak256(b"state of " + data),
            data_scheme=DataScheme.CALLDATA,
            data_commitment=keccak256(b"commitment to " + data),
            data_size=len(data),
        )
        self.batches[data] = found
        return found

    def commit(self, number: int, **parts: Any) -> int:
        return self.mine(*self.commit_logs(self.batch(number, **parts)))

    def commit_logs(self, batch: Batch) -> list[tuple[Sequence[Hash32], bytes]]:
        data = next(key for key, value in self.batches.items() if value is batch)
        info = stored_info_of(batch, CHAIN_ID)
        number = word(batch.number)
        return [
            ((BATCH_DATA, number), abi.encode("(bytes)", (data,))),
            ((BATCH_RANGE, number, word(batch.first_block), word(batch.last_block)), b""),
            ((BATCH_COMMITTED, number, info.state_root, info.commitment), b""),
        ]

    def verify(self, before: int, last: int) -> int:
        return self.mine(((BATCHES_VERIFIED, word(before), word(last)), b""))

    def execute(self, *numbers: int) -> int:
        infos = [stored_info_of(self._live()[number], CHAIN_ID) for number in numbers]
        return self.mine(
            *(
                ((BATCH_EXECUTED, word(info.number), info.state_root, info.commitment), b"")
                for info in infos
            )
        )

    def settle(self, number: int, **parts: Any) -> None:
        self.commit(number, **parts)
        self.verify(number - 1, number)
        self.execute(number)

    def revert(self, last: int) -> int:
        _, verified, executed = self.totals()
        numbers = (last, min(verified, last), executed)
        return self.mine(((BATCHES_REVERTED,), abi.encode("(uint256,uint256,uint256)", numbers)))

    def deposit(self, *ids: int) -> int:
        payloads = [
            priority_transaction(chain_id, sender=b"\1" * 20, to=b"\2" * 20) for chain_id in ids
        ]
        return self.mine(
            *(((NEW_PRIORITY_REQUEST,), request_data(payload)) for payload in payloads)
        )

    # What its state would be

    def totals(self) -> tuple[int, int, int]:
        committed = verified = executed = 0
        for log in self._all_logs():
            topic = log.topics[0]
            if topic == BATCH_COMMITTED:
                committed = int.from_bytes(log.topics[1])
            elif topic == BATCHES_VERIFIED:
                verified = int.from_bytes(log.topics[2])
            elif topic == BATCH_EXECUTED:
                executed = int.from_bytes(log.topics[1])
            elif topic == BATCHES_REVERTED:
                committed, verified, executed = abi.decode("(uint256,uint256,uint256)", log.data)
        return committed, verified, executed

    def _live(self) -> dict[int, Batch]:
        found: dict[int, Batch] = {}
        for log in self._all_logs():
            if log.topics[0] == BATCH_DATA:
                batch = self.batches[abi.decode("(bytes)", log.data)[0]]
                found[batch.number] = batch
        committed = self.totals()[0]
        return {number: it for number, it in found.items() if number <= committed}

    def _all_logs(self) -> Iterator[L1Log]:
        for _, logs in self.blocks:
            yield from logs

    # `LayerOne`

    async def chain_id(self) -> int:
        return 31337

    async def block_number(self, tag: L1Finality = "latest") -> int:
        if tag == "latest":
            return len(self.blocks) - 1
        if self.finalized is None:
            raise LayerOneRejected("eth_getBlockByNumber", -32000, "no finalized block")
        return self.finalized

    async def block(self, number: int) -> L1Block | None:
        if not 0 <= number < len(self.blocks):
            return None
        parent = self.blocks[number - 1][0] if number else Hash32.zero()
        return L1Block(
            number=number,
            hash=self.blocks[number][0],
            parent_hash=parent,
            timestamp=5_000 + number,
            base_fee=1,
        )

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return the receipt of a transaction; its gas is the number of its block."""
        for log in self._all_logs():
            if log.transaction_hash == transaction_hash and self.has_receipts:
                return L1Receipt(
                    transaction_hash=transaction_hash,
                    block_number=log.block_number,
                    block_hash=log.block_hash,
                    succeeded=True,
                    gas_used=log.block_number,
                )
        return None

    async def head(self) -> L1Block:
        return known(await self.block(len(self.blocks) - 1))

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        assert address == CONTRACT
        self.requests.append((first, last))
        return self.changed_logs(
            [
                log
                for _, logs in self.blocks[first : last + 1]
                for log in logs
                if log.topics[: len(topics)] == tuple(topics)
            ]
        )

    async def call(self, to: Address, data: bytes, **_where: Any) -> bytes:
        assert to == CONTRACT
        committed, verified, executed = self.totals()
        deposits = sum(log.topics[0] == NEW_PRIORITY_REQUEST for log in self._all_logs())
        numbers = {
            "getTotalBatchesCommitted()": committed,
            "getTotalBatchesVerified()": verified,
            "getTotalBatchesExecuted()": executed,
            "getTotalPriorityTxs()": deposits,
        }
        for signature, number in numbers.items():
            if data == abi.encode_call(signature):
                return number.to_bytes(32)
        number = int.from_bytes(data[4:])
        if number == 0:
            return self.genesis_hash
        live = self._live().get(number)
        return bytes(32) if live is None else stored_info_of(live, CHAIN_ID).hash()

    async def close(self) -> None:
        """Do nothing."""


class ScriptedDeriver:
    """Derives a batch of an L1 that was written: empty blocks, and the batch as it was written."""

    def __init__(self, chain: Chain, l1: ScriptedLayerOne) -> None:
        self._chain = chain
        self._l1 = l1
        self.wrong: set[bytes] = set()
        self.alarms: Iterator[str] = repeat("state_root")
        self.deposits: list[int] = []
        self.claims: list[BatchClaim] = []

    def derive(
        self,
        claim: BatchClaim,
        deposits: Callable[[int, int], Sequence[PriorityTransaction]],
        before: Callable[[int], None],
    ) -> SealedBatch:
        self.claims.append(claim)
        if not claim.data or claim.data in self.wrong:
            raise DerivationAlarm(claim.number, next(self.alarms), "0x01", "0x02")
        batch = self._l1.batches[claim.data]
        found = deposits(batch.first_priority_id, batch.l1_transactions)
        if len(found) != batch.l1_transactions:
            raise DerivationAlarm(claim.number, "deposits", len(found), batch.l1_transactions)
        self.deposits += [deposit.nonce for deposit in found]
        for payload in found:
            self._chain.enqueue(payload)
        count = batch.last_block - batch.first_block + 1
        for _ in range(count):
            before(self._chain.number + 1)
            self._chain.builder.seal()
        return SealedBatch(batch, b"", [0] * count, claim.data)

    def accept(
        self, claim: BatchClaim, snapshot: BatchSnapshot, before: Callable[[int], None]
    ) -> SealedBatch:
        assert snapshot.batch == claim.number
        self.wrong.discard(claim.data)
        return self.derive(claim, lambda _first, _count: (), before)

    def unwind(self, block: int) -> None:
        chain = self._chain
        mark = msgspec.structs.replace(chain.history.mark(), number=block, priority=())
        chain.history.unwind(mark, None, chain.ledger.reverted_by(block))


class Scene:
    def __init__(self, chain: Chain, l1: ScriptedLayerOne | None = None) -> None:
        self.chain = chain
        chain.clock.set_interval(3)
        self.l1 = l1 or ScriptedLayerOne()
        last = known(chain.batches.get(0))
        self.l1.genesis_hash = stored_info_of(last, CHAIN_ID).hash()
        self.deriver = ScriptedDeriver(chain, self.l1)
        self.slept = 0
        self.reported: list[DerivationProgress] = []

    @property
    def derivation(self) -> Derivation:
        return self.derivation_with(None)

    def derivation_with(self, snapshot: BatchSnapshot | None) -> Derivation:
        contract = ZkChain(cast("LayerOne", self.l1), CONTRACT)
        return Derivation(
            self.chain,
            contract,
            cast("BatchDeriver", self.deriver),
            sources=DerivationSources(snapshot=snapshot),
            report=self.reported.append,
            sleep=self._sleep,
        )

    def run(self, derivation: Derivation | None = None) -> Derivation:
        derivation = derivation or self.derivation
        asyncio.run(derivation.run())
        return derivation

    def state(self) -> dict[bytes, bytes]:
        return dict(self.chain.ledger.store._db.scan(b""))

    def _sleep(self, _seconds: float) -> Awaitable[None]:
        self.slept += 1
        return asyncio.sleep(0)


@contextmanager
def scene(path: Path | None = None, l1: ScriptedLayerOne | None = None) -> Iterator[Scene]:
    """Open the chain in a directory, or a temporary one, with an L1."""
    with closing(open_derived(path, GENESIS, b"genesis")) as chain:
        yield Scene(chain, l1)
