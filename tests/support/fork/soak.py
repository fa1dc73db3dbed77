"""A fork in a process of its own, used at random while its remote misbehaves; and what is measured meanwhile."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from entresol.errors import RemoteFailed
from tests.support.anvil import Anvil, free_port, running_anvil
from tests.support.evm.assembler import assemble, initcode
from tests.support.fork import faults
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import ANVIL
from tests.support.rpc_client import HttpRpcClient, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.rpc_client import RpcClient

CHAIN_ID: Final = 4_242
SLOTS: Final = 600
COMMON: Final = 78
"""Blocks that both branches have; the first ones are final."""
ANCHOR: Final = 90
LATER: Final = 4
"""Blocks after the anchor, which a fork hides."""
FIRST_TIME: Final = 1_700_000_000
FIRST_ADDRESS: Final = 1 << 16
"""Of accounts that blocks send to; those of precompiles are below."""
PRICE: Final = hex(20 * 10**9)
GAS: Final = hex(4_000_000)

STORE: Final = """
    ; start, count, value: returns and logs the sum of so many slots, and sets the first one unless the value is zero
    0 calldataload 0x20 mstore
    0x20 calldataload 0x40 mstore
    loop: 0x40 mload iszero @done jumpi
    0x20 mload sload 0 mload add 0 mstore
    0x20 mload 1 add 0x20 mstore
    1 0x40 mload sub 0x40 mstore
    @loop jump
    done: 0x40 calldataload iszero @end jumpi
    0x40 calldataload 0 calldataload sstore
    end: 0 calldataload 0x20 0 log1
    0x20 0 return
"""
FILL: Final = f"""
    {SLOTS} 0 mstore
    fill: 0 mload dup1 3 mul 1 add swap1 sstore
    1 0 mload sub dup1 0 mstore @fill jumpi
"""
PROBE: Final = """
    ; address, number: returns balance, size of the code and hash of a block
    0 calldataload balance 0 mstore
    0 calldataload extcodesize 0x20 mstore
    0x20 calldataload blockhash 0x40 mstore
    0x60 0 return
"""


class Branches(NamedTuple):
    """The remote as it was when the fork began, and the same after a reorganisation."""

    remote: Anvil
    other: Anvil
    accounts: list[str]
    store: str
    probe: str
    transactions: list[str]


def words(*values: int) -> str:
    return "0x" + "".join(f"{value:064x}" for value in values)


@contextmanager
def branches() -> Iterator[Branches]:
    flags = ("--chain-id", str(CHAIN_ID), "--timestamp", str(FIRST_TIME))
    with running_anvil(*flags) as remote, running_anvil(*flags) as other:
        first, second = _History(remote, 0), _History(other, 1)
        for history in (first, second):
            history.build(COMMON, ANCHOR)
        sent = list(first.sent)
        for history in (first, second):
            history.grow(ANCHOR + LATER)
        assert _hash(remote, COMMON) == _hash(other, COMMON)
        assert _hash(remote, COMMON + 1) != _hash(other, COMMON + 1)
        yield Branches(remote, other, first.accounts, first.store, first.probe, sent)


class _History:
    """Builds the blocks of a chain, the same ones each time; after a number, by turn."""

    def __init__(self, node: Anvil, turn: int) -> None:
        self._node = node
        self._turn = turn
        self.accounts: list[str] = node("eth_accounts")
        self.sent: list[str] = []
        self.store = ""
        self.probe = ""

    def build(self, common: int, anchor: int) -> None:
        store = initcode(assemble(STORE), FILL)
        self.store = self._send(data="0x" + store.hex(), gas=hex(16_000_000))["contractAddress"]
        self.probe = self._send(data="0x" + initcode(assemble(PROBE)).hex())["contractAddress"]
        self.grow(common)
        if self._turn:
            self._send(to=self.store, data=words(7, 1, 777_777))
        self.grow(anchor)

    def grow(self, number: int) -> None:
        while (at := int(self._node("eth_blockNumber"), 16)) < number:
            if at % 3 == 0:
                self._node("evm_setNextBlockTimestamp", FIRST_TIME + 12 * (at + 1))
                self._node("anvil_mine", "0x1")
            elif at % 3 == 1:
                self._send(to=self.store, data=words(at, 3, at + self._turn * (at > COMMON)))
            else:
                self._send(to=f"0x{FIRST_ADDRESS + at:040x}", value=hex(at))

    def _send(self, **fields: str) -> dict[str, Any]:
        number = int(self._node("eth_blockNumber"), 16) + 1
        self._node("evm_setNextBlockTimestamp", FIRST_TIME + 12 * number)
        sender = self.accounts[number % 3]
        given = {"from": sender, "gas": GAS, "gasPrice": PRICE}
        sent: str = self._node("eth_sendTransaction", given | fields)
        self.sent.append(sent)
        receipt = self._node.receipt(sent)
        assert receipt["status"] == "0x1"
        return receipt


def _hash(node: Anvil, number: int) -> str:
    found: str = node("eth_getBlockByNumber", hex(number), False)["hash"]
    return found


Read: TypeAlias = tuple[str, list[Any]]

_TRACER: Final = {"tracer": "callTracer"}

PICKS: Final[dict[str, Callable[[Any], Any]]] = {
    # For the block after the last one anvil has the fee of its own next block.
    "eth_feeHistory": lambda it: it | {"baseFeePerGas": it["baseFeePerGas"][:-1]},
    # It is executed here, and anvil subtracts what a transaction costs at the start.
    "debug_traceTransaction": lambda it: {k: v for k, v in it.items() if k != "gas"},
}
"""The part of a result that has to be the remote's, where it is not all of it."""


