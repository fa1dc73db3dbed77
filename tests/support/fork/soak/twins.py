"""The same random operations on a fork and on a chain of its own with the same state: both respond alike."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final

from tests.support.fork.soak.branches import ANCHOR, GAS, PRICE, SLOTS, Branches, words
from tests.support.fork.soak.outcomes import Outcomes

if TYPE_CHECKING:
    from tests.support.fork.soak.past_reads import PastReads
    from tests.support.fork.soak.weather import Weather
    from tests.support.rpc_client import RpcClient

ETHER: Final = 10**18
MAX_SNAPSHOTS: Final = 8
MAX_LOCAL: Final = 400
"""After so many blocks both begin again at the anchor."""

_RECEIPT: Final = ("status", "gasUsed", "contractAddress", "type", "from", "to", "blockNumber")
_LOG: Final = ("address", "topics", "data", "blockNumber", "logIndex")


class Twins:
    """Operates on both chains; what the fork rejects because of its remote, the other one is spared.

    Remembers: snapshots, transactions and accounts since the anchor. Assumes: one thread.
    """

    def __init__(
        self,
        chains: Branches,
        fork: RpcClient,
        weather: Weather,
        outcomes: Outcomes,
        reads: PastReads,
        random: Random,
    ) -> None:
        self._chains = chains
        self._fork = fork
        self._twin = chains.twin
        self._weather = weather
        self._outcomes = outcomes
        self._reads = reads
        self._random = random
        self._touched: dict[str, None] = {}
        self._sent: list[tuple[str, str]] = []
        self._snapshots: list[tuple[str, str, int]] = []
        self._start = self._begin()
        self._operations: list[tuple[int, Callable[[], None]]] = [
            (12, self._write),
            (6, self._transfer),
            (1, self._deploy),
            (4, self._edit),
            (3, self._mine),
            (2, self._snapshot),
            (2, self._revert),
            (1, self._reset),
            (20, self._read),
            (3, self._receipt),
            (3, self._logs),
        ]

    def act(self) -> None:
        """Do something on both."""
        if int(self._twin("eth_blockNumber"), 16) > ANCHOR + MAX_LOCAL:
            self._reset()
            return
        weights, operations = zip(*self._operations, strict=True)
        self._random.choices(operations, weights)[0]()

    def compare_all(self) -> None:
        """Compare everything that was touched, with a remote that behaves."""
        for address in [*self._touched, *self._chains.accounts]:
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode"):
                self._same(method, address, "latest")
        for slot in range(SLOTS):
            self._same("eth_getStorageAt", self._chains.store, f"0x{slot:064x}", "latest")
        for _ in range(5):
            self._receipt()
            self._logs()

    def _begin(self) -> str:
        """Give both the same balances, and return a snapshot of the other chain at the anchor."""
        start: str = self._twin("evm_snapshot")
        for account in self._chains.accounts:
            for node in (self._fork, self._twin):
                node("anvil_setBalance", account, hex(10_000 * ETHER))
        return start

    def _same(self, method: str, *params: Any, pick: Callable[[Any], Any] = lambda it: it) -> None:
        result = self._outcomes.of(self._fork, method, *params)
        if result is not None:
            self._outcomes.check(
                method, params, pick(result.value), pick(self._twin(method, *params))
            )

    def _send(self, **fields: str) -> None:
        sender = self._random.choice(self._chains.accounts)
        given = {"from": sender, "gas": GAS, "gasPrice": PRICE} | fields
        result = self._outcomes.of(self._fork, "eth_sendTransaction", given)
        if result is not None:
            self._sent.append((result.value, self._twin("eth_sendTransaction", given)))
            self._receipt()
        # One that was rejected left nothing.
        self._same("eth_getTransactionCount", sender, "pending")
        self._same("eth_getTransactionCount", sender, "latest")
        self._same("txpool_status")
        self._same("eth_blockNumber")

    def _write(self) -> None:
        start, count = self._random.randrange(2 * SLOTS), self._random.choice([0, 1, 2, 30, 100])
        value = self._random.choice([0, self._random.getrandbits(64)])
        self._send(to=self._chains.store, data=words(start, count, value))

    def _transfer(self) -> None:
        to = self._reads.cold_address()
        self._touched[to] = None
        self._send(to=to, value=hex(self._random.randrange(1, ETHER)))

    def _deploy(self) -> None:
        self._send(data="0x6001600c60003960016000f300")

    def _edit(self) -> None:
        address = self._reads.cold_address()
        self._touched[address] = None
        slot = f"0x{self._random.randrange(2 * SLOTS):064x}"
        word = f"0x{self._random.getrandbits(32):064x}"
        edits: list[tuple[str, list[Any]]] = [
            ("anvil_setBalance", [address, hex(self._random.getrandbits(80))]),
            ("anvil_setNonce", [address, hex(self._random.randrange(1, 99) + (1 << 20))]),
            ("anvil_setCode", [address, self._random.choice(["0x", "0x00", "0x600160005500"])]),
            ("anvil_setStorageAt", [address, slot, word]),
            ("anvil_setStorageAt", [self._chains.store, slot, word]),
        ]
        method, params = self._random.choice(edits)
        if self._outcomes.of(self._fork, method, *params) is not None:
            self._twin(method, *params)

    def _mine(self) -> None:
        count = hex(self._random.choice([1, 1, 2, 5]))
        if self._outcomes.of(self._fork, "anvil_mine", count) is not None:
            self._twin("anvil_mine", count)
        self._same("eth_blockNumber")

    def _snapshot(self) -> None:
        if len(self._snapshots) < MAX_SNAPSHOTS:
            ids = self._fork("evm_snapshot"), self._twin("evm_snapshot")
            self._snapshots.append((*ids, len(self._sent)))

    def _revert(self) -> None:
        if not self._snapshots:
            return
        position = self._random.randrange(len(self._snapshots))
        ours, theirs, sent = self._snapshots[position]
        if self._outcomes.of(self._fork, "evm_revert", ours) is not None:
            self._twin("evm_revert", theirs)
            del self._snapshots[position:], self._sent[sent:]
        self._same("eth_blockNumber")

    def _reset(self) -> None:
        with self._weather.one_branch():
            target = {"forking": {"blockNumber": ANCHOR}}
            if self._outcomes.of(self._fork, "anvil_reset", target) is None:
                self._same("eth_blockNumber")
                return
            network = self._fork("anvil_metadata")["forkedNetwork"]
        assert network["forkBlockHash"] == self._chains.anchor
        self._twin("evm_revert", self._start)
        self._snapshots.clear()
        self._sent.clear()
        self._start = self._begin()

    def _read(self) -> None:
        address = self._random.choice([*self._chains.accounts, self._reads.cold_address()])
        slot = self._random.randrange(2 * SLOTS)
        data = words(slot, self._random.choice([1, 5, 150]), self._random.choice([0, 5]))
        sender = self._random.choice(self._chains.accounts)
        call = {"from": sender, "to": self._chains.store, "data": data, "gas": GAS}
        probe = {
            "to": self._chains.probe,
            "data": words(int(self._reads.cold_address(), 16), 1 << 40),
        }
        tracer = {"tracer": "callTracer"}
        reads: list[tuple[str, list[Any]]] = [
            ("eth_getBalance", [address, "latest"]),
            ("eth_getTransactionCount", [address, "latest"]),
            ("eth_getCode", [address, "latest"]),
            ("eth_getStorageAt", [self._chains.store, f"0x{slot:064x}", "latest"]),
            ("eth_getStorageAt", [self._reads.cold_address(), f"0x{slot:064x}", "latest"]),
            ("eth_call", [call, "latest"]),
            ("eth_call", [probe, "latest"]),
            ("eth_estimateGas", [call]),
            ("eth_createAccessList", [call, "latest"]),
            ("debug_traceCall", [call, "latest", tracer]),
            ("debug_traceCall", [call, "latest", {"tracer": "prestateTracer"}]),
        ]
        method, params = self._random.choice(reads)
        self._same(method, *params, pick=_without_coinbase)

    def _receipt(self) -> None:
        if not self._sent:
            return
        ours, theirs = self._random.choice(self._sent)
        for method, pick in (
            ("eth_getTransactionReceipt", _receipt),
            ("debug_traceTransaction", lambda it: it),
        ):
            options = [{"tracer": "callTracer"}] if method.startswith("debug") else []
            result = self._outcomes.of(self._fork, method, ours, *options)
            if result is not None:
                expected = pick(self._twin(method, theirs, *options))
                self._outcomes.check(method, [ours], pick(result.value), expected)

    def _logs(self) -> None:
        first = self._random.randrange(ANCHOR)
        wanted = {"fromBlock": hex(first), "toBlock": "latest", "address": self._chains.store}
        self._same("eth_getLogs", wanted, pick=lambda it: [_picked(log, _LOG) for log in it])
        self._same("eth_feeHistory", "0x6", "latest", [], pick=lambda it: it["oldestBlock"])


def _picked(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields.get(name) for name in names}


def _receipt(receipt: dict[str, Any]) -> dict[str, Any]:
    logs = [_picked(log, _LOG) for log in receipt["logs"]]
    return _picked(receipt, _RECEIPT) | {"logs": logs}


def _without_coinbase(result: Any) -> Any:
    """Return a prestate without the account that fees go to, which tips have made different."""
    zero = "0x" + "00" * 20
    return {k: v for k, v in result.items() if k != zero} if isinstance(result, dict) else result
