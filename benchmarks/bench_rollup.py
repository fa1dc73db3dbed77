"""The rollup: deposits, estimates, batches, proofs, and the cost of settlement."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlsplit

from benchmarks import publishing
from benchmarks.harness import Peer, Row, Target, best_seconds
from entresol._native import keccak256
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.log_prover import LogProver
from entresol.rollup.message_tree import CAPACITY, MessageTree
from tests.support.anvil import Anvil, running_anvil
from tests.support.chain.dev_chain import open_importing, roots
from tests.support.evm.programs import call_to, program, store, work
from tests.support.rollup.pair import USER, Pair, running_pair
from tests.support.rollup.settling_chain import SettlingChain
from tests.support.rpc_client import RpcClient

DEPOSITS: Final = 200
MESSAGES_A_TRANSACTION: Final = 256
REQUESTS: Final = 300
ROOTS: Final = 1_000
OUTER, INNER, LONG = (Address(bytes([number]) * 20) for number in (0xC1, 0xC2, 0xC3))
LONG_CODE: Final = bytes(number * 7 % 256 for number in range(24 * 1024))
# A transaction that sends more messages than these does not fit into a block.
MESSAGES_AT_ONCE: Final = 450

OPTIONS = ("--silent", "--l1-delay", "0.02", "--settle-interval", "1000")
"""Batches are sealed on request."""


def rows() -> Iterable[Row]:
    """Measure the ties between the layers."""
    yield from tree_and_proofs()
    yield imports()
    yield from publishing.rows()
    with running_pair(*OPTIONS) as layers, running_anvil() as anvil:
        yield from beside_anvil(layers, anvil)
        yield deposits(layers)
        yield proofs_over_http(layers)


def tree_and_proofs() -> Iterator[Row]:
    """Measure a batch with as many messages as its tree has leaves."""
    chain = SettlingChain.begin()
    batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_age=1e9))
    left, sent = CAPACITY, []
    while left:
        sent.append(chain.send_message(7, times=min(left, MESSAGES_AT_ONCE)))
        left -= min(left, MESSAGES_AT_ONCE)
        chain.builder.seal()
    asyncio.run(batcher.seal(0.0))
    batches = chain.batches
    batches.settle([1], SettlementStep.EXECUTE, SettlementTransaction(Hash32.zero(), 1, 1))
    logs = batches.logs(1)
    yield Row(
        what=f"message tree of {CAPACITY:,} logs",
        value=best_seconds(lambda: MessageTree.of_logs(logs), calls=3) * 1e3,
        unit="ms",
    )
    first = best_seconds(
        lambda: LogProver(chain.blocks, chain.batches).prove_transaction_log(sent[-1]), calls=3
    )
    yield Row(what="first proof of an old full batch", value=first * 1e3, unit="ms")
    prover = LogProver(chain.blocks, chain.batches)
    assert prover.prove_transaction_log(sent[-1]) is not None
    yield Row(
        what="warm proof in a full batch",
        value=best_seconds(lambda: prover.prove_transaction_log(sent[-1], 3)) * 1e3,
        unit="ms",
        target=Target(1, "at most"),
    )
    chain.close()


def imports() -> Row:
    """Measure the import of the roots of other chains, a hundred a block."""
    chain = open_importing()
    chain.schedule.seal_on_request()
    chain.filler.roots.extend(roots(ROOTS))
    begun = time.perf_counter()
    while len(chain.filler.roots):
        chain.builder.seal()
    seconds = time.perf_counter() - begun
    chain.close()
    return Row(what=f"import of {ROOTS:,} roots of L1", value=seconds * 1e3, unit="ms")


def beside_anvil(layers: Pair, anvil: Anvil) -> Iterator[Row]:
    """Measure what anvil has under other names, with the same contracts on both."""
    codes = {
        INNER: program([work(100), store(1, 1)]),
        OUTER: program([call_to(INNER), store(1, 1)]),
        LONG: LONG_CODE.hex(),
    }
    for client in (layers.l2, anvil):
        for address, code in codes.items():
            client("anvil_setCode", str(address), "0x" + code)
        client("evm_mine")
    call = {"from": str(USER), "to": str(OUTER), "data": "0x" + "ab" * 100}
    ours, theirs = _latencies(
        (layers.l2, "zks_estimateGasL1ToL2", [call]), (anvil, "eth_estimateGas", [call])
    )
    yield _beside("zks_estimateGasL1ToL2, anvil: eth_estimateGas", ours, theirs)
    name = "0x" + keccak256(LONG_CODE).hex()
    ours, theirs = _latencies(
        (layers.l2, "zks_getBytecodeByHash", [name]), (anvil, "eth_getCode", [str(LONG), "latest"])
    )
    yield _beside("zks_getBytecodeByHash of 24 KiB, anvil: eth_getCode", ours, theirs)


def _beside(what: str, ours: float, theirs: float) -> Row:
    return Row(
        what=what,
        value=ours * 1e3,
        unit="ms",
        peer=Peer("anvil", theirs * 1e3),
        target=Target(theirs * 1e3, "at most"),
    )


def _latencies(*calls: tuple[RpcClient, str, Sequence[object]]) -> list[float]:
    """Return the median seconds of each call, sent in turns by one client."""
    latencies: list[list[float]] = [[] for _ in calls]
    connections = [HTTPConnection(urlsplit(client.url).netloc) for client, _, _ in calls]
    bodies = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        for _, method, params in calls
    ]
    for _ in range(REQUESTS):
        for connection, body, times in zip(connections, bodies, latencies, strict=True):
            begun = time.perf_counter()
            connection.request("POST", "/", body, {"Content-Type": "application/json"})
            # Decoding the response is the client's business, and not timed.
            response = connection.getresponse().read()
            times.append(time.perf_counter() - begun)
            assert b'"result"' in response
    for connection in connections:
        connection.close()
    return [statistics.median(times) for times in latencies]


def deposits(layers: Pair) -> Row:
    """Measure deposits from the first one that is sent on L1 to the last one that L2 has executed."""
    layers.arrived(layers.deposit(1))
    begun = time.perf_counter()
    sent = [layers.deposit(1) for _ in range(DEPOSITS)]
    layers.arrived(sent[-1])
    seconds = time.perf_counter() - begun
    return Row(what="deposits, from L1 to an L2 receipt", value=DEPOSITS / seconds, unit="/s")


def proofs_over_http(layers: Pair) -> Row:
    """Measure proofs of one client in a full batch that L1 has executed."""
    message = (layers.messenger.address, layers.messenger.encode("sendToL1", b"hello"))
    messages = [message] * MESSAGES_A_TRANSACTION
    layers.l2("anvil_zks_commitBatch", 1)
    sent = [
        layers.send_l2(layers.multicall, "aggregate", messages)
        for _ in range(CAPACITY // MESSAGES_A_TRANSACTION)
    ]
    for transaction in sent:
        assert layers.l2.receipt(transaction)["status"] == "0x1"
    proof = layers.proven(sent[-1])
    assert proof["id"] == CAPACITY - MESSAGES_A_TRANSACTION
    (seconds,) = _latencies((layers.l2, "zks_getL2ToL1LogProof", [sent[-1], 0]))
    return Row(what="proofs in a full batch over HTTP, one client", value=1 / seconds, unit="/s")