class PastReads:
    """Makes up reads, most of them of something that was not read before."""

    def __init__(self, chains: Branches, random: Random) -> None:
        self._chains = chains
        self._random = random
        self._kinds = [
            *(self._account, self._slot, self._call, self._probe, self._logs),
            *(self._fees, self._block, self._transaction, self._trace),
        ]

    def next(self) -> Read:
        return self._random.choice(self._kinds)()

    def cold_address(self) -> str:
        """Return an account; one of many, most of which nobody has."""
        return f"0x{FIRST_ADDRESS + self._random.randrange(1 << 16):040x}"

    def _number(self) -> int:
        # The anchor has what the fork laid over it.
        return self._random.randrange(1, ANCHOR)

    def _account(self) -> Read:
        method = self._random.choice(["eth_getBalance", "eth_getTransactionCount", "eth_getCode"])
        chains = self._chains
        known = [
            *chains.accounts[:3],
            chains.store,
            chains.probe,
            f"0x{FIRST_ADDRESS + self._number():040x}",
        ]
        address = self._random.choice([*known, self.cold_address(), self.cold_address()])
        return method, [address, hex(self._number())]

    def _slot(self) -> Read:
        slot = self._random.randrange(2 * SLOTS)
        return "eth_getStorageAt", [
            self._chains.store,
            f"0x{slot:064x}",
            hex(max(3, self._number())),
        ]

    def _call(self) -> Read:
        data = words(self._random.randrange(SLOTS), self._random.choice([1, 3, 40, 200]), 0)
        call = {"to": self._chains.store, "data": data}
        return "eth_call", [call, hex(max(3, self._number()))]

    def _probe(self) -> Read:
        number = max(4, self._number())
        other = self._random.randrange(1, number)
        data = words(int(self.cold_address(), 16), other)
        return "eth_call", [{"to": self._chains.probe, "data": data}, hex(number)]

    def _logs(self) -> Read:
        first, last = sorted((self._number(), self._number()))
        wanted = {"fromBlock": hex(first), "toBlock": hex(last), "address": self._chains.store}
        return "eth_getLogs", [wanted]

    def _fees(self) -> Read:
        return "eth_feeHistory", [hex(self._random.randrange(1, 9)), hex(self._number()), [50]]

    def _block(self) -> Read:
        number = hex(self._random.randrange(ANCHOR + 1))
        reads: list[Read] = [
            ("eth_getBlockByNumber", [number, True]),
            ("eth_getBlockByNumber", [number, False]),
            ("eth_getBlockReceipts", [number]),
            ("eth_getBlockTransactionCountByNumber", [number]),
            ("eth_getTransactionByBlockNumberAndIndex", [number, "0x0"]),
        ]
        return self._random.choice(reads)

    def _transaction(self) -> Read:
        method = self._random.choice(["eth_getTransactionByHash", "eth_getTransactionReceipt"])
        return method, [self._random.choice(self._chains.transactions)]

    def _trace(self) -> Read:
        sent = self._random.choice(self._chains.transactions[2:])
        return "debug_traceTransaction", [sent, _TRACER]


MOMENT: Final = (0.2, 2.0)

_SINGLE: Final = (
    faults.too_many_requests("0"),
    faults.too_many_requests(),
    faults.rejected(-32005, "limit exceeded"),
    faults.status(502, "<html>bad gateway</html>"),
    faults.dropped,
    faults.truncated,
    faults.body_of(b"<html>"),
    faults.body_of(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}'
    ),
    faults.body_of(b"[]"),
    faults.body_of(b'"\xff"'),
    faults.deep_json(100_000),
    faults.huge(20 << 20),
)


