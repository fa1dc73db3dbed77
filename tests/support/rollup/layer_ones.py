"""Layer ones to test against: the embedded one, real anvil, and some that lag or lie."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.history import ChainMark
from entresol.chain.rules import ChainRules
from entresol.errors import LayerOneRejected
from entresol.l1.contracts import REQUEST_TYPES, decode_deposit
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.json_rpc_client import JsonRpcClient
from entresol.l1.layer_one import DEFAULT_SENDER, L1Block, L1Finality, L1Log, L1Receipt, LayerOne
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.l1.urls import Endpoint
from entresol.primitives import abi
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.anvil import Anvil, fresh_anvil
from tests.support.chain.api_client import ApiClient
from tests.support.chain.steering import revert
from tests.support.contracts.engine import find

CHAIN_ID = 31337
ACCOUNTS = derive(DEVELOPMENT_MNEMONIC, 10)

# Emits its input as the data of a deposit's event, and keeps their tree; reverts with its input; returns it.
MAILBOX, REVERTER, ECHO = (Address(bytes([number]) * 20) for number in (0xB0, 0xB1, 0xB2))
CODES = {
    MAILBOX: bytes(find("PriorityMailbox").runtime),
    REVERTER: bytes.fromhex("365f5f37 365ffd"),
    ECHO: bytes.fromhex("365f5f37 365ff3"),
}


class Embedded:
    def __init__(self) -> None:
        predeploys = {
            address: GenesisAccount(code=code, nonce=1) for address, code in CODES.items()
        }
        addresses = [account.address for account in ACCOUNTS]
        genesis = Genesis.development(CHAIN_ID, addresses, 10_000 * 10**18, predeploys)
        rules = ChainRules.layer_1(CHAIN_ID)
        self.chain = Chain.open(None, rules, genesis, clock=Clock(lambda: 1_000.0))
        self.marks: list[ChainMark] = []
        self.sequencer = InlineSequencer(self.chain)
        self.l1: LayerOne = EmbeddedLayerOne(self.chain, self.sequencer)

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.chain.builder.seal()

    def checkpoint(self) -> int:
        self.marks.append(self.chain.history.mark())
        return len(self.marks) - 1

    def restore(self, checkpoint: int) -> None:
        revert(self.chain, self.marks[checkpoint])

    def mine_on_request(self) -> None:
        self.chain.schedule.seal_on_request()

    def drop(self, transaction: Hash32) -> None:
        self.chain.pool.remove(transaction, "dropped")


class OnAnvil:
    def __init__(self, anvil: Anvil) -> None:
        self._anvil = anvil
        self.l1: LayerOne = RemoteLayerOne(anvil.url)
        for address, code in CODES.items():
            anvil("anvil_setCode", str(address), "0x" + code.hex())

    def mine(self, blocks: int = 1) -> None:
        self._anvil("anvil_mine", hex(blocks))

    def checkpoint(self) -> int:
        return int(self._anvil("evm_snapshot"), 16)

    def restore(self, checkpoint: int) -> None:
        assert self._anvil("evm_revert", hex(checkpoint))

    def mine_on_request(self) -> None:
        self._anvil("evm_setAutomine", False)

    def drop(self, transaction: Hash32) -> None:
        self._anvil("anvil_dropTransaction", str(transaction))


SteeredLayerOne: TypeAlias = Embedded | OnAnvil


def on_l1(steered: SteeredLayerOne, play: Callable[[LayerOne], Awaitable[None]]) -> None:
    """Play on an L1, and close the connection in the same event loop."""

    async def whole() -> None:
        try:
            await play(steered.l1)
        finally:
            await steered.l1.close()

    asyncio.run(whole())


class EventfulLayerOne:
    """An L1 with an event just before a chosen call."""

    def __init__(self, l1: LayerOne) -> None:
        self.name = l1.name
        self.reorg_level = l1.reorg_level
        self.calls: list[str] = []
        self.sent: list[bytes] = []
        self._l1 = l1
        self._event: tuple[str | int, Callable[[], None]] | None = None

    def before(self, call: str | int, event: Callable[[], None]) -> None:
        """Run `event` once: before the next call of a name, or before the call of a number."""
        self._event = call, event

    @property
    def is_over(self) -> bool:
        return self._event is None

    async def close(self) -> None:
        await self._l1.close()

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._l1, name)

        async def call(*arguments: Any, **more: Any) -> Any:
            self.calls.append(name)
            if self._event is not None and self._event[0] in (name, len(self.calls)):
                event, self._event = self._event[1], None
                event()
            if name == "send":
                self.sent.append(arguments[0])
            return await function(*arguments, **more)

        return call


class LyingLayerOne(EmbeddedLayerOne):
    """An embedded L1 that responds as a node that lags, that has pruned states, or that is on a fork."""

    empty_logs = 0
    """How many of the next searches find nothing."""
    log_hashes: Mapping[int, Hash32] = MappingProxyType({})
    false_mints: Mapping[int, int] = MappingProxyType({})
    """The amounts that deposits mint instead of the right amount, by their ids, in the next search; their hashes fit."""
    states: int | None = None
    finalized: int | None = None
    early_calls = 0
    """How many of the next calls see the last block before it is the head, as on an anvil that mines it."""

    async def head(self) -> L1Block:
        """Return the latest block, or its parent while that is mined."""
        return self._block(self._chain.number - (self.early_calls > 0))

    async def block_number(self, tag: L1Finality = "latest") -> int:
        head = await super().block_number(tag)
        return head if tag == "latest" or self.finalized is None else self.finalized

    async def logs(
        self, address: Address, topics: Sequence[Hash32], first: int, last: int
    ) -> list[L1Log]:
        """Return logs that are missing or of other blocks."""
        if self.empty_logs:
            self.empty_logs -= 1
            return []
        mints, self.false_mints = self.false_mints, {}
        return [
            msgspec.structs.replace(
                log,
                block_hash=self.log_hashes.get(log.block_number, log.block_hash),
                data=_with_mint(log, mints),
            )
            for log in await super().logs(address, topics, first, last)
        ]

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        """Reject calls on states that it does not have, or see one that is not there yet."""
        if self.early_calls:
            self.early_calls -= 1
            return await super().call(to, data, sender=sender)
        if self.states is not None and block is not None:
            number = block if isinstance(block, int) else self._chain.blocks.block_number(block)
            if number is None or number <= self._chain.number - self.states:
                raise LayerOneRejected("eth_call", -32000, "missing trie node")
        return await super().call(to, data, sender=sender, block=block)


def _with_mint(log: L1Log, mints: Mapping[int, int]) -> bytes:
    """Return the data of a deposit's event in which it mints another amount."""
    if not mints:
        return log.data
    payload = decode_deposit(log).payload
    return request_data(
        msgspec.structs.replace(payload, to_mint=mints.get(payload.nonce, payload.to_mint))
    )


