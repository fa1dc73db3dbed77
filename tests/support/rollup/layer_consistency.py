"""Invariants between both layers, checked in the data directory of a node that is not running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from entresol.chain.chain import Chain
from entresol.l1.contracts import (
    BATCH_COMMITTED,
    BATCH_EXECUTED,
    BATCHES_VERIFIED,
    BatchTotals,
    ZkChain,
)
from entresol.l1.layer_one import L1Log
from entresol.node.config.schema import ChainConfig, EcosystemConfig, L1Config, NodeConfig
from entresol.node.node import Node
from entresol.node.open_node import open_node
from entresol.node.settlement.rollup import Rollup
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address
from entresol.rollup.batches import stored_info_of
from tests.support.rollup.supply import Bookkeeper, check_books


def check_agreement(
    data_dir: Path,
    tokens: Iterable[Address] = (),
    *,
    l1: L1Config | None = None,
    nonce: int | None = None,
    count: int = 1,
) -> None:
    """Check everything, of `count` L2s; `nonce` is that of the operator, of all its keys, before it had settled anything.

    Without one, the operator may have sent more transactions than those that settled something.
    """
    config = NodeConfig(
        chain=ChainConfig(data_dir=str(data_dir)),
        l1=l1 or L1Config(),
        ecosystem=EcosystemConfig(chains=(str(count),)),
    )
    asyncio.run(_check(config, tokens, nonce))


async def check_stored_books(
    config: NodeConfig, tokens: Iterable[Address], own: Iterable[tuple[int, Address]] = ()
) -> None:
    """Check the books of L2s that may have stopped at any moment, with batches that are not settled."""
    async with opened(config) as node:
        await check_books(bookkeepers(node), tokens, own)


async def _check(config: NodeConfig, tokens: Iterable[Address], nonce: int | None) -> None:
    async with opened(config) as node:
        for service, rollup in zip(node.layer_twos, node.rollups, strict=True):
            await check_deposits(service.chain, rollup)
            await check_settlement(service.chain, rollup, nonce)
        await check_books(bookkeepers(node), tokens)


def bookkeepers(node: Node) -> list[Bookkeeper]:
    """Return who counts the supply of each L2 of a node."""
    return [
        Bookkeeper(service.chain, it.settlement_layer.l1, it.settlement_layer.contracts)
        for service, it in zip(node.layer_twos, node.rollups, strict=True)
    ]


@asynccontextmanager
async def opened(config: NodeConfig) -> AsyncIterator[Node]:
    node = await open_node(config)
    try:
        yield node
    finally:
        await node.stop()


async def check_deposits(chain: Chain, rollup: Rollup) -> None:
    """Check that every deposit of L1 is on L2 once, as it is, and in order."""
    l1 = rollup.settlement_layer.l1
    contract = ZkChain(l1, rollup.settlement_layer.contracts.chain)
    sent = await contract.deposits(0, await l1.block_number())
    assert [transaction.priority_id for transaction in sent] == list(range(len(sent)))
    executed = [
        record.transaction(index)
        for record in chain.blocks.records()
        for index in range(len(record.transactions))
    ]
    ours = [
        transaction.hash
        for transaction in executed
        if isinstance(transaction.payload, PriorityTransaction)
    ]
    assert ours == [transaction.payload.hash() for transaction in sent]


async def check_settlement(chain: Chain, rollup: Rollup, nonce: int | None) -> None:
    """Check that every batch was settled once, by transactions that all served for something."""
    l1, contract = (
        rollup.settlement_layer.l1,
        ZkChain(rollup.settlement_layer.l1, rollup.settlement_layer.contracts.chain),
    )
    batches = chain.batches
    last = batches.last()
    assert last is not None
    assert await contract.totals() == BatchTotals(last.number, last.number, last.number)
    chain_id = chain.rules.chain_id
    for number in range(1, last.number + 1):
        batch = batches.get(number)
        assert batch is not None
        assert await contract.stored_batch_hash(number) == stored_info_of(batch, chain_id).hash()
        assert await contract.message_root(number) == batch.message_root
    head = await l1.block_number()
    committed, proven, executed = [
        await l1.logs(contract.address, [topic], 0, head)
        for topic in (BATCH_COMMITTED, BATCHES_VERIFIED, BATCH_EXECUTED)
    ]
    everything = list(range(1, last.number + 1))
    assert (
        [_number(entry, 1) for entry in committed]
        == [_number(transaction, 1) for transaction in executed]
        == everything
    )
    assert [
        n for entry in proven for n in range(_number(entry, 1) + 1, _number(entry, 2) + 1)
    ] == everything
    for step, logs in ((SettlementStep.COMMIT, committed), (SettlementStep.EXECUTE, executed)):
        recorded = [batches.settled(number, step) for number in everything]
        assert [entry and entry.transaction for entry in recorded] == [
            log.transaction_hash for log in logs
        ]
    if nonce is None:
        return
    used = {transaction.transaction_hash for transaction in (*committed, *proven, *executed)}
    nonces = [await l1.nonce(key.address) for key in rollup.settlement_layer.operator_keys.keys]
    assert sum(nonces) - nonce == len(used)


def _number(log: L1Log, topic: int) -> int:
    return int.from_bytes(log.topics[topic])
