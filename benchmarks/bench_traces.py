"""Traces over HTTP, beside anvil's, which has recorded every step while it mined."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.harness import Peer, Row, Target
from tests.support.anvil import running_anvil
from tests.support.differential.contracts import TOKEN
from tests.support.evm.assembler import assemble
from tests.support.node_process import running_node
from tests.support.rpc_client import HttpRpcClient

ROUNDS: Final = 5
GAS: Final = 5_000_000
BLOCK: Final = 200
SCANNED: Final = 10_000
OFF, ON = False, True

HASHER, CALLER, INNER, ERC20 = ("0x" + byte * 20 for byte in ("b1", "b2", "b3", "b4"))
CODES: Final = {
    # Hash a word again and again, until little gas is left.
    HASHER: assemble("loop: 32 0 keccak256 0 mstore gas 20000 lt @loop jumpi stop"),
    # Call a contract that counts in a slot, until little gas is left.
    CALLER: assemble(f"loop: 0 0 0 0 0 {INNER} gas call pop gas 60000 lt @loop jumpi stop"),
    INNER: assemble("0 sload 1 add 0 sstore stop"),
    ERC20: TOKEN,
}


class Traced(msgspec.Struct, frozen=True):
    """A node with something to trace: two transactions and a block."""

    client: HttpRpcClient
    hasher: str
    caller: str
    block: str

    def seconds(self, method: str, *params: Any) -> tuple[float, int]:
        """Return the best time of a request, and the size of its response, which nobody parses."""
        measured = [_request(self.client.url, method, params) for _ in range(ROUNDS)]
        return min(seconds for seconds, _ in measured), measured[0][1]


def rows() -> Iterable[Row]:
    """Measure traces of a long transaction, and of a full block."""
    with ExitStack() as cleanup:
        ours = cleanup.enter_context(our_node())
        theirs = cleanup.enter_context(anvil())
        calls = {"tracer": "callTracer"}
        for what, name, params in (
            ("struct logs of 5 M gas", "hasher", ()),
            ("callTracer of 5 M gas", "caller", (calls,)),
            ("prestateTracer of 5 M gas", "caller", ({"tracer": "prestateTracer"},)),
        ):
            yield compared(
                what,
                ours.seconds("debug_traceTransaction", getattr(ours, name), *params),
                theirs.seconds("debug_traceTransaction", getattr(theirs, name), *params),
            )
        for what, params in (("callTracer", (calls,)), ("struct logs", ())):
            yield compared(
                f"{what} of a block of {BLOCK}",
                ours.seconds("debug_traceBlockByNumber", ours.block, *params),
                theirs.seconds("debug_traceBlockByNumber", theirs.block, *params),
            )
        yield scan(ours)


def compared(what: str, ours: tuple[float, int], theirs: tuple[float, int]) -> Row:
    """Return a row, whose target is to be as fast as anvil."""
    (seconds, size), (peer, _) = ours, theirs
    return Row(
        what=what,
        value=seconds * 1_000,
        unit="ms",
        peer=Peer("anvil", peer * 1_000),
        target=Target(peer * 1_000, "at most"),
        note=f"{size / 1e6:.1f} MB",
    )


def scan(ours: Traced) -> Row:
    """Measure the search for the transactions of an address that has none."""
    # The idle connection may be closed by now.
    ours.client.close()
    ours.client("anvil_mine", SCANNED)
    seconds, _ = ours.seconds("ots_searchTransactionsBefore", "0x" + "99" * 20, 0, 25)
    return Row(
        what=f"ots_searchTransactionsBefore over {SCANNED:,} blocks", value=seconds, unit="s"
    )


@contextmanager
def our_node() -> Iterator[Traced]:
    """Start an L2 without L1, and give it something to trace."""
    with running_node("--no-l1") as node:
        yield prepared(HttpRpcClient(node.url))


@contextmanager
def anvil() -> Iterator[Traced]:
    """Start anvil, which records steps, and give it the same."""
    with running_anvil("--steps-tracing") as client:
        yield prepared(client)


def prepared(client: HttpRpcClient) -> Traced:
    """Send the transactions that are traced."""
    for address, code in CODES.items():
        client("anvil_setCode", address, "0x" + code.hex())
    sender, *_ = client("eth_accounts")
    mint = "0x40c10f19" + sender[2:].rjust(64, "0") + f"{10**18:064x}"
    hasher, caller, minted = (
        client("eth_sendTransaction", {"from": sender, "to": to, "gas": hex(GAS), "data": data})
        for to, data in ((HASHER, "0x"), (CALLER, "0x"), (ERC20, mint))
    )
    client.receipt(minted)
    client("evm_setAutomine", OFF)
    nonce = int(client("eth_getTransactionCount", sender, "latest"), 16)
    transfer = "0xa9059cbb" + ("77" * 20).rjust(64, "0") + f"{5:064x}"
    for index in range(BLOCK):
        call = {"from": sender, "to": ERC20, "gas": "0x15f90", "data": transfer}
        client("eth_sendTransaction", call | {"nonce": hex(nonce + index)})
    client("evm_mine")
    client("evm_setAutomine", ON)
    mined = client("eth_getBlockByNumber", "latest", OFF)
    assert len(mined["transactions"]) == BLOCK
    return Traced(client, hasher, caller, mined["number"])


def _request(url: str, method: str, params: tuple[Any, ...]) -> tuple[float, int]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    start = time.perf_counter()
    connection.request("POST", "/", body, {"content-type": "application/json"})
    response = connection.getresponse().read()
    seconds = time.perf_counter() - start
    connection.close()
    assert b'"error":{"code"' not in response[:200], response[:200]
    return seconds, len(response)