class Weather(threading.Thread):
    """Lets a proxy misbehave, each moment in another way. Remembers: how often it did in which."""

    def __init__(self, proxy: FaultyProxy, branches: tuple[str, str], seed: int) -> None:
        super().__init__(name="weather", daemon=True)
        self.seen: Counter[str] = Counter()
        self._proxy = proxy
        self._branches = branches
        self._random = Random(seed)
        self._over = threading.Event()
        self._troubles: dict[str, Callable[[], None]] = {
            "calm": lambda: None,
            "slow": self._slow,
            "rate limit": lambda: self._each(faults.rate_limited(self._random.randrange(1, 40))),
            "flaky": lambda: self._each(faults.flaky(_SINGLE, self._random.random(), self._random)),
            "dead": self._dead,
            "silent": lambda: self._each(faults.stalled),
            "truncated": lambda: self._each(faults.truncated),
            "wrong ids": lambda: setattr(self._proxy, "wrong_ids", True),
            "missing members": lambda: setattr(self._proxy, "drop_members", 1),
            "small batches": lambda: setattr(
                self._proxy, "max_batch", self._random.randrange(1, 9)
            ),
            "no archive": lambda: setattr(self._proxy, "oldest_state", 1_000),
            "no hashes": lambda: setattr(self._proxy, "rejects_block_hashes", True),
            "reorganised": self._reorganised,
        }

    def run(self) -> None:
        names = list(self._troubles)
        while not self._over.is_set():
            name = self._random.choice(names)
            self.seen[name] += 1
            self._troubles[name]()
            self._over.wait(self._random.uniform(*MOMENT))
            self.clear()

    def end(self) -> None:
        self._over.set()
        self.join()
        self.clear()

    def clear(self) -> None:
        """Let the remote behave."""
        proxy = self._proxy
        proxy.latency, proxy.fault = 0.0, None
        proxy.wrong_ids, proxy.drop_members, proxy.max_batch = False, 0, None
        proxy.oldest_state, proxy.rejects_block_hashes = None, False
        proxy.node = self._branches[0]
        proxy.listen()
        proxy.forget()

    def _each(self, fault: faults.Fault) -> None:
        self._proxy.fault = fault

    def _slow(self) -> None:
        self._proxy.latency = self._random.uniform(0.05, 0.8)

    def _dead(self) -> None:
        self._proxy.fault = faults.dropped
        self._proxy.stop_listening()

    def _reorganised(self) -> None:
        self._proxy.node = self._branches[1]


_NAMED: Final = re.compile(
    r"the remote http://127\.0\.0\.1:\d+ "
    r"(cannot be asked for|rejected|responded to|did not respond to|has no state of block)"
    r"|was orphaned: the remote http"
    r"|too many requests wait for the remote"
    r"|the fork is closed"
    r"|the chain was reverted or replaced meanwhile: send the request again"
)


class Result(NamedTuple):
    value: Any


class Outcomes:
    """Counts outcomes, and collects those that are wrong. Any thread."""

    def __init__(self) -> None:
        self.right = 0
        self.named: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.longest = 0.0
        self._lock = threading.Lock()

    def of(self, client: RpcClient, method: str, *params: Any) -> Result | None:
        """Return the result of a request; None if it got an error that is one of a fork."""
        began = time.monotonic()
        try:
            return Result(client(method, *params))
        except RpcError as error:
            found = _NAMED.search(error.message)
            with self._lock:
                if found is not None and error.code == RemoteFailed.rpc_code:
                    self.named[found[1] or found[0]] += 1
                else:
                    self.wrong.append(f"{method} {params}: {error}")
        except (OSError, TimeoutError, ValueError) as error:
            with self._lock:
                self.wrong.append(f"{method} {params}: {error!r}")
        finally:
            with self._lock:
                self.longest = max(self.longest, time.monotonic() - began)
        return None

    def check(self, method: str, params: Sequence[Any], found: Any, expected: Any) -> None:
        """Count a result that has to be another one's, too."""
        with self._lock:
            if found == expected:
                self.right += 1
            else:
                self.wrong.append(f"{method} {params}: {found}, and {expected} is expected")


READERS: Final = 3
PATIENCE: Final = 60.0
"""No request takes longer: a call of the fork waits for at most ten times its time-out, which is two seconds."""
CALM_SHARE: Final = 0.2
"""The share of the time at the beginning in which the remote behaves."""
FLAGS: Final = (
    *("--fork-timeout", "2000", "--fork-retries", "2", "--fork-retry-backoff", "50"),
    "--no-storage-caching",
)


