"""Transactions whose validation fails late, beside transactions with bad signatures: what a flood of each costs.

`python -m tests.robustness.account_floods --seconds 30` prints the processor time of the node for each transaction, and
the 99th percentile of another client's `eth_blockNumber` meanwhile, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Final

from entresol._native import keccak256, sign
from tests.robustness.floods import START_SECONDS, Flood, flooding, latencies, p99
from tests.support.contracts.accounts import EAT_GAS, VALIDATE, fill
from tests.support.contracts.layer_two import BOB
from tests.support.contracts.scripted_account import Script, deploy_account
from tests.support.http_server import RawConnection, post_request
from tests.support.node_process import RunningNode, running_node
from tests.support.rpc_client import HttpRpcClient

ACCOUNTS: Final = 30
"""Accounts whose validation uses up its gas; each of them alone would soon be throttled."""
BATCH: Final = 100


def late_failures(node: RunningNode) -> list[bytes]:
    """Deploy accounts whose validation fails late, and return requests that send their transactions."""
    with closing(HttpRpcClient(node.url)) as client:
        eater = {VALIDATE: Script(ending=EAT_GAS)}
        accounts = [deploy_account(client, eater) for _ in range(ACCOUNTS)]
    return _requests(
        lambda n: fill(
            accounts[n % ACCOUNTS], gas_limit=2_000_000, custom_signature=_signature(n)
        ).encode()
    )


def bad_signatures(_node: RunningNode) -> list[bytes]:
    """Return requests that send transactions that nobody has signed."""
    return _requests(lambda n: fill(BOB, custom_signature=_signature(n)).encode())


FLOODS: Final = {"late failures": late_failures, "bad signatures": bad_signatures}


def cpu_microseconds(node: RunningNode, requests: Sequence[bytes], seconds: float) -> float:
    """Send requests one after the other for some time, and return the processor time for each transaction."""
    sent, start = 0, _cpu_seconds(node)
    end = time.perf_counter() + seconds
    with RawConnection(node.port) as client:
        while time.perf_counter() < end:
            assert client.post(requests[sent % len(requests)]).status == HTTPStatus.OK
            sent += 1
    return (_cpu_seconds(node) - start) / (sent * BATCH) * 1e6


def flood_of(requests: Sequence[bytes]) -> Flood:
    """Return a flood of these requests on some connections."""
    return Flood(b"".join(map(post_request, requests)), connections=4)


def p99_meanwhile(node: RunningNode, requests: Sequence[bytes], seconds: float) -> float:
    """Return the 99th percentile of another client while requests arrive without pause."""
    with flooding(node.port, flood_of(requests)):
        time.sleep(START_SECONDS)
        return p99(latencies(node.port, seconds))


def _requests(raw: Callable[[int], bytes]) -> list[bytes]:
    """Return batches of transactions, which differ."""
    return [
        json.dumps(
            [
                {
                    "jsonrpc": "2.0",
                    "id": n,
                    "method": "eth_sendRawTransaction",
                    "params": ["0x" + raw(at * BATCH + n).hex()],
                }
                for n in range(BATCH)
            ]
        ).encode()
        for at in range(10)
    ]


def _signature(n: int) -> bytes:
    """Return the signature of something else, so that a key is recovered from it."""
    signature = sign(keccak256(n.to_bytes(32)), b"\x07" * 32)
    return signature[:64] + bytes([27 + signature[64]])


def _cpu_seconds(node: RunningNode) -> float:
    fields = Path(f"/proc/{node.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run both floods, and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    for name, requests_of in FLOODS.items():
        with running_node("--log-level", "warning") as node:
            requests = requests_of(node)
            # The first ones fill the buckets.
            cpu_microseconds(node, requests, START_SECONDS)
            cpu = cpu_microseconds(node, requests, options.seconds)
            others = p99_meanwhile(node, requests, options.seconds)
        print(f"{name:20} {cpu:6.1f} µs of processor time, p99 {others:6.1f} ms", flush=True)


if __name__ == "__main__":
    main()