class LaggingLayerOne(EmbeddedLayerOne):
    """An embedded L1 that responds to some methods as a node does that is some blocks behind."""

    methods: frozenset[str] = frozenset()
    lag = 0

    async def block_number(self, tag: L1Finality = "latest") -> int:
        return (await self.head()).number if tag == "latest" else await super().block_number(tag)

    async def head(self) -> L1Block:
        """Return its last block."""
        found = await super().block(self._last("head"))
        assert found is not None
        return found

    async def block(self, number: int) -> L1Block | None:
        return await super().block(number) if number <= self._last("block") else None

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        sender: Address = DEFAULT_SENDER,
        block: int | Hash32 | None = None,
    ) -> bytes:
        return await super().call(to, data, sender=sender, block=self._known("call", block))

    async def estimate_gas(
        self, sender: Address, to: Address | None, data: bytes, *, block: Hash32 | None = None
    ) -> int:
        known = self._chain.blocks.block_hash(self._known("estimate_gas", block))
        return await super().estimate_gas(sender, to, data, block=known)

    async def nonce(self, address: Address, block: Hash32 | None = None) -> int:
        known = self._chain.blocks.block_hash(self._known("nonce", block))
        return await super().nonce(address, known)

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        found = await super().receipt(transaction_hash)
        return found if found and found.block_number <= self._last("receipt") else None

    def _last(self, method: str) -> int:
        return self._chain.number - (self.lag if method in self.methods else 0)

    def _known(self, method: str, block: int | Hash32 | None) -> int:
        last = self._last(method)
        number = last if block is None else self._number(block)
        if number > last:
            raise LayerOneRejected(method, -32000, f"there is no block {block}")
        return number


