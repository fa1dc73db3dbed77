"""How long a small question waits while others ask large ones, on a node in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.harness import ROUNDS, Row, Target
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.support.node_process import running_node

BLOCKS: Final = 10_000
ROUND_SECONDS: Final = 2.0
BATCH: Final = 250
GAS: Final = 30_000_000
GROWTH_MS: Final = 10.0

EMITTER, LOOPER, READER = (Address(bytes([number]) * 20) for number in (0xA1, 0xA2, 0xA3))
# One log with a topic; a loop for ever; a loop over slots that begins where the call data says.
CODES: Final = {EMITTER: "5f355f5fa1", LOOPER: "5b5f56", READER: "5f355b8054506001016002 56"}

LOOP: Final = ("eth_call", [{"to": str(LOOPER), "gas": hex(GAS)}, "latest"])
WIDE_LOGS: Final = ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}])
QUESTION: Final[tuple[str, Sequence[object]]] = ("eth_blockNumber", [])

Question = tuple[str, Sequence[object]]


class Client:
    """One connection to a node."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def ask(self, body: object) -> bytes:
        """Return the answer to a request as it came."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/", msgspec.json.encode(body), headers)
        return self._connection.getresponse().read()

    def result(self, body: object) -> Any:
        """Return the result of a request that succeeds."""
        return msgspec.json.decode(self.ask(body))["result"]


def rows() -> Iterable[Row]:
    """Measure the 99th percentile of a small question, alone and beside large ones."""
    with running_node("--gas-price", "0") as node:
        _populate(Client(node.url))
        alone = _p99(node.url)
        yield Row(what="eth_blockNumber p99, alone", value=alone, unit="ms")
        for name, kinds in _LOADS.items():
            with _asking(node.url, kinds):
                growth = _p99(node.url) - alone
            target = Target(GROWTH_MS, "at most")
            yield Row(what=f"grows beside {name}", value=growth, unit="ms", target=target)


def request(question: Question, number: int = 1) -> dict[str, object]:
    """Return a question as it is sent."""
    method, params = question
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _populate(client: Client) -> None:
    """Seal blocks with a log each."""
    for address, code in CODES.items():
        client.ask(request(("anvil_setCode", [str(address), "0x" + code.replace(" ", "")])))
    secret = bytes.fromhex(str(derive(DEVELOPMENT_MNEMONIC, 1)[0].secret).removeprefix("0x"))
    for start in range(0, BLOCKS, BATCH):
        sent = [request(_emission(nonce, secret)) for nonce in range(start, start + BATCH)]
        client.ask(sent)
    assert int(client.result(request(QUESTION)), 16) == BLOCKS
    assert len(client.result(request(WIDE_LOGS))) == BLOCKS


def _emission(nonce: int, secret: bytes) -> Question:
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
    taken: list[float] = []
    end = time.perf_counter() + ROUND_SECONDS
    while (start := time.perf_counter()) < end:
        client.result(request(QUESTION))
        taken.append(time.perf_counter() - start)
        time.sleep(0.001)
    return sorted(taken)[len(taken) * 99 // 100] * 1e3


def _ask_for_ever(url: str, kind: str) -> None:
    client, number = Client(url), 0
    while True:
        number += 1
        client.ask(request(_question(kind, number)))


def _question(kind: str, number: int) -> Question:
    if kind == "slots":
        # Slots that nobody has read before, so that the state is asked for each of them.
        start = (number << 64).to_bytes(32).hex()
        return "eth_call", [{"to": str(READER), "gas": hex(GAS), "data": "0x" + start}, "latest"]
    return LOOP if kind == "loop" else WIDE_LOGS


@contextlib.contextmanager
def _asking(url: str, kinds: Iterable[str]) -> Iterator[None]:
    """Have a process for each of `kinds` ask it again and again."""
    spawn = multiprocessing.get_context("spawn")
    askers = [spawn.Process(target=_ask_for_ever, args=(url, kind)) for kind in kinds]
    for asker in askers:
        asker.start()
    try:
        # The askers have to begin before anything is measured.
        time.sleep(1.0)
        yield
    finally:
        for asker in askers:
            asker.kill()
            asker.join()


_LOADS: Final = {
    "a call of 30 M gas": ("loop",),
    "a call of 30 M gas that reads new slots": ("slots",),
    "logs of 10,000 blocks": ("logs",),
    "a call of 30 M gas and logs of 10,000 blocks": ("loop", "logs"),
    "slots and logs": ("slots", "logs"),
}
