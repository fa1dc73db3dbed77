"""Chains over a remote in memory, and the whole API of one on an event loop that goes on between requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any, Final

import msgspec

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.fork_genesis import AnchoredAccount as FundedAccount
from entresol.chain.genesis.fork_genesis import fork_genesis
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.keyring import Keyring
from entresol.chain.rules import ChainRules
from entresol.node.feature import ServedChain
from entresol.primitives.anchor import Anchor
from entresol.primitives.values import Address
from entresol.sequencer.local import LocalSequencer
from entresol.server.handler import LocalConnection
from tests.support.chain.served import served_chain
from tests.support.fork.fake_remote import FakeRemote, RemoteAccount
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import RpcClient

ANCHOR_NUMBER: Final = 1_000
ANCHOR_TIME: Final = 900


def remote_of(genesis: Genesis, **switches: Any) -> FakeRemote:
    accounts = {
        bytes(address): RemoteAccount(it.nonce, it.balance, it.code)
        for address, it in genesis.alloc.items()
    }
    slots = {
        (bytes(address), int.from_bytes(slot)): int.from_bytes(value)
        for address, it in genesis.alloc.items()
        for slot, value in it.storage.items()
    }
    return FakeRemote(accounts, slots, **switches)


def remote_at(chain: Chain) -> FakeRemote:
    remote = FakeRemote()
    remote.state = chain.latest
    return remote


def anchor_of(chain_id: int, number: int) -> Anchor:
    block = {
        "number": hex(number),
        "hash": f"0x{number:064x}",
        "timestamp": hex(ANCHOR_TIME),
        "gasLimit": hex(30_000_000),
        "baseFeePerGas": hex(10**8),
    }
    return Anchor.of_json(chain_id, msgspec.json.encode(block))


def open_fork(
    remote: FakeRemote,
    rules: ChainRules,
    *,
    funded: Mapping[Address, FundedAccount] | None = None,
    contracts: Mapping[Address, GenesisAccount] | None = None,
    number: int = ANCHOR_NUMBER,
    clock: Callable[[], float] = lambda: 1_000.0,
) -> Chain:
    """Open a chain in memory on a remote; accounts in `funded` are local already, and have 100 ether."""
    genesis = fork_genesis(
        anchor_of(rules.chain_id, number),
        chain_id=rules.chain_id,
        funded=funded or {},
        balance=100 * 10**18,
        contracts=contracts,
    )
    return Chain.open(None, rules, genesis, clock=Clock(clock), remote=remote.table)


class RunningApi(RpcClient):
    """The API of a chain with a sequencer of its own, on an event loop in a thread."""

    def __init__(self, chain: Chain, **options: Any) -> None:
        self.chain = chain
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="running-api", daemon=True)
        self._thread.start()
        self.api, self.sequencer = self.call(lambda: self._open(options))
        self.run(self.sequencer.start())

    def _open(self, options: dict[str, Any]) -> tuple[ServedChain, LocalSequencer]:
        sequencer = LocalSequencer(self.chain)
        options.setdefault("keyring", Keyring())
        return served_chain(self.chain, sequencer, **options), sequencer

    def call(self, work: Callable[[], Any]) -> Any:
        async def called() -> Any:
            return work()

        return self.run(called())

    def run(self, coroutine: Any) -> Any:
        return self.start(coroutine).result(PATIENCE_SECONDS)

    def seal(self) -> None:
        self.run(self.sequencer.seal())

    def start(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def begin(self, method: str, *params: object) -> Future[Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        return self.start(self._handle(msgspec.json.encode(request)))

    def post(self, document: object) -> Any:
        return self.run(self._handle(msgspec.json.encode(document)))

    async def _handle(self, body: bytes) -> Any:
        response = self.api.dispatcher.handle(body, LocalConnection())
        handled = response if isinstance(response, bytes) or response is None else await response
        assert handled is not None
        return msgspec.json.decode(handled)

    def close(self) -> None:
        self.run(self.sequencer.stop())
        self.call(self.api.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.chain.close()


@contextmanager
def running_api(chain: Chain, **options: Any) -> Iterator[RunningApi]:
    with closing(RunningApi(chain, **options)) as client:
        yield client