@contextlib.contextmanager
def layer_one(kind: str) -> Iterator[SteeredLayerOne]:
    if kind == "embedded":
        embedded = Embedded()
        try:
            yield embedded
        finally:
            embedded.chain.close()
    else:
        with fresh_anvil() as anvil:
            yield OnAnvil(anvil)


def request_data(payload: PriorityTransaction) -> bytes:
    words = (
        payload.type,
        int.from_bytes(payload.sender),
        int.from_bytes(payload.to),
        payload.gas_limit,
        payload.gas_per_pubdata_limit,
        payload.max_fee_per_gas,
        0,
        0,
        payload.nonce,
        payload.value,
        (payload.to_mint, int.from_bytes(payload.refund_recipient), 0, 0),
        payload.data,
        b"",
        [int.from_bytes(factory_dep_hash) for factory_dep_hash in payload.factory_dep_hashes],
        b"",
        b"",
    )
    event = (payload.nonce, payload.hash(), 0, words, payload.factory_deps)
    return abi.encode(REQUEST_TYPES, event)


URL = "http://l1.example"
CALL = "eth_call"

RpcLie: TypeAlias = Callable[[Any], Any]


def call_name(method: str, params: list[Any]) -> str:
    """Return the name of a request: its method, with the selector of a call, so that each view has a name of its own."""
    return f"{method} {params[0]['data'][:10]}" if method == CALL else method


def view(signature: str) -> str:
    return f"{CALL} 0x{keccak256(signature.encode())[:4].hex()}"


class LyingClient(JsonRpcClient):
    """Responds by the API of a chain in this process; lies about one kind of request, or about none."""

    def __init__(self, api: ApiClient) -> None:
        super().__init__(Endpoint(URL), attempts=1, timeout=1.0, sleep=asyncio.sleep)
        self.lie: tuple[str, RpcLie] | None = None
        self.error: tuple[str, dict[str, Any]] | None = None
        self.truths: dict[str, Any] = {}
        """The last true result of each kind of request that is not empty."""
        self.requests: Counter[str] = Counter()
        self.sent: list[bytes] = []
        self._api = api

    def tell_truth(self) -> None:
        self.lie = self.error = None

    async def exchange(self, body: bytes, max_bytes: int) -> tuple[int, bytes]:
        """Respond to a request, perhaps with a lie."""
        del max_bytes
        request = msgspec.json.decode(body)
        name = call_name(request["method"], request["params"])
        self.requests[name] += 1
        if request["method"] == "eth_sendRawTransaction":
            self.sent.append(bytes.fromhex(request["params"][0][2:]))
        if self.error is not None and self.error[0] == name:
            return 200, msgspec.json.encode({"error": self.error[1]})
        response = await self._api.handle(body)
        document = msgspec.json.decode(response)
        if "result" not in document:
            return 200, response
        if document["result"]:
            self.truths[name] = document["result"]
        if self.lie is not None and self.lie[0] == name:
            document["result"] = self.lie[1](document["result"])
        return 200, msgspec.json.encode(document)


class LyingRemote(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.api = ApiClient(self.chain)
        self.client = LyingClient(self.api)
        self.l1: LayerOne = RemoteLayerOne(URL, client=self.client)

    def close(self) -> None:
        self.api.api.close()
        self.chain.close()
