"""How long a small request is delayed by large ones and by floods, on a node in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import multiprocessing
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.harness import ROUNDS, Peer, Row, Target
from benchmarks.largest_requests import largest_request_rows, longest_wait
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.robustness.floods import FLOODS, START_SECONDS, flooding, latencies, p99
from tests.support.anvil import running_anvil
from tests.support.node_process import running_node

BLOCKS: Final = 10_000
ROUND_SECONDS: Final = 2.0
GAS: Final = 30_000_000
GROWTH_MS: Final = 10.0

FLOOD_ROUNDS: Final = 3
FLOOD_MS: Final = 20.0
MOST_FLOOD_MS: Final = 50.0

EMITTER, LOOPER, READER = (Address(bytes([number]) * 20) for number in (0xA1, 0xA2, 0xA3))
# One log with a topic; a loop for ever; a loop over slots that begins at the number in the call data.
CODES: Final = {EMITTER: "5f355f5fa1", LOOPER: "5b5f56", READER: "5f355b8054506001016002 56"}

LOOP: Final = ("eth_call", [{"to": str(LOOPER), "gas": hex(GAS)}, "latest"])
WIDE_LOGS: Final = ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}])
# A million steps, and more than 100 MB of struct logs.
TRACE: Final = ("debug_traceCall", [{"to": str(LOOPER), "gas": hex(5_000_000)}, "latest"])
SMALL: Final[tuple[str, Sequence[object]]] = ("eth_blockNumber", [])

Call = tuple[str, Sequence[object]]


class Client:
    """One connection to a node."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def post(self, body: object) -> bytes:
        """Return the body of the response to a request."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/", msgspec.json.encode(body), headers)
        return self._connection.getresponse().read()

    def result(self, body: object) -> Any:
        """Return the result of a request that succeeds."""
        return msgspec.json.decode(self.post(body))["result"]


def rows() -> Iterable[Row]:
    """Measure the 99th percentile of a small request: alone, beside large ones, beside floods."""
    yield from _rows_beside_large_requests()
    yield from _rows_beside_floods()


def _rows_beside_large_requests() -> Iterable[Row]:
    with running_node("--gas-price", "0") as node:
        snapshot = Client(node.url).result(request(("evm_snapshot", [])))
        _populate(Client(node.url))
        alone = _p99(node.url)
        yield Row(what="eth_blockNumber p99, alone", value=alone, unit="ms")
        for name, kinds in _LOADS.items():
            with _load(node.url, kinds):
                growth = _p99(node.url) - alone
            target = Target(GROWTH_MS, "at most")
            yield Row(what=f"grows beside {name}", value=growth, unit="ms", target=target)
        body = msgspec.json.encode(request(("evm_revert", [snapshot])))
        wait = longest_wait(urlsplit(node.url).netloc, body)
        yield Row(
            what=f"longest wait beside evm_revert of {BLOCKS:,} blocks with a log",
            value=wait,
            unit="ms",
        )
    yield from largest_request_rows()


def _rows_beside_floods() -> Iterable[Row]:
    """Measure a node and anvil in turn beside each flood; both print nothing."""
    for flags in dict.fromkeys(flood.flags for flood in FLOODS.values()):
        names = [name for name, flood in FLOODS.items() if flood.flags == flags]
        with running_node("--log-level", "warning", *flags) as node, running_anvil() as anvil:
            peer_port = urlsplit(anvil.url).port or 0
            for name in names:
                yield _flood_row(name, _p99_beside(peer_port, name), _p99_beside(node.port, name))


def _flood_row(name: str, peer: float, value: float) -> Row:
    bound = min(max(3 * peer, FLOOD_MS), MOST_FLOOD_MS)
    return Row(
        what=f"eth_blockNumber p99 beside {name}",
        value=value,
        unit="ms",
        peer=Peer("anvil", peer),
        target=Target(bound, "at most"),
    )


def _p99_beside(port: int, flood: str) -> float:
    """Return the 99th percentile in the median of several rounds beside one flood."""
    with flooding(port, FLOODS[flood]):
        time.sleep(START_SECONDS)
        return statistics.median(
            p99(latencies(port, ROUND_SECONDS, FLOODS[flood].other)) for _ in range(FLOOD_ROUNDS)
        )


def request(call: Call, number: int = 1) -> dict[str, object]:
    """Return the document of a call."""
    method, params = call
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _populate(client: Client) -> None:
    """Seal blocks with a log each."""
    for address, code in CODES.items():
        client.post(request(("anvil_setCode", [str(address), "0x" + code.replace(" ", "")])))
    secret = bytes.fromhex(str(derive(DEVELOPMENT_MNEMONIC, 1)[0].secret).removeprefix("0x"))
    # One by one: those of a batch share a block.
    for nonce in range(BLOCKS):
        client.post(request(_emission(nonce, secret)))
    assert int(client.result(request(SMALL)), 16) == BLOCKS
    assert len(client.result(request(WIDE_LOGS))) == BLOCKS


def _emission(nonce: int, secret: bytes) -> Call:
    payload = FeeMarketTransaction(
        chain_id=270,
        nonce=nonce,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=0,
        gas_limit=100_000,
        to=EMITTER,
        value=0,
        data=nonce.to_bytes(32),
    )
    return "eth_sendRawTransaction", ["0x" + sign(payload, secret).raw.hex()]


def _p99(url: str) -> float:
    """Return the 99th percentile in the best of several rounds, in milliseconds."""
    client = Client(url)
    return min(_round(client) for _ in range(ROUNDS))


def _round(client: Client) -> float:
    latencies: list[float] = []
    end = time.perf_counter() + ROUND_SECONDS
    while (start := time.perf_counter()) < end:
        client.result(request(SMALL))
        latencies.append(time.perf_counter() - start)
        time.sleep(0.001)
    return sorted(latencies)[len(latencies) * 99 // 100] * 1e3


def _post_forever(url: str, kind: str) -> None:
    client, number = Client(url), 0
    while True:
        number += 1
        client.post(request(_large_call(kind, number)))


def _large_call(kind: str, number: int) -> Call:
    if kind == "slots":
        # Slots that were not read before, so that each is read from the state.
        start = (number << 64).to_bytes(32).hex()
        return "eth_call", [{"to": str(READER), "gas": hex(GAS), "data": "0x" + start}, "latest"]
    calls: dict[str, Call] = {"loop": LOOP, "logs": WIDE_LOGS, "trace": TRACE}
    return calls[kind]


@contextlib.contextmanager
def _load(url: str, kinds: Iterable[str]) -> Iterator[None]:
    """Have a process for each of `kinds` send its requests again and again."""
    spawn = multiprocessing.get_context("spawn")
    loaders = [spawn.Process(target=_post_forever, args=(url, kind)) for kind in kinds]
    for loader in loaders:
        loader.start()
    try:
        # The loaders have to begin before anything is measured.
        time.sleep(1.0)
        yield
    finally:
        for loader in loaders:
            loader.kill()
            loader.join()


_LOADS: Final = {
    "a call of 30 M gas": ("loop",),
    "a call of 30 M gas that reads new slots": ("slots",),
    "logs of 10,000 blocks": ("logs",),
    "a call of 30 M gas and logs of 10,000 blocks": ("loop", "logs"),
    "slots and logs": ("slots", "logs"),
    "struct logs of 5 M gas": ("trace",),
}
