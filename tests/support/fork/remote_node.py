"""A small chain that tests fork: another Entresol in this process, behind a proxy."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from entresol._native import RemoteTable
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.errors import RemoteFailed
from entresol.features.fork.cache.fork_cache import ForkCache
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.remote_chain import RemoteChain
from entresol.features.fork.table_feed import remote_snapshot
from entresol.primitives.values import Address, Hash32
from tests.support.chain.api_client import ApiClient
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.polling import PATIENCE_SECONDS

if TYPE_CHECKING:
    from entresol._native import RemoteKey

CHAIN_ID = 9_999
CONTRACT = Address(b"\xc0" * 20)
HOLDER = Address(b"\xd0" * 20)
NOBODY = Address(b"\xe0" * 20)
CODE = bytes.fromhex("6001600255")
BALANCE = 12_345
NONCE = 7
SLOTS = 300
BLOCKS = 80
ACCOUNT: RemoteKey = ("account", bytes(HOLDER))
OTHER_HASH = "0x" + "42" * 32
FIRST_TIME = 1_000


def slot_of(number: int) -> bytes:
    """Return the key of a slot of the contract; its value is twice its number."""
    return number.to_bytes(32, "big")


def slots_of(numbers: Sequence[int]) -> list[RemoteKey]:
    return [("slot", bytes(CONTRACT), slot_of(number)) for number in numbers]


class RemoteNode:
    """A chain with a contract of many slots, and the proxy before it."""

    def __init__(self, chain: Chain, api: ApiClient, proxy: FaultyProxy) -> None:
        self.chain = chain
        self.api = api
        self.proxy = proxy

    def settings(self, **settings: Any) -> ForkSettings:
        given: dict[str, Any] = {"urls": (self.proxy.url,), "backoff": 0.01, "retries": 2}
        return ForkSettings(**(given | settings))

    @contextlib.contextmanager
    def fork(self, cache: ForkCache | None = None, **settings: Any) -> Iterator[RemoteChain]:
        """Open the remote chain of a fork, and count what it asks from then on."""
        remote = RemoteChain.open(self.settings(**settings), cache or ForkCache.memory())
        self.proxy.forget()
        try:
            yield remote
        finally:
            remote.close()


@contextlib.contextmanager
def served_chain(blocks: int = BLOCKS) -> Iterator[ApiClient]:
    storage = {Hash32(slot_of(number)): Hash32(slot_of(2 * number)) for number in range(1, SLOTS)}
    accounts = {
        CONTRACT: GenesisAccount(code=CODE, nonce=1, storage=storage),
        HOLDER: GenesisAccount(balance=BALANCE, nonce=NONCE),
    }
    genesis = Genesis.development(CHAIN_ID, [], 0, accounts)
    times = iter(range(FIRST_TIME, FIRST_TIME + 12 * (blocks + 100), 12))
    rules = ChainRules.layer_1(CHAIN_ID)
    chain = Chain.open(None, rules, genesis, clock=Clock(lambda: float(next(times))))
    api = ApiClient(chain)
    try:
        for _ in range(blocks):
            chain.builder.seal()
        yield api
    finally:
        api.api.close()
        chain.close()


@contextlib.contextmanager
def remote_node(api: ApiClient) -> Iterator[RemoteNode]:
    with faulty_proxy(api.handle) as proxy:
        yield RemoteNode(api.chain, api, proxy)


def wanted(table: RemoteTable, keys: Sequence[RemoteKey]) -> BaseException | None:
    """Ask for keys, and return why one of them is not known in the end."""
    known = threading.Event()
    table.want(list(keys), known.set)
    assert known.wait(PATIENCE_SECONDS)
    return table.failure(list(keys))


def problem(
    table: RemoteTable, keys: Sequence[RemoteKey], kind: type[BaseException] = RemoteFailed
) -> str:
    """Ask for keys, and return the text of the error that they fail with."""
    failure = wanted(table, keys)
    assert isinstance(failure, kind), failure
    return str(failure)


def block_hash(node: RemoteNode, number: int) -> Hash32:
    return node.chain.ledger.header(number).hash()


def value(remote: RemoteChain, number: int) -> int:
    return int.from_bytes(remote_snapshot(remote.table).slot(bytes(CONTRACT), slot_of(number)))


def read(remote: RemoteChain, method: str, *params: object) -> Any:
    return msgspec.json.decode(asyncio.run(remote.read(method, params)))


def doubled(proof: dict[str, Any]) -> list[dict[str, Any]]:
    return [node | {"value": hex(2 * int(node["value"], 16) + 1)} for node in proof["storageProof"]]
