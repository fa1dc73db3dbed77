"""An anvil that mines, reorgs, stops and restarts by a seeded plan, and counts what each of these hit."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Final

from entresol.primitives.values import Address
from tests.robustness.lies import Json
from tests.robustness.lying_l1 import LyingL1
from tests.support.anvil import RestartableAnvil
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient, RpcError

BLOCK_SECONDS: Final = (0.03, 0.12)
EVENT_EVERY: Final = 16
"""After one block of so many there is a reorg or an outage, and after more of those with settlement transactions."""
SETTLEMENT_REORG: Final = 0.35
LONGEST_PAUSE_SECONDS: Final = 1.0

KEEPING: Final = ("same", "moved")
"""Reorgs that leave every transaction, and the order of them."""
LOSING: Final = ("removed", "reordered", "shortened", "snapshot")
OUTAGES: Final = ("paused", "restarted")


class HostileL1:
    """Mines on an anvil in a thread of its own, and reorgs it by up to `depth` blocks.

    `events` counts what happened, `hits` what was removed from a block or tried while it was away.
    """

    def __init__(
        self, anvil: RestartableAnvil, proxy: LyingL1, seed: int, *, depth: int, keeps: bool
    ) -> None:
        self.events: Counter[str] = Counter()
        self.hits: Counter[str] = Counter()
        self.blocks = 0
        self.hostile = False
        self.reorgs = [*KEEPING, *(() if keeps else LOSING)]
        self._anvil = anvil
        self._proxy = proxy
        self._depth = depth
        self._random = random.Random(seed)
        self._client = HttpRpcClient(anvil.url)
        self._bridgehub = self._operator = ""
        self._floor = 0
        self._snapshots: list[tuple[int, str]] = []
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def begin(self, bridgehub: Address, operator: Address) -> None:
        """Be hostile from now on; the contracts are there and stay."""
        self._bridgehub, self._operator = str(bridgehub).lower(), str(operator).lower()
        self._floor = self._proxy.oldest = self.mine_more()
        self.hostile = True

    def mine_more(self) -> int:
        """Wait until so many blocks are mined that no reorg reaches what is there now, and return the last."""
        target = self.blocks + self._depth + 1

        def mined() -> int:
            self.check()
            return int(self.blocks >= target)

        with contextlib.closing(HttpRpcClient(self._anvil.url)) as client:
            eventually(mined)
            return int(client("eth_blockNumber"), 16)

    def check(self) -> None:
        """Raise what ended the thread."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Mine no more."""
        self._stopped.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        try:
            while not self._stopped.wait(self._random.uniform(*BLOCK_SECONDS)):
                self._client("evm_mine")
                self.blocks += 1
                if self.hostile:
                    self._disturb()
        except BaseException as failure:  # noqa: BLE001  # raised by `check`
            self._failure = failure

    def _disturb(self) -> None:
        block = self._client("eth_getBlockByNumber", "latest", True)
        kinds = [*self.reorgs, *OUTAGES]
        if any(it["from"] == self._operator for it in block["transactions"]):
            kinds = self.reorgs
            happens = self._random.random() < SETTLEMENT_REORG
        else:
            happens = self._random.randrange(EVENT_EVERY) == 0
        if happens:
            self._event(min(kinds, key=self._rarity))
        elif self._random.random() < 0.3:
            taken = (int(block["number"], 16), self._client("evm_snapshot"))
            self._snapshots = [*self._snapshots[-10:], taken]

    def _rarity(self, kind: str) -> float:
        rare = 12 if kind == "restarted" else 1
        return (1 + self.events[kind] * rare) * self._random.random()

    def _event(self, kind: str) -> None:
        self.events[kind] += 1
        if kind in OUTAGES:
            self._go_away(kind)
            return
        depth = min(self._random.randint(1, self._depth), self._head() - self._floor)
        if depth > 0:
            self._reorg(kind, depth)

    # Outages

    def _go_away(self, kind: str) -> None:
        before = sum(self._proxy.requests.values())
        seconds = self._random.uniform(0.1, LONGEST_PAUSE_SECONDS)
        if kind == "paused":
            self._anvil.pause(seconds)
        else:
            self._client.close()
            self._anvil.stop()
            self._stopped.wait(seconds)
            self._anvil.start()
            self._snapshots.clear()
            # A restarted anvil has no states of older blocks, so it cannot reorg them.
            self._floor = self._head()
        self.hits[f"requests while {kind}"] += sum(self._proxy.requests.values()) - before

    # Reorgs

    def _reorg(self, kind: str, depth: int) -> None:
        head = self._head()
        snapshot = None
        if kind == "snapshot":
            recent = [
                snapshot for snapshot in self._snapshots if head - self._depth <= snapshot[0] < head
            ]
            if not recent:
                return
            block, snapshot = recent[0]
            depth = head - block
        first = head - depth + 1
        removed = [
            self._client("eth_getBlockByNumber", hex(number), True)
            for number in range(first, head + 1)
        ]
        self._count(kind, removed)
        self._orphan(first, head)
        self._replace(kind, depth, removed, snapshot)
        self._snapshots = [snapshot for snapshot in self._snapshots if snapshot[0] < first - 1]

    def _replace(self, kind: str, depth: int, removed: list[Json], snapshot: str | None) -> None:
        """Remove the last blocks, and mine others in their place."""
        if snapshot is not None:
            assert self._client("evm_revert", snapshot)
        elif kind == "same":
            self._client("anvil_reorg", depth, list(self._raw(removed)))
        elif kind == "moved":
            # All in the last block.
            again = [(raw, depth - 1) for raw, _ in self._raw(removed)]
            self._client("anvil_reorg", depth, again)
        elif kind == "removed":
            self._client("anvil_reorg", depth, [])
        elif kind == "shortened":
            self._client("anvil_rollback", depth)
        else:
            self._reorder(depth, [raw for raw, _ in self._raw(removed)])

    def _reorder(self, depth: int, again: list[str]) -> None:
        self._random.shuffle(again)
        self._client("anvil_rollback", depth)
        for raw in again:
            # One whose nonce a pending transaction has is lost.
            with contextlib.suppress(RpcError):
                self._client("eth_sendRawTransaction", raw)
            if self._random.random() < 0.5:
                self._client("evm_mine")

    def _raw(self, removed: list[Json]) -> Iterator[tuple[str, int]]:
        for index, block in enumerate(removed):
            for transaction in block["transactions"]:
                yield self._client("eth_getRawTransactionByHash", transaction["hash"]), index

    def _orphan(self, first: int, last: int) -> None:
        query = {"fromBlock": hex(first), "toBlock": hex(last)}
        self._proxy.orphans = [*self._proxy.orphans, *self._client("eth_getLogs", query)][-100:]

    def _count(self, kind: str, removed: list[Json]) -> None:
        for transaction in (it for block in removed for it in block["transactions"]):
            if transaction["from"] == self._operator:
                self.hits[f"settlement {kind}"] += 1
            elif transaction["to"] == self._bridgehub:
                self.hits[f"deposit {kind}"] += 1

    def _head(self) -> int:
        return int(self._client("eth_blockNumber"), 16)
