"""Requests a second over HTTP, beside anvil's, with the same chain in both and a core for each server."""

from __future__ import annotations

import http.client
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, count
from typing import Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.harness import Peer, Row
from benchmarks.load import CONNECTIONS, LOADER_CORE, Sample, find_wrk, load, pinned
from benchmarks.servers import CHAIN_ID, Server, both, in_turns, row
from entresol._native import address_of, keccak256, public_key
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from entresol.server.limits import allow_open_files
from tests.support.differential.contracts import TOKEN
from tests.support.rpc_client import HttpRpcClient

ETHER: Final = 10**18
TOKEN_ADDRESS: Final = Address(b"\x70" * 20)
TRANSFER: Final = bytes.fromhex("a9059cbb")
BALANCE_OF: Final = bytes.fromhex("70a08231")

# Rounds of the two servers take turns, so that what else the machine does meets both.
ROUNDS: Final = 5

SECRETS: Final = [number.to_bytes(32) for number in range(1, 751)]
ADDRESSES: Final = [Address(address_of(public_key(secret))) for secret in SECRETS]
HOLDERS: Final = range(250)
"""Accounts that have tokens and fill blocks with transfers of them."""
PAYERS: Final = range(250, 750)
"""Accounts that send raw transactions under load."""

EMPTY_BLOCKS: Final = 60
FULL_BLOCK: Final = 200
LOGS: Final = 20
BATCH: Final = 50
MINED_SECONDS: Final = 60
IDLE_CONNECTIONS: Final = 1_000


class RepeatedRequest(msgspec.Struct, frozen=True):
    """A request that is sent again and again, and how many times anvil's rate we have to reach."""

    what: str
    body: Callable[[Chain], object]
    ratio: float | None = None
    others: Callable[[], Iterable[object]] = tuple
    """The requests that are sent in turn with it."""


class Chain(msgspec.Struct, frozen=True):
    """Where things are on the chain that both servers have."""

    full: int
    logged: int
    transaction: str


REQUESTS: Final = (
    RepeatedRequest("eth_chainId", lambda _: request("eth_chainId"), 1.6),
    RepeatedRequest("eth_getBlockByNumber, empty", lambda _: block(1, full=False), 1.8),
    RepeatedRequest(
        f"eth_getBlockByNumber, {FULL_BLOCK} full transactions",
        lambda chain: block(chain.full, full=True),
        1.8,
    ),
    RepeatedRequest(
        f"batch of {BATCH} eth_getBlockByNumber",
        lambda _: [block(number, full=False) for number in range(1, BATCH + 1)],
        5.0,
    ),
    RepeatedRequest("eth_call of balanceOf", lambda _: balance_of(), 1.5),
    RepeatedRequest(
        f"eth_call of balanceOf, {len(ADDRESSES)} accounts in turn",
        lambda _: balance_of(),
        others=lambda: map(balance_of, range(1, len(ADDRESSES))),
    ),
    RepeatedRequest(f"eth_getLogs, {LOGS} logs", lambda chain: logs(chain.logged)),
    RepeatedRequest(
        "eth_getTransactionReceipt",
        lambda chain: request("eth_getTransactionReceipt", chain.transaction),
        1.5,
    ),
)

LOGGED: Final = RepeatedRequest(
    "eth_chainId, with a line in the log", lambda _: request("eth_chainId")
)


def rows() -> Iterable[Row]:
    """Measure a node and anvil in turns, which print nothing except where stated."""
    try:
        find_wrk()
    except FileNotFoundError as error:
        print(f"no figures of requests: {error}", file=sys.stderr)
        return
    with both() as servers:
        chains = [found(server.client) for server in servers]
        for repeated in REQUESTS:
            yield rate_of(repeated, servers, chains)
        yield raw_transactions(servers)
    with both(silent=False) as servers:
        chains = [found(server.client) for server in servers]
        yield rate_of(LOGGED, servers, chains)
    yield from idle_connections()


