"""Memory under load: `python -m tests.robustness.memory --seconds 300`, or with one kind of load by `--only`.

Sends what a node might store or cache, as fast as it responds, and prints the memory of the process over
time.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from websockets.frames import Opcode

from tests.support.http_server import RawConnection
from tests.support.node_process import RunningNode, running_node

ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
EVERY_SECONDS = 20.0


class Load:
    """Kinds of load, each a method that sends some requests."""

    def __init__(self, node: RunningNode) -> None:
        self._node = node
        self._client = RawConnection(node.port)
        self._random = random.Random(1)
        self.requests = 0

    def call(self, method: str, *params: object) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._client.post(json.dumps(body).encode())
        self.requests += 1

    def unknown(self) -> None:
        """Call methods that do not exist, by ever new names and paths."""
        name = self._random.randbytes(20).hex()
        self.call(name)
        self._client.post(
            b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % name.encode(), path=f"/{name}"
        )

    def filters(self) -> None:
        """Install filters that are never polled."""
        topic = "0x" + self._random.randbytes(32).hex()
        self.call("eth_newFilter", {"topics": [[topic] * 20]})
        self.call("eth_newPendingTransactionFilter")

    def transfers(self) -> None:
        """Send ether to ever new addresses, a block each."""
        to = "0x" + self._random.randbytes(20).hex()
        self.call("eth_sendTransaction", {"from": ALICE, "to": to, "value": "0x1"})

    def reads(self) -> None:
        """Read blocks, with all that is cached of them."""
        number = hex(self._random.randrange(5_000))
        for method, params in (
            ("eth_getBlockByNumber", (number, True)),
            ("eth_getBlockReceipts", (number,)),
        ):
            self.call(method, *params)
        self.call("eth_getProof", ALICE, [number], "latest")

    def calls(self) -> None:
        """Call what is different each time, of accounts that are."""
        to = "0x" + self._random.randbytes(20).hex()
        code = "0x60" + self._random.randbytes(1).hex() + "545f5260205ff3"
        self.call("eth_call", {"to": to}, "latest", {to: {"code": code}})
        self.call("eth_getBalance", to)

    def subscriptions(self) -> None:
        """Subscribe, and leave without a word."""
        with RawConnection(self._node.port) as client:
            client.open_websocket()
            for kind in ("newHeads", "logs", "newPendingTransactions"):
                body = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [kind]}
                client.send_frame(Opcode.TEXT, json.dumps(body).encode())
                client.frame()
        self.requests += 3

    def garbage(self) -> None:
        """Send what is not a request, and connections that end half way."""
        self._client.post(b"[" + self._random.randbytes(200) + b"]")
        with RawConnection(self._node.port) as client:
            client.send(b"POST / HTTP/1.1\r\n")
        self.requests += 1

    def snapshots(self) -> None:
        """Remember the chain again and again."""
        self.call("evm_snapshot")


KINDS = (
    "unknown",
    "filters",
    "transfers",
    "reads",
    "calls",
    "subscriptions",
    "garbage",
    "snapshots",
)


def resident_mib(pid: int) -> float:
    """Return the memory that a process has, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def main() -> None:
    """Run the load, and print a line now and then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--only", choices=KINDS)
    options = parser.parse_args()
    with running_node() as node:
        load = Load(node)
        kinds: list[Callable[[], None]] = [
            getattr(load, kind) for kind in ([options.only] if options.only else KINDS)
        ]
        started = printed = time.monotonic()
        print(f"{0:6.0f} s {0:9,} requests {resident_mib(node.process.pid):7.1f} MiB", flush=True)
        while (now := time.monotonic()) - started < options.seconds:
            for kind in kinds:
                kind()
            if now - printed > EVERY_SECONDS:
                printed = now
                seconds, size = now - started, resident_mib(node.process.pid)
                print(f"{seconds:6.0f} s {load.requests:9,} requests {size:7.1f} MiB", flush=True)


if __name__ == "__main__":
    main()
