"""A remote of which all responses are recorded, so that one of them can be changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.rules import ChainRules
from entresol.errors import RemoteFailed
from entresol.features.fork.block_reads import BlockReads
from entresol.features.fork.cache.fork_cache import ForkCache
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.errors import RemoteRejected
from entresol.features.fork.past_blocks import PastBlocks
from entresol.features.fork.starting import OpenedRemote, open_remote
from entresol.features.fork.state_fetch import CollectedState, StateKey
from entresol.features.fork.transport.client import ForkClient, Guard, Outcome
from entresol.features.fork.transport.envelopes import Call
from entresol.features.fork.verify.verified_reads import VerifiedReads
from entresol.primitives.transactions import sign
from entresol.primitives.values import Hash32
from tests.support.chain.api_client import ApiClient
from tests.support.chain.varied_chain import (
    COUNTER,
    LOGGER,
    NOBODY,
    SECRETS,
    SENDERS,
    SLOT,
    ethereum_payloads,
    varied_genesis,
)

Response: TypeAlias = dict[str, Any]
Respond: TypeAlias = Callable[[str, list[Any]], Response]
Key: TypeAlias = tuple[str, str]
Path_: TypeAlias = tuple[str | int, ...]

CHAIN_ID: Final = 31337
_BLOCK: Final = 2
"""The block with transactions; there are two after it."""
_BLOOMLESS: Final = "0x" + "99" * 20


class Query(NamedTuple):
    """Something that is read of a fork: the result of a method, or with `keys`, values of the state after a block."""

    method: str
    params: tuple[Any, ...]
    keys: tuple[StateKey, ...] = ()

    def __str__(self) -> str:
        keys = " ".join(key[1].hex()[:4] for key in self.keys)
        return f"{self.method} {json.dumps(self.params)} {keys}".strip()


class RecordedClient:
    """Stands for a `ForkClient`: responds from a table, and notes what it was asked."""

    host = "http://recorded:8545"
    batch_size = 100

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self.asked: set[Key] = set()

    async def request(
        self, method: str, *params: object, guard: Guard | None = None, max_bytes: int = 0
    ) -> msgspec.Raw:
        (outcome,) = await self.ask([Call(method, params)], guard=guard, max_bytes=max_bytes)
        if isinstance(outcome, RemoteFailed):
            raise outcome
        return outcome

    async def ask(
        self, calls: Sequence[Call], *, guard: Guard | None = None, max_bytes: int = 0
    ) -> list[Outcome]:
        """Return the outcomes of calls; the guard is asked with them."""
        del max_bytes
        if guard is not None:
            guard[1](cast("msgspec.Raw", self._outcome(guard[0])))
        return [self._outcome(call) for call in calls]

    def _outcome(self, call: Call) -> Outcome:
        params = msgspec.json.decode(msgspec.json.encode(call.params))
        self.asked.add(key_of(call.method, params))
        response = self._respond(call.method, params)
        if "error" in response:
            error = response["error"]
            return RemoteRejected(self.host, call.method, error["code"], error["message"])
        return msgspec.Raw(msgspec.json.encode(response["result"]))


def key_of(method: str, params: Sequence[Any]) -> Key:
    return method, json.dumps(params, sort_keys=True)


class VerifiedFork:
    """Reads of a fork that verifies. `started` is what an earlier start of the same remote has found."""

    def __init__(self, client: RecordedClient, started: OpenedRemote) -> None:
        given, past = cast("ForkClient", client), started.past
        fresh = PastBlocks(given, past.anchor, None, verify=True)
        fresh.first_recent = past.first_recent
        fresh.take_hashes(past.recent_hashes())
        opened = msgspec.structs.replace(started, past=fresh)
        self._reads = BlockReads(given, ForkCache.memory(), opened)
        self._proven = VerifiedReads(given, fresh, self._reads.block_hashes)

    async def read(self, query: Query) -> Any:
        if not query.keys:
            raw = await self._reads.read(query.method, query.params, None, self._proven)
            return msgspec.json.decode(raw)
        fetch, values = await self._reads.fetch(query.params[0]), CollectedState()
        assert fetch is not None
        await fetch.read(query.keys, values)
        for failure in values.failures:
            raise failure
        return values.accounts, values.slots


async def started(client: RecordedClient, anchor: Hash32) -> OpenedRemote:
    """Start a fork that verifies, on a block that the user has pinned."""
    settings = ForkSettings(urls=(client.host,), verify=True, block_hash=anchor)
    return await open_remote(settings, ForkCache.memory(), cast("ForkClient", client))


class Recorded(NamedTuple):
    """Queries, the responses that they take, and what the remote itself responds to them."""

    anchor: Hash32
    queries: list[Query]
    responses: dict[Key, Response]
    own: list[Any]


def recorded() -> Recorded:
    rules = ChainRules.layer_1(CHAIN_ID)
    times = iter(range(1_700_000_000, 1_800_000_000, 12))
    clock = Clock(lambda: float(next(times)))
    opened = Chain.open(None, rules, varied_genesis(CHAIN_ID), clock=clock)
    with closing(opened) as chain, ThreadPoolExecutor(1) as thread:
        api = ApiClient(chain)
        chain.schedule.seal_on_request()
        chain.builder.seal()
        for nonce, payload in enumerate(ethereum_payloads(CHAIN_ID)):
            chain.add(sign(msgspec.structs.replace(payload, nonce=nonce), SECRETS[0]))
        for _ in range(3):
            chain.builder.seal()
        responses: dict[Key, Response] = {}

        def respond(method: str, params: list[Any]) -> Response:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            response: Response = thread.submit(api.post, request).result()
            responses[key_of(method, params)] = response
            return response

        anchor = chain.ledger.head_hash
        queries = list(_queries(api))
        asyncio.run(_read_all(RecordedClient(respond), anchor, queries))
        own = [None if it.keys else api(it.method, *it.params) for it in queries]
        api.api.close()
    return Recorded(anchor, queries, responses, own)


async def _read_all(client: RecordedClient, anchor: Hash32, queries: list[Query]) -> None:
    opened = await started(client, anchor)
    for query in queries:
        await VerifiedFork(client, opened).read(query)


def _queries(api: ApiClient) -> Iterator[Query]:
    name = hex(_BLOCK)
    block = api("eth_getBlockByNumber", name, False)
    sent = block["transactions"]
    yield Query("eth_getBlockByNumber", (name, True))
    yield Query("eth_getBlockByNumber", (name, False))
    yield Query("eth_getBlockByHash", (block["hash"], True))
    yield Query("eth_getBlockReceipts", (name,))
    yield Query("eth_getTransactionByHash", (sent[3],))
    yield Query("eth_getTransactionReceipt", (sent[3],))
    yield Query("eth_getTransactionByBlockNumberAndIndex", (name, "0x1"))
    yield Query("eth_getRawTransactionByBlockNumberAndIndex", (name, "0x4"))
    yield Query("eth_getRawTransactionByHash", (sent[0],))
    yield Query("eth_getBlockTransactionCountByNumber", (name,))
    yield Query("eth_getUncleCountByBlockNumber", (name,))
    wide = {"fromBlock": hex(_BLOCK - 2), "toBlock": hex(_BLOCK + 1)}
    yield Query("eth_getLogs", (wide,))
    yield Query("eth_getLogs", ({**wide, "address": [str(LOGGER)]},))
    yield Query("eth_getLogs", ({**wide, "address": [_BLOOMLESS]},))
    yield Query("eth_getLogs", ({"blockHash": block["hash"]},))
    yield Query("eth_feeHistory", ("0x3", hex(_BLOCK + 1), [20.0, 80.0]))
    yield Query("eth_getProof", (str(COUNTER), [str(SLOT)], name))
    yield Query("eth_getProof", (str(NOBODY), [], name))
    counter = bytes(COUNTER)
    keys = (("account", counter), ("account", bytes(SENDERS[0])), ("slot", counter, bytes(SLOT)))
    absent = (("account", b"\x98" * 20), ("slot", counter, b"\x98" * 32))
    for at in (_BLOCK, _BLOCK + 2):
        yield Query("state", (at,), keys)
        yield Query("state", (at,), absent)


def respond_from(responses: dict[Key, Response]) -> Respond:
    """Return how a table responds: with nothing to what it does not have."""
    return lambda method, params: responses.get(key_of(method, params), {"result": None})


def changes(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, str, Any]]:
    """Yield each single change of a JSON value: where it is, what it is, and the changed value."""
    if isinstance(value, dict):
        for name, member in value.items():
            without = {k: it for k, it in value.items() if k != name}
            # In turns: both mean that there is none.
            yield (*path, name), "removed", without if len(name) % 2 else without | {name: None}
            for at, what, changed in changes(member, (*path, name)):
                yield at, what, {**value, name: changed}
    elif isinstance(value, list):
        yield path, "longer", [*value, value[-1] if value else "0x1"]
        if value:
            yield path, "shorter", value[:-1]
        for n, member in enumerate(value):
            for at, what, changed in changes(member, (*path, n)):
                yield at, what, [*value[:n], changed, *value[n + 1 :]]
    else:
        yield path, "changed", _other(value)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if value.startswith("0x") and len(value) > 2:
            return value[:-1] + ("1" if value[-1] != "1" else "2")
        case "0x":
            return "0x01"
        case None:
            return "0x" + "77" * 20
        case _:
            return f"{value}1"
