"""Heavy deposits beside another client: `python -m tests.robustness.heavy_deposits --count 100`.

Requests transactions on L1 that use as much gas on L2 as L1 accepts, and prints how long a client of the L2 that
polls `eth_blockNumber` waits meanwhile.
"""

from __future__ import annotations

import argparse
import threading
import time
from statistics import quantiles

from entresol.primitives.values import Address
from tests.support.rollup.pair import ETHER, Pair, running_pair
from tests.support.rpc_client import HttpRpcClient

BURNER = Address(b"\xb0" * 20)
ENDLESS_LOOP = "0x5b5f56"
OVERHEAD = 10_000
PERIOD_SECONDS = 0.005


class Poller:
    """A client that polls `eth_blockNumber` on its own thread, and measures each response."""

    def __init__(self, url: str) -> None:
        self.seconds: list[float] = []
        self.heads: set[str] = set()
        self._client = HttpRpcClient(url)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        # From when a request was due: during a stall requests of many clients would wait.
        due = time.perf_counter()
        while not self._stopped.wait(max(due - time.perf_counter(), 0)):
            self.heads.add(self._client("eth_blockNumber"))
            self.seconds.append(time.perf_counter() - due)
            due += PERIOD_SECONDS


def deposit_heavily(pair: Pair, count: int, gas: int) -> tuple[Poller, float]:
    """Make the deposits; return the client that polled until all had arrived, and how long that took."""
    pair.l2("anvil_setCode", str(BURNER), ENDLESS_LOOP)
    sent = [
        pair.deposit(0, to=BURNER, gas_limit=gas + OVERHEAD, fee=ETHER // 10) for _ in range(count)
    ]
    poller, started = Poller(pair.l2.url), time.perf_counter()
    receipts = [pair.arrived(transaction) for transaction in sent]
    total = time.perf_counter() - started
    poller.stop()
    assert {receipt["status"] for receipt in receipts} == {"0x0"}, "the loop ended"
    return poller, total


def main() -> None:
    """Run the attack, and print its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--gas", type=int, help="gas of each; by default what a block has")
    arguments = parser.parse_args()
    # Long enough that one block of L1 has all of them.
    with running_pair("--l1-delay", "2", "--silent") as pair:
        limit = int(pair.l2("eth_getBlockByNumber", "latest", False)["gasLimit"], 16)
        poller, total = deposit_heavily(pair, arguments.count, arguments.gas or limit)
    seconds = poller.seconds
    cuts = quantiles(seconds, n=100)
    p50, p99 = cuts[49], cuts[98]
    print(f"{arguments.count} deposits in {total:.1f} s, {len(seconds)} responses beside them:")
    print(f"p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, max {max(seconds) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
