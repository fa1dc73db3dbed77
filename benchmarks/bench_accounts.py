"""Transactions of type 0x71: beside type 2, with a paymaster, and floods that nobody pays for."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from benchmarks.harness import Peer, Row, Target
from entresol.errors import EntresolError
from entresol.primitives.transactions import FeeMarketTransaction, Transaction, decode, sign
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.sequencer.sequencer import InlineSequencer
from tests.robustness import account_floods
from tests.support.contracts.accounts import (
    EAT_GAS,
    NOBODY,
    VALIDATE,
    ScriptedWorld,
    fill,
    use_nonce,
)
from tests.support.contracts.layer_two import ALICE, CHAIN_ID, ETHER, FEE, SECRETS
from tests.support.node_process import running_node

ROUNDS: Final = 5
COUNT: Final = 1_500
PAYMASTER_BLOCK: Final = 60
FLOOD: Final = 300
FLOOD_SECONDS: Final = 8.0


def rows() -> Iterable[Row]:
    """Measure transactions of type 0x71."""
    plain, zk = [], []
    for _ in range(ROUNDS):
        plain.append(rate(_type_2))
        zk.append(rate(_type_0x71))
    yield Row(
        what="0x71 transfers of keys, blocks of 500",
        value=max(zk),
        unit="/s",
        peer=Peer("type 2", max(plain)),
        target=Target(0.8 * max(plain), "at least"),
        note="of processor time, the best of some rounds",
    )
    yield Row(
        what=f"transfers with a paymaster, blocks of {PAYMASTER_BLOCK}",
        value=statistics.median(sponsored_rate() for _ in range(ROUNDS)),
        unit="/s",
        note="validated before the pool, and run in the block",
    )
    yield from floods()


def rate(make: Callable[[int], Transaction]) -> float:
    """Return how many transfers a second of processor time go from raw bytes into blocks of 500.

    Processor time, because the ratio of two rates is what counts, and other programs disturb it.
    """
    raws = [make(nonce).raw for nonce in range(COUNT)]
    l2 = ScriptedWorld()
    l2.chain.schedule.seal_on_request()
    start = time.process_time()
    for at in range(0, COUNT, 500):
        for raw in raws[at : at + 500]:
            InlineSequencer(l2.chain).submit(raw)
        l2.chain.builder.seal()
    seconds = time.process_time() - start
    assert l2.nonce(ALICE) == COUNT
    l2.close()
    return COUNT / seconds


def sponsored_rate() -> float:
    """Return how many transfers a second a paymaster pays for."""
    count = 10 * PAYMASTER_BLOCK
    payloads = [fill(ALICE, nonce=nonce, paymaster=TESTNET_PAYMASTER) for nonce in range(count)]
    raws = [sign(payload, SECRETS[0]).raw for payload in payloads]
    l2 = ScriptedWorld(paymaster_balance=100 * ETHER)
    l2.chain.schedule.seal_on_request()
    start = time.perf_counter()
    for at in range(0, count, PAYMASTER_BLOCK):
        for raw in raws[at : at + PAYMASTER_BLOCK]:
            InlineSequencer(l2.chain).submit(raw)
        l2.chain.builder.seal()
    seconds = time.perf_counter() - start
    assert l2.nonce(ALICE) == count
    l2.close()
    return count / seconds


def floods() -> Iterable[Row]:
    """Measure what floods of late failures and of bad signatures cost a node, and one late failure its worker.

    Processor time of all threads, over HTTP.
    """
    for name, requests_of in account_floods.LATE_FAILURES.items():
        with running_node("--log-level", "warning") as node:
            costs = account_floods.compare(node, requests_of(node), FLOOD_SECONDS)
        yield Row(
            what=f"flood of late failures: {name}",
            value=costs.late,
            unit="µs",
            peer=Peer("bad signature", costs.bad_signature),
            target=Target(costs.bad_signature, "at most"),
            note="processor time of the node for one, over HTTP",
        )
    yield validation()


def validation() -> Row:
    """Measure a late failure that is not throttled."""
    l2 = ScriptedWorld()
    account = l2.account(is_logged=False)
    l2.script(account, VALIDATE, use_nonce(0), ending=EAT_GAS, is_logged=False)
    late = [
        l2.from_contract(account, n.to_bytes(65), gas_limit=2_000_000).raw for n in range(FLOOD)
    ]
    admitted = microseconds(late, lambda raw: l2.chain.validation(decode(raw)))
    validated = microseconds(late, InlineSequencer(l2.chain).submit)
    l2.close()
    return Row(
        what="late failure, on the worker",
        value=validated - admitted,
        unit="µs",
        note="300,000 gas, one at a time, until its budget is used up",
    )


def microseconds(raws: Sequence[bytes], work: Callable[[bytes], object]) -> float:
    """Return the median time of `work`, which may reject."""
    times = []
    for raw in raws:
        start = time.perf_counter()
        with contextlib.suppress(EntresolError):
            work(raw)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _type_2(nonce: int) -> Transaction:
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        to=NOBODY,
        value=1,
        gas_limit=21_000,
        max_fee_per_gas=FEE,
        max_priority_fee_per_gas=0,
    )
    return sign(payload, SECRETS[0])


def _type_0x71(nonce: int) -> Transaction:
    return sign(fill(ALICE, nonce=nonce, value=1, gas_limit=21_000), SECRETS[0])
