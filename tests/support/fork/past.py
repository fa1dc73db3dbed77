"""A fork of a chain in the same process: its past is read from the other chain's API, and counted."""

from __future__ import annotations

import json as text
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from entresol._native import Snapshot
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.keyring import Keyring
from entresol.features.fork.errors import AnchorLost, RemoteRejected
from entresol.features.fork.past.remote import IsFinal, PastBlock
from entresol.node.config.api import LimitsConfig
from entresol.primitives.anchor import Anchor
from entresol.primitives.headers import Header
from entresol.primitives.values import Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.api_client import (
    ACCOUNTS,
    CODES,
    FACTORY,
    INNER,
    OUTER,
    REVERTER,
    ApiClient,
    running_api,
    send,
)
from tests.support.chain.dev_chain import GENESIS, LOGGER, RULES
from tests.support.chain.served import served_chain
from tests.support.rpc_client import DispatcherClient


class Block(NamedTuple):
    number: int
    hash: Hash32
    header: Header
    json: bytes


class PastOfChain:
    """The past on another chain's API.

    `asked` counts methods. `results` replaces what a method returns, `errors` lets it fail, and `kept` has what was
    declared final, and `absent` what is nothing, by method and parameters; `hardforks` are those of blocks, by number, and
    `headers` what is other in theirs; `pinned` is the first block that is asked for by hash, and
    the remote has others than those of `replaced`.
    """

    host = "http://remote:8545"
    verifies = False

    def __init__(self, client: ApiClient, anchor: int, json: bytes | None = None) -> None:
        self.client = client
        found = client.chain.blocks.header(anchor)
        if json is None:
            json = text.dumps(client("eth_getBlockByNumber", hex(anchor), False)).encode()
        self.anchor = Anchor(
            chain_id=RULES.chain_id, number=anchor, hash=found.hash(), header=found, json=json
        )
        self.asked: Counter[str] = Counter()
        self.params: list[tuple[str, Sequence[object]]] = []
        self.results: dict[str, Callable[[Sequence[Any], Any], Any]] = {}
        self.errors: dict[str, tuple[int, str]] = {}
        self.kept: dict[tuple[str, str], bytes] = {}
        self.absent: set[tuple[str, str]] = set()
        self.pinned: int | None = None
        self.replaced: set[int] = set()
        self.hardfork = RULES.fork
        self.hardforks: dict[int, str] = {}
        self.headers: dict[int, dict[str, Any]] = {}

    async def read(
        self,
        method: str,
        params: Sequence[object],
        *,
        is_final: IsFinal | None = None,
        is_absent: IsFinal | None = None,
        at: int | None = None,
    ) -> Raw:
        if at is not None and at in self.replaced:
            raise AnchorLost(self.host, at, self.anchor.hash)
        self.asked[method] += 1
        self.params.append((method, params))
        key = method, text.dumps(params)
        if is_final is not None and key in self.kept:
            return Raw(self.kept[key])
        if method in self.errors:
            raise RemoteRejected(self.host, method, *self.errors[method])
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        decoded = msgspec.json.decode(await self.client.handle(text.dumps(request).encode()))
        if "error" in decoded:
            error = decoded["error"]
            raise RemoteRejected(self.host, method, error["code"], error["message"])
        result = decoded["result"]
        if method in self.results:
            result = self.results[method](params, result)
        raw = Raw(msgspec.json.encode(result))
        if is_final is not None and is_final(raw):
            self.kept[key] = bytes(raw)
        elif at is not None and is_absent is not None and is_absent(raw):
            self.absent.add(key)
        return raw

    async def past_block(self, block: int | Hash32) -> PastBlock | None:
        blocks = self.client.chain.blocks
        number = blocks.block_number(block) if isinstance(block, bytes) else block
        if number is None or number > self.anchor.number:
            return None
        header = blocks.header(number)
        other = self.headers.get(number, {})
        given = msgspec.structs.replace(header, given_hash=header.hash(), **other)
        return Block(number, header.hash(), given, text.dumps({"number": number}).encode())

    def hardfork_of(self, timestamp: int, json: bytes) -> str:  # noqa: ARG002
        """Return the fork that the test says of a block, by its number."""
        return self.hardforks.get(text.loads(json)["number"], self.hardfork)

    def hash_at(self, number: int) -> Hash32 | None:
        if self.pinned is None or not self.pinned <= number <= self.anchor.number:
            return None
        return self.client.chain.blocks.header(number).hash()

    def table_at(self, number: int) -> Any:
        raise NotImplementedError(number)

    def state_at(self, block: PastBlock) -> Snapshot:
        return self.client.chain.ledger.state_after(block.number)


class ForkClient(DispatcherClient):
    """Calls the methods of a fork that stands on a block of another chain; its own state is the development one."""

    def __init__(
        self,
        remote: PastOfChain,
        limits: LimitsConfig | None = None,
        epoch_slots: int | None = None,
    ) -> None:
        header = remote.client.chain.blocks.header(remote.anchor.number)
        genesis = msgspec.structs.replace(GENESIS, number=header.number, timestamp=header.timestamp)
        is_foreign = b'"l1BatchNumber"' in remote.anchor.json
        rules = msgspec.structs.replace(
            RULES, rejects_foreign_code=is_foreign, epoch_slots=epoch_slots
        )
        self.chain = Chain.open(None, rules, genesis, clock=Clock(lambda: 1_000.0))
        self.remote = remote
        self.api = served_chain(
            self.chain,
            InlineSequencer(self.chain),
            wake=lambda: None,
            keyring=Keyring(ACCOUNTS),
            limits=limits,
            remote=remote,
            state_at=remote.state_at,
        )
        super().__init__(self.api.dispatcher)


@contextmanager
def forked(
    client: ApiClient,
    anchor: int,
    limits: LimitsConfig | None = None,
    json: bytes | None = None,
    epoch_slots: int | None = None,
) -> Iterator[ForkClient]:
    """Open a fork of a client's chain, and close it at the end.

    `json` is the anchor as the remote describes it; with `epoch_slots` the fork is an L1.
    """
    fork = ForkClient(PastOfChain(client, anchor, json), limits, epoch_slots)
    try:
        yield fork
    finally:
        fork.api.close()
        fork.chain.close()


ANCHOR: Final = 9


class PastBlocks(NamedTuple):
    """The client of the chain, and the hashes of its transactions by what they do."""

    client: ApiClient
    logged: list[str]
    nested: str
    failed: str
    creating: str
    above: str


@contextmanager
def past_blocks() -> Iterator[PastBlocks]:
    """Seal twelve blocks: code, six logs, a nested call, a failure at the anchor, a creation and another log above."""
    with running_api() as client:
        for address, code in CODES.items():
            client("anvil_setCode", str(address), code)
        client("anvil_setBalance", str(OUTER), "0xde0b6b3a7640000")
        client("anvil_mine")
        logged = [send(client, nonce, to=LOGGER, wei=0, data=bytes([nonce])) for nonce in range(6)]
        nested = send(client, 6, to=OUTER, wei=0)
        failed = send(client, 7, to=REVERTER, wei=0)
        creating = send(client, 8, to=FACTORY, wei=0)
        above = send(client, 9, to=LOGGER, wei=0, data=b"above")
        client("anvil_mine")
        yield PastBlocks(client, logged, nested, failed, creating, above)


__all__ = ["ANCHOR", "INNER", "PastBlocks", "past_blocks"]