class SoakReport(msgspec.Struct):
    right: int
    named: dict[str, int]
    wrong: list[str]
    weather: dict[str, int]
    longest: float
    memory: list[int]
    """Resident mebibytes of the fork, at equal distances."""
    log: str


def soak(seed: int, seconds: float, place: Path) -> SoakReport:
    """Use a fork for so long; what is random follows from the seed."""
    output = place / "fork.log"
    with branches() as chains, faulty_proxy(chains.remote.url) as proxy, free_port() as port:
        flags = ("--fork-url", f"{proxy.url}@{ANCHOR}", *FLAGS)
        quiet = running_anvil(*flags, "--quiet", port=port, program=ANVIL, output=output)
        with quiet as fork, ExitStack() as connections:
            run = _Soak(chains, proxy, fork, seed, connections)
            run.run(seconds)
            return run.report(output.read_text())


class _Soak:
    def __init__(
        self, chains: Branches, proxy: FaultyProxy, fork: Anvil, seed: int, connections: ExitStack
    ) -> None:
        self._chains = chains
        self._fork = fork
        self._connections = connections
        self._random = Random(seed)
        self._outcomes = Outcomes()
        self._weather = Weather(proxy, (chains.remote.url, chains.other.url), seed)
        self._over = threading.Event()
        self._memory: list[int] = []
        self._expected: dict[bytes, Any] = {}

    def run(self, seconds: float) -> None:
        works = [
            *(self._reader(self._random.random()) for _ in range(READERS)),
            self._writer(self._random.random()),
            self._watch_memory(seconds),
        ]
        with ThreadPoolExecutor(len(works)) as threads:
            running = [threads.submit(work) for work in works]
            self._over.wait(seconds * CALM_SHARE)
            self._weather.start()
            wait(running, seconds * (1 - CALM_SHARE), FIRST_EXCEPTION)
            self._over.set()
            self._weather.end()
            for work in running:
                work.result(PATIENCE)

    def report(self, log: str) -> SoakReport:
        found = self._outcomes
        return SoakReport(
            found.right,
            dict(found.named),
            found.wrong,
            dict(self._weather.seen),
            round(found.longest, 2),
            self._memory,
            log,
        )

    def _connected(self, url: str) -> HttpRpcClient:
        return self._connections.enter_context(closing(HttpRpcClient(url, PATIENCE)))

    def _reader(self, seed: float) -> Callable[[], None]:
        client, remote = self._connected(self._fork.url), self._connected(self._chains.remote.url)
        reads = PastReads(self._chains, Random(seed))

        def run() -> None:
            while not self._over.is_set():
                method, params = reads.next()
                result = self._outcomes.of(client, method, *params)
                if result is None:
                    continue
                pick = PICKS.get(method, _whole)
                key = msgspec.json.encode([method, params])
                if key not in self._expected:
                    self._expected[key] = pick(remote(method, *params))
                self._outcomes.check(method, params, pick(result.value), self._expected[key])

        return run

    def _writer(self, seed: float) -> Callable[[], None]:
        """Return how somebody sends what has to be in a block, or to have left nothing."""
        client, random, sender = (
            self._connected(self._fork.url),
            Random(seed),
            self._chains.accounts[0],
        )
        call = {"from": sender, "to": self._chains.store, "gas": GAS, "gasPrice": PRICE}

        def run() -> None:
            nonce = int(client("eth_getTransactionCount", sender, "latest"), 16)
            while not self._over.is_set():
                slot, value = random.randrange(2 * SLOTS), random.getrandbits(64) + 1
                fields = {**call, "data": words(slot, random.choice([0, 1, 30]), value)}
                sent = self._outcomes.of(client, "eth_sendTransaction", fields)
                nonce += sent is not None
                counted = client("eth_getTransactionCount", sender, "pending")
                self._outcomes.check("nonce", [sender], int(counted, 16), nonce)
                if sent is not None:
                    named = [self._chains.store, f"0x{slot:064x}", "latest"]
                    stored = client("eth_getStorageAt", *named)
                    self._outcomes.check("eth_getStorageAt", named, int(stored, 16), value)

        return run

    def _watch_memory(self, seconds: float) -> Callable[[], None]:
        status = Path(f"/proc/{self._fork.pid}/status")

        def run() -> None:
            while not self._over.wait(seconds / 30):
                (line,) = (line for line in status.read_text().splitlines() if "VmRSS" in line)
                self._memory.append(int(line.split()[1]) >> 10)

        return run


def _whole(result: Any) -> Any:
    return result