def found(client: HttpRpcClient) -> Chain:
    """Give a server accounts, a token, empty blocks, a full one and one with logs."""
    done = client.batch(
        [("anvil_setBalance", [str(address), hex(100 * ETHER)]) for address in ADDRESSES[:500]]
    )
    done += client.batch(
        [("anvil_setBalance", [str(address), hex(100 * ETHER)]) for address in ADDRESSES[500:]]
    )
    done += client.batch([("anvil_setCode", [str(TOKEN_ADDRESS), "0x" + TOKEN.hex()])])
    done += client.batch(
        [("anvil_setStorageAt", list(token_balance(holder))) for holder in HOLDERS]
    )
    assert not any(isinstance(outcome, Exception) for outcome in done), done
    client.batch([("evm_setAutomine", [False])])
    client.batch([("evm_mine", [])] * EMPTY_BLOCKS)
    full, _ = mined(client, range(FULL_BLOCK))
    logged, hashes = mined(client, range(FULL_BLOCK, FULL_BLOCK + LOGS))
    client.batch([("evm_setAutomine", [True])])
    return Chain(full, logged, hashes[-1])


def mined(client: HttpRpcClient, senders: range) -> tuple[int, list[str]]:
    """Put a transfer of tokens by each sender into one block; return its number and the hashes."""
    raws = [raw_transaction(sender, 0, is_token=True) for sender in senders]
    hashes = client.batch([("eth_sendRawTransaction", ["0x" + raw.hex()]) for raw in raws])
    client("evm_mine")
    receipt = client.receipt(hashes[-1])
    assert receipt["status"] == "0x1"
    number = int(receipt["blockNumber"], 16)
    assert int(client("eth_getBlockTransactionCountByNumber", hex(number)), 16) == len(raws)
    return number, hashes


def token_balance(holder: int) -> tuple[str, str, str]:
    """Return the slot that makes an account rich in tokens."""
    slot = keccak256(ADDRESSES[holder].rjust(32, b"\0") + bytes(32))
    return str(TOKEN_ADDRESS), "0x" + slot.hex(), "0x" + (10**6).to_bytes(32).hex()


def raw_transaction(sender: int, nonce: int, *, is_token: bool = False) -> bytes:
    """Return a signed transfer, of tokens or of one wei."""
    to = Address(ADDRESSES[sender][::-1])
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=2 * 10**9,
        gas_limit=100_000 if is_token else 21_000,
        to=TOKEN_ADDRESS if is_token else to,
        value=0 if is_token else 1,
        data=TRANSFER + bytes(12) + to + (1).to_bytes(32) if is_token else b"",
    )
    return sign(payload, SECRETS[sender]).raw


def request(method: str, *params: object, number: int = 1) -> dict[str, object]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def block(number: int, *, full: bool) -> dict[str, object]:
    """Return the request for a block."""
    return request("eth_getBlockByNumber", hex(number), full, number=number)


def balance_of(holder: int = 0) -> dict[str, object]:
    """Return the request for the tokens of an account."""
    data = BALANCE_OF + bytes(12) + ADDRESSES[holder]
    call = {"to": str(TOKEN_ADDRESS), "data": "0x" + data.hex()}
    return request("eth_call", call, "latest")


def logs(number: int) -> dict[str, object]:
    """Return the request for the token's logs in a block."""
    wanted = {"fromBlock": hex(number), "toBlock": hex(number), "address": str(TOKEN_ADDRESS)}
    return request("eth_getLogs", wanted)


def rate_of(repeated: RepeatedRequest, servers: Sequence[Server], chains: Sequence[Chain]) -> Row:
    """Measure how many requests a second have a response."""
    with ExitStack() as stack:
        loads = []
        for server, prepared in zip(servers, chains, strict=True):
            body = msgspec.json.encode(repeated.body(prepared))
            check(server.client, repeated, body)
            others = map(msgspec.json.encode, repeated.others())
            loads.append(stack.enter_context(load([body, *others])))
        samples = in_turns(lambda at: servers[at].under(loads[at]), len(servers), ROUNDS)
    return row(repeated.what, samples, repeated.ratio)


def check(client: HttpRpcClient, repeated: RepeatedRequest, body: bytes) -> None:
    """Check that a request has a result at all."""
    response = msgspec.json.decode(client.post_bytes(body))
    for item in response if isinstance(response, list) else [response]:
        assert item.get("result") is not None, (repeated.what, client.url, item)


def raw_transactions(servers: Sequence[Server]) -> Row:
    """Measure how many transfers a second are accepted and mined, one block for each or for a few.

    Anvil acknowledges what it mines later, so a round lasts until nothing is pending. It goes through all that
    is pending for each block, and with some thousands never comes to an end, so a round is not a second of wrk's,
    but one transfer of every payer.
    """
    nonces = [count() for _ in servers]

    def measure(at: int) -> Sample:
        server, nonce = servers[at], next(nonces[at])
        bodies = [
            msgspec.json.encode(
                request("eth_sendRawTransaction", "0x" + raw_transaction(payer, nonce).hex())
            )
            for payer in PAYERS
        ]
        before, started = server.cpu_seconds(), time.perf_counter()
        latencies = send_all(server.client.url, bodies)
        wait_until_mined(server.client)
        duration = time.perf_counter() - started
        percentiles = statistics.quantiles(latencies, n=100)
        return Sample(
            requests=len(bodies),
            microseconds=round(duration * 1e6),
            p50=percentiles[49] * 1e6,
            p99=percentiles[98] * 1e6,
            errors=0,
            cpu=(server.cpu_seconds() - before) / len(bodies) * 1e6,
        )

    samples = in_turns(measure, len(servers), ROUNDS)
    return row("eth_sendRawTransaction, until mined", samples, 1.0)


def send_all(url: str, bodies: Sequence[bytes]) -> list[float]:
    """Send all requests over some connections at once; return how long each took, in seconds."""
    shares = [bodies[at::CONNECTIONS] for at in range(CONNECTIONS)]
    with pinned(LOADER_CORE), ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(chain.from_iterable(threads.map(partial(send_share, url), shares)))


def send_share(url: str, bodies: Sequence[bytes]) -> list[float]:
    """Send requests over one connection, one after the other; each must have a result."""
    address, latencies = urlsplit(url), []
    connection = http.client.HTTPConnection(str(address.hostname), address.port)
    with closing(connection):
        for body in bodies:
            started = time.perf_counter()
            connection.request("POST", "/", body, {"content-type": "application/json"})
            response = connection.getresponse().read()
            latencies.append(time.perf_counter() - started)
            assert b'"result"' in response, response
    return latencies


def wait_until_mined(client: HttpRpcClient) -> None:
    """Wait until no transaction is pending that could be in a block."""
    deadline = time.monotonic() + MINED_SECONDS
    while int(client("txpool_status")["pending"], 16):
        assert time.monotonic() < deadline, "what was acknowledged is not mined"
        time.sleep(0.005)


def idle_connections() -> Iterator[Row]:
    """Measure the memory of servers with many clients that have sent one request and stay connected."""
    allow_open_files(IDLE_CONNECTIONS)
    with both() as servers:
        totals, shares = zip(*(memory(server) for server in servers), strict=True)
    of = f"{IDLE_CONNECTIONS:,} idle connections"
    yield Row(
        what=f"memory with {of}", value=totals[0] / 2**20, unit="MiB",
        peer=Peer("anvil", totals[1] / 2**20),
    )  # fmt: skip
    yield Row(
        what=f"memory for each of {of}", value=shares[0] / 2**10, unit="KiB",
        peer=Peer("anvil", shares[1] / 2**10),
    )  # fmt: skip


def memory(server: Server) -> tuple[int, float]:
    """Return what a server takes with idle connections, and what each of them adds."""
    body = msgspec.json.encode(request("eth_chainId"))
    server.client.post_bytes(body)
    before = server.resident_bytes()
    address = urlsplit(server.client.url)
    connections = []
    try:
        for _ in range(IDLE_CONNECTIONS):
            connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
            connections.append(connection)
            connection.request("POST", "/", body, {"content-type": "application/json"})
            connection.getresponse().read()
        after = server.resident_bytes()
    finally:
        for connection in connections:
            connection.close()
    return after, (after - before) / IDLE_CONNECTIONS
